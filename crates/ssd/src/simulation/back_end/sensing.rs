//! Sensing, programming and erasing: what arrays do, and what follows when they have done it.
//!
//! A *unit* is a busy unit here, a plane or a die, whose array does one operation at a time. A read or a program of a group has a *part*
//! for each *member*, a page of the group; the unit of the page does the part.

use crate::slab::{ProgramId, ReadId};
use softsense_base::Ns;
use softsense_config::ids::{Channel, Plane, Superblock, Unit};
use softsense_ftl::Group;
use softsense_link::Step;
use softsense_nand::InferredBy;

use super::super::kernel::Kernel;
use super::array::{NONE, TakenBy, Taker, Turn, Work};
use super::bus::Transfer;
use super::orders::{Ended, ReadOrder};
use super::phase::{Command, Phase};
use super::reads::Read;
use super::timing::SuspendTiming;
use super::{BackEnd, Program};
use crate::events::Key;

impl BackEnd {
    /// The plane that has a page of a group.
    #[inline]
    fn plane_of(&self, group: Group, member: u32) -> Plane {
        self.geometry.plane_of(group.set, self.geometry.turn(group.page, member).0)
    }

    /// The unit that has a page of a group.
    #[inline]
    pub(super) fn unit_of(&self, group: Group, member: u32) -> Unit {
        self.geometry.busy_unit_of(self.plane_of(group, member))
    }

    /// The channel of a page of a group.
    #[inline]
    pub(super) fn channel_of(&self, group: Group, member: u32) -> Channel {
        self.geometry.channel_of(self.plane_of(group, member))
    }

    /// Hands work to a unit. The work begins at once if the unit is free and waits for no other unit; otherwise it is queued.
    #[inline(always)]
    pub(super) fn submit(&mut self, kernel: &mut Kernel, unit: Unit, work: Work, turn: Turn) {
        let may_begin = self.may_begin(kernel.now, unit, work, turn);
        if let Work::Read(part) = work {
            let waits = !may_begin || self.array.phase(unit) != Phase::Free;
            self.reads.part_mut(part).has_waited = waits;
            if waits {
                self.reads.part_mut(part).waited_for = self.taken(kernel.now, unit);
            }
        }
        if self.array.schedule.is_some() && turn != Turn::Retry {
            return self.submit_to_schedule(kernel, unit, work, may_begin);
        }
        if !may_begin {
            self.array.wait(unit, work, turn);
            self.waits_for_round(kernel, unit, turn);
        } else if let Some(work) = self.array.submit(unit, work, turn) {
            self.begin(kernel, unit, work);
        } else if turn != Turn::Other {
            self.make_way(kernel, unit);
        } else {
            self.load_ahead(kernel, unit);
        }
    }

    /// Handles work that waits for other units of its round. A read asks for suspension of the command under way. Other work asks that no
    /// further read begins before it, and a page to be programmed may be loaded.
    #[inline(never)]
    fn waits_for_round(&mut self, kernel: &mut Kernel, unit: Unit, turn: Turn) {
        if turn == Turn::Other {
            self.wants_command(unit);
            self.load_ahead(kernel, unit);
        } else {
            self.make_way(kernel, unit);
        }
    }

    /// Hands work to a unit where a schedule chooses which work is next.
    #[inline(never)]
    fn submit_to_schedule(&mut self, kernel: &mut Kernel, unit: Unit, work: Work, may_begin: bool) {
        let begins = may_begin && self.array.phase(unit) == Phase::Free;
        self.arrives_at_unit(kernel.now, unit, work, begins);
        if begins {
            self.begin(kernel, unit, work);
        } else if may_begin {
            self.make_way(kernel, unit);
            self.load_ahead(kernel, unit);
        }
    }

    /// Loads the next page while a unit programs, if there is one to load.
    #[inline]
    pub(super) fn load_ahead(&mut self, kernel: &mut Kernel, unit: Unit) {
        if !self.cache_program {
            return;
        }
        if self.rounds.is_some() {
            return self.load_ahead_in_round(kernel, unit);
        }
        // A copy has nothing to load.
        let loads = |part| self.programs[self.reads.of_part(part).0].copies.is_none();
        if let Some(part) = self.array.load_next(kernel.now, unit, loads) {
            self.request_page(kernel, part);
        }
    }

    /// Requests the bus for the page of a program.
    pub(super) fn request_page(&mut self, kernel: &mut Kernel, part: u32) {
        let (program, member) = self.reads.of_part(part);
        let channel = self.channel_of(self.programs[program].group, member);
        self.request_bus(kernel, channel, Transfer::Program(part));
    }

