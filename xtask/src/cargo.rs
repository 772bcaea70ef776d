//! Hands over to cargo.

use std::{
    env,
    ffi::OsStr,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
};

/// Runs cargo at the top of the workspace; its output is ours and so is its exit code.
pub(crate) fn run(fixed: &[&str], more: &[String]) -> ExitCode {
    ended_as(cargo().args(fixed).args(more).current_dir(top()), "cargo")
}

/// Runs it, and ends as it does.
fn ended_as(command: &mut Command, name: &str) -> ExitCode {
    match command.status() {
        // A signal has no code: 128 would be a guess at which one.
        Ok(status) => status
            .code()
            .and_then(|code| u8::try_from(code).ok())
            .map_or(ExitCode::FAILURE, ExitCode::from),
        Err(reason) => {
            eprintln!("error: {name} cannot be run: {reason}");
            ExitCode::FAILURE
        }
    }
}

/// Runs cargo with this in its environment. Whether that went well.
pub(crate) fn run_with(args: &[&str], env: &[(&str, &str)]) -> bool {
    let mut command = cargo();
    command.args(args).current_dir(top()).envs(env.iter().copied());
    command.status().is_ok_and(|status| status.success())
}

/// The top of the workspace.
pub(crate) fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Cargo, as it would be if it were called by hand.
fn cargo() -> Command {
    let mut command = heeding(&env::var_os("CARGO").unwrap_or("cargo".into()));
    for (name, _) in env::vars_os() {
        if OF_OURS.iter().any(|start| name.as_encoded_bytes().starts_with(start.as_bytes())) {
            command.env_remove(name);
        }
    }
    command
}

/// What cargo told this program of its own package. ring's build looks at some, and TLS with all that has it would be built
/// anew whenever cargo is called by hand after a chore, or the other way round.
const OF_OURS: [&str; 2] = ["CARGO_MANIFEST_", "CARGO_PKG_"];

/// A shell without job control has what it starts in the background ignore SIGINT and SIGQUIT, as
/// nohup does SIGHUP. Processes inherit that, and tests of what a signal does would hang.
fn heeding(program: &OsStr) -> Command {
    let mut works = Command::new("env");
    works.args([HEED_SIGNALS, "true"]).stdout(Stdio::null()).stderr(Stdio::null());
    if works.status().is_ok_and(|status| status.success()) {
        let mut command = Command::new("env");
        command.arg(HEED_SIGNALS).arg(program);
        return command;
    }
    Command::new(program)
}

/// Of GNU's env; others do without.
const HEED_SIGNALS: &str = "--default-signal";

/// Builds a heavy program of the workspace in release mode and runs it. It is built as one of all of them: by itself it
/// would have other features than the next, and the library would be built anew for each.
pub(crate) fn run_program(name: &str, args: &[String]) -> ExitCode {
    if !run_with(&["build", "--release", "--workspace", "--all-features", "--bin", name], &[]) {
        return ExitCode::FAILURE;
    }
    let path = target().join("release").join(name);
    ended_as(heeding(path.as_os_str()).args(args).current_dir(top()), name)
}

/// Where cargo builds.
fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| top().join("target"), |dir| top().join(dir))
}
