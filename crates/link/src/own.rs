//! Read policies that users have written: their input, their answers, and how they are called.

use std::fmt;

use softsense_base::{Error, OwnName, Result};
use softsense_nand::ReferencesAt;

use crate::{History, MAX_LEVEL, ReadSpec, Reliability, Retry, Step};

/// Steps of a read at most: a policy that knows no end is stopped here.
pub const MOST_STEPS: usize = 32;

/// Decisions that are asked for before a run at most; a policy of more is asked during the run.
const MOST_TABULATED: usize = 1 << 16;

/// A read policy of a user's own.
///
/// It is asked for the first step of a read, when nothing has been tried, and for the next one after each that has failed. It is asked
/// in the order of events, once for each decision; or once before the run for each decision that there can be, where what it
/// observes is finite and it is a function of that (see [`PolicyTraits`]).
pub trait ReadPolicy: Send + Sync {
    /// The next step; `None` where nothing is left to try.
    ///
    /// # Errors
    /// What its code says; the run ends with it.
    fn next(&mut self, read: &OwnRead) -> Result<Option<OwnStep>>;

    /// How long it has taken so far, s, where it measures that.
    fn spent_s(&self) -> f64 {
        0.0
    }
}

/// What is said of a policy of a user's own before it is asked anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyTraits {
    /// What it goes by, beside the steps that it has made.
    pub observes: Observes,
    /// Whether the next step is sensed before the outcome of this one is known, where it does not depend on what is seen of this one.
    pub looks_ahead: bool,
    /// Whether it may be asked before the run: its answers depend on nothing but what it observes.
    pub is_function: bool,
}

/// What a policy goes by: it sees 0 of all else.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Observes {
    /// The page type, by its index in `flash.page_types`.
    pub page_type: bool,
    /// The level that was remembered, 1 where none was.
    pub remembered_level: bool,
    /// The block, or superblock: one of too many for a table.
    pub block: bool,
    /// Its P/E cycles.
    pub pe_cycles: Watched,
    /// How many checks the hard decisions of a step violated: the mean of the codewords that failed.
    pub syndrome_weight: Watched,
}

/// How a number is seen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Watched {
    /// Not at all: as 0.
    #[default]
    Unseen,
    /// As it is.
    Whole,
    /// As the number of these edges, which increase, that it has reached.
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

    /// How many different ones there are; `None` where that is not bounded.
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
    /// The page type.
    pub page_type: u32,
    /// P/E cycles of the block, or their bucket.
    pub pe_cycles: u32,
    /// The block.
    pub block: u32,
    /// The level that was remembered.
    pub remembered_level: u8,
    /// What was tried, and failed.
    pub tried: Vec<Tried>,
}

/// A step that has failed, and what was seen of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tried {
    /// As the policy asked for it.
    pub step: OwnStep,
    /// Of a hard decision, the violated checks or their bucket.
    pub syndrome_weight: u32,
}

/// What a policy asks for: what a controller can ask of a chip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnStep {
    /// The level the decoder works with, 1 for hard decision.
    pub level: u8,
    /// Where the references stand, [`ReferencesAt::Inferred`] excepted. `None` as the config reads: a hard decision then comes with the
    /// retries, the inference and the prediction of `[read]`, and has failed when all of those have.
    pub references: Option<ReferencesAt>,
    /// Whether only the levels are sensed and transferred that the last step had not, where the references stay: `None` as
    /// `read.retry` says.
    pub retry: Option<Retry>,
}

impl OwnStep {
    /// A level, read as the config reads.
    pub fn level(level: u8) -> Self {
        Self { level, references: None, retry: None }
    }

    /// A level at references of the policy's own choice, as `read.retry` says.
    pub fn at(references: ReferencesAt, level: u8) -> Self {
        Self { references: Some(references), ..Self::level(level) }
    }
}

/// What steps there are to choose from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepsThere {
    /// The deepest level.
    pub max_level: u8,
    /// Entries of the chip's retry table.
    pub retry_entries: u8,
    /// Sensings of a search for valleys; 0 where there is none.
    pub search_sensings: u8,
    /// Whether references may stand at the chip's default: cells have threshold voltages.
    pub has_default: bool,
    /// Page types.
    pub page_types: u32,
}

impl StepsThere {
    /// What a reliability lets a read do.
    pub fn new(max_level: u8, page_types: u32, reliability: &Reliability) -> Self {
        Self {
            max_level,
            retry_entries: reliability.retries(),
            search_sensings: reliability.valley_sensings().unwrap_or(0),
            has_default: reliability.cells().is_some(),
            page_types,
        }
    }

    /// Whether a policy may ask for a step.
    ///
    /// # Errors
    /// Levels and references that there are not.
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
                let expected = "`cells`, or a reliability whose cells have those references (`rber.threshold_voltage`)";
                bad(format!("references `{references}`"), expected.into())
            }
        }
    }
}