    /// Takes a free unit for the program whose page is loaded, or being loaded. Returns whether there is such a program.
    pub(super) fn program_loaded(&mut self, kernel: &mut Kernel, unit: Unit) -> bool {
        let Some(next) = self.array.take_next_program(unit) else { return false };
        self.take_for_program(kernel, unit, next.part);
        if next.loaded {
            self.begin_program(kernel, unit, next.part);
        }
        true
    }

    /// Takes a free unit for a program, whose page comes over the bus.
    fn take_for_program(&mut self, kernel: &mut Kernel, unit: Unit, part: u32) {
        let (program, _) = self.reads.of_part(part);
        let owner = self.programs[program].owner;
        let by = if owner.is_of_host() { TakenBy::HostPrograms } else { TakenBy::BackgroundPrograms };
        self.array.take(kernel.now, unit, (by, owner.cause()));
        self.array.command(kernel.now, unit, Command::Load, part);
    }

    /// Begins the program of a page that has crossed the bus.
    pub(super) fn begin_program(&mut self, kernel: &mut Kernel, unit: Unit, part: u32) {
        let (program, member) = self.reads.of_part(part);
        let Program { owner, merges, copies, energy, .. } = self.programs[program];
        kernel.statistics.operations.programs += 1;
        kernel.statistics.by_cause[owner.cause() as usize].programs += 1;
        kernel.statistics.energy.program += energy;
        if owner.is_of_host() {
            kernel.statistics.energy.writes += energy;
        } else {
            kernel.statistics.energy.background += energy;
        }
        if merges {
            kernel.statistics.operations.senses += 1;
            kernel.statistics.energy.sense += self.energy.sense;
            kernel.statistics.energy.writes += self.energy.sense;
        }
        if copies.is_some() {
            kernel.statistics.operations.senses += 1;
            kernel.statistics.by_cause[owner.cause() as usize].page_reads += 1;
            kernel.statistics.energy.sense += self.energy.sense;
            kernel.statistics.energy.background += self.energy.sense;
        }
        self.array.run(kernel, unit, Command::Program, part, self.program_time(program, member));
        self.make_way(kernel, unit);
        self.load_ahead(kernel, unit);
    }

    /// Time for which an array is busy with a program, with the sensing of the old page before a merge or a copy.
    #[inline]
    pub(super) fn program_time(&self, program: ProgramId, member: u32) -> Ns {
        let Program { group, merges, copies, fails, .. } = self.programs[program];
        let page_type = self.geometry.page_type_of(self.geometry.turn(group.page, 0).1, group.slc());
        let timing = &self.timing.page_types[page_type as usize];
        // The pages of a wordline are programmed at once when the last of them has been loaded.
        let usual = match self.timing.one_shot.filter(|_| !group.slc()) {
            None => timing.program,
            Some(_) if member + 1 < group.pages() => Ns::ZERO,
            Some(one_shot) => one_shot,
        };
        let mut duration = self.timing.failed_program.filter(|_| fails >> member & 1 == 1).unwrap_or(usual);
        if merges {
            duration += timing.sense;
        }
        if let Some(from) = copies {
            let page_type = self.geometry.page_type_of(self.geometry.turn(from.page, 0).1, from.slc());
            duration += self.timing.sensing(page_type, Step::fresh(1), number_of(from, 0));
        }
        duration
    }

    /// Suspends a program or an erase as soon as it may be suspended, if hurried reads wait for its array and then begin sooner. Hurried
    /// reads go before programs and erases ([`ReadOrder::hurried`]).
    #[inline]
    pub(super) fn make_way(&mut self, kernel: &mut Kernel, unit: Unit) {
        let Some(suspend) = self.timing.suspend else { return };
        if self.rounds.is_some() {
            self.suspend_round(kernel, unit, suspend);
        } else {
            self.suspend_if(kernel, unit, suspend);
        }
    }

    /// Whether work is a read for which programs and erases are suspended.
    pub(super) fn is_hurried(&self, now: Ns, work: Work) -> bool {
        let Work::Read(part) = work else { return false };
        let order = &self.reads.reads[self.reads.of_part(part).0].order;
        let schedule = self.array.schedule.as_ref();
        order.hurried && schedule.is_none_or(|schedule| schedule.may_interrupt(now, self.asks_for(order.owner)))
    }

