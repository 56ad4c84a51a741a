//! BCH codes by age: how long a unit of several codewords takes, or one that crosses pages, where units lie, that none is lost
//! while blocks go from code to code, and that real codes correct what they should over a device's life.

use std::collections::HashMap;

use crate::support::{assert_map, random_requests, request, run, served, shipped, simulation};
use proptest::prelude::*;
use softsense_base::{Ns, binomial_tail};
use softsense_config::checked::CheckedConfig;
use softsense_config::ids::{Lcn, Superblock};
use softsense_ftl::Location;
use softsense_requests::{Request, RequestKind};
use softsense_ssd::simulation::Simulation;

/// LAE-FTL's codes with up to 4,096 bytes, and what squeezes a unit by 128, 256, 384 and 512.
const CODES: [(u32, u32); 8] =
    [(512, 15), (1024, 31), (2048, 57), (4096, 105), (4096, 170), (4096, 234), (4096, 298), (4096, 362)];
const SQUEEZED: [u32; 8] = [0, 0, 0, 0, 128, 256, 384, 512];

fn codes(aged: &[(u32, u32, u32)], rber: &str, exact: bool) -> String {
    let codes: Vec<String> = aged
        .iter()
        .map(|(bytes, t, to)| format!("{{ codeword_bytes = {bytes}, correctable = {t}, to_pe_cycles = {to} }}"))
        .collect();
    let codes = codes.join(", ");
    format!("reliability={{ bch = {{ oob_bytes = 224, exact = {exact}, rber = {rber}, codes = [{codes}] }} }}")
}

fn constant(rber: f64) -> String {
    format!("{{ constant = {{ rber = {rber:e} }} }}")
}

/// The device of `mlc-lae` with few small blocks and one code.
fn with_code((bytes, correctable): (u32, u32), rber: f64, more: &[&str]) -> CheckedConfig {
    let code = codes(&[(bytes, correctable, 1_000_000)], &constant(rber), false);
    shipped("mlc-lae.toml", &[&["geometry.blocks_per_plane=48", "geometry.pages_per_block=64", &code], more].concat())
}

fn lone(config: &CheckedConfig, lcns: impl Iterator<Item = u64>) -> Vec<f64> {
    let requests =
        lcns.zip(0..).map(|(lcn, i)| request(RequestKind::Read, Ns::from_us(10_000.0 * f64::from(i)), lcn, 1));
    run(config, requests.collect()).take_log().iter().map(|row| row.response.as_us()).collect()
}

/// Codewords of a unit follow one another through bus and decoder, each decode beginning when the codeword is there and the
/// one before it is done: with errors in all of them, and without any.
#[test]
fn codewords_of_a_unit_are_a_pipeline() {
    for code in &CODES[..4] {
        for (rber, clean) in [(0.0, true), (0.01, false)] {
            for decoders in [1, 3] {
                let decoders_set = format!("decoder.placement.per_channel={decoders}");
                let config = with_code(*code, rber, &[&decoders_set]);
                let known = config.bch_codes()[0];
                let decode = if clean { known.decode_without_errors_us } else { known.decode_us };
                let mut free = vec![0.0f64; decoders];
                let mut end = 0.0f64;
                for codeword in 1..=known.codewords_per_unit {
                    let first = free.iter().copied().enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap().0;
                    free[first] = free[first].max(f64::from(codeword) * known.transfer_us) + decode;
                    end = end.max(free[first]);
                }
                let found = lone(&config, (0..20).map(|i| i * 37));
                assert!(found.iter().all(|us| (us - 75.0 - end).abs() < 0.02), "{code:?}: {found:?} for {end}");
            }
        }
    }
}

