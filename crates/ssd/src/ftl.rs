//! The page-mapped flash translation layer: where each codeword lies, which block is written next,
//! and which block greedy garbage collection takes. It decides; it takes no time. The engine calls
//! it and turns what it says into operations.
//!
//! Every access is O(1), but for the victim search, which is amortised O(1): closed blocks stand in
//! lists by their number of valid codewords.

mod block_lists;
mod large_array;
mod precondition;

use softsense_base::Result;

use crate::config::FtlSpec;
use crate::geometry::Geometry;
use block_lists::BlockLists;
use large_array::LargeArray;

pub use precondition::steady_state_victim_fraction;

/// A logical codeword number.
pub type Lcn = u32;
/// A place of a codeword in flash (see [`crate::geometry`]).
pub type Place = u32;

const NOWHERE: u32 = u32::MAX;
/// Map entries with this bit name a slot of the controller's memory instead of a place in flash.
const IN_MEMORY: u32 = 1 << 31;

/// Where a logical codeword is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Location {
    /// It was never written, or trimmed.
    Unmapped,
    /// In a slot of the controller's write buffer.
    Memory(u32),
    /// Programmed, at this place.
    Flash(Place),
    /// On its way to a place: still in the controller's memory.
    InFlight,
}

/// Who writes a page. Each has an open block of its own in every plane, so that data which garbage
/// collection has found to be cold stays apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writer {
    /// The host.
    Host = 0,
    /// Garbage collection.
    Gc = 1,
}

/// A page that was given out to be programmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenPage {
    /// Its plane.
    pub plane: u32,
    /// Its block, numbered over the device.
    pub block: u32,
    /// Its index in the block.
    pub page: u32,
}

/// What the FTL knows of a block.
#[derive(Debug, Clone, Default)]
struct Block {
    /// Codewords that the map points at.
    valid: u32,
    /// Neighbours in the list of closed blocks with as many valid codewords.
    previous: u32,
    next: u32,
    /// Erases since the start of the run.
    erases: u32,
    /// Pages whose program has ended. Programs of a block end in order.
    programmed: u16,
    /// Reads on their way, which an erase must wait for.
    reads: u32,
    /// Whether it stands in a list, to be chosen as a victim.
    listed: bool,
}

#[derive(Debug, Clone, Default)]
struct Plane {
    free: std::collections::VecDeque<u32>,
    /// The open block and its next page, for each [`Writer`].
    open: [Option<(u32, u32)>; 2],
    closed: BlockLists,
}

/// The page map.
#[derive(Debug)]
pub struct PageMap {
    geometry: Geometry,
    gc_low_watermark_blocks: usize,
    gc_high_watermark_blocks: usize,
    map: LargeArray,
    /// The logical codeword at each place; [`NOWHERE`] where it is stale or was never written.
    owner: LargeArray,
    /// When each page was written, in seconds of the run and one more, so that zero, which fresh
    /// memory is without being touched, means before the run. Absent where nobody asks.
    written_s: Option<LargeArray>,
    blocks: Vec<Block>,
    planes: Vec<Plane>,
    stripe: Vec<u32>,
    stripe_at: usize,
}

impl PageMap {
    /// An empty device of `user_codewords` logical codewords.
    ///
    /// # Errors
    /// When there is not enough memory for its map.
    pub fn new(geometry: &Geometry, spec: &FtlSpec, user_codewords: u64, remember_write_times: bool) -> Result<Self> {
        let places = geometry.codewords() as usize;
        let pages = places / geometry.codewords_per_page() as usize;
        let per_plane = geometry.blocks_per_plane();
        let plane = |plane| Plane {
            free: (plane * per_plane..(plane + 1) * per_plane).collect(),
            open: [None; 2],
            closed: BlockLists::new(geometry.codewords_per_block()),
        };
        Ok(Self {
            gc_low_watermark_blocks: spec.gc_low_watermark_blocks as usize,
            gc_high_watermark_blocks: spec.gc_high_watermark_blocks as usize,
            map: LargeArray::filled(user_codewords as usize, NOWHERE)?,
            owner: LargeArray::filled(places, NOWHERE)?,
            written_s: remember_write_times.then(|| LargeArray::zeros(pages)).transpose()?,
            blocks: vec![Block::default(); (geometry.planes() * per_plane) as usize],
            planes: (0..geometry.planes()).map(plane).collect(),
            stripe: geometry.stripe(&spec.stripe),
            stripe_at: 0,
            geometry: geometry.clone(),
        })
    }

    /// Logical codewords of the device.
    pub fn user_codewords(&self) -> u32 {
        self.map.len() as u32
    }

    /// The block of a place, numbered over the device.
    #[inline]
    pub fn block_of(&self, place: Place) -> u32 {
        place / self.geometry.codewords_per_block()
    }

