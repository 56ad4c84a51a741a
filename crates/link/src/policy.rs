use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{OwnName, Result, check_ranges, or_own, shipped_or_own};
use softsense_nand::{CellSpec, InferredBy, ReferencesAt};

use crate::{History, MAX_LEVEL, Observation, Reliability, Step};

/// The levels that a read tries, and when it begins to sense them. A policy has the information of a controller: the last attempt,
/// whether the decoder failed, and how many checks were violated. Only `ideal` knows the lowest level that decodes, as no real drive does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", remote = "Self")]
#[schemars(transform = or_own)]
pub enum Policy {
    /// The lowest level that decodes, which this policy knows: no step fails. A policy that looks ahead can still be faster where it hides
    /// sensing behind transfers.
    Ideal,
    /// Hard decision first; when it fails, the deepest level at once (LDPC-in-SSD, fig. 4).
    TwoStep,
    /// `two_step`, but soft sensing begins as soon as hard sensing ends, if no other request waits
    /// for the plane (LDPC-in-SSD, fig. 6).
    LookAhead,
    /// One more level after each failure (LDPC-in-SSD, fig. 7).
    Progressive,
    /// `progressive`, with the next level sensed while the last one transfers and decodes.
    LookAheadProgressive,
    /// A policy of the user's own: a [`ReadPolicy`](crate::ReadPolicy), which is handed over beside the config.
    #[serde(skip)]
    Own(OwnName),
}

shipped_or_own!(Policy);

/// References that a retry senses and transfers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Retry {
    /// Only the extra levels are sensed and transferred; the controller has kept the levels before (LDPC-in-SSD, eq. 3).
    Incremental,
    /// The whole level is sensed and transferred again (LDPC-in-SSD, eqs. 1 and 2; LaLDPC's T_i).
    Restart,
    /// `incremental` one level deeper, `restart` over several levels at once: each policy as in LDPC-in-SSD, `two_step` by eq. 1,
    /// `look_ahead` by eq. 2, `progressive` by eq. 3.
    RestartOnJumps,
}

/// Placement of the references of hard decisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HardReferences {
    /// References as the cells say (`references` of `threshold_voltage`): they track the age, or are the chip's default.
    #[default]
    Cells,
    /// Each entry of the chip's retry table (`references.retry_table_v` of `threshold_voltage`) in turn, until a read decodes. Soft levels
    /// come after all entries. `ideal` does not use the table.
    RetryTable,
    /// References as the cells say. After a failure they are where a search finds the valleys between states (`references.valley_search` of
    /// `threshold_voltage`), by its `sensings` of each boundary, counted in the die. Soft levels are placed around the result.
    /// `ideal` does not search.
    ValleySearch,
    /// The chip's default references. After a failure they are where the errors of known cells say (`references.inference` of
    /// `threshold_voltage`); after a second failure, further in the direction of these errors (Sentinel). A page without the boundary of
    /// the known cells takes a read of that boundary first. Soft levels come after both. `ideal` does not infer.
    Sentinels,
    /// The chip's default references. After a failure they are where the share of ones says (`references.inference` of
    /// `threshold_voltage`): on one command the die senses, counts, moves the references and senses again (Swift-Read). Soft levels come
    /// after that. `ideal` does not infer.
    ShareOfOnes,
}

impl HardReferences {
    /// Returns the measurement by which references are inferred, if they are.
    pub fn infers_by(self) -> Option<InferredBy> {
        match self {
            HardReferences::Cells | HardReferences::RetryTable | HardReferences::ValleySearch => None,
            HardReferences::Sentinels => Some(InferredBy::Sentinels),
            HardReferences::ShareOfOnes => Some(InferredBy::ShareOfOnes),
        }
    }
}

/// References that a controller remembers after they decoded a hard decision, so that later reads begin there. With a retry table, reads
/// then try the other entries in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Remembered {
    /// No references: reads begin with the chip's default, or the first entry.
    #[default]
    Nothing,
    /// The references that last decoded a read of the block since its erase.
    OfBlock,
    /// The references that last decoded a read of the layer of the block (`variation.wordlines_per_layer`) since its
    /// erase.
    OfLayer,
}

