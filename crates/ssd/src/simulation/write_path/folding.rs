//! Folding of the SLC cache: when it begins. What it does is what garbage collection does (see [`super::collection`]).
//!
//! It begins under load where the cache has little room left, where its superblocks are free ones that garbage collection wants
//! back, and in idle time: when an SSD has had no operation of the host for as long as the config says.

use super::super::device::Device;
use super::super::owners::Cause;
use super::WritePath;

impl WritePath {
    /// An SSD is idle: the cache of each of its sets is folded.
    pub(in super::super) fn fold_in_idle_time(&mut self, device: &mut Device, ssd: u32) {
        for set in device.geometry.sets_of_ssd(ssd) {
            if self.collections[set as usize].is_none() {
                self.begin_folding(device, set);
            }
        }
    }

    /// Begins to fold a superblock of the cache of a set, if that is due. Whether it is.
    pub(super) fn begin_folding(&mut self, device: &mut Device, set: u32) -> bool {
        let is_idle = device.is_idle(set);
        let Some(victim) = device.ftl.take_to_fold(set, is_idle) else { return false };
        let statistics = &mut device.kernel.statistics;
        statistics.folded_blocks += 1;
        statistics.folded_blocks_in_idle_time += u64::from(is_idle);
        self.move_data(device, set, Cause::Folding, victim, None);
        true
    }
}
