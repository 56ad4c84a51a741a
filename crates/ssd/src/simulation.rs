//! The SSD at work: requests in, completions out.
//!
//! ```text
//!   host          requests come in, and complete
//!   write_path    read-modify-write, write buffers, programs, garbage collection, read reclaim
//!   device        the map, the one way to read, and what both stand on:
//!     admission     what caches take in of what they miss
//!     translation   which map entries are at hand, where the map is in flash
//!     read_buffer   pages that were read lately
//!     read_ahead    which reads follow one another, and what is on its way
//!     medium        codewords in pages and their fates
//!     back_end      array, buses, links, decoders, encoders; reads from the first sensing to the last decode
//!   kernel        time, events, statistics, completions
//! ```
//!
//! Each station changes its own fields, and calls those below it. It reports work that it has done for those above it to the kernel, as a
//! `Completion`. [`Simulation`] passes completions on when the station is done. A test of the sources keeps it so. Above all stations there
//! may be the `recorder`: after each event of a window, it asks them which resources are taken.

mod admission;
mod arbiter;
mod back_end;
mod device;
mod dram;
mod growth;
mod host;
mod host_link;
mod idle;
mod kernel;
mod lane;
mod measuring;
mod medium;
mod owners;
mod power;
mod queue;
mod read_ahead;
mod read_buffer;
mod recorder;
mod statistics;
mod translation;
mod write_path;

use crate::slab::RequestId;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use softsense_base::{Error, Ns, OwnName, Result};
use softsense_config::checked::CheckedConfig;
use softsense_config::ids::{Die, Lcn, Unit};
use softsense_ftl::{Group, Location, MappingCache, PageMap};
use softsense_link::{OwnCost, ReliabilitySpec};
use softsense_requests::{RequestKind, RequestSource};

use crate::events::{Event, Key, instant};
use back_end::Ended;
pub use back_end::{Action, LinkShares, ScheduleCounts};
use device::Device;
pub use dram::DramBytes;
pub use growth::{Grown, Growth};
use host::Host;
pub use host::Sources;
pub use host_link::HostLinkShares;
use kernel::{Completion, Deferred, LATEST};
pub use measuring::{Amounts, Interval, WarmedUp};
use measuring::{Measuring, used_up_room};
pub use owners::Cause;
use owners::ReadOwner;
use power::Power;
pub use power::{LostCodeword, PowerCounts};
use read_ahead::Awaited;
use recorder::Recorder;
pub use recorder::{Owner, Recorded, Recording, Resource, Window};
pub(crate) use statistics::place_of;
pub use statistics::{
    CodewordSample, Energy, ExpectedUber, KINDS_OF_WORK, LogRow, MaintenanceCounts, Operations, PARTS_OF_READS,
    PARTS_OF_TIME, PacingCounts, ReadAheadCounts, ReadTime, Statistics, TenantStatistics, TimesTaken, Utilisation,
    WorkCounts,
};
use translation::{Access, LookUp, Translation, Waiting};
use write_path::WritePath;

/// One run of one device over one stream of requests.
pub struct Simulation {
    host: Host,
    write_path: WritePath,
    device: Device,
    /// Units of a group that are about to be read.
    wanted: Vec<u32>,
    /// Codewords of a request in the order in which they are read, where that is not the order of addresses. The list is kept for the next
    /// request.
    ordered: Vec<Lcn>,
    /// Whether codewords of a page that a request reads have one sensing.
    shared_sensing: bool,
    /// Codewords of a page where parity takes room of the data, so that whole pages count as written.
    parity_in_data: Option<u64>,
    /// Whether a rule or a policy of the user's own is at work, and may fail.
    has_own: bool,
    own_policy: Option<OwnName>,
    /// Dies that have not failed yet, with the instants at which they do, the last first.
    die_failures: Vec<(Ns, u32)>,
    /// Losses of power; none where power does not fail.
    power: Option<Box<Power>>,
    recorder: Option<Box<Recorder>>,
    recording: Option<Recording>,
    /// The work while there were requests to serve; none before the last request has completed.
    served: Option<Box<Served>>,
    /// The measurement of the run over time; none where nobody asks for it.
    measuring: Option<Box<Measuring>>,
    /// The instant at which to look at the measurement next.
    look_at: Ns,
    /// Codewords that were in the write buffer, and blocks that were free, when measuring began.
    carried_codewords: u64,
    free_blocks_before: u64,
}

