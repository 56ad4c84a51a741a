use std::collections::HashMap;
use std::sync::Arc;

use softsense_base::Stream;
use softsense_ecc::channel::LARGEST_REGION_LLR;
use softsense_nand::{CellSpec, Cells, Placement, ReadWith, Sensing, Wear};

/// The condition of the cells of a codeword when it is read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CellCondition {
    /// One boundary between two Gaussian states, on which decode tables are measured.
    Boundary {
        /// Raw bit error rate of hard decisions.
        rber: f64,
    },
    /// Cells with threshold voltages.
    Voltages {
        /// Wear of the cells.
        wear: Wear,
        /// Page of the wordline that the codeword is in.
        page: usize,
    },
}

/// Distances of grid points in ln(RBER), ln(1 + P/E cycles), ln(1 + hours) and ln(1 + effective reads / 1,000). Conditions between grid
/// points are read with the references and LLRs of the nearest one, as placing references takes up to 100 ms.
///
/// Cells follow their own condition, so raw errors are unbiased. References are placed where information is stationary, so at most 1e-5
/// bits of it are lost, as by 0.02 % of RBER. LLRs are off by less than a decoder's integer. A test measures both.
const RBER_GRID: f64 = 0.01;
const PE_GRID: f64 = 0.01;
const HOURS_GRID: f64 = 0.05;
const READS_GRID: f64 = 0.02;
/// Scale of effective reads: above it conditions are told apart by the logarithm of the reads.
const READS_SCALE: f64 = 1000.0;

/// Least and greatest RBER of [`CellCondition::Boundary`]. At the least one, one codeword of 4 KB in 27,000 has an error at all.
pub(crate) const BOUNDARY_RBER: std::ops::RangeInclusive<f64> = 1e-9..=0.499;

/// A condition on the grid, the way in which its cells are read, and the result of a search for valleys.
type ReferenceKey = ([i64; 4], ReadWith, Option<FoundGaps>);

/// The gap that a search for valleys has chosen at each boundary between states.
pub(crate) type FoundGaps = Box<[u8]>;

/// Returns the index of the nearest grid point, and its value.
fn on_grid(value: f64, distance: f64) -> (i64, f64) {
    let index = libm::round(value / distance);
    (index as i64, index * distance)
}

impl CellCondition {
    /// Returns the cells.
    pub(crate) fn cells(self, spec: Option<&CellSpec>) -> Cells {
        match (self, spec) {
            (Self::Boundary { rber }, None) => {
                Cells::gaussian(rber.clamp(*BOUNDARY_RBER.start(), *BOUNDARY_RBER.end()))
            }
            (Self::Voltages { wear, .. }, Some(spec)) => spec.at(wear),
            (Self::Boundary { .. }, Some(_)) | (Self::Voltages { .. }, None) => {
                panic!("a condition of the other kind of flash")
            }
        }
    }

    /// Returns the cells as they look when they are sensed for a share of the time, wherever references stand.
    pub(crate) fn looking(self, spec: Option<&CellSpec>, sensing_percent: u8) -> Cells {
        match (self, spec) {
            (Self::Voltages { wear, .. }, Some(spec)) => {
                spec.as_sensed(spec.without_references_at(wear), sensing_percent)
            }
            _ => self.cells(spec),
        }
    }

    /// Returns the cells as they are read; after a search for valleys, with the gaps that it has found.
    fn read_with(self, spec: Option<&CellSpec>, read: ReadWith, found: Option<&FoundGaps>) -> Cells {
        match (self, spec, found) {
            (Self::Voltages { wear, .. }, Some(spec), None) => spec.read_with(wear, read),
            (Self::Voltages { wear, .. }, Some(spec), Some(gaps)) => {
                let cells = spec.at_valleys(wear, &gaps.iter().map(|&gap| gap.into()).collect::<Vec<_>>());
                spec.as_sensed(cells, read.sensing_percent)
            }
            _ => self.cells(spec),
        }
    }

    pub(crate) fn page(self) -> usize {
        match self {
            Self::Boundary { .. } => 0,
            Self::Voltages { page, .. } => page,
        }
    }

