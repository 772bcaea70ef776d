//! Jobs that are due once for a period, or so often at most: a run is recorded beside its lock.
//!
//! A lock keeps two runs apart, and does not know that one has been there. A record does, if it is read and written
//! under the lock. What users read of it, and what holds as long as what, is at `palisade::once`.
//!
//! ```text
//! look, without the lock ─── recorded ──► not due
//!          │ nothing
//!          ▼
//!       acquire ─► look under the hold ─── recorded, on any server ──► not due
//!                          │ nothing, on a majority where the hold stands
//!                          ▼
//!                        work ─┬─ lost, Err, panic ──► no record
//!                              └─ Ok ─► a guarded script on each server ─┬─ a majority ──► recorded
//!                                                                        └─ fewer ───────► unrecorded
//! ```
//!
//! # Invariants
//! - **A record is written under the hold that it was looked under**, by a guarded script: after a loss nothing is.
//! - **A look is enough only where the hold stands.** There no holder before it can write any more. So of any two
//!   majorities one server has seen both, and the later look sees the record.
//! - **A record is never replaced by that of another run**: the script looks once more, in the step that writes.
//! - **Times are those of the server** that keeps the record. Ours measures only how long the work took.
//! - **The records of periods do not touch each other.** Each has a key of its own, which ends by itself: the server
//!   counts its ttl, none has to be swept up, and none makes another one end sooner, however many there are.
//!
//! # What proves them
//! Tables at the end of `record` and `cadence`. In `tests/it`: `periods`, on real servers. In `cli/tests/tool`:
//! `periods`. In the simulation with `--periods`: I15, and I1 of the works. Planted: `record-not-looked-at`,
//! `record-of-minority`, `guard-not-looked-at`.
//!
//! # To change…
//! - what is due when, and for how long a record is kept: `cadence`
//! - what stands on the server: `record`, `look.lua`, `mark.lua`, and `script`, their only wrapper
//! - which servers are asked, and how many are enough: `looking`, `recording`
//! - what users write: `due`, `methods`; what they get: `errors`

mod begun;
mod cadence;
mod due;
mod errors;
mod looking;
mod methods;
mod record;
mod recording;
mod script;

pub use begun::{Begun, BegunRun};
pub use cadence::Cadence;
pub use due::Once;
pub(crate) use due::{last_run, past_run, when_due};
pub use errors::{OnceError, RecordError};
pub(crate) use methods::period_methods;
pub use record::{RecordedRun, RunOutcome};
pub(crate) use script::SCRIPTS;
