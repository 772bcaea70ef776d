//! What both kinds of semaphores have in common: permits that are counted on one node.

pub(crate) mod script;

use std::{fmt, sync::Arc};

use script::Store;

use super::{counter::Counter, once::Change};
use crate::{error::ChangeError, process::NodeServices, wire::Outcome};

/// The permits of a semaphore, which users set and change.
#[derive(Debug, Clone)]
pub(crate) struct Permits {
    pub(crate) counter: Counter,
    pub(crate) store: Store,
    /// The sort, if Redisson's key of who holds some is that of the same name in braces, too.
    pub(crate) shares_keys: Option<&'static str>,
}

impl Permits {
    /// `holders` is the key of who holds some, of the semaphore's name.
    pub(crate) fn new(
        services: Arc<NodeServices>,
        name: &str,
        holders: fn(&str) -> Arc<str>,
    ) -> Self {
        let counter = Counter::new(services, name);
        let store = Store::new(&counter.key, holders(&counter.key));
        Self { counter, store, shares_keys: None }
    }

    /// False if they are set already.
    pub(crate) async fn try_set(&self, permits: u32) -> Result<bool, ChangeError> {
        self.change(self.store.set(permits)).await
    }

    pub(crate) async fn add(&self, permits: i64) -> Result<(), ChangeError> {
        self.change(self.store.add(permits, false)).await.map(drop)
    }

    /// False if there is no such semaphore.
    pub(crate) async fn add_if_exists(&self, permits: i64) -> Result<bool, ChangeError> {
        self.change(self.store.add(permits, true)).await
    }

    /// False if there was no such semaphore.
    pub(crate) async fn delete(&self) -> Result<bool, ChangeError> {
        self.change(self.store.delete()).await
    }

    /// Whether it was made.
    pub(crate) async fn change(&self, change: Change) -> Result<bool, ChangeError> {
        if let Some(sort) = self.shares_keys {
            self.counter.services.check_apart(sort, &self.counter.key)?;
        }
        Ok(self.counter.change(change).await?.code == Outcome::DONE)
    }

    /// `Debug` of a semaphore of this type, as far as it is for users.
    pub(crate) fn show(&self, of: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(of)
            .field("name", &self.counter.shown_name())
            .field("node", self.counter.services.node_id())
            .finish_non_exhaustive()
    }
}
