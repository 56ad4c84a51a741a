//! The controller's memory: does the read buffer have what it should, at the price that is said, and does a write buffer with
//! replacement keep what was written last?

use crate::support;
use std::collections::HashMap;

use crate::support::{request, run, shipped, units_of};
use softsense_base::{Ns, Purpose, Result, Stream};
use softsense_config::checked::CheckedConfig;
use softsense_config::ids::{Lcn, Superblock};
use softsense_config::own::{AdmitPages, MissedPage, Own, OwnDevice, OwnThing};
use softsense_requests::{Request, RequestKind};
use softsense_ssd::run::{Requests, Run};
use softsense_ssd::simulation::Simulation;

/// The small device of LAE-FTL with few blocks, pages of two units that need no retry, and data that lies in the order of its addresses.
fn device(more: &[&str]) -> CheckedConfig {
    let base = [
        "geometry.blocks_per_plane=48",
        "geometry.pages_per_block=64",
        "reliability=\"perfect\"",
        "decoder.time={ fixed_us = 8.0 }",
        "bus.transfer_us=20.0",
        "precondition.layout=sequential",
        "host.controller_memory_us=1.5",
    ];
    shipped("mlc-lae.toml", &[&base, more].concat())
}

/// With parity that takes 512 bytes of each unit.
fn squeezed(more: &[&str]) -> CheckedConfig {
    let codes = "reliability={ bch = { oob_bytes = 224, rber = { constant = { rber = 0.001 } }, codes = [{ codeword_bytes = 4096, \
                 correctable = 362, to_pe_cycles = 1000 }] } }";
    device(&[&[codes], more].concat())
}

const BUFFER: &str = "host.read_buffer={ bytes = 32768, takes = 'whole_pages' }";

fn reads(lcns: &[u64]) -> Vec<Request> {
    lcns.iter().zip(0..).map(|(&lcn, i)| request(RequestKind::Read, Ns(i * 10_000_000), lcn, 1)).collect()
}

fn responses(simulation: &mut Simulation) -> Vec<f64> {
    simulation.take_log().iter().map(|row| row.response.as_us()).collect()
}

/// A miss reads its page whole: sense, two transfers, the second decode behind the second transfer. A hit, of either unit of the page,
/// crosses the controller's memory. Four pages fit; the one that was used longest ago has gone.
#[test]
fn hits_take_the_controllers_memory_and_misses_a_whole_page() {
    let config = device(&[BUFFER]);
    // Pages of units 0 and 1, 2 and 3 and so on, in planes that take turns.
    let mut done = run(&config, reads(&[0, 1, 0, 2, 4, 6, 1, 8, 2, 0]));
    let miss = 75.0 + 20.0 + 20.0 + 8.0;
    assert_eq!(responses(&mut done), [miss, 1.5, 1.5, miss, miss, miss, 1.5, miss, miss, 1.5]);
    let statistics = done.statistics();
    assert_eq!(
        (statistics.read_buffer_hits, statistics.read_buffer_misses, statistics.read_along_codewords),
        (4, 6, 6)
    );
    assert_eq!((statistics.operations.senses, statistics.codewords_from_controller), (6, 4));
    // Without it every read takes its own unit.
    let mut without = run(&device(&[]), reads(&[0, 1, 0]));
    assert_eq!(responses(&mut without), [75.0 + 20.0 + 8.0; 3]);
    assert_eq!(without.statistics().read_buffer_misses, 0);
}

/// Where codewords are taken one by one, a miss costs what it costs without a buffer, and the other unit of its page misses as well; both hit
/// afterwards, from one line. A loss of power leaves nothing behind.
#[test]
fn codewords_are_taken_one_by_one() {
    let config = device(&["host.read_buffer={ bytes = 32768 }"]);
    let mut done = run(&config, reads(&[0, 0, 1, 1, 0, 2, 4, 6, 1, 8, 0, 2]));
    let miss = 75.0 + 20.0 + 8.0;
    assert_eq!(responses(&mut done), [miss, 1.5, miss, 1.5, 1.5, miss, miss, miss, 1.5, miss, 1.5, miss]);
    assert_eq!((done.statistics().read_buffer_hits, done.statistics().read_along_codewords), (5, 0));
    let config = device(&[
        "host.read_buffer={ bytes = 32768 }",
        "power_loss={ at_s = [0.025], off_us = 0.0, power_up_us = 10.0 }",
    ]);
    let hits = |lcns: &[u64]| run(&config, reads(lcns)).statistics().read_buffer_hits;
    assert_eq!([hits(&[0; 3]), hits(&[0; 5])], [2, 3], "the fourth read comes after it");
}

