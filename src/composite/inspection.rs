//! Looking at a composite from outside: who holds it where.

use std::fmt;

use futures::future::join_all;

use crate::{error::InspectError, kind::Holder, kinds::Lock, node::NodeId};

/// What each server says of a lock.
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
///
/// let inspection = masters.inspect("migration").await;
/// let holder = inspection.majority_holder().ok_or("nobody holds it")?;
/// assert_eq!(holder.id, guard.holder_id());
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
#[derive(Debug)]
pub struct Inspection {
    nodes: Vec<(NodeId, Result<Option<Holder>, InspectError>)>,
}

impl Inspection {
    pub(crate) async fn of(locks: &[Lock]) -> Self {
        let asked = locks.iter().map(async |lock| {
            let node = lock.voter().services.node_id().clone();
            (node, lock.holder().await)
        });
        Self { nodes: join_all(asked).await }
    }

    /// Each server with its answer: `None` if the lock is free there.
    pub fn iter(&self) -> impl Iterator<Item = (&NodeId, &Result<Option<Holder>, InspectError>)> {
        self.nodes.iter().map(|(node, answer)| (node, answer))
    }

    /// The holder that more than half of the servers name, if any.
    #[must_use]
    pub fn majority_holder(&self) -> Option<&Holder> {
        let holders = || self.nodes.iter().filter_map(|(_, answer)| answer.as_ref().ok()?.as_ref());
        holders().find(|holder| {
            let same = holders().filter(|other| other.id == holder.id).count();
            2 * same > self.nodes.len()
        })
    }
}

impl fmt::Display for Inspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (node, answer) in &self.nodes {
            match answer {
                Ok(None) => writeln!(f, "{node}: free")?,
                Ok(Some(holder)) => writeln!(f, "{node}: held by {}", holder.id)?,
                Err(InspectError::Node { source, .. }) => writeln!(f, "{node}: {source}")?,
                Err(error) => writeln!(f, "{node}: {error}")?,
            }
        }
        Ok(())
    }
}
