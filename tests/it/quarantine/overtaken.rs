//! Two that bless at once.

use std::future::Future;

use palisade::{Masters, error::BlessError};
use testkit::{Cluster, Fault, FaultProxy, Way};

use super::{MARKER, counts_in, marker_on, wary, wary_masters};
use crate::fleet::{HANG, client, drained, eventually, masters, within};

/// Three young masters, and an operator whose way to the first is a proxy.
struct Field {
    servers: Cluster,
    proxy: FaultProxy,
    masters: Masters,
    /// A stranger's marker for the first.
    theirs: String,
}

impl Field {
    async fn start() -> Self {
        let servers = Cluster::start(3);
        let proxy = FaultProxy::before(&servers[0]);
        let wary = |url: &String| wary(client(url)).node_timeout(HANG);
        // The first knows the scripts from here on: one round trip is a look, the next a write.
        masters([wary(&servers[0].url())]).await.bless().await.expect("it is young");
        let theirs = marker_on(&servers[0]);
        servers[0].cli(&["DEL", MARKER]);
        let urls = [proxy.url(), servers[1].url(), servers[2].url()];
        let masters = masters(urls.iter().map(wary)).await;
        Self { servers, proxy, masters, theirs }
    }

    /// Blesses all, while another does it to the first: after the look at it and before the write,
    /// which is stalled `meanwhile`.
    async fn overtaken(&self, meanwhile: impl Future<Output = ()>) -> BlessError {
        let asked = self.servers[0].calls_of("get");
        self.proxy.set(Fault::Stall(Way::Replies));
        let ours = self.masters.clone();
        let bless = tokio::spawn(async move { ours.bless().await });
        eventually("it looks", || self.servers[0].calls_of("get") > asked).await;
        self.servers[0].cli(&["SET", MARKER, &self.theirs]);
        self.proxy.set(Fault::Stall(Way::Requests));
        meanwhile.await;
        self.proxy.heal();
        within(HANG, "the blessing", bless).await.unwrap().unwrap_err()
    }

    /// Completes when the markers that are not stalled are written.
    async fn others_are_marked(&self) {
        let marked = |i: usize| marker_on(&self.servers[i]).starts_with("blessed ");
        eventually("the others are marked", || marked(1) && marked(2)).await;
    }
}

#[tokio::test]
async fn blessing_that_another_overtakes_takes_its_own_markers_back() {
    let field = Field::start().await;
    let error = field.overtaken(field.others_are_marked()).await;
    let BlessError::Overtaken { node, left, .. } = &error else { panic!("{error:?}") };
    assert_eq!((node, left.len()), (field.masters.clients()[0].node_id(), 0));
    assert!(error.to_string().ends_with("; those that were written have been taken back"));
    assert_eq!(marker_on(&field.servers[0]), field.theirs, "the other's stays");
    for i in [1, 2] {
        assert_eq!(marker_on(&field.servers[i]), "", "taken back on {i}");
    }
    // Neither here nor elsewhere do they vote.
    for masters in [&field.masters, &wary_masters(&field.servers).await] {
        counts_in(&masters.red_lock("x").try_acquire().await.unwrap_err());
        drained(masters).await;
    }
}

#[tokio::test]
async fn overtaken_blessing_names_the_masters_where_its_marker_may_be_left() {
    let field = Field::start().await;
    let dies = async {
        field.others_are_marked().await;
        field.servers.kill(1);
    };
    let error = field.overtaken(dies).await;
    let BlessError::Overtaken { node, left, .. } = &error else { panic!("{error:?}") };
    let [first, second, _] = field.masters.clients() else { unreachable!() };
    assert_eq!((node, left.as_slice()), (first.node_id(), &[second.node_id().clone()][..]));
    assert!(error.to_string().ends_with(&format!("; markers may be left on {}", second.node_id())));
    assert_eq!(marker_on(&field.servers[2]), "", "taken back where it can be");
}
