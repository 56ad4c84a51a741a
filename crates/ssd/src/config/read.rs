//! From text to a config, and from a fault back to its line in the text.

use std::ops::Range;

use softsense_base::{Error, Faults, Result, line_of, plain, spelled_like, unknown_name};
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer};

use super::Config;
use super::set::{Override, Value, at, remove, rename};

/// The line of every key, and of every element of a list, in a text of TOML: from 1, with the path to it, indices as text. Nothing of
/// what is no TOML.
pub fn toml_lines(text: &str) -> Vec<(Vec<String>, usize)> {
    fn walk(text: &str, path: &[String], value: &DeValue<'_>, found: &mut Vec<(Vec<String>, usize)>) {
        let mut take = |step: String, at: usize, value: &DeValue<'_>| {
            let path = [path, &[step]].concat();
            found.push((path.clone(), line_of(text, at)));
            walk(text, &path, value, found);
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
    if let Ok(table) = DeTable::parse(text) {
        walk(text, &[], &DeValue::Table(table.into_inner()), &mut found);
    }
    found
}

/// Faults of a text that are told at once.
const MOST_FAULTS: usize = 100;

/// The text of a config, with overrides in it.
pub(crate) struct Source<'a> {
    text: &'a str,
    /// The file, for messages; none where the text is no file that anybody has.
    origin: Option<&'a str>,
    /// What the text says, and where in it; what overrides say stands beyond its end.
    table: Value<'a>,
}

impl<'a> Source<'a> {
    /// Reads TOML.
    ///
    /// # Errors
    /// Names the line that is no TOML.
    pub(crate) fn new(text: &'a str, origin: Option<&'a str>) -> Result<Self> {
        match DeTable::parse(text) {
            Ok(table) => {
                Ok(Self { text, origin, table: Spanned::new(table.span(), DeValue::Table(table.into_inner())) })
            }
            Err(error) => {
                let line = line_of(text, error.span().map_or(0, |span| span.start));
                let place = format!("{}:{line}", origin.unwrap_or("--set"));
                Err(Error::config(place, error.message().replace('\n', " ")))
            }
        }
    }

    /// Replaces a value.
    ///
    /// # Errors
    /// When the path of the override leads nowhere.
    pub(crate) fn set(&mut self, replacing: &'a Override) -> Result<()> {
        let beyond = self.text.len() + 1..self.text.len() + 1;
        replacing.apply(&mut self.table, &beyond)
    }

    /// The config, of which nothing has been checked but that fields are known and of the right type. Names that are spelled in another
    /// way, with `-` for `_`, are taken for what they mean.
    ///
    /// # Errors
    /// Names all fields that are wrong: where each stands, what was found and what was expected.
    pub(crate) fn config(&mut self) -> Result<Config> {
        let mut faults = Faults::default();
        let mut dropped: Vec<String> = Vec::new();
        while dropped.len() < MOST_FAULTS {
            let (path, message, span) = match self.deserialized() {
                Ok(config) => return faults.end_with(Some(config)),
                Err(error) => {
                    let path = error.path().to_string();
                    let inner = error.into_inner();
                    (path, inner.message().to_owned(), inner.span())
                }
            };
            let meant = unknown_name(&message).and_then(|(name, known)| Some((name, spelled_like(name, known)?)));
            if meant.is_some_and(|(name, meant)| rename(&mut self.table, &path, name, meant)) {
                continue;
            }
            // What a table lacks, or a choice of one thing, is what was dropped of it before: all else that is wrong with it comes first.
            let of_it = |other: &String| other.strip_prefix(&path).is_some_and(|rest| rest.starts_with(['.', '[']));
            if !dropped.iter().any(of_it) {
                faults.add(Error::config(self.place(&path, Some(span.unwrap_or(0..0))), plain(&message)));
            }
            // Without it the rest can be looked at.
            if !remove(&mut self.table, &path) {
                break;
            }
            dropped.push(path);
        }
        Err(faults.end().expect_err("nothing is dropped but for a fault"))
    }

    fn deserialized(&self) -> std::result::Result<Config, serde_path_to_error::Error<toml::de::Error>> {
        let deserializer = || {
            let DeValue::Table(table) = self.table.get_ref().clone() else { unreachable!("a document is a table") };
            Deserializer::from(Spanned::new(self.table.span(), table))
        };
        // First as any TOML: an integer that a field could hold may be beyond what TOML has.
        serde_path_to_error::deserialize::<_, toml::Table>(deserializer())?;
        serde_path_to_error::deserialize(deserializer())
    }

    /// The error of a check, which names a config path, with where that stands: in the file, in an override, or nowhere.
    pub(crate) fn locate(&self, error: &Error) -> Error {
        let span = at(&self.table, error.place()).and_then(|value| match value.get_ref() {
            // Several values, of which some may be from elsewhere.
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
