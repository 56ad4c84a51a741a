//! The course of a run over time, as it is written to `series.csv`.

use serde::Serialize;
use softsense_base::{Ns, Recorded};

use crate::simulation::{Interval, Simulation};

/// One interval of simulated time of a run. Numbers without data in the interval are `null`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SeriesRow {
    /// Begin of the interval, s.
    pub from_s: f64,
    /// End of the interval, s.
    pub to_s: f64,
    /// Whether the interval is measured; otherwise it is part of the warm-up.
    pub measured: bool,
    /// Completed requests, trims and flushes among them, per s.
    pub iops: f64,
    /// Completed reads per s.
    pub read_iops: f64,
    /// Completed writes per s.
    pub write_iops: f64,
    /// Bytes of completed reads, MB/s: 10^6 bytes.
    pub read_mb_per_s: f64,
    /// Bytes of completed writes, MB/s.
    pub write_mb_per_s: f64,
    /// Mean response time of completed reads, us.
    pub read_mean_us: Option<f64>,
    /// 99th percentile of the response times of completed reads, us.
    pub read_p99_us: Option<f64>,
    /// Mean response time of completed writes, us.
    pub write_mean_us: Option<f64>,
    /// 99th percentile of the response times of completed writes, us.
    pub write_p99_us: Option<f64>,
    /// Codewords programmed for each one that the host wrote to flash.
    pub write_amplification: Option<f64>,
    /// Free blocks at the end of the interval.
    pub free_blocks: u64,
    /// Blocks of the SLC cache in use at the end of the interval; `null` without a cache.
    pub slc_blocks: Option<u64>,
    /// Attempts for each codeword that the host read from flash.
    pub attempts: Option<f64>,
    /// Codewords of the host that no level decoded.
    pub uncorrectable: u64,
    /// Mean raw bit error rate of codewords at their first attempt; `null` where no rate is known.
    pub rber: Option<f64>,
}

impl SeriesRow {
    fn of(interval: &Interval, measured: bool) -> Self {
        let Interval { from, to, reads, writes, amounts, free_blocks, slc_blocks } = interval;
        let seconds = (*to - *from).as_secs();
        let mean_us = |recorded: &Recorded| recorded.mean_ns().map(|ns| 1e-3 * ns);
        let p99_us = |recorded: &Recorded| recorded.percentile(0.99).map(Ns::as_us);
        let over = |amount: f64, count: u64| (count > 0).then(|| amount / count as f64);
        Self {
            from_s: from.as_secs(),
            to_s: to.as_secs(),
            measured,
            iops: amounts.requests as f64 / seconds,
            read_iops: reads.count() as f64 / seconds,
            write_iops: writes.count() as f64 / seconds,
            read_mb_per_s: 1e-6 * amounts.read_bytes as f64 / seconds,
            write_mb_per_s: 1e-6 * amounts.written_bytes as f64 / seconds,
            read_mean_us: mean_us(reads),
            read_p99_us: p99_us(reads),
            write_mean_us: mean_us(writes),
            write_p99_us: p99_us(writes),
            write_amplification: amounts.write_amplification(),
            free_blocks: *free_blocks,
            slc_blocks: *slc_blocks,
            attempts: over((amounts.codewords_read + amounts.retries) as f64, amounts.codewords_read),
            uncorrectable: amounts.uncorrectable,
            rber: over(amounts.rber_sum, amounts.rber_codewords).filter(|&rber| rber > 0.0),
        }
    }
}

/// Returns the intervals of a run so far.
pub(crate) fn series(simulation: &Simulation) -> Vec<SeriesRow> {
    let (warmup, measured) = simulation.series();
    let rows = |intervals: &[Interval], is_measured| {
        intervals.iter().map(|interval| SeriesRow::of(interval, is_measured)).collect::<Vec<_>>()
    };
    [rows(warmup, false), rows(measured, true)].concat()
}
