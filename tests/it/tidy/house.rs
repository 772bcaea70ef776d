//! Which file of the library uses which, read from the imports and from the paths in expressions.
//!
//! The door of a room (`mod.rs`) that hands a name on is not the one that is used: the arrow ends at
//! the file that has the name. Handing on is no use, unless the door names it elsewhere, too.

use std::collections::{BTreeMap, BTreeSet};

use super::{Source, paths};

/// A module's path, below the crate.
type Module = Vec<String>;

/// The arrows between the files.
pub(crate) struct House {
    uses: BTreeMap<String, BTreeSet<String>>,
}

/// An import: what is named, and by which name it is known afterwards if it is handed on.
struct Import {
    path: Module,
    is_handed_on: bool,
}

impl House {
    pub(crate) fn of(sources: &[Source]) -> Self {
        let files: BTreeMap<Module, &Source> =
            sources.iter().map(|source| (module(&source.path), source)).collect();
        let known: BTreeMap<&Module, Vec<Import>> =
            files.iter().map(|(module, source)| (module, imports(module, &source.code))).collect();
        let resolve = |path: &Module| owner(path, &files, &known, 0);
        let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (module, imports) in &known {
            let Some(source) = files.get(*module) else { continue };
            let used = imports.iter().filter(|import| !import.is_handed_on);
            let used = used.filter_map(|import| resolve(&import.path));
            let others = used.filter(|file| *file != source.path).collect();
            uses.insert(source.path.clone(), others);
        }
        Self { uses }
    }

    /// The rings of files of one room, each as a line; none if the arrows point one way.
    pub(crate) fn rings(&self) -> Vec<String> {
        let mut rings = BTreeSet::new();
        for file in self.uses.keys() {
            if let Some(mut ring) = self.way(file, file) {
                ring.sort();
                rings.insert(ring.join(" → "));
            }
        }
        rings.into_iter().collect()
    }

    /// Takes an arrow out. Whether it was there.
    pub(crate) fn forget(&mut self, (from, to): (&str, &str)) -> bool {
        self.uses.get_mut(from).is_some_and(|uses| uses.remove(to))
    }

    /// The files on a way from one to another, the first left out.
    pub(crate) fn way(&self, from: &str, to: &str) -> Option<Vec<String>> {
        let mut seen = BTreeSet::new();
        let mut open = vec![vec![from.to_owned()]];
        while let Some(way) = open.pop() {
            let last = way.last().cloned().unwrap_or_default();
            for next in self.uses.get(&last).into_iter().flatten() {
                if next == to {
                    return Some(way);
                }
                if seen.insert(next.clone()) {
                    open.push(way.iter().cloned().chain([next.clone()]).collect());
                }
            }
        }
        None
    }
}

/// `claim/mod.rs` and `claim.rs` are `claim`.
fn module(path: &str) -> Module {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let path = path.strip_suffix("/mod").unwrap_or(path);
    path.split('/').map(str::to_owned).collect()
}

/// The imports of a file, and the paths that it names in passing.
fn imports(module: &Module, code: &str) -> Vec<Import> {
    let mut imports = Vec::new();
    let mut statements = Vec::new();
    for statement in code.split("use ").skip(1) {
        let start = offset(code, statement);
        let before = &code[..start - "use ".len()];
        let line = before.rsplit('\n').next().unwrap_or_default().trim();
        let is_handed_on = line.starts_with("pub");
        if line.is_empty() || is_handed_on {
            let end = start + statement.find(';').unwrap_or(statement.len());
            for path in paths(statement).into_iter().map(|path| absolute(module, &path)) {
                // A door may use what it hands on.
                let is_used = is_handed_on && path.last().is_some_and(|name| names(code, name));
                imports.extend(is_used.then(|| Import { path: path.clone(), is_handed_on: false }));
                imports.push(Import { path, is_handed_on });
            }
            statements.push(start..end);
        }
    }
    let is_imported = |place| statements.iter().any(|statement| statement.contains(&place));
    for (_, path) in in_passing(code).into_iter().filter(|(place, _)| !is_imported(*place)) {
        imports.push(Import { path: item(absolute(module, &path)), is_handed_on: false });
    }
    imports
}

