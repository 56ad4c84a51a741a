use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{OwnName, or_own, shipped_or_own};

/// The rule that says when garbage collection of a plane that has begun may work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields, remote = "Self")]
#[schemars(transform = or_own)]
pub enum GcPacing {
    /// Collection works all the time until it has made room. Its operations wait in the same queues as those of the host.
    #[default]
    AtOnce,
    /// Collection pauses between two pages, and before an erase, as long as operations of the host wait for its plane.
    Preemptible,
    /// Collection moves a number of pages for each page that the host or the map programs in its plane. The number is zero at the low
    /// watermark, and grows in proportion to the free blocks missing below it.
    Paced {
        /// Pages moved for each page that is programmed when free blocks are at the reserve.
        #[schemars(range(min = 0.01, max = 1e3))]
        moves_per_write: f64,
    },
    /// Collection works all the time, as with `at_once`, and writes of the host keep its pace. While a block of a plane is collected, the
    /// host programs pages there at most in proportion to the pages moved so far. So at least two blocks above the reserve are free at the
    /// end.
    ThrottleWrites,
    /// A rule of the user's own decides: a [`PaceCollection`](crate::own::PaceCollection), which is handed over beside the config.
    #[serde(skip)]
    Own(OwnName),
}

shipped_or_own!(GcPacing);

impl GcPacing {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The name of a rule of the user's own.
    pub fn own(self) -> Option<OwnName> {
        if let Self::Own(name) = self { Some(name) } else { None }
    }

    /// One line for people; none where collection works at once.
    pub(crate) fn describe(self) -> Option<String> {
        match self {
            Self::AtOnce => None,
            Self::Preemptible => Some("pauses while the host waits".to_string()),
            Self::Paced { moves_per_write } => {
                Some(format!("up to {moves_per_write} pages moved for each one written"))
            }
            Self::ThrottleWrites => Some("writes keep its pace".to_string()),
            Self::Own(name) => Some(format!("as {name} says")),
        }
    }
}

/// Garbage collection of a plane while the host is idle there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GcIdleSpec {
    /// Time for which no operation of the host has worked in the plane before collection begins, us.
    pub after_us: f64,
    /// Smallest share of stale or empty places with which a block is collected in idle time.
    #[schemars(range(min = 1e-6, max = 1.0))]
    pub least_stale: f64,
}

impl Default for GcIdleSpec {
    fn default() -> Self {
        Self { after_us: 10_000.0, least_stale: 0.25 }
    }
}

impl GcIdleSpec {
    /// One line for people.
    pub(crate) fn describe(&self) -> String {
        format!("after {} us, of blocks of which {} % is stale", self.after_us, self.least_stale * 100.0)
    }
}
