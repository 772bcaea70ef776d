//! Finds `redis-server`, or installs the system's package.

use std::env;
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

/// Makes sure that tests find a `redis-server`.
///
/// # Errors
/// There is none and none can be installed; the text says what to do.
pub(crate) fn ensure() -> Result<(), String> {
    if let Some(named) = env::var_os("PALISADE_REDIS_SERVER") {
        return match version(&named) {
            Some(_) => Ok(()),
            None => Err(format!("PALISADE_REDIS_SERVER={} does not run", named.display())),
        };
    }
    if version("redis-server").is_some() {
        return Ok(());
    }
    println!("redis-server is not on the PATH, installing it");
    if exists("apt-get") {
        install_by_apt()?;
    } else if exists("brew") {
        run("brew", &["install", "redis"])?;
    } else {
        return Err("redis-server is missing and neither apt-get nor brew is here to install it; \
                    put one on the PATH or name it in PALISADE_REDIS_SERVER"
            .into());
    }
    let found = version("redis-server").ok_or("redis-server was installed but does not run")?;
    println!("{found}");
    Ok(())
}

/// The tests start servers of their own, so the package's service is not left running.
fn install_by_apt() -> Result<(), String> {
    if let Err(reason) = as_root(&["apt-get", "update"]) {
        // One source that is down need not be the one that has the package.
        eprintln!("warning: {reason}");
    }
    let install = "DEBIAN_FRONTEND=noninteractive apt-get install -y redis-server";
    let words: Vec<_> = ["env"].into_iter().chain(install.split(' ')).collect();
    as_root(&words).map_err(|reason| format!("{reason}; try it by hand: {install}"))?;
    let stop: &[&str] = if Path::new("/run/systemd/system").exists() {
        &["systemctl", "disable", "--now", "redis-server"]
    } else {
        &["service", "redis-server", "stop"]
    };
    // Where services are not started by an install there is none to stop.
    if let Err(reason) = as_root(stop) {
        eprintln!("warning: {reason}");
    }
    Ok(())
}

fn as_root(command: &[&str]) -> Result<(), String> {
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

fn run(program: &str, args: &[&str]) -> Result<(), String> {
    let told = format!("`{program} {}`", args.join(" "));
    match Command::new(program).args(args).stdin(Stdio::inherit()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{told} failed: {status}")),
        Err(reason) => Err(format!("{told} cannot be run: {reason}")),
    }
}

fn version(program: impl AsRef<OsStr>) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    output.status.success().then_some(text)
}

fn exists(program: &str) -> bool {
    version(program).is_some()
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|id| id.stdout.trim_ascii() == b"0")
}
