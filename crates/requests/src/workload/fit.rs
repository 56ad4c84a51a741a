//! A Markov-modulated Poisson process fitted to recorded arrivals.

use schemars::JsonSchema;
use serde::Serialize;
use softsense_base::{Error, Ns, Result};

use super::mmpp::Mmpp2;
use crate::RequestSource;

/// Most requests that are fitted: the first of a recording.
const MOST_REQUESTS: usize = 100_000;
const LEAST_REQUESTS: usize = 100;
/// Most steps from each of the starts, and from the best of them.
const FIRST_STEPS: u32 = 30;
const MOST_STEPS: u32 = 1_000;
/// Gain of a step, in nats a gap, below which the fit has converged.
const AT_REST: f64 = 1e-8;
/// Starts of the fit: the rate of bursts over the mean rate, and requests in a burst.
const STARTS: [(f64, f64); 6] = [(2.0, 5.0), (2.0, 100.0), (10.0, 5.0), (10.0, 100.0), (50.0, 10.0), (50.0, 300.0)];
/// Windows in which counts are compared, in mean gaps.
const WINDOWS: [f64; 4] = [3.0, 30.0, 300.0, 3_000.0];
/// Fewest windows for an estimate of a variance.
const LEAST_WINDOWS: f64 = 20.0;

/// A fit of two states to arrivals, and how well it describes them.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ArrivalFit {
    /// Requests that were fitted.
    pub requests: u64,
    /// Time from the first of these requests to the last, s.
    pub span_s: f64,
    /// Rate of each state, requests per second, the slower first.
    pub requests_per_s: [f64; 2],
    /// Mean dwell of each state, us.
    pub mean_dwell_us: [f64; 2],
    /// Steps of the fit.
    pub steps: u32,
    /// Mean log of the ratio of a gap's density to its density in a Poisson process of the same mean rate, nats.
    pub gain_over_poisson_nats: f64,
    /// Statistics of the recording and, in closed form, of the fit.
    pub statistics: Vec<Fitted>,
}

/// A statistic of the arrivals.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Fitted {
    /// Name of the statistic.
    pub name: String,
    /// Value in the recording.
    pub recorded: f64,
    /// Value in the fit.
    pub fitted: f64,
    /// Value in a Poisson process of the same mean rate.
    pub poisson: f64,
}

impl ArrivalFit {
    /// Fits the first 100,000 arrivals of `source`; the result is a function of them. Requests of one instant are spread evenly over the
    /// smallest gap that there is: without a resolution of time a burst of them would have no finite rate.
    ///
    /// The likelihood of the gaps is maximised by expectation and maximisation. It may have several maxima, so the fit begins from six
    /// starts.
    ///
    /// Source: T. Rydén, "An EM algorithm for estimation in Markov-modulated Poisson processes", Computational Statistics & Data Analysis
    /// 21, 1996, in the scaled form of W. J. J. Roberts, Y. Ephraim, E. Dieguez, "On Rydén's EM algorithm for estimating MMPPs", IEEE
    /// Signal Processing Letters 13(6), 2006. Deviations: the exponentials of the two-by-two matrices, and their integral, are in closed
    /// form by eigenvalues. The larger eigenvalue is taken out of each gap so that none underflows.
    ///
    /// # Errors
    /// An error of the source; or fewer than 100 requests, or all requests at one instant, both reported at `place`.
    pub fn of(source: &mut dyn RequestSource, place: &str) -> Result<Self> {
        let mut instants = Vec::new();
        while instants.len() < MOST_REQUESTS
            && let Some(request) = source.next_request()?
        {
            instants.push(request.arrival);
        }
        let found = instants.len();
        if found < LEAST_REQUESTS {
            let message = format!("found {found} requests, expected at least {LEAST_REQUESTS} to fit their arrivals");
            return Err(Error::trace(place.to_owned(), message));
        }
        let gaps = gaps_s(&instants).ok_or_else(|| {
            Error::trace(place.to_owned(), "found all requests at one instant, expected arrivals over time".to_owned())
        })?;
        Ok(Self::of_gaps(&gaps))
    }

