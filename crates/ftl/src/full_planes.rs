//! Planes in which writes of the host have found no room. In a drive that is overwritten all but a few planes are full: full planes are
//! passed over without being asked again for every page.

/// For each pool, a bit for each plane that has been found full since a block was last erased.
#[derive(Debug)]
pub(super) struct FullPlanes {
    words_of_pool: usize,
    words: Vec<u64>,
}

impl FullPlanes {
    /// # Arguments
    /// - `planes`: the number of planes in a pool.
    pub(super) fn new(pools: usize, planes: usize) -> Self {
        let words_of_pool = planes.div_ceil(64);
        Self { words_of_pool, words: vec![0; pools * words_of_pool] }
    }

    /// Notes that a plane, given by its position in the turn of its pool, has no room.
    #[inline]
    pub(super) fn found(&mut self, pool: usize, at: usize) {
        self.words[pool * self.words_of_pool + at / 64] |= 1 << (at % 64);
    }

    /// Forgets all full planes, as a block has been erased: any plane may have room.
    #[inline]
    pub(super) fn forget(&mut self) {
        self.words.fill(0);
    }

    /// The first plane from `at` on, in the turn of a pool of `planes` planes, that has not been found full.
    #[inline]
    pub(super) fn next_other(&self, pool: usize, planes: usize, at: usize) -> Option<usize> {
        let words = &self.words[pool * self.words_of_pool..][..self.words_of_pool];
        first_unset(words, at, planes).or_else(|| first_unset(words, 0, at))
    }
}

/// The first bit of `from..to` that is not set.
#[inline]
fn first_unset(words: &[u64], from: usize, to: usize) -> Option<usize> {
    let mut candidates = u64::MAX << (from % 64);
    for (index, word) in words.iter().enumerate().take(to.div_ceil(64)).skip(from / 64) {
        let unset = !word & candidates;
        if unset != 0 {
            let at = 64 * index + unset.trailing_zeros() as usize;
            return (at < to).then_some(at);
        }
        candidates = u64::MAX;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Is the next plane the one that a scan finds, across the ends of the turn and of words, whichever planes are full?
    #[test]
    fn the_next_plane_is_that_of_a_scan() {
        for planes in [1, 2, 63, 64, 65, 130] {
            let mut full = FullPlanes::new(2, planes);
            let mut found = vec![false; planes];
            for step in 0..3 * planes {
                let at = step * 37 % planes;
                full.found(1, at);
                found[at] = true;
                for from in 0..planes {
                    let expected = (from..planes).chain(0..from).find(|&at| !found[at]);
                    assert_eq!(full.next_other(1, planes, from), expected, "{planes} planes from {from}");
                    assert_eq!(full.next_other(0, planes, from), Some(from), "another pool");
                }
            }
            full.forget();
            assert_eq!(full.next_other(1, planes, planes - 1), Some(planes - 1));
        }
    }
}
