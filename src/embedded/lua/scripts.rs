//! The script cache, and how a script is run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::super::locked;
use super::super::resp::{Outcome, Refusal, Reply};
use super::super::state::{Caller, State};
use super::convert;
use super::machine::{Failure, Machine};

/// All that a server knows of Lua. The interpreter is made when it is first needed.
#[derive(Debug)]
pub(crate) struct Scripts {
    state: Arc<Mutex<State>>,
    machine: Option<Machine>,
    compiled: BTreeMap<String, mlua::Function>,
}

impl Scripts {
    /// `state` must not be locked while a script runs: the script's calls lock it.
    pub(crate) fn new(state: Arc<Mutex<State>>) -> Self {
        Self { state, machine: None, compiled: BTreeMap::new() }
    }

    pub(crate) fn contains(&self, sha: &str) -> bool {
        self.compiled.contains_key(sha)
    }

    /// Forgets everything, the interpreter too, so that nothing lives on from before.
    pub(crate) fn flush(&mut self) {
        self.compiled.clear();
        self.machine = None;
    }

    /// Compiles a script, unless it is known; its digest.
    pub(crate) fn load(&mut self, source: &[u8]) -> Result<String, Refusal> {
        let sha = sha1_smol::Sha1::from(source).digest().to_string();
        if !self.contains(&sha) {
            let script = self.machine()?.compile(source)?;
            self.compiled.insert(sha.clone(), script);
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
    ) -> Outcome {
        locked(&self.state).script = caller;
        let (Some(machine), Some(script)) = (&self.machine, self.compiled.get(sha)) else {
            return Err(Refusal::new("NOSCRIPT No matching script. Please use EVAL."));
        };
        let (keys, argv) = words.split_at_checked(keys).unwrap_or((words, &[]));
        match machine.run(script, keys, argv) {
            Ok(value) => Ok(convert::to_reply(&value)),
            Err(failure) => Err(report(failure, sha)),
        }
    }

    fn machine(&mut self) -> Result<&Machine, Refusal> {
        if self.machine.is_none() {
            let machine = Machine::new(Arc::clone(&self.state))
                .map_err(|error| format!("ERR cannot start Lua: {error}"))?;
            self.machine = Some(machine);
        }
        self.machine.as_ref().ok_or(Refusal::new("ERR cannot start Lua"))
    }
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
