//! The page-mapped flash translation layer: where each codeword lies, which block is written next,
//! and which block garbage collection takes. It decides; it takes no time. The engine calls
//! it and turns what it says into operations.
//!
//! Every access is O(1), but for the victim search, which depends on the rule for victims:
//! a look at one superblock in 32 of a set, and at 32 more, for the greedy one.
//!
//! What is written, collected and erased together is a superblock, and what is programmed at once a group, or, where its
//! codewords are not interleaved, one page of it (see [`crate::geometry`]). Without interleaving all three are one: a
//! superblock is a block, a group a page.
//!
//! Which pages of its block a codeword is in, [`BlockLayout`] says, by the P/E cycles of the block: how much a page holds may
//! change with age, and units may cross from a page to the next. Places, capacity and what a read senses follow from it.

mod addresses;
mod bad_blocks;
mod collecting;
mod copies;
mod entries;
mod full_planes;
mod groups;
mod large_array;
mod mapping_cache;
mod observed_rates;
mod parity;
mod pass_through;
mod placement;
mod precondition;
mod read_counts;
mod read_reclaim;
mod reads;
mod slc_cache;
mod space_saving;
mod victims;
mod writing;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use softsense_base::{OwnName, Result};
use softsense_link::{ByAge, OwnCost};
use softsense_nand::ReadDisturb;

use crate::checked::CheckedConfig;
use crate::config::{InterleavedGroups, PlaneChoice, ReadReclaimSpec, Remainder};
use crate::geometry::Geometry;
use crate::own::{AtWork, ChooseVictim, PlaceWrites};
use crate::start_ages::StartAges;
use addresses::Addresses;
use bad_blocks::BadBlocks;
use copies::Copies;
use full_planes::FullPlanes;
use large_array::LargeArray;
use observed_rates::ObservedRates;
use parity::Stripes;
use pass_through::PassThrough;
use placement::OwnPlacement;
use precondition::{Device, Start};
use read_counts::ReadCounts;
use read_reclaim::ReadReclaim;
use slc_cache::SlcCache;
use victims::{SharedRule, VictimRule, Victims};

pub use crate::format::{BlockLayout, Piece};
pub use bad_blocks::BadBlockCounts;
pub use collecting::ANY_VICTIM;
pub use mapping_cache::{Evicted, MappingCache};
pub use precondition::steady_state_victim_fraction;
pub use read_reclaim::Reclaim;

/// A logical codeword number.
pub type Lcn = u64;
/// A place of a codeword in flash (see [`crate::geometry`]).
pub type Place = u64;

const NOWHERE: u32 = u32::MAX;

/// What the map says of a logical codeword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entry {
    Nowhere,
    /// In a slot of the controller's memory.
    Memory(u32),
    Flash(Place),
}

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

/// The current data of a place: whose it is, and what the map says of that as long as it is current.
#[derive(Debug, Clone, Copy)]
pub struct Held {
    /// The logical codeword.
    pub lcn: Lcn,
    entry: u64,
}

/// Who writes a page. Each has an open superblock of its own in every set, so that data which garbage
/// collection has found to be cold stays apart.
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
    /// All of them, in their order.
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

    /// Whether it is the host.
    fn is_host(self) -> bool {
        matches!(self, Self::Host | Self::HostPlain | Self::Slc | Self::SlcPlain)
    }
}

/// Pages that are read or programmed together. With interleaving, pages of the same index in the blocks of a superblock: all of
/// them, which hold interleaved codewords, or a single one. Without, a page of a superblock, or several of a read whose units cross
/// pages. [`Geometry::turn`] says where they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Group {
    /// The set of planes.
    pub set: u32,
    /// The superblock.
    pub superblock: u32,
    /// The index of the pages in their blocks; without interleaving, that of the page, or of the first of several, in the superblock.
    pub page: u32,
    /// A bit for each member of the set that has a page here; without interleaving for each page from the first on.
    members: u32,
    /// How many those are.
    pages: u8,
    /// Whether their cells hold one bit.
    slc: bool,
}

impl Group {
    /// Members of the set that have a page here, or pages from the first on.
    #[inline]
    pub fn members(self) -> impl Iterator<Item = u32> {
        ones(self.members)
    }

    /// Whether one has a page here.
    #[inline]
    pub fn has(self, member: u32) -> bool {
        self.members >> member & 1 == 1
    }

