//! Addresses for files, and for objects of a cache, which a trace knows by name only.

use std::hash::Hasher;

use rustc_hash::FxHashMap;

use super::MAX_ADDRESS;
use crate::MAX_TRIM_BYTES;

/// A map of objects to places, which follow one another in the order in which parts of objects first appear. A place is a run of chunks. An
/// object that outgrows its run is moved to a new one, unless the run is the last and grows where it is.
pub(super) struct Objects {
    /// Size of a chunk, bytes.
    chunk: u64,
    /// Whether requests have an offset in their object.
    with_offsets: bool,
    /// The position of each chunk, by object and chunk of it, and the number of chunks in a row from there, itself included.
    places: FxHashMap<(u64, u64), (u64, u64)>,
    /// The chunk after the last one in use.
    end: u64,
}

impl Objects {
    pub(crate) fn new(chunk: u64, with_offsets: bool) -> Self {
        Self { chunk, with_offsets, places: FxHashMap::default(), end: 0 }
    }

    /// Returns the address of `bytes` of an object from `offset` on; `None` beyond the end of addresses. A request that straddles two runs
    /// is moved back to the end of the first, if it fits there.
    pub(crate) fn place(&mut self, object: u64, offset: u64, bytes: u64) -> Option<u64> {
        // A request that moves nothing, or is refused for its size, needs no place.
        if bytes == 0 || bytes > MAX_TRIM_BYTES {
            return Some(0);
        }
        let last = offset.checked_add(bytes)? - 1;
        if last >= MAX_ADDRESS {
            return None;
        }
        let first = offset / self.chunk;
        let wanted = last / self.chunk - first + 1;
        let (start, run) = match self.places.get(&(object, first)) {
            Some(&(start, run)) if run >= wanted => (start, run),
            Some(&(start, run)) if start + run == self.end => {
                self.set(object, first, start, wanted)?;
                (start, wanted)
            }
            Some(&(start, run)) if bytes <= run * self.chunk => (start, run),
            _ => {
                let start = self.end;
                self.set(object, first, start, wanted)?;
                (start, wanted)
            }
        };
        let within = (offset % self.chunk).min(run * self.chunk - bytes);
        Some(start * self.chunk + within)
    }

    /// Puts `chunks` chunks of an object, from `first` on, in a row from `start` on; the end of the row has not been used before.
    fn set(&mut self, object: u64, first: u64, start: u64, chunks: u64) -> Option<()> {
        if (start.checked_add(chunks)?).checked_mul(self.chunk)? > MAX_ADDRESS {
            return None;
        }
        // Without offsets only the beginning of an object is ever asked for.
        for i in 0..if self.with_offsets { chunks } else { 1 } {
            self.places.insert((object, first + i), (start + i, chunks - i));
        }
        self.end = self.end.max(start + chunks);
        Some(())
    }
}

/// Returns a number for the name of an object. Two different names have the same number once in 2^64 pairs.
pub(super) fn object_of(name: &[u8]) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(name);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_lie_one_behind_the_other() {
        let mut objects = Objects::new(4096, false);
        assert_eq!(objects.place(7, 0, 5_000), Some(0));
        assert_eq!(objects.place(9, 0, 1), Some(8192));
        assert_eq!(objects.place(7, 0, 8192), Some(0));
        // The object has outgrown its place.
        assert_eq!(objects.place(7, 0, 8193), Some(12_288));
        assert_eq!(objects.place(9, 0, 4096), Some(8192));
        assert_eq!(objects.place(1, 0, 0), Some(0));
        assert_eq!(objects.place(1, MAX_ADDRESS, 1), None);
    }

    #[test]
    fn files_keep_what_is_together_together() {
        const MIB: u64 = 1 << 20;
        let mut objects = Objects::new(MIB, true);
        assert_eq!(objects.place(1, 5 * MIB + 4096, 4096), Some(4096));
        // The file grows at its end, and its place does, too.
        assert_eq!(objects.place(1, 6 * MIB - 4096, 8192), Some(MIB - 4096));
        assert_eq!(objects.place(1, 6 * MIB, 4096), Some(MIB));
        assert_eq!(objects.place(2, 0, 4096), Some(2 * MIB));
        // From here on the place does not grow: a request that straddles two is moved back, and one that fits nowhere gets a place of its
        // own.
        assert_eq!(objects.place(1, 7 * MIB - 4096, 8192), Some(2 * MIB - 8192));
        assert_eq!(objects.place(1, 6 * MIB, 2 * MIB), Some(3 * MIB));
        assert_eq!(objects.place(1, 6 * MIB, 4096), Some(3 * MIB));
    }
}
