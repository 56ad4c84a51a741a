//! Bad blocks: how many there are, what a failed erase or program takes, and what becomes of a device that has no spares left. That nothing
//! is lost whatever they meet, `laws.rs` shows.

use crate::support::{request, run, simulation};
use softsense_base::{Ns, Purpose, Stream};
use softsense_config::checked::CheckedConfig;
use softsense_config::ids::{Block, Lcn, Superblock};
use softsense_ftl::Location;
use softsense_requests::{Request, RequestKind};
use softsense_ssd::simulation::{Action, Cause, Window};

const BLOCKS: u32 = 40;

/// Four planes on two channels, whose pages hold two codewords, and requests that follow one another.
const DEVICE: &str = "reliability = \"perfect\"\n[geometry]\nchannels = 2\nchips_per_channel = 2\ndies_per_chip = 1\nplanes_per_die = 1\n\
                      blocks_per_plane = 40\npages_per_block = 8\ncodewords_per_page = 2\ncodeword_bytes = 4096\n[ftl]\n\
                      over_provisioning = 0.4\ngc_low_watermark_blocks = 3\ngc_high_watermark_blocks = 3\n[flash]\nerase_us = 1000.0\n\
                      [host.issue.closed_loop]\nqueue_depth = 8\n";

fn device(more: &[&str]) -> CheckedConfig {
    let more: Vec<String> = more.iter().map(ToString::to_string).collect();
    CheckedConfig::from_toml(DEVICE, "test.toml", &more).unwrap_or_else(|error| panic!("{error}"))
}

/// Writes of a page each, anywhere.
fn overwrites(config: &CheckedConfig, count: u64) -> Vec<Request> {
    let (draws, pages) = (Stream::new(config.config().seed, Purpose::Workload), config.user_codewords() / 2);
    (0..count).map(|at| request(RequestKind::Write, Ns(at), draws.bits(at, 0) % pages * 2, 2)).collect()
}

/// Is the number of blocks that fail that of independent draws, erase by erase, by the probability that wear gives each?
///
/// About 300 are expected, with a standard deviation below 20: an interval of four of these misses a probability that is off by 40 % with
/// a probability below 0.05.
#[test]
fn blocks_fail_as_often_as_wear_says() {
    let (share, at, exponent, start) = (0.46f64, 40.0f64, 2.0, 7);
    let hazard = |cycles: u32| -(1.0 - share).ln() * (f64::from(cycles) / at).powf(exponent);
    let (mut grown, mut expected, mut variance) = (0, 0.0, 0.0);
    for seed in 1..=4 {
        let config = device(&[
            &format!("seed={seed}"),
            &format!("precondition.pe_cycles={start}"),
            "flash.bad_blocks={ spare_blocks_per_plane = 40, erase_failure = { share = 0.46, at_pe_cycles = 40, exponent = 2.0 } }",
        ]);
        let simulation = run(&config, overwrites(&config, 30_000));
        let ftl = simulation.ftl();
        for superblock in 0..4 * BLOCKS {
            for erase in start..start + ftl.erases(Superblock(superblock)) {
                let p = 1.0 - (hazard(erase) - hazard(erase + 1)).exp();
                (expected, variance) = (expected + p, variance + p * (1.0 - p));
            }
        }
        let counts = ftl.bad_block_counts().unwrap();
        assert_eq!((counts.factory, counts.retired), (0, 0));
        assert_eq!(counts.spares_left + counts.grown, u64::from(4 * BLOCKS));
        grown += counts.grown;
    }
    assert!(expected > 250.0, "{expected} blocks are too few to tell");
    let off = (grown as f64 - expected) / f64::sqrt(variance);
    assert!(off.abs() < 4.0, "{grown} blocks failed of {expected:.1} expected: {off:.1} standard deviations off");
}

