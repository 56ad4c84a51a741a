//! Reading units from the buffer, from cells by the read policy, or from the parity of a stripe.

use softsense_base::Ns;
use softsense_link::{Remembered, StoredWord};
use softsense_nand::{Wear, effective_reads_if_even};

use crate::drive::{Drive, Refused};
use crate::state::{ABSENT, LOST, NOWHERE};
use crate::stations::At;
use crate::status::ReadError;

/// The result of a read of one slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlotRead {
    /// The data. It is hard to read if it took soft levels or the other dies of its stripe.
    Data { hard_to_read: bool },
    /// Data other than what was written, which the drive does not notice.
    Wrong,
    /// No step decoded the codeword.
    Uncorrectable,
    /// The block is broken.
    Broken,
    /// The image does not hold the codeword that was programmed.
    Damaged,
}

impl SlotRead {
    fn has_data(self) -> bool {
        matches!(self, Self::Data { .. } | Self::Wrong)
    }

    fn what(self) -> &'static str {
        match self {
            Self::Data { .. } => "read",
            Self::Wrong => "decoded to another codeword",
            Self::Uncorrectable => "uncorrectable",
            Self::Broken => "its block is broken",
            Self::Damaged => "the image is damaged",
        }
    }
}

/// The distance of grid points of age, in ln(50 + P/E cycles), ln(1 + hours) and ln(1 + reads / 1,000). Cells are read as they are at
/// the nearest grid point. Placing references takes milliseconds, and without a grid almost every page would have an age of its own. A
/// test measures the error of raw bit error rates by that.
const PE_STEP: f64 = 0.03;
const PE_SCALE: f64 = 50.0;
const HOURS_STEP: f64 = 0.02;
const READS_STEP: f64 = 0.05;
const READS_SCALE: f64 = 1000.0;

fn on_grid(wear: Wear) -> Wear {
    let nearest =
        |value: f64, scale: f64, step: f64| scale * libm::expm1(libm::round(libm::log1p(value / scale) / step) * step);
    Wear {
        pe_cycles: libm::round(nearest(wear.pe_cycles.into(), PE_SCALE, PE_STEP)) as u32,
        retention_hours: nearest(wear.retention_hours, 1.0, HOURS_STEP),
        effective_reads: nearest(wear.effective_reads, READS_SCALE, READS_STEP),
    }
}

impl Drive {
    /// Reads a unit for a host. Returns the time at which the drive has it.
    pub(crate) fn read_unit(&mut self, at: Ns, unit: u32, data: &mut [u8]) -> std::result::Result<Ns, Refused> {
        if let Some(held) = self.state.buffer.get(&unit) {
            data.copy_from_slice(&held.data);
            return Ok(at);
        }
        match self.state.map[unit as usize] {
            NOWHERE => {
                data.fill(0);
                Ok(at)
            }
            LOST => {
                let clock_s = self.now().as_secs();
                let lba = u64::from(unit) * u64::from(self.shape.unit_bytes / 512);
                self.session.note(ReadError {
                    clock_s,
                    lba,
                    what: "lost when it was to be moved",
                    rber: 0.0,
                    page: String::new(),
                    pe_cycles: 0,
                    retention_hours: 0.0,
                    steps: 0,
                });
                Err(Refused::Unreadable { unit })
            }
            slot => {
                let (read, done) = self.read_slot(at, slot, data)?;
                match read {
                    SlotRead::Data { .. } => Ok(done),
                    SlotRead::Wrong => {
                        self.state.counters.host.undetected += 1;
                        Ok(done)
                    }
                    _ => Err(Refused::Unreadable { unit }),
                }
            }
        }
    }

    /// Reads a slot, with the help of the other slots of its stripe if needed.
    pub(crate) fn read_slot(
        &mut self,
        at: Ns,
        slot: u32,
        data: &mut [u8],
    ) -> std::result::Result<(SlotRead, Ns), Refused> {
        let (read, done) = self.read_alone(at, slot, data)?;
        let (read, done) =
            if read.has_data() || !self.shape.parity { (read, done) } else { self.recover(done, slot, read, data)? };
        if !matches!(read, SlotRead::Data { .. }) {
            let place = self.shape.place(slot);
            let superblock = &self.state.superblocks[place.superblock as usize];
            let programmed = superblock.wordlines[place.wordline as usize];
            let owner = self.state.slots[slot as usize].owner;
            self.session.note(ReadError {
                clock_s: self.state.clock_ns as f64 / 1e9,
                lba: u64::from(owner) * u64::from(self.shape.unit_bytes / 512),
                what: read.what(),
                rber: f64::from(self.reader.raw_errors()) / self.reader.code().codeword_bits() as f64,
                page: self.reader.cells().page_names()[place.page as usize].into(),
                pe_cycles: superblock.pe_cycles,
                // The end of a program under way lies in the future.
                retention_hours: (self.state.rested_hours - programmed.at_hours).max(0.0),
                steps: self.buffers.steps.len() as u32,
            });
        }
        Ok((read, done))
    }

