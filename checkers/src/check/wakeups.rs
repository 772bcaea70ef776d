//! I4: while a lock is free and enough masters are up, a waiter for it is served within
//! `lease + poll cap + slack`; and in calm weather, with few exceptions, at once.
//!
//! Looked at from the lock: the time in which it was free, enough masters were up and at least one
//! process that was running wanted it must have no long stretch. The lease is in the bound because
//! a killed process leaves its key behind, the poll cap because that is how long a waiter sleeps
//! at most that was never woken.
//!
//! That bound holds without a single wake-up too: a waiter also looks again when the holder's
//! lease ends. So there is a budget for the calm at the end of a run, when nothing but a lost
//! wake-up lets a lock lie free for as long as the shortest lease.

use std::time::Duration;

use super::{Invariant, Violation};
use crate::{
    history::{History, Kind, Section},
    quantiles::Quantiles,
    spans::{Span, Spans},
};

// proves: wake-up-is-hint, offer-taken-or-back
pub(crate) fn check(history: &History) -> Vec<Violation> {
    let long = idle_stretches(history)
        .filter(|(lock, stretch)| stretch.length() > bound(history) + absence(history, lock));
    let long = long.map(|(lock, stretch)| unserved(lock, stretch));
    let late = late_after_a_failover(history);
    long.chain(sluggish(history)).chain(slow(history)).chain(late).collect()
}

/// Where nothing happens but a failover, a lock that is free and wanted is granted once the replica that was
/// promoted has waited.
fn late_after_a_failover(history: &History) -> Vec<Violation> {
    let limit = Duration::from_millis(history.settings.failover_ms);
    if limit.is_zero() {
        return Vec::new();
    }
    let stretches = by_lock(history).flat_map(|(lock, sections)| {
        let up = sections.first().map(|section| history.weather.up(&section.on));
        let wanted = wanted_and_free(history, &sections).intersection(&up.unwrap_or_default());
        let limit = limit + absence(history, lock);
        let long = wanted.iter().filter(|stretch| stretch.length() > limit);
        long.map(|stretch| unserved(lock, stretch)).collect::<Vec<_>>()
    });
    stretches.collect()
}

/// When a lock was free and wanted although enough masters were up.
pub fn idle_stretches(history: &History) -> impl Iterator<Item = (&str, Span)> {
    by_lock(history).flat_map(|(lock, sections)| {
        let idle = idle(history, &sections);
        idle.iter().map(|stretch| (lock, stretch)).collect::<Vec<_>>()
    })
}

/// But for locks that have some members in common: of one that is free by its name another may have, or keep,
/// a member.
fn by_lock(history: &History) -> impl Iterator<Item = (&str, Vec<&Section>)> {
    history.by_lock().filter(|(_, sections)| sections.iter().all(|one| one.keys.is_empty()))
}

/// How long these stretches were in the calm, once every lease of a killed process was over.
pub fn calm_stretches(history: &History) -> Quantiles {
    let settled = history.weather.calm.from + history.settings.longest_lease();
    let stretches = idle_stretches(history).filter(|(_, stretch)| stretch.from >= settled);
    Quantiles::of(stretches.map(|(lock, stretch)| while_all_ran(history, lock, stretch)))
}

/// How much of a stretch is left without the time in which the process of one that waited did not run: it
/// may have been granted the lock without knowing.
fn while_all_ran(history: &History, lock: &str, stretch: Span) -> Duration {
    let waited = |section: &&Section| section.lock == lock && section.wait().overlaps(stretch);
    let waiting = history.sections.iter().filter(waited);
    let asleep = waiting
        .flat_map(|section| history.weather.asleep(section.id.worker).iter().collect::<Vec<_>>());
    stretch.length() - asleep.collect::<Spans>().within(stretch)
}

fn idle(history: &History, sections: &[&Section]) -> Spans {
    let Some(first) = sections.first() else { return Spans::default() };
    let healthy = history.weather.healthy_on(first.kind, &first.on);
    wanted_and_free(history, sections).intersection(&healthy)
}

