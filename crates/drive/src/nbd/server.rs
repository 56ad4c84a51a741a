//! A server of one export.

use super::export::Export;
use super::transmission::Budget;
use super::{negotiation, transmission, wire};
use crate::listening::{Address, Connection, Listener};
use crate::socket::Incoming;
use softsense_base::{Error, Result};
use std::io::{self, BufReader};
use std::panic;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The limits on what clients may take of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Connections at a time. One more replaces the connection that has been about to choose an export for longest. If all have chosen,
    /// the new one is closed at once.
    pub connections: usize,
    /// Requests of a connection that are worked on at a time, each by a thread. Further requests are not read from the socket.
    pub requests_in_hand: usize,
    /// Bytes that are held for the reads and writes of a connection, at least
    /// [`MAXIMUM_PAYLOAD_BYTES`](super::MAXIMUM_PAYLOAD_BYTES). Each thread may keep up to 256 KiB more for its next request.
    pub bytes_in_hand: usize,
    /// Bytes that are held for the reads and writes of all connections, at least as many as for one. Requests wait until others are
    /// done.
    pub bytes_of_all: usize,
    /// The time that a client may take for a reply, and for the data of a write. After it the connection ends, and its memory is free.
    pub reply: Duration,
    /// The time that a client may take to choose an export.
    pub negotiation: Duration,
    /// The time that [`Server::stop`] waits for clients to take replies.
    pub stop: Duration,
}

impl Default for Limits {
    /// 64 connections of 8 requests and 64 MiB each, and 256 MiB for all. The times are 10 s to negotiate, 30 s for a reply, and 10 s to
    /// take the last replies.
    fn default() -> Self {
        Self {
            connections: 64,
            requests_in_hand: 8,
            bytes_in_hand: 64 << 20,
            bytes_of_all: 256 << 20,
            reply: Duration::from_secs(30),
            negotiation: Duration::from_secs(10),
            stop: Duration::from_secs(10),
        }
    }
}

/// A running server of one export. It is [stopped](Server::stop) when it is dropped.
pub struct Server {
    listener: Listener,
    uri: String,
}

impl Server {
    /// Binds to an address, and serves from now on.
    ///
    /// A socket file at which nobody listens is replaced; one that is in use is not.
    ///
    /// # Errors
    /// When the address cannot be bound, when its socket is in use or its path is another kind of file, or when the export's sizes or
    /// the limits are out of bounds.
    pub fn start(address: &Address, export: Arc<dyn Export>, limits: Limits) -> Result<Self> {
        check(&*export, &limits)?;
        let name = percent_encoded(export.name().as_bytes());
        let (connections, patience) = (limits.connections, limits.stop);
        let of_all = Budget::new(limits.bytes_of_all);
        let answer = Box::new(move |connection: &Connection<'_>| serve(connection, &*export, &limits, &of_all));
        let listener = Listener::start(address, connections, patience, answer)?;
        let uri = match (address, listener.port()) {
            (Address::Unix(path), _) => {
                let absolute = std::path::absolute(path).map_err(|error| Error::io(path, &error))?;
                let socket = percent_encoded(absolute.as_os_str().as_encoded_bytes());
                format!("nbd+unix:///{name}?socket={socket}")
            }
            (Address::Loopback(port), bound) => match bound {
                Some(bound) => format!("nbd://{bound}/{name}"),
                None => format!("nbd://127.0.0.1:{port}/{name}"),
            },
        };
        Ok(Self { listener, uri })
    }

    /// The URI of the export for clients, such as `nbd+unix:///disk?socket=/run/disk.sock`.
    ///
    /// Source: NetworkBlockDevice/nbd, `doc/uri.md`.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// The number of connections now.
    pub fn connections(&self) -> usize {
        self.listener.connections()
    }

    /// Takes no more connections and requests, answers the requests in hand, closes all connections and removes the socket file. A
    /// client that does not take its replies loses them after [`Limits::stop`].
    ///
    /// # Panics
    /// When the export has panicked in a connection.
    pub fn stop(mut self) {
        if let Some(panicked) = self.listener.end() {
            panic::resume_unwind(panicked);
        }
    }
}

fn serve(connection: &Connection<'_>, export: &dyn Export, limits: &Limits, of_all: &Budget) -> io::Result<()> {
    let socket = &connection.socket;
    socket.set_write_timeout(Some(limits.negotiation))?;
    let mut incoming = Incoming::new(Arc::clone(socket));
    incoming.set_deadline(Some(Instant::now() + limits.negotiation))?;
    let mut stream = BufReader::with_capacity(16 << 10, incoming);
    if let Some(agreed) = negotiation::negotiate(&mut stream, export)? {
        connection.set_silent(false);
        stream.get_mut().set_deadline(None)?;
        socket.set_write_timeout(Some(limits.reply.min(Duration::from_secs(1))))?;
        transmission::transmit(stream, export, agreed, limits, connection.stopping(), of_all);
    }
    Ok(())
}

fn check(export: &dyn Export, limits: &Limits) -> Result<()> {
    let wrong = |place: &str, message: String| Err(Error::config(place, message));
    let (size, preferred) = (export.size_bytes(), export.preferred_block_bytes());
    if !size.is_multiple_of(wire::SECTOR_BYTES) {
        return wrong("size_bytes", format!("found {size}, expected a multiple of 512"));
    }
    if !preferred.is_power_of_two() || !(512..=wire::MAXIMUM_PAYLOAD_BYTES).contains(&preferred) {
        let message = format!("found {preferred}, expected a power of two from 512 to 33554432");
        return wrong("preferred_block_bytes", message);
    }
    for (place, text) in [("name", export.name()), ("description", export.description())] {
        if text.len() > wire::MAXIMUM_STRING_BYTES {
            return wrong(place, format!("found {} bytes, expected at most 4096", text.len()));
        }
    }
    if limits.bytes_in_hand < wire::MAXIMUM_PAYLOAD_BYTES as usize {
        let found = limits.bytes_in_hand;
        return wrong("bytes_in_hand", format!("found {found}, expected at least 33554432, the longest request"));
    }
    if limits.bytes_of_all < limits.bytes_in_hand {
        let found = limits.bytes_of_all;
        return wrong(
            "bytes_of_all",
            format!("found {found}, expected at least `bytes_in_hand`, the bytes of one connection"),
        );
    }
    for (place, time) in [("negotiation", limits.negotiation), ("reply", limits.reply)] {
        if time.is_zero() {
            return wrong(place, "found 0 s, expected a time above 0".into());
        }
    }
    Ok(())
}

/// Encodes the bytes of a URI's path or query. Source: RFC 3986, section 2.
fn percent_encoded(bytes: &[u8]) -> String {
    let mut text = String::new();
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            text.push(byte.into());
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}