/// Do reads at random, of which none comes twice, respond as without a buffer, alone and together, with reading ahead or without? So a
/// buffer that sequential reads need costs the others nothing.
#[test]
fn reads_that_never_come_again_are_not_affected() {
    let user = device(&[]).user_codewords();
    for gap_ns in [10_000_000, 30_000] {
        let at_random = |config: &CheckedConfig| {
            let step = |i: u64| i * 7919 % user;
            let requests = (0..2_000u64).map(|i| request(RequestKind::Read, Ns(i * gap_ns), step(i), 1));
            responses(&mut run(config, requests.collect()))
        };
        let without = at_random(&device(&[]));
        for ahead in [&[][..], &["host.read_ahead={ most_pages = 4 }"]] {
            let config = device(&[&["host.read_buffer={ bytes = 65536 }"], ahead].concat());
            assert!(at_random(&config) == without, "{ahead:?}, a read each {gap_ns} ns");
        }
    }
}

/// What is overwritten is read where it is now; the rest of its page still hits. A write that covers a unit in part needs no
/// sensing if the unit is there.
#[test]
fn overwritten_data_is_stale_and_partial_writes_hit() {
    let config = device(&[BUFFER, "host.write_buffer_bytes=0"]);
    let at = |i: u64| Ns(i * 10_000_000);
    let write = |i, lcn| request(RequestKind::Write, at(i), lcn, 1);
    let read = |i, lcn| request(RequestKind::Read, at(i), lcn, 1);
    let part = |i: u64, lcn: u64| units_of(512, RequestKind::Write, at(i), 8 * lcn, 1);
    let done = run(&config, vec![read(0, 0), write(1, 0), read(2, 0), read(3, 1), part(4, 1), part(5, 9), part(6, 8)]);
    let statistics = done.statistics();
    assert_eq!((statistics.read_buffer_hits, statistics.read_buffer_misses), (1, 2));
    assert_eq!((statistics.read_buffer_modify_hits, statistics.read_buffer_modify_misses), (2, 1));
    assert_eq!(statistics.read_modify_writes, 1);
    done.ftl().assert_consistent();
}

/// A unit that crosses pages brings along what lies in both pages whole, and nothing that reaches further.
#[test]
fn pages_of_crossing_units_are_kept_whole() {
    let one = ["geometry.channels=1", "geometry.dies_per_chip=1"];
    let config = squeezed(&[&one[..], &[BUFFER]].concat());
    // 7,168 bytes a page: unit 0 lies in page 0, 1 in 0 and 1, 2 in 1 and 2, 3 in 1 and 2 ... by their bytes.
    let pages = |unit: u64| (unit * 4096 / 7168, ((unit + 1) * 4096 - 1) / 7168);
    let done = run(&config, reads(&[1, 0, 2]));
    assert_eq!((pages(0), pages(1), pages(2)), ((0, 0), (0, 1), (1, 1)));
    let statistics = done.statistics();
    assert_eq!((statistics.read_buffer_hits, statistics.operations.senses), (2, 2));
    assert_eq!(statistics.read_along_codewords, 2);
}

/// Blocks that are collected take their lines with them: what is read afterwards is what is there.
#[test]
fn erased_blocks_are_forgotten() {
    let config = squeezed(&[BUFFER, "precondition.layout=steady_state", "ftl.over_provisioning=0.5"]);
    let user = config.user_codewords();
    let requests = (0..20_000u64).map(|i| {
        // Each of the units that are read three times in turn.
        let (kind, at) = if i % 3 == 0 { (RequestKind::Read, i / 9) } else { (RequestKind::Write, i) };
        request(kind, Ns(i * 400_000), at * 7919 % (user / 8), 1)
    });
    let done = run(&config, requests.collect());
    assert!(done.statistics().operations.erases > 20);
    done.ftl().assert_consistent();
    assert!(done.statistics().read_buffer_hits > 0);
}

/// Two hot units written in turn among cold ones: with replacement they never reach flash until the end, without they do all the time.
#[test]
fn a_write_buffer_with_replacement_keeps_what_is_overwritten() {
    let requests = || {
        let lcn = |i: u64| if i.is_multiple_of(2) { i / 2 % 2 } else { 100 + i };
        (0..400u64).map(|i| request(RequestKind::Write, Ns(i * 3_000_000), lcn(i), 1)).collect()
    };
    let with = |more: &[&str]| run(&device(&[&["host.write_buffer_bytes=65536"], more].concat()), requests());
    let (full_page, lru) = (with(&[]), with(&["host.write_buffer_replacement=lru"]));
    assert_eq!(full_page.statistics().coalesced_codewords, 0);
    // Of 200 writes to two units all but the first two are overwritten in the buffer.
    assert_eq!(lru.statistics().coalesced_codewords, 198);
    assert_eq!(lru.statistics().host_codewords_programmed(), 202);
    // A full buffer of sixteen units programs one page for two units that wait.
    for done in [&full_page, &lru] {
        done.ftl().assert_consistent();
        assert_eq!(done.buffered_codewords(), 0);
    }
}