    /// Suspends the operation of a unit by itself if a read has reason to, now or at the instant from which it may be suspended.
    #[inline(never)]
    fn suspend_if(&mut self, kernel: &mut Kernel, unit: Unit, suspend: SuspendTiming) {
        let usual = match self.array.phase(unit) {
            Phase::Programming => suspend.program,
            Phase::Erasing => suspend.erase,
            _ => return,
        };
        let (runs_since, suspensions) = self.array.run_of(unit);
        let Some(duration) = self.timing.stopping(usual, unit, (runs_since, suspensions), self.writes_wait) else {
            return;
        };
        let mut earliest = kernel.now.max(runs_since + suspend.least_run);
        let mut has_reason = self.array.waiting_reads(unit).any(|work| self.is_hurried(kernel.now, work));
        if let Some(schedule) = &self.array.schedule
            && !has_reason
        {
            has_reason = schedule.interrupts(kernel.now, unit);
            // If no deadline is near yet, the operation is suspended when the first deadline comes near.
            if let Some(near) = schedule.interrupts_at(kernel.now, unit).filter(|_| !has_reason) {
                (earliest, has_reason) = (earliest.max(near), true);
            }
        }
        if suspensions >= suspend.most || earliest + duration >= self.array.ends_at(unit) || !has_reason {
            return;
        }
        if earliest > kernel.now {
            return self.array.consider_suspending(kernel, unit, earliest - kernel.now);
        }
        kernel.statistics.operations.suspensions += 1;
        self.array.suspend(kernel, unit, duration);
    }

    /// Takes a free unit for work. The array begins its operation when the command, or the page to be programmed, has crossed the bus.
    pub(super) fn begin(&mut self, kernel: &mut Kernel, unit: Unit, work: Work) {
        match work {
            Work::Read(part) => {
                let (read, member) = self.reads.of_part(part);
                let state = self.reads.part_mut(part);
                state.sensing_from = kernel.now;
                if state.has_waited {
                    // Until now `waited_for` had the times when the wait began.
                    let taken = self.array.taken(kernel.now, unit);
                    state.waited_for = std::array::from_fn(|by| taken[by] - state.waited_for[by]);
                }
                self.array.take(kernel.now, unit, self.taken_by_read(read));
                if self.timing.command == Ns::ZERO {
                    self.commanded(kernel, unit, work);
                } else {
                    let channel = self.channel_of(self.reads.reads[read].order.group, member);
                    self.address(kernel, unit, channel, part, work);
                }
            }
            Work::Program(part) => {
                let (program, member) = self.reads.of_part(part);
                self.take_for_program(kernel, unit, part);
                let Program { group, copies, .. } = self.programs[program];
                let channel = self.channel_of(group, member);
                if copies.is_none() {
                    self.request_bus(kernel, channel, Transfer::Program(part));
                } else if self.timing.command == Ns::ZERO {
                    self.begin_program(kernel, unit, part);
                } else {
                    self.request_bus(kernel, channel, Transfer::Command { unit, work });
                }
            }
            Work::Erase { superblock, cause, .. } => {
                kernel.statistics.operations.erases += 1;
                kernel.statistics.by_cause[cause as usize].erases += 1;
                kernel.statistics.energy.erase += self.energy.erase;
                kernel.statistics.energy.background += self.energy.erase;
                self.array.take(kernel.now, unit, (TakenBy::Erases, cause));
                if self.timing.command == Ns::ZERO {
                    self.commanded(kernel, unit, work);
                } else {
                    let channel = self.geometry.channel_of_unit(unit);
                    self.address(kernel, unit, channel, superblock.0, work);
                }
            }
        }
    }

    /// Sends the command of an operation over the bus to the unit that was taken for it.
    fn address(&mut self, kernel: &mut Kernel, unit: Unit, channel: Channel, of: u32, work: Work) {
        self.array.command(kernel.now, unit, Command::Address, of);
        self.request_bus(kernel, channel, Transfer::Command { unit, work });
    }