/// An engine of fixed hardware takes as many codewords of a unit at once as fit, each with its part of the multipliers; codewords
/// of a code that is too strong for all bits of a cycle take longer. To the nanosecond.
#[test]
fn an_engine_decodes_as_many_codewords_of_a_unit_as_fit() {
    // Side by side, bits a cycle, and multipliers of each: 108 errors, 8 bits and 16 multipliers are shared.
    let lanes = [(7, 8, 2), (3, 8, 5), (1, 8, 16), (1, 8, 16), (1, 5, 16), (1, 3, 16), (1, 2, 16), (1, 2, 16)];
    for (code, (lanes, bits, multipliers)) in CODES.into_iter().zip(lanes) {
        let config = with_code(code, 0.01, &["decoder.time.bch.engine_correctable=108"]);
        let known = config.bch_codes()[0];
        assert_eq!(known.codewords_at_once, lanes, "{code:?}");
        let (n, t) = (u64::from(known.codeword_bits), u64::from(code.1));
        let cycles = 2 * n.div_ceil(bits) + t * (3 * (t + 1)).div_ceil(multipliers);
        assert_eq!(known.decode_us, cycles as f64 / 200.0, "{code:?}");
        if known.squeezed_bytes > 0 {
            continue;
        }
        let decode = 5 * cycles;
        let transfer = u64::from(known.codeword_bytes + known.parity_bytes) * 5;
        let mut free = vec![0; lanes as usize];
        for codeword in 1..=u64::from(known.codewords_per_unit) {
            let first = free.iter_mut().min().unwrap();
            *first = (*first).max(codeword * transfer) + decode;
        }
        let end = free.into_iter().max().unwrap() + 75_000;
        let requests = (0..20).map(|i| request(RequestKind::Read, Ns(i * 10_000_000), i * 37, 1));
        let found: Vec<_> = run(&config, requests.collect()).take_log().iter().map(|row| row.response.0).collect();
        assert!(found.iter().all(|&ns| ns == end), "{code:?}: {found:?} for {end}");
    }
}

/// Under load, whatever the buffer, an engine of seven lanes is seven decoders with what multipliers a lane has: each read ends at
/// the same nanosecond, and the engine is busy for as much of the time.
#[test]
fn lanes_of_one_code_are_decoders() {
    for buffer in ["", ", buffer_codewords = 0", ", buffer_codewords = 3"] {
        let log = |placement: u32, bch: &str| {
            let decoder =
                format!("decoder={{ placement = {{ pool = {placement} }}{buffer}, time = {{ bch = {{ {bch} }} }} }}");
            let config = with_code(CODES[0], 0.001, &[&decoder]);
            let reads = (0..3000).map(|i| request(RequestKind::Read, Ns(i * 12_000), i * 131 % 9000, 1));
            let mut simulation = run(&config, reads.collect());
            let decoder = simulation.utilisation().decoder;
            (simulation.take_log().iter().map(|row| row.response).collect::<Vec<_>>(), decoder)
        };
        let (engine, busy) = log(1, "engine_correctable = 108");
        let (decoders, expected) = log(7, "key_equation_multipliers = 2");
        assert_eq!(engine, decoders, "{buffer}");
        assert!(expected > 0.3 && (busy / expected - 1.0).abs() < 1e-3, "{busy} for {expected}");
    }
}

