use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};

use softsense_base::{Error, Result};

use super::{Columns, QuasiCyclic};

/// The largest number of bits of a set that may be searched for.
pub const MOST_SET_BITS: usize = 14;
/// Number of start cycles in a unit of work.
const UNIT_CYCLES: usize = 256;
/// The weight of the heaviest column that an ear of three bits may have.
const LIGHT_EAR_WEIGHT: usize = 5;
/// The longest codeword that is searched without using rotations.
const LONGEST_WITHOUT_ROTATIONS: usize = 4096;

/// A set of bits whose errors hold one another in place. If all bits of the set are wrong, each of them has more
/// satisfied checks (which have an even number of bits of the set) than violated ones.
///
/// (a, b) of the literature are the number of bits and [`Self::violated`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AbsorbingSet {
    /// The bits of one set of the orbit, ascending.
    pub bits: Vec<u32>,
    /// Number of checks with an odd number of its bits.
    pub violated: u32,
    /// Number of sets in its orbit, which the rotations of a quasi-cyclic matrix make of it, including itself.
    pub multiplicity: u32,
}

impl AbsorbingSet {
    /// Makes the set of these bits, which may be in any order, as the first set of its orbit under rotations of circulants. Returns it with
    /// whether it is absorbing. `columns` are those of the matrix.
    pub fn of(circulant_size: u32, columns: &Columns, bits: &[u32]) -> (Self, bool) {
        let mut checks: Vec<u32> = bits.iter().flat_map(|&bit| columns.of(bit as usize)).copied().collect();
        checks.sort_unstable();
        let odd: HashSet<u32> = checks.chunk_by(|a, b| a == b).filter(|c| c.len() % 2 == 1).map(|c| c[0]).collect();
        let absorbing = bits.iter().all(|&bit| {
            let of_bit = columns.of(bit as usize);
            2 * of_bit.iter().filter(|check| odd.contains(check)).count() < of_bit.len()
        });
        let first = canonical(circulant_size, bits);
        let multiplicity = multiplicity(circulant_size, &first);
        (Self { multiplicity, bits: first, violated: odd.len() as u32 }, absorbing)
    }

    /// The set after a rotation by `shift` of all circulants of `circulant_size`, ascending.
    pub fn rotated(&self, circulant_size: u32, shift: u32) -> Vec<u32> {
        let mut bits: Vec<u32> = self.bits.iter().map(|&bit| rotate(circulant_size, bit, shift)).collect();
        bits.sort_unstable();
        bits
    }
}

fn rotate(size: u32, bit: u32, shift: u32) -> u32 {
    bit / size * size + (bit % size + shift) % size
}

/// The first set of the orbit of `bits`, ascending: the set with the lowest numbers among those with the first bit of a block column.
fn canonical(size: u32, bits: &[u32]) -> Vec<u32> {
    let column = bits.iter().map(|bit| bit / size).min().expect("a set is not empty");
    let rotated = |&by: &u32| {
        let mut rotated: Vec<u32> = bits.iter().map(|&bit| rotate(size, bit, size - by % size)).collect();
        rotated.sort_unstable();
        rotated
    };
    bits.iter().filter(|&bit| bit / size == column).map(rotated).min().expect("a bit of the lowest column")
}

fn multiplicity(size: u32, bits: &[u32]) -> u32 {
    let same = |&shift: &u32| {
        let mut rotated: Vec<u32> = bits.iter().map(|&bit| rotate(size, bit, shift)).collect();
        rotated.sort_unstable();
        rotated == bits
    };
    size / (0..size).filter(|shift| bits.iter().any(|&bit| bit == rotate(size, bits[0], *shift))).filter(same).count()
        as u32
}

/// Absorbing sets of one code, one for each orbit, with a lookup of sets whose bits are nearly all wrong in a word.
#[derive(Debug, Clone)]
pub struct AbsorbingSets {
    circulant_size: u32,
    sets: Vec<AbsorbingSet>,
    /// For each block column the sets with a bit in it, and the position of that bit in the circulant.
    by_column: Vec<Vec<(u32, u32)>>,
}

