//! The device, on which the write path stands: the map, the mapping cache and the back end, and the one way to read.

use crate::slab::{ReadId, RequestId};
use std::ops::Range;
use std::sync::Arc;

use softsense_base::{OwnName, Pj, Result};
use softsense_config::checked::CheckedConfig;
use softsense_config::geometry::Geometry;
use softsense_config::ids::{Lcn, Place, Set, Ssd, Superblock};
use softsense_config::spec::{DecodeTime, Layout, Mapping, ScrubLimit};
use softsense_ftl::{Group, Location, PageMap};
use softsense_link::{FewErrors, Observable, OwnCost, Questions};
use softsense_requests::Request;

use super::back_end::{BackEnd, ReadOrder};
use super::dram::Dram;
use super::idle::IdleTime;
use super::kernel::{Completion, Kernel};
use super::medium::Medium;
use super::owners::{Cause, ProgramOwner, ReadOwner};
use super::read_ahead::{Awaited, ReadAhead};
use super::read_buffer::{MissedRead, ReadBuffer};
use super::statistics::{CodewordSample, ExpectedUber};
use super::translation::{Access, Translation};

/// Number of codewords whose probability to fail is looked up at the end.
const UBER_SAMPLES: u32 = 100_000;

pub(super) struct Device {
    pub(super) kernel: Kernel,
    pub(super) geometry: Arc<Geometry>,
    pub(super) ftl: PageMap,
    pub(super) translation: Option<Translation>,
    medium: Medium,
    pub(super) back_end: BackEnd,
    read_buffer: Option<ReadBuffer>,
    read_ahead: Option<ReadAhead>,
    /// Whether a request has come that is not let in, as the queues of its busy units are full.
    pub(super) holds_host: bool,
    /// Idle time of SSDs; none where nothing is done in it.
    idle: Option<IdleTime>,
    reads_first: bool,
}

impl Device {
    /// Makes a device in its preconditioned state.
    pub(super) fn new(config: &CheckedConfig, log_requests: bool) -> Result<Self> {
        let spec = config.config();
        let geometry = Arc::new(config.geometry().clone());
        let questions = Questions {
            iterations: matches!(spec.decoder.time, DecodeTime::PerIterationUs(_) | DecodeTime::Ldpc(_))
                || config.reliability().observed_switch().is_some_and(|switch| switch.by == Observable::MeanIterations)
                || spec
                    .ftl
                    .scrub
                    .as_ref()
                    .is_some_and(|scrub| matches!(scrub.refresh_above, Some(ScrubLimit::Iterations(_)))),
            clean: matches!(spec.decoder.time, DecodeTime::Bch(_)),
            few_errors: spec
                .decoder
                .bypass
                .map(|bypass| FewErrors { errors: bypass.errors, bits: bypass.codeword_bits }),
            first_references: spec.read.with_what_is_known(config.reliability()).first_references(),
        };
        let reliability = Arc::new(config.reliability().clone().asked(questions));
        let user_codewords = config.user_codewords();
        let mut ftl = PageMap::new(config)?;
        let start = &spec.precondition;
        match start.layout {
            Layout::Sequential => {
                let of_ssd = user_codewords / u64::from(geometry.ssds());
                ftl.fill_sequentially((of_ssd as f64 * start.mapped_fraction) as u64);
            }
            Layout::SteadyState => ftl.fill_steady_state(start.mapped_fraction, spec.seed),
        }
        let translation = match &spec.ftl.mapping {
            Mapping::Page => None,
            Mapping::Demand(demand) => {
                let pages = config.translation_codewords();
                let mapped = (pages as f64 * start.mapped_fraction).ceil() as u32;
                ftl.fill_translation_pages(mapped, start.translation_pages);
                Some(Translation::new(demand, spec.geometry.codeword_bytes, user_codewords, config.own_entries()?)?)
            }
        };
        let parts_per_read = if ftl.crosses_pages() {
            geometry.pages_per_run() + 1
        } else {
            geometry.ways().max(geometry.pages_per_program())
        };
        let tells_levels = translation.is_some();
        let mut kernel = Kernel::new(log_requests);
        kernel.dram = Dram::of(config);
        Ok(Self {
            kernel,
            ftl,
            translation,
            medium: Medium::new(config, Arc::clone(&geometry), Arc::clone(&reliability)),
            back_end: BackEnd::new(config, Arc::clone(&geometry), reliability, parts_per_read, tells_levels)?,
            read_buffer: spec
                .host
                .read_buffer
                .as_ref()
                .map(|buffer| Ok(ReadBuffer::new(buffer, spec.geometry.page_bytes(), config.own_pages()?)))
                .transpose()?,
            read_ahead: spec.host.read_ahead.map(|ahead| {
                let (unit, per_page) = (spec.geometry.codeword_bytes, geometry.codewords_per_page());
                ReadAhead::new(ahead, unit.into(), per_page, spec.host.tenants.len())
            }),
            holds_host: false,
            idle: IdleTime::new(config),
            reads_first: spec.host.reads_first,
            geometry,
        })
    }