/// Is the number of programs that fail that of independent draws, program by program, by the probability that wear gives each?
///
/// About 300 of 175,000 are expected, with a standard deviation of 17: an interval of four of these misses a probability that is off by 50 %
/// with a probability below 0.01. Blocks that failed were not written to their end, so the programs that are counted here are some too many.
#[test]
fn programs_fail_as_often_as_wear_says() {
    for (share, at, exponent, start) in [(0.45f64, 40.0f64, 1.0, 0), (0.45, 40.0, 2.0, 7)] {
        let hazard = |cycles: u32| -(1.0 - share).ln() * (f64::from(cycles) / at).powf(exponent);
        let (mut failed, mut expected, mut variance, mut programs, mut counted) = (0, 0.0, 0.0, 0, 0);
        for seed in 1..=4 {
            let failure = format!("{{ share = {share}, at_pe_cycles = {at}, exponent = {exponent:?} }}");
            let config = device(&[
                &format!("seed={seed}"),
                &format!("precondition.pe_cycles={start}"),
                &format!("flash.bad_blocks={{ spare_blocks_per_plane = 40, program_failure = {failure} }}"),
            ]);
            let fresh = simulation(&config, Vec::new());
            let simulation = run(&config, overwrites(&config, 30_000));
            let ftl = simulation.ftl();
            for block in 0..4 * BLOCKS {
                let (at_start, (now, all, _)) =
                    (fresh.ftl().programmed_of(Block(block)).0, ftl.programmed_of(Block(block)));
                let erases = ftl.erases(Superblock(block));
                for erase in 0..=erases {
                    let pages = if erase < erases { all } else { now } - if erase == 0 { at_start } else { 0 };
                    let grown = hazard(start + erase + 1) - hazard(start + erase);
                    let p = 1.0 - (-grown / f64::from(all)).exp();
                    counted += u64::from(pages);
                    expected += f64::from(pages) * p;
                    variance += f64::from(pages) * p * (1.0 - p);
                }
            }
            let counts = ftl.bad_block_counts().unwrap();
            assert_eq!((counts.retired, counts.to_be_replaced, counts.grown), (0, 0, counts.grown_by_programs));
            assert_eq!(counts.spares_left + counts.grown, u64::from(4 * BLOCKS));
            assert!(counts.grown <= counts.failed_programs && counts.grown > 0);
            failed += counts.failed_programs;
            programs += simulation.statistics().operations.programs;
        }
        println!("{failed} of {programs} programs failed, {expected:.1} expected of {counted}");
        assert!((0.98..=1.0).contains(&(programs as f64 / counted as f64)), "{programs} of {counted} programs");
        assert!(expected > 200.0, "{expected} programs are too few to tell");
        let off = (failed as f64 - expected) / f64::sqrt(variance);
        assert!(
            off.abs() < 4.0,
            "{failed} programs failed of {expected:.1} expected: {off:.1} standard deviations off"
        );
    }
}

/// Does a write wait for the programs of its page that fail, as long as these take, and for one that does not?
#[test]
fn a_write_waits_for_programs_that_fail() {
    let mut most = 0;
    for (program_us, failed_us) in [(", program_us = 900.0", 900), ("", 300)] {
        for seed in 0..30 {
            let failure = format!("{{ share = 0.999, at_pe_cycles = 1, exponent = 1.0{program_us} }}");
            let config = device(&[
                &format!("seed={seed}"),
                "precondition.mapped_fraction=0.0",
                "flash.page_types=[{ name = \"page\", sense_us = 50.0, program_us = 300.0 }]",
                "bus.transfer_us=10.0",
                &format!("flash.bad_blocks={{ spare_blocks_per_plane = 40, program_failure = {failure} }}"),
            ]);
            let mut simulation = run(&config, vec![request(RequestKind::Write, Ns(0), 0, 2)]);
            let failed = simulation.ftl().bad_block_counts().unwrap().failed_programs;
            assert_eq!(simulation.take_log()[0].response, Ns(1000 * (failed * (20 + failed_us) + 20 + 300)));
            assert_eq!(simulation.statistics().operations.programs, failed + 1);
            assert_eq!(simulation.statistics().failed_program_codewords, 2 * failed);
            let Location::Flash(_) = simulation.ftl().locate(Lcn(0)) else { panic!("it is in flash") };
            most = most.max(failed);
        }
    }
    assert!(most > 1, "some have failed one after the other");
}

