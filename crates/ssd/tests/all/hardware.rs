//! Decoders as circuits: decode times and energies that follow iterations and codes, areas, and what an area buys.

use crate::support::{lone_reads, request, run, shipped};
use softsense_base::Pj;
use softsense_config::checked::CheckedConfig;
use softsense_ecc::catalogue::Code;
use softsense_ecc::hardware::{BchDecoderCircuit, BchShape, LdpcDecoderCircuit, LdpcEncoderCircuit, LdpcShape, Node};
use softsense_requests::RequestKind;

/// One channel, reads of which only the decoder takes time, by the measured table of `flash-8/9`.
fn by_table(more: &[&str]) -> CheckedConfig {
    let base = [
        "geometry={ channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 256, pages_per_block = 64 }",
        "reliability={ table = { file = \"flash-8-9\", rber = { constant = { rber = 0.007 } } } }",
        "read.max_level=1",
        "bus={ transfer_us = 0.0, transfer_extra_level_us = 0.0 }",
        "flash.page_types=[{ name = \"page\", sense_us = 0.0, sense_extra_level_us = 0.0, program_us = 0.0 }]",
    ];
    shipped("mlc-25nm.toml", &[&base[..], more].concat())
}

const CHECKS: u32 = 4096;

fn flash_8_9() -> LdpcShape {
    let Ok(Code::Ldpc(code)) = Code::shipped("flash-8/9") else { panic!("an LDPC code") };
    LdpcShape::of(&code)
}

/// Each read takes as many cycles as its iterations, and its energy is that of so many, to the nanosecond and the picojoule: the
/// iterations are those of the same codewords when an iteration takes a microsecond.
#[test]
fn time_and_energy_follow_iterations() {
    let (shape, node) = (flash_8_9(), Node::new("node_nm", 40.0).unwrap());
    let responses = |config: &CheckedConfig| {
        let mut log = run(config, lone_reads(config, 300)).take_log();
        log.sort_by_key(|row| row.request);
        log
    };
    let counted = responses(&by_table(&["decoder.time={ per_iteration_us = 1.0 }"]));
    let iterations: Vec<u64> = counted.iter().map(|row| row.response.0 / 1000).collect();
    assert!(iterations.iter().any(|&n| n != iterations[0]), "codewords differ");
    for (checks, clock_mhz) in [(16u32, 400), (100, 250)] {
        let circuit = LdpcDecoderCircuit { checks_per_cycle: checks, message_bits: 6 };
        let ldpc = format!("{{ clock_mhz = {clock_mhz}.0, checks_per_cycle = {checks}, message_bits = 6 }}");
        let decoder = format!("decoder={{ node_nm = 40.0, time = {{ ldpc = {ldpc} }} }}");
        let energy = "energy={ decoder = \"circuit\", sense_uj = 0.0, transfer_uj = 0.0 }";
        let log = responses(&by_table(&[&decoder, energy]));
        let layers = shape.layers;
        let cycles = u64::from(layers * ((CHECKS / layers).div_ceil(checks) + 4));
        let pj = |iterations| Pj::from_uj(circuit.decode_pj(shape, iterations, node) / 1e6);
        for (row, &n) in log.iter().zip(&iterations) {
            assert_eq!(row.response.0, n * cycles * 1000 / clock_mhz, "{n} iterations of {cycles} cycles");
            let expected = pj(n as u32);
            assert!(row.energy.0.abs_diff(expected.0) <= n, "{n} iterations: {:?} for {expected:?}", row.energy);
        }
    }
}

