//! The configuration of a run: every field, its unit, its default and its check. TOML is for people;
//! the JSON schema is generated from these structs.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use softsense_base::{
    Error, ErrorKind, Result, expect_number, expect_whole, format_bytes, format_count, line_of, shipped_or_file,
};
use softsense_link::{AgedBch, ByAge, ReadSpec, Reliability, ReliabilitySpec};

use crate::events::MAX_INDEX;
use crate::ftl::BlockLayout;
use crate::geometry::{Geometry, MOST_IN_GROUP};
use crate::workload::WorkloadSpec;

/// Changes whenever the same config gives other numbers.
pub const MODEL_VERSION: u32 = 6;

/// Translation pages of a map in flash at most: that of 64 TiB in codewords and pages of 4 KiB. Each is remembered, in 40 bytes.
const MAX_TRANSLATION_PAGES: u64 = 1 << 24;

/// The shipped configs.
const SHIPPED: [(&str, &str); 6] = [
    ("mlc-25nm", include_str!("../../../configs/mlc-25nm.toml")),
    ("mlc-lae", include_str!("../../../configs/mlc-lae.toml")),
    ("mlc-lae-unsqueezed", include_str!("../../../configs/mlc-lae-unsqueezed.toml")),
    ("mlc-lae-worst-case", include_str!("../../../configs/mlc-lae-worst-case.toml")),
    ("mlc-laldpc", include_str!("../../../configs/mlc-laldpc.toml")),
    ("tlc-3d", include_str!("../../../configs/tlc-3d.toml")),
];

/// A whole run but for its trace. The defaults are those of `configs/mlc-25nm.toml`, without its workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(title = "softsense config")]
pub struct Config {
    /// Seed of every random stream. The same seed gives the same run on every CPU.
    pub seed: u64,
    /// How many of everything there are.
    pub geometry: GeometrySpec,
    /// Timing of the flash array.
    pub flash: FlashSpec,
    /// Timing of the channel buses.
    pub bus: BusSpec,
    /// The decoders.
    pub decoder: DecoderSpec,
    /// Whether reads succeed: `"perfect"`, `{ fixed = ... }`, `{ table = ... }`, `{ adaptive = ... }`, `{ bch = ... }` or
    /// `{ exact = ... }`.
    pub reliability: ReliabilitySpec,
    /// How reads are done.
    pub read: ReadSpec,
    /// The flash translation layer and its garbage collection.
    pub ftl: FtlSpec,
    /// What operations cost.
    pub energy: EnergySpec,
    /// How requests are issued, and the controller's memory.
    pub host: HostSpec,
    /// The state the device starts in.
    pub precondition: PreconditionSpec,
    /// The synthetic workload that is run when no trace is given.
    pub workload: Option<WorkloadSpec>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            seed: 1,
            geometry: GeometrySpec::default(),
            flash: FlashSpec::default(),
            bus: BusSpec::default(),
            decoder: DecoderSpec::default(),
            reliability: ReliabilitySpec::default(),
            read: ReadSpec::default(),
            ftl: FtlSpec::default(),
            energy: EnergySpec::default(),
            host: HostSpec::default(),
            precondition: PreconditionSpec::default(),
            workload: None,
        }
    }
}

/// How many SSDs, channels, chips, dies, planes, blocks and pages there are, and how large a codeword is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GeometrySpec {
    /// SSDs behind one controller, 1 to 256, each with all of what follows.
    pub ssds: u32,
    /// Channels, each with one bus, 1 to 1024.
    pub channels: u32,
    /// Chips on a channel, 1 to 1024.
    pub chips_per_channel: u32,
    /// Dies in a chip, 1 to 64.
    pub dies_per_chip: u32,
    /// Planes in a die, 1 to 64.
    pub planes_per_die: u32,
    /// Blocks in a plane, 1 to 16777216.
    pub blocks_per_plane: u32,
    /// Pages in a block, 1 to 32768.
    pub pages_per_block: u32,
    /// Codewords in a page, 1 to 16.
    pub codewords_per_page: u32,
    /// User data of a codeword, bytes: the unit that the FTL maps. A multiple of 512.
    pub codeword_bytes: u32,
}

impl Default for GeometrySpec {
    fn default() -> Self {
        Self {
            ssds: 1,
            channels: 8,
            chips_per_channel: 8,
            dies_per_chip: 2,
            planes_per_die: 4,
            blocks_per_plane: 2048,
            pages_per_block: 64,
            codewords_per_page: 1,
            codeword_bytes: 4096,
        }
    }
}

/// Timing of the flash array.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FlashSpec {
    /// The kinds of page; page i of a block is of kind i modulo their number. Where `reliability` has threshold voltages
    /// there is one, or one for each page of a wordline: of MLC lower and upper, of TLC lower, centre and upper.
    pub page_types: Vec<PageTypeSpec>,
    /// Erase time of a block, us.
    pub erase_us: f64,
    /// How long a RESET that cuts a sensing short occupies the plane, us.
    pub reset_us: f64,
    /// Whether a plane can sense while its last page waits for the bus. Policies that look ahead are refused
    /// without it. Planes of a die that take turns share one.
    pub cache_register: bool,
    /// What does one thing at a time: a plane, or a whole die.
    pub busy_unit: BusyUnit,
    /// Operations that may wait for a plane, or die. While more do where the next request wants to read, or will write first, it
    /// waits at the host, and all behind it. Without it there is no bound.
    pub unit_queue: Option<u32>,
}

impl Default for FlashSpec {
    fn default() -> Self {
        let lower = PageTypeSpec { name: "lower".into(), ..PageTypeSpec::default() };
        let upper =
            PageTypeSpec { name: "upper".into(), sense_us: 55.0, program_us: 1450.0, ..PageTypeSpec::default() };
        Self {
            page_types: vec![lower, upper],
            erase_us: 3240.0,
            reset_us: 0.0,
            cache_register: true,
            busy_unit: BusyUnit::Plane,
            unit_queue: None,
        }
    }
}

/// A kind of page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PageTypeSpec {
    /// Such as lower, upper.
    pub name: String,
    /// Sensing with hard decision, us.
    pub sense_us: f64,
    /// Sensing one extra level, us.
    pub sense_extra_level_us: f64,
    /// Programming, us.
    pub program_us: f64,
    /// Factor on the raw bit error rate; matters with `reliability.table` and `reliability.exact`.
    pub rber_factor: f64,
}

impl Default for PageTypeSpec {
    fn default() -> Self {
        Self { name: "page".into(), sense_us: 41.0, sense_extra_level_us: 14.0, program_us: 121.0, rber_factor: 1.0 }
    }
}

/// What does one array operation at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BusyUnit {
    /// Planes work independently of one another.
    Plane,
    /// Planes of a die take turns.
    Die,
}

/// Timing of the channel buses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BusSpec {
    /// Transfer of one codeword, as hard decisions or to be programmed, us.
    pub transfer_us: f64,
    /// Transfer of what one extra level adds to a codeword, us.
    pub transfer_extra_level_us: f64,
}

impl Default for BusSpec {
    fn default() -> Self {
        Self { transfer_us: 20.0, transfer_extra_level_us: 10.0 }
    }
}

/// The decoders.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DecoderSpec {
    /// Whom they serve.
    pub placement: DecoderPlacement,
    /// Codewords that a decoder has in work at once, each for as long as it would take alone.
    pub codewords_at_once: u32,
    /// Codewords that may wait for the decoders of a channel, or for those of the pool. When so many do, the next one keeps
    /// its bus until there is room. Without it there is no bound.
    pub buffer_codewords: Option<u32>,
    /// Codewords with so few wrong bits need no decoder.
    pub bypass: Option<BypassSpec>,
    /// How long one decode takes.
    pub time: DecodeTime,
}

/// Codewords that need no decoder: those without errors, which their syndrome tells, or with few, which an inner code corrects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BypassSpec {
    /// Wrong bits at most, 0 for none.
    #[serde(default)]
    pub errors: u32,
    /// Bits of a codeword in flash, data and parity.
    pub codeword_bits: u32,
}

