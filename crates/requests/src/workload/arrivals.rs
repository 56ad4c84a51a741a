//! Arrival times of the requests of a synthetic workload.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Ns, Result, Stream, format_count};

use super::draw;
use super::mmpp::Mmpp2;

/// The arrival process of requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Arrivals {
    /// A Poisson process: independent, exponentially distributed gaps. The first request arrives at 0.
    Poisson {
        /// Mean rate in requests per second.
        #[schemars(range(min = 1e-6, max = 1e9))]
        requests_per_s: f64,
    },
    /// Equal gaps. The first request arrives at 0.
    Fixed {
        /// Rate in requests per second.
        #[schemars(range(min = 1e-6, max = 1e9))]
        requests_per_s: f64,
    },
    /// A Markov-modulated Poisson process (MMPP): bursts. Arrivals are Poisson with the rate of the current state. A
    /// state lasts for an exponentially distributed time, and all others are equally likely to follow it. The first
    /// request arrives at 0.
    MarkovModulated {
        /// The states, 2 to 64.
        states: Vec<ArrivalState>,
    },
    /// All at time 0, for closed-loop and saturation runs, where the host decides when to issue.
    Immediate,
}

/// A state of a Markov-modulated Poisson process.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArrivalState {
    /// Rate of arrivals in the state, requests per second; 0 for none.
    pub requests_per_s: f64,
    /// Mean time that the state lasts, us.
    #[schemars(range(min = 1e-3, max = 1e14))]
    pub mean_dwell_us: f64,
}

/// The longest run, s. Times are held in 64 bits of nanoseconds, and this is half of their range: random sums stray less than that from
/// their mean.
const LONGEST_S: f64 = 9e9;
const MOST_STATES: usize = 64;
/// Most state changes between two requests. Beyond them an MMPP is as good as a Poisson process, and takes long to draw.
const MOST_CHANGES: f64 = 1_000.0;

impl Arrivals {
    /// Checks the states, and that the last request arrives in the range of times.
    pub(super) fn check(&self, requests: u64) -> Result<()> {
        let error = |field: &str, message: String| Err(Error::config(format!("workload.arrivals.{field}"), message));
        let (field, rate) = match self {
            Self::Poisson { requests_per_s } => ("poisson.requests_per_s", *requests_per_s),
            Self::Fixed { requests_per_s } => ("fixed.requests_per_s", *requests_per_s),
            Self::MarkovModulated { states } => {
                if !(2..=MOST_STATES).contains(&states.len()) {
                    let message = format!("found {} states, expected 2 to {MOST_STATES}", states.len());
                    return error("markov_modulated.states", message);
                }
                for (i, state) in states.iter().enumerate() {
                    let rate = state.requests_per_s;
                    if rate != 0.0 && !(1e-6..=1e9).contains(&rate) {
                        let message = format!("found {rate}, expected 0, or a number from 1e-6 to 1e9");
                        return error(&format!("markov_modulated.states[{i}].requests_per_s"), message);
                    }
                }
                let modulation = Modulation::new(states);
                if modulation.mean_rate == 0.0 {
                    return error(
                        "markov_modulated.states",
                        "found only states without requests, expected at least one state with `requests_per_s` above 0"
                            .into(),
                    );
                }
                let changes = 1.0 / (modulation.mean_dwell_s * modulation.mean_rate);
                if changes > MOST_CHANGES {
                    let message = format!(
                        "found states that change {changes:.0} times between two requests, expected at most \
                         {MOST_CHANGES} times: use `poisson` with {:.6} requests per second, which is nearly the \
                         same",
                        modulation.mean_rate
                    );
                    return error("markov_modulated.states", message);
                }
                ("markov_modulated.states", modulation.mean_rate)
            }
            Self::Immediate => return Ok(()),
        };
        if requests as f64 / rate > LONGEST_S {
            return error(
                field,
                format!(
                    "found {rate}, with which {requests} requests take more than 285 years, expected a higher rate \
                     or fewer requests"
                ),
            );
        }
        Ok(())
    }

