//! Requests that are far from all others in time: one bad timestamp stretches a trace of a week to forty years.

/// Most lines that are taken for outliers.
const MOST: usize = 16;
/// Fewest lines of a trace for each line that is taken for an outlier.
const ROWS_PER_OUTLIER: u64 = 100;
/// Factor by which the trace has to become shorter without its outliers.
const STRETCH: u64 = 100;
/// Least ratio of a gap between outliers and other requests to the span of all other requests. The gap also has to be `MIN_GAP_NS` or more.
const GAP: u64 = 10;
const MIN_GAP_NS: u64 = 60_000_000_000;
/// Room for late arrivals; when it is used up, all but the latest are dropped.
const ROOM: usize = 4096;

/// The earliest and the latest arrivals of a trace, with their lines.
#[derive(Default)]
pub(super) struct Extremes {
    /// The earliest arrival first.
    early: Vec<(u64, u64)>,
    /// The latest arrival last. Only the last `MOST` + 1 are surely the latest of the trace, in order.
    late: Vec<(u64, u64)>,
}

/// Requests that are far from all others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outliers {
    /// Lines of the outliers, ascending.
    pub lines: Vec<u64>,
    /// Span of all other requests, ns.
    pub span_ns: u64,
}

impl Extremes {
    /// Adds an arrival. Most traces are sorted, for which this takes a comparison and a push.
    #[inline(always)]
    pub(crate) fn add(&mut self, arrival_ns: u64, line: u64) {
        match self.late.last() {
            Some(&(latest, _)) if arrival_ns < latest => {
                if self.late.len() <= MOST || arrival_ns > self.late[self.late.len() - 1 - MOST].0 {
                    self.add_late(arrival_ns, line);
                }
            }
            _ => {
                if self.late.len() == ROOM {
                    self.late.drain(..ROOM - 1 - MOST);
                }
                self.late.push((arrival_ns, line));
            }
        }
        if self.early.len() <= MOST || arrival_ns < self.early[MOST].0 {
            self.add_early(arrival_ns, line);
        }
    }

    #[cold]
    fn add_late(&mut self, arrival_ns: u64, line: u64) {
        let tail = self.late.len().saturating_sub(MOST + 1);
        let at = tail + self.late[tail..].partition_point(|&(other, _)| other <= arrival_ns);
        if self.late.len() == ROOM {
            self.late.remove(0);
            self.late.insert(at - 1, (arrival_ns, line));
        } else {
            self.late.insert(at, (arrival_ns, line));
        }
    }

    #[cold]
    fn add_early(&mut self, arrival_ns: u64, line: u64) {
        let at = self.early.partition_point(|&(other, _)| other <= arrival_ns);
        self.early.insert(at, (arrival_ns, line));
        self.early.truncate(MOST + 1);
    }

    /// Finds the fewest lines without which a trace of `rows` rows is far shorter.
    pub(crate) fn outliers(&self, rows: u64) -> Option<Outliers> {
        let (early, late) = (&self.early, &self.late);
        let most = (rows / ROWS_PER_OUTLIER).min(MOST as u64) as usize;
        let span = late.last()?.0 - early.first()?.0;
        for count in 1..=most {
            for before in 0..=count {
                let after = count - before;
                let (first, last) = (early[before].0, late[late.len() - 1 - after].0);
                let rest = last.saturating_sub(first);
                let far = |gap: u64| gap >= MIN_GAP_NS && gap / GAP >= rest;
                if span / STRETCH < rest.max(1)
                    || (before > 0 && !far(first - early[before - 1].0))
                    || (after > 0 && !far(late[late.len() - after].0 - last))
                {
                    continue;
                }
                let mut lines: Vec<u64> =
                    early[..before].iter().chain(&late[late.len() - after..]).map(|&(_, line)| line).collect();
                lines.sort_unstable();
                return Some(Outliers { lines, span_ns: rest });
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 86_400_000_000_000;

    fn found(arrivals: &[u64]) -> Option<Outliers> {
        let mut extremes = Extremes::default();
        for (i, &arrival) in arrivals.iter().enumerate() {
            extremes.add(arrival, i as u64 + 1);
        }
        extremes.outliers(arrivals.len() as u64)
    }

    /// Makes a trace of a second, forty years after the epoch.
    fn second(rows: u64) -> Vec<u64> {
        (0..rows).map(|i| 14_662 * DAY + i * (1_000_000_000 / rows)).collect()
    }

    #[test]
    fn what_is_far_before_or_after_is_found() {
        assert_eq!(found(&second(10_000)), None);
        for rows in [300, 10_000] {
            let mut arrivals = second(rows);
            arrivals[17] = 0;
            assert_eq!(found(&arrivals).unwrap().lines, [18]);
            arrivals[40] = 30_000 * DAY;
            let both = found(&arrivals).unwrap();
            assert_eq!(both.lines, [18, 41]);
            assert!(both.span_ns <= 1_000_000_000);
        }
    }

    #[test]
    fn a_long_pause_is_no_outlier() {
        // Half of the requests on another day.
        let mut arrivals = second(1_000);
        arrivals.iter_mut().skip(500).for_each(|arrival| *arrival += DAY);
        assert_eq!(found(&arrivals), None);
        // Few requests say little, and less than a minute is not long.
        assert_eq!(found(&[0, 1, 2, 3, DAY]), None);
        let mut arrivals: Vec<u64> = (0..1000).collect();
        arrivals.push(1_000_000_000);
        assert_eq!(found(&arrivals), None);
    }

    /// Are the extremes equal to those of a sort, whatever the order of arrivals?
    #[test]
    fn extremes_are_those_of_a_sort() {
        let mut state = 1u64;
        let mut extremes = Extremes::default();
        let mut all = Vec::new();
        for line in 1..20_000u64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // Mostly rising, with steps back.
            let arrival = line * 1_000 + (state >> 40) % 50_000;
            extremes.add(arrival, line);
            all.push(arrival);
        }
        all.sort_unstable();
        let times = |list: &[(u64, u64)]| list.iter().map(|&(time, _)| time).collect::<Vec<u64>>();
        assert_eq!(times(&extremes.early), all[..=MOST]);
        assert_eq!(times(&extremes.late[extremes.late.len() - 1 - MOST..]), all[all.len() - 1 - MOST..]);
    }
}
