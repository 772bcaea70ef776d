//! Members that do not confirm, and what a loss through them is called. Pure.

use crate::{by_member::ByMember, error::LostCause, voting::Voter, wire::Outcome};

/// Why a member does not confirm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Absence {
    /// Nobody holds the lock there, as far as we know.
    Gone,
    /// Another does.
    Taken,
    /// Our key stands there, shown by another process than the one that granted it.
    Restarted,
}

impl Absence {
    /// What the answer to a renewal or a count tells of a member that does not confirm.
    pub(crate) const fn of(outcome: Outcome) -> Self {
        match outcome.code {
            Outcome::DONE => Self::Restarted,
            _ if outcome.is_taken() => Self::Taken,
            _ => Self::Gone,
        }
    }
}

/// Why a claim is lost that fewer than `need` members confirm for. `absent` has one entry for each
/// member, `None` if it confirms.
pub(crate) fn cause_of_loss(
    members: &ByMember<Voter>,
    need: usize,
    absent: &ByMember<Option<Absence>>,
) -> LostCause {
    let is_taken = |absence: &Option<Absence>| *absence == Some(Absence::Taken);
    let taken = absent.values().filter(|absence| is_taken(absence)).count();
    if members.len() > 1 && need < members.len() {
        let by_others_alone = taken > members.len() - need;
        return if by_others_alone { LostCause::QuorumTaken } else { LostCause::QuorumGone };
    }
    let mut all = members.values().zip(absent.values());
    let lost = all.find(|(_, absence)| absence.is_some()).filter(|_| members.len() > 1);
    match lost {
        Some((of, absence)) => {
            let (node, name) = (of.services.node_id().clone(), of.shown_name().into_text());
            if is_taken(absence) {
                LostCause::MemberTaken { node, name }
            } else {
                LostCause::MemberGone { node, name }
            }
        }
        None if taken > 0 => LostCause::Taken,
        None => LostCause::Gone,
    }
}
