//! The machine of DiskSim's SSD extension, feature by feature: does each take to the nanosecond what its model says?

use crate::support;
use crate::support::{request, run, small_disksim};
use softsense_base::Ns;
use softsense_config::checked::CheckedConfig;
use softsense_config::ids::{Lcn, Plane, Ssd};
use softsense_ftl::Location;
use softsense_requests::{Request, RequestKind};

// Of configs/disksim-ssd.toml, in nanoseconds.
const SENSE: u64 = 25_000;
const TRANSFER: u64 = 102_400;
const PROGRAM: u64 = 200_000;

/// A synchronous gang of eight elements: one that has pages eight times as large.
fn gang(more: &[&str]) -> CheckedConfig {
    small_disksim(
        &[&["geometry.codewords_per_page=8", "ftl.whole_pages=true", "host.partial_write=copy_back"], more].concat(),
    )
}

/// Responses of requests that arrive at the same time, by their number.
fn responses(config: &CheckedConfig, requests: &[(RequestKind, u64, u64)]) -> Vec<u64> {
    let requests = requests.iter().map(|&(kind, first, count)| request(kind, Ns::ZERO, first, count)).collect();
    let mut rows = run(config, requests).take_log();
    rows.sort_by_key(|row| row.request);
    rows.iter().map(|row| row.response.0).collect()
}

use RequestKind::{Read, Write};

/// Does what is busy as one serve one page after the other, with its transfer, and do others work at the same time? Logical pages
/// 0, 4 and 8 are in the same channel: in its two chips, and in the second die of the first.
#[test]
fn planes_of_a_busy_unit_take_turns() {
    let shape = "geometry={ channels = 4, chips_per_channel = 2, dies_per_chip = 2, planes_per_die = 1, blocks_per_plane = 32 }";
    let (transfer, one) = (10_000, SENSE + 10_000);
    for (unit, expected) in [
        // Sensings overlap, and the bus takes one after the other.
        ("plane", [one, one + transfer, one + 2 * transfer]),
        // Page 8 is sensed when page 0 has left the chip.
        ("chip", [one, one + transfer, 2 * one]),
        ("channel", [one, 2 * one, 3 * one]),
    ] {
        let config = small_disksim(&[shape, &format!("flash.busy_unit={unit}"), "bus.transfer_us=10.0"]);
        assert_eq!(responses(&config, &[(Read, 0, 1), (Read, 4, 1), (Read, 8, 1)]), expected, "{unit}");
    }
}

/// Does a write stay in the pool of its logical page, whatever is written before?
#[test]
fn writes_stay_in_their_pool() {
    let shape = "geometry={ channels = 4, chips_per_channel = 2, dies_per_chip = 1, planes_per_die = 2, blocks_per_plane = 32 }";
    for (pool, pools, planes) in [("channel", 4, 4), ("chip", 8, 2), ("plane", 16, 1)] {
        for choice in ["in_turn", "most_free"] {
            let config =
                small_disksim(&[shape, &format!("ftl.allocation_pool={pool}"), &format!("ftl.plane_choice={choice}")]);
            let user = config.user_codewords();
            // Odd strides, so that every page meets every turn of the stripe.
            let writes = (0..3 * user).map(|i| request(Write, Ns(i * 100_000), i * 7 % user, 1)).collect();
            let simulation = run(&config, writes);
            let pool_of = |place| {
                let plane = config.geometry().split_block(config.geometry().block_of(place)).0;
                plane.0 / planes
            };
            // Pools are numbered as the stripe meets them.
            let expected: Vec<u32> =
                config.geometry().stripe(Ssd(0))[..pools].iter().map(|plane| plane.0 / planes).collect();
            for lcn in 0..user {
                let Location::Flash(place) = simulation.ftl().locate(Lcn(lcn)) else { panic!("{lcn} is nowhere") };
                assert_eq!(pool_of(place), expected[lcn as usize % pools], "{pool}, {choice}: page {lcn}");
            }
            simulation.ftl().assert_consistent();
        }
    }
}

/// A pool's writes wait for one another, those of other pools do not: pages 0 and 8 share an element of eight.
#[test]
fn pools_that_are_elements_work_at_the_same_time() {
    let one = TRANSFER + PROGRAM;
    let found = responses(&small_disksim(&[]), &[(Write, 0, 1), (Write, 1, 1), (Write, 8, 1)]);
    assert_eq!(found, [one, one, 2 * one]);
}

