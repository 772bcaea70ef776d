//! Which items there are, and what belongs to each.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::Value;

use super::signature::{Names, list, only, some, text};

/// Each item by its path: what it is, and what belongs to it.
type Blocks = BTreeMap<String, (String, BTreeSet<String>)>;

/// The page.
///
/// # Errors
/// rustdoc told something else.
pub(crate) fn of(told: &Value) -> Result<String, String> {
    let mut reader = Reader {
        index: &told["index"],
        names: Names { paths: &told["paths"], public: BTreeMap::new() },
        blocks: Blocks::new(),
    };
    reader.walk(&told["root"]);
    reader.items();
    reader.impls();
    if reader.blocks.is_empty() {
        return Err(format!(
            "rustdoc told in a form that is not known: {}",
            told["format_version"]
        ));
    }
    let mut page = String::from(
        "# What programs can name, with all features. Written by `cargo xtask api`.\n",
    );
    for (head, lines) in reader.blocks.values() {
        page += &format!("\n{head}\n");
        for line in lines {
            page += &format!("    {line}\n");
        }
    }
    let strangers = strangers(&page, &told["external_crates"]);
    page += &format!("\nforeign: {}\n", strangers.into_iter().collect::<Vec<_>>().join(", "));
    Ok(page)
}

struct Reader<'a> {
    index: &'a Value,
    names: Names<'a>,
    blocks: Blocks,
}

