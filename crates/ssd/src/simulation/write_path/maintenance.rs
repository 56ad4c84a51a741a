//! Maintenance by age: refresh, which moves data before it is too old, and patrol scrub, which reads all data to find what needs that.
//!
//! Refresh moves a superblock as garbage collection does (see [`super::collection`]), when nothing else is at work in its set and none
//! is wanted. A set refreshes what is oldest, and begins as late as it can: so that of all its superblocks each is moved before its
//! deadline, if one is moved in each n-th part of the age limit, n being how many hold data. Where ages are spread by chance there are
//! always some that are too close to one another for that; then it goes a quarter faster than one in an n-th part, and a superblock whose
//! deadline has come does not wait. So a steady stream is all that there ever is, whether ages are spread at the start or all the same.
//!
//! Scrub gives every page of a set its turn, in the order of blocks, at equal distances over its period. A page of a full superblock
//! that holds current data is read through error correction; others pass. Where a codeword is beyond the limit, its superblock is
//! refreshed as soon as its set is free.

use std::collections::VecDeque;

use softsense_base::Ns;

use super::super::device::Device;
use super::super::owners::{Cause, ReadOwner};
use super::WritePath;
use crate::checked::CheckedConfig;
use crate::config::ScrubWhen;
use crate::events::Event;

const NS_PER_DAY: f64 = 86_400e9;
const NEVER: Ns = Ns(u64::MAX);

/// How soon after one superblock the next of so many begins that are not too old, ns: a quarter faster than on average.
fn shortest_pause(age: Ns, superblocks: u64) -> u64 {
    age.0 / superblocks / 5 * 4
}

#[derive(Debug)]
pub(super) struct Maintenance {
    refresh: Option<Refresh>,
    scrub: Option<Scrub>,
    /// Of each set, superblocks that scrub has found, and how often they had been erased.
    found: Vec<VecDeque<(u32, u32)>>,
    /// Whether the host has no more requests: then nothing begins.
    over: bool,
}

/// Times are those of the run: an age limit of months is as much shorter as data ages faster.
#[derive(Debug)]
struct Refresh {
    age: Ns,
    /// A set that can refresh nothing of what is due is not asked again for so long: in which it refreshes one superblock, on average.
    pause: Ns,
    /// Of each superblock, when its data is too old; [`NEVER`] where nothing has been programmed since it was erased.
    deadlines: Vec<Ns>,
    /// Of each set, when it begins the next one at the earliest, if that is not too old by then.
    not_before: Vec<Ns>,
    /// Of each set, whether it is to refresh its oldest superblock.
    due: Vec<bool>,
    /// Of each set, whether it is at that.
    at_work: Vec<bool>,
}

#[derive(Debug)]
struct Scrub {
    period: Ns,
    when: ScrubWhen,
    /// Pages of a set.
    pages: u64,
    sets: Vec<ScrubOfSet>,
}

#[derive(Debug, Clone, Default)]
struct ScrubOfSet {
    /// Turns that pages have had.
    turns: u64,
    /// The page whose turn is next, counted over the set.
    next: u64,
    /// Turns that have come and were not taken; below 0 where pages of several chips were read at once.
    owed: i64,
    reading: bool,
}

impl Maintenance {
    /// None where nothing is done by age.
    pub(super) fn new(config: &CheckedConfig) -> Option<Box<Self>> {
        let (spec, geometry) = (&config.config().ftl, config.geometry());
        if spec.refresh.is_none() && spec.scrub.is_none() {
            return None;
        }
        let of_run = |days: f64| Ns((days * NS_PER_DAY / spec.time_scale).max(1.0) as u64);
        let (sets, per_set) = (geometry.sets(), geometry.blocks_per_plane());
        let refresh = spec.refresh.as_ref().map(|refresh| {
            let deadline = |superblock: u32| {
                let ssd = geometry.ssd_of_set(geometry.set_of_superblock(superblock));
                let start_days = config.start_ages().retention_hours(ssd, superblock) / 24.0;
                of_run((refresh.age_days - start_days).max(0.0))
            };
            let age = of_run(refresh.age_days);
            Refresh {
                age,
                pause: Ns((age.0 / u64::from(per_set)).max(1_000)),
                deadlines: (0..sets * per_set).map(deadline).collect(),
                // Sets take turns.
                not_before: (0..sets)
                    .map(|set| {
                        Ns((u128::from(shortest_pause(age, per_set.into())) * u128::from(set + 1) / u128::from(sets))
                            as u64)
                    })
                    .collect(),
                due: vec![false; sets as usize],
                at_work: vec![false; sets as usize],
            }
        });
        let scrub = spec.scrub.as_ref().map(|scrub| Scrub {
            period: of_run(scrub.period_days),
            when: scrub.when,
            pages: u64::from(per_set) * u64::from(geometry.pages_per_superblock()),
            sets: vec![ScrubOfSet::default(); sets as usize],
        });
        Some(Box::new(Self { refresh, scrub, found: vec![VecDeque::new(); sets as usize], over: false }))
    }