impl Default for DecoderSpec {
    fn default() -> Self {
        Self {
            placement: DecoderPlacement::PerChannel(1),
            codewords_at_once: 1,
            buffer_codewords: None,
            bypass: None,
            time: DecodeTime::FixedUs(8.0),
        }
    }
}

/// Whom decoders serve.
///
/// Source: S. Korkotsides, T. Antonakopoulos, "The effect of using multiple code rates on NVM-based storage systems", 2017.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DecoderPlacement {
    /// So many for each channel, 1 to 1024.
    PerChannel(u32),
    /// So many for all channels of an SSD, 1 to 65536.
    PerSsd(u32),
    /// So many for all channels of all SSDs, 1 to 1048576.
    Pool(u32),
}

impl DecoderPlacement {
    /// The name in configs.
    fn name(self) -> &'static str {
        match self {
            DecoderPlacement::PerChannel(_) => "per_channel",
            DecoderPlacement::PerSsd(_) => "per_ssd",
            DecoderPlacement::Pool(_) => "pool",
        }
    }

    /// Decoders that have a queue in common.
    fn count(self) -> u32 {
        match self {
            DecoderPlacement::PerChannel(count) | DecoderPlacement::PerSsd(count) | DecoderPlacement::Pool(count) => {
                count
            }
        }
    }
}

impl DecoderSpec {
    /// Channels whose decoders have a queue in common, and how many codewords those have in work at most.
    pub(crate) fn pool(&self, geometry: &Geometry) -> (u32, u32) {
        let channels = match self.placement {
            DecoderPlacement::PerChannel(_) => 1,
            DecoderPlacement::PerSsd(_) => geometry.channels() / geometry.ssds(),
            DecoderPlacement::Pool(_) => geometry.channels(),
        };
        (channels, self.placement.count() * self.codewords_at_once)
    }
}

/// How long one decode takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DecodeTime {
    /// Always the same, us.
    FixedUs(f64),
    /// For each decoding iteration, us. The decode table must know the iterations, or an LDPC code be decoded really.
    PerIterationUs(f64),
    /// That of a circuit which decodes the codes of `reliability.bch`.
    Bch(BchDecoderSpec),
}

/// A circuit that decodes BCH codes, one stage after the other: syndromes, key equation, search for roots. A codeword without
/// errors leaves after the first.
///
/// Source: S. Lin, D. Costello, "Error Control Coding", 2004, chapter 6, the stages; D. Sarwate, N. Shanbhag, "High-speed
/// architectures for Reed-Solomon decoders", 2001, the key equation without inversions; Y.-M. Lin et al., "A MPCN-based
/// parallel architecture in BCH decoders for NAND flash memory devices", 2011, several bits of syndromes and search a cycle.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BchDecoderSpec {
    /// Its clock, MHz.
    pub clock_mhz: f64,
    /// Bits of the codeword that all syndromes take in a cycle.
    pub syndrome_bits_per_cycle: u32,
    /// Multipliers of the key equation, which takes 3 (t + 1) products in each of t steps.
    pub key_equation_multipliers: u32,
    /// Places of the codeword that are tried in a cycle.
    pub search_bits_per_cycle: u32,
}

impl Default for BchDecoderSpec {
    fn default() -> Self {
        Self { clock_mhz: 200.0, syndrome_bits_per_cycle: 8, key_equation_multipliers: 16, search_bits_per_cycle: 8 }
    }
}

impl BchDecoderSpec {
    /// How long a codeword of `codeword_bits` bits takes, with a code that corrects `correctable` errors: without any error, and
    /// with some, us.
    pub fn decode_us(&self, codeword_bits: u32, correctable: u32) -> (f64, f64) {
        let us = |cycles: u64| cycles as f64 / self.clock_mhz;
        let syndromes = u64::from(codeword_bits.div_ceil(self.syndrome_bits_per_cycle));
        let step = (3 * (correctable + 1)).div_ceil(self.key_equation_multipliers);
        let search = codeword_bits.div_ceil(self.search_bits_per_cycle);
        (us(syndromes), us(syndromes + u64::from(correctable) * u64::from(step) + u64::from(search)))
    }

    fn check(&self) -> Result<()> {
        expect_number("decoder.time.bch.clock_mhz", self.clock_mhz, 1e-3, 1e5)?;
        for (field, found) in [
            ("syndrome_bits_per_cycle", self.syndrome_bits_per_cycle),
            ("key_equation_multipliers", self.key_equation_multipliers),
            ("search_bits_per_cycle", self.search_bits_per_cycle),
        ] {
            expect_whole(format!("decoder.time.bch.{field}"), found, 1, 1 << 16)?;
        }
        Ok(())
    }
}

/// A code of `reliability.bch` on a device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UnitCode {
    /// P/E cycles of a block up to which it uses the code.
    pub to_pe_cycles: u32,
    /// Data of a codeword, bytes.
    pub codeword_bytes: u32,
    /// Errors that it corrects.
    pub correctable: u32,
    /// m: the code is over GF(2^m).
    pub field_bits: u32,
    /// Bits of a codeword, data and parity.
    pub codeword_bits: u32,
    /// Parity of a codeword, bytes.
    pub parity_bytes: u32,
    /// Codewords of a mapping unit.
    pub codewords_per_unit: u32,
    /// Of the data space of each unit of a page, what parity and metadata take that exceeds the out-of-band area, bytes.
    pub squeezed_bytes: u32,
    /// Mapping units of a block.
    pub units_per_block: u32,
    /// Transfer of a codeword, us.
    pub transfer_us: f64,
    /// Decoding of a codeword with errors, us.
    pub decode_us: f64,
    /// Decoding of a codeword without, us.
    pub decode_without_errors_us: f64,
}

/// Bytes of a logical unit's number, in the out-of-band area of each unit.
const LUN_BYTES: u32 = 4;

/// Metadata of a page whose units cross pages, bytes: for each physical unit the numbers of two logical units and the length
/// of the first, and for the page the number of the physical unit that goes on. 24 bytes for two units.
///
/// Source: LAE-FTL, section III.B.
fn metadata_bytes(units: u32) -> u32 {
    units * (2 * LUN_BYTES + 2) + 4
}

/// The flash translation layer and its garbage collection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FtlSpec {
    /// Share of the physical capacity kept from the user, above 0 and below 1. It must leave each plane the
    /// high watermark and three blocks more, and what pages of several codewords may hold in vain.
    pub over_provisioning: f64,
    /// What consecutive page writes go to in turn, fastest first: each level once.
    pub stripe: [StripeLevel; 4],
    /// Whether codewords are divided among chips.
    pub interleaving: InterleavingSpec,
    /// Where the map is.
    pub mapping: Mapping,
    /// Garbage collection of a plane begins when it has fewer free blocks than this.
    pub gc_low_watermark_blocks: u32,
    /// Garbage collection of a plane ends when it has this many free blocks.
    pub gc_high_watermark_blocks: u32,
    /// Static wear levelling: when blocks of a plane differ by more erases than this, garbage collection takes the least worn
    /// of them, whatever it holds, every other time. Without it there is none.
    pub wear_levelling_spread: Option<u32>,
}

impl Default for FtlSpec {
    fn default() -> Self {
        use StripeLevel::{Channel, Chip, Die, Plane};
        Self {
            over_provisioning: 0.15,
            stripe: [Channel, Chip, Die, Plane],
            interleaving: InterleavingSpec::default(),
            mapping: Mapping::Page,
            gc_low_watermark_blocks: 3,
            gc_high_watermark_blocks: 4,
            wear_levelling_spread: None,
        }
    }
}

/// Where the map from logical codewords to places is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mapping {
    /// All of it in the controller's memory.
    Page,
    /// In translation pages in flash, with the entries in use in a cache (DFTL).
    Demand(DemandSpec),
}

