//! I15: of one period no two runs are recorded, and none begins once one is; a run is told of only where one had
//! ended; and what is asked for while nothing disturbs it is recorded. In the end a record that was confirmed stands
//! on a majority of the servers, as one and the same.
//!
//! A server that forgets its data forgets records, so that these are judged for as long as none of the lock's has. Clocks that jump may have two hold the lock. Their *records* keep each other out all the same: each is
//! written only where its own hold stands.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use super::{Invariant, Violation, promise};
use crate::{
    history::{Event, History, JobPeriod, Record, RunAnswer, Section, SectionId, Trigger},
    spans::{Span, Spans},
    time::Time,
};

pub(crate) fn check(history: &History) -> Vec<Violation> {
    let sections = history.sections.iter().map(|section| (section.id, section)).collect();
    let all = history.by_period();
    let periods =
        all.iter().map(|(of, triggers)| Period { of: *of, triggers, sections: &sections });
    let found = periods.flat_map(|period| {
        let mut found = period.recorded_twice(history);
        found.extend(period.begun_again(history));
        found.extend(period.told_of_nothing());
        found.extend(period.not_recorded(history));
        found.extend(period.not_kept(history));
        found
    });
    found.collect()
}

/// All that asked for one period of a job.
struct Period<'a> {
    of: JobPeriod<'a>,
    triggers: &'a [Trigger],
    sections: &'a HashMap<SectionId, &'a Section>,
}

impl<'a> Period<'a> {
    fn recorded_twice(&self, history: &History) -> Vec<Violation> {
        let mut done: Vec<_> = self.done().collect();
        done.sort_by_key(|(_, at)| *at);
        let pairs = done.windows(2).filter_map(|pair| match *pair {
            [first, second] => Some((first, second)),
            _ => None,
        });
        let twice = pairs.filter_map(|((first, _), (second, at))| {
            let span = Span::new(first.at.min(second.at), at);
            let is_wrong =
                self.is_too_soon(history, first, second) && !has_forgotten(history, first, span);
            let what = format!("was recorded for {} and for {}", first.section, second.section);
            is_wrong.then(|| self.violation(span, &what))
        });
        twice.collect()
    }

    /// Work that begins after a record was confirmed.
    fn begun_again(&self, history: &History) -> Vec<Violation> {
        let again = self.triggers.iter().filter_map(|late| {
            let work = self.work(late)?;
            let began = work.hold.as_ref()?.granted;
            let recorded = self.done().filter(|(_, at)| *at < began);
            let (first, at) = recorded.max_by_key(|(_, at)| *at)?;
            let span = Span::new(first.at.min(late.at), began);
            let is_void =
                has_forgotten(history, first, span) || promise::is_void(history, work, span);
            let what =
                format!("was begun by {} after {} had recorded it", late.section, first.section);
            (!is_void && self.is_too_soon(history, first, late))
                .then(|| self.violation(Span::new(at, began), &what))
        });
        again.collect()
    }

    /// Whether one run leaves no room for the next. The first began after it was triggered, and that is all that is
    /// certain: the second then began so long after, by the clock of a server.
    fn is_too_soon(&self, history: &History, first: &Trigger, second: &Trigger) -> bool {
        let began = self.work(second).and_then(|work| Some(work.hold.as_ref()?.granted));
        let Some(began) = began.filter(|_| !first.every.is_zero()) else { return true };
        let set =
            history.within(Span::new(first.at, began)).iter().map(|record| match record.event {
                Event::ClockJumped { by_ms, .. } => Duration::from_millis(by_ms.unsigned_abs()),
                _ => Duration::ZERO,
            });
        began + set.sum::<Duration>() < first.at + first.every * 98 / 100
    }

    /// "Not due" where no work can have been recorded.
    fn told_of_nothing(&self) -> Vec<Violation> {
        let had_ended = |it: &Trigger, by: Time| {
            let work = self.work(it).and_then(|work| work.hold.as_ref()?.releasing);
            work.is_some_and(|end| end <= by) && it.ended(&RunAnswer::Failed).is_none()
        };
        let told = self.triggers.iter().filter_map(|told| {
            let at = told.ended(&RunAnswer::NotDue)?;
            let is_of_nothing = !self.triggers.iter().any(|it| had_ended(it, at));
            let what = format!("was not due for {}, and had not been run", told.section);
            is_of_nothing.then(|| self.violation(Span::new(told.at, at), &what))
        });
        told.collect()
    }

    /// What was asked for while nothing was broken, and is not known to be recorded. A lease that is not renewed may
    /// be too short for its work.
    fn not_recorded(&self, history: &History) -> Vec<Violation> {
        let open = self.triggers.iter().filter_map(|it| {
            let (at, answer) = it.ended.as_ref()?;
            let is_odd = match answer {
                RunAnswer::Lost => self.work(it).is_none_or(|work| work.renewed),
                RunAnswer::Unrecorded | RunAnswer::NotBegun(_) => true,
                _ => false,
            };
            let span = Span::new(it.at, *at);
            let what = format!("was asked for undisturbed by {}: {answer:?}", it.section);
            (is_odd && was_undisturbed(history, it, span)).then(|| self.violation(span, &what))
        });
        open.collect()
    }

