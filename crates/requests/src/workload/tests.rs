use softsense_base::Ns;

use super::addresses::{Permutation, Zipf};
use super::*;

fn all(spec: &WorkloadSpec, seed: u64, capacity: u64) -> Vec<Request> {
    let mut source = spec.source(seed, capacity).unwrap();
    let mut requests = Vec::new();
    while let Some(request) = source.next_request().unwrap() {
        requests.push(request);
    }
    assert_eq!(source.next_request().unwrap(), None);
    assert_eq!(source.fraction_read(), 1.0);
    requests
}

const GIB: u64 = 1 << 30;

/// Are the read share and the size mix as stated? With 200,000 draws 5 standard errors are 0.0056 at most; a share that is off by 0.01 is
/// seen with power above 0.999.
#[test]
fn shares_are_as_stated() {
    let spec = WorkloadSpec {
        requests: 200_000,
        read_fraction: 0.7,
        sizes: vec![
            SizeShare { bytes: 4096, share: 0.5 },
            SizeShare { bytes: 16_384, share: 0.2 },
            SizeShare { bytes: 65_536, share: 0.3 },
        ],
        ..WorkloadSpec::default()
    };
    let requests = all(&spec, 1, GIB);
    let share = |test: &dyn Fn(&Request) -> bool| {
        requests.iter().filter(|request| test(request)).count() as f64 / requests.len() as f64
    };
    assert!((share(&|r| r.kind == RequestKind::Read) - 0.7).abs() < 0.0056);
    for size in &spec.sizes {
        assert!((share(&|r| r.bytes == size.bytes) - size.share).abs() < 0.0056);
    }
    // Kind and size are independent: the joint share is the product.
    let joint = share(&|r| r.kind == RequestKind::Read && r.bytes == 4096);
    assert!((joint - 0.35).abs() < 0.0056, "{joint}");
    assert!(requests.iter().all(|r| r.offset_bytes % 4096 == 0 && r.offset_bytes + r.bytes <= GIB));
}

/// Are gaps of 200,000 arrivals exponential? The mean has a standard error of 1/sqrt(n) = 0.22 %, the variance of sqrt(8/n) = 0.63 %.
/// Bounds are 5 standard errors, so a rate that is off by 2 % is seen with power above 0.99.
#[test]
fn poisson_gaps_are_exponential() {
    let spec = WorkloadSpec {
        requests: 200_001,
        arrivals: Arrivals::Poisson { requests_per_s: 20_000.0 },
        ..WorkloadSpec::default()
    };
    let requests = all(&spec, 2, GIB);
    assert_eq!(requests[0].arrival, Ns::ZERO);
    let gaps: Vec<f64> = requests.windows(2).map(|pair| (pair[1].arrival - pair[0].arrival).0 as f64).collect();
    let n = gaps.len() as f64;
    let mean = gaps.iter().sum::<f64>() / n;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / n;
    assert!((mean / 50_000.0 - 1.0).abs() < 0.011, "mean {mean}");
    assert!((variance / 2.5e9 - 1.0).abs() < 0.032, "variance {variance}");
    // P(gap > mean) = 1/e, with a standard error of 0.0011.
    let long = gaps.iter().filter(|&&gap| gap > 50_000.0).count() as f64 / n;
    assert!((long - (-1.0f64).exp()).abs() < 0.0055, "{long}");
}

/// Do the ranks of a Zipf distribution have their probabilities k^-s / H(n, s), for exponents below, at and above 1, and for one block?
/// Bounds are 5 standard errors, so a top rank that is off by 5 % is seen with power above 0.99.
#[test]
fn zipf_ranks_follow_the_closed_form() {
    let stream = Stream::new(3, Purpose::Workload);
    for (n, exponent) in [(1000u64, 0.0), (1000, 0.8), (1000, 1.0), (50_000, 1.2), (10, 3.0), (1, 1.0), (2, 0.5)] {
        let zipf = Zipf::new(n, exponent);
        let draws = 100_000u64;
        let mut counts = vec![0u64; n as usize];
        for i in 0..draws {
            counts[zipf.rank(&stream, i) as usize] += 1;
        }
        let total: f64 = (1..=n).map(|k| (k as f64).powf(-exponent)).sum();
        let check = |ranks: std::ops::Range<usize>| {
            let p: f64 = ranks.clone().map(|k| (k as f64 + 1.0).powf(-exponent)).sum::<f64>() / total;
            let found = counts[ranks.clone()].iter().sum::<u64>() as f64;
            let expected = p * draws as f64;
            let bound = 5.0 * (expected * (1.0 - p).max(0.0)).sqrt() + 1e-6;
            assert!((found - expected).abs() <= bound, "n {n} s {exponent} ranks {ranks:?}: {found}, not {expected}");
        };
        for rank in 0..(n as usize).min(5) {
            check(rank..rank + 1);
        }
        check(0..(n as usize / 10).max(1));
        check(0..(n as usize / 2).max(1));
    }
}

