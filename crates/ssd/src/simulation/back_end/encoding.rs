//! Encoding, which comes before a program: codewords are encoded, and cross links where the encoders are outside the SSD.

use crate::slab::{CrossingId, ProgramId};
use softsense_base::Pj;
use softsense_config::ids::Channel;
use softsense_ftl::Group;

use super::super::kernel::{Deferred, Kernel};
use super::super::owners::ProgramOwner;
use super::array::{Turn, Work};
use super::links::Cargo;
use super::{BackEnd, Program};

impl BackEnd {
    /// Begins to program pages.
    ///
    /// # Arguments
    /// - `merges`: whether old data is sensed first, and programmed with the new data. The old page has the type of the new one.
    /// - `pe_cycles`: P/E cycles of the blocks.
    /// - `units`: units of data that are programmed.
    /// - `fails`: a bit for each member whose page will fail.
    /// - `codewords`: codewords that are encoded for each page; called only where encoding takes time.
    #[inline]
    #[allow(clippy::too_many_arguments, reason = "each says something else of one program")]
    pub(in super::super) fn program(
        &mut self,
        kernel: &mut Kernel,
        group: Group,
        owner: ProgramOwner,
        merges: bool,
        pe_cycles: u32,
        units: u64,
        fails: u32,
        codewords: impl FnOnce() -> u32,
    ) {
        let energy = self.program_energy(pe_cycles, group.slc());
        let program = self.new_program(group, owner, energy, fails);
        self.programs[program].merges = merges;
        if self.encoders.is_some() {
            let codewords_per_page = codewords();
            let to_encode = group.pages() * codewords_per_page;
            let entry = &mut self.programs[program];
            (entry.codewords_per_page, entry.to_encode) = (codewords_per_page, to_encode);
        }
        match &mut kernel.dram {
            None if self.encoders.is_none() => self.submit_program(kernel, program, group),
            None => self.begin_encoding(kernel, program),
            Some(dram) => {
                let takes = dram.move_codewords(kernel.now, units);
                kernel.defer(takes, Deferred::Program(program));
            }
        }
    }

    /// Creates a program of data that comes from the controller as it is.
    #[inline]
    fn new_program(&mut self, group: Group, owner: ProgramOwner, energy: Pj, fails: u32) -> ProgramId {
        self.programs_begun += 1;
        let number = self.programs_begun;
        let new = || Program {
            group,
            number,
            owner,
            merges: false,
            copies: None,
            energy,
            remaining: 0,
            codewords_per_page: 0,
            to_encode: 0,
            fails,
        };
        // Built in its place, as reads are: if it were put together elsewhere and then moved, the CPU would wait for itself.
        let program = self.programs.reuse(new);
        let entry = &mut self.programs[program];
        (entry.group, entry.owner, entry.energy, entry.fails) = (group, owner, energy, fails);
        entry.number = number;
        (entry.merges, entry.copies, entry.remaining) = (false, None, group.pages());
        (entry.codewords_per_page, entry.to_encode) = (0, 0);
        program
    }

    /// Begins to encode the data of a program. Where there are no encoders, the program goes to its chips.
    #[inline]
    pub(in super::super) fn begin_encoding(&mut self, kernel: &mut Kernel, program: ProgramId) {
        let Program { group, owner, codewords_per_page, to_encode, .. } = self.programs[program];
        if self.encoders.is_none() {
            return self.submit_program(kernel, program, group);
        }
        kernel.statistics.operations.encodes += u64::from(to_encode);
        for member in group.members() {
            let channel = self.channel_of(group, member);
            let encoders = self.encoders.as_mut().expect("they are there");
            encoders.submit(kernel, channel, program, codewords_per_page, owner.is_of_host());
        }
    }

    /// Begins to copy a page to another page of its plane, which is not of the SLC cache. The page is sensed and programmed, and no data
    /// crosses the bus, DRAM or encoders.
    pub(in super::super) fn copy(
        &mut self,
        kernel: &mut Kernel,
        from: Group,
        to: Group,
        owner: ProgramOwner,
        fails: u32,
    ) {
        let program = self.new_program(to, owner, self.energy.copy, fails);
        self.programs[program].copies = Some(from);
        self.submit_program(kernel, program, to);
    }

    /// Hands the pages of a program to their chips.
    fn submit_program(&mut self, kernel: &mut Kernel, program: ProgramId, group: Group) {
        for member in group.members() {
            let part = self.reads.part_number(program, member);
            self.submit(kernel, self.unit_of(group, member), Work::Program(part), Turn::Other);
        }
    }

    pub(in super::super) fn encode_done(&mut self, kernel: &mut Kernel, encoder: u32) {
        let encoders = self.encoders.as_mut().expect("one of them is done");
        let index = encoders.done(kernel, encoder);
        let program = &mut self.programs[index];
        program.to_encode -= 1;
        if program.to_encode > 0 {
            return;
        }
        let group = program.group;
        let codewords = group.pages() * program.codewords_per_page;
        let ssd = self.geometry.ssd_of_set(group.set);
        match &mut self.links {
            Some(links) if encoders.pooled => links.carry_program(kernel, ssd, index, codewords),
            _ => self.submit_program(kernel, index, group),
        }
    }

    /// Makes room at the encoders of a page that has gone to its chip.
    pub(super) fn page_left_encoders(&mut self, kernel: &mut Kernel, program: ProgramId, channel: Channel) {
        if let Some(encoders) = &mut self.encoders {
            encoders.left(kernel, channel, self.programs[program].codewords_per_page);
        }
    }

    pub(in super::super) fn crossed(&mut self, kernel: &mut Kernel, crossing: CrossingId) {
        let links = self.links.as_mut().expect("something has crossed one");
        match links.crossed(kernel, crossing) {
            Some(Cargo::Read(arrived)) => self.arrive_at_decoders(kernel, arrived),
            Some(Cargo::Program(program)) => self.submit_program(kernel, program, self.programs[program].group),
            None => {}
        }
    }
}
