//! Rounds: busy units that begin together, and wait for one another.
//!
//! A round begins when all of its units are free. Each unit takes one of the operations that wait for it: the one whose turn it would be
//! without rounds, or, where a round is of a batch, one that is left of the batch. A round waits for what its units have begun, which waits
//! for buses and decoders as ever, and for no unit. So waiting keeps its one direction.
//!
//! A multi-plane command is a round of planes of one die. The planes of a round lead in turn: the operation of the leader determines which
//! others fit beside it. Where planes read by themselves, only programs and erases are rounds. Such a round begins when no plane is at a
//! read, and planes begin no read while it waits. The command stops as a whole for reads, and goes on as a whole.

use std::ops::Range;

use softsense_base::Ns;
use softsense_config::geometry::Geometry;
use softsense_config::ids::{Die, TiVec, Unit};
use softsense_config::spec::{RoundsReads, RoundsSpec, RoundsTake};
use softsense_ftl::Group;

use super::super::kernel::Kernel;
use super::array::{Taken, TakenBy, Taker, Turn, Work};
use super::phase::Phase;
use super::timing::SuspendTiming;
use super::{BackEnd, Program};

/// The groups of units that begin together, and what is left of their batches.
#[derive(Debug)]
pub(super) struct Rounds {
    /// Units that begin together.
    units: u32,
    /// The instant at which the last round of each such group began.
    began: Vec<Ns>,
    /// Operations of the present batch that have not begun, for each unit. None where a round takes what there is.
    left: Option<TiVec<Unit, Left>>,
    /// Multi-plane commands, where rounds are such commands.
    commands: Option<Commands>,
}

/// Units that begin together.
type Units = std::iter::Map<Range<u32>, fn(u32) -> Unit>;

fn first_unit(units: &Units) -> Unit {
    units.clone().next().expect("a group has units")
}

/// Multi-plane commands.
#[derive(Debug)]
struct Commands {
    any_page: bool,
    /// Whether a command of each group waits for the reads under way, so that no other read begins. None unless planes read by themselves.
    wanted: Option<Vec<bool>>,
    /// The command of each group whose pages are loaded while another command programs.
    ahead: Vec<Option<MultiPlane>>,
    /// Whether units of a command are being told one after the other, so that the command cannot stop yet.
    beginning: bool,
    /// The command under way in each group, and the position in the group of the unit that leads next.
    under_way: Vec<Option<MultiPlane>>,
    leads_next: Vec<u32>,
}

/// The properties that the operations of one command have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MultiPlane {
    die: Die,
    operation: Operation,
    /// Whether the cells of the pages or blocks hold one bit.
    slc: bool,
    /// The number of the page in its block; none where it does not matter.
    page: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Read,
    Program,
    Copy,
    Erase,
}

#[derive(Debug, Clone, Copy, Default)]
struct Left {
    reads: usize,
    others: usize,
}

impl Rounds {
    /// None where units do not wait for one another.
    pub(super) fn new(spec: Option<RoundsSpec>, geometry: &Geometry) -> Option<Self> {
        let spec = spec?;
        let (all, units) = (geometry.busy_units(), geometry.busy_units_per_round());
        Some(Self {
            units,
            began: vec![Ns::ZERO; (all / units) as usize],
            left: (spec.take == RoundsTake::Batch).then(|| vec![Left::default(); all as usize].into()),
            commands: spec.take.is_multi_plane().then(|| Commands {
                any_page: spec.take == RoundsTake::MultiPlaneAnyPage,
                wanted: (spec.reads == RoundsReads::Independent).then(|| vec![false; (all / units) as usize]),
                ahead: vec![None; (all / units) as usize],
                beginning: false,
                under_way: vec![None; (all / units) as usize],
                leads_next: vec![0; (all / units) as usize],
            }),
        })
    }

    /// The units that begin together with a unit, that unit included.
    fn with(&self, unit: Unit) -> Units {
        let first = unit.0 / self.units * self.units;
        (first..first + self.units).map(Unit)
    }

