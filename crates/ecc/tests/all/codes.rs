//! Codes as they are used: encoding, the catalogue, channels and measurement.

use std::ops::ControlFlow;
use std::sync::Arc;

use proptest::prelude::*;
use softsense_base::{Purpose, Stream, binomial_interval};
use softsense_ecc::bits;
use softsense_ecc::catalogue::Code;
use softsense_ecc::channel::{Channel, LARGEST_REGION_LLR, Noise, Output, best_thresholds, capacity};
use softsense_ecc::ldpc::{
    Block, Correction, DenseEncoder, LdpcCode, MinSum, ParityCheck, QuasiCyclic, RedundantChecks,
};
use softsense_ecc::measure::{Algorithm, BenchResult, DecoderSpec, FrameDecoder, Measurement, Stop, Verdict};
use softsense_ecc::{InstructionSet, ldpc};

/// `count` random bits, packed.
fn random_bits(seed: u64, word: u64, count: usize) -> Vec<u8> {
    let stream = Stream::new(seed, Purpose::Data);
    let mut bytes: Vec<u8> = (0..bits::bytes_for(count) as u64).map(|byte| stream.bits(word, byte) as u8).collect();
    (count..8 * bytes.len()).for_each(|padding| bytes[padding / 8] &= !(0x80 >> (padding % 8)));
    bytes
}

/// A random base matrix. `parity` says which blocks the parity part has: given its row and column.
fn base_matrix(
    seed: u64,
    size: usize,
    rows: u32,
    columns: u32,
    parity: impl Fn(u32, u32) -> Option<u32>,
) -> QuasiCyclic {
    let stream = Stream::new(seed, Purpose::CodeConstruction);
    let mut blocks = Vec::new();
    for row in 0..rows {
        for column in 0..columns {
            let draw = stream.bits(row.into(), column.into());
            let shift = if column < columns - rows {
                (!draw.is_multiple_of(3) || column == row % (columns - rows))
                    .then_some((draw >> 32) as u32 % size as u32)
            } else {
                parity(row, column + rows - columns).map(|shift| shift % size as u32)
            };
            blocks.extend(shift.map(|shift| Block { row, column, shift }));
        }
    }
    QuasiCyclic::new(size, rows as usize, columns as usize, blocks).unwrap()
}

/// The parity part of IEEE 802.11n and 802.16e: a column of three blocks, then two diagonals.
fn dual_diagonal(rows: u32) -> impl Fn(u32, u32) -> Option<u32> {
    move |row, column| match (row, column) {
        (_, 0) if row == 0 || row == rows - 1 => Some(1),
        (_, 0) if row == rows / 2 => Some(0),
        (_, 0) => None,
        _ => (row + 1 == column || row == column).then_some(0),
    }
}

/// A lower triangle but for two full columns.
fn nearly_triangular(seed: u64, rows: u32) -> impl Fn(u32, u32) -> Option<u32> {
    let stream = Stream::new(seed, Purpose::Noise);
    move |row, column| {
        let draw = stream.bits(row.into(), column.into());
        let here = row == column || column + 2 >= rows || (row > column && draw.is_multiple_of(3));
        here.then_some((draw >> 32) as u32)
    }
}

/// No structure at all: odd weights make an inverse likely.
fn unstructured(seed: u64, rows: u32) -> impl Fn(u32, u32) -> Option<u32> {
    let stream = Stream::new(seed, Purpose::Noise);
    move |row, column| {
        let draw = stream.bits(row.into(), column.into());
        (row == column || draw.is_multiple_of(rows.into())).then_some((draw >> 32) as u32)
    }
}

/// Encodes random data in every way there is; all must give the same codeword, which satisfies every check and holds the
/// data. Returns whether the data come first.
fn check_encoders(base: &QuasiCyclic, words: u64) -> bool {
    let matrix = base.expand();
    let dense = DenseEncoder::with_redundant_checks(&matrix);
    let data_bits = dense.data_bits();
    let codes = InstructionSet::available()
        .into_iter()
        .map(|set| Arc::new(LdpcCode::with_instruction_set(base.clone(), RedundantChecks::Accept, set).unwrap()));
    let codes: Vec<_> = codes.collect();
    let mut encoders: Vec<_> = codes.iter().map(LdpcCode::encoder).collect();
    let bytes = bits::bytes_for(matrix.columns());
    for word in 0..words {
        let data = random_bits(7, word, data_bits);
        let mut expected = vec![0xaa; bytes];
        dense.encode(&data, &mut expected);
        assert_eq!(matrix.syndrome_weight(&expected), 0);
        // Padding bits of the data do not matter.
        let mut padded = data.clone();
        *padded.last_mut().unwrap() |= (0xffu16 >> ((data_bits + 7) % 8 + 1)) as u8;
        for (code, encoder) in codes.iter().zip(&mut encoders) {
            assert_eq!(code.data_bits(), data_bits);
            let mut codeword = vec![0x55; bytes];
            encoder.encode(&padded, &mut codeword);
            assert_eq!(codeword, expected, "circulants of {}", base.circulant_size());
            codeword.fill(0x33);
            code.encode(&data, &mut codeword);
            assert_eq!(codeword, expected);
            assert_eq!(code.syndrome_weight(&codeword), 0);
            let mut extracted = vec![0xcc; data.len()];
            code.extract_data(&codeword, &mut extracted);
            assert_eq!(extracted, data);
        }
    }
    codes[0].data_positions().is_none()
}

