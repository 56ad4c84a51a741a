use std::ops::{Deref, DerefMut};

use memmap2::MmapMut;
use softsense_base::{Error, Result};

/// An array of `u32`, one for each codeword or page of a device: gigabytes, accessed at random. It stands
/// in huge pages where the system has them, which saves most of the address translations that such
/// accesses otherwise wait for, and its memory is taken when it is first written.
#[derive(Debug)]
pub(super) struct LargeArray {
    /// Always a whole number of `u32`, aligned to a memory page.
    bytes: MmapMut,
}

impl LargeArray {
    /// An array of zeros.
    pub(super) fn zeros(len: usize) -> Result<Self> {
        // An empty map is refused by some systems.
        let size = len.max(1) * size_of::<u32>();
        let bytes = MmapMut::map_anon(size).map_err(|error| {
            let message =
                format!("found a device whose map takes {size} bytes of memory, which cannot be had: {error}");
            Error::config("geometry", message)
        })?;
        // A system without huge pages does as well, only slower.
        #[cfg(target_os = "linux")]
        let _ = bytes.advise(memmap2::Advice::HugePage);
        Ok(Self { bytes })
    }

    /// An array of `value`s.
    pub(super) fn filled(len: usize, value: u32) -> Result<Self> {
        let mut array = Self::zeros(len)?;
        array.fill(value);
        Ok(array)
    }
}

impl Deref for LargeArray {
    type Target = [u32];
    #[inline(always)]
    fn deref(&self) -> &[u32] {
        bytemuck::cast_slice(&self.bytes)
    }
}

impl DerefMut for LargeArray {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u32] {
        bytemuck::cast_slice_mut(&mut self.bytes)
    }
}
