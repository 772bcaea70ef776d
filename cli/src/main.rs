//! The binary: all of it is in the library beside it.

#[cfg(not(target_os = "linux"))]
compile_error!(
    "the command line tool needs Linux, where it can supervise its command; the library does not"
);

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    palisade_cli::main()
}

/// That it is missing is not to be said beside it.
#[cfg(not(target_os = "linux"))]
fn main() {}
