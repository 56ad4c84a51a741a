use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Faults, OwnName, Result, expect_whole, or_own, shipped_or_own};

use super::gc_pacing::{GcIdleSpec, GcPacing};
use super::interleaving::InterleavingSpec;
use super::maintenance::{RefreshSpec, ScrubSpec};
use super::mapping::Mapping;
use super::parity::ParitySpec;
use super::read_reclaim::ReadReclaimSpec;
use super::slc_cache::SlcCacheSpec;

/// The flash translation layer and its garbage collection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FtlSpec {
    /// Share of the physical capacity that the user does not get. Pages of `parity` do not count as capacity. The
    /// share must leave each plane three blocks more than the high watermark, and the room that partly filled pages of several codewords
    /// may waste.
    #[schemars(extend("exclusiveMinimum" = 0.0, "exclusiveMaximum" = 1.0))]
    pub over_provisioning: f64,
    /// The levels of parallelism over which consecutive page writes are spread, each level once. The level that changes fastest is the
    /// first.
    pub stripe: [StripeLevel; 4],
    /// The part of its SSD to which a write may go: the whole SSD (dynamic allocation), or only the channel, chip or plane to which its
    /// logical page belongs (static allocation). Logical pages are assigned to these in turn, in the order of `stripe`, of which they are
    /// the first levels.
    pub allocation_pool: AllocationPool,
    /// The rule that chooses the plane of its pool to which a write goes: `"in_turn"`, `"most_free"` or a placement of your own,
    /// `"my_rules.py:Apart"`.
    pub plane_choice: PlaneChoice,
    /// If true, logical codewords are written in aligned groups of as many as a page holds (superpages): a write of some of them writes
    /// all. `host.partial_write` says where the data of the others comes from.
    pub whole_pages: bool,
    /// Interleaving, which divides codewords among chips.
    pub interleaving: InterleavingSpec,
    /// Parity across dies, `{ data_pages = 7 }`. Without this field there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parity: Option<ParitySpec>,
    /// The place of the map of logical codewords.
    pub mapping: Mapping,
    /// Number of free blocks of a plane below which its garbage collection begins.
    #[schemars(range(min = 2, max = 1 << 20))]
    pub gc_low_watermark_blocks: u32,
    /// Number of free blocks of a plane at which its garbage collection ends.
    pub gc_high_watermark_blocks: u32,
    /// The rule that says when garbage collection that has begun may work: `"at_once"`, `"preemptible"`,
    /// `{ paced = { moves_per_write = 4.0 } }`, `"throttle_writes"`, where writes keep its pace, or a rule of your own,
    /// `"my_rules.py:AtNight"`.
    #[serde(skip_serializing_if = "GcPacing::is_default")]
    pub gc_pacing: GcPacing,
    /// The hard limit: with this number of free blocks of a plane or fewer its garbage collection works whatever `gc_pacing` says. It is
    /// 1 or more and below the low watermark.
    #[serde(skip_serializing_if = "is_one")]
    pub gc_reserve_blocks: u32,
    /// Garbage collection in idle time, `{ after_us = 10000.0, least_stale = 0.25 }`. Without this field there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gc_idle: Option<GcIdleSpec>,
    /// The rule that chooses the block which garbage collection takes as its victim: `"greedy"`, `"fifo"`, `"cost_benefit"`,
    /// `{ random_greedy = { choices = 10 } }` or a rule of your own, `"my_rules.py:Oldest"`.
    pub victims: VictimSpec,
    /// Static wear levelling: the difference in P/E cycles between blocks of a plane above which every other victim of garbage collection
    /// is the least worn block, whatever it holds. Without this field there is none.
    #[schemars(range(min = 1, max = 1 << 20))]
    pub wear_levelling_spread: Option<u32>,
    /// Read reclaim, which moves data before reads have disturbed it too much: `{ block = { reads = 54560 } }` or
    /// `{ wordline = { effective_reads = [458304.0] } }`. Without this field there is none.
    pub read_reclaim: Option<ReadReclaimSpec>,
    /// Refresh, which moves data before it is too old: `{ age_days = 90.0 }`. Without this field no data is moved because
    /// of its age.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refresh: Option<RefreshSpec>,
    /// Patrol scrub, which reads all data to find blocks that need refresh: `{ period_days = 7.0, refresh_above = { level
    /// = 1 } }`. Without this field there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scrub: Option<ScrubSpec>,
    /// Seconds by which data ages in each second of the run. The periods of `refresh` and `scrub` become shorter by the same
    /// factor, so that work of months fits a run. The share of time that this work takes is larger than in life by the same factor.
    #[serde(skip_serializing_if = "is_once")]
    #[schemars(range(min = 1.0, max = 1e9))]
    pub time_scale: f64,
    /// An SLC cache, `{ size = { static = { blocks = 8 } } }`. Without this field there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slc_cache: Option<SlcCacheSpec>,
}

