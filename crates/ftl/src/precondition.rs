use softsense_base::{Purpose, Stream};
use softsense_config::geometry::Geometry;
use softsense_config::ids::{Lcn, Place, Set, Ssd, Superblock, TiVec};
use softsense_config::spec::TranslationPages;
use strength_reduce::StrengthReducedU64;

use super::addresses::Addresses;
use super::{BlockLayout, PageMap, State, Writer};

/// The valid fraction of greedy garbage collection's victims under endless uniform overwriting of a
/// device whose blocks are `utilisation` full on average: the root below 1 of
/// `utilisation = (delta - 1) / ln delta`. Write amplification is `1 / (1 - delta)`.
///
/// Exact for large blocks: a block that all writes miss equally loses its valid codewords
/// exponentially, and the oldest is the emptiest, so greedy collects in order of age.
///
/// Source: P. Desnoyers, "Analytic models of SSD write performance", ACM TOS 10(2), 2014, the LRU
/// model, to which greedy cleaning converges as blocks grow; there in terms of Lambert's W.
pub fn steady_state_victim_fraction(utilisation: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..200 {
        let delta = 0.5 * (low + high);
        let mean = if delta == 0.0 { 0.0 } else { (delta - 1.0) / libm::log(delta) };
        if mean < utilisation { low = delta } else { high = delta }
    }
    0.5 * (low + high)
}

/// The locations of codewords before the run, as a function in both directions. So a device of any size starts at once, and memory holds
/// only changes since then.
#[derive(Debug)]
pub(super) enum Start {
    /// Nothing is mapped.
    Empty,
    /// One sequential pass of page writes over the first codewords of each SSD; an entry for each SSD.
    Sequential(TiVec<Ssd, Sequential>),
    /// The state of each SSD after endless uniform overwriting; an entry for each SSD.
    SteadyState(TiVec<Ssd, SteadyState>),
}

impl Start {
    /// The place of a codeword of the user.
    #[inline]
    pub(super) fn place_of(&self, device: &Device<'_>, lcn: Lcn) -> Option<Place> {
        if lcn >= Lcn(device.addresses.user_codewords()) {
            return None;
        }
        let (ssd, index) = device.addresses.split(lcn);
        match self {
            Self::Empty => None,
            Self::Sequential(passes) => passes[ssd].place_of(device, ssd, index),
            Self::SteadyState(states) => states[ssd].place_of(device, ssd, index),
        }
    }

    /// The codeword that lies at a place.
    #[inline]
    pub(super) fn lcn_at(&self, device: &Device<'_>, place: Place) -> Option<Lcn> {
        let (block, page, slot) = device.geometry.split(place);
        let (plane, of_plane) = device.geometry.split_block(block);
        let (ssd, index) = match self {
            Self::Empty => return None,
            Self::Sequential(passes) => {
                let (ssd, position) = device.geometry.stripe_position(plane);
                (ssd, passes[ssd].index_at(device, of_plane, page, position, slot)?)
            }
            Self::SteadyState(states) => {
                let (set, member) = device.geometry.set_of(plane);
                let ssd = device.geometry.ssd_of_set(set);
                let (page, member) = device.geometry.back(member, page);
                (ssd, states[ssd].index_at(device, ssd, (set, of_plane), (page, member, slot))?)
            }
        };
        Some(device.addresses.join(ssd, index))
    }
}

/// The description of a device that the numbering of places depends on.
pub(super) struct Device<'a> {
    pub(super) geometry: &'a Geometry,
    pub(super) addresses: &'a Addresses,
}

/// An SSD after one sequential pass of page writes, in which planes take turns.
#[derive(Debug)]
pub(super) struct Sequential {
    /// The layout of all blocks.
    layout: BlockLayout,
    /// Codewords of the SSD that were written: its first ones.
    mapped: u64,
    /// Planes of the SSD, or its sets where the planes of a set take turns.
    lanes: StrengthReducedU64,
    /// Codewords in the blocks of the same index of all planes of an SSD.
    per_block_row: StrengthReducedU64,
}

