//! The meaning of the columns of a text trace, from the user or from a preset.

use std::path::Path;

use serde::{Deserialize, Serialize};
use softsense_base::{Error, ErrorKind, Result, distance, from_toml, read_text};

use super::formats::preset;
use super::options::{Format, TimeUnit, parse_size};
use crate::RequestKind;

/// The unit of `lbn` unless another one is given, bytes.
const SECTOR: u64 = 512;
const MAX_UNIT: u64 = 1 << 30;
const MAX_COLUMNS: usize = 256;

/// The meaning of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Ignored,
    /// Arrival, in this unit; dates and times of day are read whatever the unit.
    Time(TimeUnit),
    /// Read, write or trim.
    Op,
    /// First byte, in units of this many bytes.
    Address(u64),
    /// Number of a block of this many bytes; `offset`, if there is such a column, counts within the block.
    Block(u64),
    /// Size, in units of this many bytes.
    Bytes(u64),
    Device,
    /// Major part of Linux's device number, which takes two columns.
    Major,
    Minor,
    /// Name of a file or an object, which has no address: it gets one when it first appears.
    Object,
}

/// Names of roles.
const NAMES: [(&str, Role); 19] = [
    ("-", Role::Ignored),
    ("_", Role::Ignored),
    ("response", Role::Ignored),
    ("time", Role::Time(TimeUnit::S)),
    ("op", Role::Op),
    ("offset", Role::Address(1)),
    ("lbn", Role::Address(SECTOR)),
    ("lba", Role::Address(SECTOR)),
    ("sector", Role::Address(SECTOR)),
    ("block", Role::Block(0)),
    ("bytes", Role::Bytes(1)),
    ("size", Role::Bytes(1)),
    ("length", Role::Bytes(1)),
    ("device", Role::Device),
    ("volume", Role::Device),
    ("major", Role::Major),
    ("minor", Role::Minor),
    ("object", Role::Object),
    ("file", Role::Object),
];

impl Role {
    /// Returns the name of the role in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Role::Ignored => "ignored",
            Role::Time(_) => "time",
            Role::Op => "op",
            Role::Address(SECTOR) => "lbn",
            Role::Address(_) => "offset",
            Role::Block(_) => "block",
            Role::Bytes(_) => "bytes",
            Role::Device => "device",
            Role::Major => "major",
            Role::Minor => "minor",
            Role::Object => "object",
        }
    }

    /// Returns the role with the unit that the user wrote after its name.
    fn with_unit(self, unit: &str) -> std::result::Result<Role, String> {
        let one = format!("1{unit}");
        let size = || match parse_size(if unit.starts_with(|c: char| c.is_ascii_digit()) { unit } else { &one }) {
            Ok(size) if (1..=MAX_UNIT).contains(&size) => Ok(size),
            _ => Err(format!("found unit `{unit}` of `{}`, expected 1 B to 1 GiB, such as 512B or 4KiB", self.name())),
        };
        match self {
            Role::Time(_) => unit.parse().map(Role::Time).map_err(|expected| format!("`{}`: {expected}", self.name())),
            Role::Address(_) => size().map(Role::Address),
            Role::Block(_) => size().map(Role::Block),
            Role::Bytes(_) => size().map(Role::Bytes),
            _ => Err(format!(
                "found unit `{unit}` after `{}`, expected no unit: only times, addresses and sizes have units",
                self.name()
            )),
        }
    }
}

/// One column and, where columns are found by the header, its name there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Column {
    pub role: Role,
    pub header: Option<String>,
}

/// The separator of columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delimiter {
    Byte(u8),
    /// One or more spaces or tabs.
    Blanks,
}

impl Delimiter {
    fn parse(text: &str) -> Result<Delimiter> {
        Ok(match text {
            "comma" => Delimiter::Byte(b','),
            "tab" | "\\t" | "\t" => Delimiter::Byte(b'\t'),
            "semicolon" => Delimiter::Byte(b';'),
            "pipe" => Delimiter::Byte(b'|'),
            "blank" | "blanks" | "space" | " " => Delimiter::Blanks,
            _ => match text.as_bytes() {
                &[byte] if byte.is_ascii_punctuation() && !matches!(byte, b'.' | b'-' | b'#' | b'"') => {
                    Delimiter::Byte(byte)
                }
                _ => {
                    let message = format!(
                        "found `{}`, expected comma, tab, blank, semicolon, pipe or one of , ; | :",
                        text.escape_default()
                    );
                    return Err(Error::config("--delimiter", message));
                }
            },
        })
    }

