//! Programs that fail. Their data is still in the controller's memory, and is programmed again, for the same owner, in the next pages that
//! are given out. The owner is told nothing before that has ended. Then the data of the block is moved, and the block is erased and
//! replaced (see [`softsense_ftl`]).
//!
//! Data that finds no room waits before all other writes. Data that was moved goes back to the collection that moves it. If the collection
//! finds no room either, the data waits as well, without an owner.

use crate::slab::RequestId;
use softsense_base::Pj;
use softsense_config::ids::{Lcn, Set, Ssd};
use softsense_ftl::{Group, Held};

use super::super::device::Device;
use super::super::kernel::Completion;
use super::super::owners::{Cause, ProgramOwner};
use super::WritePath;

/// Data whose program has failed, and which waits for room.
#[derive(Debug, Clone)]
pub(super) struct Again {
    owner: ProgramOwner,
    held: Vec<Held>,
    /// Number of codewords for which its pages had room.
    room: u32,
}

impl WritePath {
    /// Programs the data of a group once more, as its program has failed.
    ///
    /// # Arguments
    /// - `held`: units of the group that are current; not empty.
    pub(super) fn program_again(&mut self, device: &mut Device, owner: ProgramOwner, group: Group, held: Vec<Held>) {
        device.kernel.statistics.failed_program_codewords += held.len() as u64;
        match owner {
            // The page is programmed with what has changed in it since.
            ProgramOwner::Translation { page } => self.program_translation(device, page),
            ProgramOwner::Move(_) => {
                let moves = self.open_for_move(device, group.set, held[0].lcn);
                match moves {
                    Some(to) => self.place_again(device, owner, to, &held),
                    None => {
                        let with_host = !device.ftl.is_translation_page(held[0].lcn);
                        self.wait_again(device, ProgramOwner::LeftOver { with_host }, group, held);
                        self.collected_programmed(device, group.set);
                    }
                }
            }
            ProgramOwner::Request { .. } | ProgramOwner::Buffer { .. } | ProgramOwner::LeftOver { .. } => {
                self.wait_again(device, owner, group, held);
            }
            ProgramOwner::Parity { .. } => unreachable!("parity is of no codeword"),
        }
    }

    fn wait_again(&mut self, device: &mut Device, owner: ProgramOwner, group: Group, held: Vec<Held>) {
        let (ssd, room) = (device.geometry.ssd_of_set(group.set), device.ftl.room(group));
        self.rooms[ssd].again.push_back(Again { owner, held, room });
        self.go_on_again(device, ssd);
    }

    /// Programs data that waits to be programmed again, as long as there is room.
    pub(super) fn go_on_again(&mut self, device: &mut Device, ssd: Ssd) {
        while let Some(mut again) = self.rooms[ssd].again.pop_front() {
            again.held.retain(|&held| device.ftl.is_current(held));
            let Some(first) = again.held.first().map(|held| held.lcn) else {
                self.owner_ended(device, again.owner, ssd, Pj::default());
                continue;
            };
            let Some(group) = self.open_again(device, ssd, &again, first) else {
                self.rooms[ssd].again.push_front(again);
                return self.make_room(device, ssd);
            };
            self.place_again(device, again.owner, group, &again.held);
        }
    }

    /// Makes room for data that is to be programmed again, as a write buffer is waited for: without room for that data there may never be
    /// any.
    pub(super) fn seek_room_again(&mut self, device: &mut Device, ssd: Ssd) {
        if !self.rooms[ssd].again.is_empty() {
            self.make_room(device, ssd);
        }
    }

    fn open_again(&self, device: &mut Device, ssd: Ssd, again: &Again, first: Lcn) -> Option<Group> {
        if device.ftl.is_translation_page(first) {
            return device.ftl.open_for_translation();
        }
        let handle = match again.owner {
            ProgramOwner::Request { request, .. } => self.handle(request),
            _ => 0,
        };
        let (pool, _) = device.ftl.pool_of(first);
        device.ftl.open_for_host(ssd, pool, first, again.room, handle)
    }

    fn place_again(&mut self, device: &mut Device, owner: ProgramOwner, group: Group, held: &[Held]) {
        assert!(held.len() as u32 <= device.ftl.room(group), "pages that hold the same number of codewords");
        for (slot, held) in (0..).zip(held) {
            device.ftl.place(group, slot, held.lcn);
        }
        if let ProgramOwner::Buffer { flight } = owner {
            self.flight_goes_to(device, group, flight);
        }
        self.program(device, group, held.len() as u32, owner);
        if device.translation.is_some() {
            held.iter().for_each(|held| device.entry_changed(held.lcn));
        }
    }

    /// Leaves data that is to be programmed again for requests in the controller's memory, without an owner, as writes to an SSD are
    /// refused.
    ///
    /// # Returns
    /// The requests that waited for this data, each with its number of codewords.
    pub(super) fn leave_over(&mut self, ssd: Ssd) -> Vec<(RequestId, u32)> {
        let mut refused = Vec::new();
        for again in &mut self.rooms[ssd].again {
            if let ProgramOwner::Request { request, codewords } = again.owner {
                refused.push((request, codewords));
                again.owner = ProgramOwner::LeftOver { with_host: true };
            }
        }
        refused
    }

    /// Codewords that wait to be programmed again.
    pub(super) fn codewords_to_program_again(&self) -> u64 {
        self.rooms.iter().flat_map(|room| &room.again).map(|again| again.held.len() as u64).sum()
    }

    /// Tells the owner of a program that all of it is in flash, or stale.
    pub(super) fn owner_ended(&mut self, device: &mut Device, owner: ProgramOwner, ssd: Ssd, energy: Pj) {
        match owner {
            ProgramOwner::Request { request, codewords } => {
                device.kernel.report(Completion::CodewordsWritten { request, codewords, energy });
            }
            ProgramOwner::Buffer { flight } => {
                self.buffers[ssd].landed(flight);
                self.admit_to_buffer(device, ssd);
            }
            ProgramOwner::Translation { page } => {
                let translation = device.translation.as_mut().expect("there are translation pages");
                if translation.programmed(page) {
                    device.write_back(page);
                }
            }
            ProgramOwner::Move(_) | ProgramOwner::Parity { .. } | ProgramOwner::LeftOver { .. } => {}
        }
    }

    /// Begins to move the data of a superblock in which a program has failed, if a set at which nothing is at work has one.
    pub(super) fn begin_bad_block(&mut self, device: &mut Device, set: Set) {
        if self.collections[set].is_none()
            && let Some(superblock) = device.ftl.take_condemned(set)
        {
            self.move_data(device, set, Cause::BadBlock, superblock, None);
        }
    }
}
