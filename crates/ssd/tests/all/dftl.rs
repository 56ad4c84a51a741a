//! The map in flash, with its entries in a cache: what a read takes by closed form, how often entries are at hand, and what
//! it costs to bring translation pages up to date. That data survives is in `ftl.rs`.

use crate::support;
use crate::support::{request, run, shipped};
use softsense_base::{Ns, Purpose, Result, Stream};
use softsense_config::checked::CheckedConfig;
use softsense_config::ids::Lcn;
use softsense_config::own::{AdmitEntries, MissedEntry, Own, OwnDevice, OwnThing};
use softsense_requests::{Request, RequestKind};

/// LaLDPC's device and latencies, T_L = 85 + 24 (L - 1), on which every codeword needs level 3: one attempt at it takes 133 us,
/// a read from level 1 takes 85 + 109 + 133.
const LEVEL_3: f64 = 133.0;
const FROM_LEVEL_1: f64 = 85.0 + 109.0 + 133.0;

fn level_3(more: &[&str]) -> CheckedConfig {
    let base = [
        "geometry.blocks_per_plane=96",
        "reliability={ fixed = { p_fail = [1.0, 1.0, 0.0] } }",
        "read.policy=progressive",
        "read.retry=restart",
    ];
    shipped("mlc-laldpc.toml", &[&base[..], more].concat())
}

fn apart(requests: impl Iterator<Item = (RequestKind, u64)>) -> Vec<Request> {
    requests.zip(0..).map(|((kind, lcn), i)| request(kind, Ns::from_us(20_000.0 * f64::from(i)), lcn, 1)).collect()
}

fn responses_us(config: &CheckedConfig, requests: Vec<Request>) -> Vec<f64> {
    run(config, requests).take_log().iter().map(|row| row.response.as_us()).collect()
}

/// LaLDPC, section III-B: a miss reads the translation page, whose cells are no better, and then from level 1; a hit starts
/// where the last read ended; a write starts over.
#[test]
fn reads_start_at_the_level_of_the_last_one() {
    use RequestKind::{Read, Write};
    let requests = || apart([(Read, 5), (Read, 5), (Read, 6), (Write, 5), (Read, 5), (Read, 5)].into_iter());
    for (remember, hit) in [("true", LEVEL_3), ("false", FROM_LEVEL_1)] {
        let remember = format!("ftl.mapping.demand.remember_levels={remember}");
        let found = responses_us(&level_3(&[&remember]), requests());
        let miss = 2.0 * FROM_LEVEL_1;
        assert_eq!((found[0], found[1], found[2]), (miss, hit, miss), "{remember}");
        // Transfer and program; the entry was at hand.
        assert_eq!((found[3], found[4], found[5]), (920.0, FROM_LEVEL_1, hit), "{remember}");
    }
}

/// Large requests of which each codeword is looked up by itself come in only as far as the device can keep account of them.
#[test]
fn large_requests_wait_at_the_host() {
    let bytes = 64 << 20;
    let config = level_3(&["host.issue.closed_loop.queue_depth=512", "precondition.mapped_fraction=0.0"]);
    let read = Request { arrival: Ns::ZERO, kind: RequestKind::Read, offset_bytes: 0, bytes };
    let count = 300;
    assert!(count * bytes / support::CODEWORD > 1 << 22, "more than there are indices for events");
    let mut simulation = support::simulation(&config, vec![read; count as usize]);
    assert!(simulation.issued() < count);
    while simulation.advance(1_000).unwrap() {}
    assert_eq!(simulation.statistics().unmapped_codewords, count * bytes / support::CODEWORD);
}

/// A write that covers a codeword in part reads the old one, at the remembered level, and sets the level back all the same.
#[test]
fn a_partial_write_sets_the_level_back() {
    let config = level_3(&["ftl.mapping.demand.remember_levels=true"]);
    let mut requests =
        apart([RequestKind::Read, RequestKind::Write, RequestKind::Read].map(|kind| (kind, 5)).into_iter());
    requests[1].bytes = 512;
    assert_eq!(responses_us(&config, requests)[1..], [LEVEL_3 + 920.0, FROM_LEVEL_1]);
}

