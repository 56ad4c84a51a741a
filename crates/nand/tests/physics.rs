//! Do closed forms meet cells that are drawn one by one from the model's definition, and published numbers?

use std::path::Path;

use softsense_base::{Purpose, Stream, poisson_quantile};
use softsense_nand::{
    CellSpec, FitSpec, MeasuredStates, Measurement, NamedCells, Placement, RberModel, Sensing, States, TimeLaw,
    ValleySearch, Wear,
};

/// Voltages of cells in `state`, drawn part by part: no distribution function of ours is asked.
fn draw(spec: &CellSpec, wear: Wear, state: usize, cell: u64, stream: &Stream) -> f64 {
    let uniform = |index| stream.uniform(8 * cell + state as u64, index);
    let radius = (-2.0 * (1.0 - uniform(0)).ln()).sqrt();
    let normal = radius * (2.0 * std::f64::consts::PI * uniform(1)).cos();
    let cycles = f64::from(wear.pe_cycles);
    let spec = match &spec.states {
        States::Programmed(programmed) => programmed,
        States::Measured(measured) => {
            let (mut mean, mut variance) = (measured.programmed.mean[state], measured.programmed.sigma[state].powi(2));
            let of = |values: &[f64]| values.get(state).copied().unwrap_or(0.0);
            mean += of(&measured.programmed.mean_per_kilocycle) * cycles / 1000.0;
            variance += of(&measured.programmed.variance_per_kilocycle) * cycles / 1000.0;
            for mechanism in &measured.mechanisms {
                let amount = match mechanism.time {
                    TimeLaw::Logarithmic { t0_hours } => (1.0 + wear.retention_hours / t0_hours).ln(),
                    TimeLaw::Saturating { tau_hours } => 1.0 - (-wear.retention_hours / tau_hours).exp(),
                };
                let relative = cycles / f64::from(measured.pe_cycles);
                let by_wear = |free: f64, exponent: f64| amount * (free + (1.0 - free) * relative.powf(exponent));
                mean += by_wear(mechanism.mean_wear_free, mechanism.mean_pe_exponent) * of(&mechanism.mean);
                variance +=
                    by_wear(mechanism.variance_wear_free, mechanism.variance_pe_exponent) * of(&mechanism.variance);
            }
            return measured.unit_v * (mean + variance.sqrt() * normal);
        }
    };
    if state == 0 {
        return spec.erased.mean_v + spec.erased.sigma_v * normal;
    }
    let verify_v = spec.verify_v[state - 1];
    let retention = &spec.retention;
    let loss = retention.k0
        * (verify_v + spec.program_step_v / 2.0 - retention.x0_v)
        * (1.0 + wear.retention_hours / retention.t0_hours).ln();
    let shift = loss * retention.k1 * cycles.powf(retention.mean_pe_exponent);
    let variance = loss * retention.k2 * cycles.powf(retention.variance_pe_exponent);
    let noise = &spec.telegraph_noise;
    let magnitude = -(1.0 - uniform(3)).ln() * noise.scale_v * cycles.powf(noise.pe_exponent);
    let telegraph = if uniform(4) < 0.5 { -magnitude } else { magnitude };
    verify_v + spec.program_step_v * uniform(2) + telegraph - shift + variance.sqrt() * normal
}

