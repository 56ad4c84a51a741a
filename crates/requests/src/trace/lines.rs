//! A file as blocks of whole lines, or of records: decompression, and a check that the file has not changed since the scan.

use std::fs::{File, Metadata};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use flate2::read::MultiGzDecoder;
use memchr::memrchr;
use softsense_base::{Error, Result};

use super::TraceSpec;

/// Size of the blocks in which text is read, bytes; a line must fit into one.
const BLOCK_BYTES: usize = 256 << 10;

/// The compression of a file, recognised from its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    Gzip,
    Zstd,
}

impl Compression {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Compression::None => "none",
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
        }
    }
}

/// A reader of a file that others may read, too. It counts the bytes of the file, before decompression.
struct Counted {
    file: Arc<File>,
    bytes: u64,
}

impl Read for Counted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read_at(into, self.bytes)?;
        self.bytes += n as u64;
        Ok(n)
    }
}

enum Source {
    Plain(Counted),
    Gzip(Box<MultiGzDecoder<Counted>>),
    Zstd(Box<zstd::Decoder<'static, BufReader<Counted>>>),
}

impl Source {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Source::Plain(file) => file.read(into),
            Source::Gzip(decoder) => decoder.read(into),
            Source::Zstd(decoder) => decoder.read(into),
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Source::Plain(file) => file.bytes,
            Source::Gzip(decoder) => decoder.get_ref().bytes,
            Source::Zstd(decoder) => decoder.get_ref().get_ref().bytes,
        }
    }
}

/// Properties of a file by which a change is noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileVersion {
    bytes: u64,
    modified: Option<SystemTime>,
}

impl FileVersion {
    fn of(metadata: &Metadata) -> Self {
        Self { bytes: metadata.len(), modified: metadata.modified().ok() }
    }
}

/// The text of a trace, in blocks of whole lines.
pub(super) struct Lines {
    source: Source,
    pub compression: Compression,
    pub version: FileVersion,
    /// Whether the file has no name, so that no other program can change it.
    spooled: bool,
    file: PathBuf,
    path: String,
    /// Size of a record, bytes; 0 for a file of lines.
    record_bytes: usize,
    pub buffer: Vec<u8>,
    /// Begin of the whole lines in the buffer that were not parsed yet.
    pub at: usize,
    pub limit: usize,
    /// End of the bytes that were read; the bytes from `limit` to here are the beginning of a line.
    end: usize,
    /// Number of lines before `at`.
    pub line: u64,
    eof: bool,
    started: bool,
}

impl Lines {
    /// Opens the text of a file, or its records of `record_bytes` where that is not 0.
    pub(crate) fn open(spec: &TraceSpec, record_bytes: usize) -> Result<Lines> {
        let path = &spec.path;
        let failed = |error: io::Error| Error::io(path, &error);
        let file = match &spec.file {
            Some(file) => Arc::clone(file),
            None => Arc::new(File::open(path).map_err(failed)?),
        };
        let metadata = file.metadata().map_err(failed)?;
        let mut magic = Vec::new();
        Counted { file: Arc::clone(&file), bytes: 0 }.take(4).read_to_end(&mut magic).map_err(failed)?;
        let compression = match magic.as_slice() {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            // The magic number of a frame, or of a skippable frame before one.
            [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => Compression::Zstd,
            _ => Compression::None,
        };
        let file = Counted { file, bytes: 0 };
        let source = match compression {
            Compression::None => Source::Plain(file),
            Compression::Gzip => Source::Gzip(Box::new(MultiGzDecoder::new(file))),
            Compression::Zstd => {
                let mut decoder = zstd::Decoder::new(file).map_err(|error| Error::io(path, &error))?;
                // The window is limited to 128 MiB: the window of `zstd --long`, and the largest that zstd accepts by default. A file of a
                // few bytes may ask for 2 GiB.
                decoder.window_log_max(27).map_err(|error| Error::io(path, &error))?;
                Source::Zstd(Box::new(decoder))
            }
        };
        Ok(Lines {
            source,
            compression,
            version: FileVersion::of(&metadata),
            spooled: spec.file.is_some(),
            file: path.to_owned(),
            path: path.display().to_string(),
            record_bytes,
            buffer: vec![0; BLOCK_BYTES],
            at: 0,
            limit: 0,
            end: 0,
            line: 0,
            eof: false,
            started: false,
        })
    }

    /// Returns the share of the compressed file that has been read.
    pub(crate) fn fraction(&self) -> f64 {
        let whole = self.version.bytes;
        if whole == 0 { 1.0 } else { (self.source.bytes() as f64 / whole as f64).min(1.0) }
    }

    /// Returns the number of lines that were parsed.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// Makes sure that there is a whole line to parse; returns false at the end of the file.
    pub(crate) fn fill(&mut self) -> Result<bool> {
        if self.at < self.limit {
            return Ok(true);
        }
        if self.eof {
            return Ok(false);
        }
        self.buffer.copy_within(self.limit..self.end, 0);
        self.end -= self.limit;
        (self.at, self.limit) = (0, 0);
        loop {
            if self.end == self.buffer.len() {
                if self.line == 0 {
                    self.check_text()?;
                }
                return Err(Error::trace(
                    format!("{}:{}", self.path, self.line + 1),
                    format!("found a line of more than {} KiB, expected the text of a trace", BLOCK_BYTES >> 10),
                ));
            }
            let read = match self.source.read(&mut self.buffer[self.end..]) {
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.damaged(&error)),
            };
            let from = if self.started { self.end } else { 0 };
            self.end += read;
            if read == 0 {
                self.eof = true;
                self.limit = self.end;
                if self.record_bytes > 0 && !self.end.is_multiple_of(self.record_bytes) {
                    let (found, whole) = (self.end % self.record_bytes, self.record_bytes);
                    let message = format!(
                        "found {found} bytes after the last record, expected a file of whole records of {whole} \
                         bytes: the file may be cut off, or --format may be wrong"
                    );
                    return Err(Error::trace(self.path.clone(), message));
                }
            } else if !self.started && self.end < self.buffer.len() {
                // A format is recognised from the first block. Reading goes on until the block is full, as the first read may return few
                // bytes.
                continue;
            } else if self.record_bytes > 0 {
                self.limit = self.end - self.end % self.record_bytes;
                if self.limit == 0 {
                    continue;
                }
            } else if let Some(newline) = memrchr(b'\n', &self.buffer[from..self.end]) {
                self.limit = from + newline + 1;
            } else {
                continue;
            }
            if !self.started {
                self.started = true;
                if self.record_bytes == 0 && self.buffer[..self.limit].starts_with(b"\xef\xbb\xbf") {
                    self.at = 3;
                }
            }
            return Ok(self.at < self.limit);
        }
    }

