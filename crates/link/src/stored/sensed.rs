use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use softsense_ecc::bits;
use softsense_nand::{CellSpec, Cells, ReadWith, Wear};

use crate::CellCondition;
use crate::exact::{FoundGaps, PlacedReferences, References, RegionOf};

/// The most pages that share a wordline, and the number of states of as many bits.
const MOST_PAGES: usize = 4;
const MOST_STATES: usize = 1 << MOST_PAGES;

/// Most conditions that are cached: 20 MB.
const MOST_KNOWN: usize = 1 << 13;

/// The reading of the cells of a page, whatever their data. Values for states are indexed by the bits of the state: the bit of page i is
/// bit i of the index.
pub(super) struct Sensed {
    regions: Vec<RegionOf>,
    /// The decoder's input for each region; at level 1 only its sign.
    llrs: Vec<i8>,
    /// LLR that one step of this input stands for.
    pub(super) step: f64,
    /// The decoder's input for cells in the middle of their state.
    central: [i8; MOST_STATES],
    /// Distance from both ends of the quantiles from which on cells read like those in the middle, by state; and the largest over all
    /// states.
    reach: Vec<u64>,
    pub(super) most_reach: u64,
    /// Whether cells in the middle of each state are read correctly.
    as_written: bool,
    /// Input for the middle of a state with a 0 and with a 1, where it is the same for all states with the same bit.
    by_bit: Option<[i8; 2]>,
}

impl Sensed {
    fn new(cells: &Cells, page: usize, level: u8, references: &References) -> Self {
        let pages = cells.pages();
        let mut states = vec![0; cells.states()];
        for state in 0..cells.states() {
            let number = (0..pages).fold(0, |number, page| number | usize::from(cells.bit(page, state)) << page);
            states[number] = state;
        }
        let regions: Vec<RegionOf> =
            states.iter().map(|&state| RegionOf::new(&references.sensing.cumulative(cells, state))).collect();
        // A hard decision is the bit that the chip sends: 1 below the first reference, and changed by every reference. The chip does not
        // know if references are so far off that most cells of a region hold the other bit.
        let decision = |region: usize| if region.is_multiple_of(2) { -1 } else { 1 };
        let llrs = if level == 1 {
            (0..references.sensing.regions()).map(decision).collect()
        } else {
            references.llrs.clone()
        };
        let mut central = [0; MOST_STATES];
        let mut by_bit = [None; 2];
        let (mut as_written, mut same) = (true, true);
        let mut reach = Vec::new();
        for (number, region_of) in regions.iter().enumerate() {
            let (region, reaches) = region_of.central();
            let bit = number >> page & 1 == 1;
            central[number] = llrs[region];
            as_written &= (llrs[region] < 0) == bit;
            same &= *by_bit[usize::from(bit)].get_or_insert(llrs[region]) == llrs[region];
            reach.push(reaches);
        }
        let by_bit = if same { Some(by_bit.map(|llr| llr.expect("a state has the bit"))) } else { None };
        let most_reach = reach.iter().copied().max().expect("cells have states");
        Self { regions, llrs, step: references.step, central, reach, most_reach, as_written, by_bit }
    }

    /// Returns the decoder's input for a cell, if it differs from the input for the middle of its state.
    #[inline]
    pub(super) fn apart(&self, state: usize, quantile: u64, from_end: u64) -> Option<i8> {
        if from_end >= self.reach[state] {
            return None;
        }
        let llr = self.of_cell(state, quantile);
        (llr != self.central[state]).then_some(llr)
    }

    /// Returns the decoder's input for a cell.
    #[inline]
    pub(super) fn of_cell(&self, state: usize, quantile: u64) -> i8 {
        self.llrs[self.regions[state].region(quantile)]
    }

