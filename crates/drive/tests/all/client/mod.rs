//! A client of the NBD protocol that does as it is told, and a device in memory whose every call is on record.
#![allow(dead_code, missing_docs)]

use softsense_drive::nbd::{Export, Extent, Failure};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

pub(crate) const EXPORT_NAME: u32 = 1;
pub(crate) const ABORT: u32 = 2;
pub(crate) const LIST: u32 = 3;
pub(crate) const STARTTLS: u32 = 5;
pub(crate) const INFO: u32 = 6;
pub(crate) const GO: u32 = 7;
pub(crate) const STRUCTURED_REPLY: u32 = 8;
pub(crate) const LIST_META_CONTEXT: u32 = 9;
pub(crate) const SET_META_CONTEXT: u32 = 10;
pub(crate) const EXTENDED_HEADERS: u32 = 11;

pub(crate) const ACK: u32 = 1;
pub(crate) const REP_SERVER: u32 = 2;
pub(crate) const REP_INFO: u32 = 3;
pub(crate) const REP_META_CONTEXT: u32 = 4;
pub(crate) const UNSUP: u32 = 0x8000_0001;
pub(crate) const INVALID: u32 = 0x8000_0003;
pub(crate) const UNKNOWN: u32 = 0x8000_0006;
pub(crate) const TOO_BIG: u32 = 0x8000_0009;

pub(crate) const READ: u16 = 0;
pub(crate) const WRITE: u16 = 1;
pub(crate) const DISC: u16 = 2;
pub(crate) const FLUSH: u16 = 3;
pub(crate) const TRIM: u16 = 4;
pub(crate) const CACHE: u16 = 5;
pub(crate) const WRITE_ZEROES: u16 = 6;
pub(crate) const BLOCK_STATUS: u16 = 7;

pub(crate) const FUA: u16 = 1;
pub(crate) const NO_HOLE: u16 = 2;
pub(crate) const DF: u16 = 4;
pub(crate) const REQ_ONE: u16 = 8;
pub(crate) const FAST_ZERO: u16 = 16;

pub(crate) const EPERM: u32 = 1;
pub(crate) const EIO: u32 = 5;
pub(crate) const EINVAL: u32 = 22;
pub(crate) const ENOSPC: u32 = 28;
pub(crate) const EOVERFLOW: u32 = 75;
pub(crate) const ENOTSUP: u32 = 95;
pub(crate) const ESHUTDOWN: u32 = 108;

pub(crate) const OFFSET_DATA: u16 = 1;
pub(crate) const STATUS: u16 = 5;
pub(crate) const ERROR: u16 = 0x8001;
pub(crate) const ERROR_OFFSET: u16 = 0x8002;

/// What came in reply to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reply {
    Simple { error: u32, cookie: u64 },
    Chunk { done: bool, kind: u16, cookie: u64, payload: Vec<u8> },
}

impl Reply {
    pub(crate) fn cookie(&self) -> u64 {
        match self {
            Reply::Simple { cookie, .. } | Reply::Chunk { cookie, .. } => *cookie,
        }
    }

    /// The error number, 0 without one.
    pub(crate) fn error(&self) -> u32 {
        match self {
            Reply::Simple { error, .. } => *error,
            Reply::Chunk { kind, payload, .. } if kind & 0x8000 != 0 => {
                u32::from_be_bytes(payload[..4].try_into().unwrap())
            }
            Reply::Chunk { .. } => 0,
        }
    }
}

pub(crate) fn option(kind: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"IHAVEOPT".to_vec();
    bytes.extend(kind.to_be_bytes());
    bytes.extend((data.len() as u32).to_be_bytes());
    bytes.extend(data);
    bytes
}

/// The data of `INFO` and `GO`.
pub(crate) fn asking(name: &str, wanted: &[u16]) -> Vec<u8> {
    let mut bytes = (name.len() as u32).to_be_bytes().to_vec();
    bytes.extend(name.as_bytes());
    bytes.extend((wanted.len() as u16).to_be_bytes());
    wanted.iter().for_each(|wanted| bytes.extend(wanted.to_be_bytes()));
    bytes
}

/// The data of `LIST_META_CONTEXT` and `SET_META_CONTEXT`.
pub(crate) fn querying(name: &str, queries: &[&str]) -> Vec<u8> {
    let mut bytes = (name.len() as u32).to_be_bytes().to_vec();
    bytes.extend(name.as_bytes());
    bytes.extend((queries.len() as u32).to_be_bytes());
    for query in queries {
        bytes.extend((query.len() as u32).to_be_bytes());
        bytes.extend(query.as_bytes());
    }
    bytes
}