impl AbsorbingSets {
    /// Makes the listing from sets of `code`, one for each orbit, in any order.
    ///
    /// # Errors
    /// A set that is not absorbing in this code, that has a bit outside of the code, or whose orbit was given before.
    pub fn new(code: &QuasiCyclic, sets: &[Vec<u32>]) -> Result<Self> {
        let circulant_size = code.circulant_size() as u32;
        let length = circulant_size * code.columns() as u32;
        let columns = code.expand().transpose();
        let mut known = Vec::with_capacity(sets.len());
        let mut orbits = HashSet::new();
        for (number, bits) in (1..).zip(sets) {
            let bad = |message: String| Err(Error::code(format!("set {number}"), message));
            let mut distinct = bits.clone();
            distinct.sort_unstable();
            distinct.dedup();
            if bits.is_empty() || distinct.len() != bits.len() || bits.iter().any(|&bit| bit >= length) {
                return bad(format!("found {bits:?}, expected different bits from 0 to {}", length - 1));
            }
            let (set, absorbing) = AbsorbingSet::of(circulant_size, &columns, bits);
            if !absorbing {
                return bad(format!(
                    "found {bits:?}, which is no absorbing set of this code, expected absorbing sets of this code"
                ));
            }
            if !orbits.insert(set.bits.clone()) {
                return bad(format!("found {bits:?}, a rotation of an earlier set, expected one set of each orbit"));
            }
            known.push(set);
        }
        known.sort_by_key(|set| (set.bits.len(), set.violated, set.bits.clone()));
        let mut by_column = vec![Vec::new(); code.columns()];
        for (index, set) in (0..).zip(&known) {
            for bit in &set.bits {
                // If a rotation maps the set to itself, one bit stands for all bits that the rotation maps to one another.
                let entry = (index, bit % circulant_size % set.multiplicity);
                let column: &mut Vec<(u32, u32)> = &mut by_column[(bit / circulant_size) as usize];
                if !column.contains(&entry) {
                    column.push(entry);
                }
            }
        }
        Ok(Self { circulant_size, sets: known, by_column })
    }

    /// The sets, one for each orbit, by size, violated checks and bits.
    pub fn sets(&self) -> &[AbsorbingSet] {
        &self.sets
    }

    /// The sets of a class: with this number of bits and of violated checks.
    pub fn class(&self, bits: usize, violated: u32) -> impl Iterator<Item = &AbsorbingSet> {
        self.sets.iter().filter(move |set| (set.bits.len(), set.violated) == (bits, violated))
    }

    /// All sets of the orbit of `set`, each ascending.
    pub fn orbit(&self, set: &AbsorbingSet) -> Vec<Vec<u32>> {
        (0..set.multiplicity).map(|shift| set.rotated(self.circulant_size, shift)).collect()
    }

    /// Draws a set of a class by a uniform random number. All sets, counting rotations, are equally likely.
    ///
    /// # Panics
    /// If the class has no set.
    pub fn draw(&self, bits: usize, violated: u32, uniform: u64) -> Vec<u32> {
        let sets: u64 = self.class(bits, violated).map(|set| u64::from(set.multiplicity)).sum();
        let mut at = ((u128::from(uniform) * u128::from(sets)) >> 64) as u32;
        for set in self.class(bits, violated) {
            if at < set.multiplicity {
                return set.rotated(self.circulant_size, at);
            }
            at -= set.multiplicity;
        }
        unreachable!("a class without sets")
    }

    /// Over all rotations of all sets, the smallest number of bits that a set has outside `errors`, and the number of
    /// sets with that number. None if no set has a bit in `errors`.
    pub fn nearest(&self, errors: &[u32]) -> Option<(usize, usize)> {
        let mut wrong: HashMap<(u32, u32), usize, BuildHasherDefault<Mixing>> = HashMap::default();
        for &bit in errors {
            let (column, place) = ((bit / self.circulant_size) as usize, bit % self.circulant_size);
            for &(set, of_set) in &self.by_column[column] {
                let shift = (place + self.circulant_size - of_set) % self.circulant_size;
                *wrong.entry((set, shift % self.sets[set as usize].multiplicity)).or_default() += 1;
            }
        }
        wrong.into_iter().map(|((set, _), wrong)| self.sets[set as usize].bits.len() - wrong).fold(
            None,
            |nearest, right| match nearest {
                Some((fewest, _)) if right > fewest => nearest,
                Some((fewest, count)) if right == fewest => Some((fewest, count + 1)),
                _ => Some((right, 1)),
            },
        )
    }
}

