//! Durations and energies of operations, in the form that the hot paths want.

use softsense_base::{Ns, Pj, Purpose, Stream};
use softsense_config::checked::CheckedConfig;
use softsense_config::format::UnitCode;
use softsense_config::ids::Unit;
use softsense_config::spec::{self, AddedTime, DecoderEnergy, PageTiming, SlcCellsSpec};
use softsense_ecc::hardware::{BchEncoderCircuit, LdpcEncoderCircuit, LdpcShape};
use softsense_link::{ByAge, Outcome, Predictor, PredictorPlace, ReliabilitySpec, Step};

use super::decoders::Lane;

/// Durations of all operations.
#[derive(Debug)]
pub(super) struct Timing {
    /// Times of each page type. Pages of SLC blocks come last.
    pub(super) page_types: Vec<PageTiming>,
    /// Time that sensing takes longer in some pages than in others, by page type.
    spreads: Vec<AddedTime>,
    erase: Ns,
    /// Time to erase a block whose cells hold one bit.
    erase_slc: Ns,
    /// Time to program all pages of a wordline at once; none where they are programmed one by one.
    pub(super) one_shot: Option<Ns>,
    /// Time of an erase that fails, where it differs.
    failed_erase: Option<Ns>,
    /// Time of a program of a page that fails, where it differs.
    pub(super) failed_program: Option<Ns>,
    pub(super) reset: Ns,
    pub(super) suspend: Option<SuspendTiming>,
    /// Time that stopping takes longer at one time than at another.
    suspend_spread: AddedTime,
    /// The random draws that decide whether an operation stops while writes wait.
    suspends: Stream,
    /// Time on the bus of the command and the address of an operation.
    pub(super) command: Ns,
    transfer: Ns,
    transfer_extra_level: Ns,
    /// Time of a byte on the bus, in ns, where codes differ in their length.
    byte_ns: f64,
    /// The last such codeword: the bytes of its parts, and the times of their transfers.
    last_transfers: ([u32; 2], [Ns; 2]),
    pub(super) program_transfer: Ns,
    /// Time on the bus of the known cells of a page.
    known_cells_transfer: Ns,
    /// Time that a predictor in the controller takes for each codeword that it looks at.
    pub(super) predict_in_controller: Ns,
    pub(super) decode: DecodeTime,
}

/// The rules and times by which programs and erases are suspended for reads.
#[derive(Debug, Clone, Copy)]
pub(super) struct SuspendTiming {
    /// Time until a program, or an erase, has stopped.
    pub(super) program: Ns,
    pub(super) erase: Ns,
    /// The share of suspensions that happen while writes wait.
    while_writes_wait: f64,
    /// Time by which an operation takes longer when it resumes.
    pub(super) resume: Ns,
    /// The most suspensions of one operation.
    pub(super) most: u32,
    /// Time for which an operation runs before it is suspended.
    pub(super) least_run: Ns,
    /// The longest time for which an operation stays suspended.
    pub(super) longest: Ns,
}

#[derive(Debug)]
pub(super) enum DecodeTime {
    Fixed(Ns),
    PerIteration(Ns),
    /// Time of each iteration, by the P/E cycles of the block.
    Ldpc(ByAge<Ns>),
    /// Times by the P/E cycles of the block.
    Bch(ByAge<BchTimes>),
}

/// Time that a BCH codeword takes with errors and without, and the share of a decoder that it takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct BchTimes {
    pub(super) with_errors: Ns,
    pub(super) without: Ns,
    pub(super) lane: Lane,
}

impl Timing {
    /// Time to erase a block.
    ///
    /// # Arguments
    /// - `slc`: whether the cells of the block hold one bit.
    /// - `fails`: whether the erase fails.
    pub(super) fn erase_of(&self, slc: bool, fails: bool) -> Ns {
        let usual = if slc { self.erase_slc } else { self.erase };
        self.failed_erase.filter(|_| fails).unwrap_or(usual)
    }

