//! Values between Lua and the protocol, by Redis' rules: what has no counterpart changes.

use mlua::{Lua, Table, Value};

use super::super::number;
use super::super::resp::{Refusal, Reply};

/// The words of a command that a script calls, one behind the other.
#[derive(Debug, Default)]
pub(super) struct ArgumentBuffer {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl ArgumentBuffer {
    /// Only strings and numbers can be sent.
    pub(super) fn of(values: &[Value]) -> Option<Self> {
        let mut words =
            Self { bytes: Vec::with_capacity(128), ends: Vec::with_capacity(values.len()) };
        for value in values {
            match value {
                Value::String(text) => words.bytes.extend_from_slice(&text.as_bytes()),
                number => {
                    words.bytes.extend_from_slice(number::show(to_number(number)?).as_bytes())
                }
            }
            words.ends.push(words.bytes.len());
        }
        Some(words)
    }

    pub(super) fn slices(&self) -> Vec<&[u8]> {
        let mut start = 0;
        let mut slices = Vec::with_capacity(self.ends.len());
        for end in &self.ends {
            slices.push(self.bytes.get(start..*end).unwrap_or_default());
            start = *end;
        }
        slices
    }
}

/// In Lua 5.1 every number is a double.
fn to_number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(number) => Some(*number as f64),
        Value::Number(number) => Some(*number),
        _ => None,
    }
}

/// Nil becomes false; statuses and errors become tables; other types look as in RESP2.
pub(super) fn to_lua(lua: &Lua, reply: Reply) -> mlua::Result<Value> {
    Ok(match reply {
        Reply::Status(text) => field(lua, "ok", &text)?,
        Reply::Error(Refusal(text)) => field(lua, "err", &text)?,
        Reply::Integer(value) => Value::Number(integer_to_double(value)),
        Reply::Bulk(bytes) | Reply::BigNumber(bytes) => Value::String(lua.create_string(bytes)?),
        Reply::Nil | Reply::NilArray => Value::Boolean(false),
        Reply::Double(value) => Value::String(lua.create_string(number::show(value))?),
        Reply::Verbatim(text) => Value::String(lua.create_string(text)?),
        Reply::Array(items)
        | Reply::Map(items)
        | Reply::Set(items)
        | Reply::Push(items)
        | Reply::Several(items) => array(lua, items)?,
        Reply::Scored(pairs) => {
            let flat = pairs
                .into_iter()
                .flat_map(|(member, score)| [Reply::Bulk(member), Reply::Double(score)]);
            array(lua, flat.collect())?
        }
    })
}

/// In Lua 5.1 every number is a double.
fn integer_to_double(value: i64) -> f64 {
    value as f64
}

fn field(lua: &Lua, name: &str, text: &str) -> mlua::Result<Value> {
    lua.create_table_from([(name, text)]).map(Value::Table)
}

fn array(lua: &Lua, items: Vec<Reply>) -> mlua::Result<Value> {
    let table = lua.create_table_with_capacity(items.len(), 0)?;
    for item in items {
        table.raw_push(to_lua(lua, item)?)?;
    }
    Ok(Value::Table(table))
}

/// How deep a script's tables may be nested in its reply.
const DEPTH: usize = 100;

/// What a script has returned, as its reply.
pub(super) fn to_reply(value: &Value) -> Reply {
    nested(value, DEPTH)
}

fn nested(value: &Value, depth: usize) -> Reply {
    match value {
        Value::String(text) => Reply::bulk(&*text.as_bytes()),
        Value::Integer(number) => Reply::Integer(*number),
        Value::Number(number) => Reply::Integer(truncate(*number)),
        Value::Boolean(true) => Reply::Integer(1),
        Value::Table(_) if depth == 0 => Reply::Error(Refusal::new("ERR reached lua stack limit")),
        Value::Table(table) => table_to_reply(table, depth - 1),
        _ => Reply::Nil,
    }
}

/// A double to an integer as C does it on x86: what does not fit becomes the least one.
fn truncate(number: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&number) { number as i64 } else { i64::MIN }
}

fn table_to_reply(table: &Table, depth: usize) -> Reply {
    let named = |name: &str| table.raw_get::<Value>(name).unwrap_or(Value::Nil);
    if let Value::String(text) = named("err") {
        let text = text.to_string_lossy();
        return Reply::Error(text.trim_end_matches(['\r', '\n']).to_owned().into());
    }
    if let Value::String(text) = named("ok") {
        return Reply::Status(text.to_string_lossy().into());
    }
    if let Some(number) = to_number(&named("double")) {
        return Reply::Double(number);
    }
    if let Value::Table(pairs) = named("map") {
        return Reply::Map(entries(&pairs, depth, true));
    }
    if let Value::Table(members) = named("set") {
        return Reply::Set(entries(&members, depth, false));
    }
    if let Value::String(digits) = named("big_number") {
        let digits = digits.to_string_lossy().replace(['\r', '\n'], " ");
        return Reply::BigNumber(digits.into_bytes());
    }
    Reply::Array(sequence(table, depth))
}

/// The keys of a table, each with its value if wanted. Their order is Lua's.
fn entries(table: &Table, depth: usize, values: bool) -> Vec<Reply> {
    let mut items = Vec::new();
    for (key, value) in table.pairs::<Value, Value>().flatten() {
        items.push(nested(&key, depth));
        if values {
            items.push(nested(&value, depth));
        }
    }
    items
}

/// The elements from 1 on, up to the first that is nil.
fn sequence(table: &Table, depth: usize) -> Vec<Reply> {
    let mut items = Vec::new();
    for index in 1.. {
        match table.raw_get::<Value>(index) {
            Ok(Value::Nil) | Err(_) => break,
            Ok(item) => items.push(nested(&item, depth)),
        }
    }
    items
}

/// Any value as text for a message.
pub(super) fn to_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string_lossy(),
        other => other.to_string().unwrap_or_else(|_| other.type_name().to_owned()),
    }
}
