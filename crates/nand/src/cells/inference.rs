use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Result, binomial_quantile, expect_number, expect_whole, normal_quantile};

use crate::ReferencesAt;

/// Inference of references: a controller, or the die, measures at one boundary between states with the chip's default references, and
/// infers where the references of all boundaries belong.
///
/// The measured quantity d says how many more cells of the lower of the two states read as the upper one than the other way round:
///
/// ```text
/// d = P(lower state reads above) - P(upper state reads below)
/// ```
///
/// in shares of a state's cells. It is negative where the best reference is below the default one. The offset of the measured boundary is
/// a polynomial in d, and the offsets of the others follow it linearly. Both are fitted once for a batch of chips.
///
/// There are two ways to measure d. *Sentinels* are cells that are programmed to the two states, half of them to each. They are known, so
/// each error is seen. The *share of ones* counts all cells below the boundary in data that is scrambled; it is (boundary + 1) / states
/// if all cells are read right. Both counts are random.
///
/// Source: Q. Li et al., "Shaving Retries with Sentinels for Fast Read over High-Density 3D Flash", MICRO 2020, for sentinels, the
/// polynomial of degree 5, linear dependence and calibration; "Swift-Read", ISSCC 2022, for the share of ones, in the die. Both are known
/// through notes of others. That both infer by one polynomial is ours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Inference {
    /// The measured boundary: boundary i lies between states i and i + 1.
    pub boundary: usize,
    /// Step of the inferred offsets of the measured boundary, in volts: the offsets are multiples of it.
    #[schemars(range(min = 1e-4, max = 1.0))]
    pub step_v: f64,
    /// Largest number of steps of an inferred offset in either direction.
    #[schemars(range(min = 1, max = 100))]
    pub steps: u32,
    /// The offset of the measured boundary, in volts: the coefficients of d^0, d^1, ...
    #[schemars(inner(range(min = -1e12, max = 1e12)))]
    pub offset_v: Vec<f64>,
    /// The smallest and the largest d for which the polynomial was fitted; beyond them it is constant.
    pub differences: [f64; 2],
    /// For each boundary a line over the offset of the measured boundary: its value at 0, in volts, and its slope.
    pub follow: Vec<[f64; 2]>,
    /// Number of sentinel cells of a wordline. Reads use them with `read.references = "sentinels"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 2, max = 10_000_000))]
    pub sentinels: Option<u32>,
    /// Steps by which references are moved once more if the read fails with references that sentinels placed.
    #[serde(default = "one_step")]
    #[schemars(range(min = 1, max = 100))]
    pub calibration_steps: u32,
    /// Number of cells whose share below the boundary is counted: the cells of a page. Reads use this number with
    /// `read.references = "share_of_ones"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 2, max = 10_000_000))]
    pub counted_cells: Option<u32>,
}

fn one_step() -> u32 {
    1
}

/// The way in which d is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InferredBy {
    /// The errors of known cells.
    Sentinels,
    /// The share of all cells below the boundary.
    ShareOfOnes,
}

impl InferredBy {
    /// The place of the references during the measurement, for a read with references at `references`. Sentinels start from references
    /// that were inferred before, which calibrates these. The die counts with default references, whatever the references of the read.
    pub fn measured_at(self, references: ReferencesAt) -> ReferencesAt {
        match (self, references) {
            (InferredBy::Sentinels, ReferencesAt::Inferred(_)) => references,
            _ => ReferencesAt::Default,
        }
    }
}