impl Default for FtlSpec {
    fn default() -> Self {
        use StripeLevel::{Channel, Chip, Die, Plane};
        Self {
            over_provisioning: 0.15,
            stripe: [Channel, Chip, Die, Plane],
            allocation_pool: AllocationPool::Ssd,
            plane_choice: PlaneChoice::InTurn,
            whole_pages: false,
            interleaving: InterleavingSpec::default(),
            parity: None,
            mapping: Mapping::Page,
            gc_low_watermark_blocks: 3,
            gc_high_watermark_blocks: 4,
            gc_pacing: GcPacing::default(),
            gc_reserve_blocks: 1,
            gc_idle: None,
            victims: VictimSpec::Greedy,
            wear_levelling_spread: None,
            read_reclaim: None,
            refresh: None,
            scrub: None,
            time_scale: 1.0,
            slc_cache: None,
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_one(value: &u32) -> bool {
    *value == 1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_once(value: &f64) -> bool {
    *value == 1.0
}

/// The part of its SSD to which a write may go. DiskSim calls this the "allocation pool logic".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AllocationPool {
    /// The whole SSD.
    Ssd,
    /// The channel to which the logical page belongs.
    Channel,
    /// The chip to which the logical page belongs.
    Chip,
    /// The plane to which the logical page belongs.
    Plane,
}

/// The rule that chooses the plane of its pool to which a write goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", remote = "Self")]
#[schemars(transform = or_own)]
pub enum PlaneChoice {
    /// Planes take turns, so that blocks of all planes fill, and are erased, at about the same time.
    InTurn,
    /// The plane with the most free pages, and among equals the next in turn. Writes stay in a plane from its erase until other planes
    /// have as many free pages.
    MostFree,
    /// A placement of the user's own: a [`PlaceWrites`](crate::own::PlaceWrites), which is handed over beside the
    /// config.
    #[serde(skip)]
    Own(OwnName),
}

shipped_or_own!(PlaneChoice);

impl PlaneChoice {
    /// The name of a placement of the user's own.
    pub fn own(self) -> Option<OwnName> {
        if let Self::Own(name) = self { Some(name) } else { None }
    }
}

impl AllocationPool {
    /// The levels of parallelism that distinguish the pools.
    pub fn levels(self) -> &'static [StripeLevel] {
        use StripeLevel::{Channel, Chip, Die, Plane};
        match self {
            Self::Ssd => &[],
            Self::Channel => &[Channel],
            Self::Chip => &[Channel, Chip],
            Self::Plane => &[Channel, Chip, Die, Plane],
        }
    }
}

/// The rule by which a plane chooses its victim among the closed blocks that would free any space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields, remote = "Self")]
#[schemars(transform = or_own)]
pub enum VictimSpec {
    /// The block with the fewest valid codewords.
    Greedy,
    /// The block that was closed longest ago.
    Fifo,
    /// The block with the greatest age (1 - u) / (2 u). Here u is its share of valid codewords. Its age is the number of blocks of the
    /// plane that were closed after it.
    CostBenefit,
    /// The block with the fewest valid codewords among some that are drawn at random (d-choices).
    RandomGreedy {
        /// Number of blocks that are drawn. With 1 victims are random.
        #[schemars(range(min = 1, max = 1000))]
        choices: u32,
    },
    /// A rule of the user's own: a [`ChooseVictim`](crate::own::ChooseVictim), which is handed over beside the config.
    #[serde(skip)]
    Own(OwnName),
}

shipped_or_own!(VictimSpec);

impl VictimSpec {
    /// The name of a rule of the user's own.
    pub fn own(self) -> Option<OwnName> {
        if let Self::Own(name) = self { Some(name) } else { None }
    }

    /// One line for people; none for the greedy rule.
    pub(crate) fn describe(self) -> Option<String> {
        match self {
            Self::Greedy => None,
            Self::Fifo => Some("closed longest ago".to_string()),
            Self::CostBenefit => Some("greatest age x (1 - u) / (2 u)".to_string()),
            Self::Own(name) => Some(format!("chosen by {name}")),
            Self::RandomGreedy { choices: 1 } => Some("drawn at random".to_string()),
            Self::RandomGreedy { choices } => Some(format!("fewest valid codewords of {choices} drawn at random")),
        }
    }
}

/// A level of parallelism.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StripeLevel {
    /// Channels.
    Channel,
    /// Chips of a channel.
    Chip,
    /// Dies of a chip.
    Die,
    /// Planes of a die.
    Plane,
}

impl FtlSpec {
    /// Checks what fields of this section have to do with one another. The least over-provisioning depends on the device and is checked elsewhere.
    pub(super) fn check(&self) -> Result<()> {
        let mut faults = Faults::default();
        use StripeLevel::{Channel, Chip, Die, Plane};
        if ![Channel, Chip, Die, Plane].iter().all(|level| self.stripe.contains(level)) {
            let message =
                format!("found {:?}, expected each of channel, chip, die and plane once", self.stripe).to_lowercase();
            faults.add(Error::config("ftl.stripe", message));
        }
        let pool = self.allocation_pool.levels();
        if !pool.iter().all(|level| self.stripe[..pool.len()].contains(level)) {
            let message = format!(
                "found {:?}, expected a stripe that begins with {pool:?}: logical pages take turns in its order",
                self.allocation_pool
            );
            faults.add(Error::config("ftl.allocation_pool", message.to_lowercase()));
        }
        if self.gc_high_watermark_blocks < self.gc_low_watermark_blocks {
            let message = format!(
                "found {}, expected at least gc_low_watermark_blocks, {}",
                self.gc_high_watermark_blocks, self.gc_low_watermark_blocks
            );
            faults.add(Error::config("ftl.gc_high_watermark_blocks", message));
        }
        // A low watermark that is itself too small must not cause a second fault, that of the reserve.
        let most_reserved = self.gc_low_watermark_blocks.max(2) - 1;
        faults.see(expect_whole("ftl.gc_reserve_blocks", self.gc_reserve_blocks, 1, most_reserved));
        faults.see(self.read_reclaim.as_ref().map_or(Ok(()), ReadReclaimSpec::check));
        faults.see(self.scrub.as_ref().map_or(Ok(()), ScrubSpec::check));
        faults.see(self.slc_cache.as_ref().map_or(Ok(()), SlcCacheSpec::check));
        faults.see(self.mapping.check());
        faults.end()
    }
}
