//! Decoders, in pools that serve a channel, an SSD or all SSDs. Within a pool it is first come, first served; where the config says so,
//! codewords that the host waits for go before the rest. A codeword for which no decoder has room keeps those behind it waiting, also those
//! that would fit.

use crate::slab::CodewordId;
use std::collections::VecDeque;

use softsense_base::{Ns, TotalNs};
use softsense_config::checked::CheckedConfig;
use softsense_config::ids::Channel;
use softsense_config::spec::BchDecoderSpec;

use super::super::kernel::Kernel;
use super::array::NONE;
use crate::events::Event;

/// A codeword that has arrived to be decoded.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Arrived {
    pub(super) codeword: CodewordId,
    /// The part of its read that was the last to arrive.
    pub(super) part: u32,
    pub(super) at: Ns,
    /// The instant at which it was at its decoders, where these are at a distance.
    pub(super) crossed_at: Ns,
    pub(super) lane: Lane,
}

/// The share of a decoder that a codeword takes while it is in work there.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Lane {
    /// Cells of a circuit of fixed hardware, one for each error that the circuit corrects; 0 where places are all that a decoder has.
    cells: u32,
    /// Multipliers of the key equation that it takes.
    multipliers: u32,
    /// Number of such codewords that the decoder has in work at once.
    lanes: u32,
}

impl Lane {
    /// One of the places of a decoder, which has nothing else.
    pub(super) const PLACE: Self = Self { cells: 0, multipliers: 0, lanes: 1 };

    /// The share of a circuit of fixed hardware, for a code that corrects so many errors.
    pub(super) fn of_engine(spec: &BchDecoderSpec, correctable: u32) -> Self {
        let lane = spec.lane(correctable);
        Self {
            cells: spec.engine_correctable.unwrap_or_default().min(correctable),
            multipliers: lane.key_equation_multipliers,
            lanes: lane.lanes,
        }
    }
}

/// The codeword that a decoder is at.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Decoding {
    /// The pool of the decoder; none where no decoder is needed.
    pool: u32,
    pub(super) arrived: Arrived,
    pub(super) began: Ns,
}

impl Decoding {
    /// Whether the codeword needed no decoder.
    #[inline]
    pub(super) fn bypassed(&self) -> bool {
        self.pool == NONE
    }
}

/// Free hardware of decoders whose places are alike: of one circuit, or, where nothing is shared, of all decoders of a pool.
#[derive(Debug)]
struct Free {
    places: Vec<u32>,
    cells: u32,
    multipliers: u32,
}

impl Free {
    /// Number of codewords like this for which there is room.
    #[inline]
    fn fitting(&self, lane: Lane) -> usize {
        let of = |free: u32, each: u32| free.checked_div(each).map_or(usize::MAX, |n| n as usize);
        self.places.len().min(of(self.cells, lane.cells)).min(of(self.multipliers, lane.multipliers))
    }

    #[inline]
    fn take(&mut self, lane: Lane) -> Option<u32> {
        if self.fitting(lane) == 0 {
            return None;
        }
        self.cells -= lane.cells;
        self.multipliers -= lane.multipliers;
        self.places.pop()
    }
}

#[derive(Debug)]
struct Pool {
    free: Vec<Free>,
    queue: VecDeque<Arrived>,
    /// Codewords that are not the host's, where those of the host go first.
    background: VecDeque<Arrived>,
    /// Codewords that are on links, and for which room is kept here.
    on_the_way: usize,
    busy: TotalNs,
    /// Channels that hold the last part of a codeword, and the share of a decoder that it takes; there is no room for the first of them.
    holding: VecDeque<(Channel, Lane)>,
}

impl Pool {
    /// Whether one more codeword may come; room is kept for those on their way, too.
    #[inline]
    fn has_room(&self, lane: Lane, buffer_codewords: usize) -> bool {
        let queued = self.queue.len() + self.background.len();
        if queued > 0 {
            // A codeword that would fit waits behind one that does not.
            return queued + self.on_the_way < buffer_codewords;
        }
        let fitting = self.free.iter().map(|free| free.fitting(lane)).sum::<usize>();
        self.on_the_way < fitting.saturating_add(buffer_codewords)
    }

