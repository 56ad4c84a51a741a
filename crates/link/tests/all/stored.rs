//! Are stored codewords read as their cells and the decoder say? All seeds are fixed.

use std::path::Path;

use softsense_base::{Purpose, Stream};
use softsense_ecc::bits;
use softsense_link::{
    CellCondition, CodewordReader, ExactSpec, HardReferences, Policy, Predictor, PredictorPlace, ReadSpec, Retry,
    SoftReferences, StoredReader, StoredWord,
};
use softsense_nand::{
    CellSpec, Cells, NamedCells, Placement, RberModel, ReadWith, References, ReferencesAt, Sensing, Variation, Wear,
};

const SEED: u64 = 5;

fn spec(code: &str, cells: CellSpec) -> ExactSpec {
    ExactSpec {
        code: code.into(),
        decoder: "min-sum".into(),
        max_iterations: 20,
        rber: RberModel::ThresholdVoltage(cells.into()),
        variation: Variation::default(),
        placement: Placement::default(),
        llrs_for: None,
    }
}

fn cells(name: &str) -> CellSpec {
    CellSpec::open(name, Path::new("")).unwrap()
}

fn reader(code: &str, cells: CellSpec) -> StoredReader {
    StoredReader::new(&spec(code, cells), SEED, Path::new("")).unwrap()
}

/// Random codewords, one in each page of a wordline.
fn written(reader: &mut StoredReader, number: u64) -> Vec<Vec<u8>> {
    let random = Stream::new(SEED, Purpose::Data);
    let pages = reader.cells().pages() as u64;
    let page = |page: u64| {
        let data: Vec<u8> =
            (0..reader.data_bytes()).map(|at| random.bits(8 * number + page, at as u64) as u8).collect();
        let mut codeword = vec![0; reader.codeword_bytes()];
        reader.encode(&data, &mut codeword);
        codeword
    };
    (0..pages).map(page).collect()
}

fn slices(written: &[Vec<u8>]) -> Vec<&[u8]> {
    written.iter().map(|page| &page[..]).collect()
}

