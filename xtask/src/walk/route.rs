//! From what was executed to the way through the house.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use super::{
    name,
    profile::{Function, Profile},
};

/// A function of the library.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stop {
    /// Below `src`.
    pub(crate) file: String,
    pub(crate) name: String,
}

impl Stop {
    /// The first folder below `src`, or the file that has none.
    pub(crate) fn room(&self) -> &str {
        let first = self.file.split('/').next().unwrap_or_default();
        first.strip_suffix(".rs").unwrap_or(first)
    }
}

/// The way through the library in one stretch.
#[derive(Debug)]
pub(crate) struct Route {
    /// In the order in which they are called, by the lines of the callers.
    pub(crate) stops: Vec<Stop>,
    /// Which calls which in another room, itself or through what others wrote.
    pub(crate) crossings: BTreeSet<(Stop, Stop)>,
}

impl Route {
    /// What of `profile` is written in `src`.
    pub(crate) fn of(profile: &Profile, src: &Path) -> Self {
        let plan = Plan { profile, ours: ours(profile, src) };
        let crossings = plan.crossings();
        Self { stops: plan.in_order(), crossings }
    }

    /// How often the next one in the list is in another room.
    pub(crate) fn changes(&self) -> usize {
        let pairs = self.stops.iter().zip(self.stops.iter().skip(1));
        pairs.filter(|(stop, next)| stop.room() != next.room()).count()
    }

    pub(crate) fn files(&self) -> usize {
        self.stops.iter().map(|stop| &stop.file).collect::<BTreeSet<_>>().len()
    }

    pub(crate) fn rooms(&self) -> usize {
        self.stops.iter().map(Stop::room).collect::<BTreeSet<_>>().len()
    }
}

/// The functions of the library by the names that the linker knows. What is derived has a line in a file of ours, and
/// no `fn`: it is a part of the compiler.
fn ours<'a>(profile: &'a Profile, src: &Path) -> BTreeMap<&'a str, Stop> {
    let mut texts: BTreeMap<&str, String> = BTreeMap::new();
    let stops = profile.functions.iter().filter_map(|(mangled, function)| {
        let file = Path::new(&function.file).strip_prefix(src).ok()?;
        let text = texts
            .entry(&function.file)
            .or_insert_with(|| fs::read_to_string(&function.file).unwrap_or_default());
        let stop = Stop { file: file.display().to_string(), name: name::short(mangled) };
        has_function(text, &stop.name).then_some((mangled.as_str(), stop))
    });
    stops.collect()
}

/// Whether `fn NAME` stands in a text. `tidy` asks the same of the lists.
fn has_function(text: &str, name: &str) -> bool {
    let bare = name.rsplit("::").next().unwrap_or(name);
    text.split("fn ").skip(1).any(|rest| {
        let after = rest.strip_prefix(bare).and_then(|rest| rest.chars().next());
        after.is_some_and(|c| !c.is_alphanumeric() && c != '_')
    })
}

/// Whether what others wrote was compiled for a type of ours: `Option::map` with a closure, a future's `poll`. What is
/// the same for all, as a scheduler is, does not tell on whose behalf it calls.
fn is_made_for_us(mangled: &str) -> bool {
    mangled.contains("8palisade")
}

struct Plan<'a> {
    profile: &'a Profile,
    ours: BTreeMap<&'a str, Stop>,
}

impl Plan<'_> {
    fn crossings(&self) -> BTreeSet<(Stop, Stop)> {
        let mut crossings = BTreeSet::new();
        for (mangled, from) in &self.ours {
            let reached = self.reached(mangled);
            let other_rooms = reached.into_iter().filter(|to| to.room() != from.room());
            crossings.extend(other_rooms.map(|to| (from.clone(), to.clone())));
        }
        crossings
    }

    /// The functions of ours that one of them calls, itself or through what others wrote.
    fn reached(&self, from: &str) -> BTreeSet<&Stop> {
        let mut reached = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut open = vec![from];
        while let Some(name) = open.pop() {
            for (_, callee) in self.calls(name) {
                match self.ours.get(callee.as_str()) {
                    Some(stop) => _ = reached.insert(stop),
                    None if is_made_for_us(callee) && seen.insert(callee) => open.push(callee),
                    None => {}
                }
            }
        }
        reached
    }

    /// Down each call, in the order of the lines; from those without a caller, `main` first, then the threads.
    fn in_order(&self) -> Vec<Stop> {
        let called: BTreeSet<&String> = self
            .profile
            .functions
            .values()
            .flat_map(|f| f.calls.iter().map(|(_, to)| to))
            .collect();
        let all = || self.profile.functions.keys();
        let is_main = |name: &&String| name.contains("main");
        let roots = all().filter(|name| !called.contains(name));
        let (main, others): (Vec<_>, Vec<_>) = roots.partition(is_main);
        // A ring without an entrance has no root.
        let mut open: Vec<&str> =
            main.into_iter().chain(others).chain(all()).map(|n| &**n).collect();
        open.reverse();
        let (mut seen, mut told, mut stops) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
        while let Some(name) = open.pop() {
            if !seen.insert(name) {
                continue;
            }
            if let Some(stop) = self.ours.get(name)
                && told.insert(stop.clone())
            {
                stops.push(stop.clone());
            }
            open.extend(self.calls(name).iter().rev().map(|(_, callee)| callee.as_str()));
        }
        stops
    }

    fn calls(&self, name: &str) -> &[(u32, String)] {
        self.profile.functions.get(name).map_or(&[], |Function { calls, .. }| calls)
    }
}
