//! A lock goes from one process to another that waits for it.

use std::{process, sync::Arc, thread, time::Duration};

use clap::ValueEnum;
use futures::{FutureExt, StreamExt, future::BoxFuture};
use palisade::{AnyLock, LockGuard};
use redis::{Client, aio::PubSub};
use testkit::{Actor, Cluster};

use crate::{
    block::{Block, Load},
    child::{PATIENCE, lines, start, tell},
    figure::Figure,
    floor::{Floor, channel},
    line::Line,
    locks::{Single, release},
    meter::monotonic,
    rows::Setting,
    turns::{Contest, Side},
};

/// Which task hands over to which.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Who {
    /// Release script, message, acquire script.
    ByHand,
    Palisade,
    Fair,
}

/// From before the release until the other process has its lock.
pub(crate) async fn hand_over(setting: &Setting) -> Vec<Line> {
    let servers = Arc::new(Cluster::start(1));
    let url = servers[0].url();
    let side = |who| Side::new(HandOver::between(who, &url), &servers);
    let (baseline, ours) = (side("by-hand"), side("palisade"));
    let contest = Contest { against: "by hand", baseline, ours, peers: Vec::new() };
    let outcome = contest.hold(setting.effort).await;
    vec![outcome.line(Figure::P50).aim(1.2), outcome.line(Figure::P99)]
}

/// The same of the fair lock, against the plain one.
pub(crate) async fn fair_hand_over(setting: &Setting) -> Vec<Line> {
    let servers = Arc::new(Cluster::start(1));
    let url = servers[0].url();
    let side = |who| Side::new(HandOver::between(who, &url), &servers);
    let (baseline, ours) = (side("palisade"), side("fair"));
    let contest = Contest { against: "the plain lock", baseline, ours, peers: Vec::new() };
    let outcome = contest.hold(setting.effort).await;
    vec![outcome.line(Figure::P50).aim(1.5), outcome.line(Figure::P99)]
}

/// Two processes, the first of which holds the lock.
struct HandOver([Actor; 2]);

impl HandOver {
    fn between(who: &str, url: &str) -> Self {
        let one = || start(&["contact".into(), who.into(), url.into()]).0;
        let mut both = [one(), one()];
        let [holder, _] = &mut both;
        holder.ask("acquire", PATIENCE);
        Self(both)
    }

    /// How long it took, in µs.
    fn once(&mut self) -> f32 {
        let [holder, other] = &mut self.0;
        other.send("acquire").expect("the child lives");
        // Until it has subscribed and was refused a second time.
        thread::sleep(Duration::from_millis(3));
        let begun = stamp(&holder.ask("release", PATIENCE));
        let had = stamp(&other.recv(PATIENCE).expect("the lock is free"));
        self.0.reverse();
        (had - begun).as_secs_f32() * 1e6
    }
}

impl Load for HandOver {
    /// Blocks this thread: nothing else is to run meanwhile.
    fn block(&mut self, length: Duration) -> BoxFuture<'_, Block> {
        async move {
            let until = monotonic() + length;
            let mut block = Block::default();
            while monotonic() < until {
                block.micros.push(self.once());
            }
            block
        }
        .boxed()
    }
}

fn stamp(line: &str) -> Duration {
    Duration::from_nanos(line.parse().expect("a stamp in ns"))
}

/// One of the two: says when it has the lock, and when it began to release it.
pub(crate) async fn play(who: Who, url: &str) {
    match who {
        Who::ByHand => obey(ByHand::connect(url).await).await,
        Who::Palisade => {
            let lock = Single::connect(url, &["palisade".into()]).await;
            let lock = lock.into_iter().next().expect("one name").lock();
            obey(Held { lock, guard: None }).await;
        }
        Who::Fair => {
            let client = palisade::Client::connect(url).await.expect("the server is up");
            obey(Held { lock: client.fair_lock("fair"), guard: None }).await;
        }
    }
}

trait Contact {
    async fn acquire(&mut self);
    async fn release(&mut self);
}

async fn obey(mut contact: impl Contact) {
    let mut lines = lines();
    tell("ready");
    while let Some(line) = lines.recv().await {
        let stamp = if line == "acquire" {
            contact.acquire().await;
            monotonic()
        } else {
            let began = monotonic();
            contact.release().await;
            began
        };
        tell(&stamp.as_nanos().to_string());
    }
}

struct Held<L> {
    lock: L,
    guard: Option<LockGuard>,
}

impl<L: AnyLock<Guard = LockGuard>> Contact for Held<L> {
    async fn acquire(&mut self) {
        self.guard = Some(self.lock.acquire().await.expect("the server is up"));
    }

    async fn release(&mut self) {
        release(self.guard.take().expect("it is held")).await;
    }
}

/// Subscribed all the time, so that a wait is one message and one script.
struct ByHand {
    lock: Floor,
    releases: PubSub,
}

impl ByHand {
    async fn connect(url: &str) -> Self {
        let holder = format!("by hand:{}", process::id());
        let floor = Floor::connect_as(&holder, url, &[Self::NAME.into()]).await;
        let lock = floor.into_iter().next().expect("one name");
        let client = Client::open(url).expect("the URL is one");
        let mut releases = client.get_async_pubsub().await.expect("the server is up");
        releases.subscribe(channel(Self::NAME)).await.expect("anybody may subscribe");
        Self { lock, releases }
    }

    const NAME: &str = "by hand";
}

impl Contact for ByHand {
    async fn acquire(&mut self) {
        while !self.lock.try_acquire().await {
            self.releases.on_message().next().await.expect("the server is up");
        }
    }

    async fn release(&mut self) {
        self.lock.release().await;
    }
}
