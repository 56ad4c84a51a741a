//! The formats of superblocks: which code a superblock has at its age, and how much room that leaves.

use softsense_config::checked::CheckedConfig;
use softsense_config::format::BlockLayout;
use softsense_config::ids::{Ssd, Superblock};
use softsense_link::ByAge;

use super::observed_rates::ObservedRates;

/// Layouts by age, and the ages by which superblocks have them.
#[derive(Debug)]
pub(super) struct Formats {
    /// The layout of a block, or of a superblock whose blocks take turns, by P/E cycles.
    layouts: ByAge<BlockLayout>,
    /// Observations that choose code rates. Absent where code rates follow P/E cycles.
    observed_rates: Option<ObservedRates>,
    /// Whether units cross pages in any block.
    pub(super) crosses_pages: bool,
    /// Units of data in a codeword, by the P/E cycles of its block.
    pub(super) units_of_codeword: ByAge<u32>,
}

impl Formats {
    pub(super) fn new(config: &CheckedConfig) -> Self {
        let observed = |switch| {
            ObservedRates::new(switch, config.code_rates(), &config.layouts(), config.start_ages(), config.geometry())
        };
        Self {
            observed_rates: config.reliability().observed_switch().map(observed),
            layouts: config.layouts(),
            crosses_pages: config.crosses_pages(),
            units_of_codeword: config.units_of_codeword(),
        }
    }

    /// The layouts by P/E cycles.
    #[inline]
    pub(super) fn layouts(&self) -> &ByAge<BlockLayout> {
        &self.layouts
    }

    /// The age whose code a superblock uses: its P/E cycles, unless codes follow observations.
    #[inline]
    pub(super) fn code_age(&self, superblock: Superblock, pe_cycles: impl FnOnce() -> u32) -> u32 {
        match &self.observed_rates {
            None => pe_cycles(),
            Some(observed) => observed.code_age(superblock),
        }
    }

    /// The layout with the least room that a superblock of an SSD may have next: with the next code, or at the most P/E cycles.
    pub(super) fn least_roomy(&self, ssd: impl FnOnce() -> Ssd, most_pe_cycles: impl FnOnce() -> u32) -> &BlockLayout {
        self.layouts.at(|| match &self.observed_rates {
            None => most_pe_cycles(),
            Some(observed) => observed.next_code_age(ssd()),
        })
    }

    /// Notes a decode of a codeword of a superblock: the observed value, or `None` where the decode failed.
    pub(super) fn see(&mut self, superblock: Superblock, seen: Option<u32>) {
        self.observed_rates.as_mut().expect("code rates follow what is seen").see(superblock, seen);
    }

    /// Notes that a superblock has been erased.
    pub(super) fn erased(&mut self, superblock: Superblock) {
        if let Some(observed) = &mut self.observed_rates {
            observed.erased(superblock);
        }
    }

    /// Erases after which a block had a stronger code than before, and erases after which it had a weaker one. `None` where codes follow
    /// P/E cycles.
    pub(super) fn rate_switches(&self) -> Option<(u64, u64)> {
        self.observed_rates.as_ref().map(|observed| observed.switches)
    }
}
