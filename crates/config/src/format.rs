//! The page format: in which pages of a block its codewords lie, and how much room for data parity and metadata take. A superblock whose
//! blocks take turns counts as one block here.

use softsense_ecc::hardware::BchShape;
use softsense_link::{AgedBch, ByAge, Reliability, ReliabilitySpec};

use crate::spec::GeometrySpec;

/// Bytes of the number of a logical unit, in the out-of-band area of each unit.
const LUN_BYTES: u32 = 4;

/// Metadata of a page whose units cross pages, bytes. For each physical unit it holds the numbers of two logical units and the length of
/// the first; for the page, the number of the physical unit that goes on. Two units take 24 bytes.
///
/// Source: LAE-FTL, section III.B.
fn metadata_bytes(units: u32) -> u32 {
    units * (2 * LUN_BYTES + 2) + 4
}

/// A code of `reliability.bch` on a device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UnitCode {
    /// P/E cycles of a block up to which it uses the code.
    pub to_pe_cycles: u32,
    /// Data of a codeword, bytes.
    pub codeword_bytes: u32,
    /// Errors that the code corrects.
    pub correctable: u32,
    /// m: the code is over GF(2^m).
    pub field_bits: u32,
    /// Bits of a codeword, data and parity.
    pub codeword_bits: u32,
    /// Parity of a codeword, bytes.
    pub parity_bytes: u32,
    /// Codewords of a mapping unit.
    pub codewords_per_unit: u32,
    /// Bytes of the data space of each unit that parity and metadata take, because the out-of-band area is too small for them.
    pub squeezed_bytes: u32,
    /// Mapping units of a block; of a superblock, where the blocks of several chips form one and none of their codewords is divided.
    pub units_per_block: u32,
    /// Mapping units of a block that lie in two pages.
    pub crossing_per_block: u32,
    /// Codewords that one decoder works on at once.
    pub codewords_at_once: u32,
    /// Transfer time of a codeword, us.
    pub transfer_us: f64,
    /// Decoding time of a codeword with errors, us.
    pub decode_us: f64,
    /// Decoding time of a codeword without errors, us.
    pub decode_without_errors_us: f64,
}

impl UnitCode {
    /// Returns the parameters of the code that a circuit depends on.
    pub fn shape(&self) -> BchShape {
        let &Self { field_bits, correctable, codeword_bits, .. } = self;
        BchShape { field_bits, correctable, codeword_bits }
    }
}

/// The pages of a block in which its codewords lie; of a superblock, where its blocks take turns. Usually each page holds a whole number of
/// codewords. Units whose parity takes room of the data follow one another without gaps instead, from page to page, and end with the block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockLayout {
    pages: u32,
    /// Most codewords that begin in a page.
    per_page: u32,
    /// Pages of a stripe, whose last page is parity across dies; 0 where there is no such parity.
    stripe: u32,
    packing: Option<Packing>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Packing {
    unit_bytes: u32,
    /// Room for data in a page, bytes.
    page_bytes: u32,
    /// Units of the block.
    units: u32,
}

/// A piece of a unit: the part that lies in one physical unit, where physical units are equal parts of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// The physical unit, by its number in the block.
    pub physical_unit: u32,
    /// Offset of the piece in the physical unit's room for data, bytes.
    pub offset: u32,
    /// Length of the piece, bytes.
    pub bytes: u32,
}

impl BlockLayout {
    /// Lays out `pages` pages of `per_page` codewords each.
    pub fn whole(pages: u32, per_page: u32) -> Self {
        Self::striped(pages, per_page, 0)
    }

    /// Lays out pages as [`whole`](Self::whole) does, but with parity across dies in the last of each `stripe` pages; in none where
    /// `stripe` is 0.
    pub fn striped(pages: u32, per_page: u32, stripe: u32) -> Self {
        Self { pages, per_page, stripe, packing: None }
    }

