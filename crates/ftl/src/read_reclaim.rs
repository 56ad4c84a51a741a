//! Read reclaim: finds data that reads have disturbed so much that it has to be moved, from the counts of a controller.
//!
//! A block is due by its sensings. A wordline is due by its effective reads, which are counted for each wordline, or bounded from above
//! by a few counters for each block.
//!
//! When a wordline has been sensed for the host, its two neighbours are examined, and for each sensing one more wordline of the block,
//! in turn. So a wordline that is no neighbour is found after at most one round of its block. Data that is due waits in a queue of its
//! set. A wordline of an open superblock can be due once all its pages are programmed. A whole superblock can be due once it is closed.
//!
//! Reads for collection, or for the update of a translation page, are counted, but make nothing due by themselves. The moves that they
//! caused would lead to further such reads, without end where the map is in flash.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};
use softsense_base::Result;
use softsense_config::checked::CheckedConfig;
use softsense_config::ids::{Block, Set, Superblock, TiVec};
use softsense_config::spec::{ReadReclaimSpec, WordlineReclaimSpec};

use super::large_array::LargeArray;
use super::read_counts::{DISTURBANCE_SCALE, ReadCounts};
use super::space_saving::SpaceSaving;
use super::victims::VictimRule;
use super::{PageMap, Writer};

/// Data that read reclaim moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Reclaim {
    /// The superblock that holds the data.
    pub superblock: Superblock,
    /// The wordline; `None` for all of the superblock.
    pub wordline: Option<u32>,
}

/// The state of read reclaim: the controller's counts of reads, and the data that is due.
#[derive(Debug)]
pub(super) struct ReadReclaim {
    unit: Reclaims,
    /// Data that is due in each set, in the order in which it was found.
    waiting: TiVec<Set, VecDeque<Reclaim>>,
    is_waiting: FxHashSet<Reclaim>,
    /// Whether the host has no more requests. Data that is due then is moved. No more becomes due, as nobody waits for it.
    over: bool,
}

#[derive(Debug)]
enum Reclaims {
    /// Blocks, with the sensings that make a block due.
    Block(u32),
    Wordline(Wordlines),
}

#[derive(Debug)]
struct Wordlines {
    /// For each wordline of a block, the effective reads that make it due.
    limits: Vec<f64>,
    /// The greatest number of counters of a block. Without a bound the cells' own [`ReadCounts`] are used.
    counters: Option<u32>,
    counted: FxHashMap<Block, SpaceSaving>,
    adjacent_stress: f64,
    /// For each block, the next wordline in turn to be examined.
    turns: LargeArray,
}

impl ReadReclaim {
    pub(super) fn new(config: &CheckedConfig, spec: &ReadReclaimSpec, adjacent_stress: f64) -> Result<Self> {
        let geometry = config.geometry();
        let blocks = u64::from(geometry.planes()) * u64::from(geometry.blocks_per_plane());
        let unit = match spec {
            ReadReclaimSpec::Block { reads } => Reclaims::Block(*reads),
            ReadReclaimSpec::Wordline(spec) => Reclaims::Wordline(Wordlines {
                limits: limits(config, spec),
                counters: spec.counters,
                counted: FxHashMap::default(),
                adjacent_stress,
                turns: LargeArray::new(blocks, u32::MAX.into())?,
            }),
        };
        let waiting = vec![VecDeque::new(); geometry.sets() as usize].into();
        Ok(Self { unit, waiting, is_waiting: FxHashSet::default(), over: false })
    }

    /// Forgets the counts of a block that has been erased.
    pub(super) fn erased(&mut self, block: Block) {
        if let Reclaims::Wordline(wordlines) = &mut self.unit {
            wordlines.counted.remove(&block);
        }
    }
}

/// The limit of each wordline of a block, by the class of the wordline.
fn limits(config: &CheckedConfig, spec: &WordlineReclaimSpec) -> Vec<f64> {
    let wordlines = config.geometry().wordlines_per_block();
    let factors: Vec<f64> =
        (0..wordlines).map(|wordline| config.reliability().layer_factor(wordline, wordlines)).collect();
    let mut best_first: Vec<usize> = (0..wordlines as usize).collect();
    best_first.sort_by(|&one, &other| factors[one].total_cmp(&factors[other]));
    let mut limits = vec![0.0; wordlines as usize];
    for (rank, wordline) in best_first.into_iter().enumerate() {
        limits[wordline] = spec.effective_reads[rank * spec.effective_reads.len() / wordlines as usize];
    }
    limits
}

