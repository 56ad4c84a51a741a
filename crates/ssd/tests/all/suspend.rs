//! Physics: do programs and erases make way for reads when they may, and at what cost?

use crate::support::{config, request, run};
use softsense_base::Ns;
use softsense_requests::RequestKind::{self, Read, Write};
use softsense_ssd::simulation::{PARTS_OF_READS, Simulation};

/// A plane whose program lasts from 10 us on, as a write comes in at once.
fn device(suspend: &str, flash: &str) -> String {
    let suspend = if suspend.is_empty() { String::new() } else { format!("suspend = {{ {suspend} }}") };
    format!(
        "reliability = 'perfect'
         [geometry]
         channels = 1
         chips_per_channel = 1
         dies_per_chip = 1
         planes_per_die = 1
         blocks_per_plane = 32
         pages_per_block = 16
         [flash]
         erase_us = 3000.0
         {suspend}
         {flash}
         [[flash.page_types]]
         name = 'page'
         sense_us = 50.0
         program_us = 1000.0
         [bus]
         transfer_us = 10.0
         [decoder]
         time.fixed_us = 5.0
         [ftl]
         over_provisioning = 0.4
         [host]
         write_buffer_bytes = 0
         issue.open_loop.time_scale = 1.0"
    )
}

const SUSPEND: &str = "program_us = 20.0, erase_us = 30.0, resume_us = 5.0";

/// Responses of one write at 0 and of reads at these instants, us, and how often the program was suspended.
fn responses(toml: &str, reads_us: &[u64]) -> (f64, Vec<f64>, u64) {
    let config = config(toml);
    let requests = std::iter::once(request(Write, Ns(0), 0, 1))
        .chain(reads_us.iter().zip(100..).map(|(&us, lcn)| request(Read, Ns(1000 * us), lcn, 1)))
        .collect();
    let mut simulation = run(&config, requests);
    let mut log = simulation.take_log();
    log.sort_by_key(|row| row.request);
    let us = |kind: RequestKind| log.iter().filter(move |row| row.kind == kind).map(|row| row.response.0 as f64 / 1e3);
    (us(Write).next().unwrap(), us(Read).collect(), simulation.statistics().operations.suspensions)
}

/// A read that meets a program at 200 us: 20 us until it has stopped, 50 of sensing, 10 and 5 of transfer and decode. The program ran for 190
/// us before, and goes on when the array is free: after sensing, or, without a cache register, after the transfer.
#[test]
fn a_read_waits_for_the_program_to_stop_and_no_longer() {
    assert_eq!(responses(&device("", ""), &[200]), (1010.0, vec![1010.0 + 65.0 - 200.0], 0));
    assert_eq!(responses(&device(SUSPEND, ""), &[200]), (1010.0 + 70.0 + 5.0, vec![85.0], 1));
    let without = device(SUSPEND, "cache_register = false");
    assert_eq!(responses(&without, &[200]), (1010.0 + 80.0 + 5.0, vec![85.0], 1));
}

/// Each suspension takes 75 us of the program. Twice and no more: the third read waits for its end.
#[test]
fn a_program_is_suspended_so_often_and_no_more() {
    let twice = device(&format!("{SUSPEND}, most = 2"), "");
    let end = 1010.0 + 75.0 + 75.0;
    assert_eq!(responses(&twice, &[100, 300, 500]), (end, vec![85.0, 85.0, end + 65.0 - 500.0], 2));
    let often = device(SUSPEND, "");
    assert_eq!(responses(&often, &[100, 300, 500]), (1010.0 + 3.0 * 75.0, vec![85.0; 3], 3));
}

/// The program runs 300 us before each suspension: from 10 to 310, and from 380, when it goes on, to 680.
#[test]
fn a_program_gets_on_between_suspensions() {
    let slowly = device(&format!("{SUSPEND}, least_run_us = 300.0"), "");
    assert_eq!(responses(&slowly, &[100, 400]), (1010.0 + 150.0, vec![310.0 + 85.0 - 100.0, 680.0 + 85.0 - 400.0], 2));
    // What waits while a page is being loaded is seen when its program begins.
    assert_eq!(responses(&device(SUSPEND, ""), &[5]), (1010.0 + 75.0, vec![10.0 + 85.0 - 5.0], 1));
}

