//! CLIENT: what a connection says of itself and learns of others.

use super::super::client::ConnectedClient;
use super::super::number;
use super::super::pubsub::{ChannelKind, ClientId};
use super::super::resp::{CommandResult, Protocol, Refusal, Reply};
use super::{Args, Invocation, Spec};

pub(super) const SPECS: &[Spec] = &[
    Spec::container("client").not_in_scripts(),
    Spec::command("client|getname", 2, getname).not_in_scripts(),
    Spec::command("client|id", 2, id).not_in_scripts(),
    Spec::command("client|info", 2, info).not_in_scripts(),
    Spec::command("client|kill", -3, kill).not_in_scripts(),
    Spec::command("client|list", -2, list).not_in_scripts(),
    Spec::command("client|no-evict", 3, on_or_off).not_in_scripts(),
    Spec::command("client|no-touch", 3, on_or_off).not_in_scripts(),
    Spec::command("client|setinfo", 4, setinfo).not_in_scripts(),
    Spec::command("client|setname", 3, setname).not_in_scripts(),
    Spec::command("client|tracking", 3, tracking).not_in_scripts(),
];

fn id(call: &mut Invocation<'_>, _: Args<'_>) -> CommandResult {
    Ok(Reply::Integer(i64::try_from(call.caller.client).unwrap_or(i64::MAX)))
}

fn getname(call: &mut Invocation<'_>, _: Args<'_>) -> CommandResult {
    let name = call.client().map(|client| client.name.clone()).filter(|name| !name.is_empty());
    Ok(Reply::bulk_or_nil(name))
}

fn setname(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    set_name(call, args.at(2)).map(|()| Reply::OK)
}

/// Names the connection; an empty name takes it away.
pub(super) fn set_name(call: &mut Invocation<'_>, name: &[u8]) -> Result<(), Refusal> {
    let name = printable(name).ok_or(Refusal::new(
        "ERR Client names cannot contain spaces, newlines or special characters.",
    ))?;
    if let Some(client) = call.client() {
        client.name = name;
    }
    Ok(())
}

fn setinfo(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    let option = args.lower(2);
    let value = printable(args.at(3)).ok_or_else(|| {
        format!("ERR {option} cannot contain spaces, newlines or special characters.")
    })?;
    let Some(client) = call.client() else { return Ok(Reply::OK) };
    match option.as_str() {
        "lib-name" => client.library.name = value,
        "lib-ver" => client.library.version = value,
        _ => return Err(format!("ERR Unrecognized option '{}'", args.text(2)).into()),
    }
    Ok(Reply::OK)
}

fn printable(text: &[u8]) -> Option<String> {
    text.iter().all(u8::is_ascii_graphic).then(|| String::from_utf8_lossy(text).into_owned())
}

fn on_or_off(_: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    if args.is(2, "on") || args.is(2, "off") { Ok(Reply::OK) } else { Err(Refusal::SYNTAX) }
}

/// Without options: it is told of whatever this connection reads from now on.
fn tracking(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    let id = call.caller.client;
    let is_resp3 = call.client().is_some_and(|client| client.protocol == Protocol::Resp3);
    if args.is(2, "off") {
        call.state.tracking.end(id);
    } else if !args.is(2, "on") {
        return Err(Refusal::SYNTAX);
    } else if is_resp3 {
        call.state.tracking.begin(id);
    } else {
        // To have it told to another one is left out here.
        return Err(Refusal::new("ERR tracking needs RESP3 here"));
    }
    Ok(Reply::OK)
}

fn info(call: &mut Invocation<'_>, _: Args<'_>) -> CommandResult {
    let now = call.state.clock.instant();
    let line = call.client().map(|client| describe(client, now)).unwrap_or_default();
    Ok(Reply::Verbatim(line))
}

