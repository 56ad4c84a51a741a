use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Result};

/// Refresh: data is moved before it is too old.
///
/// Source: Y. Cai et al., "Flash Correct-and-Refresh: Retention-Aware Error Management for Increased Flash Memory
/// Lifetime", ICCD 2012 (refresh by remapping).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RefreshSpec {
    /// Age at which the data of a block is moved at the latest, days. The age of a block is that of the data that was
    /// written to it first.
    #[schemars(range(min = 0.001, max = 36_500.0))]
    pub age_days: f64,
}

impl RefreshSpec {
    /// One line for people.
    pub(crate) fn describe(&self) -> String {
        format!("of blocks before their data is {} days old", self.age_days)
    }
}

/// Patrol scrub: reads of all data, one page after the other, that find blocks that need refresh.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScrubSpec {
    /// Period in which every page of the device has its turn once, days.
    #[schemars(range(min = 1e-6, max = 36_500.0))]
    pub period_days: f64,
    /// Limit above which a codeword has its block refreshed: `{ level = 1 }`,
    /// `{ corrected_errors = { errors = 200, codeword_bits = 36864 } }` or `{ iterations = 10 }`. A codeword that no level decodes has
    /// its block refreshed in any case; without this field no other codeword has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_above: Option<ScrubLimit>,
    /// The time at which a page whose turn has come is read.
    #[serde(default)]
    pub when: ScrubWhen,
}

/// Limit of a patrol scrub for a codeword.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ScrubLimit {
    /// The highest level that a codeword may need.
    Level(#[schemars(range(min = 1, max = 7))] u8),
    /// The most bits that may be wrong in hard decision.
    CorrectedErrors {
        /// Number of bits that may be wrong, less than `codeword_bits`.
        errors: u32,
        /// Bits of a codeword.
        #[schemars(range(min = 1, max = 1 << 24))]
        codeword_bits: u32,
    },
    /// The most iterations that the last decode of a codeword may take.
    Iterations(#[schemars(range(min = 1, max = 65_535))] u16),
}

/// The time at which a patrol scrub reads a page whose turn has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScrubWhen {
    /// The page is read when no operation of the host works in its plane or waits for it. Turns that come while the host is there are
    /// postponed until it is away.
    #[default]
    HostAway,
    /// The page is read at once.
    Always,
}

impl ScrubSpec {
    /// Checks that a limit of errors is below the bits of a codeword.
    pub(super) fn check(&self) -> Result<()> {
        match self.refresh_above {
            Some(ScrubLimit::CorrectedErrors { errors, codeword_bits }) if errors >= codeword_bits => {
                let message =
                    format!("found {errors}, expected fewer than {codeword_bits}, the value of `codeword_bits`");
                Err(Error::config("ftl.scrub.refresh_above.corrected_errors.errors", message))
            }
            _ => Ok(()),
        }
    }

    /// One line for people.
    pub(crate) fn describe(&self) -> String {
        let limit = match self.refresh_above {
            None => "refreshes blocks with codewords that no level decodes".to_string(),
            Some(ScrubLimit::Level(level)) => {
                format!("refreshes blocks with codewords that need more than level {level}")
            }
            Some(ScrubLimit::CorrectedErrors { errors, .. }) => {
                format!("refreshes blocks with codewords of more than {errors} errors")
            }
            Some(ScrubLimit::Iterations(most)) => {
                format!("refreshes blocks with codewords of more than {most} iterations")
            }
        };
        let when = match self.when {
            ScrubWhen::HostAway => "while the host is away",
            ScrubWhen::Always => "whatever waits",
        };
        format!("of all data in {} days, {when}; {limit}", self.period_days)
    }
}
