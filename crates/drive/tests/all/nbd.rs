//! Does the NBD server do as the protocol says, for clients that do and for those that do not?

use crate::client::*;
use softsense_drive::nbd::{Address, Extent, Failure, Limits, MAXIMUM_PAYLOAD_BYTES, Server};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

const SIZE: u64 = 1 << 20;

struct Served {
    server: Server,
    memory: Arc<Memory>,
    path: PathBuf,
    _folder: tempfile::TempDir,
}

fn serve_within(memory: Memory, limits: Limits) -> Served {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let memory = Arc::new(memory);
    let server = Server::start(&Address::Unix(path.clone()), memory.clone(), limits).unwrap();
    Served { server, memory, path, _folder: folder }
}

fn serve(memory: Memory) -> Served {
    serve_within(memory, Limits::default())
}

fn data_of(reply: Reply) -> (bool, u64, Vec<u8>) {
    let Reply::Chunk { done, kind: OFFSET_DATA, payload, .. } = reply else { panic!("{reply:?} is no data") };
    (done, u64::from_be_bytes(payload[..8].try_into().unwrap()), payload[8..].to_vec())
}

#[test]
fn what_does_each_option_answer() {
    let served = serve(Memory::new(SIZE));
    let mut client = Client::greet(&served.path);

    let list = client.ask(LIST, &[]);
    assert_eq!(list, [(REP_SERVER, b"\0\0\0\x04diskfor tests".to_vec()), (ACK, vec![])]);
    assert_eq!(client.verdict(LIST, b"data"), INVALID);
    for unknown in [STARTTLS, EXTENDED_HEADERS, 0, 4, 12, u32::MAX] {
        assert_eq!(client.verdict(unknown, b"whatever"), UNSUP);
    }

    // Flags before structured replies: all but DF.
    let mut export = vec![0, 0];
    export.extend(SIZE.to_be_bytes());
    export.extend([0x0d, 0x6d]);
    for name in ["", "disk"] {
        assert_eq!(client.ask(INFO, &asking(name, &[])), [(REP_INFO, export.clone()), (ACK, vec![])]);
    }
    assert_eq!(client.verdict(INFO, &asking("other", &[])), UNKNOWN);
    assert_eq!(client.verdict(GO, &asking("disk2", &[])), UNKNOWN);
    for broken in [&asking("", &[3])[..7], b"", b"\xff\xff\xff\xff", &[&asking("", &[])[..], b"x"].concat()] {
        assert_eq!(client.verdict(INFO, broken), INVALID);
        assert_eq!(client.verdict(GO, broken), INVALID);
    }
    let told = client.ask(INFO, &asking("", &[1, 2, 3, 3, 900]));
    let block_size =
        [&[0, 3][..], &1_u32.to_be_bytes(), &4096_u32.to_be_bytes(), &(1_u32 << 25).to_be_bytes()].concat();
    let expected = [
        (REP_INFO, export.clone()),
        (REP_INFO, b"\0\x01disk".to_vec()),
        (REP_INFO, b"\0\x02for tests".to_vec()),
        (REP_INFO, block_size),
        (ACK, vec![]),
    ];
    assert_eq!(told, expected);

    assert_eq!(client.verdict(SET_META_CONTEXT, &querying("", &["base:allocation"])), INVALID);
    assert_eq!(client.verdict(STRUCTURED_REPLY, b"data"), INVALID);
    assert_eq!(client.verdict(STRUCTURED_REPLY, &[]), ACK);
    export[11] |= 0x80;
    assert_eq!(client.ask(INFO, &asking("", &[]))[0].1, export);

    let context = |id: u8| (REP_META_CONTEXT, [&[0, 0, 0, id][..], b"base:allocation"].concat());
    for queries in [&[][..], &["base:"], &["base:allocation", "other:thing"]] {
        assert_eq!(client.ask(LIST_META_CONTEXT, &querying("", queries)), [context(0), (ACK, vec![])]);
    }
    assert_eq!(client.verdict(LIST_META_CONTEXT, &querying("", &["base:other", "qemu:dirty"])), ACK);
    assert_eq!(client.verdict(LIST_META_CONTEXT, &querying("other", &[])), UNKNOWN);
    for queries in [&[][..], &["base:"], &["other:thing"]] {
        assert_eq!(client.verdict(SET_META_CONTEXT, &querying("", queries)), ACK);
    }
    let set = client.ask(SET_META_CONTEXT, &querying("disk", &["other:thing", "base:allocation", "base:allocation"]));
    assert_eq!(set, [context(1), (ACK, vec![])]);
    let mut broken = querying("", &["base:allocation"]);
    broken[7] = 200;
    assert_eq!(client.verdict(SET_META_CONTEXT, &broken), INVALID);

    assert_eq!(client.verdict(LIST, &vec![0; 70_000]), TOO_BIG);
    assert_eq!(client.verdict(INFO, &asking(&"x".repeat(5000), &[])), INVALID);
    assert_eq!(client.verdict(ABORT, b"data"), ACK);
    assert!(client.is_closed());
}

