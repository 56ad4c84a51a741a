use super::QuasiCyclic;

/// The short cycles of the Tanner graph of a quasi-cyclic matrix: those of 4, 6 and 8 edges.
///
/// The approximate cycle extrinsic degree (ACE) of a cycle is the sum of the degrees of its bits, each less two. It counts the edges that
/// lead from the cycle to checks elsewhere, if those checks are all different. The higher it is, the more often errors along the cycle are
/// corrected from outside.
///
/// Source: T. Tian, C. Jones, J. Villasenor, R. Wesel, "Selective avoidance of cycles in irregular LDPC code
/// construction", 2004.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShortCycles {
    spectra: [Vec<(u32, u64)>; 3],
    girth: Option<u32>,
}

/// A bit or a check of the expanded graph.
type Node = u32;

/// The Tanner graph. Rotations by one within all circulants at once are its symmetries.
struct Graph {
    size: u32,
    /// For each block column, (block row, shift); for each block row, (block column, shift).
    columns: Vec<Vec<(u32, u32)>>,
    rows: Vec<Vec<(u32, u32)>>,
}

impl ShortCycles {
    /// Counts the cycles of the graph in which every circulant of `code` is written out. Only cycles through one bit of each block column
    /// are listed; symmetry gives the number of all.
    pub fn of(code: &QuasiCyclic) -> Self {
        let graph = Graph::new(code);
        // Listed cycles by ACE. A cycle of 2 h edges is met from each of its h bits. So the number of all cycles is that of the listed ones
        // times the circulant size over h.
        let mut sums: [Vec<u64>; 3] = Default::default();
        for column in 0..code.columns() as u32 {
            graph.list(column, &mut sums);
        }
        let spectrum = |(half_length, sums): (u64, Vec<u64>)| -> Vec<(u32, u64)> {
            let cycles = |sum: u64| sum * code.circulant_size() as u64 / half_length;
            (0..).zip(sums).filter(|(_, sum)| *sum > 0).map(|(extrinsic, sum)| (extrinsic, cycles(sum))).collect()
        };
        let [four, six, eight] = sums;
        let spectra = [(2, four), (3, six), (4, eight)].map(spectrum);
        let girth = match spectra.iter().position(|spectrum| !spectrum.is_empty()) {
            Some(index) => Some(4 + 2 * index as u32),
            None => graph.girth(),
        };
        Self { spectra, girth }
    }

    /// The length of the shortest cycle in edges; none if there is no cycle.
    pub fn girth(&self) -> Option<u32> {
        self.girth
    }

    /// The number of cycles of `length` 4, 6 or 8 edges.
    ///
    /// # Panics
    /// If the length is another one.
    pub fn count(&self, length: u32) -> u64 {
        self.spectrum(length).iter().map(|(_, cycles)| cycles).sum()
    }

    /// The cycles of `length` 4, 6 or 8 edges by their approximate cycle extrinsic degree: pairs of degree and number of cycles, lowest
    /// degree first.
    ///
    /// # Panics
    /// If the length is another one.
    pub fn spectrum(&self, length: u32) -> &[(u32, u64)] {
        assert!(matches!(length, 4 | 6 | 8), "cycles of length {length} are not counted");
        &self.spectra[length as usize / 2 - 2]
    }

    /// The least approximate cycle extrinsic degree among the cycles of `length` 4, 6 or 8 edges; none if there is no such cycle.
    ///
    /// # Panics
    /// If the length is another one.
    pub fn least_extrinsic_degree(&self, length: u32) -> Option<u32> {
        self.spectrum(length).first().map(|&(extrinsic, _)| extrinsic)
    }
}

impl Graph {
    fn new(code: &QuasiCyclic) -> Self {
        let mut columns = vec![Vec::new(); code.columns()];
        let mut rows = vec![Vec::new(); code.rows()];
        for block in code.blocks() {
            columns[block.column as usize].push((block.row, block.shift));
            rows[block.row as usize].push((block.column, block.shift));
        }
        Self { size: code.circulant_size() as u32, columns, rows }
    }

    fn checks_of(&self, bit: Node) -> impl Iterator<Item = Node> {
        let (column, offset) = (bit / self.size, bit % self.size);
        let check = move |&(row, shift): &(u32, u32)| row * self.size + (offset + self.size - shift) % self.size;
        self.columns[column as usize].iter().map(check)
    }

