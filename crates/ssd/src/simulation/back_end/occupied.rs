//! What reads occupy at an instant, for those who look on between events.

use softsense_link::Step;

use super::BackEnd;
use super::array::Work;
use super::bus::Transfer;
use super::phase::Phase;

/// What a read occupies, in the order in which it passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resource {
    /// A busy unit: a plane, or a die whose planes take turns.
    Plane,
    /// The bus of a channel.
    Bus,
    /// A decoder.
    Decoder,
}

/// What a resource does for a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// A command and its address cross the bus, or wait for it with the array taken.
    Command,
    /// The array senses a page.
    Sense,
    /// A sensed page stays in the array: for the cache register, the bus or the outcome of the attempt before.
    Hold,
    /// A codeword crosses the bus.
    Transfer,
    /// A codeword is decoded, after a prediction in the controller if it makes one.
    Decode,
    /// A codeword is predicted not to be decoded, and decoding is not tried.
    Predict,
}

/// A resource that is taken by a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Occupied {
    /// What kind of resource it is.
    pub resource: Resource,
    /// Which one of its kind in the device.
    pub number: u32,
    /// What it does.
    pub action: Action,
    /// The attempt of the read that it does it for, from 1; one more than there have been if it is sensed ahead.
    pub attempt: u8,
    /// What is done in that attempt.
    pub step: Step,
}

impl BackEnd {
    /// What reads occupy now.
    pub(in super::super) fn occupied(&self) -> Vec<Occupied> {
        let now = |part| {
            let read = &self.reads.reads[self.reads.of_part(part).0];
            (read.attempts, read.step)
        };
        let planes = (0..self.array.len() as u32).filter_map(|number| {
            let of = self.array.of(number);
            let ahead = || {
                let read = &self.reads.reads[self.reads.of_part(of).0];
                (read.attempts + 1, read.ahead.expect("a further attempt is sensed ahead"))
            };
            let (action, (attempt, step)) = match self.array.phase(number) {
                Phase::Addressed => (Action::Command, now(of)),
                Phase::Sensing => (Action::Sense, now(of)),
                Phase::Sensed => (Action::Hold, now(of)),
                Phase::SensingAhead => (Action::Sense, ahead()),
                Phase::SensedAhead => (Action::Hold, ahead()),
                Phase::Free
                | Phase::Loading
                | Phase::Programming
                | Phase::Erasing
                | Phase::Suspending
                | Phase::Resetting => return None,
            };
            Some(Occupied { resource: Resource::Plane, number, action, attempt, step })
        });
        let buses = (0..self.bus.len() as u32).filter_map(|number| match self.bus.on_bus(number)? {
            Transfer::Read { part, .. } => {
                let (attempt, step) = now(part);
                Some(Occupied { resource: Resource::Bus, number, action: Action::Transfer, attempt, step })
            }
            Transfer::Command { work: Work::Read(part), .. } => {
                let (attempt, step) = now(part);
                Some(Occupied { resource: Resource::Bus, number, action: Action::Command, attempt, step })
            }
            Transfer::Program(_) | Transfer::Command { .. } => None,
        });
        let decoders = self.decoders.at_work().map(|(number, arrived)| {
            let (attempt, step) = now(arrived.part);
            let skips_decoding = self.reads.codewords[arrived.codeword].skips_decoding;
            let action = if skips_decoding { Action::Predict } else { Action::Decode };
            Occupied { resource: Resource::Decoder, number, action, attempt, step }
        });
        planes.chain(buses).chain(decoders).collect()
    }
}
