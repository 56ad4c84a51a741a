//! How long operations take and what they cost, as the hot paths want it.

use softsense_base::{Ns, Pj, Purpose, Stream};
use softsense_ecc::hardware::{BchEncoderCircuit, LdpcEncoderCircuit, LdpcShape};
use softsense_link::{ByAge, Outcome, Predictor, PredictorPlace, ReliabilitySpec, Step};

use super::decoders::Lane;
use crate::checked::CheckedConfig;
use crate::config::{self, AddedTime, DecoderEnergy, PageTiming, SlcCellsSpec};
use crate::format::UnitCode;

/// Durations of everything.
#[derive(Debug)]
pub(super) struct Timing {
    /// Pages of SLC blocks come last.
    pub(super) page_types: Vec<PageTiming>,
    /// What sensing takes longer in some pages than in others, by type.
    spreads: Vec<AddedTime>,
    erase: Ns,
    /// Of a block whose cells hold one bit.
    erase_slc: Ns,
    /// Of one that fails, where that takes another time.
    failed_erase: Option<Ns>,
    /// Likewise the program of a page.
    pub(super) failed_program: Option<Ns>,
    pub(super) reset: Ns,
    pub(super) suspend: Option<SuspendTiming>,
    /// What stopping takes longer at one time than at another.
    suspend_spread: AddedTime,
    /// Whether there is stopping while writes wait.
    suspends: Stream,
    /// Command and address of an operation on the bus.
    pub(super) command: Ns,
    transfer: Ns,
    transfer_extra_level: Ns,
    /// Of a byte on the bus, where codes differ in their length.
    byte_ns: f64,
    /// The last such codeword, with its transfers.
    last_transfers: ([u32; 2], [Ns; 2]),
    pub(super) program_transfer: Ns,
    /// Of the known cells of a page.
    known_cells_transfer: Ns,
    /// What a predictor in the controller takes of each codeword that it looks at.
    pub(super) predict_in_controller: Ns,
    pub(super) decode: DecodeTime,
}

/// How programs and erases make way for reads.
#[derive(Debug, Clone, Copy)]
pub(super) struct SuspendTiming {
    /// Until a program, or an erase, has stopped.
    pub(super) program: Ns,
    pub(super) erase: Ns,
    /// The share of suspensions that happen while writes wait.
    while_writes_wait: f64,
    /// What it then takes longer.
    pub(super) resume: Ns,
    /// How often it stops at most.
    pub(super) most: u32,
    /// For how long it runs first.
    pub(super) least_run: Ns,
    /// For how long it waits at most.
    pub(super) longest: Ns,
}

#[derive(Debug)]
pub(super) enum DecodeTime {
    Fixed(Ns),
    PerIteration(Ns),
    /// For each iteration, by the P/E cycles of its block.
    Ldpc(ByAge<Ns>),
    /// By the P/E cycles of its block.
    Bch(ByAge<BchTimes>),
}

/// How long a BCH codeword takes, with errors and without, and what of a decoder.
#[derive(Debug, Clone, Copy)]
pub(super) struct BchTimes {
    pub(super) with_errors: Ns,
    pub(super) without: Ns,
    pub(super) lane: Lane,
}

impl Timing {
    /// Erasing a block.
    ///
    /// # Arguments
    /// - `slc`: whether its cells hold one bit.
    /// - `fails`: whether that is in vain.
    pub(super) fn erase_of(&self, slc: bool, fails: bool) -> Ns {
        let usual = if slc { self.erase_slc } else { self.erase };
        self.failed_erase.filter(|_| fails).unwrap_or(usual)
    }

    /// Until a program, or an erase, of a unit has stopped: one that has run since an instant, and has stopped so often before. None where it
    /// does not stop.
    ///
    /// # Arguments
    /// - `usual`: what that takes at least.
    /// - `writes_wait`: whether writes of the host wait for room.
    #[inline]
    pub(super) fn stopping(&self, usual: Ns, unit: u32, run: (Ns, u32), writes_wait: bool) -> Option<Ns> {
        let suspend = self.suspend.as_ref()?;
        // A draw of its own for each suspension. The spread takes those of this index and the numbers 0 to 2.
        let (a, b) = (run.0.0, u64::from(run.1) << 32 | u64::from(unit));
        if writes_wait
            && suspend.while_writes_wait < 1.0
            && self.suspends.uniform(a, 3 << 60 | b) >= suspend.while_writes_wait
        {
            return None;
        }
        if self.suspend_spread.is_none() {
            return Some(usual);
        }
        Some(usual.longer(self.suspend_spread.ns(a, b)))
    }

