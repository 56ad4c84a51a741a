//! The turns of the host's writes: which plane of which pool is next.

use softsense_base::Result;
use softsense_config::checked::CheckedConfig;
use softsense_config::geometry::Geometry;
use softsense_config::ids::{Plane, Ssd};
use softsense_config::own::AtWork;
use softsense_config::spec::{PlaneChoice, Remainder};

use super::full_planes::FullPlanes;
use super::placement::OwnPlacement;

/// The turns of all pools.
#[derive(Debug)]
pub(super) struct Turns {
    /// For each pool of each SSD, the plane whose turn is next, as its number among the planes of the pool.
    pub(super) stripe_at: Vec<usize>,
    /// Planes without room for the host. Absent where a plane that has no room for one write may have room for another.
    pub(super) full_planes: Option<FullPlanes>,
    /// The placement handle of the data that the host writes next.
    pub(super) handle: u8,
    /// Pools of an SSD. A write may go to any plane in the pool of its logical page.
    pub(super) pools: u32,
    /// Whether a write goes to the plane with the most free pages.
    pub(super) to_most_free: bool,
    /// The user's own rule for placement. Absent where the config names none.
    pub(super) own: Option<OwnPlacement>,
    /// Whether logical codewords are written by whole pages.
    pub(super) whole_pages: bool,
    /// Whether data that does not fill a group is padded.
    pub(super) pads: bool,
    /// The turn of the set that writes the next translation page.
    pub(super) translation_at: u32,
}

impl Turns {
    /// # Arguments
    /// - `may_differ`: whether a plane that has no room for one write may have room for another.
    pub(super) fn new(config: &CheckedConfig, may_differ: bool) -> Result<Self> {
        let (geometry, spec) = (config.geometry(), &config.config().ftl);
        let pools = geometry.pools(spec.allocation_pool.levels());
        let (of_all, planes) = ((geometry.ssds() * pools) as usize, (geometry.planes_of_ssd() / pools) as usize);
        Ok(Self {
            stripe_at: vec![0; of_all],
            full_planes: (!may_differ).then(|| FullPlanes::new(of_all, planes)),
            handle: 0,
            pools,
            to_most_free: spec.plane_choice == PlaneChoice::MostFree,
            own: config.own_placement()?.map(|own| OwnPlacement::new(AtWork::new(own), of_all)),
            whole_pages: spec.whole_pages,
            pads: spec.interleaving.remainder == Remainder::Pad,
            translation_at: 0,
        })
    }

    /// The number of a pool among those of all SSDs.
    #[inline]
    pub(super) fn of_pool(&self, ssd: Ssd, pool: u32) -> usize {
        (ssd.0 * self.pools + pool) as usize
    }

    /// The plane whose turn in a pool is `at`, if there is one. Planes of a pool lie in the stripe at a distance of the number of pools.
    #[inline]
    pub(super) fn plane_at(&self, geometry: &Geometry, ssd: Ssd, pool: u32, at: usize) -> Option<Plane> {
        geometry.stripe(ssd).get(at * self.pools as usize + pool as usize).copied()
    }
}