    /// Checks the answers of the user's own rules and policy that work here.
    ///
    /// # Errors
    /// When an answer was not allowed, or one of them has failed.
    pub(super) fn check_own(&mut self) -> Result<()> {
        self.kernel.failure.take().map_or(Ok(()), Err)?;
        self.read_buffer.as_ref().map_or(Ok(()), ReadBuffer::check_own)?;
        self.translation.as_ref().map_or(Ok(()), Translation::check_own)?;
        self.ftl.check_own()
    }

    /// Asks the CPU to fetch the data that reading or overwriting `lcn` will need soon, besides its map entry.
    ///
    /// Not inlined: most requests have one or two codewords, and a loop around this would first load all that does not change in it.
    #[inline(never)]
    pub(super) fn prefetch_block(&mut self, lcn: Lcn, is_write: bool) {
        if let Some(block) = self.ftl.prefetch_block(lcn, is_write) {
            self.medium.prefetch(block);
        }
    }

    /// The costs of asking the user's own rules and policy so far.
    pub(super) fn own_costs(&self, policy: Option<OwnName>) -> Vec<(OwnName, OwnCost)> {
        let asked = self.back_end.own.as_ref().map(|own| own.cost());
        let pages = self.read_buffer.as_ref().and_then(ReadBuffer::own_cost);
        let entries = self.translation.as_ref().and_then(Translation::own_cost);
        policy.zip(asked).into_iter().chain(self.ftl.own_costs()).chain(pages).chain(entries).collect()
    }

    /// Begins to read units of a group.
    ///
    /// # Arguments
    /// - `units`: units in their order, by their slots, counted from the first that may begin in the page of the group.
    pub(super) fn read(&mut self, owner: ReadOwner, group: Group, units: &[u32]) {
        self.read_to(owner, group, units, false);
    }

    /// Begins to read units of a group; the read buffer may keep them.
    fn read_to(&mut self, owner: ReadOwner, group: Group, units: &[u32], keeps: bool) {
        self.ftl.read_begins(group.superblock);
        if owner.is_of_host() {
            self.host_began(group.set);
        }
        let group = self.ftl.with_all_of(group, units);
        let Self { kernel, geometry, ftl, translation, medium, back_end, .. } = self;
        let remembered_level = match translation {
            None => 1,
            Some(translation) => {
                let owners =
                    units.iter().filter_map(|&unit| ftl.owner(geometry.place(group.superblock, group.page, unit)));
                owners.filter_map(|lcn| translation.remembered_level(ftl, lcn)).max().unwrap_or(1)
            }
        };
        let pe_cycles = ftl.pe_cycles(group.superblock);
        let awaits_program = ftl.awaits_program(group);
        let order = ReadOrder {
            owner,
            group,
            erases: ftl.erases(group.superblock),
            pe_cycles,
            codewords_per_unit: medium.codewords_per_unit(pe_cycles),
            remembered_level,
            // Reads of garbage collection are in no more of a hurry than its programs: they wait with them. Nor does a read overtake the
            // program of its data.
            hurried: self.reads_first && owner.is_of_host() && !awaits_program,
            awaits_program,
            keeps,
        };
        let read = back_end.new_read(kernel, order);
        if keeps && let Some(buffer) = &mut self.read_buffer {
            buffer.expect(owner, group, units);
        }
        if keeps && let Some(ahead) = &mut self.read_ahead {
            let place = |&unit| geometry.place(group.superblock, group.page, unit);
            ahead.began(owner, group, read, units.iter().map(place));
        }
        let statistics = &mut kernel.statistics;
        medium.each_codeword(kernel.now, ftl, &order, units, |codeword| {
            if let ReadOwner::Request(_) = owner {
                statistics.slc_codewords_read += u64::from(group.slc()) * u64::from(codeword.units);
                // Without interleaving, a codeword in two pages is one that crosses them.
                statistics.crossing_units += u64::from(ftl.crosses_pages() && codeword.parts > 1);
                statistics.rber_sum += codeword.fate.rber();
                statistics.rber_codewords += 1;
                if let Some((side, rber)) = medium.beyond_table(&codeword.fate) {
                    statistics.beyond_table.add(side, rber);
                }
            }
            back_end.add_codeword(read, codeword);
        });
        if ftl.is_lost(group) {
            back_end.lose_read(kernel, read);
        } else {
            back_end.begin_read(kernel, read);
        }
    }

