//! The page-mapped flash translation layer (FTL): where each codeword lies, which block is written next, and which block garbage
//! collection takes. The FTL decides, and takes no simulated time. The engine calls it and turns its decisions into operations.
//!
//! Every access is O(1), except the search for a victim, which depends on the rule for victims. The greedy rule looks at one superblock
//! in 32 of a set, and at 32 more.
//!
//! Blocks that are written, collected and erased together are a superblock. Pages that are programmed at once are a group, or one page
//! of it where its codewords are not interleaved (see [`softsense_config::geometry`]). Without interleaving a superblock is one block, and a group
//! is one page, or the pages of a wordline where these are programmed at once.
//!
//! [`BlockLayout`] says which pages of its block a codeword is in. It depends on the P/E cycles of the block: the room of a page may
//! change with age, and units may cross from a page to the next. Places, capacity and the pages that a read senses follow from the
//! layout.

mod addresses;
mod bad_blocks;
mod blocks;
mod collecting;
mod copies;
mod entries;
mod formats;
mod full_planes;
mod groups;
mod large_array;
mod map;
mod mapping_cache;
mod observed_rates;
mod parity;
mod pass_through;
mod placement;
mod precondition;
mod read_counts;
mod read_reclaim;
mod reads;
pub mod recency;
mod slc_cache;
mod space_saving;
mod turns;
mod victims;
mod wear;
mod writing;

use std::ops::Range;

use softsense_base::{OwnName, Result};
use softsense_config::checked::CheckedConfig;
use softsense_config::geometry::Geometry;
use softsense_config::ids::{Block, Lcn, Place, Set, Ssd, Superblock, TiSlice, TiVec};
use softsense_config::own::PlaceWrites;
use softsense_config::start_ages::StartAges;
use softsense_link::OwnCost;

use bad_blocks::BadBlocks;
use blocks::{PlaneSet, State, SuperblockState};
use collecting::{Collector, Gain};
use copies::Copies;
use formats::Formats;
use map::{Entry, Map};
use parity::Stripes;
use reads::Reads;
use slc_cache::SlcCache;
use turns::Turns;
use victims::VictimRule;
use wear::Wear;

pub use bad_blocks::BadBlockCounts;
pub use collecting::ANY_VICTIM;
pub use map::Held;
pub use mapping_cache::{Evicted, MappingCache};
pub use precondition::steady_state_victim_fraction;
pub use read_reclaim::Reclaim;
pub use softsense_config::format::{BlockLayout, Piece};
pub use wear::PeSpread;

/// The location of a logical codeword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Location {
    /// The codeword was never written, or it was trimmed.
    Unmapped,
    /// In a slot of the controller's write buffer.
    Memory(u32),
    /// Programmed, at this place.
    Flash(Place),
    /// Given a place, but not programmed yet: the data is still in the controller's memory.
    InFlight,
}

/// The writer of a page. Each writer has an open superblock of its own in every set, so that data which garbage collection has found to
/// be cold stays apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writer {
    /// The host.
    Host = 0,
    /// Garbage collection.
    Gc = 1,
    /// The host, where what it writes does not fill a group and is not interleaved.
    HostPlain = 2,
    /// The demand-based FTL, which writes translation pages.
    Translation = 3,
    /// Garbage collection of translation pages.
    GcTranslation = 4,
    /// The host, in the SLC cache.
    Slc = 5,
    /// The host, in the SLC cache, where what it writes does not fill a group and is not interleaved.
    SlcPlain = 6,
    /// Folding of the SLC cache.
    Fold = 7,
}

impl Writer {
    const COUNT: usize = 8;
    /// All writers, in the order of their numbers.
    const ALL: [Self; Self::COUNT] = [
        Self::Host,
        Self::Gc,
        Self::HostPlain,
        Self::Translation,
        Self::GcTranslation,
        Self::Slc,
        Self::SlcPlain,
        Self::Fold,
    ];

    /// Whether the writer is the host.
    fn is_host(self) -> bool {
        matches!(self, Self::Host | Self::HostPlain | Self::Slc | Self::SlcPlain)
    }
}

