//! Which part of a run is measured, and how the run goes over time: both look on, and change nothing of what is simulated.

use softsense_base::{Ns, Purpose, Stream};
use softsense_config::checked::CheckedConfig;
use softsense_ssd::run::{Requests, Run};
use softsense_ssd::simulation::{LogRow, Simulation};
use softsense_ssd::summary::Summary;

use crate::support::shipped;

/// `tlc-femu` with few small blocks, under random reads and writes.
const SMALL: [&str; 6] = [
    "geometry={ channels = 2, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 2, blocks_per_plane = 32, pages_per_block = 24, \
     codewords_per_page = 4, codeword_bytes = 4096 }",
    "ftl.over_provisioning=0.4",
    "host.write_buffer_bytes=262144",
    "workload.footprint_bytes=none",
    "workload.requests=4000",
    "workload.sizes=[{ bytes = 4096, share = 1.0 }]",
];

fn run_of(config: &CheckedConfig) -> Run {
    Run::new(config, Requests::Workload, true).unwrap()
}

fn ended(config: &CheckedConfig) -> (Run, Vec<LogRow>, Summary) {
    let mut run = run_of(config);
    while run.advance(1_000_000).unwrap() {}
    let (log, summary) = (run.take_log(), run.summary(false));
    (run, log, summary)
}

/// The config, with a load and more.
fn small(load: &[&str], more: &[&str]) -> CheckedConfig {
    shipped("tlc-femu.toml", &[&SMALL[..], load, more].concat())
}

const LOADS: [&[&str]; 3] = [
    &[
        "workload.read_fraction=0.5",
        "host.issue={ closed_loop = { queue_depth = 8 } }",
        "workload.arrivals='immediate'",
    ],
    &["workload.read_fraction=0.8", "workload.arrivals={ poisson = { requests_per_s = 4000.0 } }"],
    &["workload.read_fraction=0.0", "workload.arrivals={ fixed = { requests_per_s = 500.0 } }"],
];

/// Are the requests of a measured part those that the whole run has there, to the nanosecond, and do its counts and its share of the planes'
/// time say what the log and the whole run say?
#[test]
fn a_warm_up_changes_nothing_but_what_is_counted() {
    for load in LOADS {
        let (_, all, whole) = ended(&small(load, &["workload.requests=6000"]));
        let (_, rows, measured) = ended(&small(load, &["measurement.warmup={ requests = 2000 }"]));
        let before = measured.measurement.unwrap();
        assert!((2_000..2_100).contains(&before.warmup_requests.unwrap()), "{before:?}");
        // The stream goes on by its own number of requests after the warm-up, and by those under way and at hand then.
        let issued_alike = |row: &&LogRow| row.request < 5_900;
        let one: Vec<_> = all[before.warmup_requests.unwrap() as usize..].iter().filter(issued_alike).collect();
        let other: Vec<_> = rows.iter().filter(issued_alike).collect();
        assert!(one == other, "the rows of {load:?} differ");
        assert_eq!(measured.requests as usize, rows.len());
        assert!((4_000..4_100).contains(&measured.requests));
        let reads = rows.iter().filter(|row| row.max_level > 0).count();
        assert_eq!(reads, measured.reads as usize - rows.iter().filter(|row| is_read_of_memory(row)).count());
        // What planes did before and what they did after is what they did.
        let warm_s = before.warmup_s.unwrap();
        let (first, _, warmup) =
            ended(&small(load, &["workload.requests=6000", &format!("measurement.seconds={warm_s}")]));
        drop(first);
        let busy = |summary: &Summary, seconds: f64| summary.utilisation.plane * seconds;
        let all_busy = busy(&whole, whole.simulated_s);
        let both = busy(&warmup, warmup.simulated_s) + busy(&measured, measured.throughput.span_s);
        assert!((both / all_busy - 1.0).abs() < 0.03, "{both} of {all_busy}");
    }
}

fn is_read_of_memory(row: &LogRow) -> bool {
    row.kind == softsense_requests::RequestKind::Read && row.max_level == 0
}

/// Does a run that ends at a time serve what came before that, and nothing else?
#[test]
fn a_run_ends_at_its_time() {
    for load in LOADS {
        let seconds = 0.3;
        let (_, rows, summary) = ended(&small(load, &[&format!("measurement.seconds={seconds}")]));
        let (_, all, _) = ended(&small(load, &["workload.requests=30000"]));
        let end = Ns::from_us(1e6 * seconds);
        assert!(rows.iter().all(|row| row.arrival < end), "nothing comes after it");
        let numbers = |rows: &[LogRow]| {
            let mut numbers: Vec<_> = rows.iter().filter(|row| row.arrival < end).map(|row| row.request).collect();
            numbers.sort_unstable();
            numbers
        };
        assert_eq!(numbers(&rows), numbers(&all));
        assert_eq!(summary.requests as usize, rows.len());
        assert!((summary.throughput.span_s - seconds).abs() < 0.1 * seconds, "{}", summary.throughput.span_s);
    }
}

