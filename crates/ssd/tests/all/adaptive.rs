//! Code rates by the age of blocks: how much a page holds, what a read of it takes, and what becomes of data as rates fall.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::support::{assert_map, random_requests, run, served, shipped, simulation, units_of};
use softsense_base::{Ns, Purpose, Stream};
use softsense_config::checked::CheckedConfig;
use softsense_config::ids::{Lcn, Ssd, Superblock};
use softsense_config::spec::Layout;
use softsense_ftl::{Location, PageMap};
use softsense_requests::{Request, RequestKind};

const UNIT: u64 = 512;

/// Pages of 8 KiB in flash, of which 13, 8 or 4 blocks of 512 bytes are data, to 100, 130 and 10,000 P/E cycles. The blocks of the
/// start have so many behind them.
fn adaptive(pe_cycles: u32, more: &[&str]) -> CheckedConfig {
    let pe_cycles = format!("precondition.pe_cycles={pe_cycles}");
    let base = [
        "geometry={ channels = 2, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 24, \
         pages_per_block = 8, codewords_per_page = 13, codeword_bytes = 512 }",
        "reliability={ adaptive = { rates = [ { file = \"adaptive-5-6\", units = 13, to_pe_cycles = 100 }, { file = \"adaptive-1-2\", \
         units = 8, to_pe_cycles = 130 }, { file = \"adaptive-1-4\", units = 4, to_pe_cycles = 10000 } ], \
         rber = { constant = { rber = 0.005 } } } }",
        "read.max_level=1",
        "ftl.over_provisioning=0.45",
        pe_cycles.as_str(),
    ];
    shipped("mlc-25nm.toml", &[&base[..], more].concat())
}

const SPACING: Ns = Ns(4_000_000);

fn units(kind: RequestKind, arrival: Ns, first: u64, count: u64) -> Request {
    units_of(UNIT, kind, arrival, first, count)
}

/// What is read of a page, one unit of it or all, takes one sensing, one transfer and one decode.
#[test]
fn a_page_is_one_codeword() {
    let config = adaptive(0, &["geometry.channels=1", "bus.transfer_us=20.0", "decoder.time={ fixed_us = 8.0 }"]);
    let far = |i: u32| Ns::from_us(10_000.0 * f64::from(i));
    // Thirteen units to a page: the last request wants one of each of two.
    let wanted = [(0, 1), (0, 13), (3, 7), (12, 2)];
    let reads = wanted.iter().zip(0..).map(|(&(first, count), i)| units(RequestKind::Read, far(i), first, count));
    let mut simulation = run(&config, reads.collect());
    let sense = config.config().flash.page_types[0].sense_us;
    let found: Vec<f64> = simulation.take_log().iter().map(|row| row.response.as_us()).collect();
    assert_eq!(found[..3], [sense + 28.0; 3]);
    let operations = simulation.statistics().operations;
    assert_eq!((operations.senses, operations.transfers, operations.decodes), (5, 5, 5));
    assert_eq!(simulation.statistics().codewords_read(), 5);
}

/// Where a page holds two codewords, those of the units that are asked for are transferred and decoded, one after the other, and a
/// page is programmed with both.
#[test]
fn a_page_may_hold_several_codewords() {
    let config = adaptive(
        0,
        &[
            "geometry.channels=1",
            "geometry.codewords_per_page=26",
            "reliability.adaptive.codewords_per_page=2",
            "bus.transfer_us=20.0",
            "decoder.time={ fixed_us = 8.0 }",
        ],
    );
    let far = |i: u32| Ns::from_us(10_000.0 * f64::from(i));
    // Units 0 to 12 and 13 to 25 of the first page, 26 of the second.
    let wanted = [(0, 13), (13, 13), (12, 2), (0, 26), (25, 2)];
    let mut requests: Vec<Request> =
        wanted.iter().zip(0..).map(|(&(first, count), i)| units(RequestKind::Read, far(i), first, count)).collect();
    requests.push(units(RequestKind::Write, far(5), 0, 26));
    let mut simulation = run(&config, requests);
    let page = &config.config().flash.page_types[0];
    let found: Vec<f64> = simulation.take_log().iter().map(|row| row.response.as_us()).collect();
    assert_eq!(found[..4], [28.0, 28.0, 48.0, 48.0].map(|us| page.sense_us + us));
    assert_eq!(found[5], 2.0 * 20.0 + page.program_us);
    let operations = simulation.statistics().operations;
    assert_eq!((operations.senses, operations.transfers, operations.decodes, operations.programs), (6, 8, 8, 1));
    let room = [100, 130, 131].map(|pe_cycles| config.layouts().at(|| pe_cycles).beginning_in(0));
    assert_eq!(room, [26, 16, 8]);
}

