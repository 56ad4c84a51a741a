//! Programming wordlines with data and parity, and opening superblocks for more.

use softsense_base::Ns;

use crate::drive::{Drive, Refused};
use crate::state::{ABSENT, PADDING, PARITY, Programmed, Record, Slot, Use};
use crate::stations::At;

/// Collection begins below this number of free superblocks: one for data of the host, one for data that is moved.
pub(crate) const FEW_FREE: usize = 3;

impl Drive {
    pub(crate) fn free_superblocks(&self) -> usize {
        (0..self.shape.superblocks).filter(|&index| self.can_be_opened(index)).count()
    }

    /// Whether a superblock is erased and has enough blocks that work.
    fn can_be_opened(&self, superblock: u32) -> bool {
        self.state.superblocks[superblock as usize].used_for == Use::Free && self.room_of_wordline(superblock) > 0
    }

    /// The units that the next wordline of a superblock takes: 0 where too few of its blocks work.
    pub(crate) fn room_of_wordline(&self, superblock: u32) -> u32 {
        let working = (0..self.shape.dies).filter(|&die| !self.state.broken.has(&self.shape, die, superblock)).count();
        (working as u32).saturating_sub(u32::from(self.shape.parity)) * self.shape.codewords * self.shape.pages
    }

    /// Dies whose block in a superblock works.
    pub(crate) fn working_dies(&self, superblock: u32) -> Vec<u32> {
        (0..self.shape.dies).filter(|&die| !self.state.broken.has(&self.shape, die, superblock)).collect()
    }

    /// Programs the units that have waited longest while the write buffer is full. Returns the time at which there is room.
    pub(crate) fn make_room(&mut self, at: Ns) -> std::result::Result<Ns, Refused> {
        let mut now = at;
        loop {
            while self.programs.front().is_some_and(|(end, _)| *end <= now) {
                self.programs.pop_front();
            }
            let under_way: usize = self.programs.iter().map(|(_, units)| units).sum();
            if self.state.buffer.len() + under_way <= self.buffer_units {
                return Ok(now);
            }
            if self.state.buffer.len() * 2 > self.buffer_units || self.programs.is_empty() {
                self.program_waiting(now)?;
            } else if let Some((end, _)) = self.programs.pop_front() {
                now = now.max(end);
            }
        }
    }

    /// Programs a wordline with the units that have waited longest in the write buffer. Returns the time at which it is programmed.
    pub(crate) fn program_waiting(&mut self, at: Ns) -> std::result::Result<Ns, Refused> {
        let superblock = self.open_superblock(at, Use::OpenForHost)?;
        let room = self.room_of_wordline(superblock) as usize;
        let mut units = Vec::with_capacity(room);
        while units.len() < room {
            let Some(unit) = self.state.next_waiting() else { break };
            units.push((unit, self.state.buffer[&unit].data.clone()));
        }
        let programmed = self.program(at, superblock, &units, true);
        if programmed.is_err() {
            // The units are still in the buffer.
            self.state.wait_again(units.iter().map(|(unit, _)| *unit));
        }
        let end = programmed?;
        self.programs.push_back((end, units.len()));
        Ok(end)
    }

    /// Programs the content of the write buffer, as far as there is room in flash. Returns the number of units that were programmed.
    pub(crate) fn settle(&mut self) -> std::result::Result<u64, Refused> {
        let before = self.state.buffer.len();
        let mut done = self.now();
        while !self.state.buffer.is_empty() {
            match self.program_waiting(done) {
                Ok(end) => done = done.max(end),
                Err(Refused::NoRoom) => break,
                Err(other) => return Err(other),
            }
        }
        self.advance_to(done);
        Ok((before - self.state.buffer.len()) as u64)
    }

    /// The superblock that is open for a purpose, with room for a wordline.
    pub(crate) fn open_superblock(&mut self, at: Ns, used_for: Use) -> std::result::Result<u32, Refused> {
        if let Some(open) = self.state.superblocks.iter().position(|superblock| superblock.used_for == used_for) {
            let full = self.state.superblocks[open].wordlines.len() == self.shape.wordlines as usize;
            if !full && self.room_of_wordline(open as u32) > 0 {
                return Ok(open as u32);
            }
            self.commit(&Record::Closed { superblock: open as u32 });
        }
        if used_for == Use::OpenForHost {
            self.collect_until_free(at, FEW_FREE)?;
        }
        let free = (0..self.shape.superblocks).filter(|&index| self.can_be_opened(index));
        let least_worn = free.min_by_key(|&index| {
            (
                self.shape.dies as usize - self.working_dies(index).len(),
                self.state.superblocks[index as usize].pe_cycles,
            )
        });
        let Some(superblock) = least_worn else {
            self.read_only = true;
            return Err(Refused::NoRoom);
        };
        self.commit(&Record::Opened { superblock, used_for });
        Ok(superblock)
    }

