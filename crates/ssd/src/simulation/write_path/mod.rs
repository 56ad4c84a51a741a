//! The write path: read-modify-write of partly covered codewords, the write buffer, page programs, garbage collection, read
//! reclaim and folding.
//!
//! With interleaving, codewords of a request that fill a group are programmed to all its chips at once, and done together. Codewords that
//! do not fill a group are written plain or padded, as the config says. A group is never changed: an update of a part of it goes elsewhere,
//! and the data that it replaces is stale.

mod again;
mod buffer;
mod collection;
mod folding;
mod losing;
mod maintenance;
mod merging;
mod pacing;
mod room;
mod throttle;

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;

use softsense_base::{Ns, Pj, Result};
use softsense_config::checked::CheckedConfig;
use softsense_config::ids::{Lcn, Set, Ssd, TiVec};
use softsense_config::spec::{CopybackEcc, PartialWrite, WriteBufferReplacement};
use softsense_ftl::{Group, Location};
use softsense_requests::Request;

use super::device::Device;
use super::kernel::Completion;
use super::owners::{ProgramOwner, ReadOwner};
use crate::slab::{FillId, RequestId, Slab};
use buffer::{Arriving, WaitingFlush, WriteBuffer};
use collection::Collection;
use losing::RequestsOfSlots;
use maintenance::Maintenance;
use merging::part_of;
use pacing::{Pacing, Stage};
use room::Room;

pub(super) struct WritePath {
    codeword_bytes: u64,
    partial_write: PartialWrite,
    /// Codewords of requests that wait to be written and were covered in part, where the flash merges new data with old data.
    to_merge: HashSet<(RequestId, Lcn)>,
    /// The room of each SSD.
    rooms: TiVec<Ssd, Room>,
    /// The write buffer of each SSD; empty without write buffers.
    buffers: TiVec<Ssd, WriteBuffer>,
    /// Whether write buffers keep codewords until they are full, and whether they keep codewords longer that were written again.
    keeps: bool,
    renews: bool,
    /// Watermarks of one write buffer, in slots that wait to be programmed. Above the first number, pages are programmed until no more than
    /// the second number wait.
    watermarks: Option<(usize, usize)>,
    /// Whether write buffers hold codewords in part.
    merges: bool,
    /// Codewords held in part whose rest is being read, with their SSDs.
    fills: Slab<FillId, (Ssd, Lcn)>,
    /// The slot of the unit that ends in the next page of the host's open block, for each set.
    cut: TiVec<Set, Option<u32>>,
    /// The collection that is at work in each set.
    collections: TiVec<Set, Option<Box<Collection>>>,
    /// Pacing of garbage collection; none where it never pauses.
    pacing: Option<Box<Pacing>>,
    /// Pages that writes of the host leave a set at the end of a collection; none where they are not held back.
    leaves_pages: Option<u32>,
    /// The check for errors of pages that are copied within their planes; none where no pages are copied.
    copies: Option<CopybackEcc>,
    /// Refresh and scrub; none where nothing is done by the age of data.
    maintenance: Option<Box<Maintenance>>,
    /// Whether there is work beside requests for which nobody waits when the requests are over.
    pub(super) works_beside_requests: bool,
    /// Translation pages that wait for room in flash.
    stalled_translations: Vec<u32>,
    /// The placement handle of each request under way; none where there is only one handle.
    handles: Option<TiVec<RequestId, u8>>,
    /// Requests under way that write past the write buffers.
    through: BTreeSet<RequestId>,
    /// Whether data in write buffers outlives a loss of power.
    protected: bool,
    /// The requests whose data the slots hold; none where power does not fail.
    takers: Option<RequestsOfSlots>,
    /// Flushes that wait until data of the write buffers is in flash.
    flushes: Vec<WaitingFlush>,
}

