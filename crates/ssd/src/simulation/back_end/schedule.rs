//! The schedule, where the config has `[scheduling]` (docs/model/ssd-timing.md). It chooses which of the operations that wait for a busy
//! unit, a plane or a die whose planes take turns, goes next. Where the config says so, it chooses among the transfers that wait for a bus,
//! too.
//!
//! *Work*, an operation or a transfer, waits in the order in which it came. When the unit, or the bus, is free, the work with the least
//! keys goes: one key for each criterion of `scheduling.by`. Among equal work the longest wait decides. Work counts how often it
//! is passed over by work that came later. When it has been passed over often enough, it has its turn: so nothing waits for ever, whatever
//! the keys say. Programs of one block keep their order: the one whose turn it is lets the first of its block go. Neither rule passes work
//! over more often than `passed_over_at_most`: all work that came before the first work with that count has a lower count, and may still be
//! passed over.

use crate::slab::{ReadId, RequestId};
use std::collections::{BTreeMap, VecDeque};

use softsense_base::Ns;
use softsense_config::checked::CheckedConfig;
use softsense_config::ids::{Channel, Set, Superblock, TiVec, Unit};
use softsense_config::spec::{IntensitySpec, OperationKind, Priority, ScheduleBy};

use super::super::owners::ReadOwner;
use super::array::{NONE, Work};
use super::bus::Transfer;

const KINDS: usize = OperationKind::ALL.len();
const PRIORITIES: usize = Priority::ALL.len();

/// The virtual time of start-time fair queueing that an operation of weight 1 takes; of weight w, 1 / w of it. Virtual time has no unit: it
/// advances by turns, not with the clock.
const TURN: u64 = 1 << 32;

/// The deadline of work that has none.
pub(super) const NEVER: Ns = Ns(u64::MAX);

/// The properties of work by which it is chosen, whatever it waits for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attributes {
    pub(super) kind: OperationKind,
    /// The request, or the background, that the work is for.
    pub(super) of: Urgency,
    /// The set of planes in which the work is done; without interleaving a set is one plane.
    pub(super) set: Set,
    /// Whether the work is a read that may go while a program or an erase is suspended.
    pub(super) may_interrupt: bool,
    /// The block whose programs the work may not pass; none where it may pass any.
    pub(super) in_block: Superblock,
    /// Whether the work programs or erases, or makes room for work that does.
    pub(super) writes: bool,
}

impl Attributes {
    /// The properties of a transfer for this work. Units keep the order of a block, and a transfer on a bus is not interrupted.
    pub(super) fn on_bus(self) -> Self {
        Self { may_interrupt: false, in_block: Superblock(NONE), ..self }
    }
}

/// Tenant, priority and deadline of a request under way, or of the background.
#[derive(Debug, Clone, Copy)]
pub(super) struct Urgency {
    /// Number of the tenant; none where the work is for no tenant.
    pub(super) tenant: u32,
    /// [`Priority`] as a number; less is more urgent.
    pub(super) priority: u8,
    pub(super) deadline: Ns,
}

impl Urgency {
    /// Work that the device does of its own accord.
    pub(super) const BACKGROUND: Self = Self { tenant: NONE, priority: Priority::Medium as u8, deadline: NEVER };

    /// The priority and the deadline of a read that one request waits for, if another request does, too.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            priority: self.priority.min(other.priority),
            deadline: self.deadline.min(other.deadline),
            tenant: self.tenant,
        }
    }
}

/// An operation or a transfer that comes to a queue.
#[derive(Debug, Clone, Copy)]
pub(super) struct Incoming<T> {
    pub(super) item: T,
    pub(super) attributes: Attributes,
    /// Time that it takes, if it waits for nothing.
    pub(super) takes: Ns,
    /// Amount of data: pages of an operation of a unit, codewords of a transfer.
    pub(super) amount: u64,
}

/// An operation or a transfer that waits in a queue.
#[derive(Debug, Clone, Copy)]
struct Queued<T> {
    item: T,
    attributes: Attributes,
    /// The instant at which it came.
    since: Ns,
    /// Time that it takes, if it waits for nothing.
    takes: Ns,
    /// Time that it would have taken, its wait included, if no work of others had come.
    alone: Ns,
    /// How often work that came later has gone before it.
    passed_over: u32,
}

