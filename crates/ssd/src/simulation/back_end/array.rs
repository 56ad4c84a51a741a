//! Planes, or dies whose planes take turns: each does one array operation at a time.
//!
//! The table [`Phase::after`](super::phase::Phase::after) says which command an array accepts in which phase. A unit serves waiting retries
//! first, then hurried reads, then other work; within a class it is first come, first served. A schedule, where there is one, holds all
//! waiting work but retries, and chooses which goes next.

use std::collections::VecDeque;

use softsense_base::Ns;
use softsense_config::ids::{Superblock, TiVec, Unit};

use super::super::kernel::Kernel;
use super::super::owners::Cause;
use super::super::statistics::{TimesTaken, place_of};
use super::phase::{Command, Phase};
use super::schedule::Schedule;
use crate::events::{Event, Key, instant, moved_to};

pub(super) const NONE: u32 = u32::MAX;

/// An operation that waits for a busy unit, or that the unit does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// A part of a read.
    Read(u32),
    /// A part of a program, numbered like those of reads.
    Program(u32),
    /// The erase of one of the blocks of a superblock: whether its cells hold one bit, whether the erase fails, and its cause.
    Erase { superblock: Superblock, slc: bool, fails: bool, cause: Cause },
}

/// The class of work that waits. Classes are served in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// Retries of any owner: part of what they need has been read already.
    Retry,
    /// Reads that go before other work.
    Read,
    Other,
}

/// The kind of operation that takes an array, by whether it is done for the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum TakenBy {
    #[default]
    HostReads,
    BackgroundReads,
    HostPrograms,
    BackgroundPrograms,
    Erases,
}

/// The kind and the cause of the operation that takes an array.
pub(super) type Taker = (TakenBy, Cause);

/// Time for which an array was taken: by each kind of [`TakenBy`], and once more by each cause but the host.
pub(super) type Taken = TimesTaken;

/// Adds time for which an array was taken to the kind and the cause of the operation that took it.
#[inline]
fn credit(taken: &mut Taken, (by, cause): Taker, passed: Ns) {
    taken[by as usize] += passed;
    if let Some(index) = place_of(cause) {
        taken[index] += passed;
    }
}

/// A program or an erase that is suspended for reads.
#[derive(Debug, Clone, Copy)]
struct Suspended {
    /// The command that resumes the operation; and the part of a program, or the superblock, that it is for.
    resume: Command,
    of: u32,
    by: Taker,
    since: Ns,
    /// Time that the operation has yet to run.
    left: Ns,
}

/// A page that is to be programmed when the array has ended its present program.
#[derive(Debug, Clone, Copy)]
pub(super) struct NextProgram {
    pub(super) part: u32,
    /// Whether the whole page has crossed the bus.
    pub(super) loaded: bool,
}

/// A plane, or a die whose planes take turns. Fields are laid out as written: those that most events change are in the first line of the
/// CPU's caches, and those that few devices use are in the last ones.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct UnitState {
    /// The event that ends the operation of the array. An operation that was cut short leaves an event behind, which differs from this one.
    ends: Key,
    phase: Phase,
    /// Kind and cause of the operation that takes the unit, or that took it last.
    by: Taker,
    /// The part of a read or of a program, or the superblock, that the array is at.
    of: u32,
    /// The part of a read whose page is in the cache register, waiting for the bus or on it.
    register: u32,
    busy_since: Ns,
    busy: Ns,
    /// The instant up to which the time of the unit is accounted for in `taken`.
    counted_until: Ns,
    /// Time for which the unit was taken until then, by kind of operation and by cause.
    taken: Taken,
    retries: VecDeque<Work>,
    reads: VecDeque<Work>,
    others: VecDeque<Work>,
    suspended: Option<Suspended>,
    /// The run of the program or erase that the unit is at: its beginning, its whole duration and the number of its suspensions. Then the
    /// event at which it may be suspended, 0 unless a read waits for it.
    runs_since: Ns,
    whole: Ns,
    suspensions: u32,
    may_suspend: Key,
    /// The part of a program whose page is loaded, or being loaded, while the array programs another.
    next_program: Option<NextProgram>,
}

