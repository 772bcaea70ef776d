//! Which metric each of the faults of chaos moves. A fault that moves none would be seen on no dashboard.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use futures::future::{BoxFuture, join_all};
use palisade::{
    Client, LockGuard, OnOutage, Quarantine,
    clock::{BootClock, Clock, Instant},
    metering,
};
use testkit::{Fault, FaultProxy, RedisServer, WallClocks, Way};
use tokio::task::JoinHandle;

use super::recorder::{measured, seen, told};
use crate::support::{Look, eventually, fixed, ms, patient, soon, watchdog};

struct Row {
    /// As chaos has them.
    faults: &'static [&'static str],
    strike: fn(&Stage),
    /// The metric that moves, and its label.
    moves: [&'static str; 2],
}

const TABLE: [Row; 22] = [
    row(&["kill", "kill-in-turn", "kill-at-leisure"], |it| it.server.restart_empty(), QUARANTINED),
    row(&["kill-quorum"], |it| it.server.kill(), UP),
    row(&["freeze-briefly"], |it| it.server.freeze(), NOT_RENEWED),
    row(&["freeze", "freeze-quorum"], |it| it.server.freeze(), EXPIRED),
    row(&["cut-commands"], |it| it.tell(&["CLIENT", "KILL", "TYPE", "normal"]), UP),
    row(&["cut-subscriptions"], |it| it.tell(&["CLIENT", "KILL", "TYPE", "pubsub"]), UNHEARD),
    row(&["half-open"], |it| it.wire.mute(&it.server.subscribed_from()), UNHEARD),
    row(&["overflow"], Stage::overflow, UNHEARD),
    row(&["lost-replies"], |it| it.wire.set(Fault::Blackhole(Way::Replies)), NOT_RENEWED),
    row(&["blackhole"], |it| it.wire.set(Fault::Blackhole(Way::Both)), OUTAGE),
    row(&["late-delivery"], |it| it.wire.set(Fault::Stall(Way::Both)), OUTAGE),
    row(&["flush"], |it| it.tell(&["FLUSHALL"]), FORGOTTEN),
    row(&["a key is deleted"], |it| it.tell(&["DEL", "kept"]), GONE),
    row(&["demote"], |it| it.tell(&["REPLICAOF", "127.0.0.1", "1"]), OUTAGE),
    row(
        &["no-permission"],
        |it| it.tell(&["ACL", "SETUSER", "default", "-eval", "-evalsha"]),
        DENIED,
    ),
    row(&["pause"], |it| it.tell(&["CLIENT", "PAUSE", "60000", "WRITE"]), OUTAGE),
    row(&["busy"], Stage::spin, OUTAGE),
    row(&["misconf"], Stage::fail_to_save, OUTAGE),
    row(&["out-of-memory"], |it| it.tell(&["CONFIG", "SET", "maxmemory", "1"]), OUTAGE),
    row(&["step-clock"], |it| it.server.set_clock(600_000), GONE),
    row(&["freeze-worker"], |it| it.clock.jump(LEASE * 2), EXPIRED),
    row(&["kill-worker"], |it| it.leave_a_lock("work"), REFUSED),
];

/// What costs no lock, and is none of its metrics.
const UNSEEN: [&str; 1] = ["panic-in-worker"];

const QUARANTINED: [&str; 2] = ["palisade_quarantined", "server="];
const UP: [&str; 2] = ["palisade_server_up", "server="];
const UNHEARD: [&str; 2] = ["palisade_subscription_losses_total", "server="];
const FORGOTTEN: [&str; 2] = ["palisade_forgotten_data_total", "server="];
const NOT_RENEWED: [&str; 2] = ["palisade_renewal_failures_total", ""];
const EXPIRED: [&str; 2] = ["palisade_losses_total", "cause=expired"];
const GONE: [&str; 2] = ["palisade_losses_total", "cause=gone"];
const OUTAGE: [&str; 2] = ["palisade_acquires_total", "outcome=outage"];
const DENIED: [&str; 2] = ["palisade_acquires_total", "outcome=denied"];
const REFUSED: [&str; 2] = ["palisade_acquires_total", "outcome=refused"];

const fn row(faults: &'static [&'static str], strike: fn(&Stage), moves: [&'static str; 2]) -> Row {
    Row { faults, strike, moves }
}

#[tokio::test]
async fn each_fault_moves_a_metric() {
    let clocks = Arc::new(WallClocks::build().expect("a C compiler"));
    let unmoved = join_all(TABLE.iter().map(|row| row.fails(&clocks))).await.concat();
    assert!(unmoved.is_empty(), "nothing was told of {unmoved:?}");
    // And whatever there is moves by one or another.
    for name in metering::NAMES {
        assert!(seen([name, "group=fault-"], "").1 > 0, "{name}: {:?}", told().keys());
    }
}

