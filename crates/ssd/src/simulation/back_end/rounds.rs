//! Rounds: busy units that begin together, and wait for one another.
//!
//! A round begins when all of its units are free. Each takes one of what waits for it: what would be its turn without rounds, or,
//! where a round is of a batch, what is left of that. A round waits for what its units have begun, which waits for buses and
//! decoders as ever, and for no unit. So that goes on to have one direction.
//!
//! A multi-plane command is a round of planes of one die. The planes of a round lead in turn: what the leader does says what fits
//! beside it.

use std::ops::Range;

use softsense_base::Ns;

use super::super::kernel::Kernel;
use super::array::{Taken, Turn, Work};
use super::phase::Phase;
use super::{BackEnd, Program};
use crate::config::{RoundsSpec, RoundsTake};
use crate::ftl::Group;
use crate::geometry::Geometry;

/// Which units begin together, and what of batches they have yet to begin.
#[derive(Debug)]
pub(super) struct Rounds {
    /// Units that begin together.
    units: u32,
    /// Of each such group: when its last round began.
    began: Vec<Ns>,
    /// Of each unit: reads that go first in the batch, and the rest of it, that have not begun. None where a round takes what there is.
    left: Option<Vec<Left>>,
    /// Where rounds are multi-plane commands.
    commands: Option<Commands>,
}

/// Multi-plane commands.
#[derive(Debug)]
struct Commands {
    any_page: bool,
    /// Of each group of units that begin together: the command under way, and which unit leads next.
    under_way: Vec<Option<MultiPlane>>,
    leads_next: Vec<u32>,
}

/// What operations of one command have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MultiPlane {
    die: u32,
    operation: Operation,
    /// Whether it is of pages, or blocks, whose cells hold one bit.
    slc: bool,
    /// The page in its block; none where it does not matter.
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
            left: (spec.take == RoundsTake::Batch).then(|| vec![Left::default(); all as usize]),
            commands: spec.take.is_multi_plane().then(|| Commands {
                any_page: spec.take == RoundsTake::MultiPlaneAnyPage,
                under_way: vec![None; (all / units) as usize],
                leads_next: vec![0; (all / units) as usize],
            }),
        })
    }

    /// The units that begin together with one.
    fn with(&self, unit: u32) -> Range<u32> {
        let first = unit / self.units * self.units;
        first..first + self.units
    }
}

impl BackEnd {
    /// Whether work for a unit that is free may begin now: no other one of its round is busy, or has begun before this instant. Who comes
    /// while a batch is served waits for the next one.
    #[inline]
    pub(super) fn may_begin(&mut self, now: Ns, unit: u32, work: Work) -> bool {
        if self.rounds.is_none() { true } else { self.joins_round(now, unit, work) }
    }

