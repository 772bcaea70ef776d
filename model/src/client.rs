//! What clients decide.

use crate::{
    server::{self, reading},
    setting::Setting,
    state::{Attempt, Flight, MAX_ATTEMPTS, Phase, Seat, State, number},
};

pub(crate) fn start(setting: &Setting, state: &mut State, a: usize) {
    let ahead = |c: &crate::setting::Clocks| i16::from(c.ahead[setting.client_of(a)]);
    state.attempts[a] = Attempt {
        phase: Phase::Asking,
        hint: setting.clocks.as_ref().map_or(0, |clocks| reading(state.now, ahead(clocks))),
        born: state.now,
        // Where holds end soundly, the order of holders implies the order in time.
        floor: if setting.pauses { state.history.last_token } else { 0 },
        token: 0,
        heals: setting.heals,
        resends: setting.resends,
        reads: setting.reads(a),
    };
    for node in state.nodes.iter_mut().take(setting.nodes) {
        node.seats[a] = Seat { acquire: Flight::Sent, ..Seat::default() };
    }
}

/// A grant arrives.
pub(crate) fn granted(state: &mut State, a: usize, n: usize, counter: u16) {
    let attempt = state.attempts[a];
    let seat = &mut state.nodes[n].seats[a];
    seat.vouches = true;
    seat.forgotten = false;
    match attempt.phase {
        Phase::Asking => seat.reply = counter,
        // It is this attempt that wrote the counter: if it is the token, it counts.
        Phase::Promoting => seat.written |= counter == attempt.token,
        Phase::Unborn | Phase::Held | Phase::Over | Phase::Done => {}
    }
}

/// Enough grants: the greatest reply becomes the token.
pub(crate) fn choose(setting: &Setting, state: &mut State, a: usize) {
    let replies = state.nodes.iter().map(|node| node.seats[a].reply);
    let token = replies.max().unwrap_or(0);
    for node in &mut state.nodes {
        let seat = &mut node.seats[a];
        let agrees = seat.reply == token || !setting.rules.write_back;
        seat.written = seat.reply > 0 && agrees;
        seat.reply = 0;
    }
    let attempt = &mut state.attempts[a];
    attempt.token = token;
    attempt.phase = Phase::Promoting;
}

/// The acquire returns. Properties are judged by then.
pub(crate) fn win(setting: &Setting, state: &mut State, a: usize) {
    let attempt = &mut state.attempts[a];
    attempt.phase = Phase::Held;
    attempt.floor = 0;
    state.history.last_token = state.history.last_token.max(attempt.token);
    if !setting.rules.loss_is_final {
        state.history.last_holder = number(a);
    }
    for node in &mut state.nodes {
        let seat = &mut node.seats[a];
        seat.written &= setting.reentry;
    }
}

/// The attempt is over by the client's own account: given up, lost or released. The releaser goes on.
pub(crate) fn end(setting: &Setting, state: &mut State, a: usize) {
    let attempt = &mut state.attempts[a];
    // A token that was never given out binds nothing.
    attempt.token = if attempt.phase == Phase::Held { attempt.token } else { 0 };
    attempt.phase = Phase::Over;
    for node in state.nodes.iter_mut().take(setting.nodes) {
        let quarantined = node.is_quarantined(setting);
        let seat = &mut node.seats[a];
        let mut acquire = if quarantined { Flight::None } else { seat.acquire };
        if !setting.releases {
            if acquire == Flight::Sent && setting.tokens {
                node.ghosts[setting.ghost_class(a)] += 1;
            }
            acquire = Flight::None;
        }
        *seat = Seat { acquire, heal: seat.heal, ..Seat::default() };
    }
}

/// A release was executed and answered: does the releaser stop?
pub(crate) fn released(setting: &Setting, state: &mut State, a: usize, n: usize) {
    let rules = &setting.rules;
    let seat = &mut state.nodes[n].seats[a];
    let acquire = seat.acquire == Flight::Sent;
    let heal = seat.heal == Flight::Sent && rules.heals_counted;
    seat.stopped = !rules.final_release || !(acquire || heal);
}

/// Brings everything up to date that needs no decision of a client.
pub(crate) fn settle(setting: &Setting, state: &mut State) {
    for a in 0..setting.all_attempts() {
        let is_held = state.attempts[a].phase == Phase::Held;
        if is_held && setting.rules.loss_is_final && state.vouching(a) < setting.need {
            end(setting, state, a);
        }
        if state.attempts[a].phase == Phase::Over && !setting.releases {
            state.nodes.iter_mut().for_each(|node| server::release(setting, node, a));
        }
        if state.attempts[a].phase == Phase::Over && nothing_left(setting, state, a) {
            forget(setting, state, a);
        }
    }
    if setting.new_fleet {
        return;
    }
    for node in state.nodes.iter_mut().take(setting.nodes).filter(|node| node.young) {
        let is_over = setting.clocks.is_none() || state.now >= node.until;
        if !node.is_missed() && is_over {
            node.young = false;
            node.until = 0;
        }
    }
}

fn nothing_left(setting: &Setting, state: &State, a: usize) -> bool {
    state.nodes.iter().take(setting.nodes).all(|node| {
        let seat = &node.seats[a];
        !node.is_held_by(a) && seat.acquire == Flight::None && seat.heal == Flight::None
    })
}

/// Nothing of the attempt matters any more, but its token where tokens may still be doubled.
fn forget(setting: &Setting, state: &mut State, a: usize) {
    debug_assert!(a < MAX_ATTEMPTS);
    let token = if setting.pauses { state.attempts[a].token } else { 0 };
    state.attempts[a] = Attempt { phase: Phase::Done, token, ..Attempt::default() };
    for node in &mut state.nodes {
        node.seats[a] = Seat::default();
    }
}
