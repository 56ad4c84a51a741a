//! The end of an attempt at the codewords of a read: codewords that have failed are tried again, or given up.

use crate::slab::{CodewordId, ReadId};
use softsense_base::{Ns, Pj};
use softsense_config::ids::Unit;
use softsense_link::{Observation, Step};
use softsense_nand::InferredBy;

use super::super::kernel::{Completion, Deferred, Kernel};
use super::super::owners::ReadOwner;
use super::BackEnd;
use super::array::{NONE, Turn, Work};
use super::orders::ReadOrder;
use super::phase::{Command, Phase};
use super::reads::{Codeword, Read};

impl BackEnd {
    /// Begins an attempt at the codewords of a read that have not been decoded: determines their outcomes, and the times of its parts.
    #[inline]
    pub(super) fn begin_attempt(&mut self, read: ReadId, step: Step) {
        let reliability = &*self.reliability;
        self.reads.begin_attempt(read, step, |fate| reliability.outcome(fate, step));
        let entry = &mut self.reads.reads[read];
        entry.transfer = self.timing.transferring(step);
        entry.transfer_energy = self.energy.transferring(step).part(entry.order.codewords_per_unit);
        for member in entry.order.group.members() {
            let part = self.reads.part_number(read, member);
            self.reads.part_mut(part).sense = self.sense_time(read, member, step);
        }
    }

    /// Returns the step after an attempt that has failed, by what is seen of that attempt. A step that was sensed ahead is kept: it went by
    /// what was known then.
    #[inline(never)]
    pub(super) fn step_after(&mut self, kernel: &mut Kernel, read: ReadId) -> Option<Step> {
        let ahead = self.reads.reads[read].ahead;
        if self.own.is_some() {
            let next = self.own_step_after(kernel, read);
            return ahead.or(next);
        }
        let (seen, mut history) = (self.observed(read), self.reads.reads[read].history);
        self.spec.weigh(&mut history, seen.step, |attempt, step| self.mean_weight_of_failed(read, attempt, step));
        let next = self.spec.after(&mut history, seen);
        self.reads.reads[read].history = history;
        ahead.or(next)
    }

    /// Settles a read of which nothing has failed, or nothing is left to try. Sensing ahead for it stops. Unless parity may rebuild the
    /// rest, its owner is charged for its energy, which is returned: the unit of a host read that is done next reports it.
    #[inline]
    pub(super) fn settle(&mut self, kernel: &mut Kernel, read: ReadId) -> Pj {
        let Read { order: ReadOrder { group, .. }, ahead, .. } = self.reads.reads[read];
        if ahead.is_some() {
            for member in group.members() {
                let part = self.reads.part_number(read, member);
                if std::mem::take(&mut self.reads.part_mut(part).looking_ahead) {
                    self.stop_looking_ahead(kernel, read, member, self.unit_of(group, member));
                }
            }
        }
        if self.may_recover(read) { Pj::default() } else { self.charge(kernel, read) }
    }

    /// Charges the owner of a read for its energy, and returns the energy.
    #[inline]
    pub(super) fn charge(&mut self, kernel: &mut Kernel, read: ReadId) -> Pj {
        let Read { order: ReadOrder { owner, .. }, energy, .. } = self.reads.reads[read];
        match owner {
            ReadOwner::Request(_) | ReadOwner::Ahead => kernel.statistics.energy.reads += energy,
            ReadOwner::Fill { .. } => kernel.statistics.energy.writes += energy,
            ReadOwner::Modify { request, .. } => {
                kernel.statistics.energy.writes += energy;
                kernel.report(Completion::Charged { request, energy });
            }
            ReadOwner::Move { .. } | ReadOwner::Scrub { .. } | ReadOwner::Load { .. } | ReadOwner::WriteBack { .. } => {
                kernel.statistics.energy.background += energy;
            }
            ReadOwner::Recovery { read: of, .. } => self.reads.reads[of].energy += energy,
        }
        energy
    }