/// A write buffer with replacement that is smaller than an interleaved group is programmed when it is full: no write waits for the end of the
/// run.
#[test]
fn a_write_buffer_smaller_than_a_group_is_programmed_when_it_is_full() {
    for replacement in ["full_page", "fifo", "lru"] {
        for remainder in ["pad", "plain"] {
            let more = [
                &format!("host.write_buffer_replacement={replacement}"),
                &format!("ftl.interleaving={{ ways = 4, remainder = \"{remainder}\" }}"),
                "geometry.chips_per_channel=2",
                "host.write_buffer_bytes=16384",
            ];
            let config = device(&more);
            let requests = (0..200u64).map(|i| request(RequestKind::Write, Ns(i * 20_000_000), 7 * i, 1)).collect();
            let mut simulation = run(&config, requests);
            let slowest = responses(&mut simulation).into_iter().fold(0.0, f64::max);
            assert!(slowest < 15_000.0, "{slowest} us with {replacement}, {remainder}");
            simulation.ftl().assert_consistent();
        }
    }
}

/// One channel of sixteen planes, whose reads are issued one at a time.
const ONE_AT_A_TIME: &[&str] = &[
    "geometry.channels=1",
    "geometry.dies_per_chip=4",
    "geometry.planes_per_die=4",
    "host.issue={ closed_loop = { queue_depth = 1 } }",
    "host.read_buffer={ bytes = 1048576 }",
];

/// A stream of pages read one at a time takes sensing, transfers and a decode for each page; with reading ahead nothing but the transfers,
/// as sensing and decoding of one page go on while others are transferred. Nothing is wasted but the last window.
#[test]
fn a_sequential_stream_becomes_bound_by_transfers() {
    let pages = 400;
    let took_us = |more: &[&str]| {
        let config = device(&[ONE_AT_A_TIME, more].concat());
        let reads = (0..pages).map(|page| request(RequestKind::Read, Ns::ZERO, 2 * page, 2)).collect();
        let done = run(&config, reads);
        (done.statistics().last_completion.as_us() / pages as f64, done.statistics().read_ahead)
    };
    let (transfers, alone) = (2.0 * 20.0, 75.0 + 2.0 * 20.0 + 8.0);
    let (without, counts) = took_us(&[]);
    assert_eq!((without, counts.pages), (alone, 0));
    let (with, counts) = took_us(&["host.read_ahead={ most_pages = 16 }"]);
    assert!((with / transfers - 1.0).abs() < 0.02, "{with} us a page, {transfers} expected");
    assert_eq!((counts.pages, counts.used_pages), (pages + 16 - 2, pages - 2));
    // Too small a window leaves some of the sensing to be waited for.
    let (narrow, _) = took_us(&["host.read_ahead={ most_pages = 1, least_pages = 1 }"]);
    assert!(transfers * 1.5 < narrow && narrow < alone, "{narrow}");
}

/// Reads at random are what they were, to the nanosecond, and nothing is read ahead for them; streams that take turns are told apart.
#[test]
fn random_reads_are_not_read_ahead_of() {
    let stream = Stream::new(41, Purpose::Workload);
    let lcns: Vec<u64> = (0..500).map(|i| stream.bits(i, 0) % 3000 * 3).collect();
    let outcome = |more: &[&str]| {
        let requests = lcns.iter().map(|&lcn| request(RequestKind::Read, Ns::ZERO, lcn, 1)).collect();
        let mut done = run(&device(&[ONE_AT_A_TIME, more].concat()), requests);
        (responses(&mut done), done.statistics().read_ahead)
    };
    let ahead = outcome(&["host.read_ahead={}"]);
    assert_eq!(ahead, outcome(&[]));
    assert_eq!(ahead.1.pages, 0);
    let used_pages = |streams: &str| {
        let config = device(&[ONE_AT_A_TIME, &[streams]].concat());
        let by_turns = (0..200).map(|i| request(RequestKind::Read, Ns::ZERO, 1000 * (i % 2) + i / 2 * 2, 2)).collect();
        run(&config, by_turns).statistics().read_ahead.used_pages
    };
    assert_eq!(used_pages("host.read_ahead={ streams = 2 }"), 2 * 98);
    assert_eq!(used_pages("host.read_ahead={ streams = 1 }"), 0);
}

/// DRAM that a codeword crosses in 10.5 us, of which 0.5 are the access, and a map entry of 4 bytes in 0.51.
const DRAM: &str = "host.dram={ speed.bandwidth_gb_per_s = 0.4096, access_us = 0.5 }";

