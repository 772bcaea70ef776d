//! Looks for programs, and installs the system's packages.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

/// Installs packages by apt-get.
///
/// # Errors
/// They are not installed; the text says what to do by hand.
pub(crate) fn install_by_apt(packages: &[&str]) -> Result<(), String> {
    if let Err(reason) = as_root(&["apt-get", "update"]) {
        // One source that is down need not be the one that has the package.
        eprintln!("warning: {reason}");
    }
    let mut words = vec!["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y"];
    words.extend(packages);
    as_root(&words).map_err(|reason| format!("{reason}; try it by hand: {}", words.join(" ")))
}

/// Ends a service that an install has started, for good: tests start servers of their own.
pub(crate) fn leave_no_service(name: &str) {
    let stop: &[&str] = if Path::new("/run/systemd/system").exists() {
        &["systemctl", "disable", "--now", name]
    } else {
        &["service", name, "stop"]
    };
    // Where services are not started by an install there is none to stop.
    if let Err(reason) = as_root(stop) {
        eprintln!("warning: {reason}");
    }
}

pub(crate) fn as_root(command: &[&str]) -> Result<(), String> {
    let words: Vec<_> = match is_root() {
        true => command.to_vec(),
        false if exists("sudo") => ["sudo"].iter().chain(command).copied().collect(),
        false => return Err(format!("`{}` needs root and there is no sudo", command.join(" "))),
    };
    match words.split_first() {
        Some((program, args)) => run(program, args),
        None => Ok(()),
    }
}

pub(crate) fn run(program: &str, args: &[&str]) -> Result<(), String> {
    let told = format!("`{program} {}`", args.join(" "));
    match Command::new(program).args(args).stdin(Stdio::inherit()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{told} failed: {status}")),
        Err(reason) => Err(format!("{told} cannot be run: {reason}")),
    }
}

pub(crate) fn version(program: impl AsRef<OsStr>) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    output.status.success().then_some(text)
}

pub(crate) fn exists(program: &str) -> bool {
    version(program).is_some()
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|id| id.stdout.trim_ascii() == b"0")
}
