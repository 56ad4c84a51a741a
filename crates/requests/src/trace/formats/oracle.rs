//! libCacheSim's oracleGeneral: records of a time (u32, s), an object (u64), its size (u32) and the time of its next request (i64),
//! little-endian, 24 bytes without gaps. All requests are reads.

use super::objects::Objects;
use super::{DeviceTable, Parse, Parsed, Row};
use crate::RequestKind;

/// Alignment of objects, bytes.
const CHUNK: u64 = 4096;

pub(in super::super) struct Oracle {
    scale: u64,
    size_unit: u64,
    objects: Objects,
}

impl Oracle {
    pub(crate) fn new(scale: u64, size_unit: u64) -> Self {
        Self { scale, size_unit, objects: Objects::new(CHUNK, false) }
    }
}

impl Parse for Oracle {
    const RECORD_BYTES: usize = 24;

    #[inline(always)]
    fn parse(&mut self, record: &[u8], devices: &mut DeviceTable) -> Option<Parsed> {
        let time = u32::from_le_bytes(record.get(..4)?.try_into().ok()?);
        let object = u64::from_le_bytes(record.get(4..12)?.try_into().ok()?);
        let size = u32::from_le_bytes(record.get(12..16)?.try_into().ok()?);
        let bytes = u64::from(size).checked_mul(self.size_unit)?;
        Some(Parsed::Row(Row {
            arrival_ns: u64::from(time).checked_mul(self.scale)?,
            offset: self.objects.place(object, 0, bytes)?,
            bytes,
            slot: devices.by_number(0)?,
            kind: RequestKind::Read,
        }))
    }

    fn explain(&self, record: &[u8]) -> String {
        let bytes: Vec<String> = record.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("found the record {}, expected sizes and addresses below 1 EiB", bytes.join(" "))
    }
}
