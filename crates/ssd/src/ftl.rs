//! The page-mapped flash translation layer: where each codeword lies, which block is written next,
//! and which block garbage collection takes. It decides; it takes no time. The engine calls
//! it and turns what it says into operations.
//!
//! Every access is O(1), but for the victim search, which depends on the rule for victims:
//! amortised O(1) for the greedy one.
//!
//! What is written, collected and erased together is a superblock, and what is programmed at once a group, or, where its
//! codewords are not interleaved, one page of it (see [`crate::geometry`]). Without interleaving all three are one: a
//! superblock is a block, a group a page.
//!
//! Which pages of its block a codeword is in, [`BlockLayout`] says, by the P/E cycles of the block: how much a page holds may
//! change with age, and units may cross from a page to the next. Places, capacity and what a read senses follow from it.

mod addresses;
mod large_array;
mod mapping_cache;
mod pass_through;
mod precondition;
mod read_counts;
mod read_reclaim;
mod space_saving;
mod victims;

use std::collections::BTreeSet;
use std::ops::Range;

use softsense_base::Result;
use softsense_link::ByAge;
use softsense_nand::ReadDisturb;

use crate::checked::CheckedConfig;
use crate::config::{InterleavedGroups, ReadReclaimSpec, Remainder};
use crate::geometry::Geometry;
use crate::start_ages::StartAges;
use addresses::Addresses;
use large_array::LargeArray;
use pass_through::PassThrough;
use precondition::{Device, Start};
use read_counts::{DISTURBANCE_SCALE, ReadCounts};
use read_reclaim::ReadReclaim;
use victims::{VictimRule, Victims};

pub use crate::format::{BlockLayout, Piece};
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
}

/// Pages that are read or programmed together. With interleaving, pages of the same index in the blocks of a superblock: all of
/// them, which hold interleaved codewords, or a single one. Without, a page of a block, or several of a read whose units cross
/// pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group {
    /// The set of planes.
    pub set: u32,
    /// The superblock.
    pub superblock: u32,
    /// The index of the pages in their blocks, or of the first of several in one block.
    pub page: u32,
    /// A bit for each member of the set that has a page here; without interleaving for each page from the first on.
    members: u32,
    /// How many those are.
    pages: u8,
}

impl Group {
    /// Members of the set that have a page here, or pages from the first on.
    #[inline]
    pub fn members(self) -> impl Iterator<Item = u32> {
        ones(self.members)
    }

