//! A Markov-modulated Poisson process of two states, in closed form.

use super::arrivals::ArrivalState;

/// A Markov-modulated Poisson process (MMPP) of two states.
///
/// Source: W. Fischer, K. Meier-Hellstern, "The Markov-modulated Poisson process (MMPP) cookbook", Performance Evaluation 18, 1993;
/// the index of dispersion: H. Heffes, D. M. Lucantoni, "A Markov modulated characterization of packetized voice and data traffic
/// and related statistical multiplexer performance", IEEE JSAC 4(6), 1986.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mmpp2 {
    /// Rates of both states, per second.
    pub rates: [f64; 2],
    /// Rates at which the states are left, per second.
    pub leaves: [f64; 2],
}

impl Mmpp2 {
    /// Returns the process of two states; `None` for another number of states.
    pub fn of(states: &[ArrivalState]) -> Option<Self> {
        let [a, b] = states else { return None };
        Some(Self {
            rates: [a.requests_per_s, b.requests_per_s],
            leaves: [1e6 / a.mean_dwell_us, 1e6 / b.mean_dwell_us],
        })
    }

    /// Returns the states as a config has them.
    pub fn states(&self) -> [ArrivalState; 2] {
        [0, 1].map(|i| ArrivalState { requests_per_s: self.rates[i], mean_dwell_us: 1e6 / self.leaves[i] })
    }

    /// Returns the share of time in each state.
    pub fn shares(&self) -> [f64; 2] {
        let [to_second, to_first] = self.leaves;
        [to_first, to_second].map(|rate| rate / (to_second + to_first))
    }

    /// Returns the mean rate, arrivals per second.
    pub fn mean_rate(&self) -> f64 {
        let shares = self.shares();
        shares[0] * self.rates[0] + shares[1] * self.rates[1]
    }

    /// Returns the variance over the mean of the count of arrivals in `window_s`, wherever the window begins: 1 for Poisson.
    pub fn dispersion(&self, window_s: f64) -> f64 {
        let decay = (self.leaves[0] + self.leaves[1]) * window_s;
        1.0 + (self.dispersion_limit() - 1.0) * (1.0 + libm::expm1(-decay) / decay)
    }

    /// Returns the limit of [`dispersion`](Self::dispersion) for long windows.
    pub fn dispersion_limit(&self) -> f64 {
        let [s1, s2] = self.shares();
        let change = self.leaves[0] + self.leaves[1];
        1.0 + 2.0 * s1 * s2 * (self.rates[0] - self.rates[1]).powi(2) / (change * self.mean_rate())
    }

    /// Returns the k-th moment of the time between two arrivals, k! p (L - Q)^-k 1, in s^k; p is the distribution of the state at an
    /// arrival.
    pub fn gap_moment(&self, k: u32) -> f64 {
        let [l1, l2] = self.rates;
        let [r1, r2] = self.leaves;
        // L - Q and its inverse.
        let determinant = (l1 + r1) * (l2 + r2) - r1 * r2;
        let inverse = [[l2 + r2, r1], [r2, l1 + r1]].map(|row| row.map(|of| of / determinant));
        let (mut moments, mut factorial) = ([1.0, 1.0], 1.0);
        for i in 1..=k {
            moments = inverse.map(|row| row[0] * moments[0] + row[1] * moments[1]);
            factorial *= f64::from(i);
        }
        let [p1, p2] = self.at_arrival();
        factorial * (p1 * moments[0] + p2 * moments[1])
    }

    /// Returns the variance of the time between two arrivals over the square of its mean: 1 for Poisson.
    pub fn gap_variation(&self) -> f64 {
        self.gap_moment(2) / self.gap_moment(1).powi(2) - 1.0
    }

    /// Returns the probability of each state at an arrival.
    pub fn at_arrival(&self) -> [f64; 2] {
        let (shares, mean) = (self.shares(), self.mean_rate());
        [0, 1].map(|i| shares[i] * self.rates[i] / mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Do the closed forms agree with values by hand? They give 1,160 a second, and 2 x 0.2 x 0.8 x 4,800^2 / (62.5 x 1,160) + 1. By
    /// moments, the mean gap follows from the mean rate whatever the states are.
    #[test]
    fn closed_forms_are_those_of_the_cookbook() {
        let mmpp = Mmpp2 { rates: [5_000.0, 200.0], leaves: [50.0, 12.5] };
        assert!((mmpp.mean_rate() - 1_160.0).abs() < 1e-9);
        assert!((mmpp.dispersion_limit() - (1.0 + 0.32 * 4_800.0 * 4_800.0 / (62.5 * 1_160.0))).abs() < 1e-9);
        assert!((mmpp.dispersion(1e6) / mmpp.dispersion_limit() - 1.0).abs() < 1e-6);
        assert!((mmpp.dispersion(1e-9) - 1.0).abs() < 1e-3);
        assert!((mmpp.gap_moment(1) * mmpp.mean_rate() - 1.0).abs() < 1e-12);
        let poisson = Mmpp2 { rates: [70.0, 70.0], leaves: [3.0, 8.0] };
        for (k, factorial) in [(1, 1.0), (2, 2.0), (3, 6.0)] {
            assert!((poisson.gap_moment(k) * 70f64.powi(k as i32) / factorial - 1.0).abs() < 1e-12);
        }
        assert!((poisson.gap_variation() - 1.0).abs() < 1e-12 && (poisson.dispersion(0.3) - 1.0).abs() < 1e-12);
    }
}
