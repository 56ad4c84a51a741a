//! The back end: flash arrays, buses, links, decoders and encoders. It decides which steps an operation has, in which order, and how long
//! each takes.
//!
//! A page read senses the page, and then transfers and decodes its codewords one by one. The transfer of a codeword overlaps the decode of
//! the one before it. With a cache register the unit may sense the next page while the last one waits for the bus. It stalls when both
//! registers are full. Codewords that fail are attempted again, together, when all decodes of the page are over.
//!
//! Looking ahead: when a sensing ends and no operation waits for the unit, the unit senses the next level at once. If the attempt succeeds,
//! a RESET ends that sensing early, or its result is dropped. If the attempt fails, the sensing is under way already, or over. The unit is
//! kept until the outcome is known. No more than one level is sensed ahead.
//!
//! A read of interleaved codewords senses the pages of its group in as many units, each in its turn. With n pages, each channel transfers
//! an n-th of a codeword. The codeword is decoded when all of its parts have arrived.
//!
//! Waiting has one direction: a unit waits for the bus, the bus for room at the decoders, and decoders for nothing. Only the part of a
//! codeword that arrives last asks for room at the decoders, and takes the room when it is let in, also if it has links to cross. So no
//! read waits for ever. A program waits for encoders and then for its unit, and encoders wait for nothing else. So no program waits for
//! ever, either.
//!
//! A unit of several BCH codewords is done when the last of them is decoded: they follow one another through bus and decoder. A read of
//! units that cross pages senses the pages of a run one after the other. Otherwise it is like a read of a group.

mod array;
mod attempts;
mod attributes;
mod bus;
mod decoders;
mod decoding;
mod encoders;
mod encoding;
mod links;
mod occupied;
mod orders;
mod own;
mod phase;
mod reads;
mod recovery;
mod remembered;
mod rounds;
mod schedule;
mod sensing;
mod timing;
mod transfers;
mod waiting;

use std::collections::BTreeMap;
use std::sync::Arc;

use softsense_base::{Ns, Pj, Result, TotalNs};
use softsense_config::checked::CheckedConfig;
use softsense_config::geometry::Geometry;
use softsense_config::ids::{Plane, Set, Superblock};
use softsense_config::spec::{CacheRegisterFor, ScrubLimit};
use softsense_ftl::Group;
use softsense_link::{
    AskedPolicy, CompiledPredictor, History, Observable, PredictorPlace, ReadSpec, Reliability, Step,
};
use softsense_nand::InferredBy;

use super::kernel::Kernel;
use super::owners::{Cause, ProgramOwner};
use super::statistics::{TimesTaken, UnitShares, Utilisation};
use crate::events::{Event, instant};
use crate::slab::{ProgramId, ReadId, RequestId, Slab};
use array::{Array, Turn, Work};
use bus::Bus;
use decoders::Decoders;
use encoders::Encoders;
pub use links::LinkShares;
use links::Links;
pub use occupied::Action;
pub(super) use occupied::{Counts, Occupied, TakenFor};
pub(super) use orders::{CodewordOrder, Ended, ReadOrder};
use reads::Reads;
use recovery::Recovery;
use remembered::RememberedReferences;
use rounds::Rounds;
use schedule::Schedule;
pub use schedule::ScheduleCounts;
use timing::{OperationEnergy, Timing};

/// A program of a page, or of a group of interleaved ones at once.
#[derive(Debug, Clone, Copy)]
struct Program {
    group: Group,
    /// Number of the program, counted from 1 in the order in which programs were begun.
    number: u64,
    owner: ProgramOwner,
    /// Whether the old page is sensed first, because its data is merged with the new data.
    merges: bool,
    /// The page that is sensed, if this is a copy within a plane.
    copies: Option<Group>,
    /// Energy of the program of one page.
    energy: Pj,
    /// Pages whose program has not ended.
    remaining: u32,
    /// Codewords that are encoded for each page; and codewords of all pages that are not encoded yet. Both are 0 where encoding takes no
    /// time.
    codewords_per_page: u32,
    to_encode: u32,
    /// A bit for each member whose page will fail.
    fails: u32,
}