/// A rate's own code and circuit: the same decoder takes longer for a block whose code has more checks.
#[test]
fn the_code_of_a_block_says_how_long_an_iteration_takes() {
    let mean = |pe_cycles: u32, time: &str| {
        let config = shipped(
            "mlc-25nm.toml",
            &[
                "geometry={ channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 64, \
                 pages_per_block = 8, codewords_per_page = 13, codeword_bytes = 512 }",
                "reliability={ adaptive = { rates = [ { file = \"adaptive-5-6\", units = 13, to_pe_cycles = 100 }, { file = \
                 \"adaptive-1-2\", units = 8, to_pe_cycles = 1000 } ], rber = { constant = { rber = 0.005 } } } }",
                "read.max_level=1",
                "ftl.over_provisioning=0.45",
                "bus={ transfer_us = 0.0, transfer_extra_level_us = 0.0 }",
                "flash.page_types=[{ name = \"page\", sense_us = 0.0, sense_extra_level_us = 0.0, program_us = 0.0 }]",
                &format!("precondition.pe_cycles={pe_cycles}"),
                &format!("decoder.time={time}"),
            ],
        );
        let reads: Vec<_> = lone_reads(&config, 20)
            .into_iter()
            .map(|read| softsense_requests::Request {
                offset_bytes: read.offset_bytes / 4096 * 512,
                bytes: 512,
                ..read
            })
            .collect();
        let log = run(&config, reads).take_log();
        log.iter().map(|row| row.response.as_us()).sum::<f64>() / log.len() as f64
    };
    for (pe_cycles, name) in [(0, "adaptive-5/6"), (500, "adaptive-1/2")] {
        let Ok(Code::Ldpc(code)) = Code::shipped(name) else { panic!("an LDPC code") };
        let circuit = LdpcDecoderCircuit { checks_per_cycle: 64, message_bits: 5 };
        let of_iteration = circuit.iteration_cycles(LdpcShape::of(&code)) as f64 / 400.0;
        let iterations = mean(pe_cycles, "{ per_iteration_us = 1.0 }");
        let found = mean(pe_cycles, "{ ldpc = {} }");
        assert!(
            (found / (iterations * of_iteration) - 1.0).abs() < 1e-3,
            "{name}: {found}, {iterations} of {of_iteration}"
        );
    }
}

/// Energy of BCH decoders: syndromes alone where nothing is wrong, all stages elsewhere, of each codeword.
#[test]
fn energy_of_bch_decoders_follows_the_code_and_the_errors() {
    for (bytes, correctable) in [(512u32, 15u32), (4096, 105)] {
        for (rber, errors) in [("0.0", false), ("0.01", true)] {
            let reliability = format!(
                "reliability={{ bch = {{ oob_bytes = 224, rber = {{ constant = {{ rber = {rber} }} }}, codes = [{{ codeword_bytes = {bytes}, \
                 correctable = {correctable}, to_pe_cycles = 1000000 }}] }} }}"
            );
            let more =
                ["geometry.blocks_per_plane=48", "geometry.pages_per_block=64", &reliability, "energy.decoder=circuit"];
            let config = shipped("mlc-lae.toml", &more);
            let code = config.bch_codes()[0];
            let simulation = run(
                &config,
                (0..40).map(|i| request(RequestKind::Read, softsense_base::Ns(i * 10_000_000), i * 31, 1)).collect(),
            );
            let statistics = simulation.statistics();
            let shape = BchShape { field_bits: code.field_bits, correctable, codeword_bits: code.codeword_bits };
            let circuit = BchDecoderCircuit {
                syndrome_bits_per_cycle: 8,
                key_equation_multipliers: 16,
                search_bits_per_cycle: 8,
            };
            let pj = Pj::from_uj(circuit.decode_pj(shape, errors, Node::new("node_nm", 28.0).unwrap()) / 1e6);
            let decodes = statistics.operations.decodes;
            assert_eq!(decodes, 40 * u64::from(4096 / bytes));
            assert_eq!(statistics.energy.decode, pj.times(decodes), "{bytes} B, errors {errors}");
        }
    }
}

/// Pages cost their encoding beside their program, by the code of their block.
#[test]
fn programs_cost_their_encoding() {
    let node = Node::new("node_nm", 28.0).unwrap();
    let writes = |config: &CheckedConfig| {
        let count = 64;
        let at = |i| request(RequestKind::Write, softsense_base::Ns(i * 10_000_000), i, 1);
        let simulation = run(config, (0..count).map(at).collect());
        let statistics = simulation.statistics();
        (statistics.operations.programs, statistics.energy.program)
    };
    let (circuit, time) = ("energy.decoder=circuit", "decoder.time={ ldpc = {} }");
    let (programs, energy) = writes(&by_table(&[time, circuit, "host.write_buffer_bytes=0"]));
    let encoder = LdpcEncoderCircuit { bits_per_cycle: 8 };
    let encoding = encoder.encode_pj(flash_8_9(), node) / 1e6;
    assert!(programs > 0 && encoding > 0.0);
    assert_eq!(energy, Pj::from_uj(52.0 + encoding).times(programs));
    let (programs, energy) = writes(&by_table(&[time, "host.write_buffer_bytes=0"]));
    assert_eq!(energy, Pj::from_uj(52.0).times(programs));
}

