//! Maintenance by age: refresh, which moves data before it is too old, and patrol scrub, which reads all data to find data that needs
//! refresh.
//!
//! Refresh moves a superblock as garbage collection does (see [`super::collection`]), when nothing else is at work in its set and no
//! collection is wanted. A set refreshes its oldest superblock, and begins as late as it can. If n superblocks hold data, moving one in
//! each n-th part of the age limit has to be enough to move each before its deadline. Where ages are spread by chance, some are always too
//! close to one another for that. The set then goes a quarter faster, and a superblock whose deadline has come does not wait. So refresh is
//! a steady stream, whether ages are spread at the start or all the same.
//!
//! Scrub gives every page of a set its turn, in the order of blocks, at equal distances over its period. A page of a full superblock that
//! holds current data is read through error correction; other pages are passed over. If a codeword is beyond the limit, its superblock is
//! refreshed as soon as its set is free.

use std::collections::VecDeque;

use softsense_base::Ns;
use softsense_config::checked::CheckedConfig;
use softsense_config::ids::{Set, Superblock, TiVec};
use softsense_config::spec::ScrubWhen;

use super::super::device::Device;
use super::super::owners::{Cause, ReadOwner};
use super::WritePath;
use crate::events::Event;

const NS_PER_DAY: f64 = 86_400e9;
const NEVER: Ns = Ns(u64::MAX);

/// Shortest time, in ns, from the beginning of one refresh to that of the next, unless the next superblock is too old: a quarter faster
/// than on average.
fn shortest_pause(age: Ns, superblocks: u64) -> u64 {
    age.0 / superblocks / 5 * 4
}

#[derive(Debug)]
pub(super) struct Maintenance {
    refresh: Option<Refresh>,
    scrub: Option<Scrub>,
    /// Superblocks of each set that scrub has found, with the number of their erases at that time.
    found: TiVec<Set, VecDeque<(Superblock, u32)>>,
    /// Whether the host has no more requests: then nothing begins.
    over: bool,
}

/// Refresh. Times are those of the run: an age limit of months is shorter by as much as data ages faster.
#[derive(Debug)]
struct Refresh {
    age: Ns,
    /// Time after which a set that could refresh nothing of what is due is asked again: in this time it refreshes one superblock on
    /// average.
    pause: Ns,
    /// The instant at which the data of each superblock is too old; [`NEVER`] where no page has been programmed since its erase.
    deadlines: TiVec<Superblock, Ns>,
    /// The earliest instant at which each set begins the next refresh, unless the data is too old by then.
    not_before: TiVec<Set, Ns>,
    /// Whether each set is to refresh its oldest superblock.
    due: TiVec<Set, bool>,
    /// Whether each set is refreshing its oldest superblock.
    at_work: TiVec<Set, bool>,
}

#[derive(Debug)]
struct Scrub {
    period: Ns,
    when: ScrubWhen,
    /// Pages of a set.
    pages: u64,
    sets: TiVec<Set, ScrubOfSet>,
}

#[derive(Debug, Clone, Default)]
struct ScrubOfSet {
    /// Turns that have come.
    turns: u64,
    /// The page whose turn is next, counted over the set.
    next: u64,
    /// Turns that have come and were not taken; below 0 where pages of several chips were read at once.
    owed: i64,
    reading: bool,
}

