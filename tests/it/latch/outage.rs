//! Answers that are lost, and servers that stay away.

use std::time::Duration;

use palisade::{
    CountDownLatch,
    embedded::Server,
    error::{ChangeError, NodeError},
};
use testkit::{Fault, FaultProxy, RedisServer, Way};

use super::{kept, only};
use crate::{
    outside::ask,
    scripts::{NEVER, eval},
    sources::COUNT_DOWN,
    support::{Look, client, eventually, ms, patient, soon},
};

/// A latch behind a proxy, whose scripts the server knows: what it does not know it does not execute.
async fn behind(proxy: &FaultProxy, server: &RedisServer, timeout: Duration) -> CountDownLatch {
    let settings = patient(server).url(&proxy.url()).node_timeout(timeout);
    let latch = settings.connect().await.unwrap().count_down_latch("x");
    for change in [
        soon(latch.try_set_count(2)).await,
        soon(latch.count_down()).await,
        soon(latch.delete()).await,
    ] {
        assert!(change.unwrap());
    }
    only(server, &[]).await;
    latch
}

#[tokio::test]
async fn change_whose_answer_was_lost_with_its_socket_is_made_once() {
    let server = RedisServer::start();
    let proxy = FaultProxy::before(&server);
    let latch = behind(&proxy, &server, Duration::from_secs(30)).await;
    assert_eq!(soon(latch.count()).await.unwrap(), 0);
    for (i, made) in [true, false].into_iter().enumerate() {
        // That it was not made is kept, too.
        let is_done = || kept(&server).len() == i + 1 && server.exists("x");
        assert_eq!(lost(&proxy, is_done, latch.try_set_count(9)).await, made);
    }
    for left in ["8", "7", "6"] {
        assert!(lost(&proxy, || server.cli(&["GET", "x"]) == left, latch.count_down()).await);
        assert_eq!(server.cli(&["GET", "x"]), left);
    }
    assert!(lost(&proxy, || !server.exists("x"), latch.delete()).await);
    assert_eq!(kept(&server).len(), 6, "one that was sent twice stands until it ends by itself");
}

/// The output of `change`, whose first answer breaks the socket once `made` holds.
async fn lost(
    proxy: &FaultProxy,
    made: impl FnMut() -> bool,
    change: impl Future<Output = Result<bool, ChangeError>>,
) -> bool {
    proxy.set(Fault::Stall(Way::Replies));
    let cut = async {
        eventually(made).await;
        proxy.cut();
        proxy.heal();
    };
    soon(async { tokio::join!(change, cut).0 }).await.unwrap()
}

#[tokio::test]
async fn change_that_timed_out_is_made_once() {
    let server = RedisServer::start();
    let proxy = FaultProxy::before(&server);
    let latch = behind(&proxy, &server, ms(200)).await;
    assert!(soon(latch.try_set_count(9)).await.unwrap());
    proxy.set(Fault::Blackhole(Way::Replies));
    let count = tokio::spawn({
        let latch = latch.clone();
        async move { latch.count_down().await }
    });
    eventually(|| server.cli(&["GET", "x"]) == "8").await;
    // At least another attempt.
    let calls = server.calls_of("evalsha");
    eventually(|| server.calls_of("evalsha") > calls).await;
    proxy.heal();
    assert!(soon(count).await.unwrap().unwrap());
    assert_eq!(server.cli(&["GET", "x"]), "8");
}

#[tokio::test]
async fn change_that_never_left_is_not_made() {
    let server = RedisServer::start();
    server.kill();
    let latch = patient(&server).build().unwrap().count_down_latch("x");
    let error = soon(latch.count_down()).await.unwrap_err();
    let harmless =
        matches!(error, ChangeError::NotMade { source: NodeError::Unreachable { .. }, .. });
    assert!(harmless, "{error:?}");
    server.restart();
    let back = async { while latch.count_down().await.is_err() {} };
    soon(back).await;
}

#[tokio::test]
async fn what_is_kept_of_a_change_that_was_sent_once_goes_at_once() {
    let server = RedisServer::start();
    let latch = client(&server).await.count_down_latch("x");
    for _ in 0..20 {
        latch.try_set_count(1).await.unwrap();
        latch.count_down().await.unwrap();
        latch.delete().await.unwrap();
    }
    only(&server, &[]).await;
}

