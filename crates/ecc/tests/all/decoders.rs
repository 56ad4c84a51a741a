//! The fast decoder: against a plain decoder of the same integers, against floating point, and as a law to itself.

use std::ops::ControlFlow;
use std::sync::Arc;

use proptest::prelude::*;
use softsense_base::{Purpose, Stream, binomial_interval};
use softsense_ecc::bits;
use softsense_ecc::catalogue::Code;
use softsense_ecc::channel::Channel;
use softsense_ecc::ldpc::{
    Block, Correction, DegreeDistribution, LEAST_LARGEST, LdpcCode, MOST_LARGEST, MessagePassing, MinSum, ParityCheck,
    QuasiCyclic, RcqDesign, RcqTables, RedundantChecks, Rule, Schedule, Staircase, TRAPPED_CHECKS, Width,
};
use softsense_ecc::measure::{DecoderSpec, Measurement, Stop};
use softsense_ecc::{InstructionSet, Outcome};

fn shipped(name: &str) -> Arc<LdpcCode> {
    let Code::Ldpc(code) = Code::shipped(name).unwrap() else { panic!("an LDPC code") };
    code
}

fn base(code: &LdpcCode) -> &QuasiCyclic {
    code.quasi_cyclic().expect("a base matrix")
}

fn fast(code: &LdpcCode) -> MinSum {
    MinSum::new(base(code), &Correction::for_rate(code.rate())).unwrap()
}

/// The codeword of random data.
fn codeword(code: &LdpcCode, seed: u64, frame: u64) -> Vec<u8> {
    let stream = Stream::new(seed, Purpose::Data);
    let data: Vec<u8> =
        (0..bits::bytes_for(code.data_bits()) as u64).map(|byte| stream.bits(frame, byte) as u8).collect();
    let mut codeword = vec![0; bits::bytes_for(code.codeword_bits())];
    code.encode(&data, &mut codeword);
    codeword
}

/// For each of `frames` frames the codeword of random data and the hard decisions that `channel` makes of it.
fn hard_frames(code: &LdpcCode, channel: &str, seed: u64, frames: u64) -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> {
    let channel: Channel = channel.parse().unwrap();
    let mut noise = channel.noise(code.codeword_bits(), code.rate(), seed).unwrap();
    (0..frames).map(move |frame| {
        let sent = codeword(code, seed, frame);
        let mut received = sent.clone();
        noise.flip(frame, &mut received);
        (sent, received)
    })
}

/// For each of `frames` frames the codeword of random data and the LLRs that `channel` makes of it.
fn soft_frames(code: &LdpcCode, channel: &str, seed: u64, frames: u64) -> impl Iterator<Item = (Vec<u8>, Vec<i8>)> {
    let channel: Channel = channel.parse().unwrap();
    let mut noise = channel.noise(code.codeword_bits(), code.rate(), seed).unwrap();
    (0..frames).map(move |frame| {
        let sent = codeword(code, seed, frame);
        let mut llrs = vec![0; code.codeword_bits()];
        noise.llrs(frame, &sent, &mut llrs);
        (sent, llrs)
    })
}

/// A random base matrix. No column has more than `heaviest` circulants, and the first has so many if there are the rows.
fn random_base(seed: u64, size: usize, rows: usize, data: usize, heaviest: usize) -> QuasiCyclic {
    let stream = Stream::new(seed, Purpose::CodeConstruction);
    let draw = |column: usize, what: usize| stream.bits(column as u64, what as u64);
    let mut blocks = Vec::new();
    for column in 0..rows + data {
        let weight = if column == 0 { heaviest } else { 1 + draw(column, 2 * rows) as usize % heaviest };
        // Each row has the column of its number.
        let mut order: Vec<usize> = (0..rows).filter(|&row| row != column).collect();
        order.sort_by_key(|&row| draw(column, row));
        order.splice(0..0, (column < rows).then_some(column));
        let shift = |row: usize| (draw(column, rows + row) % size as u64) as u32;
        let block = |&row: &usize| Block { row: row as u32, column: column as u32, shift: shift(row) };
        blocks.extend(order.iter().take(weight).map(block));
    }
    QuasiCyclic::new(size, rows, rows + data, blocks).unwrap()
}

/// How often in an iteration the fast decoder checks its decisions, at most.
const CHECKS_PER_ITERATION: usize = 4;

/// Updates the checks one after the other, as the fast decoder orders them and stops; `update` takes the iteration, the check, and
/// the a-posteriori values.
fn layered(
    base: &QuasiCyclic,
    matrix: &ParityCheck,
    mut totals: Vec<i32>,
    max_iterations: u32,
    mut update: impl FnMut(usize, usize, &mut [i32]),
) -> (Outcome, Vec<u8>) {
    let odd =
        |totals: &[i32], check| matrix.row(check).iter().fold(false, |odd, &bit| odd ^ (totals[bit as usize] < 0));
    let violates_any = |totals: &[i32]| (0..matrix.rows()).any(|check| odd(totals, check));
    let (rows, size) = (base.rows(), base.circulant_size());
    let stride = rows.div_ceil(CHECKS_PER_ITERATION);
    let mut iterations = 0;
    let mut converged = !violates_any(&totals);
    while !converged && iterations < max_iterations {
        for row in 0..rows {
            (row * size..(row + 1) * size).for_each(|check| update(iterations as usize, check, &mut totals));
            let last = row + 1 == rows;
            if last || iterations > 0 && (row + 1).is_multiple_of(stride) {
                converged = !violates_any(&totals);
                if converged {
                    break;
                }
            }
        }
        iterations += 1;
    }
    let mut word = vec![0; bits::bytes_for(totals.len())];
    totals.iter().enumerate().for_each(|(bit, &total)| bits::set(&mut word, bit, total < 0));
    let syndrome_weight = matrix.syndrome_weight(&word) as u32;
    (Outcome { converged, iterations, syndrome_weight }, word)
}

/// A decoder that is plain enough to be believed.
trait Reference {
    fn decode_hard(&self, received: &[u8], max_iterations: u32) -> (Outcome, Vec<u8>);
    fn decode_soft(&self, llrs: &[i8], max_iterations: u32) -> (Outcome, Vec<u8>);
}

/// Layered min-sum in the integers of the fast decoder, as one would write it down: check by check, nothing narrower than
/// 32 bits.
struct Plain<'a> {
    base: &'a QuasiCyclic,
    matrix: ParityCheck,
    correction: Correction,
    hard: Vec<Pass>,
    soft: Vec<Pass>,
    /// The iterations of a first pass over hard decisions count where a second follows; of LLRs they never do.
    counts_both: bool,
}

