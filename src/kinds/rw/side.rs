//! What both sides of a lock are made of, and how they are looked at.

use std::sync::Arc;

use super::script::{Mode, Rw};
use crate::{
    error::{InspectError, NodeError},
    kind::Kind,
    kinds::mutex::{
        Lock,
        script::{Mutex, Standing},
    },
    process::NodeServices,
    voting::Voter,
    wire::Outcome,
};

/// One side of a lock.
#[derive(Clone)]
pub(super) struct Side {
    pub(super) rw: Arc<Rw>,
    /// What stands under the name, for those who only look.
    plain: Lock,
}

impl Side {
    pub(super) fn new(services: &Arc<NodeServices>, rw: &Arc<Rw>) -> Self {
        let mutex = Arc::new(Mutex::new(rw.name()));
        Self { rw: rw.clone(), plain: Lock::of(services.clone(), mutex) }
    }

    pub(super) fn voter(&self, kind: Arc<dyn Kind>) -> Voter {
        Voter { kind, ..self.plain.voter().clone() }
    }

    pub(super) fn plain(&self) -> &Lock {
        &self.plain
    }

    pub(super) fn name(&self) -> &str {
        self.plain.name()
    }

    /// Who reads and who writes; nobody, if it is free.
    pub(super) async fn standing(&self) -> Result<Standing, InspectError> {
        match self.plain.standing().await? {
            Some(Standing { mode: None, .. }) => Err(self.plain.failed(NodeError::OtherKind)),
            standing => Ok(standing.unwrap_or_default()),
        }
    }

    pub(super) async fn force_release(&self, mode: Mode) -> Result<bool, InspectError> {
        match self.plain.ask(&self.rw.force(mode)).await?.reply.code {
            Outcome::DONE => Ok(true),
            Outcome::FOREIGN => Err(self.plain.failed(NodeError::ForeignKey)),
            Outcome::OTHER_KIND => Err(self.plain.failed(NodeError::OtherKind)),
            _ => Ok(false),
        }
    }
}
