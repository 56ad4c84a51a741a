use softsense_base::{Error, Result};

use super::{Correction, QuasiCyclic, Rule};
use crate::channel::{Regions, best_thresholds, bisect, capacity};

/// How the ones of a parity-check matrix are spread over rows and columns: the fraction of edges of the Tanner graph
/// that meet a bit, and a check, of each degree.
#[derive(Debug, Clone, PartialEq)]
pub struct DegreeDistribution {
    bits: Vec<(usize, f64)>,
    checks: Vec<(usize, f64)>,
}

/// How far a message goes, in steps of the grid.
#[derive(Debug, Clone, Copy)]
struct Grid {
    /// Messages are whole numbers of steps, from -limit to limit.
    limit: usize,
}

/// The grid of sum-product: steps in one unit of LLR.
const STEPS_PER_UNIT: f64 = 10.0;

/// The grid of sum-product: the largest message, in units of LLR.
const LARGEST: f64 = 25.0;

/// The grid of min-sum, which knows no unit: steps in the channel's largest LLR, for each LLR above zero that it has.
const CHANNEL_STEPS: f64 = 24.0;

/// The grid of min-sum: the largest message, in the channel's largest LLR.
const LARGEST_IN_CHANNEL: f64 = 8.0;

/// Thresholds are bisected this often.
pub(super) const BISECTIONS: usize = 10;

/// Decoding succeeds if the bit error rate falls below this.
const SUCCESS: f64 = 1e-7;

/// Iterations after which decoding without a limit has failed.
const MANY_ITERATIONS: u32 = 1000;

/// Decoding without a limit has failed if an iteration lowers the bit error rate by less than this fraction.
const STALLED: f64 = 1e-4;

/// The error rate may rise at first: decoding without a limit makes more iterations than this.
const SETTLED: u32 = 20;

/// Layers that stand for those of a layered decoder, which has as many as block rows: of more the threshold depends by less than its error.
const MOST_LAYERS: usize = 64;

/// The most thresholds of a channel: [`DegreeDistribution::threshold`].
const MAX_LEVELS: usize = 7;

impl DegreeDistribution {
    /// That of a matrix.
    pub fn of(code: &QuasiCyclic) -> Self {
        let mut column_weights = vec![0; code.columns()];
        for block in code.blocks() {
            column_weights[block.column as usize] += 1;
        }
        Self::from_weights(&column_weights, &(0..code.rows()).map(|row| code.row(row).len()).collect::<Vec<_>>())
    }

    /// That of the matrices with `bit_degree` ones in each column and `check_degree` in each row.
    pub fn regular(bit_degree: usize, check_degree: usize) -> Self {
        Self { bits: vec![(bit_degree, 1.0)], checks: vec![(check_degree, 1.0)] }
    }

