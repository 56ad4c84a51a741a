//! Reads of superblocks: those under way, and the disturbance by past ones.

use softsense_base::Result;
use softsense_config::checked::CheckedConfig;
use softsense_config::ids::{Block, Superblock};
use softsense_config::spec::ReadReclaimSpec;
use softsense_nand::ReadDisturb;

use super::pass_through::PassThrough;
use super::read_counts::{DISTURBANCE_SCALE, ReadCounts};
use super::read_reclaim::ReadReclaim;
use super::{Group, PageMap};

/// The traces that reads leave, where reads disturb cells.
#[derive(Debug)]
pub(super) struct Reads {
    /// Sensings of blocks and wordlines. Absent where reads disturb no cells.
    pub(super) counts: Option<ReadCounts>,
    /// Read reclaim. Absent where reads of closed superblocks lead to nothing.
    pub(super) reclaim: Option<ReadReclaim>,
    /// Pass-through voltages of blocks. Absent where they are nominal.
    pub(super) pass_through: Option<PassThrough>,
}

impl Reads {
    pub(super) fn new(config: &CheckedConfig) -> Result<Self> {
        let (geometry, disturb) = (config.geometry(), config.reliability().read_disturb());
        let reclaim = disturb.and_then(|disturb| Some((disturb, config.config().ftl.read_reclaim.as_ref()?)));
        let pass_through = match reclaim {
            Some((disturb, ReadReclaimSpec::Wordline(spec))) if spec.pass_through_reduction > 0.0 => {
                Some(PassThrough::new(geometry, spec.pass_through_reduction, disturb)?)
            }
            _ => None,
        };
        let counts = |disturb: ReadDisturb| ReadCounts::new(geometry, disturb.adjacent_stress, pass_through.is_some());
        Ok(Self {
            counts: disturb.map(counts).transpose()?,
            reclaim: reclaim
                .map(|(disturb, spec)| ReadReclaim::new(config, spec, disturb.adjacent_stress))
                .transpose()?,
            pass_through,
        })
    }

    /// Forgets the reads of a block that has been erased.
    pub(super) fn erased(&mut self, block: Block) {
        if let Some(counts) = &mut self.counts {
            counts.erased(block);
        }
        if let Some(reclaim) = &mut self.reclaim {
            reclaim.erased(block);
        }
        if let Some(pass_through) = &mut self.pass_through {
            pass_through.erased(block);
        }
    }
}

impl PageMap {
    /// Notes that a read of a superblock has begun.
    #[inline]
    pub fn read_begins(&mut self, superblock: Superblock) {
        self.blocks[superblock].reads += 1;
    }

    /// Notes that a read of pages has ended, for which each page was sensed `sensings` times.
    ///
    /// # Arguments
    /// - `of_host`: whether a request of the host waited for the read.
    #[inline]
    pub fn read_ends(&mut self, group: Group, sensings: u32, of_host: bool) {
        self.blocks[group.superblock].reads -= 1;
        if self.reads.counts.is_some() {
            self.count_sensings(group, sensings, of_host);
        }
    }

    #[inline(never)]
    fn count_sensings(&mut self, group: Group, sensings: u32, of_host: bool) {
        for member in group.members() {
            let (member, page) = self.geometry.turn(group.page, member);
            let wordline = self.geometry.wordline_of(page, group.slc);
            let block = self.geometry.block_in(group.superblock, member);
            let spared = u64::from(sensings) * self.spared_by_a_sensing(block);
            if let Some(read_counts) = &mut self.reads.counts {
                read_counts.add(block, wordline, sensings, spared);
            }
            if self.reads.reclaim.is_some() {
                let disturbance = u64::from(sensings) * DISTURBANCE_SCALE - spared;
                self.note_sensings(block, wordline, disturbance);
                if of_host {
                    self.look_at_read(group.superblock, block, wordline, sensings);
                }
            }
        }
    }

    /// Effective reads of a page of a group: sensings of the other wordlines of its block, with the two neighbours weighted. 0 where
    /// nobody asks.
    ///
    /// # Arguments
    /// - `member`: the member of the group that the page is in.
    #[inline]
    pub fn effective_reads(&self, group: Group, member: u32) -> f64 {
        let Some(read_counts) = &self.reads.counts else { return 0.0 };
        let (member, page) = self.geometry.turn(group.page, member);
        let (block, wordline) =
            (self.geometry.block_in(group.superblock, member), self.geometry.wordline_of(page, group.slc));
        let before = self.reads_before_the_run(group.superblock, self.geometry.page_in(group.superblock, page, member));
        let of_run = read_counts.effective(block, wordline);
        if before > 0.0 { of_run + read_counts.effective_if_spread(before, wordline) } else { of_run }
    }

    /// Sensings of the block of a page before the run, spread evenly over wordlines; 0 for a page that was written in the run.
    pub(super) fn reads_before_the_run(&self, superblock: Superblock, page: u64) -> f64 {
        let set = self.geometry.set_of_superblock(superblock);
        let before = self.wear.start_ages.block_reads(self.geometry.ssd_of_set(set));
        if before > 0.0 && self.written_s(page).is_none() { before } else { 0.0 }
    }

    /// The most sensings that a block has had between two erases of the run; `None` where sensings are not counted.
    pub fn most_block_reads(&self) -> Option<u64> {
        self.reads.counts.as_ref().map(ReadCounts::most_of_block)
    }
}
