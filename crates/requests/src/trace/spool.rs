//! Traces that come through a pipe. They are read twice, so they are kept in a file without a name in the meantime.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use softsense_base::{Error, Result};

use super::TraceSpec;

/// Bytes that are copied at a time.
const CHUNK: usize = 256 << 10;

/// Copies standard input (the path `-`) or a pipe into a nameless file in the folder for temporary files, compressed as it comes. The file
/// is gone when the process ends, in whatever way. For other paths nothing is done.
pub(super) fn spool(spec: &mut TraceSpec, progress: &mut dyn FnMut(f64) -> bool) -> Result<()> {
    if spec.file.is_some() {
        return Ok(());
    }
    let stdin = spec.path == Path::new("-");
    if !stdin {
        let metadata = std::fs::metadata(&spec.path).map_err(|error| Error::io(&spec.path, &error))?;
        if metadata.is_dir() {
            return Err(Error::trace(spec.path.display().to_string(), "found a directory, expected a trace file"));
        }
        if metadata.is_file() {
            return Ok(());
        }
    }
    let mut source: Box<dyn Read> = if stdin {
        spec.path = PathBuf::from("standard input");
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(&spec.path).map_err(|error| Error::io(&spec.path, &error))?)
    };
    let failed = |error: io::Error| {
        let folder = std::env::temp_dir();
        let message = format!("cannot be kept in {}: {}", folder.display(), Error::io("", &error).message());
        Error::trace(spec.path.display().to_string(), message)
    };
    let mut file = tempfile::tempfile().map_err(failed)?;
    let mut buffer = vec![0; CHUNK];
    loop {
        match source.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => file.write_all(&buffer[..read]).map_err(failed)?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::io(&spec.path, &error)),
        }
        if !progress(0.0) {
            return Err(Error::trace(spec.path.display().to_string(), "interrupted"));
        }
    }
    spec.file = Some(Arc::new(file));
    Ok(())
}