    /// That of a matrix with these numbers of ones in each column and each row.
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
    /// Messages are discretised: sum-product to 1/10; min-sum with one or two levels to 1/24 of the channel's LLR, with
    /// three or four to 1/48 of its largest, and so on. A message between two steps is one or the other at random, so
    /// that its mean (after a check of sum-product, that of the square of its hyperbolic tangent) stays.
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
        let mut evolution = Evolution::new(self, &[rule], 1, &outputs(p, levels));
        (0..iterations).for_each(|_| evolution.iterate());
        Ok(evolution.bit_error_rate)
    }

    /// The largest error rate of the hard decisions of a channel at which decoding with `rule` succeeds, in the limit
    /// of long codes without short cycles: within `iterations` flooding iterations, if given. (A layered iteration is
    /// worth about two.) Its relative error is about 2e-3; the result for min-sum is up to 5e-3 too low.
    ///
    /// # Arguments
    /// - `levels`: how many thresholds the channel is read with: see [`DegreeDistribution::bit_error_rate`]. With one it
    ///   is the binary symmetric channel.
    ///
    /// # Errors
    /// The number of levels or a parameter of the rule out of range.
    pub fn threshold(&self, rule: Rule, levels: usize, iterations: Option<u32>) -> Result<f64> {
        rule.check()?;
        self.threshold_of(&[rule], 1, levels, iterations, SUCCESS)
    }

    /// The same for the layered decoder in small integers, [`super::MinSum`], as nearly as density evolution has it: normalised
    /// min-sum with the factors of `correction`, iteration by iteration, layer by layer. What is left out are the roundings, and the
    /// limits of integers. Decoding succeeds if fewer than one bit of a codeword is wrong on average.
    ///
    /// A bit has its other checks in other layers, in any of them alike: in those before this one they have answered in this iteration,
    /// in those after it in the one before. Of many layers neighbours are taken as one.
    ///
    /// # Arguments
    /// - `codeword_bits`: the length of the codeword, at least 1.
    /// - `layers`: block rows, at least 1.
    /// - `iterations`: after how many iterations the decoder gives up, at least 1.
    ///
    /// Source: E. Sharon, S. Litsyn, J. Goldberger, "Efficient serial message-passing schedules for LDPC decoding", 2007. Deviation: the
    /// mean of the layers' densities stands for each of them.
    ///
    /// # Errors
    /// A correction without factors or with one out of range; the number of levels or of iterations out of range.
    pub fn decoder_threshold(
        &self,
        correction: &Correction,
        codeword_bits: usize,
        layers: usize,
        levels: usize,
        iterations: u32,
    ) -> Result<f64> {
        correction.check()?;
        if !(1..=MANY_ITERATIONS).contains(&iterations) {
            let found = format!("found {iterations}, expected 1 to {MANY_ITERATIONS}");
            return Err(Error::code("iterations", found));
        }
        let soft = correction.soft();
        let factors = if levels == 1 { &correction.factors_16ths } else { &soft.factors_16ths };
        let rule = |&factor: &u8| Rule::NormalisedMinSum { factor: f64::from(factor) / 16.0 };
        let rules: Vec<Rule> = factors.iter().map(rule).collect();
        self.threshold_of(&rules, layers, levels, Some(iterations), 1.0 / codeword_bits as f64)
    }

    /// The threshold with a rule for each iteration, and the last for all that follow; `success` is the bit error rate to be reached.
    fn threshold_of(
        &self,
        rules: &[Rule],
        layers: usize,
        levels: usize,
        iterations: Option<u32>,
        success: f64,
    ) -> Result<f64> {
        check_levels(levels)?;
        let succeeds = |p| self.succeeds(rules, layers, &outputs(p, levels), iterations, success);
        let (low, high) = bisect(0.0..self.limit(levels), BISECTIONS, succeeds);
        Ok(0.5 * (low + high))
    }

    /// The largest error rate at which any code of this rate could be decoded; 1e-6 if it is less.
    pub(super) fn limit(&self, levels: usize) -> f64 {
        let limit = match levels {
            1 => shannon_limit(self.rate()),
            _ => bisect(0.0..0.499, 30, |p| capacity(p, levels) > self.rate()).0,
        };
        limit.max(1e-6)
    }

    fn succeeds(
        &self,
        rules: &[Rule],
        layers: usize,
        outputs: &[(f64, f64)],
        iterations: Option<u32>,
        success: f64,
    ) -> bool {
        let mut evolution = Evolution::new(self, rules, layers, outputs);
        let mut before = 1.0;
        for iteration in 0..iterations.unwrap_or(MANY_ITERATIONS) {
            evolution.iterate();
            let now = evolution.bit_error_rate;
            if now < success {
                return true;
            }
            if iterations.is_none() && iteration > SETTLED && now > before * (1.0 - STALLED) {
                return false;
            }
            before = now;
        }
        false
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

/// The LLRs that a channel gives a bit that is 0, and their probabilities.
pub(super) fn outputs(p: f64, levels: usize) -> Vec<(f64, f64)> {
    if levels == 1 {
        let llr = libm::log((1.0 - p) / p);
        return vec![(llr, 1.0 - p), (-llr, p)];
    }
    // A 0 is sent as +1.
    Regions::new(p, &best_thresholds(p, levels)).outputs()
}

/// A probability mass function over whole numbers of steps from -limit to limit; index 0 is -limit.
type Density = Vec<f64>;

/// What happens at checks.
#[derive(Clone)]
enum Checks {
    SumProduct {
        /// For each pair of magnitudes a >= b at a (a + 1) / 2 + b: the magnitude of the answer, and how much of its
        /// weight goes to the next higher one.
        pairs: Vec<(u16, f32)>,
    },
    MinSum {
        /// For each magnitude: what it is corrected to, and how much of its weight goes to the next higher magnitude.
        corrected: Vec<(usize, f64)>,
    },
}

/// The state of density evolution for the all-zero word; symmetry makes all words equal.
#[derive(Clone)]
pub(super) struct Evolution<'a> {
    degrees: &'a DegreeDistribution,
    grid: Grid,
    /// Of each iteration, and the last of all that follow.
    checks: Vec<Checks>,
    iteration: usize,
    /// Block rows.
    rows: usize,
    channel: Density,
    /// What the checks of each layer answered last.
    to_bits: Vec<Density>,
    /// What bits tell the checks of the first layer next.
    to_checks: Density,
    bit_error_rate: f64,
}

