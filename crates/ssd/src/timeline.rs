//! What a read does that meets nobody: which resource is taken for what, from when to when.
//!
//! It is a [`Simulation`] of one request on an idle device, looked at after each event: what is taken then, and was not before,
//! has begun, and the other way round.

use softsense_base::{Error, Ns, Result};
use softsense_link::{DecodeAttempt, MAX_LEVEL, ReliabilitySpec};

use crate::checked::CheckedConfig;
use crate::request::{Request, RequestKind, RequestSource};
pub use crate::simulation::{Action, Resource};
use crate::simulation::{Occupied, Simulation};

/// A resource at work, from one instant to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Plane, bus or decoder.
    pub resource: Resource,
    /// What it does.
    pub action: Action,
    /// The level that it does it for.
    pub level: u8,
    /// Since the read was asked for.
    pub from: Ns,
    /// Later than `from`.
    pub to: Ns,
    /// Whether it was for a level that came to no attempt.
    pub wasted: bool,
}

/// A read of one codeword.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeline {
    /// The levels that were attempted, in their order.
    pub levels: Vec<u8>,
    /// Whether the codeword was decoded in the end.
    pub decoded: bool,
    /// The response time.
    pub latency: Ns,
    /// Spans in the order in which they begin; of one instant planes come before buses and decoders. They end with the read: a
    /// RESET after a sensing that was cut short is none of it.
    pub spans: Vec<Span>,
}

/// Reads of one codeword of a page type on a device that does nothing else, by its `read` and its times. Its own reliability,
/// ages, data and workload do not matter, and its map is taken to be in memory.
///
/// ```
/// use softsense_base::Ns;
/// use softsense_link::DecodeAttempt;
/// use softsense_ssd::checked::CheckedConfig;
/// use softsense_ssd::timeline::LoneRead;
///
/// # fn main() -> softsense_base::Result<()> {
/// let config = CheckedConfig::open("mlc-25nm", &["read.policy=progressive".into(), "read.retry=incremental".into()])?;
/// let attempt = |level, converged| DecodeAttempt {
///     level,
///     converged,
///     clean: false,
///     iterations: 20,
///     correct: converged,
///     syndrome_weight: None,
/// };
/// let read = LoneRead::new(&config, 0)?.timeline(300, &[attempt(1, false), attempt(2, true)])?;
/// assert_eq!(read.levels, [1, 2]);
/// // Sensing, transfer and decoding of hard decision, then of one level more.
/// assert_eq!(read.latency, Ns(1000 * (41 + 20 + 8 + 14 + 10 + 8)));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct LoneRead {
    config: CheckedConfig,
    page_type: usize,
}

impl LoneRead {
    /// # Errors
    /// When there is no such page type, or the device has codes by age or interleaved codewords: of these a unit of data is no
    /// codeword of one page.
    pub fn new(config: &CheckedConfig, page_type: usize) -> Result<Self> {
        let spec = config.config();
        let by_age = match spec.reliability {
            ReliabilitySpec::Adaptive(_) => Some("adaptive"),
            ReliabilitySpec::Bch(_) => Some("bch"),
            _ => None,
        };
        if let Some(by_age) = by_age {
            let message = "found codes by age, expected a device of one code";
            return Err(Error::config(format!("reliability.{by_age}"), message));
        }
        if config.geometry().ways() > 1 {
            let message = format!("found {}, expected 1: codewords of one page", config.geometry().ways());
            return Err(Error::config("ftl.interleaving.ways", message));
        }
        let page_types = spec.flash.page_types.len();
        if page_type >= page_types {
            return Err(Error::config("page_type", format!("found {page_type}, expected 0 to {}", page_types - 1)));
        }
        Ok(Self { config: config.clone(), page_type })
    }

    /// The read of a codeword whose decodes are known. It is a function of config, page type and arguments.
    ///
    /// # Arguments
    /// - `raw_errors`: wrong hard decisions of the codeword, by which a decoder may be bypassed.
    /// - `attempts`: what comes of levels 1, 2, ...: the deepest that is read is the last of them, whatever the config says.
    ///
    /// # Errors
    /// When there is no attempt, more than there are levels, or one at another level, or memory is short.
    pub fn timeline(&self, raw_errors: u32, attempts: &[DecodeAttempt]) -> Result<Timeline> {
        let levels: Vec<u8> = attempts.iter().map(|attempt| attempt.level).collect();
        if levels.is_empty() || !(1..=MAX_LEVEL).take(levels.len()).eq(levels.iter().copied()) {
            let message = format!("found levels {levels:?}, expected 1, 2, ... up to {MAX_LEVEL} at most");
            return Err(Error::config("attempts", message));
        }
        let reliability = self.config.reliability().clone().of_attempts(raw_errors, attempts);
        let config = self.config.for_lone_reads(self.page_type, reliability);
        let request = Request {
            arrival: Ns::ZERO,
            kind: RequestKind::Read,
            offset_bytes: 0,
            bytes: config.config().geometry.codeword_bytes.into(),
        };
        let mut simulation = Simulation::new(&config, Box::new(OneRequest(Some(request))), true)?;
        let mut watched = Watched::default();
        watched.look(simulation.now(), &simulation.occupied());
        while simulation.statistics().completed() == 0 && simulation.step()? {
            watched.look(simulation.now(), &simulation.occupied());
        }
        let decoded = simulation.statistics().uncorrectable == 0;
        let latency = simulation.take_log().first().expect("the read has completed").response;
        Ok(watched.timeline(decoded, latency))
    }
}

struct OneRequest(Option<Request>);

impl RequestSource for OneRequest {
    fn next_request(&mut self) -> Result<Option<Request>> {
        Ok(self.0.take())
    }

    fn fraction_read(&self) -> f64 {
        if self.0.is_some() { 0.0 } else { 1.0 }
    }
}

/// What was seen of a read.
#[derive(Default)]
struct Watched {
    /// What is taken, and since when.
    taken: Vec<(Occupied, Ns)>,
    /// What was taken, from when to when.
    ended: Vec<(Occupied, Ns, Ns)>,
    levels: Vec<u8>,
}

impl Watched {
    fn look(&mut self, now: Ns, occupied: &[Occupied]) {
        let begun = occupied.iter().filter(|each| !self.taken.iter().any(|(taken, _)| taken == *each));
        let begun: Vec<(Occupied, Ns)> = begun.map(|&each| (each, now)).collect();
        let transferred = begun.iter().filter(|(each, _)| each.action == Action::Transfer);
        self.levels.extend(transferred.map(|(each, _)| each.level));
        let ended = self.taken.extract_if(.., |(taken, _)| !occupied.contains(taken));
        self.ended.extend(ended.map(|(each, from)| (each, from, now)));
        self.taken.extend(begun);
    }

    fn timeline(mut self, decoded: bool, latency: Ns) -> Timeline {
        self.look(latency, &[]);
        let span = |&(Occupied { resource, action, level, .. }, from, to): &(Occupied, Ns, Ns)| {
            let wasted = !self.levels.contains(&level);
            Span { resource, action, level, from, to, wasted }
        };
        let mut spans: Vec<Span> = self.ended.iter().map(span).filter(|span| span.from < span.to).collect();
        spans.sort_by_key(|span| (span.from, span.resource, span.to));
        Timeline { levels: self.levels, decoded, latency, spans }
    }
}
