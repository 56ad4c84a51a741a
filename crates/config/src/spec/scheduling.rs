use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Faults, Result, expect_whole};

use super::tenants::Priority;

/// The largest weight: turns of one kind or priority for each turn of a kind or priority that is not named.
const MAX_WEIGHT: u32 = 1 << 16;

/// The rules that choose which of the operations that wait for a busy unit goes next. Without a schedule retries go first, then reads of
/// the host where `host.reads_first` says so, then all other operations, first come, first served.
///
/// With a schedule retries go first, too, because part of their read has been done. Pages of a block have to be programmed in their
/// order. So when the turn of a program comes, earlier programs of its block go first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SchedulingSpec {
    /// Criteria by which two operations are compared, the most important first: the first criterion in which they
    /// differ decides. If they differ in none, the operation that has waited longer goes first. `[]` is first come,
    /// first served.
    pub by: Vec<ScheduleBy>,
    /// The relation between kinds of operations.
    pub kinds: KindsRule,
    /// The relation between priorities of tenants.
    #[serde(skip_serializing_if = "PrioritiesRule::is_default")]
    pub priorities: PrioritiesRule,
    /// The largest number of later operations that may go before a waiting operation. After so many the operation is the next
    /// one, whatever its kind. Retries are not counted, because they are part of reads that have begun.
    #[schemars(range(min = 1, max = 1 << 30))]
    pub passed_over_at_most: u32,
    /// The number of free blocks of a plane (free superblocks of a set) at or below which its garbage collection is urgent. Its
    /// operations then go before all other kinds by the criterion `kind`, and before all but reads by `proportional_wait`. 0: never.
    #[schemars(range(min = 0, max = 1 << 20))]
    pub collection_first_at_blocks: u32,
    /// The bounds above which a tenant uses a unit much, for the criterion `intensity`.
    #[serde(skip_serializing_if = "IntensitySpec::is_default")]
    pub intensity: IntensitySpec,
    /// Deadlines for reads of the host. Without this field reads have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadlines: Option<DeadlinesSpec>,
    /// If true, the same rules choose among the transfers that wait for a bus; if false, `bus.first` does. Each bus then counts for
    /// itself how often a transfer is passed over, the turns by weights and the estimated times. It counts intensity in codewords, and
    /// compares it with its part of the bytes. A transfer of a retry is chosen like any other.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub bus: bool,
}

/// A criterion by which two operations are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScheduleBy {
    /// The kinds of the operations, ranked by `kinds`.
    Kind,
    /// The `priority` of the tenants that the operations are for, ranked by `priorities`. Background operations of the
    /// device, and programs from its write buffer, have priority `medium`.
    Priority,
    /// The intensity of the tenants that the operations are for, by the bounds in `intensity`: tenants that use the unit little go first.
    /// Background operations of the device count as little use.
    Intensity,
    /// The estimated slowdown of the operations, the largest first. It is the time from the arrival of the operation at the unit until
    /// its end, if it began now, over the time that it would have taken alone. Alone means that only reads, or only other operations, of
    /// its tenant use the unit, in the order of their arrival. The time of an operation is that of its first attempt, with the transfers
    /// over the bus. Background operations of the device count as those of one more tenant.
    ///
    /// Source: A. Tavakkol et al., "FLIN", ISCA 2018, section 5, fairness-aware queue insertion. There an operation is
    /// moved forward in its queue, on arrival, to where the smallest of these estimates over the largest is greatest.
    Slowdown,
    /// The proportional wait of reads and of all other operations. Of both groups, the operation that goes first by the other criteria is
    /// weighed. Its weight is the time that it has waited, plus the time that the other one takes, over the time that it takes itself.
    /// The larger weight goes first; where the weights are equal, the read goes first. Reads of garbage collection for room, and of
    /// folding, are among the other operations. Among these, operations that `collection_first_at_blocks` puts first go first.
    ///
    /// Source: A. Tavakkol et al., "FLIN", ISCA 2018, section 5, wait-balancing transaction selection.
    ProportionalWait,
}

impl ScheduleBy {
    /// The number of criteria.
    pub const COUNT: usize = 5;
}

/// The bounds above which a tenant uses a unit much. The bounds are bytes in an epoch for all units together. A tenant uses a unit much
/// if it has more pages there in an epoch than the unit's part of these bytes, and than one page. The use in one epoch decides for the
/// next epoch.
///
/// Source: A. Tavakkol et al., "FLIN", ISCA 2018, 5.1: flows of high intensity wait behind those of low intensity;
/// epoch and bytes are those of its implementation for MQSim, where they apply to chips.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct IntensitySpec {
    /// Length of an epoch, us.
    #[schemars(range(min = 1.0, max = 1e9))]
    pub epoch_us: f64,
    /// Bytes of pages that are read in an epoch, for all units together.
    pub read_bytes: u64,
    /// Bytes of pages that are programmed in an epoch, for all units together.
    pub write_bytes: u64,
}

