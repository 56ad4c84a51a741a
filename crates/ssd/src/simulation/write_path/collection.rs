//! Garbage collection.
//!
//! It works on one superblock of a set at a time (without interleaving: on a block of a plane). It reads the valid codewords page
//! by page or group by group, through error correction, programs them in its own open superblock, interleaved where the set
//! interleaves, and erases the victim when all are programmed and nobody reads the victim any more. Its operations wait in the
//! same queues as the host's programs. Data written by the host in between is not moved.
//!
//! What a collection has cut, where units cross pages, is ended by one more page before its victim is erased.

use super::super::device::Device;
use super::super::owners::{ProgramOwner, ReadOwner};
use super::WritePath;
use crate::ftl::{Group, Held, Writer};

/// Collection of a set, at work on one superblock.
#[derive(Debug)]
pub(super) struct Collection {
    victim: u32,
    /// The next page of the victim to look at, its blocks taking turns.
    next_page: u32,
    /// What is being read, and as which units of its group.
    reading: Vec<Held>,
    units: Vec<u32>,
    /// What has been read and waits to be programmed.
    collected: Vec<Held>,
    programs: u32,
    /// Whether a unit that was programmed ends in the next page.
    cut: bool,
    /// Blocks of the victim that are being erased.
    erasing: u32,
}

impl WritePath {
    /// Begins to collect a set, if there is anything to be gained.
    pub(super) fn begin_collection(&mut self, device: &mut Device, set: u32) {
        let Some(victim) = device.ftl.take_victim(set) else { return };
        device.ftl.prefetch_written(victim);
        let statistics = &mut device.kernel.statistics;
        statistics.gc_victims += 1;
        statistics.gc_victims_to_level_wear += u64::from(device.ftl.has_levelled(set));
        statistics.gc_victim_valid += u64::from(device.ftl.valid(victim));
        statistics.gc_victim_room += device.ftl.room_of(victim);
        self.collections[set as usize] = Some(Collection {
            victim,
            next_page: 0,
            reading: Vec::new(),
            units: Vec::new(),
            collected: Vec::new(),
            programs: 0,
            cut: false,
            erasing: 0,
        });
        self.rooms[device.geometry.ssd_of_set(set) as usize].collecting += 1;
        self.continue_collection(device, set);
    }

    fn collection(&mut self, set: u32) -> &mut Collection {
        self.collections[set as usize].as_mut().expect("collection is at work")
    }

    /// Does whatever the collection of a set can do now.
    fn continue_collection(&mut self, device: &mut Device, set: u32) {
        loop {
            let job = self.collection(set);
            if !job.reading.is_empty() || job.erasing > 0 || job.read_on(device, set) {
                return;
            }
            if job.collected.is_empty() && !job.cut {
                break;
            }
            self.program_collected(device, set);
        }
        let job = self.collection(set);
        if job.programs == 0 && !device.ftl.is_being_read(job.victim) {
            job.erasing = device.geometry.ways();
            device.back_end.erase(&mut device.kernel, set, job.victim);
        }
    }

    /// A page or group of the victim has been read.
    pub(in super::super) fn collected(&mut self, device: &mut Device, set: u32) {
        let job = self.collection(set);
        job.collected.append(&mut job.reading);
        // Codewords that it programs at once.
        let geometry = &device.geometry;
        let interleaves = device.ftl.interleaves(set);
        let together =
            if interleaves { geometry.codewords_per_group() } else { geometry.codewords_per_page() } as usize;
        while self.collection(set).collected.len() >= together {
            self.program_collected(device, set);
        }
        self.continue_collection(device, set);
    }

    /// Programs one page or group of collected codewords, if any of them is still valid.
    fn program_collected(&mut self, device: &mut Device, set: u32) {
        let job = self.collection(set);
        let ftl = &mut device.ftl;
        job.collected.retain(|&held| ftl.is_current(held));
        // A victim holds translation pages, or data.
        let of_map = job.collected.first().is_some_and(|held| ftl.is_translation_page(held.lcn));
        if job.collected.is_empty() && !job.cut {
            return;
        }
        job.programs += 1;
        let writer = if of_map { Writer::GcTranslation } else { Writer::Gc };
        let group = ftl.open(set, writer).expect("the host leaves a block to collection");
        let count = job.collected.len().min(ftl.room(group) as usize);
        job.cut = count as u32 == ftl.room(group) && ftl.last_crosses(group);
        for (slot, held) in job.collected[..count].iter().enumerate() {
            ftl.place(group, slot as u32, held.lcn);
        }
        let moved: Vec<Held> = match device.translation {
            Some(_) => job.collected.drain(..count).collect(),
            None => {
                job.collected.drain(..count);
                Vec::new()
            }
        };
        self.program(device, group, count as u32, ProgramOwner::Collection);
        moved.into_iter().for_each(|held| device.entry_changed(held.lcn));
    }

    /// A page or group of collected codewords has been programmed.
    pub(super) fn collected_programmed(&mut self, device: &mut Device, set: u32) {
        self.collection(set).programs -= 1;
        self.continue_collection(device, set);
    }

    /// A read of a superblock has ended; a victim may have waited for that.
    #[inline]
    pub(in super::super) fn read_ended(&mut self, device: &mut Device, group: Group) {
        if self.collections[group.set as usize].as_ref().is_some_and(|job| job.victim == group.superblock) {
            self.continue_collection(device, group.set);
        }
    }

    /// A block of a superblock has been erased.
    pub(in super::super) fn erased(&mut self, device: &mut Device, superblock: u32) {
        let set = device.geometry.set_of_superblock(superblock);
        let job = self.collection(set);
        job.erasing -= 1;
        if job.erasing > 0 {
            return;
        }
        device.ftl.erased(superblock);
        self.collections[set as usize] = None;
        let ssd = device.geometry.ssd_of_set(set);
        self.rooms[ssd as usize].collecting -= 1;
        if device.ftl.wants_gc(set, true) {
            self.begin_collection(device, set);
        }
        self.resume_stalled_writes(device, ssd);
    }
}

impl Collection {
    /// Begins to read the next page, or pages, of the victim that hold valid codewords. Whether there are any.
    fn read_on(&mut self, device: &mut Device, set: u32) -> bool {
        let (geometry, ftl) = (&device.geometry, &mut device.ftl);
        let pages = geometry.pages_per_superblock();
        // Units that share pages are read together.
        let crosses_pages = ftl.crosses_pages() && ftl.layout(self.victim).crosses_pages();
        let together = if crosses_pages { geometry.pages_per_run() } else { 1 };
        while self.next_page < pages {
            let group = ftl.group_at(set, self.victim, self.next_page);
            let of_block = together.min(pages - self.next_page);
            self.next_page += group.pages() * of_block;
            if self.next_page < pages {
                ftl.prefetch_owners(ftl.group_at(set, self.victim, self.next_page));
            }
            let units = group.members().flat_map(|member| {
                let start = geometry.units_of(member).start;
                start..start + of_block * geometry.codewords_per_page()
            });
            self.units.clear();
            for unit in units {
                if let Some(held) = ftl.held_at(geometry.place(group.superblock, group.page, unit)) {
                    ftl.note_start(held.lcn);
                    self.reading.push(held);
                    self.units.push(unit);
                }
            }
            if !self.units.is_empty() {
                device.read(ReadOwner::Collection(set), group, &self.units);
                return true;
            }
        }
        false
    }
}