    /// The number of the group of a unit.
    fn group_of(&self, unit: Unit) -> usize {
        (unit.0 / self.units) as usize
    }

    /// Whether a command waits for the reads of a group; none where reads are part of rounds.
    fn wanted(&self, unit: Unit) -> Option<bool> {
        Some(self.commands.as_ref()?.wanted.as_ref()?[self.group_of(unit)])
    }

    fn want(&mut self, unit: Unit, wanted: bool) {
        let group = self.group_of(unit);
        if let Some(of) = self.commands.as_mut().and_then(|commands| commands.wanted.as_mut()) {
            of[group] = wanted;
        }
    }
}

impl BackEnd {
    /// Whether work for a free unit may begin now: no other unit of its round is busy, or the others have begun at this very instant. Work
    /// that comes while a batch is served waits for the next batch.
    #[inline]
    pub(super) fn may_begin(&mut self, now: Ns, unit: Unit, work: Work, turn: Turn) -> bool {
        let Some(rounds) = &self.rounds else { return true };
        match (rounds.wanted(unit), work) {
            (Some(_), Work::Read(_)) => {
                let begins = self.reads_by_itself(now, unit, turn);
                if begins && self.array.waiting(unit) > 0 {
                    // The work that the read overtakes has waited for another plane up to now.
                    self.taken(now, unit);
                }
                begins
            }
            _ => self.joins_round(now, unit, work),
        }
    }

    /// Whether a plane that reads by itself may begin a read that comes now.
    fn reads_by_itself(&self, now: Ns, unit: Unit, turn: Turn) -> bool {
        let is_next = turn != Turn::Other || self.array.waiting(unit) == 0;
        self.array.phase(unit) == Phase::Free && is_next && self.may_read(now, unit, turn)
    }

    /// Whether planes of a die that read by themselves may begin reads: the die is at no program or erase, or its command is suspended, and
    /// no command waits for its turn. Retries do not wait for such a command.
    fn may_read(&self, now: Ns, unit: Unit, turn: Turn) -> bool {
        let rounds = self.rounds.as_ref().expect("units wait for one another");
        if rounds.with(unit).any(|unit| self.is_at_command(unit)) {
            return false;
        }
        match (self.round_rests_since(unit), self.timing.suspend) {
            (Some(since), Some(suspend)) => turn != Turn::Other && now - since < suspend.longest,
            _ => turn == Turn::Retry || rounds.wanted(unit) == Some(false),
        }
    }

    /// Whether a unit is at a program or an erase.
    fn is_at_command(&self, unit: Unit) -> bool {
        let at = self.array.taken_by(unit).0;
        self.array.phase(unit) != Phase::Free
            && matches!(at, TakenBy::HostPrograms | TakenBy::BackgroundPrograms | TakenBy::Erases)
    }

    /// The instant at which the command of a round was suspended; none where it is not.
    fn round_rests_since(&self, unit: Unit) -> Option<Ns> {
        let rounds = self.rounds.as_ref().expect("units wait for one another");
        rounds.with(unit).filter_map(|unit| self.array.suspended_since(unit)).min()
    }

    fn joins_round(&mut self, now: Ns, unit: Unit, work: Work) -> bool {
        if self.round_rests_since(unit).is_some() {
            return false;
        }
        let command = self.multi_plane(unit, work);
        let rounds = self.rounds.as_mut().expect("units wait for one another");
        let group = rounds.group_of(unit);
        let fits = rounds.commands.as_ref().is_none_or(|commands| commands.under_way[group] == command);
        let joins = rounds.left.is_none() && rounds.began[group] == now && self.array.waiting(unit) == 0 && fits;
        let all_free = rounds.with(unit).all(|unit| self.array.phase(unit) == Phase::Free);
        if joins || all_free {
            rounds.began[group] = now;
            if let Some(commands) = &mut rounds.commands {
                commands.under_way[group] = command;
            }
        }
        joins || all_free
    }

