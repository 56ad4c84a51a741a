use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Result};

use crate::MAX_LEVEL;

/// Which levels a read tries, and when it begins to sense them. A policy sees only what a controller
/// sees (the level it used and that the decoder failed); `ideal` alone is told the required level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// Knows the required level and reads with it at once: no attempt ever fails. A policy that looks ahead
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

/// What a further attempt costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Retry {
    /// Only the extra levels are sensed and transferred; the controller kept the others
    /// (LDPC-in-SSD, eq. 3).
    Incremental,
    /// The whole level is sensed and transferred again (LDPC-in-SSD, eqs. 1 and 2; LaLDPC's T_i).
    Restart,
}

/// How reads are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReadSpec {
    /// Which levels a read tries, and when it begins to sense them.
    pub policy: Policy,
    /// What a further attempt costs.
    pub retry: Retry,
    /// The deepest level that reads go to, 1 to 7 and no more than the decode table has, or the decoder has a use for.
    pub max_level: u8,
}

impl Default for ReadSpec {
    fn default() -> Self {
        Self { policy: Policy::TwoStep, retry: Retry::Restart, max_level: MAX_LEVEL }
    }
}

/// The operations of one attempt at a codeword, but for its one decode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    /// The level the decoder works with.
    pub level: u8,
    /// Whether the hard-decision level is sensed and transferred.
    pub hard: bool,
    /// How many extra levels are sensed and transferred.
    pub extra_levels: u8,
}

impl Attempt {
    /// A sensing of `level` from nothing.
    pub fn fresh(level: u8) -> Self {
        Self { level, hard: true, extra_levels: level - 1 }
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
            Policy::Ideal => "knows the required level and reads with it at once: no attempt fails",
            Policy::TwoStep => "hard decision first, every level when it fails",
            Policy::LookAhead => "two_step with soft sensing begun while the hard result transfers and decodes",
            Policy::Progressive => "one more level after each failure",
            Policy::LookAheadProgressive => "progressive with the next level sensed while the last one decodes",
        }
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

    /// The first attempt.
    ///
    /// # Arguments
    /// - `required_level`: known to `ideal` alone; the others do not look at it.
    /// - `remembered_level`: that of the last read, where it is remembered; else 1.
    #[inline]
    pub fn first(&self, required_level: u8, remembered_level: u8) -> Attempt {
        let level = match self.policy {
            Policy::Ideal => required_level,
            Policy::TwoStep | Policy::LookAhead | Policy::Progressive | Policy::LookAheadProgressive => {
                remembered_level
            }
        };
        Attempt::fresh(level.min(self.max_level))
    }

    /// The attempt after a failure at `level`; `None` when there is nothing left to try.
    #[inline]
    pub fn after_failure(&self, level: u8) -> Option<Attempt> {
        if level >= self.max_level {
            return None;
        }
        let next = match self.policy {
            Policy::TwoStep | Policy::LookAhead => self.max_level,
            Policy::Ideal | Policy::Progressive | Policy::LookAheadProgressive => level + 1,
        };
        Some(match self.retry {
            Retry::Incremental => Attempt { level: next, hard: false, extra_levels: next - level },
            Retry::Restart => Attempt::fresh(next),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempts(policy: Policy, retry: Retry, required: u8) -> Vec<Attempt> {
        let spec = ReadSpec { policy, retry, max_level: MAX_LEVEL };
        let mut all = vec![spec.first(required, 1)];
        while all.last().unwrap().level < required {
            all.push(spec.after_failure(all.last().unwrap().level).unwrap());
        }
        all
    }

    #[test]
    fn levels_each_policy_tries() {
        let levels = |policy, required| -> Vec<u8> {
            attempts(policy, Retry::Restart, required).iter().map(|a| a.level).collect()
        };
        assert_eq!(levels(Policy::Ideal, 4), [4]);
        assert_eq!(levels(Policy::TwoStep, 1), [1]);
        assert_eq!(levels(Policy::TwoStep, 2), [1, 7]);
        assert_eq!(levels(Policy::LookAhead, 5), [1, 7]);
        assert_eq!(levels(Policy::Progressive, 4), [1, 2, 3, 4]);
        assert_eq!(levels(Policy::LookAheadProgressive, 3), [1, 2, 3]);
    }

    #[test]
    fn restart_senses_everything_again_and_incremental_only_what_is_new() {
        assert_eq!(attempts(Policy::TwoStep, Retry::Restart, 7)[1], Attempt::fresh(7));
        let incremental = attempts(Policy::TwoStep, Retry::Incremental, 7)[1];
        assert_eq!(incremental, Attempt { level: 7, hard: false, extra_levels: 6 });
        let sensed: u8 = attempts(Policy::Progressive, Retry::Incremental, 7).iter().map(|a| a.extra_levels).sum();
        assert_eq!(sensed, 6);
    }

    #[test]
    fn nothing_is_left_after_the_deepest_level() {
        for policy in Policy::ALL {
            let spec = ReadSpec { policy, retry: Retry::Restart, max_level: 3 };
            assert_eq!(spec.after_failure(3), None);
            assert!(spec.after_failure(1).unwrap().level <= 3);
        }
    }
}