    /// Begins to read the pages by which codewords that a read could not decode are rebuilt.
    pub(super) fn recover(&mut self, read: ReadId) {
        let (order, units) = self.back_end.undecoded(read);
        let mates = self.ftl.stripe_mates(order.group);
        self.back_end.await_recovery(&mut self.kernel, read, mates.as_ref().map(Vec::len));
        let owner = ReadOwner::Recovery { read, of_host: order.owner.is_of_host() };
        for mate in mates.into_iter().flatten() {
            self.read(owner, mate, &units);
        }
    }

    /// Begins to read one unit at a place.
    pub(super) fn read_place(&mut self, owner: ReadOwner, place: Place) {
        let (group, unit) = self.ftl.group_of(place);
        self.read(owner, group, &[unit]);
    }

    // ---- The read buffer ----

    /// Whether the unit at a place was read lately, so that its owner need not read it. Counts hits and misses of the read buffer.
    #[inline]
    pub(super) fn has_read(&mut self, owner: ReadOwner, place: Place) -> bool {
        let Some(buffer) = &mut self.read_buffer else { return false };
        let (found, first_use) = buffer.has(&self.geometry, place);
        let statistics = &mut self.kernel.statistics;
        statistics.read_ahead.used_pages += u64::from(first_use);
        match (owner.is_for_write(), found) {
            (true, true) => statistics.read_buffer_modify_hits += 1,
            (true, false) => statistics.read_buffer_modify_misses += 1,
            (false, true) => statistics.read_buffer_hits += 1,
            (false, false) => statistics.read_buffer_misses += 1,
        }
        found
    }

    /// Begins to read units of a group for a request of so many bytes. The read buffer may take them in, and may want all units that their
    /// pages hold.
    ///
    /// # Arguments
    /// - `units`: units of the group, as [`Self::read`] takes them.
    ///
    /// # Returns
    /// Number of units that were not asked for.
    #[inline]
    pub(super) fn read_for_host(
        &mut self,
        owner: ReadOwner,
        group: Group,
        units: &mut Vec<u32>,
        request_bytes: u64,
    ) -> u32 {
        if self.read_buffer.is_none() || !self.is_admitted(owner, group, units, request_bytes) {
            self.read(owner, group, units);
            return 0;
        }
        let asked = units.len();
        let whole = self.ftl.with_all_of(group, units);
        if self.read_buffer.as_ref().is_some_and(|buffer| buffer.takes_all_of(owner, whole)) {
            self.take_whole_pages(group, units);
        }
        let along = (units.len() - asked) as u32;
        if matches!(owner, ReadOwner::Request(_)) {
            self.kernel.statistics.read_along_codewords += u64::from(along);
        }
        self.read_to(owner, group, units, true);
        along
    }

