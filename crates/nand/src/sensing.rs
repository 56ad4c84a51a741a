use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Result, check_ranges, maximum, spelled_like};

use crate::Cells;
use crate::cells::MAX_STATES;
use crate::distribution::{Distribution, Tail};

/// The deepest sensing: seven references at each boundary.
pub(crate) const MAX_LEVEL: u8 = 7;

/// The least integer for an LLR that is infinite, because no cell of the other bit should be in the region. It stands for less than one
/// such cell in 1e13.
const CERTAIN_LLR: f64 = 30.0;

/// The placement of the reference voltages of soft sensing, for the states that the controller expects ([`crate::References`]). Level 1 is
/// always at the hard references.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Placement {
    /// The references with the most mutual information between the bit and the region, each level by itself.
    ///
    /// Source: J. Wang, K. Vakilinia, T.-Y. Chen, T. Courtade, G. Dong, T. Zhang, H. Shankar, R. Wesel, "Enhanced
    /// precision through multiple reads for LDPC decoding in flash memories", 2014.
    #[default]
    MutualInformation,
    /// The references of the level before, and at each boundary one more, where it adds the most mutual information. A retry then senses
    /// only the new references.
    Nested,
    /// References at equal distances, symmetric about each hard reference.
    Uniform {
        /// The distance, in volts. It is smaller if boundaries would meet, or if references would lie beyond all errors. Without this field
        /// it is the distance with the most mutual information.
        #[serde(default)]
        #[schemars(range(min = 1e-6, max = 5.0))]
        step_v: Option<f64>,
    },
}

impl FromStr for Placement {
    type Err = Error;

    /// Parses `mutual_information`, `nested`, `uniform` or `uniform:STEP_V`.
    fn from_str(text: &str) -> Result<Self> {
        let expected = || {
            let message = format!("found `{text}`, expected mutual_information, nested, uniform or uniform:STEP_V");
            Error::config("placement", message)
        };
        let placement = match text.split_once(':') {
            None if spelled_like(text, ["mutual_information"]).is_some() => Placement::MutualInformation,
            None if text == "nested" => Placement::Nested,
            None if text == "uniform" => Placement::Uniform { step_v: None },
            Some(("uniform", step)) => Placement::Uniform { step_v: Some(step.parse().map_err(|_| expected())?) },
            _ => return Err(expected()),
        };
        placement.check("placement")?;
        Ok(placement)
    }
}

impl Placement {
    /// Checks the ranges; `path` is the place of the placement in a config.
    pub fn check(&self, path: &str) -> Result<()> {
        check_ranges(path, self)
    }
}

/// The reference voltages with which one page is sensed. They divide the voltages into regions, and a decoder learns
/// only the region of a cell.
#[derive(Debug, Clone)]
pub struct Sensing {
    page: usize,
    levels: usize,
    references: Vec<f64>,
}

impl Sensing {
    /// Places the references of `level` for reading `page` of `cells`.
    ///
    /// # Arguments
    /// - `level`: references at each boundary of the page; 1 is hard decision, 7 the most.
    ///
    /// # Panics
    /// If there is no such page or level.
    pub fn new(cells: &Cells, page: usize, level: u8, placement: Placement) -> Self {
        assert!((1..=MAX_LEVEL).contains(&level), "level {level}, not from 1 to {MAX_LEVEL}");
        Self::with_levels(cells, page, level.into(), placement)
    }

    fn with_levels(cells: &Cells, page: usize, levels: usize, placement: Placement) -> Self {
        let place = Place::new(cells, page, cells.expected().0);
        let placed_v = match placement {
            _ if levels == 1 => place.hard_only().concat(),
            Placement::MutualInformation => place.most_informative(levels),
            Placement::Nested => place.nested(levels).concat(),
            Placement::Uniform { step_v } => place.uniform(levels, step_v),
        };
        Self::moved(cells, page, levels, &placed_v)
    }

    /// The most informative references of a level for a page of the expected states, before offsets move them. Finding them takes nearly
    /// all of the time of [`Self::new`]. Cells that expect the same states share them.
    ///
    /// # Panics
    /// See [`Self::new`].
    pub(crate) fn most_informative_v(cells: &Cells, page: usize, level: u8) -> Vec<f64> {
        Place::new(cells, page, cells.expected().0).most_informative(level.into())
    }

    /// A sensing with references that were placed for the expected states, and then moved by the offsets of the cells.
    pub(crate) fn moved(cells: &Cells, page: usize, levels: usize, placed_v: &[f64]) -> Self {
        let offsets_v = cells.expected().1;
        // Boundaries that are moved towards each other leave no room between them.
        let mut least = f64::NEG_INFINITY;
        let moved = placed_v
            .chunks(levels)
            .zip(cells.boundaries(page))
            .flat_map(|(chunk, &boundary)| chunk.iter().map(move |reference| reference + offsets_v[boundary]));
        let references = moved.map(|reference| {
            least = least.max(reference);
            least
        });
        Self { page, levels, references: references.collect() }
    }

