use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Result, expect_number};

use crate::distribution::Distribution;

/// What programming the next wordline does to the cells of this one: each cell rises by `coupling` times the rise of
/// its neighbour there. The neighbour rises from the mean of erased cells to the mean of one of the states, all equally
/// likely. What the wordline before did was there when this one was verified; what other neighbours do is left out. The
/// last wordline of a block has no next one, but is taken to have one.
///
/// Source: Y. Cai, O. Mutlu, E. Haratsch, K. Mai, "Program Interference in MLC NAND Flash Memory: Characterization, Modeling, and
/// Mitigation", 2013: linear in what neighbours rise by. The coupling is a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interference {
    /// How far a cell rises, as a share of what its neighbour does.
    pub coupling: f64,
}

impl Interference {
    pub(super) fn check(self, path: &str) -> Result<()> {
        expect_number(format!("{path}.coupling"), self.coupling, 0.0, 0.5)
    }

    /// A state after the next wordline has been programmed.
    ///
    /// # Arguments
    /// - `programmed`: means of all states of that at once after it was.
    pub(super) fn interfered(self, state: Distribution, programmed: &[f64]) -> Distribution {
        let shifts_v: Vec<f64> = programmed.iter().map(|mean_v| self.coupling * (mean_v - programmed[0])).collect();
        state.pushed(&shifts_v)
    }
}
