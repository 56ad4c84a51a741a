//! Parity across dies, and dies that fail: what room and programs it takes, what it rebuilds and how long that takes, what is lost in
//! spite of it, against closed forms; and that no failure of one die loses anything.

use std::collections::HashSet;

use crate::support::{assert_map, config, random_requests, request, run, served, shipped};
use softsense_base::Ns;
use softsense_config::checked::CheckedConfig;
use softsense_config::ids::{Die, Lcn, Plane};
use softsense_ftl::Location;
use softsense_requests::{Request, RequestKind};
use softsense_ssd::run::{Requests, Run};
use softsense_ssd::simulation::Simulation;

/// Eight dies, on two channels of two chips of two dies each.
fn device(parity: Option<u32>, reliability: &str, more: &str) -> CheckedConfig {
    let parity = parity.map_or(String::new(), |data| format!("parity = {{ data_pages = {data} }}\n"));
    config(&format!(
        "{reliability}\n{more}\n[geometry]\nchannels = 2\nchips_per_channel = 2\ndies_per_chip = 2\nplanes_per_die = 1\n\
         blocks_per_plane = 24\npages_per_block = 12\ncodewords_per_page = 2\n[ftl]\nover_provisioning = 0.6\n\
         gc_low_watermark_blocks = 2\ngc_high_watermark_blocks = 2\n{parity}[read]\nmax_level = 1\n"
    ))
}

const PERFECT: &str = "reliability = \"perfect\"";

fn fails(p: f64) -> String {
    format!("reliability.fixed = {{ p_fail = [{p:?}] }}")
}

/// A read of each codeword of the user, one after the other.
fn read_all(config: &CheckedConfig, from: Ns) -> Vec<Request> {
    (0..config.user_codewords()).map(|lcn| request(RequestKind::Read, Ns(from.0 + lcn * 5_000_000), lcn, 1)).collect()
}

/// Parity takes one page of n + 1 of the room, and one program for each n of data, whatever n is.
#[test]
fn parity_takes_its_share_of_room_and_programs() {
    let without = device(None, PERFECT, "");
    for n in [1, 3, 7] {
        let config = device(Some(n), PERFECT, "precondition.mapped_fraction = 0.0");
        let (with, share) = (config.user_codewords() as f64, f64::from(n) / f64::from(n + 1));
        assert!((with / (without.user_codewords() as f64 * share) - 1.0).abs() < 2e-3, "n = {n}: {with}");
        let stripes = 12;
        let pages = u64::from(n) * stripes * u64::from(8 / (n + 1));
        let writes = (0..pages).map(|page| request(RequestKind::Write, Ns(page * 10_000_000), page * 2, 2)).collect();
        let simulation = run(&config, writes);
        let statistics = simulation.statistics();
        // Sets fill in turn, so that a few stripes may be open at the end.
        let (parity, full) = (statistics.parity_pages_programmed(), pages / u64::from(n));
        assert!(parity <= full && parity + 8 / u64::from(n + 1) >= full, "n = {n}: {parity} of {full}");
        assert_eq!(statistics.operations.programs, pages + parity);
        assert_eq!(statistics.padding_codewords, 0);
        simulation.ftl().assert_consistent();
    }
}

