//! Address translation of a demand-based FTL: which map entries are at hand, and the reads and programs of translation
//! pages that it takes to have them there.
//!
//! A request's codewords are translated by translation page. Those whose entries are all at hand go on at once; the others
//! wait for one read of their page, through error correction. An entry that had changed and had to go is written back: its
//! page is read, and programmed with everything that has changed in it (batched update). Write-backs go on beside what
//! caused them: their data is in the controller's memory. At most one of a page is under way.
//!
//! Where data lies is known to [`PageMap`](crate::ftl::PageMap) at any time; here is counted and waited for what knowing it
//! would take. Garbage collection looks places up in the pages themselves, which hold their owners. An entry that is at hand
//! is updated when it moves a codeword; for any other the translation page is updated.

use std::ops::Range;

use softsense_base::Result;

use super::Simulation;
use super::back_end::{Owner, ProgramOwner};
use super::writes::BUFFERED_SSD;
use crate::config::DemandSpec;
use crate::ftl::{Evicted, Lcn, Location, MappingCache};

/// What codewords are translated for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

/// Codewords of a request that wait for their translation page.
#[derive(Debug, Clone)]
struct Waiting {
    request: u32,
    codewords: Range<Lcn>,
    access: Access,
}

/// What the directory knows of a translation page.
#[derive(Debug, Clone)]
struct TranslationPage {
    /// Who waits for it to be read.
    waiting: Vec<Waiting>,
    write_back: Option<WriteBack>,
    /// The level at which it was last read, if that is remembered; else 1.
    level: u8,
}

/// A translation page that is being written back.
#[derive(Debug, Clone, Default)]
struct WriteBack {
    /// Whether it is being programmed, so that what changes now comes too late.
    programming: bool,
    /// Whether something has.
    again: bool,
}

#[derive(Debug)]
pub(super) struct Translation {
    cache: MappingCache,
    remember_levels: bool,
    lower_after_reads: u32,
    remember_translation_levels: bool,
    per_page: u32,
    directory: Vec<TranslationPage>,
    /// Write-backs that wait for room in flash.
    stalled: Vec<u32>,
}

impl Translation {
    pub(super) fn new(spec: &DemandSpec, codeword_bytes: u32, user_codewords: u64) -> Result<Self> {
        let capacity = spec.capacity();
        let per_page = codeword_bytes / spec.entry_bytes;
        Ok(Self {
            cache: MappingCache::new(capacity, spec.eviction, user_codewords, per_page)?,
            remember_levels: spec.remember_levels,
            lower_after_reads: spec.lower_after_reads,
            remember_translation_levels: spec.remember_translation_levels,
            per_page,
            directory: vec![
                TranslationPage { waiting: Vec::new(), write_back: None, level: 1 };
                user_codewords.div_ceil(per_page.into()) as usize
            ],
            stalled: Vec::new(),
        })
    }

    pub(super) fn cache(&self) -> &MappingCache {
        &self.cache
    }

    /// Whether nothing is under way.
    pub(super) fn is_idle(&self) -> bool {
        let at_rest = |page: &TranslationPage| page.waiting.is_empty() && page.write_back.is_none();
        self.directory.iter().all(at_rest) && self.stalled.is_empty()
    }
}

impl Simulation {
    /// Codewords of a request are read or written as soon as their map entries are at hand.
    pub(super) fn translate(&mut self, request: u32, codewords: Range<Lcn>, access: Access) {
        let Some(translation) = &mut self.translation else { return self.access(request, codewords, access) };
        let per_page = u64::from(translation.per_page);
        let Range { mut start, end } = codewords;
        while start < end {
            let page = (start / per_page) as u32;
            let codewords = start..end.min((u64::from(page) + 1) * per_page);
            start = codewords.end;
            let translation = self.translation.as_mut().expect("it was just there");
            let hits = codewords.clone().filter(|&lcn| translation.cache.level(lcn).is_some()).count() as u64;
            let misses = (codewords.end - codewords.start) - hits;
            match access {
                Access::Read => {
                    self.statistics.mapping_read_hits += hits;
                    self.statistics.mapping_read_misses += misses;
                }
                Access::Write => {
                    self.statistics.mapping_write_hits += hits;
                    self.statistics.mapping_write_misses += misses;
                }
            }
            if misses == 0 {
                codewords.clone().for_each(|lcn| {
                    translation.cache.touch(lcn);
                });
                self.access(request, codewords, access);
                continue;
            }
            let waiting = &mut translation.directory[page as usize].waiting;
            waiting.push(Waiting { request, codewords, access });
            if waiting.len() == 1 {
                self.load(page);
            }
        }
    }

    fn access(&mut self, request: u32, codewords: Range<Lcn>, access: Access) {
        match access {
            Access::Read => self.read_codewords(request, codewords),
            Access::Write => self.write_codewords(request, codewords),
        }
    }

