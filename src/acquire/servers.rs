//! Which server a member is on: the address says it only half, the run id says it.

use std::sync::Arc;

use super::tally::Rule;
use crate::{
    by_member::{ByMember, MemberId},
    error::ConfigError,
    voting::Voter,
};

/// What can be known before anything is sent: the same address twice.
pub(crate) fn check_addresses(rule: Rule, members: &ByMember<Voter>) -> Result<(), ConfigError> {
    check(
        members,
        |one, other| {
            one.services.node_id() == other.services.node_id() && excludes(rule, one, other)
        },
        rule,
    )
}

/// What the servers have told by now: two addresses of one server process.
pub(crate) fn check_processes(rule: Rule, members: &ByMember<Voter>) -> Result<(), ConfigError> {
    check(
        members,
        |one, other| {
            let (a, b) = (one.services.node.run_id(), other.services.node.run_id());
            a.is_some() && a == b && excludes(rule, one, other)
        },
        rule,
    )
}

/// Whether two members on one server are one too many: always for a majority, since that server
/// would have two votes; for all of them only if it is the same key.
fn excludes(rule: Rule, one: &Voter, other: &Voter) -> bool {
    match rule {
        Rule::Majority => true,
        Rule::All => {
            one.kind.name() == other.kind.name()
                && one.services.node.db() == other.services.node.db()
        }
    }
}

fn check(
    members: &ByMember<Voter>,
    clash: impl Fn(&Voter, &Voter) -> bool,
    rule: Rule,
) -> Result<(), ConfigError> {
    for (i, one) in members.values().enumerate() {
        for other in members.values().skip(i + 1) {
            if clash(one, other) {
                return Err(match rule {
                    Rule::All => ConfigError::DuplicateMember { member: other.shown_identity() },
                    Rule::Majority => ConfigError::SameServer {
                        server: other.services.node_id().to_string().into(),
                    },
                });
            }
        }
    }
    Ok(())
}

/// What the markers have told by now: that the members are not of one fleet, or that its other
/// clients do not reckon with leases as long as ours.
pub(crate) fn check_fleets(members: &ByMember<Voter>) -> Result<(), ConfigError> {
    let mut first: Option<(&Voter, Arc<str>)> = None;
    for member in members.values() {
        let Some(marker) = member.blessing()? else { continue };
        match &first {
            Some((one, fleet)) if *fleet != marker.fleet => {
                return Err(ConfigError::DifferentFleets {
                    one: one.services.node_id().to_string().into(),
                    other: member.services.node_id().to_string().into(),
                });
            }
            Some(_) => {}
            None => first = Some((member, marker.fleet)),
        }
    }
    Ok(())
}

/// The order in which all processes take the members of a `MultiLock` once they got in each
/// other's way: by server process, then by name.
pub(crate) fn common_order(members: &ByMember<Voter>) -> Vec<MemberId> {
    let mut order: Vec<MemberId> = members.ids().collect();
    order.sort_by_key(|id| {
        let member = &members[*id];
        let (run_id, node) = (member.services.node.run_id(), member.services.node_id().clone());
        (run_id, run_id.is_none().then_some(node), member.kind.name().clone())
    });
    order
}
