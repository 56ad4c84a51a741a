//! The footprint of a trace: the part of its devices that it touches.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

/// Logarithm of the unit of the footprint in bytes, to base 2.
const UNIT_BITS: u32 = 12;
/// Logarithm of the number of units in a chunk, to base 2.
const CHUNK_BITS: u32 = 12;

/// A hasher for keys that are spread already: one multiplication mixes them.
#[derive(Default)]
struct ChunkHasher(u64);

impl Hasher for ChunkHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, key: u64) {
        let mixed = (self.0 ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }
}

/// A bitmap of the units of 4 KiB that were touched, in chunks of 4096 units (16 MiB of addresses, 512 B of memory).
#[derive(Default)]
pub(super) struct Footprint {
    chunks: Vec<[u64; 64]>,
    index: HashMap<u64, u32, BuildHasherDefault<ChunkHasher>>,
    last_key: u64,
    last: usize,
    /// Runs of chunks that large requests touched whole: the first chunk of each run, and the chunk after its last. Runs are not adjacent.
    whole: BTreeMap<u64, u64>,
}

impl Footprint {
    #[inline(always)]
    fn chunk(&mut self, key: u64) -> &mut [u64; 64] {
        if key != self.last_key || self.chunks.is_empty() {
            let next = self.chunks.len();
            self.last = *self.index.entry(key).or_insert(next as u32) as usize;
            self.last_key = key;
            if self.last == next {
                self.chunks.push([0; 64]);
            }
        }
        &mut self.chunks[self.last]
    }

    /// Marks a range of bytes of one address space. `bytes` is not zero.
    #[inline(always)]
    pub(crate) fn touch(&mut self, space: u64, offset: u64, bytes: u64) {
        let first = offset >> UNIT_BITS;
        let last = (offset + bytes - 1) >> UNIT_BITS;
        if last - first < 2 << CHUNK_BITS {
            return self.touch_units(space, first, last);
        }
        // Chunks at both ends are marked unit by unit. Whole chunks between them are kept as a range, which takes no memory for each.
        let (from, to) = ((first >> CHUNK_BITS) + 1, last >> CHUNK_BITS);
        self.touch_units(space, first, (from << CHUNK_BITS) - 1);
        self.touch_units(space, to << CHUNK_BITS, last);
        self.touch_whole(space << 36 | from, space << 36 | to);
    }

    /// Marks all chunks from `from` up to, but not including, `to`.
    fn touch_whole(&mut self, mut from: u64, mut to: u64) {
        while let Some((&start, &end)) = self.whole.range(..=to).next_back().filter(|&(_, &end)| end >= from) {
            (from, to) = (from.min(start), to.max(end));
            self.whole.remove(&start);
        }
        self.whole.insert(from, to);
    }

    fn is_whole(&self, key: u64) -> bool {
        self.whole.range(..=key).next_back().is_some_and(|(_, &end)| key < end)
    }

    #[inline(always)]
    fn touch_units(&mut self, space: u64, first: u64, last: u64) {
        let mut word = first >> 6;
        let last_word = last >> 6;
        let mut mask = u64::MAX << (first & 63);
        loop {
            if word == last_word {
                mask &= u64::MAX >> (63 - (last & 63));
            }
            // Addresses end at 2^60, so chunks take 36 bits.
            self.chunk(space << 36 | word >> 6)[(word & 63) as usize] |= mask;
            if word == last_word {
                return;
            }
            word += 1;
            mask = u64::MAX;
        }
    }

    pub(crate) fn touched_first_unit(&self, space: u64) -> bool {
        let key = space << 36;
        self.is_whole(key) || self.index.get(&key).is_some_and(|&chunk| self.chunks[chunk as usize][0] & 1 == 1)
    }

    pub(crate) fn bytes(&self) -> u64 {
        let marked =
            |chunk: u32| self.chunks[chunk as usize].iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        let in_part: u64 =
            self.index.iter().filter(|&(&key, _)| !self.is_whole(key)).map(|(_, &chunk)| marked(chunk)).sum();
        let whole: u64 = self.whole.iter().map(|(from, to)| to - from).sum();
        (in_part + (whole << CHUNK_BITS)) << UNIT_BITS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Does the bitmap count what a set counts, across words, chunks and spaces?
    #[test]
    fn the_footprint_counts_distinct_units() {
        let mut footprint = Footprint::default();
        let mut set = HashSet::new();
        let mut state = 1u64;
        for _ in 0..5_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (space, offset, bytes) = ((state >> 60) & 3, (state >> 20) % (1 << 26), 1 + (state >> 33) % 600_000);
            footprint.touch(space, offset, bytes);
            set.extend((offset / 4096..=(offset + bytes - 1) / 4096).map(|unit| (space, unit)));
        }
        assert_eq!(footprint.bytes(), set.len() as u64 * 4096);
    }

    /// Does the bitmap count large requests, which mark whole chunks, in the same way, and does a TiB take no more memory than its ends?
    #[test]
    fn the_footprint_of_large_requests_is_small() {
        let mut footprint = Footprint::default();
        let mut set = HashSet::new();
        let mut state = 7u64;
        for i in 0..400u64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let most = if i.is_multiple_of(3) { 1 << 28 } else { 1 << 22 };
            let (space, offset, bytes) = ((state >> 60) & 1, (state >> 20) % (1 << 33), 1 + (state >> 33) % most);
            footprint.touch(space, offset, bytes);
            set.extend((offset / 4096..=(offset + bytes - 1) / 4096).map(|unit| (space, unit)));
            assert_eq!(footprint.touched_first_unit(space), set.contains(&(space, 0)));
        }
        assert_eq!(footprint.bytes(), set.len() as u64 * 4096);
        let before = footprint.chunks.len();
        footprint.touch(2, 4096, 1 << 40);
        assert_eq!(footprint.chunks.len(), before + 2);
        assert_eq!(footprint.bytes(), (set.len() as u64 + (1 << 28)) * 4096);
    }
}
