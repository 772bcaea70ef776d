//! One attempt at a lock with all that followed from it. Pure.

use std::{collections::HashMap, time::Duration};

use super::{Event, Key, Kind, Manner, Record, Refusal, SectionId, Share, Worker};
use crate::{spans::Span, time::Time};

/// What the records say about one section.
#[derive(Debug, Clone)]
pub struct Section {
    pub id: SectionId,
    pub lock: String,
    pub kind: Kind,
    /// The masters it is on; empty: all.
    pub on: Vec<usize>,
    /// Whether others may have it at the same time, if they share it too.
    pub shared: bool,
    /// Of a semaphore.
    pub share: Option<Share>,
    /// Whether its lock has a queue.
    pub queued: bool,
    /// Its members, if other locks have some of them, too.
    pub keys: Vec<Key>,
    /// Whether the watchdog renews its lease.
    pub renewed: bool,
    pub manner: Manner,
    /// Whether it does not listen to `lost()`.
    pub careless: bool,
    pub asked: Time,
    /// While its wait was not looked after.
    pub parked: Vec<Span>,
    /// When the process was found to be gone, or the history ended.
    pub over: Time,
    pub gave_up: Option<(Time, Refusal)>,
    pub hold: Option<Hold>,
}

/// What followed from a grant.
#[derive(Debug, Clone)]
pub struct Hold {
    /// When the acquire had returned.
    pub granted: Time,
    /// The latest that the guard ever gave: `granted` and a moved deadline cannot be told apart
    /// later, and a guard may report an early one once it is lost.
    pub deadline: Time,
    /// What it was granted for.
    pub lease: Duration,
    /// The fencing tokens of its guards: all the same, one would hope.
    pub tokens: Vec<u64>,
    /// From when others that share it may have it too, of one that was downgraded.
    pub shared_from: Option<Time>,
    /// Whether it is being downgraded, which may renew it: until when, is told when that is done.
    pub renewed_untold: bool,
    /// Whether its key was left to end by itself.
    pub orphaned: bool,
    /// When a server's word had come that a key of it is gone.
    pub told_gone: Option<Time>,
    pub lost: Option<Loss>,
    pub withheld: Option<Time>,
    pub write: Option<Write>,
    /// Just before the release, or the drop.
    pub releasing: Option<Time>,
    /// When the release had returned, and what was wrong with it.
    pub released: Option<(Time, Option<String>)>,
}

/// `lost()` has resolved.
#[derive(Debug, Clone)]
pub struct Loss {
    pub at: Time,
    pub cause: String,
}

/// A write of the witness.
#[derive(Debug, Clone, Copy)]
pub struct Write {
    /// Which section wrote the value it replaces, as far as the writer knows; `None`: none yet.
    pub read: Option<SectionId>,
    pub began: Time,
    /// When it had landed; `None` if that was never told.
    pub landed: Option<Time>,
}

impl Section {
    /// On how many of all `masters` its lock is.
    pub const fn members(&self, masters: usize) -> usize {
        if self.on.is_empty() { masters } else { self.on.len() }
    }

    /// From the question to the answer, or for as long as the worker was there to wait for it.
    pub fn wait(&self) -> Span {
        let granted = self.hold.as_ref().map(|hold| hold.granted);
        let answered = granted.or(self.gave_up.as_ref().map(|(at, _)| *at));
        Span::new(self.asked, answered.unwrap_or(self.over))
    }

    /// Its servers granted it after this, where no lease is longer: it counts from before the request.
    pub fn granted_since(&self, longest_lease: Duration) -> Time {
        let granted = self.hold.as_ref().map_or(self.asked, |hold| hold.granted);
        self.asked.max(granted - longest_lease)
    }

    /// While the worker could rightly believe that it held the lock.
    pub fn validity(&self) -> Option<Span> {
        let hold = self.hold.as_ref()?;
        Some(Span::new(hold.granted, self.end_of_use().min(hold.deadline)))
    }

    /// While, as far as the history knows, the lock was not free: a release takes its time.
    pub fn occupation(&self) -> Option<Span> {
        let hold = self.hold.as_ref()?;
        if hold.orphaned {
            // The key lives on for what the deadline leaves to drift; and for a lease more, if a
            // renewal was under way without an answer.
            let renewed = hold.releasing.filter(|_| self.renewed).map(|at| at + hold.lease);
            let end = hold.deadline.max(renewed.unwrap_or(hold.deadline));
            let left = end.since(hold.granted) / 20 + Duration::from_millis(20);
            return Some(Span::new(hold.granted, end + left));
        }
        let released = hold.released.as_ref().map(|(at, _)| *at);
        let end = released.unwrap_or_else(|| self.end_of_use());
        Some(Span::new(hold.granted, end.min(hold.deadline)))
    }

    /// When the worker ceased to use the lock, by its own will, by the loss or by its death.
    pub fn end_of_use(&self) -> Time {
        let Some(hold) = &self.hold else { return self.over };
        let ends = [hold.releasing, hold.lost.as_ref().map(|loss| loss.at)];
        ends.into_iter().flatten().min().unwrap_or(self.over)
    }
}

