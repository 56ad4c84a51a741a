//! The decoders and encoders for any parity-check matrix: laws, definitions and bad input.

use std::sync::Arc;

use proptest::prelude::*;
use softsense_base::{Purpose, Stream};
use softsense_ecc::bits;
use softsense_ecc::ldpc::{BitFlipping, DenseEncoder, MessagePassing, ParityCheck, Real, Rule, Schedule};

const RULES: [Rule; 3] =
    [Rule::SumProduct, Rule::NormalisedMinSum { factor: 0.75 }, Rule::OffsetMinSum { offset: 0.5 }];
const SCHEDULES: [Schedule; 2] = [Schedule::Layered, Schedule::Flooding];

/// The array code of `rows` x `columns` circulants of prime size: block (i, j) is shifted by i j. It has no 4-cycle.
fn array_code(prime: u32, rows: u32, columns: u32) -> ParityCheck {
    let check = |row: u32| {
        let (block, offset) = (row / prime, row % prime);
        (0..columns).map(|column| column * prime + (offset + block * column) % prime).collect()
    };
    ParityCheck::from_rows((prime * columns) as usize, &(0..rows * prime).map(check).collect::<Vec<Vec<u32>>>())
        .unwrap()
}

/// A random matrix with `weight` ones a row, where they happen to differ.
fn random_matrix(seed: u64, rows: usize, columns: usize, weight: usize) -> ParityCheck {
    let stream = Stream::new(seed, Purpose::CodeConstruction);
    let row = |row: u64| {
        let mut ones: Vec<u32> =
            (0..weight as u64).map(|one| (stream.bits(row, one) % columns as u64) as u32).collect();
        ones.sort_unstable();
        ones.dedup();
        ones
    };
    ParityCheck::from_rows(columns, &(0..rows as u64).map(row).collect::<Vec<_>>()).unwrap()
}

/// `count` random bits, packed.
fn random_bits(seed: u64, word: u64, count: usize) -> Vec<u8> {
    let stream = Stream::new(seed, Purpose::Data);
    let mut bytes: Vec<u8> = (0..bits::bytes_for(count) as u64).map(|byte| stream.bits(word, byte) as u8).collect();
    (count..8 * bytes.len()).for_each(|padding| bytes[padding / 8] &= !(0x80 >> (padding % 8)));
    bytes
}

fn random_codeword(encoder: &DenseEncoder, columns: usize, seed: u64, word: u64) -> Vec<u8> {
    let mut codeword = vec![0xff; bits::bytes_for(columns)];
    encoder.encode(&random_bits(seed, word, encoder.data_bits()), &mut codeword);
    codeword
}

fn xor(a: &[u8], b: &[u8]) -> Vec<u8> {
    a.iter().zip(b).map(|(a, b)| a ^ b).collect()
}

fn dense(matrix: &ParityCheck) -> Vec<Vec<bool>> {
    let row = |row| (0..matrix.columns() as u32).map(|column| matrix.row(row).contains(&column)).collect();
    (0..matrix.rows()).map(row).collect()
}

/// The last independent columns, ascending, by elimination as in the textbook.
fn last_independent_columns(matrix: &ParityCheck) -> Vec<u32> {
    let mut rows = dense(matrix);
    let mut found = Vec::new();
    for column in (0..matrix.columns()).rev() {
        let Some(pivot) = rows.iter().position(|row| row[column]) else { continue };
        let pivot = rows.swap_remove(pivot);
        for row in rows.iter_mut().filter(|row| row[column]) {
            row.iter_mut().zip(&pivot).for_each(|(bit, pivot)| *bit ^= pivot);
        }
        found.push(column as u32);
    }
    found.reverse();
    found
}

