use std::collections::VecDeque;

use super::{Block, VictimRule};

/// The superblock that was closed longest ago, of those that are worth collecting.
///
/// A victim takes as long as there are older superblocks that are not worth it: none under uniform writes, all that hold cold data
/// where there is much of that.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct Fifo {
    /// In the order in which they were closed.
    queue: VecDeque<u32>,
}

impl VictimRule for Fifo {
    fn closed(&mut self, _: &mut [Block], superblock: u32) {
        self.queue.push_back(superblock);
    }

    fn take(&mut self, blocks: &mut [Block], most: u32) -> Option<u32> {
        let at = self.queue.iter().position(|&superblock| blocks[superblock as usize].valid <= most)?;
        self.queue.remove(at)
    }

    fn withdraw(&mut self, _: &mut [Block], superblock: u32) {
        self.queue.retain(|&held| held != superblock);
    }

    fn held(&self, _: &[Block]) -> Vec<u32> {
        self.queue.iter().copied().collect()
    }
}