impl Sequential {
    fn new(device: &Device<'_>, layout: BlockLayout, mapped: u64) -> Self {
        let lanes = u64::from(device.geometry.planes_of_ssd() / device.geometry.blocks_in_turn());
        Self {
            layout,
            mapped,
            lanes: StrengthReducedU64::new(lanes),
            per_block_row: StrengthReducedU64::new(lanes * u64::from(layout.codewords())),
        }
    }

    #[inline]
    fn place_of(&self, device: &Device<'_>, ssd: Ssd, index: u64) -> Option<Place> {
        if index >= self.mapped {
            return None;
        }
        let (block, in_row) = StrengthReducedU64::div_rem(index, self.per_block_row);
        let in_turn = device.geometry.blocks_in_turn();
        let mut page = self.layout.page_of((in_row / self.lanes) as u32);
        page -= page % in_turn;
        let before = self.layout.before(page);
        let in_pages = (in_row - self.lanes.get() * u64::from(before)) as u32;
        let of_lane = self.layout.before(page + in_turn) - before;
        let (mut position, mut slot) = (in_pages / of_lane, in_pages % of_lane);
        if in_turn > 1 {
            // The slot counts through all pages of a lane that take turns; here it is split into page and slot.
            let number = before + slot;
            let of_number = self.layout.page_of(number);
            slot = number - self.layout.before(of_number);
            let (member, in_block) = device.geometry.turn(of_number, 0);
            (position, page) = (position * in_turn + member, in_block);
        }
        let plane = device.geometry.stripe(ssd)[position as usize];
        let block = device.geometry.block_at(plane, block as u32);
        Some(Place(device.geometry.first_place(block, page).0 + u64::from(slot)))
    }

    /// # Arguments
    /// - `block`: the number of the block in its plane.
    /// - `position`: the position of the plane in the stripe.
    #[inline]
    fn index_at(&self, device: &Device<'_>, block: u32, page: u32, position: u32, slot: u32) -> Option<u64> {
        let in_turn = device.geometry.blocks_in_turn();
        let (lane, first) = (position / in_turn, page * in_turn);
        let page = if in_turn > 1 { device.geometry.back(position % in_turn, page).0 } else { page };
        let (before, before_page) = (self.layout.before(first), self.layout.before(page));
        let of_lane = self.layout.before(first + in_turn) - before;
        let index = u64::from(block) * self.per_block_row.get()
            + self.lanes.get() * u64::from(before)
            + u64::from(lane) * u64::from(of_lane)
            + u64::from(before_page - before + slot);
        (slot < self.layout.beginning_in(page) && index < self.mapped).then_some(index)
    }
}

/// An SSD after endless uniform overwriting under greedy garbage collection. Some blocks are free, the host and collection have each
/// filled one in part, and all others are full. A full block of age a (0 the newest, 1 the oldest) is valid to the fraction `delta^a`,
/// where delta is [`steady_state_victim_fraction`].
///
/// Sets are at different points between two collections, evenly spread. The seed draws which codewords lie where, as overwriting at
/// random leaves no trace of the first writes. Units of data that are one codeword were written together, and are valid together.
#[derive(Debug)]
pub(super) struct SteadyState {
    /// The layout of all blocks.
    layout: BlockLayout,
    stream: Stream,
    /// Sets of an SSD.
    sets: u64,
    /// Units of data of the SSD that are mapped: its first ones.
    mapped: u64,
    /// Units of data in a codeword.
    units: StrengthReducedU64,
    /// Codewords that the mapped units are in; the last codeword may have fewer units.
    total: StrengthReducedU64,
    /// The order in which codewords are dealt to sets and superblocks.
    dealt: Permutation,
    /// The different contents of sets, each once.
    holdings: Vec<Holding>,
    /// For each set, the index of its content in `holdings`.
    holding_of: Box<[u16]>,
    /// The order of the codewords of a full superblock, except for its key.
    within: Permutation,
}

