//! The loads that both benchmarks have: of time, and of instructions.

use std::path::Path;

use softsense_config::checked::CheckedConfig;
use softsense_requests::trace::{Format, Trace, TraceSpec, write_requests};

/// The workload of the text traces.
pub(crate) const TEXT: &str = r#"
[workload]
read_fraction = 0.7
sizes = [{ bytes = 4096, share = 0.5 }, { bytes = 8192, share = 0.5 }]
footprint_bytes = 1_073_741_824
arrivals.poisson.requests_per_s = 50_000.0
"#;

/// Random overwrites with garbage collection, from the steady state on.
pub(crate) const OVERWRITE: &str = r#"
reliability = "perfect"
[geometry]
chips_per_channel = 2
dies_per_chip = 1
blocks_per_plane = 603              # 9.4 GiB of flash, 8 GiB for the user
[host]
issue.closed_loop.queue_depth = 64
[precondition]
layout = "steady_state"
[workload]
read_fraction = 0.0
arrivals = "immediate"
"#;

/// Writes the workload of a config as text.
pub(crate) fn write_text(config: &CheckedConfig, path: &Path) {
    let mut workload = config.workload().unwrap().source(1, config.user_bytes()).unwrap();
    write_requests(&mut workload, path, Format::Mqsim, &mut |_| true).unwrap();
}

/// A text that was written.
pub(crate) fn open_text(path: &Path) -> Trace {
    let mut spec = TraceSpec::new(path);
    spec.format = Some(Format::Mqsim);
    Trace::open(spec, &mut |_| true).unwrap()
}
