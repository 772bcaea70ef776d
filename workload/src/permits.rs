//! Permits of semaphores, which are asked for as locks are.

use futures::future::BoxFuture;
use palisade::{ExpirableSemaphore, Lease, OnOutage, Semaphore};

use crate::target::{Answer, Call, Contended, Grant};

/// So many permits of a semaphore at once.
#[derive(Debug)]
pub struct Permits<S> {
    pub semaphore: S,
    pub permits: u32,
}

impl Contended for Permits<Semaphore> {
    /// They have no lease.
    fn ask<'a>(&self, _lease: Lease, on_outage: OnOutage, call: Call<'a>) -> BoxFuture<'a, Answer> {
        let (semaphore, permits) = (self.semaphore.clone().on_outage(on_outage), self.permits);
        Box::pin(async move {
            let guard = match call {
                Call::Acquire | Call::AcquireAs(_) => Some(semaphore.acquire_many(permits).await?),
                Call::TryAcquire | Call::TryAcquireAs(_) => {
                    semaphore.try_acquire_many(permits).await?
                }
                Call::TryAcquireFor(limit) => {
                    semaphore.try_acquire_many_for(permits, limit).await?
                }
            };
            Ok(guard.map(Grant::Permits))
        })
    }
}

impl Contended for Permits<ExpirableSemaphore> {
    fn ask<'a>(&self, lease: Lease, on_outage: OnOutage, call: Call<'a>) -> BoxFuture<'a, Answer> {
        let semaphore = self.semaphore.clone().with_lease(lease).on_outage(on_outage);
        let permits = self.permits;
        Box::pin(async move {
            let guard = match call {
                Call::Acquire | Call::AcquireAs(_) => Some(semaphore.acquire_many(permits).await?),
                Call::TryAcquire | Call::TryAcquireAs(_) => {
                    semaphore.try_acquire_many(permits).await?
                }
                Call::TryAcquireFor(limit) => {
                    semaphore.try_acquire_many_for(permits, limit).await?
                }
            };
            Ok(guard.map(|guard| Grant::Lock(guard.into())))
        })
    }
}
