use super::{Kind, Outcome, Questions, Reliability};
use crate::{DecodeAttempt, MAX_LEVEL};

/// Codewords of which every level has been attempted before: nothing is left to be drawn or decoded.
#[derive(Debug, Clone)]
pub(super) struct Attempted {
    /// Of levels 1, 2, ...
    outcomes: Vec<Outcome>,
    raw_errors: u32,
}

impl Attempted {
    /// The deepest level that has been attempted.
    pub(super) fn levels(&self) -> u8 {
        self.outcomes.len() as u8
    }

    /// What a step at `level` makes of a codeword.
    pub(super) fn outcome(&self, level: u8, questions: Questions) -> Outcome {
        let outcome = self.outcomes[usize::from(level) - 1];
        let few_errors = level == 1 && questions.few_errors.is_some_and(|few| self.raw_errors <= few.errors);
        Outcome { decoded: outcome.decoded || few_errors, few_errors, ..outcome }
    }
}

impl Reliability {
    /// The same, but that what comes of reading is known of every codeword, and the same for all of them.
    ///
    /// # Arguments
    /// - `raw_errors`: wrong hard decisions of a codeword.
    /// - `attempts`: an attempt at each level: 1, 2, ..., one to seven of them.
    ///
    /// # Panics
    /// When the attempts are at other levels.
    #[must_use]
    pub fn of_attempts(self, raw_errors: u32, attempts: &[DecodeAttempt]) -> Self {
        let levels = attempts.iter().map(|attempt| attempt.level);
        assert!(
            !attempts.is_empty() && attempts.len() <= usize::from(MAX_LEVEL) && levels.eq(1..=attempts.len() as u8)
        );
        let outcomes = attempts.iter().map(|&attempt| attempt.into()).collect();
        Self { kind: Kind::Attempted(Attempted { outcomes, raw_errors }), retries: 0, valley_sensings: None, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FewErrors, ReliabilitySpec, Step};

    #[test]
    fn outcomes_are_those_that_were_given() {
        let attempt = |level, converged, iterations| DecodeAttempt {
            level,
            converged,
            clean: false,
            iterations,
            correct: converged,
            syndrome_weight: None,
        };
        let attempts = [attempt(1, false, 20), attempt(2, true, 0), attempt(3, false, 20)];
        let any = Reliability::new(&ReliabilitySpec::Perfect, 1, ".".as_ref()).unwrap();
        let reliability = any.of_attempts(338, &attempts);
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
