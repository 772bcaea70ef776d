//! What can go wrong: one small type per operation, and why one node gave no vote.
//!
//! Those that everyday code names are at the crate's root too.

mod ballot;
mod bless;
mod config;
mod lock_name;
mod node;
mod node_id;
mod operation;
mod quarantine;
mod rounded;
#[cfg(test)]
mod tests;
mod text;

pub use ballot::{Ballot, Vote};
pub use bless::BlessError;
pub use config::ConfigError;
pub use lock_name::LockName;
pub(crate) use node::OF_SERVER;
pub use node::{Forgotten, NodeError, Phase};
pub use node_id::NodeId;
pub use operation::{
    AcquireError, ChangeError, ConnectError, DowngradeError, InspectError, LockLost, LostCause,
    ReleaseError, ShutdownError, WithError,
};
pub use text::{Shown, Text};
