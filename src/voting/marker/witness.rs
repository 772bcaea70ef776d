//! The witness: that a run of a server has had a mark is kept where no data is lost.
//!
//! A script in the server's script cache outlives FLUSHALL and a change of roles, but no restart. So a client that
//! finds no mark, and no witness, has found a run that never had one.

use std::iter;

use crate::{
    socket::Connection,
    standing::{RunId, WaitClass},
};

/// The witnesses of a mark, by its key, in a database of a run: one for each class of D.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Witnesses<'a> {
    run_id: RunId,
    db: i64,
    key: &'a str,
}

/// A script that does nothing and is known by its text.
#[derive(Debug)]
pub(crate) struct Witness {
    pub(crate) source: String,
    pub(crate) sha: String,
}

impl<'a> Witnesses<'a> {
    /// Those of the run that `connection` leads to; `None` if it does not tell which that is.
    pub(crate) fn behind(connection: &'a Connection, db: i64) -> Option<Self> {
        let run_id = connection.standing().run_id()?;
        Some(Self { run_id, db, key: connection.marker() })
    }

    /// Those that a look asks for: the first tells whether the run ever had a mark, and the last whether a client with a
    /// D of this class asked by one.
    pub(crate) fn asked(self, class: WaitClass) -> Vec<Witness> {
        let own = (class != WaitClass::USUAL).then(|| self.of(class));
        iter::once(self.of(WaitClass::USUAL)).chain(own).collect()
    }

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

/// The digests by which a server is asked for them.
pub(crate) fn shas<'a>(witnesses: impl IntoIterator<Item = &'a Witness>) -> Vec<&'a str> {
    witnesses.into_iter().map(|witness| &*witness.sha).collect()
}
