//! Plausibility of units: units that no option gives are judged by the trace that they result in.

use softsense_base::{Error, Ns, Result, format_bytes, format_count, format_duration};

use super::formats::{Reading, Row};
use super::options::{Format, TimeUnit};
use crate::RequestKind;

/// Rate that no host reaches, requests per second: 64 cores of today with the fastest drives are below it.
const ABSURD_RATE: f64 = 5e6;
/// Usual rates of traces, requests per second.
const USUAL_RATES: std::ops::Range<f64> = 1.0..1e5;
/// Highest plausible rate of CloudPhysics' traces, requests per second. These traces exist in microseconds and in seconds, under the same
/// header.
const MOST_OF_CLOUDPHYSICS: f64 = 1e4;
/// Fewest rows from which units are judged.
const LEAST_ROWS: u64 = 100;
/// Least share of sequential requests that suggests a unit of sizes, and the factor by which it must exceed the share in the present unit.
const SEQUENTIAL_SHARE: f64 = 0.05;
const MUCH_LIKELIER: f64 = 10.0;
/// Units of sizes that are in use, bytes.
const SIZE_UNITS: [u64; 3] = [1, 512, 4096];
/// Limits of the mean size of requests, bytes: the least possible size, a sector; and the sizes below and above which the unit is doubted.
const LEAST_BYTES: f64 = 512.0;
const FEW_BYTES: f64 = 1024.0;
const MANY_BYTES: f64 = 1_048_576.0;

/// The range of recording times, from 1990 to 2100, in seconds since 1970; and the seconds from 1601, where Windows begins to count, to
/// 1970.
const DATES_S: std::ops::Range<f64> = 631_152_000.0..4_102_444_800.0;
const FROM_1601_S: f64 = 11_644_473_600.0;
const YEAR_S: f64 = 31_556_952.0;
/// Rates of traces, requests per second, at which the date may decide the unit.
const DATED_RATES: std::ops::Range<f64> = 1e-3..1e6;

/// Evidence of the units of a trace, counted while it is scanned.
#[derive(Default)]
pub(super) struct Evidence {
    /// Begin and size of the last request of each device.
    last: Vec<Option<(u64, u64)>>,
    /// Requests that follow another one, and the number of those that begin where the other ends, by each of [`SIZE_UNITS`].
    following: u64,
    sequential: [u64; 3],
    /// All bits that are set in any address or size.
    bits: u64,
}

/// Results of a scan by which units are judged.
pub(super) struct Found {
    pub(super) path: String,
    pub(super) rows: u64,
    pub(super) first_ns: u64,
    pub(super) span_ns: u64,
    /// Mean size of reads and writes, bytes; `None` without any.
    pub(super) mean_bytes: Option<f64>,
    /// Whether some times are far from all others, which is reported elsewhere; then the unit of time is not judged.
    pub(super) has_outliers: bool,
}

impl Evidence {
    #[inline(always)]
    pub(super) fn add(&mut self, row: &Row, size_unit: u64) {
        if matches!(row.kind, RequestKind::Flush | RequestKind::Trim) {
            return;
        }
        self.bits |= row.offset | row.bytes;
        let slot = row.slot as usize;
        if slot >= self.last.len() {
            self.last.resize(slot + 1, None);
        }
        if let Some((offset, bytes)) = self.last[slot].replace((row.offset, row.bytes)) {
            self.following += 1;
            let counted = bytes / size_unit;
            for (sequential, unit) in self.sequential.iter_mut().zip(SIZE_UNITS) {
                *sequential += u64::from(offset.wrapping_add(counted.wrapping_mul(unit)) == row.offset);
            }
        }
    }

    /// Returns doubts about the units that no option gives, as sentences.
    ///
    /// # Errors
    /// A reading that is impossible, or much less likely than another one. The message names the option that decides.
    pub(super) fn judge(&self, reading: &Reading, asked_size: bool, found: &Found) -> Result<Vec<String>> {
        let mut doubts = Vec::new();
        // Units are in the header of softsense's own CSV, and in the names that the user gives to columns.
        if matches!(reading.format, Format::Csv | Format::Columns) {
            return Ok(doubts);
        }
        // fio's older logs have no times: requests arrive together until a wait.
        if !reading.time_unit_asked && !found.has_outliers && reading.format != Format::Fio {
            doubts.extend(Self::of_times(reading, found)?);
            doubts.extend(reading.below_ns.then(|| {
                format!(
                    "times are read in {unit}, and have digits below 1 ns, which no clock measures: give \
                     --time-unit s if they are in seconds, or --time-unit {unit} if not",
                    unit = reading.time_unit
                )
            }));
        }
        if !asked_size && found.rows >= LEAST_ROWS {
            doubts.extend(self.of_sizes(reading, found)?);
        }
        Ok(doubts)
    }