    /// The reference voltages, ascending: the level times the boundaries of the page.
    pub fn references(&self) -> &[f64] {
        &self.references
    }

    /// The number of regions.
    pub fn regions(&self) -> usize {
        self.references.len() + 1
    }

    /// The number of sensings of the wordline: one for each reference.
    pub fn sensings(&self) -> usize {
        self.references.len()
    }

    /// The bits that are transferred for each cell: the hard decision at level 1, the number of the region at deeper levels.
    pub fn bits_per_cell(&self) -> usize {
        if self.levels == 1 { 1 } else { self.regions().next_power_of_two().ilog2() as usize }
    }

    /// The probability that the voltage of a cell in `state` is below each reference. A cell at quantile u of its state is in the region
    /// whose number is the number of these probabilities that are at most u.
    pub fn cumulative(&self, cells: &Cells, state: usize) -> Vec<f64> {
        self.references.iter().map(|&reference| cells.cdf(state, reference)).collect()
    }

    /// P(region | bit of the page) for each region, `[given 0, given 1]`, over all states with that bit.
    pub fn probabilities(&self, cells: &Cells) -> Vec<[f64; 2]> {
        let page = PageStates::new(cells, self.page, cells.distributions());
        let ends = self.references.iter().map(|&reference| page.tails(reference)).chain([ABOVE]);
        page.regions(BELOW, ends).collect()
    }

    /// [`Self::probabilities`], split by whether the hard decision at `hard_references` is wrong: `[region][bit][wrong]`. There is one hard
    /// reference for each boundary between states, as in [`Cells::hard_references`]. The two probabilities of a region and a bit add up to
    /// that of the region.
    pub fn split(&self, cells: &Cells, hard_references: &[f64]) -> Vec<[[f64; 2]; 2]> {
        let page = PageStates::new(cells, self.page, cells.distributions());
        let mut hard = cells.boundaries(self.page).iter().map(|&at| hard_references[at]).peekable();
        let mut decision = 1;
        let mut from = BELOW;
        let ends = self.references.iter().copied().chain([f64::INFINITY]);
        ends.map(|end_v| {
            let mut region = [[0.0; 2]; 2];
            let mut add = |end: Tails, decision: usize| {
                let probabilities = page.probabilities(&from, &end);
                for (bit, probability) in probabilities.into_iter().enumerate() {
                    region[bit][usize::from(bit != decision)] += probability;
                }
                from = end;
            };
            while let Some(hard_v) = hard.next_if(|&hard_v| hard_v < end_v) {
                add(page.tails(hard_v), decision);
                decision = 1 - decision;
            }
            add(if end_v == f64::INFINITY { ABOVE } else { page.tails(end_v) }, decision);
            region
        })
        .collect()
    }

    /// The mutual information between a bit of the page, 0 and 1 being equally likely, and its region, in bits.
    pub fn information(&self, cells: &Cells) -> f64 {
        1.0 - self.equivocation(cells)
    }

    /// The equivocation of such a bit, its remaining uncertainty, in bits. It is one minus [`Self::information`], exact to the last digits
    /// even where it is tiny.
    pub fn equivocation(&self, cells: &Cells) -> f64 {
        self.probabilities(cells).into_iter().map(equivocation).sum()
    }

    /// The LLR of each region, ln(P(region | 0) / P(region | 1)), for `cells`. These may have another age than the cells that are read;
    /// then the LLRs are mismatched, like those of a controller that does not know the age.
    ///
    /// A region without cells of one bit has an infinite LLR, a region without any cells has 0.
    pub fn llrs(&self, cells: &Cells) -> Vec<f64> {
        let llr = |[zero, one]: [f64; 2]| if zero == one { 0.0 } else { libm::log(zero / one) };
        self.probabilities(cells).into_iter().map(llr).collect()
    }

    /// [`Self::llrs`] in a decoder's integers, the largest magnitude being `largest`, and the natural logarithm that one step stands for.
    /// An infinite LLR counts as the largest finite one, and as 30 at least.
    pub fn integer_llrs(&self, cells: &Cells, largest: i8) -> (Vec<i8>, f64) {
        let llrs = self.llrs(cells);
        let finite = llrs.iter().map(|llr| llr.abs()).filter(|llr| llr.is_finite()).fold(0.0, f64::max);
        let limit = if llrs.iter().all(|llr| llr.is_finite()) { finite } else { finite.max(CERTAIN_LLR) };
        if limit == 0.0 {
            return (vec![0; llrs.len()], 1.0);
        }
        let step = limit / f64::from(largest);
        let integer = |llr: &f64| libm::round(llr.clamp(-limit, limit) / step) as i8;
        (llrs.iter().map(integer).collect(), step)
    }
}

/// The tails of each state at one voltage.
type Tails = [Tail; MAX_STATES];

const BELOW: Tails = [Tail::BELOW; MAX_STATES];
const ABOVE: Tails = [Tail::ABOVE; MAX_STATES];