/// Does a block in which a program has failed give its data to others, with all writes that were on their way to it, at once?
#[test]
fn data_is_moved_out_of_blocks_in_which_programs_have_failed() {
    let failure = "{ share = 0.9, at_pe_cycles = 40, exponent = 1.0 }";
    let bad = format!("flash.bad_blocks={{ spare_blocks_per_plane = 40, program_failure = {failure} }}");
    let config = device(&[&bad]);
    let simulation = run(&config, overwrites(&config, 5_000));
    let (ftl, statistics) = (simulation.ftl(), simulation.statistics());
    let counts = ftl.bad_block_counts().unwrap();
    assert!(counts.grown > 20 && counts.to_be_replaced == 0, "{counts:?}");
    let work = statistics.work(Cause::BadBlock);
    assert!(statistics.moved_from_bad_blocks > counts.grown / 2 && work.codewords > 0 && work.erases == 0);
    ftl.assert_consistent();
    ftl.assert_at_rest();
    for lcn in 0..config.user_codewords() {
        let Location::Flash(place) = ftl.locate(Lcn(lcn)) else { panic!("codeword {lcn} is not in flash") };
        assert_eq!(ftl.owner(place), Some(Lcn(lcn)));
    }
}

/// Does an erase that fails take its own time, and do all others take theirs?
#[test]
fn a_failed_erase_takes_its_time() {
    for (erase_us, failed_us) in [(", erase_us = 3000.0", 3000), ("", 1000)] {
        let failure = format!("{{ share = 0.9, at_pe_cycles = 10, exponent = 1.0{erase_us} }}");
        let bad = format!("flash.bad_blocks={{ spare_blocks_per_plane = 40, erase_failure = {failure} }}");
        let config = device(&[&bad]);
        let mut simulation = simulation(&config, overwrites(&config, 2_000));
        simulation.record(Window { from: Ns(0), to: Ns(u64::MAX / 4) }, true);
        while simulation.advance(1_000_000).unwrap() {}
        let spans = simulation.take_recording().unwrap().spans;
        let erases =
            spans.iter().filter(|span| span.action == Action::Erase).map(|span| (span.to - span.from).0 / 1000);
        let (failed, others): (Vec<u64>, Vec<u64>) = erases.partition(|&us| us != 1000);
        let counts = simulation.ftl().bad_block_counts().unwrap();
        assert!(counts.grown > 10);
        assert_eq!(failed, vec![failed_us; if failed_us == 1000 { 0 } else { counts.grown as usize }]);
        assert_eq!((failed.len() + others.len()) as u64, simulation.statistics().operations.erases);
    }
}

/// Does a device whose erases and programs never fail do what it does without bad blocks, to the nanosecond, whatever the factory has left
/// of its spares?
#[test]
fn spares_alone_change_nothing() {
    let log = |more: &[&str]| {
        let config = device(more);
        let mut simulation = run(&config, overwrites(&config, 3_000));
        (format!("{:?}", simulation.take_log()), simulation.ftl().bad_block_counts())
    };
    let never = "erase_failure = { share = 0.0, at_pe_cycles = 100, exponent = 2.0, erase_us = 9000.0 }";
    let programs = "program_failure = { share = 0.0, at_pe_cycles = 100, exponent = 2.0, program_us = 9000.0 }";
    let bad = format!("flash.bad_blocks={{ spare_blocks_per_plane = 20, factory_share = 0.1, {never}, {programs} }}");
    let ((without, none), (with, counts)) = (log(&[]), log(&[&bad]));
    assert!(without == with && none.is_none());
    let counts = counts.unwrap();
    assert!(counts.factory > 8 && counts.factory < 48, "{counts:?}: 240 blocks at 10 %");
    assert_eq!((counts.spares_left, counts.grown, counts.retired), (80 - counts.factory, 0, 0));
}

