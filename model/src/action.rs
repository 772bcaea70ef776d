//! What may happen next.

use crate::{
    setting::{Rewrites, Setting},
    state::{Flight, Node, Phase, Seat, State},
};

/// One step. Attempts and masters by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// A client begins an attempt and asks all members.
    Start(u8),
    /// A master executes the acquire. The reply arrives, or is lost.
    Acquire { attempt: u8, node: u8, answered: bool },
    /// A master executes a late acquire, whose rollback is behind it.
    Ghost(u8, u8),
    /// The client asks again.
    Resend(u8, u8),
    /// Enough grants: the client chooses its token.
    Choose(u8),
    /// A master executes the promote. The reply arrives, or is lost.
    Promote { attempt: u8, node: u8, answered: bool },
    /// The acquire returns.
    Win(u8),
    /// A master executes the acquire of a hold that stands there.
    Reenter(u8, u8),
    /// The client gives up, or releases.
    End(u8),
    /// The watchdog sends an acquire for a hold to a member that does not vouch for it.
    SendHeal(u8, u8),
    /// A master executes it.
    Heal { attempt: u8, node: u8, answered: bool },
    /// A renewal is answered with *gone*.
    Gone(u8, u8),
    /// A member that did not vouch confirms that the key stands there.
    Renew(u8, u8),
    /// A writer reads on, and asks its members to know of that.
    Downgrade(u8),
    /// A member hears of it.
    Tell(u8, u8),
    /// A member's deadline passes.
    Pass(u8, u8),
    /// The ttl of what stands for a hold on a master ends.
    Lapse(u8, u8),
    /// A master executes a release, and the releaser hears of it.
    Release(u8, u8),
    /// The stamps of what is on its way to a master are over.
    StampOver(u8, u8),
    /// A master restarts with empty memory.
    Crash(u8),
    /// A master loses its data and runs on.
    Flush(u8),
    /// A client looks at the mark on a master.
    Look(u8, u8),
    /// A master's uptime exceeds the quarantine.
    Mature(u8),
    /// An operator says that the young masters forgot nothing.
    Bless,
    /// Time goes by.
    Tick,
}

/// Everything that may happen in `state`.
pub(crate) fn possible(setting: &Setting, state: &State, out: &mut Vec<Action>) {
    out.clear();
    for attempt in 0..setting.all_attempts() {
        of_attempt(setting, state, attempt, out);
    }
    for node in 0..setting.nodes {
        of_node(setting, state, node, out);
    }
    if setting.new_fleet && may_bless(setting, state) {
        out.push(Action::Bless);
    }
    if setting.clocks.is_some_and(|clocks| state.now < clocks.ticks) {
        out.push(Action::Tick);
    }
}

fn of_attempt(setting: &Setting, state: &State, a: usize, out: &mut Vec<Action>) {
    let attempt = byte(a);
    match state.attempts[a].phase {
        Phase::Unborn => {
            if may_start(setting, state, a) {
                out.push(Action::Start(attempt));
            }
            return;
        }
        Phase::Done => return,
        Phase::Over => {}
        Phase::Asking => {
            out.push(Action::End(attempt));
            if count(setting, state, |seat| seat.vouches && seat.reply > 0, a) >= setting.need {
                out.push(Action::Choose(attempt));
            }
        }
        Phase::Promoting => {
            out.push(Action::End(attempt));
            let anywhere = !setting.rules.token_where_vouched;
            let counts = |seat: &Seat| seat.written && (seat.vouches || anywhere);
            let written = count(setting, state, counts, a);
            if written >= setting.need && state.vouching(a) >= setting.need {
                out.push(Action::Win(attempt));
            }
        }
        Phase::Held => {
            out.push(Action::End(attempt));
            if setting.may_downgrade(a) && !state.attempts[a].reads {
                out.push(Action::Downgrade(attempt));
            }
        }
    }
    for n in 0..setting.nodes {
        requests(setting, state, a, n, out);
        if state.attempts[a].phase == Phase::Over {
            of_releaser(state, a, n, out);
        } else {
            of_client(setting, state, a, n, out);
        }
    }
}

