//! The store, which remembers the greatest token it has seen and refuses lesser ones.

use std::path::Path;

use palisade::FencingToken;
use rusqlite::{Connection, Result, params};

pub(crate) struct Store(Connection);

impl Store {
    pub(crate) fn open(file: &Path) -> Result<Self> {
        Ok(Self(Connection::open(file)?))
    }

    pub(crate) fn create(file: &Path, balance: i64) -> Result<Self> {
        let store = Self::open(file)?;
        store.0.execute_batch(
            "CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER, fence INTEGER NOT NULL)",
        )?;
        store.0.execute("INSERT INTO account VALUES (1, ?1, 0)", [balance])?;
        Ok(store)
    }

    /// Writes the balance under the token. False if a later holder has written: then nothing was
    /// changed.
    ///
    /// One statement, so that nothing comes between the comparison and the write. `<=` and not `<`:
    /// a holder may write more than once under its token.
    pub(crate) fn write(&self, token: FencingToken, balance: i64) -> Result<bool> {
        // Tokens stay below 2^53.
        let token = i64::try_from(token.get()).unwrap_or(i64::MAX);
        let changed = self.0.execute(
            "UPDATE account SET balance = ?3, fence = ?1 WHERE id = ?2 AND fence <= ?1",
            params![token, 1, balance],
        )?;
        Ok(changed > 0)
    }

    pub(crate) fn balance(&self) -> Result<i64> {
        self.0.query_row("SELECT balance FROM account WHERE id = 1", [], |row| row.get(0))
    }
}
