//! SSDs and blocks of different ages at the start: each SSD is as it would be alone, blocks are drawn as stated and pass from code
//! to code by their own P/E cycles, and nothing is lost.

use std::collections::BTreeSet;

use crate::support::{assert_map, random_requests, request, run, served, shipped, simulation};
use softsense_base::{Ns, Purpose, Stream};
use softsense_config::checked::CheckedConfig;
use softsense_config::ids::{Ssd, Superblock};
use softsense_config::spec::Spread;
use softsense_requests::{Request, RequestKind};
use softsense_ssd::simulation::Simulation;

/// A small SSD whose raw bit error rates are a function of P/E cycles and retention alone.
const WORN: [&str; 4] = [
    "geometry={ channels = 2, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 24, \
     pages_per_block = 8, codewords_per_page = 1, codeword_bytes = 4096 }",
    "reliability={ table = { file = \"flash-8-9\", most_beyond = 1.0, rber = { power_law = { scale = 2.16e-6, \
     pe_exponent = 1.57, retention_exponent = 1.98 } } } }",
    "ftl.over_provisioning=0.45",
    "host.issue={ open_loop = { time_scale = 1.0 } }",
];

/// Pages of which 13, 8 or 4 units are data, to 100, 130 and 10,000 P/E cycles.
const ADAPTIVE: [&str; 4] = [
    "geometry={ channels = 2, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 24, \
     pages_per_block = 8, codewords_per_page = 13, codeword_bytes = 512 }",
    "reliability={ adaptive = { rates = [ { file = \"adaptive-5-6\", units = 13, to_pe_cycles = 100 }, \
     { file = \"adaptive-1-2\", units = 8, to_pe_cycles = 130 }, { file = \"adaptive-1-4\", units = 4, to_pe_cycles = 10000 } ], \
     rber = { constant = { rber = 0.005 } } } }",
    "read.max_level=1",
    "host.issue={ closed_loop = { queue_depth = 1 } }",
];

fn device(base: &[&str], more: &[&str]) -> CheckedConfig {
    shipped("mlc-25nm.toml", &[base, more].concat())
}

/// The raw bit error rates of all codewords, with block and page type, of the SSD whose blocks these are.
fn rber(simulation: &Simulation, blocks: std::ops::Range<u32>) -> BTreeSet<(u32, u8, u64)> {
    let codewords = simulation.ftl().user_codewords() as u32;
    let samples = simulation.sample_codewords(8 * codewords);
    let of_ssd = samples.iter().filter(|sample| blocks.contains(&sample.block.0));
    of_ssd.map(|sample| (sample.block.0 - blocks.start, sample.page_type, sample.rber.to_bits())).collect()
}

/// Does each SSD of an array wear and age as a single one of its age does under the same requests?
#[test]
fn each_ssd_of_an_array_is_as_old_as_it_would_be_alone() {
    let ages = [(300, 0.5), (6000, 90.0)];
    let alone = ages.map(|(pe_cycles, days)| {
        let age = [format!("precondition.pe_cycles={pe_cycles}"), format!("precondition.retention_days={days:?}")];
        device(&WORN, &[&age[0], &age[1]])
    });
    let [(a, days_a), (b, days_b)] = ages;
    let ssds = format!(
        "precondition.ssds=[{{ pe_cycles = {a}, retention_days = {days_a:?} }}, {{ pe_cycles = {b}, retention_days = {days_b:?} }}]"
    );
    let array = device(&WORN, &["geometry.ssds=2", "host.spread=round_robin", &ssds]);
    let user = alone[0].user_codewords();
    assert_eq!(array.user_codewords(), 2 * user);
    // Hours apart, so that what is written is of many ages.
    let stream = Stream::new(3, Purpose::Workload);
    let kind = |i| if stream.bits(i, 0).is_multiple_of(4) { RequestKind::Read } else { RequestKind::Write };
    let asked = |i, lcn| request(kind(i), Ns::from_us(2e9 * i as f64), lcn, 1);
    let lcn = |i| stream.bits(i, 1) % user;
    let to_one: Vec<Request> = (0..1500).map(|i| asked(i, lcn(i))).collect();
    let to_both = (0..1500).flat_map(|i| [asked(i, 2 * lcn(i)), asked(i, 2 * lcn(i) + 1)]).collect();
    let array = run(&array, to_both);
    for (ssd, config) in (0..).zip(&alone) {
        let alone = run(config, to_one.clone());
        assert!(alone.ftl().least_and_most_erases().1 > 0, "collection was at work");
        let (found, expected) = (rber(&array, 48 * ssd..48 * (ssd + 1)), rber(&alone, 0..48));
        assert!(expected.len() > 100, "{} rates", expected.len());
        assert_eq!(found, expected, "SSD {ssd}");
    }
}

