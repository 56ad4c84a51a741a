//! Physics: does a device under load queue as theory says?

use crate::support;
use crate::support::{request, run, shipped, simulation};
use softsense_base::{Ns, Purpose, Stream};
use softsense_config::checked::CheckedConfig;
use softsense_requests::{Request, RequestKind};
use softsense_ssd::simulation::{Operations, Simulation};

/// One plane on one channel, nothing fails, everything but the named resource takes no time.
fn one_resource(more: &[&str]) -> CheckedConfig {
    let base = [
        "geometry={ channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 256, pages_per_block = 64 }",
        "reliability=perfect",
        "decoder.time={ fixed_us = 0.0 }",
        "bus={ transfer_us = 0.0, transfer_extra_level_us = 0.0 }",
        "flash.page_types=[{ name = \"page\", sense_us = 0.0, sense_extra_level_us = 0.0, program_us = 0.0 }]",
    ];
    shipped("mlc-25nm.toml", &[&base[..], more].concat())
}

/// Poisson arrivals of one-codeword reads at random places.
fn poisson_reads(config: &CheckedConfig, count: u64, mean_gap_us: f64) -> Vec<Request> {
    let stream = Stream::new(9, Purpose::Workload);
    let mut now_us = 0.0;
    let mut arrival = |i| {
        now_us -= mean_gap_us * (1.0 - stream.uniform(i, 0)).ln();
        Ns::from_us(now_us)
    };
    (0..count).map(|i| request(RequestKind::Read, arrival(i), stream.bits(i, 1) % config.user_codewords(), 1)).collect()
}

/// M/D/1 at 70 % load: mean wait = rho S / 2 (1 - rho) = 116.7 us for S = 100 us. 400,000 arrivals:
/// the mean of an M/D/1 wait over n arrivals has a standard error of about 0.6 % here (correlation
/// time of the queue taken in), so 3 % is five of them, and a service time that is 1 % off, which
/// moves the wait by 4 %, is seen.
#[test]
fn plane_bus_and_decoder_are_m_d_1_servers() {
    let resources: [(&str, &[&str]); 3] = [
        (
            "plane",
            &["flash.page_types=[{ name = \"page\", sense_us = 100.0, sense_extra_level_us = 0.0, program_us = 0.0 }]"],
        ),
        ("bus", &["bus={ transfer_us = 100.0, transfer_extra_level_us = 0.0 }", "flash.cache_register=false"]),
        ("decoder", &["decoder.time={ fixed_us = 100.0 }"]),
    ];
    for (name, overrides) in resources {
        let config = one_resource(overrides);
        let simulation = run(&config, poisson_reads(&config, 400_000, 100.0 / 0.7));
        let statistics = simulation.statistics();
        let time = statistics.read_time;
        let wait = time.wait_plane + time.wait_bus + time.wait_decoder;
        let mean_us = wait.as_us() / statistics.codewords_read() as f64;
        let expected = 0.7 * 100.0 / (2.0 * (1.0 - 0.7));
        assert!((mean_us / expected - 1.0).abs() < 0.03, "{name}: {mean_us} for {expected}");
    }
}

/// Waits that add up to more nanoseconds than 64 bits hold are added up all the same, and a simulation that comes near the end
/// of what its clock can say ends in an error, what was measured before kept.
#[test]
fn long_waits_add_up_and_the_clock_has_an_end() {
    let sense = |us: &str| {
        let types = format!(
            "flash.page_types=[{{ name = \"page\", sense_us = {us}, sense_extra_level_us = 0.0, program_us = 0.0 }}]"
        );
        one_resource(&[&types])
    };
    let (config, count) = (sense("1e9"), 10_000);
    let at_once = (0..count).map(|i| request(RequestKind::Read, Ns::ZERO, i % config.user_codewords(), 1)).collect();
    let simulation = run(&config, at_once);
    let statistics = simulation.statistics();
    // Read i waits for i others.
    let waits = u128::from(count) * u128::from(count - 1) / 2 * 1_000_000_000_000;
    assert!(waits > u128::from(u64::MAX));
    assert_eq!(statistics.read_time.wait_plane.0, waits);
    assert_eq!(statistics.reads.mean_ns(), Some((waits / u128::from(count)) as f64 + 1e12));
    let last = Ns(u64::MAX / 2 - 1);
    let mut late = support::simulation(&config, [Ns::ZERO, last].map(|at| request(RequestKind::Read, at, 0, 1)).into());
    let error = late.advance(1_000).unwrap_err().to_string();
    assert!(error.contains("after 1 completed requests"), "{error}");
    assert_eq!(late.statistics().completed(), 1);
}

