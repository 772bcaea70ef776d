//! The seam between the kinds of locks and everything that serves them: what is said to a server about one lock, and
//! what it means for its waiters.
//!
//! To add a kind is to write a [`Kind`] in a folder of `kinds`, with its scripts and its public type.
//! Rounds, renewal, healing, releases, waiting, guards and composites know kinds by this alone:
//!
//! | trait | what it answers | a kind must say |
//! |---|---|---|
//! | [`Statements`] | What is said to the server? | its name, and how it is acquired, renewed, seen and released |
//! | [`Sharing`] | Which holds go together? | nothing, if one holder keeps all others out |
//! | [`Waking`] | How does a waiter learn that it may ask again? | the channel of its releases |
//!
//! What few kinds have is behind one question each: [`Fencing`] behind [`Statements::fencing`], [`ServerQueue`]
//! behind [`Waking::server_queue`].
//!
//! ```text
//! acquire ─┬─ DONE, ttl (and a token) ──► held ── renew ─► DONE, ttl │ anything else: gone, or REFUSED with 1: taken
//!          ├─ REFUSED, when it may be free ──► waits on `channel`
//!          ├─ QUEUED │ LINED_UP ──► has a place in the server's queue, and waits on a channel of its own
//!          ├─ STALE ──► its stamp was over: nothing was changed
//!          └─ FOREIGN │ OTHER_KIND │ FOREIGN_COUNTER ──► the key is something else: an error
//! release ──► DONE, or anything else: not ours
//! ```
//!
//! # Invariants
//! - **Every request is idempotent for its holder id**: said again, it changes nothing more.
//! - **Nothing shortens the ttl of a live hold.**
//! - **An answer other than `DONE` changed nothing** that belongs to another.
//! - **A kind knows no claim, no guard and no round.** What it would have to ask is an argument.
//!
//! # What proves them
//! `kinds/tests`: kinds without users, as probes of what everything else takes for granted. In `tests/it`:
//! `promises` (each promise on each kind), `scripts` (each path of each script), `recorded` (to the byte).
//!
//! # To change…
//! - what a kind can say: the traits here, then each `kinds/*/script.rs`
//! - what a holder is called: `holder`; what a token is: `token`; what sorts there are: `sort`
//! - to add a kind: `docs/maintain/change.md`

mod holder;
mod sort;
mod token;

use std::{fmt, sync::Arc, time::Duration};

pub(crate) use holder::REVOKED;
pub use holder::{Access, Holder};
pub use sort::SortOfLock;
pub use token::FencingToken;

use crate::{
    error::ConfigError,
    lease::Term,
    wire::{HoldCheck, PlainRelease, Statement},
};

/// What an acquire says, besides the name and what the kind knows of itself, such as its mode.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AcquireRequest<'a> {
    pub(crate) holder: &'a Arc<str>,
    pub(crate) term: Term,
    /// What a new fencing token should be at least, in µs since 1970; of one that is held already, its token ...
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

/// A lock of one sort, as everything that serves it knows it.
pub(crate) trait Kind:
    Statements + Sharing + Waking + fmt::Debug + Send + Sync + 'static
{
}

impl<K: Statements + Sharing + Waking + fmt::Debug + Send + Sync + 'static> Kind for K {}

/// What is said to a server about one lock.
///
/// Every request is idempotent for its holder id: said again, it changes nothing more.
pub(crate) trait Statements {
    /// The lock's name as the server knows it, which is its key: behind the client's namespace, if
    /// there is one.
    fn name(&self) -> &Arc<str>;

    /// The lease that it is acquired with where `asked` was asked for, which has been checked as all are.
    fn term(&self, asked: Term) -> Result<Term, ConfigError> {
        Ok(asked)
    }

    /// What a new holder is known by, if not by process and number: 16 bytes, made of some that are unique.
    fn bare_holder(&self, _fresh: &dyn Fn() -> u128) -> Option<u128> {
        None
    }

