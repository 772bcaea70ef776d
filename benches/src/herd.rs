//! Many processes that want one lock at the same moment, each once.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use futures::future::join_all;
use palisade::{AcquireError, Client, FairLock, Lock, LockGuard};
use testkit::{Cluster, Fault, FaultProxy, RedisServer};

use crate::{
    line::{Better, Line, Sides},
    rows::Setting,
};

/// So many `palisade run … true` at once on three masters, against the queue of one.
pub(crate) async fn of_three(setting: &Setting, processes: usize) -> Vec<Line> {
    measure(setting, processes, 3, Some(AGAINST_THE_QUEUE))
}

/// The same on one master.
pub(crate) async fn of_one(setting: &Setting, processes: usize) -> Vec<Line> {
    measure(setting, processes, 1, None)
}

fn measure(setting: &Setting, processes: usize, masters: usize, aim: Option<f64>) -> Vec<Line> {
    let Some(program) = tool() else { return Vec::new() };
    let (queue, plain) = (Herd::of(&program, 1, &["--fair"]), Herd::of(&program, masters, &[]));
    let (mut took, mut calls, mut failed) = (Sides::default(), Sides::default(), Sides::default());
    // A large herd may take minutes.
    let times = if setting.effort.short || processes > 100 { 1 } else { 5 };
    for _ in 0..times {
        took.baseline.push(queue.run(processes).took);
        let run = plain.run(processes);
        took.ours.push(run.took);
        calls.baseline.push(processes as f64);
        calls.ours.push(run.calls);
        failed.baseline.push(1.0);
        failed.ours.push(run.failed);
    }
    let took = Line::new("time in all, s", Better::Less, "--fair, one master", &took);
    vec![
        if let Some(aim) = aim { took.aim(aim) } else { took },
        Line::new("EVALSHA, most of a master", Better::Less, "processes", &calls).aim(8.0),
        Line::new("exits that are not 0", Better::Less, "wanted", &failed).aim(0.0),
    ]
}

/// Each for a second, on three masters: what the waiters ask.
pub(crate) async fn for_a_second(setting: &Setting, processes: usize) -> Vec<Line> {
    let Some(program) = tool() else { return Vec::new() };
    let _shorter = setting;
    let run = Herd::of(&program, 3, &[]).with(&["sleep", "1"]).run(processes);
    let time = Sides::once(processes as f64, run.took);
    vec![
        Line::new("time in all, s", Better::Less, "sections", &time),
        Line::new(
            "EVALSHA, most of a master",
            Better::Less,
            "processes",
            &Sides::once(processes as f64, run.calls),
        )
        .aim(8.0),
    ]
}

/// On three masters, of which the first in the common order goes while they are at it, or is late from the
/// beginning.
pub(crate) async fn of_three_but_one(setting: &Setting, processes: usize) -> Vec<Line> {
    let Some(program) = tool() else { return Vec::new() };
    let times = if setting.effort.short { 1 } else { 5 };
    let mut lines = Vec::new();
    for (name, harm) in [("killed", Harm::Killed), ("stopped", Harm::Stopped), ("late", Harm::Late)]
    {
        let mut sides = Sides::default();
        for _ in 0..times {
            let healthy = Herd::of(&program, 3, &[]).run(processes).took;
            let harmed = Herd::of(&program, 3, &[]);
            // That it is gone is noticed once.
            sides.baseline.push(healthy * 1.3 + 1.0);
            sides.ours.push(harmed.harmed(harm, processes));
        }
        let figure = format!("time in all if one is {name}, s");
        lines.push(Line::new(&figure, Better::Less, "1.3 of healthy and 1 s", &sides).aim(1.0));
    }
    lines
}

/// What is done to a master.
#[derive(Debug, Clone, Copy)]
enum Harm {
    Killed,
    Stopped,
    /// Answers 200 ms later.
    Late,
}

/// So many clients in one process, each of which wants the lock once.
pub(crate) async fn of_clients(setting: &Setting, clients: usize) -> Vec<Line> {
    let _shorter = setting;
    let server = RedisServer::start();
    // All at once they are more than a server takes in a second.
    let patient = || Client::builder().connect_timeout(PATIENCE).node_timeout(PATIENCE);
    let connect = || patient().url(&server.url()).connect();
    let connected = join_all((0..clients).map(|_| connect())).await;
    let connected: Vec<_> = connected.into_iter().map(|one| one.expect("it is there")).collect();
    let queued: Vec<_> = connected.iter().map(|client| client.fair_lock("queue")).collect();
    let crowded: Vec<_> = connected.iter().map(|client| client.lock("crowd")).collect();
    let fair = each_once(queued.iter().map(FairLock::acquire)).await;
    let plain = each_once(crowded.iter().map(Lock::acquire)).await;
    let sides = Sides::once(fair, plain);
    vec![Line::new("time in all, s", Better::Less, "FairLock", &sides)]
}