/// Are hot blocks scattered? The ten hottest of 2^18 blocks have a spread like that of ten uniform numbers. The probability that they lie
/// within one sixteenth of the footprint by chance is below 1e-9.
#[test]
fn hot_blocks_are_scattered_by_a_permutation() {
    let stream = Stream::new(4, Purpose::Workload);
    for n in [1u64, 2, 3, 5, 1000, 4096, 4097] {
        let permutation = Permutation::new(&stream, n);
        let mut seen = vec![false; n as usize];
        for value in 0..n {
            assert!(!std::mem::replace(&mut seen[permutation.of(value) as usize], true), "n {n} value {value}");
        }
    }
    let n = 1u64 << 18;
    let permutation = Permutation::new(&stream, n);
    let hot: Vec<u64> = (0..10).map(|rank| permutation.of(rank)).collect();
    assert!(hot.iter().max().unwrap() - hot.iter().min().unwrap() > n / 16, "{hot:?}");
    let other = Permutation::new(&Stream::new(5, Purpose::Workload), n);
    assert_ne!(permutation.of(0), other.of(0));

    let spec = WorkloadSpec { addresses: Addresses::Zipf { exponent: 1.0 }, ..WorkloadSpec::default() };
    let requests = all(&spec, 4, GIB);
    let hottest = permutation.of(0) * 4096;
    let share = requests.iter().filter(|r| r.offset_bytes == hottest).count() as f64 / requests.len() as f64;
    let expected = 1.0 / (1..=n).map(|k| 1.0 / k as f64).sum::<f64>();
    assert!((share - expected).abs() < 5.0 * (expected / requests.len() as f64).sqrt(), "{share}, not {expected}");
}

/// Are uniform addresses uniform? With 64 bins and 200,000 draws, chi-square with 63 degrees of freedom exceeds 103.4 with probability
/// 0.001; a bin that is off by 10 % is seen with power above 0.95.
#[test]
fn uniform_addresses_are_uniform() {
    let spec = WorkloadSpec { requests: 200_000, footprint_bytes: Some(GIB), ..WorkloadSpec::default() };
    let mut bins = [0u32; 64];
    for request in all(&spec, 6, 4 * GIB) {
        bins[(request.offset_bytes / (GIB / 64)) as usize] += 1;
    }
    let expected = 200_000.0 / 64.0;
    let chi2: f64 = bins.iter().map(|&bin| (f64::from(bin) - expected).powi(2) / expected).sum();
    assert!(chi2 < 103.4, "chi-square {chi2}");
}

/// Does the hot quarter get its 80 %, and every block of it the same share? Chi-square of 16 bins, 15 degrees of freedom, exceeds 37.7 with
/// probability 0.001. 200,000 draws give the share to 0.0009, of which five are allowed.
#[test]
fn hot_blocks_get_their_share() {
    let addresses = Addresses::HotCold { hot_fraction: 0.25, hot_share: 0.8 };
    let spec = WorkloadSpec { requests: 200_000, addresses, ..WorkloadSpec::default() };
    let mut bins = [0u32; 64];
    for request in all(&spec, 6, GIB) {
        bins[(request.offset_bytes / (GIB / 64)) as usize] += 1;
    }
    let hot: u32 = bins[..16].iter().sum();
    assert!((f64::from(hot) / 200_000.0 - 0.8).abs() < 0.0045, "{hot}");
    let expected = f64::from(hot) / 16.0;
    let chi2: f64 = bins[..16].iter().map(|&bin| (f64::from(bin) - expected).powi(2) / expected).sum();
    assert!(chi2 < 37.7, "chi-square {chi2}");
}

