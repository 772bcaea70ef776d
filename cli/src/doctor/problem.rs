//! What speaks against a server. Pure.

use std::time::Duration;

use palisade::inspect::{ReplicaHealth, ServerHealth};

use crate::{duration, examine::vote_problem};

/// What clients of these servers are set to reckon with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Allowance {
    /// By how much clocks may differ.
    pub(crate) skew: Duration,
    /// For how long a master that was replaced may go on.
    pub(crate) lag: Duration,
}

/// Everything that an operator should do something about.
pub(super) fn problems(
    health: &ServerHealth,
    has_votes: bool,
    ahead: i64,
    allowance: &Allowance,
) -> Vec<String> {
    let all = [
        vote_problem(health).filter(|_| has_votes),
        wait(health, allowance).filter(|_| has_votes),
        eviction(health),
        memory(health),
        writing(health),
        clock(ahead, allowance.skew),
        connections(health),
    ];
    all.into_iter().flatten().chain(replicas(health)).collect()
}

/// Whether it is waited for longer than the leases explain that it was blessed for.
fn wait(health: &ServerHealth, allowance: &Allowance) -> Option<String> {
    let blessed = health.blessed_for?;
    let leases = blessed.saturating_mul(101) / 100;
    let most = leases.saturating_add(allowance.skew).saturating_add(allowance.lag + LEEWAY);
    (health.longest_wait > most).then(|| {
        let wait = duration::show_roughly(health.longest_wait);
        let blessed = duration::show_roughly(blessed);
        format!(
            "after a start it does not vote for {wait}, though it was blessed for leases of {blessed}: some client has set \
             a longer max_lease, fleet_max_lease or failover_lag; `palisade bless --force` takes that back"
        )
    })
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

/// Of other clients, whose skew and lag may be set otherwise.
const LEEWAY: Duration = Duration::from_secs(60);

/// In percent.
const SHORT_AT: u64 = 80;