#[tokio::test]
async fn server_that_was_killed_in_the_middle_counts_once() {
    let server =
        RedisServer::builder().arg("--appendonly", "yes").arg("--appendfsync", "always").start();
    let proxy = FaultProxy::before(&server);
    let latch = behind(&proxy, &server, Duration::from_secs(5)).await;
    assert!(soon(latch.try_set_count(9)).await.unwrap());
    proxy.set(Fault::Stall(Way::Replies));
    let count = tokio::spawn({
        let latch = latch.clone();
        async move { latch.count_down().await }
    });
    eventually(|| server.cli(&["GET", "x"]) == "8").await;
    server.kill();
    proxy.cut();
    proxy.heal();
    server.restart();
    assert!(soon(count).await.unwrap().unwrap());
    assert_eq!(server.cli(&["GET", "x"]), "8");
}

#[tokio::test]
async fn pause_of_the_server_longer_than_the_time_out_counts_once() {
    let server = RedisServer::builder().debuggable().start();
    let latch = patient(&server).node_timeout(ms(200)).connect().await.unwrap();
    let latch = latch.count_down_latch("x");
    // One answers at once, the other when it is over.
    for (words, is_at_once) in
        [(["CLIENT", "PAUSE", "700"], true), (["DEBUG", "SLEEP", "0.7"], false)]
    {
        assert!(soon(latch.try_set_count(9)).await.unwrap());
        let mut admin = server.connect();
        let pause = std::thread::spawn(move || admin.command(&words).unwrap());
        if is_at_once {
            pause.join().unwrap();
            assert!(soon(latch.count_down()).await.unwrap());
        } else {
            assert!(soon(latch.count_down()).await.unwrap());
            let slept = pause.join().unwrap();
            assert!(!slept.is_error(), "{slept}");
        }
        assert_eq!(soon(latch.count()).await.unwrap(), 8, "{words:?}");
        assert!(soon(latch.delete()).await.unwrap());
    }
}

/// The answer to the second copy came: what is kept must outlast the first, which is on its way.
#[tokio::test]
async fn first_copy_that_comes_after_the_second_counts_no_second_time() {
    let server = RedisServer::start();
    let proxy = FaultProxy::before(&server);
    let latch = behind(&proxy, &server, ms(200)).await;
    assert!(soon(latch.try_set_count(9)).await.unwrap());
    only(&server, &["x"]).await;
    proxy.set(Fault::Blackhole(Way::Replies));
    let count = tokio::spawn({
        let latch = latch.clone();
        async move { latch.count_down().await }
    });
    eventually(|| server.cli(&["GET", "x"]) == "8").await;
    eventually(|| kept(&server).len() == 1).await;
    let calls = server.calls_of("evalsha");
    eventually(|| server.calls_of("evalsha") > calls).await;
    proxy.heal();
    assert!(soon(count).await.unwrap().unwrap());
    let [once] = &kept(&server)[..] else { panic!("{:?}", server.keys()) };
    // As it was held up.
    eval(&server, COUNT_DOWN, &["x", once], &[NEVER, "c"]);
    assert_eq!(server.cli(&["GET", "x"]), "8");
}

#[tokio::test(start_paused = true)]
async fn server_that_stays_away_longer_than_it_would_remember_leaves_it_unknown() {
    let server = Server::start_here();
    let latch = server.client().unwrap().count_down_latch("x");
    assert!(latch.try_set_count(9).await.unwrap());
    server.freeze();
    let began = tokio::time::Instant::now();
    let error = latch.count_down().await.unwrap_err();
    assert!(matches!(error, ChangeError::Unknown { .. }), "{error:?}");
    assert!((55..=70).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
    assert!(error.to_string().starts_with("x: changed on "), "{error}");
}

#[tokio::test(start_paused = true)]
async fn server_that_comes_back_in_time_counts_once() {
    for away in [1, 10, 40] {
        let server = Server::start_here();
        let latch = server.client().unwrap().count_down_latch("x");
        assert!(latch.try_set_count(9).await.unwrap());
        server.freeze();
        let back = async {
            tokio::time::sleep(Duration::from_secs(away)).await;
            server.thaw();
        };
        let (counted, ()) = tokio::join!(latch.count_down(), back);
        assert!(counted.unwrap());
        let left: u64 = ask(&server, &["GET", "x"]).await;
        assert_eq!(left, 8, "{away}");
    }
}

#[tokio::test]
async fn flushed_server_is_not_counted_twice_on() {
    let server = RedisServer::start();
    let latch = client(&server).await.count_down_latch("x");
    assert!(soon(latch.try_set_count(2)).await.unwrap());
    server.flush();
    assert!(!soon(latch.count_down()).await.unwrap(), "there is none any more");
    assert!(soon(latch.try_set_count(2)).await.unwrap());
    assert_eq!(soon(latch.count()).await.unwrap(), 2);
}
