use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Result};

/// The rule by which a block changes from one code rate to another. A change happens when the block is erased.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RateSwitch {
    /// The block's P/E cycles: it uses the first rate whose `to_pe_cycles` they do not exceed.
    #[default]
    PeCycles,
    /// The results of the block's decodes since it was last written.
    Observed(ObservedSwitch),
}

/// Code rates that follow a controller's observations of a block, with hysteresis. The block begins with the rate of its P/E cycles. When
/// it is erased, the mean over its decodes since the last write decides. Above a limit, or after a failed decode, it goes to the next
/// stronger code. Below another limit it goes to the next weaker one; otherwise it keeps its code.
///
/// Source: S. Korkotsides, T. Antonakopoulos, 2017, section III: "switching into stronger codes when LDPC decoder's iterations pass a
/// predetermined limit". The paper gives neither the limit, nor other quantities to count, nor a way back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ObservedSwitch {
    /// Quantity that is counted in each decode.
    pub by: Observable,
    /// Limit of the mean above which a block goes to the next stronger code: one for all rates, or one for each but the last.
    #[schemars(inner(range(min = 0.0, max = 1e9)))]
    pub stronger_above: Vec<f64>,
    /// Limit of the mean below which a block goes back to the next weaker code: one for all rates, or one for each but the first. Without
    /// this field a block never goes back.
    #[serde(default)]
    #[schemars(inner(range(min = 0.0, max = 1e9)))]
    pub weaker_below: Vec<f64>,
    /// Number of decodes of a block below which their mean is ignored.
    #[serde(default = "super::one")]
    #[schemars(range(min = 1, max = 1 << 30))]
    pub least_decodes: u32,
}

/// Quantity that a controller counts in each decode of hard decisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Observable {
    /// Decoding iterations, of any level.
    MeanIterations,
    /// Bits that were corrected. The number is the size of a codeword in flash, data and parity, in bits.
    CorrectedErrors {
        /// Bits of a codeword in flash, data and parity.
        #[schemars(range(min = 1, max = 100_000))]
        codeword_bits: u32,
    },
    /// Checks of the code that hard decisions violate.
    SyndromeWeight,
}

impl RateSwitch {
    /// Returns the observations, if blocks change by them.
    pub fn observed(&self) -> Option<&ObservedSwitch> {
        match self {
            Self::PeCycles => None,
            Self::Observed(observed) => Some(observed),
        }
    }

    /// # Arguments
    /// - `rates`: the number of rates.
    pub(super) fn check(&self, rates: usize) -> Result<()> {
        let Self::Observed(observed) = self else { return Ok(()) };
        let path = |field| format!("reliability.adaptive.switch.observed.{field}");
        let limits = |field, limits: &[f64], least: usize| {
            if limits.len() < least || limits.len() > 1 && limits.len() != rates - 1 {
                let message = format!(
                    "found {} limits, expected 1, or {}, one for each switch between two rates",
                    limits.len(),
                    rates - 1
                );
                return Err(Error::config(path(field), message));
            }
            Ok(())
        };
        limits("stronger_above", &observed.stronger_above, 1)?;
        limits("weaker_below", &observed.weaker_below, 0)?;
        // A block that has just gone to a stronger code must not be sent back by the mean that sent it there.
        for rate in 0..rates.saturating_sub(1) {
            let (Some(stronger), Some(weaker)) = (observed.stronger_than(rate), observed.weaker_than(rate + 1)) else {
                continue;
            };
            if weaker >= stronger {
                let message = format!(
                    "found {weaker}, expected less than {stronger}, the value of `stronger_above`: a block would \
                     otherwise switch back and forth"
                );
                return Err(Error::config(path("weaker_below"), message));
            }
        }
        Ok(())
    }
}

impl ObservedSwitch {
    /// Returns the limit above which a stronger rate follows; `None` where there is no stronger one.
    fn stronger_than(&self, rate: usize) -> Option<f64> {
        if self.stronger_above.len() == 1 {
            Some(self.stronger_above[0])
        } else {
            self.stronger_above.get(rate).copied()
        }
    }

    /// Returns the limit below which a weaker rate follows; `None` where rates never go back.
    fn weaker_than(&self, rate: usize) -> Option<f64> {
        match self.weaker_below.as_slice() {
            [limit] => Some(*limit),
            limits => limits.get(rate.checked_sub(1)?).copied(),
        }
    }

    /// Returns the rate of a block that is erased.
    ///
    /// # Arguments
    /// - `rate`: the rate with which it was written.
    /// - `last`: the strongest rate.
    /// - `mean`: the mean over its decodes; none where there were too few.
    /// - `failed`: whether one of its decodes failed.
    pub fn next(&self, rate: usize, last: usize, mean: Option<f64>, failed: bool) -> usize {
        let above = |limit| mean.is_some_and(|mean| mean > limit);
        let below = |limit| mean.is_some_and(|mean| mean < limit);
        if failed || self.stronger_than(rate).is_some_and(above) {
            return (rate + 1).min(last);
        }
        if rate > 0 && self.weaker_than(rate).is_some_and(below) { rate - 1 } else { rate }
    }
}

#[cfg(test)]
mod tests {
    use softsense_base::check_ranges;

    use super::*;

    fn switch(stronger_above: &[f64], weaker_below: &[f64]) -> ObservedSwitch {
        ObservedSwitch {
            by: Observable::MeanIterations,
            stronger_above: stronger_above.to_vec(),
            weaker_below: weaker_below.to_vec(),
            least_decodes: 1,
        }
    }

    /// Does a block change by one rate at a time, by the limits of its own rate, and not beyond the first and the last?
    #[test]
    fn blocks_go_one_rate_at_a_time() {
        let one = switch(&[6.0], &[3.0]);
        let next = |rate, mean| one.next(rate, 2, Some(mean), false);
        assert_eq!(
            [next(0, 6.1), next(0, 6.0), next(0, 2.9), next(1, 2.9), next(2, 9.0), next(1, 3.0)],
            [1, 0, 0, 0, 2, 1]
        );
        let each = switch(&[6.0, 8.0], &[2.0, 4.0]);
        let next = |rate, mean| each.next(rate, 2, Some(mean), false);
        assert_eq!([next(0, 7.0), next(1, 7.0), next(1, 3.0), next(2, 3.0), next(2, 99.0)], [1, 1, 1, 1, 2]);
        let never_back = switch(&[6.0], &[]);
        assert_eq!(never_back.next(1, 2, Some(0.0), false), 1);
        // A failure counts without a mean, too.
        assert_eq!([never_back.next(1, 2, None, true), never_back.next(1, 2, None, false)], [2, 1]);
    }

    #[test]
    fn limits_that_do_not_fit_are_named() {
        let check = |spec| {
            let switch = RateSwitch::Observed(spec);
            check_ranges("reliability.adaptive.switch", &switch).and_then(|()| switch.check(3))
        };
        assert!(check(switch(&[6.0, 7.0], &[3.0])).is_ok());
        for (spec, expected) in [
            (switch(&[], &[]), "stronger_above: found 0 limits, expected 1, or 2"),
            (switch(&[6.0], &[1.0, 2.0, 3.0]), "weaker_below: found 3 limits"),
            (switch(&[6.0], &[6.0]), "found 6, expected less than 6, the value of `stronger_above`"),
            (ObservedSwitch { least_decodes: 0, ..switch(&[6.0], &[]) }, "least_decodes: found 0"),
        ] {
            let found = check(spec).unwrap_err().to_string();
            assert!(found.contains(expected), "{found}");
        }
    }
}
