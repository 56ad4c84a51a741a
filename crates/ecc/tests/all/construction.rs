//! Construction of quasi-cyclic codes: are the shipped ones what their recipes make, and what they say they are? Are
//! cycles, ranks and thresholds right?

use std::fmt::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

use softsense_base::{Purpose, Stream, normal_cdf};
use softsense_ecc::channel::best_thresholds;
use softsense_ecc::ldpc::{Block, Construction, DegreeDistribution, QuasiCyclic, Rule, ShortCycles, shannon_limit};

/// How a shipped code is made, and what was measured of it.
struct Recipe {
    name: &'static str,
    construction: Construction,
    /// The factor of min-sum for which a threshold is stated: about the best for ten layered iterations.
    factor: f64,
    measured: &'static [&'static str],
}

impl Recipe {
    fn file(&self) -> String {
        format!("{}/codes/{}.qc", env!("CARGO_MANIFEST_DIR"), self.name.replace('/', "-"))
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.file()).unwrap()
    }
}

/// Column weights from (weight, how many columns).
fn weights(runs: &[(u32, usize)]) -> Vec<u32> {
    runs.iter().flat_map(|&(weight, count)| std::iter::repeat_n(weight, count)).collect()
}

const FLASH: &[&str] = &[
    "Measured: frame error rate of the fast min-sum decoder, at most 20 iterations, by `cargo bench --bench ldpc --",
    "--error-rates`: 2.4e-4 at 0.0075 (5.04 iterations on average), 1.8e-3 at 0.0078; with 300, 312, 324 errors 8.0e-6,",
    "3.2e-4, 1.5e-2 (119, 179; 8, 63, 746 failures); none in 3,000,000 words with 288 errors",
];
const TWENTY_ITERATIONS: &str = "Measured: frame error rate of the fast min-sum decoder, at most 20 iterations, by \
                                 `softsense code bench --channel bsc:P --iterations 20`:";
const FLASH_64_73: &[&str] =
    &[TWENTY_ITERATIONS, "3.2e-4 at 0.0088 (5.33 iterations on average), 4.0e-3 at 0.0092 (32, 158 failures)"];
const FLASH_64_71: &[&str] =
    &[TWENTY_ITERATIONS, "6.0e-4 at 0.0064 (5.05 iterations on average), 4.4e-3 at 0.0067 (60, 174 failures)"];
const FLASH_32_35: &[&str] =
    &[TWENTY_ITERATIONS, "6.4e-4 at 0.0052 (4.86 iterations on average), 3.3e-3 at 0.0054 (64, 130 failures)"];
const FLASH_64_69: &[&str] =
    &[TWENTY_ITERATIONS, "1.2e-3 at 0.0041 (4.69 iterations on average), 6.0e-3 at 0.0043 (122, 240 failures)"];
const FOUR_FIFTHS: &[&str] =
    &[TWENTY_ITERATIONS, "4.0e-4 at 0.0203 (8.66 iterations on average), 7.7e-3 at 0.021 (40, 154 failures)"];
const SIXTEEN_NINETEENTHS: &[&str] =
    &[TWENTY_ITERATIONS, "3.7e-4 at 0.0144 (7.99 iterations on average), 6.1e-3 at 0.015 (37, 121 failures)"];
const EIGHT_NINTHS: &[&str] =
    &[TWENTY_ITERATIONS, "5.6e-4 at 0.0088 (6.29 iterations on average), 6.2e-3 at 0.0092 (56, 124 failures)"];
const THIRTY_TWO_THIRTY_FIFTHS: &[&str] =
    &[TWENTY_ITERATIONS, "6.1e-4 at 0.0056 (4.70 iterations on average), 4.6e-3 at 0.0059 (61, 92 failures)"];
const SIXTEEN_SEVENTEENTHS: &[&str] =
    &[TWENTY_ITERATIONS, "9.4e-4 at 0.0033 (4.25 iterations on average), 1.1e-2 at 0.0036 (94, 224 failures)"];
const TEN_ITERATIONS: &str = "Measured: frame error rate of the fast min-sum decoder, at most 10 iterations, by \
                              `softsense code bench --channel bsc:P --iterations 10`:";