/// An option that the paper has not: after two reads that succeed at once, a level less is tried, in vain here, where a read
/// from level 2 takes 109 + 133 us.
#[test]
fn levels_come_down_if_they_may() {
    let config = level_3(&["ftl.mapping.demand={ remember_levels = true, lower_after_reads = 2 }"]);
    let found = responses_us(&config, apart((0..7).map(|_| (RequestKind::Read, 5))));
    let tried = 109.0 + 133.0;
    assert_eq!(found[1..], [LEVEL_3, LEVEL_3, tried, LEVEL_3, LEVEL_3, tried]);
}

/// Section III-D: collection reads what it moves at the level that is remembered, and what it has moved is fresh. Every read
/// needs level 3: three decodes from level 1, one from level 3, and all that is moved for the first time was read before.
#[test]
fn collection_reads_at_remembered_levels() {
    let small = "geometry={ channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 2, \
                 blocks_per_plane = 32, pages_per_block = 8 }";
    let decodes = |remember: &str| {
        let remember = format!("ftl.mapping.demand.remember_levels={remember}");
        let config = level_3(&[small, "ftl.over_provisioning=0.4", &remember]);
        let codewords = config.user_codewords();
        let stream = Stream::new(3, Purpose::Workload);
        let reads = (0..codewords).map(|lcn| (RequestKind::Read, lcn));
        let writes = (0..2000).map(|i| (RequestKind::Write, stream.bits(i, 0) % codewords));
        let simulation = run(&config, apart(reads.chain(writes)));
        let statistics = simulation.statistics();
        assert_eq!(statistics.soft_starts, 0);
        (statistics.gc_codewords_programmed(), statistics.operations.decodes)
    };
    let ((moved, at_once), (same, from_level_1)) = (decodes("true"), decodes("false"));
    assert!(moved == same && moved > 100, "{moved}");
    // Two decodes are saved for what is moved once, and none for what is moved again without being read.
    let saved = from_level_1 - at_once;
    assert!(saved.is_multiple_of(2) && saved > 0 && saved <= 2 * moved, "{saved} of {moved}");
}

/// Fresh translation pages are read at level 1, in 85 us, where those that are as old as the data take its level. By table II data a
/// year old, after 10,000 P/E cycles, takes level 3: it is read from level 1 in either case.
#[test]
fn fresh_translation_pages_need_no_soft_sensing() {
    for (age, page_us) in [("aged", FROM_LEVEL_1), ("fresh", 85.0)] {
        let age = format!("precondition.translation_pages={age}");
        let config = shipped("mlc-laldpc.toml", &["geometry.blocks_per_plane=96", &age]);
        let found = responses_us(&config, apart([(RequestKind::Read, 5), (RequestKind::Read, 6)].into_iter()));
        assert_eq!(found, [page_us + FROM_LEVEL_1; 2], "{age}");
    }
}

/// The directory of translation pages may remember levels, too, until a page is programmed anew.
#[test]
fn translation_pages_are_read_at_the_level_of_the_last_time() {
    use RequestKind::{Read, Write};
    let requests = [(Read, 5), (Read, 600), (Read, 6), (Write, 7), (Read, 8), (Read, 9)];
    let config = level_3(&["ftl.mapping.demand={ cache_bytes = 8, remember_translation_levels = true }"]);
    let found = responses_us(&config, apart(requests.into_iter()));
    // The fifth drives out what the write has changed; its translation page is new for the last one.
    let (first, again) = (2.0 * FROM_LEVEL_1, LEVEL_3 + FROM_LEVEL_1);
    assert_eq!(found, [first, first, again, LEVEL_3 + 920.0, again, first]);
}

