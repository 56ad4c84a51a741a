use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Ns, Purpose, Result, Stream, expect_whole};

/// Bad blocks, and the spare blocks of a plane that take their place: `{ spare_blocks_per_plane = 40, factory_share = 0.01 }`. The FTL
/// sees only blocks that work; a table below the FTL maps them to blocks of the chip.
///
/// Source: of spares of the same plane that replace blocks from the factory and later ones, Micron, "Bad Block Management in NAND Flash
/// Memory", technical note TN-29-59.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BadBlocksSpec {
    /// Spare blocks of each plane, in addition to `geometry.blocks_per_plane` and at most as many. Spares hold no data before they
    /// replace a bad block, and are no part of over-provisioning.
    pub spare_blocks_per_plane: u32,
    /// Share of blocks that are bad from the factory. Each block of a plane, spares among them, is bad before the run with this
    /// probability, drawn from the seed.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 0.5))]
    pub factory_share: f64,
    /// Failures of erases, which become more frequent as blocks wear. Without this field no erase fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erase_failure: Option<EraseFailureSpec>,
    /// Failures of programs of pages, which become more frequent as blocks wear. Without this field no program fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program_failure: Option<ProgramFailureSpec>,
}

/// Failures of erases: by N P/E cycles an erase of a block has failed with the probability 1 - (1 - share)^((N / at_pe_cycles)^exponent),
/// a Weibull distribution.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EraseFailureSpec {
    /// Share of blocks in which an erase has failed by `at_pe_cycles`.
    #[schemars(range(min = 0.0, max = 0.999))]
    pub share: f64,
    /// P/E cycles by which an erase has failed in the share `share` of the blocks.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub at_pe_cycles: u32,
    /// Exponent of the growth with P/E cycles. With 1 all erases fail equally often; with more, erases of old blocks fail more
    /// often.
    #[schemars(range(min = 0.1, max = 20.0))]
    pub exponent: f64,
    /// Time of an erase that fails, us: chips try until the longest time that they allow. Without this field it takes as long as an erase
    /// that succeeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erase_us: Option<f64>,
}

/// Failures of programs: in a block whose pages are all programmed in each cycle, a program has failed by N P/E cycles with the
/// probability 1 - (1 - share)^((N / at_pe_cycles)^exponent), a Weibull distribution.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProgramFailureSpec {
    /// Share of blocks in which a program has failed by `at_pe_cycles`.
    #[schemars(range(min = 0.0, max = 0.999))]
    pub share: f64,
    /// P/E cycles by which a program has failed in the share `share` of the blocks.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub at_pe_cycles: u32,
    /// Exponent of the growth with P/E cycles. With 1 all programs fail equally often; with more, programs of old blocks fail
    /// more often.
    #[schemars(range(min = 0.1, max = 20.0))]
    pub exponent: f64,
    /// Time of the program of a page that fails, us: chips try until the longest time that they allow. Without this field it takes as
    /// long as a program that succeeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program_us: Option<f64>,
}

/// A Weibull distribution of the P/E cycles by which an operation on a block has failed.
struct FailureLaw {
    share: f64,
    at_pe_cycles: u32,
    exponent: f64,
}

impl FailureLaw {
    /// The probability of a failure in one of `parts` equal parts of the P/E cycles between `from` and `to`, if none has failed before.
    fn probability(&self, from: f64, to: f64, parts: u32) -> f64 {
        let at = f64::from(self.at_pe_cycles);
        let grown = libm::pow(to / at, self.exponent) - libm::pow(from / at, self.exponent);
        -libm::expm1(libm::log1p(-self.share) * grown / f64::from(parts))
    }

    /// A part of a line for people.
    fn describe(&self, what: &str) -> String {
        let Self { share, at_pe_cycles, exponent } = self;
        format!("; {what} fail in {} % by {at_pe_cycles} P/E cycles, exponent {exponent}", share * 100.0)
    }
}

