//! Copyback: what a copy takes, what it saves, and what it carries along. That nothing is lost by it, `laws.rs` shows.

use std::collections::BTreeSet;

use crate::support::{CODEWORD, random_requests, run, simulation};
use softsense_base::{Ns, Pj};
use softsense_config::checked::CheckedConfig;
use softsense_requests::{Request, RequestKind};
use softsense_ssd::simulation::{Action, Cause, Owner, Resource, Simulation, Window};

const SENSE: u64 = 40_000;
const PROGRAM: u64 = 600_000;
const COMMAND: u64 = 200;
const TRANSFER: u64 = 10_000;

/// A full device of one plane, whose pages hold a codeword each.
fn device(copyback: &str, more: &str) -> CheckedConfig {
    let toml = format!(
        "[geometry]\nchannels = 1\nchips_per_channel = 1\ndies_per_chip = 1\nplanes_per_die = 1\nblocks_per_plane = 40\n\
         pages_per_block = 8\ncodewords_per_page = 1\ncodeword_bytes = {CODEWORD}\n[bus]\ntransfer_us = 10.0\ncommand_us = 0.2\n[decoder]\n\
         time.fixed_us = 8.0\n[ftl]\nover_provisioning = 0.25\n[host]\nissue.closed_loop.queue_depth = 1\n[[flash.page_types]]\n\
         name = \"only\"\nsense_us = 40.0\nprogram_us = 600.0\n[flash]\n{copyback}\n[reliability.table]\nfile = \"flash-8-9\"\nmost_beyond = 1.0\n\
         rber.constant.rber = 0.001\n{more}"
    );
    CheckedConfig::from_toml(&toml, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}\n{toml}"))
}

/// Overwrites all over the device, so that collection moves data all the time.
fn overwrites(config: &CheckedConfig, count: u32) -> Vec<Request> {
    let of_one = random_requests(config, count, u64::MAX, Ns::ZERO).into_iter();
    of_one.map(|request| Request { kind: RequestKind::Write, bytes: CODEWORD, ..request }).collect()
}

fn moved(simulation: &Simulation) -> u64 {
    simulation.statistics().moved_pages_programmed()
}

/// Does a copy take its plane for two commands, a sensing and a program, to the nanosecond, and does none of its data cross the bus?
#[test]
fn a_copy_is_a_sensing_and_a_program() {
    let config = device("copyback = { most_in_a_row = 255 }", "");
    let mut simulation = simulation(&config, overwrites(&config, 1500));
    simulation.record(Window { from: Ns::ZERO, to: Ns(u64::MAX) }, false);
    while simulation.advance(1_000_000).unwrap() {}
    let seen = simulation.take_recording().unwrap();
    let of = |resource: Resource, action: Action| {
        let is_of = move |span: &&softsense_ssd::simulation::Recorded| {
            span.resource == resource && span.action == action && span.owner == Owner::Background(Cause::Collection)
        };
        seen.spans.iter().filter(is_of).map(|span| span.to.0 - span.from.0).collect::<Vec<u64>>()
    };
    let programs = of(Resource::Plane, Action::Program);
    assert!(programs.len() > 300, "{} copies", programs.len());
    assert!(programs.iter().all(|&took| took == SENSE + PROGRAM), "{programs:?}");
    // Nothing else wants the bus of a plane at one request at a time, but the erase that is told beside it.
    let loads = of(Resource::Plane, Action::Load);
    assert!(loads.iter().filter(|&&took| took == 2 * COMMAND).count() > loads.len() / 2, "{loads:?}");
    assert!(of(Resource::Bus, Action::Transfer).is_empty(), "no data crosses the bus");
    let statistics = simulation.statistics();
    assert_eq!(statistics.copied_pages, moved(&simulation), "pages of one codeword are all copied");
    assert_eq!(statistics.by_cause[Cause::Collection as usize].page_reads, statistics.copied_pages);
}

/// For how long are buses taken, with copies that nobody sees, with copies that are checked first, and without any? To the nanosecond: a page that
/// is moved crosses the bus twice, once, or not at all, and a copy is two commands.
#[test]
fn copies_leave_the_bus_to_others() {
    let nothing = "";
    for (copyback, crossings) in [
        (nothing, 2),
        ("copyback = { ecc = \"check\", most_in_a_row = 3 }", 1),
        ("copyback = { most_in_a_row = 255 }", 0),
    ] {
        let config = device(copyback, "");
        let simulation = run(&config, overwrites(&config, 3000));
        let statistics = simulation.statistics();
        let (moved, copied) = (moved(&simulation), statistics.copied_pages);
        // With few copies in a row no page needs more than hard decision, and some are corrected without need.
        let of_moved = copied as f64 / moved as f64;
        let expected = &[1.0..=1.0, 0.5..=0.99, 0.0..=0.0][crossings];
        assert!(expected.contains(&of_moved), "{copied} of {moved} pages are copied, {copyback}");
        let reads = if crossings == 0 { 0 } else { statistics.work(Cause::Collection).page_reads - copied };
        // A page may be overwritten after it was read and before it is programmed.
        assert!(reads >= moved || crossings == 0, "{reads} pages read and {moved} moved, {copyback}");
        let pages = 3000 + reads + (moved - copied);
        let commands = pages + statistics.operations.erases + 2 * copied;
        let busy = simulation.utilisation().channel * simulation.now().0 as f64;
        assert_eq!(busy.round() as u64, pages * TRANSFER + commands * COMMAND, "{copyback}");
    }
}

