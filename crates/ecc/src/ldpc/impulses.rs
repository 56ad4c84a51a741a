use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use softsense_base::{Purpose, Stream};

use super::{Columns, ParityCheck};

/// Number of rounds after which an impulse is given up.
const MOST_ROUNDS: usize = 50;
/// Number of wrong bits beyond which an impulse is no small set any more.
const MOST_WRONG: usize = 40;
/// No bit, or no check.
const NONE: u32 = u32::MAX;

/// Impulses: errors on a few bits that are connected by short cycles. They show how a decoder reacts to such errors. Any matrix will do. An
/// impulse is a function of the seed and its number.
///
/// Source: T. Richardson, "Error floors of LDPC codes", 2003; C. Cole, S. Wilson, E. Hall, T. Giallorenzi, "A general method
/// for finding low error rates of LDPC codes", 2006 (impulses). Deviation: errors are hard decisions on a cycle and an ear.
pub struct Impulses {
    matrix: Arc<ParityCheck>,
    columns: Columns,
    stream: Stream,
    /// The predecessor of each bit and of each check, with the number of the search that reached it.
    bits: Vec<(u32, u32)>,
    checks: Vec<(u32, u32)>,
    searches: u32,
}

impl Impulses {
    /// Makes impulses on a matrix, under a seed.
    pub fn new(matrix: Arc<ParityCheck>, seed: u64) -> Self {
        Self {
            columns: matrix.transpose(),
            stream: Stream::new(seed, Purpose::Noise),
            bits: vec![(0, NONE); matrix.columns()],
            checks: vec![(0, NONE); matrix.rows()],
            searches: 0,
            matrix,
        }
    }

    /// The wrong bits of impulse `number`, ascending: a short cycle through a random bit, and a short path between two of the checks that
    /// it violates.
    pub fn draw(&mut self, number: u64) -> Vec<u32> {
        let home = ((u128::from(self.stream.bits(number, 0)) * self.matrix.columns() as u128) >> 64) as u32;
        // A path from one check of the bit to another of them is a cycle.
        let mut wrong = BTreeSet::from([home]);
        for search in 1..=2 {
            let open = self.violated(&wrong);
            wrong.extend(self.path(number, search, &open, &wrong));
        }
        wrong.into_iter().collect()
    }

    /// The checks that errors in these bits violate, ascending.
    fn violated(&self, wrong: &BTreeSet<u32>) -> Vec<u32> {
        let mut checks: Vec<u32> = wrong.iter().flat_map(|&bit| self.columns.of(bit as usize)).copied().collect();
        checks.sort_unstable();
        checks.chunk_by(|a, b| a == b).filter(|checks| checks.len() % 2 == 1).map(|checks| checks[0]).collect()
    }

    /// The bits, not among `wrong`, of a shortest path from a random one of the checks `open` to another of them.
    fn path(&mut self, number: u64, search: u64, open: &[u32], wrong: &BTreeSet<u32>) -> Vec<u32> {
        let Self { matrix, columns, stream, bits, checks, searches } = self;
        *searches = searches.wrapping_add(1);
        let now = *searches;
        let draw = |what: u64, count: usize| {
            let draw = stream.bits(number, search << 48 | what);
            ((u128::from(draw) * count as u128) >> 64) as usize
        };
        if open.is_empty() {
            return Vec::new();
        }
        let from = open[draw(0, open.len())];
        checks[from as usize] = (now, NONE);
        let mut queue = VecDeque::from([from]);
        while let Some(check) = queue.pop_front() {
            let row = matrix.row(check as usize);
            // The search begins at a random bit, so that none of several equally short paths is favoured.
            let start = draw(1 + u64::from(check), row.len());
            for &bit in row[start..].iter().chain(&row[..start]) {
                if bits[bit as usize].0 == now || wrong.contains(&bit) {
                    continue;
                }
                bits[bit as usize] = (now, check);
                for &next in columns.of(bit as usize) {
                    if checks[next as usize].0 == now {
                        continue;
                    }
                    checks[next as usize] = (now, bit);
                    if open.binary_search(&next).is_ok() {
                        let mut path = Vec::new();
                        let mut at = next;
                        while checks[at as usize].1 != NONE {
                            let bit = checks[at as usize].1;
                            path.push(bit);
                            at = bits[bit as usize].1;
                        }
                        return path;
                    }
                    queue.push_back(next);
                }
            }
        }
        Vec::new()
    }

    /// Applies a bit-flipping decoder to strong errors. In the first round these stay, and bits with as many violated as satisfied checks
    /// join them. From then on all bits flip that have no more satisfied than violated checks. Returns the wrong bits at the end,
    /// ascending: none if all are corrected or too many have become wrong.
    ///
    /// Source: R. Gallager, "Low-density parity-check codes", 1963, section 4 (the first decoder). Deviation: ties flip, and the
    /// first round.
    pub fn correct(&self, errors: &[u32]) -> Vec<u32> {
        let strong: BTreeSet<u32> = errors.iter().copied().collect();
        let mut wrong = strong.clone();
        for round in 0..MOST_ROUNDS {
            let violated = self.violated(&wrong);
            let mut met: Vec<u32> =
                violated.iter().flat_map(|&check| self.matrix.row(check as usize)).copied().collect();
            met.sort_unstable();
            let flips: Vec<u32> = met
                .chunk_by(|a, b| a == b)
                .filter(|met| 2 * met.len() >= self.columns.of(met[0] as usize).len())
                .map(|met| met[0])
                .filter(|bit| round > 0 || !strong.contains(bit))
                .collect();
            if flips.is_empty() && round > 0 {
                return wrong.into_iter().collect();
            }
            for bit in flips {
                if !wrong.remove(&bit) {
                    wrong.insert(bit);
                }
            }
            if wrong.len() > MOST_WRONG {
                return Vec::new();
            }
        }
        wrong.into_iter().collect()
    }
}
