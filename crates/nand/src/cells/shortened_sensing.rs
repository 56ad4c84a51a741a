use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The noise of sensing for less than the whole time. Bit lines settle exponentially, so a bit line that is cut off
/// after a share f of the time is off by exp(-f T / tau), and each by a different amount. Voltages look as if they had
/// noise of standard deviation
///
/// ```text
/// residual_v (exp(settling (1 - f)) - 1)
/// ```
///
/// with `settling` = T / tau. There is no noise if the time is whole.
///
/// Source: J. Park et al., "Reducing Solid-State Drive Read Latency by Optimizing Read-Retry", ASPLOS 2021, shortens sensing where
/// error correction has a margin; this law is ours.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShortenedSensing {
    /// Remaining error at the end of a whole sensing, in volts.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub residual_v: f64,
    /// Time constants of a bit line in a whole sensing.
    #[schemars(range(min = 0.0, max = 100.0))]
    pub settling: f64,
}

impl ShortenedSensing {
    /// The standard deviation of the noise, in volts.
    ///
    /// # Arguments
    /// - `percent`: the time in per cent of the whole time.
    pub fn noise_v(self, percent: u8) -> f64 {
        self.residual_v * libm::expm1(self.settling * (1.0 - f64::from(percent) / 100.0))
    }
}