    /// The map entry of a codeword says something new, and its data is fresh.
    pub(super) fn entry_changed(&mut self, lcn: Lcn) {
        let Some(translation) = &mut self.translation else { return };
        if self.ftl.is_translation_page(lcn) {
            translation.directory[self.ftl.translation_page_index(lcn)].level = 1;
            return;
        }
        let page = (lcn / u64::from(translation.per_page)) as u32;
        translation.cache.set_level(lcn, 1);
        if !translation.cache.mark_dirty(lcn) {
            self.write_back(page);
        }
    }

    /// Reads a translation page that requests wait for.
    fn load(&mut self, page: u32) {
        if !self.read_translation(page, Owner::Load { page }) {
            self.loaded(page);
        }
    }

    /// Begins to read a translation page; false if it is in the controller's memory, or nothing of it was ever written.
    fn read_translation(&mut self, page: u32, owner: Owner) -> bool {
        let Location::Flash(place) = self.ftl.locate(self.ftl.translation_page(page)) else { return false };
        self.statistics.translation_reads += 1;
        let (group, bit) = self.ftl.group_of(place);
        self.start_read(owner, group, 1 << bit);
        true
    }

    /// A translation page is in the controller's memory: its entries are taken from it, and who waited goes on.
    pub(super) fn loaded(&mut self, page: u32) {
        let translation = self.translation.as_mut().expect("there are translation pages");
        let waiting = std::mem::take(&mut translation.directory[page as usize].waiting);
        for Waiting { request, codewords, access } in waiting {
            for lcn in codewords.clone() {
                let translation = self.translation.as_mut().expect("it was just there");
                if translation.cache.touch(lcn) {
                    continue;
                }
                let gone = translation.cache.insert(lcn, 1);
                self.statistics.mapping_evictions += u64::from(gone.is_some());
                if let Some(Evicted { lcn, dirty: true, .. }) = gone {
                    let page = (lcn / u64::from(translation.per_page)) as u32;
                    self.statistics.mapping_dirty_evictions += 1;
                    self.write_back(page);
                }
            }
            self.access(request, codewords, access);
        }
    }

    /// Brings a translation page up to date.
    fn write_back(&mut self, page: u32) {
        let translation = self.translation.as_mut().expect("there are translation pages");
        let write_back = &mut translation.directory[page as usize].write_back;
        if let Some(under_way) = write_back {
            under_way.again |= under_way.programming;
            return;
        }
        *write_back = Some(WriteBack::default());
        if !self.read_translation(page, Owner::WriteBack { page }) {
            self.program_translation(page);
        }
    }

    /// Programs a translation page with all that has changed in it, or waits for room.
    pub(super) fn program_translation(&mut self, page: u32) {
        let Some(group) = self.ftl.open_for_translation() else {
            self.translation.as_mut().expect("there are translation pages").stalled.push(page);
            self.make_room(BUFFERED_SSD);
            return;
        };
        let translation = self.translation.as_mut().expect("there are translation pages");
        translation.cache.clean_page(page);
        let entry = &mut translation.directory[page as usize];
        entry.level = 1;
        entry.write_back.as_mut().expect("it is being written back").programming = true;
        self.ftl.place(group, 0, self.ftl.translation_page(page));
        self.start_program(group, 1, ProgramOwner::Translation { page });
    }

    /// A translation page has been programmed.
    pub(super) fn translation_programmed(&mut self, page: u32) {
        let translation = self.translation.as_mut().expect("there are translation pages");
        let done = translation.directory[page as usize].write_back.take().expect("it was being written back");
        if done.again {
            self.write_back(page);
        }
    }

    /// Write-backs that waited for room go on.
    pub(super) fn resume_stalled_translations(&mut self) {
        let Some(translation) = &mut self.translation else { return };
        for page in std::mem::take(&mut translation.stalled) {
            self.program_translation(page);
        }
    }

    /// The read level that the map entry of a codeword remembers, or the directory of a translation page.
    #[inline]
    pub(super) fn remembered_level(&self, lcn: Lcn) -> Option<u8> {
        let translation = self.translation.as_ref()?;
        if self.ftl.is_translation_page(lcn) {
            return Some(translation.directory[self.ftl.translation_page_index(lcn)].level);
        }
        if translation.remember_levels { translation.cache.level(lcn) } else { None }
    }

    /// A codeword has been read at `level`, at once or after attempts at others.
    #[inline]
    pub(super) fn remember_level(&mut self, lcn: Lcn, level: u8, at_once: bool) {
        let Some(translation) = &mut self.translation else { return };
        if self.ftl.is_translation_page(lcn) {
            if translation.remember_translation_levels {
                translation.directory[self.ftl.translation_page_index(lcn)].level = level;
            }
        } else if translation.remember_levels {
            translation.cache.read_ended(lcn, level, at_once, translation.lower_after_reads);
        }
    }
}