    fn of_gaps(gaps: &[f64]) -> Self {
        let span_s: f64 = gaps.iter().sum();
        let mean = span_s / gaps.len() as f64;
        // Times in mean gaps keep numbers near 1.
        let gaps: Vec<f64> = gaps.iter().map(|gap| gap / mean).collect();
        let mut best: Option<Climb> = None;
        for (burst, length) in STARTS {
            let climb = Climb::from(burst, length).steps(&gaps, FIRST_STEPS);
            if best.as_ref().is_none_or(|best| climb.log_likelihood > best.log_likelihood) {
                best = Some(climb);
            }
        }
        let best = best.expect("there are starts").steps(&gaps, MOST_STEPS);
        let Mmpp2 { mut rates, mut leaves } = best.mmpp;
        if rates[0] > rates[1] {
            (rates, leaves) = ([rates[1], rates[0]], [leaves[1], leaves[0]]);
        }
        let of_s = |each: [f64; 2]| each.map(|rate| rate / mean);
        let mmpp = Mmpp2 { rates: of_s(rates), leaves: of_s(leaves) };
        Self {
            requests: gaps.len() as u64 + 1,
            span_s,
            requests_per_s: mmpp.rates,
            mean_dwell_us: mmpp.states().map(|state| state.mean_dwell_us),
            steps: best.steps,
            // A gap y of a Poisson process has the density exp(-y), whose mean log is -1.
            gain_over_poisson_nats: best.log_likelihood / gaps.len() as f64 + 1.0,
            statistics: statistics(&gaps, mean, &mmpp),
        }
    }

    /// Formats the fit as the fields of a config.
    pub fn to_toml(&self) -> String {
        let state = |i: usize| {
            let (rate, dwell) = (self.requests_per_s[i], self.mean_dwell_us[i]);
            format!("    {{ requests_per_s = {rate:?}, mean_dwell_us = {dwell:?} }},\n")
        };
        format!("[workload]\narrivals.markov_modulated.states = [\n{}{}]\n", state(0), state(1))
    }

    /// Returns labels and values to be shown to people.
    pub fn describe(&self) -> Vec<(String, String)> {
        let mut rows = vec![("requests".to_owned(), format!("{} over {:.6} s", self.requests, self.span_s))];
        for (name, i) in [("slower state", 0), ("faster state", 1)] {
            let (rate, dwell) = (self.requests_per_s[i], self.mean_dwell_us[i]);
            rows.push((name.to_owned(), format!("{rate:.4} requests/s for {dwell:.4} us in the mean")));
        }
        let gain = self.gain_over_poisson_nats;
        rows.push(("over Poisson".to_owned(), format!("{gain:.4} nats a request")));
        for row in &self.statistics {
            let Fitted { name, recorded, fitted, poisson } = row;
            rows.push((name.clone(), format!("{recorded:.4} recorded, {fitted:.4} fitted, {poisson:.4} Poisson")));
        }
        rows
    }
}

/// Returns the gaps between instants in order, s, none of them 0; `None` if all instants are equal.
fn gaps_s(instants: &[Ns]) -> Option<Vec<f64>> {
    let between = |pair: &[Ns]| (pair[1] - pair[0]).0;
    let least = instants.windows(2).map(between).filter(|&gap| gap > 0).min()? as f64;
    let mut gaps = Vec::with_capacity(instants.len() - 1);
    let mut groups = instants.chunk_by(|a, b| a == b).peekable();
    while let Some(group) = groups.next() {
        let share = least / group.len() as f64;
        gaps.extend(std::iter::repeat_n(share * 1e-9, group.len() - 1));
        if let Some(next) = groups.peek() {
            gaps.push(((next[0] - group[0]).0 as f64 - least + share) * 1e-9);
        }
    }
    Some(gaps)
}