/// The paths in expressions, types and patterns that begin at a module of ours, and where each stands.
fn in_passing(code: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for start in ["crate", "super", "self"].into_iter().chain(children(code)) {
        for (place, _) in code.match_indices(&format!("{start}::")) {
            let before = &code[..place];
            let is_inside = before.ends_with(|c: char| c.is_alphanumeric() || "_:$".contains(c));
            // Where it may be seen, not what is used.
            if !is_inside && !before.ends_with("(in ") {
                found.extend(paths(&code[place..]).into_iter().map(|path| (place, path)));
            }
        }
    }
    found
}

/// Whether a type is named in more than imports: behind anything but `use`.
fn names(code: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    name.starts_with(char::is_uppercase)
        && code.split(';').filter(|statement| !statement.contains("use ")).any(|statement| {
            statement.match_indices(name).any(|(i, _)| {
                !statement[..i].ends_with(is_part)
                    && !statement[i + name.len()..].starts_with(is_part)
            })
        })
}

/// The modules that a door declares: it names them without any word before them.
fn children(code: &str) -> impl Iterator<Item = &str> {
    code.lines().filter_map(|line| line.split_once("mod ")?.1.strip_suffix(';'))
}

/// Up to the type, whose variants and methods come after it.
fn item(path: Module) -> Module {
    let is_type = |name: &String| name.starts_with(char::is_uppercase);
    let end = path.iter().position(is_type).map_or(path.len(), |i| i + 1);
    path.into_iter().take(end).collect()
}

fn offset(whole: &str, part: &str) -> usize {
    part.as_ptr() as usize - whole.as_ptr() as usize
}

fn absolute(module: &Module, path: &str) -> Module {
    let mut parts: Vec<&str> = path.split("::").collect();
    let mut base = module.clone();
    match parts.first().copied() {
        Some("crate") => base.clear(),
        Some("super" | "self") => {}
        // A child of this module, or another crate.
        _ => return base.into_iter().chain(parts.into_iter().map(str::to_owned)).collect(),
    }
    while let Some(first @ ("crate" | "super" | "self")) = parts.first().copied() {
        if first == "super" {
            base.pop();
        }
        parts.remove(0);
    }
    base.into_iter().chain(parts.into_iter().map(str::to_owned)).collect()
}

/// The file that has what `path` names; `None` for what is not ours.
fn owner(
    path: &Module,
    files: &BTreeMap<Module, &Source>,
    known: &BTreeMap<&Module, Vec<Import>>,
    depth: usize,
) -> Option<String> {
    if let Some(source) = files.get(path) {
        return Some(source.path.clone());
    }
    let (name, home) = path.split_last()?;
    let home: Module = home.to_vec();
    let source = files.get(&home)?;
    let handed_on = known.get(&home)?.iter().find(|import| {
        import.is_handed_on && import.path.last() == Some(name) && import.path != *path
    });
    match handed_on {
        Some(import) if depth < 8 => owner(&import.path, files, known, depth + 1),
        _ => defines(&source.code, name).then(|| source.path.clone()),
    }
}

/// Whether a file has an item of that name.
fn defines(code: &str, name: &str) -> bool {
    let kinds = ["struct", "enum", "trait", "fn", "static", "const", "type", "macro_rules!"];
    kinds.iter().any(|kind| {
        code.match_indices(&format!("{kind} {name}")).any(|(i, found)| {
            let after = code[i + found.len()..].chars().next();
            !after.is_some_and(|c| c.is_alphanumeric() || c == '_')
        })
    })
}

#[test]
fn paths_in_expressions_are_read() {
    let code = "mod tcp;\npub(in crate::node) use x::Y;\nfn f() -> super::A {\n    \
                super::tls::refusal();\n    tcp::open(my_tcp::B, crate::c::D::e())\n}";
    let mut found: Vec<_> = in_passing(code).into_iter().map(|(_, path)| path).collect();
    found.sort();
    assert_eq!(found, ["crate::c::D::e", "super::A", "super::tls::refusal", "tcp::open"]);
    assert_eq!(item(module("c/D/e")), module("c/D"));
}

#[test]
fn door_that_names_what_it_hands_on_uses_it() {
    let handed_on = "pub(crate) use self::a::Used;\npub use self::{b::Given, c::Other};\n";
    let code = format!("{handed_on}fn f() -> Used {{\n    let _ = NotGiven;\n    g()\n}}");
    assert_eq!(["Used", "Given", "Other"].map(|name| names(&code, name)), [true, false, false]);
}
