//! Traces from file to requests: each format, bad input, order, addresses, conversion, and the real traces.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use proptest::prelude::*;
use softsense_base::{Ns, Result};
use softsense_requests::trace::{
    Beyond, Columns, Devices, Format, TimeUnit, Trace, TraceSpec, TraceStats, write_requests,
};
use softsense_requests::{Request, RequestKind, RequestSource};

use RequestKind::{Flush, FuaWrite, Read, Trim, Write as Store};

/// A directory that is removed at the end of a test.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("softsense-traces-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(&self.0)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn open(spec: TraceSpec) -> Result<Trace> {
    Trace::open(spec, &mut |_| true)
}

fn collect(source: &mut dyn RequestSource) -> Result<Vec<Request>> {
    let mut requests = Vec::new();
    while let Some(request) = source.next_request()? {
        requests.push(request);
    }
    assert_eq!(source.next_request()?, None);
    Ok(requests)
}

/// Opens text with options and replays it on a device that is large enough.
fn read_with(text: &str, change: impl FnOnce(&mut TraceSpec)) -> Result<(TraceStats, Vec<Request>)> {
    let scratch = Scratch::new();
    let mut spec = TraceSpec::new(scratch.file("trace", text.as_bytes()));
    change(&mut spec);
    let trace = open(spec)?;
    let mut reader = trace.requests(u64::MAX, Beyond::Reject)?;
    let requests = collect(&mut reader)?;
    assert_eq!(reader.fraction_read(), 1.0);
    assert_eq!(requests.len() as u64, trace.stats().replayed_requests);
    Ok((trace.stats().clone(), requests))
}

fn read(text: &str) -> (TraceStats, Vec<Request>) {
    read_with(text, |_| {}).unwrap()
}

fn request(arrival_ns: u64, kind: RequestKind, offset_bytes: u64, bytes: u64) -> Request {
    Request { arrival: Ns(arrival_ns), kind, offset_bytes, bytes }
}

#[test]
fn msr_ticks_hosts_and_bytes() {
    let text = "128166372003061629,web,2,Read,7014609920,24576,41286\n\
                128166372003061630,web,2,Write,8192,512,1963\r\n\
                128166372013061629, web, 2, write ,1048576,4096,10";
    let (stats, requests) = read(text);
    assert_eq!((stats.format, stats.format_recognised), (Format::Msr, true));
    assert_eq!(
        requests,
        [
            request(0, Read, 7_014_609_920, 24_576),
            request(100, Store, 8192, 512),
            request(1_000_000_000, Store, 1_048_576, 4096)
        ]
    );
    assert_eq!(stats.devices.len(), 1, "blanks around commas do not make another device");
    assert_eq!((stats.devices[0].device, stats.devices[0].name.as_str()), (2, "web_2"));
}

#[test]
fn msr_with_a_header_and_two_hosts_of_the_same_disk_number() {
    let text = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n\
                10,b,0,Read,0,4096,1\n20,a,0,Read,4096,4096,1\n30,a,1,Read,0,4096,1\n";
    let (stats, requests) = read(text);
    let names: Vec<&str> = stats.devices.iter().map(|device| device.name.as_str()).collect();
    assert_eq!(names, ["a_0", "b_0", "a_1"]);
    let offsets: Vec<u64> = requests.iter().map(|request| request.offset_bytes).collect();
    assert_eq!(offsets, [1 << 20, 4096, 2 << 20]);
}

#[test]
fn spc_with_seconds_and_more_columns() {
    let (stats, requests) = read("0,20941264,8192,W,0.551706\n0, 20939840, 8192, r, 0.554041, x\n1,3,512,w,1.5\n");
    assert_eq!(stats.format, Format::Spc);
    assert_eq!(requests[0], request(0, Store, 20_941_264 * 512, 8192));
    assert_eq!(requests[1], request(2_335_000, Read, 20_939_840 * 512, 8192));
    assert_eq!(requests[2].arrival, Ns(948_294_000));
    assert_eq!(stats.devices[1].device, 1);
}

#[test]
fn disksim_with_a_decimal_point_is_recognised() {
    let (stats, requests) = read("# comment\n\n0.05 0 16 8 1\n  1.1 0 24 16 0\n2\t0\t8\t8\t3\n");
    assert_eq!((stats.format, stats.time_unit), (Format::Disksim, TimeUnit::Ms));
    assert_eq!(
        requests,
        [request(0, Read, 8192, 4096), request(1_050_000, Store, 12_288, 8192), request(1_950_000, Read, 4096, 4096)]
    );
    assert_eq!(stats.skipped.blank_or_comment, 2);
    assert_eq!((stats.reads, stats.writes, stats.footprint_bytes, stats.extent_bytes), (2, 1, 16_384, 20_480));
}

#[test]
fn five_whole_numbers_are_ambiguous_and_the_error_says_what_to_give() {
    let text = "1000 0 16 8 1\n5000 0 24 16 0\n";
    let error = read_with(text, |_| {}).unwrap_err().to_string();
    for part in ["`1000 0 16 8 1`", "--format mqsim", "--format disksim", "4.0 us", "4.0 s"] {
        assert!(error.contains(part), "{error}");
    }
    let span = |change: fn(&mut TraceSpec)| {
        let (stats, requests) = read_with(text, change).unwrap();
        (stats.format, requests[1].arrival.0)
    };
    assert_eq!(span(|spec| spec.format = Some(Format::Mqsim)), (Format::Mqsim, 4000));
    assert_eq!(span(|spec| spec.format = Some(Format::Disksim)), (Format::Disksim, 4_000_000_000));
    assert_eq!(span(|spec| spec.time_unit = Some(TimeUnit::Ns)), (Format::Mqsim, 4000));
    assert_eq!(span(|spec| spec.time_unit = Some(TimeUnit::Us)), (Format::Disksim, 4_000_000));
}

#[test]
fn the_size_unit_changes_sizes_and_not_addresses() {
    let (stats, requests) = read_with("0.5 0 16 2 1\n", |spec| spec.size_unit = Some(4096)).unwrap();
    assert_eq!(requests, [request(0, Read, 8192, 8192)]);
    assert_eq!(stats.size_unit_bytes, 4096);
}

#[test]
fn blkparse_queued_requests_and_nothing_else() {
    let text = "Input file sda.blktrace.0 added\n\
                \x20 8,0    3        1     0.000000000   697  A   W 223490 + 8 <- (8,1) 223427\n\
                \x20 8,0    3        2     0.000001829   697  Q   W 223490 + 8 [kjournald]\n\
                \x20 8,0    3        3     0.000002000   697  G   W 223490 + 8 [kjournald]\n\
                \x20 8,16   3        4     0.000003000   697  Q  RA 16 + 256 [a b c]\n\
                \x20 8,0    3        5     0.000004000   697  Q   D 0 + 2048 [fstrim]\n\
                \x20 8,0    3        6     0.000005000   697  Q FWS [kworker/0:1H]\n\
                \x20 8,0    3        7     0.000006000     0  m   N cfq697 slice expired t=0\n\
                CPU3 (8,0):\n Reads Queued:           1,      128KiB\t Writes Queued:  1, 4KiB\n\n\
                Throughput (R/W): 0KiB/s / 0KiB/s\nEvents (8,0): 7 entries\nSkips: 0 forward (0 -   0.0%)\n";
    let (stats, requests) = read(text);
    assert_eq!(stats.format, Format::Blkparse);
    let base = (223_498 * 512u64).div_ceil(1 << 20) << 20;
    assert_eq!(
        requests,
        [
            request(0, Store, 223_490 * 512, 4096),
            request(1171, Read, base + 8192, 131_072),
            request(2171, Trim, 0, 1 << 20),
            request(3171, Flush, 0, 0)
        ]
    );
    assert_eq!(stats.devices.iter().map(|device| device.name.as_str()).collect::<Vec<_>>(), ["8,0", "8,16"]);
    assert_eq!((stats.flushes, stats.skipped.other_events, stats.trims), (1, 9, 1));
    let (stats, _) = read_with(text, |spec| spec.devices = "only=8,16".parse().unwrap()).unwrap();
    assert_eq!((stats.requests, stats.skipped.other_devices), (1, 3));
}

