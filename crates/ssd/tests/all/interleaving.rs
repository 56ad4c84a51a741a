//! Data placement interleaving: how long a read of n chips takes, what it costs, which raw bit error rate a codeword meets,
//! and that nothing is lost. That data survives updates and garbage collection is in `ftl.rs`.

use crate::support::{lone_reads, random_requests, request, run, shipped};
use softsense_base::{Ns, Purpose, Stream};
use softsense_config::checked::CheckedConfig;
use softsense_requests::RequestKind;
use softsense_ssd::run::sample_codewords;

const P_FAIL: f64 = 0.288;
const READS: u64 = 40_000;
const LOWER_PAGES: &str =
    "flash.page_types=[{ name = \"lower\", sense_us = 41.0, sense_extra_level_us = 14.0, program_us = 121.0 }]";

fn interleaved(ways: u32, more: &[&str]) -> CheckedConfig {
    let ways = format!("ftl.interleaving.ways={ways}");
    shipped("mlc-25nm.toml", &[&["geometry.blocks_per_plane=64", &ways], more].concat())
}

/// Unloaded, n chips sense at once. On n channels each transfers its n-th at once, on one channel one after the other, so
/// with sensing, transfer and decode of 41, 20 and 8 us, and 125, 80 and 8 us for seven levels,
///
///     two_step      41 + 20 / c + 8 + p (125 + 80 / c + 8)
///     look_ahead    41 + (1 - p) (20 / c + 8) + p (125 + 80 / c + 8)
///
/// with c channels in a group. The bound is four standard errors of 40,000 reads.
#[test]
fn an_interleaved_read_takes_what_its_chips_and_channels_do() {
    for (stripe, channels_of) in [("channel", [2.0, 4.0]), ("chip", [1.0, 1.0])] {
        for (ways, channels) in [2u32, 4].into_iter().zip(channels_of) {
            for policy in ["two_step", "look_ahead"] {
                let other = if stripe == "channel" { "chip" } else { "channel" };
                let stripe = format!("ftl.stripe=[\"{stripe}\", \"{other}\", \"die\", \"plane\"]");
                let policy_set = format!("read.policy={policy}");
                let fixed = format!("reliability.fixed.p_fail=[{P_FAIL}, 0.0]");
                let config = interleaved(ways, &[&stripe, &policy_set, &fixed, LOWER_PAGES]);
                let simulation = run(&config, lone_reads(&config, READS));
                let found = simulation.statistics().reads.mean_ns().unwrap() / 1e3;
                let (hard, soft) = (20.0 / channels + 8.0, 125.0 + 80.0 / channels + 8.0);
                let expected = if policy == "two_step" {
                    41.0 + hard + P_FAIL * soft
                } else {
                    41.0 + (1.0 - P_FAIL) * hard + P_FAIL * soft
                };
                let bound = 4.0 * soft * (P_FAIL * (1.0 - P_FAIL) / READS as f64).sqrt();
                assert!((found - expected).abs() < bound, "{policy}, {ways} ways, {stripe}: {found} for {expected}");
                let statistics = simulation.statistics();
                assert_eq!(statistics.interleaved_codewords, READS);
                assert_eq!(statistics.operations.transfers, statistics.operations.decodes, "once for each codeword");
                let expected_senses =
                    u64::from(ways) * (READS + if policy == "two_step" { statistics.retries } else { READS });
                assert_eq!(statistics.operations.senses, expected_senses, "each attempt senses every chip");
            }
        }
    }
}

/// A whole group costs no more sensings than its pages have without interleaving, and is decoded on the channels of all.
#[test]
fn a_whole_group_is_sensed_once() {
    let config = interleaved(4, &["reliability=perfect", LOWER_PAGES]);
    let simulation = run(&config, vec![request(RequestKind::Read, Ns::ZERO, 0, 4)]);
    let operations = simulation.statistics().operations;
    assert_eq!((operations.senses, operations.transfers, operations.decodes), (4, 4, 4));
    // Each channel moves four parts of 5 us in turn; a codeword is whole when the last channel has moved its part, and
    // then has a decoder of its own: 41 + 4 x 5 + 8.
    assert_eq!(simulation.statistics().reads.max(), Some(Ns::from_us(69.0)));
}

