//! Arbitration among submission queues, which chooses the queue whose command is fetched next.
//!
//! Source: NVM Express Base Specification 2.0, 3.4.4 (1.4: 4.13).

use softsense_config::spec::{ArbitrationScheme, ArbitrationSpec, Priority, TenantSpec};

/// Queues that take turns.
#[derive(Debug, Default)]
struct Turns {
    /// The queues, each with the number of commands that it has in a turn.
    queues: Vec<(usize, u32)>,
    /// The position of the queue whose turn it is.
    at: usize,
    /// Commands left of this turn.
    left: u32,
}

impl Turns {
    /// The next queue among those that are ready: the one whose turn it is, or the first after it.
    fn next(&mut self, ready: &[bool]) -> Option<usize> {
        let &(queue, _) = self.queues.get(self.at)?;
        if self.left > 0 && ready[queue] {
            self.left -= 1;
            return Some(queue);
        }
        let count = self.queues.len();
        let next = (self.at + 1..=self.at + count).map(|at| at % count).find(|&at| ready[self.queues[at].0])?;
        let (queue, turn) = self.queues[next];
        (self.at, self.left) = (next, turn - 1);
        Some(queue)
    }
}

/// Classes that share by weight what urgent queues leave. In a round, each class has as many commands fetched as its weight says, in turns
/// of a burst. The credits of a class that has nothing to fetch when all others have spent theirs are lost.
#[derive(Debug)]
struct Classes {
    urgent: Turns,
    /// Queues of high, medium and low priority.
    levels: [Turns; 3],
    weights: [u32; 3],
    credits: [u32; 3],
    burst: u32,
    /// The level whose turn it is, and the commands left of that turn.
    at: usize,
    left: u32,
}

impl Classes {
    fn next(&mut self, ready: &[bool]) -> Option<usize> {
        if let Some(queue) = self.urgent.next(ready) {
            return Some(queue);
        }
        for _ in 0..2 {
            for step in 0..=self.levels.len() {
                let level = (self.at + step) % self.levels.len();
                let left = if step == 0 { self.left } else { self.burst };
                if left == 0 || self.credits[level] == 0 {
                    continue;
                }
                if let Some(queue) = self.levels[level].next(ready) {
                    (self.at, self.left) = (level, left - 1);
                    self.credits[level] -= 1;
                    return Some(queue);
                }
            }
            // A round is over.
            self.credits = self.weights;
            (self.at, self.left) = (0, self.burst);
        }
        None
    }
}

/// An arbiter among submission queues.
#[derive(Debug)]
pub(super) struct Arbiter(Scheme);

#[derive(Debug)]
enum Scheme {
    RoundRobin(Turns),
    Weighted(Classes),
}

impl Arbiter {
    /// Makes an arbiter among the queues of tenants, which have the numbers of the tenants.
    pub(super) fn new(spec: &ArbitrationSpec, tenants: &[TenantSpec]) -> Self {
        let turns = |of: &dyn Fn(Priority) -> bool| Turns {
            queues: tenants
                .iter()
                .enumerate()
                .filter(|(_, tenant)| of(tenant.priority))
                .map(|(queue, tenant)| (queue, tenant.weight * spec.burst))
                .collect(),
            ..Turns::default()
        };
        Self(match spec.scheme {
            ArbitrationScheme::RoundRobin => Scheme::RoundRobin(turns(&|_| true)),
            ArbitrationScheme::WeightedRoundRobin { high_weight, medium_weight, low_weight } => {
                let weights = [high_weight, medium_weight, low_weight];
                let of = |wanted| turns(&move |priority| priority == wanted);
                Scheme::Weighted(Classes {
                    urgent: of(Priority::Urgent),
                    levels: [of(Priority::High), of(Priority::Medium), of(Priority::Low)],
                    weights,
                    credits: weights,
                    burst: spec.burst,
                    at: 0,
                    left: spec.burst,
                })
            }
        })
    }

    /// The queue whose command is fetched next, of those that are ready; none where none is.
    pub(super) fn next(&mut self, ready: &[bool]) -> Option<usize> {
        match &mut self.0 {
            Scheme::RoundRobin(turns) => turns.next(ready),
            Scheme::Weighted(classes) => classes.next(ready),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use softsense_config::spec::{Issue, Namespace};

    fn arbiter(scheme: ArbitrationScheme, burst: u32, tenants: &[(Priority, u32)]) -> Arbiter {
        let tenants: Vec<TenantSpec> = tenants
            .iter()
            .map(|&(priority, weight)| TenantSpec {
                name: String::new(),
                workload: None,
                trace: None,
                issue: Some(Issue::ClosedLoop { queue_depth: 1 }),
                namespace: Namespace::Rest,
                priority,
                weight,
                placement: 0,
                read_deadline_us: None,
                fetched_commands: None,
                submission_queue_depth: 1,
                idle: false,
            })
            .collect();
        Arbiter::new(&ArbitrationSpec { scheme, burst, fetched_commands: 1 }, &tenants)
    }

    /// The queues of the next `count` fetches.
    fn fetched(arbiter: &mut Arbiter, ready: &[bool], count: usize) -> String {
        (0..count).map(|_| arbiter.next(ready).map_or("-".to_owned(), |queue| queue.to_string())).collect()
    }

    const WEIGHTED: ArbitrationScheme =
        ArbitrationScheme::WeightedRoundRobin { high_weight: 4, medium_weight: 2, low_weight: 1 };

    /// Do queues take turns of a burst, and those with nothing to fetch none?
    #[test]
    fn queues_take_turns() {
        let three = [(Priority::Medium, 1); 3];
        let mut one = arbiter(ArbitrationScheme::RoundRobin, 1, &three);
        assert_eq!(fetched(&mut one, &[true; 3], 6), "120120");
        assert_eq!(fetched(&mut one, &[true, false, true], 4), "2020");
        assert_eq!(fetched(&mut one, &[false; 3], 2), "--");
        let mut two = arbiter(ArbitrationScheme::RoundRobin, 2, &three);
        assert_eq!(fetched(&mut two, &[true; 3], 8), "11220011");
        // Priorities are not looked at, weights are.
        let mut weights = arbiter(ArbitrationScheme::RoundRobin, 1, &[(Priority::Urgent, 1), (Priority::Low, 3)]);
        assert_eq!(fetched(&mut weights, &[true; 2], 8), "11101110");
    }

    /// Do classes share by weight, and nobody gets anything while an urgent queue has commands?
    #[test]
    fn classes_share_by_weight_what_urgent_queues_leave() {
        let all = [(Priority::Urgent, 1), (Priority::High, 1), (Priority::Medium, 1), (Priority::Low, 1)];
        let mut classes = arbiter(WEIGHTED, 1, &all);
        assert_eq!(fetched(&mut classes, &[true; 4], 5), "00000");
        let others = [false, true, true, true];
        let round = fetched(&mut classes, &others, 14);
        for (queue, count) in [('1', 8), ('2', 4), ('3', 2)] {
            assert_eq!(round.chars().filter(|&each| each == queue).count(), count, "{round}");
        }
        // A burst that is longer than the credits of a class does not give it more.
        let mut bursts = arbiter(WEIGHTED, 64, &all);
        assert_eq!(fetched(&mut bursts, &others, 14), "11112231111223");
        // Turns that a class does not want go to the others.
        assert_eq!(fetched(&mut bursts, &[false, false, false, true], 3), "333");
    }
}
