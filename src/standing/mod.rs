//! Whether a server's votes count, as far as it has told which run it is and what its data shows.
//! Sends no call.

mod identity;
mod judgement;
mod knowledge;
mod learned;
mod mark;
mod policy;
mod run;
mod run_id;
mod wait_class;

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
pub(crate) use run::{Introduction, PresenceGuard, ServerRun, VotingRules};
pub(crate) use run_id::RunId;
pub(crate) use wait_class::WaitClass;