/// The content of a set at the start: sets in the same phase with as many valid codewords share one.
#[derive(Debug)]
struct Holding {
    /// Superblocks that are full: the first ones, the oldest first. The open ones follow.
    closed: u32,
    /// For each superblock, the valid codewords in superblocks before it; last, the valid codewords of the set.
    before: Vec<u64>,
    open: Vec<Open>,
}

/// A superblock that is partly written.
#[derive(Debug)]
struct Open {
    writer: Writer,
    /// Pages that are written.
    pages: u32,
    /// The order of the codewords that fit in the written pages, except for its key.
    within: Permutation,
}

/// The cycle of collection in a set. Collection stops at `most` free superblocks, and begins when the host has opened `takes` of them.
#[derive(Debug, Clone, Copy)]
struct Round {
    /// Superblocks for data: full, open or free.
    superblocks: u32,
    most: u32,
    takes: u32,
}

/// A point in the cycle of collection.
struct Phase {
    free: u32,
    /// The shares of their open superblocks that host and collection have written.
    written: [f64; 2],
}

impl Round {
    /// The number of points of the cycle that are distinguished.
    const PHASES: u32 = 16;

    /// A point of the cycle. Over all points, the written shares of the two open superblocks are spread evenly over the unit square.
    ///
    /// Source: J. M. Hammersley, "Monte Carlo methods for solving multivariable problems", Ann. NY Acad. Sci. 86, 1960: numbers and their
    /// mirrored bits.
    fn at(self, phase: u32) -> Phase {
        let of_all = |number: u32| (f64::from(number) + 0.5) / f64::from(Self::PHASES);
        let taken = of_all(phase) * f64::from(self.takes);
        let mirrored = phase.reverse_bits() >> (u32::BITS - Self::PHASES.ilog2());
        Phase { free: self.most - taken as u32, written: [taken - libm::floor(taken), of_all(mirrored)] }
    }
}

impl Holding {
    /// # Arguments
    /// - `valid`: valid codewords of the set.
    /// - `capacity`: codewords that a superblock has room for.
    fn new(valid: u64, closed: u32, open: Vec<Open>, capacity: u64) -> Self {
        let room = |open: &Open| open.within.n;
        let written = u64::from(closed) * capacity + open.iter().map(room).sum::<u64>();
        // An open superblock is as new as the newest full one.
        let newest = newest_valid(valid as f64 / written as f64, f64::from(closed));
        let mut left = valid;
        let take = |room: u64| {
            let count = (libm::round(newest * room as f64) as u64).min(room).min(left);
            left -= count;
            count
        };
        let valid_in_open: Vec<u64> = open.iter().map(room).map(take).collect();
        let mut before = valid_before(left, closed, capacity);
        for count in valid_in_open {
            before.push(before[before.len() - 1] + count);
        }
        Self { closed, before, open }
    }
}

impl SteadyState {
    fn new(
        device: &Device<'_>,
        ssd: Ssd,
        (layout, units): (BlockLayout, u32),
        round: Round,
        (mapped_fraction, seed): (f64, u64),
    ) -> Self {
        let sets = u64::from(device.geometry.sets() / device.geometry.ssds());
        let mapped = libm::ceil(device.addresses.of_ssd() as f64 * mapped_fraction) as u64;
        let total = mapped.div_ceil(units.into());
        let ways = device.geometry.ways();
        let capacity = u64::from(layout.codewords() / units * ways);
        let stream = Stream::new(seed, Purpose::Precondition);
        let open = |(writer, share): (Writer, f64)| {
            let most = (share * f64::from(layout.pages())) as u32;
            let pages = (1..=most).rev().find(|&pages| is_boundary(device.geometry, layout, pages))?;
            let within = Permutation::new(0, u64::from(layout.before(pages) / units * ways));
            Some(Open { writer, pages: pages * ways, within })
        };
        let holding = |phase: u32, valid: u64| {
            let Phase { free, written: [of_host, of_gc] } = round.at(phase);
            let open: Vec<_> = [(Writer::Host, of_host), (Writer::Gc, of_gc)].into_iter().filter_map(open).collect();
            let closed = round.superblocks - free - open.len() as u32;
            Holding::new(valid, closed, open, capacity)
        };
        // Sets differ by at most one valid codeword. Phases are equally frequent, and random over sets.
        let (least, phases) = (total / sets, u64::from(Round::PHASES));
        let order = Permutation::new(stream.bits(ssd.into(), 2), sets);
        let first = stream.bits(ssd.into(), 3) % phases;
        let (mut holdings, mut known) = (Vec::new(), [[None; 2]; Round::PHASES as usize]);
        let holding_of = (0..sets)
            .map(|set| {
                let phase = ((order.apply(set) * phases + first) / sets % phases) as u32;
                let valid = total * (set + 1) / sets - total * set / sets;
                *known[phase as usize][(valid - least) as usize].get_or_insert_with(|| {
                    holdings.push(holding(phase, valid));
                    holdings.len() as u16 - 1
                })
            })
            .collect();
        Self {
            layout,
            stream,
            sets,
            mapped,
            units: StrengthReducedU64::new(units.into()),
            // A device without room for the user has no codewords: a total of 1 only avoids a division by 0.
            total: StrengthReducedU64::new(total.max(1)),
            dealt: Permutation::new(stream.bits(ssd.into(), 1), total.max(1)),
            holdings,
            holding_of,
            within: Permutation::new(0, capacity),
        }
    }

