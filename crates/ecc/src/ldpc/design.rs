use std::str::FromStr;
use std::sync::atomic::AtomicBool;

use softsense_base::{Error, Result, normal_cdf};

use super::density_evolution::Graph;
use super::parity_check::LONGEST_CODEWORD;
use super::{Construction, Correction, DegreeDistribution, QuasiCyclic};
use crate::channel::{bisect, spread};

/// The size of a base matrix: block columns and block rows of circulants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeShape {
    /// The size of each circulant, in bits.
    pub circulant_size: usize,
    /// Number of block rows, which make the parity bits.
    pub rows: usize,
    /// Number of block columns, which make the codeword.
    pub columns: usize,
}

impl CodeShape {
    /// The default circulant sizes to choose from: those that the fast decoder takes.
    pub const CIRCULANT_SIZES: [usize; 7] = [16, 32, 64, 128, 256, 512, 1024];
    /// The fewest block rows, which columns of weight 3 need.
    pub const FEWEST_ROWS: usize = 3;
    /// The most block rows. Filling larger base matrices with circulants takes minutes.
    pub const MOST_ROWS: usize = 256;
    /// The most block columns.
    pub const MOST_COLUMNS: usize = 4096;

    /// The shapes of codes of `data_bits` and `parity_bits`. The largest circulants come first, because they make the smallest circuits.
    ///
    /// # Arguments
    /// - `sizes`: the circulant sizes to choose from, each a power of two; those that do not fit are left out.
    ///
    /// # Errors
    /// No data or no parity, too long a codeword, a size that is no power of two, or no size that fits: the message says which would.
    pub fn fitting(data_bits: usize, parity_bits: usize, sizes: &[usize]) -> Result<Vec<Self>> {
        let found = format!("found {data_bits} data bits and {parity_bits} parity bits");
        if data_bits == 0 || parity_bits == 0 || data_bits.saturating_add(parity_bits) > LONGEST_CODEWORD {
            let expected = format!("expected at least one of each, and at most {LONGEST_CODEWORD} in all");
            return Err(Error::code("codeword", format!("{found}, {expected}")));
        }
        if let Some(size) = sizes.iter().find(|size| !size.is_power_of_two() || **size > 1 << 16) {
            return Err(Error::code("circulant size", format!("found {size}, expected a power of two up to 65536")));
        }
        let shapes = Self::all(data_bits, parity_bits, sizes);
        if shapes.is_empty() {
            return Err(Error::code("codeword", format!("{found}, {}", Self::possible(data_bits, parity_bits, sizes))));
        }
        Ok(shapes)
    }

    fn all(data_bits: usize, parity_bits: usize, sizes: &[usize]) -> Vec<Self> {
        let mut sizes: Vec<usize> = sizes
            .iter()
            .copied()
            .filter(|&size| data_bits.is_multiple_of(size) && parity_bits.is_multiple_of(size))
            .collect();
        sizes.sort_unstable();
        sizes.dedup();
        let shape = |&size: &usize| Self {
            circulant_size: size,
            rows: parity_bits / size,
            columns: (data_bits + parity_bits) / size,
        };
        sizes.iter().rev().map(shape).filter(Self::is_possible).collect()
    }

    fn is_possible(&self) -> bool {
        let (rows, columns) = (self.rows, self.columns);
        (Self::FEWEST_ROWS..=Self::MOST_ROWS).contains(&rows) && columns > rows && columns <= Self::MOST_COLUMNS
    }

    /// The possible lengths, for a message about lengths that no size fits.
    fn possible(data_bits: usize, parity_bits: usize, sizes: &[usize]) -> String {
        let list =
            |sizes: &mut dyn Iterator<Item = usize>| sizes.map(|size| size.to_string()).collect::<Vec<_>>().join(", ");
        let (fewest, most) = (Self::FEWEST_ROWS, Self::MOST_ROWS);
        let rule = format!(
            "expected multiples of a circulant size (of {}) and {fewest} to {most} block rows of parity",
            list(&mut sizes.iter().copied())
        );
        let others = Self::all(data_bits, parity_bits, &Self::CIRCULANT_SIZES);
        if !others.is_empty() {
            return format!("{rule}; circulants of {} fit", list(&mut others.iter().map(|shape| shape.circulant_size)));
        }
        let near = |&size: &usize| {
            let round = |bits: usize| ((bits + size / 2) / size).max(1) * size;
            let (data, parity) = (round(data_bits), round(parity_bits).clamp(fewest * size, most * size));
            let fits = data + parity <= LONGEST_CODEWORD && !Self::all(data, parity, &[size]).is_empty();
            // The number of bits by which the lengths differ from those asked for.
            fits.then(|| (data.abs_diff(data_bits) + parity.abs_diff(parity_bits), size, data, parity))
        };
        match sizes.iter().filter_map(near).min() {
            Some((_, size, data, parity)) => {
                format!("{rule}; {data} data bits and {parity} parity bits fit circulants of {size}")
            }
            None => rule,
        }
    }