/// Two decoders of 100 us behind one queue: M/D/2 at 70 % load, whether they are a channel's, a pool of four channels, or one
/// that has two codewords in work. As above, 3 % is five standard errors.
#[test]
fn two_decoders_share_one_queue() {
    let expected = 100.0 * m_d_2_wait(1.4);
    for (channels, decoder) in [
        (1, "placement = { per_channel = 2 }"),
        (4, "placement = { pool = 2 }"),
        (4, "placement = { pool = 1 }, codewords_at_once = 2"),
    ] {
        let decoder = format!("decoder={{ {decoder}, time = {{ fixed_us = 100.0 }} }}");
        let config = one_resource(&[&decoder, &format!("geometry.channels={channels}")]);
        let simulation = run(&config, poisson_reads(&config, 400_000, 100.0 / 1.4));
        assert!((mean_decoder_wait_us(&simulation) / expected - 1.0).abs() < 0.03, "{decoder}, not {expected}");
    }
}

fn mean_decoder_wait_us(simulation: &Simulation) -> f64 {
    simulation.statistics().read_time.wait_decoder.as_us() / simulation.statistics().codewords_read() as f64
}

/// A decoder whose time goes by measured iterations: M/G/1 at 70 % load, by Pollaczek and Khinchine
/// W = lambda E[S^2] / 2 (1 - rho), with the moments of S those of the same codewords read one by one. 3 % as above.
#[test]
fn decode_times_by_iterations_queue_as_their_moments_say() {
    let config = one_resource(&[
        "reliability={ table = { file = \"flash-8-9\", rber = { constant = { rber = 0.0085 } } } }",
        "decoder={ placement = { pool = 1 }, time = { per_iteration_us = 10.0 } }",
        "read.max_level=1",
        "geometry.channels=4",
    ]);
    let every =
        (0..config.user_codewords()).map(|lcn| request(RequestKind::Read, Ns::from_us(1000.0 * lcn as f64), lcn, 1));
    let times: Vec<f64> = run(&config, every.collect()).take_log().iter().map(|row| row.response.as_us()).collect();
    let moment = |power| times.iter().map(|time| time.powi(power)).sum::<f64>() / times.len() as f64;
    let (mean, square) = (moment(1), moment(2));
    assert!(square / (mean * mean) > 1.1, "decodes differ in their time: {mean} {square}");
    let simulation = run(&config, poisson_reads(&config, 400_000, mean / 0.7));
    let (wait, expected) = (mean_decoder_wait_us(&simulation), 0.7 / mean * square / (2.0 * 0.3));
    assert!((wait / expected - 1.0).abs() < 0.03, "{wait} for {expected}");
}

/// Several decoders whose times go by iterations, M/G/c, have no closed form: each wait is that of the recursion of Kiefer and
/// Wolfowitz, by which a codeword takes the decoder that is free first, to the nanosecond. More decoders, less waiting.
#[test]
fn each_wait_for_several_decoders_is_that_of_the_recursion() {
    let mut waits = Vec::new();
    for decoders in 1..=4 {
        let config = one_resource(&[
            "reliability={ table = { file = \"flash-8-9\", rber = { constant = { rber = 0.0085 } } } }",
            &format!("decoder={{ placement = {{ pool = {decoders} }}, time = {{ per_iteration_us = 10.0 }} }}"),
            "read.max_level=1",
            "geometry.channels=4",
        ]);
        let every = (0..config.user_codewords())
            .map(|lcn| request(RequestKind::Read, Ns::from_us(1000.0 * lcn as f64), lcn, 1));
        let times: Vec<Ns> = run(&config, every.collect()).take_log().iter().map(|row| row.response).collect();
        let reads = poisson_reads(&config, 20_000, 90.0);
        let mut free = vec![Ns::ZERO; decoders];
        let mut expected = 0;
        for read in &reads {
            let first = free.iter_mut().min().expect("there are decoders");
            let begins = (*first).max(read.arrival);
            expected += (begins - read.arrival).0;
            *first = begins + times[(read.offset_bytes / support::CODEWORD) as usize];
        }
        let simulation = run(&config, reads);
        assert_eq!(simulation.statistics().read_time.wait_decoder, Ns(expected), "{decoders} decoders");
        waits.push(expected);
    }
    assert!(waits.windows(2).all(|pair| pair[0] > pair[1]), "{waits:?}");
}

