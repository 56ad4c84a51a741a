//! One parser for each format: a line of bytes becomes a request, or a sentence that says which column is wrong.
//!
//! The fast path returns `None` at the first byte that it does not accept. Only then does the cold path split the line again and look for
//! the wrong column. A good line allocates nothing.

mod blanks;
mod blkparse;
mod commas;
mod cursor;
mod devices;
mod explain;
mod mapped;
mod objects;
mod oracle;
mod presets;
mod recognise;
mod vscsi;

pub(super) use blkparse::likely_event;
pub(super) use devices::DeviceTable;
pub(super) use explain::{shorten, trim};
pub(super) use presets::preset;
pub(super) use recognise::{Recognition, recognise};
pub(super) use vscsi::{record_bytes as vscsi_record_bytes, unknown as unknown_vscsi};

use blanks::{Fio, FiveColumns};
use blkparse::Blkparse;
use commas::{Csv, Msr, Spc};
use mapped::Mapped;
use oracle::Oracle;
use vscsi::Vscsi;

use super::columns::Columns;
use super::options::{Event, Format, TimeUnit};
use crate::RequestKind;

/// The end of addresses (1 EiB). With it sums of offsets and sizes never overflow.
pub(super) const MAX_ADDRESS: u64 = 1 << 60;
const SECTOR: u64 = 512;

/// The header line of softsense's own CSV.
pub(super) const CSV_HEADER: &str = "arrival_ns,device,kind,offset_bytes,bytes";

/// One request as the file has it: absolute time, and address on its own device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    pub arrival_ns: u64,
    pub offset: u64,
    pub bytes: u64,
    /// Index into the device table, in order of first appearance.
    pub slot: u32,
    pub kind: RequestKind,
}

impl Row {
    /// Makes a flush, which has no data and no address.
    pub(super) fn flush(arrival_ns: u64, slot: u32) -> Self {
        Self { arrival_ns, offset: 0, bytes: 0, slot, kind: RequestKind::Flush }
    }
}

/// The result of parsing a line.
pub(super) enum Parsed {
    Row(Row),
    /// A write before which all earlier writes are flushed.
    Flushed(Row),
    /// A header, which every file of the format has.
    Header,
    /// An event that is not a request.
    OtherEvent,
}

/// The parser of one format. `None`: the line is bad, and `explain` says why.
pub(super) trait Parse {
    /// Length of a record, bytes, for a format without lines; otherwise 0.
    const RECORD_BYTES: usize = 0;
    /// Whether blanks at the ends of a line have a meaning: a tab may separate columns that are empty.
    const BLANKS_COUNT: bool = false;

    fn parse(&mut self, line: &[u8], devices: &mut DeviceTable) -> Option<Parsed>;
    fn explain(&self, line: &[u8]) -> String;
}

/// The way in which a file is read, once its format is known.
#[derive(Debug, Clone)]
pub(super) struct Reading {
    pub format: Format,
    pub time_unit: TimeUnit,
    /// Whether the user has given the unit of time.
    pub time_unit_asked: bool,
    pub size_unit: u64,
    /// Columns of a format that is a mapping of columns.
    pub columns: Option<Columns>,
    /// Length of a record, bytes, for a format without lines; otherwise 0.
    pub record_bytes: usize,
    /// Event of blkparse that counts as a request.
    pub event: Event,
    /// Whether times in the format's own unit have digits below 1 ns.
    pub below_ns: bool,
}

