//! The medium: the codewords in the pages of a group, and their fates, which are made when a read begins.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use softsense_base::Ns;
use softsense_config::checked::CheckedConfig;
use softsense_config::format::UnitCode;
use softsense_config::geometry::Geometry;
use softsense_config::ids::{Block, Lcn, Place, Plane, TiVec};
use softsense_ftl::{Group, Location, PageMap, prefetch};
use softsense_link::{
    ByAge, CellAge, Fate, FixedDraw, PageConditions, ReadSpec, Reliability, ReliabilitySpec, Side, Step,
};
use softsense_nand::Wear;

use super::back_end::{CodewordOrder, ReadOrder};
use super::statistics::{CodewordSample, ExpectedUber};

/// Number of the codewords of a BCH code in a unit, and their sizes.
#[derive(Debug, Clone, Copy)]
struct CodeFormat {
    codewords_per_unit: u32,
    codeword_bytes: u32,
    parity_bytes: u32,
}

#[derive(Debug)]
pub(super) struct Medium {
    geometry: Arc<Geometry>,
    reliability: Arc<Reliability>,
    /// The policy by which the host reads.
    read_spec: ReadSpec,
    /// Factor on the raw bit error rate of each page type; that of pages of SLC blocks comes last.
    rber_factors: Vec<f64>,
    /// Bits of the factor of each block on the raw bit error rate; 0 of blocks that were not read. They are atomic, as they are noted while
    /// the medium is only read.
    block_factors: TiVec<Block, AtomicU64>,
    /// Factor of the layer of each wordline of a block.
    layer_factors: Vec<f64>,
    /// Number of codewords in a page; where units share codewords, in any page.
    codewords_per_page: u32,
    /// Whether all codewords of a page fail or are decoded as one.
    pages_share_fates: bool,
    /// BCH codes by the P/E cycles of a block.
    codes: Option<ByAge<CodeFormat>>,
    unit_bytes: u32,
    /// The factor by which data ages faster than the run goes on.
    time_scale: f64,
}

impl Medium {
    pub(super) fn new(config: &CheckedConfig, geometry: Arc<Geometry>, reliability: Arc<Reliability>) -> Self {
        let spec = config.config();
        let format = |code: &UnitCode| CodeFormat {
            codewords_per_unit: code.codewords_per_unit,
            codeword_bytes: code.codeword_bytes,
            parity_bytes: code.parity_bytes,
        };
        let blocks = if reliability.needs_age() { geometry.planes() * geometry.blocks_per_plane() } else { 0 };
        let wordlines = geometry.wordlines_per_block();
        let page_types = spec.flash.page_types.iter().map(|page_type| page_type.rber_factor);
        let of_slc = spec.ftl.slc_cache.as_ref().map(|cache| cache.cells.rber_factor);
        Self {
            geometry,
            read_spec: spec.read.with_what_is_known(&reliability),
            layer_factors: (0..wordlines).map(|wordline| reliability.layer_factor(wordline, wordlines)).collect(),
            block_factors: (0..blocks).map(|_| AtomicU64::new(0)).collect(),
            rber_factors: page_types.chain(of_slc).collect(),
            codewords_per_page: match &spec.reliability {
                ReliabilitySpec::Adaptive(adaptive) => adaptive.codewords_per_page,
                _ => spec.geometry.codewords_per_page,
            },
            pages_share_fates: matches!(spec.reliability, ReliabilitySpec::Fixed { drawn_for: FixedDraw::Page, .. }),
            codes: matches!(spec.reliability, ReliabilitySpec::Bch(_)).then(|| {
                let codes = config.bch_codes();
                let formats = codes.iter().map(|code| (code.to_pe_cycles, format(code)));
                ByAge::new(formats).from(config.start_ages().least())
            }),
            unit_bytes: spec.geometry.codeword_bytes,
            time_scale: spec.ftl.time_scale,
            reliability,
        }
    }

    /// Whole seconds by which data that is there from the start has aged in a run. The map notes this number when pages are written.
    pub(super) fn aged_s(&self, Ns(now): Ns) -> u64 {
        const NS_PER_S: u64 = 1_000_000_000;
        if self.time_scale == 1.0 { now / NS_PER_S } else { (now as f64 * self.time_scale * 1e-9) as u64 }
    }

