//! Message passing in floating point for any parity-check matrix, with any schedule and any check rule.

use std::sync::Arc;

use softsense_base::{Error, Result};

use super::ParityCheck;
use super::parity_check::Syndrome;
use crate::{Outcome, bits};

/// The time at which a-posteriori values take effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schedule {
    /// A-posteriori values take effect at once: each check reads what the checks before it wrote.
    ///
    /// Source: D. Hocevar, "A reduced complexity decoder architecture via layered decoding of LDPC codes", 2004.
    Layered,
    /// A-posteriori values take effect after all checks: each check reads what the iteration before it wrote.
    ///
    /// Source: R. Gallager, "Low-density parity-check codes", 1963.
    Flooding,
}

/// The rule by which a check answers each of its bits from the messages of the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rule {
    /// The exact LLR of the sum of the other bits.
    ///
    /// Source: R. Gallager, "Low-density parity-check codes", 1963, section 4.
    SumProduct,
    /// The least magnitude of the others, times `factor`.
    ///
    /// Source: J. Chen, M. Fossorier, "Near optimum universal belief propagation based decoding of low-density parity
    /// check codes", 2002.
    NormalisedMinSum {
        /// Factor above 0, at most 1; 1 is plain min-sum.
        factor: f64,
    },
    /// The least magnitude of the others, less `offset`, at least zero.
    ///
    /// Source: J. Chen, A. Dholakia, E. Eleftheriou, M. Fossorier, X.-Y. Hu, "Reduced-complexity decoding of LDPC
    /// codes", 2005.
    OffsetMinSum {
        /// Offset of at least 0, in the unit of the LLRs; 0 is plain min-sum.
        offset: f64,
    },
}

impl Rule {
    /// Checks the parameter of the rule.
    ///
    /// # Errors
    /// A factor or an offset out of range.
    pub fn check(&self) -> Result<()> {
        match *self {
            Self::NormalisedMinSum { factor } if !(factor > 0.0 && factor <= 1.0) => {
                Err(Error::code("factor", format!("found {factor}, expected a number above 0 and at most 1")))
            }
            Self::OffsetMinSum { offset } if !(offset >= 0.0 && offset.is_finite()) => {
                Err(Error::code("offset", format!("found {offset}, expected a number of at least 0")))
            }
            _ => Ok(()),
        }
    }
}

/// A floating-point number that messages are made of: `f32` or `f64`.
pub trait Real:
    Copy
    + PartialOrd
    + std::fmt::Debug
    + std::ops::Add<Output = Self>
    + std::ops::Sub<Output = Self>
    + std::ops::Mul<Output = Self>
    + std::ops::Div<Output = Self>
    + std::ops::Neg<Output = Self>
    + 'static
{
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// The least probability that is distinguished from zero.
    const LEAST: Self;
    /// The largest magnitude of an input or a message. Sums of many such numbers are still finite.
    const LARGEST: Self;
    /// The nearest number to `value`.
    fn of(value: f64) -> Self;
    /// The magnitude.
    fn abs(self) -> Self;
    /// e to the power of this number, the same on every CPU.
    fn exp(self) -> Self;
    /// The natural logarithm, the same on every CPU.
    fn ln(self) -> Self;
}

macro_rules! real {
    ($real:ident, $largest:literal, $exp:path, $ln:path) => {
        impl Real for $real {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const LEAST: Self = $real::MIN_POSITIVE;
            const LARGEST: Self = $largest;
            fn of(value: f64) -> Self {
                value as $real
            }
            fn abs(self) -> Self {
                self.abs()
            }
            fn exp(self) -> Self {
                $exp(self)
            }
            fn ln(self) -> Self {
                $ln(self)
            }
        }
    };
}
real!(f32, 1e30, libm::expf, libm::logf);
real!(f64, 1e300, libm::exp, libm::log);

fn least<F: Real>(a: F, b: F) -> F {
    if b < a { b } else { a }
}

fn with_sign<F: Real>(negative: bool, magnitude: F) -> F {
    if negative { -magnitude } else { magnitude }
}