    fn joins_round(&mut self, now: Ns, unit: u32, work: Work) -> bool {
        let command = self.multi_plane(unit, work);
        let rounds = self.rounds.as_mut().expect("units wait for one another");
        let group = (unit / rounds.units) as usize;
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

    /// What of a multi-plane command work is; nothing where there are none.
    fn multi_plane(&self, unit: u32, work: Work) -> Option<MultiPlane> {
        let commands = self.rounds.as_ref()?.commands.as_ref()?;
        let of_group = |group: Group| (group.slc(), Some(group.page));
        let (operation, (slc, page)) = match work {
            Work::Read(part) => (Operation::Read, of_group(self.reads.reads[self.reads.of_part(part).0].order.group)),
            Work::Program(part) => {
                let Program { group, copies, .. } = self.programs[self.reads.of_part(part).0];
                (if copies.is_some() { Operation::Copy } else { Operation::Program }, of_group(group))
            }
            Work::Erase { slc, .. } => (Operation::Erase, (slc, None)),
        };
        let page = page.filter(|_| !commands.any_page);
        Some(MultiPlane { die: self.geometry.die_of_unit(unit), operation, slc, page })
    }

    /// The next command of units that are free, and whose turn it is of each: what waits first by its kind, of the unit that leads.
    fn next_command(&mut self, units: Range<u32>) -> Option<(MultiPlane, Turn)> {
        let rounds = self.rounds.as_ref()?;
        let (count, group) = (rounds.units, (units.start / rounds.units) as usize);
        let leads_next = rounds.commands.as_ref()?.leads_next[group];
        let turns = [Turn::Retry, Turn::Read, Turn::Other];
        let first_of = |turn| {
            let heads = (0..count).map(|offset| (leads_next + offset) % count);
            let heads =
                heads.filter_map(|at| Some((at, turn, self.array.waiting_works(units.start + at, turn).next()?)));
            // Where the plane whose turn it is programs, the oldest program leads: so planes whose pages came at different instants are
            // soon at the same page.
            heads.min_by_key(|&(at, _, work)| match work {
                Work::Program(part) => self.programs[self.reads.of_part(part).0].number,
                Work::Read(_) | Work::Erase { .. } if at == leads_next => 0,
                Work::Read(_) | Work::Erase { .. } => u64::MAX,
            })
        };
        let (leader, turn, work) = turns.into_iter().find_map(first_of)?;
        let command = self.multi_plane(units.start + leader, work)?;
        let commands = self.rounds.as_mut()?.commands.as_mut()?;
        commands.under_way[group] = Some(command);
        commands.leads_next[group] = (leader + 1) % count;
        Some((command, turn))
    }

    /// For how long what a unit is for has been taken by each, up to now. A unit that is free while others of its round are busy is
    /// waited for as they are.
    #[inline]
    pub(super) fn taken(&mut self, now: Ns, unit: u32) -> Taken {
        if let Some(rounds) = &self.rounds
            && self.array.phase(unit) == Phase::Free
            && let Some(busy) = rounds.with(unit).find(|&unit| self.array.phase(unit) != Phase::Free)
        {
            self.array.waited(now, unit, self.array.taken_by(busy));
        }
        self.array.taken(now, unit)
    }

    /// A unit is free. If all of its round are, the next round begins.
    pub(super) fn next_round(&mut self, kernel: &mut Kernel, unit: u32) {
        let rounds = self.rounds.as_ref().expect("units wait for one another");
        let (units, group) = (rounds.with(unit), (unit / rounds.units) as usize);
        if units.clone().any(|unit| self.array.phase(unit) != Phase::Free) {
            return;
        }
        let ended = self.array.taken_by(unit);
        let reads = self.begin_round_of_batch(units.clone());
        let command = self.next_command(units.clone());
        for unit in units {
            self.array.waited(kernel.now, unit, ended);
            let next = match command {
                Some((command, turn)) => self.next_of_command(unit, command, turn),
                None => self.next_of_round(kernel.now, unit, reads),
            };
            if let Some(work) = next {
                self.rounds.as_mut().expect("as before").began[group] = kernel.now;
                self.begin(kernel, unit, work);
            }
        }
    }

    /// Whether the next round of a batch is one of reads that go first; nothing where there are no batches. All that waits is the
    /// next batch when nothing is left of the one before.
    fn begin_round_of_batch(&mut self, units: Range<u32>) -> Option<bool> {
        let left = self.rounds.as_mut()?.left.as_mut()?;
        if units.clone().all(|unit| left[unit as usize].reads + left[unit as usize].others == 0) {
            for unit in units.clone() {
                let count = |turn| self.array.waiting_for(unit, turn);
                left[unit as usize] = Left { reads: count(Turn::Read), others: count(Turn::Other) };
            }
        }
        let reads = |unit| self.array.waiting_for(unit, Turn::Retry) + left[unit as usize].reads > 0;
        Some(units.clone().any(reads))
    }

    /// Work of a unit that does not go first, and is to begin yet in the batch that is served.
    pub(super) fn left_of_batch(&self, unit: u32) -> usize {
        let left = self.rounds.as_ref().and_then(|rounds| rounds.left.as_ref());
        left.map_or(0, |left| left[unit as usize].others)
    }

    /// What of a unit's work fits a command. Reads that go first may overtake one another; other work may not: pages of a block are
    /// programmed in order, and reads of data on its way wait for its program.
    fn next_of_command(&mut self, unit: u32, command: MultiPlane, turn: Turn) -> Option<Work> {
        let looked_at = if turn == Turn::Other { 1 } else { usize::MAX };
        let fits = |work| self.multi_plane(unit, work) == Some(command);
        let at = self.array.waiting_works(unit, turn).take(looked_at).position(fits)?;
        self.array.remove(unit, turn, at)
    }

    fn next_of_round(&mut self, now: Ns, unit: u32, reads: Option<bool>) -> Option<Work> {
        let Some(left) = self.rounds.as_mut().and_then(|rounds| rounds.left.as_mut()) else {
            return self.array.next(now, unit);
        };
        let left = &mut left[unit as usize];
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
