//! The engine: executes requests one after the other, whoever sends them.
//!
//! # Invariants
//! 1. A request is executed as a whole, its script included, before the next one begins.
//! 2. Every request passes [`Engine::execute`] and every byte that leaves passes
//!    [`State::respond`](super::state::State::respond): faults are to be injected there.
//!
//! # Deadlock safety
//! There are two locks, `turn` and `state`. Whoever takes both takes `turn` first. `state` is let
//! go while a script runs, since the script's commands lock it; `turn` then keeps others out.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::clock::Clock;
use super::commands::Args;
use super::locked;
use super::lua::Scripts;
use super::pubsub::ClientId;
use super::resp::{ProtocolError, Refusal, Reply};
use super::session;
use super::state::{Mode, Names, State};

#[derive(Debug)]
pub(crate) struct Engine {
    turn: Mutex<Scripts>,
    state: Arc<Mutex<State>>,
    stopped: Notify,
}

/// What a connection's task may do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Read, execute and write. Some of the answers are due only at the given time.
    Go { next_due: Option<Instant> },
    /// Write what there is, then end.
    Finish { next_due: Option<Instant> },
    /// Nothing, until woken.
    Wait,
    /// The connection is cut.
    Cut,
}

impl Engine {
    /// See [`Scripts::new`] for `handed_on`.
    pub(crate) fn new(clock: Clock, names: Names, handed_on: bool) -> Self {
        let state = Arc::new(Mutex::new(State::new(clock, names)));
        let scripts = Scripts::new(Arc::clone(&state), session::execute_scripted, handed_on);
        Self { turn: Mutex::new(scripts), state, stopped: Notify::new() }
    }

    /// Executes one request and queues its answer. If it may not be executed now, nothing happens.
    pub(crate) fn execute(&self, id: ClientId, words: &[&[u8]]) -> Turn {
        let mut scripts = locked(&self.turn);
        let turn = turn_of(&locked(&self.state), id);
        if matches!(turn, Turn::Go { .. }) && !words.is_empty() {
            let reply = session::execute(&self.state, &mut scripts, id, Args(words));
            locked(&self.state).respond(id, &reply);
        }
        turn
    }

    /// Answers bytes that are no request, after which the connection ends.
    pub(crate) fn reject(&self, id: ClientId, error: ProtocolError) {
        let mut state = locked(&self.state);
        state.respond(id, &Reply::Error(Refusal::from(format!("ERR {}", error.0))));
        if let Some(client) = state.clients.get_mut(&id) {
            client.closing = true;
        }
    }

    /// Moves what the connection can write to the end of `out`.
    pub(crate) fn collect(&self, id: ClientId, out: &mut Vec<u8>) -> Turn {
        let mut state = locked(&self.state);
        match turn_of(&state, id) {
            Turn::Go { .. } => Turn::Go { next_due: state.collect(id, out) },
            Turn::Finish { .. } => Turn::Finish { next_due: state.collect(id, out) },
            idle => idle,
        }
    }

    pub(crate) fn open(&self, address: Option<String>, wake: Arc<Notify>) -> Option<ClientId> {
        locked(&self.state).open(address, wake)
    }

    pub(crate) fn close(&self, id: ClientId) {
        locked(&self.state).close(id);
    }

    pub(crate) fn mode(&self) -> Mode {
        locked(&self.state).mode
    }

    /// Has the notifier woken at every change of the mode.
    pub(crate) fn watch(&self, watcher: Arc<Notify>) {
        locked(&self.state).watchers.push(watcher);
    }

    pub(crate) fn freeze(&self) {
        self.between_requests(|state| {
            if state.mode == Mode::Running {
                state.set_mode(Mode::Frozen);
            }
        });
    }

    pub(crate) fn thaw(&self) {
        self.between_requests(|state| {
            if state.mode == Mode::Frozen {
                state.set_mode(Mode::Running);
            }
        });
    }

    pub(crate) fn kill(&self, forget: bool) {
        self.between_requests(|state| {
            if state.mode != Mode::Stopped {
                state.set_mode(Mode::Killed);
            }
            if forget {
                state.flush();
            }
        });
    }

    /// A new life: no connections, no scripts, the data as it is.
    pub(crate) fn restart(&self) {
        let mut scripts = locked(&self.turn);
        let mut state = locked(&self.state);
        if state.mode != Mode::Stopped {
            state.set_mode(Mode::Killed);
            state.revive();
            scripts.flush();
        }
    }

    pub(crate) fn stop(&self) {
        self.between_requests(|state| state.set_mode(Mode::Stopped));
        self.stopped.notify_one();
    }

    /// Returns once the engine has been stopped. For one task only.
    pub(crate) async fn stopped(&self) {
        self.stopped.notified().await;
    }

    pub(crate) fn set_delay(&self, delay: Duration) {
        self.between_requests(|state| state.delay = delay);
    }

    /// Looks at the state, or changes it, while no request is being executed.
    pub(crate) fn between_requests<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let _turn = locked(&self.turn);
        change(&mut locked(&self.state))
    }
}

fn turn_of(state: &State, id: ClientId) -> Turn {
    match (state.mode, state.clients.get(&id)) {
        (Mode::Killed | Mode::Stopped, _) | (_, None) => Turn::Cut,
        (Mode::Frozen, Some(_)) => Turn::Wait,
        (Mode::Running, Some(client)) if client.closing => Turn::Finish { next_due: None },
        (Mode::Running, Some(_)) => Turn::Go { next_due: None },
    }
}
