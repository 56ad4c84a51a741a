use softsense_base::{Purpose, Stream};

use super::{PageMap, Writer};

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

impl PageMap {
    /// Maps the first `codewords` logical codewords of each SSD of an empty device as one sequential pass of page
    /// writes leaves them.
    pub fn fill_sequentially(&mut self, codewords: u32) {
        (0..self.geometry.ssds()).for_each(|ssd| self.fill_ssd_sequentially(ssd, codewords));
    }

    fn fill_ssd_sequentially(&mut self, ssd: u32, codewords: u32) {
        let (layout, planes) = (*self.layouts.at(|| 0), self.geometry.planes_of_ssd());
        let places_per_page = self.geometry.codewords_per_page();
        let pages_per_block = self.geometry.pages_per_block();
        // Codewords of the pages before a row of the stripe, and the pages that `codewords` take.
        let before_row =
            |row: u32| planes * (row / pages_per_block * layout.codewords() + layout.before(row % pages_per_block));
        let full_rows = (0..).take_while(|&row| before_row(row + 1) <= codewords).count() as u32;
        let in_last_row = layout.beginning_in(full_rows % pages_per_block);
        let pages = full_rows * planes + (codewords - before_row(full_rows)).div_ceil(in_last_row.max(1));
        // A tile is a few rows of the stripe: the part of the map that it fills stays in the cache, and
        // each plane's owners are written in runs.
        const TILE_ROWS: u32 = 16;
        let rows = pages.div_ceil(planes);
        for first_row in (0..rows).step_by(TILE_ROWS as usize) {
            for position in 0..planes {
                let plane = self.geometry.stripe(ssd)[position as usize];
                for row in first_row..rows.min(first_row + TILE_ROWS) {
                    let page = u64::from(row) * u64::from(planes) + u64::from(position);
                    if page >= u64::from(pages) {
                        break;
                    }
                    let block = plane * self.geometry.blocks_per_plane() + row / pages_per_block;
                    let first_place = (block * pages_per_block + row % pages_per_block) * places_per_page;
                    let slots = layout.beginning_in(row % pages_per_block);
                    let first = before_row(row) + position * slots;
                    let count = slots.min(codewords - first);
                    self.blocks[self.geometry.superblock_of(first_place) as usize].valid += count;
                    for slot in 0..count {
                        let lcn = self.lcn_of(ssd, first + slot);
                        self.map[lcn as usize] = first_place + slot;
                        self.owner[(first_place + slot) as usize] = lcn;
                    }
                }
            }
        }
        let ways = self.geometry.ways();
        for position in (0..planes).step_by(ways as usize) {
            let mut pages_of_set = pages / planes * ways + (pages % planes).saturating_sub(position).min(ways);
            // What the last page has begun, one more has ended.
            let last = pages_of_set.wrapping_sub(1) % pages_per_block;
            let slots = layout.beginning_in(last);
            if pages_of_set > 0 && slots > 0 && layout.crosses(last, slots - 1) {
                pages_of_set += 1;
            }
            self.adopt_blocks(self.geometry.set_of(self.geometry.stripe(ssd)[position as usize]).0, pages_of_set);
        }
        self.stripe_at[ssd as usize] = (pages % planes) as usize;
    }

    /// Maps every logical codeword of an empty device as endless uniform overwriting under greedy
    /// garbage collection leaves them: free blocks at the high watermark, all others written, and a
    /// block of age a (0 the newest, 1 the oldest) valid to the fraction `delta^a`, delta being
    /// [`steady_state_victim_fraction`]. Which codewords lie where is scattered.
    pub fn fill_steady_state(&mut self, seed: u64) {
        (0..self.geometry.ssds()).for_each(|ssd| self.fill_ssd_steady_state(ssd, seed));
    }

