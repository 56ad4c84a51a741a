//! Formats whose columns are separated by blanks: DiskSim, MQSim, fio.

use super::cursor::{Cursor, hexadecimal};
use super::explain::{Want, explain_columns, shorten, split_blanks};
use super::{DeviceTable, Parse, Parsed, Row, SECTOR};
use crate::RequestKind;
use crate::trace::TimeUnit;

/// DiskSim and MQSim: arrival, device, start LBA, size, type, separated by blanks.
pub(in super::super) struct FiveColumns {
    pub scale: u64,
    pub unit: TimeUnit,
    /// MQSim times are whole nanoseconds; a decimal point means that the file is something else.
    pub whole_time: bool,
    pub size_unit: u64,
    /// DiskSim's flags are hexadecimal and bit 0 is the read bit; MQSim has 0 and 1.
    pub flags: bool,
}

impl Parse for FiveColumns {
    #[inline(always)]
    fn parse(&mut self, line: &[u8], devices: &mut DeviceTable) -> Option<Parsed> {
        let mut c = Cursor::new(line);
        let arrival_ns = if self.whole_time { c.number()?.checked_mul(self.scale)? } else { c.time(self.scale)? };
        if !c.blanks() {
            return None;
        }
        let device = u32::try_from(c.number()?).ok()?;
        if !c.blanks() {
            return None;
        }
        let lba = c.number()?;
        if !c.blanks() {
            return None;
        }
        let size = c.number()?;
        if !c.blanks() {
            return None;
        }
        let read = match c.bytes.get(c.at..)? {
            b"0" => false,
            b"1" => true,
            flags if self.flags => hexadecimal(flags)? & 1 == 1,
            _ => return None,
        };
        Some(Parsed::Row(Row {
            arrival_ns,
            offset: lba.checked_mul(SECTOR)?,
            bytes: size.checked_mul(self.size_unit)?,
            slot: devices.by_number(device)?,
            kind: if read { RequestKind::Read } else { RequestKind::Write },
        }))
    }

    fn explain(&self, line: &[u8]) -> String {
        let time = if self.whole_time { Want::WholeTime(self.unit) } else { Want::Time(self.unit) };
        let kind = if self.flags {
            Want::Hexadecimal("hexadecimal flags, of which bit 0 is set for a read")
        } else {
            Want::OneOf(&["0", "1"], "0 (write) or 1 (read)")
        };
        let columns = [
            ("arrival time", time),
            ("device", Want::Device),
            ("start LBA", Want::Units(SECTOR)),
            ("size", Want::Units(self.size_unit)),
            ("type", kind),
        ];
        explain_columns(&split_blanks(line), &columns, 5, Some(5))
    }
}

/// fio's iolog, versions 2 and 3. Version 2 has times only in `wait` lines, version 3 on each line.
pub(in super::super) struct Fio {
    pub scale: u64,
    pub unit: TimeUnit,
    pub size_unit: u64,
    pub version: u8,
    pub clock_ns: u64,
}

impl Parse for Fio {
    #[inline(always)]
    fn parse(&mut self, line: &[u8], devices: &mut DeviceTable) -> Option<Parsed> {
        if self.version == 0 {
            self.version = match line {
                b"fio version 2 iolog" => 2,
                b"fio version 3 iolog" => 3,
                _ => return None,
            };
            return Some(Parsed::Header);
        }
        let mut c = Cursor::new(line);
        if self.version == 3 {
            self.clock_ns = c.time(self.scale)?;
            if !c.blanks() {
                return None;
            }
        }
        let file = c.token();
        c.blanks();
        let kind = match c.token() {
            b"read" => RequestKind::Read,
            b"write" => RequestKind::Write,
            b"trim" => RequestKind::Trim,
            b"sync" | b"datasync" => return Some(Parsed::Row(Row::flush(self.clock_ns, file_slot(file, devices)?))),
            b"add" | b"open" | b"close" | b"unlink" | b"sync_file_range" => return Some(Parsed::OtherEvent),
            b"wait" if self.version == 2 => {
                c.blanks();
                self.clock_ns = self.clock_ns.checked_add(c.time(self.scale)?)?;
                return Some(Parsed::OtherEvent);
            }
            _ => return None,
        };
        c.blanks();
        let offset = c.number()?;
        if !c.blanks() {
            return None;
        }
        let bytes = c.number()?.checked_mul(self.size_unit)?;
        if !c.end() {
            return None;
        }
        Some(Parsed::Row(Row { arrival_ns: self.clock_ns, offset, bytes, slot: file_slot(file, devices)?, kind }))
    }

    fn explain(&self, line: &[u8]) -> String {
        if self.version == 0 {
            return format!("found `{}`, expected `fio version 2 iolog` or `fio version 3 iolog`", shorten(line));
        }
        let fields = split_blanks(line);
        let timed = usize::from(self.version == 3);
        const ACTIONS: &[&str] =
            &["read", "write", "trim", "sync", "datasync", "sync_file_range", "wait", "add", "open", "close", "unlink"];
        let wait = fields.get(1 + timed).is_some_and(|action| *action == b"wait");
        if wait && self.version == 3 {
            return "found `wait`, which version 3 of fio's iolog does not have: expected times on the lines"
                .to_owned();
        }
        let offset = if wait { Want::Time(self.unit) } else { Want::Units(1) };
        let columns = [
            ("time", Want::Time(self.unit)),
            ("file", Want::Text),
            ("action", Want::OneOf(ACTIONS, "read, write, trim, sync, datasync, wait, add, open or close")),
            ("offset", offset),
            ("length", Want::Units(self.size_unit)),
        ];
        let needed = if wait { 3 } else { 5 - 1 + timed };
        explain_columns(&fields, &columns[1 - timed..], needed, Some(4 + timed))
    }
}

/// Returns the slot of a file. A file is a device, numbered in order of appearance.
#[inline(always)]
fn file_slot(file: &[u8], devices: &mut DeviceTable) -> Option<u32> {
    devices.by_name(file, |key, count| Some((u32::try_from(count).ok()?, String::from_utf8_lossy(key).into_owned())))
}
