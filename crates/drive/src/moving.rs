//! Moving data: to make room, to refresh old data, to reclaim data that was read often, to save data in superblocks with broken blocks,
//! and to level wear.

use softsense_base::Ns;
use softsense_nand::retention_bake_minutes;

use crate::drive::{Drive, Refused};
use crate::reading::SlotRead;
use crate::state::{Broken, Record, Use};
use crate::stations::At;
use crate::status::BackgroundCounters;

/// Activation energy of the loss of charge, eV. Time at another temperature than the one that cells are measured for is converted with
/// it.
///
/// Source: K. Zhao et al., "LDPC-in-SSD", 2013, section 4.1.
const ACTIVATION_ENERGY_EV: f64 = 1.1;
/// The least number of times that a drive with power checks its data while time passes.
const STEPS_WITH_POWER: u32 = 64;

/// The reason why a superblock is emptied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    Room,
    Age,
    Reads,
    Broken,
    Wear,
}

impl Reason {
    fn counter(self, counters: &mut BackgroundCounters) -> &mut u64 {
        match self {
            Self::Room => &mut counters.collected,
            Self::Age => &mut counters.refreshed,
            Self::Reads => &mut counters.reclaimed,
            Self::Broken => &mut counters.evacuated,
            Self::Wear => &mut counters.levelled,
        }
    }
}

impl Drive {
    /// Collects until `free` superblocks are free, or more collection would gain nothing.
    pub(crate) fn collect_until_free(&mut self, at: Ns, free: usize) -> std::result::Result<(), Refused> {
        while self.free_superblocks() < free {
            // A wordline of padding at the end of the moved data must not use up the room that is gained.
            let gains = |(index, superblock): &(u32, &crate::state::Superblock)| {
                superblock.valid <= self.room_of_wordline(*index) * (self.shape.wordlines - 1)
            };
            let Some((victim, _)) = self.state.closed().filter(gains).min_by_key(|(_, superblock)| superblock.valid)
            else {
                return Ok(());
            };
            self.empty(at, victim, Reason::Room)?;
        }
        Ok(())
    }

    /// Moves all current data out of a superblock, and erases it. Units that cannot be read are lost.
    pub(crate) fn empty(&mut self, at: Ns, victim: u32, reason: Reason) -> std::result::Result<(), Refused> {
        if self.state.superblocks[victim as usize].used_for != Use::Closed {
            self.commit(&Record::Closed { superblock: victim });
        }
        let programmed = self.state.superblocks[victim as usize].wordlines.len() as u32;
        let first = self.shape.first_slot(victim, 0);
        let mut moved: Vec<(u32, Vec<u8>)> = Vec::new();
        // The superblock for the next wordline of moved data, and the units that fit in this wordline.
        let mut target = None;
        let mut data = vec![0; self.shape.unit_bytes as usize];
        for slot in first..first + programmed * self.shape.slots_of_wordline() {
            if !self.state.is_current(slot) {
                continue;
            }
            let unit = self.state.slots[slot as usize].owner;
            match self.read_slot(at, slot, &mut data)?.0 {
                SlotRead::Data { .. } | SlotRead::Wrong => moved.push((unit, data.clone())),
                _ => {
                    self.commit(&Record::Lost { unit });
                    continue;
                }
            }
            let (superblock, room) = match target {
                Some(target) => target,
                None => {
                    let superblock = self.open_superblock(at, Use::OpenForMoved)?;
                    *target.insert((superblock, self.room_of_wordline(superblock) as usize))
                }
            };
            if moved.len() == room {
                self.program_moved(at, superblock, &mut moved)?;
                target = None;
            }
        }
        if !moved.is_empty() {
            let target = self.open_superblock(at, Use::OpenForMoved)?;
            self.program_moved(at, target, &mut moved)?;
        }
        *reason.counter(&mut self.state.counters.background) += 1;
        self.erase(at, victim)
    }

    fn program_moved(
        &mut self,
        at: Ns,
        target: u32,
        moved: &mut Vec<(u32, Vec<u8>)>,
    ) -> std::result::Result<(), Refused> {
        self.program(at, target, moved, false)?;
        self.state.counters.background.moved += moved.len() as u64;
        moved.clear();
        Ok(())
    }

    fn erase(&mut self, at: Ns, superblock: u32) -> std::result::Result<(), Refused> {
        // The records that moved the data must be on the disk before the data is erased.
        self.image.sync()?;
        let working = self.working_dies(superblock);
        let retired = self.room_of_wordline(superblock) == 0;
        self.commit(&Record::Erased { superblock, retired });
        self.image.erase(self.shape.first_slot(superblock, 0), self.shape.slots_of_superblock());
        let dies = self.shape.dies;
        self.remembered[(superblock * dies) as usize..((superblock + 1) * dies) as usize].fill(None);
        self.state.counters.background.erased += 1;
        for die in working {
            self.stations.erase(&self.shape, at, At { die, superblock, wordline: 0, page: 0 });
        }
        Ok(())
    }