    /// Stops the sensing ahead of a unit, or drops its result, as it is not needed.
    fn stop_looking_ahead(&mut self, kernel: &mut Kernel, read: ReadId, member: u32, unit: Unit) {
        kernel.statistics.operations.look_ahead_wasted += 1;
        if self.array.phase(unit) == Phase::SensedAhead {
            return self.leave_array(kernel, unit);
        }
        kernel.statistics.operations.resets += 1;
        let next = self.reads.reads[read].ahead.expect("it was sensed ahead");
        let (left, whole) = (self.array.ends_at(unit) - kernel.now, self.sense_time(read, member, next));
        let (hard, extra) = self.energy.sensing(next);
        let (hard, extra) = (hard.share(left, whole), extra.share(left, whole));
        // Energy of sensings during a warm-up is not in the sums.
        let energy = &mut kernel.statistics.energy;
        energy.sense = energy.sense.without(hard);
        energy.sense_extra_levels = energy.sense_extra_levels.without(extra);
        energy.cut_short += hard + extra;
        self.reads.reads[read].energy -= hard + extra;
        if self.timing.reset > Ns::ZERO {
            self.array.run(kernel, unit, Command::Reset, NONE, self.timing.reset);
        } else {
            self.array.cut_short(unit);
            self.array.command(kernel.now, unit, Command::Reset, NONE);
            self.release(kernel, unit);
        }
    }

    /// Ends a unit of data that has been decoded, or given up. `energy` is the energy of the read, if that is settled.
    pub(super) fn unit_read(&mut self, kernel: &mut Kernel, read: ReadId, codewords: u32, decoded: bool, energy: Pj) {
        let rebuilt = decoded && self.reads.reads[read].recovered;
        let op = &mut self.reads.reads[read];
        // A unit that is here in its first attempt, decoded, has never failed.
        if op.attempts > 1 || !decoded || rebuilt {
            op.time.retries.0 = op.time.retries.0.wrapping_add(kernel.now.0);
        }
        if let ReadOwner::Request(request) = op.order.owner {
            let (level, retries) = (op.step.level, op.retries());
            let interleaved = self.geometry.ways() > 1 && op.order.group.pages() > 1;
            kernel.statistics.interleaved_codewords += u64::from(interleaved);
            kernel.statistics.soft_starts += u64::from(op.soft_start);
            kernel.statistics.codeword_read(level, retries, decoded, rebuilt);
            kernel.report(Completion::CodewordsRead { request, codewords, level, retries, decoded, energy });
        } else if rebuilt {
            kernel.statistics.recovered_in_background += 1;
            if let ReadOwner::Scrub { .. } = op.order.owner {
                op.needs_refresh = true;
                kernel.statistics.maintenance.scrubbed_recovered += 1;
            }
        } else if !decoded && !matches!(op.order.owner, ReadOwner::Recovery { .. }) {
            kernel.statistics.uncorrectable_in_background += 1;
            if let ReadOwner::Scrub { .. } = op.order.owner {
                op.needs_refresh = true;
                kernel.statistics.maintenance.scrubbed_uncorrectable += 1;
            }
        }
    }

    /// Ends an attempt whose decodes are all over: codewords that have failed are tried again, or given up.
    #[inline(always)]
    pub(super) fn attempt_over(&mut self, kernel: &mut Kernel, read: ReadId, next: Option<Step>, energy: Pj) {
        if self.reads.reads[read].failed {
            self.retry(kernel, read, next, energy);
        } else {
            self.end_read(kernel, read);
        }
    }

    fn retry(&mut self, kernel: &mut Kernel, read: ReadId, next: Option<Step>, energy: Pj) {
        let group = self.reads.reads[read].order.group;
        let Some(next) = next else {
            if self.may_recover(read) {
                return kernel.report(Completion::Recover { read });
            }
            return self.end_failed(kernel, read, energy, |_| false);
        };
        self.begin_attempt(read, next);
        for member in group.members() {
            let (part, unit) = (self.reads.part_number(read, member), self.unit_of(group, member));
            if std::mem::take(&mut self.reads.part_mut(part).looking_ahead) {
                self.array.command(kernel.now, unit, Command::Adopt, part);
                if self.array.phase(unit) == Phase::Sensed {
                    self.sensed(kernel, unit, part);
                }
            } else {
                self.submit(kernel, unit, Work::Read(part), Turn::Retry);
            }
        }
    }

