use softsense_base::{Error, Result};

mod evolution;

pub(super) use evolution::{Evolution, Graph, parts, power};

use super::{Correction, QuasiCyclic, Rule};
use crate::channel::{Regions, best_thresholds, bisect};

/// The distribution of the ones of a parity-check matrix over rows and columns: the fraction of edges of the Tanner graph that meet a bit,
/// and a check, of each degree.
#[derive(Debug, Clone, PartialEq)]
pub struct DegreeDistribution {
    bits: Vec<(usize, f64)>,
    checks: Vec<(usize, f64)>,
}

/// The number of bisections of a threshold.
pub(super) const BISECTIONS: usize = 10;

/// The bit error rate below which decoding succeeds.
const SUCCESS: f64 = 1e-7;

/// The number of iterations after which decoding without a limit has failed.
const MANY_ITERATIONS: u32 = 1000;

/// The fraction by which an iteration must lower the bit error rate; otherwise decoding without a limit has failed.
const STALLED: f64 = 1e-4;

/// The number of iterations that decoding without a limit makes at least, because the error rate may rise at first.
const SETTLED: u32 = 20;

/// The most thresholds of a channel: [`DegreeDistribution::threshold`].
const MAX_LEVELS: usize = 7;

impl DegreeDistribution {
    /// The distribution of a matrix.
    pub fn of(code: &QuasiCyclic) -> Self {
        let mut column_weights = vec![0; code.columns()];
        for block in code.blocks() {
            column_weights[block.column as usize] += 1;
        }
        Self::from_weights(&column_weights, &(0..code.rows()).map(|row| code.row(row).len()).collect::<Vec<_>>())
    }

    /// The distribution of matrices with `bit_degree` ones in each column and `check_degree` in each row.
    pub fn regular(bit_degree: usize, check_degree: usize) -> Self {
        Self { bits: vec![(bit_degree, 1.0)], checks: vec![(check_degree, 1.0)] }
    }

    /// The distribution of a matrix with these numbers of ones in each column and each row.
    pub fn from_weights(columns: &[usize], rows: &[usize]) -> Self {
        let spread = |weights: &[usize]| -> Vec<(usize, f64)> {
            let edges: usize = weights.iter().sum();
            let largest = weights.iter().copied().max().unwrap_or(0);
            (1..=largest)
                .map(|degree| (degree, degree * weights.iter().filter(|weight| **weight == degree).count()))
                .filter(|(_, count)| *count > 0)
                .map(|(degree, count)| (degree, count as f64 / edges as f64))
                .collect()
        };
        Self { bits: spread(columns), checks: spread(rows) }
    }

    /// The fraction of edges that meet a bit of each degree, lowest degree first.
    pub fn bits(&self) -> &[(usize, f64)] {
        &self.bits
    }

    /// The fraction of edges that meet a check of each degree, lowest degree first.
    pub fn checks(&self) -> &[(usize, f64)] {
        &self.checks
    }

    /// The share of bits of degree 3 or less.
    pub fn light_share(&self) -> f64 {
        let bits = |most: usize| -> f64 {
            self.bits.iter().filter(|(degree, _)| *degree <= most).map(|&(degree, share)| share / degree as f64).sum()
        };
        bits(3) / bits(usize::MAX)
    }

    /// The rate of a code whose checks are independent.
    pub fn rate(&self) -> f64 {
        let per_edge =
            |degrees: &[(usize, f64)]| degrees.iter().map(|&(degree, share)| share / degree as f64).sum::<f64>();
        1.0 - per_edge(&self.checks) / per_edge(&self.bits)
    }

    /// The fraction of wrong bits after `iterations` flooding iterations with `rule`, in the limit of long codes
    /// without short cycles, over a Gaussian channel that is read by comparing with `levels` thresholds.
    ///
    /// Messages are discretised: sum-product to 1/10; min-sum with one or two levels to 1/24 of the channel's LLR, with three or four to
    /// 1/48 of its largest, and so on. A message between two steps becomes one of these at random, so that its mean (after a check of
    /// sum-product, the mean of the square of its hyperbolic tangent) stays.
    ///
    /// # Arguments
    /// - `p`: the probability that the sign alone is wrong, from 1e-9 to 0.499.
    /// - `levels`: 1 to 7; the thresholds are those of [`best_thresholds`], and each region between them has its exact
    ///   LLR. One level makes the binary symmetric channel with crossover probability `p`.
    ///
    /// Source: S.-Y. Chung, G. D. Forney, T. Richardson, R. Urbanke, "On the design of low-density parity-check codes
    /// within 0.0045 dB of the Shannon limit", 2001, section III (discretised density evolution); for min-sum: A.
    /// Anastasopoulos, "A comparison between the sum-product and the min-sum iterative detection algorithms based on
    /// density evolution", 2001.
    ///
    /// # Errors
    /// A probability, the number of levels or a parameter of the rule out of range.
    pub fn bit_error_rate(&self, rule: Rule, p: f64, levels: usize, iterations: u32) -> Result<f64> {
        rule.check()?;
        check_levels(levels)?;
        if !(1e-9..=0.499).contains(&p) {
            return Err(Error::code("error rate", format!("found {p}, expected a number from 1e-9 to 0.499")));
        }
        let mut evolution = Evolution::new(Graph::of_degrees(self, 1), &[rule], &outputs(p, levels));
        (0..iterations).for_each(|_| evolution.iterate());
        Ok(evolution.bit_error_rate())
    }

