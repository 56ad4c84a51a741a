use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Result};

use super::flash::PageTypeSpec;

/// An SLC cache: blocks in which a cell holds one bit, so that they are programmed and read fast and hold less. Writes of the host go
/// there while there is room. The data is folded later: moved to blocks whose cells hold all their bits.
///
/// Source: S. Lee, K. Ha, K. Zhang, J. Kim, J. Kim, "FlexFS: A Flexible Flash File System for MLC NAND Flash Memory", USENIX ATC
/// 2009, for blocks that change between one bit and several, and for moving data in idle time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlcCacheSpec {
    /// Number of blocks of the cache in a plane: `{ static = { blocks = 8 } }` or `{ dynamic = { least_blocks = 2, most_blocks = 64 } }`.
    pub size: SlcCacheSize,
    /// The way of the host's writes when a plane's cache is full. With `"direct"` they go to blocks whose cells hold all their bits. With
    /// `"fold"` they wait for folding while there is something to fold.
    #[serde(default)]
    pub when_full: WhenFull,
    /// Number of blocks that a plane's cache can open below which folding begins under load, too. With 0 folding begins only in idle
    /// time, or where free blocks run short. With `when_full = "fold"` the number is at least 1.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1 << 20))]
    pub fold_below_blocks: u32,
    /// Time for which an SSD has had no operation of the host before folding in idle time begins, us. Folding ends with the block at hand
    /// when the SSD has such an operation again.
    #[serde(default = "usual_idle_after_us")]
    pub idle_after_us: f64,
    /// Bits of a cell in other blocks. A block of the cache has one page for this number of pages of another block. Without this
    /// field the number is that of the page types.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 2, max = 5))]
    pub bits_per_cell: Option<u32>,
    /// Times and errors of the blocks of the cache.
    #[serde(default)]
    pub cells: SlcCellsSpec,
}

fn usual_idle_after_us() -> f64 {
    10_000.0
}

/// The number of blocks of a plane in an SLC cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum SlcCacheSize {
    /// The cache always has the same blocks, which over-provisioning has to leave.
    Static {
        /// Number of blocks.
        #[schemars(range(min = 2, max = 1 << 20))]
        blocks: u32,
    },
    /// The cache has some blocks always, and takes free blocks as long as there are more than garbage collection's high watermark. The
    /// fuller the device, the smaller the cache.
    Dynamic {
        /// Number of blocks that the cache always has, 0 or more. Over-provisioning has to leave them.
        #[serde(default)]
        least_blocks: u32,
        /// Largest number of blocks.
        #[schemars(range(min = 2, max = 1 << 20))]
        most_blocks: u32,
    },
}

impl SlcCacheSize {
    /// The least and the largest number of blocks.
    pub fn least_and_most(self) -> (u32, u32) {
        match self {
            Self::Static { blocks } => (blocks, blocks),
            Self::Dynamic { least_blocks, most_blocks } => (least_blocks, most_blocks),
        }
    }
}

/// The way of the host's writes when the SLC cache of a plane is full.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhenFull {
    /// Writes go past the cache.
    #[default]
    Direct,
    /// Writes wait for a block that is folded.
    Fold,
}

/// Times and errors of a block in which a cell holds one bit.
///
/// Source: of the times, HP and Micron, "Solid State Drive Technology: Differences between SLC, MLC and TLC NAND", technical white paper,
/// table 1: SLC is read in 25 us, programmed in 200 to 300 us, erased in 1.5 to 2 ms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SlcCellsSpec {
    /// Time to sense a page with hard decision, us.
    pub sense_us: f64,
    /// Time to sense one extra level, us.
    pub sense_extra_level_us: f64,
    /// Time to program a page, us.
    pub program_us: f64,
    /// Time to erase a block, us.
    pub erase_us: f64,
    /// Raw bit error rate of the cache over the mean rate of the pages of other blocks. The other blocks have as many P/E cycles
    /// and the same age of data.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub rber_factor: f64,
    /// P/E cycles that one cycle with one bit a cell counts as.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub wear: f64,
}

impl Default for SlcCellsSpec {
    fn default() -> Self {
        Self {
            sense_us: 25.0,
            sense_extra_level_us: 25.0,
            program_us: 200.0,
            erase_us: 2000.0,
            rber_factor: 0.01,
            wear: 1.0,
        }
    }
}

impl SlcCellsSpec {
    /// The page type of pages in the cache.
    pub fn as_page_type(&self) -> PageTypeSpec {
        PageTypeSpec {
            name: "slc".into(),
            sense_us: self.sense_us,
            sense_spread: Vec::new(),
            sense_extra_level_us: self.sense_extra_level_us,
            program_us: self.program_us,
            rber_factor: self.rber_factor,
        }
    }
}

impl SlcCacheSpec {
    /// Checks that a dynamic cache has no more blocks always than it may have.
    pub(super) fn check(&self) -> Result<()> {
        match self.size {
            SlcCacheSize::Dynamic { least_blocks, most_blocks } if least_blocks > most_blocks => {
                let message =
                    format!("found {least_blocks}, expected at most {most_blocks}, the value of `most_blocks`");
                Err(Error::config("ftl.slc_cache.size.dynamic.least_blocks", message))
            }
            _ => Ok(()),
        }
    }

    /// The number of bits of a cell in blocks outside the cache.
    ///
    /// # Arguments
    /// - `page_types`: of these blocks.
    pub(crate) fn bits_per_cell(&self, page_types: u32) -> u32 {
        self.bits_per_cell.unwrap_or(page_types)
    }

    /// The number of blocks that the cache of a plane can open below which the cache is folded, whatever the load.
    pub fn fold_below(&self) -> u32 {
        match self.when_full {
            WhenFull::Direct => self.fold_below_blocks,
            WhenFull::Fold => self.fold_below_blocks.max(1),
        }
    }

    /// One line for people.
    pub(crate) fn describe(&self) -> String {
        let size = match self.size {
            SlcCacheSize::Static { blocks } => format!("{blocks} blocks of a plane"),
            SlcCacheSize::Dynamic { least_blocks, most_blocks } => {
                format!("{least_blocks} to {most_blocks} blocks of a plane")
            }
        };
        let full = match self.when_full {
            WhenFull::Direct => "passed by when full",
            WhenFull::Fold => "waited for when full",
        };
        let SlcCellsSpec { sense_us, program_us, erase_us, .. } = self.cells;
        format!("{size}, {full}; sense {sense_us}, program {program_us}, erase {erase_us} us")
    }
}