impl Inference {
    pub(super) fn check(&self, path: &str, boundaries: usize) -> Result<()> {
        let at = |field: &str| format!("{path}.{field}");
        expect_whole(at("boundary"), self.boundary as u32, 0, boundaries as u32 - 1)?;
        if !(1..=10).contains(&self.offset_v.len()) {
            let message = format!("found {} coefficients, expected 1 to 10", self.offset_v.len());
            return Err(Error::config(at("offset_v"), message));
        }
        let [least, most] = self.differences;
        expect_number(at("differences[0]"), least, -1.0, 1.0)?;
        expect_number(at("differences[1]"), most, least, 1.0)?;
        if self.follow.len() != boundaries {
            let message = format!("found {} pairs, expected {boundaries}, one for each boundary", self.follow.len());
            return Err(Error::config(at("follow"), message));
        }
        for (boundary, &[offset_v, slope]) in self.follow.iter().enumerate() {
            expect_number(format!("{path}.follow[{boundary}][0]"), offset_v, -5.0, 5.0)?;
            expect_number(format!("{path}.follow[{boundary}][1]"), slope, -100.0, 100.0)?;
        }
        Ok(())
    }

    /// Tells whether cells are counted in this way.
    pub fn counts(&self, by: InferredBy) -> bool {
        match by {
            InferredBy::Sentinels => self.sentinels.is_some(),
            InferredBy::ShareOfOnes => self.counted_cells.is_some(),
        }
    }

    /// Offsets of the default references at each boundary, in volts.
    ///
    /// # Arguments
    /// - `steps`: the steps by which the reference of the measured boundary is off.
    pub fn offsets_v(&self, steps: i8) -> Vec<f64> {
        let offset_v = self.step_v * f64::from(steps);
        self.follow.iter().map(|[at_none_v, slope]| at_none_v + slope * offset_v).collect()
    }

    /// The steps off the default references at which references belong, by a measured difference.
    pub fn steps_for(&self, difference: f64) -> i8 {
        let d = difference.clamp(self.differences[0], self.differences[1]);
        let offset_v = self.offset_v.iter().rev().fold(0.0, |sum, coefficient| sum * d + coefficient);
        let most = f64::from(self.steps);
        libm::round(offset_v / self.step_v).clamp(-most, most) as i8
    }

    /// The steps off the default references after one more move. Before, references were `steps` off, the read failed, and the difference
    /// was measured there.
    pub fn calibrated(&self, steps: i8, difference: f64) -> i8 {
        let by = self.calibration_steps as i32;
        let moved = i32::from(steps) + if difference < 0.0 { -by } else { by };
        moved.clamp(-(self.steps as i32), self.steps as i32) as i8
    }

    /// The steps off the default references at which references belong, by a difference that was [measured](InferredBy::measured_at) with
    /// references at `measured_at`.
    pub fn inferred(&self, measured_at: ReferencesAt, difference: f64) -> i8 {
        match measured_at {
            ReferencesAt::Inferred(steps) => self.calibrated(steps, difference),
            _ => self.steps_for(difference),
        }
    }

    /// The number of known cells of each of the two states.
    ///
    /// # Panics
    /// If there are no known cells.
    pub fn sentinels_of_a_state(&self) -> u64 {
        u64::from(self.sentinels.expect("a number of sentinels") / 2)
    }

    /// The numbers of known cells of the lower state that read above, and of the upper state that read below. The arguments are those of
    /// [`Self::measured`].
    ///
    /// # Panics
    /// If there are no known cells.
    pub fn counted_errors(&self, errors: (f64, f64), uniforms: [f64; 2]) -> (u64, u64) {
        let of = |p, uniform| binomial_quantile(self.sentinels_of_a_state(), p, uniform);
        (of(errors.0, uniforms[0]), of(errors.1, uniforms[1]))
    }