const FIVE_SIXTHS: &[&str] =
    &[TEN_ITERATIONS, "1.7e-5 at 0.0175, 1.1e-3 at 0.018, 1.5e-2 at 0.0185 (1, 45, 121 failures)"];
const THREE_QUARTERS: &[&str] =
    &[TEN_ITERATIONS, "3.3e-5 at 0.0255, 3.2e-3 at 0.0265, 2.2e-2 at 0.027 (2, 96, 177 failures)"];
const TWO_THIRDS: &[&str] =
    &[TEN_ITERATIONS, "8.0e-4 at 0.048, 1.5e-2 at 0.049 (24, 122 failures); none in 60,000 at 0.047"];
const HALF: &[&str] = &[TEN_ITERATIONS, "1.3e-4 at 0.073, 3.3e-3 at 0.074 (5, 26 failures); none in 60,000 at 0.072"];
const THIRD: &[&str] = &[TEN_ITERATIONS, "6.7e-5 at 0.121, 3.4e-3 at 0.123, 7.2e-2 at 0.125 (4, 68, 360 failures)"];
const QUARTER: &[&str] = &[TEN_ITERATIONS, "1.7e-5 at 0.142, 1.2e-3 at 0.144, 2.7e-2 at 0.146 (1, 35, 137 failures)"];

/// One of each family that is made in seconds.
const SHORT: [&str; 4] = ["flash-8/9", "flash-32/35", "irregular-16/17", "teaching-1/2"];

fn recipes() -> Vec<Recipe> {
    let recipe = |name, circulant_size, rows, columns: &[(u32, usize)], seed, factor, measured| {
        let construction =
            Construction { circulant_size, rows, column_weights: weights(columns), memory: None, punctured: 0, seed };
        Recipe { name, construction, factor, measured }
    };
    vec![
        recipe("flash-8/9", 512, 8, &[(4, 72)], 1, 0.6875, FLASH),
        recipe("flash-64/73", 512, 9, &[(4, 73)], 1, 0.6875, FLASH_64_73),
        recipe("flash-64/71", 512, 7, &[(4, 71)], 1, 0.6875, FLASH_64_71),
        recipe("flash-32/35", 512, 6, &[(4, 68), (3, 2)], 4, 0.6875, FLASH_32_35),
        recipe("flash-64/69", 512, 5, &[(4, 69)], 2, 0.6875, FLASH_64_69),
        recipe("irregular-4/5", 256, 32, &[(8, 40), (3, 120)], 6, 0.6875, FOUR_FIFTHS),
        recipe("irregular-16/19", 256, 24, &[(8, 38), (3, 114)], 3, 0.6875, SIXTEEN_NINETEENTHS),
        recipe("irregular-8/9", 256, 16, &[(8, 54), (3, 90)], 2, 0.6875, EIGHT_NINTHS),
        recipe("irregular-32/35", 256, 12, &[(8, 35), (4, 105)], 5, 0.6875, THIRTY_TWO_THIRTY_FIFTHS),
        recipe("irregular-16/17", 256, 8, &[(8, 34), (4, 102)], 2, 0.6875, SIXTEEN_SEVENTEENTHS),
        recipe("teaching-1/2", 8, 6, &[(3, 12)], 5, 0.75, &[]),
        recipe("adaptive-5/6", 512, 24, &[(12, 16), (7, 16), (5, 8), (4, 16), (3, 72)], 1, 0.6875, FIVE_SIXTHS),
        recipe("adaptive-3/4", 512, 32, &[(10, 16), (4, 40), (3, 72)], 1, 0.6875, THREE_QUARTERS),
        recipe("adaptive-2/3", 512, 48, &[(12, 12), (4, 20), (3, 96)], 1, 0.75, TWO_THIRDS),
        recipe("adaptive-1/2", 512, 64, &[(10, 12), (3, 116)], 1, 0.75, HALF),
        recipe("adaptive-1/3", 512, 88, &[(3, 128)], 1, 0.8125, THIRD),
        recipe("adaptive-1/4", 512, 96, &[(3, 128)], 1, 0.8125, QUARTER),
    ]
}

/// Runs of equal values, as `112 x 4`.
fn runs(values: &[u32]) -> String {
    let run = |run: &[u32]| format!("{} x {}", run.len(), run[0]);
    values.chunk_by(|a, b| a == b).map(run).collect::<Vec<_>>().join(", ")
}

