//! The language of `--set`: `path=value` replaces a value of a config.

use softsense_base::{Error, Result};

/// Fields that are one of several things with fields of their own: setting a field of one of these chooses it.
pub(super) const CHOICES: [&str; 14] = [
    "decoder.placement",
    "decoder.time",
    "ftl.interleaving.groups",
    "ftl.mapping",
    "ftl.mapping.demand.eviction",
    "host.issue",
    "reliability",
    "reliability.adaptive.rber",
    "reliability.bch.rber",
    "reliability.exact.placement",
    "reliability.exact.rber",
    "reliability.table.rber",
    "workload.addresses",
    "workload.arrivals",
];

/// Applies `path=value` to a table.
pub(super) fn set(table: &mut toml::Table, text: &str) -> Result<()> {
    let bad = |message: &str| Error::config(format!("--set {text}"), message);
    let (path, value) =
        text.split_once('=').ok_or_else(|| bad("expected PATH=VALUE, such as ftl.over_provisioning=0.28"))?;
    let value = value.trim();
    let parsed: toml::Value = match toml::from_str::<toml::Table>(&format!("value = {value}")) {
        Ok(mut table) => table.remove("value").expect("it was just written"),
        Err(_) if value.chars().all(|c| c.is_alphanumeric() || "_-./+".contains(c)) && !value.is_empty() => {
            toml::Value::String(value.to_string())
        }
        Err(error) => return Err(bad(&format!("expected a TOML value: {}", error.message().replace('\n', " ")))),
    };
    let keys: Vec<&str> = path.trim().split('.').collect();
    let (last, parents) = keys.split_last().expect("a split has at least one part");
    let mut at = table;
    for (depth, key) in parents.iter().enumerate() {
        let entry = at.entry(*key).or_insert_with(|| toml::Value::Table(toml::Table::new()));
        // A scalar on the way (reliability = "perfect") gives way to the table that is asked for, and so does another choice.
        let chosen = !CHOICES.contains(&keys[..=depth].join(".").as_str())
            || entry.as_table().is_some_and(|table| table.contains_key(keys[depth + 1]));
        if !entry.is_table() || !chosen {
            *entry = toml::Value::Table(toml::Table::new());
        }
        at = entry.as_table_mut().expect("it was just made one");
    }
    at.insert((*last).to_string(), parsed);
    Ok(())
}