impl BadBlocksSpec {
    /// Checks that there are as many spares as blocks at most, and that the bad blocks from the factory do not outnumber the spares of any plane.
    ///
    /// # Arguments
    /// - `blocks`: of a plane, without spares.
    pub(crate) fn check_planes(&self, seed: u64, planes: u32, blocks: u32) -> Result<()> {
        let path = "flash.bad_blocks.spare_blocks_per_plane";
        expect_whole(path, self.spare_blocks_per_plane, 0, blocks)?;
        let bad = (0..planes).map(|plane| (self.of_factory(seed, plane, blocks), plane));
        let (most, plane) = bad.max_by_key(|&(bad, plane)| (bad, std::cmp::Reverse(plane))).unwrap_or_default();
        if most > self.spare_blocks_per_plane {
            let message = format!(
                "found {}, expected at least {most}: with this seed {most} of the {} blocks of plane {plane} are \
                 bad from the factory",
                self.spare_blocks_per_plane,
                blocks + self.spare_blocks_per_plane
            );
            return Err(Error::config(path, message));
        }
        Ok(())
    }

    /// Counts the blocks of a plane that are bad from the factory, spares among them.
    ///
    /// # Arguments
    /// - `blocks`: of a plane, without spares.
    pub fn of_factory(&self, seed: u64, plane: u32, blocks: u32) -> u32 {
        if self.factory_share == 0.0 {
            return 0;
        }
        let (stream, all) = (Stream::new(seed, Purpose::FactoryBadBlocks), blocks + self.spare_blocks_per_plane);
        (0..all).filter(|&block| stream.uniform(plane.into(), block.into()) < self.factory_share).count() as u32
    }

    /// Tells whether programs can fail.
    pub(crate) fn programs_fail(&self) -> bool {
        self.program_failure.is_some_and(|failure| failure.share > 0.0)
    }

    /// The number of free superblocks that a set keeps for collection. Where erases or programs can fail, it keeps one more, as a failure
    /// may cost a superblock.
    pub(crate) fn kept_for_collection(&self) -> u32 {
        let erases_fail = self.erase_failure.is_some_and(|failure| failure.share > 0.0);
        if erases_fail || self.programs_fail() { 2 } else { 1 }
    }

    /// One line for people.
    pub(crate) fn describe(&self) -> String {
        let erases = self.erase_failure.map_or_else(String::new, |failure| failure.law().describe("erases"));
        let programs = self.program_failure.map_or_else(String::new, |failure| failure.law().describe("programs"));
        let (spares, factory) = (self.spare_blocks_per_plane, self.factory_share * 100.0);
        format!("{factory} % from the factory, {spares} spares a plane{erases}{programs}")
    }
}

impl EraseFailureSpec {
    fn law(&self) -> FailureLaw {
        let &Self { share, at_pe_cycles, exponent, .. } = self;
        FailureLaw { share, at_pe_cycles, exponent }
    }

    /// The probability that an erase fails which takes a block from `from` to `to` P/E cycles.
    ///
    /// The probability is conditional on no failure by `from`. So the probability that several erases succeed is the product over them,
    /// however many P/E cycles each counts as.
    pub fn probability(&self, from: f64, to: f64) -> f64 {
        self.law().probability(from, to, 1)
    }

    /// The time of an erase that fails; none if it takes as long as other erases.
    pub fn takes(&self) -> Option<Ns> {
        self.erase_us.map(Ns::from_us)
    }
}

impl ProgramFailureSpec {
    fn law(&self) -> FailureLaw {
        let &Self { share, at_pe_cycles, exponent, .. } = self;
        FailureLaw { share, at_pe_cycles, exponent }
    }

    /// The probability that one program of a page fails. The last erase has taken its block to `from` P/E cycles, and the next erase
    /// takes it to `to`.
    ///
    /// With this probability the programs of all `pages` pages together fail as often as the distribution says.
    ///
    /// # Arguments
    /// - `pages`: of the block.
    pub fn probability(&self, from: f64, to: f64, pages: u32) -> f64 {
        self.law().probability(from, to, pages)
    }

