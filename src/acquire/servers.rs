//! Which server a member is on: the address says it only half, the run id says it.

use std::{collections::BTreeMap, sync::Arc};

use super::tally::Rule;
use crate::{
    by_member::{ByMember, MemberId},
    error::{AcquireError, ConfigError},
    process::Gate,
    standing::Vetting,
    voting::Voter,
};

/// Checks what can be known before anything is sent: the same address twice.
pub(crate) fn check_addresses(rule: Rule, members: &ByMember<Voter>) -> Result<(), ConfigError> {
    check_pairs(rule, members, |one, other| {
        let (one, other) = (&members[one].services.node, &members[other].services.node);
        one.id() == other.id() || one.is_cluster() && one.shares_address(other)
    })
}

/// Checks that no client was closed. One that drains refuses what comes, and not what is under way.
pub(crate) fn check_open(members: &ByMember<Voter>) -> Result<(), AcquireError> {
    match gate(members) {
        Gate::Open | Gate::Draining => Ok(()),
        Gate::Drained => Err(AcquireError::Draining),
        Gate::Closed => Err(AcquireError::Shutdown),
    }
}

/// What may be acquired by all of their clients.
pub(crate) fn gate(members: &ByMember<Voter>) -> Gate {
    let gates = members.values().map(|member| member.services.gatekeeper.gate());
    gates.max().unwrap_or(Gate::Open)
}

/// Checks what the servers have told by now.
pub(crate) fn check_servers(rule: Rule, members: &ByMember<Voter>) -> Result<(), ConfigError> {
    if !members.is_one() {
        // Two addresses of one server process.
        let runs = members.map(|member| member.services.node.run_id());
        check_pairs(rule, members, |one, other| {
            let of = |member| &members[member].services.node;
            runs[one].is_some() && runs[one] == runs[other] || of(one).shares_cluster(of(other))
        })?;
    }
    check_fleets(members)
}

/// Checks that no two members on one server are one too many: for a majority they always are, since
/// that server would have two votes; for all of them only if it is the same key.
fn check_pairs(
    rule: Rule,
    members: &ByMember<Voter>,
    on_one_server: impl Fn(MemberId, MemberId) -> bool,
) -> Result<(), ConfigError> {
    for group in groups(rule, members) {
        for (before, other) in group.iter().enumerate() {
            let mut others = group.iter().take(before);
            let is_too_many = |one: &MemberId| {
                let is_key =
                    rule == Rule::Majority || is_same_key(&members[*one], &members[*other]);
                is_key && on_one_server(*one, *other)
            };
            if others.any(is_too_many) {
                let other = &members[*other];
                return Err(match rule {
                    Rule::Majority => {
                        let server = other.services.node_id().to_string().into();
                        ConfigError::SameServer { server }
                    }
                    Rule::All => ConfigError::DuplicateMember { member: other.shown_identity() },
                });
            }
        }
    }
    Ok(())
}

fn is_same_key(one: &Voter, other: &Voter) -> bool {
    one.kind.name() == other.kind.name() && one.services.node.db() == other.services.node.db()
}

/// Groups within which each member is to be compared with each: all members of a majority, of which there are as many as
/// servers; else the members that share a key, of which there should be none.
fn groups(rule: Rule, members: &ByMember<Voter>) -> Vec<Vec<MemberId>> {
    if rule == Rule::Majority || members.len() <= FEW {
        return vec![members.ids().collect()];
    }
    let mut by_key = BTreeMap::<_, Vec<MemberId>>::new();
    for (id, member) in members.iter() {
        by_key.entry((member.services.node.db(), member.kind.name())).or_default().push(id);
    }
    let mut groups: Vec<_> = by_key.into_values().filter(|group| group.len() > 1).collect();
    groups.sort_unstable();
    groups
}

/// So few are sooner compared than sorted.
const FEW: usize = 8;

/// Checks what the marks of the servers' present runs have told by now, where they matter: that the
/// members are of one fleet, and that its other clients reckon with leases as long as ours.
fn check_fleets(members: &ByMember<Voter>) -> Result<(), ConfigError> {
    let mut first: Option<(&Voter, Arc<str>)> = None;
    for member in members.values().filter(|member| member.vetting != Vetting::None) {
        let standing = member.services.node.standing();
        let Some(blessing) = standing.and_then(|standing| standing.blessing()) else { continue };
        let server = || member.services.node_id().to_string().into();
        let max_lease = member.services.settings.max_lease;
        if blessing.max_lease < max_lease {
            let (server, blessed) = (server(), blessing.max_lease);
            return Err(ConfigError::MaxLeaseAboveFleet { server, max_lease, blessed });
        }
        match &first {
            Some((one, fleet)) if *fleet != blessing.fleet => {
                let one = one.services.node_id().to_string().into();
                return Err(ConfigError::DifferentFleets { one, other: server() });
            }
            Some(_) => {}
            None => first = Some((member, blessing.fleet)),
        }
    }
    Ok(())
}

/// The order in which all processes take the members of a `MultiLock` once they got in each
/// other's way: by server process, then by name.
pub(crate) fn common_order(members: &ByMember<Voter>) -> Vec<MemberId> {
    let mut order: Vec<MemberId> = members.ids().collect();
    order.sort_by_cached_key(|id| {
        let member = &members[*id];
        let (run_id, node) = (member.services.node.run_id(), member.services.node_id().clone());
        (run_id, run_id.is_none().then_some(node), member.kind.name().clone())
    });
    order
}