    /// The wear of the cells of a page, in which the factors on its raw bit error rate are included.
    fn wear(&self, slot: u32) -> Wear {
        let place = self.shape.place(slot);
        let superblock = &self.state.superblocks[place.superblock as usize];
        let programmed = superblock.wordlines[place.wordline as usize];
        let disturb = self.reader.cells().read_disturb;
        let reads = superblock.reads[place.die as usize] as f64;
        let neighbours = if place.wordline == 0 || place.wordline + 1 == self.shape.wordlines { 1 } else { 2 };
        let effective = |stress| effective_reads_if_even(reads, neighbours, self.shape.wordlines, stress);
        let wear = Wear {
            pe_cycles: superblock.pe_cycles,
            retention_hours: (self.state.rested_hours - programmed.at_hours).max(0.0),
            effective_reads: disturb.map_or(0.0, |disturb| effective(disturb.adjacent_stress)),
        };
        let page_of_block = place.wordline * self.shape.pages + place.page;
        let block = u64::from(place.superblock) * u64::from(self.shape.dies) + u64::from(place.die);
        let page_of_device = block * u64::from(self.shape.wordlines * self.shape.pages) + u64::from(page_of_block);
        let factor = self.factors.chip_factor(place.die.into())
            * self.factors.block_factor(place.die.into(), place.superblock.into())
            * self.factors.layer_factor(place.wordline, self.shape.wordlines)
            * self.factors.wordline_factor(block, place.wordline)
            * self.factors.page_factor(page_of_device, programmed.write)
            * self.page_type_factors[place.page as usize % self.page_type_factors.len()];
        let wear = on_grid(wear);
        if factor == 1.0 {
            return wear;
        }
        let page = Some(place.page as usize);
        on_grid(self.rber.wear_for(wear, page, (self.rber.at(wear, page) * factor).min(0.5)))
    }

    /// Reads a slot from its own cells, by the steps of the policy.
    fn read_alone(&mut self, at: Ns, slot: u32, data: &mut [u8]) -> std::result::Result<(SlotRead, Ns), Refused> {
        let place = self.shape.place(slot);
        self.buffers.steps.clear();
        self.state.counters.codewords.read += 1;
        if self.state.broken.has(&self.shape, place.die, place.superblock) {
            self.state.counters.codewords.uncorrectable += 1;
            return Ok((SlotRead::Broken, at));
        }
        let codeword_bytes = self.shape.codeword_bytes as usize;
        let first = slot - place.page;
        self.buffers.pages.resize(self.shape.pages as usize * codeword_bytes, 0);
        self.image.sense(first, &mut self.buffers.pages)?;
        let page = place.page as usize;
        let own = &self.buffers.pages[page * codeword_bytes..(page + 1) * codeword_bytes];
        if crc32fast::hash(own) != self.state.slots[slot as usize].crc {
            self.state.counters.codewords.uncorrectable += 1;
            self.state.counters.codewords.damaged_in_image += 1;
            return Ok((SlotRead::Damaged, at));
        }
        let wear = self.wear(slot);
        let write = self.state.superblocks[place.superblock as usize].wordlines[place.wordline as usize].write;
        let turned = self.state.flipped.get(&slot).map_or(&[][..], Vec::as_slice);
        let pages: Vec<&[u8]> = self.buffers.pages.chunks(codeword_bytes).collect();
        let word = StoredWord { cells: (first / self.shape.pages).into(), write, page, pages: &pages, wear, turned };
        let remembers = self.read.remembered != Remembered::Nothing;
        let known = (place.superblock * self.shape.dies + place.die) as usize;
        let remembered = if remembers { self.remembered[known] } else { None };
        let decoded = self.reader.read(&word, &self.read, remembered, &mut self.buffers.steps);
        let steps = &self.buffers.steps;
        let counters = &mut self.state.counters.codewords;
        counters.bits_read += self.reader.code().codeword_bits() as u64;
        counters.raw_bit_errors += u64::from(self.reader.raw_errors());
        counters.steps += steps.len() as u64;
        counters.retried += u64::from(steps.len() > 1);
        let sensings = steps.iter().filter(|(step, _)| step.hard).count().max(1) as u64;
        let reads = &mut self.state.superblocks[place.superblock as usize].reads[place.die as usize];
        *reads = reads.saturating_add(sensings);
        self.read_since.insert(place.superblock);
        let where_at = At { die: place.die, superblock: place.superblock, wordline: place.wordline, page: place.page };
        let done = self.stations.read(&self.shape, at, where_at, steps);
        if !decoded {
            counters.uncorrectable += 1;
            return Ok((SlotRead::Uncorrectable, done));
        }
        let (step, attempt) = steps.last().expect("a step decoded it");
        counters.decoded += 1;
        counters.by_level[usize::from(attempt.level) - 1] += 1;
        if remembers && step.level == 1 {
            self.remembered[known] = Some(step.references);
        }
        let hard_to_read = step.level > 1;
        let right = attempt.correct;
        data.copy_from_slice(self.reader.data());
        self.scramble(slot, write, data);
        if right {
            return Ok((SlotRead::Data { hard_to_read }, done));
        }
        self.state.counters.codewords.undetected += 1;
        Ok((SlotRead::Wrong, done))
    }

