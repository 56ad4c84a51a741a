//! Does a drive always open, say what is lost, and keep what it has said, whatever is broken in it and whenever it is killed?

use std::collections::{HashMap, HashSet};

use crate::support::{UNIT, ask, config, data, number, open, spec};
use serde_json::{Value, json};
use softsense_base::{Purpose, Stream};
use softsense_config::checked::CheckedConfig;
use softsense_drive::nbd::{Export as _, Failure};
use softsense_drive::{DriveSpec, ServedDrive};

/// What a unit may read as: versions, 0 of which is nothing. The first is what is sure, the others what was written since.
type Allowed = Vec<u64>;

/// A drive, and what is known of it.
struct Story<'a> {
    config: &'a CheckedConfig,
    spec: DriveSpec,
    drive: Option<ServedDrive>,
    allowed: HashMap<u64, Allowed>,
    /// Units of which it is not known which of those they are, though nothing is written.
    vague: HashSet<u64>,
    /// Whether anything was done to it for which data may be lost.
    harmed: bool,
    /// Whether there may be no room on the disk of its image.
    tight: bool,
}

impl Story<'_> {
    fn drive(&self) -> &ServedDrive {
        self.drive.as_ref().unwrap()
    }

    fn write(&mut self, unit: u64, version: u64) {
        let bytes = if version == 0 { vec![0; UNIT] } else { data(unit, version) };
        let written = self.drive().write(unit * UNIT as u64, &bytes, false);
        let allowed = self.allowed.entry(unit).or_insert(vec![0]);
        match written {
            Ok(()) => {
                allowed.push(version);
                self.vague.remove(&unit);
            }
            // A write that has failed may have been done.
            Err(Failure::NoSpace) if self.harmed || self.tight => {
                allowed.push(version);
                self.vague.insert(unit);
            }
            Err(other) => panic!("{other:?}"),
        }
    }

    fn read(&mut self, unit: u64) {
        let mut found = vec![0xaa; UNIT];
        let read = self.drive.as_ref().unwrap().read(unit * UNIT as u64, &mut found);
        let allowed = self.allowed.entry(unit).or_insert(vec![0]);
        match read {
            Ok(()) => {
                let is = |version: &&u64| found == if **version == 0 { vec![0; UNIT] } else { data(unit, **version) };
                let Some(version) = allowed.iter().find(is) else { panic!("unit {unit} is none of {allowed:?}") };
                if self.vague.remove(&unit) {
                    let version = *version;
                    allowed.retain(|other| *other != version);
                    allowed.push(version);
                } else {
                    assert_eq!(Some(version), allowed.last(), "unit {unit}");
                }
            }
            Err(Failure::Io { offset }) => {
                assert_eq!(offset, unit * UNIT as u64);
                assert!(self.harmed, "found unit {unit} unreadable");
            }
            Err(other) => panic!("{other:?}"),
        }
    }

    /// What was written last is on the disk.
    fn all_is_sure(&mut self) {
        for (unit, allowed) in &mut self.allowed {
            if !self.vague.contains(unit) {
                allowed.drain(..allowed.len() - 1);
            }
        }
    }

    /// What was not flushed may be gone.
    fn some_is_gone(&mut self) {
        let unsure = self.allowed.iter().filter(|(_, allowed)| allowed.len() > 1);
        self.vague.extend(unsure.map(|(unit, _)| *unit));
        let vague: Vec<u64> = self.vague.iter().copied().collect();
        vague.into_iter().for_each(|unit| self.read(unit));
        self.all_is_sure();
    }

    /// What was written is on the disk, if the drive says so.
    fn flush(&mut self) {
        match self.drive().flush() {
            Ok(()) => self.all_is_sure(),
            Err(Failure::NoSpace) if self.harmed || self.tight => {}
            Err(other) => panic!("{other:?}"),
        }
    }

    fn status(&self) -> Value {
        let status = ask(self.drive(), r#"{"status": {}}"#);
        let state = status["state"].as_str().unwrap();
        let lost = number(&status, "lost_units") + number(&status, "bad_blocks");
        if state == "host_full" && self.tight {
            assert!(
                status["why"].as_str().unwrap().contains("found no free space on the disk that holds the image"),
                "{status}"
            );
            return status;
        }
        assert!(matches!(state, "ok" | "degraded" | "read_only") && status["why"].is_null(), "{status}");
        assert_eq!(state == "ok", lost == 0.0 && state != "read_only", "{status}");
        status
    }

    /// Ends, in order or not, and goes on: nothing but what was not flushed is lost, and what was said stays.
    fn restart(&mut self, closed: bool) {
        if closed {
            self.drive().close().unwrap();
            self.all_is_sure();
        }
        let said = self.status();
        self.drive = None;
        self.drive = Some(open(self.config, &self.spec).unwrap());
        let status = self.status();
        for part in ["host", "codewords"].iter().filter(|_| !self.tight) {
            assert_eq!(said[part], status[part], "after a kill, unless {closed}");
        }
        if !closed {
            self.some_is_gone();
        }
    }
}

