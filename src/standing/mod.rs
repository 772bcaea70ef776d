//! Whether a server's votes count, as far as it has told which process it is and what its data shows. Asks nothing.
//!
//! A server that restarts without its data has forgotten what it granted. Until all that is over it must not vote.
//! Two things tell: for how long its process has run (`identity`), and the mark in its data (`mark`, `judgement`).
//! D is the longest lease with all margins.
//!
//! ```text
//! a run of a server
//!    │ greeted: run id, uptime, mark
//!    ▼
//!  young ──has run for D, or was blessed──► old ──its data has the mark that is known──► its votes count
//!    ▲                                       │
//!    │ another run at the address            └─ no mark, or another
//!    │                                            ├─ its run never had one ─► it is marked, and counts
//!    └────────────────────────────────────────────┴─ it had one (a witness knows) ─► data was lost: it waits for D
//! ```
//!
//! # Invariants
//! - **A mark only adds waiting**; blessing alone shortens it.
//! - **A mark is relied on only with its witness behind it**: a script that outlives the data and ends with the
//!   process.
//! - **The greatest D that any client may have counts** (`wait_class`, `knowledge`).
//! - **A blessing is for the run that it names.**
//! - **A server that does not tell its run has a rule of its own** ([`Unidentified`]).
//! - Everything here is pure but `run`, `attendance` and `learned`, which share what is known between connections.
//!
//! # What proves them
//! Tables at the end of `identity`, `judgement`, `mark`, `wait_class`. In `tests/it`: `quarantine`,
//! `deployment::promoted`, `healing::rewritten`. `model` has restarts, lost data and blessings in every order. In
//! the simulation: I1, and conduct (no server waits that has lost nothing). Planted: `no-quarantine`,
//! `mark-not-compared`, `no-witness`, `run-not-compared`, `replid-not-compared`.
//!
//! # To change…
//! - from when on votes count: `identity`; for how long a server waits: `length` there
//! - what follows from a look at the mark: `judgement`; what a mark says: `mark`
//! - which locks are protected: `policy`
//! - whether a process was there until another was met: `attendance`
//! - when a look is made, and a mark written: `voting/vetting.rs`, `voting/mark_look.rs`, `voting/marker`

mod attendance;
mod identity;
mod judgement;
mod knowledge;
mod learned;
mod mark;
mod policy;
mod run;
mod run_id;
mod wait_class;

pub(crate) use attendance::AttendanceGuard;
pub use identity::Unidentified;
pub(crate) use identity::{
    Introduced, USUAL_LEASE, USUAL_SKEW, length as quarantine_length, longest as longest_lease,
};
pub(crate) use judgement::{Found, Judgement, Sight, View};
pub(crate) use knowledge::Stance;
pub(crate) use learned::{learned, note_learned};
pub(crate) use mark::{Blessing, Mark, Origin};
pub(crate) use policy::Vetting;
pub use policy::{Failover, Quarantine};
pub(crate) use run::{Introduction, ServerRun, VotingRules};
pub(crate) use run_id::RunId;
pub(crate) use wait_class::WaitClass;
