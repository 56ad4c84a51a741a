use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use schemars::JsonSchema;
use serde::Deserialize;
use softsense_base::{Error, ErrorKind, Result, binomial_tail, canonical, from_toml, shipped_or_file};
use softsense_ecc::bch::BchCode;
use softsense_ecc::catalogue::Code;
use softsense_ecc::hardware::LdpcShape;
use softsense_ecc::ldpc::{RedundantChecks, SyndromeWeights};

use crate::MAX_LEVEL;

const FORMAT: &str = "softsense decode table, version 1";

macro_rules! shipped {
    ($($name:literal),+ $(,)?) => { [$(($name, include_str!(concat!("../tables/", $name, ".toml")))),+] };
}

/// Tables that ship with softsense, by name: one for each LDPC code except the one to learn from, and one from LaLDPC's thresholds. Tables
/// of BCH codes are computed.
const SHIPPED: [(&str, &str); 18] = shipped![
    "flash-8-9",
    "flash-8-9-nested",
    "flash-64-73",
    "flash-64-71",
    "flash-32-35",
    "flash-64-69",
    "irregular-4-5",
    "irregular-16-19",
    "irregular-8-9",
    "irregular-32-35",
    "irregular-16-17",
    "adaptive-5-6",
    "adaptive-3-4",
    "adaptive-2-3",
    "adaptive-1-2",
    "adaptive-1-3",
    "adaptive-1-4",
    "laldpc-thresholds",
];

/// Failure probability at which the computed table of a BCH code begins, and the ratio of its grid points.
const LEAST_TAIL: f64 = 1e-30;
const TAIL_STEP: f64 = 1.005;

/// Failure probability of the first level below which the region below the grid does not matter: no run reads so many codewords.
const NEVER: f64 = 1e-12;

/// Failure probability of the last level from which on the region above the grid does not matter, as at the end of a computed table.
const ALWAYS: f64 = 1.0 - 1e-12;

/// Interpolation of values between two grid points. Beyond the grid the nearest point holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Interpolation {
    /// The value at the grid point at or below.
    Step,
    /// Linear in the logarithm of the probability: for measured curves.
    Log,
}

/// The quantity that determines how often a level beyond hard decision fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SoftLevels {
    /// The information of the level about the bits. It is expressed as the raw bit error rate of the Gaussian boundary that leaves as much
    /// unknown, for curves that were measured at such a boundary.
    #[default]
    Information,
    /// The raw bit error rate of hard decisions, whatever cells and references make it.
    HardRber,
}

/// A side of a grid of raw bit error rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Below its first point.
    Below,
    /// Above its last point.
    Above,
}

/// For one code and decoder: the probability that decoding fails, and the distribution of decoding iterations, for each read level on a
/// grid of raw bit error rates.
///
/// The file format is TOML (docs/model/decode-table.md): `format`, `name`, `code`, `decoder`,
/// `source`, `interpolation`, the grid `rber`, and one `[[level]]` for each read level with `p_fail`
/// and, where they were measured, `iterations`.
#[derive(Debug, Clone, PartialEq)]
pub struct DecodeTable {
    text: String,
    code: String,
    decoder: String,
    interpolation: Interpolation,
    soft_levels: SoftLevels,
    rber: Vec<f64>,
    levels: Vec<Level>,
    max_iterations: Option<u16>,
    syndrome_weights: Option<SyndromeWeights>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Level {
    /// Failure probability at each grid point.
    p_fail: Vec<f64>,
    /// Logarithm of the failure probability, for interpolation.
    #[serde(skip)]
    ln_p_fail: Vec<f64>,
    /// At each grid point, the probability that a successful decode ends after 1, 2, ... iterations.
    iterations: Option<Vec<Vec<f64>>>,
    /// Uncertainty of `p_fail` at each grid point: its 95 % interval, the bound of failures that could not be seen, the share that is
    /// extrapolated beyond the measurement, and the number of decoded frames. These fields are for people; nothing is computed from them.
    p_fail_lo: Option<Vec<f64>>,
    p_fail_hi: Option<Vec<f64>>,
    /// Bound of failures that could not be seen. Its name was `floor_bound` before absorbing sets were listed.
    #[serde(alias = "floor_bound")]
    unlisted: Option<Vec<f64>>,
    floor: Option<Vec<f64>>,
    floor_at_most: Option<Vec<f64>>,
    missing: Option<Vec<f64>>,
    /// Failure probability by splitting; 0 where splitting was not used.
    splitting: Option<Vec<f64>>,
    frames: Option<Vec<u64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: String,
    #[serde(rename = "name")]
    _name: String,
    code: String,
    decoder: String,
    #[serde(rename = "source")]
    _source: String,
    interpolation: Interpolation,
    #[serde(default)]
    soft_levels: SoftLevels,
    rber: Vec<f64>,
    level: Vec<Level>,
    max_iterations: Option<u16>,
    /// Degrees of an LDPC code, each with the number of bits or checks that have it.
    bit_degrees: Option<Vec<(u32, u32)>>,
    check_degrees: Option<Vec<(u32, u32)>>,
}

impl DecodeTable {
    /// Returns the names of the shipped tables, including those of shipped BCH codes.
    pub fn shipped() -> impl Iterator<Item = &'static str> {
        SHIPPED.iter().map(|(name, _)| *name).chain(Code::names().filter(|name| name.starts_with("bch-")))
    }

