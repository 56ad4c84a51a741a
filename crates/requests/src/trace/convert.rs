//! Writing traces: softsense's own CSV, MQSim and DiskSim text; plain, gzip or zstd.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use flate2::write::GzEncoder;
use softsense_base::{Error, Result, UnfinishedFile};

use super::formats::CSV_HEADER;
use super::reader::Rows;
use super::{Devices, Format, Trace};
use crate::{Request, RequestKind, RequestSource};

/// Rows that are written between two looks at the clock.
const ROWS_PER_LOOK: u64 = 16_384;
const PROGRESS_EVERY: Duration = Duration::from_millis(50);

/// Writes a stream of requests as `format` (csv, mqsim or disksim) with device 0, compressed where `to` ends in `.gz` or `.zst`. Returns
/// the number of requests. The file appears whole or not at all. `progress` gets the fraction read about every 50 ms; it returns false to
/// interrupt.
///
/// # Errors
/// An error of the source; an interruption; a target that cannot be written; or a request that `format` cannot express. MQSim and DiskSim
/// text express no trim, flush or write with FUA, and only offsets and sizes in whole sectors.
pub fn write_requests(
    source: &mut dyn RequestSource,
    to: &Path,
    format: Format,
    progress: &mut dyn FnMut(f64) -> bool,
) -> Result<u64> {
    let mut writer = Writer::create(to, format)?;
    while let Some(request) = source.next_request()? {
        writer.write(&request, 0, || source.fraction_read(), progress)?;
    }
    writer.finish()
}

pub(super) fn convert(trace: &Trace, to: &Path, format: Format, progress: &mut dyn FnMut(f64) -> bool) -> Result<u64> {
    if let (Ok(from), Ok(target)) = (trace.spec.path.canonicalize(), to.canonicalize())
        && from == target
    {
        return Err(Error::trace(
            to.display().to_string(),
            "found the trace itself, expected another file for the result",
        ));
    }
    let mut rows = Rows::new(trace)?;
    let mut writer = Writer::create(to, format)?;
    let layout = &trace.layout;
    let merge = trace.spec.devices == Devices::Merge;
    while let Some(row) = rows.next()? {
        let request = Request {
            arrival: softsense_base::Ns(row.arrival_ns.saturating_sub(layout.first_ns)),
            kind: row.kind,
            offset_bytes: row.offset,
            bytes: row.bytes,
        };
        let device = if merge { 0 } else { layout.numbers.get(row.slot as usize).copied().unwrap_or(row.slot) };
        writer.write(&request, device, || rows.fraction(), progress)?;
    }
    if !progress(1.0) {
        return Err(writer.interrupted());
    }
    writer.finish()
}

enum Sink {
    Plain(BufWriter<File>),
    Gzip(GzEncoder<BufWriter<File>>),
    Zstd(zstd::Encoder<'static, BufWriter<File>>),
}

impl Sink {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Sink::Plain(file) => file.write_all(bytes),
            Sink::Gzip(encoder) => encoder.write_all(bytes),
            Sink::Zstd(encoder) => encoder.write_all(bytes),
        }
    }

    fn finish(self) -> io::Result<()> {
        let buffered = match self {
            Sink::Plain(file) => file,
            Sink::Gzip(encoder) => encoder.finish()?,
            Sink::Zstd(encoder) => encoder.finish()?,
        };
        buffered.into_inner().map(drop).map_err(io::IntoInnerError::into_error)
    }
}

struct Writer {
    sink: Option<Sink>,
    unfinished: UnfinishedFile,
    to: PathBuf,
    format: Format,
    text: Vec<u8>,
    rows: u64,
    reported: Instant,
}

