//! Absorbing sets: are they found, all of them, as plain enumeration finds them, and do they trap the decoder that they should?

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use softsense_base::{Purpose, Stream};
use softsense_ecc::catalogue::Code;
use softsense_ecc::channel::{Channel, LARGEST_REGION_LLR};
use softsense_ecc::ldpc::{
    AbsorbingSet, AbsorbingSetSearch, AbsorbingSets, Block, Columns, Correction, Impulses, LdpcCode, MOST_LARGEST,
    MinSum, ParityCheck, QuasiCyclic, ShortCycles, Width,
};
use softsense_ecc::{InstructionSet, bits};

fn ldpc(name: &str) -> Arc<LdpcCode> {
    match Code::shipped(name).unwrap() {
        Code::Ldpc(code) => code,
        Code::Bch(_) => panic!("{name} is an LDPC code"),
    }
}

fn base(name: &str) -> QuasiCyclic {
    ldpc(name).quasi_cyclic().expect("a base matrix").clone()
}

/// Everything that a search lists, on two threads.
fn search(code: &QuasiCyclic, most_bits: usize, most_violated: u32) -> Vec<AbsorbingSet> {
    let never = AtomicBool::new(false);
    let search = AbsorbingSetSearch::new(code, most_bits, most_violated, &never).unwrap().expect("nobody interrupts");
    let (next, found) = (AtomicUsize::new(0), Mutex::new(BTreeSet::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let unit = next.fetch_add(1, Ordering::Relaxed);
                    if unit >= search.units() {
                        break;
                    }
                    found.lock().unwrap().extend(search.search(unit, &never).expect("nobody interrupts"));
                }
            });
        }
    });
    found.into_inner().unwrap().into_iter().collect()
}

/// A random quasi-cyclic matrix with columns of these weights, without cycles of four edges if `girth` is 6.
fn random_code(seed: u64, size: u32, rows: u32, weights: &[u32], girth: u32) -> QuasiCyclic {
    let stream = Stream::new(seed, Purpose::CodeConstruction);
    let mut draws = 0;
    let mut draw = |below: u32| {
        draws += 1;
        (stream.bits(0, draws) % u64::from(below)) as u32
    };
    'code: loop {
        let mut blocks: Vec<Block> = Vec::new();
        // Two rows whose shifts differ by as much in two columns have a cycle of four edges.
        let mut differences = HashSet::new();
        for (column, &weight) in (0..).zip(weights) {
            let mut tries = 0;
            let chosen = loop {
                let mut free: Vec<u32> = (0..rows).collect();
                let chosen: Vec<(u32, u32)> =
                    (0..weight).map(|_| (free.swap_remove(draw(free.len() as u32) as usize), draw(size))).collect();
                let pairs =
                    || chosen.iter().flat_map(|a| chosen.iter().filter(move |b| a.0 < b.0).map(move |b| (a, b)));
                let new: Vec<_> = pairs().map(|(a, b)| (a.0, b.0, (a.1 + size - b.1) % size)).collect();
                if girth <= 4 || new.iter().all(|difference| !differences.contains(difference)) {
                    differences.extend(new);
                    break chosen;
                }
                tries += 1;
                if tries > 1000 {
                    continue 'code;
                }
            };
            blocks.extend(chosen.into_iter().map(|(row, shift)| Block { row, column, shift }));
        }
        let Ok(code) = QuasiCyclic::new(size as usize, rows as usize, weights.len(), blocks) else { continue };
        assert!(ShortCycles::of(&code).girth().is_none_or(|found| found >= girth));
        return code;
    }
}

/// The first of all rotations of a set.
fn first_of_orbit(size: u32, set: &[u32]) -> Vec<u32> {
    (0..size).map(|shift| rotation(size, set, shift)).min().expect("a rotation")
}

fn rotation(size: u32, set: &[u32], shift: u32) -> Vec<u32> {
    let mut rotated: Vec<u32> = set.iter().map(|bit| bit / size * size + (bit % size + shift) % size).collect();
    rotated.sort_unstable();
    rotated
}

/// How many checks each two bits of a set share.
fn shared(columns: &Columns, set: &[u32]) -> Vec<Vec<usize>> {
    let common = |a: u32, b: u32| {
        let of_b = columns.of(b as usize);
        if a == b { 0 } else { columns.of(a as usize).iter().filter(|check| of_b.contains(check)).count() }
    };
    set.iter().map(|&a| set.iter().map(|&b| common(a, b)).collect()).collect()
}