impl<'a> Evolution<'a> {
    /// The rules, at least one, share their grid: all are of sum-product, or none is.
    fn new(degrees: &'a DegreeDistribution, rules: &[Rule], rows: usize, outputs: &[(f64, f64)]) -> Self {
        let largest = outputs.iter().fold(0.0, |largest: f64, &(llr, _)| largest.max(llr));
        // Outputs come in pairs of opposite LLRs, but for one of zero.
        let channel_steps = CHANNEL_STEPS * (outputs.len() / 2) as f64;
        let (unit, steps, reach) = match rules[0] {
            Rule::SumProduct => (1.0, STEPS_PER_UNIT, LARGEST),
            Rule::NormalisedMinSum { .. } | Rule::OffsetMinSum { .. } => (largest, channel_steps, LARGEST_IN_CHANNEL),
        };
        let grid = Grid { limit: (steps * reach) as usize };
        let checks = |rule: &Rule| match *rule {
            Rule::SumProduct => Checks::sum_product(grid.limit),
            Rule::NormalisedMinSum { factor } => Checks::min_sum(grid.limit, |magnitude| magnitude * factor),
            Rule::OffsetMinSum { offset } => {
                let offset = offset * steps / unit;
                Checks::min_sum(grid.limit, |magnitude| (magnitude - offset).max(0.0))
            }
        };
        let outputs = outputs.iter().map(|&(llr, mass)| (llr / unit * steps, mass));
        Self::of(degrees, grid, rows, outputs, rules.iter().map(checks).collect())
    }

    /// With the channel's LLRs in steps.
    fn of(
        degrees: &'a DegreeDistribution,
        grid: Grid,
        rows: usize,
        outputs: impl Iterator<Item = (f64, f64)>,
        checks: Vec<Checks>,
    ) -> Self {
        let mut channel = grid.empty();
        outputs.for_each(|(steps, mass)| grid.add(&mut channel, steps, mass));
        let mut nothing = grid.empty();
        nothing[grid.limit] = 1.0;
        let bit_error_rate = wrong(&channel, &nothing);
        let layers = rows.clamp(1, MOST_LAYERS);
        let to_checks = channel.clone();
        Self {
            degrees,
            grid,
            checks,
            iteration: 0,
            rows,
            channel,
            to_bits: vec![nothing; layers],
            to_checks,
            bit_error_rate,
        }
    }

    /// That of a flooding decoder in integers none of which exceeds `limit`. What checks answer is said iteration by iteration, to
    /// [`Self::iterate_with`].
    pub(super) fn of_integers(degrees: &'a DegreeDistribution, limit: usize, outputs: &[(f64, f64)]) -> Self {
        Self::of(degrees, Grid { limit }, 1, outputs.iter().copied(), Vec::new())
    }

    /// An iteration in which checks that receive a least magnitude of `m` answer `answers[m]`, which is at most the limit; the last answer
    /// is that to all larger magnitudes.
    pub(super) fn iterate_with(&mut self, answers: &[u8]) {
        let answer = |magnitude: usize| answers[magnitude.min(answers.len() - 1)];
        let corrected = (0..=self.grid.limit).map(|magnitude| (answer(magnitude).into(), 0.0)).collect();
        self.checks = vec![Checks::MinSum { corrected }];
        self.iterate();
    }

