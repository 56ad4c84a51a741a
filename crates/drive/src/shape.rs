//! The division of a served drive into superblocks, wordlines, dies, codewords and pages.

use serde::{Deserialize, Serialize};
use softsense_base::{Error, Result, format_bytes};
use softsense_config::spec::GeometrySpec;

/// Fewest superblocks of a drive whose blocks were made shorter for it: fewer would make collection coarse.
const FEWEST_SUPERBLOCKS: u64 = 48;
/// From this size on a drive has up to eight dies; below, up to four.
const EIGHT_DIES_FROM_BYTES: u64 = 1 << 30;
/// Superblocks beyond those that data takes: one that is written, one that is collected into, one to erase.
const WORKING_SUPERBLOCKS: u32 = 4;
/// The fewest wordlines of a block.
const FEWEST_WORDLINES: u32 = 4;

/// The shape of a drive. A superblock is a block of each die, on the same plane. A codeword lies in a *slot*. Its number counts
/// superblock, wordline, die, codeword of the page and page of the wordline, the last changing fastest. So the pages of a wordline lie
/// side by side in the image, as a sensing needs them all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// Units that hosts address, each the data of a codeword.
    pub units: u32,
    /// Data bytes of a codeword.
    pub unit_bytes: u32,
    /// Bytes of a codeword, with parity.
    pub codeword_bytes: u32,
    /// Superblocks of the drive.
    pub superblocks: u32,
    /// Planes of a die: superblock s is on plane s mod planes.
    pub planes: u32,
    /// Wordlines of a block.
    pub wordlines: u32,
    /// Dies, each with a block of every superblock.
    pub dies: u32,
    /// Channels. Consecutive dies are on different channels.
    pub channels: u32,
    /// Codewords in a page.
    pub codewords: u32,
    /// Pages in a wordline.
    pub pages: u32,
    /// Whether one die of each stripe holds the parity of the others.
    pub parity: bool,
}

/// The position of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The superblock.
    pub superblock: u32,
    /// The wordline, by its number in a block.
    pub wordline: u32,
    /// The die.
    pub die: u32,
    /// The codeword, by its number in the page.
    pub codeword: u32,
    /// The page, by its number in the wordline.
    pub page: u32,
}

impl Shape {
    /// The shape of a drive of `size_bytes`: the config's, with as many blocks as the size needs. Where a superblock would be more than
    /// a small part of the drive, it has fewer dies and shorter blocks, as small drives have.
    ///
    /// # Errors
    /// A size that is 0, no whole number of units, or too large for 32-bit numbers of slots.
    pub fn new(
        size_bytes: u64,
        geometry: &GeometrySpec,
        over_provisioning: f64,
        pages: u32,
        codeword_bytes: u32,
        parity: bool,
    ) -> Result<Self> {
        let unit_bytes = geometry.codeword_bytes;
        if size_bytes == 0 || !size_bytes.is_multiple_of(unit_bytes.into()) {
            let message =
                format!("found {size_bytes} bytes, expected a multiple of {unit_bytes}, the data bytes of a codeword");
            return Err(Error::config("--size", message));
        }
        let units = size_bytes / u64::from(unit_bytes);
        let all_dies = geometry.channels * geometry.chips_per_channel * geometry.dies_per_chip;
        let dies = all_dies.min(if size_bytes >= EIGHT_DIES_FROM_BYTES { 8 } else { 4 });
        if parity && dies < 2 {
            let message = format!(
                "found {dies} die, expected 2 or more: parity has a die of its own; --no-parity serves a drive \
                 without parity"
            );
            return Err(Error::config("--parity", message));
        }
        let in_wordline = u64::from((dies - u32::from(parity)) * geometry.codewords_per_page * pages);
        let mut wordlines = (geometry.pages_per_block / pages).max(1);
        while wordlines > FEWEST_WORDLINES && u64::from(wordlines) * in_wordline * FEWEST_SUPERBLOCKS > units {
            wordlines = wordlines.div_ceil(2).max(FEWEST_WORDLINES);
        }
        let held = (units as f64 / (1.0 - over_provisioning)).ceil() as u64;
        let superblocks = held.div_ceil(u64::from(wordlines) * in_wordline) + u64::from(WORKING_SUPERBLOCKS);
        let slots_of_superblock = u64::from(wordlines * dies * geometry.codewords_per_page * pages);
        if superblocks * slots_of_superblock > u64::from(u32::MAX - 16) {
            let message = format!("found {}, expected less than {}", format_bytes(size_bytes), format_bytes(8 << 40));
            return Err(Error::config("--size", message));
        }
        Ok(Self {
            units: units as u32,
            unit_bytes,
            codeword_bytes,
            superblocks: superblocks as u32,
            planes: geometry.planes_per_die,
            wordlines,
            dies,
            channels: geometry.channels.min(dies),
            codewords: geometry.codewords_per_page,
            pages,
            parity,
        })
    }

