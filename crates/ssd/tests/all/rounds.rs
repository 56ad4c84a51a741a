//! Busy units that begin together and wait for one another: gangs whose elements share control, and elements with parallel units,
//! on the machine of DiskSim. Does each take to the nanosecond what its model says?

use crate::support;
use crate::support::{request, responses, run, small_disksim};
use softsense_base::Ns;
use softsense_config::checked::CheckedConfig;
use softsense_requests::RequestKind::{Read, Write};
use softsense_ssd::run::{Requests, Run};

// Of configs/disksim-ssd.toml, in nanoseconds: an operation, its transfer with it, and a page on the bus.
const SENSE: u64 = 25_000;
const TRANSFER: u64 = 102_400;
const READ: u64 = SENSE + TRANSFER;
const WRITE: u64 = TRANSFER + 200_000;

/// Pages 0 to 7 are in eight elements, one on each channel, and so on.
fn gang(more: &[&str]) -> CheckedConfig {
    small_disksim(more)
}

/// One element of four parallel units with two planes each: page p is in unit p mod 4.
fn element(more: &[&str]) -> CheckedConfig {
    let base = [
        "geometry.channels=1",
        "geometry.dies_per_chip=4",
        "geometry.planes_per_die=2",
        "flash.busy_unit=die",
        "host.reads_first=true",
    ];
    gang(&[&base[..], more].concat())
}

/// Does what comes at one instant begin together, and what waits when the slowest is over, in the gang and in no other?
#[test]
fn elements_of_a_gang_wait_for_one_another() {
    // Elements 0, 1, 0 again, and 2; the last comes to a free element 3 while the others are at work.
    let requests = [(Read, 0, 0), (Read, 1, 0), (Read, 8, 0), (Write, 2, 0), (Read, 3, 10_000)];
    for (gang_of, expected) in [
        ("", [READ, READ, 2 * READ, WRITE, READ]),
        ("flash.rounds.among.channels=1", [READ, READ, 2 * READ, WRITE, READ]),
        ("flash.rounds.among.channels=2", [READ, READ, 2 * READ, WRITE, WRITE - 10_000 + READ]),
        ("flash.rounds.among.channels=8", [READ, READ, WRITE + READ, WRITE, WRITE - 10_000 + READ]),
    ] {
        let config = if gang_of.is_empty() { gang(&[]) } else { gang(&[gang_of]) };
        assert_eq!(responses(&config, &requests), expected, "{gang_of}");
    }
}

/// Are the pages of one request read together, each over its own bus?
#[test]
fn a_request_over_a_gang_is_one_round() {
    for pages in 1..=8 {
        let read = vec![request(Read, Ns::ZERO, 0, pages), request(Read, Ns::ZERO, 8, pages)];
        let mut rows = run(&gang(&["flash.rounds.among.channels=8"]), read).take_log();
        rows.sort_by_key(|row| row.request);
        assert_eq!(rows.iter().map(|row| row.response.0).collect::<Vec<_>>(), [READ, 2 * READ], "{pages}");
    }
}

/// Is what waits for an element a batch: its reads in rounds, sensed together and transferred one by one, then its writes, programmed
/// together? What comes meanwhile waits for all of it.
#[test]
fn parallel_units_serve_batches_in_rounds() {
    let batch = element(&["flash.rounds={ among = \"chip\", take = \"batch\" }"]);
    // The first finds the element free, and is a batch of its own. Pages 1, 5 and 2 are in units 1, 1 and 2.
    let requests = [
        (Read, 0, 0),
        (Write, 100, 0),
        (Read, 1, 0),
        (Read, 5, 0),
        (Write, 101, 0),
        (Read, 2, 0),
        (Read, 3, READ + 1_000),
    ];
    let first_round = READ + SENSE;
    let second_round = first_round + 2 * TRANSFER + SENSE;
    let writes = second_round + TRANSFER;
    let over = writes + TRANSFER + WRITE;
    assert_eq!(
        responses(&batch, &requests),
        [
            READ,
            writes + WRITE,
            first_round + TRANSFER,
            second_round + TRANSFER,
            over,
            first_round + 2 * TRANSFER,
            over + READ - (READ + 1_000)
        ]
    );
}

/// Without batches, does a read that comes while writes wait go before them in the next round?
#[test]
fn rounds_of_the_first_of_each_let_reads_by() {
    let rounds = element(&["flash.rounds.among=chip"]);
    // Writes go to units 0, 1, 2, 3 and 0 again; all of a round program together.
    let mut requests: Vec<_> = (100..105).map(|page| (Write, page, 0)).collect();
    requests.push((Read, 0, 1_000));
    let round = 3 * TRANSFER + WRITE;
    let expected = [WRITE, TRANSFER + WRITE, 2 * TRANSFER + WRITE, round, round + READ + WRITE, round + READ - 1_000];
    assert_eq!(responses(&rounds, &requests), expected);
}

/// Is a retry part of the batch that is under way, before its writes?
#[test]
fn retries_go_before_the_writes_of_a_batch() {
    let batch = element(&[
        "flash.rounds={ among = \"chip\", take = \"batch\" }",
        "read.max_level=2",
        "reliability={ fixed = { p_fail = [1.0, 0.0] } }",
    ]);
    let requests = [(Read, 0, 0), (Read, 1, 0), (Write, 100, 0)];
    assert_eq!(responses(&batch, &requests), [3 * READ, 4 * READ, 4 * READ + WRITE]);
}

