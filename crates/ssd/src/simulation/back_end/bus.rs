//! Buses: one for each channel. The config says which of the waiting transfers go first. Where a [schedule](super::schedule) chooses, it
//! holds all of them.

use crate::slab::CodewordId;
use std::collections::VecDeque;

use softsense_base::Ns;
use softsense_config::ids::{Channel, TiVec, Unit};
use softsense_config::spec::BusFirst;

use super::super::kernel::Kernel;
use super::array::Work;
use crate::events::Event;

#[derive(Debug, Clone, Copy)]
pub(super) enum Transfer {
    /// The command and the address of an operation of a unit.
    Command { unit: Unit, work: Work },
    /// The piece of a codeword that a part of a read has.
    Read { part: u32, codeword: CodewordId },
    /// The page of a part of a program.
    Program(u32),
}

impl Transfer {
    /// The part of a read that the transfer is for; none if it is for a program or an erase.
    pub(super) fn of_read(self) -> Option<u32> {
        match self {
            Self::Read { part, .. } | Self::Command { work: Work::Read(part), .. } => Some(part),
            Self::Program(_) | Self::Command { .. } => None,
        }
    }
}

#[derive(Debug, Default)]
struct OfChannel {
    on_bus: Option<Transfer>,
    /// Transfers that go before all those in `queue`.
    first: VecDeque<Transfer>,
    queue: VecDeque<Transfer>,
    busy_ns: u64,
    /// The instant since which the codeword on the bus is whole, if its decoders have no room for it.
    held_since: Option<Ns>,
}

#[derive(Debug)]
pub(super) struct Bus {
    channels: TiVec<Channel, OfChannel>,
    first: BusFirst,
}

impl Bus {
    pub(super) fn new(channels: u32, first: BusFirst) -> Self {
        Self { channels: (0..channels).map(|_| OfChannel::default()).collect(), first }
    }

    #[inline]
    fn goes_first(&self, transfer: Transfer) -> bool {
        match self.first {
            BusFirst::FirstCome => false,
            BusFirst::Commands => matches!(transfer, Transfer::Command { .. }),
            BusFirst::ReadData => matches!(transfer, Transfer::Read { .. }),
        }
    }

    /// Returns a transfer that is to begin at once, or lets it wait its turn.
    #[inline]
    pub(super) fn submit(&mut self, channel: Channel, transfer: Transfer) -> Option<Transfer> {
        let first = self.goes_first(transfer);
        let entry = &mut self.channels[channel];
        if entry.on_bus.is_none() && entry.queue.is_empty() && entry.first.is_empty() {
            return Some(transfer);
        }
        let queue = if first { &mut entry.first } else { &mut entry.queue };
        queue.push_back(transfer);
        None
    }

    #[inline]
    pub(super) fn begin(&mut self, kernel: &mut Kernel, channel: Channel, transfer: Transfer, duration: Ns) {
        let entry = &mut self.channels[channel];
        entry.on_bus = Some(transfer);
        entry.busy_ns += duration.0;
        kernel.schedule(duration, Event::TransferDone { channel });
    }

    #[inline]
    pub(super) fn on_bus(&self, channel: Channel) -> Option<Transfer> {
        self.channels[channel].on_bus
    }

    /// Takes the transfer off the bus.
    #[inline]
    pub(super) fn take(&mut self, channel: Channel) -> Transfer {
        self.channels[channel].on_bus.take().expect("a transfer was under way")
    }

    /// Takes the transfer whose turn it is; none while the bus is busy.
    #[inline]
    pub(super) fn next(&mut self, channel: Channel) -> Option<Transfer> {
        let entry = &mut self.channels[channel];
        if entry.on_bus.is_some() { None } else { entry.first.pop_front().or_else(|| entry.queue.pop_front()) }
    }

    /// Notes that the codeword on the bus has arrived, and stays until decoders have room.
    pub(super) fn hold(&mut self, channel: Channel, now: Ns) {
        self.channels[channel].held_since = Some(now);
    }

    /// Lets the codeword go that was held. Returns the instant since which it has been whole.
    pub(super) fn let_go(&mut self, channel: Channel) -> Ns {
        self.channels[channel].held_since.take().expect("the channel holds a codeword")
    }

    /// Whether the codeword on the bus has arrived, and stays for want of room at the decoders.
    pub(super) fn is_held(&self, channel: Channel) -> bool {
        self.channels[channel].held_since.is_some()
    }

    /// Starts counting anew for how long each bus is busy.
    pub(super) fn count_anew(&mut self) {
        self.channels.iter_mut().for_each(|channel| channel.busy_ns = 0);
    }

    /// Busy time of each bus, in ns.
    pub(super) fn busy_ns(&self) -> impl Iterator<Item = f64> {
        self.channels.iter().map(|channel| channel.busy_ns as f64)
    }

    pub(super) fn len(&self) -> usize {
        self.channels.len()
    }
}
