//! What the sources of the library must keep: read as text, since nothing else checks it.

mod docs;
mod doors;
mod events;
mod guides;
mod house;
mod names;
mod pages;
mod proofs;
mod prose;
mod walks;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// The rooms from the ground up: a room may use those before it, and no other. One more import that
/// runs back up would make the house a ring.
const ROOMS: [&str; 40] = [
    "by_member",
    "sync",
    "clock",
    "planted",
    "error",
    "fence",
    "home",
    "random",
    "latest",
    "panics",
    "logging",
    "telling",
    "metering",
    "lease",
    "wire",
    "standing",
    "reach",
    "socket",
    "node",
    "pubsub",
    "notifier",
    "tracking",
    "presence",
    "wait",
    "kind",
    "guarded_scripts",
    "watchdog",
    "process",
    "health",
    "listing",
    "voting",
    "claim",
    "guard",
    "acquire",
    "periods",
    "elections",
    "kinds",
    "composite",
    "embedded",
    "client",
];

/// Arrows of today that close a ring. The list gets shorter, never longer.
const RUN_UP: [(&str, &str); 7] = [
    ("client/mod.rs", "client/builder.rs"),
    ("reach/cause.rs", "reach/tls.rs"),
    ("pubsub/mod.rs", "pubsub/sharded.rs"),
    ("watchdog/mod.rs", "watchdog/release.rs"),
    ("watchdog/mod.rs", "watchdog/releaser.rs"),
    ("watchdog/mod.rs", "watchdog/rounds.rs"),
    ("watchdog/mod.rs", "watchdog/stragglers.rs"),
];

/// What knows nothing of ours.
const ALONE: [&str; 9] =
    ["by_member", "sync", "clock", "error", "fence", "random", "latest", "panics", "embedded"];

/// What a room that users see hands on for them, and does not use.
const FOR_USERS: [(&str, &str); 1] = [("embedded/mod.rs", "crate::client::SimulatedProcess;")];

/// Rooms that decide and do not act: `now` is an argument, and no call is made.
const PURE: [&str; 24] = [
    "acquire/fence.rs",
    "acquire/tally.rs",
    "claim/absence.rs",
    "claim/margin.rs",
    "elections/named.rs",
    "elections/newest.rs",
    "lease.rs",
    "listing/pace.rs",
    "listing/recognised.rs",
    "reach/server_clock.rs",
    "notifier/registry.rs",
    "presence/entries.rs",
    "standing/identity.rs",
    "standing/judgement.rs",
    "standing/knowledge.rs",
    "standing/mark.rs",
    "standing/policy.rs",
    "tracking/entries.rs",
    "tracking/pace.rs",
    "tracking/table.rs",
    "wait/handover.rs",
    "wait/others.rs",
    "watchdog/finality.rs",
    "watchdog/schedule.rs",
];

use house::House;

/// A source file without its comments and its unit tests.
struct Source {
    /// Below `src`, with slashes.
    path: String,
    code: String,
}

impl Source {
    fn room(&self) -> &str {
        let first = self.path.split('/').next().unwrap();
        first.strip_suffix(".rs").unwrap_or(first)
    }

    /// The rooms it names, each with what it takes from there.
    fn uses(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (i, _) in self.code.match_indices("crate::") {
            let rest = &self.code[i + "crate::".len()..];
            // A macro that is written out at the front door speaks of what the front door shows.
            if self.code[..i].ends_with('$') && rest.starts_with(char::is_uppercase) {
                continue;
            }
            let is_for_users = |(path, named): (&str, &str)| {
                self.path == path && self.code[i..].starts_with(named)
            };
            if self.code[..i].ends_with("pub use ") && FOR_USERS.into_iter().any(is_for_users) {
                continue;
            }
            for path in paths(rest) {
                let (room, item) = path.split_once("::").unwrap_or((&path, ""));
                uses.entry(room.to_owned()).or_default().insert(item.to_owned());
            }
        }
        uses
    }
}

