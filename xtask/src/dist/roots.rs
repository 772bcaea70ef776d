//! Folders that have nothing but one package, installed as the system would.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::packages::as_root;

/// # Errors
/// dpkg refused it.
pub(crate) fn of_deb(folder: &Path, package: &Path) -> Result<PathBuf, String> {
    let root = new(folder, "root-of-deb", "var/lib/dpkg/info")?;
    for known in ["status", "available"] {
        super::write(&root.join("var/lib/dpkg").join(known), b"")?;
    }
    super::write(&root.join("var/lib/dpkg/updates/.keep"), b"")?;
    fs::remove_file(root.join("var/lib/dpkg/updates/.keep")).map_err(|error| error.to_string())?;
    as_root(&["dpkg", "--root", &shown(&root), "--install", &shown(package)])?;
    Ok(root)
}

/// # Errors
/// rpm refused it.
pub(crate) fn of_rpm(folder: &Path, package: &Path) -> Result<PathBuf, String> {
    let root = new(folder, "root-of-rpm", "var/lib/rpm")?;
    as_root(&["rpm", "--root", &shown(&root), "--install", &shown(package)])?;
    Ok(root)
}

/// Whether all of it is there, and starts where nothing else is: no loader, and no library of C.
///
/// # Errors
/// What is missing.
pub(crate) fn check(root: &Path, tool: &Path) -> Result<(), String> {
    let installed = root.join("usr/bin/palisade");
    if fs::read(&installed).ok() != fs::read(tool).ok() {
        return Err("usr/bin/palisade is not what was built".into());
    }
    for (folder, start) in FILES {
        let there = fs::read_dir(root.join(folder)).into_iter().flatten().flatten();
        let mut names = there.map(|file| file.file_name().display().to_string());
        if !names.any(|name| name.starts_with(start)) {
            return Err(format!("{folder} has no {start}…"));
        }
    }
    as_root(&["chroot", &shown(root), "/usr/bin/palisade", "--version"])
}

/// Of each kind one, by the beginning of its name: man pages may be packed.
const FILES: [(&str, &str); 7] = [
    ("usr/share/man/man1", "palisade.1"),
    ("usr/share/man/man1", "palisade-run.1"),
    ("usr/share/bash-completion/completions", "palisade"),
    ("usr/share/fish/vendor_completions.d", "palisade.fish"),
    ("usr/share/doc/palisade/examples", "nightly-report.timer"),
    ("usr/share/doc/palisade/examples", "scheduler.service"),
    ("usr/share/doc/palisade", "LICENSE-MIT"),
];

fn new(folder: &Path, name: &str, inner: &str) -> Result<PathBuf, String> {
    let root = folder.join(name);
    fs::create_dir_all(root.join(inner)).map_err(|error| format!("{}: {error}", root.display()))?;
    Ok(root)
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
