//! Ranges that the schema states: is every one of them kept, and which numbers have none?

use std::collections::BTreeSet;
use std::path::PathBuf;

use softsense_config::checked::CheckedConfig;
use softsense_config::spec::{Config, schema};

use serde_json::{Map, Value, json};

/// Numbers whose schema has no upper end, by the ends of their paths.
const WITHOUT_RANGE: [&str; 42] = [
    // Any number will do.
    "seed",
    "trace.skip_header",
    "host.read_buffer.largest_request_bytes",
    "workload.written_bytes",
    "ftl.mapping.demand.lower_after_reads",
    "scheduling.intensity.read_bytes",
    "scheduling.intensity.write_bytes",
    "pe_cycles",
    "workload.requests",
    "warmup.requests",
    "namespace.bytes",
    "read_reclaim.block.reads",
    "rber.grid.pe_cycles[0]",
    // What stands beside them in the config bounds them, or the device does.
    "decoder.bypass.errors",
    "flash.bad_blocks.spare_blocks_per_plane",
    "flash.die_failures[0].die",
    "flash.rounds.among.channels",
    "ftl.gc_high_watermark_blocks",
    "ftl.gc_reserve_blocks",
    "ftl.interleaving.ways",
    "ftl.mapping.demand.cache_bytes",
    "eviction.lowest_level.fixed_entries",
    "eviction.segmented_lru.protected_entries",
    "refresh_above.corrected_errors.errors",
    "ftl.slc_cache.size.dynamic.least_blocks",
    "host.read_ahead.least_pages",
    "host.read_ahead.most_pages",
    "host.read_buffer.bytes",
    "host.write_buffer_bytes",
    "host.tenants[0].weight",
    "workload.footprint_bytes",
    "precondition.free_blocks",
    "to_pe_cycles",
    "reliability.adaptive.rates[0].units",
    "reliability.bch.codes[0].correctable",
    "threshold_voltage.pseudo_slc_state",
    "references.inference.boundary",
    "references.inference.differences[0]",
    "references.inference.follow[0][0]",
    "threshold_voltage.verify_v[0]",
    // Zero, or a range above it.
    "states[0].requests_per_s",
    "variation.overdispersion",
];

fn resolved<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    match schema["$ref"].as_str() {
        Some(reference) => resolved(root, root.pointer(&reference[1..]).unwrap()),
        None => schema,
    }
}

fn alternatives(schema: &Value) -> Vec<&Value> {
    ["oneOf", "anyOf"].into_iter().filter_map(|key| schema[key].as_array()).flatten().collect()
}

fn is_of(schema: &Value, kind: &str) -> bool {
    schema["type"].as_array().map_or(schema["type"] == kind, |kinds| kinds.iter().any(|of| of == kind))
}

/// A value of the form that a schema describes, with no more fields than it requires.
fn example(root: &Value, schema: &Value) -> Value {
    let schema = resolved(root, schema);
    if let Some(first) = alternatives(schema).first() {
        return example(root, first);
    }
    if let Some(only) = schema.get("const").or_else(|| schema["enum"].get(0)).or_else(|| schema.get("default")) {
        return only.clone();
    }
    if is_of(schema, "object") {
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        return required.map(|name| (name.to_owned(), example(root, &schema["properties"][name]))).collect();
    }
    if is_of(schema, "array") {
        let least = schema["minItems"].as_u64().unwrap_or(0);
        return (0..least).map(|_| example(root, &schema["items"])).collect();
    }
    if is_of(schema, "integer") {
        return json!(schema["minimum"].as_u64().unwrap_or(0).max(1));
    }
    if is_of(schema, "number") {
        return json!(schema["minimum"].as_f64().unwrap_or(0.5));
    }
    if is_of(schema, "boolean") { json!(false) } else { json!("x") }
}

