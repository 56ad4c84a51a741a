//! How far is the hardware model from circuits that were built? Abstracts say area and throughput; what they leave out, iterations
//! and clock, is assumed, and the error is that under the assumption.

use softsense_ecc::catalogue::Code;
use softsense_ecc::hardware::{
    BchDecoderCircuit, BchEncoderCircuit, BchShape, LdpcDecoderCircuit, LdpcEncoderCircuit, LdpcShape, Node,
    RcqDecoderCircuit,
};

fn node(nm: f64) -> Node {
    Node::new("node_nm", nm).unwrap()
}

/// A published LDPC decoder.
struct Anchor {
    name: &'static str,
    nm: f64,
    shape: LdpcShape,
    gbps: f64,
    /// Assumed.
    clock_mhz: f64,
    mm2: f64,
}

fn shape(codeword_bits: u32, checks: u32, layers: u32, column_weight: u32) -> LdpcShape {
    let edges = codeword_bits * column_weight;
    LdpcShape { codeword_bits, checks, edges, row_weight: edges.div_ceil(checks), layers }
}

/// Liu et al., 2022: 36 circulants of 511, so that four block rows have the rank; a (21150, 19050) decoder, 2019; Zhang, 2015.
fn anchors() -> [Anchor; 3] {
    [
        Anchor { name: "28 nm", nm: 28.0, shape: shape(18396, 2044, 4, 4), gbps: 38.64, clock_mhz: 500.0, mm2: 2.97 },
        Anchor { name: "65 nm", nm: 65.0, shape: shape(21150, 2100, 4, 4), gbps: 4.32, clock_mhz: 300.0, mm2: 3.376 },
        Anchor {
            name: "65 nm, 4 KB",
            nm: 65.0,
            shape: shape(36864, 4096, 4, 4),
            gbps: 14.9,
            clock_mhz: 300.0,
            mm2: 5.4,
        },
    ]
}

/// The area of the model with the fewest lanes that reach the published throughput, over the published one.
fn of_published(anchor: &Anchor, iterations: u32) -> f64 {
    let circuit = (1..=anchor.shape.checks)
        .map(|checks_per_cycle| LdpcDecoderCircuit { checks_per_cycle, message_bits: 5 })
        .find(|circuit| {
            let cycles = circuit.cycles(anchor.shape, iterations) as f64;
            f64::from(anchor.shape.codeword_bits) / cycles * anchor.clock_mhz / 1e3 >= anchor.gbps
        });
    circuit.expect("some number of lanes is fast enough").parts(anchor.shape).mm2(node(anchor.nm)) / anchor.mm2
}

/// Is the one calibrated constant what it is said to be, and by how much is each circuit missed when the other two calibrate it?
#[test]
fn ldpc_decoders_are_as_large_as_published_within_a_factor() {
    let geometric = |of: &[f64]| (of.iter().map(|ratio| ratio.ln()).sum::<f64>() / of.len() as f64).exp();
    let ratios: Vec<f64> = anchors().iter().map(|anchor| of_published(anchor, 4)).collect();
    assert!((geometric(&ratios) - 1.0).abs() < 0.01, "calibrated on the three: {ratios:?}");
    for ((anchor, expected), left_out) in anchors().iter().zip([-0.42, 0.10, 0.56]).zip(0..) {
        let others: Vec<f64> = (0..3).filter(|&i| i != left_out).map(|i| ratios[i]).collect();
        let error = ratios[left_out] / geometric(&others) - 1.0;
        assert!((error - expected).abs() < 0.01, "{}: {error}, documented {expected}", anchor.name);
    }
    // What the assumption of four iterations is worth.
    for (anchor, (two, eight)) in anchors().iter().zip([(0.40, 3.15), (0.97, 1.23), (1.15, 1.79)]) {
        for (iterations, expected) in [(2, two), (8, eight)] {
            let found = of_published(anchor, iterations);
            assert!(
                (found / expected - 1.0).abs() < 0.02,
                "{} at {iterations}: {found}, documented {expected}",
                anchor.name
            );
        }
    }
}