/// 400,000 cells of each state of each shipped mapping, a year old at 8,000 P/E: are raw bit error rates, and the shares
/// of the regions of level 3, those of the integrals? Bounds are five standard errors, that is 1.5 to 7 % of a page's
/// RBER, by page; of 200 comparisons none should be beyond, and a shift of all voltages by 2 mV would be seen.
#[test]
fn drawn_cells_agree_with_integrals() {
    let wear = Wear::unread(8_000, 8760.0);
    let stream = Stream::new(11, Purpose::Cells);
    let cells_a_state = 400_000u64;
    for name in CellSpec::shipped() {
        let spec = CellSpec::open(name, Path::new("")).unwrap();
        let cells = spec.at(wear);
        let sensings: Vec<Sensing> =
            (0..cells.pages()).map(|page| Sensing::new(&cells, page, 3, Placement::MutualInformation)).collect();
        let mut errors = vec![0u64; cells.pages()];
        let mut counts: Vec<Vec<[u64; 2]>> = sensings.iter().map(|s| vec![[0; 2]; s.regions()]).collect();
        for state in 0..cells.states() {
            for cell in 0..cells_a_state {
                let volts = draw(&spec, wear, state, cell, &stream);
                for (page, sensing) in sensings.iter().enumerate() {
                    let bit = cells.bit(page, state);
                    let below =
                        cells.boundaries(page).iter().filter(|&&at| cells.hard_references()[at] <= volts).count();
                    errors[page] += u64::from(below.is_multiple_of(2) != bit);
                    let region = sensing.references().iter().filter(|&&reference| reference <= volts).count();
                    counts[page][region][usize::from(bit)] += 1;
                }
            }
        }
        let agrees = |what: String, count: u64, probability: f64, trials: u64| {
            let expected = probability * trials as f64;
            let error = (expected * (1.0 - probability)).sqrt();
            assert!((count as f64 - expected).abs() < 5.0 * error + 1.0, "{name}, {what}: {count} for {expected:.1}");
        };
        let all = cells_a_state * cells.states() as u64;
        for (page, sensing) in sensings.iter().enumerate() {
            agrees(format!("errors of page {page}"), errors[page], cells.rber(page), all);
            for (region, probabilities) in sensing.probabilities(&cells).iter().enumerate() {
                for bit in 0..2 {
                    let what = format!("page {page}, region {region}, bit {bit}");
                    agrees(what, counts[page][region][bit], probabilities[bit], all / 2);
                }
            }
        }
    }
}

/// Is a cell at quantile u in the region that [`Sensing::cumulative`] says, by its voltage?
#[test]
fn quantiles_lie_in_their_regions() {
    let stream = Stream::new(12, Purpose::Cells);
    for name in CellSpec::shipped() {
        let spec = CellSpec::open(name, Path::new("")).unwrap();
        let cells = spec.at(Wear::unread(8_000, 8760.0));
        let sensing = Sensing::new(&cells, cells.pages() - 1, 7, Placement::Nested);
        for state in 0..cells.states() {
            let cumulative = sensing.cumulative(&cells, state);
            assert!(cumulative.is_sorted());
            for cell in 0..500 {
                let u = stream.uniform(cell, state as u64);
                let volts = cells.quantile(state, u);
                let by_voltage = sensing.references().iter().filter(|&&reference| reference <= volts).count();
                assert_eq!(by_voltage, cumulative.iter().filter(|&&share| share <= u).count(), "{name} {state} {u}");
            }
        }
    }
}

/// The closed form of the raw bit error rate against Simpson's rule over the densities, between hard references.
#[test]
fn error_rates_are_integrals_of_densities() {
    for (pe_cycles, retention_hours) in [(1_000, 1.0), (10_000, 8760.0)] {
        for name in CellSpec::shipped() {
            let cells = CellSpec::open(name, Path::new("")).unwrap().at(Wear::unread(pe_cycles, retention_hours));
            for page in 0..cells.pages() {
                let boundaries = cells.boundaries(page);
                let references = boundaries.iter().map(|&boundary| cells.hard_references()[boundary]);
                let ends: Vec<f64> = [-6.0].into_iter().chain(references).chain([8.0]).collect();
                let mut errors = 0.0;
                for state in 0..cells.states() {
                    for (region, end) in ends.windows(2).enumerate() {
                        if region.is_multiple_of(2) == cells.bit(page, state) {
                            continue;
                        }
                        let steps = 40_000;
                        let width = (end[1] - end[0]) / f64::from(steps);
                        let weight = |i: i32| if i == 0 || i == steps { 1.0 } else { f64::from(2 + 2 * (i % 2)) };
                        let sum: f64 =
                            (0..=steps).map(|i| weight(i) * cells.density(state, end[0] + width * f64::from(i))).sum();
                        errors += sum * width / 3.0 / cells.states() as f64;
                    }
                }
                let found = cells.rber(page);
                assert!((found / errors - 1.0).abs() < 1e-6, "{name}, page {page}: {found:e} for {errors:e}");
            }
        }
    }
}