/// Each thing that crosses DRAM adds its time: map entries and data in before a write, data out before its program, data in and out
/// after a read, data out after a hit.
#[test]
fn dram_adds_the_time_of_what_crosses_it() {
    let requests = || {
        let at = |i: u64| Ns(i * 10_000_000);
        let (read, write) = (RequestKind::Read, RequestKind::Write);
        vec![request(read, at(0), 0, 1), request(write, at(1), 8, 1), request(read, at(2), 0, 2)]
    };
    let responses = |more: &[&str]| -> Vec<u64> {
        let more = [&["host.write_buffer_bytes=0"], more].concat();
        run(&device(&more), requests()).take_log().iter().map(|row| row.response.0).collect()
    };
    let (with, without) = (responses(&[DRAM]), responses(&[]));
    let (entry, codeword) = (510, 10_500);
    assert_eq!(with[0], without[0] + entry + 2 * codeword);
    assert_eq!(with[1], without[1] + entry + 2 * codeword);
    // Codewords of a page are decoded at 103 and 123 us; the second waits for the first to have crossed twice. Two entries are one access.
    assert_eq!((without[2], with[2]), (123_000, 520 + 103_000 + 4 * codeword));
    let buffered = responses(&[DRAM, BUFFER]);
    assert_eq!(buffered[2], 520 + 20_500);
}

/// Accesses that arrive at random wait as in an M/D/1 queue.
#[test]
fn dram_is_a_queue_of_fixed_service() {
    let stream = Stream::new(42, Purpose::Workload);
    let (service_us, rate) = (10.0, 0.06);
    let mut at_us = 0.0;
    let reads = (0..100_000).map(|i| {
        at_us -= (1.0 - stream.uniform(i, 0)).ln() / rate;
        request(RequestKind::Read, Ns::from_us(at_us), i % 1000, 1)
    });
    // What was never written is in memory.
    let dram = "host.dram={ speed.bandwidth_gb_per_s = 0.4096, map_entry_bytes = 0 }";
    let done = run(&device(&[dram, "precondition.mapped_fraction=0.0"]), reads.collect());
    let expected = service_us + rate * service_us * service_us / (2.0 * (1.0 - rate * service_us));
    let found = done.statistics().reads.mean_ns().expect("there were reads") * 1e-3;
    assert!((found / expected - 1.0).abs() < 0.02, "{found} us, {expected} expected");
    let (utilisation, _) = done.dram().expect("there is DRAM");
    assert!((utilisation / (rate * service_us) - 1.0).abs() < 0.02, "{utilisation}");
}

/// A wide device reads as fast as DRAM lets it, half of its bandwidth as all crosses twice; and what is moved crosses, too.
#[test]
fn dram_bounds_what_a_wide_device_does() {
    let narrow = "host.dram={ speed.bus = { width_bits = 8, transfer_rate_mt_per_s = 40.96 }, map_entry_bytes = 0 }";
    let deep = "host.issue={ closed_loop = { queue_depth = 64 } }";
    let config = device(&[narrow, deep, "geometry.channels=4"]);
    let reads: Vec<Request> = (0..4000).map(|i| request(RequestKind::Read, Ns::ZERO, i * 7 % 20_000, 1)).collect();
    let bytes = 4000.0 * 4096.0;
    let done = run(&config, reads);
    let gb_per_s = bytes / (done.statistics().last_completion.0 as f64);
    assert!((gb_per_s / (0.04096 / 2.0) - 1.0).abs() < 0.01, "{gb_per_s}");
    let (_, crossed) = done.dram().expect("there is DRAM");
    assert_eq!((crossed.host, crossed.flash, crossed.map), (4000 * 4096, 4000 * 4096, 0));
    let config = device(&[DRAM, deep, "precondition.layout=steady_state", "ftl.over_provisioning=0.5"]);
    let user = config.user_codewords() / 2;
    let writes = (0..20_000u64).map(|i| request(RequestKind::Write, Ns::ZERO, i * 7919 % user * 2, 2));
    let done = run(&config, writes.collect());
    let (statistics, (_, crossed)) = (done.statistics(), done.dram().expect("there is DRAM"));
    assert_eq!((crossed.host, crossed.map), (40_000 * 4096, 40_000 * 4));
    let (host, moved) = (statistics.host_codewords_programmed(), statistics.gc_codewords_programmed());
    let flash = crossed.flash / 4096;
    assert!(moved > 1000 && (host + 2 * moved..=host + 2 * moved + moved / 20).contains(&flash), "{flash}");
}

const MERGING: &[&str] = &["host.write_buffer_bytes=1048576", "host.partial_write=merge"];