/// The area of one's own decoders buys their own parallelism, more buys more, and the next step would not fit.
#[test]
fn an_area_buys_as_much_parallelism_as_fits() {
    let ldpc = "decoder={ placement = { pool = 3 }, time = { ldpc = { checks_per_cycle = 50 } } }";
    let worst = |more: &str| shipped("mlc-lae-worst-case.toml", &[&format!("decoder.time={{ bch = {{ {more} }} }}")]);
    for (config, expected) in [
        (by_table(&[ldpc]), "decoder.time.ldpc.checks_per_cycle=50"),
        (worst("engine_correctable = 400"), "decoder.time.bch.engine_correctable=400"),
        (
            worst("syndrome_bits_per_cycle = 12, search_bits_per_cycle = 12"),
            "decoder.time.bch.syndrome_bits_per_cycle=12",
        ),
    ] {
        let mm2 = config.decoder_hardware().unwrap().total_mm2();
        let own = config.parallelism_of_area(mm2).unwrap();
        assert_eq!(own[0], expected);
        assert_ne!(config.parallelism_of_area(0.999 * mm2).unwrap()[0], expected);
        let of_more = config.with_overrides(&config.parallelism_of_area(1.4 * mm2).unwrap()).unwrap();
        let more = of_more.decoder_hardware().unwrap();
        assert!(more.total_mm2() > mm2 && more.total_mm2() <= 1.4 * mm2, "{} of {mm2}", more.total_mm2());
        let too_small = config.parallelism_of_area(mm2 / 1e3).unwrap_err().to_string();
        assert!(too_small.contains("even with the least parallelism") && too_small.contains("expected"), "{too_small}");
        assert!(config.describe().iter().any(|(label, _)| label == "decoder area"));
    }
    let refused = by_table(&[]).parallelism_of_area(1.0).unwrap_err().to_string();
    assert!(refused.starts_with("decoder.time: found decoders whose area is unknown"), "{refused}");
    // Twice the lanes are nearly twice the cells: an engine costs what it holds.
    let area = |config: &CheckedConfig| config.decoder_hardware().unwrap().parts.gates;
    let share = area(&worst("engine_correctable = 800")) / area(&worst("engine_correctable = 400"));
    assert!((1.6..2.0).contains(&share), "{share}");
}

/// Circuits that nobody described, for codes that nobody named.
#[test]
fn what_has_no_circuit_is_refused() {
    let refused = |name: &str, overrides: &[&str]| {
        let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
        CheckedConfig::open(name, &overrides).unwrap_err().to_string()
    };
    let table = "reliability={ table = { file = \"bch-4KB-t105\", rber = { constant = { rber = 0.001 } } } }";
    for (name, overrides, path) in [
        (
            "mlc-25nm",
            &["energy.decoder=circuit"][..],
            "energy.decoder: found `circuit` with a `decoder.time` that describes no circuit",
        ),
        (
            "mlc-25nm",
            &["decoder.time={ ldpc = { code = \"bch-4KB-t105\" } }"],
            "decoder.time.ldpc.code: found the BCH code",
        ),
        ("mlc-25nm", &["decoder.time={ ldpc = { message_bits = 1 } }"], "decoder.time.ldpc.message_bits: found 1"),
        ("mlc-25nm", &["decoder.node_nm=7.0"], "decoder.node_nm: found 7"),
        ("mlc-25nm", &[table, "read.max_level=1", "decoder.time={ ldpc = {} }"], "decoder.time: found"),
        ("mlc-lae", &["decoder.time={ ldpc = {} }"], "decoder.time: found"),
        (
            "mlc-lae",
            &["decoder={ codewords_at_once = 2, time = { bch = { engine_correctable = 108 } } }"],
            "codewords_at_once: found 2",
        ),
        (
            "mlc-lae",
            &["decoder.time={ bch = { engine_correctable = 10 } }"],
            "engine_correctable: found 10, with 8 bits",
        ),
    ] {
        let message = refused(name, overrides);
        assert!(message.contains(path) && message.contains("expected"), "{message}, not {path}");
    }
}
