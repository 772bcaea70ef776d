//! The script cache, and how a script is run.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::super::locked;
use super::super::resp::{CommandResult, Refusal, Reply};
use super::super::state::{Caller, EngineState};
use super::convert;
use super::host::Execute;
use super::machine::{Failure, Machine};

/// All that a server knows of Lua. The interpreter is made when it is first needed.
#[derive(Debug)]
pub(crate) struct Scripts {
    state: Arc<Mutex<EngineState>>,
    execute: Execute,
    machine: Option<Machine>,
    /// What this server was told, by digest.
    loaded: BTreeMap<String, mlua::Function>,
    /// Whether the interpreter may serve another server afterwards, and came from one.
    handed_on: bool,
}

impl Scripts {
    /// `state` must not be locked while a script runs: the script's calls lock it.
    ///
    /// `execute` is for the commands of scripts, and the same for all servers.
    ///
    /// If interpreters are `handed_on`, one that a server of this thread has left is taken, with all
    /// that it has compiled: scripts must then leave nothing behind but in the data.
    pub(crate) fn new(state: Arc<Mutex<EngineState>>, execute: Execute, handed_on: bool) -> Self {
        Self { state, execute, machine: None, loaded: BTreeMap::new(), handed_on }
    }

    pub(crate) fn contains(&self, sha: &str) -> bool {
        self.loaded.contains_key(sha)
    }

    /// Forgets everything, the interpreter too, so that nothing lives on from before.
    pub(crate) fn flush(&mut self) {
        self.loaded.clear();
        self.leave();
    }

    /// Compiles a script, unless it is known; its digest.
    pub(crate) fn load(&mut self, source: &[u8]) -> Result<String, Refusal> {
        let (sha, script) = self.machine()?.load(source)?;
        if !self.contains(&sha) {
            self.loaded.insert(sha.clone(), script);
        }
        Ok(sha)
    }

    /// Runs a loaded script: the first `keys` words are KEYS, the others ARGV.
    pub(crate) fn run(
        &mut self,
        sha: &str,
        caller: Caller,
        keys: usize,
        words: &[&[u8]],
    ) -> CommandResult {
        locked(&self.state).script = caller;
        let (Some(machine), Some(script)) = (&self.machine, self.loaded.get(sha)) else {
            return Err(Refusal::new("NOSCRIPT No matching script. Please use EVAL."));
        };
        let (keys, argv) = words.split_at_checked(keys).unwrap_or((words, &[]));
        match machine.run(script, keys, argv) {
            Ok(value) => Ok(convert::to_reply(&value)),
            Err(failure) => Err(report(failure, sha)),
        }
    }

    fn machine(&mut self) -> Result<&mut Machine, Refusal> {
        if self.machine.is_none() {
            let left = self.handed_on.then(|| LEFT.with_borrow_mut(Vec::pop)).flatten();
            let machine = match left {
                Some(machine) => {
                    machine.serve(Some(Arc::clone(&self.state)));
                    machine
                }
                None => Machine::new(Arc::clone(&self.state), self.execute)
                    .map_err(|error| format!("ERR cannot start Lua: {error}"))?,
            };
            self.machine = Some(machine);
        }
        self.machine.as_mut().ok_or(Refusal::new("ERR cannot start Lua"))
    }

    /// Gives the interpreter up, to the next server if it may have it.
    fn leave(&mut self) {
        let is_handed_on = |machine: &Machine| self.handed_on && machine.knows() < MANY;
        let Some(machine) = self.machine.take().filter(is_handed_on) else { return };
        machine.serve(None);
        // A thread that is ending keeps nothing.
        let _kept = LEFT.try_with(|left| left.borrow_mut().push(machine));
    }
}

impl Drop for Scripts {
    fn drop(&mut self) {
        self.loaded.clear();
        self.leave();
    }
}

/// What an interpreter has compiled stays with it: texts that name one run would gather for ever.
const MANY: usize = 500;

thread_local! {
    /// Interpreters without a server.
    static LEFT: RefCell<Vec<Machine>> = const { RefCell::new(Vec::new()) };
}

/// The error reply: what was raised, by which script, and where.
fn report(failure: Failure, sha: &str) -> Refusal {
    let mut text = failure.text;
    if let Some(place) = failure.place {
        text.push_str(&format!(" script: {sha}, on {place}."));
    }
    Refusal::from(text)
}

impl From<Refusal> for Reply {
    fn from(refusal: Refusal) -> Self {
        Self::Error(refusal)
    }
}