    /// Valid codewords of the sets of the SSD that come before a set.
    #[inline]
    fn before_set(&self, set: u64) -> u64 {
        self.total.get() * set / self.sets
    }

    /// The content of a set, by its number in the SSD.
    #[inline]
    fn holding(&self, set: u64) -> &Holding {
        &self.holdings[usize::from(self.holding_of[set as usize])]
    }

    /// The order of the codewords in a superblock.
    #[inline]
    fn permutation(&self, holding: &Holding, of_set: u32, superblock: Superblock) -> Permutation {
        let open = of_set.checked_sub(holding.closed);
        let within = open.map_or(&self.within, |open| &holding.open[open as usize].within);
        Permutation { key: self.stream.bits(superblock.into(), 0), ..*within }
    }

    fn place_of(&self, device: &Device<'_>, ssd: Ssd, index: u64) -> Option<Place> {
        if index >= self.mapped {
            return None;
        }
        let (codeword, unit) = StrengthReducedU64::div_rem(index, self.units);
        let dealt = self.dealt.apply(codeword);
        let set = ((dealt + 1) * self.sets - 1) / self.total;
        let holding = self.holding(set);
        let in_set = dealt - self.before_set(set);
        let of_set = holding.before.partition_point(|&before| before <= in_set) - 1;
        let number = in_set - holding.before[of_set];
        let superblock = device.geometry.superblock_in(Set(ssd.0 * self.sets as u32 + set as u32), of_set as u32);
        let permutation = self.permutation(holding, of_set as u32, superblock);
        let offset = (permutation.apply(number) * self.units.get() + unit) as u32;
        // Places of a superblock are counted page by page, its members side by side.
        let ways = device.geometry.ways();
        let page = self.layout.page_of(offset / ways);
        let in_pages = offset - self.layout.before(page) * ways;
        let slots = self.layout.beginning_in(page);
        let unit = device.geometry.units_of(in_pages / slots).start + in_pages % slots;
        Some(device.geometry.place(superblock, page, unit))
    }

    /// # Arguments
    /// - `ssd`: the SSD.
    /// - `superblock`: its set, and its index in the set.
    /// - `at`: the page of the group, the member with the page, and the slot.
    fn index_at(
        &self,
        device: &Device<'_>,
        ssd: Ssd,
        (set, of_set): (Set, u32),
        (page, member, slot): (u32, u32, u32),
    ) -> Option<u64> {
        let slots = self.layout.beginning_in(page);
        if slot >= slots {
            return None;
        }
        let offset = self.layout.before(page) * device.geometry.ways() + member * slots + slot;
        let superblock = device.geometry.superblock_in(set, of_set);
        let set = u64::from(set) - u64::from(ssd) * self.sets;
        let (holding, at) = (self.holding(set), of_set as usize);
        let valid = holding.before.get(at + 1)? - holding.before[at];
        let (codeword, unit) = StrengthReducedU64::div_rem(offset.into(), self.units);
        let permutation = self.permutation(holding, of_set, superblock);
        if codeword >= permutation.n {
            return None;
        }
        let number = permutation.undo(codeword);
        let index =
            |number| self.dealt.undo(self.before_set(set) + holding.before[at] + number) * self.units.get() + unit;
        (number < valid).then(|| index(number)).filter(|&index| index < self.mapped)
    }
}