/// Is the fast encoder the one by elimination, for every form of the parity part, circulants of any size and every
/// instruction set?
#[test]
fn structured_encoders_are_the_dense_one() {
    let mut structured = 0;
    for size in [1, 2, 5, 8, 27, 31, 54, 64, 81, 96, 128, 130] {
        let seed = size as u64;
        for rows in [1, 2, 4, 6] {
            let dual = base_matrix(seed, size, rows, rows + 5, dual_diagonal(rows));
            let nearly = base_matrix(seed, size, rows, rows + 3, nearly_triangular(seed, rows));
            let any = base_matrix(seed, size, rows, 2 * rows, unstructured(seed, rows));
            for base in [&dual, &nearly, &any] {
                structured += u32::from(check_encoders(base, 4));
            }
            assert!(rows < 4 || check_encoders(&dual, 1), "a dual diagonal of {rows} x {size} is invertible");
        }
    }
    // Some parity parts are singular by chance; most must not be, or the structured encoder is hardly tested.
    assert!(structured > 80, "{structured} of 144");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// The same of random shapes: more block rows than one can follow by hand.
    #[test]
    fn encoders_agree_on_random_shapes(seed in any::<u64>(), size in 1usize..70, rows in 1u32..14, data in 1u32..9) {
        check_encoders(&base_matrix(seed, size, rows, rows + data, unstructured(seed, rows)), 2);
        check_encoders(&base_matrix(seed, size, rows, rows + data, nearly_triangular(seed, rows)), 2);
    }
}

/// Has every shipped code the size it claims, and do all its codewords satisfy every check and hold their data?
#[test]
fn shipped_codes_encode() {
    let sizes = [
        ("teaching-1/2", 96, 48),
        ("flash-8/9", 36864, 32768),
        ("flash-64/73", 37376, 32768),
        ("flash-64/71", 36352, 32768),
        ("flash-32/35", 35840, 32768),
        ("flash-64/69", 35328, 32768),
        ("irregular-4/5", 40960, 32768),
        ("irregular-16/19", 38912, 32768),
        ("irregular-8/9", 36864, 32768),
        ("irregular-32/35", 35840, 32768),
        ("irregular-16/17", 34816, 32768),
        ("adaptive-5/6", 65536, 13 * 4096),
        ("adaptive-3/4", 65536, 12 * 4096),
        ("adaptive-2/3", 65536, 10 * 4096),
        ("adaptive-1/2", 65536, 8 * 4096),
        ("adaptive-1/3", 65536, 5 * 4096),
        ("adaptive-1/4", 65536, 4 * 4096),
        ("bch-512B-t15", 4291, 4096),
        ("bch-1KB-t31", 8626, 8192),
        ("bch-2KB-t57", 17239, 16384),
        ("bch-4KB-t105", 34448, 32768),
        ("bch-4100B-t108", 34528, 32800),
        ("bch-4KB-t256", 36856, 32768),
    ];
    assert_eq!(Code::names().collect::<Vec<_>>(), sizes.map(|(name, ..)| name));
    for (name, codeword_bits, data_bits) in sizes {
        let code = Code::shipped(name).unwrap();
        assert_eq!((code.codeword_bits(), code.data_bits()), (codeword_bits, data_bits), "{name}");
        let mut encoder = code.encoder();
        for word in 0..5 {
            let data = random_bits(1, word, data_bits);
            let mut codeword = vec![0xff; bits::bytes_for(codeword_bits)];
            encoder.encode(&data, &mut codeword);
            match &code {
                Code::Ldpc(code) => {
                    assert_eq!(code.data_positions(), None);
                    assert_eq!(code.syndrome_weight(&codeword), 0, "{name}");
                }
                Code::Bch(code) => assert!(code.is_codeword(&codeword), "{name}"),
            }
            let mut extracted = vec![0xff; data.len()];
            code.extract_data(&codeword, &mut extracted);
            assert_eq!(extracted, data, "{name}");
        }
    }
}

/// Do all instruction sets encode the default code alike?
#[test]
fn instruction_sets_encode_alike() {
    let Code::Ldpc(shipped) = Code::shipped("flash-8/9").unwrap() else { panic!("an LDPC code") };
    let base = shipped.quasi_cyclic().unwrap();
    for set in InstructionSet::available() {
        let code = LdpcCode::with_instruction_set(base.clone(), RedundantChecks::Refuse, set).unwrap();
        for word in 0..3 {
            let data = random_bits(2, word, code.data_bits());
            let mut codewords = [vec![0; 4608], vec![0; 4608]];
            shipped.encode(&data, &mut codewords[0]);
            code.encode(&data, &mut codewords[1]);
            assert_eq!(codewords[0], codewords[1], "{}", set.name());
        }
    }
}

