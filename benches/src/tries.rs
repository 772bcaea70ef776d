//! Many tasks that want a lock for a moment only, while another holds it.

use std::time::Duration;

use palisade::Client;
use testkit::RedisServer;
use tokio::{task::JoinSet, time::sleep};

use crate::{
    line::{Better, Line, Sides},
    rows::Setting,
};

/// What it costs the server that each takes its place in a queue and leaves it, against a plain lock: of its waiters
/// one asks.
pub(crate) async fn of_fair_lock(setting: &Setting) -> Vec<Line> {
    let (mut cpu, mut scripts) = (Sides::default(), Sides::default());
    for _ in 0..if setting.effort.short { 1 } else { 3 } {
        let (plain, fair) = (Cost::of(false).await, Cost::of(true).await);
        cpu.baseline.push(plain.server_cpu);
        cpu.ours.push(fair.server_cpu);
        scripts.baseline.push(fair.tries);
        scripts.ours.push(fair.scripts);
    }
    vec![
        Line::new("server CPU, s in 5 s", Better::Less, "the plain lock", &cpu).aim(3.0),
        Line::new("EVALSHA", Better::Less, "tries", &scripts),
    ]
}

/// What some seconds of it cost.
struct Cost {
    /// In s.
    server_cpu: f64,
    scripts: f64,
    tries: f64,
}

impl Cost {
    async fn of(is_fair: bool) -> Self {
        let server = RedisServer::start();
        let connect = async || Client::connect(&server.url()).await.expect("the server is up");
        let (holder, client) = (connect().await, connect().await);
        let held = match is_fair {
            true => holder.fair_lock("one").acquire().await,
            false => holder.lock("one").acquire().await,
        };
        let held = held.expect("it is free");
        let mut trying = JoinSet::new();
        (0..TASKS).for_each(|_| drop(trying.spawn(try_on(client.clone(), is_fair))));
        sleep(WARM_UP).await;
        let before = (server.cpu_time(), server.calls_of("evalsha"));
        sleep(AWHILE).await;
        let server_cpu = (server.cpu_time() - before.0).as_secs_f64();
        let scripts = (server.calls_of("evalsha") - before.1) as f64;
        trying.shutdown().await;
        drop(held.release().await);
        let tries = TASKS as f64 * AWHILE.as_secs_f64() / LIMIT.as_secs_f64();
        Self { server_cpu, scripts, tries }
    }
}

async fn try_on(client: Client, is_fair: bool) {
    loop {
        let tried = match is_fair {
            true => client.fair_lock("one").try_acquire_for(LIMIT).await,
            false => client.lock("one").try_acquire_for(LIMIT).await,
        };
        if let Err(error) = tried {
            eprintln!("disturbed: {error}");
        }
    }
}

const TASKS: usize = 200;
const LIMIT: Duration = Duration::from_millis(50);
const WARM_UP: Duration = Duration::from_millis(500);
const AWHILE: Duration = Duration::from_secs(5);
