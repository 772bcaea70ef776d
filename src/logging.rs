//! What is told to subscribers of [`tracing`]: targets that stay as they are, and every event above `debug`.
//!
//! Events are told once for each change, not for each attempt. What the watchdog's thread has to tell goes through a
//! bounded queue to a thread of its own, so that a subscriber that blocks delays no renewal and no loss; what it leaves
//! out is counted, and told. Names are [redacted](crate::ClientBuilder::redact_names) if that is wanted, and escaped.
//!
//! | Target | Level | Event | Fields |
//! |---|---|---|---|
//! | [`LOCK`] | warn | a lock was lost | `lock`, `holder`, `cause` |
//! | | warn | a lock is held for long ([if asked for](crate::ClientBuilder::warn_held_longer_than)) | `lock`, `holder`, `held` |
//! | | warn | the lock was not given back cleanly after its work was done | `lock`, `holder`, `error` |
//! | | warn | an acquire waits: for votes, for a key that stands for long, for permits that were never set, again at the end of a queue | `lock` |
//! | | debug | a lock was granted | `lock`, `holder`, `waited` |
//! | | debug | a lock was refused: another holds it | `lock` |
//! | | debug | a lock was not acquired | `lock`, `error` |
//! | | debug | a turn with a lock is over | `lock`, `holder`, `held`, `passed_on` |
//! | [`NODE`] | warn | a server cannot be reached | `node`, `cause` |
//! | | info | a server can be reached again | `node` |
//! | | warn | the data of this server is not known to be what it granted on: its votes do not count for a while | `node` |
//! | | warn | what a server, or its user's rights, makes impossible: once for each client | `node` |
//! | | info | another server has its place, the master is elsewhere, losses are told at once again | `node` |
//! | | debug | connections that begin and end, batches that were not answered | `node` |
//! | [`WATCHDOG`] | warn | a lock is not renewed: it is tried again | `lock`, `holder`, `node`, `cause` |
//! | | warn | gave up a release: the key's lease is over | `lock`, `holder`, `node` |
//! | | warn | events were left out: subscribers took longer than they came | `events` |
//! | | info | a hold was written again where it was forgotten | `lock`, `holder`, `node` |
//! | | debug | a member was won back, a release is not confirmed yet | `lock`, `holder`, `node` |
//!
//! | Target | Level | Span | Fields |
//! |---|---|---|---|
//! | [`LOCK`] | debug | `acquire`: from the call to its end, waiting included | `lock`, `sort`, `servers`, at the end `rounds` (how often servers were asked), `outcome` (`granted`, `refused`, `failed`), `votes`, `waited` |
//! | | debug | `hold`: a turn with a lock, from its grant, in the span of the task that acquired | `lock`, `holder`, `token`, at the end `passed_on` unless it was lost |
//!
//! Spans are entered by the task that acquires alone, and end where a subscriber that blocks delays no other lock.
//!
//! At `warn` and above a service that is well says nothing. At `debug` each acquire is two events, told on the task that
//! acquires; without a subscriber for that they cost a comparison.
//!
//! # Examples
//! With `tracing_subscriber`, all of locks and what needs a look of servers:
//! ```text
//! RUST_LOG=palisade::lock=debug,palisade=warn
//! ```

/// What becomes of locks, as far as their users are concerned.
pub const LOCK: &str = "palisade::lock";

/// Servers and connections, and what they make impossible.
pub const NODE: &str = "palisade::node";

/// What is done in the background: renewals, heals, late releases.
pub const WATCHDOG: &str = "palisade::watchdog";