impl WritePath {
    /// # Errors
    /// When the user's own rule of pacing cannot be made.
    pub(super) fn new(config: &CheckedConfig) -> Result<Self> {
        let (spec, geometry) = (config.config(), config.geometry());
        let ssds = geometry.ssds();
        let slots = (config.write_buffer_codewords() / u64::from(ssds)) as u32;
        let buffers = if slots == 0 { 0 } else { ssds };
        let (pacing, maintenance) = (Pacing::new(config)?, Maintenance::new(config));
        let works_beside_requests = pacing.is_some()
            || maintenance.is_some()
            || spec.ftl.read_reclaim.is_some()
            || spec.ftl.wear_levelling_spread.is_some();
        Ok(Self {
            codeword_bytes: u64::from(spec.geometry.codeword_bytes),
            partial_write: spec.host.partial_write,
            to_merge: HashSet::new(),
            rooms: vec![Room::default(); ssds as usize].into(),
            buffers: (0..buffers).map(|ssd| WriteBuffer::new(ssd * slots, slots)).collect(),
            keeps: spec.host.write_buffer_replacement != WriteBufferReplacement::FullPage,
            renews: spec.host.write_buffer_replacement == WriteBufferReplacement::Lru,
            watermarks: spec.host.write_buffer_watermarks.map(|marks| {
                let of = |share: f64| (f64::from(slots) * share) as usize;
                (of(marks.high), of(marks.low))
            }),
            merges: spec.host.partial_write == PartialWrite::Merge,
            fills: Slab::default(),
            cut: vec![None; geometry.sets() as usize].into(),
            collections: geometry.all_sets().map(|_| None).collect(),
            pacing,
            leaves_pages: config.pages_left_by_writes(),
            copies: spec.flash.copyback.as_ref().map(|copyback| copyback.ecc),
            maintenance,
            works_beside_requests,
            stalled_translations: Vec::new(),
            through: BTreeSet::new(),
            protected: spec.host.write_buffer_power_protected,
            takers: spec.power_loss.as_ref().map(|_| RequestsOfSlots::default()),
            flushes: Vec::new(),
            handles: (config.placement_handles() > 1).then(TiVec::new),
        })
    }

    /// Puts off by `by` the instants at which collections that pause are asked for again.
    pub(super) fn put_off(&mut self, by: Ns) {
        if let Some(pacing) = &mut self.pacing {
            pacing.put_off(by);
        }
    }

    /// Codewords in the write buffers, and those that wait to be programmed again.
    pub(super) fn in_memory(&self) -> u64 {
        self.buffered_codewords() + self.codewords_to_program_again()
    }

    /// Codewords that the write buffers hold.
    pub(super) fn buffered_codewords(&self) -> u64 {
        self.buffers.iter().map(WriteBuffer::held).sum()
    }

    /// Codewords that the host wrote and whose program has not begun: in write buffers or on their way there, or waiting for room.
    pub(super) fn not_programmed_codewords(&self) -> u64 {
        let in_buffers: u64 = self.buffers.iter().map(WriteBuffer::not_programmed).sum();
        in_buffers + self.rooms.iter().map(|room| room.stalled.len() as u64).sum::<u64>()
    }

    /// Whether no write, no collection and no flush is under way, or stuck.
    pub(super) fn is_idle(&self) -> bool {
        self.rooms.iter().all(Room::is_idle) && self.flushes.is_empty() && self.stalled_translations.is_empty()
    }

    /// Notes that all requests are done.
    pub(super) fn requests_are_over(&mut self) {
        if let Some(pacing) = &mut self.pacing {
            pacing.requests_are_over();
        }
        if let Some(maintenance) = &mut self.maintenance {
            maintenance.requests_are_over();
        }
    }

    /// Notes a request that writes, by its number in the stream: the handle by which its data is placed, and whether it is to complete in
    /// flash.
    #[inline]
    pub(super) fn expect(&mut self, request: RequestId, number: u64, handle: u8, through: bool) {
        if let Some(takers) = &mut self.takers {
            takers.expect(request, number);
        }
        if !self.buffers.is_empty() && !self.protected {
            if through {
                self.through.insert(request);
            } else {
                self.through.remove(&request);
            }
        }
        if let Some(handles) = &mut self.handles {
            handles.resize(handles.len().max(request.index() + 1), 0);
            handles[request] = handle;
        }
    }

    #[inline]
    fn handle(&self, request: RequestId) -> u8 {
        self.handles.as_ref().map_or(0, |handles| handles[request])
    }

    /// Writes codewords for a request. The first and the last of them may be covered in part.
    pub(super) fn write(&mut self, device: &mut Device, request: RequestId, asked: Request, codewords: Range<Lcn>) {
        let size = self.codeword_bytes;
        let end_bytes = asked.offset_bytes + asked.bytes;
        if self.merges && !self.through.contains(&request) {
            let bytes = asked.offset_bytes..end_bytes;
            return self.write_parts(device, request, codewords, |lcn| part_of(lcn, size, &bytes));
        }
        let covered = |lcn: Lcn| lcn.0 * size >= asked.offset_bytes && (lcn.0 + 1) * size <= end_bytes;
        // Reads a codeword that is covered in part, if it is in flash. Otherwise its rest is at hand, or there is none.
        let mut read_first = |device: &mut Device, lcn: Lcn| {
            if covered(lcn) || self.partial_write == PartialWrite::Pad {
                return false;
            }
            let Location::Flash(place) = device.ftl.locate(lcn) else { return false };
            let owner = ReadOwner::Modify { request, lcn };
            if self.partial_write == PartialWrite::CopyBack {
                self.to_merge.insert((request, lcn));
                return false;
            }
            if device.has_read(owner, place) {
                return false;
            }
            device.kernel.statistics.read_modify_writes += 1;
            device.read_to_modify(owner, place, asked.bytes);
            true
        };
        let Range { mut start, mut end } = codewords;
        let (first, last) = (start, end.0 - 1);
        if read_first(device, first) {
            start.0 += 1;
        }
        if last > first.0 && read_first(device, Lcn(last)) {
            end.0 -= 1;
        }
        if start < end {
            self.write_whole(device, request, start..end);
        }
    }