/// A demand-based FTL: the map in flash, and a cache of its entries.
///
/// Source: A. Gupta, Y. Kim, B. Urgaonkar, "DFTL", ASPLOS 2009; read levels and eviction by level: Y. Du et al., "LaLDPC",
/// MSST 2017.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DemandSpec {
    /// Size of the mapping cache, bytes.
    pub cache_bytes: u64,
    /// Size of an entry in the cache and in translation pages, bytes.
    pub entry_bytes: u32,
    /// Which entry goes when another is needed.
    pub eviction: Eviction,
    /// Whether an entry remembers the level at which its codeword was last read, from which the next read starts.
    pub remember_levels: bool,
    /// After so many reads that succeeded at once at the remembered level, one level less is tried; 0 for never, as in the
    /// paper.
    pub lower_after_reads: u32,
    /// Whether the directory of translation pages, which is always at hand, remembers a level for each of them, too. The paper
    /// does not.
    pub remember_translation_levels: bool,
}

impl Default for DemandSpec {
    fn default() -> Self {
        Self {
            cache_bytes: 65_536,
            entry_bytes: 8,
            eviction: Eviction::Lru,
            remember_levels: false,
            lower_after_reads: 0,
            remember_translation_levels: false,
        }
    }
}

impl DemandSpec {
    /// Entries of the cache.
    pub fn capacity(&self) -> u32 {
        (self.cache_bytes / u64::from(self.entry_bytes)).min(u64::from(u32::MAX)) as u32
    }
}

/// Which entry of the mapping cache goes when another is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Eviction {
    /// The least recently used.
    Lru,
    /// The least recently used of those that were used once only; entries used again are protected, up to a number, beyond
    /// which the least recently used of them counts as used once.
    SegmentedLru {
        /// Protected entries at most.
        protected_entries: u32,
    },
    /// The least recently used of the lowest read level (LaLDPC, algorithm 1).
    LowestLevel {
        /// Most recently used entries that are spared.
        fixed_entries: u32,
    },
}

/// Data placement interleaving: n codewords are divided among pages of n chips, an n-th of each codeword in each page, so that
/// a codeword meets the mean of their raw bit error rates. Reading one codeword senses n pages.
///
/// Source: K. Zhao et al., "LDPC-in-SSD", FAST 2013, section 3.3.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct InterleavingSpec {
    /// n: a divisor of the number of chips, 1 for no interleaving. Groups take chips that follow one another in the stripe;
    /// their blocks are written, collected and erased together, as a superblock.
    pub ways: u32,
    /// What becomes of codewords of a request that do not fill a group.
    pub remainder: Remainder,
    /// Which groups of chips interleave.
    pub groups: InterleavedGroups,
}

impl Default for InterleavingSpec {
    fn default() -> Self {
        Self { ways: 1, remainder: Remainder::Plain, groups: InterleavedGroups::All }
    }
}

/// What becomes of codewords of a request that do not fill a group: a lone codeword, or an update of part of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Remainder {
    /// Each is written whole to a page of one chip, in blocks apart. Garbage collection, which has many codewords at hand,
    /// interleaves them when it moves them.
    Plain,
    /// They are interleaved at once; the rest of their group stays empty until garbage collection.
    Pad,
}

/// Which groups of chips interleave.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InterleavedGroups {
    /// All.
    All,
    /// Those with a chip whose factor on the raw bit error rate is above this.
    WithChipFactorAbove(f64),
}

/// What operations cost, uJ. Those of pages are for a whole page, those of codewords for one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EnergySpec {
    /// Sensing a page with hard decision.
    pub sense_uj: f64,
    /// Sensing one extra level of a page. A sensing that a RESET cuts short costs what its time is of the whole.
    pub sense_extra_level_uj: f64,
    /// Transfer of a codeword to the controller, as hard decisions.
    pub transfer_uj: f64,
    /// Transfer of what one extra level adds to a codeword.
    pub transfer_extra_level_uj: f64,
    /// Programming a page, its way over the bus included.
    pub program_uj: f64,
    /// Erasing a block.
    pub erase_uj: f64,
    /// One attempt to decode a codeword.
    pub decode_uj: f64,
}

impl Default for EnergySpec {
    fn default() -> Self {
        Self {
            sense_uj: 2.4,
            sense_extra_level_uj: 0.7,
            transfer_uj: 3.7,
            transfer_extra_level_uj: 1.85,
            program_uj: 52.0,
            erase_uj: 150.0,
            decode_uj: 0.8,
        }
    }
}

/// A level of parallelism.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StripeLevel {
    /// Channels.
    Channel,
    /// Chips of a channel.
    Chip,
    /// Dies of a chip.
    Die,
    /// Planes of a die.
    Plane,
}

/// How requests are issued, and the controller's memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HostSpec {
    /// When requests are issued.
    pub issue: Issue,
    /// Requests inside the device at once; further ones wait at the host, and the wait counts.
    pub max_outstanding: u32,
    /// Whether a plane serves waiting host reads before waiting programs and erases. Reads of garbage
    /// collection wait with the programs either way.
    pub reads_first: bool,
    /// Which of several SSDs a codeword is on.
    pub spread: Spread,
    /// What a write that covers a mapped codeword in part does.
    pub partial_write: PartialWrite,
    /// Write buffer in the controller, bytes; 0 for none. With it a write completes when the buffer has it.
    /// What fills a page is programmed at once, so that the buffer absorbs bursts rather than overwrites.
    pub write_buffer_bytes: u64,
    /// Moving a codeword between host and controller memory, us: buffered writes, and reads of data that is
    /// there. Codewords of a request follow one another.
    pub controller_memory_us: f64,
}

impl Default for HostSpec {
    fn default() -> Self {
        Self {
            issue: Issue::OpenLoop { time_scale: 1.0 },
            max_outstanding: 65_536,
            reads_first: true,
            spread: Spread::RoundRobin,
            partial_write: PartialWrite::ReadModifyWrite,
            write_buffer_bytes: 0,
            controller_memory_us: 1.0,
        }
    }
}

/// Which of several SSDs a codeword is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Spread {
    /// Consecutive codewords are on consecutive SSDs.
    RoundRobin,
    /// Each SSD has an equal part of the address space.
    Address,
}

/// When requests are issued.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Issue {
    /// At their recorded times, multiplied by `time_scale` (0.5 doubles the load).
    OpenLoop {
        /// Factor on arrival times.
        time_scale: f64,
    },
    /// As soon as fewer than `queue_depth` are outstanding; recorded times are not looked at.
    ClosedLoop {
        /// Requests outstanding.
        queue_depth: u32,
    },
}

/// What a write that covers a mapped codeword in part does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PartialWrite {
    /// The old codeword is read, through error correction, before the new one is programmed.
    ReadModifyWrite,
    /// The codeword is programmed as if it had been covered whole.
    Pad,
}

/// The state the device starts in, set directly: it costs no simulated operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PreconditionSpec {
    /// Share of the user capacity that has been written, 0 to 1.
    pub mapped_fraction: f64,
    /// How the data lies.
    pub layout: Layout,
    /// Program/erase cycles that every block has behind it; matters with `reliability.table` and `reliability.exact`.
    pub pe_cycles: u32,
    /// Age of the data, days; matters with `reliability.table` and `reliability.exact`.
    pub retention_days: f64,
}

impl Default for PreconditionSpec {
    fn default() -> Self {
        Self { mapped_fraction: 1.0, layout: Layout::Sequential, pe_cycles: 10_000, retention_days: 30.0 }
    }
}

/// How preconditioned data lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// As one sequential pass over the address space leaves it; the over-provisioned blocks are free.
    Sequential,
    /// As endless uniform overwriting under greedy garbage collection leaves it: stale pages in most
    /// blocks, free blocks at the watermark.
    SteadyState,
}

/// A config that has passed every check, with the directory its relative paths are taken from.
#[derive(Debug, Clone)]
pub struct CheckedConfig {
    config: Config,
    directory: PathBuf,
    geometry: Geometry,
    reliability: Reliability,
}

impl CheckedConfig {
    /// Opens a shipped config by name, or a file; `overrides` as in [`CheckedConfig::from_toml`].
    ///
    /// # Errors
    /// When there is no such config, and those of `from_toml`.
    pub fn open(name_or_path: &str, overrides: &[String]) -> Result<Self> {
        let (text, origin) = shipped_or_file(&SHIPPED, name_or_path, Path::new(""), ErrorKind::Io, "a config file")?;
        Self::from_toml(&text, &origin, overrides)
    }