impl<T> Queued<T> {
    /// The slowdown of an operation that begins now: its time in the queue and at work, over the time that it would have taken if no work
    /// of others had come; in units of 2^-32.
    fn slowdown(&self, now: Ns) -> u64 {
        let shared = u128::from((now - self.since + self.takes).0);
        u64::try_from((shared << 32) / u128::from(self.alone.0.max(1))).unwrap_or(u64::MAX)
    }

    /// Whether the proportional wait of this operation is at least that of another one. An operation has waited some time, and would wait
    /// for the other one, too, if the other went first. The proportional wait is the sum over the time that the operation itself takes.
    fn has_waited_as_long_as(&self, now: Ns, other: &Self) -> bool {
        let wait = |of: &Self, other: &Self| u128::from((now - of.since + other.takes).0);
        wait(self, other) * u128::from(other.takes.0) >= wait(other, self) * u128::from(self.takes.0)
    }
}

/// Turns by weight, in the virtual time of [`TURN`]: when the next turn of each class (a kind or a priority) begins, and when the last turn
/// of any class began.
#[derive(Debug)]
struct Turns<const CLASSES: usize> {
    next_begins: [u64; CLASSES],
    began: u64,
}

impl<const CLASSES: usize> Turns<CLASSES> {
    const NEW: Self = Self { next_begins: [0; CLASSES], began: 0 };

    /// The virtual time at which a turn of a class would begin now; the class with the least goes.
    fn begins(&self, class: usize) -> u64 {
        self.next_begins[class].max(self.began)
    }

    /// Gives a class its turn, which takes `turn`.
    fn take(&mut self, class: usize, turn: u64) {
        self.began = self.begins(class);
        self.next_begins[class] = self.began + turn;
    }
}

/// Virtual time that a turn of each class takes; none without weights.
fn turns_of<const CLASSES: usize>(weights: Option<[u32; CLASSES]>) -> Option<[u64; CLASSES]> {
    weights.map(|weights| weights.map(|weight| TURN / u64::from(weight)))
}

/// The demand of a tenant for a unit, or for a bus, which the criterion `intensity` judges.
#[derive(Debug, Clone, Copy, Default)]
struct TenantDemand {
    /// Number of the epoch: epochs of `scheduling.intensity.epoch_us` follow one another from instant 0.
    epoch: u64,
    /// Pages, or codewords, that were read and that were programmed in the epoch.
    amounts: [u64; 2],
    /// Whether the tenant wanted much in the epoch before.
    was_intensive: bool,
}

impl TenantDemand {
    /// The demand of a tenant in the epoch of this instant.
    ///
    /// # Arguments
    /// - `epoch`: duration of an epoch.
    /// - `most`: the most that a tenant which wants little reads and programs in an epoch.
    fn at(self, now: Ns, epoch: Ns, most: [u64; 2]) -> Self {
        let epoch = now.0 / epoch.0;
        if epoch == self.epoch {
            return self;
        }
        let too_many = (0..2).any(|at| self.amounts[at] > most[at]);
        Self { epoch, amounts: [0; 2], was_intensive: epoch == self.epoch + 1 && too_many }
    }
}

/// Counts of what a schedule has chosen, and why.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScheduleCounts {
    /// Operations or transfers that began after they had waited, and so were chosen.
    pub chosen: u64,
    /// Chosen ones that had been passed over as often as is allowed.
    pub had_waited_enough: u64,
    /// Chosen ones whose deadline was near.
    pub near_deadline: u64,
    /// The largest number of times that a chosen one had been passed over.
    pub most_passed_over: u32,
}

/// The rules by which a schedule chooses.
#[derive(Debug)]
struct Rules {
    /// The criteria, the most important first.
    by: Vec<ScheduleBy>,
    /// The rank of each kind where `scheduling.kinds` has an order: less goes first.
    ranks: [u8; KINDS],
    /// Virtual time that a turn of each kind, and of each priority, takes; none where there is an order.
    kinds: Option<[u64; KINDS]>,
    priorities: Option<[u64; PRIORITIES]>,
    /// Number of times that work is passed over before it has its turn.
    passed_over_at_most: u32,
    /// Number of free superblocks of a set at or below which its garbage collection goes first.
    collection_first_at: u32,
    /// Duration of an epoch of intensity.
    epoch: Ns,
    /// Time before a deadline from which on the deadline is near.
    margin: Ns,
    /// Whether only reads whose deadline is near suspend programs and erases.
    only_near_suspend: bool,
    /// Whether collection goes first, for each set.
    hurries: TiVec<Set, bool>,
}