/// RBER by age of LaLDPC's model as computed before, apart from this code, to two digits: the mean over the pages, with
/// tracked references, and with x of eq. 1 half a step above the verify voltage (x at it would be 11 % lower).
const RBER_BY_AGE: [(u32, [f64; 5]); 3] = [
    (8_000, [2.3e-3, 3.2e-3, 3.9e-3, 4.5e-3, 4.8e-3]),
    (10_000, [3.4e-3, 4.7e-3, 5.6e-3, 6.5e-3, 6.9e-3]),
    (12_000, [4.7e-3, 6.3e-3, 7.5e-3, 8.5e-3, 9.1e-3]),
];

/// The greatest distance of a model from [`RBER_BY_AGE`], as a share.
fn worst_by_age(model: &RberModel) -> f64 {
    let ages = RBER_BY_AGE.iter().flat_map(|&(pe_cycles, row)| {
        [30.0, 100.0, 200.0, 365.0, 500.0].into_iter().zip(row).map(move |(days, rber)| (pe_cycles, days * 24.0, rber))
    });
    let off = ages.map(|(pe_cycles, retention_hours, expected)| {
        (model.rber(Wear::unread(pe_cycles, retention_hours)) / expected - 1.0).abs()
    });
    off.fold(0.0, f64::max)
}

#[test]
fn error_rates_by_age_are_those_of_the_table() {
    let worst = worst_by_age(&RberModel::ThresholdVoltage(NamedCells::default()));
    assert!(worst < 0.02, "{worst}");
}

/// Can a power law stand in for the voltages, where none are wanted? With these parameters it follows them to 5.2 %.
#[test]
fn power_law_follows_the_mlc_table() {
    let model = RberModel::PowerLaw { floor: 0.0, scale: 2.16e-6, pe_exponent: 1.57, retention_exponent: 1.98 };
    let worst = worst_by_age(&model);
    assert!(worst < 0.06, "{worst}");
}

/// Have the shipped TLCs raw bit error rates as TLC has: 1e-4 to 1e-3 after some thousand P/E cycles and up to a month?
#[test]
fn tlc_is_plausible() {
    for name in ["tlc-2-3-2", "tlc-1-2-4"] {
        let spec = CellSpec::open(name, Path::new("")).unwrap();
        for retention_hours in [0.0, 24.0, 720.0] {
            let rber = spec.at(Wear::unread(3_000, retention_hours)).mean_rber();
            assert!((1e-4..1e-3).contains(&rber), "{name} after {retention_hours} h: {rber:e}");
        }
    }
}

/// A measurement of exact values of a model.
fn measured(spec: &CellSpec, pe_cycles: u32, retention_hours: f64) -> Measurement {
    let cells = spec.at(Wear::unread(pe_cycles, retention_hours));
    let each = |of: &dyn Fn(usize) -> f64| (0..cells.states()).map(of).collect();
    Measurement {
        pe_cycles,
        retention_hours,
        mean: each(&|state| cells.mean_v(state)),
        sigma: Some(each(&|state| cells.sigma_v(state))),
    }
}