/// Where units would be erased at the same time if planes took turns, they are erased one by one if the plane with the most free
/// pages is written: writes stay in the plane that was erased last.
#[test]
fn the_most_free_plane_is_written() {
    let config = small_disksim(&["geometry.channels=1", "geometry.planes_per_die=4"]);
    let user = config.user_codewords();
    let writes: Vec<Request> = (0..4 * user).map(|i| request(Write, Ns(i * 10_000_000), i % user, 1)).collect();
    let mut plane_changes = Vec::new();
    for choice in ["in_turn", "most_free"] {
        let config =
            small_disksim(&["geometry.channels=1", "geometry.planes_per_die=4", &format!("ftl.plane_choice={choice}")]);
        let simulation = run(&config, writes.clone());
        let planes: Vec<Plane> = (0..user)
            .map(|lcn| match simulation.ftl().locate(Lcn(lcn)) {
                Location::Flash(place) => config.geometry().split_block(config.geometry().block_of(place)).0,
                other => panic!("{other:?}"),
            })
            .collect();
        plane_changes.push(planes.windows(2).filter(|pair| pair[0] != pair[1]).count() as u64);
    }
    assert!(plane_changes[0] > user * 9 / 10, "planes take turns: {plane_changes:?}");
    assert!(plane_changes[1] < user / 10, "writes stay where a block was erased: {plane_changes:?}");
}

/// A superpage is written whole: eight transfers and one program, and a sensing first where part of it is old. Padded, nothing is
/// sensed; without superpages one codeword takes one transfer.
#[test]
fn superpages_are_written_whole() {
    let whole = 8 * TRANSFER + PROGRAM;
    // The back end transfers a page at once, of as many codewords as it has.
    assert_eq!(responses(&gang(&[]), &[(Write, 0, 8)]), [whole]);
    assert_eq!(responses(&gang(&[]), &[(Write, 3, 1)]), [whole + SENSE]);
    assert_eq!(responses(&gang(&["host.partial_write=pad"]), &[(Write, 3, 1)]), [whole]);
    // Half of one superpage and half of the next are in two elements.
    assert_eq!(responses(&gang(&[]), &[(Write, 4, 8)]), [whole + SENSE]);
    let simulation = run(&gang(&[]), vec![request(Write, Ns::ZERO, 4, 8)]);
    let statistics = simulation.statistics();
    assert_eq!((statistics.host_codewords_written, statistics.host_codewords_programmed()), (8, 16));
    assert_eq!(statistics.operations.senses, 2);
}

/// Old data is not lost when its superpage is written, and trimmed data does not come back.
#[test]
fn superpages_keep_what_was_not_written() {
    let config = gang(&[]);
    let requests = support::random_requests(&config, 3_000, 600, Ns(2_000_000));
    let served = support::served(&config, &requests);
    support::assert_map(&run(&config, requests), &served);
}

/// Codewords of a page share a sensing, or each has its own.
#[test]
fn sensings_are_shared_or_not() {
    for codewords in 1..=8 {
        assert_eq!(responses(&gang(&[]), &[(Read, 8, codewords)]), [SENSE + codewords * TRANSFER]);
        let each = gang(&["flash.shared_sensing=false"]);
        assert_eq!(responses(&each, &[(Read, 8, codewords)]), [codewords * (SENSE + TRANSFER)]);
    }
}

/// A read of what is being written has it from memory after 1 us, or waits in its element until that has programmed it.
#[test]
fn reads_of_data_in_flight_wait_for_it_or_do_not() {
    let memory = 1_000;
    let one = TRANSFER + PROGRAM;
    let at_once = [(Write, 5, 1), (Read, 5, 1)];
    assert_eq!(responses(&small_disksim(&["host.serves_in_flight=true"]), &at_once), [one, memory]);
    assert_eq!(responses(&small_disksim(&[]), &at_once), [one, one + SENSE + TRANSFER]);
}

/// Where a cache register is for looking ahead only, a read looks ahead as ever, and nobody else is sensed before it has left.
#[test]
fn a_register_for_look_ahead_leaves_units_serial() {
    let device = |register_for: &str, p_fail: f64| {
        small_disksim(&[
            "flash.cache_register=true",
            &format!("flash.cache_register_for={register_for}"),
            "read.policy=look_ahead",
            "read.max_level=2",
            "decoder.time={ fixed_us = 8.0 }",
            &format!("reliability={{ fixed = {{ p_fail = [{p_fail:.1}, 0.0] }} }}"),
            "flash.page_types=[{ name = \"page\", sense_us = 25.0, sense_extra_level_us = 14.0, program_us = 200.0 }]",
        ])
    };
    let (level_2, decode) = (SENSE + 14_000, 8_000);
    // The sensing ahead is over when the failure is known, or what is left of it is waited for.
    let ahead = SENSE + (TRANSFER + decode).max(level_2) + TRANSFER + decode;
    for register_for in ["any_read", "look_ahead"] {
        assert_eq!(responses(&device(register_for, 1.0), &[(Read, 0, 1)]), [ahead], "{register_for}");
    }
    let two = [(Read, 0, 1), (Read, 8, 1)];
    let one = SENSE + TRANSFER + decode;
    assert_eq!(responses(&device("any_read", 0.0), &two), [one, one + TRANSFER]);
    assert_eq!(responses(&device("look_ahead", 0.0), &two), [one, one - decode + one]);
}

