//! Does anything that clients send make the NBD server panic, wait for ever, hold memory, or answer what was not asked?
//!
//! Streams are drawn from a seed, always the same: what clients say, broken in some way, and requests that are whole but odd. For
//! the latter, a model says how each must be answered. Each stream has a connection of its own, whose other end then closes for
//! writing; the server must close it, too. `SOFTSENSE_NBD_FUZZ=1000000` says how many, instead of 20,000.

use crate::client::*;
use softsense_drive::nbd::{Address, Extent, Failure, Limits, Server};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const SIZE: u64 = 64 << 10;
/// The block that fails, which is beyond what the valid client looks at.
const BAD: u64 = 40 << 10;
const THREADS: u64 = 4;
/// A connection that is open for longer hangs.
const PATIENCE: Duration = Duration::from_secs(20);
/// Streams are shorter than what a socket holds, so that they can be sent before anything is read.
const MOST_BYTES: usize = 48 << 10;

/// splitmix64. Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, count: usize) -> usize {
        (self.next() % count as u64) as usize
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    fn bytes(&mut self, most: usize) -> Vec<u8> {
        (0..self.below(most)).map(|_| self.next() as u8).collect()
    }
}

/// An option as a client might send it, or not quite.
fn some_option(draws: &mut Draws) -> Vec<u8> {
    let name = draws.one(&["", "disk", "other", "disk\0"]);
    let data = match draws.below(5) {
        0 => Vec::new(),
        1 => asking(name, &[0, 1, 2, 3, 9][..draws.below(6)]),
        2 => querying(name, &["base:allocation", "base:", "x-other:thing", ""][..draws.below(5)]),
        3 => name.into(),
        _ => draws.bytes(100),
    };
    option(
        draws.one(&[LIST, STARTTLS, INFO, INFO, STRUCTURED_REPLY, LIST_META_CONTEXT, SET_META_CONTEXT, 11, 99]),
        &data,
    )
}

/// What must be answered to a request: an error number, of a connection with structured replies or without.
struct Asked {
    error: u32,
    command: u16,
    length: u32,
}

/// A request that is whole, with every field odd at times; and what must be answered.
fn some_request(draws: &mut Draws, structured: bool, cookie: u64) -> (Vec<u8>, Asked) {
    let command =
        draws.one(&[READ, READ, READ, WRITE, FLUSH, TRIM, CACHE, WRITE_ZEROES, BLOCK_STATUS, BLOCK_STATUS, 8, 700]);
    let flags = match draws.below(6) {
        0 => FUA,
        1 => 1 << draws.below(16),
        2 => draws.next() as u16 & 0x1f,
        _ => 0,
    };
    let edges = [0, 512, 4096, SIZE - 512, SIZE, SIZE + 512, BAD, 1, 511, u64::MAX, u64::MAX - 511, 1 << 63];
    let mut offset =
        if draws.below(3) == 0 { draws.one(&edges) } else { 512 * draws.below(SIZE as usize / 512) as u64 };
    let lengths = [0, 1, 513, 65_536, 1 << 25, (1 << 25) + 512, u32::MAX, u32::MAX - 511, 1 << 31];
    let mut length = if draws.below(3) == 0 { draws.one(&lengths) } else { 512 * (1 + draws.below(16) as u32) };
    if command == WRITE {
        length = length.min(2048);
    }
    if command == FLUSH && draws.below(4) > 0 {
        (offset, length) = (0, 0);
    }
    let mut bytes = request(flags, command, cookie, offset, length);
    if command == WRITE {
        bytes.resize(bytes.len() + length as usize, cookie as u8);
    }

    let allowed = match command {
        READ if structured => FUA | DF,
        WRITE_ZEROES => FUA | NO_HOLE | FAST_ZERO,
        BLOCK_STATUS => FUA | REQ_ONE,
        _ => FUA,
    };
    let beyond = offset.checked_add(length.into()).is_none_or(|end| end > SIZE);
    let error = match command {
        8.. => EINVAL,
        BLOCK_STATUS if !structured => EINVAL,
        _ if flags & !allowed != 0 => EINVAL,
        FLUSH => {
            if (offset, length) == (0, 0) {
                0
            } else {
                EINVAL
            }
        }
        _ if length == 0 => EINVAL,
        WRITE | WRITE_ZEROES if beyond => ENOSPC,
        _ if beyond => EINVAL,
        WRITE_ZEROES if flags & (NO_HOLE | FAST_ZERO) == NO_HOLE | FAST_ZERO => ENOTSUP,
        READ | WRITE if offset <= BAD && BAD < offset + u64::from(length) => EIO,
        _ => 0,
    };
    (bytes, Asked { error, command, length })
}