impl Rules {
    /// Whether a deadline is near, or over.
    fn is_near(&self, now: Ns, deadline: Ns) -> bool {
        deadline != NEVER && now + self.margin >= deadline
    }

    /// The keys by which waiting work is compared, less goes first: the deadline if it is near, then a key for each criterion of `by`.
    ///
    /// # Arguments
    /// - `writes_go`: whether work that writes has its turn, and not reads; none before that is decided.
    fn key<T>(
        &self,
        now: Ns,
        queue: &Queue<T>,
        queued: &Queued<T>,
        writes_go: Option<bool>,
    ) -> (Ns, [u64; ScheduleBy::COUNT]) {
        let Attributes { kind, of, set, writes, .. } = queued.attributes;
        let near = if self.is_near(now, of.deadline) { of.deadline } else { NEVER };
        let hurries = kind.makes_room() && self.hurries[set];
        let mut keys = [0; ScheduleBy::COUNT];
        for (key, by) in keys.iter_mut().zip(&self.by) {
            *key = match by {
                ScheduleBy::Kind if hurries => 0,
                ScheduleBy::Kind if self.kinds.is_some() => 1 + queue.kinds.begins(kind as usize),
                ScheduleBy::Kind => 1 + u64::from(self.ranks[kind as usize]),
                ScheduleBy::Priority if self.priorities.is_some() => queue.priorities.begins(of.priority.into()),
                ScheduleBy::Priority => u64::from(of.priority),
                ScheduleBy::Intensity => u64::from(queue.is_intensive(now, of.tenant, self.epoch)),
                ScheduleBy::Slowdown => u64::MAX - queued.slowdown(now),
                ScheduleBy::ProportionalWait if writes_go.is_some_and(|go| go != writes) => 2,
                ScheduleBy::ProportionalWait => u64::from(!hurries),
            };
        }
        (near, keys)
    }

    /// The position in a queue of the work that goes next; none where none may go.
    ///
    /// # Arguments
    /// - `interrupting`: whether only such work may go as may while a program or an erase is suspended.
    fn choose<T>(&self, now: Ns, queue: &Queue<T>, interrupting: bool) -> Option<usize> {
        let waiting = || queue.waiting.iter().enumerate();
        let may_go = |queued: &Queued<T>| queued.attributes.may_interrupt || !interrupting;
        let at = match waiting().find(|(_, queued)| queued.passed_over >= self.passed_over_at_most) {
            Some((at, queued)) => may_go(queued).then_some(at)?,
            None => {
                let first = |writes_go: Option<bool>, of: &dyn Fn(&Queued<T>) -> bool| {
                    let among = waiting().filter(|(_, queued)| may_go(queued) && of(queued));
                    among.min_by_key(|(_, queued)| self.key(now, queue, queued, writes_go))
                };
                let writes_go = self.by.contains(&ScheduleBy::ProportionalWait).then(|| {
                    let [read, write] =
                        [false, true].map(|writes| first(None, &|queued| queued.attributes.writes == writes));
                    match (read, write) {
                        (Some((_, read)), Some((_, write))) => !read.has_waited_as_long_as(now, write),
                        (read, _) => read.is_none(),
                    }
                });
                first(writes_go, &|_| true)?.0
            }
        };
        let in_block = queue.waiting[at].attributes.in_block;
        let first_of_block = queue.waiting.iter().take(at).position(|queued| queued.attributes.in_block == in_block);
        Some(first_of_block.filter(|_| in_block != Superblock(NONE)).unwrap_or(at))
    }
}

