//! The read buffer: pages of flash that were read for the host lately, decoded, in the controller's memory.
//!
//! Pages are found by the place of their data. Data that is overwritten or moved lies elsewhere, so that the map alone says what is stale.
//! Only an erased block has to be forgotten.
//!
//! When a read begins, it is decided whether the buffer takes in its pages: by the size of the request, by how often the page was missed
//! lately, or by the user's own rule.

use rustc_hash::FxHashMap;
use softsense_base::{OwnName, Result};
use softsense_config::geometry::Geometry;
use softsense_config::ids::{Lcn, Place, Superblock};
use softsense_config::own::{AdmitPages, MissedPage};
use softsense_config::spec::{ReadBufferSpec, ReadBufferTakes, ReadReplacement};
use softsense_ftl::recency::Recency;
use softsense_ftl::{Group, PageMap};
use softsense_link::OwnCost;

use super::admission::Admission;
use super::owners::ReadOwner;

#[derive(Debug)]
pub(super) struct ReadBuffer {
    /// Number of pages that it has room for.
    capacity: u32,
    /// The line of each page, numbered over the device.
    lines: FxHashMap<u64, u32>,
    pages: Vec<Line>,
    /// Lines in use, the one that is dropped next first: in the order of their last use, or as they came.
    used: Recency,
    renews: bool,
    vacant: Vec<u32>,
    largest_request_bytes: u64,
    whole_pages: bool,
    /// Units of pages that are being read, a bit each, where pages are not taken in whole.
    coming: FxHashMap<(ReadOwner, Group), u128>,
    /// The rule of admission; none where all requests that are small enough are taken in.
    admission: Option<Admission<dyn AdmitPages>>,
}

/// The properties of a read by which its pages are admitted.
pub(super) struct MissedRead<F> {
    /// Number of the first codeword.
    pub(super) codeword: F,
    /// Number of codewords.
    pub(super) codewords: u32,
    /// Bytes of the request.
    pub(super) request_bytes: u64,
    /// Whether the request is a write that covers a codeword in part.
    pub(super) for_write: bool,
}

#[derive(Debug, Clone, Copy)]
struct Line {
    page: u64,
    /// Units that begin in the page and are in the buffer as a whole, a bit each.
    units: u128,
    /// Whether the page was read ahead, and nobody has asked for it since.
    ahead: bool,
}

impl ReadBuffer {
    /// Makes an empty buffer.
    pub(super) fn new(spec: &ReadBufferSpec, page_bytes: u64, own: Option<(OwnName, Box<dyn AdmitPages>)>) -> Self {
        let capacity = (spec.bytes / page_bytes) as u32;
        Self {
            capacity,
            lines: FxHashMap::default(),
            pages: Vec::new(),
            used: Recency::default(),
            renews: spec.replacement == ReadReplacement::Lru,
            vacant: Vec::new(),
            whole_pages: spec.takes == ReadBufferTakes::WholePages,
            coming: FxHashMap::default(),
            largest_request_bytes: spec.largest_request_bytes.unwrap_or(u64::MAX),
            admission: Admission::new(spec.admission, spec.history_pages.unwrap_or(capacity), own),
        }
    }

    /// Checks the answers of the user's own rule.
    ///
    /// # Errors
    /// When an answer was not allowed, or the rule has failed.
    pub(super) fn check_own(&self) -> Result<()> {
        self.admission.as_ref().map_or(Ok(()), Admission::check_own)
    }

    /// The cost of asking the user's own rule so far; none where there is no such rule.
    pub(super) fn own_cost(&self) -> Option<(OwnName, OwnCost)> {
        self.admission.as_ref()?.own_cost(<dyn AdmitPages>::spent_s)
    }

    /// Whether the pages of a group are taken in, of which a read misses units. A page that has units in the buffer stays.
    pub(super) fn admits(&mut self, geometry: &Geometry, group: Group, missed: MissedRead<impl Fn() -> Lcn>) -> bool {
        if missed.request_bytes > self.largest_request_bytes {
            return false;
        }
        let free_pages = self.capacity - self.used.len() as u32;
        let Some(admission) = &mut self.admission else { return true };
        let (page, _) = Self::page_of(geometry, geometry.place(group.superblock, group.page, 0));
        if self.lines.contains_key(&page) {
            return true;
        }
        let MissedRead { codeword, codewords, request_bytes, for_write } = missed;
        admission.admits(page, |rule, misses| {
            rule.admit(&MissedPage { codeword: codeword(), codewords, request_bytes, for_write, misses, free_pages })
        })
    }

