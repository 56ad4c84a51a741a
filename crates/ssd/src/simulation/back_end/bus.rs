//! Channels: one bus each. What it carries first of what waits is the config's, or the [schedule](super::schedule)'s, which then has all
//! that waits.

use std::collections::VecDeque;

use softsense_base::Ns;

use super::super::kernel::Kernel;
use super::array::Work;
use crate::config::BusFirst;
use crate::events::Event;

#[derive(Debug, Clone, Copy)]
pub(super) enum Transfer {
    /// The command and the address of what a unit is to do.
    Command { unit: u32, work: Work },
    /// What a part of a read has of a codeword.
    Read { part: u32, codeword: u32 },
    /// A part of a program: a page.
    Program(u32),
}

impl Transfer {
    /// The part of a read that it is for, if it is for one.
    pub(super) fn of_read(self) -> Option<u32> {
        match self {
            Self::Read { part, .. } | Self::Command { work: Work::Read(part), .. } => Some(part),
            Self::Program(_) | Self::Command { .. } => None,
        }
    }
}

#[derive(Debug, Default)]
struct Channel {
    on_bus: Option<Transfer>,
    /// What goes before all that is in the queue.
    first: VecDeque<Transfer>,
    queue: VecDeque<Transfer>,
    busy_ns: u64,
    /// Since when the codeword on the bus is whole, but its decoders have no room for it.
    held_since: Option<Ns>,
}

#[derive(Debug)]
pub(super) struct Bus {
    channels: Vec<Channel>,
    first: BusFirst,
}

impl Bus {
    pub(super) fn new(channels: u32, first: BusFirst) -> Self {
        Self { channels: (0..channels).map(|_| Channel::default()).collect(), first }
    }

    #[inline]
    fn goes_first(&self, transfer: Transfer) -> bool {
        match self.first {
            BusFirst::FirstCome => false,
            BusFirst::Commands => matches!(transfer, Transfer::Command { .. }),
            BusFirst::ReadData => matches!(transfer, Transfer::Read { .. }),
        }
    }

    /// A transfer wants the bus: it is given back to begin at once, or waits its turn.
    #[inline]
    pub(super) fn submit(&mut self, channel: u32, transfer: Transfer) -> Option<Transfer> {
        let first = self.goes_first(transfer);
        let entry = &mut self.channels[channel as usize];
        if entry.on_bus.is_none() && entry.queue.is_empty() && entry.first.is_empty() {
            return Some(transfer);
        }
        let queue = if first { &mut entry.first } else { &mut entry.queue };
        queue.push_back(transfer);
        None
    }

    #[inline]
    pub(super) fn begin(&mut self, kernel: &mut Kernel, channel: u32, transfer: Transfer, duration: Ns) {
        let entry = &mut self.channels[channel as usize];
        entry.on_bus = Some(transfer);
        entry.busy_ns += duration.0;
        kernel.schedule(duration, Event::TransferDone { channel });
    }

    #[inline]
    pub(super) fn on_bus(&self, channel: u32) -> Option<Transfer> {
        self.channels[channel as usize].on_bus
    }

    /// What was on the bus leaves it.
    #[inline]
    pub(super) fn take(&mut self, channel: u32) -> Transfer {
        self.channels[channel as usize].on_bus.take().expect("a transfer was under way")
    }

    /// The transfer whose turn it is, if the bus is free.
    #[inline]
    pub(super) fn next(&mut self, channel: u32) -> Option<Transfer> {
        let entry = &mut self.channels[channel as usize];
        if entry.on_bus.is_some() { None } else { entry.first.pop_front().or_else(|| entry.queue.pop_front()) }
    }

    /// The codeword on the bus has arrived, and stays until decoders have room.
    pub(super) fn hold(&mut self, channel: u32, now: Ns) {
        self.channels[channel as usize].held_since = Some(now);
    }

    /// The codeword that was held may go: since when it has been whole.
    pub(super) fn let_go(&mut self, channel: u32) -> Ns {
        self.channels[channel as usize].held_since.take().expect("the channel holds a codeword")
    }

    /// Whether what is on the bus has arrived, and stays for want of room.
    pub(super) fn is_held(&self, channel: u32) -> bool {
        self.channels[channel as usize].held_since.is_some()
    }

    /// For how long each was busy.
    pub(super) fn count_anew(&mut self) {
        self.channels.iter_mut().for_each(|channel| channel.busy_ns = 0);
    }

    pub(super) fn busy_ns(&self) -> impl Iterator<Item = f64> {
        self.channels.iter().map(|channel| channel.busy_ns as f64)
    }

    pub(super) fn len(&self) -> usize {
        self.channels.len()
    }
}
