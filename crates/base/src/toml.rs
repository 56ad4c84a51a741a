//! TOML texts, all of which are read here: their depth, their numbers, and the positions of their faults.
//!
//! A TOML text decides how deep the values of a program are. Each step of depth is a nested call, when values are deserialized, copied,
//! walked and freed. All these calls are bounded by [`MOST_DEPTH`], because the depth of a text is checked before any value is made of
//! it. Paths of overrides, which are steps that users write, too, have the same bound.

use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue, Deserializer};
use toml_parser::parser::{EventReceiver, parse_document};
use toml_parser::{ErrorSink, Source, Span};

use crate::{Error, ErrorKind, Result, line_of, plain};

/// The largest number of tables and lists around a value. The deepest field of a config is at a quarter of it.
pub const MOST_DEPTH: usize = 64;

/// Parses a TOML text, with the position of each value in it. `place` turns the byte position of an error into an error with its place.
///
/// # Errors
/// The text is no TOML, or more than [`MOST_DEPTH`] tables and lists are around a value.
pub fn parse_toml(text: &str, place: impl Fn(usize) -> Error) -> Result<Spanned<DeTable<'_>>> {
    let source = Source::new(text);
    let mut depth = Depth::default();
    parse_document(&source.lex().into_vec(), &mut depth, &mut ());
    if let Some(at) = depth.too_deep {
        let message =
            format!("found a value in more than {MOST_DEPTH} tables and lists, expected at most {MOST_DEPTH}");
        return Err(place(at).with_message(message));
    }
    DeTable::parse(text).map_err(|error| {
        let told = plain(error.message());
        let expected = if told.contains("expected") { "" } else { ", expected TOML" };
        place(start(error.span())).with_message(told + expected)
    })
}

/// Checks that each number of a text fits into 64 bits.
///
/// # Errors
/// The first number that does not fit.
pub fn check_numbers(table: &DeTable<'_>, place: impl Fn(usize) -> Error) -> Result<()> {
    fn walk(value: &Spanned<DeValue<'_>>, first: &mut Option<(usize, String)>) {
        let expected = match value.get_ref() {
            DeValue::Table(table) => return table.values().for_each(|value| walk(value, first)),
            DeValue::Array(list) => return list.iter().for_each(|value| walk(value, first)),
            DeValue::Integer(integer) if whole(integer).is_none() => {
                format!("found {integer}, expected a whole number from {} to {}", i64::MIN, u64::MAX)
            }
            DeValue::Float(number) if number.as_str().parse().is_ok_and(f64::is_infinite) => {
                if number.as_str().ends_with("inf") {
                    return;
                }
                format!("found {}, expected a number from {:e} to {:e}", number.as_str(), f64::MIN, f64::MAX)
            }
            _ => return,
        };
        let at = value.span().start;
        if first.as_ref().is_none_or(|(other, _)| at < *other) {
            *first = Some((at, expected));
        }
    }
    let mut first = None;
    table.values().for_each(|value| walk(value, &mut first));
    first.map_or(Ok(()), |(at, message)| Err(place(at).with_message(message)))
}

/// The value of a TOML integer. TOML's own integers end at 2^63 - 1; seeds and other unsigned fields of 64 bits go on to 2^64 - 1.
pub fn whole(integer: &DeInteger<'_>) -> Option<i128> {
    let value = i128::from_str_radix(integer.as_str(), integer.radix()).ok()?;
    (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&value).then_some(value)
}

/// The tables of a TOML file that is called `origin`.
///
/// # Errors
/// The errors of [`parse_toml`] and [`check_numbers`], of `kind` and with their line.
pub fn toml_table<'a>(text: &'a str, kind: ErrorKind, origin: &str) -> Result<Spanned<DeTable<'a>>> {
    let place = |at| Error::new(kind, format!("{origin}:{}", line_of(text, at)), "");
    let table = parse_toml(text, place)?;
    check_numbers(table.get_ref(), place)?;
    Ok(table)
}

/// Reads a value from a TOML file that is called `origin`.
///
/// # Errors
/// The errors of [`toml_table`], and a field that is unknown, absent, or of another type: of `kind`, with their line.
pub fn from_toml<T: DeserializeOwned>(text: &str, kind: ErrorKind, origin: &str) -> Result<T> {
    T::deserialize(Deserializer::from(toml_table(text, kind, origin)?)).map_err(|error| {
        let line = line_of(text, start(error.span()));
        Error::new(kind, format!("{origin}:{line}"), plain(error.message()))
    })
}

fn start(span: Option<Range<usize>>) -> usize {
    span.map_or(0, |span| span.start)
}

/// Counts the tables and lists around each part of a text, before any value is made of it.
#[derive(Default)]
struct Depth {
    /// The depth of each open bracket: the number of steps around it, and the number of keys before it.
    brackets: Vec<(usize, usize)>,
    around: usize,
    keys: usize,
    too_deep: Option<usize>,
}

impl Depth {
    /// Checks the depth at a position; false once any position was too deep.
    fn see(&mut self, span: Span) -> bool {
        if self.brackets.len().max(self.around + self.keys) > MOST_DEPTH {
            self.too_deep.get_or_insert(span.start());
        }
        self.too_deep.is_none()
    }

    fn open(&mut self, span: Span, steps: usize) -> bool {
        self.brackets.push((self.around, self.keys));
        self.around += self.keys + steps;
        self.keys = 0;
        self.see(span)
    }

    fn close(&mut self) {
        (self.around, self.keys) = self.brackets.pop().unwrap_or_default();
    }

