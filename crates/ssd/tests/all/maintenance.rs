//! Refresh by age and patrol scrub: how much they do, against closed forms, and when. That nothing is lost by them, `laws.rs` shows.

use crate::support::{CODEWORD, request, run};
use softsense_base::Ns;
use softsense_config::checked::CheckedConfig;
use softsense_config::ids::Lcn;
use softsense_ftl::Location;
use softsense_requests::{Request, RequestKind};
use softsense_ssd::simulation::Cause;

/// Planes, blocks of one, pages of a block.
const PLANES: u64 = 2;
const BLOCKS: u64 = 40;
const PAGES: u64 = 8;
/// Data that ages by a day in a second.
const DAY: &str = "time_scale = 86400.0";

/// A full device of two chips whose data lies in the order of its addresses, with a codeword a page.
fn device(reliability: &str, ftl: &str, more: &str) -> CheckedConfig {
    device_of(PLANES, reliability, ftl, more)
}

fn device_of(chips: u64, reliability: &str, ftl: &str, more: &str) -> CheckedConfig {
    let toml = format!(
        "{reliability}\n[geometry]\nchannels = 1\nchips_per_channel = {chips}\ndies_per_chip = 1\nplanes_per_die = 1\n\
         blocks_per_plane = {BLOCKS}\npages_per_block = {PAGES}\ncodewords_per_page = 1\ncodeword_bytes = {CODEWORD}\n[decoder]\n\
         time.fixed_us = 1.0\n[ftl]\nover_provisioning = 0.3\n{ftl}\n{DAY}\n{more}\n"
    );
    CheckedConfig::from_toml(&toml, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}\n{toml}"))
}

/// A read now and then, for so many seconds.
fn quiet(seconds: u64) -> Vec<Request> {
    (0..=seconds * 20).map(|at| request(RequestKind::Read, Ns(at * 50_000_000), at % 100, 1)).collect()
}

fn assert_near(found: u64, expected: f64, percent: f64, what: &str) {
    let off = 100.0 * (found as f64 / expected - 1.0);
    println!("{what}: found {found}, expected {expected:.1}, {off:+.2} %");
    assert!(off.abs() < percent, "{what}: found {found}, expected {expected}");
}

/// Does refresh write the valid data once in its age limit, in a steady stream, and nothing late, whether ages are spread at the start or all
/// data is as fresh?
#[test]
fn refresh_writes_the_data_once_in_its_age_limit() {
    const OPEN: &str = "[host]\nissue.open_loop = { time_scale = 1.0 }\n";
    let (limit, seconds) = (10, 40);
    for start in ["retention_days = 5.0\nretention_spread = 1.0", "retention_days = 0.0"] {
        let refresh = format!("refresh.age_days = {limit}.0");
        let config = device("reliability = \"perfect\"", &refresh, &format!("{OPEN}[precondition]\n{start}"));
        let data = config.user_codewords() as f64;
        let simulation = run(&config, quiet(seconds));
        let work = simulation.statistics().work(Cause::Refresh);
        let periods = seconds as f64 / f64::from(limit);
        // All data that is fresh at the start first waits for its turn.
        assert_near(work.codewords, data * periods, 6.0, start);
        assert_eq!(work.codewords, work.page_reads, "it reads what it writes");
        assert_eq!(work.erases, simulation.statistics().maintenance.refreshed_blocks);
        assert_eq!(simulation.statistics().maintenance.refreshed_late, 0, "nothing gets too old");
        // A steady stream: in a quarter of the time a quarter of it.
        let quarter = run(&config, quiet(seconds / 4)).statistics().work(Cause::Refresh).codewords;
        assert_near(quarter, data * periods / 4.0, 25.0, "in a quarter of the time");
    }
}

