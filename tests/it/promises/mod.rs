//! Every promise on every kind of lock, from one table, on embedded servers in paused time.
//!
//! A row is a promise: a function that is told the kind. A column is a kind. A cell that does not apply has a
//! reason in the table. What is promised once is so promised everywhere, or the gap has a name.
//!
//! Time is that of tokio's clock, which stands unless all wait. So a limit here is no matter of how busy the machine
//! is: it tells an event from the next timer. What differs by the deployment is in `deployments`, on real servers.

mod deployments;
mod ending;
mod granting;
mod holding;
mod kinds;

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures::{FutureExt, future::LocalBoxFuture};
use palisade::{
    ClientBuilder, Masters,
    clock::{Clock, TokioClock},
    embedded::{Server, SimulatedProcess},
};

use self::kinds::{Held, Kind, Subject};
use crate::outside::ask;

/// A promise, and the kinds to which it is not made, each with the reason.
struct Row {
    name: &'static str,
    keeps: for<'a> fn(&'a Field) -> LocalBoxFuture<'a, ()>,
    settings: fn(ClientBuilder) -> ClientBuilder,
    except: &'static [(&'static [Kind], &'static str)],
}

/// A test for each row, and the table of them all.
macro_rules! promises {
    ($($room:ident::$promise:ident $(with $settings:expr)?, except [$($kinds:expr => $why:expr),* $(,)?];)*) => {
        const TABLE: &[Row] = &[$(Row {
            name: stringify!($promise),
            keeps: |field| $room::$promise(field).boxed_local(),
            settings: settings!($($settings)?),
            except: &[$((&$kinds, $why)),*],
        }),*];

        $(
            #[test]
            fn $promise() {
                is_kept_by_all_kinds(stringify!($promise));
            }
        )*
    };
}

macro_rules! settings {
    () => {
        |settings| settings
    };
    ($settings:expr) => {
        $settings
    };
}

promises! {
    granting::free_one_is_granted_at_once, except [];
    granting::held_one_is_refused_to_others, except [READERS => SHARED];
    granting::readers_hold_it_together, except [ALL_BUT_READERS => "one holds it"];
    granting::release_lets_the_next_process_in, except [READERS => SHARED];
    granting::release_lets_the_next_of_the_process_in, except [READERS => SHARED];
    granting::drop_lets_the_next_in, except [READERS => SHARED, LATCH => NO_GUARD];
    granting::limit_of_a_wait_is_respected, except [READERS => SHARED];
    granting::dropped_wait_leaves_nothing, except [READERS => SHARED];
    granting::dropped_acquire_leaves_nothing, except [LATCH => "what was set stays: nothing holds a latch"];
    granting::released_one_leaves_no_key, except [];
    granting::waiters_are_served_as_they_came, except [
        READERS => SHARED,
        ALL_WITHOUT_A_QUEUE => "no queue: the next of any process gets in",
    ];
    granting::outage_is_an_error_and_no_refusal, except [LATCH => "a change of a latch has errors of its own"];
    granting::it_is_seen_from_outside, except [];
    granting::fenced_ones_have_rising_tokens_and_others_none, except [NUMBERS => NO_TOKEN];
    holding::hold_is_renewed, except [PERMIT => NO_LEASE, LATCH => NO_GUARD];
    holding::fixed_lease_ends_before_another_is_granted, except [
        READERS => SHARED,
        PERMIT => NO_LEASE,
        LATCH => NO_GUARD,
    ];
    holding::hold_is_lost_at_its_deadline_if_no_server_answers, except [PERMIT => NO_LEASE, LATCH => NO_GUARD];
    holding::end_is_told_in_time, except [PERMIT => NO_LEASE, LATCH => NO_GUARD];
    holding::hold_that_was_forgotten_is_lost_by_the_next_renewal, except [
        PERMIT => "nothing is renewed, so nothing is heard",
        LATCH => NO_GUARD,
    ];
    holding::hold_that_was_forced_open_is_lost, except [
        PERMIT => "nothing is renewed, so nothing is heard",
        LATCH => NO_GUARD,
    ];
    holding::lost_one_is_of_no_use, except [PERMIT => NO_LEASE, LATCH => NO_GUARD];
    holding::hold_lasts_no_longer_than_max_hold with |settings| settings.max_hold(MAX_HOLD), except [
        PERMIT => NO_LEASE,
        LATCH => NO_GUARD,
    ];
    holding::guarded_write_of_what_was_taken_away_never_lands, except [PERMIT => OF_PERMITS, LATCH => NO_GUARD];
    holding::guarded_write_that_comes_too_late_never_lands, except [PERMIT => OF_PERMITS, LATCH => NO_GUARD];
    ending::owner_enters_again_and_the_last_guard_ends_it, except [NUMBERS => NO_OWNER];
    ending::another_owner_is_refused, except [READERS => SHARED, NUMBERS => NO_OWNER];
    ending::guard_enters_again, except [NUMBERS => NO_OWNER];
    ending::hold_that_is_over_is_not_entered_again, except [NUMBERS => NO_OWNER];
    ending::orphan_stands_until_its_lease_is_over, except [
        READERS => SHARED,
        PERMIT => NO_LEASE,
        LATCH => NO_GUARD,
    ];
    ending::shutdown_ends_holds_and_lets_others_in, except [
        READERS => SHARED,
        PERMIT => "a guard of it tells nothing",
        LATCH => NO_GUARD,
    ];
    ending::shutdown_ends_waits, except [READERS => SHARED, LATCH => "a wait of a latch has errors of its own"];
    ending::nothing_is_granted_after_a_shutdown, except [LATCH => "a change of a latch has errors of its own"];
}