/// Codewords of two codes share an engine as long as errors and multipliers suffice for all of them, and are taken in the order
/// in which they come: one that does not fit keeps those behind it waiting. To the nanosecond.
#[test]
fn codewords_of_several_codes_share_an_engine() {
    // The first SSD corrects 15 errors and the second 57: an engine of 120 has room for eight of the one or two of the other,
    // with 2 and 8 of 16 multipliers, or for one strong codeword beside four weak ones.
    let aged = codes(&[(4096, 15, 1), (4096, 57, 1_000_000)], &constant(0.01), false);
    let more = [
        "geometry.ssds=2",
        "geometry.chips_per_channel=4",
        "geometry.blocks_per_plane=48",
        "geometry.pages_per_block=64",
        "precondition.layout=sequential",
        "precondition.ssds=[{ pe_cycles = 0, retention_days = 0.0 }, { pe_cycles = 9, retention_days = 0.0 }]",
        "bus.transfer_us=0.0",
        &aged,
        "decoder={ placement = { pool = 1 }, time = { bch = { engine_correctable = 120 } } }",
    ];
    let config = shipped("mlc-lae.toml", &more);
    let [weak, strong] = [0, 1].map(|code| Ns((config.bch_codes()[code].decode_us * 1e3).round() as u64));
    assert_eq!(config.bch_codes().iter().map(|code| code.codewords_at_once).collect::<Vec<_>>(), [8, 2]);
    // Pages of different planes, by what their codewords are corrected with, in the order in which they are asked for.
    let start = simulation(&config, Vec::new());
    let planes = u64::from(config.geometry().planes());
    let (mut of_weak, mut of_strong, mut taken) = (Vec::new(), Vec::new(), vec![false; planes as usize]);
    for lcn in 0..config.user_codewords() {
        let Location::Flash(place) = start.ftl().locate(Lcn(lcn)) else { panic!("unit {lcn} is not in flash") };
        let (group, _) = start.ftl().group_of(place);
        let plane = config.geometry().plane_of(group.set, 0).index();
        if !std::mem::replace(&mut taken[plane], true) {
            (if plane < taken.len() / 2 { &mut of_weak } else { &mut of_strong }).push(lcn);
        }
    }
    let order = [true, false, false, false, false, false, true, true, false];
    let requests = order.iter().zip(0u64..).map(|(&is_strong, i)| {
        let lcn = if is_strong { of_strong.pop() } else { of_weak.pop() };
        request(RequestKind::Read, Ns(i), lcn.expect("there are planes enough"), 1)
    });
    let mut log = run(&config, requests.collect()).take_log();
    log.sort_by_key(|row| row.arrival);
    let found: Vec<_> = log.iter().map(|row| row.response - Ns(75_000)).collect();
    // The fifth weak one finds 57 + 4 x 15 errors taken and waits for the first; the strong one behind it has room when the first
    // strong one is done; the next, when the fifth weak one is, and the last weak one waits for the second strong one.
    let fifth = Ns(1) + weak;
    let last_strong = fifth + weak;
    let began = [Ns(0), Ns(1), Ns(2), Ns(3), Ns(4), fifth, strong, last_strong, strong + strong];
    let expected = began.iter().zip(order).zip(0u64..).map(|((&began, is_strong), i)| {
        let took = if is_strong { strong } else { weak };
        began + took - Ns(i)
    });
    assert_eq!(found, expected.collect::<Vec<_>>());
}

/// The summary's parts of a unit's time are those of the codeword that was decoded last, and add up to the response.
#[test]
fn the_time_of_a_unit_adds_up() {
    for code in [CODES[0], CODES[2], CODES[7]] {
        let config = with_code(code, 0.001, &[]);
        let simulation =
            run(&config, (0..300).map(|i| request(RequestKind::Read, Ns(i * 40_000), i * 31 % 9000, 1)).collect());
        let statistics = simulation.statistics();
        let (parts, whole) = (statistics.read_time.total().as_us(), statistics.reads.mean_ns().unwrap() * 300.0 / 1e3);
        assert_eq!(statistics.codewords_read(), 300);
        assert!((parts - whole).abs() < 1.0, "{code:?}: {parts} for {whole}");
    }
}

