//! The circuits of decoders: their number, their parts, and the parallelism that an area buys.

use softsense_base::{Error, Result};
use softsense_ecc::catalogue::Code;
use softsense_ecc::hardware::{BchShape, LdpcShape, Node, Parts};
use softsense_link::ByAge;

use super::CheckedConfig;
use crate::format::UnitCode;
use crate::spec::{BchDecoderSpec, DecodeTime, DecoderPlacement, LdpcDecoderSpec};

/// The decoders of a device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DecoderHardware {
    /// Number of circuits of all SSDs.
    pub count: u64,
    /// Technology node, nm.
    pub node_nm: f64,
    /// Gates and memory of one circuit.
    pub parts: Parts,
    /// Area of one circuit, mm2.
    pub mm2: f64,
}

impl DecoderHardware {
    /// Returns the area of all circuits, mm2.
    pub fn total_mm2(&self) -> f64 {
        self.count as f64 * self.mm2
    }
}

/// Most bits a cycle, or errors of an engine, on which an area is spent: the limit of configs.
const MOST: u32 = 1 << 16;

/// Returns the largest of each parameter over the codes, which determines the size of a circuit.
fn strongest(codes: &[UnitCode]) -> BchShape {
    let most = |of: fn(&UnitCode) -> u32| codes.iter().map(of).max().unwrap_or_default();
    BchShape {
        field_bits: most(|code| code.field_bits),
        correctable: most(|code| code.correctable),
        codeword_bits: most(|code| code.codeword_bits),
    }
}

/// Returns the parts of a decoder of several BCH codes. Whatever it decodes, an engine has the cells that it was built with, registers for
/// the strongest code, and a codeword in each lane.
fn bch_parts(bch: &BchDecoderSpec, codes: &[UnitCode]) -> Parts {
    let (circuit, shape) = (bch.circuit(), strongest(codes));
    let cells = BchShape { correctable: bch.engine_correctable.unwrap_or(shape.correctable), ..shape };
    let held = codes.iter().map(|code| bch.lane(code.correctable).lanes * code.codeword_bits).max();
    let buffer = Parts::memory(held.unwrap_or_default().into());
    circuit.syndromes(cells) + circuit.key_equation(shape) + circuit.search(cells) + buffer
}

/// Finds the largest number from `least` to `most` that fits; none if the least does not.
fn largest_fitting(fits: impl Fn(u32) -> bool, least: u32, most: u32) -> Option<u32> {
    if !fits(least) {
        return None;
    }
    let (mut low, mut high) = (least, most.max(least));
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        (low, high) = if fits(middle) { (middle, high) } else { (low, middle - 1) };
    }
    Some(low)
}

impl CheckedConfig {
    /// Returns the code shapes that the circuit of `decoder.time.ldpc` decodes, by P/E cycles.
    pub fn ldpc_shapes(&self, spec: &LdpcDecoderSpec) -> ByAge<LdpcShape> {
        self.reliability.ldpc_shapes().unwrap_or_else(|| match Code::shipped(&spec.code) {
            Ok(Code::Ldpc(code)) => ByAge::always(LdpcShape::of(&code)),
            _ => unreachable!("the config was checked to name an LDPC code"),
        })
    }

    fn every_ldpc_shape(&self, spec: &LdpcDecoderSpec) -> Vec<LdpcShape> {
        self.ldpc_shapes(spec).iter().copied().collect()
    }

    /// Returns the process node of the decoders.
    pub fn decoder_node(&self) -> Node {
        Node::new("decoder.node_nm", self.config.decoder.node_nm).expect("the config was checked")
    }

    /// Returns the number of circuits of all SSDs.
    fn decoder_count(&self) -> u64 {
        let decoder = &self.config.decoder;
        let pools = match decoder.placement {
            DecoderPlacement::PerChannel(_) => self.geometry.channels(),
            DecoderPlacement::PerSsd(_) => self.geometry.ssds(),
            DecoderPlacement::Pool(_) => 1,
        };
        u64::from(pools) * u64::from(decoder.placement.count()) * u64::from(decoder.codewords_at_once)
    }

