//! Lines whose columns the user or a preset has named.

use super::super::columns::{Columns, Delimiter, Role};
use super::cursor::Cursor;
use super::explain::{Want, explain_columns, shorten, split_blanks, trim};
use super::objects::{Objects, object_of};
use super::{DeviceTable, Parse, Parsed, Row};
use crate::RequestKind;
use crate::trace::TimeUnit;

/// Size of the chunks in which files lie, bytes.
const CHUNK: u64 = 1 << 20;
const NS_PER_S: u64 = 1_000_000_000;

/// A parser of mapped columns.
pub(in super::super) struct Mapped {
    columns: Columns,
    unit: TimeUnit,
    size_unit: u64,
    /// Meaning of each column of a line, from the left to the last that is used.
    roles: Vec<Role>,
    delimiter: Delimiter,
    /// Number of lines that are still to be skipped.
    to_skip: u32,
    /// Whether nothing has been read yet except skipped lines.
    first: bool,
    /// The header, once it was seen: it comes again in files that were joined.
    header: Option<Vec<u8>>,
    /// Whether devices are numbers, as the first device tells.
    numbered: Option<bool>,
    objects: Objects,
}

impl Mapped {
    pub(crate) fn new(columns: Columns, unit: TimeUnit, size_unit: u64) -> Self {
        let roles = columns.columns.iter().map(|column| column.role).collect();
        let delimiter = columns.delimiter.unwrap_or(Delimiter::Byte(b','));
        let with_offsets = columns.has(|role| matches!(role, Role::Address(_)));
        let to_skip = columns.skip_header;
        let chunk = if with_offsets { CHUNK } else { 4096 };
        let mut mapped = Self {
            columns,
            unit,
            size_unit,
            roles,
            delimiter,
            to_skip,
            first: true,
            header: None,
            numbered: None,
            objects: Objects::new(chunk, with_offsets),
        };
        mapped.shorten_roles();
        mapped
    }

    fn shorten_roles(&mut self) {
        let wanted = self.roles.iter().rposition(|&role| role != Role::Ignored).map_or(0, |last| last + 1);
        self.roles.truncate(wanted);
    }

    /// Returns delimiter and header as found in the file, for people.
    pub(crate) fn found(&self) -> String {
        let header = if self.header.is_some() { ", with a header" } else { "" };
        format!("{}, delimiter {}{header}", self.columns.text(), self.delimiter.name())
    }

    /// Whether a line has `columns` columns, and they hold a request.
    pub(crate) fn fits(&mut self, line: &[u8], columns: usize) -> bool {
        self.first = false;
        self.split(line).len() == columns
            && matches!(self.row(line, &mut DeviceTable::new(&crate::trace::Devices::Stack)), Some(Parsed::Row(_)))
    }

