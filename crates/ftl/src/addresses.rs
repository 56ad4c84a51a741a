use std::ops::Range;

use softsense_config::checked::CheckedConfig;
use softsense_config::ids::{Lcn, Ssd};
use softsense_config::spec::Spread;
use strength_reduce::StrengthReducedU64;

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
    pub(super) fn split(&self, lcn: Lcn) -> (Ssd, u64) {
        match (self.ssds.get(), self.spread) {
            (1, _) => (Ssd(0), lcn.0),
            (_, Spread::RoundRobin) => {
                let (turn, at) = StrengthReducedU64::div_rem(lcn.0, self.together);
                let (round, ssd) = StrengthReducedU64::div_rem(turn, self.ssds);
                (Ssd(ssd as u32), round * self.together.get() + at)
            }
            (_, Spread::Address) => (Ssd((lcn.0 / self.of_ssd) as u32), lcn.0 % self.of_ssd),
        }
    }

    /// The logical codeword with number `index` among those on an SSD.
    #[inline]
    pub(super) fn join(&self, ssd: Ssd, index: u64) -> Lcn {
        match self.spread {
            Spread::RoundRobin => {
                let (round, at) = StrengthReducedU64::div_rem(index, self.together);
                Lcn((round * self.ssds.get() + u64::from(ssd)) * self.together.get() + at)
            }
            Spread::Address => Lcn(u64::from(ssd) * self.of_ssd + index),
        }
    }

    /// The number of logical codewords on an SSD that come before `lcn`.
    fn before(&self, ssd: Ssd, lcn: Lcn) -> u64 {
        let (ssd, together) = (u64::from(ssd), self.together.get());
        let first = match self.spread {
            Spread::RoundRobin => {
                let of_round = self.ssds.get() * together;
                let in_round = (lcn.0 % of_round).saturating_sub(ssd * together).min(together);
                return lcn.0 / of_round * together + in_round;
            }
            Spread::Address => ssd * self.of_ssd,
        };
        lcn.0.saturating_sub(first).min(self.of_ssd)
    }

    /// Splits a range of codewords by SSD, from the SSD of the first codeword on: each SSD, and the numbers of the codewords among those
    /// on it.
    pub(super) fn by_ssd(&self, codewords: Range<Lcn>) -> impl Iterator<Item = (Ssd, Range<u64>)> + use<> {
        let Range { start, end } = codewords;
        let (addresses, ssds) = (self.clone(), self.ssds.get() as u32);
        let (first, mut left) = (self.split(start).0, end.0 - start.0);
        (0..ssds).map_while(move |turn| {
            let ssd = Ssd((first.0 + turn) % ssds);
            let before = |lcn: Lcn| if ssds == 1 { lcn.0 } else { addresses.before(ssd, lcn) };
            let found = before(start)..before(end);
            let any = left > 0;
            left -= found.end - found.start;
            any.then_some((ssd, found))
        })
    }
}
