use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Result, expect_whole};

use super::geometry::MAX_INDEX;

/// The times at which requests are issued.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Issue {
    /// Requests are issued at their recorded times, multiplied by `time_scale` (0.5 doubles the load).
    OpenLoop {
        /// Factor on arrival times.
        #[schemars(range(min = 1e-9, max = 1e9))]
        time_scale: f64,
    },
    /// A request is issued as soon as fewer than `queue_depth` are outstanding. Recorded times are ignored.
    ClosedLoop {
        /// Number of outstanding requests.
        #[schemars(range(min = 1, max = MAX_INDEX / 2))]
        queue_depth: u32,
    },
}

impl Issue {
    /// Checks that the queue of a closed loop fits where its commands wait.
    ///
    /// # Arguments
    /// - `room`: commands that fit there; 0 is a fault of its own.
    pub(super) fn check(self, path: &str, room: u32) -> Result<()> {
        match self {
            Self::ClosedLoop { queue_depth } if room > 0 && queue_depth > room => {
                expect_whole(format!("{path}.closed_loop.queue_depth"), queue_depth, 1, room)
            }
            _ => Ok(()),
        }
    }

    /// Some words for people.
    pub(crate) fn describe(self) -> String {
        match self {
            Self::OpenLoop { time_scale } => format!("open loop, time scale {time_scale}"),
            Self::ClosedLoop { queue_depth } => format!("closed loop, queue depth {queue_depth}"),
        }
    }
}
