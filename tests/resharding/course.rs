//! How the minute goes: how far it is, and what went wrong.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use palisade::error::ChangeError;
use tokio::sync::watch;

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    Moving,
    /// A slot is half moved.
    Stuck,
    /// It is moved.
    Unstuck,
    Over,
}

/// What all that take part share.
pub(crate) struct Course {
    pub(crate) stage: watch::Sender<Stage>,
    ticks: AtomicU64,
    troubles: Mutex<Vec<Trouble>>,
}

/// What should not have been.
#[derive(Debug)]
pub(crate) struct Trouble {
    pub(crate) name: String,
    pub(crate) at: Instant,
    pub(crate) what: What,
}

#[derive(Debug)]
#[expect(dead_code, reason = "for whoever reads why it failed")]
pub(crate) enum What {
    /// It was free for so long although it was wanted.
    Late(Duration),
    /// It was held and is not any more, without a release.
    Lost(String),
    /// Two held it, or were let through before their time.
    Together,
    /// A token no greater than one before.
    Token { before: u64, now: u64 },
    /// An answer that leaves it open what was done.
    Unknown(String),
}

impl Course {
    /// Its ticks come from a task of the runtime: where the process or the machine stands still, so do they.
    pub(crate) fn begin() -> Arc<Self> {
        let course = Arc::new(Self {
            stage: watch::Sender::new(Stage::Moving),
            ticks: AtomicU64::new(0),
            troubles: Mutex::default(),
        });
        let weak = Arc::downgrade(&course);
        tokio::spawn(async move {
            while let Some(course) = weak.upgrade() {
                course.ticks.fetch_add(1, Ordering::Relaxed);
                drop(course);
                tokio::time::sleep(TICK).await;
            }
        });
        course
    }

    pub(crate) async fn until(&self, stage: Stage) {
        let mut stages = self.stage.subscribe();
        stages.wait_for(|now| *now >= stage).await.unwrap();
    }

    pub(crate) fn is_over(&self) -> bool {
        *self.stage.borrow() == Stage::Over
    }

    pub(crate) fn ticks(&self) -> u64 {
        self.ticks.load(Ordering::Relaxed)
    }

    /// It was free since then, and is not any more.
    pub(crate) fn taken(&self, name: &str, freed: u64) {
        let free = TICK * u32::try_from(self.ticks() - freed).unwrap();
        if free > LATE {
            self.note(name, What::Late(free));
        }
    }

    /// Whether a change was made that no other makes. If it was not, it is to be made again.
    pub(crate) fn is_made(&self, name: &str, change: &Result<bool, ChangeError>) -> bool {
        match change {
            Ok(true) => {}
            Err(ChangeError::NotMade { .. }) => return false,
            unknown => self.note(name, What::Unknown(format!("{unknown:?}"))),
        }
        true
    }

    pub(crate) fn note(&self, name: &str, what: What) {
        let trouble = Trouble { name: name.to_owned(), at: Instant::now(), what };
        self.troubles.lock().unwrap().push(trouble);
    }

    pub(crate) fn troubles(&self) -> Vec<Trouble> {
        std::mem::take(&mut *self.troubles.lock().unwrap())
    }
}

const TICK: Duration = Duration::from_millis(10);
/// A waiter that hears nothing looks after five seconds.
const LATE: Duration = Duration::from_secs(3);