    /// The page of a place, numbered over the device.
    #[inline]
    pub fn page_of(&self, place: Place) -> u32 {
        place / self.geometry.codewords_per_page()
    }

    /// The plane of a block.
    #[inline]
    pub fn plane_of_block(&self, block: u32) -> u32 {
        block / self.geometry.blocks_per_plane()
    }

    /// The first place of a page.
    #[inline]
    pub fn first_place(&self, page: OpenPage) -> Place {
        (page.block * self.geometry.pages_per_block() + page.page) * self.geometry.codewords_per_page()
    }

    /// Where a logical codeword is.
    #[inline]
    pub fn locate(&self, lcn: Lcn) -> Location {
        let at = self.map[lcn as usize];
        if at == NOWHERE {
            return Location::Unmapped;
        }
        if at & IN_MEMORY != 0 {
            return Location::Memory(at & !IN_MEMORY);
        }
        let page_in_block = at % self.geometry.codewords_per_block() / self.geometry.codewords_per_page();
        if page_in_block < u32::from(self.blocks[self.block_of(at) as usize].programmed) {
            Location::Flash(at)
        } else {
            Location::InFlight
        }
    }

    /// The logical codeword whose current data lies at `place`, if any.
    #[inline]
    pub fn owner(&self, place: Place) -> Option<Lcn> {
        let lcn = self.owner[place as usize];
        (lcn != NOWHERE).then_some(lcn)
    }

    /// Erases of a block since the start of the run.
    #[inline]
    pub fn erases(&self, block: u32) -> u32 {
        self.blocks[block as usize].erases
    }

    /// When a page of the device was written, in seconds of the run; `None` for before the run.
    pub fn written_s(&self, page: u32) -> Option<u32> {
        self.written_s.as_ref().and_then(|written_s| written_s[page as usize].checked_sub(1))
    }

    /// Asks the CPU to fetch the map entry of `lcn`, which will be needed soon. In a device of many
    /// gigabytes it is in no cache, and waiting for such entries is a third of the time of overwriting.
    #[inline]
    pub fn prefetch(&self, lcn: Lcn) {
        prefetch(&self.map, lcn);
    }

    /// The same for what overwriting `lcn` will change besides: its owner entry and its block.
    #[inline]
    pub fn prefetch_owner_and_block(&self, lcn: Lcn) {
        let place = self.map[lcn as usize];
        if place & IN_MEMORY == 0 {
            prefetch(&self.owner, place);
            prefetch(&self.blocks, self.block_of(place));
        }
    }

    /// The same for the owner entries of a block that will be read through.
    pub fn prefetch_owners(&self, block: u32) {
        const PER_CACHE_LINE: usize = 64 / size_of::<u32>();
        let first = block * self.geometry.codewords_per_block();
        for place in (first..first + self.geometry.codewords_per_block()).step_by(PER_CACHE_LINE) {
            prefetch(&self.owner, place);
        }
    }

    /// Forgets the current data of a logical codeword.
    pub fn unmap(&mut self, lcn: Lcn) {
        self.point(lcn, NOWHERE);
    }

    /// Notes that the current data of `lcn` is in slot `slot` of the controller's memory.
    pub fn hold_in_memory(&mut self, lcn: Lcn, slot: u32) {
        self.point(lcn, IN_MEMORY | slot);
    }

    #[inline]
    fn point(&mut self, lcn: Lcn, to: u32) {
        let from = std::mem::replace(&mut self.map[lcn as usize], to);
        if from & IN_MEMORY == 0 {
            self.invalidate(from);
        }
    }

    #[inline]
    fn invalidate(&mut self, place: Place) {
        self.owner[place as usize] = NOWHERE;
        let block = self.block_of(place);
        let entry = &mut self.blocks[block as usize];
        entry.valid -= 1;
        if entry.listed {
            let plane = self.plane_of_block(block) as usize;
            self.planes[plane].closed.moved_down(&mut self.blocks, block);
        }
    }

    /// The next page for the host in turn of the stripe, passing over planes with no room; `None`
    /// when no plane has any until garbage collection has freed a block.
    pub fn open_page_for_host(&mut self) -> Option<OpenPage> {
        for _ in 0..self.stripe.len() {
            let plane = self.stripe[self.stripe_at];
            self.stripe_at = if self.stripe_at + 1 == self.stripe.len() { 0 } else { self.stripe_at + 1 };
            if let Some(page) = self.open_page(plane, Writer::Host) {
                return Some(page);
            }
        }
        None
    }

