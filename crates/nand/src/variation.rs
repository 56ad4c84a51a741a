use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Purpose, Result, Stream, beta_quantile, check_ranges};

/// Variation between chips, blocks and pages: the standard deviation of ln(RBER factor) of each. A factor is log-normal with mean 1, so
/// variation spreads the RBER without changing its mean.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Variation {
    /// Factors of known chips, such as measured ones. The chips of the device take them in turn, in the order in which the stripe meets the
    /// chips. They need not have mean 1. Empty: chips are drawn, with `chip_sigma`.
    #[schemars(inner(range(min = 0.0, max = 1e6)))]
    pub chip_factors: Vec<f64>,
    /// Standard deviation between chips, if there are no `chip_factors`.
    #[schemars(range(min = 0.0, max = 3.0))]
    pub chip_sigma: f64,
    /// Standard deviation between blocks of a chip.
    #[schemars(range(min = 0.0, max = 3.0))]
    pub block_sigma: f64,
    /// Factors of known layers of a 3D chip, in the order of its wordlines. The wordlines of every block are divided evenly among the
    /// layers. They need not have mean 1. Empty: layers are drawn, with `layer_sigma`.
    #[schemars(inner(range(min = 0.0, max = 1e6)))]
    pub layer_factors: Vec<f64>,
    /// Standard deviation between layers, which are the same in all blocks, if there are no `layer_factors`.
    #[schemars(range(min = 0.0, max = 3.0))]
    pub layer_sigma: f64,
    /// Number of consecutive wordlines in one layer, if layers are drawn; 1 or more.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub wordlines_per_layer: u32,
    /// Standard deviation between wordlines of a block.
    #[schemars(range(min = 0.0, max = 3.0))]
    pub wordline_sigma: f64,
    /// Standard deviation between pages of a block, and between writes of a page.
    #[schemars(range(min = 0.0, max = 3.0))]
    pub page_sigma: f64,
    /// Overdispersion: the correlation rho between any two bits of a codeword being wrong, 0, or from 1e-7 to below 1. Above 0 the numbers
    /// of errors vary more than they would if errors were independent. A codeword's RBER is then Beta distributed with mean p, that of its
    /// page, and variance rho p (1 - p), and its number of errors is beta-binomial.
    ///
    /// Source: V. Taranalli, H. Uchikawa, P. Siegel, "Channel Models for Multi-Level Cell Flash Memories Based on
    /// Empirical Error Analysis", 2016. They fit a and b to chips; a = p (1 / rho - 1), b = (1 - p) (1 / rho - 1).
    pub overdispersion: f64,
}

impl Default for Variation {
    fn default() -> Self {
        Self {
            chip_factors: Vec::new(),
            chip_sigma: 0.0,
            block_sigma: 0.0,
            layer_factors: Vec::new(),
            layer_sigma: 0.0,
            wordlines_per_layer: 1,
            wordline_sigma: 0.0,
            page_sigma: 0.0,
            overdispersion: 0.0,
        }
    }
}

/// The least overdispersion above 0. A smaller one adds at most a fifth of a per cent to the variance of the number of errors of 4 KiB. Its
/// beta distribution is too narrow to be told from a point.
const LEAST_OVERDISPERSION: f64 = 1e-7;

impl Variation {
    /// Checks the ranges; `path` is the place of the variation in the config.
    pub fn check(&self, path: &str) -> Result<()> {
        check_ranges(path, self)?;
        for (what, factors, sigma) in
            [("chip", &self.chip_factors, self.chip_sigma), ("layer", &self.layer_factors, self.layer_sigma)]
        {
            if !factors.is_empty() && sigma > 0.0 {
                let message = format!("found {sigma} together with `{what}_factors`, expected only one of the two");
                return Err(Error::config(format!("{path}.{what}_sigma"), message));
            }
        }
        let mean = self.layer_factors.iter().sum::<f64>() / self.layer_factors.len() as f64;
        if (mean - 1.0).abs() > 0.05 {
            let message = format!(
                "found factors with a mean of {mean:.4}, expected a mean of 1 within 0.05: raw bit error rates are \
                 those of the mean layer; divide all factors by their mean"
            );
            return Err(Error::config(format!("{path}.layer_factors"), message));
        }
        if self.overdispersion != 0.0 && !(LEAST_OVERDISPERSION..1.0).contains(&self.overdispersion) {
            let message = format!(
                "found {}, expected 0, or a correlation from {LEAST_OVERDISPERSION:e} to below 1",
                self.overdispersion
            );
            return Err(Error::config(format!("{path}.overdispersion"), message));
        }
        Ok(())
    }
}

