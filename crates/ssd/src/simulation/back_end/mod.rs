//! Flash array, buses and decoders: what an operation does, in which order, for how long.
//!
//! A page read: sense, then transfer and decode codeword by codeword. With a cache register the unit may sense the next page
//! while the last one waits for the bus; it stalls when both registers are full. Codewords that fail are attempted again,
//! together, once all decodes of the page are over. A codeword's transfer overlaps the decode of the one before it.
//!
//! Looking ahead: when a sensing ends and nothing waits for the unit, it senses the next level at once. Success cuts that short
//! with a RESET (or drops the result, when sensing was over); failure finds it under way, or done and waiting. The unit is kept
//! until the outcome is known. One level is sensed ahead, not more.
//!
//! A read of interleaved codewords senses the pages of its group in as many units, each in its turn; each channel transfers what
//! its pages have of a codeword, an n-th, and the codeword is decoded when all of it has arrived.
//!
//! What waits for what has one direction: a unit for the bus, the bus for room at the decoders, and decoders for nothing. Room is
//! asked for by the part of a codeword that arrives last, and by no other; whoever is let in takes it. So no read waits for ever.
//!
//! A unit of several BCH codewords is done when the last of them is decoded: they follow one another through bus and decoder.
//! A read of units that cross pages senses the pages of a run, one after the other, and is otherwise one of a group.

mod array;
mod bus;
mod decoders;
mod occupied;
mod orders;
mod reads;
mod remembered;
mod timing;

use std::sync::Arc;

use softsense_base::{Ns, Pj, TotalNs};
use softsense_link::{CompiledPredictor, History, Observation, PredictorPlace, ReadSpec, Reliability, Step};
use softsense_nand::InferredBy;

use super::kernel::{Completion, Kernel};
use super::owners::{ProgramOwner, ReadOwner};
use super::statistics::Utilisation;
use crate::checked::CheckedConfig;
use crate::events::Key;
use crate::ftl::Group;
use crate::geometry::Geometry;
use crate::slab::Slab;
use array::{Array, Command, NONE, Phase, Turn, Work};
use bus::{Bus, Transfer};
use decoders::{Arrived, Decoders, Decoding};
pub use occupied::{Action, Occupied, Resource};
pub(super) use orders::{CodewordOrder, Ended, ReadOrder};
use reads::{Codeword, Part, Progress, Read, Reads};
use remembered::RememberedReferences;
use timing::{DecodeTime, OperationEnergy, Timing};

/// A program of a page, or of a group of interleaved ones at once.
#[derive(Debug, Clone, Copy)]
struct Program {
    group: Group,
    owner: ProgramOwner,
    /// Pages whose program has not ended.
    remaining: u32,
}

pub(super) struct BackEnd {
    geometry: Arc<Geometry>,
    reliability: Arc<Reliability>,
    timing: Timing,
    energy: OperationEnergy,
    spec: ReadSpec,
    cache_register: bool,
    /// Whether it is told of each codeword at which level it was decoded.
    tells_levels: bool,
    array: Array,
    bus: Bus,
    decoders: Decoders,
    reads: Reads,
    remembered: RememberedReferences,
    predictor: Option<CompiledPredictor>,
    /// For each page type, whether its pages show the known cells by whose errors references are inferred.
    shows_known_cells: Vec<bool>,
    programs: Slab<Program>,
}

impl BackEnd {
    /// # Arguments
    /// - `parts_per_read`: pages that a read may have to do with.
    /// - `tells_levels`: whether it is told of each codeword at which level it was decoded.
    pub(super) fn new(
        config: &CheckedConfig,
        geometry: Arc<Geometry>,
        reliability: Arc<Reliability>,
        parts_per_read: u32,
        tells_levels: bool,
    ) -> Self {
        let spec = config.config();
        let read = spec.read.with_what_is_known(&reliability);
        let known_cells = f64::from(reliability.sentinels()) / (8.0 * f64::from(spec.geometry.codeword_bytes));
        let page_types = spec.flash.page_types.len();
        // Where pages are not told apart, nobody knows which of them has the boundary.
        let alike = page_types == 1 && reliability.pages() != Some(1);
        let shows = |page_type| !alike && reliability.shows_known_cells(page_type);
        Self {
            timing: Timing::new(config, known_cells, read.predictor),
            energy: OperationEnergy::new(&spec.energy, known_cells),
            remembered: RememberedReferences::new(&read, &geometry, &reliability),
            predictor: read.predictor.and_then(|predictor| reliability.predictor(&predictor)),
            shows_known_cells: match read.infers_by {
                Some(InferredBy::Sentinels) => (0..page_types).map(shows).collect(),
                Some(InferredBy::ShareOfOnes) | None => Vec::new(),
            },
            spec: read,
            cache_register: spec.flash.cache_register,
            tells_levels,
            array: Array::new(geometry.busy_units()),
            bus: Bus::new(geometry.channels()),
            decoders: Decoders::new(config),
            reads: Reads::new(parts_per_read),
            programs: Slab::default(),
            geometry,
            reliability,
        }
    }

