use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::distribution::Distribution;

/// Interference from programming the next wordline: each cell rises by `coupling` times the rise of its neighbour there. The neighbour
/// rises from the mean of erased cells to the mean of one of the states, all equally likely. The effect of the wordline before was there
/// when this one was verified, and other neighbours are not modelled. The last wordline of a block is treated as if it had a next one.
///
/// Source: Y. Cai, O. Mutlu, E. Haratsch, K. Mai, "Program Interference in MLC NAND Flash Memory: Characterization, Modeling, and
/// Mitigation", 2013: linear in what neighbours rise by. The coupling is a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interference {
    /// Rise of a cell as a share of the rise of its neighbour.
    #[schemars(range(min = 0.0, max = 0.5))]
    pub coupling: f64,
}

impl Interference {
    /// A state after the next wordline has been programmed.
    ///
    /// # Arguments
    /// - `programmed`: means of all states of the next wordline, just after it was programmed.
    pub(super) fn interfered(self, state: Distribution, programmed: &[f64]) -> Distribution {
        let shifts_v: Vec<f64> = programmed.iter().map(|mean_v| self.coupling * (mean_v - programmed[0])).collect();
        state.pushed(&shifts_v)
    }
}