impl Default for UnitState {
    fn default() -> Self {
        Self {
            phase: Phase::Free,
            of: NONE,
            register: NONE,
            ends: 0,
            suspended: None,
            next_program: None,
            runs_since: Ns::ZERO,
            suspensions: 0,
            may_suspend: 0,
            whole: Ns::ZERO,
            retries: VecDeque::new(),
            reads: VecDeque::new(),
            others: VecDeque::new(),
            busy_since: Ns::ZERO,
            busy: Ns::ZERO,
            by: Taker::default(),
            counted_until: Ns::ZERO,
            taken: Taken::default(),
        }
    }
}

impl UnitState {
    #[inline]
    fn count(&mut self, now: Ns) {
        credit(&mut self.taken, self.by, now - self.counted_until);
        self.counted_until = now;
    }

    #[inline]
    fn queue(&mut self, turn: Turn) -> &mut VecDeque<Work> {
        match turn {
            Turn::Retry => &mut self.retries,
            Turn::Read => &mut self.reads,
            Turn::Other => &mut self.others,
        }
    }

    fn waiting(&self, turn: Turn) -> &VecDeque<Work> {
        match turn {
            Turn::Retry => &self.retries,
            Turn::Read => &self.reads,
            Turn::Other => &self.others,
        }
    }
}

/// All busy units, and the schedule of the work that waits for them.
#[derive(Debug)]
pub(super) struct Array {
    units: TiVec<Unit, UnitState>,
    pub(super) schedule: Option<Box<Schedule>>,
    /// Time for which all units together had been taken, by kind and by cause, before they counted anew.
    taken_before: Taken,
}

impl Array {
    pub(super) fn new(units: u32, schedule: Option<Box<Schedule>>) -> Self {
        Self { units: (0..units).map(|_| UnitState::default()).collect(), schedule, taken_before: Taken::default() }
    }

    #[inline]
    pub(super) fn phase(&self, unit: Unit) -> Phase {
        self.units[unit].phase
    }

    /// The part of a read or of a program, or the superblock, that the array is at.
    #[inline]
    pub(super) fn of(&self, unit: Unit) -> u32 {
        self.units[unit].of
    }

    /// Notes the operation that is about to take a free unit.
    #[inline]
    pub(super) fn take(&mut self, now: Ns, unit: Unit, by: Taker) {
        let entry = &mut self.units[unit];
        debug_assert_eq!(entry.phase, Phase::Free);
        (entry.by, entry.counted_until) = (by, now);
    }

    /// Time for which a unit has been taken up to now, by kind of operation and by cause. If the unit is busy all the while between two
    /// instants, the differences tell what an operation waited for between them.
    #[inline]
    pub(super) fn taken(&mut self, now: Ns, unit: Unit) -> Taken {
        let entry = &mut self.units[unit];
        if entry.phase != Phase::Free {
            entry.count(now);
        }
        entry.taken
    }

    /// Kind and cause of the operation that takes a unit, or that took it last.
    pub(super) fn taken_by(&self, unit: Unit) -> Taker {
        self.units[unit].by
    }

    /// Accounts for a free unit as if an operation had taken it up to now, because work has waited for it.
    pub(super) fn waited(&mut self, now: Ns, unit: Unit, by: Taker) {
        let entry = &mut self.units[unit];
        debug_assert_eq!(entry.phase, Phase::Free);
        entry.by = by;
        entry.count(now);
    }

    /// Gives a command to a unit; `of` is the part or the superblock that it is for.
    #[inline(always)]
    pub(super) fn command(&mut self, now: Ns, unit: Unit, command: Command, of: u32) {
        let entry = &mut self.units[unit];
        let Some(next) = entry.phase.after(command) else {
            unreachable!("{command:?} to an array in phase {:?}", entry.phase)
        };
        if entry.phase == Phase::Free {
            entry.busy_since = now;
        } else if next == Phase::Free {
            entry.busy += now - entry.busy_since;
            entry.count(now);
        }
        (entry.phase, entry.of) = (next, of);
    }

