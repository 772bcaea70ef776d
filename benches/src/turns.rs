//! Ways of doing the same work, in turns.
//!
//! Machines are shared and clocks of processors change: only what was measured next to each other
//! is compared. The work is cut into small blocks, the sides take turns block by block, and what
//! counts is the median of the ratios of neighbours.

use std::{sync::Arc, time::Duration};

use testkit::{Actor, Cluster, RedisServer};

use crate::{
    block::{Block, Load},
    figure::Figure,
    line::{Line, Sides},
};

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    /// Blocks of each side.
    pub(crate) blocks: usize,
    pub(crate) length: Duration,
    /// Whether a rough figure will do.
    pub(crate) short: bool,
}

impl Effort {
    pub(crate) const FULL: Self =
        Self { blocks: 30, length: Duration::from_millis(100), short: false };
    pub(crate) const SHORT: Self =
        Self { blocks: 7, length: Duration::from_millis(50), short: true };
    /// The heap does not depend on what else the machine does. Long enough to forget what the blocks
    /// themselves allocate.
    pub(crate) const COUNTED: Self =
        Self { blocks: 3, length: Duration::from_millis(300), short: true };

    /// For pairs that take long: blocks are so much longer, and fewer.
    pub(crate) fn longer(self, times: u32) -> Self {
        let blocks = self.blocks / times.isqrt() as usize;
        Self { blocks: blocks.max(3), length: self.length * times, ..self }
    }
}

/// Which tasks work on which servers.
pub(crate) struct Side {
    pub(crate) load: Box<dyn Load>,
    pub(crate) servers: Arc<Cluster>,
    /// How many of the servers can be asked for what they used; the others are frozen.
    pub(crate) awake: usize,
    /// What stands before the servers, if anything does.
    pub(crate) proxy: Option<Actor>,
}

impl Side {
    pub(crate) fn new(load: impl Load + 'static, servers: &Arc<Cluster>) -> Self {
        Self {
            load: Box::new(load),
            servers: Arc::clone(servers),
            awake: servers.len(),
            proxy: None,
        }
    }

    async fn block(&mut self, length: Duration) -> Block {
        let before = self.server_cpu();
        let mut block = self.load.block(length).await;
        block.server_cpu = self.server_cpu() - before;
        block
    }

    fn server_cpu(&self) -> Duration {
        self.servers.iter().take(self.awake).map(RedisServer::cpu_time).sum()
    }
}

/// The sides of one row.
pub(crate) struct Contest {
    /// What the baseline is.
    pub(crate) against: &'static str,
    pub(crate) baseline: Side,
    pub(crate) ours: Side,
    /// By their names.
    pub(crate) peers: Vec<(String, Side)>,
}

/// All blocks of all sides.
pub(crate) struct Outcome {
    against: &'static str,
    baseline: Vec<Block>,
    ours: Vec<Block>,
    peers: Vec<(String, Vec<Block>)>,
}

impl Contest {
    /// Lets the sides take turns, after a block each that does not count.
    pub(crate) async fn hold(self, effort: Effort) -> Outcome {
        let Self { against, baseline, ours, peers } = self;
        let (names, peers): (Vec<_>, Vec<_>) = peers.into_iter().unzip();
        let mut sides: Vec<_> = [baseline, ours].into_iter().chain(peers).collect();
        let mut blocks = vec![Vec::new(); sides.len()];
        for side in &mut sides {
            side.block(effort.length).await;
        }
        for turn in 0..effort.blocks {
            // Each side goes first now and then: what drifts hits all.
            let first = turn % sides.len();
            let (before, from) = (0..first, first..sides.len());
            for i in from.chain(before) {
                if let (Some(side), Some(blocks)) = (sides.get_mut(i), blocks.get_mut(i)) {
                    blocks.push(side.block(effort.length).await);
                }
            }
        }
        let mut blocks = blocks.into_iter();
        let mut next = || blocks.next();
        let (baseline, ours) = (next().unwrap_or_default(), next().unwrap_or_default());
        Outcome { against, baseline, ours, peers: names.into_iter().zip(blocks).collect() }
    }
}

impl Outcome {
    pub(crate) fn line(&self, figure: Figure) -> Line {
        let name = figure.name();
        if figure == Figure::Slowest {
            let ours = figure.of(&Block::all(&self.ours));
            return Line::new(name, figure.better(), "mean", &Sides::once(1.0, ours));
        }
        let line = Line::new(name, figure.better(), self.against, &self.sides(figure, &self.ours));
        let ratio = |blocks: &[Block]| {
            Line::new(name, figure.better(), "", &self.sides(figure, blocks)).ratio
        };
        let peers = self.peers.iter().map(|(peer, blocks)| (peer.clone(), ratio(blocks)));
        Line { peers: peers.collect(), ..line }
    }

    fn sides(&self, figure: Figure, others: &[Block]) -> Sides {
        if figure.is_of_all_blocks() {
            let of_all = |blocks| figure.of(&Block::all(blocks));
            return Sides::once(of_all(&self.baseline), of_all(others));
        }
        let of_each = |blocks: &[Block]| blocks.iter().map(|block| figure.of(block)).collect();
        Sides { baseline: of_each(&self.baseline), ours: of_each(others) }
    }
}
