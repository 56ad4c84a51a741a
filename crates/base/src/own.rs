//! Names of policies and rules that users have written.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;
use std::sync::{LazyLock, Mutex, PoisonError};

use schemars::{Schema, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The name of code of the user's own: its place and its name there, such as `my_policies.py:Ladder` or `my_policies:Ladder`. A config
/// has only this name; the program that runs the config hands the code over.
///
/// Equal names are one text, which is kept as long as the process. So a name is as small as a choice among shipped things.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct OwnName(&'static str);

static NAMES: LazyLock<Mutex<HashSet<&'static str>>> = LazyLock::new(Mutex::default);

impl OwnName {
    /// The whole name.
    pub fn as_str(self) -> &'static str {
        self.0
    }

    /// The place of the code: a file or a module.
    pub fn place(self) -> &'static str {
        self.split().0
    }

    /// The name of the code in its file or module.
    pub fn item(self) -> &'static str {
        self.split().1
    }

    /// Tells whether a text is meant as such a name: shipped things have no colon in their names.
    pub fn is_meant(text: &str) -> bool {
        text.contains(':')
    }

    fn split(self) -> (&'static str, &'static str) {
        self.0.rsplit_once(':').expect("it was checked to have a colon")
    }
}

impl FromStr for OwnName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_item = |item: &str| {
            item.starts_with(|c: char| c.is_alphabetic() || c == '_')
                && item.chars().all(|c| c.is_alphanumeric() || c == '_')
        };
        match text.rsplit_once(':') {
            Some((place, item)) if !place.is_empty() && is_item(item) => {
                let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
                let name = names.get(text).copied().unwrap_or_else(|| String::leak(text.to_owned()));
                names.insert(name);
                Ok(Self(name))
            }
            _ => Err(format!(
                "found `{text}`, expected a file or module and a name in it, such as `my_policies.py:Ladder`"
            )),
        }
    }
}

impl fmt::Display for OwnName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Debug for OwnName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.0, f)
    }
}

impl Serialize for OwnName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0)
    }
}

impl<'de> Deserialize<'de> for OwnName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<str>::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Adds a name of the user's own to the alternatives in the schema of a choice.
pub fn or_own(schema: &mut Schema) {
    let own = json_schema!({
        "description": "Something of your own: a file or module and a name in it, such as `my_policies.py:Ladder`.",
        "type": "string",
        "pattern": "^.+:[^:]+$"
    });
    if let Some(choices) = schema.get_mut("oneOf").and_then(|choices| choices.as_array_mut()) {
        choices.push(own.into());
    }
}

/// Implements reading and writing of a shipped thing, or of one of a user's own if its name has a colon. The type `$name` derives
/// `Deserialize` and `Serialize` with `#[serde(remote = "Self")]`. It has a variant `Own`, which these derived implementations skip.
#[macro_export]
macro_rules! shipped_or_own {
    ($name:ident) => {
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
                use serde::de::{Error, IntoDeserializer, MapAccess, Visitor, value::MapAccessDeserializer};
                struct Choice;
                impl<'de> Visitor<'de> for Choice {
                    type Value = $name;

                    fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                        f.write_str("string or table")
                    }

                    fn visit_str<E: Error>(self, text: &str) -> std::result::Result<$name, E> {
                        if $crate::OwnName::is_meant(text) {
                            return text.parse().map($name::Own).map_err(E::custom);
                        }
                        $name::deserialize(text.into_deserializer())
                    }

                    fn visit_map<A: MapAccess<'de>>(self, map: A) -> std::result::Result<$name, A::Error> {
                        $name::deserialize(MapAccessDeserializer::new(map))
                    }
                }
                deserializer.deserialize_any(Choice)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
                match self {
                    Self::Own(name) => serde::Serialize::serialize(name, serializer),
                    _ => $name::serialize(self, serializer),
                }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_a_place_and_an_item() {
        let name: OwnName = "C:/of mine/policies.py:Ladder".parse().unwrap();
        assert_eq!((name.place(), name.item()), ("C:/of mine/policies.py", "Ladder"));
        assert_eq!(name, name.as_str().parse().unwrap());
        assert!(std::ptr::eq(name.as_str(), "C:/of mine/policies.py:Ladder".parse::<OwnName>().unwrap().as_str()));
        for wrong in ["Ladder", ":Ladder", "policies.py:", "policies.py:a b", "policies.py:3"] {
            assert!(wrong.parse::<OwnName>().unwrap_err().contains("expected a file or module"), "{wrong}");
        }
    }
}
