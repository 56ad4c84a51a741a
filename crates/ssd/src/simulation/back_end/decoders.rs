//! Decoders, in pools that serve a channel, an SSD or all. Within a pool it is first come, first served; what the host waits for goes
//! before the rest where the config says so.

use std::collections::VecDeque;

use softsense_base::{Ns, TotalNs};

use super::super::kernel::Kernel;
use super::array::NONE;
use crate::checked::CheckedConfig;
use crate::events::Event;

/// A codeword that has arrived to be decoded.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Arrived {
    pub(super) codeword: u32,
    /// The part of its read that was the last to arrive.
    pub(super) part: u32,
    pub(super) at: Ns,
    /// When it was with its decoders, where these are at a distance.
    pub(super) crossed_at: Ns,
}

/// What a decoder is at.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Decoding {
    /// None where no decoder is needed.
    pool: u32,
    pub(super) arrived: Arrived,
    pub(super) began: Ns,
}

impl Decoding {
    /// Whether it is a codeword that needed no decoder.
    #[inline]
    pub(super) fn bypassed(&self) -> bool {
        self.pool == NONE
    }
}

#[derive(Debug)]
struct Pool {
    idle: Vec<u32>,
    queue: VecDeque<Arrived>,
    /// Where the host goes first, what is not its.
    background: VecDeque<Arrived>,
    /// Codewords that are on links, and have their room here.
    on_the_way: usize,
    busy: TotalNs,
    /// Channels that hold the last part of a codeword for which there is no room; none while there is.
    holding: VecDeque<u32>,
}

#[derive(Debug)]
pub(super) struct Decoders {
    pools: Vec<Pool>,
    channels_of_pool: u32,
    buffer_codewords: usize,
    host_first: bool,
    /// Whether they are outside the SSDs.
    pub(super) pooled: bool,
    /// What is being decoded, by decoder and, where one has several codewords in work, by which of them.
    decoding: Vec<Decoding>,
    /// How many of those are decoders; after them come codewords that need none.
    decoders: u32,
    not_bypassing: Vec<u32>,
}

impl Decoders {
    pub(super) fn new(config: &CheckedConfig) -> Self {
        let spec = &config.config().decoder;
        let (channels_of_pool, in_work) = spec.pool(config.geometry());
        let pools = config.geometry().channels() / channels_of_pool;
        let pool = |index| Pool {
            idle: (index * in_work..(index + 1) * in_work).rev().collect(),
            queue: VecDeque::new(),
            background: VecDeque::new(),
            on_the_way: 0,
            busy: TotalNs::default(),
            holding: VecDeque::new(),
        };
        Self {
            pools: (0..pools).map(pool).collect(),
            channels_of_pool,
            buffer_codewords: spec.buffer_codewords.map_or(usize::MAX, |buffer| buffer as usize),
            host_first: spec.host_first,
            pooled: spec.placement.is_outside(),
            decoding: vec![Decoding::default(); (pools * in_work) as usize],
            decoders: pools * in_work,
            not_bypassing: Vec::new(),
        }
    }

    /// The pool that serves a channel.
    #[inline]
    pub(super) fn pool_of(&self, channel: u32) -> u32 {
        if self.channels_of_pool == 1 { channel } else { channel / self.channels_of_pool }
    }

    #[inline]
    pub(super) fn host_first(&self) -> bool {
        self.host_first
    }

    #[inline]
    pub(super) fn has_room(&self, pool: u32) -> bool {
        let pool = &self.pools[pool as usize];
        let taken = pool.queue.len() + pool.background.len() + pool.on_the_way;
        taken < pool.idle.len().saturating_add(self.buffer_codewords)
    }

    /// A channel holds a codeword for want of room.
    pub(super) fn hold(&mut self, pool: u32, channel: u32) {
        self.pools[pool as usize].holding.push_back(channel);
    }

    /// A codeword that has room in a pool sets out for it.
    pub(super) fn expect(&mut self, pool: u32) {
        self.pools[pool as usize].on_the_way += 1;
    }

    /// A codeword that had set out is there, before it is [submitted](Self::submit).
    pub(super) fn expected(&mut self, pool: u32) {
        self.pools[pool as usize].on_the_way -= 1;
    }

    /// A codeword has arrived: the decoder that takes it at once, or none, and it waits its turn.
    #[inline]
    pub(super) fn submit(&mut self, pool: u32, arrived: Arrived, of_host: bool) -> Option<u32> {
        let entry = &mut self.pools[pool as usize];
        let decoder = entry.idle.pop();
        if decoder.is_none() {
            let queue = if self.host_first && !of_host { &mut entry.background } else { &mut entry.queue };
            queue.push_back(arrived);
        }
        decoder
    }

    #[inline]
    pub(super) fn begin(&mut self, kernel: &mut Kernel, pool: u32, decoder: u32, arrived: Arrived, duration: Ns) {
        self.pools[pool as usize].busy += duration;
        self.decoding[decoder as usize] = Decoding { pool, arrived, began: kernel.now };
        kernel.schedule(duration, Event::DecodeDone { decoder });
    }

    /// A codeword that needs no decoder is done at once.
    pub(super) fn bypass(&mut self, kernel: &mut Kernel, arrived: Arrived) {
        let decoding = Decoding { pool: NONE, arrived, began: kernel.now };
        let index = match self.not_bypassing.pop() {
            Some(index) => {
                self.decoding[index as usize] = decoding;
                index
            }
            None => {
                self.decoding.push(decoding);
                self.decoding.len() as u32 - 1
            }
        };
        kernel.schedule(Ns::ZERO, Event::DecodeDone { decoder: index });
    }

    #[inline]
    pub(super) fn at(&self, decoder: u32) -> Decoding {
        self.decoding[decoder as usize]
    }

    /// A decode is over: the pool, the codeword that comes next, and the channel whose codeword has room now.
    #[inline]
    pub(super) fn free(&mut self, decoder: u32) -> Option<(u32, Option<Arrived>, Option<u32>)> {
        let Decoding { pool, .. } = self.decoding[decoder as usize];
        if pool == NONE {
            self.not_bypassing.push(decoder);
            return None;
        }
        let entry = &mut self.pools[pool as usize];
        let next = entry.queue.pop_front().or_else(|| entry.background.pop_front());
        if next.is_none() {
            entry.idle.push(decoder);
        }
        Some((pool, next, entry.holding.pop_front()))
    }

    /// The decoders that are at work, each with what it has taken.
    pub(super) fn at_work(&self) -> impl Iterator<Item = (u32, Arrived)> {
        let mut busy = vec![true; self.len()];
        self.pools.iter().flat_map(|pool| &pool.idle).for_each(|&decoder| busy[decoder as usize] = false);
        let at_work = (0..self.decoders).filter(move |&decoder| busy[decoder as usize]);
        at_work.map(|decoder| (decoder, self.decoding[decoder as usize].arrived))
    }

    pub(super) fn busy_ns(&self) -> f64 {
        self.pools.iter().map(|pool| pool.busy.0 as f64).sum()
    }

    pub(super) fn len(&self) -> usize {
        self.decoders as usize
    }
}
