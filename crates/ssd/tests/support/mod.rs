//! What the integration tests share: devices made of TOML fragments, and requests made by hand.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::path::PathBuf;

use softsense_base::{Ns, Result};
use softsense_ssd::config::CheckedConfig;
use softsense_ssd::request::{Request, RequestKind, RequestSource};
use softsense_ssd::simulation::Simulation;

pub const CODEWORD: u64 = 4096;

/// Requests held in a list.
pub struct Listed {
    requests: std::vec::IntoIter<Request>,
}

impl RequestSource for Listed {
    fn next_request(&mut self) -> Result<Option<Request>> {
        Ok(self.requests.next())
    }

    fn fraction_read(&self) -> f64 {
        0.0
    }
}

pub fn config(toml: &str) -> CheckedConfig {
    CheckedConfig::from_toml(toml, "test.toml", &[]).unwrap()
}

pub fn shipped(name: &str, overrides: &[&str]) -> CheckedConfig {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../configs").join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
    CheckedConfig::from_toml(&text, &path.display().to_string(), &overrides).unwrap()
}

pub fn request(kind: RequestKind, arrival: Ns, first_codeword: u64, codewords: u64) -> Request {
    Request { arrival, kind, offset_bytes: first_codeword * CODEWORD, bytes: codewords * CODEWORD }
}

pub fn simulation(config: &CheckedConfig, requests: Vec<Request>) -> Simulation {
    Simulation::new(config, Box::new(Listed { requests: requests.into_iter() }), true).unwrap()
}

/// Runs to the end.
pub fn run(config: &CheckedConfig, requests: Vec<Request>) -> Simulation {
    let mut simulation = simulation(config, requests);
    while simulation.advance(1_000_000).unwrap() {}
    simulation
}

/// Reads of one codeword each, at different places, so far apart in time that none meets another.
pub fn lone_reads(config: &CheckedConfig, count: u64) -> Vec<Request> {
    let codewords = config.user_codewords();
    let step = codewords / count;
    assert!(step > 0, "as many places as reads");
    (0..count).map(|i| request(RequestKind::Read, Ns::from_us(10_000.0 * i as f64), i * step, 1)).collect()
}
