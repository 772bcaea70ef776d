//! A lock that an operator takes away from its holder, without anybody being let in beside it.
//!
//! The holder is replaced in place by a stand-in, which has its ttl and which nothing renews. So the holder's renewals
//! fail and its releases change nothing, and others are granted it when they would have been after a crash: behind
//! the deadline by which the holder goes.
//!
//! One script serves all kinds of locks with a holder, since those are one hash. What gives a stand-in back at once is
//! the release of its kind.
//!
//! # Invariants
//! - **The ttl of the hold stays**, to the millisecond: the stand-in is written before the holder goes.
//! - **Only the holder that was named is touched**, of many readers too, and in one script.
//! - **What was taken away is not taken back**: the holder id stands nowhere, and a heal finds another's hold.
//! - **A fencing counter rises** with it, so that the holder's token is behind it at once.
//!
//! # What proves them
//! In `tests/it`: `revoking` for each kind on real servers.
//!
//! # To change…
//! - what is written: `revoke.lua`; what a stand-in is called: `script`
//! - which rights it needs: `Rights::revoking` in `rights.rs`

mod outcome;
pub(crate) mod script;

use std::{sync::Arc, time::Duration};

pub use outcome::Revoked;
pub(crate) use script::StandIn;

use crate::{
    error::{InspectError, NodeError},
    kind::Statements,
    kinds::{
        fair::script::Fair,
        looking::{ask, failed},
        mutex::{Lock, Mutex},
        rw::script::{Mode, Rw, RwSide},
    },
    lease::Lease,
    wire::{Outcome, Statement},
};

impl Lock {
    /// Takes the lock away from one holder, of whatever kind the lock of this name is, without letting anybody in: its
    /// renewals fail from now on, it cannot give the lock back, and others wait until its ttl is over.
    ///
    /// On the server the holder id is replaced in place by `palisade-unlock:<n>`, and of a reader by an uuid that none
    /// has; the ttl stays as it is. A hold without a ttl gets one, of the [watchdog
    /// lease](crate::ClientBuilder::watchdog_lease). A hold that was entered several times goes as a whole, and other
    /// readers stay. The counter of a fenced lock is raised by one.
    ///
    /// The holder learns of it at once by [tracking](crate::ClientBuilder::tracking), with its next renewal, and by its
    /// own clock at the latest: before others are granted. Nothing is announced.
    ///
    /// # Errors
    /// [`InspectError`]; whether it was taken away is unknown if the cause
    /// [is](crate::error::NodeError::is_unknown).
    ///
    /// # Cancel safety
    /// Dropping the future leaves it open whether it was taken away.
    ///
    /// # Examples
    /// ```
    /// # #[cfg(feature = "embedded")]
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use palisade::{Lease, inspect::Revoked};
    ///
    /// let client = palisade::embedded::Server::start()?.client()?;
    /// let lock = client.lock("orders:42");
    /// let guard = lock.acquire().await?;
    /// let revoked = lock.revoke(guard.holder_id()).await?;
    /// assert!(matches!(revoked, Revoked::Replaced { .. }));
    /// assert!(guard.release().await.is_err());
    /// assert!(lock.is_locked().await?, "until the ttl is over");
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "embedded"))]
    /// # fn main() {}
    /// ```
    pub async fn revoke(&self, holder_id: &str) -> Result<Revoked, InspectError> {
        let (revoked, _) = self.revoke_from(holder_id).await?;
        Ok(revoked)
    }

    /// The same, and gives the lock back at once: waiters are woken. The holder believes that it holds the lock until it
    /// [learns](Self::revoke) of this, beside one that is granted it meanwhile.
    ///
    /// # Errors
    /// As [`revoke`](Self::revoke). [`Revoked::Replaced`] says that it was taken away, and not known to be given back:
    /// it is free when the ttl is over at the latest.
    ///
    /// # Cancel safety
    /// As [`revoke`](Self::revoke).
    pub async fn revoke_now(&self, holder_id: &str) -> Result<Revoked, InspectError> {
        let (revoked, mode) = self.revoke_from(holder_id).await?;
        let (Revoked::Replaced { by, .. } | Revoked::Before { by, .. }) = &revoked else {
            return Ok(revoked);
        };
        let release = self.release_of(&by.as_str().into(), mode).await;
        let (services, key) = (&self.voter().services, self.voter().kind.name());
        let freed = ask(services, key, &release).await;
        let is_freed = freed.is_ok_and(|outcome| outcome.code == Outcome::DONE);
        // Else it was taken away all the same.
        Ok(if is_freed { Revoked::Freed } else { revoked })
    }

    /// The same, with how the stand-in gives the lock back, if it holds it.
    async fn revoke_from(&self, holder: &str) -> Result<(Revoked, Option<Mode>), InspectError> {
        let stand_in = &StandIn::of(holder);
        let (services, key) = (&self.voter().services, self.voter().kind.name());
        let settings = &services.settings;
        let lease = Lease::Watchdog.term(settings.watchdog_lease, settings.max_lease)?;
        let Outcome { code, value, .. } =
            ask(services, key, &script::revoke(key, holder, stand_in, lease)).await?;
        let ttl = Duration::from_millis(u64::try_from(value).unwrap_or(0));
        let replaced = |by: &Arc<str>| Revoked::Replaced { by: by.to_string(), ttl };
        let before = |by: &Arc<str>| Revoked::Before { by: by.to_string(), ttl };
        let [alone, writer, reading] = script::BEFORE;
        match code {
            Outcome::DONE => Ok((replaced(&stand_in.alone), None)),
            script::WRITER => Ok((replaced(&stand_in.alone), Some(Mode::Write))),
            script::READING => Ok((replaced(&stand_in.reader), Some(Mode::Read))),
            code if code == alone => Ok((before(&stand_in.alone), None)),
            code if code == writer => Ok((before(&stand_in.alone), Some(Mode::Write))),
            code if code == reading => Ok((before(&stand_in.reader), Some(Mode::Read))),
            Outcome::FOREIGN => Err(failed(services, key, NodeError::ForeignKey)),
            _ => Ok((Revoked::NotHeld { is_free: value == 0 }, None)),
        }
    }

    /// How a stand-in gives the lock back, as its kind does: waiters are told.
    async fn release_of(&self, stand_in: &Arc<str>, mode: Option<Mode>) -> Statement {
        let (services, key) = (&self.voter().services, self.voter().kind.name());
        if let Some(mode) = mode {
            let rw = Arc::new(Rw::new(key, services.settings.redisson_watchdog));
            return RwSide::of(&rw, mode).release(stand_in);
        }
        let fair = Fair::new(key);
        // Whether it is a fair one shows by its waiters alone, and is nothing to a user without rights to those.
        let waiting = ask(services, key, &fair.waiting()).await.unwrap_or_default();
        if waiting.is_empty() { Mutex::new(key).release(stand_in) } else { fair.release(stand_in) }
    }
}