/// A pass over a word.
#[derive(Clone, Copy)]
struct Pass {
    /// The magnitude of a hard decision, and the largest of a soft one.
    channel: i32,
    /// The largest message.
    limit: i32,
    /// A-posteriori values saturate to so many bits.
    bits: u32,
}

const fn pass(channel: i32, limit: i32, bits: u32) -> Pass {
    Pass { channel, limit, bits }
}

impl<'a> Plain<'a> {
    fn new(base: &'a QuasiCyclic, correction: &Correction, width: Width) -> Self {
        let matrix = base.expand();
        let heaviest = matrix.column_weights().into_iter().max().unwrap() as i32;
        let (wide_hard, wide_soft, narrow_soft) = (pass(16, 127, 16), pass(127, 127, 16), pass(64, 40, 8));
        let is_narrow = base.rows() as f64 / base.columns() as f64 <= 0.3 && heaviest <= 16;
        let (hard, soft) = match width {
            Width::Adaptive => (
                match heaviest {
                    4 => vec![pass(22, 26, 8), wide_hard],
                    _ if is_narrow => vec![pass(16, 40, 8), wide_hard],
                    _ => vec![wide_hard],
                },
                if is_narrow { vec![narrow_soft, wide_soft] } else { vec![wide_soft] },
            ),
            Width::Sixteen => (vec![wide_hard], vec![wide_soft]),
            Width::Eight { largest } => {
                let channel = (f64::from(largest) * 22.0 / 126.0).round() as i32;
                (vec![pass(channel, (i32::from(largest) - channel) / heaviest, 8)], vec![narrow_soft])
            }
        };
        Self { base, matrix, correction: correction.clone(), hard, soft, counts_both: heaviest == 4 }
    }

    fn decode(&self, totals: Vec<i32>, pass: Pass, factors: &[u8], max_iterations: u32) -> (Outcome, Vec<u8>) {
        let mut messages = vec![0; self.matrix.edges()];
        layered(self.base, &self.matrix, totals, max_iterations, |iteration, check, totals| {
            let factor = i32::from(*factors.get(iteration).unwrap_or(factors.last().unwrap()));
            self.update(check, factor, pass, totals, &mut messages);
        })
    }

    fn passes(
        &self,
        passes: &[Pass],
        counts_both: bool,
        one: impl Fn(Pass) -> (Outcome, Vec<u8>),
    ) -> (Outcome, Vec<u8>) {
        let (first, word) = one(passes[0]);
        let given_up = counts_both && first.syndrome_weight > TRAPPED_CHECKS;
        match passes.get(1) {
            Some(&again) if !first.converged && !given_up && first.iterations > 0 => {
                let (second, word) = one(again);
                let before = if counts_both { first.iterations } else { 0 };
                (Outcome { iterations: before + second.iterations, ..second }, word)
            }
            _ => (first, word),
        }
    }

    fn update(&self, check: usize, factor: i32, pass: Pass, totals: &mut [i32], messages: &mut [i32]) {
        let saturated = |value: i32| value.clamp(-(1 << (pass.bits - 1)), (1 << (pass.bits - 1)) - 1);
        let bits = self.matrix.row(check);
        let messages = &mut messages[self.matrix.row_start(check)..][..bits.len()];
        let extrinsic: Vec<i32> =
            bits.iter().zip(&*messages).map(|(&bit, sent)| saturated(totals[bit as usize] - sent)).collect();
        let magnitudes: Vec<i32> = extrinsic.iter().map(|value| value.abs().min(127)).collect();
        let negative = extrinsic.iter().filter(|&&value| value < 0).count() % 2 == 1;
        let at = (0..bits.len()).min_by_key(|&index| magnitudes[index]).unwrap();
        let others = (0..bits.len()).filter(|&index| index != at).map(|index| magnitudes[index]);
        let (first, second) = (magnitudes[at], others.min().unwrap_or(127));
        for (index, (&bit, message)) in bits.iter().zip(messages).enumerate() {
            let least = if index == at { second } else { first };
            let size = (((least * factor + 8) >> 4) - i32::from(self.correction.offset)).clamp(0, pass.limit);
            *message = if negative ^ (extrinsic[index] < 0) { -size } else { size };
            totals[bit as usize] = saturated(extrinsic[index] + *message);
        }
    }
}

impl Reference for Plain<'_> {
    fn decode_hard(&self, received: &[u8], max_iterations: u32) -> (Outcome, Vec<u8>) {
        self.passes(&self.hard, self.counts_both, |pass| {
            let channel = |bit| if bits::get(received, bit) { -pass.channel } else { pass.channel };
            let totals = (0..self.matrix.columns()).map(channel).collect();
            self.decode(totals, pass, &self.correction.factors_16ths, max_iterations)
        })
    }

    fn decode_soft(&self, llrs: &[i8], max_iterations: u32) -> (Outcome, Vec<u8>) {
        let factors = &self.correction.factors_16ths;
        let capped: Vec<u8> = factors.iter().map(|factor| factor.min(factors.last().unwrap())).copied().collect();
        self.passes(&self.soft, false, |pass| {
            let totals = llrs.iter().map(|&llr| i32::from(llr).clamp(-pass.channel, pass.channel)).collect();
            self.decode(totals, pass, &capped, max_iterations)
        })
    }
}

/// Min-sum of few bits as a circuit would have it: bits and checks tell each other a sign and an index, a check keeps its two least
/// indices, the place of the least and signs, and magnitudes stand in the tables alone.
struct Indexed<'a> {
    base: &'a QuasiCyclic,
    matrix: ParityCheck,
    hard: RcqTables,
    soft: RcqTables,
    /// Which of several edges with the least index is taken for its place.
    last_of_equals: bool,
}

/// What a check keeps.
#[derive(Clone, Default)]
struct Kept {
    least: usize,
    second: usize,
    place: usize,
    negative: Vec<bool>,
}

impl Kept {
    /// The index that edge `edge` was told.
    fn index(&self, edge: usize) -> usize {
        if edge == self.place { self.second } else { self.least }
    }
}

