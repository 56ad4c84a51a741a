//! Address translation of a demand-based FTL: which map entries are at hand, and the reads and programs of translation
//! pages that it takes to have them there.
//!
//! A request's codewords are translated by translation page. Those whose entries are all at hand go on at once; the others wait for one
//! read of their page, through error correction. An entry that had changed and is evicted is written back: its page is read, and programmed
//! with everything that has changed in it (batched update). Write-backs go on beside the work that caused them: their data is in the
//! controller's memory. At most one write-back of a page is under way.
//!
//! [`PageMap`] knows at any time where data lies. This module counts what it would take to know, and lets requests wait for it. Garbage
//! collection looks places up in the pages themselves, which hold their owners. When it moves a codeword whose entry is at hand, the entry
//! is updated; otherwise the translation page is updated.

use crate::slab::RequestId;
use std::ops::Range;

use softsense_base::{OwnName, Result};
use softsense_config::ids::Lcn;
use softsense_config::own::{AdmitEntries, MissedEntry};
use softsense_config::spec::DemandSpec;
use softsense_ftl::{Evicted, MappingCache, PageMap};
use softsense_link::OwnCost;

use super::admission::Admission;
use super::statistics::Statistics;

/// The access for which codewords are translated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

/// Codewords of a request that wait for their translation page.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    pub(super) request: RequestId,
    pub(super) codewords: Range<Lcn>,
    pub(super) access: Access,
}

/// The result of looking up the entries of codewords.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LookUp {
    AtHand,
    /// The codewords wait for a translation page that others wait for already.
    Waits,
    /// The codewords wait for a translation page that has to be read.
    Load(u32),
}

/// The entry of a translation page in the directory.
#[derive(Debug, Clone)]
struct TranslationPage {
    /// Codewords that wait until the page has been read.
    waiting: Vec<Waiting>,
    write_back: Option<WriteBack>,
    /// The level at which the page was last read, if that is remembered; else 1.
    level: u8,
}

/// A translation page that is being written back.
#[derive(Debug, Clone, Default)]
struct WriteBack {
    /// Whether the page is being programmed, so that entries which change now come too late.
    programming: bool,
    /// Whether an entry has changed since then.
    again: bool,
}

#[derive(Debug)]
pub(super) struct Translation {
    cache: MappingCache,
    /// The rule of admission; none where all entries are taken in.
    admission: Option<Admission<dyn AdmitEntries>>,
    remember_levels: bool,
    lower_after_reads: u32,
    remember_translation_levels: bool,
    per_page: u64,
    directory: Vec<TranslationPage>,
}

impl Translation {
    pub(super) fn new(
        spec: &DemandSpec,
        codeword_bytes: u32,
        user_codewords: u64,
        own: Option<(OwnName, Box<dyn AdmitEntries>)>,
    ) -> Result<Self> {
        let capacity = spec.capacity();
        let per_page = codeword_bytes / spec.entry_bytes;
        Ok(Self {
            cache: MappingCache::new(capacity, spec.eviction, user_codewords, per_page)?,
            admission: Admission::new(spec.admission, spec.history_entries.unwrap_or(capacity), own),
            remember_levels: spec.remember_levels,
            lower_after_reads: spec.lower_after_reads,
            remember_translation_levels: spec.remember_translation_levels,
            per_page: per_page.into(),
            directory: vec![
                TranslationPage { waiting: Vec::new(), write_back: None, level: 1 };
                user_codewords.div_ceil(per_page.into()) as usize
            ],
        })
    }

    pub(super) fn cache(&self) -> &MappingCache {
        &self.cache
    }

    /// Whether no codeword waits for an entry, and no page is being written back.
    pub(super) fn is_idle(&self) -> bool {
        self.directory.iter().all(|page| page.waiting.is_empty() && page.write_back.is_none())
    }

    /// The first codewords of a range whose entries are in one translation page.
    pub(super) fn of_one_page(&self, codewords: &Range<Lcn>) -> Range<Lcn> {
        codewords.start..codewords.end.min(Lcn((codewords.start.0 / self.per_page + 1) * self.per_page))
    }

    fn page_of(&self, lcn: Lcn) -> u32 {
        (lcn.0 / self.per_page) as u32
    }

