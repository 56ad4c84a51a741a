//! The state of a drive, and the records that change it. A record is applied at once, and again when the journal is read.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use crate::Shape;
use crate::status::Counters;

/// In place of a slot: the unit was never written, or it was trimmed.
pub(crate) const NOWHERE: u32 = u32::MAX;
/// In place of a slot: the data of the unit could not be read when it was to be moved.
pub(crate) const LOST: u32 = u32::MAX - 1;
/// In place of a unit: padding.
pub(crate) const PADDING: u32 = u32::MAX;
/// In place of a unit: parity of the slots at the same position on the other dies.
pub(crate) const PARITY: u32 = u32::MAX - 1;
/// In place of a unit: the die was dead when its neighbours were programmed.
pub(crate) const ABSENT: u32 = u32::MAX - 2;

/// The content of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Slot {
    /// A unit, or [`PADDING`], [`PARITY`], [`ABSENT`].
    pub owner: u32,
    /// CRC-32 of the codeword as it was programmed. It distinguishes damage of the image from errors of cells.
    pub crc: u32,
}

/// The use of a superblock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Use {
    Free,
    /// Open for data of the host, or for data that is moved.
    OpenForHost,
    OpenForMoved,
    Closed,
    /// Written no more: too few of its blocks work.
    Retired,
}

/// A wordline of all dies that has been programmed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Programmed {
    /// The number of the programming. With the place it determines the cells.
    pub write: u64,
    /// The drive's rested hours at the programming, from which the charge that cells have lost follows.
    pub at_hours: f64,
    /// The drive's clock at the programming, ns: all that the firmware knows of the age of data.
    pub at_ns: u64,
}

/// The state of a superblock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Superblock {
    pub used_for: Use,
    pub pe_cycles: u32,
    /// The wordlines that are programmed, from the first one on.
    pub wordlines: Vec<Programmed>,
    /// Sensings of each die's block since the last erase.
    pub reads: Vec<u64>,
    /// Slots with current data.
    pub valid: u32,
}

impl Superblock {
    /// Sensings of its most read block.
    pub(crate) fn most_reads(&self) -> u64 {
        self.reads.iter().max().copied().unwrap_or(0)
    }
}

/// Dies, planes and blocks that faults have broken.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Broken {
    pub dies: BTreeSet<u32>,
    /// Planes, each as die and plane.
    pub planes: BTreeSet<(u32, u32)>,
    /// Blocks, each as die and superblock.
    pub blocks: BTreeSet<(u32, u32)>,
}

impl Broken {
    pub(crate) fn has(&self, shape: &Shape, die: u32, superblock: u32) -> bool {
        if self.dies.is_empty() && self.planes.is_empty() && self.blocks.is_empty() {
            return false;
        }
        self.dies.contains(&die)
            || self.planes.contains(&(die, superblock % shape.planes))
            || self.blocks.contains(&(die, superblock))
    }
}

/// Data in the write buffer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Buffered {
    pub data: Vec<u8>,
    /// Whether the journal has the data.
    pub journaled: bool,
    /// The position in the order of writing.
    pub order: u64,
}

/// A change of the state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Record {
    /// Data of the write buffer that was flushed.
    Buffered { unit: u32, data: Vec<u8> },
    /// Units that hold nothing from now on.
    Trimmed { first: u32, units: u32 },
    /// A superblock was opened for writing.
    Opened { superblock: u32, used_for: Use },
    /// A wordline of all dies was programmed. With `of_buffer`, its units leave the write buffer.
    Programmed { superblock: u32, programmed: Programmed, slots: Vec<Slot>, of_buffer: bool },
    /// A superblock was closed: nothing more is written to it.
    Closed { superblock: u32 },
    /// A superblock was erased. It can be used again unless it is retired.
    Erased { superblock: u32, retired: bool },
    /// A unit could not be read when it was to be moved.
    Lost { unit: u32 },
    /// Time, wear or reads have passed that no other record tells of.
    Aged { passed_ns: u64, rested_hours: f64, pe_cycles: u32, reads: u64 },
    /// All that is broken from now on.
    Broke(Broken),
    /// Cells of a slot were changed, so that these bits of it are wrong.
    Flipped { slot: u32, bits: Vec<u32> },
    /// Clock and counters at a flush.
    Counted { clock_ns: u64, rested_hours: f64, counters: Box<Counters>, reads: Vec<(u32, Vec<u64>)> },
}

