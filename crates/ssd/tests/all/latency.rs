//! Physics: does an unloaded read take what the papers' equations say?

use crate::support::{lone_reads, request, run, shipped};
use softsense_base::Ns;
use softsense_requests::RequestKind;

const READS: u64 = 40_000;

/// Probability that level 1, 2, ... fails: the paper's 28.8 %, and then some of each.
const P_FAIL: [f64; 7] = [0.288, 0.070, 0.017, 0.004, 0.001, 0.0002, 0.0];

/// Mean response of unloaded reads of lower pages, us, and the greatest distance from `expected` that
/// sampling explains: four standard errors of a quantity that is `spread_us` wide.
fn assert_mean(policy: &str, retry: &str, more: &[&str], expected_us: f64, spread_us: f64) {
    let (policy_set, retry_set) = (format!("read.policy={policy}"), format!("read.retry={retry}"));
    let fixed = format!("reliability.fixed.p_fail={P_FAIL:?}");
    let mut overrides = vec![policy_set.as_str(), retry_set.as_str(), &fixed, "geometry.blocks_per_plane=64"];
    // Every page a lower page.
    overrides.push(
        "flash.page_types=[{ name = \"lower\", sense_us = 41.0, sense_extra_level_us = 14.0, program_us = 121.0 }]",
    );
    overrides.extend(more);
    let config = shipped("mlc-25nm.toml", &overrides);
    let simulation = run(&config, lone_reads(&config, READS));
    let found = simulation.statistics().reads.mean_ns().unwrap() / 1e3;
    let bound = 4.0 * spread_us / (READS as f64).sqrt() + 1e-9;
    assert!((found - expected_us).abs() < bound, "{policy}, {retry}: {found} for {expected_us} +- {bound}");
}

/// LDPC-in-SSD eq. 1: 41 + 20 + 8 + 0.288 (125 + 80 + 8) = 130.3 us.
#[test]
fn two_step_equals_equation_1() {
    let p = P_FAIL[0];
    let soft = 125.0 + 80.0 + 8.0;
    assert!((69.0 + p * soft - 130.344_f64).abs() < 1e-9);
    assert_mean("two_step", "restart", &[], 69.0 + p * soft, soft * (p * (1.0 - p)).sqrt());
}

/// LDPC-in-SSD eq. 2: 41 + 0.712 (20 + 8) + 0.288 (125 + 80 + 8) = 122.3 us.
#[test]
fn look_ahead_equals_equation_2() {
    let p = P_FAIL[0];
    let (hard, soft) = (20.0 + 8.0, 125.0 + 80.0 + 8.0);
    let expected = 41.0 + (1.0 - p) * hard + p * soft;
    assert!((expected - 122.28_f64).abs() < 1e-9);
    assert_mean("look_ahead", "restart", &[], expected, (soft - hard) * (p * (1.0 - p)).sqrt());
}

/// LDPC-in-SSD eq. 3 with the expected number of further attempts. Levels are nested, so that number is
/// the sum of P(level j fails), not of products as if failures were independent (eq. 4 as printed).
#[test]
fn progressive_equals_equation_3_with_conditional_probabilities() {
    let extra = 14.0 + 10.0 + 8.0;
    let further: f64 = P_FAIL.iter().sum();
    let second: f64 = P_FAIL.iter().enumerate().map(|(j, p)| (2 * j + 1) as f64 * p).sum();
    let spread = extra * (second - further * further).sqrt();
    assert_mean("progressive", "incremental", &[], 69.0 + extra * further, spread);
    // As printed, eq. 4 would give 0.288 (1 + 0.07 + 0.07 x 0.017 + ...) = 0.3085 further attempts for 0.3802.
    let product: f64 = (1..7).map(|i| P_FAIL[1..i].iter().product::<f64>()).sum();
    assert!((P_FAIL[0] * product - 0.3085).abs() < 1e-3 && (further - 0.3802).abs() < 1e-9);
}

/// The next level's 14 us of sensing are over before the 28 us (then 18 us) of transfer and decode are:
/// a further attempt costs transfer and decode alone.
#[test]
fn look_ahead_progressive_hides_the_sensing() {
    let further: f64 = P_FAIL.iter().sum();
    assert_mean("look_ahead_progressive", "incremental", &[], 69.0 + 18.0 * further, 18.0 * 1.0);
}

/// Look-ahead with incremental retry: 84 us of extra levels beside 28 us of transfer and decode.
#[test]
fn look_ahead_incremental_overlaps_what_it_can() {
    let p = P_FAIL[0];
    let expected = 69.0 + p * ((84.0 - 28.0) + 60.0 + 8.0);
    assert_mean("look_ahead", "incremental", &[], expected, 124.0 * (p * (1.0 - p)).sqrt());
}

