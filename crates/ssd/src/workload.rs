//! Synthetic workloads: requests drawn from stated distributions.
//!
//! Every draw is a pure function of (seed, request, what is drawn). Changing the sizes therefore does not change which
//! addresses are drawn or when requests arrive, and two workloads that differ in one distribution are compared on
//! common random numbers. Logarithms and exponentials come from `libm`, so a workload is the same on every CPU.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Ns, Purpose, Result, Stream, format_bytes, format_count};

use crate::request::{MAX_REQUEST_BYTES, Request, RequestKind, RequestSource};

/// `[workload]`: a synthetic workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WorkloadSpec {
    /// How many requests.
    pub requests: u64,
    /// The probability that a request is a read rather than a write, from 0 to 1.
    pub read_fraction: f64,
    /// Sizes of requests, and the probability of each; the shares add up to 1.
    pub sizes: Vec<SizeShare>,
    /// Which addresses requests go to.
    pub addresses: Addresses,
    /// When requests arrive.
    pub arrivals: Arrivals,
    /// Requests stay within the first so many bytes of the device; without it, within the whole device.
    pub footprint_bytes: Option<u64>,
    /// Writes stay within the first so many bytes of the footprint, and reads within the rest of it, `addresses` in each;
    /// without it, both go everywhere.
    pub written_bytes: Option<u64>,
    /// The probability, from 0 to 1, that a read goes to where one of the last 1,048,576 writes went, the k-th last with a
    /// probability of about 1/k; the others go where reads go. Before the first write all do.
    pub read_after_write: f64,
    /// Requests start at multiples of this, in bytes.
    pub align_bytes: u64,
}

/// A request size and its probability.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizeShare {
    /// Size in bytes.
    pub bytes: u64,
    /// Probability, from 0 to 1.
    pub share: f64,
}

/// Which addresses requests go to. Addresses are blocks of `align_bytes`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Addresses {
    /// Every block equally likely.
    Uniform,
    /// The block of rank k with a probability proportional to k^-exponent; hot blocks are scattered over the footprint
    /// by a permutation that depends on the seed.
    Zipf {
        /// The exponent, from 0 (uniform) to 10; about 0.8 to 1.2 in real workloads.
        exponent: f64,
    },
    /// Each request starts where the one before it ended, from address 0, and again from 0 at the end.
    Sequential,
    /// Some blocks are hot, each as likely as any other hot one: the first of the footprint.
    HotCold {
        /// The share of blocks that are hot, above 0 and below 1.
        hot_fraction: f64,
        /// The probability, from 0 to 1, that a request goes to a hot block.
        hot_share: f64,
    },
}

/// When requests arrive.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Arrivals {
    /// A Poisson process: independent, exponentially distributed gaps. The first request arrives at 0.
    Poisson {
        /// Mean rate in requests per second.
        requests_per_s: f64,
    },
    /// Equal gaps. The first request arrives at 0.
    Fixed {
        /// Rate in requests per second.
        requests_per_s: f64,
    },
    /// All at time 0, for closed-loop and saturation runs, where the host decides.
    Immediate,
}

impl Default for WorkloadSpec {
    /// 100,000 requests of 4 KiB, 70 % reads, uniform over the device, Poisson with 5,000 requests per second.
    fn default() -> Self {
        Self {
            requests: 100_000,
            read_fraction: 0.7,
            sizes: vec![SizeShare { bytes: 4096, share: 1.0 }],
            addresses: Addresses::Uniform,
            arrivals: Arrivals::Poisson { requests_per_s: 5_000.0 },
            footprint_bytes: None,
            written_bytes: None,
            read_after_write: 0.0,
            align_bytes: 4096,
        }
    }
}

/// What a draw is for: the second index of the stream.
mod draw {
    pub const KIND: u64 = 0;
    pub const SIZE: u64 = 1;
    pub const GAP: u64 = 2;
    pub const AFTER_WRITE: u64 = 3;
    pub const RECENCY: u64 = 4;
    pub const HOT: u64 = 5;
    /// The first of as many as an address needs.
    pub const ADDRESS: u64 = 16;
    /// The first index of the draws that belong to no request: the keys of the permutation of hot blocks.
    pub const PERMUTATION: u64 = u64::MAX;
}

/// 2^53 blocks are exact in an `f64`.
const MAX_BLOCKS: u64 = 1 << 53;

/// Writes that reads may go after.
const REMEMBERED_WRITES: usize = 1 << 20;