/// Whether a superblock can be open with so many pages written: no codeword crosses the end of the last page, no parity page is due next,
/// and no wordline is programmed in part.
fn is_boundary(geometry: &Geometry, layout: BlockLayout, pages: u32) -> bool {
    let last = layout.beginning_in(pages - 1);
    let stripe = geometry.pages_per_stripe();
    let parity_is_due = stripe > 0 && pages % stripe == stripe - 1;
    let ends_program = pages.is_multiple_of(geometry.pages_per_program());
    !parity_is_due && ends_program && (last == 0 || !layout.crosses(pages - 1, last - 1))
}

/// The valid fraction of the newest of `closed` superblocks that are `utilisation` full on average.
fn newest_valid(utilisation: f64, closed: f64) -> f64 {
    let delta = steady_state_victim_fraction(utilisation);
    // The mean of delta^a over the ages a of one of them.
    utilisation * closed * (1.0 - libm::pow(delta, 1.0 / closed)) / (1.0 - delta)
}

/// For each superblock of a set, the valid codewords in superblocks before it; last, those of the set. The oldest superblock comes
/// first, and the differences add up to `valid` exactly.
fn valid_before(valid: u64, closed: u32, capacity: u64) -> Vec<u64> {
    let delta = steady_state_victim_fraction(valid as f64 / (f64::from(closed) * capacity as f64));
    // Valid codewords of the blocks that are newer than age a: the integral of delta^a, rounded.
    let newer_than = |age: u32| {
        let a = f64::from(age) / f64::from(closed);
        libm::round(valid as f64 * (1.0 - libm::pow(delta, a)) / (1.0 - delta)) as u64
    };
    let mut before = Vec::with_capacity(closed as usize + 1);
    let (mut sum, mut carry, mut up_to) = (0, 0, newer_than(closed));
    for age in (0..closed).rev() {
        before.push(sum);
        let newer = newer_than(age);
        // A rounded share may exceed a block by one codeword; the next newer block takes it.
        let wanted = up_to - newer + carry;
        let count = wanted.min(capacity);
        (sum, carry, up_to) = (sum + count, wanted - count, newer);
    }
    assert_eq!((carry, sum), (0, valid), "the newest block has room: what all blocks hold is below their capacity");
    before.push(sum);
    before
}

/// A random order of the numbers below `n`, determined by its key. Four rounds of a Feistel network permute the numbers of as many bits;
/// they are repeated until the result is below `n`.
///
/// Source: J. Black, P. Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002, cycle walking. Rounds are a hash, for
/// scattering and not for secrecy.
#[derive(Debug, Clone, Copy)]
struct Permutation {
    key: u64,
    n: u64,
    low_bits: u32,
    high_bits: u32,
}

impl Permutation {
    const ROUNDS: u32 = 4;

    fn new(key: u64, n: u64) -> Self {
        let bits = (n - 1).checked_ilog2().map_or(0, |log| log + 1).max(2);
        Self { key, n, low_bits: bits / 2, high_bits: bits - bits / 2 }
    }