/// A unit that crosses pages takes two sensings of its plane, and the transfer of the rest when the second is over; its parity
/// came with the first page.
#[test]
fn a_unit_that_crosses_pages_takes_two_sensings() {
    for (code, squeezed) in CODES.into_iter().zip(SQUEEZED).skip(4) {
        let config = with_code(code, 0.01, &[]);
        let known = config.bch_codes()[0];
        assert_eq!(known.squeezed_bytes, squeezed);
        let byte_us = 21.6 / 4320.0;
        let start = simulation(&config, Vec::new());
        let crossing = |lcn: u64| {
            let (_, pieces) = start.ftl().pieces(Lcn(lcn)).unwrap();
            let first = pieces[0].physical_unit / 2;
            pieces.iter().filter(|piece| piece.physical_unit / 2 > first).map(|piece| piece.bytes).sum::<u32>()
        };
        let lcns: Vec<u64> = (0..60).map(|i| i * 41).collect();
        let found = lone(&config, lcns.iter().copied());
        for (&lcn, found) in lcns.iter().zip(&found) {
            let rest = crossing(lcn);
            let first = f64::from(4096 - rest + known.parity_bytes) * byte_us;
            // What is left comes when the second page has been sensed, which takes longer than the first transfer.
            let expected = match rest {
                0 => 75.0 + first,
                rest => 150.0 + f64::from(rest) * byte_us,
            } + known.decode_us;
            assert!((found - expected).abs() < 0.02, "{code:?}, unit {lcn}: {found} for {expected}");
        }
        let crosses = lcns.iter().filter(|&&lcn| crossing(lcn) > 0).count() as u64;
        let simulation = run(
            &config,
            lcns.iter().zip(0..).map(|(&lcn, i)| request(RequestKind::Read, Ns(i * 1_000_000), lcn, 1)).collect(),
        );
        let statistics = simulation.statistics();
        assert_eq!((statistics.operations.senses, statistics.crossing_units), (60 + crosses, crosses));
        assert_eq!((statistics.operations.transfers, statistics.operations.decodes), (60, 60));
        assert_eq!(statistics.read_time.sense, Ns::from_us(75.0 * (60 + crosses) as f64));
    }
}

/// A request for units that follow one another senses each page of them once.
#[test]
fn pages_that_units_share_are_sensed_once() {
    let config = with_code(
        CODES[7],
        0.0,
        &["geometry.channels=1", "geometry.dies_per_chip=1", "precondition.layout=sequential"],
    );
    // Four pages of 7,168 bytes hold seven units.
    for (first, count, senses) in [(0, 7, 4), (7, 14, 8), (1, 1, 2), (1, 3, 3), (0, 1, 1)] {
        let simulation = run(&config, vec![request(RequestKind::Read, Ns::ZERO, first, count)]);
        assert_eq!(simulation.statistics().operations.senses, senses, "{count} units from {first}");
    }
}

/// Do the bytes of all units that are mapped lie apart, 4,096 of each, in physical units of which each begins one unit at most
/// and has parts of two at most?
fn assert_units_lie_apart(simulation: &Simulation, units: u64) {
    let mut held: HashMap<(u32, u32), Vec<(u32, u32)>> = HashMap::new();
    for lcn in 0..units {
        let Some((block, pieces)) = simulation.ftl().pieces(Lcn(lcn)) else { continue };
        assert_eq!(pieces.iter().map(|piece| piece.bytes).sum::<u32>(), 4096);
        for piece in pieces {
            held.entry((block.0, piece.physical_unit)).or_default().push((piece.offset, piece.bytes));
        }
    }
    for (at, mut parts) in held {
        parts.sort_unstable();
        assert!(
            parts.len() <= 2 && parts.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0),
            "{at:?}: {parts:?}"
        );
    }
}

/// A small device whose blocks have `pe_cycles` behind them and go through `aged` codes.
fn small(aged: &[(u32, u32, u32)], rber: &str, exact: bool, more: &[&str]) -> CheckedConfig {
    let base = [
        "geometry={ channels = 2, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 2, blocks_per_plane = 24, \
         pages_per_block = 16, codewords_per_page = 2, codeword_bytes = 4096 }",
        "flash.erase_us=500.0",
        "host.issue={ closed_loop = { queue_depth = 1 } }",
        "precondition.layout=sequential",
    ];
    shipped("mlc-lae.toml", &[&base[..], &[&codes(aged, rber, exact)], more].concat())
}

/// Serves the requests, and looks at every unit of the device then.
fn assert_served(config: &CheckedConfig, requests: Vec<Request>) -> Simulation {
    let (count, expected) = (requests.len() as u64, served(config, &requests));
    let simulation = run(config, requests);
    let statistics = simulation.statistics();
    assert_eq!(
        (statistics.completed(), statistics.uncorrectable, statistics.uncorrectable_in_background),
        (count, 0, 0)
    );
    if statistics.refused_codewords == 0 {
        assert_map(&simulation, &expected);
    }
    assert_units_lie_apart(&simulation, config.user_codewords());
    assert_eq!(simulation.ftl().data_capacity(), capacity(config, &simulation));
    simulation
}