impl Indexed<'_> {
    fn decode(&self, totals: Vec<i32>, staircases: &[Staircase], max_iterations: u32) -> (Outcome, Vec<u8>) {
        let of = |iteration: usize| staircases.get(iteration).unwrap_or(staircases.last().unwrap());
        let mut kept = vec![Kept::default(); self.matrix.rows()];
        layered(self.base, &self.matrix, totals, max_iterations, |iteration, check, totals| {
            let (bits, kept) = (self.matrix.row(check), &mut kept[check]);
            let told = |kept: &Kept, edge: usize, staircase: &Staircase| {
                let size = i32::from(staircase.values()[kept.index(edge)]);
                if kept.negative[edge] { -size } else { size }
            };
            // What was told in the last iteration is read by the table of the last iteration.
            let extrinsic: Vec<i32> = bits
                .iter()
                .enumerate()
                .map(|(edge, &bit)| {
                    let before = if iteration == 0 { 0 } else { told(kept, edge, of(iteration - 1)) };
                    totals[bit as usize] - before
                })
                .collect();
            let thresholds = of(iteration).thresholds();
            let received: Vec<(bool, usize)> = extrinsic
                .iter()
                .map(|&value| {
                    let magnitude = value.abs().min(127);
                    (value < 0, thresholds.iter().filter(|&&threshold| i32::from(threshold) <= magnitude).count())
                })
                .collect();
            let least = received.iter().map(|&(_, index)| index).min().unwrap();
            let is_least = |&edge: &usize| received[edge].1 == least;
            let place =
                if self.last_of_equals { (0..bits.len()).rfind(is_least) } else { (0..bits.len()).find(is_least) };
            let others = (0..bits.len()).filter(|&edge| Some(edge) != place).map(|edge| received[edge].1);
            let odd = received.iter().filter(|(negative, _)| *negative).count() % 2 == 1;
            *kept = Kept {
                least,
                second: others.min().unwrap_or(thresholds.len()),
                place: place.unwrap(),
                negative: received.iter().map(|(negative, _)| odd ^ negative).collect(),
            };
            for (edge, &bit) in bits.iter().enumerate() {
                totals[bit as usize] = extrinsic[edge] + told(kept, edge, of(iteration));
            }
        })
    }

    fn of_hard(&self, word: &[u8], size: u8, staircases: &[Staircase], max_iterations: u32) -> (Outcome, Vec<u8>) {
        let size = i32::from(size);
        let channel = |bit| if bits::get(word, bit) { -size } else { size };
        self.decode((0..self.matrix.columns()).map(channel).collect(), staircases, max_iterations)
    }

    /// The second pass over a word that is trapped.
    fn released(&self, (first, word): (Outcome, Vec<u8>), max_iterations: u32) -> (Outcome, Vec<u8>) {
        if first.converged || first.syndrome_weight > TRAPPED_CHECKS || first.iterations == 0 {
            return (first, word);
        }
        let (channel, limit) = (self.hard.channel_limit, self.hard.message_limit);
        let least = (channel / 11).clamp(1, limit);
        let threshold = (channel + 2 * least).min(127);
        let staircase = Staircase::new(&[threshold], &[least, threshold.min(limit)]).unwrap();
        let (second, word) = self.of_hard(&word, channel, &[staircase], max_iterations);
        (Outcome { iterations: first.iterations + second.iterations, ..second }, word)
    }
}

impl Reference for Indexed<'_> {
    fn decode_hard(&self, received: &[u8], max_iterations: u32) -> (Outcome, Vec<u8>) {
        let first = self.of_hard(received, self.hard.channel_limit, &self.hard.staircases, max_iterations);
        self.released(first, max_iterations)
    }

    fn decode_soft(&self, llrs: &[i8], max_iterations: u32) -> (Outcome, Vec<u8>) {
        let limit = i32::from(self.soft.channel_limit);
        let totals = llrs.iter().map(|&llr| i32::from(llr).clamp(-limit, limit)).collect();
        self.released(self.decode(totals, &self.soft.staircases, max_iterations), max_iterations)
    }
}

/// A decoder of each instruction set beside the plain one.
struct Compared<'a> {
    plain: Box<dyn Reference + 'a>,
    sets: Vec<MinSum>,
    /// Words decoded that had errors and converged, and that did not.
    counts: [u32; 2],
}

impl<'a> Compared<'a> {
    fn new(base: &'a QuasiCyclic, correction: &Correction, width: Width) -> Self {
        let sets = InstructionSet::available();
        let sets = sets.into_iter().map(|set| MinSum::with(base, correction, width, set).unwrap());
        Self { plain: Box::new(Plain::new(base, correction, width)), sets: sets.collect(), counts: [0; 2] }
    }

    fn rcq(base: &'a QuasiCyclic, hard: &RcqTables, soft: &RcqTables, last_of_equals: bool) -> Self {
        let sets = InstructionSet::available().into_iter().map(|set| MinSum::rcq(base, hard, soft, set).unwrap());
        let indexed = Indexed { base, matrix: base.expand(), hard: hard.clone(), soft: soft.clone(), last_of_equals };
        Self { plain: Box::new(indexed), sets: sets.collect(), counts: [0; 2] }
    }

    fn hard(&mut self, received: &[u8], max_iterations: u32) {
        let expected = self.plain.decode_hard(received, max_iterations);
        self.check(expected, max_iterations, |decoder| {
            let mut word = received.to_vec();
            (decoder.decode_hard(&mut word, max_iterations), word)
        });
    }

    fn soft(&mut self, llrs: &[i8], max_iterations: u32) {
        let expected = self.plain.decode_soft(llrs, max_iterations);
        self.check(expected, max_iterations, |decoder| {
            // What stands there before does not matter.
            let mut word = vec![0xa5; bits::bytes_for(llrs.len())];
            (decoder.decode_soft(llrs, max_iterations, &mut word), word)
        });
    }

    fn check(
        &mut self,
        expected: (Outcome, Vec<u8>),
        max_iterations: u32,
        decode: impl Fn(&mut MinSum) -> (Outcome, Vec<u8>),
    ) {
        for decoder in &mut self.sets {
            let (outcome, word) = decode(decoder);
            let name = decoder.instruction_set().name();
            assert_eq!(outcome, expected.0, "{name}");
            assert!(word == expected.1, "{name}: {} bits differ", bits::distance(&word, &expected.1));
        }
        let outcome = expected.0;
        assert_eq!(outcome.converged, outcome.syndrome_weight == 0);
        let all = [max_iterations, 2 * max_iterations];
        assert!(outcome.iterations <= all[1] && (outcome.converged || all.contains(&outcome.iterations)));
        if outcome.iterations > 0 {
            self.counts[usize::from(!outcome.converged)] += 1;
        }
    }
}

