use std::sync::{Arc, Mutex};

use softsense_base::{binomial_cdf, binomial_quantile};
use softsense_ecc::ldpc::SyndromeWeights;
use softsense_nand::{LocatedWear, ReadWith, ReferencesAt};

use super::exact::Conditions;
use super::{Fates, Flash, Kind, Reliability};
use crate::{CellAge, DecodeTable, History, MAX_LEVEL, Observation, ReadSpec, Side, SoftLevels, Step};

/// What pages are like at the moment at which they are asked for: all that the codewords in them have in common.
#[derive(Debug, Clone)]
pub struct PageConditions {
    /// How often their block has been written.
    write: u32,
    /// The age whose code they are in; 0 where no age is looked at.
    code_age: u32,
    /// The mean of their raw bit error rates, with the references with which reads begin; 0 where none is known.
    rber: f64,
    /// Where that is in the grid of the decode table.
    above: u32,
    /// Where more is asked of them: codewords are really decoded, or read with other references.
    pages: Option<Arc<Pages>>,
}

/// The pages among which codewords are divided equally, where they are asked again and again.
#[derive(Debug)]
pub(super) struct Pages {
    first: PageCells,
    others: Box<[PageCells]>,
    /// The mean of their raw bit error rates, by each way in which they have been read but the first, with which reads begin.
    rbers: Mutex<Known>,
}

/// The last raw bit error rates that were worked out, with how the pages are read, and the next one's place. They stand in the pages, as
/// most reads end before there are many.
#[derive(Debug, Default)]
struct Known {
    rbers: [Option<(ReadWith, f64)>; 8],
    next: usize,
}

/// The cells of a page.
#[derive(Debug)]
struct PageCells {
    age: CellAge,
    wear: LocatedWear,
    /// How much more than others they err.
    factor: f64,
}

impl PageCells {
    fn new(flash: &Flash, write: u32, age: CellAge) -> Self {
        Self { age, wear: flash.compiled.locate(age.wear), factor: flash.factor(write.into(), &age) }
    }

    fn rber(&self, flash: &Flash, read: ReadWith) -> f64 {
        (flash.compiled.by_located(&self.wear, self.age.page_type, read) * self.factor + self.age.carried_rber).min(0.5)
    }
}

/// The mean of the raw bit error rates of pages, as they are read.
fn mean_rber(flash: &Flash, read: ReadWith, first: &PageCells, others: &[PageCells]) -> f64 {
    let sum = others.iter().fold(first.rber(flash, read), |sum, page| sum + page.rber(flash, read));
    sum / (1 + others.len()) as f64
}

impl Pages {
    /// The cells of the first of them.
    pub(super) fn first(&self) -> &CellAge {
        &self.first.age
    }

    /// The cells of each.
    pub(super) fn ages(&self) -> impl Iterator<Item = CellAge> {
        std::iter::once(&self.first).chain(&self.others).map(|page| page.age)
    }

    /// The mean of their raw bit error rates, as they are read.
    fn rber(&self, flash: &Flash, read: ReadWith) -> f64 {
        let mut known = self.rbers.lock().expect("nothing panics while it works out a raw bit error rate");
        if let Some((_, rber)) = known.rbers.iter().flatten().find(|(known, _)| *known == read) {
            return *rber;
        }
        let rber = mean_rber(flash, read, &self.first, &self.others);
        let next = known.next;
        known.rbers[next] = Some((read, rber));
        known.next = (next + 1) % known.rbers.len();
        rber
    }
}

/// What will come of reading one codeword, whatever is tried: its random draw, which is fixed when it is written, and its cells at
/// the moment at which it was asked for. Re-reads at one age agree, levels are nested, and all policies meet the same fates.
#[derive(Debug, Clone, Default)]
pub struct Fate {
    /// The codeword: its number in the device, and how often its block has been written.
    number: u64,
    write: u32,
    /// The age whose code it is in; 0 where no age is looked at.
    code_age: u32,
    /// 64 uniform bits, those of the seed, the number and the write; 0 where nothing is drawn.
    draw: u64,
    /// Raw bit error rate with the references with which reads begin; 0 where none is known.
    rber: f64,
    /// Where that is in the grid of its decode table.
    above: u32,
    /// What its cells are like, where it is really decoded.
    pub(super) conditions: Option<Box<Conditions>>,
    /// Its pages, where they are read with more than the references with which reads begin.
    pub(super) pages: Option<Arc<Pages>>,
}

