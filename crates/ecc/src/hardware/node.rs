use softsense_base::{Result, expect_number};

/// A technology node of CMOS: the sizes of a gate and of a bit of memory, and their energies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Node {
    nm: f64,
}

/// nm, um2 of a NAND gate of two inputs in a dense library, um2 of a cell of six transistors, V. All are assumed: they are recalled values
/// of known libraries and foundries.
const NODES: [[f64; 4]; 5] = [
    [28.0, 0.49, 0.127, 0.9],
    [40.0, 0.71, 0.242, 1.0],
    [65.0, 1.44, 0.525, 1.0],
    [90.0, 2.82, 1.0, 1.1],
    [130.0, 5.09, 2.43, 1.2],
];

/// Area of a bit in a macro of a few kilobits with two ports, over that of its cell. Assumed.
const MACRO: f64 = 4.0;
/// Capacitance that a gate drives, its wire included, at 65 nm, fF; it shrinks with the node. Assumed.
const GATE_FF: f64 = 3.0;
/// Share of the gates that switch in a cycle. Assumed.
const ACTIVITY: f64 = 0.15;
/// Energy to read or write a bit of memory at 65 nm and 1 V, fJ. Assumed.
const ACCESS_FJ: f64 = 20.0;

impl Node {
    /// The smallest node that is known, nm.
    pub const LEAST_NM: f64 = NODES[0][0];
    /// The largest node that is known, nm.
    pub const MOST_NM: f64 = NODES[NODES.len() - 1][0];

    /// # Errors
    /// A node that is not from [`Node::LEAST_NM`] to [`Node::MOST_NM`]; `place` is the field that names it.
    pub fn new(place: &str, nm: f64) -> Result<Self> {
        expect_number(place, nm, Self::LEAST_NM, Self::MOST_NM)?;
        Ok(Self { nm })
    }

    /// The name of the node, nm.
    pub fn nm(self) -> f64 {
        self.nm
    }

    /// The value in a column of the table; between nodes it is a power of the length.
    fn known(self, column: usize) -> f64 {
        let above = NODES.iter().position(|row| row[0] >= self.nm).unwrap_or(NODES.len() - 1).max(1);
        let (low, high) = (NODES[above - 1], NODES[above]);
        let share = libm::log(self.nm / low[0]) / libm::log(high[0] / low[0]);
        low[column] * libm::pow(high[column] / low[column], share)
    }

    /// Area of a gate, um2.
    pub fn gate_um2(self) -> f64 {
        self.known(1)
    }

    /// Area of a bit of a memory macro, um2.
    pub fn memory_bit_um2(self) -> f64 {
        MACRO * self.known(2)
    }

    /// The energy of a gate in a cycle in which its circuit works, fJ.
    pub fn gate_cycle_fj(self) -> f64 {
        let volts = self.known(3);
        ACTIVITY * GATE_FF * self.nm / 65.0 * volts * volts
    }

    /// The energy to read or write a bit of memory, fJ.
    pub fn access_fj(self) -> f64 {
        let volts = self.known(3);
        ACCESS_FJ * self.nm / 65.0 * volts * volts
    }
}
