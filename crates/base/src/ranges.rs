//! Numbers in the ranges that a JSON schema states for them: a field says its range once, where it is declared.

use std::any::TypeId;
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::{LazyLock, Mutex, PoisonError};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{Error, Faults, Result};

/// Units in names of fields, and the most that a number in such a unit may be where its field states no range. The least is 0.
/// - 1000 s, so that sums of times stay far from overflowing.
/// - 10 mJ, so that 10^9 operations add up in 64 bits of picojoules.
const USUAL_RANGES: [(&str, f64); 2] = [("_us", 1e9), ("_uj", 1e4)];

/// Returns the JSON schema of a type. Where a field with a unit in its name states no range, the schema has the usual range of the unit.
pub fn schema_of<T: JsonSchema + 'static>() -> &'static Value {
    static SCHEMAS: LazyLock<Mutex<HashMap<TypeId, &'static Value>>> = LazyLock::new(Mutex::default);
    let mut schemas = SCHEMAS.lock().unwrap_or_else(PoisonError::into_inner);
    schemas.entry(TypeId::of::<T>()).or_insert_with(|| {
        let mut schema = serde_json::to_value(schemars::schema_for!(T)).expect("a schema is plain data");
        state_usual_ranges(&mut schema);
        Box::leak(Box::new(schema))
    })
}

fn state_usual_ranges(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(state_usual_ranges),
        Value::Object(fields) => {
            for (name, field) in fields.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
                let usual = USUAL_RANGES.iter().find(|(unit, _)| name.ends_with(unit));
                if let (Some((_, most)), true) = (usual, is_of(field, "number"))
                    && let Some(field) = field.as_object_mut()
                    && !["minimum", "maximum"].iter().any(|end| field.contains_key(*end))
                {
                    field.extend([("minimum".to_owned(), 0.0.into()), ("maximum".to_owned(), (*most).into())]);
                }
            }
            fields.values_mut().for_each(state_usual_ranges);
        }
        _ => {}
    }
}

/// Checks every number of a value against the range that [`schema_of`] its type states.
///
/// # Arguments
/// - `path`: config path of the value; empty for a whole config.
///
/// # Errors
/// Every number outside its range, with its config path. Numbers that are not finite are outside every range.
pub fn check_ranges<T: JsonSchema + Serialize + 'static>(path: &str, value: &T) -> Result<()> {
    check_against(schema_of::<T>(), path, &serde_json::to_value(value).expect("a value with a schema is plain data"))
}

fn check_against(schema: &Value, path: &str, value: &Value) -> Result<()> {
    let mut walk = Walk { root: schema, path: path.to_owned(), faults: Faults::default() };
    walk.see(schema, value);
    walk.faults.end()
}

struct Walk<'a> {
    root: &'a Value,
    /// The path of the value that is looked at.
    path: String,
    faults: Faults,
}

impl Walk<'_> {
    fn see(&mut self, schema: &Value, value: &Value) {
        if let Some(inner) = referred(self.root, schema) {
            self.see(inner, value);
        }
        if let Some(inner) = alternatives(schema).find(|inner| fits(self.root, inner, value)) {
            self.see(inner, value);
        }
        match value {
            Value::Number(number) => self.compare(schema, number.as_f64()),
            Value::Null if is_of(schema, "number") && !is_of(schema, "null") => self.compare(schema, None),
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.step(format_args!("[{index}]"), &schema["items"], item);
                }
            }
            Value::Object(fields) => {
                let dot = if self.path.is_empty() { "" } else { "." };
                for (name, field) in fields {
                    let known = schema["properties"].get(name).unwrap_or(&schema["additionalProperties"]);
                    self.step(format_args!("{dot}{name}"), known, field);
                }
            }
            _ => {}
        }
    }

    /// Looks at a value within the one that is looked at.
    fn step(&mut self, name: std::fmt::Arguments<'_>, schema: &Value, value: &Value) {
        let length = self.path.len();
        self.path.write_fmt(name).expect("a text can always be written to");
        self.see(schema, value);
        self.path.truncate(length);
    }

    fn compare(&mut self, schema: &Value, number: Option<f64>) {
        let bound = |name: &str| schema[name].as_f64();
        let within = |number: f64| {
            bound("minimum").is_none_or(|least| number >= least)
                && bound("exclusiveMinimum").is_none_or(|least| number > least)
                && bound("maximum").is_none_or(|most| number <= most)
                && bound("exclusiveMaximum").is_none_or(|most| number < most)
                && bound("multipleOf").is_none_or(|unit| number % unit == 0.0)
                && schema["enum"].as_array().is_none_or(|of| of.iter().any(|one| one.as_f64() == Some(number)))
        };
        if !number.is_some_and(within) {
            let found = number.map_or_else(|| "a number that is not finite".to_owned(), |number| number.to_string());
            self.faults.add(Error::config(&self.path, format!("found {found}, expected {}", wording(schema))));
        }
    }
}

