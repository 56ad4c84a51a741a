//! Pacing: when garbage collection of a set begins, goes on and pauses, where that is not at once.
//!
//! A set is asked for when the host, or the map, programs in it. If its collection pauses, the set is asked for again when an operation of
//! the host ends on one of its busy units. It is also asked for when the time is over that its rule, or idle time, has set. From the
//! reserve of free superblocks down, collection goes on without being asked, and also where folding waits for it. The host leaves the last
//! free superblock to collection, so that no rule can stop writes.

use softsense_base::{Ns, OwnName, Result};
use softsense_config::checked::CheckedConfig;
use softsense_config::ids::{Set, TiVec};
use softsense_config::own::{AtWork, Pace, PaceCollection, PacedSet};
use softsense_config::spec::GcPacing;
use softsense_ftl::{ANY_VICTIM, Group};
use softsense_link::OwnCost;

use super::super::device::Device;
use super::WritePath;
use crate::events::{Event, Key, instant, moved_to};

/// The step that collection of a set is about to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// To take a victim, when collection has none.
    Start,
    /// To take the next victim, when one has just been erased.
    Next,
    /// To move the next page of its victim.
    Move,
    /// To erase its victim.
    Erase,
}

#[derive(Debug)]
enum Rule {
    AtOnce,
    Preemptible,
    Paced { moves_per_write: f64 },
    Own(AtWork<dyn PaceCollection>),
}

#[derive(Debug)]
struct Idle {
    after: Ns,
    /// The most valid codewords of a victim that is collected in idle time.
    most_valid: u32,
}

/// The state of pacing in a set.
#[derive(Debug, Clone, Default)]
struct PaceOf {
    /// Pages that may be moved, in return for pages that were written.
    credit: f64,
    /// The instant at which an operation of the host last came to the set, or ended there.
    host_at: Ns,
    /// The event at which the set is asked for again; 0 without one.
    wakes: Key,
    /// Whether collection is held back: it would begin, or go on, if the rule let it.
    held: bool,
    /// Whether the victim is collected whatever the rule says, because nothing else is left to happen.
    overruled: bool,
    /// Victims since an operation of the host last came or ended. Their number is bounded, as collection may make no room.
    victims: u32,
    pages_written: u64,
    pages_moved: u64,
}

#[derive(Debug)]
pub(super) struct Pacing {
    rule: Rule,
    idle: Option<Idle>,
    low: u32,
    high: u32,
    reserve: u32,
    /// Whether all requests are done: then only what the watermarks ask for begins.
    is_over: bool,
    sets: TiVec<Set, PaceOf>,
    /// The sets that share a busy unit with each set, that set included.
    sharing: TiVec<Set, Vec<Set>>,
}

impl Pacing {
    /// Puts off the instants at which sets are asked for again by the time for which power has been away.
    pub(super) fn put_off(&mut self, by: Ns) {
        for of_set in self.sets.iter_mut().filter(|of_set| of_set.wakes != 0) {
            of_set.wakes = moved_to(of_set.wakes, instant(of_set.wakes) + by);
        }
    }

    /// Makes the pacing; none where collection goes on at once.
    ///
    /// # Errors
    /// When the user's own rule cannot be made.
    pub(super) fn new(config: &CheckedConfig) -> Result<Option<Box<Self>>> {
        let (spec, geometry) = (&config.config().ftl, config.geometry());
        let rule = match (spec.gc_pacing, config.own_pacing()?) {
            (_, Some(own)) => Rule::Own(AtWork::new(own)),
            (GcPacing::Preemptible, _) => Rule::Preemptible,
            (GcPacing::Paced { moves_per_write }, _) => Rule::Paced { moves_per_write },
            (GcPacing::AtOnce | GcPacing::ThrottleWrites | GcPacing::Own(_), _) => Rule::AtOnce,
        };
        let idle = spec.gc_idle.as_ref().map(|idle| Idle {
            after: Ns::from_us(idle.after_us),
            most_valid: (f64::from(geometry.codewords_per_superblock()) * (1.0 - idle.least_stale)) as u32,
        });
        if matches!(rule, Rule::AtOnce) && idle.is_none() {
            return Ok(None);
        }
        let sets = geometry.sets();
        let mut of_unit = vec![Vec::new(); geometry.busy_units() as usize];
        let units = |set| {
            let planes = (0..geometry.blocks_per_superblock()).map(move |member| geometry.plane_of(set, member));
            planes.map(|plane| geometry.busy_unit_of(plane).index())
        };
        for set in geometry.all_sets() {
            units(set).for_each(|unit| of_unit[unit].push(set));
        }
        let sharing = |set| {
            let mut sharing: Vec<Set> = units(set).flat_map(|unit| of_unit[unit].iter().copied()).collect();
            sharing.sort_unstable();
            sharing.dedup();
            sharing
        };
        Ok(Some(Box::new(Self {
            rule,
            idle,
            low: spec.gc_low_watermark_blocks,
            high: spec.gc_high_watermark_blocks,
            reserve: config.reserve_blocks(),
            is_over: false,
            sharing: geometry.all_sets().map(sharing).collect(),
            sets: vec![PaceOf::default(); sets as usize].into(),
        })))
    }

