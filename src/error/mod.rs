//! What can go wrong: one small type per operation, and why one node gave no vote.
//!
//! Those that everyday code names are at the crate's root too.
//!
//! "Not now" is an answer, `Ok(None)`, and no error. What remains is told apart by what is true on the servers
//! then:
//!
//! ```text
//!                      ┌─ granted  ─► a guard
//!  a server answered ──┼─ refused  ─► Ok(None): another holds it
//!                      └─ an error ─► failed: nothing was executed
//!  no answer ─────────────────────► unknown: it may have been executed, and is taken back in the background
//! ```
//!
//! - Refused, failed and unknown stay three things, from one node's answer ([`NodeError`]) to the vote ([`Vote`])
//!   and the round ([`Ballot`]). [`NodeError::is_unknown`] tells the last two apart.
//! - A variant is something that a caller can branch on. Its text says what is true on the servers now.
//! - No type of redis-rs stands in a signature. A cause that came from there is a text.
//! - What others chose, such as names and what servers say, is shown in one line of bounded length ([`Text`]). No
//!   text shows a password.
//!
//! # Where it is
//! `operation` has one error for each operation, `node` why one node gave no vote, and `ballot` the votes of a
//! round. `guarded` has those of guarded scripts. `config` has the mistakes that are found before anything is sent, and `bless` why masters were not
//! blessed. `reach/cause.rs` makes a [`NodeError`] of what a server said.
//!
//! Tests of every text stand beside it in `tests.rs` and in `operation`. In `tests/it`: `bad_input`,
//! `mutex::outage`, `regressions::ballots`, `regressions::shown`.
//!
//! To change what an error of a server means, begin at `reach/cause.rs`. To add a variant, begin at `operation`:
//! its sentence says what is true on the servers, and whether to ask again.

mod ballot;
mod bless;
mod config;
mod guarded;
mod lock_name;
mod node;
mod node_id;
mod operation;
mod outlook;
mod quarantine;
mod rounded;
#[cfg(test)]
mod tests;
mod text;

pub use ballot::{Ballot, Vote};
pub use bless::BlessError;
pub use config::ConfigError;
pub use guarded::GuardedError;
pub use lock_name::LockName;
pub(crate) use node::OF_SERVER;
pub use node::{Forgotten, NodeError, Phase};
pub use node_id::NodeId;
pub use operation::{
    AcquireError, ChangeError, ConnectError, DowngradeError, ExtendError, InspectError, LockLost,
    LostCause, NotRenewed, ReleaseError, ShutdownError, WithError,
};
pub use text::{Shown, Text};