    /// The multi-plane command that an operation is a part of; none where there are no such commands.
    fn multi_plane(&self, unit: Unit, work: Work) -> Option<MultiPlane> {
        let commands = self.rounds.as_ref()?.commands.as_ref()?;
        let of_member = |group: Group, member| (group.slc(), Some(self.geometry.turn(group.page, member).1));
        let (operation, (slc, page)) = match work {
            Work::Read(part) => {
                let (read, member) = self.reads.of_part(part);
                (Operation::Read, of_member(self.reads.reads[read].order.group, member))
            }
            Work::Program(part) => {
                let (program, member) = self.reads.of_part(part);
                let Program { group, copies, .. } = self.programs[program];
                (if copies.is_some() { Operation::Copy } else { Operation::Program }, of_member(group, member))
            }
            Work::Erase { slc, .. } => (Operation::Erase, (slc, None)),
        };
        let page = page.filter(|_| !commands.any_page);
        Some(MultiPlane { die: self.geometry.die_of_unit(unit), operation, slc, page })
    }

    /// Chooses the next command of a group of free units, and the class of work whose turn it is: the work that waits first in that class
    /// for the unit that leads. While a command is suspended, only reads and retries that go first have a turn; where planes read by
    /// themselves, none has.
    fn next_command(&mut self, units: Units) -> Option<(MultiPlane, Turn)> {
        let rounds = self.rounds.as_ref()?;
        let first = first_unit(&units);
        let (count, group) = (rounds.units, rounds.group_of(first));
        let leads_next = rounds.commands.as_ref()?.leads_next[group];
        let reads_alone = rounds.wanted(first).is_some();
        let turns: &[Turn] = match (reads_alone, self.round_rests_since(first).is_some()) {
            (true, true) => &[],
            (true, false) => &[Turn::Other],
            (false, true) => &[Turn::Retry, Turn::Read],
            (false, false) => &[Turn::Retry, Turn::Read, Turn::Other],
        };
        let first_of = |turn| {
            let heads = (0..count).map(|offset| (leads_next + offset) % count);
            let heads =
                heads.filter_map(|at| Some((at, turn, self.array.waiting_works(Unit(first.0 + at), turn).next()?)));
            let heads = heads.filter(|&(_, _, work)| !reads_alone || !matches!(work, Work::Read(_)));
            // If a program is first at the plane whose turn it is to lead, the oldest program of the group leads. So planes whose pages
            // came at different instants are soon at the same page.
            heads.min_by_key(|&(at, _, work)| match work {
                Work::Program(part) => self.programs[self.reads.of_part(part).0].number,
                Work::Read(_) | Work::Erase { .. } if at == leads_next => 0,
                Work::Read(_) | Work::Erase { .. } => u64::MAX,
            })
        };
        let (leader, turn, work) = turns.iter().copied().find_map(first_of)?;
        let command = self.multi_plane(Unit(first.0 + leader), work)?;
        let commands = self.rounds.as_mut()?.commands.as_mut()?;
        commands.under_way[group] = Some(command);
        commands.leads_next[group] = (leader + 1) % count;
        Some((command, turn))
    }

    /// Time for which a unit has been taken up to now, by kind of operation and by cause. A free unit counts as taken by what other units
    /// of its round are at.
    #[inline]
    pub(super) fn taken(&mut self, now: Ns, unit: Unit) -> Taken {
        if let Some(rounds) = &self.rounds
            && self.array.phase(unit) == Phase::Free
            && let Some(busy) = rounds.with(unit).find(|&unit| self.array.phase(unit) != Phase::Free)
        {
            let reads_alone = rounds.wanted(unit).is_some();
            let at_command = rounds.with(unit).find(|&unit| reads_alone && self.is_at_command(unit));
            let by = self.array.taken_by(at_command.unwrap_or(busy));
            if reads_alone && self.array.waiting(unit) == 0 {
                self.array.take(now, unit, by);
            } else {
                self.array.waited(now, unit, by);
            }
        }
        self.array.taken(now, unit)
    }