/// The work of a device while it had requests to serve: up to now, or to the last completion. Work after it serves no request.
#[derive(Debug, Clone)]
pub struct Served {
    /// Mean busy shares of planes (or dies), channel buses and decoders.
    pub utilisation: Utilisation,
    /// Mean busy share of encoders; none where encoding takes no time.
    pub encoder_share: Option<f64>,
    /// Busy shares of links and the switch; none where there are none.
    pub link_shares: Option<LinkShares>,
    /// Busy shares of the link to the host; none where there is none.
    pub host_link_shares: Option<HostLinkShares>,
    /// Share of the pace of writes that was taken; none where writes are not paced.
    pub pace_share: Option<f64>,
    /// Busy share of the port of DRAM; none where there is none.
    pub dram_share: Option<f64>,
    /// Codewords programmed, for whatever purpose, over codewords that the host has written. Codewords that still wait in a write buffer,
    /// and refused ones, do not count as written. None where the host has written none.
    pub write_amplification: Option<f64>,
    /// Codewords of the host that have left its memory for flash.
    pub into_flash: u64,
    /// Work of arrays by its cause, in the order of [`Cause::ALL`].
    pub by_cause: [WorkCounts; Cause::COUNT],
    /// Time for which planes (or dies) together were taken, by each kind of work, and by each cause but the host.
    pub times_taken: TimesTaken,
    /// Free blocks when counting began, and now.
    pub free_blocks: [u64; 2],
    /// Whether the drive was not in its steady state: programs have taken 5 % of the free blocks or more, and more than a ninth of what
    /// erases gave back.
    pub used_up_room: bool,
}

impl Simulation {
    /// Builds a device in its preconditioned state, about to serve `source`.
    ///
    /// # Errors
    /// When the first request cannot be read, memory is short, or something of the user's own is missing or fails.
    pub fn new(config: &CheckedConfig, source: Box<dyn RequestSource>, log_requests: bool) -> Result<Self> {
        Self::of(config, Sources::One(source), log_requests)
    }

    /// Builds a device that serves one source of requests, or that of each tenant of the config.
    ///
    /// # Errors
    /// The errors of [`Self::new`].
    ///
    /// # Panics
    /// When there are not as many sources as tenants.
    pub fn of(config: &CheckedConfig, sources: Sources, log_requests: bool) -> Result<Self> {
        let tenants = match &sources {
            Sources::One(_) => 0,
            Sources::Tenants(sources) => sources.len(),
        };
        let mut simulation = Self {
            host: Host::new(config, sources),
            write_path: WritePath::new(config)?,
            device: Device::new(config, log_requests)?,
            wanted: Vec::new(),
            ordered: Vec::new(),
            shared_sensing: config.config().flash.shared_sensing,
            parity_in_data: matches!(config.config().reliability, ReliabilitySpec::Bch(_))
                .then(|| config.config().geometry.codewords_per_page.into()),
            has_own: config.own_names().next().is_some(),
            own_policy: config.config().read.policy.own(),
            die_failures: die_failures(config),
            power: Power::new(config),
            recorder: None,
            recording: None,
            served: None,
            measuring: None,
            look_at: Ns(u64::MAX),
            carried_codewords: 0,
            free_blocks_before: 0,
        };
        simulation.free_blocks_before = simulation.ftl().free_blocks();
        simulation.device.kernel.statistics.expect_tenants(tenants);
        simulation.device.kernel.statistics.expect_reads_within(config.read_deadlines());
        if let Some(spec) = config.config().measurement {
            simulation.measure(spec);
        }
        simulation.host.schedule_arrivals(&mut simulation.device)?;
        simulation.write_path.start_maintenance(&mut simulation.device);
        simulation.check_own()?;
        Ok(simulation)
    }

