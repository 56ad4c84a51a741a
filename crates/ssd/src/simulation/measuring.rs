//! The part of a run that is measured, and how a run goes over time.
//!
//! A run is divided into intervals of equal length, at most 120 of them: where there would be more, each two become one. So any run has 60
//! to 120, whatever its length. The last ones show whether the run is steady.

use std::ops::{AddAssign, Sub};

use softsense_base::{Histogram, Ns, Recorded};
use softsense_config::spec::{MeasurementSpec, Warmup};
use softsense_requests::End;

use super::Simulation;

const MOST_INTERVALS: usize = 120;
/// The length of intervals at first.
const FIRST_LENGTH: Ns = Ns(1_000_000);

/// Rounds by which a steady state is judged; the least requests of a round; and the requests after which the warm-up ends, steady or not.
const ROUNDS: usize = 5;
const LEAST_REQUESTS: u64 = 1_000;
const MOST_WARMUP_REQUESTS: u64 = 100_000_000;
/// The most by which rounds of a steady state may differ, as a share of their mean: the largest from the smallest, and the ends of the line
/// of best fit.
const MOST_EXCURSION: f64 = 0.20;
const MOST_SLOPE: f64 = 0.10;
/// The largest share of the blocks taken by programs that erases may keep back in a steady state.
const MOST_TAKEN: f64 = 0.10;
/// The least share of the free blocks at its start that a run has to use up, to be said to have used up room.
const LEAST_USED_UP: f64 = 0.05;

/// Amounts that only grow.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Amounts {
    /// Completed requests.
    pub requests: u64,
    /// Bytes of completed reads.
    pub read_bytes: u64,
    /// Bytes of completed writes.
    pub written_bytes: u64,
    /// Codewords programmed, for any cause.
    pub programmed: u64,
    /// Codewords of the host that have left its memory for flash.
    pub into_flash: u64,
    /// Blocks erased.
    pub erased_blocks: u64,
    /// Host codewords read from flash.
    pub codewords_read: u64,
    /// Attempts at host codewords beyond the first.
    pub retries: u64,
    /// Host codewords that no level decoded.
    pub uncorrectable: u64,
    /// The sum of the raw bit error rates of host codewords as they are read first.
    pub rber_sum: f64,
    /// The number of codewords in that sum.
    pub rber_codewords: u64,
}

impl Amounts {
    /// Combines both, field by field.
    fn with(self, other: Self, f: fn(u64, u64) -> u64, rber: fn(f64, f64) -> f64) -> Self {
        Self {
            requests: f(self.requests, other.requests),
            read_bytes: f(self.read_bytes, other.read_bytes),
            written_bytes: f(self.written_bytes, other.written_bytes),
            programmed: f(self.programmed, other.programmed),
            into_flash: f(self.into_flash, other.into_flash),
            erased_blocks: f(self.erased_blocks, other.erased_blocks),
            codewords_read: f(self.codewords_read, other.codewords_read),
            retries: f(self.retries, other.retries),
            uncorrectable: f(self.uncorrectable, other.uncorrectable),
            rber_sum: rber(self.rber_sum, other.rber_sum),
            rber_codewords: f(self.rber_codewords, other.rber_codewords),
        }
    }

    /// Codewords programmed for each one that the host has written to flash; none where it has written none.
    pub fn write_amplification(&self) -> Option<f64> {
        (self.into_flash > 0).then(|| self.programmed as f64 / self.into_flash as f64)
    }
}

impl Sub for Amounts {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.with(other, |one, other| one - other, |one, other| one - other)
    }
}

impl AddAssign for Amounts {
    fn add_assign(&mut self, other: Self) {
        *self = self.with(other, |one, other| one + other, |one, other| one + other);
    }
}

/// An interval of simulated time.
#[derive(Debug, Clone)]
pub struct Interval {
    /// The instant at which it begins.
    pub from: Ns,
    /// The instant at which it ends.
    pub to: Ns,
    /// Responses of reads that completed in the interval.
    pub reads: Recorded,
    /// Responses of writes that completed in the interval.
    pub writes: Recorded,
    /// Requests, codewords and blocks of the interval.
    pub amounts: Amounts,
    /// Free blocks at the end of the interval.
    pub free_blocks: u64,
    /// Blocks of the SLC cache in use at the end of the interval; none without a cache.
    pub slc_blocks: Option<u64>,
}