/// The state that a drive must not forget.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    /// For each unit, its slot, [`NOWHERE`] or [`LOST`].
    pub map: Vec<u32>,
    pub slots: Vec<Slot>,
    pub superblocks: Vec<Superblock>,
    pub buffer: BTreeMap<u32, Buffered>,
    /// Units of the buffer in the order of writing. An entry is stale if its order differs from the unit's in the buffer.
    pub waiting: VecDeque<(u64, u32)>,
    pub next_order: u64,
    pub next_write: u64,
    pub broken: Broken,
    /// Bits that faults have flipped, by slot.
    pub flipped: BTreeMap<u32, Vec<u32>>,
    pub clock_ns: u64,
    /// Hours that data has rested, at the temperature that cells are measured for.
    pub rested_hours: f64,
    pub counters: Counters,
    pub mapped: u64,
    pub lost: u64,
}

impl State {
    /// Hours by the clock since a wordline was programmed.
    pub(crate) fn hours_since(&self, programmed: &Programmed) -> f64 {
        self.clock_ns.saturating_sub(programmed.at_ns) as f64 / 3.6e12
    }

    pub(crate) fn new(shape: &Shape) -> Self {
        let superblock = Superblock {
            used_for: Use::Free,
            pe_cycles: 0,
            wordlines: Vec::new(),
            reads: vec![0; shape.dies as usize],
            valid: 0,
        };
        Self {
            map: vec![NOWHERE; shape.units as usize],
            slots: vec![Slot { owner: PADDING, crc: 0 }; shape.slots() as usize],
            superblocks: vec![superblock; shape.superblocks as usize],
            buffer: BTreeMap::new(),
            waiting: VecDeque::new(),
            next_order: 0,
            next_write: 0,
            broken: Broken::default(),
            flipped: BTreeMap::new(),
            clock_ns: 0,
            rested_hours: 0.0,
            counters: Counters::default(),
            mapped: 0,
            lost: 0,
        }
    }

    /// Puts data of a unit into the write buffer, in place of older data of the unit.
    pub(crate) fn buffer(&mut self, unit: u32, data: &[u8], journaled: bool) {
        let order = self.next_order;
        self.next_order += 1;
        match self.buffer.get_mut(&unit) {
            Some(held) => {
                held.data.copy_from_slice(data);
                (held.journaled, held.order) = (journaled, order);
            }
            None => drop(self.buffer.insert(unit, Buffered { data: data.to_vec(), journaled, order })),
        }
        self.waiting.push_back((order, unit));
        // Units that were overwritten often have left stale entries.
        if self.waiting.len() > 2 * self.buffer.len() + 1024 {
            let buffer = &self.buffer;
            self.waiting.retain(|(order, unit)| buffer.get(unit).is_some_and(|held| held.order == *order));
        }
    }

    /// Puts units of the buffer back to the head of the queue, in their order: they were to be programmed, and were not.
    pub(crate) fn wait_again(&mut self, units: impl DoubleEndedIterator<Item = u32>) {
        for unit in units.rev() {
            self.waiting.push_front((self.buffer[&unit].order, unit));
        }
    }

    /// Units of the write buffer that the journal does not have.
    pub(crate) fn not_journaled(&self) -> Vec<u32> {
        self.buffer.iter().filter(|(_, held)| !held.journaled).map(|(&unit, _)| unit).collect()
    }

    /// Closed superblocks, with their numbers.
    pub(crate) fn closed(&self) -> impl Iterator<Item = (u32, &Superblock)> {
        (0..).zip(&self.superblocks).filter(|(_, superblock)| superblock.used_for == Use::Closed)
    }

    /// Takes the unit that has waited longest in the write buffer.
    pub(crate) fn next_waiting(&mut self) -> Option<u32> {
        while let Some((order, unit)) = self.waiting.pop_front() {
            if self.buffer.get(&unit).is_some_and(|held| held.order == order) {
                return Some(unit);
            }
        }
        None
    }

    fn point(&mut self, shape: &Shape, unit: u32, to: u32) {
        let from = std::mem::replace(&mut self.map[unit as usize], to);
        match from {
            NOWHERE => {}
            LOST => self.lost -= 1,
            slot => {
                self.superblocks[(slot / shape.slots_of_superblock()) as usize].valid -= 1;
                self.mapped -= 1;
            }
        }
        match to {
            NOWHERE => {}
            LOST => self.lost += 1,
            slot => {
                self.superblocks[(slot / shape.slots_of_superblock()) as usize].valid += 1;
                self.mapped += 1;
            }
        }
    }

