//! Which of the operations that wait for a busy unit goes next, where the config has `[scheduling]`.
//!
//! What waits stands in the order in which it came. Each time the unit is free, the one goes that the keys say, among those that are equal
//! the one that has waited longest. Who is passed over by one that came later counts that, and has its turn when it was so often enough: so
//! whatever the keys say, nothing waits for ever. Programs of one block keep their order: the one whose turn it is lets the first of its
//! block go. Neither passes anybody over more often than is allowed, for those before the first that has been passed over often enough have
//! not been.

use std::collections::VecDeque;

use softsense_base::Ns;

use super::super::owners::{Cause, ProgramOwner, ReadOwner};
use super::BackEnd;
use super::array::{NONE, Work};
use super::orders::ReadOrder;
use crate::checked::CheckedConfig;
use crate::config::{IntensitySpec, OperationKind, Priority, ScheduleBy};
use crate::ftl::Group;

const KINDS: usize = OperationKind::ALL.len();

/// The time of fair queueing that an operation of weight 1 takes.
const TURN: u64 = 1 << 32;

/// What never has to be done.
const NEVER: Ns = Ns(u64::MAX);

/// Work that waits, and what is asked of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waits {
    work: Work,
    kind: OperationKind,
    priority: u8,
    /// None where it is for no tenant.
    tenant: u32,
    set: u32,
    deadline: Ns,
    /// Whether it is a read that may go while a program or an erase is suspended.
    may_interrupt: bool,
    /// The block whose programs it may not pass; none where it may pass any.
    in_block: u32,
    /// How often something that came later has gone before it.
    passed_over: u32,
}

/// What is known of a request under way.
#[derive(Debug, Clone, Copy)]
struct Asked {
    tenant: u32,
    priority: u8,
    deadline: Ns,
}

/// What waits for one unit.
#[derive(Debug, Default)]
struct Queue {
    /// The first came first.
    waiting: VecDeque<Waits>,
    /// Where kinds have weights: when, in the time of fair queueing, the next of each begins, and the last that began did.
    next_begins: [u64; KINDS],
    began: u64,
    /// What each tenant wants of the unit.
    wants: Vec<Wants>,
}

/// How much a tenant wants of a unit.
#[derive(Debug, Clone, Copy, Default)]
struct Wants {
    epoch: u64,
    /// Pages read and programmed in it.
    pages: [u64; 2],
    /// Whether it wanted much in the epoch before.
    wanted_much: bool,
}

/// When a tenant wants much of a unit.
#[derive(Debug, Clone, Copy)]
struct Intensity {
    epoch: Ns,
    /// Pages read and programmed in an epoch at most.
    pages: [u64; 2],
}

impl Intensity {
    /// What is known of a tenant in the epoch of this instant.
    fn at(&self, now: Ns, wants: Wants) -> Wants {
        let epoch = now.0 / self.epoch.0;
        if epoch == wants.epoch {
            return wants;
        }
        let too_many = (0..2).any(|at| wants.pages[at] > self.pages[at]);
        Wants { epoch, pages: [0; 2], wanted_much: epoch == wants.epoch + 1 && too_many }
    }
}

/// What has been chosen how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScheduleCounts {
    /// Operations that began after they had waited, and so were chosen.
    pub chosen: u64,
    /// Those of them that had been passed over as often as is allowed.
    pub had_waited_enough: u64,
    /// Those of them whose deadline was near.
    pub near_deadline: u64,
    /// How often one of them had been passed over, at most.
    pub most_passed_over: u32,
}

#[derive(Debug)]
pub(super) struct Schedule {
    by: Vec<ScheduleBy>,
    ranks: [u8; KINDS],
    /// Of each kind, what a turn of it takes in the time of fair queueing; none where there is an order.
    turns: Option<[u64; KINDS]>,
    passed_over_at_most: u32,
    collection_first_at: u32,
    /// None where nothing looks at it.
    intensity: Option<Intensity>,
    margin: Ns,
    only_near_suspend: bool,
    /// Of each tenant, or of all requests where there are none.
    priorities: Vec<u8>,
    deadlines: Vec<Ns>,
    queues: Vec<Queue>,
    /// Of each request under way.
    requests: Vec<Asked>,
    /// Of each set, whether its collection goes first.
    hurries: Vec<bool>,
    counts: ScheduleCounts,
}

