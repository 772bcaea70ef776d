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
    /// That of a holder: the same whenever it is asked for, and another holder's is another.
    pub(crate) fn of(holder: &str) -> Self {
        // Lua and other clients read it as a whole number.
        let number = (fnv1a(holder) >> 11).to_string();
        let [alone, reader] = REVOKED.map(|prefix| key::joined(&[&[prefix, ":", &number]]));
        Self { alone, reader }
    }
}

/// Fowler, Noll and Vo's hash: the same in every version of this crate.
fn fnv1a(text: &str) -> u64 {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, mix)
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
/// The stand-in of this holder held it already: alone, as a writer, as a reader.
pub(super) const BEFORE: [i64; 3] = [4, 5, 6];

#[cfg(test)]
mod tests {
    use super::*;

    /// As its authors have it.
    #[test]
    fn hash_is_that_of_the_tables() {
        for (text, hash) in [
            ("", 0xcbf2_9ce4_8422_2325),
            ("a", 0xaf63_dc4c_8601_ec8c),
            ("foobar", 0x8594_4171_f739_67e8),
        ] {
            assert_eq!(fnv1a(text), hash, "{text}");
        }
    }
}
