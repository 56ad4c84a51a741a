//! How fast is a run, and how much memory does it take? Whole runs, each in a process of its own, so that
//! peak memory is its own.
//!
//! `cargo bench -p softsense-ssd` prints a table of what was found beside what is expected on one core of
//! a 2023 server CPU (AMD EPYC 9004). `--check` makes anything below the goal an error.
//!
//! | benchmark | goal | aim |
//! |---|---|---|
//! | trace: 1,000,000 requests of 4 KiB and 8 KiB, 70 % reads, 1 GiB footprint, Poisson at 50,000/s, MQSim text, `two_step` with 10 % hard failure, 128 GiB device | 1,000,000 requests/s with parsing | 2,000,000 |
//! | shipped: the same trace on `mlc-25nm`, `tlc-femu`, `mlc-lae` and `mlc-laldpc`, wrapped into what these have | 800,000, 400,000, 400,000 and 400,000 requests/s | 2,000,000, 1,500,000, 1,000,000 and 1,800,000 |
//! | retry: 1,000,000 reads of 4 KiB by `tlc-femu`'s own addresses, by its retry table, by sentinels and by what the die predicts | 1,000,000 requests/s each | |
//! | overwrite: 5,000,000 random 4 KiB overwrites with garbage collection (8 GiB, 15 % over-provisioned, from the steady state) | 1,000,000 requests/s | |
//! | demand: 10,000,000 requests of 4 KiB, 70 % reads, Zipf 0.9 over all of 32 GiB of flash whose map is in flash, 64 KiB of mapping cache, eviction and reads by level (LaLDPC), Poisson at 10,000/s | 500,000 requests/s | |
//! | array: 5,000,000 reads of a codeword at saturation from 8 SSDs of 8 channels, with a pool of 64 decoders | 1,500,000 requests/s | |
//! | precondition: 512 GiB and 16 TiB, sequential and steady state | 0.2 s, 0.15 GB | |

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use softsense_config::checked::CheckedConfig;
use softsense_requests::trace::Beyond;
use softsense_ssd::run::{Requests, Run};

mod loads;

use loads::{OVERWRITE, TEXT, open_text, write_text};

/// The device of the trace.
const DEVICE: &str = r#"
[geometry]
blocks_per_plane = 1205             # 150.6 GiB of flash, 128 GiB for the user
[reliability]
fixed.p_fail = [0.1, 0.0]
"#;

/// On `mlc-laldpc`.
const DEMAND: [&str; 4] = [
    "geometry.blocks_per_plane=2048",
    "workload.requests=10_000_000",
    "workload.read_fraction=0.7",
    "workload.footprint_bytes=29_205_774_336",
];

/// Ways in which `tlc-femu` reads.
const RETRIES: [(&str, &str); 3] = [
    ("retry table", "references = 'retry_table', soft_references = 'fewest_violated'"),
    ("sentinels", "references = 'sentinels'"),
    (
        "RiF",
        "references = 'share_of_ones', predictor = { place = 'die', predict_us = 2.5, threshold_rber = 0.0085, checks = 1024 }",
    ),
];

const ARRAY: &str = r#"
reliability = "perfect"
[geometry]
ssds = 8
channels = 8
chips_per_channel = 4
dies_per_chip = 1
planes_per_die = 1
blocks_per_plane = 256
[flash]
unit_queue = 8
[[flash.page_types]]
sense_us = 40.0
[bus]
transfer_us = 40.0
[decoder]
placement.pool = 64
buffer_codewords = 64
time.fixed_us = 16.0
[host]
issue.closed_loop.queue_depth = 2048
[workload]
requests = 5_000_000
read_fraction = 1.0
arrivals = "immediate"
"#;

const PRECONDITION: &str = r#"
[workload]
requests = 1
"#;

struct Found {
    what: String,
    value: f64,
    unit: &'static str,
    /// The value at which the goal is just met, and whether more is better.
    goal: f64,
    more_is_better: bool,
}

impl Found {
    fn holds(&self) -> bool {
        if self.more_is_better { self.value >= self.goal } else { self.value <= self.goal }
    }
}

fn config(toml: &str, overrides: &[&str]) -> CheckedConfig {
    let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
    CheckedConfig::from_toml(toml, "bench.toml", &overrides).expect("the benchmark's config is good")
}

fn finish(mut run: Run) -> softsense_ssd::summary::Summary {
    while run.advance(1 << 20).expect("the requests can be read") {}
    run.summary(false)
}

/// The config of the benchmark's trace.
fn trace_config() -> CheckedConfig {
    config(&format!("{DEVICE}{TEXT}"), &["workload.requests=1_000_000"])
}

fn bench_trace(path: &Path) {
    let (config, trace) = (trace_config(), open_text(path));
    report(&finish(Run::new(&config, Requests::Trace(&trace, Beyond::Reject), false).unwrap()));
}

/// A shipped config on the same trace, wrapped into what the device has.
fn bench_shipped(name: &str, path: &Path) {
    let config = CheckedConfig::open(name, &[]).expect("a shipped config is good");
    let trace = open_text(path);
    report(&finish(Run::new(&config, Requests::Trace(&trace, Beyond::Wrap), false).unwrap()));
}

/// A config on its own workload.
fn bench_config(name: &str, overrides: &[&str]) {
    let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
    let config = CheckedConfig::open(name, &overrides).expect("the benchmark's config is good");
    report(&finish(Run::new(&config, Requests::Workload, false).unwrap()));
}