    /// The next page for `writer` in `plane`. The host leaves the last free block to garbage collection.
    pub fn open_page(&mut self, plane: u32, writer: Writer) -> Option<OpenPage> {
        let pages = self.geometry.pages_per_block();
        let state = &mut self.planes[plane as usize];
        let open = &mut state.open[writer as usize];
        let (block, page) = match *open {
            Some(at) => at,
            None => {
                let keep = if writer == Writer::Host { 1 } else { 0 };
                if state.free.len() <= keep {
                    return None;
                }
                (state.free.pop_front().expect("there are free blocks"), 0)
            }
        };
        *open = (page + 1 < pages).then_some((block, page + 1));
        Some(OpenPage { plane, block, page })
    }

    /// Puts `lcn` at `slot` of a page that was given out.
    #[inline]
    pub fn place(&mut self, page: OpenPage, slot: u32, lcn: Lcn) {
        let place = self.first_place(page) + slot;
        self.point(lcn, place);
        self.owner[place as usize] = lcn;
        self.blocks[page.block as usize].valid += 1;
    }

    /// Notes that the program of a page has ended, at `now_s` seconds of the run.
    pub fn programmed(&mut self, page: OpenPage, now_s: u64) {
        let entry = &mut self.blocks[page.block as usize];
        debug_assert_eq!(u32::from(entry.programmed), page.page, "programs of a block end in order");
        entry.programmed = page.page as u16 + 1;
        if let Some(written_s) = &mut self.written_s {
            let index = (page.block * self.geometry.pages_per_block() + page.page) as usize;
            written_s[index] = u32::try_from(now_s + 1).unwrap_or(u32::MAX);
        }
        if page.page + 1 == self.geometry.pages_per_block() {
            self.planes[page.plane as usize].closed.insert(&mut self.blocks, page.block);
        }
    }

    /// Whether garbage collection of a plane should begin, or go on once begun.
    #[inline]
    pub fn wants_gc(&self, plane: u32, running: bool) -> bool {
        let free = self.planes[plane as usize].free.len();
        free < if running { self.gc_high_watermark_blocks } else { self.gc_low_watermark_blocks }
    }

    /// Takes the closed block with the fewest valid codewords out of the lists; `None` when collecting
    /// would gain nothing, because no closed block has a page's worth of stale or empty places.
    pub fn take_victim(&mut self, plane: u32) -> Option<u32> {
        let most = self.geometry.codewords_per_block() - self.geometry.codewords_per_page();
        self.planes[plane as usize].closed.take_least(&mut self.blocks, most + 1)
    }

    /// Valid codewords of a block.
    pub fn valid(&self, block: u32) -> u32 {
        self.blocks[block as usize].valid
    }

    /// Notes that a read of a block has begun.
    #[inline]
    pub fn read_begins(&mut self, block: u32) {
        self.blocks[block as usize].reads += 1;
    }

    /// Notes that a read of a block has ended.
    #[inline]
    pub fn read_ends(&mut self, block: u32) {
        self.blocks[block as usize].reads -= 1;
    }

    /// Whether reads of a block are on their way.
    #[inline]
    pub fn is_being_read(&self, block: u32) -> bool {
        self.blocks[block as usize].reads > 0
    }

    /// Notes that a block has been erased: it is free.
    pub fn erased(&mut self, block: u32) {
        let plane = self.plane_of_block(block) as usize;
        let entry = &mut self.blocks[block as usize];
        assert!(entry.valid == 0 && entry.reads == 0 && !entry.listed, "an erased block holds nothing anyone needs");
        entry.erases += 1;
        entry.programmed = 0;
        self.planes[plane].free.push_back(block);
    }

    /// Panics unless map, owners, valid counts and lists agree. Slow: for tests.
    pub fn assert_consistent(&self) {
        let mut valid = vec![0; self.blocks.len()];
        for (lcn, &at) in self.map.iter().enumerate() {
            if at & IN_MEMORY == 0 {
                assert_eq!(self.owner[at as usize], lcn as u32, "the owner of place {at}");
                valid[self.block_of(at) as usize] += 1;
            }
        }
        let owned = self.owner.iter().filter(|&&lcn| lcn != NOWHERE).count();
        assert_eq!(owned, valid.iter().sum::<u32>() as usize, "as many owned places as mapped codewords");
        for (block, entry) in self.blocks.iter().enumerate() {
            assert_eq!(entry.valid, valid[block], "valid codewords of block {block}");
        }
        for plane in &self.planes {
            plane.closed.assert_consistent(&self.blocks);
        }
    }
}

/// Asks the CPU to fetch an entry of `array`, where it can be asked.
#[inline(always)]
fn prefetch<T>(array: &[T], index: u32) {
    #[cfg(target_arch = "x86_64")]
    #[allow(unsafe_code, reason = "the intrinsic takes a pointer; a prefetch reads nothing and cannot fault")]
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(array.as_ptr().wrapping_add(index as usize).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (array, index);
}