/// Uniform draws of 4,000 blocks: the mean within four standard errors, the extremes within 5 cycles of the bounds, which they
/// miss once in 10^14.
#[test]
fn blocks_start_with_pe_cycles_that_are_spread_uniformly() {
    let ages = |seed: u32| {
        let more =
            ["geometry.blocks_per_plane=2000", "precondition.pe_cycles=1000", "precondition.pe_cycles_spread=0.3"];
        let config = device(&WORN, &[&more[..], &[&format!("seed={seed}")]].concat());
        let ages = config.start_ages();
        let drawn: Vec<u32> = (0..4000).map(|superblock| ages.pe_cycles(Superblock(superblock))).collect();
        assert_eq!(ages.of_ssd(Ssd(0)), *drawn.iter().min().unwrap()..=*drawn.iter().max().unwrap());
        drawn
    };
    let drawn = ages(1);
    let mean = drawn.iter().sum::<u32>() as f64 / 4000.0;
    let standard_error = 300.0 / 3f64.sqrt() / 4000f64.sqrt();
    assert!((mean - 1000.0).abs() < 4.0 * standard_error, "{mean}");
    let (least, most) = (*drawn.iter().min().unwrap(), *drawn.iter().max().unwrap());
    assert!((700..=705).contains(&least) && (1295..=1300).contains(&most), "{least} to {most}");
    assert_eq!(drawn, ages(1));
    assert_ne!(drawn, ages(2));
}

/// Blocks that start with 81 to 99 cycles have one room for data, and each has less when its own exceed 100.
#[test]
fn blocks_pass_from_code_to_code_by_their_own_pe_cycles() {
    let more = ["ftl.over_provisioning=0.66", "precondition.pe_cycles=90", "precondition.pe_cycles_spread=0.1"];
    let config = device(&ADAPTIVE, &more);
    let requests = random_requests(&config, 5000, u64::MAX, Ns(4_000_000));
    let expected = served(&config, &requests);
    let simulation = run(&config, requests);
    assert_eq!(simulation.statistics().refused_codewords, 0);
    assert_map(&simulation, &expected);
    let ftl = simulation.ftl();
    let mut rooms = BTreeSet::new();
    for block in 0..48 {
        let pe_cycles = config.start_ages().pe_cycles(Superblock(block)) + ftl.erases(Superblock(block));
        assert_eq!(ftl.pe_cycles(Superblock(block)), pe_cycles);
        let room = ftl.layout(Superblock(block)).beginning_in(0);
        assert_eq!(room, if pe_cycles <= 100 { 13 } else { 8 }, "after {pe_cycles} cycles");
        rooms.insert((ftl.erases(Superblock(block)), room));
    }
    let both = rooms.iter().any(|&(erases, room)| room == 8 && rooms.contains(&(erases, 13)));
    assert!(both, "of blocks that were erased as often in the run some have passed, others have not");
}