    /// Number of codewords of a unit of data in a superblock.
    ///
    /// # Arguments
    /// - `pe_cycles`: P/E cycles of the superblock.
    #[inline]
    pub(super) fn codewords_per_unit(&self, pe_cycles: u32) -> u32 {
        self.codes.as_ref().map_or(1, |codes| codes.at(|| pe_cycles).codewords_per_unit)
    }

    /// Tells, one after the other, the codewords that have units of the group of a read.
    ///
    /// # Arguments
    /// - `units`: units in their order, by their slots, counted from the first that may begin in the page of the group.
    #[inline(always)]
    pub(super) fn each_codeword(
        &self,
        now: Ns,
        ftl: &PageMap,
        read: &ReadOrder,
        units: &[u32],
        mut tell: impl FnMut(CodewordOrder),
    ) {
        let ReadOrder { group, erases: write, pe_cycles, codewords_per_unit: per_unit, .. } = *read;
        let mut units = units;
        let together = ftl.units_of_codeword(group.superblock);
        // Conditions of the pages in which the last codeword lay, in which the next one mostly lies, too.
        let mut last: Option<((u32, u32), PageConditions)> = None;
        while let Some(&(mut unit)) = units.first() {
            let member = self.geometry.member_of(unit);
            let asked = if together > 1 {
                let first = self.geometry.units_of(member).start;
                unit = first + (unit - first) / together * together;
                let codeword = unit..unit + together;
                units.iter().take_while(|&unit| codeword.contains(unit)).count()
            } else {
                1
            };
            units = &units[asked..];
            let place = self.geometry.place(group.superblock, group.page, unit);
            let (first_part, parts) = self.parts_of(ftl, group, unit);
            let code = self.codes.as_ref().map(|codes| codes.at(|| pe_cycles));
            let bytes = code.map(|code| self.bytes_of(ftl, group, unit, code));
            let channel = self.geometry.channel_of(self.geometry.plane_of_unit(group.set, group.page, unit));
            let pages = (first_part, parts);
            let conditions = match &mut last {
                Some((of, conditions)) if *of == pages => &*conditions,
                last => {
                    let cells = |part| self.cell_age(now, ftl, group, first_part + part);
                    &last.insert((pages, self.reliability.conditions(write, parts, cells))).1
                }
            };
            for index in 0..per_unit {
                let drawn = if self.pages_share_fates { self.geometry.first_of_page(place) } else { place };
                let number = drawn.0 * u64::from(per_unit) + u64::from(index);
                tell(CodewordOrder {
                    fate: self.reliability.fate(conditions, number),
                    number: unit * per_unit + index,
                    begins_unit: index == 0,
                    units: asked as u16,
                    first_part: first_part as u16,
                    parts: parts as u16,
                    bytes,
                    channel,
                });
            }
        }
    }

    /// Number of codewords that are encoded for a page of a group.
    pub(super) fn codewords_of_page(&self, ftl: &PageMap, group: Group) -> u32 {
        if ftl.shares_codewords() {
            return self.codewords_per_page;
        }
        let pe_cycles = ftl.pe_cycles(group.superblock);
        if ftl.is_parity(group) {
            return self.codewords_per_page * self.codewords_per_unit(pe_cycles);
        }
        // If units cross pages, the first page of a block may have one unit more than the others, and the last page none.
        (ftl.room(group) / group.pages()).max(1) * self.codewords_per_unit(pe_cycles)
    }

    /// The logical codewords in a codeword whose first unit has a place.
    pub(super) fn in_codeword(&self, ftl: &PageMap, place: Place) -> impl Iterator<Item = Lcn> {
        let units = u64::from(ftl.units_of_codeword(self.geometry.superblock_of(place)));
        Place::all(place.0..place.0 + units).filter_map(|place| ftl.owner(place))
    }

    /// The side on which the rate of a codeword lies outside its table, and that rate, where its fate is a guess for this reason.
    #[inline]
    pub(super) fn beyond_table(&self, fate: &Fate) -> Option<(Side, f64)> {
        self.reliability.beyond_table(fate)
    }