    /// Begins the next round of a free unit if all units of the round are free.
    pub(super) fn next_round(&mut self, kernel: &mut Kernel, unit: Unit) {
        let rounds = self.rounds.as_ref().expect("units wait for one another");
        let (units, group, reads_alone) = (rounds.with(unit), rounds.group_of(unit), rounds.wanted(unit).is_some());
        let ended = self.array.taken_by(unit);
        if reads_alone {
            self.begin_reads(kernel, units.clone(), ended);
            self.wants_command(unit);
        }
        if units.clone().any(|unit| self.array.phase(unit) != Phase::Free) {
            return;
        }
        let rests_since = self.round_rests_since(unit);
        if rests_since.is_none() && self.program_what_is_loaded(kernel, units.clone(), ended) {
            return;
        }
        let has_rested =
            |suspend: SuspendTiming| rests_since.is_some_and(|since| kernel.now - since >= suspend.longest);
        let reads = self.begin_round_of_batch(units.clone());
        let command = if self.timing.suspend.is_some_and(has_rested) { None } else { self.next_command(units.clone()) };
        if command.is_none() && rests_since.is_some() {
            return self.resume_round(kernel, units, ended);
        }
        self.begin_together(kernel, units, |back_end, kernel, unit| {
            back_end.account_wait_for_round(kernel.now, unit, ended);
            let next = match command {
                Some((command, turn)) => back_end.next_of_command(unit, command, turn),
                None => back_end.next_of_round(kernel.now, unit, reads),
            };
            if let Some(work) = next {
                back_end.rounds.as_mut().expect("as before").began[group] = kernel.now;
                back_end.begin(kernel, unit, work);
            }
        });
    }

    /// Accounts for a unit that was free as waited for, up to now, like the unit whose operation has just ended.
    fn account_wait_for_round(&mut self, now: Ns, unit: Unit, ended: Taker) {
        let reads_alone = self.rounds.as_ref().is_some_and(|rounds| rounds.wanted(unit).is_some());
        if !reads_alone || self.array.waiting(unit) > 0 {
            self.array.waited(now, unit, ended);
        }
    }

    /// Tells free units one after the other what to do together, and only then decides whether the command stops for reads.
    fn begin_together(
        &mut self,
        kernel: &mut Kernel,
        units: Units,
        mut begin: impl FnMut(&mut Self, &mut Kernel, Unit),
    ) {
        self.rounds.as_mut().expect("units wait for one another").want(first_unit(&units), false);
        self.are_beginning(true);
        units.clone().for_each(|unit| begin(self, kernel, unit));
        self.are_beginning(false);
        self.make_way(kernel, first_unit(&units));
        units.for_each(|unit| self.load_ahead(kernel, unit));
    }

    fn are_beginning(&mut self, beginning: bool) {
        if let Some(commands) = self.rounds.as_mut().and_then(|rounds| rounds.commands.as_mut()) {
            commands.beginning = beginning;
        }
    }

    /// Begins the reads that planes which read by themselves may begin.
    fn begin_reads(&mut self, kernel: &mut Kernel, units: Units, ended: Taker) {
        for unit in units {
            if self.array.phase(unit) != Phase::Free {
                continue;
            }
            let first = |turn| Some((turn, self.array.waiting_works(unit, turn).next()?));
            let next = [Turn::Retry, Turn::Read, Turn::Other].into_iter().find_map(first);
            if let Some((turn, work @ Work::Read(_))) = next
                && self.may_read(kernel.now, unit, turn)
            {
                self.array.waited(kernel.now, unit, ended);
                self.array.remove(unit, turn, 0);
                self.begin(kernel, unit, work);
            }
        }
    }