    fn fill_ssd_steady_state(&mut self, ssd: u32, seed: u64) {
        let stream = Stream::new(seed, Purpose::Precondition);
        let (sets, total) = (self.geometry.sets() / self.geometry.ssds(), self.user_codewords() / self.geometry.ssds());
        let translation = self.map.len() as u32 - self.user_codewords();
        let for_translation = translation.div_ceil(self.geometry.sets() * self.geometry.pages_per_superblock());
        let (layout, ways) = (*self.layouts.at(|| 0), self.geometry.ways());
        let capacity = layout.codewords() * ways;
        let closed = self.geometry.blocks_per_plane() - self.gc_high_watermark_blocks as u32 - for_translation;
        // Logical codewords are dealt in steps of about the golden section of their number, which
        // spreads any range of them evenly over planes, blocks and ages.
        let step = u64::from(coprime_near((f64::from(total) * 0.618_033_988_749_894_9) as u32, total));
        let mut index = 0;
        for set in 0..sets {
            let up_to_set = |set: u32| (u64::from(total) * u64::from(set) / u64::from(sets)) as u32;
            let valid = up_to_set(set + 1) - up_to_set(set);
            let delta = steady_state_victim_fraction(f64::from(valid) / (f64::from(closed) * f64::from(capacity)));
            // Valid codewords of the blocks up to age a: the integral of delta^a, rounded, so that the
            // differences add up exactly.
            let newer_than = |age: u32| {
                let a = f64::from(age) / f64::from(closed);
                libm::round(f64::from(valid) * (1.0 - libm::pow(delta, a)) / (1.0 - delta)) as u32
            };
            let set = ssd * sets + set;
            let mut carry = 0;
            for block in 0..closed {
                // The oldest first. A rounded share may exceed a block by one, which a newer one takes.
                let age = closed - 1 - block;
                let wanted = newer_than(age + 1) - newer_than(age) + carry;
                let count = wanted.min(capacity);
                carry = wanted - count;
                let superblock = set * self.geometry.blocks_per_plane() + block;
                self.blocks[superblock as usize].valid = count;
                let mut left = count;
                let pages = 0..self.geometry.pages_per_block();
                let slots = pages.flat_map(|page| (0..layout.beginning_in(page) * ways).map(move |slot| (page, slot)));
                for (offset, (page, slot)) in (0..).zip(slots) {
                    // Selection sampling: each subset of the block's places is equally likely.
                    let place = self.geometry.place(superblock, page, slot);
                    let draw = ((stream.bits(u64::from(place), 0) >> 32) * u64::from(capacity - offset)) >> 32;
                    if draw < u64::from(left) {
                        let lcn = self.lcn_of(ssd, index);
                        self.map[lcn as usize] = place;
                        self.owner[place as usize] = lcn;
                        let next = u64::from(index) + step;
                        index = if next >= u64::from(total) { next - u64::from(total) } else { next } as u32;
                        left -= 1;
                    }
                }
            }
            assert_eq!(carry, 0, "the newest block has room: what all blocks hold is below their capacity");
            self.adopt_blocks(set, closed * self.geometry.pages_per_block() * self.geometry.ways());
        }
    }

    /// Writes the translation pages of the mapped codewords.
    ///
    /// # Arguments
    /// - `pages`: how many.
    pub fn fill_translation_pages(&mut self, pages: u32) {
        for page in 0..pages {
            let group = self.open_for_translation().expect("over-provisioning leaves room for translation pages");
            self.place(group, 0, self.translation_page(page));
            self.programmed(group, 0);
            if let Some(written_s) = &mut self.written_s {
                // They are as old as the data.
                written_s[self.geometry.page_in(group.superblock, group.page, group.first()) as usize] = 0;
            }
        }
    }

    /// Takes note that the first `pages` pages of a set have been written, its members taking turns: full superblocks are
    /// closed, oldest first, and one that is not full is open for the host.
    fn adopt_blocks(&mut self, set: u32, pages: u32) {
        let ways = self.geometry.ways();
        let interleaves = self.sets[set as usize].interleaves;
        // Pages of a group are written together.
        let pages = if interleaves { pages.next_multiple_of(ways) } else { pages };
        let per_superblock = self.geometry.pages_per_superblock();
        let filled = pages.div_ceil(per_superblock) as usize;
        let superblocks: Vec<u32> = self.sets[set as usize].free.drain(..filled).collect();
        for superblock in superblocks {
            let index = superblock % self.geometry.blocks_per_plane();
            let written = (pages - index * per_superblock).min(per_superblock);
            self.blocks[superblock as usize].interleaved = interleaves;
            for member in 0..ways {
                let block = self.geometry.block_in(superblock, member);
                self.programmed[block as usize] = (written / ways + u32::from(member < written % ways)) as u16;
            }
            if written == per_superblock {
                self.close(set, superblock);
            } else {
                self.sets[set as usize].open[Writer::Host as usize] = Some((superblock, written));
            }
        }
    }
}

/// The first number from `near` up that shares no divisor with `n`.
fn coprime_near(near: u32, n: u32) -> u32 {
    let gcd = |mut a: u32, mut b: u32| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    (near.max(1)..).find(|&step| gcd(step, n) == 1).expect("there are primes beyond any number")
}
