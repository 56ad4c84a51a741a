//! The controller's memory: does the read buffer have what it should, at the price that is said, and does a write buffer with
//! replacement keep what was written last?

mod support;

use softsense_base::{Ns, Result};
use softsense_ssd::checked::CheckedConfig;
use softsense_ssd::own::{AdmitPages, MissedPage, Own, OwnDevice, OwnThing};
use softsense_ssd::request::{Request, RequestKind};
use softsense_ssd::simulation::Simulation;
use support::{request, run, shipped, units_of};

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

const BUFFER: &str = "host.read_buffer={ bytes = 32768 }";

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

/// Where only a part was overwritten without end, the rest is nowhere, and what is mapped lies as if the device were as full as that.
#[test]
fn a_steady_state_of_a_part_maps_that_part() {
    let steady = |more: &[&str]| device(&[&["precondition.layout=steady_state"], more].concat());
    let config = steady(&["precondition.mapped_fraction=0.4"]);
    let start = support::simulation(&config, Vec::new());
    let mapped = (config.user_codewords() as f64 * 0.4).ceil() as u64;
    for lcn in 0..config.user_codewords() {
        let found = matches!(start.ftl().locate(lcn), softsense_ssd::ftl::Location::Flash(_));
        assert_eq!(found, lcn < mapped, "{lcn}");
    }
    start.ftl().assert_consistent();
    let error =
        CheckedConfig::from_toml("", "", &["precondition={ layout = \"steady_state\", mapped_fraction = 0.0 }".into()]);
    assert!(
        error.unwrap_err().to_string().contains("precondition.layout: found `steady_state` with mapped_fraction = 0")
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
    let worn: Vec<u32> = (0..48 * 4).map(|superblock| ftl.pe_cycles(superblock)).collect();
    assert!(worn.iter().all(|pe| pe % 1000 == 0) && worn.iter().any(|&pe| pe > 0));
    assert!((0..48 * 4).all(|superblock| ftl.pe_cycles(superblock) == 1000 * ftl.erases(superblock)));
    let crossing = (0..48 * 4).filter(|&superblock| ftl.layout(superblock).crosses_pages()).count();
    assert_eq!(crossing, worn.iter().filter(|&&pe| pe > 900).count());
    ftl.assert_consistent();
}

#[test]
fn bad_buffers_are_named() {
    for (fields, expected) in [
        ("read_buffer={ bytes = 100 }", "host.read_buffer.bytes: found 100, expected at least one page"),
        (
            "write_buffer_replacement=lru",
            "host.write_buffer_replacement: found `lru` without `host.write_buffer_bytes`",
        ),
    ] {
        let error = CheckedConfig::from_toml("", "", &[format!("host.{fields}")]).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let interleaved = ["ftl.interleaving={ ways = 2 }".to_owned(), "host.read_buffer={ bytes = 1048576 }".to_owned()];
    let error = CheckedConfig::open("mlc-25nm", &interleaved).unwrap_err().to_string();
    assert!(error.contains("host.read_buffer: found with codewords that lie in pages of several chips"), "{error}");
    let error = CheckedConfig::from_toml("", "", &["flash.pe_cycles_per_erase=0".into()]).unwrap_err().to_string();
    assert!(error.contains("flash.pe_cycles_per_erase: found 0"), "{error}");
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
    device(&["host.read_buffer={ bytes = 32768, admission = 'own.py:Admitting' }"]).with_own(own).unwrap()
}

/// A page that is missed for the first time is read for what was asked for, and not kept; the second time whole. Pages that were missed
/// too long ago are new again.
#[test]
fn a_second_miss_is_admitted() {
    let with = |history: &str| {
        let config = device(&[&format!("host.read_buffer={{ bytes = 32768, admission = 'second_miss'{history} }}")]);
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
        let config = device(&[&format!("host.read_buffer={{ bytes = 32768{more} }}")]);
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
    let second = device(&["host.read_buffer={ bytes = 32768, admission = 'second_miss' }"]);
    assert_eq!(outcome(&admitting(|page| page.misses > 1)), outcome(&second));
    assert_ne!(outcome(&second).0, outcome(&device(&[BUFFER])).0);
    let sees = admitting(|page| {
        assert_eq!((page.codewords, page.request_bytes, page.for_write), (1, 4096, false));
        assert!(page.codeword < 23 && page.free_pages <= 4);
        page.codeword != 5
    });
    assert_eq!(run(&sees, reads(&[5, 5, 7, 7])).statistics().read_buffer_hits, 1);
}