fn sparse_matrix() -> impl Strategy<Value = ParityCheck> {
    (2usize..90, any::<u64>()).prop_flat_map(|(columns, seed)| {
        (1..columns, 1usize..7).prop_map(move |(rows, weight)| random_matrix(seed, rows, columns, weight))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(1),
                                        ..ProptestConfig::with_cases(200) })]

    /// Does a matrix come back from its alist file, padded or not, and the file from the matrix?
    #[test]
    fn alist_round_trips(matrix in sparse_matrix()) {
        let text = matrix.to_alist();
        prop_assert_eq!(&ParityCheck::parse_alist("round.alist", &text).unwrap(), &matrix);
        let without_zeros = |line: &str| line.split(' ').filter(|&word| word != "0").collect::<Vec<_>>().join(" ");
        let (head, lists) = text.split_at(text.match_indices('\n').nth(3).unwrap().0);
        let unpadded = head.to_owned() + &lists.split('\n').map(without_zeros).collect::<Vec<_>>().join("\n");
        let matrix = ParityCheck::parse_alist("round.alist", &unpadded).unwrap();
        prop_assert_eq!(matrix.to_alist(), text);
    }

    /// For any matrix, of full rank or not: are encodings codewords that hold their data, with the last independent
    /// columns as parity?
    #[test]
    fn every_encoding_is_a_codeword(matrix in sparse_matrix()) {
        let encoder = DenseEncoder::with_redundant_checks(&matrix);
        prop_assert_eq!(encoder.parity_positions(), last_independent_columns(&matrix));
        let mut positions = [encoder.data_positions(), encoder.parity_positions()].concat();
        positions.sort_unstable();
        prop_assert!(positions.into_iter().eq(0..matrix.columns() as u32));
        for word in 0..5 {
            let data = random_bits(1, word, encoder.data_bits());
            let mut codeword = vec![0xff; bits::bytes_for(matrix.columns())];
            encoder.encode(&data, &mut codeword);
            prop_assert_eq!(matrix.syndrome_weight(&codeword), 0);
            for (index, &position) in encoder.data_positions().iter().enumerate() {
                prop_assert_eq!(bits::get(&codeword, position as usize), bits::get(&data, index));
            }
            prop_assert!((matrix.columns()..8 * codeword.len()).all(|padding| !bits::get(&codeword, padding)));
        }
        let rank = encoder.parity_positions().len();
        match DenseEncoder::new(&matrix) {
            Ok(_) => prop_assert_eq!(rank, matrix.rows()),
            Err(error) => {
                prop_assert!(rank < matrix.rows());
                let expected = format!("found rank {rank}, expected {}", matrix.rows());
                prop_assert!(error.to_string().starts_with(&expected), "{}", error);
            }
        }
    }
}

/// Does a file that is not an alist file say where and why?
#[test]
fn bad_alist_files_are_refused() {
    let good = "4 2\n2 3\n1 2 1 1\n2 3\n1\n1 2\n2\n2\n1 2\n2 3 4\n";
    ParityCheck::parse_alist("a.alist", good).unwrap();
    ParityCheck::parse_alist("a.alist", &(good.to_owned() + "\n\n")).unwrap();
    let replaced = |line: usize, by: &str| {
        let lines = good.lines().enumerate();
        lines.map(|(index, old)| if index + 1 == line { by } else { old }).collect::<Vec<_>>().join("\n")
    };
    let truncated = |lines: usize| good.lines().take(lines).collect::<Vec<_>>().join("\n");
    let cases = [
        (String::new(), "a.alist:1: found the end of the file, expected the numbers of columns and of rows"),
        (replaced(1, "4 x"), "a.alist:1: found \"x\", expected the numbers of columns and of rows"),
        (replaced(1, "4 -2"), "a.alist:1: found \"-2\""),
        (replaced(1, "4 99999999999"), "a.alist:1: found \"99999999999\""),
        (replaced(1, "4 2 1"), "a.alist:1: found 3 numbers, expected 2"),
        (replaced(1, "2 4"), "a.alist:1: found 2 columns and 4 rows, expected more columns than rows"),
        (replaced(1, "4 0"), "a.alist:1: found 4 columns and 0 rows"),
        (replaced(1, "4000000000 2"), "a.alist:3: found 4 numbers, expected 4000000000 (the weight of each column)"),
        (replaced(1, "5 2"), "a.alist:3: found 4 numbers, expected 5"),
        (replaced(2, "3 3"), "a.alist:3: found 2 as the largest column weight, expected 3, as line 2 says"),
        (replaced(2, "2 4"), "a.alist:4: found 3 as the largest row weight, expected 4"),
        (replaced(3, "1 2 1 1.0"), "a.alist:3: found \"1.0\", expected the weight of each column"),
        (replaced(4, "0 3"), "a.alist:4: found weight 0 of row 1, expected at least 1"),
        (replaced(4, "2"), "a.alist:4: found 1 numbers, expected 2 (the weight of each row)"),
        (replaced(6, "1"), "a.alist:6: found 1 numbers in the list of column 2, expected 2"),
        (replaced(5, "1 2"), "a.alist:5: found 2 numbers in the list of column 1, expected 1"),
        (replaced(5, "3"), "a.alist:5: found 3 in the list of column 1, expected 1 to 2"),
        (replaced(6, "0 1"), "a.alist:6: found 0 in the list of column 2, expected 1 to 2"),
        (replaced(6, "1 1"), "a.alist:6: found 1 twice in the list of column 2"),
        (replaced(10, "2 3 5"), "a.alist:10: found 5 in the list of row 2, expected 1 to 4"),
        (
            replaced(9, "1 3"),
            "a.alist:9: found column 3 in the list of row 1, expected lists that agree: the list of column 3 does not have row 1",
        ),
        (
            replaced(5, "2"),
            "a.alist:9: found column 1 in the list of row 1, expected lists that agree: the list of column 1 does not have row 1",
        ),
        (
            replaced(7, "1"),
            "a.alist:9: found no column 3 in the list of row 1, expected lists that agree: the list of column 3 has row 1",
        ),
        (truncated(3), "a.alist:4: found the end of the file, expected the weight of each row"),
        (truncated(7), "a.alist:8: found the end of the file, expected the list of column 4"),
        (truncated(9), "a.alist:10: found the end of the file, expected the list of row 2"),
        (good.to_owned() + "1\n", "a.alist:11: found more text, expected the end of the file"),
        (replaced(3, "1 2 1 0"), "a.alist:8: found numbers, expected the empty list of column 4"),
    ];
    for (text, expected) in cases {
        let error = ParityCheck::parse_alist("a.alist", &text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error:?}, not {expected:?}");
    }
}