/// What does a copy cost? A sensing and a program, and no transfer, of what the config says each takes.
#[test]
fn a_copy_costs_a_sensing_and_a_program() {
    let energies =
        "[energy]\nsense_uj = 2.0\nprogram_uj = 70.0\nerase_uj = 500.0\ntransfer_uj = 9.0\ndecode_uj = 3.0\n";
    let config = device("copyback = { most_in_a_row = 255 }", energies);
    let simulation = run(&config, overwrites(&config, 1500));
    let statistics = simulation.statistics();
    let (copies, erases) = (statistics.copied_pages, statistics.operations.erases);
    assert!(copies > 300, "{copies} copies");
    let energy = statistics.energy;
    assert_eq!(energy.background, Pj::from_uj(72.0).times(copies) + Pj::from_uj(500.0).times(erases));
    assert_eq!(energy.transfer, Pj::default());
}

/// Is the cache folded by copies, which sense a page of one bit a cell and program one of several, and are pages that are stale in part
/// corrected?
#[test]
fn folding_copies_pages_of_the_cache() {
    let cache = "[ftl.slc_cache]\nsize.static.blocks = 2\nwhen_full = \"fold\"\nbits_per_cell = 3\ncells = { sense_us = 20.0, program_us = 100.0, erase_us = \
                 1000.0, wear = 0.1, rber_factor = 0.1 }\n";
    let config = device("copyback = {}", cache);
    let mut simulation = simulation(&config, overwrites(&config, 1500));
    simulation.record(Window { from: Ns::ZERO, to: Ns(u64::MAX) }, false);
    while simulation.advance(1_000_000).unwrap() {}
    let seen = simulation.take_recording().unwrap();
    let folds = seen.spans.iter().filter(|span| {
        let of_folding = span.owner == Owner::Background(Cause::Folding);
        of_folding && span.resource == Resource::Plane && span.action == Action::Program
    });
    let times: BTreeSet<u64> = folds.map(|span| span.to.0 - span.from.0).collect();
    assert_eq!(times, BTreeSet::from([SENSE / 2 + PROGRAM]), "all of them are copies");
    assert!(simulation.statistics().work(Cause::Folding).programs > 100);
}

/// Does data carry its errors along, as often as it may be copied in a row, and is it corrected then?
#[test]
fn errors_accumulate_until_they_are_corrected() {
    for most in [1, 3] {
        let config = device(&format!("copyback = {{ most_in_a_row = {most} }}"), "");
        let simulation = run(&config, overwrites(&config, 4000));
        let rbers: Vec<f64> = simulation.sample_codewords(2000).into_iter().map(|sample| sample.rber / 0.001).collect();
        let times = |copies: u32| rbers.iter().filter(|rber| (*rber - f64::from(1 + copies)).abs() < 1e-3).count();
        let counts: Vec<usize> = (0..=most).map(times).collect();
        assert!(counts.iter().all(|&count| count > 0), "{counts:?} codewords by the copies behind them");
        assert_eq!(counts.iter().sum::<usize>(), rbers.len(), "none was copied more often in a row");
        let statistics = simulation.statistics();
        assert!(statistics.copied_pages < moved(&simulation), "some went through the controller");
    }
}

/// Is a page copied that was read well, and does one that needed more than hard decisions go through the controller?
#[test]
fn a_page_that_reads_poorly_is_corrected() {
    let share = |rber: f64| {
        let copyback = "copyback = { ecc = \"check\", most_in_a_row = 1 }";
        let config = device(copyback, &format!("variation.chip_factors = [{rber:?}]\n"));
        let simulation = run(&config, overwrites(&config, 2000));
        simulation.statistics().copied_pages as f64 / moved(&simulation) as f64
    };
    // At 0.001 all are decoded by hard decisions, at 0.012 none.
    assert!(share(1.0) > 0.5, "{}", share(1.0));
    assert_eq!(share(12.0), 0.0);
}

/// What cannot go together is refused: planes share no register.
#[test]
fn copies_stay_in_their_plane() {
    for (more, expected) in [
        (
            "[geometry]\nchannels = 2\n[ftl.interleaving]\nways = 2\n",
            "flash.copyback: found together with `ftl.parity` or `ftl.interleaving.ways` above 1",
        ),
        (
            "[reliability.fixed]\np_fail = [0.1]\n",
            "flash.copyback: found together with `reliability.fixed`, `reliability.adaptive` or `reliability.bch`",
        ),
    ] {
        let toml = format!("[flash]\ncopyback = {{ most_in_a_row = 2 }}\n{more}");
        let error = CheckedConfig::from_toml(&toml, "test.toml", &[]).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let wrong = "[flash]\ncopyback = { most_in_a_row = 0 }\n";
    let error = CheckedConfig::from_toml(wrong, "test.toml", &[]).unwrap_err().to_string();
    assert!(error.contains("flash.copyback.most_in_a_row: found 0"), "{error}");
}