/// A write of sectors of 512 bytes.
fn sectors(i: u64, first: u64, count: u64) -> Request {
    units_of(512, RequestKind::Write, Ns(i * 10_000_000), first, count)
}

/// Two halves of a unit need no read of the old one, whichever comes first; a half alone needs one when it is programmed, and what is
/// read of it before comes from the buffer.
#[test]
fn parts_that_meet_in_the_write_buffer_need_no_read() {
    let read = |i: u64, first, count| units_of(512, RequestKind::Read, Ns(i * 10_000_000), first, count);
    let done = run(
        &device(MERGING),
        vec![sectors(0, 4, 4), sectors(1, 0, 4), sectors(2, 82, 4), read(3, 83, 2), read(4, 80, 3), sectors(5, 84, 3)],
    );
    let statistics = done.statistics();
    assert_eq!((statistics.merged_codewords, statistics.read_modify_writes), (1, 1));
    assert_eq!((statistics.codewords_from_controller, statistics.codewords_read()), (1, 1));
    assert_eq!((statistics.coalesced_codewords, statistics.host_codewords_programmed()), (2, 2));
    // With flushes that wait for what is read, and trims after which there is nothing to be read.
    let trim = |i: u64| request(RequestKind::Trim, Ns(i * 10_000_000), 10, 1);
    let requests = vec![sectors(0, 4, 4), flush_at(1), sectors(2, 82, 4), trim(3), sectors(4, 80, 1)];
    let mut flushed = run(&device(MERGING), requests);
    assert_eq!(flushed.statistics().read_modify_writes, 1);
    // What is missing is read by its sensing, its way over the bus and its decode; then the page takes its transfer and program.
    let fill = 75.0 + 20.0 + 8.0;
    let flush = responses(&mut flushed)[1];
    let mut whole = run(&device(MERGING), vec![sectors(0, 0, 8), flush_at(1)]);
    assert_eq!(flush, fill + responses(&mut whole)[1]);
    flushed.ftl().assert_consistent();
}

fn flush_at(i: u64) -> Request {
    Request { arrival: Ns(i * 10_000_000), kind: RequestKind::Flush, offset_bytes: 0, bytes: 0 }
}

/// Small writes one after the other fill whole pages: nothing is read, and nothing is programmed twice.
#[test]
fn small_sequential_writes_gather_to_pages() {
    let writes = || (0..400).map(|i| sectors(i, i, 1)).collect();
    let counts = |more: &[&str]| {
        let done = run(&device(more), writes());
        let statistics = done.statistics();
        (statistics.read_modify_writes, statistics.host_codewords_programmed(), statistics.operations.programs)
    };
    assert_eq!(counts(MERGING), (0, 50, 25));
    assert!(counts(&["host.write_buffer_bytes=1048576"]).0 > 0);
    assert_eq!(counts(&["host.write_buffer_bytes=0"]).0, 400);
}

/// Random parts against a map of sectors: with room for all of them exactly the units are read that were never covered whole, and
/// with less room never more often than each write asks for.
#[test]
fn units_are_read_unless_their_sectors_were_all_written() {
    let stream = Stream::new(40, Purpose::Workload);
    let draw = |i: u64| (stream.bits(i, 0) % 790, 1 + stream.bits(i, 1) % 9);
    let writes = || (0..500).map(|i| sectors(i, draw(i).0, draw(i).1)).collect();
    let (mut units, mut merged): (HashMap<u64, u8>, u64) = (HashMap::new(), 0);
    for (first, count) in (0..500).map(draw) {
        for unit in first / 8..(first + count).div_ceil(8) {
            let part = (8 * unit).max(first)..(8 * unit + 8).min(first + count);
            let had = units.entry(unit).or_default();
            let before = *had;
            part.for_each(|sector| *had |= 1 << (sector % 8));
            merged += u64::from(before != 0 && before != u8::MAX && *had == u8::MAX);
        }
    }
    let left = units.values().filter(|&&had| had != u8::MAX).count() as u64;
    assert!(merged > 20 && left > 10, "{merged} {left}");
    let lru = [MERGING, &["host.write_buffer_replacement=lru"]].concat();
    let done = run(&device(&lru), writes());
    assert_eq!((done.statistics().merged_codewords, done.statistics().read_modify_writes), (merged, left));
    assert_eq!(done.statistics().host_codewords_programmed(), units.len() as u64);
    let reads = |buffer: &str, mode: &str| {
        let done = run(&device(&[buffer, mode]), writes());
        done.ftl().assert_consistent();
        done.statistics().read_modify_writes
    };
    for buffer in ["host.write_buffer_bytes=8192", "host.write_buffer_bytes=65536"] {
        let merge = reads(buffer, "host.partial_write=merge");
        assert!(merge < reads(buffer, "host.partial_write=read_modify_write"), "{merge}");
    }
}

