//! Checks across stations: choices that exclude each other, and numbers that must fit one another.

use softsense_base::{Error, Faults, Result, expect_whole};
use softsense_link::{AgedBch, HardReferences, Observable, PredictorPlace, ReliabilitySpec};
use softsense_nand::Wear;

use super::CheckedConfig;
use crate::spec::MAX_INDEX;
use crate::spec::{
    AllocationPool, BusFirst, BusyUnit, DecodeTime, DecoderEnergy, GcPacing, InterleavedGroups, Layout, Mapping,
    PartialWrite, PlaneChoice, ReadReclaimSpec, RoundsAmong, RoundsReads, RoundsTake, ScrubLimit, TranslationPages,
};

/// Two choices that exclude each other.
struct Clash {
    /// Whether the config has both.
    found: bool,
    /// The config path that is refused.
    path: &'static str,
    /// The message: what was found and what was expected.
    message: String,
}

impl CheckedConfig {
    /// Checks the values of several stations against one another.
    pub(super) fn check_together(&self) -> Result<()> {
        // First come the values that make up layouts of blocks, which the other checks ask for.
        self.check_adaptive()?;
        self.check_bch()?;
        self.check_clashes()?;
        let mut faults = Faults::default();
        faults.see(self.check_start());
        faults.see(self.check_decoders());
        faults.see(self.check_codewords());
        faults.see(self.check_page_types());
        faults.see(self.check_max_level());
        faults.see(self.check_write_buffer());
        faults.see(self.check_die_failures());
        faults.see(self.check_bad_blocks());
        faults.end()
    }

    /// Checks that choices do not exclude each other, and that reads need only what the reliability knows.
    pub(super) fn check_clashes(&self) -> Result<()> {
        let mut faults = Faults::default();
        self.clashes()
            .into_iter()
            .filter(|clash| clash.found)
            .for_each(|clash| faults.add(Error::config(clash.path, clash.message)));
        faults.end()
    }

    /// Checks that there are enough free blocks, and that raw bit error rates are known at the age at which the run starts.
    fn check_start(&self) -> Result<()> {
        if let Some(free) = self.config.precondition.free_blocks {
            // The host opens one block, and collection another.
            let least = self.reserve_blocks() + 2;
            let most = self.config.ftl.gc_high_watermark_blocks.max(least);
            expect_whole("precondition.free_blocks", free, least, most)?;
        }
        for ssd in self.geometry.all_ssds() {
            let pe_cycles = self.start_ages.of_ssd(ssd);
            for pe_cycles in [*pe_cycles.start(), *pe_cycles.end()] {
                let start = Wear::unread(pe_cycles, self.start_ages.most_retention_hours(ssd));
                if let Some(message) = self.reliability.beyond(start) {
                    return Err(Error::config("precondition", message));
                }
            }
        }
        Ok(())
    }

    /// Checks that the dies that are to fail exist.
    fn check_die_failures(&self) -> Result<()> {
        let (dies, mut faults) = (self.geometry.dies(), Faults::default());
        for (index, failure) in self.config.flash.die_failures.iter().enumerate() {
            faults.see(expect_whole(format!("flash.die_failures[{index}].die"), failure.die, 0, dies - 1));
        }
        faults.end()
    }

    /// Returns the number of free superblocks of a set that are kept for collection.
    pub fn kept_for_collection(&self) -> u32 {
        self.config.flash.bad_blocks.map_or(1, |spec| spec.kept_for_collection())
    }

    /// Returns the free pages that writes of the host leave a set at the end of a collection, where writes keep its pace. They are two
    /// superblocks above the reserve: the next victim fills one before its erase frees one, and the host may have another open.
    pub fn pages_left_by_writes(&self) -> Option<u32> {
        let throttles = self.config.ftl.gc_pacing == GcPacing::ThrottleWrites;
        throttles.then(|| (self.reserve_blocks() + 2) * self.geometry.pages_per_superblock())
    }

    /// Returns the number of free superblocks of a set from which on collection never pauses.
    pub fn reserve_blocks(&self) -> u32 {
        self.config.ftl.gc_reserve_blocks.max(self.kept_for_collection())
    }

    /// Checks that there are enough spares for the blocks that are bad from the factory.
    fn check_bad_blocks(&self) -> Result<()> {
        let (planes, blocks) = (self.geometry.planes(), self.geometry.blocks_per_plane());
        self.config.flash.bad_blocks.map_or(Ok(()), |spec| spec.check_planes(self.config.seed, planes, blocks))
    }