/// A search for all small absorbing sets of a quasi-cyclic matrix, in units of work that can be done anywhere and in any order.
///
/// Two bits are neighbours if they share a check. Sets are grown from short cycles of neighbours by *ears*: paths of
/// one, two or three new bits that begin and end at violated checks of the set. Rotations of the circulants are
/// symmetries, so only one cycle of each orbit is grown.
///
/// The search finds every set of at most `bits` bits that meets these conditions:
///
/// - The checks of the set have one or two of its bits each (an *elementary* set).
/// - The set stays connected when any one of its checks is removed.
/// - The set contains a cycle of at most [`Self::longest_cycle`] bits.
/// - The set can be built from one of its shortest cycles by ears of one, two or three bits. Of three bits one is in a column of
///   weight 3 at most, and none in a column of weight above 5. Sets of five bits or more with room for five more grow by any ears of
///   three bits.
///
/// For columns of weight 4 and more these are all elementary sets of up to ten bits in which no three bits share checks
/// pairwise and no two bits share two checks. A test asserts it for all graphs of up to nine bits, and for the one of
/// ten bits that ears of one and two bits do not build; the other 208 were checked once. Of the 2,052 shapes of eleven
/// bits three are missing. No search of this kind finds sets with three bits in one check.
///
/// Source: L. Dolecek, Z. Zhang, V. Anantharam, M. Wainwright, B. Nikolic, "Analysis of absorbing sets and fully absorbing sets
/// of array-based LDPC codes", 2010 (the sets); Y. Hashemi, A. Banihashemi, "New characterization and efficient exhaustive
/// search algorithm for leafless elementary trapping sets of variable-regular LDPC codes", 2016 (growing by expansions).
/// Deviation: ears are looked up by pairs of checks, and the table has one row for each block row.
pub struct AbsorbingSetSearch {
    graph: Graph,
    most_bits: usize,
    most_violated: u32,
    one: Ears<1>,
    /// Indexed by the number of bits that may follow the ear: none, one, or more.
    two: [Ears<2>; 3],
    three: [Ears<3>; 3],
    cycles: Vec<Vec<u32>>,
    longest_cycle: usize,
}

/// The Tanner graph with all circulants expanded.
struct Graph {
    size: u32,
    bits_of: Lists,
    checks_of: Lists,
}

/// Lists of numbers, stored one after the other.
struct Lists {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    fn of(&self, index: u32) -> &[u32] {
        &self.items[self.starts[index as usize] as usize..self.starts[index as usize + 1] as usize]
    }
}

impl Graph {
    fn new(code: &QuasiCyclic) -> Self {
        let matrix = code.expand();
        let columns = matrix.transpose();
        let lists = |lists: &mut dyn Iterator<Item = &[u32]>| {
            let (mut starts, mut items) = (vec![0], Vec::new());
            for list in lists {
                items.extend_from_slice(list);
                starts.push(items.len() as u32);
            }
            Lists { starts, items }
        };
        Self {
            size: code.circulant_size() as u32,
            bits_of: lists(&mut (0..matrix.rows()).map(|row| matrix.row(row))),
            checks_of: lists(&mut (0..matrix.columns()).map(|column| columns.of(column))),
        }
    }

    fn weight(&self, bit: u32) -> usize {
        self.checks_of.of(bit).len()
    }

    /// Tells whether there are three bits of which each two share a check, without a check of all three.
    fn has_triangles(&self) -> bool {
        let mut found = false;
        let mut state = vec![u32::MAX; self.bits_of.starts.len() - 1];
        for first in (0..self.checks_of.starts.len() as u32 - 1).step_by(self.size as usize) {
            // The checks of the neighbours of a bit, without the checks that they share with the bit.
            for &shared in self.checks_of.of(first) {
                for &bit in self.bits_of.of(shared).iter().filter(|&&bit| bit != first) {
                    for &check in self.checks_of.of(bit).iter().filter(|&&check| check != shared) {
                        let mark = &mut state[check as usize];
                        found |= *mark != u32::MAX && *mark != shared;
                        *mark = shared;
                    }
                }
            }
            state.fill(u32::MAX);
        }
        found
    }

