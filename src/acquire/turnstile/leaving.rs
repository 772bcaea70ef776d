//! How a place at a turnstile is given up: that is said until the server has heard it, or the turn has ended by itself.
//!
//! What is lost with its socket would keep the turn from all others for as long as it lasts. It is said once for each
//! id, and an id does not come back, so to say it twice does no harm.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use futures::FutureExt;
use tokio::runtime::Handle;

use super::script::{Leave, TURN, may_not};
use crate::{clock::Instant, process::NodeServices, watchdog::Draining};

/// One place that is given up.
#[derive(Debug)]
pub(super) struct Leaving {
    services: Arc<NodeServices>,
    name: Arc<str>,
    said: Leave,
    /// When the turn has ended by itself, whatever happens.
    ends: Instant,
    /// Nothing of a client is left when it has been shut down.
    _draining: Draining,
}

impl Leaving {
    pub(super) fn of(services: &Arc<NodeServices>, name: &Arc<str>, said: Leave) -> Self {
        Self {
            services: services.clone(),
            name: name.clone(),
            said,
            ends: services.now() + TURN.max(services.settings.node_timeout),
            _draining: services.drain.begin(),
        }
    }

    /// Never blocks.
    pub(super) fn begin(self) {
        let watchdog = self.services.process.watchdog.clone();
        // It leaves here, where there is a connection, and is answered elsewhere.
        let mut first = self.say().boxed();
        let here = Handle::try_current().ok().and_then(|_| first.as_mut().now_or_never());
        match here {
            Some(None) => {}
            Some(Some(unheard)) => watchdog.attend(unheard.repeat().boxed()),
            None => watchdog.attend(first.then(Self::repeat_if_unheard).boxed()),
        }
    }

    /// Says it once. What is left to say, if it may not have been heard.
    async fn say(self) -> Option<Self> {
        let deadline = self.ends.min(self.services.now() + self.services.settings.node_timeout);
        match self.services.node.call(&self.name, &self.said, deadline).await {
            Ok(_) => None,
            Err(error) => {
                // A right that was taken away meanwhile may come back.
                let never_may = self.services.has_no_turnstiles.load(Ordering::Relaxed);
                (!never_may || !may_not(&error)).then_some(self)
            }
        }
    }

    async fn repeat_if_unheard(unheard: Option<Self>) {
        if let Some(unheard) = unheard {
            unheard.repeat().await;
        }
    }

    async fn repeat(self) {
        let (process, ends) = (self.services.process.clone(), self.ends);
        let (mut unheard, mut pause) = (Some(self), PAUSE_MIN);
        while let Some(leaving) = unheard {
            let next = process.clock.now() + process.random.most_of(pause);
            if next >= ends {
                return;
            }
            process.clock.sleep_until(next).await;
            pause = (pause * 2).min(PAUSE_MAX);
            unheard = leaving.say().await;
        }
    }
}

/// Gives up all places of a client, also of futures that are not polled. From then on it stands in no line.
pub(crate) fn leave_all(services: &Arc<NodeServices>) {
    for (id, name) in services.in_line.end_all() {
        Leaving::of(services, &name, Leave::new(&name, &id, false)).begin();
    }
}

/// What broke a socket is mostly over soon; what lasts for longer is not asked after all the time.
const PAUSE_MIN: Duration = Duration::from_millis(25);
const PAUSE_MAX: Duration = Duration::from_millis(500);