    /// Lets no plane of a die begin another read if a program or an erase has its turn, where planes read by themselves. A read that goes
    /// first, and waits already, still goes before that command.
    pub(super) fn wants_command(&mut self, unit: Unit) {
        let Some(rounds) = self.rounds.as_ref().filter(|rounds| rounds.wanted(unit) == Some(false)) else { return };
        let mut units = rounds.with(unit);
        let go_first = |unit| self.array.waiting_for(unit, Turn::Retry) + self.array.waiting_for(unit, Turn::Read) > 0;
        let has_turn = |unit| {
            let head = self.array.waiting_works(unit, Turn::Other).next();
            self.array.phase(unit) == Phase::Free && head.is_some_and(|work| !matches!(work, Work::Read(_)))
        };
        let is_open = |unit| !go_first(unit) && !self.is_at_command(unit) && self.array.suspended_since(unit).is_none();
        if units.clone().all(is_open) && units.any(has_turn) {
            self.rounds.as_mut().expect("as before").want(unit, true);
        }
    }

    /// Loads the next page while a unit programs, if the page is of the command that comes next: that of the oldest program.
    pub(super) fn load_ahead_in_round(&mut self, kernel: &mut Kernel, unit: Unit) {
        let rounds = self.rounds.as_ref().expect("units wait for one another");
        let (units, group) = (rounds.with(unit), rounds.group_of(unit));
        let Some(commands) = rounds.commands.as_ref().filter(|commands| !commands.beginning) else { return };
        if self.array.phase(unit) != Phase::Programming {
            return;
        }
        let to_load = |unit| match self.array.waiting_works(unit, Turn::Other).next() {
            Some(Work::Program(part)) => {
                let Program { number, copies, .. } = self.programs[self.reads.of_part(part).0];
                copies.is_none().then_some((number, unit, Work::Program(part)))
            }
            _ => None,
        };
        let oldest = || units.filter_map(to_load).min_by_key(|&(number, ..)| number);
        let ahead = commands.ahead[group].or_else(|| oldest().and_then(|(_, unit, work)| self.multi_plane(unit, work)));
        let fits = to_load(unit).is_some_and(|(_, unit, work)| self.multi_plane(unit, work) == ahead);
        if !fits {
            return;
        }
        if let Some(part) = self.array.load_next(kernel.now, unit, |_| true) {
            let rounds = self.rounds.as_mut().expect("as before");
            rounds.want(unit, true);
            rounds.commands.as_mut().expect("as before").ahead[group] = ahead;
            self.request_page(kernel, part);
        }
    }

    /// Begins the command whose pages are loaded, or being loaded, with the pages that fit beside them. Returns whether there is one.
    fn program_what_is_loaded(&mut self, kernel: &mut Kernel, units: Units, ended: Taker) -> bool {
        let Some(rounds) = self.rounds.as_mut().filter(|_| self.cache_program) else { return false };
        let group = rounds.group_of(first_unit(&units));
        let Some(commands) = &mut rounds.commands else { return false };
        let Some(command) = commands.ahead[group].take() else { return false };
        commands.under_way[group] = Some(command);
        rounds.began[group] = kernel.now;
        self.begin_together(kernel, units, |back_end, kernel, unit| {
            back_end.account_wait_for_round(kernel.now, unit, ended);
            if !back_end.program_loaded(kernel, unit)
                && let Some(work) = back_end.next_of_command(unit, command, Turn::Other)
            {
                back_end.begin(kernel, unit, work);
            }
        });
        true
    }

