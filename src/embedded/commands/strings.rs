//! Strings: GET, SET and counting.

use super::super::data::Value;
use super::super::number;
use super::super::resp::{CommandResult, Refusal, Reply};
use super::expire::{Unit, deadline};
use super::{Args, Invocation, Spec};

pub(super) const SPECS: &[Spec] = &[
    Spec::command("append", 3, append),
    Spec::command("decr", 2, |call, args| add(call, args, -1)),
    Spec::command("decrby", 3, decrby),
    Spec::command("get", 2, get),
    Spec::command("incr", 2, |call, args| add(call, args, 1)),
    Spec::command("incrby", 3, |call, args| add(call, args, args.integer(2)?)),
    Spec::command("mget", -2, mget),
    Spec::command("mset", -3, mset),
    Spec::command("set", -3, set),
    Spec::command("setnx", 3, setnx),
    Spec::command("strlen", 2, strlen),
];

type StringValue = Vec<u8>;

fn get(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    Ok(Reply::bulk_or_nil(call.keys().read::<StringValue>(args.at(1))?.cloned()))
}

fn strlen(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    Ok(Reply::count(call.keys().read::<StringValue>(args.at(1))?.map_or(0, Vec::len)))
}

fn append(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    let text = call.keys().create::<StringValue>(args.at(1))?;
    text.extend_from_slice(args.at(2));
    Ok(Reply::count(text.len()))
}

fn mget(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    let keys = call.keys();
    let values = args.from(1).iter().map(|key| {
        // Another type reads as missing here.
        Reply::bulk_or_nil(keys.read::<StringValue>(key).ok().flatten().cloned())
    });
    Ok(Reply::Array(values.collect()))
}

fn mset(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    if args.len().is_multiple_of(2) {
        return Err(Refusal::arity("mset"));
    }
    for (key, value) in args.pairs(1) {
        call.keys().set(key, Value::String(value.to_vec()));
    }
    Ok(Reply::OK)
}

fn setnx(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    let keys = call.keys();
    let free = !keys.contains(args.at(1));
    if free {
        keys.set(args.at(1), Value::String(args.at(2).to_vec()));
    }
    Ok(Reply::flag(free))
}

fn decrby(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    let by = args.integer(2)?.checked_neg();
    add(call, args, by.ok_or(Refusal::new("ERR decrement would overflow"))?)
}

fn add(call: &mut Invocation<'_>, args: Args<'_>, by: i64) -> CommandResult {
    let keys = call.keys();
    let before = match keys.read::<StringValue>(args.at(1))? {
        None => 0,
        Some(text) => number::integer(text).ok_or(Refusal::NOT_INTEGER)?,
    };
    let sum =
        before.checked_add(by).ok_or(Refusal::new("ERR increment or decrement would overflow"))?;
    *keys.create::<StringValue>(args.at(1))? = sum.to_string().into_bytes();
    Ok(Reply::Integer(sum))
}

/// The options of SET.
#[derive(Default)]
struct SetOptions {
    /// Whether the key must be there, or must not.
    wanted: Option<bool>,
    expiry: Option<(Unit, usize)>,
    keep_ttl: bool,
    get: bool,
}

fn set(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    let options = set_options(args)?;
    let (key, now_ms) = (args.at(1), call.state.now_ms);
    let expires_ms = match options.expiry {
        None => None,
        Some((unit, index)) => Some(set_deadline(unit, args.integer(index)?, now_ms)?),
    };
    let keys = call.keys();
    let before = if options.get {
        Some(Reply::bulk_or_nil(keys.read::<StringValue>(key)?.cloned()))
    } else {
        None
    };
    if options.wanted.is_some_and(|wanted| wanted != keys.contains(key)) {
        return Ok(before.unwrap_or(Reply::Nil));
    }
    let expires_ms = if options.keep_ttl { keys.expiry(key).flatten() } else { expires_ms };
    keys.set(key, Value::String(args.at(2).to_vec()));
    if expires_ms.is_some() {
        keys.set_expiry(key, expires_ms);
    }
    Ok(before.unwrap_or(Reply::OK))
}

fn set_options(args: Args<'_>) -> Result<SetOptions, Refusal> {
    let mut options = SetOptions::default();
    let mut index = 3;
    while index < args.len() {
        let fresh = options.expiry.is_none() && !options.keep_ttl;
        match args.lower(index).as_str() {
            "nx" if options.wanted != Some(true) => options.wanted = Some(false),
            "xx" if options.wanted != Some(false) => options.wanted = Some(true),
            "get" => options.get = true,
            "keepttl" if options.expiry.is_none() => options.keep_ttl = true,
            name if fresh && index + 1 < args.len() => {
                index += 1;
                options.expiry = Some((Unit::of_option(name).ok_or(Refusal::SYNTAX)?, index));
            }
            _ => return Err(Refusal::SYNTAX),
        }
        index += 1;
    }
    Ok(options)
}

fn set_deadline(unit: Unit, value: i64, now_ms: i64) -> Result<i64, Refusal> {
    if value <= 0 {
        return Err(Refusal::new("ERR invalid expire time in 'set' command"));
    }
    deadline(unit, value, now_ms, "set")
}