impl Writer {
    fn create(to: &Path, format: Format) -> Result<Writer> {
        let place = to.display().to_string();
        if !matches!(format, Format::Csv | Format::Mqsim | Format::Disksim) {
            return Err(Error::trace(
                place,
                format!("found `{format}`, expected a format that can be written: csv, mqsim or disksim"),
            ));
        }
        let (unfinished, file) = UnfinishedFile::create(to)?;
        let file = BufWriter::with_capacity(256 << 10, file);
        let sink = match to.extension().and_then(|extension| extension.to_str()) {
            Some("gz") => Sink::Gzip(GzEncoder::new(file, flate2::Compression::default())),
            Some("zst") => Sink::Zstd(zstd::Encoder::new(file, 3).map_err(|error| Error::io(to, &error))?),
            _ => Sink::Plain(file),
        };
        let mut writer = Writer {
            sink: Some(sink),
            unfinished,
            to: to.to_owned(),
            format,
            text: Vec::with_capacity(128 << 10),
            rows: 0,
            reported: Instant::now(),
        };
        if format == Format::Csv {
            writer.text.extend_from_slice(CSV_HEADER.as_bytes());
            writer.text.push(b'\n');
        }
        Ok(writer)
    }

    fn write(
        &mut self,
        request: &Request,
        device: u32,
        fraction: impl FnOnce() -> f64,
        progress: &mut dyn FnMut(f64) -> bool,
    ) -> Result<()> {
        let text = &mut self.text;
        let Request { arrival, kind, offset_bytes, bytes } = *request;
        if self.format == Format::Csv {
            number(text, arrival.0);
            text.push(b',');
            number(text, u64::from(device));
            text.extend_from_slice(match kind {
                RequestKind::Read => b",read,",
                RequestKind::Write => b",write,",
                RequestKind::Trim => b",trim,",
                RequestKind::FuaWrite => b",fua_write,",
                RequestKind::Flush => b",flush,",
            });
            number(text, offset_bytes);
            text.push(b',');
            number(text, bytes);
        } else {
            if !matches!(kind, RequestKind::Read | RequestKind::Write)
                || !offset_bytes.is_multiple_of(512)
                || !bytes.is_multiple_of(512)
            {
                return Err(self.inexpressible(request));
            }
            if self.format == Format::Mqsim {
                number(text, arrival.0);
            } else {
                number(text, arrival.0 / 1_000_000);
                // The point is always written: it shows that the file is DiskSim's.
                text.extend_from_slice(format!(".{:06}", arrival.0 % 1_000_000).as_bytes());
            }
            text.push(b' ');
            number(text, u64::from(device));
            text.push(b' ');
            number(text, offset_bytes / 512);
            text.push(b' ');
            number(text, bytes / 512);
            text.extend_from_slice(if kind == RequestKind::Read { b" 1" } else { b" 0" });
        }
        text.push(b'\n');
        self.rows += 1;
        if self.rows.is_multiple_of(ROWS_PER_LOOK) && self.reported.elapsed() >= PROGRESS_EVERY {
            self.reported = Instant::now();
            if !progress(fraction()) {
                return Err(self.interrupted());
            }
        }
        if self.text.len() >= 64 << 10 { self.flush() } else { Ok(()) }
    }

    #[cold]
    fn interrupted(&self) -> Error {
        Error::trace(self.to.display().to_string(), "interrupted")
    }

    #[cold]
    fn inexpressible(&self, request: &Request) -> Error {
        let found = match request.kind {
            RequestKind::Trim => "a trim".to_owned(),
            RequestKind::Flush => "a flush".to_owned(),
            RequestKind::FuaWrite => "a write with FUA".to_owned(),
            _ => format!("{} bytes at byte {}", request.bytes, request.offset_bytes),
        };
        Error::trace(
            self.to.display().to_string(),
            format!(
                "found {found} in request {}, expected only reads and writes of whole 512-byte sectors: {} text has \
                 no other requests; csv text has them",
                self.rows + 1,
                self.format
            ),
        )
    }

    fn flush(&mut self) -> Result<()> {
        if let Some(sink) = &mut self.sink {
            sink.write_all(&self.text).map_err(|error| Error::io(&self.to, &error))?;
        }
        self.text.clear();
        Ok(())
    }

    fn finish(mut self) -> Result<u64> {
        self.flush()?;
        if let Some(sink) = self.sink.take() {
            sink.finish().map_err(|error| Error::io(&self.to, &error))?;
        }
        self.unfinished.finish()?;
        Ok(self.rows)
    }
}

/// Appends a whole number in decimal; `write!` would take several times as long.
fn number(text: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    text.extend_from_slice(&digits[at..]);
}