/// LaLDPC, Table II and section II-C: the ideal latency of level L is 85 + 24 (L - 1), and a progressive
/// read that starts over at each level takes the sum: 85, 194, 327, 484, 665, 870, 1099.
#[test]
fn ideal_and_restart_equal_laldpc() {
    let cumulative = [85.0, 194.0, 327.0, 484.0, 665.0, 870.0, 1099.0];
    for level in 1..=7u32 {
        // Levels below fail always, this one never.
        let p_fail: Vec<f64> = (1..=7).map(|l| if l < level { 1.0 } else { 0.0 }).collect();
        let reliability = format!("reliability={{ fixed = {{ p_fail = {p_fail:?} }} }}");
        for (policy, expected) in
            [("ideal", 85.0 + 24.0 * f64::from(level - 1)), ("progressive", cumulative[level as usize - 1])]
        {
            let policy = format!("read.policy={policy}");
            let config = shipped(
                "mlc-laldpc.toml",
                &[&reliability, &policy, "read.retry=restart", "ftl.mapping=page", "geometry.blocks_per_plane=64"],
            );
            let simulation = run(&config, lone_reads(&config, 100));
            let statistics = simulation.statistics();
            assert_eq!(statistics.reads.mean_ns(), Some(expected * 1e3), "{policy}, level {level}");
            assert_eq!(statistics.level_histogram[level as usize - 1], 100);
        }
    }
}

/// At 6.3e-3 (10,000 P/E, one year) LaLDPC's thresholds ask for level 3; for fresh data for level 1.
#[test]
fn the_laldpc_device_needs_level_3_after_a_year_and_level_1_after_a_write() {
    let overrides = ["geometry.blocks_per_plane=64", "read.policy=ideal", "ftl.mapping=page"];
    let config = shipped("mlc-laldpc.toml", &overrides);
    let mut requests = lone_reads(&config, 100);
    requests.push(request(RequestKind::Write, Ns::from_secs(5), 7, 1));
    requests.push(request(RequestKind::Read, Ns::from_secs(10), 7, 1));
    let levels = run(&config, requests).statistics().level_histogram;
    assert_eq!(levels, [1, 0, 100, 0, 0, 0, 0]);
}

/// A page of four codewords: one sensing; each transfer overlaps the decode before it.
#[test]
fn codewords_of_a_page_are_sensed_once_and_pipelined() {
    let config = shipped(
        "tlc-femu.toml",
        &["reliability=perfect", "geometry.blocks_per_plane=128", "precondition.layout=sequential"],
    );
    let simulation = run(&config, vec![request(RequestKind::Read, Ns::ZERO, 0, 4)]);
    assert_eq!(simulation.statistics().operations.senses, 1);
    // Sense, four transfers of 5.125 us, and the last decode of 2.5 us.
    assert_eq!(simulation.statistics().reads.max(), Some(Ns(56_500 + 4 * 5_125 + 2_500)));
}

/// Where the time went adds up to how long a read took, whatever the policy and however long the queues.
#[test]
fn the_time_split_adds_up_to_the_response() {
    for policy in ["ideal", "two_step", "look_ahead", "progressive", "look_ahead_progressive"] {
        for retry in ["incremental", "restart"] {
            let (policy, retry) = (format!("read.policy={policy}"), format!("read.retry={retry}"));
            let config =
                shipped("mlc-25nm.toml", &[&policy, &retry, "geometry.blocks_per_plane=64", "geometry.channels=1"]);
            let step = config.user_codewords() / 5000;
            let reads = (0..5000).map(|i| request(RequestKind::Read, Ns(i * 11_000), i * step, 1)).collect();
            let mut simulation = run(&config, reads);
            let time = simulation.statistics().read_time;
            let parts = [
                time.wait_plane,
                time.sense,
                time.wait_bus,
                time.transfer,
                time.wait_decoder,
                time.decode,
                time.retries,
            ];
            let responses: u64 = simulation.take_log().iter().map(|row| row.response.0).sum();
            assert_eq!(parts.iter().map(|part| part.0).sum::<u128>(), u128::from(responses), "{policy}, {retry}");
        }
    }
}

/// A look-ahead that was not needed costs later requests nothing when RESET takes no time, and RESET's
/// time when it does; the planes' own requests wait for no more than that.
#[test]
fn success_cuts_looking_ahead_short() {
    let base = ["reliability=perfect", "read.policy=look_ahead", "geometry.blocks_per_plane=64"];
    for (reset, delay_us) in [("flash.reset_us=0.0", 0.0), ("flash.reset_us=5.0", 5.0)] {
        let config = shipped("mlc-25nm.toml", &[&base[..], &[reset]].concat());
        // The second read arrives while the first one's hard result is being decoded: it waits for the
        // outcome at 69 us, and then for the RESET.
        let requests =
            vec![request(RequestKind::Read, Ns::ZERO, 0, 1), request(RequestKind::Read, Ns::from_us(65.0), 0, 1)];
        let mut simulation = run(&config, requests);
        let log = simulation.take_log();
        assert_eq!(log[0].response, Ns::from_us(69.0));
        assert_eq!(log[1].response, Ns::from_us(4.0 + delay_us + 69.0));
        let operations = simulation.statistics().operations;
        assert_eq!((operations.look_ahead_senses, operations.resets, operations.look_ahead_wasted), (2, 2, 2));
    }
}

