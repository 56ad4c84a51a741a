use softsense_base::Stream;

use crate::exact::QUANTILE_BITS;

/// Number of tiers except the outermost one, which has a share of 2^-16 of all cells: about one cell in two codewords of 4 KB.
const TIERS: u32 = 16;

/// From this tier outwards distances between cells are so long that a logarithm is cheaper than a table.
const FIRST_BY_LOGARITHM: u32 = 9;

/// The longest distance in a table, and the number of bits of its index.
const LONGEST: u32 = 512;
const GUIDE_BITS: u32 = 9;

/// Quantiles are multiples of 2^-52, and so are distances of cells from the end of the quantiles.
const END_BITS: u32 = QUANTILE_BITS - 1;

/// A cell that was drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DrawnCell {
    /// Position of the cell in the codeword.
    pub(super) at: u32,
    /// Quantile of the cell among the cells of its state, in multiples of 2^-52.
    pub(super) quantile: u64,
}

/// The cells of a codeword in the order of their distance from the middle of their state, the farthest first, as far
/// inwards as was asked for.
///
/// For a cell with quantile u let e = 2 min(u, 1 - u), which is uniform in [0, 1). Tier k has the cells with e in
/// [2^-(k+1), 2^-k), and the outermost tier all cells below 2^-16. The cells of the outermost tier are a Bernoulli
/// process over all cells. Each tier further inwards is a Bernoulli process over all cells, too, with the probability
/// that a cell which is not farther out is in the tier; cells that are farther out are skipped. So each cell is in each
/// tier with the right probability, independently of other cells, and tiers that are not needed are not drawn.
#[derive(Debug, Clone)]
pub(super) struct Drawn {
    stream: Stream,
    skips: Vec<Skips>,
    bits: u32,
    /// The random draw of the place and the programming, which identifies the cells.
    of: Option<u64>,
    cells: Vec<DrawnCell>,
    /// The next tier inwards; none when all are drawn.
    next: Option<u32>,
    /// Bitmap of the cells that are drawn.
    taken: Vec<u64>,
}

impl Drawn {
    pub(super) fn new(stream: Stream, bits: usize) -> Self {
        Self {
            stream,
            skips: (0..=TIERS).map(Skips::of_tier).collect(),
            bits: bits as u32,
            of: None,
            cells: Vec::new(),
            next: None,
            taken: vec![0; bits.div_ceil(64)],
        }
    }

    /// Draws at least all cells that are less than `reach` from an end of the quantiles, in multiples of 2^-52. They do
    /// not depend on earlier calls.
    ///
    /// # Arguments
    /// - `draw`: the random draw of the place and the programming.
    pub(super) fn within(&mut self, draw: u64, reach: u64) -> &[DrawnCell] {
        if self.of != Some(draw) {
            self.of = Some(draw);
            self.next = Some(TIERS);
            self.cells.clear();
            self.taken.fill(0);
        }
        while let Some(tier) = self.next
            && reach > Self::ends_of(tier).0
        {
            self.draw(draw, tier);
            self.next = tier.checked_sub(1);
        }
        &self.cells
    }

    /// Returns the smallest distance of a tier from an end of the quantiles, and the number of random bits of distances within it.
    fn ends_of(tier: u32) -> (u64, u32) {
        match tier {
            TIERS => (0, END_BITS - TIERS),
            tier => (1 << (END_BITS - 1 - tier), END_BITS - 1 - tier),
        }
    }

    fn draw(&mut self, draw: u64, tier: u32) {
        let (least, bits) = Self::ends_of(tier);
        // The indices of two tiers are farther apart than the number of draws that a tier takes.
        let mut index = u64::from(tier) << 40;
        let (stream, skips) = (self.stream, &self.skips[tier as usize]);
        let mut at = 0u32;
        loop {
            at = at.saturating_add(skips.skip(|| {
                index += 1;
                stream.bits(draw, index)
            }));
            if at >= self.bits {
                return;
            }
            let (word, bit) = ((at / 64) as usize, 1u64 << (at % 64));
            if self.taken[word] & bit == 0 {
                self.taken[word] |= bit;
                index += 1;
                let random = stream.bits(draw, index);
                // The quantile is counted from the lower end, or by complement from the upper one.
                let from_end = least + (random >> (64 - bits));
                let quantile = from_end ^ ((random & 1).wrapping_neg() & ((1 << QUANTILE_BITS) - 1));
                self.cells.push(DrawnCell { at, quantile });
            }
            at += 1;
        }
    }
}