    /// How many those are.
    #[inline]
    pub fn pages(self) -> u32 {
        u32::from(self.pages)
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
    /// Codewords that the map points at.
    valid: u32,
    /// Neighbours in a list of the victim rule.
    previous: u32,
    next: u32,
    /// Erases since the start of the run.
    erases: u32,
    /// Reads on their way, which an erase must wait for.
    reads: u32,
    /// Whether the victim rule holds it.
    closed: bool,
    /// Whether its codewords are divided among its blocks.
    interleaved: bool,
}

#[derive(Debug, Clone)]
struct PlaneSet {
    free: std::collections::VecDeque<u32>,
    /// The open superblock of each [`Writer`], and how many of its pages have been given out. Members take turns.
    open: [Option<(u32, u32)>; 5],
    victims: Victims,
    /// Whether codewords are interleaved here.
    interleaves: bool,
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
    /// Pages of each block whose program has ended. Programs of a block end in order. Of an interleaved superblock,
    /// those whose whole group has been programmed.
    programmed: Vec<u16>,
    blocks: Vec<Block>,
    sets: Vec<PlaneSet>,
    start_ages: StartAges,
    /// Of a block, by its P/E cycles.
    layouts: ByAge<BlockLayout>,
    /// Whether units cross pages in any block.
    crosses_pages: bool,
    /// P/E cycles of the most worn superblock: of each SSD, so that none has to do with the room of an older one. Where all started
    /// alike it is one for the device, with which arrays of one age give the numbers that they always gave.
    most_pe_cycles: Vec<u32>,
    remainder: Remainder,
    /// Of each set; none where wear is not levelled.
    levelling: Vec<Levelling>,
    wear_levelling_spread: u32,
    addresses: Addresses,
    /// Where the stripe of each SSD goes on.
    stripe_at: Vec<usize>,
    translation_at: u32,
    gain: Gain,
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
    /// When there is not enough memory for its map.
    pub fn new(config: &CheckedConfig) -> Result<Self> {
        let (geometry, reliability, spec) = (config.geometry(), config.reliability(), &config.config().ftl);
        let codewords = config.user_codewords() + config.translation_codewords();
        let places = geometry.codewords();
        let pages = places / u64::from(geometry.codewords_per_page());
        let first_place = 2 + config.write_buffer_codewords();
        let per_plane = geometry.blocks_per_plane();
        let interleaves = |set| {
            geometry.ways() > 1
                && match spec.interleaving.groups {
                    InterleavedGroups::All => true,
                    InterleavedGroups::WithChipFactorAbove(most) => (0..geometry.ways()).any(|member| {
                        let chip = geometry.chip_of(geometry.plane_of(set, member));
                        reliability.chip_factor(geometry.chip_rank(chip).into()) > most
                    }),
                }
        };
        let set = |set| PlaneSet {
            free: (set * per_plane..(set + 1) * per_plane).collect(),
            open: [None; 5],
            victims: Victims::new(spec, geometry.codewords_per_superblock(), config.config().seed, set),
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
        Ok(Self {
            gc_low_watermark_blocks: spec.gc_low_watermark_blocks as usize,
            gc_high_watermark_blocks: spec.gc_high_watermark_blocks as usize,
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
            programmed: vec![0; (geometry.planes() * per_plane) as usize],
            blocks: vec![Block::default(); (geometry.sets() * per_plane) as usize],
            sets: (0..geometry.sets()).map(set).collect(),
            crosses_pages: config.layouts().iter().any(BlockLayout::crosses_pages),
            layouts: config.layouts(),
            start_ages: ages.clone(),
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
            stripe_at: vec![0; geometry.ssds() as usize],
            translation_at: 0,
            gain: Gain::default(),
            geometry: geometry.clone(),
        })
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

    /// The pages that hold the codeword at a place, and its unit number in their group.
    #[inline]
    pub fn group_of(&self, place: Place) -> (Group, u32) {
        let geometry = &self.geometry;
        let (block, page, slot) = geometry.split(place);
        let (plane, _) = geometry.split_block(block);
        if geometry.ways() == 1 {
            return (Group { set: plane, superblock: block, page, members: 1, pages: 1 }, slot);
        }
        let (set, member) = geometry.set_of(plane);
        let superblock = geometry.superblock_of(place);
        let (members, pages) = self.members(superblock, member);
        (Group { set, superblock, page, members, pages }, geometry.units_of(member).start + slot)
    }

    /// The pages at page `index` of a superblock of a set, its blocks taking turns.
    #[inline]
    pub fn group_at(&self, set: u32, superblock: u32, index: u32) -> Group {
        let ways = self.geometry.ways();
        if ways == 1 {
            return Group { set, superblock, page: index, members: 1, pages: 1 };
        }
        let (members, pages) = self.members(superblock, index % ways);
        Group { set, superblock, page: index / ways, members, pages }
    }

    /// The members that hold parts of what is written to member `member` of a superblock, and their number.
    #[inline]
    fn members(&self, superblock: u32, member: u32) -> (u32, u8) {
        let ways = self.geometry.ways();
        if self.blocks[superblock as usize].interleaved {
            (u32::MAX >> (32 - ways), ways as u8)
        } else {
            (1 << member, 1)
        }
    }

    #[inline(always)]
    fn entry(&self, lcn: Lcn) -> Entry {
        match self.map.get(lcn) {
            0 => self.entry_at_start(lcn),
            1 => Entry::Nowhere,
            entry if entry < self.first_place => Entry::Memory((entry - 2) as u32),
            entry => Entry::Flash(entry - self.first_place),
        }
    }

    /// Where a logical codeword is.
    #[inline]
    pub fn locate(&self, lcn: Lcn) -> Location {
        let place = match self.entry(lcn) {
            Entry::Nowhere => return Location::Unmapped,
            Entry::Memory(slot) => return Location::Memory(slot),
            Entry::Flash(place) => place,
        };
        let (block, mut page, slot) = self.geometry.split(place);
        if self.crosses_pages && self.layout(block).crosses(page, slot) {
            page += 1;
        }
        if page < u32::from(self.programmed[block as usize]) { Location::Flash(place) } else { Location::InFlight }
    }

    /// Which pages the codewords of a superblock are in.
    #[inline]
    pub fn layout(&self, superblock: u32) -> &BlockLayout {
        self.layouts.at(|| self.pe_cycles(superblock))
    }

    /// The same pages, and what more of their block units are in.
    ///
    /// # Arguments
    /// - `group`: a page, or one of interleaved codewords, to which nothing is added.
    /// - `units`: counted from the first that may begin in the page.
    #[inline]
    pub fn with_all_of(&self, group: Group, units: &[u32]) -> Group {
        if !self.crosses_pages {
            return group;
        }
        let (layout, per_page) = (self.layout(group.superblock), self.geometry.codewords_per_page());
        let members = units.iter().fold(0, |members: u32, unit| {
            let (page, slot) = (unit / per_page, unit % per_page);
            members | (if layout.crosses(group.page + page, slot) { 0b11 } else { 1 }) << page
        });
        Group { members, pages: members.count_ones() as u8, ..group }
    }

    /// Where a logical codeword lies in the physical units of its block, and which block that is; nothing where it is not in
    /// flash, or no unit of its block crosses pages.
    pub fn pieces(&self, lcn: Lcn) -> Option<(u32, Vec<Piece>)> {
        let Location::Flash(place) = self.locate(lcn) else { return None };
        let (group, slot) = self.group_of(place);
        let layout = self.layout(group.superblock);
        layout.crosses_pages().then(|| (group.superblock, layout.pieces(group.page, slot)))
    }

    /// The logical codeword whose current data lies at `place`, if any.
    #[inline]
    pub fn owner(&self, place: Place) -> Option<Lcn> {
        self.held_at(place).map(|held| held.lcn)
    }

    fn entry_at_start(&self, lcn: Lcn) -> Entry {
        self.start.place_of(&self.device(), lcn).map_or(Entry::Nowhere, Entry::Flash)
    }

    /// Notes where a logical codeword lies that lies where it did before the run: who will ask again finds it in the map.
    #[inline]
    pub fn note_start(&mut self, lcn: Lcn) {
        if self.map.is_whole() && self.map.get(lcn) == 0 {
            let entry = match self.entry_at_start(lcn) {
                Entry::Flash(place) => self.first_place + place,
                Entry::Nowhere | Entry::Memory(_) => 1,
            };
            self.map.set(lcn, entry);
        }
    }

    /// What the current data at a place is, if there is any.
    #[inline]
    pub fn held_at(&self, place: Place) -> Option<Held> {
        self.last_at(place).filter(|&held| self.is_current(held))
    }

    /// What was last written at a place, if anything ever was. It [is current](Self::is_current) if the map says so.
    #[inline]
    pub fn last_at(&self, place: Place) -> Option<Held> {
        let lcn = match self.written.get(place) {
            0 => self.start.lcn_at(&self.device(), place)?,
            written => written - 1,
        };
        Some(Held { lcn, entry: self.first_place + place })
    }

    /// Whether data is current still.
    #[inline]
    pub fn is_current(&self, held: Held) -> bool {
        // With 0 it lies where it did before the run, which is where it was found.
        let entry = self.map.get(held.lcn);
        entry == held.entry || entry == 0
    }

    /// The ages at the start of the run.
    #[inline]
    pub fn start_ages(&self) -> &StartAges {
        &self.start_ages
    }

    /// P/E cycles of a superblock: those at the start, and erases since.
    #[inline]
    pub fn pe_cycles(&self, superblock: u32) -> u32 {
        self.start_ages.pe_cycles(superblock) + self.erases(superblock)
    }

    /// Erases of a superblock since the start of the run.
    #[inline]
    pub fn erases(&self, superblock: u32) -> u32 {
        self.blocks[superblock as usize].erases
    }

    /// Whether what collection of a set moves is interleaved.
    pub fn interleaves(&self, set: u32) -> bool {
        self.sets[set as usize].interleaves
    }

    /// When a page of the device was written, in seconds of the run; `None` for before the run.
    pub fn written_s(&self, page: u64) -> Option<u32> {
        self.written_s.as_ref().and_then(|written_s| (written_s.get(page) as u32).checked_sub(1))
    }

    /// Asks the CPU to fetch the map entry of `lcn`, which will be needed soon. In a device of many
    /// gigabytes it is in no cache, and waiting for such entries is a third of the time of overwriting.
    #[inline]
    pub fn prefetch(&self, lcn: Lcn) {
        self.map.prefetch(lcn);
    }

    /// The same for what reading or overwriting `lcn` will need besides: its block and when it was written.
    #[inline]
    pub fn prefetch_block(&mut self, lcn: Lcn) {
        self.note_start(lcn);
        if let Entry::Flash(place) = self.entry(lcn) {
            let (block, page, _) = self.geometry.split(place);
            prefetch(&self.blocks, self.geometry.superblock_of(place).into());
            prefetch(&self.programmed, block.into());
            if let Some(read_counts) = &self.read_counts {
                read_counts.prefetch(block, self.geometry.wordline_of(page));
            }
            if let Some(written_s) = &self.written_s {
                written_s.prefetch(place / u64::from(self.geometry.codewords_per_page()));
            }
        }
    }

    /// The same for a superblock that will be collected: what was written there.
    pub fn prefetch_written(&self, superblock: u32) {
        const PER_CACHE_LINE: usize = 64 / size_of::<u32>();
        for member in 0..self.geometry.ways() {
            let first = self.geometry.first_place(self.geometry.block_in(superblock, member), 0);
            for place in (first..first + u64::from(self.geometry.codewords_per_block())).step_by(PER_CACHE_LINE) {
                self.written.prefetch(place);
            }
        }
    }

    /// Forgets the current data of a logical codeword.
    pub fn unmap(&mut self, lcn: Lcn) {
        self.gain = Gain::default();
        self.point(lcn, 1);
    }

    /// Notes that the current data of `lcn` is in slot `slot` of the controller's memory.
    pub fn hold_in_memory(&mut self, lcn: Lcn, slot: u32) {
        self.gain = Gain::default();
        self.point(lcn, 2 + u64::from(slot));
    }

    /// Changes a map entry. What was at its old place is stale by that.
    #[inline]
    fn point(&mut self, lcn: Lcn, to: u64) {
        let from = self.entry(lcn);
        if let Entry::Flash(place) = from {
            let superblock = self.geometry.superblock_of(place);
            let entry = &mut self.blocks[superblock as usize];
            entry.valid -= 1;
            if entry.closed {
                let set = self.geometry.set_of_superblock(superblock) as usize;
                self.sets[set].victims.fell(&mut self.blocks, superblock);
            }
        }
        self.map.set(lcn, to);
        if self.pass_through.is_some()
            && let Entry::Flash(place) = from
        {
            self.fell_stale(place);
        }
    }

    /// The SSD that a logical codeword is on.
    #[inline]
    pub fn ssd_of(&self, lcn: Lcn) -> u32 {
        self.addresses.split(lcn).0
    }

    /// Codewords of a range by the SSD they are on: SSD, first codeword, step from one to the next, how many.
    pub fn by_ssd(&self, codewords: Range<Lcn>) -> impl Iterator<Item = (u32, Lcn, u64, u32)> + use<> {
        self.addresses.by_ssd(codewords)
    }

    /// The distance of logical codewords that follow one another on an SSD.
    #[inline]
    pub fn step(&self) -> u64 {
        self.addresses.step()
    }

    /// The next pages for the host in turn of the stripe of an SSD, passing over sets with no room; `None` when no set has any
    /// until garbage collection has freed a block.
    ///
    /// # Arguments
    /// - `codewords`: how many of a request wait to be written. They are interleaved where they fill a group.
    pub fn open_for_host(&mut self, ssd: u32, codewords: u32) -> Option<Group> {
        let ways = self.geometry.ways() as usize;
        let fills = ways > 1 && (codewords >= self.geometry.codewords_per_group() || self.remainder == Remainder::Pad);
        let planes = self.geometry.planes_of_ssd() as usize;
        let mut passed = 0;
        while passed < planes {
            let at = self.stripe_at[ssd as usize];
            let (set, _) = self.geometry.set_of(self.geometry.stripe(ssd)[at]);
            let interleaves = self.sets[set as usize].interleaves;
            // A group takes the turns of all of its set.
            let turns = if interleaves && fills { ways - at % ways } else { 1 };
            self.stripe_at[ssd as usize] = if at + turns == planes { 0 } else { at + turns };
            passed += turns;
            let writer = if interleaves && !fills { Writer::HostPlain } else { Writer::Host };
            if let Some(group) = self.open(set, writer) {
                return Some(group);
            }
        }
        None
    }

    /// The plane whose turn it is in the stripe of an SSD.
    pub fn next_plane(&self, ssd: u32) -> u32 {
        self.geometry.stripe(ssd)[self.stripe_at[ssd as usize]]
    }

    /// The next page for a translation page, sets taking turns; `None` when none has room until garbage collection has freed
    /// a block.
    pub fn open_for_translation(&mut self) -> Option<Group> {
        let (sets, ways, planes) = (self.geometry.sets(), self.geometry.ways(), self.geometry.planes_of_ssd());
        (0..sets).find_map(|_| {
            let at = self.translation_at * ways;
            let plane = self.geometry.stripe(at / planes)[(at % planes) as usize];
            self.translation_at = if self.translation_at + 1 == sets { 0 } else { self.translation_at + 1 };
            self.open(self.geometry.set_of(plane).0, Writer::Translation)
        })
    }

    /// Who collects a logical codeword.
    pub fn collector_of(&self, lcn: Lcn) -> Writer {
        if self.is_translation_page(lcn) { Writer::GcTranslation } else { Writer::Gc }
    }

    /// The next pages for `writer` in a set. All others leave the last free superblock to garbage collection, of which each job
    /// takes one at most, and gives one back.
    #[inline]
    pub fn open(&mut self, set: u32, writer: Writer) -> Option<Group> {
        let keep = if matches!(writer, Writer::Gc | Writer::GcTranslation) { 0 } else { 1 };
        let (ways, pages) = (self.geometry.ways(), self.geometry.pages_per_superblock());
        let state = &mut self.sets[set as usize];
        let open = &mut state.open[writer as usize];
        let (superblock, given) = match *open {
            Some(at) => at,
            None => {
                if state.free.len() <= keep {
                    return None;
                }
                let superblock = if self.levelling.is_empty() {
                    state.free.pop_front()
                } else {
                    // What is moved has not been written for long: it goes where wear is greatest, the host's data where it is
                    // least.
                    let pe_cycles = |at: &usize| {
                        let superblock = state.free[*at];
                        self.start_ages.pe_cycles(superblock) + self.blocks[superblock as usize].erases
                    };
                    let at = 0..state.free.len();
                    let at = if keep == 0 { at.max_by_key(pe_cycles) } else { at.min_by_key(pe_cycles) };
                    at.and_then(|at| state.free.remove(at))
                };
                let superblock = superblock.expect("there are free blocks");
                self.blocks[superblock as usize].interleaved =
                    state.interleaves && matches!(writer, Writer::Host | Writer::Gc);
                (superblock, 0)
            }
        };
        let together = if self.blocks[superblock as usize].interleaved { ways } else { 1 };
        *open = (given + together < pages).then_some((superblock, given + together));
        match writer {
            Writer::Host | Writer::HostPlain => self.gain = Gain::default(),
            Writer::Gc | Writer::GcTranslation | Writer::Translation => self.gain.pages -= i64::from(together),
        }
        Some(self.group_at(set, superblock, given))
    }

    /// Codewords that fit `group`.
    #[inline]
    pub fn room(&self, group: Group) -> u32 {
        group.pages() * self.layout(group.superblock).beginning_in(group.page)
    }

    /// Whether the last codeword of a page that was given out ends in the next page of its block.
    #[inline]
    pub fn last_crosses(&self, group: Group) -> bool {
        self.crosses_pages && {
            let room = self.room(group);
            room > 0 && self.layout(group.superblock).crosses(group.page, room - 1)
        }
    }

    /// Whether units cross pages in any block.
    #[inline]
    pub fn crosses_pages(&self) -> bool {
        self.crosses_pages
    }

    /// Whether there is less room as blocks wear.
    pub fn shrinks(&self) -> bool {
        self.layouts.changes()
    }

    /// Codewords for which the flash has room, as its blocks are now.
    pub fn data_capacity(&self) -> u64 {
        (0..self.blocks.len() as u32).map(|superblock| self.room_of(superblock)).sum()
    }

    /// Codewords that a superblock has room for.
    pub fn room_of(&self, superblock: u32) -> u64 {
        u64::from(self.geometry.ways()) * u64::from(self.layout(superblock).codewords())
    }

    /// Which of `most_pe_cycles` is that of a set.
    fn most_worn_of(&self, set: u32) -> usize {
        if self.most_pe_cycles.len() == 1 { 0 } else { self.geometry.ssd_of_set(set) as usize }
    }

    /// The layout of a superblock of a set that has been erased once more than any now: what is moved fits wherever it goes.
    fn least_roomy(&self, set: u32) -> &BlockLayout {
        self.layouts.at(|| self.most_pe_cycles[self.most_worn_of(set)] + 1)
    }

    /// Codewords of the fullest superblock of a set that is worth collecting: they fit another one, and leave a group of it.
    fn most_worth_collecting(&self, set: u32) -> u32 {
        let layout = self.least_roomy(set);
        if layout.crosses_pages() {
            // The last unit that is moved may take a page more, which nothing else begins in.
            return layout.codewords().saturating_sub(2 * self.geometry.codewords_per_page());
        }
        layout.before(self.geometry.pages_per_block() - 1) * self.geometry.ways()
    }

    /// Codewords of a superblock of a set that fit another one at most.
    fn most_that_fits(&self, set: u32) -> u32 {
        let layout = self.least_roomy(set);
        // The last unit that is moved may take a page more.
        let in_vain = if layout.crosses_pages() { self.geometry.codewords_per_page() } else { 0 };
        self.geometry.ways() * layout.codewords() - in_vain
    }

    /// The unit number of the `slot`-th codeword that is written to pages which were given out. Where codes leave a page less room
    /// than it has at most, the rest of each page stays empty.
    #[inline]
    fn unit_of_slot(&self, group: Group, slot: u32) -> u32 {
        if group.pages == 1 {
            return self.geometry.units_of(group.first()).start + slot;
        }
        let of_page = self.layout(group.superblock).beginning_in(group.page);
        self.geometry.units_of(slot / of_page).start + slot % of_page
    }

    /// Puts `lcn` at `slot` of pages that were given out, from 0 up to their [`Self::room`].
    #[inline]
    pub fn place(&mut self, group: Group, slot: u32, lcn: Lcn) {
        let unit = self.unit_of_slot(group, slot);
        let place = self.geometry.place(group.superblock, group.page, unit);
        self.point(lcn, self.first_place + place);
        self.written.set(place, lcn + 1);
        self.blocks[group.superblock as usize].valid += 1;
    }

    /// Notes that the programs of all pages of a group have ended, at `now_s` seconds of the run.
    pub fn programmed(&mut self, group: Group, now_s: u64) {
        let pages = self.geometry.pages_per_block();
        for member in group.members() {
            let block = self.geometry.block_in(group.superblock, member);
            let programmed = &mut self.programmed[block as usize];
            debug_assert_eq!(u32::from(*programmed), group.page, "programs of a block end in order");
            *programmed = group.page as u16 + 1;
            if let Some(written_s) = &mut self.written_s {
                let page = u64::from(block) * u64::from(pages) + u64::from(group.page);
                written_s.set(page, (now_s + 1).min(u32::MAX.into()));
            }
        }
        if group.page + 1 == pages
            && (0..self.geometry.ways()).all(|member| {
                u32::from(self.programmed[self.geometry.block_in(group.superblock, member) as usize]) == pages
            })
        {
            self.close(group.set, group.superblock);
            self.note_all_due(group.superblock);
        }
    }

    /// All pages of a superblock have been written: it can be collected.
    fn close(&mut self, set: u32, superblock: u32) {
        self.sets[set as usize].victims.closed(&mut self.blocks, superblock);
        let pe_cycles = self.pe_cycles(superblock);
        if let Some(levelling) = self.levelling.get_mut(set as usize) {
            levelling.closed.insert((pe_cycles, superblock));
        }
    }

    /// Whether garbage collection of a set should begin, or go on once begun.
    #[inline]
    pub fn wants_gc(&self, set: u32, running: bool) -> bool {
        let free = self.sets[set as usize].free.len();
        !self.collects_in_vain()
            && free < if running { self.gc_high_watermark_blocks } else { self.gc_low_watermark_blocks }
    }

    /// Whether a device that has shrunk collects without an end: as often as to have gone through all blocks twenty times, on behalf
    /// of nobody, and there was never more room for it. Devices that keep their room gain a little each time, if often not at once:
    /// three times were enough for the slowest that random ones have shown.
    #[inline]
    pub fn collects_in_vain(&self) -> bool {
        self.shrinks() && self.gain.erased_since > 20 * self.blocks.len()
    }

    /// Takes the closed superblock that the rule for victims chooses, or, to level wear, the least worn one; `None` when
    /// collecting would gain nothing, because none has a group's worth of stale or empty places.
    pub fn take_victim(&mut self, set: u32) -> Option<u32> {
        if let Some(superblock) = self.take_least_worn(set) {
            return Some(superblock);
        }
        let most = self.most_worth_collecting(set);
        let victim = self.sets[set as usize].victims.take(&mut self.blocks, most)?;
        let pe_cycles = self.pe_cycles(victim);
        if let Some(levelling) = self.levelling.get_mut(set as usize) {
            levelling.levelled = false;
            levelling.closed.remove(&(pe_cycles, victim));
        }
        Some(victim)
    }

    /// Takes the least worn closed superblock of a set if others have so many P/E cycles more. One that frees room goes
    /// between two of these, so that writes need not wait for long.
    fn take_least_worn(&mut self, set: u32) -> Option<u32> {
        let room = self.most_that_fits(set);
        let levelling = self.levelling.get_mut(set as usize)?;
        let &(pe_cycles, superblock) = levelling.closed.first()?;
        let fits = self.blocks[superblock as usize].valid <= room;
        if levelling.levelled || !fits || levelling.most_pe_cycles - pe_cycles <= self.wear_levelling_spread {
            return None;
        }
        levelling.closed.pop_first();
        levelling.levelled = true;
        self.sets[set as usize].victims.withdraw(&mut self.blocks, superblock);
        Some(superblock)
    }

    /// Whether the last victim of a set was taken to level wear.
    pub fn has_levelled(&self, set: u32) -> bool {
        self.levelling.get(set as usize).is_some_and(|levelling| levelling.levelled)
    }

    /// The fewest and the most erases of a superblock since the start of the run.
    pub fn least_and_most_erases(&self) -> (u32, u32) {
        let erases = || self.blocks.iter().map(|block| block.erases);
        (erases().min().unwrap_or(0), erases().max().unwrap_or(0))
    }

    /// Valid codewords of a superblock.
    pub fn valid(&self, superblock: u32) -> u32 {
        self.blocks[superblock as usize].valid
    }

    /// Notes that a read of a superblock has begun.
    #[inline]
    pub fn read_begins(&mut self, superblock: u32) {
        self.blocks[superblock as usize].reads += 1;
    }

    /// Notes that a read of pages has ended, for which each was sensed so many times.
    ///
    /// # Arguments
    /// - `of_host`: whether a request waited for it.
    #[inline]
    pub fn read_ends(&mut self, group: Group, sensings: u32, of_host: bool) {
        self.blocks[group.superblock as usize].reads -= 1;
        if self.read_counts.is_none() {
            return;
        }
        for member in group.members() {
            let wordline = self.geometry.wordline_of(self.geometry.page_of_member(group.page, member));
            let block = self.geometry.block_in(group.superblock, member);
            let spared = u64::from(sensings) * self.spared_by_a_sensing(block);
            if let Some(read_counts) = &mut self.read_counts {
                read_counts.add(block, wordline, sensings, spared);
            }
            if self.read_reclaim.is_some() {
                let disturbance = u64::from(sensings) * DISTURBANCE_SCALE - spared;
                self.note_sensings(block, wordline, disturbance);
                if of_host {
                    self.look_at_read(group.superblock, block, wordline, sensings);
                }
            }
        }
    }

    /// Sensings that have disturbed a page of a group: of other wordlines of its block, and more so of those beside its own. 0
    /// where nobody asks.
    ///
    /// # Arguments
    /// - `member`: which of its pages.
    #[inline]
    pub fn effective_reads(&self, group: Group, member: u32) -> f64 {
        let Some(read_counts) = &self.read_counts else { return 0.0 };
        let page = self.geometry.page_of_member(group.page, member);
        let (block, wordline) = (self.geometry.block_in(group.superblock, member), self.geometry.wordline_of(page));
        let before = self.reads_before_the_run(group.superblock, self.geometry.page_in(group.superblock, page, member));
        let of_run = read_counts.effective(block, wordline);
        if before > 0.0 { of_run + read_counts.effective_if_spread(before, wordline) } else { of_run }
    }

    /// Sensings of its block that a written page of a superblock has behind it from before the run, spread evenly over wordlines.
    fn reads_before_the_run(&self, superblock: u32, page: u64) -> f64 {
        let set = self.geometry.set_of_superblock(superblock);
        let before = self.start_ages.block_reads(self.geometry.ssd_of_set(set));
        if before > 0.0 && self.written_s(page).is_none() { before } else { 0.0 }
    }

    /// The most sensings that a block has had between two erases of the run; `None` where nobody counts.
    pub fn most_block_reads(&self) -> Option<u64> {
        self.read_counts.as_ref().map(ReadCounts::most_of_block)
    }

    /// Whether reads of a superblock are on their way.
    #[inline]
    pub fn is_being_read(&self, superblock: u32) -> bool {
        self.blocks[superblock as usize].reads > 0
    }

    /// Notes that all blocks of a superblock have been erased: it is free.
    pub fn erased(&mut self, superblock: u32) {
        let set = self.geometry.set_of_superblock(superblock);
        let entry = &mut self.blocks[superblock as usize];
        assert!(entry.valid == 0 && entry.reads == 0 && !entry.closed, "an erased block holds nothing anyone needs");
        entry.erases += 1;
        let pe_cycles = self.pe_cycles(superblock);
        let worn = self.most_worn_of(set);
        self.most_pe_cycles[worn] = self.most_pe_cycles[worn].max(pe_cycles);
        if let Some(levelling) = self.levelling.get_mut(set as usize) {
            levelling.most_pe_cycles = levelling.most_pe_cycles.max(pe_cycles);
        }
        for member in 0..self.geometry.ways() {
            let block = self.geometry.block_in(superblock, member);
            self.programmed[block as usize] = 0;
            if let Some(read_counts) = &mut self.read_counts {
                read_counts.erased(block);
            }
            if let Some(read_reclaim) = &mut self.read_reclaim {
                read_reclaim.erased(block);
            }
            if let Some(pass_through) = &mut self.pass_through {
                pass_through.erased(block);
            }
        }
        self.sets[set as usize].free.push_back(superblock);
        self.gain.erased(self.geometry.pages_per_superblock());
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
        held.sort_unstable();
        let closed = |superblock: &u32| self.blocks[*superblock as usize].closed;
        let closed: Vec<u32> = (0..self.blocks.len() as u32).filter(closed).collect();
        assert_eq!(held, closed, "the victim rules hold all closed superblocks, each once");
    }
}

/// Asks the CPU to fetch an entry of `array`, where it can be asked.
#[inline(always)]
fn prefetch<T>(array: &[T], index: u64) {
    #[cfg(target_arch = "x86_64")]
    #[allow(unsafe_code, reason = "the intrinsic takes a pointer; a prefetch reads nothing and cannot fault")]
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(array.as_ptr().wrapping_add(index as usize).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (array, index);
}