    /// Gives a command that takes `duration`.
    #[inline(always)]
    pub(super) fn run(&mut self, kernel: &mut Kernel, unit: Unit, command: Command, of: u32, duration: Ns) {
        self.command(kernel.now, unit, command, of);
        let entry = &mut self.units[unit];
        entry.ends = kernel.schedule(duration, Event::ArrayDone { unit });
        if let Command::Program | Command::Erase = command {
            (entry.runs_since, entry.suspensions, entry.whole) = (kernel.now, 0, duration);
        }
    }

    /// Suspends the program or erase that a unit is at; stopping takes `duration`.
    pub(super) fn suspend(&mut self, kernel: &mut Kernel, unit: Unit, duration: Ns) {
        let left = self.ends_at(unit) - kernel.now;
        let entry = &mut self.units[unit];
        let resume = if entry.phase == Phase::Erasing { Command::ResumeErase } else { Command::ResumeProgram };
        let (of, by) = (entry.of, entry.by);
        entry.suspended = Some(Suspended { resume, of, by, since: kernel.now, left });
        entry.suspensions += 1;
        self.run(kernel, unit, Command::Suspend, of, duration);
    }

    /// Resumes what was suspended: it runs for the time that it had left, and for `longer`.
    pub(super) fn resume(&mut self, kernel: &mut Kernel, unit: Unit, longer: Ns) {
        let entry = &mut self.units[unit];
        let Suspended { resume, of, by, left, .. } = entry.suspended.take().expect("something is suspended");
        entry.runs_since = kernel.now;
        self.take(kernel.now, unit, by);
        self.run(kernel, unit, resume, of, left + longer);
    }

    /// The instant at which the program or erase of a unit was suspended; none where none is.
    #[inline]
    pub(super) fn suspended_since(&self, unit: Unit) -> Option<Ns> {
        self.units[unit].suspended.map(|suspended| suspended.since)
    }

    /// Whether the suspended operation is an erase, and the part or the superblock that it is for; none where none is suspended.
    pub(super) fn suspended(&self, unit: Unit) -> Option<(bool, u32)> {
        let suspended = self.units[unit].suspended?;
        Some((suspended.resume == Command::ResumeErase, suspended.of))
    }

    /// The event that ends the operation of an array, or ended it.
    pub(super) fn key(&self, unit: Unit) -> Key {
        self.units[unit].ends
    }

    /// The instant since which the program or erase of a unit has run, and the number of its suspensions.
    pub(super) fn run_of(&self, unit: Unit) -> (Ns, u32) {
        let entry = &self.units[unit];
        (entry.runs_since, entry.suspensions)
    }

    /// Schedules an event after `duration` at which suspending is considered, unless such an event is due sooner.
    pub(super) fn consider_suspending(&mut self, kernel: &mut Kernel, unit: Unit, duration: Ns) {
        let entry = &mut self.units[unit];
        if entry.may_suspend == 0 || instant(entry.may_suspend) > kernel.now + duration {
            entry.may_suspend = kernel.schedule(duration, Event::ArrayDone { unit });
        }
    }

    /// Whether an event is the one at which suspending was to be considered. If so, none is left.
    pub(super) fn considers_suspending(&mut self, unit: Unit, key: Key) -> bool {
        let entry = &mut self.units[unit];
        let considers = entry.may_suspend == key;
        if considers {
            entry.may_suspend = 0;
        }
        considers
    }

    /// The retries and reads that wait for a unit and go before other work, the next one first.
    pub(super) fn waiting_reads(&self, unit: Unit) -> impl Iterator<Item = Work> {
        let entry = &self.units[unit];
        entry.retries.iter().chain(&entry.reads).copied()
    }

    /// Whether an event ends the operation of an array.
    #[inline]
    pub(super) fn ends_with(&self, unit: Unit, key: Key) -> bool {
        self.units[unit].ends == key
    }

    /// The instant at which the operation of an array ends.
    pub(super) fn ends_at(&self, unit: Unit) -> Ns {
        instant(self.units[unit].ends)
    }

    /// Cuts the operation of an array short: the event of its end will be ignored.
    pub(super) fn cut_short(&mut self, unit: Unit) {
        self.units[unit].ends = 0;
    }

