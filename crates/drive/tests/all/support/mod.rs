//! Drives for tests, and what is written to them.

#![allow(dead_code)]

use std::path::Path;

use serde_json::Value;
use softsense_base::{Purpose, Stream};
use softsense_config::checked::CheckedConfig;
use softsense_drive::{DriveSpec, ServedDrive};

pub(crate) const UNIT: usize = 4096;

/// `tlc-femu` with cells that read their data at once while they are young and lose it soon when they are worn: tests take a tenth of the
/// time that those with its own cells would, which go through their retry table for a few days' old data.
pub(crate) fn config(overrides: &[&str]) -> CheckedConfig {
    let planar = [
        "reliability.table.rber.threshold_voltage='tlc-measured'",
        "reliability.table.variation={ chip_sigma = 0.1, block_sigma = 0.1, page_sigma = 0.1 }",
    ];
    let overrides: Vec<String> = planar.iter().chain(overrides).map(|text| (*text).into()).collect();
    CheckedConfig::open("tlc-femu", &overrides).unwrap()
}

pub(crate) fn spec(image: &Path, size_bytes: u64) -> DriveSpec {
    DriveSpec {
        image: image.join("image"),
        size_bytes: Some(size_bytes),
        parity: true,
        refresh_hours: None,
        protected_cache: true,
        seed: None,
        config: None,
    }
}

pub(crate) fn open(config: &CheckedConfig, spec: &DriveSpec) -> softsense_base::Result<ServedDrive> {
    ServedDrive::open(config, spec.clone(), false, false)
}

pub(crate) fn ask(drive: &ServedDrive, request: &str) -> Value {
    let answer: Value = serde_json::from_str(&drive.ask(request)).unwrap();
    assert!(answer.get("ok").is_some(), "{request}: {answer}");
    answer["ok"].clone()
}

pub(crate) fn number(status: &Value, path: &str) -> f64 {
    path.split('.').fold(status, |value, field| &value[field]).as_f64().unwrap_or_else(|| panic!("{path} in {status}"))
}

/// Data of a unit in its so manyth version.
pub(crate) fn data(unit: u64, version: u64) -> Vec<u8> {
    let stream = Stream::new(unit, Purpose::Data);
    (0..UNIT as u64 / 8).flat_map(|word| stream.bits(version, word).to_le_bytes()).collect()
}