/// The number of cells that are skipped before the next one in a tier, which is geometrically distributed.
#[derive(Debug, Clone)]
enum Skips {
    /// Every remaining cell is in the tier.
    None,
    /// Inversion: 1 / ln(1 - p).
    ByLogarithm(f64),
    /// Inversion by a table.
    ///
    /// Source: H.-C. Chen, Y. Asau, "On generating random variates from an empirical distribution", 1974: the guide.
    ByTable {
        /// 2^64 times the probabilities of passing over at least 1, 2, ... cells; then 0.
        at_least: Vec<u64>,
        /// The fewest cells for each value of the first bits of a draw.
        guide: Box<[u16; 1 << GUIDE_BITS]>,
        /// Most cells in the table. Beyond them the search starts again, as a geometric distribution has no memory.
        longest: usize,
    },
}

impl Skips {
    fn of_tier(tier: u32) -> Self {
        // Probability among cells that are not farther out.
        let p = match tier {
            TIERS => libm::exp2(-f64::from(TIERS)),
            0 => return Skips::None,
            tier => 1.0 / (libm::exp2(f64::from(tier + 1)) - 1.0),
        };
        let ln_passed = libm::log1p(-p);
        if tier >= FIRST_BY_LOGARITHM {
            return Skips::ByLogarithm(1.0 / ln_passed);
        }
        let longest = LONGEST.min(libm::ceil(-2.0 / ln_passed) as u32);
        let threshold = |cells: u32| (libm::exp(f64::from(cells) * ln_passed) * libm::exp2(64.0)) as u64;
        let mut at_least: Vec<u64> = (1..=longest).map(threshold).collect();
        let guide: [u16; 1 << GUIDE_BITS] = std::array::from_fn(|first| {
            let largest = (((first as u64) + 1) << (64 - GUIDE_BITS)).wrapping_sub(1);
            at_least.iter().filter(|&&threshold| largest < threshold).count() as u16
        });
        // A threshold of 0 ends every search.
        at_least.push(0);
        let longest = longest as usize;
        Skips::ByTable { at_least, guide: Box::new(guide), longest }
    }

