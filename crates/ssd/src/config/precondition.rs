use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Result, expect_number, expect_whole};

/// The state the device starts in, set directly: it costs no simulated operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PreconditionSpec {
    /// Share of the user capacity that has been written, 0 to 1.
    pub mapped_fraction: f64,
    /// How the data lies.
    pub layout: Layout,
    /// Program/erase cycles that every block has behind it; matters with `reliability.table`, `adaptive`, `bch` and `exact`.
    pub pe_cycles: u32,
    /// Age of the data, days; matters with `reliability.table`, `adaptive`, `bch` and `exact`.
    pub retention_days: f64,
}

impl Default for PreconditionSpec {
    fn default() -> Self {
        Self { mapped_fraction: 1.0, layout: Layout::Sequential, pe_cycles: 10_000, retention_days: 30.0 }
    }
}

/// How preconditioned data lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// As one sequential pass over the address space leaves it; the over-provisioned blocks are free.
    Sequential,
    /// As endless uniform overwriting under greedy garbage collection leaves it: stale pages in most
    /// blocks, free blocks at the watermark. Under other `ftl.victims` a quarter of the user capacity has to be overwritten
    /// before write amplification has settled.
    SteadyState,
}

impl PreconditionSpec {
    /// Checks the ranges.
    pub(super) fn check(&self) -> Result<()> {
        expect_number("precondition.mapped_fraction", self.mapped_fraction, 0.0, 1.0)?;
        expect_number("precondition.retention_days", self.retention_days, 0.0, 36_500.0)?;
        expect_whole("precondition.pe_cycles", self.pe_cycles, 0, 10_000_000)?;
        if self.layout == Layout::SteadyState && self.mapped_fraction < 1.0 {
            let message = format!(
                "found `steady_state` with mapped_fraction = {}, expected 1.0: endless overwriting maps everything",
                self.mapped_fraction
            );
            return Err(Error::config("precondition.layout", message));
        }
        Ok(())
    }

    /// One line for people.
    pub(crate) fn describe(&self) -> String {
        let layout = match self.layout {
            Layout::Sequential => "sequential",
            Layout::SteadyState => "steady state",
        };
        format!(
            "{:.0} % mapped, {layout}, {} P/E cycles, data {} days old",
            self.mapped_fraction * 100.0,
            self.pe_cycles,
            self.retention_days
        )
    }
}