const READERS: [Kind; 3] = [Kind::Read, Kind::ReadMulti, Kind::ReadRed];
const PERMIT: [Kind; 1] = [Kind::Semaphore];
const LATCH: [Kind; 1] = [Kind::Latch];
/// What is a number on one server.
const NUMBERS: [Kind; 3] = [Kind::Semaphore, Kind::Expirable, Kind::Latch];
const ALL_BUT_READERS: [Kind; 17] = [
    Kind::Lock,
    Kind::Namespaced,
    Kind::Striped,
    Kind::Fenced,
    Kind::Fair,
    Kind::Write,
    Kind::Semaphore,
    Kind::Expirable,
    Kind::Latch,
    Kind::Multi,
    Kind::Stripes,
    Kind::FencedMulti,
    Kind::FairMulti,
    Kind::WriteMulti,
    Kind::Red,
    Kind::FencedRed,
    Kind::WriteRed,
];
const ALL_WITHOUT_A_QUEUE: [Kind; 16] = [
    Kind::Lock,
    Kind::Namespaced,
    Kind::Striped,
    Kind::Fenced,
    Kind::Write,
    Kind::Semaphore,
    Kind::Expirable,
    Kind::Latch,
    Kind::Multi,
    Kind::Stripes,
    Kind::FencedMulti,
    Kind::FairMulti,
    Kind::WriteMulti,
    Kind::Red,
    Kind::FencedRed,
    Kind::WriteRed,
];

const SHARED: &str = "readers hold it together, and keep out writers alone";
const NO_GUARD: &str = "nothing holds a latch: it is counted down";
const OF_PERMITS: &str = "its guard has a method of its own: `permits_guard_a_script` in `guarded`";
const NO_LEASE: &str = "a permit without a lease does not end by itself";
const NO_OWNER: &str = "permits and counts are by themselves, whoever asks";
const NO_TOKEN: &str = "permits and counts have no token, and no guard that could show one";

/// The longest hold where a row sets one.
const MAX_HOLD: Duration = Duration::from_secs(60);
/// An event comes before this, and the next timer after it: waiters look again every five seconds.
const SOON: Duration = Duration::from_secs(3);
/// Nothing here takes so long: what does, hangs.
const HANG: Duration = Duration::from_secs(600);

/// Three servers, and two processes that know them.
struct Field {
    kind: Kind,
    servers: Vec<Server>,
    here: Masters,
    there: Masters,
}

