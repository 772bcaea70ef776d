//! A kind that admits many at once, unless the lock beside it is held: what readers are.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::future::join_all;
use tokio::time::Instant;

use super::{lock_of, server};
use crate::{
    Client,
    kind::{AcquireRequest, Admission, Sharing, Statements, Waking},
    notifier::Listener,
    wire::{Arg, HoldCheck, Script, Statement, key},
};

#[derive(Debug)]
struct Readers {
    name: Arc<str>,
    /// The mutex that keeps them out.
    door: Arc<str>,
    channel: Arc<str>,
    renewals: AtomicUsize,
}

impl Readers {
    /// Those behind the lock `door`.
    fn behind(door: &str) -> Arc<Self> {
        let (name, channel) = ("readers".into(), key::lock_channel(door));
        Arc::new(Self { name, door: door.into(), channel, renewals: AtomicUsize::new(0) })
    }
}

impl Sharing for Readers {
    fn admission(&self) -> Admission {
        Admission::Shared
    }
}

impl Waking for Readers {
    fn channel(&self) -> &Arc<str> {
        &self.channel
    }
}

impl Statements for Readers {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn acquire(&self, request: AcquireRequest<'_>) -> Statement {
        let args = [Arg::text(request.holder), Arg::Int(request.term.ms())];
        Statement::new(&ACQUIRE, [&self.name, &self.door], args)
    }

    fn renew(&self, holder: &Arc<str>, _lease_ms: i64) -> Statement {
        self.renewals.fetch_add(1, Ordering::SeqCst);
        Statement::new(&RENEW, [&self.name], [Arg::text(holder)])
    }

    fn hold_check(&self, holder: &Arc<str>) -> HoldCheck {
        HoldCheck::new("local __held, __taken = 1, 0", [&self.name], Arg::text(holder))
    }

    fn release(&self, holder: &Arc<str>) -> Statement {
        let args = [Arg::text(holder), Arg::text(&self.channel)];
        Statement::new(&RELEASE, [&self.name], args)
    }
}

static ACQUIRE: Script = script!(
    2,
    "if redis.call('EXISTS', KEYS[2]) == 1 then return { now, 0, redis.call('PTTL', KEYS[2]) } end
     redis.call('HSET', KEYS[1], ARGV[1], 1)
     redis.call('PEXPIRE', KEYS[1], ARGV[2])
     return { now, 1, tonumber(ARGV[2]) }"
);
static RENEW: Script = script!(
    1,
    "if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return { now, 0, 0 } end
     return { now, 1, redis.call('PTTL', KEYS[1]) }"
);
static RELEASE: Script = script!(
    2,
    "local mine = redis.call('HDEL', KEYS[1], ARGV[1])
     redis.call('PUBLISH', ARGV[2], '0')
     return { now, mine, 0 }"
);

/// A script of a test, with the server's time in `now`.
macro_rules! script {
    ($args:literal, $body:literal) => {{
        const SOURCE: &str = concat!(
            "local time = redis.call('TIME') local now = time[1] * 1000000 + time[2]\n",
            $body
        );
        Script::new("a probe", SOURCE, $args, || sha1_smol::Sha1::from(SOURCE).digest().to_string())
    }};
}
use script;

/// Listens for what is announced of the door.
fn listen(client: &Client) -> Listener {
    let door = client.lock("door");
    let (services, kind) = (&door.voter().services, &door.voter().kind);
    services.notifier.listen(kind.channel().clone())
}

#[tokio::test(start_paused = true)]
async fn four_waiters_of_a_kind_that_admits_many_follow_one_release() {
    let (_server, client) = server();
    let door = client.lock("door").acquire().await.unwrap();
    let readers = Readers::behind("door");
    let waiters: Vec<_> = (0..4)
        .map(|_| {
            let lock = lock_of(&client, readers.clone());
            tokio::spawn(async move { lock.wait(None).await.map(|guard| (guard, Instant::now())) })
        })
        .collect();
    // All of them have been refused, and wait.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let released = Instant::now();
    door.release().await.unwrap();
    for granted in join_all(waiters).await {
        let (_guard, at) = granted.unwrap().unwrap();
        assert!(at - released < Duration::from_millis(100), "{:?}", at - released);
    }
}

#[tokio::test(start_paused = true)]
async fn release_by_one_of_many_has_one_of_them_asked() {
    let (server, client) = server();
    let readers = Readers::behind("door");
    let lock = lock_of(&client, readers.clone());
    let mut guards = Vec::new();
    for _ in 0..16 {
        guards.push(lock.wait(None).await.unwrap());
    }
    // There is a listener, so that messages come.
    let _listener = listen(&client);
    let elsewhere = lock_of(&server.client().unwrap(), readers.clone());
    let other = elsewhere.wait(None).await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let before = readers.renewals.load(Ordering::SeqCst);
    other.release().await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let asked = readers.renewals.load(Ordering::SeqCst) - before;
    assert_eq!(asked, 1, "of 16 holders");
    assert!(guards.iter().all(crate::LockGuard::is_held));
}

#[tokio::test(start_paused = true)]
async fn all_who_share_a_lock_learn_that_it_is_gone() {
    let (server, client) = server();
    let readers = Readers::behind("door");
    let lock = lock_of(&client, readers.clone());
    let (one, other) = (lock.wait(None).await.unwrap(), lock.wait(None).await.unwrap());
    let _listener = listen(&client);
    tokio::time::sleep(Duration::from_millis(100)).await;
    // A call that deletes the key says so as a release does.
    let third = lock_of(&server.client().unwrap(), readers).wait(None).await.unwrap();
    server.client().unwrap().lock("readers").force_release().await.unwrap();
    drop(third);
    let began = Instant::now();
    one.lost().await;
    other.lost().await;
    assert!(began.elapsed() < Duration::from_secs(1), "not with the next renewal: at once");
}
