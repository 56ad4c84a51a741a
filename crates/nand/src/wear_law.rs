//! Laws of wear through measured points, and the inverse from a raw bit error rate to P/E cycles.

use std::str::FromStr;

use softsense_base::{Error, Result, spelled_like};

use crate::{RberModel, Wear};

/// A number of P/E cycles beyond any flash.
const MOST_PE_CYCLES: u32 = 10_000_000;

/// The law by which the raw bit error rate grows with P/E cycles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WearLaw {
    /// Power law, `scale (pe_cycles / 1000)^pe_exponent`: a straight line if both axes are logarithmic.
    PowerLaw,
    /// Exponential law, `scale exp(pe_cycles / e_folding_pe_cycles)`: a straight line if only the axis of the rate is logarithmic.
    Exponential,
}

impl FromStr for WearLaw {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match spelled_like(text, ["power_law", "exponential"]).unwrap_or(text) {
            "power_law" => Ok(Self::PowerLaw),
            "exponential" => Ok(Self::Exponential),
            _ => Err(Error::config("law", format!("found `{text}`, expected `power_law` or `exponential`"))),
        }
    }
}

/// A law through points, and its distance from them.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedWear {
    /// The law.
    pub model: RberModel,
    /// Root of the mean squared difference of the natural logarithms.
    pub rms_ln: f64,
    /// The greatest factor by which a point is off, above 1.
    pub worst_factor: f64,
}

/// The straight line of least squares through the logarithms of raw bit error rates.
///
/// # Arguments
/// - `points`: P/E cycles, and the raw bit error rate at them.
///
/// # Errors
/// Fewer than two points, or points that are not in the order of their ages, or rates that do not grow, or are not above 0 and at most 0.5.
///
/// ```
/// use softsense_nand::{WearLaw, fit_wear};
///
/// let points = [(16_000, 3e-4), (25_000, 8e-4), (27_000, 1.2e-3), (31_000, 1.5e-3)];
/// let power = fit_wear(&points, WearLaw::PowerLaw)?;
/// let exponential = fit_wear(&points, WearLaw::Exponential)?;
/// assert!(power.worst_factor < 1.12 && exponential.worst_factor < 1.16);
/// # Ok::<(), softsense_base::Error>(())
/// ```
pub fn fit_wear(points: &[(u32, f64)], law: WearLaw) -> Result<FittedWear> {
    check_points(points)?;
    let abscissa = |pe_cycles: u32| match law {
        WearLaw::PowerLaw => libm::log(f64::from(pe_cycles) / 1000.0),
        WearLaw::Exponential => f64::from(pe_cycles),
    };
    let count = points.len() as f64;
    let mean = |of: &dyn Fn(&(u32, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let mean_x = mean(&|&(pe, _)| abscissa(pe));
    let mean_y = mean(&|&(_, rber)| libm::log(rber));
    let covariance = mean(&|&(pe, rber)| (abscissa(pe) - mean_x) * (libm::log(rber) - mean_y));
    let slope = covariance / mean(&|&(pe, _)| (abscissa(pe) - mean_x) * (abscissa(pe) - mean_x));
    let scale = libm::exp(mean_y - slope * mean_x);
    let model = match law {
        WearLaw::PowerLaw => RberModel::PowerLaw { floor: 0.0, scale, pe_exponent: slope, retention_exponent: 0.0 },
        WearLaw::Exponential => RberModel::Exponential { scale, e_folding_pe_cycles: 1.0 / slope },
    };
    let off = |&(pe, rber): &(u32, f64)| libm::log(model.rber(Wear::unread(pe, 0.0)) / rber);
    let rms_ln = libm::sqrt(mean(&|point| off(point) * off(point)));
    let worst_factor = libm::exp(points.iter().map(|point| off(point).abs()).fold(0.0, f64::max));
    Ok(FittedWear { model, rms_ln, worst_factor })
}

/// Checks points of wear: see [`fit_wear`].
///
/// # Errors
/// The errors of [`fit_wear`] for its points.
pub fn check_points(points: &[(u32, f64)]) -> Result<()> {
    let grow = points.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1);
    let within = points.iter().all(|&(pe, rber)| pe > 0 && pe <= MOST_PE_CYCLES && rber > 0.0 && rber <= 0.5);
    if points.len() >= 2 && grow && within {
        return Ok(());
    }
    let message = format!(
        "found {points:?}, expected at least two points of P/E cycles (1 to {MOST_PE_CYCLES}) and raw bit error \
         rate (above 0, at most 0.5), both in ascending order"
    );
    Err(Error::config("rber", message))
}

impl RberModel {
    /// The most P/E cycles after which the raw bit error rate of data after `retention_hours` is at most `rber`. It is 0 if the rate is
    /// never so low, and ten million if it always is. The model's rate must grow with P/E cycles.
    pub fn most_pe_cycles(&self, rber: f64, retention_hours: f64) -> u32 {
        let met = |pe_cycles| self.rber(Wear::unread(pe_cycles, retention_hours)) <= rber;
        let (mut low, mut high) = (0, MOST_PE_CYCLES);
        if met(high) {
            return high;
        }
        while high - low > 1 {
            let middle = u32::midpoint(low, high);
            if met(middle) { low = middle } else { high = middle }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Does a fit to the points of a law give the law, and do its rates give back their P/E cycles?
    #[test]
    fn laws_come_back_from_their_points() {
        for model in [
            RberModel::PowerLaw { floor: 0.0, scale: 3.14e-7, pe_exponent: 2.47, retention_exponent: 0.0 },
            RberModel::Exponential { scale: 4.7e-5, e_folding_pe_cycles: 8_800.0 },
        ] {
            let law =
                if matches!(model, RberModel::PowerLaw { .. }) { WearLaw::PowerLaw } else { WearLaw::Exponential };
            let points = [1_000, 5_000, 20_000, 33_000].map(|pe| (pe, model.rber(Wear::unread(pe, 0.0))));
            let fitted = fit_wear(&points, law).unwrap();
            assert!(fitted.rms_ln < 1e-12 && fitted.worst_factor < 1.0 + 1e-12);
            for (pe, rber) in points {
                assert!((fitted.model.rber(Wear::unread(pe, 0.0)) / rber - 1.0).abs() < 1e-12);
                assert_eq!(model.most_pe_cycles(rber, 0.0), pe);
            }
        }
        assert_eq!(RberModel::Constant { rber: 1e-3 }.most_pe_cycles(1e-2, 0.0), MOST_PE_CYCLES);
    }

    #[test]
    fn bad_points_are_named() {
        for points in [&[(5, 1e-3)][..], &[(5, 1e-3), (5, 2e-3)], &[(5, 1e-3), (6, 1e-3)], &[(0, 1e-3), (6, 2e-3)], &[]]
        {
            let error = fit_wear(points, WearLaw::PowerLaw).unwrap_err().to_string();
            assert!(error.starts_with("rber: found ["), "{error}");
        }
        assert!("line".parse::<WearLaw>().unwrap_err().to_string().contains("expected `power_law`"));
    }
}
