//! The language of `--set`. `PATH=VALUE` replaces a value of a config, `PATH[INDEX]=VALUE` an element of a list, and
//! `PATH[INDEX].FIELD=VALUE` a field of an element. `PATH=none` takes out a field that may be absent.

use std::ops::Range;
use std::sync::LazyLock;

use softsense_base::{Error, MOST_DEPTH, Result, check_numbers, parse_toml, schema_of, spelled_like};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Config;

/// A value with the range of its bytes in the text.
pub(super) type Value<'a> = Spanned<DeValue<'a>>;

/// An override, `PATH=VALUE`.
pub(crate) struct Override {
    text: String,
    path: Vec<Step>,
    /// A TOML document with the value as its only one.
    document: String,
}

/// A step on a path: from a table to one of its fields, or from a list to one of its elements.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Field(String),
    Element(i64),
}

impl Step {
    /// The name of a field.
    fn name(&self) -> Option<&str> {
        match self {
            Step::Field(name) => Some(name),
            Step::Element(_) => None,
        }
    }
}

impl Override {
    /// Takes `PATH=VALUE` apart. The value is TOML, or a bare word, which is taken as a string.
    ///
    /// # Errors
    /// Names the override, what was found and what was expected.
    pub(crate) fn new(text: &str) -> Result<Self> {
        let bad = |message: String| Error::config(format!("--set {text}"), message);
        let Some((path, value)) = text.split_once('=') else {
            return Err(bad("expected PATH=VALUE, such as ftl.over_provisioning=0.28".into()));
        };
        let path = in_own_names(steps(path.trim()).map_err(bad)?);
        let value = value.trim();
        let document = format!("value = {value}");
        let here = |_| bad(String::new());
        let document = match parse_toml(&document, here) {
            Ok(table) if table.get_ref().len() == 1 => {
                check_numbers(table.get_ref(), here)?;
                document
            }
            Ok(_) => return Err(bad("found several lines, expected one TOML value".into())),
            Err(_) if value.chars().all(|c| c.is_alphanumeric() || "_-./+:".contains(c)) && !value.is_empty() => {
                format!("value = '{value}'")
            }
            Err(error) => {
                return Err(bad(format!(
                    "expected a TOML value: {}",
                    error.message().trim_end_matches(", expected TOML")
                )));
            }
        };
        Ok(Self { text: text.to_owned(), path, document })
    }

    /// Replaces the value in a config. `span` marks values that are from overrides. The value `none` takes out a field that may be absent,
    /// so that a sweep can compare a drive that has something with a drive that has not.
    ///
    /// # Errors
    /// If the path goes through a list without an index, or with an index that the list does not have.
    pub(super) fn apply<'a>(&'a self, config: &mut Value<'a>, span: &Range<usize>) -> Result<()> {
        let value = only_value(&self.document);
        if value.get_ref().as_str() == Some("none")
            && let Some((Step::Field(name), before)) = self.path.split_last()
            && may_be_absent(&self.path)
        {
            value_mut(config, before).and_then(table_of).map(|table| table.remove(name.as_str()));
            return Ok(());
        }
        let mut at = config;
        for (depth, step) in self.path.iter().enumerate() {
            let (before, after) = (written(&self.path[..depth]), &self.path[depth + 1..]);
            let next = match step {
                Step::Field(name) => field(at, name, &before, after.first(), span),
                Step::Element(index) => element(at, *index, &before),
            };
            at = next.map_err(|message| Error::config(format!("--set {}", self.text), message))?;
        }
        *at = moved(value, span);
        Ok(())
    }
}

/// Takes a path such as `flash.page_types[2].program_us` apart.
fn steps(path: &str) -> std::result::Result<Vec<Step>, String> {
    let count = 1 + path.bytes().filter(|byte| b".[".contains(byte)).count();
    if count > MOST_DEPTH {
        return Err(format!("found a path of {count} steps, expected at most {MOST_DEPTH}"));
    }
    let mut steps = Vec::new();
    for part in path.split('.') {
        let mut indices = part.split('[');
        let name = indices.next().expect("a split has at least one part");
        if name.contains(']') {
            return Err(format!("found `{part}`, expected `[` before `]`, as in `page_types[0]`"));
        }
        steps.push(Step::Field(name.to_owned()));
        for index in indices {
            let Some((index, "")) = index.split_once(']') else {
                return Err(format!("found `{part}`, expected an index between `[` and `]`, as in `page_types[0]`"));
            };
            let index =
                index.trim().parse().map_err(|_| format!("found index `{index}`, expected a whole number from 0"))?;
            steps.push(Step::Element(index));
        }
    }
    Ok(steps)
}

