//! Which members may vote: a server that may have forgotten what it granted is not asked.
//!
//! A [`Voter`] is one lock on one node, whose vote may be asked for. `standing` decides and asks nothing; here its
//! questions are put to servers, and marks are written.
//!
//! ```text
//! ask for a vote ─► connection ─► run: do its votes count?
//!                                  ├─ no ─► a failed vote: Quarantined, with how long
//!                                  └─ yes, and it is to be vetted
//!                                       ├─ its mark is settled ─► the acquire names the mark
//!                                       └─ it is doubtful ─► look ─► judgement ─┬─ stands ─► settled
//!                                                                               ├─ written ─► witness loaded ─► settled
//!                                                                               └─ waits ─► a failed vote
//! the acquire compares the mark on the server: another one there is no vote, and the next look decides
//! ```
//!
//! # Invariants
//! - **A mark is written only where the text still stands that was seen**: a client that comes second looks again.
//! - **The mark is written before its witness is loaded**: a witness alone says that a mark was lost.
//! - **No mark is relied on before the server knows the witness.**
//! - **What cannot be found out is no vote**: a look that fails has failed the vote.
//! - **A blessing is the operator's word.** It is written on all masters or refused, and only where none has voted,
//!   unless by force.
//!
//! # What proves them
//! `tests` here: a vote is vetted by the run that its own socket leads to. In `tests/it`: all of `quarantine`,
//! `deployment::promoted`, `bad_input::rights`, `regressions::followed`, `regressions::unsynced`. In the
//! simulation: I1 with lost data, and conduct. Planted: `mark-not-compared`, `no-witness`, `replid-not-compared`.
//!
//! # To change…
//! - when a server is looked at: `vetting`; what is done then: `mark_look`; the rule: `standing/judgement.rs`
//! - what those see of it that ask how a server is: `vote_look`
//! - what is written and compared on a server: `marker`
//! - blessing: `bless`
//! - what a lock is called in errors and events: `voter`

mod bless;
mod mark_look;
pub(crate) mod marker;
#[cfg(all(test, feature = "embedded"))]
mod tests;
mod vetting;
mod vote_look;
mod voter;

pub(crate) use bless::{bless, check as check_bless};
pub(crate) use marker::checked::by_mark;
pub(crate) use vetting::Closed;
pub(crate) use vote_look::vote_look;
pub(crate) use voter::{Members, Voter, ballot, lock_name, more_names};
