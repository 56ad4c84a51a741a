//! Synthetic workloads: requests drawn from stated distributions.
//!
//! Every draw is a pure function of the seed, the request and the purpose of the draw; for dwells, the number of the dwell takes the place
//! of the request. So changing the sizes does not change which addresses are drawn or when requests arrive. Two workloads that differ in
//! one distribution are compared on common random numbers. Logarithms and exponentials come from `libm`, so a workload is the same on every
//! CPU.

mod addresses;
mod arrivals;
mod fit;
mod mmpp;

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Faults, Purpose, Result, Stream, check_ranges, format_bytes, format_count};

use self::addresses::Region;
use self::arrivals::Clock;
use crate::{End, MAX_REQUEST_BYTES, Request, RequestKind, RequestSource};

pub use self::addresses::Addresses;
pub use self::arrivals::{ArrivalState, Arrivals};
pub use self::fit::ArrivalFit;
pub use self::mmpp::Mmpp2;

/// `[workload]`: a synthetic workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WorkloadSpec {
    /// Number of requests that are measured, unless `measurement.seconds` ends the run; the requests of a warm-up come before them.
    #[schemars(range(min = 1))]
    pub requests: u64,
    /// The probability that a request is a read rather than a write.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub read_fraction: f64,
    /// Sizes of requests, and the probability of each; the shares add up to 1.
    pub sizes: Vec<SizeShare>,
    /// The distribution of the addresses of requests.
    pub addresses: Addresses,
    /// The arrival process of requests.
    pub arrivals: Arrivals,
    /// Requests stay within this number of bytes from the start of the device. Default: the whole device.
    pub footprint_bytes: Option<u64>,
    /// Writes stay within this number of bytes from the start of the footprint, and reads within the rest, with
    /// `addresses` in each part. Without this field both go everywhere.
    pub written_bytes: Option<u64>,
    /// The probability that a read goes to the address of one of the last 1,048,576 writes, of the k-th
    /// last one with a probability proportional to about 1/k. Other reads, and all reads before the first write, follow
    /// `addresses`.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub read_after_write: f64,
    /// Requests start at multiples of this, in bytes.
    #[schemars(range(min = 1, max = 1_u64 << 40))]
    pub align_bytes: u64,
    /// The probability that a request is a flush, and neither read nor write.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub flush_fraction: f64,
    /// The probability that a request that neither reads nor is a flush is a trim, and no write.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub trim_fraction: f64,
    /// The probability that a write completes only when it is in flash (force unit access).
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub fua_fraction: f64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(share: &f64) -> bool {
    *share == 0.0
}

/// A request size and its probability.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizeShare {
    /// Size in bytes.
    #[schemars(range(min = 1, max = MAX_REQUEST_BYTES))]
    pub bytes: u64,
    /// Probability.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub share: f64,
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
            flush_fraction: 0.0,
            trim_fraction: 0.0,
            fua_fraction: 0.0,
        }
    }
}

/// Purposes of draws: the second index of the stream.
mod draw {
    pub(crate) const KIND: u64 = 0;
    pub(crate) const SIZE: u64 = 1;
    pub(crate) const GAP: u64 = 2;
    pub(crate) const AFTER_WRITE: u64 = 3;
    pub(crate) const RECENCY: u64 = 4;
    pub(crate) const HOT: u64 = 5;
    /// Duration of a state of arrivals, by the number of the dwell.
    pub(crate) const DWELL: u64 = 6;
    /// Choice of the next state, by the number of the dwell.
    pub(crate) const NEXT_STATE: u64 = 7;
    /// The state of arrivals at the first request.
    pub(crate) const FIRST_STATE: u64 = 8;
    pub(crate) const FLUSH: u64 = 9;
    pub(crate) const FUA: u64 = 10;
    pub(crate) const TRIM: u64 = 11;
    /// The first of the draws that an address needs.
    pub(crate) const ADDRESS: u64 = 16;
    /// The first index of the draws that belong to no request: the keys of the permutation of hot blocks.
    pub(crate) const PERMUTATION: u64 = u64::MAX;
}

/// Number of the last writes that a read after a write can go to.
const REMEMBERED_WRITES: usize = 1 << 20;

impl WorkloadSpec {
    /// Checks every field on its own, and what fields have to do with one another; whether the workload fits a device is checked by
    /// [`Self::source`].
    ///
    /// # Errors
    /// The config path, what was found and what was expected.
    pub fn check(&self) -> Result<()> {
        check_ranges("workload", self)?;
        self.check_together()
    }

    /// Checks what fields have to do with one another.
    pub fn check_together(&self) -> Result<()> {
        let mut faults = Faults::default();
        let mut fault = |field: &str, message: String| faults.add(Error::config(format!("workload.{field}"), message));
        if self.sizes.is_empty() {
            fault("sizes", "found an empty list, expected at least one size".to_owned());
        }
        let total: f64 = self.sizes.iter().map(|size| size.share).sum();
        if !self.sizes.is_empty() && (total - 1.0).abs() > 1e-6 {
            fault("sizes", format!("found shares with a sum of {total}, expected a sum of 1"));
        }
        if let Some(footprint) = self.footprint_bytes
            && footprint < self.align_bytes
        {
            fault(
                "footprint_bytes",
                format!("found {footprint}, expected at least the value of `workload.align_bytes`"),
            );
        }
        faults.see(self.arrivals.check(self.requests));
        faults.end()
    }

