//! Losses of power: for how long the device is away, what is started anew, and what may be lost. That nothing else is lost, `laws.rs` shows.

use crate::support::{CODEWORD, Listed, request, run};
use softsense_base::{Ns, Purpose, Stream};
use softsense_config::checked::CheckedConfig;
use softsense_config::ids::Lcn;
use softsense_ftl::Location;
use softsense_requests::{Request, RequestKind};
use softsense_ssd::simulation::{LogRow, Simulation};

const SENSE: u64 = 40_000;
const PROGRAM: u64 = 600_000;
const TRANSFER: u64 = 10_000;
const COMMAND: u64 = 200;
/// Power is off, and up again.
const IDLE: u64 = 5_000_000 + 20_000_000;

/// Two channels with two planes each, whose pages hold two codewords.
fn device(host: &str, power_loss: &str) -> CheckedConfig {
    let toml = format!(
        "[geometry]\nchannels = 2\nchips_per_channel = 2\ndies_per_chip = 1\nplanes_per_die = 1\nblocks_per_plane = 40\n\
         pages_per_block = 8\ncodewords_per_page = 2\ncodeword_bytes = {CODEWORD}\n[bus]\ntransfer_us = 10.0\ncommand_us = 0.2\n[decoder]\n\
         time.fixed_us = 8.0\n[ftl]\nover_provisioning = 0.25\n[host]\n{host}\n[flash]\nerase_us = 1000.0\n[[flash.page_types]]\nname = \"only\"\nsense_us = 40.0\n\
         program_us = 600.0\n[power_loss]\noff_us = 5000.0\npower_up_us = 20000.0\n{power_loss}\n"
    );
    let toml = format!("reliability = \"perfect\"\n{toml}");
    CheckedConfig::from_toml(&toml, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}\n{toml}"))
}

fn logged(config: &CheckedConfig, requests: Vec<Request>) -> (Simulation, Vec<LogRow>) {
    let mut simulation = Simulation::new(config, Box::new(Listed::new(requests)), true).unwrap();
    while simulation.advance(1_000_000).unwrap() {}
    let mut log = simulation.take_log();
    log.sort_by_key(|row| row.request);
    (simulation, log)
}

/// Is the device away for as long as power is off and comes up, the map is read and pages are scanned, to the nanosecond? Channels work at once,
/// and so do planes, which share the bus of their channel. A request that comes meanwhile waits.
#[test]
fn the_device_is_away_as_long_as_the_closed_form_says() {
    let unmapped = "map_entry_bytes = 0\nscan = \"none\"";
    let reads = vec![request(RequestKind::Read, Ns(0), 0, 1), request(RequestKind::Read, Ns(2_000_000), 0, 1)];
    let alone = SENSE + TRANSFER + COMMAND + 8_000;
    let user = device("", &format!("at_s = [0.001]\n{unmapped}")).user_codewords();
    // Map entries of 4 bytes fit one page, of 64 bytes 15; the data lies in 240 pages of each plane.
    assert_eq!((user, (user * 64).div_ceil(2 * CODEWORD)), (1920, 15));
    let map = (SENSE + COMMAND + 2 * TRANSFER, "map_entry_bytes = 4");
    let large_map = (4 * SENSE + 8 * (COMMAND + 2 * TRANSFER), "map_entry_bytes = 64");
    let scan = (240 * SENSE + 480 * (COMMAND + TRANSFER), "scan = \"all_blocks\"");
    let (no_map, no_scan) = ((0, "map_entry_bytes = 0"), (0, "scan = \"none\""));
    for ((reload, map), (scanning, scan)) in
        [(no_map, no_scan), (map, no_scan), (large_map, no_scan), (no_map, scan), (map, scan)]
    {
        let config = device("", &format!("at_s = [0.001]\n{map}\n{scan}"));
        let (simulation, log) = logged(&config, reads.clone());
        let away = IDLE + reload + scanning;
        let counts = simulation.power_counts().unwrap();
        assert_eq!((counts.losses, counts.longest), (1, Ns(away)), "{map}, {scan}");
        assert_eq!(counts.scanned_pages, if scanning == 0 { 0 } else { 960 });
        assert_eq!(log[0].response, Ns(alone));
        // Back at 1 ms + away, when it has waited since 2 ms.
        assert_eq!(log[1].response, Ns(1_000_000 + away - 2_000_000 + alone), "{map}, {scan}");
    }
}

/// Does a write whose program is under way take its whole program once more, and does it count as one?
#[test]
fn programs_and_erases_are_started_anew() {
    let at_ns = 300_000;
    let config = device("write_buffer_bytes = 0", "at_s = [0.0003]\nmap_entry_bytes = 0\nscan = \"none\"");
    let (simulation, log) = logged(&config, vec![request(RequestKind::Write, Ns(0), 0, 2)]);
    assert_eq!(log[0].response, Ns(at_ns + IDLE + PROGRAM));
    let counts = simulation.power_counts().unwrap();
    assert_eq!((counts.programs_again, counts.erases_again, counts.lost_codewords), (1, 0, 0));
    assert_eq!(simulation.statistics().operations.programs, 1);
}