impl Wordlines {
    /// Effective reads of a wordline since the last erase of its block, as far as the controller knows them: never too few.
    fn effective(&self, read_counts: &ReadCounts, block: Block, wordline: u32) -> f64 {
        let Some(most) = self.counters else { return read_counts.effective(block, wordline) };
        let Some(counted) = self.counted.get(&block) else { return 0.0 };
        let (of_its_own, _) = counted.bounds(most, wordline);
        let beside = |at: Option<u32>| {
            let (least, most) = at.map_or((0, 0), |at| counted.bounds(most, at));
            let more = self.adjacent_stress - 1.0;
            (more * least as f64).max(more * most as f64)
        };
        let above = Some(wordline + 1).filter(|&above| (above as usize) < self.limits.len());
        let all = (counted.total() - of_its_own) as f64 + beside(wordline.checked_sub(1)) + beside(above);
        all / DISTURBANCE_SCALE as f64
    }
}

impl PageMap {
    /// Counts sensings of a wordline.
    ///
    /// # Arguments
    /// - `disturbance`: the disturbance of all the sensings, in units of 1 / [`DISTURBANCE_SCALE`] of a sensing.
    pub(super) fn note_sensings(&mut self, block: Block, wordline: u32, disturbance: u64) {
        if let Some(ReadReclaim { unit: Reclaims::Wordline(of), .. }) = &mut self.reads.reclaim
            && let Some(most) = of.counters
        {
            of.counted.entry(block).or_default().add(most, wordline, disturbance);
        }
    }

    /// Finds data that is due in a superblock of which a wordline has been sensed `sensings` times for the host.
    pub(super) fn look_at_read(&mut self, superblock: Superblock, block: Block, wordline: u32, sensings: u32) {
        let Some(ReadReclaim { unit, .. }) = &mut self.reads.reclaim else { return };
        let Reclaims::Wordline(of) = unit else { return self.note_if_due(Reclaim { superblock, wordline: None }) };
        let wordlines = self.geometry.wordlines_per_block();
        let (from, turns) = (of.turns.get(block.into()) as u32, sensings.min(wordlines));
        of.turns.set(block.into(), u64::from((from + turns) % wordlines));
        let beside = [wordline.checked_sub(1), Some(wordline + 1).filter(|&above| above < wordlines)];
        let in_turn = (from..from + turns).map(|turn| turn % wordlines);
        for wordline in beside.into_iter().flatten().chain(in_turn) {
            self.note_if_due(Reclaim { superblock, wordline: Some(wordline) });
        }
    }

    /// Finds data that is due in a superblock that has been closed.
    pub(super) fn note_all_due(&mut self, superblock: Superblock) {
        match self.reads.reclaim.as_ref().map(|reclaim| &reclaim.unit) {
            None => {}
            Some(Reclaims::Block(_)) => self.note_if_due(Reclaim { superblock, wordline: None }),
            Some(Reclaims::Wordline(_)) => {
                for wordline in 0..self.geometry.wordlines_per_block() {
                    self.note_if_due(Reclaim { superblock, wordline: Some(wordline) });
                }
            }
        }
    }

    fn note_if_due(&mut self, reclaim: Reclaim) {
        if self.is_due(reclaim)
            && let Some(ReadReclaim { waiting, is_waiting, over: false, .. }) = &mut self.reads.reclaim
            && is_waiting.insert(reclaim)
        {
            waiting[self.geometry.set_of_superblock(reclaim.superblock)].push_back(reclaim);
        }
    }

    /// Whether data can be moved and has reached its limit.
    fn is_due(&self, reclaim: Reclaim) -> bool {
        let (Some(read_counts), Some(ReadReclaim { unit, .. })) = (&self.reads.counts, &self.reads.reclaim) else {
            return false;
        };
        let Reclaim { superblock, wordline } = reclaim;
        let entry = &self.blocks[superblock];
        let can_move =
            entry.is_closed() || wordline.is_some_and(|wordline| self.is_written_in_open(superblock, wordline));
        if !can_move || entry.valid == 0 {
            return false;
        }
        let before = |page| self.reads_before_the_run(superblock, page);
        match (unit, wordline) {
            (Reclaims::Block(limit), _) => (0..self.geometry.blocks_per_superblock()).any(|member| {
                let block = self.geometry.block_in(superblock, member);
                let of_start = before(self.geometry.page_in(superblock, 0, member));
                read_counts.of_block(block) as f64 + of_start >= f64::from(*limit)
            }),
            (Reclaims::Wordline(_), None) => false,
            // Superblocks are blocks wherever wordlines are reclaimed.
            (Reclaims::Wordline(of), Some(wordline)) => {
                let block = self.geometry.block_in(superblock, 0);
                let of_start = before(self.geometry.page_in(superblock, self.geometry.pages_of(wordline).start, 0));
                let of_start = read_counts.effective_if_spread(of_start, wordline);
                let effective = of.effective(read_counts, block, wordline) + of_start;
                effective >= of.limits[wordline as usize] && self.data_in(block, wordline).next().is_some()
            }
        }
    }

