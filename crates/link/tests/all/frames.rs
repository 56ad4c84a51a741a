//! Are frames counted unit by unit what a measurement of the same channel finds, wherever and however they are cut?

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use softsense_base::{Purpose, Stream, binomial_interval};
use softsense_ecc::bits;
use softsense_ecc::catalogue::Code;
use softsense_ecc::channel::{Channel, Noise};
use softsense_ecc::ldpc::{AbsorbingSetSearch, AbsorbingSets, Width};
use softsense_ecc::measure::{Algorithm, DecoderSpec, FrameDecoder, Measurement, Stop, random_data};
use softsense_link::{FrameCounts, FrameTask, listing_identity};

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
    // Pinned: stores keep what was counted under these names. They changed with the decoder's second pass, when eight bits
    // first stood in for sixteen, and, of circulants that are no multiple of 16 bits, when these were first decoded in integers.
    assert_eq!(others[3], "760e4d8a19e4b3384cf1ab1fa11c364e8b97276611abbee7919d857cd8a3a842");
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
        (
            cells(r#""pe_cycles": 1, "level": 1, "page": 2"#),
            "channel.cells.page: found page 2, expected a number below 2",
        ),
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

/// Cycles of three bits of the small code, and its sets of five bits that violate three checks.
fn small_sets() -> Arc<AbsorbingSets> {
    let Code::Ldpc(code) = Code::shipped("teaching-1/2").unwrap() else { panic!("an LDPC code") };
    let never = AtomicBool::new(false);
    let search = AbsorbingSetSearch::new(code.quasi_cyclic().unwrap(), 5, 3, &never).unwrap().unwrap();
    let found: BTreeSet<Vec<u32>> = (0..search.units())
        .flat_map(|unit| search.search(unit, &never).unwrap())
        .filter(|set| SMALL_CLASSES.contains(&(set.bits.len(), set.violated)))
        .map(|set| set.bits)
        .collect();
    Arc::new(AbsorbingSets::new(code.quasi_cyclic().unwrap(), &found.into_iter().collect::<Vec<_>>()).unwrap())
}

/// Every rotation of every set of a class, or of all.
fn rotations(sets: &AbsorbingSets, class: Option<(usize, u32)>) -> Vec<Vec<u32>> {
    let of_class = sets.sets().iter().filter(|set| class.is_none_or(|class| class == (set.bits.len(), set.violated)));
    of_class.flat_map(|set| (0..8).map(|shift| set.rotated(8, shift)).collect::<BTreeSet<_>>()).collect()
}

fn conditioned(channel: &str, iterations: u32, class: (usize, u32), wrong: usize, listed: &str) -> String {
    let (size, violated) = class;
    let condition = format!(r#"{{"bits": {size}, "violated": {violated}, "wrong": {wrong}, "listed": "{listed}"}}"#);
    format!(
        r#"{{"decoder": "min-sum", "iterations": {iterations}, "seed": 1, "channel": {channel}, "condition": {condition}}}"#
    )
}

fn conditioned_task(channel: &str, iterations: u32, class: (usize, u32), wrong: usize) -> FrameTask {
    let sets = small_sets();
    let spec = conditioned(channel, iterations, class, wrong, &listing_identity(&sets));
    FrameTask::conditioned(Code::shipped("teaching-1/2").unwrap(), serde_json::from_str(&spec).unwrap(), Some(sets))
        .unwrap()
}

/// The small code, its decoder, noise and listed sets: frames one by one, without what is under test.
struct Plain {
    code: Code,
    noise: Noise,
    decoder: Box<dyn FrameDecoder>,
    sets: Vec<Vec<u32>>,
    stream: Stream,
    /// LLRs of a 0 whose decision is right, and wrong.
    pools: [Vec<i8>; 2],
}

impl Plain {
    fn new(channel: &str, iterations: u32) -> Self {
        let code = Code::shipped("teaching-1/2").unwrap();
        let mut noise = channel.parse::<Channel>().unwrap().noise(96, 0.5, 77).unwrap();
        let spec = DecoderSpec { algorithm: Algorithm::MinSum(Width::Adaptive), max_iterations: iterations };
        let decoder = spec.decoder(&code, noise.llr_step()).unwrap();
        let mut pools = [Vec::new(), Vec::new()];
        let mut llrs = vec![0; 96];
        for frame in 0..if noise.is_soft() { 5_000 } else { 0 } {
            noise.llrs(1 << 40 | frame, &[0; 12], &mut llrs);
            llrs.iter().for_each(|&llr| pools[usize::from(llr < 0)].push(llr));
        }
        let sets = rotations(&small_sets(), None);
        Self { code, noise, decoder, sets, stream: Stream::new(78, Purpose::Data), pools }
    }

    /// Whether frame `number` fails, with these bits right or wrong and the others as the channel makes them, the fewest right
    /// bits of a listed set, and how many sets have so few.
    fn frame(&mut self, number: u64, prescribed: &[(u32, bool)]) -> (bool, usize, usize) {
        let (mut data, mut sent, mut word) = ([0; 6], [0; 12], [0; 12]);
        random_data(&self.stream, number, 48, &mut data);
        self.code.encoder().encode(&data, &mut sent);
        let mut wrong = [false; 96];
        let verdict = if self.noise.is_soft() {
            let mut llrs = vec![0; 96];
            self.noise.llrs(number, &sent, &mut llrs);
            for &(bit, is_wrong) in prescribed {
                let pool = &self.pools[usize::from(is_wrong)];
                let llr = pool[(self.stream.bits(number, 1 << 20 | u64::from(bit)) % pool.len() as u64) as usize];
                llrs[bit as usize] = if bits::get(&sent, bit as usize) { -llr } else { llr };
            }
            for (bit, (wrong, &llr)) in wrong.iter_mut().zip(&llrs).enumerate() {
                *wrong = if bits::get(&sent, bit) { llr > 0 } else { llr < 0 };
            }
            self.decoder.decode_soft(&llrs, &mut word)
        } else {
            word = sent;
            self.noise.flip(number, &mut word);
            for &(bit, is_wrong) in prescribed {
                bits::set(&mut word, bit as usize, bits::get(&sent, bit as usize) != is_wrong);
            }
            (0..96).for_each(|bit| wrong[bit] = bits::get(&word, bit) != bits::get(&sent, bit));
            self.decoder.decode_hard(&mut word)
        };
        let right: Vec<usize> =
            self.sets.iter().map(|set| set.iter().filter(|&&bit| !wrong[bit as usize]).count()).collect();
        let fewest = *right.iter().min().unwrap();
        (!verdict.success || word != sent, fewest, right.iter().filter(|&&right| right == fewest).count())
    }
}

fn choose(from: usize, count: usize) -> f64 {
    (0..count).map(|index| (from - index) as f64 / (index + 1) as f64).product()
}

const SMALL_CLASSES: [(usize, u32); 2] = [(3, 3), (5, 3)];

/// Of a channel that all but never errs, frames hold the wrong bits asked for and nothing else: is the share that fails that of all
/// choices of a set and of wrong bits in it? 8192 frames; five deviations, at most 0.03, come by chance once in 1e6 runs, and
/// one wrong bit more or less changes most shares by as much.
#[test]
fn conditioned_frames_have_exactly_the_wrong_bits_asked_for() {
    let mut shares = Vec::new();
    for class in SMALL_CLASSES {
        let all = rotations(&small_sets(), Some(class));
        assert!(!all.is_empty(), "{class:?}");
        for wrong in class.0 - 2..=class.0 {
            let task = conditioned_task(r#"{"hard": {"rber": 1e-9}}"#, 1, class, wrong);
            let counts = count(&task, None, 0, 1);
            let mut plain = Plain::new("bsc:1e-9", 1);
            let (mut expected, mut choices) = (0.0, 0.0);
            for set in &all {
                for chosen in (0u32..1 << class.0).filter(|chosen| chosen.count_ones() as usize == wrong) {
                    let prescribed: Vec<(u32, bool)> =
                        set.iter().enumerate().map(|(index, &bit)| (bit, chosen >> index & 1 == 1)).collect();
                    // Decisions of 0 are for bit 0: what is sent matters.
                    for _ in 0..50 {
                        let (fails, fewest, sharing) = plain.frame(choices as u64, &prescribed);
                        expected += if fails && fewest == class.0 - wrong { 1.0 / sharing as f64 } else { 0.0 };
                        choices += 1.0;
                    }
                }
            }
            let (share, found) = (expected / choices, counts.failures as f64 / counts.frames as f64);
            let deviation = (share * (1.0 - share) * (1.0 / counts.frames as f64 + 1.0 / choices)).sqrt();
            assert!((found - share).abs() <= 5.0 * deviation, "{class:?}, {wrong} wrong: {found} against {share}");
            shares.push(share);
        }
    }
    assert!(shares.iter().filter(|&&share| share > 0.02 && share < 0.98).count() >= 3, "{shares:?}");
}

/// Are frames in which all wrong bits of a set are surely wrong, and those in which not all are, together those in which they
/// are just wrong? Five deviations, once in 1e6 runs. Sure ones fail more often by far more than that.
#[test]
fn sure_and_unsure_frames_add_up() {
    for (level, class, wrong) in [(3, (5, 3), 4), (7, (3, 3), 2)] {
        let channel = format!(r#"{{"gaussian": {{"rber": 0.09, "level": {level}}}}}"#);
        let sets = small_sets();
        let task = |surely: &str| {
            let spec = conditioned(&channel, 10, class, wrong, &listing_identity(&sets));
            let spec = spec.replace(r#""listed""#, &format!(r#"{surely}"listed""#));
            let spec = serde_json::from_str(&spec).unwrap();
            FrameTask::conditioned(Code::shipped("teaching-1/2").unwrap(), spec, Some(Arc::clone(&sets))).unwrap()
        };
        let rate = |surely| {
            let counts = count(&task(surely), None, 0, 5);
            let share = counts.failures as f64 / counts.frames as f64;
            (share, share * (1.0 - share) / counts.frames as f64)
        };
        let ((any, of_any), (sure, of_sure), (not_all, of_not_all)) =
            (rate(""), rate(r#""surely": true, "#), rate(r#""surely": false, "#));
        let task = task("");
        let all_sure = (task.sure_error_rate().unwrap() / task.decision_error_rate().unwrap()).powi(wrong as i32);
        assert!(all_sure > 1e-5 && all_sure < 0.9, "{all_sure}");
        let together = all_sure * sure + (1.0 - all_sure) * not_all;
        let deviation = (of_any + all_sure.powi(2) * of_sure + (1.0 - all_sure).powi(2) * of_not_all).sqrt();
        let text =
            format!("level {level}, {wrong} of {class:?}: {all_sure} of {sure}, {not_all} in all others, {any} of any");
        println!("{text}");
        assert!((any - together).abs() < 5.0 * deviation, "{text}");
        assert!(sure - not_all > 5.0 * (of_sure + of_not_all).sqrt(), "{text}");
    }
    let hard = conditioned(r#"{"hard": {"rber": 0.09}}"#, 10, (3, 3), 3, &listing_identity(&small_sets()));
    let spec = serde_json::from_str(&hard.replace(r#""listed""#, r#""surely": true, "listed""#)).unwrap();
    let error = FrameTask::conditioned(Code::shipped("teaching-1/2").unwrap(), spec, Some(small_sets())).err().unwrap();
    assert!(error.to_string().contains("found hard decisions, expected LLRs"), "{error}");
}

const SMALL_CHANNELS: [(&str, &str); 3] = [
    (r#"{"hard": {"rber": 0.05}}"#, "bsc:0.05"),
    (r#"{"gaussian": {"rber": 0.07, "level": 2}}"#, "gaussian:0.07:2"),
    (r#"{"gaussian": {"rber": 0.09, "level": 7}}"#, "gaussian:0.09:7"),
];

#[test]
fn conditioned_frames_add_up_to_those_of_a_hard_channel() {
    conditioned_frames_add_up_to_those_of_the_channel(&SMALL_CHANNELS[..1]);
}

#[test]
#[ignore = "a minute: `make laws`"]
fn law_conditioned_frames_add_up_to_those_of_a_soft_channel() {
    conditioned_frames_add_up_to_those_of_the_channel(&SMALL_CHANNELS[1..]);
}

/// With a channel that errs elsewhere, hard or soft: do conditioned frames fail as those do that are made one by one, the values
/// of the set's bits taken from frames in which they happen to be right, or wrong? And add the classes up, each times the
/// probability of its events, to the probability that a frame as the channel makes it fails and holds such an event? Five
/// deviations, once in 1e6 runs: for the sum less than 25 %, where counting each failure for all of its sets gives many times as much.
fn conditioned_frames_add_up_to_those_of_the_channel(channels: &[(&str, &str)]) {
    const FRAMES: u64 = 40_000;
    for &(channel, plainly) in channels {
        let mut plain = Plain::new(plainly, 10);
        let p = conditioned_task(channel, 10, (3, 3), 3).decision_error_rate().unwrap();
        let (mut sum, mut variance, mut unshared) = (0.0, 0.0, 0.0);
        for class in SMALL_CLASSES {
            let all = rotations(&small_sets(), Some(class));
            for wrong in class.0 - 2..=class.0 {
                let counts = count(&conditioned_task(channel, 10, class, wrong), None, 0, 5);
                let frames = counts.frames as f64;
                let share = counts.failures as f64 / frames;
                let (mut mean, mut square, mut fails) = (0.0, 0.0, 0.0);
                const PLAIN: u64 = 8_000;
                for number in 0..PLAIN {
                    let draw = |what: u64| {
                        plain.stream.bits(number, 1 << 30 | (class.0 as u64) << 8 | (wrong as u64) << 16 | what)
                    };
                    let mut set = all[(draw(0) % all.len() as u64) as usize].clone();
                    set.sort_by_key(|&bit| draw(1 + u64::from(bit)));
                    let prescribed: Vec<(u32, bool)> =
                        set.into_iter().enumerate().map(|(at, bit)| (bit, at < wrong)).collect();
                    let (failed, fewest, sharing) = plain.frame(number, &prescribed);
                    if failed && fewest == class.0 - wrong {
                        let weight = 1.0 / sharing as f64 / PLAIN as f64;
                        mean += weight;
                        square += weight * weight;
                    }
                    fails += if failed { 1.0 / PLAIN as f64 } else { 0.0 };
                }
                let deviation = (square + share * (1.0 - share) / frames).sqrt();
                assert!(
                    (share - mean).abs() < 5.0 * deviation,
                    "{plainly}, {class:?}, {wrong} wrong: {share} against {mean} +- {deviation}"
                );
                let events = all.len() as f64
                    * choose(class.0, wrong)
                    * p.powi(wrong as i32)
                    * (1.0 - p).powi((class.0 - wrong) as i32);
                sum += events * share;
                unshared += events * fails;
                variance += events * events * share * (1.0 - share) / frames;
            }
        }
        let direct =
            (0..FRAMES).filter(|&number| matches!(plain.frame(1 << 32 | number, &[]), (true, 0..=2, _))).count();
        let direct = direct as f64 / FRAMES as f64;
        let deviation = (variance + direct * (1.0 - direct) / FRAMES as f64).sqrt();
        assert!((sum - direct).abs() < 5.0 * deviation, "{plainly}: {sum} against {direct} +- {deviation}");
        assert!(
            5.0 * deviation < 0.25 * direct && unshared > 5.0 * direct,
            "{plainly}: {direct} +- {deviation}, {unshared}"
        );
    }
}

#[test]
fn bad_conditions_are_named() {
    let sets = small_sets();
    let listed = listing_identity(&sets);
    let hard = r#"{"hard": {"rber": 0.01}}"#;
    let code = || Code::shipped("teaching-1/2").unwrap();
    let error = |spec: &str, sets: Option<Arc<AbsorbingSets>>| {
        FrameTask::conditioned(code(), serde_json::from_str(spec).unwrap(), sets)
            .err()
            .expect("a bad condition")
            .to_string()
    };
    let fewer: Vec<Vec<u32>> = sets.sets().iter().skip(1).map(|set| set.bits.clone()).collect();
    let Code::Ldpc(ldpc) = code() else { panic!("an LDPC code") };
    let fewer = Arc::new(AbsorbingSets::new(ldpc.quasi_cyclic().unwrap(), &fewer).unwrap());
    let good = conditioned(hard, 10, (3, 3), 3, &listed);
    let none = format!("condition.listed: found the absorbing sets none, expected {listed}");
    assert_eq!(error(&good, None), none);
    let other = format!("condition.listed: found the absorbing sets {}, expected {listed}", listing_identity(&fewer));
    assert_eq!(error(&good, Some(fewer)), other);
    let plain = format!(r#"{{"decoder": "min-sum", "iterations": 10, "seed": 1, "channel": {hard}}}"#);
    let unwanted = format!("condition.listed: found the absorbing sets {listed}, expected none");
    assert_eq!(error(&plain, Some(Arc::clone(&sets))), unwanted);
    for (class, wrong) in [((3, 3), 4), ((5, 3), 6), ((3, 3), 0)] {
        let message = error(&conditioned(hard, 10, class, wrong, &listed), Some(Arc::clone(&sets)));
        let expected = format!(
            "condition.wrong: found {wrong} wrong bits of {}, expected at least 1 and at most all of them",
            class.0
        );
        assert_eq!(message, expected);
    }
    let message = error(&conditioned(hard, 10, (3, 1), 3, &listed), Some(Arc::clone(&sets)));
    assert!(
        message.starts_with("condition: found 3 wrong bits of a (3, 1) set, expected a class that was listed"),
        "{message}"
    );
    let message = error(&conditioned(r#"{"hard": {}}"#, 10, (3, 3), 3, &listed), Some(Arc::clone(&sets)));
    assert_eq!(message, "channel.hard.rber: found none, expected a raw bit error rate");
    let task = conditioned_task(hard, 10, (3, 3), 3);
    let message = task.count(Some(3), 0, 1, &AtomicBool::new(false)).unwrap_err().to_string();
    assert!(message.starts_with("condition: found frames with a number of errors"), "{message}");
    assert_ne!(task.identity(), conditioned_task(hard, 10, (3, 3), 2).identity());
}