fn bench_overwrite() {
    report(&finish(Run::new(&config(OVERWRITE, &["workload.requests=5_000_000"]), Requests::Workload, false).unwrap()));
}

fn bench_array() {
    report(&finish(Run::new(&config(ARRAY, &[]), Requests::Workload, false).unwrap()));
}

fn bench_demand() {
    let config = CheckedConfig::open("mlc-laldpc", &DEMAND.map(str::to_owned)).expect("the benchmark's config is good");
    let summary = finish(Run::new(&config, Requests::Workload, false).unwrap());
    eprintln!("  hit ratio {:.3}", summary.mapping.as_ref().and_then(|mapping| mapping.hit_ratio).unwrap_or(0.0));
    report(&summary);
}

fn bench_precondition(blocks_per_plane: &str, pages_per_block: &str, layout: &str) {
    let blocks = format!("geometry.blocks_per_plane={blocks_per_plane}");
    let pages = format!("geometry.pages_per_block={pages_per_block}");
    let config = config(PRECONDITION, &[&blocks, &pages, &format!("precondition.layout={layout}")]);
    let begun = Instant::now();
    let run = Run::new(&config, Requests::Workload, false).unwrap();
    let mut summary = run.summary(false);
    summary.machine.setup_s = begun.elapsed().as_secs_f64();
    report(&summary);
}

/// The child's last words: what the parent puts into the table.
fn report(summary: &softsense_ssd::summary::Summary) {
    let machine = &summary.machine;
    println!("{} {} {}", machine.requests_per_s, machine.setup_s, machine.peak_rss_bytes.unwrap_or(0));
    if let Some(write_amplification) = summary.writes_detail.write_amplification {
        eprintln!("  write amplification {write_amplification:.2}");
    }
}

/// Runs one benchmark in a process of its own: (requests a second, set-up seconds, peak bytes).
fn child(arguments: &[&str]) -> [f64; 3] {
    let output = Command::new(std::env::current_exe().unwrap()).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let numbers: Vec<f64> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
    numbers.try_into().unwrap()
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["child", "trace", path] => return bench_trace(Path::new(path)),
        ["child", "shipped", name, path] => return bench_shipped(name, Path::new(path)),
        ["trace", path] => return write_text(&trace_config(), Path::new(path)),
        ["child", "config", name, ref overrides @ ..] => return bench_config(name, overrides),
        ["child", "overwrite"] => return bench_overwrite(),
        ["child", "array"] => return bench_array(),
        ["child", "demand"] => return bench_demand(),
        ["child", "precondition", blocks, pages, layout] => return bench_precondition(blocks, pages, layout),
        _ => {}
    }
    let path = std::env::temp_dir().join(format!("softsense-bench-{}.trace", std::process::id()));
    write_text(&trace_config(), &path);
    let trace_path = path.display().to_string();
    let mut found = Vec::new();
    let best_of = |arguments: &[&str]| {
        (0..3).map(|_| child(arguments)).reduce(|a, b| if a[0] >= b[0] { a } else { b }).expect("three runs")
    };
    let speed = |what: &str, [requests_per_s, ..]: [f64; 3], goal| Found {
        what: what.into(),
        value: requests_per_s,
        unit: "requests/s",
        goal,
        more_is_better: true,
    };
    found.push(speed("trace, with parsing", best_of(&["child", "trace", &trace_path]), 1e6));
    for (name, goal) in [("mlc-25nm", 8e5), ("tlc-femu", 4e5), ("mlc-lae", 4e5), ("mlc-laldpc", 4e5)] {
        found.push(speed(&format!("trace on {name}"), best_of(&["child", "shipped", name, &trace_path]), goal));
    }
    for (name, read) in RETRIES {
        let read = format!("read={{ policy = 'progressive', retry = 'incremental', max_level = 7, {read} }}");
        let (reads, sizes) = ("workload.read_fraction=1.0", "workload.sizes=[{ bytes = 4096, share = 1.0 }]");
        let arguments = ["child", "config", "tlc-femu", &read, reads, sizes, "workload.requests=1_000_000"];
        found.push(speed(&format!("reads of tlc-femu, {name}"), best_of(&arguments), 1e6));
    }
    found.push(speed("overwrite with garbage collection", best_of(&["child", "overwrite"]), 1e6));
    std::fs::remove_file(&path).unwrap();
    found.push(speed("demand-based map, 64 KiB of cache", best_of(&["child", "demand"]), 5e5));
    found.push(speed("array of 8 SSDs at saturation", best_of(&["child", "array"]), 1.5e6));
    // 512 GiB and 16 TiB for the user.
    for (size, blocks, pages) in [("512 GiB", "4819", "64"), ("16 TiB", "6426", "1536")] {
        for layout in ["sequential", "steady_state"] {
            let [_, setup_s, peak] = child(&["child", "precondition", blocks, pages, layout]);
            let what = |of: &str| format!("precondition {size}, {layout}, {of}");
            found.push(Found { what: what("time"), value: setup_s, unit: "s", goal: 0.2, more_is_better: false });
            found.push(Found {
                what: what("memory"),
                value: peak / 1e9,
                unit: "GB",
                goal: 0.15,
                more_is_better: false,
            });
        }
    }
    println!("{:<50} {:>14} {:>14}", "", "found", "goal");
    for row in &found {
        let missed = if row.holds() { "" } else { "  MISSED" };
        println!("{:<50} {:>14.3} {:>14} {}{missed}", row.what, row.value, row.goal, row.unit);
    }
    if arguments.iter().any(|a| a == "--check") && !found.iter().all(Found::holds) {
        std::process::exit(1);
    }
}
