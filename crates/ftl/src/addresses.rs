use std::ops::Range;

use softsense_config::checked::CheckedConfig;
use softsense_config::spec::Spread;
use strength_reduce::StrengthReducedU64;

use super::Lcn;

/// The division of the user's logical codewords among SSDs.
#[derive(Debug, Clone)]
pub(super) struct Addresses {
    ssds: StrengthReducedU64,
    spread: Spread,
    /// Consecutive logical codewords that go to one SSD before the next SSD has its turn.
    together: StrengthReducedU64,
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
            together: StrengthReducedU64::new(config.units_in_turn()),
            user_codewords,
            of_ssd: user_codewords / u64::from(ssds),
        }
    }

    #[inline]
    pub(super) fn user_codewords(&self) -> u64 {
        self.user_codewords
    }

    /// Logical codewords of the user on each SSD.
    #[inline]
    pub(super) fn of_ssd(&self) -> u64 {
        self.of_ssd
    }

    /// The SSD that holds a logical codeword of the user, and the number of the codeword among those on this SSD.
    #[inline]
    pub(super) fn split(&self, lcn: Lcn) -> (u32, u64) {
        match (self.ssds.get(), self.spread) {
            (1, _) => (0, lcn),
            (_, Spread::RoundRobin) => {
                let (turn, at) = StrengthReducedU64::div_rem(lcn, self.together);
                let (round, ssd) = StrengthReducedU64::div_rem(turn, self.ssds);
                (ssd as u32, round * self.together.get() + at)
            }
            (_, Spread::Address) => ((lcn / self.of_ssd) as u32, lcn % self.of_ssd),
        }
    }

    /// The logical codeword with number `index` among those on an SSD.
    #[inline]
    pub(super) fn join(&self, ssd: u32, index: u64) -> Lcn {
        match self.spread {
            Spread::RoundRobin => {
                let (round, at) = StrengthReducedU64::div_rem(index, self.together);
                (round * self.ssds.get() + u64::from(ssd)) * self.together.get() + at
            }
            Spread::Address => u64::from(ssd) * self.of_ssd + index,
        }
    }

    /// The number of logical codewords on an SSD that come before `lcn`.
    fn before(&self, ssd: u32, lcn: Lcn) -> u64 {
        let (ssd, together) = (u64::from(ssd), self.together.get());
        let first = match self.spread {
            Spread::RoundRobin => {
                let of_round = self.ssds.get() * together;
                let in_round = (lcn % of_round).saturating_sub(ssd * together).min(together);
                return lcn / of_round * together + in_round;
            }
            Spread::Address => ssd * self.of_ssd,
        };
        lcn.saturating_sub(first).min(self.of_ssd)
    }

    /// Splits a range of codewords by SSD, from the SSD of the first codeword on: each SSD, and the numbers of the codewords among those
    /// on it.
    pub(super) fn by_ssd(&self, codewords: Range<Lcn>) -> impl Iterator<Item = (u32, Range<u64>)> + use<> {
        let Range { start, end } = codewords;
        let (addresses, ssds) = (self.clone(), self.ssds.get() as u32);
        let (first, mut left) = (self.split(start).0, end - start);
        (0..ssds).map_while(move |turn| {
            let ssd = (first + turn) % ssds;
            let found = if ssds == 1 { start..end } else { addresses.before(ssd, start)..addresses.before(ssd, end) };
            let any = left > 0;
            left -= found.end - found.start;
            any.then_some((ssd, found))
        })
    }
}