/// Does a matrix whose right part is invertible encode to data followed by parity?
#[test]
fn an_invertible_right_part_is_the_parity() {
    let (rows, columns) = (40, 117);
    let random = random_matrix(5, rows, columns - rows, 9);
    let staircase = |row: usize| {
        let parity = (columns - rows + row) as u32;
        let previous = (row > 0).then(|| parity - 1);
        [random.row(row), &[parity], previous.as_slice()].concat()
    };
    let matrix = ParityCheck::from_rows(columns, &(0..rows).map(staircase).collect::<Vec<_>>()).unwrap();
    let encoder = DenseEncoder::new(&matrix).unwrap();
    assert!(encoder.data_positions().iter().copied().eq(0..(columns - rows) as u32));
    let data = random_bits(2, 0, columns - rows);
    let codeword = random_codeword(&encoder, columns, 2, 0);
    assert_eq!(codeword[..data.len() - 1], data[..data.len() - 1]);
}

/// Are the redundant checks of a regular code counted? All rows of one block row of an array code add up to the same
/// word, so `rows` block rows lose `rows - 1` from the rank.
#[test]
fn redundant_checks_are_an_error_unless_allowed() {
    let matrix = array_code(13, 4, 9);
    let error = DenseEncoder::new(&matrix).unwrap_err();
    assert!(error.to_string().starts_with("found rank 49, expected 52: 3 checks follow from others. "), "{error}");
    assert_eq!(DenseEncoder::with_redundant_checks(&matrix).data_bits(), 117 - 49);
}