/// The adaptive-rate pool's bound: 64 channels that bring a codeword in 40 us each, N decoders of 4 us an iteration, E
/// iterations a codeword: min(64 / 40 us, N / (4 us E)), with and without bounded buffers; nothing is lost behind a full one.
#[test]
fn saturated_pools_reach_their_bound() {
    let mut rates = Vec::new();
    for (decoders, iterations) in
        [(8, 1), (8, 2), (8, 4), (8, 5), (8, 8), (8, 10), (16, 4), (16, 10), (64, 1), (64, 10)]
    {
        let decode_us = 4.0 * f64::from(iterations);
        let bound = (64.0 / 40e-6f64).min(f64::from(decoders) / (decode_us * 1e-6));
        for buffer in ["", ", buffer_codewords = 4"] {
            let config = shipped(
                "mlc-25nm.toml",
                &[
                    "geometry={ channels = 64, chips_per_channel = 4, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 32 }",
                    "flash.page_types=[{ name = \"page\", sense_us = 40.0 }]",
                    "bus.transfer_us=40.0",
                    "reliability=perfect",
                    "ftl.over_provisioning=0.3",
                    "host.issue={ closed_loop = { queue_depth = 1024 } }",
                    &format!(
                        "decoder={{ placement = {{ pool = {decoders} }}, time = {{ fixed_us = {decode_us:.1} }}{buffer} }}"
                    ),
                ],
            );
            let reads = 60_000u32;
            // Every channel in turn: the bound is that of a uniform load.
            let requests = (0..reads).map(|i| request(RequestKind::Read, Ns::ZERO, u64::from(i), 1)).collect();
            let simulation = run(&config, requests);
            assert_eq!(simulation.statistics().completed(), u64::from(reads));
            let rate = f64::from(reads) / simulation.statistics().last_completion.as_secs();
            assert!((0.98..=1.0).contains(&(rate / bound)), "{decoders} x {iterations}{buffer}: {rate} of {bound}");
            rates.push((iterations, buffer, decoders, rate));
        }
    }
    // More decoders, more codewords a second, at equal iterations.
    rates.sort_by_key(|&(iterations, buffer, decoders, _)| (iterations, buffer, decoders));
    assert!(
        rates.windows(2).all(|pair| (pair[0].0, pair[0].1) != (pair[1].0, pair[1].1) || pair[0].3 < pair[1].3 + 1.0)
    );
}

/// Eight SSDs of eight channels, the data of two of which is hot: with as many decoders, one for each SSD or all in a pool, the
/// hot ones' are the bottleneck of the former, 2 / (4 us E) over their share of the load; all eight of the latter.
#[test]
fn a_pool_serves_hot_data_with_all_its_decoders() {
    let (share, iterations) = (0.8, 8.0);
    let rate = |decoders: &str, spread: &str| {
        let decode_us = 4.0 * iterations;
        let config = shipped(
            "mlc-25nm.toml",
            &[
                "geometry={ ssds = 8, channels = 8, chips_per_channel = 4, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 32 }",
                "flash.page_types=[{ name = \"page\", sense_us = 40.0 }]",
                "bus.transfer_us=40.0",
                "reliability=perfect",
                "ftl.over_provisioning=0.3",
                "host.issue={ closed_loop = { queue_depth = 4096 } }",
                &format!("host.spread={spread}"),
                &format!("decoder={{ placement = {{ {decoders} }}, time = {{ fixed_us = {decode_us:.1} }} }}"),
            ],
        );
        let stream = Stream::new(5, Purpose::Workload);
        let codewords = config.user_codewords();
        let reads = 100_000u32;
        let place = |i: u32| {
            let (i, hot) = (u64::from(i), codewords / 4);
            let at = stream.bits(i, 1);
            if stream.uniform(i, 0) < share { at % hot } else { hot + at % (codewords - hot) }
        };
        let requests = (0..reads).map(|i| request(RequestKind::Read, Ns::ZERO, place(i), 1)).collect();
        let simulation = run(&config, requests);
        f64::from(reads) / simulation.statistics().last_completion.as_secs()
    };
    let of_decoders = |count: f64| count / (4e-6 * iterations);
    let (dedicated, pooled) = (rate("per_ssd = 1", "address"), rate("pool = 8", "address"));
    // The last requests drain unevenly: 4,096 of 100,000.
    assert!((dedicated / (of_decoders(2.0) / share) - 1.0).abs() < 0.04, "{dedicated}");
    assert!((pooled / of_decoders(8.0) - 1.0).abs() < 0.03, "{pooled}");
    // Spread codeword by codeword over all SSDs, hot data is on all of them, and where decoders are does not matter.
    let uniform = rate("per_ssd = 1", "round_robin");
    assert!((uniform / of_decoders(8.0) - 1.0).abs() < 0.04, "{uniform}");
}

