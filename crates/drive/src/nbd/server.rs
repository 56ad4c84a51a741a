//! Listening for connections, and the state that all connections share.

use super::export::Export;
use super::socket::{Incoming, Socket};
use super::{negotiation, transmission, wire};
use softsense_base::{Error, ErrorKind, Result};
use std::any::Any;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufReader};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::panic;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Where a server listens. There is no encryption and no password, so neither is reached from other machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A Unix socket, for the user alone (mode 0600).
    Unix(PathBuf),
    /// A port of 127.0.0.1, for all users of the machine; 0 is any that is free.
    Loopback(u16),
}

impl Address {
    /// Looks whether a server listens there already, before anything is made for one that would.
    ///
    /// # Errors
    /// When one does.
    pub fn expect_free(&self) -> Result<()> {
        match self {
            Self::Unix(path) if UnixStream::connect(path).is_ok() => Err(in_use(path)),
            Self::Loopback(port) if *port > 0 => {
                let address = SocketAddr::from((Ipv4Addr::LOCALHOST, *port));
                TcpListener::bind(address)
                    .map(drop)
                    .map_err(|error| Error::new(ErrorKind::Io, address.to_string(), error.to_string()))
            }
            _ => Ok(()),
        }
    }
}

fn in_use(path: &Path) -> Error {
    Error::new(ErrorKind::Io, path.display().to_string(), "is in use: a server listens there")
}

/// What clients may take of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Connections at a time; more are closed at once.
    pub connections: usize,
    /// Requests of a connection that are worked on at a time, each by a thread. Further ones are not read from the socket.
    pub requests_in_hand: usize,
    /// Bytes that are held for the reads and writes of a connection, at least
    /// [`MAXIMUM_PAYLOAD_BYTES`](super::MAXIMUM_PAYLOAD_BYTES). Each thread may keep up to 2 MiB more for its next request.
    pub bytes_in_hand: usize,
    /// How long a client may take to choose an export.
    pub negotiation: Duration,
    /// How long [`Server::stop`] waits for clients to take replies.
    pub stop: Duration,
}

impl Default for Limits {
    /// 64 connections of 8 requests and 64 MiB; 10 s to negotiate, and 10 s to take the last replies.
    fn default() -> Self {
        Self {
            connections: 64,
            requests_in_hand: 8,
            bytes_in_hand: 64 << 20,
            negotiation: Duration::from_secs(10),
            stop: Duration::from_secs(10),
        }
    }
}

/// A running server of one export. It is [stopped](Server::stop) when it is dropped.
pub struct Server {
    shared: Arc<Shared>,
    /// To wake the thread that accepts.
    listening: Listening,
    accepting: Option<JoinHandle<()>>,
    uri: String,
    /// The socket file that this server made: path, device and inode.
    file: Option<(PathBuf, u64, u64)>,
}

/// What the threads of a server share.
struct Shared {
    export: Arc<dyn Export>,
    limits: Limits,
    stopping: AtomicBool,
    connections: Mutex<Connections>,
    /// A connection has ended.
    ended: Condvar,
}

#[derive(Default)]
struct Connections {
    sockets: HashMap<u64, Arc<Socket>>,
    threads: Vec<JoinHandle<()>>,
    accepted: u64,
    /// What the first export that panicked said.
    panic: Option<Box<dyn Any + Send>>,
}

enum Listening {
    Unix(UnixListener),
    Tcp(TcpListener),
}

impl Server {
    /// Binds to an address, and serves from now on.
    ///
    /// A socket file that nobody listens to is replaced, one that is in use is not.
    ///
    /// # Errors
    /// When the address cannot be bound, when its socket is in use or its path is some other file, and when sizes of the export or
    /// limits are not what they must be.
    pub fn start(address: &Address, export: Arc<dyn Export>, limits: Limits) -> Result<Self> {
        check(&*export, &limits)?;
        let (listening, uri, file) = match address {
            Address::Unix(path) => {
                let (listener, file) = bind_unix(path)?;
                let absolute = std::path::absolute(path).map_err(|error| Error::io(path, &error))?;
                let socket = percent_encoded(absolute.as_os_str().as_encoded_bytes());
                let name = percent_encoded(export.name().as_bytes());
                (Listening::Unix(listener), format!("nbd+unix:///{name}?socket={socket}"), Some(file))
            }
            Address::Loopback(port) => {
                let place = SocketAddr::from((Ipv4Addr::LOCALHOST, *port));
                let bound = TcpListener::bind(place).and_then(|listener| Ok((listener.local_addr()?, listener)));
                let (bound, listener) = bound.map_err(|error| Error::io(place.to_string(), &error))?;
                let name = percent_encoded(export.name().as_bytes());
                (Listening::Tcp(listener), format!("nbd://{bound}/{name}"), None)
            }
        };
        let shared = Arc::new(Shared {
            export,
            limits,
            stopping: AtomicBool::new(false),
            connections: Mutex::default(),
            ended: Condvar::new(),
        });
        let mut server = Self { shared: Arc::clone(&shared), listening, accepting: None, uri, file };
        let accepting = server
            .listening
            .try_clone()
            .and_then(|listening| thread::Builder::new().name("nbd".into()).spawn(move || accept(&listening, &shared)));
        server.accepting = Some(accepting.map_err(|error| Error::io(&server.uri, &error))?);
        Ok(server)
    }