impl PageConditions {
    /// The mean raw bit error rate of the pages, with the references with which reads begin; 0 where none is known.
    pub fn mean_rber(&self) -> f64 {
        self.rber
    }
}

impl Fate {
    /// The number of the codeword in the device.
    #[inline]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Its raw bit error rate with the references with which reads begin; 0 where none is known.
    #[inline]
    pub fn rber(&self) -> f64 {
        self.rber
    }

    /// How often its block has been written.
    pub(super) fn write(&self) -> u32 {
        self.write
    }

    /// The draw as a number in [0, 1).
    #[inline]
    fn uniform(&self) -> f64 {
        (self.draw >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
}

/// Where hard decisions of a codeword are looked up.
#[derive(Debug, Clone, Copy)]
struct HardDecision {
    rber: f64,
    /// Where that is in the grid of its decode table.
    above: usize,
}

/// What one step makes of a codeword.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Whether the decoder finds a codeword.
    pub decoded: bool,
    /// Whether that is another word than was written, which nobody notices. Only where codewords are really decoded.
    pub undetected: bool,
    /// Whether no bit was wrong, of a BCH code by age, where that was asked for: its syndromes tell.
    pub clean: bool,
    /// Whether so few hard decisions were wrong that no decoder is needed (see [`Questions`]).
    pub few_errors: bool,
    /// Decoding iterations, where they were asked for. A word that needs none takes one: to find that out.
    pub iterations: Option<u16>,
}

/// What an [`Outcome`] tells beside the success of decoding: what nobody asks for is not worked out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Questions {
    /// How many iterations a decode takes.
    pub iterations: bool,
    /// Whether no bit of a BCH code was wrong.
    pub clean: bool,
    /// Whether so many of so many hard decisions, or fewer, are wrong.
    pub few_errors: Option<FewErrors>,
    /// Not what is asked, but where references stand when reads begin: what comes of those is known sooner.
    pub first_references: ReferencesAt,
}

/// So few errors that no decoder is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FewErrors {
    /// Wrong bits at most.
    pub errors: u32,
    /// Bits of a codeword.
    pub bits: u32,
}

/// Whether a draw in (0, 1] is at most the probability `(1 - rber)^bits`.
#[inline]
fn is_without_error(drawn: f64, bits: f64, rber: f64) -> bool {
    let errors = bits * rber;
    // Most draws are told by (1 - p)^n < 1 / (1 + np + (np)^2 / 2), which rounding leaves alone unless np is tiny.
    let may_be = errors < 0.01 || drawn * (1.0 + errors + 0.5 * errors * errors) <= 1.0;
    may_be && drawn <= libm::exp(bits * libm::log1p(-rber))
}

impl Reliability {
    /// What pages are like now, for the codewords in them.
    ///
    /// # Arguments
    /// - `write`: how often their block has been written.
    /// - `parts`: pages among which each codeword is divided equally.
    /// - `cells`: those of each of the parts, from 0; asked for only where they matter.
    #[inline]
    pub fn conditions(&self, write: u32, parts: u32, cells: impl Fn(u32) -> CellAge) -> PageConditions {
        let mut conditions = PageConditions { write, code_age: 0, rber: 0.0, above: 0, pages: None };
        let Some(flash) = self.flash() else { return conditions };
        let page = |part| PageCells::new(flash, write, cells(part));
        let first = page(0);
        conditions.code_age = first.age.code_age;
        // Nothing is allocated for none.
        let others: Box<[PageCells]> = (1..parts).map(page).collect();
        conditions.rber = mean_rber(flash, self.first_read(), &first, &others);
        if self.keeps_cells || self.is_exact() {
            conditions.pages = Some(Arc::new(Pages { first, others, rbers: Mutex::default() }));
        }
        if let Some(table) = self.table_at(conditions.code_age) {
            conditions.above = table.above(conditions.rber) as u32;
        }
        conditions
    }

    /// How reads begin, as far as it is known.
    #[inline]
    fn first_read(&self) -> ReadWith {
        ReadWith::hard(if self.keeps_cells { self.questions.first_references } else { ReferencesAt::Cells })
    }

