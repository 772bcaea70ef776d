//! What the docs of the library must say, read from the comments.

use std::fs;

use super::{files, paths, root};

/// An item that users see, with the lines of its doc comment.
struct Item {
    /// File and line.
    place: String,
    /// Its first line, from `pub` on.
    head: String,
    doc: Vec<String>,
}

impl Item {
    fn has(&self, section: &str) -> bool {
        self.doc.iter().any(|line| line.strip_prefix("/// ").is_some_and(|text| text == section))
    }

    /// The name of a type; `None` for what is none.
    fn type_name(&self) -> Option<&str> {
        let kinds = ["pub struct ", "pub enum ", "pub trait ", "pub type "];
        let rest = kinds.iter().find_map(|kind| self.head.strip_prefix(kind))?;
        rest.split(|c: char| !c.is_alphanumeric()).next()
    }
}

/// Whatever is `pub` without restriction: lints see to it that users can reach that.
fn public_items() -> Vec<Item> {
    let src = root().join("src");
    // Planted bugs are in no build that users have.
    let all = files(&src, "rs").into_iter().filter(|file| !file.starts_with(src.join("planted")));
    all.flat_map(|file| {
        let path = file.strip_prefix(&src).unwrap().to_str().unwrap().replace('\\', "/");
        items(&path, &fs::read_to_string(&file).unwrap())
    })
    .collect()
}

fn items(path: &str, text: &str) -> Vec<Item> {
    let (mut found, mut doc) = (Vec::new(), Vec::new());
    for (i, line) in text.lines().map(str::trim).enumerate() {
        if line.starts_with("///") {
            doc.push(line.to_owned());
        } else if line.starts_with("pub ") {
            let (place, head) = (format!("{path}:{}", i + 1), line.to_owned());
            found.push(Item { place, head, doc: std::mem::take(&mut doc) });
        } else if !line.starts_with("#[") {
            doc.clear();
        }
    }
    found
}

/// The front door: its root, and behind it the modules that are written out there.
fn door() -> (String, String) {
    let door = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let inside = door.lines().position(|line| line.starts_with("pub mod ") && line.ends_with('{'));
    let lines: Vec<_> = door.lines().collect();
    // With the comment of the first.
    let (root, modules) = lines.split_at(inside.unwrap() - 1);
    (root.join("\n"), modules.join("\n"))
}

/// The modules that users see and that have a file of their own.
fn public_rooms() -> Vec<String> {
    let (root, _) = door();
    let modules = root.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    modules.map(str::to_owned).collect()
}

/// The text of a room's door.
fn door_of(room: &str) -> String {
    let src = super::root().join("src");
    let file = [format!("{room}/mod.rs"), format!("{room}.rs")].map(|file| src.join(file));
    fs::read_to_string(file.iter().find(|file| file.exists()).unwrap()).unwrap()
}

/// The types of ours that a text hands on.
fn handed_on(text: &str) -> Vec<String> {
    let uses = text.split("pub use ").skip(1).flat_map(paths);
    let uses = uses.filter(|path| !STRANGERS.iter().any(|krate| path.starts_with(krate)));
    let names = uses.filter_map(|path| Some(path.rsplit_once("::")?.1.to_owned()));
    names.filter(|name| name.starts_with(char::is_uppercase)).collect()
}

/// What `palisade::foreign` hands on has its examples elsewhere.
const STRANGERS: [&str; 4] = ["redis::", "tokio_rustls::", "tokio_util::", "uuid::"];

/// The types that users see: at the front door, or in a module behind it.
fn shown() -> Vec<String> {
    let (root, modules) = door();
    let rooms = public_rooms().iter().map(|room| door_of(room)).collect::<Vec<_>>();
    [root, modules].iter().chain(&rooms).flat_map(|text| handed_on(text)).collect()
}

/// The front page shows what matters: what is rare is in a module.
#[test]
fn root_has_at_most_thirty_names() {
    let (root, _) = door();
    let names = handed_on(&root);
    assert!(names.iter().any(|name| name == "Client"), "{names:?}");
    assert!(names.len() <= 30, "{} names at the root: {names:?}", names.len());
}

#[test]
fn every_public_module_says_what_it_is_for() {
    let (_, modules) = door();
    let lines: Vec<&str> = modules.lines().collect();
    for pair in lines.windows(2).filter(|pair| pair[1].starts_with("pub mod ")) {
        assert!(pair[0].starts_with("/// "), "no word about `{}`", pair[1]);
    }
    for room in public_rooms() {
        assert!(door_of(&room).starts_with("//! "), "no word about `{room}`");
    }
}

#[test]
fn every_async_fn_says_what_dropping_its_future_does() {
    let all = public_items();
    let futures = all.iter().filter(|item| item.head.starts_with("pub async fn "));
    let silent = futures.filter(|item| !item.has("# Cancel safety"));
    let silent: Vec<_> = silent.map(|item| format!("{}: {}", item.place, item.head)).collect();
    assert!(silent.is_empty(), "no `# Cancel safety`:\n{}", silent.join("\n"));
}

#[test]
fn every_type_has_an_example() {
    let all = public_items();
    let types: Vec<_> = all.iter().filter_map(|item| Some((item.type_name()?, item))).collect();
    let shown = shown();
    assert!(
        ["Client", "NodeId", "Holder", "SimulatedProcess"]
            .iter()
            .all(|it| shown.iter().any(|name| name == it))
    );
    for name in shown {
        assert!(types.iter().any(|(known, _)| *known == name), "where is {name}?");
    }
    let bare = types.iter().filter(|(_, item)| !item.has("# Examples"));
    let bare: Vec<_> = bare.map(|(name, item)| format!("{}: {name}", item.place)).collect();
    assert!(bare.is_empty(), "no `# Examples`:\n{}", bare.join("\n"));
}

#[test]
fn docs_are_read_up_to_their_item() {
    let text = "/// Lost.\nfn other() {}\n\n/// One.\n///\n/// # Examples\n#[derive(Debug)]\npub struct A<T>;\n\
                pub async fn b() {}\n";
    let items = items("x.rs", text);
    assert_eq!((items[0].type_name(), items[0].has("# Examples")), (Some("A"), true));
    assert_eq!((items[1].place.as_str(), items[1].doc.len()), ("x.rs:9", 0));
}
