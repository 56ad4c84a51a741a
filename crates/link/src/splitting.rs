//! Splitting: reaching rare failures from frequent ones, down a ladder of raw bit error rates.
//!
//! Error patterns that fail at a high error rate are carried to lower ones. At each step they get weights for how much more likely the
//! lower rate makes them, are resampled by these weights, and are moved by a Markov chain that uses only the decoder. The method needs no
//! description of rare frames. Its rates therefore include failures that methods which sort frames by some property overlook, as long as
//! frames fail in the same ways at the top and at the bottom.
//!
//! A pattern is the channel's output for each bit, compared with the sent bit. For hard decisions it is right or wrong;
//! for a soft level it is a *region* between references. From rung p to the next rung p', with w_r of the n bits in
//! region r, which has the probability P_r,
//!
//! ```text
//!   FER(p') / FER(p) = E[ product over r of (P_r(p') / P_r(p))^w_r  |  failure at p ],
//! ```
//! The equation is exact if the decoder is the same at both rungs, so at all rungs the decoder assumes the rate of the lowest one.
//! References and LLRs of a soft level are made for the lowest rung, too, so rates of other rungs hold for a controller that assumes this
//! age.
//!
//! The chain preserves the distribution of the channel conditioned on failure. A proposal redraws each bit with probability q from P(p),
//! which is reversible for independent bits. It is accepted if the decoder fails on it, too. Each pattern keeps the random codeword that it
//! began with, since a decoder with ties may fail on a pattern for one sent codeword and not for another.
//!
//! Source: S. Au, J. Beck, "Estimation of small failure probabilities in high dimensions by subset simulation", 2001;
//! P. Del Moral, A. Doucet, A. Jasra, "Sequential Monte Carlo samplers", 2006, for the weights.

use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use sha2::{Digest, Sha256};
use softsense_base::{Error, Purpose, Result, Stream};
use softsense_ecc::bits;
use softsense_ecc::catalogue::{Code, Encoder};
use softsense_ecc::channel::Noise;
use softsense_ecc::ldpc::TRAPPED_CHECKS;
use softsense_ecc::measure::{FrameDecoder, random_data};

use crate::frames::{FrameTask, LEAST_GAUSSIAN_RBER, LEAST_RBER, MOST_RBER, ReadChannel};

/// Part of the identity of every run. It is increased whenever a change alters the results of runs.
const SPLITTING_VERSION: u32 = 1;

/// Share of accepted proposals that is aimed at; a share from a fifth to a half is good enough.
const ACCEPTANCE: f64 = 0.3;
const GOOD_ACCEPTANCE: std::ops::RangeInclusive<f64> = 0.2..=0.5;
/// First q of the search for a good q, and the limits of the search.
const FIRST_REDRAW: f64 = 0.05;
const TRIAL_ROUNDS: u64 = 8;
const TRIALS: usize = 64;

/// Bits of each part of the index of a draw.
const STEP_BITS: u32 = 24;
const PARTICLE_BITS: u32 = 24;
const RUNG_BITS: u32 = 12;

/// Parameters of a splitting run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SplitSpec {
    /// Raw bit error rates, falling; for a soft level the last is the task's own.
    pub ladder: Vec<f64>,
    /// Number of error patterns that are carried down.
    pub particles: usize,
    /// Number of proposals for each pattern at each rung below the first.
    pub steps: u32,
    /// q, the probability with which a proposal redraws a bit, for all rungs. Without it q is found at each rung from the share of accepted
    /// proposals at the rung before.
    pub redraw: Option<f64>,
    /// Number of frames at the first rung after which too few failures are an error.
    pub most_frames: u64,
}

/// Results at a rung.
#[derive(Debug, Clone, PartialEq)]
pub struct Rung {
    /// Raw bit error rate of the rung.
    pub rber: f64,
    /// ln(FER here / FER at the first rung).
    pub log_ratio: f64,
    /// Effective sample size of the weights that led to this rung, over the number of patterns.
    pub effective: f64,
    /// q; 0 at the first rung, where nothing moves.
    pub redraw: f64,
    /// Share of accepted proposals, including those that change nothing.
    pub acceptance: f64,
    /// Share of proposals that were accepted and changed the pattern.
    pub moved: f64,
    /// Mean number of errors of a pattern after the moves. Errors are bits whose decision, or the sign of whose LLR, is wrong. All fields
    /// below are after the moves, too.
    pub mean_errors: f64,
    /// Standard deviation of the number of errors of a pattern.
    pub deviation_errors: f64,
    /// Least number of errors of a pattern.
    pub least_errors: usize,
    /// Number of patterns of the first rung that have descendants.
    pub ancestors: usize,
    /// Most descendants of one pattern of the first rung.
    pub largest_family: usize,
    /// Patterns that end with at least one and at most [`TRAPPED_CHECKS`] violated checks.
    pub floor_like: usize,
    /// Patterns that are decided wrongly with a claim of success.
    pub undetected: usize,
}

/// An error pattern on which the decoder fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// The wrong bits, ascending: at a soft level those whose LLR has the wrong sign.
    pub errors: Vec<u32>,
    /// Number of checks that the decided word violates.
    pub syndrome_weight: u32,
    /// Bits that are wrong after decoding, ascending.
    pub left: Vec<u32>,
}

