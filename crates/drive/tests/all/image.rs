//! Is an image what its drive was, and is one that is not refused?

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::Path;

use crate::support::{UNIT, ask, config, data, number, open, spec};
use softsense_drive::DriveSpec;
use softsense_drive::nbd::{Export as _, Failure};

const SIZE_BYTES: u64 = 8 << 20;
const UNITS: u64 = SIZE_BYTES / UNIT as u64;

fn filled(spec: &DriveSpec) {
    let drive = open(&config(&[]), spec).unwrap();
    (0..UNITS).for_each(|unit| drive.write(unit * UNIT as u64, &data(unit, 0), false).unwrap());
    drive.close().unwrap();
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// The same requests, from the same image: the same bytes, errors, times and counts.
#[test]
fn a_drive_goes_on_as_its_image_says() {
    let folder = tempfile::tempdir().unwrap();
    let spec = spec(folder.path(), SIZE_BYTES);
    filled(&spec);
    let other = DriveSpec { image: folder.path().join("other"), ..spec.clone() };
    copy(&spec.image, &other.image);
    let story = |spec: &DriveSpec| {
        let drive = open(&config(&[]), spec).unwrap();
        ask(&drive, r#"{"age": {"retention_hours": 3000, "pe_cycles": 3500}}"#);
        let mut read = Vec::new();
        for turn in 0..600 {
            let unit = turn * 37 % UNITS;
            let mut found = vec![0; UNIT];
            read.push((drive.read(unit * UNIT as u64, &mut found), found));
            if turn % 3 == 0 {
                drive.write(unit * UNIT as u64, &data(unit, turn), false).unwrap();
            }
        }
        drive.flush().unwrap();
        let mut status = ask(&drive, r#"{"status": {}}"#);
        status["image"] = "".into();
        (read, status)
    };
    let (one, another) = (story(&spec), story(&other));
    assert!(one.0 == another.0);
    assert_eq!(one.1, another.1);
    assert!(number(&one.1, "codewords.retried") > 100.0);
}

#[test]
fn an_image_is_served_once_and_by_its_own_config() {
    let folder = tempfile::tempdir().unwrap();
    let spec = spec(folder.path(), SIZE_BYTES);
    let drive = open(&config(&[]), &spec).unwrap();
    let refused = |spec: &DriveSpec, overrides: &[&str]| open(&config(overrides), spec).err().unwrap().to_string();
    let in_use = "found an image that another process serves, expected one that is not in use: end that `softsense drive serve`, or \
                  name another folder by --image";
    assert!(refused(&spec, &[]).ends_with(in_use));
    drop(drive);
    assert!(open(&config(&[]), &spec).is_ok());
    assert!(refused(&spec, &["read.max_level=3"]).contains("found the image of a drive with another config"));
    let larger = DriveSpec { size_bytes: Some(2 * SIZE_BYTES), ..spec.clone() };
    assert!(
        refused(&larger, &[]).starts_with("--size: found 16777216 bytes, expected 8388608, the size of the image in")
    );
    let nowhere = DriveSpec { image: folder.path().join("new"), size_bytes: None, ..spec.clone() };
    assert!(
        refused(&nowhere, &[])
            .starts_with("--size: missing, expected the size of a new drive, such as 2GiB: there is no image in")
    );
    let elsewhere = DriveSpec { image: folder.path().to_owned(), ..spec.clone() };
    assert!(refused(&elsewhere, &[]).contains("found a folder with other files in it"));
    assert!(refused(&spec, &["read.policy=ideal"]).starts_with("read.policy: found \"ideal\""));
    assert!(
        refused(&spec, &["reliability=perfect"])
            .starts_with("reliability: found a reliability without one code for all ages")
    );
    for (field, instead) in [
        ("ftl.parity={ data_pages = 3 }", "--no-parity"),
        ("ftl.scrub={ period_days = 7.0 }", "softsense drive scrub"),
        ("flash.die_failures=[{ die = 0, at_s = 1.0 }]", "softsense drive fault"),
    ] {
        let error = refused(&spec, &[field]);
        assert!(error.starts_with(field.split('=').next().unwrap()) && error.contains(instead), "{error}");
    }
}

/// A byte that is changed anywhere is found: when the image is opened, or when what it belongs to is read.
#[test]
fn damage_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let sound = spec(folder.path(), SIZE_BYTES);
    filled(&sound);
    // Records that no checkpoint has.
    let drive = open(&config(&[]), &sound).unwrap();
    (0..UNITS / 2).for_each(|unit| drive.write(unit * UNIT as u64, &data(unit, 1), false).unwrap());
    drive.flush().unwrap();
    drop(drive);
    let mut number_of_copies = 0;
    let mut damaged = |file: &str, at: u64| {
        number_of_copies += 1;
        let spec = DriveSpec { image: folder.path().join(number_of_copies.to_string()), ..sound.clone() };
        copy(&sound.image, &spec.image);
        let file = OpenOptions::new().read(true).write(true).open(spec.image.join(file)).unwrap();
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[byte[0] ^ 0x10], at).unwrap();
        spec
    };
    let length = |file: &str| fs::metadata(sound.image.join(file)).unwrap().len();
    for (file, places) in [("state.bin", 40), ("journal.bin", 40), ("drive.json", 10)] {
        for place in 0..places {
            let at = place * (length(file) - 1) / (places - 1);
            let spec = damaged(file, at);
            match open(&config(&[]), &spec) {
                Err(error) => {
                    let text = error.to_string();
                    let said = text.contains("the image is damaged") || text.contains("another config");
                    assert!(said || text.contains("--size"), "{file}, byte {at}: {text}");
                }
                // The length of the last record: then it is taken for one that was cut off.
                Ok(_) => assert_eq!(file, "journal.bin", "byte {at}"),
            }
        }
    }
    // Cells: found by reading, and made good by parity.
    let spec = damaged("cells.bin", 3 * 4608 + 100);
    let drive = open(&config(&[]), &spec).unwrap();
    for unit in 0..UNITS {
        let mut found = vec![0; UNIT];
        drive.read(unit * UNIT as u64, &mut found).unwrap();
        assert!(found == data(unit, u64::from(unit < UNITS / 2)), "unit {unit}");
    }
    ask(&drive, r#"{"scrub": {}}"#);
    let status = ask(&drive, r#"{"status": {}}"#);
    assert!(number(&status, "codewords.damaged_in_image") <= 4.0);
    fs::remove_file(sound.image.join("cells.bin")).unwrap();
    assert!(open(&config(&[]), &sound).is_err());
}

/// Without a word from the drive, at any record: what is cut off at the end of the journal leaves a drive that can be read.
#[test]
fn a_journal_that_ends_anywhere_is_a_drive() {
    let folder = tempfile::tempdir().unwrap();
    let sound = spec(folder.path(), SIZE_BYTES);
    let drive = open(&config(&[]), &sound).unwrap();
    // It has not been written over yet, so nothing is erased: any earlier state still has its cells.
    (0..UNITS).for_each(|unit| drive.write(unit * UNIT as u64, &data(unit, 7), unit % 64 == 63).unwrap());
    drive.flush().unwrap();
    drop(drive);
    let length = fs::metadata(sound.image.join("journal.bin")).unwrap().len();
    let mut before = 0;
    for part in 1..=12 {
        let spec = DriveSpec { image: folder.path().join(format!("cut{part}")), ..sound.clone() };
        copy(&sound.image, &spec.image);
        let file = OpenOptions::new().write(true).open(spec.image.join("journal.bin")).unwrap();
        file.set_len(16 + (length - 16) * part / 12).unwrap();
        let drive = open(&config(&[]), &spec).unwrap();
        let mut there = 0;
        for unit in 0..UNITS {
            let mut found = vec![0; UNIT];
            drive.read(unit * UNIT as u64, &mut found).unwrap();
            if found == data(unit, 7) {
                there += 1;
            } else {
                assert!(found == vec![0; UNIT], "unit {unit}");
            }
        }
        assert!(there >= before, "{there} units, {before} of a shorter journal");
        before = there;
    }
    assert_eq!(before, UNITS);
}

/// Is what was not flushed lost with the power, and only then, and only without a protected cache?
#[test]
fn power_is_lost() {
    for protected_cache in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let spec = DriveSpec { protected_cache, ..spec(folder.path(), SIZE_BYTES) };
        let drive = open(&config(&[]), &spec).unwrap();
        (0..8).for_each(|unit| drive.write(unit * UNIT as u64, &data(unit, 1), false).unwrap());
        drive.flush().unwrap();
        (0..4).for_each(|unit| drive.write(unit * UNIT as u64, &data(unit, 2), false).unwrap());
        let lost = ask(&drive, r#"{"fault": {"drop_power": {}}}"#);
        assert_eq!(number(&lost, "units_lost"), if protected_cache { 0.0 } else { 4.0 });
        for unit in 0..8 {
            let mut found = vec![0; UNIT];
            drive.read(unit * UNIT as u64, &mut found).unwrap();
            let version = if protected_cache && unit < 4 { 2 } else { 1 };
            assert!(found == data(unit, version), "unit {unit}, protected {protected_cache}");
        }
        let status = ask(&drive, r#"{"status": {}}"#);
        let padded = number(&status, "background.padding_written") > 0.0;
        assert_eq!(padded, !protected_cache, "a volatile cache pads what it flushes");
    }
}

/// Does warmth hasten what cells forget, and not the clock by which firmware refreshes? Is the age of the config that of the option, and
/// does the option go before it?
#[test]
fn refresh_goes_by_the_clock_at_any_temperature() {
    let cases = [(25, Some(168.0), None), (40, Some(168.0), Some(1.0)), (55, None, Some(7.0))];
    let refreshed = cases.map(|(temperature_c, refresh_hours, of_config)| {
        let folder = tempfile::tempdir().unwrap();
        let spec = DriveSpec { refresh_hours, ..spec(folder.path(), SIZE_BYTES) };
        let of_config = of_config.map(|days| format!("ftl.refresh={{ age_days = {days:?} }}"));
        let overrides: Vec<&str> = of_config.iter().map(String::as_str).collect();
        let drive = open(&config(&overrides), &spec).unwrap();
        (0..UNITS).for_each(|unit| drive.write(unit * UNIT as u64, &data(unit, 0), false).unwrap());
        let age = format!(r#"{{"retention_hours": 1680, "temperature_c": {temperature_c}, "powered": true}}"#);
        ask(&drive, &format!(r#"{{"age": {age}}}"#));
        let status = ask(&drive, r#"{"status": {}}"#);
        assert!(status["superblocks"].as_array().unwrap().iter().all(|each| number(each, "age_hours") <= 168.0 * 1.25));
        number(&status, "background.refreshed")
    });
    assert!(refreshed[0] > 10.0 && refreshed[1] == refreshed[0] && refreshed[2] == refreshed[0], "{refreshed:?}");
}

/// Do refresh and reclaim keep data alive that a shelf would lose?
#[test]
fn a_drive_with_power_looks_after_its_data() {
    let mut failed = Vec::new();
    for (refresh_hours, powered) in [(Some(400.0), true), (None, true), (Some(400.0), false)] {
        let folder = tempfile::tempdir().unwrap();
        let spec = DriveSpec { refresh_hours, ..spec(folder.path(), SIZE_BYTES) };
        let drive = open(&config(&["read.max_level=1"]), &spec).unwrap();
        ask(&drive, r#"{"age": {"pe_cycles": 3000}}"#);
        (0..UNITS).for_each(|unit| drive.write(unit * UNIT as u64, &data(unit, 0), false).unwrap());
        ask(&drive, &format!(r#"{{"age": {{"retention_hours": 20000, "powered": {powered}}}}}"#));
        let errors = (0..UNITS).filter(|unit| {
            let mut found = vec![0; UNIT];
            matches!(drive.read(unit * UNIT as u64, &mut found), Err(Failure::Io { .. }))
        });
        failed.push(errors.count());
        let status = ask(&drive, r#"{"status": {}}"#);
        let refreshed = number(&status, "background.refreshed");
        // After the shelf it has power again.
        assert_eq!(refreshed > 10.0, refresh_hours.is_some(), "{status}");
    }
    println!("failed: {failed:?} with refresh, without, on a shelf");
    assert!(failed[0] == 0 && failed[1] > 100 && failed[2] > 100);
    let folder = tempfile::tempdir().unwrap();
    let spec = spec(folder.path(), SIZE_BYTES);
    let reclaim = "ftl.read_reclaim={block={reads=2000}}";
    let drive = open(&config(&[reclaim]), &spec).unwrap();
    (0..UNITS).for_each(|unit| drive.write(unit * UNIT as u64, &data(unit, 0), false).unwrap());
    ask(&drive, r#"{"age": {"reads": 20000, "powered": true}}"#);
    assert!(number(&ask(&drive, r#"{"status": {}}"#), "background.reclaimed") > 10.0);
}

/// Is an image for its user alone, from the start, and one of an earlier version from when it is opened?
#[test]
fn an_image_is_for_its_user_alone() {
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let folder = tempfile::tempdir().unwrap();
    let spec = spec(folder.path(), 1 << 20);
    let files = |image: &Path| fs::read_dir(image).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    drop(open(&config(&[]), &spec).unwrap());
    assert_eq!(mode(&spec.image), 0o700);
    assert_eq!(files(&spec.image).len(), 4);
    files(&spec.image).iter().for_each(|file| assert_eq!(mode(file), 0o600, "{}", file.display()));
    // As they were made before; the folder may have been its user's choice.
    let open_to_all = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    open_to_all(&spec.image, 0o755);
    files(&spec.image).iter().for_each(|file| open_to_all(file, 0o644));
    drop(open(&config(&[]), &spec).unwrap());
    files(&spec.image).iter().for_each(|file| assert_eq!(mode(file), 0o600, "{}", file.display()));
    assert_eq!(mode(&spec.image), 0o755);
    // A folder that was there.
    let own = DriveSpec { image: folder.path().join("own"), ..spec.clone() };
    fs::create_dir(&own.image).unwrap();
    open_to_all(&own.image, 0o755);
    drop(open(&config(&[]), &own).unwrap());
    files(&own.image).iter().for_each(|file| assert_eq!(mode(file), 0o600, "{}", file.display()));
    assert_eq!(mode(&own.image), 0o755);
}

/// What is no plain file is refused at once, and not touched.
#[test]
fn an_image_is_of_plain_files() {
    let folder = tempfile::tempdir().unwrap();
    let sound = spec(folder.path(), 1 << 20);
    drop(open(&config(&[]), &sound).unwrap());
    let elsewhere = folder.path().join("elsewhere");
    for file in ["drive.json", "state.bin", "journal.bin", "cells.bin"] {
        for kind in ["a named pipe", "a folder", "a link", "a socket", "a device"] {
            let image = folder.path().join("broken");
            copy(&sound.image, &image);
            let path = image.join(file);
            fs::rename(&path, &elsewhere).unwrap();
            match kind {
                "a named pipe" => {
                    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
                }
                "a folder" => fs::create_dir(&path).unwrap(),
                "a link" => std::os::unix::fs::symlink(&elsewhere, &path).unwrap(),
                "a socket" => drop(std::os::unix::net::UnixListener::bind(&path).unwrap()),
                _ => {
                    let made = std::process::Command::new("mknod").arg(&path).args(["c", "1", "5"]).output();
                    // Only root makes devices.
                    if !made.is_ok_and(|made| made.status.success()) {
                        fs::remove_dir_all(&image).unwrap();
                        continue;
                    }
                }
            }
            let spec = DriveSpec { image: image.clone(), ..sound.clone() };
            let error = open(&config(&[]), &spec).err().unwrap().to_string();
            let expected = "expected a regular file: the files of an image are no links, folders or devices";
            assert_eq!(error, format!("{}: found {kind}, {expected}", path.display()));
            fs::remove_dir_all(&image).unwrap();
        }
    }
}

/// A folder that is moved while it is served stays the drive's own, and what comes to its place is left alone. One that is removed is
/// missed at the next flush.
#[test]
fn an_image_that_is_moved_is_still_the_drives() {
    let folder = tempfile::tempdir().unwrap();
    let spec = spec(folder.path(), 1 << 20);
    let drive = open(&config(&[]), &spec).unwrap();
    drive.write(0, &data(0, 1), true).unwrap();
    let moved = folder.path().join("moved");
    fs::rename(&spec.image, &moved).unwrap();
    fs::create_dir(&spec.image).unwrap();
    drive.write(UNIT as u64, &data(1, 1), false).unwrap();
    drive.close().unwrap();
    drop(drive);
    assert_eq!(fs::read_dir(&spec.image).unwrap().count(), 0);
    let drive = open(&config(&[]), &DriveSpec { image: moved.clone(), ..spec }).unwrap();
    for unit in 0..2 {
        let mut found = vec![0; UNIT];
        drive.read(unit * UNIT as u64, &mut found).unwrap();
        assert!(found == data(unit, 1), "unit {unit}");
    }
    fs::remove_dir_all(&moved).unwrap();
    assert!(matches!(drive.flush(), Err(Failure::Io { .. })));
    let status = ask(&drive, r#"{"status": {}}"#);
    assert_eq!(status["state"], "failed");
    assert!(status["why"].as_str().unwrap().contains("found that the file was removed"), "{status}");
    drive.read(0, &mut vec![0; UNIT]).unwrap();
}

/// An image that somebody has made up, with checksums that fit: is it refused, or a drive that can be used?
/// `SOFTSENSE_IMAGE_FUZZ=10000` says how many.
#[test]
fn an_image_that_was_made_up_harms_nothing() {
    let count = std::env::var("SOFTSENSE_IMAGE_FUZZ").map_or(60, |count| count.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let sound = spec(folder.path(), 1 << 20);
    let drive = open(&config(&[]), &sound).unwrap();
    (0..200).for_each(|unit| drive.write(unit * UNIT as u64, &data(unit, 1), unit == 100).unwrap());
    ask(&drive, r#"{"fault": {"flip_bits": {"lba": 8, "bits": 3}}}"#);
    drop(drive);
    let lot = softsense_base::Stream::new(3, softsense_base::Purpose::Workload);
    let (mut refused, image) = (0, folder.path().join("made-up"));
    for number in 0..count {
        copy(&sound.image, &image);
        let draw = |index: u64, below: usize| (lot.bits(number, index) % below as u64) as usize;
        let path = image.join("state.bin");
        let mut bytes = fs::read(&path).unwrap();
        for change in 0..1 + draw(0, 3) as u64 {
            let at = 20 + draw(3 * change + 1, bytes.len() - 20);
            bytes[at] = [0, 1, 0x7f, 0x80, 0xff, bytes[at] ^ 1 << draw(3 * change + 2, 8)][draw(3 * change + 3, 6)];
        }
        let crc = crc32fast::hash(&bytes[20..]);
        bytes[16..20].copy_from_slice(&crc.to_le_bytes());
        fs::write(&path, bytes).unwrap();
        let spec = DriveSpec { image: image.clone(), ..sound.clone() };
        match open(&config(&[]), &spec) {
            Err(error) => {
                assert!(error.to_string().contains("the image is damaged"), "{number}: {error}");
                refused += 1;
            }
            Ok(drive) => {
                ask(&drive, r#"{"status": {}}"#);
                for unit in 0..256 {
                    let _ = drive.read(unit * UNIT as u64, &mut vec![0; UNIT]);
                }
                let _ = drive.write(0, &vec![7; 1 << 20], true);
                ask(&drive, r#"{"scrub": {}}"#);
                let _ = drive.close();
            }
        }
        fs::remove_dir_all(&image).unwrap();
    }
    println!("{refused} of {count} were refused");
    assert!(refused > count / 10 && refused < count);
}
