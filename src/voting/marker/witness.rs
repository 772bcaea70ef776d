//! The witness: that a run of a server has had a mark is kept where no data is lost.
//!
//! A script in the server's script cache outlives FLUSHALL and a change of roles, but no restart. So a client that
//! finds no mark, and no witness, has found a run that never had one.

use crate::standing::{RunId, WaitClass};

/// The witnesses of a mark, by its key, in a database of a run: one for each class of D.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Witnesses<'a> {
    pub(crate) run_id: RunId,
    pub(crate) db: i64,
    pub(crate) key: &'a str,
}

/// A script that does nothing and is known by its text.
#[derive(Debug)]
pub(crate) struct Witness {
    pub(crate) source: String,
    pub(crate) sha: String,
}

impl Witnesses<'_> {
    /// That a client with a D of this class has asked by the mark. The usual one is that of versions which had no classes.
    pub(crate) fn of(self, class: WaitClass) -> Witness {
        let Self { run_id, db, key } = self;
        let waits = if class == WaitClass::USUAL {
            String::new()
        } else {
            format!(", of a wait up to {} ms", class.longest().as_millis())
        };
        let source = format!(
            "-- palisade: run {run_id} has had a mark {key} in database {db}{waits}\nreturn 1"
        );
        let sha = sha1_smol::Sha1::from(&source).digest().to_string();
        Witness { source, sha }
    }
}
