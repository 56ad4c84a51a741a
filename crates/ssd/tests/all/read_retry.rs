//! What techniques of read retry take, of a read that meets nobody, to the nanosecond.

use std::sync::Arc;

use crate::support::{SMALL_TLC, request, run, shipped};
use softsense_base::Ns;
use softsense_config::checked::CheckedConfig;
use softsense_link::{DecodeAttempt, GivenCodeword, Readings};
use softsense_nand::{InferredBy, ReadWith, ReferencesAt};
use softsense_requests::RequestKind;
use softsense_ssd::simulation::Statistics;
use softsense_ssd::timeline::{Action, LoneRead};

/// What of [`SMALL_TLC`] is other after 3,000 P/E cycles and a year: by default references upper pages have a raw bit error rate of 0.0114 and
/// no hard decision of `flash-8/9` is decoded, with the best 0.0056 and each one is.
const OLD: [&str; 5] = [
    "precondition.retention_days=365.0",
    "precondition.pe_cycles=3000",
    // Else a sensing that was cut short would keep the next read waiting.
    "flash.reset_us=0.0",
    "read.policy='two_step'",
    "read.soft_references='cells'",
];

/// Cells that are new, and a retry table whose first three entries decode nothing, and whose fourth decodes everything.
const TABLE: [&str; 3] = [
    "read.references='retry_table'",
    "precondition.retention_days=0.0",
    "reliability.table.rber.threshold_voltage={ mapping = 'tlc_2_3_2', verify_v = [2.5, 2.9, 3.3, 3.7, 4.1, 4.5, 4.9], \
     program_step_v = 0.2, shortened_sensing = { residual_v = 0.002, settling = 8.0 }, references = { retry_table_v = \
     [[0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3], [-0.3, -0.3, -0.3, -0.3, -0.3, -0.3, -0.3], [0.25, 0.25, 0.25, 0.25, 0.25, 0.25, \
     0.25], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]] } }",
];

const CENTRE: u64 = 1;
const UPPER: u64 = 2;

const SENSE: f64 = 106.0;
const SENSE_CENTRE: f64 = 77.5;
const TRANSFER: f64 = 5.125;
const DECODE: f64 = 2.5;
const ATTEMPT: f64 = SENSE + TRANSFER + DECODE;

/// Reads pages of a type in turn, and says how long each took, us.
fn times(more: &[&str], page_type: u64) -> (Vec<f64>, Statistics) {
    let config = shipped("tlc-femu.toml", &[&SMALL_TLC[..], &OLD, more].concat());
    let pages = (0..20).map(|wordline| request(RequestKind::Read, Ns::ZERO, 3 * wordline + page_type, 1));
    let mut simulation = run(&config, pages.collect());
    let times = simulation.take_log().iter().map(|row| row.response.as_us()).collect();
    (times, simulation.statistics().clone())
}

fn assert_all(found: &[f64], expected: f64) {
    assert!(found.iter().all(|us| (us - expected).abs() < 1e-9), "{found:?} for {expected}");
}

/// Does the die count ones in a sensing of its own, on command?
#[test]
fn swift_read_senses_twice_on_command() {
    let (found, statistics) = times(&["read.references='share_of_ones'"], UPPER);
    assert_all(&found, ATTEMPT + SENSE + ATTEMPT);
    assert_eq!((statistics.operations.senses, statistics.operations.decodes, statistics.retries), (60, 40, 20));
    // Half of the transfers brought what was not decoded.
    assert_eq!(statistics.failed_transfers.0, 20 * 5125);
}

/// Does a prediction in the die save the transfer, the decode, and the count?
#[test]
fn early_retries_never_leave_the_die() {
    let die = "read.predictor={ place = 'die', predict_us = 2.5, threshold_rber = 0.0085, checks = 1024 }";
    let (found, statistics) = times(&["read.references='share_of_ones'", die], UPPER);
    assert_all(&found, SENSE + 2.5 + ATTEMPT);
    let operations = statistics.operations;
    assert_eq!([operations.predictions, operations.predicted_failures, operations.mispredictions], [20, 20, 0]);
    assert_eq!((operations.senses, operations.transfers, operations.decodes, statistics.retries), (40, 20, 20, 0));
    assert_eq!(statistics.failed_transfers.0, 0);
    // What decodes is predicted, and nothing else.
    let young = ["read.references='share_of_ones'", die, "precondition.retention_days=0.1"];
    let (found, statistics) = times(&young, UPPER);
    assert_all(&found, 2.5 + ATTEMPT);
    assert_eq!(statistics.operations.predicted_failures, 0);
}

/// Does a prediction in the controller save the decode alone, and is the retry not predicted?
#[test]
fn a_controller_predicts_after_the_transfer() {
    let controller = "read.predictor={ place = 'controller', predict_us = 1.25, threshold_rber = 0.0085 }";
    let (found, statistics) = times(&["read.references='share_of_ones'", controller], UPPER);
    assert_all(&found, SENSE + TRANSFER + 1.25 + SENSE + ATTEMPT);
    let operations = statistics.operations;
    assert_eq!((operations.predictions, operations.predicted_failures, operations.decodes), (20, 20, 20));
}