impl Interval {
    fn merge(&mut self, next: &Self) {
        self.to = next.to;
        self.reads.merge(&next.reads);
        self.writes.merge(&next.writes);
        self.amounts += next.amounts;
        (self.free_blocks, self.slc_blocks) = (next.free_blocks, next.slc_blocks);
    }
}

/// The warm-up of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WarmedUp {
    /// Requests that completed in the warm-up.
    pub requests: u64,
    /// The simulated instant at which the warm-up ended.
    pub until: Ns,
    /// Whether the drive was found to be steady; none where that is not asked.
    pub steady: Option<bool>,
}

#[derive(Debug)]
pub(super) struct Measuring {
    spec: MeasurementSpec,
    planes: u64,
    /// The warm-up; none before it is over.
    warmed_up: Option<WarmedUp>,
    /// Intervals of the warm-up, once it is over.
    before: Vec<Interval>,
    intervals: Vec<Interval>,
    /// Free blocks at the beginning of `intervals`.
    free_blocks: u64,
    /// The interval that is not over yet: the instant at which it begins, its length, and all that was counted until it began.
    from: Ns,
    length: Ns,
    reads: Histogram,
    writes: Histogram,
    amounts: Amounts,
}

impl Measuring {
    fn new(spec: MeasurementSpec, planes: u64, free_blocks: u64) -> Self {
        Self {
            spec,
            planes,
            warmed_up: (spec.warmup == Warmup::None).then_some(WarmedUp { requests: 0, until: Ns::ZERO, steady: None }),
            before: Vec::new(),
            intervals: Vec::new(),
            free_blocks,
            from: Ns::ZERO,
            length: FIRST_LENGTH,
            reads: Histogram::default(),
            writes: Histogram::default(),
            amounts: Amounts::default(),
        }
    }

    /// The latest instant at which to look next.
    fn next(&self) -> Ns {
        match (self.warmed_up, self.spec.warmup) {
            (None, Warmup::Requests(_)) => Ns::ZERO,
            _ => (self.from + self.length).min(self.warmup_ends()),
        }
    }

    /// The instant at which the warm-up ends, if that is known and to come.
    fn warmup_ends(&self) -> Ns {
        match (self.warmed_up, self.spec.warmup) {
            (None, Warmup::Seconds(seconds)) => Ns::from_us(1e6 * seconds),
            _ => Ns(u64::MAX),
        }
    }

    /// The share that is over of the time that ends the run, in [0, 1]; 0 where no time ends it, or the warm-up is not over.
    pub(super) fn fraction(&self, now: Ns) -> f64 {
        let of = self.warmed_up.zip(self.spec.seconds);
        of.map_or(0.0, |(warmed_up, seconds)| ((now - warmed_up.until).as_secs() / seconds).min(1.0))
    }

    fn interval(&mut self, simulation: &Simulation, to: Ns) -> Interval {
        let (statistics, mut amounts) = (simulation.statistics(), simulation.amounts());
        // Data on its way to flash may come back, if its program fails.
        amounts.into_flash = amounts.into_flash.max(self.amounts.into_flash);
        let interval = Interval {
            from: self.from,
            to,
            reads: statistics.reads.since(&mut self.reads),
            writes: statistics.writes.since(&mut self.writes),
            amounts: amounts - self.amounts,
            free_blocks: simulation.ftl().free_blocks(),
            slc_blocks: simulation.ftl().slc_blocks(),
        };
        (self.from, self.amounts) = (to, amounts);
        interval
    }

    /// Ends the last interval. If it has less than half the length, it becomes a part of the one before, as it would tell of chance.
    fn end_series(&mut self, simulation: &Simulation, to: Ns) {
        let last = self.interval(simulation, to);
        match self.intervals.last_mut() {
            Some(before) if 2 * (last.to - last.from).0 < self.length.0 => before.merge(&last),
            _ => self.intervals.push(last),
        }
    }

