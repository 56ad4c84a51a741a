//! Reads under way: the state of each read, of the pages that it senses and of the codewords that it is for.

use softsense_base::{Ns, Pj};
use softsense_link::{Fate, History, Outcome, Step};

use super::super::statistics::ReadTime;
use super::array::{NONE, Taken};
use super::orders::{CodewordOrder, ReadOrder};
use crate::slab::{CodewordId, ReadId, Slab};

/// A read of a page, or of a group of interleaved ones, from its first sensing to the last decode of its last attempt.
#[derive(Debug, Clone)]
pub(super) struct Read {
    pub(super) order: ReadOrder,
    pub(super) page_type: u32,
    pub(super) step: Step,
    /// Time for which a codeword of the attempt is on the bus, where codes do not differ in their length; and the energy of its transfer.
    pub(super) transfer: Ns,
    pub(super) transfer_energy: Pj,
    pub(super) history: History,
    /// The step that is sensed before the outcome of the present one is known, if there is one.
    pub(super) ahead: Option<Step>,
    pub(super) attempts: u8,
    /// Attempts at known cells only; `attempts` includes them.
    pub(super) known_cell_reads: u8,
    /// Sensings of each of its pages: hard decision and every extra level count once.
    pub(super) sensings: u32,
    /// Whether a scrub has found that the data needs refresh.
    pub(super) needs_refresh: bool,
    /// Whether the first attempt was above level 1.
    pub(super) soft_start: bool,
    /// First and last of its codewords.
    first: CodewordId,
    last: CodewordId,
    /// Codewords of this attempt whose decode is not over.
    pub(super) undecided: u32,
    /// Whether a codeword of this attempt has failed.
    pub(super) failed: bool,
    /// Whether parity has rebuilt codewords that the attempts did not decode, or tried to.
    pub(super) recovered: bool,
    pub(super) queued_at: Ns,
    pub(super) time: ReadTime,
    /// Whether the read waited for an array; `time.wait_plane` by what took the array meanwhile; and the units of data for which both are
    /// counted.
    pub(super) has_waited: bool,
    pub(super) waited_for: Taken,
    pub(super) counted: u32,
    pub(super) energy: Pj,
}

/// The state of one page of the group of a read. Parts are numbered read x (parts of a read) + member.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Part {
    /// Time for which its page is sensed in the attempt.
    pub(super) sense: Ns,
    /// The instant at which the array was taken for the page; used of the first attempt.
    pub(super) sensing_from: Ns,
    /// Time from then until the array had its command.
    pub(super) addressed_for: Ns,
    pub(super) sensed_at: Ns,
    /// Whether the part had to wait for its array; and for how long the array was taken meanwhile, by kind and by cause. While the part
    /// waits, the latter says for how long the array had been taken before.
    pub(super) has_waited: bool,
    pub(super) waited_for: Taken,
    /// Codewords that wait for the bus or are on it.
    pub(super) to_transfer: u32,
    /// Whether the unit senses the next level, or has sensed it, before the outcome of this one is known.
    pub(super) looking_ahead: bool,
}

/// The state of a codeword in its read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Progress {
    /// To be sensed, transferred and decoded in this attempt.
    #[default]
    Undecided,
    Failed,
    Decoded,
}

/// A codeword of a read. There are as many as are under way: the fewer bytes each has, the more stay in the CPU's caches.
#[derive(Debug, Clone, Default)]
pub(super) struct Codeword {
    pub(super) read: ReadId,
    /// The next codeword of the read.
    next: CodewordId,
    /// The first codeword of its unit of data, which counts for the unit.
    pub(super) unit: CodewordId,
    pub(super) pool: u32,
    /// Index of the codeword in its page, or pages.
    pub(super) number: u32,
    pub(super) fate: Fate,
    /// Times for which the part in the first page, and the part in any other page, are on the bus; none where codewords do not differ in
    /// length.
    pub(super) transfer: Option<[Ns; 2]>,
    /// Units of data that are wanted of this codeword.
    pub(super) units: u16,
    pub(super) first_part: u16,
    pub(super) parts: u16,
    /// Parts that have yet to arrive.
    pub(super) to_arrive: u16,
    /// Codewords of the unit whose decode is not over in this attempt, and whether one of the unit has failed; valid in the first codeword
    /// of a unit.
    pub(super) unit_undecided: u16,
    pub(super) unit_failed: bool,
    pub(super) progress: Progress,
    /// Failed attempts at this codeword; those at known cells do not count.
    pub(super) failures: u8,
    /// The outcome of the attempt.
    pub(super) outcome: Outcome,
    /// Whether the codeword needs neither a decoder nor a predictor before it: it has few errors, or known cells were read.
    pub(super) bypasses: bool,
    /// Whether the decode is skipped, as it was predicted to fail.
    pub(super) skips_decoding: bool,
}

impl Read {
    /// Attempts at its codewords beyond the first, without those at known cells.
    pub(super) fn retries(&self) -> u8 {
        self.attempts - 1 - self.known_cell_reads
    }
}