    fn header(&mut self) {
        (self.around, self.keys) = (0, 0);
        self.brackets.clear();
    }
}

impl EventReceiver for Depth {
    fn std_table_open(&mut self, _: Span, _: &mut dyn ErrorSink) {
        self.header();
    }

    fn array_table_open(&mut self, _: Span, _: &mut dyn ErrorSink) {
        self.header();
    }

    fn std_table_close(&mut self, _: Span, _: &mut dyn ErrorSink) {
        (self.around, self.keys) = (self.keys, 0);
    }

    fn array_table_close(&mut self, _: Span, _: &mut dyn ErrorSink) {
        (self.around, self.keys) = (self.keys + 1, 0);
    }

    fn inline_table_open(&mut self, span: Span, _: &mut dyn ErrorSink) -> bool {
        self.open(span, 0)
    }

    fn array_open(&mut self, span: Span, _: &mut dyn ErrorSink) -> bool {
        self.open(span, 1)
    }

    fn inline_table_close(&mut self, _: Span, _: &mut dyn ErrorSink) {
        self.close();
    }

    fn array_close(&mut self, _: Span, _: &mut dyn ErrorSink) {
        self.close();
    }

    fn simple_key(&mut self, span: Span, _: Option<toml_parser::decoder::Encoding>, _: &mut dyn ErrorSink) {
        self.keys += 1;
        self.see(span);
    }

    fn value_sep(&mut self, _: Span, _: &mut dyn ErrorSink) {
        self.keys = 0;
    }

    fn newline(&mut self, _: Span, _: &mut dyn ErrorSink) {
        if self.brackets.is_empty() {
            self.keys = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> std::result::Result<usize, String> {
        toml_table(text, ErrorKind::Config, "t.toml").map(|table| table.get_ref().len()).map_err(|e| e.to_string())
    }

    /// Is every way to be too deep found, and nothing else?
    #[test]
    fn depth_is_bounded() {
        let keys = |count: usize| vec!["a"; count].join(".");
        let brackets = |count: usize| format!("{}{}", "[".repeat(count), "]".repeat(count));
        let tables =
            |count: usize, key: &str| format!("{}1{}", format!("{{ {key} = ").repeat(count), " }".repeat(count));
        for (fine, deep) in [
            (format!("{} = 1", keys(64)), format!("\n{} = 1", keys(65))),
            (format!("[{}]\nb = 1", keys(63)), format!("[x]\n[{}]\nb = 1", keys(64))),
            (format!("[[{}]]\nb = 1", keys(62)), format!("\n[[{}]]\nb = {{ c = 1 }}", keys(62))),
            (format!("a = {}", brackets(63)), format!("\na = {}", brackets(64))),
            (format!("a = {}", tables(63, "b")), format!("\na = {}", tables(64, "b"))),
            (format!("a = {}", tables(1, &keys(63))), format!("\na = {}", tables(13, "b.b.b.b.b"))),
            (format!("a = [{}]", "[1], ".repeat(100)), format!("\na = [1, [{}]]", tables(70, &keys(70)))),
            ("a.b = 1\n".to_owned(), format!("\na = {}", "[".repeat(1_000_000))),
            ("x = [\n[\n1,\n2\n],\n]\n".to_owned(), format!("\na = {}", "{ a.a =".repeat(1_000_000))),
            ("x = 1 # [[[[".to_owned(), format!("\n{}= 1", "a.".repeat(1_000_000))),
        ] {
            assert_eq!(read(&fine), Ok(1), "{fine}");
            let told = read(&deep).unwrap_err();
            assert!(told.contains("found a value in more than 64 tables and lists, expected at most 64"), "{told}");
            assert!(!told.starts_with("t.toml:1:"), "{told}");
        }
        let many: String = (0..1000).map(|i| format!("a.b.c.d{i} = [[1], {{ x.y = 2, z = 3 }}] # .\n")).collect();
        assert_eq!(read(&many), Ok(1));
        assert!(read("[a\n{{{{{{").is_err());
    }

    /// Does each number fit into 64 bits as it is written, or is it refused at its line?
    #[test]
    fn numbers_are_held_or_refused() {
        let table =
            DeTable::parse("a = 18_446_744_073_709_551_615\nb = 0xFFFF_FFFF_FFFF_FFFF\nc = -9223372036854775808")
                .unwrap();
        let found: Vec<_> = table.get_ref().values().map(|v| v.get_ref().as_integer().and_then(whole)).collect();
        assert_eq!(found, [Some(u64::MAX.into()), Some(u64::MAX.into()), Some(i64::MIN.into())]);
        for (text, expected) in [
            ("b = 1\na = 18446744073709551616", "t.toml:2: found 18446744073709551616, expected a whole number from"),
            ("a = [-9223372036854775809]", "t.toml:1: found -9223372036854775809, expected a whole number from"),
            ("\n[x]\ny = { z = 1e309 }", "t.toml:3: found 1e309, expected a number from -1.79"),
            ("z = 1e400\na = -1e400", "t.toml:1: found 1e400, expected"),
        ] {
            let told = read(text).unwrap_err();
            assert!(told.starts_with(expected), "{told}");
        }
        assert_eq!(read("a = inf\nb = -inf\nc = nan\nd = 1e308"), Ok(4));
        // A number is refused however many digits it has.
        for text in [format!("a = {}", "7".repeat(5_000_000)), format!("a = 0x{}", "f".repeat(5_000_000))] {
            let told = read(&text).unwrap_err();
            assert!(told.starts_with("t.toml:1: found ") && told.len() < 10_000, "{}", told.len());
        }
    }
}
