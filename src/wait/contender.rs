//! Who wants a lock, as those see it who wait for their turn.

use std::{future::Future, sync::Arc, time::Duration};

use super::places::{HandoverTerms, Offered};
use crate::{
    by_member::{ByMember, MemberId},
    error::AcquireError,
    notifier::Listener,
};

/// Somebody who wants a lock.
pub(crate) trait Contender: Send {
    /// What is won.
    type Grant: Send;

    /// Attempts once.
    fn round(&mut self) -> impl Future<Output = Round<Self::Grant>> + Send;

    /// It has come to its turn in line: from now on it asks behind the release that it has waited for.
    fn lines_up(&mut self);

    /// Others were faster, though it was woken.
    fn outrun(&mut self);

    /// For how long it may ask, or sleep, without [waiting for its turn](Self::turn): for ever if it need not.
    fn keeps_turn(&self) -> Duration;

    /// Waits for its turn among the waiters of other processes, but not for long.
    ///
    /// # Cancel safety
    /// Its place stays.
    fn turn(&mut self) -> impl Future<Output = ()> + Send;

    /// Gives back what it keeps of a round that it lost: it is not about to ask again.
    fn give_back(&mut self) -> impl Future<Output = ()> + Send;

    /// Something happened to a member, maybe to one that did not refuse: the next round asks all.
    fn alarmed(&mut self);

    /// What an attempt would come to, if it is known without asking anybody that too many votes do
    /// not count yet: the error, and when they do.
    fn not_yet(&self) -> Option<(AcquireError, Duration)>;

    /// Says that it waits until votes count, unless it has: who waits a minute without a word seems to
    /// hang.
    fn say_not_yet(&mut self, error: &AcquireError);

    /// Where releases are announced, one listener for each member.
    fn listen(&mut self) -> ByMember<Listener>;

    /// Whether it has come to wait where its listeners do not hear: under another holder id.
    fn is_told_elsewhere(&self) -> bool;

    /// Whether these listeners, of somebody who wants the same, are those that it would have, in its own
    /// order of members.
    fn hears_by(&mut self, listeners: &ByMember<Listener>) -> bool;

    /// On what terms it takes over what others of this process hold; `None` if it does not.
    fn takes_over(&self) -> Option<HandoverTerms>;

    /// Takes over what it was offered. `None` if that is over.
    ///
    /// # Cancel safety
    /// What was offered is given back if the future is dropped.
    fn take_over(
        &mut self,
        offered: Arc<dyn Offered>,
    ) -> impl Future<Output = Option<Self::Grant>> + Send;

    /// How long a grant lasts if nobody renews it; `None` if it keeps nobody else out.
    fn keeps_out(&self) -> Option<Duration>;

    /// Whether those of this process who want the same are to ask one after the other, even if nobody waits
    /// yet. Those who keep nobody out need no order among themselves.
    fn needs_order(&self) -> bool {
        self.keeps_out().is_some()
    }

    /// What to wait at random before the next round, so that equals do not meet again.
    fn stagger(&mut self) -> Duration;
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

/// Who refused, and how many of them must change their mind.
#[derive(Debug)]
pub(crate) struct Refusals {
    /// Voter and the holder's ttl there, if it has one.
    pub(crate) by: Vec<(MemberId, Option<Duration>)>,
    pub(crate) enough: usize,
}

impl Refusals {
    pub(super) fn members(&self) -> Vec<MemberId> {
        self.by.iter().map(|(member, _)| *member).collect()
    }
}
