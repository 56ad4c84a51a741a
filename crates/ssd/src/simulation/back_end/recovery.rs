//! Recovery by parity across dies. A codeword that no level has decoded is rebuilt from the codewords of the same index in the other pages
//! of its stripe.
//!
//! The read that has failed stays until these pages have been read, in the queues of their dies like any other page, and decoded. A
//! codeword is lost where one of the others is not decoded, either: parity makes up for one codeword of a stripe.

use crate::slab::ReadId;
use softsense_base::Pj;

use super::super::kernel::Kernel;
use super::super::owners::ReadOwner;
use super::BackEnd;
use super::orders::ReadOrder;
use super::reads::Progress;

/// A read that waits for other pages of its stripe.
#[derive(Debug, Default)]
pub(super) struct Recovery {
    /// Pages of the stripe that have not been read.
    to_read: usize,
    /// Numbers of codewords that were not decoded in one of the pages that have been read.
    lost: Vec<u32>,
}

impl BackEnd {
    /// Whether codewords that a read could not decode are rebuilt from the rest of their stripe. A read for recovery does not cause another
    /// recovery.
    #[inline]
    pub(super) fn may_recover(&self, read: ReadId) -> bool {
        self.geometry.has_parity() && {
            let read = &self.reads.reads[read];
            read.failed && !matches!(read.order.owner, ReadOwner::Recovery { .. })
        }
    }

    /// The owner for whom a read is done in the end: of a read for recovery, the owner of the read that has failed.
    pub(super) fn asks_for(&self, owner: ReadOwner) -> ReadOwner {
        if let ReadOwner::Recovery { read, .. } = owner { self.reads.reads[read].order.owner } else { owner }
    }

    /// Ends a read of a die that has failed, and answers nothing.
    pub(in super::super) fn lose_read(&mut self, kernel: &mut Kernel, read: ReadId) {
        self.reads.lose(read, kernel.now);
        let energy = if self.may_recover(read) { Pj::default() } else { self.charge(kernel, read) };
        self.attempt_over(kernel, read, None, energy);
    }

    /// The order of a read, and the units of its page that it could not decode.
    pub(in super::super) fn undecoded(&self, read: ReadId) -> (ReadOrder, Vec<u32>) {
        let order = self.reads.reads[read].order;
        let numbers = self.failed_of(read).into_iter();
        let mut units: Vec<u32> = numbers.map(|number| number / order.codewords_per_unit).collect();
        units.dedup();
        (order, units)
    }

    /// The numbers of the codewords of a read that were not decoded, in their order.
    fn failed_of(&self, read: ReadId) -> Vec<u32> {
        let failed = self.reads.codewords_of(read).filter(|one| one.progress == Progress::Failed);
        failed.map(|codeword| codeword.number).collect()
    }

    /// Lets a read wait for so many other pages of its stripe, which are read next; `None` where the rest of the stripe is lost, too.
    pub(in super::super) fn await_recovery(&mut self, kernel: &mut Kernel, read: ReadId, pages: Option<usize>) {
        let Some(pages) = pages else {
            let energy = self.charge(kernel, read);
            return self.end_failed(kernel, read, energy, |_| false);
        };
        self.recoveries.insert(read, Recovery { to_read: pages, lost: Vec::new() });
        if pages == 0 {
            self.rebuild(kernel, read);
        }
    }

    /// Notes that a page has been read for another read, which waits for it. Returns the waiting read if that page was the last one.
    pub(super) fn mate_read(&mut self, of: ReadId, read: ReadId) -> Option<ReadId> {
        let lost = self.failed_of(read);
        let recovery = self.recoveries.get_mut(&of).expect("a read waits for it");
        recovery.lost.extend(lost);
        recovery.to_read -= 1;
        (recovery.to_read == 0).then_some(of)
    }

    /// Rebuilds the failed codewords of a read, all other pages of whose stripe have been read, or gives them up as lost.
    pub(super) fn rebuild(&mut self, kernel: &mut Kernel, read: ReadId) {
        let Recovery { lost, .. } = self.recoveries.remove(&read).expect("it waits for that");
        let mut lost_units = Vec::new();
        let mut at = self.reads.first_of(read);
        while let Some(index) = at {
            at = self.reads.next_of(index);
            let codeword = &mut self.reads.codewords[index];
            if codeword.progress == Progress::Failed {
                if lost.contains(&codeword.number) {
                    lost_units.push(codeword.unit);
                } else {
                    codeword.progress = Progress::Decoded;
                }
            }
        }
        let energy = self.charge(kernel, read);
        let entry = &mut self.reads.reads[read];
        (entry.failed, entry.recovered) = (!lost_units.is_empty(), true);
        self.end_failed(kernel, read, energy, |unit| !lost_units.contains(&unit));
    }
}
