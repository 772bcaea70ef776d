//! Looking at a composite from outside: which holders it has, and where.

use std::fmt;

use futures::future::join_all;

use crate::{
    error::{InspectError, NodeError, NodeId, Shown},
    kind::Holder,
    kinds::Lock,
};

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
    nodes: Vec<(NodeId, Result<Vec<Holder>, InspectError>)>,
    quarantined: Vec<(NodeId, NodeError)>,
}

impl Inspection {
    pub(crate) async fn of(locks: &[Lock]) -> Self {
        let asked = locks.iter().map(async |lock| {
            let node = lock.voter().services.node_id().clone();
            (node, lock.holders().await)
        });
        let nodes = join_all(asked).await;
        let is_alone = locks.len() == 1;
        let quarantined = |lock: &Lock| {
            let voter = lock.voter();
            let voter = if is_alone { voter.as_if_alone() } else { voter.in_composite() };
            Some((voter.services.node_id().clone(), voter.quarantined()?))
        };
        Self { nodes, quarantined: locks.iter().filter_map(quarantined).collect() }
    }

    /// The servers whose votes do not count now, and why: they may have forgotten what they granted, or do not
    /// tell which run they are. They answer all the same.
    ///
    /// As far as their ages and their marks tell, which are read when a connection is made: nothing is written
    /// for this. Of a lock on one server, where that has [a quarantine](crate::Quarantine).
    pub fn quarantined(&self) -> impl Iterator<Item = (&NodeId, &NodeError)> {
        self.quarantined.iter().map(|(node, cause)| (node, cause))
    }

    /// Each server with its answer: the holders of the lock there, which are many if they read.
    pub fn iter(&self) -> impl Iterator<Item = (&NodeId, &Result<Vec<Holder>, InspectError>)> {
        self.nodes.iter().map(|(node, answer)| (node, answer))
    }

    /// The holder that more than half of the servers name, if any; of many readers the first.
    #[must_use]
    pub fn majority_holder(&self) -> Option<&Holder> {
        let nodes = || self.nodes.iter().filter_map(|(_, answer)| answer.as_ref().ok());
        nodes().flatten().find(|holder| {
            let same = nodes().filter(|all| all.iter().any(|other| other.id == holder.id)).count();
            2 * same > self.nodes.len()
        })
    }
}

impl fmt::Display for Inspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (node, answer) in &self.nodes {
            match answer {
                Ok(holders) => writeln!(f, "{node}: {}", told(holders))?,
                Err(InspectError::Node { source, .. }) => writeln!(f, "{node}: {source}")?,
                Err(error) => writeln!(f, "{node}: {error}")?,
            }
        }
        Ok(())
    }
}

fn told(holders: &[Holder]) -> String {
    if holders.is_empty() {
        return "free".into();
    }
    let mut ids: Vec<_> = holders.iter().map(|it| Shown::new(&it.id).to_string()).collect();
    let others = ids.len().saturating_sub(MOST_TOLD);
    if others > 0 {
        ids.truncate(MOST_TOLD);
        ids.push(format!("{others} more"));
    }
    format!("held by {}", ids.join(", "))
}

/// So many of its readers are named.
const MOST_TOLD: usize = 16;
