//! The locks that are contended for, as one process sees them.

use std::sync::Arc;

use checkers::history::Kind;
use palisade::{Client, Masters, MultiLock, error::ConfigError};
use workload::{Target, lock_on_all, lock_on_one};

use crate::plan::{About, Plan};

/// All targets. Clients are in the order of the servers.
pub(crate) fn all(clients: &[Client], plan: &Plan) -> Result<Vec<Target>, ConfigError> {
    let masters = Masters::new(clients.iter().cloned())?;
    let node = usize::try_from(plan.seed % plan.nodes.len() as u64).unwrap_or(0);
    let mut targets = Vec::new();
    let Some(client) = clients.get(node) else { return Ok(targets) };
    for (kind, fenced, name) in LOCKS {
        let (on, lock) = match kind {
            Kind::Lock => (vec![node], lock_on_one(client, fenced, name)),
            _ => (Vec::new(), lock_on_all(&masters, kind, fenced, name)),
        };
        targets.push(Target { name, kind, on, lock });
    }
    // Any two of these have `b` in common.
    for names in [["a", "b"], ["c", "b"]] {
        let members = names.iter().map(|name| client.lock(name));
        let lock = Arc::new(MultiLock::new(members)?);
        targets.push(Target { name: "pair", kind: Kind::MultiLock, on: vec![node], lock });
    }
    match plan.about {
        About::Everything => {}
        About::Tokens => targets.retain(|target| target.name == "fenced-red"),
        About::LostData => targets.retain(|target| target.name == "red"),
    }
    Ok(targets)
}

/// Each kind, plain and fenced.
const LOCKS: [(Kind, bool, &str); 6] = [
    (Kind::RedLock, false, "red"),
    (Kind::MultiLock, false, "multi"),
    (Kind::Lock, false, "single"),
    (Kind::RedLock, true, "fenced-red"),
    (Kind::MultiLock, true, "fenced-multi"),
    (Kind::Lock, true, "fenced-single"),
];