/// The states of a cell, with their bits of one page.
struct PageStates<'a> {
    states: &'a [Distribution],
    bits: [usize; MAX_STATES],
    /// The probability of a state given its bit. As many states have a 0 as have a 1.
    weight: f64,
}

impl<'a> PageStates<'a> {
    fn new(cells: &Cells, page: usize, states: &'a [Distribution]) -> Self {
        let mut bits = [0; MAX_STATES];
        (0..states.len()).for_each(|state| bits[state] = cells.bit(page, state).into());
        Self { states, bits, weight: 2.0 / states.len() as f64 }
    }

    fn tails(&self, volts: f64) -> Tails {
        let mut tails = BELOW;
        tails.iter_mut().zip(self.states).for_each(|(tail, state)| *tail = state.tail(volts));
        tails
    }

    /// P(region | bit) of the region between two voltages.
    fn probabilities(&self, from: &Tails, end: &Tails) -> [f64; 2] {
        let mut probabilities = [0.0; 2];
        for state in 0..self.states.len() {
            probabilities[self.bits[state]] += self.weight * from[state].until(end[state]);
        }
        probabilities
    }

    /// [`Self::probabilities`] of successive regions: the first begins at `from`, and each ends at one of `ends`.
    fn regions(&self, from: Tails, ends: impl Iterator<Item = Tails>) -> impl Iterator<Item = [f64; 2]> {
        let mut from = from;
        ends.map(move |end| self.probabilities(&std::mem::replace(&mut from, end), &end))
    }

    /// The probability density of the voltage given each bit.
    fn densities(&self, volts: f64) -> [f64; 2] {
        let mut densities = [0.0; 2];
        for (state, bit) in self.states.iter().zip(self.bits) {
            densities[bit] += self.weight * state.density(volts);
        }
        densities
    }

    fn equivocation(&self, from: &Tails, end: &Tails) -> f64 {
        equivocation(self.probabilities(from, end))
    }
}

/// The part of H(bit | region) that comes from a region with these probabilities, in bits. It is exact to the last digits even where it is
/// tiny.
fn equivocation([zero, one]: [f64; 2]) -> f64 {
    if zero == 0.0 || one == 0.0 {
        return 0.0;
    }
    let ratio = one / zero;
    0.5 * std::f64::consts::LOG2_E * (zero * libm::log1p(ratio) + one * libm::log1p(1.0 / ratio))
}

/// The search for the references of one page. Information is largest where equivocation is least.
struct Place<'a> {
    page: PageStates<'a>,
    boundaries: Vec<Boundary>,
}

struct Boundary {
    /// The hard reference of the expected states.
    hard: f64,
    /// References lie between these voltages, beyond which there are next to no errors.
    low: f64,
    high: f64,
}

impl Boundary {
    /// References at distance `step` about the hard one.
    fn spread(&self, levels: usize, step: f64) -> Vec<f64> {
        (0..levels).map(|index| self.hard + step * (index as f64 - 0.5 * (levels - 1) as f64)).collect()
    }

    /// The largest step of [`Self::spread`].
    fn largest_step(&self, levels: usize) -> f64 {
        2.0 * (self.hard - self.low).min(self.high - self.hard) / (levels - 1) as f64
    }
}

/// First and second derivatives by each reference, and mixed derivatives of neighbours only, because a region depends only on its two ends.
struct Slopes {
    first: Vec<f64>,
    second: Vec<f64>,
    mixed: Vec<f64>,
}

impl Slopes {
    /// Fixes the references for which `is_held`, called with number and first derivative, is true.
    fn hold(&mut self, is_held: impl Fn(usize, f64) -> bool) {
        for (index, (first, second)) in self.first.iter_mut().zip(&mut self.second).enumerate() {
            if is_held(index, *first) {
                (*first, *second) = (0.0, f64::INFINITY);
            }
        }
    }

    /// Steps of Newton's method towards a minimum. The second derivatives are enlarged by `damping` times their magnitudes. `None` if the
    /// matrix of second derivatives is not positive definite.
    fn newton_steps(&self, damping: f64) -> Option<Vec<f64>> {
        let count = self.first.len();
        let (mut pivots, mut steps) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for index in 0..count {
            let mut pivot = self.second[index] + damping * self.second[index].abs();
            let mut step = -self.first[index];
            if index > 0 {
                let factor = self.mixed[index - 1] / pivots[index - 1];
                pivot -= factor * self.mixed[index - 1];
                step -= factor * steps[index - 1];
            }
            if pivot.is_nan() || pivot <= 0.0 {
                return None;
            }
            pivots.push(pivot);
            steps.push(step);
        }
        for index in (0..count).rev() {
            if index + 1 < count {
                steps[index] -= self.mixed[index] * steps[index + 1];
            }
            steps[index] /= pivots[index];
        }
        Some(steps)
    }
}