    /// Replaces units of a group by all units that their pages hold. Returns the number of these pages.
    fn take_whole_pages(&self, group: Group, units: &mut Vec<u32>) -> u32 {
        let all = self.ftl.with_all_of(group, units);
        units.clear();
        for at in all.members() {
            let slots = self.ftl.units_within(all.superblock, all.page + at, all.has(at + 1));
            units.extend(slots.map(|slot| at * self.geometry.codewords_per_page() + slot));
        }
        all.pages()
    }

    /// Begins to read one unit at a place for a request of so many bytes, which covers it in part.
    pub(super) fn read_to_modify(&mut self, owner: ReadOwner, place: Place, request_bytes: u64) {
        let (group, unit) = self.ftl.group_of(place);
        self.read_for_host(owner, group, &mut vec![unit], request_bytes);
    }

    /// Whether the read buffer takes in the pages of a read.
    fn is_admitted(&mut self, owner: ReadOwner, group: Group, units: &[u32], request_bytes: u64) -> bool {
        let Some(buffer) = &mut self.read_buffer else { return false };
        let missed = MissedRead {
            codeword: || {
                let place = self.geometry.place(group.superblock, group.page, units[0]);
                self.ftl.owner(place).unwrap_or_default()
            },
            codewords: units.len() as u32,
            request_bytes,
            for_write: owner.is_for_write(),
        };
        let admitted = buffer.admits(&self.geometry, group, missed);
        self.kernel.statistics.read_buffer_refused += u64::from(!admitted);
        admitted
    }

    /// Hands a read that has ended to the read buffer. The read is kept where all of it was decoded, and the read buffer had said so when
    /// it began.
    #[inline]
    pub(super) fn came(&mut self, owner: ReadOwner, group: Group, keeps: bool) {
        if let Some(buffer) = &mut self.read_buffer {
            buffer.came(&self.geometry, &self.ftl, owner, group, keeps);
        }
    }

    /// Empties the read buffer, as power fails.
    pub(super) fn lose_read_buffer(&mut self) {
        if let Some(buffer) = &mut self.read_buffer {
            buffer.lose_power();
        }
    }

    // ---- Reading ahead ----

    /// Whether the device reads ahead.
    #[inline]
    pub(super) fn reads_ahead(&self) -> bool {
        self.read_ahead.is_some()
    }

    /// Whether no page is on its way to the read buffer.
    pub(super) fn is_nothing_ahead(&self) -> bool {
        self.read_ahead.as_ref().is_none_or(ReadAhead::is_idle)
    }

    /// Reads ahead what follows a read of a tenant, as far as it lies in flash and its map entries are at hand.
    pub(super) fn read_ahead(&mut self, tenant: usize, request: &Request) {
        let Some(ahead) = &mut self.read_ahead else { return };
        let mut wanted = ahead.saw(tenant, request);
        wanted.end = wanted.end.min(Lcn(self.ftl.user_codewords()));
        for lcn in Lcn::each(wanted) {
            if self.translation.as_ref().is_some_and(|translation| translation.cache().level(lcn).is_none()) {
                continue;
            }
            let Location::Flash(place) = self.ftl.locate(lcn) else { continue };
            let is_here = self.read_buffer.as_ref().is_some_and(|buffer| buffer.holds(&self.geometry, place));
            if is_here || self.read_ahead.as_ref().is_some_and(|ahead| ahead.brings(place)) {
                continue;
            }
            let (group, unit) = self.ftl.group_of(place);
            if self.ftl.awaits_program(group) {
                continue;
            }
            let mut units = vec![unit];
            let pages = self.take_whole_pages(group, &mut units);
            self.kernel.statistics.read_ahead.pages += u64::from(pages);
            self.read_to(ReadOwner::Ahead, group, &units, true);
        }
    }

    /// Lets a request wait for the unit at a place, if that is on its way to the read buffer. Returns whether it is.
    #[inline]
    pub(super) fn awaits_buffer(&mut self, request: RequestId, lcn: Lcn, place: Place) -> bool {
        let Some(ahead) = &mut self.read_ahead else { return false };
        let Some((owner, read)) = ahead.awaits(self.kernel.now, request, lcn, place) else { return false };
        if owner == ReadOwner::Ahead {
            self.kernel.statistics.read_ahead.late_codewords += 1;
            self.back_end.awaited_by(&mut self.kernel, read, request, self.reads_first);
        }
        true
    }

