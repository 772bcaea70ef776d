//! Credentials that change while a process runs.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use palisade::{
    ClientBuilder,
    error::{ConnectError, NodeError},
    settings::Credentials,
};
use testkit::RedisServer;

use crate::support::{eventually, patient, promptly, soon};

const LIFE: Duration = Duration::from_millis(400);

/// A user whose passwords are `token-1`, `token-2` and so on, as far as the test has let them in.
fn server_with_tokens(up_to: u64) -> RedisServer {
    let server = RedisServer::start();
    server.cli(&["ACL", "SETUSER", "app", "on", "allkeys", "allcommands", "allchannels"]);
    (1..=up_to).for_each(|number| let_in(&server, number));
    server
}

fn let_in(server: &RedisServer, number: u64) {
    server.cli(&["ACL", "SETUSER", "app", &format!(">token-{number}")]);
}

/// Each time the next token; and how many there were.
fn rotating(server: &RedisServer) -> (ClientBuilder, Arc<AtomicU64>) {
    let told = Arc::new(AtomicU64::new(0));
    let next = told.clone();
    let fetch = move || {
        let token = format!("token-{}", next.fetch_add(1, Ordering::AcqRel) + 1);
        async move { Ok::<_, &str>(Credentials::new("app", &token).valid_for(LIFE)) }
    };
    (patient(server).credentials(fetch), told)
}

#[tokio::test]
async fn live_connections_log_in_again_before_credentials_end() {
    let server = server_with_tokens(1_000);
    let (settings, told) = rotating(&server);
    // That on which keys are followed comes later than the others.
    let client = settings.watchdog_lease(LIFE).tracking(false).connect().await.unwrap();
    let lock = client.lock("x");
    let guard = lock.acquire().await.unwrap();
    let waiter = tokio::spawn({
        let lock = lock.clone();
        async move { lock.acquire().await }
    });
    // The one of the waiter, too: nothing else is said on it but PING.
    let listener = || {
        let list = server.cli(&["CLIENT", "LIST", "TYPE", "pubsub"]);
        list.contains("user=app") && list.contains("cmd=auth")
    };
    eventually(listener).await;
    let connections = server.connected_clients();
    let (so_far, logins) = (told.load(Ordering::Acquire), server.calls_of("auth"));
    eventually(|| server.calls_of("auth") > logins + 4).await;
    assert!(told.load(Ordering::Acquire) >= so_far + 4, "each login asks anew");
    assert_eq!(server.connected_clients(), connections, "on the same connections");
    assert!(guard.ensure_valid().is_ok());
    guard.release().await.unwrap();
    promptly(&server, waiter).await.unwrap().unwrap().release().await.unwrap();
}

#[tokio::test]
async fn hold_outlives_credentials_that_are_refused() {
    let server = server_with_tokens(2);
    let (settings, told) = rotating(&server);
    // A lease that is longer than a busy machine stands still.
    let client = settings.watchdog_lease(LIFE * 20).connect().await.unwrap();
    // The client's own connection and the watchdog's have them; none is taken after those.
    let guard = client.lock("x").acquire().await.unwrap();
    eventually(|| told.load(Ordering::Acquire) > 6).await;
    // What was sent before that may still be answered.
    let mut last = guard.deadline();
    for _ in 0..2 {
        eventually(|| guard.deadline() > last).await;
        last = guard.deadline();
    }
    assert!(guard.ensure_valid().is_ok());
    guard.release().await.unwrap();
}

/// The one that listens, too, is logged in again with the next ones, however long the refused ones were good for.
#[tokio::test]
async fn credentials_that_are_refused_are_asked_for_again() {
    const REFUSED: u64 = 1;
    let server = server_with_tokens(1);
    server.cli(&[
        "ACL",
        "SETUSER",
        "next",
        "on",
        ">token",
        "allkeys",
        "allcommands",
        "allchannels",
    ]);
    let phase = Arc::new((AtomicU64::new(0), AtomicU64::new(0)));
    let shared = phase.clone();
    let fetch = move || {
        let (phase, refused) = &*shared;
        let credentials = match phase.load(Ordering::Acquire) {
            0 => Credentials::new("app", "token-1").valid_for(LIFE),
            REFUSED => Credentials::new("app", "wrong").valid_for(LIFE * 10_000),
            _ => Credentials::new("next", "token").valid_for(LIFE * 10_000),
        };
        refused.fetch_add(u64::from(phase.load(Ordering::Acquire) == REFUSED), Ordering::AcqRel);
        async move { Ok::<_, &str>(credentials) }
    };
    let client = patient(&server).credentials(fetch).connect().await.unwrap();
    let guard = client.lock("x").acquire().await.unwrap();
    let (lock, is_listening) = (client.lock("x"), |user: &str| {
        server.cli(&["CLIENT", "LIST", "TYPE", "pubsub"]).contains(&format!("user={user}"))
    });
    let waiter = tokio::spawn(async move { lock.acquire().await });
    eventually(|| is_listening("app")).await;
    phase.0.store(REFUSED, Ordering::Release);
    // By then each connection was refused.
    eventually(|| phase.1.load(Ordering::Acquire) > 20).await;
    phase.0.store(REFUSED + 1, Ordering::Release);
    eventually(|| is_listening("next")).await;
    guard.release().await.unwrap();
    promptly(&server, waiter).await.unwrap().unwrap().release().await.unwrap();
}

#[tokio::test]
async fn new_connection_asks_for_new_credentials() {
    let server = server_with_tokens(1_000);
    let (settings, _) = rotating(&server);
    let client = settings.connect().await.unwrap();
    server.cli(&["ACL", "SETUSER", "app", "<token-1"]);
    server.cli(&["CLIENT", "KILL", "USER", "app"]);
    client.lock("x").acquire().await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn who_has_no_credentials_is_told_why_and_tried_again() {
    let server = server_with_tokens(1);
    let asked = Arc::new(AtomicU64::new(0));
    let times = asked.clone();
    let fetch = move || {
        let time = times.fetch_add(1, Ordering::AcqRel);
        assert_ne!(time, 1, "panics before there is a future");
        async move {
            assert_ne!(time, 2, "panics in the future");
            if time == 0 {
                Err("the vault is sealed")
            } else {
                Ok(Credentials::new("app", "token-1"))
            }
        }
    };
    let settings = patient(&server).credentials(fetch);
    for expected in ["no credentials: the vault is sealed", "panicked", "panicked"] {
        let ConnectError::Node { source, .. } = soon(settings.clone().connect()).await.unwrap_err()
        else {
            panic!("a server was asked");
        };
        assert!(source.to_string().contains(expected), "{source}");
        assert!(matches!(source, NodeError::Credentials { .. }), "{source:?}");
        assert!(source.is_transient() && !source.is_unknown());
    }
    settings.connect().await.unwrap();
}

#[tokio::test]
async fn credentials_that_never_come_end_with_the_time_to_connect() {
    let server = RedisServer::start();
    let fetch = || std::future::pending::<Result<Credentials, &str>>();
    let settings = patient(&server).credentials(fetch);
    let error = settings.connect_timeout(Duration::from_millis(200)).connect().await.unwrap_err();
    assert!(format!("{error:?}").contains("no credentials within 200ms"), "{error:?}");
}