/// Is the boundary of the known cells read where the page does not have it, and nothing but their share of a codeword transferred?
#[test]
fn sentinels_are_read_where_the_page_does_not_show_them() {
    let (found, statistics) = times(&["read.references='sentinels'"], UPPER);
    let known = SENSE_CENTRE + TRANSFER * 294.0 / 32768.0;
    let near = |us: &f64| (us - (ATTEMPT + known + ATTEMPT)).abs() < 1e-3;
    assert!(found.iter().all(near), "{found:?}");
    let operations = statistics.operations;
    assert_eq!((operations.known_cell_reads, operations.transfers, statistics.retries), (20, 40, 20));
    // Centre pages have boundary 1.
    let (found, statistics) = times(&["read.references='sentinels'", "precondition.pe_cycles=2500"], CENTRE);
    let attempt = SENSE_CENTRE + TRANSFER + DECODE;
    assert_all(&found, 2.0 * attempt);
    assert_eq!(statistics.operations.known_cell_reads, 0);
}

/// With what is remembered of a block, does a read begin where the last one was decoded?
#[test]
fn inferred_references_are_remembered() {
    for (references, second) in [("share_of_ones", SENSE), ("sentinels", SENSE_CENTRE)] {
        let more = [format!("read.references='{references}'"), "read.remembered='of_block'".into()];
        let (found, _) = times(&[&more[0], &more[1]], UPPER);
        assert!(found[0] > ATTEMPT + second && found[0] < ATTEMPT + second + ATTEMPT + 0.1, "{}", found[0]);
        // Eight wordlines a block.
        assert!((found[1] - ATTEMPT).abs() < 1e-9 && found[8] > found[7], "{found:?}");
    }
}

/// Is the next retry sensed while the last one transfers and decodes, from the first retry on, and cut short when that decodes?
#[test]
fn retries_are_pipelined() {
    let (found, _) = times(&TABLE, UPPER);
    assert_all(&found, 4.0 * ATTEMPT);
    let pipelined = |more: &[&str]| times(&[&TABLE[..], more].concat(), UPPER);
    // Sensing outlasts transfer and decode.
    let (found, statistics) = pipelined(&["read.retries_ahead=true"]);
    assert_all(&found, ATTEMPT + 3.0 * SENSE + TRANSFER + DECODE);
    let operations = statistics.operations;
    assert_eq!([operations.look_ahead_senses, operations.look_ahead_wasted, operations.resets], [60, 20, 20]);
    // One mechanism with looking ahead, which begins with the first read.
    let (found, statistics) = pipelined(&["read.policy='look_ahead'"]);
    assert_all(&found, 4.0 * SENSE + TRANSFER + DECODE);
    assert_eq!(statistics.operations.resets, 20);
    // Transfer and decode outlast sensing.
    let (found, _) = pipelined(&["read.retries_ahead=true", "decoder.time.fixed_us=150.0"]);
    assert_all(&found, ATTEMPT - DECODE + 150.0 + SENSE + 3.0 * (TRANSFER + 150.0));
    // And it takes less time to sense them.
    let (found, _) = pipelined(&["read.retry_sensing_percent=75"]);
    assert_all(&found, ATTEMPT + 3.0 * (0.75 * SENSE + TRANSFER + DECODE));
    let (found, _) = pipelined(&["read.retry_sensing_percent=75", "read.retries_ahead=true"]);
    assert_all(&found, ATTEMPT + 3.0 * 0.75 * SENSE + TRANSFER + DECODE);
}

/// Is the count of ones, which the die knows, enough to begin the retry before the outcome is known?
#[test]
fn swift_read_may_look_ahead() {
    let (found, _) = times(&["read.references='share_of_ones'", "read.policy='look_ahead'"], UPPER);
    assert_all(&found, SENSE + 2.0 * SENSE + TRANSFER + DECODE);
}

/// A codeword of [`OLD`] or [`TABLE`]: a hard decision decodes where references were inferred, or at the last entry.
#[derive(Debug)]
struct Old;

impl Readings for Old {
    fn attempt(&self, ReadWith { references, level, .. }: ReadWith) -> (DecodeAttempt, u32) {
        let converged = level > 1 || matches!(references, ReferencesAt::Inferred(_) | ReferencesAt::RetryEntry(3));
        let syndrome_weight = (level == 1).then_some(1000);
        (DecodeAttempt { level, converged, clean: false, iterations: 5, correct: converged, syndrome_weight }, 400)
    }

    fn violated_of_first(&self, checks: u32, _: ReadWith) -> u32 {
        checks / 2
    }

    fn inferred(&self, _: InferredBy, _: ReferencesAt) -> i8 {
        12
    }
}

