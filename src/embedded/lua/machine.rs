//! The interpreter: a sandbox in which scripts are compiled and run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use mlua::chunk::ChunkMode;
use mlua::{Function, Lua, LuaOptions, StdLib, Table, Value};

use super::super::locked;
use super::super::resp::Refusal;
use super::super::state::EngineState;
use super::host::{CurrentServer, Execute};
use super::{convert, host};

/// The name under which scripts appear in messages.
const SCRIPT_NAME: &str = "@user_script";

#[derive(Debug)]
pub(super) struct Machine {
    lua: Lua,
    desk: CurrentServer,
    /// What it has compiled, by source: the digest and the function.
    compiled: BTreeMap<Vec<u8>, (String, Function)>,
    /// What scripts see as their globals: reads fall through to `visible`, writes are refused.
    environment: Table,
    /// The globals themselves, KEYS and ARGV among them.
    visible: Table,
    /// Calls a script and turns what it raises into a table.
    runner: Function,
}

/// Why a script ended early.
#[derive(Debug, Default)]
pub(super) struct Failure {
    pub(super) text: String,
    /// Source and line.
    pub(super) place: Option<String>,
}

impl Machine {
    pub(super) fn new(state: Arc<Mutex<EngineState>>, execute: Execute) -> mlua::Result<Self> {
        let libraries = StdLib::STRING | StdLib::TABLE | StdLib::MATH;
        // Scripts get a `pcall` of ours; mlua's own wrapper would only cost time.
        let lua = Lua::new_with(libraries, LuaOptions::new().catch_rust_panics(false))?;
        let desk: CurrentServer = Arc::new(Mutex::new(Some(state)));
        let host = host::functions(&lua, Arc::clone(&desk), execute)?;
        let prelude = lua.load(include_str!("prelude.lua")).set_name("@prelude");
        let (environment, visible, runner) = prelude.call(host)?;
        let compiled = BTreeMap::new();
        Ok(Self { lua, desk, compiled, environment, visible, runner })
    }

    /// From now on its scripts' commands are executed there, if anywhere.
    pub(super) fn serve(&self, state: Option<Arc<Mutex<EngineState>>>) {
        *locked(&self.desk) = state;
    }

    /// How many scripts it has compiled.
    pub(super) fn knows(&self) -> usize {
        self.compiled.len()
    }

    /// Compiles a script, unless it has done so before; its digest, and what runs.
    pub(super) fn load(&mut self, source: &[u8]) -> Result<(String, Function), Refusal> {
        if let Some(known) = self.compiled.get(source) {
            return Ok(known.clone());
        }
        let digest = sha1_smol::Sha1::from(source).digest().to_string();
        let compiled = (digest, self.compile(source)?);
        self.compiled.insert(source.to_vec(), compiled.clone());
        Ok(compiled)
    }

    fn compile(&self, source: &[u8]) -> Result<Function, Refusal> {
        let chunk = self.lua.load(source).set_name(SCRIPT_NAME).set_mode(ChunkMode::Text);
        chunk.set_environment(self.environment.clone()).into_function().map_err(|error| {
            let message = match error {
                mlua::Error::SyntaxError { message, .. } => message,
                other => other.to_string(),
            };
            Refusal::from(format!("ERR Error compiling script (new function): {message}"))
        })
    }

    pub(super) fn run(
        &self,
        script: &Function,
        keys: &[&[u8]],
        argv: &[&[u8]],
    ) -> Result<Value, Failure> {
        let outcome = self.call(script, keys, argv);
        let (finished, value) = outcome.map_err(|error| Failure::of_error(&error))?;
        if finished { Ok(value) } else { Err(Failure::of_value(&value)) }
    }

    fn call(
        &self,
        script: &Function,
        keys: &[&[u8]],
        argv: &[&[u8]],
    ) -> mlua::Result<(bool, Value)> {
        self.visible.raw_set("KEYS", self.words(keys)?)?;
        self.visible.raw_set("ARGV", self.words(argv)?)?;
        self.runner.call(script)
    }

    fn words(&self, words: &[&[u8]]) -> mlua::Result<Table> {
        let table = self.lua.create_table_with_capacity(words.len(), 0)?;
        for word in words {
            table.raw_push(self.lua.create_string(word)?)?;
        }
        Ok(table)
    }
}

impl Failure {
    /// Lua itself has failed, not the script: it is out of memory, or of stack in the handler.
    fn of_error(error: &mlua::Error) -> Self {
        Self { text: format!("ERR {error}"), place: None }
    }

    /// From what the handler has made of the error.
    fn of_value(value: &Value) -> Self {
        let Value::Table(table) = value else {
            return Self { text: format!("ERR {}", convert::to_text(value)), place: None };
        };
        let text = table.raw_get::<Value>("err").ok();
        let source = table.raw_get::<String>("source").ok();
        let line = table.raw_get::<i64>("line").ok();
        Self {
            text: match text {
                Some(Value::String(text)) => text.to_string_lossy(),
                _ => "ERR Error running script".to_owned(),
            },
            place: source.zip(line).map(|(source, line)| format!("{source}:{line}")),
        }
    }
}
