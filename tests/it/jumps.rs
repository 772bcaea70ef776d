//! A machine that slept: the clock jumps by hours, and no timer has fired yet.

use std::{
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use futures::future::{BoxFuture, pending};
use palisade::{
    Client, Lease, LockGuard, LostCause, Masters, OnOutage, Owner, ReleaseError,
    clock::{BootClock, Clock, Instant},
    embedded::Server,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, split};

use crate::support::{HANG, LONG_LEASE, eventually, ms, soon};

/// Its timers go by time that was spent awake, as tokio's do.
#[derive(Debug, Default)]
struct JumpingClock {
    ahead_ms: AtomicU64,
}

impl JumpingClock {
    fn jump(&self, by: Duration) {
        self.ahead_ms.fetch_add(u64::try_from(by.as_millis()).unwrap(), Ordering::SeqCst);
    }
}

impl Clock for JumpingClock {
    fn now(&self) -> Instant {
        BootClock.now() + Duration::from_millis(self.ahead_ms.load(Ordering::SeqCst))
    }

    fn sleep_until(&self, at: Instant) -> BoxFuture<'static, ()> {
        let awake = at.saturating_since(self.now());
        BootClock.sleep_until(BootClock.now() + awake)
    }
}

const HOURS: Duration = Duration::from_secs(5 * 3600);

struct Sleeper {
    clock: Arc<JumpingClock>,
    server: Server,
    client: Client,
}

impl Sleeper {
    fn new() -> Self {
        let (clock, server) = (Arc::new(JumpingClock::default()), Server::start().unwrap());
        let settings = server.client_builder().clock(clock.clone()).node_timeout(HANG);
        let client = settings.max_lease(LONG_LEASE).watchdog_lease(LONG_LEASE).build().unwrap();
        Self { clock, server, client }
    }

    /// A hold whose guard alone looks at the clock: the next renewal is far away.
    async fn hold(&self) -> LockGuard {
        self.client.lock("x").acquire().await.unwrap()
    }
}

// proves: lost-at-deadline
/// What one use of a guard says, each on a fresh guard that was asked nothing yet.
#[tokio::test]
async fn every_use_of_a_guard_notices_a_jump_by_itself() {
    type Use = fn(LockGuard) -> BoxFuture<'static, bool>;
    let uses: [(&str, Use); 10] = [
        ("ensure_valid", |g| Box::pin(async move { g.ensure_valid().is_err() })),
        ("is_held", |g| Box::pin(async move { !g.is_held() })),
        ("remaining", |g| Box::pin(async move { g.remaining().is_zero() })),
        ("reenter", |g| Box::pin(async move { g.reenter().is_err() })),
        ("votes", |g| Box::pin(async move { g.votes() == 0 })),
        ("margin", |g| Box::pin(async move { g.margin() == 0 })),
        ("lost", |g| Box::pin(async move { g.lost().await == LostCause::Expired })),
        ("expiring", |g| {
            Box::pin(async move {
                g.expiring(Duration::ZERO).await;
                true
            })
        }),
        ("run", |g| Box::pin(async move { g.run(async { panic!("it ran") }).await.is_err() })),
        ("release", |g| {
            Box::pin(async move {
                let error = g.release().await.unwrap_err();
                matches!(error, ReleaseError::Lost(lost) if lost.cause == LostCause::Expired)
            })
        }),
    ];
    for (name, r#use) in uses {
        let sleeper = Sleeper::new();
        // Nothing moves the deadline behind our back.
        let guard = sleeper.hold().await;
        sleeper.server.freeze();
        sleeper.clock.jump(HOURS);
        let noticed = r#use(guard);
        assert!(futures::FutureExt::now_or_never(noticed).unwrap_or(false), "{name}");
    }
}

/// Work that is woken by something else than the end of the lock.
#[tokio::test]
async fn work_is_not_polled_again_after_a_jump() {
    let sleeper = Sleeper::new();
    let guard = sleeper.hold().await;
    let went_on = AtomicBool::new(false);
    let work = guard.run(async {
        sleeper.server.freeze();
        sleeper.clock.jump(HOURS);
        tokio::task::yield_now().await;
        went_on.store(true, Ordering::SeqCst);
        pending::<()>().await;
    });
    assert_eq!(soon(work).await.unwrap_err().cause, LostCause::Expired);
    assert!(!went_on.load(Ordering::SeqCst));
}

#[tokio::test]
async fn those_who_wait_for_the_loss_are_told_soon_after_a_jump() {
    let sleeper = Sleeper::new();
    let guard = sleeper.hold().await;
    let token = guard.cancellation_token();
    sleeper.server.freeze();
    let waiting = tokio::spawn(async move { guard.lost().await });
    // Long enough for all to fall asleep: otherwise this would look at less, not fail.
    tokio::time::sleep(ms(100)).await;
    sleeper.clock.jump(HOURS);
    // No timer was due for minutes.
    assert_eq!(soon(waiting).await.unwrap(), LostCause::Expired);
    assert!(token.is_cancelled());
}

