use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Faults, Result, expect_whole};
use softsense_ecc::catalogue::Code;
use softsense_ecc::hardware::{BchDecoderCircuit, LdpcDecoderCircuit, LdpcShape, Node};

/// The decoders.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DecoderSpec {
    /// The number of decoders, and the channels or SSDs that share them.
    pub placement: DecoderPlacement,
    /// Number of codewords that a decoder decodes at the same time; each takes as long as it would take alone.
    #[schemars(range(min = 1, max = 1 << 20))]
    pub codewords_at_once: u32,
    /// Number of codewords that may wait for the decoders of a channel, an SSD, or the pool. When all these places are taken, the next
    /// codeword keeps its bus until there is room. Without this field there is no bound.
    #[schemars(range(min = 0, max = 1 << 24))]
    pub buffer_codewords: Option<u32>,
    /// If true, codewords that the host waits for are decoded before those of garbage collection, read reclaim and the map.
    pub host_first: bool,
    /// The bypass of codewords with few wrong bits, which go past the decoders. Without this field all codewords are decoded.
    pub bypass: Option<BypassSpec>,
    /// Time of one decode.
    pub time: DecodeTime,
    /// Technology node of the circuits, nm. It sets their area, and their energy where `energy.decoder` is `circuit`.
    #[schemars(range(min = Node::LEAST_NM, max = Node::MOST_NM))]
    pub node_nm: f64,
}

impl Default for DecoderSpec {
    fn default() -> Self {
        Self {
            placement: DecoderPlacement::PerChannel(1),
            codewords_at_once: 1,
            buffer_codewords: None,
            host_first: false,
            bypass: None,
            time: DecodeTime::FixedUs(8.0),
            node_nm: 28.0,
        }
    }
}

/// Codewords that need no decoder: those without errors, as their syndrome shows, or those with few errors, which an inner code corrects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BypassSpec {
    /// Most wrong bits of a codeword that needs no decoder. With 0 only codewords without errors need none.
    #[serde(default)]
    pub errors: u32,
    /// Bits of a codeword in flash, data and parity.
    #[schemars(range(min = 1, max = 1 << 30))]
    pub codeword_bits: u32,
}

/// The number of decoders or encoders, and the channels or SSDs that share them.
///
/// Source: S. Korkotsides, T. Antonakopoulos, "The effect of using multiple code rates on NVM-based storage systems", 2017.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DecoderPlacement {
    /// Number for each channel.
    PerChannel(#[schemars(range(min = 1, max = 1 << 10))] u32),
    /// Number for all channels of an SSD together.
    PerSsd(#[schemars(range(min = 1, max = 1 << 16))] u32),
    /// Number for all channels of all SSDs together.
    Pool(#[schemars(range(min = 1, max = 1 << 20))] u32),
}

impl DecoderPlacement {
    /// The number of decoders or encoders that share a queue.
    pub fn count(self) -> u32 {
        match self {
            DecoderPlacement::PerChannel(count) | DecoderPlacement::PerSsd(count) | DecoderPlacement::Pool(count) => {
                count
            }
        }
    }

    /// Tells whether the decoders or encoders are outside the SSDs.
    pub fn is_outside(self) -> bool {
        matches!(self, DecoderPlacement::Pool(_))
    }

    /// Some words for people.
    ///
    /// # Arguments
    /// - `what`: decoders or encoders.
    pub(super) fn describe(self, what: &str) -> String {
        match self {
            DecoderPlacement::PerChannel(count) => format!("{what} a channel: {count}"),
            DecoderPlacement::PerSsd(count) => format!("{what} an SSD: {count}"),
            DecoderPlacement::Pool(count) => format!("pool of {count} {what}"),
        }
    }
}

/// Time of one decode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DecodeTime {
    /// A fixed time, us.
    FixedUs(f64),
    /// A time for each decoding iteration, us. It needs a decode table with iterations, or real decodes of an LDPC code
    /// (`reliability.exact`).
    PerIterationUs(f64),
    /// The time of a circuit that decodes the codes of `reliability.bch`.
    Bch(BchDecoderSpec),
    /// The time of a circuit that decodes LDPC codes: the cycles that the block rows of the code take, for each
    /// iteration.
    Ldpc(LdpcDecoderSpec),
}

/// A layered min-sum decoder of quasi-cyclic LDPC codes. The codes are those of `reliability`, if that is the table of
/// a shipped code or `exact`.
///
/// Source: D. Hocevar, "A reduced complexity decoder architecture via layered decoding of LDPC codes", 2004.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LdpcDecoderSpec {
    /// Clock of the circuit, MHz.
    #[schemars(range(min = 1e-3, max = 1e5))]
    pub clock_mhz: f64,
    /// Checks of a block row that are processed in one cycle, with all of their bits.
    #[schemars(range(min = 1, max = 1 << 16))]
    pub checks_per_cycle: u32,
    /// Bits of a message, including its sign. They set area and energy, and do not change failure probabilities, which come from
    /// `reliability`.
    #[schemars(range(min = 2, max = 16))]
    pub message_bits: u32,
    /// A shipped LDPC code, for a `reliability` that names no code.
    pub code: String,
}

