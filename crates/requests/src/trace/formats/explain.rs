//! Explanations of wrong lines: the cold path.

use std::borrow::Cow;

use super::SECTOR;
use super::blkparse::major_minor;
use super::commas::read_or_write;
use super::cursor::{Cursor, hexadecimal};
use super::mapped::{time, units};
use crate::trace::TimeUnit;

/// The expected content of a column, for the cold path.
#[derive(Clone, Copy)]
pub(super) enum Want {
    Time(TimeUnit),
    WholeTime(TimeUnit),
    Device,
    Units(u64),
    Number(&'static str),
    Hexadecimal(&'static str),
    Kind,
    MajorMinor,
    OneOf(&'static [&'static str], &'static str),
    Text,
    /// Expected content of mapped columns.
    Count(u64),
    TimeOrDate(TimeUnit),
    Below(u64),
    Anything,
}

impl Want {
    pub(crate) fn met(self, text: &[u8]) -> bool {
        let mut c = Cursor::new(text);
        match self {
            Want::Time(unit) => c.time(unit.ns()).is_some() && c.end(),
            Want::WholeTime(unit) => c.number().and_then(|n| n.checked_mul(unit.ns())).is_some() && c.end(),
            Want::Device => c.number().is_some_and(|n| u32::try_from(n).is_ok()) && c.end(),
            Want::Units(unit) => c.number().and_then(|n| n.checked_mul(unit)).is_some() && c.end(),
            Want::Number(_) => c.number().is_some() && c.end(),
            Want::Hexadecimal(_) => hexadecimal(text).is_some(),
            Want::Kind => read_or_write(text).is_some(),
            Want::MajorMinor => major_minor(text).is_some(),
            Want::OneOf(texts, _) => texts.iter().any(|one| one.as_bytes() == text),
            Want::Text => !text.is_empty(),
            Want::Count(unit) => units(text, unit).is_some(),
            Want::TimeOrDate(unit) => time(text, unit).is_some(),
            Want::Below(most) => units(text, 1).is_some_and(|number| number < most),
            Want::Anything => true,
        }
    }

    fn expected(self, text: &[u8]) -> Cow<'static, str> {
        let numeric = !text.is_empty() && text.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
        match self {
            Want::Time(unit) | Want::WholeTime(unit) | Want::TimeOrDate(unit)
                if numeric && text.iter().all(u8::is_ascii_digit) =>
            {
                format!("a time in {unit} below 584 years").into()
            }
            Want::Time(unit) => format!("a time in {unit} such as 12 or 12.5").into(),
            Want::WholeTime(unit) => format!("a whole number of {unit}").into(),
            Want::Device if numeric => "a whole number below 2^32".into(),
            Want::Device => "a whole number".into(),
            Want::TimeOrDate(unit) => {
                format!("a time in {unit} such as 12 or 12.5, or a date and time such as 2020-01-31 13:05:59").into()
            }
            Want::Below(most) => format!("a whole number below {most}").into(),
            Want::Anything => "anything".into(),
            Want::Units(1) | Want::Count(1) => "a whole number of bytes".into(),
            Want::Units(SECTOR) | Want::Count(SECTOR) => "a whole number of 512-byte sectors".into(),
            Want::Units(unit) | Want::Count(unit) => format!("a whole number of units of {unit} bytes").into(),
            Want::Number(expected) | Want::Hexadecimal(expected) => expected.into(),
            Want::Kind => "Read or Write".into(),
            Want::MajorMinor => "major and minor number such as 8,16".into(),
            Want::OneOf(_, expected) => expected.into(),
            Want::Text => "some text".into(),
        }
    }
}

#[cold]
pub(super) fn explain_columns(
    fields: &[&[u8]],
    columns: &[(&str, Want)],
    at_least: usize,
    at_most: Option<usize>,
) -> String {
    // A wrong column explains more than a wrong number of columns, unless the line is too short to have one.
    for (i, (field, (name, want))) in fields.iter().zip(columns).enumerate() {
        if !want.met(field) {
            return format!(
                "found `{}` in column {} ({name}), expected {}",
                shorten(field),
                i + 1,
                want.expected(field)
            );
        }
    }
    if fields.len() < at_least || at_most.is_some_and(|most| fields.len() > most) {
        let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        let number = if at_most == Some(at_least) { format!("{at_least}") } else { format!("at least {at_least}") };
        let found = fields.len();
        let plural = if found == 1 { "" } else { "s" };
        return format!("found {found} column{plural}, expected {number} ({})", names.join(", "));
    }
    "found a line that does not fit the columns, expected one value for each column".to_owned()
}

pub(super) fn split_blanks(line: &[u8]) -> Vec<&[u8]> {
    line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|field| !field.is_empty()).collect()
}

pub(super) fn split_commas(line: &[u8]) -> Vec<&[u8]> {
    line.split(|&byte| byte == b',').map(trim).collect()
}

/// Removes blanks at both ends.
#[inline(always)]
pub(in super::super) fn trim(text: &[u8]) -> &[u8] {
    let mut text = text;
    while let [b' ' | b'\t' | b'\r', rest @ ..] = text {
        text = rest;
    }
    while let [rest @ .., b' ' | b'\t' | b'\r'] = text {
        text = rest;
    }
    text
}

/// Makes text for a message: short, printable, with tabs as `\t`.
pub(in super::super) fn shorten(text: &[u8]) -> String {
    const LONGEST: usize = 60;
    let cut = &text[..text.len().min(LONGEST)];
    let mut shown = String::new();
    for c in String::from_utf8_lossy(cut).chars() {
        match c {
            '\t' => shown.push_str("\\t"),
            c if c.is_control() => shown.push('\u{fffd}'),
            c => shown.push(c),
        }
    }
    if text.len() > LONGEST {
        shown.push_str("...");
    }
    shown
}