fn story(config: &CheckedConfig, seed: u64, steps: u64) {
    let folder = tempfile::tempdir().unwrap();
    let lot = Stream::new(seed, Purpose::Workload);
    let (parity, protected_cache) = (lot.bits(0, 10).is_multiple_of(2), !lot.bits(0, 11).is_multiple_of(3));
    let spec = DriveSpec { parity, protected_cache, ..spec(folder.path(), 1 << 20) };
    let units = spec.size_bytes.unwrap() / UNIT as u64;
    let drive = Some(open(config, &spec).unwrap());
    let mut story =
        Story { config, spec, drive, allowed: HashMap::new(), vague: HashSet::new(), harmed: false, tight: false };
    let superblocks = story.status()["superblocks"].as_array().unwrap().len() as u64;
    for step in 1..=steps {
        let draw = |number, below| lot.bits(step, number) % below;
        let fault = |fault: Value| json!({ "fault": fault }).to_string();
        let request = match draw(0, 100) {
            0..45 => {
                // Some units, or more than the buffer holds.
                let (first, count) = (draw(1, units), if draw(2, 5) == 0 { 120 } else { 1 + draw(3, 8) });
                (first..(first + count).min(units)).for_each(|unit| story.write(unit, step));
                continue;
            }
            45..60 => {
                (0..6).for_each(|number| story.read(draw(4 + number, units)));
                continue;
            }
            60..65 => {
                story.flush();
                continue;
            }
            65..72 => {
                story.restart(draw(1, 2) == 0);
                continue;
            }
            72..75 => {
                let unit = draw(1, units);
                story.drive().trim(unit * UNIT as u64, UNIT as u64, false).unwrap();
                story.allowed.entry(unit).or_insert(vec![0]).push(0);
                continue;
            }
            75..80 => fault(json!({ "kill_die": draw(1, 4) })),
            80..83 => fault(json!({ "kill_plane": draw(1, 4) })),
            83..88 => {
                // A whole superblock, at times.
                let (plane, block) = (draw(1, 2), draw(2, superblocks / 4));
                let dies = if draw(3, 2) == 0 { 1 } else { 4 };
                story.harmed = true;
                for die in 0..dies {
                    let block = json!({ "die": die, "plane": plane, "block": block });
                    story.drive().ask(&fault(json!({ "kill_block": block })));
                }
                continue;
            }
            88..90 => fault(json!({ "flip_bits": { "lba": draw(1, units) * 8, "bits": draw(2, 3000) + 1 } })),
            90..92 => {
                let asked = ask(story.drive(), &fault(json!({ "drop_power": {} })));
                // A volatile cache has lost what was not flushed.
                let lost = number(&asked, "units_lost") > 0.0;
                assert!(!lost || !story.spec.protected_cache);
                story.some_is_gone();
                continue;
            }
            92..94 => fault(json!({ "heal": {} })),
            94..97 => {
                let powered = draw(2, 2) == 0;
                json!({ "age": { "retention_hours": draw(1, 20_000), "pe_cycles": draw(3, 400), "powered": powered } })
                    .to_string()
            }
            _ => json!({ "scrub": {} }).to_string(),
        };
        story.harmed |= !request.contains("heal");
        let answer: Value = serde_json::from_str(&story.drive().ask(&request)).unwrap();
        let refused = answer["error"].as_str().is_none_or(|error| error.contains("found no free superblock"));
        assert!(refused || !request.contains("scrub"), "{request}: {answer}");
        story.status();
    }
    story.drive().ask(r#"{"fault": {"heal": {}}}"#);
    story.restart(true);
    (0..units).for_each(|unit| story.read(unit));
}

/// Random scripts of all faults, kills and restarts, on drives with parity and without; `SOFTSENSE_DRIVE_FAULTS=1000` says how many.
#[test]
fn whatever_happens_a_drive_opens_and_tells() {
    let count = std::env::var("SOFTSENSE_DRIVE_FAULTS").map_or(6, |count| count.parse().unwrap());
    let first = std::env::var("SOFTSENSE_DRIVE_FAULTS_FROM").map_or(0, |first| first.parse().unwrap());
    let config = config(&["ftl.over_provisioning=0.15"]);
    for seed in first..first + count {
        println!("script {seed}");
        story(&config, seed, 100);
    }
}

/// A drive of which nothing works, empty or with data: does it open, and say so?
#[test]
fn a_drive_without_a_die_is_a_drive() {
    for (parity, written) in [(true, false), (false, false), (true, true), (false, true)] {
        let folder = tempfile::tempdir().unwrap();
        let spec = DriveSpec { parity, ..spec(folder.path(), 4 << 20) };
        let mut drive = open(&config(&[]), &spec).unwrap();
        let units = if written { 300u64 } else { 0 };
        (0..units).for_each(|unit| drive.write(unit * UNIT as u64, &data(unit, 1), false).unwrap());
        for die in 0..4 {
            ask(&drive, &format!(r#"{{"fault": {{"kill_die": {die}}}}}"#));
        }
        for _ in 0..2 {
            let status = ask(&drive, r#"{"status": {}}"#);
            assert_eq!(status["state"], "degraded");
            assert_eq!(number(&status, "unreadable_units"), units as f64);
            assert_eq!([number(&status, "spare_superblocks"), number(&status, "free_superblocks")], [0.0, 0.0]);
            // As a kill does.
            drop(drive);
            drive = open(&config(&[]), &spec).unwrap();
        }
        let mut found = vec![0; UNIT];
        (0..units).for_each(|unit| assert!(drive.read(unit * UNIT as u64, &mut found).is_err()));
        assert_eq!(drive.write(0, &vec![1; 4 << 20], false), Err(Failure::NoSpace));
        assert_eq!(ask(&drive, r#"{"status": {}}"#)["state"], "read_only");
        drive.close().unwrap();
    }
}

/// Is what was written and flushed in flash before the flash ages or breaks, and does the drive say what is not?
#[test]
fn data_is_in_flash_before_flash_is_harmed() {
    // Of a drive of 64 MiB the write buffer is 2 MiB, and holds all of this.
    let units = 64u64;
    let written = |folder: &std::path::Path| {
        let spec = DriveSpec { parity: false, ..spec(folder, 64 << 20) };
        let drive = open(&config(&[]), &spec).unwrap();
        (0..units).for_each(|unit| drive.write(unit * UNIT as u64, &data(unit, 1), false).unwrap());
        drive.flush().unwrap();
        let status = ask(&drive, r#"{"status": {}}"#);
        assert_eq!(number(&status, "buffered_bytes"), (units * UNIT as u64) as f64);
        assert_eq!(number(&status, "mapped_units"), 0.0);
        (spec, drive)
    };
    let unreadable = |drive: &ServedDrive| {
        let mut found = vec![0; UNIT];
        (0..units).filter(|unit| drive.read(unit * UNIT as u64, &mut found).is_err()).count() as u64
    };
    for (request, programmed) in [
        (r#"{"age": {"retention_hours": 87600, "pe_cycles": 9000}}"#, units),
        (r#"{"age": {"retention_hours": 87600, "pe_cycles": 9000, "powered": true}}"#, units),
        (r#"{"fault": {"kill_die": 0}}"#, units),
        (r#"{"fault": {"kill_plane": 0}}"#, units),
        (r#"{"fault": {"kill_block": {"die": 0, "plane": 0, "block": 0}}}"#, units),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (_, drive) = written(folder.path());
        let answer = ask(&drive, request);
        assert_eq!(number(&answer, "units_programmed"), programmed as f64, "{request}");
        let status = ask(&drive, r#"{"status": {}}"#);
        assert_eq!(number(&status, "buffered_bytes"), 0.0);
        assert!(unreadable(&drive) > 0, "{request}");
        if request.contains("age") {
            assert_eq!(number(&answer, "buffered_bytes"), 0.0);
            assert!(number(&status, "ages.retention_hours_max") > 87_599.0, "{status}");
        } else {
            assert_eq!(number(&answer, "units_unreadable"), unreadable(&drive) as f64);
        }
    }
    // An end in order has no buffer, either, and bits that are flipped are those of flash.
    let folder = tempfile::tempdir().unwrap();
    let (spec, drive) = written(folder.path());
    drive.close().unwrap();
    drop(drive);
    let drive = open(&config(&[]), &spec).unwrap();
    let status = ask(&drive, r#"{"status": {}}"#);
    assert_eq!([number(&status, "buffered_units"), number(&status, "mapped_units")], [0.0, units as f64]);
    drive.write(0, &data(0, 2), false).unwrap();
    let flipped = ask(&drive, r#"{"fault": {"flip_bits": {"lba": 0, "bits": 5000}}}"#);
    assert_eq!(number(&flipped, "bits"), 5000.0);
    assert_eq!(unreadable(&drive), 1);
    // What no flash can be found for stays in the buffer, and is said to.
    drive.write(0, &data(0, 3), false).unwrap();
    (0..4).for_each(|die| drop(ask(&drive, &format!(r#"{{"fault": {{"kill_die": {die}}}}}"#))));
    drive.write(0, &data(0, 4), false).unwrap();
    let aged = ask(&drive, r#"{"age": {"retention_hours": 10}}"#);
    assert_eq!([number(&aged, "units_programmed"), number(&aged, "buffered_bytes")], [0.0, UNIT as f64]);
    assert_eq!(unreadable(&drive), units - 1);
}

/// Does what the drive has counted, and said, outlive a kill, reads among it?
#[test]
fn counts_outlive_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let spec = spec(folder.path(), 8 << 20);
    let mut drive = open(&config(&[]), &spec).unwrap();
    (0..500).for_each(|unit| drive.write(unit * UNIT as u64, &data(unit, 1), false).unwrap());
    for kill in 0..3 {
        // Nothing is flushed.
        let mut found = vec![0; UNIT];
        (0..40 + kill).for_each(|unit| drive.read(unit * UNIT as u64, &mut found).unwrap());
        let before = ask(&drive, r#"{"status": {}}"#);
        assert!(number(&before, "codewords.read") >= 40.0 * (kill + 1) as f64);
        drop(drive);
        drive = open(&config(&[]), &spec).unwrap();
        let after = ask(&drive, r#"{"status": {}}"#);
        for part in ["host", "codewords", "background", "clock_s", "ages"] {
            assert_eq!(before[part], after[part]);
        }
    }
}

/// Scripts on a disk that is full again and again: are reads right, is what was flushed there, and does it go on when there is room?
/// `SOFTSENSE_FULL_DISKS=1000` says how many.
#[test]
fn a_full_disk_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let around = [
        "--mount",
        "--map-root-user",
        "sh",
        "-c",
        "mount -t tmpfs -o size=12m none \"$DISK\" || exit 99; \"$@\"",
        "sh",
    ];
    let done = std::process::Command::new("unshare")
        .args(around)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "faults::on_a_small_disk", "--ignored", "--nocapture"])
        .env("DISK", folder.path())
        .output();
    let done = done.unwrap();
    let said = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    if done.status.code() == Some(99) || said.contains("unshare failed") {
        println!("skipped: no disk of its own can be mounted here: {said}");
        return;
    }
    assert!(done.status.success() && said.contains("1 passed"), "{said}");
    print!("{said}");
}

/// Leaves so many bytes of a disk.
fn leave(disk: &std::path::Path, bytes: u64) {
    use std::io::Write as _;
    let mut filler = std::fs::File::create(disk.join("filler")).unwrap();
    while filler.write_all(&[7; 4096]).is_ok() {}
    let length = filler.metadata().unwrap().len();
    filler.set_len(length.saturating_sub(bytes)).unwrap();
}

#[test]
#[ignore = "by a_full_disk_is_waited_for, which gives it a disk of its own"]
fn on_a_small_disk() {
    let disk = std::path::PathBuf::from(std::env::var("DISK").unwrap());
    let count = std::env::var("SOFTSENSE_FULL_DISKS").map_or(8, |count| count.parse().unwrap());
    let config = config(&["ftl.over_provisioning=0.15"]);
    let (mut refused, mut reopened) = (0, 0);
    for seed in 0..count {
        let lot = Stream::new(seed, Purpose::Faults);
        let folder = tempfile::tempdir_in(&disk).unwrap();
        let spec = DriveSpec { protected_cache: lot.bits(0, 11).is_multiple_of(2), ..spec(folder.path(), 4 << 20) };
        let units = spec.size_bytes.unwrap() / UNIT as u64;
        let drive = Some(open(&config, &spec).unwrap());
        let mut story = Story {
            config: &config,
            spec,
            drive,
            allowed: HashMap::new(),
            vague: HashSet::new(),
            harmed: false,
            tight: true,
        };
        for step in 1..60 {
            let draw = |number, below| lot.bits(step, number) % below;
            match draw(0, 12) {
                0..5 => {
                    let first = draw(1, units);
                    (first..(first + draw(2, 150)).min(units)).for_each(|unit| story.write(unit, step));
                }
                5..7 => (0..20).for_each(|number| story.read(draw(4 + number, units))),
                7 => story.flush(),
                8 => leave(&disk, [0, 4096, 20_000, 300_000][draw(1, 4) as usize]),
                9 => drop(std::fs::remove_file(disk.join("filler"))),
                10 => {
                    // A kill: whether there is room or not, it opens again.
                    story.restart(false);
                    reopened += 1;
                }
                _ => {
                    let aged = story.drive().ask(r#"{"age": {"retention_hours": 1}}"#);
                    assert!(aged.contains("\"ok\"") || aged.contains("found no free space on the disk"), "{aged}");
                }
            }
            refused += u64::from(story.status()["state"] == "host_full");
        }
        drop(std::fs::remove_file(disk.join("filler")));
        assert_eq!(story.status()["state"], "ok", "there is room again");
        story.tight = false;
        story.write(0, 1000);
        story.flush();
        (0..units).for_each(|unit| story.read(unit));
        story.restart(true);
        (0..units).for_each(|unit| story.read(unit));
    }
    println!("{refused} times full, {reopened} times opened again");
    assert!(refused > count && reopened > count);
}
