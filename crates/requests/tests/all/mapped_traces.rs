//! Traces whose columns are named: by the user, or by a format of published traces; events of blkparse; outliers in time;
//! volumes; pipes.

use std::io::Write;
use std::path::PathBuf;

use proptest::prelude::*;
use softsense_base::{Ns, Result};
use softsense_requests::trace::{Beyond, Columns, Event, Format, TimeUnit, Trace, TraceSpec, TraceStats};
use softsense_requests::{Request, RequestKind, RequestSource};

use RequestKind::{Read, Trim, Write as Store};

fn file(content: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(content).unwrap();
    file
}

fn open(spec: TraceSpec) -> Result<Trace> {
    Trace::open(spec, &mut |_| true)
}

fn requests(trace: &Trace) -> Vec<Request> {
    let mut reader = trace.requests(u64::MAX, Beyond::Reject).unwrap();
    let mut requests = Vec::new();
    while let Some(request) = reader.next_request().unwrap() {
        requests.push(request);
    }
    assert_eq!(requests.len() as u64, trace.stats().replayed_requests);
    requests
}

/// Opens content with options and replays it.
fn read(content: &[u8], change: impl FnOnce(&mut TraceSpec)) -> Result<(TraceStats, Vec<Request>)> {
    let file = file(content);
    let mut spec = TraceSpec::new(file.path());
    change(&mut spec);
    let trace = open(spec)?;
    Ok((trace.stats().clone(), requests(&trace)))
}

fn mapped(text: &str, columns: &str, op: Option<&str>) -> Result<(TraceStats, Vec<Request>)> {
    let columns = Columns::new(columns, None, 0, op).unwrap();
    read(text.as_bytes(), |spec| spec.columns = Some(columns))
}

fn request(arrival_ns: u64, kind: RequestKind, offset_bytes: u64, bytes: u64) -> Request {
    Request { arrival: Ns(arrival_ns), kind, offset_bytes, bytes }
}

#[test]
fn columns_are_read_as_they_are_named() {
    let lines = ["5,28,4096,16,x", "6.5,2a,512,8,y", "7,28,512,3,z"];
    let expected = [request(0, Read, 8192, 4096), request(1500, Store, 4096, 512), request(2000, Read, 1536, 512)];
    const COLUMNS: &str = "time:us,op,bytes,lbn:512B";
    const WORDS: Option<&str> = Some("read=28,write=2A");
    for (from, to, delimiter) in
        [(",", ",", "comma"), (",", "\t", "tab"), (",", " ; ", "semicolon"), (",", "  ", "blank")]
    {
        for header in ["", "when,what,size,where,why\n"] {
            let text = format!("{header}{}\r\n", lines.join("\n")).replace(from, to);
            let (stats, requests) = mapped(&text, COLUMNS, WORDS).unwrap();
            assert_eq!(requests, expected);
            let with = if header.is_empty() { "" } else { ", with a header" };
            assert_eq!(stats.columns.unwrap(), format!("{COLUMNS}, delimiter {delimiter}{with}"));
            assert_eq!((stats.format, stats.format_recognised), (Format::Columns, false));
        }
    }
    // Columns that are found by the header, in any order, with quotes; the header comes again where files were joined.
    let text = "\"b\",\"kind\",\"at\",\"x\",\"sector\"\n4096,Read,0.5,,16\nb,kind,at,x,sector\n512,\"W\",0.75,,8\n";
    let (_, requests) = mapped(
        &text.replace("b,kind", "\"b\",\"kind\"").replace("at,x,sector\n512", "\"at\",\"x\",\"sector\"\n512"),
        "time=at,op=kind,bytes=b,lbn=sector",
        None,
    )
    .unwrap();
    assert_eq!(requests, [request(0, Read, 8192, 4096), request(250_000_000, Store, 4096, 512)]);
    // Delimiters and quotes in quotes, in columns that are asked for and others, and quotes that are no such ones.
    let text = "1,\"a,b\",R,4096,8\n2, \"a \"\"b\"\", c\" ,\"W\",512,16\n3,a\"b,\"R\",512,24\n4,\"a,R,512,32\n5,\"a\"b,R,512,40\n";
    let (_, requests) = mapped(text, "time:ns,-,op,bytes,lbn", None).unwrap();
    let at = |ns: u64| [4096, 512, 512, 512, 512][ns as usize - 1];
    let expected = (1..=5).map(|ns| request(ns - 1, if ns == 2 { Store } else { Read }, 4096 * ns, at(ns)));
    assert_eq!(requests, expected.collect::<Vec<_>>());
    // Lines that are skipped, dates, decimal whole numbers, words that are no requests, devices by name.
    let text = "made by hand\nanother line\n2020-01-31 00:00:00,sda,discard,4096.0,1\n2020-01-31T00:00:01.5,sdb,flush,0,0\n2020-01-31 00:00:02,sdb,R,1.0,2\n";
    let columns =
        Columns::new("time,device,op,offset,bytes", Some(","), 2, Some("trim=discard,read=r,skip=*")).unwrap();
    let (stats, requests) = read(text.as_bytes(), |spec| spec.columns = Some(columns)).unwrap();
    assert_eq!(requests, [request(0, Trim, 4096, 1), request(2_000_000_000, Read, (1 << 20) + 1, 2)]);
    let names: Vec<&str> = stats.devices.iter().map(|device| device.name.as_str()).collect();
    assert_eq!((names, stats.skipped.other_events), (vec!["sda", "sdb"], 1));
}