/// What a read is seen by when it begins.
#[derive(Debug, Clone, Copy)]
pub struct ReadBegins {
    /// The page type.
    pub page_type: u32,
    /// P/E cycles of the block.
    pub pe_cycles: u32,
    /// The block, or superblock.
    pub block: u32,
    /// The level that is remembered; 1 where none is.
    pub remembered_level: u8,
}

/// What asking something of a user's own has cost.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct OwnCost {
    /// Decisions that were asked for before the run; none where it is asked during the run.
    pub tabulated: Option<u64>,
    /// Decisions that were asked for during the run.
    pub calls: u64,
    /// How long those took, s, where that was measured.
    pub spent_s: f64,
}

/// A policy of a user's own at work in a run: all reads under way, and what is known of its answers.
pub struct AskedPolicy {
    name: OwnName,
    policy: Box<dyn ReadPolicy>,
    traits: PolicyTraits,
    steps: StepsThere,
    /// None where it is asked during the run.
    table: Option<Table>,
    /// By the numbers of reads.
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
    /// The decision that has been made last.
    node: u32,
    /// The step that was asked for last.
    asked: Option<OwnStep>,
    /// Where there is no table.
    read: OwnRead,
    /// What was answered for the case that the last step fails.
    ahead: Option<Option<OwnStep>>,
}

/// All decisions of a policy.
#[derive(Debug, Default)]
struct Table {
    /// The first of reads, by what they are seen by when they begin.
    roots: Vec<u32>,
    nodes: Vec<Node>,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    step: Option<OwnStep>,
    /// What follows if it fails, by what is seen of it.
    next: u32,
}

impl AskedPolicy {
    /// Asks for all decisions, if there are few enough and they depend on what is observed alone.
    ///
    /// # Errors
    /// What the policy says, and answers that are no steps; or a policy that answers in two ways.
    pub fn new(name: OwnName, policy: Box<dyn ReadPolicy>, traits: PolicyTraits, steps: StepsThere) -> Result<Self> {
        let mut asked =
            Self { name, policy, traits, steps, table: None, reads: Vec::new(), calls: 0, asks_for_cells: false };
        if asked.traits.is_function {
            asked.table = asked.tabulate()?;
            asked.calls = 0;
        }
        Ok(asked)
    }

    /// Whether it goes by how many checks a step violates.
    #[inline]
    pub fn sees_syndrome_weights(&self) -> bool {
        self.traits.observes.syndrome_weight != Watched::Unseen
    }

    /// Whether it senses ahead.
    #[inline]
    pub fn looks_ahead(&self) -> bool {
        self.traits.looks_ahead
    }

    /// What it has cost so far.
    pub fn cost(&self) -> OwnCost {
        let tabulated = self.table.as_ref().map(|table| table.nodes.len() as u64);
        let spent_s = if tabulated.is_some() { 0.0 } else { self.policy.spent_s() };
        OwnCost { tabulated, calls: self.calls, spent_s }
    }

    /// The operations of a step that it has asked for.
    ///
    /// # Arguments
    /// - `spec`: how the config reads.
    /// - `history`: what is known of the read.
    /// - `last`: the step before, which has failed or is expected to.
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

    /// Whether the config says how the step is read that was asked for last.
    pub fn reads_as_configured(&self, read: u32) -> bool {
        self.reads[read as usize].asked.is_some_and(|asked| asked.references.is_none())
    }

    /// Whether it has asked for references that follow the cells, as far as it was asked.
    pub fn asks_for_cells(&self) -> bool {
        self.asks_for_cells
    }

    /// The first step of a read.
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

    /// The step that follows if the last one of a read fails; `None` when there is none, or it depends on what will be seen.
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

    /// The step after one that has failed, with so many violated checks where they are seen; `None` when nothing is left.
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

    /// A read whose last step has failed.
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
            let message = format!("next: found a step after {MOST_STEPS}, expected None when nothing is left to try");
            return Err(Error::config(self.name.as_str(), message));
        }
        if let Some(asked) = asked {
            self.steps.check(self.name, asked)?;
            self.asks_for_cells |= asked.references == Some(ReferencesAt::Cells);
        }
        Ok(asked)
    }

    fn no_first_step(&self) -> Error {
        Error::config(self.name.as_str(), "next: found None for a read of which nothing was tried, expected a step")
    }

    /// How many decisions may follow a step that fails.
    #[inline]
    fn branches(&self, last: OwnStep) -> u32 {
        if last.level == 1 { self.traits.observes.syndrome_weight.count().unwrap_or(1) } else { 1 }
    }

    /// Values that each of what is seen of a beginning read has: page types, remembered levels, buckets of P/E cycles.
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

    /// Asks for every decision there can be, twice; `None` where there are too many.
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

    /// Fills in a decision and all that may follow it.
    fn decide(&mut self, table: &mut Table, node: u32, read: &mut OwnRead) -> Result<()> {
        if table.nodes.len() > MOST_TABULATED {
            return Ok(());
        }
        let (asked, again) = (self.ask(read)?, self.ask(read)?);
        if asked != again {
            let message = format!(
                "next: found two answers to one question, {asked:?} and {again:?}, expected one, or `tabulate = False` in the class"
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
