//! The figures of a run.

use std::{
    collections::BTreeMap,
    io::{self, Write},
    time::Duration,
};

use crate::{
    check::{coverage, detection, guarded_calls, reentry, updates, wakeups},
    demands::parts,
    history::{Event, History, Hold, Kind, Record, Refusal, Section},
    profile,
    quantiles::Quantiles,
};

pub(super) fn write(out: &mut impl Write, history: &History) -> io::Result<()> {
    let rows = [
        ("grants", grants(history)),
        ("waits", waits(history)),
        ("holds", holds_by_use(history)),
        ("free but wanted", free_but_wanted(history)),
        ("faults", faults(history)),
        ("quorum lost", quorum(history)),
        ("losses noticed", losses(history)),
        ("noticed", noticed(history)),
        ("outages seen", outages(history)),
        ("re-entries", reentry::reentries(history).to_string()),
        ("guarded calls", guarded_calls::executed(history).to_string()),
        ("releases", releases(history)),
        ("late writes", late_writes(history)),
        ("machine", machine(history)),
    ];
    writeln!(out)?;
    for (name, lines) in rows {
        for (i, line) in lines.split('\n').enumerate() {
            writeln!(out, "{:<17}{line}", if i == 0 { name } else { "" })?;
        }
    }
    writeln!(out)
}

fn grants(history: &History) -> String {
    let held = |section: &&Section| section.hold.is_some();
    let by_kind = by_kind(|kind| of_kind(history, kind).filter(held).count().to_string());
    let long = history.sections.iter().filter_map(Section::validity);
    let long = long.filter(|hold| hold.length() > LONG).count();
    let parts = by_part(history).map(|row| format!("\n{row}")).unwrap_or_default();
    format!("{by_kind} · {long} of them held for more than {LONG:?}{parts}")
}

/// Of a run that is divided.
fn by_part(history: &History) -> Option<String> {
    let by_part = coverage::grants_by_part(history, &parts(&history.settings));
    let (fewest, most) = (by_part.iter().min()?, by_part.iter().max()?);
    Some(format!("{fewest} to {most} in each of {} minutes", by_part.len()))
}

fn waits(history: &History) -> String {
    let row = |(lock, sections): (&str, Vec<&Section>)| {
        let served = sections.iter().filter(|section| section.hold.is_some());
        let waits = Quantiles::of(served.map(|section| section.wait().length()));
        format!("{lock:<15} {waits}")
    };
    history.by_lock().map(row).collect::<Vec<_>>().join("\n")
}

fn holds_by_use(history: &History) -> String {
    let uses: Vec<_> = coverage::uses(history).into_iter().collect();
    let row = |uses: &[(String, u64)]| {
        let cells = uses.iter().map(|(what, count)| format!("{what:<21}{count:>6}"));
        cells.collect::<Vec<_>>().join("   ")
    };
    uses.chunks(3).map(row).collect::<Vec<_>>().join("\n")
}

fn free_but_wanted(history: &History) -> String {
    let all = wakeups::idle_stretches(history).map(|(_, stretch)| stretch.length());
    format!(
        "{} · {:?} allowed\nin calm: {} · p99 of {:?} allowed",
        Quantiles::of(all),
        wakeups::bound(history),
        wakeups::calm_stretches(history),
        wakeups::BUDGET
    )
}

fn faults(history: &History) -> String {
    let all = profile::of(&history.settings).faults();
    let left_out = all.iter().filter_map(|fault| {
        let why = coverage::left_out(history, fault)?;
        Some(format!("{fault} is left out, {why}"))
    });
    let row = all.chunks(3).map(|faults| {
        let count = |name| coverage::count_faults(history, name);
        let cells = faults.iter().map(|fault| format!("{fault:<18}{:>3}", count(fault)));
        cells.collect::<Vec<_>>().join("   ")
    });
    row.chain(left_out).collect::<Vec<_>>().join("\n")
}

fn quorum(history: &History) -> String {
    let losses = coverage::quorum_losses(history);
    format!("{} times, felt by a worker {} times", losses.happened, losses.noticed)
}

fn losses(history: &History) -> String {
    let losses = holds(history).filter_map(|(section, hold)| Some((section, hold.lost.as_ref()?)));
    let mut by_cause = BTreeMap::<_, u32>::new();
    for (section, loss) in losses {
        let lease = if section.renewed { "renewed" } else { "fixed" };
        *by_cause.entry(format!("{}, {lease} lease", without_node(&loss.cause))).or_default() += 1;
    }
    if by_cause.is_empty() {
        return "none".to_owned();
    }
    by_cause.iter().map(|(cause, n)| format!("{n:>5} {cause}")).collect::<Vec<_>>().join("\n")
}

fn noticed(history: &History) -> String {
    let lateness = Quantiles::of(detection::lateness(history));
    format!("after the deadline: {lateness} · {:?} allowed", history.settings.slack())
}

fn outages(history: &History) -> String {
    let outage = |section: &&Section| matches!(section.gave_up, Some((_, Refusal::Outage(_))));
    by_kind(|kind| of_kind(history, kind).filter(outage).count().to_string())
}

fn releases(history: &History) -> String {
    let answers = || holds(history).filter_map(|(_, hold)| hold.released.as_ref());
    let unconfirmed = answers().filter(|(_, problem)| problem.is_some()).count();
    let withheld = holds(history).filter(|(_, hold)| hold.withheld.is_some()).count();
    format!(
        "{} confirmed · {unconfirmed} not · {withheld} writes withheld by ensure_valid",
        answers().count() - unconfirmed
    )
}

/// Those that no store refused, and those that one did.
fn late_writes(history: &History) -> String {
    let refused = |record: &&Record| matches!(record.event, Event::TooOld { .. });
    let refused = history.records.iter().filter(refused).count();
    format!("{} · {refused} refused for their token", updates::late_writes(history).count())
}

fn machine(history: &History) -> String {
    format!("no worker was kept waiting for more than {:?}", history.weather.longest_stall())
}

fn holds(history: &History) -> impl Iterator<Item = (&Section, &Hold)> {
    history.sections.iter().filter_map(|section| Some((section, section.hold.as_ref()?)))
}

fn of_kind(history: &History, kind: Kind) -> impl Iterator<Item = &Section> {
    history.sections.iter().filter(move |section| section.kind == kind)
}

fn by_kind(figure: impl Fn(Kind) -> String) -> String {
    Kind::ALL.map(|kind| format!("{kind} {}", figure(kind))).join(" · ")
}

/// Causes name the node; for counting they must not.
fn without_node(cause: &str) -> String {
    let words = cause.split(' ').map(|word| if word.contains(':') { "a master" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

const LONG: Duration = Duration::from_millis(250);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_counted_without_their_nodes() {
        let cause = "127.0.0.1:7001/0 no longer knows it";
        assert_eq!(without_node(cause), "a master no longer knows it");
    }
}
