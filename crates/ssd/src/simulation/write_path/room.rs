//! The room that an SSD has to write to, and the writes that wait for it.

use crate::slab::RequestId;
use std::collections::VecDeque;

use softsense_base::Pj;
use softsense_config::ids::{Lcn, Set, Ssd};

use super::super::device::Device;
use super::super::kernel::Completion;
use super::WritePath;
use super::again::Again;
use super::pacing::Stage;

#[derive(Debug, Clone, Default)]
pub(super) struct Room {
    /// Codewords whose write waits for garbage collection to free a block, with their requests.
    pub(super) stalled: VecDeque<(RequestId, Lcn)>,
    /// Data whose program has failed, and which waits likewise, before the stalled codewords.
    pub(super) again: VecDeque<Again>,
    /// Whether a write, or the write buffer, has found no room since a block was last erased.
    pub(super) blocked: bool,
    /// Number of sets that are being collected.
    pub(super) collecting: u32,
    /// Number of sets whose data is being reclaimed or refreshed, which makes no room.
    pub(super) reclaiming: u32,
    /// Number of programs under way.
    pub(super) programming: u32,
}

impl Room {
    /// Whether no write waits, and no program and no collection is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.stalled.is_empty() && self.has_nothing_under_way()
    }

    /// Whether no program and no collection is under way.
    fn has_nothing_under_way(&self) -> bool {
        self.collecting == 0 && self.reclaiming == 0 && self.programming == 0
    }
}

impl WritePath {
    /// Whether a write to the SSD of a set has found no room.
    pub(super) fn waits_for_room(&self, device: &Device, set: Set) -> bool {
        self.rooms[device.geometry.ssd_of_set(set)].blocked
    }

    /// Whether a write to any SSD has found no room.
    pub(in super::super) fn is_blocked(&self) -> bool {
        self.rooms.iter().any(|room| room.blocked)
    }

    /// Makes room for a write to an SSD that cannot go on: a collection begins, unless one is under way that will free a block. Stale
    /// codewords may all stand in blocks whose programs have not ended; then the next end of a program tries again.
    pub(super) fn make_room(&mut self, device: &mut Device, ssd: Ssd) {
        self.rooms[ssd].blocked = true;
        if self.nothing_makes_room(ssd) {
            let of_ssd = device.geometry.sets_of_ssd(ssd);
            for set in of_ssd.clone() {
                if self.collections[set].is_none() {
                    self.begin_if_wanted(device, set, Stage::Start);
                }
            }
            // Moving data out of bad blocks may be all that is left to do.
            of_ssd.for_each(|set| self.begin_bad_block(device, set));
            if self.rooms[ssd].has_nothing_under_way() {
                assert!(device.ftl.shrinks(), "over-provisioning leaves stale codewords to collect");
                self.refuse_writes(device, ssd);
            }
        }
    }

    /// Whether no collection of an SSD is under way that is certain to free a block soon; one that may pause is not.
    #[inline]
    fn nothing_makes_room(&self, ssd: Ssd) -> bool {
        self.rooms[ssd].collecting == 0 || self.is_paced()
    }

    /// Makes room again for a write that found none, after a program of an SSD has ended or a wordline has been reclaimed, if no collection
    /// is under way.
    pub(super) fn make_room_again(&mut self, device: &mut Device, ssd: Ssd) {
        if self.rooms[ssd].blocked && self.nothing_makes_room(ssd) {
            self.make_room(device, ssd);
        }
    }

    /// Refuses the writes that wait for room in an SSD, as lower code rates, or failures of dies and blocks, have left it none. Data that
    /// they would have replaced stays. Data in the write buffer was accepted: it stays there.
    fn refuse_writes(&mut self, device: &mut Device, ssd: Ssd) {
        let stalled = std::mem::take(&mut self.rooms[ssd].stalled);
        let mut refused: Vec<RequestId> = stalled.into_iter().map(|(request, _)| request).collect();
        if let Some(buffer) = self.buffers.get_mut(ssd) {
            refused.extend(buffer.waiting.drain(..).map(|arriving| arriving.request));
            self.tell_whether_writes_wait(device);
        }
        let left_over = self.leave_over(ssd);
        if !refused.is_empty() || !left_over.is_empty() {
            let again: u64 = left_over.iter().map(|&(_, codewords)| u64::from(codewords)).sum();
            device.kernel.statistics.refused_codewords += refused.len() as u64 + again;
            device.kernel.statistics.read_only_from.get_or_insert(device.kernel.now);
        }
        for (request, codewords) in refused.into_iter().map(|request| (request, 1)).chain(left_over) {
            device.kernel.report(Completion::CodewordsWritten { request, codewords, energy: Pj::default() });
        }
        // Data that was accepted and finds no room is as much in flash as it will ever be.
        self.end_flushes(device, |flush| flush.of.retain(|&(of, _)| of != ssd));
        // Translation pages go to any SSD: while one is at work, there may be room yet.
        if self.rooms.iter().all(Room::has_nothing_under_way) {
            for page in std::mem::take(&mut self.stalled_translations) {
                device.kernel.statistics.refused_write_backs += 1;
                device.translation.as_mut().expect("there are translation pages").give_up(page);
            }
        }
    }

    /// Resumes writes that waited for a block of an SSD, as one is free again.
    pub(super) fn resume_stalled_writes(&mut self, device: &mut Device, ssd: Ssd) {
        self.rooms[ssd].blocked = false;
        self.go_on_again(device, ssd);
        for page in std::mem::take(&mut self.stalled_translations) {
            self.program_translation(device, page);
        }
        let most = device.geometry.codewords_per_program() as usize;
        while let Some(&(request, first)) = self.rooms[ssd].stalled.front() {
            let stalled = &self.rooms[ssd].stalled;
            let (_, index) = device.ftl.split(first);
            let expected = (index..).map(|index| (request, device.ftl.join(ssd, index)));
            let adjacent = stalled.iter().take(most).zip(expected).take_while(|&(&at, expected)| at == expected);
            let (pool, of_page) = device.ftl.pool_of(first);
            let adjacent = (adjacent.count() as u32).min(of_page);
            let Some(group) = device.ftl.open_for_host(ssd, pool, first, adjacent, self.handle(request)) else {
                break;
            };
            let count = device.ftl.room(group).min(adjacent);
            self.rooms[ssd].stalled.drain(..count as usize);
            self.program_for_request(device, group, request, ssd, index..index + u64::from(count));
        }
        if !self.buffers.is_empty() {
            self.admit_to_buffer(device, ssd);
        }
        if !self.rooms[ssd].stalled.is_empty() && self.nothing_makes_room(ssd) {
            self.make_room(device, ssd);
        }
    }
}