    /// Writes codewords for a request all of whose data is at hand.
    pub(super) fn write_whole(&mut self, device: &mut Device, request: RequestId, codewords: Range<Lcn>) {
        let whole = self.codeword_bytes as u32;
        self.write_parts(device, request, codewords, |_| 0..whole);
    }

    /// Writes the given bytes of each codeword for a request. The rest of a codeword that is covered in part does not exist, or the write
    /// buffers merge it.
    fn write_parts(
        &mut self,
        device: &mut Device,
        request: RequestId,
        codewords: Range<Lcn>,
        bytes: impl Fn(Lcn) -> Range<u32>,
    ) {
        device.kernel.statistics.host_codewords_written += Lcn::count(&codewords);
        if device.translation.is_some() {
            Lcn::each(codewords.clone()).for_each(|lcn| device.entry_changed(lcn));
        }
        for (ssd, indices) in device.ftl.by_ssd(codewords) {
            if self.buffers.is_empty() || self.through.contains(&request) {
                if self.merges {
                    indices.clone().for_each(|index| self.drop_part(device, device.ftl.join(ssd, index)));
                }
                self.write_to_ssd(device, ssd, request, indices);
            } else {
                let codewords = indices.map(|index| device.ftl.join(ssd, index));
                let arriving = codewords.map(|lcn| Arriving { request, lcn, bytes: bytes(lcn) });
                self.buffers[ssd].waiting.extend(arriving);
                self.take_into_buffer(device, ssd);
            }
        }
    }

    /// Writes codewords of an SSD, by their numbers on it. Codewords that find no room wait.
    fn write_to_ssd(&mut self, device: &mut Device, ssd: Ssd, request: RequestId, mut indices: Range<u64>) {
        let handle = self.handle(request);
        while !indices.is_empty() {
            let stalled = &mut self.rooms[ssd].stalled;
            let next = device.ftl.join(ssd, indices.start);
            let (pool, of_page) = device.ftl.pool_of(next);
            let left = ((indices.end - indices.start) as u32).min(of_page);
            let group = if stalled.is_empty() { device.ftl.open_for_host(ssd, pool, next, left, handle) } else { None };
            let Some(group) = group else {
                stalled.extend(indices.map(|index| (request, device.ftl.join(ssd, index))));
                self.make_room(device, ssd);
                break;
            };
            let after = indices.start + u64::from(device.ftl.room(group).min(left));
            self.program_for_request(device, group, request, ssd, indices.start..after);
            indices.start = after;
        }
    }

    /// Programs codewords of a request, by their numbers on their SSD, in pages that were given out.
    fn program_for_request(
        &mut self,
        device: &mut Device,
        group: Group,
        request: RequestId,
        ssd: Ssd,
        indices: Range<u64>,
    ) {
        let count = (indices.end - indices.start) as u32;
        let owner = ProgramOwner::Request { request, codewords: count };
        if device.ftl.writes_whole_pages() || self.partial_write == PartialWrite::CopyBack {
            let written: Vec<Lcn> = indices.map(|index| device.ftl.join(ssd, index)).collect();
            return self.program_merged(device, group, owner, &written);
        }
        for (slot, index) in (0..).zip(indices) {
            let lcn = device.ftl.join(ssd, index);
            device.ftl.place(group, slot, lcn);
        }
        self.program(device, group, count, owner);
    }

