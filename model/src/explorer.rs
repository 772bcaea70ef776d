//! Breadth-first search through all states: a counterexample is as short as any.

use std::{
    collections::VecDeque,
    fmt,
    time::{Duration, Instant},
};

use crate::{
    action::{Action, possible},
    fingerprint::{Fingerprints, Seen},
    properties::{self, Violation},
    setting::Setting,
    state::{Phase, State},
    step::step,
};

/// What an exploration found.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) states: usize,
    pub(crate) steps: u64,
    pub(crate) took: Duration,
    pub(crate) sometimes: Sometimes,
    pub(crate) verdict: Verdict,
}

/// How an exploration ended.
#[derive(Debug)]
pub(crate) enum Verdict {
    Holds,
    Violates { property: Violation, trace: Vec<Action> },
}

/// Steps that show that the interesting parts were reached: none may be 0 where it could happen.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sometimes {
    pub(crate) wins: u64,
    pub(crate) promotes: u64,
    pub(crate) heals: u64,
    /// Holds that were written again where their master had forgotten them.
    pub(crate) rewrites: u64,
    /// Acquires and heals that were executed after their hold's end.
    pub(crate) ghosts: u64,
    /// Crashes during a hold that survived them.
    pub(crate) survived: u64,
}

impl Sometimes {
    pub(crate) fn note(&mut self, before: &State, action: Action, after: &State) {
        match action {
            Action::Win(_) => self.wins += 1,
            Action::Promote { .. } => self.promotes += 1,
            Action::Ghost(..) => self.ghosts += 1,
            Action::Acquire { attempt, .. } | Action::Heal { attempt, .. }
                if before.attempts[usize::from(attempt)].phase == Phase::Over =>
            {
                self.ghosts += 1;
            }
            Action::Heal { attempt, node, answered: true } => {
                self.heals += 1;
                let seat =
                    |state: &State| state.nodes[usize::from(node)].seats[usize::from(attempt)];
                self.rewrites += u64::from(seat(before).forgotten && !seat(after).forgotten);
            }
            Action::Crash(_) if is_held(before) && is_held(after) => self.survived += 1,
            _ => {}
        }
    }
}

impl fmt::Display for Sometimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { wins, promotes, heals, rewrites, ghosts, survived } = self;
        write!(
            f,
            "[won {wins}, promoted {promotes}, healed {heals}, rewritten {rewrites}, ghosts {ghosts}, \
             survived {survived}]"
        )
    }
}

#[cfg(test)]
impl Sometimes {
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            wins: self.wins + other.wins,
            promotes: self.promotes + other.promotes,
            heals: self.heals + other.heals,
            rewrites: self.rewrites + other.rewrites,
            ghosts: self.ghosts + other.ghosts,
            survived: self.survived + other.survived,
        }
    }
}

fn is_held(state: &State) -> bool {
    state.attempts.iter().any(|attempt| attempt.phase == Phase::Held)
}

/// Where a state was reached from.
#[derive(Debug, Clone, Copy)]
struct Origin {
    from: u32,
    by: Action,
}

/// Looks at every state that `setting` can reach, or at as many as it takes to break a property.
pub(crate) fn explore(setting: &Setting) -> Report {
    let began = Instant::now();
    let fingerprints = Fingerprints::new(setting);
    let first = State::initial(setting);
    let mut seen = Seen::default();
    seen.insert(fingerprints.of(&first));
    let mut origins = vec![Origin { from: 0, by: Action::Tick }];
    let mut open = VecDeque::from([(first, 0_u32)]);
    let (mut steps, mut sometimes) = (0, Sometimes::default());
    let mut next_steps = Vec::new();
    let mut verdict = Verdict::Holds;
    'states: while let Some((state, id)) = open.pop_front() {
        possible(setting, &state, &mut next_steps);
        if next_steps.is_empty()
            && let Err(property) = properties::at_the_end(setting, &state)
        {
            verdict = Verdict::Violates { property, trace: trace(&origins, id) };
            break;
        }
        for &action in &next_steps {
            steps += 1;
            match step(setting, &state, action) {
                Ok(next) => {
                    sometimes.note(&state, action, &next);
                    if seen.insert(fingerprints.of(&next)) {
                        let new = u32::try_from(origins.len()).expect("fewer than 2^32 states");
                        origins.push(Origin { from: id, by: action });
                        open.push_back((next, new));
                    }
                }
                Err(property) => {
                    let mut trace = trace(&origins, id);
                    trace.push(action);
                    verdict = Verdict::Violates { property, trace };
                    break 'states;
                }
            }
        }
    }
    Report { states: origins.len(), steps, took: began.elapsed(), sometimes, verdict }
}

/// The steps that lead to state `id`.
fn trace(origins: &[Origin], mut id: u32) -> Vec<Action> {
    let mut trace = Vec::new();
    while id != 0 {
        let Origin { from, by } = origins[id as usize];
        trace.push(by);
        id = from;
    }
    trace.reverse();
    trace
}
