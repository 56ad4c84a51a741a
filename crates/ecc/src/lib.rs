//! Error-correcting codes as SSD controllers use them: LDPC and BCH codes, their encoders and their decoders.
//!
//! This crate knows nothing of flash. It meets the rest of softsense through packed bits and log-likelihood ratios.
//!
//! # Conventions
//!
//! - **Packed bits**: bit `i` of a word is bit `7 - i % 8` of byte `i / 8` (most significant first, as `numpy.packbits` has
//!   it). Padding bits of a last byte are zero.
//! - **LLR**: an `i8`; positive means that bit 0 is the more likely, its magnitude how much more. It saturates at +-127; -128
//!   is read as -127.
//! - **Compile once, decode many**: a code is built (and checked) once, is immutable and shared between threads; a decoder
//!   belongs to one thread and allocates nothing after it was built.

pub mod bch;
pub mod bits;
pub mod catalogue;
pub mod channel;
pub mod ldpc;
pub mod measure;
mod simd;

pub use simd::InstructionSet;

/// What an iterative decoder says of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// Whether every check is satisfied at the end: the decided word is a codeword, though not necessarily the one sent.
    pub converged: bool,
    /// Iterations done; 0 if the word was a codeword as it came.
    pub iterations: u32,
    /// How many checks the decided word violates at the end.
    pub syndrome_weight: u32,
}
