//! Read policies that users have written: their input, their answers, and the calls of them.

use std::fmt;

use softsense_base::{Error, OwnName, Result};
use softsense_nand::ReferencesAt;

use crate::{History, MAX_LEVEL, ReadSpec, Reliability, Retry, Step};

/// Most steps of a read: a policy that goes on for ever is stopped here.
pub const MOST_STEPS: usize = 32;

/// Most decisions that are asked for before a run; a policy with more is asked during the run.
const MOST_TABULATED: usize = 1 << 16;

/// A read policy that a user has written.
///
/// The policy is asked for the first step of a read, and for the next step after each one that failed. It is asked in the order of events,
/// once for each decision. A policy that is a function of finitely many observations is asked before the run instead, for each decision
/// that is possible (see [`PolicyTraits`]).
pub trait ReadPolicy: Send + Sync {
    /// Returns the next step; `None` where nothing is left to try.
    ///
    /// # Errors
    /// Errors of the user's code; they end the run.
    fn next(&mut self, read: &OwnRead) -> Result<Option<OwnStep>>;

    /// Returns the time spent in the user's code so far, s, where this is measured.
    fn spent_s(&self) -> f64 {
        0.0
    }
}

/// Properties of a user's policy that are stated before it is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyTraits {
    /// Observations that the policy depends on, besides the steps that it has made.
    pub observes: Observes,
    /// Whether the next step is sensed before the outcome of this one is known, if it does not depend on the observation of this one.
    pub looks_ahead: bool,
    /// Whether the policy may be asked before the run: its answers depend only on its observations.
    pub is_function: bool,
}

/// Observations that a policy depends on. All others are 0 to the policy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Observes {
    /// The page type, by its index in `flash.page_types`.
    pub page_type: bool,
    /// The remembered level; 1 where none is remembered.
    pub remembered_level: bool,
    /// The block, or superblock. There are too many for a table.
    pub block: bool,
    /// P/E cycles of the block.
    pub pe_cycles: Watched,
    /// Number of checks that the hard decisions of a step violated: the mean over the codewords that failed.
    pub syndrome_weight: Watched,
}

/// The precision with which a policy observes a number.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Watched {
    /// The number is not observed; it is 0 to the policy.
    #[default]
    Unseen,
    /// The number itself.
    Whole,
    /// The number of these edges, in increasing order, that the number has reached.
    Bucket(Vec<u32>),
}

impl Watched {
    fn see(&self, number: u32) -> u32 {
        match self {
            Self::Unseen => 0,
            Self::Whole => number,
            Self::Bucket(edges) => edges.partition_point(|&edge| edge <= number) as u32,
        }
    }

    /// Returns how many different values there are; `None` where they are not bounded.
    fn count(&self) -> Option<u32> {
        match self {
            Self::Unseen => Some(1),
            Self::Whole => None,
            Self::Bucket(edges) => Some(edges.len() as u32 + 1),
        }
    }
}

/// A read, as far as a policy observes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnRead {
    /// Index of the page type.
    pub page_type: u32,
    /// P/E cycles of the block, or their bucket.
    pub pe_cycles: u32,
    /// Number of the block.
    pub block: u32,
    /// Remembered level.
    pub remembered_level: u8,
    /// Steps that were tried and failed.
    pub tried: Vec<Tried>,
}

/// A step that has failed, with its observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tried {
    /// The step that the policy asked for.
    pub step: OwnStep,
    /// Violated checks of a hard decision, or their bucket.
    pub syndrome_weight: u32,
}

/// A step that a policy asks for, as a controller can ask a chip for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnStep {
    /// The level that the decoder works with, 1 for hard decision.
    pub level: u8,
    /// References of the step; [`ReferencesAt::Inferred`] is not possible. With `None` they follow the config. A hard decision then comes
    /// with the retries, the inference and the prediction of `[read]`, and has failed when all of them have.
    pub references: Option<ReferencesAt>,
    /// Whether only levels that the last step lacks are sensed and transferred, if the references stay; `None` is as `read.retry` says.
    pub retry: Option<Retry>,
}

impl OwnStep {
    /// Makes a step at a level that is read as the config reads.
    pub fn level(level: u8) -> Self {
        Self { level, references: None, retry: None }
    }

    /// Makes a step at a level with references of the policy's choice, as `read.retry` says.
    pub fn at(references: ReferencesAt, level: u8) -> Self {
        Self { references: Some(references), ..Self::level(level) }
    }
}

/// The steps from which a policy can choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepsThere {
    /// The deepest level.
    pub max_level: u8,
    /// Number of entries of the chip's retry table.
    pub retry_entries: u8,
    /// Number of sensings of a search for valleys; 0 where there is none.
    pub search_sensings: u8,
    /// Whether the chip's default references can be used, because cells have threshold voltages.
    pub has_default: bool,
    /// Number of page types.
    pub page_types: u32,
}

