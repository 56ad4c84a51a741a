use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Result};
use softsense_nand::ReferencesAt;

use crate::{MAX_LEVEL, Reliability};

/// Which levels a read tries, and when it begins to sense them. A policy sees what a controller sees: the step it made, whether
/// the decoder failed, and how many checks were violated. `ideal` alone knows the least level that decodes, which no drive does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// Knows the least level that decodes and reads with it at once: no step ever fails. A policy that looks ahead
    /// can still beat it where it hides sensing behind transfers.
    Ideal,
    /// Hard decision first; when it fails, every level there is (LDPC-in-SSD, fig. 4).
    TwoStep,
    /// `two_step`, but soft sensing begins as soon as hard sensing ends, if no other request waits
    /// for the plane (LDPC-in-SSD, fig. 6).
    LookAhead,
    /// One more level after each failure (LDPC-in-SSD, fig. 7).
    Progressive,
    /// `progressive`, with the next level sensed while the last one transfers and decodes.
    LookAheadProgressive,
}

/// What a further step costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Retry {
    /// Only the extra levels are sensed and transferred; the controller kept the others
    /// (LDPC-in-SSD, eq. 3).
    Incremental,
    /// The whole level is sensed and transferred again (LDPC-in-SSD, eqs. 1 and 2; LaLDPC's T_i).
    Restart,
}

/// Where the references of hard decisions stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HardReferences {
    /// Where those of the cells are (`references` of `threshold_voltage`): they track the age, or are the chip's default.
    #[default]
    Cells,
    /// At each entry of the chip's retry table (`references.retry_table_v` of `threshold_voltage`) in turn, until one decodes. Soft
    /// levels come after all of them. `ideal` needs none.
    RetryTable,
    /// Where those of the cells are; after a failure where a search for the valleys between states finds them
    /// (`references.valley_search` of `threshold_voltage`), by as many sensings of each boundary, counted in the die. Soft levels
    /// stand about what was found. `ideal` needs none.
    ValleySearch,
}

/// What a controller remembers of a retry table: with which entry reads begin. The entries that they then go through are the others
/// in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FirstEntry {
    /// With the first of the table.
    #[default]
    First,
    /// With the one that last decoded a read of the block, since its erase.
    OfBlock,
    /// With the one that last decoded a read of the layer in the block (`variation.wordlines_per_layer`), since its erase.
    OfLayer,
}

/// Where the references of soft levels stand that come after a retry table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SoftReferences {
    /// Where those of the cells are.
    #[default]
    Cells,
    /// About the entry by which hard decisions violated the fewest checks. What is sensed ahead goes by what is known then.
    FewestViolated,
}

/// How reads are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReadSpec {
    /// Which levels a read tries, and when it begins to sense them.
    pub policy: Policy,
    /// What a further step costs.
    pub retry: Retry,
    /// The deepest level that reads go to, 1 to 7 and no more than the decode table has, or the decoder has a use for.
    pub max_level: u8,
    /// Where the references of hard decisions stand.
    pub references: HardReferences,
    /// With which entry of a retry table reads begin.
    pub first_entry: FirstEntry,
    /// Where the references of soft levels stand that come after a retry table.
    pub soft_references: SoftReferences,
    /// Entries of the chip's retry table that hard decisions try: the reliability tells.
    #[serde(skip)]
    pub retries: u8,
    /// Sensings of each boundary by a search for valleys; 0 where there is none: the reliability tells.
    #[serde(skip)]
    pub search_sensings: u8,
}

impl Default for ReadSpec {
    fn default() -> Self {
        Self {
            policy: Policy::TwoStep,
            retry: Retry::Restart,
            max_level: MAX_LEVEL,
            references: HardReferences::Cells,
            first_entry: FirstEntry::First,
            soft_references: SoftReferences::Cells,
            retries: 0,
            search_sensings: 0,
        }
    }
}

/// One attempt at the codewords of a page: where references stand, what is sensed and what is transferred for it. One decode of
/// each codeword follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Where references stand.
    pub references: ReferencesAt,
    /// The level the decoder works with.
    pub level: u8,
    /// Whether the hard-decision level is sensed and transferred.
    pub hard: bool,
    /// How many extra levels are sensed and transferred.
    pub extra_levels: u8,
    /// How often each boundary is sensed before, to find where references belong. The die counts: nothing is transferred.
    pub search_sensings: u8,
}

impl Step {
    /// A sensing of `level` from nothing, with the references of the cells.
    pub fn fresh(level: u8) -> Self {
        Self::fresh_at(ReferencesAt::Cells, level)
    }