/// Where reads go first, does one of data that is being written wait behind its program all the same, and another not?
#[test]
fn reads_of_data_in_flight_are_in_no_hurry() {
    let requests = [(Write, 5, 0), (Write, 21, 0), (Read, 21, 0), (Read, 13, 0)];
    let first = gang(&["host.reads_first=true"]);
    assert_eq!(responses(&first, &requests), [WRITE, WRITE + READ + WRITE, 2 * (WRITE + READ), WRITE + READ]);
    let batch = element(&["flash.rounds={ among = \"chip\", take = \"batch\" }"]);
    // Writes go to units 0 and 1; page 21 is read in unit 1 when it is there.
    assert_eq!(responses(&batch, &requests), [WRITE, WRITE + READ + WRITE, 2 * (WRITE + READ), WRITE + READ]);
}

/// Are all written pages found again, and is everything done, on gangs and elements under load?
#[test]
fn nothing_is_lost_in_rounds() {
    for config in [
        gang(&["flash.rounds.among.channels=4"]),
        gang(&["flash.rounds={ among = { channels = 8 }, take = \"batch\" }"]),
        element(&["flash.rounds={ among = \"chip\", take = \"batch\" }"]),
    ] {
        let requests = support::random_requests(&config, 3_000, 600, Ns(300_000));
        let served = support::served(&config, &requests);
        let simulation = run(&config, requests);
        assert_eq!(simulation.statistics().completed(), 3_000);
        support::assert_map(&simulation, &served);
    }
}

/// A drive with these fields, and the MB/s at which it takes long sequential writes.
fn written_in_sequence(drive: &str, fields: &[&str]) -> (CheckedConfig, f64) {
    let writes = [
        "precondition.layout='sequential'",
        "workload.read_fraction=0.0",
        "workload.sizes=[{ bytes = 131072, share = 1.0 }]",
        "workload.addresses='sequential'",
        "workload.arrivals='immediate'",
        "workload.footprint_bytes=none",
        "workload.requests=12000",
        "host.issue={ closed_loop = { queue_depth = 32 } }",
    ];
    let config = support::shipped(drive, &[&writes[..], fields].concat());
    let mut run = Run::new(&config, Requests::Workload, false).unwrap();
    while run.advance(1_000_000).unwrap() {}
    let found = run.summary(false).throughput.write_mb_per_s.unwrap();
    (config, found)
}

/// Do multi-plane programs have as many planes where their pages come one after the other, through DRAM or encoders, as where they come at one
/// instant? The bandwidth of long sequential writes is that of dies that program all their planes at once, each page after the transfers of
/// its die: 32 dies, or 64, of two planes.
#[test]
fn pages_that_come_apart_meet_in_one_command() {
    let (program_us, transfer_us) = ((820.0 + 2_200.0 + 5_700.0) / 3.0, 4.0 * 5.12);
    for channels in [8, 4] {
        for way in [
            "seed=1",
            "host.dram.speed.bandwidth_gb_per_s=12.8",
            "host.dram.speed.bandwidth_gb_per_s=1.5",
            "encoder={ placement = { per_channel = 1 }, time_us = 2.0 }",
            "encoder={ placement = { per_channel = 2 }, time_us = 5.0 }",
        ] {
            let (config, found) = written_in_sequence(
                "tlc-femu.toml",
                &[
                    &format!("geometry.channels={channels}"),
                    "flash.busy_unit='plane'",
                    "flash.rounds={ among = 'die', take = 'multi_plane' }",
                    way,
                ],
            );
            let geometry = config.geometry();
            let pages = f64::from(geometry.planes()) / (program_us + 2.0 * transfer_us);
            let expected = pages * config.config().geometry.page_bytes() as f64;
            assert!((found / expected - 1.0).abs() < 0.03, "{channels} channels, {way}: {found} of {expected} MB/s");
        }
    }
}

/// What do multi-plane programs, cache program and parity give together? Dies of four planes are programmed at once; the pages cross the bus
/// before each program, or during the one before it; and of each stripe a page is parity.
#[test]
fn parity_and_cache_program_go_with_multi_plane_programs() {
    let (program_us, transfer_us) = (356.0, 4.0 * 2.304);
    for (parity, share) in
        [("seed=1", 1.0), ("ftl.parity={ data_pages = 1 }", 0.5), ("ftl.parity={ data_pages = 7 }", 7.0 / 8.0)]
    {
        for (cached, period_us) in [(false, program_us + 4.0 * transfer_us), (true, program_us)] {
            let (config, found) = written_in_sequence(
                "tlc-client.toml",
                &[
                    "ftl.slc_cache=none",
                    "flash.rounds={ among = 'die', take = 'multi_plane', reads = 'independent' }",
                    &format!("flash.cache_program={cached}"),
                    parity,
                ],
            );
            let pages = f64::from(config.geometry().planes()) / period_us;
            let expected = share * pages * config.config().geometry.page_bytes() as f64;
            assert!(
                (found / expected - 1.0).abs() < 0.03,
                "{parity}, cache program {cached}: {found} of {expected} MB/s"
            );
        }
    }
}
