use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub, SubAssign};

use serde::{Deserialize, Serialize};

/// A duration or an instant of simulated time, in integer nanoseconds. 2^64 ns are 584 years.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ns(pub u64);

impl Ns {
    /// The start of simulated time, or a duration of zero.
    pub const ZERO: Ns = Ns(0);
    /// An instant later than any event.
    pub const MAX: Ns = Ns(u64::MAX);

    /// Converts microseconds, rounded to the nearest nanosecond. Negative numbers and NaN become zero: configs check their ranges before
    /// they come here.
    pub fn from_us(us: f64) -> Ns {
        Ns((us * 1e3).round() as u64)
    }

    /// A duration that is longer by `ns` nanoseconds, rounded. A negative `ns` makes it shorter, down to zero.
    #[inline]
    pub fn longer(self, ns: f64) -> Ns {
        Ns((self.0 as f64 + ns).max(0.0).round() as u64)
    }

    /// Converts whole seconds.
    pub const fn from_secs(seconds: u64) -> Ns {
        Ns(seconds * 1_000_000_000)
    }

    /// The duration in microseconds.
    pub fn as_us(self) -> f64 {
        self.0 as f64 * 1e-3
    }

    /// The duration in seconds.
    pub fn as_secs(self) -> f64 {
        self.0 as f64 * 1e-9
    }

    /// The product of `n` and the duration.
    pub const fn times(self, n: u64) -> Ns {
        Ns(self.0 * n)
    }

    /// `self - earlier`, or zero if `earlier` is later.
    pub fn saturating_sub(self, earlier: Ns) -> Ns {
        Ns(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Ns {
    type Output = Ns;
    fn add(self, other: Ns) -> Ns {
        Ns(self.0 + other.0)
    }
}

impl AddAssign for Ns {
    fn add_assign(&mut self, other: Ns) {
        self.0 += other.0;
    }
}

impl Sub for Ns {
    type Output = Ns;
    fn sub(self, other: Ns) -> Ns {
        Ns(self.0 - other.0)
    }
}

impl Sum for Ns {
    fn sum<I: Iterator<Item = Ns>>(durations: I) -> Ns {
        durations.fold(Ns::ZERO, |total, d| total + d)
    }
}

impl fmt::Display for Ns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format_duration(*self))
    }
}

/// A sum of durations, in integer nanoseconds. Durations of requests that overlap may add up to far more than 584 years.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct TotalNs(pub u128);

impl TotalNs {
    /// The sum in microseconds.
    pub fn as_us(self) -> f64 {
        self.0 as f64 * 1e-3
    }
}

impl Add for TotalNs {
    type Output = TotalNs;
    fn add(self, other: TotalNs) -> TotalNs {
        TotalNs(self.0 + other.0)
    }
}

impl AddAssign<Ns> for TotalNs {
    fn add_assign(&mut self, duration: Ns) {
        self.0 += u128::from(duration.0);
    }
}

impl PartialEq<Ns> for TotalNs {
    fn eq(&self, other: &Ns) -> bool {
        self.0 == u128::from(other.0)
    }
}

/// An energy, in integer picojoules, so that sums do not depend on their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Pj(pub u64);

impl Pj {
    /// Converts microjoules, rounded to the nearest picojoule. Negative numbers and NaN become zero.
    pub fn from_uj(uj: f64) -> Pj {
        Pj((uj * 1e6).round() as u64)
    }

    /// The energy in microjoules.
    pub fn as_uj(self) -> f64 {
        self.0 as f64 * 1e-6
    }

    /// The product of `n` and the energy.
    pub const fn times(self, n: u64) -> Pj {
        Pj(self.0 * n)
    }

    /// The part of the energy that is spent in `part` of the time `whole`, rounded down.
    pub fn share(self, part: Ns, whole: Ns) -> Pj {
        Pj((u128::from(self.0) * u128::from(part.0) / u128::from(whole.0.max(1))) as u64)
    }

    /// The difference between this energy and `other`; zero if `other` is larger.
    #[inline]
    pub fn without(self, other: Pj) -> Pj {
        Pj(self.0.saturating_sub(other.0))
    }

    /// The energy divided into `of` equal parts, rounded down.
    #[inline]
    pub fn part(self, of: u32) -> Pj {
        if of == 1 { self } else { Pj(self.0 / u64::from(of)) }
    }
}

impl Add for Pj {
    type Output = Pj;
    fn add(self, other: Pj) -> Pj {
        Pj(self.0 + other.0)
    }
}

impl AddAssign for Pj {
    fn add_assign(&mut self, other: Pj) {
        self.0 += other.0;
    }
}

impl SubAssign for Pj {
    fn sub_assign(&mut self, other: Pj) {
        self.0 -= other.0;
    }
}

/// A duration for people: `812 ns`, `130.3 us`, `4.2 ms`, `8.1 s`, `3.2 h`, `6.7 d`.
pub fn format_duration(duration: Ns) -> String {
    let ns = duration.0 as f64;
    match duration.0 {
        0..1_000 => format!("{} ns", duration.0),
        1_000..1_000_000 => format!("{:.1} us", ns / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} ms", ns / 1e6),
        1_000_000_000..3_600_000_000_000 => format!("{:.1} s", ns / 1e9),
        3_600_000_000_000..172_800_000_000_000 => format!("{:.1} h", ns / 3.6e12),
        _ => format!("{:.1} d", ns / 8.64e13),
    }
}

/// A size for people, in binary units: `512 B`, `4 KiB`, `1.5 GiB`.
pub fn format_bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let text = format!("{value:.2}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {}", UNITS[unit])
}

/// A count for people: `62,257`.
pub fn format_count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microseconds_round_to_nanoseconds() {
        assert_eq!(Ns::from_us(0.0004), Ns(0));
        assert_eq!(Ns::from_us(130.3444), Ns(130_344));
        assert_eq!(Ns(1_500).as_us(), 1.5);
    }

    #[test]
    fn energies_are_exact() {
        assert_eq!(Pj::from_uj(0.7).times(3), Pj(2_100_000));
        assert_eq!(Pj::from_uj(1.85).share(Ns(28), Ns(125)), Pj(414_400));
        assert_eq!(Pj(1).share(Ns(0), Ns(0)), Pj(0));
        assert_eq!(Pj(52_000_000).as_uj(), 52.0);
    }

    #[test]
    fn sizes_and_durations_read_well() {
        assert_eq!(format_bytes(512), "512 B");
        assert_eq!(format_bytes(4096), "4 KiB");
        assert_eq!(format_bytes(3 << 29), "1.5 GiB");
        assert_eq!([0, 999, 1000, 1_234_567].map(format_count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(format_duration(Ns(130_300)), "130.3 us");
        assert_eq!(format_duration(Ns::from_secs(498)), "498.0 s");
        assert_eq!(format_duration(Ns::from_secs(6 * 86_400)), "6.0 d");
    }
}