/// Computes statistics of gaps, which are given in units of their mean, `mean` s.
fn statistics(gaps: &[f64], mean: f64, mmpp: &Mmpp2) -> Vec<Fitted> {
    let n = gaps.len() as f64;
    let second = gaps.iter().map(|gap| gap * gap).sum::<f64>() / n;
    let fitted = |name: &str, recorded, fitted, poisson| Fitted { name: name.to_owned(), recorded, fitted, poisson };
    let mut found = vec![
        fitted("requests per s", 1.0 / mean, mmpp.mean_rate(), 1.0 / mean),
        fitted("squared coefficient of variation of gaps", second - 1.0, mmpp.gap_variation(), 1.0),
    ];
    for window in WINDOWS {
        let windows = (n / window).floor();
        if windows < LEAST_WINDOWS {
            break;
        }
        let mut counts = vec![0.0; windows as usize];
        let mut at = 0.0;
        for gap in gaps {
            at += gap;
            if let Some(count) = counts.get_mut((at / window) as usize) {
                *count += 1.0;
            }
        }
        let expected = counts.iter().sum::<f64>() / windows;
        let variance = counts.iter().map(|count| (count - expected).powi(2)).sum::<f64>() / (windows - 1.0);
        let name = format!("index of dispersion in {:.3} s", window * mean);
        found.push(fitted(&name, variance / expected, mmpp.dispersion(window * mean), 1.0));
    }
    found
}

type Matrix = [[f64; 2]; 2];

fn times(a: &Matrix, b: &Matrix) -> Matrix {
    [0, 1].map(|i| [0, 1].map(|j| a[i][0] * b[0][j] + a[i][1] * b[1][j]))
}

/// The exponential of (Q - L) y by the eigenvalues of Q - L, which are real and differ. Sums have terms of one sign wherever possible,
/// because rates may differ by nine orders of magnitude.
struct Exponential {
    /// The larger eigenvalue, which is below 0.
    slow: f64,
    /// Difference of the eigenvalues: the larger less the smaller.
    apart: f64,
    /// Difference of each diagonal element and the smaller eigenvalue, over `apart`; the two add up to 1.
    above: [f64; 2],
    /// Rates at which states are left, over `apart`.
    leaves: [f64; 2],
}

impl Exponential {
    fn of(Mmpp2 { rates, leaves }: &Mmpp2) -> Self {
        let (first, second) = (-rates[0] - leaves[0], -rates[1] - leaves[1]);
        let apart = ((first - second).powi(2) + 4.0 * leaves[0] * leaves[1]).sqrt();
        let fast = 0.5 * (first + second - apart);
        // The product of both eigenvalues is the determinant.
        let slow = (rates[0] * rates[1] + rates[0] * leaves[1] + rates[1] * leaves[0]) / fast;
        // The product of both differences is that of the rates at which states are left.
        let greater = 0.5 * ((first - second).abs() + apart);
        let lesser = leaves[0] * leaves[1] / greater;
        let above = if first > second { [greater, lesser] } else { [lesser, greater] };
        Self { slow, apart, above: above.map(|of| of / apart), leaves: leaves.map(|of| of / apart) }
    }

    /// Returns exp((Q - L) y) / exp(slow y).
    fn at(&self, y: f64) -> Matrix {
        let less = -libm::expm1(-self.apart * y);
        let [u, v] = self.above;
        [[u + v * (1.0 - less), self.leaves[0] * less], [self.leaves[1] * less, v + u * (1.0 - less)]]
    }

