use super::*;
use crate::{History, Observation, Policy, ReadSpec};

const STEPS: StepsThere =
    StepsThere { max_level: 7, retry_entries: 3, search_sensings: 0, has_default: true, page_types: 3 };
const BEGINS: ReadBegins = ReadBegins { page_type: 0, pe_cycles: 900, block: 17, remembered_level: 1 };

/// A policy that answers with a closure.
struct Answers<F>(F);

impl<F: FnMut(&OwnRead) -> Option<OwnStep> + Send + Sync> ReadPolicy for Answers<F> {
    fn next(&mut self, read: &OwnRead) -> Result<Option<OwnStep>> {
        Ok(self.0(read))
    }
}

fn asked(
    traits: PolicyTraits,
    steps: StepsThere,
    answers: impl FnMut(&OwnRead) -> Option<OwnStep> + Send + Sync + 'static,
) -> Result<AskedPolicy> {
    AskedPolicy::new("own.py:Own".parse().unwrap(), Box::new(Answers(answers)), traits, steps)
}

fn traits(observes: Observes, is_function: bool) -> PolicyTraits {
    PolicyTraits { observes, looks_ahead: true, is_function }
}

/// Makes the levels of a shipped policy, as a user's policy would give them.
fn like(policy: Policy) -> impl FnMut(&OwnRead) -> Option<OwnStep> + Send + Sync + Clone {
    move |read| {
        let tried = read.tried.len() as u8;
        let level = match policy {
            Policy::TwoStep => [1, 7].get(usize::from(tried)).copied(),
            _ => (1..=7).nth(tried.into()),
        };
        level.map(OwnStep::level)
    }
}

/// Do a table, a policy that is asked and the shipped one make the same steps, ahead and after?
#[test]
fn own_policies_make_the_steps_of_shipped_ones() {
    for policy in [Policy::TwoStep, Policy::Progressive] {
        for retry in [Retry::Restart, Retry::Incremental] {
            for is_function in [true, false] {
                let spec = ReadSpec { policy, retry, ..ReadSpec::default() };
                let mut own = asked(traits(Observes::default(), is_function), STEPS, like(policy)).unwrap();
                let mut history = History::default();
                let mut step = Some(spec.first(&history, 1, || 1));
                let asked = own.first(5, BEGINS).unwrap();
                assert_eq!(Some(own.step(asked, &spec, &history, None)), step);
                while let Some(last) = step {
                    let made = |own: &AskedPolicy, asked: Option<OwnStep>, history: &History| {
                        asked.map(|asked| own.step(asked, &spec, history, Some(last)))
                    };
                    let ahead = own.ahead(5).unwrap();
                    assert_eq!(made(&own, ahead, &history), spec.ahead(&history, last));
                    step = spec.after(&mut history, Observation::failed(last));
                    let after = own.after(5, 123).unwrap();
                    assert_eq!(made(&own, after, &history), step);
                }
                let cost = own.cost();
                // An answer that was given ahead is not asked for again.
                let decisions = if policy == Policy::TwoStep { 3 } else { 8 };
                assert_eq!(cost.tabulated, is_function.then_some(decisions));
                assert_eq!(cost.calls, if is_function { 0 } else { decisions });
            }
        }
    }
}

/// Does a policy see the bucket of its observation, with a table and without one?
#[test]
fn buckets_are_seen() {
    let observes = Observes {
        page_type: true,
        remembered_level: true,
        pe_cycles: Watched::Bucket(vec![1000, 2000]),
        syndrome_weight: Watched::Bucket(vec![100, 200]),
        ..Observes::default()
    };
    // The level of the answer encodes all observations.
    let answers = |read: &OwnRead| {
        let level = match read.tried.as_slice() {
            [] => 1,
            [first] => 2 + first.syndrome_weight as u8,
            [_, _] => 1 + read.page_type as u8 + read.pe_cycles as u8 + u8::from(read.remembered_level == 2),
            _ => return None,
        };
        Some(OwnStep::level(level))
    };
    for is_function in [true, false] {
        let mut own = asked(traits(observes.clone(), is_function), STEPS, answers).unwrap();
        for (pe_cycles, bucket) in [(999, 0), (1000, 1), (2000, 2), (9999, 2)] {
            for (weight, second) in [(0, 2), (99, 2), (100, 3), (250, 4)] {
                for (page_type, remembered_level) in [(0, 1), (2, 1), (1, 2)] {
                    own.first(0, ReadBegins { page_type, pe_cycles, remembered_level, ..BEGINS }).unwrap();
                    assert_eq!(own.ahead(0).unwrap(), None, "it waits for what will be seen");
                    assert_eq!(own.after(0, weight).unwrap().unwrap().level, second);
                    let third = 1 + page_type as u8 + bucket + u8::from(remembered_level == 2);
                    assert_eq!(own.after(0, 0).unwrap().unwrap().level, third);
                    // For some, the third step is a hard decision, with an outcome of its own.
                    assert_eq!(own.after(0, weight).unwrap(), None);
                }
            }
        }
        assert_eq!(own.cost().tabulated.is_some(), is_function);
    }
}

