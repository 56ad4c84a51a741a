//! Is what is seen in a window of a run what the run counts, and does looking on change nothing?

use std::collections::HashMap;
use std::sync::Arc;

use crate::support::{random_requests, request, shipped, simulation};
use softsense_base::Ns;
use softsense_config::checked::CheckedConfig;
use softsense_link::{DecodeAttempt, GivenCodeword, Readings};
use softsense_nand::{CellSpec, InferredBy, ReadWith, ReferencesAt};
use softsense_requests::{Request, RequestKind};
use softsense_ssd::simulation::{Action, Owner, Recorded, Recording, Resource, Simulation, Window};
use softsense_ssd::timeline::LoneRead;
use softsense_ssd::trace_events;

const WHOLE: Window = Window { from: Ns(0), to: Ns(u64::MAX / 4) };

const SMALL: [&str; 6] = [
    "geometry.channels=2",
    "geometry.chips_per_channel=2",
    "geometry.blocks_per_plane=24",
    "geometry.pages_per_block=16",
    "ftl.over_provisioning=0.5",
    "reliability.fixed.p_fail=[0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005]",
];

/// Devices of many kinds, with requests that make them collect.
fn devices() -> Vec<(CheckedConfig, Vec<Request>)> {
    let more: [&[&str]; 10] = [
        &[],
        &["flash.busy_unit=die", "flash.cache_register=false"],
        &["flash.suspend={ program_us = 10.0, erase_us = 20.0, resume_us = 5.0 }", "host.reads_first=true"],
        &["read.policy=look_ahead_progressive", "read.retry=restart", "flash.reset_us=5"],
        &["host.write_buffer_bytes=262144", "host.issue={ closed_loop = { queue_depth = 16 } }"],
        &[
            "encoder={ time_us = 6.0, placement = { per_channel = 1 } }",
            "decoder.buffer_codewords=1",
            "decoder.placement.pool=1",
        ],
        &["ftl.interleaving.ways=2"],
        &["geometry.ssds=2", "ftl.mapping.demand.cache_bytes=4096"],
        &["bus.command_us=0.3", "flash.cache_program=true"],
        &["flash.rounds={ among = \"chip\", take = \"batch\" }"],
    ];
    let device = |more: &&[&str]| {
        let mut overrides = [&SMALL[..], more].concat();
        overrides.push("precondition.layout=steady_state");
        let config = CheckedConfig::clone(&shipped("mlc-25nm.toml", &overrides));
        let requests = random_requests(&config, 600, u64::MAX, Ns(150_000));
        (config, requests)
    };
    more.iter().map(device).collect()
}

fn recorded(config: &CheckedConfig, requests: Vec<Request>, window: Window) -> (Simulation, Recording) {
    let mut simulation = simulation(config, requests);
    simulation.record(window, true);
    while simulation.advance(1_000).unwrap() {}
    let recording = simulation.take_recording().unwrap();
    (simulation, recording)
}

fn assert_no_overlap(spans: &[Recorded]) {
    let mut until: HashMap<(Resource, u32), Ns> = HashMap::new();
    for span in spans {
        let until = until.entry((span.resource, span.index)).or_default();
        assert!(span.from >= *until && span.to >= span.from, "{span:?} begins before {until:?}");
        *until = span.to;
    }
}