    /// The die that holds the parity of the next wordline, if any die does.
    fn parity_die(&self, superblock: u32, working: &[u32]) -> Option<u32> {
        let wordline = self.state.superblocks[superblock as usize].wordlines.len();
        (self.shape.parity && !working.is_empty()).then(|| working[wordline % working.len()])
    }

    /// Slots for data in the next wordline of a superblock, as numbers within the wordline, in the order of writing. Pages follow one
    /// after the other, and dies take turns, so that data written in sequence is read from all dies.
    pub(crate) fn data_slots(&self, superblock: u32) -> Vec<u32> {
        let working = self.working_dies(superblock);
        let parity = self.parity_die(superblock, &working);
        let mut slots = Vec::with_capacity(self.shape.slots_of_wordline() as usize);
        for page in 0..self.shape.pages {
            for &die in working.iter().filter(|&&die| Some(die) != parity) {
                slots.extend((0..self.shape.codewords).map(|codeword| self.shape.in_wordline(die, codeword, page)));
            }
        }
        slots
    }

    /// Programs the next wordline of a superblock with units and padding. Returns the time at which it is programmed.
    pub(crate) fn program(
        &mut self,
        at: Ns,
        superblock: u32,
        units: &[(u32, Vec<u8>)],
        of_buffer: bool,
    ) -> std::result::Result<Ns, Refused> {
        self.image.ready()?;
        let (unit_bytes, codeword_bytes) = (self.shape.unit_bytes as usize, self.shape.codeword_bytes as usize);
        let wordline = self.state.superblocks[superblock as usize].wordlines.len() as u32;
        let first = self.shape.first_slot(superblock, wordline);
        let working = self.working_dies(superblock);
        let parity_die = self.parity_die(superblock, &working);
        let write = self.state.next_write;
        let in_wordline = self.shape.slots_of_wordline() as usize;
        let mut slots = vec![Slot { owner: ABSENT, crc: 0 }; in_wordline];
        // One sum for each page and codeword.
        let stripes = (self.shape.pages * self.shape.codewords) as usize;
        let mut parity = vec![0u8; if parity_die.is_some() { stripes * unit_bytes } else { 0 }];
        let mut codewords = std::mem::take(&mut self.buffers.wordline);
        codewords.resize(in_wordline * codeword_bytes, 0);
        let data_slots = self.data_slots(superblock);
        let mut payload = vec![0u8; unit_bytes];
        for (index, &within) in data_slots.iter().enumerate() {
            let owner = match units.get(index) {
                Some((unit, data)) => {
                    payload.copy_from_slice(data);
                    *unit
                }
                None => {
                    payload.fill(0);
                    PADDING
                }
            };
            if parity_die.is_some() {
                // The number of a slot ends with codeword and page, which are the number of its stripe.
                let stripe = within as usize % stripes;
                let sum = &mut parity[stripe * unit_bytes..(stripe + 1) * unit_bytes];
                sum.iter_mut().zip(&payload).for_each(|(sum, byte)| *sum ^= byte);
            }
            slots[within as usize] = self.encode(first + within, write, owner, &mut payload, &mut codewords, within);
        }
        if let Some(die) = parity_die {
            let first_within = self.shape.in_wordline(die, 0, 0);
            for (within, sum) in (first_within..).zip(parity.chunks_exact_mut(unit_bytes)) {
                slots[within as usize] = self.encode(first + within, write, PARITY, sum, &mut codewords, within);
            }
        }
        let written = self.image.program(first, &codewords);
        self.buffers.wordline = codewords;
        written?;
        let counters = &mut self.state.counters.background;
        counters.wordlines_programmed += 1;
        counters.parity_written += if parity_die.is_some() { stripes as u64 } else { 0 };
        counters.padding_written += (data_slots.len() - units.len()) as u64;
        let programmed = Programmed { write, at_hours: self.state.rested_hours, at_ns: self.state.clock_ns };
        self.commit(&Record::Programmed { superblock, programmed, slots, of_buffer });
        let mut end = at;
        for die in working {
            let place = At { die, superblock, wordline, page: 0 };
            end = end.max(self.stations.program(&self.shape, at, place));
        }
        Ok(end)
    }

    /// Scrambles and encodes data for a slot, and puts the codeword at its position in a wordline.
    fn encode(
        &mut self,
        slot: u32,
        write: u64,
        owner: u32,
        data: &mut [u8],
        codewords: &mut [u8],
        within: u32,
    ) -> Slot {
        self.scramble(slot, write, data);
        let bytes = self.shape.codeword_bytes as usize;
        let codeword = &mut codewords[within as usize * bytes..(within as usize + 1) * bytes];
        self.reader.encode(data, codeword);
        Slot { owner, crc: crc32fast::hash(codeword) }
    }
}
