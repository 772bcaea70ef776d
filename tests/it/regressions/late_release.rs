//! A release that is executed late does not end what the same `MultiLock` was granted since.

use std::time::Duration;

use palisade::{LockGuard, Member, MultiLock, OnOutage, embedded::Server};
use tokio::{
    task::JoinHandle,
    time::{sleep, timeout},
};

use super::{Line, holder_on};
use crate::outside::ask;

const STEP: Duration = Duration::from_millis(50);

/// `x` on three servers in the order in which members are taken. Another holds the second, which is slow
/// to say so; the way to the third is a line of its own.
struct Field {
    servers: Vec<Server>,
    line: Line,
    all: MultiLock<Member>,
    held: LockGuard,
}

impl Field {
    async fn new(second_is_fair: bool) -> Self {
        let mut servers: Vec<Server> = (0..3).map(|_| Server::start_here()).collect();
        servers.sort_by_key(Server::run_id);
        let line = Line::new();
        let [first, second] = [0, 1].map(|i| servers[i].client().unwrap());
        let third = line.client(&servers[2]).build().unwrap();
        let elsewhere = servers[1].client().unwrap();
        let (middle, held): (Member, _) = if second_is_fair {
            (second.fair_lock("x").into(), elsewhere.fair_lock("x").acquire().await)
        } else {
            (second.lock("x").into(), elsewhere.lock("x").acquire().await)
        };
        let members = [first.lock("x").into(), middle, third.lock("x").into()];
        let all = MultiLock::new(members).unwrap().on_outage(OnOutage::Wait);
        // From here on all servers have told which run they are, and every connection is there.
        assert!(all.try_acquire().await.unwrap().is_none());
        servers[1].set_delay(STEP);
        Self { servers, line, all, held: held.unwrap() }
    }

    /// Asks for all, and loses to the one that has the second. What the third granted is given back: that
    /// is sent, and still under way when its socket breaks, so it is said once more.
    async fn lost_with_a_release_under_way(&self) -> JoinHandle<LockGuard> {
        let all = self.all.clone();
        let taker = tokio::spawn(async move { all.acquire().await.unwrap() });
        until(&self.servers[2], true).await;
        self.line.stall();
        // The second has refused by now.
        sleep(4 * STEP).await;
        self.line.break_off();
        until(&self.servers[2], false).await;
        taker
    }

    /// Asks for all, and loses to the holder of the second. What the third granted is given back, and told to be. By
    /// which id it stood there.
    async fn lost_with_a_release_that_was_answered(&self) -> (JoinHandle<LockGuard>, String) {
        let all = self.all.clone();
        let taker = tokio::spawn(async move { all.acquire().await.unwrap() });
        until(&self.servers[2], true).await;
        let given_back = holder_on(&self.servers[2], "x").await.unwrap();
        until(&self.servers[2], false).await;
        (taker, given_back)
    }

    /// No other has the third while the guard lasts, whatever is executed late.
    async fn holds_whatever_comes_late(self, taker: JoinHandle<LockGuard>) {
        self.held.release().await.unwrap();
        let guard = timeout(Duration::from_secs(20), taker).await.unwrap().unwrap();
        self.line.go_on();
        sleep(Duration::from_secs(1)).await;
        assert!(holder_on(&self.servers[2], "x").await.is_some());
        let stranger = self.servers[2].client().unwrap().lock("x");
        assert!(stranger.try_acquire().await.unwrap().is_none());
        guard.ensure_valid().unwrap();
        guard.release().await.unwrap();
        for server in &self.servers {
            assert_eq!(holder_on(server, "x").await, None);
        }
    }
}

/// Until `x` is held on `server`, or not any more.
async fn until(server: &Server, is_held: bool) {
    let looks = async {
        while holder_on(server, "x").await.is_some() != is_held {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(Duration::from_secs(10), looks).await.unwrap();
}

// proves: fresh-holder
#[tokio::test(start_paused = true)]
async fn late_release_of_what_a_multi_lock_gave_back_does_not_end_its_next_grant_there() {
    let field = Field::new(false).await;
    let taker = field.lost_with_a_release_under_way().await;
    // What is before the one that refused stays.
    assert!(holder_on(&field.servers[0], "x").await.is_some());
    field.holds_whatever_comes_late(taker).await;
}

/// An answer says that one copy of it was executed, not that there is no other: what stands between may have one.
#[tokio::test(start_paused = true)]
async fn second_copy_of_a_release_that_was_answered_ends_nothing_that_was_granted_since() {
    let field = Field::new(false).await;
    let (taker, given_back) = field.lost_with_a_release_that_was_answered().await;
    field.held.release().await.unwrap();
    let guard = timeout(Duration::from_secs(20), taker).await.unwrap().unwrap();
    let ids = guard.holder_ids();
    assert_eq!(holder_on(&field.servers[2], "x").await.as_deref(), Some(&*ids[2]));
    let copy = ["HDEL", "x", &given_back];
    assert_eq!(ask::<i64>(&field.servers[2], &copy).await, 0);
    assert!(holder_on(&field.servers[2], "x").await.is_some());
    guard.ensure_valid().unwrap();
    guard.release().await.unwrap();
    for server in &field.servers {
        assert_eq!(holder_on(server, "x").await, None);
    }
}

/// It stands in a queue where nothing is under way, and keeps its place there.
#[tokio::test(start_paused = true)]
async fn late_release_costs_no_place_in_a_queue() {
    let field = Field::new(true).await;
    let taker = field.lost_with_a_release_under_way().await;
    let queue = || ask::<Vec<String>>(&field.servers[1], &["LRANGE", QUEUE, "0", "-1"]);
    let stands = async {
        while queue().await.is_empty() {
            sleep(STEP).await;
        }
    };
    timeout(Duration::from_secs(10), stands).await.unwrap();
    let place = queue().await;
    // What is kept is let go meanwhile, and the place is not.
    sleep(Duration::from_secs(8)).await;
    assert_eq!(queue().await, place);
    field.holds_whatever_comes_late(taker).await;
}

const QUEUE: &str = "redisson_lock_queue:{x}";
