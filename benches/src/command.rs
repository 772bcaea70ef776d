//! What `palisade run` adds to a command.

use std::{
    net::TcpStream,
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

use futures::{FutureExt, future::BoxFuture};
use testkit::Cluster;

use crate::{
    block::{Block, Load},
    figure::Figure,
    herd::tool,
    line::Line,
    rows::Setting,
    turns::{Contest, Side},
};

/// `palisade run … true` with five masters, against `true` and one connection.
pub(crate) async fn measure(setting: &Setting) -> Vec<Line> {
    let Some(program) = tool() else { return Vec::new() };
    let servers = Arc::new(Cluster::start(5).blessed());
    let addr = servers[0].addr();
    let bare = Repeat(move || {
        assert!(Command::new("true").status().is_ok_and(|status| status.success()));
        drop(TcpStream::connect(addr).expect("the server is up"));
    });
    let all = servers.urls().join(",");
    let palisade = Repeat(move || {
        let mut command = Command::new(&program);
        command.env("PALISADE_SERVERS", &all).args(["run", "bench", "--", "true"]);
        assert!(command.status().is_ok_and(|status| status.success()));
    });
    let (baseline, ours) = (Side::new(bare, &servers), Side::new(palisade, &servers));
    let contest = Contest { against: "true, one connection", baseline, ours, peers: Vec::new() };
    let outcome = contest.hold(setting.effort.longer(2)).await;
    vec![outcome.line(Figure::P50).aim(3.0), outcome.line(Figure::P99)]
}

/// Something that blocks, again and again.
struct Repeat<F>(F);

impl<F: FnMut() + Send> Load for Repeat<F> {
    fn block(&mut self, length: Duration) -> BoxFuture<'_, Block> {
        async move {
            let until = Instant::now() + length;
            let mut block = Block::default();
            while Instant::now() < until {
                let begun = Instant::now();
                (self.0)();
                block.micros.push(begun.elapsed().as_secs_f32() * 1e6);
            }
            block
        }
        .boxed()
    }
}
