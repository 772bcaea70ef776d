//! Contests without contention: each task has a name of its own.

use std::sync::Arc;

use testkit::{Actor, Cluster};

use crate::{
    block::{Load, Pair, Tasks},
    child,
    deployments::Deployment,
    floor::{All, Floor, Nodes, Quorum, kinds::ByHand},
    kinds::{Kind, OfKind},
    locks::{Multi, Red, Single, names},
    turns::{Contest, Side},
};

/// What is acquired and released.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Work {
    /// A lock on one node.
    Lock,
    /// The same behind a line that delays each byte by so many ms each way.
    LockBehind(u64),
    RedLock(usize),
    MultiLock(usize),
    /// One of another kind on one node.
    OfKind(Kind),
    /// A lock on one node that is reached otherwise, against plain TCP.
    Deployed(Deployment),
    /// All read one name, against one each.
    ReadersOfOne,
    /// A `RedLock` of five with one of them frozen, against one of five healthy ones.
    OneFrozen,
}

impl Work {
    pub(crate) async fn contest(self, tasks: usize) -> Contest {
        let [floor, ours] = ["floor", "palisade"].map(|prefix| names(prefix, tasks));
        match self {
            Self::Lock => {
                let servers = Arc::new(Cluster::start(1));
                let url = servers[0].url();
                let floor = Tasks(Floor::connect(&url, &floor).await);
                contest("floor", &servers, floor, Tasks(Single::connect(&url, &ours).await))
            }
            Self::LockBehind(delay_ms) => {
                let servers = Arc::new(Cluster::start(1));
                let [(proxy, url), (other, other_url)] =
                    [(); 2].map(|()| delayed(&servers, delay_ms));
                let floor = Tasks(Floor::connect(&url, &floor).await);
                let ours = Tasks(Single::connect(&other_url, &ours).await);
                let mut contest = contest("floor", &servers, floor, ours);
                (contest.baseline.proxy, contest.ours.proxy) = (Some(proxy), Some(other));
                contest
            }
            Self::RedLock(nodes) => {
                let servers = Arc::new(Cluster::start(nodes));
                let floor = Nodes::connect(&servers.urls(), &floor).await;
                let floor = Tasks(floor.into_iter().map(Quorum).collect());
                let ours = Tasks(Red::connect(&servers.urls(), &ours).await);
                contest("floor at its quorum", &servers, floor, ours)
            }
            Self::MultiLock(nodes) => {
                let servers = Arc::new(Cluster::start(nodes));
                let floor = Nodes::connect(&servers.urls(), &floor).await;
                let floor = Tasks(floor.into_iter().map(All).collect());
                let ours = Tasks(Multi::connect(&servers.urls(), &ours).await);
                contest("floor", &servers, floor, ours)
            }
            Self::OfKind(kind) => {
                let servers = Arc::new(Cluster::start(1));
                let url = servers[0].url();
                let floor = Tasks(ByHand::connect(kind, &url, &floor).await);
                contest("floor", &servers, floor, Tasks(OfKind::connect(kind, &url, &ours).await))
            }
            Self::Deployed(deployment) => deployment.contest([&floor, &ours]).await,
            Self::ReadersOfOne => {
                let servers = Arc::new(Cluster::start(1));
                let url = servers[0].url();
                let each = Tasks(OfKind::connect(Kind::Reading, &url, &floor).await);
                let one = OfKind::connect(Kind::Reading, &url, &["one".into()]).await;
                let one = Tasks(one.into_iter().cycle().take(tasks).collect());
                contest("a name each", &servers, each, one)
            }
            Self::OneFrozen => one_frozen(&ours).await,
        }
    }
}

fn contest(
    against: &'static str,
    servers: &Arc<Cluster>,
    floor: impl Load + 'static,
    ours: impl Load + 'static,
) -> Contest {
    let (baseline, ours) = (Side::new(floor, servers), Side::new(ours, servers));
    Contest { against, baseline, ours, peers: Vec::new() }
}

/// A proxy of its own for each side, so that neither stands in the other's way.
fn delayed(servers: &Cluster, delay_ms: u64) -> (Actor, String) {
    child::start(&["proxy".into(), servers[0].addr().to_string(), delay_ms.to_string()])
}

/// Two times five servers, so that the frozen one stays frozen between the blocks.
async fn one_frozen(names: &[String]) -> Contest {
    let [healthy, limping] = [(); 2].map(|()| Arc::new(Cluster::start(5)));
    let baseline = Side::new(Tasks(Red::connect(&healthy.urls(), names).await), &healthy);
    let mut red = Red::connect(&limping.urls(), names).await;
    // Not at once: it was connected and voted before.
    for red in &mut red {
        red.pair().await;
    }
    limping.freeze(4);
    let ours = Side { awake: 4, ..Side::new(Tasks(red), &limping) };
    Contest { against: "all healthy", baseline, ours, peers: Vec::new() }
}