/// Interleaved, the codewords of two pages are divided among both: a channel transfers half of each.
#[test]
fn an_interleaved_page_has_a_part_of_every_codeword_of_its_group() {
    let config = adaptive(
        0,
        &[
            "ftl.interleaving.ways=2",
            "ftl.over_provisioning=0.6",
            "bus.transfer_us=20.0",
            "decoder.time={ fixed_us = 8.0 }",
        ],
    );
    let wanted = [(0, 1), (0, 13), (0, 26), (12, 2)];
    let far = |i: u32| Ns::from_us(10_000.0 * f64::from(i));
    let reads = wanted.iter().zip(0..).map(|(&(first, count), i)| units(RequestKind::Read, far(i), first, count));
    let mut simulation = run(&config, reads.collect());
    let sense = config.config().flash.page_types[0].sense_us;
    let found: Vec<f64> = simulation.take_log().iter().map(|row| row.response.as_us()).collect();
    // The second codeword follows the first over both buses, and has a decoder of its own.
    assert_eq!(found, [18.0, 18.0, 28.0, 28.0].map(|us| sense + us));
    let operations = simulation.statistics().operations;
    assert_eq!((operations.senses, operations.transfers, operations.decodes), (8, 6, 6));
}

#[test]
fn pages_have_room_by_the_age_of_their_block() {
    let layouts = adaptive(90, &[]).layouts();
    let room = [90, 100, 101, 130, 131, 1090].map(|pe_cycles| layouts.at(|| pe_cycles).beginning_in(0));
    assert_eq!(room, [13, 13, 8, 8, 4, 4]);
    // The user has what the rate of the start leaves.
    let pages = 2 * 24 * 8;
    for (pe_cycles, data_units) in [(0, 13), (100, 13), (101, 8), (131, 4)] {
        let user = (f64::from(pages * data_units) * 0.55) as u64;
        assert_eq!(adaptive(pe_cycles, &[]).user_codewords(), user);
    }
}

/// Blocks go from 13 units a page to 8 while data is written and collected: what they hold shrinks, and nothing is lost. The
/// user has a third of the flash, which eight units are enough for.
#[test]
fn nothing_is_lost_while_rates_fall() {
    for (layout, levelling) in [("sequential", 1000), ("steady_state", 1000), ("sequential", 2), ("steady_state", 2)] {
        let layout = format!("precondition.layout={layout}");
        let levelling = format!("ftl.wear_levelling_spread={levelling}");
        let config = adaptive(
            98,
            &["ftl.over_provisioning=0.66", &layout, &levelling, "host.issue={ closed_loop = { queue_depth = 1 } }"],
        );
        let requests = random_requests(&config, 1500, u64::MAX, SPACING);
        let expected = served(&config, &requests);
        let start = simulation(&config, Vec::new()).ftl().data_capacity();
        assert_eq!(start, 2 * 24 * 8 * 13);
        let simulation = run(&config, requests);
        let statistics = simulation.statistics();
        assert_eq!((statistics.completed(), statistics.refused_codewords), (1500, 0));
        assert_map(&simulation, &expected);
        let (least, most) = simulation.ftl().least_and_most_erases();
        assert!(most > 2, "{least} to {most} erases");
        let capacity = simulation.ftl().data_capacity();
        assert!(capacity < start && capacity >= start * 8 / 13, "{capacity} of {start}");
        assert_eq!(statistics.uncorrectable, 0);
    }
}

/// A device that has only its last rate left is one like any other, with small pages.
#[test]
fn the_last_rate_is_collected_like_any_other() {
    let config = adaptive(500, &["host.issue={ closed_loop = { queue_depth = 1 } }"]);
    let requests = random_requests(&config, 3000, u64::MAX, SPACING);
    let expected = served(&config, &requests);
    let simulation = run(&config, requests);
    let statistics = simulation.statistics();
    assert_eq!((statistics.completed(), statistics.refused_codewords), (3000, 0));
    assert_map(&simulation, &expected);
    let mean_valid = statistics.gc_victim_valid as f64 / statistics.gc_victim_room as f64;
    assert!(mean_valid < 0.8, "victims were worth it: {mean_valid} of them was valid");
}

