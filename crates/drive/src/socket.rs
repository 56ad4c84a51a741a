//! A connection over a Unix socket or TCP.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The bytes that are written at a time. Linux applies the timeout of writes to each 32 KiB of them.
const PIECE_BYTES: usize = 256 << 10;

pub(crate) enum Socket {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Socket {
    /// Shuts down one direction or both, for all threads: those that wait in it wake up. On a socket that is closed already it does
    /// nothing.
    pub(crate) fn shutdown(&self, how: Shutdown) {
        let _ = match self {
            Socket::Unix(stream) => stream.shutdown(how),
            Socket::Tcp(stream) => stream.shutdown(how),
        };
    }

    pub(crate) fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Socket::Unix(stream) => stream.set_read_timeout(timeout),
            Socket::Tcp(stream) => stream.set_read_timeout(timeout),
        }
    }

    pub(crate) fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Socket::Unix(stream) => stream.set_write_timeout(timeout),
            Socket::Tcp(stream) => stream.set_write_timeout(timeout),
        }
    }

    pub(crate) fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Socket::Unix(stream) => (&*stream).write_all(bytes),
            Socket::Tcp(stream) => (&*stream).write_all(bytes),
        }
    }

    /// Writes all bytes within a time, however slowly the other side takes them. The timeout of writes must be shorter. The time is
    /// checked after each piece.
    pub(crate) fn write_within(&self, mut bytes: &[u8], patience: Duration) -> io::Result<()> {
        let begun = Instant::now();
        while !bytes.is_empty() {
            let piece = &bytes[..bytes.len().min(PIECE_BYTES)];
            let written = match self {
                Socket::Unix(stream) => (&*stream).write(piece),
                Socket::Tcp(stream) => (&*stream).write(piece),
            };
            match written {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
                Err(error) => return Err(error),
            }
            if !bytes.is_empty() && begun.elapsed() > patience {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        Ok(())
    }
}

/// The reading side of a socket. A deadline applies to all bytes that are read, however small the pieces.
pub(crate) struct Incoming {
    pub socket: Arc<Socket>,
    deadline: Option<Instant>,
}

impl Incoming {
    /// A reading side without a deadline.
    pub(crate) fn new(socket: Arc<Socket>) -> Self {
        Self { socket, deadline: None }
    }

    /// Sets the time by which all bytes that are read from now on must have come. Without a deadline they may take any time.
    pub(crate) fn set_deadline(&mut self, deadline: Option<Instant>) -> io::Result<()> {
        self.deadline = deadline;
        if deadline.is_none() { self.socket.set_read_timeout(None) } else { Ok(()) }
    }
}

impl Read for Incoming {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(deadline) = self.deadline {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.socket.set_read_timeout(Some(left))?;
        }
        match &*self.socket {
            Socket::Unix(stream) => (&*stream).read(buffer),
            Socket::Tcp(stream) => (&*stream).read(buffer),
        }
    }
}
