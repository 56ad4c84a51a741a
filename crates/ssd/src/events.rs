//! The event queue: which event happens next, and in which order.
//!
//! Events happen in order of time; events at the same instant happen in the order in which they were
//! scheduled. A request's arrival counts as scheduled when the request before it arrived.

use crate::slab::{CrossingId, DeferredId, MoveId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use softsense_base::Ns;
use softsense_config::ids::{Channel, Set, Ssd, Unit};
use softsense_config::spec::MAX_INDEX;

/// The end of an operation, or another thing that happens at an instant. Variants are in the order of their numbers in keys, so that
/// converting costs nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A busy unit (plane or die) has ended the sensing, program, erase or reset it was at.
    ArrayDone {
        /// The unit.
        unit: Unit,
    },
    /// The bus of a channel has ended a transfer.
    TransferDone {
        /// The channel.
        channel: Channel,
    },
    /// A decoder has ended a decode.
    DecodeDone {
        /// The decoder, numbered over the device.
        decoder: u32,
    },
    /// Codewords have been moved between host and controller memory.
    MemoryDone {
        /// Index of the move among the simulation's moves.
        moved: MoveId,
    },
    /// An encoder has ended a codeword.
    EncodeDone {
        /// The encoder, numbered over the device.
        encoder: u32,
    },
    /// Codewords have crossed a link, or the switch.
    Crossed {
        /// Index of the crossing among the links' crossings.
        crossing: CrossingId,
    },
    /// An SSD has to be asked whether it is idle.
    IdleFor {
        /// The SSD.
        ssd: Ssd,
    },
    /// Garbage collection of a set has to check again whether it goes on.
    Wake {
        /// The set.
        set: Set,
    },
    /// A deferred action has crossed DRAM.
    Stored {
        /// Index of the deferred action in the kernel.
        deferred: DeferredId,
    },
    /// The data of a set may have become too old.
    RefreshDue {
        /// The set.
        set: Set,
    },
    /// The next page of a set has its turn to be scrubbed.
    ScrubDue {
        /// The set.
        set: Set,
    },
}

/// An event and the instant at which it happens. From the top: 64 bits of time, 38 of rank among all events ever scheduled, 4 of kind, 22
/// of index. So keys compare in the order in which events happen, and the queue moves 16 bytes.
pub type Key = u128;

const INDEX_BITS: u32 = MAX_INDEX.ilog2();
const KIND_BITS: u32 = 4;
const RANK_BITS: u32 = 64 - INDEX_BITS - KIND_BITS;

/// Returns a key with another instant, and the same rank, kind and index.
#[inline]
pub fn moved_to(key: Key, at: Ns) -> Key {
    u128::from(at.0) << 64 | u128::from(key as u64)
}

/// Returns the instant of a key.
#[inline]
pub fn instant(key: Key) -> Ns {
    Ns((key >> 64) as u64)
}

impl Event {
    #[inline]
    fn pack(self) -> u32 {
        let (kind, index) = match self {
            Event::ArrayDone { unit } => (0, unit.0),
            Event::TransferDone { channel } => (1, channel.0),
            Event::DecodeDone { decoder } => (2, decoder),
            Event::MemoryDone { moved } => (3, moved.0),
            Event::EncodeDone { encoder } => (4, encoder),
            Event::Crossed { crossing } => (5, crossing.0),
            Event::IdleFor { ssd } => (6, ssd.0),
            Event::Wake { set } => (7, set.0),
            Event::Stored { deferred } => (8, deferred.0),
            Event::RefreshDue { set } => (9, set.0),
            Event::ScrubDue { set } => (10, set.0),
        };
        assert!(index < MAX_INDEX, "fewer than 2^22 of anything are under way");
        kind << INDEX_BITS | index
    }

    #[inline]
    fn unpack(key: Key) -> Self {
        let index = key as u32 & (MAX_INDEX - 1);
        match key as u32 >> INDEX_BITS & ((1 << KIND_BITS) - 1) {
            0 => Event::ArrayDone { unit: Unit(index) },
            1 => Event::TransferDone { channel: Channel(index) },
            2 => Event::DecodeDone { decoder: index },
            3 => Event::MemoryDone { moved: MoveId(index) },
            4 => Event::EncodeDone { encoder: index },
            5 => Event::Crossed { crossing: CrossingId(index) },
            6 => Event::IdleFor { ssd: Ssd(index) },
            7 => Event::Wake { set: Set(index) },
            8 => Event::Stored { deferred: DeferredId(index) },
            9 => Event::RefreshDue { set: Set(index) },
            _ => Event::ScrubDue { set: Set(index) },
        }
    }
}

/// The event queue.
#[derive(Debug, Default)]
pub struct EventQueue {
    heap: BinaryHeap<Reverse<Key>>,
    scheduled: u64,
}

impl EventQueue {
    /// Returns the key of an event at `at` that is scheduled now, but kept elsewhere.
    #[inline]
    pub fn key(&mut self, at: Ns) -> Key {
        self.scheduled += 1;
        assert!(self.scheduled < 1 << RANK_BITS, "a run has fewer than 2^38 events");
        u128::from(at.0) << 64 | u128::from(self.scheduled << (KIND_BITS + INDEX_BITS))
    }

    /// Schedules an event and returns its key.
    #[inline]
    pub fn schedule(&mut self, at: Ns, event: Event) -> Key {
        let key = self.key(at) | u128::from(event.pack());
        self.heap.push(Reverse(key));
        key
    }

    /// Returns the number of events scheduled so far.
    pub fn scheduled(&self) -> u64 {
        self.scheduled
    }

    /// Returns the key of the next event.
    #[inline]
    pub fn next_key(&self) -> Option<Key> {
        self.heap.peek().map(|&Reverse(key)| key)
    }

    /// Moves all events to other instants. Events that are moved by equal times keep their order.
    pub fn move_all(&mut self, to: impl Fn(Key, Event) -> Ns) {
        let moved = |Reverse(key)| Reverse(moved_to(key, to(key, Event::unpack(key))));
        self.heap = std::mem::take(&mut self.heap).into_iter().map(moved).collect();
    }

    /// Removes the next event and returns it.
    #[inline]
    pub fn pop(&mut self) -> Option<(Key, Event)> {
        self.heap.pop().map(|Reverse(key)| (key, Event::unpack(key)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_one_instant_happen_in_the_order_of_scheduling() {
        let mut queue = EventQueue::default();
        let events = [
            (5, Event::MemoryDone { moved: MoveId(MAX_INDEX - 1) }),
            (3, Event::TransferDone { channel: Channel(1) }),
            (5, Event::ArrayDone { unit: Unit(0) }),
            (5, Event::EncodeDone { encoder: 3 }),
            (3, Event::Crossed { crossing: CrossingId(9) }),
            (5, Event::Stored { deferred: DeferredId(2) }),
            (6, Event::Wake { set: Set(1) }),
            (3, Event::DecodeDone { decoder: 7 }),
            (4, Event::ArrayDone { unit: Unit(4) }),
            (3, Event::ArrayDone { unit: Unit(5) }),
        ];
        for (at, event) in events {
            queue.schedule(Ns(at), event);
        }
        let order: Vec<_> = std::iter::from_fn(|| queue.pop()).map(|(key, event)| (instant(key).0, event)).collect();
        assert_eq!(order, [1, 4, 7, 9, 8, 0, 2, 3, 5, 6].map(|i| events[i]));
    }
}
