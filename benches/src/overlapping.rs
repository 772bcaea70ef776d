//! `MultiLock`s of three names of ten, beside holders of single ones.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use palisade::{AcquireError, Client, LockGuard, MultiLock};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use testkit::RedisServer;
use tokio::{task::JoinSet, time::sleep};

use crate::{
    figure::quantile,
    line::{Better, Line, Sides},
    rows::Setting,
};

/// A hundred tasks of two clients want three names each, and twenty one name.
pub(crate) async fn names(setting: &Setting) -> Vec<Line> {
    Crowd::of(None, setting).await.lines()
}

/// The same by the stripes of a `StripedLock`.
pub(crate) async fn stripes(setting: &Setting) -> Vec<Line> {
    Crowd::of(Some(STRIPES), setting).await.lines()
}

/// How long was waited for, in ms.
#[derive(Default)]
struct Crowd {
    for_three: Vec<f32>,
    for_one: Vec<f32>,
    seconds: f64,
}

impl Crowd {
    async fn of(stripes: Option<u32>, setting: &Setting) -> Self {
        let server = RedisServer::start();
        let connect = async || Client::connect(&server.url()).await.expect("the server is up");
        let clients = [connect().await, connect().await];
        let (crowd, is_measured) = (Arc::<Mutex<Self>>::default(), Arc::<AtomicBool>::default());
        let mut tasks = JoinSet::new();
        for (at, client) in clients.iter().cycle().take(OF_THREE + OF_ONE).enumerate() {
            let task = Task {
                client: client.clone(),
                stripes,
                width: if at < OF_THREE { 3 } else { 1 },
                random: StdRng::seed_from_u64(at as u64),
            };
            tasks.spawn(task.work(crowd.clone(), is_measured.clone()));
        }
        sleep(WARM_UP).await;
        is_measured.store(true, Ordering::Relaxed);
        let length = if setting.effort.short { AWHILE / 4 } else { AWHILE };
        sleep(length).await;
        tasks.shutdown().await;
        let mut crowd = std::mem::take(&mut *crowd.lock().expect("no task panics"));
        crowd.seconds = length.as_secs_f64();
        crowd
    }

    fn lines(&self) -> Vec<Line> {
        let line = |figure: &str, baseline: f64, ours: f64| {
            let sides = Sides::once(baseline, ours);
            Line::new(figure, Better::Less, "wanted", &sides)
        };
        let of_three = |part| quantile(&self.for_three, part);
        let of_one = |part| quantile(&self.for_one, part);
        let rate = Sides::once(self.for_one.len() as f64, self.for_three.len() as f64);
        vec![
            line("MultiLock, p50, ms", 1_000.0, of_three(0.5)),
            line("MultiLock, p99, ms", 1_000.0, of_three(0.99)).aim(1.0),
            line("MultiLock, slowest, ms", 1_000.0, of_three(1.0)),
            line("one name, p99, ms", 1_000.0, of_one(0.99)).aim(1.0),
            line("ms for each MultiLock", 1.0, self.seconds * 1e3 / self.for_three.len() as f64),
            Line::new("MultiLocks", Better::More, "single ones", &rate),
        ]
    }
}

/// One that wants some of the names again and again.
struct Task {
    client: Client,
    stripes: Option<u32>,
    width: usize,
    random: StdRng,
}

impl Task {
    async fn work(mut self, crowd: Arc<Mutex<Crowd>>, is_measured: Arc<AtomicBool>) {
        loop {
            let names = self.names();
            let asked = Instant::now();
            let guard = match self.acquire(&names).await {
                Ok(guard) => guard,
                Err(error) => {
                    eprintln!("disturbed: {error}");
                    continue;
                }
            };
            if is_measured.load(Ordering::Relaxed) {
                let mut crowd = crowd.lock().expect("no task panics");
                let waits = if self.width > 1 { &mut crowd.for_three } else { &mut crowd.for_one };
                waits.push(asked.elapsed().as_secs_f32() * 1e3);
            }
            sleep(Duration::from_micros(self.random.random_range(0..LONGEST_US))).await;
            if let Err(error) = guard.release().await {
                eprintln!("disturbed: {error}");
            }
        }
    }

    async fn acquire(&self, names: &[String]) -> Result<LockGuard, AcquireError> {
        if let Some(stripes) = self.stripes {
            return self.client.striped_lock("s", stripes)?.acquire_many(names).await;
        }
        match names {
            [one] => self.client.lock(one).acquire().await,
            several => {
                let locks = several.iter().map(|name| self.client.lock(name));
                MultiLock::new(locks)?.acquire().await
            }
        }
    }

    fn names(&mut self) -> Vec<String> {
        let mut names = Vec::new();
        while names.len() < self.width {
            let name = format!("name-{}", self.random.random_range(0..NAMES));
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

const OF_THREE: usize = 100;
const OF_ONE: usize = 20;
const NAMES: u64 = 10;
const STRIPES: u32 = 2_000;
const LONGEST_US: u64 = 2_000;
const WARM_UP: Duration = Duration::from_secs(2);
const AWHILE: Duration = Duration::from_secs(20);
