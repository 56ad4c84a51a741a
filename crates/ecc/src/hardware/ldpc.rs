use super::{ADDER, AND, FLIP_FLOP, MUX, Node, Parts, XOR};
use crate::ldpc::LdpcCode;

/// The properties of an LDPC code on which a circuit depends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LdpcShape {
    /// n: bits of a codeword.
    pub codeword_bits: u32,
    /// Number of checks.
    pub checks: u32,
    /// Number of ones of the matrix.
    pub edges: u32,
    /// Number of bits of the heaviest check.
    pub row_weight: u32,
    /// Block rows, which are decoded one after the other; 1 if the matrix has none.
    pub layers: u32,
}

impl LdpcShape {
    /// The shape of a code.
    pub fn of(code: &LdpcCode) -> Self {
        let matrix = code.parity_check();
        Self {
            codeword_bits: code.codeword_bits() as u32,
            checks: matrix.rows() as u32,
            edges: matrix.edges() as u32,
            row_weight: (0..matrix.rows()).map(|row| matrix.row(row).len()).max().unwrap_or(0) as u32,
            layers: code.quasi_cyclic().map_or(1, |base| base.rows() as u32),
        }
    }
}

/// Area of a decoder over that of its parts: control, clock, wires and margins, which no count of parts has. It is the geometric mean of
/// published areas over counted ones, for three circuits at four iterations. Two of these circuits predict the third with an error from 42
/// % too small to 56 % too large (`tests/all/hardware.rs`).
const OVERHEAD: f64 = 2.59;
/// Cycles until the last check of a layer is written back, after which the next layer may begin. Assumed.
const PIPELINE: u64 = 4;
/// The fewest words of a memory, and the gates of a bit of the flip-flops that replace a smaller one, its choice included. Assumed.
const LEAST_WORDS: f64 = 32.0;
const REGISTER_GATES: f64 = 7.0;

/// The number of bits that distinguish `of` things.
fn choices(of: u32) -> f64 {
    of.next_power_of_two().trailing_zeros().into()
}

/// A layered min-sum decoder of quasi-cyclic LDPC codes, which handles all edges of some checks of a layer in a cycle.
///
/// Source: D. Hocevar, "A reduced complexity decoder architecture via layered decoding of LDPC codes", 2004. Posteriors are in memory, and
/// for each check its two least magnitudes, the place of the least, and signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LdpcDecoderCircuit {
    /// Checks that are handled in a cycle: the lanes of a circulant.
    pub checks_per_cycle: u32,
    /// Bits of a message, its sign included. Posteriors have two more.
    pub message_bits: u32,
}

/// A layered min-sum decoder whose messages are indices of few bits: [`crate::ldpc::RcqDesign`]. Edges compare magnitudes as wide as
/// posteriors. Only the two least magnitudes of a check are quantised, and an index is kept for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RcqDecoderCircuit {
    /// Checks that are handled in a cycle: the lanes of a circulant.
    pub checks_per_cycle: u32,
    /// Bits of a message, its sign included.
    pub message_bits: u32,
    /// Bits of a posterior, its sign included.
    pub posterior_bits: u32,
}

/// The widths of the parts of a decoder, in bits.
#[derive(Debug, Clone, Copy)]
struct Datapath {
    checks_per_cycle: u32,
    /// The message that an edge subtracts and adds again, its sign included.
    message: f64,
    posterior: f64,
    /// The part of a message that is kept, its sign included.
    kept: f64,
    /// Gates of a check in addition to those of its edges.
    check_gates: f64,
}

impl From<LdpcDecoderCircuit> for Datapath {
    fn from(circuit: LdpcDecoderCircuit) -> Self {
        let message = f64::from(circuit.message_bits);
        Self {
            checks_per_cycle: circuit.checks_per_cycle,
            message,
            posterior: message + 2.0,
            kept: message,
            check_gates: 0.0,
        }
    }
}

impl From<RcqDecoderCircuit> for Datapath {
    fn from(circuit: RcqDecoderCircuit) -> Self {
        let (kept, posterior) = (f64::from(circuit.message_bits), f64::from(circuit.posterior_bits));
        let (magnitude, steps) = (posterior - 1.0, f64::from((1 << (circuit.message_bits - 1)) - 1));
        // The two least magnitudes are compared with each threshold, which makes their indices. These indices, and those kept from the last
        // iteration, choose among values. Thresholds and values are the same for all lanes and change once an iteration.
        let check_gates = 2.0 * steps * (magnitude * ADDER + AND) + 4.0 * steps * magnitude * MUX;
        Self { checks_per_cycle: circuit.checks_per_cycle, message: posterior, posterior, kept, check_gates }
    }
}

impl Datapath {
    /// The gates of an edge. The check's last answer is subtracted from the posterior, and the difference is saturated and split into sign
    /// and magnitude, compared with two minima, chosen, scaled and added again. There are registers of three stages, and a rotation by the
    /// shift of the circulant.
    fn edge_gates(self) -> f64 {
        let (message, posterior) = (self.message, self.posterior);
        let magnitude = message - 1.0;
        let rotation = choices(self.checks_per_cycle.max(2));
        let difference = posterior * ADDER + 3.0 * message;
        let minima = magnitude * (2.0 * ADDER + 3.0 * MUX);
        let choice = message * MUX + magnitude * MUX + XOR;
        let sum = posterior * (ADDER + 2.0);
        let registers = FLIP_FLOP * (2.0 * posterior + message);
        difference + minima + choice + sum + registers + MUX * posterior * rotation
    }

