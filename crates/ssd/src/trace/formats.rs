//! One parser a format: a line of bytes becomes a request, or a sentence that says which column is wrong.
//!
//! The fast path returns `None` at the first byte it does not like; only then does the cold path split the line again
//! and look for the column to blame. Nothing is allocated for a good line.

use std::borrow::Cow;
use std::collections::HashMap;

use super::{Devices, Format, TimeUnit};
use crate::request::RequestKind;

/// Addresses end here (1 EiB): sums of offsets and sizes then never overflow.
pub(super) const MAX_ADDRESS: u64 = 1 << 60;
/// The largest number of devices in one trace; more means that the device column is not one.
const MAX_DEVICES: usize = 65_536;
const SECTOR: u64 = 512;

/// The header line of softsense's own CSV.
pub(super) const CSV_HEADER: &str = "arrival_ns,device,kind,offset_bytes,bytes";

/// One request as the file has it: absolute time, address on its own device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    pub arrival_ns: u64,
    pub offset: u64,
    pub bytes: u64,
    /// Index into the device table, in order of first appearance.
    pub slot: u32,
    pub kind: RequestKind,
}

/// What a line turned out to be.
pub(super) enum Parsed {
    Row(Row),
    /// A header, which every file of the format has.
    Header,
    /// A line that is an event, but not a request.
    OtherEvent,
}

/// The parser of one format. `None`: the line is bad, and `explain` says why.
pub(super) trait Parse {
    fn parse(&mut self, line: &[u8], devices: &mut DeviceTable) -> Option<Parsed>;
    fn explain(&self, line: &[u8]) -> String;
}

/// A device of a trace, as its column names it.
#[derive(Debug, Clone)]
pub(super) struct Device {
    pub number: u32,
    pub name: String,
}

/// Device numbers and names to slots. The common case, the same device as on the line before, is one comparison.
pub(super) struct DeviceTable {
    pub devices: Vec<Device>,
    /// Whether requests of each slot are replayed (`Devices::Only`).
    pub included: Vec<bool>,
    only: Option<u32>,
    small: Vec<u32>,
    large: HashMap<u32, u32>,
    names: HashMap<Box<[u8]>, u32>,
    last_name: Vec<u8>,
    last_number: u32,
    last_slot: u32,
}

impl DeviceTable {
    pub fn new(devices: Devices) -> Self {
        Self {
            devices: Vec::new(),
            included: Vec::new(),
            only: if let Devices::Only(number) = devices { Some(number) } else { None },
            small: Vec::new(),
            large: HashMap::new(),
            names: HashMap::new(),
            last_name: Vec::new(),
            last_number: 0,
            last_slot: u32::MAX,
        }
    }

    pub fn full(&self) -> bool {
        self.devices.len() >= MAX_DEVICES
    }

    #[inline(always)]
    fn by_number(&mut self, number: u32) -> Option<u32> {
        if number == self.last_number && self.last_slot != u32::MAX {
            return Some(self.last_slot);
        }
        if let Some(&slot) = self.small.get(number as usize)
            && slot != u32::MAX
        {
            (self.last_number, self.last_slot) = (number, slot);
            return Some(slot);
        }
        self.by_number_slow(number)
    }

    #[cold]
    fn by_number_slow(&mut self, number: u32) -> Option<u32> {
        let slot = match self.large.get(&number) {
            Some(&slot) => slot,
            None => {
                let slot = self.add(number, String::new())?;
                if (number as usize) < 4096 {
                    if self.small.len() <= number as usize {
                        self.small.resize(number as usize + 1, u32::MAX);
                    }
                    self.small[number as usize] = slot;
                } else {
                    self.large.insert(number, slot);
                }
                slot
            }
        };
        (self.last_number, self.last_slot) = (number, slot);
        Some(slot)
    }

    /// The slot of a name; `describe` turns a new name into its number and its name for people.
    #[inline(always)]
    fn by_name(&mut self, key: &[u8], describe: impl FnOnce(&[u8], usize) -> Option<(u32, String)>) -> Option<u32> {
        if key == self.last_name.as_slice() && self.last_slot != u32::MAX {
            return Some(self.last_slot);
        }
        self.by_name_slow(key, describe)
    }

