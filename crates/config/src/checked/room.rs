use softsense_base::{Error, Result};

use super::CheckedConfig;
use crate::spec::Remainder;

/// Most translation pages of a map in flash: those of 64 TiB in codewords and pages of 4 KiB. Each takes 40 bytes of the simulator's
/// memory.
const MAX_TRANSLATION_PAGES: u64 = 1 << 24;

impl CheckedConfig {
    /// Checks that the over-provisioning leaves garbage collection enough blocks, and that the map fits into the simulator's memory.
    pub(super) fn check_room(&self) -> Result<()> {
        let ftl = &self.config.ftl;
        let over_provisioning = ftl.over_provisioning;
        // One block of each plane is open for the host (with placement handles one for each), and one for garbage collection. With
        // interleaving another one is open for codewords that do not fill a group. The free blocks up to the high watermark and one block
        // to collect come on top. A block is worth collecting when it has as many stale places as are programmed at once: a page's, a
        // group's or a wordline's. So up to one less in each block may have to stay. With so many spare blocks, some plane always has a
        // block to collect when no plane can be written.
        let blocks = self.config.geometry.blocks_per_plane;
        let plain_too = self.geometry.ways() > 1 && ftl.interleaving.remainder == Remainder::Plain;
        let open = if plain_too { 3 } else { 2_u64 } + u64::from(self.placement_handles() - 1);
        let left = self.geometry.codewords_per_program() - 1;
        // Up to two pages' worth may have to stay where units cross pages.
        let left = if self.crosses_pages() { 2 * self.geometry.codewords_per_page() } else { left };
        let in_vain = u64::from(blocks) * u64::from(left);
        let in_superblock = self.geometry.data_pages_per_superblock() * self.geometry.codewords_per_page();
        let in_vain = in_vain.div_ceil(u64::from(in_superblock));
        // Translation pages, each in a page of its own, take blocks of their own. Two of these are open, and one more may be almost stale.
        let in_sets = u64::from(self.geometry.sets()) * u64::from(self.geometry.data_pages_per_superblock());
        let translation = match self.translation_codewords() {
            0 => 0,
            codewords if codewords > MAX_TRANSLATION_PAGES => {
                let message =
                    format!("found a map of {codewords} translation pages, expected at most {MAX_TRANSLATION_PAGES}");
                return Err(Error::config("ftl.mapping.demand.entry_bytes", message));
            }
            codewords => codewords.div_ceil(in_sets) + 3,
        };
        let free = u64::from(ftl.gc_high_watermark_blocks);
        // Blocks of an SLC cache: its least size, the open block of its folding and, if its size varies, its own open blocks.
        let cache = ftl.slc_cache.as_ref().map_or(0, |cache| {
            let (least, most) = cache.size.least_and_most();
            u64::from(least) + 1 + if most > least { open - 1 } else { 0 }
        });
        let needed = free + open + 1 + in_vain + translation + cache;
        let blocks = f64::from(blocks);
        if over_provisioning * blocks < needed as f64 {
            // No share below 1 leaves as many blocks as there are.
            let expected = if needed as f64 >= blocks {
                format!(
                    "expected {needed}, which no over-provisioning leaves (lower `ftl.gc_high_watermark_blocks`, or \
                     raise `geometry.blocks_per_plane`)"
                )
            } else {
                format!("expected at least {}, which leaves {needed}", (needed as f64 / blocks * 1e4).ceil() / 1e4)
            };
            let message = format!(
                "found {over_provisioning}, which leaves {:.1} spare blocks of the {blocks} in a plane; {expected}: \
                 {free} free blocks, {open} open blocks, 1 block to collect, {in_vain} for pages that are filled in \
                 part{} and {translation} for translation pages",
                over_provisioning * blocks,
                if cache > 0 { format!(", {cache} for the SLC cache") } else { String::new() }
            );
            return Err(Error::config("ftl.over_provisioning", message));
        }
        Ok(())
    }

    /// Returns the controller memory for the exclusive or of incomplete stripes, at most, bytes: a page for each superblock that may be
    /// open. It is 0 without parity.
    pub fn xor_buffer_bytes(&self) -> u64 {
        if !self.geometry.has_parity() {
            return 0;
        }
        let for_translation = if self.translation_codewords() > 0 { 2 } else { 0 };
        let for_cache = if self.config.ftl.slc_cache.is_some() { 2 } else { 0 };
        let of_set = u64::from(self.placement_handles()) + 1 + for_translation + for_cache;
        u64::from(self.geometry.sets()) * of_set * self.config.geometry.page_bytes()
    }
}