/// Are redundant checks refused, with the rank, unless they are asked for?
#[test]
fn redundant_checks_are_refused_or_data() {
    // Every column has weight 2: all rows add up to zero.
    let blocks = (0..6).flat_map(|column| [0, 1].map(|row| Block { row, column, shift: row * column }));
    let base = QuasiCyclic::new(7, 2, 6, blocks.collect()).unwrap();
    for matrix in [ldpc::Matrix::from(base.clone()), base.expand().into()] {
        let error = LdpcCode::new(matrix.clone(), RedundantChecks::Refuse).unwrap_err();
        let found =
            "found rank 13, expected 14: 1 checks follow from others. Leave them out of the file, or accept them";
        let options = "(--redundant-checks, redundant_checks=True), and each makes one more data bit";
        assert_eq!(error.message(), format!("{found} {options}"));
        let code = LdpcCode::new(matrix, RedundantChecks::Accept).unwrap();
        assert_eq!((code.codeword_bits(), code.data_bits()), (42, 29));
    }
    check_encoders(&base, 10);
}

/// Is a matrix whose parity positions are not the last columns encoded, and is its data found again?
#[test]
fn data_may_stand_anywhere() {
    // Columns 4 and 5 are equal: one of them is data.
    let rows: [&[u32]; 3] = [&[0, 1, 3], &[0, 2, 4, 5], &[1, 2, 3]];
    let code = LdpcCode::new(ParityCheck::from_rows(6, &rows).unwrap(), RedundantChecks::Refuse).unwrap();
    let positions = code.data_positions().expect("not the first ones").to_vec();
    assert_eq!(positions.len(), 3);
    for data in 0..8u8 {
        let data = [data << 5];
        let (mut codeword, mut extracted) = ([0xff], [0xff]);
        code.encode(&data, &mut codeword);
        assert_eq!((code.syndrome_weight(&codeword), codeword[0] & 3), (0, 0));
        code.extract_data(&codeword, &mut extracted);
        assert_eq!(extracted, data);
    }
}

/// Do errors of the catalogue name what was found, what there is, and the line of a file?
#[test]
fn catalogue_errors_help() {
    let unknown = Code::shipped("flash-9/8").unwrap_err().to_string();
    assert!(unknown.starts_with("flash-9/8: found no code"), "{unknown}");
    assert!(unknown.contains("one of flash-8/9, "), "the nearest name comes first: {unknown}");
    assert!(Code::names().all(|name| unknown.contains(name)), "{unknown}");

    let open = |name: &str| Code::open(name, RedundantChecks::Refuse);
    assert!(open("adaptive1/2").unwrap_err().to_string().contains("one of adaptive-1/2, "));
    for (name, found) in [
        ("bch:m=15,t=57", "found `m=15,t=57`"),
        ("bch:m=15,t=57,k=31912,k=4", "found `k=4`"),
        ("bch:m=15,t=x,k=31912", "found `t=x`"),
        ("bch:m=15,t=57,k=32000", "data_bits: found 32000"),
        ("bch:m=17,t=57,k=32000", "field_bits: found 17"),
        ("missing.alist", "missing.alist: "),
    ] {
        let error = open(name).unwrap_err().to_string();
        assert!(error.starts_with(name) && error.contains(found), "{error}");
    }
    let code = open("bch:k=31912,m=15,t=57").unwrap();
    assert_eq!((code.codeword_bits(), code.data_bits()), (32767, 31912));
}

