use memmap2::MmapMut;
use rustc_hash::FxHashMap;
use softsense_base::{Error, Result};
use softsense_config::ids::TiSlice;

/// The most bytes of an array in one piece: the size for a drive of 1 TiB in codewords of 4 KiB.
const MOST_WHOLE: u64 = 1 << 30;
/// Numbers in a piece of a larger array: few, as garbage collection changes numbers that are scattered all over.
const PER_PIECE: u64 = 4;

/// Numbers by logical codeword, place or page of a device, all 0 at first, accessed at random. Memory is taken only for numbers that are
/// written.
#[derive(Debug)]
pub(super) enum LargeArray {
    /// One piece: a whole number of `u32`, aligned to a memory page.
    Whole(MmapMut),
    /// Pieces, each of which is made when it is first written.
    Pieces(FxHashMap<u64, [u64; PER_PIECE as usize]>),
}

impl LargeArray {
    /// An array of `len` zeros, in which numbers up to `largest` can be stored.
    pub(super) fn new(len: u64, largest: u64) -> Result<Self> {
        let size = len * size_of::<u32>() as u64;
        if largest > u64::from(u32::MAX) || size > MOST_WHOLE {
            return Ok(Self::Pieces(FxHashMap::default()));
        }
        // Some systems refuse an empty map.
        let bytes = MmapMut::map_anon(size.max(4) as usize).map_err(|error| {
            let message = format!(
                "found a device whose map needs {size} bytes of memory ({error}), expected a device whose map fits: \
                 fewer or larger codewords, or less capacity"
            );
            Error::config("geometry", message)
        })?;
        Ok(Self::Whole(bytes))
    }

    /// The array in huge pages, where the system has them. Huge pages save most of the address translations for which accesses all over
    /// the array wait. For accesses to a few places at a time they would only mean more memory to clear.
    #[must_use]
    pub(super) fn accessed_all_over(self) -> Self {
        // On a system without huge pages the array works as well, only slower.
        #[cfg(target_os = "linux")]
        if let Self::Whole(bytes) = &self {
            let _ = bytes.advise(memmap2::Advice::HugePage);
        }
        self
    }

    /// Whether a 0 takes as much memory as any other number.
    #[inline]
    pub(super) fn is_whole(&self) -> bool {
        matches!(self, Self::Whole(_))
    }

    #[inline(always)]
    pub(super) fn get(&self, index: u64) -> u64 {
        match self {
            Self::Whole(bytes) => u64::from(whole(bytes)[index as usize]),
            Self::Pieces(pieces) => {
                pieces.get(&(index / PER_PIECE)).map_or(0, |piece| piece[(index % PER_PIECE) as usize])
            }
        }
    }

    #[inline(always)]
    pub(super) fn set(&mut self, index: u64, value: u64) {
        match self {
            Self::Whole(bytes) => {
                debug_assert!(value <= u64::from(u32::MAX));
                bytemuck::cast_slice_mut::<u8, u32>(bytes)[index as usize] = value as u32;
            }
            Self::Pieces(pieces) => {
                pieces.entry(index / PER_PIECE).or_default()[(index % PER_PIECE) as usize] = value;
            }
        }
    }

    /// Asks the CPU to fetch a number that will be needed soon, where its address is known.
    #[inline(always)]
    pub(super) fn prefetch(&self, index: u64) {
        if let Self::Whole(bytes) = self {
            super::prefetch(TiSlice::<usize, u32>::from_ref(whole(bytes)), index as usize);
        }
    }
}

#[inline(always)]
fn whole(bytes: &[u8]) -> &[u32] {
    bytemuck::cast_slice(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Do both kinds of array read 0 where nothing was written, and elsewhere the number that was written?
    #[test]
    fn numbers_stay_where_they_were_put() {
        for largest in [u64::from(u32::MAX), u64::from(u32::MAX) + 1] {
            let mut array = LargeArray::new(2000, largest).unwrap();
            assert_eq!(matches!(array, LargeArray::Pieces(_)), largest > u64::from(u32::MAX));
            for index in [0, 511, 512, 1999] {
                array.set(index, largest - index);
            }
            for index in 0..2000 {
                let expected = if [0, 511, 512, 1999].contains(&index) { largest - index } else { 0 };
                assert_eq!(array.get(index), expected);
            }
        }
    }
}
