//! The host: what each of several users of a device gets, under each arbitration, and what the link to the device costs.

use std::io::Write as _;

use crate::support;
use softsense_base::{Ns, Purpose, Stream};
use softsense_config::checked::CheckedConfig;
use softsense_requests::trace::{Beyond, Trace, TraceSpec};
use softsense_requests::{Request, RequestKind};
use softsense_ssd::run::{Requests, Run};
use softsense_ssd::simulation::Simulation;

const DEVICE: &str = "
    reliability = \"perfect\"
    [geometry]
    channels = 2
    chips_per_channel = 2
    blocks_per_plane = 32
    pages_per_block = 16
    codewords_per_page = 2
    [ftl]
    over_provisioning = 0.3
    [precondition]
    mapped_fraction = 1.0
";

const WEIGHTED: &str = "scheme.weighted_round_robin = { high_weight = 4, medium_weight = 2, low_weight = 1 }";

/// A device with these lines for arbitration, and a tenant with each of these.
fn config(arbitration: &str, tenants: &[&str]) -> CheckedConfig {
    let mut toml = format!("{DEVICE}[host.arbitration]\n{arbitration}\n");
    for (index, tenant) in tenants.iter().enumerate() {
        toml += &format!("[[host.tenants]]\nname = \"{index}\"\nnamespace = \"whole\"\n{tenant}\n");
        if !tenant.contains("workload") {
            toml += "workload = {}\n";
        }
    }
    support::config(&toml)
}

/// Reads of one codeword anywhere, one every `spacing`.
fn reads(config: &CheckedConfig, seed: u64, count: u64, spacing: Ns) -> Vec<Request> {
    let (stream, user) = (Stream::new(seed, Purpose::Workload), config.user_codewords());
    (0..count).map(|i| support::request(RequestKind::Read, Ns(spacing.0 * i), stream.bits(i, 0) % user, 1)).collect()
}

/// Requests of each tenant that have completed when the first tenant is done.
fn completed_when_one_is_done(config: &CheckedConfig, count: u64) -> Vec<u64> {
    let tenants = config.config().host.tenants.len() as u64;
    let of = |tenant| reads(config, tenant, count, Ns::ZERO);
    let mut simulation = support::tenants(config, (0..tenants).map(of).collect());
    let completed =
        |simulation: &Simulation| simulation.statistics().tenants.iter().map(|t| t.completed()).collect::<Vec<_>>();
    while !completed(&simulation).contains(&count) {
        simulation.advance(1).unwrap();
    }
    completed(&simulation)
}

/// Do tenants that always want more get what their arbitration says: equal parts, parts by weight, or nothing beside an urgent one?
#[test]
fn backlogged_tenants_get_what_arbitration_says() {
    let deep = "issue.closed_loop.queue_depth = 64\n";
    let with = |more: &str| format!("{deep}{more}");
    let shares = |arbitration: &str, tenants: &[String]| {
        let tenants: Vec<&str> = tenants.iter().map(String::as_str).collect();
        let done = completed_when_one_is_done(&config(&format!("fetched_commands = 8\n{arbitration}"), &tenants), 7000);
        let most = *done.iter().max().unwrap() as f64;
        done.iter().map(|&each| each as f64 / most).collect::<Vec<_>>()
    };
    let near = |found: &[f64], expected: &[f64]| {
        let fits = found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 0.01);
        assert!(fits, "found {found:?}, expected {expected:?}");
    };
    let equal = [with(""), with(""), with("")];
    near(&shares("", &equal), &[1.0, 1.0, 1.0]);
    near(&shares("burst = 4", &equal), &[1.0, 1.0, 1.0]);
    near(&shares("", &[with("weight = 3"), with("")]), &[1.0, 1.0 / 3.0]);
    let classes = [with("priority = \"high\""), with(""), with("priority = \"low\"")];
    near(&shares(WEIGHTED, &classes), &[1.0, 0.5, 0.25]);
    // By round robin nobody looks at classes.
    near(&shares("", &classes), &[1.0, 1.0, 1.0]);
    near(&shares(WEIGHTED, &[with("priority = \"urgent\""), with("priority = \"high\""), with("")]), &[1.0, 0.0, 0.0]);
    // Two of one class share what the class has.
    let two = [with("priority = \"high\""), with(""), with("")];
    near(&shares(WEIGHTED, &two), &[1.0, 0.25, 0.25]);
}

