//! A block: the work that one side does in one turn, and what it took.

use std::time::{Duration, Instant};

use futures::{
    FutureExt,
    future::{BoxFuture, join_all},
};

use crate::meter::{self, Heap};

/// Acquires and releases one lock.
pub trait Pair: Send + 'static {
    /// Once.
    fn pair(&mut self) -> impl Future<Output = ()> + Send;
}

/// A side that can work for a while.
pub(crate) trait Load {
    /// Begins pairs for so long, and ends when all of them have ended.
    fn block(&mut self, length: Duration) -> BoxFuture<'_, Block>;
}

/// What a block has taken.
#[derive(Debug, Default, Clone)]
pub(crate) struct Block {
    pub(crate) took: Duration,
    /// Of each pair, in µs.
    pub(crate) micros: Vec<f32>,
    /// How many pairs each task has done.
    pub(crate) by_task: Vec<u32>,
    pub(crate) client_cpu: Duration,
    pub(crate) server_cpu: Duration,
    pub(crate) heap: Heap,
}

/// Tasks at once, each with a pair of its own to repeat.
#[derive(Debug)]
pub(crate) struct Tasks<P>(pub(crate) Vec<P>);

impl<P: Pair + Clone> Load for Tasks<P> {
    fn block(&mut self, length: Duration) -> BoxFuture<'_, Block> {
        // Spawned even if it is one: the main task of a multi-thread runtime is polled outside its
        // workers.
        let pairs = self.0.clone();
        async move {
            let (heap, cpu) = (meter::heap(), meter::cpu_time());
            let began = Instant::now();
            let until = began + length;
            let tasks = pairs.into_iter().map(|pair| tokio::spawn(repeat(pair, until)));
            let done = join_all(tasks).await;
            let mut block = Block {
                took: began.elapsed(),
                client_cpu: meter::cpu_time() - cpu,
                heap: meter::heap() - heap,
                ..Block::default()
            };
            for micros in done {
                let micros = micros.expect("a pair does not panic");
                block.by_task.push(u32::try_from(micros.len()).expect("a block is short"));
                block.micros.extend(micros);
            }
            block
        }
        .boxed()
    }
}

async fn repeat(mut pair: impl Pair, until: Instant) -> Vec<f32> {
    let mut micros = Vec::new();
    let mut begun = Instant::now();
    while begun < until {
        pair.pair().await;
        let ended = Instant::now();
        micros.push((ended - begun).as_secs_f32() * 1e6);
        begun = ended;
    }
    micros
}
