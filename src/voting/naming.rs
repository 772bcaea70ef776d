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
    let first = members.first().shown_name();
    if members.is_one() {
        return first;
    }
    let names: BTreeSet<_> = members.values().map(Voter::name).collect();
    first.and_more(names.len() - 1)
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
