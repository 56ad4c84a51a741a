//! What cells are like by where they lie and what was done to them: reads of a block disturb its other wordlines, layers differ.

use crate::support::{SMALL_TLC, request, run, shipped};
use softsense_base::Ns;
use softsense_config::checked::CheckedConfig;
use softsense_link::ReliabilitySpec;
use softsense_nand::{RberModel, Wear};
use softsense_requests::{Request, RequestKind};
use softsense_ssd::simulation::Simulation;

fn device(more: &[&str]) -> CheckedConfig {
    shipped("tlc-femu.toml", &[&SMALL_TLC[..], more].concat())
}

fn reads(lcn: u64, count: usize) -> Vec<Request> {
    vec![request(RequestKind::Read, Ns::ZERO, lcn, 1); count]
}

/// What a run asks of cells that were read.
fn expected_rber(config: &CheckedConfig, page_type: usize, effective_reads: f64) -> f64 {
    let ReliabilitySpec::Table(table) = &config.config().reliability else { panic!("it has a table") };
    let rber: RberModel = table.rber.open("rber", "".as_ref()).unwrap();
    rber.compiled().at(Wear { effective_reads, ..Wear::unread(1000, 0.0) }, Some(page_type))
}

/// The raw bit error rates that codewords of a page type have in some blocks, ascending, each once.
fn rates(simulation: &Simulation, page_type: u8, blocks: std::ops::Range<u32>) -> Vec<f64> {
    let samples = simulation.sample_codewords(8 * simulation.ftl().user_codewords() as u32);
    let of_type = samples.iter().filter(|sample| sample.page_type == page_type && blocks.contains(&sample.block.0));
    let mut rates: Vec<f64> = of_type.map(|sample| sample.rber).collect();
    rates.sort_by(f64::total_cmp);
    rates.dedup_by(|a, b| *a / *b - 1.0 < 1e-6);
    rates
}

/// The run itself takes some seconds, in which data ages by less than a thousandth.
fn assert_near(found: &[f64], expected: &[f64]) {
    let near = |(found, expected): (&f64, &f64)| (found / expected - 1.0).abs() < 2e-3;
    assert!(found.len() == expected.len() && found.iter().zip(expected).all(near), "{found:?} for {expected:?}");
}

/// Are cells disturbed by reads of other wordlines, those beside them 8.4 times as much, and by no others?
#[test]
fn a_hammered_wordline_disturbs_its_block() {
    let config = device(&[]);
    let count = 20_000;
    // The fourth wordline of the first block, its middle page.
    let simulation = run(&config, reads(10, count));
    assert_eq!(simulation.ftl().most_block_reads(), Some(count as u64));
    for page_type in 0..3 {
        let expected = [0.0, count as f64, 8.4 * count as f64].map(|reads| expected_rber(&config, page_type, reads));
        assert_near(&rates(&simulation, page_type as u8, 0..1), &expected);
        assert_near(&rates(&simulation, page_type as u8, 1..16), &expected[..1]);
    }
}

/// Is what reads did gone with an erase? All data is written anew, block after block, so that collection has nothing to read.
#[test]
fn erased_blocks_start_afresh() {
    let config = device(&["precondition.block_reads=2e5"]);
    let user = config.user_codewords();
    let writes = |round: u64| (0..user).map(move |lcn| request(RequestKind::Write, Ns(round), lcn, 1));
    let untouched = run(&config, Vec::new());
    // Of eight wordlines the first and the last have one neighbour.
    let (edge, inner) = (2e5 * (8.4 + 6.0) / 8.0, 2e5 * (2.0 * 8.4 + 5.0) / 8.0);
    let anew = run(&config, reads(10, 5000).into_iter().chain((0..4).flat_map(writes)).collect());
    assert!(anew.ftl().least_and_most_erases().1 > 1);
    for page_type in 0..3 {
        let rber = |reads| expected_rber(&config, page_type, reads);
        assert_near(&rates(&untouched, page_type as u8, 0..16), &[rber(edge), rber(inner)]);
        assert_near(&rates(&anew, page_type as u8, 0..16), &[rber(0.0)]);
    }
}

/// Does every sensing count, those of retries and of extra levels, too?
#[test]
fn retries_and_soft_levels_disturb_as_well() {
    let old = ["precondition.pe_cycles=3000", "precondition.retention_days=365.0", "reliability.table.most_beyond=1.0"];
    let simulation = run(&device(&old), reads(10, 500));
    let operations = simulation.statistics().operations;
    assert!(operations.extra_levels_sensed >= 500 && operations.senses > 700, "{operations:?}");
    assert_eq!(simulation.ftl().most_block_reads(), Some(operations.senses + operations.extra_levels_sensed));
}

/// Cells that reads do not disturb are not counted for.
#[test]
fn nobody_counts_where_reads_do_nothing() {
    let simulation = run(
        &device(&["reliability.table.rber.threshold_voltage='tlc-2-3-2'", "read.references='cells'"]),
        reads(10, 100),
    );
    assert_eq!(simulation.ftl().most_block_reads(), None);
}

