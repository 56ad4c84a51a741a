//! The integration tests, one binary: it is linked once, and what they share is compiled once.

mod mapped_traces;
mod traces;