/// Replaces the names on a path that are written with `-` or capitals by the names of fields. Names that match no field stay as they are.
fn in_own_names(mut path: Vec<Step>) -> Vec<Step> {
    let is_own = |name: &str| name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if path.iter().filter_map(Step::name).all(is_own) {
        return path;
    }
    let mut at = alternatives(vec![schema_of::<Config>()]);
    for step in &mut path {
        if let Step::Field(name) = step {
            let known = at.iter().filter_map(|schema| schema["properties"].as_object());
            if let Some(own) = spelled_like(name, known.flat_map(|fields| fields.keys().map(String::as_str))) {
                *name = own.to_owned();
            }
        }
        at = inside(at, step);
    }
    path
}

/// Tells whether the field at a path may be absent, and `none` is not one of its values.
fn may_be_absent(path: &[Step]) -> bool {
    let at = path.iter().fold(alternatives(vec![schema_of::<Config>()]), inside);
    let is_null = |kind: &serde_json::Value| kind == "null";
    let may_be_null = |schema: &&serde_json::Value| match &schema["type"] {
        serde_json::Value::Array(kinds) => kinds.iter().any(is_null),
        kind => is_null(kind),
    };
    at.iter().any(may_be_null) && !at.iter().any(|schema| schema["const"] == "none")
}

type Schemas = Vec<&'static serde_json::Value>;

/// The schemas to which a step leads from any of some schemas.
fn inside(at: Schemas, step: &Step) -> Schemas {
    let next = |schema: &'static serde_json::Value| match step {
        Step::Field(name) => schema["properties"].get(name.as_str()),
        Step::Element(_) => schema.get("items"),
    };
    alternatives(at.into_iter().filter_map(next).collect())
}

/// All alternatives of some schemas, with the schemas to which they refer.
fn alternatives(mut found: Schemas) -> Schemas {
    let mut next = 0;
    while let Some(&schema) = found.get(next) {
        found.extend(["oneOf", "anyOf"].iter().filter_map(|key| schema[*key].as_array()).flatten());
        found.extend(schema["$ref"].as_str().and_then(|reference| schema_of::<Config>().pointer(&reference[1..])));
        next += 1;
    }
    found
}

/// Returns a path of `--set`, or of a swept field, in the names of fields: `ftl.over-provisioning` becomes `ftl.over_provisioning`. Names
/// that match no field stay as they are.
pub fn own_path(path: &str) -> String {
    steps(path).map_or_else(|_| path.to_owned(), |steps| written(&in_own_names(steps)))
}

/// A path as people write it.
fn written(path: &[Step]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Step::Field(name) if text.is_empty() => text += name,
            Step::Field(name) => text += &format!(".{name}"),
            Step::Element(index) => text += &format!("[{index}]"),
        }
    }
    text
}

/// Tells whether the field at a path is one of several things, among them one with fields of its own. Setting such a field chooses the
/// thing that has it.
fn is_choice(path: &str) -> bool {
    let has_fields = |one: &serde_json::Value| {
        one["properties"].as_object().is_some_and(|fields| fields.len() == 1) && one["required"].is_array()
    };
    let at = steps(path).unwrap_or_default().iter().fold(alternatives(vec![schema_of::<Config>()]), inside);
    let choices = at.into_iter().filter_map(|schema| schema["oneOf"].as_array());
    choices.into_iter().any(|choices| choices.len() > 1 && choices.iter().any(has_fields))
}

