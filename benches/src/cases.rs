//! What is measured, and what is to be reached.

use std::time::Duration;

use testkit::{Cluster, RedisServer};

use crate::{
    compare::{Comparison, Effort, Latency, NO_PAUSE, Pair, Throughput},
    floor::{Floor, Parallel},
    hand_over::HandOver,
    held::{self, HeldByHand, HeldLocks},
    locks::{Multi, Red, Single, names},
};

/// A line of the table.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) goal: Option<Goal>,
    pub(crate) comparison: Comparison,
}

/// What the median ratio is to be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Goal {
    AtMost(f64),
    AtLeast(f64),
}

impl Goal {
    pub(crate) fn is_met_by(self, ratio: f64) -> bool {
        match self {
            Self::AtMost(most) => ratio <= most,
            Self::AtLeast(least) => ratio >= least,
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Case {
    OneNode,
    ThreeNodes,
    FiveNodes,
    FiveNodesApart,
    ManyTasks,
    OneFrozen,
    MultiLock,
    HandOver,
    Held,
    Renewals,
}

pub(crate) const CASES: [Case; 10] = [
    Case::OneNode,
    Case::ThreeNodes,
    Case::FiveNodes,
    Case::FiveNodesApart,
    Case::ManyTasks,
    Case::OneFrozen,
    Case::MultiLock,
    Case::HandOver,
    Case::Held,
    Case::Renewals,
];

impl Case {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::OneNode => "Lock, 1 task",
            Self::ThreeNodes => "RedLock of 3, 1 task",
            Self::FiveNodes => "RedLock of 5, 1 task",
            Self::FiveNodesApart => "RedLock of 5, 1 ms apart",
            Self::ManyTasks => "Lock, 256 tasks on 256 names",
            Self::OneFrozen => "RedLock of 5, one frozen; against all healthy",
            Self::MultiLock => "MultiLock of 3, 1 task",
            Self::HandOver => "hand-over between clients; against a pair",
            Self::Held => "10,000 locks acquired and kept",
            Self::Renewals => "10,000 locks renewed",
        }
    }

    pub(crate) async fn run(self, effort: Effort) -> Vec<Row> {
        let row = |unit, goal, comparison| Row { name: self.name(), unit, goal, comparison };
        let at_most = |ratio| Some(Goal::AtMost(ratio));
        match self {
            Self::OneNode => vec![row("p50 µs", at_most(1.15), one_node(effort).await)],
            Self::ThreeNodes => vec![row("p50 µs", at_most(1.0), red(3, NO_PAUSE, effort).await)],
            Self::FiveNodes => vec![row("p50 µs", at_most(1.0), red(5, NO_PAUSE, effort).await)],
            Self::FiveNodesApart => {
                vec![row("p50 µs", None, red(5, Duration::from_millis(1), effort).await)]
            }
            Self::ManyTasks => {
                let goal = Some(Goal::AtLeast(0.85));
                vec![row("pairs/s", goal, many_tasks(effort).await)]
            }
            Self::OneFrozen => vec![row("p50 µs", at_most(1.2), one_frozen(effort).await)],
            Self::MultiLock => vec![row("p50 µs", None, multi(effort).await)],
            Self::HandOver => vec![row("p50 µs", None, hand_over(effort).await)],
            Self::Held => vec![row("locks/s", None, held(effort).await)],
            Self::Renewals => {
                let renewals = held::renewals(effort).await;
                vec![
                    row("CPU µs each", None, renewals.cpu),
                    row("scripts each", None, renewals.scripts),
                ]
            }
        }
    }
}

async fn one_node(effort: Effort) -> Comparison {
    let server = RedisServer::start();
    let floor = Latency::of(only(Floor::connect(&server, names("floor", 1)).await));
    let lock = Latency::of(only(Single::connect(&server, names("palisade", 1)).await));
    Comparison::of(floor, lock, effort, effort.blocks).await
}

async fn red(nodes: usize, pause: Duration, effort: Effort) -> Comparison {
    let servers = Cluster::start(nodes);
    let floor = Latency { who: Parallel::connect(&servers).await, pause };
    let red = Latency { who: Red::connect(&servers).await, pause };
    Comparison::of(floor, red, effort, effort.blocks).await
}

async fn multi(effort: Effort) -> Comparison {
    let servers = Cluster::start(3);
    let floor = Latency::of(Parallel::connect(&servers).await);
    let multi = Latency::of(Multi::connect(&servers).await);
    Comparison::of(floor, multi, effort, effort.blocks).await
}

async fn many_tasks(effort: Effort) -> Comparison {
    let server = RedisServer::start();
    let floor = Throughput(Floor::connect(&server, names("floor", 256)).await);
    let locks = Throughput(Single::connect(&server, names("palisade", 256)).await);
    Comparison::of(floor, locks, effort, effort.blocks).await
}

/// Two times five servers, so that the frozen one stays frozen between the blocks.
async fn one_frozen(effort: Effort) -> Comparison {
    let (healthy, limping) = (Cluster::start(5), Cluster::start(5));
    let baseline = Latency::of(Red::connect(&healthy).await);
    let red = Red::connect(&limping).await;
    // Not at once: it was connected and voted before.
    red.clone().pair().await;
    limping.freeze(4);
    Comparison::of(baseline, Latency::of(red), effort, effort.blocks).await
}

async fn hand_over(effort: Effort) -> Comparison {
    let server = RedisServer::start();
    let floor = Latency::of(only(Floor::connect(&server, names("floor", 1)).await));
    let between = HandOver::connect(&server).await;
    Comparison::of(floor, between, effort, effort.blocks / 2).await
}

async fn held(effort: Effort) -> Comparison {
    let server = RedisServer::start();
    let floor = HeldByHand::connect(&server).await;
    let locks = HeldLocks::connect(&server).await;
    Comparison::of(floor, locks, effort, effort.long_blocks).await
}

fn only<P>(sides: Vec<P>) -> P {
    sides.into_iter().next().expect("one name makes one side")
}