    /// Begins the operation of a unit that has its command.
    #[inline(always)]
    pub(super) fn commanded(&mut self, kernel: &mut Kernel, unit: Unit, work: Work) {
        match work {
            Work::Read(part) => {
                let (read, member) = self.reads.of_part(part);
                self.count_sensing(kernel, read, member, self.reads.reads[read].step);
                let state = self.reads.part_mut(part);
                state.addressed_for = kernel.now - state.sensing_from;
                let duration = state.sense;
                self.array.run(kernel, unit, Command::Sense, part, duration);
            }
            Work::Erase { superblock, slc, fails, .. } => {
                let duration = self.timing.erase_of(slc, fails);
                self.array.run(kernel, unit, Command::Erase, superblock.0, duration);
                if self.rounds.is_some() {
                    self.make_way(kernel, unit);
                }
            }
            // Only a copy comes here: the command of other programs comes with their data.
            Work::Program(part) => self.begin_program(kernel, unit, part),
        }
    }

    /// Kind and cause of the operation for which a read takes an array.
    #[inline]
    fn taken_by_read(&self, read: ReadId) -> Taker {
        let owner = self.reads.reads[read].order.owner;
        (if owner.is_of_host() { TakenBy::HostReads } else { TakenBy::BackgroundReads }, owner.cause())
    }

    /// Counts the sensing of a page for a step.
    #[inline(always)]
    fn count_sensing(&mut self, kernel: &mut Kernel, read: ReadId, member: u32, step: Step) {
        let (hard, extra) = self.energy.sensing(step);
        let statistics = &mut kernel.statistics;
        statistics.operations.senses += u64::from(step.hard) + u64::from(step.unsent_sensings);
        statistics.operations.known_cell_reads += u64::from(step.known_cells);
        statistics.operations.extra_levels_sensed += u64::from(step.extra_levels);
        statistics.operations.search_sensings += u64::from(step.search_sensings);
        statistics.energy.sense += hard;
        statistics.energy.sense_extra_levels += extra;
        let op = &mut self.reads.reads[read];
        op.energy += hard + extra;
        // `sensings` says how often each page of the read was sensed, so one page is counted.
        if member == op.order.group.first() {
            op.sensings += u32::from(step.hard) + u32::from(step.unsent_sensings);
            op.sensings += u32::from(step.extra_levels) + u32::from(step.search_sensings);
        }
    }

    /// Time for which a page is sensed for a step.
    #[inline]
    pub(super) fn sense_time(&self, read: ReadId, member: u32, step: Step) -> Ns {
        let Read { page_type, order: ReadOrder { group, .. }, .. } = self.reads.reads[read];
        if step.known_cells {
            // Known cells are read from a page of the first type that shows them.
            let page_type = self.shows_known_cells.iter().position(|&shows| shows);
            return self.timing.page_types[page_type.unwrap_or(0)].of(step);
        }
        // Interleaved pages are all of one type; pages that a unit crosses are not.
        let one = member == 0 || self.geometry.ways() > 1;
        let page_type = if one {
            page_type
        } else {
            self.geometry.page_type_of(self.geometry.turn(group.page, member).1, group.slc())
        };
        self.timing.sensing(page_type, step, number_of(group, member))
    }

    /// Handles an event of a unit's array: the end of what it was at, or an instant at which suspending is considered.
    #[inline]
    pub(in super::super) fn array_done(&mut self, kernel: &mut Kernel, unit: Unit, key: Key) -> Ended {
        if !self.array.ends_with(unit, key) {
            if self.array.considers_suspending(unit, key) {
                self.make_way(kernel, unit);
            }
            return Ended::Nothing;
        }
        let of = self.array.of(unit);
        match self.array.phase(unit) {
            Phase::Sensing => {
                self.array.command(kernel.now, unit, Command::End, of);
                self.sensed(kernel, unit, of);
                Ended::Nothing
            }
            Phase::SensingAhead => {
                self.array.command(kernel.now, unit, Command::End, of);
                Ended::Nothing
            }
            Phase::Programming => {
                let (program, _) = self.reads.of_part(of);
                let Program { group, owner, remaining, fails, .. } = &mut self.programs[program];
                *remaining -= 1;
                if *remaining > 0 {
                    return Ended::Page;
                }
                let ended = Ended::Program { owner: *owner, group: *group, failed: *fails };
                self.programs.remove(program);
                ended
            }
            Phase::Erasing => Ended::Erase { superblock: Superblock(of) },
            Phase::Suspending | Phase::Resetting => Ended::Page,
            phase => unreachable!("{phase:?} ends with no array event"),
        }
    }

    /// Frees the array of a unit whose operation has ended, and begins the next work.
    pub(in super::super) fn release(&mut self, kernel: &mut Kernel, unit: Unit) {
        self.array.command(kernel.now, unit, Command::End, NONE);
        self.next_work(kernel, unit);
    }