/// Three SSDs with a code rate each: the user has three times what the lowest one leaves, and nothing is lost, with all that codes
/// by age go with.
#[test]
fn ssds_with_different_code_rates_work_together() {
    let ages = "precondition.ssds=[{ pe_cycles = 98, retention_days = 0.0 }, { pe_cycles = 110, retention_days = 10.0 }, \
                { pe_cycles = 200, retention_days = 300.0 }]";
    let together = [
        "ftl.interleaving.ways=2",
        "ftl.mapping={ demand = { cache_bytes = 256, entry_bytes = 8 } }",
        "host.write_buffer_bytes=40000",
        "host.spread=address",
    ];
    for more in [&[][..], &["precondition.layout=steady_state"], &together] {
        let config = device(&ADAPTIVE, &[&["geometry.ssds=3", "ftl.over_provisioning=0.66", ages][..], more].concat());
        let of_ssd = |units: u32| 2 * 24 * 8 * u64::from(units);
        let user = (of_ssd(4) as f64 * (1.0 - 0.66)) as u64;
        // Where SSDs take turns, they do by the codewords of the youngest, 13 units, of which each has whole ones.
        let in_turn = if config.config().host.spread == Spread::Address { 1 } else { 13 };
        assert_eq!(config.user_codewords(), 3 * (user - user % in_turn));
        let fresh = simulation(&config, Vec::new());
        assert_eq!(fresh.ftl().data_capacity(), of_ssd(13) + of_ssd(8) + of_ssd(4));
        let requests = random_requests(&config, 3000, u64::MAX, Ns(4_000_000));
        let expected = served(&config, &requests);
        let simulation = run(&config, requests);
        let statistics = simulation.statistics();
        assert_eq!((statistics.refused_codewords, statistics.uncorrectable), (0, 0));
        if more.len() < 2 {
            assert_map(&simulation, &expected);
        } else {
            simulation.ftl().assert_consistent();
        }
        assert!(simulation.ftl().least_and_most_erases().1 > 0);
    }
}

#[test]
fn bad_ages_are_named() {
    let two = "precondition.ssds=[{ pe_cycles = 1, retention_days = 0.0 }, { pe_cycles = 2, retention_days = 0.0 }]";
    let one = |age: &str| format!("precondition.ssds=[{{ {age} }}]");
    let cases: [(&[&str], &str); 6] = [
        (
            &["geometry.ssds=3", two],
            "precondition.ssds: found 2 ages, expected one age for each of the 3 SSDs, or an empty list",
        ),
        (&["precondition.pe_cycles_spread=1.0"], "pe_cycles_spread: found 1, expected a number from 0 to below 1"),
        (&["precondition.pe_cycles_spread=-0.1"], "pe_cycles_spread: found -0.1, expected a number from 0 to below 1"),
        (
            &[&one("pe_cycles = 10000001, retention_days = 0.0")],
            "found 10000001, expected a whole number from 0 to 10000000",
        ),
        (&[&one("pe_cycles = 1, retention_days = -1.0")], "found -1, expected a number from 0 to 36500"),
        (&[&one("pe_cycles = 1")], "missing field `retention_days`"),
    ];
    let error = |text: &str, overrides: &[&str]| {
        let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
        CheckedConfig::from_toml(text, "t.toml", &overrides).unwrap_err().to_string()
    };
    for (overrides, expected) in cases {
        let found = error("", overrides);
        assert!(found.contains("precondition.") && found.contains(expected), "{found}\nexpected: {expected}");
    }
    let spread = [&ADAPTIVE[..], &["precondition.pe_cycles=95", "precondition.pe_cycles_spread=0.1"]].concat();
    let found = error("", &spread);
    assert!(
        found.contains("precondition.pe_cycles_spread: found 0.1, with which the blocks of an SSD start with 8"),
        "{found}"
    );
}

#[test]
fn ages_are_described() {
    let start = |more: &[&str]| {
        let described = device(&WORN, more).describe();
        described.into_iter().find(|(label, _)| label == "start").unwrap().1
    };
    let two = "precondition.ssds=[{ pe_cycles = 1, retention_days = 0.0 }, { pe_cycles = 200, retention_days = 7.5 }]";
    assert_eq!(
        start(&["geometry.ssds=2", two, "precondition.pe_cycles_spread=0.25"]),
        "100 % mapped, sequential, SSD 1: 1 +/- 25 % P/E cycles, data 0 days old; SSD 2: 200 +/- 25 % P/E cycles, data 7.5 \
         days old"
    );
    assert_eq!(start(&["precondition.pe_cycles=5"]), "100 % mapped, sequential, 5 P/E cycles, data 30 days old");
}