#[test]
fn bad_lines_are_explained() {
    const GOOD: &str = "5,r,4096,16\n";
    for (line, says) in [
        ("x,r,4096,16", ":2: found `x` in column 1 (time), expected a time in us such as 12 or 12.5, or a date"),
        ("5,28,4096,16", ":2: found `28` in column 2 (op), expected a word such as read, W or trim; --op read=WORD"),
        ("5,r,40 96,16", ":2: found `40 96` in column 3 (bytes), expected a whole number of bytes"),
        ("5,r,4096.5,16", ":2: found `4096.5` in column 3 (bytes)"),
        ("5,r,4096,-1", ":2: found `-1` in column 4 (lbn), expected a whole number of 512-byte sectors"),
        ("5,r,4096", ":2: found 3 columns, expected at least 4 (time, op, bytes, lbn)"),
        ("5\tr\t4096\t16", ":2: found `5\\tr\\t4096\\t16` in column 1 (time)"),
        ("5,r,9999999999,16", ":2: found a request of 9999999999 bytes, expected at most 1 GiB"),
    ] {
        let error = mapped(&format!("{GOOD}{line}\n"), "time:us,op,bytes,lbn", None).unwrap_err().to_string();
        assert!(error.contains(says), "{line}: {error}");
    }
    let error = mapped("5,28,4096,16\n6,2b,1,1\n", "time,op,bytes,lbn", Some("read=28")).unwrap_err().to_string();
    assert!(error.contains(":2: found `2b` in column 2 (op), expected one of the words of --op read=28"), "{error}");
    let error = mapped("at,op\n", "time=when,op=op,bytes=size,lbn=at", None).unwrap_err().to_string();
    assert!(error.contains(":1: found `at,op`, expected a header with `when`, `size`"), "{error}");
    let error = read(b"5,r,4096,16\n", |spec| {
        spec.columns = Some(Columns::new("time,op,bytes,lbn", None, 0, None).unwrap());
        spec.format = Some(Format::Msr);
    });
    assert!(error.unwrap_err().to_string().contains("--columns: found together with --format msr"));
}

