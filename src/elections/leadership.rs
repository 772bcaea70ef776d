//! The proof that its owner leads.

use std::{fmt, future::Future};

use super::proclaiming::{Proclaiming, check_value};
use crate::{
    error::{ConfigError, GuardedError, LockLost, LostCause, ReleaseError},
    guard::{LockGuard, Released},
    kind::FencingToken,
    logging::LOCK,
    telling,
};

/// Proof that its owner leads; resigns when dropped.
///
/// It is not `Clone`: one term has one leader. What a guard can do, [its guard](Self::guard) can, such as
/// [scripts](LockGuard::script) that are executed only while it leads.
///
/// # Examples
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = palisade::embedded::Server::start()?.client()?;
/// let leadership = client.election("scheduler").campaign().await?;
/// let planned = leadership.run(async { /* … plans, and is stopped when it leads no more … */ 7 }).await?;
/// leadership.ensure_valid()?;
/// // … a write that shows `leadership.token()` to its store …
/// leadership.resign().await?;
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
#[must_use = "it resigns when dropped"]
pub struct Leadership {
    guard: LockGuard,
    token: FencingToken,
}

impl Leadership {
    /// Leads by a hold that is had already, of a lock with fencing tokens. Sends nothing: it is announced by what it
    /// [proclaims](Self::proclaim) first.
    ///
    /// # Errors
    /// [`HeldWithoutToken`](ConfigError::HeldWithoutToken): the lock has no tokens; the guard is dropped.
    pub fn of(guard: impl Into<LockGuard>) -> Result<Self, ConfigError> {
        let guard = guard.into();
        let Some(token) = guard.turn().token() else {
            return Err(ConfigError::HeldWithoutToken {
                name: guard.turn().claim().lock_name().into_text(),
            });
        };
        guard.turn().claim().keep_to_this_turn();
        Ok(Self { guard, token })
    }

    /// Says that it leads. It leads also if that is not heard.
    pub(super) async fn announce(&self) {
        if let Err(error) = self.proclaiming(0, b"").carry_out().await {
            let lock = self.guard.turn().claim().lock_name();
            telling::event(move || {
                tracing::warn!(target: LOCK, %lock, %error, "leads, but could not announce it to observers");
            });
        }
    }

    /// Announces `value`, of 1,024 bytes at most, such as an address: to all that [observe](super::Election::observe),
    /// in place of what it announced before.
    ///
    /// Of two that overlap the one that was called later stands. On several servers it returns once a majority has it.
    ///
    /// # Errors
    /// [`GuardedError`]: too few servers confirmed it in several attempts, and observers may see it or not. Leading is
    /// not ended by that, but by what [`Lost`](GuardedError::Lost) and [`NotHeld`](GuardedError::NotHeld) tell.
    /// [`Config`](GuardedError::Config) for a longer value: nothing was sent.
    ///
    /// # Cancel safety
    /// After the future was dropped it is unknown whether the value is announced. A later one stands all the same.
    pub async fn proclaim(&self, value: impl AsRef<[u8]>) -> Result<(), GuardedError> {
        let value = value.as_ref();
        check_value(value)?;
        let number = self.guard.turn().claim().process().next_announcement();
        self.proclaiming(number, value).carry_out().await
    }

    fn proclaiming<'a>(&'a self, number: u64, value: &'a [u8]) -> Proclaiming<'a> {
        Proclaiming { guard: &self.guard, token: self.token, number, value }
    }

    /// Leads no more, and returns when the servers know: the next may lead by then.
    ///
    /// # Errors
    /// As [`LockGuard::release`]: [`Lost`](ReleaseError::Lost) if it led no more before, which is serious.
    ///
    /// # Cancel safety
    /// Dropping the future after its first poll leaves it to the background.
    pub async fn resign(self) -> Result<Released, ReleaseError> {
        self.guard.release().await
    }

    /// What to show to a store with every write: greater than that of any term before.
    #[must_use]
    pub fn token(&self) -> FencingToken {
        self.token
    }

    /// Waits until it leads no more though it did not resign.
    ///
    /// # Cancel safety
    /// Dropping the future has no effect.
    pub async fn lost(&self) -> LostCause {
        self.guard.lost().await
    }

    /// Does `work`, and stops it when it leads no more.
    ///
    /// # Errors
    /// [`LockLost`]: the work was stopped, or ended too late to count.
    ///
    /// # Cancel safety
    /// As safe as the work.
    pub async fn run<F: Future>(&self, work: F) -> Result<F::Output, LockLost> {
        self.guard.run(work).await
    }

    /// Whether it leads by its own clock: for the line before what only a leader may do.
    ///
    /// # Errors
    /// [`LockLost`]: it does not.
    pub fn ensure_valid(&self) -> Result<(), LockLost> {
        self.guard.ensure_valid()
    }

    /// The guard of its lock. Entered again, it leads for as long as any of its guards lives.
    pub fn guard(&self) -> &LockGuard {
        &self.guard
    }

    /// The guard of its lock, which goes on to lead: what it proclaimed stands.
    pub fn into_guard(self) -> LockGuard {
        self.guard
    }
}

impl fmt::Debug for Leadership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leadership")
            .field("lock", &self.guard.turn().claim().lock_name())
            .field("token", &self.token.get())
            .field("holder", &self.guard.holder_id())
            .field("remaining", &self.guard.remaining())
            .finish_non_exhaustive()
    }
}
