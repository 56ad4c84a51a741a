//! A drive that holds data: what hosts write is scrambled, encoded, programmed into cells that wear and leak, and read back by the
//! policy of a controller and a real decoder.
//!
//! ```text
//!   clients --- nbd::Server ---+
//!                              v
//!   owner ---- Control --- ServedDrive: one lock
//!                              v
//!            Drive: buffer, map, programs, collection, refresh, parity
//!             |         |             |
//!         Stations    Image      link::StoredReader
//!        (its clock) (its memory) (its cells and codes)
//! ```
//!
//! The crate `ssd` turns operations into time for millions of requests, and holds no data; this one holds data, and keeps time
//! simply: requests come one after another, each waits for its dies, buses and decoders.
//!
//! - **Every byte** that a host reads is what was written, or an error, or counted as undetected.
//! - **Determinism.** The image holds the whole state of a drive. The same requests from the same image give the same
//!   bytes, errors and times (but for real time). Cells are functions of the seed, the place and the number of the
//!   programming.
//! - **Crash safety.** What was flushed, or written with FUA, is there after the process is killed at any moment. Changes are records:
//!   applied, and appended to a journal, in one place.

mod control;
mod describe;
mod drive;
mod image;
mod moving;
pub mod nbd;
mod reading;
mod serving;
mod shape;
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
