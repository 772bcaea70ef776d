//! Builds Redisson's side of the interop tests, and plays both sides.

use std::process::{Command, ExitCode};

use crate::{
    cargo,
    packages::{exists, install_by_apt},
};

/// What the Java side is built and run with.
const TOOLS: [&str; 3] = ["java", "javac", "mvn"];
const PACKAGES: [&str; 2] = ["default-jdk-headless", "maven"];

/// The first of the tools that is not here.
pub(crate) fn missing() -> Option<&'static str> {
    TOOLS.into_iter().find(|tool| !exists(tool))
}

pub(crate) fn run(args: &[String]) -> ExitCode {
    match ensure_java().and_then(|()| build()) {
        Ok(()) => cargo::run(&TESTS, args),
        Err(reason) => {
            eprintln!("error: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn ensure_java() -> Result<(), String> {
    let Some(tool) = missing() else { return Ok(()) };
    println!("`{tool}` is not on the PATH, installing {}", PACKAGES.join(" and "));
    if !exists("apt-get") {
        return Err("there is no apt-get here to install it; Java 17 and Maven are needed".into());
    }
    install_by_apt(&PACKAGES)?;
    missing().map_or(Ok(()), |tool| Err(format!("`{tool}` was installed but does not run")))
}

fn build() -> Result<(), String> {
    let mut maven = Command::new("mvn");
    maven.args(["--batch-mode", "--quiet", "process-classes"]);
    match maven.current_dir(cargo::top().join("interop/java")).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("the Java side was not built: mvn: {status}")),
        Err(reason) => Err(format!("mvn cannot be run: {reason}")),
    }
}

/// Four at once: each starts some processes, and with more of them a watchdog that renews every
/// second would be late. Of the whole workspace, as other tests are built: a package by itself has other features, and
/// everything would be built once more.
const TESTS: [&str; 6] =
    ["test", "--workspace", "--all-features", "--test=interop", "--", "--test-threads=4"];