/// The RBER factors of one device. Each is a pure function of the seed and the place.
#[derive(Debug, Clone)]
pub struct Factors {
    variation: Variation,
    chip: Stream,
    block: Stream,
    layer: Stream,
    wordline: Stream,
    page: Stream,
    codeword: Stream,
}

impl Factors {
    /// The factors of `seed`.
    pub fn new(variation: Variation, seed: u64) -> Self {
        Self {
            variation,
            chip: Stream::new(seed, Purpose::ChipFactor),
            block: Stream::new(seed, Purpose::BlockFactor),
            layer: Stream::new(seed, Purpose::LayerFactor),
            wordline: Stream::new(seed, Purpose::WordlineFactor),
            page: Stream::new(seed, Purpose::PageFactor),
            codeword: Stream::new(seed, Purpose::CodewordFactor),
        }
    }

    /// The factor of the chip with this number.
    pub fn chip_factor(&self, chip: u64) -> f64 {
        match self.variation.chip_factors.as_slice() {
            [] => log_normal(&self.chip, self.variation.chip_sigma, chip, 0),
            factors => factors[(chip % factors.len() as u64) as usize],
        }
    }

    /// The factor of `block` of `chip` (both of the device).
    pub fn block_factor(&self, chip: u64, block: u64) -> f64 {
        self.chip_factor(chip) * log_normal(&self.block, self.variation.block_sigma, block, 0)
    }

    /// The layer of a wordline, if a block has `wordlines_per_block` wordlines.
    pub fn layer_of(&self, wordline: u32, wordlines_per_block: u32) -> u32 {
        match self.variation.layer_factors.len() {
            0 => wordline / self.variation.wordlines_per_layer,
            layers => (u64::from(wordline) * layers as u64 / u64::from(wordlines_per_block)) as u32,
        }
    }

    /// The factor of the layer of a wordline, if a block has `wordlines_per_block` wordlines.
    pub fn layer_factor(&self, wordline: u32, wordlines_per_block: u32) -> f64 {
        let layer = self.layer_of(wordline, wordlines_per_block);
        match self.variation.layer_factors.as_slice() {
            [] => log_normal(&self.layer, self.variation.layer_sigma, layer.into(), 0),
            factors => factors[layer as usize],
        }
    }

    /// The factor of a wordline of a block (of the device), in addition to the factors of its layer and its block.
    #[inline]
    pub fn wordline_factor(&self, block: u64, wordline: u32) -> f64 {
        log_normal(&self.wordline, self.variation.wordline_sigma, block, wordline.into())
    }

    /// The factor of the page `page` (of the device), in its `write`-th life, in addition to the factor of its block.
    pub fn page_factor(&self, page: u64, write: u64) -> f64 {
        log_normal(&self.page, self.variation.page_sigma, page, write)
    }

    /// Tells whether codewords of a page differ.
    #[inline]
    pub fn codewords_differ(&self) -> bool {
        self.variation.overdispersion > 0.0
    }

    /// The RBER of the codeword at `place` (of the device), in its `write`-th life, if its page has `rber`. The RBER of a codeword grows
    /// with `rber`, because its draw stays the same.
    pub fn codeword_rber(&self, rber: f64, place: u64, write: u64) -> f64 {
        let rho = self.variation.overdispersion;
        if rho == 0.0 || rber <= 0.0 {
            return rber;
        }
        let weight = 1.0 / rho - 1.0;
        beta_quantile(rber * weight, (1.0 - rber) * weight, self.codeword.uniform(place, write))
    }
}

