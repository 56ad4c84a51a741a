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
pub mod recency;
mod slc_cache;
mod space_saving;
mod victims;
mod writing;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use softsense_base::{OwnName, Result};
use softsense_config::checked::CheckedConfig;
use softsense_config::geometry::Geometry;
use softsense_config::ids::{Block, Lcn, Place, Set, Ssd, Superblock, TiSlice, TiVec};
use softsense_config::own::{AtWork, ChooseVictim, PlaceWrites};
use softsense_config::spec::{InterleavedGroups, PlaneChoice, ReadReclaimSpec, Remainder};
use softsense_config::start_ages::StartAges;
use softsense_link::{ByAge, OwnCost};
use softsense_nand::ReadDisturb;

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

pub use bad_blocks::BadBlockCounts;
pub use collecting::ANY_VICTIM;
pub use mapping_cache::{Evicted, MappingCache};
pub use precondition::steady_state_victim_fraction;
pub use read_reclaim::Reclaim;
pub use softsense_config::format::{BlockLayout, Piece};

const NOWHERE: u32 = u32::MAX;

/// The map entry of a logical codeword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entry {
    Nowhere,
    /// In a slot of the controller's memory, by its number.
    Memory(u32),
    Flash(Place),
}

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

/// The current data of a place: its logical codeword, and the map entry that this codeword has as long as the data is current.
#[derive(Debug, Clone, Copy)]
pub struct Held {
    /// The logical codeword.
    pub lcn: Lcn,
    entry: u64,
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

/// The state of a superblock in the FTL.
#[derive(Debug, Clone, Default)]
struct SuperblockState {
    /// For victim rules that use it: the number of the call at which `valid` last fell, or at which the superblock was closed. 0 while
    /// the rule does not hold the superblock.
    since: u64,
    /// Codewords of the superblock that the map points at.
    valid: u32,
    /// Erases since the start of the run.
    erases: u32,
    /// Reads of the superblock that are under way. An erase must wait for them.
    reads: u32,
    /// Whether the victim rule, or the SLC cache, holds the superblock.
    closed: bool,
    /// Whether its codewords are divided among its blocks.
    interleaved: bool,
    /// Whether cells of the superblock hold one bit each.
    slc: bool,
}

/// The state of a set of planes. The fields are laid out as written: those that every write looks at are in the first two lines of the
/// CPU's caches.
#[derive(Debug)]
#[repr(C, align(64))]
struct PlaneSet {
    /// Whether the set interleaves codewords.
    interleaves: bool,
    /// Whether the host may program no pages of the set now, except in the SLC cache.
    held_back: bool,
    /// Superblocks that garbage collection has taken and not erased yet.
    being_collected: u32,
    victims: Victims,
    /// For each [`Writer`], the open superblock, and how many of its pages have been given out. Members take turns.
    open: [Option<(Superblock, u32)>; Writer::COUNT],
    free: std::collections::VecDeque<Superblock>,
    /// Open superblocks of the host's placement handles from 1 on. That of handle 0 is in `open`.
    open_for_handles: Vec<Option<(Superblock, u32)>>,
}

/// The spread of P/E cycles over superblocks. P/E cycles before the run count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PeSpread {
    /// P/E cycles of the least worn superblock.
    pub least: u32,
    /// Mean P/E cycles over superblocks.
    pub mean: f64,
    /// P/E cycles of the most worn superblock.
    pub most: u32,
    /// The largest difference of P/E cycles between two superblocks of a set, over all sets. Levelling bounds it.
    pub widest_of_set: u32,
}