    /// Whether a superblock of one block is open, and all pages of a wordline in it are programmed.
    fn is_written_in_open(&self, superblock: Superblock, wordline: u32) -> bool {
        let state = &self.sets[self.geometry.set_of_superblock(superblock)];
        let is_open = state.open.iter().flatten().any(|&(open, _)| open == superblock);
        is_open
            && self.geometry.pages_of(wordline).end <= u32::from(self.programmed[self.geometry.block_in(superblock, 0)])
    }

    /// Notes that the host has no more requests: nothing more becomes due, and wear is no longer levelled. Where the map is in flash,
    /// moves for levelling may cause more wear than they level, and would then go on without end.
    pub fn requests_are_over(&mut self) {
        self.wear.stop_levelling();
        if let Some(reclaim) = &mut self.reads.reclaim {
            reclaim.over = true;
        }
    }

    /// Whether data waits to be reclaimed in a set.
    #[inline]
    pub fn wants_reclaim(&self, set: Set) -> bool {
        self.reads.reclaim.as_ref().is_some_and(|reclaim| !reclaim.waiting[set].is_empty()) && self.takes_data(set)
    }

    /// Takes the data that has waited longest in a set and is still due. A superblock is taken only if its data fits another one, and is
    /// no candidate for garbage collection from then on. A wordline is taken only if it does not need the last free superblock, on which
    /// garbage collection relies.
    pub fn take_reclaim(&mut self, set: Set) -> Option<Reclaim> {
        loop {
            let reclaim = *self.reads.reclaim.as_ref()?.waiting[set].front()?;
            let Reclaim { superblock, wordline } = reclaim;
            let due = match wordline {
                None => self.is_due(reclaim) && self.blocks[superblock].valid <= self.most_that_fits(set),
                Some(wordline) if self.is_due(reclaim) => {
                    let block = self.geometry.block_in(superblock, 0);
                    let lcn = self.data_in(block, wordline).next().and_then(|place| self.owner(place));
                    if !self.has_room_beside_last(set, self.collector_of(lcn.expect("what is due holds data"))) {
                        return None;
                    }
                    true
                }
                Some(_) => false,
            };
            let ReadReclaim { waiting, is_waiting, .. } = self.reads.reclaim.as_mut()?;
            waiting[set].pop_front();
            is_waiting.remove(&reclaim);
            if due {
                if wordline.is_none() {
                    self.withdraw(set, superblock);
                }
                return Some(reclaim);
            }
        }
    }

    /// Whether a superblock is full and holds current data.
    pub fn holds_data(&self, superblock: Superblock) -> bool {
        let entry = &self.blocks[superblock];
        entry.is_closed() && entry.valid > 0
    }

    /// Takes a superblock whose data is to be moved, if it holds data that fits others. Where the set has lost room, the data may take
    /// all free superblocks but the last one. The superblock is no candidate for garbage collection from then on.
    pub fn take_to_move(&mut self, set: Set, superblock: Superblock) -> bool {
        let takes = self.holds_data(superblock) && self.blocks[superblock].valid <= self.room_of_others(set);
        if takes {
            self.withdraw(set, superblock);
        }
        takes
    }

    /// The most codewords of a superblock of a set that fit others. Where the set has lost room, they may take all free superblocks but
    /// the last one.
    pub(super) fn room_of_others(&self, set: Set) -> u32 {
        let beside_last = (self.sets[set].free.len() as u32).saturating_sub(1);
        let others = if self.has_lost_room() { beside_last.max(1) } else { 1 };
        self.most_that_fits(set).saturating_mul(others)
    }

    pub(super) fn withdraw(&mut self, set: Set, superblock: Superblock) {
        if self.is_slc(superblock) {
            return self.withdraw_slc(set, superblock);
        }
        self.sets[set].victims.withdraw(&mut self.blocks, superblock);
        if self.wear.levels() {
            self.wear.taken(set, superblock, self.pe_cycles(superblock), false);
        }
    }

    /// Whether a writer has room in a set without taking its last free superblock.
    pub fn has_room_beside_last(&self, set: Set, writer: Writer) -> bool {
        let state = &self.sets[set];
        state.open[writer as usize].is_some() || state.free.len() > 1
    }
}