impl IntensitySpec {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for IntensitySpec {
    fn default() -> Self {
        Self { epoch_us: 10_000.0, read_bytes: 32 << 20, write_bytes: 256 << 10 }
    }
}

/// The kind of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OperationKind {
    /// A read that the host has asked for.
    HostRead,
    /// A program of data of the host, also from the write buffer, or the read of a codeword that a write covers in
    /// part.
    HostWrite,
    /// A read or a program of a translation page.
    Translation,
    /// A read of garbage collection for room.
    CollectionRead,
    /// A program of garbage collection for room.
    CollectionProgram,
    /// An erase, for any purpose.
    Erase,
    /// A read or a program that levels wear.
    WearLevelling,
    /// A read or a program of read reclaim.
    ReadReclaim,
    /// A read or a program of refresh, or one that moves data out of a block in which a program has failed.
    Refresh,
    /// A read of patrol scrub.
    Scrub,
    /// A read or a program that folds the SLC cache.
    Folding,
    /// A read ahead of sequential reads of the host.
    ReadAhead,
    /// A program of parity across dies. A read that rebuilds a codeword has the kind of the read that could not decode the codeword.
    Parity,
}

impl OperationKind {
    /// All kinds, by their numbers.
    pub const ALL: [Self; 13] = [
        Self::HostRead,
        Self::HostWrite,
        Self::Translation,
        Self::CollectionRead,
        Self::CollectionProgram,
        Self::Erase,
        Self::WearLevelling,
        Self::ReadReclaim,
        Self::Refresh,
        Self::Scrub,
        Self::Folding,
        Self::ReadAhead,
        Self::Parity,
    ];

    /// Tells whether an operation of the kind makes room for writes.
    pub fn makes_room(self) -> bool {
        matches!(self, Self::CollectionRead | Self::CollectionProgram | Self::Erase | Self::Folding)
    }

    fn name(self) -> &'static str {
        match self {
            Self::HostRead => "host_read",
            Self::HostWrite => "host_write",
            Self::Translation => "translation",
            Self::CollectionRead => "collection_read",
            Self::CollectionProgram => "collection_program",
            Self::Erase => "erase",
            Self::WearLevelling => "wear_levelling",
            Self::ReadReclaim => "read_reclaim",
            Self::Refresh => "refresh",
            Self::Scrub => "scrub",
            Self::Folding => "folding",
            Self::ReadAhead => "read_ahead",
            Self::Parity => "parity",
        }
    }
}

/// The relation between kinds of operations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KindsRule {
    /// Kinds of an earlier list go before kinds of a later list. Kinds of one list are equal. Kinds that are in no list are equal, too,
    /// and come last.
    Order(Vec<Vec<OperationKind>>),
    /// For each kind the number of its turns for each turn of a kind that is not named, 1 to 65,536, as long as operations of both wait.
    /// This is start-time fair queueing of operations, whatever time they take.
    ///
    /// Source: Goyal, Vin, Cheng: Start-time fair queuing, SIGCOMM 1996.
    Weights(BTreeMap<OperationKind, u32>),
}

/// The relation between priorities of tenants.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PrioritiesRule {
    /// A higher priority goes before a lower one: `urgent`, `high`, `medium`, `low`.
    #[default]
    Order,
    /// For each priority the number of its turns for each turn of a priority that is not named, 1 to 65,536, as long as operations of
    /// both wait. This is start-time fair queueing, as in `kinds.weights`.
    ///
    /// Source: A. Tavakkol et al., "FLIN", ISCA 2018, section 5, priority-aware queue arbitration. There weights are
    /// powers of two, and reads and writes have turns of their own.
    Weights(BTreeMap<Priority, u32>),
}

impl PrioritiesRule {
    fn is_default(&self) -> bool {
        *self == Self::Order
    }
}

/// Deadlines for reads of the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeadlinesSpec {
    /// The time after its arrival within which a read should complete, us. A tenant may have its own time, `read_deadline_us`.
    pub read_us: f64,
    /// Time before its deadline, us, from which on a read goes before all operations without so near a deadline. Among several such reads
    /// the one with the earliest deadline goes first.
    pub margin_us: f64,
    /// If true, only reads whose deadline is near suspend programs and erases, as `flash.suspend` describes; if false, all reads that go
    /// first do. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_near_suspend: bool,
}

