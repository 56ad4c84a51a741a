//! Distribution functions and exact intervals, on portable arithmetic.

/// P(X < x) of a standard normal X, with full relative accuracy in the lower tail.
pub fn normal_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

/// The standard normal quantile, with a relative error below 1e-15, from quotients of polynomials. In the middle their argument is the
/// probability itself, and in the tails the root of its logarithm.
///
/// Source: M. Wichura, "Algorithm AS 241: the percentage points of the normal distribution", 1988, PPND16.
pub fn normal_quantile(probability: f64) -> f64 {
    let probability = probability.clamp(1e-16, 1.0 - 1e-16);
    let centred = probability - 0.5;
    if centred.abs() <= 0.425 {
        let r = 0.180_625 - centred * centred;
        return centred * quotient(&CENTRE, r);
    }
    let r = libm::sqrt(-libm::log(probability.min(1.0 - probability)));
    let tail = if r <= 5.0 { quotient(&TAIL, r - 1.6) } else { quotient(&FAR_TAIL, r - 5.0) };
    if centred < 0.0 { -tail } else { tail }
}

/// The quotient of two polynomials, whose coefficients go from the highest power down.
fn quotient([numerator, denominator]: &[[f64; 8]; 2], x: f64) -> f64 {
    let of = |coefficients: &[f64; 8]| coefficients.iter().fold(0.0, |sum, coefficient| sum * x + coefficient);
    of(numerator) / of(denominator)
}

const CENTRE: [[f64; 8]; 2] = [
    [
        2_509.080_928_730_122_7,
        33_430.575_583_588_13,
        67_265.770_927_008_7,
        45_921.953_931_549_87,
        13_731.693_765_509_46,
        1_971.590_950_306_551_4,
        133.141_667_891_784_38,
        3.387_132_872_796_366_6,
    ],
    [
        5_226.495_278_852_546,
        28_729.085_735_721_943,
        39_307.895_800_092_71,
        21_213.794_301_586_596,
        5_394.196_021_424_751,
        687.187_007_492_057_9,
        42.313_330_701_600_91,
        1.0,
    ],
];

const TAIL: [[f64; 8]; 2] = [
    [
        7.745_450_142_783_414e-4,
        2.272_384_498_926_918_4e-2,
        2.417_807_251_774_506e-1,
        1.270_458_252_452_368_4,
        3.647_848_324_763_204_5,
        5.769_497_221_460_691,
        4.630_337_846_156_546,
        1.423_437_110_749_683_5,
    ],
    [
        1.050_750_071_644_416_9e-9,
        5.475_938_084_995_345e-4,
        1.519_866_656_361_645_7e-2,
        1.481_039_764_274_800_8e-1,
        6.897_673_349_851e-1,
        1.676_384_830_183_803_8,
        2.053_191_626_637_759,
        1.0,
    ],
];

const FAR_TAIL: [[f64; 8]; 2] = [
    [
        2.010_334_399_292_288e-7,
        2.711_555_568_743_487_6e-5,
        1.242_660_947_388_078_4e-3,
        2.653_218_952_657_612_4e-2,
        2.965_605_718_285_049e-1,
        1.784_826_539_917_291_3,
        5.463_784_911_164_114,
        6.657_904_643_501_103,
    ],
    [
        2.044_263_103_389_939_8e-15,
        1.421_511_758_316_446e-7,
        1.846_318_317_510_054_8e-5,
        7.868_691_311_456_133e-4,
        1.487_536_129_085_061_5e-2,
        1.369_298_809_227_358e-1,
        5.998_322_065_558_88e-1,
        1.0,
    ],
];

