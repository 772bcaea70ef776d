//! How either side of a lock is looked at.

use super::script::{Mode, Rw};
use crate::{
    error::{InspectError, NodeError},
    kinds::mutex::{Lock, script::LockContents},
    wire::Outcome,
};

/// Who reads and who writes; nobody, if it is free.
pub(super) async fn standing(plain: &Lock) -> Result<LockContents, InspectError> {
    match plain.standing().await? {
        Some(LockContents { mode: None, .. }) => Err(plain.failed(NodeError::OtherKind)),
        standing => Ok(standing.unwrap_or_default()),
    }
}

pub(super) async fn force_release(plain: &Lock, rw: &Rw, mode: Mode) -> Result<bool, InspectError> {
    match plain.ask(&rw.force(mode)).await?.reply.code {
        Outcome::DONE => Ok(true),
        Outcome::FOREIGN => Err(plain.failed(NodeError::ForeignKey)),
        Outcome::OTHER_KIND => Err(plain.failed(NodeError::OtherKind)),
        _ => Ok(false),
    }
}