/// The queue of one unit, or of one bus.
#[derive(Debug)]
struct Queue<T> {
    /// Work that waits, in the order in which it came.
    waiting: VecDeque<Queued<T>>,
    kinds: Turns<KINDS>,
    priorities: Turns<PRIORITIES>,
    /// The demand of each tenant; and the most that a tenant which wants little reads, and programs, in an epoch.
    wants: Vec<TenantDemand>,
    most: [u64; 2],
    /// The instants at which the reads of each tenant, and its writes, would be done if nothing else came. The background is one more
    /// tenant.
    alone_until: Vec<[Ns; 2]>,
}

impl<T> Queue<T> {
    /// Whether a tenant wanted much in the epoch before this instant; the background never does.
    fn is_intensive(&self, now: Ns, tenant: u32, epoch: Ns) -> bool {
        self.wants.get(tenant as usize).is_some_and(|wants| wants.at(now, epoch, self.most).was_intensive)
    }

    /// Counts work that comes, even if it begins at once. Returns the time that it would be there, its wait included, if no work of others
    /// came.
    fn count(&mut self, now: Ns, epoch: Ns, incoming: &Incoming<T>) -> Ns {
        let (tenant, direction) = (incoming.attributes.of.tenant as usize, usize::from(incoming.attributes.writes));
        if let Some(wants) = self.wants.get_mut(tenant) {
            *wants = wants.at(now, epoch, self.most);
            wants.amounts[direction] += incoming.amount;
        }
        let until = &mut self.alone_until[tenant.min(self.wants.len())][direction];
        *until = now.max(*until) + incoming.takes;
        *until - now
    }
}

/// The queues of all units, or of all buses.
#[derive(Debug)]
struct Queues<N: From<usize>, T> {
    of: TiVec<N, Queue<T>>,
    counts: ScheduleCounts,
}

impl<N: From<usize>, T: Copy> Queues<N, T>
where
    usize: From<N>,
{
    /// # Arguments
    /// - `most_bytes`: the most that tenants which want little read, and program, in an epoch, in all queues together.
    /// - `unit_bytes`: bytes of a page, or of a codeword.
    fn new(queues: u32, tenants: usize, most_bytes: [u64; 2], unit_bytes: u64) -> Self {
        let new = |_| Queue {
            waiting: VecDeque::new(),
            kinds: Turns::NEW,
            priorities: Turns::NEW,
            wants: vec![TenantDemand::default(); tenants],
            most: most_bytes.map(|bytes| (bytes / (u64::from(queues) * unit_bytes)).max(1)),
            alone_until: vec![[Ns::ZERO; 2]; tenants + 1],
        };
        Self { of: (0..queues).map(new).collect(), counts: ScheduleCounts::default() }
    }

    /// Counts work that comes to a queue, and puts it there unless it begins at once, as the queue is `free`.
    fn enqueue(&mut self, rules: &Rules, now: Ns, at: N, incoming: Incoming<T>, free: bool) {
        let queue = &mut self.of[at];
        let alone = queue.count(now, rules.epoch, &incoming);
        if !free {
            let Incoming { item, attributes, takes, .. } = incoming;
            queue.waiting.push_back(Queued { item, attributes, since: now, takes, alone, passed_over: 0 });
        }
    }

    /// Takes the work that goes next out of its queue.
    fn next(&mut self, rules: &Rules, now: Ns, at: N, interrupting: bool) -> Option<T> {
        let queue = &mut self.of[at];
        let at = rules.choose(now, queue, interrupting)?;
        queue.waiting.iter_mut().take(at).for_each(|queued| queued.passed_over += 1);
        let chosen = queue.waiting.remove(at)?;
        let Attributes { kind, of, .. } = chosen.attributes;
        if let Some(turns) = &rules.kinds {
            queue.kinds.take(kind as usize, turns[kind as usize]);
        }
        if let Some(turns) = &rules.priorities {
            queue.priorities.take(of.priority.into(), turns[of.priority as usize]);
        }
        let counts = &mut self.counts;
        counts.chosen += 1;
        counts.most_passed_over = counts.most_passed_over.max(chosen.passed_over);
        counts.had_waited_enough += u64::from(chosen.passed_over >= rules.passed_over_at_most);
        counts.near_deadline += u64::from(rules.is_near(now, of.deadline));
        Some(chosen.item)
    }

    /// Changes the properties of the waiting work that is meant. Returns whether there is any.
    fn change(&mut self, at: N, is_meant: impl Fn(T) -> bool, attributes: Attributes) -> bool {
        let meant = self.of[at].waiting.iter_mut().filter(|queued| is_meant(queued.item));
        meant.map(|queued| queued.attributes = attributes).count() > 0
    }
}

