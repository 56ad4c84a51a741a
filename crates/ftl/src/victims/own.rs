use std::sync::{Arc, Mutex, PoisonError};

use softsense_config::ids::{Set, Superblock, TiVec};
use softsense_config::own::{AtWork, Candidates, ChooseVictim};

use super::{SuperblockState, VictimRule};

/// A rule of the user's own. All sets share it, and each question says which set asks.
pub(in super::super) type SharedRule = Arc<Mutex<AtWork<dyn ChooseVictim>>>;

/// The superblock that a rule of the user's own chooses among those that are worth collecting. Once the rule has failed, it is the
/// superblock that was closed first, until the run ends because of the failure.
///
/// Finding a victim takes a look at each held superblock.
#[derive(Debug)]
pub(in super::super) struct Own {
    rule: SharedRule,
    /// Superblocks closed so far.
    closings: u64,
    /// Held superblocks in the order of closing, each with the number of superblocks closed before it.
    held: Vec<(Superblock, u64)>,
    candidates: Candidates,
    /// The indices of the candidates in `held`.
    indices: Vec<usize>,
}

impl Own {
    pub(super) fn new(rule: SharedRule, set: Set) -> Self {
        let candidates = Candidates { set, ..Candidates::default() };
        Self { rule, closings: 0, held: Vec::new(), candidates, indices: Vec::new() }
    }
}

impl VictimRule for Own {
    fn closed(&mut self, _: &mut TiVec<Superblock, SuperblockState>, superblock: Superblock) {
        self.held.push((superblock, self.closings));
        self.closings += 1;
    }

    fn take(&mut self, blocks: &mut TiVec<Superblock, SuperblockState>, most: u32) -> Option<Superblock> {
        let Candidates { blocks: numbers, valid, age, erases, .. } = &mut self.candidates;
        numbers.clear();
        valid.clear();
        age.clear();
        erases.clear();
        self.indices.clear();
        for (index, &(superblock, before)) in self.held.iter().enumerate() {
            let block = &blocks[superblock];
            if block.valid <= most {
                numbers.push(superblock);
                valid.push(block.valid);
                age.push(self.closings - before);
                erases.push(block.erases);
                self.indices.push(index);
            }
        }
        if self.indices.is_empty() {
            return None;
        }
        let (candidates, indices) = (&self.candidates, &self.indices);
        let index = |chosen: usize| {
            let last = indices.len() - 1;
            indices
                .get(chosen)
                .copied()
                .ok_or_else(|| format!("choose: found {chosen}, expected the index of a candidate from 0 to {last}"))
        };
        let mut rule = self.rule.lock().unwrap_or_else(PoisonError::into_inner);
        let chosen = rule.ask(|rule| rule.choose(candidates), index).unwrap_or(indices[0]);
        Some(self.held.remove(chosen).0)
    }

    fn withdraw(&mut self, _: &mut TiVec<Superblock, SuperblockState>, superblock: Superblock) {
        self.held.retain(|&(held, _)| held != superblock);
    }

    fn held(&self, _: &TiVec<Superblock, SuperblockState>) -> Vec<Superblock> {
        self.held.iter().map(|&(superblock, _)| superblock).collect()
    }
}
