//! What is told of a run: the history, a fingerprint of everything, and a trace if wanted.

use std::{
    fmt::Write as _,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use checkers::{
    history::{Event, Record, Worker, section_of},
    time::Time,
};

use crate::{
    coverage::{self, Coverage},
    world::World,
};

#[derive(Debug)]
pub(crate) struct Log {
    world: Arc<World>,
    told: Mutex<Told>,
    traced: bool,
}

#[derive(Debug, Default)]
struct Told {
    records: Vec<Record>,
    killed: Vec<Worker>,
    fingerprint: u64,
    trace: String,
    coverage: Coverage,
}

/// What is left of a log in the end.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) records: Vec<Record>,
    pub(crate) fingerprint: u64,
    pub(crate) trace: Option<String>,
    pub(crate) coverage: Coverage,
}

impl Log {
    pub(crate) fn new(world: &Arc<World>, traced: bool) -> Self {
        Self { world: world.clone(), told: Mutex::default(), traced }
    }

    /// An event of the history. The dead tell nothing: what the calm wakes in a process that was
    /// killed gets no further than this.
    pub(crate) fn record(&self, event: Event) {
        let at = self.world.now();
        let mut told = self.told();
        if let Some(what) = coverage::told_by(&event, at) {
            told.coverage.count(what);
        }
        if section_of(&event).is_some_and(|section| told.killed.contains(&section.worker)) {
            return;
        }
        if let Event::WorkerKilled { worker } = event {
            told.killed.push(worker);
        }
        if self.traced {
            told.line(at, &format!("      {event:?}"));
        }
        told.mix(at.as_micros());
        told.records.push(Record { at, event });
    }

    /// Something that the checkers do not care for. `marks` tell it from others of its sort.
    pub(crate) fn note(&self, marks: [u64; 3], line: impl FnOnce() -> String) {
        let at = self.world.now();
        let mut told = self.told();
        told.mix(at.as_micros());
        marks.iter().for_each(|mark| told.mix(*mark));
        if self.traced {
            told.line(at, &line());
        }
    }

    /// Counts something that is to be seen sometimes.
    pub(crate) fn saw(&self, what: &'static str) {
        self.told().coverage.count(what);
    }

    pub(crate) fn finish(&self) -> Finished {
        let told = std::mem::take(&mut *self.told());
        Finished {
            records: told.records,
            fingerprint: told.fingerprint,
            trace: self.traced.then_some(told.trace),
            coverage: told.coverage,
        }
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Told {
    fn mix(&mut self, value: u64) {
        let mixed = (self.fingerprint ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.fingerprint = mixed ^ (mixed >> 29);
    }

    fn line(&mut self, at: Time, line: &str) {
        let us = at.as_micros();
        // Writing into a string does not fail.
        let _always_ok = writeln!(self.trace, "{:>6}.{:03} ms {line}", us / 1_000, us % 1_000);
    }
}
