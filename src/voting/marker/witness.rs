//! The witness: that a run of a server has had a mark is kept where no data is lost.
//!
//! A script in the server's script cache outlives FLUSHALL and a change of roles, but no restart: so
//! who finds no mark, and no witness, has found a run that never had one.

use crate::standing::RunId;

/// A script that does nothing and is known by its text.
#[derive(Debug)]
pub(crate) struct Witness {
    pub(crate) source: String,
    pub(crate) sha: String,
}

impl Witness {
    /// The one for a mark, by its key, in a database of a run.
    pub(crate) fn of(run_id: RunId, db: i64, key: &str) -> Self {
        let source =
            format!("-- palisade: run {run_id} has had a mark {key} in database {db}\nreturn 1");
        let sha = sha1_smol::Sha1::from(&source).digest().to_string();
        Self { source, sha }
    }
}