    /// Lays out units of `unit_bytes` without gaps through `pages` pages. Each page has room for `page_bytes` of data: at least a unit, and
    /// less than `per_page` units.
    pub fn packed(pages: u32, per_page: u32, unit_bytes: u32, page_bytes: u32) -> Self {
        assert!((unit_bytes..per_page * unit_bytes).contains(&page_bytes), "a unit is in two pages at most");
        let units = (u64::from(pages) * u64::from(page_bytes) / u64::from(unit_bytes)) as u32;
        Self { pages, per_page, stripe: 0, packing: Some(Packing { unit_bytes, page_bytes, units }) }
    }

    /// Whether units may cross from a page to the next.
    #[inline]
    pub fn crosses_pages(&self) -> bool {
        self.packing.is_some()
    }

    /// Returns the number of pages of the block.
    #[inline]
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// Returns the number of codewords of the block.
    #[inline]
    pub fn codewords(&self) -> u32 {
        self.packing.map_or(self.before(self.pages), |packing| packing.units)
    }

    /// Returns the number of codewords that begin before a page.
    #[inline]
    pub fn before(&self, page: u32) -> u32 {
        match self.packing {
            None if self.stripe == 0 => page * self.per_page,
            None => (page - page / self.stripe) * self.per_page,
            Some(packing) => packing.before(page),
        }
    }

    /// Returns the number of codewords that begin in a page.
    #[inline]
    pub fn beginning_in(&self, page: u32) -> u32 {
        match self.packing {
            None if self.stripe > 0 && page % self.stripe == self.stripe - 1 => 0,
            None => self.per_page,
            Some(packing) => packing.before(page + 1) - packing.before(page),
        }
    }

    /// Returns the page in which a codeword of the block begins; codewords are numbered from 0.
    #[inline]
    pub fn page_of(&self, codeword: u32) -> u32 {
        match self.packing {
            None if self.stripe == 0 => codeword / self.per_page,
            None => {
                let page = codeword / self.per_page;
                page + page / (self.stripe - 1)
            }
            Some(packing) => packing.page_of(codeword).min(self.pages - 1),
        }
    }

    /// Whether a codeword that begins in a page ends in the next one; `slot` numbers the codewords that begin in the page.
    #[inline]
    pub fn crosses(&self, page: u32, slot: u32) -> bool {
        self.packing.is_some_and(|packing| packing.in_first_page(page, slot) < packing.unit_bytes)
    }

    /// Counts the codewords of the block that begin in one page and end in the next.
    pub fn crossing(&self) -> u32 {
        let slots = (0..self.pages).flat_map(|page| (0..self.beginning_in(page)).map(move |slot| (page, slot)));
        slots.filter(|&(page, slot)| self.crosses(page, slot)).count() as u32
    }

    /// Returns how many bytes of a unit are in the page where it begins; `None` where units are not packed.
    pub fn in_first_page(&self, page: u32, slot: u32) -> Option<u32> {
        self.packing.map(|packing| packing.in_first_page(page, slot))
    }

    /// Lists the pieces of a unit, one for each physical unit; empty where units are not packed.
    pub fn pieces(&self, page: u32, slot: u32) -> Vec<Piece> {
        let Some(packing) = self.packing else { return Vec::new() };
        let physical = u64::from(packing.page_bytes / self.per_page);
        let mut at = u64::from(packing.before(page) + slot) * u64::from(packing.unit_bytes);
        let end = at + u64::from(packing.unit_bytes);
        let mut pieces = Vec::new();
        while at < end {
            let bytes = (physical - at % physical).min(end - at);
            let (physical_unit, offset) = ((at / physical) as u32, (at % physical) as u32);
            pieces.push(Piece { physical_unit, offset, bytes: bytes as u32 });
            at += bytes;
        }
        pieces
    }
}

