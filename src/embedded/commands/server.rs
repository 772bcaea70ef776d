//! The server as a whole: its time, its settings, its role.

use super::super::glob;
use super::super::resp::{CommandResult, Refusal, Reply};
use super::super::stats::Stats;
use super::{Args, Invocation, Spec};

pub(super) const SPECS: &[Spec] = &[
    Spec::container("config").not_in_scripts(),
    Spec::command("config|get", -3, config_get).not_in_scripts(),
    Spec::command("config|resetstat", 2, config_resetstat).not_in_scripts(),
    Spec::command("config|set", -4, config_set).not_in_scripts(),
    Spec::command("role", 1, role).not_in_scripts(),
    Spec::command("time", 1, time),
    Spec::command("wait", 3, wait).not_in_scripts(),
];

fn time(call: &mut Invocation<'_>, _: Args<'_>) -> CommandResult {
    let unix_us = call.state.clock.unix_us();
    let parts = [unix_us.div_euclid(1_000_000), unix_us.rem_euclid(1_000_000)];
    Ok(Reply::bulks(parts.map(|part| part.to_string())))
}

fn role(_: &mut Invocation<'_>, _: Args<'_>) -> CommandResult {
    Ok(Reply::Array(vec![Reply::bulk("master"), Reply::Integer(0), Reply::Array(Vec::new())]))
}

/// There are no replicas to wait for, so it does not wait.
fn wait(_: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    args.integer(1)?;
    let unreadable = Refusal::new("ERR timeout is not an integer or out of range");
    let timeout = args.integer_or(2, unreadable)?;
    if timeout < 0 {
        return Err(Refusal::new("ERR timeout is negative"));
    }
    Ok(Reply::Integer(0))
}

fn config_get(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    let patterns: Vec<_> = args.from(2).iter().map(|word| word.to_ascii_lowercase()).collect();
    let wanted =
        |name: &str| patterns.iter().any(|pattern| glob::matches(pattern, name.as_bytes()));
    let known = call.state.config.iter().filter(|(name, _)| wanted(name));
    let items = known.flat_map(|(name, value)| [Reply::bulk(*name), Reply::bulk(value.clone())]);
    Ok(Reply::Map(items.collect()))
}

/// Remembers settings. None of them changes what the server does.
fn config_set(call: &mut Invocation<'_>, args: Args<'_>) -> CommandResult {
    if !args.len().is_multiple_of(2) {
        return Err(Refusal::SYNTAX);
    }
    let mut settings = Vec::new();
    for (given, value) in args.pairs(2) {
        let given = String::from_utf8_lossy(given);
        let name = given.to_ascii_lowercase();
        let known = call.state.config.keys().find(|known| **known == name).copied();
        let known = known.ok_or_else(|| {
            format!("ERR Unknown option or number of arguments for CONFIG SET - '{given}'")
        })?;
        settings.push((known, checked(known, value)?));
    }
    call.state.config.extend(settings);
    Ok(Reply::OK)
}

fn checked(name: &str, value: &[u8]) -> Result<String, Refusal> {
    let value = String::from_utf8_lossy(value).into_owned();
    if name != "maxmemory" {
        return Ok(value);
    }
    bytes(&value).map(|bytes| bytes.to_string()).ok_or_else(|| {
        let failed = format!("ERR CONFIG SET failed (possibly related to argument '{name}')");
        Refusal::from(format!("{failed} - argument must be a memory value"))
    })
}

/// A size with its unit.
fn bytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text.get(digits.len()..)?.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" => 1000,
        "kb" => 1 << 10,
        "m" => 1_000_000,
        "mb" => 1 << 20,
        "g" => 1_000_000_000,
        "gb" => 1 << 30,
        _ => return None,
    };
    // C reads no digits as zero.
    let number = if digits.is_empty() { 0 } else { digits.parse::<u64>().ok()? };
    number.checked_mul(unit)
}

fn config_resetstat(call: &mut Invocation<'_>, _: Args<'_>) -> CommandResult {
    call.state.stats = Stats::default();
    Ok(Reply::OK)
}