/// Are policies asked during the run if their observations are not finite, or more than a table holds?
#[test]
fn what_is_not_finite_is_asked_for() {
    let whole = Observes { syndrome_weight: Watched::Whole, ..Observes::default() };
    let weigh = |read: &OwnRead| match read.tried.as_slice() {
        [] => Some(OwnStep::level(1)),
        [first] => Some(OwnStep::level(if first.syndrome_weight > 400 { 7 } else { 2 })),
        _ => None,
    };
    let mut own = asked(traits(whole, true), STEPS, weigh).unwrap();
    own.first(0, BEGINS).unwrap();
    assert_eq!(own.ahead(0).unwrap(), None);
    assert_eq!(own.after(0, 401).unwrap().unwrap().level, 7);
    assert_eq!(own.cost(), OwnCost { tabulated: None, calls: 2, spent_s: 0.0 });
    let block = Observes { block: true, ..Observes::default() };
    assert_eq!(asked(traits(block, true), STEPS, weigh).unwrap().cost().tabulated, None);
    let edges = Watched::Bucket((0..99).collect());
    let many = Observes { syndrome_weight: edges, ..Observes::default() };
    let deep = |read: &OwnRead| (read.tried.len() < 5).then_some(OwnStep::level(1));
    assert_eq!(asked(traits(many, true), STEPS, deep).unwrap().cost().tabulated, None);
}

/// Is an answer that is not a valid step refused, with the value found and the values expected?
#[test]
fn answers_that_are_no_steps_are_refused() {
    let refused = |answer: Option<OwnStep>| {
        let own = asked(traits(Observes::default(), true), STEPS, move |_| answer);
        own.unwrap_err().to_string()
    };
    let at = |references| Some(OwnStep::at(references, 1));
    assert!(refused(Some(OwnStep::level(99))).starts_with("own.py:Own: next: found level 99, expected 1 to 7"));
    assert!(refused(Some(OwnStep::level(0))).contains("found level 0"));
    assert!(refused(at(ReferencesAt::RetryEntry(3))).contains("`retry_entry:3`, expected retry_entry:0 to 2"));
    assert!(
        refused(at(ReferencesAt::Valleys))
            .contains("`valleys`, expected references `cells`, or a `reliability` whose cells")
    );
    assert!(refused(None).contains("found None for a read that has no steps yet"));
    assert!(refused(Some(OwnStep::level(1))).contains("found another step after 32"));
    let mut calls = 0;
    let moody = move |read: &OwnRead| {
        calls += 1;
        (read.tried.is_empty()).then_some(OwnStep::level(1 + calls % 2))
    };
    let error = asked(traits(Observes::default(), true), STEPS, moody).unwrap_err().to_string();
    assert!(error.contains("found two different answers"), "{error}");
}

/// Are the references of an entry sensed anew, and those of a search only once?
#[test]
fn references_move() {
    let steps = StepsThere { search_sensings: 9, ..STEPS };
    let spec = ReadSpec { retry: Retry::Incremental, ..ReadSpec::default() };
    let at = OwnStep::at;
    let (valleys, entry) = (ReferencesAt::Valleys, ReferencesAt::RetryEntry(2));
    let ladder = [at(ReferencesAt::Default, 1), at(entry, 1), at(entry, 3), at(valleys, 1), at(valleys, 2)];
    let mut own =
        asked(traits(Observes::default(), true), steps, move |read| ladder.get(read.tried.len()).copied()).unwrap();
    let first = own.first(0, BEGINS).unwrap();
    let mut made = vec![own.step(first, &spec, &History::default(), None)];
    while let Some(asked) = own.after(0, 0).unwrap() {
        made.push(own.step(asked, &spec, &History::default(), made.last().copied()));
    }
    let kept = |step: Step, extra_levels| Step { hard: false, extra_levels, ..step };
    let found = Step::hard_at(valleys);
    assert_eq!(
        made,
        [
            Step::hard_at(ReferencesAt::Default),
            Step::hard_at(entry),
            kept(Step::fresh_at(entry, 3), 2),
            Step { search_sensings: 9, ..found },
            kept(Step::fresh_at(valleys, 2), 1),
        ]
    );
}
