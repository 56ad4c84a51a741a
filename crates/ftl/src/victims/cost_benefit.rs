use softsense_config::ids::{Superblock, TiVec};

use super::{SuperblockState, VictimRule};

/// The superblock with the greatest `age (1 - u) / (2 u)`, of those that are worth collecting; among equal ones, the one that was closed
/// first. The share `u` is its valid codewords over its places. Collecting it reads and writes a share `u` each, and frees `1 - u`. Its
/// age is the number of superblocks of the set that have been closed since, itself included. This clock stands still when nothing is
/// written.
///
/// Finding a victim takes a look at each held superblock. It is computed in integers, so that equal scores are equal on every CPU.
///
/// Source: A. Kawaguchi, S. Nishioka, H. Motoda, "A flash-memory based file system", USENIX 1995; after M. Rosenblum, J. K.
/// Ousterhout, "The design and implementation of a log-structured file system", SOSP 1991, whose cost is `1 + u` for reading
/// whole segments.
#[derive(Debug, Clone)]
pub(in super::super) struct CostBenefit {
    codewords: u32,
    /// Superblocks closed so far.
    closings: u64,
    /// Held superblocks in the order of closing, each with the number of superblocks closed before it.
    held: Vec<(Superblock, u64)>,
}

impl CostBenefit {
    pub(super) fn new(codewords: u32) -> Self {
        Self { codewords, closings: 0, held: Vec::new() }
    }
}

impl VictimRule for CostBenefit {
    fn closed(&mut self, _: &mut TiVec<Superblock, SuperblockState>, superblock: Superblock) {
        self.held.push((superblock, self.closings));
        self.closings += 1;
    }

    fn take(&mut self, blocks: &mut TiVec<Superblock, SuperblockState>, most: u32) -> Option<Superblock> {
        // Position, benefit and cost of the best one so far.
        let mut best: Option<(usize, u128, u128)> = None;
        for (at, &(superblock, before)) in self.held.iter().enumerate() {
            let valid = blocks[superblock].valid;
            if valid > most {
                continue;
            }
            let benefit = u128::from(self.closings - before) * u128::from(self.codewords - valid);
            let cost = u128::from(valid);
            if best.is_none_or(|(_, best_benefit, best_cost)| benefit * best_cost > best_benefit * cost) {
                best = Some((at, benefit, cost));
            }
        }
        best.map(|(at, ..)| self.held.remove(at).0)
    }

    fn withdraw(&mut self, _: &mut TiVec<Superblock, SuperblockState>, superblock: Superblock) {
        self.held.retain(|&(held, _)| held != superblock);
    }

    fn held(&self, _: &TiVec<Superblock, SuperblockState>) -> Vec<Superblock> {
        self.held.iter().map(|&(superblock, _)| superblock).collect()
    }
}
