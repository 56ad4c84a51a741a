//! Code rates that follow the decodes that a controller has observed of each block, instead of the P/E cycles of the block.

use softsense_config::format::BlockLayout;
use softsense_config::geometry::Geometry;
use softsense_config::ids::{Ssd, Superblock, TiVec};
use softsense_config::start_ages::StartAges;
use softsense_link::{ByAge, ObservedSwitch};

/// The decodes observed of a superblock since its last erase.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    sum: u64,
    decodes: u32,
    failed: bool,
}

#[derive(Debug)]
pub(super) struct ObservedRates {
    switch: ObservedSwitch,
    /// For each code rate that blocks may have, an age at which it holds.
    ages: Vec<u32>,
    /// Code rates of the config before the first of `ages`. No block has ever had them.
    skipped: usize,
    /// For each superblock, its code rate as an index of `ages`, and the decodes observed of it.
    rates: TiVec<Superblock, u8>,
    seen: TiVec<Superblock, Seen>,
    /// For each SSD, the strongest code rate that its blocks have ever had, as an index of `ages`.
    strongest: TiVec<Ssd, u8>,
    superblocks_per_ssd: u32,
    /// Erases after which a block had a stronger code than before, and erases after which it had a weaker one.
    pub(super) switches: (u64, u64),
}

impl ObservedRates {
    /// # Arguments
    /// - `rates`: the number of code rates in the config.
    pub(super) fn new(
        switch: &ObservedSwitch,
        rates: usize,
        layouts: &ByAge<BlockLayout>,
        start: &StartAges,
        geometry: &Geometry,
    ) -> Self {
        let ages: Vec<u32> = layouts.ages().collect();
        let superblocks = geometry.superblocks();
        let superblocks_per_ssd = superblocks / geometry.ssds();
        let at = |pe_cycles| ages.iter().position(|&age| pe_cycles <= age).expect("the last holds beyond") as u8;
        let of_blocks: TiVec<Superblock, u8> =
            Superblock::all(0..superblocks).map(|superblock| at(start.pe_cycles(superblock))).collect();
        let strongest = of_blocks.chunks(superblocks_per_ssd as usize).map(|of_ssd| of_ssd.iter().copied().max());
        Self {
            switch: switch.clone(),
            skipped: rates - ages.len(),
            strongest: strongest.map(|rate| rate.expect("an SSD has blocks")).collect(),
            seen: vec![Seen::default(); superblocks as usize].into(),
            rates: of_blocks,
            ages,
            superblocks_per_ssd,
            switches: (0, 0),
        }
    }

    /// The age whose code a superblock uses.
    #[inline]
    pub(super) fn code_age(&self, superblock: Superblock) -> u32 {
        self.ages[usize::from(self.rates[superblock])]
    }

    /// The age of the next stronger code than any code that blocks of an SSD have had.
    pub(super) fn next_code_age(&self, ssd: Ssd) -> u32 {
        self.ages[(usize::from(self.strongest[ssd]) + 1).min(self.ages.len() - 1)]
    }

    /// Notes a decode of a codeword of a superblock: the observed value, or `None` where the decode failed.
    pub(super) fn see(&mut self, superblock: Superblock, seen: Option<u32>) {
        let entry = &mut self.seen[superblock];
        match seen {
            Some(value) => {
                entry.sum += u64::from(value);
                entry.decodes = entry.decodes.saturating_add(1);
            }
            None => entry.failed = true,
        }
    }

    /// Chooses the code for the next data of a superblock that has been erased, from the decodes observed of it.
    pub(super) fn erased(&mut self, superblock: Superblock) {
        let Seen { sum, decodes, failed } = std::mem::take(&mut self.seen[superblock]);
        let mean = (decodes >= self.switch.least_decodes).then(|| sum as f64 / f64::from(decodes));
        let rate = usize::from(self.rates[superblock]);
        let last = self.skipped + self.ages.len() - 1;
        let next = self.switch.next(self.skipped + rate, last, mean, failed).max(self.skipped) - self.skipped;
        self.switches.0 += u64::from(next > rate);
        self.switches.1 += u64::from(next < rate);
        self.rates[superblock] = next as u8;
        let strongest = &mut self.strongest[Ssd(superblock.0 / self.superblocks_per_ssd)];
        *strongest = (*strongest).max(next as u8);
    }
}