fn is_connected(shared: &[Vec<usize>], within: u32) -> bool {
    let mut reached = within & within.wrapping_neg();
    loop {
        let next = (0..shared.len())
            .filter(|&bit| within >> bit & 1 == 1)
            .filter(|&bit| (0..shared.len()).any(|other| reached >> other & 1 == 1 && shared[bit][other] > 0))
            .fold(reached, |next, bit| next | 1 << bit);
        if next == reached {
            return reached == within;
        }
        reached = next;
    }
}

/// All orbits of absorbing sets of up to `most_bits` bits whose checks have one or two of its bits each, by visiting every
/// connected set of such checks.
///
/// Source of the order, in which each set comes once: S. Wernicke, "Efficient detection of network motifs", 2006.
fn enumerate(code: &QuasiCyclic, most_bits: usize) -> BTreeSet<Vec<u32>> {
    struct Enumeration<'a> {
        matrix: &'a ParityCheck,
        columns: &'a Columns,
        size: u32,
        most_bits: usize,
        members: Vec<u32>,
        of_check: Vec<u8>,
        found: BTreeSet<Vec<u32>>,
    }
    fn mark(seen: &mut [u64; 3], set: &[u32]) {
        set.iter().for_each(|bit| seen[*bit as usize / 64] |= 1 << (bit % 64));
    }
    impl Enumeration<'_> {
        fn neighbours(&self, bit: u32) -> BTreeSet<u32> {
            let home = self.members[0] / self.size;
            let checks = self.columns.of(bit as usize).iter();
            checks
                .flat_map(|&check| self.matrix.row(check as usize))
                .copied()
                .filter(|bit| bit / self.size >= home)
                .collect()
        }

        /// `seen` are members and their neighbours, a bit each.
        fn visit(&mut self, mut next: Vec<u32>, seen: [u64; 3]) {
            let is_absorbing = |&bit: &u32| {
                let checks = self.columns.of(bit as usize);
                2 * checks.iter().filter(|&&check| self.of_check[check as usize] == 1).count() < checks.len()
            };
            if self.members.iter().all(is_absorbing) {
                self.found.insert(first_of_orbit(self.size, &self.members));
            }
            if self.members.len() == self.most_bits {
                return;
            }
            while let Some(bit) = next.pop() {
                let checks = self.columns.of(bit as usize);
                if checks.iter().any(|&check| self.of_check[check as usize] == 2) {
                    continue;
                }
                let (mut then, mut seen) = (Vec::new(), seen);
                if self.members.len() + 1 < self.most_bits {
                    let new =
                        self.neighbours(bit).into_iter().filter(|&bit| seen[bit as usize / 64] >> (bit % 64) & 1 == 0);
                    then = next.iter().copied().chain(new).collect();
                    mark(&mut seen, &then);
                }
                self.members.push(bit);
                checks.iter().for_each(|&check| self.of_check[check as usize] += 1);
                self.visit(then, seen);
                checks.iter().for_each(|&check| self.of_check[check as usize] -= 1);
                self.members.pop();
            }
        }
    }
    let matrix = code.expand();
    let columns = matrix.transpose();
    let size = code.circulant_size() as u32;
    let of_check = vec![0; matrix.rows()];
    let mut all = Enumeration {
        matrix: &matrix,
        columns: &columns,
        size,
        most_bits,
        members: vec![],
        of_check,
        found: BTreeSet::new(),
    };
    for home in (0..code.columns() as u32).map(|column| column * size) {
        all.members = vec![home];
        columns.of(home as usize).iter().for_each(|&check| all.of_check[check as usize] += 1);
        let mut next = all.neighbours(home);
        let mut seen = [0; 3];
        mark(&mut seen, &next.iter().copied().collect::<Vec<_>>());
        next.remove(&home);
        all.visit(next.into_iter().collect(), seen);
        columns.of(home as usize).iter().for_each(|&check| all.of_check[check as usize] -= 1);
    }
    all.found
}

