//! Two that want the same, and take turns: each time one holds it and the other waits to be told.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use palisade::{Client, CountDownLatch, OnOutage, ReleaseError};
use tokio::sync::watch;

use crate::{
    course::{Course, Stage, What},
    wanted::{Held, Kind, Wanted},
};

/// What two want.
pub(crate) struct Place {
    pub(crate) name: String,
    kind: Kind,
    /// Whether the first holder keeps it until the slot is not half moved any more.
    is_kept: bool,
    course: Arc<Course>,
    is_taken: AtomicBool,
    grants: watch::Sender<u64>,
    /// Which grant was released, and when.
    freed: Mutex<Option<(u64, u64)>>,
    token: AtomicU64,
}

impl Place {
    pub(crate) fn new(name: String, kind: Kind, is_kept: bool, course: &Arc<Course>) -> Arc<Self> {
        let grants = watch::Sender::new(0);
        let (is_taken, freed, token) = Default::default();
        let course = course.clone();
        Arc::new(Self { name, kind, is_kept, course, is_taken, grants, freed, token })
    }

    pub(crate) fn grants(&self) -> u64 {
        *self.grants.borrow()
    }

    /// Until the course is over.
    pub(crate) async fn contend(self: Arc<Self>, client: Client, is_first: bool) {
        let wanted = self.kind.wanted(&client, &self.name, is_first);
        if is_first {
            wanted.set_up().await;
        } else {
            self.after(0).await;
        }
        while !self.course.is_over() {
            let grant = self.hold(&wanted).await;
            self.after(grant).await;
        }
    }

    async fn hold(&self, wanted: &Wanted) -> u64 {
        let held = wanted.acquire().await;
        let grant = self.enter(&held);
        if grant == 1 && self.is_kept {
            self.course.until(Stage::Unstuck).await;
        } else {
            let over = self.course.until(Stage::Over);
            let _either = tokio::time::timeout(length(&self.name, grant), over).await;
        }
        if let Some(cause) = held.loss() {
            self.course.note(&self.name, What::Lost(cause));
        }
        self.is_taken.store(false, Ordering::SeqCst);
        match held.release().await {
            Ok(()) => *self.freed.lock().unwrap() = Some((grant, self.course.ticks())),
            // It may stand until its lease ends.
            Err(ReleaseError::Unconfirmed { .. }) => {}
            Err(error) => self.course.note(&self.name, What::Lost(format!("{error:?}"))),
        }
        grant
    }

    fn enter(&self, held: &Held) -> u64 {
        if self.is_taken.swap(true, Ordering::SeqCst) {
            self.course.note(&self.name, What::Together);
        }
        if let Some(now) = held.token() {
            let before = self.token.swap(now, Ordering::SeqCst);
            if now <= before {
                self.course.note(&self.name, What::Token { before, now });
            }
        }
        let grant = self.grants() + 1;
        self.grants.send_replace(grant);
        match self.freed.lock().unwrap().take() {
            Some((released, at)) if released + 1 == grant => self.course.taken(&self.name, at),
            _ => {}
        }
        grant
    }

    /// Until the other one has it: one that asks again at once is not told of anything.
    async fn after(&self, grant: u64) {
        let mut grants = self.grants.subscribe();
        tokio::select! {
            biased;
            granted = grants.wait_for(|now| *now > grant) => drop(granted.unwrap()),
            () = self.course.until(Stage::Over) => {}
        }
    }
}

/// One counts down what the other waits for.
pub(crate) async fn count_down(name: String, clients: [Client; 2], course: Arc<Course>) -> u64 {
    let [latch, wanted] = clients.map(|client| client.count_down_latch(&name));
    let wanted = wanted.on_outage(OnOutage::Wait);
    let mut rounds = 0;
    while !course.is_over() {
        while !course.is_made(&name, &latch.try_set_count(1).await) {}
        let waiter = tokio::spawn(through(wanted.clone()));
        rounds += 1;
        let _either = tokio::time::timeout(length(&name, rounds), course.until(Stage::Over)).await;
        if waiter.is_finished() {
            course.note(&name, What::Together);
        }
        while !course.is_made(&name, &latch.count_down().await) {}
        let freed = course.ticks();
        waiter.await.unwrap();
        course.taken(&name, freed);
    }
    rounds
}

async fn through(latch: CountDownLatch) {
    latch.wait().await.unwrap();
}

/// Mostly short, so that there is much to be told; sometimes so long that it has to be renewed.
fn length(name: &str, grant: u64) -> Duration {
    let mut hasher = DefaultHasher::new();
    (name, grant).hash(&mut hasher);
    let drawn = hasher.finish();
    Duration::from_millis(if drawn.is_multiple_of(24) { 25_000 } else { 50 + drawn % 350 })
}
