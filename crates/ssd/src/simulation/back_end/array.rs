//! Planes, or dies whose planes take turns: each does one array operation at a time.
//!
//! What an array may do in which phase is a table, [`Phase::after`](super::phase::Phase::after). A unit serves waiting retries first,
//! then hurried reads; within a class it is first come, first served. Where there is a schedule it has all that waits but for retries,
//! and says what is next.

use std::collections::VecDeque;

use softsense_base::Ns;

use super::super::kernel::Kernel;
use super::super::owners::Cause;
use super::super::statistics::{TimesTaken, place_of};
use super::phase::{Command, Phase};
use super::schedule::Schedule;
use crate::events::{Event, Key, instant, moved_to};

pub(super) const NONE: u32 = u32::MAX;

/// What waits for, or is done by, a busy unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// A part of a read.
    Read(u32),
    /// A part of a program, numbered like those of reads.
    Program(u32),
    /// One of the blocks of a superblock; whether its cells hold one bit, whether its erase fails, and what it is erased for.
    Erase { superblock: u32, slc: bool, fails: bool, cause: Cause },
}

/// Which of the work that waits goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// Retries, whoever they are for: part of what they need has been read already.
    Retry,
    /// Reads that go before other work.
    Read,
    Other,
}

/// What an array is taken by, and whether a request waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum TakenBy {
    #[default]
    HostReads,
    BackgroundReads,
    HostPrograms,
    BackgroundPrograms,
    Erases,
}

/// What an array is taken by, and what causes that.
pub(super) type Taker = (TakenBy, Cause);

/// For how long an array was taken by each of [`TakenBy`]; and once more by each cause but the host.
pub(super) type Taken = TimesTaken;

/// Time that passed while an array was taken goes to what it was taken by.
#[inline]
fn credit(taken: &mut Taken, (by, cause): Taker, passed: Ns) {
    taken[by as usize] += passed;
    if let Some(index) = place_of(cause) {
        taken[index] += passed;
    }
}

/// A program or an erase that has made way for reads.
#[derive(Debug, Clone, Copy)]
struct Suspended {
    /// The command that lets it go on, and what it is for.
    resume: Command,
    of: u32,
    by: Taker,
    since: Ns,
    /// What it has yet to run.
    left: Ns,
}

/// A page that is to be programmed when the array has programmed another.
#[derive(Debug, Clone, Copy)]
pub(super) struct NextProgram {
    pub(super) part: u32,
    /// Whether all of it has crossed the bus.
    pub(super) loaded: bool,
}

/// A plane, or a die whose planes take turns. Laid out as written: what most events change is in the first line of the CPU's caches, and
/// what few devices use is in the last ones.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Unit {
    /// The event that ends what the array is at. A sensing that was cut short leaves its event behind, which is known by not
    /// being this one.
    ends: Key,
    phase: Phase,
    /// What it is taken by.
    by: Taker,
    /// What the array is at: a part of a read or a program, or a superblock.
    of: u32,
    /// The part of a read whose page is in the cache register, waiting for the bus or on it.
    register: u32,
    busy_since: Ns,
    busy: Ns,
    /// Since when it has been counted what it is taken by.
    counted_until: Ns,
    /// How long it was taken by each, until then.
    taken: Taken,
    retries: VecDeque<Work>,
    reads: VecDeque<Work>,
    others: VecDeque<Work>,
    suspended: Option<Suspended>,
    /// Of the program or erase that it is at: since when it has run, what it takes in all, how often it has been suspended, and the event
    /// at which that may happen, if a read waits for it; 0 without one.
    runs_since: Ns,
    whole: Ns,
    suspensions: u32,
    may_suspend: Key,
    /// The part of a program whose page is loaded, or being loaded, while the array programs another.
    next_program: Option<NextProgram>,
}

