//! A config file: is it checked and written as a config that says the same, or refused?
#![no_main]

use libfuzzer_sys::fuzz_target;
use softsense_config::checked::CheckedConfig;

fuzz_target!(|text: &str| {
    // A config may name files, of which only those that come with softsense are the same everywhere.
    if text.contains('/') {
        return;
    }
    let Ok(config) = CheckedConfig::from_toml(text, "fuzzed.toml", &[]) else { return };
    config.describe();
    let _ = config.describe_workload();
    let again = CheckedConfig::from_toml(&config.to_toml(), "again.toml", &[]).expect("a config that was checked");
    assert_eq!((config.to_json(), config.sha256()), (again.to_json(), again.sha256()));
});
