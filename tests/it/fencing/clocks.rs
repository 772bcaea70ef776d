//! Clients whose clocks are wrong, and masters that forget: the hint is bounded by the servers' time.

use std::{sync::Arc, time::Duration};

use palisade::{
    FencedRedLock, FencingToken, Masters, OnOutage,
    clock::{BootClock, Clock},
    embedded::Server,
};

use super::{Off, YEAR};
use crate::fleet::{HANG, within};

/// How much of the day a clock is off.
#[derive(Debug, Clone, Copy)]
enum Wrong {
    Not,
    Ahead(Duration),
    /// It stands at 1970.
    Behind,
}

const NEARLY_A_DAY: Duration = Duration::from_secs(23 * 3600);

/// In-process masters, whose time of day can be moved.
struct Field {
    servers: [Server; 3],
    /// How far it was moved ahead.
    passed: Duration,
}

impl Field {
    fn new() -> Self {
        Self { servers: [(); 3].map(|()| Server::start().unwrap()), passed: Duration::ZERO }
    }

    /// Acquires and releases, as a process that was just started on a machine whose clock is wrong.
    async fn turn(&self, wrong: Wrong) -> FencingToken {
        let lock = self.seen_with(wrong);
        let guard = within(HANG, "a grant", lock.acquire()).await.unwrap();
        let token = guard.fencing_token();
        guard.release().await.unwrap();
        token
    }

    fn seen_with(&self, wrong: Wrong) -> FencedRedLock {
        let clock = Arc::new(match wrong {
            Wrong::Not => Off::Ahead(self.passed),
            Wrong::Ahead(by) => Off::Ahead(self.passed + by),
            Wrong::Behind => Off::At(Duration::ZERO),
        });
        let clients =
            self.servers.iter().map(|s| s.client_builder().clock(clock.clone()).build().unwrap());
        Masters::new(clients).unwrap().fenced_red_lock("x").on_outage(OnOutage::Wait)
    }

    /// Longer than a master that forgot is kept from voting.
    fn time_passes(&mut self) {
        let time = Duration::from_secs(120);
        self.passed += time;
        for server in &self.servers {
            server.jump_clock(i64::try_from(time.as_millis()).unwrap());
        }
    }

    fn now_us(&self) -> u64 {
        u64::try_from((BootClock.unix_time() + self.passed).as_micros()).unwrap()
    }
}

#[tokio::test]
async fn client_whose_clock_is_far_ahead_poisons_no_counter() {
    for ahead in [YEAR, NEARLY_A_DAY] {
        let field = Field::new();
        let first = field.turn(Wrong::Ahead(ahead)).await;
        assert!(first.get() <= field.now_us() + 5_000_000, "{first}");
        let mut last = first;
        for wrong in [Wrong::Not, Wrong::Ahead(ahead), Wrong::Not, Wrong::Behind] {
            let token = field.turn(wrong).await;
            assert!(token > last, "{wrong:?}: {token} after {last}");
            last = token;
        }
    }
}

#[tokio::test]
async fn client_whose_clock_is_far_behind_is_lifted_to_the_servers_time() {
    let field = Field::new();
    let before = field.now_us();
    let token = field.turn(Wrong::Behind).await;
    assert!(token.get() >= before - 5_000_000, "{token}");
    assert!(field.turn(Wrong::Behind).await > token);
}

/// The one master that both majorities share is the one that forgot: only the time of day keeps the
/// order.
#[tokio::test]
async fn tokens_increase_past_an_amnesia_whatever_clients_clocks_show() {
    for (first, then) in [
        (Wrong::Not, Wrong::Not),
        (Wrong::Ahead(YEAR), Wrong::Not),
        (Wrong::Ahead(NEARLY_A_DAY), Wrong::Not),
        (Wrong::Not, Wrong::Behind),
        (Wrong::Ahead(YEAR), Wrong::Behind),
    ] {
        let mut field = Field::new();
        field.servers[2].kill();
        let before = field.turn(first).await;
        field.servers[0].kill_and_forget();
        field.servers[0].restart();
        field.servers[1].kill();
        field.servers[2].restart();
        field.time_passes();
        let after = field.turn(then).await;
        assert!(after > before, "{first:?}, {then:?}: {after} after {before}");
        // The others come back, and the order goes on over all of them.
        field.servers[1].restart();
        field.time_passes();
        assert!(field.turn(first).await > after);
    }
}