    /// The largest error rate of the hard decisions of a channel at which decoding with `rule` succeeds, in the limit of long codes without
    /// short cycles. With `iterations` it must succeed within this number of flooding iterations. (A layered iteration is worth about two.)
    /// The relative error is about 2e-3; for min-sum the result is up to 5e-3 too low.
    ///
    /// # Arguments
    /// - `levels`: the number of thresholds with which the channel is read: see [`DegreeDistribution::bit_error_rate`]. With one it is
    ///   the binary symmetric channel.
    ///
    /// # Errors
    /// The number of levels or a parameter of the rule out of range.
    pub fn threshold(&self, rule: Rule, levels: usize, iterations: Option<u32>) -> Result<f64> {
        rule.check()?;
        Graph::of_degrees(self, 1).threshold(&[rule], levels, iterations, SUCCESS)
    }

    /// The threshold of the layered decoder in small integers, [`super::MinSum`], as nearly as density evolution describes it: normalised
    /// min-sum with the factors of `correction`, iteration by iteration, layer by layer. Roundings and the limits of integers are left out.
    /// Decoding succeeds if fewer than one bit of a codeword is wrong on average.
    ///
    /// The other checks of a bit are in other layers, in any of them with the same probability. Checks in layers before this one have
    /// answered in this iteration, checks in later layers in the one before. If there are many layers, neighbours are taken as one.
    ///
    /// # Arguments
    /// - `codeword_bits`: the length of the codeword, at least 1.
    /// - `layers`: block rows, at least 1.
    /// - `iterations`: the number of iterations after which the decoder gives up, at least 1.
    ///
    /// Source: E. Sharon, S. Litsyn, J. Goldberger, "Efficient serial message-passing schedules for LDPC decoding", 2007. Deviation: the
    /// mean of the layers' densities replaces the density of each layer.
    ///
    /// # Errors
    /// A correction without factors or with a factor out of range; the number of levels or of iterations out of range.
    pub fn decoder_threshold(
        &self,
        correction: &Correction,
        codeword_bits: usize,
        layers: usize,
        levels: usize,
        iterations: u32,
    ) -> Result<f64> {
        Graph::of_degrees(self, layers).decoder_threshold(correction, codeword_bits, levels, iterations)
    }
}

/// The largest crossover probability of a binary symmetric channel with capacity `rate`.
///
/// Source: C. Shannon, "A mathematical theory of communication", 1948: 1 - h(p) = rate.
pub fn shannon_limit(rate: f64) -> f64 {
    let entropy = |p: f64| -(p * libm::log2(p) + (1.0 - p) * libm::log2(1.0 - p));
    bisect(0.0..0.5, 60, |p| 1.0 - entropy(p) > rate).0
}

pub(super) fn check_levels(levels: usize) -> Result<()> {
    if (1..=MAX_LEVELS).contains(&levels) {
        return Ok(());
    }
    Err(Error::code("levels", format!("found {levels}, expected a number from 1 to {MAX_LEVELS}")))
}

/// The LLRs that a channel gives for a bit that is 0, and their probabilities.
pub(super) fn outputs(p: f64, levels: usize) -> Vec<(f64, f64)> {
    if levels == 1 {
        let llr = libm::log((1.0 - p) / p);
        return vec![(llr, 1.0 - p), (-llr, p)];
    }
    // A 0 is sent as +1.
    Regions::new(p, &best_thresholds(p, levels)).outputs()
}

#[cfg(test)]
mod tests {
    use super::super::Construction;
    use super::*;

