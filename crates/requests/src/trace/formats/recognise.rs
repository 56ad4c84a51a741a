//! Recognising the format of a file from its first lines.

use super::blkparse::major_minor;
use super::commas::{is_csv_header, is_msr_header, read_or_write};
use super::cursor::{Cursor, hexadecimal};
use super::explain::{Want, shorten, split_blanks, split_commas, trim};
use super::mapped::Mapped;
use super::presets;
use crate::trace::{Format, TimeUnit};

/// The format of a file, as far as its first lines tell.
pub(in super::super) enum Recognition {
    Certain(Format),
    /// Five columns of whole numbers: the times may be nanoseconds (MQSim) or milliseconds (DiskSim).
    FiveWholeNumbers {
        first: String,
        lines: usize,
        span: u64,
    },
    Unknown {
        line: u64,
        first: String,
        /// A hint where the text looks like a format in a version that is not read; otherwise empty.
        hint: &'static str,
    },
    OnlyComments,
}

/// Recognises a format from the complete lines at the beginning of a file.
pub(in super::super) fn recognise(sample: &[u8]) -> Recognition {
    let lines = sample.split(|&byte| byte == b'\n').map(trim).enumerate();
    let mut first = None;
    let mut five = 0;
    let (mut earliest, mut latest) = (u64::MAX, 0);
    for (i, line) in lines.filter(|(_, line)| !line.is_empty() && line[0] != b'#') {
        let (first_at, first_line) = *first.get_or_insert((i, line));
        let unknown = || Recognition::Unknown {
            line: first_at as u64 + 1,
            first: shorten(first_line),
            hint: if first_line.starts_with(b"fio version ") {
                "; of fio's iologs, versions 2 and 3 are read"
            } else {
                ""
            },
        };
        if five == 0 {
            if line == b"fio version 2 iolog" || line == b"fio version 3 iolog" {
                return Recognition::Certain(Format::Fio);
            }
            if is_csv_header(line) {
                return Recognition::Certain(Format::Csv);
            }
            let fields = split_commas(line);
            if is_msr_header(line) && fields.len() == 7 {
                return Recognition::Certain(Format::Msr);
            }
            if fields.len() == 7 && Want::Time(TimeUnit::Ns).met(fields[0]) && read_or_write(fields[3]).is_some() {
                return Recognition::Certain(Format::Msr);
            }
            if fields.len() >= 5
                && fields[..3].iter().all(|field| Want::Units(1).met(field))
                && matches!(fields[3], b"r" | b"R" | b"w" | b"W")
            {
                return Recognition::Certain(Format::Spc);
            }
            if first_at == i
                && let Some(format) = presets::recognise(line, |columns, count| {
                    Mapped::new(columns.clone(), columns.time_unit(), columns.size_unit()).fits(line, count)
                })
            {
                return Recognition::Certain(format);
            }
        }
        let fields = split_blanks(line);
        if five == 0 && fields.len() >= 6 && major_minor(fields[0]).is_some() && Want::Time(TimeUnit::S).met(fields[3])
        {
            return Recognition::Certain(Format::Blkparse);
        }
        if fields.len() == 5 && Want::Time(TimeUnit::Ns).met(fields[0]) {
            if fields[1..4].iter().any(|field| !Want::Units(1).met(field)) || hexadecimal(fields[4]).is_none() {
                return unknown();
            }
            if fields[0].contains(&b'.') {
                return Recognition::Certain(Format::Disksim);
            }
            five += 1;
            let time = Cursor::new(fields[0]).number().unwrap_or(0);
            earliest = earliest.min(time);
            latest = latest.max(time);
        } else if five > 0 {
            break;
        } else if i > first_at + 20 || !blkparse_preamble(line) {
            // blkparse may list the files that it read before the first event; no other format begins with prose.
            return unknown();
        }
    }
    match first {
        None => Recognition::OnlyComments,
        Some((_, line)) if five > 0 => {
            Recognition::FiveWholeNumbers { first: shorten(line), lines: five, span: latest - earliest }
        }
        Some((i, line)) => Recognition::Unknown { line: i as u64 + 1, first: shorten(line), hint: "" },
    }
}

fn blkparse_preamble(line: &[u8]) -> bool {
    line.starts_with(b"Input file ") || line.starts_with(b"===")
}