/// Is a device with one tenant the device without?
#[test]
fn one_tenant_is_none() {
    for issue in ["open_loop.time_scale = 0.7", "closed_loop.queue_depth = 1", "closed_loop.queue_depth = 40"] {
        for more in ["", "write_buffer_bytes = 1048576\n", "max_outstanding = 50\n"] {
            let alone = support::config(&format!("{DEVICE}[host]\nissue.{issue}\n{more}"));
            let toml = format!(
                "{DEVICE}[host]\nissue.{issue}\n{more}arbitration.fetched_commands = 65536\n[[host.tenants]]\nname = \"only\"\n\
                 workload = {{}}\n"
            );
            let tenant = support::config(&toml);
            let requests = support::random_requests(&alone, 3000, u64::MAX, Ns(20_000));
            let (alone, tenant) =
                (support::run(&alone, requests.clone()), support::run_tenants(&tenant, vec![requests]));
            let rows = |mut simulation: Simulation| simulation.take_log();
            assert_eq!(tenant.statistics().operations, alone.statistics().operations);
            assert_eq!(rows(tenant), rows(alone), "{issue}, {more}");
        }
    }
}

/// Does each tenant of a closed loop keep as many requests under way as it may, and is its wait for being fetched in its responses?
#[test]
fn littles_law_holds_for_each_tenant() {
    let depths = [4.0, 16.0, 64.0];
    let tenants = depths.map(|depth| format!("issue.closed_loop.queue_depth = {depth}"));
    let config = config("fetched_commands = 12", &tenants.each_ref().map(String::as_str));
    let requests = (0..3).map(|tenant| reads(&config, tenant, 20_000, Ns::ZERO)).collect();
    let done = support::run_tenants(&config, requests);
    for (tenant, depth) in done.statistics().tenants.iter().zip(depths) {
        let arrivals_per_ns = tenant.completed() as f64 / tenant.span().0 as f64;
        let inside = arrivals_per_ns * tenant.all().mean_ns().unwrap();
        assert!((inside / depth - 1.0).abs() < 0.01, "{inside} of {depth}");
    }
}

/// Is a request counted that arrives when as many before it as its queue has room for have not been fetched?
#[test]
fn requests_that_find_their_queue_full_are_counted() {
    for (depth, spacing) in [(1, 0), (5, 0), (5, 10_000), (64, 10_000), (2, 300_000)] {
        let tenant = format!("submission_queue_depth = {depth}");
        let config = config("fetched_commands = 2", &[&tenant]);
        let mut done = support::run_tenants(&config, vec![reads(&config, 1, 500, Ns(spacing))]);
        // Those inside are two at most and completed in any order: what is fetched when is known from when two others were inside.
        let mut rows = done.take_log();
        rows.sort_by_key(|row| row.request);
        let mut free = [Ns::ZERO; 2];
        let fetched: Vec<Ns> = rows
            .iter()
            .map(|row| {
                free.sort();
                let at = row.arrival.max(free[0]);
                free[0] = row.arrival + row.response;
                at
            })
            .collect();
        let full = (depth..rows.len()).filter(|&i| fetched[i - depth] > rows[i].arrival).count();
        assert_eq!(done.statistics().tenants[0].found_queue_full, full as u64, "{depth} {spacing}");
        assert_eq!(full > 0, spacing < 100_000, "the device is slower than the host where it should be");
    }
}

