//! From text to a config, and from what is wrong with it back to where it stands.

use std::ops::Range;

use softsense_base::{Error, Result, line_of, plain};
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer};

use super::Config;
use super::set::{Override, Value, at};

/// The text of a config, with overrides in it.
pub(crate) struct Source<'a> {
    text: &'a str,
    /// The file, for messages; none where the text is no file that anybody has.
    origin: Option<&'a str>,
    /// What the text says, and where in it; what overrides say stands beyond its end.
    table: Value<'a>,
}

impl<'a> Source<'a> {
    /// Reads TOML and applies the overrides, one after the other.
    ///
    /// # Errors
    /// Names the line that is no TOML, or the override whose path leads nowhere.
    pub(crate) fn new(text: &'a str, origin: Option<&'a str>, overrides: &'a [Override]) -> Result<Self> {
        let table = match DeTable::parse(text) {
            Ok(table) => Spanned::new(table.span(), DeValue::Table(table.into_inner())),
            Err(error) => {
                let line = line_of(text, error.span().map_or(0, |span| span.start));
                let place = format!("{}:{line}", origin.unwrap_or("--set"));
                return Err(Error::config(place, error.message().replace('\n', " ")));
            }
        };
        let mut source = Self { text, origin, table };
        let beyond = text.len() + 1..text.len() + 1;
        for each in overrides {
            each.apply(&mut source.table, &beyond)?;
        }
        Ok(source)
    }

    /// The config, of which nothing has been checked but that fields are known and of the right type.
    ///
    /// # Errors
    /// Names where the field stands, what was found and what was expected.
    pub(crate) fn config(&self) -> Result<Config> {
        let deserializer = || {
            let DeValue::Table(table) = self.table.get_ref().clone() else { unreachable!("a document is a table") };
            Deserializer::from(Spanned::new(self.table.span(), table))
        };
        // First as any TOML: an integer that a field could hold may be beyond what TOML has.
        let read = serde_path_to_error::deserialize::<_, toml::Table>(deserializer()).map(|_| ());
        read.and_then(|()| serde_path_to_error::deserialize(deserializer())).map_err(|error| {
            let path = error.path().to_string();
            let inner = error.into_inner();
            let place = self.place(&path, Some(inner.span().unwrap_or(0..0)));
            Error::config(place, plain(inner.message()))
        })
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