#[test]
fn busy_times_are_the_sums_of_spans_and_nothing_overlaps() {
    let mut actions = std::collections::HashSet::new();
    for (config, requests) in devices() {
        let count = requests.len();
        let (simulation, Recording { spans, requests, .. }) = recorded(&config, requests, WHOLE);
        assert_no_overlap(&spans);
        assert!(spans.iter().all(|span| !span.cut));
        actions.extend(spans.iter().map(|span| span.action));
        let busy = |resource, held: bool| -> f64 {
            let those = spans.iter().filter(|span| span.resource == resource);
            those.filter(|span| held || span.action != Action::Hold).map(|span| (span.to - span.from).0 as f64).sum()
        };
        let (now, found) = (simulation.now().0 as f64, simulation.utilisation());
        let geometry = config.geometry();
        assert_eq!(found.plane, busy(Resource::Plane, true) / (now * f64::from(geometry.busy_units())));
        assert_eq!(found.channel, busy(Resource::Bus, false) / (now * f64::from(geometry.channels())));
        // One without a span was idle.
        let extremes = |resource, held: bool, count: u32| {
            let mut of_each = vec![0.0; count as usize];
            let those = spans.iter().filter(|span| span.resource == resource && (held || span.action != Action::Hold));
            those.for_each(|span| of_each[span.index as usize] += (span.to - span.from).0 as f64);
            [of_each.iter().copied().fold(f64::MAX, f64::min), of_each.iter().copied().fold(0.0, f64::max)]
                .map(|busy| busy / now)
        };
        let planes = extremes(Resource::Plane, true, geometry.busy_units());
        assert_eq!([found.idlest.plane, found.busiest.plane], planes);
        let channels = extremes(Resource::Bus, false, geometry.channels());
        assert_eq!([found.idlest.channel, found.busiest.channel], channels);
        assert!(found.idlest.decoder <= found.decoder && found.decoder <= found.busiest.decoder);
        assert!(found.decoder > 0.0);
        let decoders = (busy(Resource::Decoder, true) / (now * found.decoder)).round();
        assert_eq!(found.decoder, busy(Resource::Decoder, true) / (now * decoders));
        if let Some(share) = simulation.encoder_share() {
            let encoders = (busy(Resource::Encoder, true) / (now * share)).round();
            assert_eq!(share, busy(Resource::Encoder, true) / (now * encoders));
        }
        assert_eq!(requests.len(), count);
        assert!(requests.iter().all(|(row, completed)| *completed && row.admitted >= row.arrival));
        let programs = spans.iter().filter(|span| span.action == Action::Program).count() as u64;
        let operations = simulation.statistics().operations;
        assert!(programs >= operations.programs && (programs == operations.programs || operations.suspensions > 0));
    }
    for action in [
        Action::Command,
        Action::Sense,
        Action::Hold,
        Action::Transfer,
        Action::Decode,
        Action::Load,
        Action::Program,
        Action::Erase,
        Action::Suspend,
        Action::SuspendedProgram,
        Action::Reset,
        Action::Encode,
        Action::Collect,
    ] {
        assert!(actions.contains(&action), "no device had {action:?}");
    }
}

/// Is a window of a run what a recording of all of it has there, and are results the same with and without?
#[test]
fn a_window_is_cut_out_of_the_whole() {
    for (config, requests) in devices() {
        let mut plain = simulation(&config, requests.clone());
        while plain.advance(1_000).unwrap() {}
        let log = plain.take_log();
        let (mut simulation, whole) = recorded(&config, requests.clone(), WHOLE);
        assert_eq!(simulation.take_log(), log, "looking on changes nothing");
        assert_eq!(simulation.utilisation(), plain.utilisation());
        let end = simulation.now();
        for (from, to) in [(0.0, 0.2), (0.31, 0.34), (0.5, 1.5)] {
            let window = Window { from: Ns((end.0 as f64 * from) as u64), to: Ns((end.0 as f64 * to) as u64) };
            let (mut simulation, found) = recorded(&config, requests.clone(), window);
            assert_eq!(simulation.take_log(), log, "looking on changes nothing");
            let place =
                |span: &Recorded| (span.resource, span.index, span.action, span.from, span.to, span.cut, span.request);
            let within = |span: &Recorded| {
                let (from, to) = (span.from.max(window.from), span.to.min(window.to));
                (from < to).then(|| Recorded { from, to, cut: from > span.from || to < span.to, ..*span })
            };
            let mut expected: Vec<_> = whole.spans.iter().filter_map(within).map(|span| place(&span)).collect();
            let mut spans: Vec<_> = found.spans.iter().filter(|span| span.from < span.to).map(place).collect();
            expected.sort_unstable_by_key(|span| (span.3, span.0, span.1));
            spans.sort_unstable_by_key(|span| (span.3, span.0, span.1));
            assert_eq!(spans, expected, "{window}");
            let numbers = |recording: &Recording| -> Vec<u64> {
                let in_window = recording.requests.iter().filter(|(row, _)| {
                    row.arrival + row.response >= window.from && row.admitted <= window.to.min(found.now)
                });
                in_window.map(|(row, _)| row.request).collect()
            };
            assert_eq!(numbers(&found), numbers(&whole), "{window}");
        }
        let beyond = Window { from: end + Ns(1), to: end + Ns(1_000) };
        let (_, nothing) = recorded(&config, requests, beyond);
        assert!(nothing.spans.is_empty() && nothing.requests.is_empty() && nothing.now == end);
    }
}

/// A codeword that decodes from level 3 on.
#[derive(Debug)]
struct FromThird;

impl Readings for FromThird {
    fn attempt(&self, ReadWith { level, .. }: ReadWith) -> (DecodeAttempt, u32) {
        let converged = level >= 3;
        (
            DecodeAttempt { level, converged, clean: false, iterations: 1, correct: converged, syndrome_weight: None },
            338,
        )
    }

