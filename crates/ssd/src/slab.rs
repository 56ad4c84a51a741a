use std::ops::{Index, IndexMut};

use softsense_config::numbers;

numbers! {
    /// A request of the host under way.
    RequestId(u32);
    /// A read of a page, or of pages of a group, under way.
    ReadId(u32);
    /// A program under way.
    ProgramId(u32);
    /// A codeword of a read under way.
    CodewordId(u32);
    /// Data on its way between host and controller memory.
    MoveId(u32);
    /// An action that waits for DRAM.
    DeferredId(u32);
    /// Codewords on a link, or on the switch.
    CrossingId(u32);
    /// The rest of a codeword that the write buffer holds in part, which is being read.
    FillId(u32);
    /// Slots of the write buffer that are being programmed.
    FlightId(u32);
    /// A read ahead under way.
    AheadId(u32);
}

/// Values that come and go, each at a number of its own while it is present.
#[derive(Debug)]
pub(crate) struct Slab<N, T> {
    entries: Vec<T>,
    vacant: Vec<N>,
}

impl<N, T> Default for Slab<N, T> {
    fn default() -> Self {
        Self { entries: Vec::new(), vacant: Vec::new() }
    }
}

impl<N: Copy + From<usize>, T> Slab<N, T>
where
    usize: From<N>,
{
    #[inline]
    pub(crate) fn insert(&mut self, value: T) -> N {
        if let Some(number) = self.vacant.pop() {
            self[number] = value;
            return number;
        }
        self.entries.push(value);
        N::from(self.entries.len() - 1)
    }

    /// Hands out an index with the value that was left there, or with a value of `new`. It is meant for values that are filled field by
    /// field.
    #[inline]
    pub(crate) fn reuse(&mut self, new: impl FnOnce() -> T) -> N {
        self.vacant.pop().unwrap_or_else(|| {
            self.entries.push(new());
            N::from(self.entries.len() - 1)
        })
    }

    /// Frees an index. The value stays until the index is handed out again.
    #[inline]
    pub(crate) fn remove(&mut self, number: N) {
        self.vacant.push(number);
    }

    /// Iterates over the values that are present. The time grows with the most values that were ever present at once.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        let mut there = vec![true; self.entries.len()];
        self.vacant.iter().for_each(|&number| there[usize::from(number)] = false);
        self.entries.iter().zip(there).filter_map(|(entry, there)| there.then_some(entry))
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len() - self.vacant.len()
    }
}

impl<N, T> Index<N> for Slab<N, T>
where
    usize: From<N>,
{
    type Output = T;
    #[inline]
    fn index(&self, number: N) -> &T {
        &self.entries[usize::from(number)]
    }
}

impl<N, T> IndexMut<N> for Slab<N, T>
where
    usize: From<N>,
{
    #[inline]
    fn index_mut(&mut self, number: N) -> &mut T {
        &mut self.entries[usize::from(number)]
    }
}
