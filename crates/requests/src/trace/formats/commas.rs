//! Formats whose columns are separated by commas: MSR Cambridge, SPC, softsense's own.

use super::cursor::Cursor;
use super::explain::{Want, explain_columns, shorten, split_commas, trim};
use super::{CSV_HEADER, DeviceTable, Parse, Parsed, Row, SECTOR};
use crate::RequestKind;
use crate::trace::TimeUnit;

/// MSR Cambridge: timestamp, hostname, disk number, type, offset, size, response time.
pub(in super::super) struct Msr {
    pub scale: u64,
    pub unit: TimeUnit,
    pub size_unit: u64,
    pub first: bool,
}

impl Parse for Msr {
    #[inline(always)]
    fn parse(&mut self, line: &[u8], devices: &mut DeviceTable) -> Option<Parsed> {
        if std::mem::take(&mut self.first) && is_msr_header(line) {
            return Some(Parsed::Header);
        }
        let mut c = Cursor::new(line);
        let arrival_ns = c.time(self.scale)?;
        c.comma()?;
        let device_start = c.at;
        c.field();
        c.comma()?;
        c.number()?;
        let device = &line[device_start..c.at];
        c.comma()?;
        let kind = read_or_write(c.field())?;
        c.comma()?;
        let offset = c.number()?;
        c.comma()?;
        let size = c.number()?;
        c.comma()?;
        // The response time of the traced disk says nothing about the simulated one, but it must be a number.
        c.number()?;
        if !c.end() {
            return None;
        }
        let slot = devices.by_name(device, |key, _| {
            let mut fields = key.split(|&byte| byte == b',');
            let host = String::from_utf8_lossy(trim(fields.next()?)).into_owned();
            let number = Cursor::new(trim(fields.next()?)).number()?;
            Some((u32::try_from(number).ok()?, format!("{host}_{number}")))
        })?;
        Some(Parsed::Row(Row { arrival_ns, offset, bytes: size.checked_mul(self.size_unit)?, slot, kind }))
    }

    fn explain(&self, line: &[u8]) -> String {
        let columns = [
            ("timestamp", Want::Time(self.unit)),
            ("hostname", Want::Text),
            ("disk number", Want::Device),
            ("type", Want::Kind),
            ("offset", Want::Units(1)),
            ("size", Want::Units(self.size_unit)),
            ("response time", Want::Number("a whole number of ticks of 100 ns")),
        ];
        explain_columns(&split_commas(line), &columns, 7, Some(7))
    }
}

pub(super) fn is_msr_header(line: &[u8]) -> bool {
    line.len() >= 9 && line[..9].eq_ignore_ascii_case(b"timestamp")
}

pub(super) fn read_or_write(text: &[u8]) -> Option<RequestKind> {
    match text {
        b"Read" => Some(RequestKind::Read),
        b"Write" => Some(RequestKind::Write),
        _ => {
            let text = trim(text);
            if text.eq_ignore_ascii_case(b"read") {
                Some(RequestKind::Read)
            } else if text.eq_ignore_ascii_case(b"write") {
                Some(RequestKind::Write)
            } else {
                None
            }
        }
    }
}

/// UMass SPC: ASU, LBA, size in bytes, opcode, timestamp in seconds; the specification allows more columns.
pub(in super::super) struct Spc {
    pub scale: u64,
    pub unit: TimeUnit,
    pub size_unit: u64,
}

impl Parse for Spc {
    #[inline(always)]
    fn parse(&mut self, line: &[u8], devices: &mut DeviceTable) -> Option<Parsed> {
        let mut c = Cursor::new(line);
        let device = u32::try_from(c.number()?).ok()?;
        c.comma()?;
        let lba = c.number()?;
        c.comma()?;
        let size = c.number()?;
        c.comma()?;
        let kind = match c.peek()? {
            b'r' | b'R' => RequestKind::Read,
            b'w' | b'W' => RequestKind::Write,
            _ => return None,
        };
        c.at += 1;
        c.comma()?;
        let arrival_ns = c.time(self.scale)?;
        if !c.end() {
            c.comma()?;
        }
        Some(Parsed::Row(Row {
            arrival_ns,
            offset: lba.checked_mul(SECTOR)?,
            bytes: size.checked_mul(self.size_unit)?,
            slot: devices.by_number(device)?,
            kind,
        }))
    }

    fn explain(&self, line: &[u8]) -> String {
        let columns = [
            ("ASU", Want::Device),
            ("LBA", Want::Units(SECTOR)),
            ("size", Want::Units(self.size_unit)),
            ("opcode", Want::OneOf(&["r", "R", "w", "W"], "r, R, w or W")),
            ("timestamp", Want::Time(self.unit)),
        ];
        explain_columns(&split_commas(line), &columns, 5, None)
    }
}

/// softsense's own CSV.
pub(in super::super) struct Csv {
    pub scale: u64,
    pub unit: TimeUnit,
    pub size_unit: u64,
    pub header: bool,
}

impl Parse for Csv {
    #[inline(always)]
    fn parse(&mut self, line: &[u8], devices: &mut DeviceTable) -> Option<Parsed> {
        if !self.header {
            self.header = is_csv_header(line);
            return self.header.then_some(Parsed::Header);
        }
        let mut c = Cursor::new(line);
        let arrival_ns = c.number()?.checked_mul(self.scale)?;
        c.comma()?;
        let device = u32::try_from(c.number()?).ok()?;
        c.comma()?;
        let kind = match trim(c.field()) {
            b"read" => RequestKind::Read,
            b"write" => RequestKind::Write,
            b"trim" => RequestKind::Trim,
            b"fua_write" => RequestKind::FuaWrite,
            b"flush" => RequestKind::Flush,
            _ => return None,
        };
        c.comma()?;
        let offset = c.number()?;
        c.comma()?;
        let bytes = c.number()?.checked_mul(self.size_unit)?;
        if !c.end() {
            return None;
        }
        let slot = devices.by_number(device)?;
        Some(Parsed::Row(match kind {
            RequestKind::Flush => Row::flush(arrival_ns, slot),
            _ => Row { arrival_ns, offset, bytes, slot, kind },
        }))
    }

    fn explain(&self, line: &[u8]) -> String {
        if !self.header {
            return format!("found `{}`, expected the header `{CSV_HEADER}`", shorten(line));
        }
        let columns = [
            ("arrival_ns", Want::WholeTime(self.unit)),
            ("device", Want::Device),
            (
                "kind",
                Want::OneOf(&["read", "write", "trim", "fua_write", "flush"], "read, write, trim, fua_write or flush"),
            ),
            ("offset_bytes", Want::Units(1)),
            ("bytes", Want::Units(self.size_unit)),
        ];
        explain_columns(&split_commas(line), &columns, 5, Some(5))
    }
}

pub(super) fn is_csv_header(line: &[u8]) -> bool {
    let header: Vec<u8> = line.iter().copied().filter(|byte| !matches!(byte, b' ' | b'\t')).collect();
    header == CSV_HEADER.as_bytes()
}