/// The state of static wear levelling in a set.
#[derive(Debug, Clone, Default)]
struct Levelling {
    /// Closed superblocks, each after its P/E cycles.
    closed: BTreeSet<(u32, Superblock)>,
    /// P/E cycles of the most worn superblock of the set.
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
    /// Free superblocks of each set with which the steady state begins.
    free_at_start: Option<usize>,
    /// Free superblocks of each set that the host and translation pages leave to garbage collection.
    kept_for_collection: usize,
    /// The locations of data before the run. A 0 in `map`, `written` or `written_s` says that the state before the run still holds.
    start: Start,
    /// An entry for each logical codeword: 0 as before the run, 1 for nowhere, from 2 on slots of the controller's memory, from
    /// `first_place` on places.
    map: LargeArray,
    first_place: u64,
    /// The number of logical codewords, translation pages included.
    codewords: u64,
    /// For each place, 1 plus the logical codeword that was last written there. The data may be stale: then the map entry of the
    /// codeword differs.
    written: LargeArray,
    /// For each page, 1 plus the second of the run in which it was written. Absent where neither retention nor read disturb is modelled.
    written_s: Option<LargeArray>,
    /// Sensings of blocks and wordlines. Absent where reads disturb no cells.
    read_counts: Option<ReadCounts>,
    /// Read reclaim. Absent where reads of closed superblocks lead to nothing.
    read_reclaim: Option<ReadReclaim>,
    /// Pass-through voltages of blocks. Absent where they are nominal.
    pass_through: Option<PassThrough>,
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
    start_ages: StartAges,
    /// P/E cycles that an erase counts as.
    pe_cycles_per_erase: u32,
    /// The layout of a block, or of a superblock whose blocks take turns, by P/E cycles.
    layouts: ByAge<BlockLayout>,
    /// Observations that choose code rates. Absent where code rates follow P/E cycles.
    observed_rates: Option<ObservedRates>,
    /// Whether units cross pages in any block.
    crosses_pages: bool,
    /// Units of data in a codeword, by the P/E cycles of its block.
    units_of_codeword: ByAge<u32>,
    /// P/E cycles of the most worn superblock of each SSD, so that the age of one SSD does not change the room of another. One entry for
    /// the device where all blocks started at the same age: results of such arrays stay as they always were.
    most_pe_cycles: Vec<u32>,
    remainder: Remainder,
    /// Wear levelling of each set; empty where wear is not levelled.
    levelling: TiVec<Set, Levelling>,
    wear_levelling_spread: u32,
    addresses: Addresses,
    /// For each pool of each SSD, the plane whose turn is next, as its number among the planes of the pool.
    stripe_at: Vec<usize>,
    /// Planes without room for the host. Absent where a plane that has no room for one write may have room for another.
    full_planes: Option<FullPlanes>,
    /// The placement handle of the data that the host writes next.
    handle: u8,
    /// Pools of an SSD. A write may go to any plane in the pool of its logical page.
    pools: u32,
    /// Whether a write goes to the plane with the most free pages.
    to_most_free: bool,
    /// The user's own rule for victims. Absent where the config names none.
    own_victims: Option<SharedRule>,
    /// The user's own rule for placement. Absent where the config names none.
    own_placement: Option<OwnPlacement>,
    whole_pages: bool,
    serves_in_flight: bool,
    translation_at: u32,
    gain: Gain,
    stripes: Stripes,
}

