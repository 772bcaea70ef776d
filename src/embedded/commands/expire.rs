//! Times to live.

use super::super::resp::{CommandResult, Refusal, Reply};
use super::{Args, Invocation, Spec};

pub(super) const SPECS: &[Spec] = &[
    Spec::command("expire", -3, |call, args| expire(call, args, Unit::Seconds, "expire")),
    Spec::command("expireat", -3, |call, args| expire(call, args, Unit::UnixSeconds, "expireat")),
    Spec::command("expiretime", 2, |call, args| ttl(call, args, |expires, _| seconds(expires))),
    Spec::command("persist", 2, persist),
    Spec::command("pexpire", -3, |call, args| expire(call, args, Unit::Millis, "pexpire")),
    Spec::command("pexpireat", -3, |call, args| expire(call, args, Unit::UnixMillis, "pexpireat")),
    Spec::command("pexpiretime", 2, |call, args| ttl(call, args, |expires, _| expires)),
    Spec::command("pttl", 2, |call, args| {
        ttl(call, args, |expires, now| expires.saturating_sub(now))
    }),
    Spec::command("ttl", 2, |call, args| {
        ttl(call, args, |expires, now| seconds(expires.saturating_sub(now)))
    }),
];

/// How a time is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Seconds,
    Millis,
    UnixSeconds,
    UnixMillis,
}

impl Unit {
    /// By the name of SET's option.
    pub(super) fn of_option(name: &str) -> Option<Self> {
        match name {
            "ex" => Some(Self::Seconds),
            "px" => Some(Self::Millis),
            "exat" => Some(Self::UnixSeconds),
            "pxat" => Some(Self::UnixMillis),
            _ => None,
        }
    }
}

/// When that is, in Unix milliseconds.
pub(super) fn deadline(unit: Unit, value: i64, now_ms: i64, command: &str) -> Result<i64, Refusal> {
    let scale = if matches!(unit, Unit::Seconds | Unit::UnixSeconds) { 1000 } else { 1 };
    let base = if matches!(unit, Unit::Seconds | Unit::Millis) { now_ms } else { 0 };
    value
        .checked_mul(scale)
        .and_then(|value| value.checked_add(base))
        .ok_or_else(|| format!("ERR invalid expire time in '{command}' command").into())
}

/// The answer is made of the time the key dies and the time it is.
fn ttl(call: &mut Invocation<'_>, args: Args<'_>, show: fn(i64, i64) -> i64) -> CommandResult {
    let keys = call.keys();
    let now_ms = keys.now_ms();
    Ok(Reply::Integer(match keys.expiry(args.at(1)) {
        None => -2,
        Some(None) => -1,
        Some(Some(expires_ms)) => show(expires_ms, now_ms),
    }))
}

/// The nearest second.
fn seconds(millis: i64) -> i64 {
    millis.saturating_add(500) / 1000
}

fn persist(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    let keys = call.keys();
    let had_expiry = keys.expiry(args.at(1)).flatten().is_some();
    keys.set_expiry(args.at(1), None);
    Ok(Reply::flag(had_expiry))
}

fn expire(call: &mut Invocation<'_>, args: Args<'_>, unit: Unit, command: &str) -> CommandResult {
    let condition = condition(args)?;
    let value = args.integer(2)?;
    let expires_ms = deadline(unit, value, call.state.now_ms, command)?;
    let keys = call.keys();
    let applies = match keys.expiry(args.at(1)) {
        None => false,
        Some(current) => condition.allows(current, expires_ms),
    };
    if applies {
        keys.set_expiry(args.at(1), Some(expires_ms));
    }
    Ok(Reply::flag(applies))
}

/// NX, XX, GT and LT. A key without a time to live counts as one that lives for ever.
#[derive(Default)]
struct Condition {
    missing: bool,
    present: bool,
    greater: bool,
    less: bool,
}

impl Condition {
    fn allows(&self, current: Option<i64>, wanted: i64) -> bool {
        let refused = (self.missing && current.is_some())
            || (self.present && current.is_none())
            || (self.greater && current.is_none_or(|current| wanted <= current))
            || (self.less && current.is_some_and(|current| wanted >= current));
        !refused
    }
}

fn condition(args: Args<'_>) -> Result<Condition, Refusal> {
    let mut condition = Condition::default();
    for index in 3..args.len() {
        match args.lower(index).as_str() {
            "nx" => condition.missing = true,
            "xx" => condition.present = true,
            "gt" => condition.greater = true,
            "lt" => condition.less = true,
            _ => return Err(format!("ERR Unsupported option {}", args.text(index)).into()),
        }
    }
    if condition.missing && (condition.present || condition.greater || condition.less) {
        return Err(Refusal::new(
            "ERR NX and XX, GT or LT options at the same time are not compatible",
        ));
    }
    if condition.greater && condition.less {
        return Err(Refusal::new("ERR GT and LT options at the same time are not compatible"));
    }
    Ok(condition)
}
