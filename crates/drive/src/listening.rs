//! Listening at an address, for clients of a drive and for its owner. A thread answers each connection. The number of connections is
//! bounded, and a silent one makes room for another.

use crate::socket::Socket;
use softsense_base::{Error, ErrorKind, Result};
use std::any::Any;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The time that a new connection waits for the place of a silent one.
const GIVING_WAY: Duration = Duration::from_millis(500);

/// The address at which a server listens. There is no encryption and no password, so neither kind can be reached from other machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A Unix socket, for the user alone (mode 0600).
    Unix(PathBuf),
    /// A port of 127.0.0.1, for all users of the machine; 0 is any that is free.
    Loopback(u16),
}

impl Address {
    /// Checks that no server listens at the address already, before anything is made for a new one.
    ///
    /// # Errors
    /// When a server listens there.
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
    Error::new(
        ErrorKind::Io,
        path.display().to_string(),
        "found a socket on which another server listens, expected a free path: end that server, or choose another path",
    )
}

/// The function that answers a connection until it ends, in a thread of its own. Errors of a client concern only that client.
pub(crate) type Answer = Box<dyn Fn(&Connection<'_>) -> io::Result<()> + Send + Sync>;

/// A listening server. [`end`](Self::end) is called when it is dropped.
pub(crate) struct Listener {
    shared: Arc<Shared>,
    /// The listening socket, with which the accepting thread is woken.
    listening: Listening,
    accepting: Option<JoinHandle<()>>,
    /// The time for which clients may still take answers after the end has begun.
    patience: Duration,
    /// The port at which the server listens; `None` for a socket file.
    port: Option<SocketAddr>,
    /// The socket file that was made: path, device and inode.
    file: Option<(PathBuf, u64, u64)>,
}

/// The state that the threads of a listener share.
struct Shared {
    answer: Answer,
    most: usize,
    stopping: AtomicBool,
    connections: Mutex<Connections>,
    /// Signalled when a connection has ended.
    ended: Condvar,
}

#[derive(Default)]
struct Connections {
    open: HashMap<u64, Open>,
    threads: Vec<JoinHandle<()>>,
    /// The number of turns that were given out. A turn numbers each connection, and each moment at which one fell silent.
    turns: u64,
    /// The message of the first answer that panicked.
    panic: Option<Box<dyn Any + Send>>,
}

struct Open {
    socket: Arc<Socket>,
    /// The turn since which nothing has been done for the connection, if nothing is being done.
    silent: Option<u64>,
}

/// A connection that is being answered. It leaves the list of connections when it is dropped, even if its answer panics.
pub(crate) struct Connection<'a> {
    /// Its socket.
    pub socket: Arc<Socket>,
    shared: &'a Shared,
    number: u64,
}

impl Connection<'_> {
    /// Tells whether nothing is being done for the client now. A silent connection is ended when all places are taken and another client
    /// comes. Each connection is silent at first.
    pub(crate) fn set_silent(&self, silent: bool) {
        let mut connections = self.shared.lock();
        connections.turns += 1;
        let turn = connections.turns;
        if let Some(open) = connections.open.get_mut(&self.number) {
            open.silent = silent.then_some(turn);
        }
    }

    /// Set when no more requests are to be taken.
    pub(crate) fn stopping(&self) -> &AtomicBool {
        &self.shared.stopping
    }
}

impl Drop for Connection<'_> {
    fn drop(&mut self) {
        self.shared.lock().open.remove(&self.number);
        self.shared.ended.notify_all();
    }
}

enum Listening {
    Unix(UnixListener),
    Tcp(TcpListener),
}

impl Listener {
    /// Binds to an address, and answers from now on. A socket file at which nobody listens is replaced; one that is in use is not.
    ///
    /// # Errors
    /// When the address cannot be bound, its socket is in use, or its path is some other file.
    pub(crate) fn start(address: &Address, most: usize, patience: Duration, answer: Answer) -> Result<Self> {
        let (listening, port, file) = match address {
            Address::Unix(path) => {
                let (listener, file) = bind_unix(path)?;
                (Listening::Unix(listener), None, Some(file))
            }
            Address::Loopback(port) => {
                let place = SocketAddr::from((Ipv4Addr::LOCALHOST, *port));
                let bound = TcpListener::bind(place).and_then(|listener| Ok((listener.local_addr()?, listener)));
                let (bound, listener) = bound.map_err(|error| Error::io(place.to_string(), &error))?;
                (Listening::Tcp(listener), Some(bound), None)
            }
        };
        let shared = Arc::new(Shared {
            answer,
            most,
            stopping: AtomicBool::new(false),
            connections: Mutex::default(),
            ended: Condvar::new(),
        });
        let mut listener = Self { shared: Arc::clone(&shared), listening, accepting: None, patience, port, file };
        let accepting = listener.listening.try_clone().and_then(|listening| {
            thread::Builder::new().name("listener".into()).spawn(move || accept(&listening, &shared))
        });
        listener.accepting = Some(accepting.map_err(|error| Error::io("threads", &error))?);
        Ok(listener)
    }

    /// The port at which the server listens; `None` for a socket file.
    pub(crate) fn port(&self) -> Option<SocketAddr> {
        self.port
    }

    /// The number of connections now.
    pub(crate) fn connections(&self) -> usize {
        self.shared.lock().open.len()
    }