/// Moves ordered positions to where `value` is largest. Each position in turn goes to its best place between its neighbours, the first
/// and the last no further than `low` and `high`. It ends when no position moves by more than `tolerance`, or after 400 rounds.
///
/// `value` gets all positions, and the index of the one that is being moved. Along each position it should have one maximum.
pub fn climb(positions: &mut [f64], low: f64, high: f64, tolerance: f64, mut value: impl FnMut(&[f64], usize) -> f64) {
    for _ in 0..400 {
        let mut moved: f64 = 0.0;
        for index in 0..positions.len() {
            let before = positions[index];
            let from = if index == 0 { low } else { positions[index - 1] };
            let to = positions.get(index + 1).copied().unwrap_or(high);
            let best = maximum(from, to, |position| {
                positions[index] = position;
                value(positions, index)
            });
            moved = moved.max((best - before).abs());
            positions[index] = best;
        }
        if moved < tolerance {
            break;
        }
    }
}

/// The place of the maximum of a function that has one maximum between `low` and `high`, by golden sections.
pub fn maximum(mut low: f64, mut high: f64, mut value: impl FnMut(f64) -> f64) -> f64 {
    const RATIO: f64 = 0.618_033_988_749_894_8;
    let (mut left, mut right) = (high - RATIO * (high - low), low + RATIO * (high - low));
    let (mut at_left, mut at_right) = (value(left), value(right));
    for _ in 0..42 {
        if at_left < at_right {
            (low, left, at_left) = (left, right, at_right);
            right = low + RATIO * (high - low);
            at_right = value(right);
        } else {
            (high, right, at_right) = (right, left, at_left);
            left = high - RATIO * (high - low);
            at_left = value(left);
        }
    }
    0.5 * (low + high)
}

/// The confidence interval of the probability of a failure, after `failures` of `trials` independent trials failed. Whatever the
/// probability is, the interval contains it with at least the given confidence. Without trials it is 0 to 1.
///
/// Source: C. Clopper, E. Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial",
/// 1934.
pub fn binomial_interval(failures: u64, trials: u64, confidence: f64) -> (f64, f64) {
    assert!(failures <= trials && confidence > 0.0 && confidence < 1.0, "more failures than trials, or no confidence");
    let tail = (1.0 - confidence) / 2.0;
    let (failed, passed) = (failures as f64, (trials - failures) as f64);
    let low = if failures == 0 { 0.0 } else { beta_quantile(failed, passed + 1.0, tail) };
    let high = if failures == trials { 1.0 } else { beta_quantile(failed + 1.0, passed, 1.0 - tail) };
    (low, high)
}

/// The two-sided quantile of Student's t, to about 11 digits. It is the number of standard errors around a mean within which the normal
/// distribution lies with the given confidence, if the errors were estimated with `degrees` degrees of freedom.
///
/// Source: NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.6.4 and 1.3.6.7.2: t is the root of `degrees * y / (1 - y)`, where y is
/// distributed as beta of 1/2 and `degrees` / 2.
pub fn student_t_quantile(degrees: u64, confidence: f64) -> f64 {
    assert!(degrees > 0 && confidence > 0.0 && confidence < 1.0, "no degrees of freedom, or no confidence");
    let degrees = degrees as f64;
    let below = beta_quantile(0.5, degrees / 2.0, confidence);
    // The nearer of both ends is known to all digits.
    let odds = if below < 0.5 {
        below / (1.0 - below)
    } else {
        let beyond = beta_quantile(degrees / 2.0, 0.5, 1.0 - confidence);
        (1.0 - beyond) / beyond
    };
    libm::sqrt(degrees * odds)
}

/// The probability that at most `count` of `n` independent events of probability `p` happen; to 1e-9 for n up to 10^5.
pub fn binomial_cdf(count: u64, n: u64, p: f64) -> f64 {
    if count >= n || p <= 0.0 {
        return 1.0;
    }
    if p >= 1.0 {
        return 0.0;
    }
    beta_cdf((n - count) as f64, count as f64 + 1.0, 1.0 - p)
}

/// The probability that more than `count` of `n` independent events of probability `p` happen. Its relative error is 1e-8, however small
/// it is, for n up to 10^5.
pub fn binomial_tail(count: u64, n: u64, p: f64) -> f64 {
    if count >= n || p <= 0.0 {
        return 0.0;
    }
    if p >= 1.0 {
        return 1.0;
    }
    beta_cdf(count as f64 + 1.0, (n - count) as f64, p)
}

