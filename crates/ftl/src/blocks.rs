//! The states of superblocks, and of the sets that they belong to.

use std::collections::VecDeque;

use softsense_config::checked::CheckedConfig;
use softsense_config::ids::{Set, Superblock};
use softsense_config::spec::InterleavedGroups;

use super::Writer;
use super::victims::{SharedRule, Victims};

/// The states of a superblock, in the order in which it has them. One that has been collected is free again, unless it is retired.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum State {
    /// Erased; a writer may take it.
    #[default]
    Free,
    /// A writer has taken it, and not all of its pages are programmed.
    Open,
    /// A program has failed in it, and others are under way, or their data is in the controller's memory.
    Condemned,
    /// Full, or written no more. The victim rule, or the SLC cache, holds it.
    Closed,
    /// Taken to be moved, and then erased.
    Collecting,
    /// Erased for the last time: a plane has no spare for a block of it.
    Retired,
}

/// A superblock in the FTL.
#[derive(Debug, Clone, Default)]
pub(super) struct SuperblockState {
    /// For victim rules that use it: the number of the call at which `valid` last fell, or at which the superblock was closed. 0 while
    /// the rule does not hold the superblock.
    pub(super) since: u64,
    /// Codewords of the superblock that the map points at.
    pub(super) valid: u32,
    /// Erases since the start of the run.
    pub(super) erases: u32,
    /// Reads of the superblock that are under way. An erase must wait for them.
    pub(super) reads: u32,
    state: State,
    /// Whether its codewords are divided among its blocks.
    pub(super) interleaved: bool,
    /// Whether cells of the superblock hold one bit each.
    pub(super) slc: bool,
}

impl SuperblockState {
    #[inline]
    pub(super) fn state(&self) -> State {
        self.state
    }

    /// Whether the victim rule, or the SLC cache, holds the superblock.
    #[inline]
    pub(super) fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// Changes the state.
    #[inline]
    pub(super) fn becomes(&mut self, next: State) {
        let comes_from: &[State] = match next {
            State::Free => &[State::Collecting],
            State::Open => &[State::Free],
            State::Condemned => &[State::Open],
            State::Closed => &[State::Open, State::Condemned, State::Collecting],
            State::Collecting => &[State::Closed],
            State::Retired => &[State::Collecting],
        };
        debug_assert!(comes_from.contains(&self.state), "a superblock that is {:?} cannot become {next:?}", self.state);
        self.state = next;
    }
}

/// A set of planes. The fields are laid out as written: those that every write looks at are in the first two lines of the CPU's caches.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct PlaneSet {
    /// Whether the set interleaves codewords.
    pub(super) interleaves: bool,
    /// Whether the host may program no pages of the set now, except in the SLC cache.
    pub(super) held_back: bool,
    /// Superblocks that garbage collection has taken and not erased yet.
    pub(super) being_collected: u32,
    pub(super) victims: Victims,
    /// For each [`Writer`], the open superblock, and how many of its pages have been given out. Members take turns.
    pub(super) open: [Option<(Superblock, u32)>; Writer::COUNT],
    pub(super) free: VecDeque<Superblock>,
    /// Open superblocks of the host's placement handles from 1 on. That of handle 0 is in `open`.
    pub(super) open_for_handles: Vec<Option<(Superblock, u32)>>,
}

impl PlaneSet {
    /// A set whose superblocks are all free.
    pub(super) fn new(config: &CheckedConfig, set: Set, own: Option<&SharedRule>) -> Self {
        let (geometry, spec) = (config.geometry(), &config.config().ftl);
        let superblocks = geometry.superblock_in(set, 0)..geometry.superblock_in(set, geometry.blocks_per_plane());
        let (codewords, seed) = (geometry.codewords_per_superblock(), config.config().seed);
        Self {
            held_back: false,
            free: Superblock::each(superblocks.clone()).collect(),
            open: [None; Writer::COUNT],
            open_for_handles: vec![None; config.placement_handles() as usize - 1],
            being_collected: 0,
            victims: Victims::new(spec, superblocks, codewords, seed, set, own),
            interleaves: interleaves(config, set),
        }
    }

    /// Open superblocks, of all writers and placement handles.
    pub(super) fn all_open(&self) -> impl Iterator<Item = (Superblock, u32)> {
        self.open.iter().chain(&self.open_for_handles).flatten().copied()
    }
}

/// Whether a set divides codewords among its planes.
fn interleaves(config: &CheckedConfig, set: Set) -> bool {
    let geometry = config.geometry();
    geometry.ways() > 1
        && match config.config().ftl.interleaving.groups {
            InterleavedGroups::All => true,
            InterleavedGroups::None => false,
            InterleavedGroups::WithChipFactorAbove(most) => (0..geometry.ways()).any(|member| {
                let chip = geometry.chip_of(geometry.plane_of(set, member));
                config.reliability().chip_factor(geometry.chip_rank(chip).into()) > most
            }),
        }
}