/// Stopping takes longer by what `spread` says: always by 7 us; or by an exponential time of mean 10 us, in the mean of 400 devices to four
/// standard errors, and by as much for each of them when it is run again. What would not have stopped in time is not suspended.
#[test]
fn a_program_takes_longer_to_stop_at_times() {
    let spread = |parts: &str| format!("{SUSPEND}, spread = [{parts}]");
    let longer = device(&spread("{ share = 1.0, fixed_us = 7.0 }"), "");
    assert_eq!(responses(&longer, &[200]), (1010.0 + 77.0 + 5.0, vec![92.0], 1));
    assert_eq!(responses(&longer, &[985]), (1010.0, vec![1010.0 + 65.0 - 985.0], 0));

    let random = |seed: u32| {
        let toml = format!("seed = {seed}\n{}", device(&spread("{ share = 1.0, exponential_us = 10.0 }"), ""));
        responses(&toml, &[200]).1[0] - 85.0
    };
    let more: Vec<f64> = (0..400).map(random).collect();
    let mean = more.iter().sum::<f64>() / 400.0;
    assert!((mean - 10.0).abs() <= 4.0 * 10.0 / f64::sqrt(400.0), "{mean}");
    assert_eq!(random(7), more[7]);
    // Each suspension of a program has a draw of its own.
    let twice = device(&spread("{ share = 1.0, exponential_us = 10.0 }"), "");
    let (_, reads, _) = responses(&twice, &[200, 500]);
    assert_ne!(reads[0], reads[1]);
}

/// A buffer of one codeword: while a second write waits for its slot, as many programs stop for reads as is said, all or none; when none waits
/// they all stop.
#[test]
fn programs_go_on_while_writes_wait() {
    let responses_of = |share: f64, writes: u64| {
        let toml = device(&format!("{SUSPEND}, while_writes_wait = {share:?}"), "")
            .replace("write_buffer_bytes = 0", "write_buffer_bytes = 4096");
        let config = config(&toml);
        let requests =
            (0..writes).map(|lcn| request(Write, Ns(0), lcn, 1)).chain([request(Read, Ns(200_000), 100, 1)]).collect();
        let mut log = run(&config, requests).take_log();
        log.retain(|row| row.kind == Read);
        log[0].response.0
    };
    // Two of three writes are done when the read comes at 200 us, or one of two, or both.
    let alone = responses_of(1.0, 1);
    assert_eq!(responses_of(0.0, 1), alone);
    assert_eq!(responses_of(1.0, 3), alone);
    assert!(responses_of(0.0, 3) > alone + 700_000);
}

/// A program that ends before it would have stopped is not suspended.
#[test]
fn what_ends_soon_is_not_suspended() {
    assert_eq!(responses(&device(SUSPEND, ""), &[990]), (1010.0, vec![1010.0 + 65.0 - 990.0], 0));
    assert_eq!(responses(&device(SUSPEND, ""), &[989]), (1010.0 + 75.0, vec![85.0], 1));
    // Nor one that would have stopped in time had it run for long enough.
    let slowly = device(&format!("{SUSPEND}, least_run_us = 980.0"), "");
    assert_eq!(responses(&slowly, &[100]), (1010.0, vec![1010.0 + 65.0 - 100.0], 0));
}

/// Reads go one after the other while the program rests; after 60 us it goes on though they wait, and stops again 100 us later.
#[test]
fn a_program_rests_as_long_as_it_may() {
    let patient = device(SUSPEND, "");
    let (write, reads, suspensions) = responses(&patient, &[100, 110, 120]);
    assert_eq!((write, suspensions), (1010.0 + 20.0 + 150.0 + 5.0, 1));
    assert_eq!(reads, [85.0, 170.0 + 65.0 - 110.0, 220.0 + 65.0 - 120.0]);
    let impatient = device(&format!("{SUSPEND}, longest_us = 60.0, least_run_us = 100.0"), "");
    let (write, reads, suspensions) = responses(&impatient, &[110, 120, 130]);
    // It runs from 10 to 110, from 180 to 280 and from 350 to 450; each time it takes 20 us to stop, and a read 50.
    assert_eq!((write, suspensions), (1010.0 + 3.0 * 75.0, 3));
    assert_eq!(reads, [110.0 + 85.0 - 110.0, 280.0 + 85.0 - 120.0, 450.0 + 85.0 - 130.0]);
}