/// Codewords of 65,536 bits at a raw bit error rate of 5e-5 have 3.28 errors in the mean, and at most 3 with probability 0.583:
/// so many need no decoder and wait for none. 40,000 codewords know that to 0.0025, of which four are allowed.
#[test]
fn codewords_with_few_errors_need_no_decoder() {
    let config = one_resource(&[
        "reliability={ table = { file = \"adaptive-1-2\", rber = { constant = { rber = 5e-5 } } } }",
        "decoder={ placement = { pool = 1 }, time = { per_iteration_us = 100.0 }, bypass = { errors = 3, codeword_bits = 65536 } }",
        "read.max_level=1",
        "geometry.channels=4",
    ]);
    let codewords = config.user_codewords();
    assert!(codewords > 40_000);
    let reads = (0..40_000).map(|lcn| request(RequestKind::Read, Ns::from_us(5000.0 * lcn as f64), lcn, 1)).collect();
    let mut simulation = run(&config, reads);
    let Operations { bypasses, decodes, .. } = simulation.statistics().operations;
    assert_eq!(bypasses + decodes, 40_000);
    let mut term = (-65_536.0 * 5e-5f64).exp();
    let mut expected = 0.0;
    for errors in 0..4 {
        expected += term;
        term *= 65_536.0 * 5e-5 / f64::from(errors + 1);
    }
    assert!((bypasses as f64 / 40_000.0 - expected).abs() < 4.0 * 0.0025, "{bypasses}, not {expected}");
    let at_once = simulation.take_log().iter().filter(|row| row.response == Ns::ZERO).count() as u64;
    assert_eq!(at_once, bypasses);
    let busy = simulation.utilisation().decoder * simulation.now().as_us();
    assert!((busy / (100.0 * decodes as f64)).round() >= 1.0, "the others take an iteration at least");
}

/// A bounded queue at a plane blocks the host: what waits inside is bounded, nothing is lost, and the device is as busy.
#[test]
fn a_full_queue_blocks_the_host() {
    let inside = |unit_queue: &str, issue: &str| {
        let config = one_resource(&[
            "geometry.channels=4",
            "flash.page_types=[{ name = \"page\", sense_us = 100.0, sense_extra_level_us = 0.0, program_us = 0.0 }]",
            &format!("host.issue={issue}"),
            unit_queue,
        ]);
        let reads = (0..4000).map(|i| request(RequestKind::Read, Ns::ZERO, i, 1)).collect();
        let mut simulation = simulation(&config, reads);
        let mut most = 0;
        while simulation.advance(1).unwrap() {
            most = most.max(simulation.issued() - simulation.statistics().completed());
        }
        assert_eq!(simulation.statistics().completed(), 4000);
        assert_eq!(simulation.statistics().last_completion, Ns::from_us(100.0 * 1000.0), "{unit_queue}");
        most
    };
    for issue in ["{ open_loop = { time_scale = 1.0 } }", "{ closed_loop = { queue_depth = 4000 } }"] {
        assert!(inside("flash.busy_unit=plane", issue) > 3900);
        // Four planes, each with one at work, three waiting, and what moves on at this instant.
        let most = inside("flash.unit_queue=3", issue);
        assert!((12..=20).contains(&most), "{most} inside, {issue}");
    }
}

