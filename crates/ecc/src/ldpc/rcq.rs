use std::ops::RangeInclusive;

use softsense_base::{Error, Result};

use super::LdpcCode;
use super::density_evolution::{BISECTIONS, DegreeDistribution, Evolution, Graph, check_levels, outputs};
use super::min_sum::{MESSAGE_LIMIT, RcqTables, Staircase};
use crate::channel::{LARGEST_REGION_LLR, bisect};

/// The magnitude of a hard decision, and the largest a-posteriori magnitude beside it: the ratio of the fast decoder in eight bits.
const HARD_LIMIT: u32 = 22;
const OF_LARGEST: u32 = 127;

/// Number of flooding iterations that stand for a layered one.
const FLOODING_IN_LAYERED: u32 = 2;

/// The largest number of iterations for which tables are designed; the last table serves all that follow.
const MOST_ITERATIONS: u32 = 100;

/// The design of the tables of a decoder with messages of few bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RcqDesign {
    /// Bits of a message, its sign included, within [`Self::MESSAGE_BITS`].
    pub message_bits: u8,
    /// Bits of an a-posteriori value, its sign included, within [`Self::POSTERIOR_BITS`].
    pub posterior_bits: u8,
    /// Number of thresholds with which the channel is read, 1 to 7. One makes tables for hard decisions, more make tables for LLRs, the
    /// largest of which is [`LARGEST_REGION_LLR`].
    pub levels: usize,
    /// Number of layered iterations after which the decoder gives up.
    pub iterations: u32,
}

impl RcqDesign {
    /// Bits that messages may have.
    pub const MESSAGE_BITS: RangeInclusive<u8> = 2..=5;
    /// Bits that a-posteriori values may have.
    pub const POSTERIOR_BITS: RangeInclusive<u8> = 7..=10;

    /// The default of the bits of an a-posteriori value: 8 for columns of weight 4 at most, whose messages then have the room that they
    /// need, and otherwise 10.
    pub fn usual_posterior_bits(code: &LdpcCode) -> u8 {
        let heaviest = code.parity_check().column_weights().into_iter().max().unwrap_or(0);
        if heaviest <= 4 { 8 } else { 10 }
    }

    /// Designs the tables for codes of these degrees. The tables also name the raw bit error rate for which they were designed.
    ///
    /// Density evolution goes through the iterations with whole numbers as the decoder has them, two flooding iterations for each layered
    /// one. In each layered iteration it knows, for every least magnitude that a check may receive, how often the check would be right and
    /// wrong, on average over both. The chosen thresholds are those for which an index has the most information about the bit, by dynamic
    /// programming. An index stands for the logarithm of right over wrong, in steps of the channel's LLRs, rounded. It is limited so that
    /// no a-posteriori value can overflow. Iterations end when fewer than one bit of a codeword is wrong on average.
    ///
    /// Tables depend on the raw bit error rate for which they are designed. It is the largest rate, to 1e-3 of the Shannon limit, at which
    /// its own tables succeed within the iterations, and so their predicted threshold, too. Tables for 2 % less or more lost words on
    /// `flash-8/9`.
    ///
    /// Source: L. Wang, C. Terrill, M. Stark, Z. Li, S. Chen, C. Hulse, C. Kuo, R. Wesel, G. Bauch, R. Pitchumani,
    /// "Reconstruction-computation-quantization (RCQ): a paradigm for low bit width LDPC decoding", 2022, section IV; thresholds: B.
    /// Kurkoski and H. Yagi, "Quantization of binary-input discrete memoryless channels", 2014. Deviations: the least magnitude at a check
    /// is quantised, and not each magnitude that it receives. That says the same, and maximises the information of the messages to bits.
    /// One table serves two flooding iterations.
    ///
    /// # Errors
    /// A number of bits or of levels out of range; columns so heavy that a-posteriori values leave no room for messages.
    pub fn tables(&self, degrees: &DegreeDistribution, codeword_bits: usize) -> Result<RcqTables> {
        self.check()?;
        let limits = self.limits(degrees)?;
        let success = 1.0 / codeword_bits as f64;
        let design = |p| self.designed_for(p, degrees, limits, success);
        let (low, high) = bisect(0.0..Graph::of_degrees(degrees, 1).limit(self.levels), BISECTIONS, |p| design(p).1);
        // Degrees that never succeed have tables, too: those of the lowest rate that was tried.
        let rber = if low > 0.0 { low } else { high };
        let Limits { channel: channel_limit, message: message_limit, .. } = limits;
        Ok(RcqTables { designed_for: rber, channel_limit, message_limit, staircases: design(rber).0 })
    }

