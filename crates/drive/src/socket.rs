//! A connection by a Unix socket or by TCP.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What is written at a time. Linux waits for each 32 KiB of it as long as the timeout of writes says.
const PIECE_BYTES: usize = 256 << 10;

pub enum Socket {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Socket {
    /// Ends one direction or both, for all threads; those that wait in it wake up. A socket that is closed already is none the
    /// worse.
    pub fn shutdown(&self, how: Shutdown) {
        let _ = match self {
            Socket::Unix(stream) => stream.shutdown(how),
            Socket::Tcp(stream) => stream.shutdown(how),
        };
    }

    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Socket::Unix(stream) => stream.set_read_timeout(timeout),
            Socket::Tcp(stream) => stream.set_read_timeout(timeout),
        }
    }

    pub fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Socket::Unix(stream) => stream.set_write_timeout(timeout),
            Socket::Tcp(stream) => stream.set_write_timeout(timeout),
        }
    }

    pub fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Socket::Unix(stream) => (&*stream).write_all(bytes),
            Socket::Tcp(stream) => (&*stream).write_all(bytes),
        }
    }

    /// Writes all within a time, however slowly the other side takes it; the timeout of writes must be shorter. The time is looked at
    /// after each piece.
    pub fn write_within(&self, mut bytes: &[u8], patience: Duration) -> io::Result<()> {
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

/// The reading side of a socket. A deadline is of all that is read, however small its pieces.
pub struct Incoming {
    pub socket: Arc<Socket>,
    deadline: Option<Instant>,
}

impl Incoming {
    /// Without a deadline.
    pub fn new(socket: Arc<Socket>) -> Self {
        Self { socket, deadline: None }
    }

    /// What is read from now on has to be there then; without a deadline it may take as long as it takes.
    pub fn set_deadline(&mut self, deadline: Option<Instant>) -> io::Result<()> {
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