    /// Frees the array of a unit whose page has left it, and begins the next work.
    #[inline]
    pub(super) fn leave_array(&mut self, kernel: &mut Kernel, unit: Unit) {
        self.array.command(kernel.now, unit, Command::Leave, NONE);
        self.next_work(kernel, unit);
    }

    #[inline]
    fn next_work(&mut self, kernel: &mut Kernel, unit: Unit) {
        if self.rounds.is_some() {
            return self.next_round(kernel, unit);
        }
        // The page that is loaded has a register of its own, where it stays while the program before it is suspended.
        if self.cache_program && self.array.suspended_since(unit).is_none() && self.program_loaded(kernel, unit) {
            return;
        }
        let suspended = self.timing.suspend.and_then(|suspend| Some((suspend, self.array.suspended_since(unit)?)));
        // After so long a suspension the operation resumes, even if reads wait.
        let has_rested = |(suspend, since): (SuspendTiming, Ns)| kernel.now - since >= suspend.longest;
        let next = if suspended.is_some_and(has_rested) { None } else { self.array.next(kernel.now, unit) };
        if let Some(work) = next {
            self.begin(kernel, unit, work);
        } else if let Some((suspend, _)) = suspended {
            self.array.resume(kernel, unit, suspend.resume);
            self.make_way(kernel, unit);
        }
    }

    /// The step that a read makes next if the present one fails. None where that step is not known yet, or nothing is to be sensed ahead.
    fn step_ahead(&mut self, kernel: &mut Kernel, read: ReadId) -> Option<Step> {
        let entry = &self.reads.reads[read];
        let own_looks_ahead = self.own.as_ref().is_some_and(|own| own.looks_ahead());
        let looks_ahead = own_looks_ahead || self.spec.looks_ahead(entry.attempts - entry.known_cell_reads);
        if entry.ahead.is_some() || !looks_ahead {
            return entry.ahead;
        }
        let step = entry.step;
        // The die counts the ones that it senses, so it knows the inferred references before the decode.
        let counts_ones = self.spec.infers_by == Some(InferredBy::ShareOfOnes) && step.level == 1;
        if counts_ones && self.reads_as_configured(read) {
            let fate = self.reads.first_fate(read);
            let inferred = self.reliability.inferred(fate, InferredBy::ShareOfOnes, step.references);
            self.reads.reads[read].history.infer(inferred);
        }
        let entry = &self.reads.reads[read];
        let ahead = match self.own {
            None => self.spec.ahead(&entry.history, step),
            Some(_) => self.own_step_ahead(kernel, read),
        };
        self.reads.reads[read].ahead = ahead;
        ahead
    }

    /// Starts the transfers of a page that has been sensed. Where there is a cache register, the page goes there first, if the register is
    /// empty.
    pub(super) fn sensed(&mut self, kernel: &mut Kernel, unit: Unit, part: u32) {
        self.reads.part_mut(part).sensed_at = kernel.now;
        if !self.cache_register {
            self.start_transfers(kernel, part);
        } else if self.array.register_is_empty(unit) {
            self.latch(kernel, unit, part);
        }
    }

    /// Puts a page into the cache register and starts its transfers. The array is then free to look ahead, or for other work, unless the
    /// config has the register for looking ahead alone (`flash.cache_register_for`).
    pub(super) fn latch(&mut self, kernel: &mut Kernel, unit: Unit, part: u32) {
        self.array.set_register(unit, part);
        self.start_transfers(kernel, part);
        let (read, member) = self.reads.of_part(part);
        if self.may_look_ahead
            && self.array.waiting(unit) == 0
            && let Some(next) = self.step_ahead(kernel, read)
        {
            self.count_sensing(kernel, read, member, next);
            let duration = self.sense_time(read, member, next);
            self.reads.part_mut(part).looking_ahead = true;
            kernel.statistics.operations.look_ahead_senses += 1;
            self.array.command(kernel.now, unit, Command::Leave, NONE);
            self.array.take(kernel.now, unit, self.taken_by_read(read));
            self.array.run(kernel, unit, Command::SenseAhead, part, duration);
        } else if !self.registers_for_look_ahead {
            self.leave_array(kernel, unit);
        }
    }
}

/// Two numbers that identify the page of a member of a group; the spread of its sensing time is drawn by them.
fn number_of(group: Group, member: u32) -> (u64, u64) {
    (u64::from(group.set) << 32 | u64::from(group.superblock), u64::from(group.page) << 8 | u64::from(member))
}
