//! Hands over to cargo.

use std::env;
use std::path::Path;
use std::process::{Command, ExitCode};

/// Runs cargo at the top of the workspace; its output is ours and so is its exit code.
pub(crate) fn run(fixed: &[&str], more: &[String]) -> ExitCode {
    let cargo = env::var_os("CARGO").unwrap_or("cargo".into());
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    match Command::new(cargo).args(fixed).args(more).current_dir(top).status() {
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

/// Builds a heavy program of the workspace in release mode and runs it.
pub(crate) fn run_program(package: &str, args: &[String]) -> ExitCode {
    run(&["run", "--release", "--package", package, "--"], args)
}