/// Do known layers differ alike in all blocks, and drawn wordlines in each in its own way?
#[test]
fn layers_are_the_same_in_all_blocks_and_wordlines_are_not() {
    let constant = "reliability.table={ file = 'flash-8-9', rber.constant.rber = 1e-3 }";
    let device = |variation: &str| {
        let variation = format!("reliability.table.variation={variation}");
        shipped("tlc-femu.toml", &[&SMALL_TLC[..], &["read.references='cells'", constant, &variation]].concat())
    };
    let known = run(&device("{ layer_factors = [0.5, 1.5, 1.25, 0.75] }"), Vec::new());
    let drawn = run(&device("{ wordline_sigma = 0.2 }"), Vec::new());
    let layers = run(&device("{ layer_sigma = 0.2, wordlines_per_layer = 4 }"), Vec::new());
    let mut of_blocks = Vec::new();
    for block in 0..6 {
        // Three pages of a wordline are alike: eight wordlines, two of a layer.
        assert_near(&rates(&known, 0, block..block + 1), &[5e-4, 7.5e-4, 1.25e-3, 1.5e-3]);
        assert_eq!(rates(&known, 0, block..block + 1), rates(&known, 2, block..block + 1));
        assert_eq!(rates(&layers, 0, block..block + 1).len(), 2);
        assert_eq!(rates(&layers, 0, block..block + 1), rates(&layers, 0, 0..6));
        let of_block = rates(&drawn, 0, block..block + 1);
        assert_eq!(of_block.len(), 8, "{of_block:?}");
        of_blocks.push(of_block);
    }
    of_blocks.dedup();
    assert_eq!(of_blocks.len(), 6);
}

/// Year-old data that default references often fail, read with times that are easy to add up.
const OLD: [&str; 6] = [
    "precondition.pe_cycles=3000",
    "precondition.retention_days=365.0",
    "read.policy='two_step'",
    "read.retry='restart'",
    "decoder.time.fixed_us=10.0",
    "reliability.table.most_beyond=1.0",
];

/// Does a block, or a layer of it, begin with the entry that it needed last, and forget that with its erase?
#[test]
fn remembered_entries_come_first() {
    let attempts = |remembered: &str, lcn: u64| {
        let config = device(&[&OLD[..], &[&format!("read.remembered='{remembered}'")]].concat());
        run(&config, reads(lcn, 50)).statistics().operations.decodes
    };
    // A codeword that the first entry does not decode.
    let user = device(&[]).user_codewords();
    let lcn = (0..user).find(|&lcn| (100..=200).contains(&attempts("nothing", lcn))).expect("some need another");
    let tried = attempts("nothing", lcn) / 50;
    for remembered in ["of_block", "of_layer"] {
        assert_eq!(attempts(remembered, lcn), 49 + tried, "{remembered}");
    }
    // Its block is written anew, and the data is young: nobody begins with what old data needed.
    let config = device(&[&OLD[..], &["read.remembered='of_block'"]].concat());
    let writes = |round: u64| (0..user).map(move |lcn| request(RequestKind::Write, Ns(round), lcn, 1));
    let anew = reads(lcn, 2).into_iter().chain((0..4).flat_map(writes));
    let before: Vec<_> = anew.clone().collect();
    let after: Vec<_> = anew.chain(reads(lcn, 50)).collect();
    let decodes = |requests| run(&config, requests).statistics().operations.decodes;
    assert_eq!(decodes(after) - decodes(before), 50);
}

/// Does a search take as many sensings of each boundary as it says, and no transfer? Pages of one type, each read alone: what decodes
/// at once takes sensing, transfer and decode; what needs the search those again, and eleven sensings of each boundary more.
#[test]
fn a_search_takes_its_sensings() {
    let cells = "reliability.table.rber.threshold_voltage={ mapping = 'tlc_2_3_2', references = { tracked = false, valley_search \
                 = { step_v = 0.05, sensings = 11, cells = 147456 } }, verify_v = [2.5, 2.9, 3.3, 3.7, 4.1, 4.5, 4.9], \
                 program_step_v = 0.2 }";
    let config = device(
        &[
            &OLD[..],
            &[
                "read.references='valley_search'",
                cells,
                "precondition.pe_cycles=1500",
                "precondition.retention_days=25.0",
            ],
        ]
        .concat(),
    );
    let lowers = (0..50).map(|page| request(RequestKind::Read, Ns::ZERO, 3 * page, 1)).collect();
    let mut simulation = run(&config, lowers);
    let operations = simulation.statistics().operations;
    let searches = operations.search_sensings / 11;
    assert_eq!(operations.search_sensings, 11 * searches);
    let soft = operations.extra_levels_sensed;
    assert!((5..45).contains(&searches) && soft == 0, "{searches} searches, {soft} extra levels");
    let mut found: Vec<f64> = simulation.take_log().iter().map(|row| row.response.as_us()).collect();
    found.sort_by(f64::total_cmp);
    let once = 56.5 + 5.125 + 10.0;
    let both = once + 11.0 * 14.0 + once;
    let expected: Vec<f64> = (0..50).map(|rank| if rank < 50 - searches { once } else { both }).collect();
    assert_eq!(found, expected);
}
