//! Users with the rights that are printed, and users that lack one of them.

use std::{error::Error, time::Duration};

use palisade::{
    AnyGuard, AnyLock, Client, Lease,
    acl::{Rights, Use},
    error::ConnectError,
};
use testkit::RedisServer;

use crate::support::{HANG, eventually, patient, soon};

type Done = Result<(), Box<dyn Error>>;

pub(crate) const USES: [Use; 8] = [
    Use::Lock,
    Use::FencedLock,
    Use::Election,
    Use::FairLock,
    Use::RwLock,
    Use::Semaphore,
    Use::ExpirableSemaphore,
    Use::CountDownLatch,
];

/// A user `app` with these rules.
fn grant(server: &RedisServer, rules: &[String]) {
    let mut words = vec!["ACL", "SETUSER", "app", "reset", "on", ">pw"];
    words.extend(rules.iter().map(String::as_str));
    server.cli(&words);
}

async fn user(server: &RedisServer) -> Result<Client, ConnectError> {
    let settings = patient(server).user("app").password("pw");
    settings.watchdog_lease(Duration::from_millis(1_500)).connect().await
}

/// What there is to do with a lock: held, waited for, renewed, looked at, forced.
async fn lock<L: AnyLock + Clone + Send + Sync + 'static>(server: &RedisServer, lock: L) -> Done
where
    L::Guard: Send,
{
    let guard = lock.acquire().await?;
    let waiter = tokio::spawn({
        let lock = lock.clone();
        async move { lock.acquire().await.map_err(|error| format!("{error:?}")) }
    });
    let renewed = async {
        let before = server.calls_of("pexpire");
        eventually(|| server.calls_of("pexpire") > before + 1).await;
    };
    tokio::select! {
        biased;
        lost = guard.lost() => return Err(format!("{lost:?}").into()),
        () = renewed => {}
    }
    guard.release().await?;
    let guard = soon(waiter).await??;
    guard.release().await?;
    Ok(())
}

/// Everything that a name is for.
async fn scenario(usage: Use, server: &RedisServer, client: &Client) -> Done {
    match usage {
        Use::Lock => {
            let plain = client.lock("x");
            lock(server, plain.clone()).await?;
            plain.acquire().await?.orphan();
            plain.holders().await?;
            assert!(plain.force_release().await?);
        }
        Use::FencedLock => lock(server, client.fenced_lock("x")).await?,
        Use::Election => {
            lock(server, client.fenced_lock("x")).await?;
            let election = client.election("x");
            let leadership = election.campaign().await?;
            leadership.proclaim("v").await?;
            let mut observer = election.observe();
            assert!(observer.changed().await?.leader.is_some());
            leadership.resign().await?;
        }
        Use::FairLock => {
            let fair = client.fair_lock("x");
            lock(server, fair.clone()).await?;
            fair.waiting().await?;
        }
        Use::RwLock => {
            let rw = client.rw_lock("x");
            lock(server, rw.write()).await?;
            lock(server, rw.read()).await?;
            let reading = rw.write().acquire().await?.downgrade().await?;
            let writer = rw.write();
            let writer = tokio::spawn(async move { writer.acquire().await });
            soon(reading.release()).await?;
            soon(writer).await??.release().await?;
        }
        Use::Semaphore => {
            let permits = client.semaphore("x");
            permits.try_set_permits(2).await?;
            let guard = permits.acquire_many(2).await?;
            permits.holders().await?;
            guard.release().await?;
            permits.add(1).await?;
            assert_eq!(permits.drain().await?, 3);
            permits.delete().await?;
        }
        Use::ExpirableSemaphore => {
            let permits = client.expirable_semaphore("x");
            permits.try_set_permits(2).await?;
            let lease = Lease::Fixed(Duration::from_secs(9));
            let guard = permits.clone().with_lease(lease).acquire().await?;
            permits.holders().await?;
            guard.release().await?;
            permits.delete().await?;
        }
        Use::CountDownLatch => {
            let latch = client.count_down_latch("x");
            latch.try_set_count(1).await?;
            latch.count_down().await?;
            latch.wait().await?;
            latch.delete().await?;
        }
        _ => panic!("{usage:?} is not tried"),
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rights_that_are_printed_are_enough() {
    for usage in USES {
        let server = RedisServer::start();
        let rights = Rights::new().with(usage, "x").inspecting();
        grant(&server, &rights.rules());
        let client = user(&server).await.unwrap();
        soon(scenario(usage, &server, &client))
            .await
            .unwrap_or_else(|e| panic!("{usage:?}: {e:?}"));
        assert!(!client.names_of_connections().await.unwrap().is_empty());
        client.shutdown(HANG).await.unwrap();
        let denied = server.cli(&["ACL", "LOG"]);
        assert_eq!(denied, "", "{usage:?} was refused something");
    }
}

/// Some are for the sake of others: without them something is done in another way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn right_that_is_missing_is_an_error_that_leaves_nothing_for_ever() {
    for usage in USES {
        let rules = Rights::new().with(usage, "x").rules();
        let server = RedisServer::start();
        for missing in rules.iter().filter(|rule| rule.starts_with('+')) {
            let rest: Vec<_> = rules.iter().filter(|rule| *rule != missing).cloned().collect();
            server.flush();
            grant(&server, &rest);
            let done = async {
                loop {
                    let client = user(&server).await?;
                    let done = scenario(usage, &server, &client).await;
                    let text = done.map_err(|error| format!("{error:?}"));
                    // Leases are short here, and the machine may be late.
                    if !text.as_ref().is_err_and(|text| text.contains("TimedOut")) {
                        return Ok::<_, ConnectError>(text);
                    }
                    server.flush();
                }
            };
            let done = soon(done).await.map_err(|error| format!("{error:?}"));
            if let Err(text) = done.and_then(|done| done) {
                // What may not be renewed ends, and says so.
                let signs = ["Permission", "Expired", "can't run this command"];
                let is_told = signs.iter().any(|sign| text.contains(sign));
                assert!(is_told, "{usage:?} without {missing}: {text}");
            }
            // A lock that it left ends by itself. A place in a queue ends as that of a waiter that died, and
            // `holders` tells of permits that may not be given back.
            let kept = |key: &String| {
                key == "x"
                    && server.cli(&["PTTL", key]) == "-1"
                    && server.cli(&["TYPE", key]) == "hash"
            };
            let left: Vec<_> = server.keys().into_iter().filter(kept).collect();
            assert!(left.is_empty(), "{usage:?} without {missing}: {left:?}");
        }
    }
}
