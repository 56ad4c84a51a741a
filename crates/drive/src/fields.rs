//! The fields of a config that a served drive has. Some are refused, as answers would be wrong without them; others have no effect, and the
//! drive says which.

use serde_json::Value;
use softsense_config::spec::{AllocationPool, BusyUnit, Config, GcPacing, PartialWrite};

/// Fields that a drive has, with the values that are not refused, and parts of which it has all fields.
const SERVED: [&str; 16] = [
    "seed",
    "geometry",
    "bus",
    "decoder",
    "reliability",
    "read",
    "flash.page_types",
    "flash.erase_us",
    "flash.busy_unit",
    "ftl.gc_pacing",
    "ftl.over_provisioning",
    "ftl.read_reclaim",
    "ftl.refresh",
    "ftl.wear_levelling_spread",
    "host.partial_write",
    "host.write_buffer_bytes",
];

/// Parts that say how a run begins, what it asks for, and what it counts.
const OF_RUNS: [&str; 4] = ["precondition", "workload", "measurement", "energy"];

/// The first field of a config that a drive which is served does not have: its path, the value expected there, and why, or what serves
/// instead.
pub(crate) fn unserved(of: &Config) -> Option<(&'static str, &'static str, &'static str)> {
    let by_fault = "blocks and dies of a served drive fail by `softsense drive fault`";
    [
        (
            matches!(of.flash.busy_unit, BusyUnit::Chip | BusyUnit::Channel),
            ("flash.busy_unit", "plane or die", "the dies of a served drive work at the same time"),
        ),
        (of.flash.rounds.is_some(), ("flash.rounds", "none", "the dies of a served drive do not wait for one another")),
        (
            !of.flash.shared_sensing,
            ("flash.shared_sensing", "true", "a served drive senses a page once for all units in it"),
        ),
        (
            of.ftl.allocation_pool != AllocationPool::Ssd,
            ("ftl.allocation_pool", "ssd", "a served drive writes to its dies in turn"),
        ),
        (of.ftl.whole_pages, ("ftl.whole_pages", "false", "a served drive writes units one by one")),
        (of.ftl.slc_cache.is_some(), ("ftl.slc_cache", "none", "all cells of a served drive hold all their bits")),
        (
            of.ftl.parity.is_some(),
            (
                "ftl.parity",
                "none",
                "a served drive has its own parity, one die of each stripe, unless `--no-parity` is given",
            ),
        ),
        (of.flash.copyback.is_some(), ("flash.copyback", "none", "a served drive decodes all data that it moves")),
        (of.flash.bad_blocks.is_some(), ("flash.bad_blocks", "none", by_fault)),
        (!of.flash.die_failures.is_empty(), ("flash.die_failures", "none", by_fault)),
        (of.ftl.scrub.is_some(), ("ftl.scrub", "none", "`softsense drive scrub` reads all data of a served drive")),
        (of.ftl.time_scale != 1.0, ("ftl.time_scale", "1", "`softsense drive age` lets time pass for a served drive")),
        (
            of.power_loss.is_some(),
            ("power_loss", "none", "`softsense drive fault DRIVE drop-power` cuts the power of a served drive"),
        ),
        (
            !matches!(of.ftl.gc_pacing, GcPacing::AtOnce | GcPacing::ThrottleWrites),
            (
                "ftl.gc_pacing",
                "at_once or throttle_writes",
                "in a served drive a write waits only for the collection that it needs",
            ),
        ),
        (of.ftl.gc_idle.is_some(), ("ftl.gc_idle", "none", "a served drive collects when a write needs room")),
        (
            matches!(of.host.partial_write, PartialWrite::CopyBack | PartialWrite::Merge),
            (
                "host.partial_write",
                "read_modify_write or pad",
                "a served drive reads the rest of a partly written unit, or leaves the rest empty",
            ),
        ),
    ]
    .into_iter()
    .find_map(|(found, told)| found.then_some(told))
}

/// Fields of a config that is served which have no effect, where they are not at their defaults.
pub(crate) fn without_effect(config: &Config) -> Vec<String> {
    let (given, default) = (fields(config), fields(&Config::default()));
    let is_of = |path: &str, names: &[&str]| {
        names.iter().any(|name| path.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
    };
    let changed = given.into_iter().filter(|field| !default.contains(field)).map(|(path, _)| path);
    changed.filter(|path| !is_of(path, &SERVED) && !is_of(path, &OF_RUNS)).collect()
}

/// The fields of the parts of a config, and the parts that have none, each with its value.
fn fields(config: &Config) -> Vec<(String, Value)> {
    let Value::Object(parts) = serde_json::to_value(config).expect("a config is plain data") else {
        unreachable!("a config has parts")
    };
    let fields = parts.into_iter().flat_map(|(part, value)| match value {
        Value::Object(fields) if !["reliability", "scheduling"].contains(&part.as_str()) => {
            fields.into_iter().map(|(field, value)| (format!("{part}.{field}"), value)).collect()
        }
        value => vec![(part, value)],
    });
    fields.collect()
}

#[cfg(test)]
mod tests {
    use softsense_config::checked::CheckedConfig;

    use super::*;

    /// Do the lists name fields that there are, and is a field that is on none of them said to have no effect?
    #[test]
    fn fields_without_effect_are_named() {
        let with = |overrides: &[&str]| {
            let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
            without_effect(CheckedConfig::open("tlc-femu", &overrides).unwrap().config())
        };
        let usual = with(&[]);
        let schema: Value = serde_json::from_str(&softsense_config::spec::schema()).unwrap();
        for path in SERVED.iter().chain(&OF_RUNS) {
            assert!(!usual.iter().any(|found| found == path || found.starts_with(&format!("{path}."))), "{path}");
            let (part, field) = path.split_once('.').unwrap_or((path, ""));
            let of_part = &schema["properties"][part];
            let fields = &schema["$defs"][of_part["$ref"].as_str().map_or("", |name| &name["#/$defs/".len()..])];
            assert!(of_part.is_object() && (field.is_empty() || fields["properties"][field].is_object()), "{path}");
        }
        for (more, path) in [
            ("ftl.victims='fifo'", "ftl.victims"),
            ("host.read_buffer={ bytes = 1048576 }", "host.read_buffer"),
            ("host.link={ speed = { bandwidth_gb_per_s = 0.55 } }", "host.link"),
            ("scheduling={}", "scheduling"),
        ] {
            let found = with(&[more]);
            assert!(!usual.contains(&path.to_owned()) && found.contains(&path.to_owned()), "{more}: {found:?}");
        }
    }
}
