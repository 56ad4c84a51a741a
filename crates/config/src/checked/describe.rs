use softsense_base::{format_bytes, format_count};
use softsense_link::{FixedDraw, PredictorPlace, ReadSpec, ReliabilitySpec, Remembered};
use softsense_nand::InferredBy;

use super::{CheckedConfig, DecoderHardware};
use crate::spec::{
    BadBlocksSpec, Config, CopybackSpec, EncoderSpec, GcIdleSpec, InterconnectSpec, MeasurementSpec, ParitySpec,
    PowerLossSpec, ReadReclaimSpec, RefreshSpec, SchedulingSpec, ScrubSpec, SlcCacheSpec,
};

impl CheckedConfig {
    /// Returns labels and values to be shown to people.
    pub fn describe(&self) -> Vec<(String, String)> {
        let Config {
            geometry,
            flash,
            bus,
            decoder,
            encoder,
            interconnect,
            read,
            ftl,
            host,
            scheduling,
            power_loss,
            precondition,
            measurement,
            ..
        } = &self.config;
        let device = format!(
            "{} for the user of {} of flash ({:.1} % over-provisioned)",
            format_bytes(self.user_bytes()),
            format_bytes(self.geometry.codewords() * u64::from(geometry.codeword_bytes)),
            ftl.over_provisioning * 100.0
        );
        let read = describe_read(&read.with_what_is_known(&self.reliability));
        [
            ("device", Some(device)),
            ("geometry", Some(geometry.describe())),
            ("flash", Some(flash.describe())),
            ("bus, decoder", Some(format!("{}; {}", bus.describe(), decoder.describe()))),
            ("encoder", encoder.as_ref().map(EncoderSpec::describe)),
            ("interconnect", interconnect.as_ref().map(InterconnectSpec::describe)),
            ("decoder area", self.decoder_hardware().map(describe_hardware)),
            ("reliability", Some(self.describe_reliability())),
            ("read", Some(read)),
            ("host", Some(host.describe())),
            ("arbitration", self.has_tenants().then(|| host.arbitration.unwrap_or_default().describe())),
            ("scheduling", scheduling.as_ref().map(SchedulingSpec::describe)),
            ("power loss", power_loss.as_ref().map(PowerLossSpec::describe)),
            ("start", Some(precondition.describe())),
            ("measured", measurement.as_ref().map(MeasurementSpec::describe)),
            ("interleaving", ftl.interleaving.describe()),
            ("parity", ftl.parity.map(ParitySpec::describe)),
            ("mapping", ftl.mapping.describe()),
            ("victims", ftl.victims.describe()),
            ("collection", ftl.gc_pacing.describe()),
            ("idle collection", ftl.gc_idle.as_ref().map(GcIdleSpec::describe)),
            ("read reclaim", ftl.read_reclaim.as_ref().map(ReadReclaimSpec::describe)),
            ("refresh", ftl.refresh.as_ref().map(RefreshSpec::describe)),
            ("patrol scrub", ftl.scrub.as_ref().map(ScrubSpec::describe)),
            ("time scale", (ftl.time_scale != 1.0).then(|| format!("data ages {} s in a second", ftl.time_scale))),
            ("bad blocks", flash.bad_blocks.as_ref().map(BadBlocksSpec::describe)),
            ("copyback", flash.copyback.as_ref().map(CopybackSpec::describe)),
            ("SLC cache", ftl.slc_cache.as_ref().map(SlcCacheSpec::describe)),
        ]
        .into_iter()
        .filter_map(|(label, value)| Some((label.to_string(), value?)))
        .collect()
    }

