//! A timeline of one read on an idle device: which resource works on what, from when to when.
//! The timeline is a recording of a [`Simulation`] of one request on an idle device, from the beginning to the completion of the request.

use softsense_base::{Error, Ns, Result};
use softsense_config::checked::CheckedConfig;
use softsense_link::{CompiledPredictor, GivenCodeword, ReliabilitySpec, Step};
use softsense_requests::{Request, RequestKind, RequestSource};

pub use crate::simulation::{Action, Resource};
use crate::simulation::{Recorded, Simulation, Window};

/// A resource at work from one instant to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The plane, bus or decoder.
    pub resource: Resource,
    /// The operation of the resource.
    pub action: Action,
    /// The attempt that the operation belongs to, from 1.
    pub attempt: u8,
    /// The level of that attempt.
    pub level: u8,
    /// Begin, counted from the request for the read.
    pub from: Ns,
    /// End, later than `from`.
    pub to: Ns,
    /// Whether the operation was for an attempt that was not made.
    pub wasted: bool,
}

/// A read of one codeword.
#[derive(Debug, Clone)]
pub struct Timeline {
    /// The attempts that were made, in their order.
    pub steps: Vec<Step>,
    /// The predictor of the read, if it has one: it predicts whether the first attempt will decode.
    pub predictor: Option<CompiledPredictor>,
    /// Whether the codeword was decoded in the last attempt.
    pub decoded: bool,
    /// The response time.
    pub latency: Ns,
    /// Spans in the order in which they begin. At one instant planes come before buses and decoders. Spans end with the read: a RESET after
    /// a sensing that was cut short is not among them.
    pub spans: Vec<Span>,
}

/// Reads of one codeword of a page type on a device that does nothing else. They depend on the config's `read` and its times; its
/// reliability, ages, data and workload do not matter. The map counts as in memory, and nothing is remembered of other reads.
#[derive(Debug, Clone)]
pub struct LoneRead {
    config: CheckedConfig,
    page_type: usize,
}

impl LoneRead {
    /// # Errors
    /// When there is no such page type, or the device has codes by age or interleaved codewords: then a mapping unit is not one codeword in
    /// one page.
    pub fn new(config: &CheckedConfig, page_type: usize) -> Result<Self> {
        let spec = config.config();
        let by_age = match spec.reliability {
            ReliabilitySpec::Adaptive(_) => Some("adaptive"),
            ReliabilitySpec::Bch(_) => Some("bch"),
            _ => None,
        };
        if let Some(by_age) = by_age {
            let message = "found codes that change with age, expected one code for all ages";
            return Err(Error::config(format!("reliability.{by_age}"), message));
        }
        if config.geometry().ways() > 1 {
            let message =
                format!("found {}, expected 1: a codeword of the timeline lies in one page", config.geometry().ways());
            return Err(Error::config("ftl.interleaving.ways", message));
        }
        let page_types = spec.flash.page_types.len();
        if page_type >= page_types {
            return Err(Error::config("page_type", format!("found {page_type}, expected 0 to {}", page_types - 1)));
        }
        Ok(Self { config: config.clone(), page_type })
    }

    /// Simulates the read of a codeword. The timeline is a function of config, page type and codeword.
    ///
    /// # Errors
    /// When reads need measurements that the codeword's cells or its code do not provide, or memory is short.
    pub fn timeline(&self, codeword: GivenCodeword) -> Result<Timeline> {
        let config = self.config.for_lone_reads(self.config.reliability().clone().of_given(codeword))?;
        let geometry = config.geometry();
        // The first page of the type, as data lies in the order of its addresses.
        let pages = self.page_type as u64 * u64::from(geometry.planes_of_ssd());
        let codeword_bytes = u64::from(config.config().geometry.codeword_bytes);
        let request = Request {
            arrival: Ns::ZERO,
            kind: RequestKind::Read,
            offset_bytes: pages * u64::from(geometry.codewords_per_page()) * codeword_bytes,
            bytes: codeword_bytes,
        };
        let mut simulation = Simulation::new(&config, Box::new(OneRequest(Some(request))), true)?;
        simulation.record(Window { from: Ns::ZERO, to: Ns(u64::MAX) }, false);
        while simulation.statistics().completed() == 0 && simulation.step()? {}
        let decoded = simulation.statistics().uncorrectable == 0;
        let latency = simulation.take_log().first().expect("the read has completed").response;
        let predictor = config.config().read.predictor.and_then(|each| config.reliability().predictor(&each));
        let seen = simulation.take_recording().expect("it was recorded").spans;
        let transfers = seen.iter().filter(|span| span.action == Action::Transfer);
        let steps: Vec<Step> = transfers.filter_map(|span| span.step.map(|(_, step)| step)).collect();
        let span = |&Recorded { resource, action, step, from, to, .. }: &Recorded| {
            let (attempt, step) = step?;
            let wasted = usize::from(attempt) > steps.len();
            Some(Span { resource, action, attempt, level: step.level, from, to, wasted })
        };
        let spans = seen.iter().filter(|span| span.from < span.to).filter_map(span).collect();
        Ok(Timeline { steps, predictor, decoded, latency, spans })
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
