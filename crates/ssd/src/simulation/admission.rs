//! What caches take in of what they miss: everything, what was missed before, or what a rule of the user's own says.

use std::fmt;

use rustc_hash::FxHashMap;
use softsense_base::{OwnName, Result};
use softsense_link::OwnCost;

use crate::config::CacheAdmission;
use crate::own::AtWork;
use crate::recency::Recency;

/// An admission that does not take in everything; `T` is what is asked of a user's own.
pub(super) struct Admission<T: ?Sized> {
    missed: Missed,
    /// Absent where what was missed before is admitted.
    own: Option<AtWork<T>>,
}

impl<T: ?Sized> fmt::Debug for Admission<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admission").field("missed", &self.missed).field("own", &self.own).finish()
    }
}

/// Things that were missed lately, and how often since they came here.
#[derive(Debug)]
struct Missed {
    capacity: u32,
    lines: FxHashMap<u64, u32>,
    things: Vec<(u64, u32)>,
    order: Recency,
    vacant: Vec<u32>,
}

impl<T: ?Sized> Admission<T> {
    /// None where all is taken in. It remembers so many misses.
    pub(super) fn new(admission: CacheAdmission, remembered: u32, own: Option<(OwnName, Box<T>)>) -> Option<Self> {
        let missed = Missed {
            capacity: remembered,
            lines: FxHashMap::default(),
            things: Vec::new(),
            order: Recency::default(),
            vacant: Vec::new(),
        };
        (admission != CacheAdmission::Always).then(|| Self { missed, own: own.map(AtWork::new) })
    }

    /// Whether a thing, by its number, is admitted, which has been missed.
    ///
    /// # Arguments
    /// - `ask`: asks a rule of the user's own, which is told how often it has been missed, this time with it.
    pub(super) fn admits(&mut self, thing: u64, ask: impl FnOnce(&mut T, u32) -> Result<bool>) -> bool {
        let misses = self.missed.count(thing);
        match &mut self.own {
            None => misses > 1,
            // Where it has failed nothing is taken in, until the run ends for that.
            Some(own) => own.ask(|rule| ask(rule, misses), Ok).unwrap_or(false),
        }
    }

    /// Everything is forgotten that was missed.
    pub(super) fn forget_all(&mut self) {
        let Missed { lines, things, order, vacant, .. } = &mut self.missed;
        (*lines, *things, *order, *vacant) = Default::default();
    }

    /// A thing is gone: its number is that of another from now on.
    pub(super) fn forget(&mut self, thing: u64) {
        self.missed.forget(thing);
    }

    /// Whether a rule of the user's own has answered well.
    ///
    /// # Errors
    /// What it has said.
    pub(super) fn check_own(&self) -> Result<()> {
        self.own.as_ref().map_or(Ok(()), AtWork::check)
    }

    /// What asking it has cost so far.
    pub(super) fn own_cost(&self, spent_s: impl FnOnce(&T) -> f64) -> Option<(OwnName, OwnCost)> {
        self.own.as_ref().map(|own| own.cost(spent_s))
    }
}

impl Missed {
    /// A thing is missed. How often it has been, with this time.
    fn count(&mut self, thing: u64) -> u32 {
        if let Some(&line) = self.lines.get(&thing) {
            self.order.renew(line);
            let (_, misses) = &mut self.things[line as usize];
            *misses = misses.saturating_add(1);
            return *misses;
        }
        let line = if let Some(line) = self.vacant.pop() {
            line
        } else if (self.things.len() as u32) < self.capacity {
            self.things.push((thing, 0));
            self.things.len() as u32 - 1
        } else {
            let line = self.order.pop().expect("what is full has lines");
            self.lines.remove(&self.things[line as usize].0);
            line
        };
        self.things[line as usize] = (thing, 1);
        self.lines.insert(thing, line);
        self.order.push(line);
        1
    }

    fn forget(&mut self, thing: u64) {
        if let Some(line) = self.lines.remove(&thing) {
            self.order.remove(line);
            self.vacant.push(line);
        }
    }
}