    /// The matrix of a code of this shape with `punctured` punctured block columns.
    pub fn base(&self, punctured: usize) -> Self {
        Self { rows: self.rows + punctured, columns: self.columns + punctured, ..*self }
    }

    /// Constructs a code of this shape, and returns it with its recipe. It has the given column weights, except in the last columns. As
    /// many of these as the gap of [`Construction`] may get one circulant less, in a chain several less, if the parity part could not be
    /// inverted otherwise. With punctured columns its matrix has as many more block rows and columns. None if `interrupted` is set
    /// meanwhile.
    ///
    /// # Errors
    /// See [`Construction::build`], with the given weights.
    pub fn construct(
        &self,
        profile: &Profile,
        seed: u64,
        interrupted: &AtomicBool,
    ) -> Result<Option<(Construction, QuasiCyclic)>> {
        let mut first = None;
        let (column_weights, &Profile { memory, punctured, .. }) = (profile.column_weights(), profile);
        let Self { circulant_size, rows, .. } = self.base(punctured);
        let lightest = column_weights.iter().rev().take(Construction::GAP).min().map_or(1, |&weight| weight);
        let most_lighter = if memory.is_some() { lightest.saturating_sub(1) } else { 1 };
        for lighter in (0..=most_lighter).flat_map(|last| (0..=last).map(move |before| [last, before])) {
            let mut column_weights = column_weights.clone();
            let last = column_weights.iter_mut().rev().zip(lighter);
            last.for_each(|(weight, lighter)| *weight = weight.saturating_sub(lighter).max(1));
            let recipe = Construction { circulant_size, rows, column_weights, memory, punctured, seed };
            // Without an invertible parity part a construction ends before it chooses shifts.
            match recipe.build_unless(interrupted) {
                Ok(built) => return Ok(built.map(|code| (recipe, code))),
                Err(error) => first = first.or(Some(error)),
            }
        }
        Err(first.expect("an error each time"))
    }
}

/// The profile of a code: the kinds of its block columns, whatever its matrix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Weights, each with the number of block columns that have it, the parity part last.
    pub runs: Vec<(u32, usize)>,
    /// Memory of a chain: [`Construction::memory`].
    pub memory: Option<usize>,
    /// Number of the last columns that are punctured.
    pub punctured: usize,
}

impl Profile {
    /// The weight of each block column.
    pub fn column_weights(&self) -> Vec<u32> {
        self.runs.iter().flat_map(|&(weight, count)| std::iter::repeat_n(weight, count)).collect()
    }

    /// The degrees of matrices of `rows` block rows. Row weights are level; the circulants that the triangle of the parity part takes from
    /// its last columns are left out.
    pub fn degrees(&self, rows: usize) -> DegreeDistribution {
        let columns: Vec<usize> = self.column_weights().iter().map(|&weight| weight as usize).collect();
        let edges: usize = columns.iter().sum();
        let rows: Vec<usize> = (0..rows).map(|row| (edges + row) / rows).collect();
        DegreeDistribution::from_weights(&columns, &rows)
    }
}

/// A family of codes, by its number of different column weights, by whether it is a chain, and by whether all columns are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// One column weight: 3, 4, 5 or 6.
    Regular,
    /// Two column weights: 3 or 4, and a larger one in up to half of the columns.
    TwoWeights,
    /// Three column weights: 3, 4, and a larger one in up to a quarter of the columns.
    ThreeWeights,
    /// One or two column weights, in a terminated chain of spatially coupled codes.
    Coupled,
    /// Up to three column weights, and one or two heavy columns that are not sent.
    Punctured,
}

impl Family {
    /// All families.
    pub const ALL: [Self; 5] = [Self::Regular, Self::TwoWeights, Self::ThreeWeights, Self::Coupled, Self::Punctured];

