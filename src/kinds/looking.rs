//! Looking at a lock from outside, written once for all that stand on one node.

use std::sync::Arc;

use super::mutex::script::{Inspect, LockContents};
use crate::{
    error::{InspectError, NodeError},
    kind::Holder,
    process::NodeServices,
    socket::Answer,
    voting::Voter,
    wire::{Call, Outcome, Statement},
};

/// Asks what changes nothing, or what in doubt is not said again: what was forced open once may be another's by now.
pub(super) async fn ask<C: Call>(
    services: &NodeServices,
    key: &Arc<str>,
    call: &C,
) -> Result<C::Reply, InspectError> {
    ask_when(services, key, call).await.map(|answer| answer.reply)
}

/// The same, and when it was answered.
pub(super) async fn ask_when<C: Call>(
    services: &NodeServices,
    key: &Arc<str>,
    call: &C,
) -> Result<Answer<C::Reply>, InspectError> {
    services.check_name_of(key)?;
    services.check_here()?;
    let deadline = services.now() + services.settings.node_timeout;
    let answer = services.node.call(key, call, deadline).await;
    answer.map(|(_, answer)| answer).map_err(|source| failed(services, key, source))
}

pub(super) fn failed(services: &NodeServices, key: &Arc<str>, source: NodeError) -> InspectError {
    let (lock, node) = (services.shown_name_of(key), services.node_id().clone());
    InspectError::Node { lock, node, source }
}

/// What stands under the name of a lock, of whatever kind.
pub(super) async fn contents(of: &Voter) -> Result<Option<LockContents>, InspectError> {
    ask(&of.services, of.kind.name(), &Inspect { name: of.kind.name().clone() }).await
}

/// The holders of a lock, of whatever kind.
pub(super) async fn holders(of: &Voter) -> Result<Vec<Holder>, InspectError> {
    Ok(contents(of).await?.into_iter().flat_map(LockContents::into_holders).collect())
}

/// Says what takes a lock from its holders. Whether it had any.
pub(super) async fn force_open(lock: &Voter, force: &Statement) -> Result<bool, InspectError> {
    let (services, key) = (&lock.services, lock.kind.name());
    let failed = |source| Err(failed(services, key, source));
    match ask(services, key, force).await?.code {
        Outcome::DONE => Ok(true),
        Outcome::FOREIGN => failed(NodeError::ForeignKey),
        Outcome::OTHER_KIND => failed(NodeError::OtherKind),
        _ => Ok(false),
    }
}

/// The methods of a lock on one node, where its method `$holders` tells its holders. With `holder`, that of locks of
/// one holder, too.
macro_rules! single_lock_methods {
    ($Lock:ident, $holders:ident) => {
        impl $Lock {
            /// The lock's name.
            #[must_use]
            pub fn name(&self) -> &str {
                self.voter().name()
            }

            /// Whether it is held.
            ///
            /// # Errors
            /// [`InspectError`](crate::error::InspectError); nothing was changed.
            ///
            /// # Cancel safety
            /// Dropping the future changes nothing.
            pub async fn is_locked(&self) -> Result<bool, $crate::error::InspectError> {
                Ok(!self.$holders().await?.is_empty())
            }

            /// How much longer it is held unless that is renewed: by many readers, the longest lease of all. `None`
            /// if it is not held, or has no ttl: its holders tell these apart.
            ///
            /// # Errors
            /// [`InspectError`](crate::error::InspectError); nothing was changed.
            ///
            /// # Cancel safety
            /// Dropping the future changes nothing.
            pub async fn remaining_ttl(
                &self,
            ) -> Result<Option<std::time::Duration>, $crate::error::InspectError> {
                Ok(self.$holders().await?.first().and_then(|holder| holder.ttl))
            }

            pub(crate) fn voter(&self) -> &$crate::voting::Voter {
                self.handle.target.members.first()
            }

            /// Whether it was given a lease of its own.
            pub(crate) fn has_own_lease(&self) -> bool {
                self.handle.lease != $crate::Lease::default()
            }
        }
    };
    ($Lock:ident, $holders:ident, holder) => {
        $crate::kinds::looking::single_lock_methods!($Lock, $holders);

        impl $Lock {
            /// Its holder; of many readers one.
            ///
            /// # Errors
            /// [`InspectError`](crate::error::InspectError); nothing was changed.
            ///
            /// # Cancel safety
            /// Dropping the future changes nothing.
            pub async fn holder(
                &self,
            ) -> Result<Option<$crate::kind::Holder>, $crate::error::InspectError> {
                Ok(self.$holders().await?.into_iter().next())
            }
        }
    };
}
pub(super) use single_lock_methods;