/// An event of blkparse after so many nanoseconds.
fn blkparse_line(time: u32, event: char, kind: &str, data: &str) -> String {
    format!("8,0 0 1 0.00000000{time} 7 {event} {kind} {data}[x]\n")
}

/// Are appends to zones writes and resets trims, and is what moves no data skipped: operations of zones, packet commands with their bytes,
/// a completed flush with its time, a sector that is none?
#[test]
fn zones_and_odd_lines_of_blkparse() {
    let (line, queued) = (blkparse_line, |time, kind, data| blkparse_line(time, 'Q', kind, data));
    let text = queued(0, "WS", "0 + 8 ")
        + &queued(1, "ZR", "524288 + 524288 ")
        + &queued(2, "ZA", "8 + 8 ")
        + &queued(3, "ZRA", "0 + 8 ")
        + &queued(4, "ZF", "0 + 524288 ")
        + &queued(5, "ZO", "0 + 524288 ")
        + &queued(6, "ZC", "0 + 524288 ")
        + &queued(7, "R", "36 (12 00 00 00 24 00) ");
    let (stats, requests) = read(&text);
    let expected = [
        request(0, Store, 0, 4096),
        request(1, Trim, 1 << 28, 1 << 28),
        request(2, Store, 4096, 4096),
        request(3, Trim, 0, 4096),
    ];
    assert_eq!(requests, expected);
    assert_eq!((stats.reads, stats.flushes, stats.skipped.other_events), (0, 0, 4));
    let text = line(0, 'C', "W", "0 + 8 ( 321) ")
        + &line(1, 'C', "FWS", "0 ( 321) ")
        + &line(2, 'C', "WS", "18446744073709551615 ")
        + &line(3, 'C', "R", "8 + 8 ");
    let (stats, requests) = read(&text);
    assert_eq!(requests, [request(0, Store, 0, 4096), request(1, Flush, 0, 0), request(3, Read, 4096, 4096)]);
    assert_eq!(stats.skipped.zero_size, 1);
    // A sector that is beyond all devices is still no request.
    assert!(read_with(&line(0, 'C', "W", "18446744073709551615 + 8 "), |_| ()).is_err());
}

/// Nanoseconds as a file has them.
type Time = Box<dyn Fn(u64) -> String>;

/// A load of which every format can tell: 500 reads and writes of 4 KiB and more, some of them one behind the other.
struct Load {
    /// Arrival (ns), address, size, and whether it is a read.
    rows: Vec<(u64, u64, u64, bool)>,
}

impl Load {
    fn new(number: u64) -> Self {
        let mut state = number;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let (gap_ns, most_pages) = (1_100_000 + number * 350_000, if number < 5 { 1 } else { 4 });
        let (mut at, mut end) = (0, 0);
        let rows = (0..500).map(|_| {
            at += 1 + draw(2 * gap_ns);
            let offset = if draw(4) == 0 { end } else { draw(1 << 20) << 12 };
            let bytes = (1 + draw(most_pages)) << 12;
            end = offset + bytes;
            (at, offset, bytes, draw(3) > 0)
        });
        Self { rows: rows.collect() }
    }

    /// As a file of a format has it.
    ///
    /// # Arguments
    /// - `time`: ns as text.
    /// - `units`: of addresses and of sizes, in bytes.
    fn text(&self, format: Format, time: &dyn Fn(u64) -> String, units: [u64; 2]) -> String {
        let header = if format == Format::CloudPhysics { "version,time,op,size,lbn\n" } else { "" };
        let lines = self.rows.iter().map(|&(at, offset, bytes, is_read)| {
            let (at, offset, bytes) = (time(at), offset / units[0], bytes / units[1]);
            let (word, letter) = if is_read { ("Read", 'R') } else { ("Write", 'W') };
            match format {
                Format::Msr => format!("{at},host,0,{word},{offset},{bytes},100\n"),
                Format::Spc => format!("0,{offset},{bytes},{letter},{at}\n"),
                Format::Disksim | Format::Mqsim => format!("{at} 0 {offset} {bytes} {}\n", u8::from(is_read)),
                Format::Alibaba2020 => format!("3,{letter},{offset},{bytes},{at}\n"),
                Format::Fiu => format!("{at} 1 x {offset} {bytes} {letter} 6 0 0123\n"),
                _ => format!("1,{at},{},{bytes},{offset}\n", if is_read { "28" } else { "2a" }),
            }
        });
        header.to_owned() + &lines.collect::<String>()
    }
}

