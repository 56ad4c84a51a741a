//! Decoders and encoders at a distance: what links, a switch, encoders and priorities take, to the nanosecond.

use crate::support::{assert_map, random_requests, run, served, shipped, units_of};
use softsense_base::Ns;
use softsense_config::checked::CheckedConfig;
use softsense_requests::{Request, RequestKind};
use softsense_ssd::simulation::Simulation;

const CODEWORD: u64 = 8192;

/// Two SSDs of two channels of one chip, pages of two codewords of 8 KiB; 40 us of sensing, 20 of transfer, 1,000 of programming, and
/// one decode of 8 us at a time for each of a pool of four.
fn array(more: &[&str]) -> CheckedConfig {
    let base = [
        "geometry={ ssds = 2, channels = 2, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 24, \
         pages_per_block = 8, codewords_per_page = 2, codeword_bytes = 8192 }",
        "flash.page_types=[{ name = \"page\", sense_us = 40.0, program_us = 1000.0 }]",
        "bus={ transfer_us = 20.0, transfer_extra_level_us = 10.0 }",
        "decoder={ placement = { pool = 4 }, time = { fixed_us = 8.0 } }",
        "reliability=\"perfect\"",
        "read.max_level=1",
        "ftl.over_provisioning=0.45",
        "host.spread=address",
    ];
    shipped("mlc-25nm.toml", &[&base[..], more].concat())
}

/// 8,192 bytes take 2,048 ns on a link and 512 ns on the switch.
const LINKS: &str = "interconnect={ codeword_bytes = 8192, ssd_link = { bandwidth_gb_per_s = 4.0, latency_us = 0.5 }, switch = { \
                     bandwidth_gb_per_s = 16.0, latency_us = 0.1 } }";

fn reads(config: &CheckedConfig, at: &[(u64, u64)]) -> Vec<Request> {
    let of_ssd = config.user_codewords() / 2;
    at.iter().map(|&(ssd, unit)| units_of(CODEWORD, RequestKind::Read, Ns(0), ssd * of_ssd + unit, 1)).collect()
}

fn responses(mut simulation: Simulation) -> Vec<u64> {
    let mut rows = simulation.take_log();
    rows.sort_by_key(|row| row.request);
    rows.iter().map(|row| row.response.0).collect()
}

/// A codeword crosses the link of its SSD, then the switch; what meets another waits for it, and latency keeps nobody.
#[test]
fn a_codeword_crosses_its_link_and_the_switch() {
    let alone = 40_000 + 20_000 + (2_048 + 500) + (512 + 100) + 8_000;
    let with_links = array(&[LINKS]);
    assert_eq!(responses(run(&with_links, reads(&with_links, &[(0, 0)]))), [alone]);
    // The same moment on both links: the second waits for the switch.
    assert_eq!(responses(run(&with_links, reads(&with_links, &[(0, 0), (1, 0)]))), [alone, alone + 512]);
    // Two channels of one SSD: the second waits for the link, and finds the switch free.
    assert_eq!(responses(run(&with_links, reads(&with_links, &[(0, 0), (0, 2)]))), [alone, alone + 2_048]);
    // Without links, and with decoders in the SSDs, there is no distance.
    for more in [&[][..], &["decoder.placement={ per_ssd = 4 }"]] {
        let config = array(more);
        assert_eq!(responses(run(&config, reads(&config, &[(0, 0), (0, 2), (1, 0)]))), [68_000; 3]);
    }
    let simulation = run(&with_links, reads(&with_links, &[(0, 0), (1, 0)]));
    let statistics = simulation.statistics();
    assert_eq!(statistics.interconnect_time.0, 2 * (2_548 + 612) + 512);
    assert_eq!(statistics.read_service.0, 2 * u128::from(alone));
    assert_eq!(statistics.read_time.total().0, u128::from(2 * alone + 512));
}

/// What is sensed beyond hard decisions crosses links in proportion to the bus.
#[test]
fn extra_levels_cross_links_too() {
    let config = array(&[
        LINKS,
        "reliability={ fixed = { p_fail = [1.0, 0.0] } }",
        "read={ policy = \"ideal\", max_level = 2 }",
    ]);
    let page = &config.config().flash.page_types[0];
    let extra = Ns::from_us(page.sense_extra_level_us).0;
    let expected = 40_000 + extra + 30_000 + (3_072 + 500) + (768 + 100) + 8_000;
    assert_eq!(responses(run(&config, reads(&config, &[(0, 0)]))), [expected]);
}