    /// The reason why a superblock should be emptied now, if there is one.
    fn is_due(&self, index: u32) -> Option<Reason> {
        let superblock = &self.state.superblocks[index as usize];
        let first = superblock.wordlines.first()?;
        if superblock.used_for == Use::Retired {
            return None;
        }
        // Without parity nothing can be saved: the data on broken blocks is gone, and that on other dies is safe there.
        let is_missed = |die| self.state.broken.has(&self.shape, die, index) && self.was_present(index, die);
        if self.shape.parity && (0..self.shape.dies).any(is_missed) {
            return Some(Reason::Broken);
        }
        // Age by the clock, as firmware does not know how much charge its cells have lost.
        if self.spec.refresh_hours.is_some_and(|most| self.state.hours_since(first) > most) && superblock.valid > 0 {
            return Some(Reason::Age);
        }
        self.reclaim_reads.is_some_and(|most| superblock.most_reads() > most).then_some(Reason::Reads)
    }

    /// Whether a die took part in the programming of any wordline of a superblock.
    fn was_present(&self, superblock: u32, die: u32) -> bool {
        (0..self.state.superblocks[superblock as usize].wordlines.len() as u32).any(|wordline| {
            let slot = self.shape.first_slot(superblock, wordline) + self.shape.in_wordline(die, 0, 0);
            self.state.slots[slot as usize].owner != crate::state::ABSENT
        })
    }

    /// Empties superblocks that are due. Stops where there is no room for their data.
    pub(crate) fn maintain(&mut self) -> std::result::Result<(), Refused> {
        let at = self.now();
        let tended = self.move_due_superblocks(at);
        match tended {
            // Superblocks that are due stay as they are. Hosts get the error when they write.
            Err(Refused::NoRoom) => Ok(()),
            other => other,
        }
    }

    fn move_due_superblocks(&mut self, at: Ns) -> std::result::Result<(), Refused> {
        for index in 0..self.shape.superblocks {
            if let Some(reason) = self.is_due(index) {
                self.collect_until_free(at, 2)?;
                // Collection may have emptied the superblock.
                if self.is_due(index).is_some() {
                    self.empty(at, index, reason)?;
                }
            }
        }
        if let Some(spread) = self.wear_levelling_spread {
            let in_use = |superblock: &&crate::state::Superblock| superblock.used_for != Use::Retired;
            let most = self.state.superblocks.iter().filter(in_use).map(|superblock| superblock.pe_cycles).max();
            if let Some((least, superblock)) = self.state.closed().min_by_key(|(_, superblock)| superblock.pe_cycles)
                && most.is_some_and(|most| most - superblock.pe_cycles > spread)
            {
                self.collect_until_free(at, 2)?;
                self.empty(at, least, Reason::Wear)?;
            }
        }
        Ok(())
    }

    /// Lets time, wear and reads pass over all blocks. The content of the write buffer is programmed first: a drive without power has no
    /// buffer, and with power data does not stay there long. Returns the number of units that were programmed.
    ///
    /// # Arguments
    /// - `powered`: whether the drive refreshes its data meanwhile.
    pub(crate) fn age(
        &mut self,
        retention_hours: f64,
        temperature_c: f64,
        pe_cycles: u32,
        reads: u64,
        powered: bool,
    ) -> std::result::Result<u64, Refused> {
        let settled = self.settle()?;
        // The image must have room for the record before anything ages.
        self.put_on_disk()?;
        let (from, to) = (temperature_c, self.temperature_c);
        let rested_hours = if from == to {
            retention_hours
        } else {
            retention_bake_minutes(retention_hours, from, to, ACTIVATION_ENERGY_EV) / 60.0
        };
        let steps = if powered { self.steps_for(retention_hours) } else { 1 };
        for step in 0..steps {
            let share = |whole: u64| {
                whole * u64::from(step + 1) / u64::from(steps) - whole * u64::from(step) / u64::from(steps)
            };
            if rested_hours > 0.0 {
                self.close_open();
            }
            self.commit(&Record::Aged {
                passed_ns: (retention_hours * 3.6e12 / f64::from(steps)) as u64,
                rested_hours: rested_hours / f64::from(steps),
                pe_cycles: share(pe_cycles.into()) as u32,
                reads: share(reads),
            });
            if powered {
                self.maintain()?;
            }
        }
        self.programs.clear();
        self.put_on_disk()?;
        Ok(settled)
    }

