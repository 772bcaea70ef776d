//! Commands for keys of any type.

use super::super::glob;
use super::super::resp::{CommandResult, Refusal, Reply};
use super::{Args, Invocation, Spec};

pub(super) const SPECS: &[Spec] = &[
    Spec::command("dbsize", 1, |call, _| Ok(Reply::count(call.keys().keys().count()))),
    Spec::command("del", -2, del),
    Spec::command("exists", -2, exists),
    Spec::command("flushall", -1, flushall),
    Spec::command("flushdb", -1, flushdb),
    Spec::command("keys", 2, keys),
    Spec::command("scan", -2, scan),
    Spec::command("type", 2, type_of),
    Spec::command("unlink", -2, del),
];

fn del(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    let keys = call.keys();
    Ok(Reply::count(args.from(1).iter().filter(|key| keys.remove(key)).count()))
}

fn exists(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    let keys = call.keys();
    Ok(Reply::count(args.from(1).iter().filter(|key| keys.contains(key)).count()))
}

fn type_of(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    let name = call.keys().get(args.at(1)).map_or("none", |value| value.type_name());
    Ok(Reply::Status(name.into()))
}

fn keys(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    let found = call.keys().keys().map(|(key, _)| key);
    Ok(Reply::bulks(found.filter(|key| glob::matches(args.at(1), key)).cloned()))
}

/// Everything is returned at once, with the cursor 0, whatever cursor is given.
fn scan(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    let cursor = args.text(1);
    if !cursor.is_empty() && cursor.parse::<i128>().is_err() {
        return Err(Refusal::new("ERR invalid cursor"));
    }
    let (mut pattern, mut wanted) = (&b"*"[..], None);
    for (index, (option, value)) in args.pairs(2).enumerate() {
        match option.to_ascii_lowercase().as_slice() {
            b"match" => pattern = value,
            b"type" => wanted = Some(value.to_ascii_lowercase()),
            b"count" if args.integer(index * 2 + 3)? > 0 => {}
            _ => return Err(Refusal::SYNTAX),
        }
    }
    if args.len() % 2 == 1 {
        return Err(Refusal::SYNTAX);
    }
    let found = call.keys().keys().filter(|(key, value)| {
        let fits = wanted.as_ref().is_none_or(|wanted| value.type_name().as_bytes() == wanted);
        fits && glob::matches(pattern, key)
    });
    let found = Reply::bulks(found.map(|(key, _)| key.clone()));
    Ok(Reply::Array(vec![Reply::bulk("0"), found]))
}

fn flushall(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    check_flush(args)?;
    call.state.flush();
    Ok(Reply::OK)
}

fn flushdb(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    check_flush(args)?;
    call.keys().clear();
    // Whichever database it was.
    call.state.tell_of_change_of_all();
    Ok(Reply::OK)
}

fn check_flush(args: Args<'_>) -> Result<(), Refusal> {
    match args.len() {
        1 => Ok(()),
        2 if args.is(1, "async") || args.is(1, "sync") => Ok(()),
        _ => Err(Refusal::SYNTAX),
    }
}