/// Is a file recognised by its ending or its content, and is the line of a mistake told?
#[test]
fn files_open() {
    let directory = std::env::temp_dir().join(format!("softsense-codes-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let base = base_matrix(3, 9, 4, 9, dual_diagonal(4));
    let open = |file: &str, text: &str| {
        let path = directory.join(file);
        std::fs::write(&path, text).unwrap();
        Code::open(path.to_str().unwrap(), RedundantChecks::Refuse)
    };
    let (qc, alist) = (format!("# a comment\n\n{}", base.to_text()), base.expand().to_alist());
    for (file, text) in [("a.qc", &qc), ("a.alist", &alist), ("b", &qc), ("c.txt", &alist)] {
        let Code::Ldpc(code) = open(file, text).unwrap() else { panic!("an LDPC code") };
        assert_eq!((code.quasi_cyclic(), code.data_bits()), (Some(&base), 45), "{file}");
        assert_eq!(**code.parity_check(), base.expand());
    }
    let error = open("d.qc", &qc.replacen("-1", "nine", 1)).unwrap_err().to_string();
    assert!(error.contains("d.qc:4: found `nine`"), "{error}");
    let error = open("e.alist", &alist.replacen("81 36", "81 36 1", 1)).unwrap_err().to_string();
    assert!(error.contains("e.alist:1: found 3 numbers"), "{error}");
    let singular = "3 2 5\n0 1 2\n0 1 2\n";
    let error = open("f.qc", singular).unwrap_err().to_string();
    assert!(error.contains("f.qc: found rank 5, expected 10"), "{error}");
    std::fs::remove_dir_all(directory).unwrap();
}

/// Is a code that was written as an alist the same one as before: with the same circulants, or larger ones that are made of these, and with
/// the same encoder and decoder, bit for bit? With comments, too?
#[test]
fn circulants_are_found_again() {
    for entry in Code::entries() {
        let Code::Ldpc(of_base) = entry.compile() else { continue };
        let base = of_base.quasi_cyclic().unwrap();
        let text = of_base.parity_check().to_alist();
        let (head, rest) = text.split_once('\n').unwrap();
        let text = format!("# {}\n  # of {head}\n{head} # columns, rows\n#\n{rest}# the end\n", entry.name());
        let Ok(Code::Ldpc(of_alist)) = Code::parse("c.alist", &text, RedundantChecks::Refuse) else {
            panic!("{}: an LDPC code", entry.name())
        };
        assert_eq!(of_alist.parity_check(), of_base.parity_check(), "{}", entry.name());
        let found = of_alist.quasi_cyclic().unwrap();
        assert!(found.circulant_size().is_multiple_of(base.circulant_size()), "{}", entry.name());
        let (n, k) = (of_base.codeword_bits(), of_base.data_bits());
        let noise = Stream::new(7, Purpose::Noise);
        let data = random_bits(7, 1, k);
        let word = |code: &LdpcCode| {
            let mut word = vec![0; bits::bytes_for(n)];
            code.encode(&data, &mut word);
            word
        };
        assert!(word(&of_base) == word(&of_alist), "{}", entry.name());
        if !MinSum::decodes(base) {
            continue;
        }
        let correction = Correction::for_rate(of_base.rate());
        let [mut one, mut other] = [base, found].map(|base| MinSum::new(base, &correction).unwrap());
        for (trial, rate) in [0.004, 0.008, 0.012].into_iter().enumerate() {
            let mut received = word(&of_base);
            let is_wrong = |&bit: &usize| noise.uniform(2 + trial as u64, bit as u64) < rate;
            (0..n).filter(is_wrong).for_each(|bit| bits::flip(&mut received, bit));
            let mut same = received.clone();
            let (verdict, expected) = (other.decode_hard(&mut same, 20), one.decode_hard(&mut received, 20));
            assert_eq!(format!("{verdict:?}"), format!("{expected:?}"), "{}", entry.name());
            assert!(same == received, "{}", entry.name());
        }
    }
}

/// Is a matrix that is not made of circulants taken for none, whichever of its ones is elsewhere, and is one that has two at a place made of
/// the smaller ones that it has?
#[test]
fn no_circulants_are_made_up() {
    let base = base_matrix(5, 8, 3, 6, dual_diagonal(3));
    let matrix = base.expand();
    assert_eq!(QuasiCyclic::found_in(&matrix), Some(base));
    let rows: Vec<Vec<u32>> = (0..matrix.rows()).map(|row| matrix.row(row).to_vec()).collect();
    for at in 0..rows.len() {
        let mut rows = rows.clone();
        let free = (0..matrix.columns() as u32).rev().find(|column| !rows[at].contains(column)).unwrap();
        rows[at][0] = free;
        let changed = ParityCheck::from_rows(matrix.columns(), &rows).unwrap();
        assert_eq!(QuasiCyclic::found_in(&changed), None, "row {at}");
    }
    // The sum of two shifted identities of 4 bits is one circulant at no size but, here, 2.
    let sum = [[0, 2, 4], [1, 3, 5], [2, 0, 6], [3, 1, 7]];
    let found = QuasiCyclic::found_in(&ParityCheck::from_rows(8, &sum).unwrap()).unwrap();
    assert_eq!((found.circulant_size(), found.blocks().len()), (2, 6));
}

/// Does a channel read back as it is written, and is what it cannot be refused?
#[test]
fn channels_parse() {
    for text in ["bsc:0.0075", "errors:57", "awgn:3.8", "awgn:-1", "gaussian:0.0186:7"] {
        assert_eq!(text.parse::<Channel>().unwrap().to_string(), text);
    }
    for (text, found) in [
        ("bsc", "found `bsc`"),
        ("bsc:0.6", "found 0.6"),
        ("bsc:NaN", "found NaN"),
        ("errors:-1", "found `-1`"),
        ("errors:1.5", "found `1.5`"),
        ("awgn:inf", "found inf"),
        ("gaussian:0.01", "found `gaussian:0.01`"),
        ("gaussian:0:3", "found 0,"),
        ("gaussian:0.01:0", "found 0 levels"),
        ("gaussian:0.01:8", "found 8 levels"),
    ] {
        let error = text.parse::<Channel>().unwrap_err().to_string();
        assert!(error.contains(found), "{error}");
    }
    let error = Channel::Errors { count: 101 }.noise(100, 0.5, 1).unwrap_err().to_string();
    assert!(error.contains("found 101 errors"), "{error}");
}

/// The errors of each of `frames` frames.
fn error_counts(channel: &str, codeword_bits: usize, frames: u64) -> Vec<usize> {
    let mut noise = channel.parse::<Channel>().unwrap().noise(codeword_bits, 0.5, 5).unwrap();
    let counts = (0..frames).map(|frame| {
        let codeword = random_bits(5, frame, codeword_bits);
        let mut word = codeword.clone();
        noise.flip(frame, &mut word);
        bits::distance(&word, &codeword)
    });
    counts.collect()
}

/// Has the number of errors the mean and the variance of a binomial one, and is every place as likely?
///
/// 20,000 frames of 1000 bits: the bounds are 4.5 standard deviations, and an error rate off by 2 % at p = 0.01 lies nine
/// of them away.
#[test]
fn bsc_errors_are_binomial() {
    for p in [0.0, 1e-12, 0.001, 0.01, 0.3, 0.5] {
        let (n, frames) = (1000.0, 20_000.0);
        let counts = error_counts(&format!("bsc:{p}"), 1000, 20_000);
        let mean = counts.iter().sum::<usize>() as f64 / frames;
        let variance = counts.iter().map(|&count| (count as f64 - mean).powi(2)).sum::<f64>() / frames;
        let expected = n * p * (1.0 - p);
        assert!((mean - n * p).abs() <= 4.5 * (expected / frames).sqrt() + 1e-6, "mean {mean} at {p}");
        // The fourth central moment of a binomial number is v (1 + 3 v (1 - 2 / n)) less little.
        let of_variance = (expected * (1.0 + 2.0 * expected) / frames).sqrt();
        assert!((variance - expected).abs() <= 4.5 * of_variance + 1e-6, "variance {variance} at {p}");
    }
    let mut places = [0u32; 24];
    let mut noise = "bsc:0.05".parse::<Channel>().unwrap().noise(24, 0.5, 6).unwrap();
    for frame in 0..50_000 {
        let mut word = [0; 3];
        noise.flip(frame, &mut word);
        (0..24).for_each(|place| places[place] += u32::from(bits::get(&word, place)));
    }
    // Chi-square of 24 places exceeds 58.6 with probability 1e-4.
    let chi2: f64 = places.iter().map(|&count| (f64::from(count) - 2500.0).powi(2) / (2500.0 * 0.95)).sum();
    assert!(chi2 < 58.6, "chi-square {chi2}");
}

/// Are there exactly as many errors as asked for, at places that are all equally likely, in other places in each frame?
#[test]
fn exact_errors_are_exact() {
    for count in [0, 1, 7, 300, 999, 1000] {
        assert!(error_counts(&format!("errors:{count}"), 1000, 50).iter().all(|&found| found == count));
    }
    let mut places = [0u32; 21];
    let mut noise = "errors:4".parse::<Channel>().unwrap().noise(21, 0.5, 6).unwrap();
    for frame in 0..21_000 {
        let mut word = [0; 3];
        noise.flip(frame, &mut word);
        (0..21).for_each(|place| places[place] += u32::from(bits::get(&word, place)));
    }
    // Counts at 21 places with a fixed sum: chi-square of 20 degrees exceeds 52.4 with probability 1e-4.
    let chi2: f64 = places.iter().map(|&count| (f64::from(count) - 4000.0).powi(2)).sum::<f64>() / 4000.0 * 20.0 / 17.0;
    assert!(chi2 < 52.4, "chi-square {chi2}");
}

/// Are the best thresholds and the capacities those computed elsewhere, to all places given?
#[test]
fn thresholds_and_capacities_are_the_known_ones() {
    let thresholds = best_thresholds(0.02827, 7);
    let expected = [-0.6881, -0.3815, -0.1745, 0.0, 0.1745, 0.3815, 0.6881];
    for (found, expected) in thresholds.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-4, "{thresholds:?}");
    }
    // The largest raw error rate at which so many levels carry 8/9 of a bit: each to its last place.
    for (levels, rate) in [(1, 0.01479), (2, 0.02209), (3, 0.02515), (5, 0.02745), (7, 0.02827)] {
        let (above, below) = (capacity(rate + 0.00001, levels), capacity(rate - 0.00001, levels));
        assert!(above < 8.0 / 9.0 && below > 8.0 / 9.0, "{levels} levels at {rate}: {above}, {below}");
    }
    for rate in [1e-9, 1e-4, 0.1, 0.499] {
        let capacities: Vec<f64> = (1..=7).map(|levels| capacity(rate, levels)).collect();
        assert!(capacities.windows(2).all(|pair| pair[0] < pair[1] + 1e-12), "at {rate}: {capacities:?}");
        for levels in 1..=7 {
            let thresholds = best_thresholds(rate, levels);
            assert!(thresholds.windows(2).all(|pair| pair[0] < pair[1]), "at {rate}: {thresholds:?}");
        }
    }
}