    /// Reads and checks a config. `origin` is its file, for messages and relative paths. `overrides`
    /// are `path=value` with a TOML value (a bare word is taken as a string).
    ///
    /// # Errors
    /// Names the file and line, or the config path, what was found and what was expected.
    pub fn from_toml(text: &str, origin: &str, overrides: &[String]) -> Result<Self> {
        let at_line = |span: Option<std::ops::Range<usize>>| {
            format!("{origin}:{}", span.map_or(1, |span| line_of(text, span.start)))
        };
        // First as any TOML: an integer that a field could hold may be beyond what TOML has.
        let mut table: toml::Table = toml::from_str(text).map_err(|error: toml::de::Error| {
            Error::config(at_line(error.span()), error.message().replace('\n', " "))
        })?;
        let deserializer = toml::Deserializer::parse(text).expect("it has just been parsed");
        let mut config: Config = serde_path_to_error::deserialize(deserializer).map_err(|error| {
            let path = error.path().to_string();
            let inner = error.into_inner();
            Error::config(format!("{}: {path}", at_line(inner.span())), inner.message().replace('\n', " "))
        })?;
        if !overrides.is_empty() {
            for text in overrides {
                set(&mut table, text)?;
            }
            config = serde_path_to_error::deserialize(toml::Value::Table(table)).map_err(|error| {
                let path = error.path().to_string();
                Error::config(format!("--set {path}"), error.into_inner().message().replace('\n', " "))
            })?;
        }
        let directory = Path::new(origin).parent().map(Path::to_owned).unwrap_or_default();
        Self::new(config, directory)
            .map_err(|error| Error::new(error.kind(), format!("{origin}: {}", error.place()), error.message()))
    }

    /// Checks a config; relative paths in it are taken from `directory`.
    pub fn new(config: Config, directory: PathBuf) -> Result<Self> {
        let geometry = Geometry::new(&config.geometry, &config.flash, &config.ftl)?;
        let reliability = Reliability::new(&config.reliability, config.seed, &directory)?;
        let checked = Self { config, directory, geometry, reliability };
        checked.check()?;
        Ok(checked)
    }

    /// The same config with some values replaced (see [`CheckedConfig::from_toml`]).
    pub fn with_overrides(&self, overrides: &[String]) -> Result<Self> {
        let origin = self.directory.join("config");
        Self::from_toml(&self.to_toml(), &origin.display().to_string(), overrides).map_err(|error| {
            Error::new(error.kind(), error.place().replace(&*origin.display().to_string(), "--set"), error.message())
        })
    }

    /// The config itself.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The shape of the device.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The reliability of its codewords.
    pub fn reliability(&self) -> &Reliability {
        &self.reliability
    }

    /// The synthetic workload.
    ///
    /// # Errors
    /// When the config has none.
    pub fn workload(&self) -> Result<&WorkloadSpec> {
        self.config
            .workload
            .as_ref()
            .ok_or_else(|| Error::config("workload", "missing, expected a [workload] section, or a trace to replay"))
    }

    /// Label and value rows of the synthetic workload, for people.
    ///
    /// # Errors
    /// When the config has none, or it does not fit the device.
    pub fn describe_workload(&self) -> Result<Vec<(String, String)>> {
        let workload = self.workload()?;
        workload.source(self.config.seed, self.user_bytes())?;
        Ok(workload.describe())
    }

    /// Codewords the user can address.
    pub fn user_codewords(&self) -> u64 {
        let ssds = u64::from(self.geometry.ssds());
        let blocks = self.geometry.codewords() / u64::from(self.geometry.codewords_per_block());
        let of_ssd = blocks * u64::from(self.layouts().at(|| 0).codewords()) / ssds;
        (of_ssd as f64 * (1.0 - self.config.ftl.over_provisioning)).floor() as u64 * ssds
    }

    /// Codewords that the write buffer has room for.
    pub fn write_buffer_codewords(&self) -> u64 {
        self.config.host.write_buffer_bytes / u64::from(self.config.geometry.codeword_bytes)
    }

    /// Where the codewords of a block lie, by its erases since the start of the run.
    pub fn layouts(&self) -> ByAge<BlockLayout> {
        let (pages, per_page) = (self.geometry.pages_per_block(), self.geometry.codewords_per_page());
        let start = self.config.precondition.pe_cycles;
        match &self.config.reliability {
            ReliabilitySpec::Adaptive(adaptive) => {
                let layout = |units| BlockLayout::whole(pages, units);
                ByAge::new(adaptive.rates.iter().map(|rate| (rate.to_pe_cycles, layout(rate.units)))).since(start)
            }
            ReliabilitySpec::Bch(bch) => {
                let codes = self.reliability.bch_codes();
                let layout = |code: &AgedBch| self.layout(self.squeezed_bytes(bch.oob_bytes, code));
                ByAge::new(codes.iter().map(|code| (code.to_pe_cycles, layout(code)))).since(start)
            }
            _ => ByAge::always(BlockLayout::whole(pages, per_page)),
        }
    }

    /// Where units lie in a block whose pages lack so much of the data space of each.
    fn layout(&self, squeezed_bytes: u32) -> BlockLayout {
        let (pages, per_page) = (self.geometry.pages_per_block(), self.geometry.codewords_per_page());
        let unit = self.config.geometry.codeword_bytes;
        match squeezed_bytes {
            0 => BlockLayout::whole(pages, per_page),
            _ => BlockLayout::packed(pages, per_page, unit, per_page * (unit - squeezed_bytes)),
        }
    }

    /// What parity and metadata of a unit exceed its share of the out-of-band area by.
    fn squeezed_bytes(&self, oob_bytes: u32, code: &AgedBch) -> u32 {
        let units = self.geometry.codewords_per_page();
        let parity = self.config.geometry.codeword_bytes / code.codeword_bytes * code.parity_bytes();
        if parity + LUN_BYTES <= oob_bytes {
            return 0;
        }
        (parity + metadata_bytes(units).div_ceil(units)).saturating_sub(oob_bytes)
    }

    /// The codes of `reliability.bch` on this device, in the order of their ages; none with any other reliability.
    pub fn bch_codes(&self) -> Vec<UnitCode> {
        let ReliabilitySpec::Bch(bch) = &self.config.reliability else { return Vec::new() };
        let unit = self.config.geometry.codeword_bytes;
        let code = |aged: &AgedBch| {
            let (bits, correctable) = (aged.code.codeword_bits() as u32, aged.code.correctable() as u32);
            let squeezed_bytes = self.squeezed_bytes(bch.oob_bytes, aged);
            let (clean, decode_us) = match self.config.decoder.time {
                DecodeTime::Bch(decoder) => decoder.decode_us(bits, correctable),
                DecodeTime::FixedUs(us) | DecodeTime::PerIterationUs(us) => (us, us),
            };
            UnitCode {
                to_pe_cycles: aged.to_pe_cycles,
                codeword_bytes: aged.codeword_bytes,
                correctable,
                field_bits: aged.code.field_bits(),
                codeword_bits: bits,
                parity_bytes: aged.parity_bytes(),
                codewords_per_unit: unit / aged.codeword_bytes,
                squeezed_bytes,
                units_per_block: self.layout(squeezed_bytes).codewords(),
                transfer_us: self.byte_us() * f64::from(aged.codeword_bytes + aged.parity_bytes()),
                decode_us,
                decode_without_errors_us: clean,
            }
        };
        self.reliability.bch_codes().iter().map(code).collect()
    }

    /// Transfer of a byte, us: `bus.transfer_us` is that of a unit and its share of the out-of-band area.
    pub(crate) fn byte_us(&self) -> f64 {
        let oob = match &self.config.reliability {
            ReliabilitySpec::Bch(bch) => bch.oob_bytes,
            _ => 0,
        };
        self.config.bus.transfer_us / f64::from(self.config.geometry.codeword_bytes + oob)
    }