impl Maintenance {
    /// Makes the maintenance; none where nothing is done by age.
    pub(super) fn new(config: &CheckedConfig) -> Option<Box<Self>> {
        let (spec, geometry) = (&config.config().ftl, config.geometry());
        if spec.refresh.is_none() && spec.scrub.is_none() {
            return None;
        }
        let of_run = |days: f64| Ns((days * NS_PER_DAY / spec.time_scale).max(1.0) as u64);
        let (sets, per_set) = (geometry.sets(), geometry.blocks_per_plane());
        let refresh = spec.refresh.as_ref().map(|refresh| {
            let deadline = |superblock: Superblock| {
                let ssd = geometry.ssd_of_set(geometry.set_of_superblock(superblock));
                let start_days = config.start_ages().retention_hours(ssd, superblock) / 24.0;
                of_run((refresh.age_days - start_days).max(0.0))
            };
            let age = of_run(refresh.age_days);
            Refresh {
                age,
                pause: Ns((age.0 / u64::from(per_set)).max(1_000)),
                deadlines: Superblock::all(0..geometry.superblocks()).map(deadline).collect(),
                // Sets take turns.
                not_before: (0..sets)
                    .map(|set| {
                        Ns((u128::from(shortest_pause(age, per_set.into())) * u128::from(set + 1) / u128::from(sets))
                            as u64)
                    })
                    .collect(),
                due: vec![false; sets as usize].into(),
                at_work: vec![false; sets as usize].into(),
            }
        });
        let scrub = spec.scrub.as_ref().map(|scrub| Scrub {
            period: of_run(scrub.period_days),
            when: scrub.when,
            pages: u64::from(per_set) * u64::from(geometry.pages_per_superblock()),
            sets: vec![ScrubOfSet::default(); sets as usize].into(),
        });
        Some(Box::new(Self { refresh, scrub, found: vec![VecDeque::new(); sets as usize].into(), over: false }))
    }

    /// Notes that a page of a superblock has been programmed. The age of its data begins with the first page since its erase; which page
    /// that is depends on the dies that still work.
    pub(super) fn programmed(&mut self, superblock: Superblock, now: Ns) {
        if let Some(refresh) = &mut self.refresh
            && refresh.deadlines[superblock] == NEVER
        {
            refresh.deadlines[superblock] = Ns(now.0.saturating_add(refresh.age.0));
        }
    }

    /// Notes that all blocks of a superblock have been erased.
    pub(super) fn erased(&mut self, superblock: Superblock) {
        if let Some(refresh) = &mut self.refresh {
            refresh.deadlines[superblock] = NEVER;
        }
    }

    /// Notes that the host has no more requests. Nobody waits for later work: the run ends without it.
    pub(super) fn requests_are_over(&mut self) {
        self.over = true;
    }

    /// Whether a set has a superblock to refresh.
    pub(super) fn wants_refresh(&self, set: Set) -> bool {
        !self.over && (!self.found[set].is_empty() || self.refresh.as_ref().is_some_and(|refresh| refresh.due[set]))
    }

    /// Takes the superblock that a set refreshes next: one that scrub has found, else the oldest one.
    fn take(&mut self, device: &mut Device, set: Set) -> Option<Superblock> {
        while let Some((superblock, erases)) = self.found[set].pop_front() {
            if device.ftl.erases(superblock) == erases && device.ftl.take_to_move(set, superblock) {
                device.kernel.statistics.maintenance.refreshed_for_scrub += 1;
                return Some(superblock);
            }
        }
        let refresh = self.refresh.as_mut()?;
        if !std::mem::take(&mut refresh.due[set]) {
            return None;
        }
        let oldest = refresh.oldest_first(device, set);
        let taken = oldest.into_iter().find(|&(_, superblock)| device.ftl.take_to_move(set, superblock));
        let Some((deadline, superblock)) = taken else {
            refresh.schedule(device, set, refresh.pause);
            return None;
        };
        refresh.began(device, set);
        device.kernel.statistics.maintenance.refreshed_late += u64::from(deadline < device.kernel.now);
        Some(superblock)
    }
}

impl Refresh {
    /// The superblocks of a set that can be moved, with their deadlines, the oldest first.
    fn oldest_first(&self, device: &Device, set: Set) -> Vec<(Ns, Superblock)> {
        let of_set = device.geometry.superblocks_of_set(set);
        let held = of_set.filter(|&superblock| device.ftl.holds_data(superblock));
        let mut held: Vec<_> = held.map(|superblock| (self.deadlines[superblock], superblock)).collect();
        held.sort_unstable();
        held
    }