/// The file of a shipped code.
fn shipped_text(recipe: &Recipe, code: &QuasiCyclic) -> String {
    let (size, columns, rows) = (code.circulant_size(), code.columns(), code.rows());
    let mut text = format!("# {}: n = {}, k = {}\n", recipe.name, columns * size, (columns - rows) * size);
    let mut line = |line: String| writeln!(text, "# {line}").unwrap();
    let Construction { circulant_size, rows, column_weights, seed, .. } = &recipe.construction;
    let weights = runs(column_weights);
    line(format!("Construction: circulant_size {circulant_size}, rows {rows}, column_weights {weights}, seed {seed}"));
    let cycles = ShortCycles::of(code);
    let girth = cycles.girth().map_or("none".into(), |girth| girth.to_string());
    line(format!(
        "Girth {girth}; cycles of 4, 6, 8 edges: {}, {}, {}",
        cycles.count(4),
        cycles.count(6),
        cycles.count(8)
    ));
    if let Some(length) = [6, 8].into_iter().find(|&length| cycles.count(length) > 0) {
        let (extrinsic, count) = cycles.spectrum(length)[0];
        line(format!("Least approximate extrinsic degree of a cycle of {length} edges: {extrinsic}, in {count}"));
    }
    let degrees = DegreeDistribution::of(code);
    let shares = |degrees: &[(usize, f64)]| {
        degrees.iter().map(|(degree, share)| format!("{degree} ({share:.4})")).collect::<Vec<_>>().join(", ")
    };
    line(format!(
        "Degrees of bits (fraction of edges): {}; of checks: {}",
        shares(degrees.bits()),
        shares(degrees.checks())
    ));
    line(format!(
        "Thresholds on the binary symmetric channel: sum-product {:.5}, min-sum times {} {:.5}, Shannon limit {:.5}",
        degrees.threshold(Rule::SumProduct, 1, None).unwrap(),
        recipe.factor,
        degrees.threshold(Rule::NormalisedMinSum { factor: recipe.factor }, 1, None).unwrap(),
        shannon_limit(degrees.rate()),
    ));
    for measured in recipe.measured {
        line((*measured).into());
    }
    text + &code.to_text()
}

/// Byte for byte. With SOFTSENSE_WRITE_CODES set, the files are written instead.
fn check_or_write(recipe: &Recipe) {
    let code = recipe.construction.build().unwrap();
    let text = shipped_text(recipe, &code);
    if std::env::var_os("SOFTSENSE_WRITE_CODES").is_some() {
        std::fs::write(recipe.file(), text).unwrap();
        return;
    }
    assert!(text == recipe.text(), "{} differs from its recipe", recipe.name);
    assert_eq!(QuasiCyclic::parse(recipe.name, &recipe.text()).unwrap(), code);
    assert_eq!(ShortCycles::of(&code).count(4), 0);
}

#[test]
fn shipped_codes_are_what_their_recipes_make() {
    check_or_write_all(&chosen(true));
}

#[test]
#[ignore = "some minutes: `make laws`"]
fn law_the_other_shipped_codes_are_what_their_recipes_make() {
    check_or_write_all(&chosen(false));
}

fn chosen(short: bool) -> Vec<Recipe> {
    recipes().into_iter().filter(|recipe| SHORT.contains(&recipe.name) == short).collect()
}

/// On all cores, as it takes long. The last recipes are the longest, so they are first.
fn check_or_write_all(recipes: &[Recipe]) {
    let left = AtomicUsize::new(recipes.len());
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Ok(before) =
                    left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
                {
                    check_or_write(&recipes[before - 1]);
                }
            });
        }
    });
}

