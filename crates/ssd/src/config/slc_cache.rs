use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Result, expect_number, expect_whole};

use super::duration::check_us;
use super::flash::PageTypeSpec;

/// An SLC cache: blocks in which a cell holds one bit, so that they are programmed and read fast and hold less. What the host writes
/// goes there while there is room, and is folded later: moved to blocks whose cells hold all their bits.
///
/// Source: S. Lee, K. Ha, K. Zhang, J. Kim, J. Kim, "FlexFS: A Flexible Flash File System for MLC NAND Flash Memory", USENIX ATC
/// 2009, for blocks that change between one bit and several, and for moving data in idle time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlcCacheSpec {
    /// How many blocks of a plane it has: `{ static = { blocks = 8 } }` or `{ dynamic = { least_blocks = 2, most_blocks = 64 } }`.
    pub size: SlcCacheSize,
    /// What the host's writes do when a plane's cache is full: `"direct"`, they go to blocks whose cells hold all their bits, or
    /// `"fold"`, they wait for folding while there is something to fold.
    #[serde(default)]
    pub when_full: WhenFull,
    /// Folding begins under load, too, when a plane's cache can open fewer blocks than this; with 0 in idle time alone, or where
    /// free blocks run short. With `when_full = "fold"` it is at least 1.
    #[serde(default)]
    pub fold_below_blocks: u32,
    /// Folding in idle time begins when an SSD has had no operation of the host for so long, us, and ends with the block at hand when
    /// it has one again.
    #[serde(default = "usual_idle_after_us")]
    pub idle_after_us: f64,
    /// Bits of a cell of other blocks, 2 to 5: a block of the cache has one page for as many of theirs. Without it there are as many
    /// as page types.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bits_per_cell: Option<u32>,
    /// What blocks of the cache are like.
    #[serde(default)]
    pub cells: SlcCellsSpec,
}

fn usual_idle_after_us() -> f64 {
    10_000.0
}

/// How many blocks of a plane an SLC cache has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum SlcCacheSize {
    /// Always the same ones, which over-provisioning has to leave.
    Static {
        /// How many, 2 or more.
        blocks: u32,
    },
    /// Some, and free blocks beside them as long as there are more than garbage collection's high watermark: the fuller the device, the
    /// smaller the cache.
    Dynamic {
        /// How many it always has, 0 or more; over-provisioning has to leave them.
        #[serde(default)]
        least_blocks: u32,
        /// How many it has at most.
        most_blocks: u32,
    },
}

impl SlcCacheSize {
    /// How many it always has, and how many at most.
    pub(crate) fn least_and_most(self) -> (u32, u32) {
        match self {
            Self::Static { blocks } => (blocks, blocks),
            Self::Dynamic { least_blocks, most_blocks } => (least_blocks, most_blocks),
        }
    }
}

/// What the host's writes do when the SLC cache of a plane is full.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhenFull {
    /// They pass it by.
    #[default]
    Direct,
    /// They wait for a block that is folded.
    Fold,
}

/// What a block is like in which a cell holds one bit.
///
/// Source: of the times, HP and Micron, "Solid State Drive Technology: Differences between SLC, MLC and TLC NAND", technical white
/// paper, table 1: SLC is read in 25 us, programmed in 200 to 300 us, erased in 1.5 to 2 ms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SlcCellsSpec {
    /// Sensing a page with hard decision, us.
    pub sense_us: f64,
    /// Sensing one extra level, us.
    pub sense_extra_level_us: f64,
    /// Programming a page, us.
    pub program_us: f64,
    /// Erasing a block, us.
    pub erase_us: f64,
    /// Raw bit error rate over the mean one of the pages of other blocks with as many P/E cycles and the same age of data, 0 to 1.
    pub rber_factor: f64,
    /// P/E cycles that being programmed and erased with one bit a cell counts as, 0 to 1.
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
    /// Its pages, as a page type.
    pub(crate) fn as_page_type(&self) -> PageTypeSpec {
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
    /// Checks the ranges.
    pub(super) fn check(&self) -> Result<()> {
        let path = |field: &str| format!("ftl.slc_cache.{field}");
        match self.size {
            SlcCacheSize::Static { blocks } => expect_whole(path("size.static.blocks"), blocks, 2, 1 << 20)?,
            SlcCacheSize::Dynamic { least_blocks, most_blocks } => {
                expect_whole(path("size.dynamic.most_blocks"), most_blocks, 2, 1 << 20)?;
                if least_blocks > most_blocks {
                    let message = format!("found {least_blocks}, expected at most most_blocks, {most_blocks}");
                    return Err(Error::config(path("size.dynamic.least_blocks"), message));
                }
            }
        }
        expect_whole(path("fold_below_blocks"), self.fold_below_blocks, 0, 1 << 20)?;
        check_us(path("idle_after_us"), self.idle_after_us)?;
        if let Some(bits) = self.bits_per_cell {
            expect_whole(path("bits_per_cell"), bits, 2, 5)?;
        }
        let cells = &self.cells;
        check_us(path("cells.sense_us"), cells.sense_us)?;
        check_us(path("cells.sense_extra_level_us"), cells.sense_extra_level_us)?;
        check_us(path("cells.program_us"), cells.program_us)?;
        check_us(path("cells.erase_us"), cells.erase_us)?;
        expect_number(path("cells.rber_factor"), cells.rber_factor, 0.0, 1.0)?;
        expect_number(path("cells.wear"), cells.wear, 0.0, 1.0)
    }

    /// Bits of a cell of other blocks.
    ///
    /// # Arguments
    /// - `page_types`: of these.
    pub(crate) fn bits_per_cell(&self, page_types: u32) -> u32 {
        self.bits_per_cell.unwrap_or(page_types)
    }

    /// Blocks of a plane that its cache can open below which it is folded, whatever the load.
    pub(crate) fn fold_below(&self) -> u32 {
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