    /// Describes the process in a few words.
    pub(super) fn describe(&self) -> String {
        let rate = |r: f64| if r.fract() == 0.0 && r < 1e15 { format_count(r as u64) } else { r.to_string() };
        match self {
            Self::Poisson { requests_per_s } => format!("Poisson, {} requests/s", rate(*requests_per_s)),
            Self::Fixed { requests_per_s } => format!("fixed, {} requests/s", rate(*requests_per_s)),
            Self::MarkovModulated { states } => {
                let modulation = Modulation::new(states);
                let told: Vec<String> = states
                    .iter()
                    .map(|s| format!("{} requests/s for {} us", rate(s.requests_per_s), rate(s.mean_dwell_us)))
                    .collect();
                let burst = Mmpp2::of(states)
                    .map_or(String::new(), |mmpp| format!(", index of dispersion {:.4}", mmpp.dispersion_limit()));
                let mean = modulation.mean_rate;
                format!("Markov-modulated Poisson, {mean:.4} requests/s in the mean{burst}: {}", told.join(", "))
            }
            Self::Immediate => "all at time 0".to_owned(),
        }
    }

    /// Returns the clock that draws the arrival times.
    pub(super) fn clock(&self, stream: Stream) -> Clock {
        match self {
            Self::Poisson { requests_per_s } => Clock::Poisson { mean_ns: 1e9 / requests_per_s, sum: Sum::default() },
            Self::Fixed { requests_per_s } => Clock::Fixed { requests_per_s: *requests_per_s },
            Self::MarkovModulated { states } => Clock::Modulated(Modulated::new(states, &stream)),
            Self::Immediate => Clock::Immediate,
        }
    }
}

/// Means of an MMPP whose states are followed by any other state with equal probability. All states occur equally often, so the share of
/// time in a state is in proportion to its mean dwell.
struct Modulation {
    /// Mean rate of arrivals, requests per second.
    mean_rate: f64,
    /// Mean dwell over all states, s.
    mean_dwell_s: f64,
}

impl Modulation {
    fn new(states: &[ArrivalState]) -> Self {
        let dwell: f64 = states.iter().map(|state| state.mean_dwell_us).sum();
        let arrivals: f64 = states.iter().map(|state| state.requests_per_s * state.mean_dwell_us).sum();
        Self { mean_rate: arrivals / dwell, mean_dwell_s: dwell * 1e-6 / states.len() as f64 }
    }
}

/// A sum of gaps. The remainder that rounding to nanoseconds leaves is added to the next gap.
#[derive(Default)]
pub(super) struct Sum {
    now_ns: u64,
    remainder_ns: f64,
}

impl Sum {
    #[inline]
    fn add(&mut self, gap_ns: f64) {
        let gap = gap_ns + self.remainder_ns;
        let whole = gap as u64;
        self.now_ns += whole;
        self.remainder_ns = gap - whole as f64;
    }
}

pub(super) enum Clock {
    Poisson { mean_ns: f64, sum: Sum },
    Fixed { requests_per_s: f64 },
    Modulated(Modulated),
    Immediate,
}

impl Clock {
    /// Returns the arrival time of request `i`; requests have to be asked for in order.
    #[inline]
    pub(super) fn arrival(&mut self, stream: &Stream, i: u64) -> Ns {
        // 1 - u is in (0, 1].
        let exponential = || -libm::log(1.0 - stream.uniform(i, draw::GAP));
        match self {
            Self::Immediate => Ns::ZERO,
            Self::Fixed { requests_per_s } => Ns((i as f64 * 1e9 / *requests_per_s) as u64),
            Self::Poisson { mean_ns, sum } => {
                if i > 0 {
                    sum.add(exponential() * *mean_ns);
                }
                Ns(sum.now_ns)
            }
            Self::Modulated(modulated) => {
                if i > 0 {
                    let gap = modulated.gap_ns(stream, exponential());
                    modulated.sum.add(gap);
                }
                Ns(modulated.sum.now_ns)
            }
        }
    }
}

/// An MMPP as a Poisson process of rate 1 on a clock that runs at the rate of the state. Request i takes the same draw as with `poisson`,
/// and dwell j has draws of its own. So workloads that differ in arrivals alone are compared on common random numbers, and states of equal
/// rates give that Poisson process.
pub(super) struct Modulated {
    /// Rate in requests per nanosecond, and mean dwell in nanoseconds, of each state.
    states: Vec<(f64, f64)>,
    state: usize,
    dwells: u64,
    left_ns: f64,
    sum: Sum,
}

