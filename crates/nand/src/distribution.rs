//! Distributions of threshold voltage in closed form, with full relative accuracy in both tails, since errors happen in
//! the tails and a raw bit error rate of 1e-12 is a difference of tails.

use softsense_base::normal_cdf;

use crate::cells::MAX_STATES;

/// The threshold voltages of the cells of one state: where the cells were left, how far neighbours that were programmed later have pushed
/// them, and how far reads have raised them since.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Distribution {
    left: Left,
    push: Option<Push>,
    lift: Option<Lift>,
}

/// The push by neighbours. Cells are divided into as many equal shares as there are shifts, and each share has its own shift.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Push {
    shifts_v: [f64; MAX_STATES],
    count: usize,
}

impl Push {
    fn shifts(&self) -> &[f64] {
        &self.shifts_v[..self.count]
    }

    /// The mean of a quantity of a shift over all shares.
    fn mean(&self, of: impl Fn(f64) -> f64) -> f64 {
        self.shifts().iter().map(|&shift_v| of(shift_v)).sum::<f64>() / self.count as f64
    }

    /// The least and the largest shift.
    fn range(&self) -> (f64, f64) {
        let shifts = || self.shifts().iter().copied();
        (shifts().fold(f64::INFINITY, f64::min), shifts().fold(f64::NEG_INFINITY, f64::max))
    }
}

/// The voltages of cells, without the effects of neighbours and reads. Their distribution is symmetric.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Left {
    /// Erased cells, and the textbook boundary: Normal(`mean_v`, `sigma_v`^2).
    Normal { mean_v: f64, sigma_v: f64 },
    /// Programmed cells: Uniform[`start_v`, `start_v` + `step_v`] and noise.
    Programmed { start_v: f64, step_v: f64, noise: Noise },
}

/// A lift, which raises a cell at V to `scale_v` ln(exp(V / `scale_v`) + its amount): low cells most.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Lift {
    scale_v: f64,
    /// Shares of the cells, which add up to one, and the logarithm of the amount of each. Entries beyond `count` are unused.
    shares: [(f64, f64); MAX_SHARES],
    count: usize,
}

/// The largest number of shares into which cells are divided.
pub(crate) const MAX_SHARES: usize = 9;

/// The lift of cells that have the same amount.
#[derive(Debug, Clone, Copy)]
struct Alike {
    scale_v: f64,
    ln_amount: f64,
}

impl Lift {
    /// Each share of the cells, and its lift.
    fn shares(&self) -> impl Iterator<Item = (f64, Alike)> {
        self.shares[..self.count].iter().map(|&(share, ln_amount)| (share, Alike { scale_v: self.scale_v, ln_amount }))
    }
}

impl Alike {
    /// The voltage of a cell that was at `volts` before the lift.
    fn after(self, volts: f64) -> f64 {
        let (high, low) = (volts / self.scale_v, self.ln_amount);
        let (high, low) = if high > low { (high, low) } else { (low, high) };
        self.scale_v * (high + libm::log1p(libm::exp(low - high)))
    }

    /// The voltage, before the lift, of a cell that is at `volts` now; minus infinity if no cell can be there. The second value is the
    /// Jacobian of the map: density of cells there, over density here.
    fn before(self, volts: f64) -> (f64, f64) {
        let share = libm::exp(self.ln_amount - volts / self.scale_v);
        if share >= 1.0 {
            return (f64::NEG_INFINITY, 0.0);
        }
        (volts + self.scale_v * libm::log1p(-share), 1.0 / (1.0 - share))
    }
}

/// The probability on one side of a voltage: the side with less of it, or with half.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tail {
    probability: f64,
    upper: bool,
}

impl Tail {
    fn of(lower: f64, upper: f64) -> Self {
        if upper < lower { Tail { probability: upper, upper: true } } else { Tail { probability: lower, upper: false } }
    }

    /// Below all cells.
    pub(crate) const BELOW: Tail = Tail { probability: 0.0, upper: false };
    /// Above all cells.
    pub(crate) const ABOVE: Tail = Tail { probability: 0.0, upper: true };

    /// P(V < the voltage).
    pub(crate) fn lower(self) -> f64 {
        if self.upper { 1.0 - self.probability } else { self.probability }
    }

    /// P(V > the voltage).
    pub(crate) fn upper(self) -> f64 {
        if self.upper { self.probability } else { 1.0 - self.probability }
    }