/// Are the requests of a tenant the same whoever else issues some, at addresses of its own?
#[test]
fn a_tenant_is_the_same_beside_others_and_alone() {
    let toml = |idle: bool| {
        format!(
            "{DEVICE}[[host.tenants]]\nname = \"hostile\"\nidle = {idle}\nnamespace.fraction = 0.25\n\
             workload = {{ requests = 500, read_fraction = 0.0 }}\n\
             [[host.tenants]]\nname = \"light\"\nworkload = {{ requests = 400, addresses = \"sequential\" }}\n"
        )
    };
    let asked = |idle: bool| {
        let config = support::config(&toml(idle));
        let mut run = Run::new(&config, Requests::Workload, true).unwrap();
        while run.advance(1_000_000).unwrap() {}
        let spaces = config.namespaces().unwrap();
        assert_eq!(spaces[1], spaces[0].end..config.user_bytes() / support::CODEWORD * support::CODEWORD);
        let mut rows = run.take_log();
        for row in &rows {
            let space = &spaces[usize::from(row.tenant)];
            assert!(space.start <= row.offset_bytes && row.offset_bytes + row.bytes <= space.end);
        }
        rows.retain(|row| row.tenant == 1);
        let mut asked: Vec<_> = rows.iter().map(|row| (row.arrival, row.kind as u8, row.offset_bytes)).collect();
        asked.sort_unstable();
        let summary = run.summary(false);
        (asked, summary.tenants[0].requests, summary.tenants[1].requests)
    };
    let (beside, alone) = (asked(false), asked(true));
    assert_eq!(beside.0, alone.0);
    assert_eq!((beside.1, beside.2, alone.1, alone.2), (500, 400, 0, 400));
}

/// Does each wrong tenant say what is wrong, and where?
#[test]
fn wrong_tenants_are_refused() {
    let tenant = |more: &str| format!("[[host.tenants]]\nname = \"a\"\n{more}\n");
    let plain = tenant("workload = {}");
    for (toml, expected) in [
        ("[host.arbitration]\nburst = 2\n".to_owned(), "host.arbitration: found without `host.tenants`"),
        (tenant(""), "host.tenants[0].workload: missing"),
        (tenant("workload = {}\ntrace.path = \"x\""), "host.tenants[0].trace: found together with `workload`"),
        (tenant("workload.requests = 0"), "host.tenants[0].workload.requests: found 0"),
        (tenant("trace = { path = \"x\", event = \"Z\" }"), "host.tenants[0].trace.event: found `Z`"),
        (tenant("workload = {}\nidle = true"), "host.tenants: found only tenants that are `idle`"),
        (tenant("workload = {}\nissue.closed_loop.queue_depth = 2000"), "issue.closed_loop.queue_depth: found 2000"),
        (tenant("workload = {}\nweight = 0"), "host.tenants[0].weight: found 0"),
        (tenant("workload = {}\nnamespace.fraction = 1.5"), "host.tenants[0].namespace.fraction: found 1.5"),
        (
            tenant("workload = {}\nnamespace.bytes = 1"),
            "host.tenants[0].namespace: found a namespace that is smaller than a codeword",
        ),
        (tenant("workload = {}\nnamespace.bytes = 99999999999999"), "host.tenants[0].namespace: found namespaces of"),
        (tenant("workload = {}\nnamespace.shared_with = \"b\""), "namespace.shared_with: found \"b\""),
        (format!("{plain}{plain}"), "host.tenants[1].name: found \"a\" twice"),
        (format!("{plain}[workload]\n"), "host.tenants: found together with a [workload] section"),
    ] {
        let error = CheckedConfig::from_toml(&toml, "wrong.toml", &[]).unwrap_err().to_string();
        assert!(
            error.contains(expected) && (error.contains("expected") || error.contains("missing")),
            "{error}\n{toml}"
        );
    }
}

