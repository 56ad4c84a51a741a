//! One run from config and requests to its summary: a [`Simulation`] whose wall time is measured.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use softsense_base::{Error, Histogram, Ns, Result, TotalNs};
use softsense_config::checked::CheckedConfig;
use softsense_config::spec::{CacheAdmission, MODEL_VERSION, Mapping, PartialWrite};
use softsense_link::{DecodeTable, ReliabilitySpec};
use softsense_requests::trace::{Beyond, Trace};
use softsense_requests::{NoRequests, RequestKind};

use crate::series::{self, SeriesRow};
use crate::simulation::{Cause, CodewordSample, Grown, LogRow, Recording, Simulation, Sources, Window};
use crate::summary::{
    BackgroundWork, BadBlocksSummary, BusSchedulingSummary, CodeRatesSummary, CodewordReads, CopybackSummary,
    DramSummary, EncoderSummary, EnergySummary, GcPacingSummary, GcSummary, GrowthSummary, HostLinkSummary,
    InterconnectSummary, MachineSummary, MappingSummary, MeasurementSummary, OwnSummary, ParitySummary,
    PowerLossSummary, ReadAheadSummary, ReadBufferSummary, ReadReclaimSummary, ReadTimeUs, ReferencesSummary,
    RefreshSummary, Responses, SchedulingSummary, ScrubSummary, SlcCacheSummary, SlowestReads, Summary, Throughput,
    WearSummary, WritePacingSummary, WritesDetail,
};
use crate::tenants::{self, TenantSources, TenantSummary};

/// The source of the requests of a run.
pub enum Requests<'a> {
    /// A trace, and the treatment of addresses beyond the device.
    Trace(&'a Trace, Beyond),
    /// The config's `[workload]`, or the workloads and traces of its tenants.
    Workload,
}

/// Samples codewords of a device as it starts, spread evenly over the mapped ones.
///
/// # Errors
/// When memory is short, or the config's `reliability` knows no raw bit error rates.
pub fn sample_codewords(config: &CheckedConfig, count: u32) -> Result<Vec<CodewordSample>> {
    if !config.reliability().needs_age() {
        let message = "found a reliability without raw bit error rates, expected `table`, `adaptive`, `bch` or `exact`";
        return Err(Error::config("reliability", message));
    }
    Ok(Simulation::new(config, Box::new(NoRequests), false)?.sample_codewords(count))
}

/// One run.
pub struct Run {
    simulation: Simulation,
    config: CheckedConfig,
    source: serde_json::Value,
    setup_s: f64,
    wall_s: f64,
}

impl Run {
    /// Sets up a run: checks that the requests fit the device, builds the device and preconditions it.
    ///
    /// # Errors
    /// When the trace does not fit the device, when there is neither trace nor `[workload]`, or when there is a trace beside tenants.
    pub fn new(config: &CheckedConfig, requests: Requests, log_requests: bool) -> Result<Self> {
        let (sources, description, opened_s) = match requests {
            Requests::Trace(..) if config.has_tenants() => {
                let message = "found together with a trace to replay, expected only one of the two: a tenant names \
                               its own trace (`host.tenants[].trace`)";
                return Err(Error::config("host.tenants", message));
            }
            Requests::Trace(trace, beyond) => {
                config.check_flushes(trace.stats())?;
                let opened = Instant::now();
                let reader = trace.requests(config.user_bytes(), beyond)?;
                let opened_s = trace.scan_s() + opened.elapsed().as_secs_f64();
                (Sources::One(Box::new(reader)), serde_json::json!({ "trace": trace.stats() }), opened_s)
            }
            Requests::Workload if config.has_tenants() => {
                let TenantSources { sources, told, scan_s } = tenants::sources(config)?;
                (Sources::Tenants(sources), told, scan_s)
            }
            Requests::Workload => {
                let workload = config.workload()?;
                let source = workload.source(config.config().seed, config.user_bytes())?;
                (Sources::One(Box::new(source)), serde_json::json!({ "workload": workload }), 0.0)
            }
        };
        let begun = Instant::now();
        let mut simulation = Simulation::of(config, sources, log_requests)?;
        simulation.keep_series();
        let setup_s = begun.elapsed().as_secs_f64();
        Ok(Self { simulation, config: config.clone(), source: description, setup_s, wall_s: opened_s })
    }

