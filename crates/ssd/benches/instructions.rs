//! How many instructions does a request take? Unlike a time, their number is the same on a busy machine, to the last digits, so that a
//! change of one per cent shows.
//!
//! `cargo bench -p softsense-ssd --bench instructions` runs each benchmark under callgrind, for 20,000 and for 60,000 requests: the
//! difference leaves out what a run takes to begin. It prints instructions a request and an event beside what is expected, and where they
//! go. `--check` makes an error of one that takes more than is expected: a change that does so explains it, and one that takes fewer lowers
//! [`EXPECTED`]. A name, or a part of one, chooses benchmarks.
//!
//! [`EXPECTED`] was counted with Rust 1.95 on x86-64 with AVX-512. Another compiler, and copies by libc on another CPU, give counts that
//! differ by some per cent. Without valgrind nothing is counted, and that is said.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, ExitCode};

use softsense_config::checked::CheckedConfig;
use softsense_requests::trace::Beyond;
use softsense_ssd::run::{Requests, Run};

mod loads;

use loads::{OVERWRITE, TEXT, open_text, write_text};

/// Requests of the two runs.
const LENGTHS: [u64; 2] = [20_000, 60_000];

/// By how much more than expected a count may be.
const TOLERANCE: f64 = 0.01;

/// Reads of a codeword, with what `RANDOM` says of how they come.
const READS: [&str; 2] = ["workload.read_fraction=1.0", "workload.sizes=[{ bytes = 4096, share = 1.0 }]"];
const RANDOM: [&str; 3] = [
    "host.issue={ closed_loop = { queue_depth = 256 } }",
    "workload.arrivals='immediate'",
    "workload.addresses='uniform'",
];

/// Each benchmark, and the instructions of a request that are expected of it.
const EXPECTED: [(&str, f64); 9] = [
    ("text on mlc-25nm", 12_177.0),
    ("text on tlc-femu", 89_422.0),
    ("text on mlc-lae", 33_925.0),
    ("text on mlc-laldpc", 22_035.0),
    ("reads of tlc-femu by its retry table", 20_212.0),
    ("tlc-femu's own workload", 93_641.0),
    ("overwriting with garbage collection", 24_216.0),
    ("pool-array's own workload", 18_885.0),
    ("random reads of tlc-client", 10_850.0),
];

/// Runs so many requests of a benchmark; text is in a file.
fn run(benchmark: &str, requests: u64, text: &Path) {
    let length = format!("workload.requests={requests}");
    let shipped = |name: &str, overrides: &[&str]| {
        let overrides: Vec<String> = overrides.iter().chain([&&*length]).map(ToString::to_string).collect();
        CheckedConfig::open(name, &overrides).expect("a shipped config is good")
    };
    let (config, trace) = match benchmark.strip_prefix("text on ") {
        Some(name) => (shipped(name, &[]), Some(open_text(text))),
        None => {
            let config = match benchmark {
                "reads of tlc-femu by its retry table" => shipped("tlc-femu", &READS),
                "tlc-femu's own workload" => shipped("tlc-femu", &[]),
                "pool-array's own workload" => shipped("pool-array", &[]),
                "random reads of tlc-client" => shipped("tlc-client", &[&READS[..], &RANDOM].concat()),
                _ => CheckedConfig::from_toml(OVERWRITE, "bench.toml", &[length]).unwrap(),
            };
            (config, None)
        }
    };
    let requests = trace.as_ref().map_or(Requests::Workload, |trace| Requests::Trace(trace, Beyond::Wrap));
    let mut run = Run::new(&config, requests, false).unwrap();
    while run.advance(1 << 20).unwrap() {}
    println!("{}", run.events());
}

/// Instructions of a run by the source file that they come from, and its events.
type Count = (BTreeMap<String, u64>, u64);

/// Counts a run in a process of its own.
fn count(benchmark: &str, requests: u64, folder: &Path) -> Count {
    let (text, profile) = (folder.join("text"), folder.join("profile"));
    let length = format!("workload.requests={requests}");
    write_text(&CheckedConfig::from_toml(TEXT, "bench.toml", &[length]).unwrap(), &text);
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", &format!("--callgrind-out-file={}", profile.display())])
        .arg(std::env::current_exe().unwrap())
        .args(["child", benchmark, &requests.to_string()])
        .arg(&text)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let events = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
    (by_file(&std::fs::read_to_string(&profile).unwrap()), events)
}