    fn split<'a>(&self, line: &'a [u8]) -> Vec<&'a [u8]> {
        match self.delimiter {
            Delimiter::Blanks => split_blanks(line).into_iter().map(unquoted).collect(),
            Delimiter::Byte(byte) => line.split(|&each| each == byte).map(unquoted).collect(),
        }
    }

    /// Parses one of the first lines: one to be skipped, a header, or already a request.
    #[cold]
    fn begin(&mut self, line: &[u8], devices: &mut DeviceTable) -> Option<Parsed> {
        if self.columns.delimiter.is_none() {
            self.delimiter = self.likely_delimiter(line);
        }
        if self.to_skip > 0 {
            self.to_skip -= 1;
            self.header = Some(line.to_vec());
            if self.to_skip > 0 || !self.columns.by_header() {
                return Some(Parsed::Header);
            }
        }
        if self.columns.by_header() {
            self.header = None;
            self.find_columns(line)?;
            self.first = false;
            self.header = Some(line.to_vec());
            return Some(Parsed::Header);
        }
        self.first = false;
        let parsed = self.row(line, devices);
        if parsed.is_none() && self.is_header(line) {
            self.header = Some(line.to_vec());
            return Some(Parsed::Header);
        }
        parsed
    }

    /// Returns the first of the usual delimiters that gives a line enough columns.
    fn likely_delimiter(&self, line: &[u8]) -> Delimiter {
        let least = if self.columns.by_header() { self.columns.columns.len() } else { self.roles.len() };
        let usual = [b'\t', b',', b';', b'|'].map(Delimiter::Byte);
        let columns = |delimiter: &Delimiter| match *delimiter {
            Delimiter::Byte(byte) => line.iter().filter(|&&each| each == byte).count() + 1,
            Delimiter::Blanks => split_blanks(line).len(),
        };
        usual
            .into_iter()
            .chain([Delimiter::Blanks])
            .find(|each| columns(each) >= least)
            .unwrap_or(Delimiter::Byte(b','))
    }

    /// Whether words are in all columns that must hold numbers.
    fn is_header(&self, line: &[u8]) -> bool {
        let fields = self.split(line);
        let number = |role: &Role| matches!(role, Role::Time(_) | Role::Address(_) | Role::Block(_) | Role::Bytes(_));
        let word = |field: &&[u8]| field.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
        fields.len() >= self.roles.len()
            && self.roles.iter().zip(&fields).filter(|(role, _)| number(role)).all(|(_, field)| word(field))
    }

    /// Finds columns by their names in the header; `None` where one is missing.
    fn find_columns(&mut self, line: &[u8]) -> Option<()> {
        let fields = self.split(line);
        let mut roles = vec![Role::Ignored; fields.len()];
        for column in &self.columns.columns {
            *roles.get_mut(position(&fields, column.header.as_deref()?)?)? = column.role;
        }
        self.roles = roles;
        self.shorten_roles();
        Some(())
    }

    #[inline(always)]
    fn row(&mut self, line: &[u8], devices: &mut DeviceTable) -> Option<Parsed> {
        let mut fields = Fields { line, at: 0, delimiter: self.delimiter };
        let mut arrival_ns = 0;
        // `None` means that there is no value, which is allowed for a request without data.
        let (mut offset, mut block, mut bytes) = (Some(0), Some(0), Some(0));
        let (mut device, mut major, mut object) = (None, 0, None);
        let mut kind = None;
        for &role in &self.roles {
            let field = fields.next()?;
            match role {
                Role::Ignored => {}
                Role::Time(_) => arrival_ns = time(field, self.unit)?,
                Role::Op => {
                    let known = |word: &String| word == "*" || word.as_bytes().eq_ignore_ascii_case(field);
                    match self.columns.words.iter().find(|(word, _)| known(word))?.1 {
                        Some(found) => kind = Some(found),
                        None => return Some(Parsed::OtherEvent),
                    }
                }
                Role::Address(unit) => offset = units_if_any(field, unit)?,
                Role::Block(unit) => block = units_if_any(field, unit)?,
                Role::Bytes(_) => bytes = units_if_any(field, self.size_unit)?,
                Role::Device => device = Some(field),
                Role::Major => major = units(field, 1).filter(|&major| major < 1 << 12)?,
                Role::Minor => {
                    let minor = units(field, 1).filter(|&minor| minor < 1 << 20)?;
                    major = (major << 20) | minor;
                }
                Role::Object => object = Some(object_of(field)),
            }
        }
        let kind = kind?;
        let bytes = if kind == RequestKind::Flush { 0 } else { bytes? };
        let offset = match object {
            _ if kind == RequestKind::Flush || (bytes == 0 && (offset.is_none() || block.is_none())) => 0,
            Some(object) => self.objects.place(object, offset?, bytes)?,
            None => block?.checked_add(offset?)?,
        };
        let slot = match device {
            Some(device) => self.device(device, devices)?,
            None => devices.by_number(major as u32)?,
        };
        Some(Parsed::Row(match kind {
            RequestKind::Flush => Row::flush(arrival_ns, slot),
            kind => Row { arrival_ns, offset, bytes, slot, kind },
        }))
    }

    #[inline(always)]
    fn device(&mut self, field: &[u8], devices: &mut DeviceTable) -> Option<u32> {
        let number = || units(field, 1).and_then(|number| u32::try_from(number).ok());
        match self.numbered {
            Some(true) => devices.by_number(number()?),
            Some(false) if field.is_empty() => None,
            Some(false) => devices.by_name(field, |key, count| {
                Some((u32::try_from(count).ok()?, String::from_utf8_lossy(key).into_owned()))
            }),
            None => {
                self.numbered = Some(number().is_some());
                self.device(field, devices)
            }
        }
    }

    fn want(&self, role: Role) -> Want {
        match role {
            Role::Ignored => Want::Anything,
            Role::Time(_) => Want::TimeOrDate(self.unit),
            Role::Address(unit) | Role::Block(unit) => Want::Count(unit),
            Role::Bytes(_) => Want::Count(self.size_unit),
            Role::Device if self.numbered == Some(true) => Want::Device,
            Role::Major => Want::Below(1 << 12),
            Role::Minor => Want::Below(1 << 20),
            Role::Op | Role::Device | Role::Object => Want::Text,
        }
    }
}

impl Parse for Mapped {
    const BLANKS_COUNT: bool = true;

    #[inline(always)]
    fn parse(&mut self, line: &[u8], devices: &mut DeviceTable) -> Option<Parsed> {
        if self.first {
            return self.begin(line, devices);
        }
        match self.row(line, devices) {
            None if self.header.as_deref() == Some(line) => Some(Parsed::Header),
            row => row,
        }
    }

