//! Do decode tables and real decodes make the same SSD? All seeds are fixed.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use softsense_config::checked::CheckedConfig;
use softsense_link::{CodewordReader, ExactSpec, FrameCounts, FrameSpec, FrameTask, ReadChannel};
use softsense_nand::{Placement, RberModel, Variation};
use softsense_ssd::run::{Requests, Run};
use softsense_ssd::simulation::LogRow;
use softsense_ssd::summary::Summary;

/// Levels of the tables that are measured here.
const LEVELS: u8 = 3;

/// `flash-8/9` with the decoder of the defaults at one level and RBER, for so many units of about 900 frames.
fn frames(level: u8, rber: f64, units: u64) -> FrameCounts {
    let exact = ExactSpec {
        code: "flash-8/9".into(),
        decoder: "min-sum".into(),
        max_iterations: 20,
        rber: RberModel::Constant { rber },
        variation: Variation::default(),
        placement: Placement::default(),
        llrs_for: None,
    };
    let code = CodewordReader::new(&exact, 1, Path::new("")).unwrap().code().clone();
    let channel = ReadChannel::Gaussian { rber, level, placement: exact.placement };
    let spec =
        FrameSpec { decoder: exact.decoder, iterations: exact.max_iterations, seed: 1, channel, condition: None };
    FrameTask::new(code, spec).unwrap().count(None, 0, units, &AtomicBool::new(false)).unwrap().unwrap()
}

/// A decode table in a file of its own, removed at the end of the test.
struct TableFile(PathBuf);