/// All connections, those of a type, or those with the given ids.
fn list(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    let chosen = match args.len() {
        2 => None,
        4 if args.is(2, "type") => {
            let others = args.is(3, "master") || args.is(3, "replica") || args.is(3, "slave");
            match args.lower(3).as_str() {
                _ if others => Some(Vec::new()),
                "normal" => Some(of_type(call, false)),
                "pubsub" => Some(of_type(call, true)),
                _ => return Err(format!("ERR Unknown client type '{}'", args.text(3)).into()),
            }
        }
        _ if args.len() > 3 && args.is(2, "id") => Some(ids(args)?),
        _ => return Err(Refusal::SYNTAX),
    };
    let now = call.state.clock.instant();
    let clients = call.state.clients.values();
    let shown =
        clients.filter(|client| chosen.as_ref().is_none_or(|chosen| chosen.contains(&client.id)));
    Ok(Reply::Verbatim(shown.map(|client| describe(client, now)).collect()))
}

fn of_type(call: &Invocation<'_>, listens: bool) -> Vec<ClientId> {
    let clients = call.state.clients.values();
    clients.filter(|client| client.subscriptions.any() == listens).map(|client| client.id).collect()
}

fn ids(args: Args<'_>) -> Result<Vec<ClientId>, Refusal> {
    let ids: Option<Vec<_>> = args.from(3).iter().map(|word| number::integer(word)).collect();
    let ids = ids.ok_or(Refusal::new("ERR Invalid client ID"))?;
    // No connection has a negative one.
    Ok(ids.into_iter().filter_map(|id| ClientId::try_from(id).ok()).collect())
}

/// By `ID` alone. The caller is skipped unless it says `SKIPME no`; then it is answered first.
fn kill(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    if args.len() == 3 {
        return Err(Refusal::new("ERR No such client"));
    }
    let (mut id, mut skip_caller) = (None, true);
    for (option, value) in args.pairs(2) {
        match option.to_ascii_lowercase().as_slice() {
            b"id" => id = Some(positive_id(value)?),
            b"skipme" if value.eq_ignore_ascii_case(b"yes") => skip_caller = true,
            b"skipme" if value.eq_ignore_ascii_case(b"no") => skip_caller = false,
            _ => return Err(Refusal::SYNTAX),
        }
    }
    let (Some(id), true) = (id, args.len().is_multiple_of(2)) else {
        return Err(Refusal::SYNTAX);
    };
    let own = id == call.caller.client;
    let killed = call.state.clients.contains_key(&id) && !(own && skip_caller);
    if own && killed {
        call.client().into_iter().for_each(|client| client.closing = true);
    } else if killed {
        call.state.close(id);
    }
    Ok(Reply::flag(killed))
}

fn positive_id(word: &[u8]) -> Result<ClientId, Refusal> {
    let id = number::integer(word).filter(|id| *id > 0);
    id.and_then(|id| ClientId::try_from(id).ok())
        .ok_or(Refusal::new("ERR client-id should be greater than 0"))
}

fn describe(client: &ConnectedClient, now: tokio::time::Instant) -> String {
    let subscribed = |kind| client.subscriptions.of(kind).len();
    format!(
        "id={id} addr={address} laddr=embedded:0 fd=0 name={name} age={age} idle=0 flags={flags} \
         db={db} sub={sub} psub={psub} ssub={ssub} multi={multi} cmd={command} user=default \
         redir=-1 resp={resp} lib-name={library} lib-ver={version}\n",
        id = client.id,
        address = client.address,
        name = client.name,
        age = now.saturating_duration_since(client.connected_at).as_secs(),
        flags = if client.only_listens() { "P" } else { "N" },
        db = client.db,
        sub = subscribed(ChannelKind::Channel),
        psub = subscribed(ChannelKind::Pattern),
        ssub = subscribed(ChannelKind::Shard),
        multi = client
            .transaction
            .as_ref()
            .map_or(String::from("-1"), |transaction| { transaction.queue.len().to_string() }),
        command = client.last_command,
        resp = if client.protocol == Protocol::Resp3 { 3 } else { 2 },
        library = client.library.name,
        version = client.library.version,
    )
}