    fn bits_of(&self, check: Node) -> impl Iterator<Item = Node> {
        let (row, offset) = (check / self.size, check % self.size);
        let bit = move |&(column, shift): &(u32, u32)| column * self.size + (offset + shift) % self.size;
        self.rows[row as usize].iter().map(bit)
    }

    fn extrinsic(&self, bit: Node) -> usize {
        // A bit of degree one is on no cycle.
        self.columns[(bit / self.size) as usize].len().saturating_sub(2)
    }

    /// Adds the cycles through the first bit of `column` to the sums by ACE for 4, 6 and 8 edges. Each cycle is made of two paths of half
    /// its length that have only their ends in common.
    fn list(&self, column: u32, sums: &mut [Vec<u64>; 3]) {
        let home = column * self.size;
        let mut add = |index: usize, extrinsic: usize| {
            let sums = &mut sums[index];
            sums.resize(sums.len().max(extrinsic + 1), 0);
            sums[extrinsic] += 1;
        };
        // Paths as (end, last check, bit in between, first check).
        let (mut two, mut three, mut four) = (Vec::new(), Vec::new(), Vec::new());
        for first in self.checks_of(home) {
            for bit in self.bits_of(first).filter(|&bit| bit != home) {
                two.push((bit, first));
                for second in self.checks_of(bit).filter(|&check| check != first) {
                    three.push((second, bit, first));
                    let ends = self.bits_of(second).filter(|&end| end != bit && end != home);
                    four.extend(ends.map(|end| (end, second, bit, first)));
                }
            }
        }
        two.sort_unstable();
        three.sort_unstable();
        four.sort_unstable();
        let own = self.extrinsic(home);
        for group in two.chunk_by(|a, b| a.0 == b.0) {
            let pairs = group.len() * (group.len() - 1) / 2;
            (0..pairs).for_each(|_| add(0, own + self.extrinsic(group[0].0)));
        }
        for group in three.chunk_by(|a, b| a.0 == b.0) {
            for (index, a) in group.iter().enumerate() {
                for b in group[..index].iter().filter(|b| a.1 != b.1 && a.2 != b.2) {
                    add(1, own + self.extrinsic(a.1) + self.extrinsic(b.1));
                }
            }
        }
        for group in four.chunk_by(|a, b| a.0 == b.0) {
            for (index, a) in group.iter().enumerate() {
                let apart =
                    |b: &&(Node, Node, Node, Node)| a.2 != b.2 && a.1 != b.1 && a.3 != b.3 && a.1 != b.3 && a.3 != b.1;
                for b in group[..index].iter().filter(apart) {
                    add(2, own + self.extrinsic(a.0) + self.extrinsic(a.2) + self.extrinsic(b.2));
                }
            }
        }
    }

    /// The length of the shortest cycle, by breadth-first search from the first bit of each block column.
    fn girth(&self) -> Option<u32> {
        let bits = self.columns.len() as u32 * self.size;
        let nodes = (bits + self.rows.len() as u32 * self.size) as usize;
        let mut shortest = None;
        for column in 0..self.columns.len() as u32 {
            let mut reached: Vec<Option<(u32, Node)>> = vec![None; nodes];
            let home = column * self.size;
            reached[home as usize] = Some((0, home));
            let mut queue = std::collections::VecDeque::from([home]);
            while let Some(node) = queue.pop_front() {
                let (distance, from) = reached[node as usize].expect("queued when reached");
                if shortest.is_some_and(|shortest| 2 * distance + 1 >= shortest) {
                    break;
                }
                let neighbours: Vec<Node> = match node.checked_sub(bits) {
                    Some(check) => self.bits_of(check).collect(),
                    None => self.checks_of(node).map(|check| bits + check).collect(),
                };
                for next in neighbours.into_iter().filter(|&next| next != from) {
                    match reached[next as usize] {
                        // Both paths may begin with the same edge, but then there is an even shorter cycle.
                        Some((other, _)) => {
                            shortest = Some(shortest.map_or(u32::MAX, |s: u32| s).min(distance + other + 1))
                        }
                        None => {
                            reached[next as usize] = Some((distance + 1, node));
                            queue.push_back(next);
                        }
                    }
                }
            }
        }
        shortest
    }
}
