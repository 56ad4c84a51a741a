//! Do requests take what their operations take, to the nanosecond?

use crate::support::{UNIT, ask, config, data, number, open, spec};
use softsense_drive::DriveSpec;
use softsense_drive::nbd::Export as _;

/// Of `tlc-femu`, us.
const SENSE_US: [f64; 3] = [56.5, 77.5, 106.0];
const PROGRAM_US: f64 = 820.0 + 2200.0 + 5700.0;
const TRANSFER_US: f64 = 5.125;
const DECODE_US: f64 = 2.5;
/// Codewords of a page.
const CODEWORDS: u64 = 4;

/// What one read of so many units takes on a drive of four dies with everything at rest, us.
fn read_us(first: u64, units: u64) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let spec = DriveSpec { parity: false, ..spec(folder.path(), 8 << 20) };
    let drive = open(&config(&[]), &spec).unwrap();
    (0..1024).for_each(|unit| drive.write(unit * UNIT as u64, &data(unit, 0), false).unwrap());
    // Programs end.
    ask(&drive, r#"{"age": {"retention_hours": 0.001}}"#);
    let mut found = vec![0; units as usize * UNIT];
    drive.read(first * UNIT as u64, &mut found).unwrap();
    let status = ask(&drive, r#"{"status": {}}"#);
    assert_eq!(number(&status, "codewords.retried"), 0.0);
    number(&status, "read_latency_us.max_us")
}

/// Units are written page by page, dies in turn: 16 units are a page of each die, 48 a wordline of all.
#[test]
fn reads_take_their_sensing_transfers_and_decodes() {
    let near = |found: f64, expected: f64| assert!((found - expected).abs() < 5e-4, "{found} for {expected}");
    for (page, sense_us) in SENSE_US.into_iter().enumerate() {
        let first = 4 * CODEWORDS * page as u64;
        near(read_us(first, 1), sense_us + TRANSFER_US + DECODE_US);
        // A page is sensed once, its codewords cross the bus one after another, and all but the last are decoded meanwhile.
        near(read_us(first, CODEWORDS), sense_us + 4.0 * TRANSFER_US + DECODE_US);
        // Dies on channels of their own do so at once.
        near(read_us(first, 4 * CODEWORDS), sense_us + 4.0 * TRANSFER_US + DECODE_US);
    }
    // All pages of a wordline of a die: one sensing after another; the last is the longest.
    near(read_us(0, 48), SENSE_US.iter().sum::<f64>() + 4.0 * TRANSFER_US + DECODE_US);
}

/// A read waits for the program that its die is busy with.
#[test]
fn reads_wait_for_programs() {
    let folder = tempfile::tempdir().unwrap();
    let spec = DriveSpec { parity: false, protected_cache: false, ..spec(folder.path(), 8 << 20) };
    let drive = open(&config(&[]), &spec).unwrap();
    // Of a volatile cache, FLUSH programs what it has, and waits for it.
    drive.write(0, &data(0, 0), false).unwrap();
    drive.flush().unwrap();
    let clock = |drive| number(&ask(drive, r#"{"status": {}}"#), "clock_s") * 1e6;
    let transfer_us = 12.0 * TRANSFER_US;
    let flushed_us = clock(&drive);
    assert!((flushed_us - transfer_us - PROGRAM_US).abs() < 1e-3, "{flushed_us}");
    drive.read(0, &mut vec![0; UNIT]).unwrap();
    let read_us = clock(&drive) - flushed_us;
    assert!((read_us - SENSE_US[0] - TRANSFER_US - DECODE_US).abs() < 1e-3, "{read_us}");
}
