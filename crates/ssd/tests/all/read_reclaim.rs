//! Read reclaim: what moves when, and what reads do to what stays. That nothing is lost by it, `laws.rs` shows.

use crate::support::{SMALL_TLC, random_requests, request, run, shipped};
use softsense_base::{Ns, Purpose, Stream};
use softsense_config::checked::CheckedConfig;
use softsense_config::ids::{Lcn, Superblock};
use softsense_ftl::Location;
use softsense_requests::{Request, RequestKind};
use softsense_ssd::simulation::Simulation;

/// Reads need no retry.
const NO_RETRY: &str = "read.policy='ideal'";
/// How much more than others the reads of a wordline beside one count.
const STRESS: f64 = 8.4;
/// How steeply disturbance grows with the pass-through voltage.
const SENSITIVITY: f64 = 9.3;
/// Codewords of a wordline, and of a block.
const OF_WORDLINE: u64 = 3;
const OF_BLOCK: u64 = 24;

fn device(reclaim: &str, more: &[&str]) -> CheckedConfig {
    let reclaim = format!("ftl.read_reclaim={reclaim}");
    shipped("tlc-femu.toml", &[&SMALL_TLC[..], &[NO_RETRY, &reclaim], more].concat())
}

fn reads(lcn: u64, count: usize) -> Vec<Request> {
    vec![request(RequestKind::Read, Ns::ZERO, lcn, 1); count]
}

/// Effective reads of a codeword.
fn effective_reads(simulation: &Simulation, lcn: u64) -> f64 {
    let ftl = simulation.ftl();
    let Location::Flash(place) = ftl.locate(Lcn(lcn)) else { panic!("codeword {lcn} is in flash") };
    ftl.effective_reads(ftl.group_of(place).0, 0)
}

fn block_of(simulation: &Simulation, lcn: u64) -> u32 {
    let Location::Flash(place) = simulation.ftl().locate(Lcn(lcn)) else { panic!("codeword {lcn} is in flash") };
    simulation.ftl().group_of(place).0.superblock.0
}

/// Is a block moved and erased with the read that reaches the limit, those before the run among them, and not with the one before?
#[test]
fn a_block_moves_at_its_limit() {
    for (before, count) in [("0.0", 1000), ("400.0", 600)] {
        let start = format!("precondition.block_reads={before}");
        let config = device("{ block = { reads = 1000 } }", &[&start]);
        for (count, moved) in [(count - 1, 0), (count, 1)] {
            let simulation = run(&config, reads(10, count));
            let statistics = simulation.statistics();
            assert_eq!((statistics.reclaimed_blocks, statistics.operations.erases), (moved, moved), "{count} reads");
            assert_eq!(statistics.reclaim_codewords_programmed(), moved * OF_BLOCK);
            assert_eq!((statistics.gc_victims, statistics.gc_codewords_programmed()), (0, 0), "no garbage collection");
            assert_eq!(effective_reads(&simulation, 6) == 0.0, moved > 0, "what was moved begins anew");
        }
    }
}