    fn explain(&self, line: &[u8]) -> String {
        let fields = self.split(line);
        self.blame(line, &fields) + &self.moved(fields.len())
    }
}

impl Mapped {
    /// Describes the first column that is wrong.
    fn blame(&self, line: &[u8], fields: &[&[u8]]) -> String {
        if self.columns.by_header() && self.header.is_none() {
            let missing = self.columns.columns.iter().filter_map(|column| column.header.as_deref());
            let missing =
                missing.filter(|&header| position(fields, header).is_none()).map(|header| format!("`{header}`"));
            let missing: Vec<String> = missing.collect();
            return format!("found `{}`, expected a header with {}", shorten(line), missing.join(", "));
        }
        for (i, (field, role)) in fields.iter().zip(&self.roles).enumerate() {
            let known = |word: &String| word == "*" || word.as_bytes().eq_ignore_ascii_case(field);
            if *role == Role::Op && !self.columns.words.iter().any(|(word, _)| known(word)) {
                let expected = self.columns.op().map_or_else(
                    || {
                        "a word such as read, W or trim; --op read=WORD,write=WORD gives the meaning of other words"
                            .to_owned()
                    },
                    |words| format!("one of the words of --op {words}"),
                );
                let earlier = fields[..i].iter().zip(&self.roles).all(|(field, &role)| self.want(role).met(field));
                if earlier {
                    return format!("found `{}` in column {} (op), expected {expected}", shorten(field), i + 1);
                }
            }
        }
        let columns: Vec<(&str, Want)> = self.roles.iter().map(|&role| (role.name(), self.want(role))).collect();
        explain_columns(fields, &columns, columns.len(), None)
    }

    /// Describes a possible cause of other errors where blanks separate columns: names with blanks move the columns behind them.
    fn moved(&self, fields: usize) -> String {
        let header = self.header.as_deref().map_or(fields, |header| self.split(header).len());
        if self.delimiter != Delimiter::Blanks || header == fields {
            return String::new();
        }
        format!(
            "; this line has {fields} columns and the header has {header}: an empty value, or a value with blanks \
             in it, shifts the columns after it (--delimiter)"
        )
    }
}

/// Returns the index of the column with a name in the header.
fn position(fields: &[&[u8]], name: &str) -> Option<usize> {
    fields.iter().position(|field| *field == name.as_bytes())
}

/// The columns of a line, without blanks and quotes at their ends.
struct Fields<'a> {
    line: &'a [u8],
    /// Begin of the next column; beyond the line after the last one.
    at: usize,
    delimiter: Delimiter,
}

impl<'a> Iterator for Fields<'a> {
    type Item = &'a [u8];

    #[inline(always)]
    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.line.get(self.at..)?;
        match self.delimiter {
            Delimiter::Byte(delimiter) => {
                let length = quoted(rest, delimiter)
                    .unwrap_or_else(|| rest.iter().position(|&byte| byte == delimiter).unwrap_or(rest.len()));
                self.at += length + 1;
                Some(unquoted(&rest[..length]))
            }
            Delimiter::Blanks => {
                let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
                let start = rest.iter().position(|byte| !blank(byte))?;
                let length = rest[start..].iter().position(blank).unwrap_or(rest.len() - start);
                self.at += start + length;
                Some(unquoted(&rest[start..start + length]))
            }
        }
    }
}

/// Returns the length of the first of these columns, if it is in quotes that end where the column does. It may contain delimiters, and
/// quotes written twice.
#[inline(always)]
fn quoted(rest: &[u8], delimiter: u8) -> Option<usize> {
    let open = rest.iter().position(|byte| !matches!(byte, b' ' | b'\t'))?;
    if rest[open] != b'"' { None } else { quoted_from(rest, open + 1, delimiter) }
}

#[cold]
fn quoted_from(rest: &[u8], mut at: usize, delimiter: u8) -> Option<usize> {
    loop {
        at += 1 + rest.get(at..)?.iter().position(|&byte| byte == b'"')?;
        match rest.get(at) {
            Some(b'"') => at += 1,
            _ => break,
        }
    }
    let behind = &rest[at..];
    let blanks = behind.iter().take_while(|&&byte| byte != delimiter && matches!(byte, b' ' | b'\t' | b'\r')).count();
    behind.get(blanks).is_none_or(|&byte| byte == delimiter).then_some(at + blanks)
}

#[inline(always)]
fn unquoted(field: &[u8]) -> &[u8] {
    let field = trim(field);
    if let [b'"', within @ .., b'"'] = field { trim(within) } else { field }
}

