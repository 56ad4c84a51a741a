use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Result};

use crate::Wear;
use crate::rber::Between;

/// Measured raw bit error rates on a grid of ages.
///
/// Between its points ln(RBER) is linear in sqrt(P/E cycles) and in ln(1 + retention / 1 h), in which error rates of flash are nearly
/// straight lines. A rate of 0 stands for 1e-30. A run has to begin within the grid; beyond the last P/E cycles and retention both slopes
/// continue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RberGrid {
    /// P/E cycles, ascending, at least one.
    pub pe_cycles: Vec<u32>,
    /// Days since the write, ascending, at least one. With a single one retention has no effect.
    #[schemars(inner(range(min = 0.0, max = 4e5)))]
    pub retention_days: Vec<f64>,
    /// Raw bit error rates: a row for each of `pe_cycles`, with a number for each of `retention_days`.
    #[schemars(inner(inner(range(min = 0.0, max = 0.5))))]
    pub rber: Vec<Vec<f64>>,
}

const LEAST: f64 = 1e-30;

/// The segment of an ascending axis that a number is on, or nearest to, and the position on it: from 0 to 1 if the number is within the
/// axis.
fn segment(axis: &[f64], at: f64) -> Between {
    if axis.len() == 1 {
        return Between { first: 0, fraction: 0.0 };
    }
    let first = axis.partition_point(|&value| value <= at).clamp(1, axis.len() - 1) - 1;
    Between { first, fraction: (at - axis[first]) / (axis[first + 1] - axis[first]) }
}

impl RberGrid {
    /// Checks lengths, order and ranges; `path` is the place of the grid in the config.
    pub(crate) fn check(&self, path: &str) -> Result<()> {
        let empty = |field: &str| {
            Err(Error::config(
                format!("{path}.{field}"),
                "found an empty list, expected at least one number".to_owned(),
            ))
        };
        if self.pe_cycles.is_empty() {
            return empty("pe_cycles");
        }
        if self.retention_days.is_empty() {
            return empty("retention_days");
        }
        let cycles = self.pe_cycles.iter().map(|&cycles| f64::from(cycles)).collect::<Vec<_>>();
        for (field, axis) in [("pe_cycles", &cycles), ("retention_days", &self.retention_days)] {
            if let Some(index) = (1..axis.len()).find(|&index| axis[index] <= axis[index - 1]) {
                let message =
                    format!("found {} after {}, expected numbers in ascending order", axis[index], axis[index - 1]);
                return Err(Error::config(format!("{path}.{field}[{index}]"), message));
            }
        }
        if self.rber.len() != self.pe_cycles.len() {
            let (found, expected) = (self.rber.len(), self.pe_cycles.len());
            let message = format!("found {found} rows, expected {expected}, one for each of `pe_cycles`");
            return Err(Error::config(format!("{path}.rber"), message));
        }
        for (row, rates) in self.rber.iter().enumerate() {
            if rates.len() != self.retention_days.len() {
                let (found, expected) = (rates.len(), self.retention_days.len());
                let message = format!("found {found} numbers, expected {expected}, one for each of `retention_days`");
                return Err(Error::config(format!("{path}.rber[{row}]"), message));
            }
        }
        Ok(())
    }

    /// The reason why a run may not begin at an age: the age that was found, and the range of the grid.
    pub(crate) fn beyond(&self, wear: Wear) -> Option<String> {
        let (cycles, days) = (wear.pe_cycles, wear.retention_hours / 24.0);
        let (first, last) = (self.pe_cycles[0], self.pe_cycles[self.pe_cycles.len() - 1]);
        if !(first..=last).contains(&cycles) {
            return Some(format!(
                "found a start after {cycles} P/E cycles, expected {first} to {last}, the range of the grid"
            ));
        }
        let (first, last) = (self.retention_days[0], self.retention_days[self.retention_days.len() - 1]);
        // Hours and days do not divide evenly.
        let within = first * (1.0 - 1e-12)..=last * (1.0 + 1e-12);
        (self.retention_days.len() > 1 && !within.contains(&days))
            .then(|| format!("found a start after {days} days, expected {first} to {last}, the range of the grid"))
    }

    pub(crate) fn depends_on_pe_cycles(&self) -> bool {
        self.pe_cycles.len() > 1
    }

    pub(crate) fn depends_on_retention(&self) -> bool {
        self.retention_days.len() > 1
    }

    /// The grid, prepared for many queries.
    pub(crate) fn compiled(&self) -> CompiledGrid {
        let ln = |rates: &Vec<f64>| rates.iter().map(|rate| libm::log(rate.max(LEAST))).collect();
        CompiledGrid {
            rows: self.pe_cycles.iter().map(|&cycles| libm::sqrt(f64::from(cycles))).collect(),
            columns: self.retention_days.iter().map(|days| libm::log1p(24.0 * days)).collect(),
            ln_rber: self.rber.iter().map(ln).collect(),
        }
    }
}

