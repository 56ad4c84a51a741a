use std::collections::BTreeMap;
use std::ops::Range;

use softsense_base::{Error, Result};

use super::super::{Correction, Rule};
use super::{BISECTIONS, DegreeDistribution, MANY_ITERATIONS, SETTLED, STALLED, check_levels, outputs, shannon_limit};
use crate::channel::{bisect, capacity};

/// The grid of messages.
#[derive(Debug, Clone, Copy)]
struct Grid {
    /// Largest magnitude of a message, in steps: messages are whole numbers of steps from -limit to limit.
    limit: usize,
}

/// The grid of sum-product: steps in one unit of LLR.
const STEPS_PER_UNIT: f64 = 10.0;

/// The grid of sum-product: the largest message, in units of LLR.
const LARGEST: f64 = 25.0;

/// The grid of min-sum, which has no unit: steps in the channel's largest LLR, for each LLR above zero that it has.
const CHANNEL_STEPS: f64 = 24.0;

/// The grid of min-sum: the largest message, in the channel's largest LLR.
const LARGEST_IN_CHANNEL: f64 = 8.0;

/// The largest number of layers in the model. A layered decoder has as many as block rows, but further layers change the threshold by less
/// than its error.
const MOST_LAYERS: usize = 64;

/// A probability mass function over whole numbers of steps from -limit to limit; index 0 is -limit.
type Density = Vec<f64>;

/// The rule of the checks.
#[derive(Clone)]
enum Checks {
    SumProduct {
        /// For each pair of magnitudes a >= b at a (a + 1) / 2 + b: the magnitude of the answer, and the share of its weight at the next
        /// higher magnitude.
        pairs: Vec<(u16, f32)>,
    },
    MinSum {
        /// For each magnitude: its corrected magnitude, and the share of its weight at the next higher one.
        corrected: Vec<(usize, f64)>,
    },
}

/// Bits whose checks lie in the same layers.
#[derive(Debug, Clone)]
pub(super) struct Group {
    pub(super) reach: Reach,
    /// For each degree the number of edges to bits of that degree, in any unit; lowest degree first.
    pub(super) bits: Vec<(usize, f64)>,
    /// True if the bits are punctured, so that the channel has no information on them.
    pub(super) punctured: bool,
}

/// The layers in which bits have their checks.
#[derive(Debug, Clone)]
pub(super) enum Reach {
    /// Each check is in any of this number of first layers, with equal probability.
    Anywhere(usize),
    /// One check is in each of these ranges of layers, in any layer of it with equal probability. All bits have one degree, the number of
    /// ranges.
    OneInEach(Vec<Range<usize>>),
}

impl Reach {
    fn layers(&self) -> Range<usize> {
        match self {
            Self::Anywhere(layers) => 0..*layers,
            Self::OneInEach(parts) => {
                parts.first().map_or(0, |part| part.start)..parts.last().map_or(0, |part| part.end)
            }
        }
    }
}

/// Divides a range into parts that are as equal as possible. A block column of a chain has one circulant in each part.
pub(in super::super) fn parts(range: &Range<usize>, count: usize) -> Vec<Range<usize>> {
    let bound = |part: usize| range.start + part * range.len() / count;
    (0..count).map(|part| bound(part)..bound(part + 1)).collect()
}

/// A type of checks of a layer. The groups that meet the layer are in their order.
#[derive(Debug, Clone)]
pub(super) struct CheckType {
    /// The number of bits of each group in a check. If it is not whole, a check has one of the two nearest whole numbers.
    pub(super) degrees: Vec<f64>,
    /// The share of these checks in the layer's edges to bits of each group.
    pub(super) shares: Vec<f64>,
}

/// A Tanner graph for density evolution: the numbers of edges between kinds of bits and kinds of checks.
#[derive(Debug, Clone)]
pub(in super::super) struct Graph {
    pub(super) groups: Vec<Group>,
    /// The checks of each layer.
    pub(super) layers: Vec<Vec<CheckType>>,
    /// Number of block rows; a layer has one or more.
    pub(super) rows: usize,
    /// The rate of a code whose checks are independent.
    pub(super) rate: f64,
}