    /// The probability between this voltage and a higher one, `end`.
    pub(crate) fn until(self, end: Tail) -> f64 {
        let probability = match (self.upper, end.upper) {
            (false, false) => end.probability - self.probability,
            (true, true) => self.probability - end.probability,
            _ => 1.0 - self.probability - end.probability,
        };
        // Equal voltages and far tails round to either side of nothing.
        probability.max(0.0)
    }
}

impl Distribution {
    /// Tells whether cells of several kinds have been lifted apart.
    pub(crate) fn has_hills(&self) -> bool {
        self.lift.is_some_and(|lift| lift.count > 1)
    }

    /// Normal(`mean_v`, `sigma_v`^2).
    pub(crate) fn normal(mean_v: f64, sigma_v: f64) -> Self {
        Self { left: Left::Normal { mean_v, sigma_v }, push: None, lift: None }
    }

    /// Uniform[`start_v`, `start_v` + `step_v`] and noise.
    pub(crate) fn programmed(start_v: f64, step_v: f64, noise: Noise) -> Self {
        Self { left: Left::Programmed { start_v, step_v, noise }, push: None, lift: None }
    }

    /// Returns the same cells after neighbours have pushed them, before anything [lifts](Self::lifted) them. Cells are divided into as many
    /// equal shares as there are shifts, [`MAX_STATES`] at most, and each share is pushed by its own shift, in volts.
    pub(crate) fn pushed(self, shifts_v: &[f64]) -> Self {
        let mut push = Push { shifts_v: [0.0; MAX_STATES], count: shifts_v.len() };
        push.shifts_v[..shifts_v.len()].copy_from_slice(shifts_v);
        Self { push: Some(push), ..self }
    }

    /// Returns the same cells after each has been raised from V to `scale_v` ln(exp(V / `scale_v`) + its amount).
    ///
    /// # Arguments
    /// - `amounts`: each with the share of the cells that have it, [`MAX_SHARES`] at most; shares add up to one.
    pub(crate) fn lifted(self, scale_v: f64, amounts: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let mut lift = Lift { scale_v, shares: [(0.0, 0.0); MAX_SHARES], count: 0 };
        for (share, amount) in amounts {
            // An amount of 0 has no logarithm, so it stands for one that moves nothing.
            lift.shares[lift.count] = (share, libm::log(amount.max(f64::MIN_POSITIVE)));
            lift.count += 1;
        }
        Self { lift: Some(lift), ..self }
    }

    /// Returns the same cells with normal noise on their voltages, of a standard deviation in volts. A lift of the cells lifts the noise,
    /// too.
    pub(crate) fn blurred(self, noise_v: f64) -> Self {
        let left = match self.left {
            Left::Normal { mean_v, sigma_v } => Left::Normal { mean_v, sigma_v: libm::hypot(sigma_v, noise_v) },
            Left::Programmed { start_v, step_v, noise } => {
                let noise = Noise { sigma_v: libm::hypot(noise.sigma_v, noise_v), ..noise };
                Left::Programmed { start_v, step_v, noise }
            }
        };
        Self { left, ..self }
    }

    /// The median.
    pub(crate) fn centre(&self) -> f64 {
        match (self.push, self.lift) {
            (None, None) => self.left.centre(),
            _ => self.quantile(0.5),
        }
    }

    /// Mean and standard deviation.
    pub(crate) fn mean_and_sigma(&self) -> (f64, f64) {
        let (mut mean, mut sigma) = (self.left.centre(), self.left.sigma());
        if let Some(push) = self.push {
            let by = push.mean(|shift_v| shift_v);
            mean += by;
            sigma = libm::sqrt(sigma * sigma + push.mean(|shift_v| (shift_v - by) * (shift_v - by)));
        }
        let Some(lift) = self.lift else { return (mean, sigma) };
        // Simpson's rule over all voltages within ten standard deviations of the median.
        const STEPS: i32 = 2000;
        let midst = self.centre();
        let mut moments = [0.0; 3];
        for (weight, lift) in lift.shares() {
            for step in 0..=STEPS {
                let volts = mean + sigma * (f64::from(step) * (20.0 / f64::from(STEPS)) - 10.0);
                let simpson = match step {
                    0 | STEPS => 1.0,
                    _ if step % 2 == 1 => 4.0,
                    _ => 2.0,
                };
                let (mut term, beside) = (weight * simpson * self.unlifted_density(volts), lift.after(volts) - midst);
                for moment in &mut moments {
                    *moment += term;
                    term *= beside;
                }
            }
        }
        let (first, second) = (moments[1] / moments[0], moments[2] / moments[0]);
        (midst + first, libm::sqrt((second - first * first).max(0.0)))
    }

