//! Flash array, buses, links, decoders and encoders: what an operation does, in which order, for how long.
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
//! asked for by the part of a codeword that arrives last, and by no other; whoever is let in takes it, on links too. So no read
//! waits for ever. A page that is encoded waits for its unit, and encoders for nothing else, so that no program does either.
//!
//! A unit of several BCH codewords is done when the last of them is decoded: they follow one another through bus and decoder.
//! A read of units that cross pages senses the pages of a run, one after the other, and is otherwise one of a group.

mod array;
mod asked;
mod attempts;
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
use softsense_link::{
    AskedPolicy, CompiledPredictor, History, Observable, PredictorPlace, ReadSpec, Reliability, Step,
};
use softsense_nand::InferredBy;

use super::kernel::Kernel;
use super::owners::{Cause, ProgramOwner};
use super::statistics::{TimesTaken, UnitShares, Utilisation};
use crate::checked::CheckedConfig;
use crate::config::{CacheRegisterFor, ScrubLimit};
use crate::events::{Event, instant};
use crate::ftl::Group;
use crate::geometry::Geometry;
use crate::slab::Slab;
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
    /// How many began before it.
    number: u64,
    owner: ProgramOwner,
    /// Whether it is sensed first what old data is merged with the new.
    merges: bool,
    /// Of a copy within a plane, the page that is sensed for it.
    copies: Option<Group>,
    /// What each page costs.
    energy: Pj,
    /// Pages whose program has not ended.
    remaining: u32,
    /// Codewords that are encoded for each page, and those of all that are not yet; 0 where encoding takes no time.
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
    /// The policy of the user's own, where the config names one.
    pub(super) own: Option<Box<AskedPolicy>>,
    /// Whether any step is sensed before the outcome of the one before it is known.
    may_look_ahead: bool,
    cache_register: bool,
    cache_program: bool,
    /// Whether only what is sensed ahead is sensed while a page is transferred.
    registers_for_look_ahead: bool,
    /// Whether it is told of each codeword at which level it was decoded.
    tells_levels: bool,
    array: Array,
    /// None where units do not wait for one another.
    rounds: Option<Rounds>,
    bus: Bus,
    /// Whether the schedule chooses transfers, too.
    schedules_buses: bool,
    decoders: Decoders,
    /// None where encoding takes no time.
    encoders: Option<Encoders>,
    /// None where a pool of decoders or encoders is at no distance.
    links: Option<Links>,
    /// What an extra level adds to a codeword on a link, as a share of hard decisions.
    extra_level_size: f64,
    /// What of a codeword a scrub looks for.
    scrub_limit: Option<ScrubLimit>,
    /// What is counted of each decode, where code rates follow that.
    observes: Option<Observable>,
    reads: Reads,
    /// By the reads that wait for them.
    recoveries: BTreeMap<u32, Recovery>,
    remembered: RememberedReferences,
    predictor: Option<CompiledPredictor>,
    /// For each page type, whether its pages show the known cells by whose errors references are inferred.
    shows_known_cells: Vec<bool>,
    programs: Slab<Program>,
    programs_begun: u64,
}

impl BackEnd {
    /// # Arguments
    /// - `parts_per_read`: pages that a read may have to do with.
    /// - `tells_levels`: whether it is told of each codeword at which level it was decoded.
    ///
    /// # Errors
    /// When a policy of the user's own cannot be made, or answers what is no step.
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
        // Where pages are not told apart, nobody knows which of them has the boundary.
        let alike = page_types == 1 && reliability.pages() != Some(1);
        let shows = |page_type| !alike && reliability.shows_known_cells(page_type);
        let own = config.own_policy()?.map(Box::new);
        Ok(Self {
            may_look_ahead: read.may_look_ahead() || own.as_ref().is_some_and(|own| own.looks_ahead()),
            own,
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

    /// A read whose codewords are [added](Self::add_codeword) next, before it is [begun](Self::begin_read).
    #[inline]
    pub(super) fn new_read(&mut self, kernel: &Kernel, order: ReadOrder) -> u32 {
        let (_, page) = self.geometry.turn(order.group.page, 0);
        self.reads.insert(order, self.geometry.page_type_of(page, order.group.slc()), kernel.now)
    }

    #[inline(always)]
    pub(super) fn add_codeword(&mut self, read: u32, order: CodewordOrder) {
        let pool = self.decoders.pool_of(order.channel);
        let transfer = order.bytes.map(|bytes| self.timing.transfers_of(bytes));
        self.reads.add_codeword(read, order, pool, transfer);
    }

    #[inline]
    pub(super) fn begin_read(&mut self, kernel: &mut Kernel, read: u32) {
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

    /// A request waits for a read of the background now: where it has not begun it goes as reads of the host do.
    ///
    /// # Arguments
    /// - `hurried`: whether those go before programs and erases where there is no schedule.
    pub(super) fn awaited_by(&mut self, kernel: &mut Kernel, read: u32, request: u32, hurried: bool) {
        let entry = &mut self.reads.reads[read];
        let was_hurried = std::mem::replace(&mut entry.order.hurried, hurried);
        let group = entry.order.group;
        if let Some(schedule) = &mut self.array.schedule {
            schedule.adopt(read, request);
        }
        for member in group.members() {
            let (unit, part) = (self.unit_of(group, member), self.reads.part_number(read, member));
            let turn_comes = if self.array.schedule.is_some() {
                self.ask_again(unit, part)
            } else {
                // What is of a batch has its turn in that.
                hurried && !was_hurried && self.array.hurry(unit, Work::Read(part), self.left_of_batch(unit))
            };
            if turn_comes {
                self.make_way(kernel, unit);
            }
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

    /// Begins to erase the blocks of a superblock.
    ///
    /// # Arguments
    /// - `slc`: whether their cells hold one bit.
    /// - `cause`: what they are erased for.
    /// - `members`: which of them there are to erase, and whether that fails.
    pub(super) fn erase(
        &mut self,
        kernel: &mut Kernel,
        set: u32,
        superblock: u32,
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

    /// Operations that wait for the busy unit of a plane.
    #[inline]
    pub(super) fn waiting_for(&self, plane: u32) -> usize {
        self.array.waiting(self.geometry.busy_unit_of(plane))
    }

    /// What one program of a page costs, in a block with so many P/E cycles, of the SLC cache or not.
    #[inline]
    pub(super) fn program_energy(&self, pe_cycles: u32, slc: bool) -> Pj {
        let energy = if slc { &self.energy.program_slc } else { &self.energy.program };
        *energy.at(|| pe_cycles)
    }

    /// Whether programs have their way to chips before them, on which a copy would overtake them.
    pub(super) fn copies_overtake(&self, kernel: &Kernel) -> bool {
        self.encoders.is_some() || kernel.dram.is_some()
    }

    /// Power fails now, and is back then: what is under way goes on then, programs and erases are started anew, and references that
    /// were remembered are not any more. How many programs and erases.
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

    /// Whether nothing is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.reads.reads.len() + self.reads.codewords.len() + self.programs.len() == 0
    }

    /// Counts from here on what units are taken by.
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

    /// For how long arrays were taken by each, up to now.
    pub(super) fn times_taken(&self, now: Ns) -> TimesTaken {
        self.array.all_taken(now)
    }

    /// Mean busy shares over the time for which units have counted, up to now.
    ///
    /// # Arguments
    /// - `wasted`: how long buses were taken by codewords that were then not decoded.
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
