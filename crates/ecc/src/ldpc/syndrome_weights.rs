use softsense_base::normal_quantile;

use super::density_evolution::power;

/// The number of checks of an LDPC code that the hard decisions of a codeword violate, from the degrees of its bits and checks. Each bit is
/// wrong independently with the same probability.
///
/// A check of d bits is violated with probability (1 - (1 - 2 p)^d) / 2 (R. Gallager, "Low-density parity-check codes", 1963, lemma 4.1).
/// Two checks that share a bit are violated together more often. With degrees d and e their covariance is ((1 - 2 p)^(d + e - 2) - (1 - 2
/// p)^(d + e)) / 4. No two checks share more bits, as there are no 4-cycles. Both degrees of such a pair are taken to be the mean degree of
/// a check that an edge leads to. The weight is near normal: a sum of thousands.
#[derive(Debug, Clone, PartialEq)]
pub struct SyndromeWeights {
    codeword_bits: f64,
    /// Each degree with its number of checks.
    checks: Vec<(usize, f64)>,
    /// Number of pairs of checks that share a bit, and the mean degree of a check that an edge leads to.
    pairs: f64,
    mean_degree: f64,
}

impl SyndromeWeights {
    /// # Arguments
    /// - `bits`, `checks`: degrees, each with its number of bits or checks.
    ///
    /// # Panics
    /// If there are no bits or no checks.
    pub fn new(bits: &[(u32, u32)], checks: &[(u32, u32)]) -> Self {
        let numbers = |degrees: &[(u32, u32)]| -> Vec<(usize, f64)> {
            degrees.iter().map(|&(degree, count)| (degree as usize, count.into())).collect()
        };
        let (bits, checks) = (numbers(bits), numbers(checks));
        let sum = |of: &[(usize, f64)], term: fn(f64) -> f64| {
            of.iter().map(|&(degree, count)| term(degree as f64) * count).sum::<f64>()
        };
        let edges = sum(&checks, |degree| degree);
        assert!(edges > 0.0 && sum(&bits, |_| 1.0) > 0.0, "a code without bits or checks");
        Self {
            codeword_bits: sum(&bits, |_| 1.0),
            pairs: sum(&bits, |degree| 0.5 * degree * (degree - 1.0)),
            mean_degree: sum(&checks, |degree| degree * degree) / edges,
            checks,
        }
    }

    /// The number of checks.
    pub fn checks(&self) -> u32 {
        self.checks.iter().map(|(_, count)| count).sum::<f64>() as u32
    }

    /// The numbers for `checks` of the checks, which are taken to be a random choice. They have the mean number of checks of each degree,
    /// and of pairs that share a bit, in such a choice. If there are no more checks, it is all of them.
    #[must_use]
    pub fn of_some(&self, checks: u32) -> Self {
        let share = (f64::from(checks) / f64::from(self.checks())).min(1.0);
        Self {
            checks: self.checks.iter().map(|&(degree, count)| (degree, count * share)).collect(),
            pairs: self.pairs * share * share,
            ..self.clone()
        }
    }

    /// The mean weight at a raw bit error rate.
    pub fn mean(&self, rber: f64) -> f64 {
        let agree = 1.0 - 2.0 * rber;
        self.over_checks(|degree| 0.5 * (1.0 - power(agree, degree)))
    }

    /// The variance of the weight at a raw bit error rate.
    pub fn variance(&self, rber: f64) -> f64 {
        let agree = 1.0 - 2.0 * rber;
        let alone = self.over_checks(|degree| 0.25 * (1.0 - power(agree * agree, degree)));
        // The covariance of a pair is that of the bits that the two do not share, times the variance of the bit that they share.
        let of_others = libm::pow(agree, 2.0 * self.mean_degree - 2.0);
        alone + 0.5 * self.pairs * of_others * (1.0 - agree * agree)
    }

