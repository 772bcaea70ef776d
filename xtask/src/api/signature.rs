//! Types, bounds and signatures as they would stand in a source, with the names by which users know them.

use std::collections::BTreeMap;

use serde_json::Value;

/// By which path each item can be named.
#[derive(Debug)]
pub(crate) struct Names<'a> {
    pub(crate) paths: &'a Value,
    pub(crate) public: BTreeMap<u64, String>,
}

impl Names<'_> {
    /// `name(a: A) -> B`, with generics.
    pub(crate) fn function(&self, name: &str, function: &Value) -> String {
        let (sig, header) = (&function["sig"], &function["header"]);
        let mut text = String::new();
        for (word, key) in
            [("const ", "is_const"), ("async ", "is_async"), ("unsafe ", "is_unsafe")]
        {
            text += if header[key] == true { word } else { "" };
        }
        let inputs = list(&sig["inputs"]).map(|input| match (&input[0], self.ty(&input[1])) {
            (Value::String(name), ty) if name == "self" => own(&ty),
            (_, ty) => ty,
        });
        let inputs: Vec<_> = inputs.collect();
        text +=
            &format!("fn {name}{}({})", self.generics(&function["generics"]), inputs.join(", "));
        text + &self.output(&sig["output"]) + &self.conditions(&function["generics"])
    }

    /// `<'a, T: Bound>`; nothing where there is none. Those of `impl Trait` stand where they are used.
    pub(crate) fn generics(&self, generics: &Value) -> String {
        let one = |param: &Value| {
            let (name, kind) = (text(&param["name"]), &param["kind"]);
            let (what, detail) = only(kind);
            match what {
                "type" if detail["is_synthetic"] == true => None,
                "type" => {
                    let default = some(&detail["default"])
                        .map_or_else(String::new, |ty| format!(" = {}", self.ty(ty)));
                    Some(format!("{name}{}{default}", self.colon_bounds(&detail["bounds"])))
                }
                "const" => Some(format!("const {name}: {}", self.ty(&detail["type"]))),
                _ => Some(name.to_owned()),
            }
        };
        angled(list(&generics["params"]).filter_map(one))
    }

    /// ` where …`.
    pub(crate) fn conditions(&self, generics: &Value) -> String {
        let one = |condition: &Value| match only(condition) {
            ("bound_predicate", it) => {
                format!("{}{}", self.ty(&it["type"]), self.colon_bounds(&it["bounds"]))
            }
            _ => condition.to_string(),
        };
        let all: Vec<_> = list(&generics["where_predicates"]).map(one).collect();
        if all.is_empty() { String::new() } else { format!(" where {}", all.join(", ")) }
    }

    /// `: A + B`.
    pub(crate) fn colon_bounds(&self, bounds: &Value) -> String {
        let bounds = self.bounds(bounds);
        if bounds.is_empty() { bounds } else { format!(": {bounds}") }
    }

    fn bounds(&self, bounds: &Value) -> String {
        let one = |bound: &Value| match only(bound) {
            ("trait_bound", it) => {
                let maybe = if it["modifier"] == "maybe" { "?" } else { "" };
                format!("{maybe}{}{}", self.for_all(&it["generic_params"]), self.path(&it["trait"]))
            }
            ("outlives", it) => text(it).to_owned(),
            ("use", it) => format!(
                "use<{}>",
                list(it).map(|arg| text(only(arg).1)).collect::<Vec<_>>().join(", ")
            ),
            _ => bound.to_string(),
        };
        list(bounds).map(one).collect::<Vec<_>>().join(" + ")
    }

    fn for_all(&self, params: &Value) -> String {
        let names = angled(list(params).map(|param| text(&param["name"]).to_owned()));
        if names.is_empty() { names } else { format!("for{names} ") }
    }

    pub(crate) fn ty(&self, ty: &Value) -> String {
        let (what, it) = only(ty);
        match what {
            "resolved_path" => self.path(it),
            "generic" | "primitive" => text(it).to_owned(),
            "infer" => "_".to_owned(),
            "impl_trait" => format!("impl {}", self.bounds(it)),
            "tuple" => format!("({})", self.types(it)),
            "slice" => format!("[{}]", self.ty(it)),
            "array" => format!("[{}; {}]", self.ty(&it["type"]), text(&it["len"])),
            "borrowed_ref" => {
                let lifetime = some(&it["lifetime"])
                    .map_or_else(String::new, |name| format!("{} ", text(name)));
                let mutable = if it["is_mutable"] == true { "mut " } else { "" };
                format!("&{lifetime}{mutable}{}", self.ty(&it["type"]))
            }
            "dyn_trait" => {
                let one = |each: &Value| {
                    format!(
                        "{}{}",
                        self.for_all(&each["generic_params"]),
                        self.path(&each["trait"])
                    )
                };
                let mut all: Vec<_> = list(&it["traits"]).map(one).collect();
                all.extend(some(&it["lifetime"]).map(|name| text(name).to_owned()));
                format!("(dyn {})", all.join(" + "))
            }
            "qualified_path" => {
                let own = self.ty(&it["self_type"]);
                let of = some(&it["trait"])
                    .map_or(own.clone(), |of| format!("<{own} as {}>", self.path(of)));
                format!("{of}::{}{}", text(&it["name"]), self.args(&it["args"]))
            }
            "function_pointer" => {
                let inputs: Vec<_> =
                    list(&it["sig"]["inputs"]).map(|input| self.ty(&input[1])).collect();
                format!("fn({}){}", inputs.join(", "), self.output(&it["sig"]["output"]))
            }
            _ => ty.to_string(),
        }
    }

    fn types(&self, types: &Value) -> String {
        list(types).map(|ty| self.ty(ty)).collect::<Vec<_>>().join(", ")
    }

    fn output(&self, output: &Value) -> String {
        some(output).map_or_else(String::new, |ty| format!(" -> {}", self.ty(ty)))
    }

    /// A type or trait by its path, with arguments.
    pub(crate) fn path(&self, path: &Value) -> String {
        self.name(path) + &self.args(&path["args"])
    }

    fn args(&self, args: &Value) -> String {
        match only(args) {
            ("angle_bracketed", it) => {
                let arg = |arg: &Value| match only(arg) {
                    ("type", ty) => self.ty(ty),
                    ("lifetime", name) => text(name).to_owned(),
                    ("const", it) => text(&it["expr"]).to_owned(),
                    _ => arg.to_string(),
                };
                let constraint = |it: &Value| match only(&it["binding"]) {
                    ("equality", to) => format!("{} = {}", text(&it["name"]), self.ty(&to["type"])),
                    (_, bounds) => format!("{}{}", text(&it["name"]), self.colon_bounds(bounds)),
                };
                angled(list(&it["args"]).map(arg).chain(list(&it["constraints"]).map(constraint)))
            }
            ("parenthesized", it) => {
                format!("({}){}", self.types(&it["inputs"]), self.output(&it["output"]))
            }
            ("", _) => String::new(),
            _ => args.to_string(),
        }
    }

    /// Ours by the path for users, the standard library's without one, and others' with their crate: where in a crate
    /// a type stands is that crate's affair.
    fn name(&self, path: &Value) -> String {
        let id = &path["id"];
        if let Some(name) = id.as_u64().and_then(|id| self.public.get(&id)) {
            return name.clone();
        }
        let known: Vec<_> = list(&self.paths[id.to_string()]["path"]).map(text).collect();
        match known.as_slice() {
            ["core" | "alloc" | "std", room, .., name @ ("Error" | "Result")]
                if *room != "result" =>
            {
                format!("{room}::{name}")
            }
            ["core" | "alloc" | "std", .., name] => (*name).to_owned(),
            ["palisade", .., name] => format!("(private {name})"),
            [krate, .., name] => format!("{krate}::{name}"),
            [] | [_] => text(&path["path"]).rsplit("::").next().unwrap_or_default().to_owned(),
        }
    }
}

fn own(ty: &str) -> String {
    match ty {
        "Self" => "self".to_owned(),
        "&Self" => "&self".to_owned(),
        "&mut Self" => "&mut self".to_owned(),
        other => format!("self: {other}"),
    }
}

fn angled(all: impl Iterator<Item = String>) -> String {
    let all: Vec<_> = all.collect();
    if all.is_empty() { String::new() } else { format!("<{}>", all.join(", ")) }
}

/// What kind of thing it is, and the thing. A word alone is a kind without more.
pub(crate) fn only(value: &Value) -> (&str, &Value) {
    match value {
        Value::Object(fields) => fields.iter().next().map_or(("", value), |(kind, it)| (kind, it)),
        Value::String(kind) => (kind, value),
        _ => ("", value),
    }
}

pub(crate) fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub(crate) fn some(value: &Value) -> Option<&Value> {
    Some(value).filter(|value| !value.is_null())
}
