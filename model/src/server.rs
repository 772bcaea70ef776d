//! What a master does with a request. Each of these is one script: nothing happens in between.

use crate::{
    setting::{Clocks, Setting},
    state::{Flight, Mark, Node, State},
};

/// Ticks are coarse and counters fine: so many increments fit between two ticks.
const UNIT: u16 = 8;
/// The clock's reading when a run begins; clients' clocks may be behind it.
const EPOCH: i16 = 8;

/// What a clock shows that is `ahead` of the servers'.
pub(crate) fn reading(now: u8, ahead: i16) -> u16 {
    u16::try_from(EPOCH + i16::from(now) + ahead).unwrap_or(0) * UNIT
}

/// `acquire.lua`: grants a free lock and raises the counter; confirms one that is held. Returns the
/// counter.
pub(crate) fn acquire(
    setting: &Setting,
    now: u8,
    node: &mut Node,
    (a, reads): (usize, bool),
    hint: u16,
) -> u16 {
    if !setting.tokens {
        node.hold_by(a, reads);
        return 1;
    }
    if !node.is_held_by(a) {
        node.hold_by(a, reads);
        node.counter = (node.counter + 1).max(bounded(setting, now, hint));
    } else if !setting.rules.reentry_keeps_token {
        node.counter += 1;
    }
    node.counter
}

fn bounded(setting: &Setting, now: u8, hint: u16) -> u16 {
    let Some(Clocks { skew, .. }) = setting.clocks else {
        return hint;
    };
    let skew = i16::from(skew);
    let mut hint = hint;
    if setting.rules.clamp {
        hint = hint.min(reading(now, skew));
    }
    if setting.rules.floor {
        hint = hint.max(reading(now, -skew));
    }
    hint
}

/// An acquire that comes too late for its client, with the rollback behind it.
pub(crate) fn ghost(setting: &Setting, now: u8, node: &mut Node, class: usize) {
    node.ghosts[class] -= 1;
    // No stamp outlasts the tick in which the client read its clock.
    let hint = setting.clocks.map_or(0, |clocks| reading(now, clocks.ahead[class].into()));
    node.counter = (node.counter + 1).max(bounded(setting, now, hint));
}

/// `promote.lua`: writes the token. Whether it may is for the caller to ask first.
pub(crate) fn promote(node: &mut Node, token: u16) {
    node.counter = token;
}

/// `count.lua` with a count of 0: deletes the lock.
pub(crate) fn release(setting: &Setting, node: &mut Node, a: usize) {
    if node.is_held_by(a) {
        node.free_of(a);
        if !setting.rules.counter_kept {
            node.counter = 0;
        }
    }
}

/// `renew.lua` of a writer that reads on. True if its client is to enter as a reader yet.
pub(crate) fn downgrade(setting: &Setting, node: &mut Node, a: usize) -> bool {
    if setting.rules.downgrade_at_once {
        node.downgrade(a);
    } else {
        node.free_of(a);
    }
    !setting.rules.downgrade_at_once
}

/// Loses its data and runs on: its sockets, and what is on its way on them, are as before.
pub(crate) fn flush(state: &mut State, n: usize) {
    state.flushes -= 1;
    let node = &mut state.nodes[n];
    node.forget();
    node.counter = 0;
    node.mark.stands = false;
    node.mark.known = Default::default();
    for seat in &mut node.seats {
        seat.forgotten |= seat.vouches;
    }
}

/// A client looks at the mark, and writes what follows: `standing/judgement.rs`.
pub(crate) fn look(setting: &Setting, state: &mut State, client: usize, n: usize) {
    // Each loss that is noticed is waited out by itself.
    let losses = setting.flushes - state.flushes;
    let node = &mut state.nodes[n];
    let mark = &mut node.mark;
    if !mark.stands {
        if (mark.witness && setting.rules.witness) || mark.knew[client] {
            node.young = true;
            node.until = 16 + losses;
        }
        (mark.stands, mark.witness) = (true, true);
    }
    (mark.known[client], mark.knew[client]) = (true, true);
}

/// Restarts with empty memory. Its sockets die with it, and what was on its way to it on them.
pub(crate) fn crash(setting: &Setting, state: &mut State, n: usize) {
    state.crashes -= 1;
    let restart = setting.crashes - state.crashes;
    let until = |clocks: Clocks| state.now.saturating_add(clocks.lease + clocks.skew);
    let until = setting.clocks.map_or(restart, until);
    let node = &mut state.nodes[n];
    node.forget();
    node.counter = 0;
    node.ghosts = Default::default();
    node.young = true;
    node.marked = false;
    node.mark = Mark::default();
    node.until = until;
    for (seat, attempt) in node.seats.iter_mut().zip(&state.attempts) {
        seat.forgotten = seat.vouches;
        seat.heal = Flight::None;
        // One that asks may not have sent it yet, and connects again; no other does.
        if attempt.phase != crate::state::Phase::Asking {
            seat.acquire = Flight::None;
        }
    }
}