/// Does a fit find the model that measurements are of, at ages that were not measured, too? Its time constant is one of 20 a
/// factor of e, so that means are off by a thousandth of the spread.
#[test]
fn a_fit_finds_the_model_that_was_measured() {
    let truth = CellSpec::open("tlc-measured", Path::new("")).unwrap();
    let ages = [(2000, 24.0), (2000, 100.0), (2000, 700.0), (2000, 3000.0), (2000, 9000.0), (0, 24.0), (3000, 24.0)];
    let measurements = ages.map(|(pe_cycles, hours)| measured(&truth, pe_cycles, hours));
    let found = MeasuredStates::fit(&measurements, FitSpec::default()).unwrap();
    let found = CellSpec { states: States::Measured(found), ..truth.clone() };
    for (pe_cycles, retention_hours) in [(0, 0.0), (500, 2.0), (1500, 5000.0), (4000, 9000.0)] {
        let wear = Wear::unread(pe_cycles, retention_hours);
        let (expected, cells) = (truth.at(wear), found.at(wear));
        for state in 0..expected.states() {
            let spread = expected.sigma_v(state);
            let off = (cells.mean_v(state) - expected.mean_v(state)).abs();
            assert!(off < 0.005 * spread, "{wear:?}, state {state}: mean off by {off}");
            let off = (cells.sigma_v(state) - spread).abs();
            assert!(off < 1e-6 * spread, "{wear:?}, state {state}: spread off by {off}");
        }
    }
}

/// What measurements do not tell is left out, and too few of them are refused.
#[test]
fn a_fit_claims_no_more_than_was_measured() {
    let truth = CellSpec::open("tlc-measured", Path::new("")).unwrap();
    let fit = |ages: &[(u32, f64)]| {
        let measurements: Vec<_> = ages.iter().map(|&(pe_cycles, hours)| measured(&truth, pe_cycles, hours)).collect();
        MeasuredStates::fit(&measurements, FitSpec::default())
    };
    let two_times = fit(&[(1000, 1.0), (1000, 1000.0)]).unwrap();
    assert_eq!((two_times.mechanisms.len(), two_times.programmed.mean_per_kilocycle.len()), (1, 0));
    assert_eq!(two_times.pe_cycles, 1000);
    for (ages, expected) in [
        (
            vec![(1000, 1.0)],
            "measurements: found means after 1 retention times and spreads after 1, expected both after at least two different times",
        ),
        (vec![(0, 1.0), (0, 5.0)], "measurements: found no measurement with P/E cycles above 0, expected at least one"),
    ] {
        assert_eq!(fit(&ages).unwrap_err().to_string(), expected);
    }
}

/// Where data rests hot, time counts for more: a year at 25 degrees is as long as 97.65 hours at 60 and 11.16 at 80, for what has 1.1
/// eV (JESD218).
#[test]
fn heat_is_time() {
    let spec = CellSpec::open("tlc-measured", Path::new("")).unwrap();
    let States::Measured(mut measured) = spec.states.clone() else { panic!("measured cells") };
    measured.mechanisms.iter_mut().for_each(|mechanism| mechanism.activation_energy_ev = 1.1);
    let spec = CellSpec { states: States::Measured(measured), ..spec };
    let at = |celsius, retention_hours| {
        let spec = spec.clone().at_temperature(celsius, "temperature").unwrap();
        spec.at(Wear::unread(3000, retention_hours)).mean_rber()
    };
    let year = at(25.0, 365.0 * 24.0);
    for (celsius, hours) in [(60.0, 97.65), (80.0, 11.16), (100.0, 1.61), (120.0, 0.28)] {
        let baked = at(celsius, hours);
        assert!((baked / year - 1.0).abs() < 0.005, "{hours} h at {celsius} C: {baked:e} for {year:e}");
    }
    assert!(at(40.0, 365.0 * 24.0) > 1.5 * year);
    let error = CellSpec::default().at_temperature(40.0, "temperature").unwrap_err();
    assert!(
        error.to_string().starts_with("temperature: found a temperature for cells that do not depend on it"),
        "{error}"
    );
}