    /// Tells whether two bits share two checks or more.
    fn share_two(&self, a: u32, b: u32) -> bool {
        let of_b = self.checks_of.of(b);
        self.checks_of.of(a).iter().filter(|check| of_b.contains(check)).count() >= 2
    }

    /// Tells whether any two bits share two checks or more.
    fn has_doubled(&self) -> bool {
        (0..self.checks_of.starts.len() as u32 - 1).step_by(self.size as usize).any(|bit| {
            let mut met: Vec<u32> =
                self.checks_of.of(bit).iter().flat_map(|&check| self.bits_of.of(check)).copied().collect();
            met.sort_unstable();
            met.windows(2).any(|pair| pair[0] == pair[1] && pair[0] != bit)
        })
    }

    /// The least number of satisfied checks of a bit in an absorbing set.
    fn needs(&self, bit: u32) -> u32 {
        self.weight(bit) as u32 / 2 + 1
    }
}

/// Paths of `BITS` bits from the first check of each block row to any check. All other paths are rotations of these.
struct Ears<const BITS: usize> {
    size: u32,
    checks: u32,
    starts: Vec<u32>,
    /// The block column times the circulant size, and the position in the circulant, of each bit of a path.
    paths: Vec<[(u32, u32); BITS]>,
}

/// A check: its block row and its place in the circulant.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Check {
    row: u32,
    offset: u32,
}

impl<const BITS: usize> Ears<BITS> {
    fn new(graph: &Graph, wanted: impl Fn(&[u32; BITS]) -> bool) -> Self {
        let (size, checks) = (graph.size, graph.bits_of.starts.len() as u32 - 1);
        let mut starts = vec![0];
        let mut paths = Vec::new();
        for row in 0..checks / size {
            let mut found: Vec<(u32, [u32; BITS])> = Vec::new();
            extend(graph, &mut Vec::new(), row * size, &mut |path: &[u32; BITS], end| {
                if wanted(path) {
                    found.push((end, *path));
                }
            });
            found.sort_unstable();
            let mut found = found.into_iter().peekable();
            for check in 0..checks {
                while let Some((_, path)) = found.next_if(|(end, _)| *end == check) {
                    paths.push(path.map(|bit| (bit / size * size, bit % size)));
                }
                starts.push(paths.len() as u32);
            }
        }
        Self { size, checks, starts, paths }
    }

    /// The paths from one check to another.
    #[inline(always)]
    fn between(&self, from: Check, to: Check) -> impl Iterator<Item = [u32; BITS]> + '_ {
        let size = self.size;
        let offset = if to.offset >= from.offset { to.offset - from.offset } else { to.offset + size - from.offset };
        let at = (from.row * self.checks + to.row * size + offset) as usize;
        let paths = &self.paths[self.starts[at] as usize..self.starts[at + 1] as usize];
        paths.iter().map(move |path| {
            path.map(|(column, place)| {
                let place = place + from.offset;
                column + if place >= size { place - size } else { place }
            })
        })
    }
}

/// Calls `found` with each path of `BITS` different bits from `check`, over different checks, and with the check at its end.
fn extend<const BITS: usize>(
    graph: &Graph,
    path: &mut Vec<(u32, u32)>,
    check: u32,
    found: &mut dyn FnMut(&[u32; BITS], u32),
) {
    for &bit in graph.bits_of.of(check) {
        if path.iter().any(|&(_, before)| before == bit) {
            continue;
        }
        path.push((check, bit));
        for &next in graph.checks_of.of(bit) {
            if path.iter().any(|&(before, _)| before == next) {
                continue;
            }
            if path.len() == BITS {
                found(&std::array::from_fn(|index| path[index].1), next);
            } else {
                extend(graph, path, next, found);
            }
        }
        path.pop();
    }
}

