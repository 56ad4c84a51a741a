//! A matrix, as alist or base matrix: is every codeword of it one, and does every decoder find it without errors, or is it
//! refused?
#![no_main]

use libfuzzer_sys::fuzz_target;
use softsense_ecc::bits;
use softsense_ecc::catalogue::Code;
use softsense_ecc::ldpc::RedundantChecks;
use softsense_ecc::measure::DecoderSpec;

const DECODERS: [&str; 5] =
    ["min-sum", "min-sum-16bit", "bit-flipping", "sum-product-f32", "flooding-offset-min-sum:0.5"];

fuzz_target!(|data: (u8, &str)| {
    let (choices, text) = data;
    // The encoder of a matrix without structure takes time with the cube of its rows, which base matrices multiply.
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    let mut sizes: Vec<u128> =
        lines.flat_map(str::split_whitespace).map_while(|word| word.parse().ok()).take(3).collect();
    sizes.sort_unstable();
    if sizes.iter().rev().take(2).copied().reduce(u128::saturating_mul).is_some_and(|product| product > 1 << 14) {
        return;
    }
    let name = ["fuzzed.alist", "fuzzed.qc", "fuzzed"][usize::from(choices % 3)];
    let redundant = if choices & 4 == 0 { RedundantChecks::Refuse } else { RedundantChecks::Accept };
    let Ok(code) = Code::parse(name, text, redundant) else { return };
    let (n, k) = (code.codeword_bits(), code.data_bits());
    let mut data: Vec<u8> =
        (0..bits::bytes_for(k)).map(|index| choices.wrapping_mul(29).wrapping_add(index as u8)).collect();
    bits::clear_padding(&mut data, k);
    let mut codeword = vec![0; bits::bytes_for(n)];
    code.encoder().encode(&data, &mut codeword);
    assert_eq!(code.syndrome_weight(&codeword), 0, "a codeword satisfies all checks");
    let mut extracted = vec![0; data.len()];
    code.extract_data(&codeword, &mut extracted);
    assert_eq!(extracted, data);
    let algorithm = DECODERS[usize::from(choices >> 3) % DECODERS.len()].parse().unwrap();
    let Ok(mut decoder) = (DecoderSpec { algorithm, max_iterations: 3 }).decoder(&code, 1.0) else { return };
    let mut word = codeword.clone();
    assert!(decoder.decode_hard(&mut word).success && word == codeword, "what is right stays right");
    (0..n).step_by(3).for_each(|bit| bits::flip(&mut word, bit));
    decoder.decode_hard(&mut word);
});
