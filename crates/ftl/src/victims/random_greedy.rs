use softsense_base::Stream;
use softsense_config::ids::{Set, Superblock, TiVec};

use super::{SuperblockState, VictimRule};

/// The emptiest of `choices` closed superblocks that are drawn at random with replacement; among equal ones, the first drawn. If no
/// drawn superblock is worth collecting, the next one in `held` that is, from the last one drawn on.
///
/// Finding a victim takes a look at each drawn superblock, and where that was in vain at up to all held ones.
///
/// Source: B. Van Houdt, "A mean field model for a class of garbage collection algorithms in flash-based solid state drives",
/// SIGMETRICS 2013: d-choices.
#[derive(Debug, Clone)]
pub(in super::super) struct RandomGreedy {
    choices: u32,
    stream: Stream,
    set: u64,
    /// The number of draws so far.
    drawn: u64,
    held: Vec<Superblock>,
}

impl RandomGreedy {
    pub(super) fn new(choices: u32, stream: Stream, set: Set) -> Self {
        Self { choices, stream, set: set.into(), drawn: 0, held: Vec::new() }
    }

    /// Draws the position in `held` of a superblock.
    fn draw(&mut self) -> usize {
        let bits = self.stream.bits(self.set, self.drawn);
        self.drawn += 1;
        ((u128::from(bits) * self.held.len() as u128) >> 64) as usize
    }
}

impl VictimRule for RandomGreedy {
    fn closed(&mut self, _: &mut TiVec<Superblock, SuperblockState>, superblock: Superblock) {
        self.held.push(superblock);
    }

    fn take(&mut self, blocks: &mut TiVec<Superblock, SuperblockState>, most: u32) -> Option<Superblock> {
        if self.held.is_empty() {
            return None;
        }
        let valid = |held: &[Superblock], at: usize| blocks[held[at]].valid;
        let (mut emptiest, mut last) = (0, 0);
        for choice in 0..self.choices {
            last = self.draw();
            if choice == 0 || valid(&self.held, last) < valid(&self.held, emptiest) {
                emptiest = last;
            }
        }
        let count = self.held.len();
        let at = if valid(&self.held, emptiest) <= most {
            emptiest
        } else {
            (last..count).chain(0..last).find(|&at| valid(&self.held, at) <= most)?
        };
        Some(self.held.swap_remove(at))
    }

    fn withdraw(&mut self, _: &mut TiVec<Superblock, SuperblockState>, superblock: Superblock) {
        let at = self.held.iter().position(|&held| held == superblock).expect("it is held");
        self.held.swap_remove(at);
    }

    fn held(&self, _: &TiVec<Superblock, SuperblockState>) -> Vec<Superblock> {
        self.held.clone()
    }
}
