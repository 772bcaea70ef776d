//! Helper processes: what each does, and how it is spoken to.
//!
//! A child is this program with other arguments, or a peer's. It prints a line when it is ready,
//! and ends with its stdin.

use std::{
    env,
    io::{self, BufRead},
    net::SocketAddr,
    thread,
    time::Duration,
};

use clap::Subcommand;
use futures::{FutureExt, future::BoxFuture};
use testkit::{Actor, Fault, FaultProxy};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::{
    block::{Block, Load, Pair, Tasks},
    contact, one_lock,
};

/// What a helper process does.
#[derive(Debug, Subcommand)]
pub(crate) enum Child {
    /// Delays each byte on its way to a server, and on its way back.
    #[command(hide = true)]
    Proxy { server: SocketAddr, delay_ms: u64 },
    /// Works on one lock, a block when it is told.
    #[command(hide = true)]
    OneLock { url: String, tasks: usize },
    /// Acquires and releases one lock when it is told.
    #[command(hide = true)]
    Contact { who: contact::Who, url: String },
}

impl Child {
    pub(crate) async fn play(self) {
        match self {
            Self::Proxy { server, delay_ms } => {
                let proxy = FaultProxy::to(server);
                proxy.set(Fault::Delay(Duration::from_millis(delay_ms)));
                tell(&proxy.url());
                let mut silent = lines();
                while silent.recv().await.is_some() {}
            }
            Self::OneLock { url, tasks } => serve(one_lock::contenders(&url, tasks).await).await,
            Self::Contact { who, url } => contact::play(who, &url).await,
        }
    }
}

/// This program in another role; answers with its first line, too.
pub(crate) fn start(args: &[String]) -> (Actor, String) {
    let program = env::current_exe().expect("a program knows where it is");
    let child = Actor::spawn(program, args);
    let ready = child.recv(PATIENCE).expect("a child gets ready");
    (child, ready)
}

/// Does blocks as it is told by lines with their length in ms.
pub async fn serve<P: Pair + Clone>(pairs: Vec<P>) {
    let (mut tasks, mut lines) = (Tasks(pairs), lines());
    tell("ready");
    while let Some(line) = lines.recv().await {
        let length = Duration::from_millis(line.parse().expect("the length of a block"));
        tell(&report(&tasks.block(length).await));
    }
}

/// A child that [serves](serve).
pub(crate) struct Remote(pub(crate) Actor);

impl Remote {
    pub(crate) fn begin(&mut self, length: Duration) {
        self.0.send(&length.as_millis().to_string()).expect("the child lives");
    }

    pub(crate) fn end(&self) -> Block {
        read(&self.0.recv(PATIENCE).expect("the child does its block"))
    }
}

impl Load for Remote {
    /// Blocks this thread: nothing else is to run meanwhile.
    fn block(&mut self, length: Duration) -> BoxFuture<'_, Block> {
        async move {
            self.begin(length);
            self.end()
        }
        .boxed()
    }
}

/// A block as a line: took, CPU time, pairs of each task, µs of each pair.
fn report(block: &Block) -> String {
    let (took, cpu) = (block.took.as_micros(), block.client_cpu.as_micros());
    let by_task: Vec<_> = block.by_task.iter().map(u32::to_string).collect();
    let micros: Vec<_> = block.micros.iter().map(|micros| format!("{micros:.1}")).collect();
    format!("{took} {cpu} {} {}", by_task.join(","), micros.join(","))
}

fn read(report: &str) -> Block {
    let fields: Vec<_> = report.split(' ').collect();
    let [took, cpu, by_task, micros] = fields[..] else { panic!("not a block: {report}") };
    let time = |text: &str| Duration::from_micros(text.parse().expect("a time"));
    Block {
        took: time(took),
        client_cpu: time(cpu),
        by_task: by_task.split(',').map(|pairs| pairs.parse().expect("a number")).collect(),
        micros: micros.split(',').map(|micros| micros.parse().expect("a number")).collect(),
        ..Block::default()
    }
}

/// The lines of stdin, while the runtime goes on.
pub(crate) fn lines() -> UnboundedReceiver<String> {
    let (sender, lines) = unbounded_channel();
    thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

pub(crate) fn tell(line: &str) {
    println!("{line}");
}

pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