    /// The instant at which the oldest superblock of a set is to be moved, so that none will be late; none where no superblock holds data.
    fn next_start(&self, device: &Device, set: Set) -> Option<Ns> {
        let held = self.oldest_first(device, set);
        let &(oldest, _) = held.first()?;
        let each = self.age.0 / held.len() as u64;
        let chained =
            held.iter().zip(0..).map(|(&(deadline, _), before): (_, u64)| deadline.0.saturating_sub(before * each));
        let start = chained.min().map_or(oldest, Ns);
        Some(start.max(self.not_before[set]).min(oldest))
    }

    /// Notes that a set begins to refresh a superblock.
    fn began(&mut self, device: &Device, set: Set) {
        let held = self.oldest_first(device, set).len() as u64 + 1;
        self.not_before[set] = Ns(device.kernel.now.0.saturating_add(shortest_pause(self.age, held)));
        self.at_work[set] = true;
    }

    /// Schedules the instant at which the set is asked for again: when its oldest superblock is to be moved, after `least` at the earliest.
    fn schedule(&self, device: &mut Device, set: Set, least: Ns) {
        // If no superblock holds data, as in an empty device, none will be too old before the age limit is over.
        let start = self.next_start(device, set).unwrap_or(Ns(device.kernel.now.0.saturating_add(self.age.0)));
        let after = start.0.saturating_sub(device.kernel.now.0).max(least.0);
        device.kernel.schedule(Ns(after), Event::RefreshDue { set });
    }
}

impl WritePath {
    /// Starts the clocks of maintenance, at the beginning of the run.
    pub(in super::super) fn start_maintenance(&mut self, device: &mut Device) {
        let Some(maintenance) = &mut self.maintenance else { return };
        for set in device.geometry.all_sets() {
            if let Some(refresh) = &mut maintenance.refresh {
                device.ftl.free_ones(set).into_iter().for_each(|free| refresh.deadlines[free] = NEVER);
                refresh.schedule(device, set, Ns::ZERO);
            }
            if let Some(scrub) = &maintenance.scrub {
                // Sets take turns.
                let first = scrub.period.0 / scrub.pages * u64::from(set.0 + 1) / u64::from(device.geometry.sets());
                device.kernel.schedule(Ns(first), Event::ScrubDue { set });
            }
        }
    }

    // ---- Refresh ----

    /// Asks for the refresh of a set whose data may have become too old, unless it has been moved meanwhile.
    pub(in super::super) fn refresh_due(&mut self, device: &mut Device, set: Set) {
        let Some(refresh) = self.maintenance.as_mut().and_then(|maintenance| maintenance.refresh.as_mut()) else {
            return;
        };
        if refresh.next_start(device, set).is_none_or(|start| start > device.kernel.now) {
            return refresh.schedule(device, set, Ns::ZERO);
        }
        refresh.due[set] = true;
        self.maintain(device, set);
    }

    /// Begins to refresh a superblock of a set at which nothing is at work, if one is due and the host need not wait for it.
    pub(super) fn begin_refresh(&mut self, device: &mut Device, set: Set) {
        if self.yields_to_host(device, set) {
            let refresh = self.maintenance.as_mut().and_then(|maintenance| maintenance.refresh.as_mut());
            if let Some(refresh) = refresh
                && std::mem::take(&mut refresh.due[set])
            {
                refresh.schedule(device, set, refresh.pause);
            }
            return;
        }
        let taken = self.maintenance.as_mut().and_then(|maintenance| maintenance.take(device, set));
        if let Some(superblock) = taken {
            self.move_data(device, set, Cause::Refresh, superblock, None);
        }
    }

    /// Ends the refresh of a superblock of a set. The data stays where it is if dies that failed meanwhile left no room for it.
    pub(super) fn refresh_ended(&mut self, device: &mut Device, set: Set, moved: bool) {
        device.kernel.statistics.maintenance.refreshed_blocks += u64::from(moved);
        if let Some(refresh) = self.maintenance.as_mut().and_then(|maintenance| maintenance.refresh.as_mut())
            && std::mem::take(&mut refresh.at_work[set])
        {
            refresh.schedule(device, set, if moved { Ns::ZERO } else { refresh.pause });
        }
    }

