//! The way of one lock through the library: which functions of ours it runs through, and how often it changes rooms.
//!
//! `tests/walk.rs` is built without optimization, so that nothing is inlined, and run under callgrind. What counts is
//! told in `docs/maintain/walks/README.md`.

mod name;
mod profile;
mod route;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
};

use self::{
    profile::Profile,
    route::{Route, Stop},
};
use crate::{
    cargo,
    packages::{exists, install_by_apt},
};

/// Follows the lock and prints what it ran through.
///
/// # Errors
/// Something of it cannot be built, run or read; the text says what.
pub(crate) fn run(is_to_write: bool) -> Result<ExitCode, String> {
    ensure_valgrind()?;
    if !cargo::run_with(&BUILD, &[("RUSTFLAGS", FLAGS)]) {
        return Err("tests/walk.rs cannot be built".into());
    }
    let top = cargo::top().canonicalize().map_err(|error| error.to_string())?;
    let profiles = follow(&top)?;
    println!("{:<8} functions  files  rooms  crossing calls  changes of room", "");
    for (stretch, part) in STRETCHES {
        let path = profiles.join(format!("{PROFILE}.{part}"));
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let route = Route::of(&Profile::parse(&text), &top.join("src"));
        println!(
            "{stretch:<8} {:>9} {:>6} {:>6} {:>15} {:>16}",
            route.stops.len(),
            route.files(),
            route.rooms(),
            route.crossings.len(),
            route.changes()
        );
        if is_to_write {
            write(&top.join(LISTS).join(format!("{stretch}.md")), &route)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn ensure_valgrind() -> Result<(), String> {
    if exists("valgrind") {
        return Ok(());
    }
    println!("valgrind is not on the PATH, installing it");
    if !exists("apt-get") {
        return Err("there is no apt-get here to install valgrind; put it on the PATH".into());
    }
    install_by_apt(&["valgrind"])?;
    if exists("valgrind") { Ok(()) } else { Err("valgrind was installed but does not run".into()) }
}

/// Runs the program under callgrind. The folder in which the parts of the profile are then.
fn follow(top: &Path) -> Result<PathBuf, String> {
    let folder = top.join("target/walk/profile");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut valgrind = Command::new("valgrind");
    valgrind.arg(format!("--callgrind-out-file={}", folder.join(PROFILE).display()));
    valgrind.args(CALLGRIND).arg(top.join("target/walk/debug/examples/walk"));
    match valgrind.current_dir(top).stdin(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(folder),
        Ok(status) => Err(format!("the walk under valgrind failed: {status}")),
        Err(reason) => Err(format!("valgrind cannot be run: {reason}")),
    }
}

/// Replaces the list of a page, from its head on; what stands above it was written by hand.
fn write(page: &Path, route: &Route) -> Result<(), String> {
    let text = fs::read_to_string(page).map_err(|e| format!("{}: {e}", page.display()))?;
    let above = text.split(LIST).next().unwrap_or_default();
    let row = |stop: &Stop| format!("| `{}` | `{}` |\n", stop.name, stop.file);
    let rows: String = route.stops.iter().map(row).collect();
    fs::write(page, format!("{above}{LIST}{rows}")).map_err(|e| format!("{}: {e}", page.display()))
}

/// In a target directory of its own, since it is built with other flags.
const BUILD: [&str; 5] =
    ["build", "--package=palisade-tests", "--example=walk", "--target-dir=target/walk", "--quiet"];

/// valgrind hides the vDSO, in which rustix would look for the clock. Names of version 0 have the types of an instance
/// in them, so that no two share one.
const FLAGS: &str = "--cfg rustix_use_libc -C symbol-mangling-version=v0";

const CALLGRIND: [&str; 7] = [
    "--tool=callgrind",
    "--quiet",
    "--demangle=no",
    "--compress-strings=no",
    "--compress-pos=no",
    "--dump-line=yes",
    "--dump-before=*end_of_stretch*",
];

const PROFILE: &str = "profile";

/// What each part of the profile is of. The first is the warm-up.
const STRETCHES: [(&str, u32); 3] = [("acquire", 2), ("renew", 3), ("release", 4)];

/// Where the lists are.
const LISTS: &str = "docs/maintain/walks";

/// The head of each list.
const LIST: &str = "| function | file |\n|---|---|\n";