    /// Sensing a page, of a type, for a step. Two numbers say which page it is.
    #[inline]
    pub(super) fn sensing(&self, page_type: u32, step: Step, page: (u64, u64)) -> Ns {
        let (timing, spread) = (&self.page_types[page_type as usize], &self.spreads[page_type as usize]);
        if spread.is_none() {
            return timing.of(step);
        }
        timing.taking(timing.sense.longer(spread.ns(page.0, page.1)), step)
    }

    /// For how long a codeword is on the bus for a step, where codes do not differ in their length.
    #[inline]
    pub(super) fn transferring(&self, step: Step) -> Ns {
        if step.known_cells {
            return self.known_cells_transfer;
        }
        let hard = if step.hard { self.transfer } else { Ns::ZERO };
        hard + self.transfer_extra_level.times(u64::from(step.extra_levels))
    }

    /// For how long so many bytes of a codeword, of its first page and of others, are on the bus.
    #[inline]
    pub(super) fn transfers_of(&mut self, bytes: [u32; 2]) -> [Ns; 2] {
        // Codewords that follow one another are mostly alike.
        if self.last_transfers.0 != bytes {
            let transfer = |bytes| Ns((f64::from(bytes) * self.byte_ns).round() as u64);
            self.last_transfers = (bytes, bytes.map(transfer));
        }
        self.last_transfers.1
    }

    /// # Arguments
    /// - `known_cells`: of a page, as a share of a codeword.
    /// - `predictor`: that reads are looked at by.
    pub(super) fn new(config: &CheckedConfig, known_cells: f64, predictor: Option<Predictor>) -> Self {
        let spec = config.config();
        let predict_at = |place| {
            let us = predictor.filter(|predictor| predictor.place == place);
            us.map_or(Ns::ZERO, |predictor| Ns::from_us(predictor.predict_us))
        };
        let slc = spec.ftl.slc_cache.as_ref().map(|cache| &cache.cells);
        let of_slc = slc.map(SlcCellsSpec::as_page_type);
        let types = || spec.flash.page_types.iter().chain(&of_slc);
        let page_types = types().map(|page_type| page_type.timing(predict_at(PredictorPlace::Die)));
        let draws = Stream::new(spec.seed, Purpose::SenseSpread);
        let spreads = types().map(|page_type| AddedTime::new(&page_type.sense_spread, draws));
        let (transfer, command) = (Ns::from_us(spec.bus.transfer_us), Ns::from_us(spec.bus.command_us));
        Self {
            page_types: page_types.collect(),
            spreads: spreads.collect(),
            erase: Ns::from_us(spec.flash.erase_us),
            erase_slc: Ns::from_us(slc.map_or(spec.flash.erase_us, |cells| cells.erase_us)),
            failed_erase: spec.flash.bad_blocks.and_then(|spec| spec.erase_failure?.takes()),
            failed_program: spec.flash.bad_blocks.and_then(|spec| spec.program_failure?.takes()),
            reset: Ns::from_us(spec.flash.reset_us),
            suspend: spec.flash.suspend.as_ref().map(|suspend| SuspendTiming {
                program: Ns::from_us(suspend.program_us),
                erase: Ns::from_us(suspend.erase_us),
                while_writes_wait: suspend.while_writes_wait,
                resume: Ns::from_us(suspend.resume_us),
                most: suspend.most,
                least_run: Ns::from_us(suspend.least_run_us),
                longest: suspend.longest_us.map_or(Ns(u64::MAX), Ns::from_us),
            }),
            suspend_spread: AddedTime::new(
                spec.flash.suspend.as_ref().map_or(&[], |suspend| &suspend.spread),
                Stream::new(spec.seed, Purpose::Suspensions),
            ),
            suspends: Stream::new(spec.seed, Purpose::Suspensions),
            command,
            transfer,
            transfer_extra_level: Ns::from_us(spec.bus.transfer_extra_level_us),
            byte_ns: 1000.0 * config.byte_us(),
            last_transfers: ([0; 2], [Ns::ZERO; 2]),
            // Where a code rate says how much data a codeword holds, pages have so many of them and no more.
            program_transfer: command
                + match &spec.reliability {
                    ReliabilitySpec::Adaptive(adaptive) => transfer.times(adaptive.codewords_per_page.into()),
                    _ => transfer.times(u64::from(spec.geometry.codewords_per_page)),
                },
            known_cells_transfer: Ns::from_us(spec.bus.transfer_us * known_cells),
            predict_in_controller: predict_at(PredictorPlace::Controller),
            decode: match &spec.decoder.time {
                config::DecodeTime::FixedUs(us) => DecodeTime::Fixed(Ns::from_us(*us)),
                config::DecodeTime::PerIterationUs(us) => DecodeTime::PerIteration(Ns::from_us(*us)),
                config::DecodeTime::Ldpc(ldpc) => {
                    let times = config.ldpc_shapes(ldpc).map(|&shape| Ns::from_us(ldpc.iteration_us(shape)));
                    DecodeTime::Ldpc(times.from(config.start_ages().least()))
                }
                config::DecodeTime::Bch(_) => {
                    let codes = config.bch_codes();
                    let engine = spec.decoder.engine();
                    let times = |code: &UnitCode| BchTimes {
                        with_errors: Ns::from_us(code.decode_us),
                        without: Ns::from_us(code.decode_without_errors_us),
                        lane: engine.map_or(Lane::PLACE, |bch| Lane::of_engine(bch, code.correctable)),
                    };
                    let by_age = ByAge::new(codes.iter().map(|code| (code.to_pe_cycles, times(code))));
                    DecodeTime::Bch(by_age.from(config.start_ages().least()))
                }
            },
        }
    }
}

