//! What is said to take a lock of any kind away from one holder: the only place that knows the order of KEYS and ARGV.

use std::sync::Arc;

use crate::{
    kind::REVOKED,
    lease::Term,
    wire::{Arg, Script, Statement, key, script},
};

pub(crate) static REVOKE: Script =
    script!("revoking/revoke", 4, "../mutex/foreign.lua", "../fenced/counter.lua", "revoke.lua");

/// The scripts by which locks are taken away: a server learns them with the first call.
pub(crate) static SCRIPTS: [&Script; 1] = [&REVOKE];

/// What holds a lock in place of a holder that it was taken from. Nothing renews it.
#[derive(Debug, Clone)]
pub(crate) struct StandIn {
    /// Alone, and as a writer.
    pub(crate) alone: Arc<str>,
    /// As a reader. Writers tell by the uuid of one whether it is over when its timer is.
    pub(crate) reader: Arc<str>,
}

impl StandIn {
    /// One that no other is.
    pub(crate) fn new(number: u64) -> Self {
        // Lua and other clients read it as a whole number.
        let number = (number >> 11).to_string();
        let [alone, reader] = REVOKED.map(|prefix| key::joined(&[&[prefix, ":", &number]]));
        Self { alone, reader }
    }
}

/// Replaces a holder by a stand-in, which keeps its ttl; where it has none, from now on for a lease.
pub(super) fn revoke(name: &Arc<str>, holder: &str, stand_in: &StandIn, lease: Term) -> Statement {
    let keys = [
        name,
        &key::rw_timer(name, holder),
        &key::rw_timer(name, &stand_in.reader),
        &key::lock_counter(name),
        &key::member_counter(name),
    ];
    let args = [
        Arg::text(&holder.into()),
        Arg::text(&stand_in.alone),
        Arg::text(&stand_in.reader),
        Arg::Int(lease.ms()),
    ];
    Statement::new(&REVOKE, keys, args)
}

/// The stand-in holds it as a writer now.
pub(super) const WRITER: i64 = 2;
/// The stand-in holds it as a reader now.
pub(super) const READING: i64 = 3;
/// A stand-in held it already.
pub(super) const BEFORE: i64 = 4;