impl Reading {
    /// Describes how to read a format, or columns, with the units that the user has given.
    pub(crate) fn new(
        format: Format,
        columns: Option<Columns>,
        time_unit: Option<TimeUnit>,
        size_unit: Option<u64>,
    ) -> Self {
        let columns = columns.or_else(|| preset(format));
        let (usual_time, usual_size) = match (format, &columns) {
            (_, Some(columns)) => (columns.time_unit(), columns.size_unit()),
            (Format::Msr, _) => (TimeUnit::Ticks100Ns, 1),
            (Format::Spc, _) => (TimeUnit::S, 1),
            (Format::Disksim, _) => (TimeUnit::Ms, SECTOR),
            (Format::Mqsim, _) => (TimeUnit::Ns, SECTOR),
            (Format::Blkparse, _) => (TimeUnit::S, SECTOR),
            (Format::Fio, _) => (TimeUnit::Us, 1),
            (Format::OracleGeneral, _) => (TimeUnit::S, 1),
            (Format::Vscsi, _) => (TimeUnit::Us, 1),
            _ => (TimeUnit::Ns, 1),
        };
        Self {
            format,
            time_unit: time_unit.unwrap_or(usual_time),
            time_unit_asked: time_unit.is_some(),
            size_unit: size_unit.unwrap_or(usual_size),
            columns,
            record_bytes: record_bytes(format),
            event: Event::Q,
            below_ns: false,
        }
    }

    /// Notes what the beginning of the file tells about the unit of time.
    pub(crate) fn see(&mut self, sample: &[u8]) {
        if self.format != Format::Disksim {
            return;
        }
        let digits = self.time_unit.ns().ilog10() as usize;
        self.below_ns = sample.split(|&byte| byte == b'\n').any(|line| {
            let time = line.trim_ascii_start().split(u8::is_ascii_whitespace).next().unwrap_or_default();
            let point = time.iter().position(|&byte| byte == b'.');
            let below = point.and_then(|point| time.get(point + 1 + digits..)).unwrap_or_default();
            !below.is_empty() && below.iter().all(u8::is_ascii_digit) && below.iter().any(|&digit| digit != b'0')
        });
    }
}

/// Returns the record size of a format, bytes; 0 for formats with lines, and for records that themselves tell their size.
pub(super) fn record_bytes(format: Format) -> usize {
    if format == Format::OracleGeneral { Oracle::RECORD_BYTES } else { 0 }
}

/// The parser of any format; it is matched once for each block.
pub(super) enum Parser {
    Five(FiveColumns),
    Msr(Msr),
    Spc(Spc),
    Blkparse(Blkparse),
    Fio(Fio),
    Csv(Csv),
    Oracle(Box<Oracle>),
    Vscsi1(Vscsi<1>),
    Vscsi2(Vscsi<2>),
    Mapped(Box<Mapped>),
}

impl Parser {
    /// Makes a parser for the beginning of a file.
    pub(crate) fn new(reading: &Reading) -> Self {
        let &Reading { format, time_unit: unit, time_unit_asked, size_unit, event, .. } = reading;
        let scale = unit.ns();
        if let Some(columns) = &reading.columns {
            return Parser::Mapped(Box::new(Mapped::new(columns.clone(), unit, size_unit)));
        }
        match format {
            Format::Disksim => Parser::Five(FiveColumns { scale, unit, whole_time: false, size_unit, flags: true }),
            Format::Mqsim => {
                Parser::Five(FiveColumns { scale, unit, whole_time: !time_unit_asked, size_unit, flags: false })
            }
            Format::Msr => Parser::Msr(Msr { scale, unit, size_unit, first: true }),
            Format::Spc => Parser::Spc(Spc { scale, unit, size_unit }),
            Format::Blkparse => Parser::Blkparse(Blkparse { scale, unit, size_unit, event: event.letter() }),
            Format::Fio => Parser::Fio(Fio { scale, unit, size_unit, version: 0, clock_ns: 0 }),
            Format::OracleGeneral => Parser::Oracle(Box::new(Oracle::new(scale, size_unit))),
            Format::Vscsi if reading.record_bytes == Vscsi::<1>::RECORD_BYTES => {
                Parser::Vscsi1(Vscsi { scale, unit, size_unit })
            }
            Format::Vscsi => Parser::Vscsi2(Vscsi { scale, unit, size_unit }),
            // Every other format is a mapping of columns.
            _ => Parser::Csv(Csv { scale, unit, size_unit, header: false }),
        }
    }

    /// Returns delimiter and header of mapped columns, as found in the file.
    pub(crate) fn found(&self) -> Option<String> {
        if let Parser::Mapped(mapped) = self { Some(mapped.found()) } else { None }
    }
}