/// Do the LLRs that a soft channel gives tell the truth: is a bit with LLR l a 0 in e^l / (1 + e^l) of cases?
///
/// 400 frames of 1000 bits; the number of ones among the bits of each LLR lies within 4.5 standard deviations (and 3).
#[test]
fn soft_channels_tell_the_truth() {
    let channels = ["gaussian:0.0186:7", "gaussian:0.1:1", "gaussian:0.05:2", "gaussian:0.2:6", "awgn:-2", "awgn:3.8"];
    for text in channels {
        let channel: Channel = text.parse().unwrap();
        let mut noise = channel.noise(1000, 0.5, 9).unwrap();
        assert!(noise.is_soft());
        let mut counts = vec![[0u32; 2]; 256];
        let mut raw_errors = 0;
        for frame in 0..400 {
            let codeword = random_bits(9, frame, 1000);
            let (mut llrs, mut word) = (vec![0; 1000], codeword.clone());
            noise.llrs(frame, &codeword, &mut llrs);
            noise.flip(frame, &mut word);
            for (place, &llr) in llrs.iter().enumerate() {
                counts[(i32::from(llr) + 128) as usize][usize::from(bits::get(&codeword, place))] += 1;
                assert_eq!(bits::get(&word, place), llr < 0, "a hard decision is the sign");
            }
            raw_errors += bits::distance(&word, &codeword);
        }
        let used = |llr: i32| counts[(llr + 128) as usize].iter().sum::<u32>() > 0;
        for (index, [zeros, ones]) in counts.iter().enumerate() {
            // The outermost values of an AWGN channel stand for all beyond them.
            let llr = f64::from(index as i32 - 128);
            if text.starts_with("awgn") && llr.abs() == 127.0 {
                continue;
            }
            let (total, p) = (f64::from(zeros + ones), 1.0 / (1.0 + (llr * noise.llr_step()).exp()));
            // Regions have LLRs rounded to a whole step.
            let rounding = total * p * (1.0 - p) * noise.llr_step() / 2.0;
            let bound = 4.5 * (total * p * (1.0 - p)).sqrt() + 3.0 + rounding;
            assert!((f64::from(*ones) - total * p).abs() < bound, "{text}: LLR {llr}: {ones} of {total}, {p}");
        }
        if let Channel::Gaussian { raw_error_rate, levels } = channel {
            assert_eq!((-128..128).filter(|&llr| used(llr)).count(), levels + 1, "{text}: regions");
            let largest = i32::from(LARGEST_REGION_LLR);
            assert!(used(largest) && used(-largest) && !(largest + 1..128).any(used), "{text}");
            if levels % 2 == 1 {
                let expected = 400_000.0 * raw_error_rate;
                let bound = 4.5 * (expected * (1.0 - raw_error_rate)).sqrt();
                assert!((raw_errors as f64 - expected).abs() < bound, "{text}: {raw_errors}, not {expected}");
            }
        }
    }
}