/// Is every instruction set the plain decoder of the same integers on the shipped codes, bit for bit, in iterations and in
/// violated checks, whether words converge or not?
#[test]
fn shipped_codes_decode_as_plainly() {
    // Column weights 4; irregular up to 10; 3.
    let cases: [(&str, &[&str], &[&str]); 3] = [
        ("flash-8/9", &["errors:180", "errors:310", "errors:335", "errors:800"], &["gaussian:0.0205:7", "awgn:4.2"]),
        ("adaptive-1/2", &["bsc:0.06", "bsc:0.087", "bsc:0.2"], &["gaussian:0.14:3"]),
        ("adaptive-1/4", &["bsc:0.17"], &["gaussian:0.19:7"]),
    ];
    for (name, hard, soft) in cases {
        let code = shipped(name);
        let mut compared = Compared::new(base(&code), &Correction::for_rate(code.rate()), Width::Adaptive);
        for channel in hard {
            for (frame, (_, received)) in hard_frames(&code, channel, 1, 3).enumerate() {
                let few: &[u32] = if frame == 0 { &[0, 1, 2, 20] } else { &[20] };
                few.iter().for_each(|&iterations| compared.hard(&received, iterations));
            }
        }
        for channel in soft {
            for (frame, (_, llrs)) in soft_frames(&code, channel, 1, 2).enumerate() {
                let few: &[u32] = if frame == 0 { &[0, 1, 2, 20] } else { &[20] };
                few.iter().for_each(|&iterations| compared.soft(&llrs, iterations));
            }
        }
        let [converged, failed] = compared.counts;
        assert!(converged >= 2 && failed >= 2, "{name}: {converged} converged, {failed} failed");
    }
}

/// Sizes that vectors divide, and any others: one in part, whole ones and one in part, a single bit.
fn circulant_size() -> impl Strategy<Value = usize> {
    prop_oneof![prop::sample::select(vec![16, 32, 48, 64, 96, 128, 192, 256]), 1usize..140, 140usize..370]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// The same of random codes whose circulants are one vector of every instruction set, several, none of the wide ones, or whose
    /// last vector is filled in part, with a-posteriori values of either width, and with any correction.
    #[test]
    fn random_codes_decode_as_plainly(
        seed in any::<u64>(),
        size in circulant_size(),
        (rows, data) in (1usize..7, 1usize..9),
        heaviest in 1usize..7,
        factors in prop::option::of(prop::collection::vec(1u8..=16, 1..4)),
        offset in 0u8..4,
        noise in prop::sample::select(vec![0.0, 0.003, 0.01, 0.03, 0.08, 0.2, 0.5]),
        max_iterations in prop::sample::select(vec![0, 1, 2, 20]),
        width in prop::sample::select(vec![
            Width::Adaptive, Width::Sixteen, Width::Eight { largest: MOST_LARGEST }, Width::Eight { largest: LEAST_LARGEST },
        ]),
    ) {
        let base = random_base(seed, size, rows, data, heaviest);
        let correction = match factors {
            Some(factors_16ths) => Correction { factors_16ths, offset },
            None => Correction::for_rate(data as f64 / (rows + data) as f64),
        };
        let mut compared = Compared::new(&base, &correction, width);
        let code = LdpcCode::new(base.clone(), RedundantChecks::Accept).unwrap();
        let stream = Stream::new(seed, Purpose::Noise);
        for frame in 0..3 {
            let sent = codeword(&code, seed, frame);
            let mut received = sent.clone();
            let llrs: Vec<i8> = (0..code.codeword_bits()).map(|bit| {
                let wrong = stream.uniform(frame, bit as u64) < noise;
                if wrong {
                    bits::flip(&mut received, bit);
                }
                // Every magnitude there is, 0 and 128 among them, the large ones seldom wrong.
                let draw = stream.bits(frame + 3, bit as u64);
                let magnitude = if wrong { draw as u8 >> 3 } else { draw as u8 >> 1 };
                let llr = if bits::get(&received, bit) { -i16::from(magnitude) } else { magnitude.into() };
                if draw >> 56 == 0 { i8::MIN } else { llr as i8 }
            }).collect();
            compared.hard(&received, max_iterations);
            compared.soft(&llrs, max_iterations);
        }
    }
}

/// Is every instruction set a decoder that passes nothing but signs and indices of few bits, bit for bit, with the tables that are
/// designed for the shipped codes, whichever of several least indices counts as the least?
#[test]
fn few_bits_decode_as_indices_do() {
    // Columns of weight 4, of up to 10, and of 3; a-posteriori values of eight bits and of ten.
    for (name, message_bits, posterior_bits, hard, soft) in [
        ("flash-8/9", 4, 8, ["errors:180", "errors:330"], "gaussian:0.0195:3"),
        ("flash-8/9", 3, 10, ["errors:300", "errors:335"], "gaussian:0.0205:7"),
        ("adaptive-1/2", 4, 10, ["bsc:0.06", "bsc:0.08"], "gaussian:0.14:3"),
        ("adaptive-1/4", 3, 8, ["bsc:0.1", "bsc:0.17"], "gaussian:0.19:2"),
    ] {
        let code = shipped(name);
        let design = |levels| RcqDesign { message_bits, posterior_bits, levels, iterations: 20 };
        let [for_hard, for_soft] = [1, 3].map(|levels| code.rcq_tables(design(levels)).unwrap());
        for last_of_equals in [false, true] {
            let mut compared = Compared::rcq(base(&code), &for_hard, &for_soft, last_of_equals);
            for channel in hard {
                hard_frames(&code, channel, 1, 2).for_each(|(_, received)| compared.hard(&received, 20));
            }
            soft_frames(&code, soft, 1, 2).for_each(|(_, llrs)| compared.soft(&llrs, 20));
            assert!(compared.counts[0] >= 1, "{name}: {:?} converged and failed", compared.counts);
        }
    }
}