/// Returns the field of the table at `path`, whose own field or element `next` is used next. A value that is no table (reliability =
/// "perfect"), or that is another choice, is replaced by an empty table.
fn field<'t, 'a>(
    at: &'t mut Value<'a>,
    name: &'a str,
    path: &str,
    next: Option<&Step>,
    span: &Range<usize>,
) -> std::result::Result<&'t mut Value<'a>, String> {
    if let DeValue::Array(_) = at.get_ref() {
        return Err(format!("found `.{name}` of a list, expected an index before it, as in `{path}[0].{name}`"));
    }
    let stays = at.get_ref().as_table().is_some_and(|table| table.contains_key(name) || !is_choice(path));
    if !stays {
        *at = Spanned::new(span.clone(), DeValue::Table(DeTable::new()));
    }
    let DeValue::Table(table) = at.get_mut() else { unreachable!("it was just made one") };
    if !table.contains_key(name) {
        let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        let value = match next {
            Some(Step::Element(_)) => default_list(&path, span).ok_or_else(|| {
                format!(
                    "found no list `{path}`, expected one in the config: only elements of a list that exists can be \
                     replaced (`{path}=[...]` sets the whole list)"
                )
            })?,
            // The placeholder is replaced by the value or table that comes next.
            Some(Step::Field(_)) | None => Spanned::new(span.clone(), DeValue::Boolean(false)),
        };
        table.insert(Spanned::new(span.clone(), name.into()), value);
    }
    Ok(table.get_mut(name).expect("it is there"))
}

/// Returns an element of the list at `path`.
fn element<'t, 'a>(at: &'t mut Value<'a>, index: i64, path: &str) -> std::result::Result<&'t mut Value<'a>, String> {
    let kind = at.get_ref().type_str();
    let DeValue::Array(list) = at.get_mut() else {
        return Err(format!(
            "found index {index} after `{path}`, which is of type {kind}, expected a list before an index"
        ));
    };
    let length = list.len();
    let expected = match length {
        0 => "none".to_owned(),
        _ => format!("0 to {}", length - 1),
    };
    let elements = if length == 1 { "element" } else { "elements" };
    let message = format!("found index {index}, expected {expected}: `{path}` has {length} {elements}");
    usize::try_from(index).ok().and_then(|index| list.get_mut(index)).ok_or(message)
}

/// The default list of a config at `path`.
fn default_list<'a>(path: &str, span: &Range<usize>) -> Option<Value<'a>> {
    static DEFAULTS: LazyLock<String> =
        LazyLock::new(|| toml::to_string(&Config::default()).expect("a config is plain data"));
    // The fields of a choice do not depend on whether the choice is the default, so none has a default list.
    if path.match_indices('.').any(|(end, _)| is_choice(&path[..end])) {
        return None;
    }
    let defaults = DeTable::parse(&DEFAULTS).expect("it was just written");
    let defaults = Spanned::new(span.clone(), DeValue::Table(defaults.into_inner()));
    at(&defaults, path).filter(|value| value.get_ref().is_array()).map(|list| moved(list.clone(), span))
}

/// The value at a path, if there is one.
pub(super) fn at<'t, 'a>(config: &'t Value<'a>, path: &str) -> Option<&'t Value<'a>> {
    steps(path).ok()?.iter().try_fold(config, |at, step| match step {
        Step::Field(name) => at.get_ref().get(name),
        Step::Element(index) => at.get_ref().get(usize::try_from(*index).ok()?),
    })
}

/// Takes the field at a path out; if the path goes through a list, the whole list. Returns whether the field existed.
pub(super) fn remove(config: &mut Value<'_>, path: &str) -> bool {
    let Ok(steps) = steps(path) else { return false };
    let fields: Vec<&str> = steps.iter().map_while(Step::name).collect();
    let Some((last, before)) = fields.split_last() else { return false };
    let parent = before.iter().try_fold(config, |at, name| table_of(at)?.get_mut(*name));
    parent.and_then(table_of).is_some_and(|table| table.remove(*last).is_some())
}

/// Takes those fields out of the table at a path that match no name in `known`, in whatever spelling. Returns their names, and their
/// ranges in the text.
pub(super) fn take_others(config: &mut Value<'_>, path: &str, known: &[&str]) -> Vec<(String, Range<usize>)> {
    let steps = if path.is_empty() { Ok(Vec::new()) } else { steps(path) };
    let Some(table) = steps.ok().and_then(|steps| value_mut(config, &steps)).and_then(table_of) else {
        return Vec::new();
    };
    let is_other = |name: &str| !known.contains(&name) && spelled_like(name, known.iter().copied()).is_none();
    let keys = table.keys().filter(|key| is_other(key.get_ref()));
    let others: Vec<_> = keys.map(|key| (key.get_ref().to_string(), key.span())).collect();
    others.iter().for_each(|(name, _)| _ = table.remove(name.as_str()));
    others
}

