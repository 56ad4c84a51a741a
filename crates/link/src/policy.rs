use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Result};

use crate::{MAX_LEVEL, Reliability};

/// Which levels a read tries, and when it begins to sense them. A policy sees what a controller sees: the level it used, and
/// whether the decoder failed. `ideal` alone knows the least level that decodes, which no drive does.
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
    /// levels, whose references are those of the cells, come after all of them. `ideal` needs none.
    RetryTable,
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
    /// Entries of the chip's retry table that hard decisions try: the reliability tells.
    #[serde(skip)]
    pub retries: u8,
}

impl Default for ReadSpec {
    fn default() -> Self {
        Self {
            policy: Policy::TwoStep,
            retry: Retry::Restart,
            max_level: MAX_LEVEL,
            references: HardReferences::Cells,
            retries: 0,
        }
    }
}

/// One attempt at the codewords of a page: what is sensed and transferred for it. One decode of each follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The entry of the retry table by which references stand, from 0; without it they are those of the cells.
    pub retry_entry: Option<u8>,
    /// The level the decoder works with.
    pub level: u8,
    /// Whether the hard-decision level is sensed and transferred.
    pub hard: bool,
    /// How many extra levels are sensed and transferred.
    pub extra_levels: u8,
}

impl Step {
    /// A sensing of `level` from nothing.
    pub fn fresh(level: u8) -> Self {
        Self { retry_entry: None, level, hard: true, extra_levels: level - 1 }
    }

    /// A hard decision by an entry of the retry table.
    pub fn retry(entry: u8) -> Self {
        Self { retry_entry: Some(entry), ..Self::fresh(1) }
    }
}

/// What a controller sees after a step, no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observation {
    /// What was done.
    pub step: Step,
    /// Whether the decoder found a codeword for everything that was read with it.
    pub decoded: bool,
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

    /// The same, with as many entries of a retry table as a reliability has, if it asks for them.
    #[must_use]
    pub fn with_retries(self, reliability: &Reliability) -> Self {
        let retries = if self.references == HardReferences::RetryTable { reliability.retries() } else { 0 };
        Self { retries, ..self }
    }

    /// The first step.
    ///
    /// # Arguments
    /// - `remembered_level`: that of the last read, where it is remembered; else 1.
    /// - `least_level`: the least level that decodes, or one more than there are. `ideal` alone asks for it.
    #[inline]
    pub fn first(&self, remembered_level: u8, least_level: impl FnOnce() -> u8) -> Step {
        if self.retries > 0 && !self.policy.knows_level() && remembered_level == 1 {
            return Step::retry(0);
        }
        let level = match self.policy {
            Policy::Ideal => least_level(),
            Policy::TwoStep | Policy::LookAhead | Policy::Progressive | Policy::LookAheadProgressive => {
                remembered_level
            }
        };
        Step::fresh(level.min(self.max_level))
    }

    /// The step after what was seen of the last one; `None` when there is nothing left to do, or to try.
    #[inline]
    pub fn after(&self, seen: Observation) -> Option<Step> {
        let Step { level, retry_entry, .. } = seen.step;
        if seen.decoded {
            return None;
        }
        if let Some(entry) = retry_entry
            && entry + 1 < self.retries
        {
            return Some(Step::retry(entry + 1));
        }
        if level >= self.max_level {
            return None;
        }
        let next = match self.policy {
            Policy::TwoStep | Policy::LookAhead => self.max_level,
            Policy::Ideal | Policy::Progressive | Policy::LookAheadProgressive => level + 1,
        };
        Some(match self.retry {
            // What was sensed is elsewhere.
            _ if retry_entry.is_some() => Step::fresh(next),
            Retry::Incremental => Step { retry_entry: None, level: next, hard: false, extra_levels: next - level },
            Retry::Restart => Step::fresh(next),
        })
    }

    /// The step that follows if this one fails.
    #[inline]
    pub fn if_fails(&self, step: Step) -> Option<Step> {
        self.after(Observation { step, decoded: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The steps of a codeword that decodes from level `least` on.
    fn steps(policy: Policy, retry: Retry, least: u8) -> Vec<Step> {
        let spec = ReadSpec { policy, retry, ..ReadSpec::default() };
        let observed = |step: Step| Observation { step, decoded: step.level >= least };
        std::iter::successors(Some(spec.first(1, || least)), |&step| spec.after(observed(step))).collect()
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
        assert_eq!(incremental, Step { retry_entry: None, level: 7, hard: false, extra_levels: 6 });
        let sensed: u8 = steps(Policy::Progressive, Retry::Incremental, 7).iter().map(|step| step.extra_levels).sum();
        assert_eq!(sensed, 6);
    }

    /// Are hard decisions tried by each entry of the retry table, and then soft levels from nothing?
    #[test]
    fn the_retry_table_comes_before_soft_levels() {
        let tried = |policy, max_level| -> Vec<(Option<u8>, u8, u8)> {
            let spec = ReadSpec { policy, max_level, retry: Retry::Incremental, retries: 3, ..ReadSpec::default() };
            std::iter::successors(Some(spec.first(1, || 7)), |&step| spec.if_fails(step))
                .map(|step| (step.retry_entry, step.level, step.extra_levels))
                .collect()
        };
        let table = [(Some(0), 1, 0), (Some(1), 1, 0), (Some(2), 1, 0)];
        assert_eq!(tried(Policy::TwoStep, 1), table);
        assert_eq!(tried(Policy::LookAhead, 7), [&table[..], &[(None, 7, 6)]].concat());
        assert_eq!(tried(Policy::Progressive, 3), [&table[..], &[(None, 2, 1), (None, 3, 1)]].concat());
        assert_eq!(tried(Policy::Ideal, 7), [(None, 7, 6)]);
    }

    #[test]
    fn nothing_is_left_after_the_deepest_level() {
        for policy in Policy::ALL {
            let spec = ReadSpec { policy, max_level: 3, ..ReadSpec::default() };
            assert_eq!(spec.if_fails(Step::fresh(3)), None);
            assert!(spec.if_fails(Step::fresh(1)).unwrap().level <= 3);
        }
    }
}