/// Section III-E, with a hit ratio r: T = r T_L + (1 - r) (T_1 + ... + T_L), and here the read of the translation page on a miss.
/// Under uniform reads LRU hits with the share of entries it has room for, 0.3; 20,000 reads know that to 0.0032, of which
/// four are allowed.
#[test]
fn the_mean_read_is_that_of_the_hit_ratio() {
    let cache = format!("ftl.mapping.demand={{ cache_bytes = {}, remember_levels = true }}", 300 * 8);
    let config = level_3(&[&cache]);
    let stream = Stream::new(2, Purpose::Workload);
    let reads = 20_000;
    let simulation = run(&config, apart((0..reads).map(|i| (RequestKind::Read, stream.bits(i, 0) % 1000))));
    let statistics = simulation.statistics();
    let ratio = statistics.mapping_hits() as f64 / reads as f64;
    assert!((ratio - 0.3).abs() < 4.0 * 0.0032, "{ratio}");
    let expected = ratio * LEVEL_3 + (1.0 - ratio) * 2.0 * FROM_LEVEL_1;
    assert!((statistics.reads.mean_ns().unwrap() / 1e3 - expected).abs() < 1e-6);
    let without_translation = ratio * LEVEL_3 + (1.0 - ratio) * FROM_LEVEL_1;
    assert!((statistics.read_service.as_us() / reads as f64 - without_translation).abs() < 1e-6);
    assert_eq!(statistics.soft_starts, statistics.mapping_hits());
    assert_eq!(statistics.translation_reads, statistics.mapping_misses());
    assert_eq!(simulation.mapping_cache().unwrap().len(), 300);
}

/// Entries that had changed are written back when they go, all those of a translation page at once.
#[test]
fn what_has_changed_is_written_back_in_batches() {
    let config = level_3(&["ftl.mapping.demand.cache_bytes=128"]);
    // Sixteen writes of one translation page fill the cache; a seventeenth, of another, drives one of them out.
    let writes = (0..16).map(|lcn| (RequestKind::Write, lcn)).chain([(RequestKind::Write, 600)]);
    let simulation = run(&config, apart(writes));
    let statistics = simulation.statistics();
    assert_eq!(
        (statistics.mapping_write_misses, statistics.mapping_evictions, statistics.mapping_dirty_evictions),
        (17, 1, 1)
    );
    assert_eq!(statistics.translation_codewords_programmed(), 1);
    // One for each miss, and one to be updated.
    assert_eq!(statistics.translation_reads, 17 + 1);
    let cache = simulation.mapping_cache().unwrap();
    assert!(
        (1..16).all(|lcn| !cache.is_dirty(Lcn(lcn)) && cache.level(Lcn(lcn)) == Some(1)),
        "all were written back together"
    );
    assert!(cache.is_dirty(Lcn(600)) && cache.level(Lcn(0)).is_none());
}

/// Misses of one request on one translation page, and of requests that come while it is read, wait for one read.
#[test]
fn one_read_of_a_translation_page_serves_all_who_wait() {
    let config = level_3(&["ftl.mapping.demand.cache_bytes=65536"]);
    let mut requests = vec![request(RequestKind::Read, Ns::ZERO, 0, 8)];
    requests.push(request(RequestKind::Read, Ns::from_us(10.0), 9, 1));
    let simulation = run(&config, requests);
    let statistics = simulation.statistics();
    assert_eq!((statistics.mapping_misses(), statistics.translation_reads), (9, 1));
}