fn wanted_and_free(history: &History, sections: &[&Section]) -> Spans {
    let wanted = sections.iter().flat_map(|section| {
        let wait: Spans = [section.wait()].into_iter().collect();
        // Those that stand behind one that is not looked after cannot be served either.
        let of_worker = sections.iter().filter(|other| other.id.worker == section.id.worker);
        let parked: Spans = of_worker.flat_map(|other| other.parked.iter().copied()).collect();
        let awake = wait.without(&history.weather.asleep(section.id.worker)).without(&parked);
        awake.iter().collect::<Vec<_>>()
    });
    let wanted: Spans = wanted.collect();
    let occupied: Spans = sections.iter().filter_map(|section| section.occupation()).collect();
    wanted.without(&occupied)
}

/// Where nothing but a lost wake-up lets a lock lie free for long. A `MultiLock` that keeps the
/// members that it has already does so too.
fn slow(history: &History) -> Vec<Violation> {
    let brisk = Duration::from_millis(history.settings.brisk_ms);
    if brisk.is_zero() {
        return Vec::new();
    }
    let long = idle_stretches(history).filter(|(_, stretch)| stretch.length() > brisk);
    let of_multi = |lock: &str| {
        let section = history.sections.iter().find(|section| section.lock == lock);
        section.is_some_and(|section| section.kind == Kind::MultiLock)
    };
    // What may not be released stands until its lease is over.
    let may_stand = |lock: &str, stretch: Span| {
        let before = stretch.from - history.settings.longest_lease();
        history.weather.was_denied(lock, Span::new(before, stretch.to))
    };
    long.filter(|(lock, stretch)| !of_multi(lock) && !may_stand(lock, *stretch))
        .filter(|(lock, stretch)| !outlives_one_who_shared_it(history, lock, *stretch))
        .filter(|(lock, stretch)| !follows_a_lease_that_ended(history, lock, *stretch, brisk))
        .map(|(lock, stretch)| unserved(lock, stretch))
        .collect()
}

/// Whether a lock with a queue is free since a lease ended, which is not announced. The next in line may
/// have looked last when it was not free, and was told nothing of that lease.
fn follows_a_lease_that_ended(
    history: &History,
    lock: &str,
    stretch: Span,
    brisk: Duration,
) -> bool {
    let ended = |section: &Section| {
        let hold = section.hold.as_ref()?;
        let by_lease = hold.orphaned || hold.deadline < hold.releasing.unwrap_or(section.over);
        (by_lease && section.lock == lock).then(|| section.occupation()).flatten()
    };
    let before = Span::new(stretch.from - LOOK, stretch.to + brisk);
    history.settings.in_order_ms > 0
        && stretch.length() <= LOOK + brisk
        && history.sections.iter().filter_map(ended).any(|held| !held.common(before).is_empty())
}

/// Whether the key may stand for a lease although it has no holder, since one that shared it went
/// without a word, or too late: as long as others have it, they prolong it for that one.
fn outlives_one_who_shared_it(history: &History, lock: &str, stretch: Span) -> bool {
    let went = |section: &Section| {
        let hold = section.hold.as_ref()?;
        let was_released = matches!(hold.released, Some((_, None)));
        let shared = section.shared || hold.shared_from.is_some();
        (shared && section.lock == lock && !was_released).then(|| section.end_of_use())
    };
    history.sections.iter().filter_map(went).any(|at| at <= stretch.to)
}

fn unserved(lock: &str, stretch: Span) -> Violation {
    Violation {
        invariant: Invariant::NoLostWakeUp,
        lock: Some(lock.to_owned()),
        span: stretch,
        what: format!(
            "{lock} was free, wanted and to be had for {:?} without being granted",
            stretch.length()
        ),
    }
}

fn sluggish(history: &History) -> Option<Violation> {
    let stretches = calm_stretches(history);
    (stretches.count >= ENOUGH && stretches.p99 > BUDGET).then(|| Violation {
        invariant: Invariant::NoLostWakeUp,
        lock: None,
        span: history.weather.calm,
        what: format!("in calm weather locks were free but wanted: {stretches}"),
    })
}

/// How long a waiter sleeps at most before it looks again, whatever it missed.
pub const POLL_CAP: Duration = Duration::from_secs(5);
/// How long a waiter in a queue sleeps at most.
const LOOK: Duration = Duration::from_secs(2);
/// For reconnecting after a fault, and for a machine that has other things to do.
pub const SLACK: Duration = Duration::from_secs(1);
/// How long a lock that is wanted and to be had may lie free.
pub fn bound(history: &History) -> Duration {
    let settings = &history.settings;
    settings.longest_lease() + settings.quarantine() + POLL_CAP + SLACK
}

