//! What the integration tests share: devices made of TOML fragments, and requests made by hand.

use std::collections::HashMap;
use std::path::PathBuf;

use softsense_base::{Ns, Purpose, Result, Stream};
use softsense_config::checked::CheckedConfig;
use softsense_config::ids::Lcn;
use softsense_ftl::Location;
use softsense_requests::{Request, RequestKind, RequestSource};
use softsense_ssd::simulation::{Simulation, Sources};

pub(crate) const CODEWORD: u64 = 4096;

/// Requests held in a list.
pub(crate) struct Listed {
    requests: std::vec::IntoIter<Request>,
}

impl Listed {
    pub(crate) fn new(requests: Vec<Request>) -> Self {
        Self { requests: requests.into_iter() }
    }
}

impl RequestSource for Listed {
    fn next_request(&mut self) -> Result<Option<Request>> {
        Ok(self.requests.next())
    }

    fn fraction_read(&self) -> f64 {
        0.0
    }
}

/// DiskSim's machine with few blocks.
pub(crate) fn small_disksim(more: &[&str]) -> CheckedConfig {
    let base = [
        "geometry.blocks_per_plane=32",
        "ftl.gc_low_watermark_blocks=2",
        "ftl.gc_high_watermark_blocks=2",
        "ftl.over_provisioning=0.3",
    ];
    shipped("disksim-ssd.toml", &[&base[..], more].concat())
}

pub(crate) fn config(toml: &str) -> CheckedConfig {
    CheckedConfig::from_toml(toml, "test.toml", &[]).unwrap()
}

/// One plane of `tlc-femu` with small blocks and planar cells. A block has 8 wordlines of three pages, and a page has one codeword. Data lies in
/// the order of its addresses.
pub(crate) const SMALL_TLC: [&str; 9] = [
    "geometry={ channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 16, \
     pages_per_block = 24, codewords_per_page = 1, codeword_bytes = 4096 }",
    "ftl.over_provisioning=0.6",
    "precondition.retention_days=0.0",
    "precondition.pe_cycles=1000",
    "precondition.layout='sequential'",
    "host.write_buffer_bytes=0",
    "reliability.table.rber.threshold_voltage='tlc-measured'",
    "reliability.table.variation={ chip_sigma = 0.0, block_sigma = 0.0, page_sigma = 0.0 }",
    "host.issue={ closed_loop = { queue_depth = 1 } }",
];

pub(crate) fn shipped(name: &str, overrides: &[&str]) -> CheckedConfig {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../configs").join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
    CheckedConfig::from_toml(&text, &path.display().to_string(), &overrides).unwrap()
}

pub(crate) fn request(kind: RequestKind, arrival: Ns, first_codeword: u64, codewords: u64) -> Request {
    units_of(CODEWORD, kind, arrival, first_codeword, codewords)
}

/// A request of units of so many bytes.
pub(crate) fn units_of(bytes: u64, kind: RequestKind, arrival: Ns, first: u64, count: u64) -> Request {
    Request { arrival, kind, offset_bytes: first * bytes, bytes: count * bytes }
}

/// Random writes, reads and trims of up to twenty units, one after the other.
///
/// # Arguments
/// - `hot`: only so many units are asked for.
/// - `spacing`: between arrivals.
pub(crate) fn random_requests(config: &CheckedConfig, count: u32, hot: u64, spacing: Ns) -> Vec<Request> {
    let stream = Stream::new(6, Purpose::Workload);
    let user = config.user_codewords().min(hot);
    (0..count)
        .map(|i| {
            let kind = match stream.bits(i.into(), 0) % 8 {
                0 => RequestKind::Trim,
                1 | 2 => RequestKind::Read,
                _ => RequestKind::Write,
            };
            let length = 1 + stream.bits(i.into(), 1) % 20;
            let first = stream.bits(i.into(), 2) % (user - length);
            let unit = u64::from(config.config().geometry.codeword_bytes);
            units_of(unit, kind, Ns(spacing.0 * u64::from(i)), first, length)
        })
        .collect()
}

/// Of each unit, whether the last that was done with it is a write, in a device that began whole.
pub(crate) fn served(config: &CheckedConfig, requests: &[Request]) -> HashMap<u64, bool> {
    let unit = u64::from(config.config().geometry.codeword_bytes);
    let mut mapped: HashMap<u64, bool> = (0..config.user_codewords()).map(|lcn| (lcn, true)).collect();
    for request in requests.iter().filter(|request| request.kind != RequestKind::Read) {
        for lcn in request.offset_bytes / unit..(request.offset_bytes + request.bytes) / unit {
            mapped.insert(lcn, request.kind == RequestKind::Write);
        }
    }
    mapped
}

/// Panics unless every unit is where the map says, if it should be anywhere.
pub(crate) fn assert_map(simulation: &Simulation, expected: &HashMap<u64, bool>) {
    simulation.ftl().assert_consistent();
    for (&lcn, &mapped) in expected {
        match simulation.ftl().locate(Lcn(lcn)) {
            Location::Flash(place) => assert!(mapped && simulation.ftl().owner(place) == Some(Lcn(lcn))),
            Location::Unmapped => assert!(!mapped, "unit {lcn} was lost"),
            other => panic!("unit {lcn} is {other:?} after the end"),
        }
    }
}

pub(crate) fn simulation(config: &CheckedConfig, requests: Vec<Request>) -> Simulation {
    Simulation::new(config, Box::new(Listed { requests: requests.into_iter() }), true).unwrap()
}

/// Runs to the end.
pub(crate) fn run(config: &CheckedConfig, requests: Vec<Request>) -> Simulation {
    let mut simulation = simulation(config, requests);
    while simulation.advance(1_000_000).unwrap() {}
    simulation
}

/// Responses of requests for a codeword each, which arrive at these times, in ns, by their number.
pub(crate) fn responses(config: &CheckedConfig, requests: &[(RequestKind, u64, u64)]) -> Vec<u64> {
    let requests = requests.iter().map(|&(kind, lcn, arrival)| request(kind, Ns(arrival), lcn, 1)).collect();
    let mut rows = run(config, requests).take_log();
    rows.sort_by_key(|row| row.request);
    rows.iter().map(|row| row.response.0).collect()
}

/// The tenants of a config, each with requests of its own, to the end.
pub(crate) fn run_tenants(config: &CheckedConfig, requests: Vec<Vec<Request>>) -> Simulation {
    let mut simulation = tenants(config, requests);
    while simulation.advance(1_000_000).unwrap() {}
    simulation
}

pub(crate) fn tenants(config: &CheckedConfig, requests: Vec<Vec<Request>>) -> Simulation {
    let sources = requests.into_iter().map(|requests| Box::new(Listed::new(requests)) as _).collect();
    Simulation::of(config, Sources::Tenants(sources), true).unwrap()
}

/// A simulation whose tenants issue requests of one list by turns.
pub(crate) fn by_turns(config: &CheckedConfig, requests: &[Request]) -> Simulation {
    let count = config.config().host.tenants.len();
    let of = |tenant: usize| requests.iter().skip(tenant).step_by(count).copied().collect();
    tenants(config, (0..count).map(of).collect())
}

/// Reads of one codeword each, at different places, so far apart in time that none meets another.
pub(crate) fn lone_reads(config: &CheckedConfig, count: u64) -> Vec<Request> {
    let codewords = config.user_codewords();
    let step = codewords / count;
    assert!(step > 0, "as many places as reads");
    (0..count).map(|i| request(RequestKind::Read, Ns::from_us(10_000.0 * i as f64), i * step, 1)).collect()
}
