//! Statements by which a database refuses the late write of a holder that has lost its lock.
//!
//! No lock can stop a process that was suspended between its last look and its write. The database can: it keeps the greatest
//! [`FencingToken`](crate::FencingToken) that it has seen for a resource, and refuses whatever comes with a smaller one. This
//! module has the SQL for that, tried on real servers. It opens no connection; any driver will do.
//!
//! # A table of its own
//!
//! [`CREATE_TABLE`] makes one table for all resources. In *each* transaction that writes under the lock, the first statement
//! is [`postgres::ADMIT`] or [`sqlite::ADMIT`] with two parameters: a name for the resource, and the token. The number of rows
//! that it changed is the answer, and [`FenceAnswer::from_rows`] reads it:
//!
//! | rows | what it means | what to do |
//! |---|---|---|
//! | 1 | the token is the greatest so far, the first, or equal to it | write, commit |
//! | 0 | a later holder was here | roll back and stop: the lock is lost, a repetition cannot succeed |
//! | an error | nothing is known to be admitted | roll back |
//!
//! The row stays locked until the transaction ends. So what is written behind it is in the order of the tokens. A
//! smaller token waits for a greater one's commit, and is refused then; a greater one waits for a smaller one's, and
//! follows it.
//!
//! ```no_run
//! # use palisade::{FencedLock, fence::{self, FenceAnswer}};
//! # trait Driver { fn execute(&self, sql: &str, a: &str, b: i64) -> Result<u64, Box<dyn std::error::Error>>; }
//! # fn pay(transaction: &dyn Driver, token: palisade::FencingToken) -> Result<(), Box<dyn std::error::Error>> {
//! // In a transaction, before its first read that matters:
//! let rows = transaction.execute(fence::postgres::ADMIT, "payouts", token.as_i64())?;
//! match FenceAnswer::from_rows(rows)? {
//!     FenceAnswer::Admitted => { /* read, write, commit */ }
//!     FenceAnswer::Stale => { /* roll back: a later holder is at work */ }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # A column of the row that is written
//!
//! Where one row is all that the lock protects, its own column will do, and needs no second statement:
//!
//! ```sql
//! UPDATE accounts SET balance = $3, fence = $2 WHERE id = $1 AND fence <= $2
//! ```
//!
//! Zero rows then have *two* meanings: the token is stale, or there is no such row. `SELECT fence FROM accounts WHERE id = $1`
//! in the same transaction tells them apart: no row, or a fence above the token. A row is made with `fence` 0 and never deleted
//! under the lock; a row that is deleted and made anew has forgotten what it saw.
//!
//! `<=` lets one holder write several times under its token. Where a hold makes one write that must not be repeated either,
//! `fence < $2` refuses the repetition.
//!
//! # As long as
//!
//! * *Every* writer of that data shows a token of the *same* lock.
//! * The row of the resource is not deleted, and a restored backup is followed by [tokens above its own](crate::FencedLock).
//! * What is read for the write is read in the same transaction, *behind* the statement.
//!
//! # Isolation levels
//!
//! *Postgres, READ COMMITTED* (the default): a statement that waited looks at the newest row, so the table above is all there
//! is. *REPEATABLE READ and SERIALIZABLE*: a statement that waited for another's commit fails with SQLSTATE 40001 and
//! nothing is written. The whole transaction may be repeated, and is then admitted or refused as above. *SQLite*: one
//! writer at a time. A transaction whose *first* statement is this one waits as `busy_timeout` says; after a read it
//! may fail with `SQLITE_BUSY`.
//!
//! # Other stores
//!
//! **MySQL** and MariaDB count changed rows, so an equal token gives 0 as a stale one does. Compare in the program, behind a
//! lock on the row: `INSERT IGNORE INTO palisade_fence VALUES (?, 0)`, then `SELECT token … FOR UPDATE`; if it is not above the
//! token, `UPDATE palisade_fence SET token = ? WHERE resource = ?`, the writes, and the commit.
//!
//! **S3** and its like compare versions, not numbers. Keep the token in the object's metadata. Read the object, stop if its
//! token is greater, and put it with `If-Match` and the ETag that was read (`If-None-Match: *` for a new one). *412*: another
//! wrote meanwhile, nothing of ours was stored; read again and compare again. *409*: another request was under way, nothing of
//! ours was stored; the same. No answer: unknown; read again, and look whether what stands there is ours.

use thiserror::Error;

/// Makes the table, if there is none, in Postgres and in SQLite.
pub const CREATE_TABLE: &str = "CREATE TABLE IF NOT EXISTS palisade_fence \
    (resource TEXT NOT NULL PRIMARY KEY, token BIGINT NOT NULL)";

/// What a Postgres server is told.
pub mod postgres {
    /// Raises the token of resource `$1` to `$2` (a `bigint`), unless it has seen a greater one.
    pub const ADMIT: &str = "INSERT INTO palisade_fence AS f (resource, token) VALUES ($1, $2) \
        ON CONFLICT (resource) DO UPDATE SET token = EXCLUDED.token WHERE f.token <= EXCLUDED.token";
}

/// What a SQLite database is told; needs SQLite 3.24.
pub mod sqlite {
    /// Raises the token of resource `?1` to `?2`, unless it has seen a greater one.
    pub const ADMIT: &str = "INSERT INTO palisade_fence AS f (resource, token) VALUES (?1, ?2) \
        ON CONFLICT (resource) DO UPDATE SET token = excluded.token WHERE f.token <= excluded.token";
}

/// Whether a database lets a holder write.
///
/// # Examples
/// ```
/// use palisade::fence::FenceAnswer;
///
/// assert_eq!(FenceAnswer::from_rows(1), Ok(FenceAnswer::Admitted));
/// assert_eq!(FenceAnswer::from_rows(0), Ok(FenceAnswer::Stale));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a stale token must not write"]
pub enum FenceAnswer {
    /// The token is the greatest so far. It stays so until the transaction ends.
    Admitted,
    /// The resource has seen a greater token: a later holder has been granted the lock. Final.
    Stale,
}

impl FenceAnswer {
    /// Reads the number of rows that an `ADMIT` statement has changed.
    ///
    /// # Errors
    /// More than one row: that was another statement, or another table. The transaction is to be rolled back.
    pub const fn from_rows(rows: u64) -> Result<Self, UnexpectedRows> {
        match rows {
            0 => Ok(Self::Stale),
            1 => Ok(Self::Admitted),
            rows => Err(UnexpectedRows { rows }),
        }
    }
}

/// A number of changed rows that no `ADMIT` statement gives. Nothing is known to be admitted.
///
/// # Examples
/// ```
/// use palisade::fence::FenceAnswer;
///
/// // An UPDATE of a whole table, say.
/// let told = FenceAnswer::from_rows(17);
/// assert_eq!(told.map_err(|unexpected| unexpected.rows), Err(17));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{rows} rows were changed where a fence changes one or none: roll back")]
#[non_exhaustive]
pub struct UnexpectedRows {
    /// How many rows were changed.
    pub rows: u64,
}
