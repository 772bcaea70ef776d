//! One deployment as one vote: connections that are made again, and calls with a deadline.
//!
//! A [`Node`] is one server (`master`) or a cluster of them (`cluster`). Each server has a `link` for every runtime
//! that calls it: the task of a link makes a socket (`opening`) and makes it again when it is lost.
//!
//! ```text
//! Node ─┬─ Master ─┬── Link per runtime ── Connection (socket)
//!       │          ├── the same once more, for calls so large that others would wait behind them
//!       │          └─ Replicas: what they have, asked on a socket of their own
//!       └─ Cluster: slot map ── Master per place, each as above
//!
//! a call: connection ─► call ─► answered
//!              ▲          └──── redirect, a broken socket ─► NextSocket: again, if nothing was executed
//!              └───────────────────────────────────────────────┘
//! ```
//!
//! The states of a link are drawn in `link`.
//!
//! # Invariants
//! - A link belongs to one runtime. Its tasks run there; when that ends they are dropped, and the
//!   link takes itself out of the list.
//! - The tasks hold the `Core`, never the `Node`: the last `Node` that drops ends them.
//! - A call goes out again only where its first socket says that nothing was executed, or where the caller has
//!   said that twice is once (`next_socket`, `redirect`).
//! - A server that was cut off from its cluster, or has left it, does not say where a slot is (`chosen`). Slots whose
//!   keys were lost with their master grant nothing for a time (`covered`).
//! - What replicas have is known only of the run and the data that granted (`replicas`).
//!
//! # Deadlock safety
//! The list of links is locked for look-ups only. Nothing is spawned under that lock: a runtime
//! that is shutting down drops the new task at once, and that takes the lock.
//!
//! # What proves them
//! `tests` here, against real servers, and tables at the end of `chosen`, `covered`, `slot_map`, `redirect`,
//! `next_socket`, `batches` and `host`. In `tests/it/deployment`: `cluster`, `moving_slots`, `promoted`, `replicas`,
//! `failover`, `cut_off`. Planted bugs: `broken-socket-not-retried`, `batch-not-halved`, `moved-sent-blindly`.
//!
//! # To change…
//! - what is done on a new socket: `opening`; when it is given up: `link`
//! - when a call goes out again: `next_socket`; what a cluster's words mean: `redirect`
//! - how the master of a slot is found: `cluster`, `cluster_look`, `chosen`
//! - how renewals share calls: `batches`
//! - what a server says of its data: `survey`; what replicas confirm: `replicas`

mod batches;
mod chosen;
mod cluster;
mod cluster_look;
mod covered;
mod deployment;
mod host;
mod link;
mod login;
mod master;
mod next_socket;
mod node_core;
mod opening;
mod redirect;
mod replicas;
mod slot_map;
mod survey;
#[cfg(test)]
pub(crate) mod test_server;
#[cfg(test)]
mod tests;

pub(crate) use self::{
    batches::{BatchAnswer, BatchItem},
    cluster::Cluster,
    deployment::Node,
    next_socket::NextSocket,
    node_core::{Core, Resident},
    opening::{OpenedPubSub, PubSubDriver, Upkeep},
    redirect::Redirect,
    replicas::Lookout,
};