    /// The instant at which an event of a unit happens, if power fails now and is back at `back`. Programs and erases are started anew;
    /// everything else goes on.
    pub(super) fn due_after(&self, unit: Unit, key: Key, now: Ns, back: Ns) -> Ns {
        let entry = &self.units[unit];
        let again = entry.ends == key && matches!(entry.phase, Phase::Programming | Phase::Erasing);
        if again { back + entry.whole } else { instant(key) + (back - now) }
    }

    /// Puts off the operations of all units, as power fails now and is back at `back`. Returns how many programs and how many erases are
    /// started anew.
    pub(super) fn lose_power(&mut self, now: Ns, back: Ns) -> [u64; 2] {
        let (away, mut again) = (back - now, [0; 2]);
        for unit in Unit::all(0..self.units.len() as u32) {
            let ends = self.units[unit].ends;
            let due = self.due_after(unit, ends, now, back);
            let entry = &mut self.units[unit];
            if ends != 0 {
                entry.ends = moved_to(ends, due);
            }
            if entry.may_suspend != 0 {
                entry.may_suspend = moved_to(entry.may_suspend, instant(entry.may_suspend) + away);
            }
            match entry.phase {
                Phase::Programming => again[0] += 1,
                Phase::Erasing => again[1] += 1,
                _ => {}
            }
            // The outage is no busy time. Work that waits for the unit still counts it as time taken by the operation of the unit, as
            // `counted_until` stays.
            if entry.phase != Phase::Free {
                entry.busy_since += away;
            }
            entry.runs_since += away;
            if let Some(suspended) = &mut entry.suspended {
                again[usize::from(suspended.resume == Command::ResumeErase)] += 1;
                suspended.left = entry.whole;
                suspended.since += away;
            }
        }
        again
    }

    /// Returns work that is to be begun now, or puts it in its queue.
    #[inline]
    pub(super) fn submit(&mut self, unit: Unit, work: Work, turn: Turn) -> Option<Work> {
        if self.phase(unit) == Phase::Free {
            return Some(work);
        }
        self.wait(unit, work, turn);
        None
    }

    /// Takes the program whose page is to be loaded while a unit programs: the work that waits first, if it has a page to load and no read
    /// goes before it.
    pub(super) fn load_next(&mut self, now: Ns, unit: Unit, loads: impl Fn(u32) -> bool) -> Option<u32> {
        let entry = &mut self.units[unit];
        let is_free_to_load = entry.phase == Phase::Programming && entry.next_program.is_none();
        if !is_free_to_load || !entry.retries.is_empty() || !entry.reads.is_empty() {
            return None;
        }
        let loaded = |work: Work| match work {
            Work::Program(part) if loads(part) => Some(part),
            _ => None,
        };
        let part = if let Some(schedule) = &mut self.schedule {
            let part = loaded(schedule.peek(now, unit)?)?;
            schedule.next(now, unit, false);
            part
        } else {
            let part = loaded(*entry.others.front()?)?;
            entry.others.pop_front();
            part
        };
        entry.next_program = Some(NextProgram { part, loaded: false });
        Some(part)
    }

    /// Notes that the page of a program has crossed the bus. Returns whether the page waits for the array, which is at another program.
    pub(super) fn is_loaded_ahead(&mut self, unit: Unit, part: u32) -> bool {
        match &mut self.units[unit].next_program {
            Some(next) if next.part == part => {
                next.loaded = true;
                true
            }
            _ => false,
        }
    }

    /// Takes the program whose page is loaded, or being loaded, and whose turn it is now.
    pub(super) fn take_next_program(&mut self, unit: Unit) -> Option<NextProgram> {
        self.units[unit].next_program.take()
    }

    /// Puts work in its queue.
    #[inline]
    pub(super) fn wait(&mut self, unit: Unit, work: Work, turn: Turn) {
        self.units[unit].queue(turn).push_back(work);
    }

    /// Takes the work of one class that has waited longest.
    pub(super) fn pop(&mut self, unit: Unit, turn: Turn) -> Option<Work> {
        self.units[unit].queue(turn).pop_front()
    }