impl WorkloadSpec {
    /// Checks every field on its own; whether the workload fits a device is checked by [`Self::source`].
    ///
    /// # Errors
    /// The config path, what was found and what was expected.
    pub fn check(&self) -> Result<()> {
        let error = |field: &str, message: String| Err(Error::config(format!("workload.{field}"), message));
        if self.requests == 0 {
            return error("requests", "found 0, expected at least 1".to_owned());
        }
        if !(0.0..=1.0).contains(&self.read_fraction) {
            return error("read_fraction", format!("found {}, expected a number from 0 to 1", self.read_fraction));
        }
        if !(0.0..=1.0).contains(&self.read_after_write) {
            return error(
                "read_after_write",
                format!("found {}, expected a number from 0 to 1", self.read_after_write),
            );
        }
        if self.align_bytes == 0 || self.align_bytes > 1 << 40 {
            return error("align_bytes", format!("found {}, expected 1 to 2^40 bytes", self.align_bytes));
        }
        if self.sizes.is_empty() {
            return error("sizes", "found none, expected at least one size".to_owned());
        }
        let mut total = 0.0;
        for (i, size) in self.sizes.iter().enumerate() {
            if size.bytes == 0 || size.bytes > MAX_REQUEST_BYTES {
                return error(&format!("sizes[{i}].bytes"), format!("found {}, expected 1 to 2^30 bytes", size.bytes));
            }
            if !(0.0..=1.0).contains(&size.share) {
                return error(
                    &format!("sizes[{i}].share"),
                    format!("found {}, expected a number from 0 to 1", size.share),
                );
            }
            total += size.share;
        }
        if (total - 1.0).abs() > 1e-6 {
            return error("sizes", format!("found shares that add up to {total}, expected 1"));
        }
        if let Addresses::Zipf { exponent } = self.addresses
            && !(0.0..=10.0).contains(&exponent)
        {
            return error("addresses.zipf.exponent", format!("found {exponent}, expected a number from 0 to 10"));
        }
        if let Addresses::HotCold { hot_fraction, hot_share } = self.addresses {
            if !(hot_fraction > 0.0 && hot_fraction < 1.0) {
                let message = format!("found {hot_fraction}, expected a number above 0 and below 1");
                return error("addresses.hot_cold.hot_fraction", message);
            }
            if !(0.0..=1.0).contains(&hot_share) {
                return error(
                    "addresses.hot_cold.hot_share",
                    format!("found {hot_share}, expected a number from 0 to 1"),
                );
            }
        }
        let rate = match self.arrivals {
            Arrivals::Poisson { requests_per_s } => Some(("poisson", requests_per_s)),
            Arrivals::Fixed { requests_per_s } => Some(("fixed", requests_per_s)),
            Arrivals::Immediate => None,
        };
        if let Some((name, rate)) = rate {
            let field = format!("arrivals.{name}.requests_per_s");
            if !(1e-6..=1e9).contains(&rate) {
                return error(&field, format!("found {rate}, expected a number from 1e-6 to 1e9"));
            }
            // Half of what 64 bits of nanoseconds hold: a Poisson sum strays far less than that from its mean.
            if self.requests as f64 / rate > 9e9 {
                return error(
                    &field,
                    format!("found {rate}, with which {} requests take more than 285 years", self.requests),
                );
            }
        }
        if let Some(footprint) = self.footprint_bytes
            && footprint < self.align_bytes
        {
            return error("footprint_bytes", format!("found {footprint}, expected at least align_bytes"));
        }
        Ok(())
    }

    /// The requests, for a device of `capacity_bytes`; a pure function of the spec, `seed` and `capacity_bytes`.
    ///
    /// # Errors
    /// Those of [`Self::check`], a footprint larger than the device, and a size larger than the footprint.
    pub fn source(&self, seed: u64, capacity_bytes: u64) -> Result<Workload> {
        self.check()?;
        let footprint = self.footprint_bytes.unwrap_or(capacity_bytes);
        if footprint > capacity_bytes {
            return Err(Error::config(
                "workload.footprint_bytes",
                format!("found {footprint}, expected at most the capacity of the device ({capacity_bytes} bytes)"),
            ));
        }
        let written = self.written_bytes.unwrap_or(footprint);
        if written == 0 || written > footprint || (written < footprint && !written.is_multiple_of(self.align_bytes)) {
            let message =
                format!("found {written}, expected a multiple of align_bytes up to the footprint ({footprint} bytes)");
            return Err(Error::config("workload.written_bytes", message));
        }
        let stream = Stream::new(seed, Purpose::Workload);
        let mut regions = vec![self.region(&stream, 0, written)?];
        if written < footprint {
            regions.push(self.region(&stream, written, footprint - written)?);
        }
        let mut total = 0.0;
        let sizes = self
            .sizes
            .iter()
            .map(|size| {
                total += size.share;
                (total, size.bytes)
            })
            .collect();
        Ok(Workload {
            stream,
            requests: self.requests,
            next: 0,
            read_fraction: self.read_fraction,
            sizes,
            align_bytes: self.align_bytes,
            regions,
            read_after_write: self.read_after_write,
            written: Vec::new(),
            writes: 0,
            clock: match self.arrivals {
                Arrivals::Poisson { requests_per_s } => {
                    Clock::Poisson { mean_ns: 1e9 / requests_per_s, now_ns: 0, remainder_ns: 0.0 }
                }
                Arrivals::Fixed { requests_per_s } => Clock::Fixed { requests_per_s },
                Arrivals::Immediate => Clock::Immediate,
            },
        })
    }

