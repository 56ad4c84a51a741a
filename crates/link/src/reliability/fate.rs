use std::sync::{Arc, Mutex};

use softsense_base::{binomial_cdf, binomial_quantile};
use softsense_ecc::ldpc::SyndromeWeights;
use softsense_nand::{LocatedWear, ReadWith, ReferencesAt};

use super::exact::Conditions;
use super::{Fates, Flash, Kind, Reliability};
use crate::{CellAge, DecodeTable, History, MAX_LEVEL, Observation, ReadSpec, Side, SoftLevels, Step};

/// The conditions of pages at the moment of a read, which hold for all codewords in the pages.
#[derive(Debug, Clone)]
pub struct PageConditions {
    /// Number of writes of the block so far.
    write: u32,
    /// Age at which the code is looked up; 0 where ages do not matter.
    code_age: u32,
    /// Mean raw bit error rate of the pages, with the references with which reads begin; 0 where it is not known.
    rber: f64,
    /// Index of this rate in the grid of the decode table.
    above: u32,
    /// Cells of the pages, where more than the mean rate is needed: for real decodes, or for reads with other references.
    pages: Option<Arc<Pages>>,
}

/// The pages among which codewords are divided equally, kept for further questions.
#[derive(Debug)]
pub(super) struct Pages {
    first: PageCells,
    others: Box<[PageCells]>,
    /// Mean raw bit error rates of the pages, by how they were read, except for the first way, with which reads begin.
    rbers: Mutex<Known>,
}

/// The last raw bit error rates that were computed, each with how the pages are read, and the place of the next one. They are stored in
/// place, as most reads end before there are many.
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
    /// Factor on the raw bit error rate.
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

/// Returns the mean raw bit error rate of pages that are read in a given way.
fn mean_rber(flash: &Flash, read: ReadWith, first: &PageCells, others: &[PageCells]) -> f64 {
    let sum = others.iter().fold(first.rber(flash, read), |sum, page| sum + page.rber(flash, read));
    sum / (1 + others.len()) as f64
}

impl Pages {
    /// Returns the cells of the first page.
    pub(super) fn first(&self) -> &CellAge {
        &self.first.age
    }

    /// Returns the cells of each page.
    pub(super) fn ages(&self) -> impl Iterator<Item = CellAge> {
        std::iter::once(&self.first).chain(&self.others).map(|page| page.age)
    }

    /// Returns the mean raw bit error rate of the pages, read in a given way.
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

/// Everything that determines the outcome of any attempt at a codeword: its random draw, which is fixed when it is written, and the state
/// of its cells at one moment. Re-reads at one age agree, levels are nested, and all policies meet the same fates.
#[derive(Debug, Clone, Default)]
pub struct Fate {
    /// The codeword: its number in the device, and the number of writes of its block.
    number: u64,
    write: u32,
    /// Age at which the code is looked up; 0 where ages do not matter.
    code_age: u32,
    /// 64 uniform bits, a function of the seed, the number and the write; 0 where nothing is drawn.
    draw: u64,
    /// Raw bit error rate with the references with which reads begin; 0 where it is not known.
    rber: f64,
    /// Index of this rate in the grid of the decode table.
    above: u32,
    /// Conditions of the cells, for real decodes.
    pub(super) conditions: Option<Box<Conditions>>,
    /// Pages of the codeword, if reads use other references than those with which they begin.
    pub(super) pages: Option<Arc<Pages>>,
}

impl PageConditions {
    /// Returns the mean raw bit error rate of the pages, with the references with which reads begin; 0 where it is not known.
    pub fn mean_rber(&self) -> f64 {
        self.rber
    }
}

impl Fate {
    /// Returns the number of the codeword in the device.
    #[inline]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the raw bit error rate with the references with which reads begin; 0 where it is not known.
    #[inline]
    pub fn rber(&self) -> f64 {
        self.rber
    }

    /// Returns the number of writes of the block.
    pub(super) fn write(&self) -> u32 {
        self.write
    }

