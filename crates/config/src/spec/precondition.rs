use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Faults, Result};

/// The state in which the device starts. It is set directly and costs no simulated operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PreconditionSpec {
    /// Share of the user capacity that has been written.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub mapped_fraction: f64,
    /// The arrangement of the data in the blocks.
    pub layout: Layout,
    /// Free blocks of each plane (of each set of planes where blocks are erased together) with `layout = "steady_state"`. Without this
    /// field each plane is at a point of its own between two collections, none of which is under way, as on a drive that is written to
    /// lightly. A drive that is written to without pause has fewer free blocks, two above the reserve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_blocks: Option<u32>,
    /// Program/erase cycles of every block at the start. `reliability.table`, `adaptive`, `bch` and `exact` use it.
    #[schemars(range(min = 0, max = 10_000_000))]
    pub pe_cycles: u32,
    /// Age of the data at the start, days. `reliability.table`, `adaptive`, `bch` and `exact` use it.
    #[schemars(range(min = 0.0, max = 36_500.0))]
    pub retention_days: f64,
    /// Reads of each block since its data was written, spread evenly over its wordlines. It matters where cells have `read_disturb`.
    #[schemars(range(min = 0.0, max = 1e9))]
    pub block_reads: f64,
    /// Spread of the P/E cycles of blocks, a share. The P/E cycles of blocks that are erased together are drawn uniformly
    /// between 1 - spread and 1 + spread times those of their SSD, and rounded.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1.0))]
    pub pe_cycles_spread: f64,
    /// Spread of the age of data, a share. The ages of the blocks of a plane are evenly spaced, in random order, between
    /// 1 - spread and 1 + spread times the age of the data of its SSD. A spread of 1 describes a drive with steady refresh.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub retention_spread: f64,
    /// Age of the translation pages, where the map is in flash (`ftl.mapping.demand`).
    pub translation_pages: TranslationPages,
    /// The age of each SSD in order, in place of `pe_cycles`, `retention_days` and `block_reads`. An empty list means that these hold for
    /// all SSDs.
    pub ssds: Vec<SsdAge>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

/// The age of an SSD of an array at the start.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SsdAge {
    /// Program/erase cycles of the blocks of the SSD at the start.
    #[schemars(range(min = 0, max = 10_000_000))]
    pub pe_cycles: u32,
    /// Age of the data of the SSD, days.
    #[schemars(range(min = 0.0, max = 36_500.0))]
    pub retention_days: f64,
    /// Reads of each block since its data was written. Default: 0.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e9))]
    pub block_reads: f64,
}

impl Default for PreconditionSpec {
    fn default() -> Self {
        Self {
            mapped_fraction: 1.0,
            layout: Layout::Sequential,
            free_blocks: None,
            pe_cycles: 10_000,
            retention_days: 30.0,
            block_reads: 0.0,
            pe_cycles_spread: 0.0,
            retention_spread: 0.0,
            translation_pages: TranslationPages::Aged,
            ssds: Vec::new(),
        }
    }
}

/// The age of translation pages at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TranslationPages {
    /// Translation pages are as old as the data, so that reading them takes the same levels.
    Aged,
    /// Translation pages are written as the run begins, as by a device that has rewritten its map since the data was written.
    Fresh,
}

/// The arrangement of preconditioned data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// The state after one sequential pass over the address space. The over-provisioned blocks are free.
    Sequential,
    /// The state after endless uniform overwriting of the mapped capacity under greedy garbage collection: stale pages in most blocks,
    /// free blocks at the watermark. The rest of the user capacity was never written. With other `ftl.victims` a quarter of the user
    /// capacity has to be overwritten before write amplification has settled.
    SteadyState,
}

impl PreconditionSpec {
    /// Checks what fields of this section have to do with one another.
    pub(super) fn check(&self) -> Result<()> {
        let mut faults = Faults::default();
        if self.layout == Layout::SteadyState && self.mapped_fraction == 0.0 {
            let message = "found `steady_state` together with `precondition.mapped_fraction = 0`, expected a \
                           `mapped_fraction` above 0: the steady state is that of data that has been overwritten";
            faults.add(Error::config("precondition.layout", message));
        }
        if self.layout == Layout::Sequential && self.free_blocks.is_some() {
            let message = "found together with `precondition.layout = \"sequential\"`, expected `steady_state`: \
                           with a sequential layout all blocks without data are free";
            faults.add(Error::config("precondition.free_blocks", message));
        }
        faults.end()
    }

    /// The age of every SSD for which `ssds` has no entry.
    pub(crate) fn age(&self) -> SsdAge {
        SsdAge { pe_cycles: self.pe_cycles, retention_days: self.retention_days, block_reads: self.block_reads }
    }

    /// The age of each of the given number of SSDs, before blocks differ.
    ///
    /// # Errors
    /// When `ssds` has another number of ages.
    pub(crate) fn ages(&self, ssds: u32) -> Result<Vec<SsdAge>> {
        match self.ssds.len() {
            0 => Ok(vec![self.age(); ssds as usize]),
            found if found == ssds as usize => Ok(self.ssds.clone()),
            found => {
                let message =
                    format!("found {found} ages, expected one age for each of the {ssds} SSDs, or an empty list");
                Err(Error::config("precondition.ssds", message))
            }
        }
    }

    /// One line for people.
    pub(crate) fn describe(&self) -> String {
        let layout = match self.layout {
            Layout::Sequential => "sequential".to_owned(),
            Layout::SteadyState => {
                let free =
                    self.free_blocks.map_or_else(String::new, |free| format!(" with {free} free blocks a plane"));
                format!("steady state{free}")
            }
        };
        let ages = match self.ssds.as_slice() {
            [] => self.age().describe(self.pe_cycles_spread),
            ssds => {
                let ages = ssds
                    .iter()
                    .zip(1..)
                    .map(|(age, ssd)| format!("SSD {ssd}: {}", age.describe(self.pe_cycles_spread)));
                ages.collect::<Vec<_>>().join("; ")
            }
        };
        let fresh = match self.translation_pages {
            TranslationPages::Aged => "",
            TranslationPages::Fresh => ", translation pages fresh",
        };
        let spread = match self.retention_spread {
            0.0 => String::new(),
            spread => format!(", ages of data +/- {} %", spread * 100.0),
        };
        format!("{:.0} % mapped, {layout}, {ages}{spread}{fresh}", self.mapped_fraction * 100.0)
    }
}

impl SsdAge {
    /// A few words for people.
    fn describe(&self, pe_cycles_spread: f64) -> String {
        let spread = match pe_cycles_spread {
            0.0 => String::new(),
            spread => format!(" +/- {} %", spread * 100.0),
        };
        let reads = match self.block_reads {
            0.0 => String::new(),
            reads => format!(", blocks read {reads} times"),
        };
        format!("{}{spread} P/E cycles, data {} days old{reads}", self.pe_cycles, self.retention_days)
    }
}