/// Is what was acknowledged lost, where the write buffer is not protected and it was not flushed, and only then?
#[test]
fn what_is_not_flushed_is_lost() {
    let writes = || (0..3).map(|at| request(RequestKind::Write, Ns(0), at, 1));
    let after = [request(RequestKind::Read, Ns(60_000_000), 0, 3)];
    let flush = [Request { arrival: Ns(10_000), kind: RequestKind::Flush, offset_bytes: 0, bytes: 0 }];
    let large = "write_buffer_bytes = 65536\nwrite_buffer_replacement = \"lru\"\n";
    let protected = format!("{large}write_buffer_power_protected = true");
    let loss = "at_s = [0.01]\nmap_entry_bytes = 0\nscan = \"none\"";
    for (host, flushes, lost, saved) in
        [(large, false, 3, 0), (large, true, 0, 0), (&protected, false, 0, 2), (&protected, true, 0, 2)]
    {
        let config = device(host, loss);
        let between = flush.iter().take(usize::from(flushes)).copied();
        let (simulation, _) = logged(&config, writes().chain(between).chain(after).collect());
        let counts = simulation.power_counts().unwrap();
        assert_eq!((counts.lost_codewords, counts.saved_pages), (lost, saved), "{host}, {flushes}");
        let are_there = (0..3).all(|lcn| simulation.ftl().locate(Lcn(lcn)) != Location::Unmapped);
        assert_eq!(are_there, lost == 0);
        // Saving two pages is a program of one plane, and one on each bus.
        let saving = if saved > 0 { PROGRAM + COMMAND + 2 * TRANSFER } else { 0 };
        assert_eq!(counts.longest, Ns(IDLE + saving));
    }
}

/// Does no flush and no write with FUA break its promise, whatever is under way when power fails, however often?
#[test]
fn what_is_flushed_is_not_lost() {
    let (mut lost, mut losses) = (0, 0);
    for seed in 0..60 {
        let draws = Stream::new(seed, Purpose::Workload);
        let draw = |index: u64, what: u64, below: u64| draws.bits(index, what) % below;
        let merges = if seed % 3 == 0 { "partial_write = \"merge\"\n" } else { "" };
        let replacement = ["full_page", "lru", "fifo"][seed as usize % 3];
        let host = format!("{merges}write_buffer_bytes = 131072\nwrite_buffer_replacement = \"{replacement}\"");
        let config = device(&host, &format!("at_s = [0.0{}]\nmean_interval_s = 0.003\nmap_entry_bytes = 0", 1 + seed));
        let requests = (0..400u64).map(|index| {
            let arrival = Ns(index * 40_000);
            let kind = match draw(index, 0, 12) {
                0 => return Request { arrival, kind: RequestKind::Flush, offset_bytes: 0, bytes: 0 },
                1 => RequestKind::FuaWrite,
                2 => RequestKind::Read,
                _ => RequestKind::Write,
            };
            let (offset_bytes, bytes) = (draw(index, 1, 100) * 2048, (1 + draw(index, 2, 6)) * 2048);
            Request { arrival, kind, offset_bytes, bytes }
        });
        let (simulation, log) = logged(&config, requests.collect());
        let (from, until) = (|row: &LogRow| row.arrival, |row: &LogRow| row.arrival + row.response);
        let covers = |row: &&LogRow, lcn: u64| {
            row.offset_bytes < (lcn + 1) * CODEWORD && row.offset_bytes + row.bytes > lcn * CODEWORD
        };
        for one in simulation.lost_codewords() {
            let done: Vec<&LogRow> = log.iter().filter(|row| until(row) <= one.at).collect();
            let is_promised = |write: &LogRow| {
                let flush = |row: &&&LogRow| row.kind == RequestKind::Flush && from(row) >= until(write);
                done.iter().filter(flush).count() > 0
            };
            let mut writes = done.iter().filter(|row| row.kind == RequestKind::Write && covers(row, one.lcn.0));
            assert!(writes.any(|write| !is_promised(write)), "seed {seed}: {one:?} was promised, or never written");
        }
        let counts = simulation.power_counts().unwrap();
        (lost, losses) = (lost + counts.lost_codewords, losses + counts.losses);
        assert_eq!(simulation.statistics().completed(), 400);
    }
    assert!(lost > 200 && losses > 120, "{lost} codewords in {losses} losses");
}

/// Does power that fails while nothing is left to do change nothing, and is what cannot go together refused?
#[test]
fn losses_after_the_last_request_do_not_come() {
    let config = device("", "at_s = [100.0]");
    let simulation = run(&config, vec![request(RequestKind::Read, Ns(0), 0, 1)]);
    assert_eq!(simulation.power_counts().unwrap().losses, 0);
    assert!(simulation.now() < Ns::from_secs(1));
    for (more, expected) in [
        ("[power_loss]\n", "power_loss: found neither `at_s` nor `mean_interval_s`"),
        ("[power_loss]\nmean_interval_s = 0.001\n", "power_loss.mean_interval_s: found less than twice the longest"),
        ("[power_loss]\nat_s = [2.0, 1.0]\n", "power_loss.at_s: found 1 after 2"),
        ("[power_loss]\nat_s = [1.0]\n[ftl.mapping.demand]\n", "power_loss: found together with `ftl.mapping.demand`"),
    ] {
        let error = CheckedConfig::from_toml(more, "test.toml", &[]).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