impl<'a> Place<'a> {
    fn new(cells: &Cells, page: usize, states: &'a [Distribution]) -> Self {
        let all = cells.boundaries(page);
        let hard_reference = |at: usize| cells.expected_references()[at];
        let boundary = |(index, &at): (usize, &usize)| {
            let hard = hard_reference(at);
            let (left, right) = (&states[at], &states[at + 1]);
            // A share of 1e-12 of the errors is irrelevant, and a search in a flat region finds nothing. States that do not overlap have no
            // errors.
            let below = right.lower_quantile(1e-12 * right.tail(hard).lower());
            let above = left.upper_quantile(1e-12 * left.tail(hard).upper());
            // Neighbouring boundaries of the page meet in the middle.
            let middle = |&other: &usize| 0.5 * (hard + hard_reference(other));
            let low = index.checked_sub(1).map_or(below, |before| below.max(middle(&all[before])));
            let high = all.get(index + 1).map_or(above, |after| above.min(middle(after)));
            Boundary { hard, low: low.min(hard), high: high.max(hard) }
        };
        let boundaries = all.iter().enumerate().map(boundary).collect();
        Self { page: PageStates::new(cells, page, states), boundaries }
    }

    fn hard_only(&self) -> Vec<Vec<f64>> {
        self.boundaries.iter().map(|boundary| vec![boundary.hard]).collect()
    }

    fn uniform(&self, levels: usize, step_v: Option<f64>) -> Vec<f64> {
        let spread = |step| -> Vec<f64> { self.boundaries.iter().flat_map(|b| b.spread(levels, step)).collect() };
        let largest = self.boundaries.iter().map(|b| b.largest_step(levels)).fold(f64::INFINITY, f64::min);
        spread(match step_v {
            Some(step_v) => step_v.clamp(0.0, largest),
            None => maximum(0.0, largest, |step| -self.equivocation_between(&BELOW, &spread(step), &ABOVE)),
        })
    }

    fn most_informative(&self, levels: usize) -> Vec<f64> {
        let hard = self.hard_only();
        let spread = self.boundaries.iter().enumerate().flat_map(|(at, boundary)| {
            let (from_v, end_v) = Self::around_v(&hard, at);
            let (from, end) = (self.tails(from_v), self.tails(end_v));
            let step = maximum(0.0, boundary.largest_step(levels), |step| {
                -self.equivocation_between(&from, &boundary.spread(levels, step), &end)
            });
            boundary.spread(levels, step)
        });
        // If the tail of a third state reaches in there may be more than one maximum.
        let starts = [spread.collect(), self.nested(levels).concat()];
        let descents = starts.map(|start| self.descend(levels, start));
        descents.into_iter().min_by(|one, other| one.0.total_cmp(&other.0)).expect("two starts").1
    }

    /// The equivocation of the regions that `references` make between two others.
    fn equivocation_between(&self, from: &Tails, references: &[f64], end: &Tails) -> f64 {
        let ends = references.iter().map(|&reference| self.page.tails(reference)).chain([*end]);
        self.page.regions(*from, ends).map(equivocation).sum()
    }

    /// Moves references, `levels` of them for each boundary, to a minimum of equivocation near them. Returns the minimum and the
    /// references.
    ///
    /// The method is Newton's, damped as by D. Marquardt, "An algorithm for least-squares estimation of nonlinear parameters", 1963. Moving
    /// one reference after the other takes ten times as long.
    fn descend(&self, levels: usize, mut references: Vec<f64>) -> (f64, Vec<f64>) {
        let boundary = |index: usize| &self.boundaries[index / levels];
        let width = self.boundaries.iter().map(|boundary| boundary.high - boundary.low).fold(f64::INFINITY, f64::min);
        let mut least = self.equivocation_between(&BELOW, &references, &ABOVE);
        let mut damping = 1e-3;
        for _ in 0..100 {
            let mut slopes = self.slopes(&references, 1e-5 * width);
            slopes.hold(|index, first| {
                let (reference, Boundary { low, high, .. }) = (references[index], boundary(index));
                reference <= *low && first > 0.0 || reference >= *high && first < 0.0
            });
            let Some(steps) = slopes.newton_steps(damping) else {
                damping *= 10.0;
                continue;
            };
            let limit = |(index, reference): (usize, &f64)| {
                let Boundary { low, high, .. } = boundary(index);
                (reference + steps[index]).clamp(*low, *high)
            };
            let moved: Vec<f64> = references.iter().enumerate().map(limit).collect();
            let farthest = moved.iter().zip(&references).map(|(new, old)| (new - old).abs()).fold(0.0, f64::max);
            let found = self.equivocation_between(&BELOW, &moved, &ABOVE);
            if found <= least && moved.is_sorted() {
                (references, least) = (moved, found);
                damping *= 0.1;
            } else {
                damping *= 10.0;
            }
            if farthest < 1e-9 * width {
                break;
            }
        }
        (least, references)
    }

