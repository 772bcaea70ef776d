//! The operator's word that masters are new: they have forgotten nothing, and may vote at once.

use std::{sync::Arc, time::Duration};

use futures::future::{join_all, try_join_all};

use crate::{
    error::{BlessError, ConfigError, NodeError, NodeId},
    process::NodeServices,
    socket::Connection,
    standing::{Blessing, Found, Mark, RunId, Sight},
    voting::marker::MarkLocation,
};

/// A master that is to be blessed, as it is before.
struct BlessTarget<'a> {
    services: &'a NodeServices,
    /// All is said on one socket, which leads to one run: a restart in between is an error.
    connection: Connection,
    run_id: RunId,
    uptime: Duration,
    /// What stands there before.
    sight: Sight,
}

/// Marks all of `nodes` as one new fleet. Looks at all of them before anything is written.
pub(crate) async fn bless(nodes: &[Arc<NodeServices>], by_force: bool) -> Result<(), BlessError> {
    let masters = meet(nodes).await?;
    let wait = nodes.iter().map(|node| node.settings.quarantine_length).max().unwrap_or_default();
    if !by_force {
        check_that_new(&masters, wait)?;
    }
    // It has no other use, and tells which process has blessed.
    let Some(fleet) = nodes.first().map(|node| node.process.fresh_holder()) else {
        return Err(ConfigError::NoMembers.into());
    };
    let max_lease =
        nodes.iter().map(|node| node.settings.fleet_max_lease).max().unwrap_or_default();
    write_all(&masters, &Blessing { max_lease, fleet }, wait).await
}

/// For how long each has been running, if all may be blessed without force. Writes nothing.
pub(crate) async fn check(
    nodes: &[Arc<NodeServices>],
) -> Result<Vec<(NodeId, Duration)>, BlessError> {
    let masters = meet(nodes).await?;
    let wait = nodes.iter().map(|node| node.settings.quarantine_length).max().unwrap_or_default();
    check_that_new(&masters, wait)?;
    Ok(masters.iter().map(|master| (master.node(), master.uptime)).collect())
}

async fn meet(nodes: &[Arc<NodeServices>]) -> Result<Vec<BlessTarget<'_>>, BlessError> {
    nodes.iter().try_for_each(|node| node.check_here())?;
    let masters = try_join_all(nodes.iter().map(|node| BlessTarget::meet_all(node))).await?;
    let masters: Vec<_> = masters.into_iter().flatten().collect();
    check_servers(&masters)?;
    Ok(masters)
}