impl Codeword {
    /// Whether a page of the group has a part of it.
    #[inline]
    pub(super) fn is_in(&self, member: u32) -> bool {
        member.wrapping_sub(self.first_part.into()) < self.parts.into()
    }
}

#[derive(Debug)]
pub(super) struct Reads {
    pub(super) reads: Slab<ReadId, Read>,
    pub(super) codewords: Slab<CodewordId, Codeword>,
    parts: Vec<Part>,
    /// Pages that a read may have to do with: as many as there are ways, or, where units cross pages, those of a run.
    pub(super) parts_per_read: u32,
}

impl Reads {
    pub(super) fn new(parts_per_read: u32) -> Self {
        Self { reads: Slab::default(), codewords: Slab::default(), parts: Vec::new(), parts_per_read }
    }

    /// Creates a read that has not been attempted. Its codewords are added next.
    #[inline]
    pub(super) fn insert(&mut self, order: ReadOrder, page_type: u32, now: Ns) -> ReadId {
        // Built in its place, as codewords are; `begin_attempt` and whoever begins the read set the rest.
        let new = || Read {
            order,
            page_type,
            step: Step::fresh(1),
            transfer: Ns::ZERO,
            transfer_energy: Pj::default(),
            history: History::default(),
            ahead: None,
            attempts: 0,
            known_cell_reads: 0,
            sensings: 0,
            soft_start: false,
            needs_refresh: false,
            first: CodewordId(NONE),
            last: CodewordId(NONE),
            undecided: 0,
            failed: false,
            recovered: false,
            queued_at: now,
            time: ReadTime::default(),
            has_waited: false,
            waited_for: Taken::default(),
            counted: 0,
            energy: Pj::default(),
        };
        let read = self.reads.reuse(new);
        let entry = &mut self.reads[read];
        (entry.order, entry.page_type, entry.queued_at) = (order, page_type, now);
        (entry.attempts, entry.known_cell_reads, entry.soft_start) = (0, 0, false);
        (entry.first, entry.last, entry.recovered) = (CodewordId(NONE), CodewordId(NONE), false);
        (entry.sensings, entry.time, entry.energy) = (0, ReadTime::default(), Pj::default());
        (entry.has_waited, entry.counted, entry.needs_refresh) = (false, 0, false);
        let parts = ((read.0 + 1) * self.parts_per_read) as usize;
        if self.parts.len() < parts {
            self.parts.resize(parts, Part::default());
        }
        read
    }

    /// Adds what a part of a read has waited for to what the read has waited for.
    pub(super) fn add_wait(&mut self, read: ReadId, part: u32) {
        let waited_for = &self.parts[part as usize].waited_for;
        let read = &mut self.reads[read];
        if read.has_waited {
            read.waited_for.iter_mut().zip(waited_for).for_each(|(sum, &more)| *sum += more);
        } else {
            (read.has_waited, read.waited_for) = (true, *waited_for);
        }
    }

    /// Adds a codeword to a read.
    ///
    /// # Arguments
    /// - `transfer`: as [`Codeword::transfer`].
    #[inline(always)]
    pub(super) fn add_codeword(&mut self, read: ReadId, order: CodewordOrder, pool: u32, transfer: Option<[Ns; 2]>) {
        let CodewordOrder { fate, number, begins_unit, units, first_part, parts, .. } = order;
        // Built in its place: if it were put together elsewhere and then moved, the CPU would wait for itself.
        let index = self.codewords.reuse(Codeword::default);
        let before = std::mem::replace(&mut self.reads[read].last, index);
        let unit = if begins_unit { index } else { self.codewords[before].unit };
        let codeword = &mut self.codewords[index];
        codeword.read = read;
        codeword.next = CodewordId(NONE);
        codeword.unit = unit;
        codeword.pool = pool;
        codeword.number = number;
        codeword.fate = fate;
        codeword.transfer = transfer;
        codeword.units = units;
        codeword.first_part = first_part;
        codeword.parts = parts;
        codeword.unit_undecided = 0;
        codeword.unit_failed = false;
        codeword.failures = 0;
        // The first attempt takes it in like a codeword that has failed.
        codeword.progress = Progress::Failed;
        if before == CodewordId(NONE) {
            self.reads[read].first = index;
        } else {
            self.codewords[before].next = index;
        }
    }

    /// The first codeword of a read.
    #[inline]
    pub(super) fn first_of(&self, read: ReadId) -> Option<CodewordId> {
        Self::there(self.reads[read].first)
    }

    /// The codeword after one; none after the last codeword of a read.
    #[inline]
    pub(super) fn next_of(&self, codeword: CodewordId) -> Option<CodewordId> {
        Self::there(self.codewords[codeword].next)
    }

    /// The codewords of a read.
    pub(super) fn codewords_of(&self, read: ReadId) -> impl Iterator<Item = &Codeword> {
        let indices = std::iter::successors(self.first_of(read), |&index| self.next_of(index));
        indices.map(|index| &self.codewords[index])
    }

