use softsense_base::{Result, expect_number};

/// Checks a duration in microseconds: at most 1000 s, so that sums of them stay far from overflowing.
pub(super) fn check_us(path: impl Into<String>, us: f64) -> Result<()> {
    expect_number(path, us, 0.0, 1e9)
}