#[test]
fn does_the_oldest_way_of_choosing_an_export_work() {
    let served = serve(Memory::new(SIZE));
    for (flags, zeroes) in [(0_u32, 124), (1, 124), (2, 0), (3, 0)] {
        for name in [&b""[..], b"disk"] {
            let mut client = Client { stream: UnixStream::connect(&served.path).unwrap() };
            client.take(18);
            client.send(&flags.to_be_bytes());
            client.send(&option(EXPORT_NAME, name));
            assert_eq!((client.u64(), client.u16()), (SIZE, 0x0d6d));
            assert_eq!(client.take(zeroes), vec![0; zeroes]);
            assert_eq!(client.read_simply(512, 512), served.memory.data.lock().unwrap()[512..1024]);
        }
    }
}

#[test]
fn are_negotiations_that_cannot_be_answered_closed() {
    let served = serve(Memory::new(SIZE));
    let long = [&option(LIST, &[])[..12], &u32::MAX.to_be_bytes()].concat();
    let long_name = option(EXPORT_NAME, &vec![b'd'; 70_000]);
    let cases: [&[u8]; 5] = [
        b"\0\0\0\x07",
        b"\0\0\0\x03IHAVEOPX\0\0\0\x03\0\0\0\0",
        &[b"\0\0\0\x03", &option(EXPORT_NAME, b"other")[..]].concat(),
        &[b"\0\0\0\x03", &long[..]].concat(),
        &[b"\0\0\0\x03", &long_name[..]].concat(),
    ];
    for case in cases {
        let mut client = Client { stream: UnixStream::connect(&served.path).unwrap() };
        client.take(18);
        let _ = client.stream.write_all(case);
        assert!(client.is_closed(), "{case:?}");
    }
}

#[test]
fn is_a_client_that_never_chooses_left() {
    let limits = Limits { negotiation: Duration::from_millis(200), ..Limits::default() };
    let served = serve_within(Memory::new(SIZE), limits);
    let begun = Instant::now();
    let mut silent = Client::greet(&served.path);
    let mut dripping = Client { stream: UnixStream::connect(&served.path).unwrap() };
    let mut asking = Client::greet(&served.path);
    dripping.take(18);
    let drips = [&3_u32.to_be_bytes()[..], &option(LIST, &[])].concat();
    for byte in drips.iter().cycle() {
        if dripping.stream.write_all(&[*byte]).is_err() {
            break;
        }
        thread::sleep(Duration::from_millis(10));
        assert!(begun.elapsed() < Duration::from_secs(5));
    }
    assert!(silent.is_closed());
    // One that asks and asks, too.
    while asking.stream.write_all(&option(ABORT + 10, &[])).is_ok() {
        assert!(begun.elapsed() < Duration::from_secs(5));
        thread::sleep(Duration::from_millis(5));
    }
    assert!(begun.elapsed() >= Duration::from_millis(190));
    // Who has chosen is not hurried.
    let mut client = Client::open(&served.path, false);
    thread::sleep(Duration::from_millis(300));
    assert_eq!(client.read_simply(0, 512).len(), 512);
}

