//! What reads occupy at an instant, for those who look on between events.

use super::BackEnd;
use super::array::Phase;
use super::bus::Transfer;

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
    /// The array senses a page.
    Sense,
    /// A sensed page stays in the array: for the cache register, the bus or the outcome of the attempt before.
    Hold,
    /// A codeword crosses the bus.
    Transfer,
    /// A codeword is decoded.
    Decode,
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
    /// The level that it does it for.
    pub level: u8,
}

impl BackEnd {
    /// What reads occupy now.
    pub(in super::super) fn occupied(&self) -> Vec<Occupied> {
        let step = |part| self.reads.reads[self.reads.of_part(part).0].step;
        let planes = (0..self.array.len() as u32).filter_map(|number| {
            let of = self.array.of(number);
            let ahead = || {
                let next = self.reads.reads[self.reads.of_part(of).0].ahead;
                next.expect("a further attempt is sensed ahead").level
            };
            let (action, level) = match self.array.phase(number) {
                Phase::Sensing => (Action::Sense, step(of).level),
                Phase::Sensed => (Action::Hold, step(of).level),
                Phase::SensingAhead => (Action::Sense, ahead()),
                Phase::SensedAhead => (Action::Hold, ahead()),
                Phase::Free | Phase::Loading | Phase::Programming | Phase::Erasing | Phase::Resetting => return None,
            };
            Some(Occupied { resource: Resource::Plane, number, action, level })
        });
        let buses = (0..self.bus.len() as u32).filter_map(|number| match self.bus.on_bus(number)? {
            Transfer::Read { part, .. } => {
                let level = step(part).level;
                Some(Occupied { resource: Resource::Bus, number, action: Action::Transfer, level })
            }
            Transfer::Program(_) => None,
        });
        let decoders = self.decoders.at_work().map(|(number, part)| {
            let level = step(part).level;
            Occupied { resource: Resource::Decoder, number, action: Action::Decode, level }
        });
        planes.chain(buses).chain(decoders).collect()
    }
}