impl Schedule {
    /// None where the config has none.
    pub(super) fn new(config: &CheckedConfig) -> Option<Box<Self>> {
        let spec = config.config().scheduling.as_ref()?;
        let geometry = config.geometry();
        let deadlines = spec.deadlines.as_ref();
        let tenants = &config.config().host.tenants;
        let priorities = tenants.iter().map(|tenant| tenant.priority as u8).collect::<Vec<_>>();
        Some(Box::new(Self {
            by: spec.by.clone(),
            ranks: spec.ranks().unwrap_or_default(),
            turns: spec.weights().map(|weights| weights.map(|weight| TURN / u64::from(weight))),
            passed_over_at_most: spec.passed_over_at_most,
            collection_first_at: spec.collection_first_at_blocks,
            intensity: spec.by.contains(&ScheduleBy::Intensity).then(|| {
                let of_unit = |bytes: u64| {
                    let page_bytes = config.config().geometry.page_bytes();
                    (bytes / (u64::from(geometry.busy_units()) * page_bytes)).max(1)
                };
                let IntensitySpec { epoch_us, read_bytes, write_bytes } = spec.intensity;
                Intensity { epoch: Ns::from_us(epoch_us), pages: [of_unit(read_bytes), of_unit(write_bytes)] }
            }),
            margin: deadlines.map_or(Ns::ZERO, |deadlines| Ns::from_us(deadlines.margin_us)),
            only_near_suspend: deadlines.is_some_and(|deadlines| deadlines.only_near_suspend),
            priorities: if priorities.is_empty() { vec![Priority::default() as u8] } else { priorities },
            deadlines: config.read_deadlines(),
            queues: (0..geometry.busy_units())
                .map(|_| Queue { wants: vec![Wants::default(); tenants.len().max(1)], ..Queue::default() })
                .collect(),
            requests: Vec::new(),
            hurries: vec![false; geometry.sets() as usize],
            counts: ScheduleCounts::default(),
        }))
    }

    /// A request of a tenant comes in, which arrived then.
    fn expect(&mut self, request: u32, tenant: usize, arrival: Ns) {
        let deadline = self.deadlines.get(tenant).map_or(NEVER, |&within| arrival + within);
        let unknown = Asked { tenant: NONE, priority: 0, deadline: NEVER };
        self.requests.resize(self.requests.len().max(request as usize + 1), unknown);
        self.requests[request as usize] = Asked { tenant: tenant as u32, priority: self.priorities[tenant], deadline };
    }

    pub(super) fn waiting(&self, unit: u32) -> usize {
        self.queues[unit as usize].waiting.len()
    }

    /// What waits, in the order in which it came.
    pub(super) fn waiting_works(&self, unit: u32) -> impl Iterator<Item = Work> {
        self.queues[unit as usize].waiting.iter().map(|waits| waits.work)
    }

    /// A tenant, if it is for one, wants this of a unit.
    pub(super) fn count(&mut self, now: Ns, unit: u32, waits: &Waits) {
        let Some(intensity) = &self.intensity else { return };
        if let Some(wants) = self.queues[unit as usize].wants.get_mut(waits.tenant as usize) {
            *wants = intensity.at(now, *wants);
            wants.pages[usize::from(matches!(waits.work, Work::Program(_)))] += 1;
        }
    }

    pub(super) fn wait(&mut self, unit: u32, waits: Waits) {
        self.queues[unit as usize].waiting.push_back(waits);
    }

    /// A request waits for a read of the background: where that waits, it is what the request asks for. Whether it does.
    ///
    /// # Arguments
    /// - `may_interrupt`: whether it may go while a program or an erase is suspended, as reads of the host.
    pub(super) fn adopt(&mut self, unit: u32, work: Work, request: u32, may_interrupt: bool) -> bool {
        let asked = self.requests[request as usize];
        let Some(waits) = self.queues[unit as usize].waiting.iter_mut().find(|waits| waits.work == work) else {
            return false;
        };
        if waits.kind != OperationKind::HostRead {
            *waits = Waits { kind: OperationKind::HostRead, tenant: asked.tenant, priority: asked.priority, ..*waits };
        }
        waits.priority = waits.priority.min(asked.priority);
        waits.deadline = waits.deadline.min(asked.deadline);
        waits.may_interrupt = may_interrupt;
        true
    }

    fn is_near(&self, now: Ns, deadline: Ns) -> bool {
        deadline != NEVER && now + self.margin >= deadline
    }