    /// How many those are.
    #[inline]
    pub fn pages(self) -> u32 {
        u32::from(self.pages)
    }

    /// Whether their cells hold one bit.
    #[inline]
    pub fn slc(self) -> bool {
        self.slc
    }

    /// The first of the members.
    #[inline]
    pub fn first(self) -> u32 {
        self.members.trailing_zeros()
    }
}

/// The indices of the ones of a mask.
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

/// What the FTL knows of a superblock.
#[derive(Debug, Clone, Default)]
struct Block {
    /// Where the victim rule goes by that, since when it has had so many valid codewords; 0 of one that it does not hold.
    since: u64,
    /// Codewords that the map points at.
    valid: u32,
    /// Erases since the start of the run.
    erases: u32,
    /// Reads on their way, which an erase must wait for.
    reads: u32,
    /// Whether the victim rule holds it.
    closed: bool,
    /// Whether its codewords are divided among its blocks.
    interleaved: bool,
    /// Whether its cells hold one bit.
    slc: bool,
}

/// Laid out as written: what every write looks at is in the first two lines of the CPU's caches.
#[derive(Debug)]
#[repr(C, align(64))]
struct PlaneSet {
    /// Whether codewords are interleaved here.
    interleaves: bool,
    /// Whether the host may program no page here now, but for those of the SLC cache.
    held_back: bool,
    /// Superblocks that garbage collection has taken and not erased yet.
    being_collected: u32,
    victims: Victims,
    /// The open superblock of each [`Writer`], and how many of its pages have been given out. Members take turns.
    open: [Option<(u32, u32)>; Writer::COUNT],
    free: std::collections::VecDeque<u32>,
    /// The open superblocks of the host's placement handles from 1 on: that of 0 is among those above.
    open_for_handles: Vec<Option<(u32, u32)>>,
}

/// How P/E cycles differ between superblocks, those before the run among them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PeSpread {
    /// Of the least worn one.
    pub least: u32,
    /// Their mean.
    pub mean: f64,
    /// Of the most worn one.
    pub most: u32,
    /// By how many the most and the least worn one of a set differ, at most: what levelling bounds.
    pub widest_of_set: u32,
}

/// Static wear levelling of a set.
#[derive(Debug, Clone, Default)]
struct Levelling {
    /// Closed superblocks by their P/E cycles.
    closed: BTreeSet<(u32, u32)>,
    /// P/E cycles of the most worn superblock.
    most_pe_cycles: u32,
    /// Whether the last victim was taken to level wear.
    levelled: bool,
}

/// The page map.
#[derive(Debug)]
pub struct PageMap {
    geometry: Geometry,
    gc_low_watermark_blocks: usize,
    gc_high_watermark_blocks: usize,
    /// Free superblocks of a set that the steady state begins with.
    free_at_start: Option<usize>,
    /// Free superblocks of a set that are left to collection.
    kept_for_collection: usize,
    /// Where all was before the run. What follows is 0 where that still holds.
    start: Start,
    /// Of each logical codeword: 0, 1 for nowhere, from 2 on slots of the controller's memory, from `first_place` on places.
    map: LargeArray,
    first_place: u64,
    /// Logical codewords, with those of translation pages.
    codewords: u64,
    /// The logical codeword that was last written at each place, and one more. It may be stale: then its map entry says
    /// something else.
    written: LargeArray,
    /// When each page was written, in seconds of the run and one more. Absent where nobody asks.
    written_s: Option<LargeArray>,
    /// Absent where reads disturb no cells.
    read_counts: Option<ReadCounts>,
    /// Absent where reads of closed superblocks lead to nothing.
    read_reclaim: Option<ReadReclaim>,
    /// Absent where pass-through voltages are nominal.
    pass_through: Option<PassThrough>,
    /// Absent where no page is copied within its plane.
    copies: Option<Copies>,
    /// Absent where all cells hold all their bits.
    slc_cache: Option<SlcCache>,
    /// Absent where all blocks work.
    bad_blocks: Option<BadBlocks>,
    /// Pages of each block whose program has ended. Programs of a block end in order. Of an interleaved superblock,
    /// those whose whole group has been programmed.
    programmed: Vec<u16>,
    blocks: Vec<Block>,
    sets: Vec<PlaneSet>,
    start_ages: StartAges,
    /// P/E cycles that an erase counts as.
    pe_cycles_per_erase: u32,
    /// Of a block, or of a superblock whose blocks take turns, by its P/E cycles.
    layouts: ByAge<BlockLayout>,
    /// Absent where code rates follow P/E cycles.
    observed_rates: Option<ObservedRates>,
    /// Whether units cross pages in any block.
    crosses_pages: bool,
    /// Units of data in a codeword, by the P/E cycles of its block.
    units_of_codeword: ByAge<u32>,
    /// P/E cycles of the most worn superblock: of each SSD, so that none has to do with the room of an older one. Where all started
    /// alike it is one for the device, with which arrays of one age give the numbers that they always gave.
    most_pe_cycles: Vec<u32>,
    remainder: Remainder,
    /// Of each set; none where wear is not levelled.
    levelling: Vec<Levelling>,
    wear_levelling_spread: u32,
    addresses: Addresses,
    /// Where the stripe of each pool of each SSD goes on, counted in planes of the pool.
    stripe_at: Vec<usize>,
    /// Absent where a plane that has no room for one write may have room for another.
    full_planes: Option<FullPlanes>,
    /// The placement handle of what the host writes next.
    handle: u8,
    /// Pools of an SSD: a write may go anywhere in that of its logical page.
    pools: u32,
    /// Whether a write goes to the plane with the most free pages.
    to_most_free: bool,
    /// Absent where the config names no rule of the user's own.
    own_victims: Option<SharedRule>,
    /// Likewise.
    own_placement: Option<OwnPlacement>,
    whole_pages: bool,
    serves_in_flight: bool,
    translation_at: u32,
    gain: Gain,
    stripes: Stripes,
}