/// Pages that are read or programmed together. With interleaving, they have the same index in the blocks of a superblock: all of them,
/// which hold interleaved codewords, or a single one. Without interleaving, a group is a page of a superblock, the pages of a read whose
/// units cross pages, or those of a wordline that is programmed at once. [`Geometry::turn`] says where the pages are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Group {
    /// The set of planes.
    pub set: Set,
    /// The superblock.
    pub superblock: Superblock,
    /// The index of the pages in their blocks. Without interleaving, the index in the superblock of the page, or of the first of several
    /// pages.
    pub page: u32,
    /// With interleaving, a bit for each member of the set that has a page in the group. Without, a bit for each page, counted from
    /// `page`.
    members: u32,
    /// The number of pages: the bits that are set in `members`.
    pages: u8,
    /// Whether the cells of the pages hold one bit each.
    slc: bool,
}

impl Group {
    /// Members of the set that have a page in the group. Without interleaving, numbers of pages counted from `page`.
    #[inline]
    pub fn members(self) -> impl Iterator<Item = u32> {
        ones(self.members)
    }

    /// Whether a member has a page in the group.
    #[inline]
    pub fn has(self, member: u32) -> bool {
        self.members >> member & 1 == 1
    }

    /// The number of pages.
    #[inline]
    pub fn pages(self) -> u32 {
        u32::from(self.pages)
    }

    /// Whether the cells of the pages hold one bit each.
    #[inline]
    pub fn slc(self) -> bool {
        self.slc
    }

    /// The lowest of the members.
    #[inline]
    pub fn first(self) -> u32 {
        self.members.trailing_zeros()
    }
}

/// The indices of the bits that are set in a mask.
#[inline]
fn ones(mut mask: u32) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let index = mask.trailing_zeros();
            mask &= mask - 1;
            index
        })
    })
}

/// The page map: components that own their fields. A method that needs the fields of several stands here.
#[derive(Debug)]
pub struct PageMap {
    geometry: Geometry,
    map: Map,
    turns: Turns,
    formats: Formats,
    wear: Wear,
    collector: Collector,
    reads: Reads,
    stripes: Stripes,
    /// Pages that were copied within their plane. Absent where no page is.
    copies: Option<Copies>,
    /// The SLC cache. Absent where all cells hold all their bits.
    slc_cache: Option<SlcCache>,
    /// Bad blocks and spares. Absent where all blocks work.
    bad_blocks: Option<BadBlocks>,
    /// For each block, the pages whose program has ended: programs of a block end in order. In an interleaved superblock, the pages
    /// whose whole group has been programmed.
    programmed: TiVec<Block, u16>,
    blocks: TiVec<Superblock, SuperblockState>,
    sets: TiVec<Set, PlaneSet>,
    /// Whether data on its way to flash is read from the controller's memory, and not behind its program.
    serves_in_flight: bool,
}

impl PageMap {
    /// An empty device.
    ///
    /// # Errors
    /// When there is not enough memory for the map, or when a rule of the user's own cannot be made.
    pub fn new(config: &CheckedConfig) -> Result<Self> {
        let geometry = config.geometry();
        let collector = Collector::new(config)?;
        let reads = Reads::new(config)?;
        let set = |set| PlaneSet::new(config, set, collector.own_victims.as_ref());
        let sets: TiVec<Set, PlaneSet> = geometry.all_sets().map(set).collect();
        let may_differ = config.config().ftl.slc_cache.is_some()
            || config.placement_handles() > 1
            || sets.iter().any(|set| set.interleaves);
        let mut map = Self {
            map: Map::new(config, config.reliability().needs_retention() || reads.counts.is_some())?,
            turns: Turns::new(config, may_differ)?,
            formats: Formats::new(config),
            wear: Wear::new(config),
            collector,
            reads,
            stripes: Stripes::default(),
            copies: Copies::new(config)?,
            slc_cache: SlcCache::new(config),
            bad_blocks: BadBlocks::new(config),
            programmed: vec![0; (geometry.planes() * geometry.blocks_per_plane()) as usize].into(),
            blocks: vec![SuperblockState::default(); geometry.superblocks() as usize].into(),
            sets,
            serves_in_flight: config.config().host.serves_in_flight,
            geometry: geometry.clone(),
        };
        map.set_up_slc_cache();
        Ok(map)
    }