impl StepsThere {
    /// Returns the steps that a reliability allows.
    pub fn new(max_level: u8, page_types: u32, reliability: &Reliability) -> Self {
        Self {
            max_level,
            retry_entries: reliability.retries(),
            search_sensings: reliability.valley_sensings().unwrap_or(0),
            has_default: reliability.cells().is_some(),
            page_types,
        }
    }

    /// Checks that a policy may ask for a step.
    ///
    /// # Errors
    /// A level, or references, that the device does not have.
    fn check(&self, name: OwnName, asked: OwnStep) -> Result<()> {
        let bad = |found: String, expected: String| {
            Err(Error::config(name.as_str(), format!("next: found {found}, expected {expected}")))
        };
        let OwnStep { level, references, .. } = asked;
        if !(1..=self.max_level).contains(&level) {
            return bad(format!("level {level}"), format!("1 to {}, the deepest of `read.max_level`", self.max_level));
        }
        match references {
            None | Some(ReferencesAt::Cells) => Ok(()),
            Some(ReferencesAt::Default) if self.has_default => Ok(()),
            Some(ReferencesAt::RetryEntry(entry)) if entry < self.retry_entries => Ok(()),
            Some(ReferencesAt::Valleys) if self.search_sensings > 0 => Ok(()),
            Some(references @ ReferencesAt::RetryEntry(_)) if self.retry_entries > 0 => {
                bad(format!("references `{references}`"), format!("retry_entry:0 to {}", self.retry_entries - 1))
            }
            Some(references) => {
                let expected = "references `cells`, or a `reliability` whose cells (`rber.threshold_voltage`) have \
                                the requested references";
                bad(format!("references `{references}`"), expected.into())
            }
        }
    }
}

/// Observations at the beginning of a read.
#[derive(Debug, Clone, Copy)]
pub struct ReadBegins {
    /// Index of the page type.
    pub page_type: u32,
    /// P/E cycles of the block.
    pub pe_cycles: u32,
    /// Number of the block, or superblock.
    pub block: u32,
    /// Remembered level; 1 where none is remembered.
    pub remembered_level: u8,
}

/// Costs of asking a policy or rule of the user's own.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct OwnCost {
    /// Decisions that were asked for before the run; none where decisions are asked for during the run.
    pub tabulated: Option<u64>,
    /// Decisions that were asked for during the run.
    pub calls: u64,
    /// Time that the decisions during the run took, s, where it was measured.
    pub spent_s: f64,
}

/// A user's policy during a run: all reads under way, and the answers that are known.
pub struct AskedPolicy {
    name: OwnName,
    policy: Box<dyn ReadPolicy>,
    traits: PolicyTraits,
    steps: StepsThere,
    /// Answers of the policy; none where it is asked during the run.
    table: Option<Table>,
    /// Reads under way, by their numbers.
    reads: Vec<UnderWay>,
    calls: u64,
    asks_for_cells: bool,
}

impl fmt::Debug for AskedPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AskedPolicy").field("name", &self.name).field("traits", &self.traits).finish_non_exhaustive()
    }
}

/// A read of which steps are asked for.
#[derive(Debug, Clone, Default)]
struct UnderWay {
    /// The last decision.
    node: u32,
    /// The last step that was asked for.
    asked: Option<OwnStep>,
    /// The observations so far, where there is no table.
    read: OwnRead,
    /// The answer for the case that the last step fails.
    ahead: Option<Option<OwnStep>>,
}

/// All decisions of a policy.
#[derive(Debug, Default)]
struct Table {
    /// The first decisions of reads, by the observations at the beginning.
    roots: Vec<u32>,
    nodes: Vec<Node>,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    step: Option<OwnStep>,
    /// The first of the decisions that may follow if the step fails, by its observation.
    next: u32,
}

impl AskedPolicy {
    /// Asks for all decisions, if they are few enough and depend only on observations.
    ///
    /// # Errors
    /// Errors of the policy, answers that are not valid steps, and a policy that gives two answers to one question.
    pub fn new(name: OwnName, policy: Box<dyn ReadPolicy>, traits: PolicyTraits, steps: StepsThere) -> Result<Self> {
        let mut asked =
            Self { name, policy, traits, steps, table: None, reads: Vec::new(), calls: 0, asks_for_cells: false };
        if asked.traits.is_function {
            asked.table = asked.tabulate()?;
            asked.calls = 0;
        }
        Ok(asked)
    }

    /// Whether the policy depends on the number of violated checks.
    #[inline]
    pub fn sees_syndrome_weights(&self) -> bool {
        self.traits.observes.syndrome_weight != Watched::Unseen
    }

    /// Whether the policy senses ahead.
    #[inline]
    pub fn looks_ahead(&self) -> bool {
        self.traits.looks_ahead
    }