/// How many different places were asked for since each was last, of those that were asked for before.
fn stack_distances(asked: &[u64]) -> Vec<usize> {
    let mut stack: Vec<u64> = Vec::new();
    let found = asked.iter().map(|place| {
        let at = stack.iter().rev().position(|other| other == place);
        stack.retain(|other| other != place);
        stack.push(*place);
        at
    });
    found.flatten().collect()
}

/// Buffers that drop what was used longest ago hit as often as stack distances are below their size, whatever that is; those that drop
/// what came first hit less of reads that keep coming back.
#[test]
fn hits_are_stack_distances_below_the_size() {
    let stream = Stream::new(43, Purpose::Workload);
    // Half of them to a tenth of the places.
    let asked: Vec<u64> = (0..4000).map(|i| stream.bits(i, 0) % if i % 2 == 0 { 8 } else { 80 }).collect();
    let distances = stack_distances(&asked);
    let one_of_a_page = ["geometry.codewords_per_page=1"];
    let hits = |kind, more: &[&str]| {
        let requests = asked.iter().zip(0..).map(|(&lcn, i)| request(kind, Ns(i * 10_000_000), lcn, 1)).collect();
        let done = run(&device(&[&one_of_a_page, more].concat()), requests);
        (done.statistics().read_buffer_hits, done.statistics().coalesced_codewords)
    };
    for size in [4, 16, 40] {
        let expected = distances.iter().filter(|&&distance| distance < size).count() as u64;
        let bytes = size * 4096;
        let read = format!("host.read_buffer={{ bytes = {bytes} }}");
        assert_eq!(hits(RequestKind::Read, &[&read]).0, expected, "{size}");
        let write = format!("host.write_buffer_bytes={bytes}");
        assert_eq!(hits(RequestKind::Write, &[&write, "host.write_buffer_replacement=lru"]).1, expected, "{size}");
        let read = format!("host.read_buffer={{ bytes = {bytes}, replacement = 'fifo' }}");
        assert!(hits(RequestKind::Read, &[&read]).0 < expected);
        assert!(hits(RequestKind::Write, &[&write, "host.write_buffer_replacement=fifo"]).1 < expected);
    }
}

/// Between watermarks a buffer makes room before anybody waits for it: a burst that finds none waits for programs else.
#[test]
fn watermarks_leave_room_for_bursts() {
    let worst = |more: &[&str]| {
        let lru = ["host.write_buffer_bytes=131072", "host.write_buffer_replacement=lru"];
        // Bursts of eight units, and long pauses; the buffer has thirty-two.
        let burst = |i: u64| Ns(i / 8 * 50_000_000 + i % 8 * 100);
        let writes = (0..400).map(|i| request(RequestKind::Write, burst(i), i * 3 % 1000, 1)).collect();
        let done = run(&device(&[&lru, more].concat()), writes);
        (
            done.statistics().writes.max().expect("there were writes").as_us(),
            done.statistics().host_codewords_programmed(),
        )
    };
    let (with, without) = (worst(&["host.write_buffer_watermarks={ high = 0.7, low = 0.5 }"]), worst(&[]));
    assert!(with.0 < 2.0 && without.0 > 200.0, "{with:?} {without:?}");
    assert_eq!((with.1, without.1), (400, 400));
}

/// Where only a part was overwritten without end, the rest is nowhere, and what is mapped lies as if the device were as full as that.
#[test]
fn a_steady_state_of_a_part_maps_that_part() {
    let steady = |more: &[&str]| device(&[&["precondition.layout=steady_state"], more].concat());
    let config = steady(&["precondition.mapped_fraction=0.4"]);
    let start = support::simulation(&config, Vec::new());
    let mapped = (config.user_codewords() as f64 * 0.4).ceil() as u64;
    for lcn in 0..config.user_codewords() {
        let found = matches!(start.ftl().locate(Lcn(lcn)), softsense_ftl::Location::Flash(_));
        assert_eq!(found, lcn < mapped, "{lcn}");
    }
    start.ftl().assert_consistent();
    let error =
        CheckedConfig::from_toml("", "", &["precondition={ layout = \"steady_state\", mapped_fraction = 0.0 }".into()]);
    assert!(
        error
            .unwrap_err()
            .to_string()
            .contains("precondition.layout: found `steady_state` together with `precondition.mapped_fraction = 0`")
    );
}