/// Do the neighbours of a wordline that is hammered move when they reach their limit, however it is counted, while their block stays as it
/// is? After that, nothing is disturbed by more than reads that are not beside it.
#[test]
fn neighbours_of_a_hammered_wordline_move() {
    let worst = |simulation: &Simulation| {
        simulation.sample_codewords(1000).into_iter().map(|sample| sample.rber).fold(0.0, f64::max)
    };
    // The fourth wordline, and those beside it.
    let (hammered, beside) = (10, [6, 7, 8, 12, 13, 14]);
    for (counters, counts) in
        [("", [(9_999, 0), (10_000, 2), (30_000, 2)].as_slice()), (", counters = 4", &[(9_999, 0), (10_000, 2)])]
    {
        let limit = 10_000.0 * STRESS;
        let config = device(&format!("{{ wordline = {{ effective_reads = [{limit:?}]{counters} }} }}"), &[]);
        let unread = worst(&run(&config, Vec::new()));
        for &(count, moved) in counts {
            let simulation = run(&config, reads(hammered, count));
            let statistics = simulation.statistics();
            assert_eq!((statistics.reclaimed_wordlines, statistics.operations.erases), (moved, 0), "{count} reads");
            assert_eq!(statistics.reclaim_codewords_programmed(), moved * OF_WORDLINE);
            assert_eq!((statistics.gc_victims, statistics.gc_codewords_programmed()), (0, 0), "no garbage collection");
            let most = beside.map(|lcn| effective_reads(&simulation, lcn)).into_iter().fold(0.0, f64::max);
            assert_eq!(most, if moved == 0 { STRESS * count as f64 } else { 0.0 }, "{count} reads");
            assert!(worst(&simulation) < 2.0 * unread, "{} after {count} reads", worst(&simulation));
        }
    }
    let never = device("{ block = { reads = 1000000 } }", &[]);
    assert!(worst(&run(&never, reads(hammered, 60_000))) > 4.0 * worst(&run(&never, Vec::new())));
}

/// Do the wordlines that are not beside the one that is hammered follow when they have had as many reads, and does their block stay, with
/// the hammered one in it, whose own reads do not count?
#[test]
fn a_block_of_reclaimed_wordlines_is_not_erased() {
    let config = device("{ wordline = { effective_reads = [8400.0], counters = 4 } }", &[]);
    let simulation = run(&config, reads(10, 9_000));
    let statistics = simulation.statistics();
    assert_eq!((statistics.reclaimed_wordlines, statistics.operations.erases), (7, 0));
    assert_eq!((block_of(&simulation, 10), simulation.ftl().valid(Superblock(0))), (0, OF_WORDLINE as u32));
}

/// Does no data stay where it has been disturbed much beyond the limit, that of open blocks neither, whatever is read, with few counters
/// and with one for each wordline? A wordline is looked at once a round of its block at least, and moves while reads go on.
#[test]
fn nothing_stays_beyond_its_limit() {
    let limit = 2000.0;
    let mut moved = Vec::new();
    for counters in ["", ", counters = 9", ", counters = 3", ", counters = 1"] {
        let config = device(&format!("{{ wordline = {{ effective_reads = [{limit:?}]{counters} }} }}"), &[]);
        let stream = Stream::new(3, Purpose::Workload);
        // The seven blocks of the start; the lower an address, the more it is read.
        let user = config.user_codewords();
        let lcn = |read| (user as f64 * stream.uniform(read, 0).powi(3)) as u64;
        let requests = (0..30_000).map(|read| request(RequestKind::Read, Ns::ZERO, lcn(read), 1)).collect();
        let simulation = run(&config, requests);
        let most = (0..user).map(|lcn| effective_reads(&simulation, lcn)).fold(0.0, f64::max);
        assert!(most < 1.05 * limit, "{most} effective reads{counters}");
        assert!(!counters.is_empty() || most > 0.9 * limit, "{most} effective reads: it moved early");
        moved.push(simulation.statistics().reclaimed_wordlines);
    }
    assert!(moved[0] > 20 && moved[1].abs_diff(moved[0]) <= 1, "nine counters are more than wordlines: {moved:?}");
    assert!(moved[3] > moved[0], "who knows less moves more: {moved:?}");
}

/// Does a run end in which moving data, which is rebuilt by reads of others, makes other data due without an end? What becomes due after the
/// last request is left.
#[test]
fn reclaim_ends_with_the_requests() {
    let more = [
        "geometry.channels=2",
        "geometry.chips_per_channel=2",
        "ftl.over_provisioning=0.75",
        "ftl.parity={ data_pages = 3 }",
        "flash.die_failures=[{ die = 2, at_s = 0.0 }]",
        "precondition.block_reads=3.0",
    ];
    let config = device("{ block = { reads = 1 } }", &more);
    let requests = random_requests(&config, 200, 50, Ns::from_us(100.0));
    let reclaimed = run(&config, requests).statistics().reclaimed_blocks;
    assert!(reclaimed > 10, "{reclaimed} blocks");
}