    /// The hash of one part that a round combines with the other part.
    #[inline]
    fn round(&self, round: u32, part: u64) -> u64 {
        let mixed = (part ^ self.key.rotate_left(16 * round)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 32
    }

    #[inline]
    fn apply(&self, number: u64) -> u64 {
        self.walk(number, 0..Self::ROUNDS)
    }

    #[inline]
    fn undo(&self, number: u64) -> u64 {
        self.walk(number, (0..Self::ROUNDS).rev())
    }

    /// Repeats the rounds until the result is a number below `n`.
    #[inline]
    fn walk(&self, number: u64, rounds: impl Iterator<Item = u32> + Clone) -> u64 {
        let mut at = number;
        loop {
            let (mut low, mut high) = (at & ((1 << self.low_bits) - 1), at >> self.low_bits);
            for round in rounds.clone() {
                if round % 2 == 0 {
                    low ^= self.round(round, high) & ((1 << self.low_bits) - 1);
                } else {
                    high ^= self.round(round, low) & ((1 << self.high_bits) - 1);
                }
            }
            at = high << self.low_bits | low;
            if at < self.n {
                return at;
            }
        }
    }
}

impl PageMap {
    /// The layout of all blocks of an SSD at the start.
    fn layout_at_start(&self, ssd: Ssd) -> BlockLayout {
        *self.wear.start_ages.on_ssd(self.formats.layouts(), ssd)
    }

    /// Maps the first `codewords` logical codewords of each SSD of an empty device as one sequential pass of page
    /// writes leaves them.
    pub fn fill_sequentially(&mut self, codewords: u64) {
        let pass = |ssd| Sequential::new(&self.map.device(&self.geometry), self.layout_at_start(ssd), codewords);
        self.map.start = Start::Sequential(self.geometry.all_ssds().map(pass).collect());
        self.geometry.all_ssds().for_each(|ssd| self.adopt_sequential_ssd(ssd, codewords));
    }

    fn adopt_sequential_ssd(&mut self, ssd: Ssd, codewords: u64) {
        let (layout, planes) = (self.layout_at_start(ssd), u64::from(self.geometry.planes_of_ssd()));
        let in_turn = self.geometry.blocks_in_turn();
        let lanes = planes / u64::from(in_turn);
        let per_block_row = lanes * u64::from(layout.codewords());
        let (blocks, left) = (codewords / per_block_row, codewords % per_block_row);
        let mut page = layout.page_of((left / lanes) as u32);
        page -= page % in_turn;
        let before = layout.before(page);
        let of_last = u64::from(layout.before((page + in_turn).min(layout.pages())) - before);
        let left = left - lanes * u64::from(before);
        let mut pages = 0;
        let lanes_of_set = u64::from(self.geometry.ways());
        for first in (0..lanes).step_by(lanes_of_set as usize) {
            let (mut set, mut pages_of_set) = (Set(0), 0);
            for lane in first..first + lanes_of_set {
                let plane = self.geometry.stripe(ssd)[lane as usize * in_turn as usize];
                set = self.geometry.set_of(plane).0;
                let superblock = self.geometry.superblock_of_block(self.geometry.block_at(plane, 0));
                for block in 0..blocks as u32 {
                    self.blocks[Superblock(superblock.0 + block)].valid += layout.codewords();
                }
                let in_last = left.saturating_sub(lane * of_last).min(of_last) as u32;
                let units = before + in_last;
                if units > 0 {
                    self.blocks[Superblock(superblock.0 + blocks as u32)].valid += units;
                }
                let in_block = if in_last > 0 { self.with_parity(layout.page_of(units - 1) + 1) } else { page };
                pages_of_set += blocks * u64::from(layout.pages()) + u64::from(in_block);
            }
            pages += pages_of_set;
            // A unit that begins in the last page and crosses its end takes one more page.
            let last = (pages_of_set.wrapping_sub(1) % u64::from(layout.pages())) as u32;
            let slots = layout.beginning_in(last);
            if pages_of_set > 0 && slots > 0 && layout.crosses(last, slots - 1) {
                pages_of_set += 1;
            }
            self.adopt_blocks(set, pages_of_set);
        }
        let (pools, in_row) = (u64::from(self.turns.pools), pages % planes);
        for pool in 0..pools {
            let passed = (in_row + pools - 1 - pool) / pools % (planes / pools);
            let of_pool = self.turns.of_pool(ssd, pool as u32);
            self.turns.stripe_at[of_pool] = passed as usize;
        }
    }

