//! Rules for victims: which closed superblock of a set garbage collection takes next.

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
use softsense_config::ids::{Set, Superblock, TiVec};
use softsense_config::spec::{FtlSpec, VictimSpec};

use super::blocks::{State, SuperblockState};
use cost_benefit::CostBenefit;
use fifo::Fifo;
use greedy::Greedy;
use own::Own;
pub(super) use own::SharedRule;
use random_greedy::RandomGreedy;

const NOWHERE: u32 = u32::MAX;

/// A rule for choosing victims among the closed superblocks of one set.
///
/// The rule holds the closed superblocks that it was told of, until it gives one as a victim or one is withdrawn. The valid codewords of
/// each are in `blocks`, whose `since` a rule may use for the superblocks that it holds. A rule knows no time: superblocks age by the
/// order of the calls.
///
/// Every rule keeps this contract, where `most` is the valid codewords of the fullest superblock that is worth collecting:
///
/// - a victim is a superblock that the rule held, and the rule holds it no longer;
/// - a victim has at most `most` valid codewords;
/// - there is a victim whenever the rule holds a superblock with at most `most`;
/// - equal sequences of calls give equal victims.
pub(super) trait VictimRule {
    /// Notes that a superblock has been closed. The rule did not hold it.
    fn closed(&mut self, blocks: &mut TiVec<Superblock, SuperblockState>, superblock: Superblock);

    /// Notes that the valid count of a held superblock has fallen by one. The call comes with each overwritten codeword, so it has to be
    /// O(1). A rule that looks at counts only when it is asked for a victim can ignore it.
    #[inline]
    fn fell(&mut self, _blocks: &mut TiVec<Superblock, SuperblockState>, _superblock: Superblock) {}

    /// Gives the next victim; `None` when no held superblock has at most `most` valid codewords.
    fn take(&mut self, blocks: &mut TiVec<Superblock, SuperblockState>, most: u32) -> Option<Superblock>;

    /// Gives up a held superblock that is taken for a reason other than this rule.
    fn withdraw(&mut self, blocks: &mut TiVec<Superblock, SuperblockState>, superblock: Superblock);

    /// All held superblocks, in any order. Panics where the state of the rule contradicts itself. Slow: for tests.
    fn held(&self, blocks: &TiVec<Superblock, SuperblockState>) -> Vec<Superblock>;
}

/// The closed superblocks of a set, with the rule of the config. It marks them in `blocks` as closed, so that callers know of which
/// superblocks the rule must hear when their counts fall.
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
    /// - `superblocks`: the superblocks of the set.
    /// - `codewords`: the number of places in a superblock.
    /// - `own`: the user's own rule, where the config names one.
    pub(super) fn new(
        spec: &FtlSpec,
        superblocks: Range<Superblock>,
        codewords: u32,
        seed: u64,
        set: Set,
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
    fn closed(&mut self, blocks: &mut TiVec<Superblock, SuperblockState>, superblock: Superblock) {
        blocks[superblock].becomes(State::Closed);
        self.rule().closed(blocks, superblock);
    }

    /// Dispatches statically, as it is the only call that comes with every write.
    #[inline]
    fn fell(&mut self, blocks: &mut TiVec<Superblock, SuperblockState>, superblock: Superblock) {
        match self {
            Self::Greedy(rule) => rule.fell(blocks, superblock),
            Self::Fifo(rule) => rule.fell(blocks, superblock),
            Self::CostBenefit(rule) => rule.fell(blocks, superblock),
            Self::RandomGreedy(rule) => rule.fell(blocks, superblock),
            Self::Own(rule) => rule.fell(blocks, superblock),
        }
    }

    fn take(&mut self, blocks: &mut TiVec<Superblock, SuperblockState>, most: u32) -> Option<Superblock> {
        let victim = self.rule().take(blocks, most)?;
        blocks[victim].becomes(State::Collecting);
        Some(victim)
    }

    fn withdraw(&mut self, blocks: &mut TiVec<Superblock, SuperblockState>, superblock: Superblock) {
        self.rule().withdraw(blocks, superblock);
        blocks[superblock].becomes(State::Collecting);
    }

    fn held(&self, blocks: &TiVec<Superblock, SuperblockState>) -> Vec<Superblock> {
        let held = match self {
            Self::Greedy(rule) => rule.held(blocks),
            Self::Fifo(rule) => rule.held(blocks),
            Self::CostBenefit(rule) => rule.held(blocks),
            Self::RandomGreedy(rule) => rule.held(blocks),
            Self::Own(rule) => rule.held(blocks),
        };
        assert!(held.iter().all(|&superblock| blocks[superblock].is_closed()), "only closed ones are held");
        held
    }
}