    /// The smaller of the probabilities below and above `volts`.
    pub(crate) fn tail(&self, volts: f64) -> Tail {
        let Some(lift) = self.lift else { return self.unlifted_tail(volts) };
        let (mut lower, mut upper) = (0.0, 0.0);
        for (weight, lift) in lift.shares() {
            let tail = match lift.before(volts).0 {
                f64::NEG_INFINITY => Tail::BELOW,
                before => self.unlifted_tail(before),
            };
            lower += weight * tail.lower();
            upper += weight * tail.upper();
        }
        Tail::of(lower, upper)
    }

    fn unlifted_tail(&self, volts: f64) -> Tail {
        let Some(push) = self.push else { return self.left.tail(volts) };
        let mean = |side: fn(Tail) -> f64| push.mean(|shift_v| side(self.left.tail(volts - shift_v)));
        Tail::of(mean(Tail::lower), mean(Tail::upper))
    }

    fn unlifted_density(&self, volts: f64) -> f64 {
        match self.push {
            None => self.left.density(volts),
            Some(push) => push.mean(|shift_v| self.left.density(volts - shift_v)),
        }
    }

    /// The probability density, per volt.
    pub(crate) fn density(&self, volts: f64) -> f64 {
        let Some(lift) = self.lift else { return self.unlifted_density(volts) };
        let density = |(weight, lift): (f64, Alike)| match lift.before(volts) {
            (f64::NEG_INFINITY, _) => 0.0,
            (before, faster) => weight * faster * self.unlifted_density(before),
        };
        lift.shares().map(density).sum()
    }

    /// The voltage below which a share `probability` of the cells is.
    pub(crate) fn quantile(&self, probability: f64) -> f64 {
        if probability <= 0.5 { self.lower_quantile(probability) } else { self.upper_quantile(1.0 - probability) }
    }

    /// [`Self::quantile`] of a `probability` up to 1/2.
    pub(crate) fn lower_quantile(&self, probability: f64) -> f64 {
        self.raised(self.left.lower_quantile(probability), |volts| self.tail(volts).lower() < probability)
    }

    /// The voltage above which a share `probability` of the cells is, up to 1/2.
    pub(crate) fn upper_quantile(&self, probability: f64) -> f64 {
        let unlifted = 2.0 * self.left.centre() - self.left.lower_quantile(probability);
        self.raised(unlifted, |volts| self.tail(volts).upper() > probability)
    }

    /// The voltage of a quantile of the cells that were left at `volts`: the end of the range in which `before` holds.
    fn raised(&self, volts: f64, before: impl FnMut(f64) -> bool) -> f64 {
        if self.push.is_none() && self.lift.is_none() {
            return volts;
        }
        let (least_push, most_push) = self.push.map_or((0.0, 0.0), |push| push.range());
        let lifted = |volts: f64, choose: fn(f64, f64) -> f64| {
            let shares = self.lift.iter().flat_map(Lift::shares);
            shares.map(|(_, lift)| lift.after(volts)).reduce(choose).unwrap_or(volts)
        };
        let (least, most) = (lifted(volts + least_push, f64::min), lifted(volts + most_push, f64::max));
        // For cells that are alike both ends are the quantile, up to rounding.
        bisect(least, most, before).0
    }
}

impl Left {
    /// The centre of symmetry: mean and median.
    fn centre(&self) -> f64 {
        match *self {
            Self::Normal { mean_v, .. } => mean_v,
            Self::Programmed { start_v, step_v, .. } => start_v + 0.5 * step_v,
        }
    }

    /// The standard deviation.
    fn sigma(&self) -> f64 {
        match *self {
            Self::Normal { sigma_v, .. } => sigma_v,
            Self::Programmed { step_v, noise: Noise { sigma_v, lambda_v }, .. } => {
                libm::sqrt(step_v * step_v / 12.0 + sigma_v * sigma_v + 2.0 * lambda_v * lambda_v)
            }
        }
    }

