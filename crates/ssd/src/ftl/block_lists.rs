use super::{Block, NOWHERE};

/// The closed blocks of a plane in circular lists by their number of valid codewords, each
/// in the order in which blocks came to have so many.
#[derive(Debug, Clone, Default)]
pub(super) struct BlockLists {
    /// The block that has had i valid codewords longest.
    heads: Vec<u32>,
    /// No list below this one has a block.
    least: usize,
}

impl BlockLists {
    pub(super) fn new(codewords_per_block: u32) -> Self {
        Self { heads: vec![NOWHERE; codewords_per_block as usize + 1], least: 0 }
    }

    /// Appends a block to the list of its valid count.
    pub(super) fn insert(&mut self, blocks: &mut [Block], block: u32) {
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
        (entry.previous, entry.next, entry.listed) = (previous, next, true);
        self.least = self.least.min(valid);
    }

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
        blocks[block as usize].listed = false;
    }

    /// Moves a block whose valid count has just fallen by one.
    pub(super) fn moved_down(&mut self, blocks: &mut [Block], block: u32) {
        let valid = blocks[block as usize].valid as usize;
        self.remove(blocks, block, valid + 1);
        self.insert(blocks, block);
    }

    /// Takes out the block that has had the fewest valid codewords longest, if they are fewer than `below`.
    pub(super) fn take_least(&mut self, blocks: &mut [Block], below: u32) -> Option<u32> {
        while self.least < self.heads.len() && self.heads[self.least] == NOWHERE {
            self.least += 1;
        }
        if self.least >= below as usize {
            return None;
        }
        let block = self.heads[self.least];
        self.remove(blocks, block, self.least);
        Some(block)
    }

    /// Takes a block out that is in a list.
    pub(super) fn take(&mut self, blocks: &mut [Block], block: u32) {
        self.remove(blocks, block, blocks[block as usize].valid as usize);
    }

    pub(super) fn assert_consistent(&self, blocks: &[Block]) {
        for (valid, &head) in self.heads.iter().enumerate().filter(|&(_, &head)| head != NOWHERE) {
            assert!(valid >= self.least, "a list below the least one");
            let mut block = head;
            loop {
                let entry = &blocks[block as usize];
                assert!(entry.listed && entry.valid as usize == valid, "block {block} in the list of {valid}");
                assert_eq!(blocks[entry.next as usize].previous, block, "links of block {block}");
                block = entry.next;
                if block == head {
                    break;
                }
            }
        }
    }
}
