//! What locks are called where they are spoken of: in errors, in `Debug`, in events.

use std::collections::BTreeSet;

use super::voter::Voter;
use crate::{
    by_member::ByMember,
    error::{LockName, Text},
};

/// What the lock over `members` is called: by the first of its names, and how many others it has.
/// The same name on many servers is one.
pub(crate) fn lock_name(members: &ByMember<Voter>) -> LockName {
    members.first().shown_name().and_more(more_names(members) as usize)
}

/// How many names there are beside the first.
pub(crate) fn more_names(members: &ByMember<Voter>) -> u32 {
    if members.is_one() {
        return 0;
    }
    let names: BTreeSet<_> = members.values().map(Voter::name).collect();
    u32::try_from(names.len().saturating_sub(1)).unwrap_or(u32::MAX)
}

impl Voter {
    pub(crate) fn shown_name(&self) -> LockName {
        self.services.shown_name_of(self.kind.name())
    }

    /// Server and name, to show.
    pub(crate) fn shown_identity(&self) -> Text {
        format!("{} {:?}", self.services.node_id(), self.shown_name().as_str()).into()
    }
}
