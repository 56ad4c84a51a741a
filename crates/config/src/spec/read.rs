//! From text to a config, and from a fault back to its line in the text.

use std::ops::Range;

use softsense_base::{Error, ErrorKind, Faults, Result, line_of, plain, spelled_like, toml_table, unknown_name};
use toml::Spanned;
use toml::de::{DeValue, Deserializer};

use super::Config;
use super::set::{Override, Value, at, remove, rename, set_beyond, take_others};

/// Lists the line of every key, and of every element of a list, in a TOML text. Lines count from 1, and each comes with its path, in
/// which indices are text. The list is empty if the text is not TOML.
pub fn toml_lines(text: &str) -> Vec<(Vec<String>, usize)> {
    fn walk(ends: &[usize], path: &[String], value: &DeValue<'_>, found: &mut Vec<(Vec<String>, usize)>) {
        let mut take = |step: String, at: usize, value: &DeValue<'_>| {
            let path = [path, &[step]].concat();
            found.push((path.clone(), ends.partition_point(|&end| end < at) + 1));
            walk(ends, &path, value, found);
        };
        match value {
            DeValue::Table(table) => {
                table
                    .iter()
                    .for_each(|(key, value)| take(key.get_ref().to_string(), key.span().start, value.get_ref()));
            }
            DeValue::Array(list) => {
                let elements = list.iter().enumerate();
                elements.for_each(|(index, value)| take(index.to_string(), value.span().start, value.get_ref()));
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    if let Ok(table) = toml_table(text, ErrorKind::Config, "") {
        let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
        walk(&ends, &[], &DeValue::Table(table.into_inner()), &mut found);
    }
    found
}

/// The largest number of attempts to deserialize a text, each without the faults found before. An attempt takes as long as the text.
const MOST_LOOKS: usize = 100;

/// The text of a config, with the overrides applied.
pub(crate) struct Source<'a> {
    text: &'a str,
    /// The file, for messages; none if the text is not from a file of the user.
    origin: Option<&'a str>,
    /// The values of the text, with their bytes in it. Values of overrides have positions beyond its end.
    table: Value<'a>,
}

impl<'a> Source<'a> {
    /// Reads TOML.
    ///
    /// # Errors
    /// Names the line that is no TOML.
    pub(crate) fn new(text: &'a str, origin: Option<&'a str>) -> Result<Self> {
        let table = toml_table(text, ErrorKind::Config, origin.unwrap_or("--set"))?;
        Ok(Self { text, origin, table: Spanned::new(table.span(), DeValue::Table(table.into_inner())) })
    }

    /// Replaces a value.
    ///
    /// # Errors
    /// When the path of the override leads nowhere.
    pub(crate) fn set(&mut self, replacing: &'a Override) -> Result<()> {
        let beyond = self.text.len() + 1..self.text.len() + 1;
        replacing.apply(&mut self.table, &beyond)
    }

    /// Returns the config; so far only the names and types of its fields have been checked. Names that are spelled in another way, with
    /// `-` for `_`, are taken for what they mean.
    ///
    /// # Errors
    /// Names all fields that are wrong: where each stands, what was found and what was expected.
    pub(crate) fn config(&mut self) -> Result<Config> {
        let mut faults = Faults::default();
        let mut dropped: Vec<String> = Vec::new();
        // Whole numbers that do not fit their type. The numbers that replace them are beyond the range of almost every field.
        let mut beyond: Vec<(String, Error)> = Vec::new();
        while dropped.len() < MOST_LOOKS {
            let (path, message, span) = match self.deserialized() {
                Ok(config) if beyond.is_empty() => return faults.end_with(Some(config)),
                Ok(config) => {
                    let checked = config.check();
                    beyond.into_iter().for_each(|(path, fault)| faults.add(in_range_of(&path, fault, &checked)));
                    return faults.end_with(None);
                }
                Err(error) => {
                    let path = error.path().to_string();
                    let inner = error.into_inner();
                    (path, inner.message().to_owned(), inner.span())
                }
            };
            let unknown = unknown_name(&message).map(|(name, known)| (name, known.collect::<Vec<_>>()));
            let meant =
                unknown.as_ref().and_then(|(name, known)| Some((*name, spelled_like(name, known.iter().copied())?)));
            if meant.is_some_and(|(name, meant)| rename(&mut self.table, &path, name, meant)) {
                continue;
            }
            // All unknown fields of a table are faults of one kind, so they are taken out together, however many they are.
            if let Some((name, known)) = unknown.filter(|_| message.starts_with("unknown field") && !path.contains('['))
                && let Some(parent) = path.strip_suffix(name)
            {
                let strangers = take_others(&mut self.table, parent.trim_end_matches('.'), &known);
                faults.add_untold(strangers.len().saturating_sub(faults.room()));
                for (stranger, span) in strangers.iter().take(faults.room()) {
                    let place = self.place(&format!("{parent}{stranger}"), Some(span.clone()));
                    faults.add(Error::config(place, plain(&message.replacen(name, stranger, 1))));
                }
                if !strangers.is_empty() {
                    dropped.push(path);
                    continue;
                }
            }
            let told = plain(&message);
            // A table may lack a field, or a choice its one field, only because that field was dropped before. Such a fault is not
            // reported.
            let of_it = |other: &String| other.strip_prefix(&path).is_some_and(|rest| rest.starts_with(['.', '[']));
            if !dropped.iter().any(of_it) && !beyond.iter().any(|(other, _)| *other == path) {
                let fault = Error::config(self.place(&path, Some(span.unwrap_or(0..0))), told);
                if fault.message().contains(", expected a whole number from 0 to ")
                    && set_beyond(&mut self.table, &path)
                {
                    beyond.push((path, fault));
                    continue;
                }
                faults.add(fault);
            }
            // Without the faulty value the rest can be checked.
            if !remove(&mut self.table, &path) {
                break;
            }
            dropped.push(path);
        }
        beyond.into_iter().for_each(|(_, fault)| faults.add(fault));
        Err(faults.end().expect_err("nothing is dropped but for a fault"))
    }

    fn deserialized(&self) -> std::result::Result<Config, serde_path_to_error::Error<toml::de::Error>> {
        let DeValue::Table(table) = self.table.get_ref().clone() else { unreachable!("a document is a table") };
        serde_path_to_error::deserialize(Deserializer::from(Spanned::new(self.table.span(), table)))
    }

    /// Adds to the error of a check, which names a config path, the position of that path: in the file, in an override, or nowhere.
    pub(crate) fn locate(&self, error: &Error) -> Error {
        let span = at(&self.table, error.place()).and_then(|value| match value.get_ref() {
            // A table has several values, some of which may be from an override.
            DeValue::Table(_) => None,
            DeValue::Array(list) => {
                list.iter().map(Spanned::span).find(|span| self.is_override(span)).or(Some(value.span()))
            }
            _ => Some(value.span()),
        });
        Error::new(error.kind(), self.place(error.place(), span), error.message())
    }

    fn is_override(&self, span: &Range<usize>) -> bool {
        span.start > self.text.len()
    }

    fn place(&self, path: &str, span: Option<Range<usize>>) -> String {
        match (span, self.origin) {
            (Some(span), _) if self.is_override(&span) => format!("--set {path}"),
            (Some(span), Some(origin)) => format!("{origin}:{}: {path}", line_of(self.text, span.start)),
            (None, Some(origin)) => format!("{origin}: {path}"),
            (_, None) => format!("--set: {path}"),
        }
    }
}

/// The fault of a whole number that does not fit its type, with the range that a check expected in place of the range of the type.
fn in_range_of(path: &str, fault: Error, checked: &Result<()>) -> Error {
    let checks = checked.as_ref().err().and_then(|error| error.faults().find(|other| other.place() == path));
    let expected = checks.and_then(|other| Some(other.message().rsplit_once(", expected ")?.1));
    match (fault.message().rsplit_once(", expected "), expected) {
        (Some((found, _)), Some(expected)) => Error::config(fault.place(), format!("{found}, expected {expected}")),
        _ => fault,
    }
}