/// Does a lone request take as long as without a link, and its command, its data and its completion besides?
#[test]
fn a_link_adds_latency_and_the_time_of_the_data() {
    let with = |link: &str| support::config(&format!("{DEVICE}[host]\n{link}"));
    let (plain, linked) = (with(""), with("link = { speed.bandwidth_gb_per_s = 0.5, latency_us = 3.0 }\n"));
    let lone = |kind, codewords: u64| {
        vec![support::request(kind, Ns::ZERO, 0, codewords), support::request(kind, Ns::from_us(1e5), 40, codewords)]
    };
    for (kind, codewords, of_data) in
        [(RequestKind::Read, 1, 1), (RequestKind::Write, 1, 1), (RequestKind::Write, 8, 8), (RequestKind::Trim, 8, 0)]
    {
        let responses = |config| {
            let log = support::run(config, lone(kind, codewords)).take_log();
            log.iter().map(|row| row.response.0).collect::<Vec<_>>()
        };
        let data = 4096 * of_data * 2;
        let expected: Vec<u64> = responses(&plain).iter().map(|response| response + 6000 + data).collect();
        assert_eq!(responses(&linked), expected, "{kind:?} of {codewords}");
    }
    // Codewords that are read one after the other set out as they come: the last one waits for none.
    let last = |config| support::run(config, lone(RequestKind::Read, 8)).take_log()[0].response.0;
    let more = last(&linked) - last(&plain);
    assert!((6000 + 4096 * 2..=6000 + 8 * 4096 * 2).contains(&more), "{more}");
}

/// Does a link that is narrower than the flash carry what it can, each way as if there were no other?
#[test]
fn a_narrow_link_is_full_in_both_directions() {
    let toml = format!(
        "{DEVICE}[host]\nissue.closed_loop.queue_depth = 64\nwrite_buffer_bytes = 1048576\n\
         link = {{ speed.bandwidth_gb_per_s = 0.004, latency_us = 5.0 }}\n"
    );
    let config = support::config(&toml);
    let requests = (0..4000).map(|i| {
        let kind = if i % 2 == 0 { RequestKind::Read } else { RequestKind::Write };
        support::request(kind, Ns::ZERO, (i * 37) % 500, 1)
    });
    let done = support::run(&config, requests.collect());
    let shares = done.host_link_shares().unwrap();
    let seconds = done.statistics().last_completion.as_secs();
    // As many bytes each way.
    let expected = 2000.0 * 4096.0 / 4e6;
    assert!((seconds / expected - 1.0).abs() < 0.02, "{seconds} s, expected {expected} s");
    assert!(shares.to_device > 0.97 && shares.to_host > 0.97, "{shares:?}");
}

/// Does the device take in as many commands a second as its end of the link can, of any kind and size, and one alone after its time?
#[test]
fn commands_are_taken_in_one_after_the_other() {
    let with = |command_us: f64, outstanding: u32| {
        support::config(&format!(
            "{DEVICE}[host]\nissue.closed_loop.queue_depth = {outstanding}\nwrite_buffer_bytes = 1048576\n\
             link = {{ speed.bandwidth_gb_per_s = 4.0, latency_us = 1.0, command_us = {command_us:?} }}\n"
        ))
    };
    let read = |lcn| support::request(RequestKind::Read, Ns::ZERO, lcn, 1);
    let last = |command_us| support::run(&with(command_us, 1), vec![read(3)]).take_log()[0].response.0;
    assert_eq!(last(7.5), last(0.0) + 7500);
    let kinds = [RequestKind::Read, RequestKind::Write, RequestKind::Trim];
    let requests = (0..3000).map(|i| support::request(kinds[i as usize % 3], Ns::ZERO, (i * 37) % 500, 1 + i % 2));
    let done = support::run(&with(500.0, 256), requests.collect());
    let seconds = done.statistics().last_completion.as_secs();
    assert!((seconds / (3000.0 * 500e-6) - 1.0).abs() < 0.01, "{seconds} s");
    let shares = done.host_link_shares().unwrap();
    assert!(shares.commands > 0.99 && shares.to_device < 0.1, "{shares:?}");
}

