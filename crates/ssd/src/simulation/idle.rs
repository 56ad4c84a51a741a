//! Idle SSDs, which have had no operation of the host for a given time, and sets in which the host is at work. This is counted only where
//! something is done in idle time.

use softsense_base::Ns;
use softsense_config::checked::CheckedConfig;
use softsense_config::ids::{Set, Ssd, TiVec};
use softsense_config::spec::ScrubWhen;

use super::kernel::Kernel;
use crate::events::Event;

#[derive(Debug)]
pub(super) struct IdleTime {
    /// Time without an operation of the host after which an SSD is idle; none where nobody asks whether SSDs are idle.
    after: Option<Ns>,
    /// Activity of the host in each SSD.
    ssds: TiVec<Ssd, Activity>,
    /// Operations of the host under way in each set.
    under_way: TiVec<Set, u32>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Activity {
    /// Operations of the host under way.
    under_way: u32,
    /// The instant at which the last of them ended.
    ended: Ns,
    /// Whether an event is due that asks whether the SSD is idle.
    asks: bool,
}

impl IdleTime {
    /// Makes the record of idle time; none where nothing is done in idle time.
    pub(super) fn new(config: &CheckedConfig) -> Option<Self> {
        let (ftl, geometry) = (&config.config().ftl, config.geometry());
        let after = ftl.slc_cache.as_ref().map(|cache| Ns::from_us(cache.idle_after_us));
        let makes_way = ftl.scrub.as_ref().is_some_and(|scrub| scrub.when == ScrubWhen::HostAway);
        (after.is_some() || makes_way).then(|| Self {
            after,
            ssds: vec![Activity::default(); geometry.ssds() as usize].into(),
            under_way: vec![0; geometry.sets() as usize].into(),
        })
    }

    /// Notes that an operation of the host has begun in a set of an SSD.
    pub(super) fn began(&mut self, ssd: Ssd, set: Set) {
        self.ssds[ssd].under_way += 1;
        self.under_way[set] += 1;
    }

    /// Notes that an operation of the host has ended in a set of an SSD. Some time later the SSD may be idle.
    pub(super) fn ended(&mut self, kernel: &mut Kernel, ssd: Ssd, set: Set) {
        self.under_way[set] -= 1;
        let of = &mut self.ssds[ssd];
        of.under_way -= 1;
        of.ended = kernel.now;
        if let Some(after) = self.after
            && of.under_way == 0
            && !of.asks
        {
            of.asks = true;
            kernel.schedule(after, Event::IdleFor { ssd });
        }
    }

    /// Whether operations of the host are under way in a set.
    pub(super) fn host_is_at(&self, set: Set) -> bool {
        self.under_way[set] > 0
    }

    /// Whether an SSD is idle.
    pub(super) fn is_idle(&self, ssd: Ssd, now: Ns) -> bool {
        let of = &self.ssds[ssd];
        self.after.is_some_and(|after| of.under_way == 0 && now - of.ended >= after)
    }

    /// Whether an SSD is idle, when its event asks. If it is not, and no end of an operation will ask again, another event is scheduled.
    pub(super) fn asked(&mut self, kernel: &mut Kernel, ssd: Ssd) -> bool {
        let is_idle = self.is_idle(ssd, kernel.now);
        let of = &mut self.ssds[ssd];
        of.asks = of.under_way == 0 && !is_idle;
        if let Some(after) = self.after
            && of.asks
        {
            kernel.schedule(of.ended + after - kernel.now, Event::IdleFor { ssd });
        }
        is_idle
    }
}