    /// Returns the nearest grid point, for which references are placed.
    fn placed(self) -> ([i64; 4], Self) {
        match self {
            Self::Boundary { rber } => {
                let (index, ln_rber) = on_grid(libm::log(rber.max(*BOUNDARY_RBER.start())), RBER_GRID);
                ([index, 0, 0, 0], Self::Boundary { rber: libm::exp(ln_rber) })
            }
            Self::Voltages { wear, page } => {
                let (pe, ln_pe) = on_grid(libm::log1p(f64::from(wear.pe_cycles)), PE_GRID);
                let (hours, ln_hours) = on_grid(libm::log1p(wear.retention_hours), HOURS_GRID);
                let (reads, ln_reads) = on_grid(libm::log1p(wear.effective_reads / READS_SCALE), READS_GRID);
                let wear = Wear {
                    pe_cycles: libm::round(libm::expm1(ln_pe)) as u32,
                    retention_hours: libm::expm1(ln_hours),
                    effective_reads: READS_SCALE * libm::expm1(ln_reads),
                };
                ([pe, hours, reads, page as i64], Self::Voltages { wear, page })
            }
        }
    }
}

/// References of one level, and the LLRs of their regions.
#[derive(Clone)]
pub(crate) struct References {
    pub(crate) sensing: Sensing,
    /// LLRs in a decoder's integers; at level 1 their signs.
    pub(crate) llrs: Vec<i8>,
    /// The LLR, in natural logarithms, that one step stands for.
    pub(crate) step: f64,
}

impl References {
    fn new(cells: &Cells, page: usize, level: u8, placement: Placement, codeword_bits: usize) -> Self {
        let sensing = Sensing::new(cells, page, level, placement);
        if level == 1 {
            let sign = |llr: &f64| if *llr < 0.0 { -1 } else { 1 };
            // The LLR of a hard decision stays finite where no bit is wrong.
            let rber = cells.rber(page).clamp(0.5 / codeword_bits as f64, 0.499);
            let llrs = sensing.llrs(cells).iter().map(sign).collect();
            return Self { sensing, llrs, step: libm::log((1.0 - rber) / rber) };
        }
        let (llrs, step) = sensing.integer_llrs(cells, LARGEST_REGION_LLR);
        Self { sensing, llrs, step }
    }
}

/// References by condition, placed when they are first asked for.
#[derive(Clone)]
pub(crate) struct PlacedReferences {
    placement: Placement,
    codeword_bits: usize,
    placed: HashMap<ReferenceKey, Arc<References>>,
}

impl PlacedReferences {
    pub(crate) fn new(placement: Placement, codeword_bits: usize) -> Self {
        Self { placement, codeword_bits, placed: HashMap::new() }
    }

    /// Returns the references of a condition, or of the grid point that stands for it.
    ///
    /// # Arguments
    /// - `spec`: cells with threshold voltages; none at a boundary.
    /// - `found`: the gaps that a search for valleys has found, where references stand there.
    pub(crate) fn of(
        &mut self,
        spec: Option<&CellSpec>,
        condition: CellCondition,
        read: ReadWith,
        found: Option<FoundGaps>,
    ) -> Arc<References> {
        let (key, condition) = condition.placed();
        let (placement, codeword_bits) = (self.placement, self.codeword_bits);
        let place = |(_, read, found): &ReferenceKey| {
            let cells = condition.read_with(spec, *read, found.as_ref());
            Arc::new(References::new(&cells, condition.page(), read.level, placement, codeword_bits))
        };
        let key = (key, read, found);
        if let Some(placed) = self.placed.get(&key) {
            return placed.clone();
        }
        let placed = place(&key);
        self.placed.insert(key, placed.clone());
        placed
    }
}

/// Returns the gap at each boundary that a search for valleys finds by the cells that it counts for a codeword.
///
/// # Arguments
/// - `counts`: the stream of the randomness of the counts.
/// - `part`: the part of the codeword, or the page of its wordline.
pub(crate) fn found_gaps(spec: &CellSpec, wear: Wear, counts: &Stream, draw: u64, part: u64) -> FoundGaps {
    let mut next = part << 32;
    let gaps = spec.found_gaps(wear, || {
        next += 1;
        counts.uniform(draw, next)
    });
    gaps.into_iter().map(|gap| gap as u8).collect()
}