impl Default for LdpcDecoderSpec {
    fn default() -> Self {
        Self { clock_mhz: 400.0, checks_per_cycle: 64, message_bits: 5, code: "flash-8/9".into() }
    }
}

impl LdpcDecoderSpec {
    /// The circuit.
    pub fn circuit(&self) -> LdpcDecoderCircuit {
        LdpcDecoderCircuit { checks_per_cycle: self.checks_per_cycle, message_bits: self.message_bits }
    }

    /// The time of one iteration, us.
    pub fn iteration_us(&self, shape: LdpcShape) -> f64 {
        self.circuit().iteration_cycles(shape) as f64 / self.clock_mhz
    }

    /// Checks that the code is a shipped LDPC code.
    fn check(&self) -> Result<()> {
        let message = match Code::shipped(&self.code) {
            Ok(Code::Ldpc(_)) => return Ok(()),
            Ok(Code::Bch(_)) => format!("found the BCH code `{}`, expected a shipped LDPC code", self.code),
            Err(error) => error.message().to_owned(),
        };
        Err(Error::config("decoder.time.ldpc.code", message))
    }
}

/// A circuit that decodes BCH codes in three stages: syndromes, key equation, search for roots. A codeword without
/// errors leaves after the first stage.
///
/// Source: S. Lin, D. Costello, "Error Control Coding", 2004, chapter 6, the stages; D. Sarwate, N. Shanbhag, "High-speed
/// architectures for Reed-Solomon decoders", 2001, the key equation without inversions; Y.-M. Lin et al., "A MPCN-based
/// parallel architecture in BCH decoders for NAND flash memory devices", 2011, several bits of syndromes and search a cycle.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BchDecoderSpec {
    /// Clock of the circuit, MHz.
    #[schemars(range(min = 1e-3, max = 1e5))]
    pub clock_mhz: f64,
    /// Bits of the codeword that the syndromes process in one cycle.
    #[schemars(range(min = 1, max = 1 << 16))]
    pub syndrome_bits_per_cycle: u32,
    /// Multipliers for the key equation, which takes 3 (t + 1) products in each of t steps.
    #[schemars(range(min = 1, max = 1 << 16))]
    pub key_equation_multipliers: u32,
    /// Positions of the codeword that the search for roots tries in one cycle.
    #[schemars(range(min = 1, max = 1 << 16))]
    pub search_bits_per_cycle: u32,
    /// Number of errors t that is corrected by the code for which the whole circuit is used. The hardware is then fixed: codewords of
    /// weaker codes are decoded side by side, as many as fit, and those of stronger codes with fewer bits per cycle. Without this field
    /// the hardware grows with the code, and a codeword uses all of it.
    #[schemars(range(min = 1, max = 1 << 16))]
    pub engine_correctable: Option<u32>,
}

impl Default for BchDecoderSpec {
    fn default() -> Self {
        Self {
            clock_mhz: 200.0,
            syndrome_bits_per_cycle: 8,
            key_equation_multipliers: 16,
            search_bits_per_cycle: 8,
            engine_correctable: None,
        }
    }
}

/// The part of a BCH decoder that one codeword uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BchLane {
    /// Codewords of the same code that the decoder decodes at the same time.
    pub lanes: u32,
    /// Bits of the codeword that its syndromes process in one cycle.
    pub syndrome_bits_per_cycle: u32,
    /// Multipliers of the key equation that work for this codeword.
    pub key_equation_multipliers: u32,
    /// Positions of the codeword that are tried in one cycle.
    pub search_bits_per_cycle: u32,
}

impl BchDecoderSpec {
    /// The part of the circuit that a codeword uses, with a code that corrects `correctable` errors.
    ///
    /// Syndromes and search have a cell for each error and each bit of a cycle: in all `engine_correctable` times the bits per cycle. A
    /// codeword uses `correctable` times its own bits per cycle of them. Codewords side by side share the multipliers equally, and each
    /// needs at least one.
    pub fn lane(&self, correctable: u32) -> BchLane {
        let all = BchLane {
            lanes: 1,
            syndrome_bits_per_cycle: self.syndrome_bits_per_cycle,
            key_equation_multipliers: self.key_equation_multipliers,
            search_bits_per_cycle: self.search_bits_per_cycle,
        };
        match self.engine_correctable {
            None => all,
            Some(engine) if engine >= correctable => {
                let lanes = (engine / correctable.max(1)).min(self.key_equation_multipliers);
                BchLane { lanes, key_equation_multipliers: self.key_equation_multipliers / lanes, ..all }
            }
            Some(engine) => {
                let bits = |bits: u32| (u64::from(engine) * u64::from(bits) / u64::from(correctable)).max(1) as u32;
                BchLane {
                    syndrome_bits_per_cycle: bits(self.syndrome_bits_per_cycle),
                    search_bits_per_cycle: bits(self.search_bits_per_cycle),
                    ..all
                }
            }
        }
    }

