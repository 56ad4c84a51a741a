//! How fast are stored codewords read? Data of `flash-8/9` in the cells of `tlc-measured`, read by the policy of `tlc-femu`, the three
//! pages of a wordline one after the other. On one core, whole calls, codewords of 4 KB a second.
//!
//! `cargo bench -p softsense-link` prints what was found beside the goal on one core of a 2023 server CPU (AMD EPYC 9004), in about
//! half a minute. `--check` makes a goal that was missed an error.
//!
//! | speed | goal |
//! |---|---|
//! | encode | 20,000 |
//! | hard decisions, new cells | 60,000 |
//! | read, new cells, by references that track the cells and by the retry table | 30,000 |
//! | read after 3,000 P/E cycles and 90 days | 8,000 |
//! | the same when each word is of another age | |
//! | soft decisions of level 7, decoded | |

use std::time::Instant;

use softsense_link::{ExactSpec, HardReferences, Policy, ReadSpec, Retry, SoftReferences, StoredReader, StoredWord};
use softsense_nand::{ReadWith, Wear};

/// Wordlines that are read in turn: more than caches hold.
const WORDLINES: usize = 500;
/// Each speed is the best of so many measurements of so many seconds, short enough that some are not disturbed.
const REPEATS: usize = 5;
const SECONDS: f64 = 0.4;

type Report<'a> = dyn FnMut(&str, f64, Option<f64>, &str) + 'a;

fn best(mut once: impl FnMut(usize)) -> f64 {
    let mut number = 0;
    let mut measure = || {
        let (began, mut done) = (Instant::now(), 0);
        while began.elapsed().as_secs_f64() < SECONDS {
            for _ in 0..30 {
                once(number);
                number += 1;
            }
            done += 30;
        }
        f64::from(done) / began.elapsed().as_secs_f64()
    };
    (0..REPEATS).map(|_| measure()).fold(0.0, f64::max)
}

fn main() {
    let check = std::env::args().any(|argument| argument == "--check");
    let spec = r#"{ "rber": { "threshold_voltage": "tlc-measured" } }"#;
    let spec: ExactSpec = serde_json::from_str(spec).expect("it is a spec");
    let mut reader = StoredReader::new(&spec, 1, ".".as_ref()).expect("it is valid");
    let mut missed = false;
    let mut report = |what: &str, found: f64, goal: Option<f64>, more: &str| {
        let goal_text = goal.map_or(String::new(), |goal| format!("goal {goal:.0}"));
        println!("{what:<52} {found:>9.0} /s  {goal_text:<11} {more}");
        missed |= goal.is_some_and(|goal| found < goal);
    };

    let mut random = 1u64;
    let mut data = vec![0u8; reader.data_bytes()];
    let mut written = vec![vec![0u8; reader.codeword_bytes()]; 3 * WORDLINES];
    for codeword in &mut written {
        for bytes in data.chunks_mut(8) {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            bytes.copy_from_slice(&random.rotate_left(32).to_be_bytes()[..bytes.len()]);
        }
        reader.encode(&data, codeword);
    }
    let pages: Vec<&[u8]> = written.iter().map(|codeword| &codeword[..]).collect();
    let word = |number: usize, wear: Wear| {
        let at = number / 3 % WORDLINES;
        let write = (number / 3 / WORDLINES) as u64;
        StoredWord { cells: at as u64, write, page: number % 3, pages: &pages[3 * at..][..3], wear, turned: &[] }
    };

    let mut codeword = vec![0; reader.codeword_bytes()];
    report("encode", best(|_| reader.encode(&data, &mut codeword)), Some(20_000.0), "");

    let (new, worn) = (Wear::unread(0, 0.0), Wear::unread(3_000, 2_160.0));
    let by_table = ReadSpec {
        policy: Policy::Progressive,
        retry: Retry::Incremental,
        references: HardReferences::RetryTable,
        soft_references: SoftReferences::FewestViolated,
        ..ReadSpec::default()
    };
    let tracked = ReadSpec { references: HardReferences::Cells, ..by_table };
    let mut errors = 0;
    let mut reads = 0;
    let speed = best(|number| {
        _ = reader.attempt(&word(number, new), ReadWith::level(1));
        (errors, reads) = (errors + u64::from(reader.raw_errors()), reads + 1);
    });
    let more = format!("{:.1} errors each", errors as f64 / f64::from(reads));
    report("hard decisions, new cells, with decoding", speed, Some(60_000.0), &more);

    let mut steps = Vec::new();
    let mut read =
        |what, spec: ReadSpec, goal, wear: &dyn Fn(usize) -> Wear, reader: &mut StoredReader, report: &mut Report| {
            let (mut reads, mut tried, mut soft, mut failed) = (0u32, 0, 0, 0);
            let speed = best(|number| {
                failed += u32::from(!reader.read(&word(number, wear(number)), &spec, None, &mut steps));
                reads += 1;
                tried += steps.len();
                soft += steps.iter().filter(|(step, _)| step.level > 1).count();
            });
            let each = |count: usize| count as f64 / f64::from(reads);
            let more = format!("{:.2} steps, {:.3} soft, {failed} of {reads} failed", each(tried), each(soft));
            report(what, speed, goal, &more);
        };
    read("read, new cells, tracked references", tracked, Some(30_000.0), &|_| new, &mut reader, &mut report);
    read("read, new cells, retry table", by_table, Some(30_000.0), &|_| new, &mut reader, &mut report);
    read(
        "read, 3,000 P/E cycles and 90 days, retry table",
        by_table,
        Some(8_000.0),
        &|_| worn,
        &mut reader,
        &mut report,
    );
    read("read, 3,000 P/E cycles and 90 days, tracked", tracked, None, &|_| worn, &mut reader, &mut report);
    let disturbed = |number: usize| Wear { effective_reads: (number % 50_000) as f64, ..new };
    read("read, new cells after 0 to 50,000 reads, retry table", by_table, None, &disturbed, &mut reader, &mut report);
    let ages = |number: usize| Wear::unread(3_000, 2_160.0 * (1.0 + 1e-3 * (number % 100_000) as f64));
    read("the same by the table, each of another age", by_table, None, &ages, &mut reader, &mut report);
    let speed = best(|number| _ = reader.attempt(&word(number, worn), ReadWith::level(7)));
    report("soft decisions of level 7, 3,000 P/E and 90 days", speed, None, "");
    assert!(!(check && missed), "a goal was missed");
}