impl AbsorbingSetSearch {
    /// Prepares a search.
    ///
    /// # Arguments
    /// - `most_bits`: the most bits of a set, 3 to [`MOST_SET_BITS`].
    /// - `most_violated`: the most checks that a listed set violates; sets with more are still grown.
    /// - `interrupted`: ends the preparation.
    ///
    /// # Errors
    /// A number of bits out of range, or a matrix without rotations that is too long to be searched from every bit.
    pub fn new(
        code: &QuasiCyclic,
        most_bits: usize,
        most_violated: u32,
        interrupted: &AtomicBool,
    ) -> Result<Option<Self>> {
        if !(3..=MOST_SET_BITS).contains(&most_bits) {
            let found = format!("found sets of up to {most_bits} bits");
            return Err(Error::code("most_bits", format!("{found}, expected 3 to {MOST_SET_BITS}")));
        }
        let length = code.columns() * code.circulant_size();
        if code.circulant_size() == 1 && length > LONGEST_WITHOUT_ROTATIONS {
            let found = format!("found a matrix of {length} bits that is not quasi-cyclic");
            let expected = format!("expected a base matrix, or at most {LONGEST_WITHOUT_ROTATIONS} bits");
            return Err(Error::code(
                "",
                format!("{found}, {expected}: without rotations each cycle is an orbit of its own"),
            ));
        }
        let graph = Graph::new(code);
        let light = |bit: &u32| graph.weight(*bit) <= 3;
        let adjacent_light = (0..graph.checks_of.starts.len() as u32 - 1).filter(light).any(|bit| {
            graph.checks_of.of(bit).iter().any(|&check| graph.bits_of.of(check).iter().any(|b| *b != bit && light(b)))
        });
        // If all bits of a set of up to ten bits have three neighbours or more, the set has a cycle of five bits or fewer. Two cycles in a
        // common set of a bits include one of at most two thirds of a + 1.
        let longest_cycle = if adjacent_light { (2 * (most_bits + 1) / 3).max(3) } else { 5.min(most_bits) };
        // A bit of an ear without another violated check of the set needs a neighbour that is added after the ear, unless its column is
        // light. If no three bits are neighbours of one another, one bit cannot be this neighbour for two bits that are neighbours.
        let triangles = graph.has_triangles();
        let no_heavy_pair = |ear: &[u32]| triangles || ear.windows(2).all(|pair| pair.iter().any(light));
        // A bit needs no such neighbour if it shares two checks with the next bit of the ear.
        let (share_two, doubled) = (|pair: &[u32]| graph.share_two(pair[0], pair[1]), graph.has_doubled());
        let none_wants = |ear: &[u32]| ear.iter().all(light) || doubled && ear.windows(2).any(share_two);
        let not_too_heavy = |ear: &[u32; 3]| ear.iter().all(|&bit| graph.weight(bit) <= LIGHT_EAR_WEIGHT);
        let mut search = Self {
            one: Ears::new(&graph, |_| true),
            two: [
                Ears::new(&graph, |ear| none_wants(ear)),
                Ears::new(&graph, |ear| no_heavy_pair(ear)),
                Ears::new(&graph, |_| true),
            ],
            three: [
                Ears::new(&graph, |ear| none_wants(ear) && ear.iter().any(light) && not_too_heavy(ear)),
                Ears::new(&graph, |ear| no_heavy_pair(ear) && ear.iter().any(light) && not_too_heavy(ear)),
                Ears::new(&graph, |ear| ear.iter().any(light) && not_too_heavy(ear)),
            ],
            graph,
            most_bits,
            most_violated,
            cycles: Vec::new(),
            longest_cycle,
        };
        for bits in 2..=longest_cycle {
            let Some(mut cycles) = search.start_cycles(bits, interrupted) else { return Ok(None) };
            search.cycles.append(&mut cycles);
        }
        Ok(Some(search))
    }

    /// The number of bits of the longest cycles from which sets are grown.
    pub fn longest_cycle(&self) -> usize {
        self.longest_cycle
    }

    /// The number of cycles from which sets are grown, one for each orbit.
    pub fn start_count(&self) -> usize {
        self.cycles.len()
    }

    /// The number of units of work.
    pub fn units(&self) -> usize {
        self.cycles.len().div_ceil(UNIT_CYCLES)
    }

