use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Result, expect_number, expect_whole};

/// The times at which requests are issued.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Issue {
    /// Requests are issued at their recorded times, multiplied by `time_scale` (0.5 doubles the load).
    OpenLoop {
        /// Factor on arrival times.
        time_scale: f64,
    },
    /// A request is issued as soon as fewer than `queue_depth` are outstanding. Recorded times are ignored.
    ClosedLoop {
        /// Number of outstanding requests.
        queue_depth: u32,
    },
}

impl Issue {
    /// Checks the ranges, for a queue that has room for `room` requests.
    pub(super) fn check(self, path: &str, room: u32) -> Result<()> {
        match self {
            Self::OpenLoop { time_scale } => {
                expect_number(format!("{path}.open_loop.time_scale"), time_scale, 1e-9, 1e9)
            }
            Self::ClosedLoop { queue_depth } => {
                expect_whole(format!("{path}.closed_loop.queue_depth"), queue_depth, 1, room)
            }
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