    /// Returns the requests for a device of `capacity_bytes`; a pure function of the spec, `seed` and `capacity_bytes`.
    ///
    /// # Errors
    /// Errors of [`Self::check`], a footprint larger than the device, or a size larger than the footprint.
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
            let message = format!(
                "found {written}, expected a multiple of `workload.align_bytes` up to the footprint ({footprint} \
                 bytes)"
            );
            return Err(Error::config("workload.written_bytes", message));
        }
        let stream = Stream::new(seed, Purpose::Workload);
        let mut regions = vec![Region::new(self, &stream, 0, written)?];
        if written < footprint {
            regions.push(Region::new(self, &stream, written, footprint - written)?);
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
            ends: Some(0..self.requests),
            read_fraction: self.read_fraction,
            sizes,
            align_bytes: self.align_bytes,
            regions,
            flush_fraction: self.flush_fraction,
            trim_fraction: self.trim_fraction,
            fua_fraction: self.fua_fraction,
            read_after_write: self.read_after_write,
            written: Vec::new(),
            writes: 0,
            clock: self.arrivals.clock(stream),
        })
    }

    /// Returns labels and values to be shown to people.
    pub fn describe(&self) -> Vec<(String, String)> {
        let sizes: Vec<String> = self
            .sizes
            .iter()
            .map(|size| {
                let bytes = format_bytes(size.bytes);
                if self.sizes.len() == 1 { bytes } else { format!("{bytes} ({:.1} %)", size.share * 100.0) }
            })
            .collect();
        let mut footprint = self.footprint_bytes.map_or("the whole device".to_owned(), format_bytes);
        if let Some(written) = self.written_bytes {
            footprint += &format!(", writes in the first {}, reads in the rest", format_bytes(written));
        }
        let mut reads = format!("{:.1} %", self.read_fraction * 100.0);
        if self.read_after_write > 0.0 {
            reads += &format!(", {:.1} % of them of what was written before", self.read_after_write * 100.0);
        }
        if self.flush_fraction > 0.0 {
            reads += &format!(" of what is no flush; {:.2} % flushes", self.flush_fraction * 100.0);
        }
        if self.trim_fraction > 0.0 {
            reads += &format!("; {:.2} % of writes are trims", self.trim_fraction * 100.0);
        }
        if self.fua_fraction > 0.0 {
            reads += &format!("; {:.2} % of writes with FUA", self.fua_fraction * 100.0);
        }
        [
            ("requests", format_count(self.requests)),
            ("reads", reads),
            ("sizes", sizes.join(", ")),
            ("addresses", format!("{}, aligned to {}", self.addresses.describe(), format_bytes(self.align_bytes))),
            ("footprint", footprint),
            ("arrivals", self.arrivals.describe()),
        ]
        .map(|(label, value)| (label.to_owned(), value))
        .into()
    }
}

/// The requests of a [`WorkloadSpec`].
pub struct Workload {
    stream: Stream,
    requests: u64,
    next: u64,
    /// The numbers of the requests until the end; none while the workload never ends.
    ends: Option<Range<u64>>,
    read_fraction: f64,
    /// Cumulative share, and size in bytes.
    sizes: Vec<(f64, u64)>,
    align_bytes: u64,
    /// The region of writes and, if reads have another one, the region of reads.
    regions: Vec<Region>,
    flush_fraction: f64,
    trim_fraction: f64,
    fua_fraction: f64,
    read_after_write: f64,
    /// Ring of the offsets of the last writes.
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
            // P(k or less) = ln(k + 1) / ln(n + 1) for the k-th last of n writes.
            let k = libm::exp(self.stream.uniform(i, draw::RECENCY) * libm::log(known + 1.0));
            let k = (k as u64).clamp(1, self.written.len() as u64);
            let offset = self.written[((self.writes - k) % REMEMBERED_WRITES as u64) as usize];
            return offset.min((self.regions[0].bytes - bytes) / self.align_bytes * self.align_bytes);
        }
        let region = self.regions.last_mut().expect("there is one at least");
        region.offset(&self.stream, i, bytes, self.align_bytes)
    }
}

impl RequestSource for Workload {
    fn next_request(&mut self) -> Result<Option<Request>> {
        let i = self.next;
        if self.ends.as_ref().is_some_and(|ends| i == ends.end) {
            return Ok(None);
        }
        self.next += 1;
        let read = self.stream.uniform(i, draw::KIND) < self.read_fraction;
        let bytes = self.bytes(i);
        let arrival = self.clock.arrival(&self.stream, i);
        if self.flush_fraction > 0.0 && self.stream.uniform(i, draw::FLUSH) < self.flush_fraction {
            return Ok(Some(Request { arrival, kind: RequestKind::Flush, offset_bytes: 0, bytes: 0 }));
        }
        let fua = self.fua_fraction > 0.0 && self.stream.uniform(i, draw::FUA) < self.fua_fraction;
        let trims = || self.trim_fraction > 0.0 && self.stream.uniform(i, draw::TRIM) < self.trim_fraction;
        let (kind, offset_bytes) = if read {
            (RequestKind::Read, self.read_offset(i, bytes))
        } else if trims() {
            (RequestKind::Trim, self.regions[0].offset(&self.stream, i, bytes, self.align_bytes))
        } else {
            let kind = if fua { RequestKind::FuaWrite } else { RequestKind::Write };
            (kind, self.write_offset(i, bytes))
        };
        Ok(Some(Request { arrival, kind, offset_bytes, bytes }))
    }

    fn fraction_read(&self) -> f64 {
        self.ends.as_ref().map_or(0.0, |ends| (self.next - ends.start) as f64 / (ends.end - ends.start) as f64)
    }

    fn end(&mut self, end: End) {
        self.ends = match end {
            End::Never => None,
            End::AfterItsOwn => Some(self.next..self.next + self.requests),
        };
    }
}

#[cfg(test)]
mod tests;