#[test]
fn options_of_columns_go_together() {
    let asked = |format, columns, op| Columns::asked(format, columns, None, 0, op);
    assert_eq!(asked(Some("msr"), None, None).unwrap(), (Some(Format::Msr), None));
    let (format, columns) = asked(Some("cloudphysics"), None, Some("read=40,write=42")).unwrap();
    assert_eq!(format, Some(Format::CloudPhysics));
    assert!(columns.unwrap().to_toml().contains("read=40,write=42"));
    for (format, columns, op, says) in [
        (Some("msr"), Some("time,op,bytes,lbn"), None, "--columns: found together with --format msr"),
        (Some("msr"), None, Some("read=1"), "--op: found without --columns"),
        (None, None, Some("read=1"), "--op: found without --columns"),
        (Some("mrs"), None, None, "--format: found `mrs`, expected msr, spc"),
    ] {
        let error = asked(format, columns, op).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    let mut file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    file.write_all(b"columns = \"time:ms,op,bytes,lbn\"\nop = \"read=0,write=1\"\n").unwrap();
    let (format, columns) = asked(file.path().to_str(), None, None).unwrap();
    let text = b"1 0 4096 8\n2 1 512 1\n";
    let (_, requests) = read(text, |spec| (spec.format, spec.columns) = (format, columns)).unwrap();
    assert_eq!(requests, [request(0, Read, 4096, 4096), request(1_000_000, Store, 512, 512)]);
}

/// Lines as each format's own description has them: what are the requests, and is the format recognised where it can be?
#[test]
fn published_formats_are_read() {
    const MIB: u64 = 1 << 20;
    type Case = (Format, bool, &'static str, Vec<Request>);
    let cases: Vec<Case> = vec![
        (
            Format::CloudPhysics,
            true,
            "version,time,op,size,lbn\n1,5633898368802,28,512,42932745\n1,5633898611441,2A,6656,40409911\n1,5633898611442,0,0,0\n",
            vec![request(0, Read, 42_932_745 * 512, 512), request(242_639_000, Store, 40_409_911 * 512, 6656)],
        ),
        (
            Format::Alibaba2020,
            true,
            "0,R,126703644672,4096,1577808000000012\n419,W,8792731648,16384,1577808000000042\n",
            vec![
                request(0, Read, 126_703_644_672, 4096),
                request(30_000, Store, 126_703_648_768u64.div_ceil(MIB) * MIB + 8_792_731_648, 16_384),
            ],
        ),
        (
            Format::TencentCbs,
            false,
            "1538323199,42932736,8,0,1576\n1538323200,40960,32,1,1576\n",
            vec![request(0, Read, 42_932_736 * 512, 4096), request(1_000_000_000, Store, 40_960 * 512, 16_384)],
        ),
        (
            Format::Systor17,
            true,
            "Timestamp,Response,IOType,LUN,Offset,Size\n1456095145.133076000,0.000806000,R,0,899056122368,131072\n\
             1456095145.133077000,,,0,4096,512\n1456095145.233076000,0.001,W,0,512,4096\n",
            vec![request(0, Read, 899_056_122_368, 131_072), request(100_000_000, Store, 512, 4096)],
        ),
        (
            Format::Systor17,
            true,
            "1456095145.133076000,0.000806000,W,3,899056122368,131072\n",
            vec![request(0, Store, 899_056_122_368, 131_072)],
        ),
        (
            Format::Thesios,
            true,
            "filename,file_offset,application,c_time,io_zone,redundancy_type,op_type,service_class,from_flash_cache,\
             cache_hit,request_io_size_bytes,disk_io_size_bytes,response_io_size_bytes,start_time,disk_time\n\
             a1,3145728,spanner,1,WARM,REPLICATED,READ,OTHER,0,0,8192,8192,8192,1705305600.5,0.01\n\
             b2,0,spanner,1,WARM,REPLICATED,WRITE,OTHER,0,-1,4096,0,4096,1705305601.5,0\n\
             a1,3149824,spanner,1,WARM,REPLICATED,READ,OTHER,0,1,4096,0,4096,1705305602,0\n",
            vec![
                request(0, Read, 0, 8192),
                request(1_000_000_000, Store, MIB, 4096),
                request(1_500_000_000, Read, 4096, 4096),
            ],
        ),
        (
            Format::Tectonic,
            false,
            "310 262144 4325376 1572074461.57806 1 24 3 5\n2 0 4096 1572074462.57806 4 24 3 5\n2 0 4096 1572074462.6 100 1 1 1\n",
            vec![request(0, Read, 310 * 8 * MIB + 262_144, 4_325_376), request(1_000_000_000, Store, 16 * MIB, 4096)],
        ),
        (
            Format::DiskMon,
            true,
            "0\t0.011429\t0.00000572\t0\tWrite\t1342255\t8\n1\t0.511429\t0.0\t0\tRead\t42\t16\n",
            vec![request(0, Store, 1_342_255 * 512, 4096), request(500_000_000, Read, 42 * 512, 8192)],
        ),
        (
            Format::DiskMon,
            true,
            "0\t1:59:59 PM\t0\t0\tWrite\t16\t8\n1\t2:00:00.5 PM\t0\t0\tRead\t8\t8\n",
            vec![request(0, Store, 8192, 4096), request(1_500_000_000, Read, 4096, 4096)],
        ),
        (
            Format::Fiu,
            true,
            "89968195792462 20782 gzip 283193184 8 R 6 0 56f11b711d91a065a2b6458eca924523\n\
             89968195793462 20782 gzip 8 16 W 6 0 56f11b711d91a065a2b6458eca924523\n",
            vec![request(0, Read, 283_193_184 * 512, 4096), request(1000, Store, 4096, 8192)],
        ),
    ];
    for (format, recognised, text, expected) in cases {
        let (stats, requests) = read(text.as_bytes(), |spec| spec.format = Some(format)).unwrap();
        assert_eq!((stats.format, &requests), (format, &expected));
        let unasked = read(text.as_bytes(), |_| {});
        if recognised {
            let (stats, requests) = unasked.unwrap();
            assert_eq!((stats.format, stats.format_recognised, requests), (format, true, expected));
        } else {
            assert!(unasked.is_err(), "{format} cannot be told from its content");
        }
    }
    let fiu = b"89968195792462 20782 gzip 283193184 8 R 6 1 56f1\n";
    assert_eq!(read(fiu, |spec| spec.format = Some(Format::Fiu)).unwrap().0.devices[0].device, 6 << 20 | 1);
}

/// Records of 24 bytes, also compressed: objects lie one behind the other, and what they are asked for again lies where it was.
#[test]
fn oracle_general_is_read() {
    let mut bytes = Vec::new();
    for (time, object, size) in [(100u32, 7u64, 512u32), (100, 9, 5000), (102, 7, 512), (103, 8, 0), (104, 1, 1)] {
        bytes.extend(time.to_le_bytes());
        bytes.extend(object.to_le_bytes());
        bytes.extend(size.to_le_bytes());
        bytes.extend((-1i64).to_le_bytes());
    }
    let expected = [
        request(0, Read, 0, 512),
        request(0, Read, 4096, 5000),
        request(2_000_000_000, Read, 0, 512),
        request(4_000_000_000, Read, 12_288, 1),
    ];
    for content in [bytes.clone(), zstd::encode_all(&bytes[..], 1).unwrap()] {
        let (stats, requests) = read(&content, |spec| spec.format = Some(Format::OracleGeneral)).unwrap();
        assert_eq!((requests.as_slice(), stats.skipped.zero_size), (&expected[..], 1));
    }
    let error = read(&bytes[..50], |spec| spec.format = Some(Format::OracleGeneral)).unwrap_err().to_string();
    assert!(
        error.contains("found 2 bytes after the last record, expected a file of whole records of 24 bytes"),
        "{error}"
    );
    let error = read(&bytes, |_| {}).unwrap_err().to_string();
    assert!(error.contains("binary file") && error.contains("--format oracle-general"), "{error}");
    // More than one block.
    let many: Vec<u8> =
        (0..30_000u64).flat_map(|i| [&[9; 4][..], &i.to_le_bytes(), &[0, 16, 0, 0], &[0; 8]].concat()).collect();
    let (stats, requests) = read(&many, |spec| spec.format = Some(Format::OracleGeneral)).unwrap();
    assert_eq!((stats.requests, requests[29_999].offset_bytes), (30_000, 29_999 * 4096));
}

/// A record of vscsi: opcode, size in bytes, block of 512 B, time in us.
type Command = (u16, u32, u64, u64);

fn vscsi(version: u8, commands: &[Command]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (i, &(command, size, block, time)) in commands.iter().enumerate() {
        // Serial numbers of real traces have their upper bit set, too.
        let (serial, elements) = ((i as u32 ^ 0x8000_0000).to_le_bytes(), [1u8, 0, 0, 0]);
        let [low, high] = command.to_le_bytes();
        let command = [low, high, 0, version];
        let (size, block, time) = (size.to_le_bytes(), block.to_le_bytes(), time.to_le_bytes());
        if version == 2 {
            bytes.extend([&command[..], &serial, &size, &elements, &block, &time, &300u64.to_le_bytes()].concat());
        } else {
            bytes.extend([&serial[..], &size, &elements, &command, &block, &time].concat());
        }
    }
    bytes
}

fn as_vscsi(spec: &mut TraceSpec) {
    spec.format = Some(Format::Vscsi);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Is a load the same one in both versions of vscsi, as CSV of CloudPhysics, and in softsense's own, plain and compressed?
    #[test]
    fn vscsi_holds_the_requests_that_text_holds(
        drawn in prop::collection::vec(
            (prop::sample::select(vec![0x28u16, 0x2a, 0x88, 0x8a, 0xa8, 0xaa, 0x08, 0x0a, 0x2e, 0x42, 0x35, 0x91, 0x12, 0x4d]),
             0u32..1 << 20, 0u64..1 << 40, 0u64..900),
            2..300,
        ),
        start in 0u64..1 << 50,
    ) {
        // Steps forwards, and now and then backwards.
        let mut clock = start + 1_000_000;
        let commands: Vec<Command> = drawn.into_iter().map(|(command, size, block, gap)| {
            clock = clock + gap - if gap % 16 == 3 { 700 } else { 0 };
            (command, size, block, clock)
        }).collect();
        prop_assume!(commands.iter().any(|&(command, size, ..)| size > 0 && !matches!(command, 0x12 | 0x4d)));
        let mut cloudphysics = "version,time,op,size,lbn\n".to_owned();
        let mut own = "arrival_ns,device,kind,offset_bytes,bytes\n".to_owned();
        for &(command, size, block, time) in &commands {
            cloudphysics += &format!("1,{time},{command:02x},{size},{block}\n");
            let kind = match command {
                0x28 | 0x88 | 0xa8 | 0x08 => "read",
                0x42 => "trim",
                0x35 | 0x91 => "flush",
                0x12 | 0x4d => continue,
                _ => "write",
            };
            own += &format!("{},0,{kind},{},{size}\n", time * 1000, block * 512);
        }
        // Units that are said are not judged: a few requests have any rate.
        let read = |content: &[u8], format: Option<Format>| read(content, |spec| {
            (spec.format, spec.time_unit, spec.size_unit) = (format, Some(TimeUnit::Us), Some(1));
            if format == Some(Format::Csv) {
                spec.time_unit = None;
            }
        }).unwrap();
        let expected = read(own.as_bytes(), Some(Format::Csv)).1;
        prop_assert_eq!(&read(cloudphysics.as_bytes(), None).1, &expected);
        for version in [1, 2] {
            let content = vscsi(version, &commands);
            let (stats, requests) = read(&content, None);
            prop_assert_eq!((stats.format, stats.format_recognised, &requests), (Format::Vscsi, true, &expected));
            let events = commands.iter().filter(|&&(command, ..)| matches!(command, 0x12 | 0x4d)).count();
            prop_assert_eq!(stats.skipped.other_events, events as u64);
            prop_assert_eq!(&read(&content, Some(Format::Vscsi)).1, &expected);
            let (stats, requests) = read(&zstd::encode_all(&content[..], 1).unwrap(), None);
            prop_assert_eq!((stats.compression.as_str(), &requests), ("zstd", &expected));
        }
    }
}

/// Files of more than one block, of one record, and cut off at every byte: is what is whole read, and all else refused in words?
#[test]
fn vscsi_is_read_to_its_last_record_or_refused() {
    for (version, record) in [(1u8, 32), (2, 40)] {
        let many: Vec<Command> = (0..20_000u64).map(|i| (0x28, 4096, 8 * i, 1000 * i)).collect();
        let (stats, requests) = read(&vscsi(version, &many), |_| {}).unwrap();
        assert_eq!((stats.requests, requests[19_999].offset_bytes), (20_000, 19_999 * 4096));

        let content = vscsi(version, &many[..3]);
        for cut in 0..content.len() {
            let found = read(&content[..cut], as_vscsi);
            if cut > 0 && cut % record == 0 {
                assert_eq!(found.unwrap().1.len(), cut / record, "{cut} bytes");
            } else {
                let error = found.unwrap_err().to_string();
                let expected = match cut {
                    0 => "found an empty file".to_owned(),
                    // Less than what tells the version.
                    _ if cut < if version == 1 { 16 } else { 4 } => {
                        "found a file that begins with the bytes ".to_owned()
                    }
                    _ => format!(
                        "found {} bytes after the last record, expected a file of whole records of {record} bytes",
                        cut % record
                    ),
                };
                assert!(error.contains(&expected), "{cut} bytes: {error}");
            }
            // One record could be anything, and a few bytes are text: whoever has not said what it is learns what it could be.
            match read(&content[..cut], |_| {}) {
                Ok((stats, _)) => assert_eq!((stats.format, cut % record), (Format::Vscsi, 0)),
                Err(error) => assert!(
                    ["found an empty file", "--format vscsi", "after the last record", "found `"]
                        .iter()
                        .any(|way| error.to_string().contains(way)),
                    "{cut} bytes: {error}"
                ),
            }
        }
        let packed = zstd::encode_all(&vscsi(version, &many)[..], 1).unwrap();
        let error = read(&packed[..packed.len() / 2], |_| {}).unwrap_err().to_string();
        assert!(error.contains("found a truncated zstd file, which ends after record "), "{error}");
    }
}

/// Logs of biosnoop: a flush has no address (-1), the name of a process may have blanks, and that of a disk be missing.
#[test]
fn requests_without_data_need_no_address() {
    const COLUMNS: &str = "time:s,-,-,device,op,lbn,bytes";
    let header = "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n";
    let good = "0.1 dd 2 sda W 8 4096 1.0\n";
    for sector in ["-1", "18446744073709551615", "0"] {
        let text = format!("{header}{good}0.2 jbd2 3 sda W {sector} 0 2.0\n0.3 jbd2 3 sda F {sector} 0 2.0\n");
        let (stats, requests) = mapped(&text, COLUMNS, Some("read=R,write=W,flush=F")).unwrap();
        assert_eq!((requests.len(), stats.writes, stats.flushes, stats.skipped.zero_size), (2, 1, 1, 1), "{sector}");
        let error = mapped(&text.replace(" 0 2.0", " 512 2.0"), COLUMNS, Some("read=R,write=W,flush=F"));
        if sector == "0" {
            assert!(error.is_ok());
        } else {
            let error = error.unwrap_err().to_string();
            assert!(error.contains(&format!(":3: found `{sector}` in column 6 (lbn)")), "{error}");
        }
    }
    // With commas a column may be empty: that of a flush, and no other.
    let (stats, _) = mapped("1,R,8,512\n2,F,,\n", "time:ns,op,lbn,bytes", Some("read=R,flush=F")).unwrap();
    assert_eq!((stats.reads, stats.flushes), (1, 1));
    for (line, found) in [
        ("2,R,,512", "column 3 (lbn)"),
        ("2,R,8,", "column 4 (bytes)"),
        ("2,R,x,0", "`x` in column 3"),
        ("2,F,x,", "`x` in column 3"),
    ] {
        let error = mapped(&format!("1,R,8,512\n{line}\n"), "time:ns,op,lbn,bytes", Some("read=R,flush=F"))
            .unwrap_err()
            .to_string();
        assert!(error.contains(found) && !error.contains("moves"), "{error}");
    }
    for (line, columns) in [("0.2 Web Content 7 sda R 8 512 1.0", 9), ("0.2 ? 0 R 0 8 2.0", 7)] {
        let error = mapped(&format!("{header}{good}{line}\n"), COLUMNS, None).unwrap_err().to_string();
        let says = format!(
            "; this line has {columns} columns and the header has 8: an empty value, or a value with blanks in it, \
             shifts the columns after it (--delimiter)"
        );
        assert!(error.ends_with(&says), "{error}");
    }
}

/// Decimal commands under CloudPhysics' header: 42 is a write there, and a trim in hexadecimal.
#[test]
fn commands_in_decimal_are_not_taken_for_trims() {
    let table = |read: &str, write: &str| {
        let mut text = "version,time,op,size,lbn\n".to_owned();
        for i in 0..200 {
            text += &format!("1,{},{},4096,{}\n", 20_000 * i, if i % 3 == 0 { read } else { write }, 8 * i);
        }
        text
    };
    let with = |text: &str, op: &str| {
        let (format, columns) = Columns::asked(Some("cloudphysics"), None, None, 0, Some(op)).unwrap();
        read(text.as_bytes(), |spec| (spec.format, spec.columns) = (format, columns))
    };
    let decimal = table("40", "42");
    for asked in [None, Some(Format::CloudPhysics)] {
        let error = read(decimal.as_bytes(), |spec| spec.format = asked).unwrap_err().to_string();
        assert!(error.contains("found 133 trims, 67 commands that are skipped, and no read or write"), "{error}");
        assert!(error.contains("--op read=40/136,write=42/138,skip=*"), "{error}");
    }
    let (stats, requests) = with(&decimal, "read=40/136,write=42/138,skip=*").unwrap();
    assert_eq!((stats.reads, stats.writes), (67, 133));
    assert_eq!(requests, read(table("28", "2a").as_bytes(), |_| {}).unwrap().1);
    // Whoever says that they are trims has them.
    assert_eq!(with(&decimal, "trim=42,flush=35/91,skip=*").unwrap().0.trims, 133);
    for (text, way) in [
        (table("READ", "WRITE"), "--format cloudphysics --op read=R,write=W"),
        (table("40", "40"), "--format cloudphysics --op"),
    ] {
        let error = read(text.as_bytes(), |_| {}).unwrap_err().to_string();
        assert!(error.contains("found only events that are not requests (200)") && error.contains(way), "{error}");
    }
    let columns = Columns::new("time:us,op,bytes,lbn", None, 0, Some("read=r,skip=*")).unwrap();
    let error = read(b"1,x,512,0\n", |spec| spec.columns = Some(columns)).unwrap_err().to_string();
    assert!(error.ends_with("; --op says which words are requests, such as read=R,write=W"), "{error}");
}

#[test]
fn bad_records_of_vscsi_are_named() {
    let good: Vec<Command> = (0..200u64).map(|i| (0x2a, 4096, 8 * i, 1_000_000_000_000 + 1000 * i)).collect();
    // Twelve days after its host was started: no date, though it would be one in ms.
    assert!(read(&vscsi(1, &good), |_| {}).unwrap().0.unit_doubts.is_empty());
    for version in [1u8, 2] {
        let (record, at) = if version == 1 { (32, 12) } else { (40, 0) };
        let place = format!(": record 101 (byte {}): ", 100 * record);
        let with = |change: &dyn Fn(&mut [u8])| {
            let mut content = vscsi(version, &good);
            change(&mut content[100 * record..101 * record]);
            read(&content, |_| {}).unwrap_err().to_string()
        };
        for (error, found) in [
            (with(&|bytes| bytes[at + 3] = 7), "found a record of version 0x0700, expected "),
            (with(&|bytes| bytes[at + 1] = 1), "found command 0x012a, expected a SCSI opcode of one byte"),
            (
                with(&|bytes| bytes[16..24].fill(0xff)),
                "found block 18446744073709551615, expected an address below 1 EiB",
            ),
            (
                with(&|bytes| bytes[16..24].copy_from_slice(&(1u64 << 51).to_le_bytes())),
                "expected an address below 1 EiB",
            ),
            (
                with(&|bytes| bytes[24..32].fill(0xff)),
                "found the time 18446744073709551615, expected a time in us below 584",
            ),
            (
                with(&|bytes| bytes[if version == 1 { 4 } else { 8 }..][..4].fill(0xff)),
                "found a request of 4294967295 bytes",
            ),
        ] {
            assert!(error.contains(&place) && error.contains(found), "{error}");
        }
    }
    let text = b"0.5 0 8 8 1\n1.5 0 8 8 1\n2.5 0 8 8 1\n";
    let error = read(text, as_vscsi).unwrap_err().to_string();
    assert!(
        error.contains("begins with the bytes 30 2e 35 20 ") && error.contains("expected a record of vscsi"),
        "{error}"
    );
}

#[test]
fn one_event_of_blkparse_is_a_request() {
    let line = |time: &str, event: char, sector: u64| format!("8,0 3 2 {time} 697 {event} W {sector} + 8 [x]\n");
    let text = format!(
        "{}{}8,0 3 2 0.3 697 M W 24 + 8 [x]\n{}{}8,0 3 2 0.5 0 C WS 0 [0]\n",
        line("0.1", 'I', 8),
        line("0.2", 'D', 8),
        line("0.3", 'C', 8),
        line("0.4", 'D', 16)
    );
    for (event, found, count) in
        [(None, "I", 1), (Some(Event::D), "D", 2), (Some(Event::C), "C", 1), (Some(Event::I), "I", 1)]
    {
        let (stats, requests) = read(text.as_bytes(), |spec| spec.event = event).unwrap();
        assert_eq!((stats.event.as_deref(), requests.len()), (Some(found), count));
        assert!(stats.describe().iter().any(|(_, value)| value == &format!("blkparse (recognised), {found} events")));
    }
    let (stats, _) = read((text.clone() + &line("0.5", 'Q', 8)).as_bytes(), |_| {}).unwrap();
    assert_eq!(stats.event.as_deref(), Some("Q"));
    let error = read(text.as_bytes(), |spec| spec.event = Some(Event::Q)).unwrap_err().to_string();
    assert!(error.contains("found only events that are not requests (6)"), "{error}");
    let error = read(b"0.5 0 8 8 1\n", |spec| spec.event = Some(Event::Q)).unwrap_err().to_string();
    assert!(error.contains("--event: found for a trace of format disksim, expected one of format blkparse"), "{error}");
}

/// One bad time stretches a second to forty years: it is named, and left out on demand, by scan and replay alike.
#[test]
fn outliers_in_time_are_named_and_skipped() {
    let line = |second: f64, sector: u64| format!("0,{sector},512,r,{second:.6}\n");
    let mut text: String = (0..500).map(|i| line(1_266_796_800.0 + f64::from(i) / 500.0, 8 * i as u64)).collect();
    let whole = read(text.as_bytes(), |_| {}).unwrap();
    assert_eq!((whole.0.outlier_lines.len(), whole.0.span_without_outliers_s), (0, None));
    text.insert_str(text.find("0,800,").unwrap(), &line(0.0, 7));
    let (stats, requests) = read(text.as_bytes(), |_| {}).unwrap();
    assert_eq!((stats.outlier_lines.as_slice(), requests.len()), (&[101][..], 501));
    let (label, warning) = &stats.describe()[1];
    assert_eq!(label, "warning");
    assert!(
        warning.starts_with("line 101 is far from all other lines in time: the trace spans 998.0 ms without it"),
        "{warning}"
    );
    assert!(warning.contains("and 14662.0 d with it; --skip-outliers"), "{warning}");
    let (stats, requests) = read(text.as_bytes(), |spec| spec.skip_outliers = true).unwrap();
    assert_eq!((stats.skipped.outliers, stats.outlier_lines.len()), (1, 0));
    assert_eq!((requests, stats.span_s), (whole.1, whole.0.span_s));
}

#[test]
fn volumes_are_picked_mapped_and_sampled() {
    let text = "0.5 7 0 8 1\n1.5 2 16 8 0\n2.5 7 8 8 1\n3.5 9 0 8 1\n";
    let offsets = |devices: &str| {
        let devices = devices.parse().unwrap();
        read(text.as_bytes(), |spec| spec.devices = devices).map(|(stats, requests)| {
            (requests.iter().map(|request| request.offset_bytes).collect::<Vec<u64>>(), stats.extent_bytes)
        })
    };
    assert_eq!(offsets("only=7,9").unwrap(), (vec![0, 4096, 1 << 20], (1 << 20) + 4096));
    assert_eq!(offsets("map=9@1MiB,7@0").unwrap(), (vec![0, 4096, 1 << 20], (1 << 20) + 4096));
    assert_eq!(
        offsets("map=7@8192,2@0").unwrap_err().to_string().split_once(": ").unwrap().1,
        "--devices map: found device 7 at byte 8192, where the devices before it end at byte 12288, expected devices that do not overlap"
    );
    assert_eq!(offsets("map=7@12KiB,2@0").unwrap().0, [12_288, 8192, 16_384]);
    let error = offsets("only=5,6").unwrap_err().to_string();
    assert!(
        error.contains("found no request of device 5,6, expected one of the devices of the trace: 2, 7, 9"),
        "{error}"
    );
    assert_eq!(offsets("sample=1").unwrap(), offsets("stack").unwrap());
    // Names of devices.
    let msr = "10,web,2,Read,0,4096,1\n20,web,3,Read,4096,4096,1\n";
    let devices = "only=web_3".parse().unwrap();
    assert_eq!(read(msr.as_bytes(), |spec| spec.devices = devices).unwrap().1, [request(0, Read, 4096, 4096)]);
}

/// A pipe is read once, and its trace replayed as often as wanted.
#[test]
fn pipes_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let pipe: PathBuf = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let text: String = (0..50_000).map(|i| format!("{}.5 0 {} 8 1\n", i, i * 8)).collect();
    for content in [text.clone().into_bytes(), zstd::encode_all(text.as_bytes(), 1).unwrap()] {
        let to = pipe.clone();
        let writer = std::thread::spawn(move || std::fs::write(to, content).unwrap());
        let trace = open(TraceSpec::new(&pipe)).unwrap();
        writer.join().unwrap();
        assert_eq!(trace.stats().requests, 50_000);
        let mut together =
            [trace.requests(u64::MAX, Beyond::Reject).unwrap(), trace.requests(u64::MAX, Beyond::Reject).unwrap()];
        let mut count = 0;
        while let Some(first) = together[0].next_request().unwrap() {
            assert_eq!(together[1].next_request().unwrap(), Some(first));
            count += 1;
        }
        assert_eq!(count, 50_000);
    }
    let to = pipe.clone();
    let writer = std::thread::spawn(move || std::fs::write(to, "0.5 0 8 8 1\n"));
    let error = Trace::open(TraceSpec::new(&pipe), &mut |_| false).unwrap_err().to_string();
    assert!(error.ends_with("pipe: interrupted"), "{error}");
    let _ = writer.join().unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

proptest! {
    /// Whatever columns are named and whatever lines there are: a trace that is scanned is replayed, and nothing panics.
    #[test]
    fn no_columns_and_no_text_make_it_panic(
        columns in "((time|op|offset|lbn|block|bytes|device|major|minor|object|-)(:(us|512B|8MiB|0))?(=[ab])?,?){1,6}",
        good in proptest::sample::select(vec![
            "time,op,bytes,lbn", "time:us,op,bytes:4KiB,block:8MiB,offset,device", "object,time,bytes,op",
            "op=a,time=b,bytes=c,offset=d", "time,op,bytes,offset,major,minor,-",
        ]),
        delimiter in proptest::option::of("[,; \t|a]|tab|blank"),
        op in proptest::option::of("(read|write|skip)=([01rw*]/?){1,3}(,write=[1w])?"),
        skip in 0u32..3,
        text in "([a-d],[a-d],[a-d],[a-d]\n)?(([0-9]{1,21}|[0-9.:-]{1,9}|r|W|trim|\"|\u{e9})?[,;\t \n]){0,60}",
    ) {
        for columns in [columns.trim_end_matches(','), good] {
            let Ok(columns) = Columns::new(columns, delimiter.as_deref(), skip, op.as_deref()) else { continue };
            prop_assert_eq!(&Columns::from_toml(&columns.to_toml(), "t").unwrap(), &columns);
            match read(text.as_bytes(), |spec| spec.columns = Some(columns)) {
                Ok((stats, requests)) => prop_assert_eq!(stats.replayed_requests, requests.len() as u64),
                Err(error) => prop_assert!(!error.message().is_empty()),
            }
        }
    }
}