    /// The first member of a group whose page has a part of a unit, and the number of pages that have one.
    #[inline]
    fn parts_of(&self, ftl: &PageMap, group: Group, unit: u32) -> (u32, u32) {
        if !ftl.crosses_pages() {
            return (group.first(), group.pages());
        }
        let (page, slot) = self.page_and_slot(unit);
        let crosses = ftl.layout(group.superblock).crosses(group.page + page, slot);
        (page, 1 + u32::from(crosses))
    }

    /// The page in which a unit begins, counted from the first page of the read, and the slot of the unit there; in a read whose units may
    /// cross pages.
    #[inline]
    fn page_and_slot(&self, unit: u32) -> (u32, u32) {
        (unit / self.geometry.codewords_per_page(), unit % self.geometry.codewords_per_page())
    }

    /// Bytes that the first page has of a codeword of a unit, its parity included, and bytes that any other page has.
    fn bytes_of(&self, ftl: &PageMap, group: Group, unit: u32, code: &CodeFormat) -> [u32; 2] {
        let (page, slot) = self.page_and_slot(unit);
        match ftl.layout(group.superblock).in_first_page(group.page + page, slot) {
            Some(first) => [first + code.parity_bytes, self.unit_bytes - first],
            // The codeword is divided equally among its pages.
            None => [(code.codeword_bytes + code.parity_bytes).div_ceil(group.pages()); 2],
        }
    }

    /// The location of a page of a group, and the history of its cells.
    ///
    /// # Arguments
    /// - `member`: number of the page in the group.
    fn cell_age(&self, now: Ns, ftl: &PageMap, group: Group, member: u32) -> CellAge {
        let effective_reads = ftl.effective_reads(group, member);
        let (member, in_block) = self.geometry.turn(group.page, member);
        let plane = self.geometry.plane_of(group.set, member);
        let page = self.geometry.page_in(group.superblock, in_block, member);
        let page_type = self.geometry.page_type_of(in_block, group.slc());
        let now_s = now.as_secs() * self.time_scale;
        let retention_hours = match ftl.written_s(page) {
            Some(written_s) => (now_s - f64::from(written_s)).max(0.0) / 3600.0,
            None => {
                let ssd = self.geometry.ssd_of_set(group.set);
                ftl.start_ages().retention_hours(ssd, group.superblock) + now_s / 3600.0
            }
        };
        let (block, wordline) =
            (self.geometry.block_in(group.superblock, member), self.geometry.wordline_of(in_block, group.slc()));
        CellAge {
            code_age: ftl.code_age(group.superblock),
            block_factor: self.block_factor(plane, block)
                * self.layer_factors[wordline as usize]
                * self.reliability.wordline_factor(block.into(), wordline),
            page,
            carried_rber: ftl.carried_rber(page),
            page_type: (self.rber_factors.len() > 1 && !group.slc()).then_some(page_type as usize),
            page_type_factor: self.rber_factors[page_type as usize],
            wear: Wear { pe_cycles: ftl.pe_cycles(group.superblock), retention_hours, effective_reads },
        }
    }

    /// The raw bit error rate of a page, as its plane senses it.
    pub(super) fn rber_of_page(&self, now: Ns, ftl: &PageMap, group: Group) -> f64 {
        let cells = |_| self.cell_age(now, ftl, group, group.first());
        self.reliability.conditions(ftl.erases(group.superblock), 1, cells).mean_rber()
    }

    /// Asks the CPU to fetch the factor of a block.
    #[inline]
    pub(super) fn prefetch(&self, block: Block) {
        prefetch(&self.block_factors, block);
    }

    /// The factor of a block and its chip. It is remembered, as it takes longer to work out.
    #[inline]
    fn block_factor(&self, plane: Plane, block: Block) -> f64 {
        let known = &self.block_factors[block];
        let mut factor = f64::from_bits(known.load(Ordering::Relaxed));
        if factor == 0.0 {
            let chip = self.geometry.chip_rank(self.geometry.chip_of(plane));
            factor = self.reliability.block_factor(chip.into(), block.into());
            known.store(factor.to_bits(), Ordering::Relaxed);
        }
        factor
    }