/// Makes an LLR of the channel finite.
fn channel<F: Real>(llr: F) -> F {
    with_sign(llr < F::ZERO, least(llr.abs(), F::LARGEST))
}

/// Replaces the messages from the bits of a check by its answers to them. `suffixes` is scratch for one value more.
fn answer<F: Real>(rule: Rule, messages: &mut [F], suffixes: &mut [F]) {
    match rule {
        Rule::SumProduct => sum_product(messages, suffixes),
        Rule::NormalisedMinSum { factor } => {
            let factor = F::of(factor);
            min_sum(messages, |magnitude| factor * magnitude);
        }
        Rule::OffsetMinSum { offset } => {
            let offset = F::of(offset);
            min_sum(messages, |magnitude| if magnitude > offset { magnitude - offset } else { F::ZERO });
        }
    }
}

/// The sum of bits is wrong if an odd number of them is wrong: p + q - 2 p q for two. The probabilities of being wrong are at most one
/// half, and are only added as positive terms. So none is lost beside a large one, as it would be in a product of tanh.
fn sum_product<F: Real>(messages: &mut [F], suffixes: &mut [F]) {
    let either = |p: F, q: F| p * (F::ONE - q) + q * (F::ONE - p);
    let mut negative = false;
    // A number above zero, so that the answer of a check of one bit is finite, too.
    suffixes[messages.len()] = F::LEAST;
    for (index, message) in messages.iter_mut().enumerate().rev() {
        let odds = (-message.abs()).exp();
        let wrong = odds / (F::ONE + odds);
        let wrong = if wrong < F::LEAST { F::LEAST } else { wrong };
        suffixes[index] = either(suffixes[index + 1], wrong);
        negative ^= *message < F::ZERO;
        *message = with_sign(*message < F::ZERO, wrong);
    }
    let mut prefix = F::ZERO;
    for (message, &suffix) in messages.iter_mut().zip(&suffixes[1..]) {
        let others = either(prefix, suffix);
        prefix = either(prefix, message.abs());
        *message = with_sign(negative ^ (*message < F::ZERO), ((F::ONE - others) / others).ln());
    }
}

fn min_sum<F: Real>(messages: &mut [F], weaken: impl Fn(F) -> F) {
    let (mut first, mut second, mut at, mut negative) = (F::LARGEST, F::LARGEST, 0, false);
    for (index, &message) in messages.iter().enumerate() {
        negative ^= message < F::ZERO;
        let magnitude = message.abs();
        if magnitude < first {
            (first, second, at) = (magnitude, first, index);
        } else {
            second = least(magnitude, second);
        }
    }
    let (first, second) = (weaken(first), weaken(second));
    for (index, message) in messages.iter_mut().enumerate() {
        *message = with_sign(negative ^ (*message < F::ZERO), if index == at { second } else { first });
    }
}

/// A floating-point decoder of any parity-check matrix.
///
/// With `f64`, [`Schedule::Flooding`] and [`Rule::SumProduct`] it is the slow reference of every other decoder of the
/// crate. Results are the same on every CPU.
#[derive(Debug, Clone)]
pub struct MessagePassing<F> {
    parity_check: Arc<ParityCheck>,
    schedule: Schedule,
    rule: Rule,
    max_iterations: u32,
    /// The order in which checks are processed.
    order: Vec<u32>,
    /// The last answers of each check, by edge.
    answers: Vec<F>,
    a_posteriori: Vec<F>,
    /// The a-posteriori values of the next iteration (flooding only).
    next: Vec<F>,
    /// The messages of one check, and scratch for its rule.
    messages: Vec<F>,
    scratch: Vec<F>,
    syndrome: Syndrome,
}

