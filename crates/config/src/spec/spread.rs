use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Result, Stream, normal_quantile};

/// The largest number of parts of a spread.
const MAX_PARTS: usize = 64;

/// A part of a spread time. With probability `share` the time is longer by the sum of the other fields; a field that is left out adds
/// nothing. If the shares add up to less than 1, nothing is added in the remaining cases. A negative sum shortens the time, at most to
/// zero.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpreadPart {
    /// Probability of this part.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub share: f64,
    /// Fixed part, us.
    #[serde(default)]
    pub fixed_us: f64,
    /// Standard deviation of a normally distributed part with mean 0, us.
    #[serde(default)]
    pub normal_us: f64,
    /// Mean of an exponentially distributed part, us.
    #[serde(default)]
    pub exponential_us: f64,
}

/// Checks the parts of a spread at a config path.
pub(super) fn check_spread(path: &str, parts: &[SpreadPart]) -> Result<()> {
    if parts.len() > MAX_PARTS {
        return Err(Error::config(path, format!("found {} parts, expected at most {MAX_PARTS}", parts.len())));
    }
    let sum: f64 = parts.iter().map(|part| part.share).sum();
    if sum > 1.0 + 1e-9 {
        return Err(Error::config(path, format!("found shares with a sum of {sum}, expected a sum of at most 1")));
    }
    Ok(())
}

/// A spread that times are drawn from.
#[derive(Debug)]
pub struct AddedTime {
    /// Each part, with the uniform number up to which it is drawn.
    parts: Vec<(f64, SpreadPart)>,
    draws: Stream,
}

impl AddedTime {
    /// Returns the spread of these parts, whose shares add up to 1 or less.
    pub fn new(parts: &[SpreadPart], draws: Stream) -> Self {
        let mut reach = 0.0;
        let parts = parts.iter().map(|&part| {
            reach += part.share;
            (reach, part)
        });
        Self { parts: parts.collect(), draws }
    }

    /// Whether nothing is ever added.
    pub fn is_none(&self) -> bool {
        self.parts.is_empty()
    }

    /// The time that is added for an index of two words, ns. The second word is below 2^60.
    pub fn ns(&self, a: u64, b: u64) -> f64 {
        let uniform = |what: u64| self.draws.uniform(a, what << 60 | b);
        let drawn = uniform(0);
        let index = self.parts.partition_point(|&(reach, _)| reach <= drawn);
        let Some((_, part)) = self.parts.get(index) else { return 0.0 };
        let mut us = part.fixed_us;
        if part.normal_us > 0.0 {
            us += part.normal_us * normal_quantile(uniform(1).max(f64::EPSILON));
        }
        if part.exponential_us > 0.0 {
            us -= part.exponential_us * libm::log1p(-uniform(2));
        }
        us * 1e3
    }
}

#[cfg(test)]
mod tests {
    use softsense_base::Purpose;

    use super::*;

    /// Do 200,000 draws have the shares and moments of their parts, to four standard errors?
    #[test]
    fn parts_have_their_shares_and_moments() {
        let part =
            |share, fixed_us, normal_us, exponential_us| SpreadPart { share, fixed_us, normal_us, exponential_us };
        let stream = Stream::new(3, Purpose::Service);
        let n = 200_000u32;
        for (parts, mean, variance) in [
            (vec![part(1.0, 5.0, 2.0, 3.0)], 8.0, 13.0),
            (vec![part(0.25, 4.0, 0.0, 0.0), part(0.25, 8.0, 0.0, 0.0)], 3.0, 11.0),
            (vec![], 0.0, 0.0),
        ] {
            let spread = AddedTime::new(&parts, stream);
            assert_eq!(spread.is_none(), parts.is_empty());
            let us: Vec<f64> = (0..n).map(|i| spread.ns(i.into(), 7) / 1e3).collect();
            let found = us.iter().sum::<f64>() / f64::from(n);
            let spreads = us.iter().map(|us| (us - mean).powi(2)).sum::<f64>() / f64::from(n);
            assert!((found - mean).abs() <= 4.0 * f64::sqrt(variance / f64::from(n)), "{found} for {mean}");
            assert!((spreads - variance).abs() <= 0.03 * variance, "{spreads} for {variance}");
        }
    }
}
