//! Measurements of cells besides their data, which tell where references should be, and whether decoding is worth trying.

use softsense_ecc::ldpc::SyndromeWeights;
use softsense_nand::{InferredBy, ReferencesAt};

use super::{Kind, Reliability};
use crate::{Fate, Predictor, Step};

/// A [`Predictor`] for a code.
#[derive(Debug, Clone)]
pub struct CompiledPredictor {
    /// Number of checks that are counted.
    checks: u32,
    /// Distribution of the number of these checks that hard decisions violate.
    weights: SyndromeWeights,
    /// Most violated checks with which decoding is tried.
    threshold: f64,
}

impl CompiledPredictor {
    pub(crate) fn new(predictor: &Predictor, weights: &SyndromeWeights) -> Self {
        let checks = predictor.checks.map_or(weights.checks(), |checks| checks.min(weights.checks()));
        let weights = weights.of_some(checks);
        Self { checks, threshold: weights.mean(predictor.threshold_rber), weights }
    }

    /// Returns the number of checks that are counted, the first of the code.
    pub fn checks(&self) -> u32 {
        self.checks
    }

    /// Returns the most violated checks with which decoding is tried: their mean at the predictor's raw bit error rate.
    pub fn threshold(&self) -> f64 {
        self.threshold
    }
}

impl Reliability {
    /// Returns a predictor for the code; `None` where the number of violated checks is not known, or codes change with age.
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

    /// Whether the hard decisions of a codeword violate more checks than a predictor lets pass. It is a function of all arguments.
    pub fn predicts_failure(&self, fate: &Fate, step: Step, predictor: &CompiledPredictor) -> bool {
        let weight = match (&self.kind, self.exact()) {
            (Kind::Given(codeword), _) => codeword.readings.violated_of_first(predictor.checks, step.read_with()),
            (_, Some(exact)) => exact.violated_of_first(predictor.checks, fate, step),
            (_, None) => self.drawn_weight(fate, step, &predictor.weights),
        };
        f64::from(weight) > predictor.threshold
    }

    /// Returns where references belong by a measurement with given references, in steps off the default ones. Sentinels that are read where
    /// something was inferred before give the calibrated references. Randomness has a draw of the page, so the result is the same for all
    /// codewords of the page, and whenever it is asked again.
    ///
    /// # Panics
    /// If the cells infer nothing in this way.
    pub fn inferred(&self, fate: &Fate, by: InferredBy, references: ReferencesAt) -> i8 {
        if let Kind::Given(codeword) = &self.kind {
            return codeword.readings.inferred(by, references);
        }
        let cells = fate.pages.as_ref().expect("cells that infer are kept").first();
        let uniforms = [0, 1].map(|which| self.counts.uniform(cells.page, 2 * u64::from(fate.write()) + which));
        self.inferred_of(fate, by, references, uniforms)
    }

    /// Returns the typical result of [`Self::inferred`], by the medians of the counts.
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