    /// Work of one class that waits for a unit, the next one first. Work that a schedule holds is of the last class, in the order in which
    /// it came.
    pub(super) fn waiting_works(&self, unit: Unit, turn: Turn) -> impl Iterator<Item = Work> {
        let scheduled = self.schedule.iter().filter(move |_| turn == Turn::Other);
        let scheduled = scheduled.flat_map(move |schedule| schedule.waiting_works(unit));
        self.units[unit].waiting(turn).iter().copied().chain(scheduled)
    }

    /// Takes the work at a position in the queue of one class.
    pub(super) fn remove(&mut self, unit: Unit, turn: Turn, at: usize) -> Option<Work> {
        self.units[unit].queue(turn).remove(at)
    }

    /// Moves work of no hurry to the reads, which go before programs and erases, if it waits behind at least `behind` others. Returns
    /// whether it was moved.
    pub(super) fn hurry(&mut self, unit: Unit, work: Work, behind: usize) -> bool {
        let mut waiting = self.units[unit].waiting(Turn::Other).iter();
        let at = waiting.position(|&waiting| waiting == work).filter(|&at| at >= behind);
        if let Some(work) = at.and_then(|at| self.remove(unit, Turn::Other, at)) {
            self.wait(unit, work, Turn::Read);
        }
        at.is_some()
    }

    /// Number of operations of one class that wait outside a schedule.
    pub(super) fn waiting_for(&self, unit: Unit, turn: Turn) -> usize {
        self.units[unit].waiting(turn).len()
    }

    /// Takes the work whose turn it is. While an operation is suspended, only reads have a turn.
    #[inline]
    pub(super) fn next(&mut self, now: Ns, unit: Unit) -> Option<Work> {
        let entry = &mut self.units[unit];
        if let Some(schedule) = &mut self.schedule {
            let interrupting = entry.suspended.is_some();
            return entry.retries.pop_front().or_else(|| schedule.next(now, unit, interrupting));
        }
        let next = entry.retries.pop_front().or_else(|| entry.reads.pop_front());
        if entry.suspended.is_some() { next } else { next.or_else(|| entry.others.pop_front()) }
    }

    /// Number of operations that wait, the suspended one included.
    #[inline]
    pub(super) fn waiting(&self, unit: Unit) -> usize {
        let entry = &self.units[unit];
        let scheduled = self.schedule.as_ref().map_or(0, |schedule| schedule.waiting(unit));
        entry.retries.len()
            + entry.reads.len()
            + entry.others.len()
            + usize::from(entry.suspended.is_some())
            + scheduled
    }

    /// Whether the cache register of a unit is empty.
    #[inline]
    pub(super) fn register_is_empty(&self, unit: Unit) -> bool {
        self.units[unit].register == NONE
    }

    /// Notes the part whose page is in the cache register now; `NONE` empties the register.
    #[inline]
    pub(super) fn set_register(&mut self, unit: Unit, part: u32) {
        self.units[unit].register = part;
    }

    /// Starts counting anew. The times of each unit stay, as reads that wait look at how they change.
    pub(super) fn count_anew(&mut self, now: Ns) {
        self.taken_before = Taken::default();
        self.taken_before = self.all_taken(now);
        for unit in &mut self.units {
            (unit.busy, unit.busy_since) = (Ns::ZERO, now);
        }
    }

    /// Busy time of each unit up to now, in ns.
    pub(super) fn busy_ns(&self, now: Ns) -> impl Iterator<Item = f64> {
        self.units.iter().map(move |unit| {
            let current = if unit.phase == Phase::Free { Ns::ZERO } else { now - unit.busy_since };
            (unit.busy + current).0 as f64
        })
    }

    /// Time for which all units together were taken since they counted anew, up to now, by kind of operation and by cause.
    pub(super) fn all_taken(&self, now: Ns) -> Taken {
        let mut all = Taken::default();
        for unit in &self.units {
            all.iter_mut().zip(unit.taken).for_each(|(sum, one)| *sum += one);
            if unit.phase != Phase::Free {
                credit(&mut all, unit.by, now - unit.counted_until);
            }
        }
        all.iter_mut().zip(self.taken_before).for_each(|(sum, before)| *sum = *sum - before);
        all
    }