/// Two codecs of one family at 65 nm (Yang et al., 2015), nothing of the model being fitted to them: 73,000 gates for up to 24
/// errors, 168,600 for up to 84. Eight bits a cycle, m = 14 and 16 multipliers are assumed; throughputs are those of 8 bits a cycle
/// at 166 and 200 MHz.
#[test]
fn bch_codecs_have_as_many_gates_as_published() {
    let circuit =
        BchDecoderCircuit { syndrome_bits_per_cycle: 8, key_equation_multipliers: 16, search_bits_per_cycle: 8 };
    for (correctable, published, documented) in [(24, 73_000.0, -0.14), (84, 168_600.0, 0.13)] {
        let shape = BchShape { field_bits: 14, correctable, codeword_bits: 8192 + 14 * correctable };
        let encoder = BchEncoderCircuit { bits_per_cycle: 8 };
        let gates = circuit.parts(shape).gates + encoder.parts(shape).gates;
        let error = gates / published - 1.0;
        assert!((error - documented).abs() < 0.01, "t = {correctable}: {gates} gates, {error}");
    }
}

/// The cycles of a BCH decoder by its closed form, and of a layered LDPC decoder.
#[test]
fn cycles_are_those_of_closed_forms() {
    let Code::Bch(bch) = Code::shipped("bch-512B-t15").unwrap() else { panic!("a BCH code") };
    let circuit =
        BchDecoderCircuit { syndrome_bits_per_cycle: 8, key_equation_multipliers: 16, search_bits_per_cycle: 8 };
    assert_eq!(circuit.cycles(BchShape::of(&bch)), [537, 15 * 3, 537]);
    let Code::Ldpc(ldpc) = Code::shipped("flash-8/9").unwrap() else { panic!("an LDPC code") };
    let shape = LdpcShape::of(&ldpc);
    assert_eq!((shape.codeword_bits, shape.checks), (36864, 4096));
    for checks_per_cycle in [1, 7, 64] {
        let circuit = LdpcDecoderCircuit { checks_per_cycle, message_bits: 5 };
        let of_layer = (4096 / shape.layers).div_ceil(checks_per_cycle) + 4;
        assert_eq!(circuit.cycles(shape, 3), u64::from(3 * shape.layers * of_layer));
        assert_eq!(circuit.cycles(shape, 0), circuit.cycles(shape, 1));
    }
}

/// Is a decoder of several codes as large as the code that needs the most of each of its parts, and no smaller than any of its codes?
#[test]
fn a_decoder_of_several_codes_holds_the_largest_part_of_each() {
    let circuit = LdpcDecoderCircuit { checks_per_cycle: 16, message_bits: 5 };
    // One has the heavier checks, the other more of them.
    let (weak, strong) = (shape(65536, 10922, 6, 4), shape(65536, 49152, 24, 4));
    let (of_weak, of_strong, of_both) =
        (circuit.parts(weak), circuit.parts(strong), circuit.parts_for(&[weak, strong]));
    assert!(weak.row_weight > 2 * strong.row_weight && of_weak.memory_bits < of_strong.memory_bits);
    assert_eq!((of_both.gates, of_both.memory_bits), (of_weak.gates, of_strong.memory_bits));
    assert_eq!(circuit.parts_for(&[strong, weak, weak]), of_both);
}