impl Default for SchedulingSpec {
    fn default() -> Self {
        use OperationKind::{HostRead, HostWrite, Parity, Translation};
        let background = |kind: &OperationKind| !matches!(kind, HostRead | HostWrite | Parity | Translation);
        let background = OperationKind::ALL.into_iter().filter(background).collect();
        Self {
            by: vec![ScheduleBy::Kind, ScheduleBy::Priority],
            kinds: KindsRule::Order(vec![vec![HostRead, Translation], vec![HostWrite, Parity], background]),
            priorities: PrioritiesRule::Order,
            passed_over_at_most: 64,
            collection_first_at_blocks: 1,
            intensity: IntensitySpec::default(),
            deadlines: None,
            bus: false,
        }
    }
}

impl SchedulingSpec {
    /// Checks that nothing is named twice, and the weights.
    pub(super) fn check(&self) -> Result<()> {
        let mut faults = Faults::default();
        if (1..self.by.len()).any(|at| self.by[..at].contains(&self.by[at])) {
            faults.add(Error::config("scheduling.by", "found a criterion twice, expected each criterion at most once"));
        }
        match &self.kinds {
            KindsRule::Order(order) => {
                let all: Vec<OperationKind> = order.iter().flatten().copied().collect();
                if let Some(at) = (1..all.len()).find(|&at| all[..at].contains(&all[at])) {
                    let message = format!("found `{}` twice, expected each kind at most once", all[at].name());
                    faults.add(Error::config("scheduling.kinds.order", message));
                }
            }
            KindsRule::Weights(weights) => {
                for (kind, &weight) in weights {
                    let path = format!("scheduling.kinds.weights.{}", kind.name());
                    faults.see(expect_whole(path, weight, 1, MAX_WEIGHT));
                }
            }
        }
        if let PrioritiesRule::Weights(weights) = &self.priorities {
            for (priority, &weight) in weights {
                let path = format!("scheduling.priorities.weights.{}", priority.name());
                faults.see(expect_whole(path, weight, 1, MAX_WEIGHT));
            }
        }
        faults.end()
    }

    /// The number of kinds that go before each kind, where kinds have an order.
    pub fn ranks(&self) -> Option<[u8; OperationKind::ALL.len()]> {
        let KindsRule::Order(order) = &self.kinds else { return None };
        let place = |kind| order.iter().position(|equal| equal.contains(&kind)).unwrap_or(order.len());
        Some(OperationKind::ALL.map(|kind| place(kind) as u8))
    }

    /// The weight of each kind, where kinds have weights.
    pub fn weights(&self) -> Option<[u32; OperationKind::ALL.len()]> {
        let KindsRule::Weights(weights) = &self.kinds else { return None };
        Some(OperationKind::ALL.map(|kind| weights.get(&kind).copied().unwrap_or(1)))
    }

    /// The weight of each priority, where priorities have weights.
    pub fn priority_weights(&self) -> Option<[u32; Priority::ALL.len()]> {
        let PrioritiesRule::Weights(weights) = &self.priorities else { return None };
        Some(Priority::ALL.map(|priority| weights.get(&priority).copied().unwrap_or(1)))
    }

    /// One line for people.
    pub(crate) fn describe(&self) -> String {
        let by = self.by.iter().map(|by| match by {
            ScheduleBy::Kind => match &self.kinds {
                KindsRule::Order(order) => {
                    let equal = |kinds: &Vec<OperationKind>| {
                        kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(" = ")
                    };
                    format!("kind ({})", order.iter().map(equal).collect::<Vec<_>>().join(", "))
                }
                KindsRule::Weights(weights) => {
                    let each = weights.iter().map(|(kind, weight)| format!("{} {weight}", kind.name()));
                    format!("kind by weight ({})", each.collect::<Vec<_>>().join(", "))
                }
            },
            ScheduleBy::Priority => match &self.priorities {
                PrioritiesRule::Order => "priority of the tenant".to_owned(),
                PrioritiesRule::Weights(weights) => {
                    let each = weights.iter().map(|(priority, weight)| format!("{} {weight}", priority.name()));
                    format!("priority of the tenant by weight ({})", each.collect::<Vec<_>>().join(", "))
                }
            },
            ScheduleBy::Intensity => "intensity of the tenant".to_owned(),
            ScheduleBy::Slowdown => "estimated slowdown".to_owned(),
            ScheduleBy::ProportionalWait => "proportional wait of reads and others".to_owned(),
        });
        let by = by.collect::<Vec<_>>();
        let by =
            if by.is_empty() { "first come, first served".to_owned() } else { format!("by {}", by.join(", then ")) };
        let deadlines = self.deadlines.as_ref().map_or_else(String::new, |deadlines| {
            let suspend = if deadlines.only_near_suspend { ", which alone suspend" } else { "" };
            format!("; reads within {} us, first from {} us before{suspend}", deadlines.read_us, deadlines.margin_us)
        });
        let bus = if self.bus { "; transfers likewise" } else { "" };
        format!("{by}; passed over at most {} times{deadlines}{bus}", self.passed_over_at_most)
    }
}
