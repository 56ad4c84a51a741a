//! The description of a drive.

use softsense_base::Ns;

use crate::drive::Drive;
use crate::state::Use;
use crate::status::{Ages, CodewordStatus, SmartValue, Status, SuperblockStatus};
use crate::writing::FEW_FREE;

/// P/E cycles that a drive is sold for: what SMART's share of its life is of. Assumed, as of TLC.
const RATED_PE_CYCLES: f64 = 3000.0;

impl Drive {
    pub(crate) fn status(&self) -> Status {
        let state = &self.state;
        let broken_blocks = |index: u32| self.shape.dies - self.working_dies(index).len() as u32;
        let superblocks: Vec<SuperblockStatus> = (0..self.shape.superblocks)
            .map(|index| {
                let superblock = &state.superblocks[index as usize];
                let first = superblock.wordlines.first();
                let data_slots = self.data_slots(index).len().max(1) * self.shape.wordlines as usize;
                SuperblockStatus {
                    index,
                    pe_cycles: superblock.pe_cycles,
                    age_hours: first.map_or(0.0, |first| state.rested_hours - first.at_hours),
                    valid_share: f64::from(superblock.valid) / data_slots as f64,
                    reads: superblock.most_reads(),
                    state: match superblock.used_for {
                        Use::Free => "free",
                        Use::OpenForHost | Use::OpenForMoved => "open",
                        Use::Closed => "closed",
                        Use::Retired => "retired",
                    },
                    broken_blocks: broken_blocks(index),
                }
            })
            .collect();
        let with_data = superblocks.iter().filter(|superblock| superblock.valid_share > 0.0);
        let ages = Ages {
            pe_cycles_mean: superblocks.iter().map(|s| f64::from(s.pe_cycles)).sum::<f64>() / superblocks.len() as f64,
            pe_cycles_max: superblocks.iter().map(|superblock| superblock.pe_cycles).max().unwrap_or(0),
            retention_hours_max: with_data.map(|superblock| superblock.age_hours).fold(0.0, f64::max),
            reads_max: superblocks.iter().map(|superblock| superblock.reads).max().unwrap_or(0),
        };
        let counters = &state.counters;
        let codewords = counters.codewords.clone();
        let rber = (codewords.bits_read > 0).then(|| codewords.raw_bit_errors as f64 / codewords.bits_read as f64);
        let in_wordline = f64::from(self.shape.slots_of_wordline());
        let programmed = counters.background.wordlines_programmed as f64 * in_wordline;
        let usable = superblocks.iter().filter(|superblock| superblock.state != "retired").count() as i64;
        let room = self.shape.units.div_ceil((self.data_slots(0).len().max(1) as u32) * self.shape.wordlines);
        let spare = (usable - i64::from(room) - FEW_FREE as i64).max(0);
        let broken: u64 = superblocks.iter().map(|superblock| u64::from(superblock.broken_blocks)).sum();
        let smart = [
            ("available_spare_superblocks", spare as f64),
            ("percentage_used", 100.0 * ages.pe_cycles_mean / RATED_PE_CYCLES),
            ("data_units_read_512000_bytes", counters.host.read_bytes as f64 / 512_000.0),
            ("data_units_written_512000_bytes", counters.host.written_bytes as f64 / 512_000.0),
            ("host_read_commands", counters.host.reads as f64),
            ("host_write_commands", counters.host.writes as f64),
            ("power_on_hours", state.clock_ns as f64 / 3.6e12),
            ("media_and_data_integrity_errors", (codewords.uncorrectable - codewords.recovered_by_parity) as f64),
            ("read_error_retries", codewords.retried as f64),
            ("grown_bad_blocks", broken as f64),
        ];
        Status {
            model: self.model.clone(),
            image: self.spec.image.display().to_string(),
            size_bytes: self.shape.size_bytes(),
            state: if self.failed.is_some() {
                "failed"
            } else if self.read_only {
                "read_only"
            } else if state.lost > 0 || broken > 0 {
                "degraded"
            } else {
                "ok"
            },
            clock_s: Ns(state.clock_ns).as_secs(),
            rested_hours: state.rested_hours,
            temperature_c: self.temperature_c,
            ages,
            host: counters.host.clone(),
            codewords: CodewordStatus { counters: codewords, rber },
            background: counters.background.clone(),
            write_amplification: (counters.host.units_written > 0)
                .then(|| programmed / counters.host.units_written as f64),
            spare_superblocks: spare,
            free_superblocks: self.free_superblocks() as u32,
            bad_blocks: broken,
            mapped_units: state.mapped,
            lost_units: state.lost,
            buffered_units: state.buffer.len() as u64,
            read_latency_us: self.session.latencies.summary(),
            last_errors: self.session.last_errors.iter().cloned().collect(),
            smart: smart.into_iter().map(|(name, value)| SmartValue { name, value }).collect(),
            superblocks,
        }
    }
}