/// Are LLRs drawn with the probabilities of the outputs, and where a number of errors is given, with those given a right or
/// a wrong decision? And is it so at all places of a block of 64 bits, which is drawn at once?
///
/// 1.2 million bits for each quarter of a block, 60,000 of them wrong where errors are given. Chi-square exceeds the limits
/// with probability 1e-5 by chance, and with more than 0.99 where an output of 3 % is off by 5 % of itself, one of 0.02 %
/// by 60 %, or of wrong bits one of a third by 6 %.
#[test]
fn soft_noise_has_the_probabilities_asked_for() {
    const RIGHT: [(i8, f64); 4] = [(60, 0.93), (30, 0.03), (9, 0.015), (0, 0.009)];
    const WRONG: [(i8, f64); 4] = [(-9, 0.009), (-30, 0.005), (-60, 0.0018), (-61, 0.0002)];
    let (bits, frames) = (1203, 4000);
    let right = RIGHT.map(|(llr, right)| Output { llr, right, wrong: 0.0 });
    let wrong = WRONG.map(|(llr, wrong)| Output { llr, right: 0.0, wrong });
    let outputs = [right, wrong].concat();
    let chi_square = |counts: &[u32], probabilities: &[f64]| -> f64 {
        let share = f64::from(counts.iter().sum::<u32>()) / probabilities.iter().sum::<f64>();
        counts.iter().zip(probabilities).map(|(&found, p)| (f64::from(found) - share * p).powi(2) / (share * p)).sum()
    };
    let probabilities: Vec<f64> = outputs.iter().map(|output| output.right + output.wrong).collect();
    for errors in [None, Some(60)] {
        let mut noise = Noise::of_outputs(&outputs, 0.1, bits, errors, 4).unwrap();
        let mut quarters = [[0u32; 8]; 4];
        for frame in 0..frames {
            let codeword = random_bits(4, frame, bits);
            let mut llrs = vec![0; bits];
            noise.llrs(frame, &codeword, &mut llrs);
            let mut found_errors = 0;
            for (place, llr) in llrs.into_iter().enumerate() {
                let given_zero = if bits::get(&codeword, place) { -llr } else { llr };
                let index = outputs.iter().position(|output| output.llr == given_zero).expect("an output");
                quarters[place % 64 / 16][index] += 1;
                found_errors += usize::from(index >= RIGHT.len());
            }
            assert!(errors.is_none_or(|errors| found_errors == errors));
        }
        for counts in quarters {
            let found = match errors {
                None => vec![(chi_square(&counts, &probabilities), 36.0)],
                // Of which there are four each.
                Some(_) => vec![
                    (chi_square(&counts[..4], &probabilities[..4]), 25.9),
                    (chi_square(&counts[4..], &probabilities[4..]), 25.9),
                ],
            };
            assert!(found.iter().all(|(chi2, limit)| chi2 < limit), "{errors:?}: {found:?} of {counts:?}");
        }
    }
}

/// Is soft noise the same on every instruction set and today? A frame of four kinds is pinned: a change here changes every
/// measured soft frame error rate, and asks for another version in the identity of soft tasks.
#[test]
fn soft_noise_is_the_same_everywhere() {
    let digest =
        |llrs: &[i8]| llrs.iter().fold(0u64, |sum, &llr| sum.wrapping_mul(0x9e37_79b9).wrapping_add(llr as u64));
    let bits = 1203;
    let outputs: Vec<Output> = (-20i8..=20)
        .map(|llr| (llr, libm::exp(-f64::from(llr).abs() / 4.0)))
        .map(
            |(llr, p)| {
                if llr < 0 { Output { llr, right: 0.0, wrong: p } } else { Output { llr, right: p, wrong: 0.0 } }
            },
        )
        .collect();
    let total: f64 = outputs.iter().map(|output| output.right + output.wrong).sum();
    let outputs: Vec<Output> = (outputs.into_iter())
        .map(|Output { llr, right, wrong }| Output { llr, right: right / total, wrong: wrong / total })
        .collect();
    let of_channel = |text: &str| text.parse::<Channel>().unwrap().noise(bits, 0.5, 8).unwrap();
    let kinds = [
        (of_channel("gaussian:0.02:7"), 5_941_483_878_600_215_388),
        (of_channel("awgn:3"), 12_279_429_038_162_092_710),
        (Noise::of_outputs(&outputs, 0.1, bits, None, 8).unwrap(), 10_717_206_257_480_870_267),
        (Noise::of_outputs(&outputs, 0.1, bits, Some(500), 8).unwrap(), 6_064_261_948_331_112_148),
    ];
    let codeword = random_bits(8, 0, bits);
    for (kind, (noise, expected)) in kinds.into_iter().enumerate() {
        for set in InstructionSet::available() {
            let mut llrs = vec![0; bits];
            noise.clone().with_instruction_set(set).llrs(17, &codeword, &mut llrs);
            assert_eq!(digest(&llrs), expected, "kind {kind}, {}", set.name());
        }
    }
}

