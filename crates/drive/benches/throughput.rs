//! How fast a drive is served: sequential reads and writes, each byte encoded, programmed, sensed and decoded, on one core.
//!
//! `cargo bench -p softsense-drive` prints what each takes and what is expected of it on a machine of 2025.

use std::time::Instant;

use softsense_config::checked::CheckedConfig;
use softsense_drive::nbd::Export as _;
use softsense_drive::{DriveSpec, ServedDrive};

const SIZE_BYTES: u64 = 256 << 20;
const REQUEST_BYTES: usize = 1 << 20;

fn mb_per_s(what: &str, expected: f64, act: impl FnOnce()) {
    let started = Instant::now();
    act();
    let rate = SIZE_BYTES as f64 / 1e6 / started.elapsed().as_secs_f64();
    println!("{what:<50} {rate:>7.0} MB/s, expected {expected:.0} or more");
}

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let spec = DriveSpec {
        image: folder.path().join("image"),
        size_bytes: Some(SIZE_BYTES),
        parity: true,
        refresh_hours: None,
        protected_cache: true,
        seed: None,
        config: None,
    };
    let config = CheckedConfig::open("tlc-femu", &[]).expect("it ships");
    let drive = ServedDrive::open(&config, spec, false, false).expect("it can be served");
    let mut data = vec![0; REQUEST_BYTES];
    let offsets = || (0..SIZE_BYTES).step_by(REQUEST_BYTES);
    let write = |data: &mut [u8]| {
        for offset in offsets() {
            // Not the same in every request.
            data[..8].copy_from_slice(&offset.to_le_bytes());
            drive.write(offset, data, false).expect("there is room");
        }
        drive.flush().expect("it is put on the disk");
    };
    let read = |data: &mut [u8]| {
        for offset in offsets() {
            drive.read(offset, data).expect("it is not dead");
            assert_eq!(data[..8], offset.to_le_bytes());
        }
    };
    mb_per_s("write, fresh", 60.0, || write(&mut data));
    mb_per_s("write over it, fresh", 60.0, || write(&mut data));
    mb_per_s("read, fresh", 100.0, || read(&mut data));
    for (pe_cycles, hours) in [(1000, 720.0), (2000, 1440.0)] {
        drive.ask(&format!(r#"{{"age": {{"pe_cycles": {pe_cycles}, "retention_hours": {hours}}}}}"#));
        mb_per_s("read for the first time after ageing", 0.0, || read(&mut data));
        mb_per_s("read again", 25.0, || read(&mut data));
        let status: serde_json::Value = serde_json::from_str(&drive.ask(r#"{"status": {}}"#)).expect("JSON");
        let (ages, codewords) = (&status["ok"]["ages"], &status["ok"]["codewords"]);
        println!("  {ages}, {} of {} codewords retried", codewords["retried"], codewords["read"]);
    }
}