/// Little's law, whatever holds requests up: until the last request of a closed loop has come, as many are in flight as its queue is deep.
/// So their times in flight until then add up to its depth times that time, to the nanosecond. Waits for `flash.unit_queue` were not
/// counted once, and responses were 1 us where this law says milliseconds.
#[test]
fn a_closed_loop_is_as_deep_as_its_queue_all_the_time() {
    let stream = Stream::new(5, Purpose::Workload);
    let mut waited = 0;
    for case in 0..16 {
        let mut next = 1 << 20;
        let mut one = |of: &[u64]| {
            next += 1;
            of[stream.bits(case, next) as usize % of.len()]
        };
        let (depth, writes) = (one(&[1, 4, 32]), one(&[0, 50, 100]));
        let mut more = vec![
            "geometry={ channels = 2, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 2, blocks_per_plane = 24, \
             pages_per_block = 16, codewords_per_page = 2 }"
                .to_owned(),
            "ftl.over_provisioning=0.5".to_owned(),
            "reliability=perfect".to_owned(),
            "precondition.layout=steady_state".to_owned(),
            format!("host.issue={{ closed_loop = {{ queue_depth = {depth} }} }}"),
            format!("host.write_buffer_bytes={}", one(&[0, 65536])),
        ];
        let unit_queue = one(&[0, 1, 2]);
        if unit_queue > 0 {
            more.push(format!("flash.unit_queue={unit_queue}"));
        }
        let config = shipped("mlc-25nm.toml", &more.iter().map(String::as_str).collect::<Vec<_>>());
        let requests = (0..3000).map(|index| {
            let kind = if stream.bits(case, 2 * index) % 100 < writes { RequestKind::Write } else { RequestKind::Read };
            request(kind, Ns::ZERO, stream.bits(case, 2 * index + 1) % config.user_codewords(), 1)
        });
        let rows = run(&config, requests.collect()).take_log();
        let until = rows.iter().map(|row| row.arrival).max().unwrap();
        let in_flight = rows.iter().map(|row| ((row.arrival + row.response).min(until) - row.arrival).0);
        assert_eq!(in_flight.sum::<u64>(), depth * until.0, "{more:?}");
        waited += u32::from(rows.iter().any(|row| row.admitted > row.arrival));
    }
    assert!(waited > 2, "requests of {waited} devices wait at the host");
}

/// What the device does after the last request has completed serves no one: does it count neither as utilisation nor as write
/// amplification? Both are what they were at that instant, by what arrays were taken by and by the codewords that were programmed until then.
/// Collection goes on after it here, up to the high watermark. A run of which most was that once had a write amplification of 48.
#[test]
fn what_comes_after_the_last_completion_does_not_count() {
    let more = [
        "geometry={ channels = 2, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 2, blocks_per_plane = 40, \
         pages_per_block = 16, codewords_per_page = 1 }",
        "ftl.over_provisioning=0.4",
        "ftl.gc_high_watermark_blocks=8",
        "reliability=perfect",
        "precondition.layout=steady_state",
        "host.issue={ closed_loop = { queue_depth = 4 } }",
    ];
    let config = shipped("mlc-25nm.toml", &more);
    let (stream, count) = (Stream::new(5, Purpose::Workload), 3000);
    let requests = (0..count)
        .map(|index| request(RequestKind::Write, Ns::ZERO, stream.bits(0, index) % config.user_codewords(), 1));
    let mut simulation = simulation(&config, requests.collect());
    while simulation.statistics().completed() < count {
        assert!(simulation.advance(1).unwrap(), "requests are left");
    }
    let programmed = |simulation: &Simulation| {
        let statistics = simulation.statistics();
        (statistics.host_codewords_programmed() + statistics.gc_codewords_programmed()) as f64 / count as f64
    };
    let taken: Ns = simulation.times_taken()[..5].iter().copied().sum();
    let (busy, amplification) = (taken.0 as f64 / (4.0 * simulation.now().0 as f64), programmed(&simulation));
    while simulation.advance(count).unwrap() {}
    assert!(programmed(&simulation) > 1.01 * amplification, "collection goes on");
    assert_eq!(simulation.served().write_amplification, Some(amplification));
    let utilisation = simulation.served().utilisation;
    assert!((utilisation.plane / busy - 1.0).abs() < 1e-9, "{utilisation:?}, not {busy}");
}