/// Saturated, a pool decodes what the narrowest of channels, links, the switch and decoders lets through.
#[test]
fn the_narrowest_station_sets_the_rate() {
    for (link, switch, decoders, bound_us) in [
        (0.5, 1000.0, 16, 16.384 / 2.0),
        (1000.0, 0.5, 16, 16.384),
        (1000.0, 1000.0, 1, 8.0),
        (1000.0, 1000.0, 16, 5.0),
    ] {
        let pool = format!("decoder.placement={{ pool = {decoders} }}");
        let links = format!(
            "interconnect={{ codeword_bytes = 8192, ssd_link = {{ bandwidth_gb_per_s = {link:?} }}, switch = {{ \
             bandwidth_gb_per_s = {switch:?} }} }}"
        );
        let queue = "host.issue={ closed_loop = { queue_depth = 256 } }";
        let config = array(&[
            &pool,
            &links,
            queue,
            "host.spread=round_robin",
            "flash.page_types=[{ name = \"page\", sense_us = 1.0 }]",
        ]);
        let user = config.user_codewords();
        let requests = (0..8000).map(|i| units_of(CODEWORD, RequestKind::Read, Ns(0), i % user, 1)).collect();
        let simulation = run(&config, requests);
        let each_us = simulation.now().as_us() / 8000.0;
        assert!((each_us / bound_us - 1.0).abs() < 0.02, "{link} {switch} {decoders}: {each_us} of {bound_us} us");
    }
}

/// A bounded buffer lets as many codewords on links as there is room for; with all on their way nothing is lost, or late for ever.
#[test]
fn codewords_on_links_take_their_room_along() {
    let of = |buffer: &str| {
        let config = array(&[LINKS, "decoder.placement={ pool = 1 }", buffer]);
        let requests = (0..64).map(|i| units_of(CODEWORD, RequestKind::Read, Ns(0), i * 3, 1)).collect();
        let simulation = run(&config, requests);
        (simulation.statistics().completed(), simulation.now())
    };
    let (unbounded, bounded) = (of("decoder.codewords_at_once=1"), of("decoder.buffer_codewords=0"));
    assert_eq!((unbounded.0, bounded.0), (64, 64));
    // With no room but the decoder, the next codeword sets out when it is free.
    assert!(bounded.1 > unbounded.1, "{bounded:?} {unbounded:?}");
}

/// Encoders take a codeword each, and a page goes to its chip with the last; from a pool it crosses the switch and the link first.
#[test]
fn pages_are_encoded_before_they_go_to_their_chips() {
    let page = |config: &CheckedConfig| {
        let write = units_of(CODEWORD, RequestKind::Write, Ns(0), 0, 2);
        responses(run(config, vec![write]))
    };
    let flash = 2 * 20_000 + 1_000_000;
    for (encoder, links, expected) in [
        ("encoder={ placement = { per_channel = 1 }, time_us = 4.0 }", "", 8_000),
        ("encoder={ placement = { per_channel = 2 }, time_us = 4.0 }", "", 4_000),
        ("encoder={ placement = { per_ssd = 1 }, time_us = 4.0 }", LINKS, 8_000),
        ("encoder={ placement = { pool = 2 }, time_us = 4.0 }", LINKS, 4_000 + (4_096 + 500) + (1_024 + 100)),
    ] {
        let more: Vec<&str> = [encoder, links].into_iter().filter(|text| !text.is_empty()).collect();
        assert_eq!(page(&array(&more)), [expected + flash], "{encoder}");
    }
    assert_eq!(page(&array(&[])), [flash]);
    let simulation =
        run(&array(&["encoder={ time_us = 4.0 }"]), vec![units_of(CODEWORD, RequestKind::Write, Ns(0), 0, 2)]);
    assert_eq!(simulation.statistics().operations.encodes, 2);
    // 8 us of one of four encoders.
    let share = simulation.encoder_share().unwrap();
    assert!((share - 8_000.0 / 4.0 / simulation.now().0 as f64).abs() < 1e-12);
}

/// With room for one page only, the next is encoded when the one before has gone to its chip.
#[test]
fn a_full_buffer_keeps_encoders() {
    let two_pages = |buffer: &str| {
        let config = array(&[
            "geometry.ssds=1",
            "geometry.channels=1",
            "geometry.chips_per_channel=2",
            "encoder={ placement = { per_channel = 1 }, time_us = 4.0 }",
            buffer,
        ]);
        let write = |first| units_of(CODEWORD, RequestKind::Write, Ns(0), first, 2);
        responses(run(&config, vec![write(0), write(8)]))
    };
    let end_of = |transfer_from: u64| transfer_from + 40_000 + 1_000_000;
    assert_eq!(two_pages("encoder.buffer_codewords=4"), [end_of(8_000), end_of(48_000)]);
    assert_eq!(two_pages("encoder.buffer_codewords=2"), [end_of(8_000), end_of(56_000)]);
}

