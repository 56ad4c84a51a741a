//! Loss of power, as far as the write buffers are concerned. Data of acknowledged writes in an unprotected write buffer is lost, as if it
//! had been trimmed. The host sends requests that were not acknowledged again, so that their data is there when power is back.

use crate::slab::RequestId;
use std::collections::BTreeSet;

use softsense_config::ids::{Lcn, TiVec};
use softsense_ftl::{Held, Location};

use super::super::device::Device;
use super::WritePath;
use super::buffer::WriteBuffer;

/// The request whose data each slot holds, by its number in the stream.
#[derive(Debug, Default)]
pub(super) struct RequestsOfSlots {
    /// Number in the stream of each request under way.
    numbers: TiVec<RequestId, u64>,
    of_slot: Vec<u64>,
    /// The unit in flash to which the data of each slot is being programmed.
    programmed_to: Vec<Option<Held>>,
}

impl RequestsOfSlots {
    pub(super) fn expect(&mut self, request: RequestId, number: u64) {
        self.numbers.resize(self.numbers.len().max(request.index() + 1), 0);
        self.numbers[request] = number;
    }

    pub(super) fn take(&mut self, slot: u32, request: RequestId) {
        self.of_slot.resize(self.of_slot.len().max(slot as usize + 1), 0);
        self.of_slot[slot as usize] = self.numbers[request];
    }

    pub(super) fn programs(&mut self, slot: u32, to: Held) {
        self.programmed_to.resize(self.programmed_to.len().max(slot as usize + 1), None);
        self.programmed_to[slot as usize] = Some(to);
    }
}

impl WriteBuffer {
    /// The slot that holds a codeword, or a part of it.
    pub(super) fn slot_of(&self, device: &Device, lcn: Lcn) -> Option<u32> {
        match device.ftl.locate(lcn) {
            Location::Memory(slot) => Some(slot),
            _ => self.slot_of_part(lcn).map(|slot| self.first_slot + slot),
        }
    }
}

impl WritePath {
    /// Codewords of protected write buffers, which are to be saved at a loss of power.
    pub(in super::super) fn to_save(&self) -> u64 {
        if self.protected { self.buffered_codewords() } else { 0 }
    }

    /// Drops data that was acknowledged and is not in flash, as power fails. Returns the codewords that are lost.
    ///
    /// # Arguments
    /// - `under_way`: the numbers of requests that were not acknowledged.
    pub(in super::super) fn lose_power(&mut self, device: &mut Device, under_way: &BTreeSet<u64>) -> Vec<Lcn> {
        let mut lost = Vec::new();
        let Some(takers) = self.takers.as_ref().filter(|_| !self.protected) else { return lost };
        for buffer in &mut self.buffers {
            let in_flight = buffer.slots_in_flight();
            for slot in buffer.slots_held() {
                let (lcn, number) = (buffer.held[slot as usize], buffer.first_slot + slot);
                if under_way.contains(&takers.of_slot[number as usize]) {
                    continue;
                }
                let is_whole = if in_flight.contains(&slot) {
                    takers.programmed_to[number as usize].is_some_and(|held| device.ftl.is_current(held))
                } else {
                    device.ftl.locate(lcn) == Location::Memory(number)
                };
                if is_whole {
                    device.ftl.unmap(lcn);
                    lost.push(lcn);
                } else if buffer.slot_of_part(lcn) == Some(slot) {
                    buffer.drop_part(lcn);
                    lost.push(lcn);
                }
            }
        }
        lost
    }
}