/// Whether a set that is absorbing and elementary is among those that the search says it finds.
fn is_claimed(columns: &Columns, set: &[u32], longest_cycle: usize) -> bool {
    let mut shared = shared(columns, set);
    let count = set.len();
    let whole = (1u32 << count) - 1;
    if !is_connected(&shared, whole) {
        return false;
    }
    for a in 0..count {
        for b in 0..a {
            if shared[a][b] == 1 {
                (shared[a][b], shared[b][a]) = (0, 0);
                let stays = is_connected(&shared, whole);
                (shared[a][b], shared[b][a]) = (1, 1);
                if !stays {
                    return false;
                }
            }
        }
    }
    // A set of the fewest bits with a cycle is one: each bit has two shared checks in it, and it is connected.
    let checks_to =
        |bit: usize, within: u32| (0..count).filter(|o| within >> o & 1 == 1).map(|o| shared[bit][o]).sum::<usize>();
    let is_cycle = |&within: &u32| {
        within.count_ones() > 1
            && is_connected(&shared, within)
            && (0..count).filter(|bit| within >> bit & 1 == 1).all(|bit| checks_to(bit, within) >= 2)
    };
    let with_cycle: Vec<u32> = (1..=whole).filter(is_cycle).collect();
    let shortest = with_cycle.iter().map(|within| within.count_ones()).min().expect("no bridge, so a cycle");
    if shortest as usize > longest_cycle {
        return false;
    }
    let light: Vec<bool> = set.iter().map(|&bit| columns.of(bit as usize).len() <= 3).collect();
    let mut reached: BTreeSet<u32> = with_cycle.into_iter().filter(|within| within.count_ones() == shortest).collect();
    let mut waiting: Vec<u32> = reached.iter().copied().collect();
    while let Some(within) = waiting.pop() {
        let outside: Vec<usize> = (0..count).filter(|bit| within >> bit & 1 == 0).collect();
        let mut grown = BTreeSet::new();
        for &a in &outside {
            if checks_to(a, within) >= 2 {
                grown.insert(within | 1 << a);
            }
            if checks_to(a, within) == 0 {
                continue;
            }
            for &b in outside.iter().filter(|&&b| shared[a][b] > 0) {
                if checks_to(b, within) > 0 {
                    grown.insert(within | 1 << a | 1 << b);
                }
                for &c in outside.iter().filter(|&&c| c != a && shared[b][c] > 0 && checks_to(c, within) > 0) {
                    if light[a] || light[b] || light[c] {
                        grown.insert(within | 1 << a | 1 << b | 1 << c);
                    }
                }
            }
        }
        waiting.extend(grown.into_iter().filter(|&within| reached.insert(within)));
    }
    reached.contains(&whole)
}

/// Does the search list the sets that it says it finds, no others, and each orbit once? Columns of weight 3, 4 and both, of
/// girth 4, 6 and 8 edges.
#[test]
fn a_search_finds_what_plain_enumeration_finds() {
    let mixed: Vec<u32> = vec![4, 4, 3, 4, 3, 4, 4];
    let mut total = BTreeMap::new();
    for (size, rows, weights, girth, most_bits) in [
        (5, 3, vec![3; 6], 4, 6),
        (8, 3, vec![3; 6], 6, 6),
        (13, 3, vec![3; 6], 6, 6),
        (7, 4, vec![3; 7], 6, 6),
        (7, 4, vec![4; 6], 4, 6),
        (11, 4, vec![4; 6], 6, 6),
        (16, 4, vec![4; 8], 6, 5),
        (9, 4, mixed.clone(), 4, 6),
        (13, 4, mixed, 6, 6),
        (16, 4, vec![4, 2, 4, 3, 2, 3], 4, 6),
        (16, 4, vec![3; 10], 6, 5),
    ] {
        for seed in 0..2 {
            let code = random_code(seed, size, rows, &weights, girth);
            let never = AtomicBool::new(false);
            let longest = AbsorbingSetSearch::new(&code, most_bits, u32::MAX, &never)
                .unwrap()
                .expect("nobody interrupts")
                .longest_cycle();
            let columns = code.expand().transpose();
            let (claimed, unclaimed): (Vec<Vec<u32>>, Vec<_>) =
                enumerate(&code, most_bits).into_iter().partition(|set| is_claimed(&columns, set, longest));
            let listed = search(&code, most_bits, u32::MAX);
            let found: BTreeSet<Vec<u32>> = listed.iter().map(|set| set.bits.clone()).collect();
            let place = format!("circulants of {size}, weights {weights:?}, girth {girth}, seed {seed}");
            let missing: Vec<_> = claimed.iter().filter(|set| !found.contains(*set)).collect();
            assert!(missing.is_empty(), "{place}: {} of {} missing: {missing:?}", missing.len(), claimed.len());
            let claimed: BTreeSet<Vec<u32>> = claimed.into_iter().collect();
            let more: Vec<_> = found.iter().filter(|set| !claimed.contains(*set)).collect();
            assert!(more.is_empty(), "{place}: {} that are not there: {more:?}", more.len());
            assert_eq!(found.len(), listed.len(), "{place}: an orbit twice");
            for set in &listed {
                let rotations: HashSet<Vec<u32>> = (0..size).map(|shift| rotation(size, &set.bits, shift)).collect();
                assert_eq!(set.multiplicity as usize, rotations.len(), "{place}: {set:?}");
                assert_eq!((set.clone(), true), AbsorbingSet::of(size, &columns, &set.bits));
            }
            let few = search(&code, most_bits, 4);
            assert!(few.iter().eq(listed.iter().filter(|set| set.violated <= 4)), "{place}");
            let (all, beyond) = total.entry((weights.clone(), girth)).or_insert((0, 0));
            *all += found.len();
            *beyond += unclaimed.len();
        }
    }
    assert!(total.values().filter(|(found, _)| *found > 0).count() >= 7, "{total:?}");
}

