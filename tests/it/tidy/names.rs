//! No type of the library has the name of another: a name that stands in two files means two things.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use super::{root, sources};

/// Names of today that stand in so many files. The list gets shorter, never longer; `docs/maintain/words.md` has the
/// names that they are to get.
const SHARED: [(&str, usize); 0] = [];

/// The types that a file declares, but for those of a trait or an `impl`.
fn types(code: &str) -> impl Iterator<Item = &str> {
    code.lines().filter_map(|line| {
        let bare = line.trim_start();
        let bare = match bare.strip_prefix("pub(") {
            Some(rest) => rest.split_once(") ")?.1,
            None => bare.strip_prefix("pub ").unwrap_or(bare),
        };
        let (kind, rest) = bare.split_once(' ')?;
        let is_type = ["struct", "enum", "trait", "union"].contains(&kind)
            || (kind == "type" && !line.starts_with(' '));
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        is_type.then(|| &rest[..end])
    })
}

#[test]
fn no_type_has_the_name_of_another() {
    let sources = sources();
    let mut files: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for source in &sources {
        for name in types(&source.code) {
            files.entry(name).or_default().insert(&source.path);
        }
    }
    assert!(files.contains_key("Claim"), "no types were found");
    let mut wrong = Vec::new();
    for (name, files) in files.iter().filter(|(_, files)| files.len() > 1) {
        let known = SHARED.iter().find(|(shared, _)| shared == name).map_or(1, |(_, most)| *most);
        if files.len() > known {
            wrong.push(format!("{name} stands in {files:?}"));
        }
    }
    for (name, most) in SHARED {
        let today = files.get(name).map_or(0, BTreeSet::len);
        if today < most {
            wrong.push(format!("{name} stands in {today} files, not {most}: correct the list"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn names_that_are_shared_have_their_rows() {
    let page = fs::read_to_string(root().join("docs/maintain/words.md")).unwrap();
    for (name, files) in SHARED {
        let rows = page.lines().filter(|line| line.starts_with(&format!("| `{name}` | `"))).count();
        assert!(
            rows >= files,
            "words.md has {rows} rows for {name}, which stands in {files} files"
        );
    }
}

#[test]
fn types_are_read_from_their_declarations() {
    let code = "pub(crate) struct A<T>(T);\npub enum B {\n    type C = u8;\n}\ntype D = A;\n    trait E {}\nstructure F";
    assert_eq!(types(code).collect::<Vec<_>>(), ["A", "B", "D", "E"]);
}
