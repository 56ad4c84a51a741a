use std::fmt;
use std::sync::Arc;

use softsense_ecc::ldpc::SyndromeWeights;
use softsense_nand::{CellSpec, InferredBy, ReadWith, ReferencesAt};

use super::{Kind, Outcome, Questions, Reliability};
use crate::{DecodeAttempt, Step};

/// A codeword that is programmed, sensed and decoded elsewhere. Answers are functions of what is asked.
pub trait Readings: fmt::Debug + Send + Sync {
    /// An attempt to decode it as its cells are read, and how many hard decisions are wrong then. At level 1 of an LDPC code it has
    /// the syndrome weight.
    fn attempt(&self, read: ReadWith) -> (DecodeAttempt, u32);

    /// How many of the first checks of its LDPC code its hard decisions violate.
    fn violated_of_first(&self, checks: u32, read: ReadWith) -> u32;

    /// Where a measurement, after a read with references at a place, says that they belong: so many steps off the default ones.
    fn inferred(&self, by: InferredBy, references: ReferencesAt) -> i8;
}

/// A codeword of which a read is told all that it asks.
#[derive(Debug, Clone)]
pub struct GivenCodeword {
    /// Its cells, which say where references may be moved to.
    pub cells: CellSpec,
    /// The deepest level that is read, 1 to 7.
    pub levels: u8,
    /// How many checks of its code hard decisions violate; none where it has no sparse ones.
    pub syndrome_weights: Option<SyndromeWeights>,
    /// What its reads come to.
    pub readings: Arc<dyn Readings>,
}

impl GivenCodeword {
    /// What a step makes of it.
    pub(super) fn outcome(&self, step: Step, questions: Questions) -> Outcome {
        let (attempt, raw_errors) = self.readings.attempt(step.read_with());
        let few_errors = step.level == 1 && questions.few_errors.is_some_and(|few| raw_errors <= few.errors);
        let outcome = Outcome::from(attempt);
        Outcome { decoded: outcome.decoded || few_errors, few_errors, ..outcome }
    }
}

impl Reliability {
    /// The same, but that every codeword is a given one.
    #[must_use]
    pub fn of_given(self, codeword: GivenCodeword) -> Self {
        Self { kind: Kind::Given(Box::new(codeword)), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FewErrors, ReliabilitySpec};

    /// Levels 1 and 3 fail, level 2 decodes a word that was none.
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
        // A word that needs no iteration takes one: to find that out.
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
