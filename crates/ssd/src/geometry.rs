//! The shape of a device and the numbering of everything in it.
//!
//! Planes are numbered channel-major: plane = ((channel x chips + chip) x dies + die) x planes + plane.
//! A codeword's place is ((plane x blocks + block) x pages + page) x codewords + slot.

use softsense_base::{Error, Result, expect_whole};

use crate::config::{BusyUnit, FlashSpec, GeometrySpec, StripeLevel};

/// Places of codewords fit 31 bits; the rest of a `u32` marks what is not in flash.
pub const MAX_CODEWORDS: u64 = (1 << 31) - 2;

/// Counts and strides of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Geometry {
    channels: u32,
    planes_per_channel: u32,
    planes_per_chip: u32,
    planes_per_die: u32,
    planes_per_busy_unit: u32,
    planes: u32,
    blocks_per_plane: u32,
    pages_per_block: u32,
    codewords_per_page: u32,
    page_types: u32,
}

impl Geometry {
    /// Checks the counts.
    pub fn new(spec: &GeometrySpec, flash: &FlashSpec) -> Result<Self> {
        for (field, value, high) in [
            ("channels", spec.channels, 1024),
            ("chips_per_channel", spec.chips_per_channel, 1024),
            ("dies_per_chip", spec.dies_per_chip, 64),
            ("planes_per_die", spec.planes_per_die, 64),
            ("blocks_per_plane", spec.blocks_per_plane, 1 << 24),
            ("pages_per_block", spec.pages_per_block, 32_768),
            ("codewords_per_page", spec.codewords_per_page, 16),
        ] {
            expect_whole(format!("geometry.{field}"), value, 1, high)?;
        }
        if !(512..=1 << 20).contains(&spec.codeword_bytes) || !spec.codeword_bytes.is_multiple_of(512) {
            let message = format!("found {}, expected a multiple of 512 from 512 to 1048576", spec.codeword_bytes);
            return Err(Error::config("geometry.codeword_bytes", message));
        }
        if flash.page_types.is_empty() || flash.page_types.len() > 16 {
            let message = format!("found {} page types, expected 1 to 16", flash.page_types.len());
            return Err(Error::config("flash.page_types", message));
        }
        let counts = [
            spec.channels,
            spec.chips_per_channel,
            spec.dies_per_chip,
            spec.planes_per_die,
            spec.blocks_per_plane,
            spec.pages_per_block,
            spec.codewords_per_page,
        ];
        let codewords = counts.iter().fold(1u128, |product, &n| product * u128::from(n));
        if codewords > u128::from(MAX_CODEWORDS) {
            let message = format!("found {codewords} codewords in the device, expected at most {MAX_CODEWORDS}");
            return Err(Error::config("geometry", message));
        }
        let planes_per_chip = spec.dies_per_chip * spec.planes_per_die;
        let planes_per_channel = spec.chips_per_channel * planes_per_chip;
        let planes = spec.channels * planes_per_channel;
        if planes > 1 << 20 {
            return Err(Error::config("geometry", format!("found {planes} planes, expected at most {}", 1 << 20)));
        }
        Ok(Self {
            channels: spec.channels,
            planes_per_channel,
            planes_per_chip,
            planes_per_die: spec.planes_per_die,
            planes_per_busy_unit: match flash.busy_unit {
                BusyUnit::Plane => 1,
                BusyUnit::Die => spec.planes_per_die,
            },
            planes,
            blocks_per_plane: spec.blocks_per_plane,
            pages_per_block: spec.pages_per_block,
            codewords_per_page: spec.codewords_per_page,
            page_types: flash.page_types.len() as u32,
        })
    }

    /// Channels of the device.
    pub fn channels(&self) -> u32 {
        self.channels
    }

    /// Planes of the device.
    pub fn planes(&self) -> u32 {
        self.planes
    }

    /// Things that do one array operation at a time.
    pub fn busy_units(&self) -> u32 {
        self.planes / self.planes_per_busy_unit
    }

    /// Blocks of a plane.
    pub fn blocks_per_plane(&self) -> u32 {
        self.blocks_per_plane
    }

    /// Pages of a block.
    pub fn pages_per_block(&self) -> u32 {
        self.pages_per_block
    }

    /// Codewords of a page.
    pub fn codewords_per_page(&self) -> u32 {
        self.codewords_per_page
    }

    /// Codewords of a block.
    pub fn codewords_per_block(&self) -> u32 {
        self.pages_per_block * self.codewords_per_page
    }

    /// Codewords of the device.
    pub fn codewords(&self) -> u64 {
        u64::from(self.planes) * u64::from(self.blocks_per_plane) * u64::from(self.codewords_per_block())
    }

    /// The channel of a plane.
    #[inline]
    pub fn channel_of(&self, plane: u32) -> u32 {
        plane / self.planes_per_channel
    }

    /// The chip of a plane, numbered over the device.
    pub fn chip_of(&self, plane: u32) -> u32 {
        plane / self.planes_per_chip
    }

    /// What does one array operation at a time for a plane.
    #[inline]
    pub fn busy_unit_of(&self, plane: u32) -> u32 {
        plane / self.planes_per_busy_unit
    }

    /// The kind of a page, by its index in the block.
    #[inline]
    pub fn page_type_of(&self, page_in_block: u32) -> u32 {
        page_in_block % self.page_types
    }

    /// All planes, in the order in which consecutive page writes go to them.
    pub fn stripe(&self, levels: &[StripeLevel; 4]) -> Vec<u32> {
        let dies_per_chip = self.planes_per_chip / self.planes_per_die;
        let size_and_stride = |level| match level {
            StripeLevel::Channel => (self.channels, self.planes_per_channel),
            StripeLevel::Chip => (self.planes_per_channel / self.planes_per_chip, self.planes_per_chip),
            StripeLevel::Die => (dies_per_chip, self.planes_per_die),
            StripeLevel::Plane => (self.planes_per_die, 1),
        };
        (0..self.planes)
            .map(|mut index| {
                levels.iter().fold(0, |plane, &level| {
                    let (size, stride) = size_and_stride(level);
                    let digit = index % size;
                    index /= size;
                    plane + digit * stride
                })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::StripeLevel::{Channel, Chip, Die, Plane};

    #[test]
    fn striping_visits_every_plane_once_channels_first() {
        let spec = GeometrySpec {
            channels: 3,
            chips_per_channel: 2,
            dies_per_chip: 2,
            planes_per_die: 4,
            ..GeometrySpec::default()
        };
        let geometry = Geometry::new(&spec, &FlashSpec::default()).unwrap();
        let stripe = geometry.stripe(&[Channel, Chip, Die, Plane]);
        assert_eq!(stripe[..3].iter().map(|&p| geometry.channel_of(p)).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!((geometry.chip_of(stripe[0]), geometry.chip_of(stripe[3])), (0, 1));
        let mut sorted = geometry.stripe(&[Plane, Chip, Die, Channel]);
        assert_eq!(sorted[..4], [0, 1, 2, 3]);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..48).collect::<Vec<_>>());
    }
}