fn check_that_new(masters: &[BlessTarget<'_>], wait: Duration) -> Result<(), BlessError> {
    check_blessings(masters)?;
    let theirs = masters.iter().map(|master| master.connection.standing().greatest_wait());
    check_ages(masters, theirs.chain([wait]))?;
    check_marks(masters)
}

impl<'a> BlessTarget<'a> {
    /// The one that there is, or all of a cluster.
    async fn meet_all(services: &'a NodeServices) -> Result<Vec<Self>, BlessError> {
        let deadline = services.now() + services.settings.connect_timeout;
        let connections = services.node.connections(deadline).await.map_err(|source| {
            let node = services.node_id().clone();
            BlessError::Node { node, source }
        })?;
        try_join_all(connections.into_iter().map(|one| Self::meet(services, one))).await
    }

    async fn meet(services: &'a NodeServices, connection: Connection) -> Result<Self, BlessError> {
        let node = || services.node_id().clone();
        let standing = connection.standing();
        let Some((run_id, uptime)) = standing.run_id().zip(standing.uptime(services.now())) else {
            return Err(match standing.told_run_id() {
                Err(source @ NodeError::Unsupported { .. }) => {
                    BlessError::Node { node: node(), source }
                }
                _ => BlessError::Unidentified { node: node() },
            });
        };
        let deadline = services.now() + services.settings.node_timeout;
        match services.node.survey(&connection, &[], deadline).await {
            Ok(Sight { found: Found::Foreign, .. }) => {
                Err(BlessError::ForeignMarker { node: node() })
            }
            Ok(sight) => Ok(Self { services, connection, run_id, uptime, sight }),
            Err(source) => Err(BlessError::Node { node: node(), source }),
        }
    }

    fn node(&self) -> NodeId {
        self.services.node_id().clone()
    }

    /// The mark that stands there, of this run or an earlier one.
    fn mark(&self) -> Option<&Mark> {
        self.sight.mark()
    }

    /// Puts `after` where `before` stands. False if something else does.
    async fn replace(&self, before: &Arc<str>, after: &Arc<str>) -> Result<bool, NodeError> {
        let deadline = self.services.now() + self.services.settings.node_timeout;
        let seat = MarkLocation { node: &self.services.node, connection: &self.connection };
        Ok(seat.replace(before, after, None, deadline).await?.is_some())
    }

    /// Puts `after` where the text still stands that was seen, or in the place of a wait that was
    /// written since: blessing takes that for nothing. The text that was replaced; `None` if something
    /// else stands there.
    async fn mark_with(&self, after: &Arc<str>) -> Result<Option<Arc<str>>, NodeError> {
        let before = self.sight.text();
        if self.replace(&before, after).await? {
            return Ok(Some(before));
        }
        let since = self.look().await?;
        let waits = since.mark().filter(|mark| mark.waits_until().is_some());
        let Some(waits) = waits.map(|mark| mark.text().clone()) else { return Ok(None) };
        Ok(self.replace(&waits, after).await?.then_some(waits))
    }

    async fn look(&self) -> Result<Sight, NodeError> {
        let node = &self.services.node;
        let deadline = self.services.now() + self.services.settings.node_timeout;
        node.survey(&self.connection, &[], deadline).await
    }

    /// Whether it waits by its mark, whatever its age.
    fn waits(&self) -> bool {
        self.mark().and_then(Mark::waits_until).is_some_and(|until| until > self.sight.server_time)
    }
}

fn check_servers(masters: &[BlessTarget<'_>]) -> Result<(), ConfigError> {
    for (i, one) in masters.iter().enumerate() {
        if let Some(other) = masters.iter().skip(i + 1).find(|other| other.run_id == one.run_id) {
            return Err(ConfigError::SameServer { server: other.node().to_string().into() });
        }
    }
    Ok(())
}

fn check_blessings(masters: &[BlessTarget<'_>]) -> Result<(), BlessError> {
    let mut blessings =
        masters.iter().filter_map(|master| Some((master, master.mark()?.blessing()?)));
    blessings.next().map_or(Ok(()), |(master, blessing)| {
        let Blessing { fleet, max_lease } = blessing.clone();
        Err(BlessError::BlessedBefore { node: master.node(), fleet: (&fleet).into(), max_lease })
    })
}

/// A mark by which a server only waits is as good as none.
fn check_marks(masters: &[BlessTarget<'_>]) -> Result<(), BlessError> {
    let is_mark = |mark: &Mark| mark.waits_until().is_none();
    let marked = masters.iter().find(|master| master.mark().is_some_and(is_mark));
    marked.map_or(Ok(()), |master| Err(BlessError::MarkedBefore { node: master.node() }))
}

fn check_ages(
    masters: &[BlessTarget<'_>],
    lengths: impl Iterator<Item = Duration>,
) -> Result<(), BlessError> {
    let limit = lengths.max().unwrap_or_default();
    let (young, old): (Vec<_>, Vec<_>) = masters.iter().partition(|master| master.uptime < limit);
    if old.is_empty() {
        return Ok(());
    }
    if young.is_empty() {
        if let Some(waiting) = masters.iter().find(|master| master.waits()) {
            return Err(BlessError::DataLost { node: waiting.node() });
        }
        let uptime = masters.iter().map(|master| master.uptime).min().unwrap_or_default();
        return Err(BlessError::Old { uptime });
    }
    let names =
        |masters: Vec<&BlessTarget<'_>>| masters.into_iter().map(BlessTarget::node).collect();
    Err(BlessError::HalfYoung { young: names(young), old: names(old) })
}

async fn write_all(
    masters: &[BlessTarget<'_>],
    blessing: &Blessing,
    wait: Duration,
) -> Result<(), BlessError> {
    let after: Vec<_> = masters.iter().map(|m| m.sight.origin.blessed(blessing, wait)).collect();
    let writes = masters.iter().zip(&after).map(|(master, after)| master.mark_with(after));
    let written = join_all(writes).await;
    let failed = masters.iter().zip(&written).find(|(_, result)| !matches!(result, Ok(Some(_))));
    let Some((failed, result)) = failed else {
        // All at once: an acquire meanwhile is not to see half of a fleet.
        for (master, text) in masters.iter().zip(after) {
            master.connection.standing().was_blessed(&master.sight, Mark::read(&text));
        }
        return Ok(());
    };
    let ours = masters.iter().zip(&after).zip(&written).filter_map(|(ours, result)| {
        let (master, after) = ours;
        match result {
            Ok(before) => Some((master, after, before.clone()?)),
            Err(error) => error.is_unknown().then(|| (master, after, master.sight.text())),
        }
    });
    // On the same socket, so behind a write that was not answered.
    let back = ours.map(async |(master, after, before)| {
        let taken_back = master.replace(after, &before).await;
        taken_back.is_err().then(|| master.node())
    });
    let left = join_all(back).await.into_iter().flatten().collect();
    let node = failed.node();
    Err(match result {
        Err(source) => BlessError::NotWritten { node, source: source.clone(), left },
        Ok(_) => BlessError::Overtaken { node, left },
    })
}