    /// Returns the delimiter as `--delimiter` takes it.
    pub(crate) fn name(self) -> String {
        match self {
            Delimiter::Byte(b',') => "comma".to_owned(),
            Delimiter::Byte(b'\t') => "tab".to_owned(),
            Delimiter::Byte(b';') => "semicolon".to_owned(),
            Delimiter::Byte(b'|') => "pipe".to_owned(),
            Delimiter::Byte(byte) => char::from(byte).to_string(),
            Delimiter::Blanks => "blank".to_owned(),
        }
    }
}

/// Words of the op column, in lower case, and the kinds of request that they stand for; a line with `None` is not a request.
type Words = Vec<(String, Option<RequestKind>)>;

fn usual_words() -> Words {
    let of = |kind, words: &[&str]| words.iter().map(|&word| (word.to_owned(), Some(kind))).collect::<Words>();
    let mut all = of(RequestKind::Read, &["r", "read", "rd"]);
    all.extend(of(RequestKind::Write, &["w", "write", "wr"]));
    all.extend(of(RequestKind::Trim, &["d", "trim", "discard", "unmap"]));
    all.extend(of(RequestKind::FuaWrite, &["fua_write"]));
    all.extend(of(RequestKind::Flush, &["flush"]));
    all
}

fn parse_words(text: &str) -> Result<Words> {
    let wrong = |message: String| Err(Error::config("--op", message));
    let mut words: Words = Vec::new();
    for part in text.split(',') {
        let Some((kind, list)) = part.split_once('=') else {
            return wrong(format!("found `{part}`, expected KIND=WORD, such as read=28,write=2a"));
        };
        let kind = match kind.trim() {
            "read" => Some(RequestKind::Read),
            "write" => Some(RequestKind::Write),
            "trim" => Some(RequestKind::Trim),
            "fua_write" => Some(RequestKind::FuaWrite),
            "flush" => Some(RequestKind::Flush),
            "skip" => None,
            other => return wrong(format!("found `{other}`, expected read, write, trim, fua_write, flush or skip")),
        };
        for word in list.split('/') {
            let word = word.trim().to_ascii_lowercase();
            if words.iter().any(|(known, _)| *known == word) {
                return wrong(format!("found `{word}` twice, expected one meaning for each word"));
            }
            words.push((word, kind));
        }
    }
    if words.iter().all(|(_, kind)| kind.is_none()) {
        return wrong(format!(
            "found `{text}`, expected at least one word of reads, writes, trims or flushes, such as read=28,write=2a"
        ));
    }
    // The word that stands for all others comes last.
    words.sort_by_key(|(word, _)| word == "*");
    Ok(words)
}

/// The columns of a text trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns {
    written: ColumnsFile,
    pub(super) columns: Vec<Column>,
    /// The delimiter; `None`: recognised from the first line.
    pub(super) delimiter: Option<Delimiter>,
    pub(super) skip_header: u32,
    pub(super) words: Words,
}