    /// Runs until at least `completions` more requests have completed, or everything has. Returns
    /// whether there is more to do.
    ///
    /// # Errors
    /// When the source of requests cannot be read on, or something of the user's own fails. What was measured so far stays.
    pub fn advance(&mut self, completions: u64) -> Result<bool> {
        self.advance_unless(&AtomicBool::new(false), completions)
    }

    /// Runs like [`Self::advance`], until `stop` is set.
    pub fn advance_unless(&mut self, stop: &AtomicBool, completions: u64) -> Result<bool> {
        let until = self.statistics().completed_in_all + completions;
        while self.statistics().completed_in_all < until && !stop.load(Ordering::Relaxed) {
            if !self.step()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Lets one thing happen; false when nothing is left.
    #[inline(always)]
    pub(crate) fn step(&mut self) -> Result<bool> {
        if self.recorder.is_none() { self.advance_once() } else { self.watched_step() }
    }

    // Part of the loop that calls it: as a function of its own it took 2 % of a run to enter and to leave.
    #[inline(always)]
    fn advance_once(&mut self) -> Result<bool> {
        if !self.die_failures.is_empty() {
            self.fail_dies();
        }
        if self.power.is_some()
            && !self.host.issues_now(&self.device.kernel)
            && let Some(arrival) = self.host.next_arrival()
            && self.power_fails_before(self.next_event().map_or(arrival, |next| next.min(arrival)))
        {
            return Ok(true);
        }
        if self.host.is_due(&self.device.kernel)
            && let Some(request) = self.host.next_in(&mut self.device)?
        {
            if self.device.kernel.now >= self.look_at {
                self.look();
            }
            if self.host.is_at_device(&mut self.device.kernel, request) {
                self.serve(request);
            }
            self.host.schedule_arrivals(&mut self.device)?;
            self.check_own()?;
            return Ok(true);
        }
        if self.power.is_some()
            && let Some(next) = self.next_event()
            && self.power_fails_before(next)
        {
            return Ok(true);
        }
        let Some((key, event)) = self.device.kernel.events.pop() else {
            // A read from a die that has failed ends at once, without an event.
            if self.write_path.start_flushing(&mut self.device)
                || self.device.kernel.has_completions()
                || self.write_path.finish_collections(&mut self.device)
            {
                self.pass_on();
                self.check_own()?;
                return Ok(true);
            }
            self.assert_everything_ended();
            return Ok(false);
        };
        let in_idle_time = matches!(
            event,
            Event::IdleFor { .. } | Event::Wake { .. } | Event::RefreshDue { .. } | Event::ScrubDue { .. }
        );
        if (in_idle_time || self.write_path.works_beside_requests) && self.host.is_idle() {
            self.write_path.requests_are_over();
            self.device.ftl.requests_are_over();
            // Nobody waits for work that would be done in idle time after the last request: the run ends without it.
            if in_idle_time {
                return Ok(true);
            }
        }
        self.device.kernel.now = instant(key);
        if self.device.kernel.now >= self.look_at {
            self.look();
        }
        if in_idle_time && self.write_path.is_blocked() {
            self.write_path.finish_collections_of_blocked(&mut self.device);
        }
        if self.now() > LATEST {
            let message = format!(
                "found a simulated time of {:.0} s after {} completed requests, expected at most {:.0} s: check the \
                 latencies of the config and the rate of requests",
                self.now().as_secs(),
                self.statistics().completed_in_all,
                LATEST.as_secs()
            );
            return Err(Error::config("flash", message));
        }
        let Device { kernel, back_end, .. } = &mut self.device;
        match event {
            Event::ArrayDone { unit } => self.array_done(unit, key),
            Event::TransferDone { channel } => back_end.transfer_done(kernel, channel),
            Event::DecodeDone { decoder } => back_end.decode_done(kernel, decoder),
            Event::EncodeDone { encoder } => back_end.encode_done(kernel, encoder),
            Event::Crossed { crossing } => back_end.crossed(kernel, crossing),
            Event::RefreshDue { set } => self.write_path.refresh_due(&mut self.device, set),
            Event::ScrubDue { set } => self.write_path.scrub_due(&mut self.device, set),
            Event::Wake { set } => self.write_path.woken(&mut self.device, set, key),
            Event::IdleFor { ssd } => {
                if self.device.asks_whether_idle(ssd) {
                    self.write_path.fold_in_idle_time(&mut self.device, ssd);
                }
            }
            Event::Stored { deferred } => match kernel.take_deferred(deferred) {
                Deferred::Told(completion) => kernel.report(completion),
                Deferred::Program(program) => back_end.begin_encoding(kernel, program),
            },
            Event::MemoryDone { moved } => {
                if let Some(fetched) = self.host.moved(kernel, moved) {
                    self.serve(fetched);
                }
            }
        }
        self.pass_on();
        self.check_own()?;
        Ok(true)
    }

    /// Lets dies fail whose time has come.
    fn fail_dies(&mut self) {
        while let Some((_, die)) = self.die_failures.pop_if(|&mut (at, _)| at <= self.device.kernel.now) {
            self.device.ftl.fail(Die(die));
            self.write_path.dies_failed(&mut self.device);
            self.pass_on();
        }
    }

    fn next_event(&self) -> Option<Ns> {
        self.device.kernel.events.next_key().map(instant)
    }

    /// Lets power fail, if it does so before or with what happens next, and requests are left. Returns whether it has failed.
    fn power_fails_before(&mut self, next: Ns) -> bool {
        let (Some(power), false) = (&mut self.power, self.host.is_idle()) else { return false };
        let Some(at) = power.next().filter(|&at| at <= next) else { return false };
        let Self { device, write_path, host, .. } = self;
        let now = at.max(device.kernel.now);
        device.kernel.now = now;
        let back = power.fails(now, &device.ftl, write_path.to_save());
        let lost = write_path.lose_power(device, &host.numbers());
        device.lose_read_buffer();
        let again = device.back_end.lose_power(&mut device.kernel, back);
        write_path.put_off(back - now);
        host.put_off(now, back - now);
        power.lost(now, lost, again);
        device.kernel.now = back;
        true
    }

    #[inline(always)]
    fn check_own(&mut self) -> Result<()> {
        if self.has_own { self.device.check_own().and_then(|()| self.write_path.check_own()) } else { Ok(()) }
    }

    /// Passes completions on to the stations that they are for.
    #[inline]
    fn pass_on(&mut self) {
        if self.device.kernel.has_completions() {
            self.pass_on_completions();
        }
        if self.host.has_just_served() {
            self.all_served();
        }
    }

    /// Notes that a request has completed while no other one was under way: if none is to come, that was the last one.
    #[inline(never)]
    fn all_served(&mut self) {
        if self.host.is_idle() {
            self.served = Some(Box::new(self.served_now()));
            self.end_series();
        }
    }

    /// Codewords of the host that have left its memory for flash.
    fn codewords_into_flash(&self) -> u64 {
        let statistics = self.statistics();
        let left_out = self.write_path.not_programmed_codewords() + statistics.refused_codewords;
        (self.carried_codewords + statistics.host_codewords_written).saturating_sub(left_out)
    }

    fn served_now(&self) -> Served {
        let amounts = self.amounts();
        let (before, after) = (self.free_blocks_before, self.ftl().free_blocks());
        Served {
            free_blocks: [before, after],
            used_up_room: used_up_room(before, after, amounts.erased_blocks),
            utilisation: self.utilisation(),
            encoder_share: self.encoder_share(),
            link_shares: self.link_shares(),
            host_link_shares: self.host_link_shares(),
            pace_share: self.pace_share(),
            dram_share: self.dram().map(|(share, _)| share),
            write_amplification: amounts.write_amplification(),
            into_flash: amounts.into_flash,
            by_cause: self.statistics().by_cause,
            times_taken: self.times_taken(),
        }
    }

    #[inline(never)]
    fn pass_on_completions(&mut self) {
        while let Some(completion) = self.device.kernel.next_completion() {
            let (host, write_path, device) = (&mut self.host, &mut self.write_path, &mut self.device);
            match completion {
                Completion::Decoded { place, level, at_once } => {
                    device.remember_level(place, level, at_once);
                }
                Completion::Seen { superblock, seen } => device.ftl.see(superblock, seen),
                Completion::Charged { request, energy } => host.charge(request, energy),
                Completion::CodewordsRead { request, codewords, level, retries, decoded, energy } => {
                    host.charge(request, energy);
                    host.count_read(&mut device.kernel, request, decoded);
                    host.codewords_read(&mut device.kernel, request, codewords, (level, retries, decoded));
                }
                Completion::ReadEnded { owner, group, sensings, keeps, is_poor, needs_refresh } => {
                    device.ftl.read_ends(group, sensings, owner.is_of_host());
                    device.came(owner, group, keeps);
                    if owner.is_of_host() {
                        device.host_ended(group.set);
                    }
                    if let ReadOwner::Scrub { set } = owner {
                        self.write_path.scrubbed(&mut self.device, set, group.superblock, needs_refresh);
                    }
                    self.read_ended(owner, group, is_poor);
                    self.write_path.read_ended(&mut self.device, owner, group);
                    if self.device.reads_ahead() {
                        for Awaited { request, lcn, .. } in self.device.awaited(owner, group) {
                            self.read(request, lcn..Lcn(lcn.0 + 1));
                        }
                    }
                }
                Completion::Recover { read } => device.recover(read),
                Completion::NothingToErase { superblock } => write_path.erased(device, superblock),
                Completion::WriteBackRead { page } => write_path.program_translation(device, page),
                Completion::CodewordsWritten { request, codewords, energy } => {
                    host.charge(request, energy);
                    host.codewords_done(&mut device.kernel, request, codewords);
                }
                Completion::CodewordsInMemory { request, codewords } => {
                    host.finish_in_memory(&mut device.kernel, request, codewords);
                }
            }
        }
    }

    /// Passes on what an array has ended. The array is free again when all have heard of it.
    #[inline]
    fn array_done(&mut self, unit: Unit, key: Key) {
        let (write_path, device) = (&mut self.write_path, &mut self.device);
        match device.back_end.array_done(&mut device.kernel, unit, key) {
            Ended::Nothing => return,
            Ended::Page => {}
            Ended::Program { owner, group, failed } => write_path.programmed(device, owner, group, failed),
            Ended::Erase { superblock } => write_path.erased(device, superblock),
        }
        self.pass_on();
        self.device.back_end.release(&mut self.device.kernel, unit);
    }

    /// Goes on with the work for which a read has ended.
    #[inline]
    fn read_ended(&mut self, owner: ReadOwner, group: Group, is_poor: bool) {
        let (write_path, device) = (&mut self.write_path, &mut self.device);
        match owner {
            ReadOwner::Request(_) | ReadOwner::Ahead | ReadOwner::Scrub { .. } | ReadOwner::Recovery { .. } => {}
            ReadOwner::Modify { request, lcn } => write_path.write_whole(device, request, lcn..Lcn(lcn.0 + 1)),
            ReadOwner::Fill { fill } => write_path.filled(device, fill),
            ReadOwner::Move { set, .. } => write_path.collected(device, set, group, is_poor),
            ReadOwner::Load { page } => self.loaded(page),
            ReadOwner::WriteBack { page } => write_path.program_translation(device, page),
        }
    }

    // ---- What becomes of a request ----

    /// Begins to serve a request that has come in.
    fn serve(&mut self, index: RequestId) {
        let request = self.host.request(index);
        self.device.back_end.expect(index, self.host.tenant(index), request.arrival);
        match request.kind {
            RequestKind::Read => {
                let codewords = self.host.touched_by(&request);
                if self.host.is_hit(index) {
                    let count = Lcn::count(&codewords) as u32;
                    self.device.kernel.statistics.codewords_from_controller += u64::from(count);
                    self.host.finish_in_memory(&mut self.device.kernel, index, count);
                } else {
                    self.translate(index, codewords, Access::Read);
                    if self.device.reads_ahead() {
                        self.device.read_ahead(self.host.tenant(index), &request);
                    }
                }
            }
            RequestKind::Write | RequestKind::FuaWrite => {
                let through = request.kind == RequestKind::FuaWrite;
                self.write_path.expect(index, self.host.number(index), self.host.placement(index), through);
                self.translate(index, self.host.touched_by(&request), Access::Write);
            }
            RequestKind::Trim => {
                for lcn in Lcn::each(self.host.covered_by(&request)) {
                    self.device.ftl.unmap(lcn);
                    if self.write_path.merges() {
                        self.write_path.drop_part(&self.device, lcn);
                    }
                    self.device.entry_changed(lcn);
                }
                self.host.finish_in_memory(&mut self.device.kernel, index, 1);
            }
            RequestKind::Flush => self.write_path.flush(&mut self.device, index),
        }
        self.pass_on();
    }

    /// Reads or writes codewords of a request as soon as their map entries are at hand.
    fn translate(&mut self, request: RequestId, mut codewords: Range<Lcn>, access: Access) {
        if self.device.translation.is_none() {
            return self.access(request, codewords, access);
        }
        while !codewords.is_empty() {
            let Device { translation, kernel, .. } = &mut self.device;
            let translation = translation.as_mut().expect("it was just there");
            let chunk = translation.of_one_page(&codewords);
            codewords.start = chunk.end;
            let wanted = Waiting { request, codewords: chunk.clone(), access };
            match translation.look_up(&mut kernel.statistics, wanted) {
                LookUp::AtHand => self.access(request, chunk, access),
                LookUp::Waits => {}
                LookUp::Load(page) => {
                    if !self.device.read_translation(page, ReadOwner::Load { page }) {
                        self.loaded(page);
                    }
                }
            }
        }
    }

    /// Takes entries from a translation page that is in the controller's memory, and goes on with codewords that waited for it.
    fn loaded(&mut self, page: u32) {
        let translation = self.device.translation.as_mut().expect("there are translation pages");
        for Waiting { request, codewords, access } in translation.loaded(page) {
            Lcn::each(codewords.clone()).for_each(|lcn| self.device.cache_entry(lcn, access, &codewords));
            self.access(request, codewords, access);
        }
    }

    fn access(&mut self, request: RequestId, codewords: Range<Lcn>, access: Access) {
        match access {
            Access::Read => self.read(request, codewords),
            Access::Write => {
                let asked = self.host.request(request);
                self.write_path.write(&mut self.device, request, asked, codewords);
            }
        }
    }

    /// Reads codewords for a request: those of one page, or group, with one sensing. It goes SSD by SSD, as successive codewords on one SSD
    /// share its pages. Where units share codewords it goes page by page, so that no codeword is decoded twice because other units came in
    /// between.
    fn read(&mut self, request: RequestId, codewords: Range<Lcn>) {
        let ftl = &self.device.ftl;
        let in_order = self.device.geometry.ssds() == 1 && !ftl.shares_codewords();
        if Lcn::count(&codewords) == 1 || in_order {
            return self.read_each(request, Lcn::each(codewords));
        }
        let mut ordered = std::mem::take(&mut self.ordered);
        ordered.clear();
        ordered.extend(ftl.by_ssd(codewords).flat_map(|(ssd, indices)| indices.map(move |index| ftl.join(ssd, index))));
        if ftl.shares_codewords() {
            ordered.sort_by_cached_key(|&lcn| match ftl.locate(lcn) {
                Location::Flash(place) => {
                    let (group, unit) = ftl.group_of(place);
                    Some((group.superblock, group.page, unit))
                }
                _ => None,
            });
        }
        self.read_each(request, ordered.iter().copied());
        self.ordered = ordered;
    }

    fn read_each(&mut self, request: RequestId, codewords: impl Iterator<Item = Lcn>) {
        let device = &mut self.device;
        let asked = self.host.request(request);
        let (owner, bytes) = (ReadOwner::Request(request), asked.bytes);
        let merges = self.write_path.merges();
        let asked = asked.offset_bytes..asked.offset_bytes + bytes;
        let mut in_memory = 0;
        let mut group: Option<Group> = None;
        self.wanted.clear();
        for lcn in codewords {
            device.ftl.note_start(lcn);
            match device.ftl.locate(lcn) {
                Location::Flash(_) if merges && self.write_path.has_part(device, lcn, &asked) => {
                    in_memory += 1;
                    device.kernel.statistics.codewords_from_controller += 1;
                }
                Location::Flash(place) if device.awaits_buffer(request, lcn, place) => {}
                Location::Flash(place) if device.has_read(owner, place) => {
                    in_memory += 1;
                    device.kernel.statistics.codewords_from_controller += 1;
                }
                Location::Flash(place) => {
                    let (this, unit) = device.ftl.group_of(place);
                    match group {
                        Some(of) if of == this && self.shared_sensing => self.wanted.push(unit),
                        // Units that follow one another share pages.
                        Some(of) if follows(device, of, this) => {
                            self.wanted.push((this.page - of.page) * device.geometry.codewords_per_page() + unit);
                        }
                        _ => {
                            if let Some(of) = group.replace(this) {
                                self.host.also(request, device.read_for_host(owner, of, &mut self.wanted, bytes));
                                self.wanted.clear();
                            }
                            self.wanted.push(unit);
                        }
                    }
                }
                Location::Memory(_) | Location::InFlight => {
                    in_memory += 1;
                    device.kernel.statistics.codewords_from_controller += 1;
                }
                Location::Unmapped => {
                    in_memory += 1;
                    device.kernel.statistics.unmapped_codewords += 1;
                }
            }
        }
        if let Some(of) = group {
            self.host.also(request, device.read_for_host(owner, of, &mut self.wanted, bytes));
        }
        if in_memory > 0 {
            self.host.finish_in_memory(&mut device.kernel, request, in_memory);
        }
    }

    // ---- What is seen from outside ----

    /// The costs of asking rules and policies of the user's own so far.
    pub fn own_costs(&self) -> Vec<(OwnName, OwnCost)> {
        let mut costs = self.device.own_costs(self.own_policy);
        costs.extend(self.write_path.own_cost());
        costs
    }

    /// Whether a read policy of the user's own has asked for references of the cells.
    pub fn own_asks_for_cells(&self) -> bool {
        self.device.back_end.own.as_ref().is_some_and(|own| own.asks_for_cells())
    }

    /// The counts of the run so far.
    pub fn statistics(&self) -> &Statistics {
        &self.device.kernel.statistics
    }

    /// The rows of the request log since the last call; empty unless it was asked for.
    pub fn take_log(&mut self) -> Vec<LogRow> {
        self.device.kernel.statistics.take_log()
    }

    /// The share of the run that is over, in [0, 1]: of its requests, or of its time where that ends it.
    pub fn fraction(&self) -> f64 {
        let of_time = self.measuring.as_ref().map_or(0.0, |measuring| measuring.fraction(self.now()));
        self.host.fraction_read().max(of_time)
    }

    /// Codewords in the write buffer, and those that wait to be programmed as their first program has failed.
    pub fn buffered_codewords(&self) -> u64 {
        self.write_path.in_memory()
    }

    /// Whether garbage collection may pause.
    pub(crate) fn is_paced(&self) -> bool {
        self.write_path.is_paced()
    }

    /// Turns of pages of patrol scrub that have come, turns of these that have yet to be taken, and pages of the device; none without a
    /// scrub.
    pub fn scrub_turns(&self) -> Option<(u64, u64, u64)> {
        self.write_path.scrub_turns()
    }

    /// Number of requests that came in, whether or not they have completed.
    pub fn issued(&self) -> u64 {
        self.host.issued()
    }

    /// The simulated instant.
    pub fn now(&self) -> Ns {
        self.device.kernel.now
    }

    /// Number of events that were scheduled.
    pub fn events(&self) -> u64 {
        self.device.kernel.events.scheduled()
    }

    /// Time for which everything has been counted.
    fn counted(&self) -> Ns {
        self.now() - self.statistics().counted_from
    }

    /// The mapping cache, if the map is in flash.
    pub fn mapping_cache(&self) -> Option<&MappingCache> {
        self.device.translation.as_ref().map(Translation::cache)
    }

    /// The page map, for tests of what it must keep.
    pub fn ftl(&self) -> &PageMap {
        &self.device.ftl
    }

    /// Codewords of the device as they are now, spread evenly over the mapped ones; none where no raw bit error rates are
    /// known.
    pub fn sample_codewords(&self, count: u32) -> Vec<CodewordSample> {
        self.device.sample_codewords(count)
    }

    /// Uncorrectable bit error rates that reads of the device as it is now have to expect, if codewords fail independently of one
    /// another; `None` where nothing tells.
    pub fn expected_uber(&self) -> Option<ExpectedUber> {
        self.device.expected_uber()
    }

    /// Mean busy share of planes (or dies), channel buses and decoders up to now.
    pub fn utilisation(&self) -> Utilisation {
        self.device.back_end.utilisation(self.now(), self.counted(), self.statistics().failed_transfers)
    }

    /// The work of the device while it had requests to serve.
    pub fn served(&self) -> Served {
        self.served.as_ref().map_or_else(|| self.served_now(), |served| (**served).clone())
    }

    /// Time for which planes (or dies) together were taken up to now, by each kind of work, and by each cause but the host.
    pub fn times_taken(&self) -> TimesTaken {
        self.device.back_end.times_taken(self.now())
    }

    /// Counts of the operations that the schedule has chosen so far; none where the config has no schedule.
    pub fn schedule_counts(&self) -> Option<ScheduleCounts> {
        self.device.back_end.schedule_counts().map(|(operations, _)| operations)
    }

    /// Counts of the transfers that the schedule has chosen so far; none where it leaves them alone.
    pub fn bus_schedule_counts(&self) -> Option<ScheduleCounts> {
        self.device.back_end.schedule_counts()?.1
    }

    /// Counts of losses of power so far; none where the config has none.
    pub fn power_counts(&self) -> Option<PowerCounts> {
        self.power.as_ref().map(|power| power.counts())
    }

    /// Codewords that losses of power have cost, for tests of what may be lost.
    pub fn lost_codewords(&self) -> &[LostCodeword] {
        self.power.as_ref().map_or(&[], |power| power.all_lost())
    }

    /// Mean busy share of encoders up to now; none where encoding takes no time.
    pub fn encoder_share(&self) -> Option<f64> {
        self.device.back_end.encoder_share(self.counted())
    }

    /// Mean busy shares of links and the switch up to now; none where there are none.
    pub fn link_shares(&self) -> Option<LinkShares> {
        self.device.back_end.link_shares(self.counted())
    }

    /// Mean busy shares of the link to the host up to now; none where there is none.
    pub fn host_link_shares(&self) -> Option<HostLinkShares> {
        self.host.link_shares(self.counted())
    }

    /// Share of the pace of writes that was taken up to now; none where writes are not paced.
    pub fn pace_share(&self) -> Option<f64> {
        self.host.pace_share(self.counted())
    }

    /// Busy share of the port of DRAM up to now, and the bytes that have crossed it; none where there is no DRAM.
    pub fn dram(&self) -> Option<(f64, DramBytes)> {
        self.device.kernel.dram.as_ref().map(|dram| (dram.busy_share(self.counted()), dram.bytes()))
    }

    /// Asserts that a run that has ended has nothing left inside: every request completed, every operation over.
    fn assert_everything_ended(&self) {
        assert!(self.host.is_idle(), "requests were left in the source, or under way");
        assert_eq!(self.statistics().completed_in_all, self.issued(), "every request completes once");
        assert!(self.device.back_end.is_idle(), "no operation is under way");
        assert!(self.device.is_nothing_ahead(), "no page is on its way to the read buffer");
        assert!(self.write_path.is_idle(), "no write and no collection is stuck");
        assert!(self.device.translation.as_ref().is_none_or(Translation::is_idle), "no translation page is under way");
    }
}

/// The dies of a device that fail, with the instants at which they do, the last first.
fn die_failures(config: &CheckedConfig) -> Vec<(Ns, u32)> {
    let failures = config.config().flash.die_failures.iter();
    let mut failures: Vec<(Ns, u32)> = failures.map(|failure| (failure.at(), failure.die)).collect();
    failures.sort_by(|one, other| other.cmp(one));
    failures
}

/// Whether a page is one of those that a read from `first` on may have to do with.
fn follows(device: &Device, first: Group, group: Group) -> bool {
    device.ftl.crosses_pages()
        && device.ftl.layout(first.superblock).crosses_pages()
        && first.superblock == group.superblock
        && (first.page..first.page + device.geometry.pages_per_run()).contains(&group.page)
}