/// A visitor of numbers. It gets the path of a number, its schema, and a function that makes a config with a given value there.
type Visit<'a, 'v> = dyn FnMut(&str, &'a Value, &dyn Fn(Value) -> Value) + 'v;

/// Visits all numbers that a config may have, in every choice.
fn each_number<'a>(
    root: &'a Value,
    schema: &'a Value,
    path: &str,
    config: &dyn Fn(Value) -> Value,
    visit: &mut Visit<'a, '_>,
) {
    let schema = resolved(root, schema);
    for alternative in alternatives(schema) {
        each_number(root, alternative, path, config, visit);
    }
    if is_of(schema, "number") || is_of(schema, "integer") {
        visit(path, schema, config);
    }
    if schema["items"].is_object() {
        let count = schema["minItems"].as_u64().unwrap_or(1).max(1);
        let list = |value: Value| {
            config((0..count).map(|at| if at == 0 { value.clone() } else { example(root, &schema["items"]) }).collect())
        };
        each_number(root, &schema["items"], &format!("{path}[0]"), &list, visit);
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let table = |value: Value| {
            let Value::Object(mut fields) = example(root, &Value::Object(without_default(schema))) else {
                unreachable!()
            };
            fields.insert(name.clone(), value);
            config(fields.into())
        };
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        each_number(root, field, &path, &table, visit);
    }
}

fn without_default(schema: &Value) -> Map<String, Value> {
    schema.as_object().unwrap().clone().into_iter().filter(|(key, _)| key != "default").collect()
}

/// The nearest values that are just outside the range of a number.
fn just_outside(schema: &Value) -> Vec<Value> {
    let bound = |name: &str| schema[name].as_f64();
    if is_of(schema, "integer") {
        let below = schema["minimum"].as_u64().filter(|&least| least > 0).map(|least| json!(least - 1));
        // The next number above the range may not fit the type, which then is the range.
        let above = schema["maximum"].as_u64().and_then(|most| most.checked_add(1)).map(|above| json!(above));
        return below.into_iter().chain(above).collect();
    }
    let [below, above] = [bound("minimum").map(f64::next_down), bound("maximum").map(f64::next_up)];
    let ends = [below, above, bound("exclusiveMinimum"), bound("exclusiveMaximum")];
    ends.into_iter().flatten().map(|number| json!(number)).collect()
}

/// Is a number refused, by its path and with its range, that is just outside the range which the schema states?
#[test]
fn every_range_of_the_schema_is_kept() {
    let root: Value = serde_json::from_str(&schema()).unwrap();
    let (mut tried, mut without) = (0, BTreeSet::new());
    let mut too_large = Vec::new();
    each_number(&root, &root, "", &|value| value, &mut |path, schema, config| {
        let has = |name: &str| schema.get(name).is_some();
        if !(has("maximum") || has("exclusiveMaximum") || has("enum")) {
            without.insert(path.to_owned());
        }
        for outside in just_outside(schema) {
            let config = config(outside.clone());
            let parsed: Config = match serde_json::from_value(config.clone()) {
                Ok(parsed) => parsed,
                // It is outside its type, too.
                Err(error) if error.to_string().contains("invalid value: integer") => {
                    too_large.push(path.to_owned());
                    continue;
                }
                Err(error) => panic!("{path}: {error} in {config}"),
            };
            let error =
                CheckedConfig::new(parsed, PathBuf::new()).expect_err(&format!("{path} = {outside} is outside"));
            let told = error.faults().find(|fault| fault.place() == path);
            let told = told.unwrap_or_else(|| panic!("{path} = {outside} is told: {error}"));
            assert!(told.message().starts_with(&format!("found {}", outside.as_f64().unwrap())), "{told}");
            assert!(told.message().contains(", expected "), "{told}");
            tried += 1;
        }
    });
    assert!(tried > 1_000, "{tried} ends of ranges");
    println!("{tried} ends of ranges, {} outside their types: {too_large:?}", too_large.len());
    let known = |path: &str| WITHOUT_RANGE.iter().any(|end| path.ends_with(end));
    let unknown: Vec<_> = without.iter().filter(|path| !known(path)).collect();
    assert!(unknown.is_empty(), "numbers without a range: {unknown:?}");
    let idle: Vec<_> = WITHOUT_RANGE.iter().filter(|end| !without.iter().any(|path| path.ends_with(*end))).collect();
    assert!(idle.is_empty(), "numbers that have a range: {idle:?}");
}