    /// Draws a weight for a codeword.
    ///
    /// Most of its variance comes from the number of errors, which a codeword's fate has, too: the more errors, the more often decoding
    /// fails. The argument `rank` determines that number, and `uniform` the other part of the weight.
    ///
    /// # Arguments
    /// - `rank`: the share of codewords with fewer errors than this one, in (0, 1).
    /// - `uniform`: a number in (0, 1) for the other part.
    pub fn draw(&self, rber: f64, rank: f64, uniform: f64) -> u32 {
        let of_one = rber * (1.0 - rber);
        // Cornish and Fisher's expansion of the binomial quantile, which is half an error off at most.
        let z = normal_quantile(rank);
        let sigma = libm::sqrt(self.codeword_bits * of_one);
        let errors = self.codeword_bits * rber + z * sigma + (1.0 - 2.0 * rber) * (z * z - 1.0) / 6.0;
        let with = (errors / self.codeword_bits).clamp(0.0, 0.5);
        let agree = 1.0 - 2.0 * rber;
        let slope = self.over_checks(|degree| degree as f64 * power(agree, degree - 1));
        let rest = (self.variance(rber) - slope * slope * of_one / self.codeword_bits).max(0.0);
        let weight = self.mean(with) + normal_quantile(uniform) * libm::sqrt(rest);
        // If no bit is wrong, no check is violated.
        if with == 0.0 { 0 } else { libm::round(weight.max(1.0)) as u32 }
    }

    fn over_checks(&self, of: impl Fn(usize) -> f64) -> f64 {
        self.checks.iter().map(|&(degree, count)| count * of(degree)).sum()
    }
}

#[cfg(test)]
mod tests {
    use softsense_base::{Purpose, Stream};

    use crate::bits;
    use crate::catalogue::Code;

    /// Are mean and variance those of random errors, and is the correlation of the weight with the number of errors that of the draw? There
    /// are 2,000 codewords at each rate: a mean within four standard errors, a variance within 15 % (standard error 3 %), a correlation of
    /// errors and weight within 0.02.
    #[test]
    fn weights_are_those_of_random_errors() {
        for name in ["flash-8/9", "adaptive-3/4"] {
            let code = Code::shipped(name).unwrap();
            let Code::Ldpc(ldpc) = &code else { unreachable!() };
            let weights = ldpc.syndrome_weights().unwrap();
            let n = code.codeword_bits();
            for rber in [0.001f64, 0.005, 0.02] {
                let (noise, ranks) = (Stream::new(3, Purpose::Noise), Stream::new(4, Purpose::Noise));
                let count = 2000;
                let (mut counted, mut drawn) = (Vec::new(), Vec::new());
                for word in 0..count {
                    let mut received = vec![0u8; n.div_ceil(8)];
                    let (mut errors, mut at) = (0, 0.0);
                    for step in 0.. {
                        // The distance to the next error is geometric.
                        at += 1.0 + (1.0 - noise.uniform(word, step)).ln() / (-rber).ln_1p();
                        if at.floor() as usize > n {
                            break;
                        }
                        bits::flip(&mut received, at.floor() as usize - 1);
                        at = at.floor();
                        errors += 1;
                    }
                    counted.push((f64::from(errors), ldpc.syndrome_weight(&received) as f64));
                    let rank = ranks.uniform(word, 0);
                    drawn.push((rank, f64::from(weights.draw(rber, rank, ranks.uniform(word, 1)))));
                }
                let moments = |of: &dyn Fn(&(f64, f64)) -> f64, pairs: &[(f64, f64)]| {
                    let mean = pairs.iter().map(of).sum::<f64>() / count as f64;
                    (mean, pairs.iter().map(|pair| (of(pair) - mean).powi(2)).sum::<f64>() / count as f64)
                };
                let correlation = |pairs: &[(f64, f64)]| {
                    let ((x, vx), (y, vy)) = (moments(&|pair| pair.0, pairs), moments(&|pair| pair.1, pairs));
                    pairs.iter().map(|pair| (pair.0 - x) * (pair.1 - y)).sum::<f64>() / count as f64 / (vx * vy).sqrt()
                };
                let (mean, variance) = (weights.mean(rber), weights.variance(rber));
                for (what, pairs) in [("counted", &counted), ("drawn", &drawn)] {
                    let (found, spread) = moments(&|pair| pair.1, pairs);
                    let error = (variance / count as f64).sqrt();
                    assert!((found - mean).abs() < 4.0 * error + 0.5, "{name}, {rber}, {what}: {found} for {mean}");
                    assert!((spread / variance - 1.0).abs() < 0.15, "{name}, {rber}, {what}: {spread} for {variance}");
                }
                // A uniform rank correlates a little less than the number that it stands for.
                let (found, expected) = (correlation(&counted), correlation(&drawn) / 0.977);
                assert!((found - expected).abs() < 0.02, "{name}, {rber}: correlation {found} for {expected}");
            }
        }
    }
}
