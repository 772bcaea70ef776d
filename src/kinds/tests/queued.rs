//! A kind whose waiters queue on the server, each with a channel of its own: what fair locks are.

use std::{future::Future, pin::pin, sync::Arc, task::Poll, time::Duration};

use futures::{future::poll_fn, poll};

use super::{lock_of, server, shared::script};
use crate::{
    Client, LockGuard,
    acquire::Handle,
    kind::{Kind, Request},
    wire::{Arg, Script, Statement},
};

#[derive(Debug)]
struct Queued {
    name: Arc<str>,
    queue: Arc<str>,
}

impl Kind for Queued {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn channel(&self, holder: &Arc<str>) -> Arc<str> {
        format!("turn:{holder}").into()
    }

    fn has_own_channels(&self) -> bool {
        true
    }

    fn acquire(&self, request: Request<'_>) -> Statement {
        let waits = Arg::Int(request.waits.into());
        let args = [Arg::text(request.holder), Arg::Int(request.term.ms()), waits];
        Statement::new(&ACQUIRE, [&self.name, &self.queue], args)
    }

    fn withdraw(&self, holder: &Arc<str>) -> Statement {
        Statement::new(&WITHDRAW, [&self.name, &self.queue], [Arg::text(holder)])
    }

    fn renew(&self, holder: &Arc<str>, lease_ms: i64) -> Statement {
        Statement::new(&RENEW, [&self.name], [Arg::text(holder), Arg::Int(lease_ms)])
    }

    /// Leaves the queue alone: whoever was granted it stands there no more.
    fn count(&self, holder: &Arc<str>, _count: u32) -> Statement {
        Statement::new(&RELEASE, [&self.name, &self.queue], [Arg::text(holder)])
    }
}

static ACQUIRE: Script = script!(
    3,
    "local mine = redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1
     local head = redis.call('LINDEX', KEYS[2], 0)
     local free = redis.call('EXISTS', KEYS[1]) == 0 and (not head or head == ARGV[1])
     if mine or free then
       redis.call('LREM', KEYS[2], 0, ARGV[1])
       redis.call('HSET', KEYS[1], ARGV[1], 1)
       redis.call('PEXPIRE', KEYS[1], ARGV[2])
       return { now, 1, tonumber(ARGV[2]) }
     end
     if ARGV[3] == '0' then return { now, 0, redis.call('PTTL', KEYS[1]) } end
     local queued = false
     for _, one in ipairs(redis.call('LRANGE', KEYS[2], 0, -1)) do
       queued = queued or one == ARGV[1]
     end
     if not queued then redis.call('RPUSH', KEYS[2], ARGV[1]) end
     return { now, -6, redis.call('PTTL', KEYS[1]) }"
);
static WITHDRAW: Script = script!(
    1,
    "redis.call('LREM', KEYS[2], 0, ARGV[1])
     local mine = redis.call('HDEL', KEYS[1], ARGV[1])
     local next = redis.call('LINDEX', KEYS[2], 0)
     if next then redis.call('PUBLISH', 'turn:' .. next, '0') end
     return { now, mine, 0 }"
);
static RELEASE: Script = script!(
    1,
    "local mine = redis.call('HDEL', KEYS[1], ARGV[1])
     local next = redis.call('LINDEX', KEYS[2], 0)
     if next then redis.call('PUBLISH', 'turn:' .. next, '0') end
     return { now, mine, 0 }"
);
static RENEW: Script = script!(
    2,
    "if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return { now, 0, 0 } end
     redis.call('PEXPIRE', KEYS[1], ARGV[2])
     return { now, 1, tonumber(ARGV[2]) }"
);

fn queued(client: &Client) -> Handle<LockGuard> {
    lock_of(client, Arc::new(Queued { name: "x".into(), queue: "x:queue".into() }))
}

/// Whether anybody holds it, or stands in its queue.
async fn is_clean(client: &Client) -> bool {
    let mut left = false;
    for key in ["x", "x:queue"] {
        // A key of another type is there, too.
        left |= !matches!(client.lock(key).is_locked().await, Ok(false));
    }
    !left
}

#[tokio::test(start_paused = true)]
async fn waiters_are_granted_in_the_order_of_the_servers_queue() {
    let (server, client) = server();
    let first = queued(&client).wait(None).await.unwrap();
    let other = server.client().unwrap();
    let waiter = tokio::spawn(async move { queued(&other).wait(None).await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    first.release().await.unwrap();
    let second = waiter.await.unwrap().unwrap();
    second.release().await.unwrap();
    assert!(is_clean(&client).await);
}

#[tokio::test(start_paused = true)]
async fn queued_waiter_that_is_dropped_at_any_poll_leaves_nothing() {
    for polls in 1..60 {
        let (_server, client) = server();
        let held = queued(&client).wait(None).await.unwrap();
        let lock = queued(&client);
        {
            let mut waiting = pin!(lock.wait(None));
            for _ in 0..polls {
                assert!(matches!(poll!(&mut waiting), Poll::Pending), "another holds it");
                step().await;
            }
        }
        held.release().await.unwrap();
        // Far beyond the stamp of whatever was on its way.
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert!(is_clean(&client).await, "dropped after {polls} polls");
    }
}

#[tokio::test(start_paused = true)]
async fn who_does_not_wait_is_not_queued() {
    let (_server, client) = server();
    let held = queued(&client).wait(None).await.unwrap();
    let patience = crate::acquire::Patience::Once;
    assert!(queued(&client).acquire(None, patience).await.unwrap().is_none());
    held.release().await.unwrap();
    assert!(is_clean(&client).await);
}

/// Lets others run, and some time pass.
fn step() -> impl Future<Output = ()> {
    let mut left = 3;
    poll_fn(move |cx| {
        left -= 1;
        cx.waker().wake_by_ref();
        if left == 0 { Poll::Ready(()) } else { Poll::Pending }
    })
}
