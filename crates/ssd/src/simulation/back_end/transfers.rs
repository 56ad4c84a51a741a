//! Transfers: what buses carry, and where it goes.

use crate::slab::{CodewordId, ReadId};
use softsense_base::Ns;
use softsense_config::ids::{Channel, Unit};
use softsense_link::Step;

use super::super::kernel::Kernel;
use super::BackEnd;
use super::array::{NONE, Work};
use super::bus::Transfer;
use super::decoders::Arrived;
use super::phase::Phase;
use super::reads::{Codeword, Progress, Read};

impl BackEnd {
    pub(super) fn start_transfers(&mut self, kernel: &mut Kernel, part: u32) {
        let (read, member) = self.reads.of_part(part);
        let channel = self.channel_of(self.reads.reads[read].order.group, member);
        let mut to_transfer = 0;
        let mut at = self.reads.first_of(read);
        while let Some(index) = at {
            at = self.reads.next_of(index);
            let codeword = &self.reads.codewords[index];
            if codeword.progress == Progress::Undecided && codeword.is_in(member) {
                to_transfer += 1;
                self.request_bus(kernel, channel, Transfer::Read { part, codeword: index });
            }
        }
        self.reads.part_mut(part).to_transfer = to_transfer;
    }

    /// Requests the bus for a transfer, which begins at once or waits its turn.
    #[inline]
    pub(super) fn request_bus(&mut self, kernel: &mut Kernel, channel: Channel, transfer: Transfer) {
        if self.schedules_buses {
            if self.arrives_at_bus(kernel.now, channel, transfer) {
                self.start_transfer(kernel, channel, transfer);
            }
        } else if let Some(transfer) = self.bus.submit(channel, transfer) {
            self.start_transfer(kernel, channel, transfer);
        }
    }

    #[inline]
    fn start_transfer(&mut self, kernel: &mut Kernel, channel: Channel, transfer: Transfer) {
        self.bus.begin(kernel, channel, transfer, self.bus_time(transfer));
    }

    /// Time for which a transfer occupies the bus.
    #[inline]
    pub(super) fn bus_time(&self, transfer: Transfer) -> Ns {
        match transfer {
            Transfer::Read { part, codeword } => {
                self.transfer_time(&self.reads.codewords[codeword], self.reads.of_part::<ReadId>(part).1)
            }
            Transfer::Program(_) => self.timing.program_transfer,
            // A copy is told what to read, and where to program it.
            Transfer::Command { work: Work::Program(_), .. } => self.timing.command.times(2),
            Transfer::Command { .. } => self.timing.command,
        }
    }

    /// The codewords that an attempt at a read wants of one of its pages.
    pub(super) fn codewords_of(&self, read: ReadId, member: u32) -> impl Iterator<Item = &Codeword> {
        let wanted = move |codeword: &&Codeword| codeword.progress == Progress::Undecided && codeword.is_in(member);
        self.reads.codewords_of(read).filter(wanted)
    }

    /// Time for which the part of a codeword in one page occupies the bus.
    #[inline]
    pub(super) fn transfer_time(&self, codeword: &Codeword, member: u32) -> Ns {
        let Read { step, transfer, .. } = &self.reads.reads[codeword.read];
        match codeword.transfer {
            Some([first, others]) if !step.known_cells => {
                if member == u32::from(codeword.first_part) {
                    first
                } else {
                    others
                }
            }
            None if codeword.parts > 1 && !step.known_cells => Ns(transfer.0.div_ceil(u64::from(codeword.parts))),
            _ => *transfer,
        }
    }

    pub(in super::super) fn transfer_done(&mut self, kernel: &mut Kernel, channel: Channel) {
        if let Some(Transfer::Read { codeword, .. }) = self.bus.on_bus(channel) {
            let Codeword { read, to_arrive, pool, bypasses, .. } = self.reads.codewords[codeword];
            if to_arrive == 1 && !bypasses {
                let lane = self.lane(read);
                if !self.decoders.has_room(pool, lane) {
                    self.bus.hold(channel, kernel.now);
                    self.decoders.hold(pool, channel, lane);
                    return;
                }
            }
        }
        self.leave_bus(kernel, channel, kernel.now);
    }