/// Random tables of one iteration.
fn staircase(seed: u64, iteration: u64, steps: usize, limit: u8) -> Staircase {
    let stream = Stream::new(seed, Purpose::Noise);
    let sorted = |what: u64, count: usize, most: u8| {
        let number = |index| (stream.bits(iteration, what + index) % (u64::from(most) + 1)) as u8;
        let mut numbers: Vec<u8> = (0..count as u64).map(number).collect();
        numbers.sort_unstable();
        numbers
    };
    Staircase::new(&sorted(0, steps, 127), &sorted(100, steps + 1, limit)).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// The same of random codes and random tables, steps of no width and answers of zero among them.
    #[test]
    fn any_tables_decode_as_indices_do(
        seed in any::<u64>(),
        size in circulant_size(),
        (rows, data) in (1usize..7, 1usize..9),
        heaviest in 1usize..7,
        (steps, tables) in (prop::sample::select(vec![0usize, 1, 3, 7, 15]), 1u64..4),
        (channel_limit, message_limit) in (1u8..=127, 1u8..=127),
        last_of_equals in any::<bool>(),
        noise in prop::sample::select(vec![0.003, 0.03, 0.2]),
        max_iterations in prop::sample::select(vec![0, 1, 2, 20]),
    ) {
        let base = random_base(seed, size, rows, data, heaviest);
        let some = |from: u64| RcqTables {
            designed_for: noise,
            channel_limit,
            message_limit,
            staircases: (from..from + tables).map(|iteration| staircase(seed, iteration, steps, message_limit)).collect(),
        };
        let mut compared = Compared::rcq(&base, &some(0), &some(10), last_of_equals);
        let code = LdpcCode::new(base.clone(), RedundantChecks::Accept).unwrap();
        let stream = Stream::new(seed, Purpose::Noise);
        for frame in 20..22 {
            let mut received = codeword(&code, seed, frame);
            let llrs: Vec<i8> = (0..code.codeword_bits()).map(|bit| {
                if stream.uniform(frame, bit as u64) < noise {
                    bits::flip(&mut received, bit);
                }
                stream.bits(frame + 3, bit as u64) as i8
            }).collect();
            compared.hard(&received, max_iterations);
            compared.soft(&llrs, max_iterations);
        }
    }
}

/// Are tables that are none refused, and does the error say what was found?
#[test]
fn bad_tables_are_refused() {
    for (thresholds, values, found) in [
        (
            &[1, 2][..],
            &[1, 2][..],
            "found 2 thresholds and 2 values, expected at most 15 thresholds, and one value more than thresholds",
        ),
        (&[2, 1], &[1, 2, 3], "found the thresholds [2, 1]"),
        (&[1, 2], &[1, 3, 2], "found the values [1, 3, 2]"),
        (&[1, 128], &[1, 2, 3], "found the thresholds [1, 128], expected numbers in ascending order up to 127"),
        (&[1; 16], &[1; 17], "found 16 thresholds"),
    ] {
        let error = Staircase::new(thresholds, values).unwrap_err().to_string();
        assert!(error.contains(found), "{error}");
    }
    let good = RcqTables {
        designed_for: 0.01,
        channel_limit: 22,
        message_limit: 26,
        staircases: vec![Staircase::new(&[5], &[1, 26]).unwrap()],
    };
    let code = random_base(1, 64, 2, 3, 2);
    let decoder = |hard: &RcqTables, soft: &RcqTables| MinSum::rcq(&code, hard, soft, InstructionSet::detect());
    assert!(decoder(&good, &good).is_ok());
    for (bad, found) in [
        (RcqTables { staircases: Vec::new(), ..good.clone() }, "staircases: found an empty list"),
        (RcqTables { channel_limit: 0, ..good.clone() }, "channel_limit: found 0, expected 1 to 127"),
        (RcqTables { message_limit: 128, ..good.clone() }, "message_limit: found 128, expected 1 to 127"),
        (RcqTables { message_limit: 25, ..good.clone() }, "found an answer of 26, expected at most 25"),
    ] {
        for error in
            [decoder(&bad, &good), decoder(&good, &bad)].map(|decoder| decoder.err().expect("refused").to_string())
        {
            assert!(error.contains(found), "{error}");
        }
    }
    let degrees = DegreeDistribution::regular(4, 36);
    let design = RcqDesign { message_bits: 4, posterior_bits: 8, levels: 1, iterations: 20 };
    for (bad, found) in [
        (RcqDesign { message_bits: 1, ..design }, "found 1 bits of a message, expected 2 to 5"),
        (RcqDesign { posterior_bits: 11, ..design }, "found 11 bits of an a-posteriori value, expected 7 to 10"),
        (RcqDesign { levels: 8, ..design }, "levels: found 8"),
    ] {
        let error = bad.tables(&degrees, 36864).unwrap_err().to_string();
        assert!(error.contains(found), "{error}");
    }
    let error = design.tables(&DegreeDistribution::regular(106, 200), 36864).unwrap_err().to_string();
    assert!(error.contains("8 bits for a column of weight 106, expected room"), "{error}");
}

/// Do the a-posteriori values of the heaviest column hold, where every message to it is as large as can be?
#[test]
fn the_heaviest_column_does_not_overflow() {
    let star = |rows: u32| {
        let blocks = (0..rows).flat_map(|row| {
            [Block { row, column: 0, shift: row % 16 }, Block { row, column: row + 1, shift: 7 * row % 16 }]
        });
        QuasiCyclic::new(16, rows as usize, rows as usize + 1, blocks.collect()).unwrap()
    };
    let plain_min_sum = Correction { factors_16ths: vec![16], offset: 0 };
    let heaviest = star(257);
    let mut compared = Compared::new(&heaviest, &plain_min_sum, Width::Adaptive);
    for sign in [1, -1] {
        // One wrong bit, so that there is something to do.
        let mut llrs = vec![127 * sign; 258 * 16];
        llrs[17] = -60 * sign;
        compared.soft(&llrs, 20);
        llrs[..16].fill(-sign);
        compared.soft(&llrs, 20);
    }
    assert_eq!(compared.counts, [4, 0]);
    let error = MinSum::new(&star(258), &plain_min_sum).err().expect("a column too heavy").to_string();
    assert!(error.contains("found a column of weight 258, expected at most 257"), "{error}");
}

/// Are corrections out of range and instructions that there are not refused, and does the error say what was found?
#[test]
fn bad_parameters_are_refused() {
    let correction = |factors: &[u8], offset| Correction { factors_16ths: factors.to_vec(), offset };
    let good = correction(&[12], 0);
    let refused = |correction: &Correction| {
        MinSum::new(&random_base(1, 64, 2, 3, 2), correction).err().expect("refused").to_string()
    };
    for (wrong, found) in [
        (correction(&[], 0), "factors_16ths: found an empty list"),
        (correction(&[12, 0], 0), "factors_16ths: found 0"),
        (correction(&[17], 0), "factors_16ths: found 17"),
        (correction(&[12], 128), "offset: found 128"),
    ] {
        let error = refused(&wrong);
        assert!(error.contains(found), "{error}");
    }
    let available = InstructionSet::available();
    for set in [InstructionSet::Portable, InstructionSet::Avx2, InstructionSet::Avx512] {
        let decoder = MinSum::with(&random_base(1, 64, 2, 3, 2), &good, Width::Adaptive, set);
        assert_eq!(decoder.is_ok(), available.contains(&set), "{}", set.name());
    }
}

/// Failures of two decoders on the same frames.
#[derive(Debug, Default)]
struct Paired {
    frames: u32,
    both: u32,
    /// Only the first failed, only the second.
    only: [u32; 2],
    undetected: [u32; 2],
}

