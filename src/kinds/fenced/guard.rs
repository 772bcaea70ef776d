//! The proof of a hold that has a fencing token.

use std::{fmt, ops::Deref};

use crate::{
    error::{LockLost, ReleaseError},
    guard::{LockGuard, Proof, Released, Turn},
    kind::FencingToken,
};

/// Proof that a fenced lock is held, with the token to show to the store; gives the lock back when
/// dropped.
///
/// A [`LockGuard`] in all else: what is not here is there.
///
/// # Examples
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = palisade::embedded::Server::start()?.client()?;
/// let guard = client.fenced_lock("orders:42").acquire().await?;
/// let token = guard.fencing_token();
/// // … writes, each with the token …
/// guard.ensure_valid()?;
/// guard.release().await?;
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
#[must_use = "the lock is released when the guard is dropped"]
pub struct FencedGuard {
    guard: LockGuard,
    token: FencingToken,
}

impl FencedGuard {
    /// What to show to the store with every write. The same for all guards of the hold.
    #[must_use]
    pub fn fencing_token(&self) -> FencingToken {
        self.token
    }

    /// [`LockGuard::release`].
    ///
    /// # Errors
    /// As [`LockGuard::release`].
    ///
    /// # Cancel safety
    /// As [`LockGuard::release`].
    pub async fn release(self) -> Result<Released, ReleaseError> {
        self.guard.release().await
    }

    /// One more guard on the same hold, with the same token. Asks no server.
    ///
    /// # Errors
    /// [`LockLost`] if the hold is over: it is never entered again.
    pub fn reenter(&self) -> Result<Self, LockLost> {
        Ok(Self { guard: self.guard.reenter()?, token: self.token })
    }

    /// [`LockGuard::orphan`].
    pub fn orphan(self) {
        self.guard.orphan();
    }
}

impl Proof for FencedGuard {
    fn suits(turn: &Turn) -> bool {
        turn.token().is_some()
    }

    fn of(guard: LockGuard) -> Self {
        // Fenced locks win holds with a token, and no others suit. If that were ever broken, every
        // store would refuse what is shown.
        let token = guard.turn().token().unwrap_or(FencingToken::NONE);
        Self { guard, token }
    }

    fn guard(&self) -> &LockGuard {
        &self.guard
    }

    fn into_guard(self) -> LockGuard {
        self.guard
    }
}

impl From<FencedGuard> for LockGuard {
    /// The same hold: its token is [still there](Self::fencing_token), but may be that of no lock.
    fn from(guard: FencedGuard) -> Self {
        guard.guard
    }
}

impl Deref for FencedGuard {
    type Target = LockGuard;

    fn deref(&self) -> &LockGuard {
        &self.guard
    }
}

impl fmt::Debug for FencedGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FencedGuard")
            .field("lock", &self.guard.turn().claim().lock_name())
            .field("token", &self.token.get())
            .field("holder", &self.holder_id())
            .field("remaining", &self.remaining())
            .finish_non_exhaustive()
    }
}