/// Counts simple cycles of the expanded graph by depth-first search from their lowest bit, in both directions.
fn cycles_by_search(code: &QuasiCyclic) -> [u64; 3] {
    let matrix = code.expand();
    let mut checks_of = vec![Vec::new(); matrix.columns()];
    for row in 0..matrix.rows() {
        for &column in matrix.row(row) {
            checks_of[column as usize].push(row);
        }
    }
    let mut found = [0; 3];
    let mut bits = Vec::new();
    let mut checks = Vec::new();
    fn extend(
        matrix: &softsense_ecc::ldpc::ParityCheck,
        checks_of: &[Vec<usize>],
        bits: &mut Vec<u32>,
        checks: &mut Vec<usize>,
        found: &mut [u64; 3],
    ) {
        let (start, last) = (bits[0], bits[bits.len() - 1]);
        for &check in &checks_of[last as usize] {
            if checks.contains(&check) {
                continue;
            }
            if bits.len() > 1 && matrix.row(check).contains(&start) {
                found[bits.len() - 2] += 1;
            }
            if bits.len() == 4 {
                continue;
            }
            for &next in matrix.row(check) {
                if next > start && !bits.contains(&next) {
                    bits.push(next);
                    checks.push(check);
                    extend(matrix, checks_of, bits, checks, found);
                    bits.pop();
                    checks.pop();
                }
            }
        }
    }
    for start in 0..matrix.columns() as u32 {
        bits.push(start);
        extend(&matrix, &checks_of, &mut bits, &mut checks, &mut found);
        bits.pop();
    }
    found.map(|count| count / 2)
}

/// Random shifts leave 4-cycles, and 8-cycles that pass a circulant twice.
#[test]
fn cycle_counts_are_those_of_a_search() {
    let stream = Stream::new(3, Purpose::CodeConstruction);
    let mut seen = [0; 3];
    for (index, size) in (0..).zip([1usize, 2, 4, 5, 8, 12]) {
        for repeat in 0..8u64 {
            let (rows, columns) = (3u32, 6u32);
            let blocks = (0..rows * columns).filter_map(|place| {
                let draw = stream.bits(index * 8 + repeat, u64::from(place));
                let (row, column) = (place / columns, place % columns);
                // The first column keeps every row from being empty.
                (column == 0 || !draw.is_multiple_of(4)).then_some(Block {
                    row,
                    column,
                    shift: (draw >> 32) as u32 % size as u32,
                })
            });
            let code = QuasiCyclic::new(size, rows as usize, columns as usize, blocks.collect()).unwrap();
            let cycles = ShortCycles::of(&code);
            let expected = cycles_by_search(&code);
            assert_eq!([4, 6, 8].map(|length| cycles.count(length)), expected, "circulant size {size}, {repeat}");
            let girth = expected.iter().position(|&count| count > 0).map(|index| 4 + 2 * index as u32);
            assert!(girth.is_none() || cycles.girth() == girth);
            (0..3).for_each(|length| seen[length] += expected[length]);
        }
    }
    assert!(seen.iter().all(|&count| count > 500), "{seen:?}");
}

#[test]
fn girths_beyond_eight_are_found() {
    // One ring of bits and checks: rows 0 and 1 meet all but the last column; the shifts sum up to 1, so that the ring
    // goes round all 5 copies of 4 edges.
    let ring = [(0, 0, 0), (1, 0, 0), (0, 1, 1), (1, 1, 0), (0, 2, 0)];
    let block = |&(row, column, shift): &(u32, u32, u32)| Block { row, column, shift };
    let code = QuasiCyclic::new(5, 2, 3, ring.iter().map(block).collect()).unwrap();
    assert_eq!(ShortCycles::of(&code).girth(), Some(20));
    // Without its end there is no cycle.
    let code = QuasiCyclic::new(5, 2, 3, ring[1..].iter().map(block).collect()).unwrap();
    assert_eq!(ShortCycles::of(&code).girth(), None);
}

/// For column weight 4 every cycle of 6 edges has three bits with two more edges each.
#[test]
fn extrinsic_degrees_of_a_regular_code_are_those_of_its_weight() {
    let code = Construction::regular(16, 8, 8, 4, 1).build().unwrap();
    let cycles = ShortCycles::of(&code);
    // One column has weight 3, for full rank.
    let degrees: Vec<u32> = cycles.spectrum(6).iter().map(|(degree, _)| *degree).collect();
    assert_eq!(degrees, [5, 6]);
    assert_eq!(cycles.least_extrinsic_degree(6), Some(5));
}

