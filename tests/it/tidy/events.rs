//! How the library tells of events: a subscriber is the user's code. It may panic, block, or ask after the very lock
//! of which it is told.

use std::collections::BTreeSet;

use super::{Source, sources};

const LEVELS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];

/// Which has a fence, and another thread where this one looks after the locks of all.
#[test]
fn events_are_told_by_the_room_for_it() {
    for source in sources() {
        for level in LEVELS {
            for (start, _) in source.code.match_indices(&format!("tracing::{level}!")) {
                let before = source.code[..start].trim_end().trim_end_matches('{').trim_end();
                let before = before.strip_suffix("||").map_or("", str::trim_end);
                let before = before.strip_suffix("move").unwrap_or(before).trim_end();
                let is_told =
                    [TELL, TELL_OF_MANY, TELL_ELSEWHERE].iter().any(|tell| before.ends_with(tell));
                let is_of_the_room = source.room() == "telling";
                assert!(is_told || is_of_the_room, "{} tells of {level} by itself", source.path);
            }
        }
    }
}

/// Filters of users name the targets, which stay when code moves.
#[test]
fn events_have_one_of_the_targets_that_stay() {
    for source in sources() {
        for level in LEVELS {
            let macro_name = format!("tracing::{level}!(");
            for (start, _) in source.code.match_indices(&macro_name) {
                let said = source.code[start + macro_name.len()..].trim_start();
                let named = TARGETS.iter().any(|target| said.starts_with(target));
                assert!(named, "{} tells of {level} without a target", source.path);
            }
        }
    }
}

const TARGETS: [&str; 3] = ["target: LOCK,", "target: NODE,", "target: WATCHDOG,"];

// proves: no-guard-across-await
/// As far as a scan can see: guards that have a name, and are still there where something is told, in the same
/// function or in one that it calls by a name that tells.
#[test]
fn events_are_not_told_where_a_mutex_is_locked() {
    let sources: Vec<_> = sources().into_iter().filter(|it| it.room() != "embedded").collect();
    let functions: Vec<_> = sources.iter().flat_map(|source| functions(&source.code)).collect();
    let names = |is: &dyn Fn(&Function<'_>) -> bool| -> BTreeSet<&str> {
        functions.iter().filter(|function| is(function)).map(|function| function.name).collect()
    };
    let others = names(&|function| !function.locks());
    let lockers = names(&|function| function.locks() && !others.contains(function.name));
    let tellers = names(&|function| tells(function.body));
    assert!(lockers.contains("state") && tellers.contains("warn_of_failure"), "{tellers:?}");
    let wrong: Vec<_> =
        sources.iter().flat_map(|it| told_under_locks(it, &lockers, &tellers)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn scan_sees_a_guard_until_it_is_gone() {
    let sees = |body: &str| {
        let code = format!("fn f(&self) {{ {body} }}");
        let source = Source { path: "x.rs".to_owned(), code };
        let (lockers, tellers) = (BTreeSet::from(["state"]), BTreeSet::from(["warn"]));
        !told_under_locks(&source, &lockers, &tellers).is_empty()
    };
    for (body, expected) in [
        ("telling::event(|| {});", false),
        ("let state = self.state(); telling::event(|| {});", true),
        ("let state = self.state(); telling::event_of_many(|| {}, x);", true),
        ("let state = self.state(); self.warn(x);", true),
        ("let (now, mut state) = (self.now(), self.state()); self.warn(x);", true),
        ("let Some(state) = self.state() else { return }; self.warn(x);", true),
        ("let state = self.state(); drop(state); self.warn(x);", false),
        ("let state = self.state(); self.lose(state, cause); self.warn(x);", false),
        ("let state = self.state(); if a { drop(state); self.warn(x); }", false),
        ("let state = self.state(); if a { drop(state); } self.warn(x);", true),
        ("if a { let state = self.state(); } self.warn(x);", false),
        ("let a = self.state().a; self.warn(x);", false),
        ("let (a, mut b) = self.state(self.x(), now)?; self.warn(x);", true),
        ("let a = self.state().map(|b| b.c()); self.warn(x);", false),
        ("let state = self.x.lock().unwrap_or_else(PoisonError::into_inner); self.warn(x);", true),
    ] {
        assert_eq!(sees(body), expected, "{body}");
    }
}

const TELL: &str = "telling::event(";
const TELL_OF_MANY: &str = "telling::event_of_many(";
const TELL_ELSEWHERE: &str = "telling::event_elsewhere(";

fn tells(code: &str) -> bool {
    [TELL, TELL_OF_MANY].iter().any(|tell| code.contains(tell))
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Function<'a> {
    name: &'a str,
    signature: &'a str,
    body: &'a str,
}

impl Function<'_> {
    /// Whether what it returns is a lock, among other things perhaps.
    fn locks(&self) -> bool {
        self.signature
            .split_once("->")
            .is_some_and(|(_, returned)| returned.contains("MutexGuard<"))
    }
}

fn functions(code: &str) -> Vec<Function<'_>> {
    let starts = code.match_indices("fn ").filter(|(i, _)| !code[..*i].ends_with(is_name));
    starts.filter_map(|(start, _)| function(&code[start + "fn ".len()..])).collect()
}