pub(super) struct BackEnd {
    geometry: Arc<Geometry>,
    reliability: Arc<Reliability>,
    timing: Timing,
    energy: OperationEnergy,
    spec: ReadSpec,
    /// The user's own policy, where the config names one.
    pub(super) own: Option<Box<AskedPolicy>>,
    /// Whether writes of the host wait for room in a write buffer.
    pub(super) writes_wait: bool,
    /// Whether any step is sensed before the outcome of the one before it is known.
    may_look_ahead: bool,
    cache_register: bool,
    cache_program: bool,
    /// Whether the unit may sense only what is sensed ahead while a page is transferred.
    registers_for_look_ahead: bool,
    /// Whether the back end reports the level at which each codeword was decoded.
    tells_levels: bool,
    array: Array,
    /// None where units do not wait for one another.
    rounds: Option<Rounds>,
    bus: Bus,
    /// Whether the schedule chooses among transfers, not only among operations.
    schedules_buses: bool,
    decoders: Decoders,
    /// None where encoding takes no time.
    encoders: Option<Encoders>,
    /// None where a pool of decoders or encoders is at no distance.
    links: Option<Links>,
    /// Size on a link of one extra level of a codeword, as a share of the size of its hard decisions.
    extra_level_size: f64,
    /// The limit beyond which a scrub has the data of a codeword refreshed, where the config has one.
    scrub_limit: Option<ScrubLimit>,
    /// The quantity that is observed at each decode, where code rates follow from it.
    observes: Option<Observable>,
    reads: Reads,
    /// Recoveries, by the number of the read that waits for them.
    recoveries: BTreeMap<ReadId, Recovery>,
    remembered: RememberedReferences,
    predictor: Option<CompiledPredictor>,
    /// For each page type, whether its pages show the known cells by whose errors references are inferred.
    shows_known_cells: Vec<bool>,
    programs: Slab<ProgramId, Program>,
    programs_begun: u64,
}

impl BackEnd {
    /// # Arguments
    /// - `parts_per_read`: pages that a read may have to do with.
    /// - `tells_levels`: whether the back end reports the level at which each codeword was decoded.
    ///
    /// # Errors
    /// When the user's own policy cannot be made, or gives an answer that is no step.
    pub(super) fn new(
        config: &CheckedConfig,
        geometry: Arc<Geometry>,
        reliability: Arc<Reliability>,
        parts_per_read: u32,
        tells_levels: bool,
    ) -> Result<Self> {
        let spec = config.config();
        let read = spec.read.with_what_is_known(&reliability);
        let known_cells = f64::from(reliability.sentinels()) / (8.0 * f64::from(spec.geometry.codeword_bytes));
        let page_types = spec.flash.page_types.len();
        // If pages are not told apart, nobody knows which of them has the boundary.
        let alike = page_types == 1 && reliability.pages() != Some(1);
        let shows = |page_type| !alike && reliability.shows_known_cells(page_type);
        let own = config.own_policy()?.map(Box::new);
        Ok(Self {
            may_look_ahead: read.may_look_ahead() || own.as_ref().is_some_and(|own| own.looks_ahead()),
            own,
            writes_wait: false,
            timing: Timing::new(config, known_cells, read.predictor),
            energy: OperationEnergy::new(config, known_cells),
            remembered: RememberedReferences::new(&read, &geometry, &reliability),
            predictor: read.predictor.and_then(|predictor| reliability.predictor(&predictor)),
            shows_known_cells: match read.infers_by {
                // Pages of SLC blocks come last, and show none.
                Some(InferredBy::Sentinels) => (0..page_types).map(shows).chain([false]).collect(),
                Some(InferredBy::ShareOfOnes) | None => Vec::new(),
            },
            spec: read,
            cache_register: spec.flash.cache_register,
            cache_program: spec.flash.cache_program,
            registers_for_look_ahead: spec.flash.cache_register_for == CacheRegisterFor::LookAhead,
            tells_levels,
            array: Array::new(geometry.busy_units(), Schedule::new(config)),
            rounds: Rounds::new(spec.flash.rounds, &geometry),
            bus: Bus::new(geometry.channels(), spec.bus.first),
            schedules_buses: spec.scheduling.as_ref().is_some_and(|scheduling| scheduling.bus),
            decoders: Decoders::new(config),
            encoders: Encoders::new(config),
            links: Links::new(config),
            extra_level_size: match spec.bus.transfer_us {
                0.0 => 0.0,
                hard => spec.bus.transfer_extra_level_us / hard,
            },
            scrub_limit: spec.ftl.scrub.as_ref().and_then(|scrub| scrub.refresh_above),
            observes: reliability.observed_switch().map(|switch| switch.by),
            reads: Reads::new(parts_per_read),
            programs: Slab::default(),
            programs_begun: 0,
            recoveries: BTreeMap::new(),
            geometry,
            reliability,
        })
    }

    // ---- What it is asked for ----

