use std::sync::OnceLock;

use crate::{Cells, Placement, Sensing};

/// Distance of the points at which equivocation is computed, in ln(RBER).
const STEP: f64 = 0.1;
/// The least raw bit error rate of such a point, and the number of points, which reach to 0.485.
const LEAST: f64 = 1e-9;
const POINTS: usize = 201;

/// ln(equivocation) of the textbook boundary ([`Cells::gaussian`]), by level from 2 on and raw bit error rate.
static POINTS_BY_LEVEL: [[OnceLock<f64>; POINTS]; 6] = [const { [const { OnceLock::new() }; POINTS] }; 6];

fn rber_of(point: usize) -> f64 {
    LEAST * libm::exp(STEP * point as f64)
}

/// The raw bit error rate of the textbook boundary ([`Cells::gaussian`]) for which soft sensing has the given equivocation. A decode table
/// that was measured on the textbook boundary is asked at this rate. The rate is interpolated between points in logarithms, with an error
/// of 0.1 % at most up to a raw bit error rate of 0.2, and 2 % beyond.
///
/// The mutual information of a channel predicts well, though not exactly, how often a code fails on it. Source: M. Franceschini, G.
/// Ferrari, R. Raheli, "Does the performance of LDPC codes depend on the channel?", 2006.
///
/// # Arguments
/// - `level`: of the sensing, 2 to 7, with references where information is largest.
/// - `equivocation`: [`Sensing::equivocation`], of any cells and references.
pub(crate) fn equivalent_rber(level: u8, equivocation: f64) -> f64 {
    let points = &POINTS_BY_LEVEL[usize::from(level) - 2];
    let at = |point: usize| {
        *points[point].get_or_init(|| {
            let cells = Cells::gaussian(rber_of(point));
            libm::log(Sensing::new(&cells, 0, level, Placement::MutualInformation).equivocation(&cells))
        })
    };
    let asked = libm::log(equivocation);
    // Below the first point the line through the first two points continues.
    let (mut low, mut high) = (0, POINTS - 1);
    if asked >= at(high) {
        return rber_of(high);
    }
    while high - low > 1 {
        let middle = usize::midpoint(low, high);
        if at(middle) <= asked { low = middle } else { high = middle }
    }
    let fraction = (asked - at(low)) / (at(high) - at(low));
    rber_of(low) * libm::exp(STEP * fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Is the textbook boundary its own equivalent, at each level and between points?
    #[test]
    fn the_textbook_boundary_is_its_own_equivalent() {
        for level in 2..=7 {
            for rber in [3.3e-9, 1e-6, 2.5e-4, 0.004_321, 0.0123, 0.035, 0.2] {
                let cells = Cells::gaussian(rber);
                let unknown = Sensing::new(&cells, 0, level, Placement::MutualInformation).equivocation(&cells);
                let found = equivalent_rber(level, unknown);
                assert!((found / rber - 1.0).abs() < 1e-3, "level {level}: {found:e} for {rber:e}");
            }
            assert!(equivalent_rber(level, 1e-20) < 1e-15);
            assert!(equivalent_rber(level, 0.0) == 0.0 && equivalent_rber(level, 1.0) > 0.48);
        }
    }
}