impl Packing {
    #[inline]
    fn before(&self, page: u32) -> u32 {
        let bytes = u64::from(page) * u64::from(self.page_bytes);
        (bytes.div_ceil(u64::from(self.unit_bytes)) as u32).min(self.units)
    }

    #[inline]
    fn page_of(&self, unit: u32) -> u32 {
        (u64::from(unit) * u64::from(self.unit_bytes) / u64::from(self.page_bytes)) as u32
    }

    #[inline]
    fn in_first_page(&self, page: u32, slot: u32) -> u32 {
        let begin = u64::from(self.before(page) + slot) * u64::from(self.unit_bytes);
        let left = (u64::from(page) + 1) * u64::from(self.page_bytes) - begin;
        left.min(u64::from(self.unit_bytes)) as u32
    }
}

/// The way in which the pages of a device are filled, whatever code is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageFormat {
    /// Pages of a block, or of several blocks that take turns.
    pages: u32,
    /// Pages of a stripe, whose last page is parity across dies; 0 where there is no such parity.
    stripe: u32,
    units_per_page: u32,
    unit_bytes: u32,
    oob_bytes: u32,
}

impl PageFormat {
    /// Describes pages of `units_per_page` units with `oob_bytes` of out-of-band area each.
    pub(crate) fn of_units(units_per_page: u32, unit_bytes: u32, oob_bytes: u32) -> Self {
        Self { pages: 1, stripe: 0, units_per_page, unit_bytes, oob_bytes }
    }

    /// # Arguments
    /// - `blocks`: the number of blocks that take turns.
    /// - `stripe`: pages of a stripe of parity across dies; 0 without.
    pub(crate) fn new(geometry: &GeometrySpec, reliability: &ReliabilitySpec, blocks: u32, stripe: u32) -> Self {
        let oob_bytes = match reliability {
            ReliabilitySpec::Bch(bch) => bch.oob_bytes,
            _ => 0,
        };
        Self {
            pages: geometry.pages_per_block * blocks,
            stripe,
            units_per_page: geometry.codewords_per_page,
            unit_bytes: geometry.codeword_bytes,
            oob_bytes,
        }
    }

    /// Returns the size of a unit with its share of the out-of-band area, bytes.
    pub(crate) fn unit_and_oob_bytes(&self) -> u32 {
        self.unit_bytes + self.oob_bytes
    }

    /// Returns by how many bytes the parity and metadata of a unit exceed its share of the out-of-band area.
    pub(crate) fn squeezed_bytes(&self, code: &AgedBch) -> u32 {
        self.squeezed_by(self.unit_bytes / code.codeword_bytes * code.parity_bytes())
    }

    /// Returns the same for a unit with `parity` bytes of parity.
    pub(crate) fn squeezed_by(&self, parity: u32) -> u32 {
        (parity + self.metadata_beside(parity)).saturating_sub(self.oob_bytes)
    }

    /// Returns the metadata of a unit with `parity` bytes of parity, bytes. It is more where units cross pages.
    pub(crate) fn metadata_beside(&self, parity: u32) -> u32 {
        if parity + LUN_BYTES <= self.oob_bytes {
            LUN_BYTES
        } else {
            metadata_bytes(self.units_per_page).div_ceil(self.units_per_page)
        }
    }

    /// Returns the room for the parity of a unit whose data space is smaller by `squeezed_bytes`, bytes.
    pub(crate) fn room_for_parity(&self, squeezed_bytes: u32) -> u32 {
        let metadata = match squeezed_bytes {
            0 => LUN_BYTES,
            _ => metadata_bytes(self.units_per_page).div_ceil(self.units_per_page),
        };
        (self.oob_bytes + squeezed_bytes).saturating_sub(metadata)
    }

    /// Returns the layout of a block whose units are each squeezed by `squeezed_bytes`.
    pub(crate) fn layout(&self, squeezed_bytes: u32) -> BlockLayout {
        let (pages, units) = (self.pages, self.units_per_page);
        match squeezed_bytes {
            0 => BlockLayout::striped(pages, units, self.stripe),
            _ => BlockLayout::packed(pages, units, self.unit_bytes, units * (self.unit_bytes - squeezed_bytes)),
        }
    }