/// Ten loads in seven formats, each with the units of the format and with all others: is a right reading taken without a word, and no
/// wrong one?
#[test]
fn no_wrong_unit_is_read_in_silence() {
    const EPOCH_NS: u64 = 1_577_836_800_000_000_000;
    let whole = |unit: u64, start: u64| move |ns: u64| ((ns + start) / unit).to_string();
    let parts = |unit: u64, digits: usize| move |ns: u64| format!("{:.digits$}", ns as f64 / unit as f64);
    let (s, ms, us, ns) = (1_000_000_000, 1_000_000, 1_000, 1);
    let filetime = |ns: u64| (132_000_000_000_000_000 + ns / 100).to_string();
    // Times of the format first, then others.
    let times: Vec<(Format, Vec<Time>)> = vec![
        (Format::Msr, vec![Box::new(filetime), Box::new(whole(us, EPOCH_NS)), Box::new(whole(s, EPOCH_NS))]),
        (Format::Spc, vec![Box::new(parts(s, 6)), Box::new(parts(ms, 3)), Box::new(parts(us, 1))]),
        (Format::Disksim, vec![Box::new(parts(ms, 6)), Box::new(parts(s, 9)), Box::new(parts(us, 3))]),
        (
            Format::Mqsim,
            vec![Box::new(whole(ns, 0)), Box::new(whole(us, 0)), Box::new(whole(ms, 0)), Box::new(whole(s, 0))],
        ),
        (
            Format::Alibaba2020,
            vec![Box::new(whole(us, EPOCH_NS)), Box::new(whole(s, EPOCH_NS)), Box::new(whole(ms, EPOCH_NS))],
        ),
        (Format::Fiu, vec![Box::new(whole(ns, EPOCH_NS)), Box::new(whole(s, EPOCH_NS)), Box::new(whole(us, EPOCH_NS))]),
        (Format::CloudPhysics, vec![Box::new(whole(us, 0)), Box::new(whole(s, 0)), Box::new(whole(ms, 0))]),
    ];
    let (mut readings, mut asked, mut told) = (0, 0, 0);
    for (format, times) in &times {
        let sectors = matches!(format, Format::Disksim | Format::Mqsim | Format::Fiu);
        let addresses = if matches!(format, Format::Spc | Format::CloudPhysics) { 512 } else { 1 };
        let right = if sectors { [512, 512] } else { [addresses, 1] };
        let wrong: &[[u64; 2]] = if sectors {
            &[[1, 1], [4096, 4096], [512, 4096], [512, 1]]
        } else {
            &[[addresses, 512], [addresses, 4096]]
        };
        for number in 0..10 {
            let load = Load::new(number);
            let of_times = times.iter().enumerate().map(|(at, time)| (at == 0, load.text(*format, time, right)));
            // Larger requests in pages are as good as smaller ones in sectors.
            let of_sizes = wrong.iter().filter(|&&units| number < 5 || units != [4096, 4096]);
            let of_sizes = of_sizes.map(|&units| (false, load.text(*format, &times[0], units)));
            for (is_right, text) in of_times.chain(of_sizes) {
                let found = read_with(&text, |spec| spec.format = Some(*format));
                let first = text.lines().nth(1).unwrap();
                readings += 1;
                match found {
                    Ok((stats, _)) if is_right => assert_eq!(stats.unit_doubts, [""; 0], "{format}, {number}: {first}"),
                    Ok((stats, _)) => {
                        assert!(!stats.unit_doubts.is_empty(), "{format}, {number}, in silence: {first}");
                        told += 1;
                    }
                    Err(error) => {
                        assert!(
                            !is_right && error.to_string().contains("-unit "),
                            "{format}, {number}: {first}: {error}"
                        );
                        asked += 1;
                    }
                }
            }
        }
    }
    println!("{readings} readings: {asked} are asked about, {told} are told");
    assert!(asked > 100 && told > 100);
    // A log of fio without times arrives together, wait by wait.
    let reads = (0..300).map(|i| format!("/dev/sda read {} 4096\n", i * 8192));
    let waits =
        reads.enumerate().map(|(i, read)| if i % 100 == 0 { format!("/dev/sda wait 10 0\n{read}") } else { read });
    let text = format!("fio version 2 iolog\n/dev/sda add\n/dev/sda open\n{}", waits.collect::<String>());
    assert_eq!(read(&text).0.unit_doubts, [""; 0]);
    // Who has said what units are is not asked again.
    let absurd = Load::new(0).text(Format::Msr, &whole(s, 0), [1, 512]);
    let (stats, _) = read_with(&absurd, |spec| {
        (spec.time_unit, spec.size_unit) = (Some(TimeUnit::Ticks100Ns), Some(1));
    })
    .unwrap();
    assert_eq!(stats.unit_doubts, [""; 0]);
    // Published under this header in two units, and three lines do for a question.
    let three = "version,time,op,size,lbn\n1,5633898,2a,4096,8\n1,5633900,28,4096,24\n1,5633958,2a,4096,32\n";
    let error = read_with(three, |_| {}).unwrap_err().to_string();
    assert!(error.contains("60.0 us") && error.contains("--time-unit"), "{error}");
}

/// Is a flush read wherever traces have it, and what stands before and behind the W of blkparse told apart?
#[test]
fn flushes_and_fua_are_read() {
    // A flush alone, a flush before a write, a write with FUA, both, and what the device is told of a flush.
    let line = |time, kind, data| blkparse_line(time, 'Q', kind, data);
    let text = line(0, "W", "8 + 8 ")
        + &line(1, "FWS", "")
        + &line(2, "FWS", "16 + 8 ")
        + &line(3, "WFS", "24 + 8 ")
        + &line(4, "FWFSM", "32 + 8 ")
        + &line(5, "FN", "")
        + &line(6, "FF", "0 + 0 ")
        + &line(7, "WS", "0 ");
    let whole = [
        request(0, Store, 4096, 4096),
        request(1, Flush, 0, 0),
        request(2, Flush, 0, 0),
        request(2, Store, 8192, 4096),
        request(3, FuaWrite, 12_288, 4096),
        request(4, Flush, 0, 0),
        request(4, FuaWrite, 16_384, 4096),
        request(5, Flush, 0, 0),
        request(6, Flush, 0, 0),
    ];
    let (stats, requests) = read(&text);
    assert_eq!(requests, whole);
    assert_eq!((stats.requests, stats.writes, stats.fua_writes, stats.flushes), (9, 4, 2, 5));
    assert_eq!((stats.skipped.zero_size, stats.largest_request_bytes, stats.footprint_bytes), (1, 4096, 4 * 4096));
    // Without flushes writes are what is left.
    let (stats, requests) = read_with(&text, |spec| spec.skip_flushes = true).unwrap();
    let plain = |request: &Request| Request { kind: Store, ..*request };
    let writes: Vec<Request> = whole.iter().filter(|request| request.kind != Flush).map(plain).collect();
    assert_eq!(requests, writes);
    assert_eq!((stats.flushes, stats.fua_writes, stats.skipped.flushes), (0, 0, 5));
    // softsense's own text has both, and what has none says so.
    let scratch = Scratch::new();
    let trace = Trace::open(TraceSpec::new(scratch.file("t", text.as_bytes())), &mut |_| true).unwrap();
    let copy = scratch.path("copy.csv");
    trace.convert(&copy, Format::Csv, &mut |_| true).unwrap();
    assert_eq!(read(&std::fs::read_to_string(&copy).unwrap()).1, whole);
    let error = trace.convert(&scratch.path("o"), Format::Mqsim, &mut |_| true).unwrap_err().to_string();
    assert!(error.contains("found a flush in request 2, expected only reads and writes of whole"), "{error}");
    // Words of columns.
    let text = "1,w,8,1\n2,flush,0,0\n3,fua_write,16,1\n";
    let (_, requests) = read_with(text, |spec| {
        spec.columns = Some(Columns::new("time:ns,op,lbn:512B,bytes:512B", None, 0, None).unwrap());
    })
    .unwrap();
    assert_eq!(requests, [request(0, Store, 4096, 512), request(1, Flush, 0, 0), request(2, FuaWrite, 8192, 512)]);
}

#[test]
fn fio_version_2_has_waits() {
    let text = "fio version 2 iolog\n/dev/a add\n/dev/b add\n/dev/a open\n/dev/a write 0 4096\n/dev/a wait 1500 0\n\
                /dev/b read 8192 512\n/dev/a sync 0 0\n/dev/a wait 500\n/dev/a trim 4096 8192\n/dev/a datasync 0 0\n\
                /dev/a close\n";
    let (stats, requests) = read(text);
    assert_eq!((stats.format, stats.time_unit), (Format::Fio, TimeUnit::Us));
    assert_eq!(
        requests,
        [
            request(0, Store, 0, 4096),
            request(1_500_000, Read, (1 << 20) + 8192, 512),
            request(1_500_000, Flush, 0, 0),
            request(2_000_000, Trim, 4096, 8192),
            request(2_000_000, Flush, 0, 0)
        ]
    );
    assert_eq!(stats.devices[1].name, "/dev/b");
    assert_eq!((stats.flushes, stats.skipped.other_events), (2, 6));
}