/// Results of a splitting run.
#[derive(Debug, Clone, PartialEq)]
pub struct SplitRun {
    /// Frames decoded at the first rung until all patterns were found: the last one failed.
    pub frames: u64,
    /// Frames decoded in total.
    pub decoded: u64,
    /// Results from the first rung on.
    pub rungs: Vec<Rung>,
    /// Patterns at the last rung.
    pub patterns: Vec<Pattern>,
}

/// Parameters of chains at one raw bit error rate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WalkSpec {
    /// Raw bit error rate; for a soft level the task's own.
    pub rber: f64,
    /// Number of proposals of each chain.
    pub steps: u32,
    /// Number of proposals between two records.
    pub every: u32,
    /// q, as in [`SplitSpec::redraw`]; without it q is found at the start of each chain.
    pub redraw: Option<f64>,
    /// Most right bits of a listed set that counts as present.
    pub missing: u32,
    /// Whether bits that a start does not name are drawn from the channel; otherwise they are in the channel's most likely region.
    pub fill: bool,
    /// Most draws of the other bits and of the codeword's data until the decoder fails.
    pub most_draws: u32,
}

/// The state of a chain at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// Number of errors of the pattern.
    pub errors: u32,
    /// Number of checks that the decided word violates.
    pub syndrome_weight: u32,
    /// Listed set with the largest share of wrong bits, the first of several; 0 if no set is listed.
    pub nearest: u32,
    /// Number of wrong bits of this set.
    pub nearest_wrong: u32,
    /// Number of listed sets that are present.
    pub present: u32,
}

/// Results of a chain.
#[derive(Debug, Clone, PartialEq)]
pub struct Chain {
    /// Draws of the other bits and of the data until the decoder failed; 0 if it never did, and there is no chain.
    pub draws: u32,
    /// q of the chain.
    pub redraw: f64,
    /// Share of accepted proposals, as [`Rung::acceptance`].
    pub acceptance: f64,
    /// Share of proposals that moved the pattern, as [`Rung::moved`].
    pub moved: f64,
    /// Records after every [`WalkSpec::every`] proposals.
    pub records: Vec<Record>,
    /// The last pattern; none if there is no chain.
    pub last: Option<Pattern>,
}

/// The purpose of a draw.
#[derive(Clone, Copy)]
enum Draw {
    Move = 0,
    Resample = 1,
    Trial = 2,
    Fill = 3,
}

/// The draws of one purpose and place, one after the other.
struct Draws<'a> {
    stream: &'a Stream,
    place: u64,
    next: u64,
}

impl<'a> Draws<'a> {
    fn new(stream: &'a Stream, draw: Draw, rung: usize, particle: usize, step: u64) -> Self {
        let place = (draw as u64) << RUNG_BITS | rung as u64;
        let place = (place << PARTICLE_BITS | particle as u64) << STEP_BITS | step;
        Self { stream, place, next: 0 }
    }

    fn uniform(&mut self) -> f64 {
        self.next += 1;
        self.stream.uniform(self.place, self.next - 1)
    }

    /// Chooses each of `count` items with the probability 1 - exp(`log_not`), and calls `take` with the index of each chosen one.
    fn choose(&mut self, log_not: f64, count: usize, mut take: impl FnMut(usize)) {
        let mut at = 0;
        while at < count {
            let skipped = libm::log1p(-self.uniform()) / log_not;
            if skipped >= (count - at) as f64 {
                return;
            }
            at += skipped as usize;
            take(at);
            at += 1;
        }
    }
}

/// The regions of the channel's output for a bit, in order, from the one that speaks most against the sent bit. For hard decisions 0 is
/// wrong and 1 is right.
struct Regions {
    /// LLRs of the regions in a decoder's integers.
    llrs: Vec<i8>,
    /// Number of regions with a negative LLR.
    negative: u8,
    /// The most likely region at the lowest rung, which patterns do not list.
    common: u8,
}

/// The probabilities of regions.
struct Law {
    probabilities: Vec<f64>,
    common: u8,
    /// Probability of all regions except the common one.
    others: f64,
}

impl Law {
    fn new(probabilities: Vec<f64>, common: u8) -> Self {
        let others = probabilities.iter().enumerate().filter(|&(region, _)| region != usize::from(common));
        let others = others.map(|(_, probability)| probability).sum();
        Self { probabilities, common, others }
    }

    /// Returns the region that a number below the probability of all regions except `from` leads to; `from` if the number is beyond them.
    fn other(&self, from: u8, mut at: f64) -> u8 {
        for (region, &probability) in (0..).zip(&self.probabilities) {
            if region == from {
                continue;
            }
            if at < probability {
                return region;
            }
            at -= probability;
        }
        from
    }

    /// Draws a cell whose region is not the common one, from the first regions with a total probability of `of`; `None` if rounding leaves
    /// nothing.
    fn uncommon(&self, bit: u32, of: f64, draws: &mut Draws<'_>) -> Option<Cell> {
        let region = self.other(self.common, of * draws.uniform());
        (region != self.common).then_some(Cell { bit, region })
    }

