//! Scripts of the user's that change data only while a hold stands, in the same step that looks whether it does.
//!
//! No lock stops a process that was suspended between its last look and its write. For data in the *same Redis*
//! there is a remedy: one script that first looks whether the hold stands on that server, and then does what the
//! user wants. Nothing comes between the two.
//!
//! ```text
//! GuardedScript (the user's text) ─┐
//! HoldCheck (of the kind)         ─┴─► one text: prologue, then the user's lines, then what tags the answer
//!                                                      │ one EVALSHA
//!     0, taken ◄── not held: nothing of the user's was executed
//!     1, reply ◄── executed
//!     2, error ◄── executed until it failed: what it wrote before stands
//!     an error of the server ◄── nothing of the user's was executed
//! ```
//!
//! # Invariants
//! - **At most once**: a call goes out again only where its first request was not executed for sure.
//! - **The user's text stays as it is**: its lines keep their numbers, and it sees its own keys and arguments alone.
//! - **The prologue only reads.** That of a [token](crate::Client::fenced) writes the token, and nothing else.
//! - **What the user's script returns is told apart from our answers**, whatever it returns.
//!
//! # What proves them
//! Tables at the end of `text` and `reply`. In `tests/it`: `guarded`, on real servers. Planted:
//! `guarded-hold-passed-on`.
//!
//! # To change…
//! - what the server executes: `text`, and `holds.lua` of each kind
//! - what an answer means: `call`; what it is read as: `reply`
//! - how it is sent: `sending`; what follows of its answer for a hold: `claim/guarded.rs`
//! - which token is let through: `token.lua`
//! - what users write: `guard/guarded_call.rs`, `client/fenced_call.rs`; on which of several servers: `client/guarded.rs`

mod argument;
mod call;
mod reply;
mod script;
mod sending;
mod text;
mod token;

pub use self::{
    argument::Argument,
    reply::{FromReply, ScriptReply, WrongReply},
    script::GuardedScript,
};
pub(crate) use call::{GuardedCall, GuardedWords};
pub(crate) use sending::{AskedOf, ScriptAnswer};
pub(crate) use token::{newest_of, token_check};