/// Do commands that write take a time of their own, and no other command?
#[test]
fn commands_that_write_take_a_time_of_their_own() {
    let last = |kind, command: &str| {
        let config = support::config(&format!(
            "{DEVICE}[host]\nwrite_buffer_bytes = 1048576\n\
             link = {{ speed.bandwidth_gb_per_s = 4.0, latency_us = 1.0, command_us = 2.0{command} }}\n"
        ));
        support::run(&config, vec![support::request(kind, Ns::ZERO, 3, 1)]).take_log()[0].response.0
    };
    let longer = |kind| last(kind, ", write_command_us = 9.0") - last(kind, "");
    assert_eq!([RequestKind::Write, RequestKind::Read, RequestKind::Trim].map(longer), [7000, 0, 0]);
}

/// Do writes go on at the pace that they are held to, but for a burst, whatever the buffer has room for, and reads as ever?
#[test]
fn writes_keep_a_pace() {
    let responses = |pacing: &str, link: &str, kind| {
        let config = support::config(&format!(
            "{DEVICE}[host]\nwrite_buffer_bytes = 8388608\ncontroller_memory_us = 0.0\n{pacing}{link}"
        ));
        let requests = (0..40).map(|number| support::request(kind, Ns::ZERO, 3 * number, 1)).collect();
        support::run(&config, requests).take_log().iter().map(|row| row.response.0).collect::<Vec<_>>()
    };
    for link in ["", "link = { speed.bandwidth_gb_per_s = 1e9, latency_us = 1.0, command_us = 0.0 }\n"] {
        let of = |pacing, kind| responses(pacing, link, kind);
        // 4,096 bytes at 40.96 MB/s are 100 us, and five writes may run ahead.
        let pacing = "write_pacing = { mb_per_s = 40.96, burst_bytes = 20480 }\n";
        let free = of("", RequestKind::Write);
        let waits: Vec<u64> =
            of(pacing, RequestKind::Write).iter().zip(&free).map(|(paced, free)| paced - free).collect();
        let expected: Vec<u64> = (0..40).map(|number: u64| 100_000 * number.saturating_sub(5)).collect();
        assert_eq!(waits, expected);
        assert_eq!(of(pacing, RequestKind::Read), of("", RequestKind::Read));
    }
}

/// Do writes at random wait for their pace as the closed form says, and is the pace taken as far as they ask for it?
/// Source: Pollaczek and Khinchine; with Poisson arrivals at a load r, and s for each, the mean wait is r s / (2 (1 - r)).
#[test]
fn writes_at_random_wait_for_their_pace_as_a_closed_form_says() {
    let run = |pacing: &str| {
        let config = support::config(&format!(
            "{DEVICE}[host]\nwrite_buffer_bytes = 8388608\ncontroller_memory_us = 0.0\n{pacing}"
        ));
        let (stream, mut at) = (Stream::new(7, Purpose::Workload), 0.0);
        let writes = (0..200_000).map(|number| {
            at -= (1.0 - stream.uniform(number, 0)).ln() / 7000e-6;
            support::request(RequestKind::Write, Ns::from_us(at), number % 2000, 1)
        });
        let mut done = support::run(&config, writes.collect());
        let mean = done.take_log().iter().map(|row| row.response.0 as f64 / 1e3).sum::<f64>() / 200_000.0;
        (mean, done)
    };
    let (paced, done) = run("write_pacing = { mb_per_s = 40.96 }\n");
    let expected = 0.7 * 100.0 / (2.0 * 0.3);
    assert!(((paced - run("").0) / expected - 1.0).abs() < 0.03, "{paced} us, {expected} us");
    let share = done.pace_share().unwrap();
    assert!((share - 0.7).abs() < 0.01, "{share}");
}