pub(crate) fn request(flags: u16, command: u16, cookie: u64, offset: u64, length: u32) -> Vec<u8> {
    let mut bytes = 0x2560_9513_u32.to_be_bytes().to_vec();
    bytes.extend(flags.to_be_bytes());
    bytes.extend(command.to_be_bytes());
    bytes.extend(cookie.to_be_bytes());
    bytes.extend(offset.to_be_bytes());
    bytes.extend(length.to_be_bytes());
    bytes
}

pub(crate) struct Client<S = UnixStream> {
    pub(crate) stream: S,
}

impl Client {
    /// Connects, and answers the greeting.
    pub(crate) fn greet(path: &Path) -> Self {
        let stream = UnixStream::connect(path).unwrap();
        // A server that does not answer fails a test, rather than keep it.
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Client { stream }.greeted()
    }

    /// Connects and enters transmission: with simple replies, or with structured ones and `base:allocation`.
    pub(crate) fn open(path: &Path, structured: bool) -> Self {
        let mut client = Self::greet(path);
        if structured {
            assert_eq!(client.ask(STRUCTURED_REPLY, &[]), [(ACK, vec![])]);
            let set = client.ask(SET_META_CONTEXT, &querying("", &["base:allocation"]));
            assert_eq!(set.last().unwrap().0, ACK);
        }
        assert_eq!(client.ask(GO, &asking("", &[])).last().unwrap().0, ACK);
        client
    }
}

impl<S: Read + Write> Client<S> {
    pub(crate) fn greeted(mut self) -> Self {
        assert_eq!(self.take(18), b"NBDMAGICIHAVEOPT\0\x03");
        self.send(&3_u32.to_be_bytes());
        self
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    pub(crate) fn take(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.stream.read_exact(&mut bytes).unwrap();
        bytes
    }

    pub(crate) fn u16(&mut self) -> u16 {
        u16::from_be_bytes(self.take(2).try_into().unwrap())
    }

    pub(crate) fn u32(&mut self) -> u32 {
        u32::from_be_bytes(self.take(4).try_into().unwrap())
    }

    pub(crate) fn u64(&mut self) -> u64 {
        u64::from_be_bytes(self.take(8).try_into().unwrap())
    }

    /// Sends an option, and takes its replies: types and data, up to the last.
    pub(crate) fn ask(&mut self, kind: u32, data: &[u8]) -> Vec<(u32, Vec<u8>)> {
        self.send(&option(kind, data));
        let mut replies = Vec::new();
        loop {
            assert_eq!(self.u64(), 0x0003_e889_0455_65a9);
            assert_eq!(self.u32(), kind);
            let (answer, length) = (self.u32(), self.u32());
            replies.push((answer, self.take(length as usize)));
            if answer == ACK || answer >= 1 << 31 {
                return replies;
            }
        }
    }

    /// The reply type of an option that has one reply.
    pub(crate) fn verdict(&mut self, kind: u32, data: &[u8]) -> u32 {
        let replies = self.ask(kind, data);
        assert_eq!(replies.len(), 1, "{replies:?}");
        replies[0].0
    }

    pub(crate) fn reply(&mut self) -> Reply {
        match self.u32() {
            0x6744_6698 => Reply::Simple { error: self.u32(), cookie: self.u64() },
            0x668e_33ef => {
                let (flags, kind, cookie, length) = (self.u16(), self.u16(), self.u64(), self.u32());
                Reply::Chunk { done: flags == 1, kind, cookie, payload: self.take(length as usize) }
            }
            other => panic!("a reply that begins with {other:x}"),
        }
    }

    /// Sends a request whose reply has no data, and takes the error number of it.
    pub(crate) fn error_of(&mut self, flags: u16, command: u16, offset: u64, length: u32, payload: &[u8]) -> u32 {
        self.send(&request(flags, command, 77, offset, length));
        self.send(payload);
        let reply = self.reply();
        assert_eq!(reply.cookie(), 77);
        assert!(matches!(&reply, Reply::Simple { .. } | Reply::Chunk { done: true, .. }), "{reply:?}");
        reply.error()
    }

    /// Reads by a simple reply.
    pub(crate) fn read_simply(&mut self, offset: u64, length: u32) -> Vec<u8> {
        self.send(&request(0, READ, 5, offset, length));
        assert_eq!(self.reply(), Reply::Simple { error: 0, cookie: 5 });
        self.take(length as usize)
    }

    /// Whether the server closes the connection and sends nothing more.
    pub(crate) fn is_closed(&mut self) -> bool {
        let mut byte = [0];
        match self.stream.read(&mut byte) {
            Ok(count) => count == 0,
            Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
        }
    }
}

/// A device in memory.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) data: Mutex<Vec<u8>>,
    pub(crate) size: u64,
    pub(crate) read_only: bool,
    /// A block that cannot be read or written.
    pub(crate) bad: Option<u64>,
    pub(crate) extents: Vec<Extent>,
    /// Reads of this offset wait while it is there.
    pub(crate) gate: Mutex<Option<u64>>,
    pub(crate) opened: Condvar,
    /// Reads of this offset panic.
    pub(crate) trap: Option<u64>,
    pub(crate) calls: Mutex<Vec<String>>,
    pub(crate) quiet: bool,
    /// Reads that are in hand, and the most there have been.
    pub(crate) reading: AtomicUsize,
    pub(crate) most_reading: AtomicUsize,
    pub(crate) failing: Option<Failure>,
}