impl<F: Real> MessagePassing<F> {
    /// Makes the decoder of `parity_check` that stops at a codeword or after `max_iterations`. It processes checks in the order of the
    /// rows.
    ///
    /// # Errors
    /// A rule's factor or offset out of range.
    pub fn new(parity_check: Arc<ParityCheck>, schedule: Schedule, rule: Rule, max_iterations: u32) -> Result<Self> {
        rule.check()?;
        let (rows, columns) = (parity_check.rows(), parity_check.columns());
        let degree = (0..rows).map(|row| parity_check.row(row).len()).max().unwrap_or(0);
        let next = match schedule {
            Schedule::Layered => Vec::new(),
            Schedule::Flooding => vec![F::ZERO; columns],
        };
        Ok(Self {
            schedule,
            rule,
            max_iterations,
            order: (0..rows as u32).collect(),
            answers: vec![F::ZERO; parity_check.edges()],
            a_posteriori: vec![F::ZERO; columns],
            next,
            messages: vec![F::ZERO; degree],
            scratch: vec![F::ZERO; degree + 1],
            syndrome: Syndrome::new(&parity_check),
            parity_check,
        })
    }

    /// Returns the same decoder, which processes its checks in the order `order`: each row once.
    ///
    /// # Errors
    /// An order that does not contain each row once.
    pub fn in_order(mut self, order: Vec<u32>) -> Result<Self> {
        let mut sorted = order.clone();
        sorted.sort_unstable();
        let rows = self.parity_check.rows();
        if !sorted.iter().copied().eq(0..rows as u32) {
            let found =
                format!("found an order of {} rows in which rows are missing, repeated or out of range", order.len());
            return Err(Error::code("order", format!("{found}, expected each of the {rows} rows once")));
        }
        self.order = order;
        Ok(self)
    }

    /// Decodes `llr`, one a bit of the codeword, positive where 0 is the more likely bit, into the packed word
    /// `decided`.
    ///
    /// A bit is decided as 1 if its a-posteriori value is below zero, as 0 if it is zero or more.
    ///
    /// # Panics
    /// If `llr` or `decided` does not have the length of the code, or an LLR is not a number. Infinite LLRs are allowed.
    pub fn decode(&mut self, llr: &[F], decided: &mut [u8]) -> Outcome {
        let columns = self.parity_check.columns();
        assert_eq!(llr.len(), columns, "LLRs");
        assert_eq!(decided.len(), bits::bytes_for(columns), "bytes of a codeword");
        assert!(llr.iter().all(|&llr| llr.partial_cmp(&F::ZERO).is_some()), "an LLR is not a number");
        self.start(llr);
        let mut iterations = 0;
        loop {
            let syndrome_weight = self.decide(decided);
            if syndrome_weight == 0 || iterations == self.max_iterations {
                return Outcome { converged: syndrome_weight == 0, iterations, syndrome_weight };
            }
            self.iterate(llr);
            iterations += 1;
        }
    }

    /// The a-posteriori LLR of each bit after the last decoding.
    pub fn a_posteriori(&self) -> &[F] {
        &self.a_posteriori
    }

    fn start(&mut self, llr: &[F]) {
        self.answers.fill(F::ZERO);
        self.a_posteriori.iter_mut().zip(llr).for_each(|(to, &from)| *to = channel(from));
    }

    fn iterate(&mut self, llr: &[F]) {
        if self.schedule == Schedule::Flooding {
            self.next.iter_mut().zip(llr).for_each(|(to, &from)| *to = channel(from));
        }
        for &row in &self.order {
            let row = row as usize;
            let columns = self.parity_check.row(row);
            let answers = &mut self.answers[self.parity_check.row_start(row)..][..columns.len()];
            let messages = &mut self.messages[..columns.len()];
            for ((message, &column), &answer) in messages.iter_mut().zip(columns).zip(&*answers) {
                *message = self.a_posteriori[column as usize] - answer;
            }
            let sums = match self.schedule {
                Schedule::Layered => {
                    columns.iter().zip(&*messages).for_each(|(&to, &from)| self.a_posteriori[to as usize] = from);
                    &mut self.a_posteriori
                }
                Schedule::Flooding => &mut self.next,
            };
            answer(self.rule, messages, &mut self.scratch);
            answers.copy_from_slice(messages);
            for (&column, &answer) in columns.iter().zip(&*answers) {
                sums[column as usize] = sums[column as usize] + answer;
            }
        }
        if self.schedule == Schedule::Flooding {
            std::mem::swap(&mut self.a_posteriori, &mut self.next);
        }
    }