    /// Where clients find the export, such as `nbd+unix:///disk?socket=/run/disk.sock`.
    ///
    /// Source: NetworkBlockDevice/nbd, `doc/uri.md`.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// How many connections there are now.
    pub fn connections(&self) -> usize {
        self.shared.lock().sockets.len()
    }

    /// Takes no more connections and requests, answers the requests that are in hand, closes all connections and removes the
    /// socket file. A client that does not take its replies loses them after [`Limits::stop`].
    ///
    /// # Panics
    /// When the export has panicked in some connection.
    pub fn stop(mut self) {
        self.end();
        let panicked = self.shared.lock().panic.take();
        if let Some(panicked) = panicked {
            panic::resume_unwind(panicked);
        }
    }

    fn end(&mut self) {
        self.shared.stopping.store(true, Ordering::Release);
        if let Some(accepting) = self.accepting.take() {
            self.listening.wake();
            let _ = accepting.join();
        }
        if let Some((path, device, inode)) = self.file.take() {
            // Whoever put another file in its place keeps it.
            if fs::symlink_metadata(&path).is_ok_and(|found| (found.dev(), found.ino()) == (device, inode)) {
                let _ = fs::remove_file(&path);
            }
        }
        let mut connections = self.shared.lock();
        connections.sockets.values().for_each(|socket| socket.shutdown(Shutdown::Read));
        let deadline = Instant::now() + self.shared.limits.stop;
        while !connections.sockets.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                connections.sockets.values().for_each(|socket| socket.shutdown(Shutdown::Both));
                break;
            }
            let waited = self.shared.ended.wait_timeout(connections, left);
            connections = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let threads = std::mem::take(&mut connections.threads);
        drop(connections);
        for thread in threads {
            self.shared.join(thread);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn join(&self, thread: JoinHandle<()>) {
        if let Err(panicked) = thread.join() {
            self.lock().panic.get_or_insert(panicked);
        }
    }

    fn serve(&self, socket: &Arc<Socket>) -> io::Result<()> {
        let limits = &self.limits;
        socket.set_write_timeout(Some(limits.negotiation))?;
        let incoming = Incoming::until(Arc::clone(socket), Instant::now() + limits.negotiation);
        let mut stream = BufReader::with_capacity(16 << 10, incoming);
        if let Some(agreed) = negotiation::negotiate(&mut stream, &*self.export)? {
            stream.get_mut().lift_deadline()?;
            transmission::transmit(stream, &*self.export, agreed, limits, &self.stopping);
        }
        Ok(())
    }
}

/// Takes an ended connection off the list, even one that panicked.
struct Ending<'a> {
    shared: &'a Shared,
    socket: Arc<Socket>,
    number: u64,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.shared.lock().sockets.remove(&self.number);
        self.shared.ended.notify_all();
    }
}

/// The thread that waits for connections.
fn accept(listening: &Listening, shared: &Arc<Shared>) {
    loop {
        let accepted = listening.accept();
        if shared.stopping.load(Ordering::Acquire) {
            return;
        }
        let Ok(socket) = accepted.map(Arc::new) else {
            // Out of descriptors, or the client has gone; both pass.
            thread::sleep(Duration::from_millis(5));
            continue;
        };
        let (finished, number) = {
            let mut connections = shared.lock();
            let finished: Vec<_> = connections.threads.extract_if(.., |thread| thread.is_finished()).collect();
            let full = connections.sockets.len() >= shared.limits.connections;
            connections.accepted += 1;
            let number = connections.accepted;
            if !full {
                connections.sockets.insert(number, Arc::clone(&socket));
            }
            (finished, (!full).then_some(number))
        };
        finished.into_iter().for_each(|thread| shared.join(thread));
        let Some(number) = number else { continue };
        let serving = Arc::clone(shared);
        let connection = thread::Builder::new().name("nbd connection".into()).spawn(move || {
            let ending = Ending { shared: &serving, socket, number };
            // How a client went wrong is of no interest to others.
            let _ = serving.serve(&ending.socket);
        });
        let mut connections = shared.lock();
        match connection {
            Ok(thread) => connections.threads.push(thread),
            Err(_) => drop(connections.sockets.remove(&number)),
        }
    }
}

