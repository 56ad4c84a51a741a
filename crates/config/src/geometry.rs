//! The shape of a device, which may be several SSDs, and the numbering of its parts.
//!
//! Channels are numbered SSD by SSD, planes channel by channel: plane = ((channel x chips + chip) x dies + die) x planes + plane.
//! A codeword's place is ((plane x blocks + block) x pages + page) x codewords + slot.
//!
//! With n-way interleaving the planes form *sets* of n, on n chips that follow one another in the stripe. Blocks of the same index in the
//! planes of a set form one *superblock*; pages of the same index in these blocks form a *group*. A codeword's unit number in its group is
//! member x codewords + slot, where the member is the index of its plane in the set. Without interleaving a set is a plane, a superblock is
//! a block and a group is a page, with the same numbers.
//!
//! A superblock may also have blocks of n chips and no interleaved codewords. Then a group is a page, and the pages of a superblock have
//! one order, in which its blocks take turns.
//!
//! Parity across dies works in the same way, with two differences. The blocks are those of n + 1 dies, and each round of turns, a stripe,
//! begins one die further on than the one before. The last page of a stripe is parity.

use std::ops::Range;

use softsense_base::{Error, Result};
use strength_reduce::{StrengthReducedU32, StrengthReducedU64};

use crate::ids::{Block, Channel, Chip, Die, Place, Plane, Set, Ssd, Superblock, TiVec, Unit};
use crate::spec::{
    BusyUnit, DecoderPlacement, FlashSpec, FtlSpec, GeometrySpec, InterleavedGroups, ParitySpec, RoundsAmong,
    RoundsSpec, StripeLevel,
};

/// Units that a read, or a collection, takes together where units cross pages, unless a single page has more.
const UNITS_PER_RUN: u32 = 16;

/// Most chips among which a codeword is divided.
const MOST_WAYS: u32 = 32;

/// Counts and strides of a device.
#[derive(Debug, Clone)]
pub struct Geometry {
    ssds: u32,
    channels: u32,
    planes_per_channel: u32,
    planes_per_chip: u32,
    planes_per_die: u32,
    planes_per_busy_unit: u32,
    planes_per_round: u32,
    planes: u32,
    blocks_per_plane: u32,
    pages_per_block: u32,
    codewords_per_page: u32,
    page_types: u32,
    /// Pages of a block outside the SLC cache that are programmed at once.
    pages_per_program: u32,
    /// Pages of a wordline outside SLC blocks; 0 where the device has no SLC blocks.
    bits_per_cell: u32,
    ways: u32,
    /// Pages of a stripe, including its parity page; 0 without parity across dies.
    pages_per_stripe: u32,
    blocks_per_superblock: u32,
    divisors: Divisors,
    /// All planes, SSD by SSD, in the order in which consecutive page writes go to them; the planes of a set are adjacent.
    stripe: Vec<Plane>,
    /// The planes of each set, one set after the other.
    members: Vec<Plane>,
    /// The set of each plane, and the plane's index in the set.
    set_of_plane: TiVec<Plane, (Set, u32)>,
    /// The position of each plane in the stripe.
    stripe_positions: TiVec<Plane, u32>,
    /// The rank of each chip in the order in which the stripe meets chips.
    chip_ranks: TiVec<Chip, u32>,
    /// The busy unit and the channel of each plane. A table holds them, as a division for each operation would take a tenth of its time.
    unit_and_channel: TiVec<Plane, (Unit, Channel)>,
}

/// Divisors of places, which each operation needs several times. Dividing by multiplication takes a quarter of the time.
#[derive(Debug, Clone, Copy)]
struct Divisors {
    codewords_per_block: StrengthReducedU64,
    codewords_per_page: StrengthReducedU32,
    blocks_per_plane: StrengthReducedU32,
}

