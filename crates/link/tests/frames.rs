//! Are frames counted unit by unit what a measurement of the same channel finds, wherever and however they are cut?

use std::sync::atomic::AtomicBool;

use softsense_base::binomial_interval;
use softsense_ecc::catalogue::Code;
use softsense_ecc::ldpc::Width;
use softsense_ecc::measure::{Algorithm, DecoderSpec, Measurement, Stop};
use softsense_link::{FrameCounts, FrameTask};

fn task(code: &str, channel: &str) -> FrameTask {
    let spec = format!(r#"{{"decoder": "min-sum", "iterations": 20, "seed": 1, "channel": {channel}}}"#);
    FrameTask::new(Code::shipped(code).unwrap(), serde_json::from_str(&spec).unwrap()).unwrap()
}

fn error(code: &str, channel: &str) -> String {
    let spec = format!(r#"{{"decoder": "min-sum", "iterations": 20, "seed": 1, "channel": {channel}}}"#);
    match serde_json::from_str(&spec) {
        Err(error) => error.to_string(),
        Ok(spec) => FrameTask::new(Code::shipped(code).unwrap(), spec).err().expect("a bad channel").to_string(),
    }
}

fn count(task: &FrameTask, errors: Option<usize>, first_unit: u64, units: u64) -> FrameCounts {
    task.count(errors, first_unit, units, &AtomicBool::new(false)).unwrap().expect("nobody interrupts")
}

#[test]
fn units_add_up_however_they_are_cut() {
    for (channel, errors) in [
        (r#"{"hard": {"rber": 0.05}}"#, None),
        (r#"{"hard": {"rber": null}}"#, Some(7)),
        (r#"{"gaussian": {"rber": 0.08, "level": 4}}"#, None),
        (r#"{"gaussian": {"rber": 0.08, "level": 4}}"#, Some(9)),
    ] {
        let task = task("teaching-1/2", channel);
        let whole = count(&task, errors, 3, 4);
        let parts = [count(&task, errors, 3, 1), count(&task, errors, 4, 3)];
        let sum = |of: fn(&FrameCounts) -> u64| parts.iter().map(of).sum::<u64>();
        assert_eq!(whole.frames, 4 * task.unit_frames());
        assert_eq!(
            [whole.frames, whole.failures, whole.undetected],
            [sum(|part| part.frames), sum(|part| part.failures), sum(|part| part.undetected)]
        );
        assert!(whole.failures > 0 && whole.failures < whole.frames, "{whole:?}");
        assert_eq!(whole.iterations.iter().sum::<u64>(), whole.frames - whole.failures + whole.undetected);
    }
}

/// Do both crates mean the same by a Gaussian boundary? 3,640 frames each of flash-8/9 at about 5 % failures: intervals of
/// 99.99 % are disjoint by chance once in 1e6 runs, and are once the rates differ by a half.
#[test]
fn the_gaussian_boundary_is_that_of_the_channel() {
    for (rber, level) in [(0.0083, 1), (0.0149, 2), (0.0202, 7)] {
        let counts =
            count(&task("flash-8/9", &format!(r#"{{"gaussian": {{"rber": {rber}, "level": {level}}}}}"#)), None, 0, 4);
        let measurement = Measurement {
            code: Code::shipped("flash-8/9").unwrap(),
            decoder: DecoderSpec { algorithm: Algorithm::MinSum(Width::Adaptive), max_iterations: 20 },
            channel: if level == 1 { format!("bsc:{rber}") } else { format!("gaussian:{rber}:{level}") }
                .parse()
                .unwrap(),
            threads: 2,
            stop: Stop::Frames(counts.frames),
            seed: 1,
        };
        let measured = measurement.run(|_| std::ops::ControlFlow::Continue(())).unwrap();
        let (low, high) = binomial_interval(counts.failures, counts.frames, 0.9999);
        let (other_low, other_high) = binomial_interval(measured.frame_errors, measured.frames, 0.9999);
        assert!(counts.failures > 50 && low < other_high && other_low < high, "{counts:?} against {measured:?}");
    }
}

/// Have frames with w errors w wrong hard decisions, on soft input too? A BCH code corrects up to t = 15 of them and no
/// more, so its failures tell; of LLRs it takes the signs.
#[test]
fn frames_have_the_errors_asked_for() {
    for channel in [r#"{"hard": {"rber": null}}"#, r#"{"gaussian": {"rber": 0.004, "level": 3}}"#] {
        let task = task("bch-512B-t15", channel);
        assert_eq!(count(&task, Some(15), 0, 1).failures, 0);
        assert_eq!(count(&task, Some(16), 0, 1).failures, task.unit_frames());
        assert_eq!(count(&task, Some(0), 0, 1).failures, 0);
    }
}

/// Is the raw error rate that of the cells, and hard decision of a page with two boundaries still one hard decision?
#[test]
fn cells_are_read_at_their_raw_bit_error_rate() {
    let cells = |page: &str, level: u8| {
        let at = r#""cells": "mlc", "pe_cycles": 10000, "retention_hours": 8760"#;
        format!(r#"{{"cells": {{{at}, "page": {page}, "level": {level}}}}}"#)
    };
    let rate = |page: &str, level: u8| task("flash-8/9", &cells(page, level)).raw_error_rate().unwrap();
    let mean = 0.5 * (rate("0", 1) + rate("1", 1));
    assert!((rate("null", 1) / mean - 1.0).abs() < 1e-9);
    for page in ["0", "1", "null"] {
        for level in [2, 3, 7] {
            assert!((rate(page, level) / rate(page, 1) - 1.0).abs() < 1e-9, "page {page}, level {level}");
        }
    }
    let deeper = task("flash-8/9", &cells("null", 3));
    assert_eq!(count(&deeper, None, 0, 1).failures, 0, "level 3 decodes at {mean:.2e}");
}

#[test]
fn a_task_is_known_by_all_that_its_counts_depend_on() {
    let hard = r#"{"hard": {"rber": null}}"#;
    let identity = |code: &str, channel: &str| task(code, channel).identity();
    assert_eq!(identity("teaching-1/2", hard), identity("teaching-1/2", r#"{"hard": {}}"#));
    let others = [
        identity("teaching-1/2", hard),
        identity("flash-8/9", hard),
        identity("bch-512B-t15", hard),
        identity("teaching-1/2", r#"{"hard": {"rber": 0.1}}"#),
        identity("teaching-1/2", r#"{"gaussian": {"rber": 0.1, "level": 1}}"#),
        identity("teaching-1/2", r#"{"gaussian": {"rber": 0.1, "level": 2}}"#),
        identity("teaching-1/2", r#"{"gaussian": {"rber": 0.1, "level": 2, "placement": "nested"}}"#),
    ];
    for (index, identity) in others.iter().enumerate() {
        assert!(!others[..index].contains(identity));
    }
    // Pinned: stores keep what was counted under these names. Of soft tasks it is another one since their noise is drawn
    // block by block, and must not be the one before.
    assert_eq!(others[3], "fd11d26fa3c59656653737e4cd1397bb810241676580ff0d789b81c114d503b9");
    assert_ne!(others[5], "9157e8ccea9c72bc2d2afefc79e8460ca1d3eeca3ea9bdf5275e09d7bdde3d15");
}

#[test]
fn bad_channels_are_named() {
    let cells = |rest: &str| format!(r#"{{"cells": {{"cells": "mlc", "retention_hours": 1.0, {rest}}}}}"#);
    for (channel, expected) in [
        (r#"{"hard": {"rber": 0.7}}"#.to_owned(), "channel.hard.rber: found 0.7, expected"),
        (r#"{"gaussian": {"rber": 0.0, "level": 1}}"#.to_owned(), "channel.gaussian.rber: found 0, expected"),
        (
            r#"{"gaussian": {"rber": 0.1, "level": 8}}"#.to_owned(),
            "channel.level: found 8, expected a level from 1 to 7",
        ),
        (r#"{"awgn": 3}"#.to_owned(), "unknown variant `awgn`"),
        (cells(r#""pe_cycles": 1, "level": 1, "page": 2"#), "channel.cells.page: found 2, expected one of 2 pages"),
        (cells(r#""pe_cycles": 1, "level": 1, "cels": 2"#), "unknown field `cels`"),
    ] {
        let error = error("teaching-1/2", &channel);
        assert!(error.starts_with(expected), "{error}\nexpected: {expected}");
    }
    let interrupted = task("teaching-1/2", r#"{"hard": {}}"#).count(Some(3), 0, 1, &AtomicBool::new(true)).unwrap();
    assert_eq!(interrupted, None);
    let error = task("teaching-1/2", r#"{"hard": {}}"#).count(None, 0, 1, &AtomicBool::new(false)).unwrap_err();
    assert_eq!(error.to_string(), "channel.hard.rber: found none, expected a raw bit error rate");
}
