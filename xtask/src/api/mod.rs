//! What programs can name of the library, as a page of text. `cargo xtask api` writes it; with `--check` it compares.
//!
//! rustdoc tells it as JSON, a form that stable compilers have behind a switch and that changes a little with their
//! versions. So it is read as loosely as can be, and what is not known stands in the page as it came.
#![expect(clippy::indexing_slicing, reason = "what JSON does not have is null")]

mod page;
mod signature;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use serde_json::Value;

use crate::cargo;

/// Where the page stands.
const PAGE: &str = "docs/maintain/api.txt";

/// The switch is for rustdoc alone: as a variable of cargo's it would have half the tree built anew.
const WITH_SWITCH: &str = "#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc \"$@\"\n";

pub(crate) fn run(check: bool) -> Result<ExitCode, String> {
    let told = told_by_rustdoc()?;
    let now = page::of(&told)?;
    let page = cargo::top().join(PAGE);
    if !check {
        fs::write(&page, now).map_err(|error| format!("{PAGE}: {error}"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let before = fs::read_to_string(&page).map_err(|error| format!("{PAGE}: {error}"))?;
    let changes = changes(&before, &now);
    if changes.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    for change in changes {
        println!("{change}");
    }
    Err(format!(
        "this is not what {PAGE} has; if it is wanted: `cargo xtask api`, and a line in CHANGELOG.md"
    ))
}

/// Lines that are gone and lines that are new, each below the item it belongs to.
fn changes(before: &str, now: &str) -> Vec<String> {
    let only_in = |one: &str, other: &str, sign: &str| -> Vec<String> {
        let there: Vec<_> = with_items(other);
        with_items(one)
            .iter()
            .filter(|line| !there.contains(line))
            .map(|line| format!("{sign} {line}"))
            .collect()
    };
    let mut changes = only_in(before, now, "-");
    changes.extend(only_in(now, before, "+"));
    changes
}

/// Each line with its item before it.
fn with_items(page: &str) -> Vec<String> {
    let mut item = "";
    let of_item = |line| match str::strip_prefix(line, "    ") {
        Some(part) => format!("{item}  …  {part}"),
        None => {
            item = line;
            line.to_owned()
        }
    };
    page.lines().map(of_item).collect()
}

fn told_by_rustdoc() -> Result<Value, String> {
    let target =
        env::var_os("CARGO_TARGET_DIR").map_or_else(|| cargo::top().join("target"), PathBuf::from);
    let rustdoc = script(&target).map_err(|error| format!("{}: {error}", target.display()))?;
    let words = [
        "rustdoc",
        "--package=palisade-lock",
        "--lib",
        "--all-features",
        "--",
        "-Zunstable-options",
        "--output-format=json",
    ];
    if !cargo::run_with(&words, &[("RUSTDOC", &rustdoc)]) {
        return Err("rustdoc does not tell what the library has".into());
    }
    let told = target.join("doc/palisade.json");
    let text = fs::read_to_string(&told).map_err(|error| format!("{}: {error}", told.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", told.display()))
}

#[cfg(unix)]
fn script(target: &Path) -> std::io::Result<String> {
    use std::os::unix::fs::PermissionsExt;

    let script = target.canonicalize()?.join("rustdoc-with-switch");
    fs::write(&script, WITH_SWITCH)?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    Ok(script.display().to_string())
}

#[cfg(not(unix))]
fn script(_target: &Path) -> std::io::Result<String> {
    Err(std::io::Error::new(std::io::ErrorKind::Unsupported, "the switch is a shell script"))
}

#[cfg(test)]
mod tests {
    use super::changes;

    #[test]
    fn a_change_is_told_with_its_item() {
        let before = "struct Lock\n    fn a()\nstruct Other\n    fn a()\n";
        let now = "struct Lock\n    fn b()\nstruct Other\n    fn a()\n";
        assert_eq!(changes(before, now), ["- struct Lock  …  fn a()", "+ struct Lock  …  fn b()"]);
        assert!(changes(now, now).is_empty());
    }
}
