//! Masters on which no script may be loaded: nothing there outlives the data but the process itself.

use palisade::{ClientBuilder, Lease, Masters, OnOutage};
use testkit::{Cluster, RedisServer};

use super::{
    D, MAX_LEASE, client, counts_in,
    flushed::{brief, decided, granted, old},
    marker_on, wary,
};
use crate::fleet::{Composite, HANG, drained, masters, within};

/// The command was taken from all users, or from this one.
#[derive(Debug, Clone, Copy)]
enum Without {
    Command,
    Right,
}

impl Without {
    const BOTH: [Self; 2] = [Self::Command, Self::Right];

    fn start(self) -> Cluster {
        match self {
            Self::Command => Cluster::start_with(3, &RedisServer::builder().without("SCRIPT")),
            Self::Right => Cluster::start(3),
        }
    }

    async fn program(self, servers: &Cluster, set: fn(ClientBuilder) -> ClientBuilder) -> Masters {
        let user = |server: &RedisServer| match self {
            Self::Command => set(client(&server.url())),
            Self::Right => {
                let all = ["ACL", "SETUSER", "app", "reset", "on", ">pw", "~*", "&*", "+@all"];
                server.cli(&all.iter().chain(&["-script"]).collect::<Vec<_>>());
                set(client(&server.url_with("app", "pw")))
            }
        };
        masters(servers.iter().map(user)).await
    }
}

// proves: mark-adds-waiting
#[tokio::test]
async fn flushed_masters_without_a_witness_do_not_grant_what_is_held() {
    for without in Without::BOTH {
        let servers = without.start();
        let holder = without.program(&servers, wary).await;
        holder.bless().await.unwrap();
        let lock = holder.red_lock("x").with_lease(Lease::Fixed(MAX_LEASE));
        let guard = within(HANG, "it works by EVAL", lock.acquire()).await.unwrap();
        servers.iter().for_each(RedisServer::flush);
        let newcomer = without.program(&servers, wary).await;
        let error = newcomer.red_lock("x").try_acquire().await.unwrap_err();
        assert!(counts_in(&error) > D - HANG, "{without:?}: {error}");
        assert!(error.to_string().contains(" lost their data"), "{without:?}: {error}");
        assert!(guard.is_held(), "it believes");
        drop(guard);
        for masters in [&holder, &newcomer] {
            drained(masters).await;
        }
    }
}

/// Older than D by far, and nothing is known against them.
#[tokio::test]
async fn old_masters_without_a_mark_or_a_witness_grant_after_d() {
    for without in Without::BOTH {
        let servers = without.start();
        old(&servers).await;
        let masters = without.program(&servers, brief).await;
        let lock = Composite::Red(masters.red_lock("x").on_outage(OnOutage::Wait));
        let error = decided(&lock).await.unwrap_err();
        assert!(error.to_string().contains(" lost their data"), "{without:?}: {error}");
        assert!(servers.iter().any(|server| marker_on(server).starts_with("waits ")));
        granted(&lock).await.release().await.unwrap();
        drained(&masters).await;
    }
}