/// The columns as text: the content of a file of columns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ColumnsFile {
    columns: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    delimiter: Option<String>,
    #[serde(default, skip_serializing_if = "is_zero")]
    skip_header: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    op: Option<String>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Columns {
    /// Parses columns from the left, such as `time:us,op,bytes,lbn:512B`; further columns of a line are ignored.
    ///
    /// A column is a name, then possibly a unit after a colon, then possibly its name in the header after an equals sign. Either all
    /// columns have a name in the header, or none. Names: `time` (s), `op`, `offset` (bytes), `lbn` (512 B), `block` (with a unit),
    /// `bytes`, `device`, `major` and `minor`, `object`, and `-` for a column that is ignored. `delimiter` is a name or a character; None:
    /// recognised from the first line. At the beginning `skip_header` lines are skipped; a header is recognised without this. `op` gives
    /// the meaning of words: `read=28/88,write=2a,skip=*`.
    ///
    /// # Errors
    /// Names the option, its value and the values that were expected.
    pub fn new(columns: &str, delimiter: Option<&str>, skip_header: u32, op: Option<&str>) -> Result<Columns> {
        let written = ColumnsFile {
            columns: columns.to_owned(),
            delimiter: delimiter.map(str::to_owned),
            skip_header,
            op: op.map(str::to_owned),
        };
        Self::of(written)
    }

    /// Parses a TOML file with `columns` and, where they are needed, `delimiter`, `skip_header` and `op`.
    ///
    /// # Errors
    /// Names the file, besides the errors of [`Columns::new`].
    pub fn from_toml(text: &str, origin: &str) -> Result<Columns> {
        let written: ColumnsFile = from_toml(text, ErrorKind::Config, origin)?;
        Self::of(written).map_err(|error| {
            let field = error.place().trim_start_matches('-').replace('-', "_");
            Error::config(origin, format!("{field}: {}", error.message()))
        })
    }

    /// Returns the format and the columns that options ask for. The format is a name, or a file of columns that ends in `.toml`.
    /// `delimiter`, `skip_header` and `op` replace those of the format, if the format is a mapping of columns.
    ///
    /// # Errors
    /// Errors of [`Columns::new`] and [`Columns::from_toml`]; an unknown format; options that exclude each other.
    pub fn asked(
        format: Option<&str>,
        columns: Option<&str>,
        delimiter: Option<&str>,
        skip_header: u32,
        op: Option<&str>,
    ) -> Result<(Option<Format>, Option<Columns>)> {
        if let (Some(format), Some(_)) = (format, columns)
            && format != Format::Columns.name()
        {
            return Err(Error::config(
                "--columns",
                format!(
                    "found together with --format {format}, expected only one of the two options: this format has \
                     its own columns"
                ),
            ));
        }
        if let Some(columns) = columns {
            return Ok((None, Some(Self::new(columns, delimiter, skip_header, op)?)));
        }
        let (format, known) = match format {
            Some(file) if file.ends_with(".toml") => {
                let text = read_text(Path::new(file)).map_err(|error| Error::io(file, &error))?;
                (None, Some(Self::from_toml(&text, file)?))
            }
            Some(name) => {
                let format = name.parse().map_err(|message: String| Error::config("--format", message))?;
                (Some(format), preset(format))
            }
            None => (None, None),
        };
        let options =
            [("--delimiter", delimiter.is_some()), ("--skip-header", skip_header > 0), ("--op", op.is_some())];
        let Some((option, _)) = options.into_iter().find(|&(_, given)| given) else {
            return Ok((format, if format.is_none() { known } else { None }));
        };
        let Some(mut written) = known.map(|columns| columns.written) else {
            return Err(Error::config(
                option,
                "found without --columns, expected --columns with it, or a --format that is made of columns",
            ));
        };
        written.delimiter = delimiter.map(str::to_owned).or(written.delimiter);
        written.op = op.map(str::to_owned).or(written.op);
        written.skip_header = if skip_header > 0 { skip_header } else { written.skip_header };
        Ok((format, Some(Self::of(written)?)))
    }

    /// Formats the columns as the file that [`Columns::from_toml`] reads.
    pub fn to_toml(&self) -> String {
        toml::to_string(&self.written).expect("texts and a number are TOML")
    }

    fn of(written: ColumnsFile) -> Result<Columns> {
        let delimiter = written.delimiter.as_deref().map(Delimiter::parse).transpose()?;
        let words = written.op.as_deref().map_or_else(|| Ok(usual_words()), parse_words)?;
        let columns = parse_columns(&written.columns)?;
        Ok(Columns { columns, delimiter, skip_header: written.skip_header, words, written })
    }

    /// Returns the columns as they were written.
    pub(super) fn text(&self) -> &str {
        &self.written.columns
    }

    /// Returns the words of the op column as they were written.
    pub(super) fn op(&self) -> Option<&str> {
        self.written.op.as_deref()
    }

    /// Whether columns are found by their names in the header.
    pub(super) fn by_header(&self) -> bool {
        self.columns.iter().any(|column| column.header.is_some())
    }

    pub(super) fn has(&self, wanted: impl Fn(Role) -> bool) -> bool {
        self.columns.iter().any(|column| wanted(column.role))
    }

    pub(super) fn time_unit(&self) -> TimeUnit {
        self.columns
            .iter()
            .find_map(|column| if let Role::Time(unit) = column.role { Some(unit) } else { None })
            .unwrap_or(TimeUnit::Ns)
    }

    pub(super) fn size_unit(&self) -> u64 {
        self.columns
            .iter()
            .find_map(|column| if let Role::Bytes(unit) = column.role { Some(unit) } else { None })
            .unwrap_or(1)
    }
}