    /// The sets that the cycles of a unit grow to, ascending, one for each orbit; `None` if it was interrupted. Several units may find the
    /// same set.
    ///
    /// # Panics
    /// If there is no such unit.
    pub fn search(&self, unit: usize, interrupted: &AtomicBool) -> Option<Vec<AbsorbingSet>> {
        let cycles = self.cycles[unit * UNIT_CYCLES..].iter().take(UNIT_CYCLES);
        let mut growing = Growing::new(self);
        for cycle in cycles {
            if interrupted.load(Ordering::Relaxed) {
                return None;
            }
            growing.shortest = cycle.len();
            if cycle.iter().all(|&bit| growing.add(bit)) {
                growing.grow(self.most_bits - cycle.len());
            }
            growing.remove(growing.members.len());
        }
        let mut found: Vec<Vec<u32>> = growing.found.into_iter().collect();
        found.sort_unstable();
        let set = |bits: Vec<u32>| AbsorbingSet {
            violated: self.violated(&bits),
            multiplicity: multiplicity(self.graph.size, &bits),
            bits,
        };
        Some(found.into_iter().map(set).collect())
    }

    fn violated(&self, bits: &[u32]) -> u32 {
        let mut checks: Vec<u32> = bits.iter().flat_map(|&bit| self.graph.checks_of.of(bit)).copied().collect();
        checks.sort_unstable();
        checks.chunk_by(|a, b| a == b).filter(|checks| checks.len() % 2 == 1).count() as u32
    }

    fn check(&self, check: u32) -> Check {
        Check { row: check / self.graph.size, offset: check % self.graph.size }
    }

    /// One cycle of `bits` neighbours for each orbit that contains no shorter cycle; `None` if it was interrupted.
    fn start_cycles(&self, bits: usize, interrupted: &AtomicBool) -> Option<Vec<Vec<u32>>> {
        let graph = &self.graph;
        let mut found = HashSet::new();
        let mut growing = Growing::new(self);
        growing.shortest = bits;
        let mut keep = |cycle: &[u32]| {
            // A cycle that contains a shorter one is found from the shorter one.
            if cycle.iter().all(|&bit| growing.add(bit)) {
                found.insert(canonical(graph.size, cycle));
            }
            growing.remove(growing.members.len());
        };
        for column in 0..(graph.checks_of.starts.len() as u32 - 1) / graph.size {
            if interrupted.load(Ordering::Relaxed) {
                return None;
            }
            let home = column * graph.size;
            let checks = if self.can_be_on(home, bits) { graph.checks_of.of(home) } else { &[] };
            for (index, &from) in checks.iter().enumerate() {
                for &to in &checks[index + 1..] {
                    self.close(&mut vec![home], from, to, bits, &mut keep);
                }
            }
        }
        let mut found: Vec<Vec<u32>> = found.into_iter().collect();
        found.sort_unstable();
        Some(found)
    }

    /// Tells whether a bit on a cycle of `cycle` bits can have enough neighbours in a set.
    fn can_be_on(&self, bit: u32, cycle: usize) -> bool {
        cycle < 3 || self.graph.needs(bit) as usize <= 2 + self.most_bits - cycle
    }

    /// Calls `keep` with all cycles of `bits` bits that begin with `path`, continue at the check `from` and end at the
    /// check `to`.
    fn close(&self, path: &mut Vec<u32>, from: u32, to: u32, bits: usize, keep: &mut dyn FnMut(&[u32])) {
        let graph = &self.graph;
        // A cycle is found from each of its bits, and kept from the bit in the lowest block column.
        let lower = |bit: u32, path: &[u32]| {
            bit / graph.size < path[0] / graph.size || path.contains(&bit) || !self.can_be_on(bit, bits)
        };
        match bits - path.len() {
            1 => {
                for [bit] in self.one.between(self.check(from), self.check(to)) {
                    if !lower(bit, path) {
                        path.push(bit);
                        keep(path);
                        path.pop();
                    }
                }
            }
            2 => {
                for ear in self.two[2].between(self.check(from), self.check(to)) {
                    if ear.iter().all(|&bit| !lower(bit, path)) {
                        path.extend(ear);
                        keep(path);
                        path.truncate(path.len() - 2);
                    }
                }
            }
            _ => {
                for &bit in graph.bits_of.of(from) {
                    if lower(bit, path) {
                        continue;
                    }
                    path.push(bit);
                    for &next in graph.checks_of.of(bit).iter().filter(|&&next| next != from && next != to) {
                        self.close(path, next, to, bits, keep);
                    }
                    path.pop();
                }
            }
        }
    }
}