    /// The decode table for codewords in the code of an age; `None` where there is none.
    #[inline]
    fn table_at(&self, code_age: u32) -> Option<&DecodeTable> {
        match &self.kind {
            Kind::Tables(tables) => Some(tables.tables.at(|| code_age)),
            Kind::Bch(bch) => match &bch.fates {
                Fates::Drawn(codes, _) => Some(&codes.at(|| code_age).1),
                Fates::Exact(_) => None,
            },
            Kind::Perfect | Kind::Fixed(_) | Kind::Exact(_) | Kind::Given(_) => None,
        }
    }

    /// What will come of reading a codeword in pages now.
    ///
    /// # Arguments
    /// - `number`: of the codeword in the device.
    #[inline]
    pub fn fate(&self, pages: &PageConditions, number: u64) -> Fate {
        let PageConditions { write, code_age, rber, above, .. } = *pages;
        let mut fate = Fate { number, write, code_age, draw: 0, rber, above, conditions: None, pages: None };
        if self.keeps_cells {
            fate.pages = pages.pages.clone();
        }
        if let Some(exact) = self.exact() {
            let cells: Vec<CellAge> = pages.pages.as_ref().expect("they are kept").ages().collect();
            fate.conditions = Some(exact.conditions(number, write, &cells).into());
        } else if !matches!(self.kind, Kind::Perfect | Kind::Given(_)) {
            fate.draw = self.draws.bits(number, write.into());
            if let Some(flash) = self.flash()
                && flash.factors.codewords_differ()
            {
                fate.rber = flash.factors.codeword_rber(rber, number, write.into());
                fate.above = self.table_at(code_age).expect("it has flash").above(fate.rber) as u32;
            }
        }
        fate
    }

    /// What a step makes of a codeword. It is a function of both: asked again, it is the same.
    #[inline]
    pub fn outcome(&self, fate: &Fate, step: Step) -> Outcome {
        let level = step.level;
        match &self.kind {
            Kind::Perfect => {
                Outcome { decoded: true, iterations: self.questions.iterations.then_some(1), ..Outcome::default() }
            }
            Kind::Fixed(thresholds) => {
                Outcome { decoded: fate.draw >= thresholds[usize::from(level) - 1], ..Outcome::default() }
            }
            Kind::Tables(tables) => {
                let table = tables.tables.at(|| fate.code_age);
                let hard = self.hard_decision(fate, step);
                let decoded = match level {
                    1 => !table.fails(1, hard.above, hard.rber, fate.uniform()),
                    _ => self.soft_decodes(table, fate, hard, step),
                };
                let iterations = if self.questions.iterations {
                    let rber = self.level_rber(table, fate, hard, step);
                    table.iterations(level, rber, decoded, self.iterations_draw(fate, level))
                } else {
                    None
                };
                let few_errors = level == 1
                    && self.questions.few_errors.is_some_and(|few| self.has_few_errors(fate, hard.rber, few));
                Outcome { decoded: decoded || few_errors, few_errors, iterations, ..Outcome::default() }
            }
            Kind::Bch(bch) => match &bch.fates {
                Fates::Drawn(codes, _) => {
                    let (bits, table) = codes.at(|| fate.code_age);
                    let hard = self.hard_decision(fate, step);
                    Outcome {
                        decoded: !table.fails(1, hard.above, hard.rber, fate.uniform()),
                        // The greatest draws are those without an error, as the least have too many.
                        clean: self.questions.clean
                            && is_without_error(1.0 - fate.uniform(), f64::from(*bits), hard.rber),
                        ..Outcome::default()
                    }
                }
                Fates::Exact(exact) => exact.outcome(fate.number, fate.write, conditions(fate), step),
            },
            Kind::Exact(exact) => exact.outcome(fate.number, fate.write, conditions(fate), step),
            Kind::Given(codeword) => codeword.outcome(step, self.questions),
        }
    }

    /// How many checks the hard decisions of a step violate; `None` where the code is not known to have sparse ones, and of soft
    /// levels. A function of both, as the outcome.
    pub fn syndrome_weight(&self, fate: &Fate, step: Step) -> Option<u32> {
        if let Some(exact) = self.exact() {
            return exact.syndrome_weight(fate.number, fate.write, conditions(fate), step);
        }
        if let Kind::Given(codeword) = &self.kind {
            return codeword.readings.attempt(step.read_with()).0.syndrome_weight;
        }
        let weights = self.table_at(fate.code_age)?.syndrome_weights().filter(|_| step.level == 1)?;
        Some(self.drawn_weight(fate, step, weights))
    }