/// A bounded buffer holds back what it has no room for: with decodes that take ten times as long as bringing a codeword, what
/// waits for the decoder is bounded, and the rest of the wait is before the bus.
#[test]
fn a_full_buffer_holds_the_bus() {
    let wait = |buffer: &str| {
        let config = one_resource(&[
            &format!("decoder={{ placement = {{ pool = 1 }}, time = {{ fixed_us = 100.0 }}{buffer} }}"),
            "bus={ transfer_us = 10.0, transfer_extra_level_us = 0.0 }",
            "geometry.channels=4",
        ]);
        let reads = (0..400).map(|i| request(RequestKind::Read, Ns::ZERO, i, 1)).collect();
        let simulation = run(&config, reads);
        let statistics = simulation.statistics();
        assert_eq!(statistics.codewords_read(), 400);
        // The last one is decoded after all others, wherever it has waited.
        assert_eq!(statistics.last_completion, Ns::from_us(10.0 + 400.0 * 100.0), "{buffer}");
        mean_decoder_wait_us(&simulation)
    };
    assert!(wait("") > 1e4);
    // A codeword that has arrived waits for the one in work, those in the buffer and those that the other channels hold.
    for buffer in [0, 1, 5] {
        let mean = wait(&format!(", buffer_codewords = {buffer}"));
        assert!(mean <= 100.0 * f64::from(buffer + 4), "{mean} with {buffer}");
    }
}

/// Mean wait of M/D/2 in service times, for an offered load of `a` < 2: from the stationary distribution of
/// the number in system at instants one service time apart, whose steps are Poisson arrivals less the up
/// to two in service. Independent of any closed form.
fn m_d_2_wait(a: f64) -> f64 {
    const N: usize = 400;
    let mut arrivals = vec![(-a).exp()];
    for k in 1..N {
        arrivals.push(arrivals[k - 1] * a / k as f64);
    }
    let mut p = vec![0.0; N];
    p[0] = 1.0;
    for _ in 0..4000 {
        let mut next = vec![0.0; N];
        for (n, &mass) in p.iter().enumerate().filter(|(_, mass)| **mass > 1e-18) {
            let left = n.saturating_sub(2);
            for (k, &q) in arrivals.iter().enumerate().take(N - left) {
                next[left + k] += mass * q;
            }
        }
        p = next;
    }
    let in_queue: f64 = p.iter().enumerate().map(|(n, mass)| n.saturating_sub(2) as f64 * mass).sum();
    // The number in queue seen at these instants is the time average (the process looks alike at all
    // instants), so Little's law turns it into the wait.
    in_queue / a
}

/// A saturated single resource serves one request each service time, to the nanosecond.
#[test]
fn a_saturated_resource_never_idles() {
    let all_planes = |i: u64| i % 1000;
    for (overrides, each_us) in [
        (vec!["bus={ transfer_us = 20.0, transfer_extra_level_us = 0.0 }"], 20.0),
        (vec!["decoder.time={ fixed_us = 8.0 }"], 8.0),
        (
            vec![
                "flash.page_types=[{ name = \"page\", sense_us = 41.0, sense_extra_level_us = 0.0, program_us = 0.0 }]",
            ],
            41.0,
        ),
    ] {
        let config = one_resource(&overrides);
        let reads = (0..5000).map(|i| request(RequestKind::Read, Ns::ZERO, all_planes(i), 1)).collect();
        let simulation = run(&config, reads);
        assert_eq!(simulation.statistics().last_completion, Ns::from_us(each_us * 5000.0));
    }
}

/// Eight channels saturated by reads: 20 us of bus a codeword is 50,000 a second a channel.
#[test]
fn saturation_throughput_is_the_bus_bound() {
    let config = shipped(
        "mlc-25nm.toml",
        &["reliability=perfect", "host.issue={ closed_loop = { queue_depth = 1024 } }", "geometry.blocks_per_plane=64"],
    );
    let stream = Stream::new(4, Purpose::Workload);
    let reads = (0..200_000)
        .map(|i| request(RequestKind::Read, Ns::ZERO, stream.bits(i, 0) % config.user_codewords(), 1))
        .collect();
    let simulation = run(&config, reads);
    let rate = 200_000.0 / simulation.statistics().last_completion.as_secs();
    assert!(rate > 0.97 * 400_000.0 && rate <= 400_000.0, "{rate} a second");
    assert!(simulation.utilisation().channel > 0.97);
}