    /// Returns the integral over t from 0 to y of exp((Q - L)(y - t)) M exp((Q - L) t), over exp(slow y).
    fn integral(&self, y: f64, inner: &Matrix) -> Matrix {
        let d = self.apart * y;
        let less = -libm::expm1(-d);
        let mixed = if d < 1e-8 { y } else { less / self.apart };
        let weights = [[y, mixed], [mixed, y * (1.0 - less)]];
        // Projections on the eigenvectors.
        let ([u, v], [p, q]) = (self.above, self.leaves);
        let projections = [[[u, p], [q, v]], [[v, -p], [-q, u]]];
        let mut sum = [[0.0; 2]; 2];
        for (left, row) in projections.iter().zip(weights) {
            let half = times(left, inner);
            for (right, weight) in projections.iter().zip(row) {
                let part = times(&half, right);
                for i in 0..2 {
                    for j in 0..2 {
                        sum[i][j] += weight * part[i][j];
                    }
                }
            }
        }
        sum
    }
}

/// The state of the maximisation. Time is in mean gaps.
struct Climb {
    mmpp: Mmpp2,
    /// Probability of each state at the first request.
    first: [f64; 2],
    /// Log likelihood of the gaps, nats, before the last step.
    log_likelihood: f64,
    steps: u32,
}

impl Climb {
    /// Makes a start: bursts of `burst` times the mean rate and `length` requests; between bursts, the reciprocal of that rate.
    fn from(burst: f64, length: f64) -> Self {
        let quiet = 1.0 / burst;
        let share = (1.0 - quiet) / (burst - quiet);
        let leaves = burst / length;
        let mmpp = Mmpp2 { rates: [quiet, burst], leaves: [leaves * share / (1.0 - share), leaves] };
        Self { mmpp, first: mmpp.at_arrival(), log_likelihood: f64::NEG_INFINITY, steps: 0 }
    }

    fn steps(mut self, gaps: &[f64], most: u32) -> Self {
        let mut forward = vec![([0.0; 2], 0.0); gaps.len()];
        for _ in 0..most {
            let before = self.log_likelihood;
            self.step(gaps, &mut forward);
            if self.log_likelihood - before < AT_REST * gaps.len() as f64 {
                break;
            }
        }
        self
    }

    /// Makes one step of expectation and maximisation. `forward` takes for each gap the distribution of the state before it, and its scale.
    fn step(&mut self, gaps: &[f64], forward: &mut [([f64; 2], f64)]) {
        let Mmpp2 { rates, leaves } = self.mmpp;
        let exponential = Exponential::of(&self.mmpp);
        let (mut state, mut log_likelihood) = (self.first, 0.0);
        for (&y, kept) in gaps.iter().zip(&mut *forward) {
            let e = exponential.at(y);
            let next = [0, 1].map(|j| (state[0] * e[0][j] + state[1] * e[1][j]) * rates[j]);
            let scale = next[0] + next[1];
            *kept = (state, scale);
            state = next.map(|p| p / scale);
            log_likelihood += libm::log(scale) + exponential.slow * y;
        }
        // Time in each state, changes from each, and arrivals in each.
        let (mut time, mut changes, mut arrivals) = ([0.0; 2], [0.0; 2], [0.0; 2]);
        let (mut after, mut later) = (state, [1.0, 1.0]);
        for (&y, &(before, scale)) in gaps.iter().zip(&*forward).rev() {
            for i in 0..2 {
                arrivals[i] += after[i] * later[i];
            }
            let arrived = [rates[0] * later[0] / scale, rates[1] * later[1] / scale];
            let inner = arrived.map(|of| [of * before[0], of * before[1]]);
            let integral = exponential.integral(y, &inner);
            for i in 0..2 {
                time[i] += integral[i][i];
                changes[i] += leaves[i] * integral[1 - i][i];
            }
            let e = exponential.at(y);
            later = [0, 1].map(|i| e[i][0] * arrived[0] + e[i][1] * arrived[1]);
            after = before;
        }
        let first = [after[0] * later[0], after[1] * later[1]];
        let total = first[0] + first[1];
        // A state that has all but died out keeps a small number, so that its rates stay finite.
        let over = |part: f64, time: f64| (part.max(1e-12) / time.max(1e-12)).min(1e12);
        self.first = first.map(|p| p / total);
        self.mmpp = Mmpp2 {
            rates: [0, 1].map(|i| over(arrivals[i], time[i])),
            leaves: [0, 1].map(|i| over(changes[i], time[i])),
        };
        (self.log_likelihood, self.steps) = (log_likelihood, self.steps + 1);
    }
}