    /// Returns the costs of asking the policy so far.
    pub fn cost(&self) -> OwnCost {
        let tabulated = self.table.as_ref().map(|table| table.nodes.len() as u64);
        let spent_s = if tabulated.is_some() { 0.0 } else { self.policy.spent_s() };
        OwnCost { tabulated, calls: self.calls, spent_s }
    }

    /// Returns the operations of a step that the policy has asked for.
    ///
    /// # Arguments
    /// - `spec`: the reads that the config describes.
    /// - `history`: what is known of the read.
    /// - `last`: the step before, which has failed or is expected to fail.
    pub fn step(&self, asked: OwnStep, spec: &ReadSpec, history: &History, last: Option<Step>) -> Step {
        let OwnStep { level, references, retry } = asked;
        let retry = retry.unwrap_or(spec.retry);
        let Some(references) = references else {
            return match last {
                _ if level == 1 => spec.first(history, 1, || 1),
                Some(last) => spec.soft_level(history, last, level, retry),
                None => Step::fresh(level),
            };
        };
        let whole = Step::fresh_at(references, level);
        let searches = references == ReferencesAt::Valleys && last.is_none_or(|last| last.references != references);
        let whole = Step { search_sensings: if searches { self.steps.search_sensings } else { 0 }, ..whole };
        match last {
            Some(last) if last.references == references && retry.keeps(last.level, level) => {
                Step { hard: false, extra_levels: level - last.level, ..whole }
            }
            _ => whole,
        }
    }

    /// Whether the last step that was asked for is read as the config says.
    pub fn reads_as_configured(&self, read: u32) -> bool {
        self.reads[read as usize].asked.is_some_and(|asked| asked.references.is_none())
    }

    /// Whether the policy has so far asked for references that follow the cells.
    pub fn asks_for_cells(&self) -> bool {
        self.asks_for_cells
    }

    /// Returns the first step of a read.
    pub fn first(&mut self, read: u32, begins: ReadBegins) -> Result<OwnStep> {
        let read = read as usize;
        if self.reads.len() <= read {
            self.reads.resize_with(read + 1, UnderWay::default);
        }
        if let Some(table) = &self.table {
            let node = table.roots[self.root_of(begins)];
            let step = table.nodes[node as usize].step.expect("a first step was asked for");
            (self.reads[read].node, self.reads[read].asked) = (node, Some(step));
            return Ok(step);
        }
        let observes = &self.traits.observes;
        let state = &mut self.reads[read];
        state.read.tried.clear();
        state.ahead = None;
        state.read.page_type = if observes.page_type { begins.page_type } else { 0 };
        state.read.block = if observes.block { begins.block } else { 0 };
        state.read.pe_cycles = observes.pe_cycles.see(begins.pe_cycles);
        state.read.remembered_level = if observes.remembered_level { begins.remembered_level } else { 0 };
        let mut state = std::mem::take(&mut self.reads[read]);
        let asked = self.ask(&state.read);
        state.asked = asked.as_ref().ok().copied().flatten();
        self.reads[read] = state;
        asked?.ok_or_else(|| self.no_first_step())
    }

    /// Returns the step that follows if the last step of a read fails; `None` when there is none, or when it depends on the observation.
    pub fn ahead(&mut self, read: u32) -> Result<Option<OwnStep>> {
        let read = read as usize;
        let last = self.reads[read].asked.expect("a step was asked for");
        if self.branches(last) > 1 {
            return Ok(None);
        }
        if let Some(table) = &self.table {
            let next = table.nodes[self.reads[read].node as usize].next;
            return Ok(table.nodes[next as usize].step);
        }
        if self.traits.observes.syndrome_weight == Watched::Whole && last.level == 1 {
            return Ok(None);
        }
        let mut state = self.failed(read, 0);
        let asked = self.ask(&state.read);
        state.ahead = asked.as_ref().ok().copied();
        state.read.tried.pop();
        self.reads[read] = state;
        asked
    }

    /// Returns the step after one that has failed, with its number of violated checks if that is observed; `None` when nothing is left.
    pub fn after(&mut self, read: u32, syndrome_weight: u32) -> Result<Option<OwnStep>> {
        let read = read as usize;
        let last = self.reads[read].asked.expect("a step was asked for");
        let seen = if last.level == 1 { self.traits.observes.syndrome_weight.see(syndrome_weight) } else { 0 };
        if let Some(table) = &self.table {
            let node =
                table.nodes[self.reads[read].node as usize].next + if self.branches(last) > 1 { seen } else { 0 };
            let step = table.nodes[node as usize].step;
            (self.reads[read].node, self.reads[read].asked) = (node, step);
            return Ok(step);
        }
        let mut state = self.failed(read, seen);
        let asked = match state.ahead.take() {
            Some(ahead) => Ok(ahead),
            None => self.ask(&state.read),
        };
        state.asked = asked.as_ref().ok().copied().flatten();
        self.reads[read] = state;
        asked
    }

