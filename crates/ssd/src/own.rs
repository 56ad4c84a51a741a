//! What users have written themselves, handed over beside a config that names it: a read policy, a rule for victims, a placement, a
//! pacing of garbage collection, admissions to caches.
//!
//! A config stays plain data. It has a name, such as `read.policy = "my_policies.py:Ladder"`; whoever runs it looks that up and
//! gives what is found to [`CheckedConfig::with_own`](crate::checked::CheckedConfig::with_own). Here is what such things are, and
//! what they are told.

use std::fmt;
use std::sync::Arc;

use softsense_base::{Error, OwnName, Result};
use softsense_link::{OwnCost, PolicyTraits, ReadPolicy};

/// A device, as what works for it is told when a run begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnDevice {
    /// The config's seed, for what wants to be random: the same seed is to give the same answers.
    pub seed: u64,
    /// The deepest level of reads.
    pub max_level: u8,
    /// Entries of the chip's retry table.
    pub retry_entries: u8,
    /// Page types.
    pub page_types: u32,
    /// SSDs of the array.
    pub ssds: u32,
    /// Planes of an SSD.
    pub planes: u32,
    /// Sets, in each of which garbage collection chooses victims: planes, or as many of them as codewords are interleaved over.
    pub sets: u32,
    /// Blocks of a plane: superblocks of a set.
    pub blocks_per_plane: u32,
    /// Pages of a superblock.
    pub pages_per_block: u32,
    /// Codewords of a superblock.
    pub codewords_per_block: u32,
    /// Codewords that the user can address.
    pub user_codewords: u64,
}

/// Chooses what garbage collection takes.
pub trait ChooseVictim: Send + Sync {
    /// The index of the victim among the candidates, of which there is one at least.
    ///
    /// # Errors
    /// What its code says; the run ends with it.
    fn choose(&mut self, candidates: &Candidates) -> Result<usize>;

    /// How long it has taken so far, s, where it measures that.
    fn spent_s(&self) -> f64 {
        0.0
    }
}

/// The closed superblocks of a set that are worth collecting, in the order in which they were closed. What is known of each stands
/// at its index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Candidates {
    /// The set.
    pub set: u32,
    /// Which superblocks.
    pub blocks: Vec<u32>,
    /// Their valid codewords.
    pub valid: Vec<u32>,
    /// How many superblocks of the set have been closed since, themselves with them: 1 for the last.
    pub age: Vec<u64>,
    /// Their erases since the start of the run.
    pub erases: Vec<u32>,
}

/// Chooses where writes of the host go.
pub trait PlaceWrites: Send + Sync {
    /// The indices, in `planes`, of the planes that this write and those after it go to: one at least. It is asked again when they
    /// are used up. A plane without room is passed over for the next one in turn.
    ///
    /// # Errors
    /// What its code says; the run ends with it.
    fn place(&mut self, planes: &Planes) -> Result<Vec<u32>>;

    /// How long it has taken so far, s, where it measures that.
    fn spent_s(&self) -> f64 {
        0.0
    }
}

/// The planes that a write may go to, in the order of the stripe: those of its SSD, or of its part of `ftl.allocation_pool`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Planes {
    /// The SSD.
    pub ssd: u32,
    /// The first logical codeword that is to be written.
    pub codeword: u64,
    /// How many wait to be written with it.
    pub codewords: u32,
    /// The plane whose turn it is.
    pub in_turn: u32,
    /// Free pages of each: those of free blocks, of the open one and of those that are being collected.
    pub free_pages: Vec<u32>,
}

/// Says when garbage collection of a set works.
pub trait PaceCollection: Send + Sync {
    /// What collection of a set does now. It is asked when the host, or the map, programs in the set; while collection is at work, or
    /// fewer superblocks are free than the low watermark, also when an operation of the host on its planes ends; before each page that
    /// is moved, before an erase, and after it. At the reserve nothing is asked.
    ///
    /// # Errors
    /// What its code says; the run ends with it.
    fn pace(&mut self, set: &PacedSet) -> Result<Pace>;

    /// How long it has taken so far, s, where it measures that.
    fn spent_s(&self) -> f64 {
        0.0
    }
}