    /// Draws the cells of a pattern. Each of the `wrong` bits gets one of the first `negative` regions, as likely as the channel makes it.
    /// The `filled` bits get any region except the common one, unless they are among the wrong ones.
    fn started(&self, wrong: &[u32], filled: &[u32], negative: u8, draws: &mut Draws<'_>) -> Vec<Cell> {
        let against: f64 = self.probabilities[..usize::from(negative)].iter().sum();
        let mut cells: Vec<Cell> = Vec::with_capacity(wrong.len() + filled.len());
        cells.extend(wrong.iter().filter_map(|&bit| self.uncommon(bit, against, draws)));
        cells.extend(filled.iter().filter_map(|&bit| self.uncommon(bit, self.others, draws)));
        // The sort is stable: of two cells of a bit the first stays.
        cells.sort_by_key(|cell| cell.bit);
        cells.dedup_by_key(|cell| cell.bit);
        cells
    }

    /// Returns ln of each region's probability here over that in `above`.
    fn log_ratios(&self, above: &Self) -> Vec<f64> {
        let pairs = (0..).zip(self.probabilities.iter().zip(&above.probabilities));
        let ratio = |(region, (here, above_here))| match region == self.common {
            // 1 - p is rounded where ln(1 - p) need not be.
            true => libm::log1p(-self.others) - libm::log1p(-above.others),
            false => libm::log(here / above_here),
        };
        pairs.map(ratio).collect()
    }
}

/// A bit, and the region of the channel's output for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cell {
    bit: u32,
    region: u8,
}

/// A proposal: each bit is redrawn with probability q.
struct Redraw<'a> {
    law: &'a Law,
    /// The largest probability with which a redrawn cell outside the common region leaves its region.
    most_leave: f64,
    log_stays_listed: f64,
    log_stays_common: f64,
    codeword_bits: usize,
    removed: Vec<usize>,
    added: Vec<usize>,
    proposed: Vec<Cell>,
}

impl<'a> Redraw<'a> {
    fn new(law: &'a Law, redraw: f64, codeword_bits: usize) -> Self {
        let listed = law.probabilities.iter().enumerate().filter(|&(region, _)| region != usize::from(law.common));
        let most_leave = 1.0 - listed.map(|(_, &probability)| probability).fold(f64::INFINITY, f64::min);
        Self {
            law,
            most_leave,
            log_stays_listed: libm::log1p(-redraw * most_leave),
            log_stays_common: libm::log1p(-redraw * law.others),
            codeword_bits,
            removed: Vec::new(),
            added: Vec::new(),
            proposed: Vec::new(),
        }
    }

    /// Makes `proposed` from a pattern; returns false if they are the same.
    fn propose(&mut self, cells: &[Cell], draws: &mut Draws<'_>) -> bool {
        let Self { law, most_leave, removed, added, proposed, .. } = self;
        removed.clear();
        added.clear();
        draws.choose(self.log_stays_listed, cells.len(), |index| removed.push(index));
        draws.choose(self.log_stays_common, self.codeword_bits - cells.len(), |index| added.push(index));
        if removed.is_empty() && added.is_empty() {
            return false;
        }
        proposed.clear();
        let (mut next, mut removed, mut changed) = (0, removed.iter().peekable(), false);
        let mut keep = |index: usize, proposed: &mut Vec<Cell>, draws: &mut Draws<'_>| {
            let Cell { bit, region } = cells[index];
            let mut to = region;
            if removed.next_if_eq(&&index).is_some() {
                // All cells were chosen with the probability of those that leave most easily, so others may stay.
                to = law.other(region, *most_leave * draws.uniform());
                changed |= to != region;
            }
            if to != law.common {
                proposed.push(Cell { bit, region: to });
            }
        };
        for &common in added.iter() {
            // Position among the common bits: the position in the codeword less the number of listed bits before it.
            while next < cells.len() && cells[next].bit as usize - next <= common {
                keep(next, proposed, draws);
                next += 1;
            }
            let cell = law.uncommon((common + next) as u32, law.others, draws);
            proposed.extend(cell);
        }
        (next..cells.len()).for_each(|index| keep(index, proposed, draws));
        changed || !added.is_empty()
    }
}

/// A source of codewords of random data.
struct Source {
    encoder: Encoder,
    stream: Stream,
    data: Vec<u8>,
    data_bits: usize,
}

impl Source {
    fn new(code: &Code, seed: u64) -> Self {
        let (data_bits, stream) = (code.data_bits(), Stream::new(seed, Purpose::Data));
        Self { encoder: code.encoder(), stream, data: vec![0; bits::bytes_for(data_bits)], data_bits }
    }

    /// Makes codeword number `frame`.
    fn codeword(&mut self, frame: u64, codeword: &mut [u8]) {
        random_data(&self.stream, frame, self.data_bits, &mut self.data);
        self.encoder.encode(&self.data, codeword);
    }
}

