//! When SSDs are idle: when they have had no operation of the host for so long. Told where something is done in idle time.

use softsense_base::Ns;

use super::kernel::Kernel;
use crate::checked::CheckedConfig;
use crate::events::Event;

#[derive(Debug)]
pub(super) struct IdleTime {
    after: Ns,
    /// Of each SSD.
    ssds: Vec<Activity>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Activity {
    /// Operations of the host under way.
    under_way: u32,
    /// When the last of them ended.
    ended: Ns,
    /// Whether an event will ask whether it is idle.
    asks: bool,
}

impl IdleTime {
    /// None where nothing is done in it.
    pub(super) fn new(config: &CheckedConfig) -> Option<Self> {
        let cache = config.config().ftl.slc_cache.as_ref()?;
        let ssds = vec![Activity::default(); config.geometry().ssds() as usize];
        Some(Self { after: Ns::from_us(cache.idle_after_us), ssds })
    }

    /// An operation of the host has begun.
    pub(super) fn began(&mut self, ssd: u32) {
        self.ssds[ssd as usize].under_way += 1;
    }

    /// One has ended: some time later the SSD may be idle.
    pub(super) fn ended(&mut self, kernel: &mut Kernel, ssd: u32) {
        let of = &mut self.ssds[ssd as usize];
        of.under_way -= 1;
        of.ended = kernel.now;
        if of.under_way == 0 && !of.asks {
            of.asks = true;
            kernel.schedule(self.after, Event::IdleFor { ssd });
        }
    }

    /// Whether an SSD is idle.
    pub(super) fn is_idle(&self, ssd: u32, now: Ns) -> bool {
        let of = &self.ssds[ssd as usize];
        of.under_way == 0 && now - of.ended >= self.after
    }

    /// Whether an SSD is idle, asked by its event. Where it is not, and no end of an operation will ask again, another event does.
    pub(super) fn asked(&mut self, kernel: &mut Kernel, ssd: u32) -> bool {
        let is_idle = self.is_idle(ssd, kernel.now);
        let of = &mut self.ssds[ssd as usize];
        of.asks = of.under_way == 0 && !is_idle;
        if of.asks {
            let left = of.ended + self.after - kernel.now;
            kernel.schedule(left, Event::IdleFor { ssd });
        }
        is_idle
    }
}
