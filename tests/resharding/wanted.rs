//! What is wanted: a lock of any kind, and what a grant of it brings.

use palisade::{
    AnyGuard, Client, ExpirableSemaphore, FairLock, FencedLock, Lock, LockGuard, OnOutage,
    ReleaseError, Semaphore,
    rw::{ReadLock, WriteLock},
    semaphore::{ExpirableGuard, SemaphoreGuard},
};

/// The kinds that are held and passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Plain,
    Fenced,
    Fair,
    /// One side reads, the other writes.
    Rw,
    Permit,
    Leased,
}

/// A lock, as one of two wants it.
pub(crate) enum Wanted {
    Plain(Lock),
    Fenced(FencedLock),
    Fair(FairLock),
    Read(ReadLock),
    Write(WriteLock),
    Permit(Semaphore),
    Leased(ExpirableSemaphore),
}

/// The proof of a grant.
pub(crate) enum Held {
    Lock(LockGuard),
    Permit(SemaphoreGuard),
    Leased(ExpirableGuard),
}

impl Kind {
    pub(crate) const ALL: [Self; 6] =
        [Self::Plain, Self::Fenced, Self::Fair, Self::Rw, Self::Permit, Self::Leased];

    /// Whether what a promoted replica does not have is lost with the master: it has no lease by which it
    /// would be waited for, or may be more than one's.
    pub(crate) const fn is_counted(self) -> bool {
        matches!(self, Self::Permit | Self::Leased)
    }

    /// As the first or the second of two wants it.
    pub(crate) fn wanted(self, client: &Client, name: &str, is_first: bool) -> Wanted {
        let wait = OnOutage::Wait;
        match self {
            Self::Plain => Wanted::Plain(client.lock(name).on_outage(wait)),
            Self::Fenced => Wanted::Fenced(client.fenced_lock(name).on_outage(wait)),
            Self::Fair => Wanted::Fair(client.fair_lock(name).on_outage(wait)),
            Self::Rw if is_first => Wanted::Read(client.rw_lock(name).read().on_outage(wait)),
            Self::Rw => Wanted::Write(client.rw_lock(name).write().on_outage(wait)),
            Self::Permit => Wanted::Permit(client.semaphore(name).on_outage(wait)),
            Self::Leased => Wanted::Leased(client.expirable_semaphore(name).on_outage(wait)),
        }
    }
}

impl Wanted {
    /// A lock that is shared with one other is wanted alone.
    pub(crate) async fn set_up(&self) {
        let is_set = match self {
            Self::Permit(semaphore) => semaphore.try_set_permits(1).await,
            Self::Leased(semaphore) => semaphore.try_set_permits(1).await,
            _ => return,
        };
        assert!(is_set.unwrap());
    }

    pub(crate) async fn acquire(&self) -> Held {
        match self {
            Self::Plain(lock) => Held::Lock(lock.acquire().await.unwrap()),
            Self::Fenced(lock) => Held::Lock(lock.acquire().await.unwrap().into()),
            Self::Fair(lock) => Held::Lock(lock.acquire().await.unwrap()),
            Self::Read(lock) => Held::Lock(lock.acquire().await.unwrap().into()),
            Self::Write(lock) => Held::Lock(lock.acquire().await.unwrap().into()),
            Self::Permit(semaphore) => Held::Permit(semaphore.acquire().await.unwrap()),
            Self::Leased(semaphore) => Held::Leased(semaphore.acquire().await.unwrap()),
        }
    }
}

impl Held {
    /// Why it is not held any more, if it is not. A permit without a lease tells when it is given back.
    pub(crate) fn loss(&self) -> Option<String> {
        let valid = match self {
            Self::Lock(guard) => guard.ensure_valid(),
            Self::Leased(guard) => guard.ensure_valid(),
            Self::Permit(_) => Ok(()),
        };
        valid.err().map(|lost| format!("{lost:?}"))
    }

    pub(crate) fn token(&self) -> Option<u64> {
        match self {
            Self::Lock(guard) => AnyGuard::fencing_token(guard).map(|token| token.get()),
            Self::Permit(_) | Self::Leased(_) => None,
        }
    }

    pub(crate) async fn release(self) -> Result<(), ReleaseError> {
        match self {
            Self::Lock(guard) => guard.release().await.map(drop),
            Self::Permit(guard) => guard.release().await,
            Self::Leased(guard) => guard.release().await,
        }
    }
}