impl Modulated {
    fn new(states: &[ArrivalState], stream: &Stream) -> Self {
        let states: Vec<(f64, f64)> =
            states.iter().map(|state| (state.requests_per_s * 1e-9, state.mean_dwell_us * 1e3)).collect();
        // The first request is one of many: it sees a state with a probability in proportion to the arrivals in it.
        let total: f64 = states.iter().map(|(rate, dwell)| rate * dwell).sum();
        let mut at = stream.uniform(0, draw::FIRST_STATE) * total;
        let last = states.iter().rposition(|&(rate, _)| rate > 0.0).unwrap_or(0);
        let state = states
            .iter()
            .position(|(rate, dwell)| {
                at -= rate * dwell;
                at < 0.0
            })
            .unwrap_or(last);
        let mut modulated = Self { states, state, dwells: 0, left_ns: 0.0, sum: Sum::default() };
        modulated.dwell(stream);
        modulated
    }

    /// Draws the duration of the state.
    fn dwell(&mut self, stream: &Stream) {
        self.left_ns = -libm::log(1.0 - stream.uniform(self.dwells, draw::DWELL)) * self.states[self.state].1;
        self.dwells += 1;
    }

    /// Returns the time until the process has had `arrivals` arrivals in the mean, ns.
    fn gap_ns(&mut self, stream: &Stream, mut arrivals: f64) -> f64 {
        let mut gap = 0.0;
        loop {
            let (rate, _) = self.states[self.state];
            let within = rate * self.left_ns;
            if arrivals < within {
                let last = arrivals / rate;
                self.left_ns -= last;
                return gap + last;
            }
            arrivals -= within;
            gap += self.left_ns;
            let others = self.states.len() - 1;
            let next = ((stream.uniform(self.dwells, draw::NEXT_STATE) * others as f64) as usize).min(others - 1);
            self.state = if next < self.state { next } else { next + 1 };
            self.dwell(stream);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use softsense_base::{Purpose, check_ranges};

    use super::*;

    fn instants(arrivals: &Arrivals, seed: u64, requests: u64) -> Vec<u64> {
        let stream = Stream::new(seed, Purpose::Workload);
        let mut clock = arrivals.clock(stream);
        (0..requests).map(|i| clock.arrival(&stream, i).0).collect()
    }

    fn modulated(states: &[(f64, f64)]) -> Arrivals {
        let state = |&(requests_per_s, mean_dwell_us)| ArrivalState { requests_per_s, mean_dwell_us };
        Arrivals::MarkovModulated { states: states.iter().map(state).collect() }
    }

    /// Bursts of 20 ms at 5,000 a second, and 80 ms at 200.
    const BURSTS: [(f64, f64); 2] = [(5_000.0, 20_000.0), (200.0, 80_000.0)];

    /// Do moments of gaps, and counts in windows of 10, 100 and 1,000 ms, follow the closed forms? There are 40 seeds of 50,000 requests
    /// each. Each mean has to be within four standard errors of the closed form. Standard errors are 0.5 to 5 %, so that an error of 5 % in
    /// the mean, or a quarter in an index of dispersion, is seen with power above 0.99.
    #[test]
    fn gaps_and_counts_follow_the_closed_forms() {
        let arrivals = modulated(&BURSTS);
        let Arrivals::MarkovModulated { states } = &arrivals else { unreachable!() };
        let mmpp = Mmpp2::of(states).unwrap();
        let mut names = vec![];
        let mut found: Vec<Vec<f64>> = vec![];
        for seed in 0..40 {
            let at = instants(&arrivals, seed, 50_000);
            assert_eq!(at[0], 0);
            let gaps: Vec<f64> = at.windows(2).map(|pair| (pair[1] - pair[0]) as f64 * 1e-9).collect();
            let moment = |k: i32| gaps.iter().map(|gap| gap.powi(k)).sum::<f64>() / gaps.len() as f64;
            let mut each: Vec<(String, f64, f64)> =
                (1..=3).map(|k| (format!("moment {k}"), moment(k as i32), mmpp.gap_moment(k))).collect();
            for window_s in [0.01, 0.1, 1.0] {
                // Windows that begin long after the first request see the process as it is at any time.
                let windows = (40.0 / window_s) as usize;
                let mut counts = vec![0.0; windows];
                for &instant in &at {
                    let window = (instant as f64 * 1e-9 - 2.0) / window_s;
                    if window >= 0.0 && window < windows as f64 {
                        counts[window as usize] += 1.0;
                    }
                }
                let mean = mmpp.mean_rate() * window_s;
                let variance = counts.iter().map(|count: &f64| (count - mean).powi(2)).sum::<f64>() / windows as f64;
                each.push((format!("dispersion in {window_s} s"), variance / mean, mmpp.dispersion(window_s)));
            }
            names = each.iter().map(|(name, _, expected)| (name.clone(), *expected)).collect();
            found.push(each.into_iter().map(|(_, value, _)| value).collect());
        }
        for (i, (name, expected)) in names.iter().enumerate() {
            let values: Vec<f64> = found.iter().map(|each| each[i]).collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64;
            let error = (variance / values.len() as f64).sqrt();
            assert!(error < 0.06 * expected, "{name}: {error} of {expected}");
            assert!((mean - expected).abs() < 4.0 * error, "{name}: {mean} +- {error}, not {expected}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        /// Do any number of states keep the mean rate? Arrivals never go back, a seed has one sequence, and states of equal rates are
        /// Poisson to the nanosecond that rounding leaves. Rates in proportion to dwell have the mean rate of the closed form: 20,000
        /// requests over at least 200 changes give it to about a tenth, of which four are allowed.
        #[test]
        fn any_states_keep_the_mean_rate(
            states in prop::collection::vec((10.0f64..1e5, 10.0f64..1e4), 2..6),
            seed in 0u64..1_000,
        ) {
            let arrivals = modulated(&states);
            arrivals.check(20_000).unwrap();
            let at = instants(&arrivals, seed, 20_000);
            prop_assert_eq!(&at, &instants(&arrivals, seed, 20_000));
            prop_assert!(at.windows(2).all(|pair| pair[0] <= pair[1]));
            let Arrivals::MarkovModulated { states: told } = &arrivals else { unreachable!() };
            let modulation = Modulation::new(told);
            let span_s = at[at.len() - 1] as f64 * 1e-9;
            if span_s / modulation.mean_dwell_s > 200.0 * states.len() as f64 {
                let rate = 20_000.0 / span_s;
                prop_assert!((rate / modulation.mean_rate - 1.0).abs() < 0.4, "{} of {}", rate, modulation.mean_rate);
            }
            let equal: Vec<(f64, f64)> = states.iter().map(|&(_, dwell)| (333.0, dwell)).collect();
            let poisson = instants(&Arrivals::Poisson { requests_per_s: 333.0 }, seed, 2_000);
            for (a, b) in instants(&modulated(&equal), seed, 2_000).into_iter().zip(poisson) {
                prop_assert!(a.abs_diff(b) <= 1, "{} and {}", a, b);
            }
        }
    }

    /// Does the process go on after a state without arrivals, in which there are none?
    #[test]
    fn silence_is_a_state() {
        let silent = modulated(&[(1_000.0, 50_000.0), (0.0, 1e6)]);
        silent.check(1_000).unwrap();
        let at = instants(&silent, 3, 20_000);
        let long = at.windows(2).filter(|pair| pair[1] - pair[0] > 100_000_000).count() as f64;
        // There is one silence in 50 requests. Gaps of more than 100 ms are due to silences, of which a share of exp(-0.1) is that long.
        assert!((long / 400.0 / (-0.1f64).exp() - 1.0).abs() < 0.2, "{long}");
    }

    #[test]
    fn bad_states_are_named() {
        for (states, message) in [
            (vec![(1.0, 1.0)], "states: found 1 states, expected 2 to 64"),
            (vec![(-1.0, 1.0), (1.0, 1.0)], "states[0].requests_per_s: found -1"),
            (vec![(1.0, 1e6), (1.0, 0.0)], "states[1].mean_dwell_us: found 0"),
            (vec![(0.0, 1.0), (0.0, 1.0)], "states: found only states without requests"),
            (vec![(1.0, 1.0), (2.0, 1.0)], "states: found states that change 666667 times between two requests"),
            (vec![(1e-6, 1e14), (0.0, 1e14)], "states: found 0.0000005, with which 1000000 requests take"),
        ] {
            let arrivals = modulated(&states);
            let checked = check_ranges("workload.arrivals", &arrivals).and_then(|()| arrivals.check(1_000_000));
            let error = checked.unwrap_err().to_string();
            assert!(error.starts_with(&format!("workload.arrivals.markov_modulated.{message}")), "{error}");
        }
    }

    /// Golden values: a change here changes every published result on bursty arrivals.
    #[test]
    fn the_process_is_pinned() {
        assert_eq!(instants(&modulated(&BURSTS), 9, 4), GOLDEN);
    }

    const GOLDEN: [u64; 4] = [0, 123_840, 355_693, 444_320];
}