    /// Time until the program or the erase of a unit has stopped. It has run since the instant of `run`, and has been suspended before as
    /// often as the number there. None where it does not stop.
    ///
    /// # Arguments
    /// - `usual`: time that stopping takes at least.
    /// - `writes_wait`: whether writes of the host wait for room.
    #[inline]
    pub(super) fn stopping(&self, usual: Ns, unit: Unit, run: (Ns, u32), writes_wait: bool) -> Option<Ns> {
        let suspend = self.suspend.as_ref()?;
        // Each suspension has a draw of its own. The spread takes the draws of this index and the numbers 0 to 2.
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

    /// Time to sense a page of a type for a step. Two numbers identify the page.
    #[inline]
    pub(super) fn sensing(&self, page_type: u32, step: Step, page: (u64, u64)) -> Ns {
        let (timing, spread) = (&self.page_types[page_type as usize], &self.spreads[page_type as usize]);
        if spread.is_none() {
            return timing.of(step);
        }
        timing.taking(timing.sense.longer(spread.ns(page.0, page.1)), step)
    }

    /// Time for which a codeword is on the bus for a step, where codes do not differ in their length.
    #[inline]
    pub(super) fn transferring(&self, step: Step) -> Ns {
        if step.known_cells {
            return self.known_cells_transfer;
        }
        let hard = if step.hard { self.transfer } else { Ns::ZERO };
        hard + self.transfer_extra_level.times(u64::from(step.extra_levels))
    }

    /// Times for which so many bytes of a codeword are on the bus: those in its first page, and those in any other page.
    #[inline]
    pub(super) fn transfers_of(&mut self, bytes: [u32; 2]) -> [Ns; 2] {
        // Successive codewords mostly have the same sizes.
        if self.last_transfers.0 != bytes {
            let transfer = |bytes| Ns((f64::from(bytes) * self.byte_ns).round() as u64);
            self.last_transfers = (bytes, bytes.map(transfer));
        }
        self.last_transfers.1
    }

    /// # Arguments
    /// - `known_cells`: the known cells of a page, as a share of a codeword.
    /// - `predictor`: the predictor that looks at reads.
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
            one_shot: spec
                .flash
                .one_shot_program
                .then(|| Ns::from_us(spec.flash.page_types.iter().map(|of| of.program_us).sum())),
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
            // If the code rate says how much data a codeword holds, pages have so many codewords and no more.
            program_transfer: command
                + match &spec.reliability {
                    ReliabilitySpec::Adaptive(adaptive) => transfer.times(adaptive.codewords_per_page.into()),
                    _ => transfer.times(u64::from(spec.geometry.codewords_per_page)),
                },
            known_cells_transfer: Ns::from_us(spec.bus.transfer_us * known_cells),
            predict_in_controller: predict_at(PredictorPlace::Controller),
            decode: match &spec.decoder.time {
                spec::DecodeTime::FixedUs(us) => DecodeTime::Fixed(Ns::from_us(*us)),
                spec::DecodeTime::PerIterationUs(us) => DecodeTime::PerIteration(Ns::from_us(*us)),
                spec::DecodeTime::Ldpc(ldpc) => {
                    let times = config.ldpc_shapes(ldpc).map(|&shape| Ns::from_us(ldpc.iteration_us(shape)));
                    DecodeTime::Ldpc(times.from(config.start_ages().least()))
                }
                spec::DecodeTime::Bch(_) => {
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

/// Energy of an attempt to decode.
#[derive(Debug)]
pub(super) enum DecodeEnergy {
    /// Energy of a unit, of which each of its codewords has an equal part.
    Constant(Pj),
    /// Energy of a codeword with one iteration, and of each further iteration, by the P/E cycles of the block.
    Ldpc(ByAge<(Pj, Pj)>),
    /// Energy of a codeword with errors, and of one without, by the P/E cycles of the block.
    Bch(ByAge<(Pj, Pj)>),
}

impl DecodeEnergy {
    fn new(config: &CheckedConfig) -> Self {
        let (spec, node) = (config.config(), config.decoder_node());
        let pj = |pj: f64| Pj::from_uj(pj / 1e6);
        let codes = match (spec.energy.decoder, &spec.decoder.time) {
            (DecoderEnergy::Circuit, spec::DecodeTime::Ldpc(ldpc)) => {
                let of = |shape: &LdpcShape, iterations| ldpc.circuit().decode_pj(*shape, iterations, node);
                let codes = config.ldpc_shapes(ldpc);
                return Self::Ldpc(codes.map(|shape| (pj(of(shape, 1)), pj(of(shape, 2) - of(shape, 1)))));
            }
            (DecoderEnergy::Circuit, spec::DecodeTime::Bch(bch)) => (bch, config.bch_codes()),
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

    /// Energy of the decode of a codeword.
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

/// Energy that circuits take to encode a page, in uJ, by the P/E cycles of its block; 0 where energies are constants.
fn encoding_uj(config: &CheckedConfig) -> ByAge<f64> {
    let (spec, node) = (config.config(), config.decoder_node());
    match (spec.energy.decoder, &spec.decoder.time) {
        (DecoderEnergy::Circuit, spec::DecodeTime::Ldpc(ldpc)) => {
            let circuit = LdpcEncoderCircuit { bits_per_cycle: ENCODER_BITS };
            // A page is one codeword where the code rate says how much data it holds.
            let codewords = match spec.reliability {
                ReliabilitySpec::Adaptive(_) => 1,
                _ => spec.geometry.codewords_per_page,
            };
            config.ldpc_shapes(ldpc).map(|&shape| circuit.encode_pj(shape, node) * f64::from(codewords) / 1e6)
        }
        (DecoderEnergy::Circuit, spec::DecodeTime::Bch(_)) => {
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

/// Energies of operations.
#[derive(Debug)]
pub(super) struct OperationEnergy {
    pub(super) sense: Pj,
    pub(super) sense_extra_level: Pj,
    pub(super) transfer: Pj,
    pub(super) transfer_extra_level: Pj,
    /// Energy to program a page with its encoding, by the P/E cycles of its block.
    pub(super) program: ByAge<Pj>,
    /// Energy to program a page of the SLC cache with its encoding, by the P/E cycles of its block.
    pub(super) program_slc: ByAge<Pj>,
    /// Energy to program a page that is not encoded.
    pub(super) copy: Pj,
    pub(super) erase: Pj,
    pub(super) decode: DecodeEnergy,
    pub(super) predict: Pj,
    known_cells_transfer: Pj,
}

impl OperationEnergy {
    /// # Arguments
    /// - `known_cells`: the known cells of a page, as a share of a codeword.
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

    /// Energy to sense a page for a step: of the hard decision with the predictions of the die, and of the extra levels with the sensings
    /// of a search.
    pub(super) fn sensing(&self, step: Step) -> (Pj, Pj) {
        let hard = self.sense.times(u64::from(step.hard) + u64::from(step.unsent_sensings));
        let hard = hard + self.predict.times(step.predictions.into());
        (hard, self.sense_extra_level.times(u64::from(step.extra_levels) + u64::from(step.search_sensings)))
    }

    /// Energy to transfer a codeword for a step.
    pub(super) fn transferring(&self, step: Step) -> Pj {
        if step.known_cells {
            return self.known_cells_transfer;
        }
        let hard = if step.hard { self.transfer } else { Pj::default() };
        hard + self.transfer_extra_level.times(u64::from(step.extra_levels))
    }
}
