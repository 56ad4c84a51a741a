use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, ErrorKind, Faults, Result, expect_whole, format_bytes};

use super::duration::check_us;
use super::issue::Issue;
use crate::trace::{Beyond, Columns, TimeUnit, TraceSpec, parse_size};
use crate::workload::WorkloadSpec;

/// Tenants at most: as many as there are I/O submission queues of an NVMe controller whose identifiers have 16 bits, rounded down.
const MAX_TENANTS: usize = 1 << 12;

/// The deepest submission queue, as of NVMe.
const MAX_SUBMISSION_QUEUE: u32 = 1 << 16;

/// Placement handles: as many reclaim unit handles as drives with flexible data placement have.
const PLACEMENT_HANDLES: u32 = 8;

/// Commands that are fetched and not completed at most.
const MAX_FETCHED: u32 = 1 << 20;

/// Commands of one turn at most.
const MAX_TURN: u32 = 1 << 16;

/// One of several users of the device: requests of its own, with a submission queue of its own, in a part of the address space.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TenantSpec {
    /// What results call it.
    pub name: String,
    /// Its synthetic workload, whose addresses are those of its namespace. A tenant has this or `trace`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<WorkloadSpec>,
    /// The trace that it replays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TenantTrace>,
    /// When its requests are issued; without it as `host.issue` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<Issue>,
    /// The part of the address space that it sees, from 0 on.
    #[serde(default)]
    pub namespace: Namespace,
    /// The class of its submission queue. Only `host.arbitration.scheme.weighted_round_robin` looks at it.
    #[serde(default)]
    pub priority: Priority,
    /// Its turn among queues of its class, or of all where there are no classes, is so many times `host.arbitration.burst`.
    #[serde(default = "one")]
    pub weight: u32,
    /// The placement handle of its writes, 0 to 7: writes of different handles go to different blocks, until garbage collection moves
    /// them together.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub placement: u32,
    /// How long after its arrival a read of it is to have completed, us, in place of `scheduling.deadlines.read_us`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_deadline_us: Option<f64>,
    /// Commands that its submission queue has room for. A request that arrives when it is full waits at the host, and is counted.
    #[serde(default = "default_submission_queue")]
    pub submission_queue_depth: u32,
    /// Commands of it that have been fetched and not completed, at most; without it as many as `host.arbitration.fetched_commands` lets all
    /// have together. So no tenant takes the whole device, whatever its turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fetched_commands: Option<u32>,
    /// Whether it issues nothing. Its namespace and the random numbers of the others stay as they are, so that a run without it
    /// is the same but for its requests.
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
    /// The file, from the folder of the config.
    pub path: String,
    /// Its format, or a file of columns that ends in `.toml`, from the folder of the config; without it, told from the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// What its columns are, such as `time:us,op,bytes,lbn:512B`, of a text in no known format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<String>,
    /// What is between columns: a name or a character; without it, told from the first line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delimiter: Option<String>,
    /// Lines to skip at the beginning.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub skip_header: u32,
    /// What words of the column `op` mean, such as `read=28/88,write=2a,skip=*`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op: Option<String>,
    /// The unit of its time column; without it the format's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_unit: Option<TimeUnit>,
    /// The unit of its size column, such as `512B`; without it the format's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_unit: Option<String>,
    /// Which event of blkparse is a request: Q, I, D or C.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// How several devices of the trace share one address space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub devices: Option<String>,
    /// Whether a few requests that are far from all others in time are left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skip_outliers: bool,
    /// Whether flushes are left out, and writes with FUA are plain writes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skip_flushes: bool,
    /// What becomes of addresses beyond the namespace.
    #[serde(default)]
    pub beyond: Beyond,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl TenantTrace {
    /// The files that say what it is, as they are written.
    pub(crate) fn files(&self) -> impl Iterator<Item = &str> {
        let columns = self.format.as_deref().filter(|format| format.ends_with(".toml"));
        std::iter::once(self.path.as_str()).chain(columns)
    }

    /// What to open, with relative paths taken from `directory`.
    ///
    /// # Errors
    /// Names the option, from the trace on, what was found in it and what was expected.
    pub(crate) fn spec(&self, directory: &Path) -> Result<TraceSpec> {
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
    /// An equal part, with others that say so, of what `fraction` and `bytes` leave.
    #[default]
    Rest,
    /// The whole device, whoever else has parts of it.
    Whole,
    /// A part of the device, above 0 and up to 1, which lies behind those of tenants before.
    Fraction(f64),
    /// So many bytes, which lie behind those of tenants before.
    Bytes(u64),
    /// That of the tenant of this name, which has one of its own.
    SharedWith(String),
}

/// The class of a submission queue.
///
/// Source: NVM Express Base Specification 2.0, 3.4.4.2 (1.4: 4.13.2).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// Before all others, however long these wait.
    Urgent,
    /// The first of three classes that share what urgent queues leave.
    High,
    /// The second.
    #[default]
    Medium,
    /// The third.
    Low,
}

impl Priority {
    /// All priorities, by their numbers.
    pub(crate) const ALL: [Self; 4] = [Self::Urgent, Self::High, Self::Medium, Self::Low];

    /// Its name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Urgent => "urgent",
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }
}