    /// What is compared of what waits: less goes first.
    fn key(&self, now: Ns, queue: &Queue, waits: &Waits) -> (Ns, [u64; 3]) {
        let near = if self.is_near(now, waits.deadline) { waits.deadline } else { NEVER };
        let mut keys = [0; 3];
        for (key, by) in keys.iter_mut().zip(&self.by) {
            *key = match (by, &self.turns) {
                (ScheduleBy::Kind, _) if waits.kind.makes_room() && self.hurries[waits.set as usize] => 0,
                (ScheduleBy::Kind, None) => 1 + u64::from(self.ranks[waits.kind as usize]),
                (ScheduleBy::Kind, Some(_)) => 1 + queue.next_begins[waits.kind as usize].max(queue.began),
                (ScheduleBy::Priority, _) => u64::from(waits.priority),
                (ScheduleBy::Intensity, _) => self.intensity.as_ref().map_or(0, |intensity| {
                    let wants = queue.wants.get(waits.tenant as usize);
                    u64::from(wants.is_some_and(|&wants| intensity.at(now, wants).wanted_much))
                }),
            };
        }
        (near, keys)
    }

    /// Where what goes next stands; none where nothing may.
    ///
    /// # Arguments
    /// - `interrupting`: only what may go while a program or an erase is suspended.
    fn choose(&self, now: Ns, unit: u32, interrupting: bool) -> Option<usize> {
        let queue = &self.queues[unit as usize];
        let waiting = || queue.waiting.iter().enumerate();
        let may_go = |waits: &Waits| waits.may_interrupt || !interrupting;
        let at = match waiting().find(|(_, waits)| waits.passed_over >= self.passed_over_at_most) {
            Some((at, waits)) => may_go(waits).then_some(at)?,
            None => {
                let may_go = waiting().filter(|(_, waits)| may_go(waits));
                may_go.min_by_key(|(_, waits)| self.key(now, queue, waits))?.0
            }
        };
        let in_block = queue.waiting[at].in_block;
        let first_of_block = queue.waiting.iter().take(at).position(|waits| waits.in_block == in_block);
        Some(first_of_block.filter(|_| in_block != NONE).unwrap_or(at))
    }

    /// What goes next, without its going.
    pub(super) fn peek(&self, now: Ns, unit: u32) -> Option<Work> {
        self.choose(now, unit, false).map(|at| self.queues[unit as usize].waiting[at].work)
    }

    /// Whether a read that goes first may have a program or an erase suspended now.
    pub(super) fn may_interrupt(&self, now: Ns, owner: ReadOwner) -> bool {
        !self.only_near_suspend
            || matches!(owner, ReadOwner::Request(request) if self.is_near(now, self.requests[request as usize].deadline))
    }

    /// Whether a read waits that a program or an erase is to be suspended for.
    pub(super) fn interrupts(&self, now: Ns, unit: u32) -> bool {
        let of = |at: usize| self.queues[unit as usize].waiting[at];
        let chosen = self.choose(now, unit, true).map(of);
        chosen.is_some_and(|waits| !self.only_near_suspend || self.is_near(now, waits.deadline))
    }

    /// When the first deadline of reads that may interrupt comes near, if that is yet to come and they do not until then.
    pub(super) fn interrupts_at(&self, now: Ns, unit: u32) -> Option<Ns> {
        if !self.only_near_suspend {
            return None;
        }
        let waiting = self.queues[unit as usize].waiting.iter();
        let first = waiting.filter(|waits| waits.may_interrupt).map(|waits| waits.deadline).min()?;
        (first != NEVER && first > now + self.margin).then(|| first - self.margin)
    }

    /// What goes next, and goes.
    pub(super) fn next(&mut self, now: Ns, unit: u32, interrupting: bool) -> Option<Work> {
        let at = self.choose(now, unit, interrupting)?;
        let queue = &mut self.queues[unit as usize];
        queue.waiting.iter_mut().take(at).for_each(|waits| waits.passed_over += 1);
        let chosen = queue.waiting.remove(at)?;
        if let Some(turns) = &self.turns {
            let (kind, began) = (chosen.kind as usize, queue.began);
            queue.began = queue.next_begins[kind].max(began);
            queue.next_begins[kind] = queue.began + turns[kind];
        }
        self.counts.chosen += 1;
        self.counts.most_passed_over = self.counts.most_passed_over.max(chosen.passed_over);
        self.counts.had_waited_enough += u64::from(chosen.passed_over >= self.passed_over_at_most);
        self.counts.near_deadline += u64::from(self.is_near(now, chosen.deadline));
        Some(chosen.work)
    }
}

