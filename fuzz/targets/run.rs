//! A config made from a shipped one by changing a few fields, whichever the schema has: does the run end with all requests
//! served and every unit where the map says, twice in the same way, or is the config refused?
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use serde_json::Value as Schema;
use softsense_config::checked::CheckedConfig;
use softsense_config::spec::{self, MeasurementSpec, Warmup};
use softsense_link::ReliabilitySpec;
use softsense_ssd::run::{Requests, Run};
use softsense_ssd::simulation::Simulation;
use softsense_ssd::summary::MachineSummary;
use toml::Value;

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| serde_json::from_str(&spec::schema()).unwrap());

/// Shipped configs with a device and a workload small enough for thousands of runs a minute.
static BASES: LazyLock<Vec<Value>> = LazyLock::new(|| {
    const SMALL: [&str; 9] = [
        "geometry.channels=2",
        "geometry.chips_per_channel=2",
        "geometry.dies_per_chip=1",
        "geometry.planes_per_die=1",
        "geometry.blocks_per_plane=32",
        "geometry.pages_per_block=8",
        "ftl.over_provisioning=0.55",
        "workload.requests=200",
        "workload.footprint_bytes=524288",
    ];
    // The cheapest table more often than others: opening a config is most of a small run.
    const QUICK: &str = "reliability.table.file=laldpc-thresholds";
    let base = |name: &str, more: &[&str]| {
        let overrides: Vec<String> = SMALL.iter().chain(more).map(ToString::to_string).collect();
        let config = CheckedConfig::open(name, &overrides).unwrap();
        toml::from_str(&config.to_toml()).unwrap()
    };
    let quick = base("mlc-25nm", &[QUICK]);
    let mut bases = vec![quick; 8];
    bases.extend(
        [
            ("mlc-25nm", &[][..]),
            ("mlc-laldpc", &[]),
            ("tlc-femu", &[QUICK, "read.soft_references=cells"]),
            ("mlc-lae", &[]),
        ]
        .map(|(name, more)| base(name, more)),
    );
    bases
});

/// Names that fields may have, right and wrong ones.
const NAMES: [&str; 12] = [
    "flash-8-9",
    "flash-8-9-nested",
    "laldpc-thresholds",
    "adaptive-5-6",
    "bch-4KB-t105",
    "mlc",
    "tlc-2-3-2",
    "teaching-1/2",
    "flash-8/9",
    "min-sum",
    "lower",
    "",
];
const MOST_REQUESTS: i64 = 300;
const MOST_SECONDS: f64 = 0.01;
const MOST_UNITS: u64 = 1 << 15;
const MOST_REQUEST_BYTES: i64 = 1 << 18;

fuzz_target!(|data: &[u8]| {
    let mut choices = Unstructured::new(data);
    let Ok(Some(text)) = changed(&mut choices) else { return };
    let Ok(config) = CheckedConfig::from_toml(&text, "fuzzed.toml", &[]) else { return };
    if !small(&config) {
        return;
    }
    let first = served(&config, &text);
    if choices.ratio(1, 8).unwrap_or(false) {
        assert_eq!(first, served(&config, &text), "the same config gives the same numbers\n{text}");
    }
});

/// A config with some fields changed; none where nothing is to be run.
fn changed(choices: &mut Unstructured) -> Result<Option<String>> {
    let mut config = choices.choose(&BASES)?.clone();
    for _ in 0..choices.int_in_range(1..=6)? {
        change(choices, &SCHEMA, &mut config)?;
    }
    // Sizes are for speed alone: what a large device does wrong a small one does.
    let table = config.as_table_mut().expect("a config is a table");
    if let Some(measurement) = table.get_mut("measurement").and_then(Value::as_table_mut) {
        shorten(measurement, "seconds");
        match measurement.get_mut("warmup") {
            Some(Value::Table(warmup)) => {
                shorten(warmup, "seconds");
                shorten(warmup, "requests");
            }
            // A drive may never be steady.
            Some(warmup) if warmup.as_str() == Some("until_steady") => *warmup = "none".into(),
            _ => {}
        }
    }
    if let Some(workload) = table.get_mut("workload").and_then(Value::as_table_mut) {
        let requests = workload.get("requests").and_then(Value::as_integer).unwrap_or(1);
        workload.insert("requests".into(), requests.min(MOST_REQUESTS).into());
        for size in workload.get("sizes").and_then(Value::as_array).into_iter().flatten() {
            if size.get("bytes").and_then(Value::as_integer).is_some_and(|bytes| bytes > MOST_REQUEST_BYTES) {
                return Ok(None);
            }
        }
    }
    Ok(toml::to_string(&config).ok())
}