/// Does scrub read each page of data once in its period, see as many codewords beyond its limit as there are, and refresh their blocks?
#[test]
fn scrub_reads_the_data_once_in_its_period() {
    const OPEN: &str = "[host]\nissue.open_loop = { time_scale = 1.0 }\n";
    let p_fail = 0.3;
    let reliability = format!("reliability.fixed.p_fail = [{p_fail}, 0.0]");
    let config = device(&reliability, "scrub = { period_days = 5.0 }", OPEN);
    let simulation = run(&config, quiet(20));
    let counts = simulation.statistics().maintenance;
    let data = config.user_codewords() as f64;
    assert_near(simulation.statistics().work(Cause::Scrub).page_reads, 4.0 * data, 2.0, "pages scrubbed");
    assert_eq!((counts.scrubbed_uncorrectable, counts.blocks_found), (0, 0), "nothing asks for refresh");
    // Now what needs more than hard decisions; what has been moved is drawn anew, so that one round is looked at.
    let config = device(&reliability, "scrub = { period_days = 20.0, refresh_above = { level = 1 } }", OPEN);
    let counts = run(&config, quiet(20)).statistics().maintenance;
    let scrubbed = counts.scrubbed_codewords as f64;
    let (mean, sigma) = (p_fail * scrubbed, (p_fail * (1.0 - p_fail) * scrubbed).sqrt());
    assert!((counts.scrubbed_above as f64 - mean).abs() < 4.0 * sigma, "{counts:?}: expected {mean} +- {sigma}");
    assert!(counts.refreshed_for_scrub > 0 && counts.refreshed_for_scrub <= counts.blocks_found, "{counts:?}");
}

/// Does scrub find the blocks whose raw bit error rate is beyond the limit, and no others? Those of the second chip have six times that of the
/// first; a codeword of 36,864 bits has 74 or 442 errors in the mean.
#[test]
fn scrub_finds_the_blocks_beyond_the_limit() {
    const OPEN: &str = "[host]\nissue.open_loop = { time_scale = 1.0 }\n";
    let table = "[reliability.table]\nfile = \"flash-8-9\"\nmost_beyond = 1.0\nrber.constant.rber = 0.002\nvariation.chip_factors = [1.0, 6.0]";
    let mut found = Vec::new();
    for errors in [40, 200, 600] {
        let limit = format!(
            "scrub = {{ period_days = 5.0, refresh_above = {{ corrected_errors = {{ errors = {errors}, codeword_bits = 36864 }} }} }}"
        );
        let config = device("", &limit, &format!("{OPEN}{table}"));
        // A round of the device, and no more: what is moved stays beyond the limit here.
        let counts = run(&config, quiet(5)).statistics().maintenance;
        let data = config.user_codewords();
        println!("{errors} errors: {counts:?} of {data} codewords");
        assert!(counts.refreshed_for_scrub <= counts.blocks_found && counts.blocks_found <= counts.scrubbed_above);
        found.push((counts, data));
    }
    let [(both, data), (second, _), (none, _)] = found[..] else { unreachable!("there are three limits") };
    assert_eq!(both.scrubbed_above, both.scrubbed_codewords, "all blocks are beyond a low limit");
    assert!(both.blocks_found >= data / PAGES, "each block is found, and what is written before the patrol once more");
    assert_near(second.blocks_found, both.blocks_found as f64 / 2.0, 15.0, "blocks of the second chip");
    // Of blocks that are found no more than a codeword or two are scrubbed before they are moved.
    let good = second.scrubbed_codewords - second.scrubbed_above;
    assert_near(good, data as f64 / 2.0, 5.0, "codewords of the first chip");
    assert_eq!((none.scrubbed_above, none.blocks_found), (0, 0), "none is beyond a high limit");
}

/// Is a codeword that no level decodes rebuilt by parity where there is parity, and lost where there is none, as often as the closed forms
/// say?
#[test]
fn scrub_counts_what_parity_rebuilds_and_what_is_lost() {
    const OPEN: &str = "[host]\nissue.open_loop = { time_scale = 1.0 }\n[read]\nmax_level = 1\n";
    let p: f64 = 0.1;
    for (parity, rebuilt, lost) in [("", 0.0, p), ("parity = { data_pages = 1 }\n", p * (1.0 - p), p * p)] {
        let scrub = format!("{parity}scrub = {{ period_days = 20.0 }}");
        let config = device(&format!("reliability.fixed.p_fail = [{p}]"), &scrub, OPEN);
        let counts = run(&config, quiet(20)).statistics().maintenance;
        let all = (counts.scrubbed_codewords + counts.scrubbed_recovered + counts.scrubbed_uncorrectable) as f64;
        for (found, share) in [(counts.scrubbed_recovered, rebuilt), (counts.scrubbed_uncorrectable, lost)] {
            let (mean, sigma) = (share * all, (share * (1.0 - share) * all).sqrt());
            assert!((found as f64 - mean).abs() <= 4.0 * sigma, "{counts:?}: expected {mean} +- {sigma}");
        }
        assert!(counts.blocks_found > 10, "their blocks are found: {counts:?}");
        assert!(counts.refreshed_for_scrub > 10 && counts.refreshed_for_scrub <= counts.blocks_found, "{counts:?}");
    }
}

