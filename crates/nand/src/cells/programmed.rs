use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Result};

use crate::Wear;
use crate::distribution::{Distribution, Noise};

/// Threshold voltages of erased cells, which are normally distributed. Neither noise nor retention moves them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ErasedState {
    /// Mean, in volts.
    #[schemars(range(min = -10.0, max = 10.0))]
    pub mean_v: f64,
    /// Standard deviation, in volts.
    #[schemars(range(min = 1e-3, max = 5.0))]
    pub sigma_v: f64,
}

impl Default for ErasedState {
    fn default() -> Self {
        Self { mean_v: 1.4, sigma_v: 0.35 }
    }
}

/// Random telegraph noise of programmed cells: Laplace, with scale lambda = `scale_v` N^`pe_exponent` after N P/E cycles.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TelegraphNoise {
    /// lambda after one P/E cycle, in volts; 0 for no noise.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub scale_v: f64,
    /// Exponent of P/E cycles.
    #[schemars(range(min = 0.0, max = 2.0))]
    pub pe_exponent: f64,
}

impl Default for TelegraphNoise {
    fn default() -> Self {
        Self { scale_v: 0.00025, pe_exponent: 0.5 }
    }
}

/// Charge loss of programmed cells. After t hours and N P/E cycles a state at voltage x has moved by -mu and its cells
/// have spread by a normal distribution of variance sigma^2:
///
/// ```text
/// mu      = k0 k1 (x - x0_v) ln(1 + t / t0_hours) N^mean_pe_exponent
/// sigma^2 = k0 k2 (x - x0_v) ln(1 + t / t0_hours) N^variance_pe_exponent
/// ```
///
/// Source: Y. Du, D. Zou, Q. Li, L. Shi, H. Jin, C. Xue, "LaLDPC: Latency-aware LDPC for Read Performance Improvement of
/// Solid State Drives", 2017, eq. 1. The paper does not give t0; x is taken to be the mean voltage of the freshly
/// programmed state, half a step above its verify voltage.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Retention {
    /// Factor of both mu and sigma^2; 0 for no loss.
    #[schemars(range(min = 0.0, max = 1e3))]
    pub k0: f64,
    /// Factor of mu.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub k1: f64,
    /// Factor of sigma^2, in volts.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub k2: f64,
    /// The voltage towards which cells lose charge: the one of erased cells.
    #[schemars(range(min = -10.0, max = 20.0))]
    pub x0_v: f64,
    /// The time after which the loss is logarithmic, in hours.
    #[schemars(range(min = 1e-6, max = 1e6))]
    pub t0_hours: f64,
    /// Exponent of P/E cycles in mu.
    #[schemars(range(min = 0.0, max = 2.0))]
    pub mean_pe_exponent: f64,
    /// Exponent of P/E cycles in sigma^2.
    #[schemars(range(min = 0.0, max = 2.0))]
    pub variance_pe_exponent: f64,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            k0: 0.333,
            k1: 4e-4,
            k2: 2e-6,
            x0_v: 1.4,
            t0_hours: 1.0,
            mean_pe_exponent: 0.5,
            variance_pe_exponent: 0.6,
        }
    }
}

/// States that follow from the way in which cells are programmed: LaLDPC's model, whose MLC is the default.
///
/// Erased cells are normal. Programmed cells are uniform over the step above the verify voltage in which programming ends, with random
/// telegraph noise; retention moves them.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgrammedStates {
    /// Threshold voltages of erased cells.
    pub erased: ErasedState,
    /// The verify voltage of each programmed state, ascending, in volts.
    pub verify_v: Vec<f64>,
    /// Step of incremental step pulse programming (ISPP), in volts.
    pub program_step_v: f64,
    /// Random telegraph noise.
    pub telegraph_noise: TelegraphNoise,
    /// Loss of charge.
    pub retention: Retention,
}

impl Default for ProgrammedStates {
    fn default() -> Self {
        Self {
            erased: ErasedState::default(),
            verify_v: vec![2.55, 3.15, 3.75],
            program_step_v: 0.38,
            telegraph_noise: TelegraphNoise::default(),
            retention: Retention::default(),
        }
    }
}

impl ProgrammedStates {
    /// Checks that verify voltages ascend, from that of erased cells.
    pub(super) fn check(&self, path: &str, states: usize) -> Result<()> {
        let (found, expected) = (self.verify_v.len(), states - 1);
        if found != expected {
            let message = format!("found {found} voltages, expected {expected}, one for each programmed state");
            return Err(Error::config(format!("{path}.verify_v"), message));
        }
        let mut least = self.erased.mean_v.max(self.retention.x0_v);
        for (index, &volts) in self.verify_v.iter().enumerate() {
            if !(volts > least && volts <= 20.0) {
                let message =
                    format!("found {volts}, expected a voltage above {least}, that of the state below, and up to 20");
                return Err(Error::config(format!("{path}.verify_v[{index}]"), message));
            }
            least = volts;
        }
        Ok(())
    }

    /// The states after `wear`.
    ///
    /// # Arguments
    /// - `retention`: factor on the effect of retention.
    pub(super) fn distributions(&self, wear: Wear, retention: f64) -> Vec<Distribution> {
        let cycles = f64::from(wear.pe_cycles);
        let Retention { k0, k1, k2, x0_v, t0_hours, mean_pe_exponent, variance_pe_exponent } = self.retention;
        let loss = retention * k0 * libm::log1p(wear.retention_hours / t0_hours);
        let shift = loss * k1 * libm::pow(cycles, mean_pe_exponent);
        let spread = loss * k2 * libm::pow(cycles, variance_pe_exponent);
        let lambda_v = self.telegraph_noise.scale_v * libm::pow(cycles, self.telegraph_noise.pe_exponent);
        let erased = Distribution::normal(self.erased.mean_v, self.erased.sigma_v);
        let programmed = self.verify_v.iter().map(|verify_v| {
            let height = verify_v + 0.5 * self.program_step_v - x0_v;
            let noise = Noise { sigma_v: libm::sqrt(spread * height), lambda_v };
            Distribution::programmed(verify_v - shift * height, self.program_step_v, noise)
        });
        [erased].into_iter().chain(programmed).collect()
    }
}
