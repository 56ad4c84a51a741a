use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Busy units that begin together: a round begins when all of them are free, and each takes one operation that waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoundsSpec {
    /// Whose busy units they are.
    pub among: RoundsAmong,
    /// What a round takes.
    #[serde(default)]
    pub take: RoundsTake,
}

/// Whose busy units begin together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RoundsAmong {
    /// A die's: its planes.
    Die,
    /// A chip's: its dies, or planes, are the parallel units of an element of DiskSim, which share one set of pins.
    Chip,
    /// Those of so many channels of an SSD that follow one another, a divisor of their number: a gang whose elements share control, and have
    /// a bus each.
    Channels(u32),
}

/// What the units of a round take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RoundsTake {
    /// The first of each: what would be its turn if it did not wait for others. What comes at the instant at which a round begins joins
    /// it.
    #[default]
    FirstOfEach,
    /// One each of a batch: all that waits when the batch before it is over. Reads that go first are served in rounds of their own, then the
    /// rest; what comes meanwhile waits for the next batch.
    Batch,
    /// What a multi-plane command may hold: operations of one kind in planes of one die, in pages of one number within their blocks (erases
    /// in any). The plane whose turn it is says which; of the others' queues it takes what fits.
    MultiPlane,
    /// The same with pages of any number, as dies allow whose planes have row decoders of their own.
    MultiPlaneAnyPage,
}

impl RoundsTake {
    /// Whether a round is a command to planes of a die.
    pub(crate) fn is_multi_plane(self) -> bool {
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
        format!("; units of {among} begin together{take}")
    }
}
