use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Faults, Ns, Result};
use softsense_link::Step;

use super::bad_blocks::BadBlocksSpec;
use super::copyback::CopybackSpec;
use super::failures::DieFailureSpec;
use super::rounds::RoundsSpec;
use super::spread::{SpreadPart, check_spread};

/// Timing of the flash array.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FlashSpec {
    /// The page types. Page i of a block has type i modulo their number. Where `reliability` has threshold voltages there is one type, or
    /// one for each page of a wordline: lower and upper for MLC; lower, centre and upper for TLC.
    pub page_types: Vec<PageTypeSpec>,
    /// Time to erase a block, us.
    pub erase_us: f64,
    /// Time for which a RESET that cuts a sensing short occupies the plane, us.
    pub reset_us: f64,
    /// Suspension of programs and erases for reads that have priority. Without this field programs and erases are not suspended.
    pub suspend: Option<SuspendSpec>,
    /// If true, a plane can sense while its last page waits for the bus. Read policies that look ahead need this register. Planes of a
    /// die that take turns share one register.
    pub cache_register: bool,
    /// The operations that may use the cache register, where there is one.
    pub cache_register_for: CacheRegisterFor,
    /// If true, the next page is loaded while the array programs (cache program). A page that is being loaded is programmed next, before
    /// reads that have arrived since.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cache_program: bool,
    /// If true, the pages of a wordline, one of each page type, are programmed at once, after all of them have been loaded. The array
    /// takes the sum of their `program_us`. Pages of SLC blocks are programmed one by one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub one_shot_program: bool,
    /// Copyback: pages that are moved are copied within their plane, `{ ecc = "check", most_in_a_row = 3 }`. Without this field all data
    /// that is moved crosses the bus, and the controller corrects it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copyback: Option<CopybackSpec>,
    /// The unit that does one array operation at a time: a plane, or a whole die, chip or channel. A channel as the
    /// unit is a gang of chips that share bus and control.
    pub busy_unit: BusyUnit,
    /// Busy units that begin together and wait for one another. Without this field each busy unit works by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<RoundsSpec>,
    /// If true, codewords of a page that are read together share its sensing. If false, the page is sensed and transferred for one
    /// codeword after the other, as DiskSim's synchronous gangs do.
    pub shared_sensing: bool,
    /// Number of operations that may wait for a busy unit. The next request waits at the host, with all requests behind it, while more
    /// operations wait at the unit where it reads, or first writes. Without this field there is no bound.
    #[schemars(range(min = 1, max = 1 << 24))]
    pub unit_queue: Option<u32>,
    /// P/E cycles that an erase of the run counts as. With more than one, a run of hours goes through a life of years. Blocks then wear
    /// in steps of this size; nothing else is faster.
    #[serde(skip_serializing_if = "is_one")]
    #[schemars(range(min = 1, max = 100_000))]
    pub pe_cycles_per_erase: u32,
    /// Bad blocks, and the spares that take their place. Without this field all blocks work for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bad_blocks: Option<BadBlocksSpec>,
    /// Dies that fail, `[{ at_s = 10.0, die = 3 }]`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub die_failures: Vec<DieFailureSpec>,
}

fn is_one(number: &u32) -> bool {
    *number == 1
}

impl Default for FlashSpec {
    fn default() -> Self {
        let lower = PageTypeSpec { name: "lower".into(), ..PageTypeSpec::default() };
        let upper =
            PageTypeSpec { name: "upper".into(), sense_us: 55.0, program_us: 1450.0, ..PageTypeSpec::default() };
        Self {
            page_types: vec![lower, upper],
            erase_us: 3240.0,
            reset_us: 0.0,
            suspend: None,
            cache_register: true,
            cache_register_for: CacheRegisterFor::AnyRead,
            cache_program: false,
            one_shot_program: false,
            copyback: None,
            busy_unit: BusyUnit::Plane,
            rounds: None,
            shared_sensing: true,
            unit_queue: None,
            pe_cycles_per_erase: 1,
            bad_blocks: None,
            die_failures: Vec::new(),
        }
    }
}

/// A page type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PageTypeSpec {
    /// Name of the page type, such as lower or upper.
    pub name: String,
    /// Time to sense a page with hard decision, us.
    pub sense_us: f64,
    /// Additional time to sense some pages with hard decision, as layers and wordlines differ. It is drawn once for each page, and added
    /// to each sensing of the page with hard decision.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sense_spread: Vec<SpreadPart>,
    /// Time to sense one extra level, us.
    pub sense_extra_level_us: f64,
    /// Time to program a page, us.
    pub program_us: f64,
    /// Factor on the raw bit error rate. `reliability.table`, `adaptive`, `bch` and `exact` use it.
    #[schemars(range(min = 0.0, max = 100.0))]
    pub rber_factor: f64,
}

impl Default for PageTypeSpec {
    fn default() -> Self {
        Self {
            name: "page".into(),
            sense_us: 41.0,
            sense_spread: Vec::new(),
            sense_extra_level_us: 14.0,
            program_us: 121.0,
            rber_factor: 1.0,
        }
    }
}

