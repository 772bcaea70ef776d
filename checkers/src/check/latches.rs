//! I14: a latch counts each count at most once, and each that was confirmed; it lets no waiter through before it
//! is at zero, and all of them soon after.
//!
//! Judged is what is certain: of a latch that was set once and is not deleted, for as long as its server kept its
//! data, its count is at least what was set less all that may have been counted by then, and at most what was
//! set less all that was confirmed before.

use std::time::Duration;

use super::{
    Invariant, Violation,
    wakeups::{POLL_CAP, SLACK},
};
use crate::{
    history::{History, Kind, LatchAnswer, LatchStep, LatchUse},
    spans::{Span, Spans},
    time::Time,
};

pub(crate) fn check(history: &History) -> Vec<Violation> {
    let latches = history.by_latch();
    let found = latches.iter().flat_map(|(latch, uses)| {
        let wrong = Counting::of(history, uses).into_iter().flat_map(|counting| counting.wrong());
        let kept = uses.iter().filter_map(|wait| kept_waiting(history, uses, wait));
        let what = |(span, what): (Span, String)| Violation {
            invariant: Invariant::Latches,
            lock: None,
            span,
            what: format!("{latch}: {what}"),
        };
        wrong.chain(kept).map(what).collect::<Vec<_>>()
    });
    found.collect()
}

/// A latch while its count is known within bounds.
struct Counting<'a> {
    uses: &'a [LatchUse],
    set_to: u64,
    known: Span,
}

impl<'a> Counting<'a> {
    fn of(history: &History, uses: &'a [LatchUse]) -> Option<Self> {
        let (set, set_to) = the_only_set(uses)?;
        let memories = history.weather.memories(set.on);
        let memory = memories.iter().find(|it| it.from <= set.began && set.began < it.to)?;
        let deletes = uses.iter().filter(|it| it.step == LatchStep::Delete);
        let end = deletes.map(|it| it.began).fold(memory.to, Time::min);
        let known = Span::new(set.ended(LatchAnswer::Done)?, end);
        Some(Self { uses, set_to, known })
    }

    fn wrong(&self) -> Vec<(Span, String)> {
        self.uses.iter().filter_map(|it| self.is_wrong(it)).collect()
    }

    fn is_wrong(&self, seen: &LatchUse) -> Option<(Span, String)> {
        let (at, answer) = seen.ended?;
        if seen.began < self.known.from || at >= self.known.to {
            return None;
        }
        let (least, most) = (self.least_at(at), self.most_at(seen.began));
        let span = Span::new(self.known.from, at);
        let id = seen.section;
        let wrong = |what: String| Some((span, what));
        match (seen.step, answer) {
            (LatchStep::Wait, LatchAnswer::Done) if least > 0 => {
                wrong(format!("{id} was let through at {least} or more"))
            }
            (LatchStep::Look, LatchAnswer::Count(count)) if !(least..=most).contains(&count) => {
                wrong(format!("{id} saw {count} where it was from {least} to {most}"))
            }
            (LatchStep::CountDown, LatchAnswer::Done) if most == 0 => {
                wrong(format!("{id} counted down what was at 0"))
            }
            (LatchStep::CountDown, LatchAnswer::NotDone) if least > 0 => {
                wrong(format!("{id} was told that it was at 0, and it was at {least} or more"))
            }
            _ => None,
        }
    }

    /// By then all are counted that were begun and may have been. A count that was told otherwise only when
    /// the server had forgotten the latch may have been counted before.
    fn least_at(&self, at: Time) -> u64 {
        let was_not = |it: &LatchUse| match it.ended {
            Some((told, LatchAnswer::NotDone | LatchAnswer::Failed)) => told < self.known.to,
            _ => false,
        };
        let may_count = |it: &&LatchUse| it.began <= at && !was_not(it);
        self.set_to.saturating_sub(self.count_downs().filter(may_count).count() as u64)
    }

    /// Those are counted that were confirmed before.
    fn most_at(&self, at: Time) -> u64 {
        let counted = |it: &&LatchUse| it.ended(LatchAnswer::Done).is_some_and(|end| end <= at);
        self.set_to.saturating_sub(self.count_downs().filter(counted).count() as u64)
    }

