//! Very many of something at once: members of one lock, and holds whose server goes.

use std::{
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Wake, Waker},
    time::{Duration, Instant},
};

use futures::{StreamExt, stream};
use palisade::{Client, Lease, Lock, LockGuard, MultiLock};
use testkit::RedisServer;
use tokio::time::sleep;

use crate::{
    line::{Better, Line, Sides},
    locks::{Hold, Single, names},
    meter::resident_bytes,
    rows::Setting,
};

/// One `MultiLock` of 20,000 names, against twice what one of 10,000 takes: what grows faster than its members
/// shows. Beside it another lock, of which is seen how long the watchdog is away at most.
pub(crate) async fn members(setting: &Setting) -> Vec<Line> {
    let most = if setting.effort.short { 10_000 } else { 20_000 };
    // The first one warms up.
    Composite::of(most / 10).await;
    let half = Composite::of(most / 2).await;
    let whole = Composite::of(most).await;
    let line = |figure, of: fn(&Composite) -> f64| {
        let sides = Sides::once(2.0 * of(&half), of(&whole));
        Line::new(figure, Better::Less, "twice that of half", &sides).aim(1.5)
    };
    let memory = Sides::once(1_024.0, whole.bytes / most as f64);
    let away = Sides::once(5.0, whole.away * 1e3);
    vec![
        line("made, s", |it| it.made),
        line("acquired, s", |it| it.acquired),
        line("renewed, s", |it| it.renewed),
        line("released, s", |it| it.released),
        Line::new("watchdog is away, ms", Better::Less, "wanted", &away).aim(1.0),
        Line::new("resident bytes a member", Better::Less, "wanted", &memory).aim(1.0),
    ]
}

/// What a lock of many members takes, in seconds and bytes.
struct Composite {
    made: f64,
    acquired: f64,
    renewed: f64,
    released: f64,
    /// The longest that another hold was told late meanwhile.
    away: f64,
    bytes: f64,
}

impl Composite {
    async fn of(members: usize) -> Self {
        let server = RedisServer::start();
        let client = Client::connect(&server.url()).await.expect("the server is up");
        let names = names("member", members);
        let locks: Vec<Lock> = names.iter().map(|name| client.lock(name)).collect();
        let before = resident_bytes();
        let begun = Instant::now();
        let lock = MultiLock::new(locks).expect("they are apart");
        let lock = lock.with_lease(Lease::WatchdogOf(Duration::from_secs(3)));
        let made = begun.elapsed().as_secs_f64();
        let probe = tokio::spawn(latest(client.clone(), Duration::from_secs(4)));
        let begun = Instant::now();
        let guard = lock.acquire().await.expect("it is free");
        let acquired = begun.elapsed().as_secs_f64();
        let renewed = renewal(&server, members as u64).await;
        let bytes = resident_bytes() - before;
        let away = probe.await.expect("it does not panic");
        let begun = Instant::now();
        guard.release().await.expect("it is held");
        let released = begun.elapsed().as_secs_f64();
        Self { made, acquired, renewed, released, away, bytes }
    }
}

/// How long a round of renewals takes, from its first to its last one on the server.
async fn renewal(server: &RedisServer, members: u64) -> f64 {
    let renewals = || server.calls_of("pexpire");
    let before = renewals();
    while renewals() == before {
        sleep(Duration::from_millis(1)).await;
    }
    let begun = Instant::now();
    while renewals() < before + members {
        sleep(Duration::from_millis(1)).await;
    }
    begun.elapsed().as_secs_f64()
}

/// How late at most, in seconds, a hold of 40 ms is told of its end, again and again for so long.
async fn latest(client: Client, length: Duration) -> f64 {
    let lock = client.lock("beside").with_lease(Lease::Fixed(Duration::from_millis(40)));
    let (until, mut latest) = (Instant::now() + length, 0.0_f64);
    while Instant::now() < until {
        let Ok(guard) = lock.acquire().await else { continue };
        let told = Told::of(&guard);
        // Not by what is measured, which is told beside it.
        while told.late().is_none() && Instant::now() < until + Duration::from_secs(30) {
            sleep(Duration::from_millis(1)).await;
        }
        latest = latest.max(told.late().unwrap_or(30.0));
    }
    latest
}

/// When a task that waits for the loss of a hold is woken.
struct Told {
    deadline: Instant,
    at: Arc<At>,
    _waiting: Pin<Box<dyn Future<Output = ()> + Send>>,
}

#[derive(Default)]
struct At(OnceLock<Instant>);

impl Wake for At {
    fn wake(self: Arc<Self>) {
        self.0.get_or_init(Instant::now);
    }
}

impl Told {
    fn of(guard: &LockGuard) -> Self {
        let (at, token) = (Arc::<At>::default(), guard.cancellation_token());
        let mut waiting = Box::pin(async move { token.cancelled().await });
        let waker = Waker::from(at.clone());
        let _pending = waiting.as_mut().poll(&mut Context::from_waker(&waker));
        Self { deadline: Instant::now() + guard.remaining(), at, _waiting: waiting }
    }

    /// In seconds after its deadline; `None` if it was not told.
    fn late(&self) -> Option<f64> {
        let (at, deadline) = (*self.at.0.get()?, self.deadline);
        let [late, early] = [(at, deadline), (deadline, at)]
            .map(|(one, other)| one.saturating_duration_since(other).as_secs_f64());
        Some(late - early)
    }
}

/// When the last of 100,000 holds is told of its end whose server is gone.
pub(crate) async fn ends(setting: &Setting) -> Vec<Line> {
    let all = if setting.effort.short { 20_000 } else { 100_000 };
    let [short, long] = [Ends::of(20_000, 1).await, Ends::of(all, 10).await];
    let line = |figure, Ends { lease, late, .. }: &Ends| {
        // So much earlier than its key a hold ends.
        let slack = *lease as f64 * 10.0 + 2.0;
        let sides = Sides::once(slack, *late * 1e3);
        Line::new(figure, Better::Less, "its key ends", &sides)
    };
    vec![line("20,000 of 1 s, ms late", &short), line("100,000 of 10 s, ms late", &long)]
}

/// Holds that end all at once.
struct Ends {
    /// In seconds.
    lease: u64,
    /// How long after its deadline a waiting task is told, at most.
    late: f64,
}

impl Ends {
    async fn of(count: usize, lease: u64) -> Self {
        let server = RedisServer::start();
        let settings = Client::builder().watchdog_lease(Duration::from_secs(lease));
        let locks = Single::connect_with(settings, &server.url(), &names("ends", count)).await;
        let guards = stream::iter(&locks).map(Single::hold).buffer_unordered(64);
        let guards: Vec<LockGuard> = guards.collect().await;
        // Some renewals, which bring them together.
        sleep(Duration::from_secs(lease)).await;
        server.kill();
        sleep(Duration::from_millis(50)).await;
        let told: Vec<Told> = guards.iter().map(Told::of).collect();
        let last = told.iter().map(|told| told.deadline).max();
        let left = last.map(|last| last.saturating_duration_since(Instant::now()));
        sleep(left.unwrap_or_default() + Duration::from_secs(3)).await;
        let late = told.iter().map(|told| told.late().unwrap_or(f64::INFINITY));
        let late = late.fold(f64::NEG_INFINITY, f64::max);
        Self { lease, late }
    }
}