    /// For each least magnitude of what a check receives for a bit, how likely it has it and tells the bit rightly, and wrongly. The last
    /// is that of `most` and all above.
    pub(super) fn least_magnitudes(&self, most: usize) -> Vec<[f64; 2]> {
        let limit = self.grid.limit;
        let same: Vec<(usize, f64)> = (0..=limit).map(|magnitude| (magnitude, 0.0)).collect();
        let density = self.min_sum(&same);
        let mut least = vec![[0.0; 2]; most + 1];
        least[0] = [0.5 * density[limit]; 2];
        for magnitude in 1..=limit {
            let [right, wrong] = &mut least[magnitude.min(most)];
            // Differences of cumulated probabilities may come out a rounding error below zero.
            *right += density[limit + magnitude].max(0.0);
            *wrong += density[limit - magnitude].max(0.0);
        }
        least
    }

    pub(super) fn bit_error_rate(&self) -> f64 {
        self.bit_error_rate
    }

    fn iterate(&mut self) {
        let layers = self.to_bits.len();
        for layer in 0..layers {
            if layer > 0 {
                self.to_checks = self.told(&self.told_by_others(layer)).0;
            }
            self.to_bits[layer] = match &self.checks[self.iteration.min(self.checks.len() - 1)] {
                Checks::SumProduct { pairs } => self.sum_product(pairs),
                Checks::MinSum { corrected } => self.min_sum(corrected),
            };
        }
        self.iteration += 1;
        let (to_checks, bit_error_rate) = self.told(&self.mean(|_| 1.0));
        self.bit_error_rate = bit_error_rate;
        self.to_checks = if layers == 1 { to_checks } else { self.told(&self.told_by_others(0)).0 };
    }

    /// What the checks of a bit in other block rows than one of a layer have answered last.
    fn told_by_others(&self, layer: usize) -> Density {
        // Of the rows of that layer all but one.
        let own = 1.0 - self.to_bits.len() as f64 / self.rows as f64;
        self.mean(|other| if other == layer { own } else { 1.0 })
    }

    fn mean(&self, weight: impl Fn(usize) -> f64) -> Density {
        let total: f64 = (0..self.to_bits.len()).map(&weight).sum();
        let mut mean = self.grid.empty();
        for (layer, density) in self.to_bits.iter().enumerate() {
            let share = weight(layer) / total;
            mean.iter_mut().zip(density).for_each(|(mean, mass)| *mean += share * mass);
        }
        mean
    }

    /// What bits tell checks, and how often they are wrong, if checks answer them so.
    fn told(&self, to_bits: &Density) -> (Density, f64) {
        let per_bit: f64 = self.degrees.bits.iter().map(|&(degree, share)| share / degree as f64).sum();
        let mut to_checks = self.grid.empty();
        let mut bit_error_rate = 0.0;
        // What the channel and so many messages tell a bit.
        let (mut sum, mut messages) = (self.channel.clone(), 0);
        for &(degree, share) in &self.degrees.bits {
            while messages + 1 < degree {
                sum = self.grid.convolve(&sum, to_bits);
                messages += 1;
            }
            to_checks.iter_mut().zip(&sum).for_each(|(to, from)| *to += share * from);
            bit_error_rate += share / degree as f64 / per_bit * wrong(&sum, to_bits);
        }
        (to_checks, bit_error_rate)
    }

    /// What checks answer by the exact rule. Densities are symmetric, so magnitudes tell all: a message of magnitude x
    /// is wrong with probability 1 / (1 + e^x).
    fn sum_product(&self, pairs: &[(u16, f32)]) -> Density {
        let limit = self.grid.limit;
        let magnitudes: Vec<f64> =
            (0..=limit).map(|magnitude| self.grid.magnitude(&self.to_checks, magnitude)).collect();
        let mut answer = vec![0.0; limit + 1];
        let mut last: Option<(usize, Vec<f64>)> = None;
        for &(degree, share) in &self.degrees.checks {
            let wanted = degree - 1;
            let next = match last {
                Some((have, density)) if wanted > have => {
                    combine(&density, &combined(&magnitudes, wanted - have, pairs), pairs)
                }
                _ => combined(&magnitudes, wanted, pairs),
            };
            answer.iter_mut().zip(&next).for_each(|(to, from)| *to += share * from);
            last = Some((wanted, next));
        }
        // A rounding error of the total would grow by the degree of the checks in every iteration.
        let total: f64 = answer.iter().sum();
        let mut density = self.grid.empty();
        for (magnitude, mass) in answer.iter().map(|mass| mass / total).enumerate() {
            let wrong = 1.0 / (1.0 + libm::exp(magnitude as f64 / STEPS_PER_UNIT));
            density[limit + magnitude] += mass * (1.0 - wrong);
            density[limit - magnitude] += mass * wrong;
        }
        density
    }

