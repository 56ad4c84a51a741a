//! Resources that are taken at an instant, and their owners, for observers who look on between events. Without an observer this costs
//! nothing.

use softsense_config::ids::{Channel, Superblock, Unit};
use softsense_link::Step;

use super::super::owners::{ProgramOwner, ReadOwner};
use super::BackEnd;
use super::array::{TakenBy, Work};
use super::bus::Transfer;
use super::phase::Phase;

/// The owner for which a resource is taken.
#[derive(Debug, Clone, Copy)]
pub(in super::super) enum TakenFor {
    Read(ReadOwner),
    Program(ProgramOwner),
    /// The erase of a superblock, or other work that moves its data.
    Superblock(Superblock),
    /// The owner that the resource had before: a sensing is being cut short.
    AsBefore,
}

/// The action of a resource that is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// A command and its address cross the bus, or wait for it with the array taken.
    Command,
    /// The array senses a page.
    Sense,
    /// A sensed page stays in the array: for the cache register, the bus or the outcome of the attempt before. Or a codeword stays on the
    /// bus, as decoders have no room for it.
    Hold,
    /// A codeword, or a page to be programmed, crosses the bus.
    Transfer,
    /// A codeword is decoded, after a prediction in the controller if it makes one.
    Decode,
    /// A codeword is predicted not to be decoded, and decoding is not tried.
    Predict,
    /// The array waits for the page that it will program, and takes it from the bus.
    Load,
    /// The array programs a page.
    Program,
    /// The array erases a block.
    Erase,
    /// The array stops a program or an erase, so that reads may go first.
    Suspend,
    /// A program that has stopped waits to go on.
    SuspendedProgram,
    /// An erase that has stopped waits to go on.
    SuspendedErase,
    /// The array cuts a sensing short.
    Reset,
    /// A codeword is encoded.
    Encode,
    /// Garbage collection works on a superblock.
    Collect,
    /// Read reclaim works on a superblock.
    Reclaim,
    /// A superblock of the SLC cache is folded.
    Fold,
    /// The data of a superblock is refreshed.
    Refresh,
}

/// The action of a resource that is taken, and its owner.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Occupied {
    pub(in super::super) action: Action,
    pub(in super::super) taken_for: TakenFor,
    /// The attempt of a read that the action is done for, counted from 1, and the step of that attempt. Sensing ahead is done for the
    /// attempt after the present one.
    pub(in super::super) step: Option<(u8, Step)>,
    /// Whether the outcome of the attempt before is not known.
    pub(in super::super) ahead: bool,
}

impl Occupied {
    pub(in super::super) fn new(action: Action, taken_for: TakenFor) -> Self {
        Self { action, taken_for, step: None, ahead: false }
    }
}

/// Numbers of resources, in the order in which they are looked at.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Counts {
    /// Busy units: planes, or dies whose planes take turns.
    pub(in super::super) units: usize,
    pub(in super::super) buses: usize,
    pub(in super::super) decoders: usize,
    pub(in super::super) encoders: usize,
    /// Busy units whose programs and erases may be suspended.
    pub(in super::super) suspended: usize,
}

impl BackEnd {
    pub(in super::super) fn counts(&self) -> Counts {
        Counts {
            units: self.array.len(),
            buses: self.bus.len(),
            decoders: self.decoders.places(),
            encoders: self.encoders.as_ref().map_or(0, |encoders| encoders.len()),
            suspended: if self.timing.suspend.is_some() { self.array.len() } else { 0 },
        }
    }

    /// Adds a number for each resource, in the order of [`Counts`], which changes with the operation that takes the resource; 0 for a free
    /// one.
    pub(in super::super) fn look(&self, taken: &mut Vec<u128>) {
        let units = Unit::all(0..self.array.len() as u32);
        taken.extend(units.clone().map(|unit| match action_of(self.array.phase(unit)) {
            // All events of a unit have the same low bits.
            Some(action) => self.array.key(unit) & !0xff | (1 + action as u128),
            None => 0,
        }));
        taken.extend((0..self.bus.len() as u32).map(|channel| match self.bus.on_bus(Channel(channel)) {
            Some(transfer) => {
                let (kind, part, codeword) = match transfer {
                    Transfer::Read { part, codeword } => (1, part, codeword.0),
                    Transfer::Program(part) => (2, part, 0),
                    Transfer::Command { unit, work: Work::Read(of) | Work::Program(of) } => (3, of, unit.0),
                    Transfer::Command { unit, work: Work::Erase { superblock, .. } } => (4, superblock.0, unit.0),
                };
                let held = u128::from(self.bus.is_held(Channel(channel)));
                kind | held << 8 | u128::from(part) << 32 | u128::from(codeword) << 64
            }
            None => 0,
        }));
        self.decoders.look(taken);
        if let Some(encoders) = &self.encoders {
            encoders.look(taken);
        }
        if self.timing.suspend.is_some() {
            taken.extend(units.map(|unit| self.array.suspended_since(unit).map_or(0, |since| 1 + u128::from(since.0))));
        }
    }

