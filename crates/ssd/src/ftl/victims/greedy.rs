use super::{Block, NOWHERE, VictimRule, prefetch};

/// The superblock with the fewest valid codewords; the one that has had so few longest, where several have.
///
/// They stand in circular lists by their number of valid codewords, each in the order in which superblocks came to have so many.
/// A victim takes amortised O(1): the lowest list in use moves down with counts, and up by what was moved down before.
#[derive(Debug, Clone)]
pub(in super::super) struct Greedy {
    /// The block that has had i valid codewords longest.
    heads: Vec<u32>,
    /// No list below this one has a block.
    least: usize,
}

impl Greedy {
    pub(super) fn new(codewords: u32) -> Self {
        Self { heads: vec![NOWHERE; codewords as usize + 1], least: 0 }
    }

    /// Appends a block to the list of its valid count.
    #[inline]
    fn insert(&mut self, blocks: &mut [Block], block: u32) {
        let valid = blocks[block as usize].valid as usize;
        let head = self.heads[valid];
        let (previous, next) = if head == NOWHERE {
            self.heads[valid] = block;
            (block, block)
        } else {
            (blocks[head as usize].previous, head)
        };
        blocks[previous as usize].next = block;
        blocks[next as usize].previous = block;
        let entry = &mut blocks[block as usize];
        (entry.previous, entry.next) = (previous, next);
        self.least = self.least.min(valid);
    }

    #[inline]
    fn remove(&mut self, blocks: &mut [Block], block: u32, list: usize) {
        let Block { previous, next, .. } = blocks[block as usize];
        if next == block {
            self.heads[list] = NOWHERE;
        } else {
            blocks[previous as usize].next = next;
            blocks[next as usize].previous = previous;
            if self.heads[list] == block {
                self.heads[list] = next;
            }
        }
    }
}

impl VictimRule for Greedy {
    fn closed(&mut self, blocks: &mut [Block], superblock: u32) {
        self.insert(blocks, superblock);
    }

    #[inline]
    fn fell(&mut self, blocks: &mut [Block], superblock: u32) {
        let valid = blocks[superblock as usize].valid as usize;
        self.remove(blocks, superblock, valid + 1);
        self.insert(blocks, superblock);
    }

    #[inline]
    fn prefetch_fall(&self, blocks: &[Block], superblock: u32) {
        let Block { valid, previous, next, .. } = blocks[superblock as usize];
        for neighbour in [previous, next, self.heads[(valid as usize).saturating_sub(1)]] {
            prefetch(blocks, neighbour.into());
        }
    }

    fn take(&mut self, blocks: &mut [Block], most: u32) -> Option<u32> {
        while self.least < self.heads.len() && self.heads[self.least] == NOWHERE {
            self.least += 1;
        }
        if self.least > most as usize {
            return None;
        }
        let victim = *self.heads.get(self.least)?;
        self.remove(blocks, victim, self.least);
        Some(victim)
    }

    fn withdraw(&mut self, blocks: &mut [Block], superblock: u32) {
        self.remove(blocks, superblock, blocks[superblock as usize].valid as usize);
    }

    fn held(&self, blocks: &[Block]) -> Vec<u32> {
        let mut held = Vec::new();
        for (valid, &head) in self.heads.iter().enumerate().filter(|&(_, &head)| head != NOWHERE) {
            assert!(valid >= self.least, "a list below the least one");
            let mut block = head;
            loop {
                let entry = &blocks[block as usize];
                assert_eq!(entry.valid as usize, valid, "block {block} in the list of {valid}");
                assert_eq!(blocks[entry.next as usize].previous, block, "links of block {block}");
                held.push(block);
                block = entry.next;
                if block == head {
                    break;
                }
            }
        }
        held
    }
}