    /// A record that was confirmed, and is not where it should be when all masters of its lock are looked at.
    fn not_kept(&self, history: &History) -> Option<Violation> {
        let (lock, period) = self.of;
        let (first, at) = self.done().find(|(it, _)| it.every.is_zero())?;
        let mut masters = 0;
        let mut kept = BTreeMap::<_, usize>::new();
        for Record { event, .. } in &history.records {
            if let Event::Records { lock: of, runs, .. } = event
                && of == lock
            {
                masters += 1;
                let run = runs.iter().find(|(of, _)| of == period);
                run.into_iter().for_each(|(_, run)| *kept.entry(run).or_default() += 1);
            }
        }
        let all = if first.on.is_empty() { history.settings.masters } else { first.on.len() };
        let span = Span::new(first.at, history.weather.run.to);
        let is_kept = kept.values().any(|on| *on > all / 2);
        (masters == all && !is_kept && !has_forgotten(history, first, span)).then(|| {
            let what = format!(
                "was recorded for {} and is on {:?} of {all}",
                first.section,
                kept.values()
            );
            self.violation(Span::new(first.at, at), &what)
        })
    }

    /// Those whose run is recorded by what they were told, and when.
    fn done(&self) -> impl Iterator<Item = (&'a Trigger, Time)> {
        self.triggers.iter().filter_map(|it| Some((it, it.ended(&RunAnswer::Done)?)))
    }

    fn work(&self, of: &Trigger) -> Option<&'a Section> {
        self.sections.get(&of.section).copied()
    }

    fn violation(&self, span: Span, what: &str) -> Violation {
        let (lock, period) = self.of;
        Violation {
            invariant: Invariant::Periods,
            lock: Some(lock.to_owned()),
            span,
            what: format!("{period} of {lock} {what}"),
        }
    }
}

/// Whether a server that may have a record has lost its data.
fn has_forgotten(history: &History, of: &Trigger, span: Span) -> bool {
    let is_on = |master| of.on.is_empty() || of.on.contains(&master);
    let mut masters = history.weather.masters().iter().enumerate();
    masters.any(|(master, outages)| {
        is_on(master) && outages.forgot.iter().any(|loss| loss.overlaps(span))
    })
}