/// The function whose name stands first.
fn function(code: &str) -> Option<Function<'_>> {
    let name = &code[..code.find(|c| !is_name(c))?];
    let open = code.find('{').filter(|open| code.find(';').is_none_or(|end| *open < end))?;
    let body = block(&code[open + 1..]);
    (!name.is_empty()).then_some(Function { name, signature: &code[..open], body })
}

/// What stands before the brace that closes the block.
fn block(code: &str) -> &str {
    let mut depth = 0;
    let end = code.char_indices().find(|(_, c)| {
        depth += step(*c);
        depth < 0
    });
    &code[..end.map_or(code.len(), |(i, _)| i)]
}

fn step(c: char) -> i32 {
    match c {
        '{' => 1,
        '}' => -1,
        _ => 0,
    }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn told_under_locks(
    source: &Source,
    lockers: &BTreeSet<&str>,
    tellers: &BTreeSet<&str>,
) -> Vec<String> {
    let mut wrong = Vec::new();
    for function in functions(&source.code) {
        let mut guards = Vec::new();
        for (i, _) in function.signature.match_indices(": MutexGuard<") {
            let before = &function.signature[..i];
            let name = before.rsplit(|c| !is_name(c)).next().unwrap_or_default();
            guards.push((name, function.body));
        }
        for (start, _) in function.body.match_indices("let ") {
            let rest = &function.body[start + "let ".len()..];
            let (statement, after) = rest.split_once(';').unwrap_or((rest, ""));
            let (pattern, value) = statement.split_once(" = ").unwrap_or((statement, ""));
            if is_lock(value, lockers) {
                let names = pattern.split(|c| !is_name(c)).filter(|name| !name.is_empty());
                guards.extend(names.filter(|name| *name != "mut").map(|name| (name, block(after))));
            }
        }
        for (name, life) in guards {
            if tells_while_there(name, life, tellers) {
                wrong.push(format!("{}: {} tells while it has {name}", source.path, function.name));
            }
        }
    }
    wrong
}

/// Whether what is computed is a lock, and not something that was read under one: the last call that is made.
fn is_lock(value: &str, lockers: &BTreeSet<&str>) -> bool {
    let value = value.split(" else {").next().unwrap_or_default().trim_end();
    let value = value.strip_suffix(".unwrap_or_else(PoisonError::into_inner)").unwrap_or(value);
    let Some(inside) = value.trim_end_matches('?').strip_suffix(')') else { return false };
    let mut depth = 0;
    let open = inside.char_indices().rev().find(|(_, c)| {
        depth += i32::from(*c == ')') - i32::from(*c == '(');
        depth < 0
    });
    let Some((open, _)) = open else { return false };
    let before = &inside[..open];
    match before.rsplit(|c| !is_name(c)).next().unwrap_or_default() {
        // Several things: the last of them.
        "" => is_lock(&inside[open + 1..], lockers),
        name => before.contains('.') && (name == "lock" || lockers.contains(name)),
    }
}

/// Whether something is told in `life` before the guard is gone: dropped, or handed to another function.
fn tells_while_there(guard: &str, life: &str, tellers: &BTreeSet<&str>) -> bool {
    let (mut depth, mut gone_at) = (0, None::<i32>);
    for (i, c) in life.char_indices() {
        depth += step(c);
        if gone_at.is_some_and(|at| depth < at) {
            gone_at = None;
        }
        let rest = &life[i..];
        let is_start = is_name(c) && !life[..i].ends_with(is_name);
        if !is_start {
            continue;
        }
        let word = &rest[..rest.find(|c| !is_name(c)).unwrap_or(rest.len())];
        let follows = rest[word.len()..].chars().next();
        let before = life[..i].trim_end();
        if word == guard && before.ends_with(['(', ',']) && matches!(follows, Some(')' | ',')) {
            if depth == 0 {
                return false;
            }
            gone_at = Some(gone_at.map_or(depth, |at| at.min(depth)));
        }
        let tells = [TELL, TELL_OF_MANY].iter().any(|tell| rest.starts_with(tell))
            || follows == Some('(') && before.ends_with('.') && tellers.contains(word);
        if tells && gone_at.is_none() {
            return true;
        }
    }
    false
}