#[test]
fn fio_version_3_has_microseconds() {
    let text = "fio version 3 iolog\n2 /dev/a add\n872 /dev/a open\n878 /dev/a write 0 4096\n888 /dev/a read 4096 512\n\
                900 /dev/a close\n";
    let (_, requests) = read(text);
    assert_eq!(requests, [request(0, Store, 0, 4096), request(10_000, Read, 4096, 512)]);
    let (_, requests) = read_with(text, |spec| spec.time_unit = Some(TimeUnit::Ms)).unwrap();
    assert_eq!(requests[1].arrival, Ns(10_000_000));
}

#[test]
fn own_csv() {
    let (stats, requests) =
        read("# made by hand\narrival_ns,device,kind,offset_bytes,bytes\n7,3,read,1,2\n9,3,trim,4096,4096\n");
    assert_eq!(stats.format, Format::Csv);
    assert_eq!(requests, [request(0, Read, 1, 2), request(2, Trim, 4096, 4096)]);
}

/// Times are exact: no digit is lost to floating point, and digits below 1 ns are cut off.
#[test]
fn times_are_exact() {
    let text = "0.000000001 0 8 8 1\n9007199254.740993 0 8 8 1\n9007199254.7409939 0 8 8 1\n";
    let (_, requests) = read(text);
    assert_eq!(requests[1].arrival, Ns(9_007_199_254_740_993));
    assert_eq!(requests[2].arrival, Ns(9_007_199_254_740_993));
}

