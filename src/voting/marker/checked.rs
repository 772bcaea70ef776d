//! An acquire that compares the mark in the same script, where its server is vetted.

use std::sync::Arc;

use crate::wire::Check;

/// Stands before an acquire in one text.
pub(crate) const CHECK: &str = include_str!("check.lua");

/// The mark that is to stand there, if one is, in its key. Where the node is `followed` from server to
/// server, the history of the data is compared, too.
pub(crate) fn by_mark(mark: Option<&Arc<str>>, key: &Arc<str>, is_followed: bool) -> Option<Check> {
    mark.map(|text| {
        let text = if is_followed { format!("!{text}").into() } else { text.clone() };
        Check { prologue: CHECK, key: key.clone(), text }
    })
}