impl Paired {
    /// Counts a frame: the outcome and the decision of either decoder.
    fn count(&mut self, sent: &[u8], decoded: [(Outcome, &[u8]); 2]) {
        let failed = decoded.map(|(_, word)| word != sent);
        for (decoder, (outcome, _)) in decoded.iter().enumerate() {
            self.undetected[decoder] += u32::from(outcome.converged && failed[decoder]);
            assert!(outcome.converged || failed[decoder], "a codeword not recognised");
        }
        self.frames += 1;
        match failed {
            [true, true] => self.both += 1,
            [true, false] => self.only[0] += 1,
            [false, true] => self.only[1] += 1,
            [false, false] => {}
        }
    }

    /// By how many standard deviations the first failed more often, were both as likely to fail alone.
    ///
    /// Source: Q. McNemar, "Note on the sampling error of the difference between correlated proportions or percentages",
    /// 1947.
    fn excess(&self) -> f64 {
        let [first, second] = self.only.map(f64::from);
        (first - second) / (first + second).max(1.0).sqrt()
    }
}

/// Hard decisions as LLRs, every bit being as sure. 4.7 is right for an error rate of 0.009.
fn hard_llrs(received: &[u8]) -> Vec<f64> {
    (0..8 * received.len()).map(|bit| if bits::get(received, bit) { -4.7 } else { 4.7 }).collect()
}

/// Do the fast decoder and sum-product in floating point, with twice the iterations as flooding needs, fail for the same
/// words?
///
/// Of 400 words with 338 errors sum-product failed for 26, and the fast decoder for all of these and 69 more, 17 %: the
/// price of min-sum, which shrinks with the noise as no more than F words can differ (8e-6 with 300 errors). Of 60 words that
/// is 4 and 10.4; the bound is four standard deviations above, and losing a quarter of all words more does not pass (power 0.7).
#[test]
#[ignore = "long: `make laws`"]
fn law_words_fail_as_by_sum_product() {
    let code = shipped("flash-8/9");
    let (mut fast, matrix) = (fast(&code), code.parity_check().clone());
    let mut oracle = MessagePassing::<f64>::new(matrix, Schedule::Flooding, Rule::SumProduct, 40).unwrap();
    let mut paired = Paired::default();
    for (sent, received) in hard_frames(&code, "errors:338", 3, 60) {
        let (mut word, mut decided) = (received.clone(), received.clone());
        let outcome = fast.decode_hard(&mut word, 20);
        let expected = oracle.decode(&hard_llrs(&received), &mut decided);
        paired.count(&sent, [(outcome, &word), (expected, &decided)]);
    }
    assert_eq!(paired.undetected, [0, 0]);
    assert!(paired.both >= 2 && paired.only[0] <= 22 && paired.only[1] <= 1, "{paired:?}");
}

fn layered_min_sum(code: &LdpcCode) -> MessagePassing<f64> {
    let rule = Rule::NormalisedMinSum { factor: 11.0 / 16.0 };
    MessagePassing::new(code.parity_check().clone(), Schedule::Layered, rule, 20).unwrap()
}

/// Do messages and a-posteriori values of eight bits lose little against min-sum of a constant factor in floating point on
/// hard decisions, where a fifth of the words fails?
///
/// Of 3000 words with 336 errors 502 failed in floating point. Of the fast decoder with the same factor 65 words more and 30
/// fewer failed; with factors that grow, which are the better at lower error rates, 113 more and 28 fewer. Of 300 words that
/// is 6.5 and 3, or 11.3 and 2.8: the bounds are four standard deviations above, and decoders that lose four times as many
/// words as these do not pass (power 0.9).
#[test]
fn eight_bits_lose_little_on_hard_decisions() {
    let code = shipped("flash-8/9");
    let constant = Correction { factors_16ths: vec![11], offset: 0 };
    let mut decoders = [MinSum::new(base(&code), &constant).unwrap(), fast(&code)];
    let mut float = layered_min_sum(&code);
    let mut paired = [(); 2].map(|()| Paired::default());
    for (sent, received) in hard_frames(&code, "errors:336", 3, 300) {
        let mut decided = received.clone();
        let expected = float.decode(&hard_llrs(&received), &mut decided);
        for (decoder, paired) in decoders.iter_mut().zip(&mut paired) {
            let mut word = received.clone();
            let outcome = decoder.decode_hard(&mut word, 20);
            paired.count(&sent, [(outcome, &word), (expected, &decided)]);
        }
    }
    for (paired, bound) in paired.iter().zip([17, 25]) {
        assert!(paired.both >= 30 && paired.only[0] <= bound && paired.only[1] <= 10, "{paired:?}");
        assert_eq!(paired.undetected, [0, 0]);
    }
}

/// Do messages of eight bits and a-posteriori values of 16 lose nothing on soft decisions of three and of seven levels?
///
/// Of 2000 words at `gaussian:0.018:3` 176 failed in floating point; with the same factor 7 more and 15 fewer by the fast
/// decoder, with its own factors 12 more and 17 fewer. At `gaussian:0.0202:7`: 95, 7 and 2, 7 and 6. Of 240 words the
/// difference may be three standard deviations. A decoder that loses half as many again, 15 of 30, exceeds that with a power
/// of 0.7.
#[test]
fn eight_bits_lose_nothing_on_soft_decisions() {
    let code = shipped("flash-8/9");
    let constant = Correction { factors_16ths: vec![11], offset: 0 };
    let mut decoders = [MinSum::new(base(&code), &constant).unwrap(), fast(&code)];
    let mut float = layered_min_sum(&code);
    for channel in ["gaussian:0.018:3", "gaussian:0.0205:7"] {
        let mut paired = [(); 2].map(|()| Paired::default());
        for (sent, llrs) in soft_frames(&code, channel, 4, 240) {
            let mut decided = vec![0; sent.len()];
            let exact: Vec<f64> = llrs.iter().map(|&llr| llr.into()).collect();
            let expected = float.decode(&exact, &mut decided);
            for (decoder, paired) in decoders.iter_mut().zip(&mut paired) {
                let mut word = vec![0; sent.len()];
                let outcome = decoder.decode_soft(&llrs, 20, &mut word);
                paired.count(&sent, [(outcome, &word), (expected, &decided)]);
            }
        }
        for paired in paired {
            assert!(paired.both >= 15 && paired.excess() <= 3.0, "{channel}: {paired:?}");
            assert_eq!(paired.undetected, [0, 0]);
        }
    }
}

