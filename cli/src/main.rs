//! The binary: all of it is in the library beside it, which is empty where it cannot work.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    palisade_cli::main()
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    eprintln!("palisade: the command line tool needs Linux, where it can supervise its command");
    ExitCode::from(71)
}
