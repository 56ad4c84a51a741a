//! Does the owner's socket bear whatever is sent to it, and end when it is told, whatever has become of its file?
//!
//! Requests are drawn from a seed, always the same. `SOFTSENSE_CONTROL_FUZZ=100000` says how many, instead of 3,000.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use crate::support::{config, open, spec};
use serde_json::Value;
use softsense_base::{Purpose, Stream};
use softsense_drive::{Control, ServedDrive};

/// What takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(60);

fn controlled(folder: &Path) -> (Arc<ServedDrive>, Control) {
    let drive = Arc::new(open(&config(&[]), &spec(folder, 1 << 20)).unwrap());
    fs::create_dir(folder.join("run")).unwrap();
    let control = Control::start(&folder.join("run/control"), drive.clone()).unwrap();
    (drive, control)
}

fn connected(path: &Path) -> UnixStream {
    let stream = UnixStream::connect(path).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// What is answered to one request.
fn answered(path: &Path, request: &[u8]) -> Value {
    let mut stream = connected(path);
    stream.write_all(request).unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap()
}

/// Drops it elsewhere, and does not wait for ever.
fn ends(control: Control) {
    let (done, ended) = mpsc::channel();
    thread::spawn(move || {
        drop(control);
        done.send(()).unwrap();
    });
    ended.recv_timeout(PATIENCE).expect("it does not end");
}

#[test]
fn it_ends_whatever_has_become_of_its_socket() {
    for harm in ["none", "removed", "moved", "taken", "replaced"] {
        let folder = tempfile::tempdir().unwrap();
        let (_drive, control) = controlled(folder.path());
        let path = control.path().to_owned();
        assert_eq!(fs::symlink_metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let mut others = None;
        match harm {
            "removed" => fs::remove_file(&path).unwrap(),
            "moved" => fs::rename(folder.path().join("run"), folder.path().join("elsewhere")).unwrap(),
            "taken" => {
                fs::remove_file(&path).unwrap();
                others = Some(UnixListener::bind(&path).unwrap());
            }
            "replaced" => {
                fs::remove_file(&path).unwrap();
                fs::write(&path, "of somebody else").unwrap();
            }
            _ => assert!(answered(&path, b"{\"status\": {}}\n")["ok"].is_object()),
        }
        ends(control);
        assert_eq!(path.exists(), others.is_some() || harm == "replaced", "{harm}");
    }
}

#[test]
fn a_line_is_one_request_or_one_error() {
    let folder = tempfile::tempdir().unwrap();
    let (_drive, control) = controlled(folder.path());
    let long = [&b"{\"status\": {}} ".repeat(10_000)[..], b"\n"].concat();
    let mut stream = connected(control.path());
    stream.write_all(&long).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "{\"error\":\"request: found more than 65536 bytes, expected one JSON object a line\"}\n");
    assert!(answered(control.path(), b"{\"status\": {}}\n")["ok"].is_object());
}

#[test]
fn it_has_only_so_many_threads() {
    let folder = tempfile::tempdir().unwrap();
    let (_drive, control) = controlled(folder.path());
    let threads = || fs::read_dir("/proc/self/task").unwrap().count();
    let before = threads();
    let many: Vec<_> = (0..400).map(|_| connected(control.path())).collect();
    assert!(answered(control.path(), b"{\"status\": {}}\n")["ok"].is_object(), "the silent shut others out");
    // Other tests have threads, too.
    assert!(threads() < before + 160, "{} threads for {} connections", threads() - before, many.len());
}

fn some_request(lot: &Stream, number: u64) -> Vec<u8> {
    let draw = |index: u64, below: u64| lot.bits(number, index) % below;
    let word = |index: u64| {
        ["status", "age", "fault", "scrub", "flush", "kill_die", "heal", "kill_block", "\u{202e}", "", "stop"]
            [draw(index, 11) as usize]
    };
    let value = |index: u64| match draw(index, 9) {
        0 => "{}".into(),
        1 => format!("{}", lot.bits(number, index + 100)),
        2 => "1e999".into(),
        3 => "-0.0".into(),
        4 => "[".repeat(draw(index + 1, 3_000) as usize),
        5 => "{\"a\":".repeat(draw(index + 1, 3_000) as usize),
        6 => "9".repeat(draw(index + 1, 20_000) as usize),
        7 => "\"\\ud800\"".into(),
        _ => "null".into(),
    };
    let mut line = match draw(0, 8) {
        0 => (0..draw(1, 300)).map(|index| lot.bits(number, 200 + index) as u8).collect(),
        1 => format!("{{\"{}\": {}}}", word(1), value(2)).into_bytes(),
        2 => format!("{{\"{}\": {{\"{}\": {}}}}}", word(1), word(2), value(3)).into_bytes(),
        3 => format!("{{\"age\": {{\"retention_hours\": {}, \"reads\": {}}}}}", value(1), value(5)).into_bytes(),
        4 => format!("{{\"fault\": {{\"flip_bits\": {{\"lba\": {}, \"bits\": 3}}}}}}", value(1)).into_bytes(),
        5 => vec![[b' ', b'{', 0, b'"'][draw(1, 4) as usize]; 60_000 + draw(2, 80_000) as usize],
        6 => b"{\"status\": {}}".to_vec(),
        _ => format!("{{\"fault\": {{\"kill_die\": {}}}}}", value(1)).into_bytes(),
    };
    match draw(10, 6) {
        // Half a line, or several.
        0 => line.truncate(draw(11, line.len() as u64 + 1) as usize),
        1 => line.extend(b"\n{\"heal\": 1}\n\n\r\n{}\n"),
        _ => line.push(b'\n'),
    }
    line
}

#[test]
fn nothing_that_is_sent_harms_it() {
    let count = std::env::var("SOFTSENSE_CONTROL_FUZZ").map_or(3_000, |count| count.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let (_drive, control) = controlled(folder.path());
    let lot = Stream::new(5, Purpose::Workload);
    for number in 0..count {
        let mut stream = connected(control.path());
        // It may close before it has read all.
        let _ = stream.write_all(&some_request(&lot, number));
        if lot.bits(number, 20).is_multiple_of(10) {
            continue;
        }
        let _ = stream.shutdown(Shutdown::Write);
        let mut answer = Vec::new();
        if let Err(error) = stream.read_to_end(&mut answer) {
            assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "request {number} hangs");
        }
        for line in String::from_utf8(answer).unwrap().lines() {
            let answer: Value = serde_json::from_str(line).unwrap();
            assert!(answer["ok"].is_object() || answer["error"].is_string(), "request {number}: {line}");
        }
    }
    let status = answered(control.path(), b"{\"status\": {}}\n");
    assert!(status["ok"]["state"].is_string(), "{status}");
    ends(control);
}