    /// What checks answer by min-sum: the least magnitude exceeds k if all do.
    fn min_sum(&self, corrected: &[(usize, f64)]) -> Density {
        let limit = self.grid.limit;
        let mut density = self.grid.empty();
        // P(least >= k), and that with the sign counted: P(least >= k and right) - P(least >= k and wrong).
        let (mut any, mut signed) = (0.0, 0.0);
        let (mut any_before, mut signed_before) = (0.0, 0.0);
        for magnitude in (1..=limit).rev() {
            any += self.to_checks[limit + magnitude] + self.to_checks[limit - magnitude];
            signed += self.to_checks[limit + magnitude] - self.to_checks[limit - magnitude];
            let over = |value: f64| -> f64 {
                self.degrees.checks.iter().map(|&(degree, share)| share * power(value, degree - 1)).sum()
            };
            let (any_now, signed_now) = (over(any), over(signed));
            let right = 0.5 * (any_now - any_before + signed_now - signed_before);
            let wrong = 0.5 * (any_now - any_before - (signed_now - signed_before));
            let (to, up) = corrected[magnitude];
            let above = (to + 1).min(limit);
            for (target, share) in [(to, 1.0 - up), (above, up)] {
                density[limit + target] += share * right;
                density[limit - target] += share * wrong;
            }
            (any_before, signed_before) = (any_now, signed_now);
        }
        // The sign of a zero is right as often as wrong.
        let (zeros, answer) = (1.0 - any_before, corrected[0].0);
        if answer == 0 {
            density[limit] += zeros;
        } else {
            density[limit + answer] += 0.5 * zeros;
            density[limit - answer] += 0.5 * zeros;
        }
        density
    }
}

impl Grid {
    fn empty(self) -> Density {
        vec![0.0; 2 * self.limit + 1]
    }

    /// Adds `mass` at `steps`, split between the two nearest grid points.
    fn add(self, density: &mut Density, steps: f64, mass: f64) {
        let limit = self.limit as f64;
        let at = steps.clamp(-limit, limit) + limit;
        let (low, up) = split(at);
        density[low] += mass * (1.0 - up);
        density[(low + 1).min(2 * self.limit)] += mass * up;
    }

    fn magnitude(self, density: &Density, magnitude: usize) -> f64 {
        let (right, wrong) = (density[self.limit + magnitude], density[self.limit - magnitude]);
        if magnitude == 0 { right } else { right + wrong }
    }

    /// The density of a sum, which saturates.
    fn convolve(self, a: &Density, b: &Density) -> Density {
        let limit = self.limit;
        let occupied = |density: &Density| -> Option<(usize, usize)> {
            let present = |mass: &f64| *mass > 1e-30;
            Some((density.iter().position(present)?, density.iter().rposition(present)?))
        };
        let (Some((a_low, a_high)), Some((b_low, b_high))) = (occupied(a), occupied(b)) else { return self.empty() };
        let mut wide = vec![0.0; 4 * limit + 1];
        for (index, &mass) in a.iter().enumerate().take(a_high + 1).skip(a_low).filter(|(_, mass)| **mass > 0.0) {
            let to = &mut wide[index + b_low..=index + b_high];
            to.iter_mut().zip(&b[b_low..=b_high]).for_each(|(to, from)| *to += mass * from);
        }
        let mut sum = wide[limit..=3 * limit].to_vec();
        sum[0] += wide[..limit].iter().sum::<f64>();
        sum[2 * limit] += wide[3 * limit + 1..].iter().sum::<f64>();
        sum
    }
}

/// The probability that a sum is below zero, and half of that that it is zero.
fn wrong(a: &Density, b: &Density) -> f64 {
    let mut below = 0.0;
    let terms = a.iter().rev().zip(b).map(|(a, b)| {
        let term = a * (below + 0.5 * b);
        below += b;
        term
    });
    terms.sum()
}

fn split(at: f64) -> (usize, f64) {
    let low = libm::floor(at);
    (low as usize, at - low)
}