/// Rank over GF(2) of the columns from `first` on, by Gaussian elimination.
fn rank(code: &QuasiCyclic, first: usize) -> usize {
    let matrix = code.expand();
    let width = matrix.columns() - first;
    let mut rows: Vec<Vec<u64>> = (0..matrix.rows())
        .map(|row| {
            let mut bits = vec![0; width.div_ceil(64)];
            for &column in matrix.row(row).iter().filter(|&&column| column as usize >= first) {
                let column = column as usize - first;
                bits[column / 64] |= 1 << (column % 64);
            }
            bits
        })
        .collect();
    let mut rank = 0;
    for column in 0..width {
        let set = |row: &Vec<u64>| row[column / 64] >> (column % 64) & 1 == 1;
        let Some(pivot) = (rank..rows.len()).find(|&row| set(&rows[row])) else { continue };
        rows.swap(rank, pivot);
        let (done, rest) = rows.split_at_mut(rank + 1);
        let pivot = &done[rank][column / 64..];
        for row in rest.iter_mut().filter(|row| set(row)) {
            row[column / 64..].iter_mut().zip(pivot).for_each(|(a, b)| *a ^= b);
        }
        rank += 1;
    }
    rank
}

#[test]
fn parity_parts_are_invertible() {
    let mut codes = vec![recipes()[0].construction.build().unwrap(), recipes()[1].construction.build().unwrap()];
    for (seed, weight) in (1..).zip([3, 4, 5, 3, 4, 5]) {
        codes.push(Construction::regular(24, 6 + seed as usize, 16, weight, seed).build().unwrap());
    }
    for code in codes {
        let checks = code.rows() * code.circulant_size();
        assert_eq!(rank(&code, code.columns() * code.circulant_size() - checks), checks);
    }
}

/// All but the last columns of the parity part are a lower triangle, which the encoder needs; rows are level; the
/// weights are the wanted ones but for the corner of the triangle.
#[test]
fn base_matrices_have_the_promised_form() {
    for recipe in recipes() {
        let Construction { rows, column_weights, .. } = &recipe.construction;
        let code = QuasiCyclic::parse(recipe.name, &recipe.text()).unwrap();
        let data = code.columns() - rows;
        let mut found = vec![0; code.columns()];
        for block in code.blocks() {
            found[block.column as usize] += 1;
            let step = (block.column as usize).wrapping_sub(data);
            let in_triangle = step < rows - Construction::GAP;
            assert!(!in_triangle || block.row as usize >= step, "{}: {block:?}", recipe.name);
        }
        for step in 0..rows - Construction::GAP {
            assert!(code.row(step).iter().any(|block| block.column as usize == data + step), "{}", recipe.name);
        }
        let room = |column: usize| match column.checked_sub(data) {
            Some(step) if step < rows - Construction::GAP => (rows - step) as u32,
            _ => *rows as u32,
        };
        for (column, &wanted) in column_weights.iter().enumerate() {
            assert_eq!(found[column], wanted.min(room(column)), "{}: column {column}", recipe.name);
        }
        let row_weights: Vec<usize> = (0..*rows).map(|row| code.row(row).len()).collect();
        let (least, most) = (row_weights.iter().min().unwrap(), row_weights.iter().max().unwrap());
        assert!(most - least <= 2, "{}: rows of {least} to {most}", recipe.name);
    }
}

#[test]
fn another_seed_makes_another_code() {
    let make = |seed| Construction::regular(12, 6, 16, 3, seed).build().unwrap();
    assert_eq!(make(1), make(1));
    assert_ne!(make(1), make(2));
}

/// Sum-product over the binary symmetric channel. Source of the values of rate 1/2 and 1/4: T. Richardson, R. Urbanke,
/// "The capacity of low-density parity-check codes under message-passing decoding", 2001, table II (0.084 and 0.167);
/// the others come from an independent density evolution with a finer grid.
#[test]
fn thresholds_of_sum_product_are_the_known_ones() {
    for (bits, checks, known) in [(3, 6, 0.084), (3, 4, 0.167), (4, 36, 0.00977), (3, 27, 0.00853)] {
        let found = DegreeDistribution::regular(bits, checks).threshold(Rule::SumProduct, 1, None).unwrap();
        assert!((found / known - 1.0).abs() < 0.006, "({bits}, {checks}): found {found}, known {known}");
    }
}