/// A decoder that judges patterns.
struct Judge {
    decoder: Box<dyn FrameDecoder>,
    regions: Regions,
    word: Vec<u8>,
    /// Input of a soft decoder for each bit; empty for hard decisions.
    llrs: Vec<i8>,
    decoded: u64,
}

impl Judge {
    /// Returns the number of violated checks if the decoder fails, by giving up or by a wrong word.
    fn failure(&mut self, codeword: &[u8], cells: &[Cell]) -> Option<u32> {
        if self.llrs.is_empty() {
            self.word.copy_from_slice(codeword);
            cells.iter().for_each(|cell| bits::flip(&mut self.word, cell.bit as usize));
        } else {
            let common = self.regions.llrs[usize::from(self.regions.common)];
            for (llrs, byte) in self.llrs.chunks_mut(8).zip(codeword) {
                for (index, llr) in llrs.iter_mut().enumerate() {
                    *llr = if byte << index & 0x80 == 0 { common } else { -common };
                }
            }
            for cell in cells {
                let (at, llr) = (cell.bit as usize, self.regions.llrs[usize::from(cell.region)]);
                self.llrs[at] = if bits::get(codeword, at) { -llr } else { llr };
            }
        }
        self.decode(codeword)
    }

    /// Decodes a frame with the channel's noise; on failure returns the number of violated checks, and the pattern.
    fn frame(&mut self, noise: &mut Noise, frame: u64, codeword: &[u8]) -> Option<(u32, Vec<Cell>)> {
        if self.llrs.is_empty() {
            self.word.copy_from_slice(codeword);
            noise.flip(frame, &mut self.word);
            let cells = places(codeword, &self.word).into_iter().map(|bit| Cell { bit, region: 0 }).collect();
            return self.decode(codeword).map(|syndrome_weight| (syndrome_weight, cells));
        }
        noise.llrs(frame, codeword, &mut self.llrs);
        let syndrome_weight = self.decode(codeword)?;
        let mut cells = Vec::new();
        for (at, &llr) in self.llrs.iter().enumerate() {
            let llr = if bits::get(codeword, at) { -llr } else { llr };
            let region = self.regions.llrs.iter().position(|&of| of == llr).expect("an LLR of the channel") as u8;
            if region != self.regions.common {
                cells.push(Cell { bit: at as u32, region });
            }
        }
        Some((syndrome_weight, cells))
    }

    /// Decodes the current input.
    fn decode(&mut self, codeword: &[u8]) -> Option<u32> {
        self.decoded += 1;
        let verdict = match self.llrs.is_empty() {
            true => self.decoder.decode_hard(&mut self.word),
            false => self.decoder.decode_soft(&self.llrs, &mut self.word),
        };
        (!verdict.success || self.word != codeword).then_some(verdict.syndrome_weight)
    }

    fn pattern(&mut self, codeword: &[u8], particle: &Particle) -> Pattern {
        let syndrome_weight = self.failure(codeword, &particle.cells).expect("a pattern that fails");
        let errors = particle.errors(&self.regions).collect();
        Pattern { errors, syndrome_weight, left: places(codeword, &self.word) }
    }
}

/// Returns the positions in which two packed words differ, ascending.
fn places(a: &[u8], b: &[u8]) -> Vec<u32> {
    let mut found = Vec::new();
    for (index, (a, b)) in (0..).zip(a.iter().zip(b)) {
        let mut different = a ^ b;
        while different != 0 {
            let bit = different.leading_zeros();
            found.push(8 * index + bit);
            different ^= 0x80 >> bit;
        }
    }
    found
}

/// A pattern that is carried down the ladder.
#[derive(Clone)]
struct Particle {
    /// Cells outside the common region, by ascending bit.
    cells: Vec<Cell>,
    syndrome_weight: u32,
    /// Number of the pattern of the first rung that it descends from, whose codeword it keeps.
    ancestor: usize,
}

impl Particle {
    /// Returns the wrong bits, ascending.
    fn errors(&self, regions: &Regions) -> impl Iterator<Item = u32> {
        self.cells.iter().filter(|cell| cell.region < regions.negative).map(|cell| cell.bit)
    }
}

/// Counts of proposals.
#[derive(Default)]
struct Taken {
    proposals: u64,
    taken: u64,
    moved: u64,
}

impl Taken {
    fn share(part: u64, whole: u64) -> f64 {
        if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
    }

    fn acceptance(&self) -> f64 {
        Self::share(self.taken, self.proposals)
    }

    fn moved(&self) -> f64 {
        Self::share(self.moved, self.proposals)
    }
}

/// Returns a q at which the share of accepted proposals is better, if the share falls exponentially with q.
fn tuned(redraw: f64, acceptance: f64) -> f64 {
    let factor = libm::log(ACCEPTANCE) / libm::log(acceptance.clamp(1e-3, 0.999));
    (redraw * factor.clamp(0.25, 4.0)).clamp(1e-9, 1.0)
}

/// The chain of a pattern, with the decoder and the codewords that it needs.
struct Mover<'a> {
    judge: Judge,
    stream: &'a Stream,
    codewords: Vec<Vec<u8>>,
    codeword_bits: usize,
}

