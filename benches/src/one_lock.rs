//! One lock that all tasks want.

use std::{sync::Arc, time::Duration};

use palisade::{Client, ClientBuilder, settings::LocalHandover};
use testkit::{Cluster, RedisServer};
use tokio::sync::Mutex;

use crate::{
    block::{Block, Load, Pair, Tasks},
    child::{self, Remote},
    figure::Figure,
    line::{Better, Line, Sides},
    locks::Single,
    rows::Setting,
    turns::{Contest, Effort, Side},
};

/// So many tasks of one client.
pub(crate) async fn contenders(url: &str, tasks: usize) -> Vec<Single> {
    contenders_with(Client::builder(), url, tasks).await
}

async fn contenders_with(settings: ClientBuilder, url: &str, tasks: usize) -> Vec<Single> {
    let lock = Single::connect_with(settings, url, &["one".into()]).await;
    lock.into_iter().cycle().take(tasks).collect()
}

/// The tasks of one process, against a mutex that never leaves it.
pub(crate) async fn in_one_process(setting: &Setting) -> Vec<Line> {
    let servers = Arc::new(Cluster::start(1));
    let mutex = Tasks(vec![Bare::default(); TASKS]);
    let ours = Tasks(contenders(&servers[0].url(), TASKS).await);
    let contest = Contest {
        against: "tokio::sync::Mutex",
        baseline: Side::new(mutex, &servers),
        ours: Side::new(ours, &servers),
        peers: Vec::new(),
    };
    let outcome = contest.hold(setting.effort).await;
    let rate = outcome.line(Figure::Rate);
    // Or 400,000 a second, if that is less.
    let aim = f64::min(0.3, 400_000.0 / rate.baseline);
    let others = [Figure::P50, Figure::P999, Figure::ClientCpu, Figure::Slowest];
    let others = others.into_iter().map(|figure| outcome.line(figure));
    [rate.aim(aim)].into_iter().chain(others).collect()
}

#[derive(Debug, Clone, Default)]
struct Bare(Arc<Mutex<()>>);

impl Pair for Bare {
    async fn pair(&mut self) {
        drop(self.0.lock().await);
    }
}

/// The tasks of two processes.
pub(crate) async fn in_two_processes(setting: &Setting) -> Vec<Line> {
    let server = RedisServer::start();
    let mut processes = two_processes(&server);
    let Effort { blocks, length, .. } = setting.effort.longer(5);
    let mut totals = Sides::default();
    let mut pairs = [0, 0];
    for _ in 0..blocks {
        let done = both(&mut processes, length);
        totals.baseline.push(WANTED_IN_TWO);
        totals.ours.push(done.iter().map(|block| Figure::Rate.of(block)).sum());
        for (sum, block) in pairs.iter_mut().zip(&done) {
            *sum += block.micros.len();
        }
    }
    let (total, weaker) = (pairs.iter().sum::<usize>(), pairs.into_iter().min().unwrap_or(0));
    let share = Sides::once(total as f64, weaker as f64);
    vec![
        Line::new("pairs/s", Better::More, "wanted", &totals).aim(1.0),
        Line::new("pairs of the weaker", Better::More, "pairs of both", &share).aim(0.4),
    ]
}

/// That are to be told when to work.
pub(crate) fn two_processes(server: &RedisServer) -> [Remote; 2] {
    [(); 2].map(|()| {
        let args = ["one-lock".into(), server.url(), TASKS.to_string()];
        Remote(child::start(&args).0)
    })
}

fn both(processes: &mut [Remote; 2], length: Duration) -> [Block; 2] {
    processes.iter_mut().for_each(|process| process.begin(length));
    processes.each_ref().map(Remote::end)
}

/// What the server has to do for a crowd of one process.
pub(crate) async fn crowd(setting: &Setting) -> Vec<Line> {
    vec![commands_of_crowd(Client::builder(), setting).await.aim(1.0)]
}

/// The same where each of the crowd asks the server.
pub(crate) async fn crowd_without_hand_over(setting: &Setting) -> Vec<Line> {
    vec![commands_of_crowd(without_hand_over(Client::builder()), setting).await.aim(4.0)]
}

fn without_hand_over(settings: ClientBuilder) -> ClientBuilder {
    settings.local_handover(LocalHandover::Off)
}

async fn commands_of_crowd(settings: ClientBuilder, setting: &Setting) -> Line {
    let server = RedisServer::start();
    let mut crowd = Tasks(contenders_with(settings, &server.url(), 1_000).await);
    let Effort { blocks, length, .. } = setting.effort.longer(10);
    crowd.block(length).await;
    let mut commands = Sides::default();
    for _ in 0..blocks {
        let before = sent(&server);
        let block = crowd.block(length).await;
        commands.baseline.push(1.0);
        let count = sent(&server) - before;
        commands.ours.push(count as f64 / block.micros.len() as f64);
    }
    Line::new("commands a hand-over", Better::Less, "wanted", &commands)
}

/// How many commands clients have sent. No script announces anything where releases are plain.
fn sent(server: &RedisServer) -> u64 {
    server.top_level_commands() + server.calls_of("publish")
}

const TASKS: usize = 64;
/// Pairs a second.
const WANTED_IN_TWO: f64 = 80_000.0;
