//! A decode table: does it answer with probabilities that fall with the level and grow with the raw bit error rate, or is it
//! refused?
#![no_main]

use libfuzzer_sys::fuzz_target;
use softsense_link::DecodeTable;

fuzz_target!(|text: &str| {
    let Ok(table) = DecodeTable::parse(text, "fuzzed.toml") else { return };
    let mut above = vec![0.0; usize::from(table.levels())];
    for rber in [0.0, 1e-300, 1e-9, 1e-4, 1e-3, 4e-3, 6e-3, 0.01, 0.02, 0.03, 0.1, 0.3, 0.5] {
        table.beyond(rber);
        let mut least = 1.0;
        for (level, above) in (1..).zip(&mut above) {
            let p_fail = table.p_fail(level, rber);
            assert!((*above..=least).contains(&p_fail), "level {level}, {rber}: {p_fail}");
            (least, *above) = (p_fail, p_fail);
            for success in [false, true] {
                for uniform in [0.0, 0.5, 1.0 - 1e-16] {
                    // Words that are decoded twice take up to twice as many.
                    let most = table.max_iterations().unwrap_or(u16::MAX).saturating_mul(2);
                    assert!(table.iterations(level, rber, success, uniform).is_none_or(|count| count <= most));
                }
            }
        }
    }
});
