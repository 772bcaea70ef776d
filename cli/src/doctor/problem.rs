//! What speaks against a server. Pure.

use std::time::Duration;

use palisade::{
    error::NodeError,
    inspect::{ReplicaHealth, ServerHealth},
};

use crate::duration;

/// Everything that an operator should do something about.
pub(super) fn problems(
    health: &ServerHealth,
    has_votes: bool,
    ahead: i64,
    skew: Duration,
) -> Vec<String> {
    let all = [
        vote(health).filter(|_| has_votes),
        eviction(health),
        memory(health),
        writing(health),
        clock(ahead, skew),
        connections(health),
    ];
    all.into_iter().flatten().chain(replicas(health)).collect()
}

fn vote(health: &ServerHealth) -> Option<String> {
    match &health.vote {
        Ok(()) => None,
        Err(NodeError::Quarantined { counts_in, .. }) => {
            let left = duration::show_roughly(*counts_in);
            Some(format!("its vote does not count for {left}: it may have forgotten locks"))
        }
        Err(error) => Some(format!("its vote does not count: {error}")),
    }
}

fn eviction(health: &ServerHealth) -> Option<String> {
    let policy = health.eviction.as_deref().filter(|policy| *policy != "noeviction")?;
    let has_limit = health.memory_limit.is_some_and(|limit| limit > 0);
    has_limit.then(|| {
        format!(
            "it throws away locks that are held when its memory is full: maxmemory-policy {policy}"
        )
    })
}

fn memory(health: &ServerHealth) -> Option<String> {
    let (used, limit) = health.memory_used.zip(health.memory_limit)?;
    let is_short = limit > 0 && used.saturating_mul(100) > limit.saturating_mul(SHORT_AT);
    is_short.then(|| format!("its memory is used by {}%", used.saturating_mul(100) / limit.max(1)))
}

fn writing(health: &ServerHealth) -> Option<String> {
    health.writes_fail?.then(|| "it cannot write to its disk".to_owned())
}

/// Half of what may differ between two is what one may differ from us.
fn clock(ahead: i64, skew: Duration) -> Option<String> {
    let off = Duration::from_micros(ahead.unsigned_abs());
    let which = if ahead > 0 { "ahead of" } else { "behind" };
    (off > skew / 2).then(|| {
        let (off, half) = (duration::show_roughly(off), duration::show_roughly(skew / 2));
        format!(
            "its clock is {off} {which} that of this host, more than half of --clock-skew, {half}"
        )
    })
}

fn connections(health: &ServerHealth) -> Option<String> {
    let (connected, most) = health.connections?;
    let most = most.filter(|most| connected.saturating_mul(100) > most.saturating_mul(SHORT_AT))?;
    Some(format!("{connected} of {most} connections are in use"))
}

fn replicas(health: &ServerHealth) -> Vec<String> {
    let all = health.replicas.iter().flatten();
    all.filter_map(lag).collect()
}

/// What a replica lacks, if that is more than the last moments.
pub(super) fn lag(replica: &ReplicaHealth) -> Option<String> {
    let address = &replica.address;
    if !replica.is_online {
        return Some(format!("replica {address} is taking in all data"));
    }
    let mb = replica.behind / (1 << 20);
    (mb > 0).then(|| format!("replica {address} is {mb} MB behind"))
}

/// In percent.
const SHORT_AT: u64 = 80;
