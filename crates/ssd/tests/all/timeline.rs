//! Is a lone read, span by span, what its times sum up to by hand?
//!
//! A lower page of mlc-25nm: 41 us of sensing and 14 for each extra level, 20 and 10 on the bus, 8 for a decode.

use std::sync::Arc;

use crate::support::shipped;
use softsense_base::Ns;
use softsense_link::{DecodeAttempt, GivenCodeword, Readings};
use softsense_nand::{CellSpec, InferredBy, ReadWith, ReferencesAt};
use softsense_ssd::timeline::Action::{Decode, Hold, Sense, Transfer};
use softsense_ssd::timeline::{Action, LoneRead, Timeline};

/// A codeword that decodes from a level on, with 338 wrong hard decisions.
#[derive(Debug)]
struct From(u8);

impl Readings for From {
    fn attempt(&self, ReadWith { level, .. }: ReadWith) -> (DecodeAttempt, u32) {
        let converged = level >= self.0;
        let iterations = if converged { u32::from(level).saturating_sub(2) } else { 20 };
        (DecodeAttempt { level, converged, clean: false, iterations, correct: converged, syndrome_weight: None }, 338)
    }

    fn violated_of_first(&self, _: u32, _: ReadWith) -> u32 {
        unreachable!("nothing predicts")
    }

    fn inferred(&self, _: InferredBy, _: ReferencesAt) -> i8 {
        unreachable!("nothing infers")
    }
}

fn given(levels: u8, required: u8) -> GivenCodeword {
    GivenCodeword { cells: CellSpec::default(), levels, syndrome_weights: None, readings: Arc::new(From(required)) }
}

/// The read of a codeword that decodes from level `required` on.
fn read(overrides: &[&str], required: u8) -> Timeline {
    let config = shipped("mlc-25nm.toml", overrides);
    LoneRead::new(&config, 0).unwrap().timeline(given(config.config().read.max_level, required)).unwrap()
}

/// The levels of its attempts.
fn levels(read: &Timeline) -> Vec<u8> {
    read.steps.iter().map(|step| step.level).collect()
}

/// Policy and retry, more overrides, the level that decodes, and the spans: what is done, for which level, from when to when, us.
type Case<'a> = (&'a str, &'a str, &'a [&'a str], u8, &'a [(Action, u8, u64, u64)]);

const BARE: &str = "flash.cache_register=false";
const HARD: [(Action, u8, u64, u64); 3] = [(Sense, 1, 0, 41), (Transfer, 1, 41, 61), (Decode, 1, 61, 69)];

#[test]
fn spans_are_those_summed_up_by_hand() {
    let cases: [Case; 11] = [
        ("two_step", "restart", &[], 3, &[(Sense, 7, 69, 194), (Transfer, 7, 194, 274), (Decode, 7, 274, 282)]),
        ("two_step", "incremental", &[], 3, &[(Sense, 7, 69, 153), (Transfer, 7, 153, 213), (Decode, 7, 213, 221)]),
        (
            "two_step",
            "restart",
            &[BARE],
            3,
            &[
                (Hold, 1, 41, 61),
                (Sense, 7, 69, 194),
                (Hold, 7, 194, 274),
                (Transfer, 7, 194, 274),
                (Decode, 7, 274, 282),
            ],
        ),
        ("two_step", "restart", &["read.max_level=1"], 3, &[]),
        (
            "progressive",
            "incremental",
            &[],
            3,
            &[
                (Sense, 2, 69, 83),
                (Transfer, 2, 83, 93),
                (Decode, 2, 93, 101),
                (Sense, 3, 101, 115),
                (Transfer, 3, 115, 125),
                (Decode, 3, 125, 133),
            ],
        ),
        (
            "progressive",
            "restart",
            &[BARE],
            2,
            &[
                (Hold, 1, 41, 61),
                (Sense, 2, 69, 124),
                (Hold, 2, 124, 154),
                (Transfer, 2, 124, 154),
                (Decode, 2, 154, 162),
            ],
        ),
        ("look_ahead", "restart", &[], 3, &[(Sense, 7, 41, 166), (Transfer, 7, 166, 246), (Decode, 7, 246, 254)]),
        ("look_ahead", "incremental", &[], 3, &[(Sense, 7, 41, 125), (Transfer, 7, 125, 185), (Decode, 7, 185, 193)]),
        // Success cuts sensing ahead short; what keeps the plane after it comes after the read.
        ("look_ahead", "restart", &["flash.reset_us=5"], 1, &[(Sense, 7, 41, 69)]),
        (
            "look_ahead_progressive",
            "incremental",
            &[],
            2,
            &[
                (Sense, 2, 41, 55),
                (Hold, 2, 55, 69),
                (Transfer, 2, 69, 79),
                (Decode, 2, 79, 87),
                (Sense, 3, 69, 83),
                (Hold, 3, 83, 87),
            ],
        ),
        (
            "look_ahead_progressive",
            "restart",
            &["read.max_level=2"],
            2,
            &[(Sense, 2, 41, 96), (Transfer, 2, 96, 126), (Decode, 2, 126, 134)],
        ),
    ];
    for (policy, retry, more, required, further) in cases {
        let (policy_set, retry_set) = (format!("read.policy={policy}"), format!("read.retry={retry}"));
        let overrides = [&[policy_set.as_str(), retry_set.as_str()], more].concat();
        let found = read(&overrides, required);
        let mut expected = [&HARD, further].concat();
        let place = |each: &(Action, u8, u64, u64)| (each.2, each.3, each.1, format!("{:?}", each.0));
        expected.sort_by_key(place);
        let mut spans: Vec<(Action, u8, u64, u64)> =
            found.spans.iter().map(|span| (span.action, span.level, span.from.0 / 1000, span.to.0 / 1000)).collect();
        spans.sort_by_key(place);
        assert_eq!(spans, expected, "{policy}, {retry}, {more:?}");
        let transfers = expected.iter().filter(|each| each.0 == Transfer);
        let mut tried: Vec<u8> = transfers.map(|each| each.1).collect();
        tried.sort_unstable();
        assert_eq!(levels(&found), tried, "{policy}, {retry}");
        assert_eq!(found.latency.0 / 1000, expected.iter().map(|each| each.3).max().unwrap());
        assert_eq!(found.decoded, tried.last() >= Some(&required), "{policy}, {retry}");
        for span in &found.spans {
            assert_eq!(span.wasted, !tried.contains(&span.level), "{policy}, {retry}: {span:?}");
        }
    }
}

