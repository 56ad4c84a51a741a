use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Result};

use crate::Wear;
use crate::aging::acceleration;
use crate::distribution::Distribution;
use crate::rber::is_zero;

/// Measured states: each state is normal, with a mean and a spread that grow with P/E cycles and that mechanisms change with time. After
/// N P/E cycles and t hours since the write
///
/// ```text
/// mean     = mean0  + mean_per_kilocycle     N / 1000 + sum over mechanisms of  f(t a) mean     w(N; mean_wear_free, mean_pe_exponent)
/// variance = sigma0^2 + variance_per_kilocycle N / 1000 + sum over mechanisms of  f(t a) variance w(N; variance_wear_free, variance_pe_exponent)
/// w(N; free, e) = free + (1 - free) (N / pe_cycles)^e
/// ```
///
/// Here f is the time law of a mechanism, and a its Arrhenius acceleration at `retention_temperature_c`. A variance is never less
/// than a hundredth of the one with which a state was programmed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeasuredStates {
    /// Volts per unit of means and spreads.
    #[serde(default = "one")]
    #[schemars(range(min = 1e-6, max = 100.0))]
    pub unit_v: f64,
    /// P/E cycles for which the coefficients of the mechanisms hold.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub pe_cycles: u32,
    /// The temperature for which the time laws of the mechanisms hold, in degrees Celsius.
    #[schemars(range(min = *TEMPERATURES_C.start(), max = *TEMPERATURES_C.end()))]
    pub measured_temperature_c: f64,
    /// The temperature at which data rests, in degrees Celsius.
    #[schemars(range(min = *TEMPERATURES_C.start(), max = *TEMPERATURES_C.end()))]
    pub retention_temperature_c: f64,
    /// The states just after they were written.
    pub programmed: ProgrammedAs,
    /// Mechanisms that change the states with time.
    #[serde(default)]
    pub mechanisms: Vec<Mechanism>,
}

fn one() -> f64 {
    1.0
}

/// The states just after they were written: numbers for each state, the erased one first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProgrammedAs {
    /// Means without a P/E cycle, ascending.
    #[schemars(inner(range(min = -MOST, max = MOST)))]
    pub mean: Vec<f64>,
    /// Standard deviations without a P/E cycle.
    #[schemars(inner(range(min = 1e-6, max = MOST)))]
    pub sigma: Vec<f64>,
    /// Increase of the means in 1,000 P/E cycles. Default: none.
    #[serde(default)]
    #[schemars(inner(range(min = -MOST, max = MOST)))]
    pub mean_per_kilocycle: Vec<f64>,
    /// Increase of the variances in 1,000 P/E cycles. Default: none.
    #[serde(default)]
    #[schemars(inner(range(min = -MOST, max = MOST)))]
    pub variance_per_kilocycle: Vec<f64>,
}

/// A mechanism by which written cells change: its coefficients are numbers for each state, the erased one first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mechanism {
    /// Name of the mechanism.
    pub name: String,
    /// Its amount as a function of time.
    pub time: TimeLaw,
    /// Activation energy of its Arrhenius law, in eV; 0 for a mechanism that does not depend on temperature.
    #[schemars(range(min = 0.0, max = 5.0))]
    pub activation_energy_ev: f64,
    /// Change of the means by an amount of 1. Default: none.
    #[serde(default)]
    #[schemars(inner(range(min = -MOST, max = MOST)))]
    pub mean: Vec<f64>,
    /// Change of the variances by an amount of 1. Default: none.
    #[serde(default)]
    #[schemars(inner(range(min = -MOST, max = MOST)))]
    pub variance: Vec<f64>,
    /// Exponent of P/E cycles in the means.
    #[schemars(range(min = 0.0, max = 5.0))]
    pub mean_pe_exponent: f64,
    /// Exponent of P/E cycles in the variances.
    #[schemars(range(min = 0.0, max = 5.0))]
    pub variance_pe_exponent: f64,
    /// Share of `mean` that needs no wear. With 1 the mechanism is as strong in new cells; with 0, the default, new cells do not have it.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub mean_wear_free: f64,
    /// Share of `variance` that needs no wear.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub variance_wear_free: f64,
}

/// The amount of a mechanism after t hours.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum TimeLaw {
    /// The amount is ln(1 + t / `t0_hours`).
    Logarithmic {
        /// Time after which the growth is logarithmic, in hours.
        #[schemars(range(min = 1e-6, max = 1e6))]
        t0_hours: f64,
    },
    /// The amount is 1 - exp(-t / `tau_hours`).
    Saturating {
        /// Time after which the amount is 63 %, in hours.
        #[schemars(range(min = 1e-6, max = 1e6))]
        tau_hours: f64,
    },
}

impl TimeLaw {
    pub(super) fn after(self, hours: f64) -> f64 {
        match self {
            TimeLaw::Logarithmic { t0_hours } => libm::log1p(hours / t0_hours),
            TimeLaw::Saturating { tau_hours } => -libm::expm1(-hours / tau_hours),
        }
    }

    fn constant_hours(self) -> f64 {
        match self {
            TimeLaw::Logarithmic { t0_hours } => t0_hours,
            TimeLaw::Saturating { tau_hours } => tau_hours,
        }
    }
}

/// The temperatures that are accepted, in degrees Celsius.
pub(super) const TEMPERATURES_C: std::ops::RangeInclusive<f64> = -100.0..=300.0;

