use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{OwnName, or_own, shipped_or_own};

/// Which missed entries a cache takes in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", remote = "Self")]
#[schemars(transform = or_own)]
pub enum CacheAdmission {
    /// All of it.
    #[default]
    Always,
    /// What was missed before, among what was missed lately.
    SecondMiss,
    /// What a rule of the user's own says: an [`AdmitPages`](crate::own::AdmitPages) or [`AdmitEntries`](crate::own::AdmitEntries), which
    /// is handed over beside the config.
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

    /// What it adds to the line of its cache.
    pub(super) fn describe(self) -> String {
        match self {
            Self::Always => String::new(),
            Self::SecondMiss => ", of what is missed again".to_string(),
            Self::Own(name) => format!(", of what {name} admits"),
        }
    }
}