/// Does a scrub move the data of a die that has failed to those that work, so that nothing has to be rebuilt any more?
#[test]
fn scrub_rescues_the_data_of_a_die_that_failed() {
    let more = "[host]\nissue.open_loop = { time_scale = 1.0 }\n[flash]\ndie_failures = [{ at_s = 1.0, die = 2 }]\n\
                [precondition]\nmapped_fraction = 0.5\n";
    for (scrub, rescues) in [("", false), ("scrub = { period_days = 5.0 }", true)] {
        let config =
            device_of(4, "reliability = \"perfect\"", &format!("parity = {{ data_pages = 3 }}\n{scrub}"), more);
        let simulation = run(&config, quiet(20));
        let on_the_die = (0..config.user_codewords()).filter(|&lcn| match simulation.ftl().locate(Lcn(lcn)) {
            Location::Flash(place) => simulation.ftl().is_lost(simulation.ftl().group_of(place).0),
            _ => false,
        });
        let on_the_die = on_the_die.count();
        assert_eq!(on_the_die == 0, rescues, "{on_the_die} codewords are on it");
        let statistics = simulation.statistics();
        assert_eq!(statistics.maintenance.scrubbed_recovered > 0, rescues);
        assert_eq!(statistics.uncorrectable + statistics.uncorrectable_in_background, 0, "nothing is lost");
    }
}

/// Does scrub leave the planes to the host while it is at work there, unless it is told not to?
#[test]
fn scrub_makes_way_for_the_host() {
    let reads = || (0..4000).map(|at| request(RequestKind::Read, Ns::ZERO, at % 300, 1)).collect();
    for (when, scrubs) in [("host_away", false), ("always", true)] {
        let scrub = format!("scrub = {{ period_days = 0.1, when = \"{when}\" }}");
        let host = "[host]\nreads_first = false\nissue.closed_loop.queue_depth = 16";
        let config = device("reliability = \"perfect\"", &scrub, host);
        let simulation = run(&config, reads());
        let (turns, owed, _) = simulation.scrub_turns().expect("there is a scrub");
        let read = simulation.statistics().work(Cause::Scrub).page_reads;
        assert!(turns > 100, "{turns} turns");
        assert_eq!(read > turns / 3, scrubs, "{read} pages read in {turns} turns, {when}");
        assert!(scrubs || owed > turns * 9 / 10, "{owed} of {turns} turns are owed");
    }
}

/// What cannot go together, and what is out of range, is named.
#[test]
fn what_maintenance_needs_is_named() {
    for (ftl, expected) in [
        ("refresh.age_days = 0.0", "ftl.refresh.age_days: found 0"),
        ("scrub = { period_days = 1.0, refresh_above = { level = 0 } }", "ftl.scrub.refresh_above.level: found 0"),
        (
            "scrub = { period_days = 1.0, refresh_above = { iterations = 3 } }",
            "ftl.scrub.refresh_above: found `iterations` with a `reliability` that has no numbers of iterations",
        ),
        (
            "scrub = { period_days = 1.0, refresh_above = { corrected_errors = { errors = 3, codeword_bits = 3000 } } }",
            "ftl.scrub.refresh_above: found `corrected_errors` without decode tables",
        ),
        (
            "time_scale = 1e9\nscrub = { period_days = 1.0 }",
            "ftl.scrub.period_days: found a period with less than 1 us",
        ),
    ] {
        let toml = format!(
            "[geometry]\nblocks_per_plane = 200\npages_per_block = 1000\n[ftl]\n{ftl}\n[reliability.fixed]\np_fail = [0.1]\n"
        );
        let error = CheckedConfig::from_toml(&toml, "test.toml", &[]).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
