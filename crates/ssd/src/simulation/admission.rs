//! Admission to caches of what they miss: everything, what was missed before, or what the user's own rule admits.

use std::fmt;

use rustc_hash::FxHashMap;
use softsense_base::{OwnName, Result};
use softsense_config::own::AtWork;
use softsense_config::spec::CacheAdmission;
use softsense_ftl::recency::Recency;
use softsense_link::OwnCost;

/// An admission that does not take in everything; `T` is the trait of the user's own rule.
pub(super) struct Admission<T: ?Sized> {
    missed: Missed,
    /// The user's own rule; none where things that were missed before are admitted.
    own: Option<AtWork<T>>,
}

impl<T: ?Sized> fmt::Debug for Admission<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admission").field("missed", &self.missed).field("own", &self.own).finish()
    }
}

/// Things that were missed lately, and the number of misses of each since it came here.
#[derive(Debug)]
struct Missed {
    capacity: u32,
    lines: FxHashMap<u64, u32>,
    things: Vec<(u64, u32)>,
    order: Recency,
    vacant: Vec<u32>,
}

impl<T: ?Sized> Admission<T> {
    /// Makes an admission that remembers so many misses; none where everything is taken in.
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

    /// Whether a thing that has been missed is admitted, by its number.
    ///
    /// # Arguments
    /// - `ask`: asks the user's own rule, which is told the number of misses, this one included.
    pub(super) fn admits(&mut self, thing: u64, ask: impl FnOnce(&mut T, u32) -> Result<bool>) -> bool {
        let misses = self.missed.count(thing);
        match &mut self.own {
            None => misses > 1,
            // If the rule has failed, nothing is taken in until the run ends because of that.
            Some(own) => own.ask(|rule| ask(rule, misses), Ok).unwrap_or(false),
        }
    }

    /// Forgets all misses.
    pub(super) fn forget_all(&mut self) {
        let Missed { lines, things, order, vacant, .. } = &mut self.missed;
        (*lines, *things, *order, *vacant) = Default::default();
    }

    /// Forgets a thing that is gone: its number is that of another thing from now on.
    pub(super) fn forget(&mut self, thing: u64) {
        self.missed.forget(thing);
    }

    /// Checks the answers of the user's own rule.
    ///
    /// # Errors
    /// When an answer was not allowed, or the rule has failed.
    pub(super) fn check_own(&self) -> Result<()> {
        self.own.as_ref().map_or(Ok(()), AtWork::check)
    }

    /// The cost of asking the user's own rule so far; none where there is no such rule.
    pub(super) fn own_cost(&self, spent_s: impl FnOnce(&T) -> f64) -> Option<(OwnName, OwnCost)> {
        self.own.as_ref().map(|own| own.cost(spent_s))
    }
}

impl Missed {
    /// Counts a miss of a thing. Returns the number of its misses, this one included.
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
