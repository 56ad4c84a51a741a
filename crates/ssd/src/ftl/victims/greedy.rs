use std::ops::Range;

use super::{Block, NOWHERE, VictimRule};

/// Superblocks of a run: a victim takes a look at one of each run and at all of its own, and there are as many of either where a set has
/// a thousand.
const RUN: u32 = 32;

/// The superblock with the fewest valid codewords; the one that has had so few longest, where several have.
///
/// Of each run of neighbours the best is known. One whose count falls takes the place of that if it has fewer: a look at both, where
/// lists by count would change their links all over the set, for which the CPU waits at every overwritten codeword.
#[derive(Debug, Clone)]
pub(in super::super) struct Greedy {
    superblocks: Range<u32>,
    /// Of each run: the fewest valid codewords, and the superblock that has had so few longest; nowhere where none is held.
    best: Vec<(u32, u32)>,
    /// Calls so far: what happened first has the lower number.
    calls: u64,
}

impl Greedy {
    /// # Arguments
    /// - `superblocks`: those of the set.
    pub(super) fn new(superblocks: Range<u32>) -> Self {
        let runs = superblocks.len().div_ceil(RUN as usize);
        Self { superblocks, best: vec![(u32::MAX, NOWHERE); runs], calls: 0 }
    }

    fn run_of(&self, superblock: u32) -> usize {
        ((superblock - self.superblocks.start) / RUN) as usize
    }

    /// The superblocks of a run that are held.
    fn held_in<'a>(&self, blocks: &'a [Block], run: usize) -> impl Iterator<Item = (u32, &'a Block)> {
        let first = self.superblocks.start + run as u32 * RUN;
        let end = self.superblocks.end.min(first + RUN);
        let all = (first..end).zip(&blocks[first as usize..end as usize]);
        all.filter(|(_, block)| block.since > 0)
    }

    fn best_of(&self, blocks: &[Block], run: usize) -> (u32, u32) {
        let best = self.held_in(blocks, run).min_by_key(|(_, block)| (block.valid, block.since));
        best.map_or((u32::MAX, NOWHERE), |(superblock, block)| (block.valid, superblock))
    }

    /// A superblock that was held is not held any more.
    fn leaves(&mut self, blocks: &mut [Block], superblock: u32) {
        blocks[superblock as usize].since = 0;
        let run = self.run_of(superblock);
        if self.best[run].1 == superblock {
            self.best[run] = self.best_of(blocks, run);
        }
    }
}

impl VictimRule for Greedy {
    fn closed(&mut self, blocks: &mut [Block], superblock: u32) {
        self.fell(blocks, superblock);
    }

    /// Also of one that is held from now on.
    #[inline]
    fn fell(&mut self, blocks: &mut [Block], superblock: u32) {
        self.calls += 1;
        let block = &mut blocks[superblock as usize];
        block.since = self.calls;
        let run = self.run_of(superblock);
        let best = &mut self.best[run];
        // One that has as few has had them longer; where none is held, any has fewer.
        if block.valid < best.0 {
            *best = (block.valid, superblock);
        }
    }

    fn take(&mut self, blocks: &mut [Block], most: u32) -> Option<u32> {
        let held = self.best.iter().filter(|&&(valid, superblock)| valid <= most && superblock != NOWHERE);
        let &(_, victim) = held.min_by_key(|&&(valid, superblock)| (valid, blocks[superblock as usize].since))?;
        self.leaves(blocks, victim);
        Some(victim)
    }

    fn withdraw(&mut self, blocks: &mut [Block], superblock: u32) {
        self.leaves(blocks, superblock);
    }

    fn held(&self, blocks: &[Block]) -> Vec<u32> {
        let runs = 0..self.best.len();
        runs.clone().for_each(|run| assert_eq!(self.best[run], self.best_of(blocks, run), "the best of run {run}"));
        runs.flat_map(|run| self.held_in(blocks, run).map(|(superblock, _)| superblock)).collect()
    }
}
