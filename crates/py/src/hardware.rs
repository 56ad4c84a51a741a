//! Circuits of codecs for Python.

use std::ops::RangeInclusive;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use softsense_base::{expect_number, expect_whole};
use softsense_config::spec::{BchDecoderSpec, LdpcDecoderSpec};
use softsense_ecc::catalogue;
use softsense_ecc::hardware::{
    BchDecoderCircuit, BchEncoderCircuit, BchShape, LdpcDecoderCircuit, LdpcEncoderCircuit, LdpcShape, Node, Parts,
    RcqDecoderCircuit,
};
use softsense_ecc::ldpc::RcqDesign;

use crate::codes::Code;
use crate::raise;

/// The default bits of a message of a decoder by tables.
const RCQ_MESSAGE_BITS: u32 = 4;

/// The costs of a circuit for a codeword.
struct Taken {
    parts: Parts,
    cycles: u64,
    pj: f64,
}

impl Taken {
    fn dict<'py>(&self, py: Python<'py>, data_bits: usize, clock_mhz: f64, node: Node) -> PyResult<Bound<'py, PyDict>> {
        let (dict, us) = (PyDict::new(py), self.cycles as f64 / clock_mhz);
        dict.set_item("gates", self.parts.gates)?;
        dict.set_item("memory_bits", self.parts.memory_bits)?;
        dict.set_item("mm2", self.parts.mm2(node))?;
        dict.set_item("cycles", self.cycles)?;
        dict.set_item("us", us)?;
        dict.set_item("gbps", data_bits as f64 / us / 1e3)?;
        dict.set_item("nj", self.pj / 1e3)?;
        dict.set_item("pj_per_bit", self.pj / data_bits as f64)?;
        Ok(dict)
    }
}

/// Area, time and energy of a decoder and an encoder of a code as circuits, by the model of docs/model/hardware.md.
///
/// Returns `code`, `kind`, `node_nm`, `clock_mhz`, and dicts `decoder` and `encoder`. Each has `gates` (equivalents of a NAND of two
/// inputs), `memory_bits` and `mm2`; and for one codeword `cycles`, `us`, `gbps` (of data, one codeword after the other), `nj` and
/// `pj_per_bit` (of data).
///
/// The decoder of an LDPC code takes `iterations`. With `posterior_bits` it is a decoder by tables (`rcq:BITS:POSTERIOR`), whose messages
/// have 4 bits unless others are given. The decoder of a BCH code finds errors. An argument that is None is as in a config. A function of
/// its arguments. Raises ConfigError.
#[pyfunction]
#[pyo3(signature = (code, *, node_nm = 28.0, clock_mhz = None, iterations = 5, checks_per_cycle = None, message_bits = None,
                    posterior_bits = None, syndrome_bits_per_cycle = None, key_equation_multipliers = None, search_bits_per_cycle = None,
                    encoder_bits_per_cycle = 32))]