/// Parts of the time add up to the response whatever the load, with several chips at work on each codeword.
#[test]
fn the_time_split_adds_up_to_the_response() {
    for policy in ["ideal", "two_step", "look_ahead", "look_ahead_progressive"] {
        for (ways, busy_unit) in [(2, "plane"), (4, "die"), (8, "plane")] {
            let (policy, busy) = (format!("read.policy={policy}"), format!("flash.busy_unit={busy_unit}"));
            let config = interleaved(ways, &[&policy, &busy, "geometry.channels=2", "flash.reset_us=2.0"]);
            let step = config.user_codewords() / 5000;
            let reads = (0..5000).map(|i| request(RequestKind::Read, Ns(i * 13_000), i * step, 1)).collect();
            let mut simulation = run(&config, reads);
            let time = simulation.statistics().read_time.total();
            let responses: u64 = simulation.take_log().iter().map(|row| row.response.0).sum();
            assert_eq!(time.0, u128::from(responses), "{policy}, {ways} ways");
        }
    }
}

/// Known chips: without interleaving a codeword has the rate of its own, four-way the mean of all, two-way that of its
/// pair; and chips follow one another along the stripe.
#[test]
fn a_codeword_meets_the_mean_of_its_chips() {
    let known = "reliability.table={ file = \"flash-8-9\", rber = { constant = { rber = 0.001 } }, \
                 variation = { chip_factors = [1.0, 3.0, 2.0, 6.0] } }";
    let rates = |ways, more: &[&str]| {
        let config = interleaved(ways, &[&[known], more].concat());
        let mut by_chip = [Vec::new(), Vec::new(), Vec::new(), Vec::new()];
        for sample in sample_codewords(&config, 4000).unwrap() {
            by_chip[sample.chip as usize % 4].push(sample.rber);
        }
        by_chip.map(|rates| {
            assert!(rates.len() > 900 && rates.iter().all(|rate| *rate == rates[0]), "{rates:?}");
            (rates[0] * 1e6).round() as u32
        })
    };
    assert_eq!(rates(1, &[]), [1000, 3000, 2000, 6000]);
    assert_eq!(rates(2, &[]), [2000, 2000, 4000, 4000]);
    assert_eq!(rates(4, &[]), [3000, 3000, 3000, 3000]);
    // Only pairs with a bad chip.
    assert_eq!(rates(2, &["ftl.interleaving.groups.with_chip_factor_above=5"]), [1000, 3000, 4000, 4000]);
}

/// Averaging over chips changes draws nowhere else: a codeword's place is the same with and without.
#[test]
fn interleaving_keeps_places_of_preconditioned_codewords() {
    let (plain, four) = (interleaved(1, &[]), interleaved(4, &[]));
    let places = |config: &CheckedConfig| {
        sample_codewords(config, 500).unwrap().iter().map(|s| (s.chip, s.block, s.page_type)).collect::<Vec<_>>()
    };
    assert_eq!(places(&plain), places(&four));
}

/// What does not fill a group: written plain it costs nothing at once, padded it takes a page of each chip.
#[test]
fn lone_codewords_are_plain_or_padded() {
    for (remainder, padding, interleaved_reads) in [("plain", 0, 4), ("pad", 3 + 2, 7)] {
        let remainder = format!("ftl.interleaving.remainder={remainder}");
        let config = interleaved(4, &["reliability=perfect", &remainder]);
        let apart = |i: u64| Ns::from_us(10_000.0 * i as f64);
        // One codeword, and six: a group and two more.
        let mut requests =
            vec![request(RequestKind::Write, apart(0), 0, 1), request(RequestKind::Write, apart(1), 100, 6)];
        requests
            .extend([0, 100, 101, 102, 103, 104, 105].map(|lcn| request(RequestKind::Read, apart(lcn + 2), lcn, 1)));
        let simulation = run(&config, requests);
        let statistics = simulation.statistics();
        assert_eq!(statistics.host_codewords_programmed(), 7);
        assert_eq!(statistics.padding_codewords, padding);
        assert_eq!(statistics.operations.programs, 7 + padding);
        assert_eq!(statistics.interleaved_codewords, interleaved_reads);
        simulation.ftl().assert_consistent();
    }
}

