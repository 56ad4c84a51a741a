use softsense_base::{Error, Result};

use super::measured::{MeasuredStates, Mechanism, ProgrammedAs, TimeLaw};

/// Measurements of the cells of one age.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// Program/erase cycles.
    pub pe_cycles: u32,
    /// Hours since the cells were written.
    pub retention_hours: f64,
    /// Mean of each state, the erased one first.
    pub mean: Vec<f64>,
    /// Standard deviation of each state. An age without standard deviations counts with its means only.
    pub sigma: Option<Vec<f64>>,
}

/// The quantities that a fit is given, because measurements do not tell them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FitSpec {
    /// Volts per unit of the measurements.
    pub unit_v: f64,
    /// The temperature of the measurements, in degrees Celsius. The fitted data rests at it, too.
    pub temperature_c: f64,
    /// Activation energy of the mechanism that is logarithmic in time, in eV.
    pub logarithmic_energy_ev: f64,
    /// Activation energy of the mechanism that saturates, in eV.
    pub saturating_energy_ev: f64,
    /// Exponent of P/E cycles in the effect of time on means.
    pub mean_pe_exponent: f64,
    /// Exponent of P/E cycles in the effect of time on variances.
    pub variance_pe_exponent: f64,
}

impl Default for FitSpec {
    /// The activation energy of JESD218 for the logarithmic mechanism, and the exponents of LaLDPC's eq. 1.
    fn default() -> Self {
        Self {
            unit_v: 1.0,
            temperature_c: 40.0,
            logarithmic_energy_ev: 1.1,
            saturating_energy_ev: 0.6,
            mean_pe_exponent: 0.5,
            variance_pe_exponent: 0.6,
        }
    }
}

/// The time after which the logarithmic mechanism is logarithmic. It is assumed: measurements begin after days, and do not tell it.
const T0_HOURS: f64 = 1.0;

/// The number of time constants that are tried for the mechanism that saturates, for each factor of e.
const TAUS_A_NEPER: f64 = 20.0;

