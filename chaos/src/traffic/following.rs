//! Follows elections, and records what is shown of them.

use std::{sync::Arc, time::Duration};

use palisade::{
    Client, Masters,
    election::{Observation, Observer},
    error::ConfigError,
};
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{error::Elapsed, timeout},
};
use workload::election;

use super::{
    prizes::{Prize, What},
    worker::Orders,
};
use crate::{history::Event, recorder::Recorder};

/// One that a worker follows.
#[derive(Debug)]
pub(super) struct Following {
    shown: JoinHandle<()>,
    /// Whether one leads, as far as was shown.
    is_led: watch::Receiver<bool>,
}

impl Following {
    /// Those of the worker's prizes that are elections.
    pub(super) fn all(
        orders: &Orders,
        clients: &[Client],
        recorder: &Arc<Recorder>,
    ) -> Result<Vec<Self>, ConfigError> {
        let led = orders.prizes.all().iter().filter(|prize| prize.what == What::Led);
        led.map(|prize| Self::begin(prize, orders, clients, recorder)).collect()
    }

    fn begin(
        prize: &Prize,
        orders: &Orders,
        clients: &[Client],
        recorder: &Arc<Recorder>,
    ) -> Result<Self, ConfigError> {
        let masters = Masters::new(clients.iter().cloned())?;
        let first = clients.first().ok_or(ConfigError::NoMembers)?;
        let observer = election(&masters, first, prize.what.kind(), prize.name).observe();
        let (tell, is_led) = watch::channel(false);
        let (worker, lock, recorder) = (orders.worker, prize.name.to_owned(), recorder.clone());
        let record = move |observation: Observation| {
            let Observation { leader, stale_since, .. } = observation;
            let stale = stale_since.is_some();
            let token = leader.as_ref().and_then(|leader| leader.token).map(|token| token.get());
            let value = leader.and_then(|leader| leader.value);
            let value = value.map(|value| String::from_utf8_lossy(&value).into_owned());
            recorder.note(Event::Shown { worker, lock: lock.clone(), token, value, stale });
            tell.send_replace(stale || token.is_some());
        };
        Ok(Self { shown: tokio::spawn(show(observer, record)), is_led })
    }

    /// Until it was shown that none leads any more.
    pub(super) async fn end(mut self, limit: Duration) -> Result<(), Elapsed> {
        let ended = timeout(limit, self.is_led.wait_for(|is_led| !is_led)).await;
        self.shown.abort();
        ended.map(drop)
    }
}

async fn show(mut observer: Observer, mut record: impl FnMut(Observation)) {
    loop {
        // A right may be missing for a while; asked again, it waits for a second.
        if let Ok(observation) = observer.changed().await {
            record(observation);
        }
    }
}
