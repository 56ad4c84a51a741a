//! A mapping of columns and a text: is the mapping refused, or is the text then read line by line or refused, and replayed as it
//! was scanned? The first line is
//! `FORMAT~COLUMNS~DELIMITER~SKIP~OP~DEVICES`, each as the command line has it or empty; the rest is the trace.
#![no_main]

use std::io::{Seek, Write};
use std::sync::Mutex;

use libfuzzer_sys::{Corpus, fuzz_target};
use softsense_requests::trace::{Beyond, Columns, Event, Format, Trace, TraceSpec};
use softsense_requests::{RequestKind, RequestSource};

/// One file for all inputs: its name does not matter.
static FILE: Mutex<Option<tempfile::NamedTempFile>> = Mutex::new(None);
/// What separates the parts of the first line, which may hold blanks.
const SEPARATOR: char = '~';

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some(end) = data.iter().position(|&byte| byte == b'\n') else { return Corpus::Reject };
    let (Ok(options), content) = (std::str::from_utf8(&data[..end]), &data[end + 1..]) else { return Corpus::Reject };
    let mut options = options.split(SEPARATOR).map(|text| (!text.is_empty()).then_some(text));
    let mut option = || options.next().flatten();
    let (format, columns, delimiter, skip, op) = (option(), option(), option(), option(), option());
    // A file of columns could be any file.
    if format.is_some_and(|format| format.ends_with(".toml")) {
        return Corpus::Reject;
    }
    let skip = skip.and_then(|skip| skip.parse().ok()).unwrap_or(0);
    let Ok((format, columns)) = Columns::asked(format, columns, delimiter, skip, op) else { return Corpus::Keep };
    if let Some(columns) = &columns {
        assert_eq!(&Columns::from_toml(&columns.to_toml(), "kept").expect("what is written is read"), columns);
    }

    let mut file = FILE.lock().unwrap();
    let file = file.get_or_insert_with(|| tempfile::Builder::new().suffix(".trace").tempfile().unwrap());
    file.as_file().set_len(0).unwrap();
    file.rewind().unwrap();
    file.write_all(content).unwrap();
    let mut spec = TraceSpec { format, columns, ..TraceSpec::new(file.path()) };
    spec.event = (format == Some(Format::Blkparse)).then_some(Event::D);
    spec.skip_outliers = content.len() % 2 == 1;
    if let Some(devices) = option().and_then(|devices| devices.parse().ok()) {
        spec.devices = devices;
    }
    let Ok(trace) = Trace::open(spec, &mut |_| true) else { return Corpus::Keep };
    assert!(!trace.stats().describe().is_empty());
    let Ok(mut reader) = trace.requests(u64::MAX, Beyond::Reject) else { return Corpus::Keep };
    let mut requests = 0;
    while let Some(request) = reader.next_request().expect("a trace that was scanned can be replayed") {
        let has_data = request.kind != RequestKind::Flush;
        assert!(
            has_data == (request.bytes > 0) && request.offset_bytes + request.bytes <= trace.stats().extent_bytes,
            "{request:?}"
        );
        requests += 1;
    }
    assert_eq!(requests, trace.stats().replayed_requests, "as many requests as the scan has counted");
    Corpus::Keep
});