impl<'a> Reader<'a> {
    fn item(&self, id: &Value) -> &'a Value {
        &self.index[id.to_string()]
    }

    /// Finds the path by which each item can be named, the shortest first.
    fn walk(&mut self, root: &Value) {
        let mut open = VecDeque::from([(root.clone(), String::new())]);
        while let Some((id, path)) = open.pop_front() {
            for id in list(&self.item(&id)["inner"]["module"]["items"]) {
                let item = self.item(id);
                let import = &item["inner"]["use"];
                let (target, name) = if import.is_null() {
                    (id, &item["name"])
                } else {
                    (&import["id"], &import["name"])
                };
                let name = joined(&path, text(name));
                if import["is_glob"] == true {
                    open.push_back((target.clone(), path.clone()));
                } else if self.item(target).is_null() {
                    self.block(&name, format!("use {name} = {}", text(&import["source"])));
                } else {
                    self.found(target, &name, &mut open);
                }
            }
        }
    }

    fn found(&mut self, id: &Value, name: &str, open: &mut VecDeque<(Value, String)>) {
        let Some(number) = id.as_u64() else { return };
        if let Some(first) = self.names.public.get(&number) {
            let line = format!("use {name} = {first}");
            self.block(name, line);
            return;
        }
        self.names.public.insert(number, name.to_owned());
        if !self.item(id)["inner"]["module"].is_null() {
            open.push_back((id.clone(), name.to_owned()));
        }
    }

    fn block(&mut self, path: &str, head: String) {
        self.blocks.insert(path.to_owned(), (head, BTreeSet::new()));
    }

    fn line(&mut self, path: &str, line: String) {
        if let Some((_, lines)) = self.blocks.get_mut(path) {
            lines.insert(line);
        }
    }

    fn items(&mut self) {
        for (id, path) in self.names.public.clone() {
            let item = &self.index[id.to_string()];
            let (kind, it) = only(&item["inner"]);
            let generics = self.names.generics(&it["generics"]);
            let end = self.names.conditions(&it["generics"]);
            let head = match kind {
                "trait" => {
                    format!("trait {path}{generics}{}{end}", self.names.colon_bounds(&it["bounds"]))
                }
                "function" => self.names.function(&path, it),
                "type_alias" => format!("type {path}{generics} = {}", self.names.ty(&it["type"])),
                "constant" => format!(
                    "const {path}: {} = {}",
                    self.names.ty(&it["type"]),
                    text(&it["const"]["expr"])
                ),
                "module" => format!("mod {path}"),
                _ => format!("{kind} {path}{generics}{}{end}", self.fields(&it["kind"])),
            };
            self.block(&path, format!("{}{head}", marks(item)));
            let parts = ["items", "variants"].into_iter().flat_map(|key| list(&it[key]));
            let parts: Vec<_> = parts.chain(list(&it["kind"]["plain"]["fields"])).collect();
            for part in parts {
                let part = self.item(part);
                // What a module has stands by itself.
                if kind != "module" && !part.is_null() {
                    let line = self.part(part);
                    self.line(&path, line);
                }
            }
        }
    }

    /// A field, a variant, or what a trait or an impl has.
    fn part(&self, item: &Value) -> String {
        let name = text(&item["name"]);
        let (kind, it) = only(&item["inner"]);
        let line = match kind {
            "struct_field" => format!("{name}: {}", self.names.ty(it)),
            "variant" => format!("{name}{}", self.fields(&it["kind"])),
            "function" => self.names.function(name, it),
            "assoc_type" => {
                let to = some(&it["type"])
                    .map_or_else(String::new, |ty| format!(" = {}", self.names.ty(ty)));
                format!("type {name}{}{to}", self.names.colon_bounds(&it["bounds"]))
            }
            "assoc_const" => format!("const {name}: {}", self.names.ty(&it["type"])),
            _ => format!("{kind} {name}"),
        };
        format!("{}{line}", marks(item))
    }

    /// Those of a tuple, or of a variant. Those of a struct have lines of their own.
    fn fields(&self, kind: &Value) -> String {
        let (what, it) = only(kind);
        let ty = |id: &Value| {
            some(id).map_or_else(
                || "_".into(),
                |id| self.names.ty(&self.item(id)["inner"]["struct_field"]),
            )
        };
        let named = |id: &Value| self.part(self.item(id));
        match what {
            "tuple" => format!("({})", list(it).map(ty).collect::<Vec<_>>().join(", ")),
            "struct" => {
                format!(" {{ {} }}", list(&it["fields"]).map(named).collect::<Vec<_>>().join(", "))
            }
            _ => String::new(),
        }
    }

    /// Methods and traits. Of traits that the compiler finds by itself the absence alone: it would be missed.
    fn impls(&mut self) {
        let all: Vec<_> =
            self.index.as_object().into_iter().flat_map(|index| index.values()).collect();
        for it in all.into_iter().map(|item| &item["inner"]["impl"]) {
            let negative = it["is_negative"] == true;
            let of = text(&it["trait"]["path"]);
            let missed = negative && matches!(of, "Send" | "Sync" | "Unpin");
            // What a derive adds for the compiler alone is not stable to name.
            let by_hand = it["is_synthetic"] == false
                && it["blanket_impl"].is_null()
                && of != "StructuralPartialEq";
            let Some(path) = self.place(it).filter(|_| missed || by_hand) else { continue };
            let head = format!("impl{} ", self.names.generics(&it["generics"]));
            let (whom, end) = (self.names.ty(&it["for"]), self.names.conditions(&it["generics"]));
            let parts = list(&it["items"]).map(|id| self.item(id)).filter(|part| !part.is_null());
            if it["trait"].is_null() {
                let lines: Vec<_> = parts.map(|part| self.part(part)).collect();
                for line in lines {
                    let plain = head == "impl " && whom == path;
                    let line = if plain { line } else { format!("{head}{whom}{end}: {line}") };
                    self.line(&path, line);
                }
                continue;
            }
            let types = parts
                .filter(|part| !part["inner"]["assoc_type"].is_null())
                .map(|part| self.part(part));
            let types: Vec<_> = types.collect();
            let types = if types.is_empty() {
                String::new()
            } else {
                format!(" {{ {} }}", types.join("; "))
            };
            let not = if negative { "!" } else { "" };
            self.line(
                &path,
                format!("{head}{not}{} for {whom}{end}{types}", self.names.path(&it["trait"])),
            );
        }
    }

    /// Below which item an impl stands: its type if that is ours, else its trait, else what the trait is of.
    fn place(&self, it: &Value) -> Option<String> {
        let own =
            |path: &Value| path["id"].as_u64().and_then(|id| self.names.public.get(&id)).cloned();
        let args = list(&it["trait"]["args"]["angle_bracketed"]["args"]);
        let mut args = args.map(|arg| own(&arg["type"]["resolved_path"]));
        let whom = &it["for"];
        own(&whom["resolved_path"])
            .or_else(|| own(&whom["borrowed_ref"]["type"]["resolved_path"]))
            .or_else(|| own(&it["trait"]))
            .or_else(|| args.find_map(|arg| arg))
    }
}

/// What else a user sees of an item.
fn marks(item: &Value) -> String {
    let open = list(&item["attrs"]).any(|attr| text(attr) == "non_exhaustive");
    let late = if item["deprecation"].is_null() { "" } else { "#[deprecated] " };
    format!("{}{late}", if open { "#[non_exhaustive] " } else { "" })
}

fn joined(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}::{name}") }
}

/// Types of other crates that a user has to name or to import.
fn strangers(page: &str, crates: &Value) -> BTreeSet<String> {
    let crates: BTreeSet<_> = crates
        .as_object()
        .into_iter()
        .flat_map(|all| all.values())
        .map(|krate| text(&krate["name"]))
        .collect();
    let signatures = page.lines().filter(|line| !line.starts_with("use "));
    let words = signatures
        .flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':'));
    let foreign =
        words.filter(|word| word.split_once("::").is_some_and(|(krate, _)| crates.contains(krate)));
    foreign.map(str::to_owned).collect()
}
