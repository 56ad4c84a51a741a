//! From text to a config.

use softsense_base::{Error, Result, line_of};

use super::Config;
use super::set::set;

impl Config {
    /// Reads a config and checks nothing but its types. `origin` is its file, for messages; `overrides` are `path=value` with a
    /// TOML value (a bare word is taken as a string).
    ///
    /// # Errors
    /// Names the file and line, or the path of the override, what was found and what was expected.
    pub(crate) fn from_toml(text: &str, origin: &str, overrides: &[String]) -> Result<Self> {
        let at_line = |span: Option<std::ops::Range<usize>>| {
            format!("{origin}:{}", span.map_or(1, |span| line_of(text, span.start)))
        };
        // First as any TOML: an integer that a field could hold may be beyond what TOML has.
        let mut table: toml::Table = toml::from_str(text).map_err(|error: toml::de::Error| {
            Error::config(at_line(error.span()), error.message().replace('\n', " "))
        })?;
        let deserializer = toml::Deserializer::parse(text).expect("it has just been parsed");
        let mut config: Config = serde_path_to_error::deserialize(deserializer).map_err(|error| {
            let path = error.path().to_string();
            let inner = error.into_inner();
            Error::config(format!("{}: {path}", at_line(inner.span())), inner.message().replace('\n', " "))
        })?;
        if !overrides.is_empty() {
            for text in overrides {
                set(&mut table, text)?;
            }
            config = serde_path_to_error::deserialize(toml::Value::Table(table)).map_err(|error| {
                let path = error.path().to_string();
                Error::config(format!("--set {path}"), error.into_inner().message().replace('\n', " "))
            })?;
        }
        Ok(config)
    }
}