/// The times of operations on a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageTiming {
    /// Time to sense with hard decision.
    pub sense: Ns,
    /// Time to sense one extra level.
    pub sense_extra_level: Ns,
    /// Time to program.
    pub program: Ns,
    /// Time of one prediction in the die.
    predict: Ns,
}

impl PageTypeSpec {
    /// The times of operations on a page of this type, without the time that `sense_spread` adds.
    ///
    /// # Arguments
    /// - `predict`: time of one prediction in the die; 0 where none is made.
    pub fn timing(&self, predict: Ns) -> PageTiming {
        PageTiming {
            sense: Ns::from_us(self.sense_us),
            sense_extra_level: Ns::from_us(self.sense_extra_level_us),
            program: Ns::from_us(self.program_us),
            predict,
        }
    }
}

impl PageTiming {
    /// The time for which a step senses the page.
    pub fn of(&self, step: Step) -> Ns {
        self.taking(self.sense, step)
    }

    /// The time for which a step senses the page, where sensing with hard decision takes `sense`.
    pub fn taking(&self, sense: Ns, step: Step) -> Ns {
        let hard = match (step.hard, step.sensing_percent) {
            (false, _) => Ns::ZERO,
            (true, 100) => sense,
            (true, percent) => Ns(sense.0 * u64::from(percent) / 100),
        };
        let unsent = sense.times(step.unsent_sensings.into()) + self.predict.times(step.predictions.into());
        hard + unsent + self.sense_extra_level.times(u64::from(step.extra_levels) + u64::from(step.search_sensings))
    }
}

/// Suspension of a program or an erase for reads, and its resumption. An operation is suspended when reads that have priority wait for
/// the array and begin sooner that way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuspendSpec {
    /// Time from the command that suspends a program until the array can sense, us.
    pub program_us: f64,
    /// Time from the command that suspends an erase until the array can sense, us.
    pub erase_us: f64,
    /// Time that the array takes to stop beyond `program_us` or `erase_us`: pulses have to end, and the controller has other work. For
    /// each suspension one part is drawn by its share. If the shares add up to less than 1, nothing is added in the remaining cases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spread: Vec<SpreadPart>,
    /// Share of the suspensions that happen while writes of the host wait for room in the write buffer. Below 1 it describes a
    /// controller that lets programs go on when writes wait.
    #[serde(default = "usual_while_writes_wait")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub while_writes_wait: f64,
    /// Time that each resumption adds to a program or an erase, us.
    #[serde(default)]
    pub resume_us: f64,
    /// Largest number of suspensions of a program or an erase.
    #[serde(default = "usual_most_suspensions")]
    #[schemars(range(min = 1, max = 1 << 20))]
    pub most: u32,
    /// Time for which a program or an erase runs, from its begin or its last resumption, before it is suspended, us.
    #[serde(default)]
    pub least_run_us: f64,
    /// Time after which a suspended operation is resumed although reads wait, us, once the read under way has left the array. Without
    /// this field the operation waits as long as there are reads.
    #[serde(default)]
    pub longest_us: Option<f64>,
}

fn usual_while_writes_wait() -> f64 {
    1.0
}

fn usual_most_suspensions() -> u32 {
    16
}

/// The operations that may use a cache register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CacheRegisterFor {
    /// Any page may be sensed while the last one waits for the bus.
    AnyRead,
    /// Only the next level of the page that is being transferred may be sensed meanwhile. All other operations wait
    /// until that page has left, as without a cache register.
    LookAhead,
}

/// The unit that does one array operation at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BusyUnit {
    /// Planes work independently of one another.
    Plane,
    /// Planes of a die take turns.
    Die,
    /// Planes of a chip take turns: DiskSim's element.
    Chip,
    /// Planes of all chips of a channel take turns: a gang with a shared bus.
    Channel,
}

impl FlashSpec {
    /// Checks what fields of this section have to do with one another.
    pub(super) fn check(&self) -> Result<()> {
        let mut faults = Faults::default();
        if !(1..=16).contains(&self.page_types.len()) {
            let message = format!("found {} page types, expected 1 to 16", self.page_types.len());
            faults.add(Error::config("flash.page_types", message));
        }
        for (index, page_type) in self.page_types.iter().enumerate() {
            let path = format!("flash.page_types[{index}].sense_spread");
            faults.see(check_spread(&path, &page_type.sense_spread));
        }
        if let Some(suspend) = &self.suspend {
            faults.see(check_spread("flash.suspend.spread", &suspend.spread));
        }
        for at in 0..self.die_failures.len() {
            faults.see(DieFailureSpec::check(&self.die_failures, at));
        }
        faults.end()
    }

    /// One line for people.
    pub(crate) fn describe(&self) -> String {
        let page_types = self.page_types.iter().map(|t| {
            format!("{} {} + {} a level, program {}", t.name, t.sense_us, t.sense_extra_level_us, t.program_us)
        });
        let one_shot = if self.one_shot_program { "; a wordline is programmed at once" } else { "" };
        let rounds = self.rounds.map_or_else(String::new, RoundsSpec::describe);
        let failures = self.die_failures.iter().map(DieFailureSpec::describe).collect::<String>();
        let page_types = page_types.collect::<Vec<_>>().join("; ");
        format!("sense (us): {page_types}{one_shot}; erase {}{rounds}{failures}", self.erase_us)
    }
}