/// Is an error pattern decoded the same whatever codeword it hits? A decoder that favours a word, such as all zeros or
/// all ones, would not.
#[test]
fn decoding_does_not_depend_on_the_codeword() {
    fn check<F: Real>(matrix: &Arc<ParityCheck>, schedule: Schedule, rule: Rule) {
        let columns = matrix.columns();
        let encoder = DenseEncoder::with_redundant_checks(matrix);
        let mut decoder = MessagePassing::<F>::new(matrix.clone(), schedule, rule, 15).unwrap();
        let noise = Stream::new(6, Purpose::Noise);
        let (mut decided, mut expected) = (vec![0; bits::bytes_for(columns)], vec![0; bits::bytes_for(columns)]);
        let (mut corrected, mut failed) = (0, 0);
        for trial in 0..60 {
            let codeword = random_codeword(&encoder, columns, 6, trial);
            // From hardly to heavily disturbed.
            let shift = 0.49 - 0.003 * trial as f64;
            let llr: Vec<f64> =
                (0..columns as u64).map(|bit| 4.0 * (noise.uniform(trial, bit) - 0.5 + shift)).collect();
            let of = |sent: &[u8]| -> Vec<F> {
                let llr = llr.iter().enumerate();
                llr.map(|(bit, &llr)| F::of(if bits::get(sent, bit) { -llr } else { llr })).collect()
            };
            let reference = decoder.decode(&of(&vec![0; codeword.len()]), &mut expected);
            let outcome = decoder.decode(&of(&codeword), &mut decided);
            assert_eq!((outcome, xor(&decided, &codeword)), (reference, expected.clone()), "{schedule:?} {rule:?}");
            assert_eq!(outcome.converged, outcome.syndrome_weight == 0);
            assert_eq!(outcome.syndrome_weight as usize, matrix.syndrome_weight(&decided));
            assert!(outcome.iterations <= 15 && (outcome.converged || outcome.iterations == 15));
            corrected += u32::from(decided == codeword && outcome.iterations > 0);
            failed += u32::from(!outcome.converged);
        }
        assert!(corrected >= 10 && failed >= 5, "{corrected} corrected, {failed} failed by {schedule:?} {rule:?}");
    }
    let matrix = Arc::new(array_code(31, 3, 8));
    for (schedule, rule) in SCHEDULES.into_iter().flat_map(|schedule| RULES.map(|rule| (schedule, rule))) {
        check::<f64>(&matrix, schedule, rule);
        check::<f32>(&matrix, schedule, rule);
    }
}

/// Are plain min-sum by factor 1 and by offset 0 one decoder, and does its scale not matter? Powers of two scale
/// exactly.
#[test]
fn min_sum_has_no_scale() {
    let matrix = Arc::new(array_code(31, 3, 8));
    let columns = matrix.columns();
    let noise = Stream::new(7, Purpose::Noise);
    for schedule in SCHEDULES {
        let new = |rule| MessagePassing::<f64>::new(matrix.clone(), schedule, rule, 12).unwrap();
        let mut by_factor = new(Rule::NormalisedMinSum { factor: 1.0 });
        let mut by_offset = new(Rule::OffsetMinSum { offset: 0.0 });
        let mut weakened = new(Rule::NormalisedMinSum { factor: 0.7 });
        let (mut a, mut b) = (vec![0; bits::bytes_for(columns)], vec![0; bits::bytes_for(columns)]);
        for trial in 0..40 {
            let llr: Vec<f64> =
                (0..columns as u64).map(|bit| noise.uniform(trial, bit) - 0.002 * trial as f64).collect();
            assert_eq!(by_factor.decode(&llr, &mut a), by_offset.decode(&llr, &mut b));
            assert_eq!((&a, by_factor.a_posteriori()), (&b, by_offset.a_posteriori()));
            let outcome = weakened.decode(&llr, &mut a);
            let values: Vec<f64> = weakened.a_posteriori().iter().map(|value| 1024.0 * value).collect();
            let scaled: Vec<f64> = llr.iter().map(|llr| 1024.0 * llr).collect();
            assert_eq!(weakened.decode(&scaled, &mut b), outcome);
            assert_eq!((&a, &values[..]), (&b, weakened.a_posteriori()));
        }
    }
}