/// What is programmed over a life is what its erases made room for, each by the rate of its time, and what stands there still.
#[test]
fn capacity_is_accounted_for_over_a_life() {
    let config =
        adaptive(97, &["precondition.mapped_fraction=0.0", "host.issue={ closed_loop = { queue_depth = 8 } }"]);
    let mut requests = random_requests(&config, 25_000, config.user_codewords() / 4, SPACING);
    requests.retain(|request| request.kind == RequestKind::Write);
    let simulation = run(&config, requests);
    let statistics = simulation.statistics();
    let programmed =
        statistics.host_codewords_programmed() + statistics.gc_codewords_programmed() + statistics.padding_codewords;
    let (layouts, blocks) = (config.layouts(), 2 * 24);
    let room = |erases| u64::from(layouts.at(|| 97 + erases).codewords());
    let (mut erased, mut standing) = (0, 0);
    for block in 0..blocks {
        let erases = simulation.ftl().erases(Superblock(block));
        erased += (0..erases).map(room).sum::<u64>();
        standing += room(erases);
    }
    assert!((0..blocks).any(|block| simulation.ftl().erases(Superblock(block)) > 33), "all three rates were in use");
    assert!((erased..=erased + standing).contains(&programmed), "{programmed} of {erased} and {standing}");
    assert_eq!(standing, simulation.ftl().data_capacity());
}

/// When the last rate has left no room for the data, writes are refused, and everything else goes on: each request completes, and
/// each unit is read as it was accepted last.
#[test]
fn writes_are_refused_cleanly_when_the_flash_is_full() {
    let config = adaptive(90, &["host.issue={ closed_loop = { queue_depth = 4 } }"]);
    let mut requests = random_requests(&config, 12_000, u64::MAX, SPACING);
    requests.retain(|request| request.kind != RequestKind::Trim);
    let count = requests.len() as u64;
    let expected = served(&config, &requests);
    let simulation = run(&config, requests);
    let statistics = simulation.statistics();
    assert_eq!(statistics.completed(), count);
    assert!(statistics.refused_codewords > 0, "{} user units", config.user_codewords());
    assert!(statistics.host_codewords_written > 10 * config.user_codewords(), "it has lived before");
    // Refused or not, all data is where it was.
    assert_map(&simulation, &expected);
    assert!(simulation.ftl().data_capacity() < config.user_codewords() * 13 / 10);
}

/// An SSD of an array that is full refuses its own writes, not those of the others, whatever waits beside them.
#[test]
fn a_full_ssd_does_not_speak_for_the_others() {
    let more = ["geometry.ssds=2", "host.spread=address", "host.issue={ closed_loop = { queue_depth = 8 } }"];
    let config = adaptive(90, &more);
    let of_ssd = config.user_codewords() / 2;
    // The first SSD is written until it is full; then every other request is for the second one.
    let write = |i: u64| match i {
        12_000.. if i % 2 == 1 => units(RequestKind::Write, Ns(0), of_ssd + i % (of_ssd - 8), 8),
        _ => units(RequestKind::Write, Ns(0), i * 613 % (of_ssd - 8), 8),
    };
    let requests: Vec<Request> = (0..16_000).map(write).collect();
    let simulation = run(&config, requests.clone());
    let statistics = simulation.statistics();
    assert_eq!(statistics.host_codewords_programmed() + statistics.refused_codewords, 16_000 * 8);
    let (first, second) = requests.split_at(12_000);
    let refused_before = run(&config, first.to_vec()).statistics().refused_codewords;
    let of_first = second.len() as u64 / 2 * 8;
    assert_eq!(statistics.refused_codewords, refused_before + of_first, "all of the first one's, none of the second's");
    let from = statistics.read_only_from.expect("the first SSD is full");
    assert!(Ns::ZERO < from && from < simulation.now());
}

/// An RBER of 0.03 is beyond the code of rate 5/6, and nothing for that of rate 1/2: a block's own rate decides.
#[test]
fn a_block_is_read_with_the_code_of_its_rate() {
    for (pe_cycles, uncorrectable) in [(100, 20), (101, 0)] {
        let config = adaptive(pe_cycles, &["reliability.adaptive.rber.constant.rber=0.03"]);
        let reads =
            (0..20u32).map(|i| units(RequestKind::Read, Ns::from_us(1000.0 * f64::from(i)), 13 * u64::from(i), 1));
        assert_eq!(run(&config, reads.collect()).statistics().uncorrectable, uncorrectable, "{pe_cycles}");
    }
}