#[tokio::test]
async fn owner_does_not_enter_a_hold_that_ended_while_the_machine_slept() {
    let sleeper = Sleeper::new();
    let (lock, owner) = (sleeper.client.lock("x"), Owner::new());
    let guard = lock.acquire_as(&owner).await.unwrap();
    sleeper.clock.jump(HOURS);
    let again = lock.try_acquire_as(&owner).await.unwrap();
    assert!(again.is_none_or(|again| again.holder_id() != guard.holder_id()));
    assert!(!guard.is_held());
}

// proves: lost-not-healed, lost-at-deadline
/// The answer to a heal comes after a deadline that was not noticed: with it a majority would vouch
/// again.
#[tokio::test]
async fn grant_that_comes_after_an_unnoticed_deadline_does_not_revive_the_hold() {
    let clock = Arc::new(JumpingClock::default());
    let servers: Vec<Server> = (0..3).map(|_| Server::start().unwrap()).collect();
    let gate = Arc::new(Gate::default());
    let clients = servers.iter().enumerate().map(|(i, server)| {
        let (server, gate) = (server.clone(), (i == 2).then(|| gate.clone()));
        let connect = move || {
            let (server, gate) = (server.clone(), gate.clone());
            async move {
                let stream = server.connect().await?;
                match gate {
                    Some(gate) => gate.before(stream),
                    None => Ok(stream),
                }
            }
        };
        let builder = Client::builder().connector(&format!("master {i}"), connect);
        let builder = builder.clock(clock.clone()).node_timeout(HANG);
        builder.connect_timeout(HANG).build().unwrap()
    });
    let masters = Masters::new(clients).unwrap();
    let lock = masters.red_lock("x").with_lease(Lease::WatchdogOf(Duration::from_secs(60)));
    let guard = soon(lock.on_outage(OnOutage::Wait).acquire()).await.unwrap();
    let deadline = guard.deadline();
    // The second never answers again, the first is renewed.
    servers[1].freeze();
    clock.jump(Duration::from_secs(24));
    let before = servers[0].commands_processed();
    eventually(|| servers[0].commands_processed() > before).await;
    // The third comes back, is asked for its vote, and its answer is kept.
    gate.admits.store(true, Ordering::SeqCst);
    *gate.keeps_answers_to.lock().unwrap() = Some(guard.holder_id().to_owned());
    eventually(|| {
        clock.jump(ms(40));
        assert!(clock.now() < deadline, "no heal was sent");
        gate.keeps.load(Ordering::SeqCst)
    })
    .await;
    clock.jump(deadline.saturating_since(clock.now()) + ms(100));
    gate.keeps.store(false, Ordering::SeqCst);
    eventually(|| guard.cancellation_token().is_cancelled()).await;
    assert_eq!(guard.lost().await, LostCause::Expired);
    // Revived it would have ended with the lease of the first, which was renewed 24 s later.
    assert!(clock.now() < deadline + Duration::from_secs(15));
}

/// Before a master: lets no connection in at first, and keeps the answers to those that name a
/// holder.
#[derive(Debug, Default)]
struct Gate {
    admits: AtomicBool,
    keeps_answers_to: Mutex<Option<String>>,
    keeps: AtomicBool,
}

impl Gate {
    fn before(self: Arc<Self>, far: DuplexStream) -> io::Result<DuplexStream> {
        if !self.admits.load(Ordering::SeqCst) {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        let (near, ours) = tokio::io::duplex(4096);
        let ((mut requests, mut answers), (from, mut to)) = (split(ours), split(far));
        let gate = self.clone();
        tokio::spawn(async move {
            let mut bytes = [0; 4096];
            while let Ok(n @ 1..) = requests.read(&mut bytes).await {
                let holder = gate.keeps_answers_to.lock().unwrap().clone().unwrap_or_default();
                if String::from_utf8_lossy(&bytes[..n]).contains(&holder) {
                    gate.keeps.store(true, Ordering::SeqCst);
                }
                to.write_all(&bytes[..n]).await.unwrap();
            }
        });
        tokio::spawn(async move {
            let (mut from, mut bytes) = (from, [0; 4096]);
            while let Ok(n @ 1..) = from.read(&mut bytes).await {
                while self.keeps.load(Ordering::SeqCst) {
                    tokio::time::sleep(ms(1)).await;
                }
                if answers.write_all(&bytes[..n]).await.is_err() {
                    break;
                }
            }
        });
        Ok(near)
    }
}
