//! What the back end is asked for.

use softsense_link::Fate;

use super::super::owners::{ProgramOwner, ReadOwner};
use crate::ftl::Group;

/// A read of codewords in pages that are sensed for it.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct ReadOrder {
    pub(in super::super) owner: ReadOwner,
    pub(in super::super) group: Group,
    /// How often the superblock has been erased in the run.
    pub(in super::super) erases: u32,
    /// How often it has been erased at all.
    pub(in super::super) pe_cycles: u32,
    /// Codewords of a unit of data: several where BCH codewords are short.
    pub(in super::super) codewords_per_unit: u32,
    /// The level to begin with, if the policy does not know better.
    pub(in super::super) remembered_level: u8,
    /// Whether it goes before programs and erases.
    pub(in super::super) hurried: bool,
    /// Whether what it reads is yet to be programmed.
    pub(in super::super) awaits_program: bool,
    /// Whether the read buffer takes it in.
    pub(in super::super) keeps: bool,
}

/// A codeword that is to be read. Its number in the device is that of its place times the codewords of a unit, and which it is.
#[derive(Debug, Clone)]
pub(in super::super) struct CodewordOrder {
    pub(in super::super) fate: Fate,
    /// Which it is of the codewords of its page, or pages: pages of a stripe of parity are alike in that.
    pub(in super::super) number: u32,
    /// Whether it is the first of its unit of data, rather than one more of the unit before.
    pub(in super::super) begins_unit: bool,
    /// Units of data that are asked for of it.
    pub(in super::super) units: u16,
    /// Pages of the group that have a part of it: from which member on, how many.
    pub(in super::super) first_part: u16,
    pub(in super::super) parts: u16,
    /// Bytes on the bus of its part in the first page, and in others, where codes differ in their length.
    pub(in super::super) bytes: Option<[u32; 2]>,
    /// The channel of its place, to whose decoders it goes.
    pub(in super::super) channel: u32,
}

/// What has ended when an array has ended something, and is to be [released](super::BackEnd::release).
#[derive(Debug, Clone, Copy)]
pub(in super::super) enum Ended {
    /// Nothing that an array is released after: a sensing, or what was cut short.
    Nothing,
    /// A page of something that goes on elsewhere.
    Page,
    /// The last page of a program.
    Program {
        owner: ProgramOwner,
        group: Group,
        /// A bit for each member whose page has failed.
        failed: u32,
    },
    /// The erase of a block of a superblock.
    Erase { superblock: u32 },
}
