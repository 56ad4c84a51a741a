//! Decoding: the work of decoders on a codeword, and where its time went.

use crate::slab::{CodewordId, ReadId};
use softsense_base::{Ns, Pj};
use softsense_config::ids::Place;
use softsense_config::spec::ScrubLimit;
use softsense_link::{Observable, Step};

use super::super::kernel::{Completion, Kernel};
use super::super::owners::ReadOwner;
use super::BackEnd;
use super::decoders::{Arrived, Decoding, Lane};
use super::reads::{Codeword, Part, Read};
use super::timing::{BchTimes, DecodeTime};

impl BackEnd {
    #[inline]
    pub(super) fn start_decode(&mut self, kernel: &mut Kernel, pool: u32, decoder: u32, arrived: Arrived) {
        let duration = self.decode_time(arrived.codeword);
        self.count_service(kernel, arrived, duration);
        self.decoders.begin(kernel, pool, decoder, arrived, duration);
    }

    /// The share of a decoder that a codeword takes.
    #[inline]
    pub(super) fn lane(&self, read: ReadId) -> Lane {
        match &self.timing.decode {
            DecodeTime::Fixed(_) | DecodeTime::PerIteration(_) | DecodeTime::Ldpc(_) => Lane::PLACE,
            DecodeTime::Bch(codes) => codes.at(|| self.reads.reads[read].order.pe_cycles).lane,
        }
    }

    #[inline]
    fn decode_time(&self, codeword: CodewordId) -> Ns {
        let Codeword { read, outcome, skips_decoding, .. } = self.reads.codewords[codeword];
        let mut prediction = self.timing.predict_in_controller;
        if prediction > Ns::ZERO {
            let Read { attempts, step, .. } = &self.reads.reads[read];
            prediction = if *attempts == 1 && step.level == 1 { prediction } else { Ns::ZERO };
        }
        if skips_decoding {
            return prediction;
        }
        let decode = match &self.timing.decode {
            DecodeTime::Fixed(duration) => *duration,
            DecodeTime::PerIteration(duration) => {
                let iterations = outcome.iterations.expect("the config was checked to know iterations");
                duration.times(u64::from(iterations))
            }
            DecodeTime::Ldpc(codes) => {
                let iterations = outcome.iterations.expect("the config was checked to know iterations");
                codes.at(|| self.reads.reads[read].order.pe_cycles).times(u64::from(iterations))
            }
            DecodeTime::Bch(codes) => {
                let BchTimes { with_errors, without, .. } = *codes.at(|| self.reads.reads[read].order.pe_cycles);
                if outcome.clean { without } else { with_errors }
            }
        };
        prediction + decode
    }

    /// Counts the time that an attempt at a codeword takes by itself, if the host reads it. In a unit of several codewords, all of it
    /// counts for the first; for the others, only transfer or decode counts, whichever is longer.
    #[inline]
    pub(super) fn count_service(&mut self, kernel: &mut Kernel, arrived: Arrived, decode: Ns) {
        let reads = &self.reads;
        let codeword = &reads.codewords[arrived.codeword];
        let Read { order, step, .. } = &reads.reads[codeword.read];
        if !matches!(order.owner, ReadOwner::Request(_)) {
            return;
        }
        let (_, member): (ReadId, _) = self.reads.of_part(arrived.part);
        let page = |member| {
            let sense = reads.part(reads.part_number(codeword.read, member)).sense;
            self.timing.command + sense + self.transfer_time(codeword, member)
        };
        if decode > Ns::ZERO {
            kernel.statistics.read_service += self.crossing_time(*step);
        }
        kernel.statistics.read_service += if codeword.unit != arrived.codeword {
            self.transfer_time(codeword, member).max(decode)
        } else if self.geometry.blocks_per_superblock() == 1 {
            // Pages of a run are sensed one after the other.
            let first = u32::from(codeword.first_part);
            (first..first + u32::from(codeword.parts)).fold(decode, |sum, member| sum + page(member))
        } else {
            page(member) + decode
        };
    }

