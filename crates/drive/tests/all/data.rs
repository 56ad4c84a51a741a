//! Does a host get back what it wrote, or an error, and nothing else, whatever the drive has been through?

use std::collections::HashMap;

use crate::support::{UNIT, ask, config, data, number, open, spec};
use softsense_base::{Purpose, Stream};
use softsense_drive::DriveSpec;
use softsense_drive::nbd::{Export as _, Failure};

/// Random requests of all kinds on a small drive, against a map of what was written; faults that parity makes good; a crash.
#[test]
fn reads_are_what_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(&["ftl.over_provisioning=0.15"]);
    let spec = spec(folder.path(), 16 << 20);
    let mut drive = open(&config, &spec).unwrap();
    let units = spec.size_bytes.unwrap() / UNIT as u64;
    let lot = Stream::new(11, Purpose::Workload);
    let mut held: HashMap<u64, Vec<u8>> = HashMap::new();
    for turn in 0..12_000u64 {
        // Not all of it: a drive of four dies that loses one has room for less.
        let unit = lot.bits(turn, 0) % (units / 2);
        let offset = unit * UNIT as u64;
        match lot.bits(turn, 1) % 100 {
            0..55 => {
                drive.write(offset, &data(unit, turn), turn % 50 == 0).unwrap();
                held.insert(unit, data(unit, turn));
            }
            55..60 => {
                // A part of a unit and of the next.
                let units = [unit, (unit + 1) % (units / 2)];
                let bytes = data(unit, turn);
                if units[1] != 0 {
                    drive.write(offset + 2048, &bytes, false).unwrap();
                    held.entry(units[0]).or_insert(vec![0; UNIT])[2048..].copy_from_slice(&bytes[..2048]);
                    held.entry(units[1]).or_insert(vec![0; UNIT])[..2048].copy_from_slice(&bytes[2048..]);
                }
            }
            60..65 => {
                drive.trim(offset, UNIT as u64, false).unwrap();
                held.remove(&unit);
            }
            65..66 => drive.flush().unwrap(),
            _ => {
                let mut found = vec![0xaa; UNIT];
                drive.read(offset, &mut found).unwrap();
                assert!(found == *held.get(&unit).unwrap_or(&vec![0; UNIT]), "unit {unit} in turn {turn}");
            }
        }
        if turn == 5_000 {
            ask(&drive, r#"{"age": {"retention_hours": 2000, "pe_cycles": 500, "reads": 1000}}"#);
        }
        if turn == 6_000 {
            ask(&drive, r#"{"fault": {"kill_die": 2}}"#);
        }
        if turn == 8_000 {
            // Stopped without a word: what is not on the disk is lost, so make sure it is.
            drive.flush().unwrap();
            drop(drive);
            drive = open(&config, &spec).unwrap();
        }
    }
    let status = ask(&drive, r#"{"status": {}}"#);
    assert!(number(&status, "background.collected") > 5.0, "{status}");
    assert!(number(&status, "codewords.recovered_by_parity") > 100.0, "{status}");
    assert_eq!(number(&status, "host.read_errors"), 0.0);
    assert_eq!(number(&status, "codewords.undetected"), 0.0);
    for unit in 0..units {
        let mut found = vec![0xaa; UNIT];
        drive.read(unit * UNIT as u64, &mut found).unwrap();
        assert!(found == *held.get(&unit).unwrap_or(&vec![0; UNIT]), "unit {unit} in the end");
    }
}

/// As a drive dies: is every unit right, or an error, or counted?
fn dies(overrides: &[&str], parity: bool) -> [f64; 4] {
    let folder = tempfile::tempdir().unwrap();
    let spec = DriveSpec { parity, ..spec(folder.path(), 1 << 20) };
    let drive = open(&config(overrides), &spec).unwrap();
    let units = spec.size_bytes.unwrap() / UNIT as u64;
    (0..units).for_each(|unit| drive.write(unit * UNIT as u64, &data(unit, 0), false).unwrap());
    drive.flush().unwrap();
    let (mut right, mut failed, mut wrong) = (0.0, 0.0, 0.0);
    for _ in 0..6 {
        ask(&drive, r#"{"age": {"retention_hours": 3000, "pe_cycles": 1000}}"#);
        for unit in 0..units {
            let mut found = vec![0; UNIT];
            match drive.read(unit * UNIT as u64, &mut found) {
                Ok(()) if found == data(unit, 0) => right += 1.0,
                Ok(()) => wrong += 1.0,
                Err(Failure::Io { offset }) => {
                    assert_eq!(offset, unit * UNIT as u64);
                    failed += 1.0;
                }
                Err(other) => panic!("{other:?}"),
            }
        }
    }
    let status = ask(&drive, r#"{"status": {}}"#);
    assert_eq!(number(&status, "host.undetected"), wrong);
    assert_eq!(number(&status, "host.read_errors"), failed);
    [right, failed, wrong, number(&status, "codewords.recovered_by_parity")]
}

#[test]
fn a_dying_drive_says_so() {
    let [right, failed, wrong, recovered] = dies(&["read.max_level=2"], true);
    println!("LDPC, parity: {right} right, {failed} failed, {wrong} wrong, {recovered} recovered");
    assert!(right > 0.0 && failed > 0.0 && wrong == 0.0 && recovered > 0.0);
}

/// Does parity make good whatever one die of a stripe does, and nothing more?
#[test]
fn parity_makes_one_die_good() {
    let folder = tempfile::tempdir().unwrap();
    for (number_of_drive, parity) in [true, false].into_iter().enumerate() {
        let spec = DriveSpec { parity, ..spec(&folder.path().join(number_of_drive.to_string()), 4 << 20) };
        let drive = open(&config(&[]), &spec).unwrap();
        let units = spec.size_bytes.unwrap() / UNIT as u64;
        (0..units).for_each(|unit| drive.write(unit * UNIT as u64, &data(unit, 0), false).unwrap());
        drive.flush().unwrap();
        let readable = || {
            let right = |unit: &u64| {
                let mut found = vec![0; UNIT];
                let read = drive.read(unit * UNIT as u64, &mut found);
                read.is_ok() && found == data(*unit, 0)
            };
            (0..units).filter(right).count() as u64
        };
        assert_eq!(readable(), units);
        for die in 0..4 {
            ask(&drive, &format!(r#"{{"fault": {{"kill_die": {die}}}}}"#));
            let left = readable();
            assert_eq!(left == units, parity, "die {die}: {left} of {units}");
            ask(&drive, r#"{"fault": {"heal": {}}}"#);
        }
        ask(&drive, r#"{"fault": {"flip_bits": {"lba": 0, "bits": 2000}}}"#);
        assert_eq!(readable(), if parity { units } else { units - 1 });
        ask(&drive, r#"{"fault": {"kill_die": 1}}"#);
        ask(&drive, r#"{"fault": {"kill_plane": 0}}"#);
        assert!(readable() < units, "two dies of half the stripes");
    }
}

/// Is a write buffer bounded, whatever is written over and over? And does a fault turn as many bits as it says?
#[test]
fn the_same_unit_again_and_again() {
    let folder = tempfile::tempdir().unwrap();
    let spec = DriveSpec { parity: false, ..spec(folder.path(), 4 << 20) };
    let drive = open(&config(&[]), &spec).unwrap();
    (0..20_000).for_each(|version| drive.write(0, &data(0, version % 3), false).unwrap());
    (1..1024).for_each(|unit| drive.write(unit * UNIT as u64, &data(unit, 0), false).unwrap());
    drive.close().unwrap();
    assert!(std::fs::metadata(spec.image.join("state.bin")).unwrap().len() < 1 << 20);
    drop(drive);
    let drive = open(&config(&[]), &spec).unwrap();
    let mut found = vec![0; UNIT];
    drive.read(0, &mut found).unwrap();
    assert!(found == data(0, 19_999 % 3));
    for (bits, turned) in [(20, 20), (20, 20), (1_000_000, 36_864 - 40), (1, 0)] {
        let flipped = ask(&drive, &format!(r#"{{"fault": {{"flip_bits": {{"lba": 0, "bits": {bits}}}}}}}"#));
        assert_eq!(number(&flipped, "bits"), f64::from(turned));
    }
}

/// A code that corrects two errors takes other codewords for what was written, often: each is counted.
#[test]
fn what_a_weak_code_does_not_notice_is_counted() {
    let weak = r#"reliability={exact={code="bch:m=16,t=2,k=32768",rber={threshold_voltage="tlc-measured"}}}"#;
    let [right, failed, wrong, _] = dies(&[weak, "read.max_level=1", "read.soft_references=cells"], false);
    println!("BCH, t = 2: {right} right, {failed} failed, {wrong} wrong");
    assert!(failed > 0.0 && wrong > 10.0);
}

/// Ten million sectors, read over ages until the drive is dead: by LDPC with parity, and by a code that notices little.
#[test]
#[ignore = "some ten minutes; `cargo test --release -p softsense-drive -- --ignored ten_million`"]
fn ten_million_sectors() {
    let weak = r#"reliability={exact={code="bch:m=16,t=4,k=32768",rber={threshold_voltage="tlc-measured"}}}"#;
    for (name, overrides, parity) in [
        ("BCH, t = 4", &[weak, "read.max_level=1", "read.soft_references=cells"][..], false),
        ("LDPC, parity", &[][..], true),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let spec = DriveSpec { parity, ..spec(folder.path(), 128 << 20) };
        let drive = open(&config(overrides), &spec).unwrap();
        let units = spec.size_bytes.unwrap() / UNIT as u64;
        (0..units).for_each(|unit| drive.write(unit * UNIT as u64, &data(unit, 0), false).unwrap());
        drive.flush().unwrap();
        let (mut right, mut failed, mut wrong) = (0u64, 0u64, 0u64);
        for age in 0.. {
            let before = failed + wrong;
            for unit in 0..units {
                let mut found = vec![0; UNIT];
                match drive.read(unit * UNIT as u64, &mut found) {
                    Ok(()) if found == data(unit, 0) => right += 1,
                    Ok(()) => wrong += 1,
                    Err(Failure::Io { .. }) => failed += 1,
                    Err(other) => panic!("{other:?}"),
                }
            }
            let sectors = 8 * (right + failed + wrong);
            println!("{name}: age {age}, {sectors} sectors, {right} units right, {failed} failed, {wrong} wrong");
            if sectors >= 10_000_000 && failed + wrong - before > units / 4 {
                break;
            }
            // Its life first, then its end.
            let steps = if sectors < 10_000_000 { 1 } else { 8 };
            let (hours, pe_cycles) = (150 * steps, 75 * steps);
            ask(&drive, &format!(r#"{{"age": {{"retention_hours": {hours}, "pe_cycles": {pe_cycles}}}}}"#));
        }
        let status = ask(&drive, r#"{"status": {}}"#);
        assert_eq!(number(&status, "host.undetected"), wrong as f64);
        assert_eq!(number(&status, "host.read_errors"), failed as f64);
        assert!(failed > 0 && (wrong > 0) != parity, "{failed} {wrong}");
    }
}
