//! Several users of one device: the source of each user's requests, each user's results, and the fairness of the device.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use softsense_base::{Error, ResponseSummary, Result};
use softsense_config::checked::CheckedConfig;
use softsense_config::spec::within;
use softsense_requests::trace::Trace;
use softsense_requests::{End, NoRequests, Request, RequestSource};

use crate::simulation::TenantStatistics;

/// Distance between the seeds of successive tenants: 2^64 over the golden ratio. The first tenant has the seed of the config.
const SEED_STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Requests of a namespace, moved to their addresses in the device.
struct Within<S> {
    source: S,
    first_byte: u64,
}

impl<S: RequestSource> RequestSource for Within<S> {
    fn next_request(&mut self) -> Result<Option<Request>> {
        let next = self.source.next_request()?;
        Ok(next.map(|request| Request { offset_bytes: request.offset_bytes + self.first_byte, ..request }))
    }

    fn fraction_read(&self) -> f64 {
        self.source.fraction_read()
    }

    fn end(&mut self, end: End) {
        self.source.end(end);
    }
}

/// The sources of the requests of tenants.
pub(crate) struct TenantSources {
    /// The source of each tenant.
    pub(crate) sources: Vec<Box<dyn RequestSource>>,
    /// Descriptions of the sources, for the summary.
    pub(crate) told: Value,
    /// Time that scanning traces took, s.
    pub(crate) scan_s: f64,
}

/// Opens the sources of the requests of all tenants.
///
/// A tenant's requests are a function of the seed, the tenant's number and its namespace; other tenants do not matter.
///
/// # Errors
/// A trace that cannot be read, or a trace or workload that does not fit its namespace, at the config path of the tenant.
pub(crate) fn sources(config: &CheckedConfig) -> Result<TenantSources> {
    let (mut sources, mut told, mut scan_s) = (Vec::new(), Vec::new(), 0.0);
    for ((index, tenant), bytes) in config.config().host.tenants.iter().enumerate().zip(config.namespaces()?) {
        let path = format!("host.tenants[{index}]");
        let (first_byte, capacity) = (bytes.start, bytes.end - bytes.start);
        let (source, of): (Box<dyn RequestSource>, Value) = if tenant.idle {
            (Box::new(NoRequests), Value::Null)
        } else if let Some(spec) = &tenant.trace {
            let opened = spec.spec(config.directory()).map_err(|error| within(&format!("{path}.trace"), &error))?;
            let trace = Trace::open(opened, &mut |_| true)?;
            config.check_flushes(trace.stats())?;
            scan_s += trace.scan_s();
            let source = trace.requests(capacity, spec.beyond)?;
            (Box::new(Within { source, first_byte }), json!({ "trace": trace.stats() }))
        } else {
            let workload = tenant.workload.as_ref().expect("a tenant has a workload or a trace");
            let seed = config.config().seed.wrapping_add((index as u64).wrapping_mul(SEED_STEP));
            let source = workload.source(seed, capacity).map_err(|error| within(&path, &error))?;
            (Box::new(Within { source, first_byte }), json!({ "workload": workload }))
        };
        sources.push(source);
        told.push(json!({ "name": tenant.name, "first_byte": first_byte, "bytes": capacity, "source": of }));
    }
    Ok(TenantSources { sources, told: json!({ "tenants": told }), scan_s })
}

/// Results of one tenant.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TenantSummary {
    /// Name of the tenant.
    pub name: String,
    /// Completed requests of the tenant.
    pub requests: u64,
    /// Completed trims.
    pub trims: u64,
    /// Completed flushes.
    pub flushes: u64,
    /// Time from the tenant's first arrival to its last completion, s.
    pub span_s: f64,
    /// Completed requests per s of `span_s`; `null` if that is 0.
    pub iops: Option<f64>,
    /// Bytes of completed reads over `span_s`, MB/s: 10^6 bytes.
    pub read_mb_per_s: Option<f64>,
    /// Bytes of completed writes over `span_s`, MB/s.
    pub write_mb_per_s: Option<f64>,
    /// Bytes of completed trims over `span_s`, MB/s.
    pub trim_mb_per_s: Option<f64>,
    /// Response times of the tenant's reads, from arrival to completion.
    pub read: ResponseSummary,
    /// Response times of the tenant's writes.
    pub write: ResponseSummary,
    /// Response times of the tenant's trims.
    pub trim: ResponseSummary,
    /// Response times of all the tenant's requests.
    pub all: ResponseSummary,
    /// Codewords that the tenant read from flash.
    pub codewords_read: u64,
    /// Codewords of the tenant's reads that no level decoded.
    pub uncorrectable: u64,
    /// Requests that found the tenant's submission queue full at their arrival, and waited at the host; 0 in a closed loop.
    pub found_queue_full: u64,
    /// Reads that completed after their deadline; absent without deadlines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missed_deadlines: Option<u64>,
}

