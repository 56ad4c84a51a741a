use super::{AND, FLIP_FLOP, MUX, Node, Parts, XOR};
use crate::bch::BchCode;

/// The properties of a BCH code on which a circuit depends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BchShape {
    /// m: the code is over GF(2^m).
    pub field_bits: u32,
    /// t: the errors that it corrects.
    pub correctable: u32,
    /// n: the bits of a codeword.
    pub codeword_bits: u32,
}

impl BchShape {
    /// The shape of a code.
    pub fn of(code: &BchCode) -> Self {
        Self {
            field_bits: code.field_bits(),
            correctable: code.correctable() as u32,
            codeword_bits: code.codeword_bits() as u32,
        }
    }
}

/// A decoder of BCH codes: syndromes, key equation, search for roots.
///
/// Source: S. Lin, D. Costello, "Error Control Coding", 2004, chapter 6; D. Sarwate, N. Shanbhag, "High-speed architectures for
/// Reed-Solomon decoders", 2001. Deviation: shared subexpressions are assumed to halve the exclusive ors of a constant multiplier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BchDecoderCircuit {
    /// p_s: the bits of the codeword that all syndromes take in a cycle.
    pub syndrome_bits_per_cycle: u32,
    /// M: the multipliers of the key equation.
    pub key_equation_multipliers: u32,
    /// p_c: the positions that are tried in a cycle.
    pub search_bits_per_cycle: u32,
}

impl BchDecoderCircuit {
    /// The parts of t syndromes of odd powers. Each syndrome is multiplied by a constant of the field, and p bits are added, each times a
    /// constant. That makes half of m (m + p) ones in the matrix, and half of those are shared.
    pub fn syndromes(&self, shape: BchShape) -> Parts {
        let (m, t, p) =
            (f64::from(shape.field_bits), f64::from(shape.correctable), f64::from(self.syndrome_bits_per_cycle));
        Parts::gates(t * (XOR * m * (m + p) / 4.0 + FLIP_FLOP * m))
    }

    /// The parts of M multipliers of m^2 ands and exclusive ors, and of three polynomials of t + 1 coefficients with their choices.
    pub fn key_equation(&self, shape: BchShape) -> Parts {
        let (m, t) = (f64::from(shape.field_bits), f64::from(shape.correctable));
        let multipliers = f64::from(self.key_equation_multipliers) * m * m * (AND + XOR);
        Parts::gates(multipliers + 3.0 * (t + 1.0) * m * (FLIP_FLOP + MUX))
    }

    /// The parts of a constant multiplier and an adder for each of p positions and t coefficients, and of t registers.
    pub fn search(&self, shape: BchShape) -> Parts {
        let (m, t, p) =
            (f64::from(shape.field_bits), f64::from(shape.correctable), f64::from(self.search_bits_per_cycle));
        Parts::gates(t * p * XOR * (m * m / 4.0 + m) + t * m * FLIP_FLOP)
    }

    /// The memory of the codeword, which waits for its errors.
    pub fn buffer(&self, shape: BchShape) -> Parts {
        Parts::memory(shape.codeword_bits.into())
    }

    /// The parts of the whole decoder.
    pub fn parts(&self, shape: BchShape) -> Parts {
        self.syndromes(shape) + self.key_equation(shape) + self.search(shape) + self.buffer(shape)
    }

    /// The cycles of syndromes, key equation and search, one after the other.
    pub fn cycles(&self, shape: BchShape) -> [u64; 3] {
        let (n, t) = (u64::from(shape.codeword_bits), u64::from(shape.correctable));
        let step = (3 * (t + 1)).div_ceil(self.key_equation_multipliers.into());
        [n.div_ceil(self.syndrome_bits_per_cycle.into()), t * step, n.div_ceil(self.search_bits_per_cycle.into())]
    }

    /// The energy of a codeword, pJ. Each stage works for its cycles, the last two only if there are errors.
    pub fn decode_pj(&self, shape: BchShape, errors: bool, node: Node) -> f64 {
        let stages = [self.syndromes(shape), self.key_equation(shape), self.search(shape)];
        let of_stages = stages.iter().zip(self.cycles(shape)).take(if errors { 3 } else { 1 });
        let gate_cycles: f64 = of_stages.map(|(parts, cycles)| parts.gates * cycles as f64).sum();
        let accesses = 2.0 * f64::from(shape.codeword_bits);
        (gate_cycles * node.gate_cycle_fj() + accesses * node.access_fj()) / 1e3
    }
}

/// An encoder of BCH codes: a register of m t bits that divides by the generator polynomial, p bits a cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BchEncoderCircuit {
    /// p: the bits of data in a cycle.
    pub bits_per_cycle: u32,
}

impl BchEncoderCircuit {
    /// The parts of the register, and of p bits that go to half of it; half of these connections are shared.
    pub fn parts(&self, shape: BchShape) -> Parts {
        let parity = f64::from(shape.field_bits * shape.correctable);
        Parts::gates(parity * (FLIP_FLOP + XOR * f64::from(self.bits_per_cycle) / 4.0))
    }

    /// The cycles of a codeword.
    pub fn cycles(&self, shape: BchShape) -> u64 {
        u64::from(shape.codeword_bits).div_ceil(self.bits_per_cycle.into())
    }

    /// The energy of a codeword, pJ.
    pub fn encode_pj(&self, shape: BchShape, node: Node) -> f64 {
        self.parts(shape).gates * self.cycles(shape) as f64 * node.gate_cycle_fj() / 1e3
    }
}