    /// Decides every bit. Returns the number of checks that the decisions violate.
    fn decide(&mut self, decided: &mut [u8]) -> u32 {
        for (byte, values) in decided.iter_mut().zip(self.a_posteriori.chunks(8)) {
            let bit = |(index, &value): (usize, &F)| u8::from(value < F::ZERO) << (7 - index);
            *byte = values.iter().enumerate().map(bit).fold(0, |byte, bit| byte | bit);
        }
        self.syndrome.compute(&self.parity_check, decided);
        self.syndrome.weight()
    }
}

#[cfg(test)]
mod tests {
    use softsense_base::{Purpose, Stream};

    use super::*;

    const RULES: [Rule; 3] =
        [Rule::SumProduct, Rule::NormalisedMinSum { factor: 0.75 }, Rule::OffsetMinSum { offset: 0.5 }];
    const SCHEDULES: [Schedule; 2] = [Schedule::Layered, Schedule::Flooding];

    /// A matrix whose Tanner graph is a tree of `checks` checks: each hangs on one bit and brings one to four bits of its own.
    fn tree(stream: &Stream, trial: u64, checks: u64) -> ParityCheck {
        let mut columns = 1;
        let mut rows = Vec::new();
        for check in 0..checks {
            let own = 1 + stream.bits(trial, 2 * check) as u32 % 4;
            let mut row = vec![stream.bits(trial, 2 * check + 1) as u32 % columns];
            row.extend(columns..columns + own);
            columns += own;
            rows.push(row);
        }
        ParityCheck::from_rows(columns as usize, &rows).unwrap()
    }

    /// Applies `combine` to the exponents of all codewords with a 0 in a bit, and subtracts its value for all with a 1, for every bit. The
    /// exponent of a word is the logarithm of its probability, but for a constant.
    fn by_enumeration(matrix: &ParityCheck, llr: &[f64], combine: fn(&[f64]) -> f64) -> Vec<f64> {
        let columns = matrix.columns();
        let satisfies = |word: u32| {
            (0..matrix.rows())
                .all(|row| matrix.row(row).iter().filter(|&&column| word >> column & 1 == 1).count() % 2 == 0)
        };
        let codewords: Vec<u32> = (0..1 << columns).filter(|&word| satisfies(word)).collect();
        let exponent =
            |word: u32| (0..columns).map(|bit| if word >> bit & 1 == 1 { -llr[bit] } else { llr[bit] } / 2.0).sum();
        let of = |bit: usize, value: u32| {
            let chosen = codewords.iter().filter(|&&word| word >> bit & 1 == value).map(|&word| exponent(word));
            combine(&chosen.collect::<Vec<f64>>())
        };
        (0..columns).map(|bit| of(bit, 0) - of(bit, 1)).collect()
    }

    fn largest(exponents: &[f64]) -> f64 {
        exponents.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }

    fn log_sum(exponents: &[f64]) -> f64 {
        let largest = largest(exponents);
        largest + libm::log(exponents.iter().map(|exponent| libm::exp(exponent - largest)).sum())
    }

    /// The a-posteriori values after `iterations`, whether or not the word was decoded before.
    fn after(decoder: &mut MessagePassing<f64>, llr: &[f64], iterations: usize) -> Vec<f64> {
        decoder.start(llr);
        (0..iterations).for_each(|_| decoder.iterate(llr));
        decoder.a_posteriori().to_vec()
    }

