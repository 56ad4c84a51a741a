//! The owner's socket: each line is a JSON object with a request, and each answer is one, too.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use softsense_base::{Error, Result};

use crate::ServedDrive;

/// No request is longer.
const LONGEST_REQUEST_BYTES: u64 = 1 << 16;
/// How long an owner may be silent.
const PATIENCE: Duration = Duration::from_secs(60);

/// A socket at which a drive answers its owner.
#[derive(Debug)]
pub struct Control {
    path: PathBuf,
    ending: Arc<AtomicBool>,
    listening: Option<JoinHandle<()>>,
}

impl Control {
    /// Listens at a path, in place of a socket that nobody listens at any more.
    ///
    /// # Errors
    /// A path where something else is, or where no socket can be made.
    pub fn start(path: &Path, drive: Arc<ServedDrive>) -> Result<Self> {
        use std::os::unix::fs::FileTypeExt as _;
        let taken = |message: &str| Error::new(softsense_base::ErrorKind::Io, path.display().to_string(), message);
        match std::fs::symlink_metadata(path) {
            Ok(found) if !found.file_type().is_socket() => return Err(taken("found a file, expected a new path")),
            Ok(_) if UnixStream::connect(path).is_ok() => {
                return Err(taken("found a socket that somebody listens at, expected a new path"));
            }
            Ok(_) => std::fs::remove_file(path).map_err(|error| Error::io(path, &error))?,
            Err(_) => {}
        }
        let listener = UnixListener::bind(path).map_err(|error| Error::io(path, &error))?;
        let owner_only = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(path, owner_only).map_err(|error| Error::io(path, &error))?;
        let ending = Arc::new(AtomicBool::new(false));
        let ended = ending.clone();
        let listening = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                if let Ok(stream) = stream {
                    let drive = drive.clone();
                    std::thread::spawn(move || drop(answer(&stream, &drive)));
                }
            }
        });
        Ok(Self { path: path.to_owned(), ending, listening: Some(listening) })
    }

    /// Where it listens.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::SeqCst);
        // Wakes it.
        drop(UnixStream::connect(&self.path));
        if let Some(listening) = self.listening.take() {
            drop(listening.join());
        }
        drop(std::fs::remove_file(&self.path));
    }
}

fn answer(stream: &UnixStream, drive: &ServedDrive) -> std::io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(stream);
    loop {
        let mut request = String::new();
        if reader.by_ref().take(LONGEST_REQUEST_BYTES).read_line(&mut request)? == 0 {
            return Ok(());
        }
        let mut answer = drive.ask(&request);
        answer.push('\n');
        (&mut &*stream).write_all(answer.as_bytes())?;
    }
}