    /// A sensing of `level` from nothing.
    pub fn fresh_at(references: ReferencesAt, level: u8) -> Self {
        Self { references, level, hard: true, extra_levels: level - 1, search_sensings: 0 }
    }

    /// A hard decision by an entry of the retry table.
    pub fn retry(entry: u8) -> Self {
        Self::fresh_at(ReferencesAt::RetryEntry(entry), 1)
    }
}

/// What a controller sees after a step, no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observation {
    /// What was done.
    pub step: Step,
    /// Whether the decoder found a codeword for everything that was read with it.
    pub decoded: bool,
    /// Of a hard decision, how many checks a codeword violated, where that was asked for: the mean of those that failed.
    pub syndrome_weight: Option<u32>,
}

/// What a controller knows of a read under way, beside the step that it makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct History {
    /// The entry of the retry table with which the read began.
    first_entry: u8,
    /// Of the hard decisions seen, the fewest violated checks, and where references stood.
    fewest_violated: Option<(u32, ReferencesAt)>,
}

impl History {
    /// Of a read that begins.
    ///
    /// # Arguments
    /// - `remembered_entry`: of the retry table, where one is remembered; else 0.
    pub fn new(remembered_entry: u8) -> Self {
        Self { first_entry: remembered_entry, fewest_violated: None }
    }

    /// Takes note of what was seen.
    pub fn see(&mut self, seen: Observation) {
        if let (1, Some(weight)) = (seen.step.level, seen.syndrome_weight)
            && self.fewest_violated.is_none_or(|(fewest, _)| weight < fewest)
        {
            self.fewest_violated = Some((weight, seen.step.references));
        }
    }

    /// The entry of a retry table that is tried after another; `None` when all of `retries` were.
    fn entry_after(&self, entry: u8, retries: u8) -> Option<u8> {
        let from = if entry == self.first_entry { 0 } else { entry + 1 };
        (from..retries).find(|&next| next != self.first_entry)
    }
}

impl Policy {
    /// Every policy, in the order in which comparisons show them.
    pub const ALL: [Policy; 5] =
        [Policy::Ideal, Policy::TwoStep, Policy::LookAhead, Policy::Progressive, Policy::LookAheadProgressive];

    /// The name in configs and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Policy::Ideal => "ideal",
            Policy::TwoStep => "two_step",
            Policy::LookAhead => "look_ahead",
            Policy::Progressive => "progressive",
            Policy::LookAheadProgressive => "look_ahead_progressive",
        }
    }

    /// One sentence for people.
    pub fn about(self) -> &'static str {
        match self {
            Policy::Ideal => "knows the least level that decodes and reads with it at once: no step fails",
            Policy::TwoStep => "hard decision first, every level when it fails",
            Policy::LookAhead => "two_step with soft sensing begun while the hard result transfers and decodes",
            Policy::Progressive => "one more level after each failure",
            Policy::LookAheadProgressive => "progressive with the next level sensed while the last one decodes",
        }
    }

    /// Whether it knows the least level that decodes, which no controller does: a bound for the others.
    pub fn knows_level(self) -> bool {
        self == Policy::Ideal
    }

    /// Whether the next level is sensed before the outcome of this one is known.
    pub fn looks_ahead(self) -> bool {
        match self {
            Policy::LookAhead | Policy::LookAheadProgressive => true,
            Policy::Ideal | Policy::TwoStep | Policy::Progressive => false,
        }
    }
}

impl Retry {
    /// The name in configs and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Retry::Incremental => "incremental",
            Retry::Restart => "restart",
        }
    }
}

impl ReadSpec {
    /// Checks the ranges.
    pub fn check(&self) -> Result<()> {
        if !(1..=MAX_LEVEL).contains(&self.max_level) {
            let message = format!("found {}, expected a level from 1 to {MAX_LEVEL}", self.max_level);
            return Err(Error::config("read.max_level", message));
        }
        Ok(())
    }

    /// The same, with as many entries of a retry table, or sensings of a search, as a reliability has, if it asks for them.
    #[must_use]
    pub fn with_retries(self, reliability: &Reliability) -> Self {
        let (mut retries, mut search_sensings) = (0, 0);
        match self.references {
            HardReferences::Cells => {}
            HardReferences::RetryTable => retries = reliability.retries(),
            HardReferences::ValleySearch => search_sensings = reliability.valley_sensings().unwrap_or(0),
        }
        Self { retries, search_sensings, ..self }
    }

    /// Whether it goes by how many checks a codeword violates.
    pub fn sees_syndrome_weights(&self) -> bool {
        self.references == HardReferences::RetryTable && self.soft_references == SoftReferences::FewestViolated
    }

