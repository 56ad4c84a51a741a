//! Code rates that follow what a controller has seen of each block, rather than its P/E cycles.

use softsense_link::{ByAge, ObservedSwitch};

use crate::format::BlockLayout;
use crate::geometry::Geometry;
use crate::start_ages::StartAges;

/// What was seen of a block since it was last written.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    sum: u64,
    decodes: u32,
    failed: bool,
}

#[derive(Debug)]
pub(super) struct ObservedRates {
    switch: ObservedSwitch,
    /// An age at which each rate holds.
    ages: Vec<u32>,
    /// Rates before the first of these, which no block has ever had.
    skipped: usize,
    /// The rate of each superblock, and what was seen of it.
    rates: Vec<u8>,
    seen: Vec<Seen>,
    /// The strongest that blocks of each SSD have ever had.
    strongest: Vec<u8>,
    superblocks_per_ssd: u32,
    /// Erases after which a block had a stronger code than before, and a weaker one.
    pub(super) switches: (u64, u64),
}

impl ObservedRates {
    /// # Arguments
    /// - `rates`: how many the config has.
    pub(super) fn new(
        switch: &ObservedSwitch,
        rates: usize,
        layouts: &ByAge<BlockLayout>,
        start: &StartAges,
        geometry: &Geometry,
    ) -> Self {
        let ages: Vec<u32> = layouts.ages().collect();
        let superblocks = geometry.sets() * geometry.blocks_per_plane();
        let superblocks_per_ssd = superblocks / geometry.ssds();
        let at = |pe_cycles| ages.iter().position(|&age| pe_cycles <= age).expect("the last holds beyond") as u8;
        let of_blocks: Vec<u8> = (0..superblocks).map(|superblock| at(start.pe_cycles(superblock))).collect();
        let strongest = of_blocks.chunks(superblocks_per_ssd as usize).map(|of_ssd| of_ssd.iter().copied().max());
        Self {
            switch: switch.clone(),
            skipped: rates - ages.len(),
            strongest: strongest.map(|rate| rate.expect("an SSD has blocks")).collect(),
            seen: vec![Seen::default(); superblocks as usize],
            rates: of_blocks,
            ages,
            superblocks_per_ssd,
            switches: (0, 0),
        }
    }

    /// The age whose code a superblock uses.
    #[inline]
    pub(super) fn code_age(&self, superblock: u32) -> u32 {
        self.ages[usize::from(self.rates[superblock as usize])]
    }

    /// The age of the next stronger code than any that blocks of an SSD have had.
    pub(super) fn next_code_age(&self, ssd: u32) -> u32 {
        self.ages[(usize::from(self.strongest[ssd as usize]) + 1).min(self.ages.len() - 1)]
    }

    /// A decode of a codeword of a superblock has shown so much, or was in vain.
    pub(super) fn see(&mut self, superblock: u32, seen: Option<u32>) {
        let entry = &mut self.seen[superblock as usize];
        match seen {
            Some(value) => {
                entry.sum += u64::from(value);
                entry.decodes = entry.decodes.saturating_add(1);
            }
            None => entry.failed = true,
        }
    }

    /// A superblock has been erased: the next thing that is written to it has a code of what was seen.
    pub(super) fn erased(&mut self, superblock: u32) {
        let Seen { sum, decodes, failed } = std::mem::take(&mut self.seen[superblock as usize]);
        let mean = (decodes >= self.switch.least_decodes).then(|| sum as f64 / f64::from(decodes));
        let rate = usize::from(self.rates[superblock as usize]);
        let last = self.skipped + self.ages.len() - 1;
        let next = self.switch.next(self.skipped + rate, last, mean, failed).max(self.skipped) - self.skipped;
        self.switches.0 += u64::from(next > rate);
        self.switches.1 += u64::from(next < rate);
        self.rates[superblock as usize] = next as u8;
        let strongest = &mut self.strongest[(superblock / self.superblocks_per_ssd) as usize];
        *strongest = (*strongest).max(next as u8);
    }
}