impl MeasuredStates {
    /// The states that follow measurements best, by least squares. Their means follow from P/E cycles, a mechanism that is logarithmic in
    /// time, and a mechanism that saturates; their variances follow from P/E cycles and the logarithmic mechanism.
    ///
    /// A part that measurements do not tell is left out: the effect of cycles if all measurements have the same number of them, and the
    /// saturating mechanism if there are less than four times.
    ///
    /// Mechanisms have their coefficients at the P/E cycles at which most times were measured. The time constant of the saturating term
    /// has the least squares of means, each divided by the spread of its state, between the shortest and the longest time. A slower term
    /// cannot be told from the logarithmic one.
    ///
    /// # Errors
    /// Too few measurements, or a measurement that does not have one number for each state.
    pub fn fit(measurements: &[Measurement], spec: FitSpec) -> Result<Self> {
        let times = distinct(measurements.iter().map(|each| each.retention_hours));
        let spreads: Vec<&Measurement> = measurements.iter().filter(|each| each.sigma.is_some()).collect();
        if times.len() < 2 || distinct(spreads.iter().map(|each| each.retention_hours)).len() < 2 {
            let message = format!(
                "found means after {} retention times and spreads after {}, expected both after at least two \
                 different times",
                times.len(),
                distinct(spreads.iter().map(|each| each.retention_hours)).len()
            );
            return Err(Error::config("measurements", message));
        }
        let states = measurements[0].mean.len();
        let lengths = |each: &Measurement| {
            each.mean.len() == states && each.sigma.as_ref().is_none_or(|sigma| sigma.len() == states)
        };
        if let Some(at) = measurements.iter().position(|each| !lengths(each)) {
            let message = format!(
                "found another number of means or spreads than the first measurement has, expected {states} of \
                 each, one for each state"
            );
            return Err(Error::config(format!("measurements[{at}]"), message));
        }
        let pe_cycles = measurements
            .iter()
            .map(|each| each.pe_cycles)
            .filter(|&cycles| cycles > 0)
            .max_by_key(|&cycles| measurements.iter().filter(|each| each.pe_cycles == cycles).count())
            .ok_or_else(|| {
                Error::config("measurements", "found no measurement with P/E cycles above 0, expected at least one")
            })?;
        let cycles_differ = measurements.iter().any(|each| each.pe_cycles != measurements[0].pe_cycles);
        let relative = |each: &Measurement| f64::from(each.pe_cycles) / f64::from(pe_cycles);
        let logarithmic = TimeLaw::Logarithmic { t0_hours: T0_HOURS };
        let amount = |each: &Measurement, time: TimeLaw, exponent: f64| {
            time.after(each.retention_hours) * libm::pow(relative(each), exponent)
        };

        let of_means = |saturating: Option<TimeLaw>| -> Vec<Vec<f64>> {
            measurements
                .iter()
                .map(|each| {
                    let mut row = vec![1.0, amount(each, logarithmic, spec.mean_pe_exponent)];
                    row.extend(saturating.map(|time| amount(each, time, spec.mean_pe_exponent)));
                    row.extend(cycles_differ.then(|| f64::from(each.pe_cycles) / 1000.0));
                    row
                })
                .collect()
        };
        let weight = |state: usize| {
            let variances = spreads.iter().filter_map(|each| each.sigma.as_ref()).map(|sigma| sigma[state].powi(2));
            spreads.len() as f64 / variances.sum::<f64>().max(1e-12)
        };
        let fitted = |saturating: Option<TimeLaw>| -> Option<(f64, Vec<Vec<f64>>)> {
            let rows = of_means(saturating);
            let mut squares = 0.0;
            let mut all = Vec::new();
            for state in 0..states {
                let values: Vec<f64> = measurements.iter().map(|each| each.mean[state]).collect();
                let (found, rest) = least_squares(&rows, &values)?;
                squares += weight(state) * rest;
                all.push(found);
            }
            Some((squares, all))
        };
        let longest = times[times.len() - 1];
        let shortest = times.iter().copied().find(|&hours| hours > 0.0).unwrap_or(longest);
        let tries = (TAUS_A_NEPER * libm::log(longest / shortest)) as u32;
        let saturating = (times.len() >= 4)
            .then(|| (0..=tries).map(|step| shortest * libm::exp(f64::from(step) / TAUS_A_NEPER)))
            .into_iter()
            .flatten()
            .map(|tau_hours| TimeLaw::Saturating { tau_hours });
        let best = saturating
            .filter_map(|time| fitted(Some(time)).map(|(squares, found)| (squares, Some(time), found)))
            .min_by(|one, other| one.0.total_cmp(&other.0))
            .or_else(|| fitted(None).map(|(squares, found)| (squares, None, found)));
        let told_too_little = || {
            Error::config(
                "measurements",
                "found too few different ages for the fit, expected measurements at several P/E cycles and several \
                 retention times",
            )
        };
        let (_, saturating, means) = best.ok_or_else(told_too_little)?;

        let of_variances: Vec<Vec<f64>> =
            spreads.iter().map(|each| vec![1.0, amount(each, logarithmic, spec.variance_pe_exponent)]).collect();
        let variances: Option<Vec<Vec<f64>>> = (0..states)
            .map(|state| {
                let values: Vec<f64> =
                    spreads.iter().filter_map(|each| each.sigma.as_ref()).map(|sigma| sigma[state].powi(2)).collect();
                least_squares(&of_variances, &values).map(|(found, _)| found)
            })
            .collect();
        let variances = variances.ok_or_else(told_too_little)?;
        let column = |of: &[Vec<f64>], at: usize| of.iter().map(|row| row[at]).collect::<Vec<f64>>();
        let mechanism = |name: &str, time, activation_energy_ev, mean, variance| Mechanism {
            name: name.into(),
            time,
            activation_energy_ev,
            mean,
            variance,
            mean_pe_exponent: spec.mean_pe_exponent,
            variance_pe_exponent: spec.variance_pe_exponent,
            mean_wear_free: 0.0,
            variance_wear_free: 0.0,
        };
        let mut mechanisms = vec![mechanism(
            "logarithmic in time",
            logarithmic,
            spec.logarithmic_energy_ev,
            column(&means, 1),
            column(&variances, 1),
        )];
        mechanisms.extend(
            saturating
                .map(|time| mechanism("saturating", time, spec.saturating_energy_ev, column(&means, 2), Vec::new())),
        );
        let sigma = variances
            .iter()
            .zip(0..)
            .map(|(found, state): (_, usize)| libm::sqrt(found[0].max(1e-4 / weight(state))))
            .collect();
        Ok(MeasuredStates {
            unit_v: spec.unit_v,
            pe_cycles,
            measured_temperature_c: spec.temperature_c,
            retention_temperature_c: spec.temperature_c,
            programmed: ProgrammedAs {
                mean: column(&means, 0),
                sigma,
                mean_per_kilocycle: if cycles_differ {
                    column(&means, 2 + usize::from(saturating.is_some()))
                } else {
                    Vec::new()
                },
                variance_per_kilocycle: Vec::new(),
            },
            mechanisms,
        })
    }
}