/// A codeword is lost where it fails and another of its stripe does: p (1 - (1 - p)^n); and it is rebuilt else.
#[test]
fn what_is_lost_follows_the_closed_form() {
    for (n, p) in [(1, 0.1), (3, 0.1), (7, 0.05), (3, 0.02)] {
        let config = device(Some(n), &fails(p), "");
        let simulation = run(&config, read_all(&config, Ns::ZERO));
        let statistics = simulation.statistics();
        let count = statistics.codewords_read() as f64;
        assert_eq!(count as u64, config.user_codewords());
        let meets = |found: u64, expected: f64, what: &str| {
            // Codewords of a stripe that are lost are lost together: the variance is that of as many twice.
            let sigma = (2.0 * count * expected * (1.0 - expected)).sqrt();
            let off = (found as f64 - count * expected) / sigma;
            assert!(off.abs() < 4.0, "{what}, n = {n}, p = {p}: {found} of {count}, {off:.1} standard deviations off");
        };
        let lost = p * (1.0 - (1.0 - p).powi(n as i32));
        meets(statistics.uncorrectable, lost, "lost");
        meets(statistics.recovered, p - lost, "rebuilt");
        // Only those that fail are looked for in the rest of their stripe: each other page of it is read.
        let failed = statistics.recovered + statistics.uncorrectable;
        assert!(statistics.recovery_reads() <= failed * u64::from(n) && statistics.recovery_reads() > 0);
        let lost = device(None, &fails(p), "");
        let without = run(&lost, read_all(&lost, Ns::ZERO));
        meets(without.statistics().uncorrectable * count as u64 / lost.user_codewords(), p, "without parity");
    }
}

/// A read that is rebuilt takes a failed read, and then that of the slowest other page of its stripe: on other channels at once.
#[test]
fn rebuilding_takes_another_read() {
    let config = device(
        Some(1),
        &fails(0.2),
        "flash.page_types = [{ name = \"page\", sense_us = 40.0 }]\nbus.transfer_us = 10.0\ndecoder.time.fixed_us = 5.0",
    );
    let mut simulation = run(&config, read_all(&config, Ns::ZERO));
    let mut rebuilt = 0;
    for row in simulation.take_log() {
        // Pairs of dies that follow one another in the stripe are on two channels.
        let (once, twice) = (Ns(55_000), Ns(110_000));
        assert!(row.response == once || row.response == twice, "{row:?}");
        rebuilt += u64::from(row.response == twice);
    }
    let statistics = simulation.statistics();
    assert_eq!(rebuilt, statistics.recovered + statistics.uncorrectable);
    assert_eq!(statistics.recovery_reads(), rebuilt);
    let spent = statistics.read_time.retries.as_us();
    assert!((spent - 55.0 * rebuilt as f64).abs() < 1e-3, "recovery is part of `retries`: {spent}");
}

/// Random requests, in the middle of which a die fails, and then a read of everything.
fn with_failure(config: &CheckedConfig) -> (Simulation, Vec<Request>) {
    let mut requests = random_requests(config, 600, u64::MAX, Ns(20_000_000));
    let (from, writes) = (requests.last().unwrap().arrival, requests.clone());
    requests.extend(read_all(config, Ns(from.0 + 1_000_000_000)));
    (run(config, requests), writes)
}

/// Does a failure of any one die, at any time, lose nothing with parity?
#[test]
fn a_die_that_fails_loses_nothing_with_parity() {
    for n in [1, 3, 7] {
        for die in 0..8 {
            let at_s = [0.0, 1.3, 4.7, 9.9][die as usize % 4];
            let host = ["", "host.reads_first = true", "host.write_buffer_bytes = 65536"][n as usize % 3];
            let more = format!("flash.die_failures = [{{ at_s = {at_s:?}, die = {die} }}]\n{host}");
            let config = device(Some(n), PERFECT, &more);
            let (simulation, writes) = with_failure(&config);
            let statistics = simulation.statistics();
            assert_eq!(statistics.uncorrectable + statistics.uncorrectable_in_background, 0, "n = {n}, die {die}");
            assert!(statistics.recovered > 0, "n = {n}, die {die}: something lay there");
            assert_eq!(statistics.refused_codewords, 0, "n = {n}, die {die}");
            assert_map(&simulation, &served(&config, &writes));
            simulation.ftl().assert_at_rest();
        }
    }
}

