//! Real `redis-server` processes, network faults and helper processes for tests, chaos and
//! benchmarks.
//!
//! Everything here blocks and panics: a harness that cannot do its work has nothing to return.
//! What is started is ended on drop, by its own process id, and nothing else is ever touched.
//!
//! * [`RedisServer`]: one server on a free port, with a folder of its own.
//! * [`Cluster`]: several independent masters.
//! * [`SlotCluster`]: a Redis Cluster, whose slots can be moved.
//! * [`Sentinels`]: over one of them and its [replicas](RedisServer::follow).
//! * [`FaultProxy`]: stands before a server and delays, swallows, holds back or resets.
//! * [`WallClocks`]: lets servers' wall clocks be set.
//! * [`Authority`]: signs certificates; a [`TlsPort`] of a server shows one.
//! * [`Actor`]: a helper process that is spoken to by lines and may be killed or frozen.
//!
//! A server starts in some ten milliseconds, so every test has its own. Do not put one in a
//! `static`: statics are never dropped, and the server would stay behind.
//!
//! # Environment
//! * `PALISADE_REDIS_SERVER`: the server's binary, instead of `redis-server` on the `PATH`.
//! * `PALISADE_TRANSPORT`: `unix`, and the URLs of servers are those of unix sockets.
//! * `PALISADE_RULES`: rules of an ACL; URLs of servers are those of a user with these rights alone.
//! * `PALISADE_KEEP_LOGS`: keep the folders of servers even if nothing failed.

mod actor;
mod builder;
mod cluster;
mod port;
mod process;
mod proxy;
mod resp;
mod scratch;
mod sentinels;
mod server;
mod slot_cluster;
mod stats;
mod tls;
mod wall_clock;

pub use actor::Actor;
pub use builder::RedisServerBuilder;
pub use cluster::Cluster;
pub use proxy::{Fault, FaultProxy, Way};
pub use resp::{Connection, Reply};
pub use sentinels::Sentinels;
pub use server::RedisServer;
pub use slot_cluster::SlotCluster;
pub use tls::{Authority, Certificate, TlsPort};
pub use wall_clock::WallClocks;