/// Sum-product over a quantised Gaussian channel. The known values are those of this density evolution with messages in
/// steps of 1/40, of which steps of 1/20 differ by up to 1e-4 and an independent one by up to 2e-3 (0.01964, 0.02214,
/// 0.01571, 0.02148). Those of the channel without quantisation are checked where density evolution is.
#[test]
fn thresholds_with_soft_levels_are_those_of_a_finer_grid() {
    for (bits, checks, levels, known) in
        [(4, 36, 3, 0.01965), (4, 36, 7, 0.02216), (3, 27, 2, 0.01574), (3, 27, 5, 0.02151)]
    {
        let found = DegreeDistribution::regular(bits, checks).threshold(Rule::SumProduct, levels, None).unwrap();
        assert!((found / known - 1.0).abs() < 0.002, "({bits}, {checks}), {levels}: found {found}, known {known}");
    }
}

/// Is a level worth something to min-sum, less and less? The known values are those of this density evolution with
/// messages in steps of 1/192 of the largest LLR.
#[test]
fn thresholds_of_min_sum_rise_with_levels() {
    let degrees = DegreeDistribution::regular(4, 36);
    let rule = Rule::NormalisedMinSum { factor: 0.6875 };
    let found: Vec<f64> = (1..=7).map(|levels| degrees.threshold(rule, levels, None).unwrap()).collect();
    let gains: Vec<f64> = found.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gains.windows(2).all(|pair| pair[0] > pair[1] && pair[1] > 0.0), "{found:?}");
    for (levels, known) in [(1, 0.00956), (2, 0.01650), (3, 0.01928), (5, 0.02108), (7, 0.02168)] {
        let ratio = found[levels - 1] / known;
        assert!((0.995..1.001).contains(&ratio), "{levels} levels: found {}, known {known}", found[levels - 1]);
    }
}

/// Does min-sum come right where it is solvable by hand? After one iteration of a (3, 6) code, a message is wrong with
/// probability q = (1 - (1 - 2 p)^5) / 2, and a bit is wrong if three or two of its messages and the channel say so.
#[test]
fn one_iteration_of_min_sum_is_a_majority_vote() {
    let p = 0.05;
    let q = (1.0 - 0.9f64.powi(5)) / 2.0;
    // Four voices of equal weight; a tie is half an error.
    let votes = |channel: f64, wrong: i32| {
        let ways = [1.0, 3.0, 3.0, 1.0][wrong as usize];
        channel * ways * q.powi(wrong) * (1.0 - q).powi(3 - wrong)
    };
    let expected = votes(p, 3) + votes(p, 2) + votes(1.0 - p, 3) + 0.5 * (votes(p, 1) + votes(1.0 - p, 2));
    let degrees = DegreeDistribution::regular(3, 6);
    let found = degrees.bit_error_rate(Rule::NormalisedMinSum { factor: 1.0 }, p, 1, 1).unwrap();
    assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    assert_eq!(degrees.bit_error_rate(Rule::SumProduct, p, 1, 0), Ok(p));
}

/// The same with two levels, where the channel and messages are right, wrong or nothing.
#[test]
fn one_iteration_of_min_sum_with_erasures_is_a_majority_vote() {
    let deviation = 0.5;
    let p = normal_cdf(-1.0 / deviation);
    let threshold = best_thresholds(p, 2)[1];
    let wrong = normal_cdf((-1.0 - threshold) / deviation);
    let right = normal_cdf((1.0 - threshold) / deviation);
    // A check answers if it is told five signs.
    let (told, signed) = ((right + wrong).powi(5), (right - wrong).powi(5));
    let message = [(told - signed) / 2.0, 1.0 - told, (told + signed) / 2.0];
    let mut expected = 0.0;
    for (channel, chance) in [(-1, wrong), (0, 1.0 - right - wrong), (1, right)] {
        for votes in 0..27usize {
            let votes = [votes % 3, votes / 3 % 3, votes / 9];
            let chance = votes.iter().fold(chance, |chance, &vote| chance * message[vote]);
            let sum = channel + votes.iter().map(|&vote| vote as i32 - 1).sum::<i32>();
            expected += chance * [1.0, 0.5, 0.0][(sum.signum() + 1) as usize];
        }
    }
    let degrees = DegreeDistribution::regular(3, 6);
    let found = degrees.bit_error_rate(Rule::NormalisedMinSum { factor: 1.0 }, p, 2, 1).unwrap();
    assert!((found - expected).abs() < 1e-12, "{found} {expected}");
}