/// An erase that counts as many P/E cycles takes blocks from code to code within a run.
#[test]
fn erases_may_count_as_many_cycles() {
    let codes = "reliability={ bch = { oob_bytes = 224, rber = { constant = { rber = 0.0 } }, codes = [\
                 { codeword_bytes = 512, correctable = 15, to_pe_cycles = 900 }, \
                 { codeword_bytes = 4096, correctable = 362, to_pe_cycles = 5000 }] } }";
    let config = device(&[codes, "flash.pe_cycles_per_erase=1000", "ftl.over_provisioning=0.5"]);
    let user = config.user_codewords();
    let writes = (0..2 * user).map(|i| request(RequestKind::Write, Ns(i * 300_000), i * 7919 % user, 1));
    let done = run(&config, writes.collect());
    let ftl = done.ftl();
    let worn: Vec<u32> = (0..48 * 4).map(|superblock| ftl.pe_cycles(Superblock(superblock))).collect();
    assert!(worn.iter().all(|pe| pe % 1000 == 0) && worn.iter().any(|&pe| pe > 0));
    assert!(
        (0..48 * 4)
            .all(|superblock| ftl.pe_cycles(Superblock(superblock)) == 1000 * ftl.erases(Superblock(superblock)))
    );
    let crossing = (0..48 * 4).filter(|&superblock| ftl.layout(Superblock(superblock)).crosses_pages()).count();
    assert_eq!(crossing, worn.iter().filter(|&&pe| pe > 900).count());
    ftl.assert_consistent();
}