/// Is the read of one codeword, on a device that does nothing else, that of a whole run, with every technique? Steps are named by
/// their references, those of known cells with a `k`, and those that the die has sensed before, and kept, by a `+`.
#[test]
fn lone_reads_are_those_of_whole_runs() {
    let sentinels = ["read.references='sentinels'"];
    let die = "read.predictor={ place = 'die', predict_us = 2.5, threshold_rber = 0.0085, checks = 1024 }";
    let controller = "read.predictor={ place = 'controller', predict_us = 1.25, threshold_rber = 0.0085 }";
    let share = "read.references='share_of_ones'";
    let table = |more: &[&'static str]| [&TABLE[..], more].concat();
    let entries = "retry_entry:0 retry_entry:1 retry_entry:2 retry_entry:3";
    for (more, page_type, expected) in [
        (sentinels.to_vec(), UPPER, "default kdefault inferred:12"),
        ([&sentinels[..], &["precondition.pe_cycles=2500"]].concat(), CENTRE, "default inferred:12"),
        (vec![share], UPPER, "default +inferred:12"),
        (vec![share, "read.policy='look_ahead'"], UPPER, "default +inferred:12"),
        (vec![share, die], UPPER, "+inferred:12"),
        (vec![share, controller], UPPER, "default +inferred:12"),
        (table(&[]), UPPER, entries),
        (table(&["read.retries_ahead=true"]), UPPER, entries),
        (table(&["read.retries_ahead=true", "decoder.time.fixed_us=150.0"]), UPPER, entries),
        (table(&["read.policy='look_ahead'"]), UPPER, entries),
        (table(&["read.retry_sensing_percent=75"]), UPPER, entries),
        (table(&["read.retry_sensing_percent=75", "read.retries_ahead=true"]), UPPER, entries),
    ] {
        let config = shipped("tlc-femu.toml", &[&SMALL_TLC[..], &OLD, &more].concat());
        let reliability = config.reliability();
        let given = GivenCodeword {
            cells: reliability.cells().unwrap().clone(),
            levels: 7,
            syndrome_weights: reliability.table().unwrap().syndrome_weights().cloned(),
            readings: Arc::new(Old),
        };
        let lone = LoneRead::new(&config, page_type as usize).unwrap().timeline(given).unwrap();
        let name = |step: &softsense_link::Step| {
            let before = if step.known_cells { "k" } else { "+" };
            let kept = step.known_cells || step.unsent_sensings > 0;
            format!("{}{}", if kept { before } else { "" }, step.references)
        };
        assert_eq!(lone.steps.iter().map(name).collect::<Vec<_>>().join(" "), expected, "{more:?}");
        let (found, _) = times(&more, page_type);
        assert_all(&found[..1], lone.latency.as_us());
        assert!(lone.decoded);
        let predicted = lone.spans.iter().filter(|span| span.action == Action::Predict);
        let predicted: Vec<f64> = predicted.map(|span| (span.to - span.from).as_us()).collect();
        assert_eq!(predicted, if more.contains(&controller) { vec![1.25] } else { vec![] }, "{more:?}");
    }
}

/// Does a baseline where nothing fails take each technique for done, as slowdowns are measured against it?
#[test]
fn techniques_need_nothing_where_nothing_fails() {
    for technique in [
        "references='sentinels'",
        "references='share_of_ones'",
        "retry_sensing_percent=70",
        "predictor={ place = 'controller', predict_us = 2.5, threshold_rber = 0.0085 }",
    ] {
        let (found, statistics) = times(&["reliability='perfect'", &format!("read.{technique}")], UPPER);
        assert_all(&found, ATTEMPT);
        assert_eq!(statistics.operations.predictions, 0, "{technique}");
    }
}

/// Is what cannot be had refused by name?
#[test]
fn what_reliability_does_not_know_is_refused() {
    let constant = "reliability.table.rber={ constant = { rber = 0.002 } }";
    let die = "read.predictor={ place = 'die', predict_us = 2.5, threshold_rber = 0.0085 }";
    for (more, expected) in [
        (vec![constant, "read.references='sentinels'"], "read.references: found inferred references with cells"),
        (vec![constant, "read.references='share_of_ones'"], "read.references: found inferred references with cells"),
        (
            vec![constant, "read.references='cells'", "read.retry_sensing_percent=70"],
            "read.retry_sensing_percent: found 70",
        ),
        (vec!["read.retry_sensing_percent=0"], "read.retry_sensing_percent: found 0, expected"),
        (vec![die], "read.predictor.place: found `die`"),
        (vec!["read.retries_ahead=true", "flash.cache_register=false"], "read.retries_ahead: found true"),
        (
            vec![
                "reliability.table.file='laldpc-thresholds'",
                "read.predictor={ place = 'controller', predict_us = 2.5, threshold_rber = 0.0085 }",
            ],
            "read.predictor: found a predictor with a `reliability` that has no numbers of violated checks",
        ),
    ] {
        let overrides: Vec<String> = SMALL_TLC.iter().chain(&OLD).chain(&more).map(ToString::to_string).collect();
        let error = CheckedConfig::open("tlc-femu", &overrides).unwrap_err().to_string();
        assert!(error.contains(expected), "{more:?}: {error}");
    }
}