    /// The bits that are kept of a check: two magnitudes, the place of the least, signs.
    fn check_bits(self, shape: LdpcShape) -> f64 {
        let weight = f64::from(shape.row_weight);
        2.0 * (self.kept - 1.0) + choices(shape.row_weight) + weight
    }

    fn parts_for(self, shapes: &[LdpcShape]) -> Parts {
        let most = |of: &dyn Fn(&LdpcShape) -> f64| shapes.iter().map(of).max_by(f64::total_cmp).expect("some code");
        let lanes = f64::from(self.checks_per_cycle);
        let of_checks = lanes * self.check_gates;
        let gates = lanes * most(&|shape| f64::from(shape.row_weight)) * self.edge_gates() + of_checks;
        let n = most(&|shape| f64::from(shape.codeword_bits));
        let kept = n * self.posterior + most(&|shape| f64::from(shape.checks) * self.check_bits(*shape));
        let memory_bits = kept + n * (self.kept + 1.0);
        if most(&|shape| f64::from(shape.checks)) / lanes < LEAST_WORDS {
            return Parts { gates: gates + REGISTER_GATES * memory_bits, memory_bits: 0.0, overhead: OVERHEAD };
        }
        Parts { gates, memory_bits, overhead: OVERHEAD }
    }

    fn iteration_cycles(self, shape: LdpcShape) -> u64 {
        let of_layer = u64::from(shape.checks.div_ceil(shape.layers.max(1))).div_ceil(self.checks_per_cycle.into());
        u64::from(shape.layers.max(1)) * (of_layer + PIPELINE)
    }

    fn cycles(self, shape: LdpcShape, iterations: u32) -> u64 {
        u64::from(iterations.max(1)) * self.iteration_cycles(shape)
    }

    fn decode_pj(self, shape: LdpcShape, iterations: u32, node: Node) -> f64 {
        let passes = f64::from(iterations.max(1));
        let of_edges = OVERHEAD * f64::from(self.checks_per_cycle * shape.row_weight) * self.edge_gates();
        let gates = of_edges + OVERHEAD * f64::from(self.checks_per_cycle) * self.check_gates;
        let gate_cycles = gates * self.cycles(shape, iterations) as f64;
        let of_pass = f64::from(shape.edges) * self.posterior + f64::from(shape.checks) * self.check_bits(shape);
        let load = f64::from(shape.codeword_bits) * self.kept;
        (gate_cycles * node.gate_cycle_fj() + 2.0 * (passes * of_pass + load) * node.access_fj()) / 1e3
    }
}

/// The methods that both decoders have.
macro_rules! decoder {
    ($circuit:ty) => {
        impl $circuit {
            /// The parts of the whole decoder: lanes, posteriors, checks, the incoming codeword and the one that leaves meanwhile.
            pub fn parts(&self, shape: LdpcShape) -> Parts {
                self.parts_for(&[shape])
            }

            /// The parts of a decoder of several codes. Lanes are as wide as the heaviest check of any code, and each memory is as large as
            /// the code that needs the most of it. The positions of circulants in each code, which take far less, are not counted.
            ///
            /// # Panics
            /// If there is no code.
            pub fn parts_for(&self, shapes: &[LdpcShape]) -> Parts {
                Datapath::from(*self).parts_for(shapes)
            }

            /// The cycles of an iteration.
            pub fn iteration_cycles(&self, shape: LdpcShape) -> u64 {
                Datapath::from(*self).iteration_cycles(shape)
            }

            /// The cycles of a codeword. A codeword without errors takes one pass over all checks, which shows that it has none.
            pub fn cycles(&self, shape: LdpcShape, iterations: u32) -> u64 {
                Datapath::from(*self).cycles(shape, iterations)
            }

            /// The energy of a codeword, pJ. Lanes work for each cycle. In each iteration posteriors are read and written once an edge, and
            /// messages once a check. The codeword comes in and leaves once.
            pub fn decode_pj(&self, shape: LdpcShape, iterations: u32, node: Node) -> f64 {
                Datapath::from(*self).decode_pj(shape, iterations, node)
            }
        }
    };
}

decoder!(LdpcDecoderCircuit);
decoder!(RcqDecoderCircuit);

/// An encoder of quasi-cyclic LDPC codes. Data bits are added to the sums of their checks, from which the parity follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LdpcEncoderCircuit {
    /// Bits of data in a cycle.
    pub bits_per_cycle: u32,
}

impl LdpcEncoderCircuit {
    /// The parts of a sum for each check and of a register of parity, each with an exclusive or; each bit of a cycle is rotated to its
    /// checks.
    pub fn parts(&self, shape: LdpcShape) -> Parts {
        let checks = f64::from(shape.checks);
        let weight = f64::from(shape.edges) / f64::from(shape.codeword_bits);
        let circulant = shape.checks.div_ceil(shape.layers.max(1)).max(2);
        let rotated = f64::from(self.bits_per_cycle) * weight * MUX * choices(circulant);
        Parts::gates(2.0 * checks * (FLIP_FLOP + XOR) + rotated)
    }

    /// The cycles of a codeword.
    pub fn cycles(&self, shape: LdpcShape) -> u64 {
        u64::from(shape.codeword_bits).div_ceil(self.bits_per_cycle.into())
    }

    /// The energy of a codeword, pJ.
    pub fn encode_pj(&self, shape: LdpcShape, node: Node) -> f64 {
        self.parts(shape).gates * self.cycles(shape) as f64 * node.gate_cycle_fj() / 1e3
    }
}
