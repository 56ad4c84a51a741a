//! Folding of the SLC cache: when it begins. Its work is that of garbage collection (see [`super::collection`]).
//!
//! Folding begins under load if the cache has little room left. Where superblocks of the cache are taken from the free ones, it also begins
//! when garbage collection wants them back. And it begins in idle time: when an SSD has had no operation of the host for as long as the
//! config says.

use softsense_config::ids::{Set, Ssd};

use super::super::device::Device;
use super::super::owners::Cause;
use super::WritePath;

impl WritePath {
    /// Folds the cache of each set of an SSD that is idle.
    pub(in super::super) fn fold_in_idle_time(&mut self, device: &mut Device, ssd: Ssd) {
        for set in device.geometry.sets_of_ssd(ssd) {
            if self.collections[set].is_none() {
                self.begin_folding(device, set);
            }
        }
    }

    /// Begins to fold a superblock of the cache of a set, if that is due. Returns whether it is.
    pub(super) fn begin_folding(&mut self, device: &mut Device, set: Set) -> bool {
        let is_idle = device.is_idle(set);
        let Some(victim) = device.ftl.take_to_fold(set, is_idle) else { return false };
        let statistics = &mut device.kernel.statistics;
        statistics.folded_blocks += 1;
        statistics.folded_blocks_in_idle_time += u64::from(is_idle);
        self.move_data(device, set, Cause::Folding, victim, None);
        true
    }
}