/// Whether garbage collection gains anything. Where the map is in flash, what it moves has to be noted in translation pages, which
/// may take as much room as it frees; without an end, were it not for this.
#[derive(Debug, Clone, Copy, Default)]
struct Gain {
    /// Pages that it has freed, less those that it and translation pages took, since the host last wrote or forgot something.
    pages: i64,
    /// The most that these have been.
    most_pages: i64,
    /// Superblocks that it has erased since.
    erased_since: usize,
}

impl Gain {
    fn erased(&mut self, pages: u32) {
        self.pages += i64::from(pages);
        self.erased_since += 1;
        if self.pages > self.most_pages {
            (self.most_pages, self.erased_since) = (self.pages, 0);
        }
    }
}

impl PageMap {
    /// An empty device.
    ///
    /// # Errors
    /// When there is not enough memory for its map, or what of the user's own works in it cannot be made.
    pub fn new(config: &CheckedConfig) -> Result<Self> {
        let (geometry, reliability, spec) = (config.geometry(), config.reliability(), &config.config().ftl);
        let codewords = config.user_codewords() + config.translation_codewords();
        let places = geometry.codewords();
        let pages = places / u64::from(geometry.codewords_per_page());
        let first_place = 2 + config.write_buffer_codewords();
        let per_plane = geometry.blocks_per_plane();
        let pools = geometry.pools(spec.allocation_pool.levels());
        let interleaves = |set| {
            geometry.ways() > 1
                && match spec.interleaving.groups {
                    InterleavedGroups::All => true,
                    InterleavedGroups::None => false,
                    InterleavedGroups::WithChipFactorAbove(most) => (0..geometry.ways()).any(|member| {
                        let chip = geometry.chip_of(geometry.plane_of(set, member));
                        reliability.chip_factor(geometry.chip_rank(chip).into()) > most
                    }),
                }
        };
        let own_victims: Option<SharedRule> =
            config.own_victims()?.map(|own| Arc::new(Mutex::new(AtWork::new(own))) as _);
        let set = |set| PlaneSet {
            held_back: false,
            free: (set * per_plane..(set + 1) * per_plane).collect(),
            open: [None; Writer::COUNT],
            open_for_handles: vec![None; config.placement_handles() as usize - 1],
            being_collected: 0,
            victims: Victims::new(
                spec,
                geometry.superblocks_of_set(set),
                geometry.codewords_per_superblock(),
                config.config().seed,
                set,
                own_victims.as_ref(),
            ),
            interleaves: interleaves(set),
        };
        let ages = config.start_ages();
        // Of cells that reads disturb.
        let disturb = reliability.read_disturb();
        let reclaim = disturb.and_then(|disturb| Some((disturb, spec.read_reclaim.as_ref()?)));
        let pass_through = match reclaim {
            Some((disturb, ReadReclaimSpec::Wordline(spec))) if spec.pass_through_reduction > 0.0 => {
                Some(PassThrough::new(geometry, spec.pass_through_reduction, disturb)?)
            }
            _ => None,
        };
        let counts = |disturb: ReadDisturb| ReadCounts::new(geometry, disturb.adjacent_stress, pass_through.is_some());
        let read_counts = disturb.map(counts).transpose()?;
        let levelling = |set| {
            let worn = (set * per_plane..(set + 1) * per_plane).map(|superblock| ages.pe_cycles(superblock));
            Levelling { most_pe_cycles: worn.max().unwrap_or(0), ..Levelling::default() }
        };
        let pools_of_all = (geometry.ssds() * pools) as usize;
        let may_differ =
            spec.slc_cache.is_some() || config.placement_handles() > 1 || (0..geometry.sets()).any(interleaves);
        let mut map = Self {
            gc_low_watermark_blocks: spec.gc_low_watermark_blocks as usize,
            gc_high_watermark_blocks: spec.gc_high_watermark_blocks as usize,
            free_at_start: config.config().precondition.free_blocks.map(|free| free as usize),
            kept_for_collection: config.kept_for_collection() as usize,
            start: Start::Empty,
            map: LargeArray::new(codewords, first_place + places)?.accessed_all_over(),
            first_place,
            codewords,
            written: LargeArray::new(places, codewords)?,
            written_s: (reliability.needs_retention() || read_counts.is_some())
                .then(|| LargeArray::new(pages, u32::MAX.into()))
                .transpose()?,
            read_counts,
            read_reclaim: reclaim
                .map(|(disturb, spec)| ReadReclaim::new(config, spec, disturb.adjacent_stress))
                .transpose()?,
            pass_through,
            copies: Copies::new(config)?,
            slc_cache: SlcCache::new(config),
            bad_blocks: BadBlocks::new(config),
            programmed: vec![0; (geometry.planes() * per_plane) as usize],
            blocks: vec![Block::default(); (geometry.sets() * per_plane) as usize],
            sets: (0..geometry.sets()).map(set).collect(),
            own_victims,
            crosses_pages: config.crosses_pages(),
            units_of_codeword: config.units_of_codeword(),
            observed_rates: reliability
                .observed_switch()
                .map(|switch| ObservedRates::new(switch, config.code_rates(), &config.layouts(), ages, geometry)),
            layouts: config.layouts(),
            start_ages: ages.clone(),
            pe_cycles_per_erase: config.config().flash.pe_cycles_per_erase,
            most_pe_cycles: if ages.differ() {
                (0..geometry.ssds()).map(|ssd| *ages.of_ssd(ssd).end()).collect()
            } else {
                vec![ages.least()]
            },
            remainder: spec.interleaving.remainder,
            levelling: match spec.wear_levelling_spread {
                None => Vec::new(),
                Some(_) => (0..geometry.sets()).map(levelling).collect(),
            },
            wear_levelling_spread: spec.wear_levelling_spread.unwrap_or(u32::MAX),
            addresses: Addresses::new(config),
            handle: 0,
            stripe_at: vec![0; pools_of_all],
            full_planes: (!may_differ)
                .then(|| FullPlanes::new(pools_of_all, (geometry.planes_of_ssd() / pools) as usize)),
            pools,
            to_most_free: spec.plane_choice == PlaneChoice::MostFree,
            own_placement: config.own_placement()?.map(|own| OwnPlacement::new(AtWork::new(own), pools_of_all)),
            whole_pages: spec.whole_pages,
            serves_in_flight: config.config().host.serves_in_flight,
            translation_at: 0,
            gain: Gain::default(),
            stripes: Stripes::default(),
            geometry: geometry.clone(),
        };
        map.set_up_slc_cache();
        Ok(map)
    }