    #[inline]
    fn skip(&self, mut random: impl FnMut() -> u64) -> u32 {
        match self {
            Skips::None => 0,
            Skips::ByLogarithm(per_ln) => {
                // The number is in (0, 1].
                let uniform = ((random() >> 11) + 1) as f64 * (1.0 / (1u64 << 53) as f64);
                (libm::log(uniform) * per_ln) as u32
            }
            Skips::ByTable { at_least, guide, longest } => {
                let mut passed = 0;
                loop {
                    let draw = random();
                    let mut cells = usize::from(guide[(draw >> (64 - GUIDE_BITS)) as usize]);
                    // Two steps are mostly enough, and a mispredicted branch would cost more than an unneeded step.
                    cells += usize::from(draw < at_least[cells]);
                    cells += usize::from(draw < at_least[cells]);
                    while draw < at_least[cells] {
                        cells += 1;
                    }
                    passed += cells as u32;
                    if cells < *longest {
                        return passed;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use softsense_base::Purpose;

    use super::*;

    const BITS: usize = 36_864;

    fn drawn() -> Drawn {
        Drawn::new(Stream::new(3, Purpose::StoredCells), BITS)
    }

    /// Does drawing all tiers draw every cell once, with uniform quantiles? Chi-square of 1,000 equal shares of 100 codewords has a
    /// standard deviation of 45. The ends are also tested by themselves, where 2^-10 and 2^-14 of all cells are.
    #[test]
    fn all_tiers_are_all_cells_with_uniform_quantiles() {
        let (mut drawn, words) = (drawn(), 100);
        let mut shares = vec![0u32; 1000];
        let mut far = [[0u32; 2]; 2];
        for word in 0..words {
            let cells = drawn.within(word, 1 << END_BITS);
            assert_eq!(cells.len(), BITS);
            for cell in cells {
                let u = cell.quantile as f64 * libm::exp2(-52.0);
                shares[(u * 1000.0) as usize] += 1;
                for (index, end) in [libm::exp2(-11.0), libm::exp2(-15.0)].into_iter().enumerate() {
                    far[index][0] += u32::from(u < end);
                    far[index][1] += u32::from(u >= 1.0 - end);
                }
            }
            let mut places: Vec<u32> = cells.iter().map(|cell| cell.at).collect();
            places.sort_unstable();
            assert!(places.iter().zip(0..).all(|(&at, index)| at == index));
        }
        let expected = (words as usize * BITS) as f64 / 1000.0;
        let chi2: f64 = shares.iter().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum();
        assert!((chi2 - 999.0).abs() < 4.0 * 45.0, "{chi2}");
        for (found, end) in far.into_iter().zip([11.0, 15.0]) {
            let expected = (words as usize * BITS) as f64 * libm::exp2(-end);
            for found in found {
                assert!((f64::from(found) - expected).abs() < 4.0 * expected.sqrt(), "{found} for {expected}");
            }
        }
    }

    /// Are the cells in reach those of the dense draw, in whatever order reaches are asked for, and are places uncorrelated?
    #[test]
    fn what_is_in_reach_does_not_depend_on_what_was_asked() {
        let from_end = |cell: &DrawnCell| cell.quantile.min((1 << QUANTILE_BITS) - 1 - cell.quantile);
        for reach in [1, 1 << 30, 1 << 35, (1 << 40) + 12_345, (1 << 45) + 1, 1 << 48, 1 << 50] {
            let within = |drawn: &mut Drawn| {
                let mut cells: Vec<DrawnCell> = drawn.within(9, reach).to_vec();
                cells.retain(|cell| from_end(cell) < reach);
                cells.sort_unstable();
                cells
            };
            let (mut dense, mut sparse, mut after) = (drawn(), drawn(), drawn());
            dense.within(9, 1 << END_BITS);
            after.within(8, 1 << 47);
            after.within(9, 1 << 20);
            let expected = within(&mut dense);
            assert_eq!(within(&mut sparse), expected);
            assert_eq!(within(&mut after), expected);
        }
    }

    /// Are distances between cells of a tier geometric? For 20,000 distances in each tier, the mean and the share of zeros have to be
    /// within four standard errors.
    #[test]
    fn skips_are_geometric() {
        let stream = Stream::new(5, Purpose::StoredCells);
        for tier in [1, 2, 4, 5, 6, 9, TIERS] {
            let p = if tier == TIERS { libm::exp2(-16.0) } else { 1.0 / (libm::exp2(f64::from(tier + 1)) - 1.0) };
            let (skips, n) = (Skips::of_tier(tier), 20_000);
            let mut index = 0;
            let mut next = || {
                index += 1;
                stream.bits(u64::from(tier), index)
            };
            let all: Vec<f64> = (0..n).map(|_| f64::from(skips.skip(&mut next))).collect();
            let (mean, n) = (all.iter().sum::<f64>() / f64::from(n), f64::from(n));
            let (expected, spread) = ((1.0 - p) / p, (1.0 - p).sqrt() / p);
            assert!((mean - expected).abs() < 4.0 * spread / n.sqrt(), "tier {tier}: {mean} for {expected}");
            for least in [1.0, 3.0, 10.0, 400.0, 1e5] {
                let share = all.iter().filter(|&&skip| skip >= least).count() as f64 / n;
                let expected = (1.0f64 - p).powf(least);
                let error = (expected * (1.0 - expected) / n).sqrt();
                assert!((share - expected).abs() <= 4.0 * error + 1e-9, "tier {tier}, {least}: {share} for {expected}");
            }
        }
    }
}
