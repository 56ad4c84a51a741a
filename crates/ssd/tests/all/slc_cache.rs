//! The SLC cache: how fast it is written, what comes when it is full, what folding costs. That nothing is lost by it, `laws.rs` shows.

use crate::support::{CODEWORD, request, run};
use softsense_base::Ns;
use softsense_config::checked::CheckedConfig;
use softsense_config::ids::{Lcn, Superblock};
use softsense_ftl::Location;
use softsense_requests::{Request, RequestKind};
use softsense_ssd::simulation::Simulation;

/// Planes, codewords of a page, pages of a block, and of one in the cache.
const PLANES: u64 = 4;
const PER_PAGE: u64 = 4;
const PAGES: u64 = 48;
const SLC_PAGES: u64 = PAGES / 3;
/// Transfer of a page, and programs: of the cache, and the mean one of others, us.
const TRANSFER: f64 = 20.0;
const SLC_PROGRAM: f64 = 200.0;
const PROGRAM: f64 = 1500.0;

/// An empty device of TLC with two channels of two planes, which are many times slower than their buses.
fn device(cache: &str, more: &str) -> CheckedConfig {
    let toml = format!(
        "reliability = \"perfect\"\n{more}\n[geometry]\nchannels = 2\nchips_per_channel = 1\ndies_per_chip = 1\nplanes_per_die = 2\n\
         blocks_per_plane = 80\npages_per_block = {PAGES}\ncodewords_per_page = {PER_PAGE}\ncodeword_bytes = {CODEWORD}\n\
         [[flash.page_types]]\nname = \"lower\"\nprogram_us = 500.0\n[[flash.page_types]]\nname = \"centre\"\nprogram_us = 1500.0\n\
         [[flash.page_types]]\nname = \"upper\"\nprogram_us = 2500.0\n[flash]\nerase_us = 3000.0\n[bus]\ntransfer_us = 5.0\n\
         [decoder]\ntime.fixed_us = 1.0\n[host]\nissue.closed_loop.queue_depth = 32\n[precondition]\nmapped_fraction = 0.0\n\
         [ftl]\nover_provisioning = 0.4\n[ftl.slc_cache]\nidle_after_us = 1000.0\n{cache}\n"
    );
    CheckedConfig::from_toml(&toml, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}\n{toml}"))
}

/// Writes of a page each, one behind the other from a page on.
fn pages(arrival: Ns, from: u64, count: u64) -> impl Iterator<Item = Request> {
    (from..from + count).map(move |page| request(RequestKind::Write, arrival, page * PER_PAGE, PER_PAGE))
}

/// Completed pages a second between two of them, in the order of their completion.
fn pages_per_s(ends: &[Ns], from: u64, to: u64) -> f64 {
    (to - from) as f64 / (ends[to as usize - 1] - ends[from as usize - 1]).as_secs()
}

fn ends(simulation: &mut Simulation) -> Vec<Ns> {
    let mut ends: Vec<Ns> = simulation.take_log().iter().map(|row| row.arrival + row.response).collect();
    ends.sort_unstable();
    ends
}

fn assert_near(found: f64, expected: f64, percent: f64, what: &str) {
    let off = 100.0 * (found / expected - 1.0);
    println!("{what}: found {found:.4}, expected {expected:.4}, {off:+.2} %");
    assert!(off.abs() < percent, "{what}: found {found}, expected {expected}");
}

/// Is the cache written as fast as its programs take, and what follows as fast as others, with the cliff where its blocks end?
#[test]
fn the_cliff_is_where_the_cache_ends() {
    for size in ["size.static.blocks = 10", "size.dynamic = { least_blocks = 2, most_blocks = 10 }"] {
        let config = device(size, "");
        let of_cache = PLANES * 10 * SLC_PAGES;
        let mut simulation = run(&config, pages(Ns::ZERO, 0, 2 * of_cache).collect());
        let statistics = simulation.statistics();
        assert_eq!(statistics.slc_codewords_programmed, of_cache * PER_PAGE, "{size}");
        assert_eq!(statistics.folded_codewords_programmed(), 0, "nothing is folded under load");
        let ends = ends(&mut simulation);
        let rate = |program: f64| PLANES as f64 * 1e6 / (TRANSFER + program);
        assert_near(pages_per_s(&ends, 50, of_cache - 50), rate(SLC_PROGRAM), 1.0, "pages a second in the cache");
        let beyond = pages_per_s(&ends, of_cache + 50, 2 * of_cache - 50);
        assert_near(beyond, rate(PROGRAM), 2.0, "pages a second beyond it");
    }
}

