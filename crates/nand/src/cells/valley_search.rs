use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Result, normal_cdf};

use crate::rber::is_zero;

/// A controller's search for the best references. It senses each boundary at equal distances around the default reference, or around the
/// expected valley, and counts the cells between neighbouring sensings. It puts the reference in the middle of the gap with the fewest
/// cells, the lowest if there are several.
///
/// Counts are of all cells of a page, whatever their state. They are random: Poisson, with the mean that the distributions give.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ValleySearch {
    /// Distance between neighbouring sensings, in volts.
    #[schemars(range(min = 1e-4, max = 1.0))]
    pub step_v: f64,
    /// Number of sensings at each boundary: an odd number from 3 to 63.
    #[schemars(range(min = 3, max = 63))]
    pub sensings: u32,
    /// Distance of the middle sensing from the default reference, in volts. States that lose charge have their valleys below the default.
    /// If they lose as much as they are apart, a search around the default finds the valley of the next boundary.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(min = -5.0, max = 5.0))]
    pub centre_v: f64,
    /// Number of cells that are counted: the cells of a page.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub cells: u32,
}

impl ValleySearch {
    /// Checks that one sensing is in the middle.
    pub(super) fn check(self, path: &str) -> Result<()> {
        if self.sensings.is_multiple_of(2) {
            let message =
                format!("found {}, expected an odd number: one of the sensings is in the middle", self.sensings);
            return Err(Error::config(format!("{path}.sensings"), message));
        }
        Ok(())
    }

    /// The number of gaps between the sensings of a boundary.
    pub fn gaps(self) -> usize {
        self.sensings as usize - 1
    }

    /// The distance of the middle of a gap from the default reference, in volts.
    pub fn offset_v(self, gap: usize) -> f64 {
        self.centre_v + self.step_v * (gap as f64 - 0.5 * (self.gaps() - 1) as f64)
    }

    /// The voltages of the sensings about a default reference.
    pub(crate) fn sensed_v(self, default_v: f64) -> impl Iterator<Item = f64> {
        let middle = f64::from(self.sensings / 2);
        (0..self.sensings).map(move |index| default_v + self.centre_v + self.step_v * (f64::from(index) - middle))
    }

    /// The gap that is chosen: the first with the fewest cells.
    ///
    /// # Arguments
    /// - `counts`: of each gap.
    pub fn chosen(counts: impl IntoIterator<Item = u64>) -> usize {
        let least = counts.into_iter().enumerate().min_by_key(|&(_, count)| count);
        least.map_or(0, |(gap, _)| gap)
    }

    /// The probability that each gap is chosen.
    ///
    /// # Arguments
    /// - `means`: of the counts of the gaps.
    pub(crate) fn chances(means: &[f64]) -> Vec<f64> {
        let least = means.iter().copied().fold(f64::INFINITY, f64::min);
        // The least count is at most about the largest count of the emptiest gap.
        let most = (least + 9.0 * libm::sqrt(least) + 30.0) as u64;
        let tails: Vec<Vec<f64>> = means.iter().map(|&mean| upper_tails(mean, most + 1)).collect();
        let mut chances = vec![0.0; means.len()];
        // A gap is chosen if those before have more, and those after have at least as many.
        for count in 0..=most as usize {
            let mut before = 1.0;
            for gap in 0..means.len() {
                let here = tails[gap][count] - tails[gap][count + 1];
                let after: f64 = tails[gap + 1..].iter().map(|tail| tail[count]).product();
                chances[gap] += here * before * after;
                before *= tails[gap][count + 1];
            }
        }
        let all: f64 = chances.iter().sum();
        chances.iter_mut().for_each(|chance| *chance /= all);
        chances
    }
}

/// P(Poisson >= 0), P(Poisson >= 1), ... P(Poisson >= most).
fn upper_tails(mean: f64, most: u64) -> Vec<f64> {
    if mean > 1e4 {
        // A normal distribution, corrected for the steps. Its error is below a thousandth of the probability where that matters.
        let tail =
            |count: u64| if count == 0 { 1.0 } else { normal_cdf((mean - count as f64 + 0.5) / libm::sqrt(mean)) };
        return (0..=most).map(tail).collect();
    }
    let mut probability = libm::exp(-mean);
    let mut tail = 1.0;
    (0..=most)
        .map(|count| {
            let here = tail;
            tail = (tail - probability).max(0.0);
            probability *= mean / (count + 1) as f64;
            here
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use softsense_base::{Purpose, Stream, poisson_quantile};

    use super::*;

    /// Are gaps chosen as often as the chances say? There are 20,000 searches with drawn counts, in valleys with few cells and with many.
    /// Each share is within four standard errors.
    #[test]
    fn chances_are_those_of_drawn_counts() {
        let stream = Stream::new(5, Purpose::Counts);
        for means in [vec![9.0, 3.0, 2.5, 6.0], vec![400.0, 210.0, 200.0, 205.0, 600.0], vec![2e4, 1.5e4, 1.51e4, 4e4]]
        {
            let chances = ValleySearch::chances(&means);
            assert!((chances.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            let searches = 20_000;
            let mut found = vec![0u32; means.len()];
            for search in 0..searches {
                let counts =
                    (0u64..).zip(&means).map(|(gap, &mean)| poisson_quantile(mean, stream.uniform(search, gap)));
                found[ValleySearch::chosen(counts)] += 1;
            }
            for (gap, &chance) in chances.iter().enumerate() {
                let share = f64::from(found[gap]) / searches as f64;
                let error = (chance * (1.0 - chance) / searches as f64).sqrt();
                assert!((share - chance).abs() < 4.0 * error + 1e-3, "{means:?}, {gap}: {share} for {chance}");
            }
        }
    }

    #[test]
    fn gaps_lie_about_the_default_reference() {
        let search = ValleySearch { step_v: 0.1, sensings: 5, cells: 1000, centre_v: 0.0 };
        let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        (0..4).for_each(|gap| near(search.offset_v(gap), [-0.15, -0.05, 0.05, 0.15][gap]));
        search.sensed_v(2.0).zip([1.8, 1.9, 2.0, 2.1, 2.2]).for_each(|(found, expected)| near(found, expected));
        let lower = ValleySearch { centre_v: -0.5, ..search };
        near(lower.offset_v(0), -0.65);
        near(lower.sensed_v(2.0).next().unwrap(), 1.3);
        assert_eq!(ValleySearch::chosen([5, 2, 7, 2]), 1);
        assert!(ValleySearch { sensings: 4, ..search }.check("x").unwrap_err().to_string().contains("an odd number"));
    }
}