#[test]
fn bad_buffers_are_named() {
    for (fields, expected) in [
        ("read_buffer={ bytes = 100 }", "host.read_buffer.bytes: found 100, expected at least one page"),
        ("read_ahead={}", "host.read_ahead: found without `host.read_buffer`"),
        (
            "partial_write=merge",
            "host.partial_write: found `merge` without a write buffer, expected `host.write_buffer_bytes`",
        ),
        (
            "write_buffer_watermarks={ high = 0.5, low = 0.2 }",
            "host.write_buffer_watermarks: found together with `host.write_buffer_replacement = \"full_page\"`",
        ),
        (
            "write_buffer_replacement=lru",
            "host.write_buffer_replacement: found `lru` without a write buffer, expected `host.write_buffer_bytes` above 0",
        ),
    ] {
        let error = CheckedConfig::from_toml("", "", &[format!("host.{fields}")]).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let interleaved = ["ftl.interleaving={ ways = 2 }".to_owned(), "host.read_buffer={ bytes = 1048576 }".to_owned()];
    let error = CheckedConfig::open("mlc-25nm", &interleaved).unwrap_err().to_string();
    assert!(error.contains("host.read_buffer: found together with codewords that are divided among chips"), "{error}");
    let error = CheckedConfig::from_toml("", "", &["flash.pe_cycles_per_erase=0".into()]).unwrap_err().to_string();
    assert!(error.contains("flash.pe_cycles_per_erase: found 0"), "{error}");
    let levelled = ["flash.pe_cycles_per_erase=7".to_owned(), "ftl.wear_levelling_spread=6".to_owned()];
    let error = CheckedConfig::from_toml("", "", &levelled).unwrap_err().to_string();
    assert!(error.contains("expected at least `flash.pe_cycles_per_erase`, 7"), "{error}");
    let no_pages = ["geometry.codeword_bytes=0".to_owned(), "host.read_buffer={ bytes = 1048576 }".to_owned()];
    let error = CheckedConfig::from_toml("", "", &no_pages).unwrap_err().to_string();
    assert!(error.contains("geometry.codeword_bytes: found 0"), "{error}");
}

struct Admitting<F>(F);

impl<F: FnMut(&MissedPage) -> bool + Send + Sync> AdmitPages for Admitting<F> {
    fn admit(&mut self, page: &MissedPage) -> Result<bool> {
        Ok((self.0)(page))
    }
}

/// A buffer with an admission of the user's own.
fn admitting(admit: impl FnMut(&MissedPage) -> bool + Clone + Send + Sync + 'static) -> CheckedConfig {
    let make = move |_: &OwnDevice| Ok(Box::new(Admitting(admit.clone())) as Box<dyn AdmitPages>);
    let own = Own { pages: Some(OwnThing::new("admission", make)), ..Own::default() };
    device(&["host.read_buffer={ bytes = 32768, takes = 'whole_pages', admission = 'own.py:Admitting' }"])
        .with_own(own)
        .unwrap()
}

/// A page that is missed for the first time is read for what was asked for, and not kept; the second time whole. Pages that were missed
/// too long ago are new again.
#[test]
fn a_second_miss_is_admitted() {
    let with = |history: &str| {
        let config = device(&[&format!(
            "host.read_buffer={{ bytes = 32768, takes = 'whole_pages', admission = 'second_miss'{history} }}"
        )]);
        let mut done = run(&config, reads(&[0, 1, 0, 2, 4, 3, 2]));
        (responses(&mut done), done.statistics().read_buffer_refused)
    };
    let (alone, whole) = (75.0 + 20.0 + 8.0, 75.0 + 20.0 + 20.0 + 8.0);
    assert_eq!(with(""), (vec![alone, whole, 1.5, alone, alone, whole, 1.5], 3));
    assert_eq!(with(", history_pages = 1"), (vec![alone, whole, 1.5, alone, alone, alone, whole], 4));
}

/// A scan of large requests leaves what small ones read again and again where it is.
#[test]
fn scans_enter_nothing() {
    let hits = |more: &str| {
        let config = device(&[&format!("host.read_buffer={{ bytes = 32768, takes = 'whole_pages'{more} }}")]);
        let requests = (0..100u64).map(|i| match i % 2 {
            0 => request(RequestKind::Read, Ns(i * 10_000_000), i / 2 % 4 * 2, 1),
            _ => request(RequestKind::Read, Ns(i * 10_000_000), 100 + 8 * i, 8),
        });
        let done = run(&config, requests.collect());
        (done.statistics().read_buffer_hits, done.statistics().read_buffer_refused)
    };
    assert_eq!(hits("").0, 0);
    // All but the first of each of four pages; four pages of fifty requests stay outside.
    assert_eq!(hits(", largest_request_bytes = 16384"), (46, 200));
    // The second miss of each is admitted, if it is remembered until then.
    assert_eq!(hits(", admission = 'second_miss', history_pages = 64").0, 42);
    assert_eq!(hits(", admission = 'second_miss'").0, 0);
}

/// Does an admission of one's own that says what a shipped one does give the same run, and what does it see?
#[test]
fn own_admissions_are_shipped_ones() {
    let asked: Vec<u64> = (0..400).map(|i| (i * i * 7 + i) % 23).collect();
    let outcome = |config: &CheckedConfig| {
        let mut done = run(config, reads(&asked));
        (responses(&mut done), done.statistics().read_buffer_hits, done.statistics().operations.senses)
    };
    assert_eq!(outcome(&admitting(|_| true)), outcome(&device(&[BUFFER])));
    let second = device(&["host.read_buffer={ bytes = 32768, takes = 'whole_pages', admission = 'second_miss' }"]);
    assert_eq!(outcome(&admitting(|page| page.misses > 1)), outcome(&second));
    assert_ne!(outcome(&second).0, outcome(&device(&[BUFFER])).0);
    let sees = admitting(|page| {
        assert_eq!((page.codewords, page.request_bytes, page.for_write), (1, 4096, false));
        assert!(page.codeword < Lcn(23) && page.free_pages <= 4);
        page.codeword != Lcn(5)
    });
    assert_eq!(run(&sees, reads(&[5, 5, 7, 7])).statistics().read_buffer_hits, 1);
}

/// Are small random writes that are merged in the write buffer as fast as those whose codewords are read at once, at any depth? Their reads begin
/// before a write has to wait for a slot, so that a lone writer is faster by as much as the buffer hides. A buffer of as many slots as the
/// drive has planes may be a fifth slower: a codeword keeps its slot while the rest of it is read.
#[test]
fn merging_is_not_slower_than_reading_at_once() {
    for (buffer_bytes, least) in [(262_144, 0.8), (1_048_576, 0.93), (16_777_216, 0.97)] {
        for queue_depth in [1, 8, 64, 256] {
            let writes_per_s = |partial_write: &str| {
                let config = shipped(
                    "tlc-client.toml",
                    &[
                        &format!("host.partial_write='{partial_write}'"),
                        &format!("host.write_buffer_bytes={buffer_bytes}"),
                        &format!("host.issue={{ closed_loop = {{ queue_depth = {queue_depth} }} }}"),
                        "geometry.blocks_per_plane=64",
                        "geometry.pages_per_block=264",
                        "ftl.over_provisioning=0.3",
                        "ftl.slc_cache=none",
                        "workload.read_fraction=0.0",
                        "workload.sizes=[{ bytes = 512, share = 1.0 }]",
                        "workload.align_bytes=512",
                        "workload.addresses='uniform'",
                        "workload.arrivals='immediate'",
                        "workload.footprint_bytes=none",
                        "workload.requests=20000",
                    ],
                );
                let mut simulated = Run::new(&config, Requests::Workload, false).unwrap();
                while simulated.advance(1_000_000).unwrap() {}
                simulated.summary(false).throughput.write_iops.unwrap()
            };
            let (merged, at_once) = (writes_per_s("merge"), writes_per_s("read_modify_write"));
            assert!(
                merged > least * at_once,
                "{buffer_bytes} bytes, depth {queue_depth}: {merged} for {at_once} a second"
            );
        }
    }
}
