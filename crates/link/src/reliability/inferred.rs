//! Measurements of cells beside their data: they tell where references should be, and whether decoding is worth trying.

use softsense_ecc::ldpc::SyndromeWeights;
use softsense_nand::{InferredBy, ReferencesAt};

use super::{Kind, Reliability};
use crate::{Fate, Predictor, Step};

/// A [`Predictor`] of a code.
#[derive(Debug, Clone)]
pub struct CompiledPredictor {
    /// How many checks it counts.
    checks: u32,
    /// How many of them hard decisions violate.
    weights: SyndromeWeights,
    /// The most violated checks with which decoding is tried.
    threshold: f64,
}

impl CompiledPredictor {
    pub(crate) fn new(predictor: &Predictor, weights: &SyndromeWeights) -> Self {
        let checks = predictor.checks.map_or(weights.checks(), |checks| checks.min(weights.checks()));
        let weights = weights.of_some(checks);
        Self { checks, threshold: weights.mean(predictor.threshold_rber), weights }
    }

    /// How many checks it counts, the first of the code.
    pub fn checks(&self) -> u32 {
        self.checks
    }

    /// The most violated checks with which decoding is tried: their mean at the predictor's raw bit error rate.
    pub fn threshold(&self) -> f64 {
        self.threshold
    }
}

impl Reliability {
    /// A predictor for its code; `None` where nobody knows how many checks hard decisions violate, or codes change with age.
    pub fn predictor(&self, predictor: &Predictor) -> Option<CompiledPredictor> {
        if let Some(exact) = self.exact() {
            return exact.syndrome_weights().map(|weights| CompiledPredictor::new(predictor, &weights));
        }
        let weights = match &self.kind {
            Kind::Given(codeword) => codeword.syndrome_weights.as_ref(),
            _ => self.table()?.syndrome_weights(),
        };
        weights.map(|weights| CompiledPredictor::new(predictor, weights))
    }

    /// Whether the hard decisions of a codeword violate more checks than a predictor lets pass. A function of all three.
    pub fn predicts_failure(&self, fate: &Fate, step: Step, predictor: &CompiledPredictor) -> bool {
        let weight = match (&self.kind, self.exact()) {
            (Kind::Given(codeword), _) => codeword.readings.violated_of_first(predictor.checks, step.read_with()),
            (_, Some(exact)) => exact.violated_of_first(predictor.checks, fate, step),
            (_, None) => self.drawn_weight(fate, step, &predictor.weights),
        };
        f64::from(weight) > predictor.threshold
    }

    /// Where a measurement with references at a place says that they belong: so many steps off the default ones. Of sentinels that
    /// are read where something was inferred before, it is where calibration moves them. What is random has a draw of the page: it is the
    /// same for all its codewords, and whenever it is asked again.
    ///
    /// # Panics
    /// If its cells infer nothing in this way.
    pub fn inferred(&self, fate: &Fate, by: InferredBy, references: ReferencesAt) -> i8 {
        if let Kind::Given(codeword) = &self.kind {
            return codeword.readings.inferred(by, references);
        }
        let cells = fate.pages.as_ref().expect("cells that infer are kept").first();
        let uniforms = [0, 1].map(|which| self.counts.uniform(cells.page, 2 * u64::from(fate.write()) + which));
        self.inferred_of(fate, by, references, uniforms)
    }

    /// The same where nothing is random: by the medians of what is counted.
    pub(super) fn inferred_typically(&self, fate: &Fate, by: InferredBy, references: ReferencesAt) -> i8 {
        self.inferred_of(fate, by, references, [0.5; 2])
    }

    fn inferred_of(&self, fate: &Fate, by: InferredBy, references: ReferencesAt, uniforms: [f64; 2]) -> i8 {
        let flash = self.flash().expect("cells that infer are of flash");
        let inference = flash.model.inference().expect("cells that infer");
        let measured_at = by.measured_at(references);
        let wear = match &fate.conditions {
            Some(conditions) => conditions.wear(),
            None => fate.pages.as_ref().expect("cells that infer are kept").first().wear,
        };
        let errors = flash.compiled.known_errors(wear, measured_at);
        let difference = inference.measured(by, errors, flash.model.cells().states(), uniforms);
        inference.inferred(measured_at, difference)
    }

    /// Whether pages of a type, counted from 0, have the boundary at which cells infer.
    ///
    /// # Panics
    /// If cells infer nothing, or have no such page.
    pub fn shows_known_cells(&self, page_type: usize) -> bool {
        let cells = self.cells().expect("cells that infer are of flash");
        cells.boundaries_of(page_type).contains(&cells.inference().boundary)
    }
}