    /// How many of so many bits are wrong in the hard decisions of a step, by the draw that its iterations are by: those with the
    /// fewest errors take the fewest.
    pub fn wrong_bits(&self, fate: &Fate, step: Step, codeword_bits: u32) -> u32 {
        let draw = self.iterations_draw(fate, 1);
        binomial_quantile(codeword_bits.into(), self.hard_decision(fate, step).rber, draw) as u32
    }

    /// How many checks hard decisions violate, where that is drawn.
    pub(super) fn drawn_weight(&self, fate: &Fate, step: Step, weights: &SyndromeWeights) -> u32 {
        // The least draws are those that fail: they have the most errors.
        weights.draw(self.hard_decision(fate, step).rber, 1.0 - fate.uniform(), self.weights.uniform(fate.draw, 0))
    }

    /// Where the hard decisions of a step are looked up.
    #[inline]
    fn hard_decision(&self, fate: &Fate, step: Step) -> HardDecision {
        let read = ReadWith { level: 1, ..step.read_with() };
        if read == self.first_read() || fate.pages.is_none() {
            return HardDecision { rber: fate.rber, above: fate.above as usize };
        }
        let rber = self.rber_by(fate, read);
        let above = self.table_at(fate.code_age).map_or(0, |table| table.above(rber));
        HardDecision { rber, above }
    }

    /// The raw bit error rate of a codeword whose pages are kept, as they are read.
    fn rber_by(&self, fate: &Fate, read: ReadWith) -> f64 {
        let flash = self.flash().expect("fates with pages are of flash");
        let mean = fate.pages.as_ref().expect("they are kept where they are asked again").rber(flash, read);
        flash.factors.codeword_rber(mean, fate.number, fate.write.into())
    }

    /// The raw bit error rate at which a table is asked what a step makes of a codeword.
    fn level_rber(&self, table: &DecodeTable, fate: &Fate, hard: HardDecision, step: Step) -> f64 {
        match table.soft_levels() {
            SoftLevels::Information if step.level > 1 && fate.pages.is_some() => self.rber_by(fate, step.read_with()),
            SoftLevels::Information | SoftLevels::HardRber => hard.rber,
        }
    }

    /// Whether a soft level, or one before it with the same references, decodes a codeword.
    fn soft_decodes(&self, table: &DecodeTable, fate: &Fate, hard: HardDecision, step: Step) -> bool {
        let uniform = fate.uniform();
        if table.soft_levels() == SoftLevels::HardRber || fate.pages.is_none() {
            return !table.fails(step.level, hard.above, hard.rber, uniform);
        }
        !table.fails(1, hard.above, hard.rber, uniform)
            || (2..=step.level).any(|level| {
                let rber = self.level_rber(table, fate, hard, Step { level, ..step });
                !table.level_fails(level, table.above(rber), rber, uniform)
            })
    }

    /// The least level that decodes a codeword, which no controller knows; one more than there are if none does.
    pub fn least_level(&self, fate: &Fate) -> u8 {
        let levels = self.levels();
        (1..=levels).find(|&level| self.outcome(fate, Step::fresh(level)).decoded).unwrap_or(MAX_LEVEL + 1)
    }

    /// The raw bit error rate of a codeword in pages; `None` where none is known.
    ///
    /// # Arguments
    /// - `number`: of the codeword in the device.
    pub fn rber(&self, pages: &PageConditions, number: u64) -> Option<f64> {
        let flash = self.flash()?;
        let of_pages = pages.pages.as_ref().map_or(pages.rber, |pages| pages.rber(flash, ReadWith::level(1)));
        Some(flash.factors.codeword_rber(of_pages, number, pages.write.into()))
    }