#[cfg(test)]
mod tests {
    use softsense_base::{Purpose, Stream};

    use super::super::arrivals::{ArrivalState, Arrivals};
    use super::*;

    fn gaps(arrivals: &Arrivals, seed: u64, requests: u64) -> Vec<f64> {
        let stream = Stream::new(seed, Purpose::Workload);
        let mut clock = arrivals.clock(stream);
        let instants: Vec<Ns> = (0..requests).map(|i| clock.arrival(&stream, i)).collect();
        gaps_s(&instants).unwrap()
    }

    const BURSTS: Mmpp2 = Mmpp2 { rates: [40.0, 3_000.0], leaves: [2.0, 60.0] };

    fn modulated(mmpp: &Mmpp2) -> Arrivals {
        Arrivals::MarkovModulated { states: mmpp.states().to_vec() }
    }

    /// Does the fit find known states again? There are 12 seeds of 10,000 requests, each with some 100 changes of the state in each
    /// direction. The mean logarithm of found over true has to be within four standard errors of 0. Standard errors are at most 4 %, so
    /// that an estimate that is off by a quarter is seen with power above 0.95.
    #[test]
    fn known_states_are_found_again() {
        let fits: Vec<ArrivalFit> =
            (0..12).map(|seed| ArrivalFit::of_gaps(&gaps(&modulated(&BURSTS), seed, 10_000))).collect();
        let truth = BURSTS.states();
        let check = |name: &str, of: &dyn Fn(&ArrivalFit) -> f64, truth: f64| {
            let logs: Vec<f64> = fits.iter().map(|fit| (of(fit) / truth).ln()).collect();
            let n = logs.len() as f64;
            let mean = logs.iter().sum::<f64>() / n;
            let error = (logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (n - 1.0) / n).sqrt();
            assert!(error < 0.05, "{name}: {error}");
            assert!(mean.abs() < 4.0 * error, "{name}: off by {mean} +- {error}");
        };
        for (i, truth) in truth.iter().enumerate() {
            check("rate", &|fit| fit.requests_per_s[i], truth.requests_per_s);
            check("dwell", &|fit| fit.mean_dwell_us[i], truth.mean_dwell_us);
        }
        assert!(fits.iter().all(|fit| fit.gain_over_poisson_nats > 0.5));
    }

    /// Is hardly anything gained on Poisson arrivals? Three more parameters gain 3/2 nats in the mean, over 20,000 requests.
    #[test]
    fn poisson_is_no_burst() {
        let fit = ArrivalFit::of_gaps(&gaps(&Arrivals::Poisson { requests_per_s: 500.0 }, 4, 20_000));
        assert!((-1e-6..8.0 / 20_000.0).contains(&fit.gain_over_poisson_nats), "{}", fit.gain_over_poisson_nats);
        assert!((fit.statistics[1].fitted - 1.0).abs() < 0.1, "{:?}", fit.statistics);
    }

    /// Does each step raise the likelihood, also where gaps differ by nine orders of magnitude?
    #[test]
    fn the_likelihood_never_falls() {
        let long = Mmpp2 { rates: [1e-3, 5e4], leaves: [1e-2, 1e3] };
        for mmpp in [BURSTS, long] {
            let gaps = gaps(&modulated(&mmpp), 7, 3_000);
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            let gaps: Vec<f64> = gaps.iter().map(|gap| gap / mean).collect();
            let mut climb = Climb::from(10.0, 5.0);
            let mut before = f64::NEG_INFINITY;
            for _ in 0..60 {
                climb = climb.steps(&gaps, 1);
                assert!(climb.log_likelihood.is_finite() && climb.log_likelihood > before - 1e-8 * before.abs());
                before = climb.log_likelihood;
            }
        }
    }

