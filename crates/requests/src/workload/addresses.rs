//! Addresses of the requests of a synthetic workload.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Result, Stream};

use super::{WorkloadSpec, draw};

/// The distribution of the addresses of requests. Addresses are blocks of `align_bytes`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Addresses {
    /// Every block equally likely.
    Uniform,
    /// The block of rank k has a probability proportional to k^-exponent; a permutation that depends on the seed
    /// scatters hot blocks over the footprint.
    Zipf {
        /// The exponent; 0 is uniform, and real workloads have about 0.8 to 1.2.
        #[schemars(range(min = 0.0, max = 10.0))]
        exponent: f64,
    },
    /// Each request starts where the one before it ended, from address 0, and again from 0 at the end.
    Sequential,
    /// The first blocks of the footprint are hot; all hot blocks are equally likely, and so are all others.
    HotCold {
        /// The share of blocks that are hot.
        #[schemars(extend("exclusiveMinimum" = 0.0, "exclusiveMaximum" = 1.0))]
        hot_fraction: f64,
        /// The probability that a request goes to a hot block.
        #[schemars(range(min = 0.0, max = 1.0))]
        hot_share: f64,
    },
}

/// The most blocks: numbers up to 2^53 are exact in an `f64`.
const MAX_BLOCKS: u64 = 1 << 53;

impl Addresses {
    /// Describes the distribution in a few words.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Uniform => "uniform".to_owned(),
            Self::Zipf { exponent } => format!("Zipf with exponent {exponent}, hot blocks scattered"),
            Self::Sequential => "sequential".to_owned(),
            Self::HotCold { hot_fraction, hot_share } => {
                format!("{:.1} % go to the first {:.1} %", hot_share * 100.0, hot_fraction * 100.0)
            }
        }
    }
}

enum Places {
    Uniform,
    Zipf(Zipf, Permutation),
    Sequential { next: u64 },
    HotCold { hot: u64, hot_share: f64 },
}

/// A part of the device that requests go to.
pub(super) struct Region {
    start: u64,
    pub(super) bytes: u64,
    blocks: u64,
    places: Places,
}

impl Region {
    /// Makes the region from byte `start` on, `bytes` long.
    ///
    /// # Errors
    /// A size, or an alignment, that does not fit the region.
    pub(super) fn new(spec: &WorkloadSpec, stream: &Stream, start: u64, bytes: u64) -> Result<Self> {
        for (i, size) in spec.sizes.iter().enumerate() {
            if size.bytes > bytes {
                return Err(Error::config(
                    format!("workload.sizes[{i}].bytes"),
                    format!(
                        "found {}, expected at most {bytes}, the bytes of the region to which these requests go \
                         (`footprint_bytes`, `written_bytes`)",
                        size.bytes
                    ),
                ));
            }
        }
        let blocks = bytes / spec.align_bytes;
        if blocks == 0 || blocks > MAX_BLOCKS {
            let message = format!(
                "found {}, which divides {bytes} bytes into {blocks} blocks, expected a value with 1 to 2^53 blocks",
                spec.align_bytes
            );
            return Err(Error::config("workload.align_bytes", message));
        }
        let places = match spec.addresses {
            Addresses::Uniform => Places::Uniform,
            Addresses::Zipf { exponent } => Places::Zipf(Zipf::new(blocks, exponent), Permutation::new(stream, blocks)),
            Addresses::Sequential => Places::Sequential { next: 0 },
            Addresses::HotCold { hot_fraction, hot_share } => {
                // At least one block is hot, and at least one is cold if there are two.
                let hot = ((blocks as f64 * hot_fraction) as u64).clamp(1, (blocks - 1).max(1));
                Places::HotCold { hot, hot_share }
            }
        };
        Ok(Self { start, bytes, blocks, places })
    }

    /// Returns the first byte of request `i`, which is `bytes` long.
    #[inline]
    pub(super) fn offset(&mut self, stream: &Stream, i: u64, bytes: u64, align_bytes: u64) -> u64 {
        // A request that would leave the region is moved back to the last block where it fits.
        let last = (self.bytes - bytes) / align_bytes;
        let block = match &mut self.places {
            Places::Uniform => below(stream.bits(i, draw::ADDRESS), self.blocks),
            Places::Zipf(zipf, permutation) => permutation.of(zipf.rank(stream, i)),
            Places::Sequential { next } => {
                let block = if *next > last { 0 } else { *next };
                *next = block + bytes.div_ceil(align_bytes);
                block
            }
            Places::HotCold { hot, hot_share } => {
                let bits = stream.bits(i, draw::ADDRESS);
                let cold = self.blocks - *hot;
                if cold == 0 || stream.uniform(i, draw::HOT) < *hot_share {
                    below(bits, *hot)
                } else {
                    *hot + below(bits, cold)
                }
            }
        };
        self.start + block.min(last) * align_bytes
    }
}