/// Rates that follow what is observed of a block: by `by`, with limits.
fn observed(by: &str, limits: &str, more: &[&str]) -> CheckedConfig {
    let switch = format!("reliability.adaptive.switch={{ observed = {{ by = {by}, {limits} }} }}");
    let base = [switch.as_str(), "ftl.over_provisioning=0.75", "host.issue={ closed_loop = { queue_depth = 1 } }"];
    adaptive(0, &[&base[..], more].concat())
}

/// Blocks go to a stronger code when what was observed of them is above the limit, whatever of the three that is, and keep theirs
/// below it; nothing is lost. An RBER of 0.005 gives the first code 2.4 iterations and 328 wrong bits of 65,536.
#[test]
fn blocks_change_their_rate_by_what_is_observed() {
    let errors = "{ corrected_errors = { codeword_bits = 65536 } }";
    for (by, below, above) in
        [("\"mean_iterations\"", 1.5, 9.0), (errors, 250.0, 400.0), ("\"syndrome_weight\"", 10.0, 1e6)]
    {
        for (limit, changes) in [(below, true), (above, false)] {
            let config = observed(by, &format!("stronger_above = [{limit:?}]"), &[]);
            let requests = random_requests(&config, 3000, u64::MAX, SPACING);
            let expected = served(&config, &requests);
            let simulation = run(&config, requests);
            assert_map(&simulation, &expected);
            let ftl = simulation.ftl();
            let (stronger, weaker) = ftl.rate_switches().unwrap();
            assert_eq!((stronger > 0, weaker), (changes, 0), "{by} {limit}");
            // P/E cycles stay far below those of the second rate.
            assert!(ftl.least_and_most_erases().1 < 100);
            assert_eq!(ftl.superblocks_by_code().iter().sum::<u64>(), 48);
            assert_eq!(ftl.superblocks_by_code()[0] < 48, changes);
            assert!(simulation.statistics().refused_codewords == 0 && simulation.statistics().uncorrectable == 0);
        }
    }
}

/// A block whose data could not be decoded has a stronger code next, and one that looks young again a weaker one, but not a weaker one
/// than it began with. Nothing is concluded from too few decodes.
#[test]
fn failures_and_hysteresis_move_blocks() {
    let iterations = "\"mean_iterations\"";
    let worn = "reliability.adaptive.rber.constant.rber=0.03";
    let switches = |limits: &str, more: &[&str]| {
        let config = observed(iterations, limits, more);
        let simulation = run(&config, random_requests(&config, 2000, u64::MAX, SPACING));
        let ftl = simulation.ftl();
        (ftl.rate_switches().unwrap(), ftl.superblocks_by_code())
    };
    let ((stronger, weaker), by_code) = switches("stronger_above = [50.0]", &[worn]);
    assert!(stronger > 20 && weaker == 0, "{stronger} {weaker}");
    // The second code is strong enough, and nobody leaves it.
    assert_eq!(by_code[2], 0);
    let ((stronger, _), _) = switches("stronger_above = [1.0], least_decodes = 1000000", &[]);
    assert_eq!(stronger, 0);
    // 0.005 takes 2.4 iterations of the first code, and 2.0 of the second: blocks that come to it go back.
    let ((stronger, weaker), by_code) = switches("stronger_above = [2.2], weaker_below = [2.1]", &[]);
    assert!(stronger > 20 && weaker > 10, "{stronger} {weaker} {by_code:?}");
    let ((_, weaker), by_code) =
        switches("stronger_above = [90.0], weaker_below = [80.0]", &["precondition.pe_cycles=101"]);
    assert_eq!((weaker, by_code), (0, vec![48, 0]), "they begin with the second, and have no weaker one");
}

#[test]
fn what_does_not_fit_is_named() {
    let error = |overrides: &[&str]| {
        let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
        adaptive(0, &[]).with_overrides(&overrides).unwrap_err().to_string()
    };
    for (overrides, expected) in [
        (
            vec!["reliability.adaptive.rates=[]"],
            "reliability.adaptive.rates: found the ages [], expected at least one rate",
        ),
        (
            vec!["geometry.codewords_per_page=12"],
            "reliability.adaptive.rates[0].units: found 13, expected a whole number",
        ),
    ] {
        let found = error(&overrides);
        assert!(found.contains(expected), "{found}");
    }
}

