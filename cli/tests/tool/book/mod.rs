//! The book: its commands are understood, and what it shows of a terminal is what one sees.

mod scripts;
mod stories;
mod transcript;
mod words;

use std::{
    fs,
    path::{Path, PathBuf},
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A page or another file, by its path below the top.
fn page(path: &str) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All pages, by their paths below the top.
fn pages() -> Vec<PathBuf> {
    let mut folders = vec![PathBuf::from("docs/src")];
    let mut pages = vec![PathBuf::from("README.md")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder)).expect("a folder") {
            let path = folder.join(entry.expect("an entry").file_name());
            if root().join(&path).is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "md") {
                pages.push(path);
            }
        }
    }
    pages
}
