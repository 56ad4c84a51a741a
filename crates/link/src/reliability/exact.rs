use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use softsense_ecc::catalogue::Code;
use softsense_ecc::hardware::LdpcShape;
use softsense_ecc::ldpc::SyndromeWeights;
use softsense_nand::{ReadWith, Wear};

use super::fate::conditions;
use super::{Fate, Flash, Outcome};
use crate::exact::in_steps;
use crate::{ByAge, CellAge, CellCondition, CodewordReader, DecodeAttempt, Step};

/// Codewords that are really decoded.
#[derive(Debug)]
pub(super) struct Exact {
    pub(super) flash: Flash,
    pub(super) levels: u8,
    pub(super) data_bits: usize,
    /// Parameters of the code that a circuit depends on; none where it is not an LDPC code.
    pub(super) ldpc: Option<LdpcShape>,
    /// Index of the reader, by P/E cycles.
    ages: ByAge<usize>,
    reading: Mutex<Reading>,
}

/// Readers, each with a code, and the results of recent decodes.
#[derive(Debug)]
struct Reading {
    readers: Vec<CodewordReader>,
    /// Recent results, by number and write of the codeword.
    known: HashMap<(u64, u32), Known>,
}

/// Recent results for a codeword.
#[derive(Debug)]
struct Known {
    conditions: Conditions,
    /// Attempts, by how the cells were read.
    attempts: Vec<(ReadWith, DecodeAttempt)>,
}

/// The conditions of the cells of each part of a codeword, and the reader of the codeword.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Conditions {
    reader: usize,
    parts: Vec<CellCondition>,
}

impl Conditions {
    /// Returns the wear of the cells of the first part.
    ///
    /// # Panics
    /// If the cells have no threshold voltages.
    pub(super) fn wear(&self) -> Wear {
        match self.parts[0] {
            CellCondition::Voltages { wear, .. } => wear,
            CellCondition::Boundary { .. } => panic!("cells without threshold voltages"),
        }
    }
}

/// Most codewords whose results are kept: 10 MB.
const MOST_KNOWN: usize = 1 << 16;

impl Exact {
    /// # Arguments
    /// - `readers`: each reader with the P/E cycles up to which codewords are read by it.
    pub(super) fn new(readers: Vec<(u32, CodewordReader)>, flash: Flash) -> Self {
        let (ages, readers): (Vec<u32>, Vec<CodewordReader>) = readers.into_iter().unzip();
        let (code, levels) = (readers[0].code(), readers[0].levels());
        let data_bits = code.data_bits();
        let ldpc = if let Code::Ldpc(code) = code { Some(LdpcShape::of(code)) } else { None };
        let ages = ByAge::new(ages.into_iter().zip(0..));
        let reading = Mutex::new(Reading { readers, known: HashMap::new() });
        Self { flash, levels, data_bits, ldpc, ages, reading }
    }

    /// Returns the conditions of the cells of each part of a codeword. A factor on the RBER of threshold voltages acts as more or fewer P/E
    /// cycles. The overdispersion of a codeword is common to all its parts.
    pub(super) fn conditions(&self, number: u64, write: u32, cells: &[CellAge]) -> Conditions {
        let reader = *self.ages.at(|| cells[0].wear.pe_cycles);
        Conditions { reader, parts: cells.iter().map(|&age| self.condition(number, write, age)).collect() }
    }

    fn condition(&self, number: u64, write: u32, age: CellAge) -> CellCondition {
        let wear = in_steps(age.wear);
        let age = CellAge { wear, ..age };
        let rber = |page| {
            let of_page = self.flash.page_rber(write.into(), &age, page);
            self.flash.factors.codeword_rber(of_page, number, write.into())
        };
        let Some(pages) = self.flash.model.pages() else {
            return CellCondition::Boundary { rber: rber(None) };
        };
        // Without page types codewords take the pages of a wordline in turn.
        let page = age.page_type.unwrap_or((number % pages as u64) as usize);
        let rber = rber(Some(page));
        let unvaried = rber == self.flash.compiled.at(wear, Some(page));
        let wear = if unvaried { wear } else { self.flash.compiled.wear_for(wear, Some(page), rber) };
        CellCondition::Voltages { wear, page }
    }

    /// Makes one attempt at a codeword.
    fn attempt(&self, number: u64, write: u32, conditions: &Conditions, step: Step) -> DecodeAttempt {
        let mut reading = self.lock();
        let Reading { readers, known } = &mut *reading;
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        let nothing = || Known { conditions: conditions.clone(), attempts: Vec::new() };
        let entry = known.entry((number, write)).or_insert_with(nothing);
        if entry.conditions != *conditions {
            *entry = nothing();
        }
        let asked = step.read_with();
        if let Some((_, attempt)) = entry.attempts.iter().find(|(known, _)| *known == asked) {
            return *attempt;
        }
        let reader = &mut readers[conditions.reader];
        let attempt = reader.attempt_by(number, write.into(), &conditions.parts, asked);
        entry.attempts.push((asked, attempt));
        attempt
    }

    /// Returns the distribution of violated checks, if the code is an LDPC code, and the same at all ages.
    pub(super) fn syndrome_weights(&self) -> Option<SyndromeWeights> {
        match self.lock().readers.as_slice() {
            [reader] => match reader.code() {
                Code::Ldpc(code) => code.syndrome_weights(),
                Code::Bch(_) => None,
            },
            _ => None,
        }
    }

    /// Counts the violated checks among the first checks of the code, by the hard decisions of a step.
    pub(super) fn violated_of_first(&self, checks: u32, fate: &Fate, step: Step) -> u32 {
        let conditions = conditions(fate);
        let reader = &mut self.lock().readers[conditions.reader];
        reader.violated_of_first(checks, fate.number(), fate.write().into(), &conditions.parts, step.read_with())
    }

    fn lock(&self) -> MutexGuard<'_, Reading> {
        self.reading.lock().expect("a panic in a decoder ends the run")
    }

    /// Returns the number of checks that the hard decisions of a step violate.
    pub(super) fn syndrome_weight(&self, number: u64, write: u32, conditions: &Conditions, step: Step) -> Option<u32> {
        self.attempt(number, write, conditions, step).syndrome_weight
    }

    /// Returns the outcome of a step for a codeword.
    pub(super) fn outcome(&self, number: u64, write: u32, conditions: &Conditions, step: Step) -> Outcome {
        let outcome = Outcome::from(self.attempt(number, write, conditions, step));
        Outcome { iterations: outcome.iterations.filter(|_| self.ldpc.is_some()), ..outcome }
    }
}

impl From<DecodeAttempt> for Outcome {
    fn from(attempt: DecodeAttempt) -> Self {
        Self {
            decoded: attempt.converged,
            undetected: attempt.converged && !attempt.correct,
            clean: attempt.clean,
            few_errors: false,
            iterations: Some(attempt.iterations.max(1) as u16),
        }
    }
}

impl Clone for Exact {
    fn clone(&self) -> Self {
        let readers = self.lock().readers.clone();
        Self {
            flash: self.flash.clone(),
            ages: self.ages.clone(),
            reading: Mutex::new(Reading { readers, known: HashMap::new() }),
            ..*self
        }
    }
}