/// Writes and collection go through encoders and over links: nothing is lost, whatever goes first, and each page is encoded once.
#[test]
fn nothing_is_lost_on_the_way() {
    for more in [
        vec!["encoder={ placement = { pool = 1 }, time_us = 30.0, host_first = true, buffer_codewords = 4 }", LINKS],
        vec!["encoder={ placement = { per_ssd = 2 }, time_us = 30.0 }", LINKS, "decoder.host_first=true"],
        vec![
            "encoder={ placement = { pool = 3 }, time_us = 30.0 }",
            "ftl.interleaving.ways=2",
            "ftl.over_provisioning=0.6",
            LINKS,
        ],
    ] {
        let issue = "host.issue={ closed_loop = { queue_depth = 16 } }";
        let config = array(&[&more[..], &[issue]].concat());
        let mut requests = random_requests(&config, 3000, u64::MAX, Ns(0));
        // One after the other for each unit: those that overlap have no order.
        let expected = {
            let one = array(&[&more[..], &["host.issue={ closed_loop = { queue_depth = 1 } }"]].concat());
            requests.truncate(3000);
            let expected = served(&one, &requests);
            assert_map(&run(&one, requests.clone()), &expected);
            expected
        };
        let simulation = run(&config, requests);
        simulation.ftl().assert_consistent();
        let statistics = simulation.statistics();
        assert_eq!(statistics.completed(), 3000);
        assert!(statistics.gc_victims > 10);
        assert_eq!(statistics.operations.encodes, 2 * statistics.operations.programs);
        assert_eq!(expected.len() as u64, config.user_codewords());
    }
}

/// Where the host goes first, its reads wait less for decoders that collection also needs, and all is decoded all the same.
#[test]
fn the_host_goes_before_collection() {
    let of = |first: bool| {
        let first = format!("decoder.host_first={first}");
        let config = array(&[
            "decoder.placement={ pool = 1 }",
            "decoder.time={ fixed_us = 250.0 }",
            &first,
            "ftl.over_provisioning=0.38",
            "precondition.layout=steady_state",
            "host.issue={ closed_loop = { queue_depth = 8 } }",
        ]);
        let user = config.user_codewords();
        let request = |i: u64| match i % 4 {
            0 => units_of(CODEWORD, RequestKind::Read, Ns(0), i * 7919 % user, 1),
            _ => units_of(CODEWORD, RequestKind::Write, Ns(0), i * 6007 % (user - 2), 2),
        };
        let simulation = run(&config, (0..8000).map(request).collect());
        let s = simulation.statistics();
        (s.read_time.wait_decoder.0, s.codewords_read(), s.gc_codewords_programmed() > 1000)
    };
    let ((plain, reads, collects), (first, reads_first, _)) = (of(false), of(true));
    assert!(collects);
    assert!(reads.abs_diff(reads_first) < reads / 100);
    assert!(first < plain * 9 / 10, "{first} of {plain} ns of waiting");
}

#[test]
fn what_does_not_fit_is_named() {
    let error = |overrides: &[&str]| {
        let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
        array(&[]).with_overrides(&overrides).unwrap_err().to_string()
    };
    for (overrides, expected) in [
        (
            vec![LINKS, "decoder.placement={ per_ssd = 1 }"],
            "interconnect: found together with decoders and encoders inside the SSDs, expected `pool` as `decoder.placement` or",
        ),
        (
            vec![LINKS, "interconnect.switch.bandwidth_gb_per_s=0.0"],
            "interconnect.switch.bandwidth_gb_per_s: found 0, expected a number",
        ),
        (
            vec!["encoder={ buffer_codewords = 1 }"],
            "encoder.buffer_codewords: found a limit that does not leave room for all that is encoded together, expected at least 2 (the codewords of a page)",
        ),
        (vec!["encoder={ placement = { pool = 0 } }"], "encoder.placement.pool: found 0, expected a whole number"),
    ] {
        let found = error(&overrides);
        assert!(found.contains(expected), "{found}");
    }
}

/// SSDs that take turns codeword by codeword: a read that comes back to an SSD senses each of its pages once, with all it wants of them.
#[test]
fn a_long_read_senses_each_page_of_an_array_once() {
    let config = array(&["host.spread=round_robin"]);
    // Codewords 0, 2, 4 are on the first SSD, two of them in one page; 1 and 3 are on the second.
    let simulation = run(&config, vec![units_of(CODEWORD, RequestKind::Read, Ns(0), 0, 5)]);
    let operations = simulation.statistics().operations;
    assert_eq!((operations.senses, operations.decodes), (3, 5));
}
