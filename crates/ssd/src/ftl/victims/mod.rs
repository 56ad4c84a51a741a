//! Which closed superblock of a set garbage collection takes next.

mod cost_benefit;
mod fifo;
mod greedy;
mod own;
mod random_greedy;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use softsense_base::{Purpose, Stream};

use super::{Block, NOWHERE};
use crate::config::{FtlSpec, VictimSpec};
use cost_benefit::CostBenefit;
use fifo::Fifo;
use greedy::Greedy;
use own::Own;
pub(super) use own::SharedRule;
use random_greedy::RandomGreedy;

/// A rule for choosing victims among the closed superblocks of one set.
///
/// The rule holds the superblocks that it was told to be closed, until it gives one as a victim or one is withdrawn. How many
/// codewords of each are valid stands in `blocks`, whose `since` a rule may use for the superblocks that it holds. A rule knows
/// no time: superblocks age by the order of the calls.
///
/// Whatever the rule, with `most` the valid codewords of the fullest superblock that is worth collecting:
///
/// - a victim is a superblock that the rule held, and it holds it no longer;
/// - a victim has at most `most` valid codewords;
/// - there is a victim whenever the rule holds a superblock with at most `most`;
/// - the same calls give the same victims.
pub(super) trait VictimRule {
    /// A superblock has been closed. It was not held.
    fn closed(&mut self, blocks: &mut [Block], superblock: u32);

    /// The valid count of a superblock that is held has fallen by one. Once for each overwritten codeword: this has to be O(1). A
    /// rule that looks at counts only when it is asked for a victim need not hear of it.
    #[inline]
    fn fell(&mut self, _blocks: &mut [Block], _superblock: u32) {}

    /// Gives the next victim; `None` when no superblock that is held has at most `most` valid codewords.
    fn take(&mut self, blocks: &mut [Block], most: u32) -> Option<u32>;

    /// A superblock that is held is taken for another reason than this rule.
    fn withdraw(&mut self, blocks: &mut [Block], superblock: u32);

    /// All superblocks that are held, in any order. Panics where the rule contradicts itself. Slow: for tests.
    fn held(&self, blocks: &[Block]) -> Vec<u32>;
}

/// The closed superblocks of a set, with the rule of the config. It marks them in `blocks` as closed, so that others know
/// whose falling counts the rule must hear of.
#[derive(Debug)]
pub(super) enum Victims {
    Greedy(Greedy),
    Fifo(Fifo),
    CostBenefit(CostBenefit),
    RandomGreedy(Box<RandomGreedy>),
    Own(Box<Own>),
}

impl Victims {
    /// # Arguments
    /// - `superblocks`: those of the set.
    /// - `codewords`: that a superblock has places for.
    /// - `own`: the rule of the user's own, where the config names one.
    pub(super) fn new(
        spec: &FtlSpec,
        superblocks: Range<u32>,
        codewords: u32,
        seed: u64,
        set: u32,
        own: Option<&SharedRule>,
    ) -> Self {
        match spec.victims {
            VictimSpec::Own(_) => Self::Own(Own::new(Arc::clone(own.expect("it was handed over")), set).into()),
            VictimSpec::Greedy => Self::Greedy(Greedy::new(superblocks)),
            VictimSpec::Fifo => Self::Fifo(Fifo::default()),
            VictimSpec::CostBenefit => Self::CostBenefit(CostBenefit::new(codewords)),
            VictimSpec::RandomGreedy { choices } => {
                Self::RandomGreedy(RandomGreedy::new(choices, Stream::new(seed, Purpose::Victims), set).into())
            }
        }
    }

    fn rule(&mut self) -> &mut dyn VictimRule {
        match self {
            Self::Greedy(rule) => rule,
            Self::Fifo(rule) => rule,
            Self::CostBenefit(rule) => rule,
            Self::RandomGreedy(rule) => &mut **rule,
            Self::Own(rule) => &mut **rule,
        }
    }
}

impl VictimRule for Victims {
    fn closed(&mut self, blocks: &mut [Block], superblock: u32) {
        blocks[superblock as usize].closed = true;
        self.rule().closed(blocks, superblock);
    }

    /// Static: the only call that comes with every write.
    #[inline]
    fn fell(&mut self, blocks: &mut [Block], superblock: u32) {
        match self {
            Self::Greedy(rule) => rule.fell(blocks, superblock),
            Self::Fifo(rule) => rule.fell(blocks, superblock),
            Self::CostBenefit(rule) => rule.fell(blocks, superblock),
            Self::RandomGreedy(rule) => rule.fell(blocks, superblock),
            Self::Own(rule) => rule.fell(blocks, superblock),
        }
    }

    fn take(&mut self, blocks: &mut [Block], most: u32) -> Option<u32> {
        let victim = self.rule().take(blocks, most)?;
        blocks[victim as usize].closed = false;
        Some(victim)
    }

    fn withdraw(&mut self, blocks: &mut [Block], superblock: u32) {
        self.rule().withdraw(blocks, superblock);
        blocks[superblock as usize].closed = false;
    }

    fn held(&self, blocks: &[Block]) -> Vec<u32> {
        let held = match self {
            Self::Greedy(rule) => rule.held(blocks),
            Self::Fifo(rule) => rule.held(blocks),
            Self::CostBenefit(rule) => rule.held(blocks),
            Self::RandomGreedy(rule) => rule.held(blocks),
            Self::Own(rule) => rule.held(blocks),
        };
        assert!(held.iter().all(|&superblock| blocks[superblock as usize].closed), "only closed ones are held");
        held
    }
}
