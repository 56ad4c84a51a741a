//! Codes of the literature: are they the published ones, as far as publications say what they are like?

use std::collections::{BTreeMap, BTreeSet, HashSet};

use softsense_ecc::catalogue::Code;
use softsense_ecc::ldpc::{Columns, DenseEncoder, ParityCheck, RedundantChecks, ReferenceCode};

/// A matrix by rows and by columns.
struct Graph {
    matrix: ParityCheck,
    columns: Columns,
}

impl Graph {
    fn of(code: ReferenceCode) -> Self {
        let matrix = code.parity_check();
        Self { columns: matrix.transpose(), matrix }
    }

    /// How many bits of the set each check holds, without those that hold none.
    fn degrees(&self, bits: &[u32]) -> BTreeMap<u32, u32> {
        let mut degrees = BTreeMap::new();
        for &check in bits.iter().flat_map(|&bit| self.columns.of(bit as usize)) {
            *degrees.entry(check).or_insert(0) += 1;
        }
        degrees
    }

    /// The length of the shortest cycle, if it runs through one of the bits.
    fn girth(&self, roots: &[u32]) -> u32 {
        let nodes = self.matrix.columns() + self.matrix.rows();
        let neighbours = |node: usize| -> Vec<usize> {
            match node.checked_sub(self.matrix.columns()) {
                None => self.columns.of(node).iter().map(|&row| row as usize + self.matrix.columns()).collect(),
                Some(row) => self.matrix.row(row).iter().map(|&column| column as usize).collect(),
            }
        };
        let mut girth = u32::MAX;
        for &root in roots {
            let mut found = vec![(u32::MAX, usize::MAX); nodes];
            found[root as usize] = (0, usize::MAX);
            let mut queue = vec![root as usize];
            let mut next = 0;
            while let Some(&node) = queue.get(next) {
                next += 1;
                let (distance, parent) = found[node];
                for neighbour in neighbours(node).into_iter().filter(|&neighbour| neighbour != parent) {
                    match found[neighbour].0 {
                        u32::MAX => {
                            found[neighbour] = (distance + 1, node);
                            queue.push(neighbour);
                        }
                        other => girth = girth.min(distance + other + 1),
                    }
                }
            }
        }
        girth
    }
}

/// The symmetries of a code, for the families of sets of bits that they form.
struct Symmetries {
    images: Vec<Vec<u32>>,
    /// For each bit, the first bit of its family and the symmetry that takes it there.
    to_first: Vec<(u32, usize)>,
}

impl Symmetries {
    fn of(code: ReferenceCode) -> Self {
        let images: Vec<Vec<u32>> = (0..code.symmetries()).map(|index| code.symmetry(index)).collect();
        let first = |bit: usize| {
            images.iter().enumerate().map(|(index, image)| (image[bit], index)).min().expect("at least one")
        };
        Self { to_first: (0..images[0].len()).map(first).collect(), images }
    }

    /// The first bits of all families.
    fn firsts(&self) -> BTreeSet<u32> {
        self.to_first.iter().map(|&(first, _)| first).collect()
    }

    fn image(&self, index: usize, bits: &[u32]) -> Vec<u32> {
        let mut image: Vec<u32> = bits.iter().map(|&bit| self.images[index][bit as usize]).collect();
        image.sort_unstable();
        image
    }

    /// The set of the same family that stands for it: the least of those that hold the first bit of some family.
    fn representative(&self, bits: &[u32]) -> Vec<u32> {
        let images = bits.iter().map(|&bit| self.image(self.to_first[bit as usize].1, bits));
        images.min().expect("a set of bits is not empty")
    }

    /// How many sets the family of this one has.
    fn family(&self, bits: &[u32]) -> usize {
        (0..self.images.len()).map(|index| self.image(index, bits)).collect::<HashSet<_>>().len()
    }
}

/// Is every symmetry one, and is the identity the only one that leaves a bit where it is?
fn check_symmetries(code: ReferenceCode) {
    let matrix = code.parity_check();
    let checks: HashSet<&[u32]> = (0..matrix.rows()).map(|row| matrix.row(row)).collect();
    assert_eq!(checks.len(), matrix.rows());
    let mut identities = 0;
    for index in 0..code.symmetries() {
        let image = code.symmetry(index);
        assert_eq!(image.iter().collect::<HashSet<_>>().len(), matrix.columns(), "a permutation");
        for row in 0..matrix.rows() {
            let mut moved: Vec<u32> = matrix.row(row).iter().map(|&column| image[column as usize]).collect();
            moved.sort_unstable();
            assert!(checks.contains(&moved[..]), "{}: symmetry {index}, check {row}", code.name());
        }
        match image.iter().enumerate().filter(|&(bit, &image)| bit == image as usize).count() {
            0 => {}
            fixed => {
                assert_eq!(fixed, matrix.columns());
                identities += 1;
            }
        }
    }
    assert_eq!(identities, 1);
}

