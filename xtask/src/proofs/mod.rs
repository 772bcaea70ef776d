//! What keeps each invariant, what proves it, and which bugs are planted against it.
//!
//! Read from the sources as text, so that no list has to be kept beside them:
//!
//! - `// keeps: NAME` stands in `src` above what keeps an invariant;
//! - `// proves: NAME` stands above a test, a check or a rule of the model that fails without it.
//!
//! The item below the marker is shown; above a file's `//!` it is the whole file. Several names have
//! commas between them. The names are those of `docs/maintain/invariants.md`. An invariant without
//! code or without any proof is an error, and so is a marker with a name that is none.
//!
//! `tests/it/tidy` includes these files, and compares the pages that are there with those of today.

pub(crate) mod bugs;
mod invariants;
mod marks;
mod pages;

use std::{
    fs,
    path::{Path, PathBuf},
};

use self::{invariants::Invariant, marks::Mark, pages::Known};

/// A page and its text.
#[derive(Debug)]
pub(crate) struct Page {
    /// From the top of the repository.
    pub(crate) path: &'static str,
    pub(crate) text: String,
}

/// Both pages, as they are to be.
///
/// # Errors
/// All that is missing or names nothing, a line each.
pub(crate) fn pages(top: &Path) -> Result<[Page; 2], String> {
    let sources = sources(top)?;
    let known = Known {
        invariants: Invariant::all(&read(&top.join("docs/maintain/invariants.md"))?),
        checks: invariants::checks(&read(&top.join("checkers/src/check/mod.rs"))?),
        marks: sources.iter().flat_map(|(path, text)| marks::of(path, text)).collect(),
        places: sources.iter().flat_map(|(path, text)| marks::planted(path, text)).collect(),
    };
    let wrong = known.mistakes();
    if !wrong.is_empty() {
        return Err(wrong.join("\n"));
    }
    Ok([
        Page { path: "docs/maintain/proofs.md", text: known.proofs() },
        Page { path: "docs/maintain/planted.md", text: known.planted() },
    ])
}

/// The Rust files of the folders that have code or proofs, in the order of their names.
fn sources(top: &Path) -> Result<Vec<(String, String)>, String> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = FOLDERS.map(|folder| top.join(folder)).into();
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        for entry in entries {
            let path = entry.map_err(|e| e.to_string())?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() && name != "target" && !name.starts_with('.') {
                folders.push(path);
            } else if name.ends_with(".rs") {
                let below = path.strip_prefix(top).map_err(|e| e.to_string())?;
                found.push((below.to_string_lossy().replace('\\', "/"), read(&path)?));
            }
        }
    }
    found.sort();
    Ok(found)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

const FOLDERS: [&str; 9] =
    ["src", "tests", "cli", "checkers", "chaos", "simulation", "model", "interop", "workload"];