    /// Opens a table: a shipped one by name; that of any BCH code, such as `bch-4KB-t105` or `bch:m=15,t=57,k=31912`; or a file (relative
    /// paths are taken from `directory`).
    ///
    /// # Errors
    /// No such table or BCH code, or a malformed file, at its line.
    pub fn open(name_or_path: &str, directory: &Path) -> Result<Self> {
        // Sweeps open the shipped tables again and again.
        static OPENED: Mutex<BTreeMap<&str, DecodeTable>> = Mutex::new(BTreeMap::new());
        let name_or_path = canonical(name_or_path, Self::shipped(), directory);
        let Some(shipped) = Self::shipped().find(|name| *name == name_or_path) else {
            return Self::read(name_or_path, directory);
        };
        let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        if !opened.contains_key(shipped) {
            opened.insert(shipped, Self::read(shipped, directory)?);
        }
        Ok(opened[shipped].clone())
    }

    fn read(name_or_path: &str, directory: &Path) -> Result<Self> {
        let bch: Vec<&str> = Self::shipped().filter(|name| name.starts_with("bch-")).collect();
        if name_or_path.starts_with("bch:") || bch.contains(&name_or_path) {
            let at_name = |error: Error| Error::table(error.place(), error.message());
            if let Code::Bch(code) = Code::open(name_or_path, RedundantChecks::Refuse).map_err(at_name)? {
                return Ok(Self::of_bch(name_or_path, &code));
            }
        }
        let what = format!("a decode table file, a BCH code ({} or as bch:m=15,t=57,k=31912)", bch.join(", "));
        let (text, origin) = shipped_or_file(&SHIPPED, name_or_path, directory, ErrorKind::Table, &what)?;
        Self::parse(&text, &origin)
    }

    /// Computes the table of a BCH code: the binomial tail, to 0.1 % between grid points. `name` is the code's.
    pub fn of_bch(name: &str, code: &BchCode) -> Self {
        let (n, k, t) = (code.codeword_bits(), code.data_bits(), code.correctable());
        let tail = |rber: f64| binomial_tail(t as u64, n as u64, rber);
        // The grid goes from rates at which failures are never seen, in steps of half a per cent, to rates at which every codeword fails.
        let mut rber = t as f64 / n as f64;
        while tail(rber) > LEAST_TAIL {
            rber /= TAIL_STEP;
        }
        let (mut grid, mut p_fail) = (Vec::new(), Vec::new());
        while rber <= 0.5 && p_fail.last().is_none_or(|&p| p < ALWAYS) {
            grid.push(format!("{rber:e}"));
            p_fail.push(tail(rber).min(1.0).max(p_fail.last().copied().unwrap_or(0.0)));
            rber *= TAIL_STEP;
        }
        let p_fail: Vec<String> = p_fail.iter().map(|p| format!("{p:e}")).collect();
        let text = format!(
            "format = \"{FORMAT}\"\nname = \"{name}\"\ncode = \"{name}: BCH, n = {n}, k = {k}\"\n\
             decoder = \"BCH, up to {t} errors\"\nsource = \"computed: the binomial tail\"\ninterpolation = \"log\"\n\
             rber = [{}]\n\n[[level]]\np_fail = [{}]\n",
            grid.join(", "),
            p_fail.join(", ")
        );
        Self::parse(&text, name).expect("a binomial tail makes a table")
    }