    /// Whether maintenance makes way for the host in a set: a write of the host finds no room, or its next request finds the queues full.
    /// If data ages faster than it can be moved, refresh would be at work without a pause, and the host would wait for ever.
    fn yields_to_host(&self, device: &Device, set: Set) -> bool {
        device.holds_host || self.waits_for_room(device, set)
    }

    // ---- Patrol scrub ----

    /// Gives the next page of a set its turn.
    pub(in super::super) fn scrub_due(&mut self, device: &mut Device, set: Set) {
        let Some(scrub) = self.maintenance.as_mut().and_then(|maintenance| maintenance.scrub.as_mut()) else { return };
        let of_set = &mut scrub.sets[set];
        (of_set.turns, of_set.owed) = (of_set.turns + 1, of_set.owed + 1);
        // Turns are exact to the nanosecond over a period, however short a turn is.
        let at = |turns: u64| (u128::from(turns) * u128::from(scrub.period.0) / u128::from(scrub.pages)) as u64;
        device.kernel.schedule(Ns(at(of_set.turns + 1) - at(of_set.turns)), Event::ScrubDue { set });
        self.maintain(device, set);
    }

    /// Reads the pages of a set whose turn has come, one at a time.
    pub(super) fn scrub(&mut self, device: &mut Device, set: Set) {
        if self.yields_to_host(device, set) {
            return;
        }
        let Some(maintenance) = self.maintenance.as_mut().filter(|maintenance| !maintenance.over) else { return };
        let Some(scrub) = maintenance.scrub.as_mut() else { return };
        let of_set = &mut scrub.sets[set];
        if of_set.owed <= 0 || of_set.reading {
            return;
        }
        if scrub.when == ScrubWhen::HostAway && device.host_is_at(set) {
            return;
        }
        let of_superblock = u64::from(device.geometry.pages_per_superblock());
        while of_set.owed > 0 {
            let superblock = device.geometry.superblock_in(set, (of_set.next / of_superblock) as u32);
            let page = (of_set.next % of_superblock) as u32;
            let is_there = device.ftl.holds_data(superblock) && page < device.ftl.pages_of(superblock);
            let group = is_there.then(|| device.ftl.group_at(set, superblock, page));
            let pages = group.map_or(1, |group| group.pages());
            of_set.owed -= i64::from(pages);
            of_set.next = (of_set.next + u64::from(pages)) % scrub.pages;
            if let Some(group) = group {
                let mut units = Vec::new();
                device.ftl.each_last_in(group, 1, |unit, held| {
                    if device.ftl.is_current(held) {
                        units.push(unit);
                    }
                });
                if !units.is_empty() {
                    of_set.reading = true;
                    return device.read(ReadOwner::Scrub { set }, group, &units);
                }
            }
        }
    }

    /// Ends the scrub of a page of a set.
    ///
    /// # Arguments
    /// - `needs_refresh`: whether a codeword in the page is beyond the limit, or no level decoded it.
    pub(in super::super) fn scrubbed(
        &mut self,
        device: &mut Device,
        set: Set,
        superblock: Superblock,
        needs_refresh: bool,
    ) {
        let Some(maintenance) = self.maintenance.as_mut() else { return };
        if let Some(scrub) = &mut maintenance.scrub {
            scrub.sets[set].reading = false;
        }
        let found = (superblock, device.ftl.erases(superblock));
        let waiting = &mut maintenance.found[set];
        if needs_refresh && device.ftl.holds_data(superblock) && !waiting.contains(&found) {
            device.kernel.statistics.maintenance.blocks_found += 1;
            waiting.push_back(found);
        }
    }

    /// Turns of pages that have come, turns of these that have yet to be taken, and pages of the device; none without a scrub.
    pub(in super::super) fn scrub_turns(&self) -> Option<(u64, u64, u64)> {
        let scrub = self.maintenance.as_ref()?.scrub.as_ref()?;
        let sum = |of: fn(&ScrubOfSet) -> u64| scrub.sets.iter().map(of).sum::<u64>();
        let pages = scrub.pages * scrub.sets.len() as u64;
        Some((sum(|of_set| of_set.turns), sum(|of_set| of_set.owed.max(0) as u64), pages))
    }
}