    fn by_name_slow(
        &mut self,
        key: &[u8],
        describe: impl FnOnce(&[u8], usize) -> Option<(u32, String)>,
    ) -> Option<u32> {
        let slot = match self.names.get(key) {
            Some(&slot) => slot,
            None => {
                let (number, name) = describe(key, self.devices.len())?;
                // The same device, written with other blanks.
                let known = self.devices.iter().position(|device| device.number == number && device.name == name);
                let slot = match known {
                    Some(slot) => slot as u32,
                    None => self.add(number, name)?,
                };
                self.names.insert(key.into(), slot);
                slot
            }
        };
        self.last_name.clear();
        self.last_name.extend_from_slice(key);
        self.last_slot = slot;
        Some(slot)
    }

    fn add(&mut self, number: u32, name: String) -> Option<u32> {
        if self.full() {
            return None;
        }
        self.devices.push(Device { number, name });
        self.included.push(self.only.is_none_or(|only| only == number));
        Some(self.devices.len() as u32 - 1)
    }
}

/// Reads numbers and tokens off a line, byte by byte.
#[derive(Clone, Copy)]
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    #[inline(always)]
    fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    #[inline(always)]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[inline(always)]
    fn end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// Skips spaces and tabs; whether there were any.
    #[inline(always)]
    fn blanks(&mut self) -> bool {
        let start = self.at;
        while let Some(b' ' | b'\t') = self.peek() {
            self.at += 1;
        }
        self.at > start
    }

    /// A comma, with blanks around it.
    #[inline(always)]
    fn comma(&mut self) -> Option<()> {
        if self.peek() != Some(b',') {
            self.blanks();
            if self.peek() != Some(b',') {
                return None;
            }
        }
        self.at += 1;
        if let Some(b' ' | b'\t') = self.peek() {
            self.blanks();
        }
        Some(())
    }

    /// A whole number. One digit at a time: taking eight at once was measured to be slower on columns this short.
    #[inline(always)]
    fn number(&mut self) -> Option<u64> {
        let start = self.at;
        let mut value = 0u64;
        while let Some(byte) = self.peek() {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            self.at += 1;
        }
        match self.at - start {
            // 19 digits always fit.
            1..=19 => Some(value),
            0 => None,
            _ => checked_number(&self.bytes[start..self.at]),
        }
    }

    /// A decimal number of units of `scale` nanoseconds, exactly; digits below 1 ns are cut off.
    #[inline(always)]
    fn time(&mut self, scale: u64) -> Option<u64> {
        let start = self.at;
        let whole = if self.peek() == Some(b'.') { 0 } else { self.number()? };
        let mut ns = whole.checked_mul(scale)?;
        if self.peek() == Some(b'.') {
            self.at += 1;
            let mut place = scale;
            let mut fraction = 0;
            while let Some(byte) = self.peek() {
                let digit = byte.wrapping_sub(b'0');
                if digit > 9 {
                    break;
                }
                place /= 10;
                fraction += place * u64::from(digit);
                self.at += 1;
            }
            if self.at - start < 2 {
                return None;
            }
            ns = ns.checked_add(fraction)?;
        }
        Some(ns)
    }

    /// Up to the next blank.
    #[inline(always)]
    fn token(&mut self) -> &'a [u8] {
        let start = self.at;
        while let Some(byte) = self.peek() {
            if byte == b' ' || byte == b'\t' {
                break;
            }
            self.at += 1;
        }
        &self.bytes[start..self.at]
    }

    /// Up to the next comma.
    #[inline(always)]
    fn field(&mut self) -> &'a [u8] {
        let start = self.at;
        while let Some(byte) = self.peek() {
            if byte == b',' {
                break;
            }
            self.at += 1;
        }
        &self.bytes[start..self.at]
    }
}

#[cold]
fn checked_number(digits: &[u8]) -> Option<u64> {
    digits
        .iter()
        .try_fold(0u64, |value, &digit| value.checked_mul(10)?.checked_add(u64::from(digit.wrapping_sub(b'0'))))
}