    /// Derivatives of the equivocation by each reference, but for a constant factor. Derivatives of densities are differences over twice
    /// `difference`.
    fn slopes(&self, references: &[f64], difference: f64) -> Slopes {
        let ends = references.iter().map(|&reference| self.page.tails(reference)).chain([ABOVE]);
        let regions: Vec<[f64; 2]> = self.page.regions(BELOW, ends).collect();
        let densities: Vec<[f64; 2]> = references.iter().map(|&reference| self.page.densities(reference)).collect();
        // A region of [p0, p1] contributes p0 ln(s / p0) + p1 ln(s / p1), with s = p0 + p1. Its derivative by p0 is ln(s / p0). The
        // derivative of that by p0 is 1 / s - 1 / p0, and by p1 it is 1 / s.
        let inverse = |p: f64| if p > 0.0 { 1.0 / p } else { 0.0 };
        let growth = |[p, q]: [f64; 2]| if p > 0.0 { libm::log1p(q / p) } else { 0.0 };
        // The second derivative of a region's contribution along densities f and g.
        let bend = |[p0, p1]: [f64; 2], f: [f64; 2], g: [f64; 2]| {
            (f[0] + f[1]) * (g[0] + g[1]) * inverse(p0 + p1) - f[0] * g[0] * inverse(p0) - f[1] * g[1] * inverse(p1)
        };
        let mut slopes = Slopes { first: Vec::new(), second: Vec::new(), mixed: Vec::new() };
        for (index, &density) in densities.iter().enumerate() {
            let (left, right) = (regions[index], regions[index + 1]);
            let gain = [growth(left) - growth(right), growth([left[1], left[0]]) - growth([right[1], right[0]])];
            let (below, above) = (
                self.page.densities(references[index] - difference),
                self.page.densities(references[index] + difference),
            );
            let slope = [0, 1].map(|bit| (above[bit] - below[bit]) / (2.0 * difference));
            slopes.first.push(density[0] * gain[0] + density[1] * gain[1]);
            let curvature = slope[0] * gain[0] + slope[1] * gain[1];
            slopes.second.push(curvature + bend(left, density, density) + bend(right, density, density));
            if let Some(&next) = densities.get(index + 1) {
                slopes.mixed.push(-bend(right, density, next));
            }
        }
        slopes
    }

    /// The nearest references of the boundaries beside the one at `at`; infinite if there are none.
    fn around_v(groups: &[Vec<f64>], at: usize) -> (f64, f64) {
        let from = at.checked_sub(1).and_then(|before| groups[before].last());
        let end = groups.get(at + 1).and_then(|after| after.first());
        (from.copied().unwrap_or(f64::NEG_INFINITY), end.copied().unwrap_or(f64::INFINITY))
    }

    /// The tails of each state at a voltage, which may be infinite.
    fn tails(&self, volts: f64) -> Tails {
        match volts {
            f64::NEG_INFINITY => BELOW,
            f64::INFINITY => ABOVE,
            volts => self.page.tails(volts),
        }
    }

    fn nested(&self, levels: usize) -> Vec<Vec<f64>> {
        let mut groups = self.hard_only();
        // The result of the search in each gap between references of a boundary. A gap that is not cut keeps its result.
        let mut gaps: Vec<Vec<Option<Gap>>> = groups.iter().map(|_| vec![None; 2]).collect();
        for _ in 1..levels {
            let before = groups.clone();
            for (at, boundary) in self.boundaries.iter().enumerate() {
                let (from_v, end_v) = Self::around_v(&before, at);
                let references = &before[at];
                let (mut best, mut best_index, mut best_gain) = (boundary.hard, 0, f64::NEG_INFINITY);
                for (index, gap) in gaps[at].iter_mut().enumerate() {
                    let (low, left_v) = match index.checked_sub(1) {
                        Some(below) => (references[below], references[below]),
                        None => (boundary.low, from_v),
                    };
                    let (high, right_v) = match references.get(index) {
                        Some(&above) => (above, above),
                        None => (boundary.high, end_v),
                    };
                    let found = match *gap {
                        Some(found) if found.between_v == [left_v, right_v] => found,
                        _ => *gap.insert(self.cut([low, high], [left_v, right_v])),
                    };
                    // The lower of two positions that mirror each other is taken, so that rounding does not choose.
                    if found.gain > best_gain * (1.0 + 1e-9) {
                        (best, best_index, best_gain) = (found.cut_v, index, found.gain);
                    }
                }
                groups[at].insert(best_index, best);
                gaps[at].splice(best_index..=best_index, [None; 2]);
            }
        }
        groups
    }

    /// The position from `low` to `high` at which one more reference, in a gap between two others, adds the most information.
    fn cut(&self, [low, high]: [f64; 2], between_v: [f64; 2]) -> Gap {
        let [left, right] = between_v.map(|volts| self.tails(volts));
        let whole = self.page.equivocation(&left, &right);
        let gain = |volts: f64| {
            let here = self.page.tails(volts);
            whole - self.page.equivocation(&left, &here) - self.page.equivocation(&here, &right)
        };
        let cut_v = maximum(low, high, gain);
        Gap { between_v, cut_v, gain: gain(cut_v) }
    }
}

