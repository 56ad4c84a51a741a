//! Superblocks whose codewords are whole: blocks of several chips are written in turn and collected together, and units that cross
//! pages go on at the next chip. What a read of one takes, what a superblock holds, that nothing is lost, and what writes amplify to,
//! beside units that stay in their block.

use crate::support::{assert_map, random_requests, request, run, served, shipped, simulation};
use proptest::prelude::*;
use softsense_base::Ns;
use softsense_config::checked::CheckedConfig;
use softsense_config::ids::{Lcn, Superblock};
use softsense_ftl::steady_state_victim_fraction;
use softsense_requests::{Request, RequestKind};
use softsense_ssd::simulation::Simulation;

/// LAE-FTL's code with 4,096 bytes that squeezes nothing, and those that squeeze a unit by 128, 256, 384 and 512.
const CODES: [u32; 5] = [105, 170, 234, 298, 362];

fn codes(aged: &[(u32, u32)], rber: f64) -> String {
    let codes: Vec<String> = aged
        .iter()
        .map(|(t, to)| format!("{{ codeword_bytes = 4096, correctable = {t}, to_pe_cycles = {to} }}"))
        .collect();
    let codes = codes.join(", ");
    format!("reliability={{ bch = {{ oob_bytes = 224, rber.constant.rber = {rber:e}, codes = [{codes}] }} }}")
}

fn superblocks_of(chips: u32) -> String {
    format!("ftl.interleaving={{ ways = {chips}, groups = \"none\" }}")
}

/// The device of `mlc-lae` with small blocks and one code, whose superblocks have blocks of so many chips.
fn device(correctable: u32, chips: u32, more: &[&str]) -> CheckedConfig {
    let (code, superblocks) = (codes(&[(correctable, 1_000_000)], 0.01), superblocks_of(chips));
    let base = ["geometry.blocks_per_plane=48", "geometry.pages_per_block=64", &code, &superblocks];
    shipped("mlc-lae.toml", &[&base[..], more].concat())
}

/// How much of a unit is in the page after that in which it begins, bytes.
fn in_second_page(simulation: &Simulation, lcn: u64) -> u32 {
    let (_, pieces) = simulation.ftl().pieces(Lcn(lcn)).unwrap();
    let first = pieces[0].physical_unit / 2;
    pieces.iter().filter(|piece| piece.physical_unit / 2 > first).map(|piece| piece.bytes).sum()
}

/// Both pages of a unit that crosses are sensed at once. On two channels its parts cross these at once, on one after the other; its
/// parity comes with the first. To the nanosecond; and the parts of the time add up.
#[test]
fn both_pages_of_a_crossing_unit_are_sensed_at_once() {
    for correctable in &CODES[1..] {
        for (channels, chips) in [(2, 1), (1, 2), (4, 1)] {
            let shape = [
                format!("geometry.channels={channels}"),
                format!("geometry.chips_per_channel={chips}"),
                "geometry.dies_per_chip=1".into(),
            ];
            let config = device(*correctable, channels * chips, &shape.each_ref().map(String::as_str));
            let known = config.bch_codes()[0];
            let start = simulation(&config, Vec::new());
            let lcns: Vec<u64> = (0..60).map(|i| i * 41).collect();
            let requests =
                lcns.iter().zip(0..).map(|(&lcn, i)| request(RequestKind::Read, Ns(i * 10_000_000), lcn, 1)).collect();
            let mut simulation = run(&config, requests);
            let mut crossing = 0;
            for (&lcn, row) in lcns.iter().zip(simulation.take_log()) {
                let rest = in_second_page(&start, lcn);
                crossing += u64::from(rest > 0);
                let [first, rest] = [4096 - rest + known.parity_bytes, rest].map(|bytes| u64::from(bytes) * 5);
                let transfer = if channels > 1 { first.max(rest) } else { first + rest };
                let decode = (known.decode_us * 1e3).round() as u64;
                assert_eq!(row.response, Ns(75_000 + transfer + decode), "t = {correctable}, unit {lcn}");
            }
            let statistics = simulation.statistics();
            assert!(crossing > 10);
            assert_eq!((statistics.operations.senses, statistics.crossing_units), (60 + crossing, crossing));
            assert_eq!((statistics.operations.transfers, statistics.operations.decodes), (60, 60));
            let whole = statistics.reads.mean_ns().unwrap() * 60.0 / 1e3;
            assert!((statistics.read_time.total().as_us() - whole).abs() < 1.0);
        }
    }
}

