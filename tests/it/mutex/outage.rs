//! Servers that are dead, frozen or slow, and requests that are executed late.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::poll;
use palisade::{
    AcquireError, AnyLock, Client, Lease, Masters, OnOutage, Quarantine, RedLock, ReleaseError,
    embedded::Server, error::NodeError,
};
use testkit::{Fault, FaultProxy, RedisServer, Way};
use tokio::net::TcpStream;

use crate::support::{HANG, Look, acquired, causes, client, eventually, hasty, ms, patient, soon};

#[tokio::test]
async fn acquire_on_a_dead_server_fails_and_says_why() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let lock = client.lock("x");
    server.kill();
    let error = soon(lock.acquire()).await.unwrap_err();
    let causes = causes(&error);
    let harmless = matches!(causes[..], [NodeError::Unreachable { .. }]);
    assert!(harmless || matches!(causes[..], [NodeError::Disconnected { .. }]), "{error:?}");
    assert!(error.to_string().contains(client.node_id().as_str()), "{error}");
}

#[tokio::test]
async fn connect_to_nobody_fails_and_says_why() {
    let server = RedisServer::start();
    server.kill();
    let error = soon(Client::connect(&server.url())).await.unwrap_err();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.starts_with("the server cannot be reached: "), "{source}");
    let lazy = Client::connect_lazy(server.url()).unwrap();
    assert!(soon(lazy.lock("x").try_acquire()).await.is_err());
}