    fn count_downs(&self) -> impl Iterator<Item = &'a LatchUse> {
        self.uses.iter().filter(|it| it.step == LatchStep::CountDown)
    }
}

/// Of one that is set again, and has workers whose process came after, nothing is known.
fn the_only_set(uses: &[LatchUse]) -> Option<(&LatchUse, u64)> {
    let mut sets = uses.iter().filter_map(|it| match it.step {
        LatchStep::Set(count) => Some((it, count)),
        _ => None,
    });
    let only = sets.next()?;
    sets.next().is_none().then_some(only)
}

/// A waiter that is not let through though the latch is at zero, its server can be asked and its
/// process runs.
fn kept_waiting(history: &History, uses: &[LatchUse], wait: &LatchUse) -> Option<(Span, String)> {
    if wait.step != LatchStep::Wait {
        return None;
    }
    let worker = wait.section.worker;
    let open = || history.worker_ended(worker);
    let ended = wait.ended.map_or_else(open, |(at, _)| at);
    let since = at_zero_since(history, uses)?.max(wait.began);
    let healthy = history.weather.healthy_on(Kind::Lock, &[wait.on]);
    let awake =
        Spans::from_iter([Span::new(since, ended)]).without(&history.weather.asleep(worker));
    let longest = awake.intersection(&healthy).iter().max_by_key(|span| span.length())?;
    let brisk = Duration::from_millis(history.settings.brisk_ms);
    let bound = if brisk.is_zero() { POLL_CAP + SLACK } else { brisk };
    (longest.length() > bound).then(|| {
        let what = format!("{} was kept waiting at 0 for {:?}", wait.section, longest.length());
        (longest, what)
    })
}

