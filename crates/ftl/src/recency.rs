//! An order of numbered slots from which any slot can be taken. It is a queue, or an order of use if a slot that is used goes to the end.

const NONE: u32 = u32::MAX;

/// An order of slots, each at most once in it. Every operation takes the same time, however many slots there are.
#[derive(Debug)]
pub struct Recency {
    /// For each slot the one before it and the one after it.
    links: Vec<(u32, u32)>,
    oldest: u32,
    newest: u32,
    len: u32,
}

impl Default for Recency {
    fn default() -> Self {
        Self { links: Vec::new(), oldest: NONE, newest: NONE, len: 0 }
    }
}

impl Recency {
    /// Returns the number of slots in the order.
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether the order has no slots.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the first slot.
    #[inline]
    pub fn oldest(&self) -> Option<u32> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    /// Puts a slot that is not in the order at its end.
    pub fn push(&mut self, slot: u32) {
        if self.links.len() <= slot as usize {
            self.links.resize(slot as usize + 1, (NONE, NONE));
        }
        self.links[slot as usize] = (self.newest, NONE);
        match self.newest {
            NONE => self.oldest = slot,
            newest => self.links[newest as usize].1 = slot,
        }
        self.newest = slot;
        self.len += 1;
    }

    /// Takes a slot out of the order.
    pub fn remove(&mut self, slot: u32) {
        let (before, after) = self.links[slot as usize];
        match before {
            NONE => self.oldest = after,
            before => self.links[before as usize].1 = after,
        }
        match after {
            NONE => self.newest = before,
            after => self.links[after as usize].0 = before,
        }
        self.len -= 1;
    }

    /// Takes the first slot out of the order.
    pub fn pop(&mut self) -> Option<u32> {
        let slot = self.oldest()?;
        self.remove(slot);
        Some(slot)
    }

    /// Moves a slot of the order to its end.
    pub fn renew(&mut self, slot: u32) {
        self.remove(slot);
        self.push(slot);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use softsense_base::{Purpose, Stream};

    use super::*;

    /// Is the order that of a plain list, whatever operations are done?
    #[test]
    fn order_is_that_of_a_list() {
        let stream = Stream::new(1, Purpose::Data);
        let (mut order, mut list) = (Recency::default(), VecDeque::new());
        for step in 0..4000 {
            let slot = (stream.bits(step, 0) % 40) as u32;
            let at = list.iter().position(|&other| other == slot);
            match (stream.bits(step, 1) % 4, at) {
                (0, _) => assert_eq!(order.pop(), list.pop_front()),
                (1, Some(at)) => {
                    order.remove(slot);
                    list.remove(at);
                }
                (_, Some(at)) => {
                    order.renew(slot);
                    list.remove(at);
                    list.push_back(slot);
                }
                (_, None) => {
                    order.push(slot);
                    list.push_back(slot);
                }
            }
            assert_eq!((order.len(), order.oldest()), (list.len(), list.front().copied()));
            assert_eq!(order.is_empty(), list.is_empty());
        }
    }
}
