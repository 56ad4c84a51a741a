use softsense_link::ReliabilitySpec;

use super::CheckedConfig;
use crate::spec::{SHIPPED, about};

/// A shipped config, as it appears in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShippedConfig {
    /// Name of the config, which can stand wherever a config file can.
    pub name: &'static str,
    /// Description of the config in one sentence.
    pub about: &'static str,
    /// Bytes that the user can address.
    pub user_bytes: u64,
    /// Kind of `reliability`, by its name in configs.
    pub reliability: &'static str,
}

/// Lists the configs that come with softsense, by name.
pub fn shipped_configs() -> Vec<ShippedConfig> {
    let shipped = |&(name, text): &(&'static str, &'static str)| {
        let config = CheckedConfig::from_toml(text, name, &[]).expect("a shipped config passes every check");
        let reliability = match config.config().reliability {
            ReliabilitySpec::Perfect => "perfect",
            ReliabilitySpec::Fixed { .. } => "fixed",
            ReliabilitySpec::Table(_) => "table",
            ReliabilitySpec::Adaptive(_) => "adaptive",
            ReliabilitySpec::Bch(_) => "bch",
            ReliabilitySpec::Exact(_) => "exact",
        };
        ShippedConfig { name, about: about(text), user_bytes: config.user_bytes(), reliability }
    };
    SHIPPED.iter().map(shipped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Is the first line of every shipped config a sentence that stands alone, short enough for a list?
    #[test]
    fn shipped_configs_say_what_they_are() {
        let shipped = shipped_configs();
        assert!(shipped.is_sorted_by_key(|config| config.name));
        for ShippedConfig { name, about, user_bytes, reliability } in shipped {
            assert!(about.ends_with('.') && (20..=120).contains(&about.len()), "{name}: {about}");
            let config = CheckedConfig::open(name, &[]).unwrap();
            assert_eq!(config.user_bytes(), user_bytes);
            let said = ["{", ""].map(|table| format!("\"reliability\":{table}\"{reliability}\""));
            assert!(said.iter().any(|said| config.to_json().contains(said)), "{name}: {reliability}");
        }
    }
}
