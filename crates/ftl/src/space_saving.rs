//! Counting the most frequent items with few counters.

/// A few counters for many items, by the Space-Saving algorithm: an item without a counter takes over the smallest one, with its count.
/// So no count is too small. None is too large by more than the smallest count, which is at most the total over the number of counters.
///
/// Source: A. Metwally, D. Agrawal, A. El Abbadi, "Efficient Computation of Frequent and Top-k Elements in Data Streams", ICDT 2005.
#[derive(Debug, Clone, Default)]
pub(super) struct SpaceSaving {
    /// Items and their counts.
    counters: Vec<(u32, u64)>,
}

impl SpaceSaving {
    /// Adds an amount to the count of an item, with at most `most` counters.
    pub(super) fn add(&mut self, most: u32, item: u32, amount: u64) {
        let counters = &mut self.counters;
        if let Some((_, count)) = counters.iter_mut().find(|(of, _)| *of == item) {
            *count += amount;
        } else if counters.len() < most as usize {
            counters.push((item, amount));
        } else if let Some(smallest) = counters.iter_mut().min_by_key(|(_, count)| *count) {
            *smallest = (item, smallest.1 + amount);
        }
    }

    /// The least and the greatest count that an item can have.
    pub(super) fn bounds(&self, most: u32, item: u32) -> (u64, u64) {
        let free = self.counters.len() < most as usize;
        let smallest = if free { 0 } else { self.counters.iter().map(|&(_, count)| count).min().unwrap_or(0) };
        match self.counters.iter().find(|(of, _)| *of == item) {
            Some(&(_, count)) => (count - smallest, count),
            None => (0, smallest),
        }
    }

    /// The sum of all counts.
    pub(super) fn total(&self) -> u64 {
        self.counters.iter().map(|&(_, count)| count).sum()
    }
}

#[cfg(test)]
mod tests {
    use softsense_base::{Purpose, Stream};

    use super::*;

    /// Are counts never too small, and too large by at most total / counters, for items of equal frequencies and of Zipf's law?
    #[test]
    fn no_count_is_too_small_and_none_much_too_large() {
        const ITEMS: u32 = 200;
        for (case, exponent) in [0.0, 0.9, 1.5].into_iter().enumerate() {
            for most in [1, 4, 32, 200] {
                let weights: Vec<f64> = (1..=ITEMS).map(|rank| f64::from(rank).powf(-exponent)).collect();
                let sum: f64 = weights.iter().sum();
                let stream = Stream::new(case as u64, Purpose::Noise);
                let (mut counted, mut exact, mut overcounted) = (SpaceSaving::default(), [0u64; ITEMS as usize], false);
                for step in 0..5_000 {
                    let mut left = stream.uniform(step, 0) * sum;
                    let drawn = weights.iter().position(|weight| {
                        left -= weight;
                        left < 0.0
                    });
                    let item = drawn.unwrap_or(0) as u32;
                    let amount = 1 + stream.bits(step, 1) % 9;
                    counted.add(most, item, amount);
                    exact[item as usize] += amount;
                    if step % 50 != 0 {
                        continue;
                    }
                    let total: u64 = exact.iter().sum();
                    assert_eq!(counted.total(), total);
                    for (item, &exact) in (0..).zip(&exact) {
                        let (least, most_counted) = counted.bounds(most, item);
                        assert!(least <= exact && exact <= most_counted, "{least} <= {exact} <= {most_counted}");
                        assert!(
                            most_counted - exact <= total / u64::from(most),
                            "{most_counted} for {exact} of {total}"
                        );
                        overcounted |= most_counted > exact;
                    }
                }
                assert_eq!(overcounted, most < ITEMS, "{most} counters, exponent {exponent}");
            }
        }
    }
}