    fn of_times(reading: &Reading, found: &Found) -> Result<Option<String>> {
        let (unit, raw) = (reading.time_unit, |ns: u64| ns as f64 / reading.time_unit.ns() as f64);
        let (first, span) = (raw(found.first_ns), raw(found.span_ns));
        let rate_in = |unit: TimeUnit| found.rows as f64 / (span * unit.ns() as f64 / 1e9);
        let spans = || {
            let told =
                [TimeUnit::Ns, TimeUnit::Us, TimeUnit::Ms, TimeUnit::S].into_iter().filter(|&other| other != unit);
            let told = told.map(|other| format!("{} in {other}", duration(span * other.ns() as f64)));
            told.collect::<Vec<_>>().join(", ")
        };
        let is_told = reading.format != Format::Blkparse && found.rows >= LEAST_ROWS;
        if found.span_ns == 0 {
            return Ok(is_told.then(|| {
                format!(
                    "all {} requests arrive at once if times are in {unit}: --time-unit says if they are in another \
                     unit",
                    format_count(found.rows)
                )
            }));
        }
        let date_s = |unit: TimeUnit| {
            let since = if unit == TimeUnit::Ticks100Ns { FROM_1601_S } else { 0.0 };
            first * unit.ns() as f64 / 1e9 - since
        };
        if DATES_S.contains(&date_s(unit)) {
            return Ok(None);
        }
        let dated = [TimeUnit::Ns, TimeUnit::Ticks100Ns, TimeUnit::Us, TimeUnit::Ms, TimeUnit::S]
            .into_iter()
            // vscsi counts from the start of the host: after two weeks such a time would be a date in ms, which is not meant.
            .filter(|_| reading.format != Format::Vscsi)
            .find(|&other| other != unit && DATES_S.contains(&date_s(other)) && DATED_RATES.contains(&rate_in(other)));
        let rate = rate_in(unit);
        let rate_told = if rate >= 10.0 { format_count(rate as u64) } else { format!("{rate:.2e}") };
        let read = format!(
            "{} requests over {}, {rate_told} a second",
            format_count(found.rows),
            duration(found.span_ns as f64)
        );
        if let Some(other) = dated
            && found.rows >= LEAST_ROWS
        {
            let year = 1970.0 + date_s(other) / YEAR_S;
            let message = format!(
                "found times from {first:.0} on, which are in the year {year:.0} if the unit is {other}, and are no \
                 date in {unit}, the unit of {} ({read}), expected the unit: give --time-unit {other}, or \
                 --time-unit {unit} if the times are no dates",
                reading.format
            );
            return Err(Error::trace(found.path.clone(), message));
        }
        let most = if reading.format == Format::CloudPhysics { MOST_OF_CLOUDPHYSICS } else { ABSURD_RATE };
        if rate > most && (found.rows >= LEAST_ROWS || reading.format == Format::CloudPhysics) {
            let message = format!(
                "found {read} if times are in {unit}, the unit of {}, expected a plausible rate: give --time-unit \
                 (the trace spans {}), or --time-unit {unit} if that unit is right",
                reading.format,
                spans()
            );
            return Err(Error::trace(found.path.clone(), message));
        }
        Ok((is_told && !USUAL_RATES.contains(&rate)).then(|| {
            format!(
                "{read} if times are in {unit}, which is an unusual rate: --time-unit gives another unit (the trace \
                 then spans {})",
                spans()
            )
        }))
    }

    fn of_sizes(&self, reading: &Reading, found: &Found) -> Result<Vec<String>> {
        let mut doubts = Vec::new();
        let Some(mean) = found.mean_bytes else { return Ok(doubts) };
        let (unit, mean_told) = (reading.size_unit, format_bytes(mean.round() as u64));
        if mean < LEAST_BYTES {
            let message = format!(
                "found requests of {mean:.0} B in the mean if sizes are in units of {unit} B, expected at least a \
                 sector of 512 B: give --size-unit 512 if sizes count sectors, --size-unit 4KiB if they count pages, \
                 or --size-unit {unit} if that unit is right"
            );
            return Err(Error::trace(found.path.clone(), message));
        }
        let share = |at: usize| self.sequential[at] as f64 / self.following.max(1) as f64;
        let taken = SIZE_UNITS.iter().position(|&other| other == unit).map_or(0.0, share);
        let likeliest = (0..SIZE_UNITS.len()).max_by(|&a, &b| share(a).total_cmp(&share(b))).unwrap_or(0);
        if share(likeliest) >= SEQUENTIAL_SHARE && share(likeliest) > MUCH_LIKELIER * taken {
            doubts.push(format!(
                "{:.0} % of requests begin where the request before them ends if sizes are in units of {} B, but \
                 only {:.1} % in units of {unit} B, in which they are read: give --size-unit {} for the former unit, \
                 or --size-unit {unit} for the latter",
                100.0 * share(likeliest),
                SIZE_UNITS[likeliest],
                100.0 * taken,
                SIZE_UNITS[likeliest]
            ));
        }
        // Values in bytes that are read as sectors are multiples of as many sectors as a sector has bytes.
        let in_sectors = unit == 512;
        if in_sectors && mean >= MANY_BYTES && self.bits.is_multiple_of(512 * 512) {
            doubts.push(format!(
                "requests have {mean_told} in the mean, and all addresses and sizes are multiples of 512 sectors: \
                 if they count bytes, --columns says so"
            ));
        } else if mean >= 16.0 * MANY_BYTES {
            doubts.push(format!(
                "requests have {mean_told} in the mean, which is unusually much: --size-unit gives the unit if \
                 sizes are not in units of {unit} B"
            ));
        } else if in_sectors && mean < FEW_BYTES {
            doubts.push(format!(
                "requests have {mean_told} in the mean, hardly more than a sector: give --size-unit 4KiB if sizes \
                 count pages, --columns (lbn:4KiB, bytes:4KiB) if addresses count pages, too, or --size-unit {unit} \
                 if neither does"
            ));
        }
        Ok(doubts)
    }
}

fn duration(ns: f64) -> String {
    if ns >= u64::MAX as f64 { format!("{:.0} years", ns / 1e9 / YEAR_S) } else { format_duration(Ns(ns as u64)) }
}