/// Do all codewords of a page fail or are decoded together if that is said, and each page as often as it was?
#[test]
fn failures_are_drawn_for_pages_or_codewords() {
    let device = |drawn_for: &str| {
        gang(&[
            "read.max_level=2",
            &format!("reliability={{ fixed = {{ p_fail = [0.3, 0.0], drawn_for = \"{drawn_for}\" }} }}"),
        ])
    };
    for (drawn_for, together) in [("codeword", false), ("page", true)] {
        let config = device(drawn_for);
        let pages = config.user_codewords() / 8;
        let reads = (0..pages).map(|page| request(Read, Ns(page * 10_000_000), 8 * page, 8)).collect();
        let simulation = run(&config, reads);
        let levels = simulation.statistics().level_histogram;
        let failed = levels[1] as f64 / (levels[0] + levels[1]) as f64;
        // Binomial: five standard errors of as many draws as there are.
        let draws = if together { pages } else { 8 * pages } as f64;
        assert!((failed - 0.3).abs() < 5.0 * (0.21 / draws).sqrt(), "{drawn_for}: {failed}");
        let retried = simulation.statistics().operations.senses - pages;
        let expected = if together { 0.3 } else { 1.0 - 0.7f64.powi(8) };
        let error = 5.0 * (expected * (1.0 - expected) / pages as f64).sqrt();
        assert!((retried as f64 / pages as f64 - expected).abs() < error, "{drawn_for}: {retried} of {pages}");
    }
}

/// Is what cannot go together refused by name?
#[test]
fn what_cannot_go_together_is_refused() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs/disksim-ssd.toml")).unwrap();
    for (overrides, path) in [
        (vec!["ftl.interleaving.ways=2"], "ftl.allocation_pool"),
        (vec!["host.write_buffer_bytes=1048576"], "ftl.allocation_pool"),
        (vec!["precondition.layout=steady_state"], "ftl.allocation_pool"),
        (vec!["ftl.stripe=[\"plane\", \"channel\", \"chip\", \"die\"]"], "ftl.allocation_pool"),
        (vec!["ftl.whole_pages=true", "host.partial_write=read_modify_write"], "ftl.whole_pages"),
        (vec!["encoder.placement.per_channel=1"], "host.serves_in_flight"),
        (vec!["flash.busy_unit=channel", "flash.rounds.among=chip"], "flash.rounds.among"),
        (vec!["flash.rounds.among.channels=3"], "flash.rounds.among.channels"),
        (vec!["flash.rounds.among.channels=0"], "flash.rounds.among.channels"),
        (
            vec![
                "flash.rounds.among=chip",
                "host.reads_first=true",
                "flash.suspend={ program_us = 5.0, erase_us = 5.0 }",
            ],
            "flash.rounds",
        ),
        (
            vec![
                "flash.rounds.among=chip",
                "ftl.allocation_pool=ssd",
                "ftl.plane_choice=in_turn",
                "host.serves_in_flight=true",
                "ftl.interleaving.ways=2",
            ],
            "flash.rounds",
        ),
        (
            vec![
                "flash.busy_unit=channel",
                "ftl.allocation_pool=ssd",
                "ftl.plane_choice=in_turn",
                "host.serves_in_flight=true",
                "ftl.interleaving.ways=2",
            ],
            "flash.busy_unit",
        ),
        (
            vec![
                "host.partial_write=copy_back",
                "ftl.allocation_pool=ssd",
                "ftl.interleaving.ways=2",
                "host.serves_in_flight=true",
            ],
            "host.partial_write",
        ),
        (vec!["ftl.allocation_pool=ssd", "ftl.interleaving.ways=2", "host.serves_in_flight=true"], "ftl.plane_choice"),
    ] {
        let overrides: Vec<String> = overrides.into_iter().map(String::from).collect();
        let error = CheckedConfig::from_toml(&text, "disksim-ssd.toml", &overrides).unwrap_err().to_string();
        assert!(error.contains(path) && error.contains("expected"), "{overrides:?}: {error}");
    }
}
