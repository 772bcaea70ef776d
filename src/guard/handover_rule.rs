//! What may come after a turn without a word to the servers.

use std::{hash::BuildHasher, sync::Arc};

use foldhash::fast::FixedState;

use crate::{
    claim::Claim,
    lease::Term,
    process::ServiceSettings,
    voting::{Members, Voter},
    wait::{HandoverTerms, Line, Lines, LocalHandover},
};

/// Which holder may come after a turn.
#[derive(Debug, Clone)]
pub(crate) struct HandoverRule {
    /// Where the waiters for the same composite wait; `None` for a lock by itself.
    composite: Option<Arc<str>>,
    /// Whether the turn has no owner that may enter again.
    is_anonymous: bool,
}

impl HandoverRule {
    pub(crate) const fn new(composite: Option<Arc<str>>, is_anonymous: bool) -> Self {
        Self { composite, is_anonymous }
    }

    /// On what terms a turn with these members and this lease is had from another, or passed on; `None`
    /// if it is not.
    pub(crate) fn terms(&self, members: &Members, lease: Term) -> Option<HandoverTerms> {
        let is_free = self.is_anonymous || planted!(FormerOwnerEnters);
        let may_pass = is_free && lease.is_renewed() && handover(members) != LocalHandover::Off;
        may_pass.then(|| HandoverTerms {
            lease,
            sort: members.values().map(sort).fold(0, u64::wrapping_add),
        })
    }

    /// The line of waiters for the same, if there are any.
    pub(super) fn line(&self, members: &Members) -> Option<Arc<Line<Claim>>> {
        let (lines, name) = lines(members, self.composite.as_ref());
        lines.line(name)
    }
}

/// The lines in which waiters for these members stand, and by which name: those of the process for a composite of this
/// identity, of its client for a lock by itself.
pub(crate) fn lines<'a>(
    members: &'a Members,
    composite: Option<&'a Arc<str>>,
) -> (&'a Arc<Lines<Claim>>, &'a Arc<str>) {
    let first = members.first();
    match composite {
        Some(composite) => (first.services.process.lines.of(), composite),
        None => (first.services.lines.of(), first.kind.name()),
    }
}

/// What the clients of the members allow.
pub(super) fn handover(members: &Members) -> LocalHandover {
    let settings = members.values().map(|member| &member.services.settings);
    let allowed = settings.map(|settings: &ServiceSettings| settings.local_handover);
    allowed.reduce(LocalHandover::stricter).unwrap_or(LocalHandover::Off)
}

/// The same for members that are of one client, have the same kind of counter, and have to show the same
/// before their servers vote.
fn sort(member: &Voter) -> u64 {
    let client = Arc::as_ptr(&member.services).addr();
    let kind = &member.kind;
    let all = (client, kind.is_fenced(), kind.mode(), kind.admission(), member.vetting);
    FixedState::default().hash_one(all)
}