/// What an operation that moves data is.
///
/// # Arguments
/// - `collection`: what it is if that makes room.
fn moving(cause: Cause, collection: OperationKind) -> OperationKind {
    match cause {
        Cause::Host | Cause::Collection => collection,
        Cause::Translation => OperationKind::Translation,
        Cause::WearLevelling => OperationKind::WearLevelling,
        Cause::ReadReclaim => OperationKind::ReadReclaim,
        Cause::Refresh | Cause::BadBlock => OperationKind::Refresh,
        Cause::Scrub => OperationKind::Scrub,
        Cause::Folding => OperationKind::Folding,
        Cause::ReadAhead => OperationKind::ReadAhead,
        Cause::Parity | Cause::Recovery => OperationKind::Parity,
    }
}

impl BackEnd {
    /// What is known of work that waits.
    pub(super) fn waits(&self, work: Work) -> Waits {
        let schedule = self.array.schedule.as_ref().expect("there is a schedule");
        let background = Asked { tenant: NONE, priority: Priority::Medium as u8, deadline: NEVER };
        let of_request = |request: u32| schedule.requests[request as usize];
        let of_group = |group: Group, keeps_order: bool| (group.set, if keeps_order { group.superblock } else { NONE });
        let mut may_interrupt = false;
        let (kind, asked, (set, in_block)) = match work {
            Work::Read(part) => {
                let ReadOrder { owner, group, hurried, awaits_program, .. } =
                    self.reads.reads[self.reads.of_part(part).0].order;
                may_interrupt = hurried;
                // A read that rebuilds what another could not decode is as urgent as that one.
                let (kind, asked) = match self.asks_for(owner) {
                    ReadOwner::Request(request) => (OperationKind::HostRead, of_request(request)),
                    ReadOwner::Modify { request, .. } => {
                        (OperationKind::HostWrite, Asked { deadline: NEVER, ..of_request(request) })
                    }
                    ReadOwner::Fill { .. } => (OperationKind::HostWrite, background),
                    ReadOwner::Ahead => (OperationKind::ReadAhead, background),
                    ReadOwner::Move { cause, .. } => (moving(cause, OperationKind::CollectionRead), background),
                    ReadOwner::Scrub { .. } => (OperationKind::Scrub, background),
                    ReadOwner::Load { .. } | ReadOwner::WriteBack { .. } => (OperationKind::Translation, background),
                    ReadOwner::Recovery { .. } => (OperationKind::Parity, background),
                };
                (kind, asked, of_group(group, awaits_program))
            }
            Work::Program(part) => {
                let program = &self.programs[self.reads.of_part(part).0];
                let (kind, asked) = match program.owner {
                    ProgramOwner::Request { request, .. } => {
                        (OperationKind::HostWrite, Asked { deadline: NEVER, ..of_request(request) })
                    }
                    ProgramOwner::Buffer { .. } => (OperationKind::HostWrite, background),
                    ProgramOwner::Translation { .. } => (OperationKind::Translation, background),
                    ProgramOwner::Move(cause) => (moving(cause, OperationKind::CollectionProgram), background),
                    ProgramOwner::Parity { .. } => (OperationKind::Parity, background),
                    ProgramOwner::LeftOver { .. } => (OperationKind::Refresh, background),
                };
                (kind, asked, of_group(program.group, true))
            }
            Work::Erase { superblock, .. } => {
                (OperationKind::Erase, background, (self.geometry.set_of_superblock(superblock), NONE))
            }
        };
        let Asked { tenant, priority, deadline } = asked;
        Waits { work, kind, priority, tenant, set, deadline, may_interrupt, in_block, passed_over: 0 }
    }

    /// A request of a tenant, the first one where there are none, comes in.
    #[inline]
    pub(in super::super) fn expect(&mut self, request: u32, tenant: usize, arrival: Ns) {
        if let Some(schedule) = &mut self.array.schedule {
            schedule.expect(request, tenant, arrival);
        }
    }

    /// A set has so many free superblocks now.
    #[inline]
    pub(in super::super) fn has_free(&mut self, set: u32, superblocks: u32) {
        if let Some(schedule) = &mut self.array.schedule {
            schedule.hurries[set as usize] = superblocks <= schedule.collection_first_at;
        }
    }

    /// What the schedule has chosen so far; none without one.
    pub(in super::super) fn schedule_counts(&self) -> Option<ScheduleCounts> {
        self.array.schedule.as_ref().map(|schedule| schedule.counts)
    }
}
