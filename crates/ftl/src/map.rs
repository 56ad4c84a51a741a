//! The map: where each logical codeword lies, what was last written at each place, and when.

use softsense_base::Result;
use softsense_config::checked::CheckedConfig;
use softsense_config::geometry::Geometry;
use softsense_config::ids::{Lcn, Place};

use super::addresses::Addresses;
use super::large_array::LargeArray;
use super::precondition::{Device, Start};

/// The map entry of a logical codeword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entry {
    Nowhere,
    /// In a slot of the controller's memory, by its number.
    Memory(u32),
    Flash(Place),
}

/// The current data of a place: its logical codeword, and the map entry that this codeword has as long as the data is current.
#[derive(Debug, Clone, Copy)]
pub struct Held {
    /// The logical codeword.
    pub lcn: Lcn,
    entry: u64,
}

/// The locations of all data.
#[derive(Debug)]
pub(super) struct Map {
    /// The locations of data before the run. A 0 in `entries`, `written` or `written_s` says that the state before the run still holds.
    pub(super) start: Start,
    /// An entry for each logical codeword: 0 as before the run, 1 for nowhere, from 2 on slots of the controller's memory, from
    /// `first_place` on places.
    entries: LargeArray,
    first_place: u64,
    /// The number of logical codewords, translation pages included.
    pub(super) codewords: u64,
    /// For each place, 1 plus the logical codeword that was last written there. The data may be stale: then the map entry of the
    /// codeword differs.
    written: LargeArray,
    /// For each page, 1 plus the second of the run in which it was written. Absent where nobody asks.
    written_s: Option<LargeArray>,
    pub(super) addresses: Addresses,
}

impl Map {
    /// # Arguments
    /// - `keeps_times`: whether somebody asks when pages were written.
    pub(super) fn new(config: &CheckedConfig, keeps_times: bool) -> Result<Self> {
        let (geometry, codewords) = (config.geometry(), config.user_codewords() + config.translation_codewords());
        let (places, first_place) = (geometry.codewords(), 2 + config.write_buffer_codewords());
        let pages = places / u64::from(geometry.codewords_per_page());
        Ok(Self {
            start: Start::Empty,
            entries: LargeArray::new(codewords, first_place + places)?.accessed_all_over(),
            first_place,
            codewords,
            written: LargeArray::new(places, codewords)?,
            written_s: keeps_times.then(|| LargeArray::new(pages, u32::MAX.into())).transpose()?,
            addresses: Addresses::new(config),
        })
    }

    /// The parts of a device that decide where data lies before the run.
    #[inline]
    pub(super) fn device<'a>(&'a self, geometry: &'a Geometry) -> Device<'a> {
        Device { geometry, addresses: &self.addresses }
    }

    #[inline(always)]
    pub(super) fn entry(&self, geometry: &Geometry, lcn: Lcn) -> Entry {
        match self.entries.get(lcn.0) {
            0 => self.entry_at_start(geometry, lcn),
            1 => Entry::Nowhere,
            entry if entry < self.first_place => Entry::Memory((entry - 2) as u32),
            entry => Entry::Flash(Place(entry - self.first_place)),
        }
    }

    fn entry_at_start(&self, geometry: &Geometry, lcn: Lcn) -> Entry {
        self.start.place_of(&self.device(geometry), lcn).map_or(Entry::Nowhere, Entry::Flash)
    }

    /// Sets an entry.
    #[inline]
    pub(super) fn set(&mut self, lcn: Lcn, to: Entry) {
        let entry = match to {
            Entry::Nowhere => 1,
            Entry::Memory(slot) => 2 + u64::from(slot),
            Entry::Flash(place) => self.first_place + place.0,
        };
        self.entries.set(lcn.0, entry);
    }

    /// Notes where a logical codeword lies, if it has not moved since before the run: the next query finds it there.
    #[inline]
    pub(super) fn note_start(&mut self, geometry: &Geometry, lcn: Lcn) {
        if self.entries.is_whole() && self.entries.get(lcn.0) == 0 {
            self.set(lcn, self.entry_at_start(geometry, lcn));
        }
    }

    /// Notes where current data lies, if it has not moved since before the run. Its place is known, and is not computed again.
    #[inline]
    pub(super) fn note_current(&mut self, held: Held) {
        if self.entries.is_whole() && self.entries.get(held.lcn.0) == 0 {
            self.entries.set(held.lcn.0, held.entry);
        }
    }

    /// The current data of a logical codeword, wherever it lies.
    pub(super) fn held(&self, lcn: Lcn) -> Held {
        Held { lcn, entry: self.entries.get(lcn.0) }
    }

    /// The place of data that lies in flash.
    #[inline]
    pub(super) fn place_of(&self, held: Held) -> Option<Place> {
        held.entry.checked_sub(self.first_place).map(Place)
    }

    /// Whether data is still current.
    #[inline]
    pub(super) fn is_current(&self, held: Held) -> bool {
        // An entry of 0 says that the data lies where it did before the run, and there it was found.
        let entry = self.entries.get(held.lcn.0);
        entry == held.entry || entry == 0
    }

    /// The data last written at a place, if any ever was.
    #[inline]
    pub(super) fn last_at(&self, geometry: &Geometry, place: Place) -> Option<Held> {
        let lcn = match self.written.get(place.0) {
            0 => self.start.lcn_at(&self.device(geometry), place)?,
            written => Lcn(written - 1),
        };
        Some(Held { lcn, entry: self.first_place + place.0 })
    }

    /// Notes which logical codeword is written at a place.
    #[inline]
    pub(super) fn write(&mut self, place: Place, lcn: Lcn) {
        self.written.set(place.0, lcn.0 + 1);
    }

    /// The second of the run in which a page of the device was written; `None` for before the run.
    #[inline]
    pub(super) fn written_s(&self, page: u64) -> Option<u32> {
        self.written_s.as_ref().and_then(|written_s| (written_s.get(page) as u32).checked_sub(1))
    }

    /// Notes the second of the run in which a page is written; `None` for before the run.
    #[inline]
    pub(super) fn set_written_s(&mut self, page: u64, now_s: Option<u64>) {
        if let Some(written_s) = &mut self.written_s {
            written_s.set(page, now_s.map_or(0, |now_s| (now_s + 1).min(u32::MAX.into())));
        }
    }

    /// Asks the CPU to fetch an entry.
    #[inline]
    pub(super) fn prefetch(&self, lcn: Lcn) {
        self.entries.prefetch(lcn.0);
    }

    /// Asks the CPU to fetch what was last written at a place.
    #[inline]
    pub(super) fn prefetch_written(&self, place: Place) {
        self.written.prefetch(place.0);
    }

    /// Asks the CPU to fetch when the page of a place was written.
    #[inline]
    pub(super) fn prefetch_written_s(&self, geometry: &Geometry, place: Place) {
        if let Some(written_s) = &self.written_s {
            written_s.prefetch(place.0 / u64::from(geometry.codewords_per_page()));
        }
    }
}