/// What collection of a set does now.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// It takes a victim, or the next step with the one that it has: a page, or the erase.
    Go,
    /// Nothing, until it is asked again.
    Pause,
    /// The same, and it is asked again after so many us, above 0 and taken for 1 below that, whatever happens.
    PauseUs(f64),
}

/// A set, as a pacing of garbage collection sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PacedSet {
    /// The set.
    pub set: u32,
    /// Free superblocks.
    pub free_blocks: u32,
    /// Free pages: those of free superblocks and of those that the host has open.
    pub free_pages: u32,
    /// Free superblocks below which collection is wanted.
    pub low_watermark: u32,
    /// Those at which it no longer is.
    pub high_watermark: u32,
    /// Free superblocks at which nobody is asked any more.
    pub reserve: u32,
    /// Whether operations of the host wait for a plane of the set.
    pub host_waits: bool,
    /// How long no operation of the host has been at work on a plane of the set, us; 0 while one is, or waits.
    pub idle_us: f64,
    /// Whether a victim is being collected, or has just been erased.
    pub collecting: bool,
    /// Valid codewords of the victim that is being collected: none of another.
    pub valid: Option<u32>,
    /// Pages that the host, or the map, has programmed in the set since the run began.
    pub pages_written: u64,
    /// Pages that collection has read there.
    pub pages_moved: u64,
}

/// Says what the read buffer takes in.
pub trait AdmitPages: Send + Sync {
    /// Whether a page that it has not is read whole, and kept. It is asked when the read begins.
    ///
    /// # Errors
    /// What its code says; the run ends with it.
    fn admit(&mut self, page: &MissedPage) -> Result<bool>;

    /// How long it has taken so far, s, where it measures that.
    fn spent_s(&self) -> f64 {
        0.0
    }
}

/// A page, or pages that units cross, that the read buffer has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MissedPage {
    /// The first logical codeword that is asked for of it.
    pub codeword: u64,
    /// How many are.
    pub codewords: u32,
    /// Bytes of the request.
    pub request_bytes: u64,
    /// Whether it is read for a write that covers a codeword in part.
    pub for_write: bool,
    /// How often it has been missed, this time with it, while it was among the pages that are remembered.
    pub misses: u32,
    /// Pages that there is room for without dropping one.
    pub free_pages: u32,
}

/// Says what the mapping cache takes in.
pub trait AdmitEntries: Send + Sync {
    /// Whether an entry that a read has missed is kept. It is asked when its translation page is in the controller's memory.
    ///
    /// # Errors
    /// What its code says; the run ends with it.
    fn admit(&mut self, entry: &MissedEntry) -> Result<bool>;

    /// How long it has taken so far, s, where it measures that.
    fn spent_s(&self) -> f64 {
        0.0
    }
}

/// An entry of the map that the mapping cache has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MissedEntry {
    /// Its logical codeword.
    pub codeword: u64,
    /// Codewords of the read with entries in the same translation page.
    pub codewords: u32,
    /// How often it has been missed, this time with it, while it was among the entries that are remembered.
    pub misses: u32,
}

/// Makes something of a user's own for a run.
type Make<T> = dyn Fn(&OwnDevice) -> Result<Box<T>> + Send + Sync;

/// Something of a user's own: how it is made for a run, and what tells it from others.
pub struct OwnThing<T: ?Sized> {
    identity: String,
    make: Arc<Make<T>>,
}

impl<T: ?Sized> OwnThing<T> {
    /// # Arguments
    /// - `identity`: what its answers depend on, such as its source. It is part of the identity of a run.
    pub fn new(
        identity: impl Into<String>,
        make: impl Fn(&OwnDevice) -> Result<Box<T>> + Send + Sync + 'static,
    ) -> Self {
        Self { identity: identity.into(), make: Arc::new(make) }
    }

    /// What its answers depend on.
    pub fn identity(&self) -> &str {
        &self.identity
    }
}

impl<T: ?Sized> Clone for OwnThing<T> {
    fn clone(&self) -> Self {
        Self { identity: self.identity.clone(), make: Arc::clone(&self.make) }
    }
}