/// Does a decoder stop as it should: at once at a codeword, never later than told, and with ties decided as zeros?
#[test]
fn decoders_stop_at_codewords_and_at_the_limit() {
    let matrix = Arc::new(array_code(13, 3, 6));
    let columns = matrix.columns();
    let codeword = random_codeword(&DenseEncoder::with_redundant_checks(&matrix), columns, 8, 0);
    let mut decided = vec![0xff; codeword.len()];
    for (schedule, rule) in SCHEDULES.into_iter().flat_map(|schedule| RULES.map(|rule| (schedule, rule))) {
        let mut decoder = MessagePassing::<f64>::new(matrix.clone(), schedule, rule, 5).unwrap();
        let llr: Vec<f64> = (0..columns).map(|bit| if bits::get(&codeword, bit) { -0.1 } else { 0.1 }).collect();
        let outcome = decoder.decode(&llr, &mut decided);
        assert_eq!((outcome.converged, outcome.iterations, outcome.syndrome_weight), (true, 0, 0));
        assert_eq!(decided, codeword);
        decoder.decode(&vec![-0.0; columns], &mut decided);
        assert_eq!(decided, vec![0; codeword.len()]);

        let mut wrong = llr.clone();
        wrong[7] *= -1.0;
        let mut none = MessagePassing::<f64>::new(matrix.clone(), schedule, rule, 0).unwrap();
        let outcome = none.decode(&wrong, &mut decided);
        assert_eq!((outcome.converged, outcome.iterations, outcome.syndrome_weight), (false, 0, 3));
    }
    let outcome = BitFlipping::new(matrix.clone(), 5).unwrap().decode(&codeword, &mut decided);
    assert_eq!((outcome.converged, outcome.iterations, outcome.syndrome_weight), (true, 0, 0));
    assert_eq!(decided, codeword);
}

/// Are rules and orders out of range refused?
#[test]
fn bad_parameters_are_refused() {
    let matrix = Arc::new(array_code(5, 2, 4));
    let new = |rule| MessagePassing::<f64>::new(matrix.clone(), Schedule::Layered, rule, 5);
    for factor in [0.0, -0.5, 1.5, f64::NAN, f64::INFINITY] {
        let error = new(Rule::NormalisedMinSum { factor }).unwrap_err().to_string();
        assert_eq!(error, format!("factor: found {factor}, expected a number above 0 and at most 1"));
    }
    for offset in [-0.5, f64::NAN, f64::INFINITY] {
        let error = new(Rule::OffsetMinSum { offset }).unwrap_err().to_string();
        assert_eq!(error, format!("offset: found {offset}, expected a number of at least 0"));
    }
    for order in [vec![], (0..9).collect(), vec![0; 10], (1..11).collect::<Vec<u32>>()] {
        let error = new(Rule::SumProduct).unwrap().in_order(order).unwrap_err().to_string();
        assert!(error.starts_with("order: found "), "{error}");
    }
}

/// Gradient descent with momentum as it is defined: every energy computed anew in every iteration.
fn bit_flipping_by_definition(matrix: &ParityCheck, received: &[u8], iterations: u32) -> Vec<u8> {
    let mut word = received.to_vec();
    let mut flipped: Vec<Vec<usize>> = Vec::new();
    for _ in 0..iterations {
        if matrix.syndrome_weight(&word) == 0 {
            break;
        }
        let mut energies: Vec<i32> = (0..matrix.columns())
            .map(|bit| if bits::get(&word, bit) == bits::get(received, bit) { 0 } else { 3 })
            .collect();
        for row in 0..matrix.rows() {
            let odd = matrix.row(row).iter().filter(|&&bit| bits::get(&word, bit as usize)).count() % 2 == 1;
            matrix.row(row).iter().for_each(|&bit| energies[bit as usize] += if odd { 1 } else { -1 });
        }
        let mut momentum = vec![0; matrix.columns()];
        for (flips, of_age) in flipped.iter().rev().zip([2, 2, 1, 1]) {
            flips.iter().for_each(|&bit| momentum[bit] = of_age.max(momentum[bit]));
        }
        energies.iter_mut().zip(momentum).for_each(|(energy, momentum)| *energy -= momentum);
        let largest = *energies.iter().max().unwrap();
        let flips: Vec<usize> = (0..matrix.columns()).filter(|&bit| energies[bit] == largest).collect();
        flips.iter().for_each(|&bit| bits::flip(&mut word, bit));
        flipped.push(flips);
    }
    word
}