impl Mover<'_> {
    /// Makes one proposal.
    fn step(&mut self, particle: &mut Particle, redraw: &mut Redraw<'_>, mut draws: Draws<'_>, taken: &mut Taken) {
        taken.proposals += 1;
        if !redraw.propose(&particle.cells, &mut draws) {
            taken.taken += 1;
            return;
        }
        if let Some(syndrome_weight) = self.judge.failure(&self.codewords[particle.ancestor], &redraw.proposed) {
            std::mem::swap(&mut particle.cells, &mut redraw.proposed);
            particle.syndrome_weight = syndrome_weight;
            taken.taken += 1;
            taken.moved += 1;
        }
    }

    /// Finds a q at which a good share of proposals from `particles` would be accepted. No pattern moves, so the chain's q is fixed before
    /// it begins.
    fn trial(&mut self, particles: &[Particle], law: &Law, number: usize) -> f64 {
        let mut redraw = FIRST_REDRAW;
        for round in 0..TRIAL_ROUNDS {
            let (mut proposal, mut taken) = (Redraw::new(law, redraw, self.codeword_bits), Taken::default());
            for trial in 0..TRIALS {
                let mut particle = particles[trial * particles.len() / TRIALS].clone();
                let step = round * TRIALS as u64 + trial as u64;
                let draws = Draws::new(self.stream, Draw::Trial, 0, number, step);
                self.step(&mut particle, &mut proposal, draws, &mut taken);
            }
            if GOOD_ACCEPTANCE.contains(&taken.acceptance()) {
                break;
            }
            redraw = tuned(redraw, taken.acceptance());
        }
        redraw
    }
}

impl FrameTask {
    /// Carries patterns that fail down a ladder of raw bit error rates; `None` if it was interrupted. The result does not depend on thread,
    /// process or machine.
    ///
    /// # Arguments
    /// - `unit`: the number of the run; runs with different numbers are independent.
    ///
    /// # Errors
    /// A ladder that does not fall, numbers out of range, or too few failures at the first rung. For a soft level also cells with an age,
    /// or a ladder that does not end at the task's own rate.
    pub fn split(&self, spec: &SplitSpec, unit: u64, interrupted: &AtomicBool) -> Result<Option<SplitRun>> {
        self.check_ladder(&spec.ladder)?;
        check_redraw(spec.redraw)?;
        check_count("particles", spec.particles as u64, 2, 1 << PARTICLE_BITS)?;
        check_count("steps", u64::from(spec.steps), 0, 1 << STEP_BITS)?;
        check_count("most_frames", spec.most_frames, 1, u64::MAX)?;
        let seed = self.splitting_seed("split", spec, unit);
        let stream = Stream::new(seed, Purpose::Splitting);
        let (mut mover, laws) = self.mover(&spec.ladder, &stream)?;
        let Some((mut particles, frames)) = self.first(spec, seed, &mut mover, interrupted)? else {
            return Ok(None);
        };

        let mut rungs = vec![rung(spec.ladder[0], &particles, &mover.judge.regions)];
        let mut redraw = spec.redraw;
        for (index, pair) in laws.windows(2).enumerate() {
            let (index, law) = (index + 1, &pair[1]);
            let (log_mean, weights) = self.weights(&particles, &law.log_ratios(&pair[0]), law.common);
            let effective = 1.0 / (weights.iter().map(|weight| weight * weight).sum::<f64>() * weights.len() as f64);
            particles = resampled(&particles, &weights, Draws::new(&stream, Draw::Resample, index, 0, 0).uniform());
            let share = redraw.unwrap_or_else(|| mover.trial(&particles, law, 0));
            let (mut proposal, mut taken) = (Redraw::new(law, share, mover.codeword_bits), Taken::default());
            for (number, particle) in particles.iter_mut().enumerate() {
                for step in 0..spec.steps {
                    if interrupted.load(Ordering::Relaxed) {
                        return Ok(None);
                    }
                    let draws = Draws::new(&stream, Draw::Move, index, number, u64::from(step));
                    mover.step(particle, &mut proposal, draws, &mut taken);
                }
            }
            let log_ratio = rungs[index - 1].log_ratio + log_mean;
            let (acceptance, moved) = (taken.acceptance(), taken.moved());
            let found = rung(spec.ladder[index], &particles, &mover.judge.regions);
            rungs.push(Rung { log_ratio, effective, redraw: share, acceptance, moved, ..found });
            // q changes from this rung to the next: a chain whose q depended on its own past would not be a Markov chain.
            redraw = spec.redraw.or(Some(if GOOD_ACCEPTANCE.contains(&acceptance) || spec.steps == 0 {
                share
            } else {
                tuned(share, acceptance)
            }));
        }
        let decoded = mover.judge.decoded;
        let pattern = |particle: &Particle| mover.judge.pattern(&mover.codewords[particle.ancestor], particle);
        let patterns = particles.iter().map(pattern).collect();
        Ok(Some(SplitRun { frames, decoded, rungs, patterns }))
    }

