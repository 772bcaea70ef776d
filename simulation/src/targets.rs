//! The locks that are contended for, as one process sees them.

use std::sync::Arc;

use checkers::history::Kind;
use palisade::{Client, Masters, Member, MultiLock, error::ConfigError};
use workload::{Contended, Target, campaign, lock_on_all, lock_on_one, side};

use crate::{
    event::UserId,
    guarded, overlapping,
    plan::{About, Plan},
    semaphores,
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
    if let Some(election) = election(clients, plan)? {
        return Ok(vec![election]);
    }
    if plan.about == About::Sharing {
        return shared(clients, std::slice::from_ref(client), node);
    }
    if matches!(plan.about, About::Latches | About::Periods { .. }) {
        return Ok(targets);
    }
    if plan.about == About::Overlapping {
        return overlapping::all(clients, node);
    }
    if plan.about == About::Permits {
        return Ok(semaphores::of(client, plan));
    }
    for (kind, fenced, name) in locks(user, plan) {
        let (on, lock): (_, Arc<dyn Contended>) = match kind {
            Kind::Lock if plan.about == About::Queueing => {
                (vec![node], Arc::new(client.fair_lock(name)))
            }
            _ if plan.about == About::Queueing => {
                let members = clients.iter().map(|client| client.fair_lock(name));
                (Vec::new(), Arc::new(MultiLock::new(members)?))
            }
            Kind::Lock => (vec![node], lock_on_one(client, fenced, name)),
            _ => (Vec::new(), lock_on_all(&masters, kind, fenced, name)),
        };
        targets.push(Target {
            name,
            kind,
            on,
            shared: false,
            share: None,
            queued: plan.about == About::Queueing && kind == Kind::Lock,
            keys: Vec::new(),
            lock,
        });
    }
    for lock in pairs(client, plan.about)? {
        let (kind, on) = (Kind::MultiLock, vec![node]);
        targets.push(Target {
            name: "pair",
            kind,
            on,
            shared: false,
            share: None,
            queued: false,
            keys: Vec::new(),
            lock,
        });
    }
    Ok(targets)
}

/// Any two of these have `b` in common.
fn pairs(client: &Client, about: About) -> Result<Vec<Arc<dyn Contended>>, ConfigError> {
    let plain = |names: [&str; 2]| MultiLock::new(names.map(|name| client.lock(name)));
    let fair = |name| Member::from(client.fair_lock(name));
    Ok(match about {
        About::Everything => vec![Arc::new(plain(["a", "b"])?), Arc::new(plain(["c", "b"])?)],
        About::Queueing => vec![
            Arc::new(MultiLock::new([fair("a"), fair("b")])?),
            Arc::new(MultiLock::new([client.lock("c").into(), fair("b")])?),
            // A caller may stand in the same queue for nothing else. Then the others keep the lock while they ask
            // for more: so it is one of theirs.
            Arc::new(client.fair_lock("b")),
        ],
        _ => Vec::new(),
    })
}

/// The one lock of a run about elections.
fn election(clients: &[Client], plan: &Plan) -> Result<Option<Target>, ConfigError> {
    let (About::Elections { kind }, Some(home)) = (plan.about, clients.get(plan.home())) else {
        return Ok(None);
    };
    let name = name_of(kind, true);
    let masters = Masters::new(clients.iter().cloned())?;
    let lock = campaign(&masters, home, kind, name);
    let on = if kind == Kind::Lock { vec![plan.home()] } else { Vec::new() };
    let (shared, share, queued, keys) = (false, None, false, Vec::new());
    Ok(Some(Target { name, kind, on, shared, share, queued, keys, lock }))
}

/// The name of one lock of each kind.
pub(crate) fn of_all_kinds() -> [&'static str; 6] {
    LOCKS.map(|(_, _, name)| name)
}

/// The name of the lock of a kind.
pub(crate) fn name_of(kind: Kind, fenced: bool) -> &'static str {
    let named = LOCKS.iter().find(|(it, is_fenced, _)| (*it, *is_fenced) == (kind, fenced));
    named.map_or("single", |(_, _, name)| name)
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
        About::LostData | About::Leases => only("red"),
        About::Guarded => only(guarded::LOCK),
        About::Handover { lock, .. } => only(lock),
        // No two users have a lock in common: what the one may not release would keep the other waiting.
        About::Sharing => SHARED.to_vec(),
        About::Queueing => QUEUED.to_vec(),
        About::Latches | About::Overlapping | About::Periods { .. } | About::Elections { .. } => {
            Vec::new()
        }
        About::Permits => semaphores::NAMES.map(|name| (Kind::Lock, false, name)).to_vec(),
        About::Rights => OF_USERS.get(user).map(|locks| locks.to_vec()).unwrap_or_default(),
    }
}

/// The sides of locks that are read and written; to read comes twice, for readers to meet.
fn shared(clients: &[Client], home: &[Client], node: usize) -> Result<Vec<Target>, ConfigError> {
    let mut targets = Vec::new();
    for (kind, _, name) in SHARED {
        let on = if kind == Kind::Lock { vec![node] } else { Vec::new() };
        for is_shared in [true, true, false] {
            let lock =
                side(if kind == Kind::Lock { home } else { clients }, kind, is_shared, name)?;
            targets.push(Target {
                name,
                kind,
                on: on.clone(),
                shared: is_shared,
                share: None,
                queued: false,
                keys: Vec::new(),
                lock,
            });
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

/// Fair ones, by themselves and on all servers.
const QUEUED: [Named; 3] = [
    (Kind::Lock, false, "fair"),
    (Kind::Lock, false, "other-fair"),
    (Kind::MultiLock, false, "fair-multi"),
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