    /// Parses a table from TOML text; `origin` names it in errors.
    pub fn parse(text: &str, origin: &str) -> Result<Self> {
        let file: File = from_toml(text, ErrorKind::Table, origin)?;
        let bad = |field: &str, message: String| Err(Error::table(format!("{origin}: {field}"), message));
        if file.format != FORMAT {
            return bad("format", format!("found `{}`, expected `{FORMAT}`", file.format));
        }
        let points = file.rber.len();
        if points == 0
            || !file.rber.windows(2).all(|w| w[0] < w[1])
            || !file.rber.iter().all(|r| (0.0..=0.5).contains(r))
        {
            return bad(
                "rber",
                "found another list, expected raw bit error rates from 0 to 0.5 in ascending order, at least one"
                    .into(),
            );
        }
        if file.level.is_empty() || file.level.len() > MAX_LEVEL as usize {
            return bad("level", format!("found {} levels, expected 1 to {MAX_LEVEL}", file.level.len()));
        }
        let wrong_length =
            |found: usize| format!("found {found} values, expected {points}, one for each value of `rber`");
        for (index, level) in file.level.iter().enumerate() {
            let field = |name: &str| format!("level {}: {name}", index + 1);
            if level.p_fail.len() != points {
                return bad(&field("p_fail"), wrong_length(level.p_fail.len()));
            }
            if let Some(p) = level.p_fail.iter().find(|p| !(0.0..=1.0).contains(*p)) {
                return bad(&field("p_fail"), format!("found {p}, expected a probability from 0 to 1"));
            }
            if let Some(w) = level.p_fail.windows(2).find(|w| w[1] < w[0]) {
                let message =
                    format!("found {} after {}, expected values that do not fall as `rber` rises", w[1], w[0]);
                return bad(&field("p_fail"), message);
            }
            if index > 0
                && let Some(at) = (0..points).find(|&i| level.p_fail[i] > file.level[index - 1].p_fail[i])
            {
                let message = format!(
                    "found {} at rber {}, expected at most {}, the value of the level before: a deeper level never \
                     fails more often",
                    level.p_fail[at],
                    file.rber[at],
                    file.level[index - 1].p_fail[at]
                );
                return bad(&field("p_fail"), message);
            }
            let probability = (0.0..=1.0, "a probability from 0 to 1");
            let columns = [
                ("p_fail_lo", &level.p_fail_lo, &probability),
                ("p_fail_hi", &level.p_fail_hi, &probability),
                ("unlisted", &level.unlisted, &probability),
                ("floor", &level.floor, &probability),
                ("floor_at_most", &level.floor_at_most, &probability),
                ("splitting", &level.splitting, &probability),
                ("missing", &level.missing, &(0.0..=f64::MAX, "a share from 0 on")),
            ];
            for (name, column, (range, what)) in columns {
                let Some(column) = column else { continue };
                if column.len() != points {
                    return bad(&field(name), wrong_length(column.len()));
                }
                if let Some(value) = column.iter().find(|value| !range.contains(*value)) {
                    return bad(&field(name), format!("found {value}, expected {what}"));
                }
            }
            if let Some(frames) = level.frames.as_ref().filter(|frames| frames.len() != points) {
                return bad(&field("frames"), wrong_length(frames.len()));
            }
            if let Some(iterations) = &level.iterations {
                let Some(max) = file.max_iterations else {
                    return bad(
                        "max_iterations",
                        "missing, expected the largest number of iterations of the decoder, as the table has \
                         `iterations`"
                            .into(),
                    );
                };
                // Words that are decoded twice take up to twice as many iterations.
                let most = (2 * usize::from(max)).min(u16::MAX.into());
                let distribution = |row: &Vec<f64>| {
                    !row.is_empty()
                        && row.len() <= most
                        && row.iter().all(|p| (0.0..=1.0).contains(p))
                        && (row.iter().sum::<f64>() - 1.0).abs() < 1e-6
                };
                if iterations.len() != points || !iterations.iter().all(distribution) {
                    let message = format!(
                        "found other lists, expected {points} lists, each of 1 to {most} probabilities whose sum is 1"
                    );
                    return bad(&field("iterations"), message);
                }
            }
        }
        let syndrome_weights = match (&file.bit_degrees, &file.check_degrees) {
            (None, None) => None,
            (Some(bits), Some(checks)) => {
                for (name, degrees) in [("bit_degrees", bits), ("check_degrees", checks)] {
                    if degrees.is_empty() || degrees.iter().any(|&(degree, count)| degree == 0 || count == 0) {
                        return bad(
                            name,
                            format!("found {degrees:?}, expected pairs of a degree and a count, both above 0"),
                        );
                    }
                }
                Some(SyndromeWeights::new(bits, checks))
            }
            _ => {
                return bad(
                    "bit_degrees, check_degrees",
                    "found only one of these two fields, expected both or neither".into(),
                );
            }
        };
        let File { code, decoder, interpolation, soft_levels, rber, level: mut levels, max_iterations, .. } = file;
        for level in &mut levels {
            level.ln_p_fail = level.p_fail.iter().map(|&p| libm::log(p)).collect();
        }
        let text = text.into();
        Ok(Self { text, code, decoder, interpolation, soft_levels, rber, levels, max_iterations, syndrome_weights })
    }