/// A log-normal number with mean 1 by the Box-Muller transform, on portable arithmetic.
fn log_normal(stream: &Stream, sigma: f64, a: u64, b: u64) -> f64 {
    if sigma == 0.0 {
        return 1.0;
    }
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - stream.uniform(a, 2 * b)));
    let normal = radius * libm::cos(2.0 * std::f64::consts::PI * stream.uniform(a, 2 * b + 1));
    libm::exp(sigma * normal - sigma * sigma / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Do factors have mean 1 and the stated spread? There are 100,000 draws: the standard error of the mean is 0.0009, and the logarithm's
    /// standard deviation is known to 0.2 %. Both bounds are five standard errors.
    #[test]
    fn factors_have_mean_one_and_the_stated_spread() {
        let factors = Factors::new(Variation { page_sigma: 0.3, ..Variation::default() }, 5);
        let n = 100_000;
        let draws: Vec<f64> = (0..n).map(|page| factors.page_factor(page, 1)).collect();
        let mean = draws.iter().sum::<f64>() / n as f64;
        assert!((mean - 1.0).abs() < 0.005, "mean {mean}");
        let log_mean = draws.iter().map(|f| f.ln()).sum::<f64>() / n as f64;
        let sd = (draws.iter().map(|f| (f.ln() - log_mean).powi(2)).sum::<f64>() / n as f64).sqrt();
        assert!((sd - 0.3).abs() < 0.004, "standard deviation {sd}");
    }

    #[test]
    fn factors_are_fixed_by_seed_and_place() {
        let variation = Variation { chip_sigma: 0.2, block_sigma: 0.1, page_sigma: 0.1, ..Variation::default() };
        let (a, b) = (Factors::new(variation.clone(), 1), Factors::new(variation.clone(), 1));
        assert_eq!(a.block_factor(3, 5).to_bits(), b.block_factor(3, 5).to_bits());
        assert_eq!(a.page_factor(7, 2).to_bits(), b.page_factor(7, 2).to_bits());
        assert_ne!(a.block_factor(3, 5), a.block_factor(3, 6));
        assert_ne!(a.block_factor(3, 5), a.block_factor(4, 5));
        assert_ne!(a.page_factor(7, 2), a.page_factor(7, 3));
        let other = Factors::new(variation, 2);
        assert_ne!(a.block_factor(3, 5), other.block_factor(3, 5));
        assert_ne!(a.page_factor(7, 2), other.page_factor(7, 2));
        let none = Factors::new(Variation::default(), 1);
        assert_eq!((none.block_factor(3, 5), none.page_factor(7, 2)), (1.0, 1.0));
    }

    #[test]
    fn known_chips_are_taken_in_turn() {
        let variation = Variation { chip_factors: vec![0.5, 2.0, 1.5], ..Variation::default() };
        variation.check("variation").unwrap();
        let factors = Factors::new(variation.clone(), 1);
        assert_eq!([0, 1, 2, 3, 7].map(|chip| factors.block_factor(chip, 0)), [0.5, 2.0, 1.5, 0.5, 2.0]);
        let error = Variation { chip_sigma: 0.1, ..variation }.check("variation").unwrap_err();
        assert_eq!(
            error.to_string(),
            "variation.chip_sigma: found 0.1 together with `chip_factors`, expected only one of the two"
        );
    }

    /// Are layers the same in all blocks, and the wordlines of a layer alike, while single wordlines differ everywhere? And are known
    /// layers stretched over the wordlines?
    #[test]
    fn layers_and_wordlines_have_their_own_factors() {
        let variation = Variation { layer_sigma: 0.3, wordlines_per_layer: 4, ..Variation::default() };
        variation.check("variation").unwrap();
        let factors = Factors::new(variation, 1);
        let layer = |wordline| factors.layer_factor(wordline, 96);
        assert!((0..96).all(|wordline| layer(wordline) == layer(wordline / 4 * 4)) && layer(3) != layer(4));
        let logs: Vec<f64> = (0..40_000).map(|layer| factors.layer_factor(4 * layer, 160_000).ln()).collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let sd = (logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / logs.len() as f64).sqrt();
        assert!((sd - 0.3).abs() < 0.006 && (mean + 0.045).abs() < 0.008, "{mean} {sd}");
        assert_eq!(factors.wordline_factor(1, 2), 1.0);
        let wordlines = Factors::new(Variation { wordline_sigma: 0.3, ..Variation::default() }, 1);
        assert_ne!(wordlines.wordline_factor(1, 2), wordlines.wordline_factor(2, 2));
        assert_ne!(wordlines.wordline_factor(1, 2), wordlines.wordline_factor(1, 3));
        let known = Factors::new(Variation { layer_factors: vec![3.0, 1.0, 2.0], ..Variation::default() }, 1);
        let found: Vec<f64> = (0..8).map(|wordline| known.layer_factor(wordline, 8)).collect();
        assert_eq!(found, [3.0, 3.0, 3.0, 1.0, 1.0, 1.0, 2.0, 2.0]);
        let both = Variation { layer_factors: vec![1.0], layer_sigma: 0.2, ..Variation::default() };
        let error = both.check("variation").unwrap_err().to_string();
        assert_eq!(
            error,
            "variation.layer_sigma: found 0.2 together with `layer_factors`, expected only one of the two"
        );
        let heavy = Variation { layer_factors: vec![3.0, 1.0, 2.0], ..Variation::default() };
        let error = heavy.check("variation").unwrap_err().to_string();
        assert!(
            error.starts_with(
                "variation.layer_factors: found factors with a mean of 2.0000, expected a mean of 1 within 0.05"
            ),
            "{error}"
        );
    }

    /// Do counts of errors have the mean and the variance of the beta-binomial distribution, n p (1 - p) (1 + (n - 1) rho)? There are
    /// 10,000 codewords of 2,000 bits. Five standard errors are 3 % of the mean and 9 % of the variance. Independent errors would have a
    /// fifth of the variance.
    #[test]
    fn overdispersed_counts_are_beta_binomial() {
        let (rho, rber, bits, codewords) = (0.002, 0.01, 2_000, 10_000);
        let factors = Factors::new(Variation { overdispersion: rho, ..Variation::default() }, 4);
        let noise = Stream::new(4, Purpose::Noise);
        let count = |codeword| {
            let rate = factors.codeword_rber(rber, codeword, 1);
            (0..bits).filter(|&bit| noise.uniform(codeword, bit) < rate).count() as f64
        };
        let counts: Vec<f64> = (0..codewords).map(count).collect();
        let mean = counts.iter().sum::<f64>() / codewords as f64;
        let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / codewords as f64;
        let expected_mean = bits as f64 * rber;
        let expected_variance = expected_mean * (1.0 - rber) * (1.0 + (bits - 1) as f64 * rho);
        assert!((mean / expected_mean - 1.0).abs() < 0.03, "mean {mean} for {expected_mean}");
        assert!((variance / expected_variance - 1.0).abs() < 0.09, "variance {variance} for {expected_variance}");
    }

    #[test]
    fn a_codeword_keeps_its_draw() {
        let factors = Factors::new(Variation { overdispersion: 0.001, ..Variation::default() }, 1);
        for place in 0..50 {
            let rates = [0.0, 1e-4, 1e-3, 2e-3, 0.01].map(|rber| factors.codeword_rber(rber, place, 3));
            assert!(rates[0] == 0.0 && rates.windows(2).all(|pair| pair[0] < pair[1]), "{rates:?}");
        }
        assert_ne!(factors.codeword_rber(0.01, 0, 3), factors.codeword_rber(0.01, 0, 4));
        assert_eq!(Factors::new(Variation::default(), 1).codeword_rber(0.01, 0, 3), 0.01);
    }

    #[test]
    fn bad_overdispersion_is_named() {
        let error = Variation { overdispersion: 1.0, ..Variation::default() }.check("variation").unwrap_err();
        let expected = "variation.overdispersion: found 1, expected 0, or a correlation from 1e-7 to below 1";
        assert_eq!(error.to_string(), expected);
        for rho in [1e-300, 1e-30, 9e-8, -1e-3, f64::NAN, f64::INFINITY] {
            Variation { overdispersion: rho, ..Variation::default() }.check("variation").unwrap_err();
        }
    }
}