    /// Do many thresholds give the known limits of the Gaussian channel without thresholds? Source of the deviations: S.-Y. Chung, T.
    /// Richardson, R. Urbanke, "Analysis of sum-product decoding of low-density parity-check codes using a Gaussian approximation", 2001,
    /// table II (those of exact density evolution).
    #[test]
    fn many_levels_come_to_the_gaussian_channel() {
        let thresholds: Vec<f64> = (-120..=120).map(|step| f64::from(step) * 0.025).collect();
        for (bits, checks, known) in [(3, 6, 0.8809), (4, 8, 0.8376), (5, 10, 0.7936)] {
            let degrees = DegreeDistribution::regular(bits, checks);
            let succeeds = |deviation| {
                let outputs = Regions::with_deviation(deviation, &thresholds).outputs();
                Graph::of_degrees(&degrees, 1).succeeds(&[Rule::SumProduct], &outputs, None, SUCCESS)
            };
            assert!(succeeds(known * 0.999) && !succeeds(known * 1.001), "({bits}, {checks})");
        }
    }

    /// Does a chain of (3, 6) codes have its known limit on the Gaussian channel? Source: M. Lentmaier, A. Sridharan, D. J. Costello, K.
    /// Zigangirov, "Iterative decoding threshold analysis for LDPC convolutional codes", 2010. It is 0.46 dB as the chain grows, where
    /// codes that are not coupled have 1.10 dB. (For (4, 8) codes it is 0.26 dB; that was found as well, in two minutes.)
    #[test]
    fn a_chain_comes_to_its_limit() {
        let thresholds: Vec<f64> = (-120..=120).map(|step| f64::from(step) * 0.025).collect();
        let (weight, length) = (3, 24);
        let reaches: Vec<_> = (0..length).flat_map(|at| [at..at + weight, at..at + weight]).collect();
        let chain = Graph::chain(length + weight - 1, &vec![weight as u32; 2 * length], &reaches);
        let known = libm::pow(10.0, -0.46 / 20.0);
        let succeeds = |deviation| {
            let outputs = Regions::with_deviation(deviation, &thresholds).outputs();
            chain.succeeds(&[Rule::SumProduct], &outputs, None, SUCCESS)
        };
        assert!(succeeds(0.99 * known) && !succeeds(1.01 * known));
    }

    /// Does a protograph with a punctured column have its known limit on the Gaussian channel? Source: D. Divsalar, S. Dolinar, C. Jones,
    /// K. Andrews, "Capacity-approaching protograph codes", 2009: 0.628 dB of AR4JA of rate 1/2.
    #[test]
    fn a_punctured_protograph_comes_to_its_limit() {
        let base: [[usize; 5]; 3] = [[1, 2, 0, 0, 0], [0, 3, 1, 1, 1], [0, 1, 2, 2, 1]];
        let group = |column: usize| {
            let parts: Vec<_> = (0..3).flat_map(|row| std::iter::repeat_n(row..row + 1, base[row][column])).collect();
            let bits = vec![(parts.len(), parts.len() as f64)];
            evolution::Group { reach: evolution::Reach::OneInEach(parts), bits, punctured: column == 1 }
        };
        let layer = |row: &[usize; 5]| {
            let degrees: Vec<f64> = row.iter().filter(|ones| **ones > 0).map(|&ones| ones as f64).collect();
            vec![evolution::CheckType { shares: vec![1.0; degrees.len()], degrees }]
        };
        let layers = base.iter().map(layer).collect();
        let graph = Graph { groups: (0..5).map(group).collect(), layers, rows: 3, rate: 0.5 };
        let thresholds: Vec<f64> = (-120..=120).map(|step| f64::from(step) * 0.025).collect();
        let known = libm::pow(10.0, -0.628 / 20.0);
        let succeeds = |deviation| {
            let outputs = Regions::with_deviation(deviation, &thresholds).outputs();
            graph.succeeds(&[Rule::SumProduct], &outputs, None, SUCCESS)
        };
        for f in [0.98, 0.985, 0.99, 0.995, 1.0, 1.005, 1.01] {
            println!("{f} {}", succeeds(f * known));
        }
        assert!(succeeds(0.99 * known) && !succeeds(1.01 * known));
    }

    /// Do the ends of a chain that have converged stay converged, until the middle has converged, too?
    #[test]
    fn what_has_converged_stays() {
        let column_weights = [5; 576];
        let reaches = Construction::reaches(64, &column_weights, Some(4));
        let rule = Rule::NormalisedMinSum { factor: 0.6875 };
        let mut evolution = Evolution::new(Graph::chain(64, &column_weights, &reaches), &[rule], &outputs(0.0085, 1));
        let mut before = 1.0;
        for iteration in 0..30 {
            evolution.iterate();
            let now = evolution.bit_error_rate();
            assert!((0.0..=before).contains(&now), "iteration {iteration}: {before}, {now}");
            before = now;
        }
        assert!(before < 1e-30, "{before}");
    }
}