#[test]
fn does_a_read_return_what_is_there() {
    let served = serve(Memory::new(SIZE));
    let data = served.memory.data.lock().unwrap().clone();
    let (mut simple, mut structured) = (Client::open(&served.path, false), Client::open(&served.path, true));
    for (offset, length) in [(0, 512), (512, 65_536), (SIZE - 512, 512), (0, SIZE as u32), (4096, 512)] {
        let expected = &data[offset as usize..][..length as usize];
        assert_eq!(simple.read_simply(offset, length), expected);
        for flags in [0, DF, FUA, DF | FUA] {
            structured.send(&request(flags, READ, offset, offset, length));
            let (done, at, found) = data_of(structured.reply());
            assert_eq!((done, at), (true, offset));
            assert_eq!(found, expected);
        }
    }
}

#[test]
fn is_what_lies_before_an_unreadable_byte_returned() {
    let bad = 8192 + 512;
    let served = serve(Memory { bad: Some(bad), ..Memory::new(SIZE) });
    let data = served.memory.data.lock().unwrap().clone();
    let mut simple = Client::open(&served.path, false);
    assert_eq!(simple.error_of(0, READ, 8192, 4096, &[]), EIO);
    assert_eq!(simple.read_simply(0, 8192), data[..8192]);

    let mut structured = Client::open(&served.path, true);
    for (offset, flags) in [(0, 0), (8192, DF), (bad, 0)] {
        structured.send(&request(flags, READ, 9, offset, 16_384));
        if offset < bad {
            let (done, at, found) = data_of(structured.reply());
            assert_eq!((done, at), (false, offset));
            assert_eq!(found, data[offset as usize..bad as usize]);
        }
        let Reply::Chunk { done: true, kind: ERROR_OFFSET, cookie: 9, payload } = structured.reply() else { panic!() };
        assert_eq!(payload[..4], EIO.to_be_bytes());
        let message = usize::from(u16::from_be_bytes([payload[4], payload[5]]));
        assert_eq!(payload[6 + message..], bad.to_be_bytes());
    }
    structured.send(&request(0, WRITE, 10, 8192, 1024));
    structured.send(&[0; 1024]);
    let reply = structured.reply();
    assert!(
        matches!(&reply, Reply::Chunk { kind: ERROR_OFFSET, payload, .. } if payload.ends_with(&bad.to_be_bytes()))
    );
}

#[test]
fn does_every_command_reach_the_export_with_its_flags() {
    for structured in [false, true] {
        let served = serve(Memory::new(SIZE));
        let mut client = Client::open(&served.path, structured);
        assert_eq!(client.error_of(0, WRITE, 512, 1024, &[1; 1024]), 0);
        assert_eq!(client.error_of(FUA, WRITE, 0, 512, &[2; 512]), 0);
        assert_eq!(client.error_of(0, FLUSH, 0, 0, &[]), 0);
        assert_eq!(client.error_of(FUA, FLUSH, 0, 0, &[]), 0);
        assert_eq!(client.error_of(0, TRIM, 4096, 8192, &[]), 0);
        assert_eq!(client.error_of(FUA, TRIM, 0, SIZE as u32, &[]), 0);
        assert_eq!(client.error_of(0, CACHE, 4096, 512, &[]), 0);
        assert_eq!(client.error_of(0, WRITE_ZEROES, 1024, 512, &[]), 0);
        assert_eq!(client.error_of(NO_HOLE | FUA, WRITE_ZEROES, 4096, 512, &[]), 0);
        assert_eq!(client.error_of(FAST_ZERO, WRITE_ZEROES, 8192, 512, &[]), 0);
        assert_eq!(client.error_of(FAST_ZERO | NO_HOLE, WRITE_ZEROES, 0, 512, &[]), ENOTSUP);
        let expected = [
            "write 512 1024 fua=false",
            "write 0 512 fua=true",
            "flush",
            "flush",
            "trim 4096 8192 fua=false",
            "trim 0 1048576 fua=true",
            "cache 4096 512",
            "zero 1024 512 may_trim=true fua=false",
            "zero 4096 512 may_trim=false fua=true",
            "zero 8192 512 may_trim=true fua=false",
        ];
        assert_eq!(*served.memory.calls.lock().unwrap(), expected);
        let written = served.memory.data.lock().unwrap()[..2048].to_vec();
        assert_eq!(written[..512], [2; 512]);
        assert_eq!(written[512..1024], [1; 512]);
        assert_eq!(written[1024..1536], [0; 512]);
    }
}