    /// Walks among the patterns that fail at one raw bit error rate, a chain from each of `starts`; `None` if it was interrupted. The
    /// result does not depend on thread, process or machine.
    ///
    /// # Arguments
    /// - `starts`: for each chain the bits that are wrong at its start.
    /// - `sets`: listed sets of bits; records say which of them are wrong.
    /// - `unit`: chains with different numbers are independent.
    ///
    /// # Errors
    /// A soft level of cells with an age or of another rate, numbers out of range, or bits that are beyond the codeword or named twice.
    pub fn walk(
        &self,
        spec: &WalkSpec,
        starts: &[Vec<u32>],
        sets: &[Vec<u32>],
        unit: u64,
        interrupted: &AtomicBool,
    ) -> Result<Option<Vec<Chain>>> {
        self.check_ladder(&[spec.rber])?;
        check_redraw(spec.redraw)?;
        check_count("starts", starts.len() as u64, 1, 1 << PARTICLE_BITS)?;
        check_count("steps", u64::from(spec.steps), 0, 1 << STEP_BITS)?;
        check_count("every", u64::from(spec.every), 1, 1 << STEP_BITS)?;
        check_count("most_draws", u64::from(spec.most_draws), 1, 1 << STEP_BITS)?;
        let starts = self.checked_sets("starts", starts)?;
        let listed = Listed::new(self.checked_sets("sets", sets)?, self.code().codeword_bits(), spec.missing);
        let seed = self.splitting_seed("walk", spec, unit);
        let stream = Stream::new(seed, Purpose::Splitting);
        let (mut mover, laws) = self.mover(&[spec.rber], &stream)?;
        mover.codewords.push(vec![0; mover.judge.word.len()]);
        let mut source = Source::new(self.code(), seed);
        let mut chains = Vec::with_capacity(starts.len());
        for start in starts.iter().enumerate() {
            match walk(spec, start, &listed, &laws[0], &mut mover, &mut source, interrupted) {
                Some(chain) => chains.push(chain),
                None => return Ok(None),
            }
        }
        Ok(Some(chains))
    }

    /// Makes the mover of patterns at the rates of a ladder, and the law of each rate.
    fn mover<'a>(&self, ladder: &[f64], stream: &'a Stream) -> Result<(Mover<'a>, Vec<Law>)> {
        let probabilities: Vec<Vec<f64>> =
            ladder.iter().map(|&p| self.region_probabilities(p)).collect::<Result<_>>()?;
        let lowest = ladder.len() - 1;
        let common =
            (0..).zip(&probabilities[lowest]).max_by(|a, b| a.1.total_cmp(b.1)).expect("two regions or more").0;
        let laws = probabilities.into_iter().map(|probabilities| Law::new(probabilities, common)).collect();
        let llrs = self.region_llrs();
        let regions = Regions { negative: llrs.iter().filter(|&&llr| llr < 0).count() as u8, llrs, common };
        let codeword_bits = self.code().codeword_bits();
        let judge = Judge {
            decoder: self.decoder(&self.noise_at(ladder[lowest], 0)?)?,
            regions,
            word: vec![0; bits::bytes_for(codeword_bits)],
            llrs: vec![0; if self.is_soft() { codeword_bits } else { 0 }],
            decoded: 0,
        };
        Ok((Mover { judge, stream, codewords: Vec::new(), codeword_bits }, laws))
    }

    /// Finds patterns that fail at the first rung, with the channel's noise. Also returns the number of frames that this took.
    fn first(
        &self,
        spec: &SplitSpec,
        seed: u64,
        mover: &mut Mover<'_>,
        interrupted: &AtomicBool,
    ) -> Result<Option<(Vec<Particle>, u64)>> {
        let (mut noise, mut source) = (self.noise_at(spec.ladder[0], seed)?, Source::new(self.code(), seed));
        let mut codeword = vec![0; mover.judge.word.len()];
        let mut particles = Vec::with_capacity(spec.particles);
        for frame in 0..spec.most_frames {
            if interrupted.load(Ordering::Relaxed) {
                return Ok(None);
            }
            source.codeword(frame, &mut codeword);
            if let Some((syndrome_weight, cells)) = mover.judge.frame(&mut noise, frame, &codeword) {
                particles.push(Particle { cells, syndrome_weight, ancestor: particles.len() });
                mover.codewords.push(codeword.clone());
                if particles.len() == spec.particles {
                    return Ok(Some((particles, frame + 1)));
                }
            }
        }
        let found = format!("found {} failures of {} frames", particles.len(), spec.most_frames);
        let expected = format!("expected {} at {}, the first rung", spec.particles, spec.ladder[0]);
        Err(Error::config("ladder", format!("{found}, {expected}")))
    }

    /// Returns ln of the mean likelihood ratio of patterns, and the share of each pattern in it, from the ratios of regions.
    fn weights(&self, particles: &[Particle], log_ratios: &[f64], common: u8) -> (f64, Vec<f64>) {
        let log = |particle: &Particle| -> f64 {
            let mut counts = vec![0_u32; log_ratios.len()];
            particle.cells.iter().for_each(|cell| counts[usize::from(cell.region)] += 1);
            counts[usize::from(common)] = (self.code().codeword_bits() - particle.cells.len()) as u32;
            // A region without bits may also have no probability.
            let present = counts.into_iter().zip(log_ratios).filter(|&(count, _)| count > 0);
            present.map(|(count, log_ratio)| f64::from(count) * log_ratio).sum()
        };
        let logs: Vec<f64> = particles.iter().map(log).collect();
        let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = logs.iter().map(|log| libm::exp(log - largest)).collect();
        let sum: f64 = weights.iter().sum();
        (largest + libm::log(sum / weights.len() as f64), weights.iter().map(|weight| weight / sum).collect())
    }

    /// Returns the seed of run `unit`: it depends on all parameters of the run.
    fn splitting_seed(&self, what: &str, spec: &impl Serialize, unit: u64) -> u64 {
        let mut hasher = Sha256::new();
        hasher.update(format!("softsense {what}, version {SPLITTING_VERSION}\n{}\n", self.identity()));
        hasher.update(serde_json::to_string(spec).expect("a spec is plain data"));
        hasher.update(unit.to_be_bytes());
        u64::from_be_bytes(hasher.finalize()[..8].try_into().expect("eight of 32 bytes"))
    }

    fn check_ladder(&self, ladder: &[f64]) -> Result<()> {
        check_count("ladder", ladder.len() as u64, 1, 1 << RUNG_BITS)?;
        let least = if self.is_soft() { LEAST_GAUSSIAN_RBER } else { LEAST_RBER };
        for (index, &rber) in ladder.iter().enumerate() {
            softsense_base::expect_number(format!("ladder[{index}]"), rber, least, MOST_RBER)?;
        }
        if let Some(pair) = ladder.windows(2).find(|pair| pair[0] <= pair[1]) {
            let found =
                format!("found {} after {}, expected raw bit error rates in descending order", pair[1], pair[0]);
            return Err(Error::config("ladder", found));
        }
        match (&self.spec().channel, ladder) {
            // Numbers that were read from JSON may be off by their last bit.
            (ReadChannel::Gaussian { rber, .. }, [.., last]) if self.is_soft() && (last / rber - 1.0).abs() > 1e-12 => {
                let found = format!("found {last} as the last rate, expected {rber}, the rate for which LLRs are made");
                Err(Error::config("ladder", found))
            }
            _ => Ok(()),
        }
    }

    /// Returns the sets, each ascending.
    fn checked_sets(&self, path: &str, sets: &[Vec<u32>]) -> Result<Vec<Vec<u32>>> {
        let codeword_bits = self.code().codeword_bits();
        let checked = |(index, set): (usize, &Vec<u32>)| {
            let mut set = set.clone();
            set.sort_unstable();
            if let Some(twice) = set.windows(2).find(|pair| pair[0] == pair[1]) {
                let found = format!("found bit {} twice, expected different bits", twice[0]);
                return Err(Error::config(format!("{path}[{index}]"), found));
            }
            match set.last() {
                Some(&bit) if bit as usize >= codeword_bits => {
                    let found = format!("found bit {bit}, expected numbers of bits from 0 to below {codeword_bits}");
                    Err(Error::config(format!("{path}[{index}]"), found))
                }
                _ => Ok(set),
            }
        };
        sets.iter().enumerate().map(checked).collect()
    }
}

