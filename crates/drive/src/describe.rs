//! The status of a drive.

use softsense_base::Ns;

use crate::drive::Drive;
use crate::state::{ABSENT, Use};
use crate::status::{Ages, CodewordStatus, SmartValue, Status, SuperblockStatus};
use crate::writing::FEW_FREE;

/// P/E cycles for which a drive is sold, of which SMART reports the used share. Assumed, as for TLC.
const RATED_PE_CYCLES: f64 = 3000.0;

/// P/E cycles, wordlines and valid units of a superblock. While they are the same, the superblock holds the same data: between two
/// erases wordlines are only added, and units only leave.
pub(crate) type Content = Option<(u32, u32, u32)>;

impl Drive {
    /// Units in flash that cannot be read, because their block is broken and their stripe cannot rebuild them.
    pub(crate) fn unreadable_units(&mut self) -> u64 {
        if self.state.broken == crate::state::Broken::default() {
            return 0;
        }
        for index in 0..self.shape.superblocks {
            let superblock = &self.state.superblocks[index as usize];
            let content = Some((superblock.pe_cycles, superblock.wordlines.len() as u32, superblock.valid));
            if self.unreadable[index as usize].0 != content {
                self.unreadable[index as usize] = (content, self.unreadable_in(index));
            }
        }
        self.unreadable.iter().map(|(_, units)| u64::from(*units)).sum()
    }

    /// Bytes in the write buffer, which are in no cell yet: they do not age, and no fault of flash harms them.
    pub(crate) fn buffered_bytes(&self) -> u64 {
        self.state.buffer.len() as u64 * u64::from(self.shape.unit_bytes)
    }

    fn unreadable_in(&self, index: u32) -> u32 {
        let superblock = &self.state.superblocks[index as usize];
        let broken: Vec<u32> =
            (0..self.shape.dies).filter(|&die| self.state.broken.has(&self.shape, die, index)).collect();
        if broken.is_empty() || superblock.valid == 0 {
            return 0;
        }
        let of_die = self.shape.codewords * self.shape.pages;
        let unreadable = (0..superblock.wordlines.len() as u32).map(|wordline| {
            let first = |die: u32| self.shape.first_slot(index, wordline) + self.shape.in_wordline(die, 0, 0);
            let missed = broken.iter().filter(|&&die| self.state.slots[first(die) as usize].owner != ABSENT).count();
            if missed <= usize::from(self.shape.parity) {
                return 0;
            }
            let slots = broken.iter().flat_map(|&die| first(die)..first(die) + of_die);
            slots.filter(|&slot| self.state.is_current(slot)).count() as u32
        });
        unreadable.sum()
    }

    pub(crate) fn status(&mut self) -> Status {
        // There may be room again, and the numbers that are reported now outlive this process.
        if self.image.ready().is_ok() {
            self.count();
        }
        let unreadable = self.unreadable_units();
        let state = &self.state;
        let broken_blocks = |index: u32| self.shape.dies - self.working_dies(index).len() as u32;
        let superblocks: Vec<SuperblockStatus> = (0..self.shape.superblocks)
            .map(|index| {
                let superblock = &state.superblocks[index as usize];
                let first = superblock.wordlines.first();
                let data_slots = self.room_of_wordline(index).max(1) * self.shape.wordlines;
                SuperblockStatus {
                    index,
                    pe_cycles: superblock.pe_cycles,
                    age_hours: first.map_or(0.0, |first| state.hours_since(first)),
                    valid_share: f64::from(superblock.valid) / f64::from(data_slots),
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
        // The working parts of all superblocks, counted in whole superblocks.
        let of_superblock = (self.shape.dies - u32::from(self.shape.parity)) * self.shape.codewords * self.shape.pages;
        let in_use = superblocks.iter().filter(|superblock| superblock.state != "retired");
        let usable = in_use.map(|superblock| u64::from(self.room_of_wordline(superblock.index))).sum::<u64>();
        let room = self.shape.units.div_ceil(of_superblock * self.shape.wordlines);
        let spare = ((usable / u64::from(of_superblock)) as i64 - i64::from(room) - FEW_FREE as i64).max(0);
        let broken: u64 = superblocks.iter().map(|superblock| u64::from(superblock.broken_blocks)).sum();
        let smart = [
            ("available_spare_superblocks", spare as f64),
            ("percentage_used", 100.0 * ages.pe_cycles_mean / RATED_PE_CYCLES),
            ("data_units_read_512000_bytes", counters.host.read_bytes as f64 / 512_000.0),
            ("data_units_written_512000_bytes", counters.host.written_bytes as f64 / 512_000.0),
            ("host_read_commands", counters.host.reads as f64),
            ("host_write_commands", counters.host.writes as f64),
            ("power_on_hours", state.clock_ns as f64 / 3.6e12),
            (
                "media_and_data_integrity_errors",
                codewords.uncorrectable.saturating_sub(codewords.recovered_by_parity) as f64,
            ),
            ("read_error_retries", codewords.retried as f64),
            ("grown_bad_blocks", broken as f64),
        ];
        Status {
            config: self.spec.config.clone(),
            model: self.model.clone(),
            image: self.spec.image.display().to_string(),
            size_bytes: self.shape.size_bytes(),
            state: if self.failed.is_some() || self.image.trouble().is_some_and(|(_, lasts)| lasts) {
                "failed"
            } else if self.image.trouble().is_some() {
                "host_full"
            } else if self.read_only {
                "read_only"
            } else if state.lost > 0 || broken > 0 {
                "degraded"
            } else {
                "ok"
            },
            why: self.image.trouble().map(|(error, _)| error).or(self.failed.as_ref()).map(ToString::to_string),
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
            unreadable_units: unreadable,
            buffered_units: state.buffer.len() as u64,
            buffered_bytes: self.buffered_bytes(),
            read_latency_us: self.session.latencies.summary(),
            last_errors: self.session.last_errors.iter().cloned().collect(),
            smart: smart.into_iter().map(|(name, value)| SmartValue { name, value }).collect(),
            superblocks,
        }
    }
}
