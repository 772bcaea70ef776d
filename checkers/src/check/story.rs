//! Histories told by hand, in milliseconds, for the checkers' own tests.

use std::time::Duration;

use crate::{
    history::{
        Event, History, Key, Kind, Leftovers, Manner, Record, Refusal, SectionId, Settings, Share,
        Worker,
    },
    time::Time,
};

/// A run of ten seconds on three masters in which, so far, nothing happened.
#[derive(Debug, Clone)]
pub struct Story {
    records: Vec<Record>,
}

/// One section of it, on the RedLock `red-a` unless said otherwise.
#[derive(Debug)]
pub struct Told {
    id: SectionId,
    lock: String,
    kind: Kind,
    shared: bool,
    manner: Manner,
    share: Option<Share>,
    queued: bool,
    on: Vec<usize>,
    keys: Vec<Key>,
    records: Vec<Record>,
}

impl Default for Story {
    fn default() -> Self {
        Self::new()
    }
}

impl Story {
    pub fn new() -> Self {
        let settings = Settings {
            longest_lease_ms: 1_000,
            slack_ms: 250,
            quarantine_ms: 0,
            stamp_ms: 0,
            brisk_ms: 0,
            fair_ms: 0,
            in_order_ms: 0,
            absent_ms: 0,
            near: false,
            news_ms: 0,
            failover_ms: 0,
            quarantine_all: false,
            lossy: false,
            forgetful: false,
            profile: String::new(),
            seed: 1,
            secs: 10,
            masters: 3,
            workers: 6,
            planted: None,
        };
        let story = Self { records: Vec::new() };
        story.and(0, Event::RunBegan(settings)).and(10_000, Event::Finishing)
    }

    /// Masters that are killed lose their data, without another word.
    pub fn forgetful(mut self) -> Self {
        for record in &mut self.records {
            if let Event::RunBegan(settings) = &mut record.event {
                settings.forgetful = true;
            }
        }
        self
    }

    pub fn and(mut self, at_ms: u64, event: Event) -> Self {
        self.records.push(Record { at: ms(at_ms), event });
        self
    }

    pub fn section(mut self, id: &str, tell: impl FnOnce(Told) -> Told) -> Self {
        let id = id.parse().expect("a name as in a history");
        let (lock, kind, shared) = ("red-a".into(), Kind::RedLock, false);
        let manner = Manner::Patient;
        let (share, queued, on, keys) = (None, false, Vec::new(), Vec::new());
        let records = Vec::new();
        let told = Told { id, lock, kind, shared, manner, share, queued, on, keys, records };
        self.records.extend(tell(told).records);
        self
    }

    pub fn killed(self, at: u64, worker: &str) -> Self {
        self.and(
            at,
            Event::WorkerKilled { worker: worker.parse().expect("a name as in a history") },
        )
    }

    pub fn stopped(self, from: u64, to: u64, worker: &str) -> Self {
        let worker: Worker = worker.parse().expect("a name as in a history");
        self.and(from, Event::WorkerStopped { worker }).and(to, Event::WorkerContinued { worker })
    }

    pub fn stalled(self, from: u64, to: u64, worker: &str) -> Self {
        self.and(
            to,
            Event::Stalled {
                worker: worker.parse().expect("a name as in a history"),
                from: ms(from),
            },
        )
    }

    pub fn calm_from(self, at: u64) -> Self {
        self.and(at, Event::Calm)
    }

    pub fn master_killed(self, from: u64, to: u64, master: usize) -> Self {
        self.and(from, Event::MasterDown { master, killed: true })
            .and(to, Event::MasterUp { master })
    }

    pub fn master_down(self, from: u64, to: u64, master: usize) -> Self {
        self.and(from, Event::MasterDown { master, killed: false })
            .and(to, Event::MasterUp { master })
    }

    pub fn left(self, leftovers: Leftovers) -> Self {
        self.and(10_000, Event::Left(leftovers))
    }

    pub fn history(self) -> History {
        History::from_records(self.records).expect("a story has its beginning")
    }
}

impl Told {
    pub fn on(mut self, lock: &str) -> Self {
        self.lock = lock.to_owned();
        self
    }

    pub fn of(mut self, kind: Kind) -> Self {
        self.kind = kind;
        self
    }

    pub fn shared(mut self) -> Self {
        self.shared = true;
        self
    }

    pub fn queued(mut self) -> Self {
        self.queued = true;
        self
    }

