//! The second phase of a connection: requests and replies.
//!
//! Each worker reads a request, lets the next worker read, carries the request out, and replies. So each request under way occupies a
//! worker. When all workers are busy, no more requests are read, and the client waits.
//!
//! Source: `doc/proto.md`, "Transmission" and "Request types".

use super::export::{Export, Extent, Failure};
use super::negotiation::{Agreed, CONTEXT_ID, discard};
use super::server::Limits;
use super::wire::{self, Errno, Request, chunk, command, command_flag, state};
use crate::socket::{Incoming, Socket};
use std::io::{self, BufReader, Read};
use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

/// The most extents in one reply. Source: `doc/proto.md`, `NBD_REPLY_TYPE_BLOCK_STATUS`, allows 2^20. Clients ask again from where a
/// reply ends.
const MOST_EXTENTS: usize = 1 << 14;
/// The bytes of its buffer that a worker keeps between requests: large requests are rare, and an idle connection should be small.
const KEPT_BYTES: usize = HEADROOM + (256 << 10);
/// The room before the data of a read for the longest header, bytes. With it a reply is written in one piece without being copied.
const HEADROOM: usize = 28;

/// Serves requests until the client leaves, or until `stopping` is set and all requests in hand are answered.
pub(crate) fn transmit(
    stream: BufReader<Incoming>,
    export: &dyn Export,
    agreed: Agreed,
    limits: &Limits,
    stopping: &AtomicBool,
    of_all: &Budget,
) {
    let connection = Connection {
        socket: Arc::clone(&stream.get_ref().socket),
        requests: Mutex::new(Requests { stream, workers: 1, over: false }),
        waiting: AtomicUsize::new(0),
        replies: Mutex::new(()),
        budget: Budget::new(limits.bytes_in_hand),
        of_all,
        most_workers: limits.requests_in_hand,
        patience: limits.reply,
        export,
        agreed,
        stopping,
    };
    thread::scope(|scope| connection.work(scope));
}

struct Connection<'a> {
    requests: Mutex<Requests>,
    /// Workers that wait to read a request.
    waiting: AtomicUsize,
    /// Held while a reply is written, as replies must not mix.
    replies: Mutex<()>,
    socket: Arc<Socket>,
    budget: Budget,
    of_all: &'a Budget,
    most_workers: usize,
    /// The time that a client may take for a reply, or for the data of a write.
    patience: Duration,
    export: &'a dyn Export,
    agreed: Agreed,
    stopping: &'a AtomicBool,
}

struct Requests {
    stream: BufReader<Incoming>,
    workers: usize,
    /// Whether no more requests are read.
    over: bool,
}

