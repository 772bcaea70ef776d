//! The proof of a hold that has a fencing token.

use std::fmt;

use crate::{
    elections::HasToken,
    guard::{LockGuard, Turn, guard_methods},
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

    fn of(guard: LockGuard) -> Self {
        // Fenced locks win holds with a token, and no others suit. If that were ever broken, every
        // store would refuse what is shown.
        let token = guard.turn().token().unwrap_or(FencingToken::NONE);
        Self { guard, token }
    }
}

impl HasToken for FencedGuard {}

// As a plain guard its token is still there, but may be that of no lock.
guard_methods!(FencedGuard.guard, of: Self::of, suits: |turn: &Turn| turn.token().is_some());

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
