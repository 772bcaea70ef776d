//! `palisade exporter`: what is held and how the servers are, for Prometheus.
//!
//! ```text
//!  scans: every minute, slowly ──► counts ─┐
//!                                          ├─► seen ─► page ─► http ─► Prometheus
//!  looks: every 15 s ────────────► fleet ──┘
//! ```
//!
//! Two loops ask the servers, each at its own pace, and note what they saw. A scrape reads what was noted and no more: so
//! many scrapes as there may be cost the servers nothing, and a server that hangs does not hold up an answer.

mod counts;
mod fleet;
mod http;
mod page;
mod request;
mod seen;
mod troubles;

use std::{
    convert::Infallible,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use palisade::inspect::ListOptions;
use rustix::process::Signal;
use tokio::net::TcpListener;

use self::{
    counts::Counts,
    fleet::ServerLook,
    seen::{Scan, Seen},
    troubles::Troubles,
};
use crate::{
    args::ExporterArgs,
    boottime::{self, Alarm},
    doctor::Deployment,
    examine::{CLOCK_SKEW, examine_all},
    exit::Failure,
    servers::Servers,
    signals::Signals,
    tell,
};

/// Goes round until it is ended.
pub(crate) async fn exporter(args: &ExporterArgs) -> Result<u8, Failure> {
    let servers = Servers::named(&args.servers)?;
    let skew = servers.clock_skew();
    let listening =
        |error| Failure::system(format_args!("cannot listen at {}", args.listen), error);
    let mut signals = Signals::listen(&[Signal::INT, Signal::TERM])
        .map_err(|error| Failure::system("cannot listen for signals", error))?;
    let listener = TcpListener::bind(args.listen).await.map_err(listening)?;
    let address = listener.local_addr().map_err(listening)?;
    tell(format_args!("listening at http://{address}/metrics"));
    let rule = Deployment::of(&servers, args.all);
    let round = Round {
        has_votes: rule.has_votes(servers.len()),
        needed: rule.needs(servers.len()),
        every: args.every,
        seen: Mutex::new(Seen::new(servers.len(), skew.unwrap_or(CLOCK_SKEW))),
        servers,
    };
    let round = Arc::new(round);
    let answers = round.clone();
    let ended = tokio::select! {
        failed = round.scans() => failed.map(|never| match never {}),
        failed = round.looks() => failed.map(|never| match never {}),
        never = http::serve(listener, move || answers.page()) => match never {},
        _signal = signals.next() => Ok(0),
    };
    round.servers.close().await;
    ended
}

/// What goes round, and what it has seen.
///
/// # Deadlock safety
/// One lock, which is held for no longer than it takes to note or to write down what is known.
struct Round {
    servers: Servers,
    /// Whether one of them may be without a vote.
    has_votes: bool,
    /// How many of them have to grant a lock.
    needed: usize,
    every: Duration,
    seen: Mutex<Seen>,
}

impl Round {
    /// Counts what is held, again and again.
    async fn scans(&self) -> Result<Infallible, Failure> {
        let (options, mut troubles) = (ListOptions::new().pace(PACE), Troubles::default());
        let alarm = alarm()?;
        loop {
            let begun = boottime::now();
            let list = self.servers.masters().list(&options).await.map_err(Failure::usage)?;
            let ended = boottime::now();
            troubles.learn(troubles::of_list(&list));
            let counts = Counts::of(&list, self.needed);
            let is_whole = list.is_complete();
            self.seen().scanned(Scan {
                took: ended.saturating_sub(begun),
                ended,
                counts,
                is_whole,
            });
            wait(&alarm, begun + self.every).await?;
        }
    }

    /// Asks how the servers are, again and again: that costs them little, and alarms are waiting for it.
    async fn looks(&self) -> Result<Infallible, Failure> {
        let (every, mut troubles) = (self.every.min(BETWEEN_LOOKS), Troubles::default());
        let alarm = alarm()?;
        loop {
            let begun = boottime::now();
            let examined = examine_all(self.servers.masters().clients()).await?;
            troubles.learn(troubles::of_servers(&examined));
            let looks = examined.iter().map(|one| ServerLook::of(one, self.has_votes));
            self.seen().looked(looks.collect(), boottime::now());
            wait(&alarm, begun + every).await?;
        }
    }

    fn page(&self) -> String {
        page::written(&self.seen(), self.needed, boottime::now())
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn alarm() -> Result<Alarm, Failure> {
    Alarm::new().map_err(|error| Failure::system("cannot make a timer", error))
}

/// Until then, also if the machine sleeps meanwhile.
async fn wait(alarm: &Alarm, until: Duration) -> Result<(), Failure> {
    let rung = async {
        alarm.set(until)?;
        alarm.rings().await
    };
    rung.await.map_err(|error| Failure::system("cannot wait", error))
}

/// A server is kept busy with counts for a hundredth of the time at most, since there is no end of them.
const PACE: u32 = 100;

/// A master that is gone is to be seen before an alarm of one minute is over.
const BETWEEN_LOOKS: Duration = Duration::from_secs(15);