/// How long it takes all of them to have had a lock, in s.
async fn each_once<A>(acquires: impl Iterator<Item = A>) -> f64
where
    A: Future<Output = Result<LockGuard, AcquireError>>,
{
    let begun = Instant::now();
    let turns = acquires.map(|acquire| async {
        let guard = acquire.await.expect("it is free in the end");
        guard.release().await.expect("it was held");
    });
    join_all(turns).await;
    begun.elapsed().as_secs_f64()
}

/// The tool, beside this program.
pub(crate) fn tool() -> Option<PathBuf> {
    let program = env::current_exe().expect("a program knows where it is");
    let program = program.with_file_name("palisade");
    if program.exists() {
        return Some(program);
    }
    eprintln!("not measured: {} was not built", program.display());
    None
}

/// Processes of the tool, and their servers.
struct Herd<'a> {
    program: &'a Path,
    servers: Arc<Cluster>,
    /// Where they are reached.
    urls: Vec<String>,
    options: &'a [&'a str],
    command: &'a [&'a str],
}

/// What came of one herd.
struct Run {
    /// In s, from the first start until the last end.
    took: f64,
    /// By the master that got most.
    calls: f64,
    failed: f64,
}

impl<'a> Herd<'a> {
    fn of(program: &'a Path, masters: usize, options: &'a [&'a str]) -> Self {
        let servers = Arc::new(Cluster::start(masters).blessed());
        let urls = servers.urls();
        Self { program, servers, urls, options, command: &["true"] }
    }

    fn with(mut self, command: &'a [&'a str]) -> Self {
        self.command = command;
        self
    }

    /// How long it takes all of them, in s.
    fn harmed(mut self, harm: Harm, processes: usize) -> f64 {
        let run_id = |server: &RedisServer| {
            let info = server.cli(&["INFO", "server"]);
            info.lines().find_map(|line| line.strip_prefix("run_id:").map(str::to_owned))
        };
        let first = (0..self.servers.len()).min_by_key(|place| run_id(&self.servers[*place]));
        let first = first.expect("there are some");
        let proxies: Vec<_> = self.servers.iter().map(FaultProxy::before).collect();
        if let Harm::Late = harm {
            self.urls = proxies.iter().map(FaultProxy::url).collect();
            proxies.get(first).expect("as many").set(Fault::Delay(LATE));
        }
        let (servers, processes_begun) = (self.servers.clone(), Instant::now());
        let harming = thread::spawn(move || {
            // While they come, or are at it.
            thread::sleep(BEGUN);
            match harm {
                Harm::Killed => servers.kill(first),
                Harm::Stopped => servers.freeze(first),
                Harm::Late => {}
            }
        });
        let herd: Vec<_> = (0..processes).map(|_| self.start()).collect();
        for mut one in herd {
            assert!(one.wait().expect("it was started").success(), "one was not granted the lock");
        }
        harming.join().expect("it only harms a server");
        processes_begun.elapsed().as_secs_f64()
    }

    fn run(&self, processes: usize) -> Run {
        let calls = || self.servers.iter().map(scripts).collect::<Vec<_>>();
        let before = calls();
        let begun = Instant::now();
        let herd: Vec<_> = (0..processes).map(|_| self.start()).collect();
        let codes = herd.into_iter().map(|mut one| one.wait().expect("it was started").code());
        let failed = codes.filter(|code| *code != Some(0)).count();
        let took = begun.elapsed().as_secs_f64();
        let most = calls().iter().zip(&before).map(|(after, before)| after - before).max();
        Run { took, calls: most.unwrap_or(0) as f64, failed: failed as f64 }
    }

    fn start(&self) -> Child {
        let mut command = Command::new(self.program);
        command.env("PALISADE_SERVERS", self.urls.join(",")).arg("run");
        command.args(self.options).args(["-q", "-w", "90s", "herd", "--"]).args(self.command);
        command.stdin(Stdio::null()).stderr(Stdio::null());
        command.spawn().expect("the tool was built")
    }
}

fn scripts(server: &RedisServer) -> u64 {
    server.calls_of("evalsha")
}

/// How much longer it may take without an order.
const AGAINST_THE_QUEUE: f64 = 1.5;
const PATIENCE: Duration = Duration::from_secs(30);
/// By when they have begun.
const BEGUN: Duration = Duration::from_millis(300);
/// In each direction half of it.
const LATE: Duration = Duration::from_millis(100);
