//! The locks that are contended for, as one process sees them.

use std::sync::Arc;

use checkers::history::Kind;
use palisade::{Client, Masters, MultiLock, RedLock, error::ConfigError};
use workload::{Contended, Target, lock_on_all, lock_on_one};

use crate::{
    event::UserId,
    plan::{About, Plan},
};

/// All targets. Clients are in the order of the servers, those of one user before those of the next.
pub(crate) fn all(clients: &[Client], plan: &Plan) -> Result<Vec<Target>, ConfigError> {
    let mut targets = Vec::new();
    for (user, clients) in clients.chunks(plan.nodes.len()).enumerate() {
        targets.extend(of_user(user, clients, plan)?);
    }
    Ok(targets)
}

/// What those locks of a user are called whose keys have their name.
pub(crate) fn names(user: UserId, plan: &Plan) -> Vec<&'static str> {
    locks(user, plan).into_iter().map(|(_, _, name)| name).collect()
}

fn of_user(user: UserId, clients: &[Client], plan: &Plan) -> Result<Vec<Target>, ConfigError> {
    let masters = Masters::new(clients.iter().cloned())?;
    let node = plan.home();
    let mut targets = Vec::new();
    let Some(client) = clients.get(node) else { return Ok(targets) };
    if plan.about == About::Sharing {
        return shared(clients, client, node);
    }
    for (kind, fenced, name) in locks(user, plan) {
        let (on, lock) = match kind {
            Kind::Lock => (vec![node], lock_on_one(client, fenced, name)),
            _ => (Vec::new(), lock_on_all(&masters, kind, fenced, name)),
        };
        targets.push(Target { name, kind, on, shared: false, lock });
    }
    if plan.about != About::Everything {
        return Ok(targets);
    }
    // Any two of these have `b` in common.
    for names in [["a", "b"], ["c", "b"]] {
        let members = names.iter().map(|name| client.lock(name));
        let lock = Arc::new(MultiLock::new(members)?);
        let (kind, on) = (Kind::MultiLock, vec![node]);
        targets.push(Target { name: "pair", kind, on, shared: false, lock });
    }
    Ok(targets)
}

/// The name of one lock of each kind.
pub(crate) fn of_all_kinds() -> [&'static str; 6] {
    LOCKS.map(|(_, _, name)| name)
}

/// The names of all locks of others than this user.
pub(crate) fn names_of_others(user: UserId, plan: &Plan) -> Vec<&'static str> {
    let others = (0..plan.users()).filter(|other| *other != user);
    others.flat_map(|other| names(other, plan)).collect()
}

type Named = (Kind, bool, &'static str);

fn locks(user: UserId, plan: &Plan) -> Vec<Named> {
    let only = |wanted| LOCKS.into_iter().filter(|(_, _, name)| *name == wanted).collect();
    match plan.about {
        About::Everything => LOCKS.to_vec(),
        About::Tokens => only("fenced-red"),
        About::LostData => only("red"),
        About::Handover { lock, .. } => only(lock),
        // No two users have a lock in common: what the one may not release would keep the other waiting.
        About::Sharing => SHARED.to_vec(),
        About::Rights => OF_USERS.get(user).map(|locks| locks.to_vec()).unwrap_or_default(),
    }
}

/// The sides of locks that are read and written; to read comes twice, for readers to meet.
fn shared(clients: &[Client], client: &Client, node: usize) -> Result<Vec<Target>, ConfigError> {
    let mut targets = Vec::new();
    for (kind, _, name) in SHARED {
        let on = if kind == Kind::Lock { vec![node] } else { Vec::new() };
        for is_shared in [true, true, false] {
            let of_one = |client: &Client| client.rw_lock(name);
            let lock: Arc<dyn Contended> = match (kind, is_shared) {
                (Kind::Lock, true) => Arc::new(of_one(client).read()),
                (Kind::Lock, false) => Arc::new(of_one(client).write()),
                (Kind::RedLock, true) => {
                    Arc::new(RedLock::new(clients.iter().map(|one| of_one(one).read()))?)
                }
                (Kind::RedLock, false) => {
                    Arc::new(RedLock::new(clients.iter().map(|one| of_one(one).write()))?)
                }
                (Kind::MultiLock, true) => {
                    Arc::new(MultiLock::new(clients.iter().map(|one| of_one(one).read()))?)
                }
                (Kind::MultiLock, false) => {
                    Arc::new(MultiLock::new(clients.iter().map(|one| of_one(one).write()))?)
                }
            };
            targets.push(Target { name, kind, on: on.clone(), shared: is_shared, lock });
        }
    }
    Ok(targets)
}

/// Those with readers.
const SHARED: [Named; 3] = [
    (Kind::RedLock, false, "shared-red"),
    (Kind::MultiLock, false, "shared-multi"),
    (Kind::Lock, false, "shared-single"),
];

/// Each kind, plain and fenced.
const LOCKS: [Named; 6] = [
    (Kind::RedLock, false, "red"),
    (Kind::MultiLock, false, "multi"),
    (Kind::Lock, false, "single"),
    (Kind::RedLock, true, "fenced-red"),
    (Kind::MultiLock, true, "fenced-multi"),
    (Kind::Lock, true, "fenced-single"),
];

/// Those of each of two users, most of them on one server.
const OF_USERS: [[Named; 5]; 2] = [
    [
        (Kind::RedLock, false, "red"),
        (Kind::MultiLock, false, "multi"),
        (Kind::Lock, false, "single"),
        (Kind::Lock, false, "other-single"),
        (Kind::Lock, true, "fenced-single"),
    ],
    [
        (Kind::RedLock, false, "their-red"),
        (Kind::MultiLock, false, "their-multi"),
        (Kind::Lock, false, "their-single"),
        (Kind::Lock, false, "their-other-single"),
        (Kind::Lock, true, "their-fenced-single"),
    ],
];