    /// Adds the last step, which has failed, to a read.
    fn failed(&mut self, read: usize, syndrome_weight: u32) -> UnderWay {
        let mut state = std::mem::take(&mut self.reads[read]);
        let step = state.asked.expect("a step was asked for");
        state.read.tried.push(Tried { step, syndrome_weight });
        state
    }

    fn ask(&mut self, read: &OwnRead) -> Result<Option<OwnStep>> {
        self.calls += 1;
        let asked = self.policy.next(read)?;
        if asked.is_some() && read.tried.len() >= MOST_STEPS {
            let message = format!(
                "next: found another step after {MOST_STEPS} steps of one read, expected None: a read has at most \
                 {MOST_STEPS} steps"
            );
            return Err(Error::config(self.name.as_str(), message));
        }
        if let Some(asked) = asked {
            self.steps.check(self.name, asked)?;
            self.asks_for_cells |= asked.references == Some(ReferencesAt::Cells);
        }
        Ok(asked)
    }

    fn no_first_step(&self) -> Error {
        Error::config(self.name.as_str(), "next: found None for a read that has no steps yet, expected a first step")
    }

    /// Returns the number of decisions that may follow a step that fails.
    #[inline]
    fn branches(&self, last: OwnStep) -> u32 {
        if last.level == 1 { self.traits.observes.syndrome_weight.count().unwrap_or(1) } else { 1 }
    }

    /// Returns the number of values of each observation at the beginning of a read: page types, remembered levels, buckets of P/E cycles.
    fn beginnings(&self) -> Option<[u32; 3]> {
        let observes = &self.traits.observes;
        let pe_cycles = observes.pe_cycles.count().filter(|_| !observes.block)?;
        let of = |observed, count| if observed { count } else { 1 };
        Some([
            of(observes.page_type, self.steps.page_types),
            of(observes.remembered_level, MAX_LEVEL.into()),
            pe_cycles,
        ])
    }

    fn root_of(&self, begins: ReadBegins) -> usize {
        let [page_types, levels, _] = self.beginnings().expect("a table has few");
        let page_type = if page_types > 1 { begins.page_type } else { 0 };
        let level = if levels > 1 { u32::from(begins.remembered_level).saturating_sub(1) } else { 0 };
        let pe_cycles = self.traits.observes.pe_cycles.see(begins.pe_cycles);
        ((pe_cycles * levels + level) * page_types + page_type) as usize
    }

    /// Asks for every possible decision, twice; `None` where there are too many.
    fn tabulate(&mut self) -> Result<Option<Table>> {
        let observes = self.traits.observes.clone();
        let (Some([page_types, levels, pe_cycles]), Some(_)) = (self.beginnings(), observes.syndrome_weight.count())
        else {
            return Ok(None);
        };
        let mut table = Table::default();
        for pe_cycles in 0..pe_cycles {
            for level in 1..=levels {
                for page_type in 0..page_types {
                    let remembered_level = if observes.remembered_level { level as u8 } else { 0 };
                    let mut read = OwnRead { page_type, pe_cycles, remembered_level, ..OwnRead::default() };
                    let root = table.nodes.len() as u32;
                    table.nodes.push(Node { step: None, next: 0 });
                    table.roots.push(root);
                    self.decide(&mut table, root, &mut read)?;
                    if table.nodes[root as usize].step.is_none() {
                        return Err(self.no_first_step());
                    }
                    if table.nodes.len() > MOST_TABULATED {
                        return Ok(None);
                    }
                }
            }
        }
        Ok(Some(table))
    }

    /// Fills in a decision and all decisions that may follow it.
    fn decide(&mut self, table: &mut Table, node: u32, read: &mut OwnRead) -> Result<()> {
        if table.nodes.len() > MOST_TABULATED {
            return Ok(());
        }
        let (asked, again) = (self.ask(read)?, self.ask(read)?);
        if asked != again {
            let message = format!(
                "next: found two different answers, {asked:?} and {again:?}, for the same observations, expected \
                 the same answer each time; `tabulate = False` in the class allows answers that differ"
            );
            return Err(Error::config(self.name.as_str(), message));
        }
        let Some(asked) = asked else { return Ok(()) };
        let (next, branches) = (table.nodes.len() as u32, self.branches(asked));
        table.nodes[node as usize] = Node { step: Some(asked), next };
        table.nodes.extend((0..branches).map(|_| Node { step: None, next: 0 }));
        for syndrome_weight in 0..branches {
            read.tried.push(Tried { step: asked, syndrome_weight });
            self.decide(table, next + syndrome_weight, read)?;
            read.tried.pop();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
