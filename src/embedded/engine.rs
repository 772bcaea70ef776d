//! The engine: executes requests one after the other, from all connections.
//!
//! # Invariants
//! 1. A request is executed as a whole, its script included, before the next one begins.
//! 2. Every request passes [`Engine::execute`] and every byte that leaves passes
//!    [`EngineState::respond`](super::state::State::respond): faults are to be injected there.
//!
//! # Deadlock safety
//! There are two locks, `turn` and `state`. Code that takes both takes `turn` first. `state` is let
//! go while a script runs, since the script's commands lock it; `turn` then keeps others out.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::clock::EngineClock;
use super::commands::Args;
use super::locked;
use super::lua::Scripts;
use super::pubsub::ClientId;
use super::resp::{ProtocolError, Refusal, Reply};
use super::session;
use super::state::{EngineState, Names, ServerMode};

#[derive(Debug)]
pub(crate) struct Engine {
    turn: Mutex<Scripts>,
    state: Arc<Mutex<EngineState>>,
    stopped: Notify,
}

/// What a connection's task may do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskStep {
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
    pub(crate) fn new(clock: EngineClock, names: Names, handed_on: bool) -> Self {
        let state = Arc::new(Mutex::new(EngineState::new(clock, names)));
        let scripts = Scripts::new(Arc::clone(&state), session::execute_scripted, handed_on);
        Self { turn: Mutex::new(scripts), state, stopped: Notify::new() }
    }

    /// Executes one request and queues its answer. If it may not be executed now, nothing happens.
    pub(crate) fn execute(&self, id: ClientId, words: &[&[u8]]) -> TaskStep {
        let mut scripts = locked(&self.turn);
        let turn = turn_of(&locked(&self.state), id);
        if matches!(turn, TaskStep::Go { .. }) && !words.is_empty() {
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
    pub(crate) fn collect(&self, id: ClientId, out: &mut Vec<u8>) -> TaskStep {
        let mut state = locked(&self.state);
        match turn_of(&state, id) {
            TaskStep::Go { .. } => TaskStep::Go { next_due: state.collect(id, out) },
            TaskStep::Finish { .. } => TaskStep::Finish { next_due: state.collect(id, out) },
            idle => idle,
        }
    }

    pub(crate) fn open(&self, address: Option<String>, wake: Arc<Notify>) -> Option<ClientId> {
        locked(&self.state).open(address, wake)
    }

    pub(crate) fn close(&self, id: ClientId) {
        locked(&self.state).close(id);
    }

    pub(crate) fn mode(&self) -> ServerMode {
        locked(&self.state).mode
    }

    /// Has the notifier woken at every change of the mode.
    pub(crate) fn watch(&self, watcher: Arc<Notify>) {
        locked(&self.state).watchers.push(watcher);
    }

    pub(crate) fn freeze(&self) {
        self.between_requests(|state| {
            if state.mode == ServerMode::Running {
                state.set_mode(ServerMode::Frozen);
            }
        });
    }

    pub(crate) fn thaw(&self) {
        self.between_requests(|state| {
            if state.mode == ServerMode::Frozen {
                state.set_mode(ServerMode::Running);
            }
        });
    }

    pub(crate) fn kill(&self, forget: bool) {
        self.between_requests(|state| {
            if state.mode != ServerMode::Stopped {
                state.set_mode(ServerMode::Killed);
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
        if state.mode != ServerMode::Stopped {
            state.set_mode(ServerMode::Killed);
            state.revive();
            scripts.flush();
        }
    }

    pub(crate) fn stop(&self) {
        self.between_requests(|state| state.set_mode(ServerMode::Stopped));
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
    pub(crate) fn between_requests<T>(&self, change: impl FnOnce(&mut EngineState) -> T) -> T {
        let _turn = locked(&self.turn);
        change(&mut locked(&self.state))
    }
}

fn turn_of(state: &EngineState, id: ClientId) -> TaskStep {
    match (state.mode, state.clients.get(&id)) {
        (ServerMode::Killed | ServerMode::Stopped, _) | (_, None) => TaskStep::Cut,
        (ServerMode::Frozen, Some(_)) => TaskStep::Wait,
        (ServerMode::Running, Some(client)) if client.closing => {
            TaskStep::Finish { next_due: None }
        }
        (ServerMode::Running, Some(_)) => TaskStep::Go { next_due: None },
    }
}
