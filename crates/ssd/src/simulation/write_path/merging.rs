//! Codewords that a write buffer holds in part. Parts that meet in the buffer need no read of the old codeword. The rest of other codewords
//! is read when they have to be programmed.
//!
//! The map says of such a codeword where its old data lies, which garbage collection may move meanwhile. As soon as the buffer has all of
//! the codeword, the map says that it is in the buffer.

use crate::slab::FillId;
use std::ops::Range;

use softsense_config::ids::{Lcn, Ssd};
use softsense_ftl::Location;

use super::super::device::Device;
use super::super::owners::ReadOwner;
use super::WritePath;
use super::buffer::WriteBuffer;

/// Bytes of a codeword, as ranges in ascending order that do not touch.
#[derive(Debug, Clone, Default)]
struct Covered(Vec<Range<u32>>);

impl Covered {
    fn add(&mut self, mut new: Range<u32>) {
        self.0.retain(|old| {
            let apart = old.end < new.start || new.end < old.start;
            if !apart {
                new = new.start.min(old.start)..new.end.max(old.end);
            }
            apart
        });
        let at = self.0.partition_point(|old| old.end < new.start);
        self.0.insert(at, new);
    }

    fn has(&self, bytes: &Range<u32>) -> bool {
        self.0.iter().any(|held| held.start <= bytes.start && bytes.end <= held.end)
    }

    fn count(&self) -> u32 {
        self.0.iter().map(|held| held.end - held.start).sum()
    }
}

/// The part of a codeword that a write buffer holds.
#[derive(Debug)]
pub(super) struct Part {
    slot: u32,
    bytes: Covered,
    /// The number of the read of its rest, if that is under way.
    fill: Option<FillId>,
}

impl WriteBuffer {
    /// Takes in bytes of a codeword of which the buffer holds others. If the buffer holds all of it now, returns its slot, and whether no
    /// read of its rest is under way. The outer option is none where the buffer held no part of it.
    pub(super) fn join(
        &mut self,
        lcn: Lcn,
        bytes: Range<u32>,
        whole: u32,
        renews: bool,
    ) -> Option<Option<(u32, bool)>> {
        let part = self.parts.get_mut(&lcn)?;
        part.bytes.add(bytes);
        let (slot, unread) = (part.slot, part.fill.is_none());
        if part.bytes.has(&(0..whole)) {
            self.end_part(lcn);
            self.pending.push(slot);
            return Some(Some((slot, unread)));
        }
        if renews && unread {
            self.in_part.renew(slot);
        }
        Some(None)
    }

    /// Puts a part of a codeword into a slot.
    pub(super) fn take_part(&mut self, slot: u32, lcn: Lcn, part: Range<u32>) {
        self.occupy(slot, lcn);
        let mut bytes = Covered::default();
        bytes.add(part);
        self.parts.insert(lcn, Part { slot, bytes, fill: None });
        self.in_part.push(slot);
    }

    /// Ends the part of a codeword. Returns the slot in which it was.
    fn end_part(&mut self, lcn: Lcn) -> Option<u32> {
        let Part { slot, fill, .. } = self.parts.remove(&lcn)?;
        match fill {
            None => self.in_part.remove(slot),
            Some(_) => self.filling -= 1,
        }
        Some(slot)
    }

    /// The slot in which the buffer holds a part of a codeword.
    pub(super) fn slot_of_part(&self, lcn: Lcn) -> Option<u32> {
        self.parts.get(&lcn).map(|part| part.slot)
    }

    /// Drops the part of a codeword, which is stale.
    pub(super) fn drop_part(&mut self, lcn: Lcn) {
        if let Some(slot) = self.end_part(lcn) {
            self.give_back(slot);
        }
    }

    /// Whether the buffer holds these bytes of a codeword that it does not hold whole.
    fn has_part(&self, lcn: Lcn, bytes: &Range<u32>) -> bool {
        self.parts.get(&lcn).is_some_and(|part| part.bytes.has(bytes))
    }
}

impl WritePath {
    /// Whether the write buffers hold codewords in part.
    #[inline]
    pub(in super::super) fn merges(&self) -> bool {
        self.merges
    }

    /// Whether the write buffers have the bytes that a read asks for of a codeword held in part.
    ///
    /// # Arguments
    /// - `asked`: range of bytes of the device.
    pub(in super::super) fn has_part(&self, device: &Device, lcn: Lcn, asked: &Range<u64>) -> bool {
        let buffer = &self.buffers[device.ftl.ssd_of(lcn)];
        buffer.has_part(lcn, &part_of(lcn, self.codeword_bytes, asked))
    }

    /// Drops the part of a codeword that the write buffers hold: the codeword has no data any more, or is written elsewhere.
    pub(in super::super) fn drop_part(&mut self, device: &Device, lcn: Lcn) {
        self.buffers[device.ftl.ssd_of(lcn)].drop_part(lcn);
    }

    /// Begins to read the rest of codewords held in part, the least recently written first, until so many are whole or on their way to be.
    /// Returns how many are whole at once.
    pub(super) fn fill_parts(&mut self, device: &mut Device, ssd: Ssd, wanted: usize) -> usize {
        if !self.merges {
            return 0;
        }
        let mut whole = 0;
        loop {
            let buffer = &mut self.buffers[ssd];
            if buffer.pending.len() + buffer.filling >= wanted {
                return whole;
            }
            let Some(slot) = buffer.in_part.pop() else { return whole };
            let lcn = buffer.held[slot as usize];
            let part = buffer.parts.get_mut(&lcn).expect("what is held in part has a part");
            let (fill, bytes) = (self.fills.insert((ssd, lcn)), u64::from(part.bytes.count()));
            part.fill = Some(fill);
            buffer.filling += 1;
            let owner = ReadOwner::Fill { fill };
            match device.ftl.locate(lcn) {
                Location::Flash(place) if !device.has_read(owner, place) => {
                    device.kernel.statistics.read_modify_writes += 1;
                    device.read_to_modify(owner, place, bytes);
                }
                // The rest of this codeword is at hand.
                _ => whole += usize::from(self.complete(device, fill)),
            }
        }
    }

    /// Notes that the rest of a codeword has been read. Returns whether the buffer still wanted it, and has all of it now.
    fn complete(&mut self, device: &mut Device, fill: FillId) -> bool {
        let (ssd, lcn) = self.fills[fill];
        self.fills.remove(fill);
        let buffer = &mut self.buffers[ssd];
        if buffer.parts.get(&lcn).is_none_or(|part| part.fill != Some(fill)) {
            return false;
        }
        let slot = buffer.end_part(lcn).expect("it was just there");
        buffer.pending.push(slot);
        device.ftl.hold_in_memory(lcn, buffer.first_slot + slot);
        true
    }

    /// Notes that the rest of a codeword has been read from flash, and takes in codewords that wait.
    pub(in super::super) fn filled(&mut self, device: &mut Device, fill: FillId) {
        let (ssd, _) = self.fills[fill];
        self.complete(device, fill);
        self.admit_to_buffer(device, ssd);
    }
}

/// The bytes of a codeword that are among bytes of the device, counted from its beginning.
pub(super) fn part_of(lcn: Lcn, codeword_bytes: u64, asked: &Range<u64>) -> Range<u32> {
    let (start, end) = (lcn.0 * codeword_bytes, (lcn.0 + 1) * codeword_bytes);
    (asked.start.max(start) - start) as u32..(asked.end.min(end) - start) as u32
}
