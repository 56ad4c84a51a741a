use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Ns;

/// Base-2 logarithm of the number of buckets for a power of two. So the width of a bucket is at most 1/128 of its values.
const SUB_BITS: u32 = 7;
const SUB: usize = 1 << SUB_BITS;
const BUCKETS: usize = SUB * (64 - SUB_BITS as usize + 1);

/// A mergeable histogram of durations. Counts, sum, minimum and maximum are exact; a percentile is
/// the middle of its bucket, so it is off by at most 0.4 % of its value (exact below 256 ns).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; BUCKETS], count: 0, sum: 0, min: u64::MAX, max: 0 }
    }
}

#[inline(always)]
fn bucket(value: u64) -> usize {
    let magnitude = (63 - (value | 1).leading_zeros()).saturating_sub(SUB_BITS);
    (magnitude as usize) * SUB + (value >> magnitude) as usize
}

fn bucket_middle(index: usize) -> u64 {
    // Below 2 SUB every bucket holds one value; above, magnitude m holds SUB buckets of width 2^m.
    if index < 2 * SUB {
        return index as u64;
    }
    let magnitude = index / SUB - 1;
    let low = ((index - magnitude * SUB) as u64) << magnitude;
    low + (1u64 << magnitude) / 2
}

/// The bucket of the nearest-rank percentile, `q` in [0, 1]. The buckets have counted `count` durations together; `None` if that is 0.
fn nearest_rank(mut buckets: impl Iterator<Item = (usize, u64)>, count: u64, q: f64) -> Option<usize> {
    let rank = ((q * count as f64).ceil() as u64).clamp(1, count.max(1));
    let mut seen = 0;
    let reached = buckets.find(|&(_, count)| {
        seen += count;
        seen >= rank
    });
    reached.map(|(bucket, _)| bucket)
}

impl Histogram {
    /// Adds one duration.
    #[inline]
    pub fn record(&mut self, duration: Ns) {
        let value = duration.0;
        self.counts[bucket(value)] += 1;
        self.count += 1;
        self.sum += u128::from(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Adds all durations that `other` recorded. Merging is associative and commutative.
    pub fn merge(&mut self, other: &Histogram) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// The durations recorded since `earlier` was a copy of this histogram; `earlier` becomes a copy again.
    pub fn since(&self, earlier: &mut Histogram) -> Recorded {
        const AT_ONCE: usize = 64;
        let mut recorded = Recorded { buckets: Vec::new(), sum: self.sum - earlier.sum };
        if self.count > earlier.count {
            let both = self.counts.chunks(AT_ONCE).zip(earlier.counts.chunks_mut(AT_ONCE)).enumerate();
            // Most buckets have not changed.
            for (chunk, (now, before)) in both.filter(|(_, (now, before))| now != before) {
                let changed = now.iter().zip(&*before).enumerate().filter(|(_, (now, before))| now != before);
                let bucket = |(at, (now, before)): (usize, (&u64, &u64))| ((chunk * AT_ONCE + at) as u16, now - before);
                recorded.buckets.extend(changed.map(bucket));
                before.copy_from_slice(now);
            }
        }
        (earlier.count, earlier.sum, earlier.min, earlier.max) = (self.count, self.sum, self.min, self.max);
        recorded
    }

    /// The number of durations.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The exact mean in nanoseconds; `None` when nothing was recorded.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The largest duration; `None` when nothing was recorded.
    pub fn max(&self) -> Option<Ns> {
        (self.count > 0).then_some(Ns(self.max))
    }

    /// The nearest-rank percentile, `q` in [0, 1]; `None` when nothing was recorded.
    pub fn percentile(&self, q: f64) -> Option<Ns> {
        if self.count == 0 {
            return None;
        }
        let bucket = nearest_rank(self.counts.iter().copied().enumerate(), self.count, q);
        bucket.map(|bucket| Ns(bucket_middle(bucket).clamp(self.min, self.max)))
    }

    /// Mean, percentiles and maximum in microseconds.
    pub fn summary(&self) -> ResponseSummary {
        let at = |q| self.percentile(q).map(Ns::as_us);
        ResponseSummary {
            count: self.count,
            mean_us: self.mean_ns().map(|ns| ns * 1e-3),
            p50_us: at(0.50),
            p95_us: at(0.95),
            p99_us: at(0.99),
            p999_us: at(0.999),
            p9999_us: at(0.9999),
            max_us: self.max().map(Ns::as_us),
        }
    }

    /// The distribution as (middle of the bucket in us, cumulative fraction), one row for each bucket that is
    /// not empty.
    pub fn cumulative(&self) -> Vec<(f64, f64)> {
        let mut seen = 0;
        let mut rows = Vec::new();
        for (index, &n) in self.counts.iter().enumerate().filter(|&(_, &n)| n > 0) {
            seen += n;
            let value = Ns(bucket_middle(index).clamp(self.min, self.max));
            rows.push((value.as_us(), seen as f64 / self.count as f64));
        }
        rows
    }
}

/// The durations that a [`Histogram`] has recorded between two instants, in its buckets that are not empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recorded {
    /// The number of each bucket, ascending, and its count.
    buckets: Vec<(u16, u64)>,
    sum: u128,
}

impl Recorded {
    /// Adds the durations that were recorded at another time.
    pub fn merge(&mut self, other: &Recorded) {
        self.buckets.extend(&other.buckets);
        self.buckets.sort_unstable_by_key(|&(bucket, _)| bucket);
        self.buckets.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += if same { next.1 } else { 0 };
            same
        });
        self.sum += other.sum;
    }

    /// The number of durations.
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|&(_, count)| count).sum()
    }

    /// The exact mean in nanoseconds; `None` when nothing was recorded.
    pub fn mean_ns(&self) -> Option<f64> {
        (!self.buckets.is_empty()).then(|| self.sum as f64 / self.count() as f64)
    }

    /// The nearest-rank percentile, `q` in [0, 1]: the middle of its bucket, off by at most 0.4 %; `None` when nothing was recorded.
    pub fn percentile(&self, q: f64) -> Option<Ns> {
        let buckets = self.buckets.iter().map(|&(bucket, count)| (usize::from(bucket), count));
        nearest_rank(buckets, self.count(), q).map(|bucket| Ns(bucket_middle(bucket)))
    }
}