/// A predictor that uses violated checks to tell that a hard decision will not be decoded. Only the first hard decision
/// of each read is predicted.
///
/// Source: M. Chun et al., "RiF: Improving Read Performance of Modern SSDs Using an On-Die Early-Retry Engine", HPCA 2024, through
/// notes of others.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Predictor {
    /// Place of the predictor.
    pub place: PredictorPlace,
    /// Time of a prediction, us.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub predict_us: f64,
    /// Threshold as a raw bit error rate: decoding is tried with at most the mean number of violated checks at this
    /// rate.
    #[schemars(range(min = 1e-9, max = 0.5))]
    pub threshold_rber: f64,
    /// Number of checks that are counted, the first ones of the code. Default: all.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1 << 20))]
    pub checks: Option<u32>,
}

/// Place of a [`Predictor`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PredictorPlace {
    /// The die: one codeword stands for its page. A page predicted to fail is not transferred, but sensed again at the references that the
    /// share of ones gives.
    Die,
    /// The controller, before the decoder: a codeword predicted to fail is retried at once.
    Controller,
}

/// Placement of the references of soft levels that come after retries of hard decisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SoftReferences {
    /// References as the cells say.
    #[default]
    Cells,
    /// Around the references with which hard decisions violated the fewest checks. A step that is sensed ahead uses the counts known at
    /// that time.
    FewestViolated,
}

/// The way in which reads are done.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReadSpec {
    /// The levels that a read tries, and when it begins to sense them.
    pub policy: Policy,
    /// References that a retry senses and transfers.
    pub retry: Retry,
    /// The deepest level of reads. The decode table must have it, or the decoder must be able to use it.
    #[schemars(range(min = 1, max = MAX_LEVEL))]
    pub max_level: u8,
    /// Placement of the references of hard decisions.
    pub references: HardReferences,
    /// References that are remembered after they decoded, so that later reads begin there.
    pub remembered: Remembered,
    /// Placement of the references of soft levels that come after retries of hard decisions.
    pub soft_references: SoftReferences,
    /// Whether the next retry is sensed while the last one transfers and decodes, from the first retry on, with any
    /// policy (pipelined read-retry, PR2). A policy that looks ahead does so from the first step on.
    pub retries_ahead: bool,
    /// Sensing time of a retry of hard decisions in per cent of the whole time (adaptive read-retry, AR2);
    /// `shortened_sensing` of `threshold_voltage` gives the noise that this adds.
    #[schemars(range(min = 1, max = 100))]
    pub retry_sensing_percent: u8,
    /// A predictor of hard decisions that will not be decoded. Without this field there is none.
    pub predictor: Option<Predictor>,
    /// Number of entries of the chip's retry table that hard decisions try; [taken from the cells](Self::with_what_is_known).
    #[serde(skip)]
    pub retries: u8,
    /// Number of sensings of each boundary by a search for valleys, taken from the cells; 0 without a search.
    #[serde(skip)]
    pub search_sensings: u8,
    /// Measurement by which references are inferred, if the cells have it; none where references are not inferred.
    #[serde(skip)]
    pub infers_by: Option<InferredBy>,
}

impl Default for ReadSpec {
    fn default() -> Self {
        Self {
            policy: Policy::TwoStep,
            retry: Retry::Restart,
            max_level: MAX_LEVEL,
            references: HardReferences::Cells,
            remembered: Remembered::Nothing,
            soft_references: SoftReferences::Cells,
            retries_ahead: false,
            retry_sensing_percent: 100,
            predictor: None,
            retries: 0,
            search_sensings: 0,
            infers_by: None,
        }
    }
}

impl Policy {
    /// Every shipped policy, in the order in which comparisons show them.
    pub const ALL: [Policy; 5] =
        [Policy::Ideal, Policy::TwoStep, Policy::LookAhead, Policy::Progressive, Policy::LookAheadProgressive];

