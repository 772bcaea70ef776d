//! Records on several masters.

use palisade::{
    Masters,
    error::GuardedError,
    once::{Begun, Cadence, Once, OnceError, RecordError, RunOutcome},
};
use testkit::Cluster;

use super::{done, not_due, ran, records};
use crate::{
    fleet::{Fleet, masters},
    support::{Look, eventually, ms, soon},
};

const PERIOD: &str = "{x}:palisade_period:p";

/// Clients that give a server up soon.
async fn hasty(servers: &Cluster) -> Masters {
    let clients = servers.urls();
    let clients = clients
        .iter()
        .map(|url| crate::fleet::client(url).node_timeout(ms(300)).connect_timeout(ms(300)));
    masters(clients).await
}

#[tokio::test]
async fn record_is_on_all_masters_and_any_of_them_counts() {
    let fleet = Fleet::start(3).await;
    let other = fleet.another_process().await;
    let fenced = fleet.masters.fenced_red_lock("x");
    ran(soon(fenced.once_for("p", done)).await);
    for server in &fleet.servers {
        assert!(server.exists(PERIOD), "not on {}", server.addr());
    }
    for kept in 0..3 {
        for (i, server) in fleet.servers.iter().enumerate().filter(|(i, _)| *i != kept) {
            let copy = ["COPY", PERIOD, "kept"];
            assert!(!server.command(&copy).is_error(), "{i}");
            server.cli(&["DEL", PERIOD]);
        }
        not_due(soon(other.red_lock("x").once_for("p", done)).await);
        not_due(soon(other.multi_lock("x").once_for("p", done)).await);
        // Under the hold too, where nothing was seen before.
        let guard = soon(other.red_lock("x").acquire()).await.unwrap();
        let begun = Cadence::once_for("p").begin(&guard).await.unwrap();
        assert!(matches!(begun, Begun::NotDue(_)), "{begun:?}");
        guard.release().await.unwrap();
        for server in &fleet.servers {
            server.command(&["RENAME", "kept", PERIOD]);
        }
    }
}

/// The hold does not stand on the one that has the record.
#[tokio::test]
async fn record_counts_where_the_hold_does_not_stand() {
    let fleet = Fleet::start(3).await;
    let guard = soon(fleet.masters.red_lock("x").acquire()).await.unwrap();
    eventually(|| guard.votes() == 3).await;
    fleet.servers[2].cli(&["DEL", "x"]);
    fleet.servers[2].cli(&["SET", PERIOD, "id 1 2 done other:1 web-1\np"]);
    let begun = Cadence::once_for("p").begin(&guard).await.unwrap();
    assert!(matches!(begun, Begun::NotDue(_)), "{begun:?}");
    // That of another period is due all the same: two of three are a majority.
    let begun = Cadence::once_for("q").begin(&guard).await.unwrap();
    assert!(matches!(begun, Begun::Due(_)), "{begun:?}");
}

/// A look that a majority does not answer is none, and neither is one where the hold does not stand.
#[tokio::test]
async fn work_is_not_begun_where_too_few_tell_what_is_recorded() {
    let servers = Cluster::start(3);
    let masters = hasty(&servers).await;
    let guard = soon(masters.red_lock("x").acquire()).await.unwrap();
    eventually(|| guard.votes() == 3).await;
    servers.kill(0);
    let begun = soon(Cadence::once_for("p").begin(&guard)).await.unwrap();
    assert!(matches!(begun, Begun::Due(_)), "{begun:?}");
    servers.kill(1);
    let unknown = soon(Cadence::once_for("p").begin(&guard)).await.unwrap_err();
    assert!(
        matches!(unknown, GuardedError::NotDone { .. } | GuardedError::Unknown { .. }),
        "{unknown:?}"
    );
}

#[tokio::test]
async fn record_is_confirmed_by_a_majority_or_told_as_unrecorded() {
    let servers = Cluster::start(3);
    let masters = hasty(&servers).await;
    let lock = masters.red_lock("x");
    let one_dies = async |_guard: &_| {
        servers.kill(0);
        Ok::<_, std::convert::Infallible>(1)
    };
    assert_eq!(ran(soon(lock.once_for("p", one_dies)).await), 1);
    servers.restart(0);
    let two_die = async |_guard: &_| {
        servers.kill(0);
        servers.kill(1);
        Ok::<_, std::convert::Infallible>(2)
    };
    let few = soon(lock.once_for("q", two_die)).await.unwrap_err();
    let OnceError::Unrecorded { value: 2, cause: RecordError::Unconfirmed(_), .. } = few else {
        panic!("{few:?}")
    };
    // Whether it counts was open: one server has it, and is enough to say so.
    assert_eq!(records(&servers[2]).iter().filter(|key| key.ends_with(":q")).count(), 1);
    not_due(soon(lock.once_for("q", done)).await);
}

/// The lock is another's on a majority, and nothing is recorded on any of them.
#[tokio::test]
async fn holder_that_lost_a_majority_records_nothing() {
    let fleet = Fleet::start(3).await;
    let guard = soon(fleet.masters.red_lock("x").acquire()).await.unwrap();
    eventually(|| guard.votes() == 3).await;
    let cadence = Cadence::once_for("p");
    let Begun::Due(run) = cadence.begin(&guard).await.unwrap() else { panic!("it is due") };
    for server in &fleet.servers {
        super::take(server, "x");
    }
    let lost = soon(run.record(RunOutcome::Done)).await.unwrap_err();
    assert!(matches!(lost, RecordError::Lost(_)), "{lost:?}");
    assert!(fleet.servers.iter().all(|server| records(server).is_empty()));
}

/// What is recorded by a lock of all is found by one of a majority, and the other way round.
#[tokio::test]
async fn locks_of_one_name_share_their_records() {
    let fleet = Fleet::start(3).await;
    let masters = &fleet.masters;
    ran(soon(masters.multi_lock("x").once_for("p", done)).await);
    not_due(soon(masters.red_lock("x").once_for("p", done)).await);
    not_due(soon(masters.clients()[1].lock("x").once_for("p", done)).await);
    let both = [soon(masters.red_lock("y").once_for("p", done)).await];
    assert!(both.iter().all(|once| matches!(once, Ok(Once::Done(42)))), "{both:?}");
    let last = masters.red_lock("y").last_run().await.unwrap();
    assert!(last.is_some());
}