/// Everything up to transmission.
fn opening(structured: bool) -> Vec<u8> {
    let mut bytes = 3_u32.to_be_bytes().to_vec();
    if structured {
        bytes.extend(option(STRUCTURED_REPLY, &[]));
        bytes.extend(option(SET_META_CONTEXT, &querying("", &["base:allocation"])));
    }
    bytes.extend(option(GO, &asking("disk", &[3])));
    bytes
}

/// Breaks a stream somewhere, in one of the ways in which streams break.
fn break_stream(draws: &mut Draws, bytes: &mut Vec<u8>) {
    for _ in 0..1 + draws.below(4) {
        if bytes.is_empty() {
            return;
        }
        let at = draws.below(bytes.len());
        match draws.below(7) {
            0 => bytes[at] ^= 1 << draws.below(8),
            1 => bytes[at] = draws.one(&[0, 1, 0x7f, 0x80, 0xff]),
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(at..(at + 1 + draws.below(16)).min(bytes.len()))),
            4 => {
                let inserted = draws.bytes(16);
                bytes.splice(at..at, inserted);
            }
            5 => {
                let copied = bytes[at..(at + 64).min(bytes.len())].to_vec();
                let to = draws.below(bytes.len());
                bytes.splice(to..to, copied);
            }
            _ => {
                let value = draws.one(&[0, 1, 0xff, 0xffff, 1 << 16, 1 << 20, 1 << 25, u32::MAX, 1 << 31]);
                let end = (at + 4).min(bytes.len());
                bytes[at..end].copy_from_slice(&value.to_be_bytes()[..end - at]);
            }
        }
    }
}

/// Sends a stream, closes, and takes all that comes until the server closes; some leave without a look at it.
fn exchange(draws: &mut Draws, path: &Path, bytes: &[u8]) -> Option<Vec<u8>> {
    let mut stream = UnixStream::connect(path).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    // In pieces at times; whether the server has closed by then is for it to say.
    let cut = if draws.below(4) == 0 { draws.below(bytes.len() + 1) } else { 0 };
    for piece in [&bytes[..cut], &bytes[cut..]] {
        if let Err(error) = stream.write_all(piece) {
            assert!(matches!(error.raw_os_error(), Some(32 | 104)), "{error}, for {bytes:02x?}");
            break;
        }
    }
    if draws.below(16) == 0 {
        return None;
    }
    let _ = stream.shutdown(Shutdown::Write);
    let mut answer = Vec::new();
    if let Err(error) = stream.read_to_end(&mut answer) {
        assert_eq!(error.raw_os_error(), Some(104), "the connection is not closed, for {bytes:02x?}");
    }
    Some(answer)
}

/// A client that does all right, and is answered.
fn is_served(path: &Path) {
    let mut client = Client::open(path, false);
    client.stream.set_read_timeout(Some(PATIENCE)).unwrap();
    assert_eq!(client.error_of(FUA, WRITE, 0, 512, &[7; 512]), 0);
    assert_eq!(client.read_simply(0, 4096).len(), 4096);
    client.send(&request(0, DISC, 0, 0, 0));
    assert!(client.is_closed());
}