    /// Closes superblocks that are partly programmed: references that fit the old data of a block would not fit data that came later.
    fn close_open(&mut self) {
        for index in 0..self.shape.superblocks {
            let superblock = &self.state.superblocks[index as usize];
            if matches!(superblock.used_for, Use::OpenForHost | Use::OpenForMoved) && !superblock.wordlines.is_empty() {
                self.commit(&Record::Closed { superblock: index });
            }
        }
    }

    /// The number of times that a drive with power checks its data in a time: at least four times before any data is due.
    fn steps_for(&self, hours: f64) -> u32 {
        let due = self.spec.refresh_hours.map_or(0.0, |refresh_hours| 4.0 * hours / refresh_hours);
        (due.ceil().min(10_000.0) as u32).max(STEPS_WITH_POWER)
    }

    /// Reads all units through error correction, and writes anew those that were hard to read: that needed soft levels, or the other
    /// dies of their stripe. Returns how many units were read, written anew and lost.
    pub(crate) fn scrub(&mut self) -> std::result::Result<(u64, u64, u64), Refused> {
        let at = self.now();
        let (mut read, mut rewritten, lost_before) = (0, 0, self.state.lost);
        let mut data = vec![0; self.shape.unit_bytes as usize];
        for unit in 0..self.shape.units {
            let slot = self.state.map[unit as usize];
            if slot >= self.shape.slots() || self.state.buffer.contains_key(&unit) {
                continue;
            }
            read += 1;
            match self.read_slot(at, slot, &mut data)?.0 {
                SlotRead::Data { hard_to_read: true } if !self.read_only => {
                    self.state.buffer(unit, &data, false);
                    self.state.counters.background.rewritten += 1;
                    rewritten += 1;
                    self.make_room(at)?;
                }
                SlotRead::Data { .. } | SlotRead::Wrong => {}
                _ => self.commit(&Record::Lost { unit }),
            }
        }
        self.maintain()?;
        self.put_on_disk()?;
        Ok((read, rewritten, self.state.lost - lost_before))
    }

    /// Breaks parts of the flash, after the content of the write buffer was programmed. Returns the number of units that were
    /// programmed.
    pub(crate) fn break_down(&mut self, change: impl FnOnce(&mut Broken)) -> std::result::Result<u64, Refused> {
        let settled = self.settle()?;
        self.change_broken(change)?;
        Ok(settled)
    }

    /// Repairs everything that is broken.
    pub(crate) fn heal(&mut self) -> std::result::Result<(), Refused> {
        self.change_broken(|broken| *broken = Broken::default())
    }

    fn change_broken(&mut self, change: impl FnOnce(&mut Broken)) -> std::result::Result<(), Refused> {
        self.image.ready()?;
        let mut broken = self.state.broken.clone();
        change(&mut broken);
        self.commit(&Record::Broke(broken));
        self.read_only = false;
        self.unreadable.fill(Default::default());
        self.put_on_disk()
    }

    /// Makes bits of a unit's codeword wrong as if its cells had been, after the content of the write buffer was programmed. Returns the
    /// number of these bits: 0 where the unit is not in flash.
    pub(crate) fn flip_bits(&mut self, unit: u32, bits: u32) -> std::result::Result<u32, Refused> {
        self.settle()?;
        let slot = self.state.map[unit as usize];
        if slot >= self.shape.slots() || self.state.buffer.contains_key(&unit) {
            return Ok(0);
        }
        let codeword_bits = self.reader.code().codeword_bits() as u64;
        let turned = self.state.flipped.get(&slot).cloned().unwrap_or_default();
        let most = (bits as usize).min(codeword_bits as usize - turned.len());
        let mut chosen = std::collections::BTreeSet::new();
        let mut draw = 0;
        while chosen.len() < most {
            let bit = (self.faults.bits(slot.into(), draw) % codeword_bits) as u32;
            if !turned.contains(&bit) {
                chosen.insert(bit);
            }
            draw += 1;
        }
        let bits: Vec<u32> = chosen.into_iter().collect();
        let count = bits.len() as u32;
        self.commit(&Record::Flipped { slot, bits });
        self.put_on_disk()?;
        Ok(count)
    }

    /// Drops power and restores it. A write buffer that is not protected loses the units that the journal does not have. Returns their
    /// number.
    pub(crate) fn drop_power(&mut self) -> std::result::Result<u64, Refused> {
        let mut lost = 0;
        if !self.spec.protected_cache {
            for unit in self.state.not_journaled() {
                self.state.buffer.remove(&unit);
                lost += 1;
            }
        }
        self.remembered.fill(None);
        self.programs.clear();
        self.put_on_disk()?;
        Ok(lost)
    }
}