    /// Returns the name in configs and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Policy::Ideal => "ideal",
            Policy::TwoStep => "two_step",
            Policy::LookAhead => "look_ahead",
            Policy::Progressive => "progressive",
            Policy::LookAheadProgressive => "look_ahead_progressive",
            Policy::Own(name) => name.as_str(),
        }
    }

    /// Describes the policy in one sentence.
    pub fn about(self) -> &'static str {
        match self {
            Policy::Ideal => "knows the least level that decodes and reads with it at once: no step fails",
            Policy::TwoStep => "hard decision first, every level when it fails",
            Policy::LookAhead => "two_step with soft sensing begun while the hard result transfers and decodes",
            Policy::Progressive => "one more level after each failure",
            Policy::LookAheadProgressive => "progressive with the next level sensed while the last one decodes",
            Policy::Own(_) => "one of your own",
        }
    }

    /// Whether the policy knows the least level that decodes, as no controller does: it is a bound for the others.
    pub fn knows_level(self) -> bool {
        self == Policy::Ideal
    }

    /// Whether the next level is sensed before the outcome of this one is known. A policy of the user's own has a trait for this.
    pub fn looks_ahead(self) -> bool {
        match self {
            Policy::LookAhead | Policy::LookAheadProgressive => true,
            Policy::Ideal | Policy::TwoStep | Policy::Progressive | Policy::Own(_) => false,
        }
    }

    /// Returns the name of a policy of the user's own.
    pub fn own(self) -> Option<OwnName> {
        if let Policy::Own(name) = self { Some(name) } else { None }
    }
}

impl Retry {
    /// Returns the name in configs and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Retry::Incremental => "incremental",
            Retry::Restart => "restart",
            Retry::RestartOnJumps => "restart_on_jumps",
        }
    }

    /// Whether a step at level `to` keeps the sensing of the step at level `from` before it, if both have the same references.
    pub(crate) fn keeps(self, from: u8, to: u8) -> bool {
        match self {
            Retry::Incremental => to > from,
            Retry::Restart => false,
            Retry::RestartOnJumps => to == from + 1,
        }
    }
}

impl ReadSpec {
    /// Checks the ranges.
    pub fn check(&self) -> Result<()> {
        check_ranges("read", self)
    }

    /// Adds the properties of the reliability that the spec asks for: entries of a retry table, sensings of a search, the measurement that
    /// infers references, violated checks for the predictor.
    #[must_use]
    pub fn with_what_is_known(self, reliability: &Reliability) -> Self {
        let predictor = self.predictor.filter(|predictor| reliability.predictor(predictor).is_some());
        Self { predictor, ..self }.with_what_cells_know(reliability.cells())
    }

    /// Adds the properties of the cells that the spec asks for; none where cells have no threshold voltages.
    #[must_use]
    pub(crate) fn with_what_cells_know(self, cells: Option<&CellSpec>) -> Self {
        let (mut retries, mut search_sensings) = (0, 0);
        match self.references {
            HardReferences::RetryTable => retries = cells.map_or(0, CellSpec::retries) as u8,
            HardReferences::ValleySearch => {
                let search = cells.and_then(|cells| cells.references.valley_search);
                search_sensings = search.map_or(0, |search| search.sensings as u8);
            }
            HardReferences::Cells | HardReferences::Sentinels | HardReferences::ShareOfOnes => {}
        }
        let inference = cells.and_then(|cells| cells.references.inference.as_ref());
        let counts = |by| inference.is_some_and(|inference| inference.counts(by));
        let infers_by = self.references.infers_by().filter(|&by| counts(by));
        Self { retries, search_sensings, infers_by, ..self }
    }

    /// Whether reads depend on the number of checks that a codeword violates.
    pub fn sees_syndrome_weights(&self) -> bool {
        let hard_are_retried = self.references.infers_by().is_some() || self.references == HardReferences::RetryTable;
        hard_are_retried && self.soft_references == SoftReferences::FewestViolated
    }

    /// Whether violated checks matter only when no hard decision is left to try, because only soft levels depend on them. Their numbers are
    /// slow to draw, so they are not drawn before: most reads decode without soft levels.
    #[inline]
    pub fn weighs_last(&self) -> bool {
        let retries_a_table = self.sees_syndrome_weights() && self.infers_by.is_none();
        retries_a_table && self.predictor.is_none() && self.policy.own().is_none() && !self.may_look_ahead()
    }

