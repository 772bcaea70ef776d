//! Schedules that have made two leaders, or none, in other projects: six of Apache Curator's, and one of Kubernetes'.
//!
//! Each is played twice: to an election with the shortcut that was its cause, which must fail, or the schedule would
//! show nothing; and to ours.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use palisade::{
    Client,
    election::{Election, Leadership},
};
use testkit::{Fault, FaultProxy, RedisServer, Way};

use super::{naive::Naive, patiently, soon, stranger};
use crate::{
    fleet::holder_on,
    support::{eventually, ms, watchdog},
};

const LEASE: Duration = Duration::from_millis(1_000);

/// A candidate with a proxy before its server.
struct Proxied {
    proxy: FaultProxy,
    election: Election,
}

impl Proxied {
    async fn with(server: &RedisServer, node_timeout: Duration) -> Self {
        let proxy = FaultProxy::before(server);
        let client = patiently(Client::builder().url(&proxy.url())).node_timeout(node_timeout);
        let client = client.connect().await.unwrap();
        let election = Election::new(client.fenced_lock("x").with_lease(watchdog(1_000)));
        Self { proxy, election }
    }
}

/// Two candidates without a network between them and the server.
fn naive(server: &RedisServer) -> [Naive; 2] {
    [Naive::new(server, "a"), Naive::new(server, "b")]
}

fn both_lead([a, b]: &[Naive; 2]) -> bool {
    a.leads() && b.leads()
}

/// The next leader, and what the one before believes when it is granted.
async fn followed(server: &RedisServer, before: &Leadership) -> Leadership {
    let next = soon(stranger(server).await.election("x").campaign()).await.unwrap();
    let believed = before.ensure_valid();
    assert!(believed.is_err(), "two lead: {before:?} and {next:?}");
    assert!(next.token() > before.token());
    next
}

/// CURATOR-444: the servers were out of reach for exactly a lease. When they are back, the leader before is told that it
/// is connected, and takes that for leading.
#[tokio::test]
async fn curator_444_an_outage_as_long_as_the_lease() {
    let server = RedisServer::start();
    let mut pair = naive(&server);
    assert!(pair[0].campaign(ms(300)));
    pair[0].is_told(false);
    eventually(|| pair[1].campaign(LEASE)).await;
    pair[0].is_told(true);
    assert!(both_lead(&pair));

    let cut_off = Proxied::with(&server, ms(300)).await;
    let leadership = soon(cut_off.election.campaign()).await.unwrap();
    cut_off.proxy.set(Fault::Stall(Way::Both));
    let next = followed(&server, &leadership).await;
    cut_off.proxy.heal();
    // Connected again, and told by the server.
    let told = async {
        loop {
            if let Ok(Some(leader)) = cut_off.election.leader().await {
                return leader;
            }
        }
    };
    assert_eq!(soon(told).await.token, Some(next.token()));
    leadership.ensure_valid().unwrap_err();
    next.ensure_valid().unwrap();
}

/// CURATOR-460: a leader that hears nothing counts its time from when it noticed that, not from what was confirmed
/// last.
#[tokio::test]
async fn curator_460_the_time_is_counted_from_when_a_break_was_noticed() {
    let server = RedisServer::start();
    let mut pair = naive(&server);
    assert!(pair[0].campaign(ms(300)));
    eventually(|| pair[1].campaign(LEASE)).await;
    // The break is noticed only now, and there is all of a lease yet.
    pair[0].counts_from(Instant::now(), LEASE);
    assert!(both_lead(&pair));

    // Half open: nothing tells that the connection is broken, and no call is given up for a long time.
    let cut_off = Proxied::with(&server, Duration::from_secs(50)).await;
    let leadership = soon(cut_off.election.campaign()).await.unwrap();
    cut_off.proxy.set(Fault::Blackhole(Way::Both));
    followed(&server, &leadership).await.ensure_valid().unwrap();
}

/// CURATOR-498: the answer to an earlier attempt comes late, and is taken for a part of what leads by now; in taking it
/// back the leader itself is deleted.
#[tokio::test]
async fn curator_498_a_late_answer_to_an_earlier_attempt() {
    let server = RedisServer::start();
    let mut pair = naive(&server);
    assert!(pair[0].campaign(LEASE));
    pair[0].deletes();
    assert!(pair[1].campaign(LEASE));
    assert!(both_lead(&pair));

    let late = Proxied::with(&server, ms(200)).await;
    for _ in 0..3 {
        late.proxy.set(Fault::Stall(Way::Replies));
        let unanswered = soon(late.election.try_campaign_for(ms(400))).await;
        assert!(!matches!(unanswered, Ok(Some(_))), "{unanswered:?}");
        late.proxy.heal();
        let leadership = soon(led(&late.election)).await;
        // Whatever comes late is taken back by now.
        let other = soon(stranger(&server).await.election("x").try_campaign_for(ms(0))).await;
        if leadership.ensure_valid().is_ok() {
            assert!(other.unwrap().is_none());
            assert_eq!(holder_on(&server, "x").as_deref(), Some(leadership.guard().holder_id()));
        }
        drop(leadership.resign().await);
    }
}

