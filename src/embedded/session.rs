//! Executing one request: what is let through, what runs, what is counted.

use super::client::Transaction;
use super::commands::{Args, Finding, Invocation, Run, Spec, TransactionCommand, find};
use super::locked;
use super::lua::Scripts;
use super::pubsub::ClientId;
use super::resp::{CommandResult, Refusal, Reply};
use super::state::{Caller, EngineState};
use std::sync::Mutex;

/// Executes a request of a connection.
pub(crate) fn execute(
    state: &Mutex<EngineState>,
    scripts: &mut Scripts,
    id: ClientId,
    args: Args<'_>,
) -> Reply {
    let mut now = locked(state);
    let spec = match admit(&mut now, id, args) {
        Ok(Dispatch::Run(spec)) => spec,
        Ok(Dispatch::Queued) => return Reply::Status("QUEUED".into()),
        Err(refusal) => return Reply::Error(refusal),
    };
    let caller = Caller { client: id, db: now.clients.get(&id).map_or(0, |client| client.db) };
    match spec.run {
        Run::Transaction(step) => {
            drop(now);
            let outcome = transaction(state, scripts, id, step);
            finish(&mut locked(state), spec, outcome)
        }
        Run::Script(run) => {
            drop(now);
            let outcome = run(scripts, caller, args);
            finish(&mut locked(state), spec, outcome)
        }
        Run::Command(_) | Run::Container => run_command(&mut now, spec, caller, args, false),
    }
}

/// Executes a command of a script.
pub(crate) fn execute_scripted(state: &mut EngineState, args: &[&[u8]]) -> Reply {
    let args = Args(args);
    let found = find(args);
    match found.or_refuse_script() {
        Ok(spec) => {
            let caller = state.script;
            run_command(state, spec, caller, args, true)
        }
        Err(refusal) => Reply::Error(refusal),
    }
}

fn run_command(
    state: &mut EngineState,
    spec: &'static Spec,
    caller: Caller,
    args: Args<'_>,
    scripted: bool,
) -> Reply {
    let Run::Command(run) = spec.run else {
        return Reply::Error(Refusal::arity(spec.name));
    };
    let outcome = run(&mut Invocation { state, caller, scripted }, args);
    if !state.tracking.is_idle() {
        // First: that a dead key was found by a read is not told to that read.
        state.tell_of_changes();
        state.tracking.note(caller.client, spec.name, args);
    }
    finish(state, spec, outcome)
}

fn finish(state: &mut EngineState, spec: &'static Spec, outcome: CommandResult) -> Reply {
    state.stats.ran(spec.name, outcome.is_err());
    outcome.unwrap_or_else(Reply::Error)
}

enum Dispatch {
    Run(&'static Spec),
    /// Kept for EXEC.
    Queued,
}

/// Whether the request may run now. What is wrong with it spoils a transaction.
fn admit(state: &mut EngineState, id: ClientId, args: Args<'_>) -> Result<Dispatch, Refusal> {
    state.begin();
    let found = find(args);
    if let Finding::WrongArity(spec) | Finding::UnknownSubcommand(spec) = &found {
        state.stats.rejected(spec.name);
    }
    let spec = found.or_refuse(args);
    let Some(client) = state.clients.get_mut(&id) else { return spec.map(Dispatch::Run) };
    let spec = spec.and_then(|spec| {
        client.last_command = spec.name;
        if client.only_listens() && !spec.while_subscribed {
            return Err(format!(
                "ERR Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / \
                 RESET are allowed in this context",
                spec.name
            )
            .into());
        }
        Ok(spec)
    });
    if let (Err(Refusal(text)), true) = (&spec, args.is(0, "exec")) {
        client.transaction = None;
        let cause = text.strip_prefix("ERR ").unwrap_or(text);
        return Err(format!("EXECABORT Transaction discarded because of: {cause}").into());
    }
    let Some(transaction) = &mut client.transaction else { return spec.map(Dispatch::Run) };
    match spec {
        Ok(spec) if waits_for_exec(spec) => {
            transaction.queue.push(args.0.iter().map(|word| word.to_vec()).collect());
            Ok(Dispatch::Queued)
        }
        Ok(spec) => Ok(Dispatch::Run(spec)),
        Err(refusal) => {
            transaction.spoiled = true;
            Err(refusal)
        }
    }
}

fn waits_for_exec(spec: &Spec) -> bool {
    !matches!(spec.run, Run::Transaction(_)) && !matches!(spec.name, "quit" | "reset")
}

fn transaction(
    state: &Mutex<EngineState>,
    scripts: &mut Scripts,
    id: ClientId,
    step: TransactionCommand,
) -> CommandResult {
    let mut now = locked(state);
    let Some(client) = now.clients.get_mut(&id) else { return Ok(Reply::Nil) };
    if step == TransactionCommand::Multi {
        if client.transaction.is_some() {
            return Err(Refusal::new("ERR MULTI calls can not be nested"));
        }
        client.transaction = Some(Transaction::default());
        return Ok(Reply::OK);
    }
    let Some(transaction) = client.transaction.take() else {
        let name = if step == TransactionCommand::Exec { "EXEC" } else { "DISCARD" };
        return Err(format!("ERR {name} without MULTI").into());
    };
    if step == TransactionCommand::Discard {
        return Ok(Reply::OK);
    }
    if transaction.spoiled {
        return Err(Refusal::new("EXECABORT Transaction discarded because of previous errors."));
    }
    drop(now);
    let replies = transaction.queue.iter().map(|words| {
        let words: Vec<_> = words.iter().map(Vec::as_slice).collect();
        execute(state, scripts, id, Args(&words))
    });
    Ok(Reply::Array(replies.collect()))
}
