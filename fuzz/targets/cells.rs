//! A specification of cells: are the probabilities of what is read of them such, at any age, or is it refused?
#![no_main]

use libfuzzer_sys::fuzz_target;
use softsense_nand::{CellSpec, Placement, Sensing, Wear};

fuzz_target!(|data: (u8, &str)| {
    let (choices, text) = data;
    let Ok(spec) = toml::from_str::<CellSpec>(text) else { return };
    if spec.check("cells").is_err() {
        return;
    }
    let pe_cycles = [0, 1, 3_000, 20_000, 300_000][usize::from(choices % 5)];
    let retention_hours = [0.0, 1e-3, 720.0, 1e5, 1e7][usize::from(choices / 5 % 5)];
    let effective_reads = [0.0, 1e3, 1e6, 1e12][usize::from(choices / 25 % 4)];
    let cells = spec.at(Wear { pe_cycles, retention_hours, effective_reads });
    let page = usize::from(choices) % spec.pages();
    assert!((0.0..=1.0).contains(&cells.rber(page)), "page {page}: {}", cells.rber(page));
    assert!((0.0..=1.0).contains(&cells.mean_rber()));
    let level = 1 + choices % 3;
    let sensing =
        Sensing::new(&cells, page, level, [Placement::Nested, Placement::MutualInformation][usize::from(choices & 1)]);
    for bit in [0, 1] {
        let sum: f64 = sensing.probabilities(&cells).iter().map(|given| given[bit]).sum();
        assert!((sum - 1.0).abs() < 1e-6, "page {page}, level {level}, bit {bit}: probabilities add up to {sum}");
    }
    assert!(sensing.llrs(&cells).iter().all(|llr| !llr.is_nan()));
});