impl TableFile {
    /// Of `rber`, and for each level failure probabilities and, if they are asked for, distributions of iterations.
    fn new(name: &str, rber: &[f64], levels: &[Vec<f64>], iterations: Option<&[Vec<f64>]>) -> Self {
        let mut text = format!(
            "format = \"softsense decode table, version 1\"\nname = \"{name}\"\ncode = \"flash-8/9\"\n\
             decoder = \"min-sum\"\nsource = \"a test\"\ninterpolation = \"log\"\nrber = {rber:?}\nmax_iterations = 20\n"
        );
        for (index, p_fail) in levels.iter().enumerate() {
            write!(text, "[[level]]\np_fail = {p_fail:?}\n").unwrap();
            if let Some(iterations) = iterations {
                writeln!(text, "iterations = [{:?}]", iterations[index]).unwrap();
            }
        }
        let path = std::env::temp_dir().join(format!("softsense-{name}-{}.toml", std::process::id()));
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    fn reliability(&self, rber: f64, page_sigma: f64) -> String {
        let flash = flash(rber, page_sigma);
        // The grid spans the waterfalls: beyond it pages decode at once, or never.
        format!("reliability = {{ table = {{ file = {:?}, {flash}, most_beyond = 1.0 }} }}", self.0)
    }
}

impl Drop for TableFile {
    fn drop(&mut self) {
        // Nothing depends on it.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn flash(rber: f64, page_sigma: f64) -> String {
    format!("rber = {{ constant = {{ rber = {rber} }} }}, variation = {{ page_sigma = {page_sigma} }}")
}

fn exact(rber: f64, page_sigma: f64) -> String {
    format!("reliability = {{ exact = {{ {} }} }}", flash(rber, page_sigma))
}

/// Poisson reads of a small device, progressively to level 3, with a few of them queueing.
fn run(reliability: &str, reads: u32, more: &[&str]) -> (Summary, Vec<LogRow>) {
    let text = format!(
        "{reliability}\ngeometry.blocks_per_plane = 64\nread = {{ policy = \"progressive\", retry = \"incremental\", \
         max_level = {LEVELS} }}\n[workload]\nrequests = {reads}\nread_fraction = 1.0\n\
         arrivals.poisson.requests_per_s = 20_000.0\n"
    );
    let overrides: Vec<String> = more.iter().map(ToString::to_string).collect();
    let config = CheckedConfig::from_toml(&text, "test.toml", &overrides).unwrap();
    let mut run = Run::new(&config, Requests::Workload, true).unwrap();
    while run.advance(1 << 20).unwrap() {}
    let mut log = run.take_log();
    log.sort_by_key(|row| row.request);
    (run.summary(false), log)
}

/// Reads by level, and those that no level decoded.
fn histogram(summary: &Summary) -> Vec<u64> {
    let reads = &summary.codeword_reads;
    reads.level_histogram[..usize::from(LEVELS)].iter().copied().chain([reads.uncorrectable]).collect()
}

/// Chi-square of two histograms of as many reads each.
fn chi_square(a: &[u64], b: &[u64]) -> f64 {
    let cells = a.iter().zip(b).filter(|&(&a, &b)| a + b > 0);
    cells.map(|(&a, &b)| (a as f64 - b as f64).powi(2) / (a + b) as f64).sum()
}

/// McNemar's statistic of "needs more than `level`": codewords have the same RBER in both runs, so that only those within
/// a waterfall can differ. It is normal, with variance 1, if both runs fail as often.
fn mc_nemar(a: &[LogRow], b: &[LogRow], level: u8) -> f64 {
    let differ = |a: &[LogRow], b: &[LogRow]| {
        a.iter().zip(b).filter(|(a, b)| a.max_level > level && b.max_level <= level).count() as f64
    };
    let (only_a, only_b) = (differ(a, b), differ(b, a));
    (only_a - only_b) / (only_a + only_b).sqrt()
}

/// Mean difference of paired responses, us, and its standard error.
fn paired_difference(a: &[LogRow], b: &[LogRow]) -> (f64, f64) {
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a.response.as_us() - b.response.as_us()).collect();
    let n = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / n;
    let variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

/// Do a decode table and real decodes give the same read levels and the same latency, on pages that differ so much that
/// all levels occur? The table is measured here, in steps of 3.5 % of RBER.
///
/// 3,000 reads. Chi-square with 3 degrees of freedom exceeds 16.3 by chance once in 1,000 runs; since both runs read
/// pages of the same RBER it is smaller yet. The paired statistics are sharper: the same table taken at an RBER 4 % higher
/// is far out.
#[test]
#[ignore = "long: `make laws`"]
fn law_table_and_exact_agree_on_levels_and_latency() {
    let rber: Vec<f64> = (0..32).map(|step| 0.0074 * 1.035f64.powi(step)).collect();
    // Where each level goes from hardly a failure to hardly a success.
    let waterfalls = [0.0073..=0.0113, 0.0137..=0.0190, 0.0164..=0.0218];
    let mut levels: Vec<Vec<f64>> = Vec::new();
    for (level, waterfall) in (1..=LEVELS).zip(waterfalls) {
        let p_fail = |&rber: &f64| match rber {
            _ if rber < *waterfall.start() => 0.0,
            _ if rber > *waterfall.end() => 1.0,
            _ => {
                let counts = frames(level, rber, 1);
                counts.failures as f64 / counts.frames as f64
            }
        };
        let mut p_fail: Vec<f64> = rber.iter().map(p_fail).collect();
        // Counts are not monotone, tables are.
        (1..p_fail.len()).for_each(|at| p_fail[at] = p_fail[at].max(p_fail[at - 1]));
        if let Some(before) = levels.last() {
            p_fail.iter_mut().zip(before).for_each(|(p, before)| *p = p.min(*before));
        }
        levels.push(p_fail);
    }
    let table = TableFile::new("agree", &rber, &levels, None);
    let (mean_rber, page_sigma, reads) = (0.0135, 0.4, 3000);
    let (exact_summary, exact_log) = run(&exact(mean_rber, page_sigma), reads, &[]);
    let (table_summary, table_log) = run(&table.reliability(mean_rber, page_sigma), reads, &[]);

    let (found, expected) = (histogram(&exact_summary), histogram(&table_summary));
    let chi2 = chi_square(&found, &expected);
    println!("levels: exact {found:?}, table {expected:?}, chi-square {chi2:.2}");
    assert!(found.iter().all(|&count| count > 100), "every level occurs: {found:?}");
    assert!(chi2 < 16.3, "chi-square {chi2}: {found:?} for {expected:?}");
    let (_, biased_log) = run(&table.reliability(1.04 * mean_rber, page_sigma), reads, &[]);
    for level in 1..LEVELS {
        let z = mc_nemar(&exact_log, &table_log, level);
        let biased = mc_nemar(&exact_log, &biased_log, level);
        println!("beyond level {level}: z {z:.2}; with a table of 4 % more RBER {biased:.2}");
        assert!(z.abs() < 4.0 && biased < -6.0, "beyond level {level}: z {z}, biased {biased}");
    }
    let (difference, error) = paired_difference(&exact_log, &table_log);
    let means = [&exact_summary, &table_summary].map(|summary| summary.codeword_reads.mean_us.unwrap());
    println!(
        "mean latency (us): exact {:.3}, table {:.3}; paired difference {difference:.3} +- {error:.3}",
        means[0], means[1]
    );
    assert!(difference.abs() < 4.0 * error, "{difference} us +- {error}");
    let (biased, error) = paired_difference(&exact_log, &biased_log);
    println!("with a table of 4 % more RBER: {biased:.3} +- {error:.3}");
    assert!(biased < -4.0 * error, "a bias of 4 % is seen: {biased} us +- {error}");
}

/// The same where decode time goes by iterations, at one RBER within the waterfall of level 1, so that nothing is
/// interpolated. 1,500 reads and 3,640 frames a level: bounds are four standard errors.
#[test]
fn table_and_exact_agree_on_iterations() {
    let rber = 0.0090;
    let (reads, units) = (1500, 4);
    let mut p_fail = Vec::new();
    let mut iterations = Vec::new();
    let mut frames_counted = 0.0;
    for level in 1..=LEVELS {
        let counts = frames(level, rber, units);
        frames_counted = counts.frames as f64;
        p_fail.push(vec![counts.failures as f64 / frames_counted]);
        let successes = counts.iterations.iter().sum::<u64>() as f64;
        // None takes no iteration at this RBER.
        iterations.push(counts.iterations[1..].iter().map(|&count| count as f64 / successes).collect());
    }
    let table = TableFile::new("iterations", &[rber], &p_fail, Some(&iterations));
    let per_iteration = ["decoder.time={ per_iteration_us = 3.0 }"];
    let (exact_summary, exact_log) = run(&exact(rber, 0.0), reads, &per_iteration);
    let (table_summary, table_log) = run(&table.reliability(rber, 0.0), reads, &per_iteration);

    let (found, expected) = (histogram(&exact_summary), histogram(&table_summary));
    println!("levels: exact {found:?}, table {expected:?}");
    let n = f64::from(reads);
    let failed = [&found, &expected].map(|histogram| 1.0 - histogram[0] as f64 / n);
    let bound = 4.0 * (p_fail[0][0] * (1.0 - p_fail[0][0]) * (2.0 / n + 1.0 / frames_counted)).sqrt();
    assert!((failed[0] - failed[1]).abs() < bound, "level 1 fails {failed:?}, +- {bound}");
    let (difference, error) = paired_difference(&exact_log, &table_log);
    // The table has the error of its own frames, which is half of that variance for as many frames.
    let bound = 4.0 * error * (1.0 + 0.5 * n / frames_counted).sqrt();
    let means = [&exact_summary, &table_summary].map(|summary| summary.codeword_reads.mean_us.unwrap());
    let decode = [&exact_summary, &table_summary].map(|summary| summary.codeword_reads.time_us.decode.unwrap());
    println!("mean latency (us): {means:?}, first decode {decode:?}; difference {difference:.3} +- {bound:.3}");
    assert!(difference.abs() < bound, "{difference} us +- {bound}");
}

/// Does every policy meet the same codewords? All levels are needed; two_step, which goes from level 1 to 7, ends at 1 for the
/// same ones.
#[test]
fn every_policy_meets_the_same_codewords() {
    let of = |policy: &str| {
        let policy = format!("read.policy={policy}");
        histogram(&run(&exact(0.0135, 0.4), 300, &[&policy]).0)
    };
    let progressive = of("progressive");
    assert!(progressive.iter().all(|&count| count > 5), "{progressive:?}");
    assert_eq!(of("ideal"), progressive);
    assert_eq!(of("look_ahead_progressive"), progressive);
    let two_step = of("two_step");
    assert_eq!((two_step[0], two_step[3]), (progressive[0], progressive[3]));
}

/// Are errors counted that no decoder notices? A code that corrects one error takes a word with more for another codeword
/// whenever the syndrome points to one of its 4,109 bits, of 8,191 places: 12,000 codewords, five standard errors.
#[test]
fn undetected_errors_are_counted() {
    let (bits, p) = (4109.0, 5e-4f64);
    let reliability = format!("reliability = {{ exact = {{ code = \"bch:m=13,t=1,k=4096\", {} }} }}", flash(p, 0.0));
    let (summary, _) = run(&reliability, 1500, &["geometry.codeword_bytes=512", "read.max_level=1"]);
    let several = 1.0 - (1.0 - p).powf(bits) - bits * p * (1.0 - p).powf(bits - 1.0);
    let expected = several * (bits + 1.0) / 8192.0;
    let n = summary.codeword_reads.count as f64;
    let found = summary.codeword_reads.undetected.unwrap() as f64 / n;
    println!("undetected: {found:.4} for {expected:.4}");
    assert!((found - expected).abs() < 5.0 * (expected * (1.0 - expected) / n).sqrt(), "{found} for {expected}");
    assert_eq!(summary.reliability, "exact bch:m=13,t=1,k=4096");
    let (summary, _) = run("reliability = \"perfect\"", 10, &[]);
    assert_eq!(summary.codeword_reads.undetected, None);
}

/// Do MLC devices run on threshold voltages, with page types and without, by table and by real decodes? The RBER of the upper
/// page is twice that of the lower: it alone needs level 2.
#[test]
fn threshold_voltages_are_read_by_page_type() {
    let rber = "rber = { threshold_voltage = {} }";
    let start = ["precondition.pe_cycles=13500", "precondition.retention_days=300.0"];
    let exact = format!("reliability = {{ exact = {{ {rber} }} }}");
    let (summary, log) = run(&exact, 400, &start);
    println!("exact, two page types: {:?}", histogram(&summary));
    let levels = histogram(&summary);
    assert!(levels[0].abs_diff(200) < 60 && levels[1].abs_diff(200) < 60, "{levels:?}");
    // Upper pages are sensed in 55 us, lower ones in 41: level 2 then takes at least 55 + 14 + 20 + 10 + 2 x 8 us.
    let deep = |row: &&LogRow| row.max_level == 2;
    assert!(log.iter().filter(deep).all(|row| row.response.as_us() >= 115.0));
    assert_eq!(log.iter().map(|row| row.response.as_us()).fold(f64::INFINITY, f64::min), 69.0);
    let one_type = "flash.page_types=[{ name = \"page\" }]";
    let (summary, _) = run(&exact, 400, &[start[0], start[1], one_type]);
    println!("exact, one page type: {:?}", histogram(&summary));
    let levels = histogram(&summary);
    assert!(levels[0].abs_diff(200) < 60 && levels[1].abs_diff(200) < 60, "{levels:?}");
    // LaLDPC's thresholds are lower.
    let table = format!("reliability = {{ table = {{ file = \"laldpc-thresholds\", {rber} }} }}");
    let (summary, _) = run(&table, 400, &[start[0], start[1], "read.max_level=7"]);
    println!("table: {:?}", summary.codeword_reads.level_histogram);
    assert_eq!(summary.codeword_reads.level_histogram.iter().filter(|&&count| count > 0).count(), 2);
}

#[test]
fn bad_configs_are_named() {
    let exact =
        |more: &str| format!("reliability = {{ exact = {{ rber = {{ constant = {{ rber = 0.01 }} }}{more} }} }}\n");
    let voltages = "reliability = { table = { file = \"laldpc-thresholds\", rber = { threshold_voltage = {} } } }\n";
    let adaptive = "reliability = { adaptive = { rber = { constant = { rber = 0.01 } }, rates = [{ file = \"adaptive-5-6\", units = 13, \
                    to_pe_cycles = 9 }, { file = \"adaptive-1-2\", units = 7, to_pe_cycles = 99 }] } }\n";
    let cases: [(String, &[&str], &str); 12] = [
        (
            voltages
                .replace("laldpc-thresholds", "flash-8-9")
                .replace("threshold_voltage = {}", "constant = { rber = 0.01 }"),
            &["geometry.codeword_bytes=8192"],
            "t.toml:1: reliability.table.file: found `flash-8-9` with 32768 data bits, expected 65536: geometry.codeword_bytes is \
             8192 bytes",
        ),
        (
            adaptive.into(),
            &["geometry.codeword_bytes=512", "geometry.codewords_per_page=16", "read.max_level=1"],
            "t.toml:1: reliability.adaptive.rates[1].file: found `adaptive-1-2` with 32768 data bits, expected 28672: 7 units of \
             512 bytes",
        ),
        (
            exact(""),
            &["geometry.codeword_bytes=2048"],
            "t.toml: reliability.exact.code: found `flash-8/9` with 32768 data bits, expected 16384: \
             geometry.codeword_bytes is 2048",
        ),
        (
            exact(", code = \"lost.qc\""),
            &[],
            "t.toml:1: reliability.exact.code: lost.qc: found no code and no file with this name",
        ),
        (exact(", decoder = \"magic\""), &[], "t.toml:1: reliability.exact.decoder: found `magic`, expected min-sum, "),
        (
            exact(", speed = 1"),
            &[],
            "t.toml:1: reliability.exact.speed: unknown field `speed`, expected one of `code`, ",
        ),
        (
            exact(", max_iterations = 100_000"),
            &[],
            "t.toml:1: reliability.exact.max_iterations: found 100000, expected a whole",
        ),
        ("reliability = { exact = {} }".into(), &[], "t.toml:1: reliability.exact: missing field `rber`"),
        (
            exact(", code = \"bch-4KB-t256\""),
            &["decoder.time={ per_iteration_us = 1.0 }"],
            "t.toml: decoder.time: found a time per iteration with a `reliability` that does not have numbers of iterations",
        ),
        (
            exact(", code = \"bch-4KB-t256\""),
            &[],
            "t.toml: read.max_level: found 7, expected at most 1, the deepest level of `reliability`",
        ),
        (
            format!("{voltages}flash.page_types = [{{}}, {{}}, {{}}]"),
            &[],
            "t.toml:2: flash.page_types: found 3 page types, expected 1 for all pages of the cells of \
             `reliability`, or 2, one for each page of a wordline",
        ),
        (
            voltages.into(),
            &[
                "reliability.table.rber.threshold_voltage.mapping=slc",
                "reliability.table.rber.threshold_voltage.verify_v=[3.0]",
            ],
            "t.toml: flash.page_types: found 2 page types, expected 1 for all pages of the cells of `reliability`",
        ),
    ];
    for (text, overrides, expected) in cases {
        let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
        let error = CheckedConfig::from_toml(&text, "t.toml", &overrides).unwrap_err().to_string();
        println!("{error}");
        assert!(error.starts_with(expected) && error.lines().count() == 1, "{error}\nexpected: {expected}");
    }
}

/// A code in a file is taken from beside the config, and is part of the identity of the run.
#[test]
fn codes_of_files_are_beside_the_config_and_identify_the_run() {
    let directory = std::env::temp_dir().join(format!("softsense-exact-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let shipped =
        std::fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../ecc/codes/flash-8-9.qc")).unwrap();
    let text = "reliability = { exact = { code = \"own.qc\", rber = { constant = { rber = 0.01 } } } }";
    let origin = directory.join("config.toml").display().to_string();
    let sha = |content: &str| {
        std::fs::write(directory.join("own.qc"), content).unwrap();
        CheckedConfig::from_toml(text, &origin, &[]).unwrap().sha256()
    };
    let first = sha(&shipped);
    assert_eq!(sha(&shipped), first);
    assert_ne!(sha(&format!("# another\n{shipped}")), first);
    std::fs::write(directory.join("own.qc"), "1 2 x\n").unwrap();
    let error = CheckedConfig::from_toml(text, &origin, &[]).unwrap_err().to_string();
    assert!(error.contains("reliability.exact.code: ") && error.contains("own.qc:1: found `x`"), "{error}");
    std::fs::remove_dir_all(&directory).unwrap();
}

/// Interleaving with real decodes: of two chips at 0.0042 and 0.0112 hard decision fails on the second alone, always; divided
/// between them, at 0.0077 in the mean, one codeword in a thousand fails. The same with a table.
#[test]
fn interleaved_codewords_are_decoded_at_the_mean_of_their_chips() {
    let known = "rber = { constant = { rber = 0.007 } }, variation = { chip_factors = [0.6, 1.6] }";
    let table = format!("reliability = {{ table = {{ file = \"flash-8-9\", {known} }} }}");
    let exact = format!("reliability = {{ exact = {{ {known} }} }}");
    for reliability in [table, exact] {
        let (alone, _) = run(&reliability, 150, &[]);
        let levels = histogram(&alone);
        assert!(levels[0] > 50 && levels[1] > 50 && levels[0] + levels[1] == alone.codeword_reads.count, "{levels:?}");
        let (interleaved, _) = run(&reliability, 150, &["ftl.interleaving.ways=2"]);
        let levels = histogram(&interleaved);
        assert_eq!(interleaved.codeword_reads.interleaved, interleaved.codeword_reads.count);
        assert!(levels[0] >= interleaved.codeword_reads.count - 2, "{levels:?}");
    }
}