    /// Takes the codewords of requests that waited for a read that has ended, and that the read buffer was to take in.
    pub(super) fn awaited(&mut self, owner: ReadOwner, group: Group) -> Vec<Awaited> {
        let Some(ahead) = &mut self.read_ahead else { return Vec::new() };
        let (geometry, per_page) = (&self.geometry, self.geometry.codewords_per_page());
        // Blocks of a superblock take turns, so that successive pages need not have successive places.
        let units = group.members().flat_map(|at| at * per_page..(at + 1) * per_page);
        let places = units.map(|unit| geometry.place(group.superblock, group.page, unit));
        let awaited = ahead.ended(owner, group, places);
        if owner == ReadOwner::Ahead {
            for &Awaited { since, .. } in &awaited {
                self.kernel.statistics.read_ahead.waited += self.kernel.now - since;
            }
        }
        awaited
    }

    /// Notes that the blocks of a superblock have been erased.
    pub(super) fn erased(&mut self, superblock: Superblock) {
        self.ftl.erased(superblock);
        let set = self.geometry.set_of_superblock(superblock);
        self.back_end.has_free(set, self.ftl.free_superblocks(set));
        if let Some(buffer) = &mut self.read_buffer {
            buffer.erased(&self.geometry, superblock);
        }
    }

    /// Begins to program `codewords` codewords in pages that were given out.
    ///
    /// # Arguments
    /// - `merges`: whether the flash first senses old data that is programmed with them.
    #[inline(always)]
    pub(super) fn program(&mut self, group: Group, codewords: u32, owner: ProgramOwner, merges: bool) {
        if owner.is_of_host() {
            self.host_began(group.set);
        }
        self.back_end.has_free(group.set, self.ftl.free_superblocks(group.set));
        let statistics = &mut self.kernel.statistics;
        statistics.padding_codewords += u64::from(self.ftl.room(group) - codewords);
        let codewords = u64::from(codewords);
        statistics.by_cause[owner.cause() as usize].codewords += match owner {
            ProgramOwner::Parity { .. } => u64::from(self.geometry.codewords_per_page()),
            _ => codewords,
        };
        if group.slc() && owner.cause() == Cause::Host {
            statistics.slc_codewords_programmed += codewords;
        }
        let Self { ftl, medium, kernel, .. } = self;
        let pe_cycles = ftl.pe_cycles(group.superblock);
        let to_encode = || medium.codewords_of_page(ftl, group);
        let fails = ftl.failing_programs(group);
        self.back_end.program(kernel, group, owner, merges, pe_cycles, codewords, fails, to_encode);
    }

    /// Begins to copy a page whose codewords are all valid to another page of its plane, with the errors that it has.
    pub(super) fn copy(&mut self, from: Group, to: Group, owner: ProgramOwner) {
        let rber = self.medium.rber_of_page(self.kernel.now, &self.ftl, from);
        self.ftl.copied(from, to, rber);
        let codewords = u64::from(self.geometry.codewords_per_page());
        let statistics = &mut self.kernel.statistics;
        statistics.by_cause[owner.cause() as usize].codewords += codewords;
        statistics.copied_pages += 1;
        self.ftl.read_begins(from.superblock);
        self.back_end.has_free(to.set, self.ftl.free_superblocks(to.set));
        let fails = self.ftl.failing_programs(to);
        self.back_end.copy(&mut self.kernel, from, to, owner, fails);
    }

    /// Notes that all pages of a program have been programmed.
    #[inline]
    pub(super) fn programmed(&mut self, group: Group) {
        self.ftl.programmed(group, self.medium.aged_s(self.kernel.now));
    }

    /// Energy of the programs of a group.
    pub(super) fn program_energy(&self, group: Group) -> Pj {
        let pe_cycles = self.ftl.pe_cycles(group.superblock);
        self.back_end.program_energy(pe_cycles, group.slc()).times(u64::from(group.pages()))
    }

    /// Notes that all pages of a program have been programmed, and that some of them have failed.
    ///
    /// # Arguments
    /// - `failed`: a bit for each member whose page has failed.
    pub(super) fn program_failed(&mut self, group: Group, failed: u32) {
        self.ftl.program_failed(group, failed, self.medium.aged_s(self.kernel.now));
    }