    /// Ends the units of a read that have failed, and the read.
    ///
    /// # Arguments
    /// - `is_rebuilt`: whether a unit, given by its first codeword, is decoded after all.
    pub(super) fn end_failed(
        &mut self,
        kernel: &mut Kernel,
        read: ReadId,
        mut energy: Pj,
        is_rebuilt: impl Fn(CodewordId) -> bool,
    ) {
        let mut at = self.reads.first_of(read);
        while let Some(index) = at {
            at = self.reads.next_of(index);
            let Codeword { unit, unit_failed, units, .. } = self.reads.codewords[index];
            if unit == index && unit_failed {
                self.unit_read(kernel, read, units.into(), is_rebuilt(unit), std::mem::take(&mut energy));
            }
        }
        self.end_read(kernel, read);
    }

    /// The observation of an attempt that has failed, as far as the policy goes by it.
    pub(super) fn observed(&self, read: ReadId) -> Observation {
        let of_read = &self.reads.reads[read];
        let Read { step, page_type, .. } = *of_read;
        let failed = Observation::failed(step);
        if step.level > 1 {
            return failed;
        }
        let sees_weights = self.spec.sees_syndrome_weights() && !self.spec.weighs_last() && !step.known_cells;
        let shown = |by| match by {
            InferredBy::Sentinels => step.known_cells || self.shows_known_cells[page_type as usize],
            InferredBy::ShareOfOnes => true,
        };
        let inferred = self.spec.infers_by.filter(|&by| shown(by)).map(|by| {
            let fate = self.reads.first_fate(read);
            self.reliability.inferred(fate, by, step.references)
        });
        let attempt = of_read.retries() + 1;
        let syndrome_weight = if sees_weights { self.mean_weight_of_failed(read, attempt, step) } else { None };
        Observation { syndrome_weight, inferred, ..failed }
    }

    /// Mean number of checks that the codewords violate which have failed in an attempt, counted from 1; none where it is not known.
    pub(super) fn mean_weight_of_failed(&self, read: ReadId, attempt: u8, step: Step) -> Option<u32> {
        let failed = self.reads.codewords_of(read).filter(|codeword| codeword.failures >= attempt);
        let weights = failed.filter_map(|codeword| self.reliability.syndrome_weight(&codeword.fate, step));
        let (sum, count) = weights.fold((0u64, 0u64), |(sum, count), weight| (sum + u64::from(weight), count + 1));
        sum.checked_div(count).map(|mean| mean as u32)
    }

    /// Ends a read. Every codeword of it has been decoded or given up.
    pub(super) fn end_read(&mut self, kernel: &mut Kernel, read: ReadId) {
        let of_read = &self.reads.reads[read];
        let Read { order, counted, sensings, failed, step, attempts, needs_refresh, .. } = *of_read;
        let ReadOrder { owner, group, keeps, .. } = order;
        if matches!(owner, ReadOwner::Request(_)) {
            let waited_for = of_read.has_waited.then_some(&of_read.waited_for);
            kernel.statistics.read_ended(of_read.time, waited_for, counted);
        }
        let of = if let ReadOwner::Recovery { read: of, .. } = owner { self.mate_read(of, read) } else { None };
        self.reads.remove(read);
        let is_poor = failed || attempts > 1 || step.level > 1;
        let ended = Completion::ReadEnded { owner, group, sensings, keeps: keeps && !failed, is_poor, needs_refresh };
        match &mut kernel.dram {
            Some(dram) if !matches!(owner, ReadOwner::Request(_) | ReadOwner::Recovery { .. }) => {
                let takes = dram.move_codewords(kernel.now, counted.into());
                kernel.defer(takes, Deferred::Told(ended));
            }
            _ => kernel.report(ended),
        }
        if let Some(of) = of {
            self.rebuild(kernel, of);
        }
    }
}