impl Default for Unit {
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

impl Unit {
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

/// All of them.
#[derive(Debug)]
pub(super) struct Array {
    units: Vec<Unit>,
    pub(super) schedule: Option<Box<Schedule>>,
    /// How long all units together had been taken, and by what, before they counted anew.
    taken_before: Taken,
}

impl Array {
    pub(super) fn new(units: u32, schedule: Option<Box<Schedule>>) -> Self {
        Self { units: (0..units).map(|_| Unit::default()).collect(), schedule, taken_before: Taken::default() }
    }

    #[inline]
    pub(super) fn phase(&self, unit: u32) -> Phase {
        self.units[unit as usize].phase
    }

    /// What the array is at.
    #[inline]
    pub(super) fn of(&self, unit: u32) -> u32 {
        self.units[unit as usize].of
    }

    /// A free unit is about to be taken by something.
    #[inline]
    pub(super) fn take(&mut self, now: Ns, unit: u32, by: Taker) {
        let entry = &mut self.units[unit as usize];
        debug_assert_eq!(entry.phase, Phase::Free);
        (entry.by, entry.counted_until) = (by, now);
    }

    /// For how long a unit has been taken by each, up to now. Between two instants at which it is busy all the while, these tell what
    /// was waited for.
    #[inline]
    pub(super) fn taken(&mut self, now: Ns, unit: u32) -> Taken {
        let entry = &mut self.units[unit as usize];
        if entry.phase != Phase::Free {
            entry.count(now);
        }
        entry.taken
    }

    /// What a unit is taken by, or was last.
    pub(super) fn taken_by(&self, unit: u32) -> Taker {
        self.units[unit as usize].by
    }

    /// A free unit has been waited for up to now, as if it had been taken.
    pub(super) fn waited(&mut self, now: Ns, unit: u32, by: Taker) {
        let entry = &mut self.units[unit as usize];
        debug_assert_eq!(entry.phase, Phase::Free);
        entry.by = by;
        entry.count(now);
    }

