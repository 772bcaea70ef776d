//! What a token of a lock on one server is worth, seen from outside.
//!
//! Over several servers there is no such look. A counter there tells what was *offered*, not what was given: a round
//! that lost has raised counters, and a member that was won back by a holder keeps the greater number that it had.
//! With a member that offered more before a hold began, and one that was away and offered more to another since, a
//! majority of counters is greater than the token of a hold that stands. That a token was given is written nowhere,
//! since no call is made for that.

use super::{FencedLock, script::CounterLook};
use crate::{
    error::{InspectError, NodeError},
    kind::FencingToken,
    kinds::looking::{ask, failed},
};

/// What [`FencedLock::look`] found.
///
/// # Examples
/// See [`FencedLock::look`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TokenLook {
    /// The server has counted on: the hold of this token is over, or will be found to be. That is final.
    Stale,
    /// The server knows of no greater token. A hint, and never permission: the next one may be given before this is
    /// read, and a server that lost its data has forgotten those that were given.
    #[non_exhaustive]
    Newest {
        /// Whether the lock is held. A plain [`Lock`](crate::Lock) of the same name counts too: it has no token.
        held: bool,
    },
}

impl FencedLock {
    /// Whether a greater token than `token` was given by now: one look at the server, which changes nothing.
    ///
    /// It spares work that would be refused, such as that of a message which was queued with the token of a holder
    /// long gone. What refuses late writes is the store, or a [guarded script](crate::LockGuard::script).
    ///
    /// Locks on several servers have no such look: their counters rise with rounds that were lost, too, so they do
    /// not tell what was given.
    ///
    /// # Errors
    /// [`InspectError`]; nothing was changed.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    ///
    /// # Examples
    /// ```
    /// # #[cfg(feature = "embedded")]
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use palisade::inspect::TokenLook;
    ///
    /// let client = palisade::embedded::Server::start()?.client()?;
    /// let lock = client.fenced_lock("orders:42");
    /// let token = lock.with(async |guard| guard.fencing_token()).await?;
    /// assert!(matches!(lock.look(token).await?, TokenLook::Newest { held: false, .. }));
    /// let _next = lock.acquire().await?;
    /// assert_eq!(lock.look(token).await?, TokenLook::Stale);
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "embedded"))]
    /// # fn main() {}
    /// ```
    pub async fn look(&self, token: FencingToken) -> Result<TokenLook, InspectError> {
        let of = self.voter();
        let (services, key) = (&of.services, of.kind.name());
        let seen = ask(services, key, &CounterLook::at(key)).await?;
        let counter = u64::try_from(seen.counter)
            .map_err(|_none| failed(services, key, NodeError::ForeignCounter))?;
        Ok(if counter > token.get() {
            TokenLook::Stale
        } else {
            TokenLook::Newest { held: seen.held }
        })
    }
}
