//! The functions of the host that scripts and the prelude call.

use std::fmt;
use std::sync::{Arc, Mutex};

use mlua::{Lua, Table, Value, Variadic};

use super::super::locked;
use super::super::resp::{Refusal, Reply};
use super::super::state::EngineState;
use super::convert;

/// Executes one command of a script. It is handed down, since the commands use this room: some of
/// them run scripts.
pub(crate) type Execute = fn(&mut EngineState, &[&[u8]]) -> Reply;

/// What a function of the host raises.
#[derive(Clone, Debug)]
enum Raised {
    /// An error reply, seen by scripts as a table.
    Reply(String),
    /// A plain message, as Lua's own are.
    Message(String),
}

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Reply(text) | Self::Message(text)) = self;
        f.write_str(text)
    }
}

impl std::error::Error for Raised {}

/// The server whose commands are executed: an interpreter may serve one server after another.
pub(super) type CurrentServer = Arc<Mutex<Option<Arc<Mutex<EngineState>>>>>;

/// All of them, by name.
pub(super) fn functions(lua: &Lua, desk: CurrentServer, execute: Execute) -> mlua::Result<Table> {
    let host = lua.create_table()?;
    let shared = Arc::clone(&desk);
    let call = move |lua: &Lua, words: Variadic<Value>| match answer(&shared, execute, &words) {
        Reply::Error(Refusal(text)) => Err(raise(Raised::Reply(text.into_owned()))),
        reply => convert::to_lua(lua, reply),
    };
    let pcall = move |lua: &Lua, words: Variadic<Value>| {
        convert::to_lua(lua, answer(&desk, execute, &words))
    };
    host.raw_set("call", lua.create_function(call)?)?;
    host.raw_set("pcall", lua.create_function(pcall)?)?;
    host.raw_set("log", lua.create_function(log)?)?;
    host.raw_set("sha1hex", lua.create_function(sha1hex)?)?;
    host.raw_set("missing", lua.create_function(missing)?)?;
    host.raw_set("readonly", lua.create_function(readonly)?)?;
    host.raw_set("refuse", lua.create_function(refuse)?)?;
    host.raw_set("caught", lua.create_function(caught)?)?;
    host.raw_set("raised", lua.create_function(raised)?)?;
    Ok(host)
}

/// What one command of a script gets.
fn answer(desk: &CurrentServer, execute: Execute, words: &[Value]) -> Reply {
    if words.is_empty() {
        return Reply::Error(Refusal::new(
            "ERR Please specify at least one argument for this redis lib call",
        ));
    }
    let Some(words) = convert::ArgumentBuffer::of(words) else {
        return Reply::Error(Refusal::new(
            "ERR Lua redis lib command arguments must be strings or integers",
        ));
    };
    let Some(state) = locked(desk).clone() else {
        return Reply::Error(Refusal::new("ERR no server runs this script"));
    };
    execute(&mut locked(&state), &words.slices())
}

fn raise(raised: Raised) -> mlua::Error {
    mlua::Error::external(raised)
}

/// Does nothing but check its arguments.
fn log(_: &Lua, words: Variadic<Value>) -> mlua::Result<()> {
    let refuse = |text: &str| Err(raise(Raised::Reply(format!("ERR {text}"))));
    if words.len() < 2 {
        return refuse("redis.log() requires two arguments or more.");
    }
    match words.first() {
        Some(Value::Integer(0..=3)) => Ok(()),
        Some(Value::Integer(_) | Value::Number(_)) => refuse("Invalid debug level."),
        _ => refuse("First argument must be a number (log level)."),
    }
}

/// Of one value; what is no string counts as empty.
fn sha1hex(_: &Lua, words: Variadic<Value>) -> mlua::Result<String> {
    if words.len() != 1 {
        return Err(raise(Raised::Reply("ERR wrong number of arguments".to_owned())));
    }
    let words = convert::ArgumentBuffer::of(&words).unwrap_or_default();
    Ok(sha1_smol::Sha1::from(words.slices().concat()).digest().to_string())
}

/// A global that is not there has been read.
fn missing(lua: &Lua, (_, name): (Value, Value)) -> mlua::Result<()> {
    let name = convert::to_text(&name);
    let text = format!("Script attempted to access nonexistent global variable '{name}'");
    Err(raise(Raised::Message(located(lua, &text))))
}

/// A global, or a field of a library, has been set.
fn readonly(lua: &Lua, _: Variadic<Value>) -> mlua::Result<()> {
    Err(raise(Raised::Message(located(lua, READONLY))))
}

/// The same by `rawset`, which does not tell the place.
fn refuse(_: &Lua, (): ()) -> mlua::Result<()> {
    Err(raise(Raised::Message(READONLY.to_owned())))
}

const READONLY: &str = "Attempt to modify a readonly table";

/// The message with the place in the script it is about, as Lua begins its own.
fn located(lua: &Lua, text: &str) -> String {
    let line = lua.inspect_stack(1, |frame| frame.current_line()).flatten();
    line.map_or_else(|| text.to_owned(), |line| format!("user_script:{line}: {text}"))
}

/// What a script that catches an error sees: its text, if it has one.
fn caught(lua: &Lua, value: Value) -> mlua::Result<Value> {
    match &value {
        Value::Error(error) => {
            let text =
                error.downcast_ref::<Raised>().map_or_else(|| error.to_string(), Raised::to_string);
            Ok(Value::String(lua.create_string(text)?))
        }
        Value::Table(table) => match table.raw_get::<Value>("err")? {
            Value::String(text) => Ok(Value::String(text)),
            _ => Ok(value),
        },
        _ => Ok(value),
    }
}

/// The handler of what a script does not catch: a table with the error, the source and the line.
fn raised(lua: &Lua, value: Value) -> mlua::Result<Table> {
    let table = match value {
        Value::Table(table) => table,
        Value::Error(error) => {
            let text = match error.downcast_ref::<Raised>() {
                Some(Raised::Reply(text)) => text.clone(),
                Some(Raised::Message(text)) => format!("ERR {text}"),
                None => format!("ERR {error}"),
            };
            lua.create_table_from([("err", text)])?
        }
        other => lua.create_table_from([("err", format!("ERR {}", convert::to_text(&other)))])?,
    };
    // Below this handler, and mlua's entry to it, is the function that raised. Mostly that is one
    // of C or of the prelude, and the place is its caller's.
    if let Some((source, line)) = (2..5).find_map(|level| place(lua, level)) {
        table.raw_set("source", source)?;
        table.raw_set("line", line)?;
    }
    Ok(table)
}

fn place(lua: &Lua, level: usize) -> Option<(String, usize)> {
    lua.inspect_stack(level, |frame| {
        let source = frame.source().source?.into_owned();
        // Of the host's own code, and of C, the place says nothing.
        if source == "@prelude" { None } else { Some((source, frame.current_line()?)) }
    })
    .flatten()
}