    /// The costs so far of the rules of the user's own, each with the rule's name.
    pub fn own_costs(&self) -> Vec<(OwnName, OwnCost)> {
        let placement = self.turns.own.as_ref().map(|own| own.rule.cost(<dyn PlaceWrites>::spent_s));
        self.collector.own_cost().into_iter().chain(placement).collect()
    }

    /// Checks that the rules of the user's own have given valid answers.
    ///
    /// # Errors
    /// The error of the first rule that has not.
    pub fn check_own(&self) -> Result<()> {
        self.collector.check_own()?;
        self.turns.own.as_ref().map_or(Ok(()), |own| own.rule.check())
    }

    /// Logical codewords of the user.
    pub fn user_codewords(&self) -> u64 {
        self.map.addresses.user_codewords()
    }

    /// The logical codeword of a translation page. Translation pages follow the codewords of the user.
    #[inline]
    pub fn translation_page(&self, page: u32) -> Lcn {
        Lcn(self.user_codewords() + u64::from(page))
    }

    /// The number of the translation page whose logical codeword this is.
    #[inline]
    pub fn translation_page_index(&self, lcn: Lcn) -> usize {
        (lcn.0 - self.user_codewords()) as usize
    }

    /// Whether a logical codeword is a translation page.
    #[inline]
    pub fn is_translation_page(&self, lcn: Lcn) -> bool {
        lcn >= Lcn(self.user_codewords())
    }

    /// The ages at the start of the run.
    #[inline]
    pub fn start_ages(&self) -> &StartAges {
        &self.wear.start_ages
    }

    /// P/E cycles of a superblock: those at the start, and those that its erases in the run count as.
    #[inline]
    pub fn pe_cycles(&self, superblock: Superblock) -> u32 {
        self.wear.start_ages.pe_cycles(superblock).saturating_add(self.pe_cycles_since(superblock))
    }

    /// The age whose code a superblock uses: its P/E cycles, unless codes follow observations.
    #[inline]
    pub fn code_age(&self, superblock: Superblock) -> u32 {
        self.formats.code_age(superblock, || self.pe_cycles(superblock))
    }

    /// Notes a decode of a codeword of a superblock: the observed value, or `None` where the decode failed.
    pub fn see(&mut self, superblock: Superblock, seen: Option<u32>) {
        self.formats.see(superblock, seen);
    }

    /// Erases after which a block had a stronger code than before, and erases after which it had a weaker one. `None` where codes follow
    /// P/E cycles.
    pub fn rate_switches(&self) -> Option<(u64, u64)> {
        self.formats.rate_switches()
    }

    /// The number of superblocks that use the code of each age, in ascending order from the ages at the start on.
    pub fn superblocks_by_code(&self) -> Vec<u64> {
        let ages: Vec<u32> = self.formats.layouts().ages().collect();
        let mut counts = vec![0; ages.len()];
        for superblock in Superblock::all(0..self.geometry.superblocks()) {
            let code_age = self.code_age(superblock);
            counts[ages.iter().position(|&age| code_age <= age).expect("the last holds beyond")] += 1;
        }
        counts
    }

    /// Erases of a superblock since the start of the run.
    #[inline]
    pub fn erases(&self, superblock: Superblock) -> u32 {
        self.blocks[superblock].erases
    }

    /// For a block of the device: its programmed pages, its pages, and whether it belongs to the SLC cache.
    pub fn programmed_of(&self, block: Block) -> (u32, u32, bool) {
        let slc = self.is_slc(self.geometry.superblock_of(self.geometry.first_place(block, 0)));
        let of_block = if slc { self.geometry.pages_per_slc_block() } else { self.geometry.pages_per_block() };
        (u32::from(self.programmed[block]), of_block, slc)
    }

    /// The spread of the P/E cycles of superblocks now.
    pub fn wear(&self) -> PeSpread {
        let of_set = |set: Set| self.geometry.superblocks_of_set(set).map(|superblock| self.pe_cycles(superblock));
        let sets = || self.geometry.all_sets();
        let all = || sets().flat_map(of_set);
        let spread = |set| of_set(set).max().unwrap_or(0) - of_set(set).min().unwrap_or(0);
        PeSpread {
            least: all().min().unwrap_or(0),
            mean: all().map(f64::from).sum::<f64>() / self.blocks.len() as f64,
            most: all().max().unwrap_or(0),
            widest_of_set: sets().map(spread).max().unwrap_or(0),
        }
    }