#[test]
fn which_requests_are_refused_and_is_the_connection_none_the_worse() {
    for structured in [false, true] {
        let served = serve(Memory::new(SIZE));
        let mut client = Client::open(&served.path, structured);
        let (end, most) = (SIZE, u32::MAX - 511);
        let too_long = if structured { EOVERFLOW } else { EINVAL };
        let cases = [
            (0, READ, end, 512, EINVAL),
            (0, READ, end - 512, 1024, EINVAL),
            (0, READ, u64::MAX - 511, 512, EINVAL),
            (0, READ, u64::MAX, u32::MAX, EINVAL),
            (0, READ, end - 1, 2, EINVAL),
            (0, READ, 0, 0, EINVAL),
            (NO_HOLE, READ, 0, 512, EINVAL),
            (0x8000, READ, 0, 512, EINVAL),
            (DF, WRITE, 0, 512, EINVAL),
            (0, WRITE, end, 512, ENOSPC),
            (0, WRITE, end - 1, 2, ENOSPC),
            (0, WRITE, 0, 0, EINVAL),
            (0, WRITE, 0, MAXIMUM_PAYLOAD_BYTES, ENOSPC),
            (0, TRIM, end - 512, 1024, EINVAL),
            (REQ_ONE, TRIM, 0, 512, EINVAL),
            (0, TRIM, 0, 0, EINVAL),
            (0, CACHE, 0, most, EINVAL),
            (0, WRITE_ZEROES, 0, most, ENOSPC),
            (DF, WRITE_ZEROES, 0, 512, EINVAL),
            (0, FLUSH, 512, 0, EINVAL),
            (0, FLUSH, 0, 512, EINVAL),
            (DF, FLUSH, 0, 0, EINVAL),
            (0, BLOCK_STATUS, 0, if structured { 0 } else { 512 }, EINVAL),
            (0, BLOCK_STATUS, end, 512, EINVAL),
            (0, 8, 0, 512, EINVAL),
            (0, u16::MAX, 0, 512, EINVAL),
        ];
        for (flags, command, offset, length, expected) in cases {
            let payload = vec![0xaa; if command == WRITE { length as usize } else { 0 }];
            let found = client.error_of(flags, command, offset, length, &payload);
            assert_eq!(found, expected, "{flags} {command} {offset} {length}");
        }
        if !structured {
            assert_eq!(client.error_of(DF, READ, 0, 512, &[]), EINVAL);
        }
        assert!(served.memory.calls.lock().unwrap().is_empty());
        assert_eq!(client.error_of(0, WRITE, 0, 512, &[1; 512]), 0);

        // Longer than any read may be, of an export that is as long.
        let large = serve(Memory { size: 1 << 32, ..Memory::new(0) });
        let mut client = Client::open(&large.path, structured);
        assert_eq!(client.error_of(0, READ, 0, MAXIMUM_PAYLOAD_BYTES + 512, &[]), too_long);
        assert_eq!(client.error_of(0, TRIM, 0, most, &[]), 0);
    }
}

#[test]
fn what_does_each_failure_of_the_export_become() {
    let failures = [
        (Failure::NoSpace, ENOSPC),
        (Failure::ReadOnly, EPERM),
        (Failure::Invalid, EINVAL),
        (Failure::ShuttingDown, ESHUTDOWN),
        (Failure::Io { offset: u64::MAX }, EIO),
    ];
    for (failure, expected) in failures {
        let served = serve(Memory { failing: Some(failure), ..Memory::new(SIZE) });
        for structured in [false, true] {
            let mut client = Client::open(&served.path, structured);
            for (command, length) in [(WRITE, 512), (FLUSH, 0), (TRIM, 512), (CACHE, 512), (WRITE_ZEROES, 512)] {
                let payload = vec![0; if command == WRITE { 512 } else { 0 }];
                assert_eq!(client.error_of(0, command, 0, length, &payload), expected);
            }
            if structured {
                assert_eq!(client.error_of(0, BLOCK_STATUS, 0, 512, &[]), expected);
            }
        }
    }
}