    /// Gives a command; `of` is what it is for.
    #[inline(always)]
    pub(super) fn command(&mut self, now: Ns, unit: u32, command: Command, of: u32) {
        let entry = &mut self.units[unit as usize];
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
    pub(super) fn run(&mut self, kernel: &mut Kernel, unit: u32, command: Command, of: u32, duration: Ns) {
        self.command(kernel.now, unit, command, of);
        let entry = &mut self.units[unit as usize];
        entry.ends = kernel.schedule(duration, Event::ArrayDone { unit });
        if let Command::Program | Command::Erase = command {
            (entry.runs_since, entry.suspensions, entry.whole) = (kernel.now, 0, duration);
        }
    }

    /// The program or erase that a unit is at stops for reads, which takes `duration`.
    pub(super) fn suspend(&mut self, kernel: &mut Kernel, unit: u32, duration: Ns) {
        let left = self.ends_at(unit) - kernel.now;
        let entry = &mut self.units[unit as usize];
        let resume = if entry.phase == Phase::Erasing { Command::ResumeErase } else { Command::ResumeProgram };
        let (of, by) = (entry.of, entry.by);
        entry.suspended = Some(Suspended { resume, of, by, since: kernel.now, left });
        entry.suspensions += 1;
        self.run(kernel, unit, Command::Suspend, of, duration);
    }

    /// What was suspended goes on, for `longer` than it had left.
    pub(super) fn resume(&mut self, kernel: &mut Kernel, unit: u32, longer: Ns) {
        let entry = &mut self.units[unit as usize];
        let Suspended { resume, of, by, left, .. } = entry.suspended.take().expect("something is suspended");
        entry.runs_since = kernel.now;
        self.take(kernel.now, unit, by);
        self.run(kernel, unit, resume, of, left + longer);
    }

    /// Since when something has been suspended.
    #[inline]
    pub(super) fn suspended_since(&self, unit: u32) -> Option<Ns> {
        self.units[unit as usize].suspended.map(|suspended| suspended.since)
    }

    /// What has been suspended, if anything: whether it is an erase, and what it is for.
    pub(super) fn suspended(&self, unit: u32) -> Option<(bool, u32)> {
        let suspended = self.units[unit as usize].suspended?;
        Some((suspended.resume == Command::ResumeErase, suspended.of))
    }

    /// The event that ends what the array is at, or ended it.
    pub(super) fn key(&self, unit: u32) -> Key {
        self.units[unit as usize].ends
    }

    /// Of the program or erase that a unit is at: since when it has run, and how often it has been suspended.
    pub(super) fn run_of(&self, unit: u32) -> (Ns, u32) {
        let entry = &self.units[unit as usize];
        (entry.runs_since, entry.suspensions)
    }

    /// Suspending it will be considered after `duration`, unless it is sooner already.
    pub(super) fn consider_suspending(&mut self, kernel: &mut Kernel, unit: u32, duration: Ns) {
        let entry = &mut self.units[unit as usize];
        if entry.may_suspend == 0 || instant(entry.may_suspend) > kernel.now + duration {
            entry.may_suspend = kernel.schedule(duration, Event::ArrayDone { unit });
        }
    }

    /// Whether an event is the one at which suspending was to be considered.
    pub(super) fn considers_suspending(&mut self, unit: u32, key: Key) -> bool {
        let entry = &mut self.units[unit as usize];
        let considers = entry.may_suspend == key;
        if considers {
            entry.may_suspend = 0;
        }
        considers
    }

    /// The retries and reads that wait for a unit and go before other work, the next one first.
    pub(super) fn waiting_reads(&self, unit: u32) -> impl Iterator<Item = Work> {
        let entry = &self.units[unit as usize];
        entry.retries.iter().chain(&entry.reads).copied()
    }

    /// Whether an event ends what the array is at.
    #[inline]
    pub(super) fn ends_with(&self, unit: u32, key: Key) -> bool {
        self.units[unit as usize].ends == key
    }

    /// When what the array is at ends.
    pub(super) fn ends_at(&self, unit: u32) -> Ns {
        instant(self.units[unit as usize].ends)
    }

    /// What the array is at is cut short: its end will not be heard.
    pub(super) fn cut_short(&mut self, unit: u32) {
        self.units[unit as usize].ends = 0;
    }

    /// When an event of a unit happens, if power fails now and is back then: programs and erases are started anew.
    pub(super) fn due_after(&self, unit: u32, key: Key, now: Ns, back: Ns) -> Ns {
        let entry = &self.units[unit as usize];
        let again = entry.ends == key && matches!(entry.phase, Phase::Programming | Phase::Erasing);
        if again { back + entry.whole } else { instant(key) + (back - now) }
    }

    /// Power fails now, and is back then. How many programs and erases are started anew.
    pub(super) fn lose_power(&mut self, now: Ns, back: Ns) -> [u64; 2] {
        let (away, mut again) = (back - now, [0; 2]);
        for unit in 0..self.units.len() as u32 {
            let ends = self.units[unit as usize].ends;
            let due = self.due_after(unit, ends, now, back);
            let entry = &mut self.units[unit as usize];
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
            // Who waits for it waits for what it was at: that goes on to be counted.
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

    /// Takes work that is to be begun now, or puts it in its queue.
    #[inline]
    pub(super) fn submit(&mut self, unit: u32, work: Work, turn: Turn) -> Option<Work> {
        if self.phase(unit) == Phase::Free {
            return Some(work);
        }
        self.wait(unit, work, turn);
        None
    }

    /// The program that is to be loaded while a unit programs: what waits first, if no read goes before it and it loads anything.
    pub(super) fn load_next(&mut self, now: Ns, unit: u32, loads: impl Fn(u32) -> bool) -> Option<u32> {
        let entry = &mut self.units[unit as usize];
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

    /// The page of a program has crossed the bus: whether that is one which waits for the array to have programmed another.
    pub(super) fn is_loaded_ahead(&mut self, unit: u32, part: u32) -> bool {
        match &mut self.units[unit as usize].next_program {
            Some(next) if next.part == part => {
                next.loaded = true;
                true
            }
            _ => false,
        }
    }

    /// The program whose page is loaded, or being loaded, and whose turn it is now.
    pub(super) fn take_next_program(&mut self, unit: u32) -> Option<NextProgram> {
        self.units[unit as usize].next_program.take()
    }

    /// Puts work in its queue.
    #[inline]
    pub(super) fn wait(&mut self, unit: u32, work: Work, turn: Turn) {
        self.units[unit as usize].queue(turn).push_back(work);
    }

    /// The work of one kind that has waited longest.
    pub(super) fn pop(&mut self, unit: u32, turn: Turn) -> Option<Work> {
        self.units[unit as usize].queue(turn).pop_front()
    }

    /// The work of one kind that waits, the next one first; where there is a schedule, what it has is of the last kind, in the order in
    /// which it came.
    pub(super) fn waiting_works(&self, unit: u32, turn: Turn) -> impl Iterator<Item = Work> {
        let scheduled = self.schedule.iter().filter(move |_| turn == Turn::Other);
        let scheduled = scheduled.flat_map(move |schedule| schedule.waiting_works(unit));
        self.units[unit as usize].waiting(turn).iter().copied().chain(scheduled)
    }

    /// Takes the work of one kind that is at a place of its queue.
    pub(super) fn remove(&mut self, unit: u32, turn: Turn, at: usize) -> Option<Work> {
        self.units[unit as usize].queue(turn).remove(at)
    }

    /// Work of no hurry goes before programs and erases now, if it still waits behind the first so many. Whether it does.
    pub(super) fn hurry(&mut self, unit: u32, work: Work, behind: usize) -> bool {
        let mut waiting = self.units[unit as usize].waiting(Turn::Other).iter();
        let at = waiting.position(|&waiting| waiting == work).filter(|&at| at >= behind);
        if let Some(work) = at.and_then(|at| self.remove(unit, Turn::Other, at)) {
            self.wait(unit, work, Turn::Read);
        }
        at.is_some()
    }

    /// Operations of one kind that wait.
    pub(super) fn waiting_for(&self, unit: u32, turn: Turn) -> usize {
        self.units[unit as usize].waiting(turn).len()
    }

    /// The work whose turn it is. While something is suspended nothing else but reads has one.
    #[inline]
    pub(super) fn next(&mut self, now: Ns, unit: u32) -> Option<Work> {
        let entry = &mut self.units[unit as usize];
        if let Some(schedule) = &mut self.schedule {
            let interrupting = entry.suspended.is_some();
            return entry.retries.pop_front().or_else(|| schedule.next(now, unit, interrupting));
        }
        let next = entry.retries.pop_front().or_else(|| entry.reads.pop_front());
        if entry.suspended.is_some() { next } else { next.or_else(|| entry.others.pop_front()) }
    }

    /// Operations that wait, with one that is suspended.
    #[inline]
    pub(super) fn waiting(&self, unit: u32) -> usize {
        let entry = &self.units[unit as usize];
        let scheduled = self.schedule.as_ref().map_or(0, |schedule| schedule.waiting(unit));
        entry.retries.len()
            + entry.reads.len()
            + entry.others.len()
            + usize::from(entry.suspended.is_some())
            + scheduled
    }

    /// Whether the cache register is empty.
    #[inline]
    pub(super) fn register_is_empty(&self, unit: u32) -> bool {
        self.units[unit as usize].register == NONE
    }

    /// What was sensed goes to the cache register, or leaves it.
    #[inline]
    pub(super) fn set_register(&mut self, unit: u32, part: u32) {
        self.units[unit as usize].register = part;
    }

    /// Counts from here on. What each unit was taken by stays, as reads that wait look at how it changes.
    pub(super) fn count_anew(&mut self, now: Ns) {
        self.taken_before = Taken::default();
        self.taken_before = self.all_taken(now);
        for unit in &mut self.units {
            (unit.busy, unit.busy_since) = (Ns::ZERO, now);
        }
    }

    /// For how long each was busy up to now.
    pub(super) fn busy_ns(&self, now: Ns) -> impl Iterator<Item = f64> {
        self.units.iter().map(move |unit| {
            let current = if unit.phase == Phase::Free { Ns::ZERO } else { now - unit.busy_since };
            (unit.busy + current).0 as f64
        })
    }

    /// For how long all of them together were taken by each since they counted anew, up to now.
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
            array.run(&mut kernel, 1, command, 7, Ns(50));
            assert_eq!(array.submit(1, Work::Program(3), Turn::Other), None, "busy at once");
            assert_eq!(array.submit(0, Work::Program(4), Turn::Other), Some(Work::Program(4)), "the other one is free");
            kernel.now = Ns(149);
            assert_eq!(array.submit(1, Work::Read(5), Turn::Read), None, "busy at t - 1");
            let (key, event) = kernel.events.pop().unwrap();
            assert_eq!((crate::events::instant(key), event), (Ns(150), Event::ArrayDone { unit: 1 }));
            assert!(array.ends_with(1, key) && array.of(1) == 7);
            kernel.now = Ns(150);
            array.command(kernel.now, 1, Command::End, 7);
            assert_eq!(array.phase(1), ending);
            if ending == Phase::Sensed {
                assert_eq!(array.submit(1, Work::Read(6), Turn::Retry), None, "the page is still in the array");
                array.command(kernel.now, 1, Command::Leave, 7);
                assert_eq!(array.next(kernel.now, 1), Some(Work::Read(6)));
            }
            assert_eq!(
                [array.next(kernel.now, 1), array.next(kernel.now, 1)],
                [Some(Work::Read(5)), Some(Work::Program(3))]
            );
            assert_eq!((array.busy_ns(Ns(160)).sum::<f64>(), array.waiting(1)), (50.0, 0));
        }
    }

    /// Is an erase that is suspended blocked until the instant before it has stopped, does nothing but reads have a turn until it goes on,
    /// and does it then run for what it had left and a little longer? What ends when it had not been suspended is not heard.
    #[test]
    fn suspended_until_reads_are_over() {
        let (mut kernel, mut array) = (Kernel::new(false), Array::new(1, None));
        array.run(&mut kernel, 0, Command::Erase, 7, Ns(100));
        let first_end = array.units[0].ends;
        kernel.now = Ns(30);
        assert_eq!(array.submit(0, Work::Program(1), Turn::Other), None);
        assert_eq!(array.submit(0, Work::Read(2), Turn::Read), None);
        array.suspend(&mut kernel, 0, Ns(20));
        assert!(!array.ends_with(0, first_end) && array.ends_at(0) == Ns(50));
        kernel.now = Ns(49);
        assert_eq!((array.phase(0), array.waiting(0)), (Phase::Suspending, 3));
        assert_eq!(Phase::Suspending.after(Command::Sense), None);
        kernel.now = Ns(50);
        array.command(kernel.now, 0, Command::End, NONE);
        assert_eq!(
            [array.next(kernel.now, 0), array.next(kernel.now, 0)],
            [Some(Work::Read(2)), None],
            "the program has no turn"
        );
        kernel.now = Ns(60);
        array.resume(&mut kernel, 0, Ns(5));
        assert_eq!((array.phase(0), array.of(0), array.ends_at(0)), (Phase::Erasing, 7, Ns(60 + 70 + 5)));
        assert_eq!((array.run_of(0), array.suspended_since(0)), ((Ns(60), 1), None));
        kernel.now = Ns(135);
        array.command(kernel.now, 0, Command::End, NONE);
        assert_eq!(array.next(kernel.now, 0), Some(Work::Program(1)));
    }
}
