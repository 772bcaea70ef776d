//! What was done to the processes, and when: needed to know what may be expected of the locks.
//! Pure.

use std::{collections::HashMap, hash::Hash, time::Duration};

use super::{Event, Kind, Record, Settings, Worker};
use crate::{
    spans::{Span, Spans, at_least},
    time::Time,
};

/// When each master was down and each worker could not run.
#[derive(Debug)]
pub struct Weather {
    /// The whole run, from the beginning of the traffic.
    pub run: Span,
    /// The part of it in which no fault was in force any more; empty if it was not reached.
    pub calm: Span,
    lossy: bool,
    /// Whether locks on one master mind a quarantine too.
    quarantine_all: bool,
    masters: Vec<Outages>,
    stopped: HashMap<Worker, Spans>,
    stalled: HashMap<Worker, Spans>,
    denied: HashMap<String, Spans>,
}

/// When a master was killed or lost its data, when it was of no use, and when its vote did not count.
#[derive(Debug, Default)]
pub struct Outages {
    pub killed: Spans,
    pub frozen: Spans,
    /// Up, and kept out of votes for what it may have forgotten.
    pub quarantined: Spans,
    /// In each of these it lost its data, some time.
    pub forgot: Spans,
}

impl Weather {
    pub(crate) fn of(records: &[Record], settings: &Settings) -> Self {
        let masters = settings.masters;
        let end = records.last().map_or(Time::from_micros(0), |record| record.at);
        let at = |wanted: fn(&Event) -> bool| {
            let found = records.iter().find(|record| wanted(&record.event));
            found.map_or(end, |record| record.at)
        };
        Self {
            run: Span::new(at(|event| matches!(event, Event::RunBegan(_))), end),
            calm: Span::new(at(|event| *event == Event::Calm), end),
            lossy: settings.lossy,
            quarantine_all: settings.quarantine_all,
            masters: (0..masters)
                .map(|master| Outages::of(records, settings, master, end))
                .collect(),
            stopped: spans_by(stops(records, end)),
            stalled: spans_by(stalls(records).chain(last_stalls(records))),
            denied: spans_by(denials(records)),
        }
    }

    pub fn masters(&self) -> &[Outages] {
        &self.masters
    }

    /// When enough masters for a lock of `kind` on all of them were up.
    pub fn healthy(&self, kind: Kind) -> Spans {
        self.healthy_on(kind, &[])
    }

    /// When enough of the masters `on` were up; empty: of all.
    pub fn healthy_on(&self, kind: Kind, on: &[usize]) -> Spans {
        let all: Spans = [if self.lossy { self.calm } else { self.run }].into_iter().collect();
        let masters = self.masters.iter().enumerate();
        let members = masters.filter(|(master, _)| on.is_empty() || on.contains(master));
        let members: Vec<_> = members.map(|(_, outages)| outages).collect();
        let kept_out = kind.keeps_out(members.len(), self.quarantine_all);
        let up = members.iter().map(|outages| all.without(&outages.down(kept_out)));
        let up: Vec<_> = up.collect();
        at_least(kind.need(up.len()), up.iter().flat_map(Spans::iter))
    }

    /// When all of the masters `on` were up, whether their votes counted or not; empty: all there are.
    pub fn up(&self, on: &[usize]) -> Spans {
        let masters = self.masters.iter().enumerate();
        let members = masters.filter(|(master, _)| on.is_empty() || on.contains(master));
        members.fold(Spans::from_iter([self.run]), |up, (_, outages)| {
            up.without(&outages.killed).without(&outages.frozen)
        })
    }

    /// When a worker did not run: it was stopped, or the machine was too busy.
    pub fn asleep(&self, worker: Worker) -> Spans {
        self.stopped(worker).union(self.stalled.get(&worker).unwrap_or(&Spans::default()))
    }

    /// When a master kept what it was told: from one loss of its data until the next.
    pub fn memories(&self, master: usize) -> Spans {
        let all = Spans::from_iter([self.run]);
        self.masters.get(master).map_or_else(Spans::default, |outages| all.without(&outages.forgot))
    }

    /// Whether any worker was refused the key of a lock at any time in `span`.
    pub fn was_denied(&self, lock: &str, span: Span) -> bool {
        self.denied.get(lock).is_some_and(|denied| !denied.within(span).is_zero())
    }

    pub fn stopped(&self, worker: Worker) -> Spans {
        self.stopped.get(&worker).cloned().unwrap_or_default()
    }