#[test]
fn do_broken_requests_end_the_connection_and_nothing_else() {
    let served = serve(Memory::new(SIZE));
    let mut magic = request(0, READ, 1, 0, 512);
    magic[0] ^= 1;
    for broken in [magic, request(0, WRITE, 1, 0, MAXIMUM_PAYLOAD_BYTES + 1), request(0, DISC, 1, 0, 0)] {
        let mut client = Client::open(&served.path, true);
        // What was asked before is answered.
        client.send(&[request(0, READ, 2, 0, 512), broken, request(0, READ, 3, 0, 512)].concat());
        assert_eq!(data_of(client.reply()).2.len(), 512);
        assert!(client.is_closed());
    }
    // A payload that never comes is not written.
    let mut client = Client::open(&served.path, true);
    client.send(&request(0, WRITE, 1, 0, 1024));
    client.send(&[9; 1000]);
    drop(client);
    until(|| served.server.connections() == 0);
    assert!(served.memory.calls.lock().unwrap().is_empty());
    served.server.stop();
}

#[test]
fn is_the_block_status_what_the_export_says() {
    let extent = |bytes, hole, zero| Extent { bytes, hole, zero };
    let extents = vec![
        extent(4096, false, false),
        extent(0, true, false),
        extent(512, true, true),
        extent(1024, true, true),
        extent(512, true, false),
        extent(u64::MAX, false, true),
    ];
    let served = serve(Memory { extents, ..Memory::new(SIZE) });
    let status = |client: &mut Client, flags, length| {
        client.send(&request(flags, BLOCK_STATUS, 4, 0, length));
        let Reply::Chunk { done: true, kind: STATUS, cookie: 4, payload } = client.reply() else { panic!() };
        assert_eq!(payload[..4], [0, 0, 0, 1]);
        let numbers: Vec<_> = payload[4..].chunks(4).map(|four| u32::from_be_bytes(four.try_into().unwrap())).collect();
        numbers.chunks(2).map(|pair| (pair[0], pair[1])).collect::<Vec<_>>()
    };
    let mut client = Client::open(&served.path, true);
    let rest = SIZE as u32 - 6144;
    assert_eq!(status(&mut client, 0, SIZE as u32), [(4096, 0), (1536, 3), (512, 1), (rest, 2)]);
    assert_eq!(status(&mut client, 0, 4608), [(4096, 0), (512, 3)]);
    assert_eq!(status(&mut client, REQ_ONE, 8192), [(4096, 0)]);
    assert_eq!(status(&mut client, REQ_ONE, 512), [(512, 0)]);
    assert_eq!(served.memory.calls.lock().unwrap()[2..], ["extents 0 8192 one", "extents 0 512 one"]);

    // Nothing known is a state, too.
    let served = serve(Memory::new(SIZE));
    assert_eq!(status(&mut Client::open(&served.path, true), 0, 8192), [(8192, 0)]);

    // Not chosen, or chosen and replaced.
    let mut client = Client::greet(&served.path);
    client.ask(STRUCTURED_REPLY, &[]);
    client.ask(SET_META_CONTEXT, &querying("", &["base:allocation"]));
    assert_eq!(client.verdict(SET_META_CONTEXT, &[]), INVALID);
    client.ask(GO, &asking("", &[]));
    assert_eq!(client.error_of(0, BLOCK_STATUS, 0, 512, &[]), EINVAL);
}

#[test]
fn is_a_read_only_export_left_alone() {
    let served = serve(Memory { read_only: true, ..Memory::new(SIZE) });
    let mut client = Client::greet(&served.path);
    let told = client.ask(GO, &asking("", &[]));
    assert_eq!(told[0].1[10..], [0x05, 0x0f]);
    assert_eq!(client.error_of(0, WRITE, 0, 512, &[0; 512]), EPERM);
    assert_eq!(client.error_of(0, TRIM, 0, 512, &[]), EPERM);
    assert_eq!(client.error_of(0, WRITE_ZEROES, 0, 512, &[]), EPERM);
    assert_eq!(client.error_of(0, FLUSH, 0, 0, &[]), 0);
    assert_eq!(client.error_of(0, CACHE, 0, 512, &[]), 0);
    assert_eq!(*served.memory.calls.lock().unwrap(), ["flush", "cache 0 512"]);
    assert_eq!(client.read_simply(0, 512).len(), 512);
}

#[test]
fn does_a_slow_request_let_later_ones_pass() {
    let served = serve(Memory { gate: Some(0).into(), ..Memory::new(SIZE) });
    let mut client = Client::open(&served.path, true);
    client.send(&request(0, READ, 1, 0, 512));
    for cookie in 2..20 {
        client.send(&request(0, READ, cookie, 512, 512));
        assert_eq!(client.reply().cookie(), cookie);
    }
    served.memory.open_gate();
    assert_eq!(client.reply().cookie(), 1);
}