/// Replaces the value at a path by a whole number that is too large for almost every field. Returns whether the value existed.
pub(super) fn set_beyond(config: &mut Value<'_>, path: &str) -> bool {
    let Some(value) = steps(path).ok().and_then(|steps| value_mut(config, &steps)) else { return false };
    *value = Spanned::new(value.span(), only_value("value = 4294967295").into_inner());
    true
}

/// Replaces `name` at a path by `other`: the text there, the field there, or a field of the table there. Returns whether `name` existed
/// and `other` did not.
pub(super) fn rename(config: &mut Value<'_>, path: &str, name: &str, other: &str) -> bool {
    let Ok(steps) = steps(path) else { return false };
    let into = |at: Option<&mut Value<'_>>| {
        let Some(table) = at.and_then(table_of).filter(|table| !table.contains_key(other)) else { return false };
        let Some((key, value)) = table.remove_entry(name) else { return false };
        table.insert(Spanned::new(key.span(), other.to_owned().into()), value);
        true
    };
    if let Some(DeValue::String(text)) = value_mut(config, &steps).map(Spanned::get_mut)
        && *text == name
    {
        *text = other.to_owned().into();
        return true;
    }
    match steps.split_last() {
        Some((last, before)) if last.name() == Some(name) => into(value_mut(config, before)),
        _ => into(value_mut(config, &steps)),
    }
}

fn table_of<'t, 'a>(value: &'t mut Value<'a>) -> Option<&'t mut DeTable<'a>> {
    match value.get_mut() {
        DeValue::Table(table) => Some(table),
        _ => None,
    }
}

fn value_mut<'t, 'a>(config: &'t mut Value<'a>, steps: &[Step]) -> Option<&'t mut Value<'a>> {
    steps.iter().try_fold(config, |at, step| match (step, at.get_mut()) {
        (Step::Field(name), DeValue::Table(table)) => table.get_mut(name.as_str()),
        (Step::Element(index), DeValue::Array(list)) => list.get_mut(usize::try_from(*index).ok()?),
        _ => None,
    })
}

/// The only value of a document.
fn only_value(document: &str) -> Value<'_> {
    let table = DeTable::parse(document).expect("it has been parsed before").into_inner();
    table.into_iter().next().expect("it has one value").1
}

/// Moves a value, with all values in it, to the range `span`.
fn moved<'a>(value: Value<'a>, span: &Range<usize>) -> Value<'a> {
    let value = match value.into_inner() {
        DeValue::Table(table) => {
            let there = |key: Spanned<_>| Spanned::new(span.clone(), key.into_inner());
            DeValue::Table(table.into_iter().map(|(key, value)| (there(key), moved(value, span))).collect())
        }
        DeValue::Array(list) => DeValue::Array(list.into_iter().map(|value| moved(value, span)).collect()),
        plain => plain,
    };
    Spanned::new(span.clone(), value)
}

#[cfg(test)]
mod tests {
    use super::*;
    /// Is a field known as a choice where it is one, in lists and within other choices, too?
    #[test]
    fn choices_are_known() {
        for (path, expected) in [
            ("reliability", true),
            ("reliability.table.rber", true),
            ("host.tenants[0].workload.arrivals", true),
            ("scheduling.kinds", true),
            ("ftl", false),
            ("reliability.table", false),
            ("flash.busy_unit", false),
            ("host.tenants[0]", false),
            ("", false),
        ] {
            assert_eq!(is_choice(path), expected, "{path}");
        }
    }

