//! What stands on the servers for one holder: members and their deadlines, renewal, healing, release.
//!
//! A [`Claim`] has a holder id and a state for each member (`member_state`). It may outlive a turn, and then serves
//! the next waiter of the process. All that is said about it to a server is noted in the member's state before it
//! leaves.
//!
//! ```text
//! Acquiring ──won──► Held ──last guard, and nothing takes it over──► Over      (it may be released)
//!     │               │ ▲                                             ▲
//!     │               │ └── passed on: the same claim, the next turn  │
//!     │               ▼                                               │
//!     │             Lost  (its cause stays; what may stand is released too)
//!     └──rolled back, abandoned───────────────────────────────────────┘
//!
//! a member:  not asked ─► asked ─┬─► confirms until a deadline ◄─► renewal
//!                                │       │ gone, taken, another run ─► absent ─► healed, or written again
//!                                │       └ released ─► clean, once that is final
//!                                └─► refused ─► clean
//! ```
//!
//! # Invariants
//! - **Forward only**: a claim whose release was decided is never used again, and a lost one keeps its cause
//!   (`record`).
//! - **No answer, no movement**: a deadline moves only when a server confirms, and counts from before the request
//!   (`member_state`).
//! - **What was lost is not healed**: each path that moves a deadline looks first whether the claim is over
//!   (`validity`).
//! - **A member that did not refuse plainly is sent a withdrawal** (`giving_back`).
//! - **A member is won back only after all others that confirm were heard of since** (`healing`). What a new run
//!   forgot is written again where nothing else was granted meanwhile (`rewriting`).
//!
//! The order of the locks is in `record`.
//!
//! # What proves them
//! `tests` here, and tables at the end of `absence` and `margin`. `tests/orders` tries the orders of threads
//! (`cargo xtask shuttle`). In `tests/it`: `healing`, `watchdog`, `holds`, `jumps`, `composite::giving_back`,
//! `regressions::late_release`. In the simulation: I1, I5, I6, I11. Planted: `gone-still-counts`,
//! `timed-out-not-released`, `release-ahead-of-heal`, `missing-not-rewritten`, `downgrade-deletes-first`.
//!
//! # To change…
//! - what a member is asked, and what its answer means: `ask`, then `member_state`
//! - until when a hold may be acted on, and what its loss is called: `validity`, `absence`; how much more it
//!   survives: `margin`
//! - when it is renewed: `renewal`, and `watchdog/schedule.rs`
//! - when changes of its keys are listened to: `following`; what a look at them finds: `looking`
//! - how members come back: `healing`; what a failover or a restart lost: `rewriting`
//! - what is released, and how that is confirmed: `ending`, `giving_back`, `confirmations`
//! - its users, one after the other: `turn`, and `guard` for what each has of it
//! - thousands of members: `parts`

mod absence;
mod ask;
mod confirmations;
mod ending;
mod extending;
mod fencing;
mod following;
mod giving_back;
mod guarded;
mod healing;
mod in_flight;
mod long_warning;
mod looking;
mod margin;
mod member_state;
mod noting;
mod parts;
mod place;
mod record;
mod recount;
mod reducing;
mod renewal;
mod rewriting;
mod stragglers;
#[cfg(all(test, feature = "embedded"))]
mod tests;
mod turn;
mod validity;
mod warning;

pub(crate) use ask::ask;
pub(crate) use extending::extend;
pub(crate) use fencing::{ToldToken, promote};
pub(crate) use giving_back::{release, roll_back, roll_back_all, roll_back_some};
pub(crate) use guarded::run_guarded;
pub(crate) use in_flight::InFlight;
pub(crate) use place::KeptPlace;
pub(crate) use record::{Claim, LossListener, Wanted};
pub(crate) use reducing::reduce;