/// The paths at the beginning of `text`, with groups in braces taken apart.
pub(crate) fn paths(text: &str) -> Vec<String> {
    let text = text.trim_start();
    if let Some(group) = text.strip_prefix('{') {
        return parts_of_group(group).iter().flat_map(|part| paths(part)).collect();
    }
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let end = text.find(|c| !is_name(c)).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    match rest.strip_prefix("::") {
        Some(rest) if !name.is_empty() => {
            let below = paths(rest);
            let join = |path: &String| format!("{name}::{path}");
            if below.is_empty() { vec![name.to_owned()] } else { below.iter().map(join).collect() }
        }
        _ if name.is_empty() => Vec::new(),
        _ => vec![name.to_owned()],
    }
}

/// What stands between the commas up to the brace that closes the group.
fn parts_of_group(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (i, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                parts.push(&text[start..i]);
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    parts
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

pub(crate) fn files(below: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![below.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Every file of the library that is not a file of unit tests.
fn sources() -> Vec<Source> {
    let src = root().join("src");
    let all = files(&src, "rs").into_iter().map(|file| {
        let path = file.strip_prefix(&src).unwrap().to_str().unwrap().replace('\\', "/");
        Source { path, code: code(&fs::read_to_string(&file).unwrap()) }
    });
    let is_test = |path: &str| {
        path.ends_with("tests.rs") || path.contains("/tests/") || path.contains("/test_")
    };
    all.filter(|source| !is_test(&source.path)).collect()
}

/// Without comments, and without the unit tests: they stand at the end, by our own rule.
fn code(text: &str) -> String {
    let tests = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    let lines = text[..tests].lines().map(|line| match line.find("//") {
        // Not in an URL.
        Some(i) if !line[..i].ends_with(':') => &line[..i],
        _ => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn arrows_between_rooms_point_one_way() {
    let floor = |room: &str| ROOMS.iter().position(|known| *known == room);
    let mut wrong = Vec::new();
    for source in sources().iter().filter(|source| source.room() != "lib") {
        let room = source.room();
        let Some(own) = floor(room) else {
            wrong.push(format!("{} is in no room that is listed here", source.path));
            continue;
        };
        for (used, items) in source.uses().into_iter().filter(|(used, _)| used != room) {
            let is_below = floor(&used).is_some_and(|used| used < own);
            if !is_below || ALONE.contains(&room) {
                wrong.push(format!("{} uses {used}: {items:?}", source.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn arrows_inside_rooms_point_one_way() {
    let mut house = House::of(&sources());
    for arrow in RUN_UP {
        house.forget(arrow);
    }
    let rings = house.rings();
    assert!(rings.is_empty(), "files that use each other:\n{}", rings.join("\n"));
}

#[test]
fn arrows_that_run_up_are_still_a_part_of_a_ring() {
    for arrow @ (from, to) in RUN_UP {
        let mut house = House::of(&sources());
        for other in RUN_UP.into_iter().filter(|other| *other != arrow) {
            house.forget(other);
        }
        let is_needed = house.way(to, from).is_some() && house.forget(arrow);
        assert!(is_needed, "{from} → {to} closes no ring any more: take it off the list");
    }
}

#[test]
fn rooms_are_all_there() {
    let rooms: BTreeSet<_> = sources().iter().map(|source| source.room().to_owned()).collect();
    for room in ROOMS {
        assert!(rooms.contains(room), "{room} is gone");
    }
}

/// A sleep or a look at a clock past the trait would be real time in a simulation.
#[test]
fn time_is_taken_from_the_clock_alone() {
    let past_it = [
        "Instant::now(",
        "SystemTime::now(",
        "tokio::time::sleep",
        "tokio::time::timeout",
        "tokio::time::interval",
        "thread::sleep",
    ];
    for source in sources() {
        if source.path == "clock.rs" || source.room() == "embedded" {
            continue;
        }
        for call in past_it {
            assert!(!source.code.contains(call), "{} has {call}", source.path);
        }
    }
}

/// What differs from run to run although nothing else does would keep a simulation from repeating.
#[test]
fn nothing_is_left_to_chance_but_what_a_process_may_draw() {
    for source in sources() {
        for (start, _) in source.code.match_indices("select!") {
            let body = source.code[start + "select!".len()..].trim_start();
            let body = body.trim_start_matches(['{', '(']).trim_start();
            assert!(body.starts_with("biased;"), "{} has a select! without `biased;`", source.path);
        }
        // Its receivers are woken in a random order.
        assert!(!source.code.contains("sync::watch"), "{} uses tokio's watch", source.path);
        let draws = source.code.contains("rand::") || source.code.contains("fastrand");
        let may_draw = source.path == "random.rs" || source.path == "embedded/state.rs";
        assert!(!draws || may_draw, "{} draws past `random`", source.path);
        let identity = source.code.contains("new_v4") && source.path != "process/mod.rs";
        assert!(!identity, "{} makes an identity", source.path);
    }
}

/// The order of a hash map differs from run to run: these are only asked by key.
#[test]
fn hash_maps_are_where_their_order_does_not_matter() {
    // Asked by key alone, or told in order.
    let unordered = [
        "embedded/commands/table.rs",
        "guard/owner.rs",
        "process/under_way.rs",
        "process/live.rs",
        "wait/lines.rs",
        "watchdog/schedule.rs",
    ];
    for source in sources() {
        let hashes = source.code.contains("HashMap") || source.code.contains("HashSet");
        let known = unordered.contains(&source.path.as_str());
        assert!(!hashes || known, "{} has a hash map: use a BTreeMap", source.path);
    }
}

// proves: deciders-pure
#[test]
fn modules_that_decide_ask_nobody() {
    let sources = sources();
    for path in PURE {
        let source = sources.iter().find(|source| source.path == path);
        let source = source.unwrap_or_else(|| panic!("{path} is gone"));
        for call in ["tokio::", "redis::", ".now()", ".await", "async ", "rand::"] {
            assert!(!source.code.contains(call), "{path} has {call}");
        }
    }
}

#[test]
fn every_script_has_its_wrapper_beside_it() {
    let scripts = files(&root().join("src"), "lua");
    assert!(!scripts.is_empty());
    for script in scripts {
        if script.starts_with(root().join("src/embedded")) {
            continue;
        }
        let wrapper = fs::read_to_string(script.with_file_name("script.rs")).unwrap();
        let name = script.file_name().unwrap().to_str().unwrap();
        // By itself, or as what stands before others.
        let mut calls = wrapper.split("script!(").skip(1).filter_map(|rest| rest.split(')').next());
        let is_declared = calls.any(|call| call.contains(&format!("\"{name}\"")));
        // What stands behind a text of each kind's own is declared by those kinds.
        let is_declared = is_declared || is_shared_by_kinds(&script);
        // A text by itself, for users' scripts behind it.
        let is_declared = is_declared || wrapper.contains(&format!("include_str!(\"{name}\")"));
        let is_prologue = ["check.lua", "once.lua"].contains(&name);
        assert!(is_declared || is_prologue, "nobody declares {}", script.display());
    }
}

fn is_shared_by_kinds(script: &Path) -> bool {
    let room = script.parent().and_then(Path::file_name).unwrap().to_str().unwrap();
    let name = format!("\"../{room}/{}\"", script.file_name().unwrap().to_str().unwrap());
    let wrappers = files(&root().join("src/kinds"), "rs");
    wrappers.iter().any(|wrapper| fs::read_to_string(wrapper).unwrap().contains(&name))
}

#[test]
fn architecture_is_short_and_names_every_room() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let words = text.split_whitespace().count();
    assert!(words <= 1_500, "{words} words: what is detail goes to docs/maintain");
    for line in text.lines() {
        assert!(line.chars().count() <= 130, "too wide: {line}");
    }
    for room in ROOMS {
        assert!(text.contains(&format!("`{room}`")), "{room} is not on the map");
    }
}

#[test]
fn paths_are_read_from_nested_groups() {
    let text = "{\n    clock::{Instant, SharedClock},\n    error::NodeError,\n    wire,\n};\nuse x";
    let expected = ["clock::Instant", "clock::SharedClock", "error::NodeError", "wire"];
    assert_eq!(paths(text), expected);
    assert_eq!(paths("node::NodeId, Vote)>"), ["node::NodeId"]);
    assert_eq!(paths("wire::*;"), ["wire"]);
}
