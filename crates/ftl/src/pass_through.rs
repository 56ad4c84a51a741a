//! Pass-through voltages of blocks. They are lower where wordlines hold no valid data: errors of such wordlines cost nothing, and reads
//! disturb the others less. Source: STRAW (2026), SR2.

use softsense_base::Result;
use softsense_config::geometry::Geometry;
use softsense_config::ids::{Block, Place};
use softsense_nand::ReadDisturb;

use super::PageMap;
use super::large_array::LargeArray;
use super::read_counts::DISTURBANCE_SCALE;

#[derive(Debug)]
pub(super) struct PassThrough {
    /// The disturbance that a sensing spares, by the number of wordlines of its block without valid data, in units of 1 /
    /// [`DISTURBANCE_SCALE`] of a sensing.
    spared: Vec<u64>,
    /// For each block, 1 plus the number of its wordlines without valid data; 0 where they have not been counted.
    invalid_wordlines: LargeArray,
}

impl PassThrough {
    /// # Arguments
    /// - `reduction`: the reduction for a block that holds no valid data.
    pub(super) fn new(geometry: &Geometry, reduction: f64, disturb: ReadDisturb) -> Result<Self> {
        let wordlines = geometry.wordlines_per_block();
        let spared = |invalid| {
            let disturbance = disturb.disturbance_at(reduction * f64::from(invalid) / f64::from(wordlines));
            ((1.0 - disturbance) * DISTURBANCE_SCALE as f64).round() as u64
        };
        let blocks = u64::from(geometry.planes()) * u64::from(geometry.blocks_per_plane());
        let invalid_wordlines = LargeArray::new(blocks, u64::from(wordlines) + 1)?;
        Ok(Self { spared: (0..=wordlines).map(spared).collect(), invalid_wordlines })
    }

    pub(super) fn erased(&mut self, block: Block) {
        self.invalid_wordlines.set(block.into(), 0);
    }
}

/// Superblocks are blocks wherever pass-through voltages vary.
impl PageMap {
    /// Places of a wordline of a block that hold current data.
    pub(super) fn data_in(&self, block: Block, wordline: u32) -> impl Iterator<Item = Place> {
        let pages = self.geometry.pages_of(wordline);
        let first = |page| self.geometry.first_place(block, page).0;
        Place::all(first(pages.start)..first(pages.end)).filter(|&place| self.held_at(place).is_some())
    }

    /// The disturbance that a sensing of a block spares, compared with the nominal voltage; 0 before the block is full.
    pub(super) fn spared_by_a_sensing(&mut self, block: Block) -> u64 {
        let Some(PassThrough { spared, invalid_wordlines }) = &self.reads.pass_through else { return 0 };
        if u32::from(self.programmed[block]) < self.geometry.pages_per_block() {
            return 0;
        }
        if let Some(invalid) = invalid_wordlines.get(block.into()).checked_sub(1) {
            return spared[invalid as usize];
        }
        let wordlines = 0..self.geometry.wordlines_per_block();
        let invalid = wordlines.filter(|&wordline| self.data_in(block, wordline).next().is_none()).count();
        let spared = spared[invalid];
        self.note_invalid_wordlines(block, invalid as u64);
        spared
    }

    /// Notes that data at a place is no longer current: its wordline may hold no more valid data.
    pub(super) fn fell_stale(&mut self, place: Place) {
        let Some(PassThrough { invalid_wordlines, .. }) = &self.reads.pass_through else { return };
        let (block, page, _) = self.geometry.split(place);
        if let Some(invalid) = invalid_wordlines.get(block.into()).checked_sub(1)
            && self.data_in(block, self.geometry.wordline_of(page, false)).next().is_none()
        {
            self.note_invalid_wordlines(block, invalid + 1);
        }
    }

    fn note_invalid_wordlines(&mut self, block: Block, invalid: u64) {
        if let Some(pass_through) = &mut self.reads.pass_through {
            pass_through.invalid_wordlines.set(block.into(), invalid + 1);
        }
    }
}