    /// The time of a program that fails; none if it takes as long as other programs.
    pub fn takes(&self) -> Option<Ns> {
        self.program_us.map(Ns::from_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Have erases failed in the share of blocks that the config says when they have its P/E cycles, however many each erase counts as?
    #[test]
    fn erases_have_failed_in_the_share_that_was_asked_for() {
        for exponent in [0.5, 1.0, 3.0] {
            let failure = EraseFailureSpec { share: 0.02, at_pe_cycles: 3000, exponent, erase_us: None };
            for step in [1, 10, 1500] {
                let steps = (0..3000).step_by(step);
                let none = steps.map(|from| 1.0 - failure.probability(from.into(), (from + step as u32).into()));
                let failed = 1.0 - none.product::<f64>();
                assert!((failed - 0.02).abs() < 1e-12, "{failed} at exponent {exponent} in steps of {step}");
            }
            let older = failure.probability(2999.0, 3000.0) / failure.probability(999.0, 1000.0);
            assert!(if exponent == 1.0 { (older - 1.0).abs() < 1e-9 } else { (older > 1.0) == (exponent > 1.0) });
        }
        let never = EraseFailureSpec { share: 0.0, at_pe_cycles: 1, exponent: 2.0, erase_us: None };
        assert_eq!(never.probability(0.0, 1e6), 0.0);
    }

    /// Have programs failed in the share of blocks that the config says, however many pages a block has?
    #[test]
    fn programs_have_failed_in_the_share_that_was_asked_for() {
        let failure = ProgramFailureSpec { share: 0.02, at_pe_cycles: 3000, exponent: 2.0, program_us: None };
        for pages in [1, 64, 1152] {
            let of_cycle =
                |from: u32| libm::pow(1.0 - failure.probability(from.into(), (from + 1).into(), pages), pages.into());
            let failed = 1.0 - (0..3000).map(of_cycle).product::<f64>();
            assert!((failed - 0.02).abs() < 1e-11, "{failed} with {pages} pages");
        }
    }

    /// Is the number of bad blocks from the factory binomial, and is the number in a plane a function of seed and plane?
    ///
    /// The mean of 400,000 blocks at 1 % is 4,000, with a standard deviation of 63. An interval of four of these misses a share that is
    /// off by 10 % with probability 0.01. This seed was not chosen.
    #[test]
    fn factory_bad_blocks_are_binomial() {
        let spec = BadBlocksSpec {
            spare_blocks_per_plane: 40,
            factory_share: 0.01,
            erase_failure: None,
            program_failure: None,
        };
        let counts: Vec<u32> = (0..400).map(|plane| spec.of_factory(5, plane, 960)).collect();
        let (all, planes) = (f64::from(counts.iter().sum::<u32>()), 400.0);
        assert!((all - 4000.0).abs() < 4.0 * (4000.0 * 0.99f64).sqrt(), "{all} bad blocks");
        // The number of bad blocks of a plane has the variance of 1,000 draws, 9.9. Its standard error is 9.9 sqrt(2 / 399) = 0.7.
        let variance = counts.iter().map(|&n| (f64::from(n) - 10.0).powi(2)).sum::<f64>() / planes;
        assert!((variance - 9.9).abs() < 2.8, "a variance of {variance}");
        assert_eq!(spec.of_factory(5, 7, 960), counts[7]);
        assert_ne!((0..400).map(|plane| spec.of_factory(6, plane, 960)).collect::<Vec<_>>(), counts);
        let none = BadBlocksSpec { factory_share: 0.0, ..spec };
        assert_eq!(none.of_factory(5, 7, 960), 0);
        assert!(none.check_planes(5, 400, 960).is_ok());
        let few = BadBlocksSpec { spare_blocks_per_plane: 9, ..spec };
        assert!(few.check_planes(5, 400, 960).is_err());
    }
}
