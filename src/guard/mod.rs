//! What the user has of a lock that is held: guards and owners.
//!
//! A turn is what one user has of a claim, from the grant to the last guard. A [`LockGuard`] is one of its guards.
//! An [`Owner`] says which acquires are re-entries.
//!
//! ```text
//! granted, or passed on
//!    │
//!    ▼
//!  turn: 1 guard ──reenter──► 2, 3, … guards ──each that goes──► 1 ──► 0: ended
//!    │                                                                 │
//!    │ deadline, or a server says that it is gone                      ├─ a waiter of this process may have it ─► passed on
//!    ▼                                                                 └─ otherwise ─► the claim ends, and is released
//!  lost: its cause is set, then its guards are told
//! ```
//!
//! # Invariants
//! - **A turn ends once, and is never entered again**: an owner that finds it over acquires anew (`turn`).
//! - **At the deadline it is lost**: every use compares with the clock. A timer only tells of it sooner.
//! - **Drop never blocks, spawns or panics** (`lock_guard`): what is left to do is a message to the releaser.
//! - **What is offered is taken by one waiter, or given back** (`passing_on`): an offer has a number, and a watch
//!   that withdraws it.
//! - **A guard that says more is made of a hold that has it**: a token, or permits (`proof`).
//!
//! # What proves them
//! `tests` here: a claim that outlives a turn. In `tests/it`: `promises` (each promise on each kind),
//! `mutex::ending`, `mutex::loss`, `mutex::reentry`, `handover`, `jumps`. `claim/tests/orders` tries the orders of
//! threads. In the simulation: I1, I5, I8, I10. Planted: `former-owner-enters`, `offer-never-withdrawn`,
//! `handover-after-deadline`.
//!
//! # To change…
//! - what a guard can do: `lock_guard` for the common one, `any_guard` for all; guards of one kind are in its
//!   folder in `kinds`, and share `guard_methods`
//! - what is a re-entry: `owner`; when a turn may be entered: `turn`
//! - which waiter a hold may be passed on to: `handover_rule`; how, and for how long an offer stands: `passing_on`
//! - what dropping does: `lock_guard`, then `watchdog/releaser.rs`

mod any_guard;
mod guard_methods;
mod guarded_call;
mod handover_rule;
mod hold_span;
mod lock_guard;
mod owner;
mod passing_on;
mod proof;
#[cfg(all(test, feature = "embedded"))]
mod tests;
mod turn;

pub use any_guard::AnyGuard;
pub(crate) use guard_methods::guard_methods;
pub use guarded_call::GuardedInvocation;
pub(crate) use handover_rule::{HandoverRule, lines};
pub use lock_guard::{LockGuard, Released};
pub(crate) use owner::Occupied;
pub use owner::Owner;
pub(crate) use proof::Proof;
pub(crate) use turn::Turn;