impl TenantSummary {
    pub(crate) fn new(name: &str, tenant: &TenantStatistics, has_deadlines: bool) -> Self {
        let (requests, span_s) = (tenant.completed(), tenant.span().as_secs());
        let per_s = |amount: f64| (span_s > 0.0).then(|| amount / span_s);
        Self {
            name: name.to_owned(),
            requests,
            trims: tenant.trims.count(),
            flushes: tenant.flushes.count(),
            span_s,
            iops: per_s(requests as f64),
            read_mb_per_s: per_s(tenant.read_bytes as f64 * 1e-6),
            write_mb_per_s: per_s(tenant.written_bytes as f64 * 1e-6),
            trim_mb_per_s: per_s(tenant.trimmed_bytes as f64 * 1e-6),
            read: tenant.reads.summary(),
            write: tenant.writes.summary(),
            trim: tenant.trims.summary(),
            all: tenant.all().summary(),
            codewords_read: tenant.codewords_read,
            uncorrectable: tenant.uncorrectable,
            found_queue_full: tenant.found_queue_full,
            missed_deadlines: has_deadlines.then_some(tenant.missed_deadlines),
        }
    }
}

/// Measures of how fair a device is to the tenants that share it.
///
/// Source: A. Tavakkol et al., "FLIN: Enabling Fairness and Enhancing Performance in Modern NVMe Solid State Drives", ISCA 2018, section 6:
/// slowdown, fairness and weighted speedup, which MQSim (FAST 2018) has, too. Harmonic speedup: K. Luo, J. Gummaraju, M. Franklin,
/// "Balancing throughput and fairness in SMT processors", ISPASS 2001.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fairness {
    /// Slowdown of each tenant: its mean response beside the others, over its mean response alone.
    pub slowdowns: Vec<f64>,
    /// The least slowdown over the largest, above 0 and up to 1; it is 1 if all tenants are slowed down alike.
    pub fairness: f64,
    /// The largest slowdown.
    pub max_slowdown: f64,
    /// The sum of the inverse slowdowns, up to the number of tenants.
    pub weighted_speedup: f64,
    /// The number of tenants over the sum of slowdowns, up to 1.
    pub harmonic_speedup: f64,
}

impl Fairness {
    /// Computes the measures from the tenants' mean responses alone and beside the others, us, in the same order.
    ///
    /// # Errors
    /// When there are no tenants, when the two lists differ in length, or when a response is not above 0.
    pub fn new(alone_us: &[f64], shared_us: &[f64]) -> Result<Self> {
        let bad = |message: String| Err(Error::config("fairness", message));
        if alone_us.is_empty() || alone_us.len() != shared_us.len() {
            let (alone, shared) = (alone_us.len(), shared_us.len());
            return bad(format!(
                "found {alone} mean responses of tenants alone and {shared} together, expected the same number of both"
            ));
        }
        if let Some(other) = alone_us.iter().chain(shared_us).find(|us| !(**us > 0.0 && us.is_finite())) {
            return bad(format!("found a mean response of {other} us, expected a number above 0"));
        }
        let slowdowns: Vec<f64> = shared_us.iter().zip(alone_us).map(|(shared, alone)| shared / alone).collect();
        let max_slowdown = slowdowns.iter().copied().fold(0.0, f64::max);
        let least = slowdowns.iter().copied().fold(f64::INFINITY, f64::min);
        Ok(Self {
            fairness: least / max_slowdown,
            max_slowdown,
            weighted_speedup: slowdowns.iter().map(|slowdown| 1.0 / slowdown).sum(),
            harmonic_speedup: slowdowns.len() as f64 / slowdowns.iter().sum::<f64>(),
            slowdowns,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Do the measures follow from slowdowns of 2 and 8 as their definitions say?
    #[test]
    fn fairness_follows_its_definitions() {
        let fairness = Fairness::new(&[100.0, 50.0], &[200.0, 400.0]).unwrap();
        assert_eq!(fairness.slowdowns, [2.0, 8.0]);
        assert_eq!((fairness.fairness, fairness.max_slowdown), (0.25, 8.0));
        assert_eq!((fairness.weighted_speedup, fairness.harmonic_speedup), (0.625, 0.2));
        for (alone, shared) in [(vec![], vec![]), (vec![1.0], vec![1.0, 2.0]), (vec![0.0], vec![1.0])] {
            assert!(Fairness::new(&alone, &shared).unwrap_err().to_string().contains("expected"));
        }
    }
}