    /// The part of the device from byte `start` on, `bytes` long.
    fn region(&self, stream: &Stream, start: u64, bytes: u64) -> Result<Region> {
        for (i, size) in self.sizes.iter().enumerate() {
            if size.bytes > bytes {
                return Err(Error::config(
                    format!("workload.sizes[{i}].bytes"),
                    format!("found {}, expected at most the {bytes} bytes that it goes to", size.bytes),
                ));
            }
        }
        let blocks = bytes / self.align_bytes;
        if blocks == 0 || blocks > MAX_BLOCKS {
            let message =
                format!("found {}, by which {bytes} bytes have {blocks} blocks, expected 1 to 2^53", self.align_bytes);
            return Err(Error::config("workload.align_bytes", message));
        }
        let places = match self.addresses {
            Addresses::Uniform => Places::Uniform,
            Addresses::Zipf { exponent } => Places::Zipf(Zipf::new(blocks, exponent), Permutation::new(stream, blocks)),
            Addresses::Sequential => Places::Sequential { next: 0 },
            Addresses::HotCold { hot_fraction, hot_share } => {
                // There is one block of each kind at least.
                let hot = ((blocks as f64 * hot_fraction) as u64).clamp(1, (blocks - 1).max(1));
                Places::HotCold { hot, hot_share }
            }
        };
        Ok(Region { start, bytes, blocks, places })
    }

    /// Labels and values for people.
    pub fn describe(&self) -> Vec<(String, String)> {
        let sizes: Vec<String> = self
            .sizes
            .iter()
            .map(|size| {
                let bytes = format_bytes(size.bytes);
                if self.sizes.len() == 1 { bytes } else { format!("{bytes} ({:.1} %)", size.share * 100.0) }
            })
            .collect();
        let addresses = match self.addresses {
            Addresses::Uniform => "uniform".to_owned(),
            Addresses::Zipf { exponent } => format!("Zipf with exponent {exponent}, hot blocks scattered"),
            Addresses::Sequential => "sequential".to_owned(),
            Addresses::HotCold { hot_fraction, hot_share } => {
                format!("{:.1} % go to the first {:.1} %", hot_share * 100.0, hot_fraction * 100.0)
            }
        };
        let rate = |r: f64| if r.fract() == 0.0 && r < 1e15 { format_count(r as u64) } else { r.to_string() };
        let arrivals = match self.arrivals {
            Arrivals::Poisson { requests_per_s } => format!("Poisson, {} requests/s", rate(requests_per_s)),
            Arrivals::Fixed { requests_per_s } => format!("fixed, {} requests/s", rate(requests_per_s)),
            Arrivals::Immediate => "all at time 0".to_owned(),
        };
        let mut footprint = self.footprint_bytes.map_or("the whole device".to_owned(), format_bytes);
        if let Some(written) = self.written_bytes {
            footprint += &format!(", writes in the first {}, reads in the rest", format_bytes(written));
        }
        let mut reads = format!("{:.1} %", self.read_fraction * 100.0);
        if self.read_after_write > 0.0 {
            reads += &format!(", {:.1} % of them of what was written before", self.read_after_write * 100.0);
        }
        [
            ("requests", format_count(self.requests)),
            ("reads", reads),
            ("sizes", sizes.join(", ")),
            ("addresses", format!("{addresses}, aligned to {}", format_bytes(self.align_bytes))),
            ("footprint", footprint),
            ("arrivals", arrivals),
        ]
        .map(|(label, value)| (label.to_owned(), value))
        .into()
    }
}

enum Places {
    Uniform,
    Zipf(Zipf, Permutation),
    Sequential { next: u64 },
    HotCold { hot: u64, hot_share: f64 },
}

/// A part of the device that requests go to.
struct Region {
    start: u64,
    bytes: u64,
    blocks: u64,
    places: Places,
}

