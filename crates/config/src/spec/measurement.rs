use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::format_count;

/// The part of a run that is measured. All counts and response times are those of this part. The history of blocks (P/E cycles, bad
/// blocks, code rates, losses of power) is that of the whole run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MeasurementSpec {
    /// The part of the run before the measured part. A synthetic workload has as many more requests as the warm-up takes; a trace gets no
    /// longer.
    pub warmup: Warmup,
    /// Simulated time after the warm-up at which requests end, s. A synthetic workload goes on until then, however many `requests` it
    /// has; a trace may end before. Without this field requests end as the workload or the trace says.
    #[schemars(range(min = 1e-6, max = 1e9))]
    pub seconds: Option<f64>,
}

/// The part of a run before the part that is measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Warmup {
    /// No warm-up.
    #[default]
    None,
    /// The number of requests with whose completion the warm-up ends.
    Requests(#[schemars(range(min = 1))] u64),
    /// Simulated time, s.
    Seconds(#[schemars(range(min = 1e-6, max = 1e9))] f64),
    /// The time until the drive is in its steady state, which is judged over five rounds of equal length. IOPS and write amplification
    /// stay within 20 % of their means, their lines of best fit within 10 %, and erases give back at least nine tenths of the blocks that
    /// programs take. A round has 1,000 requests or more; where anything is programmed, five rounds erase as many blocks as the drive has
    /// planes. Rounds grow with the run. After 100 million requests the warm-up ends in any case.
    ///
    /// Source: SNIA, "Solid State Storage Performance Test Specification", 2.0.2, definition of steady state: five rounds, 20 and 10 %.
    /// It has rounds of a minute, and does not look at write amplification or blocks.
    UntilSteady,
}

impl MeasurementSpec {
    /// One line for people.
    pub(crate) fn describe(&self) -> String {
        let warmup = match self.warmup {
            Warmup::None => None,
            Warmup::Requests(requests) => Some(format!("after {} requests", format_count(requests))),
            Warmup::Seconds(seconds) => Some(format!("after {seconds} s")),
            Warmup::UntilSteady => Some("from the steady state on".to_owned()),
        };
        let seconds = self.seconds.map(|seconds| format!("for {seconds} s"));
        match (warmup, seconds) {
            (None, None) => "the whole run".to_owned(),
            (warmup, seconds) => warmup.into_iter().chain(seconds).collect::<Vec<_>>().join(", "),
        }
    }
}
