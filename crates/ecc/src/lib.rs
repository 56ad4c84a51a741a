//! Error-correcting codes of SSD controllers: LDPC and BCH codes, their encoders and decoders, the channels on which
//! they are measured, and the measurement.
//!
//! The crate knows nothing of flash. It meets the rest of softsense through packed bits and log-likelihood ratios.
//!
//! ```text
//!            encoder             Noise                      decoder
//!   data --------------> codeword -----> hard decisions --------------> decided word, Verdict
//!  (packed)              (packed)        or integer LLRs                 compared with what was sent
//! ```
//!
//! - [`catalogue::Code`]: shipped codes by name, and codes from files; [`catalogue::Code::encoder`].
//! - [`ldpc`]: parity-check matrices, their construction, encoders, decoders, and the absorbing sets that make error floors.
//! - [`bch`]: binary BCH codes over GF(2^5) to GF(2^16).
//! - [`channel`]: memoryless channels with hard or soft output.
//! - [`hardware`]: gates, area, cycles and energy of codecs as circuits.
//! - [`measure`]: counting and timing of frames, with the decoder of a [`measure::DecoderSpec`].
//!
//! # Conventions
//!
//! - **Packed bits**: bit `i` of a word is bit `7 - i % 8` of byte `i / 8` (most significant first, as `numpy.packbits` has
//!   it). Padding bits of a last byte are zero.
//! - **LLR** (log-likelihood ratio): an `i8`. Positive means that a 0 is more likely, and the magnitude says how much
//!   more. It saturates at +-127; -128 is read as -127.
//! - **Compile once, decode many**: a code is built (and checked) once, is immutable and shared between threads; a decoder
//!   belongs to one thread and allocates nothing after it was built.
//!
//! # Guarantees
//!
//! - **Fast equals plain**: on every [`InstructionSet`], a vector kernel gives the results of the plain kernel, bit for
//!   bit. The choice of kernel changes nothing but the speed.
//! - **A frame is a function** of seed and number: it has the same data and noise whoever counts it and in whichever
//!   order. The counts of a range of frames are the sum of the counts of its parts.
//! - **A decoder sees the received word**, never the sent one. The measurement compares the decoded word with the sent
//!   one.
//! - **Bad input is a [`softsense_base::Error`]** with a place; a word of the wrong length is a bug of the caller, and
//!   panics.
//!
//! # Example
//!
//! Two codes correct four wrong bits of a codeword:
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

/// The result of an iterative decoder for a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// True if every check is satisfied at the end: the decided word is a codeword, though not necessarily the one sent.
    pub converged: bool,
    /// Number of iterations done; 0 if the received word was a codeword.
    pub iterations: u32,
    /// Number of checks that the decided word violates at the end.
    pub syndrome_weight: u32,
}