impl Geometry {
    /// Builds the geometry of a device whose specs have passed their own checks.
    ///
    /// # Errors
    /// When chips cannot be divided as `ftl.interleaving` says, or channels as `flash.rounds` does.
    pub(crate) fn new(spec: &GeometrySpec, flash: &FlashSpec, ftl: &FtlSpec) -> Result<Self> {
        let planes_per_chip = spec.dies_per_chip * spec.planes_per_die;
        let planes_per_channel = spec.chips_per_channel * planes_per_chip;
        let planes = spec.ssds * spec.channels * planes_per_channel;
        let (chips, ways) = (spec.channels * spec.chips_per_channel, ftl.interleaving.ways);
        let divides = ftl.interleaving.groups != InterleavedGroups::None && ftl.parity.is_none();
        if ways == 0 || ways > MOST_WAYS || !chips.is_multiple_of(ways) {
            let message = format!(
                "found {ways}, expected 1 (no interleaving), or a divisor of the number of chips ({chips}), at most \
                 {MOST_WAYS}"
            );
            return Err(Error::config("ftl.interleaving.ways", message));
        }
        let dies = chips * spec.dies_per_chip;
        if let Some(parity) = ftl.parity
            && !dies.is_multiple_of(parity.pages())
        {
            let (data, pages) = (parity.data_pages, parity.pages());
            let message = format!(
                "found {data}, with which a stripe has {pages} pages, expected a stripe whose number of pages \
                 divides the {dies} dies of an SSD"
            );
            return Err(Error::config("ftl.parity.data_pages", message));
        }
        let planes_per_busy_unit = match flash.busy_unit {
            BusyUnit::Plane => 1,
            BusyUnit::Die => spec.planes_per_die,
            BusyUnit::Chip => planes_per_chip,
            BusyUnit::Channel => planes_per_channel,
        };
        let planes_per_round = match flash.rounds {
            None => planes_per_busy_unit,
            Some(RoundsSpec { among: RoundsAmong::Die, .. }) => spec.planes_per_die,
            Some(RoundsSpec { among: RoundsAmong::Chip, .. }) => planes_per_chip,
            Some(RoundsSpec { among: RoundsAmong::Channels(channels), .. }) => {
                if channels == 0 || !spec.channels.is_multiple_of(channels) {
                    let message =
                        format!("found {channels}, expected a divisor of the number of channels ({})", spec.channels);
                    return Err(Error::config("flash.rounds.among.channels", message));
                }
                channels * planes_per_channel
            }
        };
        let mut geometry = Self {
            ssds: spec.ssds,
            channels: spec.ssds * spec.channels,
            planes_per_channel,
            planes_per_chip,
            planes_per_die: spec.planes_per_die,
            planes_per_busy_unit,
            planes_per_round,
            planes,
            blocks_per_plane: spec.blocks_per_plane,
            pages_per_block: spec.pages_per_block,
            codewords_per_page: spec.codewords_per_page,
            page_types: flash.page_types.len() as u32,
            pages_per_program: if flash.one_shot_program { flash.page_types.len() as u32 } else { 1 },
            bits_per_cell: ftl.slc_cache.as_ref().map_or(0, |cache| cache.bits_per_cell(flash.page_types.len() as u32)),
            ways: if divides { ways } else { 1 },
            pages_per_stripe: ftl.parity.map_or(0, ParitySpec::pages),
            blocks_per_superblock: ftl.parity.map_or(ways, ParitySpec::pages),
            divisors: Divisors {
                codewords_per_block: StrengthReducedU64::new(
                    u64::from(spec.pages_per_block) * u64::from(spec.codewords_per_page),
                ),
                codewords_per_page: StrengthReducedU32::new(spec.codewords_per_page),
                blocks_per_plane: StrengthReducedU32::new(spec.blocks_per_plane),
            },
            stripe: Vec::new(),
            stripe_positions: TiVec::default(),
            members: Vec::new(),
            set_of_plane: TiVec::default(),
            chip_ranks: TiVec::default(),
            unit_and_channel: TiVec::default(),
        };
        geometry.unit_and_channel = (0..planes)
            .map(|plane| (Unit(plane / geometry.planes_per_busy_unit), Channel(plane / geometry.planes_per_channel)))
            .collect();
        geometry.number_sets(&ftl.stripe);
        Ok(geometry)
    }

