//! Growth of responses with the run. Under a load that cannot be served responses grow, and under one that can be served they do not.

use softsense_base::{Ns, TotalNs};

/// The most parts that a run is divided into.
const PARTS: usize = 96;

/// The least rate at which responses grow, as a share of the time that passes: from the first third of the requests to the second, and from
/// there to the third. A server with rho times the load that it can serve lets them grow by 1 - 1 / rho of that time.
const LEAST_RATE: f64 = 0.01;

/// The least mean number of requests that wait at once in the last third. A server at 95 % of its load has ten.
const LEAST_WAITING: f64 = 100.0;

/// Responses of one part.
#[derive(Debug, Clone, Copy, Default)]
struct Part {
    responses: TotalNs,
    /// The instant at which its last request completed.
    until: Ns,
}

/// Responses in the order of completion, in parts with equally many requests.
#[derive(Debug, Clone, Default)]
pub struct Growth {
    from: Ns,
    parts: Vec<Part>,
    /// Requests of a part, as a power of two, and requests of the last part.
    of_part: u32,
    of_last: u64,
}

/// The growth of responses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grown {
    /// Mean responses of the thirds of the requests, us.
    pub thirds_mean_us: [f64; 3],
    /// Rate at which responses grow, as a share of the time that passes: the lower rate of both steps.
    pub rate: f64,
    /// Mean number of requests that wait or are served at once in the last third.
    pub waiting: f64,
}

impl Growth {
    /// The growth of requests that complete from an instant on.
    pub(super) fn from(from: Ns) -> Self {
        Self { from, ..Self::default() }
    }

    /// Records the response of a request that completes.
    #[inline]
    pub(super) fn record(&mut self, response: Ns, now: Ns) {
        if self.of_last == 0 {
            self.begin_part();
        }
        if let Some(part) = self.parts.last_mut() {
            part.responses += response;
            part.until = now;
        }
        self.of_last += 1;
        if self.of_last == 1 << self.of_part {
            self.of_last = 0;
        }
    }

    #[inline(never)]
    fn begin_part(&mut self) {
        if self.parts.len() == PARTS {
            for at in 0..PARTS / 2 {
                let (mut part, second) = (self.parts[2 * at], self.parts[2 * at + 1]);
                part.responses = part.responses + second.responses;
                part.until = second.until;
                self.parts[at] = part;
            }
            self.parts.truncate(PARTS / 2);
            self.of_part += 1;
        }
        self.parts.push(Part::default());
    }

    /// The growth of responses, if they grow.
    pub fn grown(&self) -> Option<Grown> {
        // The last part may not be whole.
        let whole = self.parts.len() - usize::from(self.of_last > 0);
        let of_third = whole / 3;
        if of_third == 0 {
            return None;
        }
        let requests = (of_third as u64) << self.of_part;
        let mut begins = self.from;
        // Mean response, middle and duration of each third, ns.
        let thirds: [(f64, f64, f64); 3] = std::array::from_fn(|third| {
            let parts = &self.parts[third * of_third..(third + 1) * of_third];
            let sum: f64 = parts.iter().map(|part| part.responses.0 as f64).sum();
            let until = parts[of_third - 1].until;
            let (from, to) = (begins.0 as f64, until.0 as f64);
            begins = until;
            (sum / requests as f64, (from + to) / 2.0, to - from)
        });
        let rate = |from: usize| {
            let passed = thirds[from + 1].1 - thirds[from].1;
            if passed > 0.0 { (thirds[from + 1].0 - thirds[from].0) / passed } else { 0.0 }
        };
        let rate = rate(0).min(rate(1));
        let (mean, _, lasts) = thirds[2];
        let waiting = if lasts > 0.0 { mean * requests as f64 / lasts } else { 0.0 };
        let grows = rate >= LEAST_RATE && waiting >= LEAST_WAITING;
        grows.then(|| Grown { thirds_mean_us: thirds.map(|(mean, ..)| mean / 1000.0), rate, waiting })
    }
}

#[cfg(test)]
mod tests {
    use softsense_base::{Purpose, Stream};

    use super::*;

    /// Responses of an M/D/1 server by Lindley's recursion, at this load.
    fn m_d_1(load: f64, requests: u64, seed: u64) -> Growth {
        let (stream, service) = (Stream::new(seed, Purpose::Workload), 100_000.0);
        let (mut growth, mut arrival, mut free) = (Growth::default(), 0.0, 0.0_f64);
        for request in 0..requests {
            arrival -= service / load * (1.0 - stream.uniform(request, 0)).ln();
            free = free.max(arrival) + service;
            growth.record(Ns((free - arrival) as u64), Ns(free as u64));
        }
        growth
    }

    /// Is a load of 105 % found to grow, by 1 - 1 / 1.05 of the time, and a load of 80 or 95 % never, in runs of any length? At 1 % of
    /// false alarms 300 runs would have one with a probability of 95 %.
    #[test]
    fn a_load_that_cannot_be_served_grows_and_no_other() {
        for requests in [300, 3_000, 30_000] {
            for (load, runs) in [(0.8, 100), (0.95, 300)] {
                let alarms = (0..runs).filter(|&seed| m_d_1(load, requests, seed).grown().is_some()).count();
                assert_eq!(alarms, 0, "{load} {requests}");
            }
        }
        for seed in 0..20 {
            let grown = m_d_1(1.05, 30_000, seed).grown().expect("it grows");
            assert!((grown.rate - 0.048).abs() < 0.02, "{grown:?}");
            assert!(m_d_1(1.5, 1_000, seed).grown().is_some());
        }
    }

    /// Do parts that were put together hold what the single parts held?
    #[test]
    fn parts_hold_all_that_was_recorded() {
        let mut growth = Growth::default();
        for request in 1..=1_000_u64 {
            growth.record(Ns(request), Ns(10 * request));
        }
        let sum: u128 = growth.parts.iter().map(|part| part.responses.0).sum();
        assert_eq!(sum, 500_500);
        assert!(growth.parts.len() <= PARTS && growth.parts.last().unwrap().until == Ns(10_000));
    }
}