/// Instructions by source file, of what callgrind has written: lines that name a file, by a number of which the name is told once, and
/// lines of costs. After a line that says how often something was called stands what that has cost, which is counted where it was.
fn by_file(profile: &str) -> BTreeMap<String, u64> {
    let (mut names, mut counts): (BTreeMap<&str, &str>, BTreeMap<String, u64>) = Default::default();
    let (mut file, mut is_of_call) = ("", false);
    for line in profile.lines() {
        if let Some((kind @ ("fl" | "fi" | "fe" | "cfi" | "cfl"), named)) = line.split_once('=') {
            let (number, name) = named.split_once(' ').unwrap_or((named, ""));
            if !name.is_empty() {
                names.insert(number, name);
            }
            if kind.starts_with('f') {
                file = names[number];
            }
        } else if line.starts_with("calls=") {
            is_of_call = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first))
            && !std::mem::take(&mut is_of_call)
            && let Some(cost) = line.split(' ').nth(1)
        {
            *counts.entry(station(file)).or_default() += cost.parse::<u64>().unwrap();
        }
    }
    counts
}

/// Where a source file belongs: a station of the device, a part of the FTL or of traces, another crate.
fn station(file: &str) -> String {
    let parts: Vec<&str> = file.split('/').collect();
    let after = |name: &str| parts.iter().position(|&part| part == name).map(|at| &parts[at + 1..]);
    match after("crates") {
        Some(["ssd", "src", "simulation", station, ..]) => station.trim_end_matches(".rs").to_owned(),
        Some(["ssd", "src", module, ..]) => module.trim_end_matches(".rs").to_owned(),
        Some([name, ..]) => format!("crate {name}"),
        _ if after("library").is_some() => "std".to_owned(),
        _ if file.contains("libm-") => "libm".to_owned(),
        _ => "others".to_owned(),
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if let [child, benchmark, requests, text] = &arguments[..]
        && child == "child"
    {
        run(benchmark, requests.parse().unwrap(), Path::new(text));
        return ExitCode::SUCCESS;
    }
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("instructions are not counted: there is no valgrind (apt-get install valgrind)");
        return ExitCode::SUCCESS;
    }
    let folder = tempfile::tempdir().unwrap();
    let chosen: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let mut has_more = false;
    println!("{:<40} {:>10} {:>10} {:>12} {:>10}", "instructions", "a request", "expected", "events", "an event");
    for (benchmark, expected) in EXPECTED {
        if !chosen.is_empty() && !chosen.iter().any(|part| benchmark.contains(*part)) {
            continue;
        }
        let [(before, events_before), (after, events_after)] =
            LENGTHS.map(|requests| count(benchmark, requests, folder.path()));
        let a_request = |more: u64, less: u64| (more as f64 - less as f64) / (LENGTHS[1] - LENGTHS[0]) as f64;
        let found = a_request(after.values().sum(), before.values().sum());
        let events = a_request(events_after, events_before);
        let verdict = match found / expected - 1.0 {
            more if more > TOLERANCE => "  MORE",
            more if more < -TOLERANCE => "  fewer: lower what is expected",
            _ => "",
        };
        has_more |= found > expected * (1.0 + TOLERANCE);
        println!("{benchmark:<40} {found:>10.0} {expected:>10} {events:>12.2} {:>10.0}{verdict}", found / events);
        let share = |(station, &more): (&String, &u64)| {
            (a_request(more, before.get(station).copied().unwrap_or(0)) / found, station.clone())
        };
        let mut shares: Vec<(f64, String)> = after.iter().map(share).collect();
        shares.sort_by(|one, other| other.0.total_cmp(&one.0));
        let most = shares.iter().take(12).map(|(share, station)| format!("{station} {:.0} %", 100.0 * share));
        println!("    {}", most.collect::<Vec<_>>().join(", "));
    }
    ExitCode::from(u8::from(has_more && arguments.iter().any(|argument| argument == "--check")))
}