/// All connected graphs without triangles on `count` vertices of degree 3 at least, as rows of neighbours; some of them several
/// times. Vertices are added in an order in which each new one has the most neighbours.
fn graphs_without_triangles(count: usize) -> Vec<Vec<u32>> {
    let mut graphs: BTreeSet<Vec<u32>> = BTreeSet::from([vec![0]]);
    for new in 1..count {
        let mut next = BTreeSet::new();
        for graph in &graphs {
            for neighbours in 0..1u32 << new {
                let chosen = || (0..new).filter(|vertex| neighbours >> vertex & 1 == 1);
                if chosen().any(|vertex| graph[vertex] & neighbours != 0) {
                    continue;
                }
                let mut grown: Vec<u32> =
                    graph.iter().enumerate().map(|(vertex, row)| row | (neighbours >> vertex & 1) << new).collect();
                grown.push(neighbours);
                if grown.iter().any(|row| row.count_ones() > neighbours.count_ones()) {
                    continue;
                }
                if new + 1 == count && grown.iter().any(|row| row.count_ones() < 3) {
                    continue;
                }
                next.insert(in_order(&grown));
            }
        }
        graphs = next;
    }
    let whole = |graph: &Vec<u32>| {
        let rows: Vec<Vec<usize>> =
            graph.iter().map(|row| (0..count).map(|vertex| (row >> vertex & 1) as usize).collect()).collect();
        is_connected(&rows, (1 << count) - 1)
    };
    graphs.into_iter().filter(whole).collect()
}

