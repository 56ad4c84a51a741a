use std::ops::RangeInclusive;

/// Values by age, in the order of the ages up to which they hold; the last value holds beyond its own age, too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ByAge<T> {
    before: Vec<(u32, T)>,
    last: T,
}

impl<T> ByAge<T> {
    /// Makes one value for all ages.
    pub fn always(value: T) -> Self {
        Self { before: Vec::new(), last: value }
    }

    /// # Arguments
    /// - `values`: each value with the age up to which it holds, in increasing order.
    ///
    /// # Panics
    /// If there are no values.
    pub fn new(values: impl IntoIterator<Item = (u32, T)>) -> Self {
        let mut before: Vec<(u32, T)> = values.into_iter().collect();
        let (_, last) = before.pop().expect("something holds at every age");
        Self { before, last }
    }

    /// Removes the values that no longer hold from `age` on.
    #[must_use]
    pub fn from(mut self, age: u32) -> Self {
        self.before.retain(|(to, _)| age <= *to);
        self
    }

    /// Returns the value at an age, which is asked for only if values differ by age.
    #[inline]
    pub fn at(&self, age: impl FnOnce() -> u32) -> &T {
        if self.before.is_empty() {
            return &self.last;
        }
        let age = age();
        self.before.iter().find(|(to, _)| age <= *to).map_or(&self.last, |(_, value)| value)
    }

    /// Returns the values at all ages in a range.
    pub fn within(&self, ages: RangeInclusive<u32>) -> impl Iterator<Item = &T> {
        let (first, last) = ages.into_inner();
        let index = |age| self.before.iter().position(|(to, _)| age <= *to).unwrap_or(self.before.len());
        self.iter().take(index(last) + 1).skip(index(first))
    }

    /// Whether the value changes with age.
    #[inline]
    pub fn changes(&self) -> bool {
        !self.before.is_empty()
    }

    /// Returns all values in the order of their ages.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.before.iter().map(|(_, value)| value).chain([&self.last])
    }

    /// Returns for each value an age at which it holds, in the same order.
    pub fn ages(&self) -> impl Iterator<Item = u32> {
        self.before.iter().map(|(to, _)| *to).chain([u32::MAX])
    }

    /// Maps each value.
    pub fn map<U>(&self, mut make: impl FnMut(&T) -> U) -> ByAge<U> {
        let before = self.before.iter().map(|(to, value)| (*to, make(value))).collect();
        ByAge { before, last: make(&self.last) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_holds_up_to_its_age_and_the_last_beyond() {
        let ages = || ByAge::new([(100, 13), (130, 8), (200, 4)]);
        let at = |ages: &ByAge<i32>, asked: &[u32]| asked.iter().map(|&age| *ages.at(|| age)).collect::<Vec<_>>();
        assert_eq!(at(&ages(), &[0, 100, 101, 130, 131, 1000]), [13, 13, 8, 8, 4, 4]);
        assert_eq!(at(&ages().from(130), &[130, 131, 1000]), [8, 4, 4]);
        let worn = ages().from(201);
        assert_eq!((at(&worn, &[201, 1000]), worn.changes(), ages().changes()), (vec![4, 4], false, true));
        let within = |first, last| ages().within(first..=last).copied().collect::<Vec<_>>();
        assert_eq!(
            [within(0, 100), within(100, 131), within(131, 131), within(200, 300)],
            [vec![13], vec![13, 8, 4], vec![4], vec![4]]
        );
        assert_eq!(ages().map(|x| 2 * x).iter().copied().collect::<Vec<_>>(), [26, 16, 8]);
        assert_eq!(ages().ages().map(|age| *ages().at(|| age)).collect::<Vec<_>>(), [13, 8, 4]);
        assert!(!ByAge::always(3).changes());
    }
}
