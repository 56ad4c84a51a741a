//! Pages that are read and programmed together, and the codewords that fit them.

use softsense_config::format::{BlockLayout, Piece};
use softsense_config::ids::{Lcn, Place, Set, Superblock};

use super::{Group, Location, PageMap};

impl PageMap {
    /// The pages that hold the codeword at a place, and its unit number in their group.
    #[inline]
    pub fn group_of(&self, place: Place) -> (Group, u32) {
        let geometry = &self.geometry;
        let (block, page, slot) = geometry.split(place);
        let (set, member) = geometry.set_of(geometry.split_block(block).0);
        let superblock = geometry.superblock_of_block(block);
        let slc = self.is_slc(superblock);
        if geometry.blocks_per_superblock() == 1 {
            return (Group { set, superblock, page, members: 1, pages: 1, slc }, slot);
        }
        if geometry.ways() == 1 {
            let (page, _) = geometry.back(member, page);
            return (Group { set, superblock, page, members: 1, pages: 1, slc }, slot);
        }
        let (members, pages) = self.members(superblock, member);
        (Group { set, superblock, page, members, pages, slc }, geometry.units_of(member).start + slot)
    }

    /// The pages at page `index` of a superblock of a set, where its blocks take turns.
    #[inline]
    pub fn group_at(&self, set: Set, superblock: Superblock, index: u32) -> Group {
        let (ways, slc) = (self.geometry.ways(), self.is_slc(superblock));
        if ways == 1 {
            return Group { set, superblock, page: index, members: 1, pages: 1, slc };
        }
        let (members, pages) = self.members(superblock, index % ways);
        Group { set, superblock, page: index / ways, members, pages, slc }
    }

    /// The pages that are programmed together with the page at `index` of a superblock of a set, which is the first of them: a group, or
    /// the pages of a wordline.
    #[inline]
    pub(super) fn programmed_with(&self, set: Set, superblock: Superblock, index: u32) -> Group {
        let (group, pages) = (self.group_at(set, superblock, index), self.geometry.pages_per_program());
        if pages == 1 || group.slc {
            return group;
        }
        Group { members: u32::MAX >> (32 - pages), pages: pages as u8, ..group }
    }

    /// Whether pages that are programmed together include the pages by which a codeword is read.
    #[inline]
    pub(super) fn includes(&self, programmed: Group, read: Group) -> bool {
        let pages = programmed.page..programmed.page + programmed.pages();
        programmed == read
            || self.is_one_shot(programmed) && programmed.superblock == read.superblock && pages.contains(&read.page)
    }

    /// Whether pages that are programmed together are those of a wordline.
    #[inline]
    pub(super) fn is_one_shot(&self, programmed: Group) -> bool {
        programmed.pages > 1 && self.geometry.ways() == 1
    }

    /// The members that hold parts of the data written to member `member` of a superblock, as a mask, and their number.
    #[inline]
    pub(super) fn members(&self, superblock: Superblock, member: u32) -> (u32, u8) {
        let ways = self.geometry.ways();
        if self.blocks[superblock].interleaved { (u32::MAX >> (32 - ways), ways as u8) } else { (1 << member, 1) }
    }

    /// The layout of a superblock: the pages in which its codewords are.
    #[inline]
    pub fn layout(&self, superblock: Superblock) -> &BlockLayout {
        match self.slc_layout(superblock) {
            Some(layout) => layout,
            None => self.formats.layouts().at(|| self.code_age(superblock)),
        }
    }

    /// Adds to a page the other pages of the superblock in which some of its units lie.
    ///
    /// # Arguments
    /// - `group`: a page, or a group of interleaved codewords, to which nothing is added.
    /// - `units`: the units that are wanted, counted from the first unit that may begin in the page.
    #[inline]
    pub fn with_all_of(&self, group: Group, units: &[u32]) -> Group {
        if !self.formats.crosses_pages {
            return group;
        }
        let (layout, per_page) = (self.layout(group.superblock), self.geometry.codewords_per_page());
        let members = units.iter().fold(0, |members: u32, unit| {
            let (page, slot) = (unit / per_page, unit % per_page);
            members | (if layout.crosses(group.page + page, slot) { 0b11 } else { 1 }) << page
        });
        Group { members, pages: members.count_ones() as u8, ..group }
    }

    /// The slots of a page that hold current data and whose units lie wholly in it, or wholly in it and the next page. Without
    /// interleaving.
    pub fn units_within(&self, superblock: Superblock, page: u32, and_next: bool) -> impl Iterator<Item = u32> {
        let layout = *self.layout(superblock);
        (0..layout.beginning_in(page)).filter(move |&slot| {
            (and_next || !layout.crosses(page, slot))
                && self.owner(self.geometry.place(superblock, page, slot)).is_some()
        })
    }

    /// The superblock of a logical codeword, and where the codeword lies in its physical units. `None` where the codeword is not in
    /// flash, or no unit of its block crosses pages.
    pub fn pieces(&self, lcn: Lcn) -> Option<(Superblock, Vec<Piece>)> {
        let Location::Flash(place) = self.locate(lcn) else { return None };
        let (group, slot) = self.group_of(place);
        let layout = self.layout(group.superblock);
        layout.crosses_pages().then(|| (group.superblock, layout.pieces(group.page, slot)))
    }

    /// Codewords that fit in `group`.
    #[inline]
    pub fn room(&self, group: Group) -> u32 {
        group.pages() * self.layout(group.superblock).beginning_in(group.page)
    }

    /// Whether the last codeword of a page that was given out ends in the next page of its block.
    #[inline]
    pub fn last_crosses(&self, group: Group) -> bool {
        self.formats.crosses_pages && {
            let room = self.room(group);
            room > 0 && self.layout(group.superblock).crosses(group.page, room - 1)
        }
    }

    /// Whether several units of data may be one codeword.
    #[inline]
    pub fn shares_codewords(&self) -> bool {
        self.formats.units_of_codeword.iter().any(|&units| units > 1)
    }

    /// Units of data in a codeword of a superblock.
    #[inline]
    pub fn units_of_codeword(&self, superblock: Superblock) -> u32 {
        *self.formats.units_of_codeword.at(|| self.code_age(superblock))
    }

    /// Whether units cross pages in any block.
    #[inline]
    pub fn crosses_pages(&self) -> bool {
        self.formats.crosses_pages
    }

    /// Whether room shrinks: blocks get less room as they wear, or dies or blocks have failed.
    pub fn shrinks(&self) -> bool {
        self.formats.layouts().changes() || self.has_lost_room()
    }

    /// Codewords for which the flash has room, in the present state of its blocks.
    pub fn data_capacity(&self) -> u64 {
        let written =
            Superblock::all(0..self.geometry.superblocks()).filter(|&superblock| !self.is_retired(superblock));
        written.map(|superblock| self.room_of(superblock)).sum()
    }

    /// Codewords that a superblock has room for.
    pub fn room_of(&self, superblock: Superblock) -> u64 {
        u64::from(self.geometry.ways()) * u64::from(self.layout(superblock).codewords())
    }

    /// The unit number of the `slot`-th codeword that is written to pages that were given out. Where the code leaves a page less than
    /// its greatest room, the rest of each page stays empty.
    #[inline]
    pub(super) fn unit_of_slot(&self, group: Group, slot: u32) -> u32 {
        if group.pages == 1 {
            return self.geometry.units_of(group.first()).start + slot;
        }
        let of_page = self.layout(group.superblock).beginning_in(group.page);
        self.geometry.units_of(slot / of_page).start + slot % of_page
    }
}