    /// Finds the sets: planes of the same index in chips (with parity, in dies) that follow one another in the stripe.
    fn number_sets(&mut self, levels: &[StripeLevel; 4]) {
        let plain = self.striped(levels);
        self.chip_ranks = in_order_met(&plain, self.planes_per_chip).1.into();
        let of_member = if self.has_parity() { self.planes_per_die } else { self.planes_per_chip };
        let (members_met, ranks) = in_order_met(&plain, of_member);
        let mut set_of_plane: TiVec<Plane, _> = vec![(Set(u32::MAX), 0); self.planes as usize].into();
        let mut members = Vec::with_capacity(self.planes as usize);
        for plane in 0..self.planes {
            if set_of_plane[Plane(plane)].0 == Set(u32::MAX) {
                let width = self.blocks_per_superblock;
                let set = Set(members.len() as u32 / width);
                let first = ranks[(plane / of_member) as usize] / width * width;
                for member in 0..width {
                    let plane = Plane(members_met[(first + member) as usize] * of_member + plane % of_member);
                    set_of_plane[plane] = (set, member);
                    members.push(plane);
                }
            }
        }
        let first_met = plain.iter().map(|&plane| set_of_plane[plane].0);
        let width = self.blocks_per_superblock as usize;
        let mut met = vec![false; members.len() / width];
        let in_order = first_met.filter(|&set| !std::mem::replace(&mut met[set.index()], true));
        self.stripe = in_order.flat_map(|set| &members[set.index() * width..][..width]).copied().collect();
        (self.members, self.set_of_plane) = (members, set_of_plane);
        self.stripe_positions = vec![0; self.planes as usize].into();
        for (&plane, position) in self.stripe.iter().zip(0..) {
            self.stripe_positions[plane] = position;
        }
    }

    /// Returns the number of SSDs of the device.
    pub fn ssds(&self) -> u32 {
        self.ssds
    }

    /// Returns all SSDs of the device.
    pub fn all_ssds(&self) -> impl DoubleEndedIterator<Item = Ssd> + Clone + use<> {
        Ssd::all(0..self.ssds)
    }

    /// Returns the number of channels of all SSDs.
    pub fn channels(&self) -> u32 {
        self.channels
    }

    /// Returns the number of channels whose decoders, or encoders, share a queue.
    pub fn channels_of(&self, placement: DecoderPlacement) -> u32 {
        match placement {
            DecoderPlacement::PerChannel(_) => 1,
            DecoderPlacement::PerSsd(_) => self.channels / self.ssds,
            DecoderPlacement::Pool(_) => self.channels,
        }
    }

    /// Returns the number of planes of all SSDs.
    pub fn planes(&self) -> u32 {
        self.planes
    }

    /// Returns the number of busy units: parts that do one array operation at a time.
    pub fn busy_units(&self) -> u32 {
        self.planes / self.planes_per_busy_unit
    }

    /// Returns the number of busy units that begin together in a round; 1 where none waits for another.
    pub fn busy_units_per_round(&self) -> u32 {
        self.planes_per_round / self.planes_per_busy_unit
    }

    /// Returns the number of blocks of a plane.
    pub fn blocks_per_plane(&self) -> u32 {
        self.blocks_per_plane
    }

    /// Returns the number of pages of a block.
    pub fn pages_per_block(&self) -> u32 {
        self.pages_per_block
    }

    /// Returns the number of codewords of a page.
    pub fn codewords_per_page(&self) -> u32 {
        self.codewords_per_page
    }

    /// Returns the number of pages that a read, or a collection, takes together where units cross pages.
    pub fn pages_per_run(&self) -> u32 {
        (UNITS_PER_RUN / self.codewords_per_page).max(1)
    }

    /// Returns the number of codewords of a block.
    pub fn codewords_per_block(&self) -> u32 {
        self.pages_per_block * self.codewords_per_page
    }

    /// Returns the number of codewords of the device.
    pub fn codewords(&self) -> u64 {
        u64::from(self.planes) * u64::from(self.blocks_per_plane) * u64::from(self.codewords_per_block())
    }

    /// Returns the channel of a plane.
    #[inline]
    pub fn channel_of(&self, plane: Plane) -> Channel {
        self.unit_and_channel[plane].1
    }