/// CURATOR-504: candidates that are connected anew start over, again and again, and one of them is forgotten in the
/// queue: nobody leads.
#[tokio::test]
async fn curator_504_candidates_that_start_over_at_each_connect() {
    let server = RedisServer::start();
    let [mut gone, mut next] = naive(&server);
    assert!(gone.campaign(Duration::from_secs(600)));
    // It has started over, and knows nothing of what it was granted.
    gone.is_told(false);
    assert!(!next.campaign(LEASE) && !gone.leads() && !next.leads());

    let flapping = Proxied::with(&server, Duration::from_secs(5)).await;
    // Ten minutes: what is forgotten would be waited for.
    let lock = patiently(Client::builder().url(&flapping.proxy.url())).connect().await.unwrap();
    let election = lock.election("x");
    for polls in 1..20 {
        let _given_up = crate::support::polled(election.campaign(), polls).await;
        flapping.proxy.cut();
    }
    let leadership = soon(stranger(&server).await.election("x").campaign()).await.unwrap();
    leadership.ensure_valid().unwrap();
    soon(leadership.resign()).await.unwrap();
    let again = soon(led(&election)).await;
    again.ensure_valid().unwrap();
}

/// CURATOR-620: a confirmation that was sent before the lease ended arrives behind its end, and counts from then.
#[tokio::test]
async fn curator_620_a_confirmation_from_before_the_end_arrives_behind_it() {
    let server = RedisServer::start();
    let mut pair = naive(&server);
    assert!(pair[0].campaign(ms(300)));
    eventually(|| pair[1].campaign(LEASE)).await;
    pair[0].counts_from(Instant::now(), LEASE);
    assert!(both_lead(&pair));

    let late = Proxied::with(&server, Duration::from_secs(50)).await;
    let leadership = soon(late.election.campaign()).await.unwrap();
    let renewed = server.calls_of("pexpire");
    late.proxy.set(Fault::Stall(Way::Replies));
    // It is renewed there, again and again, and hears nothing of it.
    eventually(|| server.calls_of("pexpire") > renewed).await;
    let next = followed(&server, &leadership).await;
    late.proxy.heal();
    for _ in 0..50 {
        leadership.ensure_valid().unwrap_err();
        server.command(&["PING"]);
    }
    next.ensure_valid().unwrap();
}

/// CURATOR-653: a leader ends its term, begins the next one, and then its late deletion of the first is carried out.
#[tokio::test]
async fn curator_653_a_late_deletion_of_an_earlier_term_of_the_same_candidate() {
    let server = RedisServer::start();
    let mut pair = naive(&server);
    assert!(pair[0].campaign(LEASE));
    // It believes its earlier key to be that of the new term.
    assert_eq!(pair[0].reads().as_deref(), Some("a"));
    pair[0].is_told(true);
    pair[0].deletes();
    assert!(pair[1].campaign(LEASE));
    assert!(both_lead(&pair));

    let late = Proxied::with(&server, ms(300)).await;
    let first = soon(led(&late.election)).await;
    late.proxy.set(Fault::Stall(Way::Requests));
    let resigning = tokio::spawn(first.resign());
    let again = tokio::spawn({
        let election = late.election.clone();
        async move { led(&election).await }
    });
    drop(soon(resigning).await);
    late.proxy.heal();
    let second = soon(again).await.unwrap();
    let other = soon(stranger(&server).await.election("x").try_campaign_for(ms(0))).await.unwrap();
    if second.ensure_valid().is_ok() {
        assert!(other.is_none(), "two lead");
    }
}

/// Kubernetes 67651: very many candidates look and write, and more than one finds nothing there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubernetes_67651_very_many_candidates_at_once() {
    let server = RedisServer::start();
    let mut pair = naive(&server);
    let seen = pair.each_mut().map(Naive::reads);
    for (candidate, seen) in pair.iter_mut().zip(seen) {
        if seen.is_none() {
            candidate.writes(LEASE);
        }
    }
    assert!(both_lead(&pair));

    let leaders = Arc::new(AtomicU32::new(0));
    let mut candidates = Vec::new();
    for _ in 0..4 {
        let election = stranger(&server).await.election("x");
        for _ in 0..100 {
            let (election, leaders) = (election.clone(), leaders.clone());
            candidates.push(tokio::spawn(async move {
                let leadership = election.campaign().await.unwrap();
                assert_eq!(leaders.fetch_add(1, Ordering::SeqCst), 0, "two lead");
                tokio::task::yield_now().await;
                leaders.fetch_sub(1, Ordering::SeqCst);
                let token = leadership.token();
                leadership.resign().await.unwrap();
                token
            }));
        }
    }
    let mut tokens = Vec::new();
    for candidate in candidates {
        tokens.push(soon(candidate).await.unwrap());
    }
    tokens.sort_unstable();
    tokens.dedup();
    assert_eq!(tokens.len(), 400, "each term has a token of its own");
}

/// Campaigns until it is granted: the server is out of reach now and then.
async fn led(election: &Election) -> Leadership {
    loop {
        if let Ok(leadership) = election.campaign().await {
            return leadership;
        }
    }
}