/// Does the exact interval of so many frames of `flash-8/9`, at a confidence of 99.95 %, hold the expected rate of failures?
fn fails_as_often(decoder: &str, channel: &str, frames: u64, expected: f64) {
    let measurement = Measurement {
        code: Code::shipped("flash-8/9").unwrap(),
        decoder: DecoderSpec { algorithm: decoder.parse().unwrap(), max_iterations: 20 },
        channel: channel.parse().unwrap(),
        threads: 1,
        stop: Stop::Frames(frames),
        seed: 5,
    };
    let result = measurement.run(|_| ControlFlow::Continue(())).unwrap();
    let (low, high) = binomial_interval(result.frame_errors, frames, 0.9995);
    assert!(low <= expected && expected <= high, "{decoder}, {channel}: {low} to {high}, expected {expected}");
    assert_eq!((result.frames, result.undetected), (frames, 0), "{decoder}, {channel}");
}

/// Are the error rates of the default code those that long runs found?
///
/// The rates that were found must lie in the exact interval at a confidence of 99.95 %. Long runs: with 300 errors 8 of
/// 1,000,000, with 324 6098 of 400,000, with 336 17,647 of 100,000, and at p = 0.0085 5931 of 100,000. Seen with a power of
/// 0.9 is a rate larger by two thirds with 324 errors, by a quarter with 336 and by two fifths at 0.0085.
#[test]
fn error_rates_are_the_known_ones() {
    for (channel, frames, expected) in [
        ("errors:300", 3000, 8e-6),
        ("errors:324", 6000, 1.52e-2),
        ("errors:336", 2000, 0.1765),
        ("bsc:0.0085", 4000, 5.93e-2),
    ] {
        fails_as_often("min-sum", channel, frames, expected);
    }
}

/// Do messages of few bits, by tables, fail as often as long runs found?
///
/// As in `error_rates_are_the_known_ones`. Long runs: with 325 errors 968 of 40,000 by four bits, 4313 of 40,000 by three. Seen with a
/// power of 0.9 is a rate larger by three quarters with four bits, and by a third with three.
#[test]
fn few_bits_fail_as_often_as_long_runs_found() {
    for (decoder, frames, expected) in [("rcq:4", 3000, 2.42e-2), ("rcq:3", 3000, 0.1078)] {
        fails_as_often(decoder, "errors:325", frames, expected);
    }
}

/// Does a codeword come back at once, is a single error corrected in an iteration, and is the syndrome weight told that of
/// the word decided?
#[test]
fn decoding_ends_when_it_is_done() {
    for name in ["flash-8/9", "adaptive-3/4"] {
        let code = shipped(name);
        let mut decoder = fast(&code);
        let soft = |word: &[u8]| -> Vec<i8> {
            (0..code.codeword_bits()).map(|bit| if bits::get(word, bit) { -40 } else { 40 }).collect()
        };
        let done = |iterations| Outcome { converged: true, iterations, syndrome_weight: 0 };
        for frame in 0..40 {
            let sent = codeword(&code, 8, frame);
            let mut wrong = sent.clone();
            bits::flip(&mut wrong, 911 * (frame as usize + 1));
            for (received, iterations) in [(&sent, 0), (&wrong, 1)] {
                let (mut word, mut decided) = (received.clone(), vec![0xff; sent.len()]);
                assert_eq!(decoder.decode_hard(&mut word, 20), done(iterations), "{name}");
                assert_eq!(decoder.decode_soft(&soft(received), 20, &mut decided), done(iterations), "{name}");
                assert!(word == sent && decided == sent, "{name}");
            }
            // With no iteration allowed it is the word received.
            let mut word = wrong.clone();
            let outcome = decoder.decode_hard(&mut word, 0);
            assert!(word == wrong && !outcome.converged && outcome.iterations == 0);
            assert_eq!(outcome.syndrome_weight as usize, code.syndrome_weight(&wrong));
        }
        for (_, mut word) in hard_frames(&code, "bsc:0.1", 8, 10) {
            let outcome = decoder.decode_hard(&mut word, 3);
            assert_eq!((outcome.converged, outcome.iterations), (false, 3));
            assert_eq!(outcome.syndrome_weight as usize, code.syndrome_weight(&word), "{name}");
        }
    }
}

/// Does a word decode the same after any others, failed ones among them, as by a new decoder?
#[test]
fn decoders_forget_the_last_word() {
    let code = shipped("flash-8/9");
    let mut used = fast(&code);
    let hard = ["errors:900", "errors:250", "errors:335"].map(|channel| hard_frames(&code, channel, 9, 3));
    let soft = ["gaussian:0.04:3", "gaussian:0.015:3"].map(|channel| soft_frames(&code, channel, 9, 3));
    let hard: Vec<Vec<u8>> = hard.into_iter().flatten().map(|(_, received)| received).collect();
    let soft: Vec<Vec<i8>> = soft.into_iter().flatten().map(|(_, llrs)| llrs).collect();
    let mut failed = 0;
    for turn in 0..18 {
        let (received, llrs) = (&hard[5 * turn % 9], &soft[5 * turn % 6]);
        let mut words = [received.clone(), received.clone()];
        let outcomes = [used.decode_hard(&mut words[0], 20), fast(&code).decode_hard(&mut words[1], 20)];
        assert!(outcomes[0] == outcomes[1] && words[0] == words[1], "{outcomes:?}");
        failed += u32::from(!outcomes[0].converged);
        let outcomes = [used.decode_soft(llrs, 20, &mut words[0]), fast(&code).decode_soft(llrs, 20, &mut words[1])];
        assert!(outcomes[0] == outcomes[1] && words[0] == words[1], "{outcomes:?}");
        failed += u32::from(!outcomes[0].converged);
    }
    assert!((12..30).contains(&failed), "{failed} of 36");
}