fn word<'a>(cells: u64, page: usize, pages: &'a [&'a [u8]], wear: Wear) -> StoredWord<'a> {
    StoredWord { cells, write: 1, page, pages, wear, turned: &[] }
}

fn disturbed(pe_cycles: u32, retention_hours: f64, effective_reads: f64) -> Wear {
    Wear { effective_reads, ..Wear::unread(pe_cycles, retention_hours) }
}

/// The state of each cell of a wordline.
fn states(spec: &CellSpec, written: &[Vec<u8>], bits_of_a_codeword: usize) -> Vec<usize> {
    let cells = spec.at(Wear::unread(0, 0.0));
    let holds = |at: usize, state: usize| {
        (0..cells.pages()).all(|page| cells.bit(page, state) == bits::get(&written[page], at))
    };
    let state = |at| (0..cells.states()).find(|&state| holds(at, state)).unwrap();
    (0..bits_of_a_codeword).map(state).collect()
}

/// The probability that a cell in a state is read as the other bit.
fn error_rate(cells: &Cells, page: usize, state: usize) -> f64 {
    let sensing = Sensing::new(cells, page, 1, Placement::default());
    let ends: Vec<f64> = [0.0].into_iter().chain(sensing.cumulative(cells, state)).chain([1.0]).collect();
    // What is below the first reference reads 1, and every reference changes that.
    let wrong = |(region, ends): (usize, &[f64])| {
        if (region % 2 == 0) == cells.bit(page, state) { 0.0 } else { ends[1] - ends[0] }
    };
    ends.windows(2).enumerate().map(wrong).sum()
}

/// Is the raw error rate of each page and of each state that of its cells in closed form: new, worn, disturbed cells, and with references
/// that are off, at another place, sensed shortly, or so far off that the middle of a state is read as the other bit? 600 codewords of
/// 4,291 cells: the count of a page within five standard errors and the 0.5 % of steps of age and placed references, that of a state
/// within five and 2 %.
#[test]
fn error_rates_of_pages_and_states_are_those_of_their_cells() {
    let measured = || cells("tlc-measured");
    let off = |offset_v| CellSpec { references: References { offset_v, ..References::default() }, ..cells("mlc") };
    let hard = ReadWith::hard;
    // So far off, references cut through the middle of states: there it matters that they are placed for ages on a grid.
    let on_grid = Wear::unread(9_996, libm::expm1(9.1));
    let cases = [
        (measured(), Wear::unread(0, 0.0), ReadWith::level(1)),
        (measured(), Wear::unread(3_014, 2_160.0), ReadWith::level(1)),
        (measured(), Wear::unread(3_014, 2_160.0), hard(ReferencesAt::Default)),
        (measured(), Wear::unread(3_014, 2_160.0), hard(ReferencesAt::RetryEntry(2))),
        (measured(), Wear::unread(3_014, 2_160.0), hard(ReferencesAt::Inferred(-9))),
        (measured(), Wear::unread(3_014, 20.0), ReadWith { sensing_percent: 60, ..hard(ReferencesAt::Default) }),
        (measured(), disturbed(1_000, 10.0, 800_000.0), hard(ReferencesAt::Default)),
        (cells("qlc-1-2-4-8"), Wear::unread(300, 100.0), ReadWith::level(1)),
        (cells("pslc:tlc-measured"), Wear::unread(30_000, 8_760.0), ReadWith::level(1)),
        (off(-0.02), Wear::unread(10_037, 8_760.0), ReadWith::level(1)),
        (off(0.6), on_grid, ReadWith::level(1)),
        (off(-1.1), on_grid, ReadWith::level(1)),
    ];
    for (spec, wear, read) in cases {
        let mut reader = reader("bch-512B-t15", spec.clone());
        let (codewords, bits) = (600, reader.code().codeword_bits());
        let cells = spec.read_with(wear, read);
        let (mut errors, mut of_state) =
            (vec![0u32; cells.pages()], vec![vec![[0u32; 2]; cells.states()]; cells.pages()]);
        for number in 0..codewords {
            let written = written(&mut reader, number);
            let (pages, states) = (slices(&written), states(&spec, &written, bits));
            for (page, errors) in errors.iter_mut().enumerate() {
                let attempt = reader.attempt(&word(number, page, &pages, wear), read);
                *errors += reader.raw_errors();
                assert_eq!(attempt.clean, reader.raw_errors() == 0);
            }
            for (page, of_state) in of_state.iter_mut().enumerate() {
                for at in reader.wrong(&word(number, page, &pages, wear), read) {
                    of_state[states[at as usize]][0] += 1;
                }
                states.iter().for_each(|&state| of_state[state][1] += 1);
            }
        }
        for page in 0..cells.pages() {
            let n = (codewords as usize * bits) as f64;
            let (expected, found) = (cells.rber(page) * n, f64::from(errors[page]));
            let bound = 5.0 * (expected * (1.0 - cells.rber(page))).sqrt() + 0.005 * expected + 1.0;
            println!("{wear:?} {read:?} page {page}: {found} for {expected:.1} +- {bound:.1}");
            assert!(
                (found - expected).abs() < bound,
                "{wear:?} {read:?} page {page}: {found} for {expected} +- {bound}"
            );
            for (state, [found, n]) in of_state[page].iter().enumerate() {
                let (found, rate) = (f64::from(*found), error_rate(&cells, page, state));
                let expected = rate * f64::from(*n);
                let bound = 5.0 * (expected * (1.0 - rate)).sqrt() + 0.02 * expected + 2.0;
                assert!(
                    (found - expected).abs() < bound,
                    "{wear:?} {read:?} page {page} state {state}: {found} for {expected} +- {bound}"
                );
            }
        }
    }
}

/// Do codewords decode as often, in as many iterations, as those that are made up in the same cells? At hard decision in the waterfall
/// and at levels 2 and 7; 600 of each: a share of 0.5 differs by less than 0.116, four standard errors.
#[test]
fn decoding_is_that_of_codewords_that_are_made_up() {
    let pe = 10_000;
    let spec = spec("flash-8/9", cells("mlc"));
    let mut stored = StoredReader::new(&spec, SEED, Path::new("")).unwrap();
    let mut made_up = CodewordReader::new(&spec, SEED, Path::new("")).unwrap();
    let compiled = RberModel::ThresholdVoltage(NamedCells::default()).compiled();
    let written = written(&mut stored, 0);
    let pages = slices(&written);
    for (level, rber, page) in [(1, 0.0088, 0), (1, 0.0092, 1), (2, 0.0160, 1), (3, 0.0192, 0), (7, 0.0222, 1)] {
        let wear = compiled.wear_for(Wear::unread(pe, 2_000.0), Some(page), rber);
        let n = 600;
        let moments = |attempts: Vec<softsense_link::DecodeAttempt>| {
            let failures = attempts.iter().filter(|attempt| !attempt.correct).count() as f64 / attempts.len() as f64;
            let iterations: Vec<f64> =
                attempts.iter().filter(|each| each.converged).map(|each| f64::from(each.iterations)).collect();
            let count = iterations.len() as f64;
            let mean = iterations.iter().sum::<f64>() / count;
            let variance = iterations.iter().map(|i| (i - mean).powi(2)).sum::<f64>() / count / count;
            (failures, mean, variance)
        };
        let condition = CellCondition::Voltages { wear, page };
        let found =
            moments((0..n).map(|at| stored.attempt(&word(at, page, &pages, wear), ReadWith::level(level))).collect());
        let expected = moments((0..n).map(|at| made_up.attempt(at, 1, &[condition], level)).collect());
        println!("level {level} page {page}: {found:?} for {expected:?}");
        let pooled = 0.5 * (found.0 + expected.0);
        let bound = 4.0 * (2.0 * pooled * (1.0 - pooled) / n as f64).sqrt();
        assert!((found.0 - expected.0).abs() <= bound, "level {level}: {found:?} for {expected:?} +- {bound}");
        let bound = 4.0 * (found.2 + expected.2).sqrt();
        assert!((found.1 - expected.1).abs() <= bound, "level {level}: {found:?} for {expected:?} +- {bound}");
    }
}

/// Are reads functions of what is read, whatever was read before and by whom?
#[test]
fn attempts_do_not_depend_on_their_order() {
    let mut reader = reader("flash-8/9", cells("tlc-measured"));
    let written: Vec<Vec<Vec<u8>>> = (0..3).map(|number| written(&mut reader, number)).collect();
    let pages: Vec<Vec<&[u8]>> = written.iter().map(|written| slices(written)).collect();
    let mut asked = Vec::new();
    for cells in 0..3u64 {
        for page in 0..3 {
            for wear in [Wear::unread(100, 1.0), Wear::unread(3_000, 4_000.0)] {
                for read in [
                    ReadWith::level(1),
                    ReadWith::level(4),
                    ReadWith::hard(ReferencesAt::RetryEntry(3)),
                    ReadWith::hard(ReferencesAt::Valleys),
                ] {
                    asked.push((word(cells, page, &pages[cells as usize], wear), read));
                }
            }
        }
    }
    let answer = |reader: &mut StoredReader, (word, read): &(StoredWord, ReadWith)| {
        let attempt = reader.attempt(word, *read);
        (attempt, reader.decided().to_vec())
    };
    let forwards: Vec<_> = asked.iter().map(|asked| answer(&mut reader, asked)).collect();
    let mut other = reader.clone();
    let mut backwards: Vec<_> = asked.iter().rev().map(|asked| answer(&mut other, asked)).collect();
    backwards.reverse();
    assert!(forwards == backwards);
    let mut alone = StoredReader::new(&spec("flash-8/9", cells("tlc-measured")), SEED, Path::new("")).unwrap();
    assert!(forwards[17] == answer(&mut alone, &asked[17]));
    // Another programming of the same cells, and another seed, are others.
    let errors = |reader: &mut StoredReader, word: &StoredWord| reader.wrong(word, ReadWith::level(1));
    let first = asked[2 * 4].0;
    let again = StoredWord { write: 2, ..first };
    let worn = Wear::unread(3_000, 4_000.0);
    let (first, again) = (StoredWord { wear: worn, ..first }, StoredWord { wear: worn, ..again });
    assert_ne!(errors(&mut reader, &first), errors(&mut reader, &again));
    let mut seeded = StoredReader::new(&spec("flash-8/9", cells("tlc-measured")), SEED + 1, Path::new("")).unwrap();
    assert_ne!(errors(&mut reader, &first), errors(&mut seeded, &first));
}

/// Do cells keep their quantiles? Where states only fall and references stay, a cell of the highest state that is read wrong stays
/// wrong; and the syndrome weight is that of the word as it was sensed.
#[test]
fn cells_keep_their_quantiles() {
    let spec = cells("tlc-measured");
    let mut reader = reader("flash-8/9", spec.clone());
    let written = written(&mut reader, 4);
    let pages = slices(&written);
    let states = states(&spec, &written, reader.code().codeword_bits());
    let code = reader.code().clone();
    let mut before: Vec<u32> = Vec::new();
    for hours in [0.0, 24.0, 500.0, 2_160.0, 8_760.0] {
        let word = word(9, 2, &pages, Wear::unread(3_000, hours));
        let wrong = reader.wrong(&word, ReadWith::hard(ReferencesAt::Default));
        let highest: Vec<u32> = wrong.iter().copied().filter(|&at| states[at as usize] == 7).collect();
        assert!(before.iter().all(|at| highest.contains(at)), "{hours}");
        let mut sensed = written[2].clone();
        wrong.iter().for_each(|&at| bits::flip(&mut sensed, at as usize));
        let weight = reader.attempt(&word, ReadWith::hard(ReferencesAt::Default)).syndrome_weight;
        assert_eq!(weight, Some(code.syndrome_weight(&sensed) as u32));
        before = highest;
    }
    assert!(before.len() > 20, "{}", before.len());
}

/// Does every way to place references end: with data that is right, or with nothing left to try?
#[test]
fn every_policy_reads_to_an_end() {
    let mut reader = reader("flash-8/9", cells("tlc-measured"));
    let die = Predictor { place: PredictorPlace::Die, predict_us: 2.5, threshold_rber: 0.0085, checks: Some(1024) };
    let controller = Predictor { place: PredictorPlace::Controller, ..die };
    let written = written(&mut reader, 1);
    let pages = slices(&written);
    let data: Vec<Vec<u8>> = written.iter().map(|codeword| codeword[..reader.data_bytes()].to_vec()).collect();
    let mut steps = Vec::new();
    for references in [
        HardReferences::Cells,
        HardReferences::RetryTable,
        HardReferences::ValleySearch,
        HardReferences::Sentinels,
        HardReferences::ShareOfOnes,
    ] {
        for (policy, soft_references, predictor) in [
            (Policy::TwoStep, SoftReferences::Cells, None),
            (Policy::Progressive, SoftReferences::FewestViolated, None),
            (Policy::LookAhead, SoftReferences::Cells, Some(controller)),
            (Policy::LookAheadProgressive, SoftReferences::FewestViolated, Some(die)),
        ] {
            let max_level = 3;
            let retry = Retry::Incremental;
            let spec =
                ReadSpec { policy, references, soft_references, predictor, max_level, retry, ..ReadSpec::default() };
            let (mut most, mut undecoded) = (0, 0);
            for cells in 0..12 {
                for (wear, decodes) in [
                    (Wear::unread(0, 0.0), true),
                    (Wear::unread(3_000, 8_760.0), true),
                    (Wear::unread(60_000, 80_000.0), false),
                ] {
                    let page = cells as usize % 3;
                    let word = word(cells, page, &pages, wear);
                    let decoded = reader.read(&word, &spec, None, &mut steps);
                    assert_eq!(decoded, decodes, "{references:?} {policy:?} {wear:?}: {steps:?}");
                    let (last, before) = steps.split_last().unwrap();
                    assert!(before.iter().all(|(_, attempt)| !attempt.converged));
                    assert_eq!(last.1.converged, decoded);
                    if decoded {
                        assert!(last.1.correct && reader.data() == data[page], "{references:?} {policy:?} {wear:?}");
                    } else {
                        assert_eq!(last.0.level, max_level);
                    }
                    most = most.max(steps.len());
                    undecoded +=
                        steps.iter().filter(|(_, attempt)| attempt.iterations == 0 && !attempt.converged).count();
                    assert!(steps.len() < 12, "{steps:?}");
                }
            }
            let at_least = if references == HardReferences::Cells { 2 } else { 3 };
            assert!(most >= at_least, "{references:?} {policy:?}: {most} steps");
            let spares = predictor == Some(controller) || references == HardReferences::Sentinels;
            assert_eq!(undecoded > 0, spares, "{references:?} {policy:?}: {undecoded}");
        }
    }
    // Reads begin where the last one was decoded.
    let spec = ReadSpec { references: HardReferences::RetryTable, ..ReadSpec::default() };
    let remembered = Some(ReferencesAt::RetryEntry(2));
    assert!(reader.read(&word(1, 1, &pages, Wear::unread(3_000, 2_160.0)), &spec, remembered, &mut steps));
    assert_eq!((steps.len(), steps[0].0.references), (1, ReferencesAt::RetryEntry(2)));
    // A BCH code has no soft levels: a read ends after hard decisions.
    let mut bch = StoredReader::new(&self::spec("bch-4KB-t256", cells("tlc-measured")), SEED, Path::new("")).unwrap();
    let written = self::written(&mut bch, 1);
    let pages = slices(&written);
    assert!(bch.read(&word(1, 1, &pages, Wear::unread(3_000, 24.0)), &spec, None, &mut steps));
    assert!(bch.data() == &written[1][..4096] && steps.len() == 1);
    assert!(!bch.read(&word(1, 1, &pages, Wear::unread(60_000, 80_000.0)), &spec, None, &mut steps));
    assert_eq!(steps.len(), 4);
}

#[test]
fn cells_without_voltages_are_refused() {
    let spec = ExactSpec { rber: RberModel::Constant { rber: 0.01 }, ..spec("flash-8/9", CellSpec::default()) };
    let error = StoredReader::new(&spec, 1, Path::new("")).unwrap_err().to_string();
    assert!(
        error.starts_with("reliability.exact.rber: found a raw bit error rate without threshold voltages"),
        "{error}"
    );
}