    /// The function is here rather than beside its spec, because tables and codes tell more than the config.
    fn describe_reliability(&self) -> String {
        match &self.config.reliability {
            ReliabilitySpec::Perfect => "perfect: nothing fails at level 1".to_string(),
            ReliabilitySpec::Fixed { p_fail, drawn_for } => {
                let of = if *drawn_for == FixedDraw::Page { " of a page" } else { "" };
                format!("failure probability{of} by level {p_fail:?}, then 0")
            }
            ReliabilitySpec::Table(table) => {
                let about =
                    self.reliability.table().map_or_else(String::new, |table| format!(" ({})", table.describe()));
                let chips = match table.variation.chip_factors.as_slice() {
                    [] => String::new(),
                    factors => format!(", chips {factors:?} of it"),
                };
                format!("decode table {}{about}, at RBER {}{chips}", table.file, table.rber.describe())
            }
            ReliabilitySpec::Adaptive(adaptive) => {
                let rates = adaptive.rates.iter().map(|rate| {
                    format!(
                        "{} ({} units) to {} P/E cycles",
                        rate.file,
                        rate.units,
                        format_count(rate.to_pe_cycles.into())
                    )
                });
                let rates = rates.collect::<Vec<_>>().join(", ");
                let by = if adaptive.switch.observed().is_some() { "what is observed, at the start by " } else { "" };
                let of_page = match adaptive.codewords_per_page {
                    1 => String::new(),
                    several => format!(", {several} codewords a page"),
                };
                format!("code rates by {by}age{of_page}: {rates}; RBER {}", adaptive.rber.describe())
            }
            ReliabilitySpec::Bch(bch) => {
                let codes = self.bch_codes().into_iter().map(|code| {
                    let squeezed = match code.squeezed_bytes {
                        0 => String::new(),
                        bytes => format!(", {bytes} B squeezed"),
                    };
                    format!(
                        "{} B with {} errors{squeezed} to {} P/E cycles",
                        code.codeword_bytes,
                        code.correctable,
                        format_count(code.to_pe_cycles.into())
                    )
                });
                let how = if bch.exact { ", every read decoded" } else { "" };
                let codes = codes.collect::<Vec<_>>().join("; ");
                format!("BCH codes by age{how}: {codes}; RBER {}", bch.rber.describe())
            }
            ReliabilitySpec::Exact(exact) if self.reliability.knows_iterations() => format!(
                "every read decoded: {} by {} in at most {} iterations, at RBER {}",
                exact.code,
                exact.decoder,
                exact.max_iterations,
                exact.rber.describe()
            ),
            ReliabilitySpec::Exact(exact) => {
                format!("every read decoded: {}, at RBER {}", exact.code, exact.rber.describe())
            }
        }
    }
}

/// Describes the hardware of decoders in a few words.
fn describe_hardware(hardware: DecoderHardware) -> String {
    let DecoderHardware { count, node_nm, parts, mm2 } = hardware;
    format!(
        "{count} of {mm2:.3} mm2 at {node_nm} nm ({} gates, {} bits of memory): {:.2} mm2",
        format_count(parts.gates.round() as u64),
        format_count(parts.memory_bits.round() as u64),
        hardware.total_mm2()
    )
}

/// Describes how reads are done in a few words.
fn describe_read(read: &ReadSpec) -> String {
    let mut text = format!("{}, retry {}, levels 1 to {}", read.policy.name(), read.retry.name(), read.max_level);
    text += &match read {
        ReadSpec { retries: entries @ 1.., .. } => format!(", hard decisions by a retry table of {entries}"),
        ReadSpec { search_sensings: sensings @ 1.., .. } => {
            format!(", after a failure a search for valleys by {sensings} sensings of each boundary")
        }
        ReadSpec { infers_by: Some(InferredBy::Sentinels), .. } => {
            ", after a failure where known cells infer that references belong".to_string()
        }
        ReadSpec { infers_by: Some(InferredBy::ShareOfOnes), .. } => {
            ", after a failure where the share of ones infers that references belong".to_string()
        }
        _ => String::new(),
    };
    text += match read.remembered {
        Remembered::Nothing => "",
        Remembered::OfBlock => ", beginning where the block was decoded last",
        Remembered::OfLayer => ", beginning where the layer was decoded last",
    };
    if read.retries_ahead {
        text += ", retries sensed ahead";
    }
    if read.retry_sensing_percent < 100 {
        text += &format!(", retries sensed for {} % of the time", read.retry_sensing_percent);
    }
    if let Some(predictor) = read.predictor {
        let place = match predictor.place {
            PredictorPlace::Die => "die",
            PredictorPlace::Controller => "controller",
        };
        text += &format!(", failures predicted in the {place} from RBER {} on", predictor.threshold_rber);
    }
    text
}