/// The sections of a run, in the order in which they asked; `records` are in the order of time.
pub(crate) fn collect(records: &[Record]) -> Vec<Section> {
    let end = records.last().map_or(Time::from_micros(0), |record| record.at);
    let mut sections = Vec::new();
    let mut places = HashMap::new();
    for Record { at, event } in records {
        if let Event::Asked {
            section,
            lock,
            kind,
            renewed,
            manner,
            careless,
            on,
            shared,
            share,
            queued,
            keys,
        } = event
        {
            places.insert(*section, sections.len());
            sections.push(Section {
                id: *section,
                lock: lock.clone(),
                kind: *kind,
                on: on.clone(),
                shared: *shared,
                share: *share,
                queued: *queued,
                keys: keys.clone(),
                renewed: *renewed,
                manner: *manner,
                careless: *careless,
                asked: *at,
                parked: Vec::new(),
                over: end,
                gave_up: None,
                hold: None,
            });
        } else if let Some(id) = section_of(event) {
            let section = places.get(&id).and_then(|place| sections.get_mut(*place));
            section.into_iter().for_each(|section: &mut Section| section.note(*at, event));
        }
    }
    let gone = ends_of_workers(records);
    for section in &mut sections {
        section.over = gone.get(&section.id.worker).copied().unwrap_or(end);
    }
    sections
}

impl Section {
    fn note(&mut self, at: Time, event: &Event) {
        match event {
            Event::Parked { from, .. } => self.parked.push(Span::new(*from, at)),
            Event::GaveUp { why, .. } => self.gave_up = Some((at, why.clone())),
            Event::Granted { deadline, token, .. } => {
                self.hold = Some(Hold::new(at, *deadline, *token));
            }
            _ => self.hold.iter_mut().for_each(|hold| hold.note(at, event)),
        }
    }
}

impl Hold {
    fn new(granted: Time, deadline: Time, token: Option<u64>) -> Self {
        Self {
            granted,
            deadline,
            lease: deadline.since(granted),
            tokens: token.into_iter().collect(),
            shared_from: None,
            renewed_untold: false,
            orphaned: false,
            told_gone: None,
            lost: None,
            withheld: None,
            write: None,
            releasing: None,
            released: None,
        }
    }

    fn note(&mut self, at: Time, event: &Event) {
        match event {
            Event::Downgrading { .. } => {
                self.shared_from = Some(at);
                self.renewed_untold = true;
            }
            Event::Extended { deadline, .. } => {
                self.extend(*deadline);
                self.renewed_untold = false;
            }
            Event::Lost { cause, deadline, .. } => {
                self.extend(*deadline);
                self.lost = Some(Loss { at, cause: cause.clone() });
            }
            Event::Orphaned { .. } => self.orphaned = true,
            Event::ToldGone { .. } => self.told_gone = self.told_gone.or(Some(at)),
            Event::Counted { token, .. } => self.tokens.extend(token),
            Event::TooOld { .. } => self.write = None,
            Event::Withheld { .. } => {
                self.withheld = Some(at);
                self.write = None;
            }
            Event::Writing { read, .. } => {
                self.write = Some(Write { read: *read, began: at, landed: None });
            }
            Event::Wrote { deadline, .. } => {
                self.extend(*deadline);
                self.write.iter_mut().for_each(|write| write.landed = Some(at));
            }
            Event::Releasing { deadline, .. } => {
                self.extend(*deadline);
                self.releasing = Some(at);
            }
            Event::Released { problem, .. } => self.released = Some((at, problem.clone())),
            _ => {}
        }
    }

    fn extend(&mut self, deadline: Time) {
        self.deadline = self.deadline.max(deadline);
    }
}

pub(super) fn ends_of_workers(records: &[Record]) -> HashMap<Worker, Time> {
    let ends = records.iter().filter_map(|record| match record.event {
        Event::WorkerKilled { worker } | Event::WorkerEnded { worker, .. } => {
            Some((worker, record.at))
        }
        _ => None,
    });
    ends.collect()
}

pub const fn section_of(event: &Event) -> Option<SectionId> {
    match event {
        Event::Asked { section, .. }
        | Event::GaveUp { section, .. }
        | Event::Parked { section, .. }
        | Event::Latching { section, .. }
        | Event::Latched { section, .. }
        | Event::Triggered { section, .. }
        | Event::Answered { section, .. }
        | Event::Granted { section, .. }
        | Event::Counted { section, .. }
        | Event::Orphaned { section }
        | Event::ToldGone { section }
        | Event::TooOld { section }
        | Event::Proclaiming { section, .. }
        | Event::Inscribing { section, .. }
        | Event::Inscribed { section, .. }
        | Event::CalledGuarded { section, .. }
        | Event::Downgrading { section }
        | Event::Extended { section, .. }
        | Event::Lost { section, .. }
        | Event::Withheld { section }
        | Event::Writing { section, .. }
        | Event::Wrote { section, .. }
        | Event::Releasing { section, .. }
        | Event::Released { section, .. } => Some(*section),
        _ => None,
    }
}