    /// Takes a decoder for the next codeword that waits, if there is room for it.
    #[inline]
    fn next(&mut self) -> Option<(u32, Arrived)> {
        let queue = if self.queue.is_empty() { &mut self.background } else { &mut self.queue };
        let &arrived = queue.front()?;
        let decoder = self.free.iter_mut().find_map(|free| free.take(arrived.lane))?;
        queue.pop_front();
        Some((decoder, arrived))
    }
}

#[derive(Debug)]
pub(super) struct Decoders {
    pools: Vec<Pool>,
    channels_of_pool: u32,
    places_of_circuit: u32,
    buffer_codewords: usize,
    host_first: bool,
    /// Whether the decoders are outside the SSDs.
    pub(super) pooled: bool,
    /// The codeword in each place of each decoder, in the order of decoders; after these come codewords that need no decoder.
    decoding: Vec<Decoding>,
    /// Number of places in decoders, which come first in `decoding`.
    in_decoders: u32,
    /// Number of decoders, by which busy times are divided.
    decoders: usize,
    not_bypassing: Vec<u32>,
}

impl Decoders {
    pub(super) fn new(config: &CheckedConfig) -> Self {
        let spec = &config.config().decoder;
        let channels_of_pool = config.geometry().channels_of(spec.placement);
        let pools = config.geometry().channels() / channels_of_pool;
        let (count, places) = (spec.placement.count(), config.codewords_at_once());
        // A codeword goes to a circuit that has room for it. Without circuits it does not matter where it goes.
        let (circuits, places, cells, multipliers) = match spec.engine() {
            Some(bch) => (count, places, bch.engine_correctable.unwrap_or_default(), bch.key_equation_multipliers),
            None => (1, count * places, 0, 0),
        };
        let circuit =
            |index| Free { places: (index * places..(index + 1) * places).rev().collect(), cells, multipliers };
        let pool = |index| Pool {
            free: (index * circuits..(index + 1) * circuits).map(circuit).collect(),
            queue: VecDeque::new(),
            background: VecDeque::new(),
            on_the_way: 0,
            busy: TotalNs::default(),
            holding: VecDeque::new(),
        };
        let in_decoders = pools * circuits * places;
        Self {
            pools: (0..pools).map(pool).collect(),
            channels_of_pool,
            places_of_circuit: places,
            buffer_codewords: spec.buffer_codewords.map_or(usize::MAX, |buffer| buffer as usize),
            host_first: spec.host_first,
            pooled: spec.placement.is_outside(),
            decoding: vec![Decoding::default(); in_decoders as usize],
            in_decoders,
            decoders: if spec.engine().is_some() { pools * circuits } else { in_decoders } as usize,
            not_bypassing: Vec::new(),
        }
    }

    /// The pool that serves a channel.
    #[inline]
    pub(super) fn pool_of(&self, channel: Channel) -> u32 {
        if self.channels_of_pool == 1 { channel.0 } else { channel.0 / self.channels_of_pool }
    }

    /// Whether a codeword may come from a channel that holds none.
    #[inline]
    pub(super) fn has_room(&self, pool: u32, lane: Lane) -> bool {
        let pool = &self.pools[pool as usize];
        pool.holding.is_empty() && pool.has_room(lane, self.buffer_codewords)
    }

    #[inline]
    pub(super) fn host_first(&self) -> bool {
        self.host_first
    }

    /// Notes that a channel holds a codeword for want of room.
    pub(super) fn hold(&mut self, pool: u32, channel: Channel, lane: Lane) {
        self.pools[pool as usize].holding.push_back((channel, lane));
    }

    /// Takes the channel that has held a codeword for the longest time, if there is room for the codeword now.
    #[inline]
    pub(super) fn let_in(&mut self, pool: u32) -> Option<Channel> {
        let pool = &mut self.pools[pool as usize];
        let &(_, lane) = pool.holding.front()?;
        if !pool.has_room(lane, self.buffer_codewords) {
            return None;
        }
        pool.holding.pop_front().map(|(channel, _)| channel)
    }