    /// Returns the channel of a busy unit.
    pub fn channel_of_unit(&self, unit: Unit) -> Channel {
        self.channel_of(Plane(unit.0 * self.planes_per_busy_unit))
    }

    /// Returns the die of a busy unit that is no larger than a die.
    pub fn die_of_unit(&self, unit: Unit) -> Die {
        Die(unit.0 * self.planes_per_busy_unit / self.planes_per_die)
    }

    /// Returns the chip of a plane, numbered over the device.
    pub fn chip_of(&self, plane: Plane) -> Chip {
        Chip(plane.0 / self.planes_per_chip)
    }

    /// Returns the busy unit of a plane: the part that does one array operation at a time.
    #[inline]
    pub fn busy_unit_of(&self, plane: Plane) -> Unit {
        self.unit_and_channel[plane].0
    }

    /// Returns the type of a page, by the page's index in its block. Pages of SLC blocks have a type of their own, one beyond all others.
    ///
    /// # Arguments
    /// - `slc`: whether the block is an SLC block.
    #[inline]
    pub fn page_type_of(&self, page_in_block: u32, slc: bool) -> u32 {
        if slc { self.page_types } else { page_in_block % self.page_types }
    }

    /// Returns the wordline of a page, by the page's index in its block. A wordline has one page of each type; in an SLC block it has one
    /// page.
    ///
    /// # Arguments
    /// - `slc`: whether the block is an SLC block.
    #[inline]
    pub fn wordline_of(&self, page_in_block: u32, slc: bool) -> u32 {
        // Each run of one page of every type counts as a wordline where several pages of a wordline have the same type.
        if slc { page_in_block * self.bits_per_cell / self.page_types } else { page_in_block / self.page_types }
    }

    /// Returns the number of pages of an SLC block, whose cells hold one bit.
    #[inline]
    pub fn pages_per_slc_block(&self) -> u32 {
        self.pages_per_block.div_ceil(self.bits_per_cell)
    }

    /// Returns the number of pages of an SLC superblock, whose cells hold one bit.
    pub fn pages_per_slc_superblock(&self) -> u32 {
        self.pages_per_slc_block() * self.blocks_per_superblock
    }

    /// Returns the pages of a wordline, by their indices in its block.
    pub fn pages_of(&self, wordline: u32) -> Range<u32> {
        wordline * self.page_types..((wordline + 1) * self.page_types).min(self.pages_per_block)
    }

    /// Returns the number of wordlines of a block; the last one may lack pages.
    pub fn wordlines_per_block(&self) -> u32 {
        self.pages_per_block.div_ceil(self.page_types)
    }

    /// Returns the member of a set that holds a page of a group, and the index of that page in its block. Without interleaving the pages of
    /// a group follow one another in their superblock, whose blocks take turns.
    ///
    /// # Arguments
    /// - `page`: the index of the group in its superblock.
    /// - `member`: the index of the page in the group.
    #[inline]
    pub fn turn(&self, page: u32, member: u32) -> (u32, u32) {
        if self.blocks_per_superblock == 1 {
            (0, page + member)
        } else if self.ways == 1 {
            let (stripe, turn) =
                ((page + member) / self.blocks_per_superblock, (page + member) % self.blocks_per_superblock);
            (if self.has_parity() { (turn + stripe) % self.blocks_per_superblock } else { turn }, stripe)
        } else {
            (member, page)
        }
    }

    /// Returns the index of the group that holds a page of a member, and the index of the page in the group: the inverse of
    /// [`turn`](Self::turn).
    #[inline]
    pub fn back(&self, member: u32, page_in_block: u32) -> (u32, u32) {
        if self.ways > 1 {
            return (page_in_block, member);
        }
        let width = self.blocks_per_superblock;
        let turn = if self.has_parity() { (member + width - page_in_block % width) % width } else { member };
        (page_in_block * width + turn, 0)
    }

    /// Whether the device has parity across dies.
    #[inline]
    pub fn has_parity(&self) -> bool {
        self.pages_per_stripe > 0
    }

