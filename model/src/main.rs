//! An exhaustive model of palisade's protocol over several masters, with its own explorer.
//!
//! `palisade-model` explores the protocol with all its rules: the small settings, the large ones,
//! and random walks over five masters. `palisade-model removed` shows what each rule is for.
//! README.md says what the model leaves out.

#![expect(
    clippy::indexing_slicing,
    reason = "masters and attempts by number; a wrong one must stop it"
)]

mod action;
mod client;
mod configs;
mod explorer;
mod fingerprint;
mod properties;
mod removed;
mod server;
mod setting;
mod state;
mod step;
#[cfg(test)]
mod tests;
mod trace;
mod walk;

use std::{env, process::ExitCode};

use explorer::{Report, Verdict, explore};
use setting::Setting;
use walk::walk;

fn main() -> ExitCode {
    let is_as_expected = match env::args().nth(1).as_deref() {
        None => [small(), large(), walks()].iter().all(|holds| *holds),
        Some("small") => small(),
        Some("large") => large(),
        Some("walks") => walks(),
        Some("removed") => what_rules_are_for(),
        Some(name) => by_name(name),
    };
    if is_as_expected { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn by_name(name: &str) -> bool {
    let known = configs::SMALL.iter().chain(configs::LARGE);
    let named: Vec<_> = known.filter(|setting| setting.name == name).copied().collect();
    if named.is_empty() {
        say("usage: palisade-model [small | large | walks | removed | <name of a setting>]");
        return false;
    }
    all(&named, holds)
}

fn small() -> bool {
    all(configs::SMALL, holds)
}

fn large() -> bool {
    all(configs::LARGE, holds)
}

fn walks() -> bool {
    all(configs::WALKS, wanders)
}

/// Looks at all of them, also after one that failed.
fn all(settings: &[Setting], is_fine: impl Fn(&Setting) -> bool) -> bool {
    settings.iter().filter(|setting| !is_fine(setting)).count() == 0
}

fn what_rules_are_for() -> bool {
    let broken = removed::REMOVED.iter().fold(true, |all, case| {
        let report = explore(&case.setting);
        print_report(&case.setting, &report);
        let expected = matches!(&report.verdict, Verdict::Violates { property, .. } if case.breaks.contains(property));
        all && expected
    });
    holds(&removed::LIFTED) && broken
}

fn holds(setting: &Setting) -> bool {
    let report = explore(setting);
    print_report(setting, &report);
    matches!(report.verdict, Verdict::Holds)
}

fn print_report(setting: &Setting, report: &Report) {
    let seconds = report.took.as_secs_f64();
    let rate = report.states as f64 / seconds.max(1e-3) / 1e3;
    let verdict = match &report.verdict {
        Verdict::Holds => "holds".into(),
        Verdict::Violates { property, trace } => {
            format!(
                "BREAKS {property:?} after {} steps\n{}",
                trace.len(),
                trace::tell(setting, trace, *property)
            )
        }
    };
    let (size, seen) = (size(setting), report.sometimes);
    say(&format!(
        "{:<42} {size} {:>9} states {:>10} steps {seconds:>6.1} s {rate:>5.0} k states/s {seen}  {verdict}",
        setting.name, report.states, report.steps
    ));
}

fn wanders(setting: &Setting) -> bool {
    let walked = walk(setting, 200_000, 20_261_121);
    let (size, seconds) = (size(setting), walked.took.as_secs_f64());
    let verdict = match &walked.broken {
        None => "no violation".into(),
        Some((property, trace)) => {
            format!("BREAKS {property:?}\n{}", trace::tell(setting, trace, *property))
        }
    };
    say(&format!(
        "{:<42} {size} {:>27} steps {seconds:>6.1} s {}  {verdict}",
        setting.name, walked.steps, walked.sometimes
    ));
    walked.broken.is_none()
}

/// Need of members, clients times attempts.
fn size(setting: &Setting) -> String {
    let Setting { need, nodes, clients, attempts, .. } = setting;
    format!("{need}/{nodes} {clients}x{attempts}")
}

#[expect(clippy::print_stdout, reason = "the report is what this program is for")]
fn say(line: &str) {
    println!("{line}");
}