impl Graph {
    /// The graph of any matrix of `rows` block rows with these degrees.
    pub(in super::super) fn of_degrees(degrees: &DegreeDistribution, rows: usize) -> Self {
        let layers = rows.clamp(1, MOST_LAYERS);
        let check = |&(degree, share): &(usize, f64)| CheckType { degrees: vec![degree as f64], shares: vec![share] };
        let group = Group { reach: Reach::Anywhere(layers), bits: degrees.bits().to_vec(), punctured: false };
        let checks: Vec<CheckType> = degrees.checks().iter().map(check).collect();
        Self { groups: vec![group], layers: vec![checks; layers], rows, rate: degrees.rate() }
    }

    /// The graph of a chain. Columns of these weights reach these block rows, and have a check in each of as many [`parts`] of them.
    pub(in super::super) fn chain(rows: usize, column_weights: &[u32], reaches: &[Range<usize>]) -> Self {
        let mut columns: BTreeMap<(usize, usize, usize), usize> = BTreeMap::new();
        for (&weight, reach) in column_weights.iter().zip(reaches) {
            let degree = (weight as usize).min(reach.len());
            *columns.entry((reach.start, reach.end, degree)).or_default() += 1;
        }
        let mut degrees = vec![Vec::new(); rows];
        let mut groups = Vec::new();
        for ((start, end, degree), count) in columns {
            let parts = parts(&(start..end), degree);
            for part in &parts {
                degrees[part.clone()].iter_mut().for_each(|degrees| degrees.push(count as f64 / part.len() as f64));
            }
            let bits = vec![(degree, (degree * count) as f64)];
            groups.push(Group { reach: Reach::OneInEach(parts), bits, punctured: false });
        }
        let checks = |degrees: Vec<f64>| vec![CheckType { shares: vec![1.0; degrees.len()], degrees }];
        let rate = 1.0 - rows as f64 / column_weights.len() as f64;
        Self { groups, layers: degrees.into_iter().map(checks).collect(), rows, rate }
    }

    /// The graph of a matrix whose last columns are punctured. These have their checks in any block row with equal probability, as all
    /// others.
    pub(in super::super) fn punctured(rows: usize, column_weights: &[u32], punctured: usize) -> Self {
        let layers = rows.clamp(1, MOST_LAYERS);
        let (sent, last) = column_weights.split_at(column_weights.len() - punctured);
        let group = |weights: &[u32], punctured| {
            let mut bits: BTreeMap<usize, f64> = BTreeMap::new();
            weights.iter().for_each(|&weight| *bits.entry(weight as usize).or_default() += f64::from(weight));
            Group { reach: Reach::Anywhere(layers), bits: bits.into_iter().collect(), punctured }
        };
        let groups = vec![group(sent, false), group(last, true)];
        let edges = |group: &Group| group.bits.iter().map(|&(_, edges)| edges).sum::<f64>() / rows as f64;
        let checks = vec![CheckType { degrees: groups.iter().map(edges).collect(), shares: vec![1.0; 2] }];
        let rate = (column_weights.len() - rows) as f64 / sent.len() as f64;
        Self { groups, layers: vec![checks; layers], rows, rate }
    }

    pub(in super::super) fn rate(&self) -> f64 {
        self.rate
    }

    /// The groups that have bits in a layer.
    fn meeting(&self, layer: usize) -> impl Iterator<Item = usize> {
        self.groups
            .iter()
            .enumerate()
            .filter(move |(_, group)| group.reach.layers().contains(&layer))
            .map(|(index, _)| index)
    }

    /// The largest error rate at which any code of this rate could be decoded, at least 1e-6.
    pub(in super::super) fn limit(&self, levels: usize) -> f64 {
        let limit = match levels {
            1 => shannon_limit(self.rate),
            _ => bisect(0.0..0.499, 30, |p| capacity(p, levels) > self.rate).0,
        };
        limit.max(1e-6)
    }

