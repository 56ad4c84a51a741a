//! Are BCH codes what the textbook says, and does the decoder do what it promises?

use std::sync::Arc;

use softsense_base::{Purpose, Stream};
use softsense_ecc::InstructionSet;
use softsense_ecc::bch::{BchCode, BchDecoder};
use softsense_ecc::bits;

/// The codes of flash controllers: m, t, k.
const FLASH: [(u32, usize, usize); 7] = [
    (13, 15, 4096),
    (14, 31, 8192),
    (15, 57, 16_384),
    (15, 57, 31_912),
    (16, 105, 32_768),
    (16, 108, 32_800),
    (16, 256, 32_768),
];

/// Small codes over every field, of full length and shortened, with data that are whole bytes and that are not, with powers of
/// two of errors and with as many as can be.
const SMALL: [(u32, usize, usize); 24] = [
    (5, 1, 26),
    (5, 2, 21),
    (5, 3, 16),
    (5, 7, 1),
    (5, 15, 1),
    (6, 3, 45),
    (6, 4, 17),
    (7, 5, 92),
    (8, 9, 100),
    (8, 18, 131),
    (9, 20, 64),
    (10, 33, 500),
    (11, 16, 1001),
    (12, 70, 2048),
    (12, 40, 3615),
    (6, 31, 1),
    (7, 63, 1),
    (8, 127, 1),
    (10, 511, 1),
    (12, 64, 2000),
    (13, 128, 4097),
    (14, 257, 3000),
    (15, 64, 333),
    (16, 600, 2001),
];

fn code((m, t, k): (u32, usize, usize)) -> Arc<BchCode> {
    Arc::new(BchCode::new(m, t, k).unwrap())
}

/// Random bits, packed, with zeros as padding.
fn random_word(stream: Stream, index: u64, length: usize) -> Vec<u8> {
    let mut word: Vec<u8> = (0..bits::bytes_for(length) as u64).map(|i| stream.bits(index, i) as u8).collect();
    if !length.is_multiple_of(8) {
        *word.last_mut().unwrap() &= !(0xff >> (length % 8));
    }
    word
}

fn random_codeword(code: &BchCode, index: u64) -> Vec<u8> {
    let data = random_word(Stream::new(3, Purpose::Data), index, code.data_bits());
    let mut codeword = vec![0; bits::bytes_for(code.codeword_bits())];
    code.encode(&data, &mut codeword);
    codeword
}

/// Flips `weight` different bits.
fn add_errors(word: &mut [u8], length: usize, weight: usize, index: u64) {
    let stream = Stream::new(3, Purpose::Noise);
    let mut flipped = vec![false; length];
    let mut draws = 0..;
    for _ in 0..weight {
        let position =
            (&mut draws).map(|draw| (stream.bits(index, draw) % length as u64) as usize).find(|&p| !flipped[p]);
        let position = position.unwrap();
        flipped[position] = true;
        bits::flip(word, position);
    }
}

/// The remainder of a word modulo the generator polynomial, bit by bit: highest coefficient first.
fn slow_remainder(word: &[u8], length: usize, generator: &[bool]) -> Vec<bool> {
    let mut rest: Vec<bool> = (0..length).map(|i| bits::get(word, i)).collect();
    let degree = generator.len() - 1;
    for at in 0..length - degree {
        if rest[at] {
            for (i, &coefficient) in generator.iter().rev().enumerate() {
                rest[at + i] ^= coefficient;
            }
        }
    }
    rest.split_off(length - degree)
}

fn octal(polynomial: &[bool]) -> u64 {
    polynomial.iter().rev().fold(0, |number, &bit| number << 1 | u64::from(bit))
}

/// Decodes what differs from `codeword` in `received`, and checks the promise for at most t errors.
fn expect_corrected(decoder: &mut BchDecoder, codeword: &[u8], received: &[u8]) {
    let mut word = received.to_vec();
    assert_eq!(decoder.decode(&mut word), Some(bits::distance(codeword, received)));
    assert_eq!(word, codeword);
}