/// A range in words, such as `a whole number from 1 to 64`.
fn wording(schema: &Value) -> String {
    if let Some([others @ .., last]) = schema["enum"].as_array().map(Vec::as_slice) {
        let others: Vec<String> = others.iter().map(Value::to_string).collect();
        return format!("{} or {last}", others.join(", "));
    }
    let kind = match schema["multipleOf"].as_u64() {
        Some(unit) => format!("a multiple of {unit}"),
        None if is_of(schema, "integer") => "a whole number".to_owned(),
        None => "a number".to_owned(),
    };
    let bound = |name: &str| schema[name].as_f64();
    let (least, above) = (bound("minimum"), bound("exclusiveMinimum"));
    let high = (bound("maximum"), bound("exclusiveMaximum"));
    if let (Some(least), (None, None)) = (least, high) {
        return format!("at least {least}");
    }
    let low = match (least, above) {
        (_, Some(above)) => format!(" above {above}"),
        (Some(least), _) => format!(" from {least}"),
        (None, None) => String::new(),
    };
    let high = match high {
        (_, Some(below)) if above.is_some() => format!(" and below {below}"),
        (_, Some(below)) => format!(" to below {below}"),
        (Some(most), _) if above.is_some() => format!(" and up to {most}"),
        (Some(most), _) => format!(" to {most}"),
        (None, None) => String::new(),
    };
    format!("{kind}{low}{high}")
}

fn is_of(schema: &Value, kind: &str) -> bool {
    match &schema["type"] {
        Value::Array(kinds) => kinds.iter().any(|of| of == kind),
        of => of == kind,
    }
}

/// The schema that a schema refers to.
fn referred<'a>(root: &'a Value, schema: &Value) -> Option<&'a Value> {
    root.pointer(schema["$ref"].as_str()?.strip_prefix('#')?)
}

fn alternatives(schema: &Value) -> impl Iterator<Item = &Value> {
    ["oneOf", "anyOf"].into_iter().filter_map(|key| schema[key].as_array()).flatten()
}

/// Tells whether a value has the form that a schema describes. Ranges do not count.
fn fits(root: &Value, schema: &Value, value: &Value) -> bool {
    if let Some(inner) = referred(root, schema) {
        return fits(root, inner, value);
    }
    if alternatives(schema).next().is_some() {
        return alternatives(schema).any(|inner| fits(root, inner, value));
    }
    if let Some(only) = schema.get("const") {
        return only == value;
    }
    if let Some(choices) = schema["enum"].as_array() {
        return choices.contains(value);
    }
    match value {
        Value::Object(fields) => is_of(schema, "object") && has_form(schema, fields),
        Value::Array(_) => is_of(schema, "array"),
        Value::String(_) => is_of(schema, "string"),
        Value::Number(_) => is_of(schema, "number") || is_of(schema, "integer"),
        Value::Bool(_) => is_of(schema, "boolean"),
        Value::Null => is_of(schema, "null"),
    }
}

