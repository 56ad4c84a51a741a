//! Reading ahead: which reads follow one another, how far ahead of them pages are read, and which pages are on their way to the read
//! buffer.

use std::ops::Range;

use rustc_hash::FxHashMap;
use softsense_base::Ns;
use softsense_config::ids::{Lcn, Place};
use softsense_config::spec::ReadAheadSpec;
use softsense_ftl::Group;
use softsense_requests::Request;

use super::owners::ReadOwner;
use crate::slab::{AheadId, ReadId, RequestId, Slab};

/// Reads of a tenant that follow one another.
#[derive(Debug, Clone, Copy)]
struct Stream {
    /// The byte at which the next read of the stream begins.
    next_bytes: u64,
    /// Requests of the stream so far, as far as they are counted.
    requests: u32,
    /// Number of pages to read ahead; 0 where nothing is read ahead yet.
    window: u32,
    /// The first codeword that was neither asked for nor read ahead yet.
    end: Lcn,
    last_use: u64,
}

/// Pages on their way to the read buffer.
#[derive(Debug)]
struct UnderWay {
    owner: ReadOwner,
    group: Group,
    /// Number of the read in the back end.
    read: ReadId,
    places: Vec<Place>,
    /// Codewords of requests that wait for the read, and the instants since which they wait.
    waiting: Vec<(RequestId, Lcn, Ns)>,
}

/// A codeword that a request waits for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Awaited {
    pub(super) request: RequestId,
    pub(super) lcn: Lcn,
    pub(super) since: Ns,
}

#[derive(Debug)]
pub(super) struct ReadAhead {
    spec: ReadAheadSpec,
    codeword_bytes: u64,
    codewords_per_page: u64,
    /// The streams of each tenant.
    streams: Vec<Vec<Stream>>,
    requests: u64,
    under_way: Slab<AheadId, UnderWay>,
    /// The read with which each unit comes, by its place.
    places: FxHashMap<Place, AheadId>,
}

impl ReadAhead {
    pub(super) fn new(spec: ReadAheadSpec, codeword_bytes: u64, codewords_per_page: u32, tenants: usize) -> Self {
        Self {
            spec,
            codeword_bytes,
            codewords_per_page: codewords_per_page.into(),
            streams: vec![Vec::new(); tenants.max(1)],
            requests: 0,
            under_way: Slab::default(),
            places: FxHashMap::default(),
        }
    }

    /// Notes a read of a tenant. Returns the codewords that are to be read ahead.
    pub(super) fn saw(&mut self, tenant: usize, request: &Request) -> Range<Lcn> {
        self.requests += 1;
        let end_bytes = request.offset_bytes + request.bytes;
        let end = end_bytes.div_ceil(self.codeword_bytes);
        let streams = &mut self.streams[tenant];
        let Some(stream) = streams.iter_mut().find(|stream| stream.next_bytes == request.offset_bytes) else {
            let new = Stream { next_bytes: end_bytes, requests: 1, window: 0, end: Lcn(end), last_use: self.requests };
            if streams.len() < self.spec.streams as usize {
                streams.push(new);
            } else if let Some(oldest) = streams.iter_mut().min_by_key(|stream| stream.last_use) {
                *oldest = new;
            }
            return Lcn(end)..Lcn(end);
        };
        stream.next_bytes = end_bytes;
        stream.last_use = self.requests;
        stream.requests = (stream.requests + 1).min(self.spec.after_requests);
        if stream.requests < self.spec.after_requests {
            return Lcn(end)..Lcn(end);
        }
        stream.window = (2 * stream.window).clamp(self.spec.least_pages, self.spec.most_pages);
        let from = stream.end.max(Lcn(end));
        stream.end = from.max(Lcn(end + u64::from(stream.window) * self.codewords_per_page));
        from..stream.end
    }

    /// Whether a unit is on its way to the read buffer.
    pub(super) fn brings(&self, place: Place) -> bool {
        self.places.contains_key(&place)
    }

    /// Notes that a read has begun that the read buffer takes in.
    pub(super) fn began(&mut self, owner: ReadOwner, group: Group, read: ReadId, places: impl Iterator<Item = Place>) {
        let places: Vec<Place> = places.filter(|place| !self.places.contains_key(place)).collect();
        if places.is_empty() {
            return;
        }
        let (known, under_way) = (&mut self.places, &mut self.under_way);
        let index = under_way.insert(UnderWay { owner, group, read, places, waiting: Vec::new() });
        known.extend(under_way[index].places.iter().map(|&place| (place, index)));
    }

    /// Lets a request wait for a unit, if that is on its way. Returns the owner of its read, and the number of the read in the back end.
    pub(super) fn awaits(
        &mut self,
        now: Ns,
        request: RequestId,
        lcn: Lcn,
        place: Place,
    ) -> Option<(ReadOwner, ReadId)> {
        let read = &mut self.under_way[*self.places.get(&place)?];
        read.waiting.push((request, lcn, now));
        Some((read.owner, read.read))
    }

    /// Notes that a read has ended that may have brought some of these units. Returns the codewords of requests that waited for it.
    pub(super) fn ended(
        &mut self,
        owner: ReadOwner,
        group: Group,
        mut places: impl Iterator<Item = Place>,
    ) -> Vec<Awaited> {
        let of_it = |place| {
            let &read = self.places.get(&place)?;
            let UnderWay { owner: by, group: of, .. } = &self.under_way[read];
            (*by == owner && *of == group).then_some(read)
        };
        let Some(read) = places.find_map(of_it) else { return Vec::new() };
        let ended = &mut self.under_way[read];
        for place in std::mem::take(&mut ended.places) {
            self.places.remove(&place);
        }
        let waiting = std::mem::take(&mut ended.waiting);
        self.under_way.remove(read);
        waiting.into_iter().map(|(request, lcn, since)| Awaited { request, lcn, since }).collect()
    }

    /// Whether no page is on its way.
    pub(super) fn is_idle(&self) -> bool {
        self.places.is_empty() && self.under_way.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use softsense_requests::RequestKind;

    /// Do windows double from the second request on, for streams that are told apart, and do lone reads have none?
    #[test]
    fn windows_double_while_reads_follow_one_another() {
        let spec = ReadAheadSpec { after_requests: 2, least_pages: 1, most_pages: 4, streams: 2 };
        let mut ahead = ReadAhead::new(spec, 4096, 4, 1);
        let mut saw = |unit: u64| {
            let request =
                Request { arrival: Ns::ZERO, kind: RequestKind::Read, offset_bytes: 4096 * unit, bytes: 4096 };
            let wanted = ahead.saw(0, &request);
            (wanted.start.0, wanted.end.0)
        };
        assert_eq!([saw(10), saw(100)], [(11, 11), (101, 101)]);
        assert_eq!([saw(11), saw(12), saw(13), saw(14)], [(12, 16), (16, 21), (21, 30), (30, 31)]);
        assert_eq!(saw(101), (102, 106));
        // A third stream takes the place of the one that was quiet longest.
        assert_eq!([saw(500), saw(15), saw(501)], [(501, 501), (16, 16), (502, 506)]);
    }
}