/// Distinct numbers, ascending.
fn distinct(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}

/// The coefficients with which `rows` come nearest to `values`, by Householder reflections, and the remaining sum of squares. `None` if
/// the rows do not determine the coefficients.
fn least_squares(rows: &[Vec<f64>], values: &[f64]) -> Option<(Vec<f64>, f64)> {
    let columns = rows.first()?.len();
    let mut work: Vec<Vec<f64>> =
        rows.iter().zip(values).map(|(row, &value)| [row.as_slice(), &[value]].concat()).collect();
    if work.len() < columns {
        return None;
    }
    for at in 0..columns {
        let norm = |rows: &[Vec<f64>]| libm::sqrt(rows.iter().map(|row| row[at] * row[at]).sum());
        let (whole, length) = (norm(&work), norm(&work[at..]));
        // The rest of a column that is a combination of other columns is rounding.
        if length <= 1e-9 * whole || length == 0.0 {
            return None;
        }
        let head = if work[at][at] > 0.0 { -length } else { length };
        let mut mirror: Vec<f64> = work[at..].iter().map(|row| row[at]).collect();
        mirror[0] -= head;
        let square: f64 = mirror.iter().map(|part| part * part).sum();
        for column in at..=columns {
            let along: f64 = mirror.iter().zip(&work[at..]).map(|(part, row)| part * row[column]).sum();
            for (part, row) in mirror.iter().zip(&mut work[at..]) {
                row[column] -= 2.0 * along / square * part;
            }
        }
    }
    let mut found = vec![0.0; columns];
    for at in (0..columns).rev() {
        let known: f64 = (at + 1..columns).map(|other| work[at][other] * found[other]).sum();
        found[at] = (work[at][columns] - known) / work[at][at];
    }
    Some((found, work[columns..].iter().map(|row| row[columns] * row[columns]).sum()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_squares_are_those_of_a_line() {
        let rows: Vec<Vec<f64>> = [0.0, 1.0, 2.0, 3.0].map(|x| vec![1.0, x]).into();
        let (found, rest) = least_squares(&rows, &[1.0, 3.0, 5.0, 7.0]).unwrap();
        assert!((found[0] - 1.0).abs() < 1e-12 && (found[1] - 2.0).abs() < 1e-12 && rest < 1e-20);
        // By hand: the mean is 2.5, the slope 1.1, and the squares of 0.7, 0.1, -0.1... are left.
        let (found, rest) = least_squares(&rows, &[1.0, 1.0, 4.0, 4.0]).unwrap();
        assert!((found[0] - 0.7).abs() < 1e-12 && (found[1] - 1.2).abs() < 1e-12 && (rest - 1.8).abs() < 1e-12);
        let same = vec![vec![1.0, 2.0]; 4];
        assert!(least_squares(&same, &[1.0, 2.0, 3.0, 4.0]).is_none());
    }
}
