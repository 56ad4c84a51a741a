use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Wear;
use crate::distribution::{Distribution, MAX_SHARES};

/// Disturbance by reads of other wordlines of a block: the pass-through voltage that opens cells programs them weakly. A cell at V rises by
/// tunnelling, dV/dn ~ exp(-V / `scale_v`), so that after n effective reads it is at
///
/// ```text
/// scale_v ln( exp(V / scale_v) + a n / doubling_reads (1 + N / doubling_pe_cycles) exp(pass_through_sensitivity (pass_through_voltage - 1)) )
/// ```
///
/// with N P/E cycles: low cells rise most. Cells differ in their susceptibility a: ln a is binomial, nine values about 0 with standard
/// deviation `susceptibility_sigma`. If all cells were alike they would keep their order, and moved references would undo the effect of
/// reads. V is the voltage at which retention has left the cell, as if all reads came after it. A lowered pass-through voltage does not
/// open the cells above it; the effect of these cells on others is left out.
///
/// Effective reads of a wordline are `adjacent_stress` times the reads of the two wordlines beside it, plus the reads of the other
/// wordlines of its block. Its own reads do not count. Source: M. Chun et al., "STRAW: Stress-Aware WL-Based Read Disturbance Management
/// for High-Density NAND Flash Memory", 2026.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadDisturb {
    /// Weight of a read of an adjacent wordline, relative to other reads.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub adjacent_stress: f64,
    /// Voltage over which the effect falls by a factor of e from low to high cells, in volts.
    #[schemars(range(min = 1e-3, max = 100.0))]
    pub scale_v: f64,
    /// Effective reads that double exp(V / `scale_v`) of a cell at 0 V in a block without a P/E cycle, and so raise it by 0.69 `scale_v`.
    #[schemars(range(min = 1e-3, max = 1e18))]
    pub doubling_reads: f64,
    /// P/E cycles at which reads disturb twice as much as in a fresh block.
    #[schemars(range(min = 1e-3, max = 1e18))]
    pub doubling_pe_cycles: f64,
    /// Spread of cells: the standard deviation of ln a.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 3.0))]
    pub susceptibility_sigma: f64,
    /// The voltage on wordlines that are not read, as a share of the nominal voltage.
    #[serde(default = "one")]
    #[schemars(range(min = 0.5, max = 1.5))]
    pub pass_through_voltage: f64,
    /// Steepness of the growth with the pass-through voltage. With one per cent more voltage reads disturb about this number of per cent
    /// more.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 100.0))]
    pub pass_through_sensitivity: f64,
}

/// Effective reads of a wordline when reads of its block are spread evenly over all of its wordlines.
///
/// # Arguments
/// - `neighbours`: wordlines beside it: two, or one at either end.
pub fn effective_reads_if_even(reads: f64, neighbours: u32, wordlines_per_block: u32, adjacent_stress: f64) -> f64 {
    let others = wordlines_per_block - 1 - neighbours;
    reads * (f64::from(others) + adjacent_stress * f64::from(neighbours)) / f64::from(wordlines_per_block)
}

fn one() -> f64 {
    1.0
}

impl ReadDisturb {
    /// The factor by which a read disturbs less when the pass-through voltage is lower by `reduction`, a share of the nominal voltage.
    pub fn disturbance_at(&self, reduction: f64) -> f64 {
        libm::exp(-self.pass_through_sensitivity * reduction)
    }

    /// The effective reads that raise erased cells by a twentieth of `scale_v`; `erased_v` is their voltage.
    pub(super) fn first_change_reads(&self, erased_v: f64) -> f64 {
        (0.05 * self.doubling_reads * libm::exp(erased_v / self.scale_v)).clamp(1.0, 1e9)
    }

    /// Returns a state after the reads of `wear`.
    pub(super) fn disturbed(&self, state: Distribution, wear: Wear) -> Distribution {
        let pass_through = libm::exp(self.pass_through_sensitivity * (self.pass_through_voltage - 1.0));
        let by_wear = 1.0 + f64::from(wear.pe_cycles) / self.doubling_pe_cycles;
        let amount = wear.effective_reads / self.doubling_reads * by_wear * pass_through;
        if amount == 0.0 {
            state
        } else if self.susceptibility_sigma == 0.0 {
            state.lifted(self.scale_v, [(1.0, amount)])
        } else {
            state.lifted(self.scale_v, self.susceptibilities().map(|(share, a)| (share, a * amount)))
        }
    }

    /// The nine kinds of cells, each with its share and its susceptibility.
    fn susceptibilities(&self) -> impl Iterator<Item = (f64, f64)> {
        const BINOMIAL: [f64; MAX_SHARES] = [1.0, 8.0, 28.0, 56.0, 70.0, 56.0, 28.0, 8.0, 1.0];
        let step = self.susceptibility_sigma * std::f64::consts::FRAC_1_SQRT_2;
        (-4..).zip(BINOMIAL).map(move |(kind, of_256)| (of_256 / 256.0, libm::exp(step * f64::from(kind))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disturb() -> ReadDisturb {
        ReadDisturb {
            adjacent_stress: 8.4,
            scale_v: 0.8,
            doubling_reads: 1e6,
            doubling_pe_cycles: 500.0,
            susceptibility_sigma: 0.0,
            pass_through_voltage: 1.0,
            pass_through_sensitivity: 9.3,
        }
    }

    fn median(disturb: &ReadDisturb, from_v: f64, pe_cycles: u32, effective_reads: f64) -> f64 {
        let wear = Wear { effective_reads, ..Wear::unread(pe_cycles, 0.0) };
        disturb.disturbed(Distribution::normal(from_v, 0.1), wear).centre()
    }

    /// Is the rise the closed form of dV/dn ~ exp(-V / scale)? And do reads in two steps do the same as all reads at once?
    #[test]
    fn cells_rise_as_tunnelling_makes_them() {
        let disturb = disturb();
        for from_v in [-1.5, 0.0, 0.9] {
            let at = |reads| median(&disturb, from_v, 0, reads);
            for reads in [1e3, 1e5, 1e7] {
                let speed = (at(reads * 1.0001) - at(reads * 0.9999)) / (2e-4 * reads);
                let expected = disturb.scale_v / disturb.doubling_reads * (-at(reads) / disturb.scale_v).exp();
                assert!((speed / expected - 1.0).abs() < 1e-5, "{from_v} V, {reads} reads: {speed} for {expected}");
                let again = median(&disturb, at(reads), 0, 2.0 * reads);
                assert!((again - at(3.0 * reads)).abs() < 1e-12);
            }
        }
        assert!((median(&disturb, 0.0, 0, 1e6) - 0.8 * 2f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn wear_and_pass_through_voltage_act_as_more_reads() {
        let disturb = disturb();
        assert_eq!(median(&disturb, -1.0, 500, 1e5), median(&disturb, -1.0, 0, 2e5));
        let lower = ReadDisturb { pass_through_voltage: 0.95, ..disturb };
        let fewer = 1e5 * (-0.05f64 * 9.3).exp();
        assert!((median(&lower, -1.0, 0, 1e5) - median(&disturb, -1.0, 0, fewer)).abs() < 1e-12);
    }

    #[test]
    fn susceptibilities_have_the_stated_spread() {
        let disturb = ReadDisturb { susceptibility_sigma: 0.5, ..disturb() };
        let moment = |power| disturb.susceptibilities().map(|(share, a)| share * a.ln().powi(power)).sum::<f64>();
        assert!((moment(0) - 1.0).abs() < 1e-15 && moment(1).abs() < 1e-15 && (moment(2) - 0.25).abs() < 1e-12);
    }
}
