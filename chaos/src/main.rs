//! `palisade-chaos`: see the library of this package.

use std::process::ExitCode;

fn main() -> ExitCode {
    palisade_chaos::main()
}
