//! Phases of an array, and the commands that lead from one phase to another.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Phase {
    #[default]
    Free,
    /// Taking a command and its address from the bus, where that takes time, or waiting for the bus.
    Addressed,
    Sensing,
    /// A page is in the array: it waits for the cache register, or, without one, is being transferred.
    Sensed,
    /// Sensing the next level of a read while the outcome of the present attempt is open.
    SensingAhead,
    /// The next level has been sensed, and the outcome is still open.
    SensedAhead,
    /// Taking the page that is to be programmed from the bus.
    Loading,
    Programming,
    Erasing,
    /// Stopping a program or an erase, so that pages may be sensed before it goes on.
    Suspending,
    Resetting,
}

/// A command to an array, or another event that changes its phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Command {
    /// The array is taken for a sensing or an erase, whose command has yet to cross the bus.
    Address,
    Sense,
    SenseAhead,
    /// The sensing ahead becomes the sensing of the present attempt.
    Adopt,
    /// The sensed page leaves the array: to the cache register, over the bus, or nowhere.
    Leave,
    Load,
    Program,
    Erase,
    Suspend,
    ResumeProgram,
    ResumeErase,
    Reset,
    /// The operation of the array has taken its time.
    End,
}

impl Phase {
    #[cfg(test)]
    const ALL: [Phase; 11] = [
        Phase::Free,
        Phase::Addressed,
        Phase::Sensing,
        Phase::Sensed,
        Phase::SensingAhead,
        Phase::SensedAhead,
        Phase::Loading,
        Phase::Programming,
        Phase::Erasing,
        Phase::Suspending,
        Phase::Resetting,
    ];

    /// The phase after a command; none where the command must not be given in this phase.
    #[inline(always)]
    pub(super) const fn after(self, command: Command) -> Option<Phase> {
        use Command::{
            Address, Adopt, End, Erase, Leave, Load, Program, Reset, ResumeErase, ResumeProgram, Sense, SenseAhead,
            Suspend,
        };
        Some(match (self, command) {
            (Phase::Free, Address) => Phase::Addressed,
            (Phase::Free | Phase::Addressed, Sense) => Phase::Sensing,
            (Phase::Free, SenseAhead) => Phase::SensingAhead,
            (Phase::Free, Load) => Phase::Loading,
            (Phase::Free | Phase::Addressed, Erase) => Phase::Erasing,
            (Phase::Sensing, End) => Phase::Sensed,
            (Phase::Sensed, Leave) => Phase::Free,
            (Phase::SensingAhead, End) => Phase::SensedAhead,
            (Phase::SensingAhead, Adopt) => Phase::Sensing,
            (Phase::SensingAhead, Reset) => Phase::Resetting,
            (Phase::SensedAhead, Adopt) => Phase::Sensed,
            (Phase::SensedAhead, Leave) => Phase::Free,
            (Phase::Loading, Program) | (Phase::Free, ResumeProgram) => Phase::Programming,
            (Phase::Free, ResumeErase) => Phase::Erasing,
            (Phase::Programming | Phase::Erasing, Suspend) => Phase::Suspending,
            (Phase::Programming | Phase::Erasing | Phase::Suspending | Phase::Resetting, End) => Phase::Free,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMANDS: [Command; 13] = [
        Command::Address,
        Command::Sense,
        Command::SenseAhead,
        Command::Adopt,
        Command::Leave,
        Command::Load,
        Command::Program,
        Command::Erase,
        Command::Suspend,
        Command::ResumeProgram,
        Command::ResumeErase,
        Command::Reset,
        Command::End,
    ];

    /// Does every phase come from a free array and lead back to one, and does a busy array take no new work?
    #[test]
    fn every_phase_is_reached_and_left() {
        let reached_from = |from: Phase| {
            let mut seen = vec![from];
            let mut at = 0;
            while at < seen.len() {
                for command in COMMANDS {
                    if let Some(next) = seen[at].after(command)
                        && !seen.contains(&next)
                    {
                        seen.push(next);
                    }
                }
                at += 1;
            }
            seen
        };
        assert_eq!(reached_from(Phase::Free).len(), Phase::ALL.len());
        for phase in Phase::ALL {
            assert!(reached_from(phase).contains(&Phase::Free), "{phase:?} is never left");
            let begins = [Command::Address, Command::SenseAhead, Command::Load];
            let begins = begins.into_iter().chain([Command::ResumeProgram, Command::ResumeErase]).collect::<Vec<_>>();
            assert!(
                begins.iter().all(|&command| phase.after(command).is_some() == (phase == Phase::Free)),
                "{phase:?}"
            );
            for told in [Command::Sense, Command::Erase] {
                assert_eq!(phase.after(told).is_some(), matches!(phase, Phase::Free | Phase::Addressed), "{phase:?}");
            }
            assert!(COMMANDS.iter().any(|&command| phase.after(command).is_some()));
        }
    }
}
