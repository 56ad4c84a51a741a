use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, ErrorKind, Faults, Result, expect_whole, format_bytes};
use softsense_requests::trace::{Beyond, Columns, TimeUnit, TraceSpec, parse_size};
use softsense_requests::workload::WorkloadSpec;

use super::issue::Issue;

/// The largest number of tenants: the I/O submission queues of an NVMe controller whose identifiers have 16 bits, rounded down.
const MAX_TENANTS: usize = 1 << 12;

/// The deepest submission queue, as in NVMe.
const MAX_SUBMISSION_QUEUE: u32 = 1 << 16;

/// The number of placement handles: as many as the reclaim unit handles of drives with flexible data placement.
const PLACEMENT_HANDLES: u32 = 8;

/// The largest number of commands that have been fetched and have not completed.
const MAX_FETCHED: u32 = 1 << 20;

/// The largest number of commands of one turn.
const MAX_TURN: u32 = 1 << 16;

/// A tenant, one of several users of the device. It has requests and a submission queue of its own, in a part of the address space.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TenantSpec {
    /// Name of the tenant in results.
    pub name: String,
    /// The synthetic workload of the tenant, whose addresses are those of its namespace. A tenant has `workload` or `trace`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<WorkloadSpec>,
    /// The trace that the tenant replays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TenantTrace>,
    /// The times at which the tenant's requests are issued. Without this field they are those of `host.issue`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<Issue>,
    /// The part of the address space that the tenant sees, from 0 on.
    #[serde(default)]
    pub namespace: Namespace,
    /// The class of the tenant's submission queue, for `host.arbitration.scheme.weighted_round_robin`, and its rank for the criterion
    /// `priority` of `scheduling.by`.
    #[serde(default)]
    pub priority: Priority,
    /// Length of the queue's turn in units of `host.arbitration.burst` commands, among queues of its class, or among all queues where
    /// there are no classes.
    #[serde(default = "one")]
    pub weight: u32,
    /// The placement handle of the tenant's writes. Writes of different handles go to different blocks, until garbage collection
    /// moves them together.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0, max = PLACEMENT_HANDLES - 1))]
    pub placement: u32,
    /// Time after its arrival within which a read of the tenant should complete, us, in place of `scheduling.deadlines.read_us`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_deadline_us: Option<f64>,
    /// Number of commands for which the tenant's submission queue has room. A request that arrives when the queue is full waits at the
    /// host, and is counted.
    #[serde(default = "default_submission_queue")]
    #[schemars(range(min = 1, max = MAX_SUBMISSION_QUEUE))]
    pub submission_queue_depth: u32,
    /// Largest number of the tenant's commands that have been fetched and have not completed, so that no tenant takes the whole device,
    /// whatever its turn. Without this field only `host.arbitration.fetched_commands` bounds them, for all tenants together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MAX_FETCHED))]
    pub fetched_commands: Option<u32>,
    /// If true, the tenant issues nothing. Its namespace and the random numbers of the others stay as they are, so that a run without the
    /// tenant is the same but for its requests.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub idle: bool,
}

fn one() -> u32 {
    1
}

fn default_submission_queue() -> u32 {
    1024
}

/// The trace of a tenant, with the options that traces have on the command line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TenantTrace {
    /// Path of the file, from the folder of the config.
    pub path: String,
    /// Format of the file, or a file of columns that ends in `.toml`, from the folder of the config. Without this field the format is
    /// told from the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Meaning of the columns of a text in no known format, such as `time:us,op,bytes,lbn:512B`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<String>,
    /// Delimiter between columns, a name or a character. Without this field it is told from the first line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delimiter: Option<String>,
    /// Number of lines to skip at the beginning.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub skip_header: u32,
    /// Meaning of words in the column `op`, such as `read=28/88,write=2a,skip=*`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op: Option<String>,
    /// Unit of the time column. Without this field it is the format's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_unit: Option<TimeUnit>,
    /// Unit of the size column, such as `512B`. Without this field it is the format's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_unit: Option<String>,
    /// Event of blkparse that is taken as a request: Q, I, D or C.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// The way in which several devices of the trace share one address space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub devices: Option<String>,
    /// If true, a few requests that are far from all others in time are left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skip_outliers: bool,
    /// If true, flushes are left out, and writes with FUA are plain writes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skip_flushes: bool,
    /// The handling of addresses beyond the namespace.
    #[serde(default)]
    pub beyond: Beyond,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl TenantTrace {
    /// The files that define the trace, as they are written in the config.
    pub(crate) fn files(&self) -> impl Iterator<Item = &str> {
        let columns = self.format.as_deref().filter(|format| format.ends_with(".toml"));
        std::iter::once(self.path.as_str()).chain(columns)
    }

    /// The trace to open, with relative paths taken from `directory`.
    ///
    /// # Errors
    /// Names the option, as a path from the trace on, what was found in it and what was expected.
    pub fn spec(&self, directory: &Path) -> Result<TraceSpec> {
        let mut spec = TraceSpec::new(directory.join(&self.path));
        let format = self.format.as_deref().map(|format| match format.ends_with(".toml") {
            true => directory.join(format).display().to_string(),
            false => format.to_owned(),
        });
        let (columns, delimiter, op) = (self.columns.as_deref(), self.delimiter.as_deref(), self.op.as_deref());
        (spec.format, spec.columns) = Columns::asked(format.as_deref(), columns, delimiter, self.skip_header, op)
            .map_err(|error| {
                let option = error.place().trim_start_matches('-').replace('-', "_");
                Error::config(option, error.message())
            })?;
        let bad = |option: &'static str| move |message: String| Error::config(option, message);
        spec.time_unit = self.time_unit;
        spec.size_unit = self.size_unit.as_deref().map(parse_size).transpose().map_err(bad("size_unit"))?;
        spec.event = self.event.as_deref().map(str::parse).transpose().map_err(bad("event"))?;
        spec.devices = self.devices.as_deref().map(str::parse).transpose().map_err(bad("devices"))?.unwrap_or_default();
        spec.skip_outliers = self.skip_outliers;
        spec.skip_flushes = self.skip_flushes;
        Ok(spec)
    }
}