#[test]
fn a_change_of_one_distribution_leaves_the_others_alone() {
    let spec = WorkloadSpec { requests: 1000, ..WorkloadSpec::default() };
    let before = all(&spec, 7, GIB);
    let sizes = vec![SizeShare { bytes: 512, share: 0.5 }, SizeShare { bytes: 2048, share: 0.5 }];
    let after = all(&WorkloadSpec { sizes, ..spec.clone() }, 7, GIB);
    for (a, b) in before.iter().zip(&after) {
        assert_eq!((a.arrival, a.kind, a.offset_bytes), (b.arrival, b.kind, b.offset_bytes));
    }
    let after = all(&WorkloadSpec { addresses: Addresses::Sequential, ..spec }, 7, GIB);
    for (a, b) in before.iter().zip(&after) {
        assert_eq!((a.arrival, a.kind, a.bytes), (b.arrival, b.kind, b.bytes));
    }
}

/// Do reads after writes have their share, and go back as far as P(k or less) = ln(k + 1) / ln(n + 1) says? With 100,000 reads five
/// standard errors of a share are 0.008 at most. Each write has a block of its own, so that k is known.
#[test]
fn reads_after_writes_go_to_the_latest_ones() {
    let spec = WorkloadSpec {
        requests: 200_000,
        read_fraction: 0.5,
        addresses: Addresses::Sequential,
        footprint_bytes: Some(2 * GIB),
        written_bytes: Some(GIB),
        read_after_write: 0.6,
        ..WorkloadSpec::default()
    };
    let (mut writes, mut reads, mut after, mut latest, mut expected) = (0u64, 0.0, 0.0, 0.0, 0.0);
    for request in all(&spec, 10, 4 * GIB) {
        let block = request.offset_bytes / 4096;
        if request.kind == RequestKind::Write {
            assert_eq!(block, writes);
            writes += 1;
            continue;
        }
        reads += 1.0;
        if request.offset_bytes < GIB {
            assert!(block < writes, "only what was written is read after it");
            after += 1.0;
            latest += f64::from(u8::from(writes - block <= 10));
            expected += (11f64.min(writes as f64 + 1.0)).ln() / (writes as f64 + 1.0).ln();
        }
    }
    assert!((after / reads - 0.6f64).abs() < 0.008, "{after} of {reads}");
    assert!((latest / after - expected / after).abs() < 0.01f64, "{latest}, not {expected}");
}

#[test]
fn sequential_requests_follow_one_another_and_start_again() {
    let spec = WorkloadSpec {
        requests: 7,
        sizes: vec![SizeShare { bytes: 6000, share: 1.0 }],
        addresses: Addresses::Sequential,
        arrivals: Arrivals::Fixed { requests_per_s: 3.0 },
        footprint_bytes: Some(5 * 4096),
        ..WorkloadSpec::default()
    };
    let requests = all(&spec, 8, GIB);
    let offsets: Vec<u64> = requests.iter().map(|r| r.offset_bytes / 4096).collect();
    assert_eq!(offsets, [0, 2, 0, 2, 0, 2, 0]);
    let arrivals: Vec<u64> = requests.iter().map(|r| r.arrival.0).collect();
    assert_eq!(arrivals[..4], [0, 333_333_333, 666_666_666, 1_000_000_000]);
    let spec = WorkloadSpec { arrivals: Arrivals::Immediate, ..spec };
    assert!(all(&spec, 8, GIB).iter().all(|r| r.arrival == Ns::ZERO));
}

/// Golden values: a change here changes every published result on a synthetic workload. They come from libm, so
/// they hold on every CPU.
#[test]
fn the_workload_is_pinned() {
    let spec = WorkloadSpec { requests: 3, addresses: Addresses::Zipf { exponent: 0.9 }, ..WorkloadSpec::default() };
    let found: Vec<(u64, u64)> = all(&spec, 9, GIB).iter().map(|r| (r.arrival.0, r.offset_bytes)).collect();
    assert_eq!(found, GOLDEN);
}

const GOLDEN: [(u64, u64); 3] = [(0, 679_985_152), (123_840, 299_732_992), (355_693, 371_752_960)];