/// A request for units that follow one another senses each page of them once, though they are of several chips.
#[test]
fn pages_that_units_share_are_sensed_once() {
    let config = device(362, 2, &["geometry.dies_per_chip=1", "precondition.layout=sequential"]);
    // Four pages of 7,168 bytes hold seven units.
    for (first, count, senses) in [(0, 7, 4), (7, 14, 8), (1, 1, 2), (1, 3, 3), (0, 1, 1)] {
        let simulation = run(&config, vec![request(RequestKind::Read, Ns::ZERO, first, count)]);
        assert_eq!(simulation.statistics().operations.senses, senses, "{count} units from {first}");
    }
}

/// What a block has no room for at its end goes on in the next one: of what superblocks hold, less than a unit is left empty, and
/// writing a device full without collection amplifies by what pages lack. Beside units that stay in their block, each as the closed
/// form says. The paper's blocks of 256 pages hold whole units, so that both ways leave nothing empty.
#[test]
fn a_superblock_leaves_less_than_a_unit_empty() {
    for (squeezed, correctable) in [(128, 170), (256, 234), (384, 298), (512, 362)] {
        for (pages, chips) in [(5, 1), (5, 2), (5, 4), (9, 2), (256, 1), (256, 2)] {
            let room = u64::from(pages * chips) * 2 * (4096 - squeezed);
            let units = room / 4096;
            assert!(pages != 256 || room.is_multiple_of(4096), "nothing is left empty in the paper's blocks");
            let shape = [
                format!("geometry.pages_per_block={pages}"),
                format!("geometry.channels={}", chips.max(2)),
                "geometry.dies_per_chip=1".to_owned(),
                "precondition={ mapped_fraction = 0.0 }".to_owned(),
                "host.issue={ closed_loop = { queue_depth = 64 } }".to_owned(),
                "ftl.over_provisioning=0.7".to_owned(),
            ];
            let config = device(correctable, chips, &shape.each_ref().map(String::as_str));
            let superblocks = 48 * u64::from(chips.max(2) / chips);
            assert_eq!(config.bch_codes()[0].units_per_block, units as u32);
            assert_eq!(config.user_codewords(), ((superblocks * units) as f64 * (1.0 - 0.7)).floor() as u64);
            // Whole superblocks of each set.
            let count = config.user_codewords() / (superblocks / 48 * units) * (superblocks / 48 * units);
            let requests = (0..count).map(|lcn| request(RequestKind::Write, Ns::ZERO, lcn, 1)).collect();
            let simulation = run(&config, requests);
            assert_eq!(simulation.ftl().data_capacity(), superblocks * units);
            let programs = simulation.statistics().operations.programs;
            let expected = count / units * u64::from(pages * chips);
            // The last page of a superblock is programmed with what ends in it, if only that.
            assert!((expected - u64::from(chips.max(2))..=expected).contains(&programs), "{programs} for {expected}");
        }
    }
}