/// What an attempt to decode costs.
#[derive(Debug)]
pub(super) enum DecodeEnergy {
    /// A unit, of which each codeword has an equal part.
    Constant(Pj),
    /// A codeword with one iteration, and each further one, by the P/E cycles of its block.
    Ldpc(ByAge<(Pj, Pj)>),
    /// A codeword with errors and one without, by the P/E cycles of its block.
    Bch(ByAge<(Pj, Pj)>),
}

impl DecodeEnergy {
    fn new(config: &CheckedConfig) -> Self {
        let (spec, node) = (config.config(), config.decoder_node());
        let pj = |pj: f64| Pj::from_uj(pj / 1e6);
        let codes = match (spec.energy.decoder, &spec.decoder.time) {
            (DecoderEnergy::Circuit, config::DecodeTime::Ldpc(ldpc)) => {
                let of = |shape: &LdpcShape, iterations| ldpc.circuit().decode_pj(*shape, iterations, node);
                let codes = config.ldpc_shapes(ldpc);
                return Self::Ldpc(codes.map(|shape| (pj(of(shape, 1)), pj(of(shape, 2) - of(shape, 1)))));
            }
            (DecoderEnergy::Circuit, config::DecodeTime::Bch(bch)) => (bch, config.bch_codes()),
            _ => return Self::Constant(Pj::from_uj(spec.energy.decode_uj)),
        };
        let (bch, codes) = codes;
        let of_code = |code: &UnitCode| {
            let shape = code.shape();
            let with = |errors| pj(bch.lane_circuit(code.correctable).decode_pj(shape, errors, node));
            (code.to_pe_cycles, (with(true), with(false)))
        };
        Self::Bch(ByAge::new(codes.iter().map(of_code)))
    }

    /// That of a codeword.
    #[inline]
    pub(super) fn of(&self, codewords_per_unit: u32, pe_cycles: u32, outcome: Outcome) -> Pj {
        match self {
            Self::Constant(unit) => unit.part(codewords_per_unit),
            Self::Ldpc(codes) => {
                let (first, further) = *codes.at(|| pe_cycles);
                let iterations = outcome.iterations.expect("the config was checked to know iterations");
                first + further.times(u64::from(iterations.saturating_sub(1)))
            }
            Self::Bch(codes) => {
                let (with_errors, without) = *codes.at(|| pe_cycles);
                if outcome.clean { without } else { with_errors }
            }
        }
    }
}