    fn tail(&self, volts: f64) -> Tail {
        let upper = volts > self.centre();
        let probability = match *self {
            Self::Normal { mean_v, sigma_v } => normal_cdf(-(volts - mean_v).abs() / sigma_v),
            Self::Programmed { start_v, step_v, noise } => {
                let (near, far) = Self::edges(volts, start_v, step_v, upper);
                (noise.integral(near) - noise.integral(far)) / step_v
            }
        };
        Tail { probability, upper }
    }

    fn density(&self, volts: f64) -> f64 {
        match *self {
            Self::Normal { mean_v, sigma_v } => normal_density((volts - mean_v) / sigma_v) / sigma_v,
            Self::Programmed { start_v, step_v, noise } => {
                let (near, far) = Self::edges(volts, start_v, step_v, volts > self.centre());
                (noise.cdf(near) - noise.cdf(far)) / step_v
            }
        }
    }

    /// The heights of `volts` above the start and the end of the uniform part, seen from the side of the smaller tail.
    fn edges(volts: f64, start_v: f64, step_v: f64, upper: bool) -> (f64, f64) {
        let (above_start, above_end) = (volts - start_v, volts - start_v - step_v);
        if upper { (-above_end, -above_start) } else { (above_start, above_end) }
    }

    /// The voltage below which a share `probability` up to 1/2 of the cells is. The same share is above its mirror image.
    fn lower_quantile(&self, probability: f64) -> f64 {
        let reach = match *self {
            Self::Normal { sigma_v, .. } => 40.0 * sigma_v,
            Self::Programmed { step_v, noise, .. } => step_v + 40.0 * noise.sigma_v + 750.0 * noise.lambda_v,
        };
        let centre = self.centre();
        bisect(centre - reach, centre, |volts| self.tail(volts).probability < probability).0
    }
}

/// The two neighbouring numbers between `low` and `high` at which `before` ceases to hold.
pub(crate) fn bisect(mut low: f64, mut high: f64, mut before: impl FnMut(f64) -> bool) -> (f64, f64) {
    // Voltages are of the order of one, so 60 halvings end at neighbours, except close to zero.
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if before(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low, high)
}

/// The sum of random telegraph noise, Laplace of scale `lambda_v`, and the spread by retention, Normal(0, `sigma_v`^2).
/// It is symmetric about zero; either part may be absent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Noise {
    pub(crate) sigma_v: f64,
    pub(crate) lambda_v: f64,
}

impl Noise {
    /// G(x) = P(noise < `x`).
    fn cdf(&self, x: f64) -> f64 {
        if x > 0.0 {
            return 1.0 - self.cdf(-x);
        }
        let Terms { z, density, rising, falling } = self.terms(x);
        // Nearly equal numbers are never subtracted: falling = phi(z) R(s / lambda - z) is less than Phi(z) = phi(z) R(-z).
        density * mills_ratio(-z) + 0.5 * (rising - falling)
    }

    /// H(x), the integral of G up to `x`; H(x) = x + H(-x).
    fn integral(&self, x: f64) -> f64 {
        if x > 0.0 {
            return x + self.integral(-x);
        }
        let Terms { z, density, rising, falling } = self.terms(x);
        self.sigma_v * density * (1.0 + z * mills_ratio(-z)) + 0.5 * self.lambda_v * (rising + falling)
    }

    /// The terms for `x` up to 0: z = x / s, phi(z), and e^{s^2 / 2 lambda^2 +- x / lambda} Phi(-+ z - s / lambda).
    ///
    /// Both products are phi(z) R(s / lambda +- z), which does not overflow, except where the Laplace tail has left phi(z) behind. There
    /// the exponential is small by itself.
    fn terms(&self, x: f64) -> Terms {
        let Noise { sigma_v, lambda_v } = *self;
        if sigma_v == 0.0 {
            let rising = if lambda_v == 0.0 { 0.0 } else { libm::exp(x / lambda_v) };
            return Terms { z: 0.0, density: 0.0, rising, falling: 0.0 };
        }
        let z = x / sigma_v;
        let density = normal_density(z);
        if lambda_v == 0.0 {
            return Terms { z, density, rising: 0.0, falling: 0.0 };
        }
        let ratio = sigma_v / lambda_v;
        let rising = if ratio + z >= 0.0 {
            density * mills_ratio(ratio + z)
        } else {
            libm::exp(ratio * (0.5 * ratio + z)) * normal_cdf(-z - ratio)
        };
        Terms { z, density, rising, falling: density * mills_ratio(ratio - z) }
    }
}