/// The rates of the paper's codes: units of a codeword up to 100, 200, ... P/E cycles.
const UNITS: [u64; 6] = [13, 12, 10, 8, 5, 4];

/// A device of random shape whose blocks have the `rate`-th of the paper's codes, with room to write half of it again before anything is
/// collected.
fn random_adaptive(seed: u64, rate: usize, more: &[&str]) -> CheckedConfig {
    let stream = Stream::new(seed, Purpose::Workload);
    let one_of = |number: u64, most: u64| 1 + stream.bits(number, 0) % most;
    let (of_page, ways) = (one_of(0, 3), one_of(1, 2));
    let tables = ["5-6", "3-4", "2-3", "1-2", "1-3", "1-4"].iter().zip(UNITS).zip(1..);
    let rates: Vec<String> = tables
        .map(|((table, units), age)| {
            format!("{{ file = \"adaptive-{table}\", units = {units}, to_pe_cycles = {age}00 }}")
        })
        .collect();
    let overrides = [
        format!(
            "geometry={{ ssds = {}, channels = {}, chips_per_channel = {ways}, dies_per_chip = 1, planes_per_die = {}, blocks_per_plane \
             = 40, pages_per_block = 4, codewords_per_page = {}, codeword_bytes = 512 }}",
            one_of(2, 3),
            one_of(3, 3),
            one_of(4, 2),
            13 * of_page,
        ),
        format!(
            "reliability={{ adaptive = {{ codewords_per_page = {of_page}, rates = [{}], rber = {{ constant = {{ rber = 0.0001 }} }} }} }}",
            rates.join(", ")
        ),
        format!("ftl.interleaving.ways={ways}"),
        format!("host.spread={}", ["round_robin", "address"][one_of(5, 2) as usize - 1]),
        format!("precondition.layout={}", ["sequential", "steady_state"][one_of(6, 2) as usize - 1]),
        format!("host.write_buffer_bytes={}", [0, 1 << 18][one_of(7, 2) as usize - 1]),
        format!("precondition.pe_cycles={}", 100 * rate + 50),
        "read.max_level=1".into(),
        "ftl.over_provisioning=0.7".into(),
        "host.issue={ closed_loop = { queue_depth = 1 } }".into(),
    ];
    let overrides: Vec<&str> = overrides.iter().map(String::as_str).chain(more.iter().copied()).collect();
    shipped("mlc-25nm.toml", &overrides)
}

/// The codewords that hold units of data, by SSD: superblock, page and the first unit of each.
fn codewords_of(
    config: &CheckedConfig,
    ftl: &PageMap,
    units: Range<Lcn>,
) -> BTreeMap<Ssd, BTreeSet<(Superblock, u32, u32)>> {
    let mut found: BTreeMap<Ssd, BTreeSet<_>> = BTreeMap::new();
    for unit in Lcn::each(units) {
        let Location::Flash(place) = ftl.locate(unit) else { panic!("unit {unit} is in flash") };
        let (group, at) = ftl.group_of(place);
        let in_page = at % config.config().geometry.codewords_per_page;
        let first = at - in_page % ftl.units_of_codeword(group.superblock);
        found.entry(ftl.ssd_of(unit)).or_default().insert((group.superblock, group.page, first));
    }
    found
}

/// Aligned runs of so many units that cover a device, but for what is left at its end.
fn runs_of(config: &CheckedConfig, count: u64) -> impl DoubleEndedIterator<Item = Range<Lcn>> {
    (0..config.user_codewords() / count).map(move |number| Lcn(number * count)..Lcn((number + 1) * count))
}

/// How many units of each run are on each SSD, and in how many codewords.
fn shares(config: &CheckedConfig, ftl: &PageMap, count: u64) -> Vec<(u64, u64)> {
    let of_run = |run: Range<Lcn>| {
        let on_ssd = |ssd: Ssd| Lcn::each(run.clone()).filter(|&unit| ftl.ssd_of(unit) == ssd).count() as u64;
        let codewords = codewords_of(config, ftl, run.clone());
        for (ssd, indices) in ftl.by_ssd(run.clone()) {
            let of_ssd: Vec<Lcn> = Lcn::each(run.clone()).filter(|&unit| ftl.ssd_of(unit) == ssd).collect();
            assert_eq!(indices.map(|index| ftl.join(ssd, index)).collect::<Vec<_>>(), of_ssd, "{run:?}");
        }
        assert_eq!(ftl.by_ssd(run.clone()).count(), codewords.len());
        codewords.into_iter().map(|(ssd, codewords)| (on_ssd(ssd), codewords.len() as u64)).collect::<Vec<_>>()
    };
    runs_of(config, count).flat_map(of_run).collect()
}