/// DiskSim and MQSim: arrival, device, start LBA, size, type, with blanks between.
pub(super) struct FiveColumns {
    scale: u64,
    unit: TimeUnit,
    /// MQSim times are whole nanoseconds; a decimal point means that the file is something else.
    whole_time: bool,
    size_unit: u64,
    /// DiskSim's flags are hexadecimal and bit 0 is the read bit; MQSim has 0 and 1.
    flags: bool,
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

#[cold]
fn hexadecimal(text: &[u8]) -> Option<u64> {
    let text = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X")).unwrap_or(text);
    if text.is_empty() || text.len() > 16 {
        return None;
    }
    text.iter().try_fold(0u64, |value, &digit| Some(value << 4 | u64::from((digit as char).to_digit(16)?)))
}

/// MSR Cambridge: timestamp, hostname, disk number, type, offset, size, response time.
pub(super) struct Msr {
    scale: u64,
    unit: TimeUnit,
    size_unit: u64,
    first: bool,
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

fn is_msr_header(line: &[u8]) -> bool {
    line.len() >= 9 && line[..9].eq_ignore_ascii_case(b"timestamp")
}

fn read_or_write(text: &[u8]) -> Option<RequestKind> {
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
pub(super) struct Spc {
    scale: u64,
    unit: TimeUnit,
    size_unit: u64,
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

/// The default text of blkparse; its Q lines are requests as they were queued.
pub(super) struct Blkparse {
    scale: u64,
    unit: TimeUnit,
    size_unit: u64,
}

impl Parse for Blkparse {
    #[inline(always)]
    fn parse(&mut self, line: &[u8], devices: &mut DeviceTable) -> Option<Parsed> {
        // Headings, messages of the program and the summary at the end begin with a letter; events with a device number.
        if !line[0].is_ascii_digit() {
            return Some(Parsed::OtherEvent);
        }
        let mut c = Cursor::new(line);
        let device = c.token();
        if !device.contains(&b',') || !c.blanks() {
            return None;
        }
        for _ in 0..2 {
            // CPU and sequence number.
            c.number()?;
            if !c.blanks() {
                return None;
            }
        }
        let arrival_ns = c.time(self.scale)?;
        if !c.blanks() {
            return None;
        }
        c.token(); // process
        c.blanks();
        let action = c.token();
        if action != b"Q" {
            return if action.is_empty() { None } else { Some(Parsed::OtherEvent) };
        }
        if !c.blanks() {
            return None;
        }
        let Some(kind) = blkparse_kind(c.token()) else { return Some(Parsed::OtherEvent) };
        c.blanks();
        let mut bytes = 0;
        let mut offset = 0;
        // A flush carries no data: `Q FWS [process]`.
        if !matches!(c.peek(), None | Some(b'[')) {
            offset = c.number()?.checked_mul(SECTOR)?;
            c.blanks();
            if c.peek() != Some(b'+') {
                return None;
            }
            c.at += 1;
            c.blanks();
            bytes = c.number()?.checked_mul(self.size_unit)?;
            if !c.end() && !c.blanks() {
                return None;
            }
        }
        let slot = devices.by_name(device, |key, _| {
            let (major, minor) = major_minor(key)?;
            Some(((major << 20) | minor, format!("{major},{minor}")))
        })?;
        Some(Parsed::Row(Row { arrival_ns, offset, bytes, slot, kind }))
    }

    fn explain(&self, line: &[u8]) -> String {
        let columns = [
            ("device", Want::MajorMinor),
            ("CPU", Want::Number("a whole number")),
            ("sequence number", Want::Number("a whole number")),
            ("time", Want::Time(self.unit)),
            ("process", Want::Text),
            ("action", Want::Text),
            ("kind", Want::Text),
            ("start sector", Want::Units(SECTOR)),
            ("`+`", Want::OneOf(&["+"], "`+`")),
            ("size", Want::Units(self.size_unit)),
        ];
        let fields = split_blanks(line);
        let queued = fields.get(5).is_some_and(|action| *action == b"Q");
        explain_columns(&fields, &columns[..if queued { 10 } else { 6 }], if queued { 10 } else { 6 }, None)
    }
}

/// D (discard) is a trim even where the kernel also sets W; a flush (F) may go with a write.
fn blkparse_kind(rwbs: &[u8]) -> Option<RequestKind> {
    if rwbs.contains(&b'D') {
        Some(RequestKind::Trim)
    } else if rwbs.contains(&b'R') {
        Some(RequestKind::Read)
    } else if rwbs.contains(&b'W') || rwbs.contains(&b'F') {
        Some(RequestKind::Write)
    } else {
        None
    }
}

/// `8,16`: Linux's device number, with 12 bits for the major and 20 bits for the minor number.
pub(super) fn major_minor(text: &[u8]) -> Option<(u32, u32)> {
    let mut c = Cursor::new(text);
    let major = c.number()?;
    c.comma()?;
    let minor = c.number()?;
    (c.end() && major < 1 << 12 && minor < 1 << 20).then_some((major as u32, minor as u32))
}

/// fio's iolog, versions 2 and 3. Version 2 has no times but `wait` lines, version 3 a time on each line.
pub(super) struct Fio {
    scale: u64,
    unit: TimeUnit,
    size_unit: u64,
    version: u8,
    clock_ns: u64,
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
            b"add" | b"open" | b"close" | b"unlink" | b"sync" | b"datasync" | b"sync_file_range" => {
                return Some(Parsed::OtherEvent);
            }
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
        let slot = devices.by_name(file, |key, count| {
            Some((u32::try_from(count).ok()?, String::from_utf8_lossy(key).into_owned()))
        })?;
        Some(Parsed::Row(Row { arrival_ns: self.clock_ns, offset, bytes, slot, kind }))
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

/// softsense's own CSV.
pub(super) struct Csv {
    scale: u64,
    unit: TimeUnit,
    size_unit: u64,
    header: bool,
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
            _ => return None,
        };
        c.comma()?;
        let offset = c.number()?;
        c.comma()?;
        let bytes = c.number()?.checked_mul(self.size_unit)?;
        if !c.end() {
            return None;
        }
        Some(Parsed::Row(Row { arrival_ns, offset, bytes, slot: devices.by_number(device)?, kind }))
    }

    fn explain(&self, line: &[u8]) -> String {
        if !self.header {
            return format!("found `{}`, expected the header `{CSV_HEADER}`", shorten(line));
        }
        let columns = [
            ("arrival_ns", Want::WholeTime(self.unit)),
            ("device", Want::Device),
            ("kind", Want::OneOf(&["read", "write", "trim"], "read, write or trim")),
            ("offset_bytes", Want::Units(1)),
            ("bytes", Want::Units(self.size_unit)),
        ];
        explain_columns(&split_commas(line), &columns, 5, Some(5))
    }
}

fn is_csv_header(line: &[u8]) -> bool {
    let header: Vec<u8> = line.iter().copied().filter(|byte| !matches!(byte, b' ' | b'\t')).collect();
    header == CSV_HEADER.as_bytes()
}

/// The parser of any format; matched once a block.
pub(super) enum Parser {
    Five(FiveColumns),
    Msr(Msr),
    Spc(Spc),
    Blkparse(Blkparse),
    Fio(Fio),
    Csv(Csv),
}

impl Parser {
    /// A parser at the beginning of a file; `asked_unit` is the unit that the user gave, if any.
    pub fn new(format: Format, asked_unit: Option<TimeUnit>, size_unit: u64) -> Self {
        let unit = asked_unit.unwrap_or(format.time_unit());
        let scale = unit.ns();
        match format {
            Format::Disksim => Parser::Five(FiveColumns { scale, unit, whole_time: false, size_unit, flags: true }),
            Format::Mqsim => {
                let whole_time = asked_unit.is_none();
                Parser::Five(FiveColumns { scale, unit, whole_time, size_unit, flags: false })
            }
            Format::Msr => Parser::Msr(Msr { scale, unit, size_unit, first: true }),
            Format::Spc => Parser::Spc(Spc { scale, unit, size_unit }),
            Format::Blkparse => Parser::Blkparse(Blkparse { scale, unit, size_unit }),
            Format::Fio => Parser::Fio(Fio { scale, unit, size_unit, version: 0, clock_ns: 0 }),
            Format::Csv => Parser::Csv(Csv { scale, unit, size_unit, header: false }),
        }
    }
}

/// What a column must hold, for the cold path.
#[derive(Clone, Copy)]
enum Want {
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
}

impl Want {
    fn met(self, text: &[u8]) -> bool {
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
        }
    }

    fn expected(self, text: &[u8]) -> Cow<'static, str> {
        let numeric = !text.is_empty() && text.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
        match self {
            Want::Time(unit) | Want::WholeTime(unit) if numeric && text.iter().all(u8::is_ascii_digit) => {
                format!("a time in {unit} below 584 years").into()
            }
            Want::Time(unit) => format!("a time in {unit} such as 12 or 12.5").into(),
            Want::WholeTime(unit) => format!("a whole number of {unit}").into(),
            Want::Device if numeric => "a whole number below 2^32".into(),
            Want::Device => "a whole number".into(),
            Want::Units(1) => "a whole number of bytes".into(),
            Want::Units(SECTOR) => "a whole number of 512-byte sectors".into(),
            Want::Units(unit) => format!("a whole number of units of {unit} bytes").into(),
            Want::Number(expected) | Want::Hexadecimal(expected) => expected.into(),
            Want::Kind => "Read or Write".into(),
            Want::MajorMinor => "major and minor number such as 8,16".into(),
            Want::OneOf(_, expected) => expected.into(),
            Want::Text => "some text".into(),
        }
    }
}

#[cold]
fn explain_columns(fields: &[&[u8]], columns: &[(&str, Want)], at_least: usize, at_most: Option<usize>) -> String {
    // A wrong column explains more than a wrong number of columns, unless the line is too short to say.
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
    "found a line that does not fit the columns, expected one value a column".to_owned()
}

fn split_blanks(line: &[u8]) -> Vec<&[u8]> {
    line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|field| !field.is_empty()).collect()
}

