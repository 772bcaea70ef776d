//! Code of the user's that blocks where a lock is lost, where that is told, or where a server is reached: it costs no
//! lock of others.

use std::{
    future::{Future, ready},
    pin::pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    task::{Context, Wake, Waker},
    thread::{self, ThreadId},
};

use palisade::{Client, ClientBuilder, LostCause, clock::BootClock, settings::Credentials};
use testkit::RedisServer;
use tokio::net::TcpStream;

use super::sharing::{held, outlive};
use crate::{
    fleet::{HANG, client, eventually, within},
    names::{ASKED, BLOCKED, Events},
};

/// Two servers, and a client of each with the same watchdog, which no other test has.
struct Scene {
    server: RedisServer,
    client: Client,
    other: Client,
    _other_server: RedisServer,
}

impl Scene {
    async fn new(settings: impl FnOnce(&RedisServer) -> ClientBuilder) -> Self {
        let (server, other) = (RedisServer::start(), RedisServer::start());
        let clock = Arc::new(BootClock);
        let client = settings(&server).clock(clock.clone()).connect().await.unwrap();
        let other_client = self::client(&other.url()).clock(clock).connect().await.unwrap();
        Self { server, client, other: other_client, _other_server: other }
    }

    async fn plain() -> Self {
        Self::new(|server| client(&server.url())).await
    }
}

struct Blocking(Mutex<Receiver<()>>);

impl Wake for Blocking {
    fn wake(self: Arc<Self>) {
        self.0.lock().unwrap().recv().unwrap_err();
    }
}

#[tokio::test]
async fn waker_that_blocks_costs_no_other_lock() {
    let scene = Scene::plain().await;
    let spared = held(&scene.other, "y").await;
    let (lost, later) = (held(&scene.client, "x").await, held(&scene.client, "z").await);
    let (end, until) = channel();
    let waker = Waker::from(Arc::new(Blocking(Mutex::new(until))));
    let token = lost.cancellation_token();
    let mut cancelled = pin!(token.cancelled());
    assert!(cancelled.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    scene.server.cli(&["DEL", "x"]);
    // Not by `lost()`, which would be woken here.
    eventually("the loss", || token.is_cancelled()).await;
    scene.server.cli(&["DEL", "z"]);
    assert_eq!(within(HANG, "the next loss", later.lost()).await, LostCause::Gone);
    outlive(&[spared]).await;
    drop(end);
}

#[tokio::test]
async fn subscriber_that_blocks_costs_no_lock_and_delays_no_token() {
    Events::install();
    let scene = Scene::plain().await;
    let spared = held(&scene.other, "y").await;
    let lost = held(&scene.client, Events::BLOCKING).await;
    let later = held(&scene.client, "z").await;
    let (end, until) = channel();
    *BLOCKED.lock().unwrap() = Some(until);
    scene.server.cli(&["DEL", Events::BLOCKING]);
    assert_eq!(within(HANG, "the loss", lost.lost()).await, LostCause::Gone);
    eventually("an event", || BLOCKED.lock().unwrap_or_else(|held| held.into_inner()).is_none())
        .await;
    scene.server.cli(&["DEL", "z"]);
    assert_eq!(within(HANG, "the next loss", later.lost()).await, LostCause::Gone);
    outlive(&[spared]).await;
    drop(end);
}

// proves: no-guard-across-await
/// A subscriber that asks whether a lock is held of which it is told.
#[tokio::test]
async fn subscriber_may_ask_after_the_lock_of_which_it_is_told() {
    Events::install();
    let scene = Scene::plain().await;
    let spared = held(&scene.other, "y").await;
    let connections = scene.server.connected_clients();
    let guard = Arc::new(held(&scene.client, Events::ASKING).await);
    // The watchdog hears of it at once by its connection, which it does not have from the first moment on.
    eventually("one more", || scene.server.connected_clients() > connections).await;
    *ASKED.lock().unwrap() = Some(guard.clone());
    scene.server.kill();
    eventually("an event", || ASKED.lock().unwrap().is_none()).await;
    assert!(within(HANG, "the loss", guard.lost()).await.is_expiry());
    outlive(&[spared]).await;
}

/// Blocks once it is told to, but for the thread of the test.
struct Gate {
    test: ThreadId,
    is_shut: AtomicBool,
    is_blocked: AtomicBool,
    until: Mutex<Receiver<()>>,
}

impl Gate {
    fn new() -> (Arc<Self>, Sender<()>) {
        let (end, until) = channel();
        let (is_shut, is_blocked) = Default::default();
        let test = thread::current().id();
        (Arc::new(Self { test, is_shut, is_blocked, until: Mutex::new(until) }), end)
    }

    fn pass(&self) {
        if self.is_shut.load(Ordering::SeqCst) && thread::current().id() != self.test {
            self.is_blocked.store(true, Ordering::SeqCst);
            self.until.lock().unwrap().recv().unwrap_err();
        }
    }
}

async fn costs_no_lock_of_others(
    gate: Arc<Gate>,
    end: Sender<()>,
    settings: impl FnOnce(&RedisServer) -> ClientBuilder,
) {
    let scene = Scene::new(settings).await;
    let spared = held(&scene.other, "y").await;
    let hit = held(&scene.client, "x").await;
    gate.is_shut.store(true, Ordering::SeqCst);
    scene.server.cli(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
    eventually("a new connection", || gate.is_blocked.load(Ordering::SeqCst)).await;
    outlive(&[spared]).await;
    drop((end, hit));
}

#[tokio::test]
async fn credentials_that_block_cost_no_lock_of_others() {
    let (gate, end) = Gate::new();
    let fetching = gate.clone();
    let fetch = move || {
        fetching.pass();
        ready(Ok::<_, &str>(Credentials::new("app", "pw")))
    };
    costs_no_lock_of_others(gate, end, move |server| {
        server.cli(&["ACL", "SETUSER", "app", "on", ">pw", "~*", "&*", "+@all"]);
        client(&server.url()).credentials(fetch)
    })
    .await;
}

#[tokio::test]
async fn connector_that_blocks_costs_no_lock_of_others() {
    let (gate, end) = Gate::new();
    let connecting = gate.clone();
    costs_no_lock_of_others(gate, end, move |server| {
        let addr = server.addr();
        client(&server.url()).connector("theirs", move || {
            connecting.pass();
            TcpStream::connect(addr)
        })
    })
    .await;
}
