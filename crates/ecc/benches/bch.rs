//! How fast are BCH encoders and decoders? One core, whole calls, megabits of user data a second.
//!
//! `cargo bench -p softsense-ecc --bench bch` prints a table of what was found beside what is expected on one core of a 2023
//! server CPU (AMD EPYC 9004). `--check` makes anything below the goal an error; `--all` adds the other instruction sets.
//!
//! | benchmark | goal |
//! |---|---|
//! | decode m = 15, t = 57, k = 31,912, 57 errors | 500 Mb/s |
//! | encode the same | 2,500 Mb/s |
//! | decode m = 16, t = 105, k = 32,768, 105 errors | 150 Mb/s |
//! | decode m = 16, t = 256, k = 32,768, 256 errors | 150 Mb/s |
//! | decode words without errors, all of these | 1,000 Mb/s |

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use softsense_base::{Purpose, Stream};
use softsense_ecc::InstructionSet;
use softsense_ecc::bch::BchCode;
use softsense_ecc::bits;

/// m, t, k.
const CODES: [(u32, usize, usize); 5] =
    [(13, 15, 4096), (14, 31, 8192), (15, 57, 31_912), (16, 105, 32_768), (16, 256, 32_768)];

/// The goals for encoding and for decoding t errors in Mb/s.
fn goals(t: usize) -> (Option<f64>, Option<f64>) {
    match t {
        57 => (Some(2500.0), Some(500.0)),
        105 | 256 => (None, Some(150.0)),
        _ => (None, None),
    }
}

/// The goal for words without errors, where there is one for words with them.
const CLEAN_GOAL: f64 = 1000.0;

/// Different words, so that no branch is learnt by heart.
const WORDS: usize = 64;

/// The best of several runs over all words, in Mb/s of user data.
fn speed(data_bits: usize, mut run: impl FnMut()) -> f64 {
    let begun = Instant::now();
    let mut best = Duration::MAX;
    while begun.elapsed() < Duration::from_millis(400) {
        let begun = Instant::now();
        run();
        best = best.min(begun.elapsed());
    }
    (data_bits * WORDS) as f64 / best.as_secs_f64() / 1e6
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let asked = |argument: &str| arguments.iter().any(|a| a == argument);
    let mut sets = vec![InstructionSet::detect()];
    if asked("--all") {
        sets = InstructionSet::available();
        sets.reverse();
    }
    let mut missed = false;
    println!("{:<60} {:>10} {:>10} {:>10}", "", "us a word", "Mb/s", "goal");
    for set in sets {
        for (m, t, k) in CODES {
            let (encode_goal, decode_goal) = goals(t);
            let code = Arc::new(BchCode::with_instruction_set(m, t, k, set).expect("the code exists"));
            let mut row = |what: &str, found: f64, goal: Option<f64>| {
                // Goals are those of the widest instruction set.
                let goal = goal.filter(|_| set == InstructionSet::detect());
                let fails = goal.is_some_and(|goal| found < goal);
                missed |= fails;
                let name = format!("{}: m = {m}, t = {t}, k = {k}, {what}", set.name());
                let goal = goal.map_or(String::new(), |goal| format!("{goal:.0}"));
                let verdict = if fails { "  MISSED" } else { "" };
                println!("{name:<60} {:>10.2} {found:>10.0} {goal:>10}{verdict}", k as f64 / found);
            };
            let stream = Stream::new(1, Purpose::Data);
            let data: Vec<Vec<u8>> = (0..WORDS as u64)
                .map(|word| (0..k.div_ceil(8) as u64).map(|i| stream.bits(word, i) as u8).collect())
                .collect();
            let n = code.codeword_bits();
            let mut codewords = vec![vec![0; bits::bytes_for(n)]; WORDS];
            let found = speed(k, || {
                for (data, codeword) in data.iter().zip(&mut codewords) {
                    code.encode(black_box(data), codeword);
                }
            });
            row("encode", found, encode_goal);

            let mut decoder = code.decoder();
            let noise = Stream::new(1, Purpose::Noise);
            for weight in [0, 1, t / 4, t, 2 * t] {
                let mut received = codewords.clone();
                for (index, word) in received.iter_mut().enumerate() {
                    // So many different positions: a random one in each stretch of the word.
                    for error in 0..weight {
                        let (from, to) = (error * n / weight, (error + 1) * n / weight);
                        let draw = noise.bits(index as u64, error as u64) as usize;
                        bits::flip(word, from + draw % (to - from));
                    }
                }
                let mut word = received[0].clone();
                let found = speed(k, || {
                    for received in &received {
                        word.copy_from_slice(received);
                        let outcome = decoder.decode(black_box(&mut word));
                        assert_eq!(outcome, (weight <= t).then_some(weight));
                    }
                });
                let what = match weight {
                    0 => "decode without errors".into(),
                    _ => format!("decode {weight} errors"),
                };
                let goal = match weight {
                    0 => decode_goal.and(Some(CLEAN_GOAL)),
                    _ => decode_goal.filter(|_| weight == t),
                };
                row(&what, found, goal);
            }
        }
    }
    if asked("--check") && missed {
        std::process::exit(1);
    }
}
