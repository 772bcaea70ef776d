//! What wants a lock, as a waiter for its turn sees it.

use std::{future::Future, sync::Arc, time::Duration};

use super::places::Offered;
use crate::{
    by_member::{ByMember, MemberId},
    clock::Instant,
    error::AcquireError,
    notifier::Listener,
};

/// An acquire that wants a lock.
///
/// A trait because an acquire, which alone waits here, stands above this room.
pub(crate) trait Contender: Send {
    /// What is won.
    type Grant: Send;

    /// What another of this process may offer it.
    type Offered: Offered;

    /// Attempts once.
    fn round(&mut self, cause: Cause) -> impl Future<Output = Round<Self::Grant>> + Send;

    /// Takes over what it was offered. `None` if that is over.
    ///
    /// # Cancel safety
    /// What was offered is given back if the future is dropped.
    fn take_over(
        &mut self,
        offered: Arc<Self::Offered>,
    ) -> impl Future<Output = Option<Self::Grant>> + Send;

    /// Gives back what it keeps of a round that it lost: it is not about to ask again.
    fn give_back(&mut self) -> impl Future<Output = ()> + Send;

    /// Waits for its turn among the waiters of other processes, but not for long. `None` if it may ask without.
    ///
    /// # Cancel safety
    /// Its place stays.
    fn turn(&mut self) -> Option<impl Future<Output = ()> + Send>;

    /// What to wait at random before the next round, so that equals do not meet again. If it was `alarmed`,
    /// something happened to a member, maybe to one that did not refuse: the next round asks all.
    fn stagger(&mut self, alarmed: bool) -> Duration;

    /// What an attempt would come to, if it is known without a call that too many votes do not
    /// count yet: the error, and when they do.
    fn foreseen(&self) -> Option<(AcquireError, Duration)>;

    /// Where releases are announced, one listener for each member.
    fn listen(&mut self) -> ByMember<Listener>;

    /// Whether it is told by these listeners, in its own order of members. `are_its_own`: it has come to listen by
    /// them, and may wait under another holder id by now. Else another that wants the same has left them.
    fn hears_by(&self, listeners: &ByMember<Listener>, are_its_own: bool) -> bool;
}

/// Why an attempt is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// It has just come.
    Arrival,
    /// It is its turn in line: from now on it asks behind the release that it has waited for.
    Turn,
    /// The same, and it was woken. If it is refused, others were faster.
    Message,
}

/// What came of an attempt.
#[derive(Debug)]
pub(crate) enum Round<G> {
    Granted(G),
    /// Others hold it.
    Refused(Refusals),
    /// Too many nodes did not vote; that may pass.
    Outage(AcquireError),
    /// The same, and the lease may have left too little time: whether the servers are well is not known yet.
    Late(AcquireError),
    /// Too many votes do not count yet, since the nodes may have forgotten something. They will in
    /// so long a time; sooner if an operator says so.
    NotYet {
        error: AcquireError,
        counts_in: Duration,
    },
    /// Asking again is pointless.
    Failed(AcquireError),
}

/// Which members refused, and how many of them must change their mind.
#[derive(Debug)]
pub(crate) struct Refusals {
    /// Voter and the holder's ttl there, if it has one.
    pub(crate) by: Vec<(MemberId, Option<Duration>)>,
    pub(crate) enough: usize,
    /// When to ask again at the latest, since its turn among the waiters of other processes ends.
    pub(crate) until: Option<Instant>,
}

impl Refusals {
    pub(super) fn members(&self) -> Vec<MemberId> {
        self.by.iter().map(|(member, _)| *member).collect()
    }
}