/// The schedule of a device: its rules, and the queues in which work queued.
#[derive(Debug)]
pub(super) struct Schedule {
    rules: Rules,
    units: Queues<Unit, Work>,
    /// Queues of buses; none where buses serve as without a schedule.
    buses: Option<Queues<Channel, Transfer>>,
    /// Priority, and time until the deadline of reads, of each tenant; of all requests where there are no tenants.
    priorities: Vec<u8>,
    deadlines: Vec<Ns>,
    /// Tenant, priority and deadline of each request under way.
    requests: TiVec<RequestId, Urgency>,
    /// Priority and deadline of reads of the background that requests wait for, such as reads ahead, by the number of the read. A read
    /// that is adopted has the highest priority and the earliest deadline of these requests.
    adopted: BTreeMap<ReadId, Urgency>,
}

impl Schedule {
    /// Makes the schedule; none where the config has none.
    pub(super) fn new(config: &CheckedConfig) -> Option<Box<Self>> {
        let spec = config.config().scheduling.as_ref()?;
        let (geometry, sizes) = (config.geometry(), &config.config().geometry);
        let deadlines = spec.deadlines.as_ref();
        let tenants = &config.config().host.tenants;
        let priorities = tenants.iter().map(|tenant| tenant.priority as u8).collect::<Vec<_>>();
        let IntensitySpec { epoch_us, read_bytes, write_bytes } = spec.intensity;
        let (flows, most_bytes) = (tenants.len().max(1), [read_bytes, write_bytes]);
        Some(Box::new(Self {
            rules: Rules {
                by: spec.by.clone(),
                ranks: spec.ranks().unwrap_or_default(),
                kinds: turns_of(spec.weights()),
                priorities: turns_of(spec.priority_weights()),
                passed_over_at_most: spec.passed_over_at_most,
                collection_first_at: spec.collection_first_at_blocks,
                epoch: Ns::from_us(epoch_us),
                margin: deadlines.map_or(Ns::ZERO, |deadlines| Ns::from_us(deadlines.margin_us)),
                only_near_suspend: deadlines.is_some_and(|deadlines| deadlines.only_near_suspend),
                hurries: vec![false; geometry.sets() as usize].into(),
            },
            units: Queues::new(geometry.busy_units(), flows, most_bytes, sizes.page_bytes()),
            buses: spec.bus.then(|| Queues::new(geometry.channels(), flows, most_bytes, sizes.codeword_bytes.into())),
            priorities: if priorities.is_empty() { vec![Priority::default() as u8] } else { priorities },
            deadlines: config.read_deadlines(),
            requests: TiVec::new(),
            adopted: BTreeMap::new(),
        }))
    }

    /// Notes a request of a tenant, with the instant at which it arrived.
    pub(super) fn expect(&mut self, request: RequestId, tenant: usize, arrival: Ns) {
        let deadline = self.deadlines.get(tenant).map_or(NEVER, |&within| arrival + within);
        self.requests.resize(self.requests.len().max(request.index() + 1), Urgency::BACKGROUND);
        self.requests[request] = Urgency { tenant: tenant as u32, priority: self.priorities[tenant], deadline };
    }

    /// Tenant, priority and deadline of a request.
    pub(super) fn urgency_of(&self, request: RequestId) -> Urgency {
        self.requests[request]
    }

    /// Notes that a request waits for a read of the background.
    pub(super) fn adopt(&mut self, read: ReadId, request: RequestId) {
        let asked = self.urgency_of(request);
        self.adopted.entry(read).and_modify(|before| *before = before.and(asked)).or_insert(asked);
    }

    /// Priority and deadline of a read of the background by the requests that wait for it; none where none queued.
    pub(super) fn adopted(&self, read: ReadId) -> Option<Urgency> {
        self.adopted.get(&read).copied()
    }

    /// Forgets the requests that waited for an earlier read of the same number.
    pub(super) fn forget(&mut self, read: ReadId) {
        self.adopted.remove(&read);
    }

