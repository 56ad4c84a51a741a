//! Error-correcting codes as SSD controllers use them: LDPC and BCH codes, their encoders and their decoders, the channels on
//! which they are measured, and the measurement.
//!
//! This crate knows nothing of flash. It meets the rest of softsense through packed bits and log-likelihood ratios.
//!
//! ```text
//!            encoder             Noise                      decoder
//!   data --------------> codeword -----> hard decisions --------------> decided word, Verdict
//!  (packed)              (packed)        or integer LLRs                 compared with what was sent
//! ```
//!
//! - [`catalogue::Code`]: the shipped codes by name, and those of files; [`catalogue::Code::encoder`].
//! - [`ldpc`]: parity-check matrices, their construction, encoders, decoders, and the absorbing sets that make error floors.
//! - [`bch`]: binary BCH codes over GF(2^5) to GF(2^16).
//! - [`channel`]: memoryless channels with hard or soft output.
//! - [`hardware`]: what circuits of codecs take: gates, area, cycles, energy.
//! - [`measure`]: frames counted and timed; a [`measure::DecoderSpec`] says with which decoder.
//!
//! # Conventions
//!
//! - **Packed bits**: bit `i` of a word is bit `7 - i % 8` of byte `i / 8` (most significant first, as `numpy.packbits` has
//!   it). Padding bits of a last byte are zero.
//! - **LLR**: an `i8`; positive means that bit 0 is the more likely, its magnitude how much more. It saturates at +-127; -128
//!   is read as -127.
//! - **Compile once, decode many**: a code is built (and checked) once, is immutable and shared between threads; a decoder
//!   belongs to one thread and allocates nothing after it was built.
//!
//! # Guarantees
//!
//! - **Fast equals plain**: every vector kernel gives, bit for bit, what the plain one gives, on every [`InstructionSet`]. Which one
//!   runs changes the speed and nothing else.
//! - **A frame is a function** of seed and number: whoever counts it, in whichever order, it has the same data and the same noise,
//!   and the counts of a range of frames are the sum of those of its parts.
//! - **A decoder sees what was received**, never what was sent. Whether a word that it takes for a codeword is the one that was
//!   sent, the measurement says.
//! - **Bad input is an error** of [`softsense_base::Error`] with a place; words of a wrong length are bugs of the caller, and panic.
//!
//! # Example
//!
//! A codeword, four wrong bits, and two ways to have them corrected:
//!
//! ```
//! use softsense_ecc::bits::{bytes_for, flip};
//! use softsense_ecc::catalogue::Code;
//! use softsense_ecc::measure::{Algorithm, DecoderSpec};
//!
//! let decoder = DecoderSpec { algorithm: "min-sum".parse::<Algorithm>()?, max_iterations: 20 };
//! for name in ["flash-8/9", "bch-4KB-t105"] {
//!     let code = Code::shipped(name)?;
//!     let data = vec![0x5a; code.data_bits() / 8];
//!     let mut sent = vec![0; bytes_for(code.codeword_bits())];
//!     code.encoder().encode(&data, &mut sent);
//!     assert_eq!(code.syndrome_weight(&sent), 0);
//!
//!     let mut word = sent.clone();
//!     [7, 1000, 20_000, 30_001].map(|bit| flip(&mut word, bit));
//!     let verdict = decoder.decoder(&code, 1.0)?.decode_hard(&mut word);
//!     assert!(verdict.success && word == sent);
//! }
//! # Ok::<(), softsense_base::Error>(())
//! ```

pub mod bch;
pub mod bits;
pub mod catalogue;
pub mod channel;
pub mod hardware;
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
