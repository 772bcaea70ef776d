// keeps: deciders-pure
//! Members that do not confirm, and what a loss through them is called. Pure.

use crate::{by_member::ByMember, error::LostCause, voting::Voter, wire::Outcome};

/// Why a member does not confirm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Absence {
    /// The lock has no holder there, as far as we know.
    #[default]
    Gone,
    /// Another does.
    Taken,
    /// Another process runs there than the one that granted it, and others may have been granted it in
    /// between, though our key may stand there.
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
        return cause_among_most(members.len() - need, absent);
    }
    let mut all = members.values().zip(absent.values());
    let lost = all.find(|(_, absence)| absence.is_some()).filter(|_| members.len() > 1);
    match lost {
        Some((of, absence)) => {
            let (node, name) = (of.services.node_id().clone(), of.shown_name().into_text());
            match absence {
                Some(Absence::Taken) => LostCause::MemberTaken { node, name },
                Some(Absence::Restarted) => LostCause::MemberRestarted { node, name },
                Some(Absence::Gone) | None => LostCause::MemberGone { node, name },
            }
        }
        None if taken > 0 => LostCause::Taken,
        None => LostCause::Gone,
    }
}

/// The same where `spare` members may be absent.
fn cause_among_most(spare: usize, absent: &ByMember<Option<Absence>>) -> LostCause {
    let of = |what| absent.values().filter(|absence| **absence == Some(what)).count();
    let taken = of(Absence::Taken);
    if taken > spare {
        LostCause::QuorumTaken
    } else if taken + of(Absence::Gone) <= spare {
        LostCause::QuorumRestarted
    } else {
        LostCause::QuorumGone
    }
}

#[cfg(test)]
mod tests {
    use super::{Absence::*, *};

    #[test]
    fn cause_is_that_of_the_members_without_which_it_would_stand() {
        for (absent, cause) in [
            ([Some(Gone), Some(Gone), None], LostCause::QuorumGone),
            ([Some(Gone), Some(Taken), None], LostCause::QuorumGone),
            ([None, Some(Taken), Some(Taken)], LostCause::QuorumTaken),
            ([Some(Restarted), Some(Taken), Some(Taken)], LostCause::QuorumTaken),
            ([Some(Restarted), Some(Restarted), None], LostCause::QuorumRestarted),
            ([Some(Restarted), Some(Gone), None], LostCause::QuorumRestarted),
            ([Some(Restarted), Some(Gone), Some(Taken)], LostCause::QuorumGone),
        ] {
            let absences = ByMember::new(absent).unwrap();
            assert_eq!(cause_among_most(1, &absences), cause, "{absent:?}");
        }
    }
}