    /// Returns the draw as a number in [0, 1).
    #[inline]
    fn uniform(&self) -> f64 {
        (self.draw >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
}

/// The point at which hard decisions of a codeword are looked up.
#[derive(Debug, Clone, Copy)]
struct HardDecision {
    rber: f64,
    /// Index of this rate in the grid of the decode table.
    above: usize,
}

/// The outcome of one step for a codeword.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Whether the decoder finds a codeword.
    pub decoded: bool,
    /// Whether the codeword found is another one than was written, which the controller does not notice. Only real decodes tell it.
    pub undetected: bool,
    /// Whether no bit was wrong, for a BCH code by age, if that was asked for: its syndromes tell.
    pub clean: bool,
    /// Whether so few hard decisions were wrong that no decoder is needed (see [`Questions`]).
    pub few_errors: bool,
    /// Decoding iterations, if they were asked for. A word that needs none takes one, to find this out.
    pub iterations: Option<u16>,
}

/// Optional parts of an [`Outcome`], beside the success of decoding: parts that nobody asks for are not computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Questions {
    /// Whether iterations are asked for.
    pub iterations: bool,
    /// Whether outcomes tell if a BCH codeword had no wrong bit.
    pub clean: bool,
    /// Limit on wrong hard decisions for the question whether they are few; none where it is not asked.
    pub few_errors: Option<FewErrors>,
    /// References with which reads begin. This is no question: outcomes at these references are found faster.
    pub first_references: ReferencesAt,
}

/// A limit on errors up to which no decoder is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FewErrors {
    /// Most wrong bits.
    pub errors: u32,
    /// Bits of a codeword.
    pub bits: u32,
}

/// Whether a draw in (0, 1] is at most the probability `(1 - rber)^bits`.
#[inline]
fn is_without_error(drawn: f64, bits: f64, rber: f64) -> bool {
    let errors = bits * rber;
    // Most draws are decided by (1 - p)^n < 1 / (1 + np + (np)^2 / 2), which holds in spite of rounding unless np is tiny.
    let may_be = errors < 0.01 || drawn * (1.0 + errors + 0.5 * errors * errors) <= 1.0;
    may_be && drawn <= libm::exp(bits * libm::log1p(-rber))
}

