use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Ns, Result};

/// A die that fails: from an instant on it answers nothing. Its data is uncorrectable unless `ftl.parity` rebuilds it, and nothing more
/// is written to the die.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DieFailureSpec {
    /// Instant of the failure, in seconds of the run, from 0 on.
    #[schemars(range(min = 0.0, max = 1e9))]
    pub at_s: f64,
    /// Number of the die, from 0 over channels, their chips and the dies of these, SSD by SSD: ((channel x chips) + chip) x dies + die.
    pub die: u32,
}

impl DieFailureSpec {
    /// Checks that the die at index `at` has not failed before.
    pub(super) fn check(all: &[Self], at: usize) -> Result<()> {
        let Self { die, .. } = all[at];
        if all[..at].iter().any(|other| other.die == die) {
            let message =
                format!("found die {die} a second time, expected each die at most once: it has failed already");
            return Err(Error::config(format!("flash.die_failures[{at}].die"), message));
        }
        Ok(())
    }

    /// Some words for people, which follow other words.
    pub(crate) fn describe(&self) -> String {
        format!("; die {} fails at {} s", self.die, self.at_s)
    }

    /// The instant of the failure.
    pub fn at(&self) -> Ns {
        Ns((self.at_s * 1e9) as u64)
    }
}
