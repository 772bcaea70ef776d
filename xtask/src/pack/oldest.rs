//! The packed crates with the oldest versions of what they name: a project that keeps its own is not to find out.

use std::{env, fs, io, path::Path, process::Command};

/// Checks all features of the crates at `packed`, in the empty `folder`.
///
/// # Errors
/// They cannot be checked, or something that they use is newer than what they ask for.
pub(super) fn check(packed: &[&Path], folder: &Path, target: &Path) -> Result<(), String> {
    write(packed, folder).map_err(|error| format!("the oldest versions: {error}"))?;
    // Unstable, and so said for this call alone.
    cargo(
        folder,
        &["update", "--quiet", "-Z", "direct-minimal-versions"],
        &[("RUSTC_BOOTSTRAP", "1")],
    )?;
    let target = target.display().to_string();
    cargo(folder, &["check", "--workspace", "--all-features"], &[("CARGO_TARGET_DIR", &target)])
}

/// A workspace of copies: only what is in it is taken at its oldest.
fn write(packed: &[&Path], folder: &Path) -> io::Result<()> {
    let mut members = Vec::new();
    for packed in packed {
        let name = packed.file_name().unwrap_or_default();
        copy(packed, &folder.join(name))?;
        members.push(format!("{:?}", name.display().to_string()));
    }
    let library = members.first().map_or("", String::as_str);
    let manifest = format!(
        "[workspace]\nresolver = \"3\"\nmembers = [{}]\n\n[patch.crates-io]\npalisade-lock = {{ path = {library} }}\n",
        members.join(", ")
    );
    fs::write(folder.join("Cargo.toml"), manifest)
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), &to)?;
        }
    }
    Ok(())
}

fn cargo(folder: &Path, words: &[&str], variables: &[(&str, &str)]) -> Result<(), String> {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
    command.current_dir(folder).args(words).envs(variables.iter().copied());
    let status = command.status().map_err(|error| format!("cargo cannot be run: {error}"))?;
    let failed = || format!("`cargo {}` with the oldest versions failed", words.join(" "));
    if status.success() { Ok(()) } else { Err(failed()) }
}
