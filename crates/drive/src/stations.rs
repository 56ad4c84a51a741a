//! The times at which dies, buses and decoders become free. The times of requests on the drive's clock follow from them.

use softsense_base::Ns;
use softsense_config::spec::{BusyUnit, Config, DecodeTime, PageTiming};
use softsense_ecc::catalogue::Code;
use softsense_ecc::hardware::LdpcShape;
use softsense_link::{DecodeAttempt, PredictorPlace, Step};

use crate::Shape;

/// The time until which each resource is busy. Operations are taken in the order in which they are asked for. Each waits for its die,
/// then for the bus of its channel, then for the channel's decoder.
#[derive(Debug)]
pub(crate) struct Stations {
    /// For each busy unit, a plane or a die, the time until which it is busy.
    units: Vec<Ns>,
    units_of_die: u32,
    buses: Vec<Ns>,
    decoders: Vec<Ns>,
    /// For each die, the page that it has sensed last in the request under way, and the time at which that was done.
    sensed: Vec<Option<(PageSensed, Ns)>>,
    pages: Vec<PageTiming>,
    erase: Ns,
    transfer: Ns,
    transfer_extra_level: Ns,
    decode: Decode,
}

/// Superblock, wordline, and page of the wordline.
type PageSensed = (u32, u32, u32);

#[derive(Debug)]
enum Decode {
    Fixed(Ns),
    PerIteration(Ns),
    /// Decoding times of a codeword without errors, and of one with errors.
    Bch(Ns, Ns),
}

/// The location of an operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct At {
    pub die: u32,
    pub superblock: u32,
    pub wordline: u32,
    pub page: u32,
}

impl Stations {
    pub(crate) fn new(config: &Config, shape: &Shape, code: &Code) -> Self {
        let predictor = config.read.predictor.filter(|predictor| predictor.place == PredictorPlace::Die);
        let predict = predictor.map_or(Ns::ZERO, |predictor| Ns::from_us(predictor.predict_us));
        let types = &config.flash.page_types;
        let units_of_die = if config.flash.busy_unit == BusyUnit::Die { 1 } else { shape.planes };
        let decode = match &config.decoder.time {
            DecodeTime::FixedUs(us) => Decode::Fixed(Ns::from_us(*us)),
            DecodeTime::PerIterationUs(us) => Decode::PerIteration(Ns::from_us(*us)),
            DecodeTime::Ldpc(ldpc) => {
                let Code::Ldpc(code) = code else { unreachable!("the config was checked to know iterations") };
                Decode::PerIteration(Ns::from_us(ldpc.iteration_us(LdpcShape::of(code))))
            }
            DecodeTime::Bch(decoder) => {
                let correctable = if let Code::Bch(code) = code { code.correctable() as u32 } else { 0 };
                let (clean, errors) = decoder.decode_us(code.codeword_bits() as u32, correctable);
                Decode::Bch(Ns::from_us(clean), Ns::from_us(errors))
            }
        };
        Self {
            units: vec![Ns::ZERO; (shape.dies * units_of_die) as usize],
            units_of_die,
            buses: vec![Ns::ZERO; shape.channels as usize],
            decoders: vec![Ns::ZERO; shape.channels as usize],
            sensed: vec![None; shape.dies as usize],
            pages: (0..shape.pages as usize).map(|page| types[page % types.len()].timing(predict)).collect(),
            erase: Ns::from_us(config.flash.erase_us),
            transfer: Ns::from_us(config.bus.transfer_us),
            transfer_extra_level: Ns::from_us(config.bus.transfer_extra_level_us),
            decode,
        }
    }

    /// Begins a request: pages that dies have sensed for earlier requests are gone.
    pub(crate) fn begin(&mut self) {
        self.sensed.fill(None);
    }

    fn unit(&mut self, shape: &Shape, at: At) -> &mut Ns {
        let plane = (at.superblock % shape.planes) % self.units_of_die;
        &mut self.units[(at.die * self.units_of_die + plane) as usize]
    }

    /// Reads a codeword by some steps. Returns the time at which the last step is decoded. A page that the request has just sensed for
    /// another codeword is not sensed again for the first step.
    pub(crate) fn read(&mut self, shape: &Shape, now: Ns, at: At, steps: &[(Step, DecodeAttempt)]) -> Ns {
        let channel = (at.die % shape.channels) as usize;
        let timing = self.pages[at.page as usize];
        let mut done = now;
        for (index, (step, attempt)) in steps.iter().enumerate() {
            let page = (at.superblock, at.wordline, at.page);
            let sensed = match self.sensed[at.die as usize] {
                Some((known, sensed)) if index == 0 && known == page => sensed.max(done),
                _ => {
                    let unit = self.unit(shape, at);
                    let end = done.max(*unit) + timing.of(*step);
                    *unit = end;
                    self.sensed[at.die as usize] = (index == 0).then_some((page, end));
                    end
                }
            };
            let mut transfer = if step.hard { self.transfer } else { Ns::ZERO };
            transfer += self.transfer_extra_level.times(step.extra_levels.into());
            let transferred = sensed.max(self.buses[channel]) + transfer;
            self.buses[channel] = transferred;
            let decode = match self.decode {
                Decode::Fixed(time) => time,
                Decode::PerIteration(time) => time.times(attempt.iterations.max(1).into()),
                Decode::Bch(clean, errors) => {
                    if attempt.clean {
                        clean
                    } else {
                        errors
                    }
                }
            };
            done = transferred.max(self.decoders[channel]) + decode;
            self.decoders[channel] = done;
        }
        done
    }

    /// Programs all pages of a wordline of one die. Returns the time at which they are programmed.
    pub(crate) fn program(&mut self, shape: &Shape, now: Ns, at: At) -> Ns {
        let channel = (at.die % shape.channels) as usize;
        let transfer = self.transfer.times(u64::from(shape.codewords * shape.pages));
        let transferred = now.max(self.buses[channel]) + transfer;
        self.buses[channel] = transferred;
        let time = self.pages.iter().fold(Ns::ZERO, |sum, page| sum + page.program);
        let unit = self.unit(shape, at);
        *unit = transferred.max(*unit) + time;
        *unit
    }

    /// Erases a block.
    pub(crate) fn erase(&mut self, shape: &Shape, now: Ns, at: At) {
        let erase = self.erase;
        let unit = self.unit(shape, at);
        *unit = now.max(*unit) + erase;
    }
}