/// When garbage collection goes on, which is nothing to folding.
const PACINGS: [&str; 4] = [
    "ftl.gc_pacing=at_once",
    "ftl.gc_pacing=preemptible",
    "ftl.gc_pacing={ paced = { moves_per_write = 2.0 } }",
    "ftl.gc_idle={ after_us = 5000.0, least_stale = 0.3 }",
];

fn paced(config: &CheckedConfig, pacing: &str) -> CheckedConfig {
    config.with_overrides(&[pacing.into()]).unwrap()
}

/// Does a pause bring the whole cache back, static or dynamic?
#[test]
fn a_pause_brings_the_cache_back() {
    let sizes = ["size.static.blocks = 10", "size.dynamic = { least_blocks = 0, most_blocks = 10 }"];
    for (size, pacing) in sizes.into_iter().flat_map(|size| PACINGS.map(|pacing| (size, pacing))) {
        let config = paced(&open_loop(size), pacing);
        let of_cache = PLANES * 10 * SLC_PAGES;
        let again = Ns::from_us(30e6);
        let requests = pages(Ns::ZERO, 0, of_cache + 40).chain(pages(again, 2 * of_cache, of_cache + 40));
        let simulation = run(&config, requests.collect());
        let statistics = simulation.statistics();
        assert_eq!(statistics.slc_codewords_programmed, 2 * of_cache * PER_PAGE, "{size}");
        assert_eq!(statistics.folded_codewords_programmed(), of_cache * PER_PAGE, "{size}");
        assert_eq!(statistics.folded_blocks_in_idle_time, PLANES * 10, "{size}");
        simulation.ftl().assert_consistent();
    }
}

/// Where writes wait for folding, are they as fast as what a page then costs its plane: two programs, a read and its share of an erase?
#[test]
fn writes_that_wait_are_as_fast_as_folding() {
    for pacing in PACINGS {
        let config = paced(&device("size.static.blocks = 6\nwhen_full = \"fold\"", ""), pacing);
        let (of_cache, count) = (PLANES * 6 * SLC_PAGES, 3000);
        let mut simulation = run(&config, pages(Ns::ZERO, 0, count).collect());
        assert_eq!(simulation.statistics().slc_codewords_programmed, count * PER_PAGE, "all go through the cache");
        let of_page = TRANSFER + SLC_PROGRAM + 25.0 + TRANSFER + PROGRAM + 2000.0 / SLC_PAGES as f64;
        let found = pages_per_s(&ends(&mut simulation), of_cache + 200, count);
        assert_near(found, PLANES as f64 * 1e6 / of_page, 3.0, "pages a second that wait for folding");
    }
}

/// Is what folding writes the share of the cache that was not overwritten in it?
#[test]
fn folding_writes_what_was_not_overwritten() {
    let of_row = PLANES * SLC_PAGES;
    for (rows, again) in [(6, 0), (6, 3), (4, 4)] {
        let config = open_loop("size.static.blocks = 10");
        let first = pages(Ns::ZERO, 0, rows * of_row);
        let overwritten = pages(Ns::from_us(1.0), 0, again * of_row);
        let end = request(RequestKind::Read, Ns::from_us(30e6), 0, 1);
        let simulation = run(&config, first.chain(overwritten).chain([end]).collect());
        let statistics = simulation.statistics();
        assert_eq!(statistics.slc_codewords_programmed, (rows + again) * of_row * PER_PAGE);
        // What was written last is folded as a whole, and of the rest what lies where nothing was written again.
        let left = rows;
        assert_eq!(statistics.folded_codewords_programmed(), left * of_row * PER_PAGE, "{rows} rows, {again} again");
        let amplification = 1.0 + left as f64 / (rows + again) as f64;
        let programmed = statistics.host_codewords_programmed() + statistics.folded_codewords_programmed();
        let found = programmed as f64 / statistics.host_codewords_written as f64;
        assert_near(found, amplification, 0.01, "write amplification");
        assert_eq!(statistics.gc_codewords_programmed(), 0);
    }
}

fn open_loop(cache: &str) -> CheckedConfig {
    device(cache, "").with_overrides(&["host.issue={ open_loop = { time_scale = 1.0 } }".into()]).unwrap()
}

