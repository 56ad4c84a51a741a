use std::fmt;
use std::sync::Arc;

use softsense_ecc::ldpc::SyndromeWeights;
use softsense_nand::{CellSpec, InferredBy, ReadWith, ReferencesAt};

use super::{Kind, Outcome, Questions, Reliability};
use crate::{DecodeAttempt, Step};

/// A codeword that is programmed, sensed and decoded elsewhere. Answers are functions of the arguments.
pub trait Readings: fmt::Debug + Send + Sync {
    /// Makes an attempt to decode it with given references, and counts the wrong hard decisions. At level 1 of an LDPC code the attempt has
    /// the syndrome weight.
    fn attempt(&self, read: ReadWith) -> (DecodeAttempt, u32);

    /// Counts the violated checks among the first checks of the LDPC code, by hard decisions.
    fn violated_of_first(&self, checks: u32, read: ReadWith) -> u32;

    /// Returns where references belong by a measurement after a read at given references, in steps off the default ones.
    fn inferred(&self, by: InferredBy, references: ReferencesAt) -> i8;
}

/// A codeword that answers all questions of a read.
#[derive(Debug, Clone)]
pub struct GivenCodeword {
    /// Cells of the codeword, which say where references may be moved to.
    pub cells: CellSpec,
    /// Deepest level of reads, 1 to 7.
    pub levels: u8,
    /// Distribution of the number of checks that hard decisions violate; none where the code has no sparse checks.
    pub syndrome_weights: Option<SyndromeWeights>,
    /// Results of reads.
    pub readings: Arc<dyn Readings>,
}

impl GivenCodeword {
    /// Returns the outcome of a step.
    pub(super) fn outcome(&self, step: Step, questions: Questions) -> Outcome {
        let (attempt, raw_errors) = self.readings.attempt(step.read_with());
        let few_errors = step.level == 1 && questions.few_errors.is_some_and(|few| raw_errors <= few.errors);
        let outcome = Outcome::from(attempt);
        Outcome { decoded: outcome.decoded || few_errors, few_errors, ..outcome }
    }
}

impl Reliability {
    /// Makes every codeword the given one.
    #[must_use]
    pub fn of_given(self, codeword: GivenCodeword) -> Self {
        Self { kind: Kind::Given(Box::new(codeword)), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FewErrors, ReliabilitySpec};

    /// A codeword of which levels 1 and 3 fail, and level 2 decodes a word that was not written.
    #[derive(Debug)]
    struct SecondLevel;

    impl Readings for SecondLevel {
        fn attempt(&self, read: ReadWith) -> (DecodeAttempt, u32) {
            let converged = read.level == 2;
            let attempt = DecodeAttempt {
                level: read.level,
                converged,
                clean: false,
                iterations: if converged { 0 } else { 20 },
                correct: converged,
                syndrome_weight: None,
            };
            (attempt, 338)
        }

        fn violated_of_first(&self, _: u32, _: ReadWith) -> u32 {
            unreachable!("nothing predicts")
        }

        fn inferred(&self, _: InferredBy, _: ReferencesAt) -> i8 {
            unreachable!("nothing infers")
        }
    }

    #[test]
    fn outcomes_are_those_that_were_given() {
        let any = Reliability::new(&ReliabilitySpec::Perfect, 1, ".".as_ref()).unwrap();
        let readings = Arc::new(SecondLevel);
        let given = GivenCodeword { cells: CellSpec::default(), levels: 3, syndrome_weights: None, readings };
        let reliability = any.of_given(given);
        let fate = reliability.fate(&reliability.conditions(0, 1, |_| unreachable!("no cells are asked for")), 5);
        let outcome = |reliability: &Reliability, level| reliability.outcome(&fate, Step::fresh(level));
        assert_eq!([1, 2, 3].map(|level| outcome(&reliability, level).decoded), [false, true, false]);
        // A word that needs no iteration takes one, to find this out.
        assert_eq!([1, 2].map(|level| outcome(&reliability, level).iterations), [Some(20), Some(1)]);
        assert_eq!((reliability.levels(), reliability.least_level(&fate)), (3, 2));
        for (errors, few) in [(337, false), (338, true)] {
            let questions = Questions { few_errors: Some(FewErrors { errors, bits: 36_864 }), ..Questions::default() };
            let asked = reliability.clone().asked(questions);
            assert_eq!([outcome(&asked, 1).decoded, outcome(&asked, 1).few_errors], [few; 2]);
            assert!(!outcome(&asked, 3).decoded);
        }
    }
}