    /// The threshold with a rule for each iteration, the last of which holds for all that follow. `success` is the bit error rate to be
    /// reached.
    pub(super) fn threshold(
        &self,
        rules: &[Rule],
        levels: usize,
        iterations: Option<u32>,
        success: f64,
    ) -> Result<f64> {
        check_levels(levels)?;
        let succeeds = |p| self.succeeds(rules, &outputs(p, levels), iterations, success);
        let (low, high) = bisect(0.0..self.limit(levels), BISECTIONS, succeeds);
        Ok(0.5 * (low + high))
    }

    /// The threshold of the layered decoder in small integers: [`DegreeDistribution::decoder_threshold`].
    pub(in super::super) fn decoder_threshold(
        &self,
        correction: &Correction,
        codeword_bits: usize,
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
        self.threshold(&rules, levels, Some(iterations), 1.0 / codeword_bits as f64)
    }

    /// Tells whether the bit error rate falls below `success` over a channel with these outputs.
    pub(super) fn succeeds(
        &self,
        rules: &[Rule],
        outputs: &[(f64, f64)],
        iterations: Option<u32>,
        success: f64,
    ) -> bool {
        let mut evolution = Evolution::new(self.clone(), rules, outputs);
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

/// Messages between the checks of a layer and the bits of each group that meets it.
type Messages = Vec<Density>;

/// The state of density evolution for the all-zero word; symmetry makes all words equal.
#[derive(Clone)]
pub(in super::super) struct Evolution {
    graph: Graph,
    grid: Grid,
    /// The rule of each iteration; the last holds for all that follow.
    checks: Vec<Checks>,
    iteration: usize,
    channel: Density,
    /// The last answers of the checks of each layer.
    to_bits: Vec<Messages>,
    /// The next messages of bits to the checks of the first layer.
    to_checks: Messages,
    bit_error_rate: f64,
}

impl Evolution {
    /// Makes the state at the start. The rules, at least one, share their grid: all are of sum-product, or none is.
    pub(super) fn new(graph: Graph, rules: &[Rule], outputs: &[(f64, f64)]) -> Self {
        let largest = outputs.iter().fold(0.0, |largest: f64, &(llr, _)| largest.max(llr));
        // Outputs come in pairs of opposite LLRs, except an output of zero.
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
        Self::of(graph, grid, outputs, rules.iter().map(checks).collect())
    }

    /// Makes the state from the channel's LLRs in steps.
    fn of(graph: Graph, grid: Grid, outputs: impl Iterator<Item = (f64, f64)>, checks: Vec<Checks>) -> Self {
        let mut channel = grid.empty();
        outputs.for_each(|(steps, mass)| grid.add(&mut channel, steps, mass));
        let to_bits = (0..graph.layers.len()).map(|layer| vec![grid.nothing(); graph.meeting(layer).count()]).collect();
        let mut evolution =
            Self { grid, checks, iteration: 0, bit_error_rate: 0.0, to_checks: Vec::new(), channel, to_bits, graph };
        evolution.bit_error_rate = evolution.wrong();
        evolution.to_checks = evolution.told_to(0);
        evolution
    }

    /// Makes the state of a flooding decoder in integers, none of which exceeds `limit`. The answers of checks are given in each iteration,
    /// to [`Self::iterate_with`].
    pub(in super::super) fn of_integers(degrees: &DegreeDistribution, limit: usize, outputs: &[(f64, f64)]) -> Self {
        Self::of(Graph::of_degrees(degrees, 1), Grid { limit }, outputs.iter().copied(), Vec::new())
    }

    /// Makes an iteration in which checks answer `answers[m]`, at most the limit, to a least magnitude of `m`. The last answer holds for
    /// all larger magnitudes.
    pub(in super::super) fn iterate_with(&mut self, answers: &[u8]) {
        let answer = |magnitude: usize| answers[magnitude.min(answers.len() - 1)];
        let corrected = (0..=self.grid.limit).map(|magnitude| (answer(magnitude).into(), 0.0)).collect();
        self.checks = vec![Checks::MinSum { corrected }];
        self.iterate();
    }

    /// The probabilities of each least magnitude that a check receives for a bit: with the right sign, and with the wrong one. The last
    /// entry is that of `most` and all larger magnitudes.
    pub(in super::super) fn least_magnitudes(&self, most: usize) -> Vec<[f64; 2]> {
        let limit = self.grid.limit;
        let same: Vec<(usize, f64)> = (0..=limit).map(|magnitude| (magnitude, 0.0)).collect();
        let density = self.min_sum(&same, 0, 0);
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

    pub(in super::super) fn bit_error_rate(&self) -> f64 {
        self.bit_error_rate
    }

    pub(super) fn iterate(&mut self) {
        let layers = self.to_bits.len();
        for layer in 0..layers {
            if layer > 0 {
                self.to_checks = self.told_to(layer);
            }
            let answer = |group| match &self.checks[self.iteration.min(self.checks.len() - 1)] {
                Checks::SumProduct { pairs } => self.sum_product(pairs, layer, group),
                Checks::MinSum { corrected } => self.min_sum(corrected, layer, group),
            };
            self.to_bits[layer] = (0..self.to_checks.len()).map(answer).collect();
        }
        self.iteration += 1;
        self.bit_error_rate = self.wrong();
        self.to_checks = self.told_to(0);
    }

    /// The bit error rate.
    fn wrong(&self) -> f64 {
        let (mut bits, mut of_all) = (0.0, 0.0);
        for (index, group) in self.graph.groups.iter().enumerate() {
            let of_group: f64 = group.bits.iter().map(|&(degree, edges)| edges / degree as f64).sum();
            let rate = match &group.reach {
                Reach::Anywhere(layers) => self.told(group, &self.mean(index, 0..*layers, |_| 1.0)).1,
                Reach::OneInEach(parts) => wrong(&self.sum(index, parts), &self.grid.nothing()),
            };
            bits += of_group;
            of_all += of_group * rate;
        }
        of_all / bits
    }

    /// The messages of bits to the checks of a layer.
    fn told_to(&self, layer: usize) -> Messages {
        // The messages come from all rows of that layer but one.
        let own = match self.to_bits.len() {
            1 => 1.0,
            layers => 1.0 - layers as f64 / self.graph.rows as f64,
        };
        let told = |index: usize| {
            let group = &self.graph.groups[index];
            match &group.reach {
                Reach::Anywhere(layers) => {
                    let by_others = self.mean(index, 0..*layers, |other| if other == layer { own } else { 1.0 });
                    self.told(group, &by_others).0
                }
                Reach::OneInEach(parts) => {
                    let own = parts.iter().position(|part| part.contains(&layer));
                    let others = parts.iter().enumerate().filter(|(place, _)| Some(*place) != own);
                    self.sum(index, others.map(|(_, part)| part))
                }
            }
        };
        self.graph.meeting(layer).map(told).collect()
    }

    /// The channel's messages to the bits of a group.
    fn channel(&self, group: &Group) -> Density {
        if group.punctured { self.grid.nothing() } else { self.channel.clone() }
    }

    /// The sum of the messages of the channel, and of a check in each of these ranges of layers, to a bit of a group.
    fn sum<'a>(&self, index: usize, parts: impl IntoIterator<Item = &'a Range<usize>>) -> Density {
        let add =
            |sum: Density, part: &Range<usize>| self.grid.convolve(&sum, &self.mean(index, part.clone(), |_| 1.0));
        parts.into_iter().fold(self.channel(&self.graph.groups[index]), add)
    }

    /// The mean of the last answers of some layers to a group.
    fn mean(&self, index: usize, layers: Range<usize>, weight: impl Fn(usize) -> f64) -> Density {
        let total: f64 = layers.clone().map(&weight).sum();
        // A bit with one check gets no message from other checks.
        if total == 0.0 {
            return self.grid.nothing();
        }
        let mut mean = self.grid.empty();
        for layer in layers {
            let share = weight(layer) / total;
            let place = self.graph.meeting(layer).position(|other| other == index).expect("it meets its layers");
            mean.iter_mut().zip(&self.to_bits[layer][place]).for_each(|(mean, mass)| *mean += share * mass);
        }
        mean
    }

    /// The messages of the bits of a group to checks, and the bit error rate, if each check answers with `to_bits`.
    fn told(&self, group: &Group, to_bits: &Density) -> (Density, f64) {
        let edges: f64 = group.bits.iter().map(|&(_, edges)| edges).sum();
        let bits: f64 = group.bits.iter().map(|&(degree, edges)| edges / degree as f64).sum();
        let mut to_checks = self.grid.empty();
        let mut bit_error_rate = 0.0;
        // The sum of the channel's message and of `messages` answers.
        let (mut sum, mut messages) = (self.channel(group), 0);
        for &(degree, of_degree) in &group.bits {
            while messages + 1 < degree {
                sum = self.grid.convolve(&sum, to_bits);
                messages += 1;
            }
            let share = of_degree / edges;
            to_checks.iter_mut().zip(&sum).for_each(|(to, from)| *to += share * from);
            bit_error_rate += of_degree / degree as f64 / bits * wrong(&sum, to_bits);
        }
        (to_checks, bit_error_rate)
    }

    /// The answers of the checks of a layer to bits of the group at `place`, by the exact rule. Densities are symmetric, so magnitudes are
    /// enough: a message of magnitude x is wrong with probability 1 / (1 + e^x).
    fn sum_product(&self, pairs: &[(u16, f32)], layer: usize, place: usize) -> Density {
        let limit = self.grid.limit;
        let magnitudes: Vec<Vec<f64>> = self
            .to_checks
            .iter()
            .map(|density| (0..=limit).map(|magnitude| self.grid.magnitude(density, magnitude)).collect())
            .collect();
        let mut answer = vec![0.0; limit + 1];
        for check in &self.graph.layers[layer] {
            let mut product: Option<Vec<f64>> = None;
            for (group, magnitudes) in magnitudes.iter().enumerate() {
                let (least, more) = others(check.degrees[group], group == place);
                if least > 0 {
                    let of_least = combined(magnitudes, least, pairs);
                    product =
                        Some(product.map_or_else(|| of_least.clone(), |product| combine(&product, &of_least, pairs)));
                }
                if more > 0.0 {
                    let one_more =
                        product.as_ref().map_or_else(|| magnitudes.clone(), |of| combine(of, magnitudes, pairs));
                    let fewer = product.unwrap_or_else(|| certain(limit));
                    product = Some(
                        one_more
                            .iter()
                            .zip(&fewer)
                            .map(|(with, without)| more * with + (1.0 - more) * without)
                            .collect(),
                    );
                }
            }
            let product = product.unwrap_or_else(|| certain(limit));
            answer.iter_mut().zip(&product).for_each(|(to, from)| *to += check.shares[place] * from);
        }
        // Without this division a rounding error of the total would grow by the degree of the checks in every iteration.
        let total: f64 = answer.iter().sum();
        let mut density = self.grid.empty();
        for (magnitude, mass) in answer.iter().map(|mass| mass / total).enumerate() {
            let wrong = 1.0 / (1.0 + libm::exp(magnitude as f64 / STEPS_PER_UNIT));
            density[limit + magnitude] += mass * (1.0 - wrong);
            density[limit - magnitude] += mass * wrong;
        }
        density
    }

    /// The answers by min-sum: the least magnitude exceeds k if all do.
    fn min_sum(&self, corrected: &[(usize, f64)], layer: usize, place: usize) -> Density {
        let limit = self.grid.limit;
        let mut density = self.grid.empty();
        let checks: Vec<(f64, Vec<(usize, f64)>)> = self.graph.layers[layer]
            .iter()
            .map(|check| {
                let others = check.degrees.iter().enumerate().map(|(group, &degree)| others(degree, group == place));
                (check.shares[place], others.collect())
            })
            .collect();
        let over = |values: &[f64]| -> f64 {
            let of = |(share, others): &(f64, Vec<(usize, f64)>)| {
                let each = others.iter().zip(values);
                each.fold(*share, |product, (&(least, more), &value)| {
                    product * power(value, least) * (1.0 - more + more * value)
                })
            };
            checks.iter().map(of).sum()
        };
        // Totals are divided out. Checks make their rounding errors many times as large, and after convergence these would grow with every
        // iteration.
        let totals: Vec<f64> = self.to_checks.iter().map(|density| density.iter().sum()).collect();
        // P(least >= k), and the same with the sign: P(least >= k and right) - P(least >= k and wrong), for bits of each group.
        let (mut any, mut signed) = (vec![0.0; self.to_checks.len()], vec![0.0; self.to_checks.len()]);
        let (mut any_before, mut signed_before) = (0.0, 0.0);
        for magnitude in (1..=limit).rev() {
            for (group, to_checks) in self.to_checks.iter().enumerate() {
                any[group] += (to_checks[limit + magnitude] + to_checks[limit - magnitude]) / totals[group];
                signed[group] += (to_checks[limit + magnitude] - to_checks[limit - magnitude]) / totals[group];
            }
            let (any_now, signed_now) = (over(&any), over(&signed));
            let right = (0.5 * (any_now - any_before + signed_now - signed_before)).max(0.0);
            let wrong = (0.5 * (any_now - any_before - (signed_now - signed_before))).max(0.0);
            let (to, up) = corrected[magnitude];
            let above = (to + 1).min(limit);
            for (target, share) in [(to, 1.0 - up), (above, up)] {
                density[limit + target] += share * right;
                density[limit - target] += share * wrong;
            }
            (any_before, signed_before) = (any_now, signed_now);
        }
        // The sign of a zero is right half of the time.
        let (zeros, answer) = ((1.0 - any_before).max(0.0), corrected[0].0);
        if answer == 0 {
            density[limit] += zeros;
        } else {
            density[limit + answer] += 0.5 * zeros;
            density[limit - answer] += 0.5 * zeros;
        }
        density
    }
}

/// The number of other bits in a check of this mean degree: at least the first number, and one more with the probability that is the
/// second.
fn others(degree: f64, has_one: bool) -> (usize, f64) {
    let least = libm::floor(degree);
    let more = degree - least;
    if !has_one {
        return (least as usize, more);
    }
    // A bit is more likely to be in a check with more bits.
    match least {
        0.0 => (0, 0.0),
        _ => (least as usize - 1, more * (least + 1.0) / degree),
    }
}

/// The density of the magnitude of a message that is certain.
fn certain(limit: usize) -> Density {
    let mut certain = vec![0.0; limit + 1];
    certain[limit] = 1.0;
    certain
}

impl Grid {
    fn empty(self) -> Density {
        vec![0.0; 2 * self.limit + 1]
    }

    /// The density of a message without information.
    fn nothing(self) -> Density {
        let mut nothing = self.empty();
        nothing[self.limit] = 1.0;
        nothing
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

/// The probability that a sum is below zero, plus half the probability that it is zero.
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

/// A power by repeated squaring: the same on every CPU, and quicker than a power with any exponent.
pub(in super::super) fn power(base: f64, mut exponent: usize) -> f64 {
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
                // The split keeps the mean of tanh^2(x / 2), because checks multiply it. A split that kept the mean of x would give
                // information to the many messages near zero.
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

/// The density of the magnitude of a check's answer to two messages, from the densities of their magnitudes.
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

/// The result of `combine` for `count` messages of one density.
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
    // The answer of a check of degree one is certain.
    product.unwrap_or_else(|| certain(density.len() - 1))
}
