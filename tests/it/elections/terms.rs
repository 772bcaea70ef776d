//! Leading: from the campaign to the end of a term, on one server.

use palisade::{
    Lease, Released,
    election::{Election, Leadership},
    embedded::Server,
    error::{ConfigError, GuardedError},
    guarded::Script,
    settings::LocalHandover,
};
use testkit::{Fault, FaultProxy, Way};

use super::{ANNOUNCED, Look, RedisServer, patient, patiently, soon, stranger, text, until_value};
use crate::{
    fleet::{hold_as_stranger, holder_on},
    support::{eventually, ms, watchdog},
};

#[tokio::test]
async fn one_leads_until_it_resigns_and_the_token_rises_with_each_term() {
    let server = RedisServer::start();
    let clients = [stranger(&server).await, stranger(&server).await];
    let [a, b] = clients.each_ref().map(|client| client.election("x"));
    let first = soon(a.campaign()).await.unwrap();
    assert!(soon(b.try_campaign_for(ms(0))).await.unwrap().is_none());
    let waiting = tokio::spawn(async move { b.campaign().await });
    first.ensure_valid().unwrap();
    let token = first.token();
    assert_eq!(soon(first.resign()).await.unwrap(), Released::Freed);
    let second = soon(waiting).await.unwrap().unwrap();
    assert!(second.token() > token);
    drop(second);
    // Dropped, it resigns.
    let third = soon(a.campaign()).await.unwrap();
    soon(third.resign()).await.unwrap();
    assert_eq!(soon(a.leader()).await.unwrap(), None);
}

/// A term that is passed on inside a process would keep its holder id, and what its leader had announced would be
/// shown of the next one.
/// In paused time, so that the next one waits in line when the term ends, and not a moment later.
#[tokio::test(start_paused = true)]
async fn a_term_is_not_passed_on_inside_a_process() {
    let server = Server::start_here();
    let client = server.client_builder().local_handover(LocalHandover::UpTo(ms(10_000)));
    let client = client.build().unwrap();
    let election = client.election("x");
    let first = soon(election.campaign()).await.unwrap();
    soon(first.proclaim("first")).await.unwrap();
    let holder = first.guard().holder_id().to_owned();
    let waiting = tokio::spawn({
        let election = election.clone();
        async move { election.campaign().await }
    });
    // All that it does before it sleeps in line takes no time.
    tokio::time::sleep(ms(100)).await;
    soon(first.resign()).await.unwrap();
    let second = soon(waiting).await.unwrap().unwrap();
    assert_ne!(second.guard().holder_id(), holder);
    let leader = soon(election.leader()).await.unwrap().unwrap();
    assert_eq!((leader.value, leader.token), (None, Some(second.token())));
}

#[tokio::test]
async fn a_value_is_that_of_the_leader_and_of_no_other() {
    let server = RedisServer::start();
    let client = stranger(&server).await;
    let election = client.election("x");
    let leadership = soon(election.campaign()).await.unwrap();
    assert_eq!(text(soon(election.leader()).await.unwrap()), None);
    for value in ["a", "", "two\nlines ☃"] {
        soon(leadership.proclaim(value)).await.unwrap();
        assert_eq!(text(soon(election.leader()).await.unwrap()).as_deref(), Some(value));
    }
    soon(leadership.proclaim([0xff; 1_024])).await.unwrap();
    let longer = soon(leadership.proclaim([b'x'; 1_025])).await.unwrap_err();
    assert!(
        matches!(&longer, GuardedError::Config(ConfigError::InvalidSetting { setting, .. }) if *setting == "value"),
        "{longer}"
    );
    let leader = soon(election.leader()).await.unwrap().unwrap();
    assert_eq!(leader.value, Some(vec![0xff; 1_024]));
    // It is over, and what it announced stands; another has the lock, without an election.
    server.cli(&["DEL", "x"]);
    assert_eq!(soon(election.leader()).await.unwrap(), None);
    hold_as_stranger(&server, "x");
    let leader = soon(election.leader()).await.unwrap().unwrap();
    assert_eq!((leader.token, leader.value), (None, None));
    assert!(server.exists(ANNOUNCED));
    // Its value is refused there.
    let late = soon(leadership.proclaim("late")).await.unwrap_err();
    assert!(matches!(late, GuardedError::NotHeld { .. } | GuardedError::Lost(_)), "{late:?}");
    let leader = soon(election.leader()).await.unwrap().unwrap();
    assert_eq!(leader.value, None);
}