impl Reliability {
    /// Returns the conditions of pages now, for the codewords in them.
    ///
    /// # Arguments
    /// - `write`: the number of writes of the block.
    /// - `parts`: the number of pages among which each codeword is divided equally.
    /// - `cells`: the cells of each part, from 0; asked for only where they matter.
    #[inline]
    pub fn conditions(&self, write: u32, parts: u32, cells: impl Fn(u32) -> CellAge) -> PageConditions {
        let mut conditions = PageConditions { write, code_age: 0, rber: 0.0, above: 0, pages: None };
        let Some(flash) = self.flash() else { return conditions };
        let page = |part| PageCells::new(flash, write, cells(part));
        let first = page(0);
        conditions.code_age = first.age.code_age;
        // An empty list allocates nothing.
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

    /// Returns how reads begin, as far as it is known.
    #[inline]
    fn first_read(&self) -> ReadWith {
        ReadWith::hard(if self.keeps_cells { self.questions.first_references } else { ReferencesAt::Cells })
    }

    /// Returns the decode table for the code of an age; `None` where there is none.
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

    /// Returns the fate of a codeword in pages now.
    ///
    /// # Arguments
    /// - `number`: the number of the codeword in the device.
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

    /// Returns the outcome of a step for a codeword. It is a function of both, so it is the same when asked again.
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
                        // The least draws have too many errors, so the greatest draws are those without an error.
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

    /// Returns the number of checks that the hard decisions of a step violate. It is `None` for soft levels, and where the code is not
    /// known to have sparse checks. It is a function of fate and step, as the outcome is.
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

    /// Returns the number of wrong bits among `codeword_bits` in the hard decisions of a step. It uses the draw of the iterations, so that
    /// codewords with the fewest errors take the fewest iterations.
    pub fn wrong_bits(&self, fate: &Fate, step: Step, codeword_bits: u32) -> u32 {
        let draw = self.iterations_draw(fate, 1);
        binomial_quantile(codeword_bits.into(), self.hard_decision(fate, step).rber, draw) as u32
    }

    /// Draws the number of checks that hard decisions violate.
    pub(super) fn drawn_weight(&self, fate: &Fate, step: Step, weights: &SyndromeWeights) -> u32 {
        // The least draws are those that fail, because they have the most errors.
        weights.draw(self.hard_decision(fate, step).rber, 1.0 - fate.uniform(), self.weights.uniform(fate.draw, 0))
    }

    /// Returns the point at which the hard decisions of a step are looked up.
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

    /// Returns the raw bit error rate of a codeword whose pages are kept, read in a given way.
    fn rber_by(&self, fate: &Fate, read: ReadWith) -> f64 {
        let flash = self.flash().expect("fates with pages are of flash");
        let mean = fate.pages.as_ref().expect("they are kept where they are asked again").rber(flash, read);
        flash.factors.codeword_rber(mean, fate.number, fate.write.into())
    }

    /// Returns the raw bit error rate at which a table is asked for the outcome of a step.
    fn level_rber(&self, table: &DecodeTable, fate: &Fate, hard: HardDecision, step: Step) -> f64 {
        match table.soft_levels() {
            SoftLevels::Information if step.level > 1 && fate.pages.is_some() => self.rber_by(fate, step.read_with()),
            SoftLevels::Information | SoftLevels::HardRber => hard.rber,
        }
    }

    /// Whether a soft level, or a level before it with the same references, decodes a codeword.
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

    /// Returns the least level that decodes a codeword, which no controller knows; one more than there are levels if none does.
    pub fn least_level(&self, fate: &Fate) -> u8 {
        let levels = self.levels();
        (1..=levels).find(|&level| self.outcome(fate, Step::fresh(level)).decoded).unwrap_or(MAX_LEVEL + 1)
    }

    /// Returns the raw bit error rate of a codeword in pages; `None` where it is not known.
    ///
    /// # Arguments
    /// - `number`: the number of the codeword in the device.
    pub fn rber(&self, pages: &PageConditions, number: u64) -> Option<f64> {
        let flash = self.flash()?;
        let of_pages = pages.pages.as_ref().map_or(pages.rber, |pages| pages.rber(flash, ReadWith::level(1)));
        Some(flash.factors.codeword_rber(of_pages, number, pages.write.into()))
    }

    /// Returns the probability that a step fails codewords like this one, over all draws; `None` where neither a table nor a formula tells
    /// it.
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

    /// Returns, for reads of codewords like this one, the probability that every step of a policy fails, and the mean number of steps, over
    /// all draws. A draw that an easier step decodes is decoded by harder ones, so that all steps fail as often as the best of them.
    /// Nothing is remembered of other reads, and nothing is predicted. Violated checks have their mean number, and inferred references are
    /// the median ones. `None` where neither a table nor a formula tells it, and for a policy of the user's own.
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

    /// Returns the mean number of checks that hard decisions violate.
    fn mean_weight(&self, fate: &Fate, step: Step) -> Option<u32> {
        let weights = self.table_at(fate.code_age)?.syndrome_weights()?;
        Some(weights.mean(self.hard_decision(fate, step).rber) as u32)
    }

    /// Returns the raw bit error rate of a codeword that is beyond its decode table, so that its outcome is a guess, and the side on which
    /// it is.
    #[inline]
    pub fn beyond_table(&self, fate: &Fate) -> Option<(Side, f64)> {
        let Kind::Tables(tables) = &self.kind else { return None };
        if tables.reach {
            return None;
        }
        tables.tables.at(|| fate.code_age).beyond(fate.rber).map(|side| (side, fate.rber))
    }

    /// Whether a codeword has few errors. Codewords with the fewest errors are those that take the fewest iterations with hard decision.
    fn has_few_errors(&self, fate: &Fate, rber: f64, few: FewErrors) -> bool {
        self.iterations_draw(fate, 1) < binomial_cdf(few.errors.into(), few.bits.into(), rber)
    }

    fn iterations_draw(&self, fate: &Fate, level: u8) -> f64 {
        // There are at most eight levels, so (write, level) pack into one index.
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

    /// Is a word without an error exactly where its draw is at most the probability of that, also where the two almost agree?
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
