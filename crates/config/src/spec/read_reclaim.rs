use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Result, format_count};

/// The data that is moved before reads have disturbed it too much.
///
/// Source: of wordlines, M. Chun et al., "STRAW: Stress-Aware WL-Based Read Disturbance Management for High-Density NAND Flash
/// Memory", ASPLOS 2026.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ReadReclaimSpec {
    /// All valid data of a block is moved, and the block is erased.
    Block {
        /// Sensings of a block since its last erase, those before the run included, at which the block is due.
        #[schemars(range(min = 1))]
        reads: u32,
    },
    /// The valid data of all pages of one wordline is moved. Its block is not erased.
    Wordline(WordlineReclaimSpec),
}

/// The limits of a wordline, and the way in which the controller counts reads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WordlineReclaimSpec {
    /// Effective reads at which a wordline is due, one limit for each class, the best class first. Classes are equal shares of the
    /// wordlines of a block in the order of the known factors of their layers. A list of one number holds for all wordlines.
    #[schemars(inner(range(min = 1.0, max = 1e12)))]
    pub effective_reads: Vec<f64>,
    /// Counters of a block (Space-Saving), which never count too few reads. Without this field each wordline has a counter.
    #[serde(default)]
    #[schemars(range(min = 1, max = 4096))]
    pub counters: Option<u32>,
    /// Reduction of the pass-through voltage of a block if none of its wordlines held valid data, as a share of the nominal voltage, 0 to
    /// 0.5. The actual reduction is proportional to the share of such wordlines. At most 0.05 was published.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 0.5))]
    pub pass_through_reduction: f64,
}

impl ReadReclaimSpec {
    /// Checks that limits fall from the best wordlines to the worst.
    pub(super) fn check(&self) -> Result<()> {
        let Self::Wordline(spec) = self else { return Ok(()) };
        let limits = &spec.effective_reads;
        if limits.is_empty() || limits.windows(2).any(|pair| pair[0] < pair[1]) {
            let message = format!(
                "found {limits:?}, expected one limit or more in descending order, from the best wordlines to the \
                 worst"
            );
            return Err(Error::config("ftl.read_reclaim.wordline.effective_reads", message));
        }
        Ok(())
    }

    /// Memory that the controller needs for counting, bytes per block: four for a count, two for the number of a wordline.
    pub fn counter_bytes_per_block(&self, wordlines_per_block: u32) -> u32 {
        match self {
            Self::Block { .. } => 4,
            Self::Wordline(WordlineReclaimSpec { counters: None, .. }) => 4 * wordlines_per_block,
            Self::Wordline(WordlineReclaimSpec { counters: Some(counters), .. }) => (2 + 4) * counters,
        }
    }

    /// One line for people.
    pub(crate) fn describe(&self) -> String {
        let spec = match self {
            Self::Block { reads } => return format!("of a block after {} reads", format_count((*reads).into())),
            Self::Wordline(spec) => spec,
        };
        let limits: Vec<String> = spec.effective_reads.iter().map(|&limit| format_count(limit as u64)).collect();
        let counted = match spec.counters {
            None => "each counted".to_string(),
            Some(counters) => format!("{counters} counters a block"),
        };
        let reduction = match spec.pass_through_reduction {
            0.0 => String::new(),
            share => format!(", pass-through voltage lowered by up to {:.1} %", 100.0 * share),
        };
        format!("of a wordline after {} effective reads, {counted}{reduction}", limits.join(", "))
    }
}