fn split_commas(line: &[u8]) -> Vec<&[u8]> {
    line.split(|&byte| byte == b',').map(trim).collect()
}

/// Without blanks at either end.
#[inline(always)]
pub(super) fn trim(text: &[u8]) -> &[u8] {
    let mut text = text;
    while let [b' ' | b'\t' | b'\r', rest @ ..] = text {
        text = rest;
    }
    while let [rest @ .., b' ' | b'\t' | b'\r'] = text {
        text = rest;
    }
    text
}

/// Text for a message: short, printable.
pub(super) fn shorten(text: &[u8]) -> String {
    const LONGEST: usize = 60;
    let cut = &text[..text.len().min(LONGEST)];
    let mut shown: String =
        String::from_utf8_lossy(cut).chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.len() > LONGEST {
        shown.push_str("...");
    }
    shown
}

/// What the first lines of a file say about its format.
pub(super) enum Recognition {
    Certain(Format),
    /// Five columns of whole numbers: nanoseconds (MQSim) or milliseconds (DiskSim), nobody can tell.
    FiveWholeNumbers {
        first: String,
        lines: usize,
        span: u64,
    },
    Unknown {
        line: u64,
        first: String,
        /// Where the text looks like one of the formats, but is a version that is not read.
        hint: &'static str,
    },
    OnlyComments,
}

/// Recognises a format from the complete lines at the beginning of a file.
pub(super) fn recognise(sample: &[u8]) -> Recognition {
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
            // blkparse may say which files it read before the first event; nothing else begins with prose.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Are numbers read as the standard library reads them, whatever their length and whatever stands after them?
    #[test]
    fn numbers_are_read_as_the_standard_library_reads_them() {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 24
        };
        for _ in 0..100_000 {
            let digits: String = (0..next() % 23).map(|_| char::from(b'0' + (next() % 10) as u8)).collect();
            let mut text = digits.clone().into_bytes();
            let stop = [b'/', b':', b' ', b'\t', b',', b'.', 0, 0x80, 0xb5, 0xff][(next() % 10) as usize];
            for i in 0..next() % 12 {
                text.push(if i == 0 { stop } else { next() as u8 });
            }
            let mut cursor = Cursor::new(&text);
            assert_eq!(cursor.number(), digits.parse().ok(), "{digits} {text:?}");
            assert_eq!(cursor.at, digits.len());
        }
    }
}
