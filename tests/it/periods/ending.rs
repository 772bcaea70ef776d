//! Runs that end without a record, and are repeated.

use std::{panic::AssertUnwindSafe, task::Poll};

use futures::{FutureExt, poll};
use palisade::once::{Begun, BegunRun, Cadence, Once, OnceError, RecordError, RunOutcome};
use testkit::{Fault, FaultProxy, RedisServer, Way};

use super::{done, held, not_due, ran, records, stranger, take};
use crate::support::{client, eventually, patiently, soon};

async fn due<'a>(cadence: &Cadence, guard: &'a palisade::LockGuard) -> BegunRun<'a> {
    match cadence.begin(guard).await.unwrap() {
        Begun::Due(run) => run,
        Begun::NotDue(run) => panic!("it was due: {run}"),
    }
}

#[tokio::test]
async fn work_that_fails_or_panics_is_repeated_unless_failures_are_recorded() {
    let server = RedisServer::start();
    let lock = client(&server).await.lock("x");
    let fails = async |_guard: &_| Err::<u32, _>("it fails");
    let failed = lock.once_for("p", fails).await.unwrap_err();
    assert!(
        matches!(failed, OnceError::Failed { error: "it fails", is_recorded: false, .. }),
        "{failed:?}"
    );
    let panics = async |_guard: &_| -> Result<u32, &str> { panic!("as it is meant to") };
    let panicked = AssertUnwindSafe(lock.once_for("p", panics)).catch_unwind().await;
    assert!(panicked.is_err());
    assert_eq!(records(&server), [""; 0]);
    ran(lock.once_for("p", done).await);

    let recorded = Cadence::once_for("q").record_failures();
    let failed = lock.when_due(&recorded, fails).await.unwrap_err();
    assert!(matches!(failed, OnceError::Failed { is_recorded: true, .. }), "{failed:?}");
    assert_eq!(not_due(lock.once_for("q", done).await).outcome, RunOutcome::Failed);
    let recorded = Cadence::once_for("r").record_failures();
    let panicked = AssertUnwindSafe(lock.when_due(&recorded, panics)).catch_unwind().await;
    assert!(panicked.is_err());
    assert_eq!(not_due(lock.once_for("r", done).await).outcome, RunOutcome::Failed);
    // Given back in the background, behind a panic.
    soon(lock.acquire()).await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn work_that_is_dropped_is_repeated() {
    let server = RedisServer::start();
    let lock = client(&server).await.lock("x");
    let mut begun = false;
    let endless = async |_guard: &_| -> Result<u32, &str> {
        begun = true;
        std::future::pending().await
    };
    let mut working = Box::pin(lock.once_for("p", endless));
    let polls = async {
        while !server.keys().iter().any(|key| key == "x") {
            assert!(matches!(poll!(&mut working), Poll::Pending));
            tokio::task::yield_now().await;
        }
    };
    soon(polls).await;
    drop(working);
    ran(soon(lock.once_for("p", done)).await);
}

/// Its holder has not noticed yet that the lock is another's.
#[tokio::test]
async fn holder_that_lost_the_lock_records_nothing() {
    let server = RedisServer::start();
    let lock = client(&server).await.lock("x");
    let robbed = async |_guard: &_| {
        take(&server, "x");
        Ok::<_, &str>(7)
    };
    let lost = lock.once_for("p", robbed).await.unwrap_err();
    assert!(matches!(lost, OnceError::Lost { value: Some(7), .. }), "{lost:?}");
    assert_eq!(records(&server), [""; 0]);

    // The one that holds it now has recorded its run: the late one changes nothing of that.
    server.cli(&["DEL", "x"]);
    let (_ours, guard) = held(&server, "x").await;
    let cadence = Cadence::once_for("p");
    let run = due(&cadence, &guard).await;
    server.cli(&["DEL", "x"]);
    let other = stranger(&server).await;
    ran(other.lock("x").once_for("p", done).await);
    let recorded = other.lock("x").last_run().await.unwrap();
    let late = run.record(RunOutcome::Done).await.unwrap_err();
    assert!(matches!(late, RecordError::Lost(_)), "{late:?}");
    let kept = other.lock("x").last_run().await.unwrap().unwrap();
    assert_eq!(kept.start, recorded.unwrap().start);
}

#[tokio::test]
async fn work_is_stopped_when_the_lock_is_lost_and_nothing_is_recorded() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let lock = client.lock("x").with_lease(palisade::Lease::WatchdogOf(crate::support::ms(3_000)));
    let endless = async |_guard: &_| -> Result<u32, &str> {
        take(&server, "x");
        std::future::pending().await
    };
    let lost = soon(lock.once_for("p", endless)).await.unwrap_err();
    assert!(matches!(lost, OnceError::Lost { value: None, .. }), "{lost:?}");
    assert_eq!(records(&server), [""; 0]);
}