    /// Notes the number of free superblocks of a set.
    pub(super) fn has_free(&mut self, set: Set, superblocks: u32) {
        self.rules.hurries[set] = superblocks <= self.rules.collection_first_at;
    }

    /// Counts of the operations that were chosen for units.
    pub(super) fn counts(&self) -> ScheduleCounts {
        self.units.counts
    }

    /// Counts of the transfers that were chosen for buses, if the schedule chooses them.
    pub(super) fn bus_counts(&self) -> Option<ScheduleCounts> {
        self.buses.as_ref().map(|buses| buses.counts)
    }

    /// Number of operations that wait for a unit.
    pub(super) fn waiting(&self, unit: Unit) -> usize {
        self.units.of[unit].waiting.len()
    }

    /// Work that waits for a unit, in the order in which it came.
    pub(super) fn waiting_works(&self, unit: Unit) -> impl Iterator<Item = Work> {
        self.units.of[unit].waiting.iter().map(|queued| queued.item)
    }

    /// Hands over work that comes to a unit: it waits, unless it begins at once, as the unit is `free`.
    pub(super) fn enqueue(&mut self, now: Ns, unit: Unit, incoming: Incoming<Work>, free: bool) {
        self.units.enqueue(&self.rules, now, unit, incoming, free);
    }

    /// Changes the properties of a part of a read (one page of its group), for example once a request waits for a read ahead. Returns
    /// whether the part waits for its unit.
    pub(super) fn change(&mut self, (unit, channel): (Unit, Channel), part: u32, attributes: Attributes) -> bool {
        if let Some(buses) = &mut self.buses {
            buses.change(channel, |transfer| transfer.of_read() == Some(part), attributes.on_bus());
        }
        self.units.change(unit, |work| work == Work::Read(part), attributes)
    }

    /// The work that goes next, which stays in its queue.
    pub(super) fn peek(&self, now: Ns, unit: Unit) -> Option<Work> {
        let queue = &self.units.of[unit];
        self.rules.choose(now, queue, false).map(|at| queue.waiting[at].item)
    }

    /// Whether a read that goes first may have a program or an erase suspended now.
    pub(super) fn may_interrupt(&self, now: Ns, owner: ReadOwner) -> bool {
        !self.rules.only_near_suspend
            || matches!(owner, ReadOwner::Request(request) if self.rules.is_near(now, self.urgency_of(request).deadline))
    }

    /// Whether a read waits for which a program or an erase is to be suspended.
    pub(super) fn interrupts(&self, now: Ns, unit: Unit) -> bool {
        let queue = &self.units.of[unit];
        let chosen = self.rules.choose(now, queue, true).map(|at| queue.waiting[at].attributes.of.deadline);
        chosen.is_some_and(|deadline| !self.rules.only_near_suspend || self.rules.is_near(now, deadline))
    }

    /// The instant at which the first deadline of reads that may interrupt comes near. None if it has come already, or if reads interrupt
    /// whatever their deadlines are.
    pub(super) fn interrupts_at(&self, now: Ns, unit: Unit) -> Option<Ns> {
        if !self.rules.only_near_suspend {
            return None;
        }
        let waiting = self.units.of[unit].waiting.iter().map(|queued| queued.attributes);
        let first =
            waiting.filter(|attributes| attributes.may_interrupt).map(|attributes| attributes.of.deadline).min()?;
        (first != NEVER && first > now + self.rules.margin).then(|| first - self.rules.margin)
    }

    /// Takes the work that goes next out of its queue.
    pub(super) fn next(&mut self, now: Ns, unit: Unit, interrupting: bool) -> Option<Work> {
        self.units.next(&self.rules, now, unit, interrupting)
    }

    /// Hands over a transfer that comes to a bus. Returns whether it begins at once: the bus is `free`, and no other transfer queued.
    pub(super) fn enqueue_transfer(
        &mut self,
        now: Ns,
        channel: Channel,
        incoming: Incoming<Transfer>,
        free: bool,
    ) -> bool {
        let buses = self.buses.as_mut().expect("transfers are chosen");
        let begins = free && buses.of[channel].waiting.is_empty();
        buses.enqueue(&self.rules, now, channel, incoming, begins);
        begins
    }