    /// Takes no more connections and requests, waits for the answers in hand, closes all connections and removes the socket file. A
    /// client that does not take its answers loses them when patience is over. The file or its folder may have been moved or removed:
    /// that does not stop the end. Returns the message of the first answer that panicked.
    pub(crate) fn end(&mut self) -> Option<Box<dyn Any + Send>> {
        self.shared.stopping.store(true, Ordering::Release);
        if let Some(accepting) = self.accepting.take() {
            self.listening.wake();
            let _ = accepting.join();
        }
        if let Some((path, device, inode)) = self.file.take() {
            // A file that somebody else has put in its place is kept.
            if fs::symlink_metadata(&path).is_ok_and(|found| (found.dev(), found.ino()) == (device, inode)) {
                let _ = fs::remove_file(&path);
            }
        }
        let mut connections = self.shared.lock();
        connections.open.values().for_each(|open| open.socket.shutdown(Shutdown::Read));
        let deadline = Instant::now() + self.patience;
        while !connections.open.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                connections.open.values().for_each(|open| open.socket.shutdown(Shutdown::Both));
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
        self.shared.lock().panic.take()
    }
}

impl Drop for Listener {
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

    /// Takes a place for one more connection, if there is one. Where all are taken, it is that of the connection that has been silent
    /// for longest.
    fn place(&self, socket: &Arc<Socket>) -> Option<u64> {
        let mut connections = self.lock();
        if connections.open.len() >= self.most {
            let silent = connections.open.values().filter_map(|open| Some((open.silent?, &open.socket)));
            silent.min_by_key(|(turn, _)| *turn)?.1.shutdown(Shutdown::Both);
            let waited = self
                .ended
                .wait_timeout_while(connections, GIVING_WAY, |connections| connections.open.len() >= self.most);
            connections = waited.unwrap_or_else(PoisonError::into_inner).0;
            if connections.open.len() >= self.most {
                return None;
            }
        }
        connections.turns += 1;
        let number = connections.turns;
        connections.open.insert(number, Open { socket: Arc::clone(socket), silent: Some(number) });
        Some(number)
    }
}

/// Accepts connections until the listener ends, in a thread of its own.
fn accept(listening: &Listening, shared: &Arc<Shared>) {
    loop {
        let accepted = listening.accept();
        if shared.stopping.load(Ordering::Acquire) {
            return;
        }
        let Ok(socket) = accepted.map(Arc::new) else {
            // Descriptors have run out, or the client has gone; both pass.
            thread::sleep(Duration::from_millis(5));
            continue;
        };
        let finished: Vec<_> = shared.lock().threads.extract_if(.., |thread| thread.is_finished()).collect();
        finished.into_iter().for_each(|thread| shared.join(thread));
        let Some(number) = shared.place(&socket) else { continue };
        let serving = Arc::clone(shared);
        let thread = thread::Builder::new().name("connection".into()).spawn(move || {
            let connection = Connection { socket, shared: &serving, number };
            let _ = (serving.answer)(&connection);
        });
        let mut connections = shared.lock();
        match thread {
            Ok(thread) => connections.threads.push(thread),
            Err(_) => drop(connections.open.remove(&number)),
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

    /// Wakes a thread that waits in accept. Linux ends the wait when the listening socket is shut down; other systems need a connection.
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

/// Listens at a path. The socket appears there with its mode already set.
fn bind_unix(path: &Path) -> Result<(UnixListener, (PathBuf, u64, u64))> {
    let failed = |error: io::Error| Error::io(path, &error);
    let absolute = std::path::absolute(path).map_err(failed)?;
    // A longer path could be made by renaming, but clients could not name it.
    std::os::unix::net::SocketAddr::from_pathname(&absolute).map_err(failed)?;
    let Some(folder) = absolute.parent() else {
        return Err(Error::new(
            ErrorKind::Io,
            path.display().to_string(),
            "found a folder, expected the path of a socket",
        ));
    };
    // If two servers find the same stale socket, one at a time replaces it.
    let _locked = lock_soon(folder);
    match fs::symlink_metadata(&absolute) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed(error)),
        Ok(found) if !found.file_type().is_socket() => {
            let message = "found a file that is not a socket, expected a free path: choose another path, as only an \
                           unused socket is replaced";
            return Err(Error::new(ErrorKind::Io, path.display().to_string(), message));
        }
        Ok(_) => match UnixStream::connect(&absolute) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
            Err(error) => return Err(failed(error)),
            Ok(_) => return Err(in_use(path)),
        },
    }
    // The socket is open to others from the moment it is bound. So it is bound in a folder that nobody else can enter, until its mode is
    // set. Nobody can guess the name of the folder and put a file there first.
    let owner_only = fs::Permissions::from_mode(0o700);
    let private =
        tempfile::Builder::new().prefix(".softsense").permissions(owner_only).tempdir_in(folder).map_err(failed)?;
    let place = private.path().join("s");
    let bound = UnixListener::bind(&place).or_else(|error| {
        // The path in this folder may be too long where the path of the socket is not.
        let held = File::open(private.path())?;
        UnixListener::bind(format!("/proc/self/fd/{}/s", held.as_raw_fd())).map_err(|_| error)
    });
    let listener = bound.map_err(failed)?;
    let owner_only = fs::Permissions::from_mode(0o600);
    let made = fs::set_permissions(&place, owner_only).and_then(|()| fs::symlink_metadata(&place)).map_err(failed)?;
    fs::rename(&place, &absolute).map_err(failed)?;
    Ok((listener, (absolute, made.dev(), made.ino())))
}

/// Locks a folder that others lock only for moments. After two seconds it goes on without the lock: in a folder of all users, any of
/// them could hold the lock for ever.
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
