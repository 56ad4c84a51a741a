use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{OwnName, or_own, shipped_or_own};

/// The missed entries that a cache takes in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", remote = "Self")]
#[schemars(transform = or_own)]
pub enum CacheAdmission {
    /// Every entry that is missed.
    #[default]
    Always,
    /// Entries that were missed before, among the entries that were missed lately.
    SecondMiss,
    /// The entries that a rule of the user's own admits: an [`AdmitPages`](crate::own::AdmitPages) or
    /// [`AdmitEntries`](crate::own::AdmitEntries), which is handed over beside the config.
    #[serde(skip)]
    Own(OwnName),
}

shipped_or_own!(CacheAdmission);

impl CacheAdmission {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The name of a rule of the user's own.
    pub fn own(self) -> Option<OwnName> {
        if let Self::Own(name) = self { Some(name) } else { None }
    }

    /// Words for people, which follow the description of the cache.
    pub(super) fn describe(self) -> String {
        match self {
            Self::Always => String::new(),
            Self::SecondMiss => ", of what is missed again".to_string(),
            Self::Own(name) => format!(", of what {name} admits"),
        }
    }
}
