use std::ops::Range;

use softsense_config::ids::{Superblock, TiVec};

use super::{NOWHERE, SuperblockState, VictimRule};

/// Superblocks of a run. Finding a victim takes a look at one superblock of each run and at all of the victim's run. For a set of 1,000
/// superblocks these two numbers are about equal.
const RUN: u32 = 32;

/// The superblock with the fewest valid codewords; where several have as few, the one that has had so few longest.
///
/// The best superblock of each run of neighbours is known. A superblock whose count falls replaces the best of its run if it has fewer,
/// which takes a look at two superblocks. Lists by count would change links all over the set, and the CPU would wait for them at every
/// overwritten codeword.
#[derive(Debug, Clone)]
pub(in super::super) struct Greedy {
    superblocks: Range<Superblock>,
    /// For each run, the fewest valid codewords, and the superblock that has had so few longest; [`NOWHERE`] where none is held.
    best: Vec<(u32, Superblock)>,
    /// The number of calls so far. Of two events, the earlier has the lower number.
    calls: u64,
}

impl Greedy {
    /// # Arguments
    /// - `superblocks`: the superblocks of the set.
    pub(super) fn new(superblocks: Range<Superblock>) -> Self {
        let runs = (superblocks.end.0 - superblocks.start.0).div_ceil(RUN) as usize;
        Self { superblocks, best: vec![(u32::MAX, Superblock(NOWHERE)); runs], calls: 0 }
    }

    fn run_of(&self, superblock: Superblock) -> usize {
        ((superblock.0 - self.superblocks.start.0) / RUN) as usize
    }

    /// The held superblocks of a run.
    fn held_in<'a>(
        &self,
        blocks: &'a TiVec<Superblock, SuperblockState>,
        run: usize,
    ) -> impl Iterator<Item = (Superblock, &'a SuperblockState)> {
        let first = Superblock(self.superblocks.start.0 + run as u32 * RUN);
        let end = self.superblocks.end.min(Superblock(first.0 + RUN));
        let all = Superblock::each(first..end).zip(&blocks[first..end]);
        all.filter(|(_, block)| block.since > 0)
    }

    fn best_of(&self, blocks: &TiVec<Superblock, SuperblockState>, run: usize) -> (u32, Superblock) {
        let best = self.held_in(blocks, run).min_by_key(|(_, block)| (block.valid, block.since));
        best.map_or((u32::MAX, Superblock(NOWHERE)), |(superblock, block)| (block.valid, superblock))
    }

    /// Removes a superblock from those that are held.
    fn leaves(&mut self, blocks: &mut TiVec<Superblock, SuperblockState>, superblock: Superblock) {
        blocks[superblock].since = 0;
        let run = self.run_of(superblock);
        if self.best[run].1 == superblock {
            self.best[run] = self.best_of(blocks, run);
        }
    }
}

impl VictimRule for Greedy {
    fn closed(&mut self, blocks: &mut TiVec<Superblock, SuperblockState>, superblock: Superblock) {
        self.fell(blocks, superblock);
    }

    /// Called also for a superblock that is held from now on.
    #[inline]
    fn fell(&mut self, blocks: &mut TiVec<Superblock, SuperblockState>, superblock: Superblock) {
        self.calls += 1;
        let block = &mut blocks[superblock];
        block.since = self.calls;
        let run = self.run_of(superblock);
        let best = &mut self.best[run];
        // A best superblock with as few has had them longer. Where none is held, any count is smaller.
        if block.valid < best.0 {
            *best = (block.valid, superblock);
        }
    }

    fn take(&mut self, blocks: &mut TiVec<Superblock, SuperblockState>, most: u32) -> Option<Superblock> {
        let held = self.best.iter().filter(|&&(valid, superblock)| valid <= most && superblock != Superblock(NOWHERE));
        let &(_, victim) = held.min_by_key(|&&(valid, superblock)| (valid, blocks[superblock].since))?;
        self.leaves(blocks, victim);
        Some(victim)
    }

    fn withdraw(&mut self, blocks: &mut TiVec<Superblock, SuperblockState>, superblock: Superblock) {
        self.leaves(blocks, superblock);
    }

    fn held(&self, blocks: &TiVec<Superblock, SuperblockState>) -> Vec<Superblock> {
        let runs = 0..self.best.len();
        runs.clone().for_each(|run| assert_eq!(self.best[run], self.best_of(blocks, run), "the best of run {run}"));
        runs.flat_map(|run| self.held_in(blocks, run).map(|(superblock, _)| superblock)).collect()
    }
}