/// Do intervals follow one another without a gap, at most 120 of them, and add up to what the run counts, with a warm-up or without?
#[test]
fn intervals_add_up_to_the_run() {
    for load in LOADS {
        for more in
            [&["workload.requests=20000"][..], &["measurement.warmup={ seconds = 0.2 }", "measurement.seconds=0.4"]]
        {
            let (run, rows, summary) = ended(&small(load, more));
            let series = run.series();
            assert!(series.windows(2).all(|two| (two[0].to_s - two[1].from_s).abs() < 1e-12), "no gap");
            assert_eq!(series[0].from_s, 0.0);
            assert_eq!(series.last().unwrap().to_s, summary.simulated_s);
            let measured: Vec<_> = series.iter().filter(|row| row.measured).collect();
            assert!((1..=121).contains(&measured.len()), "{}", measured.len());
            let sum = |of: fn(&softsense_ssd::series::SeriesRow) -> f64| -> f64 {
                measured.iter().map(|row| of(row) * (row.to_s - row.from_s)).sum()
            };
            let close = |one: f64, other: f64| (one - other).abs() <= 1e-9 * other.max(1.0);
            assert!(
                close(sum(|row| row.iops), summary.requests as f64),
                "{load:?} {more:?} {} {}",
                sum(|row| row.iops),
                summary.requests
            );
            assert!(close(sum(|row| row.read_iops), summary.reads as f64));
            assert!(close(sum(|row| row.write_mb_per_s) * 1e6, summary.writes as f64 * 4096.0));
            let responses: f64 = rows.iter().map(|row| row.response.as_us()).sum();
            let by_interval = sum(|row| row.read_iops * row.read_mean_us.unwrap_or(0.0))
                + sum(|row| row.write_iops * row.write_mean_us.unwrap_or(0.0));
            assert!(close(by_interval, responses), "{by_interval} of {responses}");
        }
    }
}

/// Does write amplification count a write when a program takes it, at any instant: not while it waits for room, or for a slot of the write
/// buffer? A drive that is asked for more than it can do has most of its writes there when a warm-up ends.
#[test]
fn writes_that_wait_are_not_in_flash() {
    let overload = ["workload.read_fraction=0.1", "workload.arrivals={ fixed = { requests_per_s = 50000.0 } }"];
    for buffer in ["0", "262144"] {
        for warmup in ["'none'", "{ requests = 1000 }", "'until_steady'"] {
            let buffer = format!("host.write_buffer_bytes={buffer}");
            let config = small(&overload, &[&buffer, &format!("measurement.warmup={warmup}")]);
            let source = config.workload().unwrap().source(1, config.user_bytes()).unwrap();
            let mut simulation = Simulation::new(&config, Box::new(source), false).unwrap();
            while simulation.advance(100).unwrap() {
                let statistics = simulation.statistics();
                let of_host = statistics.host_codewords_programmed();
                let programmed = of_host + statistics.gc_codewords_programmed() + statistics.padding_codewords;
                // What coalesced in the write buffer is as good as written.
                let taken = of_host + statistics.coalesced_codewords;
                let expected = (taken > 0).then(|| programmed as f64 / taken as f64);
                assert_eq!(simulation.served().write_amplification, expected, "{buffer} {warmup}");
            }
        }
    }
}

/// Is a drive under random writes steady when collection gives back what programs take, and does its write amplification agree with that of
/// a run many times as long? Reads alone are steady as soon as there are enough of them.
#[test]
fn a_steady_state_is_one() {
    let writes = &[
        "workload.read_fraction=0.0",
        "host.issue={ closed_loop = { queue_depth = 8 } }",
        "workload.arrivals='immediate'",
    ];
    let amplification = |more: &[&str]| {
        let (_, _, summary) = ended(&small(writes, more));
        (summary.writes_detail.write_amplification.unwrap(), summary)
    };
    let (fresh, summary) = amplification(&["workload.requests=3000"]);
    assert!(summary.gc.used_up_room, "a short run is not steady, and says so");
    let (steady, summary) = amplification(&["measurement.warmup='until_steady'", "workload.requests=30000"]);
    assert!(!summary.gc.used_up_room && summary.measurement.unwrap().steady == Some(true));
    let (long, _) = amplification(&["measurement.warmup={ requests = 100000 }", "workload.requests=100000"]);
    assert!((steady / long - 1.0).abs() < 0.1 && fresh < 0.85 * long, "{fresh} {steady} {long}");
    let reads = &[
        "workload.read_fraction=1.0",
        "host.issue={ closed_loop = { queue_depth = 8 } }",
        "workload.arrivals='immediate'",
    ];
    let (_, _, summary) = ended(&small(reads, &["measurement.warmup='until_steady'"]));
    let before = summary.measurement.unwrap();
    assert!(before.steady == Some(true) && before.warmup_requests.unwrap() < 20_000, "{before:?}");
}