/// Checks the promise for any word; whether it was corrected.
fn expect_honest(decoder: &mut BchDecoder, received: &[u8]) -> bool {
    let mut word = received.to_vec();
    let code = Arc::clone(decoder.code());
    match decoder.decode(&mut word) {
        Some(corrected) => {
            let rest = slow_remainder(&word, code.codeword_bits(), &code.generator_polynomial());
            assert!(!rest.contains(&true), "not a codeword");
            assert_eq!(bits::distance(&word, received), corrected);
            assert!(corrected <= code.correctable());
            true
        }
        None => {
            assert_eq!(word, received, "a failure must leave the word alone");
            false
        }
    }
}

/// Lin, Costello, Error Control Coding, 2004, table 6.1 (octal); theirs for m = 7 have another primitive polynomial.
#[test]
fn generators_are_those_of_the_textbook() {
    let table: [(u32, usize, usize, u64); 14] = [
        (5, 1, 26, 0o45),
        (5, 2, 21, 0o3551),
        (5, 3, 16, 0o107657),
        (5, 5, 11, 0o5423325),
        (5, 7, 6, 0o313365047),
        (6, 1, 57, 0o103),
        (6, 2, 51, 0o12471),
        (6, 3, 45, 0o1701317),
        (6, 4, 39, 0o166623567),
        (6, 5, 36, 0o1033500423),
        (6, 6, 30, 0o157464165547),
        (6, 7, 24, 0o17323260404441),
        (6, 10, 18, 0o1363026512351725),
        (8, 1, 247, 0o435),
    ];
    for (m, t, k, generator) in table {
        let code = BchCode::new(m, t, k).unwrap();
        assert_eq!(code.codeword_bits(), (1 << m) - 1, "m = {m}, t = {t}");
        assert_eq!(octal(&code.generator_polynomial()), generator, "m = {m}, t = {t}");
    }
}

/// The parity bytes that bchlib 2.1.3 (the Linux kernel's code) computes, which begins its parity at a whole byte.
#[test]
fn parity_is_that_of_bchlib() {
    let parity = |code: &BchCode, data: &[u8]| {
        let mut codeword = vec![0; bits::bytes_for(code.codeword_bits())];
        code.encode(data, &mut codeword);
        codeword[data.len()..].iter().map(|byte| format!("{byte:02x}")).collect::<String>()
    };
    let data: Vec<u8> = (1..13).collect();
    assert_eq!(parity(&code((8, 9, 96)), &data), "129891e083cb9f9f30");
    let data: Vec<u8> = (0..31_912 / 8).map(|i| (i * 37 + 11) as u8).collect();
    let expected = "865ded1e21a3c8ddfc819a4bebdee03bc4f047a26e6c6e65a63fa4a0dc3436fd7061e2d515f1877978264f43e0fad3c02f5c45\
                    8f1a812ed570b6b51f6760af3932825b5d45200c0d3637d2104ba3499a3eb4bf13219307c649b54d5be43a8ca542c225339e61\
                    5859f0ff9a";
    assert_eq!(parity(&code((15, 57, 31_912)), &data), expected);
}

#[test]
fn codes_have_the_lengths_of_the_literature() {
    let lengths = FLASH.map(|parameters| code(parameters).codeword_bits());
    // alpha^257 has the order 255 and so a minimal polynomial of degree 8: 4,088 parity bits where m t = 4,096.
    assert_eq!(lengths, [4291, 8626, 17_239, 32_767, 34_448, 34_528, 36_856]);
}

