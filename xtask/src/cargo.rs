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

/// A shell without job control has what it starts in the background ignore SIGINT and SIGQUIT, as
/// nohup does SIGHUP. Processes inherit that, and tests of what a signal does would hang.
fn cargo() -> Command {
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