/// Is data of the cache read with its times, and with those of other pages when it has been folded?
#[test]
fn reads_take_the_times_of_where_data_lies() {
    let config = open_loop("size.static.blocks = 10\ncells = { sense_us = 12.0 }");
    let writes = pages(Ns::ZERO, 0, PLANES * SLC_PAGES);
    // Before the SSD has been idle for long, and after it was folded.
    let reads = [50_000.0, 30e6].map(|us| request(RequestKind::Read, Ns::from_us(us), 5, 1));
    let config = config.with_overrides(&["ftl.slc_cache.idle_after_us=1e6".into()]).unwrap();
    let mut simulation = run(&config, writes.chain(reads).collect());
    let log = simulation.take_log();
    let read_us = |row: usize| log[log.len() - 2 + row].response.as_us();
    assert_near(read_us(1) - read_us(0), 41.0 - 12.0, 0.01, "what a read takes longer when folded, us");
    assert_eq!(simulation.statistics().slc_codewords_read, 1);
}

/// Does erasing a block of the cache count as so many P/E cycles as the config says?
#[test]
fn cycles_with_one_bit_a_cell_count_as_configured() {
    for (wear, expected) in [(0.0, 0), (0.5, 1), (1.0, 2)] {
        let config = open_loop(&format!("size.static.blocks = 2\ncells = {{ wear = {wear:?} }}"));
        let of_cache = PLANES * 2 * SLC_PAGES;
        let bursts = (0..3).flat_map(|burst| pages(Ns::from_us(30e6 * burst as f64), burst * of_cache, of_cache));
        let simulation = run(&config, bursts.collect());
        let (ftl, at_start) = (simulation.ftl(), config.config().precondition.pe_cycles);
        for plane in 0..PLANES as u32 {
            for superblock in [plane * 80 + 78, plane * 80 + 79] {
                assert_eq!(
                    (ftl.erases(Superblock(superblock)), ftl.pe_cycles(Superblock(superblock)) - at_start),
                    (2, expected),
                    "wear {wear}"
                );
            }
        }
    }
}

/// Does a dynamic cache give its blocks back when the device fills, and is nothing lost when no block is left to it?
#[test]
fn a_full_device_has_a_small_cache() {
    let config = device("size.dynamic = { least_blocks = 2, most_blocks = 60 }", "");
    let user = config.user_codewords() / PER_PAGE;
    let simulation = run(&config, pages(Ns::ZERO, 0, user).chain(pages(Ns::ZERO, 0, user)).collect());
    let ftl = simulation.ftl();
    ftl.assert_consistent();
    for lcn in 0..user * PER_PAGE {
        assert!(matches!(ftl.locate(Lcn(lcn)), Location::Flash(_)), "codeword {lcn} was lost");
    }
    let (room, _) = ftl.slc_room_and_valid().unwrap();
    let of_block = PLANES * SLC_PAGES * PER_PAGE;
    assert!(room < 30 * of_block, "found {} blocks of a plane in the cache at the end", room / of_block);
    assert!(simulation.statistics().folded_blocks > 30 * PLANES);
}

#[test]
fn what_a_cache_needs_is_named() {
    let base = device("size.static.blocks = 4", "");
    for (overrides, expected) in [
        (
            &["ftl.slc_cache.size={ static = { blocks = 1 } }"][..],
            "ftl.slc_cache.size.static.blocks: found 1, expected",
        ),
        (
            &["ftl.slc_cache.size={ dynamic = { least_blocks = 5, most_blocks = 4 } }"],
            "ftl.slc_cache.size.dynamic.least_blocks: found 5, expected at most 4, the value of `most_blocks`",
        ),
        (&["ftl.slc_cache.size={ static = { blocks = 40 } }"], "41 for the SLC cache"),
        (
            &["ftl.slc_cache.bits_per_cell=2"],
            "ftl.slc_cache.bits_per_cell: found 2 together with 3 page types, expected",
        ),
        (&["flash.page_types=[{ name = 'page' }]"], "ftl.slc_cache.bits_per_cell: found 1 together with 1 page types"),
        (&["ftl.slc_cache.cells.wear=2.0"], "ftl.slc_cache.cells.wear: found 2, expected"),
        (&["ftl.slc_cache={ sise = 1 }"], "sise"),
    ] {
        let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
        let error = base.with_overrides(&overrides).unwrap_err().to_string();
        assert!(error.contains(expected), "found {error}, expected {expected}");
    }
}