/// A set under construction.
struct Growing<'a> {
    search: &'a AbsorbingSetSearch,
    members: Vec<u32>,
    /// The members with which each member shares a check, and the number of its satisfied checks.
    neighbours: [u16; MOST_SET_BITS],
    satisfied: [u32; MOST_SET_BITS],
    /// The state of each check: no member, one member (its number and one), or two.
    state: Vec<u8>,
    /// Number of bits of the cycle from which the set grew. No shorter cycle may arise, because sets with a shorter cycle are grown from
    /// that one.
    shortest: usize,
    open: [Vec<(usize, Check)>; MOST_SET_BITS + 1],
    seen: HashSet<[u32; MOST_SET_BITS], BuildHasherDefault<Mixing>>,
    found: HashSet<Vec<u32>>,
}

/// A hash of a few numbers. It is several times as fast as the standard hash, which guards against inputs that were made to collide.
#[derive(Default)]
struct Mixing(u64);

impl Hasher for Mixing {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}

/// The state of a check with two members.
const SATISFIED: u8 = u8::MAX;

impl<'a> Growing<'a> {
    fn new(search: &'a AbsorbingSetSearch) -> Self {
        Self {
            search,
            members: Vec::with_capacity(MOST_SET_BITS),
            neighbours: [0; MOST_SET_BITS],
            satisfied: [0; MOST_SET_BITS],
            state: vec![0; search.graph.bits_of.starts.len() - 1],
            shortest: 2,
            open: Default::default(),
            seen: HashSet::default(),
            found: HashSet::new(),
        }
    }

    /// Adds a bit, unless a check would have three members or a cycle would be shorter than the first one.
    #[inline]
    fn add(&mut self, bit: u32) -> bool {
        if self.members.len() == MOST_SET_BITS || self.members.contains(&bit) {
            return false;
        }
        let checks = self.search.graph.checks_of.of(bit);
        let mut neighbours = 0u16;
        for &check in checks {
            match self.state[check as usize] {
                0 => {}
                SATISFIED => return false,
                owner => {
                    let owner = 1 << (owner - 1);
                    if neighbours & owner != 0 && self.shortest > 2 {
                        return false;
                    }
                    neighbours |= owner;
                }
            }
        }
        let mut starts = neighbours;
        while starts != 0 && self.shortest > 3 {
            let start = 1u16 << starts.trailing_zeros();
            starts &= starts - 1;
            let mut reached = start;
            for _ in 3..self.shortest {
                let mut next = reached;
                let mut left = reached;
                while left != 0 {
                    next |= self.neighbours[left.trailing_zeros() as usize];
                    left &= left - 1;
                }
                reached = next;
            }
            if reached & neighbours & !start != 0 {
                return false;
            }
        }
        let number = self.members.len();
        self.neighbours[number] = neighbours;
        self.satisfied[number] = 0;
        for &check in checks {
            let state = &mut self.state[check as usize];
            if *state == 0 {
                *state = number as u8 + 1;
            } else {
                let owner = usize::from(*state - 1);
                self.neighbours[owner] |= 1 << number;
                self.satisfied[owner] += 1;
                self.satisfied[number] += 1;
                *state = SATISFIED;
            }
        }
        self.members.push(bit);
        true
    }

    /// Removes the last `count` members.
    #[inline]
    fn remove(&mut self, count: usize) {
        for _ in 0..count {
            let bit = self.members.pop().expect("a member");
            let number = self.members.len();
            let mut neighbours = self.neighbours[number];
            for &check in self.search.graph.checks_of.of(bit) {
                let state = &mut self.state[check as usize];
                if *state != SATISFIED {
                    *state = 0;
                    continue;
                }
                // The neighbour is the other member of the check.
                let mut left = neighbours;
                while left != 0 {
                    let owner = left.trailing_zeros() as usize;
                    left &= left - 1;
                    if self.search.graph.checks_of.of(self.members[owner]).contains(&check) {
                        *state = owner as u8 + 1;
                        self.satisfied[owner] -= 1;
                        break;
                    }
                }
            }
            while neighbours != 0 {
                self.neighbours[neighbours.trailing_zeros() as usize] &= !(1 << number);
                neighbours &= neighbours - 1;
            }
        }
    }