/// The part of the address space that a tenant sees.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Namespace {
    /// An equal part of the space that `fraction` and `bytes` leave, shared with the other tenants that have `rest`.
    #[default]
    Rest,
    /// The whole device, whatever the namespaces of the others.
    Whole,
    /// A share of the device, which lies behind those of tenants before.
    Fraction(#[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))] f64),
    /// A number of bytes, which lie behind those of tenants before.
    Bytes(#[schemars(range(min = 1))] u64),
    /// The namespace of the tenant with this name, which has a namespace of its own.
    SharedWith(String),
}

/// The class of a submission queue.
///
/// Source: NVM Express Base Specification 2.0, 3.4.4.2 (1.4: 4.13.2).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// The class before all others, however long these wait.
    Urgent,
    /// The first of three classes that share what urgent queues leave.
    High,
    /// The second of the three classes.
    #[default]
    Medium,
    /// The third of the three classes.
    Low,
}

impl Priority {
    /// All priorities, by their numbers.
    pub const ALL: [Self; 4] = [Self::Urgent, Self::High, Self::Medium, Self::Low];

    /// The name of the priority in configs.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Urgent => "urgent",
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }
}

/// The rule by which the controller chooses the queue whose command it fetches next.
///
/// Source: NVM Express Base Specification 2.0, 3.4.4 (1.4: 4.13). The turn of a queue is the standard's arbitration burst at `weight` 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ArbitrationSpec {
    /// Round robin among all queues, or weighted round robin among classes.
    pub scheme: ArbitrationScheme,
    /// Largest number of commands that are fetched from a queue in its turn, at `weight` 1.
    #[schemars(range(min = 1, max = MAX_TURN))]
    pub burst: u32,
    /// Largest number of commands that have been fetched and have not completed. Further commands wait in their submission queues. A
    /// device that takes in all commands at once leaves arbitration nothing to choose.
    #[schemars(range(min = 1, max = MAX_FETCHED))]
    pub fetched_commands: u32,
}

/// The rule that says whose turn it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ArbitrationScheme {
    /// Queues take turns, whatever their priority.
    #[default]
    RoundRobin,
    /// Urgent queues go first. Classes share what urgent queues leave, in rounds in which each class has as many commands fetched as its
    /// weight says. Queues of a class take turns.
    WeightedRoundRobin {
        /// Number of commands of `high` queues in a round.
        #[schemars(range(min = 1, max = 256))]
        high_weight: u32,
        /// Number of commands of `medium` queues in a round.
        #[schemars(range(min = 1, max = 256))]
        medium_weight: u32,
        /// Number of commands of `low` queues in a round.
        #[schemars(range(min = 1, max = 256))]
        low_weight: u32,
    },
}

impl Default for ArbitrationSpec {
    fn default() -> Self {
        Self { scheme: ArbitrationScheme::default(), burst: 1, fetched_commands: 64 }
    }
}

impl ArbitrationSpec {
    /// Some words for people.
    pub(crate) fn describe(&self) -> String {
        let scheme = match self.scheme {
            ArbitrationScheme::RoundRobin => "round robin".to_owned(),
            ArbitrationScheme::WeightedRoundRobin { high_weight, medium_weight, low_weight } => {
                format!("urgent first, then weighted round robin {high_weight}:{medium_weight}:{low_weight}")
            }
        };
        format!("{scheme}, burst {}, {} commands fetched at once", self.burst, self.fetched_commands)
    }
}

