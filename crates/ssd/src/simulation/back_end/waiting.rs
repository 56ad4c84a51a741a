//! Whether the host waits for planes. Pacing of garbage collection asks this.

use softsense_config::ids::{Set, Unit};

use super::BackEnd;
use super::array::{TakenBy, Turn, Work};
use super::phase::Phase;

impl BackEnd {
    /// The busy units of a set.
    fn units_of(&self, set: Set) -> impl Iterator<Item = Unit> {
        let planes = (0..self.geometry.blocks_per_superblock()).map(move |member| self.geometry.plane_of(set, member));
        planes.map(|plane| self.geometry.busy_unit_of(plane))
    }

    /// Whether operations of the host wait for a busy unit of a set.
    pub(in super::super) fn host_waits(&self, set: Set) -> bool {
        let is_of_host = |work| match work {
            Work::Read(part) => self.reads.reads[self.reads.of_part(part).0].order.owner.is_of_host(),
            Work::Program(part) => self.programs[self.reads.of_part(part).0].owner.is_of_host(),
            Work::Erase { .. } => false,
        };
        let turns = [Turn::Retry, Turn::Read, Turn::Other];
        let waiting = |unit| turns.into_iter().flat_map(move |turn| self.array.waiting_works(unit, turn));
        self.units_of(set).any(|unit| waiting(unit).any(is_of_host))
    }

    /// Whether operations of the host wait for a busy unit of a set, or are at work there.
    pub(in super::super) fn host_is_at(&self, set: Set) -> bool {
        let takes = |unit| {
            self.array.phase(unit) != Phase::Free
                && matches!(self.array.taken_by(unit), (TakenBy::HostReads | TakenBy::HostPrograms, _))
        };
        self.units_of(set).any(takes) || self.host_waits(set)
    }
}