    /// Keeps the set if it is absorbing, and grows it by at most `room` more bits.
    fn grow(&mut self, room: usize) {
        let graph = &self.search.graph;
        let (mut wanting, mut wants_most) = (0, 0);
        for (number, &bit) in self.members.iter().enumerate() {
            let wants = graph.needs(bit).saturating_sub(self.satisfied[number]);
            wanting += wants;
            wants_most = wants_most.max(wants);
        }
        if wanting == 0 {
            let set = canonical(graph.size, &self.members);
            if self.search.violated(&set) <= self.search.most_violated {
                self.found.insert(set);
            }
        }
        // A new bit shares only one check with a member, if no two bits share two.
        if room == 0 || self.shortest > 2 && wants_most as usize > room {
            return;
        }
        // Violated checks, by member. The list of each depth is reused for the next set.
        let depth = self.members.len();
        let mut open = std::mem::take(&mut self.open[depth]);
        open.clear();
        for (number, &bit) in self.members.iter().enumerate() {
            for &check in graph.checks_of.of(bit) {
                if self.state[check as usize] != SATISFIED {
                    open.push((number, self.search.check(check)));
                }
            }
        }
        if room <= 2 && wanting > 0 {
            // Each completion of the set satisfies one of the first violated checks of a bit that needs more satisfied checks. With little
            // room an ear of at most that many bits starts there.
            let choices = |&(number, wants): &(usize, u32)| {
                (open.iter().filter(|(owner, _)| *owner == number).count() + 1).saturating_sub(wants as usize)
            };
            let wants = self
                .members
                .iter()
                .enumerate()
                .map(|(number, &bit)| (number, graph.needs(bit).saturating_sub(self.satisfied[number])));
            let (member, count) = wants
                .filter(|(_, wants)| *wants > 0)
                .map(|want| (want.0, choices(&want)))
                .min_by_key(|(_, choices)| *choices)
                .expect("a bit that wants");
            for &(_, from) in open.iter().filter(|(owner, _)| *owner == member).take(count) {
                for &(_, to) in open.iter().filter(|(_, to)| *to != from) {
                    self.add_ears(from, to, room);
                }
            }
        } else {
            for index in 0..open.len() {
                for other in index + 1..open.len() {
                    self.add_ears(open[index].1, open[other].1, room);
                }
            }
        }
        self.open[depth] = open;
    }

    /// Grows the set by the ears between two of its violated checks.
    #[inline]
    fn add_ears(&mut self, from: Check, to: Check, room: usize) {
        let search = self.search;
        for ear in search.one.between(from, to) {
            self.add_ear(&ear, room);
        }
        if room >= 2 {
            for ear in search.two[(room - 2).min(2)].between(from, to) {
                self.add_ear(&ear, room);
            }
        }
        if room >= 3 {
            for ear in search.three[(room - 3).min(2)].between(from, to) {
                self.add_ear(&ear, room);
            }
        }
        if room >= 5 && self.shortest == 4 && self.members.len() > 4 {
            self.add_heavy_ears(from, to, room);
        }
    }

    /// Grows the set by ears of three bits of any weight. There are many of them, and only one of the shapes of ten bits needs them. That
    /// shape has two groups, in each of which two bits have the same three neighbours, and three checks that join these neighbours.
    fn add_heavy_ears(&mut self, from: Check, to: Check, room: usize) {
        let search = self.search;
        let graph = &search.graph;
        let begin = from.row * graph.size + from.offset;
        for &first in graph.bits_of.of(begin) {
            for &check in graph.checks_of.of(first).iter().filter(|&&check| check != begin) {
                for [second, third] in search.two[2].between(search.check(check), to) {
                    self.add_ear(&[first, second, third], room);
                }
            }
        }
    }

    /// A key that distinguishes the orbit of the set from other orbits.
    fn key(&self) -> [u32; MOST_SET_BITS] {
        let set = canonical(self.search.graph.size, &self.members);
        let mut key = [u32::MAX; MOST_SET_BITS];
        key[..set.len()].copy_from_slice(&set);
        key
    }

    fn add_ear(&mut self, ear: &[u32], room: usize) {
        let added = ear.iter().take_while(|&&bit| self.add(bit)).count();
        if added == ear.len() {
            let left = room - added;
            // Sets that grow much are grown only once.
            if left < 3 || self.seen.insert(self.key()) {
                self.grow(left);
            }
        }
        self.remove(added);
    }
}