    /// Codewords of translation pages; none if the whole map is in memory.
    pub fn translation_codewords(&self) -> u64 {
        match self.config.ftl.mapping {
            Mapping::Page => 0,
            Mapping::Demand(demand) => {
                self.user_codewords().div_ceil(u64::from(self.config.geometry.codeword_bytes / demand.entry_bytes))
            }
        }
    }

    /// Bytes the user can address.
    pub fn user_bytes(&self) -> u64 {
        self.user_codewords() * u64::from(self.config.geometry.codeword_bytes)
    }

    /// The config as TOML, every default filled in.
    pub fn to_toml(&self) -> String {
        toml::to_string_pretty(&self.config).expect("a config is plain data")
    }

    /// The config as JSON, every default filled in.
    pub fn to_json(&self) -> String {
        serde_json::to_string(&self.config).expect("a config is plain data")
    }

    /// Identity of the run: SHA-256 of the resolved config and the model version.
    pub fn sha256(&self) -> String {
        let mut hasher = Sha256::new();
        hasher.update(format!("softsense model {MODEL_VERSION}\n"));
        hasher.update(self.to_json());
        // A table, or a code, is named by a file, whose content may change under the name.
        self.reliability.file_texts().into_iter().for_each(|text| hasher.update(text));
        hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Label and value rows for people.
    pub fn describe(&self) -> Vec<(String, String)> {
        let Config { geometry: g, flash, bus, decoder, read, ftl, host, precondition, .. } = &self.config;
        let page = self.geometry.codewords_per_page() as u64 * u64::from(g.codeword_bytes);
        let page_types = flash.page_types.iter().map(|t| {
            format!("{} {} + {} a level, program {}", t.name, t.sense_us, t.sense_extra_level_us, t.program_us)
        });
        let mut decoders = match decoder.placement {
            DecoderPlacement::PerChannel(count) => format!("decoders a channel: {count}"),
            DecoderPlacement::PerSsd(count) => format!("decoders an SSD: {count}"),
            DecoderPlacement::Pool(count) => format!("pool of {count} decoders"),
        };
        if decoder.codewords_at_once > 1 {
            decoders += &format!(" of {} codewords at once", decoder.codewords_at_once);
        }
        if let Some(BypassSpec { errors, .. }) = decoder.bypass {
            decoders += &format!(", none for up to {errors} wrong bits");
        }
        if let Some(codewords) = decoder.buffer_codewords {
            decoders += &format!(", buffer of {codewords} codewords");
        }
        let decode = match decoder.time {
            DecodeTime::FixedUs(us) => format!("{us} us a decode"),
            DecodeTime::PerIterationUs(us) => format!("{us} us an iteration"),
            DecodeTime::Bch(bch) => format!(
                "BCH at {} MHz: {} bits of syndromes, {} products, {} places a cycle",
                bch.clock_mhz, bch.syndrome_bits_per_cycle, bch.key_equation_multipliers, bch.search_bits_per_cycle
            ),
        };
        let issue = match host.issue {
            Issue::OpenLoop { time_scale } => format!("open loop, time scale {time_scale}"),
            Issue::ClosedLoop { queue_depth } => format!("closed loop, queue depth {queue_depth}"),
        };
        let buffer = match host.write_buffer_bytes {
            0 => "none".into(),
            bytes => format_bytes(bytes),
        };
        let reliability = match &self.config.reliability {
            ReliabilitySpec::Perfect => "perfect: nothing fails at level 1".to_string(),
            ReliabilitySpec::Fixed { p_fail } => format!("failure probability by level {p_fail:?}, then 0"),
            ReliabilitySpec::Table(table) => {
                let about =
                    self.reliability.table().map_or_else(String::new, |table| format!(" ({})", table.describe()));
                let chips = match table.variation.chip_factors.as_slice() {
                    [] => String::new(),
                    factors => format!(", chips {factors:?} of it"),
                };
                format!("decode table {}{about}, at RBER {}{chips}", table.file, table.rber.describe())
            }
            ReliabilitySpec::Adaptive(adaptive) => {
                let rates = adaptive.rates.iter().map(|rate| {
                    format!(
                        "{} ({} units) to {} P/E cycles",
                        rate.file,
                        rate.units,
                        format_count(rate.to_pe_cycles.into())
                    )
                });
                let rates = rates.collect::<Vec<_>>().join(", ");
                format!("code rates by age: {rates}; RBER {}", adaptive.rber.describe())
            }
            ReliabilitySpec::Bch(bch) => {
                let codes = self.bch_codes().into_iter().map(|code| {
                    let squeezed = match code.squeezed_bytes {
                        0 => String::new(),
                        bytes => format!(", {bytes} B squeezed"),
                    };
                    format!(
                        "{} B with {} errors{squeezed} to {} P/E cycles",
                        code.codeword_bytes,
                        code.correctable,
                        format_count(code.to_pe_cycles.into())
                    )
                });
                let how = if bch.exact { ", every read decoded" } else { "" };
                let codes = codes.collect::<Vec<_>>().join("; ");
                format!("BCH codes by age{how}: {codes}; RBER {}", bch.rber.describe())
            }
            ReliabilitySpec::Exact(exact) if self.reliability.knows_iterations() => format!(
                "every read decoded: {} by {} in at most {} iterations, at RBER {}",
                exact.code,
                exact.decoder,
                exact.max_iterations,
                exact.rber.describe()
            ),
            ReliabilitySpec::Exact(exact) => {
                format!("every read decoded: {}, at RBER {}", exact.code, exact.rber.describe())
            }
        };
        let mapping = match ftl.mapping {
            Mapping::Page => None,
            Mapping::Demand(demand) => {
                let eviction = match demand.eviction {
                    Eviction::Lru => "LRU".to_string(),
                    Eviction::SegmentedLru { protected_entries } => {
                        format!("segmented LRU, {protected_entries} protected")
                    }
                    Eviction::LowestLevel { fixed_entries } => format!("lowest level first, {fixed_entries} fixed"),
                };
                let levels = match (demand.remember_levels, demand.remember_translation_levels) {
                    (false, false) => "",
                    (true, false) => ", read levels remembered",
                    (false, true) => ", read levels of translation pages remembered",
                    (true, true) => ", read levels remembered, also of translation pages",
                };
                let (size, entries) = (format_bytes(demand.cache_bytes), demand.capacity());
                Some(("mapping", format!("in flash, cache of {size} for {entries} entries, {eviction}{levels}")))
            }
        };
        let interleaving = &ftl.interleaving;
        let interleaved = (interleaving.ways > 1).then(|| {
            let groups = match interleaving.groups {
                InterleavedGroups::All => "all groups".to_string(),
                InterleavedGroups::WithChipFactorAbove(factor) => format!("groups with a chip above factor {factor}"),
            };
            let remainder = match interleaving.remainder {
                Remainder::Plain => "plain",
                Remainder::Pad => "padded",
            };
            ("interleaving", format!("{}-way, {groups}; what does not fill a group is {remainder}", interleaving.ways))
        });
        let layout = match precondition.layout {
            Layout::Sequential => "sequential",
            Layout::SteadyState => "steady state",
        };
        [
            (
                "device",
                format!(
                    "{} for the user of {} of flash ({:.1} % over-provisioned)",
                    format_bytes(self.user_bytes()),
                    format_bytes(self.geometry.codewords() * u64::from(g.codeword_bytes)),
                    ftl.over_provisioning * 100.0
                ),
            ),
            (
                "geometry",
                format!(
                    "{}{} channels x {} chips x {} dies x {} planes x {} blocks x {} pages of {}, codewords of {}",
                    if g.ssds > 1 { format!("{} SSDs x ", g.ssds) } else { String::new() },
                    g.channels,
                    g.chips_per_channel,
                    g.dies_per_chip,
                    g.planes_per_die,
                    g.blocks_per_plane,
                    g.pages_per_block,
                    format_bytes(page),
                    format_bytes(u64::from(g.codeword_bytes))
                ),
            ),
            ("flash", format!("sense (us): {}; erase {}", page_types.collect::<Vec<_>>().join("; "), flash.erase_us)),
            (
                "bus, decoder",
                format!(
                    "transfer {} + {} us a level a codeword; {decoders}, {decode}",
                    bus.transfer_us, bus.transfer_extra_level_us
                ),
            ),
            ("reliability", reliability),
            ("read", format!("{}, retry {}, levels 1 to {}", read.policy.name(), read.retry.name(), read.max_level)),
            ("host", format!("{issue}; write buffer {buffer}")),
            (
                "start",
                format!(
                    "{:.0} % mapped, {layout}, {} P/E cycles, data {} days old",
                    precondition.mapped_fraction * 100.0,
                    precondition.pe_cycles,
                    precondition.retention_days
                ),
            ),
        ]
        .into_iter()
        .chain(interleaved)
        .chain(mapping)
        .map(|(label, value)| (label.to_string(), value))
        .collect()
    }

    fn check(&self) -> Result<()> {
        let config = &self.config;
        for (index, page_type) in config.flash.page_types.iter().enumerate() {
            let path = |field: &str| format!("flash.page_types[{index}].{field}");
            time(path("sense_us"), page_type.sense_us)?;
            time(path("sense_extra_level_us"), page_type.sense_extra_level_us)?;
            time(path("program_us"), page_type.program_us)?;
            expect_number(path("rber_factor"), page_type.rber_factor, 0.0, 100.0)?;
        }
        if let Some(bound) = config.flash.unit_queue {
            expect_whole("flash.unit_queue", bound, 1, 1 << 24)?;
        }
        time("flash.erase_us", config.flash.erase_us)?;
        time("flash.reset_us", config.flash.reset_us)?;
        time("bus.transfer_us", config.bus.transfer_us)?;
        time("bus.transfer_extra_level_us", config.bus.transfer_extra_level_us)?;
        let decoder = &config.decoder;
        let count = decoder.placement.count();
        let (pools, most) = match decoder.placement {
            DecoderPlacement::PerChannel(_) => (self.geometry.channels(), 1024),
            DecoderPlacement::PerSsd(_) => (self.geometry.ssds(), 1 << 16),
            DecoderPlacement::Pool(_) => (1, 1 << 20),
        };
        expect_whole(format!("decoder.placement.{}", decoder.placement.name()), count, 1, most)?;
        expect_whole("decoder.codewords_at_once", decoder.codewords_at_once, 1, 1 << 20)?;
        // Each has an index in an event.
        let (in_work, most) = ([pools, count, decoder.codewords_at_once], u64::from(MAX_INDEX / 4));
        if in_work.iter().fold(1, |product: u64, &n| product.saturating_mul(n.into())) > most {
            let [pools, count, at_once] = in_work;
            let message =
                format!("found {pools} x {count} x {at_once} codewords in work at once, expected {most} at most");
            return Err(Error::config("decoder", message));
        }
        if let Some(bypass) = decoder.bypass {
            expect_whole("decoder.bypass.codeword_bits", bypass.codeword_bits, 1, 1 << 30)?;
            expect_whole("decoder.bypass.errors", bypass.errors, 0, bypass.codeword_bits)?;
            if !matches!(config.reliability, ReliabilitySpec::Table(_) | ReliabilitySpec::Adaptive(_)) {
                let message =
                    "found without `reliability.table`, expected it: errors are counted by raw bit error rates";
                return Err(Error::config("decoder.bypass", message));
            }
        }
        if let Some(codewords) = decoder.buffer_codewords {
            expect_whole("decoder.buffer_codewords", codewords, 0, 1 << 24)?;
        }
        let reliability = &self.reliability;
        match config.decoder.time {
            DecodeTime::FixedUs(us) => time("decoder.time.fixed_us", us)?,
            DecodeTime::PerIterationUs(us) => {
                time("decoder.time.per_iteration_us", us)?;
                if !reliability.knows_iterations() {
                    let message = "found a time per iteration, but `reliability` does not know the number of iterations: \
                                   expected `fixed_us`, a decode table with `iterations`, or real decodes of an LDPC code";
                    return Err(Error::config("decoder.time", message));
                }
            }
            DecodeTime::Bch(bch) => {
                bch.check()?;
                if !matches!(config.reliability, ReliabilitySpec::Bch(_)) {
                    let message = "found `bch` without `reliability.bch`, expected `fixed_us` or `per_iteration_us`";
                    return Err(Error::config("decoder.time", message));
                }
            }
        }
        self.check_reliability()?;
        config.read.check()?;
        if config.read.max_level > reliability.levels() {
            let message = format!(
                "found {}, expected at most {}, the deepest level of `reliability`",
                config.read.max_level,
                reliability.levels()
            );
            return Err(Error::config("read.max_level", message));
        }
        if config.read.policy.looks_ahead() && !config.flash.cache_register {
            let message = format!(
                "found `{}` with `flash.cache_register = false`; expected a cache register, without which a plane \
                 cannot sense while it transfers",
                config.read.policy.name()
            );
            return Err(Error::config("read.policy", message));
        }
        self.check_ftl()?;
        let EnergySpec {
            sense_uj,
            sense_extra_level_uj,
            transfer_uj,
            transfer_extra_level_uj,
            program_uj,
            erase_uj,
            decode_uj,
        } = config.energy;
        for (field, uj) in [
            ("sense_uj", sense_uj),
            ("sense_extra_level_uj", sense_extra_level_uj),
            ("transfer_uj", transfer_uj),
            ("transfer_extra_level_uj", transfer_extra_level_uj),
            ("program_uj", program_uj),
            ("erase_uj", erase_uj),
            ("decode_uj", decode_uj),
        ] {
            // So that 10^9 operations add up in 64 bits of picojoules.
            expect_number(format!("energy.{field}"), uj, 0.0, 1e4)?;
        }
        match config.host.issue {
            Issue::OpenLoop { time_scale } => expect_number("host.issue.open_loop.time_scale", time_scale, 1e-9, 1e9)?,
            Issue::ClosedLoop { queue_depth } => {
                expect_whole("host.issue.closed_loop.queue_depth", queue_depth, 1, config.host.max_outstanding)?;
            }
        }
        expect_whole("host.max_outstanding", config.host.max_outstanding, 1, MAX_INDEX / 2)?;
        time("host.controller_memory_us", config.host.controller_memory_us)?;
        if config.host.write_buffer_bytes != 0 && self.geometry.ssds() > 1 {
            let message = format!("found {} with several SSDs, expected 0", config.host.write_buffer_bytes);
            return Err(Error::config("host.write_buffer_bytes", message));
        }
        let page_bytes = self.geometry.codewords_per_page() as u64 * u64::from(config.geometry.codeword_bytes);
        if config.host.write_buffer_bytes != 0 && !(page_bytes..=1 << 34).contains(&config.host.write_buffer_bytes) {
            let message = format!(
                "found {}, expected 0 for none, or at least one page of {page_bytes} bytes and at most 16 GiB",
                config.host.write_buffer_bytes
            );
            return Err(Error::config("host.write_buffer_bytes", message));
        }
        expect_number("precondition.mapped_fraction", config.precondition.mapped_fraction, 0.0, 1.0)?;
        expect_number("precondition.retention_days", config.precondition.retention_days, 0.0, 36_500.0)?;
        expect_whole("precondition.pe_cycles", config.precondition.pe_cycles, 0, 10_000_000)?;
        if config.precondition.layout == Layout::SteadyState && config.precondition.mapped_fraction < 1.0 {
            let message = format!(
                "found `steady_state` with mapped_fraction = {}, expected 1.0: endless overwriting maps everything",
                config.precondition.mapped_fraction
            );
            return Err(Error::config("precondition.layout", message));
        }
        config.workload.as_ref().map_or(Ok(()), WorkloadSpec::check)
    }

    /// Whether codewords and pages are those of the flash and the code.
    fn check_reliability(&self) -> Result<()> {
        let Config { reliability, geometry, flash, .. } = &self.config;
        if let (ReliabilitySpec::Exact(exact), Some(data_bits)) = (reliability, self.reliability.data_bits())
            && data_bits as u64 != 8 * u64::from(geometry.codeword_bytes)
        {
            let message = format!(
                "found `{}` with {data_bits} data bits, expected {}: geometry.codeword_bytes is {}",
                exact.code,
                8 * u64::from(geometry.codeword_bytes),
                geometry.codeword_bytes
            );
            return Err(Error::config("reliability.exact.code", message));
        }
        let page_types = flash.page_types.len();
        if let Some(pages) = self.reliability.pages()
            && ![1, pages].contains(&page_types)
        {
            let several =
                if pages > 1 { format!(", or {pages}, one for each page of a wordline") } else { String::new() };
            let message = format!("found {page_types} page types, expected 1 for all cells of `reliability`{several}");
            return Err(Error::config("flash.page_types", message));
        }
        Ok(())
    }

    /// Whether pages have room for what code rates say, and nothing divides or shares a page's codeword otherwise.
    fn check_adaptive(&self) -> Result<()> {
        let ReliabilitySpec::Adaptive(adaptive) = &self.config.reliability else { return Ok(()) };
        for (index, rate) in adaptive.rates.iter().enumerate() {
            let path = format!("reliability.adaptive.rates[{index}].units");
            expect_whole(path, rate.units, 1, self.geometry.codewords_per_page())?;
        }
        self.check_alone_with("reliability.adaptive")
    }

    /// Whether a reliability by age goes without what it cannot go with.
    fn check_alone_with(&self, reliability: &str) -> Result<()> {
        if self.config.ftl.interleaving.ways > 1 {
            let message = format!("found several with `{reliability}`, expected 1");
            return Err(Error::config("ftl.interleaving.ways", message));
        }
        if self.config.ftl.mapping != Mapping::Page {
            let message = format!("found a map in flash with `{reliability}`, expected `page`");
            return Err(Error::config("ftl.mapping", message));
        }
        Ok(())
    }

    /// Whether units are whole codewords, and what crosses pages has a buffer to wait in.
    fn check_bch(&self) -> Result<()> {
        let ReliabilitySpec::Bch(bch) = &self.config.reliability else { return Ok(()) };
        let (unit, units) = (self.config.geometry.codeword_bytes, self.geometry.codewords_per_page());
        let mut crosses_pages = false;
        for (index, aged) in self.reliability.bch_codes().iter().enumerate() {
            let path = |field| format!("reliability.bch.codes[{index}].{field}");
            if !unit.is_multiple_of(aged.codeword_bytes) || unit / aged.codeword_bytes * units > MOST_IN_GROUP {
                let message = format!(
                    "found {}, expected a part of geometry.codeword_bytes, {unit}, of which a page has {MOST_IN_GROUP} at most",
                    aged.codeword_bytes
                );
                return Err(Error::config(path("codeword_bytes"), message));
            }
            let squeezed = self.squeezed_bytes(bch.oob_bytes, aged);
            let most = unit - unit.div_ceil(units);
            if squeezed > most || squeezed > 0 && aged.codeword_bytes != unit {
                let message = format!(
                    "found {}, which takes {squeezed} bytes of each unit; expected at most {}",
                    aged.code.correctable(),
                    if aged.codeword_bytes == unit { format!("{most}") } else { "none with several codewords".into() }
                );
                return Err(Error::config(path("correctable"), message));
            }
            crosses_pages |= squeezed > 0;
        }
        self.check_alone_with("reliability.bch")?;
        // Each plane may have cut a unit, which waits for the next page; what else there is fills pages.
        let least = u64::from(self.geometry.planes() + 2 * units) * u64::from(unit);
        if crosses_pages && self.config.host.write_buffer_bytes < least {
            let message = format!(
                "found {}, expected at least {least}: units that cross pages wait there for their next page",
                self.config.host.write_buffer_bytes
            );
            return Err(Error::config("host.write_buffer_bytes", message));
        }
        Ok(())
    }

    fn check_ftl(&self) -> Result<()> {
        self.check_adaptive()?;
        self.check_bch()?;
        let ftl = &self.config.ftl;
        let over_provisioning = ftl.over_provisioning;
        if !(over_provisioning > 0.0 && over_provisioning < 1.0) {
            let message = format!(
                "found {over_provisioning}, expected a share above 0 and below 1: garbage collection needs room"
            );
            return Err(Error::config("ftl.over_provisioning", message));
        }
        expect_whole("ftl.gc_low_watermark_blocks", ftl.gc_low_watermark_blocks, 2, 1 << 20)?;
        if ftl.gc_high_watermark_blocks < ftl.gc_low_watermark_blocks {
            let message = format!(
                "found {}, expected at least gc_low_watermark_blocks, {}",
                ftl.gc_high_watermark_blocks, ftl.gc_low_watermark_blocks
            );
            return Err(Error::config("ftl.gc_high_watermark_blocks", message));
        }
        if let Some(spread) = ftl.wear_levelling_spread {
            expect_whole("ftl.wear_levelling_spread", spread, 1, 1 << 20)?;
        }
        if let Mapping::Demand(demand) = ftl.mapping {
            expect_whole("ftl.mapping.demand.entry_bytes", demand.entry_bytes, 1, 512)?;
            let (least, most) = (u64::from(demand.entry_bytes), 1 << 34);
            if !(least..=most).contains(&demand.cache_bytes) {
                let message = format!(
                    "found {}, expected one entry of {least} bytes at least, 16 GiB at most",
                    demand.cache_bytes
                );
                return Err(Error::config("ftl.mapping.demand.cache_bytes", message));
            }
        }
        if let InterleavedGroups::WithChipFactorAbove(factor) = ftl.interleaving.groups {
            expect_number("ftl.interleaving.groups.with_chip_factor_above", factor, 0.0, 1e6)?;
        }
        // One block of each plane is open for the host, one for garbage collection, and with interleaving one for what does not
        // fill a group; the free ones up to the high watermark and one block to collect come on top. A block is worth collecting
        // when it has a page's worth (with interleaving, a group's) of stale places: up to one less in each block may have to
        // be left as it is. With so much to spare, some plane always has a block to collect when no plane can be written.
        let blocks = self.config.geometry.blocks_per_plane;
        let plain_too = self.geometry.ways() > 1 && ftl.interleaving.remainder == Remainder::Plain;
        let open = if plain_too { 3 } else { 2_u64 };
        let left = self.geometry.codewords_per_group() - 1;
        // Where units cross pages, two pages' worth.
        let crosses_pages = self.layouts().iter().any(BlockLayout::crosses_pages);
        let left = if crosses_pages { 2 * self.geometry.codewords_per_page() } else { left };
        let in_vain = u64::from(blocks) * u64::from(left);
        let in_vain = in_vain.div_ceil(u64::from(self.geometry.codewords_per_superblock()));
        // Translation pages, each in a page of its own, take blocks of their own, of which two are open, and one more may be
        // as good as stale.
        let in_sets = u64::from(self.geometry.sets()) * u64::from(self.geometry.pages_per_superblock());
        let translation = match self.translation_codewords() {
            0 => 0,
            codewords if codewords > MAX_TRANSLATION_PAGES => {
                let message =
                    format!("found a map of {codewords} translation pages, expected at most {MAX_TRANSLATION_PAGES}");
                return Err(Error::config("ftl.mapping.demand.entry_bytes", message));
            }
            codewords => codewords.div_ceil(in_sets) + 3,
        };
        let free = u64::from(ftl.gc_high_watermark_blocks);
        let needed = free + open + 1 + in_vain + translation;
        let blocks = f64::from(blocks);
        if over_provisioning * blocks < needed as f64 {
            let message = format!(
                "found {over_provisioning}, which leaves {:.1} spare blocks of {blocks} in a plane; expected at least {}, \
                 which leaves {needed}: {} free ones, {open} open ones, one to collect, {in_vain} for pages that stay \
                 filled in part and {translation} for translation pages",
                over_provisioning * blocks,
                (needed as f64 / blocks * 1e4).ceil() / 1e4,
                free
            );
            return Err(Error::config("ftl.over_provisioning", message));
        }
        Ok(())
    }
}

/// The JSON schema of [`Config`].
pub fn schema() -> String {
    let schema = schemars::schema_for!(Config);
    serde_json::to_string_pretty(&schema).expect("a schema is plain data") + "\n"
}

/// Fields that are one of several things with fields of their own: setting a field of one of these chooses it.
const CHOICES: [&str; 14] = [
    "decoder.placement",
    "decoder.time",
    "ftl.interleaving.groups",
    "ftl.mapping",
    "ftl.mapping.demand.eviction",
    "host.issue",
    "reliability",
    "reliability.adaptive.rber",
    "reliability.bch.rber",
    "reliability.exact.placement",
    "reliability.exact.rber",
    "reliability.table.rber",
    "workload.addresses",
    "workload.arrivals",
];

/// Applies `path=value` to a table.
fn set(table: &mut toml::Table, text: &str) -> Result<()> {
    let bad = |message: &str| Error::config(format!("--set {text}"), message);
    let (path, value) =
        text.split_once('=').ok_or_else(|| bad("expected PATH=VALUE, such as ftl.over_provisioning=0.28"))?;
    let value = value.trim();
    let parsed: toml::Value = match toml::from_str::<toml::Table>(&format!("value = {value}")) {
        Ok(mut table) => table.remove("value").expect("it was just written"),
        Err(_) if value.chars().all(|c| c.is_alphanumeric() || "_-./+".contains(c)) && !value.is_empty() => {
            toml::Value::String(value.to_string())
        }
        Err(error) => return Err(bad(&format!("expected a TOML value: {}", error.message().replace('\n', " ")))),
    };
    let keys: Vec<&str> = path.trim().split('.').collect();
    let (last, parents) = keys.split_last().expect("a split has at least one part");
    let mut at = table;
    for (depth, key) in parents.iter().enumerate() {
        let entry = at.entry(*key).or_insert_with(|| toml::Value::Table(toml::Table::new()));
        // A scalar on the way (reliability = "perfect") gives way to the table that is asked for, and so does another choice.
        let chosen = !CHOICES.contains(&keys[..=depth].join(".").as_str())
            || entry.as_table().is_some_and(|table| table.contains_key(keys[depth + 1]));
        if !entry.is_table() || !chosen {
            *entry = toml::Value::Table(toml::Table::new());
        }
        at = entry.as_table_mut().expect("it was just made one");
    }
    at.insert((*last).to_string(), parsed);
    Ok(())
}

/// A duration in microseconds: at most 1000 s, so that sums of them stay far from overflowing.
fn time(path: impl Into<String>, us: f64) -> Result<()> {
    expect_number(path, us, 0.0, 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Is every choice of the schema known as one: a field that is one of at least two things, one of which is a table of one
    /// required field?
    #[test]
    fn choices_are_those_of_the_schema() {
        fn walk(root: &serde_json::Value, schema: &serde_json::Value, path: &str, found: &mut Vec<String>) {
            if let Some(reference) = schema["$ref"].as_str() {
                return walk(root, root.pointer(&reference[1..]).expect("a schema refers to itself"), path, found);
            }
            let alternatives = |key: &str| schema[key].as_array().cloned().unwrap_or_default();
            let of_one = |one: &serde_json::Value| {
                one["properties"].as_object().is_some_and(|fields| fields.len() == 1) && one["required"].is_array()
            };
            if alternatives("oneOf").len() > 1 && alternatives("oneOf").iter().any(of_one) {
                found.push(path.to_owned());
            }
            for alternative in alternatives("oneOf").iter().chain(&alternatives("anyOf")) {
                walk(root, alternative, path, found);
            }
            for (name, field) in schema["properties"].as_object().into_iter().flatten() {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                walk(root, field, &path, found);
            }
        }
        let schema: serde_json::Value = serde_json::from_str(&schema()).unwrap();
        let mut found = Vec::new();
        walk(&schema, &schema, "", &mut found);
        found.sort_unstable();
        assert_eq!(found, CHOICES);
    }

    #[test]
    fn setting_a_field_of_another_choice_chooses_it() {
        let text = "reliability.fixed.p_fail = [0.1]\nhost.issue.closed_loop.queue_depth = 4";
        let overrides = [
            "reliability.table.file=laldpc-thresholds".to_owned(),
            "reliability.table.rber.constant.rber=0.001".to_owned(),
            "reliability.table.rber.power_law.scale=1e-5".to_owned(),
            "reliability.table.rber.power_law.pe_exponent=1".to_owned(),
            "host.issue.open_loop.time_scale=2.0".to_owned(),
        ];
        let config = CheckedConfig::from_toml(text, "t.toml", &overrides).unwrap();
        let ReliabilitySpec::Table(table) = &config.config().reliability else { panic!("a table was asked for") };
        assert!(matches!(table.rber, softsense_nand::RberModel::PowerLaw { scale: 1e-5, pe_exponent: 1.0, .. }));
        assert_eq!(config.config().host.issue, Issue::OpenLoop { time_scale: 2.0 });
    }

    #[test]
    fn the_defaults_are_mlc_25nm_without_its_workload() {
        let mut shipped = CheckedConfig::open("mlc-25nm", &[]).unwrap().config().clone();
        shipped.workload = None;
        assert_eq!(Config::default(), shipped);
    }

    #[test]
    fn a_resolved_config_reads_back_as_itself() {
        let checked = CheckedConfig::open("tlc-3d", &[]).unwrap();
        let again = CheckedConfig::from_toml(&checked.to_toml(), "again.toml", &[]).unwrap();
        assert_eq!(checked.config(), again.config());
        assert_eq!(checked.sha256(), again.sha256());
    }

    #[test]
    fn what_the_over_provisioning_error_asks_for_is_enough() {
        let with = |value: &str| {
            let overrides = [format!("ftl.over_provisioning={value}"), "geometry.codewords_per_page=4".into()];
            CheckedConfig::from_toml("", "test.toml", &overrides)
        };
        let message = with("0.001").unwrap_err().to_string();
        let asked = message.split("expected at least ").nth(1).unwrap().split(',').next().unwrap();
        assert!(with(asked).is_ok(), "{message}");
    }

    /// Errors name the line, or the path, what was found and what was expected.
    #[test]
    fn errors_name_the_place() {
        let cases: [(&str, &[&str], &str); 13] = [
            ("seed = 1\n[ftl]\nover = 0.1\n", &[], "t.toml:3: ftl.over: unknown field `over`, expected one of"),
            ("seed = \"x\"\n", &[], "t.toml:1: seed: invalid type: string \"x\", expected u64"),
            ("[read]\npolicy = \"psychic\"\n", &[], "t.toml:2: read.policy: unknown variant `psychic`"),
            ("[geometry\n", &[], "t.toml:1: "),
            ("", &["geometry.channels=0"], "t.toml: geometry.channels: found 0, expected a whole number from 1"),
            ("", &["bus.transfer_us=-1.0"], "t.toml: bus.transfer_us: found -1, expected a number from 0"),
            ("", &["ftl.over_provisioning=1.0"], "t.toml: ftl.over_provisioning: found 1, expected a share above 0"),
            ("", &["nonsense"], "--set nonsense: expected PATH=VALUE"),
            ("", &["flash.page_types=[]"], "t.toml: flash.page_types: found 0 page types"),
            // More than TOML, or 32 bits, can hold.
            ("\nseed = 9223372036854775808\n", &[], "t.toml:2: "),
            ("seed = 9223372036854775808\n", &["ftl.over_provisioning=0.2"], "t.toml:1: "),
            ("", &["ftl.gc_high_watermark_blocks=4294967295"], "t.toml: ftl.over_provisioning: found 0."),
            ("", &["ftl.gc_high_watermark_blocks=4294967296"], "--set ftl.gc_high_watermark_blocks: invalid value"),
        ];
        for (text, overrides, expected) in cases {
            let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
            let error = CheckedConfig::from_toml(text, "t.toml", &overrides).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}\nexpected: {expected}");
        }
    }
}
