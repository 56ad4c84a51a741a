//! Rules of the FTL and of caches that users have written in Python, and the objects that they are shown.

use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use softsense_base::{OwnName, Result};
use softsense_config::own::{
    AdmitEntries, AdmitPages, Candidates, ChooseVictim, MissedEntry as EntryThere, MissedPage as PageThere, Pace,
    PaceCollection, PacedSet, PlaceWrites, Planes as PlanesThere,
};

use super::{Asked, bad};

// ---- Victims ----

impl ChooseVictim for Asked {
    fn choose(&mut self, candidates: &Candidates) -> Result<usize> {
        let name = self.name;
        self.ask("choose", ClosedBlocks { candidates: candidates.clone() }, |answer| {
            answer.extract().map_err(|_| bad(name, "choose", answer, "the index of a block"))
        })
    }

    fn spent_s(&self) -> f64 {
        self.spent_s
    }
}

/// The closed blocks of a plane that are worth collecting, as a rule for victims sees them: arrays (int64, shape (n,)) in the order in
/// which the blocks were closed.
#[pyclass(module = "softsense._core", frozen)]
pub(crate) struct ClosedBlocks {
    candidates: Candidates,
}

fn array<'py, T: Copy + Into<u64>>(py: Python<'py>, values: &[T]) -> Bound<'py, PyArray1<i64>> {
    values.iter().map(|&value| value.into() as i64).collect::<Vec<_>>().into_pyarray(py)
}

#[pymethods]
impl ClosedBlocks {
    /// The number of the plane, or of the set of planes with interleaved codewords.
    #[getter]
    fn set(&self) -> u32 {
        self.candidates.set.0
    }

    /// Numbers of the blocks in the device.
    #[getter]
    fn blocks<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        array(py, &self.candidates.blocks)
    }

    /// Numbers of valid codewords of the blocks.
    #[getter]
    fn valid<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        array(py, &self.candidates.valid)
    }

    /// Numbers of blocks of the plane that were closed since, each with itself: 1 for the last.
    #[getter]
    fn age<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        array(py, &self.candidates.age)
    }

    /// Erases of the blocks since the start of the run.
    #[getter]
    fn erases<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        array(py, &self.candidates.erases)
    }

    fn __len__(&self) -> usize {
        self.candidates.blocks.len()
    }
}

// ---- Placement ----

impl PlaceWrites for Asked {
    fn place(&mut self, planes: &PlanesThere) -> Result<Vec<u32>> {
        let name = self.name;
        self.ask("place", WritePlanes { planes: planes.clone() }, |answer| {
            let one = answer.extract::<u32>().map(|plane| vec![plane]);
            one.or_else(|_| answer.extract())
                .map_err(|_| bad(name, "place", answer, "the index of a plane, or several of them"))
        })
    }

    fn spent_s(&self) -> f64 {
        self.spent_s
    }
}

/// The planes that a write may go to, in the order of the stripe, as a placement sees them.
#[pyclass(module = "softsense._core", frozen)]
pub(crate) struct WritePlanes {
    planes: PlanesThere,
}

#[pymethods]
impl WritePlanes {
    /// The number of the SSD.
    #[getter]
    fn ssd(&self) -> u32 {
        self.planes.ssd.0
    }

    /// The first logical codeword that is to be written.
    #[getter]
    fn codeword(&self) -> u64 {
        self.planes.codeword.0
    }

    /// The number of codewords that wait to be written with the first one.
    #[getter]
    fn codewords(&self) -> u32 {
        self.planes.codewords
    }

    /// The index of the plane whose turn it is.
    #[getter]
    fn in_turn(&self) -> u32 {
        self.planes.in_turn
    }

    /// Free pages of each plane (int64, shape (n,)): pages of free blocks, of the open block, and of blocks that are being collected.
    #[getter]
    fn free_pages<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        array(py, &self.planes.free_pages)
    }

    fn __len__(&self) -> usize {
        self.planes.free_pages.len()
    }
}

// ---- Pacing of garbage collection ----

impl PaceCollection for Asked {
    fn pace(&mut self, set: &PacedSet) -> Result<Pace> {
        let name = self.name;
        self.ask("pace", PacedPlane { set: *set }, |answer| {
            if let Ok(goes_on) = answer.extract::<bool>() {
                return Ok(if goes_on { Pace::Go } else { Pace::Pause });
            }
            let us =
                answer.extract().map_err(|_| bad(name, "pace", answer, "True, False, or microseconds to pause"))?;
            Ok(Pace::PauseUs(us))
        })
    }

    fn spent_s(&self) -> f64 {
        self.spent_s
    }
}