/// Overwriting at random without an end: superblocks amplify as blocks do, and both by the closed form of what is left for the user.
/// What collection leaves empty, the rest of the last page that it needs, is room that is not there. The form is that of blocks
/// without an end, and 4 to 5 per cent above these of 64 pages, whether units are squeezed or not; 8 are allowed.
#[test]
fn superblocks_amplify_as_blocks_do() {
    for correctable in [105, 298] {
        let found = [1, 2].map(|chips| {
            let more = [
                "geometry.dies_per_chip=1",
                "geometry.blocks_per_plane=200",
                "ftl.over_provisioning=0.25",
                "host.issue={ closed_loop = { queue_depth = 64 } }",
            ];
            let config = device(correctable, chips, &more);
            let user = config.user_codewords();
            let stream = softsense_base::Stream::new(11, softsense_base::Purpose::Workload);
            let writes = (0..user * 3 / 2)
                .map(|i| request(RequestKind::Write, Ns::ZERO, stream.bits(i, 0) % user, 1))
                .collect::<Vec<_>>();
            let statistics = run(&config, writes).statistics().clone();
            let moved = (statistics.host_codewords_programmed() + statistics.gc_codewords_programmed()) as f64;
            let used = moved / (moved + statistics.padding_codewords as f64);
            // Three free blocks of a plane and two half full ones have no victims.
            let capacity = f64::from(196 * config.bch_codes()[0].units_per_block * 2 / chips);
            let expected = 1.0 / (1.0 - steady_state_victim_fraction(user as f64 / (capacity * used)));
            let found = moved / statistics.host_codewords_programmed() as f64;
            println!("t = {correctable}, {chips}: {found} for {expected}");
            assert!((found / expected - 1.0).abs() < 0.08, "t = {correctable}, {chips}: {found} for {expected}");
            found
        });
        assert!((found[1] / found[0] - 1.0).abs() < 0.03, "t = {correctable}: {found:?}");
    }
}

/// A small device whose blocks go through `aged` codes.
fn small(aged: &[(u32, u32)], chips: u32, more: &[&str]) -> CheckedConfig {
    let geometry = format!(
        "geometry={{ channels = 2, chips_per_channel = {}, dies_per_chip = 1, planes_per_die = 2, blocks_per_plane = 24, \
         pages_per_block = 9, codewords_per_page = 2, codeword_bytes = 4096 }}",
        if chips == 4 { 2 } else { 1 }
    );
    let (code, superblocks) = (codes(aged, 1e-5), superblocks_of(chips));
    let base = [&geometry, "flash.erase_us=500.0", "ftl.over_provisioning=0.5", &code, &superblocks];
    shipped("mlc-lae.toml", &[&base[..], more].concat())
}