    /// Returns the text of the file that the table was read from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Describes the code and the decoder that were measured.
    pub fn describe(&self) -> String {
        format!("{}; {}", self.code, self.decoder)
    }

    /// Returns the parameters of the code that a circuit depends on; `None` unless it is a shipped LDPC code.
    pub fn ldpc_shape(&self) -> Option<LdpcShape> {
        let name = self.code.split(": ").next()?;
        match Code::entries().iter().find(|entry| entry.name() == name)?.compile() {
            Code::Ldpc(code) => Some(LdpcShape::of(&code)),
            Code::Bch(_) => None,
        }
    }

    /// Returns the name of the code in the catalogue.
    pub fn code_name(&self) -> &str {
        self.code.split(':').next().expect("a text has a first part")
    }

    /// Returns the distribution of the number of checks that hard decisions violate, if the table has the degrees of its code.
    pub fn syndrome_weights(&self) -> Option<&SyndromeWeights> {
        self.syndrome_weights.as_ref()
    }

    /// Returns the number of read levels.
    pub fn levels(&self) -> u8 {
        self.levels.len() as u8
    }

    /// Returns the decoder's iteration limit, if iterations were measured at every level.
    pub fn max_iterations(&self) -> Option<u16> {
        self.max_iterations.filter(|_| self.levels.iter().all(|level| level.iterations.is_some()))
    }

    /// Returns the probability that decoding fails at `level` (from 1) and raw bit error rate `rber`. It never grows with the level, nor
    /// falls as `rber` grows.
    pub fn p_fail(&self, level: u8, rber: f64) -> f64 {
        self.p_fail_by(level, |_| rber)
    }

    /// Returns [`Self::p_fail`] of a codeword that has another raw bit error rate at each level.
    pub(crate) fn p_fail_by(&self, level: u8, rber: impl Fn(u8) -> f64) -> f64 {
        // A level may fail more often than the one before, as between grid points where its curve starts from zero. Such a level does not
        // count: a codeword that was decoded once stays decoded.
        let p_fail = |level: u8| {
            let rber = rber(level);
            self.interpolate(&self.levels[usize::from(level) - 1], self.above(rber), rber)
        };
        (1..=level).map(p_fail).fold(1.0, f64::min)
    }

    /// Returns the quantity that determines how often levels beyond hard decision fail.
    pub fn soft_levels(&self) -> SoftLevels {
        self.soft_levels
    }

    /// Returns the index of the first grid point above `rber`; the number of points if there is none.
    pub(crate) fn above(&self, rber: f64) -> usize {
        self.rber.partition_point(|&grid| grid <= rber)
    }

    /// Whether decoding fails a codeword whose draw is `uniform`, in [0, 1): it does if the draw is below [`Self::p_fail`].
    ///
    /// # Arguments
    /// - `above`: the value of [`Self::above`] for `rber`.
    #[inline]
    pub(crate) fn fails(&self, level: u8, above: usize, rber: f64, uniform: f64) -> bool {
        (1..level + 1).all(|level| self.level_fails(level, above, rber, uniform))
    }