/// By squaring: the same on every CPU, and quicker than a power to any number.
pub(super) fn power(base: f64, mut exponent: usize) -> f64 {
    let (mut square, mut product) = (base, 1.0);
    while exponent > 0 {
        if exponent % 2 == 1 {
            product *= square;
        }
        square *= square;
        exponent /= 2;
    }
    product
}

impl Checks {
    fn sum_product(limit: usize) -> Self {
        let mut pairs = Vec::with_capacity((limit + 1) * (limit + 2) / 2);
        for a in 0..=limit {
            for b in 0..=a {
                // 2 atanh(tanh(a / 2) tanh(b / 2)) = b + ln((1 + e^-(a + b)) / (1 + e^-(a - b))) for a >= b.
                let (sum, difference) = ((a + b) as f64 / STEPS_PER_UNIT, (a - b) as f64 / STEPS_PER_UNIT);
                let correction = libm::log1p(libm::exp(-sum)) - libm::log1p(libm::exp(-difference));
                let exact = (b as f64 + correction * STEPS_PER_UNIT).max(0.0);
                // Split so that the mean of tanh^2(x / 2) stays, which checks multiply: a split that kept the mean of x
                // would make something of the many messages near zero.
                let quality = |steps: f64| libm::pow(libm::tanh(0.5 * steps / STEPS_PER_UNIT), 2.0);
                let (low, _) = split(exact);
                let (least, most) = (quality(low as f64), quality(low as f64 + 1.0));
                let up = if exact > low as f64 { (quality(exact) - least) / (most - least) } else { 0.0 };
                pairs.push((low as u16, up as f32));
            }
        }
        Self::SumProduct { pairs }
    }

    fn min_sum(limit: usize, correct: impl Fn(f64) -> f64) -> Self {
        Self::MinSum { corrected: (0..=limit).map(|magnitude| split(correct(magnitude as f64))).collect() }
    }
}

/// The density of the magnitude of what a check makes of two messages, by the densities of their magnitudes.
fn combine(first: &[f64], second: &[f64], pairs: &[(u16, f32)]) -> Vec<f64> {
    let mut answer = vec![0.0; first.len() + 1];
    let mut pairs = pairs.iter();
    for a in 0..first.len() {
        for b in 0..=a {
            let &(low, up) = pairs.next().expect("a pair");
            let mass = if a == b { first[a] * second[b] } else { first[a] * second[b] + first[b] * second[a] };
            answer[low as usize] += mass * (1.0 - f64::from(up));
            answer[low as usize + 1] += mass * f64::from(up);
        }
    }
    answer.pop();
    answer
}

/// As `combine`, of `count` messages of one density.
fn combined(density: &[f64], count: usize, pairs: &[(u16, f32)]) -> Vec<f64> {
    let mut product: Option<Vec<f64>> = None;
    let mut square = density.to_vec();
    let mut rest = count;
    loop {
        if rest % 2 == 1 {
            product = Some(product.map_or_else(|| square.clone(), |product| combine(&product, &square, pairs)));
        }
        rest /= 2;
        if rest == 0 {
            break;
        }
        square = combine(&square, &square, pairs);
    }
    // A check of degree one knows its bit.
    product.unwrap_or_else(|| {
        let mut certain = vec![0.0; density.len()];
        *certain.last_mut().expect("a grid") = 1.0;
        certain
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Do many thresholds come to the known limits of the Gaussian channel without any? Source of the deviations: S.-Y.
    /// Chung, T. Richardson, R. Urbanke, "Analysis of sum-product decoding of low-density parity-check codes using a
    /// Gaussian approximation", 2001, table II (those of exact density evolution).
    #[test]
    fn many_levels_come_to_the_gaussian_channel() {
        let thresholds: Vec<f64> = (-120..=120).map(|step| f64::from(step) * 0.025).collect();
        for (bits, checks, known) in [(3, 6, 0.8809), (4, 8, 0.8376), (5, 10, 0.7936)] {
            let degrees = DegreeDistribution::regular(bits, checks);
            let succeeds = |deviation| {
                degrees.succeeds(
                    &[Rule::SumProduct],
                    1,
                    &Regions::with_deviation(deviation, &thresholds).outputs(),
                    None,
                    SUCCESS,
                )
            };
            assert!(succeeds(known * 0.999) && !succeeds(known * 1.001), "({bits}, {checks})");
        }
    }
}
