//! A drive that holds data. Data from hosts is scrambled, encoded and programmed into cells, which wear and lose charge. It is read back
//! by a controller's read policy and a real decoder.
//!
//! ```text
//!   clients --- nbd::Server ---+
//!                              v
//!   owner ---- Control --- ServedDrive: one lock           (both listen by `listening`)
//!                              v
//!            Drive: buffer, map, programs, collection, refresh, parity
//!             |         |             |
//!         Stations    Image      link::StoredReader
//!        (its clock) (its memory) (its cells and codes)
//! ```
//!
//! The crate `ssd` turns operations into time for millions of requests, and holds no data. This crate holds data, and its clock is
//! simple: requests come one after another, and each waits for its dies, buses and decoders.
//!
//! - **Every byte** that a host reads is the byte that was written, or the read ends with an error, or it is counted as
//!   undetected.
//! - **Determinism.** The image holds the whole state of a drive. The same requests from the same image give the same
//!   bytes, errors and times (but for real time). Cells are functions of the seed, the place and the number of the
//!   programming.
//! - **Crash safety.** Data that was flushed, or written with FUA, survives a kill of the process at any moment. Every
//!   change is a record, which is applied and appended to a journal in one place.

mod control;
mod describe;
mod drive;
mod fields;
mod image;
mod listening;
mod moving;
pub mod nbd;
mod reading;
mod serving;
mod shape;
mod socket;
mod state;
mod stations;
mod status;
mod writing;

pub use control::Control;
pub use drive::DriveSpec;
pub use serving::ServedDrive;
pub use shape::{Place, Shape};
pub use status::{
    Ages, BackgroundCounters, CodewordCounters, CodewordStatus, Counters, HostCounters, ReadError, SmartValue, Status,
    SuperblockStatus,
};