/// More parallelism, more bits, more errors: more area and no more cycles. More iterations: more energy, each as much.
#[test]
fn more_hardware_is_larger_and_faster() {
    let Code::Ldpc(ldpc) = Code::shipped("flash-8/9").unwrap() else { panic!("an LDPC code") };
    let shape = LdpcShape::of(&ldpc);
    let ldpc = |checks_per_cycle, message_bits| LdpcDecoderCircuit { checks_per_cycle, message_bits };
    for nm in [28.0, 40.0, 45.0, 65.0, 130.0] {
        let mm2 = |circuit: LdpcDecoderCircuit| circuit.parts(shape).mm2(node(nm));
        for lanes in [8, 32, 64, 200] {
            assert!(mm2(ldpc(lanes, 5)) < mm2(ldpc(lanes + 8, 5)) && mm2(ldpc(lanes, 5)) < mm2(ldpc(lanes, 6)));
            assert!(ldpc(lanes, 5).iteration_cycles(shape) >= ldpc(lanes + 8, 5).iteration_cycles(shape));
            let pj = |iterations| ldpc(lanes, 5).decode_pj(shape, iterations, node(nm));
            let of_one = pj(2) - pj(1);
            assert!(of_one > 0.0 && (pj(9) - pj(1) - 8.0 * of_one).abs() < 1e-6 * pj(9));
        }
        let circuit =
            BchDecoderCircuit { syndrome_bits_per_cycle: 8, key_equation_multipliers: 16, search_bits_per_cycle: 8 };
        let code = |correctable| BchShape { field_bits: 16, correctable, codeword_bits: 36_000 };
        assert!(circuit.parts(code(40)).mm2(node(nm)) < circuit.parts(code(60)).mm2(node(nm)));
        assert!(circuit.decode_pj(code(40), false, node(nm)) < circuit.decode_pj(code(40), true, node(nm)));
        assert!(circuit.decode_pj(code(40), true, node(nm)) < circuit.decode_pj(code(60), true, node(nm)));
        let encoder = LdpcEncoderCircuit { bits_per_cycle: 32 };
        assert!(encoder.encode_pj(shape, node(nm)) < ldpc(32, 5).decode_pj(shape, 1, node(nm)));
    }
    assert!(node(28.0).gate_um2() < node(32.0).gate_um2() && node(32.0).gate_um2() < node(40.0).gate_um2());
    let refused = Node::new("energy.decoder.circuit.node_nm", 7.0).unwrap_err().to_string();
    assert!(refused.contains("energy.decoder.circuit.node_nm") && refused.contains("28"), "{refused}");
}

/// Does a decoder by tables cost what its quantisers, its wider edges and its narrower memories say, by hand, and the more the more bits?
#[test]
fn indices_of_few_bits_cost_quantisers_and_save_memory() {
    let Code::Ldpc(ldpc) = Code::shipped("flash-8/9").unwrap() else { panic!("an LDPC code") };
    let shape = LdpcShape::of(&ldpc);
    let rcq = |message_bits, posterior_bits| RcqDecoderCircuit { checks_per_cycle: 64, message_bits, posterior_bits };
    let uniform = |message_bits| LdpcDecoderCircuit { checks_per_cycle: 64, message_bits };
    let (n, m, d) = (f64::from(shape.codeword_bits), f64::from(shape.checks), f64::from(shape.row_weight));
    for (b, p) in [(3, 8), (4, 8), (4, 10), (5, 9)] {
        let (bits, posterior) = (f64::from(b), f64::from(p));
        let kept = n * posterior + m * (2.0 * (bits - 1.0) + 6.0 + d) + n * (bits + 1.0);
        assert_eq!(rcq(b, p).parts(shape).memory_bits, kept, "{b} {p}");
        // Comparators with an and each, and choices of two new and two old values; edges are as wide as those of messages of p bits, whose
        // posteriors are two bits wider.
        let (steps, magnitude) = (f64::from((1 << (b - 1)) - 1), posterior - 1.0);
        let checks = 64.0 * steps * (2.0 * (6.0 * magnitude + 1.25) + 4.0 * 2.25 * magnitude);
        let narrower = 64.0 * d * 2.0 * (6.0 + 8.0 + 12.0 + 2.25 * 6.0);
        let expected = uniform(p).parts(shape).gates - narrower + checks;
        assert!((rcq(b, p).parts(shape).gates / expected - 1.0).abs() < 1e-12, "{b} {p}");
        assert!(rcq(b, p).cycles(shape, 7) == uniform(b).cycles(shape, 7));
    }
    let mm2 = |b, p| rcq(b, p).parts(shape).mm2(node(28.0));
    let pj = |b, p| rcq(b, p).decode_pj(shape, 5, node(28.0));
    assert!(mm2(3, 8) < mm2(4, 8) && mm2(4, 8) < mm2(4, 9) && pj(3, 8) < pj(4, 8) && pj(4, 8) < pj(4, 9));
}