/// Returns a uniform whole number below `n`, from 64 uniform bits.
#[inline(always)]
fn below(bits: u64, n: u64) -> u64 {
    ((u128::from(bits) * u128::from(n)) >> 64) as u64
}

/// Draws ranks from 1 to n with a probability proportional to rank^-exponent, in constant time whatever n is.
///
/// Source: W. Hörmann, G. Derflinger, "Rejection-inversion to generate variates from monotone discrete distributions", 1996. A uniform
/// number is sent through the inverse of the integral of x^-s. The nearest whole number is kept where the step of the histogram lies under
/// the curve. A rank takes about 1.1 draws. Deviation: the integral is written with expm1 and log1p, which makes exponent 1 an ordinary
/// case.
pub(super) struct Zipf {
    n: f64,
    exponent: f64,
    /// The integral from 1 to 3/2, less the first step.
    low: f64,
    /// The integral from 1 to n + 1/2.
    high: f64,
    /// A draw whose distance from its whole number is at most this is always kept.
    sure: f64,
}

impl Zipf {
    pub(super) fn new(n: u64, exponent: f64) -> Self {
        let mut zipf = Self { n: n as f64, exponent, low: 0.0, high: 0.0, sure: 0.0 };
        zipf.low = zipf.integral(1.5) - 1.0;
        zipf.high = zipf.integral(zipf.n + 0.5);
        zipf.sure = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.step(2.0));
        zipf
    }

    /// Returns x^-s.
    fn step(&self, x: f64) -> f64 {
        libm::exp(-self.exponent * libm::log(x))
    }

    /// Returns the integral of t^-s from 1 to x: (x^(1-s) - 1) / (1-s), and ln x at s = 1.
    fn integral(&self, x: f64) -> f64 {
        let log = libm::log(x);
        let t = (1.0 - self.exponent) * log;
        let ratio = if t.abs() > 1e-8 { libm::expm1(t) / t } else { 1.0 + t / 2.0 };
        log * ratio
    }

    /// Returns the x whose integral is `area`.
    fn inverse(&self, area: f64) -> f64 {
        // Rounding may lead below -1, where x would be infinite.
        let t = ((1.0 - self.exponent) * area).max(-1.0);
        let ratio = if t.abs() > 1e-8 { libm::log1p(t) / t } else { 1.0 - t / 2.0 };
        libm::exp(area * ratio)
    }

    /// Draws a rank, from 0.
    pub(super) fn rank(&self, stream: &Stream, i: u64) -> u64 {
        let mut draw = draw::ADDRESS;
        loop {
            let area = self.high + stream.uniform(i, draw) * (self.low - self.high);
            let x = self.inverse(area);
            let rank = libm::floor(x + 0.5).clamp(1.0, self.n);
            if rank - x <= self.sure || area >= self.integral(rank + 0.5) - self.step(rank) {
                return rank as u64 - 1;
            }
            draw += 1;
        }
    }
}

/// A permutation of the numbers below n, keyed by the seed. It is a balanced Feistel network over the next even power of two, walked until
/// it lands below n (four steps at most on average). It needs no table.
pub(super) struct Permutation {
    keys: [u64; 6],
    n: u64,
    half_bits: u32,
}

impl Permutation {
    pub(super) fn new(stream: &Stream, n: u64) -> Self {
        let bits = u64::BITS - (n - 1).leading_zeros();
        let mut keys = [0; 6];
        for (round, key) in keys.iter_mut().enumerate() {
            *key = stream.bits(draw::PERMUTATION, round as u64);
        }
        Self { keys, n, half_bits: bits.div_ceil(2).max(1) }
    }

    pub(super) fn of(&self, value: u64) -> u64 {
        let mask = (1u64 << self.half_bits) - 1;
        let mut value = value;
        loop {
            let (mut left, mut right) = (value >> self.half_bits, value & mask);
            for key in self.keys {
                let mixed = (right ^ key).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0x94d0_49bb_1331_11eb);
                (left, right) = (right, left ^ ((mixed >> 32) & mask));
            }
            value = left << self.half_bits | right;
            if value < self.n {
                return value;
            }
        }
    }
}