    /// The probability that a step fails codewords like this one, over all draws: `None` where no table and no formula tells.
    pub fn p_fail(&self, fate: &Fate, step: Step) -> Option<f64> {
        match &self.kind {
            Kind::Perfect => Some(0.0),
            Kind::Fixed(thresholds) => Some(thresholds[usize::from(step.level) - 1] as f64 / 2f64.powi(64)),
            Kind::Tables(_) | Kind::Bch(_) => {
                let table = self.table_at(fate.code_age)?;
                let hard = self.hard_decision(fate, step);
                let rber = |level| self.level_rber(table, fate, hard, Step { level, ..step });
                Some(table.p_fail_by(step.level.min(table.levels()), rber))
            }
            Kind::Exact(_) | Kind::Given(_) => None,
        }
    }

    /// What reads of codewords like this one come to, over all draws: the probability that every step of a policy fails, and the mean
    /// number of steps. A draw that an easier step decodes is decoded by harder ones, so that steps fail together as often as
    /// the best of them. What is remembered of other reads is not, and nothing is predicted; violated checks are as many as their mean,
    /// and what is inferred is what is so in the middle. `None` where no table
    /// and no formula tells, and of a policy of the user's own.
    pub fn read_through(&self, fate: &Fate, spec: &ReadSpec) -> Option<(f64, f64)> {
        if spec.policy.own().is_some() {
            return None;
        }
        if spec.policy.knows_level() {
            return Some((self.p_fail(fate, Step::fresh(spec.max_level))?, 1.0));
        }
        let mut history = History::default();
        let mut next = Some(Step { predictions: 0, ..spec.first(&history, 1, || 1) });
        let (mut all_fail, mut mean_steps) = (1.0f64, 0.0);
        while let Some(step) = next {
            mean_steps += all_fail;
            all_fail = all_fail.min(self.p_fail(fate, step)?);
            let syndrome_weight = if spec.sees_syndrome_weights() { self.mean_weight(fate, step) } else { None };
            let inferred = spec.infers_by.map(|by| self.inferred_typically(fate, by, step.references));
            next = spec.after(&mut history, Observation { syndrome_weight, inferred, ..Observation::failed(step) });
        }
        Some((all_fail, mean_steps))
    }

    /// How many checks hard decisions violate in the mean.
    fn mean_weight(&self, fate: &Fate, step: Step) -> Option<u32> {
        let weights = self.table_at(fate.code_age)?.syndrome_weights()?;
        Some(weights.mean(self.hard_decision(fate, step).rber) as u32)
    }

    /// The raw bit error rate of a codeword that is beyond its decode table, so that its outcome is a guess, and on which side.
    #[inline]
    pub fn beyond_table(&self, fate: &Fate) -> Option<(Side, f64)> {
        let Kind::Tables(tables) = &self.kind else { return None };
        if tables.reach {
            return None;
        }
        tables.tables.at(|| fate.code_age).beyond(fate.rber).map(|side| (side, fate.rber))
    }

    /// Those with the fewest errors are those that take the fewest iterations with hard decision.
    fn has_few_errors(&self, fate: &Fate, rber: f64, few: FewErrors) -> bool {
        self.iterations_draw(fate, 1) < binomial_cdf(few.errors.into(), few.bits.into(), rber)
    }

    fn iterations_draw(&self, fate: &Fate, level: u8) -> f64 {
        // Eight levels at most, so (write, level) pack into one index.
        self.iterations.uniform(fate.number, u64::from(fate.write) * 8 + u64::from(level))
    }
}

pub(super) fn conditions(fate: &Fate) -> &Conditions {
    fate.conditions.as_ref().expect("fates of one reliability are asked of it")
}

#[cfg(test)]
mod tests {
    use softsense_base::{Purpose, Stream};

    use super::is_without_error;

    /// Is a word without an error exactly where its draw is at most the probability of that, also where the two nearly meet?
    #[test]
    fn words_without_errors_are_those_of_the_definition() {
        let draws = Stream::new(1, Purpose::CodewordDraw);
        for index in 0..200_000 {
            let bits = (1.0 + 40_000.0 * draws.uniform(index, 0)).floor();
            let rber = 10f64.powf(-9.0 * draws.uniform(index, 1)) * 0.5;
            let without = libm::exp(bits * libm::log1p(-rber));
            let nearly = f64::from_bits(without.max(1e-300).to_bits() - 1 + index % 3).min(1.0);
            for drawn in [1.0 - draws.uniform(index, 2), nearly, 1.0] {
                assert_eq!(is_without_error(drawn, bits, rber), drawn <= without, "{drawn} {bits} {rber}");
            }
        }
    }
}