    pub(in super::super) fn decode_done(&mut self, kernel: &mut Kernel, decoder: u32) {
        let decoding = self.decoders.at(decoder);
        let index = decoding.arrived.codeword;
        let Codeword { read, outcome, skips_decoding, units, .. } = self.reads.codewords[index];
        if let Some(by) = self.observes
            && !skips_decoding
        {
            self.observe(kernel, by, index);
        }
        if !decoding.bypassed() && !skips_decoding {
            let op = &mut self.reads.reads[read];
            let energy = self.energy.decode.of(op.order.codewords_per_unit, op.order.pe_cycles, outcome);
            kernel.statistics.operations.decodes += 1;
            kernel.statistics.energy.decode += energy;
            op.energy += energy;
        }
        if !outcome.decoded && !self.reads.reads[read].step.known_cells {
            let codeword = &self.reads.codewords[index];
            let members = codeword.first_part..codeword.first_part + codeword.parts;
            for member in members {
                kernel.statistics.failed_transfers += self.transfer_time(codeword, member.into());
            }
        }
        let (unit_over, unit_decoded) = self.reads.decided(index);
        let op = &mut self.reads.reads[read];
        let over = op.undecided == 0;
        if op.attempts == 1 && unit_over {
            if !unit_decoded {
                // Retries last from the first failure to the end: see `unit_read`.
                op.time.retries.0 = op.time.retries.0.wrapping_sub(kernel.now.0);
            }
            self.count_time(kernel, decoding);
        }
        if let Some(pool) = self.decoders.free(decoder) {
            while let Some((decoder, arrived)) = self.decoders.next(pool) {
                self.start_decode(kernel, pool, decoder, arrived);
            }
            while let Some(channel) = self.decoders.let_in(pool) {
                let ended = self.bus.let_go(channel);
                self.leave_bus(kernel, channel, ended);
            }
        }
        let next = if over && self.reads.reads[read].failed { self.step_after(kernel, read) } else { None };
        let energy = if over && next.is_none() { self.settle(kernel, read) } else { Pj::default() };
        if outcome.decoded {
            let owner = self.reads.reads[read].order.owner;
            if outcome.undetected && matches!(owner, ReadOwner::Request(_)) {
                kernel.statistics.undetected += 1;
            }
            if let ReadOwner::Scrub { .. } = owner {
                self.scrubbed(kernel, index);
            }
            let Read { order, step, attempts, .. } = &self.reads.reads[read];
            if step.level == 1 && self.reads_as_configured(read) {
                self.remembered.decoded(&self.geometry, order.group, step.references);
            }
            if self.tells_levels {
                let place = self.reads.codewords[index].fate.number() / u64::from(order.codewords_per_unit);
                kernel.report(Completion::Decoded { place: Place(place), level: step.level, at_once: *attempts == 1 });
            }
        }
        if unit_decoded {
            self.unit_read(kernel, read, units.into(), true, energy);
        }
        if over {
            self.attempt_over(kernel, read, next, energy);
        }
    }

    /// Notes that a codeword of a scrub has been decoded, and whether it is beyond the limit.
    #[inline(never)]
    fn scrubbed(&mut self, kernel: &mut Kernel, index: CodewordId) {
        let Codeword { read, fate, outcome, .. } = &self.reads.codewords[index];
        let step = self.reads.reads[*read].step;
        let above = match self.scrub_limit {
            None => false,
            Some(ScrubLimit::Level(level)) => step.level > level,
            Some(ScrubLimit::Iterations(most)) => outcome.iterations.is_some_and(|iterations| iterations > most),
            Some(ScrubLimit::CorrectedErrors { errors, codeword_bits }) => {
                let hard = if step.level == 1 { step } else { Step::fresh(1) };
                self.reliability.wrong_bits(fate, hard, codeword_bits) > errors
            }
        };
        let counted = &mut kernel.statistics.maintenance;
        counted.scrubbed_codewords += 1;
        counted.scrubbed_above += u64::from(above);
        self.reads.reads[*read].needs_refresh |= above;
    }

    /// Reports what a controller has seen of a codeword. A codeword that was not decoded is reported only at the deepest level.
    #[inline(never)]
    fn observe(&self, kernel: &mut Kernel, by: Observable, index: CodewordId) {
        let Codeword { read, fate, outcome, bypasses, .. } = &self.reads.codewords[index];
        let Read { order, step, .. } = &self.reads.reads[*read];
        let seen = match by {
            _ if step.known_cells => return,
            _ if !outcome.decoded && step.level < self.spec.max_level => return,
            _ if !outcome.decoded => None,
            // The syndrome of a codeword that needs no decoder is found anyway, and tells how little there was to do.
            Observable::MeanIterations if *bypasses => Some(0),
            Observable::MeanIterations => outcome.iterations.map(u32::from),
            Observable::CorrectedErrors { .. } | Observable::SyndromeWeight if step.level > 1 => return,
            Observable::CorrectedErrors { codeword_bits } => {
                Some(self.reliability.wrong_bits(fate, *step, codeword_bits))
            }
            Observable::SyndromeWeight => self.reliability.syndrome_weight(fate, *step),
        };
        kernel.report(Completion::Seen { superblock: order.group.superblock, seen });
    }

    /// Counts where the time of a unit's first attempt went: that of its codeword which has been decoded last, just now.
    #[inline]
    fn count_time(&mut self, kernel: &mut Kernel, Decoding { arrived, began, .. }: Decoding) {
        let codeword = &self.reads.codewords[arrived.codeword];
        let (read, member) = self.reads.of_part(arrived.part);
        let transfer = self.transfer_time(codeword, member);
        // Pages of a run in one block are sensed one after the other.
        let from = if self.geometry.blocks_per_superblock() == 1 { codeword.first_part.into() } else { member };
        let first = self.reads.part_number(read, from);
        let Part { sensing_from, has_waited, .. } = *self.reads.part(first);
        let sensed_at = self.reads.part(arrived.part).sensed_at;
        let (mut commands, mut addressed_for) = (Ns::ZERO, Ns::ZERO);
        if self.timing.command > Ns::ZERO {
            for part in first..=arrived.part {
                commands += self.timing.command;
                addressed_for += self.reads.part(part).addressed_for;
            }
        }
        if has_waited {
            self.reads.add_wait(read, first);
        }
        let op = &mut self.reads.reads[read];
        op.time.wait_plane += sensing_from - op.queued_at;
        op.counted += 1;
        op.time.sense += sensed_at - sensing_from - addressed_for;
        op.time.wait_bus += arrived.at - transfer - sensed_at + addressed_for - commands;
        op.time.transfer += transfer + commands;
        op.time.wait_decoder += began - arrived.at;
        op.time.decode += kernel.now - began;
        if matches!(op.order.owner, ReadOwner::Request(_)) {
            kernel.statistics.interconnect_time += arrived.crossed_at - arrived.at;
        }
    }
}