#[tokio::test]
async fn client_of_a_server_that_was_not_there_works_once_it_is() {
    let server = RedisServer::start();
    server.kill();
    let lazy = patient(&server).build().unwrap();
    assert!(soon(lazy.lock("x").try_acquire()).await.is_err());
    server.restart();
    let lock = lazy.lock("x").on_outage(OnOutage::Wait);
    soon(lock.acquire()).await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn acquire_that_waits_outlasts_an_outage() {
    let server = RedisServer::start();
    let lock = client(&server).await.lock("x").on_outage(OnOutage::Wait);
    server.kill();
    let mut acquire = Box::pin(lock.acquire());
    assert!(tokio::time::timeout(ms(300), &mut acquire).await.is_err(), "it waits");
    server.restart();
    soon(acquire).await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn outage_is_an_error_at_first_and_waited_for_once_the_server_was_met() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let lock = client.lock("x").on_outage(OnOutage::FailAtFirst);
    let latch = client.count_down_latch("z").on_outage(OnOutage::FailAtFirst);
    let held = soon(self::client(&server).await.lock("x").acquire()).await.unwrap();
    latch.try_set_count(1).await.unwrap();
    let (waits, counts) = (lock.clone(), latch.clone());
    let mut waiting = tokio::spawn(async move { waits.acquire().await });
    let mut counting = tokio::spawn(async move { counts.wait().await });
    eventually(|| server.command(&["PUBSUB", "CHANNELS", "redisson*"]).array().len() == 2).await;
    server.kill();
    let late = client.lock("y").on_outage(OnOutage::FailAtFirst);
    let error = soon(late.acquire()).await.unwrap_err();
    assert!(matches!(error, AcquireError::Unavailable { .. }), "{error:?}");
    soon(latch.wait()).await.unwrap_err();
    assert!(tokio::time::timeout(ms(300), &mut waiting).await.is_err(), "it waits");
    assert!(tokio::time::timeout(ms(300), &mut counting).await.is_err(), "it waits, too");
    drop(held);
    server.restart();
    soon(waiting).await.unwrap().unwrap().release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn votes_that_do_not_count_yet_are_an_error_at_first() {
    let servers = [Server::start_here(), Server::start_here(), Server::start_here()];
    for server in &servers {
        server.kill_and_forget();
        server.restart();
    }
    let masters = Masters::new(servers.iter().map(|server| server.client().unwrap())).unwrap();
    let lock = masters.red_lock("x");
    let error = lock.clone().on_outage(OnOutage::FailAtFirst).acquire().await.unwrap_err();
    assert!(matches!(error, AcquireError::Quarantined { .. }), "{error:?}");
    lock.acquire().await.unwrap().release().await.unwrap();
}

// proves: three-answers
#[tokio::test]
async fn outage_until_the_limit_is_an_error_and_not_a_refusal() {
    let server = RedisServer::start();
    let lock = client(&server).await.lock("x").on_outage(OnOutage::Wait);
    server.kill();
    let error = soon(lock.try_acquire_for(ms(300))).await.unwrap_err();
    assert!(matches!(error, AcquireError::Unavailable { .. }), "{error:?}");
}

/// A limit says how long an outage may last; an acquire without one learns of it.
async fn spends_its_limit_on_an_outage_unless_it_is_to_fail(lock: impl AnyLock) {
    let limit = Duration::from_secs(30);
    let is_outage = |error| matches!(error, Some(AcquireError::Unavailable { .. }));
    let began = tokio::time::Instant::now();
    assert!(is_outage(lock.try_acquire_for(limit).await.err()));
    let spent = began.elapsed();
    assert!(spent >= limit && spent < limit + ms(100), "{spent:?}");

    let began = tokio::time::Instant::now();
    let to_fail = lock.clone().on_outage(OnOutage::Fail);
    assert!(is_outage(to_fail.try_acquire_for(limit).await.err()));
    assert!(is_outage(lock.acquire().await.err()));
    assert!(is_outage(lock.try_acquire().await.err()));
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn only_an_acquire_with_a_limit_waits_for_an_outage_by_itself() {
    let servers = [Server::start_here(), Server::start_here(), Server::start_here()];
    let masters = Masters::new(servers.iter().map(|server| server.client().unwrap())).unwrap();
    servers[..2].iter().for_each(Server::kill);
    let lock = masters.clients()[0].lock("x");
    spends_its_limit_on_an_outage_unless_it_is_to_fail(lock.clone()).await;
    spends_its_limit_on_an_outage_unless_it_is_to_fail(masters.red_lock("x")).await;
    spends_its_limit_on_an_outage_unless_it_is_to_fail(masters.multi_lock("x")).await;

    let back = async {
        tokio::time::sleep(Duration::from_secs(10)).await;
        servers[0].restart();
    };
    let (acquired, ()) = tokio::join!(lock.try_acquire_for(Duration::from_secs(30)), back);
    assert!(acquired.unwrap().is_some());
}

#[tokio::test]
async fn waiter_is_told_of_an_outage() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let _guard = client.lock("x").acquire().await.unwrap();
    let waiter = tokio::spawn({
        let lock = client.lock("x");
        async move { lock.acquire().await }
    });
    eventually(|| server.subscribers("x") == 1).await;
    server.kill();
    let error = soon(waiter).await.unwrap().unwrap_err();
    assert!(matches!(error, AcquireError::Unavailable { .. }), "{error:?}");
}

#[tokio::test]
async fn frozen_server_is_given_up_within_its_time() {
    let server = RedisServer::start();
    let lock = hasty(&server).await.lock("x");
    server.freeze();
    let error = soon(lock.acquire()).await.unwrap_err();
    assert_eq!(format!("{:?}", causes(&error)), "[TimedOut { phase: Answering }]");
    server.thaw();
}

#[tokio::test]
async fn frozen_server_is_soon_known_and_not_waited_for() {
    let server = RedisServer::start();
    let lock = hasty(&server).await.lock("x");
    server.freeze();
    let known = async {
        loop {
            let error = lock.try_acquire().await.unwrap_err();
            if let [NodeError::Unreachable { .. }] = causes(&error)[..] {
                return;
            }
        }
    };
    soon(known).await;
    server.thaw();
    let lock = lock.on_outage(OnOutage::Wait);
    soon(lock.acquire()).await.unwrap().release().await.unwrap();
}

// proves: no-blind-resend, final-release
/// The server executes what it was sent before it was given up, and then the release behind it.
#[tokio::test]
async fn acquire_that_is_executed_after_its_time_out_leaves_no_key() {
    let server = RedisServer::start();
    for attempts in 1..=3 {
        let client = hasty(&server).await;
        let lock = client.lock("x");
        server.freeze();
        for _ in 0..attempts {
            assert!(soon(lock.try_acquire()).await.is_err());
        }
        server.thaw();
        soon(client.shutdown(HANG)).await.unwrap();
        assert_eq!(server.size(), 0, "after {attempts} attempts");
    }
}

#[tokio::test]
async fn acquire_that_was_dropped_while_the_server_stood_still_leaves_no_key() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let lock = client.lock("x");
    server.freeze();
    let mut acquire = Box::pin(lock.acquire());
    assert!(poll!(&mut acquire).is_pending());
    // The request goes out before its future does.
    tokio::task::yield_now().await;
    drop(acquire);
    server.thaw();
    soon(client.shutdown(HANG)).await.unwrap();
    assert_eq!(server.size(), 0);
}

/// The first connection is held back, so the release goes another way and is executed first.
#[tokio::test]
async fn acquire_that_its_release_has_overtaken_leaves_no_key() {
    let server = RedisServer::start();
    let proxy = FaultProxy::before(&server);
    let (slow, direct, dialled) = (proxy.addr(), server.addr(), Arc::new(AtomicUsize::new(0)));
    let dial = move || {
        let first = dialled.fetch_add(1, Ordering::SeqCst) == 0;
        TcpStream::connect(if first { slow } else { direct })
    };
    let settings = Client::builder().connector("two ways", dial).node_timeout(ms(200));
    let client = settings.connect_timeout(HANG).connect().await.unwrap();
    proxy.set(Fault::Stall(Way::Requests));
    let before = server.calls_of("evalsha");
    assert!(soon(client.lock("x").try_acquire()).await.is_err());
    eventually(|| server.calls_of("evalsha") > before).await;
    let released = server.calls_of("evalsha");
    assert_eq!(server.size(), 0);
    proxy.heal();
    // The acquire arrives, and the release that was tried behind it.
    eventually(|| server.calls_of("evalsha") > released).await;
    soon(client.shutdown(HANG)).await.unwrap();
    assert_eq!(server.size(), 0);
}

#[tokio::test]
async fn acquire_whose_answer_was_lost_leaves_no_key() {
    let server = RedisServer::start();
    let proxy = FaultProxy::before(&server);
    // The acquire may be executed for as long as its vote may take, and its release is final then.
    let brief = patient(&server).url(&proxy.url()).node_timeout(ms(3_000));
    let client = brief.connect().await.unwrap();
    proxy.set(Fault::Reset(Way::Replies));
    let error = soon(client.lock("x").try_acquire()).await.unwrap_err();
    assert!(causes(&error)[0].is_unknown(), "{error:?}");
    proxy.heal();
    soon(client.shutdown(HANG)).await.unwrap();
    assert_eq!(server.size(), 0);
}

#[tokio::test]
async fn release_on_a_frozen_server_is_not_confirmed_and_finished_later() {
    let server = RedisServer::start();
    let client = hasty(&server).await;
    let guard = acquired(&client.lock("x")).await;
    server.freeze();
    let error = soon(guard.release()).await.unwrap_err();
    assert!(matches!(error, ReleaseError::Unconfirmed { .. }), "{error:?}");
    server.thaw();
    eventually(|| server.size() == 0).await;
}

#[tokio::test]
async fn slow_server_is_no_obstacle() {
    let server = RedisServer::start();
    let proxy = FaultProxy::before(&server);
    proxy.set(Fault::Delay(ms(60)));
    let client = patient(&server).url(&proxy.url()).connect().await.unwrap();
    let guard = soon(client.lock("x").acquire()).await.unwrap();
    soon(guard.release()).await.unwrap();
    assert_eq!(server.size(), 0);
}

/// It is renewed, so its server vouches for it.
#[tokio::test]
async fn lock_outlives_a_restart_with_its_data_and_the_server_vouches_for_it() {
    let server = RedisServer::builder().arg("--appendonly", "yes").arg("--appendfsync", "always");
    let server = server.start();
    let client = patient(&server).quarantine(Quarantine::Durable).connect().await.unwrap();
    let lease = Lease::WatchdogOf(ms(9_000));
    let single = acquired(&client.lock("x").with_lease(lease)).await;
    let composite = RedLock::new([client.lock("y")]).unwrap().with_lease(lease);
    let composite = composite.on_outage(OnOutage::Wait).acquire().await.unwrap();
    for guard in [&single, &composite] {
        assert_eq!((guard.votes(), guard.margin()), (1, 0));
    }
    server.restart();
    let before = [single.deadline(), composite.deadline()];
    eventually(|| single.deadline() > before[0] && composite.deadline() > before[1]).await;
    for guard in [&single, &composite] {
        assert!(guard.is_held());
        assert_eq!(guard.votes(), 1, "{guard:?}");
    }
    single.release().await.unwrap();
    composite.release().await.unwrap();
}