/// After a year at end of life the measured TLC has raw bit error rates as drives have, and they halve where references follow.
#[test]
fn default_references_cost_errors() {
    let spec = CellSpec::open("tlc-measured", Path::new("")).unwrap();
    let year = Wear::unread(3000, 365.0 * 24.0);
    let rber = |tracked| spec.clone().with_tracked_references(tracked).at(year).mean_rber();
    let (tracked, default) = (rber(true), rber(false));
    assert!((5e-3..8e-3).contains(&tracked) && (1.5..3.0).contains(&(default / tracked)), "{tracked:e} {default:e}");
}

/// Is the mean raw bit error rate after a search for valleys the one that searches with drawn counts have? 2,000 searches at each of
/// four ages of three cells: within four standard errors, and never below the best.
#[test]
fn searches_find_what_their_chances_say() {
    let stream = Stream::new(9, Purpose::Counts);
    for (name, cells_counted) in [("tlc-measured", 147_456), ("qlc-1-2-4-8", 147_456), ("mlc", 20_000)] {
        let mut spec = CellSpec::open(name, Path::new("")).unwrap().with_tracked_references(false);
        spec.references.valley_search =
            Some(ValleySearch { step_v: 0.03, sensings: 17, cells: cells_counted, centre_v: 0.0 });
        for (age, (pe_cycles, hours)) in
            [(1_000, 24.0), (3_000, 720.0), (3_000, 8_760.0), (8_000, 100.0)].into_iter().enumerate()
        {
            let wear = Wear::unread(pe_cycles, hours);
            let (means, expected) = (spec.valley_counts(wear), spec.rber_by_valleys(wear));
            let searches = 2_000u64;
            let mut sums = vec![[0.0f64; 2]; spec.pages()];
            let mut known = std::collections::HashMap::new();
            for search in 0..searches {
                let mut next = 0;
                let mut count = |&mean: &f64| {
                    next += 1;
                    poisson_quantile(mean, stream.uniform(search * 64 + age as u64, next))
                };
                let gaps: Vec<usize> = means.iter().map(|of| ValleySearch::chosen(of.iter().map(&mut count))).collect();
                let rates = known.entry(gaps.clone()).or_insert_with(|| {
                    let cells = spec.at_valleys(wear, &gaps);
                    (0..cells.pages()).map(|page| cells.rber(page)).collect::<Vec<f64>>()
                });
                for (sum, rber) in sums.iter_mut().zip(rates) {
                    sum[0] += *rber;
                    sum[1] += *rber * *rber;
                }
            }
            let best = spec.clone().with_tracked_references(true).at(wear);
            for (page, [sum, squares]) in sums.into_iter().enumerate() {
                let (mean, n) = (sum / searches as f64, searches as f64);
                let error = ((squares / n - mean * mean).max(0.0) / n).sqrt();
                let off = (mean - expected[page]).abs();
                assert!(off < 4.0 * error + 2e-3 * mean, "{name}, {wear:?}, {page}: {mean:e} for {:e}", expected[page]);
                assert!(expected[page] > 0.999 * best.rber(page), "{name}, {wear:?}, {page}");
            }
        }
    }
}

/// Does a search find the valley of its own boundary, not that of the next one, however much states have lost? For all shipped cells
/// with a search, from just written to a year after the cycles that they are for: raw bit error rates stay near the best.
#[test]
fn searches_of_shipped_cells_find_their_own_valleys() {
    let mut searched = 0;
    for name in CellSpec::shipped() {
        let spec = shipped(name);
        if spec.references.valley_search.is_none() {
            continue;
        }
        let most = if name.starts_with("qlc") { 1_000 } else { 3_000 };
        for (pe_cycles, days) in
            (0..=most).step_by(500).flat_map(|cycles| [0.0, 1.0, 30.0, 365.0].map(|days| (cycles, days)))
        {
            let wear = Wear::unread(pe_cycles, 24.0 * days);
            let best = spec.clone().with_tracked_references(true).at(wear);
            for (page, found) in spec.rber_by_valleys(wear).into_iter().enumerate() {
                let most = 1.4 * best.rber(page) + 2e-4;
                assert!(
                    found < most,
                    "{name}, {pe_cycles} cycles, {days} days, page {page}: {found:e}, at most {most:e}"
                );
            }
        }
        searched += 1;
    }
    assert!(searched >= 5, "{searched}");
}