/// Whether enough servers could be asked, and the process ran, all the time; and nothing was done to anything else.
fn was_undisturbed(history: &History, it: &Trigger, span: Span) -> bool {
    let calm = Spans::from_iter([history.weather.calm]);
    let is_calm = calm.within(span) == span.length()
        || history.records.iter().any(|record| record.event == Event::Undisturbed);
    let healthy = history.weather.healthy_on(it.kind, &it.on);
    let asleep = history.weather.asleep(it.section.worker);
    is_calm && healthy.without(&asleep).within(span) == span.length()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{check::story::Story, history::Kind};
    use RunAnswer::{Done, Dropped, Failed, Lost, NotBegun, NotDue, Unrecorded};

    /// One that is triggered, begins and ends its work, unless those are 0, and is told.
    type Told = (u64, u64, u64, u64, RunAnswer);

    fn told(runs: &[Told]) -> Story {
        told_every(0, runs)
    }

    fn told_every(every_ms: u64, runs: &[Told]) -> Story {
        let mut story = Story::new();
        for (number, (at, began, ended, answered, answer)) in runs.iter().enumerate() {
            let id = format!("w{number}.0/0#1");
            let section = id.parse().unwrap();
            let (lock, period) = ("red-a".to_owned(), "noon".to_owned());
            let (kind, on) = (Kind::RedLock, Vec::new());
            story = story.and(*at, Event::Triggered { section, lock, period, kind, on, every_ms });
            story = story.section(&id, |s| {
                let s = s.asked(*at);
                let s = if *began > 0 { s.granted(*began, 5_000) } else { s };
                if *ended > 0 { s.released(*ended) } else { s }
            });
            let answer = answer.clone();
            story = story.and(*answered, Event::Answered { section, answer });
        }
        story
    }

    fn found(runs: &[Told]) -> Vec<String> {
        check(&told(runs).history()).into_iter().map(|found| found.what).collect()
    }

    const FIRST: Told = (0, 10, 20, 25, Done);

    #[test]
    fn two_recorded_runs_of_a_period_are_found() {
        assert_eq!(found(&[FIRST, (0, 0, 0, 30, NotDue), (40, 0, 0, 50, NotDue)]), [""; 0]);
        let second = (0, 22, 24, 30, Done);
        let twice = "noon of red-a was recorded for w0.0/0#1 and for w1.0/0#1";
        assert_eq!(found(&[FIRST, second.clone()]), [twice]);
        let third = (0, 23, 24, 35, Done);
        assert_eq!(found(&[FIRST, second.clone(), third]).len(), 2);
        let forgot = |at, master| told(&[FIRST, second.clone()]).and(at, Event::Forgot { master });
        assert_eq!(check(&forgot(22, 1).history()), [], "it may have had the record");
        assert_eq!(check(&forgot(90, 1).history()).len(), 1, "after both");
    }

    #[test]
    fn runs_without_a_record_may_be_repeated() {
        for answer in [Failed, Dropped] {
            assert_eq!(found(&[(0, 5, 9, 9, answer), FIRST]), [""; 0]);
        }
        for answer in [Lost, Unrecorded, NotBegun("an outage".into())] {
            assert_eq!(found(&[(0, 5, 9, 9, answer), FIRST]), [""; 0]);
        }
    }

    #[test]
    fn work_that_begins_after_a_record_is_found_whatever_becomes_of_it() {
        let late = |began, answer| found(&[FIRST, (5, began, 40, 50, answer)]);
        let what = "noon of red-a was begun by w1.0/0#1 after w0.0/0#1 had recorded it";
        assert_eq!(late(30, Failed), [what]);
        assert_eq!(late(24, Failed), [""; 0], "its record was not confirmed yet");
        assert_eq!(late(30, Done).len(), 2);
    }

    #[test]
    fn not_due_is_told_only_where_a_run_had_ended() {
        let what = ["noon of red-a was not due for w0.0/0#1, and had not been run"];
        let not_due = |at| (0, 0, 0, at, NotDue);
        assert_eq!(found(&[not_due(9)]), what);
        assert_eq!(found(&[not_due(9), FIRST]), what, "not yet");
        assert_eq!(found(&[not_due(21), FIRST]), [""; 0], "its record is on the way");
        assert_eq!(found(&[not_due(50), (0, 5, 9, 10, Failed)]), what);
        // It was recorded, and its process did not live to hear of that.
        let mut unheard = told(&[not_due(50), FIRST]).history();
        unheard
            .records
            .retain(|record| !matches!(record.event, Event::Answered { answer: Done, .. }));
        assert_eq!(check(&unheard), []);
    }

    #[test]
    fn what_nothing_disturbs_is_recorded() {
        for answer in [Lost, Unrecorded, NotBegun("an outage".into())] {
            let run = (0, 5, 9, 20, answer);
            let faulty = || told(std::slice::from_ref(&run));
            assert_eq!(check(&faulty().history()), []);
            assert_eq!(check(&faulty().and(0, Event::Undisturbed).history()).len(), 1);
            assert_eq!(check(&faulty().calm_from(1).history()), [], "it was asked for before");
            let story = || faulty().calm_from(0);
            assert_eq!(check(&story().history()).len(), 1);
            assert_eq!(check(&story().master_down(3, 8, 0).history()).len(), 1, "one of three");
            let mut too_short = story().history();
            too_short.sections.iter_mut().for_each(|section| section.renewed = false);
            let is_lost = matches!(run, (.., Lost));
            assert_eq!(check(&too_short).len(), usize::from(!is_lost));
            let two = story().master_down(3, 8, 0).master_down(7, 9, 1);
            assert_eq!(check(&two.history()), []);
            assert_eq!(check(&story().stopped(4, 6, "w0.0").history()), []);
        }
    }

    #[test]
    fn record_that_was_confirmed_is_on_a_majority_in_the_end() {
        let left = |runs: [&str; 3], story: Story| {
            let story = runs.iter().enumerate().fold(story, |story, (master, run)| {
                let runs = vec![("noon".to_owned(), (*run).to_owned())];
                let runs = if run.is_empty() { Vec::new() } else { runs };
                story.and(9_000, Event::Records { master, lock: "red-a".into(), runs })
            });
            check(&story.history()).len()
        };
        let done = || told(&[FIRST]);
        assert_eq!(left(["a", "a", "a"], done()), 0);
        assert_eq!(left(["a", "b", "a"], done()), 0, "one that was not confirmed");
        assert_eq!(left(["a", "", ""], done()), 1);
        assert_eq!(left(["a", "b", ""], done()), 1);
        assert_eq!(left(["a", "", ""], done().and(500, Event::Forgot { master: 1 })), 0);
        let unconfirmed = told(&[(0, 10, 20, 25, Dropped)]);
        assert_eq!(left(["a", "", ""], unconfirmed), 0);
    }

    #[test]
    fn runs_that_are_due_by_time_leave_so_much_between_their_starts() {
        let late = |began, answer| {
            told_every(100, &[FIRST, (began - 1, began, began + 5, began + 9, answer)])
        };
        assert_eq!(check(&late(101, Done).history()), []);
        assert_eq!(check(&late(60, Done).history()).len(), 2, "recorded, and begun");
        assert_eq!(check(&late(60, Failed).history()).len(), 1, "begun");
        let jumped = |by_ms| late(60, Done).and(40, Event::ClockJumped { master: 0, by_ms });
        assert_eq!(check(&jumped(50).history()), []);
        assert_eq!(
            check(&jumped(5).history()).len(),
            1,
            "two may hold the lock, and record nothing"
        );
        assert_eq!(check(&late(60, Done).and(50, Event::Forgot { master: 1 }).history()), []);
    }
}
