//! The tool for machines that have no Rust: one static file, and packages of it for Debian and for what takes rpm.
//!
//! Each package is installed into an empty folder and started there, as its root: what it needs beside itself is missing
//! in there. Then a lock is taken with what was installed.

mod needs;
mod roots;
mod trial;

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use self::needs::target;
use crate::cargo;

/// In bytes. What is copied to many machines at each release is to be no burden.
const MOST: u64 = 5_000_000;

pub(crate) fn run() -> Result<ExitCode, String> {
    needs::ensure()?;
    let folder = cargo::top().join("target/packages");
    let failed = |error: io::Error| format!("{}: {error}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(failed)?;
    }
    fs::create_dir_all(&folder).map_err(failed)?;
    let folder = folder.canonicalize().map_err(failed)?;
    let tool = build(&folder)?;
    stage(&tool, &folder.join("share"))?;
    let deb = package(
        &["deb", "--quiet", "--no-strip", "--package=palisade-cli"],
        &folder.join("palisade.deb"),
    )?;
    let rpm = package(&["generate-rpm", "--package=cli"], &folder.join("palisade.rpm"))?;
    for (root, package) in
        [(roots::of_deb(&folder, &deb)?, "deb"), (roots::of_rpm(&folder, &rpm)?, "rpm")]
    {
        roots::check(&root, &tool).map_err(|reason| format!("the {package}: {reason}"))?;
        trial::lock(&root.join("usr/bin/palisade"), &folder)
            .map_err(|reason| format!("the {package}: {reason}"))?;
        fs::remove_dir_all(&root).map_err(|error| format!("{}: {error}", root.display()))?;
    }
    println!("in {}: palisade, palisade.deb and palisade.rpm", folder.display());
    Ok(ExitCode::SUCCESS)
}

/// The tool alone.
fn build(folder: &Path) -> Result<PathBuf, String> {
    let target = target();
    let script = cargo::top().join("cli/no-unwinding.ld");
    let script = script.canonicalize().map_err(|error| format!("{}: {error}", script.display()))?;
    let link = format!("link-arg=-Wl,-T,{}", script.display());
    let words = [
        "rustc",
        "--package=palisade-cli",
        "--bin=palisade",
        "--profile=dist",
        "--target",
        &target,
        "--",
        "-C",
        &link,
    ];
    if !cargo::run_with(&words, &[]) {
        return Err("the tool is not built".into());
    }
    let tool = folder.join("palisade");
    let built = cargo::top().join(format!("target/{target}/dist/palisade"));
    let size = fs::copy(&built, &tool).map_err(|error| format!("{}: {error}", built.display()))?;
    println!("palisade: {size} bytes");
    if size > MOST {
        return Err(format!("the tool has {size} bytes, and {MOST} is the most"));
    }
    Ok(tool)
}

/// What comes with it: man pages, words for shells, and units that are examples.
fn stage(tool: &Path, share: &Path) -> Result<(), String> {
    let man = share.join("man").display().to_string();
    if cargo::run(&crate::MAN, &[man]) != ExitCode::SUCCESS {
        return Err("the man pages are not written".into());
    }
    for (shell, file) in
        [("bash", "palisade.bash"), ("zsh", "_palisade"), ("fish", "palisade.fish")]
    {
        let words = Command::new(tool).args(["completions", shell]).output();
        let words = words.map_err(|error| format!("{}: {error}", tool.display()))?;
        write(&share.join("completions").join(file), &words.stdout)?;
    }
    let units = cargo::top().join("docs/src/operate/files");
    for file in fs::read_dir(&units).into_iter().flatten().flatten() {
        let name = file.file_name().display().to_string();
        if name.ends_with(".service") || name.ends_with(".timer") {
            let text =
                fs::read_to_string(file.path()).map_err(|error| format!("{name}: {error}"))?;
            let text = text.replace("/usr/local/bin/palisade ", "/usr/bin/palisade ");
            write(&share.join("units").join(name), text.as_bytes())?;
        }
    }
    Ok(())
}

fn write(file: &Path, text: &[u8]) -> Result<(), String> {
    let folder = file.parent().map_or(Ok(()), fs::create_dir_all);
    folder
        .and_then(|()| fs::write(file, text))
        .map_err(|error| format!("{}: {error}", file.display()))
}

/// Has a tool of cargo's make a package, of what `cli/Cargo.toml` lists.
fn package(tool: &[&str], file: &Path) -> Result<PathBuf, String> {
    let (target, output) = (target(), file.display().to_string());
    let mut words = tool.to_vec();
    words.extend(["--profile=dist", "--target", &target, "--output", &output]);
    if tool.first() == Some(&"deb") {
        words.push("--no-build");
    }
    if !cargo::run_with(&words, &[]) {
        return Err(format!("{output} is not made"));
    }
    Ok(file.to_owned())
}