/// Sums of `N` quantities of things, by the duration of each thing. The buckets are as wide as those of a [`Histogram`], so that the sums
/// of the slowest things can be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SumsByDuration<const N: usize> {
    buckets: Vec<Bucket>,
    /// The sums of all quantities but the first seven, bucket after bucket.
    others: Vec<u64>,
}

/// The number of things in a bucket, and the sums of their first seven quantities. It fills a line of the CPU's caches; nothing else of a
/// bucket is touched where the other quantities are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(align(64))]
struct Bucket {
    count: u64,
    first: [u64; 7],
}

/// The slowest of the things that [`SumsByDuration`] has recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slowest<const N: usize> {
    /// Number of things. A bucket belongs to the slowest as a whole, or not at all.
    pub count: u64,
    /// Duration of the quickest of these things, ns: the middle of its bucket.
    pub from: Ns,
    /// Sums of their quantities.
    pub sums: [u64; N],
}

impl<const N: usize> Default for SumsByDuration<N> {
    fn default() -> Self {
        Self { buckets: vec![Bucket::default(); BUCKETS], others: vec![0; BUCKETS * Self::OTHERS] }
    }
}

impl<const N: usize> SumsByDuration<N> {
    const OTHERS: usize = N.saturating_sub(7);

    /// Adds `count` things that took `duration` each, and the sums of their quantities. Quantities that `sums` does not have are 0.
    #[inline]
    pub fn record(&mut self, duration: Ns, count: u64, sums: impl IntoIterator<Item = u64>) {
        let index = bucket(duration.0);
        let (entry, mut sums) = (&mut self.buckets[index], sums.into_iter());
        entry.count += count;
        for (sum, more) in entry.first.iter_mut().zip(&mut sums) {
            *sum += more;
        }
        for (other, more) in sums.take(Self::OTHERS).enumerate() {
            self.others[index * Self::OTHERS + other] += more;
        }
    }

    /// The sums of all quantities of a bucket.
    fn sums(&self, index: usize) -> impl Iterator<Item = u64> {
        let others = &self.others[index * Self::OTHERS..][..Self::OTHERS];
        self.buckets[index].first.iter().chain(others).copied().take(N)
    }

