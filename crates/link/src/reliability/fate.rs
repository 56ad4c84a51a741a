use std::borrow::Cow;
use std::sync::Arc;

use softsense_base::binomial_cdf;
use softsense_ecc::ldpc::SyndromeWeights;
use softsense_nand::{ReadWith, ReferencesAt};

use super::exact::Conditions;
use super::{Fates, Kind, Reliability};
use crate::{CellAge, DecodeTable, History, MAX_LEVEL, Observation, ReadSpec, SoftLevels, Step};

/// What pages are like at the moment at which they are asked for: all that the codewords in them have in common.
#[derive(Debug, Clone)]
pub struct PageConditions {
    /// How often their block has been written.
    write: u32,
    /// P/E cycles of their cells; 0 where no age is looked at.
    pe_cycles: u32,
    /// The mean of their raw bit error rates; 0 where none is known.
    rber: f64,
    /// The same with the references with which reads begin.
    first_rber: f64,
    /// Where `rber` is in the grid of the decode table.
    above: u32,
    /// The cells of each part, where more is asked of them than the raw bit error rate: codewords are really decoded, or read with
    /// other references.
    cells: Arc<[CellAge]>,
}

/// What will come of reading one codeword, whatever is tried: its random draw, which is fixed when it is written, and its cells at
/// the moment at which it was asked for. Re-reads at one age agree, levels are nested, and all policies meet the same fates.
#[derive(Debug, Clone)]
pub struct Fate {
    /// The codeword: its number in the device, and how often its block has been written.
    number: u64,
    write: u32,
    /// P/E cycles of its cells; 0 where no age is looked at.
    pe_cycles: u32,
    /// Where its raw bit error rate is in the grid of its decode table.
    above: u32,
    /// 64 uniform bits, those of the seed, the number and the write; 0 where nothing is drawn.
    draw: u64,
    /// Raw bit error rate; 0 where none is known.
    rber: f64,
    /// That of its pages with the references with which reads begin.
    first_rber: f64,
    /// What its cells are like, where it is really decoded.
    pub(super) conditions: Option<Box<Conditions>>,
    /// The cells of its parts, where they are read with more than the references of hard decision.
    pub(super) cells: Option<Arc<[CellAge]>>,
}