/// The work for a request, with the memory that is reserved for it.
enum Task<'a> {
    Read(Request, [Reserved<'a>; 2]),
    Write(Request, [Reserved<'a>; 2]),
    Other(Request),
    Refuse(Request, Refusal),
}

/// A reply that is an error.
#[derive(Clone, Copy)]
struct Refusal {
    error: Errno,
    /// The first byte of the export that the error is about, if the export reported it.
    offset: Option<u64>,
    message: &'static str,
}

impl Refusal {
    fn new(error: Errno, message: &'static str) -> Self {
        Self { error, offset: None, message }
    }
}

impl<'a> Connection<'a> {
    fn work<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>)
    where
        'a: 'scope,
    {
        // If the export panics, the connection is closed, as the other workers must not wait for its client.
        let _closing = OnPanic(&self.socket);
        let mut buffer = Vec::new();
        loop {
            self.waiting.fetch_add(1, Ordering::Relaxed);
            let mut requests = lock(&self.requests);
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            if requests.over {
                return;
            }
            let Ok(Some(task)) = self.next(&mut requests.stream, &mut buffer) else {
                requests.over = true;
                return;
            };
            if self.waiting.load(Ordering::Relaxed) == 0 && requests.workers < self.most_workers {
                // Without another thread, the existing workers answer the requests.
                let worker = thread::Builder::new().name("nbd worker".into());
                if worker.spawn_scoped(scope, || self.work(scope)).is_ok() {
                    requests.workers += 1;
                }
            }
            drop(requests);
            if self.answer(task, &mut buffer).is_err() {
                // The worker that waits for the next request must end, too.
                self.socket.shutdown(Shutdown::Both);
                lock(&self.requests).over = true;
                return;
            }
            if buffer.len() > KEPT_BYTES {
                buffer = Vec::new();
            }
        }
    }

    /// Reads the next request, with its payload in `buffer`; `None` if no more come.
    fn next(&self, stream: &mut BufReader<Incoming>, buffer: &mut Vec<u8>) -> io::Result<Option<Task<'_>>> {
        let request = Request::read(stream)?;
        if request.command == command::DISC || self.stopping.load(Ordering::Acquire) {
            return Ok(None);
        }
        let length = request.length;
        if request.command == command::WRITE && length > wire::MAXIMUM_PAYLOAD_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
        if let Err(refusal) = self.check(&request) {
            if request.command == command::WRITE {
                discard(stream, length.into())?;
            }
            return Ok(Some(Task::Refuse(request, refusal)));
        }
        Ok(Some(match request.command {
            command::READ => {
                let reserved = self.reserve(length as usize);
                room(buffer, HEADROOM + length as usize);
                Task::Read(request, reserved)
            }
            command::WRITE => {
                let reserved = self.reserve(length as usize);
                room(buffer, length as usize);
                stream.get_mut().set_deadline(Some(Instant::now() + self.patience))?;
                stream.read_exact(&mut buffer[..length as usize])?;
                stream.get_mut().set_deadline(None)?;
                Task::Write(request, reserved)
            }
            _ => Task::Other(request),
        }))
    }

    /// Checks that a request may be passed to the export.
    fn check(&self, request: &Request) -> Result<(), Refusal> {
        use command::*;
        // Every command may have this flag. Source: `doc/proto.md`, "Command flags".
        let mut allowed = command_flag::FUA;
        match request.command {
            READ if self.agreed.structured => allowed |= command_flag::DF,
            READ | WRITE | FLUSH | TRIM | CACHE => {}
            WRITE_ZEROES => allowed |= command_flag::NO_HOLE | command_flag::FAST_ZERO,
            BLOCK_STATUS if self.agreed.allocation => allowed |= command_flag::REQ_ONE,
            BLOCK_STATUS => return Err(Refusal::new(Errno::Inval, "no metadata context was negotiated")),
            _ => return Err(Refusal::new(Errno::Inval, "unknown command")),
        }
        if request.flags & !allowed != 0 {
            return Err(Refusal::new(Errno::Inval, "a flag that this command has not"));
        }
        if request.command == FLUSH {
            return if (request.offset, request.length) == (0, 0) {
                Ok(())
            } else {
                Err(Refusal::new(Errno::Inval, "a flush is of the whole export"))
            };
        }
        let writes = matches!(request.command, WRITE | TRIM | WRITE_ZEROES);
        if writes && self.export.is_read_only() {
            return Err(Refusal::new(Errno::Perm, "the export is read-only"));
        }
        if request.length == 0 {
            return Err(Refusal::new(Errno::Inval, "a request of no bytes"));
        }
        let end = request.offset.checked_add(request.length.into());
        if end.is_none_or(|end| end > self.export.size_bytes()) {
            // Source: `doc/proto.md`, "Error values".
            let error = if matches!(request.command, WRITE | WRITE_ZEROES) { Errno::NoSpc } else { Errno::Inval };
            return Err(Refusal::new(error, "beyond the end of the export"));
        }
        if request.command == READ && request.length > wire::MAXIMUM_PAYLOAD_BYTES {
            // Overflow is for clients that could ask for less. Clients with simple replies do not know this error.
            let error = if self.agreed.structured { Errno::Overflow } else { Errno::Inval };
            return Err(Refusal::new(error, "longer than the maximum payload, 33554432 bytes"));
        }
        let slow = command_flag::FAST_ZERO | command_flag::NO_HOLE;
        if request.command == WRITE_ZEROES && request.flags & slow == slow {
            return Err(Refusal::new(Errno::NotSup, "zeroes that are to be stored take as long as a write"));
        }
        Ok(())
    }

    /// Carries out a task, and replies.
    ///
    /// # Errors
    /// When the reply cannot be written.
    fn answer(&self, task: Task<'_>, buffer: &mut [u8]) -> io::Result<()> {
        match task {
            Task::Read(request, _reserved) => self.answer_read(&request, buffer),
            Task::Write(request, _reserved) => {
                let data = &buffer[..request.length as usize];
                let fua = request.flags & command_flag::FUA != 0;
                self.reply_done(&request, self.export.write(request.offset, data, fua))
            }
            Task::Other(request) if request.command == command::BLOCK_STATUS => self.answer_block_status(&request),
            Task::Other(request) => self.reply_done(&request, self.perform(&request)),
            Task::Refuse(request, refusal) => self.reply_error(&request, refusal),
        }
    }

    /// Carries out a command without data in either direction.
    fn perform(&self, request: &Request) -> Result<(), Failure> {
        let (offset, bytes) = (request.offset, u64::from(request.length));
        let fua = request.flags & command_flag::FUA != 0;
        match request.command {
            command::FLUSH => self.export.flush(),
            command::TRIM => self.export.trim(offset, bytes, fua),
            command::CACHE => self.export.cache(offset, bytes),
            command::WRITE_ZEROES => {
                self.export.write_zeroes(offset, bytes, request.flags & command_flag::NO_HOLE == 0, fua)
            }
            other => unreachable!("command {other} was not refused"),
        }
    }

    /// Reads into `buffer` behind its headroom, and sends header and data in one piece.
    fn answer_read(&self, request: &Request, buffer: &mut [u8]) -> io::Result<()> {
        let length = request.length as usize;
        let result = self.export.read(request.offset, &mut buffer[HEADROOM..HEADROOM + length]);
        if !self.agreed.structured {
            return match result {
                Ok(()) => {
                    let header = wire::simple_reply(None, request.cookie);
                    let start = HEADROOM - header.len();
                    buffer[start..HEADROOM].copy_from_slice(&header);
                    self.send(&buffer[start..HEADROOM + length])
                }
                Err(failure) => self.reply_error(request, refusal(request, failure)),
            };
        }
        let (valid, refused) = match result {
            Ok(()) => (length, None),
            Err(failure) => {
                let refused = refusal(request, failure);
                let valid = refused.offset.map_or(0, |offset| offset - request.offset);
                (usize::try_from(valid).expect("within the request"), Some(refused))
            }
        };
        // The data before an unreadable byte is good. It is one chunk, so that a client that forbids fragments gets the same.
        let mut start = HEADROOM;
        if valid > 0 {
            start = 0;
            let done = if refused.is_none() { chunk::DONE } else { 0 };
            let payload = u32::try_from(8 + valid).expect("reads are bounded");
            buffer[..20].copy_from_slice(&wire::chunk_header(done, chunk::OFFSET_DATA, request.cookie, payload));
            buffer[20..HEADROOM].copy_from_slice(&request.offset.to_be_bytes());
        }
        let data = &buffer[start..HEADROOM + valid];
        match refused {
            None => self.send(data),
            Some(refused) => {
                let error = error_chunk(request.cookie, refused);
                let _whole = lock(&self.replies);
                self.socket.write_within(data, self.patience)?;
                self.socket.write_within(&error, self.patience)
            }
        }
    }

    fn answer_block_status(&self, request: &Request) -> io::Result<()> {
        let most = if request.flags & command_flag::REQ_ONE != 0 { 1 } else { MOST_EXTENTS };
        match self.export.extents(request.offset, request.length.into(), most) {
            Err(failure) => self.reply_error(request, refusal(request, failure)),
            Ok(extents) => {
                let descriptors = descriptors(&extents, request.length, most);
                let length = u32::try_from(4 + 8 * descriptors.len()).expect("extents are bounded");
                let header = wire::chunk_header(chunk::DONE, chunk::BLOCK_STATUS, request.cookie, length);
                let mut reply = header.to_vec();
                reply.extend(CONTEXT_ID.to_be_bytes());
                for (bytes, state) in descriptors {
                    reply.extend(bytes.to_be_bytes());
                    reply.extend(state.to_be_bytes());
                }
                self.send(&reply)
            }
        }
    }

    fn reply_done(&self, request: &Request, result: Result<(), Failure>) -> io::Result<()> {
        match result {
            // Replies without data may be simple in either mode.
            Ok(()) => self.send(&wire::simple_reply(None, request.cookie)),
            Err(failure) => self.reply_error(request, refusal(request, failure)),
        }
    }

    fn reply_error(&self, request: &Request, refusal: Refusal) -> io::Result<()> {
        if self.agreed.structured {
            self.send(&error_chunk(request.cookie, refusal))
        } else {
            self.send(&wire::simple_reply(Some(refusal.error), request.cookie))
        }
    }

    fn send(&self, bytes: &[u8]) -> io::Result<()> {
        let _whole = lock(&self.replies);
        self.socket.write_within(bytes, self.patience)
    }

    /// Reserves memory for a request: first from the connection's budget, then from the budget of all.
    fn reserve(&self, bytes: usize) -> [Reserved<'_>; 2] {
        [&self.budget, self.of_all].map(|budget| budget.take(bytes))
    }
}

/// The refusal that reports a failure. Its offset is limited to the request.
fn refusal(request: &Request, failure: Failure) -> Refusal {
    match failure {
        Failure::Io { offset } => {
            let last = request.offset + u64::from(request.length).saturating_sub(1);
            let offset = (request.command != command::FLUSH).then(|| offset.clamp(request.offset, last));
            Refusal { error: Errno::Io, offset, message: "the medium failed" }
        }
        Failure::NoSpace => Refusal::new(Errno::NoSpc, "no space is left"),
        Failure::ReadOnly => Refusal::new(Errno::Perm, "the export takes no writes"),
        Failure::Invalid => Refusal::new(Errno::Inval, "the export cannot do this"),
        Failure::ShuttingDown => Refusal::new(Errno::Shutdown, "the server is shutting down"),
    }
}

/// The last chunk of a structured reply to a request that failed.
fn error_chunk(cookie: u64, refusal: Refusal) -> Vec<u8> {
    let offset = refusal.offset.map(u64::to_be_bytes);
    let kind = if offset.is_some() { chunk::ERROR_OFFSET } else { chunk::ERROR };
    let message = refusal.message.as_bytes();
    let length = u16::try_from(message.len()).expect("messages are short");
    let payload = 6 + u32::from(length) + if offset.is_some() { 8 } else { 0 };
    let mut bytes = wire::chunk_header(chunk::DONE, kind, cookie, payload).to_vec();
    bytes.extend((refusal.error as u32).to_be_bytes());
    bytes.extend(length.to_be_bytes());
    bytes.extend(message);
    bytes.extend(offset.iter().flatten());
    bytes
}

/// The descriptors that are sent for an export's extents: lengths and states. Neighbours of the same state are joined, and nothing
/// behind the request is described.
fn descriptors(extents: &[Extent], length: u32, most: usize) -> Vec<(u32, u32)> {
    let mut descriptors: Vec<(u32, u32)> = Vec::new();
    let mut left = length;
    for extent in extents {
        let bytes = u32::try_from(extent.bytes).unwrap_or(u32::MAX).min(left);
        let state = if extent.hole { state::HOLE } else { 0 } | if extent.zero { state::ZERO } else { 0 };
        if bytes == 0 {
            continue;
        }
        let full = descriptors.len() == most;
        match descriptors.last_mut() {
            Some(last) if last.1 == state => last.0 += bytes,
            _ if full => break,
            _ => descriptors.push((bytes, state)),
        }
        left -= bytes;
    }
    if descriptors.is_empty() {
        // A reply needs at least one. Source: `doc/proto.md`, `NBD_CMD_BLOCK_STATUS`: a state of 0 is always safe.
        descriptors.push((length, 0));
    }
    descriptors
}

/// Makes a buffer at least `bytes` bytes long, with any content.
fn room(buffer: &mut Vec<u8>, bytes: usize) {
    if buffer.len() < bytes {
        // Fresh zeroes are cheaper than a longer copy. The system provides the pages of a large allocation only when they are touched,
        // so a client that announces a payload and sends none costs nothing.
        *buffer = Vec::new();
        *buffer = vec![0; bytes];
    }
}

/// Locks a mutex, even after a panic: no thread leaves the data under these locks half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The bytes that requests may hold together.
pub(crate) struct Budget {
    free: Mutex<usize>,
    returned: Condvar,
}

impl Budget {
    pub(crate) fn new(bytes: usize) -> Self {
        Self { free: Mutex::new(bytes), returned: Condvar::new() }
    }

    /// Waits until enough bytes are free, and reserves them.
    fn take(&self, bytes: usize) -> Reserved<'_> {
        let free = lock(&self.free);
        let mut free = self.returned.wait_while(free, |free| *free < bytes).unwrap_or_else(PoisonError::into_inner);
        *free -= bytes;
        Reserved { budget: self, bytes }
    }
}

struct Reserved<'a> {
    budget: &'a Budget,
    bytes: usize,
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        *lock(&self.budget.free) += self.bytes;
        // All waiting requests are woken, as some may want fewer bytes than others.
        self.budget.returned.notify_all();
    }
}

struct OnPanic<'a>(&'a Socket);

impl Drop for OnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.shutdown(Shutdown::Both);
        }
    }
}