    /// Maps the first logical codewords of each SSD of an empty device in the order of `SteadyState`.
    ///
    /// # Arguments
    /// - `mapped_fraction`: the share of the user's codewords that are mapped, above 0.
    pub fn fill_steady_state(&mut self, mapped_fraction: f64, seed: u64) {
        let translation = self.map.codewords - self.user_codewords();
        let pages_of_row = u64::from(self.geometry.sets()) * u64::from(self.geometry.data_pages_per_superblock());
        let for_translation = translation.div_ceil(pages_of_row) as u32;
        let (low, high) = (self.collector.low, self.collector.high);
        let round = Round {
            superblocks: self.sets[Set(0)].free.len() as u32 - for_translation,
            most: self.collector.free_at_start.unwrap_or(high) as u32,
            takes: self.collector.free_at_start.map_or(high - low + 1, |_| 1) as u32,
        };
        let state = |ssd| {
            let format =
                (self.layout_at_start(ssd), *self.wear.start_ages.on_ssd(&self.formats.units_of_codeword, ssd));
            SteadyState::new(&self.map.device(&self.geometry), ssd, format, round, (mapped_fraction, seed))
        };
        let states: TiVec<Ssd, SteadyState> = self.geometry.all_ssds().map(state).collect();
        // The superblock of the last codeword of an SSD, and the units that this codeword lacks.
        let lacks = |ssd: Ssd, state: &SteadyState| {
            let last = (state.total.get() - 1) * state.units.get();
            let place = state.place_of(&self.map.device(&self.geometry), ssd, last)?;
            Some((self.geometry.superblock_of(place), (last + state.units.get() - state.mapped) as u32))
        };
        let lacking: Vec<(Superblock, u32)> =
            self.geometry.all_ssds().zip(&states).filter_map(|(ssd, state)| lacks(ssd, state)).collect();
        for set in self.geometry.all_sets() {
            let state = &states[self.geometry.ssd_of_set(set)];
            let holding = state.holding(u64::from(set) % state.sets);
            for (superblock, pair) in self.geometry.superblocks_of_set(set).zip(holding.before.windows(2)) {
                let lacking = lacking.iter().find(|(of, _)| *of == superblock).map_or(0, |(_, units)| *units);
                self.blocks[superblock].valid = ((pair[1] - pair[0]) * state.units.get()) as u32 - lacking;
            }
            (0..holding.closed)
                .for_each(|_| self.adopt_superblock(set, self.geometry.pages_per_superblock(), Writer::Host));
            holding.open.iter().for_each(|open| self.adopt_superblock(set, open.pages, open.writer));
        }
        self.map.start = Start::SteadyState(states);
    }

    /// Writes the translation pages of the mapped codewords.
    ///
    /// # Arguments
    /// - `pages`: the number of translation pages.
    /// - `age`: the age of their data.
    pub fn fill_translation_pages(&mut self, pages: u32, age: TranslationPages) {
        for page in 0..pages {
            let group = self.open_for_translation().expect("over-provisioning leaves room for translation pages");
            self.place(group, 0, self.translation_page(page));
            self.programmed(group, 0);
            while let Some((parity, _)) = self.take_parity() {
                self.programmed(parity, 0);
            }
            if age == TranslationPages::Aged {
                // The page is as old as the data.
                let (member, in_block) = self.geometry.turn(group.page, group.first());
                self.map.set_written_s(self.geometry.page_in(group.superblock, in_block, member), None);
            }
        }
    }

    /// Takes note that the first `pages` pages of a set have been written, its members taking turns: full superblocks are
    /// closed, oldest first, and one that is not full is open for the host.
    fn adopt_blocks(&mut self, set: Set, pages: u64) {
        let ways = u64::from(self.geometry.blocks_per_superblock());
        // Pages that are programmed at once are all written, once one of them is.
        let at_once = if self.sets[set].interleaves { ways } else { self.geometry.pages_per_program().into() };
        let pages = pages.next_multiple_of(at_once);
        let per_superblock = u64::from(self.geometry.pages_per_superblock());
        let (full, left) = (pages / per_superblock, (pages % per_superblock) as u32);
        (0..full).for_each(|_| self.adopt_superblock(set, per_superblock as u32, Writer::Host));
        if left > 0 {
            self.adopt_superblock(set, left, Writer::Host);
        }
    }