    /// Returns the layout of a block, by its P/E cycles.
    pub(crate) fn layouts(&self, spec: &ReliabilitySpec, reliability: &Reliability) -> ByAge<BlockLayout> {
        match spec {
            ReliabilitySpec::Adaptive(adaptive) => {
                let of_page = |units| units * adaptive.codewords_per_page;
                let layout = |units| BlockLayout::striped(self.pages, of_page(units), self.stripe);
                ByAge::new(adaptive.rates.iter().map(|rate| (rate.to_pe_cycles, layout(rate.units))))
            }
            ReliabilitySpec::Bch(_) => {
                let layout = |code: &AgedBch| self.layout(self.squeezed_bytes(code));
                ByAge::new(reliability.bch_codes().iter().map(|code| (code.to_pe_cycles, layout(code))))
            }
            _ => ByAge::always(self.layout(0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Do LAE-FTL's four squeezed units cross pages as often as their sizes say, and does a block hold as many?
    #[test]
    fn squeezed_units_cross_as_often_as_their_sizes_say() {
        for (squeezed, crossing, of) in [(128, 15, 31), (256, 7, 15), (384, 15, 29), (512, 3, 7)] {
            let layout = BlockLayout::packed(256, 2, 4096, 2 * (4096 - squeezed));
            assert_eq!(layout.codewords(), 256 * 2 * (4096 - squeezed) / 4096);
            assert_eq!(layout.crossing() * of, layout.codewords() * crossing, "{squeezed}");
        }
    }

    /// Does every byte of a block belong to at most one unit, and every unit to one or two pages, whatever the sizes? Are there at most two
    /// units in a physical unit, of which at most one begins there, so that there is room for parity?
    #[test]
    fn units_lie_side_by_side() {
        for (pages, per_page, unit, page_bytes) in
            [(8, 2, 4096, 7168), (8, 2, 4096, 7930), (5, 2, 4096, 4096), (16, 4, 512, 1300), (3, 3, 1000, 2999)]
        {
            let layout = BlockLayout::packed(pages, per_page, unit, page_bytes / per_page * per_page);
            let physical = page_bytes / per_page;
            let mut expected = 0;
            let mut begun = vec![0; (pages * per_page) as usize];
            let mut held = begun.clone();
            for page in 0..pages {
                assert_eq!(layout.before(page) + layout.beginning_in(page), layout.before(page + 1));
                assert!((1..=per_page).contains(&layout.beginning_in(page)) || page + 1 == pages);
                for codeword in layout.before(page)..layout.before(page + 1) {
                    assert_eq!(layout.page_of(codeword), page);
                }
                for slot in 0..layout.beginning_in(page) {
                    let pieces = layout.pieces(page, slot);
                    begun[pieces[0].physical_unit as usize] += 1;
                    let first = layout.in_first_page(page, slot).unwrap();
                    let in_page = |piece: &&Piece| piece.physical_unit / per_page == page;
                    assert_eq!(pieces.iter().filter(in_page).map(|piece| piece.bytes).sum::<u32>(), first);
                    assert_eq!(layout.crosses(page, slot), pieces.iter().any(|piece| !in_page(&piece)));
                    for Piece { physical_unit, offset, bytes } in pieces {
                        assert_eq!(physical_unit * physical + offset, expected);
                        assert!(physical_unit / per_page <= page + 1 && physical_unit < pages * per_page);
                        held[physical_unit as usize] += 1;
                        expected += bytes;
                    }
                }
            }
            assert_eq!(expected, layout.codewords() * unit);
            assert!(begun.iter().all(|&n| n <= 1) && held.iter().all(|&n| n <= 2), "{begun:?} {held:?}");
        }
    }
}
