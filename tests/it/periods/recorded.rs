//! What is recorded, where, and for how long.

use std::time::{Duration, SystemTime};

use palisade::{
    acl::{Rights, Use},
    once::{Cadence, Once, RunOutcome},
};
use testkit::{RedisServer, SlotCluster};

use super::{done, kinds, not_due, ran, records, stranger};
use crate::{
    deployment::cluster,
    support::{Look, client, eventually, ms, patient, soon},
};

#[tokio::test]
async fn period_has_one_recorded_run_whichever_lock_it_is_under() {
    let server = RedisServer::start();
    let (ours, theirs) = (client(&server).await, stranger(&server).await);
    for ((kind, lock), (_, other)) in kinds(&ours).into_iter().zip(kinds(&theirs)) {
        assert_eq!(ran(lock.once_for("3 o'clock", done).await), 42, "{kind}");
        let first = not_due(other.once_for("3 o'clock", done).await);
        assert_eq!(first.period.as_deref(), Some("3 o'clock"), "{kind}");
        assert_eq!(ran(other.once_for("4 o'clock", done).await), 42, "{kind}");
        // One that comes late for the period before finds that done, too.
        assert_eq!(not_due(lock.once_for("3 o'clock", done).await).start, first.start, "{kind}");
        let last = lock.last_run().await.unwrap().unwrap();
        assert_eq!(last.period.as_deref(), Some("4 o'clock"), "{kind}");
        assert!(lock.try_acquire().await.unwrap().is_some(), "{kind}: it was not given back");
    }
}

#[tokio::test]
async fn record_says_when_what_and_by_which_process() {
    let server = RedisServer::start();
    let client = patient(&server).name("web-1:77").connect().await.unwrap();
    let lock = client.lock("x");
    let mut holder = String::new();
    let before = SystemTime::now();
    let done = lock
        .once_for("p", async |guard| {
            holder = guard.holder_id().to_owned();
            tokio::time::sleep(ms(50)).await;
            Ok::<_, std::fmt::Error>(())
        })
        .await;
    assert!(matches!(done, Ok(Once::Done(()))), "{done:?}");
    let run = lock.past_run(&Cadence::once_for("p")).await.unwrap().unwrap();
    assert_eq!((run.outcome, &*run.by, &run.holder), (RunOutcome::Done, "web-1:77", &holder));
    let lasted = run.end.duration_since(run.start).unwrap();
    assert!(lasted >= ms(50), "{lasted:?}");
    // One machine, one clock.
    assert!(run.start + ms(1) >= before && run.end <= SystemTime::now() + ms(1), "{run:?}");
    for key in ["{x}:palisade_period:p", "{x}:palisade_last_run"] {
        let record = server.cli(&["GET", key]);
        assert!(record.len() < 1_024 && record.ends_with("\np"), "{record}");
    }
    let none = lock.past_run(&Cadence::once_for("q")).await.unwrap();
    assert_eq!(none, None);
}

#[tokio::test]
async fn record_ends_by_itself_on_the_server_however_short_the_lease_was() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let lock = client.lock("x");
    ran(lock.once_for("usual", done).await);
    let (days, key) = (8 * 24 * 3_600_000, "{x}:palisade_period:usual");
    let left = server.pttl(key);
    assert!(left <= days && left > days - 600_000, "{left}");
    let brief = Cadence::once_for("brief").keep_for(ms(300));
    ran(lock.when_due(&brief, done).await);
    let left = server.pttl("{x}:palisade_period:brief");
    assert!(left <= 300, "{left}");
    // The last run is kept for longer, and that of another period is not touched.
    assert!(server.pttl("{x}:palisade_last_run") > days - 600_000);
    eventually(|| !server.exists("{x}:palisade_period:brief")).await;
    ran(lock.when_due(&brief, done).await);
    not_due(lock.once_for("usual", done).await);
}

#[tokio::test]
async fn last_run_is_kept_for_the_longest_that_was_promised() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let lock = client.lock("x");
    let month = Duration::from_secs(31 * 86_400);
    ran(lock.at_most_every(month, done).await);
    ran(lock.once_for("p", done).await);
    let left = server.pttl("{x}:palisade_last_run");
    assert!(left > 30 * 86_400_000, "{left}");
    not_due(lock.at_most_every(month, done).await);
}

/// The rules of an ACL that are printed for a lock are enough, with a namespace too.
#[tokio::test]
async fn rights_of_a_lock_are_enough_for_its_records() {
    let server = RedisServer::start();
    for (usage, kind) in [
        (Use::Lock, "lock"),
        (Use::FencedLock, "fenced"),
        (Use::FairLock, "fair"),
        (Use::RwLock, "write"),
    ] {
        for namespace in ["", "shop:"] {
            let names = ["a", "b", "c", "d"];
            let rights = names
                .iter()
                .fold(Rights::new().namespace(namespace), |rights, name| rights.with(usage, name));
            let mut words: Vec<String> =
                ["ACL", "SETUSER", "app", "reset", "on", ">pw"].map(str::to_owned).into();
            words.extend(rights.rules());
            server.cli(&words);
            let client = patient(&server).namespace(namespace).url(&server.url_with("app", "pw"));
            let client = client.connect().await.unwrap();
            let (_, lock) = kinds(&client).into_iter().find(|(it, _)| *it == kind).unwrap();
            ran(lock.once_for("p", done).await);
            not_due(lock.once_for("p", done).await);
            not_due(lock.at_most_every(Duration::from_secs(3_600), done).await);
            assert!(lock.last_run().await.unwrap().is_some());
            let name = lock.name();
            assert!(server.exists(&format!("{{{namespace}{name}}}:palisade_period:p")), "{kind}");
            server.cli(&["FLUSHALL"]);
        }
    }
}

#[tokio::test]
async fn records_are_beside_the_lock_in_a_cluster() {
    let servers = SlotCluster::start(3);
    let client = soon(cluster::settings(&servers).connect()).await.unwrap();
    for name in ["x", "a{b}c", "{y}"] {
        let lock = client.lock(name);
        ran(soon(lock.once_for("p{q}", done)).await);
        not_due(soon(lock.once_for("p{q}", done)).await);
    }
}

/// A lock and one of the same name in braces share keys of Redisson's; their records are apart.
#[tokio::test]
async fn names_with_and_without_braces_have_records_of_their_own() {
    let server = RedisServer::start();
    let (one, other) = (client(&server).await, stranger(&server).await);
    ran(one.lock("x").once_for("p:{x}", done).await);
    ran(other.lock("{x}").once_for("p", done).await);
    ran(one.lock("x").once_for("p", done).await);
    assert_eq!(records(&server).len(), 5, "{:?}", records(&server));
}