/// How long it may be left to those that stood in its queue when they died.
fn absence(history: &History, lock: &str) -> Duration {
    let has_queue = history.sections.iter().any(|section| section.queued && section.lock == lock);
    Duration::from_millis(if has_queue { history.settings.absent_ms } else { 0 })
}
/// For 99 of 100 stretches in the calm: less than what is left of the shortest lease after a short
/// section, and a hundred times what a wake-up takes.
pub const BUDGET: Duration = Duration::from_millis(250);
/// Of fewer stretches the hundredth is one bad moment of the machine.
const ENOUGH: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        check::story::{Story, Told, ms},
        history::{Event, Refusal},
    };

    /// A waiter from 1 s to 9 s on a lock that was released at 1.1 s.
    fn left_waiting() -> Story {
        Story::new()
            .section("w0.0/0#1", |s| s.asked(0).granted(5, 2_000).released(1_100))
            .section("w1.0/0#1", |s| s.asked(1_000).granted(9_000, 9_900).released(9_100))
    }

    #[test]
    fn key_that_one_who_shared_it_left_behind_may_lie_free_for_a_lease() {
        let story = |released: bool| {
            let first = Story::new().section("w0.0/0#1", |s| {
                let held = s.shared().asked(0).granted(5, 2_000);
                if released { held.released(900) } else { held.lost(900) }
            });
            let waits = |s: Told| s.asked(500).granted(2_500, 3_500).released(2_600);
            let mut history = first.section("w1.0/0#1", waits).history();
            history.settings.brisk_ms = 500;
            history
        };
        assert_eq!(check(&story(true)).len(), 1);
        assert_eq!(check(&story(false)), []);
    }

    #[test]
    fn who_is_next_in_a_queue_may_be_late_for_a_lease_that_ended_and_for_no_release() {
        let found = |released: u64, served: u64, in_order_ms: u64| {
            let mut history = Story::new()
                .section("w0.0/0#1", |s| s.asked(0).granted(5, 1_000).released(released))
                .section("w1.0/0#1", |s| s.asked(500).granted(served, 4_500).released(served + 9))
                .history();
            (history.settings.brisk_ms, history.settings.in_order_ms) = (500, in_order_ms);
            check(&history).len()
        };
        assert_eq!(found(1_100, 3_000, 20), 0);
        assert_eq!(found(900, 3_000, 20), 1, "it was released");
        assert_eq!(found(1_100, 3_000, 0), 1, "all who wait know when the lease ends");
        assert_eq!(found(1_100, 3_501, 20), 1, "for longer than anybody sleeps");
    }

    #[test]
    fn a_waiter_that_nobody_woke_is_found() {
        let found = check(&left_waiting().history());
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].span, Span::new(ms(1_100), ms(9_000)));
    }

    #[test]
    fn a_waiter_that_was_never_served_is_found() {
        let story = Story::new().section("w1.0/0#1", |s| s.asked(1_000));
        assert_eq!(check(&story.clone().history()).len(), 1);
        assert_eq!(check(&story.killed(3_000, "w1.0").history()), []);
    }

    #[test]
    fn a_hold_in_between_makes_the_waits_short() {
        let hold = |story: Story| {
            story.section("w2.0/0#1", |s| s.asked(4_000).granted(5_000, 6_000).released(5_500))
        };
        assert_eq!(check(&hold(left_waiting()).history()), []);
    }

    #[test]
    fn nobody_is_served_without_a_quorum() {
        let half = left_waiting().master_down(2_000, 6_000, 0);
        assert_eq!(check(&half.clone().history()).len(), 1);
        assert_eq!(check(&half.master_down(3_000, 5_000, 1).history()), []);
    }

    #[test]
    fn a_multi_lock_needs_every_master() {
        let story = Story::new().section("w1.0/0#1", |s| s.of(Kind::MultiLock).asked(1_000));
        assert_eq!(check(&story.clone().history()).len(), 1);
        assert_eq!(check(&story.master_down(4_000, 4_500, 2).history()), []);
    }

    #[test]
    fn nobody_is_served_behind_one_who_is_not_looked_after() {
        let parked = |worker: &str| {
            let (section, from) = (format!("{worker}/1#1").parse().expect("a name"), ms(1_500));
            left_waiting()
                .section(&format!("{worker}/1#1"), |s| s.asked(1_400).granted(9_200, 9_900))
                .and(8_000, Event::Parked { section, from })
        };
        assert_eq!(check(&parked("w1.0").history()), []);
        assert_eq!(check(&parked("w2.0").history()).len(), 1, "of another process");
    }

    #[test]
    fn a_brisk_run_allows_no_long_stretch_but_an_orphans() {
        let found = |story: Story| {
            let mut history = story.history();
            history.settings.brisk_ms = 500;
            check(&history).len()
        };
        let waits = |story: Story| {
            story.section("w1.0/0#1", |s| s.asked(1_000).granted(1_700, 2_000).released(1_710))
        };
        let first = |tell: fn(Told) -> Told| {
            Story::new().section("w0.0/0#1", |s| tell(s.asked(0).granted(5, 1_700)))
        };
        assert_eq!(found(waits(first(|s| s.released(1_100)))), 1);
        assert_eq!(found(waits(first(|s| s.released(1_300)))), 0);
        assert_eq!(found(waits(first(|s| s.orphaned(1_100)))), 0);
    }

    /// Its last renewal may have reached the servers, and the holder was not told.
    #[test]
    fn the_key_of_a_renewed_orphan_may_stand_for_another_lease() {
        let found = |waits_until: u64| {
            let mut history = Story::new()
                .section("w0.0/0#1", |s| s.asked(0).granted(0, 2_000).orphaned(1_500))
                .section("w1.0/0#1", |s| s.asked(1_000).granted(waits_until, waits_until + 900))
                .history();
            history.settings.brisk_ms = 500;
            check(&history).len()
        };
        assert_eq!(found(3_600), 0);
        assert_eq!(found(4_300), 1);
    }

    #[test]
    fn a_process_that_does_not_run_cannot_be_served() {
        assert_eq!(check(&left_waiting().stopped(3_000, 6_000, "w1.0").history()), []);
        assert_eq!(check(&left_waiting().stalled(3_000, 6_000, "w1.0").history()), []);
        assert_eq!(check(&left_waiting().stopped(3_000, 6_000, "w2.0").history()).len(), 1);
    }

    #[test]
    fn waiters_that_give_up_one_after_the_other_are_waiters_too() {
        let mut story = Story::new();
        for number in 0..10 {
            let id = format!("w1.0/{number}#1");
            let from = number * 900;
            story = story.section(&id, |s| s.asked(from).gave_up(from + 950, Refusal::Held));
        }
        assert_eq!(check(&story.history()).len(), 1);
    }

    /// Hand-overs from 3 s on, of which every `n`-th takes 400 ms and the others 1 ms.
    fn handovers(n: u64) -> Story {
        let mut story = Story::new();
        let mut now = 3_000;
        for number in 1..=200 {
            let id = format!("w{}.0/0#{number}", number % 2);
            let granted = now + if number % n == 0 { 400 } else { 1 };
            story = story.section(&id, |s| {
                s.asked(now).granted(granted, granted + 900).released(granted + 2)
            });
            now = granted + 2;
        }
        story
    }

    #[test]
    fn many_slow_handovers_in_the_calm_are_found() {
        let found = |n, calm| check(&handovers(n).calm_from(calm).history()).len();
        assert_eq!(found(20, 1_000), 1);
        assert_eq!(found(101, 1_000), 0, "one in two hundred is within the budget");
        assert_eq!(found(20, 9_000), 0, "faults explain it");
    }

    #[test]
    fn what_a_process_that_stands_still_is_granted_is_not_late_before_it_runs() {
        let found = |worker, until| {
            let story = (0..10).fold(handovers(20).calm_from(1_000), |story, number| {
                // Each twentieth is granted to the second process.
                let asked = 3_000 + number * (19 * 3 + 402) + 19 * 3;
                story.stalled(asked, asked + until, worker)
            });
            check(&story.history()).len()
        };
        assert_eq!(found("w0.0", 390), 0);
        assert_eq!(found("w0.0", 100), 1, "it ran most of the time");
        assert_eq!(found("w1.0", 390), 1, "it was not the one that waited");
    }
}