/// Serves the requests, and looks at every unit of the device then.
fn assert_served(config: &CheckedConfig, requests: Vec<Request>) {
    let (count, expected) = (requests.len() as u64, served(config, &requests));
    let simulation = run(config, requests);
    let (statistics, ftl) = (simulation.statistics(), simulation.ftl());
    assert_eq!((statistics.completed(), statistics.refused_codewords), (count, 0));
    assert_eq!((statistics.uncorrectable, statistics.uncorrectable_in_background), (0, 0));
    assert_map(&simulation, &expected);
    let (layouts, geometry) = (config.layouts(), config.geometry());
    let room = |superblock| u64::from(layouts.at(|| ftl.erases(superblock)).codewords());
    assert_eq!(ftl.data_capacity(), Superblock::all(0..geometry.superblocks()).map(room).sum::<u64>());
    // Bytes of units lie apart.
    let mut held = std::collections::HashSet::new();
    for lcn in 0..config.user_codewords() {
        let Some((superblock, pieces)) = ftl.pieces(Lcn(lcn)) else { continue };
        assert_eq!(pieces.iter().map(|piece| piece.bytes).sum::<u32>(), 4096);
        for piece in pieces {
            for at in (piece.offset..piece.offset + piece.bytes).step_by(128) {
                assert!(held.insert((superblock, piece.physical_unit, at / 128)), "unit {lcn}: {piece:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Random writes, reads and trims in every state, or while superblocks go from one code to the next, from any start.
    #[test]
    fn no_unit_is_lost(first in 0usize..5, last in 0usize..5, every in 1u32..4, count in 100u32..900, chips in prop::sample::select(vec![2u32, 4]),
                       start in prop::sample::select(vec![("steady_state", 1.0), ("sequential", 1.0)]), levelling in prop::sample::select(vec![2u32, 1000]),
                       buffer in prop::sample::select(vec![131_072u32, 524_288]), read_buffer in any::<bool>()) {
        let aged: Vec<_> = (first..=last.max(first)).zip(1..).map(|(code, i)| (CODES[code], i * every)).collect();
        let more = [
            format!("precondition.layout={}", start.0),
            format!("ftl.wear_levelling_spread={levelling}"),
            format!("host.write_buffer_bytes={buffer}"),
            "host.issue={ closed_loop = { queue_depth = 1 } }".to_owned(),
            format!("host.read_buffer={{ bytes = {} }}", if read_buffer { 65_536 } else { 8192 }),
        ];
        let config = small(&aged, chips, &more.each_ref().map(String::as_str));
        assert_served(&config, random_requests(&config, count, u64::MAX, Ns(4_000_000)));
    }

    /// The same with requests that overlap, none of them a trim, so that their order does not matter.
    #[test]
    fn no_unit_is_lost_under_load(code in 0usize..5, count in 100u32..700, chips in prop::sample::select(vec![2u32, 4]), reads_first in any::<bool>()) {
        let reads_first = format!("host.reads_first={reads_first}");
        let issue = "host.issue={ open_loop = { time_scale = 0.02 } }";
        let config = small(&[(CODES[code], 9)], chips, &[issue, &reads_first, "host.write_buffer_bytes=131072"]);
        let mut requests = random_requests(&config, count, u64::MAX, Ns(4_000_000));
        requests.retain(|request| request.kind != RequestKind::Trim);
        assert_served(&config, requests);
    }

    /// Does a device that was filled in part hold each unit of that, each in a place of its own, and does it go on from there?
    #[test]
    fn any_share_is_where_it_was_put(code in 0usize..5, mapped in 0.0f64..1.0, chips in prop::sample::select(vec![2u32, 4]), steady in any::<bool>()) {
        let layout = if steady { "precondition.layout=steady_state" } else { "precondition.layout=sequential" };
        let share = format!("precondition.mapped_fraction={}", if steady { mapped.max(0.01) } else { mapped });
        let config = small(&[(CODES[code], 9)], chips, &[layout, &share]);
        let of_start = simulation(&config, Vec::new());
        of_start.ftl().assert_consistent();
        let mapped = (0..config.user_codewords()).filter(|&lcn| of_start.ftl().locate(Lcn(lcn)) != softsense_ftl::Location::Unmapped).count();
        let expected = config.user_codewords() as f64 * config.config().precondition.mapped_fraction;
        prop_assert!((mapped as f64 - expected).abs() <= 1.0, "{mapped} for {expected}");
        let requests = random_requests(&config, 150, u64::MAX, Ns(4_000_000)).into_iter().filter(|r| r.kind == RequestKind::Write).collect();
        let simulation = run(&config, requests);
        simulation.ftl().assert_consistent();
    }
}

#[test]
fn what_does_not_go_with_superblocks_is_named() {
    let superblocks = superblocks_of(2);
    for (more, expected) in [
        (
            vec!["ftl.plane_choice=most_free"],
            "ftl.plane_choice: found `most_free` together with `ftl.interleaving.ways` above 1",
        ),
        (
            vec!["flash.busy_unit=channel"],
            "flash.busy_unit: found `channel` together with `ftl.interleaving.ways` above 1",
        ),
        (
            vec!["ftl.allocation_pool=channel"],
            "ftl.allocation_pool: found channel together with blocks of several chips",
        ),
        (
            vec!["ftl.interleaving.groups=all"],
            "ftl.interleaving.ways: found several ways together with `reliability.bch` codes",
        ),
        (vec!["ftl.interleaving.ways=3"], "ftl.interleaving.ways: found 3, expected 1 (no interleaving), or a divisor"),
        (vec!["ftl.interleaving.groups=some"], "ftl.interleaving.groups"),
    ] {
        let overrides: Vec<String> =
            std::iter::once(superblocks.clone()).chain(more.iter().map(ToString::to_string)).collect();
        let error = CheckedConfig::open("mlc-lae", &overrides).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}, expected {expected}");
    }
}