fn parse_columns(text: &str) -> Result<Vec<Column>> {
    let wrong = |message: String| Error::config("--columns", message);
    let columns: Vec<Column> = text.split(',').map(|part| parse_column(part).map_err(wrong)).collect::<Result<_>>()?;
    if columns.len() > MAX_COLUMNS {
        return Err(wrong(format!("found {} columns, expected at most {MAX_COLUMNS}", columns.len())));
    }
    if let Some(column) = columns.iter().find(|column| column.header.is_some() != columns[0].header.is_some()) {
        let name = column.role.name();
        return Err(wrong(format!(
            "found `{name}` unlike the other columns, expected =HEADER after every column or after none"
        )));
    }
    let count = |wanted: &dyn Fn(Role) -> bool| columns.iter().filter(|column| wanted(column.role)).count();
    type Wanted = fn(Role) -> bool;
    let each: [(&str, Wanted); 9] = [
        ("time", |role| matches!(role, Role::Time(_))),
        ("op", |role| role == Role::Op),
        ("bytes", |role| matches!(role, Role::Bytes(_))),
        ("offset or lbn", |role| matches!(role, Role::Address(_))),
        ("block", |role| matches!(role, Role::Block(_))),
        ("device", |role| role == Role::Device),
        ("major", |role| role == Role::Major),
        ("minor", |role| role == Role::Minor),
        ("object", |role| role == Role::Object),
    ];
    if let Some((name, _)) = each.iter().find(|(_, wanted)| count(wanted) > 1) {
        return Err(wrong(format!("found `{text}`, expected the column `{name}` only once")));
    }
    if let Some((name, _)) = each[..3].iter().find(|(_, wanted)| count(wanted) == 0) {
        return Err(wrong(format!("found `{text}`, expected a column `{name}`")));
    }
    let has = |at: usize| count(&each[at].1) > 0;
    if !(has(3) || has(4) || has(8)) {
        return Err(wrong(format!("found `{text}`, expected a column `offset`, `lbn`, `block` or `object`")));
    }
    if has(4) && has(8) {
        return Err(wrong(format!("found `{text}`, expected only one of the columns `block` and `object`")));
    }
    if has(6) != has(7) || (has(5) && has(6)) {
        return Err(wrong(format!(
            "found `{text}`, expected either the column `device`, or both columns `major` and `minor`"
        )));
    }
    Ok(columns)
}