/// An update of one codeword leaves its group alone: the others are still read from all chips, and nothing is rewritten.
#[test]
fn an_update_of_part_of_a_group_leaves_the_others_where_they_are() {
    let config = interleaved(2, &["reliability=perfect"]);
    let apart = |i: u64| Ns::from_us(10_000.0 * i as f64);
    let requests = vec![
        request(RequestKind::Write, apart(0), 0, 1),
        request(RequestKind::Read, apart(1), 0, 1),
        request(RequestKind::Read, apart(2), 1, 1),
        request(RequestKind::Read, apart(3), 0, 2),
    ];
    let statistics = run(&config, requests).statistics().clone();
    assert_eq!((statistics.operations.programs, statistics.operations.senses), (1, 1 + 2 + 3));
    assert_eq!(statistics.interleaved_codewords, 2);
}

/// Garbage collection interleaves what was written plain: after overwriting everything in single codewords many times,
/// most are read from all chips.
#[test]
fn collection_interleaves_what_it_moves() {
    let geometry = "geometry={ channels = 2, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, \
                    blocks_per_plane = 64, pages_per_block = 16 }";
    let closed = "host.issue={ closed_loop = { queue_depth = 8 } }";
    let config = shipped(
        "mlc-25nm.toml",
        &[geometry, closed, "ftl.over_provisioning=0.2", "ftl.interleaving.ways=2", "reliability=perfect"],
    );
    let stream = Stream::new(3, Purpose::Workload);
    let user = config.user_codewords();
    // All is written in single codewords, hot among cold; then the hot half again and again, so that collection moves the rest.
    let lcn = |i: u64| if i < user { i * 7919 % user } else { stream.bits(i, 0) % (user / 2) };
    let mut requests: Vec<_> = (0..12 * user).map(|i| request(RequestKind::Write, Ns::ZERO, lcn(i), 1)).collect();
    requests.extend((user / 2..user).map(|lcn| request(RequestKind::Read, Ns::ZERO, lcn, 1)));
    let statistics = run(&config, requests).statistics().clone();
    assert!(statistics.gc_codewords_programmed() > user, "collection was at work");
    let share = statistics.interleaved_codewords as f64 / statistics.codewords_read() as f64;
    assert!(share > 0.9, "{share} of cold codewords are interleaved");
}

/// Energy of one read, two-step, that fails once: each sensing, transfer and decode at its price; with look-ahead a sensing
/// that is not needed costs what its time is of the whole. And of a write that reads before it programs.
#[test]
fn energy_is_the_sum_of_operations() {
    let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-5, "{found} for {expected}");
    let (sense, seven, transfer, transfer_seven, decode) = (2.4, 2.4 + 6.0 * 0.7, 3.7, 3.7 + 6.0 * 1.85, 0.8);
    let read = |config: &CheckedConfig| {
        let mut simulation = run(config, vec![request(RequestKind::Read, Ns::ZERO, 0, 1)]);
        let (log, energy) = (simulation.take_log(), simulation.statistics().energy);
        assert_eq!(log[0].energy, energy.total(), "a lone request is charged for everything");
        assert_eq!(energy.reads, energy.total());
        (energy.total().as_uj(), energy.cut_short.as_uj())
    };
    for (ways, pages) in [(1, 1.0), (4, 4.0)] {
        let with = |policy: &str, p: f64| {
            let (policy, fixed) = (format!("read.policy={policy}"), format!("reliability.fixed.p_fail=[{p}, 0.0]"));
            interleaved(ways, &[&policy, &fixed, LOWER_PAGES])
        };
        near(read(&with("two_step", 0.0)).0, pages * sense + transfer + decode);
        let failing = pages * (sense + seven) + transfer + transfer_seven + 2.0 * decode;
        near(read(&with("two_step", 1.0)).0, failing);
        near(read(&with("look_ahead", 1.0)).0, failing);
        // The RESET comes when the decode ends: after 28 us on one channel, 5 + 8 us on four, of 125.
        let (total, cut_short) = read(&with("look_ahead", 0.0));
        let ahead = if ways == 1 { 28.0 } else { 13.0 } / 125.0;
        near(total, pages * (sense + seven * ahead) + transfer + decode);
        near(cut_short, pages * seven * (1.0 - ahead));
    }
    let config = interleaved(1, &["reliability=perfect"]);
    let write = softsense_requests::Request { bytes: 100, ..request(RequestKind::Write, Ns::ZERO, 0, 1) };
    let simulation = run(&config, vec![write]);
    near(simulation.statistics().energy.writes.as_uj(), sense + transfer + decode + 52.0);
    near(simulation.statistics().energy.total().as_uj(), sense + transfer + decode + 52.0);
}