/// Parses a whole number of units of `unit` bytes; `4096.0` is a whole number.
#[inline(always)]
pub(super) fn units(field: &[u8], unit: u64) -> Option<u64> {
    let mut c = Cursor::new(field);
    let number = c.number()?;
    let whole = match c.bytes.get(c.at..)? {
        [] => true,
        [b'.', zeros @ ..] => !zeros.is_empty() && zeros.iter().all(|&byte| byte == b'0'),
        _ => false,
    };
    if whole { number.checked_mul(unit) } else { None }
}

/// Parses [`units`]. The inner value is `None` for an empty field or a number that is not valid: in many logs a flush is at sector -1.
#[inline(always)]
fn units_if_any(field: &[u8], unit: u64) -> Option<Option<u64>> {
    match units(field, unit) {
        Some(number) => Some(Some(number)),
        None => is_of_none(field).then_some(None),
    }
}

#[cold]
fn is_of_none(field: &[u8]) -> bool {
    field.strip_prefix(b"-").unwrap_or(field).iter().all(u8::is_ascii_digit)
}

/// Parses a number of units, a date with a time, or a time of day.
#[inline(always)]
pub(super) fn time(field: &[u8], unit: TimeUnit) -> Option<u64> {
    let mut c = Cursor::new(field);
    match c.time(unit.ns()) {
        Some(time) if c.end() => Some(time),
        _ => moment(field),
    }
}

/// Parses `2020-01-31 13:05:59.25`, with `T` for the blank or `Z` at the end, in ns since 1970; or a time of day, `1:05:59 PM`.
#[cold]
fn moment(field: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(field).ok()?;
    let text = text.strip_suffix('Z').unwrap_or(text);
    let (days, clock) = match text.split_once(['T', ' ']) {
        Some((date, clock)) if date.contains('-') || date.contains('/') => (days_since_1970(date)?, clock),
        _ => (0, text),
    };
    let (clock, afternoon) = match clock.rsplit_once(' ') {
        Some((clock, "AM" | "am")) => (clock, Some(false)),
        Some((clock, "PM" | "pm")) => (clock, Some(true)),
        _ => (clock, None),
    };
    let mut parts = clock.splitn(3, ':');
    let mut whole = || digits(parts.next()?, 2);
    let (hour, minute) = (whole()?, whole()?);
    let mut c = Cursor::new(parts.next()?.as_bytes());
    let seconds_ns = c.time(NS_PER_S).filter(|&ns| c.end() && ns < 61 * NS_PER_S)?;
    let hour = match afternoon {
        None if hour < 24 => hour,
        Some(late) if (1..=12).contains(&hour) => hour % 12 + if late { 12 } else { 0 },
        _ => return None,
    };
    let minutes = (minute < 60).then_some((days * 24 + hour) * 60 + minute)?;
    (minutes * 60).checked_mul(NS_PER_S)?.checked_add(seconds_ns)
}

fn digits(text: &str, most: usize) -> Option<u64> {
    let good = (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if good { text.parse().ok() } else { None }
}

/// Source: H. Hinnant, "chrono-compatible low-level date algorithms", 2013 (days_from_civil).
fn days_since_1970(date: &str) -> Option<u64> {
    let mut parts = date.splitn(3, ['-', '/']);
    let year = digits(parts.next()?, 4)?;
    let (month, day) = (digits(parts.next()?, 2)?, digits(parts.next()?, 2)?);
    if !(1970..2500).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Years begin in March, so that the leap day comes last.
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year / 400, year % 400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    Some(days - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read() {
        let at = |text: &str| moment(text.as_bytes());
        assert_eq!(at("1970-01-01 00:00:00"), Some(0));
        assert_eq!(at("2016-02-22T10:00:00.013118Z"), Some(1_456_135_200_013_118_000));
        assert_eq!(at("2000/03/01 00:00:01"), Some(951_868_801_000_000_000));
        assert_eq!(at("0:00:01.5"), Some(1_500_000_000));
        assert_eq!(at("12:00:01 AM"), Some(1_000_000_000));
        assert_eq!(at("1:05:59 PM"), Some((13 * 3600 + 5 * 60 + 59) * 1_000_000_000));
        for bad in [
            "",
            ":",
            "1:2",
            "24:00:00",
            "13:00:00 PM",
            "1:60:00",
            "1:00:61",
            "2016-13-01 0:0:0",
            "1:0:0x",
            "2016-01-01",
        ] {
            assert_eq!(at(bad), None, "{bad}");
        }
    }

    #[test]
    fn whole_numbers_may_end_in_zeros() {
        assert_eq!(units(b"4096.0", 2), Some(8192));
        for bad in [&b"4096.5"[..], b"4096.", b".0", b"-1", b"1e3", b"", b"18446744073709551615"] {
            assert_eq!(units(bad, 2), None);
        }
    }
}
