use std::ops::{Index, IndexMut};

/// Values that come and go, each at an index of its own while it is present.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    entries: Vec<T>,
    vacant: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), vacant: Vec::new() }
    }
}

impl<T> Slab<T> {
    #[inline]
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        if let Some(index) = self.vacant.pop() {
            self.entries[index as usize] = value;
            return index;
        }
        self.entries.push(value);
        self.entries.len() as u32 - 1
    }

    /// Hands out an index with the value that was left there, or with a value of `new`. It is meant for values that are filled field by
    /// field.
    #[inline]
    pub(crate) fn reuse(&mut self, new: impl FnOnce() -> T) -> u32 {
        self.vacant.pop().unwrap_or_else(|| {
            self.entries.push(new());
            self.entries.len() as u32 - 1
        })
    }

    /// Frees an index. The value stays until the index is handed out again.
    #[inline]
    pub(crate) fn remove(&mut self, index: u32) {
        self.vacant.push(index);
    }

    /// Iterates over the values that are present. The time grows with the most values that were ever present at once.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        let mut there = vec![true; self.entries.len()];
        self.vacant.iter().for_each(|&index| there[index as usize] = false);
        self.entries.iter().zip(there).filter_map(|(entry, there)| there.then_some(entry))
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len() - self.vacant.len()
    }
}

impl<T> Index<u32> for Slab<T> {
    type Output = T;
    #[inline]
    fn index(&self, index: u32) -> &T {
        &self.entries[index as usize]
    }
}

impl<T> IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut T {
        &mut self.entries[index as usize]
    }
}
