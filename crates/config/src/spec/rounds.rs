use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Busy units that begin together: a round begins when all of them are free, and each takes one operation that waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoundsSpec {
    /// The part of the device whose busy units begin together.
    pub among: RoundsAmong,
    /// The operations that a round takes.
    #[serde(default)]
    pub take: RoundsTake,
    /// The part that reads have in rounds: reads begin together, or each plane reads by itself while multi-plane commands program and
    /// erase.
    #[serde(default, skip_serializing_if = "RoundsReads::are_together")]
    pub reads: RoundsReads,
}

/// The part that reads have in rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RoundsReads {
    /// Reads begin together, as other operations do.
    #[default]
    Together,
    /// Independent plane reads: a plane reads whenever it is free and no plane of its round programs or erases. Programs
    /// and erases remain multi-plane commands, which begin when all planes are free.
    Independent,
}

impl RoundsReads {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
    fn are_together(&self) -> bool {
        *self == Self::Together
    }
}

/// The busy units that begin together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RoundsAmong {
    /// The planes of a die.
    Die,
    /// The dies or planes of a chip: the parallel units of an element of DiskSim, which share one set of pins.
    Chip,
    /// The busy units of this number of consecutive channels of an SSD, a divisor of the number of channels: a gang
    /// whose elements share control but have a bus each.
    Channels(u32),
}

/// The operations that the units of a round take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RoundsTake {
    /// The first operation of each unit, which the unit would begin if it did not wait for others. An operation that arrives at the
    /// instant at which a round begins joins it.
    #[default]
    FirstOfEach,
    /// One operation of each unit from a batch, which is everything that waits when the batch before ends. Reads that have priority are
    /// served in rounds of their own, then all other operations. Operations that arrive meanwhile wait for the next batch.
    Batch,
    /// The operations of a multi-plane command: operations of one kind, in planes of one die, in pages of the same number within their
    /// blocks (erases in any blocks). The plane whose turn it is chooses the kind and the page; the other planes contribute operations
    /// that fit.
    MultiPlane,
    /// The operations of a multi-plane command with pages of any number, as in dies whose planes have separate row decoders.
    MultiPlaneAnyPage,
}

impl RoundsTake {
    /// Tells whether a round is a command to several planes of a die.
    pub fn is_multi_plane(self) -> bool {
        matches!(self, Self::MultiPlane | Self::MultiPlaneAnyPage)
    }
}

impl RoundsSpec {
    /// Some words for people.
    pub(crate) fn describe(self) -> String {
        let among = match self.among {
            RoundsAmong::Die => "a die".to_string(),
            RoundsAmong::Chip => "a chip".to_string(),
            RoundsAmong::Channels(channels) => format!("{channels} channels"),
        };
        let take = match self.take {
            RoundsTake::FirstOfEach => "",
            RoundsTake::Batch => ", batch by batch",
            RoundsTake::MultiPlane => ", by multi-plane commands of equal pages",
            RoundsTake::MultiPlaneAnyPage => ", by multi-plane commands",
        };
        let reads = if self.reads.are_together() { "" } else { ", reads by themselves" };
        format!("; units of {among} begin together{take}{reads}")
    }
}