/// A law: units that follow one another share codewords, at the start and after they were written together, as long as nothing is collected.
/// What is read of an SSD, m units where a codeword has u, is in at least m / u codewords and in one more at most, rounded up; and each of
/// these is decoded once.
#[test]
fn units_that_follow_one_another_share_codewords() {
    for seed in 0..36 {
        let rate = seed as usize % 6;
        let config = random_adaptive(seed, rate, &[]);
        let geometry = &config.config().geometry;
        let count = 1 + Stream::new(seed, Purpose::Workload).bits(8, 0) % (3 * UNITS[rate]);
        let check = |ftl: &PageMap, when: &str| {
            let shares = shares(&config, ftl, count);
            for &(units, codewords) in &shares {
                let least = units.div_ceil(UNITS[rate]);
                assert!(
                    (least..=least + 1).contains(&codewords),
                    "{when}, {seed}: {units} units in {codewords} codewords of {}",
                    UNITS[rate]
                );
            }
            shares.iter().map(|(_, codewords)| codewords).sum::<u64>()
        };
        let far = |number: usize| Ns::from_us(20_000.0 * number as f64);
        let read = |(number, run): (usize, Range<Lcn>)| units(RequestKind::Read, far(number), run.start.0, count);
        let reads: Vec<Request> = runs_of(&config, count).enumerate().map(read).collect();
        let before = run(&config, reads.clone());
        assert_eq!(before.statistics().operations.decodes, check(before.ftl(), "at the start"), "{seed}");
        if config.config().precondition.layout == Layout::SteadyState {
            continue;
        }
        // Each write may take pages of its own, of which nearly half are free.
        let pages = u64::from(geometry.blocks_per_plane * geometry.pages_per_block * geometry.channels);
        let of_page = UNITS[rate] * u64::from(geometry.codewords_per_page) / 13;
        let mut writes: Vec<Range<Lcn>> = runs_of(&config, count).rev().step_by(2).collect();
        writes.truncate((pages * 2 / 5 / (count / of_page + 2)) as usize);
        let write = |(number, run): (usize, Range<Lcn>)| units(RequestKind::Write, far(number), run.start.0, count);
        let writes: Vec<Request> = writes.into_iter().enumerate().map(write).collect();
        let after = run(&config, writes.clone());
        assert_eq!(after.statistics().gc_victims, 0);
        check(after.ftl(), "after writes");
        assert_map(&after, &served(&config, &writes));
    }
}

/// Collection packs what it moves without gaps: as data that shared a codeword moves together, it is in two codewords where it begins in the
/// middle of one, and scatters no further than to twice as many in the mean. Each block of data that was written together is read as written.
#[test]
fn collection_keeps_together_what_shared_codewords() {
    for seed in 0..30 {
        let rate = seed as usize % 6;
        let config = random_adaptive(seed, rate, &["ftl.over_provisioning=0.5"]);
        let stream = Stream::new(seed, Purpose::Workload);
        let count = 1 + stream.bits(8, 0) % (3 * UNITS[rate]);
        let runs = config.user_codewords() / count;
        // Some data is written more often than other.
        let write = |i: u64| {
            let run = (stream.bits(9, i) % runs).min(stream.bits(10, i) % runs);
            units(RequestKind::Write, Ns(0), run * count, count)
        };
        let writes: Vec<Request> = (0..6000).map(write).collect();
        let after = run(&config, writes.clone());
        assert!(after.statistics().gc_victims > 50, "{seed}");
        assert_map(&after, &served(&config, &writes));
        let (mut least, mut found) = (0, 0);
        for (units, codewords) in shares(&config, after.ftl(), count) {
            least += units.div_ceil(UNITS[rate]);
            found += codewords;
        }
        assert!((least..=2 * least).contains(&found), "{seed}: {found} codewords, {least} at least");
    }
}