    /// Suspends a command as a whole for reads that wait for any of its planes, by the rules for the program of one plane.
    pub(super) fn suspend_round(&mut self, kernel: &mut Kernel, unit: Unit, suspend: SuspendTiming) {
        let rounds = self.rounds.as_ref().expect("units wait for one another");
        let units = rounds.with(unit);
        let is_beginning = rounds.commands.as_ref().is_some_and(|commands| commands.beginning);
        let runs = |unit: &Unit| matches!(self.array.phase(*unit), Phase::Programming | Phase::Erasing);
        let is_told = units.clone().any(|unit| self.is_at_command(unit) && !runs(&unit));
        let Some(last) = units.clone().filter(runs).max_by_key(|&unit| self.array.ends_at(unit)) else { return };
        let waits = |unit| self.array.waiting_reads(unit).any(|work| self.is_hurried(kernel.now, work));
        if is_beginning || is_told || !units.clone().any(waits) {
            return;
        }
        let usual = if self.array.phase(last) == Phase::Erasing { suspend.erase } else { suspend.program };
        let runs_of = || units.clone().filter(runs).map(|unit| self.array.run_of(unit));
        let suspensions = runs_of().map(|(_, suspensions)| suspensions).max().unwrap_or(0);
        let runs_since = runs_of().map(|(since, _)| since).max().unwrap_or(kernel.now);
        let Some(duration) = self.timing.stopping(usual, last, (runs_since, suspensions), self.writes_wait) else {
            return;
        };
        let earliest = kernel.now.max(runs_since + suspend.least_run);
        if suspensions >= suspend.most || earliest + duration >= self.array.ends_at(last) {
            return;
        }
        if earliest > kernel.now {
            return self.array.consider_suspending(kernel, last, earliest - kernel.now);
        }
        for unit in units {
            let runs = matches!(self.array.phase(unit), Phase::Programming | Phase::Erasing);
            // A plane that ends its part before it could stop has nothing to suspend.
            if runs && kernel.now + duration < self.array.ends_at(unit) {
                kernel.statistics.operations.suspensions += 1;
                self.array.suspend(kernel, unit, duration);
            }
        }
    }

    /// Resumes the command of a round in all planes that have not ended their part.
    fn resume_round(&mut self, kernel: &mut Kernel, units: Units, ended: Taker) {
        let suspend = self.timing.suspend.expect("something has been suspended");
        for unit in units.clone() {
            self.account_wait_for_round(kernel.now, unit, ended);
            if self.array.suspended_since(unit).is_some() {
                self.array.resume(kernel, unit, suspend.resume);
            }
        }
        self.make_way(kernel, first_unit(&units));
    }

    /// Whether the next round of a batch is one of reads that go first; none where there are no batches. When nothing is left of a batch,
    /// all work that waits is the next batch.
    fn begin_round_of_batch(&mut self, units: Units) -> Option<bool> {
        let left = self.rounds.as_mut()?.left.as_mut()?;
        if units.clone().all(|unit| left[unit].reads + left[unit].others == 0) {
            for unit in units.clone() {
                let count = |turn| self.array.waiting_for(unit, turn);
                left[unit] = Left { reads: count(Turn::Read), others: count(Turn::Other) };
            }
        }
        let reads = |unit| self.array.waiting_for(unit, Turn::Retry) + left[unit].reads > 0;
        Some(units.clone().any(reads))
    }

    /// Number of operations of a unit that do not go first, and have yet to begin in the present batch.
    pub(super) fn left_of_batch(&self, unit: Unit) -> usize {
        let left = self.rounds.as_ref().and_then(|rounds| rounds.left.as_ref());
        left.map_or(0, |left| left[unit].others)
    }

    /// Takes the work of a unit that fits a command. Reads that go first may overtake one another. Other work may not: pages of a block are
    /// programmed in order, and reads of data on its way wait for its program.
    fn next_of_command(&mut self, unit: Unit, command: MultiPlane, turn: Turn) -> Option<Work> {
        let looked_at = if turn == Turn::Other { 1 } else { usize::MAX };
        let fits = |work| self.multi_plane(unit, work) == Some(command);
        let at = self.array.waiting_works(unit, turn).take(looked_at).position(fits)?;
        self.array.remove(unit, turn, at)
    }

    fn next_of_round(&mut self, now: Ns, unit: Unit, reads: Option<bool>) -> Option<Work> {
        let Some(left) = self.rounds.as_mut().and_then(|rounds| rounds.left.as_mut()) else {
            return self.array.next(now, unit);
        };
        let left = &mut left[unit];
        let (of_batch, turn) = if reads == Some(true) {
            if let Some(retry) = self.array.pop(unit, Turn::Retry) {
                return Some(retry);
            }
            (&mut left.reads, Turn::Read)
        } else {
            (&mut left.others, Turn::Other)
        };
        *of_batch = of_batch.checked_sub(1)?;
        self.array.pop(unit, turn)
    }
}
