//! The event queue: what happens next, and in which order.
//!
//! Events happen in order of time; events at the same instant happen in the order in which they were
//! scheduled. A request's arrival counts as scheduled when the request before it arrived.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use softsense_base::Ns;

/// Something that ends, or is due, at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A busy unit (plane or die) has ended the sensing, program, erase or reset it was at.
    ArrayDone {
        /// The unit.
        unit: u32,
    },
    /// The bus of a channel has ended a transfer.
    TransferDone {
        /// The channel.
        channel: u32,
    },
    /// A decoder has ended the decode of a codeword.
    DecodeDone {
        /// The read operation.
        read: u32,
        /// The codeword's slot in its page.
        slot: u32,
    },
    /// Codewords of a request have been moved between host and controller memory.
    MemoryDone {
        /// The request.
        request: u32,
        /// How many codewords.
        codewords: u32,
    },
}

/// When an event happens, and its rank among those of the same instant.
pub type Key = u128;

/// The instant of a key.
pub fn instant(key: Key) -> Ns {
    Ns((key >> 64) as u64)
}

#[derive(Debug)]
struct Entry {
    key: Key,
    event: Event,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

/// The event queue.
#[derive(Debug, Default)]
pub struct EventQueue {
    heap: BinaryHeap<Reverse<Entry>>,
    scheduled: u64,
}

impl EventQueue {
    /// Gives out the key of something due at `at`, scheduled now.
    #[inline]
    pub fn key(&mut self, at: Ns) -> Key {
        self.scheduled += 1;
        (u128::from(at.0) << 64) | u128::from(self.scheduled)
    }

    /// Schedules an event and returns its key.
    #[inline]
    pub fn schedule(&mut self, at: Ns, event: Event) -> Key {
        let key = self.key(at);
        self.heap.push(Reverse(Entry { key, event }));
        key
    }

    /// The key of the next event.
    #[inline]
    pub fn next_key(&self) -> Option<Key> {
        self.heap.peek().map(|Reverse(entry)| entry.key)
    }

    /// Takes the next event.
    #[inline]
    pub fn pop(&mut self) -> Option<(Key, Event)> {
        self.heap.pop().map(|Reverse(entry)| (entry.key, entry.event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_one_instant_happen_in_the_order_of_scheduling() {
        let mut queue = EventQueue::default();
        for (at, unit) in [(5, 0), (3, 1), (5, 2), (3, 3), (4, 4), (3, 5)] {
            queue.schedule(Ns(at), Event::ArrayDone { unit });
        }
        let order: Vec<_> = std::iter::from_fn(|| queue.pop())
            .map(|(key, event)| match event {
                Event::ArrayDone { unit } => (instant(key).0, unit),
                _ => unreachable!(),
            })
            .collect();
        assert_eq!(order, [(3, 1), (3, 3), (3, 5), (4, 4), (5, 0), (5, 2)]);
    }
}
