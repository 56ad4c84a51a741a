//! Steps that the user's own policy asks for. An error of the policy ends the run when the event at hand is over.
//!
//! If the policy leaves references to the config, the config's retries of a hard decision are a part of the step that the policy asks for.
//! The policy is asked again when all of these retries have failed.

use crate::slab::ReadId;
use softsense_base::Result;
use softsense_link::{OwnStep, ReadBegins, Step};

use super::super::kernel::Kernel;
use super::BackEnd;

impl BackEnd {
    /// The first step of a read.
    #[inline(never)]
    pub(super) fn own_first_step(&mut self, kernel: &mut Kernel, read: ReadId) -> Step {
        let entry = &self.reads.reads[read];
        let begins = ReadBegins {
            page_type: entry.page_type,
            pe_cycles: entry.order.pe_cycles,
            block: entry.order.group.superblock.0,
            remembered_level: entry.order.remembered_level,
        };
        let own = self.own.as_mut().expect("it is asked");
        match own.first(read.0, begins) {
            Ok(asked) => own.step(asked, &self.spec, &entry.history, None),
            Err(error) => {
                kernel.fail(error);
                Step::fresh(1)
            }
        }
    }

    /// Whether the present step of a read is read as the config says.
    #[inline]
    pub(super) fn reads_as_configured(&self, read: ReadId) -> bool {
        self.own.as_ref().is_none_or(|own| own.reads_as_configured(read.0))
    }

    /// The step after one that has failed.
    #[inline(never)]
    pub(super) fn own_step_after(&mut self, kernel: &mut Kernel, read: ReadId) -> Option<Step> {
        let step = self.reads.reads[read].step;
        if self.reads_as_configured(read) {
            let seen = self.observed(read);
            let history = &mut self.reads.reads[read].history;
            history.see(seen);
            if let Some(retry) = self.spec.hard_retry(history, step) {
                return Some(retry);
            }
        }
        let sees_weights = step.level == 1 && self.own.as_ref().is_some_and(|own| own.sees_syndrome_weights());
        let attempt = self.reads.reads[read].retries() + 1;
        let weight = if sees_weights { self.mean_weight_of_failed(read, attempt, step) } else { None };
        let own = self.own.as_mut().expect("it is asked");
        let asked = own.after(read.0, weight.unwrap_or(0));
        self.own_step(kernel, read, asked)
    }

    /// The step that follows if the present one fails. None where it is not to be sensed ahead, or depends on the outcome of the present
    /// step.
    #[inline(never)]
    pub(super) fn own_step_ahead(&mut self, kernel: &mut Kernel, read: ReadId) -> Option<Step> {
        let step = self.reads.reads[read].step;
        if self.reads_as_configured(read) {
            let history = &self.reads.reads[read].history;
            if self.spec.waits_for_outcome(history, step) {
                return None;
            }
            if let Some(retry) = self.spec.hard_retry(history, step) {
                return Some(retry);
            }
        }
        let own = self.own.as_mut().expect("it is asked");
        let asked = own.ahead(read.0);
        self.own_step(kernel, read, asked)
    }

    /// Makes a step of what the policy has asked for after the present step of a read.
    fn own_step(&mut self, kernel: &mut Kernel, read: ReadId, asked: Result<Option<OwnStep>>) -> Option<Step> {
        let asked = asked.unwrap_or_else(|error| {
            kernel.fail(error);
            None
        })?;
        let entry = &self.reads.reads[read];
        let own = self.own.as_ref().expect("it is asked");
        Some(own.step(asked, &self.spec, &entry.history, Some(entry.step)))
    }
}