    /// Simulates until about `completions` more requests have completed. Returns whether there is more to do.
    ///
    /// # Errors
    /// When a trace cannot be read on, or too many codewords have raw bit error rates beyond their decode table. The measurements so far
    /// remain.
    pub fn advance(&mut self, completions: u64) -> Result<bool> {
        self.advance_unless(&AtomicBool::new(false), completions)
    }

    /// Simulates as [`advance`](Self::advance) does, until `stop` is set.
    pub fn advance_unless(&mut self, stop: &AtomicBool, completions: u64) -> Result<bool> {
        let begun = Instant::now();
        let more = self.simulation.advance_unless(stop, completions);
        self.wall_s += begun.elapsed().as_secs_f64();
        if let Ok(false) = more {
            self.check_beyond_table()?;
        }
        more
    }

    fn check_beyond_table(&self) -> Result<()> {
        let (kind, most) = match &self.config.config().reliability {
            ReliabilitySpec::Table(table) => ("table", table.most_beyond),
            ReliabilitySpec::Adaptive(adaptive) => ("adaptive", adaptive.most_beyond),
            _ => return Ok(()),
        };
        let s = self.simulation.statistics();
        let percent = |codewords: u64| 100.0 * codewords as f64 / s.codewords_read().max(1) as f64;
        let beyond = &s.beyond_table;
        let share = percent(beyond.codewords());
        if share <= 100.0 * most {
            return Ok(());
        }
        let ends = self.config.reliability().table().map(DecodeTable::ends);
        let sides = [
            (beyond.below, "below", "first", "down to", "level 1 still fails in"),
            (beyond.above, "above", "last", "up to", "the deepest level fails in no more than"),
        ];
        let told = sides.iter().zip(beyond.rber).enumerate().filter(|(_, ((codewords, ..), _))| *codewords > 0);
        let told = told.map(|(end, ((codewords, side, point, to, fails), rber))| {
            let at = ends.map_or(String::new(), |ends| {
                format!(" of {:.3e}, where {fails} {:.1e} of codewords", ends[end].0, ends[end].1)
            });
            format!("{:.3} % lie {side} its {point} point{at}, {to} {rber:.3e}", percent(*codewords))
        });
        let message = format!(
            "found {share:.3} % of codeword reads at raw bit error rates outside the range of the decode table, \
             expected at most {} %, as the outcomes of these reads are guesses: {} (`softsense table build CODE \
             --for CONFIG` makes a table whose range has all rates)",
            100.0 * most,
            told.collect::<Vec<_>>().join(", ")
        );
        Err(Error::config(format!("reliability.{kind}.most_beyond"), message))
    }

    /// Returns the number of completed requests.
    pub fn requests(&self) -> u64 {
        self.simulation.statistics().completed()
    }

    /// Returns the number of scheduled events, arrivals of requests among them.
    pub fn events(&self) -> u64 {
        self.simulation.events()
    }

    /// Returns the share of the run that is over, in [0, 1]: of its requests, or of its time where a time ends it.
    pub fn fraction(&self) -> f64 {
        self.simulation.fraction()
    }

    /// Returns the simulated time.
    pub fn simulated(&self) -> Ns {
        self.simulation.now()
    }

    /// Returns the rows of the request log since the last call.
    pub fn take_log(&mut self) -> Vec<LogRow> {
        self.simulation.take_log()
    }

    /// Records the operations in a window of simulated time from now on; the simulation stays the same. A million spans end the recording
    /// early.
    pub fn record(&mut self, window: Window) {
        self.simulation.record(window, true);
    }

    /// Ends the recording that [`record`](Self::record) began and returns it; `None` without one.
    pub fn take_recording(&mut self) -> Option<Recording> {
        self.simulation.take_recording()
    }

    /// Returns the distribution of response times of one kind of request, or of all requests.
    pub fn responses(&self, kind: Option<RequestKind>) -> Histogram {
        self.simulation.statistics().of(kind)
    }

