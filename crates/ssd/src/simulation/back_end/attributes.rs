//! The properties of waiting work for a schedule: its kind, for whom it is, and how long it takes.

use crate::slab::RequestId;
use softsense_base::Ns;
use softsense_config::ids::{Channel, Set, Superblock, Unit};
use softsense_config::spec::OperationKind;
use softsense_ftl::Group;

use super::super::owners::{Cause, ProgramOwner, ReadOwner};
use super::BackEnd;
use super::array::{NONE, Work};
use super::bus::Transfer;
use super::orders::ReadOrder;
use super::schedule::{Attributes, Incoming, NEVER, ScheduleCounts, Urgency};

/// The kind of an operation that moves data for a cause.
///
/// # Arguments
/// - `collection`: the kind if the operation makes room.
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
    /// The properties of work for the schedule.
    fn attributes_of(&self, work: Work) -> Attributes {
        let schedule = self.array.schedule.as_ref().expect("there is a schedule");
        let background = Urgency::BACKGROUND;
        let for_nothing_soon = |request: RequestId| Urgency { deadline: NEVER, ..schedule.urgency_of(request) };
        let of_group = |group: Group, keeps_order: bool| {
            (group.set, if keeps_order { group.superblock } else { Superblock(NONE) })
        };
        let mut may_interrupt = false;
        let (kind, of, (set, in_block)) = match work {
            Work::Read(part) => {
                let (read, _) = self.reads.of_part(part);
                let ReadOrder { owner, group, hurried, awaits_program, .. } = self.reads.reads[read].order;
                may_interrupt = hurried;
                // A read that rebuilds what another could not decode is as urgent as that one.
                let (kind, of) = match self.asks_for(owner) {
                    ReadOwner::Request(request) => (OperationKind::HostRead, schedule.urgency_of(request)),
                    ReadOwner::Modify { request, .. } => (OperationKind::HostWrite, for_nothing_soon(request)),
                    ReadOwner::Fill { .. } => (OperationKind::HostWrite, background),
                    ReadOwner::Ahead => (OperationKind::ReadAhead, background),
                    ReadOwner::Move { cause, .. } => (moving(cause, OperationKind::CollectionRead), background),
                    ReadOwner::Scrub { .. } => (OperationKind::Scrub, background),
                    ReadOwner::Load { .. } | ReadOwner::WriteBack { .. } => (OperationKind::Translation, background),
                    ReadOwner::Recovery { .. } => (OperationKind::Parity, background),
                };
                // A read whose data requests wait for is a read of the host, as urgent as these requests.
                let adopted = schedule.adopted(read).map(|asked| (OperationKind::HostRead, asked));
                let (kind, of) = adopted.unwrap_or((kind, of));
                (kind, of, of_group(group, awaits_program))
            }
            Work::Program(part) => {
                let program = &self.programs[self.reads.of_part(part).0];
                let (kind, of) = match program.owner {
                    ProgramOwner::Request { request, .. } => (OperationKind::HostWrite, for_nothing_soon(request)),
                    ProgramOwner::Buffer { .. } => (OperationKind::HostWrite, background),
                    ProgramOwner::Translation { .. } => (OperationKind::Translation, background),
                    ProgramOwner::Move(cause) => (moving(cause, OperationKind::CollectionProgram), background),
                    ProgramOwner::Parity { .. } => (OperationKind::Parity, background),
                    ProgramOwner::LeftOver { .. } => (OperationKind::Refresh, background),
                };
                (kind, of, of_group(program.group, true))
            }
            Work::Erase { superblock, .. } => {
                (OperationKind::Erase, background, (self.geometry.set_of_superblock(superblock), Superblock(NONE)))
            }
        };
        let writes = !matches!(work, Work::Read(_)) || kind.makes_room();
        Attributes { kind, of, set, may_interrupt, in_block, writes }
    }

    /// Time that an operation takes that waits for nothing: that of its array, and that of its transfers on the bus.
    fn takes(&self, work: Work) -> Ns {
        match work {
            Work::Read(part) => {
                let (read, member) = self.reads.of_part(part);
                let codewords = self.codewords_of(read, member);
                let on_bus = codewords.fold(Ns::ZERO, |sum, codeword| sum + self.transfer_time(codeword, member));
                self.timing.command + self.sense_time(read, member, self.reads.reads[read].step) + on_bus
            }
            Work::Program(part) => {
                let (program, member) = self.reads.of_part(part);
                let command = Transfer::Command { unit: Unit(NONE), work };
                let is_copy = self.programs[program].copies.is_some();
                let transfer = if is_copy { command } else { Transfer::Program(part) };
                self.bus_time(transfer) + self.program_time(program, member)
            }
            Work::Erase { slc, fails, .. } => self.timing.command + self.timing.erase_of(slc, fails),
        }
    }

    /// Hands work that comes to a unit to the schedule: it waits, unless it begins at once, as the unit is `free`.
    pub(super) fn arrives_at_unit(&mut self, now: Ns, unit: Unit, work: Work, free: bool) {
        if let Work::Read(part) = work {
            let (read, _) = self.reads.of_part(part);
            self.array.schedule.as_mut().expect("there is a schedule").forget(read);
        }
        let incoming =
            Incoming { item: work, attributes: self.attributes_of(work), takes: self.takes(work), amount: 1 };
        let schedule = self.array.schedule.as_mut().expect("there is a schedule");
        schedule.enqueue(now, unit, incoming, free);
    }

    /// Hands a transfer that comes to a bus to the schedule. Returns whether it begins at once.
    #[inline(never)]
    pub(super) fn arrives_at_bus(&mut self, now: Ns, channel: Channel, transfer: Transfer) -> bool {
        let (work, amount) = match transfer {
            Transfer::Command { work, .. } => (work, 0),
            Transfer::Read { part, .. } => (Work::Read(part), 1),
            Transfer::Program(part) => (Work::Program(part), self.geometry.codewords_per_page().into()),
        };
        let attributes = self.attributes_of(work).on_bus();
        let incoming = Incoming { item: transfer, attributes, takes: self.bus_time(transfer), amount };
        let free = self.bus.on_bus(channel).is_none();
        let schedule = self.array.schedule.as_mut().expect("there is a schedule");
        schedule.enqueue_transfer(now, channel, incoming, free)
    }

    /// Tells the schedule that the properties of a part of a read, which is for a unit, have changed. Returns whether the part waits there.
    pub(super) fn change_attributes(&mut self, unit: Unit, part: u32) -> bool {
        let (read, member) = self.reads.of_part(part);
        let channel = self.channel_of(self.reads.reads[read].order.group, member);
        let attributes = self.attributes_of(Work::Read(part));
        let schedule = self.array.schedule.as_mut().expect("there is a schedule");
        schedule.change((unit, channel), part, attributes)
    }

    /// Tells the schedule of a request of a tenant; where there are none, of the first tenant.
    #[inline]
    pub(in super::super) fn expect(&mut self, request: RequestId, tenant: usize, arrival: Ns) {
        if let Some(schedule) = &mut self.array.schedule {
            schedule.expect(request, tenant, arrival);
        }
    }

    /// Tells the schedule the number of free superblocks of a set.
    #[inline]
    pub(in super::super) fn has_free(&mut self, set: Set, superblocks: u32) {
        if let Some(schedule) = &mut self.array.schedule {
            schedule.has_free(set, superblocks);
        }
    }

    /// Counts of the operations that the schedule has chosen, and of the transfers, if it chooses them; none without a schedule.
    pub(in super::super) fn schedule_counts(&self) -> Option<(ScheduleCounts, Option<ScheduleCounts>)> {
        self.array.schedule.as_ref().map(|schedule| (schedule.counts(), schedule.bus_counts()))
    }
}