/// Runs one chain, given by its number and the bits that are wrong at its start; `None` if it was interrupted.
fn walk(
    spec: &WalkSpec,
    (number, start): (usize, &Vec<u32>),
    listed: &Listed,
    law: &Law,
    mover: &mut Mover<'_>,
    source: &mut Source,
    interrupted: &AtomicBool,
) -> Option<Chain> {
    let mut chain = Chain { draws: 0, redraw: 0.0, acceptance: 0.0, moved: 0.0, records: Vec::new(), last: None };
    let mut particle = None;
    for draw in 0..spec.most_draws {
        // The data is drawn with the other bits. Because of ties some decoders fail on one codeword and not on another, so both have to be
        // drawn given failure.
        source.codeword((number as u64) << STEP_BITS | u64::from(draw), &mut mover.codewords[0]);
        let mut draws = Draws::new(mover.stream, Draw::Fill, 0, number, u64::from(draw));
        let mut filled = Vec::new();
        if spec.fill {
            draws.choose(libm::log1p(-law.others), mover.codeword_bits, |at| filled.push(at as u32));
        }
        let cells = law.started(start, &filled, mover.judge.regions.negative, &mut draws);
        if interrupted.load(Ordering::Relaxed) {
            return None;
        }
        if let Some(syndrome_weight) = mover.judge.failure(&mover.codewords[0], &cells) {
            chain.draws = draw + 1;
            particle = Some(Particle { cells, syndrome_weight, ancestor: 0 });
            break;
        }
    }
    let Some(mut particle) = particle else { return Some(chain) };
    chain.redraw = match spec.redraw {
        Some(redraw) => redraw,
        None => mover.trial(std::slice::from_ref(&particle), law, number),
    };
    let (mut proposal, mut taken) = (Redraw::new(law, chain.redraw, mover.codeword_bits), Taken::default());
    let mut counts = vec![0; listed.sets.len()];
    for step in 1..=spec.steps {
        if interrupted.load(Ordering::Relaxed) {
            return None;
        }
        let draws = Draws::new(mover.stream, Draw::Move, 0, number, u64::from(step));
        mover.step(&mut particle, &mut proposal, draws, &mut taken);
        if step % spec.every == 0 {
            chain.records.push(listed.record(&particle, &mover.judge.regions, &mut counts));
        }
    }
    (chain.acceptance, chain.moved) = (taken.acceptance(), taken.moved());
    chain.last = Some(mover.judge.pattern(&mover.codewords[0], &particle));
    Some(chain)
}

