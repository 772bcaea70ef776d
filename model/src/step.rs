//! One step from one state to the next.

use crate::{
    action::{self, Action},
    client,
    properties::{self, Violation},
    server,
    setting::Setting,
    state::{Flight, State},
};

/// Applies what happens. An error names the property that it breaks.
pub(crate) fn step(setting: &Setting, state: &State, action: Action) -> Result<State, Violation> {
    let mut next = *state;
    apply(setting, &mut next, action)?;
    client::settle(setting, &mut next);
    properties::always(setting, &next)?;
    Ok(next)
}

fn apply(setting: &Setting, state: &mut State, action: Action) -> Result<(), Violation> {
    match action {
        Action::Start(a) => client::start(setting, state, a.into()),
        Action::Acquire { attempt, node, answered } => {
            let (a, n) = (usize::from(attempt), usize::from(node));
            state.nodes[n].seats[a].acquire = Flight::None;
            let hint = state.attempts[a].hint;
            return executed(setting, state, (a, setting.reads(a)), n, hint, answered);
        }
        Action::Ghost(node, class) => {
            server::ghost(setting, state.now, &mut state.nodes[usize::from(node)], class.into());
        }
        Action::Resend(a, n) => {
            state.attempts[usize::from(a)].resends -= 1;
            seat(state, a, n).acquire = Flight::Sent;
        }
        Action::Choose(a) => client::choose(setting, state, a.into()),
        Action::Promote { attempt, node, answered } => {
            let token = state.attempts[usize::from(attempt)].token;
            server::promote(&mut state.nodes[usize::from(node)], token);
            seat(state, attempt, node).written |= answered;
        }
        Action::Win(a) => {
            properties::may_win(setting, state, a.into())?;
            client::win(setting, state, a.into());
        }
        Action::Reenter(a, n) => {
            let (a, n) = (usize::from(a), usize::from(n));
            let counter = server::acquire(setting, state.now, &mut state.nodes[n], (a, false), 0);
            if counter != state.attempts[a].token {
                return Err(Violation::Reentry);
            }
        }
        Action::End(a) => client::end(setting, state, a.into()),
        Action::SendHeal(a, n) => {
            state.attempts[usize::from(a)].heals -= 1;
            seat(state, a, n).heal = Flight::Sent;
        }
        Action::Heal { attempt, node, answered } => {
            return healed(setting, state, attempt.into(), node.into(), answered);
        }
        Action::Renew(a, n) => {
            let (a, n) = (usize::from(a), usize::from(n));
            return joins(setting, state, a, n, state.nodes[n].counter);
        }
        Action::Gone(a, n) => {
            let vouches = !setting.rules.gone_member_dropped;
            silent(seat(state, a, n), vouches);
        }
        Action::Pass(a, n) => silent(seat(state, a, n), false),
        Action::Lapse(a, n) => state.nodes[usize::from(n)].free_of(a.into()),
        Action::Downgrade(a) => state.attempts[usize::from(a)].reads = true,
        Action::Tell(a, n) => tell(setting, state, a, n),
        Action::Release(a, n) => {
            server::release(setting, &mut state.nodes[usize::from(n)], a.into());
            client::released(setting, state, a.into(), n.into());
        }
        Action::StampOver(a, n) => stamp_over(setting, state, a.into(), n.into()),
        Action::Crash(n) => server::crash(setting, state, n.into()),
        Action::Flush(n) => server::flush(state, n.into()),
        Action::Look(client, n) => server::look(setting, state, client.into(), n.into()),
        Action::Mature(n) => mature(setting, state, n.into()),
        Action::Bless => state.nodes.iter_mut().for_each(|node| node.marked |= node.young),
        Action::Tick => tick(setting, state),
    }
    Ok(())
}

fn seat(state: &mut State, attempt: u8, node: u8) -> &mut crate::state::Seat {
    &mut state.nodes[usize::from(node)].seats[usize::from(attempt)]
}

/// A member no longer vouches, or does so without a reason.
fn silent(seat: &mut crate::state::Seat, vouches: bool) {
    (seat.vouches, seat.forgotten) = (vouches, false);
}

/// Masters that were started together grow up together.
fn mature(setting: &Setting, state: &mut State, n: usize) {
    let until = state.nodes[n].until;
    for (i, node) in state.nodes.iter_mut().enumerate() {
        node.young &= i != n && (setting.staggered || node.until != until);
    }
}

/// A member hears that a writer reads on.
fn tell(setting: &Setting, state: &mut State, a: u8, n: u8) {
    if server::downgrade(setting, &mut state.nodes[usize::from(n)], a.into()) {
        seat(state, a, n).heal = Flight::Sent;
    }
}

/// A master executed a heal.
fn healed(
    setting: &Setting,
    state: &mut State,
    a: usize,
    n: usize,
    answered: bool,
) -> Result<(), Violation> {
    state.nodes[n].seats[a].heal = Flight::None;
    // The member starts from the hold's token, not from the clock.
    let hint = state.attempts[a].token;
    let waits = setting.rules.heals_wait
        && state.nodes[n].is_quarantined(setting)
        && !action::may_rewrite(setting, state, a, n);
    let reads = state.attempts[a].reads;
    executed(setting, state, (a, reads), n, hint, answered && !waits)
}

/// A master executed an acquire or a heal.
fn executed(
    setting: &Setting,
    state: &mut State,
    (a, reads): (usize, bool),
    n: usize,
    hint: u16,
    answered: bool,
) -> Result<(), Violation> {
    let counter = server::acquire(setting, state.now, &mut state.nodes[n], (a, reads), hint);
    if answered { joins(setting, state, a, n, counter) } else { Ok(()) }
}

/// The client hears that a member vouches for it.
fn joins(
    setting: &Setting,
    state: &mut State,
    a: usize,
    n: usize,
    counter: u16,
) -> Result<(), Violation> {
    let was_valid = state.is_valid(setting, a);
    client::granted(state, a, n, counter);
    properties::may_join(state, a, was_valid, state.is_valid(setting, a))
}

/// Whatever was sent is over its stamp: servers that heed it will not execute it.
fn stamp_over(setting: &Setting, state: &mut State, a: usize, n: usize) {
    let seat = &mut state.nodes[n].seats[a];
    let over = if setting.rules.stamp { Flight::None } else { Flight::Late };
    for flight in [&mut seat.acquire, &mut seat.heal] {
        if *flight == Flight::Sent {
            *flight = over;
        }
    }
}

/// An attempt asks within the tick in which it read its clock; a stamp lasts no longer.
fn tick(setting: &Setting, state: &mut State) {
    for a in 0..setting.all_attempts() {
        for n in 0..setting.nodes {
            stamp_over(setting, state, a, n);
        }
    }
    state.nodes.iter_mut().for_each(|node| node.ghosts = Default::default());
    state.now += 1;
}