/// Step of ln(1 + hours) and of ln(1 + reads / 1,000) in which real decodes count retention and effective reads. A read that takes
/// milliseconds, or comes again soon, then meets the same cells, and needs no second decode. RBER is within 0.1 % of its own value after an
/// hour or more, and within 0.5 % after so many reads that it grows with their tenth power.
const AGE_STEP: f64 = 1e-3;

/// Rounds a wear to the steps.
pub(crate) fn in_steps(wear: Wear) -> Wear {
    in_steps_of(wear, AGE_STEP)
}

/// Rounds a wear to steps of a given length in ln(1 + hours) and ln(1 + reads / 1,000).
pub(crate) fn in_steps_of(wear: Wear, step: f64) -> Wear {
    let in_steps = |value: f64, scale| scale * libm::expm1(on_grid(libm::log1p(value / scale), step).1);
    Wear {
        retention_hours: in_steps(wear.retention_hours, 1.0),
        effective_reads: in_steps(wear.effective_reads, READS_SCALE),
        ..wear
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Does the grid lose as little as its documentation says? At the worst distance from a grid point, references are compared with those
    /// of the condition itself: their information about the bits, and their LLRs.
    #[test]
    fn the_grid_of_references_costs_next_to_nothing() {
        let spec = CellSpec::default();
        let boundaries = [1e-4, 2e-3, 0.01, 0.03].map(|rber: f64| {
            let index = libm::floor(libm::log(rber) / RBER_GRID) + 0.499;
            (CellCondition::Boundary { rber: libm::exp(index * RBER_GRID) }, None)
        });
        let pages = [(1_000, 10.0, 0), (10_000, 8_760.0, 0), (10_000, 8_760.0, 1), (20_000, 100.0, 1)];
        let pages = pages.map(|(pe_cycles, hours, page)| {
            let off = |value: f64, grid: f64| libm::expm1((libm::floor(libm::log1p(value) / grid) + 0.499) * grid);
            let pe_cycles = libm::round(off(f64::from(pe_cycles), PE_GRID)) as u32;
            let wear = Wear::unread(pe_cycles, off(hours, HOURS_GRID));
            (CellCondition::Voltages { wear, page }, Some(&spec))
        });
        let measured = CellSpec::open("tlc-measured", Path::new("")).unwrap();
        let ln_reads = (libm::floor(libm::log(301.0) / READS_GRID) + 0.499) * READS_GRID;
        let wear = Wear { effective_reads: READS_SCALE * libm::expm1(ln_reads), ..Wear::unread(1_096, 0.0) };
        let disturbed = (CellCondition::Voltages { wear, page: 0 }, Some(&measured));
        for (condition, spec) in boundaries.into_iter().chain(pages).chain([disturbed]) {
            let (own, placed) = (condition.cells(spec), condition.placed().1.cells(spec));
            for level in [2, 3, 7] {
                let sensing = |cells| Sensing::new(cells, condition.page(), level, Placement::MutualInformation);
                let (best, used) = (sensing(&own), sensing(&placed));
                let lost = best.information(&own) - used.information(&own);
                let (right, told) = (used.llrs(&own), used.llrs(&placed));
                let off = right.iter().zip(&told).map(|(right, told)| (right - told).abs()).fold(0.0, f64::max);
                let largest = told.iter().map(|llr| llr.abs()).fold(0.0, f64::max);
                println!("{condition:?} level {level}: {lost:.1e} bits lost, LLRs off by {off:.4} of {largest:.2}");
                assert!(lost < 1e-5, "{condition:?}, level {level}: {lost:e} bits lost");
                assert!(
                    off < largest / f64::from(LARGEST_REGION_LLR),
                    "{condition:?}, level {level}: LLRs off by {off}"
                );
            }
        }
    }
}