    /// Whether the unit at a place is in the buffer, and whether its page was read ahead and is used for the first time. If the unit is
    /// there, its page counts as used.
    #[inline]
    pub(super) fn has(&mut self, geometry: &Geometry, place: Place) -> (bool, bool) {
        let (page, slot) = Self::page_of(geometry, place);
        let Some(&line) = self.lines.get(&page) else { return (false, false) };
        let entry = &mut self.pages[line as usize];
        let found = entry.units >> slot & 1 == 1;
        if found && self.renews {
            self.used.renew(line);
        }
        (found, found && std::mem::take(&mut entry.ahead))
    }

    /// Whether the unit at a place is in the buffer; its page does not count as used.
    pub(super) fn holds(&self, geometry: &Geometry, place: Place) -> bool {
        let (page, slot) = Self::page_of(geometry, place);
        self.lines.get(&page).is_some_and(|&line| self.pages[line as usize].units >> slot & 1 == 1)
    }

    /// Takes a line for a page that has none: the one that is to be dropped next, if all are in use.
    fn line_for(&mut self, page: u64, ahead: bool) -> u32 {
        let fresh = Line { page, units: 0, ahead };
        let line = if let Some(line) = self.vacant.pop() {
            line
        } else if (self.pages.len() as u32) < self.capacity {
            self.pages.push(fresh);
            self.pages.len() as u32 - 1
        } else {
            let line = self.used.pop().expect("a full buffer has lines");
            self.lines.remove(&self.pages[line as usize].page);
            line
        };
        self.pages[line as usize] = fresh;
        self.lines.insert(page, line);
        self.used.push(line);
        line
    }

    /// Whether all units in the pages of a group are taken in when an owner reads some of them.
    pub(super) fn takes_all_of(&self, owner: ReadOwner, group: Group) -> bool {
        self.whole_pages || owner == ReadOwner::Ahead || group.pages() > 1
    }

    /// Notes units of a group that are being read and are to be kept.
    pub(super) fn expect(&mut self, owner: ReadOwner, group: Group, units: &[u32]) {
        if !self.takes_all_of(owner, group) {
            let bits = units.iter().fold(0, |bits, unit| bits | 1u128 << unit);
            *self.coming.entry((owner, group)).or_default() |= bits;
        }
    }

    /// Notes that a read of a group has ended. If it is kept, its units are in the buffer now, or all units that lie whole in its pages,
    /// but for those that nobody needs any more.
    pub(super) fn came(&mut self, geometry: &Geometry, ftl: &PageMap, owner: ReadOwner, group: Group, keeps: bool) {
        let takes_all = self.takes_all_of(owner, group);
        let came = if takes_all { u128::MAX } else { self.coming.remove(&(owner, group)).unwrap_or(0) };
        for at in group.members().filter(|_| keeps) {
            let page = group.page + at;
            let units = ftl.units_within(group.superblock, page, group.has(at + 1));
            let units = came & units.fold(0, |units, slot| units | 1u128 << slot);
            let (page, _) = Self::page_of(geometry, geometry.place(group.superblock, page, 0));
            let line = match self.lines.get(&page) {
                Some(&line) => line,
                None if units == 0 => continue,
                None => self.line_for(page, owner == ReadOwner::Ahead),
            };
            self.pages[line as usize].units |= units;
            if self.renews {
                self.used.renew(line);
            }
        }
    }

    /// Forgets everything, as power fails. Units that are being read come in when power is back.
    pub(super) fn lose_power(&mut self) {
        (self.lines, self.pages, self.used, self.vacant) = Default::default();
        if let Some(admission) = &mut self.admission {
            admission.forget_all();
        }
    }

    /// Forgets the pages of a superblock that has been erased.
    pub(super) fn erased(&mut self, geometry: &Geometry, superblock: Superblock) {
        for page in 0..geometry.pages_per_superblock() {
            let (page, _) = Self::page_of(geometry, geometry.place(superblock, page, 0));
            if let Some(line) = self.lines.remove(&page) {
                self.used.remove(line);
                self.vacant.push(line);
            }
            if let Some(admission) = &mut self.admission {
                admission.forget(page);
            }
        }
    }

    /// The page of a place, numbered over the device, and the index of the unit in its page.
    #[inline]
    fn page_of(geometry: &Geometry, place: Place) -> (u64, u32) {
        let (block, page, slot) = geometry.split(place);
        (geometry.first_place(block, page).0 / u64::from(geometry.codewords_per_page()), slot)
    }
}
