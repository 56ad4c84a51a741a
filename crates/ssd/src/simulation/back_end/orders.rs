//! Orders: what the back end is asked for.

use softsense_config::ids::{Channel, Superblock};
use softsense_ftl::Group;
use softsense_link::Fate;

use super::super::owners::{ProgramOwner, ReadOwner};

/// A read of codewords in pages that are sensed for it.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct ReadOrder {
    pub(in super::super) owner: ReadOwner,
    pub(in super::super) group: Group,
    /// Erases of the superblock in this run.
    pub(in super::super) erases: u32,
    /// P/E cycles of the superblock, those before the run included.
    pub(in super::super) pe_cycles: u32,
    /// Codewords in a unit of data: several where BCH codewords are short.
    pub(in super::super) codewords_per_unit: u32,
    /// The level to begin with, if the policy does not know better.
    pub(in super::super) remembered_level: u8,
    /// Whether the read goes before programs and erases.
    pub(in super::super) hurried: bool,
    /// Whether the page that is read is yet to be programmed.
    pub(in super::super) awaits_program: bool,
    /// Whether the read buffer takes in the units that are read.
    pub(in super::super) keeps: bool,
}

/// A codeword to be read. Its number in the device is the number of its place times the codewords of a unit, plus its index in the unit.
#[derive(Debug, Clone)]
pub(in super::super) struct CodewordOrder {
    pub(in super::super) fate: Fate,
    /// Index of the codeword in its page, or pages. Codewords with the same index in the pages of a stripe are one another's parity.
    pub(in super::super) number: u32,
    /// Whether the codeword is the first of its unit of data; if not, it belongs to the unit of the codeword before it.
    pub(in super::super) begins_unit: bool,
    /// Units of data that are wanted of this codeword.
    pub(in super::super) units: u16,
    /// The first member of the group whose page has a part of the codeword, and the number of pages that have one.
    pub(in super::super) first_part: u16,
    pub(in super::super) parts: u16,
    /// Bytes on the bus of the part in the first page, and of the part in any other page, where codes differ in their length.
    pub(in super::super) bytes: Option<[u32; 2]>,
    /// The channel of its place, to whose decoders it goes.
    pub(in super::super) channel: Channel,
}

/// The operation that an array has ended. The array is then [released](super::BackEnd::release), unless it is [`Nothing`](Self::Nothing).
#[derive(Debug, Clone, Copy)]
pub(in super::super) enum Ended {
    /// An end after which the array is not released: of a sensing, or of an operation that was cut short.
    Nothing,
    /// The end of a page of a program that goes on in other arrays, of stopping for reads, or of a RESET.
    Page,
    /// The last page of a program.
    Program {
        owner: ProgramOwner,
        group: Group,
        /// A bit for each member whose page has failed.
        failed: u32,
    },
    /// The erase of a block of a superblock.
    Erase { superblock: Superblock },
}