    // ---- What it is asked for ----

    /// A read whose codewords are [added](Self::add_codeword) next, before it is [begun](Self::begin_read).
    #[inline]
    pub(super) fn new_read(&mut self, kernel: &Kernel, order: ReadOrder) -> u32 {
        self.reads.insert(order, self.geometry.page_type_of(order.group.page), kernel.now)
    }

    #[inline(always)]
    pub(super) fn add_codeword(&mut self, read: u32, order: CodewordOrder) {
        let pool = self.decoders.pool_of(order.channel);
        let transfer = order.bytes.map(|parts| parts.map(|bytes| self.timing.transfer_of(bytes)));
        self.reads.add_codeword(read, order, pool, transfer);
    }

    #[inline]
    pub(super) fn begin_read(&mut self, kernel: &mut Kernel, read: u32) {
        let (order, reliability) = (self.reads.reads[read].order, &*self.reliability);
        let group = order.group;
        let least_levels = || self.reads.fates_of(read).map(|fate| reliability.least_level(fate));
        let least_level = || least_levels().max().unwrap_or(1);
        let history = History::new(self.remembered.of(&self.geometry, group));
        let mut step = self.spec.first(&history, order.remembered_level, least_level);
        if step.predictions > 0 {
            step = self.predicted_in_die(kernel, read, step);
        }
        self.reads.reads[read].history = history;
        let reliability = &*self.reliability;
        self.reads.begin_attempt(read, step, |fate| reliability.outcome(fate, step));
        if step.level == 1 && self.spec.predicts(PredictorPlace::Controller) {
            self.predict_in_controller(kernel, read, step);
        }
        let turn = if order.hurried { Turn::Read } else { Turn::Other };
        for member in group.members() {
            let part = self.reads.part_number(read, member);
            self.submit(kernel, self.unit_of(group, member), Work::Read(part), turn);
        }
    }

    /// The first step of a read, by what the die predicts of the first of its codewords.
    #[inline(never)]
    fn predicted_in_die(&self, kernel: &mut Kernel, read: u32, first: Step) -> Step {
        let predictor = self.predictor.as_ref().expect("the config was checked to know violated checks");
        let fate = self.reads.first_fate(read);
        let fails = self.reliability.predicts_failure(fate, first, predictor);
        kernel.statistics.predicted(fails, self.reliability.outcome(fate, first).decoded);
        if !fails {
            return first;
        }
        self.spec.early_retry(first, self.reliability.inferred(fate, InferredBy::ShareOfOnes, first.references))
    }

    /// Codewords of an attempt that are predicted not to be decoded will not be tried.
    #[inline(never)]
    fn predict_in_controller(&mut self, kernel: &mut Kernel, read: u32, step: Step) {
        let predictor = self.predictor.as_ref().expect("the config was checked to know violated checks");
        let mut at = self.reads.first_of(read);
        while let Some(index) = at {
            at = self.reads.next_of(index);
            let codeword = &mut self.reads.codewords[index];
            if codeword.outcome.few_errors {
                continue;
            }
            let fails = self.reliability.predicts_failure(&codeword.fate, step, predictor);
            kernel.statistics.predicted(fails, codeword.outcome.decoded);
            codeword.skips_decoding = fails;
            codeword.outcome.decoded &= !fails;
        }
    }

    /// Begins to program pages.
    #[inline]
    pub(super) fn program(&mut self, kernel: &mut Kernel, group: Group, owner: ProgramOwner) {
        let program = self.programs.insert(Program { group, owner, remaining: group.pages() });
        for member in group.members() {
            let part = self.reads.part_number(program, member);
            self.submit(kernel, self.unit_of(group, member), Work::Program(part), Turn::Other);
        }
    }

    /// Begins to erase the blocks of a superblock.
    pub(super) fn erase(&mut self, kernel: &mut Kernel, set: u32, superblock: u32) {
        self.remembered.erased(superblock);
        for member in 0..self.geometry.ways() {
            let unit = self.geometry.busy_unit_of(self.geometry.plane_of(set, member));
            self.submit(kernel, unit, Work::Erase { superblock }, Turn::Other);
        }
    }

    /// Operations that wait for the busy unit of a plane.
    #[inline]
    pub(super) fn waiting_for(&self, plane: u32) -> usize {
        self.array.waiting(self.geometry.busy_unit_of(plane))
    }