/// Is the pace one of what is programmed, so that collection takes its share of it, and none where blocks are stale?
#[test]
fn collection_takes_its_share_of_the_pace() {
    let run = |at_random: bool| {
        let config = support::config(&format!(
            "{DEVICE}[host]\nwrite_buffer_bytes = 262144\nissue.closed_loop.queue_depth = 32\n\
             write_pacing = {{ mb_per_s = 20.0, burst_bytes = 4096 }}\n"
        ));
        let stream = Stream::new(8, Purpose::Workload);
        let user = config.user_codewords();
        let first = |number| if at_random { stream.bits(number, 1) % user } else { number % user };
        let writes = (0..60_000).map(|number| support::request(RequestKind::Write, Ns::ZERO, first(number), 1));
        let done = support::run(&config, writes.collect());
        let seconds = done.statistics().last_completion.as_secs();
        let moved = done.statistics().moved_codewords_programmed() as f64;
        let amplified = 1.0 + moved / done.statistics().host_codewords_written as f64;
        (60_000.0 * 4096e-6 / seconds * amplified, amplified)
    };
    let (in_turn, amplified) = run(false);
    assert!((in_turn / 20.0 - 1.0).abs() < 0.02 && amplified < 1.02, "{in_turn} MB/s, {amplified}");
    let (at_random, amplified) = run(true);
    assert!((at_random / 20.0 - 1.0).abs() < 0.03 && amplified > 1.5, "{at_random} MB/s, {amplified}");
}

/// Do placement handles keep apart what is overwritten often and what is not, so that less has to be moved?
#[test]
fn placement_keeps_hot_and_cold_data_apart() {
    let amplification = |placement: u32, skewed: bool| {
        // Nine of ten writes, of a page each, go to a tenth of the addresses, or half of them to half.
        let (hot, of_hot) = if skewed { (0.1, 135_000) } else { (0.5, 75_000) };
        let tenant = |name, fraction: f64, requests, placement| {
            format!(
                "[[host.tenants]]\nname = \"{name}\"\nnamespace.fraction = {fraction}\nplacement = {placement}\n\
                 [host.tenants.workload]\nrequests = {requests}\nread_fraction = 0.0\nalign_bytes = 8192\n\
                 sizes = [{{ bytes = 8192, share = 1.0 }}]\narrivals.poisson.requests_per_s = {}.0\n",
                requests / 10
            )
        };
        let toml = format!(
            "{DEVICE}layout = \"steady_state\"\n[host]\narbitration.fetched_commands = 65536\n{}{}",
            tenant("hot", hot, of_hot, placement),
            tenant("cold", 1.0 - hot, 150_000 - of_hot, 0),
        );
        let mut run = Run::new(&support::config(&toml), Requests::Workload, false).unwrap();
        while run.advance(1_000_000).unwrap() {}
        run.summary(false).writes_detail.write_amplification.unwrap()
    };
    let (mixed, apart) = (amplification(0, true), amplification(1, true));
    println!("hot and cold: {mixed} together, {apart} apart");
    assert!(apart < 0.94 * mixed, "{apart} apart, {mixed} together");
    let (mixed, apart) = (amplification(0, false), amplification(1, false));
    println!("alike: {mixed} together, {apart} apart");
    assert!((apart / mixed - 1.0).abs() < 0.01, "where all are alike there is nothing to keep apart: {apart}, {mixed}");
}

