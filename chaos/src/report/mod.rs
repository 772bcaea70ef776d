//! What a run tells its reader: figures, and a picture of what went wrong.
//!
//! * `page`: the picture, to be looked at in a browser.
//! * `table`: the figures.
//! * `timeline`: which holder held what when, around a violation.

mod page;
mod table;
mod timeline;

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use crate::{
    check::{
        self, Violation,
        coverage::{self, Shortfall},
    },
    history::{History, Settings},
    profile::{self, TRUST},
};

/// What is wrong with a run.
#[derive(Debug)]
pub(crate) struct Findings {
    violations: Vec<Violation>,
    shortfalls: Vec<Shortfall>,
}

impl Findings {
    pub(crate) fn of(history: &History) -> Self {
        Self {
            violations: check::violations(history),
            shortfalls: coverage::shortfalls(
                history,
                &profile::of(&history.settings).demands(history),
            ),
        }
    }

    pub(crate) fn are_none(&self) -> bool {
        self.violations.is_empty() && self.shortfalls.is_empty()
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        if !self.violations.is_empty() {
            ExitCode::FAILURE
        } else if !self.shortfalls.is_empty() {
            ExitCode::from(EXIT_SHORTFALL)
        } else {
            ExitCode::SUCCESS
        }
    }
}

/// What is run, and how to run it again. Printed first and last.
pub(crate) fn announce(out: &mut impl Write, settings: &Settings) -> io::Result<()> {
    let Settings { seed, secs, workers, .. } = settings;
    let profile = profile::of(settings);
    writeln!(
        out,
        "seed {seed} · {secs} s · {} · {workers} workers · commit {}",
        profile.words(settings),
        commit().unwrap_or_else(|| "unknown".to_owned())
    )?;
    let planted = settings.planted.as_deref().map(|planted| match planted {
        TRUST => " --trust".to_owned(),
        planted => format!(" --planted {planted}"),
    });
    writeln!(
        out,
        "again: cargo xtask chaos --seed {seed} --secs {secs} {} --workers {workers}{}",
        profile.flags(settings),
        planted.unwrap_or_default()
    )
}

pub(crate) fn write(
    out: &mut impl Write,
    history: &History,
    findings: &Findings,
) -> io::Result<()> {
    table::write(out, history)?;
    for Shortfall { what, seen, wanted } in &findings.shortfalls {
        writeln!(out, "too few {what}: {seen} of {wanted}")?;
    }
    for violation in findings.violations.iter().take(MOST_LISTED) {
        let at = violation.span.from.since(history.weather.run.from);
        writeln!(out, "{} at {:.3} s: {}", violation.invariant, at.as_secs_f64(), violation.what)?;
    }
    if let Some(first) = findings.violations.first() {
        writeln!(out)?;
        timeline::write(out, history, first)?;
    }
    writeln!(out, "{}", summary(&findings.violations))
}

/// Draws the run into a page beside its kept history.
pub(crate) fn draw(kept: &Path, history: &History, findings: &Findings) -> io::Result<PathBuf> {
    let page = kept.with_extension("html");
    fs::write(&page, page::html(history, findings.violations.first()))?;
    Ok(page)
}

/// `3 violations (2 of I1 exclusion, 1 of I6 no leak)`
fn summary(violations: &[Violation]) -> String {
    let mut counts = BTreeMap::<_, u32>::new();
    for violation in violations {
        *counts.entry(violation.invariant).or_default() += 1;
    }
    let counts: Vec<_> = counts.iter().map(|(which, n)| format!("{n} of {which}")).collect();
    let detail =
        if counts.is_empty() { String::new() } else { format!(" ({})", counts.join(", ")) };
    format!("{} violations{detail}", violations.len())
}

/// Goes through a kept history once more.
pub(crate) fn recheck(file: &Path) -> ExitCode {
    let checked = History::read_file(file).and_then(|history| {
        let mut out = io::stdout();
        let findings = Findings::of(&history);
        announce(&mut out, &history.settings)?;
        write(&mut out, &history, &findings)?;
        writeln!(out, "picture: {}", draw(file, &history, &findings)?.display())?;
        Ok(findings.exit_code())
    });
    checked.unwrap_or_else(|error| {
        eprintln!("{}: {error}", file.display());
        ExitCode::FAILURE
    })
}

/// Of the sources that lie here, if they are under git.
fn commit() -> Option<String> {
    let git = ["-C", env!("CARGO_MANIFEST_DIR"), "describe", "--always", "--dirty"];
    let output = Command::new("git").args(git).output().ok()?;
    let name = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (!name.is_empty()).then_some(name)
}

const EXIT_SHORTFALL: u8 = 2;
const MOST_LISTED: usize = 20;
