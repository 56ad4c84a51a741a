//! Rounds: busy units that begin together, and wait for one another.
//!
//! A round begins when all of its units are free. Each takes one of what waits for it: what would be its turn without rounds, or,
//! where a round is of a batch, what is left of that. A round waits for what its units have begun, which waits for buses and
//! decoders as ever, and for no unit. So that goes on to have one direction.

use std::ops::Range;

use softsense_base::Ns;

use super::super::kernel::Kernel;
use super::BackEnd;
use super::array::{Taken, Turn, Work};
use super::phase::Phase;
use crate::config::{RoundsSpec, RoundsTake};
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
    pub(super) fn may_begin(&mut self, now: Ns, unit: u32) -> bool {
        let Some(rounds) = &mut self.rounds else { return true };
        let began = &mut rounds.began[(unit / rounds.units) as usize];
        let joins = rounds.left.is_none() && *began == now && self.array.waiting(unit) == 0;
        let begins = joins || rounds.with(unit).all(|unit| self.array.phase(unit) == Phase::Free);
        if begins {
            rounds.began[(unit / rounds.units) as usize] = now;
        }
        begins
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
        for unit in units {
            self.array.waited(kernel.now, unit, ended);
            if let Some(work) = self.next_of_round(unit, reads) {
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

    fn next_of_round(&mut self, unit: u32, reads: Option<bool>) -> Option<Work> {
        let Some(left) = self.rounds.as_mut().and_then(|rounds| rounds.left.as_mut()) else {
            return self.array.next(unit);
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
