//! What both kinds of semaphores have in common: permits that are counted on one node.

mod permit_methods;
pub(crate) mod script;

use std::sync::Arc;

pub(super) use permit_methods::permit_methods;
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

    /// Whether it was made.
    pub(crate) async fn change(&self, change: Change) -> Result<bool, ChangeError> {
        if let Some(sort) = self.shares_keys {
            self.counter.services.check_apart(sort, &self.counter.key)?;
        }
        Ok(self.counter.change(change).await?.code == Outcome::DONE)
    }
}