    /// The name of the family, from which it is parsed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Regular => "regular",
            Self::TwoWeights => "two_weights",
            Self::ThreeWeights => "three_weights",
            Self::Coupled => "coupled",
            Self::Punctured => "punctured",
        }
    }

    /// The promising profiles of codes of such a shape. The largest weight comes first, so that the parity part at the end has the lightest
    /// columns.
    ///
    /// # Arguments
    /// - `heaviest`: the largest weight of a column.
    pub fn profiles(self, shape: CodeShape, heaviest: u32) -> Vec<Profile> {
        /// Weights of heavy columns.
        const HEAVY: [u32; 8] = [5, 6, 7, 8, 10, 12, 14, 16];
        /// Shares of block columns, in sixteenths.
        const SHARES: [usize; 6] = [1, 2, 3, 4, 6, 8];
        let most = heaviest.min(shape.rows as u32);
        let columns = shape.columns;
        let count = |share: usize| (share * columns).div_ceil(16);
        let heavy = || HEAVY.into_iter().filter(move |&weight| weight <= most);
        let regular = || (3..=most.min(6)).map(|weight| vec![(weight, columns)]);
        let two = |light: u32, shares: &[usize]| -> Vec<Vec<(u32, usize)>> {
            let heavier = std::iter::once(4).chain(heavy()).filter(|&weight| weight > light && weight <= most);
            let split = |weight, share| vec![(weight, count(share)), (light, columns - count(share))];
            heavier.flat_map(|weight| shares.iter().map(move |&share| split(weight, share))).collect()
        };
        let three = || {
            let rest = |few: usize, share: usize| columns.saturating_sub(count(few) + count(share));
            let split = |weight, few, share| vec![(weight, count(few)), (4, count(share)), (3, rest(few, share))];
            let of = |weight| [1, 2, 4].map(|few| [2, 4, 8].map(|share| split(weight, few, share)));
            heavy().flat_map(of).flatten().collect::<Vec<_>>()
        };
        let mut found: Vec<Vec<(u32, usize)>> = match self {
            Self::Regular => regular().collect(),
            Self::TwoWeights => [two(3, &SHARES), two(4, &SHARES)].concat(),
            Self::ThreeWeights => three(),
            Self::Coupled => regular().chain(two(3, &[2, 4, 6])).collect(),
            Self::Punctured => regular().chain(two(3, &SHARES)).chain(three()).collect(),
        };
        // With few columns different shares may be the same number.
        found.retain(|runs| runs.iter().all(|&(_, count)| count > 0) && total(runs) == columns);
        found.dedup();
        let plain = |runs| Profile { runs, memory: None, punctured: 0 };
        let profiles = |runs: Vec<(u32, usize)>| match self {
            Self::Coupled => {
                memories(shape.rows, &runs).map(|memory| Profile { memory, ..plain(runs.clone()) }).collect()
            }
            Self::Punctured => punctured(shape.rows, &runs),
            Self::Regular | Self::TwoWeights | Self::ThreeWeights => vec![plain(runs)],
        };
        found.into_iter().flat_map(profiles).collect()
    }
}

/// The promising memories: the least in which columns have room, and longer ones. A chain has at least twice as many block rows as a column
/// reaches.
fn memories(rows: usize, runs: &[(u32, usize)]) -> impl Iterator<Item = Option<usize>> {
    let heaviest = runs.iter().map(|run| run.0).max().unwrap_or(0) as usize;
    let reaches = [2, 3, 4].map(|halves| heaviest * halves / 2).into_iter();
    reaches.filter(move |reach| 2 * reach <= rows).map(|reach| Some(reach - 1))
}

/// The profiles with these columns, followed by one that is not sent with a circulant in each block row, or by two with one in every other
/// block row.
fn punctured(rows: usize, runs: &[(u32, usize)]) -> Vec<Profile> {
    let of = |(punctured, share): (usize, usize)| {
        let weight = ((rows + punctured) / share) as u32;
        let runs = runs.iter().copied().chain([(weight, punctured)]).collect();
        (weight > 3).then_some(Profile { runs, memory: None, punctured })
    };
    [(1, 1), (2, 2)].into_iter().filter_map(of).collect()
}

fn total(runs: &[(u32, usize)]) -> usize {
    runs.iter().map(|&(_, count)| count).sum()
}

impl FromStr for Family {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let known = Self::ALL.into_iter().find(|family| family.name() == name);
        let unknown =
            || Error::code("family", format!("found `{name}`, expected {}", Self::ALL.map(Self::name).join(", ")));
        known.ok_or_else(unknown)
    }
}

/// The frame error rate of a finite code, predicted from the threshold of infinitely long codes.
///
/// ```text
/// FER(p) = Q( (t - p) / (a s(p) / sqrt(n)) )        a = a0 + a3 f
/// ```
///
/// Q is the upper tail of the normal distribution, t the threshold, n the length, f the share of columns of weight 3 or less, and s(p) the
/// [`spread`] of the channel. On hard decisions and with a = 1 it is the probability that more than t n bits are wrong.
///
/// Decoding of a chain comes to a halt where many bits happen to be wrong. So t is lower by c s(t) / sqrt(b), and a = c0. Both are fitted
/// to ten chains, whose waterfalls they predict to 3.4 % (root of the mean square) and 9 % at most.
///
/// Source: A. Amraoui, A. Montanari, T. Richardson, R. Urbanke, "Finite-length scaling for iteratively decoded LDPC ensembles", 2009.
/// Deviations: a does not come from density evolution but is fitted, for all codes, levels and numbers of iterations alike. The threshold
/// is that of the given number of iterations. The shift of the threshold by n^(-2/3) is left out, because it was fitted to 0 within the
/// scatter of the points. The width follows the spread at p instead of the spread at the threshold, as the curve of `flash-8/9` does down
/// to 1e-15.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Waterfall {
    /// t, a raw bit error rate: [`DegreeDistribution::decoder_threshold`].
    pub threshold: f64,
    /// n, the bits of a codeword.
    pub codeword_bits: usize,
    /// f, the share of columns of weight 3 or less.
    pub light_share: f64,
    /// Number of thresholds with which the channel is read.
    pub levels: usize,
    /// b of a chain: the bits of as many block rows as a column reaches.
    pub reach_bits: Option<f64>,
}