    /// Looks up codewords whose entries are in one translation page. If all are at hand, they count as used.
    pub(super) fn look_up(&mut self, statistics: &mut Statistics, wanted: Waiting) -> LookUp {
        let Waiting { ref codewords, access, .. } = wanted;
        let hits = Lcn::each(codewords.clone()).filter(|&lcn| self.cache.level(lcn).is_some()).count() as u64;
        let misses = Lcn::count(codewords) - hits;
        match access {
            Access::Read => {
                statistics.mapping_read_hits += hits;
                statistics.mapping_read_misses += misses;
            }
            Access::Write => {
                statistics.mapping_write_hits += hits;
                statistics.mapping_write_misses += misses;
            }
        }
        if misses == 0 {
            for lcn in Lcn::each(codewords.clone()) {
                self.cache.touch(lcn);
            }
            return LookUp::AtHand;
        }
        let page = self.page_of(codewords.start);
        let waiting = &mut self.directory[page as usize].waiting;
        waiting.push(wanted);
        if waiting.len() == 1 { LookUp::Load(page) } else { LookUp::Waits }
    }

    /// Takes the codewords that waited for a translation page, which is in the controller's memory now.
    pub(super) fn loaded(&mut self, page: u32) -> Vec<Waiting> {
        std::mem::take(&mut self.directory[page as usize].waiting)
    }

    /// Whether an entry that a read needed is to be kept. An entry that is in the cache stays.
    pub(super) fn admits(&mut self, lcn: Lcn, codewords: &Range<Lcn>) -> bool {
        let Some(admission) = &mut self.admission else { return true };
        if self.cache.level(lcn).is_some() {
            return true;
        }
        let codewords = Lcn::count(codewords) as u32;
        admission.admits(lcn.0, |rule, misses| rule.admit(&MissedEntry { codeword: lcn, codewords, misses }))
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
        self.admission.as_ref()?.own_cost(<dyn AdmitEntries>::spent_s)
    }

    /// Takes the entry of a codeword from its page. Returns the translation page that has to be written back, if an entry that had changed
    /// is evicted.
    pub(super) fn take_in(&mut self, statistics: &mut Statistics, lcn: Lcn) -> Option<u32> {
        if self.cache.touch(lcn) {
            return None;
        }
        let Evicted { lcn, dirty, .. } = self.cache.insert(lcn, 1)?;
        statistics.mapping_evictions += 1;
        statistics.mapping_dirty_evictions += u64::from(dirty);
        dirty.then(|| self.page_of(lcn))
    }

    /// Notes that the map entry of a codeword has changed, and that its data is fresh. Returns the translation page that has to be written
    /// back, if the entry is not at hand.
    pub(super) fn entry_changed(&mut self, ftl: &PageMap, lcn: Lcn) -> Option<u32> {
        if ftl.is_translation_page(lcn) {
            self.directory[ftl.translation_page_index(lcn)].level = 1;
            return None;
        }
        self.cache.set_level(lcn, 1);
        (!self.cache.mark_dirty(lcn)).then(|| self.page_of(lcn))
    }

    /// Notes that a translation page is to be brought up to date. Returns whether that begins now. If a write-back of the page is under
    /// way, the changes go with it, or follow it.
    pub(super) fn begin_write_back(&mut self, page: u32) -> bool {
        let write_back = &mut self.directory[page as usize].write_back;
        if let Some(under_way) = write_back {
            under_way.again |= under_way.programming;
            return false;
        }
        *write_back = Some(WriteBack::default());
        true
    }

    /// Notes that a translation page is being programmed with all that has changed in it.
    pub(super) fn programming(&mut self, page: u32) {
        self.cache.clean_page(page);
        let entry = &mut self.directory[page as usize];
        entry.level = 1;
        entry.write_back.as_mut().expect("it is being written back").programming = true;
    }

    /// Notes that a translation page has been programmed. Returns whether it has to be written back once more.
    pub(super) fn programmed(&mut self, page: u32) -> bool {
        self.directory[page as usize].write_back.take().expect("it was being written back").again
    }

    /// Gives up a translation page that finds no room in flash, and never will: its changes are in the cache, or lost with it.
    pub(super) fn give_up(&mut self, page: u32) {
        self.directory[page as usize].write_back = None;
    }

    /// The read level that the map entry of a codeword, or the directory of a translation page, remembers.
    #[inline]
    pub(super) fn remembered_level(&self, ftl: &PageMap, lcn: Lcn) -> Option<u8> {
        if ftl.is_translation_page(lcn) {
            return Some(self.directory[ftl.translation_page_index(lcn)].level);
        }
        if self.remember_levels { self.cache.level(lcn) } else { None }
    }

    /// Notes the level at which a codeword has been read, at once or after attempts at other levels.
    #[inline]
    pub(super) fn remember_level(&mut self, ftl: &PageMap, lcn: Lcn, level: u8, at_once: bool) {
        if ftl.is_translation_page(lcn) {
            if self.remember_translation_levels {
                self.directory[ftl.translation_page_index(lcn)].level = level;
            }
        } else if self.remember_levels {
            self.cache.read_ended(lcn, level, at_once, self.lower_after_reads);
        }
    }
}