/// Little's law, exactly: the time integral of the number inside is the sum of the responses. And a
/// closed loop keeps its queue full to the last request.
#[test]
fn littles_law_holds_in_a_closed_loop() {
    let config = shipped(
        "mlc-25nm.toml",
        &["host.issue={ closed_loop = { queue_depth = 16 } }", "geometry.blocks_per_plane=64"],
    );
    let stream = Stream::new(5, Purpose::Workload);
    let n = 20_000;
    let reads =
        (0..n).map(|i| request(RequestKind::Read, Ns::ZERO, stream.bits(i, 0) % config.user_codewords(), 1)).collect();
    let mut simulation = run(&config, reads);
    let log = simulation.take_log();
    let inside: u64 = log.iter().map(|row| row.response.0).sum();
    let elapsed = simulation.statistics().last_completion.0;
    let mean_inside = inside as f64 / elapsed as f64;
    assert!((15.9..=16.0).contains(&mean_inside), "{mean_inside}");
    // Requests come in in order, each when another has left.
    let mut arrivals: Vec<_> = log.iter().map(|row| (row.request, row.arrival)).collect();
    arrivals.sort_unstable();
    assert!(arrivals.windows(2).all(|w| w[0].1 <= w[1].1));
    assert_eq!(arrivals.len() as u64, n);
}

/// Every request completes once, and the bound on those inside costs nothing but their wait at the host.
#[test]
fn a_bounded_device_conserves_requests_and_counts_their_wait() {
    let base = ["geometry.blocks_per_plane=64", "geometry.channels=1"];
    let free = shipped("mlc-25nm.toml", &base);
    let bounded = shipped("mlc-25nm.toml", &[&base[..], &["host.max_outstanding=1"]].concat());
    let requests: Vec<_> = (0..500)
        .map(|i| request(if i % 3 == 0 { RequestKind::Write } else { RequestKind::Read }, Ns(i * 1000), i * 7, 2))
        .collect();
    let mut numbers: Vec<_> = run(&bounded, requests.clone()).take_log().iter().map(|row| row.request).collect();
    assert_eq!(numbers, (0..500).collect::<Vec<_>>(), "one at a time, they complete in order");
    numbers = run(&free, requests.clone()).take_log().iter().map(|row| row.request).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..500).collect::<Vec<_>>());
    // One at a time the device is busy from the first arrival to the last completion.
    let simulation = run(&bounded, requests);
    let mut simulation = simulation;
    let log = simulation.take_log();
    assert!(log.windows(2).all(|w| w[0].arrival + w[0].response <= w[1].arrival + w[1].response));
}

/// The same config, requests and seed give the same run, to the nanosecond; another seed another one.
#[test]
fn runs_are_reproducible_from_the_seed() {
    let log = |seed: &str| {
        let config = shipped("mlc-25nm.toml", &[seed, "geometry.blocks_per_plane=64"]);
        let requests = (0..3000)
            .map(|i| {
                request(if i % 4 == 0 { RequestKind::Write } else { RequestKind::Read }, Ns(i * 900), i * 31 % 5000, 2)
            })
            .collect();
        run(&config, requests).take_log()
    };
    assert_eq!(log("seed=3"), log("seed=3"));
    assert_ne!(log("seed=3"), log("seed=4"));
}

/// Policies meet the same codewords: without writes, each read needs the same level under every policy.
#[test]
fn policies_are_compared_on_the_same_draws() {
    let needed = |policy: &str| {
        let config = shipped("mlc-25nm.toml", &[policy, "geometry.blocks_per_plane=64"]);
        let reads = (0..5000).map(|i| request(RequestKind::Read, Ns(i * 100), i * 13 % 40_000, 1)).collect();
        let mut log = run(&config, reads).take_log();
        log.sort_unstable_by_key(|row| row.request);
        log.iter().map(|row| row.max_level).collect::<Vec<_>>()
    };
    let ideal = needed("read.policy=ideal");
    assert_eq!(ideal, needed("read.policy=progressive"));
    assert_eq!(ideal, needed("read.policy=look_ahead_progressive"));
    let coarse: Vec<_> = ideal.iter().map(|&level| if level > 1 { 7 } else { 1 }).collect();
    assert_eq!(coarse, needed("read.policy=two_step"));
    assert_eq!(coarse, needed("read.policy=look_ahead"));
}