/// Whether garbage collection gains room. Where the map is in flash, moves have to be noted in translation pages, which may take as much
/// room as collection frees. Collection would then go on without end, were it not for this account.
#[derive(Debug, Clone, Copy, Default)]
struct Gain {
    /// Pages that collection has freed, less those that collection and translation pages took, since the host last wrote or trimmed
    /// data.
    pages: i64,
    /// The greatest value of `pages` so far.
    most_pages: i64,
    /// Superblocks that collection has erased since `pages` was greatest.
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
    /// When there is not enough memory for the map, or when a rule of the user's own cannot be made.
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
            free: geometry.superblocks_of_set(set).collect(),
            open: [None; Writer::COUNT],
            open_for_handles: vec![None; config.placement_handles() as usize - 1],
            being_collected: 0,
            victims: Victims::new(
                spec,
                geometry.superblock_in(set, 0)..geometry.superblock_in(set, per_plane),
                geometry.codewords_per_superblock(),
                config.config().seed,
                set,
                own_victims.as_ref(),
            ),
            interleaves: interleaves(set),
        };
        let ages = config.start_ages();
        // The read disturb of cells, if it is modelled.
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
            let worn = geometry.superblocks_of_set(set).map(|superblock| ages.pe_cycles(superblock));
            Levelling { most_pe_cycles: worn.max().unwrap_or(0), ..Levelling::default() }
        };
        let pools_of_all = (geometry.ssds() * pools) as usize;
        let may_differ =
            spec.slc_cache.is_some() || config.placement_handles() > 1 || geometry.all_sets().any(interleaves);
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
            programmed: vec![0; (geometry.planes() * per_plane) as usize].into(),
            blocks: vec![SuperblockState::default(); geometry.superblocks() as usize].into(),
            sets: geometry.all_sets().map(set).collect(),
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
                geometry.all_ssds().map(|ssd| *ages.of_ssd(ssd).end()).collect()
            } else {
                vec![ages.least()]
            },
            remainder: spec.interleaving.remainder,
            levelling: match spec.wear_levelling_spread {
                None => TiVec::default(),
                Some(_) => geometry.all_sets().map(levelling).collect(),
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

    /// The costs so far of the rules of the user's own, each with the rule's name.
    pub fn own_costs(&self) -> Vec<(OwnName, OwnCost)> {
        let victims = self.own_victims.as_ref().map(|rule| rule.lock().unwrap_or_else(PoisonError::into_inner));
        let victims = victims.map(|rule| rule.cost(<dyn ChooseVictim>::spent_s));
        let placement = self.own_placement.as_ref().map(|own| own.rule.cost(<dyn PlaceWrites>::spent_s));
        victims.into_iter().chain(placement).collect()
    }

    /// Checks that the rules of the user's own have given valid answers.
    ///
    /// # Errors
    /// The error of the first rule that has not.
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
        &self.start_ages
    }

    /// P/E cycles of a superblock: those at the start, and those that its erases in the run count as.
    #[inline]
    pub fn pe_cycles(&self, superblock: Superblock) -> u32 {
        self.start_ages.pe_cycles(superblock).saturating_add(self.pe_cycles_since(superblock))
    }

    /// The age whose code a superblock uses: its P/E cycles, unless codes follow observations.
    #[inline]
    pub fn code_age(&self, superblock: Superblock) -> u32 {
        match &self.observed_rates {
            None => self.pe_cycles(superblock),
            Some(observed) => observed.code_age(superblock),
        }
    }

    /// Notes a decode of a codeword of a superblock: the observed value, or `None` where the decode failed.
    pub fn see(&mut self, superblock: Superblock, seen: Option<u32>) {
        self.observed_rates.as_mut().expect("code rates follow what is seen").see(superblock, seen);
    }

    /// Erases after which a block had a stronger code than before, and erases after which it had a weaker one. `None` where codes follow
    /// P/E cycles.
    pub fn rate_switches(&self) -> Option<(u64, u64)> {
        self.observed_rates.as_ref().map(|observed| observed.switches)
    }

    /// The number of superblocks that use the code of each age, in ascending order from the ages at the start on.
    pub fn superblocks_by_code(&self) -> Vec<u64> {
        let ages: Vec<u32> = self.layouts.ages().collect();
        let mut counts = vec![0; ages.len()];
        for superblock in 0..self.blocks.len() as u32 {
            let code_age = self.code_age(Superblock(superblock));
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
        self.written_s.as_ref().and_then(|written_s| (written_s.get(page) as u32).checked_sub(1))
    }

    /// The SSD that a logical codeword is on.
    #[inline]
    pub fn ssd_of(&self, lcn: Lcn) -> Ssd {
        self.addresses.split(lcn).0
    }

    /// Splits a range of codewords by SSD: each SSD, and the numbers of the codewords among those on this SSD.
    pub fn by_ssd(&self, codewords: Range<Lcn>) -> impl Iterator<Item = (Ssd, Range<u64>)> + use<> {
        self.addresses.by_ssd(codewords)
    }

    /// The SSD that holds a logical codeword of the user, and the number of the codeword among those on this SSD.
    #[inline]
    pub fn split(&self, lcn: Lcn) -> (Ssd, u64) {
        self.addresses.split(lcn)
    }

    /// The logical codeword with a given number among those on an SSD.
    #[inline]
    pub fn join(&self, ssd: Ssd, index: u64) -> Lcn {
        self.addresses.join(ssd, index)
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
            let closed = all.clone().filter(|&superblock| self.blocks[superblock].closed);
            let open = state.open.iter().chain(&state.open_for_handles).flatten().map(|&(superblock, _)| superblock);
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
        for lcn in Lcn::all(0..self.codewords) {
            if let Entry::Flash(place) = self.entry(lcn) {
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
        let closed = |superblock: &Superblock| self.blocks[*superblock].closed;
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