    /// Programs codewords of a request, with those that share their page where pages are written whole. If data of the page was there
    /// before, the flash may have to sense it first.
    fn program_merged(&mut self, device: &mut Device, group: Group, owner: ProgramOwner, written: &[Lcn]) {
        let ProgramOwner::Request { request, .. } = owner else { unreachable!("hosts write what is merged") };
        let mut merges = false;
        for lcn in written {
            merges |= self.to_merge.remove(&(request, *lcn));
        }
        let mut all = written.to_vec();
        if device.ftl.writes_whole_pages() {
            let is_old = |lcn: &Lcn| !written.contains(lcn) && device.ftl.locate(*lcn) != Location::Unmapped;
            all.extend(device.ftl.page_mates(written[0]).filter(is_old));
        }
        merges |= self.partial_write == PartialWrite::CopyBack && all.len() > written.len();
        for (slot, &lcn) in all.iter().enumerate() {
            device.ftl.place(group, slot as u32, lcn);
        }
        self.program_after(device, group, all.len() as u32, owner, merges);
    }

    /// Begins to program codewords in pages that were given out.
    #[inline(always)]
    fn program(&mut self, device: &mut Device, group: Group, codewords: u32, owner: ProgramOwner) {
        self.program_after(device, group, codewords, owner, false);
    }

    /// Begins to program codewords in pages that were given out. If the program `merges`, the old page is sensed first.
    #[inline(always)]
    fn program_after(&mut self, device: &mut Device, group: Group, codewords: u32, owner: ProgramOwner, merges: bool) {
        device.program(group, codewords, owner, merges);
        if device.geometry.has_parity() {
            self.program_parity(device);
        }
        let set = group.set;
        self.rooms[device.geometry.ssd_of_set(set)].programming += 1;
        if owner.moves_data() {
            return;
        }
        if self.is_paced() {
            return self.paced_by_write(device, group);
        }
        if self.collections[set].is_none() {
            self.begin_if_wanted(device, set, Stage::Start);
        } else {
            self.throttle_writes(device, set);
        }
    }

    /// Programs parity of stripes that are full.
    fn program_parity(&mut self, device: &mut Device) {
        while let Some((group, of_host)) = device.ftl.take_parity() {
            device.program(group, device.ftl.room(group), ProgramOwner::Parity { of_host }, false);
            self.rooms[device.geometry.ssd_of_set(group.set)].programming += 1;
        }
    }

    /// Goes on after dies have failed: stripes end without them, and there may be no room left.
    pub(super) fn dies_failed(&mut self, device: &mut Device) {
        self.program_parity(device);
        device.geometry.all_ssds().for_each(|ssd| self.make_room_again(device, ssd));
    }

    /// Ends a program, all of whose pages have been programmed.
    ///
    /// # Arguments
    /// - `failed`: a bit for each member whose page has failed.
    pub(super) fn programmed(&mut self, device: &mut Device, owner: ProgramOwner, group: Group, failed: u32) {
        let failed = device.ftl.of_working(group, failed);
        let ssd = device.geometry.ssd_of_set(group.set);
        self.rooms[ssd].programming -= 1;
        let is_copied_again = failed != 0 && self.copy_failed(device, owner, group);
        if failed == 0 && self.copies.is_some() && owner.moves_data() {
            self.copied(device, group);
        }
        let now = device.kernel.now;
        let held = if failed == 0 {
            device.programmed(group);
            Vec::new()
        } else {
            device.program_failed(group, failed);
            device.ftl.current_in(group)
        };
        if let Some(maintenance) = &mut self.maintenance {
            maintenance.programmed(group.superblock, now);
        }
        if owner.is_of_host() {
            device.host_ended(group.set);
        }
        match owner {
            _ if is_copied_again => self.copy_again(device, group.set),
            _ if !held.is_empty() => {
                if let ProgramOwner::Request { request, .. } = owner {
                    let energy = device.program_energy(group);
                    device.kernel.report(Completion::Charged { request, energy });
                }
                self.program_again(device, owner, group, held);
            }
            ProgramOwner::Move(_) => self.collected_programmed(device, group.set),
            ProgramOwner::Request { .. } => {
                let energy = device.program_energy(group);
                self.owner_ended(device, owner, ssd, energy);
            }
            _ => self.owner_ended(device, owner, ssd, Pj::default()),
        }
        self.make_room_again(device, ssd);
        self.maintain(device, group.set);
        if self.is_paced() && !owner.moves_data() {
            self.paced_by_end(device, group.set);
        }
    }

    // ---- Translation pages ----

    /// Programs a translation page with all that has changed in it, or lets it wait for room.
    pub(super) fn program_translation(&mut self, device: &mut Device, page: u32) {
        let Some(group) = device.ftl.open_for_translation() else {
            self.stalled_translations.push(page);
            device.geometry.all_ssds().for_each(|ssd| self.make_room(device, ssd));
            return;
        };
        device.translation.as_mut().expect("there are translation pages").programming(page);
        device.ftl.place(group, 0, device.ftl.translation_page(page));
        self.program(device, group, 1, ProgramOwner::Translation { page });
    }
}