    /// The most valid codewords of a victim that collection of a set may take now, or go on with; `None` where it pauses.
    pub(super) fn most_valid_of_victim(
        &mut self,
        device: &mut Device,
        set: Set,
        stage: Stage,
        valid: Option<u32>,
    ) -> Option<u32> {
        let free = device.ftl.free_superblocks(set);
        let at_work = matches!(stage, Stage::Move | Stage::Erase);
        let of_set = &mut self.sets[set];
        of_set.held = false;
        if device.ftl.collects_in_vain() {
            return at_work.then_some(ANY_VICTIM);
        }
        if free <= self.reserve || device.ftl.folding_waits_for_collection(set) {
            device.kernel.statistics.gc_pacing.at_reserve += 1;
            return Some(ANY_VICTIM);
        }
        if at_work && of_set.overruled {
            return Some(ANY_VICTIM);
        }
        let wanted = free < if stage == Stage::Start { self.low } else { self.high };
        // A collection that goes round in blocks which it has filled itself makes no room.
        let in_vain = of_set.victims > device.geometry.blocks_per_plane();
        if !at_work && (in_vain || self.is_over && !wanted) {
            return None;
        }
        let idle_ns = Self::idle_ns(of_set, device, set);
        let goes_on = match &mut self.rule {
            Rule::AtOnce => wanted,
            Rule::Preemptible => wanted && !device.back_end.host_waits(set),
            Rule::Paced { .. } => wanted && (stage != Stage::Move || of_set.credit >= 1.0),
            Rule::Own(_) => self.own_rule_goes_on(device, set, stage, valid, idle_ns),
        };
        let of_set = &mut self.sets[set];
        if goes_on {
            return Some(ANY_VICTIM);
        }
        if let Some(idle) = &self.idle
            && idle_ns >= idle.after.0
        {
            return Some(idle.most_valid);
        }
        of_set.held = at_work || free < self.low;
        device.kernel.statistics.gc_pacing.pauses += u64::from(at_work);
        None
    }

    /// Asks the user's own rule whether collection goes on.
    fn own_rule_goes_on(
        &mut self,
        device: &mut Device,
        set: Set,
        stage: Stage,
        valid: Option<u32>,
        idle_ns: u64,
    ) -> bool {
        let of_set = &self.sets[set];
        let seen = PacedSet {
            set,
            free_blocks: device.ftl.free_superblocks(set),
            free_pages: device.ftl.free_pages_of(set),
            low_watermark: self.low,
            high_watermark: self.high,
            reserve: self.reserve,
            host_waits: device.back_end.host_waits(set),
            idle_us: idle_ns as f64 / 1e3,
            collecting: stage != Stage::Start,
            valid,
            pages_written: of_set.pages_written,
            pages_moved: of_set.pages_moved,
        };
        let Rule::Own(own) = &mut self.rule else { unreachable!("it is asked where there is one") };
        let check = |pace: Pace| match pace {
            Pace::PauseUs(us) if !(us > 0.0 && us <= 1e12) => {
                Err(format!("pace: found {us} us, expected a number above 0 and up to 1e12"))
            }
            pace => Ok(pace),
        };
        // If the rule has failed, collection goes on until the run ends because of that.
        match own.ask(|rule| rule.pace(&seen), check).unwrap_or(Pace::Go) {
            Pace::Go => true,
            Pace::Pause => false,
            Pace::PauseUs(us) => {
                // The rule is not asked again at this instant.
                self.wake(device, set, Ns::from_us(us.max(1.0)));
                false
            }
        }
    }