    /// Acquires, or confirms. Says [`Arg::NotAfter`](crate::wire::Arg) where its stamp is to stand; one
    /// with a lease for all its locks shares a call with others. Answers `DONE` with the ttl of this holder's own
    /// hold (and the token), `STALE`, `FOREIGN`, `OTHER_KIND`, `FOREIGN_COUNTER`, `REFUSED` with the time after
    /// which it may be free, or `QUEUED` with the same if it has left something there; `LINED_UP` if that is a new
    /// place in a queue.
    fn acquire(&self, request: AcquireRequest<'_>) -> Statement;

    /// Renews to at least this lease; 0 only asks. Answers `DONE` with the ttl, or anything else if
    /// the lock is gone: `REFUSED` with 1 if another holds it.
    fn renew(&self, holder: &Arc<str>, lease_ms: i64) -> Statement;

    /// Writes how many guards there are. Answers as a renewal: it is one where nothing is counted, since a hold is
    /// had once then, however many guards it has.
    fn count(&self, holder: &Arc<str>, _guards: u32) -> Statement {
        self.renew(holder, 0)
    }

    /// Ends the hold, or takes back whatever an acquire may have left that was not granted, or not answered. Answers
    /// `DONE`, or anything else if the lock is not ours: `REFUSED` with 1 if another holds it.
    fn release(&self, holder: &Arc<str>) -> Statement;

    /// A release without a script, if a kind has one: for where nothing that was sent can come later.
    fn plain_release(&self, _holder: &Arc<str>) -> Option<PlainRelease> {
        None
    }

    /// The key whose change may mean that a hold is over; `None` if holds have no end of their own. One read of it
    /// counts its holders.
    fn watched_key(&self) -> Option<&Arc<str>> {
        Some(self.name())
    }

    /// How a script of the user's sees, where it runs, that `holder` holds it. That stands there, by the server's
    /// clock: what a renewal would confirm.
    fn hold_check(&self, holder: &Arc<str>) -> HoldCheck;

    /// What is said about its tokens, if grants come with one.
    fn fencing(&self) -> Option<&dyn Fencing> {
        None
    }
}

/// What is said about the fencing tokens of a kind that has them.
pub(crate) trait Fencing {
    /// Raises the counter to the hold's token. Answers `DONE` if it has it now.
    fn promote(&self, holder: &Arc<str>, token: FencingToken, term: Term) -> Statement;
}

/// Which holds of one name, and of its keys, go together.
pub(crate) trait Sharing {
    /// How many may hold it at once.
    fn admission(&self) -> Admission {
        Admission::Exclusive
    }

    /// What tells holds of one name apart that are no re-entries of each other: reading and writing,
    /// for instance. The same for all holds whose holder may enter again.
    fn mode(&self) -> &'static str {
        ""
    }

    /// The same lock as it is held once its holder has given up a part of it: a writer reads on, permits are left
    /// to another. All that is said of such a hold is said by this. `None` if there is nothing to give up.
    fn reduced(&self) -> Option<&Arc<dyn Kind>> {
        None
    }

    /// Whether it has permits, which are counted. Each hold is by itself then: that another one is released, or
    /// lost, says nothing of it. And what keeps others out need not end by itself, as a lease does.
    fn is_counted(&self) -> bool {
        false
    }

    /// What it is called, if Redisson has keys for it that the same name in braces has, too.
    fn shares_keys(&self) -> Option<&'static str> {
        None
    }
}

/// How a waiter learns that it may ask again.
pub(crate) trait Waking {
    /// Where it is announced that one may ask again. Where each holder has a channel of its own: what those
    /// begin with, and what holds are listed under all the same.
    fn channel(&self) -> &Arc<str>;

    /// Whether a waiter keeps others out by asking, as a writer does with new readers.
    fn keeps_out_by_asking(&self) -> bool {
        false
    }

    /// The queue in which the server keeps its waiters, if it does. Each waiter stands there, and not in a line of
    /// its process.
    fn server_queue(&self) -> Option<&dyn ServerQueue> {
        None
    }
}

/// A queue of waiters on the server, which knows each by its holder id.
pub(crate) trait ServerQueue {
    /// Where `holder` is told that it is its turn. Known before the first request.
    fn channel_of(&self, holder: &Arc<str>) -> Arc<str>;

    /// Sees to it that the place that an acquire took does not end. Answers `DONE`, or anything else if there is
    /// none.
    fn keep_place(&self, holder: &Arc<str>) -> Statement;
}

impl dyn Kind {
    /// Whether one holder lets others of the same sort in.
    pub(crate) fn is_shared(&self) -> bool {
        self.admission() == Admission::Shared
    }

    pub(crate) fn is_fenced(&self) -> bool {
        self.fencing().is_some()
    }

    pub(crate) fn queues_on_server(&self) -> bool {
        self.server_queue().is_some()
    }

    /// Where it is announced to `holder` that it may ask again.
    pub(crate) fn channel_of(&self, holder: &Arc<str>) -> Arc<str> {
        let queue = self.server_queue();
        queue.map_or_else(|| self.channel().clone(), |queue| queue.channel_of(holder))
    }

    /// Whether what one holder has may pass to the next one of the same process without a word to the
    /// server.
    pub(crate) fn may_be_handed_over(&self) -> bool {
        !self.is_shared() && !self.queues_on_server()
    }
}