/// A request that waits for the plane keeps it from looking ahead.
#[test]
fn looking_ahead_yields_to_a_waiting_request() {
    let config =
        shipped("mlc-25nm.toml", &["reliability=perfect", "read.policy=look_ahead", "geometry.blocks_per_plane=64"]);
    let requests = vec![request(RequestKind::Read, Ns::ZERO, 0, 1), request(RequestKind::Read, Ns::from_us(1.0), 0, 1)];
    let simulation = run(&config, requests);
    assert_eq!(simulation.statistics().operations.look_ahead_senses, 1);
}

/// Without a cache register the plane is kept until its page has been transferred: blocked at t - 1, ready at t.
#[test]
fn without_a_cache_register_the_plane_waits_for_the_transfer() {
    for (cache, second_starts_us) in [("true", 41.0), ("false", 61.0)] {
        let cache = format!("flash.cache_register={cache}");
        let config = shipped("mlc-25nm.toml", &["reliability=perfect", &cache, "geometry.blocks_per_plane=64"]);
        let requests = vec![request(RequestKind::Read, Ns::ZERO, 0, 1), request(RequestKind::Read, Ns::ZERO, 0, 1)];
        let simulation = run(&config, requests);
        assert_eq!(simulation.statistics().read_time.wait_plane, Ns::from_us(second_starts_us));
    }
}

/// What a request takes beside its flash is added to its response and to nothing else: 41 + 20 + 8 us of flash or 1 us of controller
/// memory, 50 us of overhead, and in a quarter of the requests 2 us and something exponential of 0.5 us. A share of 10,000 has a standard error of
/// 0.0043 at most; the bounds are four of them.
#[test]
fn service_is_added_to_responses_and_hits_need_no_flash() {
    let count = 10_000;
    let page_types = "flash.page_types=[{ sense_us = 41.0 }]";
    let service = "host.service={ overhead_us = 50.0, hit_fraction = 0.1, spread = [{ share = 0.25, fixed_us = 2.0, exponential_us = 0.5 }] }";
    let overrides = [page_types, "reliability=perfect", "geometry.blocks_per_plane=64", service];
    let config = shipped("mlc-25nm.toml", &overrides);
    let mut simulation = run(&config, lone_reads(&config, count));
    let log = simulation.take_log();
    let us: Vec<f64> = log.iter().map(|row| row.response.0 as f64 / 1e3).collect();
    let share = |low: f64, high: f64| us.iter().filter(|&&us| us >= low && us <= high).count() as f64 / count as f64;
    for (low, high, expected) in
        [(51.0, 65.0, 0.1), (119.0, 119.0, 0.9 * 0.75), (121.0, 121.5, 0.9 * 0.25 * (1.0 - (-1f64).exp()))]
    {
        let found = share(low, high);
        let bound = 4.0 * (expected * (1.0 - expected) / count as f64).sqrt();
        assert!((found - expected).abs() < bound, "{low} to {high} us: {found} for {expected} +- {bound}");
    }
    assert_eq!(simulation.statistics().operations.senses + simulation.statistics().codewords_from_controller, count);
    assert!((share(51.0, 65.0) + share(119.0, 135.0) - 1.0).abs() < 1e-12, "nothing else");
}

/// A page that takes longer to sense always does, and a drive whose spread is empty is what it was.
#[test]
fn a_page_keeps_its_own_sensing_time() {
    let page_types = "flash.page_types=[{ sense_us = 41.0, sense_spread = [{ share = 0.2, fixed_us = 14.0 }] }]";
    let config = shipped("mlc-25nm.toml", &[page_types, "reliability=perfect", "geometry.blocks_per_plane=64"]);
    let mut requests = lone_reads(&config, 5_000);
    let again: Vec<_> =
        requests.iter().map(|r| request(r.kind, r.arrival + Ns::from_secs(100), r.offset_bytes / 4096, 1)).collect();
    requests.extend(again);
    let ns: Vec<u64> = run(&config, requests).take_log().iter().map(|row| row.response.0).collect();
    assert_eq!(ns[..5_000], ns[5_000..]);
    let slow = ns[..5_000].iter().filter(|&&ns| ns == 83_000).count();
    assert!(ns.iter().all(|&ns| ns == 69_000 || ns == 83_000));
    assert!((slow as f64 - 1_000.0).abs() < 4.0 * 800f64.sqrt(), "{slow} of 5,000");
}
