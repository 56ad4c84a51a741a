//! Steps that a policy of the user's own says. What goes wrong with it ends the run when the event at hand is over.

use softsense_link::{AskedPolicy, ReadBegins, Step};

use super::super::kernel::Kernel;
use super::BackEnd;
use super::orders::ReadOrder;

/// The first step of a read.
#[inline(never)]
pub(super) fn first(own: &mut AskedPolicy, kernel: &mut Kernel, read: u32, order: ReadOrder, page_type: u32) -> Step {
    let ReadOrder { group, pe_cycles, remembered_level, .. } = order;
    let begins = ReadBegins { page_type, pe_cycles, block: group.superblock, remembered_level };
    own.first(read, begins).unwrap_or_else(|error| {
        kernel.fail(error);
        Step::fresh(1)
    })
}

impl BackEnd {
    /// The step after one that has failed.
    #[inline(never)]
    pub(super) fn own_step_after(&mut self, kernel: &mut Kernel, read: u32) -> Option<Step> {
        let step = self.reads.reads[read].step;
        let sees_weights = step.level == 1 && self.own.as_ref().is_some_and(|own| own.sees_syndrome_weights());
        let weight = if sees_weights { self.mean_weight_of_failed(read, step) } else { None };
        let own = self.own.as_mut().expect("it is asked");
        own.after(read, weight.unwrap_or(0)).unwrap_or_else(|error| {
            kernel.fail(error);
            None
        })
    }

    /// The step that follows if the last one fails, where it is to be sensed ahead and does not depend on what will be seen.
    #[inline(never)]
    pub(super) fn own_step_ahead(&mut self, kernel: &mut Kernel, read: u32) -> Option<Step> {
        let own = self.own.as_mut().expect("it is asked");
        let entry = &mut self.reads.reads[read];
        if entry.ahead.is_none() && own.looks_ahead() {
            entry.ahead = own.ahead(read).unwrap_or_else(|error| {
                kernel.fail(error);
                None
            });
        }
        entry.ahead
    }
}
