//! The proof of a hold that the user has.

use std::{
    fmt,
    future::{Future, poll_fn},
    pin::pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use futures::{
    future::{Either, select},
    poll,
};
use tokio_util::sync::CancellationToken;

use super::{
    passing_on::{AfterTurn, AwaitedRelease},
    turn::Turn,
};
use crate::{
    claim::{self, Claim},
    clock::Instant,
    error::{ExtendError, LockLost, LostCause, NotRenewed, ReleaseError},
    kind::{Admission, FencingToken},
    lease::{Lease, Term},
    telling,
};

/// What a release did.
///
/// # Examples
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use palisade::Released;
///
/// let client = palisade::embedded::Server::start()?.client()?;
/// let guard = client.lock("orders:42").acquire().await?;
/// let second = guard.reenter()?;
/// assert_eq!(second.release().await?, Released::StillHeld { guards: 1 });
/// assert_eq!(guard.release().await?, Released::Freed);
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Released {
    /// The lock is free.
    Freed,
    /// The next waiter of this process has it, without a word to the servers.
    PassedOn,
    /// Other guards of the same hold are alive: the lock is still held.
    StillHeld {
        /// How many.
        guards: u32,
    },
    /// A guard of the hold was [orphaned](LockGuard::orphan): the key ends with its ttl.
    LeftToExpire,
}

/// Proof that a lock is held; gives it back when dropped.
///
/// Guards that came of a re-entry share one hold, which ends with the last of them. Dropping a
/// guard never blocks: the release is sent in the background, also from outside a runtime. A guard
/// dropped at the very end of `main` may die with the process, and its key with its lease: prefer
/// [`release`](Self::release), or [`Client::shutdown`](crate::Client::shutdown) before the end.
///
/// # Guarantees
/// - [`lost`](Self::lost) and [`cancellation_token`](Self::cancellation_token) fire no later than the local deadline, which
///   counts from before the request that was last granted: before others can be granted.
/// - Nothing but an explicit check tells a process that was stopped: call
///   [`ensure_valid`](Self::ensure_valid) right before what must not happen twice.
///
/// # Examples
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = palisade::embedded::Server::start()?.client()?;
/// let guard = client.lock("orders:42").acquire().await?;
/// // Stopped, with an error, if the lock is lost.
/// guard.run(async { /* … read, compute … */ }).await?;
/// guard.ensure_valid()?;
/// // … what must not happen twice …
/// guard.release().await?;
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
#[must_use = "the lock is released when the guard is dropped"]
pub struct LockGuard {
    turn: Arc<Turn>,
    /// Whether it keeps others out.
    admission: Admission,
    /// Whether the guard has left it.
    left: bool,
}

impl LockGuard {
    /// The first guard of a turn, which counts it already.
    pub(crate) fn new(turn: Arc<Turn>) -> Self {
        let is_exclusive = turn.is_exclusive();
        let admission = if is_exclusive { Admission::Exclusive } else { Admission::Shared };
        Self { turn, admission, left: false }
    }

    /// One more guard of a turn, with another lease if that is asked for. `None` if it is over, or is not
    /// held any more in the way that is asked for.
    pub(crate) fn enter(
        turn: &Arc<Turn>,
        admission: Admission,
        term: Option<Term>,
    ) -> Option<Self> {
        // A guard that has not entered must not be there: it would leave.
        turn.enter(admission, term).then(|| Self { turn: turn.clone(), admission, left: false })
    }

    pub(crate) fn turn(&self) -> &Arc<Turn> {
        &self.turn
    }

    /// Gives up a part of the hold, by which it keeps no other out from now on: a writer reads on, permits are left
    /// to another. Returns once enough servers know, or the hold is lost.
    ///
    /// # Errors
    /// So many other guards of the hold still do. Nothing was changed.
    ///
    /// # Cancel safety
    /// Dropping the future once it was polled changes nothing of that.
    pub(crate) async fn reduce(&mut self) -> Result<(), u32> {
        self.turn.reduce()?;
        self.admission = Admission::Shared;
        let _lost_meanwhile = self.run(claim::reduce(self.turn.claim())).await;
        Ok(())
    }

    /// For tests that have ended its turn by hand.
    #[cfg(all(test, feature = "embedded"))]
    pub(super) fn forget(mut self) {
        self.left = true;
    }

    /// Before anything of it is touched: of another process' hold nothing is known here.
    fn check_home(&self) -> Result<(), LockLost> {
        let is_here = self.claim().process().home.is_here();
        if is_here { Ok(()) } else { Err(self.claim().loss(LostCause::Forked)) }
    }

    fn claim(&self) -> &Claim {
        self.turn.claim()
    }

    /// Gives the lock back, if this is the last guard of the hold.
    ///
    /// On several masters it returns as soon as enough of them confirmed; the rest is finished in
    /// the background.
    ///
    /// # Errors
    /// [`ReleaseError::Lost`]: the lock was lost before. [`ReleaseError::Unconfirmed`]: too few
    /// servers confirmed; the keys end with their lease at the latest, and the release is repeated
    /// in the background until then.
    ///
    /// # Cancel safety
    /// Dropping the future after its first poll leaves the release to the background.
    pub async fn release(mut self) -> Result<Released, ReleaseError> {
        self.check_home()?;
        self.left = true;
        let turn = &self.turn;
        let valid = turn.ensure_valid();
        if !turn.leave(self.admission) {
            valid?;
            return Ok(Released::StillHeld { guards: turn.guards() });
        }
        let claim = turn.claim();
        if let Err(lost) = valid {
            claim.abandon();
            return Err(lost.into());
        }
        if claim.is_orphaned() {
            claim.abandon();
            return Ok(Released::LeftToExpire);
        }
        match turn.pass_on() {
            AfterTurn::PassedOn => Ok(Released::PassedOn),
            AfterTurn::Release(None) => {
                telling::woken_aside(claim::release(claim, false)).await.map(|_| Released::Freed)
            }
            AfterTurn::Release(Some(release)) => Self::release_before_others(claim, release).await,
        }
    }

    /// The same while others of this process wait: they ask behind the release, not before.
    async fn release_before_others(
        claim: &Claim,
        release: AwaitedRelease,
    ) -> Result<Released, ReleaseError> {
        let mut releasing = pin!(telling::woken_aside(claim::release(claim, true)));
        let at_once = poll!(&mut releasing);
        release.has_left();
        let result = match at_once {
            Poll::Ready(result) => result,
            Poll::Pending => releasing.await,
        };
        release.was_heard(result.as_ref().ok().copied().flatten());
        result.map(|_heard| Released::Freed)
    }

    /// Completes when the lock is lost, with the cause; no later than the deadline.
    ///
    /// # Cancel safety
    /// May be dropped and called again at any time.
    pub async fn lost(&self) -> LostCause {
        let mut lost_or_over = pin!(self.lost_or_over());
        // Whenever this is looked at: timers stand still while a machine sleeps.
        poll_fn(|cx| match self.ensure_valid() {
            Err(lost) => Poll::Ready(lost.cause),
            Ok(()) => lost_or_over.as_mut().poll(cx),
        })
        .await
    }

    async fn lost_or_over(&self) -> LostCause {
        loop {
            let deadline = self.claim().process().clock.sleep_until(self.claim().deadline());
            let _first = select(pin!(self.turn.cancellation().cancelled_owned()), deadline).await;
            if let Err(lost) = self.ensure_valid() {
                return lost.cause;
            }
        }
    }

    /// Completes `margin` before the deadline while renewals do not get through, or when the lock
    /// is lost: time to stop the work *before* the loss.
    ///
    /// With a renewed lease a margin of more than half the lease completes although all is well.
    ///
    /// # Cancel safety
    /// May be dropped and called again at any time.
    pub async fn expiring(&self, margin: Duration) {
        let clock = &self.claim().process().clock;
        loop {
            let alarm = self.deadline() - margin;
            if self.ensure_valid().is_err() || clock.now() >= alarm {
                return;
            }
            let _first =
                select(pin!(self.turn.cancellation().cancelled_owned()), clock.sleep_until(alarm))
                    .await;
        }
    }

    /// A token that is cancelled when the hold is over: lost, released or dropped. For work that
    /// is spawned and must not outlive the lock.
    #[must_use]
    pub fn cancellation_token(&self) -> CancellationToken {
        if self.check_home().is_err() {
            let over = CancellationToken::new();
            over.cancel();
            return over;
        }
        self.turn.cancellation()
    }

    /// Has the hold last for `lease` from now on, if that is longer than what is left of it, and waits until
    /// enough servers confirm. Nothing is shortened, and no answer moves no deadline. A
    /// [watchdog lease](crate::Lease::Watchdog) has it renewed from now on.
    ///
    /// # Errors
    /// [`ExtendError::Config`]: longer than `max_lease`, or than what
    /// [`max_hold`](crate::ClientBuilder::max_hold) leaves; nothing was sent. [`ExtendError::Unconfirmed`]: too
    /// few servers answered in time; the deadline is what it was, unless they confirm later.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the rest to the background.
    ///
    /// # Examples
    /// ```
    /// # #[cfg(feature = "embedded")]
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::time::Duration;
    /// use palisade::Lease;
    ///
    /// let client = palisade::embedded::Server::start()?.client()?;
    /// let lock = client.lock("report").with_lease(Lease::Fixed(Duration::from_secs(5)));
    /// let guard = lock.acquire().await?;
    /// guard.extend(Lease::Fixed(Duration::from_secs(30))).await?;
    /// assert!(guard.remaining() > Duration::from_secs(20));
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "embedded"))]
    /// # fn main() {}
    /// ```
    pub async fn extend(&self, lease: Lease) -> Result<(), ExtendError> {
        self.ensure_valid()?;
        claim::extend(self.turn.claim(), lease).await
    }

    /// A token that is cancelled when the hold is *lost*, and not when it is released or dropped: it tells work
    /// that goes on after the lock from work that has to stop.
    #[must_use]
    pub fn loss_token(&self) -> CancellationToken {
        if self.check_home().is_err() {
            let lost = CancellationToken::new();
            lost.cancel();
            return lost;
        }
        self.turn.loss_token()
    }

    /// Completes at the deadline, wherever renewals move it meanwhile, or when the lock is lost. It goes by the
    /// client's clock, which goes on while the machine is suspended; tokio's timers do not.
    ///
    /// # Cancel safety
    /// May be dropped and called again at any time.
    pub async fn sleep_until_deadline(&self) {
        self.expiring(Duration::ZERO).await;
    }

    /// How long the lock has been held, by our clock: since it was granted, or handed on to this user.
    #[must_use]
    pub fn held_for(&self) -> Duration {
        if self.check_home().is_ok() { self.turn.lasts() } else { Duration::ZERO }
    }

    /// How long it was waited for.
    #[must_use]
    pub fn waited(&self) -> Duration {
        if self.check_home().is_ok() { self.turn.waited() } else { Duration::ZERO }
    }

    /// Runs `work` while the lock is held, and stops it (drops it) if the lock is lost. `work` is
    /// not polled again once the deadline is over, whether or not a timer has noticed.
    ///
    /// # Errors
    /// [`LockLost`] if the lock was lost before `work` was done; what it did until its last
    /// suspension point is done.
    ///
    /// # Cancel safety
    /// Dropping the future drops `work`; the guard is not touched.
    pub async fn run<F: Future>(&self, work: F) -> Result<F::Output, LockLost> {
        match select(pin!(self.lost()), pin!(work)).await {
            Either::Left((cause, _)) => Err(self.claim().loss(cause)),
            Either::Right((value, _)) => self.ensure_valid().map(|()| value),
        }
    }

    /// Its turn is over, and no caller waits for what becomes of it.
    fn leave_behind(&self) {
        if self.claim().is_orphaned() {
            return self.claim().abandon();
        }
        match self.turn.pass_on() {
            AfterTurn::PassedOn => {}
            AfterTurn::Release(None) => self.claim().abandon(),
            AfterTurn::Release(Some(release)) => {
                release.is_left_to_others();
                let claim = self.turn.claim();
                claim.abandon_and_tell(move |others| release.was_heard(others));
            }
        }
    }

    /// How much longer the lock may be relied on without another renewal, by our clock.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.deadline().saturating_since(self.claim().now())
    }

    /// Until when the lock may be relied on without another renewal, on the client's clock.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        match self.check_home() {
            Ok(()) => self.claim().deadline(),
            Err(_) => Instant::from_origin(Duration::ZERO),
        }
    }

    /// Whether the lock is held, by our clock.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.ensure_valid().is_ok()
    }

    /// Fails if the lock was lost, at the moment of use: also when the machine slept meanwhile and
    /// no timer has fired yet.
    ///
    /// A process that is stopped *after* this check is not caught: only a store that compares
    /// fencing tokens catches that.
    ///
    /// # Errors
    /// [`LockLost`] with the cause.
    pub fn ensure_valid(&self) -> Result<(), LockLost> {
        self.check_home()?;
        self.turn.ensure_valid()
    }

    /// A renewal that was not answered, while none has been since. `None` while all goes well, and for a lease
    /// that is not renewed.
    #[must_use]
    pub fn not_renewed(&self) -> Option<NotRenewed> {
        self.check_home().ok().and_then(|()| self.claim().not_renewed())
    }

    /// How many servers confirm for the lock now, by what they last answered; 0 once it is lost.
    ///
    /// Of a [`RedLock`](crate::RedLock) with a renewed lease, servers that were down, cut off or
    /// restarted join again by themselves.
    #[must_use]
    pub fn votes(&self) -> usize {
        if self.check_home().is_ok() { self.claim().votes() } else { 0 }
    }

    /// How many more servers may forget the lock, at once and without our notice, before another
    /// can be granted it too. 0 also once it is lost.
    ///
    /// | votes | margin of a `RedLock` | margin of a `MultiLock` |
    /// |---|---|---|
    /// | 1 of 1 | 0 | 0 |
    /// | 2 of 3 | 0 | – |
    /// | 3 of 3 | 1 | 2 |
    /// | 3 of 5 | 0 | – |
    /// | 4 of 5 | 1 | – |
    /// | 5 of 5 | 2 | 4 |
    ///
    /// In general it is votes + need − servers − 1, where a `RedLock` needs more than half of them
    /// and a `MultiLock` all. A lock on one server has none.
    ///
    /// Before a master is taken down for maintenance this should be at least 1.
    #[must_use]
    pub fn margin(&self) -> usize {
        if self.check_home().is_ok() { self.claim().margin() } else { 0 }
    }

    /// One more guard on the same hold. Asks no server.
    ///
    /// # Errors
    /// [`LockLost`] if the hold is over: it is never entered again.
    pub fn reenter(&self) -> Result<Self, LockLost> {
        self.check_home()?;
        if let Some(guard) = Self::enter(&self.turn, self.admission, None) {
            return Ok(guard);
        }
        let lost = self.turn.ensure_valid().err();
        Err(lost.unwrap_or_else(|| self.claim().loss(LostCause::Expired)))
    }

    /// What the servers know this hold by: `<uuid of this process>:<number>`. An identifier, not a
    /// secret.
    ///
    /// A `MultiLock` may have another number with some members: see [`holder_ids`](Self::holder_ids).
    #[must_use]
    pub fn holder_id(&self) -> &str {
        self.claim().holder()
    }

    /// The same as each member knows it, in the order in which the members were given. All are the same, unless
    /// a `MultiLock` had something, gave it back and asked there again.
    #[must_use]
    pub fn holder_ids(&self) -> Vec<Arc<str>> {
        let claim = self.claim();
        claim.members().ids().map(|member| claim.holder_at(member)).collect()
    }

    /// The hold's [fencing token](FencingToken), if it is of a fenced lock.
    #[must_use]
    pub fn fencing_token(&self) -> Option<FencingToken> {
        self.turn.token()
    }

    /// The lock's name (of a composite: its first member's).
    #[must_use]
    pub fn name(&self) -> &str {
        self.claim().name()
    }

    /// Ends the renewal and leaves the key to its ttl: "at most once per interval". With other
    /// guards alive this takes effect when the last of them goes.
    pub fn orphan(self) {
        if self.check_home().is_ok() {
            self.claim().mark_orphaned();
        }
    }
}

// keeps: drop-never-blocks
impl Drop for LockGuard {
    fn drop(&mut self) {
        if self.left {
            return;
        }
        if self.check_home().is_err() {
            // With all that it holds: not even that is this process' to drop.
            std::mem::forget(self.turn.clone());
        } else if self.turn.leave(self.admission) {
            self.leave_behind();
        }
    }
}

impl fmt::Debug for LockGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockGuard")
            .field("lock", &self.claim().lock_name())
            .field("holder", &self.holder_id())
            .field("remaining", &self.remaining())
            .finish_non_exhaustive()
    }
}