/// Sizes, degrees, girth and rank.
#[test]
fn matrices_are_the_published_ones() {
    for (code, rows, columns, column_weight, row_weight, girth, data_bits) in [
        (ReferenceCode::Margulis2640, 1320, 2640, 3, 6, 8, 1320),
        (ReferenceCode::Ethernet2048, 384, 2048, 6, 32, 6, 1723),
    ] {
        let graph = Graph::of(code);
        assert_eq!((graph.matrix.rows(), graph.matrix.columns()), (rows, columns));
        assert!(graph.matrix.column_weights().iter().all(|&weight| weight == column_weight));
        assert!((0..rows).all(|row| graph.matrix.row(row).len() == row_weight));
        assert_eq!(DenseEncoder::with_redundant_checks(&graph.matrix).data_bits(), data_bits);
        check_symmetries(code);
        let firsts: Vec<u32> = Symmetries::of(code).firsts().into_iter().collect();
        assert_eq!(firsts.len() * code.symmetries(), columns);
        assert_eq!(graph.girth(&firsts), girth);
    }
}

/// Grows sets in which no check holds more than two bits, one bit at a time.
struct Growth<'a> {
    graph: &'a Graph,
    bits: usize,
    odd: usize,
    set: Vec<u32>,
    /// How many bits of the set each check holds; 2 as well where it was decided that no other bit joins.
    degrees: Vec<u8>,
    found: BTreeSet<Vec<u32>>,
}

impl<'a> Growth<'a> {
    /// All sets of `bits` bits with `odd` odd checks that contain `seed` and in which some path leads from it to each bit.
    fn of(graph: &'a Graph, seed: &[u32], bits: usize, odd: usize) -> BTreeSet<Vec<u32>> {
        let mut degrees = vec![0; graph.matrix.rows()];
        for &check in seed.iter().flat_map(|&bit| graph.columns.of(bit as usize)) {
            degrees[check as usize] += 1;
        }
        let mut growth = Self { graph, bits, odd, set: seed.to_vec(), degrees, found: BTreeSet::new() };
        growth.grow(0);
        growth.found
    }

    /// Of some odd check another bit joins, or it stays odd, as `kept` others do.
    fn grow(&mut self, kept: usize) {
        let checks = self.set.iter().flat_map(|&bit| self.graph.columns.of(bit as usize));
        let mut open = checks.copied().filter(|&check| self.degrees[check as usize] == 1);
        let Some(check) = open.next() else {
            return self.finish(kept);
        };
        let odd = 1 + open.count() + kept;
        let left = self.bits - self.set.len();
        if left == 0 {
            return self.finish(odd);
        }
        // A bit that joins takes away three odd checks at most.
        if odd > self.odd + 3 * left {
            return;
        }
        for &bit in self.graph.matrix.row(check as usize) {
            let checks = self.graph.columns.of(bit as usize);
            if checks.iter().all(|&check| self.degrees[check as usize] < 2) && !self.set.contains(&bit) {
                checks.iter().for_each(|&check| self.degrees[check as usize] += 1);
                self.set.push(bit);
                self.grow(kept);
                self.set.pop();
                checks.iter().for_each(|&check| self.degrees[check as usize] -= 1);
            }
        }
        if kept < self.odd {
            self.degrees[check as usize] = 2;
            self.grow(kept + 1);
            self.degrees[check as usize] = 1;
        }
    }

    fn finish(&mut self, odd: usize) {
        if self.set.len() == self.bits && odd == self.odd {
            let mut set = self.set.clone();
            set.sort_unstable();
            self.found.insert(set);
        }
    }
}