    /// What one program of a page costs.
    pub(super) fn program_energy(&self) -> Pj {
        self.energy.program
    }

    /// Whether nothing is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.reads.reads.len() + self.reads.codewords.len() + self.programs.len() == 0
    }

    /// Mean busy shares up to now.
    ///
    /// # Arguments
    /// - `wasted`: how long buses were taken by codewords that were then not decoded.
    pub(super) fn utilisation(&self, now: Ns, wasted: TotalNs) -> Utilisation {
        let elapsed = now.0 as f64;
        let share = |busy: f64, of: usize| if elapsed > 0.0 { busy / (elapsed * of as f64) } else { 0.0 };
        Utilisation {
            plane: share(self.array.busy_ns(now), self.array.len()),
            channel: share(self.bus.busy_ns(), self.bus.len()),
            channel_wasted: share(wasted.0 as f64, self.bus.len()),
            decoder: share(self.decoders.busy_ns(), self.decoders.len()),
        }
    }

    // ---- Sensing, programming, erasing ----

    /// The unit that has a page of a group.
    #[inline]
    fn unit_of(&self, group: Group, member: u32) -> u32 {
        self.geometry.busy_unit_of(self.geometry.plane_of(group.set, member))
    }

    /// The channel of a page of a group.
    #[inline]
    fn channel_of(&self, group: Group, member: u32) -> u32 {
        self.geometry.channel_of(self.geometry.plane_of(group.set, member))
    }

    /// Hands work to a unit: done at once if it is free, else queued.
    #[inline(always)]
    fn submit(&mut self, kernel: &mut Kernel, unit: u32, work: Work, turn: Turn) {
        if let Some(work) = self.array.submit(unit, work, turn) {
            self.begin(kernel, unit, work);
        }
    }

    fn begin(&mut self, kernel: &mut Kernel, unit: u32, work: Work) {
        match work {
            Work::Read(part) => {
                let (read, member) = self.reads.of_part(part);
                let duration = self.sense(kernel, read, member, self.reads.reads[read].step);
                self.reads.part(part).sensing_from = kernel.now;
                self.array.run(kernel, unit, Command::Sense, part, duration);
            }
            Work::Program(part) => {
                self.array.command(kernel.now, unit, Command::Load, part);
                let (program, member) = self.reads.of_part(part);
                let channel = self.channel_of(self.programs[program].group, member);
                self.request_bus(kernel, channel, Transfer::Program(part));
            }
            Work::Erase { superblock } => {
                kernel.statistics.operations.erases += 1;
                kernel.statistics.energy.erase += self.energy.erase;
                kernel.statistics.energy.background += self.energy.erase;
                self.array.run(kernel, unit, Command::Erase, superblock, self.timing.erase);
            }
        }
    }

    /// Counts the sensing of a page for a step, and returns how long it takes.
    fn sense(&mut self, kernel: &mut Kernel, read: u32, member: u32, step: Step) -> Ns {
        let (hard, extra) = self.energy.sensing(step);
        let statistics = &mut kernel.statistics;
        statistics.operations.senses += u64::from(step.hard) + u64::from(step.unsent_sensings);
        statistics.operations.known_cell_reads += u64::from(step.known_cells);
        statistics.operations.extra_levels_sensed += u64::from(step.extra_levels);
        statistics.operations.search_sensings += u64::from(step.search_sensings);
        statistics.energy.sense += hard;
        statistics.energy.sense_extra_levels += extra;
        let op = &mut self.reads.reads[read];
        op.energy += hard + extra;
        if member == op.order.group.first() {
            op.sensings += u32::from(step.hard) + u32::from(step.unsent_sensings);
            op.sensings += u32::from(step.extra_levels) + u32::from(step.search_sensings);
        }
        self.sense_time(read, member, step)
    }

    #[inline]
    fn sense_time(&self, read: u32, member: u32, step: Step) -> Ns {
        let Read { page_type, order: ReadOrder { group, .. }, .. } = self.reads.reads[read];
        if step.known_cells {
            let page_type = self.shows_known_cells.iter().position(|&shows| shows);
            return self.timing.page_types[page_type.unwrap_or(0)].of(step);
        }
        let one = member == 0 || self.geometry.ways() > 1;
        let page_type =
            if one { page_type } else { self.geometry.page_type_of(self.geometry.page_of_member(group.page, member)) };
        self.timing.page_types[page_type as usize].of(step)
    }

    /// A unit's array has ended what it was at.
    #[inline]
    pub(super) fn array_done(&mut self, kernel: &mut Kernel, unit: u32, key: Key) -> Ended {
        if !self.array.ends_with(unit, key) {
            return Ended::Nothing;
        }
        let of = self.array.of(unit);
        match self.array.phase(unit) {
            Phase::Sensing => {
                self.array.command(kernel.now, unit, Command::End, of);
                self.sensed(kernel, unit, of);
                Ended::Nothing
            }
            Phase::SensingAhead => {
                self.array.command(kernel.now, unit, Command::End, of);
                Ended::Nothing
            }
            Phase::Programming => {
                let (program, _) = self.reads.of_part(of);
                let Program { group, owner, remaining } = &mut self.programs[program];
                *remaining -= 1;
                if *remaining > 0 {
                    return Ended::Page;
                }
                let ended = Ended::Program { owner: *owner, group: *group };
                self.programs.remove(program);
                ended
            }
            Phase::Erasing => Ended::Erase { superblock: of },
            Phase::Resetting => Ended::Page,
            phase => unreachable!("{phase:?} ends with no array event"),
        }
    }

    /// The array of a unit is free after what has ended: the next work begins.
    pub(super) fn release(&mut self, kernel: &mut Kernel, unit: u32) {
        self.array.command(kernel.now, unit, Command::End, NONE);
        self.next_work(kernel, unit);
    }

    /// The page in the array has left it: the next work begins.
    #[inline]
    fn leave_array(&mut self, kernel: &mut Kernel, unit: u32) {
        self.array.command(kernel.now, unit, Command::Leave, NONE);
        self.next_work(kernel, unit);
    }

    #[inline]
    fn next_work(&mut self, kernel: &mut Kernel, unit: u32) {
        if let Some(work) = self.array.next(unit) {
            self.begin(kernel, unit, work);
        }
    }

    /// The step that a read makes next if the present one fails, where that is known already, and is to be sensed ahead.
    fn step_ahead(&mut self, read: u32) -> Option<Step> {
        let entry = &self.reads.reads[read];
        if entry.ahead.is_some() || !self.spec.looks_ahead(entry.attempts - entry.known_cell_reads) {
            return entry.ahead;
        }
        let step = entry.step;
        if self.spec.infers_by == Some(InferredBy::ShareOfOnes) && step.level == 1 {
            let fate = self.reads.first_fate(read);
            let inferred = self.reliability.inferred(fate, InferredBy::ShareOfOnes, step.references);
            self.reads.reads[read].history.infer(inferred);
        }
        let entry = &mut self.reads.reads[read];
        entry.ahead = self.spec.ahead(&entry.history, step);
        entry.ahead
    }

    /// A page has been sensed: to the cache register with it, if there is one and it is empty.
    fn sensed(&mut self, kernel: &mut Kernel, unit: u32, part: u32) {
        self.reads.part(part).sensed_at = kernel.now;
        if !self.cache_register {
            self.start_transfers(kernel, part);
        } else if self.array.register_is_empty(unit) {
            self.latch(kernel, unit, part);
        }
    }

    /// The page is in the cache register and the array is free: for looking ahead, or for others.
    fn latch(&mut self, kernel: &mut Kernel, unit: u32, part: u32) {
        self.array.set_register(unit, part);
        self.start_transfers(kernel, part);
        let (read, member) = self.reads.of_part(part);
        if self.spec.may_look_ahead()
            && self.array.waiting(unit) == 0
            && let Some(next) = self.step_ahead(read)
        {
            let duration = self.sense(kernel, read, member, next);
            self.reads.part(part).looking_ahead = true;
            kernel.statistics.operations.look_ahead_senses += 1;
            self.array.command(kernel.now, unit, Command::Leave, NONE);
            self.array.run(kernel, unit, Command::SenseAhead, part, duration);
        } else {
            self.leave_array(kernel, unit);
        }
    }

    // ---- Transfers ----

    fn start_transfers(&mut self, kernel: &mut Kernel, part: u32) {
        let (read, member) = self.reads.of_part(part);
        let channel = self.channel_of(self.reads.reads[read].order.group, member);
        let mut to_transfer = 0;
        let mut at = self.reads.first_of(read);
        while let Some(index) = at {
            at = self.reads.next_of(index);
            let codeword = &self.reads.codewords[index];
            if codeword.progress == Progress::Undecided && codeword.is_in(member) {
                to_transfer += 1;
                self.request_bus(kernel, channel, Transfer::Read { part, codeword: index });
            }
        }
        self.reads.part(part).to_transfer = to_transfer;
    }

    /// A transfer wants the bus: it begins at once, or waits its turn.
    #[inline]
    fn request_bus(&mut self, kernel: &mut Kernel, channel: u32, transfer: Transfer) {
        if let Some(transfer) = self.bus.submit(channel, transfer) {
            self.start_transfer(kernel, channel, transfer);
        }
    }

    #[inline]
    fn start_transfer(&mut self, kernel: &mut Kernel, channel: u32, transfer: Transfer) {
        let duration = match transfer {
            Transfer::Read { part, codeword } => {
                self.transfer_time(&self.reads.codewords[codeword], self.reads.of_part(part).1)
            }
            Transfer::Program(_) => self.timing.program_transfer,
        };
        self.bus.begin(kernel, channel, transfer, duration);
    }

    /// How long what one page has of a codeword occupies the bus.
    #[inline]
    fn transfer_time(&self, codeword: &Codeword, member: u32) -> Ns {
        let step = self.reads.reads[codeword.read].step;
        if step.known_cells {
            return self.timing.known_cells_transfer;
        }
        if let Some([first, others]) = codeword.transfer {
            return if member == u32::from(codeword.first_part) { first } else { others };
        }
        let hard = if step.hard { self.timing.transfer } else { Ns::ZERO };
        let whole = hard + self.timing.transfer_extra_level.times(u64::from(step.extra_levels));
        if codeword.parts == 1 { whole } else { Ns(whole.0.div_ceil(u64::from(codeword.parts))) }
    }

    pub(super) fn transfer_done(&mut self, kernel: &mut Kernel, channel: u32) {
        if let Some(Transfer::Read { codeword, .. }) = self.bus.on_bus(channel) {
            let Codeword { to_arrive, pool, bypasses, .. } = self.reads.codewords[codeword];
            if to_arrive == 1 && !bypasses && !self.decoders.has_room(pool) {
                self.bus.hold(channel, kernel.now);
                self.decoders.hold(pool, channel);
                return;
            }
        }
        self.leave_bus(kernel, channel, kernel.now);
    }

    /// What was on the bus is handed over, and the next transfer begins. The transfer had ended at `ended`.
    fn leave_bus(&mut self, kernel: &mut Kernel, channel: u32, ended: Ns) {
        match self.bus.take(channel) {
            Transfer::Read { part, codeword } => {
                self.part_arrived(kernel, part, codeword, ended);
                let state = self.reads.part(part);
                state.to_transfer -= 1;
                if state.to_transfer == 0 {
                    let (read, member) = self.reads.of_part(part);
                    self.page_transferred(kernel, self.unit_of(self.reads.reads[read].order.group, member));
                }
            }
            Transfer::Program(part) => {
                let (program, member) = self.reads.of_part(part);
                let Program { group, owner, .. } = self.programs[program];
                let page_type = self.geometry.page_type_of(group.page);
                let energy = self.energy.program;
                kernel.statistics.operations.programs += 1;
                kernel.statistics.energy.program += energy;
                match owner {
                    ProgramOwner::Request { .. } | ProgramOwner::Buffer { .. } => {
                        kernel.statistics.energy.writes += energy;
                    }
                    ProgramOwner::Collection | ProgramOwner::Reclaim | ProgramOwner::Translation { .. } => {
                        kernel.statistics.energy.background += energy;
                    }
                }
                let duration = self.timing.page_types[page_type as usize].program;
                self.array.run(kernel, self.unit_of(group, member), Command::Program, part, duration);
            }
        }
        if let Some(transfer) = self.bus.next(channel) {
            self.start_transfer(kernel, channel, transfer);
        }
    }

    /// The controller has what a part has of a codeword. With the last one, the codeword goes to a decoder, and its time so far is
    /// that of this part, whose transfer had ended at `ended`.
    #[inline]
    fn part_arrived(&mut self, kernel: &mut Kernel, part: u32, index: u32, ended: Ns) {
        let codeword = &mut self.reads.codewords[index];
        codeword.to_arrive -= 1;
        if codeword.to_arrive > 0 {
            return;
        }
        let Codeword { read, pool, outcome, bypasses, .. } = *codeword;
        let read = &mut self.reads.reads[read];
        let energy = self.energy.transferring(read.step).part(read.order.codewords_per_unit);
        read.energy += energy;
        kernel.statistics.energy.transfer += energy;
        kernel.statistics.operations.transfers += u64::from(!read.step.known_cells);
        let arrived = Arrived { codeword: index, part, at: ended };
        if bypasses {
            kernel.statistics.operations.bypasses += u64::from(outcome.few_errors);
            self.count_service(kernel, arrived, Ns::ZERO);
            self.decoders.bypass(kernel, arrived);
        } else if let Some(decoder) = self.decoders.submit(pool, arrived) {
            self.start_decode(kernel, pool, decoder, arrived);
        }
    }

    /// The last codeword of a page has left its unit: the register, or the array, is free.
    fn page_transferred(&mut self, kernel: &mut Kernel, unit: u32) {
        if !self.cache_register {
            self.leave_array(kernel, unit);
            return;
        }
        self.array.set_register(unit, NONE);
        if self.array.phase(unit) == Phase::Sensed {
            self.latch(kernel, unit, self.array.of(unit));
        }
    }

    // ---- Decoding ----

    #[inline]
    fn start_decode(&mut self, kernel: &mut Kernel, pool: u32, decoder: u32, arrived: Arrived) {
        let duration = self.decode_time(arrived.codeword);
        self.count_service(kernel, arrived, duration);
        self.decoders.begin(kernel, pool, decoder, arrived, duration);
    }

    #[inline]
    fn decode_time(&self, codeword: u32) -> Ns {
        let Codeword { read, outcome, skips_decoding, .. } = self.reads.codewords[codeword];
        let mut prediction = self.timing.predict_in_controller;
        if prediction > Ns::ZERO {
            let Read { attempts, step, .. } = &self.reads.reads[read];
            prediction = if *attempts == 1 && step.level == 1 { prediction } else { Ns::ZERO };
        }
        if skips_decoding {
            return prediction;
        }
        let decode = match &self.timing.decode {
            DecodeTime::Fixed(duration) => *duration,
            DecodeTime::PerIteration(duration) => {
                let iterations = outcome.iterations.expect("the config was checked to know iterations");
                duration.times(u64::from(iterations))
            }
            DecodeTime::Bch(times) => {
                let (with_errors, without) = times.at(|| self.reads.reads[read].order.pe_cycles);
                if outcome.clean { *without } else { *with_errors }
            }
        };
        prediction + decode
    }

    /// Counts what an attempt at a codeword takes by itself, if the host reads it: of a unit of several all of the first, and of
    /// the others what takes longer, transfer or decoding.
    #[inline]
    fn count_service(&mut self, kernel: &mut Kernel, arrived: Arrived, decode: Ns) {
        let codeword = &self.reads.codewords[arrived.codeword];
        let Read { order, step, .. } = &self.reads.reads[codeword.read];
        if !matches!(order.owner, ReadOwner::Request(_)) {
            return;
        }
        let (_, member) = self.reads.of_part(arrived.part);
        let page = |member| self.sense_time(codeword.read, member, *step) + self.transfer_time(codeword, member);
        kernel.statistics.read_service += if codeword.unit != arrived.codeword {
            self.transfer_time(codeword, member).max(decode)
        } else if self.geometry.ways() == 1 {
            // Pages of a run are sensed one after the other.
            let first = u32::from(codeword.first_part);
            (first..first + u32::from(codeword.parts)).fold(decode, |sum, member| sum + page(member))
        } else {
            page(member) + decode
        };
    }

    pub(super) fn decode_done(&mut self, kernel: &mut Kernel, decoder: u32) {
        let decoding = self.decoders.at(decoder);
        let index = decoding.arrived.codeword;
        let read = self.reads.codewords[index].read;
        let Codeword { outcome, skips_decoding, .. } = self.reads.codewords[index];
        if !decoding.bypassed() && !skips_decoding {
            let op = &mut self.reads.reads[read];
            let energy = self.energy.decode.part(op.order.codewords_per_unit);
            kernel.statistics.operations.decodes += 1;
            kernel.statistics.energy.decode += energy;
            op.energy += energy;
        }
        if !outcome.decoded && !self.reads.reads[read].step.known_cells {
            let codeword = &self.reads.codewords[index];
            let members = codeword.first_part..codeword.first_part + codeword.parts;
            for member in members {
                kernel.statistics.failed_transfers += self.transfer_time(codeword, member.into());
            }
        }
        let (unit_over, unit_decoded) = self.reads.decided(index);
        let op = &mut self.reads.reads[read];
        let over = op.undecided == 0;
        if op.attempts == 1 && unit_over {
            if !unit_decoded {
                // Retries last from the first failure to the end: see `unit_read`.
                op.time.retries.0 = op.time.retries.0.wrapping_sub(kernel.now.0);
            }
            self.count_time(kernel.now, decoding);
        }
        if let Some((pool, next, room)) = self.decoders.free(decoder) {
            if let Some(arrived) = next {
                self.start_decode(kernel, pool, decoder, arrived);
            }
            if let Some(channel) = room {
                let ended = self.bus.let_go(channel);
                self.leave_bus(kernel, channel, ended);
            }
        }
        let next = if over && self.reads.reads[read].failed { self.step_after(read) } else { None };
        let energy = if over && next.is_none() { self.settle(kernel, read) } else { Pj::default() };
        let Codeword { outcome, units, .. } = self.reads.codewords[index];
        if outcome.decoded {
            let Read { order, step, attempts, .. } = &self.reads.reads[read];
            if outcome.undetected && matches!(order.owner, ReadOwner::Request(_)) {
                kernel.statistics.undetected += 1;
            }
            if step.level == 1 {
                self.remembered.decoded(&self.geometry, order.group, step.references);
            }
            if self.tells_levels {
                let place = self.reads.codewords[index].fate.number() / u64::from(order.codewords_per_unit);
                kernel.report(Completion::Decoded { place, level: step.level, at_once: *attempts == 1 });
            }
        }
        if unit_decoded {
            self.unit_read(kernel, read, units.into(), true, energy);
        }
        if over {
            self.attempt_over(kernel, read, next, energy);
        }
    }

    /// Where the time of a unit's first attempt went: that of the codeword of it that was decoded last, just now.
    #[inline]
    fn count_time(&mut self, now: Ns, Decoding { arrived, began, .. }: Decoding) {
        let codeword = &self.reads.codewords[arrived.codeword];
        let (read, member) = self.reads.of_part(arrived.part);
        let transfer = self.transfer_time(codeword, member);
        // Pages of a run are sensed one after the other.
        let from = if self.geometry.ways() == 1 { codeword.first_part.into() } else { member };
        let first = self.reads.part_number(read, from);
        let sensing_from = self.reads.part(first).sensing_from;
        let Part { sensed_at, .. } = *self.reads.part(arrived.part);
        let op = &mut self.reads.reads[read];
        op.time.wait_plane += sensing_from - op.queued_at;
        op.time.sense += sensed_at - sensing_from;
        op.time.wait_bus += arrived.at - transfer - sensed_at;
        op.time.transfer += transfer;
        op.time.wait_decoder += began - arrived.at;
        op.time.decode += now - began;
    }

    // ---- The end of an attempt ----

    /// All decodes of an attempt are over, and one has failed: what is tried next, by what is seen of it. What was sensed ahead went
    /// by what was known then.
    #[inline(never)]
    fn step_after(&mut self, read: u32) -> Option<Step> {
        let ahead = self.reads.reads[read].ahead;
        let seen = self.observed(read);
        let next = self.spec.after(&mut self.reads.reads[read].history, seen);
        ahead.or(next)
    }

    /// Nothing is left to try of a read, or nothing has failed: no sensing ahead is of use, and whoever asked for the read is charged
    /// for it: a host read with the units that are done next.
    #[inline]
    fn settle(&mut self, kernel: &mut Kernel, read: u32) -> Pj {
        let Read { order: ReadOrder { owner, group, .. }, ahead, .. } = self.reads.reads[read];
        if ahead.is_some() {
            for member in group.members() {
                let part = self.reads.part_number(read, member);
                if std::mem::take(&mut self.reads.part(part).looking_ahead) {
                    self.stop_looking_ahead(kernel, read, member, self.unit_of(group, member));
                }
            }
        }
        let energy = self.reads.reads[read].energy;
        match owner {
            ReadOwner::Request(_) => kernel.statistics.energy.reads += energy,
            ReadOwner::Modify { request, .. } => {
                kernel.statistics.energy.writes += energy;
                kernel.report(Completion::Charged { request, energy });
            }
            ReadOwner::Collection(_) | ReadOwner::Load { .. } | ReadOwner::WriteBack { .. } => {
                kernel.statistics.energy.background += energy;
            }
        }
        energy
    }

    /// The level that a unit senses ahead, or has, is not needed.
    fn stop_looking_ahead(&mut self, kernel: &mut Kernel, read: u32, member: u32, unit: u32) {
        kernel.statistics.operations.look_ahead_wasted += 1;
        if self.array.phase(unit) == Phase::SensedAhead {
            return self.leave_array(kernel, unit);
        }
        kernel.statistics.operations.resets += 1;
        let next = self.reads.reads[read].ahead.expect("it was sensed ahead");
        let (left, whole) = (self.array.ends_at(unit) - kernel.now, self.sense_time(read, member, next));
        let (hard, extra) = self.energy.sensing(next);
        let (hard, extra) = (hard.share(left, whole), extra.share(left, whole));
        kernel.statistics.energy.sense -= hard;
        kernel.statistics.energy.sense_extra_levels -= extra;
        kernel.statistics.energy.cut_short += hard + extra;
        self.reads.reads[read].energy -= hard + extra;
        if self.timing.reset > Ns::ZERO {
            self.array.run(kernel, unit, Command::Reset, NONE, self.timing.reset);
        } else {
            self.array.cut_short(unit);
            self.array.command(kernel.now, unit, Command::Reset, NONE);
            self.release(kernel, unit);
        }
    }

    /// A unit of data has been decoded, or given up. `energy` is what the read has cost, if that is settled.
    fn unit_read(&mut self, kernel: &mut Kernel, read: u32, codewords: u32, decoded: bool, energy: Pj) {
        let op = &mut self.reads.reads[read];
        // A unit that is here in its first attempt, decoded, has never failed.
        if op.attempts > 1 || !decoded {
            op.time.retries.0 = op.time.retries.0.wrapping_add(kernel.now.0);
        }
        if let ReadOwner::Request(request) = op.order.owner {
            let (level, retries) = (op.step.level, op.retries());
            let interleaved = self.geometry.ways() > 1 && op.order.group.pages() > 1;
            kernel.statistics.interleaved_codewords += u64::from(interleaved);
            kernel.statistics.soft_starts += u64::from(op.soft_start);
            kernel.statistics.codeword_read(level, retries, decoded);
            kernel.report(Completion::CodewordsRead { request, codewords, level, retries, energy });
        } else if !decoded {
            kernel.statistics.uncorrectable_in_background += 1;
        }
    }

    /// All decodes of an attempt are over: what has failed is tried again, or given up.
    fn attempt_over(&mut self, kernel: &mut Kernel, read: u32, next: Option<Step>, mut energy: Pj) {
        let Read { order: ReadOrder { group, .. }, failed, .. } = self.reads.reads[read];
        if !failed {
            return self.end_read(kernel, read);
        }
        let Some(next) = next else {
            let mut at = self.reads.first_of(read);
            while let Some(index) = at {
                at = self.reads.next_of(index);
                let Codeword { unit, unit_failed, units, .. } = self.reads.codewords[index];
                if unit == index && unit_failed {
                    self.unit_read(kernel, read, units.into(), false, std::mem::take(&mut energy));
                }
            }
            return self.end_read(kernel, read);
        };
        let reliability = &*self.reliability;
        self.reads.begin_attempt(read, next, |fate| reliability.outcome(fate, next));
        for member in group.members() {
            let (part, unit) = (self.reads.part_number(read, member), self.unit_of(group, member));
            if std::mem::take(&mut self.reads.part(part).looking_ahead) {
                self.array.command(kernel.now, unit, Command::Adopt, part);
                if self.array.phase(unit) == Phase::Sensed {
                    self.sensed(kernel, unit, part);
                }
            } else {
                self.submit(kernel, unit, Work::Read(part), Turn::Retry);
            }
        }
    }

    /// What is seen of an attempt that has failed, as far as the policy goes by it.
    fn observed(&self, read: u32) -> Observation {
        let Read { step, page_type, .. } = self.reads.reads[read];
        let failed = Observation::failed(step);
        if step.level > 1 {
            return failed;
        }
        let sees_weights = self.spec.sees_syndrome_weights() && !step.known_cells;
        let shown = |by| match by {
            InferredBy::Sentinels => step.known_cells || self.shows_known_cells[page_type as usize],
            InferredBy::ShareOfOnes => true,
        };
        let inferred = self.spec.infers_by.filter(|&by| shown(by)).map(|by| {
            let fate = self.reads.first_fate(read);
            self.reliability.inferred(fate, by, step.references)
        });
        let syndrome_weight = if sees_weights { self.mean_weight_of_failed(read, step) } else { None };
        Observation { syndrome_weight, inferred, ..failed }
    }

    /// How many checks the codewords that have failed violate, in the mean.
    fn mean_weight_of_failed(&self, read: u32, step: Step) -> Option<u32> {
        let (mut sum, mut failed) = (0u64, 0u64);
        let mut at = self.reads.first_of(read);
        while let Some(index) = at {
            at = self.reads.next_of(index);
            let Codeword { progress, fate, .. } = &self.reads.codewords[index];
            if *progress == Progress::Failed
                && let Some(weight) = self.reliability.syndrome_weight(fate, step)
            {
                (sum, failed) = (sum + u64::from(weight), failed + 1);
            }
        }
        sum.checked_div(failed).map(|mean| mean as u32)
    }

    /// Every codeword of a read has been decoded or given up.
    fn end_read(&mut self, kernel: &mut Kernel, read: u32) {
        let Read { order: ReadOrder { owner, group, .. }, time, sensings, .. } = self.reads.reads[read];
        if matches!(owner, ReadOwner::Request(_)) {
            kernel.statistics.read_time += time;
        }
        self.reads.remove(read);
        kernel.report(Completion::ReadEnded { owner, group, sensings });
    }
}