    /// Whether one level alone fails, as in [`Self::fails`]. Most draws are far from both neighbouring grid points, and need no
    /// interpolation.
    #[inline]
    pub(crate) fn level_fails(&self, level: u8, above: usize, rber: f64, uniform: f64) -> bool {
        let (least, most) = (above.saturating_sub(1), above.min(self.rber.len() - 1));
        let level = &self.levels[usize::from(level) - 1];
        let p_fail = &level.p_fail;
        uniform < p_fail[most] && (uniform < p_fail[least] || uniform < self.interpolate(level, above, rber))
    }

    /// Returns the side of the grid on which the table does not determine the outcome at `rber`. Within the grid the table determines it.
    /// Above the grid it does if no level decodes at the last point; below, if level 1 fails at the first point less than once in 10^12
    /// codewords. Elsewhere the nearest point is a guess.
    pub fn beyond(&self, rber: f64) -> Option<Side> {
        let [(first, level_1), (last, deepest)] = self.ends();
        if rber < first && level_1 > NEVER {
            return Some(Side::Below);
        }
        (rber > last && deepest < ALWAYS).then_some(Side::Above)
    }

    /// Returns the first raw bit error rate with the failure probability of level 1, and the last one with that of the deepest level.
    pub fn ends(&self) -> [(f64, f64); 2] {
        let (last, deepest) = (self.rber.len() - 1, self.levels.len() - 1);
        [(self.rber[0], self.levels[0].p_fail[0]), (self.rber[last], self.levels[deepest].p_fail[last])]
    }

    /// Returns the data bits of a codeword; `None` where the table does not give them.
    pub fn data_bits(&self) -> Option<u64> {
        self.number_of_code("k")
    }

    /// Returns the bits of a codeword, parity included; `None` where the table does not give them.
    pub fn codeword_bits(&self) -> Option<u64> {
        self.number_of_code("n")
    }

    fn number_of_code(&self, name: &str) -> Option<u64> {
        let number = |part: &str| part.strip_prefix(name)?.strip_prefix(" = ")?.trim().parse().ok();
        self.code.split(", ").find_map(number)
    }

    fn interpolate(&self, level: &Level, above: usize, rber: f64) -> f64 {
        let (p, ln_p) = (&level.p_fail, &level.ln_p_fail);
        if above == 0 {
            return p[0];
        }
        let below = above - 1;
        match self.interpolation {
            Interpolation::Step => p[below],
            Interpolation::Log if above == p.len() => p[below],
            Interpolation::Log => {
                // A curve that reaches zero has no logarithm, so the interval from there on is linear.
                let fraction = (rber - self.rber[below]) / (self.rber[above] - self.rber[below]);
                if p[below] > 0.0 && p[above] > 0.0 {
                    // A rounded value could leave the interval, and fall where the curve should grow.
                    libm::exp(ln_p[below] * (1.0 - fraction) + ln_p[above] * fraction).clamp(p[below], p[above])
                } else {
                    p[below] + (p[above] - p[below]) * fraction
                }
            }
        }
    }