    /// Rebuilds a slot from the other slots of its stripe. `read` is the result of reading it alone.
    fn recover(
        &mut self,
        at: Ns,
        slot: u32,
        read: SlotRead,
        data: &mut [u8],
    ) -> std::result::Result<(SlotRead, Ns), Refused> {
        let place = self.shape.place(slot);
        let first = self.shape.first_slot(place.superblock, place.wordline);
        let mut sum = vec![0; data.len()];
        let mut part = vec![0; data.len()];
        let (mut done, mut wrong) = (at, false);
        for die in (0..self.shape.dies).filter(|&die| die != place.die) {
            let other = first + self.shape.in_wordline(die, place.codeword, place.page);
            if self.state.slots[other as usize].owner == ABSENT {
                continue;
            }
            let (of_other, end) = self.read_alone(at, other, &mut part)?;
            if !of_other.has_data() {
                return Ok((read, done.max(end)));
            }
            wrong |= of_other == SlotRead::Wrong;
            done = done.max(end);
            sum.iter_mut().zip(&part).for_each(|(sum, part)| *sum ^= part);
        }
        data.copy_from_slice(&sum);
        self.state.counters.codewords.recovered_by_parity += 1;
        Ok((if wrong { SlotRead::Wrong } else { SlotRead::Data { hard_to_read: true } }, done))
    }

    /// Scrambles data, or undoes that, with a key that depends on the slot and the number of its programming.
    pub(crate) fn scramble(&self, slot: u32, write: u64, data: &mut [u8]) {
        let key = self.scrambler.bits(slot.into(), write);
        let (words, rest) = data.as_chunks_mut::<8>();
        // A counter is hashed to 64 bits for each word, so that data looks random, as with a scrambler of flash.
        for (index, word) in (0u64..).zip(words) {
            let mut z = key ^ index.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            z = (z ^ (z >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
            z = (z ^ (z >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
            *word = (u64::from_le_bytes(*word) ^ z ^ (z >> 32)).to_le_bytes();
        }
        rest.iter_mut().zip(key.to_le_bytes()).for_each(|(byte, key)| *byte ^= key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use softsense_nand::CellSpec;

    /// How large is the error of raw bit error rates for pages at the worst positions between two grid points?
    #[test]
    fn the_nearest_age_is_near() {
        let mut worst: f64 = 0.0;
        for name in ["tlc-measured", "mlc", "qlc-1-2-4-8"] {
            let cells = CellSpec::open(name, "".as_ref()).unwrap();
            for (pe_cycles, retention_hours, effective_reads) in
                [(97, 1.0, 0.0), (1_011, 700.0, 40_000.0), (3_033, 2_160.0, 1e5), (9_999, 8_760.0, 1e6)]
            {
                let wear = Wear { pe_cycles, retention_hours, effective_reads };
                let (own, near) = (cells.at(wear).mean_rber(), cells.at(on_grid(wear)).mean_rber());
                worst = worst.max((near / own - 1.0).abs());
            }
        }
        println!("at most {:.2} % off", 100.0 * worst);
        assert!(worst < 0.03, "{worst}");
    }
}