    /// Creates a read, whose codewords are [added](Self::add_codeword) next, before it is [begun](Self::begin_read).
    #[inline]
    pub(super) fn new_read(&mut self, kernel: &Kernel, order: ReadOrder) -> ReadId {
        let (_, page) = self.geometry.turn(order.group.page, 0);
        self.reads.insert(order, self.geometry.page_type_of(page, order.group.slc()), kernel.now)
    }

    #[inline(always)]
    pub(super) fn add_codeword(&mut self, read: ReadId, order: CodewordOrder) {
        let pool = self.decoders.pool_of(order.channel);
        let transfer = order.bytes.map(|bytes| self.timing.transfers_of(bytes));
        self.reads.add_codeword(read, order, pool, transfer);
    }

    #[inline]
    pub(super) fn begin_read(&mut self, kernel: &mut Kernel, read: ReadId) {
        let ReadOrder { owner, group, remembered_level, hurried, .. } = self.reads.reads[read].order;
        kernel.statistics.by_cause[owner.cause() as usize].page_reads += u64::from(group.pages());
        let history = History::new(self.remembered.of(&self.geometry, group));
        self.reads.reads[read].history = history;
        let mut step = if self.own.is_some() {
            self.own_first_step(kernel, read)
        } else {
            let least_levels = self.reads.fates_of(read).map(|fate| self.reliability.least_level(fate));
            self.spec.first(&history, remembered_level, || least_levels.max().unwrap_or(1))
        };
        if step.predictions > 0 {
            step = self.predicted_in_die(kernel, read, step);
        }
        self.begin_attempt(read, step);
        if step.level == 1 && self.spec.predicts(PredictorPlace::Controller) && self.reads_as_configured(read) {
            self.predict_in_controller(kernel, read, step);
        }
        let turn = if hurried { Turn::Read } else { Turn::Other };
        for member in group.members() {
            let part = self.reads.part_number(read, member);
            self.submit(kernel, self.unit_of(group, member), Work::Read(part), turn);
        }
    }

    /// Notes that a request waits for a read of the background from now on. Where the read has not begun, it goes as reads of the host do.
    ///
    /// # Arguments
    /// - `hurried`: whether reads of the host go before programs and erases where there is no schedule.
    pub(super) fn awaited_by(&mut self, kernel: &mut Kernel, read: ReadId, request: RequestId, hurried: bool) {
        let entry = &mut self.reads.reads[read];
        let was_hurried = std::mem::replace(&mut entry.order.hurried, hurried);
        let group = entry.order.group;
        if let Some(schedule) = &mut self.array.schedule {
            schedule.adopt(read, request);
        }
        for member in group.members() {
            let (unit, part) = (self.unit_of(group, member), self.reads.part_number(read, member));
            let turn_comes = if self.array.schedule.is_some() {
                self.change_attributes(unit, part)
            } else {
                // Work of a batch has its turn in the batch.
                hurried && !was_hurried && self.array.hurry(unit, Work::Read(part), self.left_of_batch(unit))
            };
            if turn_comes {
                self.make_way(kernel, unit);
            }
        }
    }

    /// Returns the first step of a read, after the die has predicted whether the first codeword will fail.
    #[inline(never)]
    fn predicted_in_die(&self, kernel: &mut Kernel, read: ReadId, first: Step) -> Step {
        let predictor = self.predictor.as_ref().expect("the config was checked to know violated checks");
        let fate = self.reads.first_fate(read);
        let fails = self.reliability.predicts_failure(fate, first, predictor);
        kernel.statistics.predicted(fails, self.reliability.outcome(fate, first).decoded);
        if !fails {
            return first;
        }
        self.spec.early_retry(first, self.reliability.inferred(fate, InferredBy::ShareOfOnes, first.references))
    }