/// Is a run that ends before its warm-up does told to be one?
#[test]
fn a_warm_up_that_does_not_end_is_told() {
    let config = small(LOADS[0], &["measurement.warmup='until_steady'"]);
    let mut run = run_of(&config);
    run.advance(100).unwrap();
    let before = run.summary(true).measurement.unwrap();
    assert_eq!((before.warmed_up, before.warmup_requests, before.steady), (false, None, None));
    assert!(run.series().iter().all(|row| !row.measured));
}

/// Do two runs of one config have the same intervals?
#[test]
fn intervals_are_a_function_of_the_config() {
    let stream = Stream::new(5, Purpose::Workload);
    let requests = 1_000 + stream.bits(0, 0) % 1_000;
    let config = small(LOADS[1], &[&format!("workload.requests={requests}"), "measurement.warmup={ seconds = 0.05 }"]);
    assert_eq!(ended(&config).0.series(), ended(&config).0.series());
}

/// Does a drive that starts in its steady state collect as much in each half of a block, from the first on? Where all planes start at one
/// point between two collections, all collect at the same time: by turns nothing is collected, and five codewords are programmed for each.
#[test]
fn planes_collect_one_after_another() {
    const HALF: u32 = 64 * 192 / 2;
    for (low, high) in [(4, 4), (4, 6)] {
        let found: Vec<f64> = (0..8)
            .map(|number| {
                let writes = [
                    "geometry={ channels = 8, chips_per_channel = 2, dies_per_chip = 2, planes_per_die = 2, \
                     blocks_per_plane = 96, pages_per_block = 48, codewords_per_page = 4, codeword_bytes = 4096 }",
                    "workload.read_fraction=0.0",
                    "workload.addresses='uniform'",
                    "workload.arrivals={ poisson = { requests_per_s = 1000.0 } }",
                    &format!("measurement.warmup={{ requests = {} }}", 1 + number * HALF),
                    &format!("workload.requests={HALF}"),
                    &format!("ftl.gc_low_watermark_blocks={low}"),
                    &format!("ftl.gc_high_watermark_blocks={high}"),
                ];
                ended(&small(&writes, &["ftl.over_provisioning=0.2"])).2.writes_detail.write_amplification.unwrap()
            })
            .collect();
        let mean = found.iter().sum::<f64>() / found.len() as f64;
        assert!(found.iter().all(|one| (0.75..1.25).contains(&(one / mean))), "{low} {high}: {found:.2?}");
    }
}

/// Does a drive that starts with as few free blocks as one that is written to without pause amplify from its first writes on as it does after a
/// warm-up many times as long as its room?
#[test]
fn few_free_blocks_are_the_steady_state_of_writes_without_pause() {
    for over_provisioning in [0.15, 0.2, 0.28] {
        let amplification = |more: &[&str]| {
            let writes = [
                "geometry={ channels = 2, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 2, blocks_per_plane = 128, \
                 pages_per_block = 48, codewords_per_page = 4, codeword_bytes = 4096 }",
                "workload.read_fraction=0.0",
                "host.issue={ closed_loop = { queue_depth = 8 } }",
                "workload.arrivals='immediate'",
                "workload.addresses='uniform'",
                "workload.requests=12000",
                "ftl.gc_high_watermark_blocks=12",
            ];
            let config =
                small(&writes, &[&[format!("ftl.over_provisioning={over_provisioning}").as_str()], more].concat());
            ended(&config).2.writes_detail.write_amplification.unwrap()
        };
        let settled = amplification(&["measurement.warmup={ requests = 150000 }", "workload.requests=50000"]);
        let few = amplification(&["precondition.free_blocks=3"]);
        assert!((few / settled - 1.0).abs() < 0.08, "{over_provisioning}: {few} for {settled}");
    }
}
