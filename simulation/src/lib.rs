//! A deterministic simulation of palisade's locks: see README.md of this package.
//!
//! One seed decides everything: how many servers and processes there are, what they do, how long
//! every message takes, and what breaks when. The library and the embedded servers are the real
//! ones; the network, the clocks and the callers are not. A run repeats to the last bit.
//!
//! The parts, each using only those before it: `event`, `plan` (what a run is to be), `semaphores` (permits),
//! `latches`, `targets` (the locks), `storm`, `latecomers`, `rights`, `queueing` and `handover` (runs about one thing
//! alone), `failover` (replicas that are promoted), `draw` (what a seed decides), `periods` (jobs that are due once a
//! minute), `guarded` (scripts that a server executes only while a lock is held), `leases` (clients whose longest leases differ), `topic` (which of these), `world` (time and what happens
//! next), `clock`, `coverage` (what was seen) and `log` (what is told), `frame` (what requests say), `nodes` (the
//! servers), `network`, `stream`, `memory` (what is guarded), `waiting` (what waits), `stage` (what all share),
//! `observer` (what is made of the callers' steps), `intent`, `nonsense`, `caller` and `host` (callers without a
//! schedule and with one), `elections` (that processes follow), `process`, `faults`, `run` (all put together).
//! What callers do with a lock is `workload`'s.

mod caller;
mod clock;
mod coverage;
mod crowd;
mod draw;
mod elections;
mod event;
mod failover;
mod faults;
mod frame;
mod guarded;
mod handover;
mod host;
mod intent;
mod latches;
mod latecomers;
mod leases;
mod log;
mod memory;
mod network;
mod nodes;
mod nonsense;
mod observer;
mod overlapping;
mod periods;
mod plan;
mod process;
mod queueing;
mod rights;
mod run;
mod semaphores;
mod stage;
mod storm;
mod stream;
mod targets;
mod topic;
mod waiting;
mod world;

pub use coverage::Coverage;
pub use run::{Options, Outcome, run};
pub use topic::Topic;