/// What is on its way may be executed.
fn requests(setting: &Setting, state: &State, a: usize, n: usize, out: &mut Vec<Action>) {
    let (attempt, node) = (byte(a), byte(n));
    let (phase, at) = (state.attempts[a].phase, &state.nodes[n]);
    let seat = &at.seats[a];
    // An attempt that goes on may be about to send: it does not to a master in quarantine.
    let refused = phase.is_live() && at.is_quarantined(setting);
    // A refusal needs no step: it is as good as a delay.
    let asks = phase.is_live() && (arrives(seat.acquire) || arrives(seat.heal));
    let client = setting.client_of(a);
    if setting.marks() && asks && !refused && !at.mark.known[client] {
        out.push(Action::Look(byte(client), node));
    }
    if !at.lets_through(setting, client) {
        return;
    }
    if arrives(seat.acquire) && !refused && at.would_grant(a, setting.reads(a)) {
        out.push(Action::Acquire { attempt, node, answered: false });
        if phase.is_live() {
            out.push(Action::Acquire { attempt, node, answered: true });
        }
    }
    // It is sent as what the hold is by then: a reader keeps out writers as a writer does.
    let reads = state.attempts[a].reads;
    let enters = at.would_grant(a, reads) || (reads && !setting.rules.writer_refuses_heals);
    if arrives(seat.heal) && enters {
        out.push(Action::Heal { attempt, node, answered: false });
        if phase.is_live() {
            out.push(Action::Heal { attempt, node, answered: true });
        }
    }
}

fn of_client(setting: &Setting, state: &State, a: usize, n: usize, out: &mut Vec<Action>) {
    let (attempt, node) = (byte(a), byte(n));
    let at = &state.nodes[n];
    let seat = &at.seats[a];
    if setting.member_expiry && seat.vouches {
        out.push(Action::Pass(attempt, node));
    }
    match state.attempts[a].phase {
        Phase::Asking if may_resend(state, a, n) => {
            out.push(Action::Resend(attempt, node));
        }
        Phase::Promoting if seat.vouches && !seat.written && may_promote(setting, state, a, n) => {
            out.push(Action::Promote { attempt, node, answered: false });
            out.push(Action::Promote { attempt, node, answered: true });
        }
        Phase::Held => {
            if seat.vouches && !at.is_held_by(a) && (seat.forgotten || !setting.pauses) {
                out.push(Action::Gone(attempt, node));
            }
            if setting.heals > 0 && !seat.vouches && at.is_held_by(a) && !at.is_quarantined(setting)
            {
                out.push(Action::Renew(attempt, node));
            }
            if may_heal(setting, state, a, n) {
                out.push(Action::SendHeal(attempt, node));
            }
            if state.attempts[a].reads && at.is_written_by(a) {
                out.push(Action::Tell(attempt, node));
            }
            if setting.reentry && seat.written && at.is_held_by(a) {
                out.push(Action::Reenter(attempt, node));
            }
        }
        Phase::Asking | Phase::Promoting | Phase::Unborn | Phase::Over | Phase::Done => {}
    }
}

fn of_releaser(state: &State, a: usize, n: usize, out: &mut Vec<Action>) {
    let (attempt, node) = (byte(a), byte(n));
    let seat = &state.nodes[n].seats[a];
    let on_its_way = seat.acquire == Flight::Sent || seat.heal == Flight::Sent;
    let needed = seat.acquire != Flight::None || seat.heal != Flight::None;
    if !seat.stopped && (state.nodes[n].is_held_by(a) || needed) {
        out.push(Action::Release(attempt, node));
    }
    if on_its_way {
        out.push(Action::StampOver(attempt, node));
    }
}