    /// The circuit.
    pub fn circuit(&self) -> BchDecoderCircuit {
        BchDecoderCircuit {
            syndrome_bits_per_cycle: self.syndrome_bits_per_cycle,
            key_equation_multipliers: self.key_equation_multipliers,
            search_bits_per_cycle: self.search_bits_per_cycle,
        }
    }

    /// The part of the circuit that decodes a codeword of a code that corrects `correctable` errors.
    pub fn lane_circuit(&self, correctable: u32) -> BchDecoderCircuit {
        let lane = self.lane(correctable);
        BchDecoderCircuit {
            syndrome_bits_per_cycle: lane.syndrome_bits_per_cycle,
            key_equation_multipliers: lane.key_equation_multipliers,
            search_bits_per_cycle: lane.search_bits_per_cycle,
        }
    }

    /// Tells whether the circuit has fewer cells than the code corrects errors.
    pub(crate) fn is_too_small_for(&self, correctable: u32) -> bool {
        let least = u64::from(self.syndrome_bits_per_cycle.min(self.search_bits_per_cycle));
        self.engine_correctable.is_some_and(|engine| u64::from(engine) * least < u64::from(correctable))
    }

    /// The times that a codeword of `codeword_bits` bits takes with a code that corrects `correctable` errors, us: the time without
    /// errors, then the time with errors.
    pub fn decode_us(&self, codeword_bits: u32, correctable: u32) -> (f64, f64) {
        let us = |cycles: u64| cycles as f64 / self.clock_mhz;
        let lane = self.lane(correctable);
        let syndromes = u64::from(codeword_bits.div_ceil(lane.syndrome_bits_per_cycle));
        let step = (3 * (correctable + 1)).div_ceil(lane.key_equation_multipliers);
        let search = codeword_bits.div_ceil(lane.search_bits_per_cycle);
        (us(syndromes), us(syndromes + u64::from(correctable) * u64::from(step) + u64::from(search)))
    }
}

impl DecodeTime {
    fn describe(&self) -> String {
        match self {
            DecodeTime::FixedUs(us) => format!("{us} us a decode"),
            DecodeTime::PerIterationUs(us) => format!("{us} us an iteration"),
            DecodeTime::Ldpc(ldpc) => format!(
                "LDPC at {} MHz: {} checks a cycle, {} bits a message",
                ldpc.clock_mhz, ldpc.checks_per_cycle, ldpc.message_bits
            ),
            DecodeTime::Bch(bch) => {
                let engine = bch.engine_correctable.map_or_else(String::new, |correctable| {
                    format!(", of codewords side by side that correct {correctable} errors together")
                });
                format!(
                    "BCH at {} MHz: {} bits of syndromes, {} products, {} places a cycle{engine}",
                    bch.clock_mhz, bch.syndrome_bits_per_cycle, bch.key_equation_multipliers, bch.search_bits_per_cycle
                )
            }
        }
    }
}

impl DecoderSpec {
    /// Checks what fields of this section have to do with one another, and the code.
    pub(super) fn check(&self) -> Result<()> {
        let mut faults = Faults::default();
        if let Some(bypass) = self.bypass {
            faults.see(expect_whole("decoder.bypass.errors", bypass.errors, 0, bypass.codeword_bits));
        }
        if let DecodeTime::Ldpc(ldpc) = &self.time {
            faults.see(ldpc.check());
        }
        faults.end()
    }

    /// A circuit of fixed hardware that codewords of different codes share.
    pub fn engine(&self) -> Option<&BchDecoderSpec> {
        match &self.time {
            DecodeTime::Bch(bch) if bch.engine_correctable.is_some() => Some(bch),
            _ => None,
        }
    }

    /// Some words for people.
    pub(crate) fn describe(&self) -> String {
        let mut text = self.placement.describe("decoders");
        if self.codewords_at_once > 1 {
            text += &format!(" of {} codewords at once", self.codewords_at_once);
        }
        if let Some(BypassSpec { errors, .. }) = self.bypass {
            text += &format!(", none for up to {errors} wrong bits");
        }
        if let Some(codewords) = self.buffer_codewords {
            text += &format!(", buffer of {codewords} codewords");
        }
        if self.host_first {
            text += ", host first";
        }
        format!("{text}, {}", self.time.describe())
    }
}