    /// Places of codewords, spread evenly over the mapped ones in flash.
    fn spread_places(ftl: &PageMap, count: u32) -> impl Iterator<Item = Place> {
        let codewords = ftl.user_codewords() as f64;
        // Multiples of the golden section leave no gaps, and keep step with no stride of the device.
        let sampled =
            (0..count).map(move |index| ((f64::from(index) * 0.618_033_988_749_894_9).fract() * codewords) as u64);
        sampled.filter_map(move |lcn| match ftl.locate(Lcn(lcn)) {
            Location::Flash(place) => Some(place),
            Location::Unmapped | Location::Memory(_) | Location::InFlight => None,
        })
    }

    /// The uncorrectable bit error rates that reads of the device as it is now have to expect. They are means over `count` codewords of
    /// stripes that are spread evenly over the device, if codewords fail independently of one another. `None` where nothing tells with
    /// which probability they fail.
    pub(super) fn expected_uber(&self, now: Ns, ftl: &PageMap, count: u32) -> Option<ExpectedUber> {
        let p_fails = |group: Group, place: Place| {
            if ftl.is_lost(group) {
                return Some(1.0);
            }
            let cells = |part| self.cell_age(now, ftl, group, group.first() + part);
            let conditions = self.reliability.conditions(ftl.erases(group.superblock), group.pages(), cells);
            let fate = self.reliability.fate(&conditions, place.0);
            self.reliability.read_through(&fate, &self.read_spec).map(|(p_uncorrectable, _)| p_uncorrectable)
        };
        let (mut sum, mut places) = (ExpectedUber::default(), 0);
        // All codewords of a stripe are looked at, and so many fewer stripes, so that there are `count` looks in all.
        let stripes = count / self.geometry.pages_per_stripe().max(1);
        for place in Self::spread_places(ftl, stripes) {
            let (group, unit) = ftl.group_of(place);
            let units = f64::from(ftl.units_of_codeword(group.superblock));
            let of_unit = f64::from(self.codewords_per_unit(ftl.pe_cycles(group.superblock)));
            let bits = 8.0 * f64::from(self.unit_bytes) * units / of_unit;
            let mut p_of_stripe = vec![p_fails(group, place)?];
            let mates = ftl.stripe_mates(group);
            for &mate in mates.iter().flatten() {
                p_of_stripe.push(p_fails(mate, self.geometry.place(mate.superblock, mate.page, unit))?);
            }
            for (at, by_itself) in p_of_stripe.iter().enumerate() {
                let others = p_of_stripe.iter().enumerate().filter(|&(other, _)| other != at);
                let all_others: f64 = others.map(|(_, p)| 1.0 - p).product();
                let left = if mates.is_some() { by_itself * (1.0 - all_others) } else { *by_itself };
                sum.by_code += by_itself / bits;
                sum.with_parity += left / bits;
                places += 1;
            }
        }
        let mean = |sum: f64| sum / f64::from(places);
        (places > 0).then(|| ExpectedUber { by_code: mean(sum.by_code), with_parity: mean(sum.with_parity) })
    }

    /// Samples of codewords of the device as they are now, spread evenly over the mapped ones; none where no raw bit error rates are known.
    pub(super) fn sample(&self, now: Ns, ftl: &PageMap, count: u32) -> Vec<CodewordSample> {
        let deepest = self.reliability.levels();
        let sample = |place: Place| {
            let (group, _) = ftl.group_of(place);
            let cells = |part| self.cell_age(now, ftl, group, group.first() + part);
            let conditions = self.reliability.conditions(ftl.erases(group.superblock), group.pages(), cells);
            let rber = self.reliability.rber(&conditions, place.0)?;
            let block = self.geometry.block_of(place);
            let (plane, _) = self.geometry.split_block(block);
            let chip = self.geometry.chip_rank(self.geometry.chip_of(plane));
            let fate = self.reliability.fate(&conditions, place.0);
            let p_fail = |level| self.reliability.p_fail(&fate, Step::fresh(level));
            let read_through = self.reliability.read_through(&fate, &self.read_spec);
            Some(CodewordSample {
                chip,
                block,
                page_type: self.geometry.page_type_of(self.geometry.turn(group.page, 0).1, group.slc()) as u8,
                rber,
                p_fail_hard: p_fail(1),
                p_fail: p_fail(deepest),
                p_uncorrectable: read_through.map(|(p_uncorrectable, _)| p_uncorrectable),
                mean_steps: read_through.map(|(_, mean_steps)| mean_steps),
            })
        };
        Self::spread_places(ftl, count).filter_map(sample).collect()
    }
}