    pub(in super::super) fn unit_taken_by(&self, unit: Unit) -> Occupied {
        let (phase, of) = (self.array.phase(unit), self.array.of(unit));
        let action = action_of(phase).expect("the unit is taken");
        match phase {
            Phase::Addressed if self.array.taken_by(unit).0 == TakenBy::Erases => {
                Occupied::new(action, TakenFor::Superblock(Superblock(of)))
            }
            Phase::Addressed | Phase::Sensing | Phase::Sensed => self.for_part(action, of),
            Phase::SensingAhead | Phase::SensedAhead => {
                let read = &self.reads.reads[self.reads.of_part(of).0];
                let ahead = read.ahead.expect("a further attempt is sensed ahead");
                Occupied { step: Some((read.attempts + 1, ahead)), ahead: true, ..self.for_part(action, of) }
            }
            Phase::Loading | Phase::Programming => self.for_program(action, of),
            Phase::Erasing => Occupied::new(action, TakenFor::Superblock(Superblock(of))),
            Phase::Suspending => self.suspended_of(action, unit),
            Phase::Free | Phase::Resetting => Occupied::new(action, TakenFor::AsBefore),
        }
    }

    /// The suspended operation of a unit.
    pub(in super::super) fn suspended_in(&self, unit: Unit) -> Occupied {
        let is_erase = self.array.suspended(unit).is_some_and(|(is_erase, _)| is_erase);
        self.suspended_of(if is_erase { Action::SuspendedErase } else { Action::SuspendedProgram }, unit)
    }

    fn suspended_of(&self, action: Action, unit: Unit) -> Occupied {
        match self.array.suspended(unit) {
            Some((true, superblock)) => Occupied::new(action, TakenFor::Superblock(Superblock(superblock))),
            Some((false, part)) => self.for_program(action, part),
            None => Occupied::new(action, TakenFor::AsBefore),
        }
    }

    pub(in super::super) fn bus_taken_by(&self, channel: Channel) -> Occupied {
        let action = if self.bus.is_held(channel) { Action::Hold } else { Action::Transfer };
        match self.bus.on_bus(channel) {
            Some(Transfer::Read { part, .. }) => self.for_part(action, part),
            Some(Transfer::Program(part)) => self.for_program(action, part),
            Some(Transfer::Command { work, .. }) => match work {
                Work::Read(part) => self.for_part(Action::Command, part),
                Work::Program(part) => self.for_program(Action::Command, part),
                Work::Erase { superblock, .. } => Occupied::new(Action::Command, TakenFor::Superblock(superblock)),
            },
            None => Occupied::new(action, TakenFor::AsBefore),
        }
    }

    pub(in super::super) fn decoder_taken_by(&self, decoder: u32) -> Occupied {
        let arrived = self.decoders.at(decoder).arrived;
        let skips_decoding = self.reads.codewords[arrived.codeword].skips_decoding;
        self.for_part(if skips_decoding { Action::Predict } else { Action::Decode }, arrived.part)
    }

    pub(in super::super) fn encoder_taken_by(&self, encoder: u32) -> Occupied {
        let program = self.encoders.as_ref().expect("an encoder is asked about").program(encoder);
        Occupied::new(Action::Encode, TakenFor::Program(self.programs[program].owner))
    }

    fn for_part(&self, action: Action, part: u32) -> Occupied {
        let read = &self.reads.reads[self.reads.of_part(part).0];
        let step = Some((read.attempts, read.step));
        Occupied { step, ..Occupied::new(action, TakenFor::Read(read.order.owner)) }
    }

    fn for_program(&self, action: Action, part: u32) -> Occupied {
        let program = &self.programs[self.reads.of_part(part).0];
        Occupied::new(action, TakenFor::Program(program.owner))
    }
}

/// The action of an array in a phase; none in the phase in which it is free.
fn action_of(phase: Phase) -> Option<Action> {
    Some(match phase {
        Phase::Free => return None,
        Phase::Addressed => Action::Command,
        Phase::Sensing | Phase::SensingAhead => Action::Sense,
        Phase::Sensed | Phase::SensedAhead => Action::Hold,
        Phase::Loading => Action::Load,
        Phase::Programming => Action::Program,
        Phase::Erasing => Action::Erase,
        Phase::Suspending => Action::Suspend,
        Phase::Resetting => Action::Reset,
    })
}