/// What was said first may come last.
#[tokio::test]
async fn an_older_value_that_comes_late_does_not_replace_a_newer_one() {
    let server = RedisServer::start();
    let client = stranger(&server).await;
    let election = client.election("x");
    let leadership = soon(election.campaign()).await.unwrap();
    soon(leadership.proclaim("old")).await.unwrap();
    let old = server.cli(&["GET", ANNOUNCED]);
    soon(leadership.proclaim("new")).await.unwrap();
    let new = server.cli(&["GET", ANNOUNCED]);
    // The leader says its first value once more, as a call that was under way for long would.
    let mut words = old.split([' ', '\n']);
    let leader = words.by_ref().take(3).collect::<Vec<_>>().join(" ");
    let number: u64 = words.next().unwrap().parse().unwrap();
    let announce = Script::new(include_str!("../../../src/elections/announce.lua"));
    let guard = leadership.guard();
    let said =
        guard.script(&announce).key(ANNOUNCED).arg(&leader).arg(number).arg("old").arg("nowhere");
    assert_eq!(soon(said.invoke::<i64>()).await.unwrap(), 0);
    assert_eq!(server.cli(&["GET", ANNOUNCED]), new);
    assert_eq!(text(soon(election.leader()).await.unwrap()).as_deref(), Some("new"));
}

/// Bytes of others at the key are no announcement, and are written over.
#[tokio::test]
async fn what_stands_there_and_is_no_announcement_is_shown_of_none() {
    let server = RedisServer::start();
    let client = stranger(&server).await;
    let election = client.election("x");
    let long = "x".repeat(100_000);
    let leadership = soon(election.campaign()).await.unwrap();
    for text in ["", "x", "a b 7 3\nv", "\u{ff} b\n", &long] {
        server.cli(&["SET", ANNOUNCED, text]);
        let leader = soon(election.leader()).await.unwrap().unwrap();
        assert_eq!((&*leader.holder, leader.token), (leadership.guard().holder_id(), None));
        soon(leadership.proclaim("v")).await.unwrap();
        assert_eq!(super::text(soon(election.leader()).await.unwrap()).as_deref(), Some("v"));
    }
}

#[tokio::test]
async fn a_candidate_that_is_dropped_leaves_nothing() {
    let server = RedisServer::start();
    let [a, b] = [stranger(&server).await, stranger(&server).await];
    let leadership = soon(a.election("x").campaign()).await.unwrap();
    let election = b.election("x");
    let waiting = tokio::spawn(async move { election.campaign().await.map(drop) });
    eventually(|| b.subscriptions() == 1).await;
    waiting.abort();
    assert!(soon(waiting).await.unwrap_err().is_cancelled());
    soon(leadership.resign()).await.unwrap();
    assert!(soon(a.election("x").try_campaign_for(ms(0))).await.unwrap().is_some());
}

/// It leads though nobody is told: what is asked for is to lead.
#[tokio::test]
async fn a_leader_that_cannot_announce_itself_leads_all_the_same() {
    let server = RedisServer::start();
    server.cli(&["LPUSH", ANNOUNCED, "a list"]);
    let election = stranger(&server).await.election("x");
    let leadership = soon(election.campaign()).await.unwrap();
    leadership.ensure_valid().unwrap();
    let refused = soon(leadership.proclaim("v")).await.unwrap_err();
    assert!(matches!(refused, GuardedError::Script { .. }), "{refused:?}");
    server.cli(&["DEL", ANNOUNCED]);
    soon(leadership.proclaim("v")).await.unwrap();
    assert_eq!(text(soon(election.leader()).await.unwrap()).as_deref(), Some("v"));
}