    /// Keeps room for a codeword that sets out for a pool.
    pub(super) fn expect(&mut self, pool: u32) {
        self.pools[pool as usize].on_the_way += 1;
    }

    /// Notes that a codeword which had set out is there, before it is [submitted](Self::submit).
    pub(super) fn expected(&mut self, pool: u32) {
        self.pools[pool as usize].on_the_way -= 1;
    }

    /// Takes the decoder for a codeword that has arrived. If there is none, the codeword waits its turn.
    #[inline]
    pub(super) fn submit(&mut self, pool: u32, arrived: Arrived, of_host: bool) -> Option<u32> {
        let entry = &mut self.pools[pool as usize];
        let in_the_background = self.host_first && !of_host;
        let take = |free: &mut Free| free.take(arrived.lane);
        let first = entry.queue.is_empty() && (!in_the_background || entry.background.is_empty());
        let decoder = if first { entry.free.iter_mut().find_map(take) } else { None };
        if decoder.is_none() {
            let queue = if in_the_background { &mut entry.background } else { &mut entry.queue };
            queue.push_back(arrived);
        }
        decoder
    }

    #[inline]
    pub(super) fn begin(&mut self, kernel: &mut Kernel, pool: u32, decoder: u32, arrived: Arrived, duration: Ns) {
        self.pools[pool as usize].busy += Ns(duration.0 / u64::from(arrived.lane.lanes));
        self.decoding[decoder as usize] = Decoding { pool, arrived, began: kernel.now };
        kernel.schedule(duration, Event::DecodeDone { decoder });
    }

    /// Ends a codeword that needs no decoder at once.
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

    /// Frees the place of a decode that is over. Returns the pool, which has room now.
    #[inline]
    pub(super) fn free(&mut self, decoder: u32) -> Option<u32> {
        let Decoding { pool, arrived: Arrived { lane, .. }, .. } = self.decoding[decoder as usize];
        if pool == NONE {
            self.not_bypassing.push(decoder);
            return None;
        }
        let circuits = &mut self.pools[pool as usize].free;
        let circuit = (decoder / self.places_of_circuit) as usize % circuits.len();
        let free = &mut circuits[circuit];
        free.places.push(decoder);
        free.cells += lane.cells;
        free.multipliers += lane.multipliers;
        Some(pool)
    }

    /// The codeword of a pool that comes next, with the decoder that takes it.
    #[inline]
    pub(super) fn next(&mut self, pool: u32) -> Option<(u32, Arrived)> {
        self.pools[pool as usize].next()
    }

    /// Number of codewords that may be in decoders at once.
    pub(super) fn places(&self) -> usize {
        self.in_decoders as usize
    }

    /// Adds a number for each of these places, which changes with the codeword in it; 0 for a free one.
    pub(super) fn look(&self, taken: &mut Vec<u128>) {
        let first = taken.len();
        let of = |each: &Decoding| (1 + u128::from(each.arrived.codeword.0)) | (u128::from(each.began.0) << 33);
        taken.extend(self.decoding[..self.places()].iter().map(of));
        let free = self.pools.iter().flat_map(|pool| &pool.free).flat_map(|free| &free.places);
        free.for_each(|&place| taken[first + place as usize] = 0);
    }

    /// Starts counting anew for how long decoders are busy.
    pub(super) fn count_anew(&mut self) {
        self.pools.iter_mut().for_each(|pool| pool.busy = TotalNs::default());
    }

    /// Busy time of the decoders of each pool together, in ns.
    pub(super) fn busy_ns(&self) -> impl Iterator<Item = f64> {
        self.pools.iter().map(|pool| pool.busy.0 as f64)
    }

    pub(super) fn pools(&self) -> usize {
        self.pools.len()
    }

    pub(super) fn len(&self) -> usize {
        self.decoders
    }
}