    /// The limits of the channel's magnitudes and of answers, so that no a-posteriori value overflows.
    fn limits(&self, degrees: &DegreeDistribution) -> Result<Limits> {
        let heaviest = degrees.bits().last().map_or(1, |&(degree, _)| degree) as u32;
        let largest = (1 << (self.posterior_bits - 1)) - 1;
        let channel_limit = match self.levels {
            1 => (largest * HARD_LIMIT / OF_LARGEST).min(HARD_LIMIT),
            _ => u32::from(LARGEST_REGION_LLR.unsigned_abs()),
        };
        let message_limit = ((largest - channel_limit) / heaviest).min(MESSAGE_LIMIT.into());
        if message_limit == 0 {
            let found =
                format!("found a-posteriori values of {} bits for a column of weight {heaviest}", self.posterior_bits);
            return Err(Error::code("decoder", format!("{found}, expected room for a message of each of its checks")));
        }
        Ok(Limits { channel: channel_limit as u8, message: message_limit as u8, heaviest: heaviest as usize })
    }

    /// Checks that bits and levels are in range.
    ///
    /// # Errors
    /// The number that is not in range.
    pub fn check(&self) -> Result<()> {
        check_levels(self.levels)?;
        let numbers = [
            ("a message", self.message_bits, Self::MESSAGE_BITS),
            ("an a-posteriori value", self.posterior_bits, Self::POSTERIOR_BITS),
        ];
        for (of, found, range) in numbers {
            if !range.contains(&found) {
                let expected = format!("expected {} to {}", range.start(), range.end());
                return Err(Error::code("decoder", format!("found {found} bits of {of}, {expected}")));
            }
        }
        Ok(())
    }

    /// The staircases for a raw bit error rate, and whether decoding with them succeeds there.
    fn designed_for(
        &self,
        rber: f64,
        degrees: &DegreeDistribution,
        limits: Limits,
        success: f64,
    ) -> (Vec<Staircase>, bool) {
        let exact = outputs(rber, self.levels);
        let largest = exact.iter().fold(0.0, |largest: f64, &(llr, _)| largest.max(llr));
        let step = largest / f64::from(limits.channel);
        let in_steps: Vec<(f64, f64)> = exact.iter().map(|&(llr, mass)| (libm::round(llr / step), mass)).collect();
        let most = usize::from(limits.channel) + limits.heaviest * usize::from(limits.message);
        let mut evolution = Evolution::of_integers(degrees, most, &in_steps);
        let quantise = |least: &[[f64; 2]]| {
            let thresholds = most_informative(least, (1 << (self.message_bits - 1)) - 1);
            let values = values(least, &thresholds, step, limits.message);
            Staircase::new(&thresholds, &values).expect("in order, and within limits")
        };
        let mut staircases = Vec::new();
        for _ in 0..self.iterations.clamp(1, MOST_ITERATIONS) {
            let mut least = evolution.least_magnitudes(MESSAGE_LIMIT.into());
            // The input of later flooding iterations of a layered one depends on the answers of the first.
            let mut trial = evolution.clone();
            for _ in 1..FLOODING_IN_LAYERED {
                trial.iterate_with(&answers(&quantise(&least)));
                for (sum, next) in least.iter_mut().zip(trial.least_magnitudes(MESSAGE_LIMIT.into())) {
                    *sum = [sum[0] + next[0], sum[1] + next[1]];
                }
            }
            let staircase = quantise(&least);
            (0..FLOODING_IN_LAYERED).for_each(|_| evolution.iterate_with(&answers(&staircase)));
            staircases.push(staircase);
            if evolution.bit_error_rate() < success {
                return (staircases, true);
            }
        }
        (staircases, false)
    }
}