    /// Lists all choices that exclude each other: a new feature that excludes another one is a row here.
    fn clashes(&self) -> [Clash; 76] {
        let config = &self.config;
        let (decoder, flash, reliability) = (&config.decoder, &config.flash, &config.reliability);
        let layouts = self.layouts();
        let crosses_pages = self.crosses_pages();
        let differ = self.geometry.all_ssds().map(|ssd| self.start_ages.of_ssd(ssd)).find(|pe_cycles| {
            let mut of_blocks = layouts.within(pe_cycles.clone());
            let first = of_blocks.next();
            of_blocks.any(|other| Some(other) != first)
        });
        let (reclaim, wordlines) = (&config.ftl.read_reclaim, self.geometry.wordlines_per_block());
        let (reclaims_wordlines, limits) = match reclaim {
            Some(ReadReclaimSpec::Wordline(spec)) => (true, spec.effective_reads.len()),
            _ => (false, 0),
        };
        let layers_differ = (1..wordlines).any(|wordline| {
            self.reliability.layer_factor(wordline, wordlines) != self.reliability.layer_factor(0, wordlines)
        });
        let gathered = self.gathers_writes();
        let (slc, page_types) = (config.ftl.slc_cache.as_ref(), flash.page_types.len() as u32);
        let by_age = matches!(reliability, ReliabilitySpec::Bch(_) | ReliabilitySpec::Adaptive(_));
        let (divides, several) = (self.geometry.ways() > 1, self.geometry.blocks_per_superblock() > 1);
        let has_tables = matches!(reliability, ReliabilitySpec::Table(_) | ReliabilitySpec::Adaptive(_));
        let programs_fail = flash.bad_blocks.is_some_and(|spec| spec.programs_fail());
        let scrub_limit = config.ftl.scrub.as_ref().and_then(|scrub| scrub.refresh_above);
        let pages_of_set =
            f64::from(self.geometry.blocks_per_plane()) * f64::from(self.geometry.pages_per_superblock());
        let least_period_days = pages_of_set * 1e-6 * config.ftl.time_scale / 86_400.0;
        let losses_us = config.power_loss.as_ref().and_then(|losses| losses.mean_interval_s).map(|mean_s| mean_s * 1e6);
        let programs_us = flash.page_types.iter().map(|of| of.program_us);
        let one_shot_us = flash.one_shot_program.then(|| programs_us.clone().sum());
        let of_slc_us = slc.map(|cache| cache.cells.program_us.max(cache.cells.erase_us));
        let longest_us = programs_us.chain(one_shot_us).chain(of_slc_us).fold(flash.erase_us, f64::max);
        let page_by_page = [
            (several, "`ftl.parity` or `ftl.interleaving.ways` above 1"),
            (crosses_pages, "`reliability.bch` codes whose parity does not fit into `oob_bytes`"),
            (config.ftl.mapping != Mapping::Page, "`ftl.mapping.demand`"),
            (flash.copyback.is_some(), "`flash.copyback`"),
        ];
        let page_by_page = page_by_page.into_iter().find_map(|(found, what)| found.then_some(what));
        let clash = |found, path, message| Clash { found, path, message };
        [
            // Both options define which blocks form a superblock.
            clash(
                config.ftl.parity.is_some() && config.ftl.interleaving.ways > 1,
                "ftl.parity",
                "found together with `ftl.interleaving.ways` above 1, expected `ftl.interleaving.ways = 1`: each of \
                 the two options decides which blocks form a superblock"
                    .into(),
            ),
            // A unit that goes on in the next page would be in two stripes, or beside parity.
            clash(
                config.ftl.parity.is_some() && crosses_pages,
                "ftl.parity",
                "found together with `reliability.bch` codes whose parity does not fit into `oob_bytes`, expected \
                 codes whose parity fits, or a larger `reliability.bch.oob_bytes`: this option needs codewords that \
                 lie in one page each"
                    .into(),
            ),
            // The rest of a unit that the end of a page has cut could not go on where its die has failed.
            clash(
                !flash.die_failures.is_empty() && crosses_pages,
                "flash.die_failures",
                "found together with `reliability.bch` codes whose parity does not fit into `oob_bytes`, expected \
                 codes whose parity fits, or a larger `reliability.bch.oob_bytes`: this option needs codewords that \
                 lie in one page each"
                    .into(),
            ),
            // Requests come either from the workload or from tenants.
            clash(
                self.has_tenants() && config.workload.is_some(),
                "host.tenants",
                "found together with a [workload] section, expected only one of the two: each tenant has its own \
                 `workload` or `trace`"
                    .into(),
            ),
            // A buffer programs the data that was written longest ago into one page, whichever tenant wrote it.
            clash(
                self.placement_handles() > 1 && config.host.write_buffer_bytes > 0,
                "host.tenants",
                "found `placement` together with `host.write_buffer_bytes`, expected `host.write_buffer_bytes = 0`: \
                 a page of the buffer holds data of several tenants"
                    .into(),
            ),
            // A page that is programmed before it is full cuts a unit that goes on in the next page.
            clash(
                crosses_pages && self.flushes(),
                "workload",
                "found `flush_fraction` or `fua_fraction` together with `reliability.bch` codes whose parity does \
                 not fit into `oob_bytes`, expected 0 for both, or a larger `reliability.bch.oob_bytes`: a unit of \
                 such a code may lie in two pages"
                    .into(),
            ),
            // Blocks that differ by one erase would be levelled for ever, and never be alike.
            clash(
                config.ftl.wear_levelling_spread.is_some_and(|spread| spread < flash.pe_cycles_per_erase),
                "ftl.wear_levelling_spread",
                format!(
                    "found fewer P/E cycles than one erase adds, expected at least `flash.pe_cycles_per_erase`, {}",
                    flash.pe_cycles_per_erase
                ),
            ),
            // Codewords that do not fill a group have a block of their own already.
            clash(
                self.placement_handles() > 1 && divides,
                "host.tenants",
                "found `placement` together with codewords that are divided among chips, expected \
                 `ftl.interleaving.ways = 1`"
                    .into(),
            ),
            // Batches and multi-plane commands have rules of their own for the next operation.
            clash(
                config.scheduling.is_some()
                    && flash.rounds.is_some_and(|rounds| rounds.take != RoundsTake::FirstOfEach),
                "scheduling",
                "found together with a `flash.rounds.take` of batches or multi-plane commands, expected \
                 `flash.rounds.take = \"first_of_each\"`: batches and multi-plane commands have their own rule for \
                 the next operation"
                    .into(),
            ),
            clash(
                config.scheduling.as_ref().is_none_or(|scheduling| scheduling.deadlines.is_none())
                    && config.host.tenants.iter().any(|tenant| tenant.read_deadline_us.is_some()),
                "host.tenants",
                "found `read_deadline_us` without `scheduling.deadlines`, expected a `scheduling.deadlines` table, \
                 which has the margin"
                    .into(),
            ),
            clash(
                config
                    .scheduling
                    .as_ref()
                    .and_then(|scheduling| scheduling.deadlines.as_ref())
                    .is_some_and(|deadlines| deadlines.only_near_suspend && flash.suspend.is_none()),
                "scheduling.deadlines.only_near_suspend",
                "found true without `flash.suspend`, expected false, or a `flash.suspend` table: reads near their \
                 deadline suspend programs and erases"
                    .into(),
            ),
            // Both options choose the next transfer.
            clash(
                config.scheduling.as_ref().is_some_and(|scheduling| scheduling.bus)
                    && config.bus.first != BusFirst::FirstCome,
                "scheduling.bus",
                "found true together with a `bus.first` other than \"first_come\", expected false, or `bus.first = \
                 \"first_come\"`: both options choose the next transfer"
                    .into(),
            ),
            // Programs and erases are suspended only for reads that go first.
            clash(
                flash.suspend.is_some() && !config.host.reads_first,
                "flash.suspend",
                "found together with `host.reads_first = false`, expected `host.reads_first = true`: programs and \
                 erases are suspended only for reads that go first"
                    .into(),
            ),
            // Without a map in flash there are no translation pages.
            clash(
                config.precondition.translation_pages != TranslationPages::Aged
                    && !matches!(config.ftl.mapping, Mapping::Demand(_)),
                "precondition.translation_pages",
                "found without `ftl.mapping.demand`, expected a map in flash, or no such field: only a map in flash \
                 has translation pages"
                    .into(),
            ),
            // The number of wrong bits is drawn with a decode table only; real decodes count their own.
            clash(
                decoder.bypass.is_some() && !has_tables,
                "decoder.bypass",
                "found without decode tables, expected `reliability.table` or `reliability.adaptive`: only with \
                 decode tables is the number of wrong bits drawn from the raw bit error rate"
                    .into(),
            ),
            // Decoders and encoders in SSDs need no link.
            clash(
                config.interconnect.is_some()
                    && !decoder.placement.is_outside()
                    && !config.encoder.as_ref().is_some_and(|encoder| encoder.placement.is_outside()),
                "interconnect",
                "found together with decoders and encoders inside the SSDs, expected `pool` as `decoder.placement` \
                 or `encoder.placement`: otherwise no codeword crosses the interconnect"
                    .into(),
            ),
            // The model of links knows one length of codewords.
            clash(
                config.interconnect.is_some() && matches!(reliability, ReliabilitySpec::Bch(_)),
                "interconnect",
                "found together with `reliability.bch`, expected another reliability: the interconnect has one \
                 length of codewords, and BCH codes by age have several"
                    .into(),
            ),
            // A page whose encoding has begun keeps its room in the buffer until it is whole.
            clash(
                config
                    .encoder
                    .as_ref()
                    .and_then(|encoder| encoder.buffer_codewords)
                    .is_some_and(|buffer| buffer < self.most_encoded_of_page() || divides || flash.one_shot_program),
                "encoder.buffer_codewords",
                format!(
                    "found a limit that does not leave room for all that is encoded together, expected at least {} \
                     (the codewords of a page), `ftl.interleaving.ways = 1` and no `flash.one_shot_program`; without \
                     this field the buffer has no limit",
                    self.most_encoded_of_page()
                ),
            ),
            // A controller observes only these numbers.
            clash(
                self.reliability.observed_switch().is_some_and(|switch| match switch.by {
                    Observable::MeanIterations => !self.reliability.knows_iterations(),
                    Observable::SyndromeWeight => !self.reliability.knows_syndrome_weights(),
                    Observable::CorrectedErrors { .. } => false,
                }),
                "reliability.adaptive.switch.observed.by",
                "found a quantity that the decode tables do not have, expected tables with `iterations` (for \
                 `mean_iterations`), tables with `bit_degrees` and `check_degrees` (for `syndrome_weight`), or \
                 `corrected_errors`"
                    .into(),
            ),
            // The number of iterations of a decode must be known.
            clash(
                matches!(decoder.time, DecodeTime::PerIterationUs(_) | DecodeTime::Ldpc(_))
                    && !self.reliability.knows_iterations(),
                "decoder.time",
                "found a time per iteration with a `reliability` that does not have numbers of iterations, expected \
                 `fixed_us`, a decode table with `iterations`, or `reliability.exact` with an LDPC code"
                    .into(),
            ),
            // The circuit's time follows from the code's length and strength, which only `reliability.bch` has.
            clash(
                matches!(decoder.time, DecodeTime::Bch(_)) && !matches!(reliability, ReliabilitySpec::Bch(_)),
                "decoder.time",
                "found `bch` without `reliability.bch`, expected `fixed_us`, `per_iteration_us`, or a \
                 `reliability.bch`"
                    .into(),
            ),
            // The circuit would be for another code than the one that is decoded.
            clash(
                matches!(decoder.time, DecodeTime::Ldpc(_))
                    && self.reliability.has_tables()
                    && self.reliability.ldpc_shapes().is_none(),
                "decoder.time",
                "found `ldpc` with a decode table whose LDPC code softsense cannot open, expected the table of a \
                 code that it can open, or `per_iteration_us`"
                    .into(),
            ),
            // The gates and the memory of a decoder must be known.
            clash(
                config.energy.decoder == DecoderEnergy::Circuit
                    && !matches!(decoder.time, DecodeTime::Bch(_) | DecodeTime::Ldpc(_)),
                "energy.decoder",
                "found `circuit` with a `decoder.time` that describes no circuit, expected `constant`, or \
                 `decoder.time.bch` or `decoder.time.ldpc`"
                    .into(),
            ),
            // The number of codewords at once follows from the engine's hardware.
            clash(
                decoder.engine().is_some() && decoder.codewords_at_once > 1,
                "decoder.codewords_at_once",
                format!(
                    "found {} together with `decoder.time.bch.engine_correctable`, expected 1: the engine decodes \
                     as many codewords at once as its hardware has room for",
                    decoder.codewords_at_once
                ),
            ),
            // With `perfect`, as in runs that slowdowns are measured against, nothing fails and nothing is retried.
            clash(
                config.read.references == HardReferences::RetryTable
                    && self.reliability.retries() == 0
                    && !matches!(reliability, ReliabilitySpec::Perfect),
                "read.references",
                "found `retry_table` with cells that have no retry table, expected cells (`rber.threshold_voltage`) \
                 with `references.retry_table_v`"
                    .into(),
            ),
            clash(
                config.read.references == HardReferences::ValleySearch
                    && self.reliability.valley_sensings().is_none()
                    && !matches!(reliability, ReliabilitySpec::Perfect),
                "read.references",
                "found `valley_search` with cells without a valley search, expected cells \
                 (`rber.threshold_voltage`) with `references.valley_search`"
                    .into(),
            ),
            clash(
                config.read.references.infers_by().is_some_and(|by| !self.reliability.infers_by(by))
                    && !matches!(reliability, ReliabilitySpec::Perfect),
                "read.references",
                "found inferred references with cells that do not say how to infer them, expected cells \
                 (`rber.threshold_voltage`) with a `references.inference` that has `sentinels` or `counted_cells`"
                    .into(),
            ),
            clash(
                config.read.retry_sensing_percent < 100
                    && !self.reliability.knows_shortened_sensing()
                    && !matches!(reliability, ReliabilitySpec::Perfect),
                "read.retry_sensing_percent",
                format!(
                    "found {} with cells that have no error rates for shorter sensings, expected 100, or cells \
                     (`rber.threshold_voltage`) with `shortened_sensing`",
                    config.read.retry_sensing_percent
                ),
            ),
            // A predictor needs the number of violated checks, and its threshold is for one code.
            clash(
                config.read.predictor.is_some_and(|predictor| self.reliability.predictor(&predictor).is_none())
                    && !matches!(reliability, ReliabilitySpec::Perfect),
                "read.predictor",
                "found a predictor with a `reliability` that has no numbers of violated checks of one code, \
                 expected a decode table with `bit_degrees` and `check_degrees`, or `reliability.exact` with an LDPC \
                 code"
                    .into(),
            ),
            // The die moves references by the share of ones only, and has only its own page.
            clash(
                config.read.predicts(PredictorPlace::Die)
                    && (config.read.references != HardReferences::ShareOfOnes || divides),
                "read.predictor.place",
                "found `die` without `read.references = \"share_of_ones\"`, or with codewords that are divided \
                 among chips, expected `controller`, or those references and `ftl.interleaving.ways = 1`"
                    .into(),
            ),
            // The controller has to see violated checks to choose by them.
            clash(
                config.read.sees_syndrome_weights()
                    && !self.reliability.knows_syndrome_weights()
                    && !matches!(reliability, ReliabilitySpec::Perfect),
                "read.soft_references",
                "found `fewest_violated` with a `reliability` that has no numbers of violated checks, expected \
                 `cells`, a decode table with `bit_degrees` and `check_degrees`, or `reliability.exact` with an LDPC \
                 code"
                    .into(),
            ),
            // The sensing ahead would overwrite the page that is being transferred.
            clash(
                config.read.policy.looks_ahead() && !flash.cache_register,
                "read.policy",
                format!(
                    "found `{}` together with `flash.cache_register = false`, expected `flash.cache_register = \
                     true`, or a policy that does not look ahead: without the register a plane cannot sense while it \
                     transfers",
                    config.read.policy.name()
                ),
            ),
            clash(
                config.read.retries_ahead && !flash.cache_register,
                "read.retries_ahead",
                "found true together with `flash.cache_register = false`, expected false, or `flash.cache_register \
                 = true`: without the register a plane cannot sense while it transfers"
                    .into(),
            ),
            // A unit would lie in pages of two groups, each of as many chips as there are ways.
            clash(
                crosses_pages && divides,
                "ftl.interleaving.ways",
                "found several ways together with `reliability.bch` codes whose parity does not fit into \
                 `oob_bytes`, expected 1, `ftl.interleaving.groups = \"none\"`, or a larger \
                 `reliability.bch.oob_bytes`: a unit of such a code may lie in two pages"
                    .into(),
            ),
            // Translation pages are written one at a time: the rest of a unit that the end of a page cuts would wait for the next one.
            clash(
                crosses_pages && config.ftl.mapping != Mapping::Page,
                "ftl.mapping",
                "found a map in flash together with `reliability.bch` codes whose parity does not fit into \
                 `oob_bytes`, expected `page`, or a larger `reliability.bch.oob_bytes`: a unit of such a code may \
                 lie in two pages"
                    .into(),
            ),
            // A page of the buffer would hold parts of codewords whose other parts lie elsewhere.
            clash(
                config.host.read_buffer.is_some() && divides,
                "host.read_buffer",
                "found together with codewords that are divided among chips, expected `ftl.interleaving.ways = 1`"
                    .into(),
            ),
            // Read reclaim counts sensings of cells that reads disturb.
            clash(
                reclaim.is_some()
                    && self.reliability.read_disturb().is_none()
                    && !matches!(reliability, ReliabilitySpec::Perfect),
                "ftl.read_reclaim",
                "found read reclaim with cells that reads do not disturb, expected `read_disturb` in the cells of \
                 `rber.threshold_voltage`"
                    .into(),
            ),
            // A wordline would hold parts of codewords whose other parts lie elsewhere.
            clash(
                reclaims_wordlines && (several || crosses_pages),
                "ftl.read_reclaim.wordline",
                "found together with codewords that lie in several pages, or with blocks that are collected \
                 together, expected `ftl.read_reclaim.block`, or `ftl.interleaving.ways = 1`, no `ftl.parity` and no \
                 units that cross pages"
                    .into(),
            ),
            // Several limits need layer factors, which tell the wordlines apart.
            clash(
                limits > 1
                    && (limits > wordlines as usize || !layers_differ)
                    && !matches!(reliability, ReliabilitySpec::Perfect),
                "ftl.read_reclaim.wordline.effective_reads",
                format!(
                    "found {limits} limits for {wordlines} wordlines of a block, expected one limit, or at most as \
                     many limits as wordlines together with `layer_factors` or `layer_sigma` in the variation of \
                     `reliability`"
                ),
            ),
            // A logical page goes to one place, which is one page of one code, whatever else is written.
            clash(
                config.ftl.allocation_pool != AllocationPool::Ssd
                    && (gathered.is_some() || config.precondition.layout == Layout::SteadyState),
                "ftl.allocation_pool",
                format!(
                    "found {:?} together with {}, expected `ssd`, or pages that are programmed for one request each \
                     and `precondition.layout = \"sequential\"`",
                    config.ftl.allocation_pool,
                    gathered.unwrap_or("`precondition.layout = \"steady_state\"`")
                )
                .to_lowercase(),
            ),
            clash(
                config.ftl.whole_pages
                    && (gathered.is_some() || config.host.partial_write == PartialWrite::ReadModifyWrite),
                "ftl.whole_pages",
                format!(
                    "found together with {}, expected false, or pages that are programmed for one request each and \
                     `host.partial_write` = \"pad\" or \"copy_back\"",
                    gathered.unwrap_or("`host.partial_write = \"read_modify_write\"`")
                ),
            ),
            // The old page is merged with the new one when that is programmed, which is not possible where codewords are gathered.
            clash(
                config.host.partial_write == PartialWrite::CopyBack && gathered.is_some(),
                "host.partial_write",
                format!(
                    "found `copy_back` together with {}, expected another value, or pages that are programmed for \
                     one request each",
                    gathered.unwrap_or_default()
                ),
            ),
            // A page that is sensed ahead keeps its unit until all pages of its group have arrived, and these would wait for that unit.
            clash(
                flash.busy_unit == BusyUnit::Channel && config.ftl.interleaving.ways > 1,
                "flash.busy_unit",
                "found `channel` together with `ftl.interleaving.ways` above 1, expected `chip`, `die` or `plane`, \
                 or `ftl.interleaving.ways = 1`: the chips of a codeword work at the same time"
                    .into(),
            ),
            clash(
                flash.rounds.is_some_and(|rounds| rounds.take.is_multi_plane() || rounds.among == RoundsAmong::Die)
                    && flash.busy_unit != BusyUnit::Plane,
                "flash.rounds",
                "found commands to planes of a die together with larger busy units, expected `flash.busy_unit = \
                 \"plane\"`"
                    .into(),
            ),
            // Units that begin together have to be parts of the named component.
            clash(
                flash.busy_unit == BusyUnit::Channel
                    && flash.rounds.is_some_and(|rounds| rounds.among == RoundsAmong::Chip),
                "flash.rounds.among",
                "found `chip` together with `flash.busy_unit = \"channel\"`, expected `channels`, or a smaller \
                 `flash.busy_unit`"
                    .into(),
            ),
            // A page that is sensed ahead keeps its unit until all pages of its group have arrived, and these would wait for that unit.
            clash(
                flash.rounds.is_some() && config.ftl.interleaving.ways > 1,
                "flash.rounds",
                "found together with `ftl.interleaving.ways` above 1, expected `ftl.interleaving.ways = 1`: a page \
                 that is sensed ahead would wait for the other pages of its codeword, and their units for this page"
                    .into(),
            ),
            clash(
                flash
                    .rounds
                    .is_some_and(|rounds| rounds.reads == RoundsReads::Independent && !rounds.take.is_multi_plane()),
                "flash.rounds.reads",
                "found \"independent\" without multi-plane commands, expected `flash.rounds.take` = \"multi_plane\" \
                 or \"multi_plane_any_page\": in other rounds the units share control, and read together"
                    .into(),
            ),
            // A suspension stops a die, and each unit of a gang or a batch would begin an operation while others are at work.
            clash(
                flash.suspend.is_some() && flash.rounds.is_some_and(|rounds| !rounds.take.is_multi_plane()),
                "flash.rounds",
                "found together with `flash.suspend`, expected `flash.rounds.take` = \"multi_plane\" or \
                 \"multi_plane_any_page\", or no `flash.suspend`: only a multi-plane command can be suspended as a \
                 whole"
                    .into(),
            ),
            clash(
                flash.cache_program && flash.rounds.is_some_and(|rounds| !rounds.take.is_multi_plane()),
                "flash.cache_program",
                "found together with `flash.rounds`, expected `flash.rounds.take` = \"multi_plane\" or \
                 \"multi_plane_any_page\", or `flash.cache_program = false`: only with multi-plane commands is the \
                 next program known while units program"
                    .into(),
            ),
            clash(
                flash.one_shot_program && page_by_page.is_some(),
                "flash.one_shot_program",
                format!(
                    "found together with {}, expected only one of the two: the latter needs pages that are \
                     programmed one by one",
                    page_by_page.unwrap_or_default()
                ),
            ),
            clash(
                flash.one_shot_program
                    && (page_types < 2 || !self.geometry.pages_per_block().is_multiple_of(page_types)),
                "flash.one_shot_program",
                format!(
                    "found together with {page_types} page types and {} pages per block, expected two page types or \
                     more, and a `geometry.pages_per_block` that is a multiple of their number",
                    self.geometry.pages_per_block()
                ),
            ),
            // Planes of several chips are written at once, or take turns, so the rule cannot choose a plane.
            clash(
                config.ftl.plane_choice == PlaneChoice::MostFree && several,
                "ftl.plane_choice",
                format!(
                    "found `most_free` together with {}, expected `in_turn`: planes of several chips take turns, or \
                     are written together",
                    if config.ftl.parity.is_some() { "`ftl.parity`" } else { "`ftl.interleaving.ways` above 1" }
                ),
            ),
            // A read that finds its unit free before the program of its data arrives there would sense a page that is not programmed.
            clash(
                !config.host.serves_in_flight
                    && (gathered.is_some() || config.encoder.is_some() || config.host.dram.is_some()),
                "host.serves_in_flight",
                format!(
                    "found false together with {}, expected true: data then waits in memory before its page is \
                     programmed, and a read would find the page empty",
                    gathered.unwrap_or(if config.encoder.is_some() { "encoders" } else { "DRAM" })
                ),
            ),
            // Mapping units that share a codeword, and pages that a unit crosses, are sensed together.
            clash(
                !flash.shared_sensing && matches!(reliability, ReliabilitySpec::Bch(_) | ReliabilitySpec::Adaptive(_)),
                "flash.shared_sensing",
                "found false together with codes that change with age (`reliability.bch` or \
                 `reliability.adaptive`), expected true: units that share a codeword are sensed together"
                    .into(),
            ),
            // After a loss the content of the mapping cache would be lost, and the map would have to be read again.
            clash(
                config.power_loss.is_some() && !matches!(config.ftl.mapping, Mapping::Page),
                "power_loss",
                "found together with `ftl.mapping.demand`, expected `ftl.mapping = \"page\"`: the model does not \
                 refill a mapping cache after a loss of power"
                    .into(),
            ),
            // An operation that is started again after every loss might never end.
            clash(
                losses_us.is_some_and(|mean_us| mean_us < 2.0 * longest_us),
                "power_loss.mean_interval_s",
                format!(
                    "found less than twice the longest program or erase ({longest_us} us), expected {} s or more: a \
                     program or erase starts again after each loss, and might never end",
                    2e-6 * longest_us
                ),
            ),
            // Part of a unit that the end of a page has cut is in memory, and would be lost.
            clash(
                config.power_loss.is_some() && crosses_pages,
                "power_loss",
                "found together with `reliability.bch` codes whose parity does not fit into `oob_bytes`, expected \
                 codes whose parity fits, or a larger `reliability.bch.oob_bytes`: this option needs codewords that \
                 lie in one page each"
                    .into(),
            ),
            // When a collection begins, there is a block more than writes leave at its end, so that writes are not held up at once.
            clash(
                config.ftl.gc_pacing == GcPacing::ThrottleWrites
                    && config.ftl.gc_low_watermark_blocks < self.reserve_blocks() + 3,
                "ftl.gc_low_watermark_blocks",
                format!(
                    "found {} together with `ftl.gc_pacing = \"throttle_writes\"`, expected {} or more: the blocks \
                     of the reserve and three more",
                    config.ftl.gc_low_watermark_blocks,
                    self.reserve_blocks() + 3
                ),
            ),
            clash(
                config.ftl.gc_pacing == GcPacing::ThrottleWrites && config.ftl.gc_idle.is_some(),
                "ftl.gc_idle",
                "found together with `ftl.gc_pacing = \"throttle_writes\"`, expected only one of the two: \
                 collection in idle time pauses, and throttled writes keep its pace"
                    .into(),
            ),
            // Writes wait until more blocks are free than are kept for collection, which begins below the watermark.
            clash(
                config.ftl.gc_low_watermark_blocks <= self.kept_for_collection(),
                if programs_fail { "flash.bad_blocks.program_failure" } else { "flash.bad_blocks.erase_failure" },
                format!(
                    "found together with `ftl.gc_low_watermark_blocks = {}`, expected `ftl.gc_low_watermark_blocks` \
                     of 3 or more: where erases or programs fail, two free blocks are kept for collection",
                    config.ftl.gc_low_watermark_blocks
                ),
            ),
            // The content of a page whose program fails is programmed to any other page, which must have room for it.
            clash(
                programs_fail && by_age,
                "flash.bad_blocks.program_failure",
                "found together with `reliability.bch` or `reliability.adaptive`, whose codes change with age, \
                 expected another reliability: all pages have to hold the same number of codewords"
                    .into(),
            ),
            clash(
                programs_fail
                    && divides
                    && matches!(config.ftl.interleaving.groups, InterleavedGroups::WithChipFactorAbove(_)),
                "flash.bad_blocks.program_failure",
                "found together with `ftl.interleaving.groups.with_chip_factor_above`, expected `all` or `none`: \
                 after a failed program the data of a group may go to any other chips"
                    .into(),
            ),
            // A read that waits behind the program would find no data in the page.
            clash(
                programs_fail && !config.host.serves_in_flight,
                "flash.bad_blocks.program_failure",
                "found together with `host.serves_in_flight = false`, expected `host.serves_in_flight = true`: \
                 reads of a page whose program fails are served from memory"
                    .into(),
            ),
            clash(
                programs_fail && flash.one_shot_program && slc.is_some(),
                "flash.bad_blocks.program_failure",
                "found together with `flash.one_shot_program` and `ftl.slc_cache`, expected at most one of these \
                 two: the data of a wordline whose program fails may go to pages of the cache, which hold less"
                    .into(),
            ),
            // Planes share no register, and parity is computed from data that the controller has seen.
            clash(
                flash.copyback.is_some() && several,
                "flash.copyback",
                "found together with `ftl.parity` or `ftl.interleaving.ways` above 1, expected neither: a copy \
                 stays in its plane, while the pages of a stripe or a group are in different planes"
                    .into(),
            ),
            // A page is copied with the whole of each of its codewords, and the number of errors that it takes along has to be known.
            clash(
                flash.copyback.is_some() && (by_age || matches!(reliability, ReliabilitySpec::Fixed { .. })),
                "flash.copyback",
                "found together with `reliability.fixed`, `reliability.adaptive` or `reliability.bch`, expected \
                 `table`, `exact` or `perfect`: copyback needs a raw bit error rate that grows with each copy, and \
                 codewords that stay in their page"
                    .into(),
            ),
            // The number of wrong bits is drawn from raw bit error rates only.
            clash(
                scrub_limit.is_some_and(|limit| matches!(limit, ScrubLimit::CorrectedErrors { .. }))
                    && !has_tables
                    && !matches!(reliability, ReliabilitySpec::Perfect),
                "ftl.scrub.refresh_above",
                "found `corrected_errors` without decode tables, expected `level`, or `reliability.table` or \
                 `reliability.adaptive`"
                    .into(),
            ),
            clash(
                scrub_limit.is_some_and(|limit| matches!(limit, ScrubLimit::Iterations(_)))
                    && !self.reliability.knows_iterations()
                    && !matches!(reliability, ReliabilitySpec::Perfect),
                "ftl.scrub.refresh_above",
                "found `iterations` with a `reliability` that has no numbers of iterations, expected `level`, or a \
                 decode table with `iterations`"
                    .into(),
            ),
            // Each page has its turn within the period.
            clash(
                config.ftl.scrub.as_ref().is_some_and(|scrub| scrub.period_days < least_period_days),
                "ftl.scrub.period_days",
                format!(
                    "found a period with less than 1 us for each page of a plane, expected {least_period_days:.3} \
                     days or more, or a smaller `ftl.time_scale`"
                ),
            ),
            // Blocks of the cache have one room for data, and reads of them one error rate, whatever their age.
            clash(
                slc.is_some() && by_age,
                "ftl.slc_cache",
                "found together with `reliability.bch` or `reliability.adaptive`, whose codes change with age, \
                 expected another reliability: blocks of the cache have one code at every age"
                    .into(),
            ),
            // Blocks of the cache hold data of several tenants.
            clash(
                slc.is_some() && self.placement_handles() > 1,
                "ftl.slc_cache",
                "found together with a `placement` above 0 in `host.tenants`, expected `placement = 0` for all \
                 tenants, or no `ftl.slc_cache`: a block of the cache holds data of several tenants"
                    .into(),
            ),
            clash(
                slc.is_none() && config.energy.slc_program_uj.is_some(),
                "energy.slc_program_uj",
                "found without `ftl.slc_cache`, expected an SLC cache, or no such field: only pages of the cache \
                 are programmed with one bit per cell"
                    .into(),
            ),
            // A wordline of the cache is one page, and its error rate is a factor on that of other blocks.
            clash(
                slc.is_some() && reclaims_wordlines,
                "ftl.slc_cache",
                "found together with `ftl.read_reclaim.wordline`, expected `ftl.read_reclaim.block`, or no read \
                 reclaim"
                    .into(),
            ),
            clash(
                slc.is_some() && self.reliability.is_exact() && self.reliability.pages().is_some(),
                "ftl.slc_cache",
                "found together with `reliability.exact` and cells of several bits, expected `reliability.table`, \
                 or raw bit error rates without threshold voltages"
                    .into(),
            ),
            // A wordline is one page of the cache.
            clash(
                slc.is_some_and(|cache| {
                    let bits = cache.bits_per_cell(page_types);
                    bits < 2 || ![1, bits].contains(&page_types)
                }),
                "ftl.slc_cache.bits_per_cell",
                format!(
                    "found {} together with {page_types} page types, expected 2 or more bits, and one page type for \
                     all pages or one for each bit",
                    slc.map_or(0, |cache| cache.bits_per_cell(page_types))
                ),
            ),
            // The initial places of data are a product, or a permutation, over blocks of an SSD that have equal room.
            clash(
                differ.is_some(),
                "precondition.pe_cycles_spread",
                format!(
                    "found {}, with which the blocks of an SSD start with {} P/E cycles, and so with codes that \
                     leave different room for data, expected a smaller spread: all blocks of an SSD have to start \
                     with the same room for data",
                    config.precondition.pe_cycles_spread,
                    differ.map_or_else(String::new, |ages| format!("{} to {}", ages.start(), ages.end()))
                ),
            ),
        ]
    }