    /// The slowest `share` of all things, in (0, 1], or a few more; `None` if nothing was recorded.
    pub fn slowest(&self, share: f64) -> Option<Slowest<N>> {
        let all: u64 = self.buckets.iter().map(|bucket| bucket.count).sum();
        let wanted = ((share * all as f64).ceil() as u64).clamp(1, all.max(1));
        let mut slowest = Slowest { count: 0, from: Ns::ZERO, sums: [0; N] };
        for (index, bucket) in self.buckets.iter().enumerate().rev().filter(|(_, bucket)| bucket.count > 0) {
            slowest.count += bucket.count;
            slowest.from = Ns(bucket_middle(index));
            slowest.sums.iter_mut().zip(self.sums(index)).for_each(|(sum, more)| *sum += more);
            if slowest.count >= wanted {
                return Some(slowest);
            }
        }
        None
    }
}

/// A response-time distribution in numbers. Times are in microseconds, `null` if nothing was recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResponseSummary {
    /// Number of responses.
    pub count: u64,
    /// Exact mean.
    pub mean_us: Option<f64>,
    /// Median; this and the other percentiles are within 0.4 %.
    pub p50_us: Option<f64>,
    /// 95th percentile.
    pub p95_us: Option<f64>,
    /// 99th percentile.
    pub p99_us: Option<f64>,
    /// 99.9th percentile.
    pub p999_us: Option<f64>,
    /// 99.99th percentile.
    pub p9999_us: Option<f64>,
    /// Exact maximum.
    pub max_us: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Are the slowest things the end of a sorted list, whatever their share, and are their sums those of the list?
    #[test]
    fn the_slowest_are_the_end_of_the_sorted_list() {
        let mut sums = SumsByDuration::<9>::default();
        assert_eq!(sums.slowest(0.5), None);
        // Durations that differ by a hundredth are in different buckets.
        let durations: Vec<u64> = (0..1000).map(|step| (1000.0 * 1.01f64.powi(step)) as u64).collect();
        for (number, &duration) in durations.iter().enumerate().rev() {
            let number = number as u64;
            let all = [3 * duration, number, 0, 0, 0, 0, 5, 0, number + 1];
            // The last two sums of every other thing are left out, and so 0.
            sums.record(Ns(duration), 3, all.into_iter().take(if number.is_multiple_of(2) { 9 } else { 7 }));
        }
        for slowest in [1, 10, 500, 1000] {
            let found = sums.slowest(slowest as f64 / 1000.0).unwrap();
            let end = &durations[1000 - slowest..];
            let numbers = 1000 - slowest as u64..1000;
            let even: u64 = numbers.clone().filter(|number| number.is_multiple_of(2)).map(|number| number + 1).sum();
            let expected = [3 * end.iter().sum::<u64>(), numbers.sum(), 0, 0, 0, 0, 5 * slowest as u64, 0, even];
            assert_eq!((found.count, found.sums), (3 * slowest as u64, expected));
            assert!((found.from.0 as f64 / end[0] as f64 - 1.0).abs() < 0.004, "{found:?}");
        }
        assert_eq!(sums.slowest(1e-9).unwrap().count, 3, "at least one bucket");
    }

    use proptest::prelude::*;

    proptest! {
        /// Is a percentile the nearest-rank one, within the stated error?
        #[test]
        fn percentiles_agree_with_sorting(mut values in prop::collection::vec(0u64..1u64 << 40, 1..300), q in 0.0f64..1.0) {
            let mut histogram = Histogram::default();
            values.iter().for_each(|&v| histogram.record(Ns(v)));
            values.sort_unstable();
            let rank = ((q * values.len() as f64).ceil() as usize).clamp(1, values.len());
            let exact = values[rank - 1] as f64;
            let found = histogram.percentile(q).unwrap().0 as f64;
            prop_assert!((found - exact).abs() <= exact / 256.0 + 0.5, "{found} against {exact}");
            prop_assert_eq!(histogram.max().unwrap().0, *values.last().unwrap());
        }

        /// Is merging the same as recording everything in one?
        #[test]
        fn merging_equals_recording(a in prop::collection::vec(any::<u64>(), 0..50), b in prop::collection::vec(any::<u64>(), 0..50)) {
            let (mut left, mut right, mut both) = (Histogram::default(), Histogram::default(), Histogram::default());
            for &v in &a { left.record(Ns(v)); both.record(Ns(v)); }
            for &v in &b { right.record(Ns(v)); both.record(Ns(v)); }
            left.merge(&right);
            prop_assert_eq!(left, both);
        }
    }

    #[test]
    fn nothing_recorded_has_no_mean() {
        let summary = Histogram::default().summary();
        assert_eq!((summary.count, summary.mean_us, summary.max_us), (0, None, None));
    }
}