/// An [`RberGrid`] in the coordinates in which it is linear.
#[derive(Debug)]
pub(crate) struct CompiledGrid {
    rows: Vec<f64>,
    columns: Vec<f64>,
    ln_rber: Vec<Vec<f64>>,
}

impl CompiledGrid {
    pub(crate) fn at(&self, wear: Wear) -> f64 {
        let row = segment(&self.rows, libm::sqrt(f64::from(wear.pe_cycles)));
        // Data that is written in the run may be younger than the youngest measured data, and then has its rate.
        let column = segment(&self.columns, libm::log1p(wear.retention_hours).max(self.columns[0]));
        libm::exp(row.of(|row| column.of(|column| self.ln_rber[row][column]))).min(0.5)
    }
}

#[cfg(test)]
mod tests {
    use softsense_base::check_ranges;

    use super::*;

    fn grid() -> RberGrid {
        RberGrid {
            pe_cycles: vec![0, 1000, 4000],
            retention_days: vec![0.0, 30.0, 365.0],
            rber: vec![vec![1e-5, 2e-5, 4e-5], vec![1e-4, 3e-4, 6e-4], vec![1e-3, 5e-3, 1e-2]],
        }
    }

    /// Does the grid have its own rates at its points, and rates between them elsewhere?
    #[test]
    fn points_are_met_and_joined() {
        let grid = grid();
        grid.check("grid").unwrap();
        for (row, &cycles) in grid.pe_cycles.iter().enumerate() {
            for (column, &days) in grid.retention_days.iter().enumerate() {
                let found = grid.compiled().at(Wear::unread(cycles, 24.0 * days));
                assert!((found / grid.rber[row][column] - 1.0).abs() < 1e-12, "{cycles}, {days}: {found}");
            }
        }
        // Half way in sqrt(P/E cycles), 250, and in ln(1 + h): the geometric mean.
        let half = libm::expm1(0.5 * (libm::log1p(720.0) + libm::log1p(8760.0)));
        let near = |wear, expected: f64| assert!((grid.compiled().at(wear) / expected - 1.0).abs() < 1e-9);
        near(Wear::unread(250, 0.0), (1e-5f64 * 1e-4).sqrt());
        near(Wear::unread(1000, half), (3e-4f64 * 6e-4).sqrt());
        near(Wear::unread(250, half), (2e-5f64 * 4e-5 * 3e-4 * 6e-4).powf(0.25));
        assert!(grid.compiled().at(Wear::unread(4100, 8760.0)) > 1e-2, "slopes go on");
        assert!(grid.compiled().at(Wear::unread(10_000_000, 1e7)) == 0.5);
    }

    #[test]
    fn one_age_holds_everywhere() {
        let grid = RberGrid { pe_cycles: vec![500], retention_days: vec![7.0], rber: vec![vec![3e-3]] };
        assert_eq!(grid.compiled().at(Wear::unread(9000, 1e4)), libm::exp(libm::log(3e-3)));
        assert!(!grid.depends_on_retention() && grid.beyond(Wear::unread(500, 0.0)).is_none());
    }

    #[test]
    fn bad_grids_are_named() {
        let bad = |change: &dyn Fn(&mut RberGrid)| {
            let mut grid = grid();
            change(&mut grid);
            check_ranges("rber.grid", &grid).and_then(|()| grid.check("rber.grid")).unwrap_err().to_string()
        };
        let error = bad(&|grid| grid.pe_cycles[2] = 900);
        assert_eq!(error, "rber.grid.pe_cycles[2]: found 900 after 1000, expected numbers in ascending order");
        let error = bad(&|grid| grid.retention_days[1] = 0.0);
        assert_eq!(error, "rber.grid.retention_days[1]: found 0 after 0, expected numbers in ascending order");
        assert!(bad(&|grid| grid.rber.truncate(2)).starts_with("rber.grid.rber: found 2 rows, expected 3"));
        assert!(bad(&|grid| grid.rber[1].truncate(2)).starts_with("rber.grid.rber[1]: found 2 numbers, expected 3"));
        assert!(bad(&|grid| grid.rber[0][2] = 0.7).starts_with("rber.grid.rber[0][2]: found 0.7"));
        assert!(bad(&|grid| grid.pe_cycles.clear()).starts_with("rber.grid.pe_cycles: found an empty list"));
        let beyond = grid().beyond(Wear::unread(5000, 0.0)).unwrap();
        assert_eq!(beyond, "found a start after 5000 P/E cycles, expected 0 to 4000, the range of the grid");
        assert!(grid().beyond(Wear::unread(4000, 8760.0)).is_none());
        assert!(grid().beyond(Wear::unread(0, 9000.0)).unwrap().starts_with("found a start after 375 days"));
    }
}