/// What is wrong, where, and what should be there.
#[test]
fn bad_lines_are_explained() {
    const DISKSIM: &str = "1.5 0 16 8 1\n";
    const MSR: &str = "10,a,0,Read,0,4096,1\n";
    const SPC: &str = "0,16,4096,r,0.5\n";
    const BLK: &str = "8,0 3 2 0.5 697 Q W 16 + 8 [x]\n";
    const CSV: &str = "arrival_ns,device,kind,offset_bytes,bytes\n";
    const FIO2: &str = "fio version 2 iolog\n";
    const FIO3: &str = "fio version 3 iolog\n";
    let cases: &[(&str, &str, &str)] = &[
        (DISKSIM, "2.5 0 x 8 1", "2: found `x` in column 3 (start LBA), expected a whole number of 512-byte sectors"),
        (DISKSIM, "2.5 0 -8 8 1", "2: found `-8` in column 3 (start LBA), expected a whole number"),
        (DISKSIM, "-2.5 0 8 8 1", "2: found `-2.5` in column 1 (arrival time), expected a time in ms such as"),
        (DISKSIM, "2.5e3 0 8 8 1", "2: found `2.5e3` in column 1 (arrival time), expected a time in ms"),
        (DISKSIM, ". 0 8 8 1", "2: found `.` in column 1"),
        (DISKSIM, "2.5 0 8 8", "2: found 4 columns, expected 5 (arrival time, device, start LBA, size, type)"),
        (DISKSIM, "2.5 0 8 8 1 9", "2: found 6 columns, expected 5"),
        (DISKSIM, "2.5", "2: found 1 column, expected 5"),
        (DISKSIM, "2.5 0 8 8 q", "2: found `q` in column 5 (type), expected hexadecimal flags"),
        (
            DISKSIM,
            "2.5 4294967296 8 8 1",
            "2: found `4294967296` in column 2 (device), expected a whole number below 2^32",
        ),
        (
            DISKSIM,
            "18446744073709551616 0 8 8 1",
            "2: found `18446744073709551616` in column 1 (arrival time), expected a time in ms below 584 years",
        ),
        (DISKSIM, "2.5 0 99999999999999999999 8 1", "2: found `99999999999999999999` in column 3"),
        (DISKSIM, "2.5 0 9999999999999999 8 1", "2: found a request at byte"),
        (DISKSIM, "2.5 0 8 9999999999 1", "2: found a request of 5119999999488 bytes, expected at most 1 GiB"),
        (DISKSIM, "2.5 0 8 \u{7f}\u{e9} 1", "2: found `\u{fffd}\u{e9}` in column 4 (size)"),
        (MSR, "10,a,0,Read,0,4096", "2: found 6 columns, expected 7 (timestamp, hostname"),
        (MSR, "10,a,0,Erase,0,4096,1", "2: found `Erase` in column 4 (type), expected Read or Write"),
        (MSR, "10,a,x,Read,0,4096,1", "2: found `x` in column 3 (disk number), expected a whole number"),
        (MSR, "10,a,0,Read,1.5,4096,1", "2: found `1.5` in column 5 (offset), expected a whole number of bytes"),
        (
            MSR,
            "184467440737095517,a,0,Read,0,4096,1",
            "2: found `184467440737095517` in column 1 (timestamp), expected a time in 100ns below 584 years",
        ),
        (SPC, "0,16,4096,x,0.5", "2: found `x` in column 4 (opcode), expected r, R, w or W"),
        (SPC, "0,16,4096,read,0.5", "2: found `read` in column 4 (opcode)"),
        (SPC, "0,16,4096,r", "2: found 4 columns, expected at least 5"),
        (BLK, "8,0 3 2 0.5 697 Q W 16 - 8 [x]", "2: found `-` in column 9 (`+`), expected `+`"),
        (BLK, "8,0 3 2 0.5 697 Q W x + 8 [x]", "2: found `x` in column 8 (start sector)"),
        (BLK, "80 3 2 0.5 697 Q W 16 + 8 [x]", "2: found `80` in column 1 (device), expected major and minor"),
        (CSV, "1,0,erase,0,512", "2: found `erase` in column 3 (kind), expected read, write, trim, fua_write or flush"),
        (CSV, "1.5,0,read,0,512", "2: found `1.5` in column 1 (arrival_ns), expected a whole number of ns"),
        (FIO2, "/dev/a raed 0 512", "2: found `raed` in column 2 (action), expected read, write, trim"),
        (FIO2, "/dev/a read 0", "2: found 3 columns, expected 4"),
        (FIO3, "/dev/a read 0 512", "2: found `/dev/a` in column 1 (time)"),
        (FIO3, "5 /dev/a wait 10 0", "2: found `wait`, which version 3"),
        ("", "fio version 1 iolog\n0, 0, 512", "1: found `fio version 1 iolog`, expected"),
        ("", "hello world", "1: found `hello world`, expected a line of one of the formats msr, spc"),
        ("", "1 2 3", "1: found `1 2 3`, expected a line of one of the formats"),
        ("", "", ": found an empty file"),
        ("", "# nothing\n\n# at all\n", ": found only blank lines and comments"),
        (CSV, "", ": found only a header"),
        (CSV, "1,0,read,0,0", ": found only requests of size zero (1), expected the requests of a trace"),
        (FIO2, "/dev/a add", ": found only events that are not requests (1)"),
        ("", "\u{0}\u{1}", ": found a binary file (byte 0x00 in line 1)"),
    ];
    for (good, bad, expected) in cases {
        for tail in ["", "\n", "\r\n"] {
            let scratch = Scratch::new();
            let path = scratch.file("t", format!("{good}{bad}{}", if bad.is_empty() { "" } else { tail }).as_bytes());
            let error = open(TraceSpec::new(&path)).unwrap_err().to_string();
            let expected = if expected.starts_with(':') { (*expected).to_owned() } else { format!(":{expected}") };
            assert!(error.starts_with(&format!("{}{expected}", path.display())), "{bad}: {error}");
            assert!(error.contains("expected"), "{error}");
        }
    }
    // MQSim's nanoseconds have no decimal point, its types are 0 and 1.
    for (line, expected) in [
        ("1.5 0 8 8 1", "`1.5` in column 1 (arrival time), expected a whole number of ns"),
        ("1 0 8 8 2", "0 (write) or 1"),
    ] {
        let error = read_with(line, |spec| spec.format = Some(Format::Mqsim)).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn what_is_not_a_file_is_refused() {
    let scratch = Scratch::new();
    let error = open(TraceSpec::new(&scratch.0)).unwrap_err().to_string();
    assert!(error.contains("found a directory"), "{error}");
    let error = open(TraceSpec::new(scratch.path("none"))).unwrap_err();
    assert_eq!(error.kind(), softsense_base::ErrorKind::Io);
    let long = scratch.file("long", &vec![b'7'; 1 << 20]);
    let error = open(TraceSpec::new(long)).unwrap_err().to_string();
    assert!(error.contains(":1: found a line of more than 256 KiB"), "{error}");
    let error = open(TraceSpec::new(scratch.file("zeros", &vec![0; 1 << 20]))).unwrap_err().to_string();
    assert!(error.contains("found a binary file"), "{error}");
}

/// Is what is no text called by its name, with the way out? A mapped size may have a unit without a number, too.
#[test]
fn other_files_are_called_by_their_names() {
    let mut tar = b"trace.txt".to_vec();
    tar.resize(257, 0);
    tar.extend(b"ustar\x0000 and so on");
    let files: [(&[u8], &str, &str); 10] = [
        (b"\x07tae\x01\0\0\0 and so on", "a binary trace of blktrace", "`blkparse -i`"),
        (b"eat\x07\0\0\0\x01 and so on", "a binary trace of blktrace", "`blkparse -i`"),
        (b"\xfd7zXZ\0\0\x04 and so on", "packed with xz", "`-`"),
        (b"BZh91AY&SY and so on", "packed with bzip2", "`-`"),
        (b"PK\x03\x04 and so on", "a zip archive", "`-`"),
        (b"7z\xbc\xaf\x27\x1c and so on", "a 7z archive", "`-`"),
        (b"\x04\x22\x4d\x18 and so on", "packed with lz4", "`-`"),
        (b"\xff\xfe0\0 \0", "text in UTF-16", "iconv"),
        (b"PAR1 and so on", "a Parquet file", ".parquet"),
        (&tar, "a tar archive", "tar xOf"),
    ];
    let scratch = Scratch::new();
    for (bytes, found, way_out) in files {
        let error = open(TraceSpec::new(scratch.file("t", bytes))).unwrap_err().to_string();
        assert!(error.contains(found) && error.contains(way_out) && !error.contains("oracle"), "{error}");
    }
    for (size, bytes) in [("B", 8), ("KiB", 8192), ("512B", 4096)] {
        let columns = Columns::new(&format!("time:ms,op,offset,bytes:{size}"), None, 0, None).unwrap();
        let (_, requests) = read_with("1,R,0,8\n2,W,8192,8\n", |spec| spec.columns = Some(columns)).unwrap();
        assert_eq!(requests[0].bytes, bytes, "{size}");
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

fn mqsim_text(rows: u64) -> String {
    (0..rows).map(|i| format!("{} {} {} 8 {}\n", i * 1000, i % 3, (i * 7919) % 100_000, i % 2)).collect()
}

#[test]
fn compressed_files_of_several_members_are_one_text() {
    let scratch = Scratch::new();
    let text = mqsim_text(20_000);
    let (first, second) = text.as_bytes().split_at(100_003);
    let plain = scratch.file("plain", text.as_bytes());
    // The names deliberately say something else: only the content counts.
    let gz = scratch.file("a.zst", &[gzip(first), gzip(second)].concat());
    let zst = scratch.file("a.gz", &[zstd(first), zstd(second)].concat());
    let read = |path: &Path| {
        let trace = open(TraceSpec { format: Some(Format::Mqsim), ..TraceSpec::new(path) }).unwrap();
        (trace.stats().compression.clone(), collect(&mut trace.requests(u64::MAX, Beyond::Reject).unwrap()).unwrap())
    };
    let (none, requests) = read(&plain);
    assert_eq!((none.as_str(), requests.len()), ("none", 20_000));
    assert_eq!(read(&gz), ("gzip".to_owned(), requests.clone()));
    assert_eq!(read(&zst), ("zstd".to_owned(), requests));
}

#[test]
fn truncated_and_damaged_files_are_refused() {
    let scratch = Scratch::new();
    let text = mqsim_text(20_000);
    for (name, packed) in [("gzip", gzip(text.as_bytes())), ("zstd", zstd(text.as_bytes()))] {
        for cut in [packed.len() - 1, packed.len() / 2, 10] {
            let path = scratch.file("cut", &packed[..cut]);
            let error =
                open(TraceSpec { format: Some(Format::Mqsim), ..TraceSpec::new(&path) }).unwrap_err().to_string();
            assert!(error.contains(&format!("found a truncated {name} file")), "{error}");
        }
        let mut damaged = packed.clone();
        let middle = damaged.len() / 2;
        damaged[middle..middle + 64].fill(0x5a);
        let path = scratch.file("damaged", &damaged);
        assert!(open(TraceSpec { format: Some(Format::Mqsim), ..TraceSpec::new(&path) }).is_err());
    }
}

#[test]
fn a_scan_can_be_interrupted() {
    let scratch = Scratch::new();
    let path = scratch.file("t", mqsim_text(10).as_bytes());
    let spec = TraceSpec { format: Some(Format::Mqsim), ..TraceSpec::new(path) };
    let error = Trace::open(spec.clone(), &mut |_| false).unwrap_err().to_string();
    assert!(error.ends_with(": interrupted"), "{error}");
    let trace = open(spec).unwrap();
    let target = scratch.path("out.csv");
    assert!(trace.convert(&target, Format::Csv, &mut |_| false).is_err());
    assert_eq!(scratch.names(), ["t"], "an interrupted conversion leaves nothing behind");
}

#[test]
fn devices_are_stacked_merged_or_left_out() {
    let text = "0.5 7 0 8 1\n1.5 2 16 8 0\n2.5 7 8 8 1\n3.5 2 0 4096 1\n";
    let offsets = |devices| {
        let (stats, requests) = read_with(text, |spec| spec.devices = devices).unwrap();
        let offsets: Vec<u64> = requests.iter().map(|request| request.offset_bytes).collect();
        (stats, offsets)
    };
    let (stats, stacked) = offsets(Devices::Stack);
    // Device 2 comes first and takes 2 MiB.
    assert_eq!(stacked, [2 << 20, 8192, (2 << 20) + 4096, 0]);
    assert_eq!(stats.extent_bytes, (2 << 20) + 8192);
    assert_eq!(stats.footprint_bytes, (2 << 20) + 8192);
    assert_eq!(
        stats.devices.iter().map(|device| (device.device, device.requests)).collect::<Vec<_>>(),
        [(2, 2), (7, 2)]
    );
    let (stats, merged) = offsets(Devices::Merge);
    assert_eq!(merged, [0, 8192, 4096, 0]);
    assert_eq!((stats.extent_bytes, stats.footprint_bytes), (2 << 20, 2 << 20));
    let (stats, only) = offsets("only=7".parse().unwrap());
    assert_eq!(only, [0, 4096]);
    assert_eq!((stats.requests, stats.skipped.other_devices, stats.devices.len()), (2, 2, 1));
    let error = read_with(text, |spec| spec.devices = "only=5".parse().unwrap()).unwrap_err().to_string();
    assert!(error.contains("found no request of device 5, expected one of the devices of the trace: 2, 7"), "{error}");
}

#[test]
fn addresses_beyond_the_device() {
    let scratch = Scratch::new();
    let path = scratch.file("t", b"0.5 0 0 8 1\n1.5 0 4088 16 0\n2.5 0 2000 8 0\n3.5 0 4087 8 1\n");
    let trace = open(TraceSpec::new(&path)).unwrap();
    assert_eq!(trace.stats().extent_bytes, 4104 * 512);
    assert!(trace.requests(4104 * 512, Beyond::Reject).is_ok());
    let error = trace.requests(1 << 20, Beyond::Reject).err().unwrap().to_string();
    assert!(error.starts_with(&format!("{}:2: found a request that ends at byte 2101248", path.display())), "{error}");
    assert!(error.contains("1 MiB") && error.contains("--beyond wrap") && error.contains("--beyond scale"), "{error}");
    for beyond in [Beyond::Wrap, Beyond::Scale] {
        for capacity in [1 << 20, 300_000, 8192, 8193] {
            let requests = collect(&mut trace.requests(capacity, beyond).unwrap()).unwrap();
            assert_eq!(requests.len(), 4);
            assert!(requests.iter().all(|r| r.offset_bytes + r.bytes <= capacity), "{beyond} {capacity} {requests:?}");
        }
        let error = trace.requests(4096, beyond).err().unwrap().to_string();
        assert!(error.contains("found a request of 8192 bytes"), "{error}");
    }
    let wrapped = collect(&mut trace.requests(1 << 20, Beyond::Wrap).unwrap()).unwrap();
    assert_eq!(wrapped[1].offset_bytes, (1 << 20) - 8192);
    assert_eq!(wrapped[2].offset_bytes, 2000 * 512);
}

/// The order of arrival is restored whatever the backward steps are, and ties keep the order of the file.
#[test]
fn unsorted_arrivals_are_put_in_order() {
    let mut text = String::new();
    let mut arrivals = Vec::new();
    let mut state = 12345u64;
    for i in 0..5000u64 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let arrival = 1_000_000 + i * 10 + (state >> 33) % 700;
        arrivals.push((arrival, i));
        text += &format!("{arrival} 0 {} 8 1\n", i * 8);
    }
    let (stats, requests) =
        read_with(&text, |spec| (spec.format, spec.time_unit) = (Some(Format::Mqsim), Some(TimeUnit::Ns))).unwrap();
    let mut latest = 0;
    let (mut steps, mut largest) = (0, 0);
    for &(arrival, _) in &arrivals {
        if arrival < latest {
            steps += 1;
            largest = largest.max(latest - arrival);
        }
        latest = latest.max(arrival);
    }
    assert_eq!((stats.out_of_order, stats.max_backward_ns), (steps, largest));
    arrivals.sort();
    let first = arrivals[0].0;
    let expected: Vec<Request> =
        arrivals.iter().map(|&(arrival, i)| request(arrival - first, Read, i * 4096, 4096)).collect();
    assert_eq!(requests, expected);
    assert!(stats.describe().iter().any(|(label, _)| label == "unsorted"));
}

#[test]
fn a_file_sorted_backwards_is_sorted_up_to_a_million_requests() {
    let (_, requests) =
        read_with("3 0 0 8 1\n2 0 8 8 1\n1 0 16 8 1\n", |spec| spec.format = Some(Format::Mqsim)).unwrap();
    assert_eq!(requests.iter().map(|r| r.offset_bytes).collect::<Vec<_>>(), [8192, 4096, 0]);

    let scratch = Scratch::new();
    let text: String = (0..1_000_002u64).rev().map(|i| format!("{i} 0 0 8 1\n")).collect();
    let path = scratch.file("t", text.as_bytes());
    let spec = TraceSpec { time_unit: Some(TimeUnit::Ns), format: Some(Format::Mqsim), ..TraceSpec::new(path) };
    let trace = open(spec).unwrap();
    let error = trace.requests(u64::MAX, Beyond::Reject).unwrap().next_request().unwrap_err().to_string();
    assert!(
        error.contains(":1000002: found an arrival 1.0 ms before") && error.contains("1000000 requests"),
        "{error}"
    );
}

#[test]
fn an_end_mark_counts_but_is_not_replayed() {
    let rows: String = (0..200).map(|i| format!("{}.5 0 {} 8 0\n", i * 10, 800 + i * 8)).collect();
    let (stats, requests) = read(&format!("{rows}60000.0 0 0 8 1\n"));
    assert_eq!((stats.requests, stats.replayed_requests, stats.skipped.end_marks), (201, 200, 1));
    assert_eq!((stats.reads, requests.len()), (1, 200));
    assert_eq!((stats.span_s, stats.replayed_span_ns), (59.9995, 1_990_000_000));
    assert!(stats.describe().iter().any(|(label, _)| label == "end mark"));
    // Not last; not alone at its address; not late; elsewhere; too little to compare with.
    for text in [
        format!("{rows}60000.0 0 0 8 1\n60001.0 0 8 8 1\n"),
        format!("0.1 0 0 8 1\n{rows}60000.0 0 0 8 1\n"),
        format!("{rows}2000.0 0 0 8 1\n"),
        format!("{rows}60000.0 0 8 8 1\n"),
        "0.5 0 800 8 1\n60000.0 0 0 8 1\n".to_owned(),
    ] {
        let (stats, requests) = read(&text);
        assert_eq!(stats.skipped.end_marks, 0);
        assert_eq!(stats.requests, requests.len() as u64);
    }
}

#[test]
fn conversion_is_whole_or_not_at_all() {
    let scratch = Scratch::new();
    let path = scratch.file("t.csv", b"arrival_ns,device,kind,offset_bytes,bytes\n5,1,read,0,512\n6,2,trim,1,3\n");
    let trace = open(TraceSpec::new(&path)).unwrap();
    let error = trace.convert(&path, Format::Csv, &mut |_| true).unwrap_err().to_string();
    assert!(error.contains("found the trace itself"), "{error}");
    let error = trace.convert(&scratch.path("o"), Format::Mqsim, &mut |_| true).unwrap_err().to_string();
    assert!(error.contains("found a trim in request 2"), "{error}");
    assert!(trace.convert(&scratch.path("o"), Format::Msr, &mut |_| true).is_err());
    assert!(trace.convert(&scratch.0, Format::Csv, &mut |_| true).is_err());
    assert!(trace.convert(&scratch.path("no/such/o"), Format::Csv, &mut |_| true).is_err());
    assert_eq!(scratch.names(), ["t.csv"]);
    assert_eq!(trace.convert(&scratch.path("o.csv"), Format::Csv, &mut |_| true).unwrap(), 2);
    assert_eq!(
        std::fs::read_to_string(scratch.path("o.csv")).unwrap(),
        "arrival_ns,device,kind,offset_bytes,bytes\n0,1,read,0,512\n1,2,trim,1,3\n"
    );
}

#[test]
fn a_file_that_changed_since_the_scan_is_refused() {
    let scratch = Scratch::new();
    let path = scratch.file("t", b"0.5 0 0 8 1\n");
    let trace = open(TraceSpec::new(&path)).unwrap();
    scratch.file("t", b"0.5 0 0 8 1\n1.5 0 0 8 1\n");
    let error = trace.requests(u64::MAX, Beyond::Reject).err().unwrap().to_string();
    assert!(error.contains("the file has changed"), "{error}");
}

/// Does a file that changes while it is read end in one error, whatever becomes of it, and never in other requests?
#[test]
fn a_file_that_changes_during_a_run_is_an_error() {
    let rows = 40_000;
    let lines: Vec<String> = (0..rows).map(|i| format!("{i}.5 0 {} 8 1\n", i % 1000 * 8)).collect();
    let whole = lines.concat();
    let far = lines.iter().map(|line| line.replace(" 0 0 8 1", " 0 9 8 1")).collect::<String>();
    let changes: [(&str, String); 5] = [
        ("appended", format!("{whole}{rows}.5 0 0 8 1\n")),
        ("shortened", lines[..rows / 2].concat()),
        ("reordered", lines.iter().rev().cloned().collect()),
        ("further", whole.replace(" 7992 ", " 9992 ")),
        ("the same size", far),
    ];
    for (name, changed) in changes {
        let scratch = Scratch::new();
        let path = scratch.file("t", whole.as_bytes());
        let trace = open(TraceSpec::new(&path)).unwrap();
        let mut reader = trace.requests(1000 * 4096, Beyond::Reject).unwrap();
        reader.next_request().unwrap().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        // In place, as a program does that goes on writing.
        std::fs::write(&path, changed).unwrap();
        let mut served = 1;
        let error = loop {
            match reader.next_request() {
                Ok(Some(request)) => {
                    assert!(request.offset_bytes + request.bytes <= 1000 * 4096, "{name}");
                    served += 1;
                }
                Ok(None) => panic!("{name}: read to its end, {served} requests"),
                Err(error) => break error.to_string(),
            }
        };
        assert!(error.contains("changed") || error.contains("expected"), "{name}: {error}");
    }
}

/// A format is recognised from whole lines, however the file begins, and however little the first read gives.
#[test]
fn blank_lines_come_before_a_trace() {
    let scratch = Scratch::new();
    for (name, begins) in [("one", "\n"), ("three", "\n\n\n"), ("comment", "#a\n"), ("spaces", " \n\r\n")] {
        let text = format!("{begins}{}", mqsim_text(300));
        let pieces: Vec<u8> = text.as_bytes().chunks(7).flat_map(gzip).collect();
        for (file, bytes) in [(name.to_string(), text.into_bytes()), (format!("{name}.gz"), pieces)] {
            let mut spec = TraceSpec::new(scratch.file(&file, &bytes));
            spec.format = Some(Format::Mqsim);
            assert_eq!(open(spec).unwrap().stats().requests, 300, "{file}");
        }
    }
}

/// A few bytes that ask for gigabytes to be decompressed with get none.
#[test]
fn a_window_of_gigabytes_is_refused() {
    let scratch = Scratch::new();
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(30).unwrap();
    encoder.long_distance_matching(true).unwrap();
    encoder.write_all(mqsim_text(1000).as_bytes()).unwrap();
    let error = open(TraceSpec::new(scratch.file("t", &encoder.finish().unwrap()))).unwrap_err().to_string();
    assert!(error.contains("zstd"), "{error}");
}

/// Requests from a vector.
struct Listed(std::vec::IntoIter<Request>);

impl RequestSource for Listed {
    fn next_request(&mut self) -> Result<Option<Request>> {
        Ok(self.0.next())
    }

    fn fraction_read(&self) -> f64 {
        0.0
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// What is written is what is read: both text forms, all compressions.
    #[test]
    fn written_requests_are_read_again(
        rows in proptest::collection::vec((0u64..1 << 40, 0u8..3, 0u64..1 << 32, 1u64..1 << 20), 1..200),
        gap in 0u64..1 << 30,
    ) {
        let scratch = Scratch::new();
        let mut arrival = 0;
        let requests: Vec<Request> = rows.iter().enumerate().map(|(i, &(step, kind, sector, sectors))| {
            arrival += if i == 0 { 0 } else { step % (gap + 1) };
            let kind = [Read, Store, Trim][kind as usize];
            request(arrival, kind, sector * 512, sectors * 512)
        }).collect();
        for (format, name) in [
            (Format::Csv, "a.csv"), (Format::Csv, "a.csv.gz"), (Format::Csv, "a.csv.zst"),
            (Format::Mqsim, "a.trace"), (Format::Mqsim, "a.trace.zst"), (Format::Disksim, "b.trace.gz"),
        ] {
            let mut requests = requests.clone();
            if format != Format::Csv {
                requests.iter_mut().for_each(|r| if r.kind == Trim { r.kind = Read });
            }
            let path = scratch.path(name);
            let rows = write_requests(&mut Listed(requests.clone().into_iter()), &path, format, &mut |_| true).unwrap();
            prop_assert_eq!(rows, requests.len() as u64);
            let asked = (format == Format::Mqsim).then_some(format);
            let trace = open(TraceSpec { format: asked, ..TraceSpec::new(&path) }).unwrap();
            prop_assert_eq!(trace.stats().format, format);
            if trace.stats().skipped.end_marks == 0 {
                prop_assert_eq!(collect(&mut trace.requests(u64::MAX, Beyond::Reject).unwrap()).unwrap(), requests);
            }
        }
    }

    /// No bytes make a reader panic, whatever format they are said to be in.
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), packed in 0u8..3) {
        let bytes = match packed {
            0 => bytes,
            1 => gzip(&bytes),
            _ => [&[0x28, 0xb5, 0x2f, 0xfd][..], &bytes].concat(),
        };
        try_all(&bytes);
    }

    /// Nor do lines that look almost right.
    #[test]
    fn no_text_makes_it_panic(
        header in prop_oneof![
            Just(""), Just("fio version 2 iolog\n"), Just("fio version 3 iolog\n"),
            Just("arrival_ns,device,kind,offset_bytes,bytes\n"),
        ],
        text in "([0-9]{1,20}|[0-9.]{1,9}|[,+ \t\n]|read|Write|wait|Q|8,0|[rRwWD]|-|\u{e9}){0,60}",
    ) {
        try_all(format!("{header}{text}").as_bytes());
    }
}

fn try_all(bytes: &[u8]) {
    let scratch = Scratch::new();
    let path = scratch.file("t", bytes);
    for format in std::iter::once(None).chain(Format::ALL.map(Some)).filter(|&format| format != Some(Format::Columns)) {
        for time_unit in [None, Some(TimeUnit::S)] {
            let spec = TraceSpec { format, time_unit, ..TraceSpec::new(&path) };
            match open(spec) {
                Ok(trace) => {
                    for beyond in [Beyond::Reject, Beyond::Wrap, Beyond::Scale] {
                        for capacity in [0, 1, 4095, 1 << 20, u64::MAX] {
                            if let Ok(mut reader) = trace.requests(capacity, beyond) {
                                for request in collect(&mut reader).unwrap() {
                                    assert!(request.bytes > 0 && request.offset_bytes + request.bytes <= capacity);
                                }
                            }
                        }
                    }
                    trace.convert(&scratch.path("o.csv"), Format::Csv, &mut |_| true).unwrap();
                }
                Err(error) => assert!(!error.message().is_empty()),
            }
        }
    }
}

/// A row of the README of the shared traces: file, options, requests, reads, writes, span and footprint as printed.
type Stated = (&'static str, Option<Format>, Option<u64>, u64, u64, u64, &'static str, &'static str);

/// Do the statistics of the real traces agree with the published ones, to their printed precision? Footprints are
/// distinct 4 KiB units, devices kept apart, in decimal units.
#[test]
fn real_traces_have_their_stated_statistics() {
    let shared = std::env::var_os("SOFTSENSE_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let folder = shared.join("traces");
    if !folder.is_dir() {
        // Past the test harness, which shows the output of failed tests only.
        let _ = writeln!(std::io::stderr(), "skipped: no shared traces at {}", folder.display());
        return;
    }
    const MQSIM: Option<Format> = Some(Format::Mqsim);
    const PAGES: Option<u64> = Some(4096);
    let stated: [Stated; 12] = [
        ("postmark.disksim.trace.zst", None, None, 62_257, 51_780, 10_477, "490 s", "6.28 GB"),
        ("umass_Financial1_req3-50002.4Kpages.trace.zst", None, PAGES, 50_000, 29_199, 20_801, "853 s", "128 MB"),
        ("umass_Financial1_first10000.ns.trace.zst", MQSIM, None, 10_000, 4_077, 5_923, "260 s", "30 MB"),
        ("umass_WebSearch1_first50k.4Kpages.trace.zst", None, PAGES, 50_000, 49_990, 10, "129 s", "760 MB"),
        (
            "umass_WebSearch1_first24783_mqsim_wsrch-small.ns.trace.zst",
            MQSIM,
            None,
            24_783,
            24_779,
            4,
            "60 s",
            "381 MB",
        ),
        ("mqsim_tpcc-small.trace.zst", MQSIM, None, 6_999, 4_381, 2_618, "0.14 s", "84 MB"),
        ("msr_rsrch_1.csv.zst", None, None, 13_780, 42, 13_738, "6.7 d", "118 MB"),
        ("msr_hm_0_excerpt7016.csv.zst", None, None, 7_016, 5_820, 1_196, "148 s", "55 MB"),
        ("msr_wdev_3.csv.zst", None, None, 682, 11, 671, "6.9 d", "1.3 MB"),
        ("ms_DTRS_devtools_first127043.ns.trace.zst", MQSIM, None, 127_043, 113_123, 13_920, "30000 s", "5.21 GB"),
        ("iozone_100k.disksim.trace.zst", None, None, 100_000, 0, 100_000, "936 s", "1.11 GB"),
        ("blkparse_hadoop_apress_50k_events.txt.zst", None, None, 15_524, 80, 15_444, "9.4 s", "73 MB"),
    ];
    let scratch = Scratch::new();
    for (file, format, size_unit, requests, reads, writes, span, footprint) in stated {
        let spec = TraceSpec { format, size_unit, ..TraceSpec::new(folder.join(file)) };
        let trace = open(spec).unwrap();
        let stats = trace.stats();
        assert_eq!((stats.requests, stats.reads, stats.writes), (requests, reads, writes), "{file}");
        assert_eq!(printed_like(span, &[("s", stats.span_s), ("d", stats.span_s / 86_400.0)]), span, "{file}");
        let bytes = stats.footprint_bytes as f64;
        assert_eq!(printed_like(footprint, &[("MB", bytes / 1e6), ("GB", bytes / 1e9)]), footprint, "{file}");
        assert_eq!(stats.skipped.end_marks, u64::from(file.starts_with("postmark")), "{file}");

        // Replayed, converted and read again, it is the same.
        let replayed = collect(&mut trace.requests(u64::MAX, Beyond::Reject).unwrap()).unwrap();
        assert_eq!(replayed.len() as u64, stats.replayed_requests);
        assert_eq!(replayed.last().unwrap().arrival, Ns(stats.replayed_span_ns));
        let converted = scratch.path("converted.csv.zst");
        assert_eq!(trace.convert(&converted, Format::Csv, &mut |_| true).unwrap(), stats.replayed_requests);
        let again = open(TraceSpec::new(&converted)).unwrap();
        assert_eq!(collect(&mut again.requests(u64::MAX, Beyond::Reject).unwrap()).unwrap(), replayed, "{file}");
    }
    let iozone = open(TraceSpec::new(folder.join("iozone_100k.disksim.trace.zst"))).unwrap();
    assert_eq!(format!("{:.1}", iozone.stats().bytes_written as f64 / 1e9), "36.9");
}

/// The value in the unit of `stated`, with as many decimals.
fn printed_like(stated: &str, values: &[(&str, f64)]) -> String {
    let (number, unit) = stated.split_once(' ').unwrap();
    let decimals = number.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let value = values.iter().find(|(name, _)| *name == unit).unwrap().1;
    format!("{value:.decimals$} {unit}")
}

/// How long a line takes, for `cargo test --release -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement, not a test"]
fn nanoseconds_a_line() {
    let scratch = Scratch::new();
    let mut text = String::new();
    let mut state = 1u64;
    for i in 0..1_000_000u64 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text += &format!(
            "{} 0 {} {} {}\n",
            1_000_000_000 + i * 10_321,
            (state >> 34) % (1 << 28),
            8 << (state >> 62),
            state >> 33 & 1
        );
    }
    println!("{:.1} bytes a line", text.len() as f64 / 1e6);
    for (name, bytes) in
        [("plain", text.clone().into_bytes()), ("zstd", zstd(text.as_bytes())), ("gzip", gzip(text.as_bytes()))]
    {
        let path = scratch.file(name, &bytes);
        for _ in 0..3 {
            let begin = std::time::Instant::now();
            let trace = open(TraceSpec { format: Some(Format::Mqsim), ..TraceSpec::new(&path) }).unwrap();
            let scan = begin.elapsed();
            let begin = std::time::Instant::now();
            let mut reader = trace.requests(u64::MAX, Beyond::Reject).unwrap();
            let mut sum = 0u64;
            while let Some(request) = reader.next_request().unwrap() {
                sum = sum.wrapping_add(request.offset_bytes ^ request.arrival.0);
            }
            let replay = begin.elapsed();
            println!(
                "{name}: scan {:.1} ns, replay {:.1} ns a line ({sum})",
                scan.as_nanos() as f64 / 1e6,
                replay.as_nanos() as f64 / 1e6
            );
        }
    }
}