/// Are exact intervals those in print? R: binom.test(x, n)$conf.int.
#[test]
fn intervals_are_those_of_clopper_and_pearson() {
    for (failures, trials, low, high) in [
        (0, 100, 0.0, 0.036_216_693),
        (10, 100, 0.049_004_69, 0.176_222_60),
        (1, 10, 0.002_528_579, 0.445_016_12),
        (10, 10, 0.691_502_89, 1.0),
    ] {
        let (found_low, found_high) = binomial_interval(failures, trials, 0.95);
        assert!((found_low - low).abs() < 1e-7 && (found_high - high).abs() < 1e-7, "{found_low} {found_high}");
    }
    assert_eq!(binomial_interval(0, 0, 0.95), (0.0, 1.0));
    // Rare failures among many trials: those of a Poisson number, 5 being 1.6235 to 11.6683.
    let (low, high) = binomial_interval(5, 1_000_000_000, 0.95);
    assert!((low * 1e9 - 1.623_486).abs() < 1e-4 && (high * 1e9 - 11.668_332).abs() < 1e-4, "{low} {high}");
}

/// Does the interval hold its law: is the tail beyond each end 2.5 %, summed term by term?
#[test]
fn intervals_leave_the_tails_they_promise() {
    let tail = |trials: u64, p: f64, count: u64| -> f64 {
        let choose = |k: u64| {
            libm::lgamma(trials as f64 + 1.0) - libm::lgamma(k as f64 + 1.0) - libm::lgamma((trials - k) as f64 + 1.0)
        };
        (0..=count).map(|k| (choose(k) + k as f64 * p.ln() + (trials - k) as f64 * (-p).ln_1p()).exp()).sum()
    };
    for (failures, trials) in [(1, 7), (3, 1000), (40, 50), (49, 50), (120, 3000)] {
        let (low, high) = binomial_interval(failures, trials, 0.95);
        assert!((tail(trials, high, failures) - 0.025).abs() < 1e-9, "{failures} of {trials}: {high}");
        assert!((1.0 - tail(trials, low, failures - 1) - 0.025).abs() < 1e-9, "{failures} of {trials}: {low}");
    }
}

fn measurement(code: &str, decoder: &str, channel: &str, frames: u64) -> Measurement {
    Measurement {
        code: Code::shipped(code).unwrap(),
        decoder: DecoderSpec { algorithm: decoder.parse().unwrap(), max_iterations: 20 },
        channel: channel.parse().unwrap(),
        threads: 1,
        stop: Stop::Frames(frames),
        seed: 1,
    }
}

fn run(measurement: &Measurement) -> BenchResult {
    measurement.run(|_| ControlFlow::Continue(())).unwrap()
}

/// Does every count stay the same whatever the number of threads, for every kind of decoder and of channel?
#[test]
fn results_do_not_depend_on_threads() {
    for (code, decoder, channel, frames) in [
        ("teaching-1/2", "min-sum", "bsc:0.05", 5000),
        ("teaching-1/2", "flooding-sum-product", "awgn:3", 3001),
        ("teaching-1/2", "bit-flipping", "errors:3", 5000),
        ("flash-8/9", "min-sum", "bsc:0.0085", 150),
        ("flash-8/9", "min-sum", "gaussian:0.021:7", 60),
        ("bch-512B-t15", "min-sum", "bsc:0.003", 300),
    ] {
        let mut measured = measurement(code, decoder, channel, frames);
        let counts = |result: &BenchResult| {
            let BenchResult { frames, frame_errors, undetected, bit_errors, iterations, .. } = result.clone();
            (frames, frame_errors, undetected, bit_errors, iterations)
        };
        let alone = run(&measured);
        measured.threads = 3;
        let together = run(&measured);
        assert_eq!(counts(&alone), counts(&together), "{code} {decoder} {channel}");
        assert_eq!((alone.frames, alone.iterations.iter().sum::<u64>()), (frames, frames));
        assert!(alone.frame_errors > 0 && alone.frame_errors < frames, "{code} {decoder} {channel}: {alone:?}");
        assert!(alone.bit_errors > 0 || alone.frame_errors == 0);
        assert!(alone.user_mbps() > 0.0 && alone.encode_mbps() > 0.0 && alone.seconds > 0.0);
    }
}

/// What a decoder that is no decoder says.
struct Cheat(fn(&mut [u8]) -> bool);

impl FrameDecoder for Cheat {
    fn decode_hard(&mut self, word: &mut [u8]) -> Verdict {
        let success = (self.0)(word);
        Verdict { success, iterations: 1, syndrome_weight: u32::from(!success) }
    }

