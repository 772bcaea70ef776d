//! What the design has met before it was a design: each a test by name, so that it is not met again.
//!
//! | what | the test |
//! |---|---|
//! | a release queued by a drop, then an acquire by the same owner | [`own_release`] |
//! | an inner re-entry with a shorter lease | [`reentry`] |
//! | two tasks that re-enter and leave one hold, in every order | [`reentry`] |
//! | a rollback on an older connection than its acquire | `watchdog/releasing.rs`: `release_that_overtakes_its_acquire_is_sent_again` |
//! | a heal against a release | `healing/release.rs`, `healing/sockets.rs`: `heal_against_release_…` |
//! | the need-th largest deadline with dead members | `holds.rs`: `deadline_is_the_need_th_largest_with_dead_members` |
//! | a hint from a clock a year ahead, and 23 h ahead with an amnesia | `fencing/clocks.rs` |
//! | granted, refused and failed votes in every combination | [`ballots`] |
//! | the first of several announcements of one release | [`first_publish`] |
//! | overlapping `MultiLock`s under traffic on one member | [`overlap`] |
//! | a member that a `MultiLock` keeps in line behind another, after one try, or for one that fails | [`keeping`] |
//! | a member that fails, or whose client is shut down, while another one is waited for | [`alone`] |
//! | members that a `MultiLock` won and let go of before it had won the last | [`turns`] |
//! | a contender that is farther away than all others | [`far`] |
//! | a round trip of 400 ms on the first sample of a server's clock | [`slow_first_sample`] |
//! | a string key inside a batch of renewals | `watchdog/renewing.rs`: `foreign_key_in_a_batch_of_renewals_ends_that_hold_only` |
//! | two locks in different slots, one key that is forbidden, a user that is deleted, a client in a hurry: in one batch | `watchdog/sharing.rs` |
//! | a panic on the watchdog's thread, of a subscriber, a callback or a clock | `watchdog/panics.rs` |
//! | a server, and a majority, that came back without what it had granted | `watchdog/returning.rs` |
//! | a user without channel rights | [`channels`] |
//! | a client used in two children of one process | [`fork`] |
//! | a connector together with an URL | [`connector`] |
//! | a runtime without timers or I/O | [`runtimes`] |
//! | a user's record under the name of a lock, acquired, inspected and forced open | `bad_input/foreign.rs` |
//! | a `MultiLock` over one server that was just started, which waited without a word | `quarantine/fresh.rs`: `multi_lock_at_one_address_…`, `names.rs`: `wait_for_a_quarantine_…` |
//! | a socket that was closed or forgotten while nothing was said on it, and one that broke under an acquire or a release | [`idle`] |
//! | a master behind sentinels that lost its data under a socket that lived on | [`followed`] |
//! | a master, and a sentinel, that promises an answer of 9 EB and goes on for ever | [`lying`] |
//! | an answer to an acquire that makes no sense | [`garbled`] |
//! | a lease so short that a busy client is too slow for it | [`haste`] |
//! | a name and the same in braces | [`twins`] |
//! | names, holder ids and texts of servers with control characters, and very long ones | [`shown`], `src/error/tests.rs` |
//! | a server that never was a replica in the place of a master | [`unsynced`] |
//! | a hand-over in a long queue that moved all waiters there | `fair/waiting.rs`: `places_that_are_taken_…` |
//! | fifty in a queue that do not come, passed over one after the other | `fair/waiting.rs`: `fifty_that_do_not_come_…` |
//! | a server that throws locks away when its memory is full | [`evicting`] |
//! | a server on which waiters pass one by one, that stopped answering | [`meeting`] |
//! | members that disagree, and one that is late and could decide | [`split`] |
//! | a replica behind the URL | `bad_input/contact.rs`: `replica_cannot_vote` |
//!
//! Those that stand elsewhere were there already. Each was seen to fail with the code broken for it.

mod alone;
mod ballots;
mod channels;
mod connector;
mod evicting;
mod far;
mod first_publish;
mod followed;
mod fork;
mod garbled;
mod haste;
mod idle;
mod keeping;
mod late_release;
mod line;
mod lying;
mod meeting;
mod overlap;
mod own_release;
mod readers_in_line;
mod reentry;
mod runtimes;
mod shown;
mod slow_first_sample;
mod split;
mod turns;
mod twins;
mod unsynced;

use palisade::embedded::Server;

use self::line::Line;
pub(crate) use self::overlap::scripts_run;
use crate::{fleet::STRANGER, outside::ask};

/// The holder of the lock `name` on an in-process server, if any.
async fn holder_on(server: &Server, name: &str) -> Option<String> {
    let holders: Vec<String> = ask(server, &["HKEYS", name]).await;
    assert!(holders.len() <= 1, "{holders:?}");
    holders.into_iter().next()
}

/// How often the server knows the lock `name` to be held.
async fn count_on(server: &Server, name: &str) -> Option<String> {
    ask::<Vec<String>>(server, &["HVALS", name]).await.into_iter().next()
}

/// PTTL.
async fn ttl_on(server: &Server, name: &str) -> i64 {
    ask(server, &["PTTL", name]).await
}

/// A lock of a stranger.
async fn hold_as_stranger(server: &Server, name: &str) {
    let _added: i64 = ask(server, &["HSET", name, STRANGER, "1"]).await;
    let _set: i64 = ask(server, &["PEXPIRE", name, "600000"]).await;
}
