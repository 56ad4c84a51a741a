use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Result, format_bytes};

use super::admission::CacheAdmission;

/// The place of the map from logical codewords to places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mapping {
    /// The whole map is in the controller's memory.
    Page,
    /// The map is in translation pages in flash, and the entries in use are in a cache (DFTL).
    Demand(DemandSpec),
}

/// A demand-based FTL: the map in flash, and a cache of its entries.
///
/// Source: A. Gupta, Y. Kim, B. Urgaonkar, "DFTL", ASPLOS 2009; read levels and eviction by level: Y. Du et al., "LaLDPC",
/// MSST 2017.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DemandSpec {
    /// Size of the mapping cache, bytes.
    pub cache_bytes: u64,
    /// Size of an entry in the cache and in translation pages, bytes.
    #[schemars(range(min = 1, max = 512))]
    pub entry_bytes: u32,
    /// The entry that is evicted when room is needed for another one.
    pub eviction: Eviction,
    /// The entries missed by a read that are cached: `"always"`, `"second_miss"` or a rule of your own, `"my_rules.py:Often"`. Entries of
    /// written codewords are always cached.
    #[serde(skip_serializing_if = "CacheAdmission::is_default")]
    pub admission: CacheAdmission,
    /// Number of recently missed entries for which `admission` remembers how often they were missed. Default: as many as the cache has
    /// room for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1 << 24))]
    pub history_entries: Option<u32>,
    /// If true, an entry remembers the level at which its codeword was last read, from which the next read starts.
    pub remember_levels: bool,
    /// Number of reads in a row that succeed at once at the remembered level, after which one level less is tried. 0: never, as in the
    /// paper.
    pub lower_after_reads: u32,
    /// If true, the directory of translation pages, which is always in memory, remembers a level for each translation page, too. The
    /// paper's directory does not.
    pub remember_translation_levels: bool,
}

impl Default for DemandSpec {
    fn default() -> Self {
        Self {
            cache_bytes: 65_536,
            entry_bytes: 8,
            eviction: Eviction::Lru,
            admission: CacheAdmission::default(),
            history_entries: None,
            remember_levels: false,
            lower_after_reads: 0,
            remember_translation_levels: false,
        }
    }
}

impl DemandSpec {
    /// The number of entries for which the cache has room.
    pub fn capacity(&self) -> u32 {
        (self.cache_bytes / u64::from(self.entry_bytes)).min(u64::from(u32::MAX)) as u32
    }
}

/// The entry of the mapping cache that is evicted when room is needed for another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Eviction {
    /// The least recently used entry.
    Lru,
    /// The least recently used entry among those that were used only once. Entries that were used again are protected, up to
    /// `protected_entries`; beyond that number the least recently used of them counts as used once.
    SegmentedLru {
        /// Largest number of protected entries.
        protected_entries: u32,
    },
    /// The least recently used entry among those with the lowest read level (LaLDPC, algorithm 1).
    LowestLevel {
        /// Number of most recently used entries that are never evicted.
        fixed_entries: u32,
    },
}

impl Mapping {
    /// Checks that the cache has room for an entry.
    pub(super) fn check(&self) -> Result<()> {
        let Mapping::Demand(demand) = self else { return Ok(()) };
        let (least, most) = (u64::from(demand.entry_bytes), 1 << 34);
        if !(least..=most).contains(&demand.cache_bytes) {
            let message = format!(
                "found {}, expected at least {least}, the bytes of one entry, and at most 16 GiB",
                demand.cache_bytes
            );
            return Err(Error::config("ftl.mapping.demand.cache_bytes", message));
        }
        Ok(())
    }

    /// One line for people; none if the whole map is in memory.
    pub(crate) fn describe(&self) -> Option<String> {
        let Mapping::Demand(demand) = self else { return None };
        let eviction = match demand.eviction {
            Eviction::Lru => "LRU".to_string(),
            Eviction::SegmentedLru { protected_entries } => format!("segmented LRU, {protected_entries} protected"),
            Eviction::LowestLevel { fixed_entries } => format!("lowest level first, {fixed_entries} fixed"),
        };
        let levels = match (demand.remember_levels, demand.remember_translation_levels) {
            (false, false) => "",
            (true, false) => ", read levels remembered",
            (false, true) => ", read levels of translation pages remembered",
            (true, true) => ", read levels remembered, also of translation pages",
        };
        let (size, entries) = (format_bytes(demand.cache_bytes), demand.capacity());
        let admission = demand.admission.describe();
        Some(format!("in flash, cache of {size} for {entries} entries{admission}, {eviction}{levels}"))
    }
}