    /// Returns the most codewords that are encoded for a page.
    fn most_encoded_of_page(&self) -> u32 {
        let of_unit = |code: &AgedBch| self.config.geometry.codeword_bytes / code.codeword_bytes;
        match &self.config.reliability {
            ReliabilitySpec::Adaptive(adaptive) => adaptive.codewords_per_page,
            _ => {
                self.geometry.codewords_per_page() * self.reliability.bch_codes().iter().map(of_unit).max().unwrap_or(1)
            }
        }
    }

    /// Names a feature that gathers codewords of several requests or pages before they are programmed, or gives pages unequal room.
    fn gathers_writes(&self) -> Option<&'static str> {
        let config = &self.config;
        let by_age = matches!(config.reliability, ReliabilitySpec::Bch(_) | ReliabilitySpec::Adaptive(_));
        [
            (self.geometry.ways() > 1, "codewords that are divided among chips"),
            (self.geometry.blocks_per_superblock() > 1, "blocks of several chips that are written in turn"),
            (config.flash.one_shot_program, "`flash.one_shot_program`"),
            (config.host.write_buffer_bytes > 0, "`host.write_buffer_bytes`"),
            (config.ftl.mapping != Mapping::Page, "`ftl.mapping.demand`"),
            (by_age, "codes that change with age"),
        ]
        .into_iter()
        .find_map(|(found, what)| found.then_some(what))
    }

    /// Checks that each codeword in a decoder gets an index in an event, and that decoders of fixed hardware are large enough.
    fn check_decoders(&self) -> Result<()> {
        let decoder = &self.config.decoder;
        if let Some(engine) = decoder.engine()
            && let Some(code) = self.bch_codes().iter().find(|code| engine.is_too_small_for(code.correctable))
        {
            let message = format!(
                "found {}, with {} bits of syndromes and {} places per cycle, expected an engine that corrects the \
                 {} errors of `reliability.bch` at one bit per cycle",
                engine.engine_correctable.unwrap_or_default(),
                engine.syndrome_bits_per_cycle,
                engine.search_bits_per_cycle,
                code.correctable
            );
            return Err(Error::config("decoder.time.bch.engine_correctable", message));
        }
        let (count, at_once) = (decoder.placement.count(), self.codewords_at_once());
        let pools = self.geometry.channels() / self.geometry.channels_of(decoder.placement);
        let most = u64::from(MAX_INDEX / 4);
        if [pools, count, at_once].iter().fold(1, |product: u64, &n| product.saturating_mul(n.into())) > most {
            let message = format!(
                "found {pools} groups of {count} decoders with {at_once} codewords each at once, expected at most \
                 {most} codewords in all"
            );
            return Err(Error::config("decoder", message));
        }
        let Some(encoder) = &self.config.encoder else { return Ok(()) };
        let count = encoder.placement.count();
        let pools = self.geometry.channels() / self.geometry.channels_of(encoder.placement);
        if u64::from(pools) * u64::from(count) > most {
            let message = format!("found {pools} groups of {count} encoders, expected at most {most} encoders in all");
            return Err(Error::config("encoder", message));
        }
        Ok(())
    }

    /// Checks that codewords have the length of the code, or of the codes of the decode tables.
    fn check_codewords(&self) -> Result<()> {
        let named: Vec<(String, &str, u32)> = match &self.config.reliability {
            ReliabilitySpec::Exact(exact) => vec![("reliability.exact.code".into(), &*exact.code, 1)],
            ReliabilitySpec::Table(table) => vec![("reliability.table.file".into(), &*table.file, 1)],
            ReliabilitySpec::Adaptive(adaptive) => {
                let path = |index| format!("reliability.adaptive.rates[{index}].file");
                adaptive.rates.iter().enumerate().map(|(index, rate)| (path(index), &*rate.file, rate.units)).collect()
            }
            ReliabilitySpec::Perfect | ReliabilitySpec::Fixed { .. } | ReliabilitySpec::Bch(_) => vec![],
        };
        let (codeword_bytes, mut faults) = (self.config.geometry.codeword_bytes, Faults::default());
        for ((path, name, units), lengths) in named.into_iter().zip(self.reliability.codeword_lengths()) {
            let expected = 8 * u64::from(codeword_bytes) * u64::from(units);
            let (Some(data_bits), false) = (lengths.first(), lengths.contains(&expected)) else { continue };
            let asked = if units > 1 { format!("{units} units of") } else { "geometry.codeword_bytes is".into() };
            let message = format!(
                "found `{name}` with {data_bits} data bits, expected {expected}: {asked} {codeword_bytes} bytes"
            );
            faults.add(Error::config(path, message));
        }
        faults.end()
    }

    /// Checks that the page types are those of the cells.
    fn check_page_types(&self) -> Result<()> {
        let page_types = self.config.flash.page_types.len();
        if let Some(pages) = self.reliability.pages()
            && ![1, pages].contains(&page_types)
        {
            let several =
                if pages > 1 { format!(", or {pages}, one for each page of a wordline") } else { String::new() };
            let message = format!(
                "found {page_types} page types, expected 1 for all pages of the cells of `reliability`{several}"
            );
            return Err(Error::config("flash.page_types", message));
        }
        Ok(())
    }

    fn check_max_level(&self) -> Result<()> {
        let (max_level, levels) = (self.config.read.max_level, self.reliability.levels());
        if max_level > levels {
            let message = format!("found {max_level}, expected at most {levels}, the deepest level of `reliability`");
            return Err(Error::config("read.max_level", message));
        }
        Ok(())
    }

    /// Checks that pages have room for the units of all code rates.
    fn check_adaptive(&self) -> Result<()> {
        let ReliabilitySpec::Adaptive(adaptive) = &self.config.reliability else { return Ok(()) };
        for (index, rate) in adaptive.rates.iter().enumerate() {
            let path = format!("reliability.adaptive.rates[{index}].units");
            let most = self.geometry.codewords_per_page() / adaptive.codewords_per_page;
            expect_whole(path, rate.units, 1, most)?;
        }
        Ok(())
    }

    /// Checks that units are whole codewords, and that pages have room for them.
    fn check_bch(&self) -> Result<()> {
        if !matches!(self.config.reliability, ReliabilitySpec::Bch(_)) {
            return Ok(());
        }
        let (unit, units) = (self.config.geometry.codeword_bytes, self.geometry.codewords_per_page());
        for (index, aged) in self.reliability.bch_codes().iter().enumerate() {
            let path = |field| format!("reliability.bch.codes[{index}].{field}");
            if !unit.is_multiple_of(aged.codeword_bytes) {
                let message =
                    format!("found {}, expected a divisor of geometry.codeword_bytes, {unit}", aged.codeword_bytes);
                return Err(Error::config(path("codeword_bytes"), message));
            }
            let squeezed = self.page_format().squeezed_bytes(aged);
            let most = unit - unit.div_ceil(units);
            if squeezed > most || squeezed > 0 && aged.codeword_bytes != unit {
                let message = format!(
                    "found {}, whose parity takes {squeezed} bytes of the data of each unit, expected at most {}: a \
                     smaller value here, or a larger `reliability.bch.oob_bytes`",
                    aged.code.correctable(),
                    if aged.codeword_bytes == unit {
                        format!("{most} bytes")
                    } else {
                        "0, as a unit has several codewords".into()
                    }
                );
                return Err(Error::config(path("correctable"), message));
            }
        }
        Ok(())
    }

    /// Checks that the write buffer of each SSD has room for the data that has to wait there.
    fn check_write_buffer(&self) -> Result<()> {
        let found = self.config.host.write_buffer_bytes;
        let (ssds, units) = (self.geometry.ssds(), self.geometry.codewords_per_page());
        let of_units = |count: u32| u64::from(count) * u64::from(self.config.geometry.codeword_bytes);
        let least = ssds * units;
        if found != 0 && found < of_units(least) {
            let message = format!(
                "found {found}, expected 0 for none, or at least {}: a page of {} bytes for each SSD",
                of_units(least),
                of_units(units)
            );
            return Err(Error::config("host.write_buffer_bytes", message));
        }
        // Each plane may have cut a unit, which waits for the next page. All other data fills pages.
        let least = self.geometry.planes() + 2 * least;
        if self.crosses_pages() && found < of_units(least) {
            let message = format!(
                "found {found}, expected at least {}: a unit that crosses pages waits in the buffer for its second \
                 page",
                of_units(least)
            );
            return Err(Error::config("host.write_buffer_bytes", message));
        }
        Ok(())
    }
}
