use std::ops::{Index, IndexMut};

/// Things that come and go, each at an index of its own while it is there.
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

    /// Gives out an index with what was left at it, or with what `new` makes: for what is filled in place, field by field.
    #[inline]
    pub(crate) fn reuse(&mut self, new: impl FnOnce() -> T) -> u32 {
        self.vacant.pop().unwrap_or_else(|| {
            self.entries.push(new());
            self.entries.len() as u32 - 1
        })
    }

    /// Gives the index back. The value stays until the index is given out again.
    #[inline]
    pub(crate) fn remove(&mut self, index: u32) {
        self.vacant.push(index);
    }

    /// Those that are there, which takes as long as all that ever were at once.
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
