//! Traces of VMware's vscsiStats, as CloudPhysics has published them: little-endian records of 32 bytes (version 1) or 40
//! (version 2) without gaps.
//!
//! | field | version 1 | version 2 |
//! |---|---|---|
//! | command (u16, a SCSI opcode) | byte 12 | byte 0 |
//! | version (u16, in its upper byte) | byte 14 | byte 2 |
//! | serial number (u32) | byte 0 | byte 4 |
//! | size (u32, bytes) | byte 4 | byte 8 |
//! | scatter-gather elements (u32) | byte 8 | byte 12 |
//! | block (u64, 512 B) | byte 16 | byte 16 |
//! | time (u64, us) | byte 24 | byte 24 |
//! | response time (u64, us) | | byte 32 |
//!
//! Source: libCacheSim, `traceReader/customizedReader/vscsi.h`; opcodes: INCITS T10, SBC-4.

use super::{DeviceTable, Parse, Parsed, Row, SECTOR};
use crate::RequestKind;
use crate::trace::TimeUnit;

const BLOCK: usize = 16;
const TIME: usize = 24;

pub(in super::super) struct Vscsi<const VERSION: u8> {
    pub scale: u64,
    pub unit: TimeUnit,
    pub size_unit: u64,
}

/// Returns the record size of a file, bytes, judged by its first two records or, if the format was asked for, by the first alone. `None`:
/// the records are of neither version.
pub(in super::super) fn record_bytes(sample: &[u8], asked: bool) -> Option<usize> {
    let told = |records: usize| {
        let fits = |record_bytes: usize, fit: fn(&[u8]) -> bool| {
            (0..records).all(|i| sample.get(i * record_bytes..).is_some_and(fit)).then_some(record_bytes)
        };
        fits(Vscsi::<2>::RECORD_BYTES, Vscsi::<2>::fits).or_else(|| fits(Vscsi::<1>::RECORD_BYTES, Vscsi::<1>::fits))
    };
    told(2).or_else(|| if asked { told(1) } else { None })
}

/// Describes the beginning of a file whose records are of neither version.
pub(in super::super) fn unknown(sample: &[u8]) -> String {
    let bytes: Vec<String> = sample.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!(
        "found a file that begins with the bytes {}, expected a record of vscsi: 32 bytes with a command of one byte at byte \
         12 and version 1 at byte 15, or 40 bytes with the command at byte 0 and version 2 at byte 3",
        bytes.join(" ")
    )
}

impl<const VERSION: u8> Vscsi<VERSION> {
    const COMMAND: usize = if VERSION == 1 { 12 } else { 0 };
    const SIZE: usize = if VERSION == 1 { 4 } else { 8 };

    fn command(record: &[u8]) -> Option<[u8; 4]> {
        record.get(Self::COMMAND..Self::COMMAND + 4)?.try_into().ok()
    }

    /// Whether a record is of this version. Commands have one byte, and the lower byte of the version has no meaning here.
    fn fits(record: &[u8]) -> bool {
        matches!(Self::command(record), Some([_, 0, _, version]) if version == VERSION)
    }

    fn u64_at(record: &[u8], at: usize) -> Option<u64> {
        Some(u64::from_le_bytes(record.get(at..at + 8)?.try_into().ok()?))
    }
}

impl<const VERSION: u8> Parse for Vscsi<VERSION> {
    const RECORD_BYTES: usize = if VERSION == 1 { 32 } else { 40 };

    #[inline(always)]
    fn parse(&mut self, record: &[u8], devices: &mut DeviceTable) -> Option<Parsed> {
        let [command, 0, _, version] = Self::command(record)? else { return None };
        if version != VERSION {
            return None;
        }
        let kind = match command {
            0x08 | 0x28 | 0x88 | 0xa8 => RequestKind::Read,
            // Plain writes, and writes that are verified.
            0x0a | 0x2a | 0x8a | 0xaa | 0x2e | 0x8e | 0xae => RequestKind::Write,
            0x42 => RequestKind::Trim,
            0x35 | 0x91 => RequestKind::Flush,
            _ => return Some(Parsed::OtherEvent),
        };
        let arrival_ns = Self::u64_at(record, TIME)?.checked_mul(self.scale)?;
        let slot = devices.by_number(0)?;
        if kind == RequestKind::Flush {
            return Some(Parsed::Row(Row::flush(arrival_ns, slot)));
        }
        let size = u32::from_le_bytes(record.get(Self::SIZE..Self::SIZE + 4)?.try_into().ok()?);
        let offset = Self::u64_at(record, BLOCK)?.checked_mul(SECTOR)?;
        Some(Parsed::Row(Row { arrival_ns, offset, bytes: u64::from(size).checked_mul(self.size_unit)?, slot, kind }))
    }

    fn explain(&self, record: &[u8]) -> String {
        let [command, upper, minor, version] = Self::command(record).unwrap_or_default();
        if version != VERSION {
            let found = u16::from_le_bytes([minor, version]);
            return format!(
                "found a record of version {found:#06x}, expected version {VERSION} in the upper byte, as in the \
                 first record"
            );
        }
        if upper != 0 {
            let found = u16::from_le_bytes([command, upper]);
            return format!("found command {found:#06x}, expected a SCSI opcode of one byte");
        }
        let time = Self::u64_at(record, TIME).unwrap_or_default();
        if time.checked_mul(self.scale).is_none() {
            return format!("found the time {time}, expected a time in {} below 584 years", self.unit);
        }
        let block = Self::u64_at(record, BLOCK).unwrap_or_default();
        format!("found block {block}, expected an address below 1 EiB")
    }
}
