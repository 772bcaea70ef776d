//! Hands over to cargo.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// Runs cargo at the top of the workspace; its output is ours and so is its exit code.
pub(crate) fn run(fixed: &[&str], more: &[String]) -> ExitCode {
    match cargo().args(fixed).args(more).current_dir(top()).status() {
        // A signal has no code: 128 would be a guess at which one.
        Ok(status) => status
            .code()
            .and_then(|code| u8::try_from(code).ok())
            .map_or(ExitCode::FAILURE, ExitCode::from),
        Err(reason) => {
            eprintln!("error: cargo cannot be run: {reason}");
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
    let mut command = heeding();
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
fn heeding() -> Command {
    let cargo = env::var_os("CARGO").unwrap_or("cargo".into());
    let mut works = Command::new("env");
    works.args([HEED_SIGNALS, "true"]).stdout(Stdio::null()).stderr(Stdio::null());
    if works.status().is_ok_and(|status| status.success()) {
        let mut command = Command::new("env");
        command.arg(HEED_SIGNALS).arg(cargo);
        return command;
    }
    Command::new(cargo)
}

/// Of GNU's env; others do without.
const HEED_SIGNALS: &str = "--default-signal";

/// Builds a heavy program of the workspace in release mode and runs it.
pub(crate) fn run_program(package: &str, args: &[String]) -> ExitCode {
    run(&["run", "--release", "--package", package, "--"], args)
}