/// Keeps a time or a number of requests small.
fn shorten(table: &mut toml::Table, name: &str) {
    match table.get_mut(name) {
        Some(Value::Integer(requests)) => *requests = MOST_REQUESTS.min(*requests),
        Some(Value::Float(seconds)) => *seconds = MOST_SECONDS.min(*seconds),
        _ => {}
    }
}

/// Changes one field somewhere below `at`.
fn change(choices: &mut Unstructured, schema: &Schema, at: &mut Value) -> Result<()> {
    let schema = resolved(schema);
    if let (Some(properties), Some(table)) = (schema["properties"].as_object(), at.as_table_mut())
        && !choices.ratio(1, 8)?
    {
        let (name, schema) = *choices.choose(&properties.iter().collect::<Vec<_>>())?;
        return match table.get_mut(name) {
            Some(value) => change(choices, schema, value),
            None => {
                if let Some(value) = value(choices, schema, None, 0)? {
                    table.insert(name.clone(), value);
                }
                Ok(())
            }
        };
    }
    // One of several forms, each an object of one property: stay in this form, or take another one.
    if let (Some(forms), Some(table)) = (schema["oneOf"].as_array(), at.as_table_mut())
        && !choices.ratio(1, 4)?
    {
        let mut forms = forms.iter().filter_map(|form| form["properties"].as_object());
        if let Some(properties) = forms.find(|properties| properties.keys().any(|name| table.contains_key(name))) {
            let (name, schema) = properties.iter().next().expect("a form has a name");
            if let Some(value) = table.get_mut(name) {
                return change(choices, schema, value);
            }
        }
    }
    if let (Some(items), Some(array)) = (schema.get("items"), at.as_array_mut())
        && !array.is_empty()
        && choices.ratio(1, 2)?
    {
        let index = choices.choose_index(array.len())?;
        return change(choices, items, &mut array[index]);
    }
    if let Some(value) = value(choices, schema, Some(at), 0)? {
        *at = value;
    }
    Ok(())
}

/// A value as the schema has it, near `current` where it is a number; none for null.
fn value(choices: &mut Unstructured, schema: &Schema, current: Option<&Value>, depth: u32) -> Result<Option<Value>> {
    let schema = resolved(schema);
    for forms in ["oneOf", "anyOf"] {
        if let Some(forms) = schema[forms].as_array() {
            let form = choices.choose(forms)?;
            return value(choices, form, None, depth);
        }
    }
    if let Some(text) = schema["const"].as_str() {
        return Ok(Some(text.into()));
    }
    if let Some(names) = schema["enum"].as_array() {
        return Ok(choices.choose(names)?.as_str().map(Value::from));
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Schema::Array(kinds) => kinds.iter().filter_map(Schema::as_str).collect(),
        kind => kind.as_str().into_iter().collect(),
    };
    if kinds.is_empty() {
        return Ok(None);
    }
    Ok(match *choices.choose(&kinds)? {
        "boolean" => Some(choices.arbitrary::<bool>()?.into()),
        "integer" => Some(integer(choices, current.and_then(Value::as_integer))?.into()),
        "number" => Some(number(choices, current.and_then(Value::as_float))?.into()),
        "string" => Some((*choices.choose(&NAMES)?).into()),
        "array" if depth < 4 => {
            let least = schema["minItems"].as_u64().unwrap_or(0);
            let most = schema["maxItems"].as_u64().unwrap_or(4).max(least);
            let mut values = Vec::new();
            for _ in 0..choices.int_in_range(least..=most)? {
                values.extend(value(choices, &schema["items"], None, depth + 1)?);
            }
            Some(values.into())
        }
        "object" if depth < 4 => {
            let mut table = toml::Table::new();
            let required: Vec<&str> =
                schema["required"].as_array().into_iter().flatten().filter_map(Schema::as_str).collect();
            for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
                if (required.contains(&name.as_str()) || choices.ratio(1, 3)?)
                    && let Some(value) = value(choices, schema, None, depth + 1)?
                {
                    table.insert(name.clone(), value);
                }
            }
            Some(table.into())
        }
        _ => None,
    })
}