    /// Time for which the host has left a set alone, ns.
    fn idle_ns(of_set: &PaceOf, device: &Device, set: Set) -> u64 {
        if device.back_end.host_is_at(set) { 0 } else { device.kernel.now.0 - of_set.host_at.0 }
    }

    /// Has a set asked for again after `duration` at the latest.
    fn wake(&mut self, device: &mut Device, set: Set, duration: Ns) {
        let wakes = &mut self.sets[set].wakes;
        if *wakes == 0 || instant(*wakes) > device.kernel.now + duration {
            *wakes = device.kernel.schedule(duration, Event::Wake { set });
        }
    }

    /// Notes that an operation of the host has come to a set, or has ended there.
    fn host_at(&mut self, device: &mut Device, set: Set) {
        let of_set = &mut self.sets[set];
        (of_set.host_at, of_set.victims) = (device.kernel.now, 0);
        if let Some(Idle { after, .. }) = self.idle {
            self.wake(device, set, after);
        }
    }

    /// Counts pages that are programmed for the host, or the map.
    fn written(&mut self, device: &mut Device, group: Group) {
        let set = group.set;
        let of_set = &mut self.sets[set];
        of_set.pages_written += u64::from(group.pages());
        let pages = device.geometry.pages_per_superblock();
        let free = f64::from(device.ftl.free_pages_of(set)) / f64::from(pages);
        device.kernel.statistics.gc_pacing.saw(device.ftl.free_superblocks(set), free);
        if let Rule::Paced { moves_per_write } = self.rule {
            let missing = (f64::from(self.low) - free) / f64::from(self.low - self.reserve);
            let credit = of_set.credit + moves_per_write * missing.clamp(0.0, 1.0) * f64::from(group.pages());
            of_set.credit = credit.min(pages.into());
        }
        self.host_at(device, set);
    }

    /// Counts pages that collection has begun to read.
    pub(super) fn moves(&mut self, set: Set, pages: u32) {
        let of_set = &mut self.sets[set];
        of_set.pages_moved += u64::from(pages);
        of_set.credit = (of_set.credit - f64::from(pages)).max(0.0);
    }

    /// Counts a victim that collection has taken, and that has at most `most_valid` valid codewords.
    pub(super) fn began(&mut self, device: &mut Device, set: Set, most_valid: u32) {
        self.sets[set].victims += 1;
        device.kernel.statistics.gc_pacing.idle_victims += u64::from(most_valid != ANY_VICTIM);
    }

    /// Notes that the collection of a victim has ended.
    pub(super) fn ended(&mut self, set: Set) {
        self.sets[set].overruled = false;
    }
}

impl Pacing {
    /// Notes that all requests are done.
    pub(super) fn requests_are_over(&mut self) {
        self.is_over = true;
    }
}

impl WritePath {
    /// Whether garbage collection may pause.
    #[inline]
    pub(in super::super) fn is_paced(&self) -> bool {
        self.pacing.is_some()
    }

    /// Checks the answers of the user's own rule.
    ///
    /// # Errors
    /// When an answer was not allowed, or the rule has failed.
    pub(in super::super) fn check_own(&self) -> Result<()> {
        match self.pacing.as_deref() {
            Some(Pacing { rule: Rule::Own(own), .. }) => own.check(),
            _ => Ok(()),
        }
    }

    /// The cost of asking the user's own rule so far; none where there is no such rule.
    pub(in super::super) fn own_cost(&self) -> Option<(OwnName, OwnCost)> {
        match self.pacing.as_deref() {
            Some(Pacing { rule: Rule::Own(own), .. }) => Some(own.cost(<dyn PaceCollection>::spent_s)),
            _ => None,
        }
    }