/// What reads wait for, in the mean of both, us: the first for 810 us of a program, the second for that and the sensing of the first; or, where
/// the program is suspended, for the 20 us until it stops. Reads, programs, erases; of the host each.
#[test]
fn what_was_waited_for_is_told() {
    let waits = |suspend: &str| {
        let config = config(&device(suspend, ""));
        let requests = [(Write, 0, 0), (Read, 200, 100), (Read, 200, 101)];
        let request = |(kind, us, lcn): (RequestKind, u64, u64)| request(kind, Ns(1000 * us), lcn, 1);
        let simulation = run(&config, requests.map(request).into());
        let all = simulation.statistics().reads_by_duration.slowest(1.0).unwrap();
        let slower = simulation.statistics().reads_by_duration.slowest(0.5).unwrap();
        assert_eq!((all.count, slower.count), (2, 1));
        let us =
            |sums: [u64; PARTS_OF_READS]| std::array::from_fn(|part| sums[[0, 7, 8, 9, 10, 11][part]] as f64 / 1e3);
        (us(all.sums), us(slower.sums))
    };
    let expected = |program: f64| {
        let both: [f64; 6] = [2.0 * program + 50.0, 50.0, 0.0, 2.0 * program, 0.0, 0.0];
        (both, [program + 50.0, 50.0, 0.0, program, 0.0, 0.0])
    };
    assert_eq!(waits(""), expected(810.0));
    assert_eq!(waits(SUSPEND), expected(20.0));
}

/// Programs of collection and erases make way for the host, and reads of collection have nothing suspended.
#[test]
fn erases_are_suspended_for_the_host_alone() {
    let busy = |suspend: &str, read_fraction: f64| {
        let toml = device(suspend, "")
            + &format!(
                "\n[workload]\nrequests = 4000\nread_fraction = {read_fraction}\n\
             sizes = [{{ bytes = 4096, share = 1.0 }}]\nfootprint_bytes = 1_000_000\naddresses = 'uniform'\n\
             arrivals.poisson.requests_per_s = 500.0\n[precondition]\nlayout = 'steady_state'"
            );
        let config = config(&toml);
        let source = config.workload().unwrap().source(1, config.user_bytes()).unwrap();
        let mut simulation = Simulation::new(&config, Box::new(source), false).unwrap();
        while simulation.advance(1 << 20).unwrap() {}
        let statistics = simulation.statistics();
        (statistics.reads.max().map_or(0.0, |longest| longest.0 as f64 / 1e3), statistics.operations)
    };
    let (longest, operations) = busy("", 0.7);
    assert!(longest > 3000.0 && operations.erases > 20 && operations.suspensions == 0, "{longest} {operations:?}");
    let (longest, operations) = busy(SUSPEND, 0.7);
    assert!(longest < 1000.0 && operations.suspensions > 100, "{longest} {operations:?}");
    let (_, operations) = busy(SUSPEND, 0.0);
    assert!(operations.senses > 100 && operations.erases > 20 && operations.suspensions == 0, "{operations:?}");
}

/// Is what cannot be refused, with its place?
#[test]
fn bad_suspensions_are_refused() {
    use softsense_config::checked::CheckedConfig;
    let refused = |suspend: &str, more: &str| {
        let toml = device(suspend, "").replace("write_buffer_bytes = 0", &format!("write_buffer_bytes = 0\n{more}"));
        CheckedConfig::from_toml(&toml, "test.toml", &[]).unwrap_err().to_string()
    };
    for (suspend, more, expected) in [
        ("program_us = -1.0, erase_us = 30.0", "", "flash.suspend.program_us: found -1, expected a number from 0"),
        ("program_us = 1.0", "", "missing field `erase_us`"),
        ("program_us = 1.0, erase_us = 1.0, most = 0", "", "flash.suspend.most: found 0, expected"),
        (SUSPEND, "reads_first = false", "flash.suspend: found together with `host.reads_first = false`"),
    ] {
        let found = refused(suspend, more);
        assert!(found.contains(expected), "{found} instead of {expected}");
    }
}