    // ---- Idle time ----

    #[inline]
    fn host_began(&mut self, set: Set) {
        if let Some(idle) = &mut self.idle {
            idle.began(self.geometry.ssd_of_set(set), set);
        }
    }

    /// Notes that a read or a program of the host has ended in a set.
    #[inline]
    pub(super) fn host_ended(&mut self, set: Set) {
        if let Some(idle) = &mut self.idle {
            idle.ended(&mut self.kernel, self.geometry.ssd_of_set(set), set);
        }
    }

    /// Whether the SSD of a set has had no operation of the host for as long as idle time asks for.
    pub(super) fn is_idle(&self, set: Set) -> bool {
        self.idle.as_ref().is_some_and(|idle| idle.is_idle(self.geometry.ssd_of_set(set), self.kernel.now))
    }

    /// Whether operations of the host are under way in a set, or take busy units that the set shares. The former are counted only where
    /// that is asked for (see [`IdleTime`]).
    pub(super) fn host_is_at(&self, set: Set) -> bool {
        self.idle.as_ref().is_some_and(|idle| idle.host_is_at(set)) || self.back_end.host_is_at(set)
    }

    /// Whether an SSD is idle, when an event asks.
    pub(super) fn asks_whether_idle(&mut self, ssd: Ssd) -> bool {
        self.idle.as_mut().is_some_and(|idle| idle.asked(&mut self.kernel, ssd))
    }

    // ---- Translation pages ----

    /// Notes that the map entry of a codeword has changed, and that its data is fresh.
    pub(super) fn entry_changed(&mut self, lcn: Lcn) {
        let Some(translation) = &mut self.translation else { return };
        if let Some(page) = translation.entry_changed(&self.ftl, lcn) {
            self.write_back(page);
        }
    }

    /// Begins to read a translation page. Returns false if it is in the controller's memory, or nothing of it was ever written.
    pub(super) fn read_translation(&mut self, page: u32, owner: ReadOwner) -> bool {
        let Location::Flash(place) = self.ftl.locate(self.ftl.translation_page(page)) else { return false };
        self.kernel.statistics.translation_reads += 1;
        self.read_place(owner, place);
        true
    }

    /// Brings a translation page up to date.
    pub(super) fn write_back(&mut self, page: u32) {
        let translation = self.translation.as_mut().expect("there are translation pages");
        if translation.begin_write_back(page) && !self.read_translation(page, ReadOwner::WriteBack { page }) {
            self.kernel.report(Completion::WriteBackRead { page });
        }
    }

    /// Takes the entry of a codeword from its translation page into the cache, if the cache is to have it.
    ///
    /// # Arguments
    /// - `codewords`: codewords with entries there that are read or written with it.
    pub(super) fn cache_entry(&mut self, lcn: Lcn, access: Access, codewords: &Range<Lcn>) {
        let translation = self.translation.as_mut().expect("there are translation pages");
        if access == Access::Read && !translation.admits(lcn, codewords) {
            self.kernel.statistics.mapping_refused += 1;
            return;
        }
        if let Some(page) = translation.take_in(&mut self.kernel.statistics, lcn) {
            self.write_back(page);
        }
    }

    /// Notes the level at which a codeword has been read in the map entries of the units in it.
    pub(super) fn remember_level(&mut self, place: Place, level: u8, at_once: bool) {
        let Some(translation) = &mut self.translation else { return };
        for lcn in self.medium.in_codeword(&self.ftl, place) {
            translation.remember_level(&self.ftl, lcn, level, at_once);
        }
    }

    /// Uncorrectable bit error rates that reads of the device as it is now have to expect.
    pub(super) fn expected_uber(&self) -> Option<ExpectedUber> {
        self.medium.expected_uber(self.kernel.now, &self.ftl, UBER_SAMPLES)
    }

    /// Samples of codewords as they are now.
    pub(super) fn sample_codewords(&self, count: u32) -> Vec<CodewordSample> {
        self.medium.sample(self.kernel.now, &self.ftl, count)
    }
}
