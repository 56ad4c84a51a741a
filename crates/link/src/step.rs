use softsense_nand::{ReadWith, ReferencesAt};

/// One attempt at the codewords of a page: where references stand, what is sensed and what is transferred for it. One decode of
/// each codeword follows, unless nothing but known cells is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Where references stand.
    pub references: ReferencesAt,
    /// The level the decoder works with.
    pub level: u8,
    /// Whether the hard-decision level is sensed and transferred.
    pub hard: bool,
    /// How many extra levels are sensed and transferred.
    pub extra_levels: u8,
    /// How often each boundary is sensed before, to find where references belong. The die counts: nothing is transferred.
    pub search_sensings: u8,
    /// Hard decisions that are sensed before with other references, and stay in the die.
    pub unsent_sensings: u8,
    /// How often the die predicts whether hard decisions will be decoded.
    pub predictions: u8,
    /// For how much of its time the hard-decision level is sensed, in per cent of it.
    pub sensing_percent: u8,
    /// Whether the errors of known cells are all that it is for: of the page that has their boundary they alone are transferred.
    pub known_cells: bool,
}

impl Step {
    /// A sensing of `level` from nothing, with the references of the cells.
    pub fn fresh(level: u8) -> Self {
        Self::fresh_at(ReferencesAt::Cells, level)
    }

    /// A sensing of `level` from nothing.
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

    /// A sensing of hard decisions.
    pub fn hard_at(references: ReferencesAt) -> Self {
        Self::fresh_at(references, 1)
    }

    /// A reading of known cells.
    pub fn known_cells_at(references: ReferencesAt) -> Self {
        Self { known_cells: true, ..Self::hard_at(references) }
    }

    /// How its cells are read.
    #[inline]
    pub fn read_with(self) -> ReadWith {
        let Self { references, level, sensing_percent, .. } = self;
        ReadWith { references, level, sensing_percent }
    }
}

/// What a controller sees after a step, no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observation {
    /// What was done.
    pub step: Step,
    /// Whether the decoder found a codeword for everything that was read with it.
    pub decoded: bool,
    /// Of a hard decision, how many checks a codeword violated, where that was asked for: the mean of those that failed.
    pub syndrome_weight: Option<u32>,
    /// Where the errors of known cells, or the share of ones, say that references belong, where they were counted: so many steps off
    /// the default ones.
    pub inferred: Option<i8>,
}

impl Observation {
    /// A step that failed, of which nothing else was asked.
    pub fn failed(step: Step) -> Self {
        Self { step, decoded: false, syndrome_weight: None, inferred: None }
    }
}

/// What a controller knows of a read under way, beside the step that it makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct History {
    /// Where references stood when the read began, if that was remembered.
    remembered: Option<ReferencesAt>,
    /// Of the hard decisions seen, the fewest violated checks, and where references stood.
    fewest_violated: Option<(u32, ReferencesAt)>,
    /// What was inferred last, if that was after the last step.
    inferred: Option<i8>,
    /// How many of the hard decisions seen were where something had been inferred.
    tried_inferred: u8,
    /// Whether the die has counted ones for one of them.
    counted_ones: bool,
}

impl History {
    /// Of a read that begins.
    ///
    /// # Arguments
    /// - `remembered`: where references stood when the last read decoded, where that is remembered.
    pub fn new(remembered: Option<ReferencesAt>) -> Self {
        Self { remembered, ..Self::default() }
    }

    /// Takes note of what was seen.
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

    /// Takes note of what the die has inferred of a step that is not decoded yet.
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

    /// The entry of a retry table that is tried after another; `None` when all of `retries` were.
    pub(crate) fn entry_after(&self, entry: u8, retries: u8) -> Option<u8> {
        let first = match self.remembered {
            Some(ReferencesAt::RetryEntry(first)) => first,
            _ => 0,
        };
        let from = if entry == first { 0 } else { entry + 1 };
        (from..retries).find(|&next| next != first)
    }
}
