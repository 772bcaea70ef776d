//! Locks over several members, by two rules.
//!
//! | | `MultiLock` | `RedLock` |
//! |---|---|---|
//! | held if granted by | all members | a majority, within the validity time |
//! | a member down | no acquire is granted | nothing is noticed, while a majority is up |
//! | a member that forgot | the holder is told at once | the holder keeps its majority and wins it back |
//!
//! Neither would be safe against a master that restarts empty *and* votes at once: it does not, for a while
//! ([`Quarantine`](crate::Quarantine)), unless it is new and was blessed. A holder that is stopped and writes after
//! its lease is for the store to refuse, by the token of a fenced one.
//!
//! There is no Lua here, and no round: a composite is a target of `acquire` with a rule, and its guard is that of
//! any lock.
//!
//! ```text
//! member locks ─► MultiMember, RedMember ─► parts: their voters ─► Target: members and a rule ─► acquire
//! ```
//!
//! # Invariants
//! - **A member is a single lock**: a composite of composites does not compile ([`MultiMember`], [`RedMember`]).
//! - **One server has one vote** in a `RedLock`: two addresses of one server are found on contact
//!   (`acquire/servers.rs`).
//! - **All processes ask the members of a `MultiLock` in one order** when it is contended, whatever order they were
//!   named in.
//! - **A lease is the composite's**: a member with one of its own is refused before anything is sent.
//! - **A key has the same stripe in every version** (`striped`).
//!
//! # What proves them
//! In `tests/it`: `composite` and `healing`; `bad_input::members` for what is refused; `promises` for what all
//! locks promise; `regressions::overlap`, `regressions::far`, `regressions::keeping` for `MultiLock`s that overlap.
//! Every combination of votes: `composite::gates`. `model` explores the rules state by state.
//!
//! # To change…
//! - which locks may be a member: `parts`
//! - how many must grant, and what follows from a lost round: `acquire/tally.rs`, `acquire/in_order.rs`
//! - what is seen from outside: `inspection`; what became of a lock that was taken away: `revocation`
//! - how keys become stripes: `striped`, with the figures that its test holds

mod inspection;
mod multi;
mod parts;
mod red;
mod red_rw;
mod revocation;
mod striped;

pub use inspection::Inspection;
pub use multi::{FencedMultiLock, MultiLock};
pub use parts::{Member, MultiMember, RedMember};
pub use red::{FencedRedLock, RedLock};
pub use red_rw::RedRwLock;
pub use revocation::Revocation;
pub use striped::StripedLock;
