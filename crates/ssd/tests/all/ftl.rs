//! Laws and physics of the FTL: data is where it was put, whatever garbage collection does, and greedy
//! collection amplifies writes as theory says.

use std::collections::HashMap;

use crate::support::{CODEWORD, request, run, shipped, simulation};
use proptest::prelude::*;
use softsense_base::{Ns, Purpose, Stream};
use softsense_config::checked::CheckedConfig;
use softsense_config::ids::{Lcn, Ssd};
use softsense_config::spec::Mapping;
use softsense_ftl::{Location, PageMap, steady_state_victim_fraction};
use softsense_requests::{Request, RequestKind};
use softsense_ssd::simulation::Simulation;

/// A device small enough that garbage collection is always at work.
fn small(codewords_per_page: u32, more: &[&str]) -> CheckedConfig {
    let geometry = format!(
        "geometry={{ channels = 2, chips_per_channel = 1, dies_per_chip = 2, planes_per_die = 1, blocks_per_plane = 16, \
         pages_per_block = 8, codewords_per_page = {codewords_per_page} }}"
    );
    let base = [geometry.as_str(), "ftl.over_provisioning=0.6", "precondition.mapped_fraction=0.3"];
    shipped("mlc-25nm.toml", &[&base[..], more].concat())
}

#[derive(Debug, Clone)]
struct Operation {
    kind: RequestKind,
    /// As fractions of the device, so that one list suits devices of any size.
    first: u16,
    /// In units of 512 B: requests cover codewords in part, too.
    sectors: u16,
    gap_us: u16,
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let kind = prop_oneof![
        4 => Just(RequestKind::Write),
        3 => Just(RequestKind::Read),
        1 => Just(RequestKind::Trim)
    ];
    let operation = (kind, any::<u16>(), 1u16..200, 0u16..3000).prop_map(|(kind, first, sectors, gap_us)| Operation {
        kind,
        first,
        sectors,
        gap_us,
    });
    prop::collection::vec(operation, 1..600)
}

fn requests(config: &CheckedConfig, operations: &[Operation]) -> Vec<Request> {
    let sectors = config.user_bytes() / 512;
    let mut arrival = Ns::ZERO;
    operations
        .iter()
        .map(|o| {
            arrival += Ns::from_us(f64::from(o.gap_us));
            let count = u64::from(o.sectors).min(sectors);
            let first = u64::from(o.first) * (sectors - count) / 65_535;
            Request { arrival, kind: o.kind, offset_bytes: first * 512, bytes: count * 512 }
        })
        .collect()
}

/// What should be mapped at the end: last of write and trim wins.
fn expected(config: &CheckedConfig, requests: &[Request]) -> HashMap<u64, bool> {
    let mut mapped: HashMap<u64, bool> = HashMap::new();
    let premapped = (config.user_codewords() as f64 * config.config().precondition.mapped_fraction) as u64;
    for lcn in 0..config.user_codewords() {
        mapped.insert(lcn, lcn < premapped);
    }
    for r in requests {
        let end = r.offset_bytes + r.bytes;
        match r.kind {
            RequestKind::Read | RequestKind::Flush => {}
            RequestKind::Write | RequestKind::FuaWrite => {
                (r.offset_bytes / CODEWORD..end.div_ceil(CODEWORD)).for_each(|lcn| {
                    mapped.insert(lcn, true);
                });
            }
            RequestKind::Trim => {
                (r.offset_bytes.div_ceil(CODEWORD)..end / CODEWORD).for_each(|lcn| {
                    mapped.insert(lcn, false);
                });
            }
        }
    }
    mapped
}

/// The map agrees with the HashMap, and the place of each codeword knows it as its owner.
fn assert_map(simulation: &Simulation, expected: &HashMap<u64, bool>) {
    let ftl = simulation.ftl();
    ftl.assert_consistent();
    for (&lcn, &mapped) in expected {
        match ftl.locate(Lcn(lcn)) {
            Location::Flash(place) => {
                assert!(mapped, "codeword {lcn} should have been trimmed");
                assert_eq!(ftl.owner(place), Some(Lcn(lcn)));
            }
            Location::Unmapped => assert!(!mapped, "codeword {lcn} was lost"),
            other => panic!("codeword {lcn} is {other:?} after the end"),
        }
    }
}