    /// Returns the number of pages of a stripe, including its parity page; 0 without parity across dies.
    #[inline]
    pub fn pages_per_stripe(&self) -> u32 {
        self.pages_per_stripe
    }

    /// Returns the number of pages of a superblock that do not hold parity across dies.
    pub fn data_pages_per_superblock(&self) -> u32 {
        let parity = if self.has_parity() { self.pages_per_block } else { 0 };
        self.pages_per_superblock() - parity
    }

    /// Returns the die of a plane, numbered over the device.
    pub fn die_of(&self, plane: Plane) -> Die {
        Die(plane.0 / self.planes_per_die)
    }

    /// Returns the number of dies of all SSDs.
    pub fn dies(&self) -> u32 {
        self.planes / self.planes_per_die
    }

    /// Returns the rank of a chip, from 0, in the order in which the stripe meets chips. Chips of a set have consecutive ranks.
    pub fn chip_rank(&self, chip: Chip) -> u32 {
        self.chip_ranks[chip]
    }

    /// Returns the number of chips among which a codeword is divided; 1 without interleaving.
    #[inline]
    pub fn ways(&self) -> u32 {
        self.ways
    }

    /// Returns the number of sets of planes.
    pub fn sets(&self) -> u32 {
        self.planes / self.blocks_per_superblock
    }

    /// Returns all sets of planes.
    pub fn all_sets(&self) -> impl DoubleEndedIterator<Item = Set> + Clone + use<> {
        Set::all(0..self.sets())
    }

    /// Returns the number of superblocks of all sets.
    pub fn superblocks(&self) -> u32 {
        self.sets() * self.blocks_per_plane
    }

    /// Returns the set of a plane, and the plane's index in the set.
    #[inline]
    pub fn set_of(&self, plane: Plane) -> (Set, u32) {
        if self.blocks_per_superblock == 1 { (Set(plane.0), 0) } else { self.set_of_plane[plane] }
    }

    /// Returns the plane at index `member` of a set.
    #[inline]
    pub fn plane_of(&self, set: Set, member: u32) -> Plane {
        let width = self.blocks_per_superblock;
        if width == 1 { Plane(set.0) } else { self.members[(set.0 * width + member) as usize] }
    }

    /// Returns the number of codewords of a group.
    #[inline]
    pub fn codewords_per_group(&self) -> u32 {
        self.codewords_per_page * self.ways
    }

    /// Returns the number of pages of a block that are programmed at once, outside the SLC cache.
    #[inline]
    pub fn pages_per_program(&self) -> u32 {
        self.pages_per_program
    }

    /// Returns the number of codewords that are programmed at once, at most.
    #[inline]
    pub fn codewords_per_program(&self) -> u32 {
        self.codewords_per_group() * self.pages_per_program
    }

    /// Returns the number of blocks of a superblock: with interleaving the number of ways, otherwise 1 or more.
    #[inline]
    pub fn blocks_per_superblock(&self) -> u32 {
        self.blocks_per_superblock
    }

    /// Returns the number of blocks through which codewords follow one another, page by page. It is 1 with interleaving.
    #[inline]
    pub fn blocks_in_turn(&self) -> u32 {
        if self.ways == 1 { self.blocks_per_superblock } else { 1 }
    }

    /// Returns the number of pages of a superblock.
    pub fn pages_per_superblock(&self) -> u32 {
        self.pages_per_block * self.blocks_per_superblock
    }

    /// Returns the number of codewords of a superblock.
    pub fn codewords_per_superblock(&self) -> u32 {
        self.codewords_per_block() * self.blocks_per_superblock
    }

    /// Returns the superblocks of a set.
    pub fn superblocks_of_set(&self, set: Set) -> impl DoubleEndedIterator<Item = Superblock> + Clone + use<> {
        Superblock::all(set.0 * self.blocks_per_plane..(set.0 + 1) * self.blocks_per_plane)
    }

    /// Returns the superblock at an index of a set.
    #[inline]
    pub fn superblock_in(&self, set: Set, of_set: u32) -> Superblock {
        Superblock(set.0 * self.blocks_per_plane + of_set)
    }