    /// Returns the distribution of response times of one kind of request of a tenant, or of all its requests, by the tenant's number in
    /// the config; `None` without such a tenant.
    pub fn responses_of_tenant(&self, tenant: usize, kind: Option<RequestKind>) -> Option<Histogram> {
        Some(self.simulation.statistics().tenants.get(tenant)?.of(kind))
    }

    /// Returns the names of tenants, in the order of the tenant numbers in the request log; empty without tenants.
    pub fn tenants(&self) -> Vec<&str> {
        self.config.config().host.tenants.iter().map(|tenant| tenant.name.as_str()).collect()
    }

    /// Returns the course of the run so far: 60 to 120 intervals of equal length (fewer for a run below 60 ms), with intervals of a warm-up
    /// first. The last interval of each part has half to one and a half of the length of the others.
    pub fn series(&self) -> Vec<SeriesRow> {
        series::series(&self.simulation)
    }

    /// Returns the results so far.
    pub fn summary(&self, interrupted: bool) -> Summary {
        let s = self.simulation.statistics();
        let spec = self.config.config();
        let count = s.codewords_read();
        let mean_us = |sum: TotalNs| (count > 0).then(|| sum.as_us() / count as f64);
        let share = |part: u64, rest: u64| (part + rest > 0).then(|| part as f64 / (part + rest) as f64);
        let time = &s.read_time;
        let time_us = ReadTimeUs {
            wait_plane: mean_us(time.wait_plane),
            sense: mean_us(time.sense),
            wait_bus: mean_us(time.wait_bus),
            transfer: mean_us(time.transfer),
            wait_decoder: mean_us(time.wait_decoder),
            decode: mean_us(time.decode),
            retries: mean_us(time.retries),
        };
        let slowest = [1.0, 0.01, 0.001].into_iter().filter_map(|share| SlowestReads::of(&s.reads_by_duration, share));
        let (least_erases, most_erases) = self.simulation.ftl().least_and_most_erases();
        let served = self.simulation.served();
        let has_deadlines = !self.config.read_deadlines().is_empty();
        Summary {
            softsense_version: env!("CARGO_PKG_VERSION").into(),
            model_version: MODEL_VERSION,
            config_sha256: self.config.sha256(),
            seed: spec.seed,
            policy: spec.read.policy.name().into(),
            retry: spec.read.retry.name().into(),
            references: ReferencesSummary::new(
                &spec.read,
                self.config.reliability(),
                self.simulation.own_asks_for_cells(),
            ),
            reliability: match &spec.reliability {
                ReliabilitySpec::Perfect => "perfect".into(),
                ReliabilitySpec::Fixed { .. } => "fixed".into(),
                ReliabilitySpec::Table(table) => format!("table {}", table.file),
                ReliabilitySpec::Adaptive(_) => "adaptive".into(),
                ReliabilitySpec::Bch(_) => "BCH by age".into(),
                ReliabilitySpec::Exact(exact) => format!("exact {}", exact.code),
            },
            idle_ages: self.config.idle_ages(),
            source: self.source.clone(),
            interrupted,
            requests: s.completed(),
            reads: s.reads.count(),
            writes: s.writes.count(),
            trims: s.trims.count(),
            flushes: s.flushes.count(),
            machine: MachineSummary {
                wall_s: self.wall_s,
                setup_s: self.setup_s,
                requests_per_s: if self.wall_s > 0.0 { s.completed() as f64 / self.wall_s } else { 0.0 },
                peak_rss_bytes: peak_rss_bytes(),
                own: self.simulation.own_costs().into_iter().map(OwnSummary::from).collect(),
            },
            simulated_s: s.last_completion.as_secs(),
            measurement: spec.measurement.map(|_| MeasurementSummary::of(self.simulation.warmed_up())),
            throughput: Throughput::new(s),
            tenants: (self.config.config().host.tenants.iter().zip(&s.tenants))
                .map(|(tenant, counted)| TenantSummary::new(&tenant.name, counted, has_deadlines))
                .collect(),
            response: Responses {
                read: s.reads.summary(),
                write: s.writes.summary(),
                flush: (s.flushes.count() > 0).then(|| s.flushes.summary()),
                all: s.all().summary(),
            },
            growth: s.growth.grown().map(|Grown { thirds_mean_us, rate, waiting }| GrowthSummary {
                thirds_mean_us,
                rate,
                waiting,
            }),
            codeword_reads: CodewordReads {
                count,
                mean_us: mean_us(time.total()),
                time_us,
                slowest: slowest.collect(),
                service_us: mean_us(s.read_service),
                level_histogram: s.level_histogram.to_vec(),
                interleaved: s.interleaved_codewords,
                crossing: s.crossing_units,
                soft_starts: s.soft_starts,
                attempts: count + s.retries,
                uncorrectable: s.uncorrectable,
                undetected: self.config.reliability().is_exact().then_some(s.undetected),
                beyond_table: self.config.reliability().has_tables().then_some(s.beyond_table.codewords()),
                uncorrectable_in_background: s.uncorrectable_in_background,
                from_controller: s.codewords_from_controller,
                unmapped: s.unmapped_codewords,
            },
            writes_detail: WritesDetail {
                host_codewords: s.host_codewords_written,
                coalesced_codewords: s.coalesced_codewords,
                gc_codewords: s.gc_codewords_programmed(),
                translation_codewords: s.translation_codewords_programmed(),
                padding_codewords: s.padding_codewords,
                write_amplification: served.write_amplification,
                read_modify_writes: s.read_modify_writes,
                merged_codewords: (self.config.config().host.partial_write == PartialWrite::Merge)
                    .then_some(s.merged_codewords),
                refused_codewords: s.refused_codewords,
                read_only_from_s: s.read_only_from.map(Ns::as_secs),
                left_in_buffer_codewords: self.simulation.buffered_codewords(),
                data_capacity_bytes: self.simulation.ftl().data_capacity() * u64::from(spec.geometry.codeword_bytes),
            },
            operations: s.operations,
            energy: EnergySummary::new(&s.energy, s.reads.count(), s.writes.count(), s.completed()),
            background: BackgroundWork::of(&served),
            gc: GcSummary {
                blocks_reclaimed: s.gc_victims,
                mean_valid_fraction: (s.gc_victims > 0).then(|| s.gc_victim_valid as f64 / s.gc_victim_room as f64),
                blocks_to_level_wear: s.gc_victims_to_level_wear,
                least_erases,
                most_erases,
                most_block_reads: self.simulation.ftl().most_block_reads(),
                free_blocks_at_start: served.free_blocks[0],
                free_blocks_at_end: served.free_blocks[1],
                used_up_room: served.used_up_room,
                pacing: self.simulation.is_paced().then(|| GcPacingSummary {
                    pauses: s.gc_pacing.pauses,
                    at_reserve: s.gc_pacing.at_reserve,
                    idle_blocks: s.gc_pacing.idle_victims,
                    least_free_blocks: s.gc_pacing.least_free_blocks(),
                    mean_free_blocks: s.gc_pacing.mean_free_blocks(),
                }),
            },
            wear: (s.operations.erases > 0 || spec.ftl.wear_levelling_spread.is_some()).then(|| {
                let wear = self.simulation.ftl().wear();
                WearSummary {
                    least_pe_cycles: wear.least,
                    mean_pe_cycles: wear.mean,
                    most_pe_cycles: wear.most,
                    widest_plane_spread: wear.widest_of_set,
                    levelled_to: spec.ftl.wear_levelling_spread,
                }
            }),
            read_reclaim: spec.ftl.read_reclaim.as_ref().map(|reclaim| ReadReclaimSummary {
                blocks: s.reclaimed_blocks,
                wordlines: s.reclaimed_wordlines,
                codewords: s.reclaim_codewords_programmed(),
                counter_bytes_per_block: reclaim.counter_bytes_per_block(self.config.geometry().wordlines_per_block()),
            }),
            power_loss: self.simulation.power_counts().map(|power| PowerLossSummary {
                losses: power.losses,
                lost_codewords: power.lost_codewords,
                mean_away_us: (power.losses > 0).then(|| power.away.0 as f64 / (1e3 * power.losses as f64)),
                longest_away_us: power.longest.as_us(),
                programs_again: power.programs_again,
                erases_again: power.erases_again,
                saved_pages: power.saved_pages,
                map_pages: power.map_pages,
                scanned_pages: power.scanned_pages,
            }),
            bad_blocks: self.simulation.ftl().bad_block_counts().map(|bad| BadBlocksSummary {
                factory: bad.factory,
                grown: bad.grown,
                grown_by_programs: bad.grown_by_programs,
                to_be_replaced: bad.to_be_replaced,
                failed_programs: bad.failed_programs,
                codewords_programmed_again: s.failed_program_codewords,
                spares_left: bad.spares_left,
                fewest_spares_of_plane: bad.fewest_spares_of_plane,
                retired: bad.retired,
            }),
            copyback: spec.flash.copyback.as_ref().map(|_| {
                let all = s.moved_pages_programmed();
                CopybackSummary { pages: s.copied_pages, share: (all > 0).then(|| s.copied_pages as f64 / all as f64) }
            }),
            refresh: (spec.ftl.refresh.is_some() || spec.ftl.scrub.is_some()).then(|| {
                let codewords = s.work(Cause::Refresh).codewords;
                let written = s.host_codewords_written;
                RefreshSummary {
                    blocks: s.maintenance.refreshed_blocks,
                    blocks_for_scrub: s.maintenance.refreshed_for_scrub,
                    blocks_late: s.maintenance.refreshed_late,
                    codewords,
                    write_amplification: (written > 0).then(|| codewords as f64 / written as f64),
                }
            }),
            scrub: self.simulation.scrub_turns().map(|(turns, owed, pages)| ScrubSummary {
                pages: s.work(Cause::Scrub).page_reads,
                codewords: s.maintenance.scrubbed_codewords,
                codewords_above: s.maintenance.scrubbed_above,
                codewords_recovered: s.maintenance.scrubbed_recovered,
                codewords_uncorrectable: s.maintenance.scrubbed_uncorrectable,
                blocks_found: s.maintenance.blocks_found,
                rounds: turns as f64 / pages as f64,
                behind: (turns > 0).then(|| owed as f64 / turns as f64),
            }),
            slc_cache: self.simulation.ftl().slc_room_and_valid().map(|(room, valid)| {
                let of_host = |codewords: u64| {
                    (s.host_codewords_written > 0).then(|| codewords as f64 / s.host_codewords_written as f64)
                };
                SlcCacheSummary {
                    cached_codewords: s.slc_codewords_programmed,
                    direct_codewords: s.host_codewords_programmed() - s.slc_codewords_programmed,
                    folded_codewords: s.folded_codewords_programmed(),
                    cached_share: share(
                        s.slc_codewords_programmed,
                        s.host_codewords_programmed() - s.slc_codewords_programmed,
                    ),
                    host_write_amplification: of_host(s.host_codewords_programmed()),
                    fold_write_amplification: of_host(s.folded_codewords_programmed()),
                    gc_write_amplification: of_host(s.gc_codewords_programmed()),
                    codewords_read: s.slc_codewords_read,
                    read_share: share(s.slc_codewords_read, count - s.slc_codewords_read),
                    blocks_folded: s.folded_blocks,
                    blocks_folded_in_idle_time: s.folded_blocks_in_idle_time,
                    capacity_bytes: room * u64::from(spec.geometry.codeword_bytes),
                    valid_bytes: valid * u64::from(spec.geometry.codeword_bytes),
                }
            }),
            parity: spec.ftl.parity.map(|parity| {
                let uber = self.simulation.expected_uber();
                ParitySummary {
                    data_pages: parity.data_pages,
                    recovered: s.recovered,
                    recovered_in_background: s.recovered_in_background,
                    recovery_reads: s.recovery_reads(),
                    programs: s.parity_pages_programmed(),
                    xor_buffer_bytes: self.config.xor_buffer_bytes(),
                    expected_uber_by_code: uber.map(|uber| uber.by_code),
                    expected_uber: uber.map(|uber| uber.with_parity),
                }
            }),
            read_buffer: spec.host.read_buffer.as_ref().map(|buffer| ReadBufferSummary {
                hits: s.read_buffer_hits,
                misses: s.read_buffer_misses,
                hit_ratio: share(s.read_buffer_hits, s.read_buffer_misses),
                refused_pages: (!buffer.takes_all()).then_some(s.read_buffer_refused),
                along: s.read_along_codewords,
                modify_hits: s.read_buffer_modify_hits,
                modify_misses: s.read_buffer_modify_misses,
            }),
            read_ahead: spec.host.read_ahead.map(|_| ReadAheadSummary {
                pages: s.read_ahead.pages,
                used_pages: s.read_ahead.used_pages,
                wasted_pages: s.read_ahead.pages.saturating_sub(s.read_ahead.used_pages),
                late_codewords: s.read_ahead.late_codewords,
                mean_late_us: (s.read_ahead.late_codewords > 0)
                    .then(|| s.read_ahead.waited.0 as f64 * 1e-3 / s.read_ahead.late_codewords as f64),
            }),
            mapping: match spec.ftl.mapping {
                Mapping::Page => None,
                Mapping::Demand(demand) => Some(MappingSummary {
                    entries: demand.capacity(),
                    hits: s.mapping_hits(),
                    misses: s.mapping_misses(),
                    hit_ratio: share(s.mapping_hits(), s.mapping_misses()),
                    read_hits: s.mapping_read_hits,
                    read_misses: s.mapping_read_misses,
                    read_hit_ratio: share(s.mapping_read_hits, s.mapping_read_misses),
                    refused_entries: (demand.admission != CacheAdmission::Always).then_some(s.mapping_refused),
                    evictions: s.mapping_evictions,
                    dirty_evictions: s.mapping_dirty_evictions,
                    translation_reads: s.translation_reads,
                    translation_programs: s.translation_codewords_programmed(),
                    refused_write_backs: s.refused_write_backs,
                }),
            },
            encoder: served.encoder_share.map(|utilisation| EncoderSummary { utilisation }),
            dram: (self.simulation.dram().zip(spec.host.dram)).map(|((_, crossed), dram)| DramSummary {
                gb_per_s: dram.speed.gb_per_s(),
                utilisation: served.dram_share.unwrap_or(0.0),
                host_bytes: crossed.host,
                flash_bytes: crossed.flash,
                map_bytes: crossed.map,
            }),
            write_pacing: served.pace_share.map(|utilisation| WritePacingSummary { utilisation }),
            host_link: (served.host_link_shares.zip(spec.host.link)).map(|(shares, link)| HostLinkSummary {
                gb_per_s: link.speed.gb_per_s(),
                commands: shares.commands,
                to_device: shares.to_device,
                to_host: shares.to_host,
            }),
            scheduling: self.simulation.schedule_counts().map(|counts| SchedulingSummary {
                chosen: counts.chosen,
                had_waited_enough: counts.had_waited_enough,
                most_passed_over: counts.most_passed_over,
                near_deadline: has_deadlines.then_some(counts.near_deadline),
                missed_deadlines: has_deadlines.then_some(s.missed_deadlines),
                bus: self.simulation.bus_schedule_counts().map(|counts| BusSchedulingSummary {
                    chosen: counts.chosen,
                    had_waited_enough: counts.had_waited_enough,
                    most_passed_over: counts.most_passed_over,
                }),
            }),
            interconnect: served.link_shares.map(|shares| InterconnectSummary {
                mean_us: mean_us(s.interconnect_time),
                link_from_ssds: shares.from_ssds,
                link_to_ssds: shares.to_ssds,
                switch_to_decoders: shares.switch_to_decoders,
                switch_from_encoders: shares.switch_from_encoders,
            }),
            code_rates: matches!(spec.reliability, ReliabilitySpec::Adaptive(_)).then(|| {
                let ftl = self.simulation.ftl();
                let switches = ftl.rate_switches();
                CodeRatesSummary {
                    blocks: ftl.superblocks_by_code(),
                    to_stronger: switches.map(|(stronger, _)| stronger),
                    to_weaker: switches.map(|(_, weaker)| weaker),
                }
            }),
            utilisation: served.utilisation,
        }
    }
}

/// Returns the largest resident set of this process so far, bytes; `None` where the kernel does not report it.
fn peak_rss_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
}
