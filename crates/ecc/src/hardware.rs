//! The hardware of codecs: gates, memory, area, cycles and energy of their circuits.
//!
//! The model counts the parts of a circuit in equivalents of a two-input NAND gate; a [`Node`] gives the area and the
//! energy of one. Nothing is synthesised: a comparison with published circuits shows the error of the model
//! (`tests/all/hardware.rs`, docs/model/hardware.md).

mod bch;
mod ldpc;
mod node;

use std::ops::Add;

pub use bch::{BchDecoderCircuit, BchEncoderCircuit, BchShape};
pub use ldpc::{LdpcDecoderCircuit, LdpcEncoderCircuit, LdpcShape, RcqDecoderCircuit};
pub use node::Node;

/// Gates of an exclusive or, in equivalents of a NAND of two inputs.
const XOR: f64 = 2.5;
/// Gates of an and.
const AND: f64 = 1.25;
/// Gates of a full adder, or of a bit of a comparator.
const ADDER: f64 = 6.0;
/// Gates of a choice between two bits.
const MUX: f64 = 2.25;
/// Gates of a flip-flop.
const FLIP_FLOP: f64 = 6.0;

/// The parts of a circuit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parts {
    /// Gates, in equivalents of a NAND of two inputs, flip-flops among them.
    pub gates: f64,
    /// Bits of memory macros.
    pub memory_bits: f64,
    /// Area of the circuit over the area of these parts, which leave out control, clock, wires and margins.
    pub overhead: f64,
}

impl Parts {
    fn gates(gates: f64) -> Self {
        Self { gates, memory_bits: 0.0, overhead: 1.0 }
    }

    /// Parts that are memory alone.
    pub fn memory(memory_bits: f64) -> Self {
        Self { gates: 0.0, memory_bits, overhead: 1.0 }
    }

    /// Area on a die, mm2: cells and macros over the share of the core that they fill.
    pub fn mm2(&self, node: Node) -> f64 {
        let um2 = self.gates * node.gate_um2() + self.memory_bits * node.memory_bit_um2();
        self.overhead * um2 / 1e6 / FILLED
    }
}

impl Add for Parts {
    type Output = Self;

    /// # Panics
    /// If their overheads differ.
    fn add(self, other: Self) -> Self {
        assert_eq!(self.overhead, other.overhead, "parts of different circuits");
        Self { gates: self.gates + other.gates, memory_bits: self.memory_bits + other.memory_bits, ..self }
    }
}

/// Share of a core that cells and macros fill; the rest is for wires.
///
/// Source: L.-W. Liu et al., "A 38.64-Gb/s large-CPM 2-KB LDPC decoder implementation for NAND flash memories", 2022, whose abstract
/// says 70 %.
const FILLED: f64 = 0.7;