    fn decode_llrs(&mut self, _: &[i8], decided: &mut [u8]) -> Verdict {
        self.decode_hard(decided)
    }
}

/// Is a decoder caught that always answers a codeword which has nothing to do with what was sent: all-zero, all-one, or
/// what came, or that says of a right word that it is wrong?
#[test]
fn cheating_decoders_are_caught() {
    let measured = measurement("flash-8/9", "min-sum", "bsc:0.005", 60);
    let measure = |cheat: fn(&mut [u8]) -> bool| {
        let decoder = |_| Ok(Box::new(Cheat(cheat)) as Box<dyn FrameDecoder>);
        measured.run_with(decoder, |_| ControlFlow::Continue(())).unwrap()
    };
    for answer in [0x00, 0xff] {
        let cheat: fn(&mut [u8]) -> bool = match answer {
            0 => |word| {
                word.fill(0);
                true
            },
            _ => |word| {
                word.fill(0xff);
                true
            },
        };
        let result = measure(cheat);
        assert_eq!((result.frame_errors, result.undetected), (60, 60));
        // Half of the data bits: 4.5 standard deviations of 60 x 32,768 bits.
        assert!((result.bit_error_rate() - 0.5).abs() < 0.0017, "{}", result.bit_error_rate());
    }
    let nothing_done = measure(|_| true);
    assert_eq!((nothing_done.frame_errors, nothing_done.undetected), (60, 60));
    assert!((nothing_done.bit_error_rate() - 0.005).abs() < 0.0003, "{}", nothing_done.bit_error_rate());
    let gave_up = measure(|_| false);
    assert_eq!((gave_up.frame_errors, gave_up.undetected), (60, 0));
    let honest = run(&measured);
    assert_eq!((honest.frame_errors, honest.undetected, honest.bit_errors), (0, 0, 0), "{honest:?}");
}

/// Does BCH decoding succeed with t errors and fail, or decide wrongly, with one more?
#[test]
fn bch_corrects_what_it_promises() {
    let right = run(&measurement("bch-512B-t15", "min-sum", "errors:15", 100));
    assert_eq!((right.frame_errors, right.bit_errors), (0, 0));
    let wrong = run(&measurement("bch-512B-t15", "min-sum", "errors:16", 100));
    assert_eq!(wrong.frame_errors, 100);
}

/// Does a measurement end when its watcher breaks or its time is over, and keep what it has?
#[test]
fn measurements_can_be_interrupted() {
    let mut measured = measurement("flash-8/9", "sum-product", "bsc:0.012", u64::MAX);
    let mut calls = 0;
    let result = measured.run(|so_far| {
        calls += 1;
        assert!(so_far.seconds > 0.0);
        if so_far.frames > 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let result = result.unwrap();
    assert!(calls >= 1 && result.frames > 0 && result.fer() == 1.0, "{result:?}");

    measured = measurement("teaching-1/2", "min-sum", "bsc:0.02", 1);
    measured.stop = Stop::Seconds(0.05);
    let result = run(&measured);
    assert!(result.frames > 0 && result.seconds >= 0.05 && result.seconds < 5.0, "{result:?}");
    measured.stop = Stop::Seconds(1e-9);
    assert!(run(&measured).frames > 0, "there is always something to report");

    for (stop, threads, found) in
        [(Stop::Seconds(f64::NAN), 1, "found NaN"), (Stop::Frames(0), 1, "found 0"), (Stop::Frames(1), 0, "threads")]
    {
        (measured.stop, measured.threads) = (stop, threads);
        let error = measured.run(|_| ControlFlow::Continue(())).unwrap_err().to_string();
        assert!(error.contains(found), "{error}");
    }
}

/// Is the name of an algorithm read back as it is written, and a wrong one refused?
#[test]
fn algorithms_parse() {
    for (text, full) in [
        ("min-sum", "min-sum"),
        ("bit-flipping", "bit-flipping"),
        ("rcq:4", "rcq:4"),
        ("rcq:3:8", "rcq:3:8"),
        ("rcq:3:10", "rcq:3:10"),
        ("sum-product", "layered-sum-product-f64"),
        ("flooding-sum-product", "flooding-sum-product-f64"),
        ("flooding-min-sum", "flooding-min-sum:0.75-f32"),
        ("layered-min-sum:0.8-f64", "layered-min-sum:0.8-f64"),
        ("offset-min-sum", "layered-offset-min-sum:0.5-f32"),
    ] {
        let algorithm: Algorithm = text.parse().unwrap();
        assert_eq!(algorithm.to_string(), full);
        assert_eq!(full.parse::<Algorithm>().unwrap(), algorithm);
    }
    for text in ["", "minsum", "sum-product:1", "min-sum:2", "offset-min-sum:x", "flooding-bit-flipping"] {
        assert!(text.parse::<Algorithm>().is_err(), "{text}");
    }
    for (text, expected) in [
        ("rcq", "rcq:BITS"),
        ("rcq:", "found `` in `rcq:`, expected 2 to 5 bits of a message"),
        ("rcq:6", "found `6` in `rcq:6`, expected 2 to 5"),
        ("rcq:4:11", "found `11` in `rcq:4:11`, expected 7 to 10 bits of an a-posteriori value"),
        ("flooding-rcq:4", "found `flooding-rcq:4`"),
    ] {
        let error = text.parse::<Algorithm>().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
