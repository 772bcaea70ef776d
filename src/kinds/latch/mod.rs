//! The count-down latch on one node.

pub(crate) mod script;
mod since;
mod waiting;

use std::{fmt, sync::Arc, time::Duration};

use script::Latch;

use crate::{
    error::{ChangeError, ConfigError, InspectError},
    kinds::{counter::Counter, once::Change},
    process::NodeServices,
    wait::OnOutage,
    wire::Outcome,
};

/// A count on one Redis master that many wait for to reach zero.
///
/// Made by [`Client::count_down_latch`](crate::Client::count_down_latch); cheap to clone and to share.
/// One task sets the count, others count down, and all waiters go on at zero. One that is not set is at zero: it lets
/// all waiters through. After that it can be set anew. Keys, channel and messages are those of Redisson's
/// `RCountDownLatch`: a Java service can share it.
///
/// # Guarantees
/// - A change is made at most once, though it is sent again where an answer was lost: the server keeps
///   for a minute which were made (`palisade_once:{name}:…`). Not across a server that lost that and
///   kept the count: by eviction, or a failover in between.
/// - Waiters look at the count whenever something is announced, when the connection was lost, and every five seconds
///   in any case: a lost message costs no more.
/// - [`delete`](Self::delete) lets all waiters through at once, those of Redisson too. Theirs does not: a waiter here
///   for a latch that Java deletes goes on at once all the same.
/// - A latch that reached zero lets through all that waited then, also if it is set again at once. A zero by palisade
///   is kept for ten minutes (`{name}:palisade_zero`). One by Java has to be heard: the waiter's subscription stood
///   then. In the second after a zero by palisade, a waiter that has just begun takes such news for old.
/// - So a wait may return when the latch is set again already. One that begins then waits for the next zero. A `0` on
///   the channel lets waiters through, whatever published it.
/// - Names with a hash tag are [refused](ConfigError::TaggedLatch) where the server is in a cluster, since
///   Redisson's channel for them is in another slot.
///
/// # Examples
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = palisade::embedded::Server::start()?.client()?;
/// let latch = client.count_down_latch("import:parts");
/// latch.try_set_count(2).await?;
/// for part in 0..2 {
///     let latch = latch.clone();
///     tokio::spawn(async move {
///         // … import the part …
///         latch.count_down().await
///     });
/// }
/// latch.wait().await?;
/// assert_eq!(latch.count().await?, 0);
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
#[derive(Clone)]
pub struct CountDownLatch {
    counter: Counter,
    latch: Arc<Latch>,
    on_outage: OnOutage,
}

impl CountDownLatch {
    pub(crate) fn new(services: Arc<NodeServices>, name: &str) -> Self {
        let counter = Counter::new(services, name);
        let latch = Arc::new(Latch::new(&counter.key));
        Self { counter, latch, on_outage: OnOutage::default() }
    }

    /// The latch's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.counter.name()
    }

    /// The same latch with another answer to an outage while it is waited for.
    #[must_use]
    pub fn on_outage(mut self, on_outage: OnOutage) -> Self {
        self.on_outage = on_outage;
        self
    }

    /// Sets the count, unless the latch is set: then false, and it stays as it is.
    ///
    /// # Errors
    /// [`ConfigError::CountOutOfRange`] for 0 and for more than 2^53 − 1; [`ChangeError`] says whether it
    /// was set.
    ///
    /// # Cancel safety
    /// Dropping the future leaves it open whether it was set; what was sent may be executed until the
    /// client's `node_timeout` is over.
    pub async fn try_set_count(&self, count: u64) -> Result<bool, ChangeError> {
        let allowed = i64::try_from(count).ok().filter(|count| (1..=MAX_COUNT).contains(count));
        let max = MAX_COUNT.unsigned_abs();
        let allowed = allowed.ok_or(ConfigError::CountOutOfRange { count, max })?;
        self.change(self.latch.set(allowed)).await
    }

    /// How often it is still to be counted down; 0 if it is not set.
    ///
    /// # Errors
    /// [`InspectError`]; nothing was changed.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn count(&self) -> Result<u64, InspectError> {
        self.check_slot().await?;
        // Less than none is none: only an operator writes that.
        let count = self.counter.read().await?.unwrap_or(0);
        Ok(u64::try_from(count).unwrap_or(0))
    }

    /// Counts down by one, and lets all waiters through at zero. False if the latch is not set, or was at
    /// zero already.
    ///
    /// If no answer comes it is asked again, which counts no second time: for up to a minute, if the
    /// server stays away.
    ///
    /// # Errors
    /// [`ChangeError`] says whether it was counted.
    ///
    /// # Cancel safety
    /// Dropping the future leaves it open whether it was counted: once, or not at all. What was sent may be
    /// executed until the client's `node_timeout` is over.
    pub async fn count_down(&self) -> Result<bool, ChangeError> {
        self.change(self.latch.count_down()).await
    }

    /// Deletes the latch, which lets all waiters through. False if it was not set.
    ///
    /// # Errors
    /// [`ChangeError`] says whether it was deleted.
    ///
    /// # Cancel safety
    /// Dropping the future leaves it open whether it was deleted; what was sent may be executed until the
    /// client's `node_timeout` is over.
    pub async fn delete(&self) -> Result<bool, ChangeError> {
        self.change(self.latch.delete()).await
    }

    /// Waits until the count is zero. Returns at once if it is.
    ///
    /// # Errors
    /// [`InspectError`] if the server cannot be asked, unless it is to be [waited
    /// for](Self::on_outage), or if the client was shut down. Nothing was changed.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn wait(&self) -> Result<(), InspectError> {
        self.wait_until(None).await.map(drop)
    }

    /// The same, for at most `limit`: false if the count was not seen at zero by then. The limit bounds the
    /// first look, too; a limit of zero looks once.
    ///
    /// # Errors
    /// As [`wait`](Self::wait). A first look that was not answered by then is an error, but with
    /// [`OnOutage::Wait`](crate::OnOutage::Wait): then it is `false`.
    ///
    /// # Cancel safety
    /// As [`wait`](Self::wait).
    pub async fn wait_for(&self, limit: Duration) -> Result<bool, InspectError> {
        if limit.is_zero() {
            return Ok(self.checked_look().await?.is_some_and(|seen| seen.reply.is_at_zero()));
        }
        let deadline = self.counter.services.now() + limit;
        self.wait_until(Some(deadline)).await
    }

    async fn change(&self, change: Change) -> Result<bool, ChangeError> {
        self.check_slot().await?;
        let outcome = self.counter.change(change).await?;
        Ok(outcome.code == Outcome::DONE)
    }

    /// Whether Redisson's channel is where the key is. Only servers tell whether they are in a cluster.
    async fn check_slot(&self) -> Result<(), ConfigError> {
        let Counter { services, key } = &self.counter;
        if !key.contains('{') {
            return Ok(());
        }
        self.counter.check()?;
        let deadline = services.now() + services.settings.node_timeout;
        // What keeps us from a connection is told by what follows.
        let connection = services.node.connection(key, deadline).await.ok();
        if connection.is_some_and(|connection| connection.standing().is_in_cluster()) {
            let name = self.counter.shown_name().into_text();
            return Err(ConfigError::TaggedLatch { name });
        }
        Ok(())
    }
}

impl fmt::Debug for CountDownLatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CountDownLatch")
            .field("name", &self.counter.shown_name())
            .field("node", self.counter.services.node_id())
            .finish_non_exhaustive()
    }
}

/// Scripts count in doubles: beyond it, two counts would look the same.
const MAX_COUNT: i64 = (1 << 53) - 1;