fn of_node(setting: &Setting, state: &State, n: usize, out: &mut Vec<Action>) {
    let (node, at) = (byte(n), &state.nodes[n]);
    for class in (0..setting.clients).filter(|class| at.ghosts[*class] > 0) {
        if at.is_free() {
            out.push(Action::Ghost(node, byte(class)));
        }
    }
    for holder in (0..setting.all_attempts()).filter(|a| at.is_held_by(*a)) {
        // A key of an attempt that is over may lapse too; its release does the same.
        let unnoticed = setting.pauses || !at.seats[holder].vouches;
        if unnoticed && state.attempts[holder].phase.is_live() {
            out.push(Action::Lapse(byte(holder), node));
        }
    }
    if state.crashes > 0 && (!at.is_free() || at.counter > 0) {
        out.push(Action::Crash(node));
    }
    if state.flushes > 0 && (!at.is_free() || at.counter > 0) {
        out.push(Action::Flush(node));
    }
    // Elsewhere masters grow up as soon as they can.
    if setting.new_fleet && at.young && !at.is_missed() {
        out.push(Action::Mature(node));
    }
}

fn may_start(setting: &Setting, state: &State, a: usize) -> bool {
    a.is_multiple_of(setting.attempts)
        || matches!(state.attempts[a - 1].phase, Phase::Over | Phase::Done)
}

/// Worth a step only where the grant's reply was lost.
fn may_resend(state: &State, a: usize, n: usize) -> bool {
    let node = &state.nodes[n];
    let seat = &node.seats[a];
    state.attempts[a].resends > 0
        && seat.acquire == Flight::None
        && !seat.vouches
        && node.is_held_by(a)
}

/// A heal is an acquire: it is sent where votes are asked for.
fn may_heal(setting: &Setting, state: &State, a: usize, n: usize) -> bool {
    let node = &state.nodes[n];
    let seat = &node.seats[a];
    let idle = seat.acquire != Flight::Sent && seat.heal == Flight::None;
    let due = !seat.vouches || may_rewrite(setting, state, a, n);
    let waits = setting.rules.heals_wait
        && !setting.early_heals
        && node.is_quarantined(setting)
        && !may_rewrite(setting, state, a, n);
    state.attempts[a].heals > 0 && due && idle && !node.is_held_by(a) && !waits
}

/// Whether a heal counts on a master in quarantine.
pub(crate) fn may_rewrite(setting: &Setting, state: &State, a: usize, n: usize) -> bool {
    let seat = &state.nodes[n].seats[a];
    let elsewhere = |counts: &dyn Fn(&Node) -> bool| {
        let nodes = state.nodes.iter().take(setting.nodes).enumerate();
        nodes.filter(|(m, node)| *m != n && counts(node)).count() >= setting.need
    };
    match setting.rules.rewrites {
        Rewrites::Own => seat.vouches && seat.forgotten,
        // A client that stands there can say so at any time.
        Rewrites::Elsewhere => elsewhere(&|node| node.seats[a].vouches && node.is_held_by(a)),
        Rewrites::ElsewhereOnce => elsewhere(&|node| node.seats[a].vouches),
    }
}

fn may_promote(setting: &Setting, state: &State, a: usize, n: usize) -> bool {
    let (rules, node) = (&setting.rules, &state.nodes[n]);
    (!rules.promote_owner || node.is_held_by(a))
        && (!rules.promote_below || node.counter < state.attempts[a].token)
}

fn may_bless(setting: &Setting, state: &State) -> bool {
    let mut nodes = state.nodes.iter().take(setting.nodes);
    if setting.rules.bless_whole_fleet {
        nodes.all(|node| node.young && !node.marked)
    } else {
        nodes.any(|node| node.young && !node.marked)
    }
}

fn count(setting: &Setting, state: &State, like: impl Fn(&Seat) -> bool, a: usize) -> usize {
    state.nodes.iter().take(setting.nodes).filter(|node| like(&node.seats[a])).count()
}

/// What is late was taken off where servers heed stamps.
fn arrives(flight: Flight) -> bool {
    flight != Flight::None
}

fn byte(index: usize) -> u8 {
    u8::try_from(index).expect("invariant: small")
}
