use std::collections::VecDeque;

use softsense_config::ids::{Superblock, TiVec};

use super::{SuperblockState, VictimRule};

/// The superblock that was closed longest ago, of those that are worth collecting.
///
/// Finding a victim takes a look at each older superblock that is not worth collecting. There are none under uniform writes; where much
/// data is cold, they are all superblocks that hold it.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct Fifo {
    /// Held superblocks in the order in which they were closed.
    queue: VecDeque<Superblock>,
}

impl VictimRule for Fifo {
    fn closed(&mut self, _: &mut TiVec<Superblock, SuperblockState>, superblock: Superblock) {
        self.queue.push_back(superblock);
    }

    fn take(&mut self, blocks: &mut TiVec<Superblock, SuperblockState>, most: u32) -> Option<Superblock> {
        let at = self.queue.iter().position(|&superblock| blocks[superblock].valid <= most)?;
        self.queue.remove(at)
    }

    fn withdraw(&mut self, _: &mut TiVec<Superblock, SuperblockState>, superblock: Superblock) {
        self.queue.retain(|&held| held != superblock);
    }

    fn held(&self, _: &TiVec<Superblock, SuperblockState>) -> Vec<Superblock> {
        self.queue.iter().copied().collect()
    }
}
