//! What must never be seen.

use crate::{
    setting::Setting,
    state::{Flight, Phase, State},
};

/// A property that was broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Violation {
    /// Two clients hold the lock, each by its own clock.
    Exclusion,
    /// A hold came back after another one had been granted.
    Revival,
    /// Two holds have one token.
    Uniqueness,
    /// An acquire that began after another had returned has the smaller token.
    RealTime,
    /// A later holder has the smaller token.
    HolderOrder,
    /// A re-entry has another token than its hold.
    Reentry,
    /// The releaser stopped, and a key of the attempt stands there.
    LeftBehind,
    /// Nothing can happen any more, and a client is not done.
    Stuck,
}

/// What must be so before the acquire of `a` returns.
pub(crate) fn may_win(setting: &Setting, state: &State, a: usize) -> Result<(), Violation> {
    let attempts = state.attempts.iter().enumerate().take(setting.all_attempts());
    let excluded = |b| state.is_valid(setting, b) && !may_share(state, a, b);
    if looks_at_exclusion(setting) && attempts.clone().any(|(b, _)| excluded(b)) {
        return Err(Violation::Exclusion);
    }
    if !setting.tokens {
        return Ok(());
    }
    let Some(attempt) = state.attempts.get(a) else { return Ok(()) };
    let is_taken = if setting.pauses {
        // Attempts that never won leave no token behind once they are done.
        attempts
            .clone()
            .any(|(b, other)| b != a && has_won(other.phase) && other.token == attempt.token)
    } else {
        attempt.token == state.history.last_token
    };
    if is_taken {
        return Err(Violation::Uniqueness);
    }
    if attempt.token <= attempt.floor {
        return Err(Violation::RealTime);
    }
    if !setting.pauses && attempt.token < state.history.last_token {
        return Err(Violation::HolderOrder);
    }
    Ok(())
}

/// What must be so after a member joined the hold of `a`, which was valid before or not.
pub(crate) fn may_join(
    state: &State,
    a: usize,
    was_valid: bool,
    is_valid: bool,
) -> Result<(), Violation> {
    let last = usize::from(state.history.last_holder);
    if !was_valid && is_valid && last > 0 && last != a + 1 {
        return Err(Violation::Revival);
    }
    Ok(())
}

/// What must be so in every state.
pub(crate) fn always(setting: &Setting, state: &State) -> Result<(), Violation> {
    let valid = || (0..setting.all_attempts()).filter(|a| state.is_valid(setting, *a));
    let meets = |a| valid().any(|b| a != b && !may_share(state, a, b));
    if looks_at_exclusion(setting) && valid().any(meets) {
        return Err(Violation::Exclusion);
    }
    for node in state.nodes.iter().take(setting.nodes) {
        let mut holders = (0..setting.all_attempts()).filter(|a| node.is_held_by(*a));
        if holders.any(|holder| node.seats[holder].stopped) {
            return Err(Violation::LeftBehind);
        }
    }
    Ok(())
}

/// What must be so when nothing can happen any more: all clients are done, and no key stands.
pub(crate) fn at_the_end(setting: &Setting, state: &State) -> Result<(), Violation> {
    let done = |phase: Phase| phase == Phase::Done;
    let nodes = state.nodes.iter().take(setting.nodes);
    let is_clean = nodes
        .clone()
        .all(|node| node.is_free() && node.seats.iter().all(|seat| seat.acquire == Flight::None));
    let mut attempts = state.attempts.iter().take(setting.all_attempts());
    if is_clean && attempts.all(|attempt| done(attempt.phase)) {
        Ok(())
    } else {
        Err(Violation::Stuck)
    }
}

/// A reader may meet other readers, also one that was downgraded to that.
fn may_share(state: &State, a: usize, b: usize) -> bool {
    state.attempts[a].reads && state.attempts[b].reads
}

fn looks_at_exclusion(setting: &Setting) -> bool {
    setting.exclusion && !setting.pauses
}

fn has_won(phase: Phase) -> bool {
    matches!(phase, Phase::Held | Phase::Over | Phase::Done)
}