    /// The second of the run in which a page of the device was written; `None` for before the run.
    pub fn written_s(&self, page: u64) -> Option<u32> {
        self.map.written_s(page)
    }

    /// The SSD that a logical codeword is on.
    #[inline]
    pub fn ssd_of(&self, lcn: Lcn) -> Ssd {
        self.map.addresses.split(lcn).0
    }

    /// Splits a range of codewords by SSD: each SSD, and the numbers of the codewords among those on this SSD.
    pub fn by_ssd(&self, codewords: Range<Lcn>) -> impl Iterator<Item = (Ssd, Range<u64>)> + use<> {
        self.map.addresses.by_ssd(codewords)
    }

    /// The SSD that holds a logical codeword of the user, and the number of the codeword among those on this SSD.
    #[inline]
    pub fn split(&self, lcn: Lcn) -> (Ssd, u64) {
        self.map.addresses.split(lcn)
    }

    /// The logical codeword with a given number among those on an SSD.
    #[inline]
    pub fn join(&self, ssd: Ssd, index: u64) -> Lcn {
        self.map.addresses.join(ssd, index)
    }

    /// The fewest and the most erases of a superblock since the start of the run.
    pub fn least_and_most_erases(&self) -> (u32, u32) {
        let erases = || self.blocks.iter().map(|block| block.erases);
        (erases().min().unwrap_or(0), erases().max().unwrap_or(0))
    }

    /// Panics unless each superblock is in exactly one state: free, open, closed, retired or condemned. That holds while no operation is
    /// under way. Slow: for tests.
    pub fn assert_at_rest(&self) {
        for (set, state) in self.geometry.all_sets().zip(&self.sets) {
            let all = self.geometry.superblocks_of_set(set);
            let closed = all.clone().filter(|&superblock| self.blocks[superblock].is_closed());
            let open = state.all_open().map(|(superblock, _)| superblock);
            let free = state.free.iter().copied().chain(self.free_of_cache(set));
            let retired = all.clone().filter(|&superblock| self.is_retired(superblock));
            let unsettled = self.unsettled(set);
            let mut found: Vec<Superblock> = closed.chain(open).chain(free).chain(retired).chain(unsettled).collect();
            found.sort_unstable();
            assert_eq!(found, all.collect::<Vec<_>>(), "superblocks of set {set}");
        }
    }

    /// Panics unless map, owners, valid counts and lists agree. Slow: for tests.
    pub fn assert_consistent(&self) {
        let mut valid: TiVec<Superblock, u32> = vec![0; self.blocks.len()].into();
        for lcn in Lcn::all(0..self.map.codewords) {
            if let Entry::Flash(place) = self.map.entry(&self.geometry, lcn) {
                assert_eq!(self.owner(place), Some(lcn), "the owner of place {place}");
                valid[self.geometry.superblock_of(place)] += 1;
            }
        }
        let owned = (0..self.geometry.codewords()).filter(|&place| self.owner(Place(place)).is_some()).count();
        assert_eq!(owned, valid.iter().sum::<u32>() as usize, "as many owned places as mapped codewords");
        for (superblock, entry) in Superblock::all(0..self.geometry.superblocks()).zip(&self.blocks) {
            assert_eq!(entry.valid, valid[superblock], "valid codewords of superblock {superblock}");
        }
        let mut held: Vec<Superblock> = self.sets.iter().flat_map(|set| set.victims.held(&self.blocks)).collect();
        held.append(&mut self.closed_slc());
        held.sort_unstable();
        let closed = |superblock: &Superblock| self.blocks[*superblock].is_closed();
        let closed: Vec<Superblock> = Superblock::all(0..self.geometry.superblocks()).filter(closed).collect();
        assert_eq!(held, closed, "the victim rules and the SLC cache hold all closed superblocks, each once");
    }
}

/// Asks the CPU to fetch the first cache line of the entry of a part, on CPUs that can be asked.
#[inline(always)]
pub fn prefetch<N: Into<usize>, T>(entries: &TiSlice<N, T>, part: N) {
    #[cfg(target_arch = "x86_64")]
    #[allow(unsafe_code, reason = "the intrinsic takes a pointer; a prefetch reads nothing and cannot fault")]
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(entries.as_ptr().wrapping_add(part.into()).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (entries, part);
}