impl Region {
    /// Where request `i` of so many bytes starts.
    #[inline]
    fn offset(&mut self, stream: &Stream, i: u64, bytes: u64, align_bytes: u64) -> u64 {
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

enum Clock {
    /// Arrivals are sums of gaps; what rounding to nanoseconds leaves over goes to the next one.
    Poisson {
        mean_ns: f64,
        now_ns: u64,
        remainder_ns: f64,
    },
    Fixed {
        requests_per_s: f64,
    },
    Immediate,
}

/// The requests of a [`WorkloadSpec`].
pub struct Workload {
    stream: Stream,
    requests: u64,
    next: u64,
    read_fraction: f64,
    /// Cumulative share and size.
    sizes: Vec<(f64, u64)>,
    align_bytes: u64,
    /// Where writes go, and, if that is another, where reads do.
    regions: Vec<Region>,
    read_after_write: f64,
    /// Where the last writes went, a ring.
    written: Vec<u64>,
    writes: u64,
    clock: Clock,
}

impl Workload {
    #[inline]
    fn bytes(&self, i: u64) -> u64 {
        let largest = self.sizes[self.sizes.len() - 1].1;
        if self.sizes.len() == 1 {
            return largest;
        }
        let u = self.stream.uniform(i, draw::SIZE);
        self.sizes.iter().find(|&&(cumulative, _)| u < cumulative).map_or(largest, |&(_, bytes)| bytes)
    }

    #[inline]
    fn write_offset(&mut self, i: u64, bytes: u64) -> u64 {
        let offset = self.regions[0].offset(&self.stream, i, bytes, self.align_bytes);
        if self.read_after_write > 0.0 {
            if self.written.len() < REMEMBERED_WRITES {
                self.written.push(offset);
            } else {
                self.written[self.writes as usize % REMEMBERED_WRITES] = offset;
            }
            self.writes += 1;
        }
        offset
    }

    #[inline]
    fn read_offset(&mut self, i: u64, bytes: u64) -> u64 {
        if !self.written.is_empty() && self.stream.uniform(i, draw::AFTER_WRITE) < self.read_after_write {
            let known = self.written.len() as f64;
            // P(k or less) = ln(k + 1) / ln(n + 1) for k of n.
            let k = libm::exp(self.stream.uniform(i, draw::RECENCY) * libm::log(known + 1.0));
            let k = (k as u64).clamp(1, self.written.len() as u64);
            let offset = self.written[((self.writes - k) % REMEMBERED_WRITES as u64) as usize];
            return offset.min((self.regions[0].bytes - bytes) / self.align_bytes * self.align_bytes);
        }
        let region = self.regions.last_mut().expect("there is one at least");
        region.offset(&self.stream, i, bytes, self.align_bytes)
    }

    #[inline]
    fn arrival(&mut self, i: u64) -> Ns {
        match &mut self.clock {
            Clock::Immediate => Ns::ZERO,
            Clock::Fixed { requests_per_s } => Ns((i as f64 * 1e9 / *requests_per_s) as u64),
            Clock::Poisson { mean_ns, now_ns, remainder_ns } => {
                if i > 0 {
                    // 1 - u is in (0, 1].
                    let gap = -libm::log(1.0 - self.stream.uniform(i, draw::GAP)) * *mean_ns + *remainder_ns;
                    let whole = gap as u64;
                    *now_ns += whole;
                    *remainder_ns = gap - whole as f64;
                }
                Ns(*now_ns)
            }
        }
    }
}

impl RequestSource for Workload {
    fn next_request(&mut self) -> Result<Option<Request>> {
        let i = self.next;
        if i == self.requests {
            return Ok(None);
        }
        self.next += 1;
        let read = self.stream.uniform(i, draw::KIND) < self.read_fraction;
        let bytes = self.bytes(i);
        let arrival = self.arrival(i);
        let (kind, offset_bytes) = if read {
            (RequestKind::Read, self.read_offset(i, bytes))
        } else {
            (RequestKind::Write, self.write_offset(i, bytes))
        };
        Ok(Some(Request { arrival, kind, offset_bytes, bytes }))
    }

    fn fraction_read(&self) -> f64 {
        self.next as f64 / self.requests as f64
    }
}

/// A uniform whole number below `n`, from 64 uniform bits.
#[inline(always)]
fn below(bits: u64, n: u64) -> u64 {
    ((u128::from(bits) * u128::from(n)) >> 64) as u64
}

/// Ranks from 1 to n with a probability proportional to rank^-exponent, in constant time whatever n is.
///
/// Source: W. Hörmann, G. Derflinger, "Rejection-inversion to generate variates from monotone discrete distributions",
/// 1996: a uniform number is sent through the inverse of the integral of x^-s, and the nearest whole number is kept
/// where the step of the histogram lies under the curve; about 1.1 draws a rank. Deviation: the integral is written
/// with expm1 and log1p, which makes exponent 1 an ordinary case.
struct Zipf {
    n: f64,
    exponent: f64,
    /// The integral from 1 to 3/2, less the first step.
    low: f64,
    /// The integral from 1 to n + 1/2.
    high: f64,
    /// Below this distance from its whole number a draw is always kept.
    sure: f64,
}

impl Zipf {
    fn new(n: u64, exponent: f64) -> Self {
        let mut zipf = Self { n: n as f64, exponent, low: 0.0, high: 0.0, sure: 0.0 };
        zipf.low = zipf.integral(1.5) - 1.0;
        zipf.high = zipf.integral(zipf.n + 0.5);
        zipf.sure = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.step(2.0));
        zipf
    }

    /// x^-s.
    fn step(&self, x: f64) -> f64 {
        libm::exp(-self.exponent * libm::log(x))
    }

    /// The integral of t^-s from 1 to x: (x^(1-s) - 1) / (1-s), and ln x at s = 1.
    fn integral(&self, x: f64) -> f64 {
        let log = libm::log(x);
        let t = (1.0 - self.exponent) * log;
        let ratio = if t.abs() > 1e-8 { libm::expm1(t) / t } else { 1.0 + t / 2.0 };
        log * ratio
    }

    /// The x whose integral is `area`.
    fn inverse(&self, area: f64) -> f64 {
        // Rounding may lead below -1, where x would be infinite.
        let t = ((1.0 - self.exponent) * area).max(-1.0);
        let ratio = if t.abs() > 1e-8 { libm::log1p(t) / t } else { 1.0 - t / 2.0 };
        libm::exp(area * ratio)
    }

    /// A rank less 1.
    fn rank(&self, stream: &Stream, i: u64) -> u64 {
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

/// A permutation of the numbers below n, keyed by the seed: a balanced Feistel network over the next even power of
/// two, walked until it lands below n (four steps at most on average). It needs no table.
struct Permutation {
    keys: [u64; 6],
    n: u64,
    half_bits: u32,
}

impl Permutation {
    fn new(stream: &Stream, n: u64) -> Self {
        let bits = u64::BITS - (n - 1).leading_zeros();
        let mut keys = [0; 6];
        for (round, key) in keys.iter_mut().enumerate() {
            *key = stream.bits(draw::PERMUTATION, round as u64);
        }
        Self { keys, n, half_bits: bits.div_ceil(2).max(1) }
    }

    fn of(&self, value: u64) -> u64 {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn all(spec: &WorkloadSpec, seed: u64, capacity: u64) -> Vec<Request> {
        let mut source = spec.source(seed, capacity).unwrap();
        let mut requests = Vec::new();
        while let Some(request) = source.next_request().unwrap() {
            requests.push(request);
        }
        assert_eq!(source.next_request().unwrap(), None);
        assert_eq!(source.fraction_read(), 1.0);
        requests
    }

    const GIB: u64 = 1 << 30;

    /// Read share and size mix: 200,000 draws, so 5 standard errors are 0.0056 at most; a share that is off by 0.01
    /// is seen with power above 0.999.
    #[test]
    fn shares_are_as_stated() {
        let spec = WorkloadSpec {
            requests: 200_000,
            read_fraction: 0.7,
            sizes: vec![
                SizeShare { bytes: 4096, share: 0.5 },
                SizeShare { bytes: 16_384, share: 0.2 },
                SizeShare { bytes: 65_536, share: 0.3 },
            ],
            ..WorkloadSpec::default()
        };
        let requests = all(&spec, 1, GIB);
        let share = |test: &dyn Fn(&Request) -> bool| {
            requests.iter().filter(|request| test(request)).count() as f64 / requests.len() as f64
        };
        assert!((share(&|r| r.kind == RequestKind::Read) - 0.7).abs() < 0.0056);
        for size in &spec.sizes {
            assert!((share(&|r| r.bytes == size.bytes) - size.share).abs() < 0.0056);
        }
        // Kind and size are independent: the joint share is the product.
        let joint = share(&|r| r.kind == RequestKind::Read && r.bytes == 4096);
        assert!((joint - 0.35).abs() < 0.0056, "{joint}");
        assert!(requests.iter().all(|r| r.offset_bytes % 4096 == 0 && r.offset_bytes + r.bytes <= GIB));
    }

    /// Gaps of 200,000 arrivals: the mean of an exponential has a standard error of 1/sqrt(n) = 0.22 %, its variance
    /// one of sqrt(8/n) = 0.63 %; bounds are 5 of each, so a rate that is off by 2 % is seen with power above 0.99.
    #[test]
    fn poisson_gaps_are_exponential() {
        let spec = WorkloadSpec {
            requests: 200_001,
            arrivals: Arrivals::Poisson { requests_per_s: 20_000.0 },
            ..WorkloadSpec::default()
        };
        let requests = all(&spec, 2, GIB);
        assert_eq!(requests[0].arrival, Ns::ZERO);
        let gaps: Vec<f64> = requests.windows(2).map(|pair| (pair[1].arrival - pair[0].arrival).0 as f64).collect();
        let n = gaps.len() as f64;
        let mean = gaps.iter().sum::<f64>() / n;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / n;
        assert!((mean / 50_000.0 - 1.0).abs() < 0.011, "mean {mean}");
        assert!((variance / 2.5e9 - 1.0).abs() < 0.032, "variance {variance}");
        // P(gap > mean) = 1/e, with a standard error of 0.0011.
        let long = gaps.iter().filter(|&&gap| gap > 50_000.0).count() as f64 / n;
        assert!((long - (-1.0f64).exp()).abs() < 0.0055, "{long}");
    }

    /// The ranks of a Zipf distribution against their probabilities k^-s / H(n, s), for exponents below, at and above
    /// 1 and for one block: bounds of 5 standard errors, so a top rank that is off by 5 % is seen with power above 0.99.
    #[test]
    fn zipf_ranks_follow_the_closed_form() {
        let stream = Stream::new(3, Purpose::Workload);
        for (n, exponent) in [(1000u64, 0.0), (1000, 0.8), (1000, 1.0), (50_000, 1.2), (10, 3.0), (1, 1.0), (2, 0.5)] {
            let zipf = Zipf::new(n, exponent);
            let draws = 100_000u64;
            let mut counts = vec![0u64; n as usize];
            for i in 0..draws {
                counts[zipf.rank(&stream, i) as usize] += 1;
            }
            let total: f64 = (1..=n).map(|k| (k as f64).powf(-exponent)).sum();
            let check = |ranks: std::ops::Range<usize>| {
                let p: f64 = ranks.clone().map(|k| (k as f64 + 1.0).powf(-exponent)).sum::<f64>() / total;
                let found = counts[ranks.clone()].iter().sum::<u64>() as f64;
                let expected = p * draws as f64;
                let bound = 5.0 * (expected * (1.0 - p).max(0.0)).sqrt() + 1e-6;
                assert!(
                    (found - expected).abs() <= bound,
                    "n {n} s {exponent} ranks {ranks:?}: {found}, not {expected}"
                );
            };
            for rank in 0..(n as usize).min(5) {
                check(rank..rank + 1);
            }
            check(0..(n as usize / 10).max(1));
            check(0..(n as usize / 2).max(1));
        }
    }

    /// Are hot blocks scattered? The ten hottest of 2^18 blocks have a spread like that of ten uniform numbers: that
    /// they lie within one sixteenth of the footprint by chance has a probability below 1e-9.
    #[test]
    fn hot_blocks_are_scattered_by_a_permutation() {
        let stream = Stream::new(4, Purpose::Workload);
        for n in [1u64, 2, 3, 5, 1000, 4096, 4097] {
            let permutation = Permutation::new(&stream, n);
            let mut seen = vec![false; n as usize];
            for value in 0..n {
                assert!(!std::mem::replace(&mut seen[permutation.of(value) as usize], true), "n {n} value {value}");
            }
        }
        let n = 1u64 << 18;
        let permutation = Permutation::new(&stream, n);
        let hot: Vec<u64> = (0..10).map(|rank| permutation.of(rank)).collect();
        assert!(hot.iter().max().unwrap() - hot.iter().min().unwrap() > n / 16, "{hot:?}");
        let other = Permutation::new(&Stream::new(5, Purpose::Workload), n);
        assert_ne!(permutation.of(0), other.of(0));

        let spec = WorkloadSpec { addresses: Addresses::Zipf { exponent: 1.0 }, ..WorkloadSpec::default() };
        let requests = all(&spec, 4, GIB);
        let hottest = permutation.of(0) * 4096;
        let share = requests.iter().filter(|r| r.offset_bytes == hottest).count() as f64 / requests.len() as f64;
        let expected = 1.0 / (1..=n).map(|k| 1.0 / k as f64).sum::<f64>();
        assert!((share - expected).abs() < 5.0 * (expected / requests.len() as f64).sqrt(), "{share}, not {expected}");
    }

    /// Uniform addresses: 64 bins, 200,000 draws, chi-square with 63 degrees of freedom exceeds 103.4 with
    /// probability 0.001; a bin that is off by 10 % is seen with power above 0.95.
    #[test]
    fn uniform_addresses_are_uniform() {
        let spec = WorkloadSpec { requests: 200_000, footprint_bytes: Some(GIB), ..WorkloadSpec::default() };
        let mut bins = [0u32; 64];
        for request in all(&spec, 6, 4 * GIB) {
            bins[(request.offset_bytes / (GIB / 64)) as usize] += 1;
        }
        let expected = 200_000.0 / 64.0;
        let chi2: f64 = bins.iter().map(|&bin| (f64::from(bin) - expected).powi(2) / expected).sum();
        assert!(chi2 < 103.4, "chi-square {chi2}");
    }

    /// The hot quarter gets its 80 %, every block of it as much as any other: chi-square of 16 bins, 15 degrees of freedom,
    /// exceeds 37.7 with probability 0.001. 200,000 draws know the share to 0.0009, of which five are allowed.
    #[test]
    fn hot_blocks_get_their_share() {
        let addresses = Addresses::HotCold { hot_fraction: 0.25, hot_share: 0.8 };
        let spec = WorkloadSpec { requests: 200_000, addresses, ..WorkloadSpec::default() };
        let mut bins = [0u32; 64];
        for request in all(&spec, 6, GIB) {
            bins[(request.offset_bytes / (GIB / 64)) as usize] += 1;
        }
        let hot: u32 = bins[..16].iter().sum();
        assert!((f64::from(hot) / 200_000.0 - 0.8).abs() < 0.0045, "{hot}");
        let expected = f64::from(hot) / 16.0;
        let chi2: f64 = bins[..16].iter().map(|&bin| (f64::from(bin) - expected).powi(2) / expected).sum();
        assert!(chi2 < 37.7, "chi-square {chi2}");
    }

    #[test]
    fn a_change_of_one_distribution_leaves_the_others_alone() {
        let spec = WorkloadSpec { requests: 1000, ..WorkloadSpec::default() };
        let before = all(&spec, 7, GIB);
        let sizes = vec![SizeShare { bytes: 512, share: 0.5 }, SizeShare { bytes: 2048, share: 0.5 }];
        let after = all(&WorkloadSpec { sizes, ..spec.clone() }, 7, GIB);
        for (a, b) in before.iter().zip(&after) {
            assert_eq!((a.arrival, a.kind, a.offset_bytes), (b.arrival, b.kind, b.offset_bytes));
        }
        let after = all(&WorkloadSpec { addresses: Addresses::Sequential, ..spec }, 7, GIB);
        for (a, b) in before.iter().zip(&after) {
            assert_eq!((a.arrival, a.kind, a.bytes), (b.arrival, b.kind, b.bytes));
        }
    }

    /// Reads after writes: their share, and how far back they go, P(k or less) = ln(k + 1) / ln(n + 1). With 100,000 reads
    /// five standard errors of a share are 0.008 at most; each write has a block of its own, so that k is known.
    #[test]
    fn reads_after_writes_go_to_the_latest_ones() {
        let spec = WorkloadSpec {
            requests: 200_000,
            read_fraction: 0.5,
            addresses: Addresses::Sequential,
            footprint_bytes: Some(2 * GIB),
            written_bytes: Some(GIB),
            read_after_write: 0.6,
            ..WorkloadSpec::default()
        };
        let (mut writes, mut reads, mut after, mut latest, mut expected) = (0u64, 0.0, 0.0, 0.0, 0.0);
        for request in all(&spec, 10, 4 * GIB) {
            let block = request.offset_bytes / 4096;
            if request.kind == RequestKind::Write {
                assert_eq!(block, writes);
                writes += 1;
                continue;
            }
            reads += 1.0;
            if request.offset_bytes < GIB {
                assert!(block < writes, "only what was written is read after it");
                after += 1.0;
                latest += f64::from(u8::from(writes - block <= 10));
                expected += (11f64.min(writes as f64 + 1.0)).ln() / (writes as f64 + 1.0).ln();
            }
        }
        assert!((after / reads - 0.6f64).abs() < 0.008, "{after} of {reads}");
        assert!((latest / after - expected / after).abs() < 0.01f64, "{latest}, not {expected}");
    }

    #[test]
    fn sequential_requests_follow_one_another_and_start_again() {
        let spec = WorkloadSpec {
            requests: 7,
            sizes: vec![SizeShare { bytes: 6000, share: 1.0 }],
            addresses: Addresses::Sequential,
            arrivals: Arrivals::Fixed { requests_per_s: 3.0 },
            footprint_bytes: Some(5 * 4096),
            ..WorkloadSpec::default()
        };
        let requests = all(&spec, 8, GIB);
        let offsets: Vec<u64> = requests.iter().map(|r| r.offset_bytes / 4096).collect();
        assert_eq!(offsets, [0, 2, 0, 2, 0, 2, 0]);
        let arrivals: Vec<u64> = requests.iter().map(|r| r.arrival.0).collect();
        assert_eq!(arrivals[..4], [0, 333_333_333, 666_666_666, 1_000_000_000]);
        let spec = WorkloadSpec { arrivals: Arrivals::Immediate, ..spec };
        assert!(all(&spec, 8, GIB).iter().all(|r| r.arrival == Ns::ZERO));
    }

    /// Golden values: a change here changes every published result on a synthetic workload. They come from libm, so
    /// they hold on every CPU.
    #[test]
    fn the_workload_is_pinned() {
        let spec =
            WorkloadSpec { requests: 3, addresses: Addresses::Zipf { exponent: 0.9 }, ..WorkloadSpec::default() };
        let found: Vec<(u64, u64)> = all(&spec, 9, GIB).iter().map(|r| (r.arrival.0, r.offset_bytes)).collect();
        assert_eq!(found, GOLDEN);
    }

    const GOLDEN: [(u64, u64); 3] = [(0, 679_985_152), (123_840, 299_732_992), (355_693, 371_752_960)];

    #[test]
    fn bad_fields_are_named() {
        let good = WorkloadSpec::default();
        let cases: Vec<(WorkloadSpec, &str)> = vec![
            (WorkloadSpec { requests: 0, ..good.clone() }, "workload.requests: found 0"),
            (
                WorkloadSpec { read_fraction: 1.5, ..good.clone() },
                "workload.read_fraction: found 1.5, expected a number from 0 to 1",
            ),
            (WorkloadSpec { read_fraction: f64::NAN, ..good.clone() }, "workload.read_fraction: found NaN"),
            (WorkloadSpec { sizes: vec![], ..good.clone() }, "workload.sizes: found none"),
            (
                WorkloadSpec { sizes: vec![SizeShare { bytes: 0, share: 1.0 }], ..good.clone() },
                "workload.sizes[0].bytes: found 0",
            ),
            (
                WorkloadSpec { sizes: vec![SizeShare { bytes: 512, share: 0.9 }], ..good.clone() },
                "workload.sizes: found shares that add up to 0.9, expected 1",
            ),
            (
                WorkloadSpec { addresses: Addresses::Zipf { exponent: -1.0 }, ..good.clone() },
                "workload.addresses.zipf.exponent: found -1",
            ),
            (
                WorkloadSpec { addresses: Addresses::HotCold { hot_fraction: 1.0, hot_share: 0.5 }, ..good.clone() },
                "workload.addresses.hot_cold.hot_fraction: found 1, expected a number above 0",
            ),
            (
                WorkloadSpec { addresses: Addresses::HotCold { hot_fraction: 0.5, hot_share: 1.5 }, ..good.clone() },
                "workload.addresses.hot_cold.hot_share: found 1.5",
            ),
            (
                WorkloadSpec { arrivals: Arrivals::Poisson { requests_per_s: 0.0 }, ..good.clone() },
                "workload.arrivals.poisson.requests_per_s: found 0",
            ),
            (
                WorkloadSpec { read_after_write: -0.1, ..good.clone() },
                "workload.read_after_write: found -0.1, expected a number from 0 to 1",
            ),
            (WorkloadSpec { align_bytes: 0, ..good.clone() }, "workload.align_bytes: found 0"),
            (WorkloadSpec { footprint_bytes: Some(100), ..good.clone() }, "workload.footprint_bytes: found 100"),
        ];
        for (spec, message) in cases {
            let error = spec.check().unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
        let spec = WorkloadSpec { footprint_bytes: Some(2 * GIB), ..good.clone() };
        assert!(
            spec.source(1, GIB).err().unwrap().to_string().starts_with("workload.footprint_bytes: found 2147483648")
        );
        for written in [0, 5000, 2 * GIB] {
            let spec = WorkloadSpec { written_bytes: Some(written), ..good.clone() };
            let error = spec.source(1, GIB).err().unwrap().to_string();
            assert!(
                error.starts_with(&format!("workload.written_bytes: found {written}, expected a multiple")),
                "{error}"
            );
        }
        let spec = WorkloadSpec { sizes: vec![SizeShare { bytes: 8192, share: 1.0 }], ..good };
        assert!(spec.source(1, 4096).err().unwrap().to_string().starts_with("workload.sizes[0].bytes: found 8192"));
    }

    #[test]
    fn configs_are_read_with_defaults_and_without_unknown_fields() {
        let spec: WorkloadSpec =
            serde_json::from_str(r#"{"addresses": {"zipf": {"exponent": 0.9}}, "arrivals": "immediate"}"#).unwrap();
        assert_eq!(spec.addresses, Addresses::Zipf { exponent: 0.9 });
        assert_eq!(spec.arrivals, Arrivals::Immediate);
        assert_eq!(spec.requests, WorkloadSpec::default().requests);
        assert!(serde_json::from_str::<WorkloadSpec>(r#"{"request": 3}"#).is_err());
        assert_eq!(spec.describe().len(), 6);
    }
}