/// Listed sets, indexed by the bits that they contain.
struct Listed {
    sets: Vec<Vec<u32>>,
    /// For each bit, the index in `of_bits` at which its sets begin; one more for the end.
    begins: Vec<usize>,
    of_bits: Vec<u32>,
    missing: u32,
}

impl Listed {
    fn new(sets: Vec<Vec<u32>>, codeword_bits: usize, missing: u32) -> Self {
        let mut pairs: Vec<(u32, u32)> =
            (0..).zip(&sets).flat_map(|(index, set)| set.iter().map(move |&bit| (bit, index))).collect();
        pairs.sort_unstable();
        let begins = (0..=codeword_bits).map(|bit| pairs.partition_point(|pair| (pair.0 as usize) < bit)).collect();
        Self { sets, begins, of_bits: pairs.into_iter().map(|pair| pair.1).collect(), missing }
    }

    /// Makes a record of the sets in a pattern; `counts` has a zero for each set.
    fn record(&self, particle: &Particle, regions: &Regions, counts: &mut [u32]) -> Record {
        let errors = particle.errors(regions).count() as u32;
        let mut record =
            Record { errors, syndrome_weight: particle.syndrome_weight, nearest: 0, nearest_wrong: 0, present: 0 };
        let of = |bit: u32| &self.of_bits[self.begins[bit as usize]..self.begins[bit as usize + 1]];
        let touched = || particle.errors(regions).flat_map(of);
        touched().for_each(|&set| counts[set as usize] += 1);
        let size = |set: u32| self.sets.get(set as usize).map_or(1, Vec::len) as u64;
        for &set in touched() {
            // The count of a set is reset when the set is looked at, also for the next record.
            let wrong = std::mem::take(&mut counts[set as usize]);
            if wrong == 0 {
                continue;
            }
            record.present += u32::from(u64::from(wrong + self.missing) >= size(set));
            let (mine, best) = (u64::from(wrong) * size(record.nearest), u64::from(record.nearest_wrong) * size(set));
            if mine > best || mine == best && set < record.nearest {
                (record.nearest, record.nearest_wrong) = (set, wrong);
            }
        }
        record
    }
}

/// Summarises the patterns at a rung.
fn rung(rber: f64, particles: &[Particle], regions: &Regions) -> Rung {
    let count = particles.len() as f64;
    let errors: Vec<usize> = particles.iter().map(|particle| particle.errors(regions).count()).collect();
    let mean = errors.iter().map(|&errors| errors as f64).sum::<f64>() / count;
    let squares: f64 = errors.iter().map(|&errors| (errors as f64 - mean) * (errors as f64 - mean)).sum();
    let mut families = vec![0; particles.len()];
    particles.iter().for_each(|particle| families[particle.ancestor] += 1);
    Rung {
        rber,
        log_ratio: 0.0,
        effective: 1.0,
        redraw: 0.0,
        acceptance: 0.0,
        moved: 0.0,
        mean_errors: mean,
        deviation_errors: libm::sqrt(squares / count),
        least_errors: errors.into_iter().min().unwrap_or(0),
        ancestors: families.iter().filter(|&&family| family > 0).count(),
        largest_family: families.iter().copied().max().unwrap_or(0),
        floor_like: particles.iter().filter(|p| (1..=TRAPPED_CHECKS).contains(&p.syndrome_weight)).count(),
        undetected: particles.iter().filter(|p| p.syndrome_weight == 0).count(),
    }
}

/// Resamples particles to the same number: each gets as many copies as its weight says, rounded down or up by one common random number.
fn resampled(particles: &[Particle], weights: &[f64], lot: f64) -> Vec<Particle> {
    let count = particles.len();
    let (mut drawn, mut sum) = (Vec::with_capacity(count), 0.0);
    for (particle, weight) in particles.iter().zip(weights) {
        sum += weight * count as f64;
        while drawn.len() < count && drawn.len() as f64 + lot < sum {
            drawn.push(particle.clone());
        }
    }
    // Rounding of the sum may leave some places empty.
    while drawn.len() < count {
        drawn.push(particles[count - 1].clone());
    }
    drawn
}

fn check_redraw(redraw: Option<f64>) -> Result<()> {
    redraw.map_or(Ok(()), |redraw| softsense_base::expect_number("redraw", redraw, 1e-9, 1.0))
}

fn check_count(path: &str, count: u64, least: u64, most: u64) -> Result<()> {
    // The last of `most` items, counted from zero, has to fit its part of the index of a draw.
    if (least..most).contains(&count) {
        return Ok(());
    }
    Err(Error::config(path, format!("found {count}, expected {least} to {}", most - 1)))
}
