//! Elections in place of locks: what is granted leads.

use std::{sync::Arc, time::Duration};

use checkers::history::Kind;
use futures::future::BoxFuture;
use palisade::{
    AnyLock, Client, Lease, Masters, OnOutage,
    election::{Election, HasToken},
};

use crate::target::{Answer, Call, Contended, Grant};

/// A lock by which is led.
#[derive(Debug)]
struct Campaign<L>(L);

impl<L: AnyLock<Guard: HasToken>> Contended for Campaign<L> {
    fn ask<'a>(&self, lease: Lease, on_outage: OnOutage, call: Call<'a>) -> BoxFuture<'a, Answer> {
        let election = Election::new(self.0.clone().with_lease(lease).on_outage(on_outage));
        let limit = match call {
            Call::TryAcquire | Call::TryAcquireAs(_) => Some(Duration::ZERO),
            Call::TryAcquireFor(limit) => Some(limit),
            Call::Acquire | Call::AcquireAs(_) => None,
        };
        Box::pin(async move {
            let leadership = match limit {
                Some(limit) => election.try_campaign_for(limit).await?,
                None => Some(election.campaign().await?),
            };
            Ok(leadership.map(Grant::Leads))
        })
    }
}

/// The election by a lock of this kind: on all masters, or on `home` alone.
#[must_use]
pub fn election(masters: &Masters, home: &Client, kind: Kind, name: &str) -> Election {
    match kind {
        Kind::RedLock => Election::new(masters.fenced_red_lock(name)),
        Kind::MultiLock => Election::new(masters.fenced_multi_lock(name)),
        Kind::Lock => Election::new(home.fenced_lock(name)),
    }
}

/// The same, to be contended for.
#[must_use]
pub fn campaign(masters: &Masters, home: &Client, kind: Kind, name: &str) -> Arc<dyn Contended> {
    match kind {
        Kind::RedLock => Arc::new(Campaign(masters.fenced_red_lock(name))),
        Kind::MultiLock => Arc::new(Campaign(masters.fenced_multi_lock(name))),
        Kind::Lock => Arc::new(Campaign(home.fenced_lock(name))),
    }
}