    /// Whether a slot holds the current data of a unit.
    pub(crate) fn is_current(&self, slot: u32) -> bool {
        let owner = self.slots[slot as usize].owner;
        self.map.get(owner as usize) == Some(&slot)
    }

    /// Changes the state.
    ///
    /// # Errors
    /// A record that does not fit the state, as only a damaged journal has.
    pub(crate) fn apply(&mut self, shape: &Shape, record: &Record) -> Result<(), &'static str> {
        let superblock_of = |superblock: u32| {
            if superblock < shape.superblocks {
                Ok(superblock as usize)
            } else {
                Err("a record of a superblock that the drive does not have")
            }
        };
        match record {
            Record::Buffered { unit, data } => {
                if *unit >= shape.units || data.len() != shape.unit_bytes as usize {
                    return Err("a record with data of a unit that the drive does not have");
                }
                // The unit may be in the buffer already, unless a journal is read again.
                match self.buffer.get_mut(unit) {
                    Some(held) if held.data == *data => held.journaled = true,
                    _ => self.buffer(*unit, data, true),
                }
            }
            Record::Trimmed { first, units } => {
                let end = first
                    .checked_add(*units)
                    .filter(|&end| end <= shape.units)
                    .ok_or("a record of units that the drive does not have")?;
                for unit in *first..end {
                    self.buffer.remove(&unit);
                    self.point(shape, unit, NOWHERE);
                }
            }
            Record::Opened { superblock, used_for } => {
                self.superblocks[superblock_of(*superblock)?].used_for = *used_for;
            }
            Record::Programmed { superblock, programmed, slots, of_buffer } => {
                let at = superblock_of(*superblock)?;
                let wordline = self.superblocks[at].wordlines.len() as u32;
                if wordline >= shape.wordlines || slots.len() != shape.slots_of_wordline() as usize {
                    return Err("a record of a wordline that the drive does not have");
                }
                check_hours(programmed.at_hours)?;
                self.superblocks[at].wordlines.push(*programmed);
                self.next_write = self.next_write.max(programmed.write.saturating_add(1));
                let first = shape.first_slot(*superblock, wordline);
                for (slot, held) in (first..).zip(slots) {
                    self.slots[slot as usize] = *held;
                    self.flipped.remove(&slot);
                    if held.owner < shape.units {
                        self.point(shape, held.owner, slot);
                        if *of_buffer {
                            self.buffer.remove(&held.owner);
                        }
                    }
                }
            }
            Record::Closed { superblock } => self.superblocks[superblock_of(*superblock)?].used_for = Use::Closed,
            Record::Erased { superblock, retired } => {
                let erased = &mut self.superblocks[superblock_of(*superblock)?];
                if erased.valid > 0 {
                    return Err("a record that erases a superblock with valid data");
                }
                erased.used_for = if *retired { Use::Retired } else { Use::Free };
                erased.pe_cycles = erased.pe_cycles.saturating_add(1);
                erased.wordlines.clear();
                erased.reads.fill(0);
                let first = shape.first_slot(*superblock, 0);
                for slot in first..first + shape.slots_of_superblock() {
                    self.slots[slot as usize].owner = PADDING;
                }
                let flipped: Vec<u32> =
                    self.flipped.range(first..first + shape.slots_of_superblock()).map(|(&slot, _)| slot).collect();
                flipped.iter().for_each(|slot| drop(self.flipped.remove(slot)));
            }
            Record::Lost { unit } => {
                if *unit >= shape.units {
                    return Err("a record of a unit that the drive does not have");
                }
                self.point(shape, *unit, LOST);
            }
            Record::Aged { passed_ns, rested_hours, pe_cycles, reads } => {
                check_hours(*rested_hours)?;
                self.clock_ns = self.clock_ns.saturating_add(*passed_ns).min(MOST_CLOCK_NS);
                self.rested_hours += rested_hours;
                for superblock in &mut self.superblocks {
                    superblock.pe_cycles = superblock.pe_cycles.saturating_add(*pe_cycles);
                    superblock.reads.iter_mut().for_each(|of_die| *of_die = of_die.saturating_add(*reads));
                }
            }
            Record::Broke(broken) => self.broken = broken.clone(),
            Record::Flipped { slot, bits } => {
                if *slot >= shape.slots() || bits.iter().any(|&bit| bit >= 8 * shape.codeword_bytes) {
                    return Err("a record of cells that the drive does not have");
                }
                let turned = self.flipped.entry(*slot).or_default();
                bits.iter().for_each(|bit| {
                    if !turned.contains(bit) {
                        turned.push(*bit);
                    }
                });
            }
            Record::Counted { clock_ns, rested_hours, counters, reads } => {
                check_hours(*rested_hours)?;
                (self.clock_ns, self.rested_hours) = ((*clock_ns).min(MOST_CLOCK_NS), *rested_hours);
                self.counters = (**counters).clone();
                for (superblock, of_dies) in reads {
                    if of_dies.len() != shape.dies as usize {
                        return Err("a record of reads of dies that the drive does not have");
                    }
                    self.superblocks[superblock_of(*superblock)?].reads.clone_from(of_dies);
                }
            }
        }
        Ok(())
    }

    /// Checks what holds in every state, but may not hold in one that was read from an image.
    ///
    /// # Errors
    /// The first condition that does not hold.
    pub(crate) fn check(&self, shape: &Shape) -> Result<(), String> {
        let same = |what: &str, found: usize, expected: usize| {
            if found == expected { Ok(()) } else { Err(format!("found {found} {what}, expected {expected}")) }
        };
        same("units", self.map.len(), shape.units as usize)?;
        same("slots", self.slots.len(), shape.slots() as usize)?;
        same("superblocks", self.superblocks.len(), shape.superblocks as usize)?;
        let mut valid = vec![0; self.superblocks.len()];
        let mut lost = 0;
        for (unit, &slot) in self.map.iter().enumerate() {
            lost += u64::from(slot == LOST);
            if slot == NOWHERE || slot == LOST {
                continue;
            }
            if self.slots.get(slot as usize).map(|held| held.owner) != Some(unit as u32) {
                return Err(format!("the map has unit {unit} in slot {slot}, which holds other data"));
            }
            let place = shape.place(slot);
            if place.wordline as usize >= self.superblocks[place.superblock as usize].wordlines.len() {
                return Err(format!("the map has unit {unit} in slot {slot}, which is not programmed"));
            }
            valid[place.superblock as usize] += 1;
        }
        same("units in flash", self.mapped as usize, valid.iter().sum::<u32>() as usize)?;
        same("lost units", self.lost as usize, lost as usize)?;
        for (index, (superblock, valid)) in self.superblocks.iter().zip(valid).enumerate() {
            same(&format!("valid slots in superblock {index}"), superblock.valid as usize, valid as usize)?;
            same(&format!("dies in superblock {index}"), superblock.reads.len(), shape.dies as usize)?;
            if superblock.wordlines.len() > shape.wordlines as usize {
                return Err(format!(
                    "found {} wordlines in superblock {index}, more than a superblock has",
                    superblock.wordlines.len()
                ));
            }
            superblock.wordlines.iter().try_for_each(|programmed| check_hours(programmed.at_hours))?;
        }
        check_hours(self.rested_hours)?;
        if self.clock_ns > MOST_CLOCK_NS {
            return Err(format!("found a clock at {} ns, beyond the longest time", self.clock_ns));
        }
        if self.waiting.iter().any(|(_, unit)| *unit >= shape.units) {
            return Err("found a unit in the write buffer that the drive does not have".into());
        }
        for (unit, held) in &self.buffer {
            if *unit >= shape.units || held.data.len() != shape.unit_bytes as usize {
                return Err(format!(
                    "found {} bytes of unit {unit} in the write buffer, which is no unit of the drive",
                    held.data.len()
                ));
            }
        }
        for (slot, bits) in &self.flipped {
            let most = 8 * shape.codeword_bytes;
            if *slot >= shape.slots() || bits.len() > most as usize || bits.iter().any(|&bit| bit >= most) {
                return Err(format!("found flipped bits of slot {slot} that the drive does not have"));
            }
        }
        Ok(())
    }
}

/// The time at which the clock of a drive stands still, some 146 years, in ns. However long a drive is aged, times of requests can still
/// be added to its clock. Its data ages on.
pub(crate) const MOST_CLOCK_NS: u64 = 1 << 62;

/// Checks hours that have passed according to an image: time can be added to them without overflow.
fn check_hours(hours: f64) -> Result<(), &'static str> {
    if (0.0..1e100).contains(&hours) { Ok(()) } else { Err("a record with a number of hours out of range") }
}