impl Memory {
    pub(crate) fn new(size: u64) -> Self {
        let data = (0..size).map(|at| (at / 512 * 7 + at % 251) as u8).collect();
        Self { data: Mutex::new(data), size, ..Self::default() }
    }

    pub(crate) fn open_gate(&self) {
        *self.gate.lock().unwrap() = None;
        self.opened.notify_all();
    }

    fn record(&self, call: impl FnOnce() -> String) -> Result<(), Failure> {
        if !self.quiet {
            self.calls.lock().unwrap().push(call());
        }
        self.failing.map_or(Ok(()), Err)
    }
}

impl Export for Memory {
    fn name(&self) -> &str {
        "disk"
    }
    fn description(&self) -> &str {
        "for tests"
    }
    fn size_bytes(&self) -> u64 {
        self.size
    }
    fn is_read_only(&self) -> bool {
        self.read_only
    }
    fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Failure> {
        assert_ne!(self.trap, Some(offset), "the trap of the test");
        let reading = 1 + self.reading.fetch_add(1, Ordering::SeqCst);
        self.most_reading.fetch_max(reading, Ordering::SeqCst);
        let gate = self.gate.lock().unwrap();
        drop(self.opened.wait_while(gate, |gate| *gate == Some(offset)).unwrap());
        self.reading.fetch_sub(1, Ordering::SeqCst);
        let end = offset + buffer.len() as u64;
        let good = self.bad.filter(|&bad| offset <= bad && bad < end).map_or(end, |bad| bad) - offset;
        let data = &self.data.lock().unwrap()[offset as usize..][..good as usize];
        buffer[..data.len()].copy_from_slice(data);
        if data.len() < buffer.len() { Err(Failure::Io { offset: offset + good }) } else { Ok(()) }
    }
    fn write(&self, offset: u64, data: &[u8], fua: bool) -> Result<(), Failure> {
        self.record(|| format!("write {offset} {} fua={fua}", data.len()))?;
        if let Some(offset) = self.bad.filter(|bad| (offset..offset + data.len() as u64).contains(bad)) {
            return Err(Failure::Io { offset });
        }
        self.data.lock().unwrap()[offset as usize..][..data.len()].copy_from_slice(data);
        Ok(())
    }
    fn flush(&self) -> Result<(), Failure> {
        self.record(|| "flush".into())
    }
    fn trim(&self, offset: u64, bytes: u64, fua: bool) -> Result<(), Failure> {
        self.record(|| format!("trim {offset} {bytes} fua={fua}"))
    }
    fn write_zeroes(&self, offset: u64, bytes: u64, may_trim: bool, fua: bool) -> Result<(), Failure> {
        self.record(|| format!("zero {offset} {bytes} may_trim={may_trim} fua={fua}"))?;
        self.data.lock().unwrap()[offset as usize..][..bytes as usize].fill(0);
        Ok(())
    }
    fn cache(&self, offset: u64, bytes: u64) -> Result<(), Failure> {
        self.record(|| format!("cache {offset} {bytes}"))
    }
    fn extents(&self, offset: u64, bytes: u64, most: usize) -> Result<Vec<Extent>, Failure> {
        self.record(|| format!("extents {offset} {bytes} {}", if most == 1 { "one" } else { "many" }))?;
        Ok(self.extents.clone())
    }
}

/// Waits for what must come.
pub(crate) fn until(holds: impl FnMut() -> bool) {
    until_within(Duration::from_secs(5), holds);
}

pub(crate) fn until_within(most: Duration, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < most, "it has not come in {most:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
}