/// Two that were begun under one hold, as by one owner at the same time: one is recorded.
#[tokio::test]
async fn record_of_another_run_is_never_replaced() {
    let server = RedisServer::start();
    let (_client, guard) = held(&server, "x").await;
    for cadence in
        [Cadence::once_for("p"), Cadence::at_most_every(std::time::Duration::from_secs(3_600))]
    {
        server.cli(&["DEL", "{x}:palisade_last_run"]);
        let (first, second) = (due(&cadence, &guard).await, due(&cadence, &guard).await);
        let recorded = first.record(RunOutcome::Done).await.unwrap();
        let refused = second.record(RunOutcome::Done).await.unwrap_err();
        assert!(
            matches!(&refused, RecordError::Another(run) if run.start == recorded.start),
            "{refused:?}"
        );
        // Its own may be written again.
        first.record(RunOutcome::Done).await.unwrap();
    }
}

/// The answer is lost, and is asked for again: the record is the same.
#[tokio::test]
async fn record_whose_answer_is_lost_is_written_once_more() {
    let server = RedisServer::start();
    let proxy = FaultProxy::before(&server);
    let client = patiently(palisade::Client::builder().url(&proxy.url())).connect().await.unwrap();
    let lock = client.lock("x");
    // A server that knows the script executes it at the first word.
    ran(lock.once_for("before", done).await);
    let before = records(&server).len();
    let guard = lock.acquire().await.unwrap();
    let run = due(&Cadence::once_for("p"), &guard).await;
    proxy.set(Fault::Stall(Way::Replies));
    let cut = async {
        eventually(|| records(&server).len() > before).await;
        proxy.cut();
        proxy.heal();
    };
    let (recorded, ()) = soon(async { tokio::join!(run.record(RunOutcome::Done), cut) }).await;
    recorded.unwrap();
    drop(guard);
    not_due(soon(lock.once_for("p", done)).await);
}

/// The server is gone when the work has ended: nothing is known, and its value is not lost.
#[tokio::test]
async fn unconfirmed_record_is_told_with_the_value() {
    let server = RedisServer::start();
    let client = patiently(palisade::Client::builder().url(&server.url()));
    let client =
        client.node_timeout(crate::support::ms(200)).connect_timeout(crate::support::ms(200));
    let lock = client.connect().await.unwrap().lock("x");
    let killed = async |_guard: &_| {
        server.kill();
        Ok::<_, &str>(7)
    };
    let unknown = soon(lock.once_for("p", killed)).await.unwrap_err();
    assert!(matches!(unknown, OnceError::Unrecorded { value: 7, .. }), "{unknown:?}");
    let text = unknown.to_string();
    assert!(text.contains("may be repeated"), "{text}");
}

/// Whatever there is of it, a wait for the lock is none for the record.
#[tokio::test]
async fn lock_is_waited_for_and_the_record_is_not() {
    let server = RedisServer::start();
    let lock = client(&server).await.lock("x");
    ran(lock.once_for("p", done).await);
    let (_client, guard) = held(&server, "x").await;
    let brief = |id: &str| Cadence::once_for(id).wait_at_most(std::time::Duration::ZERO);
    assert!(matches!(lock.when_due(&brief("q"), done).await, Ok(Once::Held)));
    // Known without the lock.
    not_due(soon(lock.once_for("p", done)).await);
    let waiting = lock.once_for("q", done);
    let (ended, released) = soon(async { tokio::join!(waiting, guard.release()) }).await;
    released.unwrap();
    ran(ended);
}

/// A failover would lose what the replica does not have: it is not called recorded.
#[tokio::test]
async fn record_waits_for_replicas_where_locks_do() {
    let (master, replica) = (RedisServer::start(), RedisServer::start());
    replica.follow(&master);
    let settings = crate::support::patient(&master).replicas(1);
    let settings = settings.replicas_timeout(crate::support::ms(2_000));
    let lock = settings.connect().await.unwrap().lock("x");
    ran(soon(lock.once_for("p", done)).await);
    assert_eq!(records(&replica).len(), 2);
    let frozen = async |_guard: &_| {
        replica.freeze();
        Ok::<_, &str>(7)
    };
    let short = soon(lock.once_for("q", frozen)).await.unwrap_err();
    replica.thaw();
    assert!(matches!(short, OnceError::Unrecorded { value: 7, .. }), "{short:?}");
}