fn parse_column(part: &str) -> std::result::Result<Column, String> {
    let (column, header) = match part.split_once('=') {
        Some((column, header)) if !header.trim().is_empty() => (column, Some(header.trim().to_owned())),
        Some((column, _)) => {
            return Err(format!("found `{column}=`, expected the name of a column of the header after the sign ="));
        }
        None => (part, None),
    };
    let (name, unit) = match column.split_once(':') {
        Some((name, unit)) => (name.trim(), Some(unit.trim())),
        None => (column.trim(), None),
    };
    let Some(&(_, role)) = NAMES.iter().find(|(known, _)| *known == name) else {
        let best = NAMES.iter().map(|(known, _)| *known).min_by_key(|known| distance(name, known));
        let meant = best
            .filter(|best| distance(name, best).1 < name.len().min(best.len()))
            .map(|best| format!("; did you mean `{best}`?"));
        return Err(format!(
            "found `{name}`, expected time, op, offset, lbn, block, bytes, device, major, minor, object or - for a \
             column that is ignored{}",
            meant.unwrap_or_default()
        ));
    };
    let role = match unit {
        Some(unit) => role.with_unit(unit)?,
        None if role == Role::Block(0) => {
            return Err("found `block` without a size, expected the size of a block, such as block:8MiB".to_owned());
        }
        None => role,
    };
    Ok(Column { role, header })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(columns: &str, delimiter: Option<&str>, op: Option<&str>) -> String {
        Columns::new(columns, delimiter, 0, op).unwrap_err().to_string()
    }

    #[test]
    fn what_is_wrong_with_columns_is_told_with_the_option() {
        const GOOD: &str = "time:us,op,bytes,lbn:512B";
        for (columns, says) in [
            ("", "--columns: found ``, expected time, op"),
            ("time,op,bytes,lbnn", "found `lbnn`, expected time, op"),
            ("time,op,bytes,lbnn", "did you mean `lbn`?"),
            ("time,op,bytes", "expected a column `offset`, `lbn`, `block` or `object`"),
            ("op,bytes,lbn", "expected a column `time`"),
            ("time,bytes,lbn", "expected a column `op`"),
            ("time,op,lbn", "expected a column `bytes`"),
            ("time,op,bytes,size,lbn", "expected the column `bytes` only once"),
            ("time,op,bytes,lbn,offset", "expected the column `offset or lbn` only once"),
            ("time:weeks,op,bytes,lbn", "found `weeks`, expected ns, 100ns, us, ms or s"),
            ("time,op,bytes:yards,lbn", "found unit `yards` of `bytes`, expected 1 B to 1 GiB"),
            ("time,op,bytes:0,lbn", "found unit `0` of `bytes`"),
            ("time,op:x,bytes,lbn", "found unit `x` after `op`, expected no unit"),
            ("time,op,bytes,block", "expected the size of a block, such as block:8MiB"),
            ("time,op,bytes,lbn,major", "expected either the column `device`, or both columns `major` and `minor`"),
            ("time=t,op,bytes=b,lbn=l", "expected =HEADER after every column or after none"),
            ("time=,op,bytes,lbn", "expected the name of a column of the header"),
        ] {
            let error = wrong(columns, None, None);
            assert!(error.starts_with("--columns: ") && error.contains(says), "{columns}: {error}");
        }
        for (delimiter, says) in
            [("", "found ``"), ("commas", "found `commas`, expected comma, tab"), ("a", "found `a`")]
        {
            let error = wrong(GOOD, Some(delimiter), None);
            assert!(error.starts_with("--delimiter: ") && error.contains(says), "{error}");
        }
        for (op, says) in [
            ("read", "found `read`, expected KIND=WORD"),
            ("reed=28", "found `reed`, expected read, write, trim, fua_write, flush or skip"),
            ("read=1,write=1", "found `1` twice"),
            ("skip=*", "expected at least one word of reads"),
        ] {
            let error = wrong(GOOD, None, Some(op));
            assert!(error.starts_with("--op: ") && error.contains(says), "{error}");
        }
    }

    #[test]
    fn columns_are_kept_in_a_file() {
        let columns = Columns::new("time:us,op,-,bytes,lbn:512B", Some("tab"), 2, Some("read=28,write=2a")).unwrap();
        assert_eq!(Columns::from_toml(&columns.to_toml(), "my.toml").unwrap(), columns);
        let plain = Columns::new("time,op,bytes,offset", None, 0, None).unwrap();
        assert_eq!(plain.to_toml(), "columns = \"time,op,bytes,offset\"\n");
        assert_eq!(Columns::from_toml(&plain.to_toml(), "my.toml").unwrap(), plain);
        for (text, says) in [
            ("columns = 3", "my.toml:1: found 3, expected a string"),
            ("\ncolums = ''", "my.toml:2: unknown field `colums`"),
            ("columns = 'time'", "my.toml: columns: found `time`, expected a column `op`"),
            ("columns = 'time,op,bytes,lbn'\nskip_header = -1", "my.toml:2: found"),
        ] {
            let error = Columns::from_toml(text, "my.toml").unwrap_err().to_string();
            assert!(error.starts_with(says), "{error}");
        }
    }
}