/// Cells as they ship.
fn shipped(name: &str) -> CellSpec {
    CellSpec::open(name, Path::new("")).unwrap()
}

/// The raw bit error rate of the worst page after days, at the chip's default references or at those that track the age.
fn worst_page(cells: &CellSpec, tracked: bool, pe_cycles: u32, days: f64) -> f64 {
    let cells = cells.clone().with_tracked_references(tracked).at(Wear::unread(pe_cycles, 24.0 * days));
    (0..cells.pages()).map(|page| cells.rber(page)).fold(0.0, f64::max)
}

/// The rate that the 4-KiB LDPC codes of RiF and STRAW bear, 2024 and 2026.
const BORNE: f64 = 0.0085;

// What follows are published numbers of 3D charge-trap cells, each through notes of others; a name says what the cells were set by (fitted)
// and what they were not (predicted).

/// Do all cells that are said to be charge-trap ones forget when they are new, at either kind of references?
#[test]
fn charge_trap_cells_forget_when_they_are_new() {
    let named: Vec<&str> = CellSpec::shipped().filter(|name| name.contains("charge-trap")).collect();
    assert_eq!(named.len(), 4);
    for name in named {
        let cells = shipped(name);
        for tracked in [false, true] {
            let rates = [0.0, 0.1, 1.0, 30.0, 365.0].map(|days| worst_page(&cells, tracked, 0, days));
            assert!(rates.is_sorted_by(|before, after| before < after), "{name}, tracked {tracked}: {rates:?}");
        }
    }
    let formula = [0.0, 24.0, 8760.0].map(|hours| RberModel::Tlc72Layer.rber(Wear::unread(0, hours)));
    assert!(formula.is_sorted_by(|before, after| before < after), "{formula:?}");
}

/// RiF, 160 chips: with default references the first retry may come after 17, 14 and 10 days at 0, 200 and 500 P/E cycles.
#[test]
fn fitted_days_to_the_first_retry_are_those_of_rif() {
    let cells = shipped("tlc-charge-trap");
    for (pe_cycles, days) in [(0, 17.0), (200, 14.0), (500, 10.0)] {
        let (early, late) = (0.8 * days, 1.2 * days);
        assert!(worst_page(&cells, false, pe_cycles, early) < BORNE, "{pe_cycles} P/E cycles: before {early} days");
        assert!(worst_page(&cells, false, pe_cycles, late) > BORNE, "{pe_cycles} P/E cycles: after {late} days");
    }
}

/// AiF, 160 chips: 49 wrong bits a KiB, 6.0e-3, in the worst page at 4,000 P/E cycles after a year with the best references.
#[test]
fn fitted_worst_page_of_worn_cells_is_that_of_aif() {
    let rate = worst_page(&shipped("tlc-charge-trap"), true, 4_000, 365.0);
    assert!((4.5e-3..=6.0e-3).contains(&rate), "{rate:e}");
}

/// The 72-layer fit (FAST'19) is of another group's chips, and nothing of it set these cells: default references, 200 to 2,000 P/E cycles,
/// ten days to a year. Its fresh data, with 1.5e-3, is three times worse, so younger ages are left out.
#[test]
fn predicted_rates_are_within_1_6_of_the_72_layer_fit() {
    let cells = shipped("tlc-charge-trap").with_tracked_references(false);
    for pe_cycles in [200, 500, 1_000, 2_000] {
        for days in [10.0, 30.0, 90.0, 365.0] {
            let wear = Wear::unread(pe_cycles, 24.0 * days);
            let ratio = cells.at(wear).mean_rber() / RberModel::Tlc72Layer.rber(wear);
            assert!((1.0 / 1.6..1.6).contains(&ratio), "{pe_cycles} P/E cycles, {days} days: {ratio}");
        }
    }
}