/// By a hold that is had already, and by two proofs of one hold.
#[tokio::test]
async fn a_hold_that_is_had_can_lead() {
    let server = RedisServer::start();
    let client = stranger(&server).await;
    let election = client.election("x");
    let plain = soon(client.lock("y").acquire()).await.unwrap();
    let without = Leadership::of(plain).unwrap_err();
    assert!(matches!(without, ConfigError::HeldWithoutToken { .. }), "{without:?}");
    let guard = soon(client.fenced_lock("x").acquire()).await.unwrap();
    let token = guard.fencing_token();
    let again = guard.reenter().unwrap();
    let [one, other] = [Leadership::of(guard).unwrap(), Leadership::of(again).unwrap()];
    let mut observer = election.observe();
    for (leadership, value) in [(&one, "a"), (&other, "b"), (&one, "c")] {
        soon(leadership.proclaim(value)).await.unwrap();
        assert_eq!(until_value(&mut observer, value).await.token, Some(token));
    }
    drop(other);
    let guard = one.into_guard();
    assert_eq!(text(soon(election.leader()).await.unwrap()).as_deref(), Some("c"));
    soon(guard.release()).await.unwrap();
    assert_eq!(soon(election.leader()).await.unwrap(), None);
}

/// Scripts that only a leader may have executed.
#[tokio::test]
async fn its_guard_runs_scripts_only_while_it_leads() {
    let server = RedisServer::start();
    let election = stranger(&server).await.election("x");
    let leadership = soon(election.campaign()).await.unwrap();
    let set = Script::new("return redis.call('SET', KEYS[1], 'by the leader')");
    let guard = leadership.guard();
    soon(guard.script(&set).key("plan").invoke::<()>()).await.unwrap();
    server.cli(&["DEL", "x"]);
    let late = soon(guard.script(&set).key("plan2").invoke::<()>()).await.unwrap_err();
    assert!(matches!(late, GuardedError::NotHeld { .. } | GuardedError::Lost(_)), "{late:?}");
    assert!(!server.exists("plan2"));
}

/// With the lease of its lock.
#[tokio::test]
async fn a_leader_that_is_cut_off_is_followed_after_its_lease() {
    let server = RedisServer::start();
    let proxy = FaultProxy::before(&server);
    let url = proxy.url();
    let cut_off = patiently(palisade::Client::builder().url(&url)).connect().await.unwrap();
    let lock = cut_off.fenced_lock("x").with_lease(watchdog(1_000));
    let leadership = soon(Election::new(lock).campaign()).await.unwrap();
    let next = stranger(&server).await.election("x");
    proxy.set(Fault::Blackhole(Way::Both));
    let second = soon(next.campaign()).await.unwrap();
    // By its own clock it led no more when the next one was granted.
    leadership.ensure_valid().unwrap_err();
    assert!(second.token() > leadership.token());
    soon(leadership.lost()).await;
    assert_eq!(holder_on(&server, "x").as_deref(), Some(second.guard().holder_id()));
}

#[tokio::test]
async fn names_that_cannot_work_are_told_before_anything_is_sent() {
    let server = RedisServer::start();
    let client = stranger(&server).await;
    let before = server.top_level_commands();
    for name in ["", "a}b"] {
        let election = client.election(name);
        soon(election.campaign()).await.unwrap_err();
        soon(election.leader()).await.unwrap_err();
        soon(election.observe().changed()).await.unwrap_err();
    }
    let election = Election::new(client.fenced_lock("x").with_lease(Lease::Fixed(ms(0))));
    soon(election.campaign()).await.unwrap_err();
    assert_eq!(server.top_level_commands(), before);
}

/// In braces, with a namespace, and as long as names may be.
#[tokio::test]
async fn each_name_has_an_election_of_its_own() {
    let server = RedisServer::start();
    let client = patient(&server).namespace("shop:").connect().await.unwrap();
    let mut held = Vec::new();
    for name in ["a", "{a}", "{a}:b", &"n".repeat(4_000)] {
        let election = client.election(name);
        let leadership = soon(election.campaign()).await.unwrap();
        soon(leadership.proclaim(name.get(..1).unwrap())).await.unwrap();
        held.push((election, leadership, name.get(..1).unwrap().to_owned()));
    }
    for (election, leadership, value) in &held {
        let leader = soon(election.leader()).await.unwrap().unwrap();
        assert_eq!(leader.token, Some(leadership.token()));
        assert_eq!(text(Some(leader)).as_ref(), Some(value));
    }
}
