//! What making and checking packages needs, installed where it is missing.

use std::{env, path::Path, process::Command};

use crate::{
    cargo,
    packages::{exists, install_by_apt, run},
};

/// The one for which all is linked into one file, for machines like this one.
pub(crate) fn target() -> String {
    format!("{}-unknown-linux-musl", env::consts::ARCH)
}

/// # Errors
/// Something is missing and cannot be installed; the text says what to do.
pub(crate) fn ensure() -> Result<(), String> {
    let wanted = [("musl-gcc", "musl-tools"), ("rpm", "rpm"), ("dpkg", "dpkg")];
    let missing: Vec<_> = wanted
        .iter()
        .filter(|(program, _)| !exists(program))
        .map(|(_, package)| *package)
        .collect();
    if !missing.is_empty() {
        println!("not here, installing: {}", missing.join(", "));
        install_by_apt(&missing)?;
    }
    if !has_library(&target()) {
        run("rustup", &["target", "add", &target()])?;
    }
    for (name, package) in [("deb", "cargo-deb"), ("generate-rpm", "cargo-generate-rpm")] {
        if !exists(package) && !cargo::run_with(&["install", "--locked", package], &[]) {
            return Err(format!(
                "`cargo {name}` is missing; try it by hand: cargo install --locked {package}"
            ));
        }
    }
    Ok(())
}

/// Whether the standard library for it is here.
fn has_library(target: &str) -> bool {
    let folder =
        Command::new("rustc").args(["--print", "target-libdir", "--target", target]).output();
    folder.is_ok_and(|folder| Path::new(String::from_utf8_lossy(&folder.stdout).trim()).exists())
}