/// The same graph with its vertices in an order that makes most equal graphs one.
fn in_order(graph: &[u32]) -> Vec<u32> {
    let mut colours: Vec<u64> = graph.iter().map(|row| row.count_ones().into()).collect();
    for _ in 0..4 {
        let refined = graph.iter().enumerate().map(|(vertex, row)| {
            let around = (0..graph.len()).filter(|other| row >> other & 1 == 1);
            let sum = around
                .map(|other| (colours[other] ^ 0x5bd1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7)
                .fold(0, u64::wrapping_add);
            colours[vertex].wrapping_mul(31).wrapping_add(sum)
        });
        colours = refined.collect();
    }
    let mut order: Vec<usize> = (0..graph.len()).collect();
    order.sort_by_key(|&vertex| colours[vertex]);
    let row = |&vertex: &usize| (0..).zip(&order).fold(0, |row, (to, &from)| row | (graph[vertex] >> from & 1) << to);
    order.iter().map(row).collect()
}

/// Is every elementary set of columns of weight 4 and more found if it has no triangles? Each graph with at least three
/// neighbours to a vertex is a set of some code: the search of that code, for no more bits than the set has, must list it.
#[test]
fn every_graph_without_triangles_is_found() {
    let never = AtomicBool::new(false);
    // Of ten bits the one that takes an ear of three: 0 and 1 have the neighbours 2 to 4, 5 and 6 have 7 to 9.
    let mut joined = vec![0u32; 10];
    let edges = (2..5).flat_map(|x| [(0, x), (1, x), (x, x + 5), (5, x + 5), (6, x + 5)]);
    edges.for_each(|(a, b): (usize, usize)| {
        joined[a] |= 1 << b;
        joined[b] |= 1 << a;
    });
    for count in 6..=10 {
        let graphs = if count == 10 { vec![joined.clone()] } else { graphs_without_triangles(count) };
        for graph in &graphs {
            // A check for each edge, and checks of their own for what a column lacks.
            let edges = (0..count as u32).flat_map(|a| (0..a).map(move |b| (b, a)));
            let mut checks: Vec<Vec<u32>> =
                edges.filter(|&(a, b)| graph[a as usize] >> b & 1 == 1).map(|(a, b)| vec![a, b]).collect();
            for (vertex, row) in (0..).zip(graph) {
                checks.extend((row.count_ones()..4).map(|_| vec![vertex]));
            }
            let code = QuasiCyclic::of_ones(&ParityCheck::from_rows(checks.len() + count, &checks).unwrap());
            let search = AbsorbingSetSearch::new(&code, count, u32::MAX, &never).unwrap().unwrap();
            let whole: Vec<u32> = (0..count as u32).collect();
            let found = (0..search.units())
                .any(|unit| search.search(unit, &never).unwrap().iter().any(|set| set.bits == whole));
            assert!(found, "{graph:?}");
        }
        assert!(!graphs.is_empty());
    }
}

const TRAPS: [[u32; 8]; 3] = [
    [1024, 3509, 4258, 14482, 19352, 20031, 25084, 29978],
    [2560, 9249, 14138, 15711, 19921, 27913, 33620, 35191],
    [7680, 16180, 17804, 19365, 25261, 35441, 35565, 35981],
];

/// Are the smallest sets of the default code the three orbits of (8,8) sets that trap its decoder of eight bits?
#[test]
#[ignore = "long: `make laws`"]
fn law_the_smallest_sets_of_flash_8_9_are_known() {
    let listed = search(&base("flash-8/9"), 8, 8);
    let expected: Vec<AbsorbingSet> =
        TRAPS.iter().map(|bits| AbsorbingSet { bits: bits.to_vec(), violated: 8, multiplicity: 512 }).collect();
    assert_eq!(listed, expected);
}

/// Do all wrong bits of such a set trap the decoder of eight bits, and none the default, whatever the instructions?
#[test]
fn the_smallest_sets_trap_eight_bits_and_not_the_default() {
    let code = ldpc("flash-8/9");
    let matrix = code.quasi_cyclic().unwrap();
    let sets = AbsorbingSets::new(matrix, &TRAPS.map(Vec::from)).unwrap();
    let stream = Stream::new(1, Purpose::Data);
    let mut encoder = code.encoder();
    let mut data = vec![0; bits::bytes_for(code.data_bits())];
    let mut sent = vec![0; bits::bytes_for(code.codeword_bits())];
    for instructions in InstructionSet::available() {
        let decoder = |width| MinSum::with(matrix, &Correction::for_rate(code.rate()), width, instructions).unwrap();
        let (mut narrow, mut default) = (decoder(Width::Eight { largest: MOST_LARGEST }), decoder(Width::Adaptive));
        for (number, set) in (0..).zip(sets.sets()) {
            for shift in (0..512).step_by(37) {
                data.iter_mut()
                    .zip(0..)
                    .for_each(|(byte, index)| *byte = stream.bits(number << 32 | u64::from(shift), index) as u8);
                bits::clear_padding(&mut data, code.data_bits());
                encoder.encode(&data, &mut sent);
                let mut received = sent.clone();
                set.rotated(512, shift).iter().for_each(|&bit| bits::flip(&mut received, bit as usize));
                let mut word = received.clone();
                let trapped = narrow.decode_hard(&mut word, 20);
                assert!(!trapped.converged, "{instructions:?}, {:?} rotated by {shift}", set.bits);
                assert_eq!((trapped.syndrome_weight, &word), (8, &received), "{instructions:?}, {:?}", set.bits);
                word.copy_from_slice(&received);
                assert!(default.decode_hard(&mut word, 20).converged, "{instructions:?}, {:?}", set.bits);
                assert_eq!(word, sent);
            }
        }
    }
}

/// Is a word put right in which soft LLRs are wrong, and as large as they get, at all bits of a set?
///
/// At 0.012 and 0.02, where level 2 decodes easily. With twice as large LLRs, of which nothing else differs, messages cannot
/// outgrow them and each of these sets traps sixteen bits in most words: the test would notice.
#[test]
fn sets_that_are_surely_wrong_do_not_trap_the_default_at_soft_levels() {
    const TRAPS_5_6: [[u32; 7]; 3] = [
        [28672, 46867, 48550, 52196, 53904, 58736, 62912],
        [29184, 30838, 33075, 57692, 61811, 63487, 64193],
        [44032, 47319, 53208, 57075, 57769, 60007, 63286],
    ];
    let traps = [
        ("flash-8/9", 0.012, TRAPS.map(Vec::from).to_vec()),
        ("adaptive-5/6", 0.02, TRAPS_5_6.map(Vec::from).to_vec()),
    ];
    for (name, raw_error_rate, sets) in traps {
        let code = ldpc(name);
        let matrix = code.quasi_cyclic().unwrap();
        let (rotations, sets) = (matrix.circulant_size() as u32, AbsorbingSets::new(matrix, &sets).unwrap());
        let decoder =
            |width| MinSum::with(matrix, &Correction::for_rate(code.rate()), width, InstructionSet::detect()).unwrap();
        let (mut default, mut sixteen) = (decoder(Width::Adaptive), decoder(Width::Sixteen));
        let mut encoder = code.encoder();
        let stream = Stream::new(1, Purpose::Data);
        let mut data = vec![0; bits::bytes_for(code.data_bits())];
        let mut sent = vec![0; bits::bytes_for(code.codeword_bits())];
        let mut llrs = vec![0; code.codeword_bits()];
        for levels in 2..=7 {
            let channel = Channel::Gaussian { raw_error_rate, levels };
            let mut noise = channel.noise(code.codeword_bits(), code.rate(), 1).unwrap();
            let (mut words, mut trapped_by_twice) = (0, 0);
            for set in sets.sets() {
                for shift in (0..rotations).step_by(65) {
                    words += 1;
                    data.iter_mut().zip(0..).for_each(|(byte, index)| *byte = stream.bits(words, index) as u8);
                    bits::clear_padding(&mut data, code.data_bits());
                    encoder.encode(&data, &mut sent);
                    noise.llrs(words, &sent, &mut llrs);
                    for bit in set.rotated(rotations, shift) {
                        let is_one = bits::get(&sent, bit as usize);
                        llrs[bit as usize] = if is_one { LARGEST_REGION_LLR } else { -LARGEST_REGION_LLR };
                    }
                    let mut word = vec![0; sent.len()];
                    for decoder in [&mut default, &mut sixteen] {
                        let outcome = decoder.decode_soft(&llrs, 20, &mut word);
                        assert!(outcome.converged && word == sent, "{name}, level {levels}: {:?} by {shift}", set.bits);
                    }
                    llrs.iter_mut().for_each(|llr| *llr *= 2);
                    trapped_by_twice += u32::from(!sixteen.decode_soft(&llrs, 20, &mut word).converged);
                }
            }
            println!(
                "{name}, level {levels}: {trapped_by_twice} of {words} words are trapped by LLRs of twice the size"
            );
            assert!(u64::from(trapped_by_twice) > words / 4, "{name}, level {levels}: {trapped_by_twice} of {words}");
        }
    }
}

/// A matrix with sets that some rotations map to themselves, and all of its sets of up to six bits.
fn symmetric_sets() -> (QuasiCyclic, Vec<Vec<u32>>) {
    for seed in 0.. {
        let code = random_code(seed, 8, 3, &[3; 6], 4);
        let listed = search(&code, 6, u32::MAX);
        if listed.iter().filter(|set| set.multiplicity < 8).count() >= 2 {
            return (code, listed.into_iter().map(|set| set.bits).collect());
        }
    }
    unreachable!()
}

/// Is a set known under all its rotations, and are those counted that some rotations map to themselves?
#[test]
fn orbits_are_counted() {
    let (code, listed) = symmetric_sets();
    let sets = AbsorbingSets::new(&code, &listed).unwrap();
    let columns = code.expand().transpose();
    assert_eq!(sets.sets().len(), listed.len());
    for set in sets.sets() {
        let rotations: BTreeSet<Vec<u32>> = (0..8).map(|shift| rotation(8, &set.bits, shift)).collect();
        assert_eq!(set.multiplicity as usize, rotations.len());
        assert_eq!(Some(&set.bits), rotations.first());
        for (shift, rotated) in (0..8).map(|shift| (shift, rotation(8, &set.bits, shift))) {
            assert_eq!(set.rotated(8, shift), rotated);
            let backwards: Vec<u32> = rotated.into_iter().rev().collect();
            assert_eq!(AbsorbingSet::of(8, &columns, &backwards), (set.clone(), true));
        }
    }
    let mut sizes: Vec<(usize, u32, Vec<u32>)> =
        sets.sets().iter().map(|set| (set.bits.len(), set.violated, set.bits.clone())).collect();
    sizes.sort();
    assert!(
        sizes.iter().map(|(.., bits)| bits).eq(sets.sets().iter().map(|set| &set.bits)),
        "by size, checks and bits"
    );
}

/// Does `nearest` count what it says, on errors of every weight and on those that hold sets?
#[test]
fn the_nearest_sets_are_counted() {
    let (code, listed) = symmetric_sets();
    let sets = AbsorbingSets::new(&code, &listed).unwrap();
    let all: Vec<Vec<u32>> = sets
        .sets()
        .iter()
        .flat_map(|set| (0..8).map(|shift| rotation(8, &set.bits, shift)).collect::<BTreeSet<_>>())
        .collect();
    let stream = Stream::new(3, Purpose::Noise);
    let mut seen = BTreeSet::new();
    for number in 0..2_000 {
        let share = number % 21;
        let mut errors: Vec<u32> = (0..48).filter(|&bit| stream.bits(number, bit.into()) % 40 < share).collect();
        let chosen = &all[(stream.bits(number, 99) % all.len() as u64) as usize];
        errors.extend(chosen.iter().skip((number % 5) as usize));
        errors.sort_unstable();
        errors.dedup();
        let right = |set: &Vec<u32>| set.iter().filter(|bit| !errors.contains(bit)).count();
        let touched: Vec<usize> = all.iter().filter(|set| right(set) < set.len()).map(right).collect();
        let expected = touched.iter().min().map(|&min| (min, touched.iter().filter(|&&right| right == min).count()));
        assert_eq!(sets.nearest(&errors), expected, "{errors:?}");
        seen.insert(expected);
    }
    assert_eq!(sets.nearest(&[]), None);
    assert!(seen.len() > 20 && (0..2).all(|right| seen.iter().flatten().any(|nearest| nearest.0 == right)), "{seen:?}");
}

/// Is every set of a class drawn as often, all rotations counted, of orbits of several lengths? 60 draws a set: chi-square,
/// approximately normal, is beyond five deviations by chance once in 1e6 runs. Drawing by orbits instead, as often each, it
/// would be at more than 20.
#[test]
fn sets_of_a_class_are_drawn_alike() {
    const DRAWS: u64 = 60;
    let draws = DRAWS as f64;
    let (code, listed) = symmetric_sets();
    let sets = AbsorbingSets::new(&code, &listed).unwrap();
    let stream = Stream::new(4, Purpose::Noise);
    let classes: BTreeSet<(usize, u32)> = sets.sets().iter().map(|set| (set.bits.len(), set.violated)).collect();
    let mut tried = 0;
    for (size, violated) in classes {
        let lengths: BTreeSet<u32> = sets.class(size, violated).map(|set| set.multiplicity).collect();
        let all: u64 = sets.class(size, violated).map(|set| u64::from(set.multiplicity)).sum();
        let mut drawn: BTreeMap<Vec<u32>, u64> = BTreeMap::new();
        for number in 0..DRAWS * all {
            let set = sets.draw(size, violated, stream.bits(number, 0));
            *drawn.entry(set).or_default() += 1;
        }
        assert_eq!(drawn.len() as u64, all, "({size}, {violated})");
        let square: f64 = drawn.values().map(|&count| (count as f64 - draws).powi(2) / draws).sum();
        let freedom = (all - 1) as f64;
        assert!(
            (square - freedom).abs() < 5.0 * (2.0 * freedom).sqrt() + 10.0,
            "({size}, {violated}): {square} of {all}"
        );
        if lengths.len() > 1 {
            let orbits = sets.class(size, violated).count() as f64;
            let by_orbits: f64 = sets
                .class(size, violated)
                .map(|set| {
                    let expected = draws * all as f64 / orbits / f64::from(set.multiplicity);
                    f64::from(set.multiplicity) * (expected - draws).powi(2) / draws
                })
                .sum();
            tried += usize::from(by_orbits > 20.0 * (2.0 * freedom).sqrt());
        }
    }
    assert!(tried > 0, "a class with orbits of several lengths");
}

#[test]
fn bad_searches_and_sets_are_named() {
    let never = AtomicBool::new(false);
    let code = base("teaching-1/2");
    for most_bits in [2, 15] {
        let error = AbsorbingSetSearch::new(&code, most_bits, 4, &never).err().expect("an error").to_string();
        assert_eq!(error, format!("most_bits: found sets of up to {most_bits} bits, expected 3 to 14"));
    }
    let expanded = QuasiCyclic::of_ones(&base("flash-8/9").expand());
    let error = AbsorbingSetSearch::new(&expanded, 4, 4, &never).err().expect("an error").to_string();
    assert!(error.contains("bits that is not quasi-cyclic") && error.contains("at most 4096 bits"), "{error}");
    let stopped = AtomicBool::new(true);
    assert!(AbsorbingSetSearch::new(&code, 4, 4, &stopped).unwrap().is_none());
    let prepared = AbsorbingSetSearch::new(&code, 4, 4, &never).unwrap().unwrap();
    assert!(prepared.search(0, &stopped).is_none());

    let set = search(&code, 6, 4).swap_remove(0);
    let error = |sets: &[Vec<u32>]| AbsorbingSets::new(&code, sets).expect_err("bad sets").to_string();
    let twice = error(&[set.bits.clone(), set.rotated(8, 3)]);
    assert!(twice.starts_with("set 2: found [") && twice.contains("a rotation of an earlier set"), "{twice}");
    let another = error(&[set.bits.clone(), vec![0, 1, 2]]);
    assert!(another.starts_with("set 2: found [0, 1, 2], which is no absorbing set of this code"), "{another}");
    for bad in [vec![], vec![3, 3], vec![5, 96]] {
        let message = error(std::slice::from_ref(&bad));
        assert!(
            message.starts_with(&format!("set 1: found {bad:?}, expected different bits from 0 to 95")),
            "{message}"
        );
    }
    let of_flash = error(&[TRAPS[0].to_vec()]);
    assert!(of_flash.starts_with("set 1: found [1024,"), "{of_flash}");
}

/// Is an impulse a function of seed and number, and a cycle with an ear, so that every bit has two checks with others?
#[test]
fn impulses_are_short_cycles_with_ears() {
    for name in ["teaching-1/2", "flash-8/9"] {
        let matrix = Arc::clone(ldpc(name).parity_check());
        let columns = matrix.transpose();
        let mut impulses = Impulses::new(Arc::clone(&matrix), 7);
        let first: Vec<Vec<u32>> = (0..200).map(|number| impulses.draw(number)).collect();
        let mut again = Impulses::new(Arc::clone(&matrix), 7);
        let mut other = Impulses::new(Arc::clone(&matrix), 8);
        for number in (0..200).rev() {
            assert_eq!(again.draw(number), first[number as usize]);
        }
        assert!((0..200).filter(|&number| other.draw(number) == first[number as usize]).count() < 20);
        assert!(first.iter().collect::<HashSet<_>>().len() > 100);
        for set in &first {
            assert!(set.is_sorted() && set.len() >= 3 && set.len() <= 12, "{set:?}");
            let shared = shared(&columns, set);
            assert!(shared.iter().all(|row| row.iter().sum::<usize>() >= 2), "{set:?}");
            assert!(is_connected(&shared, (1 << set.len()) - 1), "{set:?}");
        }
    }
}

/// Do impulses, corrected, end in the sets that the search lists? Of a small code, most of those of five bits
/// and more that stay as they are when corrected, and no elementary one that is not listed.
#[test]
fn impulses_end_in_the_sets_that_the_search_lists() {
    let code = random_code(2, 61, 4, &[3; 8], 6);
    let columns = code.expand().transpose();
    let listed: BTreeSet<Vec<u32>> = search(&code, 7, 4).into_iter().map(|set| set.bits).collect();
    let mut impulses = Impulses::new(Arc::new(code.expand()), 1);
    let mut ends: BTreeMap<(usize, u32), BTreeSet<Vec<u32>>> = BTreeMap::new();
    for number in 0..40_000 {
        let strong = impulses.draw(number);
        let wrong = impulses.correct(&strong);
        assert_eq!(impulses.correct(&strong), wrong);
        if wrong.is_empty() {
            continue;
        }
        let (set, absorbing) = AbsorbingSet::of(61, &columns, &wrong);
        if absorbing && set.bits.len() <= 7 && set.violated <= 4 {
            let mut checks: Vec<u32> = set.bits.iter().flat_map(|&bit| columns.of(bit as usize)).copied().collect();
            checks.sort_unstable();
            let elementary = checks.chunk_by(|a, b| a == b).all(|checks| checks.len() <= 2);
            assert!(!elementary || listed.contains(&set.bits), "{set:?}");
            ends.entry((set.bits.len(), set.violated)).or_default().insert(set.bits);
        }
    }
    let (mut there, mut met) = (0, 0);
    for set in &listed {
        let (set, _) = AbsorbingSet::of(61, &columns, set);
        let meets = ends.get(&(set.bits.len(), set.violated)).is_some_and(|ends| ends.contains(&set.bits));
        // Of sets that a decoder of this kind leaves where nothing else is wrong.
        if impulses.correct(&set.bits) == set.bits && set.bits.len() >= 5 {
            there += 1;
            met += usize::from(meets);
        }
    }
    assert!(there >= 20 && 10 * met >= 8 * there, "met {met} of {there}");
}