/// Units that there is room for, by the erases of each block.
fn capacity(config: &CheckedConfig, simulation: &Simulation) -> u64 {
    let layouts = config.layouts();
    let blocks = config.geometry().planes() * config.geometry().blocks_per_plane();
    (0..blocks).map(|block| u64::from(layouts.at(|| simulation.ftl().erases(Superblock(block))).codewords())).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Random writes, reads and trims in every state, or while blocks go from one to another.
    #[test]
    fn no_unit_is_lost(first in 0usize..8, last in 0usize..8, every in 1u32..4, count in 200u32..1200, steady in any::<bool>(),
                       levelling in prop::sample::select(vec![2u32, 1000]), buffer in prop::sample::select(vec![32768u32, 262_144])) {
        let aged: Vec<(u32, u32, u32)> =
            (first..=last.max(first)).zip(1..).map(|(code, i)| (CODES[code].0, CODES[code].1, i * every)).collect();
        let layout = if steady { "precondition.layout=steady_state" } else { "precondition.layout=sequential" };
        let (levelling, buffer) = (format!("ftl.wear_levelling_spread={levelling}"), format!("host.write_buffer_bytes={buffer}"));
        // Three quarters of what the last code leaves.
        let config = small(&aged, &constant(1e-5), false, &[layout, &levelling, &buffer, "ftl.over_provisioning=0.45"]);
        let requests = random_requests(&config, count, u64::MAX, Ns(4_000_000));
        let simulation = assert_served(&config, requests);
        prop_assert_eq!(simulation.statistics().refused_codewords, 0);
    }

    /// The same with requests that overlap, none of them a trim, so that their order does not matter.
    #[test]
    fn no_unit_is_lost_under_load(code in 4usize..8, count in 200u32..800, reads_first in any::<bool>()) {
        let reads_first = format!("host.reads_first={reads_first}");
        let issue = "host.issue={ open_loop = { time_scale = 0.02 } }";
        let config = small(&[(CODES[code].0, CODES[code].1, 9)], &constant(1e-5), false, &[issue, &reads_first, "ftl.over_provisioning=0.45"]);
        let mut requests = random_requests(&config, count, u64::MAX, Ns(4_000_000));
        requests.retain(|request| request.kind != RequestKind::Trim);
        assert_served(&config, requests);
    }
}

/// At the end of a life codes leave no room: with a write buffer, too, what is not taken in is refused, what was taken in stays,
/// and reads go on.
#[test]
fn a_full_device_with_a_write_buffer_refuses_writes() {
    let aged = [(4096, 105, 2), (4096, 170, 3), (4096, 362, 1000)];
    let more = [
        "geometry.channels=1",
        "geometry.blocks_per_plane=64",
        "geometry.pages_per_block=64",
        "ftl.over_provisioning=0.15",
        "host.issue={ closed_loop = { queue_depth = 8 } }",
    ];
    let config = small(&aged, &constant(1e-5), false, &more);
    let mut requests = random_requests(&config, 8000, u64::MAX, Ns(0));
    requests.retain(|request| request.kind != RequestKind::Trim);
    let count = requests.len() as u64;
    let simulation = run(&config, requests);
    let statistics = simulation.statistics();
    assert_eq!(statistics.completed(), count);
    assert!(statistics.refused_codewords > 0);
    assert!(statistics.read_only_from.is_some_and(|from| Ns::ZERO < from && from < simulation.now()));
    simulation.ftl().assert_consistent();
    let mut held = 0;
    for lcn in 0..config.user_codewords() {
        match simulation.ftl().locate(Lcn(lcn)) {
            Location::Flash(place) => assert_eq!(simulation.ftl().owner(place), Some(Lcn(lcn))),
            Location::Memory(_) => held += 1,
            other => panic!("unit {lcn} is {other:?} after the end"),
        }
    }
    assert!(held > 0, "the buffer is full of what was accepted");
    assert_eq!(simulation.buffered_codewords(), held);
}

