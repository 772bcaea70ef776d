//! What would be published: packed, built from the packed files alone, and used by a stranger's empty project.

mod oldest;

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use crate::cargo;

/// Those that are published, each after what it needs.
const PACKAGES: [&str; 2] = ["palisade-lock", "palisade-cli"];

/// What a stranger writes first, with nothing but the page of the library at hand.
const FIRST: &str = r#"use palisade::embedded::Server;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Server::start()?.client()?;
    let guard = client.lock("orders:42").acquire().await?;
    println!("held by {}", guard.holder_id());
    guard.release().await?;
    Ok(())
}
"#;

pub(crate) fn run(with_oldest: bool) -> Result<ExitCode, String> {
    forget_ours().map_err(|error| format!("{} cannot be emptied: {error}", target().display()))?;
    let target = target();
    let mut words = vec!["package", "--allow-dirty", "--target-dir"];
    words.extend(target.to_str());
    words.extend(PACKAGES.iter().flat_map(|package| ["--package", package]));
    // Each is built from what was packed, the tool with the packed library.
    if !cargo::run_with(&words, &[]) {
        return Ok(ExitCode::FAILURE);
    }
    let folder = Scratch::new().map_err(|error| format!("no folder for a project: {error}"))?;
    write_project(&folder.0).map_err(|error| format!("the project is not written: {error}"))?;
    let manifest = folder.0.join("Cargo.toml");
    let mut project = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
    project.args(["run", "--manifest-path"]).arg(&manifest).env("CARGO_TARGET_DIR", &target);
    let ran = project.status().map_err(|error| format!("cargo cannot be run: {error}"))?;
    if !ran.success() {
        return Ok(ExitCode::FAILURE);
    }
    if !with_oldest {
        return Ok(ExitCode::SUCCESS);
    }
    let packed = PACKAGES.map(packed);
    oldest::check(&packed.each_ref().map(PathBuf::as_path), &folder.0.join("oldest"), &target)?;
    Ok(ExitCode::SUCCESS)
}

/// A folder of its own: cargo takes what was packed before for the same, since its version is.
fn target() -> PathBuf {
    cargo::top().join("target/packed")
}

/// Where cargo has laid out what it packed.
fn packed(package: &str) -> PathBuf {
    target().join("package").join(named(package))
}

fn named(package: &str) -> String {
    format!("{package}-{}", env!("CARGO_PKG_VERSION"))
}

/// Where cargo unpacks what packages need, a folder for each registry. What we pack is a registry for it, which is known
/// by its path: what was unpacked from there before is taken again, whatever is in it now.
fn unpacked() -> PathBuf {
    let at_home = || PathBuf::from(env::var_os("HOME").unwrap_or_default()).join(".cargo");
    env::var_os("CARGO_HOME").map_or_else(at_home, PathBuf::from).join("registry/src")
}

fn folders_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        entries => entries?.map(|entry| Ok(entry?.path())).collect(),
    }
}

/// Has our packages be unpacked and built anew, and nothing else.
fn forget_ours() -> io::Result<()> {
    for registry in folders_in(&unpacked())? {
        for folder in PACKAGES.map(|package| registry.join(named(package))) {
            if folder.exists() {
                fs::remove_dir_all(folder)?;
            }
        }
    }
    let known = match fs::read_dir(target().join("debug/.fingerprint")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        known => known?,
    };
    for entry in known {
        let entry = entry?;
        if PACKAGES.iter().any(|ours| entry.file_name().to_string_lossy().starts_with(ours)) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

/// An empty project that has the packed library: with our versions of what that needs, which are tested.
fn write_project(folder: &Path) -> io::Result<()> {
    let packed = packed(PACKAGES[0]).canonicalize()?;
    let manifest = format!(
        "[package]\nname = \"stranger\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
         palisade-lock = {{ path = {packed:?}, features = [\"embedded\"] }}\n\
         tokio = {{ version = \"1\", features = [\"macros\", \"rt-multi-thread\"] }}\n"
    );
    fs::create_dir(folder.join("src"))?;
    fs::write(folder.join("Cargo.toml"), manifest)?;
    fs::copy(packed.join("Cargo.lock"), folder.join("Cargo.lock"))?;
    fs::write(folder.join("src/main.rs"), FIRST)
}

/// A folder that goes with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> io::Result<Self> {
        let folder = env::temp_dir().join(format!("palisade-stranger-{}", std::process::id()));
        fs::create_dir(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _what_is_left_is_small = fs::remove_dir_all(&self.0);
    }
}
