//! Many processes that want one lock at the same moment, each once.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Instant,
};

use testkit::{Cluster, RedisServer};

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
    options: &'a [&'a str],
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
        Self { program, servers: Arc::new(Cluster::start(masters).blessed()), options }
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
        command.env("PALISADE_SERVERS", self.servers.urls().join(",")).arg("run");
        command.args(self.options).args(["-q", "-w", "90s", "herd", "--", "true"]);
        command.stdin(Stdio::null()).stderr(Stdio::null());
        command.spawn().expect("the tool was built")
    }
}

fn scripts(server: &RedisServer) -> u64 {
    server.calls_of("evalsha")
}

/// How much longer it may take without an order.
const AGAINST_THE_QUEUE: f64 = 1.5;