    /// Ends the intervals that are over at an instant.
    fn end_intervals(&mut self, simulation: &Simulation, now: Ns) {
        while self.from + self.length <= now {
            if self.intervals.len() == MOST_INTERVALS {
                let mut pairs = std::mem::take(&mut self.intervals).into_iter();
                while let (Some(mut one), Some(other)) = (pairs.next(), pairs.next()) {
                    one.merge(&other);
                    self.intervals.push(one);
                }
                self.length = self.length.times(2);
                continue;
            }
            let interval = self.interval(simulation, self.from + self.length);
            self.intervals.push(interval);
        }
    }

    /// Whether the warm-up is over now; if so, whether the drive is steady, where that is asked.
    fn is_warmed_up(&self, simulation: &Simulation) -> Option<Option<bool>> {
        let completed = simulation.statistics().completed_in_all;
        match self.spec.warmup {
            Warmup::None => None,
            Warmup::Requests(requests) => (completed >= requests).then_some(None),
            Warmup::Seconds(_) => (simulation.now() >= self.warmup_ends()).then_some(None),
            Warmup::UntilSteady if completed >= MOST_WARMUP_REQUESTS => Some(Some(self.is_steady())),
            Warmup::UntilSteady => self.is_steady().then_some(Some(true)),
        }
    }

    /// Whether the drive is steady over the last intervals: over five rounds of some length, up to half the time.
    fn is_steady(&self) -> bool {
        (1..=self.intervals.len() / (2 * ROUNDS)).any(|length| self.is_steady_over_rounds(length))
    }

    fn is_steady_over_rounds(&self, intervals_of_round: usize) -> bool {
        let first = self.intervals.len() - ROUNDS * intervals_of_round;
        let mut all = Amounts::default();
        let rounds: Vec<Amounts> = (self.intervals[first..].chunks(intervals_of_round))
            .map(|intervals| {
                let mut round = Amounts::default();
                intervals.iter().for_each(|interval| round += interval.amounts);
                all += round;
                round
            })
            .collect();
        if rounds.iter().any(|round| round.requests < LEAST_REQUESTS) {
            return false;
        }
        let free_before = first.checked_sub(1).map_or(self.free_blocks, |before| self.intervals[before].free_blocks);
        let free_after = self.intervals.last().map_or(free_before, |interval| interval.free_blocks);
        let turns_over = all.erased_blocks >= self.planes && !takes_room(free_before, free_after, all.erased_blocks);
        let is_level = |of: fn(&Amounts) -> Option<f64>| is_level(rounds.iter().map(of));
        is_level(|round| Some(round.requests as f64))
            && (all.programmed == 0 || turns_over && is_level(Amounts::write_amplification))
    }
}

/// Whether programs take more blocks than erases give back.
fn takes_room(free_before: u64, free_after: u64, erased_blocks: u64) -> bool {
    let fell = free_before.saturating_sub(free_after);
    fell as f64 > MOST_TAKEN * (fell + erased_blocks) as f64
}

/// Whether programs took so many more blocks than erases gave back that counts of writes are those of a drive with room.
pub(super) fn used_up_room(free_before: u64, free_after: u64, erased_blocks: u64) -> bool {
    let fell = free_before.saturating_sub(free_after);
    fell as f64 >= LEAST_USED_UP * free_before as f64 && takes_room(free_before, free_after, erased_blocks)
}

/// Whether values of rounds neither spread nor rise nor fall; false where a value is not known.
fn is_level(rounds: impl Iterator<Item = Option<f64>>) -> bool {
    let Some(values) = rounds.collect::<Option<Vec<f64>>>() else { return false };
    let count = values.len() as f64;
    let (mean, middle) = (values.iter().sum::<f64>() / count, (count - 1.0) / 2.0);
    let (least, most) = values.iter().fold((f64::INFINITY, 0.0f64), |(least, most), &v| (least.min(v), most.max(v)));
    let from_middle = |index: usize| index as f64 - middle;
    let rises: f64 = values.iter().enumerate().map(|(index, value)| from_middle(index) * value).sum();
    let slope = rises / (0..values.len()).map(|index| from_middle(index).powi(2)).sum::<f64>();
    most - least <= MOST_EXCURSION * mean && (slope * (count - 1.0)).abs() <= MOST_SLOPE * mean
}

impl Simulation {
    /// Counts how the run goes over time, whatever is measured.
    pub(crate) fn keep_series(&mut self) {
        if self.measuring.is_none() {
            self.measure(MeasurementSpec::default());
        }
    }