    /// Whether collection of a set may take its next step.
    #[inline]
    pub(super) fn goes_on(&mut self, device: &mut Device, set: Set, stage: Stage) -> bool {
        let Some(pacing) = &mut self.pacing else { return true };
        let valid = self.collections[set].as_ref().and_then(|job| job.valid(device));
        pacing.most_valid_of_victim(device, set, stage, valid).is_some()
    }

    /// Begins to collect a set at which nothing is at work, or continues its collection, if the rule lets it.
    fn ask_for(&mut self, device: &mut Device, set: Set) {
        match &self.collections[set] {
            None => self.begin_if_wanted(device, set, Stage::Start),
            Some(_) => self.continue_collection(device, set),
        }
    }

    /// Counts pages that are programmed in a set for the host, or the map, and asks for the set.
    #[inline(never)]
    pub(super) fn paced_by_write(&mut self, device: &mut Device, group: Group) {
        let Some(pacing) = &mut self.pacing else { return };
        pacing.written(device, group);
        self.ask_for(device, group.set);
    }

    /// Notes that an operation of the host has ended in a set, and asks for sets that share its busy units and may have waited for that.
    #[inline(never)]
    pub(super) fn paced_by_end(&mut self, device: &mut Device, set: Set) {
        let Some(pacing) = &mut self.pacing else { return };
        pacing.host_at(device, set);
        self.ask_for_held(device, set);
    }

    /// Asks again for the sets that share a busy unit with a set, if their collections are held back.
    fn ask_for_held(&mut self, device: &mut Device, set: Set) {
        for at in 0.. {
            let Some(pacing) = &self.pacing else { return };
            let Some(&other) = pacing.sharing[set].get(at) else { return };
            if pacing.sets[other].held {
                self.ask_for(device, other);
            }
        }
    }

    /// Asks for a set again, as the time for that has come.
    pub(in super::super) fn woken(&mut self, device: &mut Device, set: Set, key: Key) {
        let Some(pacing) = &mut self.pacing else { return };
        let of_set = &mut pacing.sets[set];
        if of_set.wakes != key {
            return;
        }
        of_set.wakes = 0;
        let idle_ns = Pacing::idle_ns(of_set, device, set);
        if let Some(Idle { after, .. }) = pacing.idle
            && idle_ns < after.0
        {
            // If the host is at work in the set, it asks again when it has ended. If it has been at work since, the rest of the idle time
            // is left.
            if !device.back_end.host_is_at(set) {
                pacing.wake(device, set, Ns(after.0 - idle_ns));
            }
        }
        self.ask_for(device, set);
    }

    /// Brings collections that pause to their ends, as nothing is left to happen. Returns whether there was one.
    pub(in super::super) fn finish_collections(&mut self, device: &mut Device) -> bool {
        let sets = device.geometry.all_sets();
        self.finish_those_of(device, sets)
    }

    /// Brings collections that pause to their ends in each SSD where writes find no room and nothing else is under way. Otherwise neither
    /// the writes nor the collections would go on.
    pub(in super::super) fn finish_collections_of_blocked(&mut self, device: &mut Device) {
        let Some(pacing) = &self.pacing else { return };
        let at_rest = |set: Set| self.collections[set].is_none() || pacing.sets[set].held;
        let blocked = device.geometry.all_ssds().filter(|&ssd| {
            let room = &self.rooms[ssd];
            room.blocked && room.programming + room.reclaiming == 0 && device.geometry.sets_of_ssd(ssd).all(at_rest)
        });
        for ssd in blocked.collect::<Vec<_>>() {
            let sets = device.geometry.sets_of_ssd(ssd);
            self.finish_those_of(device, sets);
        }
    }

    fn finish_those_of(&mut self, device: &mut Device, sets: impl Iterator<Item = Set>) -> bool {
        let Some(pacing) = &mut self.pacing else { return false };
        let at_work = |set: &Set| self.collections[*set].is_some();
        let paused: Vec<Set> = sets.filter(at_work).collect();
        for &set in &paused {
            pacing.sets[set].overruled = true;
        }
        for &set in &paused {
            self.ask_for(device, set);
        }
        !paused.is_empty()
    }
}