/// What collection moves has to be noted in translation pages. When a lower code rate has left little room these take all that it
/// frees, as each unit has one of its own: a device that then went on to collect would never end.
#[test]
fn collection_in_vain_ends() {
    let config = support::config(
        "[geometry]\nchannels = 2\nchips_per_channel = 2\ndies_per_chip = 2\nblocks_per_plane = 24\n\
         pages_per_block = 9\ncodewords_per_page = 20\n[reliability.bch]\noob_bytes = 64\nrber.constant.rber = 0.001\n\
         codes = [{ codeword_bytes = 4096, correctable = 5, to_pe_cycles = 2 },\n\
         { codeword_bytes = 4096, correctable = 20, to_pe_cycles = 4 }]\n[read]\nmax_level = 1\n\
         [ftl]\nover_provisioning = 0.65\ngc_low_watermark_blocks = 2\ngc_high_watermark_blocks = 3\n\
         wear_levelling_spread = 1\nvictims = { random_greedy = { choices = 2 } }\n[ftl.mapping.demand]\ncache_bytes = 4096\nentry_bytes = 64\n\
         [host]\nwrite_buffer_bytes = 696320\n[precondition]\nlayout = \"steady_state\"\n\
         mapped_fraction = 1.0\npe_cycles = 2\n",
    );
    let done = run(&config, support::random_requests(&config, 1500, u64::MAX, Ns::ZERO));
    assert_eq!(done.statistics().completed(), 1500);
    done.ftl().assert_consistent();
    assert!(done.ftl().collects_in_vain(), "{} victims were enough", done.statistics().gc_victims);
}

/// Does levelling that wears blocks more than it levels, as the map has to be written for what it moves, end with the requests? 60 of them
/// had 80,957 blocks levelled before it did.
#[test]
fn levelling_in_vain_ends() {
    let config = support::config(
        "[geometry]\nchannels = 2\nchips_per_channel = 2\ndies_per_chip = 2\nplanes_per_die = 2\nblocks_per_plane = 20\n\
         pages_per_block = 9\ncodewords_per_page = 20\ncodeword_bytes = 512\n[reliability]\nfixed.p_fail = [0.0]\n[read]\nmax_level = 1\n\
         [ftl]\nover_provisioning = 0.7\ngc_low_watermark_blocks = 2\ngc_high_watermark_blocks = 2\nwear_levelling_spread = 1\n\
         [ftl.mapping.demand]\ncache_bytes = 64\nentry_bytes = 8\n[host]\nissue.closed_loop.queue_depth = 1\n\
         [precondition]\nlayout = \"steady_state\"\npe_cycles = 3\npe_cycles_spread = 0.9\n",
    );
    let mut simulation = support::simulation(&config, support::random_requests(&config, 60, u64::MAX, Ns::ZERO));
    while simulation.statistics().completed() < 60 {
        simulation.advance(1).unwrap();
    }
    let levelled = simulation.statistics().gc_victims_to_level_wear;
    while simulation.advance(1_000_000).unwrap() {}
    let after = simulation.statistics().gc_victims_to_level_wear - levelled;
    assert!(levelled > 0 && after <= 16, "{levelled}, and {after} when no request was left: there are 16 planes");
    simulation.ftl().assert_consistent();
}

/// Reads of one entry after the other, and of one again and again: what is read once leaves the cache to what is read again.
#[test]
fn a_scan_leaves_entries_that_are_read_again() {
    let with = |admission: &str| {
        let cache = "cache_bytes = 64, entry_bytes = 8, history_entries = 100";
        let mapping = format!("ftl.mapping={{ demand = {{ {cache}, admission = '{admission}' }} }}");
        let own = |_: &OwnDevice| Ok(Box::new(Again) as Box<dyn AdmitEntries>);
        let own = Own { entries: Some(OwnThing::new("", own)), ..Own::default() };
        let config = level_3(&[&mapping]).with_own(own).unwrap();
        // Of a hundred entries each once, and of four in turn between them.
        let lcns = (0..100).flat_map(|i| (0..3).map(move |k| if k == 0 { i % 4 } else { 1000 + 3 * i + k }));
        let done = run(&config, apart(lcns.map(|lcn| (RequestKind::Read, lcn))));
        (done.statistics().mapping_read_hits, done.statistics().mapping_refused)
    };
    assert_eq!(with("always"), (0, 0));
    assert_eq!(with("second_miss"), (92, 204));
    assert_eq!(with("own.py:Again"), with("second_miss"));
}

struct Again;

impl AdmitEntries for Again {
    fn admit(&mut self, entry: &MissedEntry) -> Result<bool> {
        assert_eq!(entry.codewords, 1);
        Ok(entry.misses > 1)
    }
}
