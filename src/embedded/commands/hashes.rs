//! Hashes.

use super::super::data::Hash;
use super::super::glob;
use super::super::number;
use super::super::resp::{CommandResult, Refusal, Reply};
use super::{Args, Invocation, Spec};

pub(super) const SPECS: &[Spec] = &[
    Spec::command("hdel", -3, hdel),
    Spec::command("hexists", 3, |call, args| field(call, args, |f| Reply::flag(f.is_some()))),
    Spec::command("hget", 3, |call, args| field(call, args, |f| Reply::bulk_or_nil(f.cloned()))),
    Spec::command("hgetall", 2, hgetall),
    Spec::command("hincrby", 4, hincrby),
    Spec::command("hkeys", 2, |call, args| list(call, args, |name, _| name)),
    Spec::command("hlen", 2, hlen),
    Spec::command("hmget", -3, hmget),
    Spec::command("hrandfield", 4, hrandfield),
    Spec::command("hscan", -3, hscan),
    Spec::command("hset", -4, hset),
    Spec::command("hsetnx", 4, hsetnx),
    Spec::command("hstrlen", 3, |call, args| {
        field(call, args, |f| Reply::count(f.map_or(0, Vec::len)))
    }),
    Spec::command("hvals", 2, |call, args| list(call, args, |_, value| value)),
];

fn hset(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    if args.len() % 2 == 1 {
        return Err(Refusal::arity("hset"));
    }
    let hash = call.keys().create::<Hash>(args.at(1))?;
    let added = args.pairs(2).filter(|(name, value)| hash.set(name, value.to_vec())).count();
    Ok(Reply::count(added))
}

fn hsetnx(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    let hash = call.keys().create::<Hash>(args.at(1))?;
    let free = hash.get(args.at(2)).is_none();
    if free {
        hash.set(args.at(2), args.at(3).to_vec());
    }
    Ok(Reply::flag(free))
}

fn field(
    call: &mut Invocation<'_>,
    args: Args<'_>,
    show: impl Fn(Option<&Vec<u8>>) -> Reply,
) -> CommandResult {
    Ok(show(call.keys().read::<Hash>(args.at(1))?.and_then(|hash| hash.get(args.at(2)))))
}

fn hmget(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    let hash = call.keys().read::<Hash>(args.at(1))?;
    let values = args.from(2).iter().map(|name| hash.and_then(|hash| hash.get(name)).cloned());
    Ok(Reply::Array(values.map(Reply::bulk_or_nil).collect()))
}

fn hgetall(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    let hash = call.keys().read::<Hash>(args.at(1))?;
    let fields = hash.into_iter().flat_map(Hash::iter);
    let items = fields.flat_map(|(name, value)| [name, value]).cloned().map(Reply::bulk);
    Ok(Reply::Map(items.collect()))
}

/// In the one form that scripts of locks use, with a count and values. Not by chance: the first ones,
/// so that a run can be repeated; and in a flat list in RESP3 too.
fn hrandfield(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    let count = usize::try_from(args.integer(2)?).map_err(|_negative| Refusal::NOT_INTEGER)?;
    if !args.at(3).eq_ignore_ascii_case(b"WITHVALUES") {
        return Err(Refusal::SYNTAX);
    }
    let hash = call.keys().read::<Hash>(args.at(1))?;
    let fields = hash.into_iter().flat_map(Hash::iter).take(count);
    Ok(Reply::bulks(fields.flat_map(|(name, value)| [name, value]).cloned()))
}

fn list(
    call: &mut Invocation<'_>,
    args: Args<'_>,
    choose: for<'h> fn(&'h Vec<u8>, &'h Vec<u8>) -> &'h Vec<u8>,
) -> CommandResult {
    let hash = call.keys().read::<Hash>(args.at(1))?;
    let fields = hash.into_iter().flat_map(Hash::iter);
    Ok(Reply::bulks(fields.map(|(name, value)| choose(name, value).clone())))
}

/// Everything is returned at once, with the cursor 0, whatever cursor is given.
fn hscan(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    let cursor = args.text(2);
    if !cursor.is_empty() && cursor.parse::<i128>().is_err() {
        return Err(Refusal::new("ERR invalid cursor"));
    }
    let Some(hash) = call.keys().read::<Hash>(args.at(1))? else {
        // Whatever else was said.
        return Ok(Reply::Array(vec![Reply::bulk("0"), Reply::Array(Vec::new())]));
    };
    let mut pattern = &b"*"[..];
    for (index, (option, value)) in args.pairs(3).enumerate() {
        match option.to_ascii_lowercase().as_slice() {
            b"match" => pattern = value,
            b"count" if args.integer(index * 2 + 4)? > 0 => {}
            _ => return Err(Refusal::SYNTAX),
        }
    }
    if args.len().is_multiple_of(2) {
        return Err(Refusal::SYNTAX);
    }
    let found = hash.iter().filter(|(name, _)| glob::matches(pattern, name));
    let found = Reply::bulks(found.flat_map(|(name, value)| [name.clone(), value.clone()]));
    Ok(Reply::Array(vec![Reply::bulk("0"), found]))
}

fn hlen(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    Ok(Reply::count(call.keys().read::<Hash>(args.at(1))?.map_or(0, Hash::len)))
}

fn hdel(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    let keys = call.keys();
    let Some(hash) = keys.change::<Hash>(args.at(1))? else { return Ok(Reply::Integer(0)) };
    let removed = args.from(2).iter().filter(|name| hash.remove(name)).count();
    keys.tidy(args.at(1));
    Ok(Reply::count(removed))
}

fn hincrby(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    let by = args.integer(3)?;
    let keys = call.keys();
    let before = match keys.read::<Hash>(args.at(1))?.and_then(|hash| hash.get(args.at(2))) {
        None => 0,
        Some(text) => {
            number::integer(text).ok_or(Refusal::new("ERR hash value is not an integer"))?
        }
    };
    let sum =
        before.checked_add(by).ok_or(Refusal::new("ERR increment or decrement would overflow"))?;
    keys.create::<Hash>(args.at(1))?.set(args.at(2), sum.to_string().into_bytes());
    Ok(Reply::Integer(sum))
}