    /// Returns the number of iterations of a decode, for `uniform` in [0, 1). A decode that fails takes the limit. For one that succeeds,
    /// the distributions that were measured at the neighbouring grid points are mixed by their nearness. `None` where iterations were not
    /// measured.
    pub fn iterations(&self, level: u8, rber: f64, success: bool, uniform: f64) -> Option<u16> {
        let max = self.max_iterations?;
        if !success {
            return Some(max);
        }
        let rows = self.levels[usize::from(level) - 1].iterations.as_ref()?;
        let above = self.above(rber).min(rows.len() - 1);
        let below = above.saturating_sub(1);
        let (low, high) = (self.rber[below], self.rber[above]);
        let nearness = if high > low { ((rber - low) / (high - low)).clamp(0.0, 1.0) } else { 1.0 };
        let (row, next) = (&rows[below], &rows[above]);
        let of = |row: &[f64], ended: usize| row.get(ended).copied().unwrap_or(0.0);
        let most = row.len().max(next.len());
        let mut cumulative = 0.0;
        let ended = (0..most).find(|&ended| {
            cumulative += (1.0 - nearness) * of(row, ended) + nearness * of(next, ended);
            uniform < cumulative
        });
        Some(ended.unwrap_or(most - 1) as u16 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(extra: &str, p2: &str) -> String {
        format!(
            "format = \"{FORMAT}\"\nname = \"t\"\ncode = \"c\"\ndecoder = \"d\"\nsource = \"s\"\ninterpolation = \"log\"\n\
             rber = [0.001, 0.002]\n{extra}\n[[level]]\np_fail = [1e-8, 1e-2]\niterations = [[0.5, 0.5], [0.0, 0.25, 0.75]]\n\
             [[level]]\np_fail = {p2}\niterations = [[1.0], [1.0]]\n"
        )
    }

    #[test]
    fn shipped_tables_reach_everywhere() {
        for name in DecodeTable::shipped() {
            let table = DecodeTable::open(name, Path::new(".")).unwrap();
            assert_eq!([0.0, 0.5].map(|rber| table.beyond(rber)), [None; 2], "{name}");
        }
    }

    #[test]
    fn a_table_reaches_as_far_as_it_tells() {
        let of = |first: &str, last: &str| {
            let text = measured("max_iterations = 3", &format!("[{first}, {last}]"));
            DecodeTable::parse(&text.replace("[1e-8, 1e-2]", &format!("[{first}, 1.0]")), "t.toml").unwrap()
        };
        let beyond = |table: &DecodeTable| [0.0, 0.001, 0.002, 0.5].map(|rber| table.beyond(rber));
        let [below, above] = [Some(Side::Below), Some(Side::Above)];
        assert_eq!(beyond(&of("1e-8", "0.9")), [below, None, None, above]);
        assert_eq!(beyond(&of("1e-15", "0.9")), [None, None, None, above]);
        assert_eq!(beyond(&of("1e-8", "1.0")), [below, None, None, None]);
    }

    #[test]
    fn shipped_tables_open_and_laldpc_has_its_levels() {
        let table = DecodeTable::open("laldpc-thresholds", Path::new(".")).unwrap();
        let required = |rber| (1..=7).find(|&level| table.p_fail(level, rber) < 0.5);
        assert_eq!(required(0.0), Some(1));
        assert_eq!(required(0.005), Some(2));
        assert_eq!(required(0.0065), Some(3));
        assert_eq!(required(0.0085), Some(4));
        assert_eq!(required(0.0129), Some(7));
        assert_eq!(required(0.013), None);
        assert_eq!(table.max_iterations(), None);
    }

    #[test]
    fn measured_curves_interpolate_in_the_logarithm() {
        let table = DecodeTable::parse(&measured("max_iterations = 20", "[0.0, 1e-4]"), "t.toml").unwrap();
        assert!((table.p_fail(1, 0.0015) / 1e-5 - 1.0).abs() < 1e-9);
        assert_eq!((table.p_fail(1, 0.0), table.p_fail(1, 0.4)), (1e-8, 1e-2));
        // Level 2 starts from zero, so it is linear (5e-5), but never above level 1.
        assert_eq!(table.p_fail(2, 0.0015), table.p_fail(1, 0.0015));
        assert_eq!(table.p_fail(2, 0.002), 1e-4);
        // Between the points each distribution counts half: a quarter ends after one, three eighths after two, as many after three.
        let halfway = [0.24, 0.26, 0.62, 0.63].map(|uniform| table.iterations(1, 0.0015, true, uniform));
        assert_eq!(halfway, [Some(1), Some(2), Some(2), Some(3)]);
        assert_eq!([0.0, 1.0].map(|rber| table.iterations(1, rber, true, 0.6)), [Some(2), Some(3)]);
        assert_eq!(table.iterations(1, 0.002, true, 0.2), Some(2));
        assert_eq!(table.iterations(1, 0.002, true, 0.999), Some(3));
        assert_eq!(table.iterations(1, 0.002, false, 0.0), Some(20));
    }

    /// Does no curve fall where a logarithm and its exponential do not return the same value?
    #[test]
    fn rounding_makes_no_curve_fall() {
        let text = measured("max_iterations = 20", "[0.0, 1e-4]").replace("1e-8", "2e-9");
        let table = DecodeTable::parse(&text, "t.toml").unwrap();
        assert_eq!([0.0, 0.001].map(|rber| table.p_fail(1, rber)), [2e-9, 2e-9]);
    }

    /// Is a computed table equal to the tail between its points, too, from rates without failures to rates with nothing else?
    #[test]
    fn tables_of_bch_codes_are_computed() {
        for (name, n, t) in [("bch-512B-t15", 4291, 15), ("bch:m=16,t=362,k=32768", 38_504, 362)] {
            let table = DecodeTable::open(name, Path::new(".")).unwrap();
            let mean = t as f64 / n as f64;
            for rber in (1..60).map(|i| 3.0 * mean * f64::from(i) / 60.0) {
                let (found, tail) = (table.p_fail(1, rber), binomial_tail(t, n, rber));
                let far = tail < LEAST_TAIL && found < 2.0 * LEAST_TAIL;
                assert!(far || (found / tail - 1.0).abs() < 1e-2, "{name} at {rber}: {found:e}, not {tail:e}");
                assert!(tail < 1e-16 || (found / tail - 1.0).abs() < 2e-3, "{name} at {rber}: {found:e}, not {tail:e}");
            }
        }
    }

    #[test]
    fn bad_tables_are_named() {
        let cases = [
            (measured("max_iterations = 20", "[1e-3, 1e-2]"), "t.toml: level 2: p_fail: found 0.001 at rber 0.001"),
            (measured("", "[0.0, 0.0]"), "t.toml: max_iterations: missing"),
            (
                measured("max_iterations = 1", "[0.0, 0.0]"),
                "t.toml: level 1: iterations: found other lists, expected 2 lists, each of 1 to 2",
            ),
            (
                measured("max_iterations = 65535", "[0.0, 0.0]").replace("[1.0], ", "[1.1], "),
                "t.toml: level 2: iterations: found other lists, expected 2 lists, each of 1 to 65535",
            ),
            (measured("max_iterations = 20", "[1e-9, 1e-10]"), "t.toml: level 2: p_fail: found 0.0000000001 after"),
            (measured("max_iterations = 20", "[0.0]"), "t.toml: level 2: p_fail: found 1 values, expected 2"),
            (measured("max_iterations = 20", "[0.0, 2.0]"), "t.toml: level 2: p_fail: found 2, expected a probability"),
            (measured("speed = 3", "[0.0, 0.0]"), "t.toml:8: unknown field `speed`"),
            (String::new(), "t.toml:1: missing field"),
        ];
        for (text, expected) in cases {
            let error = DecodeTable::parse(&text, "t.toml").unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}\nexpected: {expected}");
        }
    }

    /// Is each column that a level may have checked under its own name, and accepted where it is right?
    #[test]
    fn bad_columns_are_named() {
        let with = |level: u8, name: &str, column: &str| {
            let text = measured("max_iterations = 20", "[0.0, 0.0]");
            let (before, after) = text.split_at(text.rfind("[[level]]").expect("two levels"));
            let column = format!("{name} = {column}\n");
            DecodeTable::parse(&if level == 1 { [before, &column, after].concat() } else { text + &column }, "t.toml")
        };
        let probability = "a probability from 0 to 1";
        for level in [1, 2] {
            for (name, what) in [
                ("p_fail_lo", probability),
                ("p_fail_hi", probability),
                ("unlisted", probability),
                ("floor", probability),
                ("floor_at_most", probability),
                ("missing", "a share from 0 on"),
                ("frames", ""),
            ] {
                let expect = |column: &str, message: String| {
                    let error = with(level, name, column).unwrap_err().to_string();
                    assert_eq!(error, format!("t.toml: level {level}: {name}: {message}"));
                };
                expect("[0, 1, 1]", "found 3 values, expected 2, one for each value of `rber`".into());
                expect("[]", "found 0 values, expected 2, one for each value of `rber`".into());
                with(level, name, "[1, 0]").unwrap();
                if name == "frames" {
                    assert!(with(level, name, "[5, -1]").unwrap_err().to_string().starts_with("t.toml:"));
                    continue;
                }
                for (value, found) in [("-0.5", "-0.5"), ("nan", "NaN"), ("inf", "inf")] {
                    expect(&format!("[0.5, {value}]"), format!("found {found}, expected {what}"));
                }
                if what == probability {
                    expect("[0.5, 1.5]", format!("found 1.5, expected {what}"));
                } else {
                    with(level, name, "[3.0, 0.0]").unwrap();
                }
            }
        }
    }
}