impl<T: ?Sized> fmt::Debug for OwnThing<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnThing").field("identity", &self.identity).finish_non_exhaustive()
    }
}

/// A read policy of a user's own.
#[derive(Debug, Clone)]
pub struct OwnPolicy {
    /// What is said of it.
    pub traits: PolicyTraits,
    /// How it is made.
    pub policy: OwnThing<dyn ReadPolicy>,
}

/// What of a user's own goes with a config.
#[derive(Debug, Clone, Default)]
pub struct Own {
    /// What `read.policy` names.
    pub policy: Option<OwnPolicy>,
    /// What `ftl.victims` names.
    pub victims: Option<OwnThing<dyn ChooseVictim>>,
    /// What `ftl.plane_choice` names.
    pub placement: Option<OwnThing<dyn PlaceWrites>>,
    /// What `ftl.gc_pacing` names.
    pub pacing: Option<OwnThing<dyn PaceCollection>>,
    /// What `host.read_buffer.admission` names.
    pub pages: Option<OwnThing<dyn AdmitPages>>,
    /// What `ftl.mapping.demand.admission` names.
    pub entries: Option<OwnThing<dyn AdmitEntries>>,
}

impl Own {
    /// What each depends on.
    pub(crate) fn identities(&self) -> impl Iterator<Item = &str> {
        let policy = self.policy.as_ref().map(|own| own.policy.identity());
        let victims = self.victims.as_ref().map(OwnThing::identity);
        let placement = self.placement.as_ref().map(OwnThing::identity);
        let pacing = self.pacing.as_ref().map(OwnThing::identity);
        let pages = self.pages.as_ref().map(OwnThing::identity);
        let entries = self.entries.as_ref().map(OwnThing::identity);
        [policy, victims, placement, pacing, pages, entries].into_iter().flatten()
    }
}

/// What makes something that a config names; `None` where it names nothing.
///
/// # Errors
/// When it was not handed over, or its code says that it cannot be made.
pub(crate) fn made<T: ?Sized>(
    path: &str,
    name: Option<OwnName>,
    thing: Option<&OwnThing<T>>,
    device: &OwnDevice,
) -> Result<Option<(OwnName, Box<T>)>> {
    let Some(name) = name else { return Ok(None) };
    let Some(thing) = thing else {
        let message = format!(
            "found `{name}`, which was not handed over with the config, expected a shipped one, or `CheckedConfig::with_own`"
        );
        return Err(Error::config(path, message));
    };
    (thing.make)(device).map(|thing| Some((name, thing)))
}

/// Something of a user's own at work. What goes wrong is kept until the event at hand is over.
pub(crate) struct AtWork<T: ?Sized> {
    pub(crate) name: OwnName,
    thing: Box<T>,
    calls: u64,
    failure: Option<Error>,
}

impl<T: ?Sized> AtWork<T> {
    pub(crate) fn new((name, thing): (OwnName, Box<T>)) -> Self {
        Self { name, thing, calls: 0, failure: None }
    }

    /// What it answers, checked by `take`; `None` from the first failure on.
    pub(crate) fn ask<A, R>(
        &mut self,
        ask: impl FnOnce(&mut T) -> Result<A>,
        take: impl FnOnce(A) -> std::result::Result<R, String>,
    ) -> Option<R> {
        if self.failure.is_some() {
            return None;
        }
        self.calls += 1;
        let name = self.name.as_str();
        let answer =
            ask(&mut self.thing).and_then(|answer| take(answer).map_err(|message| Error::config(name, message)));
        answer.map_err(|error| self.failure = Some(error)).ok()
    }

    /// What has gone wrong.
    pub(crate) fn check(&self) -> Result<()> {
        self.failure.clone().map_or(Ok(()), Err)
    }

    pub(crate) fn cost(&self, spent_s: impl FnOnce(&T) -> f64) -> (OwnName, OwnCost) {
        (self.name, OwnCost { tabulated: None, calls: self.calls, spent_s: spent_s(&self.thing) })
    }
}

impl<T: ?Sized> fmt::Debug for AtWork<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AtWork").field("name", &self.name).field("calls", &self.calls).finish_non_exhaustive()
    }
}
