//! The operator's word that masters are new: they have forgotten nothing, and may vote at once.

use std::{sync::Arc, time::Duration};

use futures::future::{join_all, try_join_all};

use crate::{
    error::NodeId,
    error::{BlessError, ConfigError, NodeError},
    node::Connection,
    process::NodeServices,
    standing::Marker,
    standing::RunId,
    voting::marker::{self, Found},
    wire::key,
};

/// A master that is to be blessed, as it is before.
struct Master<'a> {
    services: &'a NodeServices,
    /// All is said on one socket, which leads to one run: a restart in between is an error.
    connection: Connection,
    run_id: RunId,
    uptime: Duration,
    found: Found,
}

/// Marks all of `nodes` as one new fleet. Looks at all of them before anything is written.
pub(crate) async fn bless(nodes: &[Arc<NodeServices>], by_force: bool) -> Result<(), BlessError> {
    nodes.iter().try_for_each(|node| node.check_here())?;
    let masters = try_join_all(nodes.iter().map(|node| Master::meet(node))).await?;
    check_servers(&masters)?;
    if !by_force {
        check_markers(&masters)?;
        check_ages(&masters, nodes.iter().map(|node| node.settings.quarantine_length))?;
    }
    // Used by nobody else, and tells which process has blessed.
    let Some(fleet) = nodes.first().map(|node| node.process.fresh_holder()) else {
        return Err(ConfigError::NoMembers.into());
    };
    let max_lease = nodes.iter().map(|node| node.settings.max_lease).max().unwrap_or_default();
    let marker =
        |run_id: RunId| Marker { run_id: run_id.as_str().into(), max_lease, fleet: fleet.clone() };
    write_all(&masters, marker).await
}

impl<'a> Master<'a> {
    async fn meet(services: &'a NodeServices) -> Result<Self, BlessError> {
        let node = || services.node_id().clone();
        let deadline = services.now() + services.settings.connect_timeout;
        let connection = services.node.connection(key::MARKER, deadline).await;
        let connection = connection.map_err(|source| BlessError::Node { node: node(), source })?;
        let standing = connection.standing();
        let Some((run_id, uptime)) = standing.run_id().zip(standing.uptime(services.now())) else {
            return Err(BlessError::Unidentified { node: node() });
        };
        let found =
            marker::look(&connection, None, services.now() + services.settings.node_timeout).await;
        match found {
            Ok(Found::Other) | Err(NodeError::ForeignKey) => {
                Err(BlessError::ForeignMarker { node: node() })
            }
            Ok(found) => Ok(Self { services, connection, run_id, uptime, found }),
            Err(source) => Err(BlessError::Node { node: node(), source }),
        }
    }

    fn node(&self) -> NodeId {
        self.services.node_id().clone()
    }

    /// Puts `after` where `before` stands. False if something else does.
    async fn replace(&self, before: &Found, after: &Found) -> Result<bool, NodeError> {
        let deadline = self.services.now() + self.services.settings.node_timeout;
        marker::replace(&self.connection, before, after, deadline).await
    }
}

fn check_servers(masters: &[Master<'_>]) -> Result<(), ConfigError> {
    for (i, one) in masters.iter().enumerate() {
        if let Some(other) = masters.iter().skip(i + 1).find(|other| other.run_id == one.run_id) {
            return Err(ConfigError::SameServer { server: other.node().to_string().into() });
        }
    }
    Ok(())
}

fn check_markers(masters: &[Master<'_>]) -> Result<(), BlessError> {
    let marked = masters.iter().find_map(|master| match &master.found {
        Found::Marker(marker) => Some((master, marker)),
        Found::Nothing | Found::Waits { .. } | Found::Other => None,
    });
    marked.map_or(Ok(()), |(master, marker)| {
        let Marker { fleet, max_lease, .. } = marker.clone();
        Err(BlessError::BlessedBefore { node: master.node(), fleet, max_lease })
    })
}

fn check_ages(
    masters: &[Master<'_>],
    lengths: impl Iterator<Item = Duration>,
) -> Result<(), BlessError> {
    let limit = lengths.max().unwrap_or_default();
    let (young, old): (Vec<_>, Vec<_>) = masters.iter().partition(|master| master.uptime < limit);
    if old.is_empty() {
        return Ok(());
    }
    if young.is_empty() {
        let uptime = masters.iter().map(|master| master.uptime).min().unwrap_or_default();
        return Err(BlessError::Old { uptime });
    }
    let names = |masters: Vec<&Master<'_>>| masters.into_iter().map(Master::node).collect();
    Err(BlessError::HalfYoung { young: names(young), old: names(old) })
}

async fn write_all(
    masters: &[Master<'_>],
    marker: impl Fn(RunId) -> Marker,
) -> Result<(), BlessError> {
    let markers: Vec<_> = masters.iter().map(|m| Found::Marker(marker(m.run_id))).collect();
    let writes = masters.iter().zip(&markers).map(|(m, marker)| m.replace(&m.found, marker));
    let written = join_all(writes).await;
    let failed = masters.iter().zip(&written).find(|(_, result)| !matches!(result, Ok(true)));
    let Some((failed, result)) = failed else {
        // All at once: whoever acquires meanwhile is not to see half of a fleet.
        for (master, marker) in masters.iter().zip(markers) {
            master.connection.standing().note(marker.marker());
        }
        return Ok(());
    };
    let ours = masters.iter().zip(&markers).zip(&written).filter(|(_, result)| match result {
        Ok(written) => *written,
        Err(error) => error.is_unknown(),
    });
    // On the same socket, so behind a write that was not answered.
    let back = ours.map(async |((master, marker), _)| {
        let taken_back = master.replace(marker, &master.found).await;
        taken_back.is_err().then(|| master.node())
    });
    let left = join_all(back).await.into_iter().flatten().collect();
    let node = failed.node();
    Err(match result {
        Err(source) => BlessError::NotWritten { node, source: source.clone(), left },
        Ok(_) => BlessError::Overtaken { node, left },
    })
}