    /// Writes the hard decisions if all cells are in the middle of their states.
    pub(super) fn central_bits(&self, pages: &[&[u8]], page: usize, word: &mut [u8], bits: usize) {
        if self.as_written {
            return word.copy_from_slice(pages[page]);
        }
        let of_state = self.central.map(|llr| if llr < 0 { u64::MAX } else { 0 });
        for (at, byte) in word.iter_mut().enumerate() {
            *byte = chosen(&of_state, pages.iter().map(|page| u64::from(page[at]))) as u8;
        }
        bits::clear_padding(word, bits);
    }

    /// Writes the decoder's input if all cells are in the middle of their states.
    pub(super) fn central_llrs(&self, pages: &[&[u8]], page: usize, llrs: &mut [i8]) {
        let bytes = llrs.chunks_mut(8).enumerate();
        let write = |to: &mut [i8], eight: u64| {
            let eight = eight.to_le_bytes();
            to.iter_mut().zip(eight).for_each(|(to, llr)| *to = llr as i8);
        };
        if let Some([zero, one]) = self.by_bit {
            let (zero, change) = (spread(zero), spread(zero) ^ spread(one));
            bytes.for_each(|(at, to)| write(to, zero ^ (change & MASKS[usize::from(pages[page][at])])));
        } else {
            let of_state = self.central.map(spread);
            bytes.for_each(|(at, to)| {
                write(to, chosen(&of_state, pages.iter().map(|page| MASKS[usize::from(page[at])])));
            });
        }
    }
}

/// Returns eight times the same byte.
fn spread(llr: i8) -> u64 {
    u64::from(llr as u8) * 0x0101_0101_0101_0101
}

/// Masks of the bits of a byte: eight bytes of all ones or none, with the first bit in the first byte.
static MASKS: [u64; 256] = {
    let mut masks = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0;
        while bit < 8 {
            if byte >> (7 - bit) & 1 == 1 {
                masks[byte] |= 0xff << (8 * bit);
            }
            bit += 1;
        }
        byte += 1;
    }
    masks
};

/// Returns for each bit the value of the state that the bits of the pages give.
#[inline]
fn chosen(of_state: &[u64; MOST_STATES], pages: impl ExactSizeIterator<Item = u64>) -> u64 {
    let mut left = *of_state;
    let mut states = 1 << pages.len();
    for page in pages {
        states /= 2;
        for index in 0..states {
            let (without, with) = (left[2 * index], left[2 * index + 1]);
            left[index] = without ^ ((without ^ with) & page);
        }
    }
    left[0]
}

/// A condition: wear in steps, the page, how it is read, and the result of a search for valleys.
type Key = (u32, u64, u64, usize, ReadWith, Option<FoundGaps>);

/// A cache of sensed values by condition, for all readers of a drive.
pub(super) struct SensedByCondition {
    references: Mutex<PlacedReferences>,
    known: Mutex<HashMap<Key, Arc<Sensed>>>,
}

impl SensedByCondition {
    pub(super) fn new(references: PlacedReferences) -> Self {
        Self { references: Mutex::new(references), known: Mutex::default() }
    }

    /// # Arguments
    /// - `assumed`: the wear for which references are placed.
    pub(super) fn at(
        &self,
        spec: &CellSpec,
        wear: Wear,
        assumed: Wear,
        page: usize,
        read: ReadWith,
        found: Option<FoundGaps>,
    ) -> Arc<Sensed> {
        let (hours, reads) = (wear.retention_hours.to_bits(), wear.effective_reads.to_bits());
        let key = (wear.pe_cycles, hours, reads, page, read, found.clone());
        if let Some(known) = lock(&self.known).get(&key) {
            return known.clone();
        }
        let condition = |wear| CellCondition::Voltages { wear, page };
        let references = lock(&self.references).of(Some(spec), condition(assumed), read, found);
        let cells = condition(wear).looking(Some(spec), read.sensing_percent);
        let sensed = Arc::new(Sensed::new(&cells, page, read.level, &references));
        let mut known = lock(&self.known);
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        known.insert(key, sensed.clone());
        sensed
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().expect("a panic in a reader ends the drive")
}