    /// Measures what `spec` says, and how the run goes over time, from its start on.
    pub(super) fn measure(&mut self, spec: MeasurementSpec) {
        let planes = self.device.geometry.planes().into();
        let measuring = Measuring::new(spec, planes, self.ftl().free_blocks());
        match (measuring.warmed_up, spec.seconds) {
            (Some(_), None) => {}
            (Some(_), Some(_)) => self.end_after(Ns::ZERO, spec.seconds),
            (None, _) => self.host.end(End::Never),
        }
        self.look_at = measuring.next();
        self.measuring = Some(Box::new(measuring));
    }

    /// Lets requests end after so much time, or as their sources say.
    fn end_after(&mut self, from: Ns, seconds: Option<f64>) {
        self.host.end(if seconds.is_some() { End::Never } else { End::AfterItsOwn });
        if let Some(seconds) = seconds {
            self.host.end_at(from + Ns::from_us(1e6 * seconds));
        }
    }

    /// Ends intervals, or the warm-up, if they are over.
    #[inline(never)]
    pub(super) fn look(&mut self) {
        let Some(mut measuring) = self.measuring.take() else { return };
        // Work at this instant belongs to the next interval: nothing has happened since the last event.
        measuring.end_intervals(self, self.now().min(measuring.warmup_ends()));
        if measuring.warmed_up.is_none()
            && let Some(steady) = measuring.is_warmed_up(self)
        {
            self.begin_to_measure(&mut measuring, steady);
            measuring.end_intervals(self, self.now());
        }
        self.look_at = measuring.next();
        self.measuring = Some(measuring);
    }

    fn begin_to_measure(&mut self, measuring: &mut Measuring, steady: Option<bool>) {
        let now = self.now().min(measuring.warmup_ends());
        measuring.end_series(self, now);
        measuring.before = std::mem::take(&mut measuring.intervals);
        measuring.warmed_up = Some(WarmedUp { requests: self.statistics().completed_in_all, until: now, steady });
        self.carried_codewords = self.write_path.not_programmed_codewords();
        self.free_blocks_before = self.ftl().free_blocks();
        self.device.kernel.statistics.count_anew(now);
        self.device.back_end.count_anew(now);
        self.host.count_anew();
        if let Some(dram) = &mut self.device.kernel.dram {
            dram.count_anew();
        }
        self.end_after(now, measuring.spec.seconds);
        measuring.length = FIRST_LENGTH;
        measuring.free_blocks = self.free_blocks_before;
        (measuring.reads, measuring.writes) = (Histogram::default(), Histogram::default());
        measuring.amounts = self.amounts();
    }

    /// Ends the series, as the last request has completed: work from now on belongs to no interval.
    pub(super) fn end_series(&mut self) {
        let Some(mut measuring) = self.measuring.take() else { return };
        measuring.end_series(self, self.now());
        self.look_at = Ns(u64::MAX);
        self.measuring = Some(measuring);
    }

    /// The course of the run: intervals of the warm-up, and of what is measured; empty where nobody asked for them.
    pub fn series(&self) -> (&[Interval], &[Interval]) {
        match &self.measuring {
            Some(measuring) if measuring.warmed_up.is_none() => (&measuring.intervals, &[]),
            Some(measuring) => (&measuring.before, &measuring.intervals),
            None => (&[], &[]),
        }
    }

    /// The warm-up; none while it is not over.
    pub fn warmed_up(&self) -> Option<WarmedUp> {
        self.measuring.as_ref().and_then(|measuring| measuring.warmed_up)
    }

    /// The amounts that were counted until now.
    pub(super) fn amounts(&self) -> Amounts {
        let statistics = self.statistics();
        Amounts {
            requests: statistics.completed(),
            read_bytes: statistics.read_bytes,
            written_bytes: statistics.written_bytes,
            programmed: statistics.codewords_programmed(self.parity_in_data),
            into_flash: self.codewords_into_flash(),
            erased_blocks: statistics.operations.erases,
            codewords_read: statistics.codewords_read(),
            retries: statistics.retries,
            uncorrectable: statistics.uncorrectable,
            rber_sum: statistics.rber_sum,
            rber_codewords: statistics.rber_codewords,
        }
    }
}