    /// Returns the set of a superblock.
    #[inline]
    pub fn set_of_superblock(&self, superblock: Superblock) -> Set {
        Set(superblock.0 / self.divisors.blocks_per_plane)
    }

    /// Returns the SSD of a set.
    #[inline]
    pub fn ssd_of_set(&self, set: Set) -> Ssd {
        Ssd(if self.ssds == 1 { 0 } else { set.0 / (self.sets() / self.ssds) })
    }

    /// Returns the sets of an SSD.
    #[inline]
    pub fn sets_of_ssd(&self, ssd: Ssd) -> impl DoubleEndedIterator<Item = Set> + Clone + use<> {
        let sets = self.sets() / self.ssds;
        Set::all(ssd.0 * sets..(ssd.0 + 1) * sets)
    }

    /// Returns the superblock of a place.
    #[inline]
    pub fn superblock_of(&self, place: Place) -> Superblock {
        self.superblock_of_block(self.block_of(place))
    }

    /// Returns the plane of a block, and the index of the block in the plane.
    #[inline]
    pub fn split_block(&self, block: Block) -> (Plane, u32) {
        let (plane, of_plane) = StrengthReducedU32::div_rem(block.0, self.divisors.blocks_per_plane);
        (Plane(plane), of_plane)
    }

    /// Returns the block at an index of a plane.
    #[inline]
    pub fn block_at(&self, plane: Plane, of_plane: u32) -> Block {
        Block(plane.0 * self.blocks_per_plane + of_plane)
    }

    /// Returns the superblock of a block.
    #[inline]
    pub fn superblock_of_block(&self, block: Block) -> Superblock {
        if self.blocks_per_superblock == 1 {
            return Superblock(block.0);
        }
        let (plane, of_plane) = self.split_block(block);
        self.superblock_in(self.set_of(plane).0, of_plane)
    }

    /// Returns the block of a superblock in a member of its set, numbered over the device.
    #[inline]
    pub fn block_in(&self, superblock: Superblock, member: u32) -> Block {
        if self.blocks_per_superblock == 1 {
            return Block(superblock.0);
        }
        let (set, of_set) = StrengthReducedU32::div_rem(superblock.0, self.divisors.blocks_per_plane);
        self.block_at(self.plane_of(Set(set), member), of_set)
    }

    /// Returns the page, numbered over the device, at index `page` of the block that a superblock has in a member of its set.
    #[inline]
    pub fn page_in(&self, superblock: Superblock, page: u32, member: u32) -> u64 {
        u64::from(self.block_in(superblock, member)) * u64::from(self.pages_per_block) + u64::from(page)
    }

    /// Returns the place of a unit of the group at `page` of a superblock.
    #[inline]
    pub fn place(&self, superblock: Superblock, page: u32, unit: u32) -> Place {
        if self.blocks_per_superblock == 1 {
            return Place(self.first_place(Block(superblock.0), page).0 + u64::from(unit));
        }
        let (member, page) = self.turn(page, unit / self.codewords_per_page);
        let first = self.page_in(superblock, page, member) * u64::from(self.codewords_per_page);
        Place(first + u64::from(unit % self.codewords_per_page))
    }

    /// Returns the plane of a unit of the group at `page` of a superblock of a set.
    #[inline]
    pub fn plane_of_unit(&self, set: Set, page: u32, unit: u32) -> Plane {
        if self.blocks_per_superblock == 1 {
            return Plane(set.0);
        }
        self.plane_of(set, self.turn(page, unit / self.codewords_per_page).0)
    }

    /// Returns the first place of a page of a block, which is numbered over the device.
    #[inline]
    pub fn first_place(&self, block: Block, page: u32) -> Place {
        let page = u64::from(block) * u64::from(self.pages_per_block) + u64::from(page);
        Place(page * u64::from(self.codewords_per_page))
    }

    /// Returns the first place of the page that contains a place.
    #[inline]
    pub fn first_of_page(&self, place: Place) -> Place {
        Place(place.0 - place.0 % u64::from(self.codewords_per_page))
    }