/// Bits of data that an encoder takes in a cycle: a byte of the bus.
const ENCODER_BITS: u32 = 8;

/// What circuits take to encode a page, uJ, by the P/E cycles of its block; nothing where energies are constants.
fn encoding_uj(config: &CheckedConfig) -> ByAge<f64> {
    let (spec, node) = (config.config(), config.decoder_node());
    match (spec.energy.decoder, &spec.decoder.time) {
        (DecoderEnergy::Circuit, config::DecodeTime::Ldpc(ldpc)) => {
            let circuit = LdpcEncoderCircuit { bits_per_cycle: ENCODER_BITS };
            // A page is one codeword where a code rate says how much data it holds.
            let codewords = match spec.reliability {
                ReliabilitySpec::Adaptive(_) => 1,
                _ => spec.geometry.codewords_per_page,
            };
            config.ldpc_shapes(ldpc).map(|&shape| circuit.encode_pj(shape, node) * f64::from(codewords) / 1e6)
        }
        (DecoderEnergy::Circuit, config::DecodeTime::Bch(_)) => {
            let circuit = BchEncoderCircuit { bits_per_cycle: ENCODER_BITS };
            let of_page = |code: &UnitCode| {
                let pages = spec.geometry.pages_per_block * config.geometry().blocks_in_turn();
                let units = f64::from(code.units_per_block) / f64::from(pages);
                let codewords = units * f64::from(code.codewords_per_unit);
                (code.to_pe_cycles, circuit.encode_pj(code.shape(), node) * codewords / 1e6)
            };
            ByAge::new(config.bch_codes().iter().map(of_page))
        }
        _ => ByAge::always(0.0),
    }
}

/// What operations cost.
#[derive(Debug)]
pub(super) struct OperationEnergy {
    pub(super) sense: Pj,
    pub(super) sense_extra_level: Pj,
    pub(super) transfer: Pj,
    pub(super) transfer_extra_level: Pj,
    /// Of a page with its encoding, by the P/E cycles of its block.
    pub(super) program: ByAge<Pj>,
    /// The same of a page of the SLC cache.
    pub(super) program_slc: ByAge<Pj>,
    /// Of a page that is not encoded.
    pub(super) copy: Pj,
    pub(super) erase: Pj,
    pub(super) decode: DecodeEnergy,
    pub(super) predict: Pj,
    known_cells_transfer: Pj,
}

impl OperationEnergy {
    /// # Arguments
    /// - `known_cells`: of a page, as a share of a codeword.
    pub(super) fn new(config: &CheckedConfig, known_cells: f64) -> Self {
        let spec = &config.config().energy;
        let program = |uj| encoding_uj(config).map(|encoding| Pj::from_uj(uj + encoding));
        Self {
            sense: Pj::from_uj(spec.sense_uj),
            sense_extra_level: Pj::from_uj(spec.sense_extra_level_uj),
            transfer: Pj::from_uj(spec.transfer_uj),
            transfer_extra_level: Pj::from_uj(spec.transfer_extra_level_uj),
            program: program(spec.program_uj),
            program_slc: program(spec.slc_program_uj.unwrap_or(spec.program_uj)),
            copy: Pj::from_uj(spec.program_uj),
            erase: Pj::from_uj(spec.erase_uj),
            decode: DecodeEnergy::new(config),
            predict: Pj::from_uj(spec.predict_uj),
            known_cells_transfer: Pj::from_uj(spec.transfer_uj * known_cells),
        }
    }

    /// Sensing a page for a step: hard-decision levels with what the die predicts of them, and the extra ones with those of a search.
    pub(super) fn sensing(&self, step: Step) -> (Pj, Pj) {
        let hard = self.sense.times(u64::from(step.hard) + u64::from(step.unsent_sensings));
        let hard = hard + self.predict.times(step.predictions.into());
        (hard, self.sense_extra_level.times(u64::from(step.extra_levels) + u64::from(step.search_sensings)))
    }

    /// The transfer of a codeword for a step.
    pub(super) fn transferring(&self, step: Step) -> Pj {
        if step.known_cells {
            return self.known_cells_transfer;
        }
        let hard = if step.hard { self.transfer } else { Pj::default() };
        hard + self.transfer_extra_level.times(u64::from(step.extra_levels))
    }
}