#[test]
fn bad_fields_are_named() {
    let good = WorkloadSpec::default();
    let cases: Vec<(WorkloadSpec, &str)> = vec![
        (WorkloadSpec { requests: 0, ..good.clone() }, "workload.requests: found 0"),
        (
            WorkloadSpec { read_fraction: 1.5, ..good.clone() },
            "workload.read_fraction: found 1.5, expected a number from 0 to 1",
        ),
        (
            WorkloadSpec { read_fraction: f64::NAN, ..good.clone() },
            "workload.read_fraction: found a number that is not",
        ),
        (WorkloadSpec { sizes: vec![], ..good.clone() }, "workload.sizes: found an empty list"),
        (
            WorkloadSpec { sizes: vec![SizeShare { bytes: 0, share: 1.0 }], ..good.clone() },
            "workload.sizes[0].bytes: found 0",
        ),
        (
            WorkloadSpec { sizes: vec![SizeShare { bytes: 512, share: 0.9 }], ..good.clone() },
            "workload.sizes: found shares with a sum of 0.9, expected a sum of 1",
        ),
        (
            WorkloadSpec { addresses: Addresses::Zipf { exponent: -1.0 }, ..good.clone() },
            "workload.addresses.zipf.exponent: found -1",
        ),
        (
            WorkloadSpec { addresses: Addresses::HotCold { hot_fraction: 1.0, hot_share: 0.5 }, ..good.clone() },
            "workload.addresses.hot_cold.hot_fraction: found 1, expected a number above 0",
        ),
        (
            WorkloadSpec { addresses: Addresses::HotCold { hot_fraction: 0.5, hot_share: 1.5 }, ..good.clone() },
            "workload.addresses.hot_cold.hot_share: found 1.5",
        ),
        (
            WorkloadSpec { arrivals: Arrivals::Poisson { requests_per_s: 0.0 }, ..good.clone() },
            "workload.arrivals.poisson.requests_per_s: found 0",
        ),
        (
            WorkloadSpec { read_after_write: -0.1, ..good.clone() },
            "workload.read_after_write: found -0.1, expected a number from 0 to 1",
        ),
        (
            WorkloadSpec { trim_fraction: 2.0, ..good.clone() },
            "workload.trim_fraction: found 2, expected a number from 0",
        ),
        (WorkloadSpec { align_bytes: 0, ..good.clone() }, "workload.align_bytes: found 0"),
        (WorkloadSpec { footprint_bytes: Some(100), ..good.clone() }, "workload.footprint_bytes: found 100"),
    ];
    for (spec, message) in cases {
        let error = spec.check().unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }
    let spec = WorkloadSpec { footprint_bytes: Some(2 * GIB), ..good.clone() };
    assert!(spec.source(1, GIB).err().unwrap().to_string().starts_with("workload.footprint_bytes: found 2147483648"));
    for written in [0, 5000, 2 * GIB] {
        let spec = WorkloadSpec { written_bytes: Some(written), ..good.clone() };
        let error = spec.source(1, GIB).err().unwrap().to_string();
        assert!(error.starts_with(&format!("workload.written_bytes: found {written}, expected a multiple")), "{error}");
    }
    let spec = WorkloadSpec { sizes: vec![SizeShare { bytes: 8192, share: 1.0 }], ..good };
    assert!(spec.source(1, 4096).err().unwrap().to_string().starts_with("workload.sizes[0].bytes: found 8192"));
}

#[test]
fn configs_are_read_with_defaults_and_without_unknown_fields() {
    let spec: WorkloadSpec =
        serde_json::from_str(r#"{"addresses": {"zipf": {"exponent": 0.9}}, "arrivals": "immediate"}"#).unwrap();
    assert_eq!(spec.addresses, Addresses::Zipf { exponent: 0.9 });
    assert_eq!(spec.arrivals, Arrivals::Immediate);
    assert_eq!(spec.requests, WorkloadSpec::default().requests);
    assert!(serde_json::from_str::<WorkloadSpec>(r#"{"request": 3}"#).is_err());
    assert_eq!(spec.describe().len(), 6);
}

/// Are trims the share of what does not read that was asked for, at addresses of writes, and all other requests what they are without?
#[test]
fn trims_take_the_place_of_writes() {
    let spec = |trim_fraction| WorkloadSpec { trim_fraction, ..WorkloadSpec::default() };
    let (without, with) = (all(&spec(0.0), 7, GIB), all(&spec(0.3), 7, GIB));
    let mut trims = 0;
    for (before, after) in without.iter().zip(&with) {
        let is_trim = after.kind == RequestKind::Trim;
        trims += u32::from(is_trim);
        assert!(before.kind == if is_trim { RequestKind::Write } else { after.kind });
        assert_eq!(
            (before.offset_bytes, before.bytes, before.arrival),
            (after.offset_bytes, after.bytes, after.arrival)
        );
    }
    // 30 % of 30 % of 100,000: the standard deviation is 91.
    assert!((8_600..9_400).contains(&trims), "{trims}");
    assert!(all(&spec(1.0), 7, GIB).iter().all(|request| request.kind != RequestKind::Write));
}