/// A gap between two references, which may be infinite, with the best position of one more reference and its gain.
#[derive(Debug, Clone, Copy)]
struct Gap {
    between_v: [f64; 2],
    cut_v: f64,
    gain: f64,
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{CellSpec, References, Wear};

    const RATE: f64 = 8.0 / 9.0;

    fn uniform() -> Placement {
        Placement::Uniform { step_v: None }
    }

    fn each_page(mut test: impl FnMut(&str, &Cells, usize)) {
        for name in CellSpec::shipped() {
            let spec = CellSpec::open(name, Path::new("")).unwrap();
            for (pe_cycles, retention_hours) in [(0, 0.0), (300, 10.0), (3_000, 720.0), (10_000, 8760.0)] {
                let cells = spec.at(Wear::unread(pe_cycles, retention_hours));
                (0..cells.pages()).for_each(|page| test(name, &cells, page));
            }
        }
        for rber in [1e-9, 1e-3, 0.03, 0.4] {
            test("gaussian", &Cells::gaussian(rber), 0);
        }
    }

    /// Are the best thresholds at the capacity of seven the published ones, 0, +-.1745, +-.3815, +-.6881, and the uniform step .213?
    #[test]
    fn best_thresholds_are_the_published_ones() {
        let cells = Cells::gaussian(0.02827);
        let sensing = Sensing::new(&cells, 0, 7, Placement::MutualInformation);
        let expected = [-0.6881, -0.3815, -0.1745, 0.0, 0.1745, 0.3815, 0.6881];
        for (found, expected) in sensing.references().iter().zip(expected) {
            assert!((found - expected).abs() < 1e-4, "{:?}", sensing.references());
        }
        let step = Sensing::new(&cells, 0, 7, uniform()).references()[4];
        assert!((step - 0.2134).abs() < 1e-4, "step {step}");
    }

    /// Is information the rate at the capacities of rate 8/9 (FACTS, to four digits of RBER)? One unit in the last digit is 1.2e-5 bits.
    #[test]
    fn information_is_the_rate_at_capacity() {
        let table = [
            (0.01479, 1, Placement::MutualInformation),
            (0.02209, 2, Placement::MutualInformation),
            (0.02515, 3, Placement::MutualInformation),
            (0.02745, 5, Placement::MutualInformation),
            (0.02827, 7, Placement::MutualInformation),
            (0.02735, 5, uniform()),
            (0.02816, 7, uniform()),
        ];
        for (rber, level, placement) in table {
            let at = |rber| {
                let cells = Cells::gaussian(rber);
                Sensing::new(&cells, 0, level, placement).information(&cells)
            };
            assert!(at(rber - 1e-5) > RATE && at(rber + 1e-5) < RATE, "{level} {placement:?}: {}", at(rber));
        }
    }

    /// Do many levels approach the capacity of the undivided channel, 8/9 at 0.02934, from below?
    #[test]
    fn many_levels_approach_the_limit() {
        let cells = Cells::gaussian(0.02934);
        let information = |levels| {
            let sensing = Sensing::with_levels(&cells, 0, levels, Placement::MutualInformation);
            sensing.information(&cells)
        };
        let [seven, fifteen, many] = [7, 15, 45].map(information);
        assert!(seven < fifteen && fifteen < many && many < RATE, "{seven} {fifteen} {many}");
        // The missing information falls with the square of the levels.
        let limit = many + (many - fifteen) / 8.0;
        assert!((limit - RATE).abs() < 2e-5, "{limit}");
    }

    /// Do deeper levels of each placement tell more, and are they laid out as they should be?
    #[test]
    fn placements_are_ordered_and_nested() {
        let nothing = 1e-12;
        each_page(|name, cells, page| {
            let boundaries = cells.boundaries(page);
            let mut before = Sensing::new(cells, page, 1, Placement::Nested);
            let hard: Vec<f64> = boundaries.iter().map(|&at| cells.hard_references()[at]).collect();
            assert_eq!(before.references(), hard);
            for level in 2..=MAX_LEVEL {
                let [best, nested, uniform] = [Placement::MutualInformation, Placement::Nested, uniform()]
                    .map(|placement| Sensing::new(cells, page, level, placement));
                let told = |sensing: &Sensing| sensing.information(cells);
                let context = format!("{name}, page {page}, level {level}");
                for sensing in [&best, &nested, &uniform] {
                    assert_eq!(sensing.sensings(), usize::from(level) * boundaries.len(), "{context}");
                    assert!(sensing.references().is_sorted(), "{context}: {sensing:?}");
                }
                assert!(before.references().iter().all(|volts| nested.references().contains(volts)), "{context}");
                assert!(told(&nested) >= told(&before) - nothing, "{context}: level before");
                assert!(told(&best) >= told(&nested) - nothing, "{context}: nested");
                assert!(told(&best) >= told(&uniform) - nothing, "{context}: uniform");
                before = nested;
            }
        });
    }