    /// The longest time for which a worker that was not stopped did not run.
    pub fn longest_stall(&self) -> std::time::Duration {
        let own = |(worker, stalls): (&Worker, &Spans)| {
            let unasked = stalls.without(&self.stopped(*worker));
            unasked.iter().map(Span::length).max()
        };
        self.stalled.iter().filter_map(own).max().unwrap_or_default()
    }
}

impl Outages {
    fn of(records: &[Record], settings: &Settings, master: usize, end: Time) -> Self {
        let outages = || outages(records, master, end);
        let killed = || outages().filter(|(killed, _)| *killed).map(|(_, span)| span);
        let quarantine = settings.quarantine();
        let kept_out = |down: Span| Span::new(down.to, down.to + quarantine + UPTIME);
        let told = records.iter().filter(
            |record| matches!(record.event, Event::Waits { master: other, .. } if other == master),
        );
        let told = told.map(|record| Span::new(record.at, record.at + quarantine + UPTIME));
        Self {
            killed: killed().collect(),
            frozen: outages().filter(|(killed, _)| !killed).map(|(_, span)| span).collect(),
            quarantined: killed()
                .filter(|_| !quarantine.is_zero())
                .map(kept_out)
                .chain(told)
                .collect(),
            forgot: if settings.forgetful {
                killed().collect()
            } else {
                losses(records, master).collect()
            },
        }
    }

    fn down(&self, kept_out: bool) -> Spans {
        let down = self.killed.union(&self.frozen);
        if kept_out { down.union(&self.quarantined) } else { down }
    }
}

/// Each of them told as it happened.
fn losses(records: &[Record], master: usize) -> impl Iterator<Item = Span> + '_ {
    let lost = records.iter().filter(move |record| record.event == Event::Forgot { master });
    lost.map(|record| Span::new(record.at, record.at + Duration::from_micros(1)))
}

/// A server tells its uptime in whole seconds, and a client takes it for one less.
const UPTIME: Duration = Duration::from_secs(2);

fn outages(
    records: &[Record],
    master: usize,
    end: Time,
) -> impl Iterator<Item = (bool, Span)> + '_ {
    records.iter().enumerate().filter_map(move |(place, record)| {
        let Event::MasterDown { master: other, killed } = record.event else { return None };
        if other != master {
            return None;
        }
        let up = Event::MasterUp { master };
        Some((killed, Span::new(record.at, next(records, place, &up).unwrap_or(end))))
    })
}

fn stops(records: &[Record], end: Time) -> impl Iterator<Item = (Worker, Span)> + '_ {
    records.iter().enumerate().filter_map(move |(place, record)| {
        let Event::WorkerStopped { worker } = record.event else { return None };
        let goes_on = Event::WorkerContinued { worker };
        Some((worker, Span::new(record.at, next(records, place, &goes_on).unwrap_or(end))))
    })
}

fn stalls(records: &[Record]) -> impl Iterator<Item = (Worker, Span)> + '_ {
    records.iter().filter_map(|record| match record.event {
        Event::Stalled { worker, from } => Some((worker, Span::new(from, record.at))),
        _ => None,
    })
}

/// From the last pulse of a worker until it was killed: it is not known whether it was run.
fn last_stalls(records: &[Record]) -> impl Iterator<Item = (Worker, Span)> + '_ {
    records.iter().enumerate().filter_map(|(place, record)| {
        let Event::WorkerKilled { worker } = record.event else { return None };
        let before = records.get(..place)?;
        let last = before.iter().rfind(|record| record.event == Event::Pulse { worker })?;
        Some((worker, Span::new(last.at, record.at)))
    })
}

fn next(records: &[Record], place: usize, event: &Event) -> Option<Time> {
    let later = records.get(place..).unwrap_or_default();
    later.iter().find(|record| record.event == *event).map(|record| record.at)
}

fn denials(records: &[Record]) -> impl Iterator<Item = (String, Span)> + '_ {
    records.iter().filter_map(|record| match &record.event {
        Event::Denied { lock, from } => Some((lock.clone(), Span::new(*from, record.at))),
        _ => None,
    })
}

fn spans_by<K: Eq + Hash>(spans: impl Iterator<Item = (K, Span)>) -> HashMap<K, Spans> {
    let mut all = HashMap::<_, Vec<_>>::new();
    for (key, span) in spans {
        all.entry(key).or_default().push(span);
    }
    all.into_iter().map(|(key, spans)| (key, spans.into_iter().collect())).collect()
}
