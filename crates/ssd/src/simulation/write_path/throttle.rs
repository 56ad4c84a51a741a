//! The limit for writes of the host while a superblock is collected, where `ftl.gc_pacing` says that writes keep the pace of collection.
//!
//! Writes may take the pages that a collection gains, in proportion to how much of it is done. They may also take the pages that the set
//! has beyond those that it is to have at the end. If the set has fewer than these, writes may take half of the gain, so that the set comes
//! to have them. So a set that is collected has room until the end, where the next collection goes on from there. The host then waits for
//! the next page to be moved, not for an erase.
//!
//! Source: M. Bjorling, J. Gonzalez, P. Bonnet, "LightNVM: The Linux Open-Channel SSD Subsystem", FAST 2017, 4.2.4: writes of users are
//! limited by the number of free blocks. There a controller sets their share of the write buffer.

use softsense_config::ids::{Set, Superblock};

use super::super::device::Device;
use super::super::owners::Cause;
use super::WritePath;

/// The plan for the pages of a set, from the beginning of a collection to its end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    /// Unwritten pages of the set at the beginning.
    unwritten: i64,
    /// Valid codewords of the victim at the beginning.
    valid: i64,
    /// Pages that the erase of the victim gives.
    erased: i64,
    /// Unwritten pages that the set is to have at the end, beyond those at the beginning; below 0 for fewer.
    change: i64,
}

impl Plan {
    /// # Arguments
    /// - `leaves`: unwritten pages that the set is to have at the end.
    /// - `moved`: pages to which the valid codewords of the victim go.
    fn new(leaves: u32, unwritten: u32, valid: u32, moved: u32, erased: u32) -> Self {
        let [leaves, unwritten, erased] = [leaves, unwritten, erased].map(i64::from);
        let gain = erased - i64::from(moved);
        let missing = leaves - unwritten;
        let change = if missing < 0 { missing } else { missing.min(gain / 2) };
        Self { unwritten, valid: valid.into(), erased, change }
    }

    /// Whether the host may program one more page.
    ///
    /// # Arguments
    /// - `unwritten`: pages of the set that are not programmed.
    /// - `valid`: codewords of the victim that are still valid.
    fn allows_write(&self, unwritten: u32, valid: u32) -> bool {
        // The share of the collection that is done: codewords of the victim that were moved, or overwritten.
        let of = self.valid.max(1);
        let done = of - i64::from(valid);
        (i64::from(unwritten) - self.unwritten) * of + done * (self.erased - self.change) >= 0
    }
}

impl WritePath {
    /// The limit for writes of the host while a superblock is collected; none where they are not held back for it.
    pub(super) fn plan(&self, device: &Device, set: Set, cause: Cause, victim: Superblock) -> Option<Plan> {
        let ftl = &device.ftl;
        let leaves = match cause {
            Cause::Collection | Cause::Folding => self.leaves_pages?,
            // Wear levelling gains nothing, or little: writes may meanwhile take a superblock of the pages that are left.
            Cause::WearLevelling => self.leaves_pages?.saturating_sub(device.geometry.pages_per_superblock()),
            _ => return None,
        };
        let (valid, at_once) = (ftl.valid(victim), device.geometry.pages_per_program());
        let moved = valid.div_ceil(device.geometry.codewords_per_page() * at_once) * at_once;
        Some(Plan::new(leaves, ftl.unwritten_pages(set), valid, moved, ftl.pages_of_erase(victim)))
    }

    /// Holds back writes of the host to a set that is being collected, or lets them go on.
    #[inline]
    pub(super) fn throttle_writes(&self, device: &mut Device, set: Set) {
        if self.leaves_pages.is_some() {
            let allows_write =
                |plan: Plan, victim| plan.allows_write(device.ftl.unwritten_pages(set), device.ftl.valid(victim));
            let job = self.collections[set].as_ref();
            let held_back = job.is_some_and(|job| job.plan.is_some_and(|plan| !allows_write(plan, job.victim)));
            device.ftl.hold_back(set, held_back);
        }
    }

    /// Lets writes go on that had to wait until the collection of a set has moved data.
    #[inline]
    pub(super) fn go_on_with_writes(&mut self, device: &mut Device, set: Set) {
        if self.leaves_pages.is_none() {
            return;
        }
        self.throttle_writes(device, set);
        if self.waits_for_room(device, set) && !device.ftl.is_held_back(set) {
            self.resume_stalled_writes(device, device.geometry.ssd_of_set(set));
        }
    }
}