/// Regions that tell the sign leave its error rate as it is.
#[test]
fn an_odd_number_of_levels_tells_the_sign() {
    let degrees = DegreeDistribution::regular(4, 36);
    for rule in [Rule::SumProduct, Rule::NormalisedMinSum { factor: 0.75 }, Rule::OffsetMinSum { offset: 0.5 }] {
        for (p, levels) in [(0.02, 3), (0.02, 5), (0.02, 7), (1e-9, 7)] {
            let found = degrees.bit_error_rate(rule, p, levels, 0).unwrap();
            assert!((found / p - 1.0).abs() < 1e-9, "{rule:?}, {levels} levels at {p}: {found}");
        }
    }
}

/// Plain min-sum is worse than sum-product, and a factor makes up for most of it.
#[test]
fn rules_are_ordered() {
    let degrees = DegreeDistribution::regular(3, 6);
    let threshold = |rule| degrees.threshold(rule, 1, None).unwrap();
    let plain = threshold(Rule::NormalisedMinSum { factor: 1.0 });
    let offset = threshold(Rule::OffsetMinSum { offset: 0.0 });
    let corrected = threshold(Rule::NormalisedMinSum { factor: 0.75 });
    let exact = threshold(Rule::SumProduct);
    assert_eq!(plain, offset);
    assert!(plain < corrected && corrected < exact && exact < shannon_limit(0.5), "{plain} {corrected} {exact}");
}

#[test]
fn more_iterations_are_better() {
    let degrees = DegreeDistribution::regular(4, 36);
    for (rule, levels) in [(Rule::SumProduct, 1), (Rule::SumProduct, 2), (Rule::OffsetMinSum { offset: 0.5 }, 1)] {
        let found = [Some(20), Some(40), None].map(|limit| degrees.threshold(rule, levels, limit).unwrap());
        assert!(found.is_sorted_by(|a, b| a < b), "{rule:?}, {levels} levels: {found:?}");
    }
}

#[test]
fn the_shannon_limit_inverts_the_capacity() {
    for (rate, limit) in [(0.5, 0.110_03), (8.0 / 9.0, 0.014_79), (0.90, 0.012_99), (0.95, 0.005_61)] {
        assert!((shannon_limit(rate) - limit).abs() < 6e-6, "{rate}");
    }
}

#[test]
fn bad_parameters_are_refused() {
    let good = Construction::regular(12, 6, 8, 3, 1);
    let message = |construction: Construction| construction.build().unwrap_err().to_string();
    for (bad, expected) in [
        (Construction { circulant_size: 12, ..good.clone() }, "power of two"),
        (Construction { circulant_size: 0, ..good.clone() }, "power of two"),
        (Construction { rows: 0, ..good.clone() }, "0 rows"),
        (Construction { rows: 12, ..good.clone() }, "12 rows"),
        (Construction { column_weights: weights(&[(3, 11), (7, 1)]), ..good.clone() }, "column weight: found 7"),
        (Construction { column_weights: weights(&[(3, 11), (0, 1)]), ..good.clone() }, "column weight: found 0"),
        (Construction { circulant_size: 1, ..good.clone() }, "4-cycles"),
        (Construction { column_weights: weights(&[(2, 12)]), ..good.clone() }, "some are odd"),
    ] {
        let found = message(bad);
        assert!(found.contains(expected), "{found}");
    }
    let degrees = DegreeDistribution::regular(3, 6);
    assert!(degrees.threshold(Rule::NormalisedMinSum { factor: 1.5 }, 1, None).is_err());
    for levels in [0, 8] {
        assert!(degrees.threshold(Rule::SumProduct, levels, None).is_err());
        assert!(degrees.bit_error_rate(Rule::SumProduct, 0.01, levels, 1).is_err());
    }
    for p in [f64::NAN, 0.0, 0.5] {
        assert!(degrees.bit_error_rate(Rule::SumProduct, p, 1, 1).is_err());
    }
}