/// Are limits those of the classes of layers, the best first? Of four layers of two wordlines the outer ones are the better half.
#[test]
fn better_layers_bear_more() {
    let limits = format!("{{ wordline = {{ effective_reads = [{:?}, {:?}] }} }}", 3000.0 * STRESS, 1000.0 * STRESS);
    let layers = "reliability.table.variation={ layer_factors = [0.5, 1.5, 1.25, 0.75] }";
    let config = device(&limits, &[layers]);
    // The second wordline is read: the first one is good, the third one is not.
    for (count, moved) in [(999, [false, false]), (1000, [false, true]), (2900, [false, true]), (3000, [true, true])] {
        let simulation = run(&config, reads(OF_WORDLINE, count));
        let found = [0, 2 * OF_WORDLINE].map(|lcn| block_of(&simulation, lcn) != 0);
        assert_eq!(found, moved, "{count} reads");
    }
}

/// Do reads disturb less where wordlines hold no valid data, by exp(-k times the reduction in proportion to their share)?
#[test]
fn a_lower_pass_through_voltage_disturbs_less() {
    let reduction = 0.05;
    let limit = "{ wordline = { effective_reads = [1e9], pass_through_reduction = 0.05 } }";
    let config = device(limit, &[]);
    let trims = |wordlines: std::ops::Range<u64>| {
        let count = wordlines.end - wordlines.start;
        vec![request(RequestKind::Trim, Ns::ZERO, wordlines.start * OF_WORDLINE, count * OF_WORDLINE)]
    };
    // Reads of the second wordline; then four and six of the eight hold nothing.
    let count = 5000;
    let rounds =
        [reads(OF_WORDLINE, count), trims(4..8), reads(OF_WORDLINE, count), trims(2..4), reads(OF_WORDLINE, count)];
    let shares = [0.0, 0.5, 0.75];
    for rounds in [&rounds[..1], &rounds[..3], &rounds] {
        let simulation = run(&config, rounds.concat());
        let counted = shares[..rounds.len().div_ceil(2)].iter();
        let expected: f64 = counted.map(|share| STRESS * count as f64 * (-SENSITIVITY * reduction * share).exp()).sum();
        let found = effective_reads(&simulation, 0);
        assert!((found / expected - 1.0).abs() < 2e-5, "{found} for {expected}");
        assert_eq!(simulation.ftl().most_block_reads(), Some((rounds.len().div_ceil(2) * count) as u64));
    }
}

/// What cannot go together is refused.
#[test]
fn what_read_reclaim_needs_is_named() {
    let refused = |overrides: &[&str]| {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs/tlc-femu.toml");
        let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
        CheckedConfig::open(path, &overrides).unwrap_err().to_string()
    };
    let block = "ftl.read_reclaim={ block = { reads = 1000 } }";
    let wordline = "ftl.read_reclaim={ wordline = { effective_reads = [1000.0] } }";
    let undisturbed = ["reliability.table.rber={ constant = { rber = 1e-3 } }", "read.references='cells'"];
    for (overrides, expected) in [
        (
            &[&[block], &undisturbed[..]].concat()[..],
            "ftl.read_reclaim: found read reclaim with cells that reads do not disturb",
        ),
        (
            &[wordline, "ftl.interleaving.ways=2"],
            "ftl.read_reclaim.wordline: found together with codewords that lie in several pages",
        ),
        (
            &[
                "ftl.read_reclaim={ wordline = { effective_reads = [1000.0, 900.0] } }",
                "reliability.table.variation={}",
            ],
            "ftl.read_reclaim.wordline.effective_reads: found 2 limits for",
        ),
        (
            &["ftl.read_reclaim={ wordline = { effective_reads = [900.0, 1000.0] } }"],
            "ftl.read_reclaim.wordline.effective_reads: found [900.0, 1000.0], expected one limit or more",
        ),
    ] {
        let error = refused(overrides);
        assert!(error.contains(expected), "{error}");
    }
}