    fn damaged(&self, error: &io::Error) -> Error {
        let format = match self.compression {
            Compression::None => return Error::io(&self.path, error),
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
        };
        // `fill` is called when no lines are left in the buffer, so all lines up to here were parsed.
        let after = format!("{} {}", if self.record_bytes > 0 { "record" } else { "line" }, self.line);
        let message = if error.kind() == io::ErrorKind::UnexpectedEof {
            format!(
                "found a truncated {format} file, which ends after {after}, expected the whole file: copy or \
                 download it again"
            )
        } else {
            format!(
                "found a {format} file that is damaged after {after} ({error}), expected an undamaged file: copy or \
                 download it again"
            )
        };
        Error::trace(self.path.clone(), message)
    }

    /// Returns the whole lines in the buffer, from which a format is recognised.
    pub(crate) fn sample(&mut self) -> Result<&[u8]> {
        self.fill()?;
        if self.record_bytes == 0 {
            self.check_text()?;
        }
        Ok(&self.buffer[self.at..self.limit])
    }

    /// Checks that the first block is text.
    fn check_text(&self) -> Result<()> {
        let text = &self.buffer[..self.end];
        if let Some((found, wanted)) = foreign(text) {
            return Err(Error::trace(self.path.clone(), format!("found {found}, expected {wanted}")));
        }
        let strange = |byte: u8| byte < b' ' && !matches!(byte, b'\n' | b'\r' | b'\t');
        let Some(at) = text.iter().position(|&byte| strange(byte)) else { return Ok(()) };
        let line = text[..at].iter().filter(|&&byte| byte == b'\n').count() + 1;
        let found = text[at];
        Err(Error::trace(
            self.path.clone(),
            format!(
                "found a binary file (byte {found:#04x} in line {line}), expected the text of a trace; --format \
                 oracle-general or --format vscsi reads binary traces"
            ),
        ))
    }

    pub(crate) fn error(&self, line: u64, message: impl Into<String>) -> Error {
        if self.record_bytes > 0 {
            let byte = line.saturating_sub(1) * self.record_bytes as u64;
            return Error::trace(format!("{}: record {line} (byte {byte})", self.path), message);
        }
        Error::trace(format!("{}:{line}", self.path), message)
    }

    /// Checks that the file is still the one that was scanned.
    pub(crate) fn expect_version(&self, scanned: FileVersion) -> Result<()> {
        if self.spooled {
            return Ok(());
        }
        let now = std::fs::metadata(&self.file).map_err(|error| Error::io(&self.file, &error))?;
        if FileVersion::of(&now) == scanned {
            return Ok(());
        }
        let message = format!(
            "found {} bytes{}, expected the {} bytes that were scanned: the file has changed during the run; start \
             the run again",
            now.len(),
            if now.len() == scanned.bytes { " that were written since" } else { "" },
            scanned.bytes
        );
        Err(Error::trace(self.path.clone(), message))
    }
}

/// Names a file that is neither text nor can be decompressed here, by its first bytes, and what its user can do with it.
fn foreign(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    const UNPACKED: &str = "text, or text packed with gzip or zstd: unpack the file first, or pipe the unpacked \
                            text into `-`";
    const ENCODED: &str = "text in UTF-8: convert the file, such as by `iconv -f UTF-16 -t UTF-8`";
    const PARSED: &str = "text: `blkparse -i` converts this file together with those of the other CPUs";
    let begins: [(&[u8], &str, &str); 10] = [
        (b"\xfd7zXZ\0", "a file packed with xz", UNPACKED),
        (b"BZh", "a file packed with bzip2", UNPACKED),
        (b"PK\x03\x04", "a zip archive", UNPACKED),
        (b"7z\xbc\xaf\x27\x1c", "a 7z archive", UNPACKED),
        (b"\x04\x22\x4d\x18", "a file packed with lz4", UNPACKED),
        (b"\xff\xfe", "text in UTF-16", ENCODED),
        (b"\xfe\xff", "text in UTF-16", ENCODED),
        // Their version, 7, comes first or last, by the order of bytes.
        (b"\x07tae", "a binary trace of blktrace", PARSED),
        (b"eat\x07", "a binary trace of blktrace", PARSED),
        (b"PAR1", "a Parquet file", "text: give the file a name that ends in .parquet, and it is read as Parquet"),
    ];
    let is_tar = bytes.get(257..262) == Some(b"ustar");
    if is_tar {
        return Some((
            "a tar archive",
            "the text of one trace: unpack the archive, or pipe `tar xOf FILE NAME` into `-`",
        ));
    }
    begins.into_iter().find(|(magic, ..)| bytes.starts_with(magic)).map(|(_, found, wanted)| (found, wanted))
}