    fn violated_of_first(&self, _: u32, _: ReadWith) -> u32 {
        unreachable!("nothing predicts")
    }

    fn inferred(&self, _: InferredBy, _: ReferencesAt) -> i8 {
        unreachable!("nothing infers")
    }
}

#[test]
fn a_request_that_meets_nobody_is_a_lone_read() {
    for policy in ["two_step", "progressive", "look_ahead_progressive"] {
        let read = format!("read.policy={policy}");
        let config = shipped("mlc-25nm.toml", &[&read, "reliability.fixed.p_fail=[1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]"]);
        let given = GivenCodeword {
            cells: CellSpec::default(),
            levels: config.config().read.max_level,
            syndrome_weights: None,
            readings: Arc::new(FromThird),
        };
        let lone = LoneRead::new(&config, 0).unwrap().timeline(given).unwrap();
        let at = Ns(5_000);
        let (_, seen) = recorded(&config, vec![request(RequestKind::Read, at, 0, 1)], WHOLE);
        let (row, completed) = seen.requests[0];
        assert!(completed && row.response == lone.latency && row.uncorrectable == 0);
        let read = seen.spans.iter().filter(|span| span.from < at + lone.latency);
        let found: Vec<_> = read
            .map(|span| {
                assert_eq!((span.owner, span.request), (Owner::HostRead, Some(0)));
                let (attempt, step) = span.step.unwrap();
                (span.resource, span.action, attempt, step.level, span.from - at, span.to - at)
            })
            .collect();
        let expected: Vec<_> = lone
            .spans
            .iter()
            .map(|span| (span.resource, span.action, span.attempt, span.level, span.from, span.to))
            .collect();
        assert_eq!(found, expected, "{policy}");
    }
}

#[test]
fn trace_events_are_sorted_named_and_nested() {
    for (config, requests) in devices() {
        let window = Window { from: Ns(20_000_000), to: Ns(22_500_000) };
        let (_, recording) = recorded(&config, requests, window);
        let mut text = Vec::new();
        trace_events::write(&recording, config.geometry(), &mut text).unwrap();
        let document: serde_json::Value = serde_json::from_slice(&text).unwrap();
        let events = document["traceEvents"].as_array().unwrap();
        let (mut named, mut last, mut open) = (Vec::new(), 0.0, HashMap::new());
        let (mut spans, mut arrows) = (0, HashMap::new());
        for event in events {
            let place = (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap());
            if event["ph"] == "M" {
                named.push((event["name"].as_str().unwrap(), place));
                continue;
            }
            let at = event["ts"].as_f64().unwrap();
            assert!((20_000.0..=22_500.0).contains(&at) && at >= last, "{event}");
            last = at;
            assert!(named.contains(&("process_name", (place.0, 0))), "{event}");
            let id = event["id"].as_u64().or_else(|| event["id2"]["local"].as_u64());
            match event["ph"].as_str().unwrap() {
                "X" => {
                    spans += 1;
                    // Perfetto puts thread 0 of all processes on one track, and drops what overlaps.
                    assert!(place.1 > 0, "{event}");
                    assert!(
                        named.contains(&("thread_name", place)) && at + event["dur"].as_f64().unwrap() < 22_500.001
                    );
                }
                "b" => open.entry(id).or_insert_with(Vec::new).push(event["name"].clone()),
                "e" => assert_eq!(open.get_mut(&id).and_then(Vec::pop).as_ref(), Some(&event["name"]), "{event}"),
                "s" => assert_eq!(arrows.insert(id, true), None),
                "t" => assert_eq!(arrows.get(&id), Some(&true)),
                "f" => assert_eq!(arrows.insert(id, false), Some(true)),
                other => panic!("found an event {other}"),
            }
        }
        assert!(open.values().all(Vec::is_empty) && arrows.values().all(|open| !open));
        assert!(!arrows.is_empty() && spans == recording.spans.iter().filter(|span| span.from < span.to).count());
    }
}

#[test]
fn windows_are_read_and_refused() {
    let read = |text: &str| text.parse::<Window>();
    assert_eq!(read("10ms..12.5ms"), Ok(Window { from: Ns(10_000_000), to: Ns(12_500_000) }));
    assert_eq!(read("0ns..1s"), Ok(Window { from: Ns(0), to: Ns(1_000_000_000) }));
    for bad in ["5ms..1ms", "1ms..1ms", "10..12", "xms..2ms", "10ms..", "..2ms", "10ms", "-1ms..2ms", "1ms..1e9s", ""] {
        let error = read(bad).unwrap_err();
        assert!(error.starts_with(&format!("found `{bad}`, expected ")), "{error}");
    }
}