#[test]
fn codewords_are_the_data_and_multiples_of_the_generator() {
    for parameters in FLASH.into_iter().chain(SMALL) {
        let code = code(parameters);
        let stream = Stream::new(4, Purpose::Data);
        let data = random_word(stream, 0, code.data_bits());
        let mut codeword = vec![0xff; bits::bytes_for(code.codeword_bits())];
        code.encode(&data, &mut codeword);
        assert!((0..code.data_bits()).all(|i| bits::get(&data, i) == bits::get(&codeword, i)), "{parameters:?}");
        let padding = 8 * codeword.len() - code.codeword_bits();
        assert_eq!(codeword.last().unwrap() & ((1 << padding) - 1), 0, "{parameters:?}");
        let generator = code.generator_polynomial();
        assert!(!slow_remainder(&codeword, code.codeword_bits(), &generator).contains(&true), "{parameters:?}");
        assert!(code.is_codeword(&codeword), "{parameters:?}");

        // Data, or a word, whose padding bits are not zero.
        if !code.data_bits().is_multiple_of(8) {
            let mut padded = data.clone();
            *padded.last_mut().unwrap() |= 1;
            let mut again = vec![0; codeword.len()];
            code.encode(&padded, &mut again);
            assert_eq!(again, codeword, "{parameters:?}");
        }
        if padding > 0 {
            let mut padded = codeword.clone();
            *padded.last_mut().unwrap() |= 1;
            assert!(code.is_codeword(&padded), "{parameters:?}");
            bits::flip(&mut padded, 0);
            assert_eq!(Arc::new(code).decoder().decode(&mut padded), Some(1), "{parameters:?}");
        }
    }
}

#[test]
fn no_other_words_are_codewords() {
    for parameters in FLASH.into_iter().chain(SMALL) {
        let code = code(parameters);
        let mut word = random_codeword(&code, 1);
        for position in (0..code.codeword_bits()).step_by(code.codeword_bits() / 100 + 1) {
            bits::flip(&mut word, position);
            assert!(!code.is_codeword(&word), "{parameters:?}, bit {position}");
            bits::flip(&mut word, position);
        }
    }
}

#[test]
fn encoding_is_linear() {
    for parameters in FLASH.into_iter().chain(SMALL) {
        let code = code(parameters);
        let stream = Stream::new(5, Purpose::Data);
        let [a, b] = [0, 1].map(|index| random_word(stream, index, code.data_bits()));
        let sum = |a: &[u8], b: &[u8]| -> Vec<u8> { a.iter().zip(b).map(|(a, b)| a ^ b).collect() };
        let encode = |data: &[u8]| {
            let mut codeword = vec![0; bits::bytes_for(code.codeword_bits())];
            code.encode(data, &mut codeword);
            codeword
        };
        assert_eq!(sum(&encode(&a), &encode(&b)), encode(&sum(&a, &b)), "{parameters:?}");
    }
}

#[test]
fn a_shortened_code_is_the_full_one_with_leading_zeros() {
    for (m, t, removed) in [(5, 2, 1), (5, 3, 15), (7, 4, 64), (8, 5, 77), (13, 15, 3900), (16, 60, 32_001)] {
        let parity_bits = BchCode::new(m, t, 1).unwrap().parity_bits();
        let full = code((m, t, (1 << m) - 1 - parity_bits));
        let short = code((m, t, full.data_bits() - removed));
        let codeword = random_codeword(&short, 2);
        let lengthen = |word: &[u8]| {
            let mut long = vec![0; bits::bytes_for(full.codeword_bits())];
            for i in (0..short.codeword_bits()).filter(|&i| bits::get(word, i)) {
                bits::flip(&mut long, removed + i);
            }
            long
        };
        assert!(full.is_codeword(&lengthen(&codeword)), "m = {m}, t = {t}");
        for index in 0..20 {
            let mut received = codeword.clone();
            add_errors(&mut received, short.codeword_bits(), t + (index % 3) as usize, index);
            let mut long = lengthen(&received);
            let corrected = short.decoder().decode(&mut received);
            match full.decoder().decode(&mut long) {
                Some(count) if long[..removed / 8].iter().all(|&byte| byte == 0) && corrected.is_some() => {
                    assert_eq!(corrected, Some(count));
                    assert_eq!(long, lengthen(&received));
                }
                // Corrected to a codeword that is not one of the shortened code.
                _ => assert_eq!(corrected, None),
            }
        }
    }
}

