/// A cell: its quantile among the cells of its state, in multiples of 2^-52, and in the lower twelve bits the state.
#[derive(Clone, Copy, Default)]
pub(crate) struct Cell(u64);

const STATE_BITS: u32 = 12;
pub(crate) const QUANTILE_BITS: u32 = 64 - STATE_BITS;

impl Cell {
    /// Makes the cell of 64 uniform bits, in one of the states `candidates`, of which there are 1, 2 or 4.
    pub(crate) fn of_draw(draw: u64, candidates: &[u8]) -> Self {
        let low = draw & ((1 << STATE_BITS) - 1);
        let state = candidates[(low as usize * candidates.len()) >> STATE_BITS];
        Self(draw - low + u64::from(state))
    }

    pub(crate) fn state(self) -> usize {
        (self.0 & ((1 << STATE_BITS) - 1)) as usize
    }

    pub(crate) fn quantile(self) -> u64 {
        self.0 >> STATE_BITS
    }
}

/// A map from the quantiles of the cells of a state to regions.
///
/// Source: H.-C. Chen, Y. Asau, "On generating random variates from an empirical distribution", 1974: the guide.
pub(crate) struct RegionOf {
    /// Quantiles at the references, in multiples of 2^-52.
    below: Vec<u64>,
    /// The least region for each value of the first eight bits of a quantile.
    guide: [u8; 256],
}

impl RegionOf {
    pub(crate) fn new(cumulative: &[f64]) -> Self {
        let below: Vec<u64> = cumulative.iter().map(|c| (c * (1u64 << QUANTILE_BITS) as f64) as u64).collect();
        let guide = std::array::from_fn(|first| {
            below.iter().filter(|&&below| below <= (first as u64) << (QUANTILE_BITS - 8)).count() as u8
        });
        Self { below, guide }
    }

    #[inline]
    pub(crate) fn region(&self, quantile: u64) -> usize {
        let mut region = usize::from(self.guide[(quantile >> (QUANTILE_BITS - 8)) as usize]);
        while self.below.get(region).is_some_and(|&below| below <= quantile) {
            region += 1;
        }
        region
    }

    /// Returns the region of the median, and a distance in multiples of 2^-52: cells whose quantile is at least so far from both ends are
    /// in this region.
    pub(crate) fn central(&self) -> (usize, u64) {
        let region = self.region(1 << (QUANTILE_BITS - 1));
        let low = region.checked_sub(1).map_or(0, |before| self.below[before]);
        let above = self.below.get(region).map_or(0, |&high| (1 << QUANTILE_BITS) - high);
        (region, low.max(above))
    }
}