    /// What rules of the user's own have cost so far.
    pub fn own_costs(&self) -> Vec<(OwnName, OwnCost)> {
        let victims = self.own_victims.as_ref().map(|rule| rule.lock().unwrap_or_else(PoisonError::into_inner));
        let victims = victims.map(|rule| rule.cost(<dyn ChooseVictim>::spent_s));
        let placement = self.own_placement.as_ref().map(|own| own.rule.cost(<dyn PlaceWrites>::spent_s));
        victims.into_iter().chain(placement).collect()
    }

    /// Whether rules of the user's own have answered well.
    ///
    /// # Errors
    /// What the first that did not has said.
    pub fn check_own(&self) -> Result<()> {
        if let Some(rule) = &self.own_victims {
            rule.lock().unwrap_or_else(PoisonError::into_inner).check()?;
        }
        self.own_placement.as_ref().map_or(Ok(()), |own| own.rule.check())
    }

    /// Logical codewords of the user.
    pub fn user_codewords(&self) -> u64 {
        self.addresses.user_codewords()
    }

    #[inline]
    fn device(&self) -> Device<'_> {
        Device { geometry: &self.geometry, addresses: &self.addresses }
    }

    /// The logical codeword of a translation page: they follow those of the user.
    #[inline]
    pub fn translation_page(&self, page: u32) -> Lcn {
        self.user_codewords() + u64::from(page)
    }

    /// The number of the translation page whose logical codeword this is.
    #[inline]
    pub fn translation_page_index(&self, lcn: Lcn) -> usize {
        (lcn - self.user_codewords()) as usize
    }

    /// Whether a logical codeword is a translation page.
    #[inline]
    pub fn is_translation_page(&self, lcn: Lcn) -> bool {
        lcn >= self.user_codewords()
    }

    /// The ages at the start of the run.
    #[inline]
    pub fn start_ages(&self) -> &StartAges {
        &self.start_ages
    }

    /// P/E cycles of a superblock: those at the start, and what erases since count as.
    #[inline]
    pub fn pe_cycles(&self, superblock: u32) -> u32 {
        self.start_ages.pe_cycles(superblock).saturating_add(self.pe_cycles_since(superblock))
    }

    /// The age whose code a superblock uses: its P/E cycles, but where codes follow what is observed.
    #[inline]
    pub fn code_age(&self, superblock: u32) -> u32 {
        match &self.observed_rates {
            None => self.pe_cycles(superblock),
            Some(observed) => observed.code_age(superblock),
        }
    }

    /// A decode of a codeword of a superblock has shown so much, or was in vain.
    pub fn see(&mut self, superblock: u32, seen: Option<u32>) {
        self.observed_rates.as_mut().expect("code rates follow what is seen").see(superblock, seen);
    }

    /// Erases after which a block had a stronger code than before, and a weaker one; none where codes follow P/E cycles.
    pub fn rate_switches(&self) -> Option<(u64, u64)> {
        self.observed_rates.as_ref().map(|observed| observed.switches)
    }

    /// Superblocks that use the code of each age, in the order of these, from those of the start on.
    pub fn superblocks_by_code(&self) -> Vec<u64> {
        let ages: Vec<u32> = self.layouts.ages().collect();
        let mut counts = vec![0; ages.len()];
        for superblock in 0..self.blocks.len() as u32 {
            let code_age = self.code_age(superblock);
            counts[ages.iter().position(|&age| code_age <= age).expect("the last holds beyond")] += 1;
        }
        counts
    }

    /// Erases of a superblock since the start of the run.
    #[inline]
    pub fn erases(&self, superblock: u32) -> u32 {
        self.blocks[superblock as usize].erases
    }

    /// Pages of a block of the device that are programmed, how many it has, and whether it is of the SLC cache.
    pub fn programmed_of(&self, block: u32) -> (u32, u32, bool) {
        let slc = self.is_slc(self.geometry.superblock_of(self.geometry.first_place(block, 0)));
        let of_block = if slc { self.geometry.pages_per_slc_block() } else { self.geometry.pages_per_block() };
        (u32::from(self.programmed[block as usize]), of_block, slc)
    }

    /// P/E cycles of superblocks as they are now.
    pub fn wear(&self) -> PeSpread {
        let of_set = |set: u32| self.geometry.superblocks_of_set(set).map(|superblock| self.pe_cycles(superblock));
        let sets = || 0..self.geometry.sets();
        let all = || sets().flat_map(of_set);
        let spread = |set| of_set(set).max().unwrap_or(0) - of_set(set).min().unwrap_or(0);
        PeSpread {
            least: all().min().unwrap_or(0),
            mean: all().map(f64::from).sum::<f64>() / self.blocks.len() as f64,
            most: all().max().unwrap_or(0),
            widest_of_set: sets().map(spread).max().unwrap_or(0),
        }
    }

    /// When a page of the device was written, in seconds of the run; `None` for before the run.
    pub fn written_s(&self, page: u64) -> Option<u32> {
        self.written_s.as_ref().and_then(|written_s| (written_s.get(page) as u32).checked_sub(1))
    }

    /// The SSD that a logical codeword is on.
    #[inline]
    pub fn ssd_of(&self, lcn: Lcn) -> u32 {
        self.addresses.split(lcn).0
    }

    /// Codewords of a range by the SSD they are on: the SSD, and their numbers among those that are on it.
    pub fn by_ssd(&self, codewords: Range<Lcn>) -> impl Iterator<Item = (u32, Range<u64>)> + use<> {
        self.addresses.by_ssd(codewords)
    }

    /// The SSD that a logical codeword of the user is on, and its number among those that are.
    #[inline]
    pub fn split(&self, lcn: Lcn) -> (u32, u64) {
        self.addresses.split(lcn)
    }

    /// The logical codeword with a number among those that are on an SSD.
    #[inline]
    pub fn join(&self, ssd: u32, index: u64) -> Lcn {
        self.addresses.join(ssd, index)
    }

    /// The fewest and the most erases of a superblock since the start of the run.
    pub fn least_and_most_erases(&self) -> (u32, u32) {
        let erases = || self.blocks.iter().map(|block| block.erases);
        (erases().min().unwrap_or(0), erases().max().unwrap_or(0))
    }

    /// Panics unless each superblock is free, open, closed, retired or condemned, and nothing else, as it is when nothing is under way. Slow:
    /// for tests.
    pub fn assert_at_rest(&self) {
        for (set, state) in (0..).zip(&self.sets) {
            let all = self.geometry.superblocks_of_set(set);
            let closed = all.clone().filter(|&superblock| self.blocks[superblock as usize].closed);
            let open = state.open.iter().chain(&state.open_for_handles).flatten().map(|&(superblock, _)| superblock);
            let free = state.free.iter().copied().chain(self.free_of_cache(set));
            let retired = all.clone().filter(|&superblock| self.is_retired(superblock));
            let unsettled = self.unsettled(set);
            let mut found: Vec<u32> = closed.chain(open).chain(free).chain(retired).chain(unsettled).collect();
            found.sort_unstable();
            assert_eq!(found, all.collect::<Vec<_>>(), "superblocks of set {set}");
        }
    }

    /// Panics unless map, owners, valid counts and lists agree. Slow: for tests.
    pub fn assert_consistent(&self) {
        let mut valid = vec![0; self.blocks.len()];
        for lcn in 0..self.codewords {
            if let Entry::Flash(place) = self.entry(lcn) {
                assert_eq!(self.owner(place), Some(lcn), "the owner of place {place}");
                valid[self.geometry.superblock_of(place) as usize] += 1;
            }
        }
        let owned = (0..self.geometry.codewords()).filter(|&place| self.owner(place).is_some()).count();
        assert_eq!(owned, valid.iter().sum::<u32>() as usize, "as many owned places as mapped codewords");
        for (block, entry) in self.blocks.iter().enumerate() {
            assert_eq!(entry.valid, valid[block], "valid codewords of block {block}");
        }
        let mut held: Vec<u32> = self.sets.iter().flat_map(|set| set.victims.held(&self.blocks)).collect();
        held.append(&mut self.closed_slc());
        held.sort_unstable();
        let closed = |superblock: &u32| self.blocks[*superblock as usize].closed;
        let closed: Vec<u32> = (0..self.blocks.len() as u32).filter(closed).collect();
        assert_eq!(held, closed, "the victim rules and the SLC cache hold all closed superblocks, each once");
    }
}

/// Asks the CPU to fetch an entry of `array`, or its first line, where it can be asked.
#[inline(always)]
pub(crate) fn prefetch<T>(array: &[T], index: u64) {
    #[cfg(target_arch = "x86_64")]
    #[allow(unsafe_code, reason = "the intrinsic takes a pointer; a prefetch reads nothing and cannot fault")]
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(array.as_ptr().wrapping_add(index as usize).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (array, index);
}