    /// A measured difference.
    ///
    /// # Arguments
    /// - `errors`: shares of the cells of the lower state that read above, and of the upper state that read below.
    /// - `states`: of a cell.
    /// - `uniforms`: two random numbers in [0, 1). For the same numbers counts grow with the errors.
    ///
    /// # Panics
    /// If cells are not counted in this way.
    pub fn measured(&self, by: InferredBy, errors: (f64, f64), states: usize, uniforms: [f64; 2]) -> f64 {
        match by {
            InferredBy::Sentinels => {
                let of_a_state = self.sentinels_of_a_state() as f64;
                let (up, down) = self.counted_errors(errors, uniforms);
                up as f64 / of_a_state - down as f64 / of_a_state
            }
            InferredBy::ShareOfOnes => {
                let cells = f64::from(self.counted_cells.expect("a number of counted cells"));
                let below = (self.boundary + 1) as f64 / states as f64;
                let off = normal_quantile(uniforms[0]) * libm::sqrt(below * (1.0 - below) / cells);
                errors.0 - errors.1 - states as f64 * off
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use softsense_base::{Purpose, Stream, check_ranges};

    use super::*;

    fn inference() -> Inference {
        Inference {
            boundary: 1,
            step_v: 0.01,
            steps: 30,
            offset_v: vec![0.02, 1.0, 0.0, 5.0],
            differences: [-0.2, 0.4],
            follow: vec![[0.0, 0.5], [0.0, 1.0], [-0.01, -2.0]],
            sentinels: Some(400),
            calibration_steps: 3,
            counted_cells: Some(100_000),
        }
    }

    #[test]
    fn offsets_are_the_polynomial_and_what_follows_it() {
        let inference = inference();
        // 0.02 + 0.1 + 5 x 0.001 V are 12.5 steps.
        assert_eq!([0.1, -0.1, 0.0].map(|d| inference.steps_for(d)), [13, -9, 2]);
        assert_eq!([0.39, 0.4, 0.9, -0.9].map(|d| inference.steps_for(d)), [30, 30, 30, -22]);
        let offsets = inference.offsets_v(10);
        offsets.iter().zip([0.05, 0.1, -0.21]).for_each(|(found, expected)| assert!((found - expected).abs() < 1e-12));
        assert_eq!(
            [(5, 0.1), (5, -0.1), (29, 0.0), (-29, -0.1)].map(|(at, d)| inference.calibrated(at, d)),
            [8, 2, 30, -30]
        );
    }

    /// Do counts have the means and spreads of binomial ones? There are 4,000 counts of each. Means are within four standard errors,
    /// spreads within 8 % (standard error 1.1 %).
    #[test]
    fn differences_are_those_of_counted_cells() {
        let (inference, stream) = (inference(), Stream::new(3, Purpose::Counts));
        let (up, down) = (0.06, 0.01);
        // The counts are of 200 known cells of each state, and of 100,000 cells of four states, half of which are below.
        let expected = [
            (InferredBy::Sentinels, f64::sqrt((up * (1.0 - up) + down * (1.0 - down)) / 200.0)),
            (InferredBy::ShareOfOnes, 4.0 * f64::sqrt(0.25 / 100_000.0)),
        ];
        for (by, spread) in expected {
            let n = 4000;
            let of = |index| inference.measured(by, (up, down), 4, [0, 1].map(|which| stream.uniform(index, which)));
            let found: Vec<f64> = (0..n).map(of).collect();
            let mean = found.iter().sum::<f64>() / n as f64;
            let sigma = (found.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / n as f64).sqrt();
            assert!((mean - 0.05).abs() < 4.0 * spread / (n as f64).sqrt(), "{by:?}: {mean}");
            assert!((sigma / spread - 1.0).abs() < 0.08, "{by:?}: {sigma} for {spread}");
        }
    }

    #[test]
    fn bad_fields_are_named() {
        let bad = |change: fn(&mut Inference)| {
            let mut inference = inference();
            change(&mut inference);
            check_ranges("x", &inference).and_then(|()| inference.check("x", 3)).unwrap_err().to_string()
        };
        assert!(bad(|it| it.boundary = 3).starts_with("x.boundary: found 3"));
        assert!(bad(|it| it.offset_v.clear()).starts_with("x.offset_v: found 0 coefficients"));
        assert!(bad(|it| it.differences = [0.3, 0.2]).starts_with("x.differences[1]: found 0.2"));
        assert!(bad(|it| _ = it.follow.pop()).starts_with("x.follow: found 2 pairs, expected 3"));
        assert!(bad(|it| it.sentinels = Some(1)).starts_with("x.sentinels: found 1"));
        assert!(inference().check("x", 3).is_ok());
    }
}
