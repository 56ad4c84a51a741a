//! The ages of blocks and data before the run. No other module knows them.

use std::ops::RangeInclusive;
use std::sync::Arc;

use softsense_base::{Purpose, Result, Stream};
use softsense_link::ByAge;

use crate::geometry::Geometry;
use crate::ids::{Ssd, Superblock, TiVec};
use crate::spec::{PreconditionSpec, SsdAge};

/// The ages of a device at the start. Copies share their memory.
#[derive(Debug, Clone)]
pub struct StartAges {
    pe_cycles: PeCycles,
    ssds: Arc<TiVec<Ssd, OfSsd>>,
    /// For each superblock, the age of its data over that of its SSD; none where all ages are the same.
    retention_factors: Option<Arc<TiVec<Superblock, f64>>>,
    retention_spread: f64,
}

#[derive(Debug, Clone)]
enum PeCycles {
    /// P/E cycles of all superblocks: without differences the device takes no memory for them.
    Same(u32),
    OfSuperblocks(Arc<TiVec<Superblock, u32>>),
}

#[derive(Debug)]
struct OfSsd {
    /// The fewest and the most P/E cycles of its superblocks.
    pe_cycles: RangeInclusive<u32>,
    retention_hours: f64,
    block_reads: f64,
}

impl StartAges {
    /// # Errors
    /// When `precondition.ssds` has another number of SSDs than the device.
    pub(crate) fn new(spec: &PreconditionSpec, geometry: &Geometry, seed: u64) -> Result<Self> {
        let ages = spec.ages(geometry.ssds())?;
        let per_ssd = geometry.sets() / geometry.ssds() * geometry.blocks_per_plane();
        let of_ssd = |age: &SsdAge, pe_cycles| OfSsd {
            pe_cycles,
            retention_hours: age.retention_days * 24.0,
            block_reads: age.block_reads,
        };
        let retention_spread = spec.retention_spread;
        let retention_factors = (retention_spread > 0.0).then(|| {
            // Index 0 of a superblock's draws is for its P/E cycles.
            let stream = Stream::new(seed, Purpose::StartPeCycles);
            let per_set = geometry.blocks_per_plane();
            let mut factors: TiVec<Superblock, f64> = vec![0.0; geometry.superblocks() as usize].into();
            for set in geometry.all_sets() {
                let mut order: Vec<Superblock> = geometry.superblocks_of_set(set).collect();
                order.sort_by(|&a, &b| stream.uniform(a.into(), 1).total_cmp(&stream.uniform(b.into(), 1)));
                for (rank, superblock) in order.into_iter().enumerate() {
                    let even = (rank as f64 + 0.5) / f64::from(per_set);
                    factors[superblock] = 1.0 + retention_spread * (2.0 * even - 1.0);
                }
            }
            Arc::new(factors)
        });
        let first = ages[0].pe_cycles;
        if spec.pe_cycles_spread == 0.0 && ages.iter().all(|age| age.pe_cycles == first) {
            let ssds = Arc::new(ages.iter().map(|age| of_ssd(age, first..=first)).collect());
            return Ok(Self { pe_cycles: PeCycles::Same(first), ssds, retention_factors, retention_spread });
        }
        let stream = Stream::new(seed, Purpose::StartPeCycles);
        let pe_cycles = |superblock: u32| {
            let factor = 1.0 + spec.pe_cycles_spread * (2.0 * stream.uniform(superblock.into(), 0) - 1.0);
            libm::round(f64::from(ages[(superblock / per_ssd) as usize].pe_cycles) * factor) as u32
        };
        let pe_cycles: TiVec<Superblock, u32> = (0..geometry.superblocks()).map(pe_cycles).collect();
        let ssds = ages.iter().zip(pe_cycles.chunks(per_ssd as usize)).map(|(age, all)| {
            let (least, most) = all.iter().fold((u32::MAX, 0), |(least, most), &one| (one.min(least), one.max(most)));
            of_ssd(age, least..=most)
        });
        Ok(Self {
            ssds: Arc::new(ssds.collect()),
            pe_cycles: PeCycles::OfSuperblocks(Arc::new(pe_cycles)),
            retention_factors,
            retention_spread,
        })
    }

    /// Returns the P/E cycles of a superblock at the start.
    #[inline]
    pub fn pe_cycles(&self, superblock: Superblock) -> u32 {
        match &self.pe_cycles {
            PeCycles::Same(pe_cycles) => *pe_cycles,
            PeCycles::OfSuperblocks(pe_cycles) => pe_cycles[superblock],
        }
    }

    /// Returns the fewest and the most P/E cycles of a superblock of an SSD.
    pub fn of_ssd(&self, ssd: Ssd) -> RangeInclusive<u32> {
        self.ssds[ssd].pe_cycles.clone()
    }

    /// Returns the fewest P/E cycles of a superblock of the device.
    pub fn least(&self) -> u32 {
        self.ssds.iter().fold(u32::MAX, |least, ssd| least.min(*ssd.pe_cycles.start()))
    }

    /// Returns the value of a property by P/E cycles for an SSD, if all blocks of the SSD have the same value.
    pub fn on_ssd<'a, T>(&self, by_pe_cycles: &'a ByAge<T>, ssd: Ssd) -> &'a T {
        by_pe_cycles.at(|| *self.ssds[ssd].pe_cycles.start())
    }

    /// Returns the age of the data of a superblock of an SSD, hours.
    #[inline]
    pub fn retention_hours(&self, ssd: Ssd, superblock: Superblock) -> f64 {
        let of_ssd = self.ssds[ssd].retention_hours;
        self.retention_factors.as_ref().map_or(of_ssd, |factors| of_ssd * factors[superblock])
    }

    /// Returns the greatest age of data that an SSD may have at the start, hours.
    pub fn most_retention_hours(&self, ssd: Ssd) -> f64 {
        self.ssds[ssd].retention_hours * (1.0 + self.retention_spread)
    }

    /// Returns the number of reads that each block of an SSD has had since its data was written.
    #[inline]
    pub fn block_reads(&self, ssd: Ssd) -> f64 {
        self.ssds[ssd].block_reads
    }

    /// Whether superblocks differ in their P/E cycles.
    pub fn differ(&self) -> bool {
        matches!(self.pe_cycles, PeCycles::OfSuperblocks(_))
    }
}
