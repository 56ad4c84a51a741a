//! Encoders, in pools that serve a channel, an SSD or all SSDs. Pages are encoded in the order in which they come, those of the host first
//! where the config says so. A page that has begun is finished before another begins. Either all pages of a block are the host's, or none
//! is, and each codeword takes as long as any other: so pages of a block leave in their order.

use crate::slab::ProgramId;
use std::collections::VecDeque;

use softsense_base::{Ns, TotalNs};
use softsense_config::checked::CheckedConfig;
use softsense_config::ids::Channel;

use super::super::kernel::Kernel;
use super::array::NONE;
use crate::events::Event;

/// Codewords of a page of a program that are to be encoded.
#[derive(Debug, Clone, Copy)]
struct Job {
    program: ProgramId,
    codewords: u32,
}

#[derive(Debug, Default)]
struct Pool {
    idle: Vec<u32>,
    /// The page that is being encoded, with the codewords of it that have not begun.
    current: Option<Job>,
    queue: VecDeque<Job>,
    /// Pages that are not the host's, where those of the host go first.
    background: VecDeque<Job>,
    /// Codewords of pages whose encoding has begun, and which have not gone to their chip.
    outstanding: u32,
    busy: TotalNs,
}

#[derive(Debug)]
pub(super) struct Encoders {
    pools: Vec<Pool>,
    channels_of_pool: u32,
    duration: Ns,
    buffer_codewords: u32,
    host_first: bool,
    /// Whether the encoders are outside the SSDs.
    pub(super) pooled: bool,
    /// The program whose codeword each encoder encodes, and the instant at which it began.
    encoding: Vec<(ProgramId, Ns)>,
}

impl Encoders {
    /// None where encoding takes no time.
    pub(super) fn new(config: &CheckedConfig) -> Option<Self> {
        let spec = config.config().encoder.as_ref()?;
        let channels_of_pool = config.geometry().channels_of(spec.placement);
        let (pools, count) = (config.geometry().channels() / channels_of_pool, spec.placement.count());
        let pool = |index| Pool { idle: (index * count..(index + 1) * count).rev().collect(), ..Pool::default() };
        Some(Self {
            pools: (0..pools).map(pool).collect(),
            channels_of_pool,
            duration: Ns::from_us(spec.time_us),
            buffer_codewords: spec.buffer_codewords.unwrap_or(u32::MAX),
            host_first: spec.host_first,
            pooled: spec.placement.is_outside(),
            encoding: vec![(ProgramId(NONE), Ns::ZERO); (pools * count) as usize],
        })
    }

    /// Queues a page of a program for encoding; the page holds data of the host or not.
    pub(super) fn submit(
        &mut self,
        kernel: &mut Kernel,
        channel: Channel,
        program: ProgramId,
        codewords: u32,
        of_host: bool,
    ) {
        let index = channel.0 / self.channels_of_pool;
        let pool = &mut self.pools[index as usize];
        let queue = if self.host_first && !of_host { &mut pool.background } else { &mut pool.queue };
        queue.push_back(Job { program, codewords });
        self.go_on(kernel, index);
    }

    /// Begins to encode what waits, as far as encoders are idle and the buffer has room.
    fn go_on(&mut self, kernel: &mut Kernel, index: u32) {
        let pool = &mut self.pools[index as usize];
        while !pool.idle.is_empty() {
            let Some(job) = &mut pool.current else {
                let queue = if pool.queue.is_empty() { &mut pool.background } else { &mut pool.queue };
                let Some(job) = queue.front() else { return };
                let room = self.buffer_codewords.saturating_sub(pool.outstanding);
                if job.codewords > room {
                    return;
                }
                pool.outstanding += job.codewords;
                pool.current = queue.pop_front();
                continue;
            };
            let program = job.program;
            job.codewords -= 1;
            if job.codewords == 0 {
                pool.current = None;
            }
            let encoder = pool.idle.pop().expect("one is idle");
            pool.busy += self.duration;
            self.encoding[encoder as usize] = (program, kernel.now);
            kernel.schedule(self.duration, Event::EncodeDone { encoder });
        }
    }

    /// Frees the encoder of a codeword that is encoded, and goes on with the next one. Returns the program of the codeword.
    pub(super) fn done(&mut self, kernel: &mut Kernel, encoder: u32) -> ProgramId {
        let program = std::mem::replace(&mut self.encoding[encoder as usize].0, ProgramId(NONE));
        let index = encoder / (self.encoding.len() / self.pools.len()) as u32;
        self.pools[index as usize].idle.push(encoder);
        self.go_on(kernel, index);
        program
    }

    /// Frees the buffer room of codewords that have gone to their chip on a channel.
    pub(super) fn left(&mut self, kernel: &mut Kernel, channel: Channel, codewords: u32) {
        let index = channel.0 / self.channels_of_pool;
        self.pools[index as usize].outstanding -= codewords;
        self.go_on(kernel, index);
    }

    pub(super) fn len(&self) -> usize {
        self.encoding.len()
    }

    /// The program whose codeword an encoder encodes.
    pub(super) fn program(&self, encoder: u32) -> ProgramId {
        self.encoding[encoder as usize].0
    }

    /// Adds a number for each encoder, which changes with the codeword in it; 0 for a free one.
    pub(super) fn look(&self, taken: &mut Vec<u128>) {
        taken.extend(self.encoding.iter().map(|&(program, since)| match program {
            ProgramId(NONE) => 0,
            _ => (1 + u128::from(program.0)) | (u128::from(since.0) << 33),
        }));
    }

    /// Starts counting anew for how long encoders are busy.
    pub(super) fn count_anew(&mut self) {
        self.pools.iter_mut().for_each(|pool| pool.busy = TotalNs::default());
    }

    /// Mean busy share of encoders over the time for which they have counted.
    pub(super) fn busy_share(&self, counted: Ns) -> f64 {
        let busy: f64 = self.pools.iter().map(|pool| pool.busy.0 as f64).sum();
        if counted > Ns::ZERO { busy / (counted.0 as f64 * self.encoding.len() as f64) } else { 0.0 }
    }
}