    pub(super) fn len(&self) -> usize {
        self.units.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Is an array blocked until the instant before what it is at ends, and ready at that instant?
    #[test]
    fn blocked_until_it_ends_and_ready_then() {
        for (command, ending) in [(Command::Sense, Phase::Sensed), (Command::Erase, Phase::Free)] {
            let (mut kernel, mut array) = (Kernel::new(false), Array::new(2, None));
            kernel.now = Ns(100);
            array.run(&mut kernel, Unit(1), command, 7, Ns(50));
            assert_eq!(array.submit(Unit(1), Work::Program(3), Turn::Other), None, "busy at once");
            assert_eq!(
                array.submit(Unit(0), Work::Program(4), Turn::Other),
                Some(Work::Program(4)),
                "the other one is free"
            );
            kernel.now = Ns(149);
            assert_eq!(array.submit(Unit(1), Work::Read(5), Turn::Read), None, "busy at t - 1");
            let (key, event) = kernel.events.pop().unwrap();
            assert_eq!((crate::events::instant(key), event), (Ns(150), Event::ArrayDone { unit: Unit(1) }));
            assert!(array.ends_with(Unit(1), key) && array.of(Unit(1)) == 7);
            kernel.now = Ns(150);
            array.command(kernel.now, Unit(1), Command::End, 7);
            assert_eq!(array.phase(Unit(1)), ending);
            if ending == Phase::Sensed {
                assert_eq!(array.submit(Unit(1), Work::Read(6), Turn::Retry), None, "the page is still in the array");
                array.command(kernel.now, Unit(1), Command::Leave, 7);
                assert_eq!(array.next(kernel.now, Unit(1)), Some(Work::Read(6)));
            }
            assert_eq!(
                [array.next(kernel.now, Unit(1)), array.next(kernel.now, Unit(1))],
                [Some(Work::Read(5)), Some(Work::Program(3))]
            );
            assert_eq!((array.busy_ns(Ns(160)).sum::<f64>(), array.waiting(Unit(1))), (50.0, 0));
        }
    }

    /// Is an erase that is suspended blocked until the instant before it has stopped? Do only reads have a turn until it goes on, and does
    /// it then run for what it had left and a little longer? The event of its first end is ignored.
    #[test]
    fn suspended_until_reads_are_over() {
        let (mut kernel, mut array) = (Kernel::new(false), Array::new(1, None));
        array.run(&mut kernel, Unit(0), Command::Erase, 7, Ns(100));
        let first_end = array.units[Unit(0)].ends;
        kernel.now = Ns(30);
        assert_eq!(array.submit(Unit(0), Work::Program(1), Turn::Other), None);
        assert_eq!(array.submit(Unit(0), Work::Read(2), Turn::Read), None);
        array.suspend(&mut kernel, Unit(0), Ns(20));
        assert!(!array.ends_with(Unit(0), first_end) && array.ends_at(Unit(0)) == Ns(50));
        kernel.now = Ns(49);
        assert_eq!((array.phase(Unit(0)), array.waiting(Unit(0))), (Phase::Suspending, 3));
        assert_eq!(Phase::Suspending.after(Command::Sense), None);
        kernel.now = Ns(50);
        array.command(kernel.now, Unit(0), Command::End, NONE);
        assert_eq!(
            [array.next(kernel.now, Unit(0)), array.next(kernel.now, Unit(0))],
            [Some(Work::Read(2)), None],
            "the program has no turn"
        );
        kernel.now = Ns(60);
        array.resume(&mut kernel, Unit(0), Ns(5));
        assert_eq!(
            (array.phase(Unit(0)), array.of(Unit(0)), array.ends_at(Unit(0))),
            (Phase::Erasing, 7, Ns(60 + 70 + 5))
        );
        assert_eq!((array.run_of(Unit(0)), array.suspended_since(Unit(0))), ((Ns(60), 1), None));
        kernel.now = Ns(135);
        array.command(kernel.now, Unit(0), Command::End, NONE);
        assert_eq!(array.next(kernel.now, Unit(0)), Some(Work::Program(1)));
    }
}