/// Are the sets that make the Margulis code fail those of MacKay and Postol, and of Richardson: 1,320 of 12 bits with 4 odd
/// checks, and 1,320 of 14 bits with 4 around them? They hold cycles of length 8, from which they are grown here.
#[test]
fn margulis_code_has_its_trapping_sets() {
    let graph = Graph::of(ReferenceCode::Margulis2640);
    let symmetries = Symmetries::of(ReferenceCode::Margulis2640);
    let grow = |seeds: &BTreeSet<Vec<u32>>, bits: usize| -> BTreeSet<Vec<u32>> {
        let sets = seeds.iter().flat_map(|seed| Growth::of(&graph, seed, bits, 4));
        sets.map(|set| symmetries.representative(&set)).collect()
    };
    let cycles = grow(&symmetries.firsts().into_iter().map(|bit| vec![bit]).collect(), 4);
    let twelve = grow(&cycles, 12);
    let fourteen = grow(&twelve, 14);
    for families in [cycles, twelve, fourteen] {
        assert_eq!(families.iter().map(|set| symmetries.family(set)).collect::<Vec<_>>(), [1320], "{families:?}");
    }
}

/// Has the Ethernet code as many absorbing sets of 8 bits with 8 odd checks as Zhang et al. count in the standard's: 14,272?
/// In an absorbing set each bit has more even checks than odd ones. Sets of which a check holds three bits do not count.
#[test]
fn ethernet_code_has_its_absorbing_sets() {
    let graph = Graph::of(ReferenceCode::Ethernet2048);
    let symmetries = Symmetries::of(ReferenceCode::Ethernet2048);
    let neighbours: Vec<Vec<u32>> = (0..2048)
        .map(|bit| {
            let checks = graph.columns.of(bit).iter();
            let others = checks.flat_map(|&check| graph.matrix.row(check as usize));
            others.copied().filter(|&other| other as usize != bit).collect()
        })
        .collect();
    // Of 8 x 6 edges 8 lead to odd checks; the others join 20 pairs of bits. A set of n bits and e pairs has a bit in no
    // more than 2e / n of them, and without it is one of n - 1 bits: so sets can be grown through those with many pairs.
    let mut pairs = vec![(8, 20)];
    while let Some(&(bits, count)) = pairs.last().filter(|&&(bits, _)| bits > 2) {
        pairs.push((bits - 1, count - 2 * count / bits));
    }
    assert_eq!(pairs.pop(), Some((2, 1)));
    let pairs_of = |set: &[u32]| graph.degrees(set).values().filter(|&&degree| degree == 2).count();
    let roots = symmetries.firsts().into_iter();
    let edges = roots.flat_map(|root| neighbours[root as usize].iter().map(move |&other| vec![root, other]));
    let mut sets: HashSet<Vec<u32>> = edges.map(|set| symmetries.representative(&set)).collect();
    for &(_, least) in pairs.iter().rev() {
        let mut larger = HashSet::new();
        for set in &sets {
            let degrees = graph.degrees(set);
            let missing = least - least.min(pairs_of(set));
            let mut shared = vec![0; 2048];
            set.iter().flat_map(|&bit| &neighbours[bit as usize]).for_each(|&bit| shared[bit as usize] += 1);
            for bit in (0..2048).filter(|&bit| shared[bit as usize] >= missing.max(1) && !set.contains(&bit)) {
                let fits = |check: &u32| degrees.get(check).is_none_or(|&degree| degree < 2);
                if graph.columns.of(bit as usize).iter().all(fits) {
                    let mut set = set.clone();
                    set.push(bit);
                    larger.insert(symmetries.representative(&set));
                }
            }
        }
        sets = larger;
    }
    let absorbing = |set: &&Vec<u32>| {
        let degrees = graph.degrees(set);
        let odd = |bit: &u32| graph.columns.of(*bit as usize).iter().filter(|check| degrees[check] == 1).count();
        set.iter().map(odd).sum::<usize>() == 8 && set.iter().all(|bit| odd(bit) < 3)
    };
    let families: Vec<usize> = sets.iter().filter(absorbing).map(|set| symmetries.family(set)).collect();
    assert_eq!(families.iter().sum::<usize>(), 14_272);
}

/// Are they opened by name, redundant checks included, and does an unknown name tell the known ones?
#[test]
fn codes_of_the_literature_open() {
    for (code, data_bits) in [(ReferenceCode::Margulis2640, 1320), (ReferenceCode::Ethernet2048, 1723)] {
        let opened = Code::open(&format!("literature:{}", code.name()), RedundantChecks::Refuse).unwrap();
        assert_eq!(opened.data_bits(), data_bits);
        let Code::Ldpc(opened) = opened else { panic!("an LDPC code") };
        assert_eq!(**opened.parity_check(), code.parity_check());
    }
    let error = Code::open("literature:margulis", RedundantChecks::Refuse).unwrap_err().to_string();
    assert!(error.starts_with("literature:margulis: found no code"), "{error}");
    assert!(ReferenceCode::ALL.iter().all(|code| error.contains(&format!("literature:{}", code.name()))), "{error}");
}