/// Sends requests that are whole, and compares what comes with the model.
fn ask_oddly(draws: &mut Draws, path: &Path) {
    let structured = draws.below(2) == 0;
    let mut bytes = opening(structured);
    let mut asked = HashMap::new();
    for cookie in 0..1 + draws.below(12) as u64 {
        let cookie = cookie.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let (request, answer) = some_request(draws, structured, cookie);
        bytes.extend(request);
        asked.insert(cookie, answer);
    }
    bytes.extend(request(0, DISC, 0, 0, 0));
    assert!(bytes.len() < MOST_BYTES);
    let Some(answer) = exchange(draws, path, &bytes) else { return };
    let start = 18 + if structured { 20 + (20 + 19) + 20 } else { 0 } + (20 + 12) + (20 + 14) + 20;
    let mut client = Client { stream: std::io::Cursor::new(answer) };
    client.take(start);
    while client.stream.position() < client.stream.get_ref().len() as u64 {
        let reply = client.reply();
        let Some(request) = asked.get(&reply.cookie()) else { panic!("{reply:?} was not asked for") };
        match &reply {
            Reply::Chunk { done: false, kind, .. } => {
                assert_eq!((*kind, request.command, request.error), (OFFSET_DATA, READ, EIO));
                continue;
            }
            Reply::Chunk { kind: OFFSET_DATA, payload, .. } => {
                assert_eq!((request.command, payload.len()), (READ, 8 + request.length as usize));
            }
            Reply::Simple { error: 0, .. } if request.command == READ => {
                assert!(!structured);
                client.take(request.length as usize);
            }
            _ => {}
        }
        // Too long a read of a longer export would be another error; here it is beyond the end.
        assert_eq!(reply.error(), request.error, "{reply:?} to command {} of {}", request.command, request.length);
        asked.remove(&reply.cookie());
    }
    assert!(asked.is_empty(), "{} requests were not answered, of {bytes:02x?}", asked.len());
}

fn fuzz(seed: u64, path: &Path, number: u64) {
    let mut draws = Draws(seed ^ number.wrapping_mul(0xd134_2543_de82_ef95));
    let draws = &mut draws;
    if number.is_multiple_of(500) {
        is_served(path);
    }
    match draws.below(8) {
        0 => {
            let bytes = draws.bytes(200);
            exchange(draws, path, &bytes);
        }
        1 | 2 => {
            let mut bytes = 3_u32.to_be_bytes().to_vec();
            (0..draws.below(8)).for_each(|_| bytes.extend(some_option(draws)));
            if draws.below(3) == 0 {
                break_stream(draws, &mut bytes);
            }
            exchange(draws, path, &bytes);
        }
        3..6 => {
            let structured = draws.below(2) == 0;
            let mut bytes = opening(structured);
            let start = draws.one(&[0, bytes.len()]);
            for cookie in 0..draws.below(8) as u64 {
                bytes.extend(some_request(draws, structured, cookie).0);
            }
            let mut tail = bytes.split_off(start);
            break_stream(draws, &mut tail);
            bytes.extend(tail);
            bytes.truncate(MOST_BYTES);
            exchange(draws, path, &bytes);
        }
        _ => ask_oddly(draws, path),
    }
}

fn resident_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    4096 * pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap()
}

#[test]
fn does_nothing_that_clients_send_harm_the_server() {
    let count = std::env::var("SOFTSENSE_NBD_FUZZ").map_or(20_000, |count| count.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let extents = vec![Extent { bytes: 512, hole: true, zero: true }, Extent { bytes: SIZE, hole: false, zero: false }];
    let memory = Memory { bad: Some(BAD), quiet: true, extents, ..Memory::new(SIZE) };
    assert_eq!(memory.failing, None::<Failure>);
    let server = Server::start(&Address::Unix(path.clone()), Arc::new(memory), Limits::default()).unwrap();

    let before = resident_bytes();
    let (begun, next, most) = (Instant::now(), AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        return;
                    }
                    fuzz(1, &path, number);
                    if number.is_multiple_of(1000) {
                        most.fetch_max(resident_bytes(), Ordering::Relaxed);
                    }
                }
            });
        }
    });
    until(|| server.connections() == 0);
    is_served(&path);
    // Panics, if any of its threads has.
    server.stop();
    let grown = most.into_inner().saturating_sub(before);
    println!(
        "{count} streams in {:.1} s; {} KiB more were resident at most",
        begun.elapsed().as_secs_f64(),
        grown >> 10
    );
    // A budget of one connection would be as much; far more than these streams have to have.
    assert!(grown < 64 << 20, "{grown} bytes more are resident");
}
