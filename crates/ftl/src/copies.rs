//! Pages that were copied within their plane: how often in a row, and the errors that they carry from before.

use softsense_base::Result;
use softsense_config::checked::CheckedConfig;
use softsense_config::ids::Block;

use super::large_array::LargeArray;
use super::{Group, PageMap};

/// Copies and errors of each page that was copied; 0 for other pages.
#[derive(Debug)]
pub(super) struct Copies {
    most_in_a_row: u32,
    in_a_row: LargeArray,
    /// The raw bit error rate that the data of each page had when it was copied, as the bits of an `f32`.
    carried: LargeArray,
}

impl Copies {
    /// `None` where no page is copied.
    pub(super) fn new(config: &CheckedConfig) -> Result<Option<Self>> {
        let Some(spec) = &config.config().flash.copyback else { return Ok(None) };
        let pages = config.geometry().codewords() / u64::from(config.geometry().codewords_per_page());
        Ok(Some(Self {
            most_in_a_row: spec.most_in_a_row,
            in_a_row: LargeArray::new(pages, 255)?,
            carried: LargeArray::new(pages, u32::MAX.into())?,
        }))
    }
}

impl PageMap {
    /// The number in the device of a page, given as a group of one page.
    fn page_of(&self, group: Group) -> u64 {
        let (member, in_block) = self.geometry.turn(group.page, group.first());
        self.geometry.page_in(group.superblock, in_block, member)
    }

    /// Whether a page may be copied within its plane: the device copies pages, and the data was not copied too often in a row.
    pub fn may_copy(&self, group: Group) -> bool {
        self.copies
            .as_ref()
            .is_some_and(|copies| copies.in_a_row.get(self.page_of(group)) < u64::from(copies.most_in_a_row))
    }

    /// The raw bit error rate that the data of a page had when it was copied there; 0 where the data was corrected before.
    #[inline]
    pub fn carried_rber(&self, page: u64) -> f64 {
        self.copies.as_ref().map_or(0.0, |copies| f64::from(f32::from_bits(copies.carried.get(page) as u32)))
    }

    /// Notes that a page is copied to another one.
    ///
    /// # Arguments
    /// - `rber`: the raw bit error rate of its data.
    pub fn copied(&mut self, from: Group, to: Group, rber: f64) {
        let (from, to) = (self.page_of(from), self.page_of(to));
        let copies = self.copies.as_mut().expect("pages are copied");
        copies.in_a_row.set(to, copies.in_a_row.get(from) + 1);
        copies.carried.set(to, u64::from((rber as f32).to_bits()));
    }

    /// Forgets the copies in a block that has been erased: data that is written there next comes from the controller, unless it is
    /// copied.
    pub(super) fn forget_copies(&mut self, block: Block) {
        let Some(copies) = &mut self.copies else { return };
        let pages = u64::from(self.geometry.pages_per_block());
        for page in u64::from(block) * pages..(u64::from(block) + 1) * pages {
            copies.in_a_row.set(page, 0);
            copies.carried.set(page, 0);
        }
    }
}
