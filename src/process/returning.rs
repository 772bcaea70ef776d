//! A server that is back, or has lost its data: whatever is held there is renewed early.

use std::{sync::PoisonError, time::Duration};

use super::{occasion::Occasion, services::NodeServices};
use crate::node::Resident;

impl NodeServices {
    /// Renews all that is held there: without that, the next renewals would be the first to show
    /// whether the server still knows it. They leave together, not at the moment at which other
    /// processes' do, and once a second at most on each occasion, whatever happens how often.
    pub(crate) fn renew_all_soon(&self, occasion: Occasion) {
        if planted!(NoHurry) {
            return;
        }
        let now = self.now();
        let at = {
            let mut all = self.renewed_all_at.lock().unwrap_or_else(PoisonError::into_inner);
            let last = all.last(occasion);
            let planned = last.filter(|at| *at > now);
            // What was granted since then is not among those that it was planned for.
            let at = planned.unwrap_or_else(|| {
                let earliest = last.map_or(now, |last| now.max(last + EVERY));
                earliest + self.process.random.within(Duration::ZERO..WITHIN)
            });
            *last.insert(at)
        };
        self.claims().iter().for_each(|claim| claim.renew_on(self.node_id(), at));
    }
}

impl Resident for NodeServices {
    fn needs_node(&self) -> bool {
        !self.held().is_empty()
    }

    /// For renewals too, whichever link found it: they take another's while their own is not there.
    fn node_is_back(&self) {
        self.renew_all_soon(Occasion::Back);
    }
}

const EVERY: Duration = Duration::from_secs(1);
const WITHIN: Duration = Duration::from_millis(50);
