//! LDPC codes: parity-check matrices, encoders and decoders.

mod absorbing_sets;
mod alist;
mod bit_flipping;
mod code;
mod construct;
mod cycles;
mod density_evolution;
mod design;
mod elimination;
mod encoder;
mod impulses;
mod literature;
mod message_passing;
mod min_sum;
mod parity_check;
mod quasi_cyclic;
mod rcq;
mod syndrome_weights;

pub use absorbing_sets::{AbsorbingSet, AbsorbingSetSearch, AbsorbingSets, MOST_SET_BITS};
pub use bit_flipping::BitFlipping;
pub(crate) use code::first_bits;
pub use code::{LdpcCode, LdpcEncoder, Matrix, RedundantChecks};
pub use construct::Construction;
pub use cycles::ShortCycles;
pub use density_evolution::{DegreeDistribution, shannon_limit};
pub use design::{CodeShape, Family, Profile, Waterfall};
pub use elimination::DenseEncoder;
pub use impulses::Impulses;
pub use literature::ReferenceCode;
pub use message_passing::{MessagePassing, Real, Rule, Schedule};
pub use min_sum::{
    Correction, HEAVIEST_NARROW_COLUMN, LEAST_LARGEST, MOST_LARGEST, MessageFacts, MinSum, PassFacts, RcqTables,
    Snapshot, Staircase, TRAPPED_CHECKS, Width,
};
pub use parity_check::{Columns, ParityCheck};
pub use quasi_cyclic::{Block, QuasiCyclic};
pub use rcq::RcqDesign;
pub use syndrome_weights::SyndromeWeights;
