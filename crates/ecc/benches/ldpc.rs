//! How fast is the LDPC decoder of `flash-8/9`, and how often does it fail? At most 20 iterations, whole calls, megabits of
//! user data a second.
//!
//! `cargo bench -p softsense-ecc --bench ldpc` prints what was found beside the goal on one core of a 2023 server CPU (AMD
//! EPYC 9004), in about half a minute. `--error-rates` measures error rates instead, each with its exact interval at 95 %, in
//! about five minutes on two cores. `--check` makes a goal that was missed an error.
//!
//! | speed | goal |
//! |---|---|
//! | decode `bsc:0.0075`, at an error rate of at most 4e-4 | 1,000 Mb/s |
//! | decode `bsc:0.0065` | 1,200 Mb/s |
//! | two threads over one | 1.9 |
//! | portable instruction set | 60 Mb/s |
//! | decode `gaussian:0.0186:7`, soft decisions of seven levels | 700 Mb/s |
//! | circulants of any size over those of the next multiple of 16, hard and soft decisions | a quarter |
//! | encode | |
//! | making data and noise, of the time of a frame on levels 2, 3 and 7 | at most 15 % |
//!
//! | frame error rate | goal |
//! |---|---|
//! | `bsc:0.0075`, `bsc:0.0078` | 5e-4, 4.3e-3 |
//! | `gaussian:0.0186:7` | 2e-3 |
//! | exactly 288, 300, 312, 324 errors | 3e-6, 3e-5, 1.5e-3, 5e-2 |
//! | undetected, with 240 to 300 errors | none in 1e6 |

use std::ops::ControlFlow;
use std::time::Instant;

use softsense_base::binomial_interval;
use softsense_ecc::InstructionSet;
use softsense_ecc::catalogue::Code;
use softsense_ecc::ldpc::{Block, Correction, MinSum, QuasiCyclic, Width};
use softsense_ecc::measure::{Algorithm, BenchResult, DecoderSpec, FrameDecoder, Measurement, Stop, Verdict};

const MAX_ITERATIONS: u32 = 20;
const SEED: u64 = 1;

/// Each speed is the best of so many measurements of so many seconds, short enough that some are not disturbed.
const REPEATS: usize = 20;
const SECONDS: f64 = 0.2;

/// Where frames as the channel makes them fail in about one of a hundred cases, at levels 2, 3 and 7.
const SOFT_CHANNELS: [&str; 3] = ["gaussian:0.0146:2", "gaussian:0.0172:3", "gaussian:0.0197:7"];

/// Where most goals are stated.
const GOAL_CHANNEL: &str = "bsc:0.0075";

/// Channel, frames, goal.
const ERROR_RATES: [(&str, u64, f64); 7] = [
    ("bsc:0.0075", 500_000, 5e-4),
    ("bsc:0.0078", 100_000, 4.3e-3),
    ("errors:288", 3_000_000, 3e-6),
    ("errors:300", 1_000_000, 3e-5),
    ("errors:312", 200_000, 1.5e-3),
    ("errors:324", 50_000, 5e-2),
    ("gaussian:0.0186:7", 100_000, 2e-3),
];

/// Frames for each number of errors from 240 to 300.
const UNDETECTED_FRAMES: u64 = 16_400;

/// The decoder of one instruction set.
struct Fixed(MinSum);

impl FrameDecoder for Fixed {
    fn decode_hard(&mut self, word: &mut [u8]) -> Verdict {
        self.0.decode_hard(word, MAX_ITERATIONS).into()
    }

    fn decode_llrs(&mut self, llrs: &[i8], decided: &mut [u8]) -> Verdict {
        self.0.decode_soft(llrs, MAX_ITERATIONS, decided).into()
    }
}

struct Bench {
    code: Code,
    missed: bool,
}

impl Bench {
    fn base(&self) -> &QuasiCyclic {
        let Code::Ldpc(code) = &self.code else { panic!("an LDPC code") };
        code.quasi_cyclic().expect("a base matrix")
    }

