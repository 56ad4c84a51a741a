//! The owner's socket: each line is a JSON object with a request, and each answer is a line with a JSON object.

use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;
use softsense_base::Result;

use crate::ServedDrive;
use crate::listening::{Address, Connection, Listener};
use crate::socket::Incoming;

/// The longest request, bytes.
const LONGEST_REQUEST_BYTES: usize = 1 << 16;
/// The bytes of a longer request that are read and dropped, so that its sender gets an answer.
const MOST_DISCARDED_BYTES: u64 = 1 << 20;
/// The number of owners at a time. Each has a thread.
const CONNECTIONS: usize = 64;
/// The time that an owner may be silent.
const PATIENCE: Duration = Duration::from_secs(60);
/// The time that an owner may take to read an answer.
const ANSWER_PATIENCE: Duration = Duration::from_secs(10);

/// A socket at which a drive answers its owner, until it is dropped.
pub struct Control {
    path: PathBuf,
    _listener: Listener,
}

impl Control {
    /// Listens at a path, in place of a socket that nobody listens at any more.
    ///
    /// # Errors
    /// A path where something else is, or where no socket can be made.
    pub fn start(path: &Path, drive: Arc<ServedDrive>) -> Result<Self> {
        let answer = Box::new(move |connection: &Connection<'_>| answer(connection, &drive));
        let listener = Listener::start(&Address::Unix(path.to_owned()), CONNECTIONS, ANSWER_PATIENCE, answer)?;
        Ok(Self { path: path.to_owned(), _listener: listener })
    }

    /// The path of the socket.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn answer(connection: &Connection<'_>, drive: &ServedDrive) -> io::Result<()> {
    let socket = &connection.socket;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_write_timeout(Some(ANSWER_PATIENCE))?;
    let mut reader = BufReader::new(Incoming::new(Arc::clone(socket)));
    let mut request = Vec::new();
    loop {
        request.clear();
        let read = reader.by_ref().take(LONGEST_REQUEST_BYTES as u64 + 1).read_until(b'\n', &mut request)?;
        if read == 0 || connection.stopping().load(Ordering::Acquire) {
            return Ok(());
        }
        connection.set_silent(false);
        let long = request.len() > LONGEST_REQUEST_BYTES;
        let mut answer = if long {
            let message = format!("found more than {LONGEST_REQUEST_BYTES} bytes, expected one JSON object a line");
            json!({ "error": format!("request: {message}") }).to_string()
        } else {
            drive.ask(&String::from_utf8_lossy(&request))
        };
        answer.push('\n');
        socket.write_within(answer.as_bytes(), ANSWER_PATIENCE)?;
        if long {
            return reader.take(MOST_DISCARDED_BYTES).skip_until(b'\n').map(drop);
        }
        connection.set_silent(true);
    }
}