/// Does a device without spares go on until its over-provisioning is used up, take no more writes then, and keep all its data?
#[test]
fn a_device_without_spares_ends_read_only_with_its_data() {
    let cache = "ftl.slc_cache={ size = { static = { blocks = 3 } } }";
    let demand = "ftl.mapping={ demand = { cache_bytes = 4096 } }";
    let variants: [&[&str]; 7] = [
        &[],
        &["geometry.channels=1", "geometry.chips_per_channel=1"],
        &["ftl.parity={ data_pages = 3 }"],
        &["ftl.interleaving={ ways = 2 }"],
        &["host.write_buffer_bytes=131072", "ftl.wear_levelling_spread=3"],
        &[cache, "ftl.over_provisioning=0.45"],
        &[demand, "ftl.over_provisioning=0.5"],
    ];
    for more in variants {
        // One erase in 200, so that there are few that fail one after the other in a set; then one program each 200 times that a
        // block is filled, and each 20 times.
        let failures = [("erase", 100, 5.0), ("program", 100, 7.0), ("program", 10, 14.0)];
        for (spares, (what, at, most)) in
            [0, 2].into_iter().flat_map(|spares| failures.map(|failure| (spares, failure)))
        {
            let failure = format!("{what}_failure = {{ share = 0.4, at_pe_cycles = {at}, exponent = 1.0 }}");
            let bad = format!("flash.bad_blocks={{ spare_blocks_per_plane = {spares}, {failure} }}");
            let config = device(&[more, &[&bad]].concat());
            let simulation = run(&config, overwrites(&config, 120_000));
            let (ftl, statistics, geometry) = (simulation.ftl(), simulation.statistics(), config.geometry());
            assert!(statistics.read_only_from.is_some() && statistics.refused_codewords > 0, "{more:?}");
            ftl.assert_consistent();
            ftl.assert_at_rest();
            for lcn in 0..config.user_codewords() {
                assert_ne!(ftl.locate(Lcn(lcn)), Location::Unmapped, "codeword {lcn} is lost: {more:?}");
            }
            let counts = ftl.bad_block_counts().unwrap();
            let width = u64::from(geometry.blocks_per_superblock());
            let sets = u64::from(geometry.sets());
            // Each block has failed, is a spare, or has its place in a superblock.
            let left = sets * u64::from(BLOCKS) - counts.retired;
            let all = u64::from(geometry.planes() * (BLOCKS + spares));
            assert_eq!(counts.grown + counts.spares_left + left * width, all, "{more:?}: {counts:?}");
            assert!(counts.retired > 0);
            // What is left holds the data, and of each set those that are kept for collection or open.
            let room = ftl.data_capacity() as f64;
            let spare = (room - config.user_codewords() as f64) / (room / left as f64) / sets as f64;
            println!(
                "{more:?}, {spares} spares, {failure}: {counts:?}, {spare:.1} superblocks of a set are left beside the data"
            );
            assert!(spare < most, "{more:?}: {spare:.1} superblocks of a set are left beside the data");
        }
    }
}

/// Is a device refused that has too few spares or too low a watermark?
#[test]
fn what_cannot_be_is_refused() {
    let failure = "erase_failure = { share = 0.5, at_pe_cycles = 20, exponent = 1.5 }";
    let low = ["ftl.gc_low_watermark_blocks=2", "ftl.gc_high_watermark_blocks=2"];
    for (more, spec, expected) in [
        (&[][..], "spare_blocks_per_plane = 0, factory_share = 0.2", "found 0, expected at least "),
        (
            &[],
            "spare_blocks_per_plane = 41",
            "flash.bad_blocks.spare_blocks_per_plane: found 41, expected a whole number",
        ),
        (&[], "spare_blocks_per_plane = 4, factory_share = 0.6", "flash.bad_blocks.factory_share: found 0.6"),
        (
            &low,
            &format!("spare_blocks_per_plane = 4, {failure}"),
            "flash.bad_blocks.erase_failure: found together with `ftl.gc_low_watermark_blocks = 2`",
        ),
        (
            &low,
            "spare_blocks_per_plane = 4, program_failure = { share = 0.5, at_pe_cycles = 20, exponent = 1.5 }",
            "flash.bad_blocks.program_failure: found together with `ftl.gc_low_watermark_blocks = 2`",
        ),
        (
            &["host.serves_in_flight=false"],
            "spare_blocks_per_plane = 4, program_failure = { share = 0.5, at_pe_cycles = 20, exponent = 1.5 }",
            "flash.bad_blocks.program_failure: found together with `host.serves_in_flight = false`",
        ),
        (
            &[],
            "spare_blocks_per_plane = 4, program_failure = { share = 1.0, at_pe_cycles = 0, exponent = 0.0 }",
            "flash.bad_blocks.program_failure.exponent: found 0",
        ),
        (
            &[],
            "spare_blocks_per_plane = 4, erase_failure = { share = 1.0, at_pe_cycles = 0, exponent = 0.0 }",
            "flash.bad_blocks.erase_failure.at_pe_cycles: found 0",
        ),
    ] {
        let mut all: Vec<String> = more.iter().map(ToString::to_string).collect();
        all.push(format!("flash.bad_blocks={{ {spec} }}"));
        let error = CheckedConfig::from_toml(DEVICE, "test.toml", &all).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