    /// Adds the violated checks of all hard decisions that were tried to the history. It does so where [they matter
    /// last](Self::weighs_last), and no hard decision is left to try after one that has failed.
    ///
    /// # Arguments
    /// - `last`: the step that has failed.
    /// - `weight`: the number of violated checks of an attempt, from its number (the first is 1) and its step.
    pub fn weigh(&self, history: &mut History, last: Step, weight: impl Fn(u8, Step) -> Option<u32>) {
        if !self.weighs_last() || last.level > 1 || self.hard_retry(history, last).is_some() {
            return;
        }
        let before = *history;
        let first = self.first(&before, 1, || 1);
        let tried = std::iter::successors(Some(first), |&step| self.hard_retry(&before, step));
        for (attempt, step) in (1..).zip(tried) {
            history.see(Observation { syndrome_weight: weight(attempt, step), ..Observation::failed(step) });
        }
    }

    /// Whether there is a predictor at a place.
    #[inline]
    pub fn predicts(&self, place: PredictorPlace) -> bool {
        self.predictor.is_some_and(|predictor| predictor.place == place)
    }

    /// Whether any step is sensed before the outcome of the step before it is known.
    #[inline]
    pub fn may_look_ahead(&self) -> bool {
        self.policy.looks_ahead() || self.retries_ahead
    }

    /// Whether the next step is sensed before the outcome of this one is known.
    ///
    /// # Arguments
    /// - `attempts`: the number of attempts of the read, including this one.
    #[inline]
    pub fn looks_ahead(&self, attempts: u8) -> bool {
        self.policy.looks_ahead() || self.retries_ahead && attempts > 1
    }

    /// Returns the references with which reads begin if nothing is remembered.
    pub fn first_references(&self) -> ReferencesAt {
        if self.policy.knows_level() {
            ReferencesAt::Cells
        } else if self.retries > 0 {
            ReferencesAt::RetryEntry(0)
        } else if self.infers_by.is_some() {
            ReferencesAt::Default
        } else {
            ReferencesAt::Cells
        }
    }

    /// Returns the first step.
    ///
    /// # Arguments
    /// - `history`: the history of the read, which is new.
    /// - `remembered_level`: the level of the last read, where it is remembered; otherwise 1.
    /// - `least_level`: the least level that decodes, or one more than there are levels. Only `ideal` asks for it.
    #[inline]
    pub fn first(&self, history: &History, remembered_level: u8, least_level: impl FnOnce() -> u8) -> Step {
        if self.policy.knows_level() {
            return Step::fresh(least_level().min(self.max_level));
        }
        if remembered_level > 1 {
            return Step::fresh(remembered_level.min(self.max_level));
        }
        let references = history.remembered().unwrap_or(self.first_references());
        Step { predictions: u8::from(self.predicts(PredictorPlace::Die)), ..Step::hard_at(references) }
    }

    /// Returns the first step after the die has predicted that it will not be decoded. The page that was sensed is not sent. It is sensed
    /// again at the references that the share of ones infers: `inferred` steps off the default ones.
    pub fn early_retry(&self, first: Step, inferred: i8) -> Step {
        Step { unsent_sensings: 1, references: ReferencesAt::Inferred(inferred), ..first }
    }

    /// Returns the step after an observation of the last one, which is added to the history; `None` when the read is done, or nothing is
    /// left to try.
    #[inline]
    pub fn after(&self, history: &mut History, seen: Observation) -> Option<Step> {
        if seen.decoded {
            return None;
        }
        history.see(seen);
        self.if_fails(history, seen.step)
    }

    /// Returns the step that follows if this one fails, by what is known before its outcome. It is `None` when nothing is left to try, or
    /// when the next step depends on the observation of this one.
    #[inline]
    pub fn ahead(&self, history: &History, step: Step) -> Option<Step> {
        if self.waits_for_outcome(history, step) { None } else { self.if_fails(history, step) }
    }