/// Every request completes, and the map is then what they made it.
fn assert_served(config: &CheckedConfig, requests: Vec<Request>) {
    let (count, expected) = (requests.len() as u64, expected(config, &requests));
    let simulation = run(config, requests);
    assert_eq!(simulation.statistics().completed(), count);
    assert_map(&simulation, &expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Random reads, writes and trims with garbage collection, one request at a time, so that the order
    /// in which they take effect is the order in which they were issued.
    #[test]
    fn data_is_where_it_was_put(operations in operations(), codewords_per_page in prop::sample::select(vec![1u32, 2, 4]),
                                buffered in any::<bool>()) {
        let buffer = if buffered { "host.write_buffer_bytes=65536" } else { "host.write_buffer_bytes=0" };
        let config = small(codewords_per_page, &["host.issue={ closed_loop = { queue_depth = 1 } }", buffer]);
        assert_served(&config, requests(&config, &operations));
    }

    /// The same under load, requests overlapping: a codeword that was written and never trimmed, or the
    /// other way round, is in no doubt whatever the order.
    #[test]
    fn nothing_is_lost_under_load(operations in operations(), policy in prop::sample::select(vec!["two_step", "look_ahead", "look_ahead_progressive"]),
                                  reads_first in any::<bool>(), busy in prop::sample::select(vec!["plane", "die"])) {
        let (policy, reads_first, busy) =
            (format!("read.policy={policy}"), format!("host.reads_first={reads_first}"), format!("flash.busy_unit={busy}"));
        let config = small(2, &[&policy, &reads_first, &busy, "flash.reset_us=3.0", "host.issue={ open_loop = { time_scale = 0.05 } }"]);
        let requests = requests(&config, &operations);
        assert_served(&config, requests.into_iter().filter(|r| r.kind != RequestKind::Trim).collect());
    }
}

/// How codewords are divided among the four chips of [`small_interleaved`].
fn interleaving() -> impl Strategy<Value = String> {
    let groups = prop_oneof![
        Just("\"all\"".to_string()),
        Just("{ with_chip_factor_above = 1.0 }".to_string()),
        Just("\"none\"".to_string())
    ];
    (prop::sample::select(vec![2u32, 4]), prop::sample::select(vec!["plain", "pad"]), groups).prop_map(
        |(ways, remainder, groups)| {
            format!("ftl.interleaving={{ ways = {ways}, remainder = \"{remainder}\", groups = {groups} }}")
        },
    )
}

/// [`small`] with four chips, of which some are worse than others.
fn small_interleaved(codewords_per_page: u32, more: &[&str]) -> CheckedConfig {
    let chips = [
        "geometry.chips_per_channel=2",
        "geometry.dies_per_chip=1",
        "geometry.blocks_per_plane=48",
        "reliability.table.variation.chip_factors=[0.9, 0.8, 2.0, 1.0]",
    ];
    small(codewords_per_page, &[&chips[..], more].concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The same with interleaving: groups, lone codewords, updates of parts of groups, and collection of superblocks.
    #[test]
    fn interleaved_data_is_where_it_was_put(operations in operations(), interleaving in interleaving(),
                                            codewords_per_page in prop::sample::select(vec![1u32, 2, 4]), buffered in any::<bool>(),
                                            layout in prop::sample::select(vec!["sequential", "steady_state"])) {
        let buffer = if buffered { "host.write_buffer_bytes=65536" } else { "host.write_buffer_bytes=0" };
        let layout = format!("precondition.layout={layout}");
        let mapped = if layout.ends_with("state") { "precondition.mapped_fraction=1.0" } else { "precondition.mapped_fraction=0.3" };
        let config = small_interleaved(codewords_per_page, &[&interleaving, mapped, "host.issue={ closed_loop = { queue_depth = 1 } }", buffer, &layout]);
        assert_served(&config, requests(&config, &operations));
    }

    /// The same under load.
    #[test]
    fn nothing_interleaved_is_lost_under_load(operations in operations(), interleaving in interleaving(),
                                              policy in prop::sample::select(vec!["two_step", "look_ahead", "look_ahead_progressive"]),
                                              busy in prop::sample::select(vec!["plane", "die"]), cached in any::<bool>()) {
        let cached = cached || policy != "two_step";
        let (policy, busy) = (format!("read.policy={policy}"), format!("flash.busy_unit={busy}"));
        let cache = format!("flash.cache_register={cached}");
        let config = small_interleaved(2, &[&interleaving, &policy, &busy, &cache, "flash.reset_us=3.0", "host.issue={ open_loop = { time_scale = 0.05 } }"]);
        let requests = requests(&config, &operations);
        assert_served(&config, requests.into_iter().filter(|r| r.kind != RequestKind::Trim).collect());
    }
}

/// A map in flash whose cache holds a few entries, eight to a translation page.
fn demand() -> impl Strategy<Value = String> {
    let eviction = prop_oneof![
        Just("\"lru\"".to_string()),
        (0u32..8).prop_map(|protected| format!("{{ segmented_lru = {{ protected_entries = {protected} }} }}")),
        (0u32..8).prop_map(|fixed| format!("{{ lowest_level = {{ fixed_entries = {fixed} }} }}")),
    ];
    (1u32..40, eviction, any::<bool>()).prop_map(|(entries, eviction, remember)| {
        let bytes = entries * 512;
        format!(
            "ftl.mapping.demand={{ cache_bytes = {bytes}, entry_bytes = 512, eviction = {eviction}, \
             remember_levels = {remember}, remember_translation_levels = {remember} }}"
        )
    })
}

/// No more entries than there is room for, and every codeword of a request was a hit or a miss.
fn assert_cache(config: &CheckedConfig, simulation: &Simulation) {
    let Mapping::Demand(demand) = config.config().ftl.mapping else { panic!("the map is in flash") };
    let cache = simulation.mapping_cache().unwrap();
    assert!(u64::from(cache.len()) * u64::from(demand.entry_bytes) <= demand.cache_bytes);
    assert!(!cache.is_empty() || simulation.statistics().mapping_misses() == 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The same with the map in flash: misses, dirty evictions, updates of translation pages, and their collection.
    #[test]
    fn data_behind_a_mapping_cache_is_where_it_was_put(operations in operations(), demand in demand(), interleaving in interleaving(),
                                                       codewords_per_page in prop::sample::select(vec![1u32, 2, 4]), buffered in any::<bool>(),
                                                       layout in prop::sample::select(vec!["sequential", "steady_state"])) {
        let buffer = if buffered { "host.write_buffer_bytes=65536" } else { "host.write_buffer_bytes=0" };
        let layout = format!("precondition.layout={layout}");
        let mapped = if layout.ends_with("state") { "precondition.mapped_fraction=1.0" } else { "precondition.mapped_fraction=0.3" };
        let config = small_interleaved(codewords_per_page, &[&interleaving, &demand, mapped, "host.issue={ closed_loop = { queue_depth = 1 } }", buffer, &layout]);
        let requests = requests(&config, &operations);
        let expected = expected(&config, &requests);
        let simulation = run(&config, requests);
        assert_map(&simulation, &expected);
        assert_cache(&config, &simulation);
    }

    /// The same under load.
    #[test]
    fn nothing_behind_a_mapping_cache_is_lost_under_load(operations in operations(), demand in demand(), interleaving in interleaving(),
                                                         policy in prop::sample::select(vec!["two_step", "progressive", "look_ahead_progressive"]),
                                                         busy in prop::sample::select(vec!["plane", "die"])) {
        let (policy, busy) = (format!("read.policy={policy}"), format!("flash.busy_unit={busy}"));
        let config = small_interleaved(2, &[&interleaving, &demand, &policy, &busy, "flash.reset_us=3.0", "host.issue={ open_loop = { time_scale = 0.05 } }"]);
        let requests: Vec<_> = requests(&config, &operations).into_iter().filter(|r| r.kind != RequestKind::Trim).collect();
        let expected = expected(&config, &requests);
        let simulation = run(&config, requests);
        assert_map(&simulation, &expected);
        assert_cache(&config, &simulation);
    }
}

/// A twentieth of the data is overwritten, the rest never. Without levelling the blocks that hold the rest are never erased;
/// with it no plane's blocks differ by much more than they may, and nothing is lost.
#[test]
fn cold_data_moves_so_that_blocks_wear_alike() {
    let wear = |levelling: &str| {
        let config = small(
            2,
            &[
                "geometry.blocks_per_plane=32",
                "ftl.over_provisioning=0.4",
                "precondition.mapped_fraction=1.0",
                levelling,
            ],
        );
        let stream = Stream::new(4, Purpose::Workload);
        let hot = config.user_codewords() / 20;
        let writes = (0..40_000u32)
            .map(|i| request(RequestKind::Write, Ns::from_us(300.0 * f64::from(i)), stream.bits(i.into(), 0) % hot, 1));
        let requests: Vec<_> = writes.collect();
        let expected = expected(&config, &requests);
        let simulation = run(&config, requests);
        assert_map(&simulation, &expected);
        let (least, most) = simulation.ftl().least_and_most_erases();
        let statistics = simulation.statistics();
        // Without cycles before the run these are the P/E cycles; two planes stand for the device.
        let (wear, blocks) =
            (simulation.ftl().wear(), f64::from(config.geometry().blocks_per_plane() * config.geometry().planes()));
        let start = config.config().precondition.pe_cycles;
        assert_eq!((wear.least, wear.most), (start + least, start + most));
        assert_eq!(
            wear.mean,
            f64::from(start) + statistics.operations.erases as f64 / blocks,
            "each erase is a cycle of one block"
        );
        assert!(wear.widest_of_set <= most - least && (levelling.contains("watermark") || wear.widest_of_set <= 8 + 2));
        let moved = statistics.gc_codewords_programmed() as f64 / statistics.host_codewords_written as f64;
        (least, most, statistics.gc_victims_to_level_wear, moved)
    };
    let (least, most, levelled, moved) = wear("ftl.gc_high_watermark_blocks=4");
    assert!(least == 0 && most > 40 && levelled == 0 && moved < 0.05, "{least} to {most}, {levelled}, {moved}");
    let (least, most, levelled, moved) = wear("ftl.wear_levelling_spread=8");
    assert!(levelled > 0 && most - least <= 8 + 4, "{least} to {most}, {levelled}");
    assert!(moved < 0.5, "{moved}");
}

/// Several SSDs behind one controller.
fn several() -> impl Strategy<Value = [String; 2]> {
    (1u32..4, prop::sample::select(vec!["round_robin", "address"]))
        .prop_map(|(ssds, spread)| [format!("geometry.ssds={ssds}"), format!("host.spread={spread}")])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The same on several SSDs, under load, each codeword on its own of them, with decoders in common or not.
    #[test]
    fn data_stays_on_its_ssd(operations in operations(), several in several(), ways in 1u32..3,
                             layout in prop::sample::select(vec!["sequential", "steady_state"]), in_flash in any::<bool>(),
                             decoder in prop::sample::select(vec!["{ per_channel = 1 }", "{ per_ssd = 1 }", "{ pool = 2 }"])) {
        let placement = format!("decoder={{ placement = {decoder}, buffer_codewords = 1 }}");
        let levelling = format!("ftl.wear_levelling_spread={}", 1 + ways);
        let queue = if ways == 1 { "flash.unit_queue=2" } else { "flash.busy_unit=die" };
        let ways = format!("ftl.interleaving.ways={ways}");
        let layout = format!("precondition.layout={layout}");
        let map = if in_flash { "ftl.mapping.demand={ cache_bytes = 8192, entry_bytes = 512 }" } else { "ftl.mapping=page" };
        let config = small_interleaved(2, &[&several[0], &several[1], &placement, &layout, &ways, map, queue, &levelling,
                                            "precondition.mapped_fraction=1.0", "host.issue={ open_loop = { time_scale = 0.05 } }"]);
        let requests: Vec<_> = requests(&config, &operations).into_iter().filter(|r| r.kind != RequestKind::Trim).collect();
        let (count, expected) = (requests.len() as u64, expected(&config, &requests));
        let simulation = run(&config, requests);
        prop_assert_eq!(simulation.statistics().completed(), count);
        assert_map(&simulation, &expected);
        let (geometry, ftl) = (config.geometry(), simulation.ftl());
        for lcn in 0..config.user_codewords() {
            if let Location::Flash(place) = ftl.locate(Lcn(lcn)) {
                let plane = geometry.block_of(place).0 / geometry.blocks_per_plane();
                prop_assert_eq!(Ssd(plane / geometry.planes_of_ssd()), ftl.ssd_of(Lcn(lcn)));
            }
        }
        let shares: Vec<usize> = (0..geometry.ssds()).map(|ssd| (0..config.user_codewords()).filter(|&lcn| ftl.ssd_of(Lcn(lcn)) == Ssd(ssd)).count()).collect();
        prop_assert!(shares.iter().all(|&share| share == shares[0]), "{shares:?}");
    }
}

/// A drive of 16 TiB begins where its layout says, in both directions, and keeps what is written, trimmed and collected.
#[test]
fn a_drive_of_many_tebibytes_is_a_function_and_its_changes() {
    for layout in ["sequential", "steady_state"] {
        let layout = format!("precondition.layout={layout}");
        let config = shipped(
            "tlc-femu.toml",
            &["geometry.blocks_per_plane=21846", "reliability=perfect", "ftl.gc_low_watermark_blocks=6", &layout],
        );
        let user = config.user_codewords();
        assert!(user > 1 << 31, "{user} codewords are more than 32 bits hold");
        let stream = Stream::new(3, Purpose::Workload);
        let requests: Vec<Request> = (0..4000u64)
            .map(|i| {
                let kind = if stream.bits(i, 0).is_multiple_of(4) { RequestKind::Trim } else { RequestKind::Write };
                request(kind, Ns(i * 1_000_000), stream.bits(i, 1) % (user - 8), 1 + stream.bits(i, 2) % 8)
            })
            .collect();
        let mut expected: HashMap<u64, bool> = (0..20_000).map(|i| (stream.bits(i, 3) % user, true)).collect();
        for r in &requests {
            let codewords = r.offset_bytes / CODEWORD..(r.offset_bytes + r.bytes) / CODEWORD;
            expected.extend(codewords.map(|lcn| (lcn, r.kind == RequestKind::Write)));
        }
        let mut simulation = simulation(&config, requests);
        simulation.advance(0).unwrap();
        for &lcn in expected.keys() {
            let Location::Flash(place) = simulation.ftl().locate(Lcn(lcn)) else { panic!("codeword {lcn} is nowhere") };
            assert_eq!(simulation.ftl().owner(place), Some(Lcn(lcn)));
        }
        while simulation.advance(1_000_000).unwrap() {}
        assert!(layout.ends_with("sequential") || simulation.statistics().gc_victims > 0);
        for (&lcn, &mapped) in &expected {
            match simulation.ftl().locate(Lcn(lcn)) {
                Location::Flash(place) => assert!(mapped && simulation.ftl().owner(place) == Some(Lcn(lcn))),
                other => assert!(!mapped && other == Location::Unmapped, "codeword {lcn} is {other:?}"),
            }
        }
    }
}

/// A read of what was just written gets it from the controller's memory; a later one from flash.
#[test]
fn data_on_its_way_to_flash_is_read_from_memory() {
    let config = small(1, &["reliability=perfect"]);
    let mut simulation = simulation(
        &config,
        vec![
            request(RequestKind::Write, Ns::ZERO, 3, 1),
            request(RequestKind::Read, Ns::from_us(10.0), 3, 1),
            request(RequestKind::Read, Ns::from_us(5000.0), 3, 1),
        ],
    );
    while simulation.advance(100).unwrap() {}
    assert_eq!(simulation.statistics().codewords_from_controller, 1);
    assert_eq!(simulation.statistics().codewords_read(), 1);
}

/// A partial write reads the old codeword first, unless told not to.
#[test]
fn partial_writes_read_before_they_program() {
    for (mode, reads) in [("read_modify_write", 2), ("pad", 0)] {
        let mode = format!("host.partial_write={mode}");
        let config = small(1, &["reliability=perfect", &mode]);
        // From the middle of codeword 0 to the middle of codeword 2: both ends are partial.
        let write = Request { arrival: Ns::ZERO, kind: RequestKind::Write, offset_bytes: 2048, bytes: 8192 };
        let simulation = run(&config, vec![write]);
        assert_eq!(simulation.statistics().read_modify_writes, reads);
        assert_eq!(simulation.statistics().host_codewords_written, 3);
    }
}

/// Buffered writes complete when the buffer has them, and rewriting what is there programs it once.
#[test]
fn the_write_buffer_hides_programs_and_coalesces() {
    let config = small(2, &["reliability=perfect", "host.write_buffer_bytes=65536"]);
    let requests =
        vec![request(RequestKind::Write, Ns::ZERO, 5, 1), request(RequestKind::Write, Ns::from_us(5.0), 5, 1)];
    let simulation = run(&config, requests);
    let statistics = simulation.statistics();
    assert_eq!(statistics.writes.max(), Some(Ns::from_us(1.0)));
    assert_eq!((statistics.coalesced_codewords, statistics.host_codewords_programmed()), (1, 1));
}

const BLOCKS: u32 = 1024;
const PAGES: u32 = 128;

/// Uniform overwriting of a device at `over_provisioning` for so many times its user capacity: write
/// amplification.
fn write_amplification(over_provisioning: f64, layout: &str, turns: f64) -> f64 {
    overwriting(over_provisioning, layout, turns, 1)
}

/// The same on so many chips, in whole groups of them.
fn overwriting(over_provisioning: f64, layout: &str, turns: f64, ways: u64) -> f64 {
    let geometry = format!(
        "geometry={{ channels = {ways}, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, \
         blocks_per_plane = {BLOCKS}, pages_per_block = {PAGES} }}"
    );
    let interleaving = format!("ftl.interleaving.ways={ways}");
    let over_provisioning = format!("ftl.over_provisioning={over_provisioning}");
    let layout = format!("precondition.layout={layout}");
    let closed_loop = "host.issue={ closed_loop = { queue_depth = 64 } }";
    let config = shipped(
        "mlc-25nm.toml",
        &[&geometry, "reliability=perfect", closed_loop, &over_provisioning, &layout, &interleaving],
    );
    let stream = Stream::new(11, Purpose::Workload);
    let groups = config.user_codewords() / ways;
    let n = (groups as f64 * turns) as u64;
    let writes =
        (0..n).map(|i| request(RequestKind::Write, Ns::ZERO, ways * (stream.bits(i, 0) % groups), ways)).collect();
    let statistics = run(&config, writes).statistics().clone();
    (statistics.host_codewords_programmed() + statistics.gc_codewords_programmed()) as f64
        / statistics.host_codewords_written as f64
}

/// The principal branch of Lambert's W on (-1/e, 0), by Halley's iteration.
fn lambert_w(x: f64) -> f64 {
    (0..100).fold(-0.5, |w: f64, _| {
        let (e, f) = (w.exp(), w * w.exp() - x);
        w - f / (e * (w + 1.0) - (w + 2.0) * f / (2.0 * w + 2.0))
    })
}

/// Greedy cleaning of blocks of `pages` under uniform writes, `alpha` being physical over user pages.
/// Source: P. Desnoyers, "Analytic models of SSD write performance", ACM TOS 10(2), 2014: the greedy
/// model. It tends to 1 / (1 - delta) as blocks grow.
fn desnoyers_greedy(alpha: f64, pages: f64) -> f64 {
    let c = 1.0 + 1.0 / (2.0 * pages);
    let x0 = 0.5 - pages / alpha * lambert_w(-c * alpha * (-c * alpha).exp());
    pages / (pages - (x0 - 1.0))
}

/// Greedy garbage collection under uniform overwriting against the published closed form. The form knows
/// no free and no open blocks: three free ones (between the watermarks) and two half full ones are taken
/// off the device. What is left between them, 1 to 3 per cent here, is that host and collection write
/// to blocks of their own and that the device is finite; 4 per cent is allowed.
#[test]
fn greedy_write_amplification_meets_the_closed_form() {
    for over_provisioning in [0.10, 0.15, 0.28] {
        let found = write_amplification(over_provisioning, "steady_state", 1.5);
        let utilisation = (1.0 - over_provisioning) * f64::from(BLOCKS) / f64::from(BLOCKS - 4);
        let expected = desnoyers_greedy(1.0 / utilisation, f64::from(PAGES));
        assert!((found / expected - 1.0).abs() < 0.04, "{over_provisioning}: {found} for {expected}");
        let limit = 1.0 / (1.0 - steady_state_victim_fraction(utilisation));
        assert!((desnoyers_greedy(1.0 / utilisation, 1e7) / limit - 1.0).abs() < 1e-4, "the forms agree in the limit");
    }
}

/// Whole groups of two chips are overwritten as codewords of one are: superblocks amplify alike.
#[test]
fn superblocks_amplify_like_blocks() {
    let found = overwriting(0.15, "sequential", 4.0, 2);
    let expected = write_amplification(0.15, "sequential", 4.0);
    assert!((found / expected - 1.0).abs() < 0.02, "{found} for {expected}");
}

/// Preconditioning to the steady state is the state that simulated overwriting ends in: starting from
/// either, further overwriting amplifies alike.
#[test]
fn preconditioning_starts_in_the_steady_state() {
    let long = write_amplification(0.15, "sequential", 8.0);
    let short = write_amplification(0.15, "sequential", 4.0);
    // The second half of the long run, which began in whatever state the first half left.
    let settled = 2.0 * long - short;
    let preconditioned = write_amplification(0.15, "steady_state", 1.0);
    assert!((preconditioned / settled - 1.0).abs() < 0.03, "{preconditioned} for {settled}");
}

/// Where does a codeword lie in the steady state? Wherever the seed draws it, whatever the capacity: over 400 seeds every plane
/// has it equally often, and two neighbours share one as often as strangers do. A rule in place of draws gives a hot address a
/// fast plane or a slow page for every seed, and another one for a capacity that differs by one block in ten thousand.
#[test]
fn the_steady_state_is_drawn_by_the_seed() {
    const SEEDS: u64 = 400;
    for over_provisioning in [0.2000, 0.2002] {
        let config = shipped(
            "tlc-femu.toml",
            &[
                &format!("ftl.over_provisioning={over_provisioning}"),
                "geometry.blocks_per_plane=64",
                "precondition.layout=steady_state",
            ],
        );
        let geometry = config.geometry();
        let last = config.user_codewords() - 1;
        let asked = [0, 1, 2, last / 2, last / 2 + 1, last - 1, last];
        let (mut of_plane, mut alike) = (vec![0u32; geometry.planes() as usize], 0);
        for seed in 0..SEEDS {
            let mut ftl = PageMap::new(&config).unwrap();
            ftl.fill_steady_state(1.0, seed);
            let planes = asked.map(|lcn| match ftl.locate(Lcn(lcn)) {
                Location::Flash(place) => geometry.split_block(geometry.split(place).0).0,
                other => panic!("codeword {lcn} is {other:?}"),
            });
            planes.iter().for_each(|&plane| of_plane[plane.index()] += 1);
            alike += planes.windows(2).filter(|pair| pair[0] == pair[1]).count();
        }
        let planes = f64::from(geometry.planes());
        let expected = (SEEDS * asked.len() as u64) as f64 / planes;
        let chi_square: f64 = of_plane.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum();
        // Five standard deviations of chi-square.
        assert!(chi_square < planes + 5.0 * (2.0 * planes).sqrt(), "{chi_square} of {planes} planes");
        let pairs = (SEEDS * (asked.len() as u64 - 1)) as f64 / planes;
        assert!(
            (alike as f64 - pairs).abs() < 5.0 * pairs.sqrt(),
            "{alike} neighbours share a plane, expected {pairs}"
        );
    }
}

/// Is there a way out of too little room, and is it one that there is? A watermark above all blocks of a plane leaves none to
/// over-provisioning.
#[test]
fn too_little_room_names_a_way_out() {
    let told = |over_provisioning: f64, blocks: u32| {
        let sets = [
            format!("ftl.over_provisioning={over_provisioning}"),
            format!("geometry.blocks_per_plane={blocks}"),
            "ftl.gc_high_watermark_blocks=100".to_owned(),
        ];
        CheckedConfig::from_toml("", "", &sets).unwrap_err().to_string()
    };
    let (some, none) = (told(0.1, 256), told(0.25, 64));
    let least: f64 = some.split("expected at least ").nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
    assert!(least < 1.0, "{some}");
    assert!(
        none.contains("which no over-provisioning leaves") && none.contains("ftl.gc_high_watermark_blocks"),
        "{none}"
    );
}

/// The closed form at known points: half full means delta = 0.2032 (the root of 0.5 = (d - 1) / ln d).
#[test]
fn the_victim_fraction_solves_its_equation() {
    assert!((steady_state_victim_fraction(0.5) - 0.203_187_87).abs() < 1e-6);
    for utilisation in [0.3, 0.7, 0.85, 0.95] {
        let delta = steady_state_victim_fraction(utilisation);
        assert!(((delta - 1.0) / delta.ln() - utilisation).abs() < 1e-12);
    }
}