/// Does a flush take as long as what the write buffer holds takes to be programmed, a write with FUA as one without a buffer, and
/// neither any longer where the buffer is power-protected?
#[test]
fn flushes_wait_for_what_is_buffered() {
    let with = |lines: &str| support::config(&format!("{DEVICE}[host]\ncontroller_memory_us = 2.0\n{lines}"));
    let lone = |config: &CheckedConfig, kinds: &[RequestKind]| -> Vec<f64> {
        let requests = kinds.iter().zip(0..).map(|(&kind, i)| {
            let codewords = if kind == RequestKind::Flush { 0 } else { 1 };
            support::request(kind, Ns::from_us(1e5 * f64::from(i)), codewords * 7, codewords)
        });
        let mut log = support::run(config, requests.collect()).take_log();
        log.sort_by_key(|row| row.request);
        log.iter().map(|row| row.response.as_us()).collect()
    };
    use RequestKind::{Flush, FuaWrite, Write};
    let [programmed, flushed] = lone(&with(""), &[Write, Flush])[..] else { panic!("there are two") };
    assert_eq!(flushed, 2.0, "without a buffer all that has completed is in flash");
    assert!(programmed > 100.0);
    let buffer = "write_buffer_bytes = 1048576\n";
    // The second flush finds nothing; pages of two are programmed for one codeword.
    let responses = lone(&with(buffer), &[Flush, Write, Flush, Flush]);
    assert_eq!(responses, [2.0, 2.0, programmed, 2.0]);
    assert_eq!(lone(&with(buffer), &[FuaWrite, Flush]), [programmed, 2.0]);
    // What was buffered before is stale when a write with FUA has gone past it.
    let config = with(buffer);
    let [_, fua, _] = lone(&config, &[Write, FuaWrite, Flush])[..] else { panic!("there are three") };
    assert!((fua / programmed - 1.0).abs() < 1.0, "{fua}");
    let protected = format!("{buffer}write_buffer_power_protected = true\n");
    assert_eq!(lone(&with(&protected), &[Write, Flush, FuaWrite, Flush]), [2.0; 4]);
}

/// Does a flush leave to itself what is written after it?
#[test]
fn flushes_wait_for_nothing_that_comes_later() {
    let config = support::config(&format!("{DEVICE}[host]\nwrite_buffer_bytes = 1048576\n"));
    let at = |us: f64, kind, codewords| support::request(kind, Ns::from_us(us), 7, codewords);
    let mut requests = vec![at(0.0, RequestKind::Write, 1), at(50.0, RequestKind::Flush, 0)];
    let alone = support::run(&config, requests.clone()).statistics().flushes.max();
    // So much that all planes are at work for long.
    requests.push(at(51.0, RequestKind::Write, 100));
    let beside = support::run(&config, requests.clone()).statistics().flushes.max();
    assert_eq!(alone, beside);
    requests.swap(1, 2);
    (requests[1].arrival, requests[2].arrival) = (requests[2].arrival, requests[1].arrival);
    let behind = support::run(&config, requests).statistics().flushes.max();
    assert!(behind > beside, "{behind:?}, {beside:?}");
}

/// Does a tenant have no more commands in the device than it may, whatever its turn? Of two that would fill the device the one that may
/// have a quarter of what the other has gets a quarter of what that gets.
#[test]
fn a_tenant_has_no_more_commands_in_the_device_than_it_may() {
    let deep = "issue.closed_loop.queue_depth = 64\n";
    let config = config("fetched_commands = 10", &[deep, &format!("{deep}fetched_commands = 2")]);
    let done = completed_when_one_is_done(&config, 7000);
    let share = done[1] as f64 / done[0] as f64;
    assert!((share - 0.25).abs() < 0.03, "{done:?}");
}

/// Are all faults of tenants, arbitration and link told at once, with their paths?
#[test]
fn all_faults_of_a_host_are_told_at_once() {
    let toml = "
        [host]
        link = { speed = { pcie = { generation = 9, lanes = 3 } }, latency_us = -1.0 }
        arbitration = { burst = 0, fetched_commands = 0 }
        [[host.tenants]]
        name = ''
        weight = 0
        read_deadline_us = -1.0
        fetched_commands = 0
        [[host.tenants]]
        name = 'b'
        workload = {}
        namespace.fraction = 2.0
        placement = 9";
    let error = CheckedConfig::from_toml(toml, "bad.toml", &[]).unwrap_err().to_string();
    for path in [
        "link.latency_us",
        "link.speed.pcie.generation",
        "link.speed.pcie.lanes",
        "arbitration.burst",
        "arbitration.fetched_commands",
        "tenants[0].name",
        "tenants[0].workload",
        "tenants[0].weight",
        "tenants[0].read_deadline_us",
        "tenants[0].fetched_commands",
        "tenants[1].namespace.fraction",
        "tenants[1].placement",
    ] {
        assert!(error.contains(&format!("host.{path}: ")), "{path} in\n{error}");
    }
}

