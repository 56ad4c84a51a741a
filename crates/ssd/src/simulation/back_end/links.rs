//! Links between SSDs and a pool of decoders or encoders, and the switch that joins the links. Each carries one codeword at a time in each
//! direction, first come, first served, and hands a codeword on when the whole of it has arrived.

use softsense_base::Ns;
use softsense_config::checked::CheckedConfig;
use softsense_config::ids::Ssd;
use softsense_config::spec::LinkSpec;

use super::super::kernel::Kernel;
use super::super::lane::Lane;
use super::decoders::Arrived;
use crate::events::Event;
use crate::slab::{CrossingId, ProgramId, Slab};

/// The cargo of links and of the switch.
#[derive(Debug, Clone, Copy)]
pub(super) enum Cargo {
    /// A codeword to be decoded.
    Read(Arrived),
    /// The codewords of a program.
    Program(ProgramId),
}

/// A cargo on its way across a link or the switch.
#[derive(Debug, Clone, Copy)]
struct Crossing {
    cargo: Cargo,
    bytes: f64,
    /// The way that the cargo has to cross next; none where it arrives.
    next: Option<Way>,
}

/// One direction of a link, or of the switch.
#[derive(Debug, Clone, Copy)]
enum Way {
    Up(usize),
    Down(usize),
    SwitchUp,
    SwitchDown,
}

#[derive(Debug)]
pub(super) struct Links {
    ssd_link: LinkSpec,
    switch: LinkSpec,
    codeword_bytes: f64,
    /// The links of the SSDs: `up` towards the switch, `down` from it.
    up: Vec<Lane>,
    down: Vec<Lane>,
    switch_up: Lane,
    switch_down: Lane,
    crossings: Slab<CrossingId, Crossing>,
}

/// Mean busy shares of links and of the switch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkShares {
    /// Busy share of the links of SSDs, towards the switch.
    pub from_ssds: f64,
    /// Busy share of the links of SSDs, from the switch.
    pub to_ssds: f64,
    /// Busy share of the switch, towards decoders.
    pub switch_to_decoders: f64,
    /// Busy share of the switch, from encoders.
    pub switch_from_encoders: f64,
}

impl Links {
    /// Makes the links; none where the config has none.
    pub(super) fn new(config: &CheckedConfig) -> Option<Self> {
        let spec = config.config().interconnect?;
        let ssds = config.geometry().ssds() as usize;
        Some(Self {
            ssd_link: spec.ssd_link,
            switch: spec.switch,
            codeword_bytes: spec.codeword_bytes.into(),
            up: vec![Lane::default(); ssds],
            down: vec![Lane::default(); ssds],
            switch_up: Lane::default(),
            switch_down: Lane::default(),
            crossings: Slab::default(),
        })
    }

    /// Sends a codeword to its decoder.
    ///
    /// # Arguments
    /// - `size`: size of the codeword, as a share of its hard decisions.
    pub(super) fn carry_read(&mut self, kernel: &mut Kernel, ssd: Ssd, arrived: Arrived, size: f64) {
        let bytes = size * self.codeword_bytes;
        let crossing = Crossing { cargo: Cargo::Read(arrived), bytes, next: Some(Way::SwitchUp) };
        self.cross(kernel, Way::Up(ssd.index()), crossing);
    }

    /// Sends the encoded codewords of a program to their SSD.
    pub(super) fn carry_program(&mut self, kernel: &mut Kernel, ssd: Ssd, program: ProgramId, codewords: u32) {
        let bytes = f64::from(codewords) * self.codeword_bytes;
        let crossing = Crossing { cargo: Cargo::Program(program), bytes, next: Some(Way::Down(ssd.index())) };
        self.cross(kernel, Way::SwitchDown, crossing);
    }

    fn cross(&mut self, kernel: &mut Kernel, way: Way, crossing: Crossing) {
        let (lane, spec) = match way {
            Way::Up(ssd) => (&mut self.up[ssd], self.ssd_link),
            Way::Down(ssd) => (&mut self.down[ssd], self.ssd_link),
            Way::SwitchUp => (&mut self.switch_up, self.switch),
            Way::SwitchDown => (&mut self.switch_down, self.switch),
        };
        let duration = Ns::from_us(spec.serialization_us(crossing.bytes));
        let after = lane.carry(kernel.now, duration) + Ns::from_us(spec.latency_us);
        let crossing = self.crossings.insert(crossing);
        kernel.schedule(after, Event::Crossed { crossing });
    }

    /// Puts off what is under way by `by`.
    pub(super) fn put_off(&mut self, now: Ns, by: Ns) {
        let lanes = self.up.iter_mut().chain(&mut self.down);
        lanes.chain([&mut self.switch_up, &mut self.switch_down]).for_each(|lane| lane.put_off(now, by));
    }

    /// Ends the crossing of a link, or of the switch. Returns the cargo where it has arrived.
    pub(super) fn crossed(&mut self, kernel: &mut Kernel, crossing: CrossingId) -> Option<Cargo> {
        let arrived = self.crossings[crossing];
        self.crossings.remove(crossing);
        match arrived.next {
            Some(way) => {
                self.cross(kernel, way, Crossing { next: None, ..arrived });
                None
            }
            None => Some(arrived.cargo),
        }
    }

    /// Time that a codeword takes from its SSD to a decoder, if it waits for nothing.
    pub(super) fn alone(&self, size: f64) -> Ns {
        let of = |spec: LinkSpec| {
            Ns::from_us(spec.serialization_us(size * self.codeword_bytes)) + Ns::from_us(spec.latency_us)
        };
        of(self.ssd_link) + of(self.switch)
    }

    /// Starts counting anew for how long links and the switch are busy.
    pub(super) fn count_anew(&mut self) {
        let Self { up, down, switch_up, switch_down, .. } = self;
        up.iter_mut().chain(down).chain([switch_up, switch_down]).for_each(Lane::count_anew);
    }

    pub(super) fn busy_shares(&self, counted: Ns) -> LinkShares {
        let share = |lanes: &[Lane]| Lane::busy_share(lanes, counted);
        LinkShares {
            from_ssds: share(&self.up),
            to_ssds: share(&self.down),
            switch_to_decoders: share(&[self.switch_up]),
            switch_from_encoders: share(&[self.switch_down]),
        }
    }
}