fn integer(choices: &mut Unstructured, current: Option<i64>) -> Result<i64> {
    let current = current.unwrap_or(4);
    Ok(match choices.int_in_range(0..=9)? {
        0 => current.saturating_mul(2),
        1 => current / 2,
        2 => current.saturating_add(1),
        3 => current.saturating_sub(1),
        4..=7 => *choices.choose(&[0, 1, 2, 3, 4, 8, 16, 100, 512, 4096, 65_536])?,
        8 => choices.int_in_range(-2..=40)?,
        _ => *choices.choose(&[i64::from(i32::MAX), i64::from(u32::MAX), 1 << 40, i64::MAX, i64::MIN])?,
    })
}

fn number(choices: &mut Unstructured, current: Option<f64>) -> Result<f64> {
    let current = current.unwrap_or(1.0);
    Ok(match choices.int_in_range(0..=9)? {
        0..=2 => current * *choices.choose(&[0.5, 0.9, 1.1, 2.0, 10.0, 0.1])?,
        3..=5 => *choices.choose(&[0.0, 1.0, 0.5, 0.1, 0.01, 1e-3, 2.0, 20.0])?,
        6..=8 => f64::from(choices.int_in_range(0..=1000u32)?) / 1000.0,
        _ => *choices.choose(&[
            f64::NAN,
            f64::INFINITY,
            -1.0,
            -0.0,
            1e-300,
            1e-9,
            1e9,
            1e18,
            1e300,
            f64::MIN_POSITIVE,
        ])?,
    })
}

fn resolved(schema: &Schema) -> &Schema {
    match schema["$ref"].as_str() {
        Some(place) => resolved(SCHEMA.pointer(place.trim_start_matches('#')).expect("a reference leads somewhere")),
        None => schema,
    }
}

fn small(config: &CheckedConfig) -> bool {
    let exact = match &config.config().reliability {
        ReliabilitySpec::Exact(exact) => {
            exact.max_iterations <= 20 && config.workload().is_ok_and(|w| w.requests <= 20)
        }
        _ => true,
    };
    exact && config.geometry().codewords() <= MOST_UNITS
}

/// The summary of a run; or why it ended.
fn served(config: &CheckedConfig, text: &str) -> String {
    let Ok(workload) = config.workload() else { return String::new() };
    let Ok(source) = workload.source(config.config().seed, config.user_bytes()) else { return String::new() };
    let mut simulation = match Simulation::new(config, Box::new(source), true) {
        Ok(simulation) => simulation,
        Err(error) => return error.to_string(),
    };
    loop {
        match simulation.advance(1_000) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => return error.to_string(),
        }
    }
    simulation.ftl().assert_consistent();
    let (completed, asked) = (simulation.statistics().completed(), workload.requests);
    let MeasurementSpec { warmup, seconds } = config.config().measurement.unwrap_or_default();
    // Those that were under way when a warm-up ended complete in what is measured.
    let is_served = if warmup == Warmup::None { completed == asked } else { completed >= asked };
    assert!(is_served || seconds.is_some(), "{completed} requests completed of {asked}\n{text}");
    let mut run = Run::new(config, Requests::Workload, false).expect("it has just been set up");
    loop {
        match run.advance(1_000) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => return error.to_string(),
        }
    }
    let mut summary = run.summary(false);
    // What is of the machine.
    summary.machine = MachineSummary::default();
    serde_json::to_string(&summary).expect("a summary is plain data")
}
