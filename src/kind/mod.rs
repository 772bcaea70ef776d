//! The seam between the kinds of locks and everything that serves them: what is said to a server
//! about one lock, and what it means for those who wait.
//!
//! To add a kind is to write a [`Kind`] in a folder of `kinds`, with its scripts and its public type.
//! Rounds, renewal, healing, releases, waiting, guards and composites know kinds by this trait alone.

mod holder;
mod token;

use std::{fmt, sync::Arc, time::Duration};

pub use holder::{Access, Holder};
pub use token::FencingToken;

use crate::{
    error::ConfigError,
    lease::Term,
    wire::{PlainRelease, Statement},
};

/// What an acquire says, besides the name and what the kind knows of itself, such as its mode.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AcquireRequest<'a> {
    pub(crate) holder: &'a Arc<str>,
    pub(crate) term: Term,
    /// What a new fencing token should be at least, in µs since 1970 ...
    pub(crate) hint: Duration,
    /// ... but no further than this from the server's clock.
    pub(crate) skew: Duration,
    /// Whether the caller waits if it is refused.
    pub(crate) waits: bool,
    /// Whether it takes a place in the queue of this member then: of several members, in one queue only.
    pub(crate) queues: bool,
    /// Whether it is wanted of this one member, so that the holder id stays the same from one attempt to
    /// the next.
    pub(crate) is_alone: bool,
    /// Whether it is held already, by other members: one more of them is won back.
    pub(crate) is_held: bool,
}

/// How many may hold a lock at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Admission {
    /// One.
    Exclusive,
    /// Many at once: a grant to one is no reason for the next to wait.
    Shared,
}

/// What is said to a server about one lock of one sort.
///
/// Every request is idempotent for its holder id: said again, it changes nothing more.
pub(crate) trait Kind: fmt::Debug + Send + Sync + 'static {
    /// The lock's name as the server knows it, which is its key: behind the client's namespace, if
    /// there is one.
    fn name(&self) -> &Arc<str>;

    /// What tells holds of one name apart that are no re-entries of each other: reading and writing,
    /// for instance. The same for all whose holder may enter again.
    fn mode(&self) -> &'static str {
        ""
    }

    /// Where it is announced that one may ask again. Where each holder has a channel of its own: what those
    /// begin with, and what holds are listed under all the same.
    fn channel(&self) -> &Arc<str>;

    /// Where that is announced to `holder`. Known before the first request.
    fn channel_of(&self, _holder: &Arc<str>) -> Arc<str> {
        self.channel().clone()
    }

    /// Whether each holder has a channel of its own. Then each who waits stands in the server's queue, and
    /// not in a line of its process.
    fn queues_on_server(&self) -> bool {
        false
    }

    /// How many may hold it at once.
    fn admission(&self) -> Admission {
        Admission::Exclusive
    }

    /// The same lock as it is held once its holder has given up a part of it: who wrote reads on. All
    /// that is said of such a hold is said by this. `None` if there is nothing to give up.
    fn downgraded(&self) -> Option<&Arc<dyn Kind>> {
        None
    }

    /// The lease that it is acquired with where `asked` was asked for, which has been checked as all are.
    fn term(&self, asked: Term) -> Result<Term, ConfigError> {
        Ok(asked)
    }

    /// What it is called, if Redisson has keys for it that the same name in braces has, too.
    fn shares_keys(&self) -> Option<&'static str> {
        None
    }

    /// Whether all that keeps others out ends with a lease, by itself.
    fn ends_with_leases(&self) -> bool {
        true
    }

    /// What a new holder is known by, if not by process and number: 16 bytes, made of some that are unique.
    fn bare_holder(&self, _fresh: &dyn Fn() -> u128) -> Option<u128> {
        None
    }

    /// Whether whoever waits for it keeps others out by asking, as a writer does with new readers.
    fn keeps_out_by_asking(&self) -> bool {
        false
    }

    /// Whether a release by somebody may mean that who holds it with others holds it no more. Not of
    /// permits: each is by itself.
    fn release_may_end_others(&self) -> bool {
        true
    }

    /// Acquires, or confirms. Says [`Arg::NotAfter`](crate::wire::Arg) where its stamp is to stand; one
    /// with a lease for all its locks shares a call with others. Answers `DONE` with the ttl of this holder's own hold (and the token),
    /// `STALE`, `FOREIGN`, `OTHER_KIND`, `FOREIGN_COUNTER`, `REFUSED` with the time after which it may be free, or
    /// `QUEUED` with the same if it has left something there; `LINED_UP` if that is a new place in a queue.
    fn acquire(&self, request: AcquireRequest<'_>) -> Statement;

    /// Takes back whatever an acquire may have left that was not granted, or not answered: final by
    /// its stamp, as a release. Answers as [`count`](Self::count).
    fn withdraw(&self, holder: &Arc<str>) -> Statement {
        self.count(holder, 0)
    }

    /// Sees to it that the place in a queue that an acquire took does not end. Answers `DONE`, or anything
    /// else if there is none. `None` if this kind has no such places.
    fn keep_place(&self, _holder: &Arc<str>) -> Option<Statement> {
        None
    }

    /// Whether grants come with a fencing token.
    fn is_fenced(&self) -> bool {
        false
    }

    /// Raises the counter to the hold's token. Answers `DONE` if it has it now. `None` if this kind
    /// has no tokens.
    fn promote(&self, _holder: &Arc<str>, _token: FencingToken, _term: Term) -> Option<Statement> {
        None
    }

    /// Renews to at least this lease; 0 only asks. Answers `DONE` with the ttl, or anything else if
    /// the lock is gone: `REFUSED` with 1 if another holds it.
    fn renew(&self, holder: &Arc<str>, lease_ms: i64) -> Statement;

    /// Writes the count; 0 releases. Answers `DONE`, or anything else if the lock is not ours:
    /// `REFUSED` with 1 if another holds it.
    fn count(&self, holder: &Arc<str>, count: u32) -> Statement;

    /// A release without a script, if a kind has one: for where nothing that was sent can come later.
    fn plain_release(&self, _holder: &Arc<str>) -> Option<PlainRelease> {
        None
    }

    /// Whether what one holder has may pass to the next one of the same process without a word to the
    /// server.
    fn may_be_handed_over(&self) -> bool {
        self.admission() == Admission::Exclusive && !self.queues_on_server()
    }
}
