//! What a client holds, without a word to a server.

use std::sync::Arc;

use super::{Client, Masters};
use crate::process::{ClientStats, HeldLock, Listed, each_once};

impl Client {
    /// The locks that are held through this client, those over several servers too: as the last answers have it,
    /// without a word to a server. In the order of their channels.
    ///
    /// Nothing in a child by `fork()`.
    #[must_use]
    pub fn held(&self) -> Vec<HeldLock> {
        told(self.claims())
    }

    /// How much it has to do now. All is 0 in a child by `fork()`.
    #[must_use]
    pub fn stats(&self) -> ClientStats {
        let services = &self.services;
        let is_here = services.process.home.is_here();
        let of = |count: &dyn Fn() -> usize| if is_here { count() } else { 0 };
        ClientStats {
            held: of(&|| self.held().len()),
            acquiring: of(&|| services.acquiring()),
            releasing: of(&|| services.drain.under_way()),
            subscriptions: of(&|| services.notifier.subscriptions()),
            is_connected: is_here
                && services.node.connected_anywhere(services.node.marker()).is_some(),
        }
    }

    fn claims(&self) -> Vec<Arc<dyn Listed>> {
        if self.services.process.home.is_here() { self.services.claims() } else { Vec::new() }
    }
}

impl Masters {
    /// The locks that are held on any of them, each once: see [`Client::held`].
    #[must_use]
    pub fn held(&self) -> Vec<HeldLock> {
        told(each_once(self.clients().iter().flat_map(Client::claims).collect()))
    }
}

/// No claim is asked under the lock of their list.
fn told(claims: Vec<Arc<dyn Listed>>) -> Vec<HeldLock> {
    claims.iter().filter_map(|claim| claim.told()).collect()
}