impl Waterfall {
    /// a0: the factor between the width of the waterfall of a code without light columns and the spread of the channel. This factor and a3
    /// are fitted to the points in `crates/ecc/tests/waterfalls.csv`: `cargo test --release -p softsense-ecc --test all design::fit`.
    pub const WIDTH: f64 = 1.175;
    /// a3: the increase of the factor if all columns are light.
    pub const LIGHT_WIDTH: f64 = 0.0785;
    /// c: the distance of chains from their thresholds.
    pub const CHAIN_SHIFT: f64 = 0.317;
    /// c0: the factor between the width of the waterfalls of chains and the spread of the channel.
    pub const CHAIN_WIDTH: f64 = 1.375;

    /// The waterfall of a code whose decoder gives up after `iterations` layered iterations.
    ///
    /// # Errors
    /// See [`DegreeDistribution::decoder_threshold`].
    pub fn new(
        degrees: &DegreeDistribution,
        codeword_bits: usize,
        layers: usize,
        levels: usize,
        iterations: u32,
    ) -> Result<Self> {
        Self::of(degrees, &Graph::of_degrees(degrees, layers), codeword_bits, levels, iterations, None)
    }

    /// The waterfall of the codes of a shape and a profile, whatever their matrix.
    ///
    /// # Errors
    /// See [`Self::new`]; also a memory or punctured columns that do not fit, or both together.
    pub fn of_profile(shape: CodeShape, profile: &Profile, levels: usize, iterations: u32) -> Result<Self> {
        let &Profile { memory, punctured, .. } = profile;
        let CodeShape { circulant_size, rows, .. } = shape.base(punctured);
        let (column_weights, degrees) = (profile.column_weights(), profile.degrees(rows));
        let recipe = Construction { circulant_size, rows, column_weights, memory, punctured, seed: 0 };
        if memory.is_some() || punctured > 0 {
            recipe.check()?;
        }
        let column_weights = &recipe.column_weights;
        let graph = match (memory, punctured) {
            (None, 0) => Graph::of_degrees(&degrees, rows),
            (None, _) => Graph::punctured(rows, column_weights, punctured),
            (Some(_), 0) => Graph::chain(rows, column_weights, &Construction::reaches(rows, column_weights, memory)),
            (Some(_), _) => {
                return Err(Error::code(
                    "punctured",
                    "found columns of a chain, which are not predicted, expected none",
                ));
            }
        };
        let codeword_bits = circulant_size * shape.columns;
        let reach = memory.map(|memory| (memory + 1) as f64 / rows as f64 * codeword_bits as f64);
        Self::of(&degrees, &graph, codeword_bits, levels, iterations, reach)
    }

    fn of(
        degrees: &DegreeDistribution,
        graph: &Graph,
        codeword_bits: usize,
        levels: usize,
        iterations: u32,
        reach_bits: Option<f64>,
    ) -> Result<Self> {
        let correction = Correction::for_rate(graph.rate());
        let threshold = graph.decoder_threshold(&correction, codeword_bits, levels, iterations)?;
        Ok(Self { threshold, codeword_bits, light_share: degrees.light_share(), levels, reach_bits })
    }

    /// The probability that a codeword is not decoded at the raw bit error rate `p`, 1e-8 to 0.49.
    pub fn frame_error_rate(&self, p: f64) -> f64 {
        let n = self.codeword_bits as f64;
        let (shift, width) = match self.reach_bits {
            None => (0.0, Self::WIDTH + Self::LIGHT_WIDTH * self.light_share),
            Some(bits) => (Self::CHAIN_SHIFT * spread(self.threshold, self.levels) / bits.sqrt(), Self::CHAIN_WIDTH),
        };
        normal_cdf(-(self.threshold - shift - p) / (width * spread(p, self.levels) / n.sqrt()))
    }

    /// The raw bit error rate, at least 1e-8, at which a codeword is not decoded with probability `failure`.
    pub fn raw_bit_error_rate(&self, failure: f64) -> f64 {
        let (low, high) = bisect(1e-8..0.49, 50, |p| self.frame_error_rate(p) < failure);
        0.5 * (low + high)
    }
}