    /// Hands over what was on the bus, and begins the next transfer. The transfer had ended at `ended`.
    pub(super) fn leave_bus(&mut self, kernel: &mut Kernel, channel: Channel, ended: Ns) {
        match self.bus.take(channel) {
            Transfer::Read { part, codeword } => {
                self.part_arrived(kernel, part, codeword, ended);
                let state = self.reads.part_mut(part);
                state.to_transfer -= 1;
                if state.to_transfer == 0 {
                    let (read, member) = self.reads.of_part(part);
                    self.page_transferred(kernel, self.unit_of(self.reads.reads[read].order.group, member));
                }
            }
            Transfer::Command { unit, work } => self.commanded(kernel, unit, work),
            Transfer::Program(part) => {
                let (program, member) = self.reads.of_part(part);
                self.page_left_encoders(kernel, program, channel);
                let unit = self.unit_of(self.programs[program].group, member);
                if !self.array.is_loaded_ahead(unit, part) {
                    self.begin_program(kernel, unit, part);
                }
            }
        }
        if let Some(transfer) = self.next_transfer(kernel.now, channel) {
            self.start_transfer(kernel, channel, transfer);
        }
    }

    /// Takes the transfer whose turn it is; none while the bus is busy.
    #[inline]
    fn next_transfer(&mut self, now: Ns, channel: Channel) -> Option<Transfer> {
        if self.schedules_buses { self.next_scheduled(now, channel) } else { self.bus.next(channel) }
    }

    #[inline(never)]
    fn next_scheduled(&mut self, now: Ns, channel: Channel) -> Option<Transfer> {
        let schedule = self.array.schedule.as_mut().expect("there is a schedule");
        if self.bus.on_bus(channel).is_some() { None } else { schedule.next_transfer(now, channel) }
    }

    /// Notes that the part of a codeword in one page is with the controller. With the last part, the codeword goes to a decoder. Its time
    /// so far is then that of this part, whose transfer had ended at `ended`.
    #[inline]
    fn part_arrived(&mut self, kernel: &mut Kernel, part: u32, index: CodewordId, ended: Ns) {
        let codeword = &mut self.reads.codewords[index];
        codeword.to_arrive -= 1;
        if codeword.to_arrive > 0 {
            return;
        }
        let Codeword { read: number, pool, outcome, bypasses, .. } = *codeword;
        let lane = self.lane(number);
        let read = &mut self.reads.reads[number];
        let energy = read.transfer_energy;
        read.energy += energy;
        kernel.statistics.energy.transfer += energy;
        kernel.statistics.operations.transfers += u64::from(!read.step.known_cells);
        let arrived = Arrived { codeword: index, part, at: ended, crossed_at: ended, lane };
        if bypasses {
            kernel.statistics.operations.bypasses += u64::from(outcome.few_errors);
            self.count_service(kernel, arrived, Ns::ZERO);
            self.decoders.bypass(kernel, arrived);
        } else if let Some(links) = self.links.as_mut().filter(|_| self.decoders.pooled) {
            let ssd = self.geometry.ssd_of_set(read.order.group.set);
            self.decoders.expect(pool);
            links.carry_read(kernel, ssd, arrived, size_of(read.step, self.extra_level_size));
        } else {
            self.submit_to_decoders(kernel, pool, arrived);
        }
    }

    /// Hands a codeword that has crossed links and the switch to its decoders.
    pub(super) fn arrive_at_decoders(&mut self, kernel: &mut Kernel, arrived: Arrived) {
        let Codeword { pool, .. } = self.reads.codewords[arrived.codeword];
        self.decoders.expected(pool);
        self.submit_to_decoders(kernel, pool, Arrived { crossed_at: kernel.now, ..arrived });
    }

    #[inline]
    fn submit_to_decoders(&mut self, kernel: &mut Kernel, pool: u32, arrived: Arrived) {
        let of_host = || self.reads.reads[self.reads.codewords[arrived.codeword].read].order.owner.is_of_host();
        let of_host = !self.decoders.host_first() || of_host();
        if let Some(decoder) = self.decoders.submit(pool, arrived, of_host) {
            self.start_decode(kernel, pool, decoder, arrived);
        }
    }

    /// Time that a codeword of a step takes to a decoder at a distance, if it waits for nothing.
    pub(super) fn crossing_time(&self, step: Step) -> Ns {
        match &self.links {
            Some(links) if self.decoders.pooled => links.alone(size_of(step, self.extra_level_size)),
            _ => Ns::ZERO,
        }
    }

    /// Frees the register, or the array, of a unit: the last codeword of its page has left it.
    fn page_transferred(&mut self, kernel: &mut Kernel, unit: Unit) {
        if !self.cache_register {
            self.leave_array(kernel, unit);
            return;
        }
        self.array.set_register(unit, NONE);
        if self.array.phase(unit) != Phase::Sensed {
            return;
        }
        if self.registers_for_look_ahead {
            self.leave_array(kernel, unit);
        } else {
            self.latch(kernel, unit, self.array.of(unit));
        }
    }
}

/// Size of what a step sends on of a codeword, as a share of hard decisions.
fn size_of(step: Step, extra_level: f64) -> f64 {
    f64::from(u8::from(step.hard)) + f64::from(step.extra_levels) * extra_level
}
