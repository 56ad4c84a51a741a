use softsense_nand::{ReadWith, ReferencesAt};

/// One attempt at the codewords of a page: its references, and what is sensed and transferred for it. One decode of each codeword follows,
/// unless only known cells are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// References of the attempt.
    pub references: ReferencesAt,
    /// Level that the decoder works with.
    pub level: u8,
    /// Whether the hard-decision level is sensed and transferred.
    pub hard: bool,
    /// Number of extra levels that are sensed and transferred.
    pub extra_levels: u8,
    /// Number of sensings of each boundary before the attempt, which find where references belong. The die counts, so nothing is
    /// transferred.
    pub search_sensings: u8,
    /// Number of hard decisions that are sensed before the attempt with other references, and stay in the die.
    pub unsent_sensings: u8,
    /// Number of predictions in the die whether hard decisions will be decoded.
    pub predictions: u8,
    /// Sensing time of the hard-decision level, in per cent of the whole time.
    pub sensing_percent: u8,
    /// Whether the attempt is only for the errors of known cells: these cells alone are transferred, of the page that has their boundary.
    pub known_cells: bool,
}

impl Step {
    /// Makes a sensing of all references of `level`, with the references of the cells.
    pub fn fresh(level: u8) -> Self {
        Self::fresh_at(ReferencesAt::Cells, level)
    }

    /// Makes a sensing of all references of `level`.
    pub fn fresh_at(references: ReferencesAt, level: u8) -> Self {
        Self {
            references,
            level,
            hard: true,
            extra_levels: level - 1,
            search_sensings: 0,
            unsent_sensings: 0,
            predictions: 0,
            sensing_percent: 100,
            known_cells: false,
        }
    }

    /// Makes a sensing of hard decisions.
    pub fn hard_at(references: ReferencesAt) -> Self {
        Self::fresh_at(references, 1)
    }

    /// Makes a read of known cells.
    pub fn known_cells_at(references: ReferencesAt) -> Self {
        Self { known_cells: true, ..Self::hard_at(references) }
    }

    /// Returns how the cells are read.
    #[inline]
    pub fn read_with(self) -> ReadWith {
        let Self { references, level, sensing_percent, .. } = self;
        ReadWith { references, level, sensing_percent }
    }
}

/// The information that a controller has after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observation {
    /// The step.
    pub step: Step,
    /// Whether the decoder found a codeword for each codeword that was read in the step.
    pub decoded: bool,
    /// Number of checks that a hard decision violated, if that was asked for: the mean over the codewords that failed.
    pub syndrome_weight: Option<u32>,
    /// References that the errors of known cells, or the share of ones, infer, if these were counted: in steps off the default ones.
    pub inferred: Option<i8>,
}

impl Observation {
    /// Makes the observation of a step that failed, without further measurements.
    pub fn failed(step: Step) -> Self {
        Self { step, decoded: false, syndrome_weight: None, inferred: None }
    }
}

/// The information that a controller has about a read under way, besides the present step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct History {
    /// References at which the read began, if they were remembered.
    remembered: Option<ReferencesAt>,
    /// Fewest violated checks of the hard decisions so far, and the references of that one.
    fewest_violated: Option<(u32, ReferencesAt)>,
    /// Last inference, if it was made after the last step.
    inferred: Option<i8>,
    /// Number of hard decisions so far at inferred references.
    tried_inferred: u8,
    /// Whether the die has counted ones for a hard decision of this read.
    counted_ones: bool,
}

impl History {
    /// Makes the history of a read that begins.
    ///
    /// # Arguments
    /// - `remembered`: the references with which the last read decoded, where they are remembered.
    pub fn new(remembered: Option<ReferencesAt>) -> Self {
        Self { remembered, ..Self::default() }
    }

    /// Adds an observation.
    pub fn see(&mut self, seen: Observation) {
        let step = seen.step;
        if let (1, Some(weight)) = (step.level, seen.syndrome_weight)
            && self.fewest_violated.is_none_or(|(fewest, _)| weight < fewest)
        {
            self.fewest_violated = Some((weight, step.references));
        }
        self.inferred = seen.inferred;
        self.counted_ones |= step.unsent_sensings > 0;
        let at_inferred = matches!(step.references, ReferencesAt::Inferred(_));
        self.tried_inferred += u8::from(at_inferred && step.level == 1 && !step.known_cells);
    }

    /// Adds the die's inference from a step that is not decoded yet.
    pub fn infer(&mut self, steps: i8) {
        self.inferred = Some(steps);
    }

    pub(crate) fn remembered(&self) -> Option<ReferencesAt> {
        self.remembered
    }

    pub(crate) fn fewest_violated(&self) -> Option<ReferencesAt> {
        self.fewest_violated.map(|(_, references)| references)
    }

    pub(crate) fn inferred(&self) -> Option<i8> {
        self.inferred
    }

    pub(crate) fn tried_inferred(&self) -> u8 {
        self.tried_inferred
    }

    pub(crate) fn counted_ones(&self) -> bool {
        self.counted_ones
    }

    /// Returns the entry of a retry table that is tried after another; `None` when all of `retries` were tried.
    pub(crate) fn entry_after(&self, entry: u8, retries: u8) -> Option<u8> {
        let first = match self.remembered {
            Some(ReferencesAt::RetryEntry(first)) => first,
            _ => 0,
        };
        let from = if entry == first { 0 } else { entry + 1 };
        (from..retries).find(|&next| next != first)
    }
}