    /// Notes that `written` pages of the first free superblock of a set have been written. The superblock is closed if it is full, and
    /// open for `writer` otherwise.
    fn adopt_superblock(&mut self, set: Set, written: u32, writer: Writer) {
        let superblock = self.sets[set].free.pop_front().expect("there is room for what was written");
        self.blocks[superblock].becomes(State::Open);
        let ways = self.geometry.blocks_per_superblock();
        self.blocks[superblock].interleaved = self.sets[set].interleaves;
        for member in 0..ways {
            let block = self.geometry.block_in(superblock, member);
            let (turn, _) =
                if self.geometry.has_parity() { self.geometry.back(member, written / ways) } else { (member, 0) };
            let programmed = written / ways + u32::from(turn % ways < written % ways);
            self.programmed[block] = programmed as u16;
        }
        if written == self.geometry.pages_per_superblock() {
            self.close(set, superblock);
        } else {
            self.sets[set].open[writer as usize] = Some((superblock, written));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Does a permutation meet each number once, and does undoing it lead back?
    #[test]
    fn permutations_can_be_undone() {
        for n in [1, 2, 3, 5, 31, 64, 100, 768, 3072] {
            for key in [0, 1, u64::MAX, 0x1234_5678_9ABC_DEF0] {
                let permutation = Permutation::new(key, n);
                let mut met = vec![false; n as usize];
                for number in 0..n {
                    let at = permutation.apply(number);
                    assert!(!std::mem::replace(&mut met[at as usize], true), "{n}, {key:x}: {at} twice");
                    assert_eq!(permutation.undo(at), number);
                }
            }
        }
    }

    /// Are the first numbers scattered as if drawn at random, page by page? The valid codewords of a page of eight, of a block
    /// half full, are a hypergeometric draw: its variance and chi-square over 4,000 blocks.
    #[test]
    fn permutations_scatter_like_random_draws() {
        const PAGES: usize = 64;
        let stream = Stream::new(9, Purpose::Precondition);
        let (blocks, n, chosen) = (4000u64, 8 * PAGES as u64, 4 * PAGES as u64);
        let mut of_page = [0u64; PAGES];
        let (mut sum_of_squares, mut neighbours) = (0.0, 0u64);
        for block in 0..blocks {
            let permutation = Permutation::new(stream.bits(block, 0), n);
            let mut valid = vec![false; n as usize];
            (0..chosen).for_each(|number| valid[permutation.apply(number) as usize] = true);
            for (page, slots) in valid.chunks(8).enumerate() {
                let count = slots.iter().filter(|&&valid| valid).count();
                of_page[page] += count as u64;
                sum_of_squares += (count as f64 - 4.0).powi(2);
            }
            neighbours += valid.windows(2).filter(|pair| pair[0] && pair[1]).count() as u64;
        }
        let draws = blocks as f64 * PAGES as f64;
        // Variance of a hypergeometric count: 8 x 1/2 x 1/2 x (512 - 8) / 511.
        let variance = 2.0 * 504.0 / 511.0;
        assert!((sum_of_squares / draws / variance - 1.0).abs() < 0.015, "{}", sum_of_squares / draws / variance);
        let expected = blocks as f64 * 4.0;
        let chi_square: f64 =
            of_page.iter().map(|&count| (count as f64 - expected).powi(2) / (blocks as f64 * variance)).sum();
        // 63 degrees of freedom: 103 is exceeded once in a thousand.
        assert!(chi_square < 103.0, "{chi_square}");
        let both = (chosen * (chosen - 1)) as f64 / (n * (n - 1)) as f64;
        let pairs = (blocks * (n - 1)) as f64;
        assert!((neighbours as f64 / pairs / both - 1.0).abs() < 0.005, "{}", neighbours as f64 / pairs / both);
    }
}