/// How the controller chooses whose command it fetches next.
///
/// Source: NVM Express Base Specification 2.0, 3.4.4 (1.4: 4.13). The turn of a queue is the standard's arbitration burst at `weight` 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ArbitrationSpec {
    /// Round robin among all queues, or among those of a class.
    pub scheme: ArbitrationScheme,
    /// Commands that are fetched from a queue in its turn, at most.
    pub burst: u32,
    /// Commands that have been fetched and not completed, at most: further ones wait in their submission queues. A device that takes in
    /// all that it is given leaves arbitration nothing to choose.
    pub fetched_commands: u32,
}

/// Whose turn it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ArbitrationScheme {
    /// Queues take turns, whatever their priority.
    #[default]
    RoundRobin,
    /// Urgent queues first; what they leave is shared by classes, in rounds in which each has so many commands fetched as its weight says.
    /// Queues of a class take turns.
    WeightedRoundRobin {
        /// Commands of `high` queues in a round, 1 to 256.
        high_weight: u32,
        /// Commands of `medium` queues in a round, 1 to 256.
        medium_weight: u32,
        /// Commands of `low` queues in a round, 1 to 256.
        low_weight: u32,
    },
}

impl Default for ArbitrationSpec {
    fn default() -> Self {
        Self { scheme: ArbitrationScheme::default(), burst: 1, fetched_commands: 64 }
    }
}

impl ArbitrationSpec {
    pub(super) fn check(&self) -> Result<()> {
        let mut faults = Faults::default();
        faults.see(expect_whole("host.arbitration.burst", self.burst, 1, MAX_TURN));
        faults.see(expect_whole("host.arbitration.fetched_commands", self.fetched_commands, 1, MAX_FETCHED));
        if let ArbitrationScheme::WeightedRoundRobin { high_weight, medium_weight, low_weight } = self.scheme {
            for (name, weight) in [("high", high_weight), ("medium", medium_weight), ("low", low_weight)] {
                let path = format!("host.arbitration.scheme.weighted_round_robin.{name}_weight");
                faults.see(expect_whole(path, weight, 1, 256));
            }
        }
        faults.end()
    }

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
            faults.add(error("name", format!("found {:?}, expected 1 to 64 characters", self.name)));
        }
        match (&self.workload, &self.trace) {
            (Some(workload), None) => {
                faults.see(workload.check().map_err(|error| error.each(|fault| within(path, &fault))));
            }
            (None, Some(trace)) => {
                faults.see(trace.spec(Path::new("")).map(drop).or_else(|error| match error.kind() {
                    // A file of columns is looked for where the config is.
                    ErrorKind::Io => Ok(()),
                    _ => Err(within(&format!("{path}.trace"), &error)),
                }));
            }
            (Some(_), Some(_)) => faults.add(error("trace", "found with `workload`, expected one of them".into())),
            (None, None) => faults.add(error("workload", "missing, expected `workload` or `trace`".into())),
        }
        faults.see(self.read_deadline_us.map_or(Ok(()), |us| check_us(format!("{path}.read_deadline_us"), us)));
        let depth = self.submission_queue_depth;
        let of_depth = expect_whole(format!("{path}.submission_queue_depth"), depth, 1, MAX_SUBMISSION_QUEUE);
        let most = faults.see(of_depth).map_or(MAX_SUBMISSION_QUEUE, |()| depth);
        faults.see(self.issue.unwrap_or(default).check(&format!("{path}.issue"), most));
        if let Some(commands) = self.fetched_commands {
            faults.see(expect_whole(format!("{path}.fetched_commands"), commands, 1, MAX_FETCHED));
        }
        faults.see(expect_whole(format!("{path}.placement"), self.placement, 0, PLACEMENT_HANDLES - 1));
        faults.see(expect_whole(format!("{path}.weight"), self.weight, 1, MAX_TURN / burst.clamp(1, MAX_TURN)));
        match self.namespace {
            Namespace::Fraction(share) if !(share > 0.0 && share <= 1.0) => {
                let message = format!("found {share}, expected a number above 0 and up to 1");
                faults.add(error("namespace.fraction", message));
            }
            Namespace::Bytes(0) => {
                faults.add(error("namespace.bytes", "found 0, expected at least one codeword".into()));
            }
            _ => {}
        }
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

/// An error of something at a config path, with the path before its own.
pub(crate) fn within(path: &str, error: &Error) -> Error {
    Error::new(error.kind(), format!("{path}.{}", error.place()), error.message())
}

/// Checks each tenant, and their names.
pub(super) fn check(tenants: &[TenantSpec], default: Issue, arbitration: Option<&ArbitrationSpec>) -> Result<()> {
    let mut faults = Faults::default();
    if let Some(arbitration) = arbitration {
        faults.see(arbitration.check());
        if tenants.is_empty() {
            let message = "found without `host.tenants`, expected tenants whose commands it chooses among";
            faults.add(Error::config("host.arbitration", message));
        }
    }
    if tenants.len() > MAX_TENANTS {
        faults.add(Error::config("host.tenants", format!("found {}, expected at most {MAX_TENANTS}", tenants.len())));
        return faults.end();
    }
    let burst = arbitration.map_or(1, |arbitration| arbitration.burst);
    for (index, tenant) in tenants.iter().enumerate() {
        let path = format!("host.tenants[{index}]");
        faults.see(tenant.check(&path, default, burst));
        if tenants[..index].iter().any(|other| other.name == tenant.name) {
            let message = format!("found {:?} twice, expected names that differ", tenant.name);
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
        let message = "found none that issues requests, expected one that is not `idle`";
        faults.add(Error::config("host.tenants", message));
    }
    faults.end()
}