/// From when on it is certain to be at zero for good.
fn at_zero_since(history: &History, uses: &[LatchUse]) -> Option<Time> {
    let is_set = uses.iter().any(|it| matches!(it.step, LatchStep::Set(_)));
    let Some((set, set_to)) = the_only_set(uses) else {
        return (!is_set).then_some(history.weather.run.from);
    };
    let was_set = set.ended.map(|(at, _)| at)?;
    let counted = {
        let mut ends: Vec<_> = uses
            .iter()
            .filter(|it| it.step == LatchStep::CountDown)
            .filter_map(|it| it.ended(LatchAnswer::Done))
            .collect();
        ends.sort_unstable();
        let last = usize::try_from(set_to).ok().and_then(|count| count.checked_sub(1));
        last.and_then(|last| ends.get(last).copied())
    };
    let deletes = uses.iter().filter(|it| it.step == LatchStep::Delete && it.began >= was_set);
    let deleted = deletes.filter_map(|it| match it.ended? {
        (at, LatchAnswer::Done) => Some(at),
        _ => None,
    });
    let memories = history.weather.memories(set.on);
    let lost = memories.iter().map(|memory| memory.from).filter(|from| *from > was_set);
    counted.into_iter().chain(deleted).chain(lost).min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{check::story::Story, history::Event};
    use LatchAnswer::{Count, Done, Failed, NotDone, Unknown};
    use LatchStep::{CountDown, Delete, Look, Set, Wait};

    /// What workers do, each step under a number of its own, and until when.
    fn told(steps: &[(u64, LatchStep, u64, LatchAnswer)]) -> Story {
        let mut story = Story::new();
        for (number, (began, step, ended, answer)) in steps.iter().enumerate() {
            let section = format!("w{number}.0/0#1").parse().unwrap();
            let latching = Event::Latching { section, latch: "l".into(), on: 1, step: *step };
            story = story.and(*began, latching);
            if *ended > 0 {
                story = story.and(*ended, Event::Latched { section, answer: *answer });
            }
        }
        story
    }

    fn found(steps: &[(u64, LatchStep, u64, LatchAnswer)]) -> Vec<String> {
        check(&told(steps).history()).into_iter().map(|found| found.what).collect()
    }

    const SET: (u64, LatchStep, u64, LatchAnswer) = (0, Set(2), 10, Done);
    const FIRST: (u64, LatchStep, u64, LatchAnswer) = (20, CountDown, 30, Done);

    #[test]
    fn whoever_is_let_through_before_zero_is_found() {
        let through = |second| found(&[SET, FIRST, (25, Wait, 90, Done), second]);
        assert_eq!(through((80, CountDown, 85, Done)), [""; 0]);
        assert_eq!(through((80, CountDown, 0, Done)), [""; 0], "it may have been counted");
        assert_eq!(through((80, CountDown, 95, Unknown)), [""; 0]);
        let early = ["l: w2.0/0#1 was let through at 1 or more"];
        assert_eq!(through((91, CountDown, 95, Done)), early);
        assert_eq!(through((80, Look, 85, Count(1))), early);
    }

    #[test]
    fn count_that_counted_twice_or_not_at_all_is_seen() {
        let sees = |count| found(&[SET, FIRST, (40, Look, 50, Count(count))]);
        assert_eq!(sees(1), [""; 0]);
        assert_eq!(sees(0), ["l: w2.0/0#1 saw 0 where it was from 1 to 1"]);
        assert_eq!(sees(2), ["l: w2.0/0#1 saw 2 where it was from 1 to 1"]);
        let unknown = (20, CountDown, 0, Unknown);
        for count in [0, 1] {
            assert_eq!(found(&[SET, FIRST, unknown, (40, Look, 50, Count(count))]), [""; 0]);
        }
    }

    #[test]
    fn more_counts_than_there_were_and_less_are_found() {
        let counts = |answer| (40, CountDown, 50, answer);
        assert_eq!(found(&[SET, FIRST, (31, CountDown, 35, Done), counts(NotDone)]), [""; 0]);
        let thrice = ["l: w3.0/0#1 counted down what was at 0"];
        assert_eq!(found(&[SET, FIRST, (31, CountDown, 35, Done), counts(Done)]), thrice);
        assert_eq!(found(&[SET, FIRST, counts(Failed), (60, Look, 70, Count(1))]), [""; 0]);
        // Its server has forgotten the latch before it was told.
        let forgotten =
            told(&[SET, FIRST, (40, CountDown, 150, NotDone), (60, Look, 70, Count(0))]);
        let forgotten = forgotten.forgetful().master_killed(90, 120, 1);
        assert_eq!(check(&forgotten.history()), []);
        let told = ["l: w2.0/0#1 was told that it was at 0, and it was at 1 or more"];
        assert_eq!(found(&[SET, FIRST, counts(NotDone)]), told);
    }

    #[test]
    fn deleted_and_forgotten_latches_let_everybody_through() {
        let through = (25, Wait, 90, Done);
        assert_eq!(found(&[SET, (50, Delete, 60, Done), through]), [""; 0]);
        assert_eq!(found(&[SET, (95, Delete, 99, Done), through]).len(), 1);
        let killed = |master| {
            let story = told(&[SET, through]).forgetful().master_killed(40, 80, master);
            check(&story.history()).len()
        };
        assert_eq!([killed(1), killed(0)], [0, 1]);
    }

    #[test]
    fn whoever_is_kept_waiting_at_zero_is_found() {
        let second = (40, CountDown, 50, Done);
        let waits = |until, answer| found(&[SET, FIRST, second, (25, Wait, until, answer)]).len();
        assert_eq!(waits(6_050, Done), 0);
        assert_eq!(waits(6_051, Done), 1);
        assert_eq!(waits(6_051, NotDone), 1, "whether or not it gave up");
        assert_eq!(waits(0, Done), 1, "or waits still");
        let story = told(&[SET, FIRST, second, (25, Wait, 0, Done)]);
        assert_eq!(check(&story.clone().stopped(3_000, 6_000, "w3.0").history()), []);
        assert_eq!(check(&story.clone().master_down(3_000, 6_000, 1).history()), []);
        assert_eq!(check(&story.clone().killed(5_000, "w3.0").history()), []);
        let mut brisk = story.killed(5_000, "w3.0").history();
        brisk.settings.brisk_ms = 500;
        assert_eq!(check(&brisk).len(), 1);
        assert_eq!(found(&[SET, FIRST, (25, Wait, 0, Done)]), [""; 0], "it is at 1");
    }

    #[test]
    fn of_a_latch_that_was_set_twice_nothing_is_known() {
        assert_eq!(found(&[SET, (12, Set(5), 15, Done), (25, Wait, 90, Done)]), [""; 0]);
    }
}
