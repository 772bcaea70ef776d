//! The harness, tried on real servers.

mod actor;
mod cluster;
mod proxy;
mod server;
mod slot_cluster;