/// A plane, or a set of planes with interleaved codewords, as a pacing of garbage collection sees it.
#[pyclass(module = "softsense._core", frozen)]
pub(crate) struct PacedPlane {
    set: PacedSet,
}

#[pymethods]
impl PacedPlane {
    /// The number of the plane, or of the set.
    #[getter]
    fn set(&self) -> u32 {
        self.set.set.0
    }

    /// The number of free blocks.
    #[getter]
    fn free_blocks(&self) -> u32 {
        self.set.free_blocks
    }

    /// The number of free pages: those of free blocks, and of blocks that are open for the host.
    #[getter]
    fn free_pages(&self) -> u32 {
        self.set.free_pages
    }

    /// `ftl.gc_low_watermark_blocks`.
    #[getter]
    fn low_watermark(&self) -> u32 {
        self.set.low_watermark
    }

    /// `ftl.gc_high_watermark_blocks`.
    #[getter]
    fn high_watermark(&self) -> u32 {
        self.set.high_watermark
    }

    /// `ftl.gc_reserve_blocks`: with this number of free blocks, or fewer, the rule is not asked.
    #[getter]
    fn reserve(&self) -> u32 {
        self.set.reserve
    }

    /// True if operations of the host wait for the plane.
    #[getter]
    fn host_waits(&self) -> bool {
        self.set.host_waits
    }

    /// Time since the last operation of the host there, us; 0 while one is at work, or waits.
    #[getter]
    fn idle_us(&self) -> f64 {
        self.set.idle_us
    }

    /// True if a victim is being collected, or has just been erased.
    #[getter]
    fn collecting(&self) -> bool {
        self.set.collecting
    }

    /// Number of valid codewords of the victim that is being collected; None without a victim.
    #[getter]
    fn valid(&self) -> Option<u32> {
        self.set.valid
    }

    /// Number of pages that the host, or the map, has programmed there since the run began.
    #[getter]
    fn pages_written(&self) -> u64 {
        self.set.pages_written
    }

    /// Number of pages that garbage collection has read there.
    #[getter]
    fn pages_moved(&self) -> u64 {
        self.set.pages_moved
    }
}

// ---- Admission to caches ----

fn admitted(name: OwnName, answer: &Bound<'_, PyAny>) -> Result<bool> {
    answer.extract().map_err(|_| bad(name, "admit", answer, "True or False"))
}

impl AdmitPages for Asked {
    fn admit(&mut self, page: &PageThere) -> Result<bool> {
        let name = self.name;
        self.ask("admit", MissedPage { page: *page }, |answer| admitted(name, answer))
    }

    fn spent_s(&self) -> f64 {
        self.spent_s
    }
}

/// A page that is not in the read buffer, as an admission sees it when a read of the page begins.
#[pyclass(module = "softsense._core", frozen)]
pub(crate) struct MissedPage {
    page: PageThere,
}

#[pymethods]
impl MissedPage {
    /// The first logical codeword of the page that is requested.
    #[getter]
    fn codeword(&self) -> u64 {
        self.page.codeword.0
    }

    /// The number of codewords of the page that are requested.
    #[getter]
    fn codewords(&self) -> u32 {
        self.page.codewords
    }

    /// Number of bytes of the request.
    #[getter]
    fn request_bytes(&self) -> u64 {
        self.page.request_bytes
    }

    /// True if the page is read for a write that covers a codeword in part.
    #[getter]
    fn for_write(&self) -> bool {
        self.page.for_write
    }

    /// The number of misses of the page, with the present one, while it was among the pages that are remembered.
    #[getter]
    fn misses(&self) -> u32 {
        self.page.misses
    }

    /// Number of pages for which the buffer has room without dropping one.
    #[getter]
    fn free_pages(&self) -> u32 {
        self.page.free_pages
    }
}

impl AdmitEntries for Asked {
    fn admit(&mut self, entry: &EntryThere) -> Result<bool> {
        let name = self.name;
        self.ask("admit", MissedEntry { entry: *entry }, |answer| admitted(name, answer))
    }

    fn spent_s(&self) -> f64 {
        self.spent_s
    }
}

/// An entry of the map that is not in the mapping cache, as an admission sees it when a read has its translation page.
#[pyclass(module = "softsense._core", frozen)]
pub(crate) struct MissedEntry {
    entry: EntryThere,
}

#[pymethods]
impl MissedEntry {
    /// The logical codeword of the entry.
    #[getter]
    fn codeword(&self) -> u64 {
        self.entry.codeword.0
    }

    /// The number of codewords of the read with entries in the same translation page.
    #[getter]
    fn codewords(&self) -> u32 {
        self.entry.codewords
    }

    /// The number of misses of the entry, with the present one, while it was among the entries that are remembered.
    #[getter]
    fn misses(&self) -> u32 {
        self.entry.misses
    }
}