#[expect(clippy::too_many_arguments, reason = "a field each")]
pub(crate) fn code_hardware<'py>(
    py: Python<'py>,
    code: &Code,
    node_nm: f64,
    clock_mhz: Option<f64>,
    iterations: u32,
    checks_per_cycle: Option<u32>,
    message_bits: Option<u32>,
    posterior_bits: Option<u32>,
    syndrome_bits_per_cycle: Option<u32>,
    key_equation_multipliers: Option<u32>,
    search_bits_per_cycle: Option<u32>,
    encoder_bits_per_cycle: u32,
) -> PyResult<Bound<'py, PyDict>> {
    let node = Node::new("node_nm", node_nm).map_err(raise)?;
    let (ldpc, bch) = (LdpcDecoderSpec::default(), BchDecoderSpec::default());
    let within = |name: &str, found: Option<u32>, usual: u32, least: u32, most: u32| -> PyResult<u32> {
        let found = found.unwrap_or(usual);
        expect_whole(name, found, least, most).map_err(raise)?;
        Ok(found)
    };
    within("iterations", Some(iterations), 0, 1, 10_000)?;
    let encoder_bits = within("encoder_bits_per_cycle", Some(encoder_bits_per_cycle), 0, 1, 1 << 16)?;
    let (kind, usual_mhz, decoder, encoder) = match &code.code {
        catalogue::Code::Ldpc(of) => {
            let shape = LdpcShape::of(of);
            let checks_per_cycle = within("checks_per_cycle", checks_per_cycle, ldpc.checks_per_cycle, 1, 1 << 16)?;
            let encoder = LdpcEncoderCircuit { bits_per_cycle: encoder_bits };
            let decoded = if let Some(posterior_bits) = posterior_bits {
                let bits = |name, found: u32, range: RangeInclusive<u8>| {
                    within(name, Some(found), found, (*range.start()).into(), (*range.end()).into())
                };
                let message_bits = message_bits.unwrap_or(RCQ_MESSAGE_BITS);
                let circuit = RcqDecoderCircuit {
                    checks_per_cycle,
                    message_bits: bits("message_bits", message_bits, RcqDesign::MESSAGE_BITS)?,
                    posterior_bits: bits("posterior_bits", posterior_bits, RcqDesign::POSTERIOR_BITS)?,
                };
                Taken {
                    parts: circuit.parts(shape),
                    cycles: circuit.cycles(shape, iterations),
                    pj: circuit.decode_pj(shape, iterations, node),
                }
            } else {
                let message_bits = within("message_bits", message_bits, ldpc.message_bits, 2, 16)?;
                let circuit = LdpcDecoderCircuit { checks_per_cycle, message_bits };
                Taken {
                    parts: circuit.parts(shape),
                    cycles: circuit.cycles(shape, iterations),
                    pj: circuit.decode_pj(shape, iterations, node),
                }
            };
            let encoded = Taken {
                parts: encoder.parts(shape),
                cycles: encoder.cycles(shape),
                pj: encoder.encode_pj(shape, node),
            };
            ("ldpc", ldpc.clock_mhz, decoded, encoded)
        }
        catalogue::Code::Bch(of) => {
            let shape = BchShape::of(of);
            let bits = |name, found, usual| within(name, found, usual, 1, 1 << 16);
            let decoder = BchDecoderCircuit {
                syndrome_bits_per_cycle: bits(
                    "syndrome_bits_per_cycle",
                    syndrome_bits_per_cycle,
                    bch.syndrome_bits_per_cycle,
                )?,
                key_equation_multipliers: bits(
                    "key_equation_multipliers",
                    key_equation_multipliers,
                    bch.key_equation_multipliers,
                )?,
                search_bits_per_cycle: bits("search_bits_per_cycle", search_bits_per_cycle, bch.search_bits_per_cycle)?,
            };
            let encoder = BchEncoderCircuit { bits_per_cycle: encoder_bits };
            let decoded = Taken {
                parts: decoder.parts(shape),
                cycles: decoder.cycles(shape).iter().sum(),
                pj: decoder.decode_pj(shape, true, node),
            };
            let encoded = Taken {
                parts: encoder.parts(shape),
                cycles: encoder.cycles(shape),
                pj: encoder.encode_pj(shape, node),
            };
            ("bch", bch.clock_mhz, decoded, encoded)
        }
    };
    let clock_mhz = clock_mhz.unwrap_or(usual_mhz);
    expect_number("clock_mhz", clock_mhz, 1e-3, 1e5).map_err(raise)?;
    let data_bits = code.code.data_bits();
    let dict = PyDict::new(py);
    dict.set_item("code", &code.name)?;
    dict.set_item("kind", kind)?;
    dict.set_item("node_nm", node_nm)?;
    dict.set_item("clock_mhz", clock_mhz)?;
    dict.set_item("decoder", decoder.dict(py, data_bits, clock_mhz, node)?)?;
    dict.set_item("encoder", encoder.dict(py, data_bits, clock_mhz, node)?)?;
    Ok(dict)
}
