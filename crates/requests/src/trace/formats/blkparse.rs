//! The default text of blkparse.

use super::cursor::Cursor;
use super::explain::{Want, explain_columns, split_blanks};
use super::{DeviceTable, Parse, Parsed, Row, SECTOR};
use crate::RequestKind;
use crate::trace::{Event, TimeUnit};

/// A parser for lines of one event, which are the requests: Q as they were queued, I inserted, D issued to the device, C completed.
pub(in super::super) struct Blkparse {
    pub scale: u64,
    pub unit: TimeUnit,
    pub size_unit: u64,
    pub event: u8,
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
        if action != [self.event] {
            return if action.is_empty() { None } else { Some(Parsed::OtherEvent) };
        }
        if !c.blanks() {
            return None;
        }
        let Some((kind, flushes)) = blkparse_kind(c.token()) else { return Some(Parsed::OtherEvent) };
        c.blanks();
        let mut bytes = 0;
        let mut offset = 0;
        // A flush carries no data: `Q FWS [process]`, `D FN [process]`. Nor do `D` and `C` of commands that are not requests.
        if !matches!(c.peek(), None | Some(b'[')) {
            let first = c.number()?;
            c.blanks();
            match c.peek() {
                Some(b'+') => {
                    c.at += 1;
                    c.blanks();
                    offset = first.checked_mul(SECTOR)?;
                    bytes = c.number()?.checked_mul(self.size_unit)?;
                    if !c.end() && !c.blanks() {
                        return None;
                    }
                }
                // The bytes of a packet command come after their number: `D R 36 (12 00 00 00 24 00) [tool]`. After a completed flush comes
                // its duration: `C FWS 0 ( 321) [0]`.
                Some(b'(') if !flushes => return Some(Parsed::OtherEvent),
                // A completed flush has some sector and no size: `C WS 0 [0]`.
                None | Some(b'[' | b'(') => {}
                _ => return None,
            }
        }
        let slot = devices.by_name(device, |key, _| {
            let (major, minor) = major_minor(key)?;
            Some(((major << 20) | minor, format!("{major},{minor}")))
        })?;
        let row = Row { arrival_ns, offset, bytes, slot, kind };
        Some(if kind == RequestKind::Flush || flushes && bytes == 0 {
            Parsed::Row(Row::flush(arrival_ns, slot))
        } else if flushes {
            Parsed::Flushed(row)
        } else {
            Parsed::Row(row)
        })
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
        let queued = fields.get(5).is_some_and(|action| *action == [self.event]);
        explain_columns(&fields, &columns[..if queued { 10 } else { 6 }], if queued { 10 } else { 6 }, None)
    }
}

/// Returns the first of [`Event::ALL`] that reads or writes in the first lines have; Q where there is none.
pub(in super::super) fn likely_event(sample: &[u8]) -> Event {
    let mut seen = [false; Event::ALL.len()];
    for line in sample.split(|&byte| byte == b'\n') {
        let fields = split_blanks(line);
        let [device, _, _, _, _, action, rwbs, _, plus, ..] = fields.as_slice() else { continue };
        if major_minor(device).is_some() && *plus == b"+" && blkparse_kind(rwbs).is_some() {
            for (event, seen) in Event::ALL.iter().zip(&mut seen) {
                *seen |= *action == [event.letter()];
            }
        }
    }
    Event::ALL.into_iter().zip(seen).find_map(|(event, seen)| seen.then_some(event)).unwrap_or(Event::Q)
}

/// Returns the kind of a request, and whether it flushes before it writes. D (discard) is a trim even where the kernel also sets W. F
/// before W marks a write that comes after a flush; F behind W a write that is forced to the medium (FUA); F alone a flush. Z comes before
/// operations on zones. An append (A) is a write. A reset (R, RA) invalidates the data of the zone, as a trim does. Opening, closing and
/// finishing a zone (O, C, F) moves no data.
///
/// Source: Linux, `blk_fill_rwbs` of kernel/trace/blktrace.c: flush, operation, FUA, in this order.
fn blkparse_kind(rwbs: &[u8]) -> Option<(RequestKind, bool)> {
    let at = |letter: u8| rwbs.iter().position(|&each| each == letter);
    if let Some(zone) = at(b'Z') {
        return match rwbs.get(zone + 1) {
            Some(b'A') => Some((RequestKind::Write, false)),
            Some(b'R') => Some((RequestKind::Trim, false)),
            _ => None,
        };
    }
    if at(b'D').is_some() {
        return Some((RequestKind::Trim, false));
    }
    if at(b'R').is_some() {
        return Some((RequestKind::Read, false));
    }
    match (at(b'W'), at(b'F')) {
        (Some(write), flush) => {
            let kind = if rwbs[write..].contains(&b'F') { RequestKind::FuaWrite } else { RequestKind::Write };
            Some((kind, flush.is_some_and(|flush| flush < write)))
        }
        (None, Some(_)) => Some((RequestKind::Flush, true)),
        (None, None) => None,
    }
}

/// Parses Linux's device number, such as `8,16`: 12 bits for the major and 20 bits for the minor number.
pub(in super::super) fn major_minor(text: &[u8]) -> Option<(u32, u32)> {
    let mut c = Cursor::new(text);
    let major = c.number()?;
    c.comma()?;
    let minor = c.number()?;
    (c.end() && major < 1 << 12 && minor < 1 << 20).then_some((major as u32, minor as u32))
}