/// Is an LLR of -128 read as -127, and one of 0 decided as a 0 unless checks know better?
#[test]
fn extreme_ratios_mean_what_they_should() {
    for name in ["flash-8/9", "adaptive-1/2"] {
        let code = shipped(name);
        let mut decoder = fast(&code);
        let n = code.codeword_bits();
        let mut words = [vec![0xff; n / 8], vec![0; n / 8]];
        let outcome = decoder.decode_soft(&vec![0; n], 20, &mut words[0]);
        assert_eq!((outcome.converged, outcome.iterations), (true, 0));
        assert!(words[0] == words[1]);

        let stream = Stream::new(10, Purpose::Noise);
        let (sent, mut llrs) = soft_frames(&code, "gaussian:0.01:3", 10, 1).next().unwrap();
        // Ones erased: each is decided as a 0.
        let erased = |bit: &usize| stream.bits(0, *bit as u64).is_multiple_of(200) && bits::get(&sent, *bit);
        let erased: Vec<usize> = (0..n).filter(erased).collect();
        erased.iter().for_each(|&bit| llrs[bit] = 0);
        decoder.decode_soft(&llrs, 0, &mut words[0]);
        assert!(erased.len() > 50 && erased.iter().all(|&bit| !bits::get(&words[0], bit)));
        assert!(decoder.decode_soft(&llrs, 20, &mut words[0]).converged && words[0] == sent);

        for iterations in [0, 1, 20] {
            let mut with = |least: i8| {
                let swap = |(bit, &llr): (usize, &i8)| {
                    if stream.bits(1, bit as u64).is_multiple_of(4) && llr < 0 { least } else { llr }
                };
                let llrs: Vec<i8> = llrs.iter().enumerate().map(swap).collect();
                let mut word = vec![0; n / 8];
                (decoder.decode_soft(&llrs, iterations, &mut word), word)
            };
            assert!(with(-128) == with(-127), "{name}, {iterations} iterations");
        }
    }
}

/// Of 60 words of random data with 250 errors: how many did not come back, and how many of these with a claim of success?
fn lost(code: &LdpcCode, mut decode: impl FnMut(&mut [u8]) -> Outcome) -> (u32, u32) {
    let (mut failed, mut undetected) = (0, 0);
    for (sent, mut word) in hard_frames(code, "errors:250", 11, 60) {
        let outcome = decode(&mut word);
        failed += u32::from(!outcome.converged || word != sent);
        undetected += u32::from(outcome.converged && word != sent);
    }
    (failed, undetected)
}

/// `flash-8/9` with the one circulant that it lacks to be (4,36)-regular, for the sake of encoding. With it all checks have
/// even weights, and all ones is a codeword.
fn even_code() -> LdpcCode {
    let shipped = shipped("flash-8/9");
    let base = base(&shipped);
    let blocks = |row: usize| base.row(row).iter();
    let row = (0..8).find(|&row| blocks(row).len() == 35).unwrap() as u32;
    let all: Vec<Block> = (0..8).flat_map(blocks).copied().collect();
    let weight = |column: u32| all.iter().filter(|block| block.column == column).count();
    let column = (0..72).find(|&column| weight(column) == 3).unwrap();
    let all = all.into_iter().chain([Block { row, column, shift: 100 }]).collect();
    let code = LdpcCode::new(QuasiCyclic::new(512, 8, 72, all).unwrap(), RedundantChecks::Accept).unwrap();
    assert_eq!(code.syndrome_weight(&[0xff; 4608]), 0);
    code
}

/// Are decoders caught that answer all zeros or all ones whatever came, as would one that was only ever tried on these?
#[test]
fn a_decoder_cannot_guess() {
    let code = even_code();
    let claim = |word: &[u8]| {
        let syndrome_weight = code.syndrome_weight(word) as u32;
        Outcome { converged: syndrome_weight == 0, iterations: 1, syndrome_weight }
    };
    for answer in [0x00, 0xff] {
        let cheat = |word: &mut [u8]| {
            word.fill(answer);
            claim(word)
        };
        assert_eq!(lost(&code, cheat), (60, 60), "{answer}");
    }
    assert_eq!(lost(&code, |word| claim(word)), (60, 0), "a decoder that does nothing");
    let mut decoder = fast(&code);
    assert_eq!(lost(&code, |word| decoder.decode_hard(word, 20)), (0, 0));
}

/// Do the same errors fail as often in random data as in all zeros and all ones?
///
/// Of 1500 words 101 failed, all three ways. Totals of zero decide for zeros, so words could fail one way only; a decoder that
/// saves 20 of the 101 for its favourite differs by 4.5 standard deviations, the bound being 3.5.
#[test]
fn no_codeword_is_favoured() {
    let code = even_code();
    let mut decoder = fast(&code);
    for favourite in [0x00, 0xff] {
        let mut paired = Paired::default();
        for (sent, received) in hard_frames(&code, "errors:330", 12, 1500) {
            let known = vec![favourite; sent.len()];
            let mut words = [received.clone(), received.iter().zip(&sent).map(|(a, b)| a ^ b ^ favourite).collect()];
            let outcomes = [0, 1].map(|index| decoder.decode_hard(&mut words[index], 20));
            // Shifted back, so that both are compared with one codeword.
            words[1].iter_mut().zip(&sent).zip(&known).for_each(|((word, sent), known)| *word ^= sent ^ known);
            paired.count(&sent, [(outcomes[0], &words[0]), (outcomes[1], &words[1])]);
        }
        assert_eq!(paired.undetected, [0, 0]);
        assert!(paired.both > 50 && paired.excess().abs() <= 3.5, "{favourite:#x}: {paired:?}");
    }
}

/// Does no word with up to 300 errors come back as another codeword, and does no noise drive a word to its complement,
/// which saturating arithmetic can?
///
/// An arithmetic that was known to do so lost one word in ten thousand with 280 errors: 6000 words find it with a power of
/// 0.45, the million of the benchmark for certain.
#[test]
fn no_error_goes_undetected() {
    let code = shipped("flash-8/9");
    let mut decoder = fast(&code);
    let mut failed = 0;
    for errors in 240..=300 {
        for (sent, mut word) in hard_frames(&code, &format!("errors:{errors}"), errors, 60) {
            let outcome = decoder.decode_hard(&mut word, 20);
            assert!(word == sent || !outcome.converged);
            failed += u32::from(word != sent);
        }
    }
    // Of a million such words none failed.
    assert_eq!(failed, 0);

    let code = even_code();
    let mut decoder = fast(&code);
    let channels = [("errors:280", 6000), ("errors:340", 500), ("bsc:0.02", 200), ("bsc:0.1", 200), ("bsc:0.5", 200)];
    for (channel, frames) in channels {
        let mut noise = channel.parse::<Channel>().unwrap().noise(36864, 8.0 / 9.0, 13).unwrap();
        let mut failed = 0;
        for frame in 0..frames {
            let sent = if frame % 2 == 0 { vec![0xff; 4608] } else { codeword(&code, 13, frame) };
            let mut word = sent.clone();
            noise.flip(frame, &mut word);
            let outcome = decoder.decode_hard(&mut word, 20);
            assert!(word == sent || !outcome.converged, "{channel}, frame {frame}: {outcome:?}");
            failed += u32::from(word != sent);
        }
        assert_eq!(u64::from(failed) == frames, channel.starts_with("bsc"), "{channel}: {failed} of {frames}");
    }
}