/// Pages programmed over a life hold what the host wrote and what collection moved, and what was left empty; and no more than the
/// erases made room for.
#[test]
fn capacity_is_accounted_for_over_a_life() {
    let aged = [(4096, 105, 8), (4096, 170, 16), (4096, 362, 1000)];
    let config =
        small(&aged, &constant(1e-5), false, &["precondition.mapped_fraction=0.0", "ftl.over_provisioning=0.5"]);
    let mut requests = random_requests(&config, 9000, config.user_codewords(), Ns(4_000_000));
    requests.retain(|request| request.kind == RequestKind::Write);
    let simulation = run(&config, requests);
    simulation.ftl().assert_consistent();
    let statistics = simulation.statistics();
    let programmed =
        statistics.host_codewords_programmed() + statistics.gc_codewords_programmed() + statistics.padding_codewords;
    let (layouts, blocks) = (config.layouts(), 4 * 24);
    let room = |erases| u64::from(layouts.at(|| erases).codewords());
    let erased: u64 = (0..blocks).flat_map(|block| (0..simulation.ftl().erases(Superblock(block))).map(room)).sum();
    let standing = simulation.ftl().data_capacity();
    assert!((0..blocks).all(|block| simulation.ftl().erases(Superblock(block)) > 16), "all codes were in use");
    assert!((erased..=erased + standing).contains(&programmed), "{programmed} of {erased} and {standing}");
    // A collection may end in a page that ends a unit and begins none.
    let left_empty = 2 * statistics.gc_victims + 2 * 4;
    assert!(statistics.padding_codewords <= left_empty, "{} of {left_empty}", statistics.padding_codewords);
}

/// The flash of the next test wears out within two hundred cycles.
const SHORT_LIVED: (f64, f64) = (0.5, 2.47);

/// P/E cycles up to which a code of `n` bits fails with 1e-15 for each bit of its data at most.
fn endurance(bytes: u32, t: u32, n: u64) -> u32 {
    let rber = |pe: u32| SHORT_LIVED.0 * (f64::from(pe) / 1000.0).powf(SHORT_LIVED.1);
    let met = |pe: &u32| binomial_tail(t.into(), n, rber(*pe)) / f64::from(8 * bytes) <= 1e-15;
    (1..).take_while(met).last().unwrap()
}

/// A device that is written from its young days, in LAE-FTL's second code, to the end of its last, every read of it really
/// encoded, made errors in and decoded: nothing is lost as long as each code is used within its limit.
#[test]
#[ignore = "long: `make laws`"]
fn law_real_codes_lose_nothing_within_their_limits() {
    let lengths = [4291, 8626, 17_239, 34_448, 35_480, 36_504, 37_496, 38_504];
    let aged: Vec<(u32, u32, u32)> =
        CODES.iter().zip(lengths).map(|(&(bytes, t), n)| (bytes, t, endurance(bytes, t, n))).collect();
    assert!(aged.windows(2).all(|pair| pair[0].2 < pair[1].2), "{aged:?}");
    let law = format!("{{ power_law = {{ scale = {}, pe_exponent = {} }} }}", SHORT_LIVED.0, SHORT_LIVED.1);
    let (start, last) = (aged[0].2 - 2, aged[7].2);
    let start_set = format!("precondition.pe_cycles={start}");
    let one_plane = [
        "geometry.channels=1",
        "geometry.planes_per_die=1",
        "ftl.over_provisioning=0.5",
        "ftl.wear_levelling_spread=2",
    ];
    let config = small(&aged, &law, true, &[&one_plane[..], &[&start_set]].concat());
    let found: Vec<u64> = config.bch_codes().iter().map(|code| code.codeword_bits.into()).collect();
    assert_eq!(found, lengths);
    let mut requests = random_requests(&config, REQUESTS_OF_A_LIFE, u64::MAX, Ns(4_000_000));
    // One read in four is enough.
    let mut reads = 0;
    requests.retain(|request| match request.kind {
        RequestKind::Read => {
            reads += 1;
            reads % 4 == 0
        }
        kind => kind == RequestKind::Write,
    });
    let expected = served(&config, &requests);
    let simulation = run(&config, requests);
    let statistics = simulation.statistics();
    let (least, most) = simulation.ftl().least_and_most_erases();
    let reads = statistics.codewords_read();
    println!("{start} + {least} to {most} of {last} P/E cycles, {reads} units read: {aged:?}");
    assert!(start + most <= last && start + least > aged[6].2, "{least} to {most}");
    assert_eq!((statistics.uncorrectable, statistics.uncorrectable_in_background, statistics.undetected), (0, 0, 0));
    assert_eq!(statistics.refused_codewords, 0);
    assert_map(&simulation, &expected);
}