    /// The first step.
    ///
    /// # Arguments
    /// - `history`: of the read, new.
    /// - `remembered_level`: that of the last read, where it is remembered; else 1.
    /// - `least_level`: the least level that decodes, or one more than there are. `ideal` alone asks for it.
    #[inline]
    pub fn first(&self, history: &History, remembered_level: u8, least_level: impl FnOnce() -> u8) -> Step {
        if self.retries > 0 && !self.policy.knows_level() && remembered_level == 1 {
            return Step::retry(history.first_entry);
        }
        let level = match self.policy {
            Policy::Ideal => least_level(),
            Policy::TwoStep | Policy::LookAhead | Policy::Progressive | Policy::LookAheadProgressive => {
                remembered_level
            }
        };
        Step::fresh(level.min(self.max_level))
    }

    /// The step after what was seen of the last one, which the history takes note of; `None` when there is nothing left to do, or
    /// to try.
    #[inline]
    pub fn after(&self, history: &mut History, seen: Observation) -> Option<Step> {
        if seen.decoded {
            return None;
        }
        history.see(seen);
        self.if_fails(history, seen.step)
    }

    /// The step that follows if this one fails, by what is known before it does.
    #[inline]
    pub fn if_fails(&self, history: &History, step: Step) -> Option<Step> {
        let Step { level, references, .. } = step;
        match references {
            ReferencesAt::RetryEntry(entry) if level == 1 => {
                if let Some(next) = history.entry_after(entry, self.retries) {
                    return Some(Step::retry(next));
                }
            }
            ReferencesAt::Cells if level == 1 && self.search_sensings > 0 && !self.policy.knows_level() => {
                let found = Step::fresh_at(ReferencesAt::Valleys, 1);
                return Some(Step { search_sensings: self.search_sensings, ..found });
            }
            _ => {}
        }
        if level >= self.max_level {
            return None;
        }
        let next = match self.policy {
            Policy::TwoStep | Policy::LookAhead => self.max_level,
            Policy::Ideal | Policy::Progressive | Policy::LookAheadProgressive => level + 1,
        };
        let about = match references {
            ReferencesAt::RetryEntry(_) if level == 1 => match self.soft_references {
                SoftReferences::Cells => ReferencesAt::Cells,
                SoftReferences::FewestViolated => {
                    history.fewest_violated.map_or(references, |(_, references)| references)
                }
            },
            _ => references,
        };
        Some(match self.retry {
            Retry::Incremental if about == references => {
                Step { level: next, hard: false, extra_levels: next - level, search_sensings: 0, ..step }
            }
            // What was sensed is elsewhere.
            Retry::Incremental | Retry::Restart => Step::fresh_at(about, next),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The steps of a codeword that decodes from level `least` on.
    fn steps(policy: Policy, retry: Retry, least: u8) -> Vec<Step> {
        let spec = ReadSpec { policy, retry, ..ReadSpec::default() };
        let observed = |step: Step| Observation { step, decoded: step.level >= least, syndrome_weight: None };
        let mut history = History::default();
        let first = spec.first(&history, 1, || least);
        std::iter::successors(Some(first), |&step| spec.after(&mut history, observed(step))).collect()
    }

    #[test]
    fn levels_each_policy_tries() {
        let levels =
            |policy, least| -> Vec<u8> { steps(policy, Retry::Restart, least).iter().map(|step| step.level).collect() };
        assert_eq!(levels(Policy::Ideal, 4), [4]);
        assert_eq!(levels(Policy::TwoStep, 1), [1]);
        assert_eq!(levels(Policy::TwoStep, 2), [1, 7]);
        assert_eq!(levels(Policy::LookAhead, 5), [1, 7]);
        assert_eq!(levels(Policy::Progressive, 4), [1, 2, 3, 4]);
        assert_eq!(levels(Policy::LookAheadProgressive, 3), [1, 2, 3]);
    }

    #[test]
    fn restart_senses_everything_again_and_incremental_only_what_is_new() {
        assert_eq!(steps(Policy::TwoStep, Retry::Restart, 7)[1], Step::fresh(7));
        let incremental = steps(Policy::TwoStep, Retry::Incremental, 7)[1];
        assert_eq!(incremental, Step { hard: false, ..Step::fresh(7) });
        let sensed: u8 = steps(Policy::Progressive, Retry::Incremental, 7).iter().map(|step| step.extra_levels).sum();
        assert_eq!(sensed, 6);
    }

    /// Where the references of each step stand, its level and its extra levels, when nothing decodes and each hard decision violates so
    /// many checks.
    fn tried(spec: &ReadSpec, entry: u8, weights: &[u32]) -> Vec<(ReferencesAt, u8, u8)> {
        let mut history = History::new(entry);
        let mut weights = weights.iter().copied();
        let first = spec.first(&history, 1, || 7);
        let after = |step: &Step| {
            let seen = Observation { step: *step, decoded: false, syndrome_weight: weights.next() };
            spec.after(&mut history, seen)
        };
        let all: Vec<Step> = std::iter::successors(Some(first), after).collect();
        all.into_iter().map(|step| (step.references, step.level, step.extra_levels)).collect()
    }

    const CELLS: ReferencesAt = ReferencesAt::Cells;

    fn entry(number: u8) -> ReferencesAt {
        ReferencesAt::RetryEntry(number)
    }

    /// Are hard decisions tried by each entry of the retry table, and then soft levels from nothing?
    #[test]
    fn the_retry_table_comes_before_soft_levels() {
        let tried = |policy, max_level| {
            let spec = ReadSpec { policy, max_level, retry: Retry::Incremental, retries: 3, ..ReadSpec::default() };
            tried(&spec, 0, &[])
        };
        let table = [(entry(0), 1, 0), (entry(1), 1, 0), (entry(2), 1, 0)];
        assert_eq!(tried(Policy::TwoStep, 1), table);
        assert_eq!(tried(Policy::LookAhead, 7), [&table[..], &[(CELLS, 7, 6)]].concat());
        assert_eq!(tried(Policy::Progressive, 3), [&table[..], &[(CELLS, 2, 1), (CELLS, 3, 1)]].concat());
        assert_eq!(tried(Policy::Ideal, 7), [(CELLS, 7, 6)]);
    }

    /// Does a read begin with the entry that is remembered, and try every entry once?
    #[test]
    fn a_remembered_entry_comes_first() {
        let spec = ReadSpec { max_level: 1, retries: 4, ..ReadSpec::default() };
        let entries = |remembered| tried(&spec, remembered, &[]).into_iter().map(|(at, ..)| at).collect::<Vec<_>>();
        assert_eq!(entries(0), [0, 1, 2, 3].map(entry));
        assert_eq!(entries(2), [2, 0, 1, 3].map(entry));
        assert_eq!(entries(3), [3, 0, 1, 2].map(entry));
    }

    /// Do soft levels stand about the entry with the fewest violated checks, where they are asked to?
    #[test]
    fn soft_levels_stand_about_the_best_entry() {
        let spec = ReadSpec {
            retries: 3,
            policy: Policy::Progressive,
            retry: Retry::Incremental,
            max_level: 3,
            soft_references: SoftReferences::FewestViolated,
            ..ReadSpec::default()
        };
        let soft = |weights: &[u32]| tried(&spec, 0, weights)[3..].to_vec();
        assert_eq!(soft(&[900, 400, 700]), [(entry(1), 2, 1), (entry(1), 3, 1)]);
        // What was sensed last can be kept.
        assert_eq!(soft(&[900, 400, 300]), [(entry(2), 2, 1), (entry(2), 3, 1)]);
        let history = History::default();
        assert!(!spec.if_fails(&history, Step::retry(2)).unwrap().hard, "nothing was seen: the last entry is kept");
        let whole = ReadSpec { retry: Retry::Restart, ..spec };
        assert!(whole.if_fails(&history, Step::retry(2)).unwrap().hard);
    }

    /// Is a search made once, after a failure, and kept for soft levels?
    #[test]
    fn valleys_are_searched_for_once() {
        let spec = ReadSpec { search_sensings: 9, policy: Policy::Progressive, max_level: 3, ..ReadSpec::default() };
        let found = ReferencesAt::Valleys;
        assert_eq!(tried(&spec, 0, &[]), [(CELLS, 1, 0), (found, 1, 0), (found, 2, 1), (found, 3, 2)]);
        let history = History::default();
        let search = spec.if_fails(&history, Step::fresh(1)).unwrap();
        assert_eq!((search.search_sensings, spec.if_fails(&history, search).unwrap().search_sensings), (9, 0));
        assert_eq!(tried(&ReadSpec { policy: Policy::Ideal, ..spec }, 0, &[]), [(CELLS, 3, 2)]);
    }

    #[test]
    fn nothing_is_left_after_the_deepest_level() {
        for policy in Policy::ALL {
            let spec = ReadSpec { policy, max_level: 3, ..ReadSpec::default() };
            let history = History::default();
            assert_eq!(spec.if_fails(&history, Step::fresh(3)), None);
            assert!(spec.if_fails(&history, Step::fresh(1)).unwrap().level <= 3);
        }
    }
}
