use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Energy of one attempt to decode a codeword.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DecoderEnergy {
    /// The fixed energy `decode_uj`.
    #[default]
    Constant,
    /// The energy of the circuit of `decoder.time` at `decoder.node_nm`. It depends on the code and on the iterations
    /// (LDPC), or on whether there are errors (BCH). Programming a page adds the energy of encoding it with eight bits
    /// per cycle.
    Circuit,
}

/// Energy of operations, uJ: for a whole page in operations on pages, for one codeword in operations on codewords.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EnergySpec {
    /// Energy to sense a page with hard decision, uJ.
    pub sense_uj: f64,
    /// Energy to sense one extra level of a page, uJ. A sensing that a RESET cuts short costs energy in proportion to the time that it
    /// took.
    pub sense_extra_level_uj: f64,
    /// Energy to transfer a codeword to the controller, as hard decisions, uJ.
    pub transfer_uj: f64,
    /// Energy to transfer the data that one extra level adds to a codeword, uJ.
    pub transfer_extra_level_uj: f64,
    /// Energy to program a page, including its transfer over the bus, uJ.
    pub program_uj: f64,
    /// Energy to program a page of the SLC cache, uJ. Without this field it is `program_uj`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slc_program_uj: Option<f64>,
    /// Energy to erase a block, uJ.
    pub erase_uj: f64,
    /// Model of the energy of one attempt to decode a codeword.
    pub decoder: DecoderEnergy,
    /// Energy of one attempt to decode a codeword where `decoder` is `constant`, uJ.
    pub decode_uj: f64,
    /// Energy to predict whether a codeword will be decoded, uJ.
    pub predict_uj: f64,
}

impl Default for EnergySpec {
    fn default() -> Self {
        Self {
            sense_uj: 2.4,
            sense_extra_level_uj: 0.7,
            transfer_uj: 3.7,
            transfer_extra_level_uj: 1.85,
            program_uj: 52.0,
            slc_program_uj: None,
            erase_uj: 150.0,
            decoder: DecoderEnergy::Constant,
            decode_uj: 0.8,
            predict_uj: 0.0032,
        }
    }
}