#[test]
fn is_a_client_that_is_too_quick_made_to_wait() {
    let limits = Limits { requests_in_hand: 3, bytes_in_hand: MAXIMUM_PAYLOAD_BYTES as usize, ..Limits::default() };
    for (length, most) in [(512, 3), (MAXIMUM_PAYLOAD_BYTES / 2, 2), (MAXIMUM_PAYLOAD_BYTES, 1)] {
        let size = u64::from(MAXIMUM_PAYLOAD_BYTES);
        let served = serve_within(Memory { gate: Some(0).into(), ..Memory::new(size) }, limits.clone());
        let mut client = Client::open(&served.path, true);
        for cookie in 0..10 {
            client.send(&request(0, READ, cookie, 0, length));
        }
        until(|| served.memory.reading.load(Ordering::SeqCst) == most);
        thread::sleep(Duration::from_millis(20));
        served.memory.open_gate();
        let mut cookies: Vec<_> = (0..10).map(|_| client.reply().cookie()).collect();
        cookies.sort();
        assert_eq!(cookies, Vec::from_iter(0..10));
        assert_eq!(served.memory.most_reading.load(Ordering::SeqCst), most);
    }
}

#[test]
fn do_all_connections_see_one_device() {
    let served = serve_within(Memory::new(SIZE), Limits { connections: 4, ..Limits::default() });
    let mut clients: Vec<_> = (0..4).map(|number| Client::open(&served.path, number % 2 == 0)).collect();
    for writer in 0..4 {
        let block = [writer as u8 + 1; 512];
        assert_eq!(clients[writer].error_of(0, WRITE, 512 * writer as u64, 512, &block), 0);
        for reader in &mut clients {
            reader.send(&request(0, READ, 1, 512 * writer as u64, 512));
            match reader.reply() {
                Reply::Simple { .. } => assert_eq!(reader.take(512), block),
                chunk => assert_eq!(data_of(chunk).2, block),
            }
        }
    }
    assert_eq!(served.server.connections(), 4);
    // One more is closed before anything is said, and takes no place.
    assert!(Client { stream: UnixStream::connect(&served.path).unwrap() }.is_closed());
    clients.pop();
    until(|| served.server.connections() == 3);
    Client::open(&served.path, false);
}

#[test]
fn are_requests_in_hand_answered_when_the_server_stops() {
    let served = serve(Memory { gate: Some(0).into(), ..Memory::new(SIZE) });
    let (mut busy, mut idle) = (Client::open(&served.path, true), Client::open(&served.path, false));
    let mut asking = Client::greet(&served.path);
    busy.send(&request(0, READ, 1, 0, 4096));
    busy.send(&request(0, READ, 2, 0, 512));
    until(|| served.memory.reading.load(Ordering::SeqCst) == 2);
    let (server, memory, path) = (served.server, served.memory, served.path);
    let stopping = thread::spawn(move || server.stop());
    assert!(idle.is_closed() && asking.is_closed());
    until(|| !path.exists());
    assert!(!stopping.is_finished());
    memory.open_gate();
    let mut lengths = [data_of(busy.reply()).2.len(), data_of(busy.reply()).2.len()];
    lengths.sort();
    assert_eq!(lengths, [512, 4096]);
    assert!(busy.is_closed());
    stopping.join().unwrap();
}