/// The largest magnitude of the channel, the largest answer of a check, and the largest number of checks of a bit.
#[derive(Debug, Clone, Copy)]
struct Limits {
    channel: u8,
    message: u8,
    heaviest: usize,
}

fn answers(staircase: &Staircase) -> Vec<u8> {
    (0..=MESSAGE_LIMIT).map(|magnitude| staircase.answer(magnitude)).collect()
}

/// The information about a bit in being right and wrong this often, less a term that does not depend on the groups of magnitudes: nat.
fn information([right, wrong]: [f64; 2]) -> f64 {
    let part = |mass: f64| if mass > 0.0 { mass * libm::log(mass / (right + wrong)) } else { 0.0 };
    part(right) + part(wrong)
}

/// The probabilities of being right and wrong between two magnitudes.
fn between(sums: &[[f64; 2]], from: usize, to: usize) -> [f64; 2] {
    [0, 1].map(|side| sums[to][side] - sums[from][side])
}

/// The probabilities of being right and wrong below each magnitude, cumulated from 0 on.
fn cumulated(least: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let mut sum = [0.0; 2];
    let sums = least.iter().map(|[right, wrong]| {
        sum = [sum[0] + right, sum[1] + wrong];
        sum
    });
    std::iter::once([0.0; 2]).chain(sums).collect()
}

/// The thresholds between magnitudes for which the group of a magnitude has the most information. `least` has the probabilities of each
/// magnitude, right and wrong.
fn most_informative(least: &[[f64; 2]], thresholds: usize) -> Vec<u8> {
    let (sums, count) = (cumulated(least), least.len());
    let told: Vec<Vec<f64>> =
        (0..=count).map(|to| (0..to).map(|from| information(between(&sums, from, to))).collect()).collect();
    // For each number of magnitudes: the most information of their groups, and for each number of groups the start of the last.
    let mut best: Vec<f64> = told.iter().map(|told| told.first().copied().unwrap_or(0.0)).collect();
    let mut begins = Vec::new();
    for groups in 2..=thresholds + 1 {
        let mut next = vec![f64::NEG_INFINITY; count + 1];
        let mut begin = vec![0; count + 1];
        for to in groups..=count {
            for from in groups - 1..to {
                let tells = best[from] + told[to][from];
                if tells > next[to] {
                    (next[to], begin[to]) = (tells, from);
                }
            }
        }
        best = next;
        begins.push(begin);
    }
    let mut to = count;
    let mut found: Vec<u8> = begins
        .iter()
        .rev()
        .map(|begin| {
            to = begin[to];
            to as u8
        })
        .collect();
    found.reverse();
    found
}