    /// On a graph without cycles, is sum-product the exact bitwise maximum a posteriori, and min-sum its max-log form, by either schedule
    /// in any order?
    #[test]
    fn on_a_tree_message_passing_is_exact() {
        let stream = Stream::new(3, Purpose::Noise);
        let shapes = Stream::new(3, Purpose::CodeConstruction);
        let plain = [Rule::NormalisedMinSum { factor: 1.0 }, Rule::OffsetMinSum { offset: 0.0 }];
        for trial in 0..60 {
            let matrix = Arc::new(tree(&shapes, trial, 1 + trial % 5));
            let spread = [0.1, 3.0, 12.0, 40.0][trial as usize % 4];
            let llr: Vec<f64> =
                (0..matrix.columns() as u64).map(|bit| spread * (2.0 * stream.uniform(trial, bit) - 1.0)).collect();
            let exact = by_enumeration(&matrix, &llr, log_sum);
            let max_log = by_enumeration(&matrix, &llr, largest);
            for schedule in SCHEDULES {
                for (rule, expected) in [(Rule::SumProduct, &exact), (plain[0], &max_log), (plain[1], &max_log)] {
                    let mut decoder = MessagePassing::new(matrix.clone(), schedule, rule, 1).unwrap();
                    for _ in 0..2 {
                        let found = after(&mut decoder, &llr, matrix.rows() + 1);
                        for (found, expected) in found.iter().zip(expected) {
                            assert!((found - expected).abs() < 1e-9, "{schedule:?} {rule:?}: {found}, not {expected}");
                        }
                        decoder = decoder.in_order((0..matrix.rows() as u32).rev().collect()).unwrap();
                    }
                }
            }
        }
    }

    /// Is the answer of a check right where tanh rounds to one, and where it is nearly zero?
    #[test]
    fn sum_product_is_accurate_at_both_ends() {
        let mut scratch = [0.0; 4];
        for (others, expected) in [
            ([40.0, 40.0], 40.0 - std::f64::consts::LN_2),
            ([500.0, -500.0], -500.0 + std::f64::consts::LN_2),
            ([300.0, -7.0], -7.0),
            ([1e-8, 1e-8], 5e-17),
            ([0.0, 25.0], 0.0),
        ] {
            let mut messages = [others[0], others[1], 1.0];
            answer(Rule::SumProduct, &mut messages, &mut scratch);
            assert!((messages[2] - expected).abs() < 1e-13 * expected.abs().max(5e-3), "{others:?}: {}", messages[2]);
        }
    }

    /// Do known bits, checks of one bit and words that never converge leave every value finite, also in the narrow type?
    #[test]
    fn values_stay_finite() {
        let rows: Vec<Vec<u32>> =
            (0..12u32).map(|row| (0..6).map(|k| (row * 5 + k * k * 3 + k) % 24).collect()).collect();
        let distinct = |row: &Vec<u32>| {
            let mut row = row.clone();
            row.sort_unstable();
            row.dedup();
            row
        };
        let mut rows: Vec<Vec<u32>> = rows.iter().map(distinct).collect();
        rows.push(vec![24]);
        let matrix = Arc::new(ParityCheck::from_rows(25, &rows).unwrap());
        let stream = Stream::new(4, Purpose::Noise);
        for (schedule, rule) in SCHEDULES.into_iter().flat_map(|schedule| RULES.map(|rule| (schedule, rule))) {
            let mut decoder = MessagePassing::<f32>::new(matrix.clone(), schedule, rule, 300).unwrap();
            let mut decided = [0; 4];
            for trial in 0..30 {
                let llr: Vec<f32> = (0..25)
                    .map(|bit| match stream.bits(trial, bit) % 8 {
                        0 => f32::INFINITY,
                        1 => f32::NEG_INFINITY,
                        2 => 1e20,
                        3 => 0.0,
                        _ => stream.uniform(trial, 100 + bit) as f32 - 0.5,
                    })
                    .collect();
                let outcome = decoder.decode(&llr, &mut decided);
                assert_eq!(outcome.syndrome_weight as usize, matrix.syndrome_weight(&decided));
                let values = decoder.a_posteriori();
                assert!(values.iter().all(|value| value.is_finite()), "{schedule:?} {rule:?}: {values:?}");
            }
        }
    }
}