    /// Splits a place into its block (numbered over the device), its page in the block, and its slot in the page.
    #[inline]
    pub fn split(&self, place: Place) -> (Block, u32, u32) {
        let (block, in_block) = StrengthReducedU64::div_rem(place.0, self.divisors.codewords_per_block);
        let (page, slot) = StrengthReducedU32::div_rem(in_block as u32, self.divisors.codewords_per_page);
        (Block(block as u32), page, slot)
    }

    /// Returns the block of a place, numbered over the device.
    #[inline]
    pub fn block_of(&self, place: Place) -> Block {
        Block((place.0 / self.divisors.codewords_per_block) as u32)
    }

    /// Returns the member of the set that holds a codeword, by the codeword's unit number in the group.
    #[inline]
    pub fn member_of(&self, unit: u32) -> u32 {
        if self.ways == 1 { 0 } else { unit / self.codewords_per_page }
    }

    /// Returns the unit numbers, in a group, of the codewords in one member.
    #[inline]
    pub fn units_of(&self, member: u32) -> Range<u32> {
        member * self.codewords_per_page..(member + 1) * self.codewords_per_page
    }

    /// Returns the planes of an SSD, in the order in which consecutive page writes go to them. The planes of a set are adjacent.
    #[inline]
    pub fn stripe(&self, ssd: Ssd) -> &[Plane] {
        let planes = self.planes_of_ssd() as usize;
        &self.stripe[ssd.index() * planes..][..planes]
    }

    /// Returns the SSD of a plane, and the plane's position in the stripe of that SSD.
    #[inline]
    pub fn stripe_position(&self, plane: Plane) -> (Ssd, u32) {
        let position = self.stripe_positions[plane];
        let per_ssd = self.planes_of_ssd();
        if self.ssds == 1 { (Ssd(0), position) } else { (Ssd(position / per_ssd), position % per_ssd) }
    }

    /// Returns the number of planes of an SSD.
    #[inline]
    pub fn planes_of_ssd(&self) -> u32 {
        self.planes / self.ssds
    }

    /// Returns the number of pools into which levels of parallelism divide an SSD.
    pub fn pools(&self, levels: &[StripeLevel]) -> u32 {
        levels.iter().map(|&level| self.size_and_stride(level).0).product()
    }

    /// Returns how many items of a level there are in an item of the level above, and how many planes lie from one item to the next.
    fn size_and_stride(&self, level: StripeLevel) -> (u32, u32) {
        match level {
            StripeLevel::Channel => (self.channels / self.ssds, self.planes_per_channel),
            StripeLevel::Chip => (self.planes_per_channel / self.planes_per_chip, self.planes_per_chip),
            StripeLevel::Die => (self.planes_per_chip / self.planes_per_die, self.planes_per_die),
            StripeLevel::Plane => (self.planes_per_die, 1),
        }
    }

    fn striped(&self, levels: &[StripeLevel; 4]) -> Vec<Plane> {
        (0..self.planes)
            .map(|index| {
                let first = index / self.planes_of_ssd() * self.planes_of_ssd();
                let mut index = index - first;
                Plane(levels.iter().fold(first, |plane, &level| {
                    let (size, stride) = self.size_and_stride(level);
                    let digit = index % size;
                    index /= size;
                    plane + digit * stride
                }))
            })
            .collect()
    }
}