    /// Returns the decoders, each with hardware for all codes of `reliability`; none where `decoder.time` is not a circuit.
    pub fn decoder_hardware(&self) -> Option<DecoderHardware> {
        let node = self.decoder_node();
        let parts = match &self.config.decoder.time {
            DecodeTime::FixedUs(_) | DecodeTime::PerIterationUs(_) => return None,
            DecodeTime::Ldpc(ldpc) => ldpc.circuit().parts_for(&self.every_ldpc_shape(ldpc)),
            DecodeTime::Bch(bch) => bch_parts(bch, &self.bch_codes()),
        };
        Some(DecoderHardware { count: self.decoder_count(), node_nm: node.nm(), parts, mm2: parts.mm2(node) })
    }

    /// Returns overrides for [`CheckedConfig::with_overrides`] with which all decoders together take at most `total_mm2`. Their number
    /// stays; each gets the most parallelism that its area allows: checks a cycle (LDPC, up to a block row); errors of an engine or,
    /// without one, bits a cycle (BCH).
    ///
    /// # Errors
    /// Decoders that are not circuits, and an area that does not suffice for the least parallelism.
    pub fn parallelism_of_area(&self, total_mm2: f64) -> Result<Vec<String>> {
        let (node, most_mm2) = (self.decoder_node(), total_mm2 / self.decoder_count() as f64);
        let fits = |parts: Parts| parts.mm2(node) <= most_mm2;
        let (fields, bought): (&[&str], _) = match &self.config.decoder.time {
            DecodeTime::FixedUs(_) | DecodeTime::PerIterationUs(_) => {
                let message = "found decoders whose area is unknown, expected `decoder.time.bch` or \
                               `decoder.time.ldpc`, which describe a circuit, to compare at equal area";
                return Err(Error::config("decoder.time", message));
            }
            DecodeTime::Ldpc(ldpc) => {
                let shapes = self.every_ldpc_shape(ldpc);
                let with = |checks_per_cycle| LdpcDecoderSpec { checks_per_cycle, ..ldpc.clone() };
                let block_row = shapes.iter().map(|shape| shape.checks.div_ceil(shape.layers)).max().unwrap_or(1);
                let fits = |checks| fits(with(checks).circuit().parts_for(&shapes));
                (&["ldpc.checks_per_cycle"], largest_fitting(fits, 1, block_row.min(MOST)))
            }
            DecodeTime::Bch(bch) => {
                let codes = self.bch_codes();
                let fits = |bch: BchDecoderSpec| fits(bch_parts(&bch, &codes));
                if bch.engine_correctable.is_some() {
                    // An engine needs a cell for each error, at one bit a cycle.
                    let bits = bch.syndrome_bits_per_cycle.min(bch.search_bits_per_cycle);
                    let least = strongest(&codes).correctable.div_ceil(bits);
                    let fits = |errors| fits(BchDecoderSpec { engine_correctable: Some(errors), ..*bch });
                    (&["bch.engine_correctable"], largest_fitting(fits, least, MOST))
                } else {
                    let with =
                        |bits| BchDecoderSpec { syndrome_bits_per_cycle: bits, search_bits_per_cycle: bits, ..*bch };
                    let most = strongest(&codes).codeword_bits.min(MOST);
                    let fields = &["bch.syndrome_bits_per_cycle", "bch.search_bits_per_cycle"];
                    (fields, largest_fitting(|bits| fits(with(bits)), 1, most))
                }
            }
        };
        let Some(bought) = bought else {
            let message = format!(
                "found decoders that are larger than {most_mm2:.4} mm2 each even with the least parallelism, \
                 expected fewer decoders, or a reference config with a larger decoder area"
            );
            return Err(Error::config("decoder", message));
        };
        Ok(fields.iter().map(|field| format!("decoder.time.{field}={bought}")).collect())
    }
}