    /// Marks the codewords of an attempt that the controller predicts to fail: the decoders will not try them.
    #[inline(never)]
    fn predict_in_controller(&mut self, kernel: &mut Kernel, read: ReadId, step: Step) {
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

    /// Begins to erase the blocks of a superblock.
    ///
    /// # Arguments
    /// - `slc`: whether the cells of the blocks hold one bit.
    /// - `cause`: what the blocks are erased for.
    /// - `members`: the blocks to erase, each with whether its erase fails.
    pub(super) fn erase(
        &mut self,
        kernel: &mut Kernel,
        set: Set,
        superblock: Superblock,
        slc: bool,
        cause: Cause,
        members: &[(u32, bool)],
    ) {
        self.remembered.erased(superblock);
        for &(member, fails) in members {
            let unit = self.geometry.busy_unit_of(self.geometry.plane_of(set, member));
            self.submit(kernel, unit, Work::Erase { superblock, slc, fails, cause }, Turn::Other);
        }
    }

    /// Number of operations that wait for the busy unit of a plane.
    #[inline]
    pub(super) fn waiting_for(&self, plane: Plane) -> usize {
        self.array.waiting(self.geometry.busy_unit_of(plane))
    }

    /// Energy of the program of one page, in a block with so many P/E cycles, of the SLC cache or not.
    #[inline]
    pub(super) fn program_energy(&self, pe_cycles: u32, slc: bool) -> Pj {
        let energy = if slc { &self.energy.program_slc } else { &self.energy.program };
        *energy.at(|| pe_cycles)
    }

    /// Whether programs pass DRAM or encoders on their way to chips, so that a copy within a plane would overtake them.
    pub(super) fn copies_overtake(&self, kernel: &Kernel) -> bool {
        self.encoders.is_some() || kernel.dram.is_some()
    }

    /// Puts off all that is under way, as power fails now and is back at `back`. Programs and erases are started anew, and remembered
    /// references are lost. Returns how many programs and how many erases are started anew.
    pub(super) fn lose_power(&mut self, kernel: &mut Kernel, back: Ns) -> [u64; 2] {
        let (now, away) = (kernel.now, back - kernel.now);
        kernel.events.move_all(|key, event| match event {
            Event::ArrayDone { unit } => self.array.due_after(unit, key, now, back),
            _ => instant(key) + away,
        });
        if let Some(links) = &mut self.links {
            links.put_off(now, away);
        }
        if let Some(dram) = &mut kernel.dram {
            dram.put_off(now, away);
        }
        self.remembered = RememberedReferences::new(&self.spec, &self.geometry, &self.reliability);
        self.array.lose_power(now, back)
    }

    /// Whether neither a read nor a program is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.reads.reads.len() + self.reads.codewords.len() + self.programs.len() == 0
    }

    /// Starts counting anew for how long units are busy.
    pub(super) fn count_anew(&mut self, now: Ns) {
        self.array.count_anew(now);
        self.bus.count_anew();
        self.decoders.count_anew();
        if let Some(encoders) = &mut self.encoders {
            encoders.count_anew();
        }
        if let Some(links) = &mut self.links {
            links.count_anew();
        }
    }

    /// Mean busy share of encoders over the time for which they have counted; none where encoding takes no time.
    pub(super) fn encoder_share(&self, counted: Ns) -> Option<f64> {
        self.encoders.as_ref().map(|encoders| encoders.busy_share(counted))
    }

    /// Mean busy shares of links and the switch over the time for which they have counted; none where there are none.
    pub(super) fn link_shares(&self, counted: Ns) -> Option<LinkShares> {
        self.links.as_ref().map(|links| links.busy_shares(counted))
    }

    /// Time for which arrays were taken, up to now, by kind of operation and by cause.
    pub(super) fn times_taken(&self, now: Ns) -> TimesTaken {
        self.array.all_taken(now)
    }

    /// Mean busy shares over `counted`, the time for which units have counted, up to now.
    ///
    /// # Arguments
    /// - `wasted`: time for which buses carried codewords whose decode failed.
    pub(super) fn utilisation(&self, now: Ns, counted: Ns, wasted: TotalNs) -> Utilisation {
        let elapsed = counted.0 as f64;
        let share = |busy: f64, of: usize| if elapsed > 0.0 { busy / (elapsed * of as f64) } else { 0.0 };
        let a_pool = self.decoders.len() / self.decoders.pools();
        let of_each = |choose: fn(f64, f64) -> f64| {
            let one =
                |busy: &mut dyn Iterator<Item = f64>, of: usize| busy.reduce(choose).map_or(0.0, |ns| share(ns, of));
            UnitShares {
                plane: one(&mut self.array.busy_ns(now), 1),
                channel: one(&mut self.bus.busy_ns(), 1),
                decoder: one(&mut self.decoders.busy_ns(), a_pool),
            }
        };
        Utilisation {
            plane: share(self.array.busy_ns(now).sum(), self.array.len()),
            channel: share(self.bus.busy_ns().sum(), self.bus.len()),
            channel_wasted: share(wasted.0 as f64, self.bus.len()),
            decoder: share(self.decoders.busy_ns().sum(), self.decoders.len()),
            busiest: of_each(f64::max),
            idlest: of_each(f64::min),
        }
    }
}