#[test]
fn does_a_client_that_takes_no_reply_keep_the_server_from_stopping() {
    let limits = Limits { stop: Duration::from_millis(200), ..Limits::default() };
    let served = serve_within(Memory::new(SIZE), limits);
    let mut client = Client::open(&served.path, true);
    (0..100).for_each(|cookie| client.send(&request(0, READ, cookie, 0, SIZE as u32)));
    let begun = Instant::now();
    served.server.stop();
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[test]
fn is_a_socket_that_is_in_use_left_alone_and_a_stale_one_replaced() {
    let served = serve(Memory::new(SIZE));
    let start =
        |path: &Path| Server::start(&Address::Unix(path.into()), Arc::new(Memory::new(SIZE)), Limits::default());
    assert_eq!(fs::symlink_metadata(&served.path).unwrap().permissions().mode() & 0o777, 0o600);
    let error = start(&served.path).err().unwrap();
    let in_use =
        "found a socket on which another server listens, expected a free path: end that server, or choose another path";
    assert!(error.to_string().ends_with(in_use), "{error}");
    assert_eq!(Client::open(&served.path, false).read_simply(0, 512).len(), 512);

    let folder = served.path.parent().unwrap();
    let stale = folder.join("stale");
    drop(UnixListener::bind(&stale).unwrap());
    let server = start(&stale).unwrap();
    assert_eq!(Client::open(&stale, false).read_simply(0, 512).len(), 512);
    // Someone else's file is not removed.
    fs::remove_file(&stale).unwrap();
    fs::write(&stale, "other").unwrap();
    server.stop();
    assert_eq!(fs::read_to_string(&stale).unwrap(), "other");
    let error = start(&stale).err().unwrap();
    assert!(error.to_string().contains("found a file that is not a socket"), "{error}");
    assert!(start(&folder.join("absent/socket")).is_err());
    assert!(start(&folder.join("x".repeat(200))).is_err());
    assert!(start(Path::new("/")).is_err());

    // What is left is what was there.
    let mut left: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["socket", "stale"]);
}

#[test]
fn does_a_loopback_port_serve_the_same() {
    let memory = Arc::new(Memory::new(SIZE));
    let server = Server::start(&Address::Loopback(0), memory.clone(), Limits::default()).unwrap();
    let place = server.uri().strip_prefix("nbd://").unwrap().strip_suffix("/disk").unwrap().to_owned();
    let mut client = Client { stream: TcpStream::connect(&place).unwrap() }.greeted();
    client.ask(GO, &asking("disk", &[]));
    assert_eq!(client.read_simply(0, SIZE as u32), *memory.data.lock().unwrap());
    let port = place.rsplit_once(':').unwrap().1.parse().unwrap();
    assert!(Server::start(&Address::Loopback(port), memory, Limits::default()).is_err());
    server.stop();
    assert!(client.is_closed());
    assert!(TcpStream::connect(&place).is_err());
}

#[test]
fn can_clients_find_a_server_by_its_uri() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a b?&é%");
    let server = Server::start(&Address::Unix(path), Arc::new(Memory::new(SIZE)), Limits::default()).unwrap();
    let expected = format!("nbd+unix:///disk?socket={}/a%20b%3F%26%C3%A9%25", folder.path().display());
    assert_eq!(server.uri(), expected);
}

#[test]
fn does_an_export_that_panics_end_its_connection_only() {
    let served = serve(Memory { trap: Some(4096), gate: Some(0).into(), ..Memory::new(SIZE) });
    let mut other = Client::open(&served.path, false);
    let mut client = Client::open(&served.path, true);
    client.send(&[request(0, READ, 1, 512, 512), request(0, READ, 2, 4096, 512)].concat());
    assert_eq!(client.reply().cookie(), 1);
    assert!(client.is_closed());
    assert_eq!(other.read_simply(512, 512).len(), 512);
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| served.server.stop())).is_err());
}

#[test]
fn are_exports_and_limits_that_cannot_be_served_refused() {
    let start =
        |memory, limits| Server::start(&Address::Loopback(0), Arc::new(memory), limits).err().unwrap().to_string();
    let found = start(Memory { size: 1000, ..Memory::new(0) }, Limits::default());
    assert_eq!(found, "size_bytes: found 1000, expected a multiple of 512");
    let found = start(Memory::new(0), Limits { bytes_in_hand: 4096, ..Limits::default() });
    assert_eq!(found, "bytes_in_hand: found 4096, expected at least 33554432, the longest request");
    let found = start(Memory::new(0), Limits { negotiation: Duration::ZERO, ..Limits::default() });
    assert_eq!(found, "negotiation: found 0 s, expected a time above 0");
}