    /// Are exponential and integral, in closed form, equal to sums of the power series, and to Simpson's rule over 2,000 steps?
    #[test]
    fn exponentials_are_those_of_the_series() {
        for mmpp in
            [BURSTS, Mmpp2 { rates: [2.0, 2.0], leaves: [1e-3, 1.0] }, Mmpp2 { rates: [0.0, 5.0], leaves: [0.3, 0.2] }]
        {
            let scale = 1.0 / mmpp.rates[1];
            let exponential = Exponential::of(&mmpp);
            let a =
                [[-mmpp.rates[0] - mmpp.leaves[0], mmpp.leaves[0]], [mmpp.leaves[1], -mmpp.rates[1] - mmpp.leaves[1]]];
            let series = |y: f64| {
                let (mut sum, mut term) = ([[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]);
                for k in 1..60 {
                    term = times(&term, &a).map(|row| row.map(|of| of * y / f64::from(k)));
                    sum = [0, 1].map(|i| [0, 1].map(|j| sum[i][j] + term[i][j]));
                }
                sum
            };
            let near = |found: &Matrix, expected: &Matrix, y: f64| {
                for (f, e) in found.iter().flatten().zip(expected.iter().flatten()) {
                    let f = f * (exponential.slow * y).exp();
                    assert!((f - e).abs() < 1e-7 * (1.0 + e.abs()), "{mmpp:?} at {y}: {f}, not {e}");
                }
            };
            let inner = [[0.2, 1.5], [0.7, 0.1]];
            for y in [1e-6 * scale, 0.1 * scale, 3.0 * scale] {
                near(&exponential.at(y), &series(y), y);
                let steps = 2_000;
                let mut sum = [[0.0; 2]; 2];
                for step in 0..=steps {
                    let t = y * f64::from(step) / f64::from(steps);
                    let weight = if step % steps == 0 { 1.0 } else { f64::from(2 + 2 * (step % 2)) };
                    let part = times(&times(&series(y - t), &inner), &series(t));
                    for i in 0..2 {
                        for j in 0..2 {
                            sum[i][j] += part[i][j] * weight * y / (3.0 * f64::from(steps));
                        }
                    }
                }
                near(&exponential.integral(y, &inner), &sum, y);
            }
        }
    }

    /// Are five requests at one instant, recorded to a microsecond, spread over fifths of it?
    #[test]
    fn requests_of_one_instant_are_spread() {
        let instants: Vec<Ns> = [0, 0, 0, 0, 0, 1_000, 5_000].map(Ns).to_vec();
        let gaps = gaps_s(&instants).unwrap();
        let expected = [200.0, 200.0, 200.0, 200.0, 200.0, 4_000.0].map(|ns: f64| ns * 1e-9);
        assert!(gaps.iter().zip(expected).all(|(a, b)| (a / b - 1.0).abs() < 1e-9), "{gaps:?}");
        assert_eq!(gaps_s(&[Ns(7); 3]), None);
    }

    /// Is the output of a fit accepted as a section of a config?
    #[test]
    fn the_fit_is_a_section_of_a_config() {
        let fit = ArrivalFit::of_gaps(&gaps(&modulated(&BURSTS), 1, 2_000));
        let config: toml::Table = fit.to_toml().parse().unwrap();
        let arrivals: Arrivals = config["workload"]["arrivals"].clone().try_into().unwrap();
        let [slow, fast] =
            [0, 1].map(|i| ArrivalState { requests_per_s: fit.requests_per_s[i], mean_dwell_us: fit.mean_dwell_us[i] });
        assert_eq!(arrivals, Arrivals::MarkovModulated { states: vec![slow, fast] });
        assert!(slow.requests_per_s < fast.requests_per_s);
    }
}