#[test]
fn table_has_all_faults_of_chaos() {
    let chaos = include_str!("../../../chaos/src/faults/mod.rs");
    let names = chaos.split("Fault::new(\"").skip(1).map(|rest| rest.split('"').next().unwrap());
    let names: Vec<_> = names.collect();
    assert!(names.len() > 20, "{names:?}");
    let known: Vec<_> = TABLE.iter().flat_map(|row| row.faults).chain(&UNSEEN).collect();
    for name in names {
        assert!(known.contains(&&name), "{name}");
    }
}

impl Row {
    /// Its faults, if they move nothing.
    async fn fails(&self, clocks: &Arc<WallClocks>) -> Vec<&'static str> {
        let stage = Stage::set(self.faults[0], clocks).await;
        let seen = || seen(self.moves, &stage.group);
        let before = seen();
        (self.strike)(&stage);
        let work = stage.client.lock("work").with_lease(fixed(20_000));
        let moved = async {
            while seen() == before {
                if let Ok(Some(guard)) = work.try_acquire().await {
                    drop(guard.release().await);
                }
                tokio::time::sleep(ms(20)).await;
            }
        };
        let has_moved = tokio::time::timeout(LEASE * 8, moved).await.is_ok();
        stage.waiter.abort();
        if has_moved { Vec::new() } else { self.faults.to_vec() }
    }
}

/// A server, and a client of it that holds a lock and waits for another.
struct Stage {
    group: String,
    server: RedisServer,
    wire: FaultProxy,
    clock: Arc<SleepyClock>,
    client: Client,
    _kept: LockGuard,
    waiter: JoinHandle<()>,
}

impl Stage {
    async fn set(fault: &str, clocks: &Arc<WallClocks>) -> Self {
        let group = format!("group=fault-{fault}");
        let server = RedisServer::builder().settable_clock(clocks).start();
        let (wire, clock) = (FaultProxy::before(&server), Arc::new(SleepyClock::default()));
        let settings = patient(&server).url(&wire.url()).node_timeout(ms(2_000));
        let settings = settings.quarantine(Quarantine::Always).clock(clock.clone());
        let client = measured(settings, &group["group=".len()..]).connect().await.unwrap();
        client.bless().await.unwrap();
        let lock = |name: &str| client.lock(name).on_outage(OnOutage::Wait);
        let kept = soon(lock("kept").with_lease(watchdog(LEASE_MS)).acquire()).await.unwrap();
        leave_a_lock(&server, "others");
        let waiting = lock("others");
        let waiter = tokio::spawn(async move { drop(waiting.acquire().await) });
        // The watchdog has a connection of its own by then.
        let late = ["palisade_renewal_lateness_seconds", ""];
        eventually(|| seen(late, &group).1 > 0 && server.subscribers("others") == 1).await;
        Self { group, server, wire, clock, client, _kept: kept, waiter }
    }

    fn tell(&self, command: &[&str]) {
        self.server.cli(command);
    }

    fn leave_a_lock(&self, name: &str) {
        leave_a_lock(&self.server, name);
    }

    /// Every subscriber is sent more than its output buffer may hold.
    fn overflow(&self) {
        self.tell(&["CONFIG", "SET", "client-output-buffer-limit", "pubsub 1024 1024 1"]);
        let message = "x".repeat(256 * 1024);
        for channel in self.server.cli(&["PUBSUB", "CHANNELS"]).lines() {
            self.tell(&["PUBLISH", channel, &message]);
        }
    }

    fn spin(&self) {
        self.tell(&["CONFIG", "SET", "lua-time-limit", "5"]);
        let mut connection = self.server.connect();
        thread::spawn(move || drop(connection.command(&["EVAL", "while true do end", "0"])));
    }

    /// From now on the server answers MISCONF to every write.
    fn fail_to_save(&self) {
        fs::create_dir(self.server.folder().join("dump.rdb")).unwrap();
        self.tell(&["CONFIG", "SET", "save", "3600 1"]);
        self.tell(&["BGSAVE"]);
    }
}

/// As a process does that was killed.
fn leave_a_lock(server: &RedisServer, name: &str) {
    server.cli(&["HSET", name, "0fa6aec3-9a0f-4f7e-8dd2-52d7a3f9ae3d:51", "1"]);
    server.cli(&["PEXPIRE", name, "600000"]);
}

/// Of a process that may have stood still.
#[derive(Debug, Default)]
struct SleepyClock(AtomicU64);

impl SleepyClock {
    fn jump(&self, by: Duration) {
        self.0.fetch_add(u64::try_from(by.as_millis()).unwrap(), Ordering::SeqCst);
    }
}

impl Clock for SleepyClock {
    fn now(&self) -> Instant {
        BootClock.now() + ms(self.0.load(Ordering::SeqCst))
    }

    fn sleep_until(&self, at: Instant) -> BoxFuture<'static, ()> {
        BootClock.sleep_until(BootClock.now() + at.saturating_since(self.now()))
    }
}

const LEASE_MS: u64 = 6_000;
const LEASE: Duration = ms(LEASE_MS);