impl Fate {
    /// The number of the codeword in the device.
    #[inline]
    pub fn number(&self) -> u64 {
        self.number
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

impl Reliability {
    /// What pages are like now, for the codewords in them.
    ///
    /// # Arguments
    /// - `write`: how often their block has been written.
    /// - `parts`: pages among which each codeword is divided equally.
    /// - `cells`: those of each of the parts, from 0; asked for only where they matter.
    #[inline]
    pub fn conditions(&self, write: u32, parts: u32, cells: impl Fn(u32) -> CellAge) -> PageConditions {
        let mut conditions =
            PageConditions { write, pe_cycles: 0, rber: 0.0, first_rber: 0.0, above: 0, cells: Arc::default() };
        let Some(flash) = self.flash() else { return conditions };
        let add = |conditions: &mut PageConditions, age: &CellAge| {
            let factor = flash.factor(write.into(), age);
            let rber = |read| (flash.compiled.by(age.wear, age.page_type, read) * factor).min(0.5);
            conditions.rber += rber(ReadWith::level(1));
            if self.questions.first_references != ReferencesAt::Cells {
                conditions.first_rber += rber(ReadWith::hard(self.questions.first_references));
            }
        };
        let first = cells(0);
        conditions.pe_cycles = first.wear.pe_cycles;
        add(&mut conditions, &first);
        if parts > 1 {
            (1..parts).for_each(|part| add(&mut conditions, &cells(part)));
            conditions.rber /= f64::from(parts);
            conditions.first_rber /= f64::from(parts);
        }
        if let Some(table) = self.table_at(conditions.pe_cycles) {
            conditions.above = table.above(conditions.rber) as u32;
        }
        if self.keeps_cells || self.is_exact() {
            conditions.cells = (0..parts).map(cells).collect();
        }
        conditions
    }

    /// The decode table for codewords in cells of an age; `None` where there is none.
    #[inline]
    fn table_at(&self, pe_cycles: u32) -> Option<&DecodeTable> {
        match &self.kind {
            Kind::Tables(tables) => Some(tables.tables.at(|| pe_cycles)),
            Kind::Bch(bch) => match &bch.fates {
                Fates::Drawn(codes, _) => Some(&codes.at(|| pe_cycles).1),
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
        let PageConditions { write, pe_cycles, rber, first_rber, above, .. } = *pages;
        let mut fate =
            Fate { number, write, pe_cycles, above, draw: 0, rber, first_rber, conditions: None, cells: None };
        if let Some(exact) = self.exact() {
            fate.conditions = Some(exact.conditions(number, write, &pages.cells).into());
            fate.cells = self.keeps_cells.then(|| pages.cells.clone());
        } else if !matches!(self.kind, Kind::Perfect | Kind::Given(_)) {
            fate.draw = self.draws.bits(number, write.into());
            fate.cells = self.keeps_cells.then(|| pages.cells.clone());
            if let Some(flash) = self.flash()
                && flash.factors.codewords_differ()
            {
                fate.rber = flash.factors.codeword_rber(rber, number, write.into());
                fate.above = self.table_at(pe_cycles).expect("it has flash").above(fate.rber) as u32;
            }
        }
        fate
    }

    /// What a step makes of a codeword. It is a function of both: asked again, it is the same.
    #[inline]
    pub fn outcome(&self, fate: &Fate, step: Step) -> Outcome {
        let fate = &*self.as_read(fate, step);
        let level = step.level;
        match &self.kind {
            Kind::Perfect => {
                Outcome { decoded: true, iterations: self.questions.iterations.then_some(1), ..Outcome::default() }
            }
            Kind::Fixed(thresholds) => {
                Outcome { decoded: fate.draw >= thresholds[usize::from(level) - 1], ..Outcome::default() }
            }
            Kind::Tables(tables) => {
                let table = tables.tables.at(|| fate.pe_cycles);
                let decoded = match level {
                    1 => !table.fails(1, fate.above as usize, fate.rber, fate.uniform()),
                    _ => self.soft_decodes(table, fate, step),
                };
                let iterations = if self.questions.iterations {
                    let rber = self.level_rber(table, fate, step);
                    table.iterations(level, rber, decoded, self.iterations_draw(fate, level))
                } else {
                    None
                };
                let few_errors =
                    level == 1 && self.questions.few_errors.is_some_and(|few| self.has_few_errors(fate, few));
                Outcome { decoded: decoded || few_errors, few_errors, iterations, ..Outcome::default() }
            }
            Kind::Bch(bch) => match &bch.fates {
                Fates::Drawn(codes, _) => {
                    let (bits, table) = codes.at(|| fate.pe_cycles);
                    Outcome {
                        decoded: !table.fails(1, fate.above as usize, fate.rber, fate.uniform()),
                        clean: self.questions.clean && {
                            // The greatest draws are those without an error, as the least have too many.
                            let without_error = libm::exp(f64::from(*bits) * libm::log1p(-fate.rber));
                            1.0 - fate.uniform() <= without_error
                        },
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
        let weights = self.table_at(fate.pe_cycles)?.syndrome_weights().filter(|_| step.level == 1)?;
        Some(self.drawn_weight(fate, step, weights))
    }

    /// How many checks hard decisions violate, where that is drawn.
    pub(super) fn drawn_weight(&self, fate: &Fate, step: Step, weights: &SyndromeWeights) -> u32 {
        // The least draws are those that fail: they have the most errors.
        weights.draw(self.as_read(fate, step).rber, 1.0 - fate.uniform(), self.weights.uniform(fate.draw, 0))
    }

    /// A codeword as it is read by a step.
    #[inline]
    fn as_read<'a>(&self, fate: &'a Fate, step: Step) -> Cow<'a, Fate> {
        let read = ReadWith { level: 1, ..step.read_with() };
        if read == ReadWith::level(1) || fate.cells.is_none() || fate.conditions.is_some() {
            return Cow::Borrowed(fate);
        }
        Cow::Owned(self.moved(fate, read))
    }

    /// A codeword as it is read in another way: the same draw, at the raw bit error rate that its cells have so.
    fn moved(&self, fate: &Fate, read: ReadWith) -> Fate {
        let rber = if read == ReadWith::hard(self.questions.first_references) {
            let flash = self.flash().expect("fates with cells are of flash");
            flash.factors.codeword_rber(fate.first_rber, fate.number, fate.write.into())
        } else {
            self.rber_by(fate, read)
        };
        let above = self.table_at(fate.pe_cycles).map_or(0, |table| table.above(rber) as u32);
        Fate { rber, above, ..fate.clone() }
    }

    /// The raw bit error rate of a codeword whose cells are kept, as they are read.
    fn rber_by(&self, fate: &Fate, read: ReadWith) -> f64 {
        let flash = self.flash().expect("fates with cells are of flash");
        let cells = fate.cells.as_deref().expect("they are kept where they are asked again");
        let of_page = |age: &CellAge| flash.page_rber_by(fate.write.into(), age, age.page_type, read);
        let mean = cells.iter().map(of_page).sum::<f64>() / cells.len() as f64;
        flash.factors.codeword_rber(mean, fate.number, fate.write.into())
    }

    /// The raw bit error rate at which a table is asked what a step makes of a codeword.
    fn level_rber(&self, table: &DecodeTable, fate: &Fate, step: Step) -> f64 {
        match table.soft_levels() {
            SoftLevels::Information if step.level > 1 && fate.cells.is_some() => self.rber_by(fate, step.read_with()),
            SoftLevels::Information | SoftLevels::HardRber => fate.rber,
        }
    }

    /// Whether a soft level, or one before it with the same references, decodes a codeword.
    fn soft_decodes(&self, table: &DecodeTable, fate: &Fate, step: Step) -> bool {
        let (above, uniform) = (fate.above as usize, fate.uniform());
        if table.soft_levels() == SoftLevels::HardRber || fate.cells.is_none() {
            return !table.fails(step.level, above, fate.rber, uniform);
        }
        !table.fails(1, above, fate.rber, uniform)
            || (2..=step.level).any(|level| {
                let rber = self.level_rber(table, fate, Step { level, ..step });
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
        self.flash().map(|flash| flash.factors.codeword_rber(pages.rber, number, pages.write.into()))
    }

    /// The probability that a step fails codewords like this one, over all draws: `None` where no table and no formula tells.
    pub fn p_fail(&self, fate: &Fate, step: Step) -> Option<f64> {
        let fate = &*self.as_read(fate, step);
        match &self.kind {
            Kind::Perfect => Some(0.0),
            Kind::Fixed(thresholds) => Some(thresholds[usize::from(step.level) - 1] as f64 / 2f64.powi(64)),
            Kind::Tables(_) | Kind::Bch(_) => {
                let table = self.table_at(fate.pe_cycles)?;
                let rber = |level| self.level_rber(table, fate, Step { level, ..step });
                Some(table.p_fail_by(step.level.min(table.levels()), rber))
            }
            Kind::Exact(_) | Kind::Given(_) => None,
        }
    }

    /// What reads of codewords like this one come to, over all draws: the probability that every step of a policy fails, and the mean
    /// number of steps. A draw that an easier step decodes is decoded by harder ones, so that steps fail together as often as
    /// the best of them. What is remembered of other reads is not, and nothing is predicted; violated checks are as many as their mean,
    /// and what is inferred is what is so in the middle. `None` where no table
    /// and no formula tells.
    pub fn read_through(&self, fate: &Fate, spec: &ReadSpec) -> Option<(f64, f64)> {
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
        let weights = self.table_at(fate.pe_cycles)?.syndrome_weights()?;
        Some(weights.mean(self.as_read(fate, step).rber) as u32)
    }

    /// Whether the raw bit error rate of a codeword is one that its decode table does not reach, so that its fate is a guess.
    #[inline]
    pub fn is_beyond_table(&self, fate: &Fate) -> bool {
        let Kind::Tables(tables) = &self.kind else { return false };
        !tables.reach && !tables.tables.at(|| fate.pe_cycles).reaches(fate.rber)
    }

    /// Those with the fewest errors are those that take the fewest iterations with hard decision.
    fn has_few_errors(&self, fate: &Fate, few: FewErrors) -> bool {
        self.iterations_draw(fate, 1) < binomial_cdf(few.errors.into(), few.bits.into(), fate.rber)
    }

    fn iterations_draw(&self, fate: &Fate, level: u8) -> f64 {
        // Eight levels at most, so (write, level) pack into one index.
        self.iterations.uniform(fate.number, u64::from(fate.write) * 8 + u64::from(level))
    }
}

pub(super) fn conditions(fate: &Fate) -> &Conditions {
    fate.conditions.as_ref().expect("fates of one reliability are asked of it")
}