    fn measure(&self, channel: &str, threads: usize, stop: Stop, set: InstructionSet, seed: u64) -> BenchResult {
        let measurement = Measurement {
            code: self.code.clone(),
            decoder: DecoderSpec { algorithm: Algorithm::MinSum(Width::Adaptive), max_iterations: MAX_ITERATIONS },
            channel: channel.parse().expect("a channel"),
            threads,
            stop,
            seed,
        };
        let correction = Correction::for_rate(self.code.rate());
        let decoder = |_| {
            let decoder = MinSum::with(self.base(), &correction, Width::Adaptive, set)?;
            Ok(Box::new(Fixed(decoder)) as Box<dyn FrameDecoder>)
        };
        measurement.run_with(decoder, |_| ControlFlow::Continue(())).expect("the code can be decoded")
    }

    /// The verdict on a goal that was or was not reached.
    fn verdict(&mut self, reached: bool) -> &'static str {
        self.missed |= !reached;
        if reached { "" } else { "  MISSED" }
    }

    fn speed(&mut self) {
        println!("{:<44} {:>10} {:>10} {:>10}", "", "user Mb/s", "goal", "iterations");
        let widest = InstructionSet::detect();
        let cases = [
            (GOAL_CHANNEL, 1, widest, Some(1000.0)),
            ("bsc:0.0065", 1, widest, Some(1200.0)),
            (GOAL_CHANNEL, 2, widest, None),
            (GOAL_CHANNEL, 1, InstructionSet::Portable, Some(60.0)),
            ("gaussian:0.0186:7", 1, widest, Some(700.0)),
        ];
        let mut encode_mbps: f64 = 0.0;
        let speeds = cases.map(|(channel, threads, set, goal)| {
            let (mut best, mut iterations): (f64, f64) = (0.0, 0.0);
            for _ in 0..REPEATS {
                let result = self.measure(channel, threads, Stop::Seconds(SECONDS), set, SEED);
                best = best.max(result.user_mbps());
                encode_mbps = encode_mbps.max(result.encode_mbps() / threads as f64);
                iterations = result.mean_iterations();
            }
            let verdict = self.verdict(goal.is_none_or(|goal| best >= goal));
            let goal = goal.map_or(String::new(), |goal| format!("{goal:.0}"));
            let name = format!("decode {channel}, {threads} threads, {}", set.name());
            println!("{name:<44} {best:>10.0} {goal:>10} {iterations:>10.2}{verdict}");
            best
        });
        let ratio = speeds[2] / speeds[0];
        let verdict = self.verdict(ratio >= 1.9);
        println!("{:<44} {ratio:>10.2} {:>10}{verdict}", "two threads over one", 1.9);
        println!("{:<44} {encode_mbps:>10.0}", "encode");
        for channel in SOFT_CHANNELS {
            let share = (0..REPEATS)
                .map(|_| {
                    let result = self.measure(channel, 1, Stop::Seconds(SECONDS), widest, SEED);
                    1.0 - (result.decode_seconds + result.encode_seconds) / result.seconds
                })
                .fold(1.0, f64::min);
            let verdict = self.verdict(share <= 0.15);
            let name = format!("data and noise of {channel}");
            println!("{name:<44} {:>8.1} % {:>10}{verdict}", 100.0 * share, "15 %");
        }
        // Missed is what is above the goal with confidence.
        let result = self.measure(GOAL_CHANNEL, 2, Stop::Frames(50_000), widest, SEED);
        let ((low, high), rate) = (result.fer_interval(), result.fer());
        let verdict = self.verdict(low <= 4e-4);
        let name = format!("error rate of {GOAL_CHANNEL}");
        println!("{name:<44} {rate:>10.1e} {:>10.1e} between {low:.1e} and {high:.1e}{verdict}", 4e-4);
    }

    /// The base matrix of the code with its shifts modulo other sizes, on words that never converge: twenty iterations each.
    fn circulants(&mut self) {
        let (base, correction) = (self.base().clone(), Correction::for_rate(self.code.rate()));
        let speed = |size: usize, soft: bool| {
            let reduced = |block: &Block| Block { shift: block.shift % size as u32, ..*block };
            let blocks = base.blocks().iter().map(reduced).collect();
            let code = QuasiCyclic::new(size, base.rows(), base.columns(), blocks).expect("a base matrix");
            let mut decoder = MinSum::new(&code, &correction).expect("a decoder");
            let bits = size * base.columns();
            let llrs: Vec<i8> = (0..bits).map(|bit| if bit % 23 == 0 { -40 } else { 20 + (bit % 7) as i8 }).collect();
            let received: Vec<u8> =
                llrs.chunks(8).map(|llrs| llrs.iter().fold(0, |byte, &llr| byte << 1 | u8::from(llr < 0))).collect();
            let mut word = received.clone();
            let mut best = f64::MAX;
            for _ in 0..REPEATS {
                let (start, mut iterations) = (Instant::now(), 0);
                while start.elapsed().as_secs_f64() < SECONDS / 20.0 {
                    word.copy_from_slice(&received);
                    let outcome = match soft {
                        true => decoder.decode_soft(&llrs, MAX_ITERATIONS, &mut word),
                        false => decoder.decode_hard(&mut word, MAX_ITERATIONS),
                    };
                    iterations += outcome.iterations;
                }
                best = best.min(start.elapsed().as_secs_f64() * 1e9 / f64::from(iterations) / bits as f64);
            }
            best
        };
        println!("{:<20} {:>6} {:>12} {:>12} {:>10}", "ns/bit, iteration", "next", "this", "next", "of its speed");
        for (name, soft) in [("hard", false), ("soft", true)] {
            for size in [8, 13, 27, 42, 54, 81, 100, 127, 180, 360, 500] {
                let next = usize::next_multiple_of(size, 16);
                let [this, other] = [size, next].map(|size| speed(size, soft));
                let verdict = self.verdict(other / this >= 0.25);
                println!("{name:<12} {size:>7} {next:>6} {this:>12.4} {other:>12.4} {:>10.2}{verdict}", other / this);
            }
        }
    }

    fn error_rates(&mut self) {
        let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get());
        println!(
            "{:<20} {:>9} {:>7} {:>10} {:>20} {:>8} {:>10} {:>10}",
            "", "frames", "failed", "error rate", "95 % interval", "goal", "undetected", "iterations"
        );
        for (channel, frames, goal) in ERROR_RATES {
            let result = self.measure(channel, threads, Stop::Frames(frames), InstructionSet::detect(), SEED);
            let verdict = self.verdict(result.fer() <= goal && result.undetected == 0);
            let BenchResult { frames, frame_errors, undetected, .. } = result;
            let (low, high) = result.fer_interval();
            let interval = format!("{low:.2e} {high:.2e}");
            let (rate, iterations) = (result.fer(), result.mean_iterations());
            println!(
                "{channel:<20} {frames:>9} {frame_errors:>7} {rate:>10.2e} {interval:>20} {goal:>8.1e} {undetected:>10} \
                 {iterations:>10.2}{verdict}"
            );
        }
        let (mut frames, mut failed, mut undetected) = (0, 0, 0);
        for errors in 240..=300 {
            let channel = format!("errors:{errors}");
            // Under one seed the errors of a frame would be those of one error fewer and another.
            let (stop, set) = (Stop::Frames(UNDETECTED_FRAMES), InstructionSet::detect());
            let result = self.measure(&channel, threads, stop, set, errors);
            frames += result.frames;
            failed += result.frame_errors;
            undetected += result.undetected;
        }
        let (low, high) = binomial_interval(undetected, frames, 0.95);
        let verdict = self.verdict(undetected == 0);
        println!(
            "errors:240 to 300: {frames} frames, {failed} failed, {undetected} undetected ({low:.1e} to {high:.1e} of all), \
             goal none{verdict}"
        );
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let asked = |argument: &str| arguments.iter().any(|a| a == argument);
    let mut bench = Bench { code: Code::shipped("flash-8/9").expect("shipped"), missed: false };
    if asked("--error-rates") {
        bench.error_rates();
    } else if asked("--circulants") {
        bench.circulants();
    } else {
        bench.speed();
    }
    if asked("--check") && bench.missed {
        std::process::exit(1);
    }
}