impl Listening {
    fn try_clone(&self) -> io::Result<Self> {
        Ok(match self {
            Listening::Unix(listener) => Listening::Unix(listener.try_clone()?),
            Listening::Tcp(listener) => Listening::Tcp(listener.try_clone()?),
        })
    }

    fn accept(&self) -> io::Result<Socket> {
        match self {
            Listening::Unix(listener) => Ok(Socket::Unix(listener.accept()?.0)),
            Listening::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nodelay(true)?;
                Ok(Socket::Tcp(stream))
            }
        }
    }

    /// Makes a thread that accepts look up. Linux ends the wait when the listening socket is shut down; elsewhere it takes a
    /// connection.
    fn wake(&self) {
        let _ = match self {
            Listening::Unix(listener) => listener.try_clone().and_then(|listener| {
                let socket = UnixStream::from(OwnedFd::from(listener));
                socket.shutdown(Shutdown::Both).or_else(|_| UnixStream::connect_addr(&socket.local_addr()?).map(drop))
            }),
            Listening::Tcp(listener) => listener.try_clone().and_then(|listener| {
                let socket = TcpStream::from(OwnedFd::from(listener));
                socket.shutdown(Shutdown::Both).or_else(|_| TcpStream::connect(socket.local_addr()?).map(drop))
            }),
        };
    }
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
    if limits.negotiation.is_zero() {
        return wrong("negotiation", "found 0 s, expected some time".into());
    }
    Ok(())
}

/// Listens at a path, where a socket appears with its mode already set.
fn bind_unix(path: &Path) -> Result<(UnixListener, (PathBuf, u64, u64))> {
    let failed = |error: io::Error| Error::io(path, &error);
    let absolute = std::path::absolute(path).map_err(failed)?;
    // A longer path could be made by renaming, but no client could name it.
    std::os::unix::net::SocketAddr::from_pathname(&absolute).map_err(failed)?;
    let Some(folder) = absolute.parent() else {
        return Err(Error::new(
            ErrorKind::Io,
            path.display().to_string(),
            "is a folder, expected the path of a socket",
        ));
    };
    // Of two servers that find the same stale socket one at a time replaces it.
    let _locked = lock_soon(folder);
    match fs::symlink_metadata(&absolute) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed(error)),
        Ok(found) if !found.file_type().is_socket() => {
            let message = "is there and no socket; it is not replaced";
            return Err(Error::new(ErrorKind::Io, path.display().to_string(), message));
        }
        Ok(_) => match UnixStream::connect(&absolute) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
            Err(error) => return Err(failed(error)),
            Ok(_) => return Err(in_use(path)),
        },
    }
    // Bound where nobody else can come, until the mode is set: a socket is open to others from when it is bound.
    let private = folder.join(format!(".nbd{}", std::process::id()));
    let _ = fs::remove_dir_all(&private);
    fs::DirBuilder::new().mode(0o700).create(&private).map_err(failed)?;
    let bound = (|| {
        let place = private.join("s");
        let listener = UnixListener::bind(&place)?;
        fs::set_permissions(&place, fs::Permissions::from_mode(0o600))?;
        let made = fs::symlink_metadata(&place)?;
        fs::rename(&place, &absolute)?;
        Ok((listener, (absolute.clone(), made.dev(), made.ino())))
    })();
    let _ = fs::remove_dir_all(&private);
    bound.map_err(failed)
}

/// Locks a folder that others lock for moments only. Where that cannot be done in two seconds, it is done without: in a folder of
/// all users any of them could keep the lock.
fn lock_soon(folder: &Path) -> Option<File> {
    let file = File::open(folder).ok()?;
    for _ in 0..200 {
        match file.try_lock() {
            Ok(()) => return Some(file),
            Err(fs::TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(10)),
            Err(fs::TryLockError::Error(_)) => return None,
        }
    }
    None
}

/// Bytes of a URI's path or query. Source: RFC 3986, section 2.
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