impl Field {
    async fn new(kind: Kind, settings: fn(ClientBuilder) -> ClientBuilder) -> Self {
        let servers: Vec<Server> = (0..3).map(|_| Server::start_here()).collect();
        let masters = |seed| {
            let clock: Arc<dyn Clock> = Arc::new(TokioClock::new());
            let process = SimulatedProcess::new(clock.clone(), clock, seed);
            let client = |server: &Server| {
                let builder = server.client_builder().simulated(&process);
                let builder =
                    if kind == Kind::Namespaced { builder.namespace("n:") } else { builder };
                settings(builder).build().unwrap()
            };
            Masters::new(servers.iter().map(client)).unwrap()
        };
        let (here, there) = (masters(1), masters(2));
        kind.prepare(&here.clients()[0]).await;
        Self { kind, servers, here, there }
    }

    /// The lock of this process.
    fn ours(&self) -> Box<dyn Subject> {
        self.kind.of(&self.here)
    }

    /// The same lock, as another process knows it.
    fn theirs(&self) -> Box<dyn Subject> {
        self.kind.of(&self.there)
    }

    /// What stands on the servers of holders and waiters.
    async fn keys(&self) -> Vec<String> {
        let mut all = Vec::new();
        for server in &self.servers {
            let keys: Vec<String> = ask(server, &["KEYS", "*"]).await;
            all.extend(keys.into_iter().filter(|key| !self.is_to_stay(key)));
        }
        all
    }

    /// Counters, marks, the number itself, its last zero, and what tells a repeated change from a new one.
    fn is_to_stay(&self, key: &str) -> bool {
        let is_number =
            matches!(self.kind, Kind::Semaphore | Kind::Expirable) && key == self.kind.name();
        is_number
            || ["_lock_token:", "palisade:marker", "palisade_once:", ":palisade_zero"]
                .iter()
                .any(|it| key.contains(it))
    }

    /// Waits until nothing of holders and waiters stands there: long before a lease is over.
    async fn becomes_empty(&self) {
        let began = tokio::time::Instant::now();
        while !self.keys().await.is_empty() {
            assert!(began.elapsed() < SOON, "{:?} stay", self.keys().await);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// The output of `work`, which is an event and no timer.
async fn soon<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(SOON, work).await.expect("it took as long as the next look")
}

/// Tries one cell.
fn try_cell(row: &Row, kind: Kind) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.unwrap().block_on(async {
        let field = Field::new(kind, row.settings).await;
        tokio::time::timeout(HANG, (row.keeps)(&field)).await.expect("it hangs");
    });
}

#[track_caller]
fn is_kept_by_all_kinds(name: &str) {
    let row = TABLE.iter().find(|row| row.name == name).unwrap();
    let applies = |kind: &Kind| !row.except.iter().any(|(kinds, _)| kinds.contains(kind));
    let tried = Kind::ALL.into_iter().filter(applies);
    let is_broken =
        |kind: &Kind| std::panic::catch_unwind(AssertUnwindSafe(|| try_cell(row, *kind))).is_err();
    let broken: Vec<Kind> = tried.filter(is_broken).collect();
    assert!(broken.is_empty(), "{name}: not kept by {broken:?}");
}

#[test]
fn every_cell_is_tried_or_has_one_reason() {
    let kinds = Kind::ALL.len();
    let mut tried = 0;
    for row in TABLE {
        let mut left_out: Vec<Kind> = Vec::new();
        for (kinds, why) in row.except {
            assert!(why.len() > 10, "{}: {why:?} is no reason", row.name);
            left_out.extend(*kinds);
        }
        left_out.sort();
        let all = left_out.len();
        left_out.dedup();
        assert_eq!(left_out.len(), all, "{}: two reasons for one cell", row.name);
        assert!(all < kinds, "{} is promised by nothing", row.name);
        tried += kinds - all;
    }
    assert!(TABLE.len() >= 25 && tried >= 400, "{tried} cells of {} promises", TABLE.len());
}

/// Dropped before it is done, after that time.
async fn dropped_after(time: Duration, work: impl Future) {
    let dropped = tokio::time::timeout(time, work).await;
    assert!(dropped.is_err(), "it was done before it was dropped");
}

/// What is held.
async fn held(by: &dyn Subject) -> Held {
    soon(by.acquire()).await.unwrap()
}