/// As many as wear the device of that test out nearly.
const REQUESTS_OF_A_LIFE: u32 = 12_600;

/// Beyond its limit a code fails as often as the binomial tail says, really decoded and drawn; and each failure is counted.
#[test]
fn failures_are_counted_beyond_the_limit() {
    for (code, n, rber) in [(CODES[0], 4291, 2.2e-3), (CODES[3], 34_448, 3.1e-3), (CODES[6], 37_520, 8.0e-3)] {
        let parts = 4096 / code.0;
        let succeeds = (1.0 - binomial_tail(code.1.into(), n, rber)).powi(parts as i32);
        for exact in [false, true] {
            let reliability = codes(&[(code.0, code.1, 1_000_000)], &constant(rber), exact);
            let config =
                shipped("mlc-lae.toml", &["geometry.blocks_per_plane=48", "geometry.pages_per_block=64", &reliability]);
            let reads = 400;
            let requests = (0..reads).map(|i| request(RequestKind::Read, Ns(i * 1_000_000), i * 19, 1)).collect();
            let simulation = run(&config, requests);
            let failed = simulation.statistics().uncorrectable as f64;
            let (mean, n) = (1.0 - succeeds, reads as f64);
            assert!((0.05..0.95).contains(&mean), "something to see: {mean}");
            let bound = 4.0 * (n * mean * succeeds).sqrt();
            assert!(
                (failed - n * mean).abs() < bound,
                "{code:?}, exact {exact}: {failed} of {n}, expected {}",
                n * mean
            );
            assert_eq!(simulation.statistics().undetected, 0);
        }
    }
}

#[test]
fn what_does_not_fit_is_named() {
    let with = |more: &[&str]| {
        let overrides: Vec<String> = more.iter().map(ToString::to_string).collect();
        CheckedConfig::open("mlc-lae", &overrides).unwrap_err().to_string()
    };
    let code = |bytes, t| codes(&[(bytes, t, 9)], &constant(1e-3), false);
    for (overrides, expected) in [
        (vec![code(3000, 4)], "reliability.bch.codes[0].codeword_bytes: found 3000, expected a divisor of"),
        (vec![code(2048, 80)], "reliability.bch.codes[0].correctable: found 80, whose parity takes"),
        (vec![code(4096, 1500)], "reliability.bch.codes[0].correctable: found 1500, whose parity takes"),
        (vec!["ftl.mapping.demand.cache_bytes=65536".into()], "ftl.mapping: found a map in flash"),
        (vec!["ftl.interleaving.ways=2".into()], "ftl.interleaving.ways: found several"),
        (vec!["host.write_buffer_bytes=0".into()], "host.write_buffer_bytes: found 0, expected at least 32768"),
        (vec!["read.max_level=2".into()], "read.max_level: found 2"),
        (vec!["reliability=perfect".into()], "decoder.time: found `bch` without"),
        (vec!["decoder.time.bch.clock_mhz=0.0".into()], "decoder.time.bch.clock_mhz: found 0"),
    ] {
        let overrides: Vec<&str> = overrides.iter().map(String::as_str).collect();
        let error = with(&overrides);
        assert!(error.contains(expected), "{error}, expected {expected}");
    }
}
