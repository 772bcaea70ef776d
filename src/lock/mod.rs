//! The kinds of locks, and what they share on one node.
//!
//! A [`Kind`] is what is said to a server. A [`Hold`](hold::Hold) is what we know of a lock that
//! is being acquired or held, on one node or on many; guards share it. How a round of attempts is
//! made differs between one node ([`single`]) and many (`composite`): that is a
//! [`Target`](handle::Target).

mod absence;
pub(crate) mod ask;
pub(crate) mod fenced;
pub(crate) mod giving_back;
mod guard;
pub(crate) mod handle;
pub(crate) mod hold;
mod inspect;
mod live;
mod margin;
pub(crate) mod marker;
pub(crate) mod mutex;
mod owner;
pub(crate) mod process;
pub(crate) mod promote;
mod quarantine;
mod rest;
pub(crate) mod scripts;
mod seat;
pub(crate) mod single;
pub(crate) mod site;
pub(crate) mod volley;

use std::{fmt, sync::Arc, time::Duration};

pub use crate::wait::OnOutage;
pub use fenced::{FencedGuard, FencedLock, FencingToken};
pub use guard::{LockGuard, Released};
pub use inspect::Holder;
pub use mutex::Lock;
pub use owner::Owner;
pub use quarantine::Quarantine;
pub(crate) use quarantine::Vetting;
pub(crate) use site::{Site, SiteSettings};

use crate::{
    lease::Term,
    notifier::Listener,
    wire::{Script, Statement},
};

/// What an acquire says, besides the name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bid<'a> {
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

    /// Where releases are announced.
    fn channel(&self) -> &Arc<str>;

    /// Acquires, or confirms. Answers `DONE` with the ttl (and the token), `STALE`, `FOREIGN`,
    /// `FOREIGN_COUNTER`, or `REFUSED` with the holder's ttl.
    fn acquire(&self, bid: Bid<'_>) -> Statement;

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

/// One lock on one node: a lock by itself, or a member of a composite.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) site: Arc<Site>,
    pub(crate) kind: Arc<dyn Kind>,
    /// What is looked at before its server is asked for a vote.
    pub(crate) vetting: Vetting,
}

impl Member {
    /// A lock by itself.
    pub(crate) fn new(site: Arc<Site>, kind: Arc<dyn Kind>) -> Self {
        let vetting = site.settings.quarantine.of_single();
        Self { site, kind, vetting }
    }

    pub(crate) fn listen(&self) -> Listener {
        self.site.notifier.listen(self.kind.channel().clone())
    }

    /// Server and name: the same for members that exclude each other.
    pub(crate) fn identity(&self) -> Arc<str> {
        // Quoted and escaped, a name cannot be mistaken for another or for several.
        format!("{} {:?}", self.site.node_id(), self.kind.name()).into()
    }
}
