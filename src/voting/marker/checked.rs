//! An acquire that compares the mark in the same script, where its server is vetted.

use std::sync::Arc;

use crate::{node::Node, socket::Connection, wire::Check};

/// Stands before an acquire in one text.
pub(crate) const CHECK: &str = include_str!("check.lua");

/// What is to be there as `mark` says, if there is one. In a cluster the mark itself may be on another
/// server: there the history of the data is compared, which is what a failover changes.
pub(crate) fn by_mark(
    mark: Option<&Arc<str>>,
    node: &Node,
    connection: &Connection,
) -> Option<Check> {
    let key = || Some(connection.marker().clone());
    let (key, sign) = match (node.is_cluster(), node.is_followed()) {
        (true, _) => (None, ONLY_HISTORY),
        (false, true) if planted!(RunNotCompared) => (key(), ""),
        (false, true) if planted!(ReplidNotCompared) => (key(), ""),
        (false, true) => (key(), AND_HISTORY),
        (false, false) => (key(), ""),
    };
    let names_nothing = node.is_cluster() && planted!(ReplidNotCompared);
    let text = |known: &Arc<str>| if names_nothing { "".into() } else { known.clone() };
    mark.map(|known| Check { prologue: CHECK, key, text: text(known), sign })
}

/// As the script has them.
const ONLY_HISTORY: &str = "@";
const AND_HISTORY: &str = "!";
