//! A trace file, of any format, plain or compressed: is it scanned, and replayed as it was scanned, or refused?
#![no_main]

use std::io::{Seek, Write};
use std::sync::Mutex;

use libfuzzer_sys::{Corpus, fuzz_target};
use softsense_requests::trace::{Beyond, Format, Trace, TraceSpec};
use softsense_requests::{MAX_REQUEST_BYTES, MAX_TRIM_BYTES, RequestKind, RequestSource};

/// One file for all inputs: its name does not matter.
static FILE: Mutex<Option<tempfile::NamedTempFile>> = Mutex::new(None);
const CAPACITY: u64 = 1 << 36;

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some((&options, content)) = data.split_first() else { return Corpus::Reject };
    let mut file = FILE.lock().unwrap();
    let file = file.get_or_insert_with(|| tempfile::Builder::new().suffix(".trace").tempfile().unwrap());
    file.as_file().set_len(0).unwrap();
    file.rewind().unwrap();
    file.write_all(content).unwrap();

    let mut spec = TraceSpec::new(file.path());
    // The text formats with a parser of their own, or, by 7, whichever the content shows; all others have a target of their own.
    spec.format = Some(usize::from(options & 7)).filter(|&format| format < 7).map(|format| Format::ALL[format]);
    spec.skip_outliers = options & 1 == 1;
    let devices = ["stack", "merge", "only=0", "only=1"][usize::from(options >> 3 & 3)];
    spec.devices = devices.parse().expect("these are good");
    let beyond = [Beyond::Reject, Beyond::Wrap, Beyond::Scale][usize::from(options >> 5) % 3];
    let Ok(trace) = Trace::open(spec, &mut |_| true) else { return Corpus::Keep };
    let Ok(mut reader) = trace.requests(CAPACITY, beyond) else { return Corpus::Keep };
    let (mut requests, mut last) = (0, None);
    while let Some(request) = reader.next_request().expect("a trace that was scanned can be replayed") {
        let has_data = request.kind != RequestKind::Flush;
        assert!(has_data == (request.bytes > 0) && last <= Some(request.arrival), "{request:?} after {last:?}");
        let most = if request.kind == RequestKind::Trim { MAX_TRIM_BYTES } else { MAX_REQUEST_BYTES };
        assert!(request.bytes <= most.min(CAPACITY) && request.offset_bytes <= CAPACITY - request.bytes, "{request:?}");
        last = Some(request.arrival);
        requests += 1;
    }
    assert_eq!(requests, trace.stats().replayed_requests, "as many requests as the scan has counted");
    Corpus::Keep
});