    /// Whether the next step depends on the observation of this one.
    #[inline]
    pub fn waits_for_outcome(&self, history: &History, step: Step) -> bool {
        match self.infers_by {
            // The controller counts the errors of known cells when they have been transferred.
            Some(InferredBy::Sentinels) => step.level == 1 && history.tried_inferred() < MOST_INFERRED,
            // The die counts the ones itself; the next step is known once the count is in the history.
            Some(InferredBy::ShareOfOnes) => {
                let counts = step.level == 1 && step.unsent_sensings == 0 && !history.counted_ones();
                counts && history.inferred().is_none()
            }
            None => false,
        }
    }

    /// Returns the step that follows if this one fails, by what is known now.
    #[inline]
    fn if_fails(&self, history: &History, step: Step) -> Option<Step> {
        self.hard_retry(history, step).or_else(|| self.soft(history, step))
    }

    /// Returns the retry of a hard decision that follows if this step fails: at the next entry of the table, the result of a search, or
    /// inferred references. `None` where none is left, or the step is not a hard decision.
    #[inline]
    pub fn hard_retry(&self, history: &History, step: Step) -> Option<Step> {
        if step.level > 1 || self.policy.knows_level() {
            return None;
        }
        let retry = match (step.references, self.infers_by) {
            (_, Some(InferredBy::Sentinels)) => self.by_sentinels(history, step),
            (_, Some(InferredBy::ShareOfOnes)) => self.by_share_of_ones(history, step),
            (ReferencesAt::RetryEntry(entry), None) => {
                history.entry_after(entry, self.retries).map(|next| Step::hard_at(ReferencesAt::RetryEntry(next)))
            }
            (ReferencesAt::Cells, None) if self.search_sensings > 0 => {
                let found = Step::hard_at(ReferencesAt::Valleys);
                Some(Step { search_sensings: self.search_sensings, ..found })
            }
            _ => None,
        }?;
        let sensing_percent = if retry.known_cells { 100 } else { self.retry_sensing_percent };
        Some(Step { sensing_percent, ..retry })
    }

    /// Returns a retry at the references that the errors of known cells infer. Where the page does not show these cells, it is a read of
    /// them.
    fn by_sentinels(&self, history: &History, step: Step) -> Option<Step> {
        let tried = history.tried_inferred();
        if tried >= MOST_INFERRED {
            return None;
        }
        match history.inferred() {
            Some(steps) => Some(Step::hard_at(ReferencesAt::Inferred(steps))),
            None if step.known_cells => None,
            None => Some(Step::known_cells_at(step.references)),
        }
    }

    /// Returns a retry at the references that the share of ones infers; the die counts the ones in a sensing of its own.
    fn by_share_of_ones(&self, history: &History, step: Step) -> Option<Step> {
        if history.counted_ones() || step.unsent_sensings > 0 {
            return None;
        }
        let steps = history.inferred()?;
        Some(Step { unsent_sensings: 1, ..Step::hard_at(ReferencesAt::Inferred(steps)) })
    }

    /// Returns the soft level that is tried after a step.
    fn soft(&self, history: &History, step: Step) -> Option<Step> {
        let level = step.level;
        if level >= self.max_level {
            return None;
        }
        let next = match self.policy {
            Policy::TwoStep | Policy::LookAhead => self.max_level,
            Policy::Ideal | Policy::Progressive | Policy::LookAheadProgressive => level + 1,
            Policy::Own(_) => unreachable!("a policy of the user's own is asked"),
        };
        Some(self.soft_level(history, step, next, self.retry))
    }

    /// Returns a step at level `next`, after a step that failed.
    ///
    /// # Arguments
    /// - `retry`: whether the sensing of the step before is kept, if it is at the same references and good enough.
    pub(crate) fn soft_level(&self, history: &History, step: Step, next: u8, retry: Retry) -> Step {
        let Step { level, references, .. } = step;
        let about = match (references, self.soft_references) {
            _ if level > 1 => references,
            (ReferencesAt::RetryEntry(_), SoftReferences::Cells) => ReferencesAt::Cells,
            (ReferencesAt::Cells | ReferencesAt::Valleys, _) | (_, SoftReferences::Cells) => references,
            (_, SoftReferences::FewestViolated) => history.fewest_violated().unwrap_or(references),
        };
        // A sensing at other references, or of low quality, is of no use.
        let is_good = about == references && step.sensing_percent == 100 && !step.known_cells;
        if !is_good || !retry.keeps(level, next) {
            return Step::fresh_at(about, next);
        }
        Step {
            level: next,
            hard: false,
            extra_levels: next - level,
            search_sensings: 0,
            unsent_sensings: 0,
            predictions: 0,
            ..step
        }
    }
}