    /// The fates of the codewords of a read.
    pub(super) fn fates_of(&self, read: ReadId) -> impl Iterator<Item = &Fate> {
        self.codewords_of(read).map(|codeword| &codeword.fate)
    }

    /// The fate of the first codeword of a read. It stands for the page in what all codewords of a page have in common.
    pub(super) fn first_fate(&self, read: ReadId) -> &Fate {
        self.fates_of(read).next().expect("a read has codewords")
    }

    #[inline]
    fn there(index: CodewordId) -> Option<CodewordId> {
        (index != CodewordId(NONE)).then_some(index)
    }

    /// Takes codewords that have failed, or have never been tried, into a new attempt at `step`. An attempt at known cells takes only the
    /// first of them.
    ///
    /// # Arguments
    /// - `outcome`: the outcome of the step for a codeword.
    #[inline]
    pub(super) fn begin_attempt(&mut self, read: ReadId, step: Step, outcome: impl Fn(&Fate) -> Outcome) {
        let entry = &mut self.reads[read];
        entry.attempts += 1;
        entry.known_cell_reads += u8::from(step.known_cells);
        entry.soft_start |= entry.attempts == 1 && step.level > 1;
        (entry.step, entry.ahead, entry.failed, entry.undecided) = (step, None, false, 0);
        let mut at = self.first_of(read);
        while let Some(index) = at {
            let codeword = &mut self.codewords[index];
            if codeword.progress == Progress::Failed {
                codeword.progress = Progress::Undecided;
                codeword.skips_decoding = false;
                codeword.outcome = if step.known_cells { Outcome::default() } else { outcome(&codeword.fate) };
                codeword.bypasses = step.known_cells || codeword.outcome.few_errors;
                codeword.to_arrive = codeword.parts;
                let unit = codeword.unit;
                let unit = &mut self.codewords[unit];
                (unit.unit_undecided, unit.unit_failed) = (unit.unit_undecided + 1, false);
                self.reads[read].undecided += 1;
                if step.known_cells {
                    return;
                }
            }
            at = self.next_of(index);
        }
    }

    /// Ends a read of which nothing is decoded, as its die answers nothing. Each of its units counts as one whose first attempt has failed.
    pub(super) fn lose(&mut self, read: ReadId, now: Ns) {
        let entry = &mut self.reads[read];
        (entry.attempts, entry.step, entry.ahead) = (1, Step::fresh(1), None);
        (entry.failed, entry.undecided) = (true, 0);
        let mut at = self.first_of(read);
        while let Some(index) = at {
            at = self.next_of(index);
            let unit = self.codewords[index].unit;
            self.codewords[unit].unit_failed = true;
            if unit == index {
                let entry = &mut self.reads[read];
                entry.counted += 1;
                entry.time.retries.0 = entry.time.retries.0.wrapping_sub(now.0);
            }
        }
    }

    /// Notes that a codeword is decoded, or that its decode has failed. Returns whether it was the last one of its unit in this attempt,
    /// and whether all codewords of the unit are decoded then.
    #[inline]
    pub(super) fn decided(&mut self, codeword: CodewordId) -> (bool, bool) {
        let entry = &mut self.codewords[codeword];
        let read = &mut self.reads[entry.read];
        let decoded = entry.outcome.decoded;
        entry.progress = if decoded { Progress::Decoded } else { Progress::Failed };
        entry.failures += u8::from(!decoded && !read.step.known_cells);
        let unit = entry.unit;
        let unit = &mut self.codewords[unit];
        unit.unit_undecided -= 1;
        unit.unit_failed |= !decoded;
        let (over, all) = (unit.unit_undecided == 0, !unit.unit_failed);
        read.undecided -= 1;
        read.failed |= !decoded;
        (over, over && all)
    }

    /// Removes a read that is over, and its codewords.
    #[inline]
    pub(super) fn remove(&mut self, read: ReadId) {
        let mut at = self.first_of(read);
        while let Some(codeword) = at {
            at = self.next_of(codeword);
            self.codewords.remove(codeword);
        }
        self.reads.remove(read);
    }

    /// The number of the part of a member.
    #[inline]
    pub(super) fn part_number(&self, of: impl Into<usize>, member: u32) -> u32 {
        let of = of.into() as u32;
        if self.parts_per_read == 1 { of } else { of * self.parts_per_read + member }
    }

    /// The read or the program, and the member, that a part belongs to.
    #[inline]
    pub(super) fn of_part<N: From<usize>>(&self, part: u32) -> (N, u32) {
        let parts = self.parts_per_read;
        let (of, member) = if parts == 1 { (part, 0) } else { (part / parts, part % parts) };
        (N::from(of as usize), member)
    }

    #[inline]
    pub(super) fn part(&self, part: u32) -> &Part {
        &self.parts[part as usize]
    }

    #[inline]
    pub(super) fn part_mut(&mut self, part: u32) -> &mut Part {
        &mut self.parts[part as usize]
    }
}
