//! Where servers are, and how they are reached.

pub(crate) mod cluster;
mod credentials;
mod cut_off;
mod failover;
mod in_turn;
mod managed;
mod moving_slots;
mod promoted;
mod replicas;
mod replicas_of_cluster;
pub(crate) mod rights;
pub(crate) mod sentinel;
mod sentinel_numbers;
mod settings;
mod sharded;
mod strangers;
mod tls;
mod unix;

pub(crate) use sentinel::Replicated;