#[test]
fn does_a_client_that_sends_all_at_once_get_all_its_answers() {
    let served = serve(Memory::new(SIZE));
    let mut stream = UnixStream::connect(&served.path).unwrap();
    let mut all = 3_u32.to_be_bytes().to_vec();
    all.extend(option(STRUCTURED_REPLY, &[]));
    all.extend(option(GO, &asking("", &[])));
    (0..50).for_each(|cookie| all.extend(request(0, READ, cookie, cookie * 512, 512)));
    all.extend(request(0, DISC, 0, 0, 0));
    stream.write_all(&all).unwrap();
    let mut found = Vec::new();
    stream.read_to_end(&mut found).unwrap();
    let options = 18 + 20 + (20 + 12) + 20;
    assert_eq!(found.len(), options + 50 * (28 + 512));
}

/// Clients that ask for much and take nothing: what all of them hold is bounded, and who waits for it is served when they are left.
#[test]
fn do_clients_that_take_no_replies_hold_little_and_not_for_long() {
    let most = MAXIMUM_PAYLOAD_BYTES as usize;
    let limits =
        Limits { bytes_in_hand: most, bytes_of_all: 2 * most, reply: Duration::from_secs(2), ..Limits::default() };
    let served = serve_within(Memory::new(u64::from(MAXIMUM_PAYLOAD_BYTES)), limits);
    let begun = Instant::now();
    let mut hoarders: Vec<_> = (0..6).map(|_| Client::open(&served.path, true)).collect();
    for hoarder in &mut hoarders {
        (0..2).for_each(|cookie| hoarder.send(&request(0, READ, cookie, 0, MAXIMUM_PAYLOAD_BYTES)));
    }
    // One that announces data, and sends none.
    let mut announcing = Client::open(&served.path, false);
    announcing.send(&request(0, WRITE, 1, 0, MAXIMUM_PAYLOAD_BYTES));
    let mut honest = Client::open(&served.path, false);
    assert_eq!(honest.read_simply(0, MAXIMUM_PAYLOAD_BYTES).len(), most);
    assert!(announcing.is_closed());
    // A reply that nobody takes is given up after two seconds, one client after the other; beside other tests a busy machine takes longer.
    until_within(Duration::from_secs(30), || served.server.connections() == 1);
    assert!(begun.elapsed() < Duration::from_secs(30));
    assert!(served.memory.most_reading.load(Ordering::SeqCst) <= 2, "more at a time than there is memory for");
}

/// Connections that say nothing do not shut others out, whoever they are; those that have chosen stay.
#[test]
fn do_silent_connections_make_place_for_others() {
    let served = serve_within(Memory::new(SIZE), Limits { connections: 4, ..Limits::default() });
    let mut first = Client::open(&served.path, false);
    // An answer to a request says that the server has it for one that has chosen.
    first.read_simply(0, 512);
    let mut silent: Vec<_> = (0..40).map(|_| UnixStream::connect(&served.path).unwrap()).collect();
    let begun = Instant::now();
    let mut second = Client::open(&served.path, false);
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_eq!(first.read_simply(0, 512), second.read_simply(0, 512));
    until(|| served.server.connections() <= 4);
    // The oldest are gone, the last are not.
    let mut oldest = silent.remove(0);
    oldest.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    // At most the greeting comes before the end.
    assert!(oldest.read_to_end(&mut Vec::new()).unwrap() <= 18);
    let mut last = Client { stream: silent.pop().unwrap() };
    last.take(18);
    last.stream.set_nonblocking(true).unwrap();
    assert_eq!(last.stream.read(&mut [0]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

/// Whatever a stranger puts beside it, and however long the path is that a socket may have.
#[test]
fn can_nobody_keep_a_socket_from_being_made() {
    let folder = tempfile::tempdir().unwrap();
    // Where a socket would be made if its place could be guessed.
    fs::write(folder.path().join(format!(".nbd{}", std::process::id())), "in the way").unwrap();
    let long = folder.path().join("x".repeat(107 - 8 - folder.path().as_os_str().len()));
    fs::create_dir(&long).unwrap();
    for path in [folder.path().join("socket"), long.join("socket")] {
        let server = Server::start(&Address::Unix(path.clone()), Arc::new(Memory::new(SIZE)), Limits::default());
        let server = server.unwrap();
        assert_eq!(Client::open(&path, false).read_simply(0, 512).len(), 512);
        assert_eq!(fs::symlink_metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        server.stop();
        assert_eq!(
            fs::read_dir(path.parent().unwrap()).unwrap().filter(|at| at.as_ref().unwrap().path() == path).count(),
            0
        );
    }
}