/// The quantile of the binomial distribution: the number of `n` independent events of probability `p` that happen, from a uniform number
/// in [0, 1). For the same number it never falls when `p` grows, except by rounding where more than 500 events are expected.
pub fn binomial_quantile(n: u64, p: f64, uniform: f64) -> u64 {
    if p > 0.5 {
        return n - binomial_quantile(n, 1.0 - p, 1.0 - uniform);
    }
    let mean = n as f64 * p;
    if mean > 500.0 {
        // Cornish and Fisher's expansion, which is half a count off at most.
        let z = normal_quantile(uniform);
        let count = mean + z * libm::sqrt(mean * (1.0 - p)) + (1.0 - 2.0 * p) * (z * z - 1.0) / 6.0;
        return libm::round(count).clamp(0.0, n as f64) as u64;
    }
    let (mut count, mut probability) = (0u64, libm::exp(n as f64 * libm::log1p(-p)));
    let mut sum = probability;
    while sum <= uniform && count < n {
        probability *= (n - count) as f64 / (count + 1) as f64 * p / (1.0 - p);
        count += 1;
        sum += probability;
    }
    count
}

/// The quantile of the Poisson distribution: a count with the given mean, from a uniform number in [0, 1).
pub fn poisson_quantile(mean: f64, uniform: f64) -> u64 {
    if mean > 500.0 {
        // Cornish and Fisher's expansion, which is half a count off at most.
        let z = normal_quantile(uniform);
        return libm::round(mean + z * libm::sqrt(mean) + (z * z - 1.0) / 6.0).max(0.0) as u64;
    }
    let (mut count, mut probability) = (0u64, libm::exp(-mean));
    let mut sum = probability;
    while sum <= uniform && count < 10_000 {
        count += 1;
        probability *= mean / count as f64;
        sum += probability;
    }
    count
}

/// The quantile of the beta distribution with `a` and `b`, above 0 and with a sum up to 10^7, to about 14 digits. It is 0 if the quantile
/// is below all normal numbers.
pub fn beta_quantile(a: f64, b: f64, probability: f64) -> f64 {
    let (mut low, mut high) = (f64::MIN_POSITIVE, 1.0);
    if beta_cdf(a, b, low) >= probability {
        return 0.0;
    }
    let front = libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b);
    let mut x = a / (a + b);
    // Newton's method on logarithms: where the probability is small, its logarithm is a line in that of the number. Bisection takes over
    // where a step leaves the bracket, and after 20 steps, because rounding alone may then keep Newton's method from ending.
    let mut steps = 0;
    loop {
        steps += 1;
        if steps > 20 || !(low < x && x < high) {
            x = if high > 4.0 * low { libm::sqrt(low * high) } else { 0.5 * (low + high) };
            if x <= low || x >= high {
                return x;
            }
        }
        let below = beta_cdf(a, b, x);
        if below < probability {
            low = x;
        } else {
            high = x;
        }
        let density_x = libm::exp(front + a * libm::log(x) + (b - 1.0) * libm::log1p(-x));
        let step = below / density_x * libm::log(probability / below);
        if step.abs() < 1e-14 || high - low < 1e-14 * high {
            return x;
        }
        x *= libm::exp(step);
    }
}

/// The regularised incomplete beta function: the probability that a beta-distributed number is below `x`.
///
/// Source: NIST Digital Library of Mathematical Functions, 8.17.22, the continued fraction; evaluated as by W. Lentz,
/// "Generating Bessel functions in Mie scattering calculations using continued fractions", 1976.
fn beta_cdf(a: f64, b: f64, x: f64) -> f64 {
    if x > (a + 1.0) / (a + b + 2.0) { 1.0 - lower_beta_cdf(b, a, 1.0 - x) } else { lower_beta_cdf(a, b, x) }
}

