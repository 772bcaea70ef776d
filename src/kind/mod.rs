//! What is said to a server about one lock: the seam between the kinds of locks and everything that
//! serves all of them.

mod holder;
mod token;

use std::{fmt, sync::Arc, time::Duration};

pub use holder::Holder;
pub use token::FencingToken;

use crate::{
    lease::Term,
    wire::{Script, Statement},
};

/// What an acquire says, besides the name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) holder: &'a Arc<str>,
    pub(crate) term: Term,
    /// The server's time in µs after which it is to change nothing.
    pub(crate) not_after: i64,
    /// What a new fencing token should be at least, in µs since 1970 ...
    pub(crate) hint: Duration,
    /// ... but no further than this from the server's clock.
    pub(crate) skew: Duration,
}

/// What is said to a server about one lock of one sort.
pub(crate) trait Kind: fmt::Debug + Send + Sync + 'static {
    /// The lock's name, which is its key.
    fn name(&self) -> &Arc<str>;

    /// Where it is announced to `holder` that it may ask again: for most kinds the same for all.
    fn channel(&self, holder: &Arc<str>) -> Arc<str>;

    /// Whether each holder has a channel of its own.
    fn has_own_channels(&self) -> bool {
        false
    }

    /// Acquires, or confirms. Answers `DONE` with the ttl of this holder's own hold (and the token),
    /// `STALE`, `FOREIGN`, `FOREIGN_COUNTER`, or `REFUSED` with the time after which it may be free.
    fn acquire(&self, request: Request<'_>) -> Statement;

    /// Whether grants come with a fencing token.
    fn is_fenced(&self) -> bool {
        false
    }

    /// Raises the counter to the hold's token. Answers `DONE` if it has it now. `None` if this kind
    /// has no tokens.
    fn promote(&self, _holder: &Arc<str>, _token: FencingToken, _term: Term) -> Option<Statement> {
        None
    }

    /// The script of [`acquire`](Self::acquire) behind a check of the marker.
    fn strict_acquire(&self) -> &'static Script;

    /// Renews to at least this lease; 0 only asks. Answers `DONE` with the ttl, or anything else if
    /// the lock is gone: `REFUSED` with 1 if another holds it.
    fn renew(&self, holder: &Arc<str>, lease_ms: i64) -> Statement;

    /// Writes the count; 0 releases. Answers `DONE`, or anything else if the lock is not ours:
    /// `REFUSED` with 1 if another holds it.
    fn count(&self, holder: &Arc<str>, count: u32) -> Statement;
}