/// Tells whether a table has all fields that a schema requires, and no others than it knows.
fn has_form(schema: &Value, fields: &Map<String, Value>) -> bool {
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let is_closed = schema["additionalProperties"] == false;
    required.into_iter().all(|name| fields.contains_key(name))
        && (!is_closed || fields.keys().all(|name| schema["properties"].get(name).is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(schema: &str, value: &str) -> Vec<String> {
        let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        match check_against(&parsed(schema), "", &parsed(value)) {
            Ok(()) => Vec::new(),
            Err(error) => error.faults().map(ToString::to_string).collect(),
        }
    }

    /// Are ends of ranges inside where they are inclusive, and outside where they are exclusive?
    #[test]
    fn ends_are_inside_unless_they_are_exclusive() {
        let inclusive = r#"{ "properties": { "a": { "type": "integer", "minimum": 1, "maximum": 3 } } }"#;
        for (value, outside) in [(0, true), (1, false), (3, false), (4, true)] {
            let expected =
                if outside { vec![format!("a: found {value}, expected a whole number from 1 to 3")] } else { vec![] };
            assert_eq!(faults(inclusive, &format!(r#"{{ "a": {value} }}"#)), expected);
        }
        let exclusive =
            r#"{ "properties": { "a": { "type": "number", "exclusiveMinimum": 0.0, "exclusiveMaximum": 1.0 } } }"#;
        assert_eq!(faults(exclusive, r#"{ "a": 1.0 }"#), ["a: found 1, expected a number above 0 and below 1"]);
        assert_eq!(faults(exclusive, r#"{ "a": 0.5 }"#), [""; 0]);
        assert_eq!(faults(exclusive, r#"{ "a": null }"#).len(), 1);
    }

    /// Is a number that only its type bounds above told as such?
    #[test]
    fn a_range_without_an_upper_end_is_told() {
        let schema = r#"{ "properties": { "requests": { "type": "integer", "minimum": 1 } } }"#;
        assert_eq!(faults(schema, r#"{ "requests": 0 }"#), ["requests: found 0, expected at least 1"]);
        assert_eq!(faults(schema, r#"{ "requests": 18446744073709551615 }"#), [""; 0]);
    }

    /// Are choices among numbers and multiples of a unit told as such?
    #[test]
    fn choices_and_multiples_are_told() {
        let schema = r#"{ "properties": { "lanes": { "type": "integer", "enum": [1, 2, 4] },
            "bytes": { "type": "integer", "minimum": 512, "maximum": 2048, "multipleOf": 512 } } }"#;
        assert_eq!(faults(schema, r#"{ "lanes": 4, "bytes": 1024 }"#), [""; 0]);
        assert_eq!(faults(schema, r#"{ "lanes": 3 }"#), ["lanes: found 3, expected 1, 2 or 4"]);
        assert_eq!(
            faults(schema, r#"{ "bytes": 700 }"#),
            ["bytes: found 700, expected a multiple of 512 from 512 to 2048"]
        );
    }

    /// Has a time without a range of its own the usual one, and keeps another time what it states?
    #[test]
    fn units_have_usual_ranges() {
        #[derive(serde::Serialize, JsonSchema)]
        struct Times {
            usual_us: Option<f64>,
            #[schemars(range(min = 1.0, max = 2.0))]
            stated_us: f64,
            no_unit: f64,
        }
        let faults = |usual_us, stated_us, no_unit| match check_ranges("at", &Times { usual_us, stated_us, no_unit }) {
            Ok(()) => 0,
            Err(error) => error.faults().count(),
        };
        assert_eq!(faults(Some(1e9), 2.0, -1e300), 0);
        assert_eq!(faults(None, 1.0, 0.0), 0);
        assert_eq!(faults(Some(-1.0), 2.5, 0.0), 2);
        assert_eq!(faults(Some(1.0001e9), f64::NAN, f64::NAN), 3);
    }

    /// Are numbers found through references, lists, maps, optional parts, and in that choice alone which was made?
    #[test]
    fn numbers_are_found_wherever_they_are() {
        let schema = r##"{
            "properties": {
                "list": { "type": "array", "items": { "$ref": "#/$defs/Part" } },
                "map": { "type": "object", "additionalProperties": { "type": "integer", "minimum": 1 } },
                "optional": { "anyOf": [{ "$ref": "#/$defs/Part" }, { "type": "null" }] },
                "choice": { "oneOf": [
                    { "type": "string", "const": "none" },
                    { "type": "object", "required": ["few"], "properties": { "few": { "type": "integer", "maximum": 2 } } },
                    { "type": "object", "required": ["many"], "properties": { "many": { "type": "integer", "maximum": 9 } } }
                ] }
            },
            "$defs": { "Part": { "type": "object", "properties": { "share": { "type": "number", "maximum": 1.0 } } } }
        }"##;
        let value = r#"{ "list": [{ "share": 1.0 }, { "share": 2.0 }], "map": { "x": 0, "y": 1 }, "optional": { "share": 3.0 },
            "choice": { "many": 7 } }"#;
        let places: Vec<String> =
            faults(schema, value).iter().map(|fault| fault.split(':').next().unwrap().to_owned()).collect();
        assert_eq!(places, ["list[1].share", "map.x", "optional.share"]);
        assert_eq!(faults(schema, r#"{ "choice": { "few": 3 }, "optional": null }"#).len(), 1);
        assert_eq!(faults(schema, r#"{ "choice": "none" }"#), [""; 0]);
    }
}
