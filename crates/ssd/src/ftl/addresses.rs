use std::ops::Range;

use strength_reduce::StrengthReducedU64;

use super::Lcn;
use crate::checked::CheckedConfig;
use crate::config::Spread;

/// How the logical codewords of the user are divided among SSDs.
#[derive(Debug, Clone)]
pub(super) struct Addresses {
    ssds: StrengthReducedU64,
    spread: Spread,
    user_codewords: u64,
    of_ssd: u64,
}

impl Addresses {
    pub(super) fn new(config: &CheckedConfig) -> Self {
        let (ssds, user_codewords) = (config.geometry().ssds(), config.user_codewords());
        let spread = config.config().host.spread;
        Self {
            ssds: StrengthReducedU64::new(ssds.into()),
            spread,
            user_codewords,
            of_ssd: user_codewords / u64::from(ssds),
        }
    }

    #[inline]
    pub(super) fn user_codewords(&self) -> u64 {
        self.user_codewords
    }

    /// Those of an SSD.
    #[inline]
    pub(super) fn of_ssd(&self) -> u64 {
        self.of_ssd
    }

    /// The distance of logical codewords that follow one another on an SSD.
    #[inline]
    pub(super) fn step(&self) -> u64 {
        match self.spread {
            Spread::RoundRobin => self.ssds.get(),
            Spread::Address => 1,
        }
    }

    /// The SSD that a logical codeword of the user is on, and its number among those that are.
    #[inline]
    pub(super) fn split(&self, lcn: Lcn) -> (u32, u64) {
        match (self.ssds.get(), self.spread) {
            (1, _) => (0, lcn),
            (_, Spread::RoundRobin) => {
                let (index, ssd) = StrengthReducedU64::div_rem(lcn, self.ssds);
                (ssd as u32, index)
            }
            (_, Spread::Address) => ((lcn / self.of_ssd) as u32, lcn % self.of_ssd),
        }
    }

    /// The logical codeword with number `index` of those that are on an SSD.
    #[inline]
    pub(super) fn join(&self, ssd: u32, index: u64) -> Lcn {
        match self.spread {
            Spread::RoundRobin => index * self.ssds.get() + u64::from(ssd),
            Spread::Address => u64::from(ssd) * self.of_ssd + index,
        }
    }

    /// Codewords of a range by the SSD they are on: SSD, first codeword, step from one to the next, how many.
    pub(super) fn by_ssd(&self, codewords: Range<Lcn>) -> impl Iterator<Item = (u32, Lcn, u64, u32)> + use<> {
        let (step, of_ssd) = (self.step(), self.of_ssd);
        let Range { mut start, end } = codewords;
        let mut left = self.ssds.get();
        std::iter::from_fn(move || {
            (start < end && left > 0).then(|| {
                left -= 1;
                let first = start;
                if step > 1 {
                    start += 1;
                    return ((first % step) as u32, first, step, (end - first).div_ceil(step) as u32);
                }
                let ssd = first / of_ssd;
                start = end.min((ssd + 1) * of_ssd);
                (ssd as u32, first, 1, (start - first) as u32)
            })
        })
    }
}
