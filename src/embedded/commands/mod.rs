//! The commands: one file per family, and the table that finds them by name.

mod args;
mod client;
mod connection;
mod expire;
mod hashes;
mod info;
mod keys;
mod lists;
mod pubsub;
mod scripting;
mod server;
mod sorted_sets;
mod strings;
mod table;
mod zrange;

use super::client::ConnectedClient;
use super::data::Keyspace;
use super::lua::Scripts;
use super::resp::CommandResult;
use super::state::{Caller, EngineState};

pub(crate) use args::Args;
pub(crate) use table::{Finding, find};

/// What a command works on.
pub(crate) struct Invocation<'a> {
    pub(crate) state: &'a mut EngineState,
    pub(crate) caller: Caller,
    /// Called by a script, not by a connection.
    pub(crate) scripted: bool,
}

impl Invocation<'_> {
    /// The database the caller has selected.
    pub(crate) fn keys(&mut self) -> &mut Keyspace {
        self.state.database(self.caller.db)
    }

    /// The connection, while it is still there.
    pub(crate) fn client(&mut self) -> Option<&mut ConnectedClient> {
        self.state.clients.get_mut(&self.caller.client)
    }
}

/// One command, as Redis' own table has it.
#[derive(Debug)]
pub(crate) struct Spec {
    /// In lower case; a subcommand is `container|name`.
    pub(crate) name: &'static str,
    /// Words with the name; at least so many if negative.
    pub(crate) arity: i32,
    pub(crate) run: Run,
    /// Scripts may call it.
    pub(crate) in_scripts: bool,
    /// An old-protocol connection may send it while it has subscriptions.
    pub(crate) while_subscribed: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Run {
    Command(fn(&mut Invocation<'_>, Args<'_>) -> CommandResult),
    /// Runs scripts, so the state may not be locked meanwhile.
    Script(fn(&mut Scripts, Caller, Args<'_>) -> CommandResult),
    /// Belongs to the connection's transaction: MULTI, EXEC, DISCARD.
    Transaction(TransactionCommand),
    /// Only has subcommands.
    Container,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TransactionCommand {
    Multi,
    Exec,
    Discard,
}

impl Spec {
    const fn new(name: &'static str, arity: i32, run: Run) -> Self {
        Self { name, arity, run, in_scripts: true, while_subscribed: false }
    }

    const fn command(
        name: &'static str,
        arity: i32,
        run: fn(&mut Invocation<'_>, Args<'_>) -> CommandResult,
    ) -> Self {
        Self::new(name, arity, Run::Command(run))
    }

    const fn container(name: &'static str) -> Self {
        Self::new(name, -2, Run::Container)
    }

    const fn not_in_scripts(mut self) -> Self {
        self.in_scripts = false;
        self
    }

    const fn while_subscribed(mut self) -> Self {
        self.while_subscribed = true;
        self
    }

    fn accepts(&self, words: usize) -> bool {
        let wanted = usize::try_from(self.arity.unsigned_abs()).unwrap_or(usize::MAX);
        if self.arity < 0 { words >= wanted } else { words == wanted }
    }
}