    /// Takes the transfer that goes next out of its queue.
    pub(super) fn next_transfer(&mut self, now: Ns, channel: Channel) -> Option<Transfer> {
        self.buses.as_mut()?.next(&self.rules, now, channel, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slab::CodewordId;

    fn of_background(kind: OperationKind, writes: bool) -> Attributes {
        let (of, set, in_block) = (Urgency::BACKGROUND, Set(0), Superblock(NONE));
        Attributes { kind, of, set, may_interrupt: false, in_block, writes }
    }

    /// Do operations of garbage collection that hurry go before other work that writes, and do others go after it? Reads go first, as they
    /// have waited longer in proportion to the 100 ns that they take. That ends when work that takes 1000 ns has waited for more than 9,900
    /// ns, and ten times as long as the reads.
    #[test]
    fn collection_that_hurries_goes_before_writes() {
        let rule = "[scheduling]\nby = ['proportional_wait', 'kind']\ncollection_first_at_blocks = 3";
        let config = CheckedConfig::from_toml(rule, "test.toml", &[]).unwrap();
        let comes = |number, kind, writes, takes| {
            let attributes = of_background(kind, writes);
            Incoming { item: Work::Read(number), attributes, takes: Ns(takes), amount: 1 }
        };
        let order = |free_blocks, waited| {
            let mut schedule = Schedule::new(&config).unwrap();
            schedule.has_free(Set(0), free_blocks);
            schedule.enqueue(Ns(0), Unit(0), comes(1, OperationKind::HostWrite, true, 1000), false);
            schedule.enqueue(Ns(0), Unit(0), comes(2, OperationKind::CollectionRead, true, 100), false);
            schedule.enqueue(Ns(waited), Unit(0), comes(3, OperationKind::HostRead, false, 100), false);
            [0; 3].map(|_| match schedule.next(Ns(waited), Unit(0), false) {
                Some(Work::Read(number)) => number,
                other => panic!("{other:?}"),
            })
        };
        assert_eq!(order(4, 0), [3, 1, 2]);
        assert_eq!(order(4, 9_900), [3, 1, 2], "as long, so that the read goes");
        assert_eq!(order(4, 9_901), [1, 2, 3], "what writes has waited longer, collection too");
        assert_eq!(order(3, 0), [3, 2, 1]);
        assert_eq!(order(3, 1), [2, 3, 1], "the read of collection has waited longer");
    }

    /// Does a read ahead cross the bus like a read of the host, from when a request waits for it until the next read has its number?
    #[test]
    fn transfers_of_what_a_request_waits_for_go_as_it_asks() {
        let config = CheckedConfig::from_toml("[scheduling]\nbus = true", "test.toml", &[]).unwrap();
        let read = Transfer::Read { part: 7, codeword: CodewordId(0) };
        let comes = |item, kind, writes| {
            let attributes = of_background(kind, writes);
            Incoming { item, attributes, takes: Ns(10), amount: 1 }
        };
        for waits in [false, true] {
            let mut schedule = Schedule::new(&config).unwrap();
            schedule.expect(RequestId(3), 0, Ns(0));
            let program = |part| comes(Transfer::Program(part), OperationKind::HostWrite, true);
            assert!(schedule.enqueue_transfer(Ns(0), Channel(0), program(1), true), "the bus is free");
            assert!(!schedule.enqueue_transfer(Ns(0), Channel(0), program(2), false));
            let ahead = comes(read, OperationKind::ReadAhead, false);
            assert!(!schedule.enqueue_transfer(Ns(0), Channel(0), ahead, false));
            if waits {
                schedule.adopt(ReadId(7), RequestId(3));
                let of = schedule.adopted(ReadId(7)).expect("a request waits for it");
                let attributes = Attributes { kind: OperationKind::HostRead, of, ..ahead.attributes };
                assert!(
                    !schedule.change((Unit(0), Channel(0)), 7, attributes),
                    "it does not wait for its unit any more"
                );
            }
            let order = [0; 2].map(|_| schedule.next_transfer(Ns(10), Channel(0)).unwrap().of_read());
            assert_eq!(order, if waits { [Some(7), None] } else { [None, Some(7)] });
            schedule.forget(ReadId(7));
            assert!(schedule.adopted(ReadId(7)).is_none());
        }
    }
}
