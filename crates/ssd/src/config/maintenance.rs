use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Faults, Result, expect_number, expect_whole};

/// Refresh: data is moved before it is too old.
///
/// Source: Y. Cai et al., "Flash Correct-and-Refresh: Retention-Aware Error Management for Increased Flash Memory
/// Lifetime", ICCD 2012 (refresh by remapping).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RefreshSpec {
    /// Age at which the data of a block is moved at the latest, days, 0.001 to 36,500. The age of a block is that of the data that was
    /// written to it first.
    pub age_days: f64,
}

impl RefreshSpec {
    /// Checks the ranges.
    pub(super) fn check(&self) -> Result<()> {
        expect_number("ftl.refresh.age_days", self.age_days, 0.001, 36_500.0)
    }

    /// One line for people.
    pub(crate) fn describe(&self) -> String {
        format!("of blocks before their data is {} days old", self.age_days)
    }
}

/// Patrol scrub: reads of all data, one page after the other, that find blocks that need refresh.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScrubSpec {
    /// Period in which every page of the device has its turn once, days, 1e-6 to 36,500.
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
    /// The highest level that a codeword may need, 1 to 7.
    Level(u8),
    /// The most bits that may be wrong in hard decision.
    CorrectedErrors {
        /// Number of bits that may be wrong, less than `codeword_bits`.
        errors: u32,
        /// Bits of a codeword, 1 to 16,777,216.
        codeword_bits: u32,
    },
    /// The most iterations that the last decode of a codeword may take, 1 to 65,535.
    Iterations(u16),
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
    /// Checks the ranges.
    pub(super) fn check(&self) -> Result<()> {
        let mut faults = Faults::default();
        faults.see(expect_number("ftl.scrub.period_days", self.period_days, 1e-6, 36_500.0));
        let path = |field: &str| format!("ftl.scrub.refresh_above.{field}");
        let limit = match self.refresh_above {
            None => Ok(()),
            Some(ScrubLimit::Level(level)) => expect_whole(path("level"), level.into(), 1, 7),
            Some(ScrubLimit::Iterations(most)) => expect_whole(path("iterations"), most.into(), 1, 65_535),
            Some(ScrubLimit::CorrectedErrors { errors, codeword_bits }) => {
                if errors >= codeword_bits {
                    let message = format!("found {errors}, expected fewer than codeword_bits, {codeword_bits}");
                    faults.add(Error::config(path("corrected_errors.errors"), message));
                }
                expect_whole(path("corrected_errors.codeword_bits"), codeword_bits, 1, 1 << 24)
            }
        };
        faults.see(limit);
        faults.end()
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