    /// Bytes that hosts address.
    pub fn size_bytes(&self) -> u64 {
        u64::from(self.units) * u64::from(self.unit_bytes)
    }

    /// Slots in a wordline of all dies.
    pub fn slots_of_wordline(&self) -> u32 {
        self.dies * self.codewords * self.pages
    }

    /// Slots in a superblock.
    pub fn slots_of_superblock(&self) -> u32 {
        self.wordlines * self.slots_of_wordline()
    }

    /// Slots in the drive.
    pub fn slots(&self) -> u32 {
        self.superblocks * self.slots_of_superblock()
    }

    /// The first slot of a wordline.
    pub fn first_slot(&self, superblock: u32, wordline: u32) -> u32 {
        superblock * self.slots_of_superblock() + wordline * self.slots_of_wordline()
    }

    /// The number of a slot among those of its wordline.
    pub fn in_wordline(&self, die: u32, codeword: u32, page: u32) -> u32 {
        (die * self.codewords + codeword) * self.pages + page
    }

    /// The position of a slot.
    pub fn place(&self, slot: u32) -> Place {
        let (rest, page) = (slot / self.pages, slot % self.pages);
        let (rest, codeword) = (rest / self.codewords, rest % self.codewords);
        let (rest, die) = (rest / self.dies, rest % self.dies);
        Place { superblock: rest / self.wordlines, wordline: rest % self.wordlines, die, codeword, page }
    }

    /// The plane that a superblock is on, and the index of its blocks in that plane.
    pub fn plane_and_block(&self, superblock: u32) -> (u32, u32) {
        (superblock % self.planes, superblock / self.planes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Do slots and places determine each other, and does a drive have room for its units and its working superblocks?
    #[test]
    fn slots_are_places() {
        for (size_bytes, parity) in [(16 << 20, true), (64 << 20, false), (2u64 << 30, true), (20u64 << 30, true)] {
            let geometry = GeometrySpec { codewords_per_page: 4, pages_per_block: 768, ..GeometrySpec::default() };
            let shape = Shape::new(size_bytes, &geometry, 0.1, 3, 4608, parity).unwrap();
            assert_eq!(shape.size_bytes(), size_bytes);
            for slot in (0..shape.slots()).step_by(977) {
                let place = shape.place(slot);
                let within = shape.in_wordline(place.die, place.codeword, place.page);
                assert_eq!(shape.first_slot(place.superblock, place.wordline) + within, slot);
            }
            let data = u64::from(shape.slots()) * u64::from(shape.dies - u32::from(parity)) / u64::from(shape.dies);
            assert!(data as f64 * 0.9 > f64::from(shape.units), "{shape:?}");
        }
    }

    #[test]
    fn bad_sizes_are_one_error() {
        let shape = |bytes, dies, parity| {
            let geometry =
                GeometrySpec { channels: dies, chips_per_channel: 1, dies_per_chip: 1, ..GeometrySpec::default() };
            Shape::new(bytes, &geometry, 0.1, 3, 4608, parity).unwrap_err().to_string()
        };
        assert_eq!(
            shape(5000, 4, true),
            "--size: found 5000 bytes, expected a multiple of 4096, the data bytes of a codeword"
        );
        assert_eq!(
            shape(1 << 24, 1, true),
            "--parity: found 1 die, expected 2 or more: parity has a die of its own; --no-parity serves a drive without parity"
        );
        assert!(shape(1 << 50, 8, false).starts_with("--size: found 1"));
    }
}
