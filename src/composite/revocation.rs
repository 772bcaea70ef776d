//! A lock over several servers that is taken away from its holder: what became of it on each.

use std::fmt;

use futures::future::join_all;

use crate::{
    error::{InspectError, NodeId},
    kinds::{Lock, Revoked},
};

/// What became on each server of a lock that was to be [taken away](crate::Masters::revoke) from a holder.
///
/// # Examples
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use palisade::{Masters, embedded::Server};
///
/// let servers = [Server::start()?, Server::start()?, Server::start()?];
/// let masters = Masters::new([servers[0].client()?, servers[1].client()?, servers[2].client()?])?;
/// let guard = masters.red_lock("migration").acquire().await?;
/// let revocation = masters.revoke("migration", guard.holder_id()).await;
/// assert!(revocation.is_by_majority());
/// assert!(guard.release().await.is_err());
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
#[derive(Debug)]
pub struct Revocation {
    nodes: Vec<(NodeId, Result<Revoked, InspectError>)>,
}

impl Revocation {
    pub(crate) async fn of(locks: &[Lock], holder: &str, now: bool) -> Self {
        let asked = locks.iter().map(async |lock| {
            let node = lock.voter().services.node_id().clone();
            let revoked =
                if now { lock.revoke_now(holder).await } else { lock.revoke(holder).await };
            (node, revoked)
        });
        Self { nodes: join_all(asked).await }
    }

    /// Each server with what became of the lock there.
    pub fn iter(&self) -> impl Iterator<Item = (&NodeId, &Result<Revoked, InspectError>)> {
        self.nodes.iter().map(|(node, revoked)| (node, revoked))
    }

    /// Whether it was taken away on more than half of the servers: no holder by a majority, or by all, is left then.
    /// On fewer a holder may go on, and win back as a reader what it has lost there.
    #[must_use]
    pub fn is_by_majority(&self) -> bool {
        self.is_most(Revoked::is_taken_away)
    }

    /// Whether the holder is on too few servers to hold it, by what more than half of them say: it was taken away, or
    /// is not its own.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_most(|_| true)
    }

    fn is_most(&self, is_such: impl Fn(&Revoked) -> bool) -> bool {
        let such = self.nodes.iter().filter(|(_, it)| it.as_ref().is_ok_and(&is_such));
        2 * such.count() > self.nodes.len()
    }
}

impl fmt::Display for Revocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (node, revoked) in &self.nodes {
            match revoked {
                Ok(revoked) => writeln!(f, "{node}: {revoked}")?,
                Err(InspectError::Node { source, .. }) => writeln!(f, "{node}: {source}")?,
                Err(error) => writeln!(f, "{node}: {error}")?,
            }
        }
        Ok(())
    }
}
