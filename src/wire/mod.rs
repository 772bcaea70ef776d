//! What can be said to a server: script calls, their arguments, their answers. No I/O here.
//!
//! Every script is written for k locks in one call. It answers `[TIME in µs, code 1, value 1, …, code k, value k]`,
//! or with a fencing token behind each value; see [`Outcome`]. Those that give a lease answer with TIME alone where
//! all locks have it, and a release with its value alone where its call does not [ask for the
//! time](Statement::set_brief). An acquire that fails for one lock says so in the place of its code, and goes on:
//! see [`Answers`].
//!
//! ```text
//! a kind ─► Statement: script, keys, arguments, of one lock ─► Batch: of several ─► Words: bytes
//!                                                                                     │
//! a kind ◄─ Outcome: code, value, token ◄─ Items ◄──────── an answer of another shape: Malformed
//! ```
//!
//! # Invariants
//! - **Names are formed in `key` alone**, as Redisson forms them: one hash tag for all keys of a lock.
//! - **An answer of another shape is an error**, and never a panic: nothing is taken from it.
//! - **A script is known by its text**: the digest is computed from it, so two versions never mix.
//! - **An acquire says its not-after stamp when its bytes are made**, and not before.
//!
//! # What proves them
//! Tables at the end of `key`, `reply`, `statement`, `permit` and `words`. `tests/fuzz` reads answers that make no
//! sense. In `tests/it`: `recorded` (to the byte), `scripts`, `names`, `differential`, `regressions::garbled`, and
//! `redisson` in each kind's module.
//!
//! # To change…
//! - how a key or a channel is called: `key`; what Redisson would not find breaks interop
//! - what an acquire says: `acquire`; how several locks share a call: `statement`
//! - what is said without a script: `plain`
//! - how an answer is read: `reply`; what a permit is known by: `permit`
//! - by which command is published: `publishing`
//! - to another way than EVALSHA: `docs/maintain/change.md`

mod acquire;
mod hold_check;
pub(crate) mod key;
pub(crate) mod permit;
mod plain;
mod publishing;
mod reply;
mod script;
mod statement;
#[cfg(test)]
pub(crate) mod test_answers;
mod words;

pub(crate) use acquire::{Acquire, Answers, Check};
pub(crate) use hold_check::HoldCheck;
pub(crate) use plain::PlainRelease;
pub(crate) use publishing::Publishing;
pub(crate) use reply::{Items, Malformed, excerpt};
pub(crate) use script::{Composed, Script, ScriptText, script};
pub(crate) use statement::{Arg, Batch, Outcome, Statement};
pub(crate) use words::Words;

/// One script call and the meaning of its answer. Cloned only to wait for its turn to be sent.
pub(crate) trait Call: Clone + Send + Sync + 'static {
    /// What the answer says, without the server's time, which the node keeps for itself.
    type Reply: Send;

    /// The script that is called.
    fn script(&self) -> ScriptText<'_>;

    /// Appends the number of keys, the keys and the arguments.
    fn write(&self, to: &mut Words);

    /// Whether it is answered with something of each of many.
    fn asks_for_a_list(&self) -> bool {
        false
    }

    /// Whether the server's time is not there, since the call did not ask for it.
    fn leaves_out_time(&self, _items: &Items) -> bool {
        false
    }

    /// Reads what follows the server's time in the answer.
    fn decode(&self, items: Items) -> Result<Self::Reply, Malformed>;
}