/// All patterns of at most t errors, over random codewords.
#[test]
fn every_pattern_is_corrected_in_small_codes() {
    for (m, t, k) in [(5, 1, 26), (5, 2, 21), (5, 3, 16), (5, 3, 9), (6, 2, 51), (6, 3, 20)] {
        let code = code((m, t, k));
        let mut decoder = code.decoder();
        let n = code.codeword_bits();
        let mut index = 0u64;
        let mut received = random_codeword(&code, 0);
        let mut codeword = received.clone();
        for a in 0..=n {
            for b in a.min(n)..=n {
                for c in b.min(n)..=n {
                    // Position n stands for no error; equal positions would cancel.
                    let pattern = [a, b, c];
                    if pattern.windows(2).any(|pair| pair[0] == pair[1] && pair[0] < n)
                        || pattern.iter().filter(|&&p| p < n).count() > t
                    {
                        continue;
                    }
                    index += 1;
                    if index.is_multiple_of(64) {
                        codeword = random_codeword(&code, index);
                        received.copy_from_slice(&codeword);
                    }
                    pattern.iter().filter(|&&p| p < n).for_each(|&p| bits::flip(&mut received, p));
                    expect_corrected(&mut decoder, &codeword, &received);
                    received.copy_from_slice(&codeword);
                }
            }
        }
        let choose = |k: usize| (0..k).fold(1, |c, i| c * (n - i) / (i + 1));
        assert_eq!(index as usize, (0..=t).map(choose).sum::<usize>(), "every pattern was tried");
    }
}

#[test]
fn up_to_t_errors_are_corrected() {
    for parameters in FLASH.into_iter().chain(SMALL) {
        let code = code(parameters);
        let (n, t) = (code.codeword_bits(), code.correctable());
        let mut decoder = code.decoder();
        for index in 0..40 {
            let weight = if index < 8 { t } else { (index as usize * 7919) % (t + 1) };
            let codeword = random_codeword(&code, index);
            let mut received = codeword.clone();
            add_errors(&mut received, n, weight, index);
            expect_corrected(&mut decoder, &codeword, &received);
        }
        // A burst, the errors at the ends, and in the parity bits alone.
        for start in [0, n - t, (n - t) / 2] {
            let codeword = random_codeword(&code, 1000);
            let mut received = codeword.clone();
            (start..start + t).for_each(|position| bits::flip(&mut received, position));
            expect_corrected(&mut decoder, &codeword, &received);
        }
    }
}

/// Beyond t errors most words of codes with small t are near to another codeword, those of large t to none.
#[test]
fn success_beyond_t_is_never_claimed_for_a_word_that_is_no_codeword() {
    for parameters in SMALL {
        let code = code(parameters);
        let mut decoder = code.decoder();
        let (n, t) = (code.codeword_bits(), code.correctable());
        let mut claimed = 0;
        for index in 0..200 {
            let mut received = random_codeword(&code, index);
            let weight = (t + 1 + index as usize % (t + 3)).min(n);
            add_errors(&mut received, n, weight, index);
            claimed += u32::from(expect_honest(&mut decoder, &received));
            // Any word at all.
            claimed += u32::from(expect_honest(&mut decoder, &random_word(Stream::new(6, Purpose::Data), index, n)));
        }
        if n == (1 << parameters.0) - 1 && t == 1 {
            assert_eq!(claimed, 400, "a Hamming code is perfect");
        }
    }
    for parameters in FLASH {
        let code = code(parameters);
        let mut decoder = code.decoder();
        for index in 0..6 {
            let mut received = random_codeword(&code, index);
            let weight = code.correctable() + 1 + index as usize % 3 * 100;
            add_errors(&mut received, code.codeword_bits(), weight, index);
            // A random word is within t of a codeword with a probability below 1 / t!.
            assert!(!expect_honest(&mut decoder, &received), "{parameters:?}");
        }
    }
}

