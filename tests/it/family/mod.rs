//! What all kinds have to bear alike.

mod clocks;
mod cluster;
mod crowd;
mod names;
mod owners;
mod rights;
mod runtimes;
mod self_deadlocks;
mod storm;
mod turns;
mod wishes;
