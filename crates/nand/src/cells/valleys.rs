use softsense_base::{Error, Result};

use crate::distribution::Distribution;

/// A point of a measured valley: the share of all cells that are on the wrong side of a reference at a boundary.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ValleyPoint {
    /// Number of the boundary, between states `boundary` and `boundary` + 1.
    pub boundary: usize,
    /// Position of the reference, in any unit.
    pub reference: f64,
    /// Share of all cells that are on the wrong side. Each of the two states at the boundary has a share of 1 / states of all cells.
    pub rber: f64,
}

/// The share of the measured rate above which a tail tells of its state.
const MOST_OF: f64 = 0.6;
const ROUNDS: usize = 200;

/// Means and standard deviations of the normal states that have these valleys.
///
/// On either side of a valley one tail is most of the measured rate. There the reference is mean + sigma z. Here z is the normal quantile
/// of the share of the state beyond the reference, less the share of the other tail. A line through these points, on both sides of a
/// state, gives its mean and spread. The other tail is that of the last round. With valleys of normal states the rounds end at these
/// states.
///
/// # Errors
/// Points at boundaries that do not exist, and states with fewer than two points.
pub fn states_of_valleys(points: &[ValleyPoint], states: usize) -> Result<Vec<(f64, f64)>> {
    for boundary in 0..states - 1 {
        let count = points.iter().filter(|point| point.boundary == boundary).count();
        if count < 4 {
            let message = format!("found {count} points of boundary {boundary}, expected at least four");
            return Err(Error::config("valleys", message));
        }
    }
    if let Some(point) = points.iter().find(|point| point.boundary + 1 >= states) {
        let message =
            format!("found boundary {}, expected 0 to {}, those of {states} states", point.boundary, states - 2);
        return Err(Error::config("valleys", message));
    }
    let standard = Distribution::normal(0.0, 1.0);
    // The lowest point of each valley says which tail is which before any state is known.
    let lowest: Vec<f64> = (0..states - 1)
        .map(|boundary| {
            let of = points.iter().filter(|point| point.boundary == boundary);
            of.min_by(|one, other| one.rber.total_cmp(&other.rber)).expect("there are some").reference
        })
        .collect();
    let mut found: Vec<Option<(f64, f64)>> = vec![None; states];
    for _ in 0..ROUNDS {
        let before = found.clone();
        let mut lines = vec![Vec::new(); states];
        for point in points {
            let share = point.rber * states as f64;
            let (lower, upper) = (point.boundary, point.boundary + 1);
            // The tail of the lower state is above the reference, that of the upper state below.
            let tail = |state: usize| match before[state] {
                Some((mean, sigma)) => {
                    let tail = Distribution::normal(mean, sigma).tail(point.reference);
                    if state == lower { tail.upper() } else { tail.lower() }
                }
                None => 0.0,
            };
            let known = before[lower].is_some() && before[upper].is_some();
            for (state, other, own_side) in
                [(lower, upper, point.reference < lowest[lower]), (upper, lower, point.reference > lowest[lower])]
            {
                let own = share - tail(other);
                let tells = if known { own > MOST_OF * share } else { own_side };
                if tells && own > 0.0 && own < 0.5 {
                    let z = standard.lower_quantile(own);
                    lines[state].push((if state == lower { -z } else { z }, point.reference));
                }
            }
        }
        found = lines.iter().zip(&before).map(|(line, before)| fitted(line).or(*before)).collect();
        if found == before {
            break;
        }
    }
    let state = |(number, found): (usize, Option<(f64, f64)>)| {
        found.ok_or_else(|| {
            let message = format!(
                "found fewer than two points on the slopes of state {number}, expected points that are further from \
                 the middle of its valleys"
            );
            Error::config("valleys", message)
        })
    };
    found.into_iter().enumerate().map(state).collect()
}

/// Intercept and slope of the line through points, if the line rises.
fn fitted(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (z, reference) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = points.iter().map(|point| (point.0 - z) * (point.0 - z)).sum();
    let together: f64 = points.iter().map(|point| (point.0 - z) * (point.1 - reference)).sum();
    let slope = together / spread;
    (points.len() > 1 && slope > 0.0 && slope.is_finite()).then_some((reference - slope * z, slope))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Are normal states found again from their own valleys, with thirteen references at each boundary?
    #[test]
    fn states_are_found_from_their_valleys() {
        let truth = [
            (-90.0, 47.0),
            (66.0, 10.0),
            (128.0, 9.5),
            (192.0, 9.0),
            (255.0, 12.0),
            (318.0, 9.0),
            (384.0, 9.5),
            (448.0, 10.5),
        ];
        let states = truth.map(|(mean, sigma)| Distribution::normal(mean, sigma));
        let mut points = Vec::new();
        for boundary in 0..7 {
            let (lower, upper) = (truth[boundary], truth[boundary + 1]);
            let middle = lower.0 + (upper.0 - lower.0) * lower.1 / (lower.1 + upper.1);
            for step in -6..=6 {
                let reference = middle + 3.0 * f64::from(step);
                let wrong = states[boundary].tail(reference).upper() + states[boundary + 1].tail(reference).lower();
                points.push(ValleyPoint { boundary, reference, rber: wrong / 8.0 });
            }
        }
        let found = states_of_valleys(&points, 8).unwrap();
        for ((mean, sigma), (found_mean, found_sigma)) in truth.into_iter().zip(found) {
            assert!(
                (found_mean - mean).abs() < 0.05 && (found_sigma - sigma).abs() < 0.05,
                "{found_mean} {found_sigma} for {mean} {sigma}"
            );
        }
    }

    #[test]
    fn what_tells_too_little_is_refused() {
        let point = |boundary, reference, rber| ValleyPoint { boundary, reference, rber };
        let error = states_of_valleys(&[point(0, 0.0, 1e-3)], 2).unwrap_err().to_string();
        assert_eq!(error, "valleys: found 1 points of boundary 0, expected at least four");
        let flat: Vec<_> = (0..5).map(|at| point(0, f64::from(at), 1e-3)).collect();
        assert!(states_of_valleys(&flat, 2).unwrap_err().to_string().contains("on the slopes of state"));
        let four: Vec<_> = (0..4).map(|at| point(0, f64::from(at), 1e-3)).chain([point(3, 0.0, 0.1)]).collect();
        assert!(states_of_valleys(&four, 2).unwrap_err().to_string().contains("found boundary 3, expected 0 to 0"));
    }
}