/// Early loss of 3D MLC: the upper reference has moved 5 steps of the chip after three hours and 10 after eleven days (2.0; rounded to
/// steps, up to 2.3), and A log t + B gives 2.4 or more. New cells as worn ones?
#[test]
fn predicted_shifts_grow_with_the_logarithm_of_time() {
    let cells = shipped("tlc-charge-trap");
    for pe_cycles in [0, 10_000] {
        let top = |hours| cells.at(Wear::unread(pe_cycles, hours)).mean_v(7);
        let ratio = (top(0.0) - top(264.0)) / (top(0.0) - top(3.0));
        assert!((1.9..2.6).contains(&ratio), "{pe_cycles} P/E cycles: {ratio}");
    }
}

/// How long is a year at 30 C when chips are baked at 70 C? 85 hours by 1.04 eV (65 by JESD218's 1.1).
#[test]
fn a_year_is_baked_in_85_hours() {
    let at = |celsius: f64, hours: f64| {
        let mut cells = shipped("tlc-charge-trap");
        let States::Measured(measured) = &mut cells.states else { panic!("they are measured ones") };
        measured.retention_temperature_c = celsius;
        cells.at(Wear::unread(1_000, hours)).mean_rber()
    };
    let (baked, rested) = (at(70.0, 85.0), at(30.0, 8760.0));
    assert!((baked / rested - 1.0).abs() < 2e-3, "{baked:e} for {rested:e}");
}

/// Reads that wordlines bear: 749,000 effective ones at 2,000 P/E cycles (STRAW), 2.4 times as many when new, and 60 to 75 % of what they
/// change in the erased state (DEAR); QLC bears 3.15 times fewer (DEAR).
#[test]
fn fitted_reads_that_are_borne_are_those_of_straw_and_dear() {
    let at = |name: &str, pe_cycles, effective_reads| {
        let wear = Wear { effective_reads, ..Wear::unread(pe_cycles, 0.0) };
        shipped(name).with_tracked_references(false).at(wear)
    };
    let borne = |name: &str, pe_cycles| {
        let worst = |reads| {
            let cells = at(name, pe_cycles, reads);
            (0..cells.pages()).map(|page| cells.rber(page)).fold(0.0, f64::max)
        };
        let (mut low, mut high) = (1e3f64, 1e9f64);
        for _ in 0..50 {
            let middle = (low * high).sqrt();
            if worst(middle) < BORNE { low = middle } else { high = middle }
        }
        high
    };
    for name in ["tlc-charge-trap", "tlc-charge-trap-asplos21"] {
        let (new, worn) = (borne(name, 0), borne(name, 2_000));
        assert!((worn / 749e3 - 1.0).abs() < 0.02, "{name}: {worn:e}");
        assert!((new / worn - 2.4).abs() < 0.3, "{name}: {}", new / worn);
        let errors = |reads| {
            let cells = at(name, 2_000, reads);
            (0..7).map(|boundary| cells.known_errors(boundary).0).collect::<Vec<_>>()
        };
        let (read, unread) = (errors(worn), errors(0.0));
        let more: Vec<f64> = read.iter().zip(&unread).map(|(read, unread)| read - unread).collect();
        let share = more[0] / more.iter().sum::<f64>();
        assert!((0.60..0.75).contains(&share), "{name}: {share}");
    }
    let fewer = borne("tlc-charge-trap", 0) / borne("qlc-charge-trap", 0);
    assert!((fewer / 3.15 - 1.0).abs() < 0.02, "{fewer}");
}