    /// A page of a superblock has been programmed. The first one since its erase begins the age of its data; which page that is depends
    /// on the dies that still work.
    pub(super) fn programmed(&mut self, superblock: u32, now: Ns) {
        if let Some(refresh) = &mut self.refresh
            && refresh.deadlines[superblock as usize] == NEVER
        {
            refresh.deadlines[superblock as usize] = Ns(now.0.saturating_add(refresh.age.0));
        }
    }

    /// All blocks of a superblock have been erased.
    pub(super) fn erased(&mut self, superblock: u32) {
        if let Some(refresh) = &mut self.refresh {
            refresh.deadlines[superblock as usize] = NEVER;
        }
    }

    /// The host has no more requests. What would be done later, nobody waits for: the run ends without it.
    pub(super) fn requests_are_over(&mut self) {
        self.over = true;
    }

    /// Whether a set has anything to refresh.
    pub(super) fn wants_refresh(&self, set: u32) -> bool {
        !self.over
            && (!self.found[set as usize].is_empty()
                || self.refresh.as_ref().is_some_and(|refresh| refresh.due[set as usize]))
    }

    /// Takes the superblock that a set refreshes next: what scrub has found, else what is oldest.
    fn take(&mut self, device: &mut Device, set: u32) -> Option<u32> {
        while let Some((superblock, erases)) = self.found[set as usize].pop_front() {
            if device.ftl.erases(superblock) == erases && device.ftl.take_to_move(set, superblock) {
                device.kernel.statistics.maintenance.refreshed_for_scrub += 1;
                return Some(superblock);
            }
        }
        let refresh = self.refresh.as_mut()?;
        if !std::mem::take(&mut refresh.due[set as usize]) {
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
    /// The superblocks of a set that can be moved, with their deadlines.
    fn oldest_first(&self, device: &Device, set: u32) -> Vec<(Ns, u32)> {
        let of_set = device.geometry.superblocks_of_set(set);
        let held = of_set.filter(|&superblock| device.ftl.holds_data(superblock));
        let mut held: Vec<_> = held.map(|superblock| (self.deadlines[superblock as usize], superblock)).collect();
        held.sort_unstable();
        held
    }

    /// When the oldest superblock of a set is to be moved, so that none will be late; none where there is none.
    fn next_start(&self, device: &Device, set: u32) -> Option<Ns> {
        let held = self.oldest_first(device, set);
        let &(oldest, _) = held.first()?;
        let each = self.age.0 / held.len() as u64;
        let chained =
            held.iter().zip(0..).map(|(&(deadline, _), before): (_, u64)| deadline.0.saturating_sub(before * each));
        let start = chained.min().map_or(oldest, Ns);
        Some(start.max(self.not_before[set as usize]).min(oldest))
    }

    /// A set begins to refresh a superblock.
    fn began(&mut self, device: &Device, set: u32) {
        let held = self.oldest_first(device, set).len() as u64 + 1;
        self.not_before[set as usize] = Ns(device.kernel.now.0.saturating_add(shortest_pause(self.age, held)));
        self.at_work[set as usize] = true;
    }

    /// The set is asked for again when its oldest superblock is to be moved, after `least` at the earliest.
    fn schedule(&self, device: &mut Device, set: u32, least: Ns) {
        // Where nothing is old enough to be known, as in an empty device, nothing will be for as long.
        let start = self.next_start(device, set).unwrap_or(Ns(device.kernel.now.0.saturating_add(self.age.0)));
        let after = start.0.saturating_sub(device.kernel.now.0).max(least.0);
        device.kernel.schedule(Ns(after), Event::RefreshDue { set });
    }
}

impl WritePath {
    /// The run begins: so do the clocks of maintenance.
    pub(in super::super) fn start_maintenance(&mut self, device: &mut Device) {
        let Some(maintenance) = &mut self.maintenance else { return };
        for set in 0..device.geometry.sets() {
            if let Some(refresh) = &mut maintenance.refresh {
                device.ftl.free_ones(set).into_iter().for_each(|free| refresh.deadlines[free as usize] = NEVER);
                refresh.schedule(device, set, Ns::ZERO);
            }
            if let Some(scrub) = &maintenance.scrub {
                // Sets take turns.
                let first = scrub.period.0 / scrub.pages * u64::from(set + 1) / u64::from(device.geometry.sets());
                device.kernel.schedule(Ns(first), Event::ScrubDue { set });
            }
        }
    }

    // ---- Refresh ----

    /// The data of a set may have become too old; or what was too old has been moved meanwhile.
    pub(in super::super) fn refresh_due(&mut self, device: &mut Device, set: u32) {
        let Some(refresh) = self.maintenance.as_mut().and_then(|maintenance| maintenance.refresh.as_mut()) else {
            return;
        };
        if refresh.next_start(device, set).is_none_or(|start| start > device.kernel.now) {
            return refresh.schedule(device, set, Ns::ZERO);
        }
        refresh.due[set as usize] = true;
        self.maintain(device, set);
    }

    /// Begins to refresh a superblock of a set at which nothing is at work, if any is due and the host need not wait for it.
    pub(super) fn begin_refresh(&mut self, device: &mut Device, set: u32) {
        if self.makes_way(device, set) {
            let refresh = self.maintenance.as_mut().and_then(|maintenance| maintenance.refresh.as_mut());
            if let Some(refresh) = refresh
                && std::mem::take(&mut refresh.due[set as usize])
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

    /// Refresh of a superblock of a set has ended; the data stays where it is if dies that failed meanwhile left no room for it.
    pub(super) fn refresh_ended(&mut self, device: &mut Device, set: u32, moved: bool) {
        device.kernel.statistics.maintenance.refreshed_blocks += u64::from(moved);
        if let Some(refresh) = self.maintenance.as_mut().and_then(|maintenance| maintenance.refresh.as_mut())
            && std::mem::take(&mut refresh.at_work[set as usize])
        {
            refresh.schedule(device, set, if moved { Ns::ZERO } else { refresh.pause });
        }
    }

    /// Whether nothing begins in a set, for the host waits for what is at work to end: what it writes finds no room, or its next request finds
    /// the queues full. Where data ages faster than it can be moved, refresh is at work without a pause, and the host would wait for ever.
    fn makes_way(&self, device: &Device, set: u32) -> bool {
        device.holds_host || self.waits_for_room(device, set)
    }

    // ---- Patrol scrub ----

    /// It is the turn of the next page of a set.
    pub(in super::super) fn scrub_due(&mut self, device: &mut Device, set: u32) {
        let Some(scrub) = self.maintenance.as_mut().and_then(|maintenance| maintenance.scrub.as_mut()) else { return };
        let of_set = &mut scrub.sets[set as usize];
        (of_set.turns, of_set.owed) = (of_set.turns + 1, of_set.owed + 1);
        // To the nanosecond over a period, however short a turn is.
        let at = |turns: u64| (u128::from(turns) * u128::from(scrub.period.0) / u128::from(scrub.pages)) as u64;
        device.kernel.schedule(Ns(at(of_set.turns + 1) - at(of_set.turns)), Event::ScrubDue { set });
        self.maintain(device, set);
    }

    /// Reads the pages of a set whose turn has come, one at a time.
    pub(super) fn scrub(&mut self, device: &mut Device, set: u32) {
        if self.makes_way(device, set) {
            return;
        }
        let Some(maintenance) = self.maintenance.as_mut().filter(|maintenance| !maintenance.over) else { return };
        let Some(scrub) = maintenance.scrub.as_mut() else { return };
        let of_set = &mut scrub.sets[set as usize];
        if of_set.owed <= 0 || of_set.reading {
            return;
        }
        if scrub.when == ScrubWhen::HostAway && device.host_is_at(set) {
            return;
        }
        let of_superblock = u64::from(device.geometry.pages_per_superblock());
        while of_set.owed > 0 {
            let superblock = set * device.geometry.blocks_per_plane() + (of_set.next / of_superblock) as u32;
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

    /// A page of a set has been scrubbed.
    ///
    /// # Arguments
    /// - `needs_refresh`: whether something in it is beyond the limit.
    pub(in super::super) fn scrubbed(&mut self, device: &mut Device, set: u32, superblock: u32, needs_refresh: bool) {
        let Some(maintenance) = self.maintenance.as_mut() else { return };
        if let Some(scrub) = &mut maintenance.scrub {
            scrub.sets[set as usize].reading = false;
        }
        let found = (superblock, device.ftl.erases(superblock));
        let waiting = &mut maintenance.found[set as usize];
        if needs_refresh && device.ftl.holds_data(superblock) && !waiting.contains(&found) {
            device.kernel.statistics.maintenance.blocks_found += 1;
            waiting.push_back(found);
        }
    }

    /// Turns of pages that have come, and pages that have yet to be read of those, over all sets; nothing without a scrub.
    pub(in super::super) fn scrub_turns(&self) -> Option<(u64, u64, u64)> {
        let scrub = self.maintenance.as_ref()?.scrub.as_ref()?;
        let sum = |of: fn(&ScrubOfSet) -> u64| scrub.sets.iter().map(of).sum::<u64>();
        let pages = scrub.pages * scrub.sets.len() as u64;
        Some((sum(|of_set| of_set.turns), sum(|of_set| of_set.owed.max(0) as u64), pages))
    }
}
