//! Asking the servers which candidate leads.

use std::time::Duration;

use futures::{StreamExt, stream::FuturesUnordered};

use super::{
    announced::Leader,
    named::Named,
    script::{LeaderLook, ToldLeader},
};
use crate::{
    error::{ConfigError, InspectError, NodeError},
    process::Gate,
    voting::{Members, Voter},
};

/// What a look found.
#[derive(Debug)]
pub(super) struct Sighting {
    pub(super) leader: Option<Leader>,
    /// When its hold ends, unless it is renewed.
    pub(super) ends_in: Option<Duration>,
}

/// Whether they can be asked at all.
pub(super) fn check(members: &Members) -> Result<(), ConfigError> {
    members.values().try_for_each(|of| {
        of.check_name()?;
        of.services.check_here()
    })
}

/// Asks all servers, until it is clear what they say.
pub(super) async fn look(members: &Members) -> Result<Sighting, InspectError> {
    check(members)?;
    let asked = members.values().enumerate().map(async |(at, of)| (at, of, ask(of).await));
    let mut asked: FuturesUnordered<_> = asked.collect();
    let mut told: Vec<Option<ToldLeader>> = vec![None; members.len()];
    let mut first_error = None;
    while let Some((at, of, answer)) = asked.next().await {
        match (answer, told.get_mut(at)) {
            (Ok(answer), Some(told)) => *told = Some(answer),
            (Ok(_), None) => {}
            (Err(source), _) => first_error = first_error.or_else(|| Some(failed(of, source))),
        }
        match Named::of(&told) {
            Named::Leader(leader, ends_in) => {
                return Ok(Sighting { leader: Some(leader), ends_in });
            }
            Named::Nobody => return Ok(Sighting { leader: None, ends_in: None }),
            Named::Unknown => {}
        }
    }
    // What a shutdown of ours broke off is no outage of a server.
    let is_closed = |of: &&Voter| of.services.gatekeeper.gate() == Gate::Closed;
    let closed = members.values().find(is_closed).map(|of| failed(of, NodeError::Closed));
    let error = closed.or(first_error);
    Err(error.unwrap_or_else(|| failed(members.first(), NodeError::Closed)))
}

async fn ask(of: &Voter) -> Result<ToldLeader, NodeError> {
    let deadline = of.services.now() + of.services.settings.node_timeout;
    let lock = of.kind.name();
    let answer = of.services.node.call(lock, &LeaderLook::at(lock), deadline).await;
    answer.map(|(_, answer)| answer.reply)
}

fn failed(of: &Voter, source: NodeError) -> InspectError {
    let (lock, node) = (of.services.shown_name_of(of.kind.name()), of.services.node_id());
    InspectError::Node { lock, node: node.clone(), source }
}
