//! What an operator is told on stderr: that something is wrong, once, and that it is over. Pure, but for the telling.

use std::collections::BTreeMap;

use palisade::inspect::LockList;

use crate::{
    examine::{Examined, one_server_twice},
    tell,
};

/// What was told of and is not over.
#[derive(Debug, Default)]
pub(super) struct Troubles {
    known: BTreeMap<String, String>,
}

impl Troubles {
    /// What is wrong now, with its cause.
    pub(super) fn learn(&mut self, now: BTreeMap<String, String>) {
        for (what, why) in &now {
            if !self.known.contains_key(what) {
                tell(format_args!("{what}: {why}"));
            }
        }
        for what in self.known.keys().filter(|what| !now.contains_key(*what)) {
            tell(format_args!("{what}: that is over"));
        }
        self.known = now;
    }
}

/// Servers that do not answer, or are not what they are taken for.
pub(super) fn of_servers(examined: &[Examined]) -> BTreeMap<String, String> {
    let silent = examined.iter().filter_map(|one| {
        let silence = one.answer.as_ref().err()?;
        Some((format!("{} is down", one.server), silence.message.clone()))
    });
    let twice = one_server_twice(examined).map(|(one, other)| {
        let why = "its votes are counted twice: name each server once".to_owned();
        (format!("{one} and {other} are the same server"), why)
    });
    silent.chain(twice).collect()
}

/// What was not counted, and will not be the next time either. What passes by itself shows in the numbers.
pub(super) fn of_list(list: &LockList) -> BTreeMap<String, String> {
    let failed = list.failed.iter().filter(|(_, error)| !error.is_transient());
    let failed = failed.map(|(node, error)| (format!("{node} is not counted"), error.to_string()));
    let unread = (list.unread > 0).then(|| {
        let why = format!("{} hashes, which may be locks", list.unread);
        ("not all can be read".to_owned(), why)
    });
    failed.chain(unread).collect()
}