struct Terms {
    z: f64,
    density: f64,
    rising: f64,
    falling: f64,
}

fn normal_density(z: f64) -> f64 {
    const FRAC_1_SQRT_2_PI: f64 = 0.398_942_280_401_432_7;
    FRAC_1_SQRT_2_PI * libm::exp(-0.5 * z * z)
}

/// R(t) = Phi(-t) / phi(t) for `t` from 0.
///
/// Source: NIST Digital Library of Mathematical Functions, 7.9.1, the continued fraction, for large `t`.
fn mills_ratio(t: f64) -> f64 {
    const SQRT_FRAC_PI_2: f64 = 1.253_314_137_315_500_3;
    if t < 8.0 {
        return SQRT_FRAC_PI_2 * libm::erfc(t * std::f64::consts::FRAC_1_SQRT_2) * libm::exp(0.5 * t * t);
    }
    // The fraction is t + 1 / (t + 2 / (t + 3 / ...)). From t = 8 on, sixteen terms are exact to the last digits.
    1.0 / (1..=16).rev().fold(t, |fraction, term| t + f64::from(term) / fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simpson's rule with `steps` steps.
    fn integrate(low: f64, high: f64, steps: usize, f: impl Fn(f64) -> f64) -> f64 {
        let h = (high - low) / steps as f64;
        let inner: f64 = (1..steps).map(|i| f(low + i as f64 * h) * if i % 2 == 1 { 4.0 } else { 2.0 }).sum();
        (f(low) + inner + f(high)) * h / 3.0
    }

    /// P(normal + uniform + Laplace < x), from the definition alone: the normal distribution function is integrated over the other two
    /// parts. The kink of the Laplace density is a limit of integration.
    fn cdf_by_integration(x: f64, step: f64, noise: Noise) -> f64 {
        let Noise { sigma_v, lambda_v } = noise;
        let over_uniform = |y: f64| {
            // The transition of the uniform part is as wide as the normal one, so the integral around it is split.
            let inside = |v: f64| v.clamp(0.0, step);
            let (from, to) = (inside(y - 10.0 * sigma_v), inside(y + 10.0 * sigma_v));
            let below = integrate(from, to, 400, |u| normal_cdf((y - u) / sigma_v));
            let rest = integrate(to, step, 400, |u| normal_cdf((y - u) / sigma_v));
            (from + below + rest) / step
        };
        let laplace = |t: f64| (-t.abs() / lambda_v).exp() / (2.0 * lambda_v);
        let reach = 45.0 * lambda_v;
        let half = |low: f64, high: f64| integrate(low, high, 1200, |t| laplace(t) * over_uniform(x - t));
        half(-reach, 0.0) + half(0.0, reach)
    }

    /// Do closed forms of distribution and tail agree with integration from the definition, to seven digits of the
    /// tail itself, from the middle of a state to where 1e-13 of it is left?
    #[test]
    fn closed_forms_agree_with_integration() {
        for (sigma_v, lambda_v) in [(0.06, 0.025), (0.02, 0.03), (0.05, 0.004)] {
            let noise = Noise { sigma_v, lambda_v };
            let state = Distribution::programmed(0.0, 0.38, noise);
            for x in [0.19, 0.05, 0.0, -0.05, -0.1, -0.2, -0.3] {
                let found = state.tail(x).lower();
                let expected = cdf_by_integration(x, 0.38, noise);
                assert!((found / expected - 1.0).abs() < 1e-7, "{noise:?} at {x}: {found:e} for {expected:e}");
                let upper = state.tail(0.38 - x).upper();
                assert!((upper / found - 1.0).abs() < 1e-12, "{noise:?} at {x}: tails {upper:e} and {found:e}");
                let slope = (state.tail(x + 1e-5).lower() - state.tail(x - 1e-5).lower()) / 2e-5;
                let density = state.density(x);
                assert!((density / slope - 1.0).abs() < 1e-6, "{noise:?} at {x}: density {density:e} for {slope:e}");
            }
        }
    }

    /// Are the limits without telegraph noise, without retention and without both those of the general case?
    #[test]
    fn absent_noise_is_the_limit_of_small_noise() {
        for (sigma_v, lambda_v) in [(0.05, 0.0), (0.0, 0.02), (0.0, 0.0)] {
            let state = |sigma_v, lambda_v| Distribution::programmed(0.0, 0.38, Noise { sigma_v, lambda_v });
            let (exact, near) = (state(sigma_v, lambda_v), state(sigma_v.max(1e-7), lambda_v.max(1e-7)));
            for x in [-0.3, -0.1, -0.01, 0.01, 0.1, 0.37, 0.39, 0.6] {
                let (found, expected) = (exact.tail(x), near.tail(x));
                assert_eq!(found.upper, expected.upper);
                let close = (found.probability - expected.probability).abs() <= 1e-5 * expected.probability;
                assert!(close || expected.probability < 1e-300, "{sigma_v} {lambda_v} at {x}: {found:?} {expected:?}");
                assert!((exact.density(x) - near.density(x)).abs() < 1e-5, "density at {x}");
            }
        }
    }

    /// Do deep tails keep their digits? Far out only the Laplace tail is left, times known factors: its transform of the normal and of the
    /// uniform part.
    #[test]
    fn deep_tails_are_those_of_the_laplace_part() {
        let (sigma_v, lambda_v, step_v) = (0.03, 0.01, 0.38);
        let state = Distribution::programmed(0.0, step_v, Noise { sigma_v, lambda_v });
        for x in [-0.5f64, -1.0, -3.0] {
            let ratio: f64 = sigma_v / lambda_v;
            let uniform = (1.0 - (-step_v / lambda_v).exp()) * lambda_v / step_v;
            let expected = 0.5 * (x / lambda_v + 0.5 * ratio * ratio).exp() * uniform;
            let found = state.tail(x).lower();
            assert!((found / expected - 1.0).abs() < 1e-11, "at {x}: {found:e} for {expected:e}");
        }
    }

    #[test]
    fn mills_ratio_is_continuous_and_known() {
        // R(0) = sqrt(pi / 2), R(1) and R(10) from tables.
        for (t, expected) in
            [(0.0, 1.253_314_137_315_5), (1.0, 0.655_679_542_418_798_5), (10.0, 0.099_028_596_471_731_92)]
        {
            assert!((mills_ratio(t) / expected - 1.0).abs() < 1e-14, "R({t}) = {:.16}", mills_ratio(t));
        }
        let (below, above) = (mills_ratio(8.0 - 1e-15), mills_ratio(8.0));
        assert!((below / above - 1.0).abs() < 1e-13, "{below} {above}");
    }

    #[test]
    fn quantiles_invert_the_distribution() {
        let noise = Noise { sigma_v: 0.06, lambda_v: 0.025 };
        for state in [
            Distribution::programmed(2.5, 0.38, noise),
            Distribution::normal(1.4, 0.35),
            Distribution::normal(1.4, 0.35).lifted(0.4, [(1.0, 20.0)]),
            Distribution::normal(1.4, 0.35).lifted(0.4, [(0.2, 0.0), (0.7, 20.0), (0.1, 90.0)]),
            Distribution::programmed(2.5, 0.38, noise).pushed(&[0.0, 0.05, 0.2]),
            Distribution::normal(1.4, 0.35).pushed(&[0.0, 0.3]).lifted(0.4, [(0.4, 0.0), (0.6, 20.0)]),
        ] {
            for u in [1e-12, 1e-5, 0.1, 0.5, 0.77, 0.999] {
                let found = state.tail(state.quantile(u)).lower();
                assert!((found / u - 1.0).abs() < 1e-9, "{u}: {found}");
            }
        }
    }

    /// Are lifted cells distributed as the closed form says? The test integrates numerically over the voltages before the lift, and
    /// compares both tails with relative accuracy.
    #[test]
    fn lifted_cells_are_each_moved_by_themselves() {
        let left = Distribution::normal(-1.2, 0.5);
        let (scale_v, amount) = (0.9, 0.6);
        let lifted = left.lifted(scale_v, [(1.0, amount)]);
        let moved = |volts: f64| scale_v * ((volts / scale_v).exp() + amount).ln();
        for sigmas in [-6.0, -2.0, 0.0, 1.0, 3.0, 7.0] {
            let volts = -1.2 + 0.5 * sigmas;
            let (found, expected) = (lifted.tail(moved(volts)), left.tail(volts));
            let error = |found: f64, expected: f64| (found / expected - 1.0).abs();
            assert!(error(found.lower(), expected.lower()) < 1e-9, "{sigmas}: {found:?} for {expected:?}");
            assert!(error(found.upper(), expected.upper()) < 1e-9, "{sigmas}: {found:?} for {expected:?}");
            let slope = (lifted.tail(moved(volts) + 1e-6).lower() - lifted.tail(moved(volts) - 1e-6).lower()) / 2e-6;
            let density = lifted.density(moved(volts));
            assert!((density - slope).abs() < 1e-4 * density.max(1e-3), "{sigmas}: density {density} for {slope}");
        }
        let (mean, sigma) = lifted.mean_and_sigma();
        let moment =
            |power| integrate(-6.2, 3.8, 4000, |volts| left.density(volts) * (moved(volts) - mean).powi(power));
        assert!(moment(1).abs() < 1e-9 && (moment(2).sqrt() - sigma).abs() < 1e-9, "{mean} {sigma}");
        assert!(lifted.centre() > -1.2 && sigma < 0.5, "low cells catch up with high ones");
        let same = left.lifted(scale_v, [(1.0, 0.0)]);
        assert!((same.tail(-2.0).lower() / left.tail(-2.0).lower() - 1.0).abs() < 1e-12);
    }

    /// Are pushed cells the sum of their shares, with the right tails, moments and later lifts?
    #[test]
    fn pushed_cells_are_all_shares_together() {
        let left = Distribution::normal(-0.4, 0.5);
        let (shifts_v, amount) = ([0.0, 0.1, 0.7], [(1.0, 0.3)]);
        let shares = shifts_v.map(|shift_v| Distribution::normal(-0.4 + shift_v, 0.5));
        for (pushed, shares) in [
            (left.pushed(&shifts_v), shares),
            (left.pushed(&shifts_v).lifted(0.5, amount), shares.map(|share| share.lifted(0.5, amount))),
        ] {
            let mean = |of: &dyn Fn(&Distribution) -> f64| shares.iter().map(of).sum::<f64>() / 3.0;
            for volts in [-2.5, -1.0, 0.3, 1.4, 4.0] {
                let near = |found: f64, expected: f64| (found - expected).abs() <= 1e-12 * expected;
                assert!(near(pushed.tail(volts).upper(), mean(&|each| each.tail(volts).upper())), "{volts}");
                assert!(near(pushed.density(volts), mean(&|each| each.density(volts))), "{volts}");
            }
            let (found, sigma) = pushed.mean_and_sigma();
            let first = mean(&|each| each.mean_and_sigma().0);
            let second = mean(&|each| each.mean_and_sigma().0.powi(2) + each.mean_and_sigma().1.powi(2));
            assert!((found - first).abs() < 1e-6, "{found} {first}");
            assert!((sigma - (second - first * first).sqrt()).abs() < 1e-6);
        }
    }

    /// Are cells of which some are lifted more than others the sum of both kinds?
    #[test]
    fn cells_that_differ_are_all_kinds_together() {
        let left = Distribution::normal(-0.4, 0.5);
        let alike = |amount| left.lifted(0.5, [(1.0, amount)]);
        let (some, others, all) = (alike(0.2), alike(1.5), left.lifted(0.5, [(0.7, 0.2), (0.3, 1.5)]));
        for volts in [-1.0, -0.2, 0.3, 0.8, 1.4] {
            let together = |of: &dyn Fn(&Distribution) -> f64| 0.7 * of(&some) + 0.3 * of(&others);
            let near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 1e-12;
            assert!(near(all.tail(volts).upper(), together(&|each| each.tail(volts).upper())), "{volts}");
            assert!(volts < -0.5 || near(all.density(volts), together(&|each| each.density(volts))), "{volts}");
        }
        let (mean, sigma) = all.mean_and_sigma();
        let ((low, low_sigma), (high, high_sigma)) = (some.mean_and_sigma(), others.mean_and_sigma());
        assert!((mean - (0.7 * low + 0.3 * high)).abs() < 1e-9);
        let square = 0.7 * (low_sigma * low_sigma + low * low) + 0.3 * (high_sigma * high_sigma + high * high);
        assert!((sigma - (square - mean * mean).sqrt()).abs() < 1e-9);
    }
}
