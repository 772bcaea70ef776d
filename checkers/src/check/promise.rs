//! What was never promised: a master that forgets its keys, or has a clock that is set, may free a lock that is still
//! held.
//!
//! A lock on one master stands and falls with it, also if it is a `MultiLock` whose members are all
//! there. A `MultiLock` excludes as long as one of its masters does. A `RedLock` may break with one, unless masters that forgot keep out of votes for a
//! while (a quarantine); against clocks that jump there is no remedy.

use std::collections::BTreeSet;

use crate::{
    history::{Event, History, Kind, Record, Section},
    spans::Span,
    time::Time,
};

/// Whether the exclusion of a lock could rightly fail during `span`.
pub(crate) fn is_void(history: &History, section: &Section, span: Span) -> bool {
    fails(history, section.kind, &section.on, span)
}

/// The same of what is on one master, for whichever lock that is a member.
pub(crate) fn is_void_at(history: &History, master: usize, span: Span) -> bool {
    fails(history, Kind::Lock, &[master], span)
}

/// Whether a lock without a quarantine was on one master alone, and that was restarted during `span`: whatever it
/// has kept, what it has granted since is unknown.
pub(crate) fn fell_with_master(history: &History, section: &Section, span: Span) -> bool {
    let [master] = *section.on else { return false };
    let outages = history.weather.masters().get(master);
    !section.kind.keeps_out(1, history.settings.quarantine_all)
        && outages.is_some_and(|outages| outages.killed.iter().any(|killed| killed.overlaps(span)))
}

/// Of a lock on these masters; on all, if there are none.
fn fails(history: &History, kind: Kind, on: &[usize], span: Span) -> bool {
    let settings = &history.settings;
    let members = if on.is_empty() { settings.masters } else { on.len() };
    let on = |master: usize| on.is_empty() || on.contains(&master);
    let kept_out = kind.keeps_out(members, settings.quarantine_all);
    let forgives = settings.quarantine_ms > 0 && kept_out;
    let masters = history.weather.masters().iter().enumerate();
    let forgot = masters.filter(|(master, outages)| {
        on(*master) && !forgives && outages.forgot.iter().any(|loss| loss.overlaps(span))
    });
    let mut hit: BTreeSet<_> = forgot.map(|(master, _)| master).collect();
    hit.extend(forward_jumps(history, span).map(|(_, master)| master).filter(|it| on(*it)));
    hit.len() > tolerated(kind, members)
}

/// When clocks of masters were set forward, so that leases ended early there.
pub(crate) fn forward_jumps(
    history: &History,
    span: Span,
) -> impl Iterator<Item = (Time, usize)> + '_ {
    let mut small_jumps = BTreeSet::new();
    history.within(span).iter().filter_map(move |Record { at, event }| match event {
        // Drift and precision leave room for one jump of a millisecond.
        Event::ClockJumped { by_ms: 1, master } if small_jumps.insert(*master) => None,
        Event::ClockJumped { by_ms: 1.., master } => Some((*at, *master)),
        _ => None,
    })
}

const fn tolerated(kind: Kind, members: usize) -> usize {
    match kind {
        Kind::MultiLock => members.saturating_sub(1),
        Kind::RedLock | Kind::Lock => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::story::{Story, ms};

    fn is_void_after(kind: Kind, quarantine: bool, events: &[Event]) -> bool {
        let story = Story::new().section("w0.0/0#1", |s| s.of(kind).asked(0).granted(5, 900));
        let story = events.iter().fold(story, |story, event| story.and(100, event.clone()));
        let mut history = story.history();
        history.settings.quarantine_ms = if quarantine { 5_000 } else { 0 };
        let section = history.sections.first().cloned().unwrap();
        is_void(&history, &section, Span::new(ms(0), ms(200)))
    }

    #[test]
    fn a_majority_survives_amnesia_only_under_quarantine() {
        let forgot = [Event::Forgot { master: 1 }];
        assert!(is_void_after(Kind::RedLock, false, &forgot));
        assert!(!is_void_after(Kind::RedLock, true, &forgot));
        assert!(!is_void_after(Kind::RedLock, false, &[]));
    }

    #[test]
    fn all_of_three_survive_two() {
        let forgot = |masters: &[usize]| {
            let events: Vec<_> = masters.iter().map(|m| Event::Forgot { master: *m }).collect();
            is_void_after(Kind::MultiLock, false, &events)
        };
        assert!(!forgot(&[0, 1, 0]));
        assert!(forgot(&[0, 1, 2]));
    }

    #[test]
    fn a_server_alone_keeps_nothing_it_forgot() {
        let is_void = |kind| {
            let story = Story::new().section("w0.0/0#1", |s| s.of(kind).asked(0).granted(5, 900));
            let mut history = story.and(100, Event::Forgot { master: 1 }).history();
            history.settings.quarantine_ms = 5_000;
            let section = Section { on: vec![1], ..history.sections.first().cloned().unwrap() };
            is_void(&history, &section, Span::new(ms(0), ms(200)))
        };
        assert!(is_void(Kind::MultiLock));
        assert!(is_void(Kind::Lock));
        assert!(!is_void(Kind::RedLock));
    }

    #[test]
    fn clocks_may_jump_by_a_millisecond_or_back() {
        let jumps = |by: &[i64]| {
            let jump = |by: &i64| Event::ClockJumped { master: 0, by_ms: *by };
            let events: Vec<_> = by.iter().map(jump).collect();
            is_void_after(Kind::RedLock, true, &events)
        };
        assert!(!jumps(&[1, -3_000]));
        assert!(jumps(&[1, 1]));
        assert!(jumps(&[2]));
    }
}