/// Do the sparse updates of bit flipping follow its definition, for every codeword alike, and fail honestly?
#[test]
fn bit_flipping_follows_its_definition() {
    for matrix in [array_code(17, 4, 11), random_matrix(9, 60, 150, 7)] {
        // Only bits in some check: the others are never flipped.
        let weights = matrix.column_weights();
        let matrix = if weights.contains(&0) {
            let rows = matrix.rows();
            let mut lists: Vec<Vec<u32>> = (0..rows).map(|row| matrix.row(row).to_vec()).collect();
            (0..matrix.columns()).filter(|&bit| weights[bit] == 0).for_each(|bit| lists[bit % rows].push(bit as u32));
            ParityCheck::from_rows(matrix.columns(), &lists).unwrap()
        } else {
            matrix
        };
        let matrix = Arc::new(matrix);
        let columns = matrix.columns();
        let encoder = DenseEncoder::with_redundant_checks(&matrix);
        let noise = Stream::new(10, Purpose::Noise);
        let (mut decided, mut failed) = (vec![0; bits::bytes_for(columns)], 0);
        for trial in 0..80 {
            let codeword = random_codeword(&encoder, columns, 10, trial);
            let mut errors = vec![0; codeword.len()];
            let rate = 0.001 * trial as f64;
            (0..columns)
                .filter(|&bit| noise.uniform(trial, bit as u64) < rate)
                .for_each(|bit| bits::flip(&mut errors, bit));
            let limit = trial as u32 % 25;
            let mut decoder = BitFlipping::new(matrix.clone(), limit).unwrap();
            for _ in 0..2 {
                let outcome = decoder.decode(&xor(&codeword, &errors), &mut decided);
                assert_eq!(xor(&decided, &codeword), bit_flipping_by_definition(&matrix, &errors, limit));
                assert_eq!(outcome.syndrome_weight as usize, matrix.syndrome_weight(&decided));
                assert_eq!(outcome.converged, outcome.syndrome_weight == 0);
                assert!(outcome.iterations <= limit && (outcome.converged || outcome.iterations == limit));
                failed += u32::from(!outcome.converged);
            }
        }
        assert!((20..140).contains(&failed), "{failed} failed");
    }
}

/// Does bit flipping correct all single and double errors of a code of column weight 4 without 4-cycles?
#[test]
fn bit_flipping_corrects_two_errors() {
    let matrix = Arc::new(array_code(17, 4, 11));
    let columns = matrix.columns();
    let encoder = DenseEncoder::with_redundant_checks(&matrix);
    let mut decoder = BitFlipping::new(matrix.clone(), 20).unwrap();
    let mut decided = vec![0; bits::bytes_for(columns)];
    for first in 0..columns {
        let codeword = random_codeword(&encoder, columns, 11, first as u64);
        for second in 0..=first {
            let mut received = codeword.clone();
            bits::flip(&mut received, first);
            if second < first {
                bits::flip(&mut received, second);
            }
            let outcome = decoder.decode(&received, &mut decided);
            assert!(outcome.converged && decided == codeword, "errors at {first} and {second}: {outcome:?}");
        }
    }
}

/// Does a code as flash has it, (4,36)-regular with 36,756 bits, decode? At p = 0.003 bit flipping fails for about one
/// word in 300 of this code and sum-product for far fewer, so that a failure in eight words tells of a fault.
#[test]
fn a_flash_code_decodes() {
    let matrix = array_code(1021, 4, 36);
    let matrix = Arc::new(ParityCheck::parse_alist("flash.alist", &matrix.to_alist()).unwrap());
    let encoder = DenseEncoder::with_redundant_checks(&matrix);
    let columns = matrix.columns();
    let noise = Stream::new(12, Purpose::Noise);
    let mut sum_product = MessagePassing::<f64>::new(matrix.clone(), Schedule::Flooding, Rule::SumProduct, 20).unwrap();
    let mut bit_flipping = BitFlipping::new(matrix.clone(), 100).unwrap();
    let mut decided = vec![0; bits::bytes_for(columns)];
    for trial in 0..8 {
        let codeword = random_codeword(&encoder, columns, 12, trial);
        let mut received = codeword.clone();
        (0..columns)
            .filter(|&bit| noise.uniform(trial, bit as u64) < 0.003)
            .for_each(|bit| bits::flip(&mut received, bit));
        let llr: Vec<f64> = (0..columns).map(|bit| if bits::get(&received, bit) { -5.8 } else { 5.8 }).collect();
        assert!(sum_product.decode(&llr, &mut decided).converged);
        assert_eq!(bits::distance(&decided, &codeword), 0);
        assert!(bit_flipping.decode(&received, &mut decided).converged);
        assert_eq!(bits::distance(&decided, &codeword), 0);
    }
}