    /// Does a path with `-` in place of `_` mean the field, in whichever choice the field is?
    #[test]
    fn paths_have_the_names_of_fields() {
        for (path, expected) in [
            ("ftl.over-provisioning", "ftl.over_provisioning"),
            ("flash.page-types[1].sense-us", "flash.page_types[1].sense_us"),
            ("decoder.placement.per-channel", "decoder.placement.per_channel"),
            ("Reliability.Table.RBER.threshold-voltage", "reliability.table.rber.threshold_voltage"),
            ("no-such.over-provisioning", "no-such.over-provisioning"),
            ("a[", "a["),
        ] {
            assert_eq!(own_path(path), expected);
        }
    }

    /// Can fields that may be absent be taken out, also of an element, and is `none` a value where it is one?
    #[test]
    fn what_may_be_absent_is_taken_out() {
        for (path, expected) in [
            ("flash.suspend", true),
            ("host.tenants[0].workload", true),
            ("reliability.table.rber.threshold_voltage.telegraph_noise", true),
            ("flash.unit_queue", true),
            ("ftl.interleaving.groups", false),
            ("ftl.over_provisioning", false),
            ("host.tenants[0]", false),
            ("no.such.field", false),
        ] {
            assert_eq!(may_be_absent(&steps(path).unwrap()), expected, "{path}");
        }
        let text = "host.tenants = [{ name = 'a', fetched_commands = 3 }]\n[flash.suspend]\nprogram_us = 3.0";
        let mut config = Spanned::new(0..0, DeValue::Table(DeTable::parse(text).unwrap().into_inner()));
        let overrides = ["flash.suspend=none", "host.tenants[0].fetched-commands=none", "encoder=\"none\""];
        let overrides = overrides.map(|text| Override::new(text).unwrap());
        for each in &overrides {
            each.apply(&mut config, &(0..0)).unwrap();
        }
        for (path, expected) in [
            ("flash.suspend", false),
            ("flash", true),
            ("host.tenants[0].name", true),
            ("host.tenants[0].fetched_commands", false),
        ] {
            assert_eq!(at(&config, path).is_some(), expected, "{path}");
        }
    }

    /// Is a path that is taken apart written again as it was, and does a wrong path say what is wrong?
    #[test]
    fn paths_are_taken_apart() {
        for path in ["seed", "ftl.over_provisioning", "flash.page_types[2].program_us", "a[0][-1].b", ""] {
            assert_eq!(written(&steps(path).unwrap()), path);
        }
        for (path, expected) in [
            ("a[0", "found `a[0`, expected an index between `[` and `]`"),
            ("a[0]b", "found `a[0]b`, expected an index between `[` and `]`"),
            ("a.b0].c", "found `b0]`, expected `[` before `]`"),
            ("a[]", "found index ``, expected a whole number from 0"),
            ("a[1.5]", "found `a[1`, expected an index between `[` and `]`"),
            ("a[first]", "found index `first`, expected a whole number from 0"),
        ] {
            let error = steps(path).unwrap_err();
            assert!(error.starts_with(expected), "{error}\nexpected: {expected}");
        }
    }

    /// Is a path of any length refused at once, whatever its steps, and a path of the largest length accepted?
    #[test]
    fn paths_have_a_length() {
        for (step, more) in [("a", ".a"), ("a", "[0]"), ("", "."), ("é", ".é"), ("a", ".a[0]"), ("a", "[")] {
            let path = |times: usize| format!("{step}{}", more.repeat(times));
            let error = steps(&path(1_000_000)).unwrap_err();
            assert!(error.ends_with("steps, expected at most 64"), "{error}");
            assert_eq!(own_path(&path(1_000_000)).len(), path(1_000_000).len());
            let error = Override::new(&format!("{}=1", path(50_000))).map(drop).unwrap_err().to_string();
            assert!(error.starts_with("--set ") && error.len() < 1000, "{error}");
        }
        let longest = vec!["a"; MOST_DEPTH].join(".");
        assert_eq!(written(&steps(&longest).unwrap()), longest);
        let (text, over) = (format!("{longest}.a = 1"), Override::new(&format!("{longest}={{ b = 1 }}")).unwrap());
        assert!(parse_toml(&text, |_| Error::config("", "")).is_err());
        let mut config = Spanned::new(0..0, DeValue::Table(DeTable::new()));
        over.apply(&mut config, &(0..0)).unwrap();
        assert!(at(&config, &longest).is_some());
    }
}
