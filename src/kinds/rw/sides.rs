//! What is seen of either side of a lock.

use crate::{
    error::{InspectError, NodeError},
    kinds::{
        looking::{contents, failed},
        mutex::script::LockContents,
    },
    voting::Voter,
};

/// Its readers and its writer; none, if it is free.
pub(super) async fn sides(of: &Voter) -> Result<LockContents, InspectError> {
    match contents(of).await? {
        Some(LockContents { mode: None, .. }) => {
            Err(failed(&of.services, of.kind.name(), NodeError::OtherKind))
        }
        contents => Ok(contents.unwrap_or_default()),
    }
}