/// Does every request end, whatever room decoders have? The parts of a codeword come over several buses, or over one with other
/// codewords between them, and a bus that holds one waits for a decoder.
#[test]
fn full_decoders_hold_buses_up_but_not_for_ever() {
    let stripes = ["[\"channel\", \"chip\", \"die\", \"plane\"]", "[\"chip\", \"channel\", \"die\", \"plane\"]"];
    let mut held_up = 0;
    for ways in [1, 2, 4] {
        for stripe in stripes {
            for policy in ["two_step", "look_ahead_progressive"] {
                for decoders in ["per_channel=1", "per_channel=2", "per_ssd=1", "pool=1", "pool=3"] {
                    let mean_response = |buffer: Option<u32>| {
                        let buffer = buffer.map(|codewords| format!("decoder.buffer_codewords={codewords}"));
                        let mut more = vec![
                            format!("ftl.stripe={stripe}"),
                            format!("read.policy={policy}"),
                            format!("decoder.placement.{decoders}"),
                            "reliability.fixed.p_fail=[0.3, 0.1, 0.0]".to_string(),
                        ];
                        more.extend(buffer);
                        let config = interleaved(ways, &more.iter().map(String::as_str).collect::<Vec<_>>());
                        // Every request completes, or the simulation panics.
                        let simulation = run(&config, random_requests(&config, 300, 2000, Ns(20_000)));
                        simulation.statistics().reads.mean_ns().unwrap()
                    };
                    let unbounded = mean_response(None);
                    held_up += (0..4).filter(|&buffer| mean_response(Some(buffer)) != unbounded).count();
                }
            }
        }
    }
    assert!(held_up > 120, "of 240 bounds only {held_up} were met");
}

/// With collection at work, energies by operation and by whom they are for add up to the same, and requests have theirs.
#[test]
fn energies_add_up() {
    let geometry = "geometry={ channels = 2, chips_per_channel = 2, dies_per_chip = 1, planes_per_die = 1, \
                    blocks_per_plane = 32, pages_per_block = 16 }";
    for ways in [1, 4] {
        let ways = format!("ftl.interleaving.ways={ways}");
        let config = shipped(
            "mlc-25nm.toml",
            &[
                geometry,
                "ftl.over_provisioning=0.4",
                &ways,
                "read.policy=look_ahead",
                "precondition.layout=steady_state",
            ],
        );
        let stream = Stream::new(5, Purpose::Workload);
        let user = config.user_codewords();
        let kind = |i| if stream.bits(i, 1).is_multiple_of(2) { RequestKind::Read } else { RequestKind::Write };
        let requests = (0..8000).map(|i| {
            let first = stream.bits(i, 0) % (user - 8);
            request(kind(i), Ns(i * 400_000), first, 1 + stream.bits(i, 2) % 8)
        });
        let mut simulation = run(&config, requests.collect());
        let energy = simulation.statistics().energy;
        assert!(energy.background > softsense_base::Pj(0) && energy.erase > softsense_base::Pj(0));
        assert_eq!(energy.reads + energy.writes + energy.background, energy.total());
        let logged: u64 = simulation.take_log().iter().map(|row| row.energy.0).sum();
        assert_eq!(logged, (energy.reads + energy.writes).0);
    }
}