/// The regularised incomplete beta function, for arguments not far above the mean, where the fraction converges soon.
fn lower_beta_cdf(a: f64, b: f64, x: f64) -> f64 {
    let front = a * libm::log(x) + b * libm::log1p(-x) + libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b);
    let term = |index: u32| -> f64 {
        let m = f64::from(index / 2);
        if index.is_multiple_of(2) {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        }
    };
    let nonzero = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    // 1 / (1 + d1 / (1 + d2 / (1 + ...))).
    let (mut fraction, mut c, mut d) = (1.0, 1.0, 0.0);
    for index in 1..1_000_000 {
        d = 1.0 / nonzero(1.0 + term(index) * d);
        c = nonzero(1.0 + term(index) / c);
        fraction *= c * d;
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    libm::exp(front) / (a * fraction)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Purpose, Stream};

    /// Is the quantile the count at which the distribution function passes the number?
    #[test]
    fn binomial_quantiles_invert_the_distribution() {
        let stream = Stream::new(5, Purpose::Counts);
        for (n, p) in [(147u64, 0.02f64), (147, 0.4), (147, 0.97), (30_000, 0.01), (30_000, 0.3), (10, 0.0), (10, 1.0)]
        {
            let most_off = if n as f64 * p.min(1.0 - p) > 500.0 { 1 } else { 0 };
            for draw in 0..200 {
                let uniform = stream.uniform(draw, n);
                let found = binomial_quantile(n, p, uniform);
                let from = if found > most_off { binomial_cdf(found - 1 - most_off, n, p) } else { 0.0 };
                let to = binomial_cdf(found + most_off, n, p);
                assert!(from <= uniform + 1e-9 && uniform <= to + 1e-9, "{n}, {p}, {uniform}: {found}");
                assert!(binomial_quantile(n, (p * 1.1).min(1.0), uniform) + most_off >= found);
            }
        }
    }

    /// Is the distribution function the sum of its terms, each of which follows from the one before?
    #[test]
    fn the_binomial_distribution_is_the_sum_of_its_terms() {
        for (n, p) in [(10u64, 0.3), (1000, 0.002), (65_536, 1e-4), (65_536, 1e-6)] {
            let mut term = libm::exp(n as f64 * libm::log1p(-p));
            let mut sum = 0.0;
            for count in 0..=n.min(40) {
                sum += term;
                let found = binomial_cdf(count, n, p);
                assert!((found - sum).abs() < 1e-9, "{count} of {n} at {p}: {found}, not {sum}");
                term *= (n - count) as f64 / (count + 1) as f64 * p / (1.0 - p);
            }
        }
        assert_eq!((binomial_cdf(0, 5, 0.0), binomial_cdf(4, 5, 1.0), binomial_cdf(5, 5, 1.0)), (1.0, 0.0, 1.0));
    }

    /// Is the quantile the end of bisection alone? The test has a hundred random distributions such as overdispersion makes them.
    #[test]
    fn quantiles_are_those_of_bisection() {
        let stream = Stream::new(1, Purpose::Data);
        for draw in 0..100 {
            let uniform = |index| stream.uniform(draw, index);
            let weight = libm::exp(2.0 + 12.0 * uniform(0));
            let mean = libm::exp(-9.0 * uniform(1));
            let (a, b, probability) = (mean * weight, (1.0 - mean) * weight + 1e-3, uniform(2));
            let (mut low, mut high) = (0.0, 1.0);
            while high - low > 1e-14 * high && 0.5 * (low + high) > low {
                let middle = 0.5 * (low + high);
                *if beta_cdf(a, b, middle) < probability { &mut low } else { &mut high } = middle;
            }
            let found = beta_quantile(a, b, probability);
            assert!((found / high - 1.0).abs() < 1e-9, "Beta({a}, {b}) at {probability}: {found:e}, not {high:e}");
        }
    }

    /// Does the quantile end, within (0, 1) and where the distribution function is the probability, for all distributions that
    /// overdispersion can ask for?
    #[test]
    fn quantiles_of_narrow_and_wide_beta_distributions() {
        for rho in [1e-7, 1e-5, 1e-3, 0.1, 0.5, 0.999_999_999] {
            for p in [1e-300, 1e-12, 1e-6, 1e-3, 0.1, 0.5, 0.999_999] {
                let weight = 1.0 / rho - 1.0;
                let (a, b) = (p * weight, (1.0 - p) * weight);
                let mut last = 0.0;
                for probability in [0.0, 1e-12, 0.1, 0.5, 0.9, 1.0 - 1e-12] {
                    let found = beta_quantile(a, b, probability);
                    assert!((last..=1.0).contains(&found), "{found} after {last}, rho {rho}, p {p}, at {probability}");
                    // Next to 1 floating-point numbers are too far apart.
                    if found > 0.0 && found < 0.999 {
                        let back = beta_cdf(a, b, found);
                        assert!((back - probability).abs() < 1e-6, "{back}, rho {rho}, p {p}, at {probability}");
                    }
                    last = found;
                }
            }
        }
    }

    /// Is Student's t the Cauchy distribution, its closed form for two degrees of freedom, and the normal distribution for many?
    #[test]
    fn quantiles_of_students_t_in_closed_form() {
        for confidence in [0.01, 0.5, 0.9, 0.95, 0.999] {
            let near = |degrees: u64, expected: f64, error: f64| {
                let found = student_t_quantile(degrees, confidence);
                assert!((found / expected - 1.0).abs() < error, "{found}, not {expected}: {degrees} at {confidence}");
            };
            near(1, libm::tan(std::f64::consts::FRAC_PI_2 * confidence), 1e-11);
            near(2, confidence * libm::sqrt(2.0 / (1.0 - confidence * confidence)), 1e-11);
            near(1_000_000, normal_quantile(0.5 + confidence / 2.0), 1e-5);
        }
    }

    /// Is a tail as accurate as its first terms, which are nearly all of it?
    #[test]
    fn binomial_tails_are_accurate_however_small() {
        for (n, count, p) in
            [(4291u64, 15u64, 1e-4f64), (34_448, 105, 1.5e-3), (38_560, 362, 6.4e-3), (34_448, 105, 1e-5)]
        {
            let (least, n_, p_) = ((count + 1) as f64, n as f64, p);
            let choices = libm::lgamma(n_ + 1.0) - libm::lgamma(least + 1.0) - libm::lgamma(n_ - least + 1.0);
            let mut term = libm::exp(choices + least * libm::log(p_) + (n_ - least) * libm::log1p(-p_));
            let mut sum = 0.0;
            for errors in count + 1..count + 400 {
                sum += term;
                term *= (n - errors) as f64 / (errors + 1) as f64 * p / (1.0 - p);
            }
            let found = binomial_tail(count, n, p);
            assert!((found / sum - 1.0).abs() < 1e-8, "{count} of {n} at {p}: {found:e}, not {sum:e}");
        }
        assert_eq!((binomial_tail(5, 5, 0.5), binomial_tail(4, 5, 1.0), binomial_tail(0, 5, 0.0)), (0.0, 1.0, 0.0));
    }

    /// Does the quantile invert the distribution function in the middle, in both tails, and where one formula follows another? The error
    /// in standard deviations is the error of the probability over the density.
    #[test]
    fn quantiles_invert_the_normal_distribution() {
        let tails = (0..=1500).map(|step| libm::exp(-f64::from(step) * (36.0 / 1500.0)));
        let middle = (1..1000).map(|step| f64::from(step) / 1000.0);
        for probability in tails.chain(middle).chain([0.075, 0.925, 1.388_794_386e-11]) {
            let z = normal_quantile(probability);
            let density = libm::exp(-0.5 * z * z) / libm::sqrt(2.0 * std::f64::consts::PI);
            let off = (normal_cdf(z) - probability.min(1.0 - 1e-16)) / density;
            let rounding = f64::EPSILON * probability / density;
            assert!(off.abs() < 1e-13 + 4.0 * rounding, "{probability:e}: {z} is off by {off:e}");
        }
        assert_eq!(normal_quantile(0.5), 0.0);
    }
}