/// Can a choice of one tenant be set by its path, as that of the host can?
#[test]
fn choices_of_tenants_can_be_set() {
    let toml = format!(
        "{DEVICE}[[host.tenants]]\nname = 'a'\nissue.open_loop.time_scale = 2.0\nworkload = {{ arrivals = 'immediate' }}\n"
    );
    let set = |paths: &[&str]| {
        let paths: Vec<String> = paths.iter().map(ToString::to_string).collect();
        CheckedConfig::from_toml(&toml, "test.toml", &paths).unwrap().config().host.tenants[0].clone()
    };
    let tenant = set(&[
        "host.tenants[0].issue.closed_loop.queue_depth=7",
        "host.tenants[0].namespace.fraction=0.5",
        "host.tenants[0].workload.arrivals.fixed.requests_per_s=100",
    ]);
    assert_eq!(tenant.issue, Some(softsense_config::spec::Issue::ClosedLoop { queue_depth: 7 }));
    assert_eq!(tenant.namespace, softsense_config::spec::Namespace::Fraction(0.5));
}

/// Is a run another one when the content of a tenant's trace has changed, and when it is not there?
#[test]
fn a_changed_trace_makes_another_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    let identity = || {
        let toml = "[[host.tenants]]\nname = 'a'\ntrace.path = 'a.csv'\n";
        CheckedConfig::from_toml(toml, &folder.path().join("x.toml").display().to_string(), &[]).unwrap().sha256()
    };
    let missing = identity();
    std::fs::write(&path, "1,read,0,4096\n").unwrap();
    let first = identity();
    assert_eq!(first, identity());
    std::fs::write(&path, "1,read,0,4096\n2,read,0,4096\n").unwrap();
    let second = identity();
    assert!(missing != first && first != second && missing != second);
}

/// Are flushes of a trace those of a workload, and refused where those are?
#[test]
fn flushes_of_traces_are_simulated() {
    let text = "arrival_ns,device,kind,offset_bytes,bytes\n0,0,write,0,4096\n100000,0,flush,0,0\n";
    let run = |config: &str, set: &[&str], text: &str| {
        let set: Vec<String> = set.iter().map(|&set| set.to_owned()).collect();
        let config = CheckedConfig::open(config, &set).unwrap();
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let trace = Trace::open(TraceSpec::new(file.path()), &mut |_| true).unwrap();
        let mut run = Run::new(&config, Requests::Trace(&trace, Beyond::Reject), false)?;
        while run.advance(u64::MAX)? {}
        Ok::<_, softsense_base::Error>(run.summary(false))
    };
    let alone = text.replace("100000,0,flush,0,0\n", "");
    let through = run("mlc-25nm", &["host.write_buffer_bytes=0"], &alone).unwrap();
    let summary = run("mlc-25nm", &["host.write_buffer_bytes=1_048_576"], text).unwrap();
    assert_eq!((summary.flushes, summary.writes), (1, 1));
    // The buffer programs what it holds at once, 100 us before the flush.
    let flush = summary.response.flush.unwrap().max_us.unwrap();
    let program = through.response.write.max_us.unwrap();
    assert!((flush + 100.0 - program).abs() < 2.0, "{flush} and {program}");
    let error = run("mlc-lae", &[], text).unwrap_err().to_string();
    assert!(error.contains("found flushes (1) and writes with FUA (0)") && error.contains("--skip-flushes"), "{error}");
}