#[test]
fn ideal_is_told_the_level() {
    let found = read(&["read.policy=ideal"], 3);
    assert_eq!((levels(&found), found.decoded, found.latency), (vec![3], true, Ns(1000 * (41 + 28 + 20 + 20 + 8))));
    let none = read(&["read.policy=ideal", "read.max_level=2"], 3);
    assert_eq!((levels(&none), none.decoded, none.latency), (vec![2], false, Ns(1000 * (41 + 14 + 20 + 10 + 8))));
}

/// 20 iterations that fail, then one: that of level 3. A word that needs none takes one.
#[test]
fn iterations_are_those_of_the_codeword() {
    let overrides = ["read.policy=progressive", "read.retry=incremental", "decoder.time.per_iteration_us=1.7"];
    let decodes = |required| {
        let decodes = read(&overrides, required).spans.into_iter().filter(|span| span.action == Decode);
        decodes.map(|span| (span.to - span.from).0).collect::<Vec<_>>()
    };
    assert_eq!(decodes(3), [34_000, 34_000, 1700]);
    assert_eq!(decodes(2), [34_000, 1700]);
}

#[test]
fn few_errors_need_no_decoder() {
    let bypass = |errors| format!("decoder.bypass={{ errors = {errors}, codeword_bits = 36864 }}");
    for (errors, latency_us) in [(338, 61), (337, 69 + 213)] {
        let found = read(&[&bypass(errors), "read.policy=two_step", "read.retry=restart"], 3);
        assert_eq!((found.latency, found.decoded), (Ns(1000 * latency_us), true));
    }
}

/// What else a device may be does not matter: its SSDs, its map, its data and ages.
#[test]
fn the_device_does_nothing_else() {
    let expected = read(&["read.policy=look_ahead"], 2);
    for more in [
        "geometry.ssds=2",
        "flash.busy_unit=die",
        "ftl.mapping.demand.cache_bytes=65536",
        "precondition.layout=steady_state",
        "precondition.mapped_fraction=0.0",
        "host.issue={ closed_loop = { queue_depth = 3 } }",
        "reliability.fixed.p_fail=[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]",
        "decoder.placement.pool=3",
    ] {
        let found = read(&["read.policy=look_ahead", more], 2);
        assert_eq!((found.steps, found.spans), (expected.steps.clone(), expected.spans.clone()), "{more}");
    }
}

#[test]
fn what_is_no_codeword_of_one_page_is_refused() {
    let refused = |name: &str, overrides: &[&str], page_type| {
        LoneRead::new(&shipped(name, overrides), page_type).unwrap_err().to_string()
    };
    assert!(refused("mlc-lae.toml", &[], 0).starts_with("reliability.bch: found codes that change with age"));
    assert!(refused("mlc-25nm.toml", &["ftl.interleaving.ways=2"], 0).starts_with("ftl.interleaving.ways: found 2"));
    assert_eq!(refused("mlc-25nm.toml", &[], 2), "page_type: found 2, expected 0 to 1");
    // What the device's own cells know, those of the codeword may not.
    let table =
        LoneRead::new(&shipped("tlc-femu.toml", &[]), 0).unwrap().timeline(given(7, 1)).unwrap_err().to_string();
    assert!(
        table.starts_with("read.references: found `retry_table` with cells that have no retry table, expected cells"),
        "{table}"
    );
}