/// Most hard decisions at references that the errors of known cells infer: the first, and one after calibration.
const MOST_INFERRED: u8 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    /// Does a step of one level keep what was sensed, and a jump sense everything again?
    #[test]
    fn restart_on_jumps_is_each_policy_by_its_equation() {
        for (policy, alike) in [
            (Policy::TwoStep, Retry::Restart),
            (Policy::LookAhead, Retry::Restart),
            (Policy::Progressive, Retry::Incremental),
            (Policy::LookAheadProgressive, Retry::Incremental),
        ] {
            assert_eq!(steps(policy, Retry::RestartOnJumps, 7), steps(policy, alike, 7), "{policy:?}");
        }
    }

    /// Returns the steps of a codeword that decodes from level `least` on.
    fn steps(policy: Policy, retry: Retry, least: u8) -> Vec<Step> {
        let spec = ReadSpec { policy, retry, ..ReadSpec::default() };
        let observed = |step: Step| Observation { decoded: step.level >= least, ..Observation::failed(step) };
        let mut history = History::default();
        let first = spec.first(&history, 1, || least);
        std::iter::successors(Some(first), |&step| spec.after(&mut history, observed(step))).collect()
    }

    #[test]
    fn levels_each_policy_tries() {
        let levels =
            |policy, least| -> Vec<u8> { steps(policy, Retry::Restart, least).iter().map(|step| step.level).collect() };
        assert_eq!(levels(Policy::Ideal, 4), [4]);
        assert_eq!(levels(Policy::TwoStep, 1), [1]);
        assert_eq!(levels(Policy::TwoStep, 2), [1, 7]);
        assert_eq!(levels(Policy::LookAhead, 5), [1, 7]);
        assert_eq!(levels(Policy::Progressive, 4), [1, 2, 3, 4]);
        assert_eq!(levels(Policy::LookAheadProgressive, 3), [1, 2, 3]);
    }

    #[test]
    fn restart_senses_everything_again_and_incremental_only_what_is_new() {
        assert_eq!(steps(Policy::TwoStep, Retry::Restart, 7)[1], Step::fresh(7));
        let incremental = steps(Policy::TwoStep, Retry::Incremental, 7)[1];
        assert_eq!(incremental, Step { hard: false, ..Step::fresh(7) });
        let sensed: u8 = steps(Policy::Progressive, Retry::Incremental, 7).iter().map(|step| step.extra_levels).sum();
        assert_eq!(sensed, 6);
    }

    /// Returns references, level and extra levels of each step, if nothing decodes and hard decisions violate given numbers of checks.
    fn tried(spec: &ReadSpec, entry: u8, weights: &[u32]) -> Vec<(ReferencesAt, u8, u8)> {
        let mut history = History::new((entry > 0).then_some(ReferencesAt::RetryEntry(entry)));
        let mut weights = weights.iter().copied();
        let first = spec.first(&history, 1, || 7);
        let after = |step: &Step| {
            let seen = Observation { syndrome_weight: weights.next(), ..Observation::failed(*step) };
            spec.after(&mut history, seen)
        };
        let all: Vec<Step> = std::iter::successors(Some(first), after).collect();
        all.into_iter().map(|step| (step.references, step.level, step.extra_levels)).collect()
    }

    const CELLS: ReferencesAt = ReferencesAt::Cells;

    fn entry(number: u8) -> ReferencesAt {
        ReferencesAt::RetryEntry(number)
    }

    /// Are hard decisions tried at each entry of the retry table, and then soft levels that sense everything?
    #[test]
    fn the_retry_table_comes_before_soft_levels() {
        let tried = |policy, max_level| {
            let spec = ReadSpec { policy, max_level, retry: Retry::Incremental, retries: 3, ..ReadSpec::default() };
            tried(&spec, 0, &[])
        };
        let table = [(entry(0), 1, 0), (entry(1), 1, 0), (entry(2), 1, 0)];
        assert_eq!(tried(Policy::TwoStep, 1), table);
        assert_eq!(tried(Policy::LookAhead, 7), [&table[..], &[(CELLS, 7, 6)]].concat());
        assert_eq!(tried(Policy::Progressive, 3), [&table[..], &[(CELLS, 2, 1), (CELLS, 3, 1)]].concat());
        assert_eq!(tried(Policy::Ideal, 7), [(CELLS, 7, 6)]);
    }

    /// Does a read begin with the remembered entry, and try every entry once?
    #[test]
    fn a_remembered_entry_comes_first() {
        let spec = ReadSpec { max_level: 1, retries: 4, ..ReadSpec::default() };
        let entries = |remembered| tried(&spec, remembered, &[]).into_iter().map(|(at, ..)| at).collect::<Vec<_>>();
        assert_eq!(entries(0), [0, 1, 2, 3].map(entry));
        assert_eq!(entries(2), [2, 0, 1, 3].map(entry));
        assert_eq!(entries(3), [3, 0, 1, 2].map(entry));
    }

    /// Are soft levels placed around the entry with the fewest violated checks, if the spec says so?
    #[test]
    fn soft_levels_stand_about_the_best_entry() {
        let spec = ReadSpec {
            retries: 3,
            policy: Policy::Progressive,
            retry: Retry::Incremental,
            max_level: 3,
            soft_references: SoftReferences::FewestViolated,
            ..ReadSpec::default()
        };
        let soft = |weights: &[u32]| tried(&spec, 0, weights)[3..].to_vec();
        assert_eq!(soft(&[900, 400, 700]), [(entry(1), 2, 1), (entry(1), 3, 1)]);
        // The last sensing can be kept.
        assert_eq!(soft(&[900, 400, 300]), [(entry(2), 2, 1), (entry(2), 3, 1)]);
        let history = History::default();
        let last = Step::hard_at(entry(2));
        assert!(!spec.ahead(&history, last).unwrap().hard, "nothing was seen: the last entry is kept");
        let whole = ReadSpec { retry: Retry::Restart, ..spec };
        assert!(whole.ahead(&history, last).unwrap().hard);
    }

    /// Is a search made once, after a failure, and is its result kept for soft levels?
    #[test]
    fn valleys_are_searched_for_once() {
        let spec = ReadSpec { search_sensings: 9, policy: Policy::Progressive, max_level: 3, ..ReadSpec::default() };
        let found = ReferencesAt::Valleys;
        assert_eq!(tried(&spec, 0, &[]), [(CELLS, 1, 0), (found, 1, 0), (found, 2, 1), (found, 3, 2)]);
        let history = History::default();
        let search = spec.ahead(&history, Step::fresh(1)).unwrap();
        assert_eq!((search.search_sensings, spec.ahead(&history, search).unwrap().search_sensings), (9, 0));
        assert_eq!(tried(&ReadSpec { policy: Policy::Ideal, ..spec }, 0, &[]), [(CELLS, 3, 2)]);
    }

    /// Returns the steps of a read that nothing decodes, with a given inference after each.
    fn inferring(spec: &ReadSpec, remembered: Option<i8>, inferred: &[Option<i8>]) -> Vec<Step> {
        let mut history = History::new(remembered.map(ReferencesAt::Inferred));
        let mut inferred = inferred.iter().copied();
        let after = |step: &Step| {
            let seen = Observation { inferred: inferred.next().flatten(), ..Observation::failed(*step) };
            spec.after(&mut history, seen)
        };
        std::iter::successors(Some(spec.first(&History::new(remembered.map(ReferencesAt::Inferred)), 1, || 7)), after)
            .collect()
    }

    fn hard(steps: i8) -> Step {
        Step::hard_at(ReferencesAt::Inferred(steps))
    }

    /// Do known cells lead to the inferred references, are they read where the page does not show them, and calibrated once?
    #[test]
    fn sentinels_point_twice() {
        let spec = ReadSpec { infers_by: Some(InferredBy::Sentinels), max_level: 2, ..ReadSpec::default() };
        let soft = Step::fresh_at(ReferencesAt::Inferred(-6), 2);
        let default = Step::hard_at(ReferencesAt::Default);
        let shown = inferring(&spec, None, &[Some(-5), Some(-6)]);
        assert_eq!(shown, [default, hard(-5), hard(-6), soft]);
        let read = inferring(&spec, None, &[None, Some(-5), None, Some(-6)]);
        let known_cells = [ReferencesAt::Default, ReferencesAt::Inferred(-5)].map(Step::known_cells_at);
        assert_eq!(read, [default, known_cells[0], hard(-5), known_cells[1], hard(-6), soft]);
        // Remembered references are calibrated.
        assert_eq!(inferring(&spec, Some(-5), &[Some(-6)]), [hard(-5), hard(-6), soft]);
        // Before an outcome nobody knows where references belong.
        let mut history = History::default();
        assert_eq!(spec.ahead(&history, default), None);
        [5, 6].into_iter().for_each(|steps| history.see(Observation::failed(hard(steps))));
        assert_eq!(spec.ahead(&history, hard(6)), Some(Step::fresh_at(ReferencesAt::Inferred(6), 2)));
    }

    /// Does the die count ones once, on command or by its own prediction?
    #[test]
    fn ones_are_counted_once() {
        let spec = ReadSpec { infers_by: Some(InferredBy::ShareOfOnes), max_level: 2, ..ReadSpec::default() };
        let on_command = Step { unsent_sensings: 1, ..hard(4) };
        let soft = Step::fresh_at(ReferencesAt::Inferred(4), 2);
        assert_eq!(inferring(&spec, None, &[Some(4)]), [Step::hard_at(ReferencesAt::Default), on_command, soft]);
        assert_eq!(inferring(&spec, Some(3), &[Some(4)]), [hard(3), on_command, soft]);
        let predictor = Predictor { place: PredictorPlace::Die, predict_us: 2.5, threshold_rber: 0.0085, checks: None };
        let predicting = ReadSpec { predictor: Some(predictor), ..spec };
        let first = predicting.first(&History::default(), 1, || 7);
        assert_eq!(first, Step { predictions: 1, ..Step::hard_at(ReferencesAt::Default) });
        let early = predicting.early_retry(first, 4);
        assert_eq!(early, Step { predictions: 1, ..on_command });
        assert_eq!(predicting.ahead(&History::default(), first), None, "the die has not counted yet");
        assert_eq!(predicting.ahead(&History::default(), early), Some(soft));
        assert_eq!(predicting.after(&mut History::default(), Observation::failed(early)), Some(soft));
    }

    /// Are only retries of hard decisions sensed for less time, and are their pages sensed again for soft levels?
    #[test]
    fn retries_may_be_sensed_for_less_time() {
        let spec = ReadSpec {
            retries: 2,
            retry_sensing_percent: 75,
            retry: Retry::Incremental,
            max_level: 2,
            soft_references: SoftReferences::FewestViolated,
            ..ReadSpec::default()
        };
        let mut history = History::default();
        let first = spec.first(&history, 1, || 7);
        let second = spec.after(&mut history, Observation::failed(first)).unwrap();
        let soft = spec.after(&mut history, Observation::failed(second)).unwrap();
        assert_eq!([first, second].map(|step| step.sensing_percent), [100, 75]);
        assert_eq!(soft, Step::fresh_at(entry(1), 2));
    }

    #[test]
    fn nothing_is_left_after_the_deepest_level() {
        for policy in Policy::ALL {
            let spec = ReadSpec { policy, max_level: 3, ..ReadSpec::default() };
            let history = History::default();
            assert_eq!(spec.ahead(&history, Step::fresh(3)), None);
            assert!(spec.ahead(&history, Step::fresh(1)).unwrap().level <= 3);
        }
    }
}
