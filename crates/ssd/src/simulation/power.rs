//! Losses of power: when they come, and for how long the device is away.
//!
//! Each station says of itself what it loses and what it starts anew. The model is in docs/model/power-loss.md.

use std::sync::Arc;

use softsense_base::{Ns, Purpose, Stream, TotalNs};
use softsense_config::checked::CheckedConfig;
use softsense_config::geometry::Geometry;
use softsense_config::ids::{Channel, Lcn, Plane, TiVec};
use softsense_config::spec::{PowerLossScan, PowerLossSpec};
use softsense_ftl::PageMap;

/// Counts of losses of power.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PowerCounts {
    /// Number of losses.
    pub losses: u64,
    /// Codewords, or parts of them, that had been acknowledged and are lost.
    pub lost_codewords: u64,
    /// Pages in which protected write buffers were saved.
    pub saved_pages: u64,
    /// Programs that were started anew.
    pub programs_again: u64,
    /// Erases that were started anew.
    pub erases_again: u64,
    /// Pages of the map that were read.
    pub map_pages: u64,
    /// Pages that were scanned.
    pub scanned_pages: u64,
    /// Time for which the device was away, over all losses.
    pub away: TotalNs,
    /// The longest time for which the device was away at one loss.
    pub longest: Ns,
}

/// A codeword that was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LostCodeword {
    /// The instant at which power failed.
    pub at: Ns,
    /// Number of the logical codeword.
    pub lcn: Lcn,
}

/// Time that a page takes of its array and of its bus, when many pages that are spread over a device are read or programmed.
#[derive(Debug, Clone, Copy)]
struct PageTime {
    array: Ns,
    bus: Ns,
}

#[derive(Debug)]
pub(super) struct Power {
    spec: PowerLossSpec,
    geometry: Arc<Geometry>,
    draws: Stream,
    /// Instants of the config that are yet to come, the last one first.
    at: Vec<Ns>,
    /// The next instant that is drawn.
    drawn: Option<Ns>,
    /// Time to sense a page of each type; pages of the SLC cache come last.
    senses: Vec<Ns>,
    /// Times of a page of the map that is read, and of a page in which the write buffer is saved; and the time on the bus of a page that is
    /// scanned.
    map_page: PageTime,
    saved_page: PageTime,
    scan_bus: Ns,
    map_pages: u64,
    counts: PowerCounts,
    lost: Vec<LostCodeword>,
}

impl Power {
    /// Makes the losses of power; none where power does not fail.
    pub(super) fn new(config: &CheckedConfig) -> Option<Box<Self>> {
        let spec = config.config().power_loss.clone()?;
        let (flash, bus, geometry) = (&config.config().flash, &config.config().bus, &config.config().geometry);
        let of_slc = config.config().ftl.slc_cache.as_ref().map(|cache| cache.cells.sense_us);
        let types = flash.page_types.len() as f64;
        let mean = |sum: f64| Ns::from_us(sum / types);
        let page_bus = Ns::from_us(bus.command_us + bus.transfer_us * f64::from(geometry.codewords_per_page));
        let mut at: Vec<Ns> = spec.instants().collect();
        at.reverse();
        let mut power = Self {
            geometry: Arc::new(config.geometry().clone()),
            draws: Stream::new(config.config().seed, Purpose::PowerLoss),
            at,
            drawn: None,
            senses: flash.page_types.iter().map(|of| of.sense_us).chain(of_slc).map(Ns::from_us).collect(),
            map_page: PageTime { array: mean(flash.page_types.iter().map(|of| of.sense_us).sum()), bus: page_bus },
            saved_page: PageTime { array: mean(flash.page_types.iter().map(|of| of.program_us).sum()), bus: page_bus },
            scan_bus: Ns::from_us(bus.command_us + bus.transfer_us),
            map_pages: (config.user_codewords() * u64::from(spec.map_entry_bytes)).div_ceil(geometry.page_bytes()),
            spec,
            counts: PowerCounts::default(),
            lost: Vec::new(),
        };
        power.draw(Ns::ZERO);
        Some(Box::new(power))
    }