/// The values of the groups between thresholds: the logarithm of right over wrong, in steps of `step`, at most `limit`.
///
/// A group that is never met has the value of the group below, and no group has less than the group below.
fn values(least: &[[f64; 2]], thresholds: &[u8], step: f64, limit: u8) -> Vec<u8> {
    let sums = cumulated(least);
    let edges: Vec<usize> =
        std::iter::once(0).chain(thresholds.iter().map(|&threshold| threshold.into())).chain([least.len()]).collect();
    let mut before = 0;
    let value = |edges: &[usize]| {
        let [right, wrong] = between(&sums, edges[0], edges[1]);
        if right > wrong {
            let steps = libm::round(libm::log(right / wrong) / step);
            before = before.max(steps.min(limit.into()) as u8);
        }
        before
    };
    edges.windows(2).map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lists all ways to choose `thresholds` thresholds between magnitudes.
    fn choices(first: usize, count: usize, thresholds: usize) -> Vec<Vec<usize>> {
        if thresholds == 0 {
            return vec![Vec::new()];
        }
        let after =
            |threshold| choices(threshold + 1, count, thresholds - 1).into_iter().map(move |rest| (threshold, rest));
        (first..count)
            .flat_map(after)
            .map(|(threshold, rest)| std::iter::once(threshold).chain(rest).collect())
            .collect()
    }

    fn told(least: &[[f64; 2]], thresholds: &[usize]) -> f64 {
        let sums = cumulated(least);
        let edges: Vec<usize> = std::iter::once(0).chain(thresholds.iter().copied()).chain([least.len()]).collect();
        edges.windows(2).map(|edges| information(between(&sums, edges[0], edges[1]))).sum()
    }

    /// Do no other thresholds give more information? All are tried, on magnitudes that are right and wrong at random.
    #[test]
    fn thresholds_are_the_most_informative() {
        let stream = softsense_base::Stream::new(1, softsense_base::Purpose::Noise);
        for case in 0..40 {
            let count = 6 + case as usize % 6;
            let least: Vec<[f64; 2]> = (0..count as u64)
                .map(|magnitude| {
                    let [mass, right] = [0, 1].map(|side| stream.uniform(case, 2 * magnitude + side));
                    // Some magnitudes are never met.
                    if mass < 0.1 { [0.0; 2] } else { [mass * right, mass * (1.0 - right)] }
                })
                .collect();
            for thresholds in 1..=4 {
                let found: Vec<usize> =
                    most_informative(&least, thresholds).into_iter().map(|threshold| threshold.into()).collect();
                let others = choices(1, count, thresholds).into_iter().map(|other| told(&least, &other));
                let best = others.fold(f64::NEG_INFINITY, f64::max);
                assert!((told(&least, &found) - best).abs() < 1e-12, "{found:?} of {least:?}");
            }
        }
    }

    /// Is the value of an index the logarithm of its odds, rounded and limited, and never less than the one below?
    #[test]
    fn values_are_log_odds() {
        let odds = |odds: f64| [odds / (1.0 + odds), 1.0 / (1.0 + odds)];
        let least = [[0.5; 2], odds(2.0), odds(20.0), [0.0; 2], odds(1e9), odds(3.0)];
        // ln 2 = 0.69, ln 20 = 3.0, ln 1e9 = 20.7, in steps of a quarter.
        assert_eq!(values(&least, &[1, 2, 3, 4, 5], 0.25, 60), [0, 3, 12, 12, 60, 60]);
        let both = f64::ln((2.0 / 3.0 + 20.0 / 21.0) / (1.0 / 3.0 + 1.0 / 21.0)) / 0.25;
        assert_eq!(values(&least[..3], &[1], 0.25, 60), [0, both.round() as u8]);
    }

    /// Do degrees that no iteration helps, and columns that no check knows, have tables, too?
    #[test]
    fn degrees_that_never_succeed_have_tables() {
        let weights: [(&[usize], &[usize]); 5] =
            [(&[1, 1, 1, 1], &[4]), (&[0, 1, 2], &[3]), (&[1, 1], &[1, 1]), (&[2, 2, 2], &[3, 3]), (&[0, 0, 1], &[1])];
        for (columns, rows) in weights {
            for levels in [1, 3] {
                let design = RcqDesign { message_bits: 3, posterior_bits: 8, levels, iterations: 3 };
                let tables = design.tables(&DegreeDistribution::from_weights(columns, rows), columns.len()).unwrap();
                assert!(
                    (1..=3).contains(&tables.staircases.len()) && tables.designed_for > 0.0,
                    "{columns:?}: {tables:?}"
                );
            }
        }
    }

    /// Do tables of five bits promise as much as min-sum with wider messages, those of four and three bits little less, and those of fewer
    /// bits never more?
    #[test]
    fn few_bits_are_predicted_to_lose_little() {
        // Each layered iteration counts as two flooding ones, as in the design of tables.
        let factors_16ths = [8, 10, 12, 12, 12, 11].into_iter().flat_map(|factor| [factor; 2]).collect();
        let correction = super::super::Correction { factors_16ths, offset: 0 };
        for (degrees, levels) in [(DegreeDistribution::regular(4, 36), 1), (DegreeDistribution::regular(4, 36), 3)] {
            let wide = degrees.decoder_threshold(&correction, 36_864, 1, levels, 40).unwrap();
            let threshold = |message_bits| {
                let design = RcqDesign { message_bits, posterior_bits: 8, levels, iterations: 20 };
                design.tables(&degrees, 36_864).unwrap().designed_for / wide
            };
            let [two, three, four, five] = [2, 3, 4, 5].map(threshold);
            assert!(two < three && three < four && four < five, "{two} {three} {four} {five}");
            assert!(three > 0.97 && four > 0.99 && (0.995..1.02).contains(&five), "{three} {four} {five}");
        }
    }
}