/// All words: those within t of a codeword, found by trying all codewords, are corrected to it, the others refused.
#[test]
fn the_decoder_is_exactly_bounded_distance() {
    for (m, t, k) in [(5, 3, 3), (5, 2, 5), (5, 5, 2), (5, 1, 9)] {
        let code = code((m, t, k));
        let mut decoder = code.decoder();
        let n = code.codeword_bits();
        let codewords: Vec<Vec<u8>> = (0..1u32 << k)
            .map(|data| {
                let data = (data << (32 - k)).to_be_bytes();
                let mut codeword = vec![0; bits::bytes_for(n)];
                code.encode(&data[..bits::bytes_for(k)], &mut codeword);
                codeword
            })
            .collect();
        for index in 0..4000 {
            let received = random_word(Stream::new(7, Purpose::Data), index, n);
            let near = codewords.iter().find(|codeword| bits::distance(codeword, &received) <= t);
            match near {
                Some(codeword) => expect_corrected(&mut decoder, codeword, &received),
                None => assert!(!expect_honest(&mut decoder, &received)),
            }
        }
    }
}

#[test]
fn every_instruction_set_computes_the_same() {
    for (m, t, k) in FLASH.into_iter().chain(SMALL) {
        let codes: Vec<Arc<BchCode>> = InstructionSet::available()
            .into_iter()
            .map(|set| Arc::new(BchCode::with_instruction_set(m, t, k, set).unwrap()))
            .collect();
        let mut decoders: Vec<BchDecoder> = codes.iter().map(BchCode::decoder).collect();
        let n = codes[0].codeword_bits();
        for index in 0..12 {
            let data = random_word(Stream::new(8, Purpose::Data), index, k);
            let codewords = codes.iter().map(|code| {
                let mut codeword = vec![0; bits::bytes_for(n)];
                code.encode(&data, &mut codeword);
                codeword
            });
            let codewords: Vec<Vec<u8>> = codewords.collect();
            assert!(codewords.windows(2).all(|pair| pair[0] == pair[1]), "({m}, {t}, {k})");
            let weight = [0, 1, t / 2, t, t + 1, 2 * t][index as usize % 6].min(n);
            let mut received = codewords[0].clone();
            add_errors(&mut received, n, weight, index);
            assert!(codes.windows(2).all(|pair| pair[0].is_codeword(&received) == pair[1].is_codeword(&received)));
            let outcomes = decoders.iter_mut().map(|decoder| {
                let mut word = received.clone();
                (decoder.decode(&mut word), word)
            });
            let outcomes: Vec<_> = outcomes.collect();
            assert!(outcomes.windows(2).all(|pair| pair[0] == pair[1]), "({m}, {t}, {k}), {weight} errors");
        }
    }
}

#[test]
fn codes_that_cannot_be_are_refused() {
    let refused = [
        (4, 1, 5, "field_bits", "found 4, expected 5 to 16"),
        (17, 1, 5, "field_bits", "found 17, expected 5 to 16"),
        (5, 0, 5, "correctable", "found 0, expected 1 to 15 for a code of 31 bits"),
        (5, 16, 1, "correctable", "found 16, expected 1 to 15 for a code of 31 bits"),
        (16, usize::MAX, 1, "correctable", "found 18446744073709551615, expected 1 to 32767 for a code of 65535 bits"),
        (5, 2, 0, "data_bits", "found 0, expected 1 to 21, as 10 bits of the codeword are parity"),
        (5, 2, 22, "data_bits", "found 22, expected 1 to 21, as 10 bits of the codeword are parity"),
        (13, 400, 4096, "data_bits", "found 4096, expected 1 to 3836, as 4355 bits of the codeword are parity"),
    ];
    for (m, t, k, place, message) in refused {
        let error = BchCode::new(m, t, k).unwrap_err();
        assert_eq!((error.place(), error.message()), (place, message));
    }
}

#[test]
fn codes_are_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<BchCode>();
    fn sent<T: Send>() {}
    sent::<BchDecoder>();
}