    /// Draws the next loss, which comes after the device is back.
    fn draw(&mut self, back: Ns) {
        self.drawn = self.spec.mean_interval_s.map(|mean_s| {
            let uniform = self.draws.uniform(self.counts.losses, 0);
            back + Ns::from_us(-mean_s * 1e6 * libm::log1p(-uniform))
        });
    }

    /// The instant at which power fails next.
    #[inline]
    pub(super) fn next(&self) -> Option<Ns> {
        self.at.last().copied().into_iter().chain(self.drawn).min()
    }

    /// Time that pages take which are spread evenly over the device: planes work at once, and planes of a channel share its bus.
    fn spread(&self, pages: u64, page: PageTime) -> Ns {
        let of_plane = pages.div_ceil(self.geometry.planes().into());
        let of_channel = pages.div_ceil(self.geometry.channels().into());
        page.array.times(of_plane) + page.bus.times(of_channel)
    }

    /// Number of pages that are scanned, and the time of the scan. A channel takes the time of its plane with the longest sensings, and
    /// then that of all its pages on the bus. The slowest channel counts.
    fn scan(&self, ftl: &PageMap) -> (u64, Ns) {
        let mut channels: TiVec<Channel, _> = vec![(Ns::ZERO, 0u64); self.geometry.channels() as usize].into();
        for plane in Plane::all(0..self.geometry.planes()) {
            let (mut senses, mut pages) = (Ns::ZERO, 0);
            for of_plane in 0..self.geometry.blocks_per_plane() {
                let (programmed, of_block, slc) = ftl.programmed_of(self.geometry.block_at(plane, of_plane));
                let is_scanned = match self.spec.scan {
                    PowerLossScan::None => false,
                    PowerLossScan::OpenBlocks => programmed < of_block,
                    PowerLossScan::AllBlocks => true,
                };
                if is_scanned {
                    let types = (0..programmed).map(|page| self.geometry.page_type_of(page, slc));
                    senses += types.fold(Ns::ZERO, |sum, page_type| sum + self.senses[page_type as usize]);
                    pages += u64::from(programmed);
                }
            }
            let (longest, of_channel) = &mut channels[self.geometry.channel_of(plane)];
            *longest = (*longest).max(senses);
            *of_channel += pages;
        }
        let takes = channels.iter().map(|&(longest, pages)| longest + self.scan_bus.times(pages)).max();
        (channels.iter().map(|(_, pages)| pages).sum(), takes.unwrap_or(Ns::ZERO))
    }

    /// Counts a loss of power. Returns the instant at which the device is back.
    ///
    /// # Arguments
    /// - `saved`: codewords of protected write buffers.
    pub(super) fn fails(&mut self, now: Ns, ftl: &PageMap, saved: u64) -> Ns {
        let saved_pages = saved.div_ceil(self.geometry.codewords_per_page().into());
        let (scanned_pages, scan) = self.scan(ftl);
        let idle = Ns::from_us(self.spec.off_us) + Ns::from_us(self.spec.power_up_us);
        let away = self.spread(saved_pages, self.saved_page) + idle + self.spread(self.map_pages, self.map_page) + scan;
        let counts = &mut self.counts;
        counts.losses += 1;
        counts.saved_pages += saved_pages;
        counts.map_pages += self.map_pages;
        counts.scanned_pages += scanned_pages;
        counts.away += away;
        counts.longest = counts.longest.max(away);
        let back = now + away;
        while self.at.last().is_some_and(|&at| at <= back) {
            self.at.pop();
        }
        self.draw(back);
        back
    }

    /// Notes which codewords were lost, and how many programs and erases are started anew.
    pub(super) fn lost(&mut self, at: Ns, lost: Vec<Lcn>, again: [u64; 2]) {
        self.counts.lost_codewords += lost.len() as u64;
        self.counts.programs_again += again[0];
        self.counts.erases_again += again[1];
        self.lost.extend(lost.into_iter().map(|lcn| LostCodeword { at, lcn }));
    }

    pub(super) fn counts(&self) -> PowerCounts {
        self.counts
    }

    pub(super) fn all_lost(&self) -> &[LostCodeword] {
        &self.lost
    }
}
