//! What concerns the connection itself: the handshake, the database, the end.

use super::super::client::Subscriptions;
use super::super::pubsub::ChannelKind;
use super::super::resp::{CommandResult, Protocol, Refusal, Reply};
use super::super::state::DATABASES;
use super::client::set_name;
use super::{Args, Invocation, Spec};

pub(super) const SPECS: &[Spec] = &[
    Spec::command("auth", -2, auth).not_in_scripts(),
    Spec::command("echo", 2, |_, args| Ok(Reply::bulk(args.at(1)))),
    Spec::command("hello", -1, hello).not_in_scripts(),
    Spec::command("ping", -1, ping).while_subscribed(),
    Spec::command("quit", -1, quit).not_in_scripts().while_subscribed(),
    Spec::command("reset", 1, reset).not_in_scripts().while_subscribed(),
    Spec::command("select", 2, select),
];

fn ping(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    if args.len() > 2 {
        return Err(Refusal::arity("ping"));
    }
    if call.client().is_some_and(|client| client.only_listens()) {
        return Ok(Reply::bulks([b"pong", args.at(1)]));
    }
    Ok(match args.from(1) {
        [] => Reply::Status("PONG".into()),
        [message, ..] => Reply::bulk(*message),
    })
}

fn select(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    let db = usize::try_from(args.integer(1)?).ok().filter(|db| *db < DATABASES);
    let db = db.ok_or(Refusal::new("ERR DB index is out of range"))?;
    // A script's choice ends with the script.
    if call.scripted {
        call.state.script.db = db;
    } else if let Some(client) = call.client() {
        client.db = db;
    }
    Ok(Reply::OK)
}

fn auth(_: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    match args.len() {
        2 => Err(Refusal::new(
            "ERR AUTH <password> called without any password configured for the default user. \
             Are you sure your configuration is correct?",
        )),
        3 => check_user(args.at(1)).map(|()| Reply::OK),
        _ => Err(Refusal::SYNTAX),
    }
}

/// The default user has no password: any is right. There are no others.
fn check_user(user: &[u8]) -> Result<(), Refusal> {
    if user == b"default" {
        return Ok(());
    }
    Err(Refusal::new("WRONGPASS invalid username-password pair or user is disabled."))
}

fn hello(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    let protocol = match args.from(1).first() {
        None => None,
        Some(_) => Some(version(args)?),
    };
    let mut name = None;
    let mut index = 2;
    while index < args.len() {
        let left = args.len() - index - 1;
        match args.lower(index).as_str() {
            "auth" if left >= 2 => {
                check_user(args.at(index + 1))?;
                index += 2;
            }
            "setname" if left >= 1 => {
                name = Some(args.at(index + 1));
                index += 1;
            }
            _ => {
                let option = args.text(index);
                return Err(format!("ERR Syntax error in HELLO option '{option}'").into());
            }
        }
        index += 1;
    }
    if let Some(name) = name {
        set_name(call, name)?;
    }
    if let (Some(protocol), Some(client)) = (protocol, call.client()) {
        client.protocol = protocol;
    }
    Ok(greeting(call))
}

fn version(args: Args<'_>) -> Result<Protocol, Refusal> {
    let unreadable = Refusal::new("ERR Protocol version is not an integer or out of range");
    let version = args.integer_or(1, unreadable)?;
    match version {
        2 => Ok(Protocol::Resp2),
        3 => Ok(Protocol::Resp3),
        _ => Err(Refusal::new("NOPROTO unsupported protocol version")),
    }
}

fn greeting(call: &mut Invocation<'_>) -> Reply {
    let resp3 = call.client().is_some_and(|client| client.protocol == Protocol::Resp3);
    let id = i64::try_from(call.caller.client).unwrap_or(i64::MAX);
    Reply::Map(vec![
        Reply::bulk("server"),
        Reply::bulk("redis"),
        Reply::bulk("version"),
        Reply::bulk(super::info::VERSION),
        Reply::bulk("proto"),
        Reply::Integer(if resp3 { 3 } else { 2 }),
        Reply::bulk("id"),
        Reply::Integer(id),
        Reply::bulk("mode"),
        Reply::bulk("standalone"),
        Reply::bulk("role"),
        Reply::bulk("master"),
        Reply::bulk("modules"),
        Reply::Array(Vec::new()),
    ])
}

fn quit(call: &mut Invocation<'_>, _: Args<'_>) -> CommandResult {
    if let Some(client) = call.client() {
        client.closing = true;
    }
    Ok(Reply::OK)
}

/// Back to how the connection was when it was new.
fn reset(call: &mut Invocation<'_>, _: Args<'_>) -> CommandResult {
    let id = call.caller.client;
    let Some(client) = call.client() else { return Ok(Reply::Nil) };
    client.name.clear();
    client.protocol = Protocol::Resp2;
    client.db = 0;
    client.transaction = None;
    let subscriptions: Subscriptions = std::mem::take(&mut client.subscriptions);
    for kind in [ChannelKind::Channel, ChannelKind::Pattern, ChannelKind::Shard] {
        for name in subscriptions.of(kind) {
            call.state.registry.unsubscribe(kind, name, id);
        }
    }
    Ok(Reply::Status("RESET".into()))
}
