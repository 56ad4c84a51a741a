//! One direction of a link: it carries one load at a time, first come, first served.

use softsense_base::{Ns, TotalNs};

/// A lane. It is known of each load when it will have left, as none goes before another.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Lane {
    free_at: Ns,
    busy: TotalNs,
}

impl Lane {
    /// Carries a load that takes so long. Returns the time from now until it will have left, its wait included.
    pub(super) fn carry(&mut self, now: Ns, takes: Ns) -> Ns {
        self.free_at = self.free_at.max(now) + takes;
        self.busy += takes;
        self.free_at - now
    }

    /// Puts off by `by` loads that have set out and not left yet.
    pub(super) fn put_off(&mut self, now: Ns, by: Ns) {
        if self.free_at > now {
            self.free_at += by;
        }
    }

    /// Starts counting anew for how long the lane is busy.
    pub(super) fn count_anew(&mut self) {
        self.busy = TotalNs::default();
    }

    /// Mean busy share of lanes over the time for which they have counted.
    pub(super) fn busy_share(lanes: &[Lane], counted: Ns) -> f64 {
        let busy: f64 = lanes.iter().map(|lane| lane.busy.0 as f64).sum();
        if counted > Ns::ZERO { busy / (counted.0 as f64 * lanes.len() as f64) } else { 0.0 }
    }
}
