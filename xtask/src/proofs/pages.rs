//! The pages, and what is wrong with what they are made of.

use std::collections::BTreeSet;

use super::{
    Mark,
    bugs::{BUGS, Finder, PlantedBug},
    invariants::{Check, Invariant},
    marks::{Place, Role},
};

/// All that was read.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) invariants: Vec<Invariant>,
    pub(super) checks: Vec<Check>,
    pub(super) marks: Vec<Mark>,
    pub(super) places: Vec<Place>,
}

impl Known {
    /// What is missing, and what names nothing: a line each.
    pub(super) fn mistakes(&self) -> Vec<String> {
        let names: BTreeSet<&str> = self.invariants.iter().map(|it| it.name.as_str()).collect();
        let mut wrong = Vec::new();
        for mark in self.marks.iter().filter(|mark| !names.contains(mark.invariant.as_str())) {
            wrong.push(format!("{}: there is no invariant `{}`", mark.file, mark.invariant));
        }
        for mark in self.marks.iter().filter(|mark| mark.role == Role::Code) {
            if !mark.file.starts_with("src/") {
                wrong.push(format!("{}: `keeps` is for src, `proves` for the rest", mark.file));
            }
        }
        for Invariant { name, .. } in &self.invariants {
            let has = |is_code: bool| {
                self.marks
                    .iter()
                    .any(|it| it.invariant == *name && (it.role == Role::Code) == is_code)
            };
            if !has(true) {
                wrong.push(format!("`{name}` has no code: no `// keeps: {name}` in src"));
            }
            if !has(false) {
                wrong.push(format!("`{name}` has no proof: no `// proves: {name}`"));
            }
        }
        for bug in BUGS {
            for broken in bug.breaks.iter().filter(|broken| !names.contains(**broken)) {
                wrong.push(format!("{} breaks `{broken}`, which is no invariant", bug.name));
            }
            if self.places_of(bug).is_empty() {
                wrong
                    .push(format!("{} is planted nowhere: no planted!({})", bug.name, bug.variant));
            }
        }
        wrong
    }

    /// `docs/maintain/proofs.md`.
    pub(super) fn proofs(&self) -> String {
        let mut page = PROOFS_HEAD.to_owned();
        for invariant in &self.invariants {
            page += &self.row(invariant);
        }
        page += CHECKS_HEAD;
        for Check { file, number, says } in &self.checks {
            let bugs = BUGS.iter().filter(|bug| bug.finder.check() == Some(number.as_str()));
            let bugs = listed(bugs.map(|bug| format!("`{}`", bug.name)));
            page += &format!("| {number} | `{file}`: {says} | {bugs} |\n");
        }
        page
    }

    fn row(&self, Invariant { name, title }: &Invariant) -> String {
        let column = |roles: &[Role]| {
            let marks = self.marks.iter().filter(|mark| mark.invariant == *name);
            listed(marks.filter(|mark| roles.contains(&mark.role)).map(Mark::shown))
        };
        let bugs = BUGS.iter().filter(|bug| bug.breaks.contains(&name.as_str()));
        let cells = [
            format!("`{name}`: {title}"),
            column(&[Role::Code]),
            column(&[Role::Rule]),
            column(&[Role::Checker, Role::Simulation]),
            column(&[Role::Checker, Role::Chaos]),
            listed(bugs.map(|bug| format!("`{}`", bug.name))),
            column(&[Role::Test]),
        ];
        format!("| {} |\n", cells.join(" | "))
    }

    /// `docs/maintain/planted.md`.
    pub(super) fn planted(&self) -> String {
        let mut page = PLANTED_HEAD.to_owned();
        for bug in BUGS {
            let PlantedBug { name, what, .. } = bug;
            let files = listed(self.places_of(bug).into_iter().map(|file| format!("`{file}`")));
            let breaks = listed(bug.breaks.iter().map(|name| format!("`{name}`")));
            let (by, after) = bug.finder.told();
            page += &format!("| `{name}` | {what} | {files} | {breaks} | {by} | {after} |\n");
        }
        page
    }

    fn places_of(&self, bug: &PlantedBug) -> Vec<&str> {
        let places = self.places.iter().filter(|place| place.bug == bug.variant);
        places.map(|place| place.file.as_str()).collect()
    }
}

impl Mark {
    /// A check by its name in the table below; all else by its file, below `src` or the top, and the item.
    fn shown(&self) -> String {
        let file = self.file.strip_prefix("src/").unwrap_or(&self.file);
        let name = file.rsplit('/').next().and_then(|name| name.strip_suffix(".rs"));
        match (self.role, &self.item, name) {
            (Role::Checker, _, Some(name)) => format!("`{name}`"),
            (_, Some(item), _) => format!("`{file}`: `{item}`"),
            (..) => format!("`{file}`"),
        }
    }
}

impl Finder {
    /// The check of histories that fails.
    const fn check(self) -> Option<&'static str> {
        match self {
            Self::Simulation { check, .. } | Self::Blocking { check, .. } => Some(check),
            Self::Test(_) => None,
        }
    }

    /// What finds it, and after how long.
    fn told(self) -> (String, String) {
        match self {
            Self::Simulation { of: None, check, seeds } => {
                (format!("simulation: {check}"), after(seeds))
            }
            Self::Simulation { of: Some(of), check, seeds } => {
                (format!("simulation, `{of}`: {check}"), after(seeds))
            }
            Self::Test(filter) => (format!("a test: `{filter}`"), "–".into()),
            Self::Blocking { check, secs } => {
                (format!("chaos, `--blocking`: {check}"), format!("{secs} s"))
            }
        }
    }
}

fn after(seeds: u64) -> String {
    if seeds == 1 { "1 seed".into() } else { format!("{seeds} seeds") }
}

/// One below the other, in order, each once.
fn listed(entries: impl Iterator<Item = String>) -> String {
    let entries: BTreeSet<String> = entries.collect();
    if entries.is_empty() {
        return "–".into();
    }
    entries.into_iter().collect::<Vec<_>>().join("<br>")
}

const PROOFS_HEAD: &str = "\
# What proves what

Written by `cargo xtask proofs`: change the markers, not this page. `// keeps: NAME` stands above code in `src`, `// proves: NAME`
above a test, a check, or a rule of the model. `invariants.md` has each invariant in full, `planted.md` each bug. Code and unit
tests are below `src`, all else is below the top. A check is named as in the second table.

| invariant | code | rule of the model | check in the simulation | check in chaos | planted bugs | tests |
|---|---|---|---|---|---|---|
";

const CHECKS_HEAD: &str = "
## What is promised to users

The checks of histories are told apart by their numbers. They judge what the simulation and chaos did, in `checkers/src/check`.

| number | check | planted bugs that it finds first |
|---|---|---|
";

const PLANTED_HEAD: &str = "\
# Planted bugs

Written by `cargo xtask proofs` from `src/planted/list.rs`. `cargo xtask planted` plants one after the other and demands that each
is found. `simulation/README.md` tells how. Files are below `src`. What breaks no invariant breaks a promise of its own. The seeds
are those of one run.

| bug | what the library does then | planted in | breaks | found by | after |
|---|---|---|---|---|---|
";