    /// On one master alone.
    pub fn on_one(mut self, master: usize) -> Self {
        (self.kind, self.on) = (Kind::Lock, vec![master]);
        self
    }

    pub fn asking(mut self, manner: Manner) -> Self {
        self.manner = manner;
        self
    }

    /// A `MultiLock` of these members, of one letter each, by the name of all of them.
    pub fn parts(mut self, members: &str) -> Self {
        let key = |(master, letter): (usize, char)| Key { name: letter.to_string(), master };
        self.keys = members.chars().map(|letter| key((letter as usize % 3, letter))).collect();
        (self.lock, self.kind) = (members.to_owned(), Kind::MultiLock);
        self
    }

    pub fn of_permits(mut self, permits: usize, of: usize) -> Self {
        (self.shared, self.share) = (true, Some(Share { permits, of }));
        self
    }

    pub fn asked(self, at: u64) -> Self {
        let (lock, kind, section, shared) = (self.lock.clone(), self.kind, self.id, self.shared);
        let (manner, share, queued) = (self.manner, self.share, self.queued);
        let (on, keys) = (self.on.clone(), self.keys.clone());
        self.note(
            at,
            Event::Asked {
                section,
                lock,
                kind,
                renewed: true,
                manner,
                careless: false,
                on,
                shared,
                share,
                queued,
                keys,
            },
        )
    }

    pub fn gave_up(self, at: u64, why: Refusal) -> Self {
        let section = self.id;
        self.note(at, Event::GaveUp { section, why })
    }

    pub fn granted(self, at: u64, deadline: u64) -> Self {
        let section = self.id;
        self.note(at, Event::Granted { section, deadline: ms(deadline), token: None })
    }

    pub fn fenced(self, at: u64, deadline: u64, token: u64) -> Self {
        let section = self.id;
        self.note(at, Event::Granted { section, deadline: ms(deadline), token: Some(token) })
    }

    pub fn reentered(self, at: u64, token: u64) -> Self {
        let section = self.id;
        self.note(at, Event::Counted { section, guards: 2, told: None, token: Some(token) })
    }

    pub fn counted(self, at: u64, guards: u32, told: Option<u32>) -> Self {
        let section = self.id;
        self.note(at, Event::Counted { section, guards, told, token: None })
    }

    pub fn extended(self, at: u64, deadline: u64) -> Self {
        let section = self.id;
        self.note(at, Event::Extended { section, deadline: ms(deadline) })
    }

    pub fn downgrading(self, at: u64) -> Self {
        let section = self.id;
        self.note(at, Event::Downgrading { section })
    }

    pub fn lost(self, at: u64) -> Self {
        let (section, cause) = (self.id, "its lease ran out".into());
        self.note(at, Event::Lost { section, cause, deadline: ms(0) })
    }

    pub fn orphaned(self, at: u64) -> Self {
        let section = self.id;
        self.releasing(at).note(at, Event::Orphaned { section })
    }

    pub fn told_gone(self, at: u64) -> Self {
        let section = self.id;
        self.note(at, Event::ToldGone { section })
    }

    /// A write that lands at `at`, a millisecond after it began.
    pub fn wrote(self, at: u64, read: &str) -> Self {
        let section = self.id;
        self.writing(at - 1, read).note(at, Event::Wrote { section, deadline: ms(0) })
    }

    pub fn writing(self, at: u64, read: &str) -> Self {
        let section = self.id;
        self.note(at, Event::Writing { section, read: read.parse().ok() })
    }

    /// Called at `at`, and done at once.
    pub fn released(self, at: u64) -> Self {
        let section = self.id;
        self.releasing(at).note(at, Event::Released { section, problem: None, still: 0 })
    }

    /// A release has returned that was not the last one.
    pub fn still_held(self, at: u64, still: u32) -> Self {
        let section = self.id;
        self.note(at, Event::Released { section, problem: None, still })
    }

    pub fn releasing(self, at: u64) -> Self {
        let section = self.id;
        self.note(at, Event::Releasing { section, deadline: ms(0) })
    }

    fn note(mut self, at: u64, event: Event) -> Self {
        self.records.push(Record { at: ms(at), event });
        self
    }
}

pub fn ms(ms: u64) -> Time {
    // An hour after the boot, so that nothing below zero is asked for.
    Time::from_micros(3_600_000_000) + Duration::from_millis(ms)
}
