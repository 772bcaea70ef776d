//! Runs about elections: all callers campaign by one lock, and each process follows which of them leads.
//!
//! Servers keep their data: what a server forgot of a term, observers that knew it would wait for.

use std::{sync::Arc, time::Duration};

use checkers::{
    history::{Event, Kind, Worker},
    random::Random,
};
use palisade::{
    Client, Masters,
    clock::Clock,
    election::{Observation, Observer},
    error::ConfigError,
};
use tokio::task::JoinHandle;
use workload::election;

use crate::{
    clock::SimClock,
    plan::{About, Broken, Fault, Plan},
    stage::Stage,
    targets,
};

impl Plan {
    /// A run that is about nothing else.
    pub(crate) fn of_elections(seed: u64) -> Self {
        let mut random = Random::branch(seed, &[7]);
        let mut plan = Self::of(seed);
        let kinds = [(3, Kind::RedLock), (1, Kind::MultiLock), (2, Kind::Lock)];
        let kind = random.weighted(&kinds);
        plan.about = About::Elections { kind };
        plan.draw_faults_without_losses(&mut random);
        let home = plan.home();
        plan.broken.retain(|broken: &Broken| match kind {
            Kind::RedLock => true,
            Kind::MultiLock => false,
            Kind::Lock => broken.node() != home,
        });
        debug_assert!(plan.faults.iter().all(|(_, fault)| !matches!(fault, Fault::Lose { .. })));
        plan
    }
}

/// Follows the election until the clients are shut down.
pub(crate) fn follow(
    stage: &Arc<Stage>,
    worker: Worker,
    clients: &[Client],
) -> Result<Option<JoinHandle<()>>, ConfigError> {
    let plan = &stage.plan;
    let (About::Elections { kind }, Some(home)) = (plan.about, clients.get(plan.home())) else {
        return Ok(None);
    };
    let lock = targets::name_of(kind, true);
    let masters = Masters::new(clients.iter().cloned())?;
    let observer = election(&masters, home, kind, lock).observe();
    Ok(Some(tokio::spawn(show(stage.clone(), worker, lock, observer))))
}

async fn show(stage: Arc<Stage>, worker: Worker, lock: &'static str, mut observer: Observer) {
    // An error that does not pass is that its client was shut down.
    while let Ok(Observation { leader, stale_since, .. }) = observer.changed().await {
        let stale = stale_since.is_some();
        let token = leader.as_ref().and_then(|leader| leader.token).map(|token| token.get());
        let value = leader.and_then(|leader| leader.value);
        let value = value.map(|value| String::from_utf8_lossy(&value).into_owned());
        stage.log.saw(match (token, &value) {
            (_, _) if stale => "observer: stale",
            (None, _) => "observer: none leads",
            (Some(_), None) => "observer: leader",
            (Some(_), Some(_)) => "observer: what it announced",
        });
        stage.log.record(Event::Shown { worker, lock: lock.to_owned(), token, value, stale });
    }
}

/// Until what was left behind has ended, and that was seen.
pub(crate) async fn settle(plan: &Plan, clock: &SimClock) {
    if let About::Elections { .. } = plan.about {
        clock.sleep_until(clock.now() + Duration::from_micros(plan.settling_us())).await;
    }
}
