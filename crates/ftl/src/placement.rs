//! Placement by a rule of the user's own.

use std::collections::VecDeque;

use softsense_config::ids::{Lcn, Ssd};
use softsense_config::own::{AtWork, PlaceWrites, Planes};

use super::PageMap;

/// A rule of the user's own that chooses planes for writes, and its choices for writes to come.
#[derive(Debug)]
pub(super) struct OwnPlacement {
    pub(super) rule: AtWork<dyn PlaceWrites>,
    planes: Planes,
    /// For each pool, the planes that were chosen for its next writes.
    next: Vec<VecDeque<u32>>,
}

impl OwnPlacement {
    pub(super) fn new(rule: AtWork<dyn PlaceWrites>, pools: usize) -> Self {
        Self { rule, planes: Planes::default(), next: vec![VecDeque::new(); pools] }
    }
}

impl PageMap {
    /// The position in the turn of a pool of an SSD to which the next write goes. A rule of the user's own chooses it; without one, it
    /// is the present position.
    ///
    /// # Arguments
    /// - `planes`: the number of planes in the pool.
    /// - `codewords`: how many codewords from `first` on wait to be written.
    pub(super) fn placed_at(&mut self, ssd: Ssd, pool: u32, planes: usize, first: Lcn, codewords: u32) -> usize {
        let of_pool = self.turns.of_pool(ssd, pool);
        let at = self.turns.stripe_at[of_pool];
        let Some(mut own) = self.turns.own.take() else { return at };
        if own.next[of_pool].is_empty() {
            let view = &mut own.planes;
            (view.ssd, view.codeword, view.codewords, view.in_turn) = (ssd, first, codewords, at as u32);
            view.free_pages.clear();
            view.free_pages.extend((0..planes).map(|at| self.free_pages(ssd, pool, at)));
            let check = |chosen: Vec<u32>| match chosen.iter().find(|&&plane| plane as usize >= planes) {
                None if chosen.is_empty() => Err("place: found an empty list, expected at least one plane".to_string()),
                None => Ok(chosen),
                Some(plane) => {
                    Err(format!("place: found {plane}, expected the index of a plane from 0 to {}", planes - 1))
                }
            };
            let chosen = own.rule.ask(|rule| rule.place(view), check).unwrap_or(vec![at as u32]);
            own.next[of_pool].extend(chosen);
        }
        let chosen = own.next[of_pool].pop_front().expect("one at least was chosen");
        self.turns.own = Some(own);
        chosen as usize
    }
}