impl TenantSpec {
    fn check(&self, path: &str, default: Issue, burst: u32) -> Result<()> {
        let mut faults = Faults::default();
        let error = |field: &str, message: String| Error::config(format!("{path}.{field}"), message);
        if self.name.is_empty() || self.name.len() > 64 || self.name.chars().any(char::is_control) {
            faults.add(error(
                "name",
                format!("found {:?}, expected 1 to 64 bytes of text without control characters", self.name),
            ));
        }
        match (&self.workload, &self.trace) {
            (Some(workload), None) => {
                faults.see(workload.check_together().map_err(|error| error.each(|fault| within(path, &fault))));
            }
            (None, Some(trace)) => {
                faults.see(trace.spec(Path::new("")).map(drop).or_else(|error| match error.kind() {
                    // A missing file of columns is no fault here: it is looked for where the config is.
                    ErrorKind::Io => Ok(()),
                    _ => Err(within(&format!("{path}.trace"), &error)),
                }));
            }
            (Some(_), Some(_)) => {
                faults.add(error("trace", "found together with `workload`, expected only one of the two".into()))
            }
            (None, None) => faults.add(error("workload", "missing, expected `workload` or `trace`".into())),
        }
        faults.see(self.issue.unwrap_or(default).check(&format!("{path}.issue"), self.submission_queue_depth));
        faults.see(expect_whole(format!("{path}.weight"), self.weight, 1, MAX_TURN / burst.clamp(1, MAX_TURN)));
        faults.end()
    }

    /// Label and value for people.
    pub(crate) fn describe(&self, bytes: u64) -> String {
        let of = match (&self.workload, &self.trace) {
            (Some(workload), _) => {
                let rows = workload.describe();
                let value = |label: &str| rows.iter().find(|(name, _)| name == label).map_or("", |(_, value)| value);
                format!("{} requests, {} reads, {}", value("requests"), value("reads"), value("sizes"))
            }
            (_, Some(trace)) => trace.path.clone(),
            _ => String::new(),
        };
        let issue = self.issue.map_or_else(String::new, |issue| format!("; {}", issue.describe()));
        let weight = if self.weight == 1 { String::new() } else { format!(", weight {}", self.weight) };
        let placement = if self.placement == 0 { String::new() } else { format!(", placement {}", self.placement) };
        let fetched =
            self.fetched_commands.map_or_else(String::new, |most| format!(", {most} commands fetched at once"));
        let deadline = self.read_deadline_us.map_or_else(String::new, |us| format!(", reads within {us} us"));
        let idle = if self.idle { "idle; " } else { "" };
        let priority = self.priority.name();
        format!(
            "{idle}{of}{issue}; namespace {}; priority {priority}{weight}{placement}{fetched}{deadline}",
            format_bytes(bytes)
        )
    }
}

/// Returns an error at a config path, `path`, with its own place behind that path.
pub fn within(path: &str, error: &Error) -> Error {
    Error::new(error.kind(), format!("{path}.{}", error.place()), error.message())
}

/// Checks each tenant, and their names.
pub(super) fn check(tenants: &[TenantSpec], default: Issue, arbitration: Option<&ArbitrationSpec>) -> Result<()> {
    let mut faults = Faults::default();
    if arbitration.is_some() && tenants.is_empty() {
        let message = "found without `host.tenants`, expected at least one tenant, whose commands the arbitration \
                       chooses among";
        faults.add(Error::config("host.arbitration", message));
    }
    if tenants.len() > MAX_TENANTS {
        faults.add(Error::config(
            "host.tenants",
            format!("found {} tenants, expected at most {MAX_TENANTS}", tenants.len()),
        ));
        return faults.end();
    }
    let burst = arbitration.map_or(1, |arbitration| arbitration.burst);
    for (index, tenant) in tenants.iter().enumerate() {
        let path = format!("host.tenants[{index}]");
        faults.see(tenant.check(&path, default, burst));
        if tenants[..index].iter().any(|other| other.name == tenant.name) {
            let message = format!("found {:?} twice, expected a different name for each tenant", tenant.name);
            faults.add(Error::config(format!("{path}.name"), message));
        }
        if let Namespace::SharedWith(name) = &tenant.namespace {
            let owner = tenants.iter().find(|other| other.name == *name);
            if owner.is_none_or(|owner| matches!(owner.namespace, Namespace::SharedWith(_))) {
                let message = format!("found {name:?}, expected the name of a tenant with a namespace of its own");
                faults.add(Error::config(format!("{path}.namespace.shared_with"), message));
            }
        }
    }
    if !tenants.is_empty() && tenants.iter().all(|tenant| tenant.idle) {
        let message = "found only tenants that are `idle`, expected at least one tenant that issues requests";
        faults.add(Error::config("host.tenants", message));
    }
    faults.end()
}