    /// Do regions still divide all voltages if states have passed each other, after more cycles than any chip lives?
    #[test]
    fn regions_of_cells_beyond_all_wear_are_regions() {
        for name in ["mlc", "tlc-2-3-2", "tlc-1-2-4"] {
            let spec = CellSpec::open(name, Path::new("")).unwrap();
            for wear in [(300_000, 8760.0), (1_000_000, 8760.0), (1_000_000, 876_000.0)] {
                let cells = spec.at(Wear::unread(wear.0, wear.1));
                assert!(cells.hard_references().is_sorted(), "{name}, {wear:?}: {:?}", cells.hard_references());
                for (page, level) in (0..cells.pages()).flat_map(|page| [1, 2, 3, 7].map(|level| (page, level))) {
                    for placement in [Placement::MutualInformation, Placement::Nested, uniform()] {
                        let sensing = Sensing::new(&cells, page, level, placement);
                        assert!(sensing.references().is_sorted(), "{name}, {wear:?}, page {page}: {sensing:?}");
                        for bit in [0, 1] {
                            let all: f64 = sensing.probabilities(&cells).iter().map(|region| region[bit]).sum();
                            assert!((all - 1.0).abs() < 1e-9, "{name}, {wear:?}, page {page}, level {level}: {all}");
                        }
                    }
                }
            }
        }
    }

    /// Is the best placement a maximum, so that no reference can be moved to a better place nearby?
    #[test]
    fn best_placement_is_a_maximum() {
        let cells = CellSpec::default().at(Wear::unread(8_000, 2_000.0));
        for (page, level) in [(0, 2), (0, 7), (1, 4), (1, 7)] {
            let best = Sensing::new(&cells, page, level, Placement::MutualInformation);
            for index in 0..best.sensings() {
                for shift_v in [-1e-3, 1e-3] {
                    let mut moved = best.clone();
                    moved.references[index] += shift_v;
                    assert!(moved.information(&cells) < best.information(&cells), "{page} {level} {index}");
                }
            }
        }
    }

    #[test]
    fn uniform_steps_are_kept_unless_boundaries_meet() {
        let cells = CellSpec::default().at(Wear::unread(8_000, 2_000.0));
        let steps = |step_v, page| {
            let sensing = Sensing::new(&cells, page, 5, Placement::Uniform { step_v: Some(step_v) });
            sensing.references().windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>()
        };
        assert!(steps(0.01, 0).iter().all(|step| (step - 0.01).abs() < 1e-12));
        let wide = steps(1.0, 1);
        assert!(wide.iter().all(|step| (-1e-12..0.4).contains(step)), "{wide:?}");
    }

    /// Do probabilities add up to one, and the wrong ones to the RBER, also at an age for which the references were not placed?
    #[test]
    fn regions_add_up() {
        let older = |cells: &Cells, name: &str| match name {
            "gaussian" => cells.clone(),
            name => CellSpec::open(name, Path::new("")).unwrap().at(Wear::unread(12_000, 12_000.0)),
        };
        each_page(|name, cells, page| {
            for level in [1, 2, 3, 6] {
                let sensing = Sensing::new(cells, page, level, Placement::MutualInformation);
                for read in [cells, &older(cells, name)] {
                    let probabilities = sensing.probabilities(read);
                    let split = sensing.split(read, read.hard_references());
                    assert_eq!((probabilities.len(), split.len()), (sensing.regions(), sensing.regions()));
                    for bit in 0..2 {
                        let sum: f64 = probabilities.iter().map(|region| region[bit]).sum();
                        assert!((sum - 1.0).abs() < 1e-12, "{name} {page} {level}: {sum}");
                    }
                    for (region, split) in probabilities.iter().zip(&split) {
                        for bit in 0..2 {
                            let sum = split[bit][0] + split[bit][1];
                            assert!((sum - region[bit]).abs() < 1e-14, "{name} {page} {level}");
                        }
                    }
                    let wrong = split.iter().map(|region| 0.5 * (region[0][1] + region[1][1])).sum::<f64>();
                    let rber = read.rber(page);
                    assert!((wrong - rber).abs() <= 1e-10 * rber, "{name} {page} {level}: {wrong:e} for {rber:e}");
                }
            }
        });
    }

    #[test]
    fn hard_decision_agrees_with_the_regions_of_level_one() {
        each_page(|name, cells, page| {
            let sensing = Sensing::new(cells, page, 1, Placement::Nested);
            for (region, split) in sensing.split(cells, cells.hard_references()).into_iter().enumerate() {
                // Region 0 is that of erased cells, and decisions alternate.
                let decision = (region + 1) % 2;
                assert_eq!((split[decision][1], split[1 - decision][0]), (0.0, 0.0), "{name} {page}");
            }
        });
    }