/// Without parity, does it lose exactly what lay there?
#[test]
fn a_die_that_fails_loses_what_lay_there_without_parity() {
    for die in 0..8 {
        let more = format!("flash.die_failures = [{{ at_s = 0.07, die = {die} }}]");
        let config = device(None, PERFECT, &more);
        let mut requests = random_requests(&config, 600, u64::MAX, Ns(300_000));
        let before = run(&config, requests.clone()).statistics().uncorrectable;
        let from = requests.last().unwrap().arrival;
        requests.extend(read_all(&config, Ns(from.0 + 1_000_000_000)));
        let simulation = run(&config, requests);
        let geometry = config.geometry();
        let lost: HashSet<u64> = (0..config.user_codewords())
            .filter(|&lcn| match simulation.ftl().locate(Lcn(lcn)) {
                Location::Flash(place) => {
                    geometry.die_of(Plane(geometry.block_of(place).0 / geometry.blocks_per_plane())) == Die(die)
                }
                _ => false,
            })
            .collect();
        assert!(!lost.is_empty());
        assert_eq!(simulation.statistics().uncorrectable - before, lost.len() as u64, "die {die}");
        simulation.ftl().assert_consistent();
    }
}

/// A second die of the same stripes is one too many: what lies on either is lost where the other had a page of its stripe.
#[test]
fn two_dies_of_a_stripe_are_too_many() {
    let more = "flash.die_failures = [{ at_s = 0.0, die = 0 }, { at_s = 0.0, die = 1 }]";
    let config = device(Some(7), PERFECT, more);
    let mut requests = read_all(&config, Ns::ZERO);
    requests.push(request(RequestKind::Write, Ns(requests.last().unwrap().arrival.0 + 1), 0, 40));
    let simulation = run(&config, requests);
    let (statistics, geometry) = (simulation.statistics(), config.geometry());
    let fresh = run(&config, Vec::new());
    let on_either = (0..config.user_codewords()).filter(|&lcn| {
        let Location::Flash(place) = fresh.ftl().locate(Lcn(lcn)) else { return false };
        geometry.die_of(Plane(geometry.block_of(place).0 / geometry.blocks_per_plane())) < Die(2)
    });
    assert_eq!(statistics.uncorrectable, on_either.count() as u64);
    assert_eq!(statistics.recovered, 0);
    simulation.ftl().assert_consistent();
}

/// Do the dies of a superblock collect together? Under random writes that never end, a drive with stripes of any length keeps its planes busy, so that
/// it serves what the programs of its write amplification leave; one page at a time, 31 + 1 had a fifth of the planes at work.
#[test]
fn stripes_of_any_length_keep_planes_busy() {
    for data_pages in [0, 1, 7, 31] {
        let parity = if data_pages == 0 { "seed=1".to_owned() } else { format!("ftl.parity.data_pages={data_pages}") };
        let config = shipped(
            "tlc-femu.toml",
            &[
                &parity,
                "flash.busy_unit='plane'",
                "geometry.blocks_per_plane=64",
                "geometry.pages_per_block=33",
                "ftl.over_provisioning=0.3",
                "reliability='perfect'",
                "workload.read_fraction=0.0",
                "workload.sizes=[{ bytes = 4096, share = 1.0 }]",
                "workload.addresses='uniform'",
                "workload.arrivals='immediate'",
                "workload.footprint_bytes=none",
                "workload.requests=40000",
                "host.issue={ closed_loop = { queue_depth = 128 } }",
                "measurement.warmup={ requests = 100000 }",
            ],
        );
        let mut simulated = Run::new(&config, Requests::Workload, false).unwrap();
        while simulated.advance(1_000_000).unwrap() {}
        let summary = simulated.summary(false);
        let busy = summary.utilisation.plane;
        assert!(busy > 0.85, "{data_pages} + 1: planes are {busy} busy");
        let program_us = (820.0 + 2_200.0 + 5_700.0) / 3.0;
        let programs_per_s = 1e6 * f64::from(config.geometry().planes()) / program_us;
        let most = programs_per_s * 4.0 / summary.writes_detail.write_amplification.unwrap();
        let found = summary.throughput.write_iops.unwrap();
        assert!((0.75 * most..most).contains(&found), "{data_pages} + 1: {found} of {most} a second");
    }
}
