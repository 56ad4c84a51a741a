use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Result};

/// The rule that says which codewords a write buffer programs, and when.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WriteBufferReplacement {
    /// Codewords that fill a page are programmed at once, oldest first, so that the buffer absorbs bursts rather than overwrites.
    #[default]
    FullPage,
    /// Nothing is programmed until the buffer is full; then the codewords that were written longest ago are programmed, page by page.
    /// Data that is overwritten in the buffer never reaches flash.
    Lru,
    /// Nothing is programmed until the buffer is full, as with `lru`. Then the codewords that have been in the buffer longest are
    /// programmed, however often they were written again.
    Fifo,
}

impl WriteBufferReplacement {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The name of the rule in configs.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::FullPage => "full_page",
            Self::Lru => "lru",
            Self::Fifo => "fifo",
        }
    }
}

/// The fill levels at which a write buffer with `lru` or `fifo` programs before it is full.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WatermarksSpec {
    /// Share of the buffer above which pages are programmed, above `low`, up to 1. It counts data that waits.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub high: f64,
    /// Share of the buffer down to which pages are then programmed, 0 to below `high`.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub low: f64,
}

impl WatermarksSpec {
    /// Checks that pages wait in the buffer, and that `low` is below `high`.
    pub(super) fn check(self, replacement: WriteBufferReplacement) -> Result<()> {
        if replacement == WriteBufferReplacement::FullPage {
            let message = "found together with `host.write_buffer_replacement = \"full_page\"`, expected `lru` or \
                           `fifo`: with `full_page` a page leaves the buffer as soon as it is full";
            return Err(Error::config("host.write_buffer_watermarks", message));
        }
        if self.low >= self.high {
            let message = format!("found {}, expected less than {}, the value of `high`", self.low, self.high);
            return Err(Error::config("host.write_buffer_watermarks.low", message));
        }
        Ok(())
    }
}