/// Lists chips (or dies) of `planes` planes in the order in which a stripe meets them, and the rank of each in that order.
fn in_order_met(stripe: &[Plane], planes: u32) -> (Vec<u32>, Vec<u32>) {
    let firsts = stripe.iter().filter(|plane| plane.0.is_multiple_of(planes));
    let met: Vec<u32> = firsts.map(|plane| plane.0 / planes).collect();
    let mut ranks = vec![0; met.len()];
    met.iter().zip(0..).for_each(|(&one, rank)| ranks[one as usize] = rank);
    (met, ranks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::InterleavingSpec;
    use crate::spec::StripeLevel;

    const CHANNEL: StripeLevel = StripeLevel::Channel;
    const CHIP: StripeLevel = StripeLevel::Chip;
    const DIE: StripeLevel = StripeLevel::Die;
    const PLANE: StripeLevel = StripeLevel::Plane;

    fn geometry(stripe: [StripeLevel; 4], ways: u32) -> Result<Geometry> {
        let spec = GeometrySpec {
            channels: 3,
            chips_per_channel: 2,
            dies_per_chip: 2,
            planes_per_die: 4,
            ..GeometrySpec::default()
        };
        let interleaving = InterleavingSpec { ways, ..InterleavingSpec::default() };
        Geometry::new(&spec, &FlashSpec::default(), &FtlSpec { stripe, interleaving, ..FtlSpec::default() })
    }

    #[test]
    fn striping_visits_every_plane_once_channels_first() {
        let geometry = geometry([CHANNEL, CHIP, DIE, PLANE], 1).unwrap();
        let stripe = geometry.stripe(Ssd(0));
        assert_eq!(stripe[..3].iter().map(|&p| geometry.channel_of(p).0).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!((geometry.chip_of(stripe[0]), geometry.chip_of(stripe[3])), (Chip(0), Chip(1)));
        let mut sorted = self::geometry([PLANE, CHIP, DIE, CHANNEL], 1).unwrap().stripe(Ssd(0)).to_vec();
        assert_eq!(sorted[..4], [0, 1, 2, 3].map(Plane));
        sorted.sort_unstable();
        assert_eq!(sorted, Plane::all(0..48).collect::<Vec<_>>());
    }

    /// Does a set have one plane on each of n chips, whatever the order of the stripe, and is every plane in exactly one set?
    #[test]
    fn sets_have_planes_of_different_chips() {
        for stripe in [[CHANNEL, CHIP, DIE, PLANE], [PLANE, DIE, CHIP, CHANNEL], [DIE, CHANNEL, PLANE, CHIP]] {
            for ways in [1, 2, 3, 6] {
                let geometry = geometry(stripe, ways).unwrap();
                let mut seen = vec![false; 48];
                for set in geometry.all_sets() {
                    let planes: Vec<Plane> = (0..ways).map(|member| geometry.plane_of(set, member)).collect();
                    let ranks: Vec<u32> = planes.iter().map(|&p| geometry.chip_rank(geometry.chip_of(p))).collect();
                    assert!(ranks.windows(2).all(|pair| pair[1] == pair[0] + 1), "{ranks:?}");
                    assert!(
                        planes.iter().all(|p| p.0 % 8 == planes[0].0 % 8),
                        "the same plane of each chip: {planes:?}"
                    );
                    for (member, &plane) in planes.iter().enumerate() {
                        assert_eq!(geometry.set_of(plane), (set, member as u32));
                        assert!(!std::mem::replace(&mut seen[plane.index()], true));
                    }
                }
                assert!(seen.into_iter().all(|seen| seen));
                let sets: Vec<Set> = geometry.stripe(Ssd(0)).iter().map(|&plane| geometry.set_of(plane).0).collect();
                assert!(sets.chunks(ways as usize).all(|set| set.iter().all(|s| *s == set[0])), "sets stand together");
            }
        }
    }

    #[test]
    fn places_and_units_of_groups_name_each_other() {
        let geometry = geometry([CHANNEL, CHIP, DIE, PLANE], 2).unwrap();
        for (superblock, page) in [(0, 0), (5, 63), (2048 * 24 - 1, 1)] {
            let superblock = Superblock(superblock);
            for unit in 0..geometry.codewords_per_group() {
                let place = geometry.place(superblock, page, unit);
                assert_eq!(geometry.superblock_of(place), superblock);
                assert_eq!(geometry.split(place).1, page);
                let member = geometry.set_of(geometry.split_block(geometry.block_of(place)).0).1;
                assert!(geometry.units_of(member).contains(&unit));
            }
        }
    }

    #[test]
    fn ways_that_do_not_divide_the_chips_are_named() {
        let error = geometry([CHANNEL, CHIP, DIE, PLANE], 4).unwrap_err().to_string();
        assert!(error.starts_with(
            "ftl.interleaving.ways: found 4, expected 1 (no interleaving), or a divisor of the number of chips (6)"
        ));
    }
}