/// The largest mean or standard deviation that is accepted, in whatever unit.
const MOST: f64 = 1e6;

impl MeasuredStates {
    /// Checks what numbers have to do with one another.
    pub(super) fn check(&self, path: &str, states: usize) -> Result<()> {
        let each = |field: String, values: &[f64], optional: bool| {
            if values.len() != states && !(optional && values.is_empty()) {
                let message = format!("found {} numbers, expected {states}, one for each state", values.len());
                return Err(Error::config(format!("{path}.{field}"), message));
            }
            Ok(())
        };
        let ProgrammedAs { mean, sigma, mean_per_kilocycle, variance_per_kilocycle } = &self.programmed;
        each("programmed.mean".into(), mean, false)?;
        if let Some(state) = (1..mean.len()).find(|&state| mean[state] <= mean[state - 1]) {
            let message = format!("found {} after {}, expected means in ascending order", mean[state], mean[state - 1]);
            return Err(Error::config(format!("{path}.programmed.mean[{state}]"), message));
        }
        each("programmed.sigma".into(), sigma, false)?;
        each("programmed.mean_per_kilocycle".into(), mean_per_kilocycle, true)?;
        each("programmed.variance_per_kilocycle".into(), variance_per_kilocycle, true)?;
        for (index, mechanism) in self.mechanisms.iter().enumerate() {
            each(format!("mechanisms[{index}].mean"), &mechanism.mean, true)?;
            each(format!("mechanisms[{index}].variance"), &mechanism.variance, true)?;
        }
        self.check_spreads(path)
    }

    /// Checks that spreads do not shrink too far. Spreads are silently held at a tenth of the programmed ones; a year at the measured P/E
    /// cycles must not need that.
    fn check_spreads(&self, path: &str) -> Result<()> {
        for pe_cycles in [0, self.pe_cycles] {
            for (state, (_, variance)) in
                self.moments(pe_cycles, |each| each.time.after(8760.0)).into_iter().enumerate()
            {
                let least = self.least_variance(state);
                if variance < least {
                    let message = format!(
                        "found spreads with which state {state} has a variance of {variance:.4} after {pe_cycles} \
                         P/E cycles and a year, expected at least {least:.4}, a hundredth of the programmed \
                         variance: raise `variance_per_kilocycle`, or the `variance` of a mechanism"
                    );
                    return Err(Error::config(format!("{path}.programmed.sigma[{state}]"), message));
                }
            }
        }
        Ok(())
    }

    /// The number of hours at the temperature of the measurement that have the effect of one hour at the temperature where data rests.
    fn acceleration(&self, mechanism: &Mechanism) -> f64 {
        acceleration(self.retention_temperature_c, self.measured_temperature_c, mechanism.activation_energy_ev)
    }

    /// The shortest time, in hours, after which the cells change.
    pub(super) fn first_change_hours(&self) -> f64 {
        let constants = self.mechanisms.iter().map(|each| each.time.constant_hours() / self.acceleration(each));
        constants.fold(1.0, f64::min).max(1e-6)
    }

    /// The states after `wear`.
    ///
    /// # Arguments
    /// - `retention`: factor on the effect of retention.
    pub(super) fn distributions(&self, wear: Wear, retention: f64) -> Vec<Distribution> {
        let done = |each: &Mechanism| retention * each.time.after(wear.retention_hours * self.acceleration(each));
        let normal = |(state, (mean, variance)): (usize, (f64, f64))| {
            let sigma = libm::sqrt(variance.max(self.least_variance(state)));
            Distribution::normal(self.unit_v * mean, self.unit_v * sigma)
        };
        self.moments(wear.pe_cycles, done).into_iter().enumerate().map(normal).collect()
    }

    /// The least variance of a state.
    fn least_variance(&self, state: usize) -> f64 {
        0.01 * self.programmed.sigma[state] * self.programmed.sigma[state]
    }

    /// Mean and variance of each state.
    ///
    /// # Arguments
    /// - `done`: the amount of a mechanism at the P/E cycles of its coefficients.
    fn moments(&self, pe_cycles: u32, done: impl Fn(&Mechanism) -> f64) -> Vec<(f64, f64)> {
        let cycles = f64::from(pe_cycles);
        let (kilocycles, relative) = (cycles / 1000.0, cycles / f64::from(self.pe_cycles));
        let amounts: Vec<(&Mechanism, f64, f64)> = self
            .mechanisms
            .iter()
            .map(|each| {
                let amount = done(each);
                let of = |free, exponent| amount * (free + (1.0 - free) * libm::pow(relative, exponent));
                let to_mean = of(each.mean_wear_free, each.mean_pe_exponent);
                (each, to_mean, of(each.variance_wear_free, each.variance_pe_exponent))
            })
            .collect();
        let of = |values: &[f64], state: usize| values.get(state).copied().unwrap_or(0.0);
        let ProgrammedAs { mean, sigma, mean_per_kilocycle, variance_per_kilocycle } = &self.programmed;
        (0..mean.len())
            .map(|state| {
                let mut mean = mean[state] + kilocycles * of(mean_per_kilocycle, state);
                let programmed = sigma[state] * sigma[state];
                let mut variance = programmed + kilocycles * of(variance_per_kilocycle, state);
                for (mechanism, to_mean, to_variance) in &amounts {
                    mean += to_mean * of(&mechanism.mean, state);
                    variance += to_variance * of(&mechanism.variance, state);
                }
                (mean, variance)
            })
            .collect()
    }
}
