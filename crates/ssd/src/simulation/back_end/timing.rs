//! How long operations take and what they cost, as the hot paths want it.

use softsense_base::{Ns, Pj};
use softsense_link::{ByAge, ReliabilitySpec, Step};

use crate::checked::CheckedConfig;
use crate::config::{self, EnergySpec};
use crate::format::UnitCode;

/// Durations of everything.
#[derive(Debug)]
pub(super) struct Timing {
    pub(super) page_types: Vec<PageTiming>,
    pub(super) erase: Ns,
    pub(super) reset: Ns,
    pub(super) transfer: Ns,
    pub(super) transfer_extra_level: Ns,
    /// Of a byte, where codes differ in their length, ns.
    pub(super) byte_ns: f64,
    pub(super) program_transfer: Ns,
    pub(super) decode: DecodeTime,
}

#[derive(Debug)]
pub(super) enum DecodeTime {
    Fixed(Ns),
    PerIteration(Ns),
    /// Of a codeword with errors and of one without, by the P/E cycles of its block.
    Bch(ByAge<(Ns, Ns)>),
}

#[derive(Debug)]
pub(super) struct PageTiming {
    pub(super) sense: Ns,
    pub(super) sense_extra_level: Ns,
    pub(super) program: Ns,
}

impl PageTiming {
    pub(super) fn of(&self, step: Step) -> Ns {
        let hard = if step.hard { self.sense } else { Ns::ZERO };
        hard + self.sense_extra_level.times(u64::from(step.extra_levels) + u64::from(step.search_sensings))
    }
}

impl Timing {
    pub(super) fn new(config: &CheckedConfig) -> Self {
        let spec = config.config();
        let page_types = spec.flash.page_types.iter().map(|page_type| PageTiming {
            sense: Ns::from_us(page_type.sense_us),
            sense_extra_level: Ns::from_us(page_type.sense_extra_level_us),
            program: Ns::from_us(page_type.program_us),
        });
        let transfer = Ns::from_us(spec.bus.transfer_us);
        Self {
            page_types: page_types.collect(),
            erase: Ns::from_us(spec.flash.erase_us),
            reset: Ns::from_us(spec.flash.reset_us),
            transfer,
            transfer_extra_level: Ns::from_us(spec.bus.transfer_extra_level_us),
            byte_ns: 1000.0 * config.byte_us(),
            // A page is one codeword where a code rate says how much data it holds.
            program_transfer: match spec.reliability {
                ReliabilitySpec::Adaptive(_) => transfer,
                _ => transfer.times(u64::from(spec.geometry.codewords_per_page)),
            },
            decode: match spec.decoder.time {
                config::DecodeTime::FixedUs(us) => DecodeTime::Fixed(Ns::from_us(us)),
                config::DecodeTime::PerIterationUs(us) => DecodeTime::PerIteration(Ns::from_us(us)),
                config::DecodeTime::Bch(_) => {
                    let codes = config.bch_codes();
                    let times =
                        |code: &UnitCode| (Ns::from_us(code.decode_us), Ns::from_us(code.decode_without_errors_us));
                    let by_age = ByAge::new(codes.iter().map(|code| (code.to_pe_cycles, times(code))));
                    DecodeTime::Bch(by_age.from(config.start_ages().least()))
                }
            },
        }
    }
}

/// What operations cost.
#[derive(Debug)]
pub(super) struct OperationEnergy {
    pub(super) sense: Pj,
    pub(super) sense_extra_level: Pj,
    pub(super) transfer: Pj,
    pub(super) transfer_extra_level: Pj,
    pub(super) program: Pj,
    pub(super) erase: Pj,
    pub(super) decode: Pj,
}

impl OperationEnergy {
    pub(super) fn new(spec: &EnergySpec) -> Self {
        Self {
            sense: Pj::from_uj(spec.sense_uj),
            sense_extra_level: Pj::from_uj(spec.sense_extra_level_uj),
            transfer: Pj::from_uj(spec.transfer_uj),
            transfer_extra_level: Pj::from_uj(spec.transfer_extra_level_uj),
            program: Pj::from_uj(spec.program_uj),
            erase: Pj::from_uj(spec.erase_uj),
            decode: Pj::from_uj(spec.decode_uj),
        }
    }

    /// Sensing a page for a step: the hard-decision level, and the extra ones with those of a search.
    pub(super) fn sensing(&self, step: Step) -> (Pj, Pj) {
        let hard = if step.hard { self.sense } else { Pj::default() };
        (hard, self.sense_extra_level.times(u64::from(step.extra_levels) + u64::from(step.search_sensings)))
    }

    /// The transfer of a codeword for a step.
    pub(super) fn transferring(&self, step: Step) -> Pj {
        let hard = if step.hard { self.transfer } else { Pj::default() };
        hard + self.transfer_extra_level.times(u64::from(step.extra_levels))
    }
}
