//! `cargo xtask bench`.

use std::process::ExitCode;

fn main() -> ExitCode {
    palisade_benches::run(None)
}