    /// Do LLRs have the sign of the hard decision and the symmetry of the cells?
    #[test]
    fn llrs_are_positive_for_zeros() {
        let cells = Cells::gaussian(0.02);
        for level in 1..=MAX_LEVEL {
            let sensing = Sensing::new(&cells, 0, level, Placement::MutualInformation);
            let llrs = sensing.llrs(&cells);
            assert!(llrs.is_sorted() && llrs[0] < 0.0, "erased cells, below, hold ones: {llrs:?}");
            for (low, high) in llrs.iter().zip(llrs.iter().rev()) {
                assert!((low + high).abs() < 1e-9, "{llrs:?}");
            }
            let (integers, step) = sensing.integer_llrs(&cells, 30);
            assert_eq!((integers[0], integers[integers.len() - 1]), (-30, 30));
            let close = |(integer, llr): (&i8, &f64)| (f64::from(*integer) * step - llr).abs() <= 0.5 * step + 1e-9;
            assert!(integers.iter().zip(&llrs).all(close), "{integers:?} {llrs:?}");
        }
        // One boundary, by hand: ln((1 - p) / p).
        let hard = Sensing::new(&cells, 0, 1, Placement::Nested).llrs(&cells);
        assert!((hard[1] - libm::log(0.98 / 0.02)).abs() < 1e-12, "{hard:?}");
    }

    /// Are LLRs that were made for another age mismatched? LLRs for worse cells have smaller magnitudes.
    #[test]
    fn mismatched_llrs_are_those_of_the_other_age() {
        let (young, old) = (Cells::gaussian(0.005), Cells::gaussian(0.02));
        let sensing = Sensing::new(&young, 0, 3, Placement::MutualInformation);
        let (sure, unsure) = (sensing.llrs(&young), sensing.llrs(&old));
        assert!(sure.iter().zip(&unsure).all(|(sure, unsure)| sure.abs() > unsure.abs()), "{sure:?} {unsure:?}");
        assert!(sensing.information(&old) < sensing.information(&young));
    }

    #[test]
    fn integers_are_finite_where_llrs_are_not() {
        // Cells are fresh and without noise: programmed states do not overlap, but erased cells are anywhere.
        let cells = CellSpec::default().at(Wear::unread(0, 0.0));
        let sensing = Sensing::new(&cells, 0, 1, Placement::Nested);
        let llrs = sensing.llrs(&cells);
        assert!(llrs[0] == f64::NEG_INFINITY && (10.0..20.0).contains(&llrs[1]), "{llrs:?}");
        let (integers, step) = sensing.integer_llrs(&cells, 30);
        assert!(integers[0] == -30 && step == CERTAIN_LLR / 30.0, "{integers:?} {step}");
        assert_eq!(integers[1], libm::round(llrs[1] / step) as i8);
        let soft = Sensing::new(&cells, 0, 7, Placement::MutualInformation);
        assert!(soft.llrs(&cells).iter().all(|llr| !llr.is_nan()));
    }

    #[test]
    fn a_level_counts_sensings_and_bits() {
        let cells = CellSpec::default().at(Wear::unread(8_000, 2_000.0));
        let counts = |page, level| {
            let sensing = Sensing::new(&cells, page, level, Placement::Nested);
            (sensing.sensings(), sensing.regions(), sensing.bits_per_cell())
        };
        assert_eq!(counts(0, 1), (1, 2, 1));
        assert_eq!(counts(1, 1), (2, 3, 1));
        // LDPC-in-SSD: three bits would be enough for seven levels of a lower page; an upper page takes four.
        assert_eq!(counts(0, 7), (7, 8, 3));
        assert_eq!(counts(1, 7), (14, 15, 4));
    }

    /// Are references of all levels placed for the states that the controller expects, and shifted by its offset?
    #[test]
    fn references_of_all_levels_follow_what_the_controller_knows() {
        let with = |tracked, offset_v| CellSpec {
            references: References { tracked, offset_v, ..References::default() },
            ..CellSpec::default()
        };
        let aged = Wear::unread(10_000, 8760.0);
        let fresh = Wear { retention_hours: 0.0, ..aged };
        for placement in [Placement::MutualInformation, Placement::Nested, uniform()] {
            let references = |spec: CellSpec, wear| Sensing::new(&spec.at(wear), 1, 3, placement).references;
            assert_eq!(references(with(false, 0.0), aged), references(with(true, 0.0), fresh));
            for (found, expected) in references(with(true, 0.1), aged).iter().zip(references(with(true, 0.0), aged)) {
                assert!((found - expected - 0.1).abs() < 1e-9, "{found} {expected}");
            }
        }
    }

    #[test]
    fn placements_are_read_from_toml() {
        #[derive(Deserialize)]
        struct Config {
            placement: Placement,
        }
        let read = |text: &str| toml::from_str::<Config>(text).unwrap().placement;
        assert_eq!(read("placement = 'mutual_information'"), Placement::default());
        assert_eq!(read("placement = 'nested'"), Placement::Nested);
        assert_eq!(read("placement.uniform = {}"), uniform());
        let zero = read("placement.uniform = { step_v = 0 }");
        assert_eq!(zero.check("placement").unwrap_err().place(), "placement.uniform.step_v");
    }
}
