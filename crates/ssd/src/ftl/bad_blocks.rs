//! Bad blocks: which erases fail, spares that take the place of blocks, and superblocks that are written no more.
//!
//! Blocks that the map knows are numbers: the block of a chip behind a number changes when a spare takes the place of one that has failed.
//! Then nothing else does, as the block that failed has just been moved and holds nothing. Where a plane has no spare left, the superblock
//! is retired: it has been erased, holds nothing, and is not free. Its blocks that work become spares of their planes.

use std::collections::BTreeSet;

use softsense_base::{Purpose, Stream};

use super::{PageMap, Writer};
use crate::checked::CheckedConfig;
use crate::config::EraseFailureSpec;

/// What a map knows of bad blocks.
#[derive(Debug)]
pub(super) struct BadBlocks {
    erase_failure: Option<EraseFailureSpec>,
    /// Which erases fail: draws by block and its erases.
    stream: Stream,
    /// Spares that are left, of each plane.
    spares: Vec<u32>,
    factory: u64,
    grown: u64,
    retired: BTreeSet<u32>,
}

/// How many bad blocks there are, and what is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadBlockCounts {
    /// Bad blocks from the factory, spares among them.
    pub factory: u64,
    /// Blocks whose erase has failed in the run.
    pub grown: u64,
    /// Spares that are left in all planes.
    pub spares_left: u64,
    /// Spares that are left in the plane that has the fewest.
    pub fewest_spares_of_plane: u32,
    /// Superblocks that are written no more.
    pub retired: u64,
}

impl BadBlocks {
    pub(super) fn new(config: &CheckedConfig) -> Option<Self> {
        let (spec, geometry, seed) =
            (config.config().flash.bad_blocks.as_ref()?, config.geometry(), config.config().seed);
        let factory = |plane| spec.of_factory(seed, plane, geometry.blocks_per_plane());
        let factory: Vec<u32> = (0..geometry.planes()).map(factory).collect();
        Some(Self {
            erase_failure: spec.erase_failure,
            stream: Stream::new(seed, Purpose::EraseFailures),
            spares: factory.iter().map(|bad| spec.spare_blocks_per_plane - bad).collect(),
            factory: factory.iter().map(|&bad| u64::from(bad)).sum(),
            grown: 0,
            retired: BTreeSet::new(),
        })
    }
}

impl PageMap {
    /// How many bad blocks there are; none where the config has none.
    pub fn bad_block_counts(&self) -> Option<BadBlockCounts> {
        let bad = self.bad_blocks.as_ref()?;
        Some(BadBlockCounts {
            factory: bad.factory,
            grown: bad.grown,
            spares_left: bad.spares.iter().map(|&left| u64::from(left)).sum(),
            fewest_spares_of_plane: bad.spares.iter().copied().min().unwrap_or(0),
            retired: bad.retired.len() as u64,
        })
    }

    /// Whether a superblock is written no more.
    pub(super) fn is_retired(&self, superblock: u32) -> bool {
        self.bad_blocks.as_ref().is_some_and(|bad| bad.retired.contains(&superblock))
    }

    /// Whether a set may have lost room since the start: dies have failed, or superblocks are written no more.
    #[inline]
    pub fn has_lost_room(&self) -> bool {
        self.has_failed() || self.bad_blocks.as_ref().is_some_and(|bad| !bad.retired.is_empty())
    }

    /// Whether the next erase of a block of a superblock fails.
    pub fn erase_fails(&self, superblock: u32, member: u32) -> bool {
        let Some((bad, failure)) = self.bad_blocks.as_ref().and_then(|bad| Some((bad, bad.erase_failure?))) else {
            return false;
        };
        let from = f64::from(self.pe_cycles(superblock));
        let probability = failure.probability(from, from + self.pe_cycles_of_erase(superblock));
        let block = self.geometry.block_in(superblock, member);
        bad.stream.uniform(block.into(), self.erases(superblock).into()) < probability
    }

    /// The blocks of a superblock have been erased, or tried to: spares take the place of those that have failed. Whether there are none
    /// for all of these, with which it is written no more.
    pub(super) fn replace_failed(&mut self, superblock: u32) -> bool {
        if self.bad_blocks.is_none() {
            return false;
        }
        let set = self.geometry.set_of_superblock(superblock);
        let members = (0..self.geometry.blocks_per_superblock()).filter(|&member| self.works(set, member));
        // Each member is in a plane of its own.
        let (failed, good): (Vec<u32>, Vec<u32>) = members.partition(|&member| self.erase_fails(superblock, member));
        let Self { bad_blocks: Some(bad), geometry, .. } = self else { unreachable!("there are bad blocks") };
        bad.grown += failed.len() as u64;
        let plane = |&member: &u32| geometry.plane_of(set, member) as usize;
        if failed.iter().map(plane).all(|plane| bad.spares[plane] > 0) {
            failed.iter().map(plane).for_each(|plane| bad.spares[plane] -= 1);
            return false;
        }
        good.iter().map(plane).for_each(|plane| bad.spares[plane] += 1);
        bad.retired.insert(superblock);
        true
    }

    /// A superblock that has been erased is not free: it is written no more.
    pub(super) fn retire(&mut self, set: u32, superblock: u32) {
        if self.is_slc(superblock) {
            return self.retire_slc(set, superblock);
        }
        let state = &mut self.sets[set as usize];
        state.being_collected = state.being_collected.saturating_sub(1);
        self.gain.erased(0);
    }

    /// Codewords that collection of a set can move without a free superblock, where there is none; else no bound. Sets whose superblocks
    /// are retired may come to that.
    pub(super) fn left_to_collect_to(&self, set: u32) -> u32 {
        if !self.has_lost_room() || !self.sets[set as usize].free.is_empty() {
            return u32::MAX;
        }
        let data = self.left_in_open(set, Writer::Gc);
        if self.codewords > self.user_codewords() {
            data.min(self.left_in_open(set, Writer::GcTranslation))
        } else {
            data
        }
    }

    /// Codewords that fit the open superblock of a writer still, at least.
    fn left_in_open(&self, set: u32, writer: Writer) -> u32 {
        let Some((superblock, given)) = self.sets[set as usize].open[writer as usize] else { return 0 };
        let pages = u64::from(self.pages_of(superblock));
        let left = self.room_of(superblock) * (pages - u64::from(given)) / pages;
        // Pages of a stripe, or with units that cross them, have unlike room.
        let unlike = self.crosses_pages || self.geometry.has_parity();
        (left as u32).saturating_sub(if unlike { self.geometry.codewords_per_page() } else { 0 })
    }
}
